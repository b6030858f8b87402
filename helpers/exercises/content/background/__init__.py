"""The exercises on copies in the background: the cases and the budget that they share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.judge import outcome
from helpers.problems import copies
from helpers.quantities import quantity

LAB = "302_asynchronous_copies"
# (outputs of a tile, threads, filter width, n, blocks): one tile; a block without a tile; a last
# tile of a few outputs; as many tiles for each block, and one more; a halo wider than a
# tile; enough blocks to see that they share the work.
SIZES = (
    (128, 64, 5, 100, 1),
    (128, 64, 5, 128, 3),
    (128, 64, 15, 3 * 128 + 20, 1),
    (256, 64, 15, 6 * 256 + 14, 2),
    (128, 32, 7, 9 * 128 + 40, 2),
    (16, 32, 31, 400, 3),
    (64, 32, 3, 9 * 64 + 4, 4),
)


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield convolutions of some tiles by some blocks, and one of more cells than 16 bits can
    count.
    """
    for sizes in (*SIZES, (1024, 128, 3, 70_004, 2)):
        yield tiles_of(rng, *sizes)


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a part of a tile, a block without a tile, and four tiles for each of two blocks."""
    for sizes in ((32, 64, 3, 20, 1), (32, 64, 3, 34, 2), (32, 64, 7, 8 * 32 - 16, 2)):
        yield tiles_of(rng, *sizes)


def tiles_of(
    rng: np.random.Generator, tile: int, threads: int, width: int, n: int, blocks: int
) -> kit.Case:
    """Return a convolution of n cells, of which whole vectors of 4 are left, by tiles."""
    sizes = tile, threads, width, n, blocks
    outputs = n // 4 * 4 - width + 1
    arrays = {"P": kit.unwritten(outputs), "N": kit.whole_numbers(rng, n // 4 * 4)}
    filter = kit.whole_numbers(rng, width)
    constants = {"TILE_WIDTH": tile, "THREADS": threads, "FILTER_WIDTH": width}
    tiles = kit.ceil_div(outputs, tile)
    facts = {"filter": filter, "tile": tile, "tiles": tiles}
    return kit.one_launch(
        f"n = {n // 4 * 4:,}, tiles of {tile}, {quantity(blocks, 'block')}",
        arrays, (blocks,), (threads,), n // 4 * 4,
        constants={"filter": filter},
        kinds={"size": sizes},
        facts={**facts, "tiles of a block": kit.ceil_div(tiles, blocks)},
        options=tuple(f"-D{name}={value}" for name, value in constants.items()),
        budgeted=n < 70_000,
    )


def vectors(case: kit.Case) -> int:
    """Return the vectors of 16 bytes that all tiles have, their halos included."""
    n, tile, halo = len(case["N"]), case["tile"], len(case["filter"]) - 1
    starts = range(0, len(case["P"]), tile)
    return sum(min(kit.ceil_div(tile + halo, 4), (n - start) // 4) for start in starts)


def vectors_of_a_thread(case: kit.Case) -> int:
    """Return the vectors of a tile and its halo that one thread of the block copies."""
    whole = kit.ceil_div(case["tile"] + len(case["filter"]) - 1, 4)
    return kit.ceil_div(whole, case.steps[0].block[0])


def convolved(case: kit.Case) -> np.ndarray:
    """Return the outputs that need no cell outside N."""
    return copies.reference(case["N"], case["filter"])


def idle_tiles(case: kit.Case, one: kit.Outcome) -> float:
    """Return tiles of the watched block that a warp reads while no copy is under way."""
    loads, beside = one.executed(outcome.LOADS), one.executed(outcome.BESIDE_COPIES)
    tiles = kit.ceil_div(case["tiles"] - case.watched[0], case.steps[0].grid[0])
    return (loads - beside) / max(loads, 1) * max(tiles, 0)


OVERLAP = kit.Budget(
    "tiles of a block during which nothing is copied",
    idle_tiles,
    1,
    "While the block works on a tile, the copy of the next one must be under way. Either start it, "
    "and then wait for all copies but the newest; or wait for all, and start it after the "
    "barrier. Only the last tile has no next one.",
)
