"""In a grader's box: a count of warps, asked in the box for rows of arguments."""

from __future__ import annotations

from helpers.exercises.content.resident_warps import EXERCISE, cases
from helpers.exercises.judge import numbers

PLAYER = numbers.player(EXERCISE, cases)
