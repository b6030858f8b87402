"""In a grader's box: the lanes that tiles take, asked in the box for rows of arguments."""

from __future__ import annotations

from helpers.exercises.content.lanes import EXERCISE, cases
from helpers.exercises.judge import numbers

PLAYER = numbers.player(EXERCISE, cases)
