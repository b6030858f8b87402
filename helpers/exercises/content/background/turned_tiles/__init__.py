"""Each tile of 256 cells is turned around, the next one copied by cp.async meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.content.background import LAB, OVERLAP
from helpers.quantities import quantity

TILE, THREADS = 256, 64
# (tiles, blocks): one tile; a block without a tile; as many tiles for each block; one more; enough
# blocks to see that they share the work.
SIZES = ((1, 1), (1, 3), (6, 2), (7, 2), (9, 1), (10, 4), (280, 4))


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield tiles of random cells, shared out among some blocks."""
    for tiles, blocks in SIZES:
        yield tiles_of(rng, tiles, blocks)


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a tile, a block without a tile, and four tiles for the first of two blocks."""
    for tiles, blocks in ((1, 1), (1, 2), (7, 2)):
        yield tiles_of(rng, tiles, blocks)


def tiles_of(rng: np.random.Generator, tiles: int, blocks: int) -> kit.Case:
    """Return so many tiles, shared out among so many blocks."""
    n = TILE * tiles
    return kit.one_launch(
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


EXERCISE = kit.Exercise(
    name="turned_tiles",
    place=3,
    lab=LAB,
    title="The next tile copied in the background",
    cases=cases,
    small=small,
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
    hints=(
        "Two buffers, tiles[2][64]. Before the loop, start the copy of the block's first tile and "
        "commit it. Which buffer does the next tile go to?",
        "In each turn: start the next tile's copy (if there is one), commit, wait_group 1, "
        "__syncthreads(), compute on this tile, __syncthreads().",
        "cp.async takes the address in shared memory as a number of 32 bits: "
        '(unsigned)__cvta_generic_to_shared(tiles[0] + t), as "r"; the global pointer as "l".',
    ),
)
