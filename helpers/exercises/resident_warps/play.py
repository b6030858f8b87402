"""In a grader's box: a count of warps, asked in the box for rows of arguments."""

from __future__ import annotations

from helpers.exercises import numbers
from helpers.exercises.resident_warps import EXERCISE, cases

PLAYER = numbers.player(EXERCISE, cases)
