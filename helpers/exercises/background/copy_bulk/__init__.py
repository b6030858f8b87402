"""The next tile copied by one instruction: bytes to announce, phases to wait for."""

from __future__ import annotations

from helpers.exercises import kit
from helpers.exercises.background import FINDINGS, LAB, NEIGHBOURS, OVERLAP, cases, convolved

EXERCISE = kit.Exercise(
    name="copy_bulk",
    place=2,
    lab=LAB,
    title="Bulk copies: bytes to announce, phases to wait for",
    points=4,
    cases=cases,
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
    mistakes=(NEIGHBOURS,),
    findings=(
        kit.FindingHint(
            "race",
            "The copy of the next tile goes into the buffer of the tile in work: the other one is "
            "tiles[current ^ 1].",
            when=lambda found: "starts a bulk copy of tiles" in found.message,
        ),
        kit.FindingHint(
            "race",
            "The bulk copy of this tile may still be under way when a cell is read. Each buffer "
            "has an mbarrier, whose phase changes once in two turns: for which parity must this "
            "turn wait, and at which mbarrier?",
            when=lambda found: "asynchronous copy" in found.message,
        ),
        kit.FindingHint(
            "fault",
            "Thread 0 starts a copy at an mbarrier whose phase is not over yet: the next tile goes "
            "into the other buffer, tiles[current ^ 1], and reports at that buffer's mbarrier, "
            "&arrived[current ^ 1].",
            when=lambda found: " arrives " in found.message and found.thread == (0, 0, 0),
        ),
        kit.FindingHint(
            "fault",
            "Several threads start a copy at one mbarrier, and it expects one arrival: only thread "
            "0 starts copies, one of them in each turn, at the mbarrier of the copy's buffer.",
            when=lambda found: " arrives " in found.message,
        ),
        kit.FindingHint(
            "fault",
            "A bulk copy takes whole vectors of 16 bytes; VECTORS and (n - start) / 4 count them.",
            when=lambda found: "multiples of 16" in found.message,
        ),
        kit.FindingHint(
            "fault",
            "These are fewer than 0 bytes. There is no tile behind the last one: start the next "
            "copy only if there is a next tile.",
            when=lambda found: "2^20 bytes" in found.message,
        ),
        kit.FindingHint(
            "out-of-bounds",
            "The last tile may be shorter: it has (n - start) / 4 vectors, if these are fewer than "
            "VECTORS. There is no tile behind the last one: start the next copy only if there is a "
            "next tile, and the first one only if the block has a tile.",
            when=lambda found: found.array == "N",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "A buffer has room for VECTORS vectors, a tile and its halo: copy no more of them.",
            when=lambda found: found.array == "tiles",
        ),
        kit.FindingHint(
            "fault",
            "A phase that does not end: either the announced bytes are not those that come (a "
            "vector has 16 bytes, and the last tile has fewer vectors), or nobody has started a "
            "copy at this mbarrier, or this turn waits for a later phase. Or a warp is a turn "
            "behind the others, because no barrier of the block ends a turn.",
        ),
        kit.FindingHint(
            "uninitialised",
            "Nothing was copied to this place of the tile. A tile comes with its halo, VECTORS "
            "vectors in all; and the copy of this turn's tile went into this turn's buffer.",
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
