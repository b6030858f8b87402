"""Back from an index to the variable at fault: the values by which it would be another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .source_text import NoValue, Source

Index = int | tuple[int, ...]


def needed(source: Source, text: str, values: Mapping[str, Any], goal: Index) -> dict[str, int]:
    """Return for each variable of an expression the value with which it alone makes it the goal;
    none for one that cannot. text: "y][x" for two indices, as of Source.indices; values: of its
    variables.
    """
    wanted = as_tuple(goal)
    found: dict[str, int] = {}
    for name, value in values.items():
        if not isinstance(value, int | np.integer) or isinstance(value, bool):
            continue
        start = value_of(source, text, values)
        after = value_of(source, text, {**values, name: int(value) + 1})
        if start is None or after is None or len(start) != len(wanted):
            continue
        # The way to the goal is as many steps as the first part that a step moves has left.
        moved = [(g - s, a - s) for g, s, a in zip(wanted, start, after, strict=True) if a != s]
        if not moved or moved[0][0] % moved[0][1]:
            continue
        other = int(value) + moved[0][0] // moved[0][1]
        if other != value and value_of(source, text, {**values, name: other}) == wanted:
            found[name] = other
    return found


def as_tuple(index: Index) -> tuple[int, ...]:
    """Return an index as a number for each axis."""
    return index if isinstance(index, tuple) else (index,)


def value_of(source: Source, text: str, values: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Return the value of each index of a text, None where one has none."""
    try:
        found = [source.value(one, values) for one in text.split("][")]
    except (NoValue, ArithmeticError):
        return None
    return tuple(found) if all(isinstance(one, int) for one in found) else None
