"""An estimate of a kernel's cost from the simulator's counters: cycles of a multiprocessor.

It replaces a time where no clock can measure one. Every kind of traffic counts: instructions (a
multiprocessor issues four a cycle), passes of global and local memory through L1 (twice: tags and
data), wavefronts and serialised accesses of shared memory, requests and replays of constant memory,
and shuffles. The estimate contains no waiting, no caches and no overlap. It orders the five kernels
of lab 501's board as their times on an H200 do. It is still an estimate: wherever a time can be
measured, the time decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

ISSUES_A_CYCLE = 4
SECTORS_A_PASS = 4
PASSES_THROUGH_L1 = 2
EXCHANGES = ("shfl", "redux", "match", "vote")


def cycles(rows: Iterable[Any], instructions: Mapping[str, int]) -> float:
    """Return the estimated cycles of one multiprocessor for a launch.

    rows: the launch's traffic, a LineTraffic for each line. instructions: for each operation, the
    number of warps that executed it.
    """
    total = sum(instructions.values()) / ISSUES_A_CYCLE
    total += sum(count for name, count in instructions.items() if name.startswith(EXCHANGES))
    for row in rows:
        if row.space in ("global", "local"):
            total += (
                PASSES_THROUGH_L1 * max(row.requests, row.sectors / SECTORS_A_PASS) + row.serialised
            )
        elif row.space == "shared":
            total += max(row.wavefronts, row.requests) + row.serialised
        else:
            total += row.requests + row.replays
    return total
