"""In a grader's box: a sum over cards. The box writes down its calls, which are replayed here on
simulated cards.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.exercises.content import gradient_sum
from helpers.exercises.content.gradient_sum import EXERCISE
from helpers.exercises.judge.player import Player
from helpers.exercises.judge.python_exercise import PythonExercise


def made(back: Any, seed: int, counts: Sequence[int] = gradient_sum.COUNTS) -> Any:
    """Return what comes of the calls that the student's function made, replayed on simulated cards.
    """
    logs = {count: iter(steps) for count, steps in zip(counts, back, strict=True)}
    events: dict[int, dict[int, Any]] = {count: {} for count in counts}

    def total(cards: Any) -> None:
        _sum(cards, next(logs[cards.count], []), events[cards.count])

    return gradient_sum.made(total, seed, counts)


def _sum(cards: Any, log: list[list[Any]], events: dict[int, Any]) -> None:
    for what, number, *rest in log[:1_000]:
        if what in ("give", "put"):
            source, target, part, stream = rest
            on = None if stream is None else cards.streams[int(stream)]
            cells = _cells(part)
            events[int(number)] = getattr(cards, what)(int(source), int(target), cells, on)
        elif what == "add":
            events[int(number)] = cards.add(int(rest[0]), _cells(rest[1]))
        elif what == "event":
            events[int(number)] = cards.event(cards.streams[int(rest[0])])
        elif what == "wait":
            cards.streams[int(number)].wait_for_event(events[int(rest[0])])
        elif what == "host waits":
            cards.streams[int(number)].synchronize()
        elif what == "host waits for":
            events[int(number)].synchronize()
        else:
            raise ValueError(f"{what!r} is no call of cards")


def _cells(part: Any) -> tuple[int, int] | None:
    return None if part is None else (int(part[0]), int(part[1]))


def player(exercise: PythonExercise, counts: Sequence[int]) -> Player:
    """Return how a sum over so many cards is played."""
    return Player(
        exercise,
        "sums",
        lambda seed: [[n, gradient_sum.STEPS] for n in counts],
        lambda back, seed: made(back, seed, counts),
    )


PLAYER = player(EXERCISE, gradient_sum.COUNTS)
