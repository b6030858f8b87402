"""In a grader's box: a sum over two cards, played as `gradient_sum` plays its own."""

from __future__ import annotations

from helpers.exercises.gradient_sum.play import player
from helpers.exercises.two_cards import COUNTS, EXERCISE

PLAYER = player(EXERCISE, COUNTS)
