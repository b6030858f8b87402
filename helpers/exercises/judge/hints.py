"""The hints of an exercise, which a notebook shows one by one."""

from __future__ import annotations

from collections.abc import Sequence

from helpers.exercises.judge.verdict import fold

_shown: dict[str, int] = {}


def next_hint(name: str, hints: Sequence[str]) -> str:
    """Count the hints of an exercise that were shown, and return the next one as text; "" once
    after the last one, and then the first again.
    """
    at = _shown.get(name, 0)
    if at >= len(hints):
        _shown[name] = 0
        return ""
    _shown[name] = at + 1
    return fold(f"Hint {at + 1} of {len(hints)}: {hints[at]}")
