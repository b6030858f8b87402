"""The recorded benchmarks, a module for each; `python -m evidence.benchmarks` runs them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

Times = dict[tuple[Any, ...], float]


def shortest(rows: Iterable[Mapping[str, Any]], *keys: str) -> Times:
    """Return the shortest time of the rows in ms by their entries `keys`, "" for one missing.

    cuDNN has a row for each layout, of which the fastest counts. Rows without a time are left out.
    """
    times: Times = {}
    for row in rows:
        if row.get("median_ms") is not None:
            place = tuple(row.get(key, "") for key in keys)
            times[place] = min(row["median_ms"], times.get(place, math.inf))
    return times


def cells(times: Times, places: Iterable[tuple[Any, ...]], digits: str = ".4g") -> list[str]:
    """Return the cells of a line of a table: the times at these places, "-" where there is none."""
    return [format(times[place], digits) if place in times else "-" for place in places]
