"""In a grader's box: an order of streams, played as `stream_order` plays its own."""

from __future__ import annotations

from helpers.exercises.in_turn import EXERCISE
from helpers.exercises.player import Player
from helpers.exercises.stream_order import play

PLAYER = Player(EXERCISE, "orders", play.calls, play.made)
