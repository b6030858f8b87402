"""In a grader's box: whether a configuration is a candidate, asked for rows of arguments."""

from __future__ import annotations

from helpers.exercises.content.fits import EXERCISE, cases
from helpers.exercises.judge import numbers

PLAYER = numbers.player(EXERCISE, cases)
