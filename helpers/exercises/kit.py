"""What a module of an exercise is made of, in one place."""

from helpers.exercises.budgets import (
    NO_ACTIVEMASK,
    NO_DETOURS,
    ONE_STORE,
    Budget,
    all_of,
    elsewhere,
    executed,
    none_of,
    per_block,
    per_output,
    per_request,
    shuffles,
    warps,
)
from helpers.exercises.cases import (
    MANY,
    MANY_ROWS,
    Case,
    Step,
    ceil_div,
    cells,
    unwritten,
    warp_product,
    whole_numbers,
    without_budgets,
)
from helpers.exercises.exercise import Exercise
from helpers.exercises.mistakes import FindingHint, Mistake, within_warp
from helpers.exercises.outcome import Outcome

__all__ = [
    "MANY",
    "MANY_ROWS",
    "NO_ACTIVEMASK",
    "NO_DETOURS",
    "ONE_STORE",
    "Budget",
    "Case",
    "Exercise",
    "FindingHint",
    "Mistake",
    "Outcome",
    "Step",
    "all_of",
    "ceil_div",
    "cells",
    "elsewhere",
    "executed",
    "none_of",
    "per_block",
    "per_output",
    "per_request",
    "shuffles",
    "unwritten",
    "warp_product",
    "warps",
    "whole_numbers",
    "within_warp",
    "without_budgets",
]
