"""The next tile copied by one instruction: bytes to announce, phases to wait for."""

from __future__ import annotations

from helpers.exercises import kit
from helpers.exercises.content.background import LAB, OVERLAP, cases, convolved, small

EXERCISE = kit.Exercise(
    name="copy_bulk",
    place=2,
    lab=LAB,
    title="Bulk copies: bytes to announce, phases to wait for",
    points=4,
    cases=cases,
    small=small,
    reference=convolved,
    budgets=(
        kit.Budget(
            "bulk copies for a tile",
            kit.executed("cp.async.bulk", per=lambda case: case["tiles"]),
            1,
            "One thread starts the copy of a whole tile by one instruction.",
            least=1,
        ),
        kit.Budget(
            "loads of N beside one bulk copy of each tile",
            lambda case, one: max(one.total("requests", "global", "load") - case["tiles"], 0),
            0,
            quiet=True,
        ),
        kit.none_of("shared", "store", what="stores to shared memory"),
        OVERLAP,
        kit.ONE_STORE,
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: case["tiles of a block"] * case["tile"],
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
