"""The next tile copied by one instruction: bytes to announce, phases to wait for."""

from __future__ import annotations

from pathlib import Path

from helpers.exercises.background import FINDINGS, LAB, OVERLAP, cases, convolved
from helpers.exercises.kit import (
    NO_DETOURS,
    ONE_STORE,
    Budget,
    Exercise,
    FindingHint,
    executed,
    none_of,
)

EXERCISE = Exercise(
    name="copy_bulk",
    place=2,
    lab=LAB,
    title="Bulk copies: bytes to announce, phases to wait for",
    folder=Path(__file__).parent,
    points=4,
    cases=cases,
    reference=convolved,
    budgets=(
        Budget(
            "bulk copies for a tile",
            executed("cp.async.bulk", per=lambda case: case["tiles"]),
            1,
            "One thread starts the copy of a whole tile by one instruction.",
            least=1,
        ),
        none_of("global", "load", what="loads of N by threads"),
        none_of("shared", "store", what="stores to shared memory"),
        OVERLAP,
        ONE_STORE,
        *NO_DETOURS,
    ),
    findings=(
        FindingHint(
            "race",
            "The bulk copy of this tile may still be under way when a cell is read. Each buffer "
            "has an mbarrier, whose phase changes once in two turns: for which parity must this "
            "turn wait, and at which mbarrier?",
            when=lambda found: "asynchronous copy" in found.message,
        ),
        FindingHint(
            "fault",
            "Several threads start a copy at one mbarrier, and it expects one arrival: only thread "
            "0 starts copies, and only one of them in each turn.",
            when=lambda found: " arrives " in found.message,
        ),
        FindingHint(
            "fault",
            "A phase that does not end: either the announced bytes are not those that come (a "
            "vector has 16 bytes, and the last tile has fewer vectors), or nobody has started a "
            "copy at this mbarrier, or this turn waits for a later phase.",
        ),
        *FINDINGS,
    ),
    hints=(
        "Gap 1: a tile has VECTORS vectors of 16 bytes, and the last one only (n - start) / 4 of "
        "them. Gap 2: one thread starts the next tile, if there is one, into the other buffer, at "
        "that buffer's mbarrier.",
        "Gap 3: turn 0 uses buffer 0, turn 1 buffer 1, turn 2 buffer 0 again. So the parity at a "
        "buffer's mbarrier is 0, 0, 1, 1, 0, 0, ...: turn / 2 % 2.",
        "Gap 2: if (threadIdx.x == 0 && start + stride < outputs) start_copy(tiles[current ^ 1], "
        "N, start + stride, n, &arrived[current ^ 1]). Gap 3 waits at &arrived[current], for the "
        "parity of hint 2. Gap 4 is __syncthreads().",
    ),
)
