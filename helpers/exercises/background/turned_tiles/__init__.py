"""Each tile of 256 cells is turned around, the next one copied by cp.async meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.background import FINDINGS, LAB, OVERLAP, SAME_BUFFER
from helpers.quantities import quantity

TILE, THREADS = 256, 64
# (tiles, blocks): one tile; a block without a tile; as many tiles for each block; one more; enough
# blocks to see that they share the work.
SIZES = ((1, 1), (1, 3), (6, 2), (7, 2), (9, 1), (10, 4), (280, 4))


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield tiles of random cells, shared out among some blocks."""
    for tiles, blocks in SIZES:
        n = TILE * tiles
        yield kit.one_launch(
            f"n = {n:,}, {quantity(blocks, 'block')}",
            {"P": kit.unwritten(n), "N": kit.whole_numbers(rng, n, 1000)},
            (blocks,), (THREADS,), n,
            kinds={"size": (tiles, blocks)},
            facts={"tiles": tiles},
            budgeted=tiles < 280,
        )


def turned(case: kit.Case) -> np.ndarray:
    """Return N, with each tile turned around."""
    return case["N"].reshape(-1, TILE)[:, ::-1].ravel()


def neighbours(case: kit.Case) -> np.ndarray | None:
    """Return what comes out if a block's next tile is the next one of N, and not one of its own."""
    blocks = case.steps[0].grid[0]
    tiles = turned(case).reshape(-1, TILE)
    if blocks == 1 or len(tiles) <= blocks:
        return None
    later = np.arange(blocks, len(tiles))
    tiles[later] = turned(case).reshape(-1, TILE)[later - blocks + 1]
    return tiles.ravel()


EXERCISE = kit.Exercise(
    name="turned_tiles",
    place=3,
    lab=LAB,
    title="The next tile copied in the background",
    cases=cases,
    reference=turned,
    budgets=(
        kit.Budget(
            "cp.async of warps for a tile",
            kit.executed(
                *("cp.async.shared", "cp.async.ca", "cp.async.cg"),
                per=lambda case: case.count / TILE,
            ),
            2,
            "Copy each tile by cp.async, 16 bytes a thread: two warps copy 64 x 16 bytes.",
            least=2,
        ),
        kit.none_of(
            "shared",
            "store",
            what="stores to shared memory",
            hint="cp.async writes to shared memory by itself; no thread stores there.",
        ),
        OVERLAP,
        kit.Budget(
            "sectors of N per output",
            kit.per_output("global", "load", "N", "sectors"),
            1 / 8,
            "Each cell of N is copied once; outputs are read from the tile.",
        ),
        kit.ONE_STORE,
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: kit.ceil_div(case["tiles"], case.steps[0].grid[0]) * TILE,
    mistakes=(
        kit.Mistake(
            "The tiles are copied, but not turned around: cell 255 - o of the tile goes to "
            "output o.",
            gives=lambda case: case["N"],
        ),
        kit.Mistake(
            "The vectors of a tile change places, and the four cells of each stand as they were: "
            "cell 255 - o of the tile goes to output o.",
            gives=lambda case: case["N"].reshape(-1, TILE // 4, 4)[:, ::-1].ravel(),
        ),
        kit.Mistake(
            "A block copies the tile beside its own as the next one: its next tile begins 256 * "
            "gridDim.x cells further on.",
            gives=neighbours,
        ),
        kit.Mistake(
            "Whole N is turned around: only the cells within each tile change places.",
            gives=lambda case: case["N"][::-1] if case.count > TILE else None,
        ),
    ),
    findings=(
        SAME_BUFFER,
        kit.FindingHint(
            "race",
            "The copy is still under way when a cell is read. Wait for this tile's group "
            "(wait_group) first, then for the other threads (__syncthreads()), in this order; and "
            "commit a group in every turn, behind the last tile, too.",
            when=lambda found: "asynchronous copy" in found.message,
        ),
        kit.FindingHint(
            "uninitialised",
            "Nothing was copied to this place. Is it in this turn's buffer, was the copy into it "
            "started in the turn before, and does the index stay in the tile? 255 - o is its last "
            "cell for o = 0.",
        ),
        *FINDINGS,
        kit.FindingHint(
            "misaligned",
            "cp.async of 16 bytes takes addresses that are multiples of 16 on both sides.",
        ),
    ),
    hints=(
        "Two buffers, tiles[2][64]. Before the loop, start the copy of the block's first tile and "
        "commit it. Which buffer does the next tile go to?",
        "In each turn: start the next tile's copy (if there is one), commit, wait_group 1, "
        "__syncthreads(), compute on this tile, __syncthreads().",
        "cp.async takes the address in shared memory as a number of 32 bits: "
        '(unsigned)__cvta_generic_to_shared(tiles[0] + t), as "r"; the global pointer as "l".',
    ),
)
