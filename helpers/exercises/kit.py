"""What a module of an exercise is made of, in one place."""

from helpers.exercises.budgets import (
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
from helpers.exercises.cases import (
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
from helpers.exercises.exercise import Exercise
from helpers.exercises.mistakes import Mistake
from helpers.exercises.mutants import mutant
from helpers.exercises.outcome import Outcome
