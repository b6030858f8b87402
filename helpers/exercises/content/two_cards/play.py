"""In a grader's box: a sum over two cards, played as `gradient_sum` plays its own."""

from __future__ import annotations

from helpers.exercises.content.gradient_sum.play import player
from helpers.exercises.content.two_cards import COUNTS, EXERCISE

PLAYER = player(EXERCISE, COUNTS)
