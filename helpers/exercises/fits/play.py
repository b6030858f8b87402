"""In a grader's box: whether a configuration is a candidate, asked for rows of arguments."""

from __future__ import annotations

from helpers.exercises import numbers
from helpers.exercises.fits import EXERCISE, cases

PLAYER = numbers.player(EXERCISE, cases)
