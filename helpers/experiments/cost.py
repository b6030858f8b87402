"""An estimate of what a kernel costs where no clock can be read: the cycles of a multiprocessor
that its requests take.

It is made of what the simulator counts, and every kind of traffic enters: instructions (a
multiprocessor issues four a cycle), passes of global and local memory through L1 (twice: tags and
data), wavefronts and turns in shared memory, requests and replays of constant memory, shuffles. It
knows no waiting, no caches and no overlap. Of the five kernels of lab 22's board it gives the order
of their times on an H200; it is an estimate all the same, and a time decides wherever one can be
measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

ISSUES_A_CYCLE = 4
SECTORS_A_PASS = 4
PASSES_THROUGH_L1 = 2
EXCHANGES = ("shfl", "redux", "match", "vote")


def cycles(rows: Iterable[Any], instructions: Mapping[str, int]) -> float:
    """Estimate the cycles of one multiprocessor for a launch: rows of its traffic (LineTraffic), and the warps that
    executed each operation.
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
