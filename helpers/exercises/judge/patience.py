"""Gives an answer more time on a slow or busy machine.

The time limits of exercises are for an idle machine with cores of about 3 GHz. A laptop of ten
years ago, an emulator, or a server on which thirty students check at once takes several times as
long, and there a right answer must pass, too. So an answer that reaches its limit gets a second run
with a longer limit, if a fixed piece of work takes longer than it should here and now.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

_WORK = 400_000  # turns of a loop in Python
_WORK_S = 0.025  # what they take on an idle core of 3 GHz, with Python 3.11
_LEAST = 1.5  # slowness that is worth a second run
_MOST = 5.0  # a loop without an end must not take minutes of a student's time

Run = TypeVar("Run")


def slowness() -> float:
    """Return how many times as long as on an idle core of 3 GHz a fixed piece of work takes now."""
    start = time.perf_counter()
    total = 0
    for turn in range(_WORK):
        total += turn * turn & 255
    return (time.perf_counter() - start) / _WORK_S


def with_patience(
    run: Callable[[float], Run], is_late: Callable[[Run], bool], limit_s: float
) -> Run:
    """Return what a run with a time limit in seconds gives, and on a slow machine, where it was too
    late, what it gives with a longer limit.
    """
    first = run(limit_s)
    if not is_late(first):
        return first
    factor = min(slowness(), _MOST)
    return first if factor < _LEAST else run(factor * limit_s)
