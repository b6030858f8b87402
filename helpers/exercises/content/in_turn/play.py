"""In a grader's box: an order of streams, played as `stream_order` plays its own."""

from __future__ import annotations

from helpers.exercises.content.in_turn import EXERCISE
from helpers.exercises.content.stream_order import play
from helpers.exercises.judge.player import Player

PLAYER = Player(EXERCISE, "orders", play.calls, play.made)
