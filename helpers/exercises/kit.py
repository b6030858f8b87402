"""What a module of an exercise is made of, in one place."""

from helpers.exercises.judge.budgets import (
    NO_ACTIVEMASK,
    NO_ATOMICS,
    NO_DETOURS,
    ONE_STORE,
    ONE_STORE_A_THREAD,
    Budget,
    all_of,
    elsewhere,
    executed,
    loads_of_a_warp,
    no_doubles,
    none_of,
    numbers_of_a_thread,
    per_block,
    per_output,
    per_request,
    shuffles,
    single_products,
    stores_of_a_thread,
    warps,
)
from helpers.exercises.judge.cases import (
    MANY,
    MANY_ROWS,
    Case,
    Step,
    ceil_div,
    cells,
    one_launch,
    unwritten,
    warp_product,
    whole_numbers,
    without_budgets,
)
from helpers.exercises.judge.exercise import Exercise
from helpers.exercises.judge.mistakes import Mistake
from helpers.exercises.judge.mutants import mutant
from helpers.exercises.judge.outcome import Outcome
