"""The next tile copied by cp.async: the order of copies, commits, waits and barriers."""

from __future__ import annotations

from helpers.exercises import kit
from helpers.exercises.content.background import (
    LAB,
    OVERLAP,
    cases,
    convolved,
    small,
    vectors,
    vectors_of_a_thread,
)

EXERCISE = kit.Exercise(
    name="copy_async",
    place=1,
    lab=LAB,
    title="Two buffers: the order of commits and waits",
    points=4,
    cases=cases,
    small=small,
    reference=convolved,
    budgets=(
        kit.Budget(
            "warps that wait for a group of copies, per tile and warp",
            kit.executed(
                "cp.async.wait",
                per=lambda case: case["tiles"] * case.steps[0].block[0] // 32,
            ),
            2,
            "One wait in each turn is enough.",
            quiet=True,
        ),
        kit.none_of(
            "shared",
            "store",
            what="stores to shared memory",
            hint="cp.async writes to shared memory by itself; no thread stores there.",
        ),
        kit.Budget(
            "bytes of N loaded, over those of all tiles",
            lambda case, one: (
                one.total("bytes_used", "global", "load", "N") / (16 * vectors(case))
            ),
            1.2,
            "The outputs are made of `cells`, the tile in shared memory, and not of N: that was "
            "copied once.",
            quiet=True,
        ),
        kit.loads_of_a_warp(
            lambda case: 2 * case["tiles of a block"] * vectors_of_a_thread(case),
            "All threads of the block share the copy of a tile: each starts its own vectors.",
        ),
        OVERLAP,
        kit.ONE_STORE,
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: case["tiles of a block"] * case["tile"],
    hints=(
        "WAIT_BUT(1) waits for all groups but the newest. So the newest group must be the one of "
        "the next tile: start it, and COMMIT(), before you wait.",
        "Gap 1: if the block has a tile, start_copy(tiles[0], N, start, n); then COMMIT(). Gap 2: "
        "if there is a next tile, start its copy into tiles[current ^ 1]; COMMIT(), outside of the "
        "if; WAIT_BUT(1); __syncthreads().",
        "Gap 3 is __syncthreads(): the next turn copies into the tile that this one has read.",
    ),
)
