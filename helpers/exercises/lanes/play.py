"""In a grader's box: the lanes that tiles take, asked in the box for rows of arguments."""

from __future__ import annotations

from helpers.exercises import numbers
from helpers.exercises.lanes import EXERCISE, cases

PLAYER = numbers.player(EXERCISE, cases)
