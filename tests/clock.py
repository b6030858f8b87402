"""A clock that always says the same, so that a measurement runs whole in the simulator."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.bench import timing

MS, SECOND_MS = 2.0, 1.0  # of every timing; of the second launch of a pair
SAMPLES = 10


def timed(name: str, ms: float = MS, what: str = "kernel", cache: str | None = "cold") -> Any:
    """Return a timing of that many ms."""
    return timing.Timing.of(name, [ms] * SAMPLES, what=what, device="no clock", cache=cache)


def install(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let every timed launch run once, if it has passed; return the list of their names."""
    names: list[str] = []

    def run(call: Any, *stream: Any, verdict: Any, name: str) -> None:
        timing._require_verdict(verdict, name)
        names.append(name)
        call(*stream)

    def time_gpu(launch, *, verdict, name, cache="cold", **_):
        run(launch, None, verdict=verdict, name=name)
        return timed(name, cache=cache)

    def time_end_to_end(call, *, verdict, name, **_):
        run(call, verdict=verdict, name=name)
        return timed(name, what="end to end", cache=None)

    def compare(a, b, *, verdicts, names, **_):
        for call, verdict, name in zip((a, b), verdicts, names, strict=True):
            run(call, None, verdict=verdict, name=name)
        return pair(*names)

    def compare_end_to_end(a, b, *, verdicts, names, **_):
        for call, verdict, name in zip((a, b), verdicts, names, strict=True):
            run(call, verdict=verdict, name=name)
        return pair(*names)

    def pair(first: str, second: str) -> timing.Comparison:
        return timing.Comparison(2.0, 1.9, 2.1, timed(first), timed(second, SECOND_MS))

    for fake in (time_gpu, time_end_to_end, compare, compare_end_to_end):
        monkeypatch.setattr(timing, fake.__name__, fake)
    return names
