"""The order in which blocks that stay compute the tiles of a product: bands, column by column."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.quantities import quantity


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield whole bands, a last band of fewer rows, one row, one column, and fewer tiles than
    blocks; other bands, and other numbers of blocks.
    """
    for high, wide, band, blocks in (
        (8, 8, 4, 6),
        (10, 7, 4, 12),
        (1, 9, 4, 2),
        (9, 1, 2, 4),
        (3, 4, 8, 20),
        (7, 5, 1, 3),
        (*map(int, rng.integers(12, 30, 2)), int(rng.integers(3, 8)), int(rng.integers(5, 40))),
    ):
        yield tiles(high, wide, band, blocks)
    yield kit.without_budgets(tiles(*kit.MANY_ROWS, 8, 66))


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a few tiles: whole bands, a ragged one, and more blocks than tiles."""
    for sizes in ((4, 6, 2, 5), (5, 3, 2, 2), (7, 5, 4, 3), (2, 3, 4, 8)):
        yield tiles(*sizes)


def tiles(high: int, wide: int, band: int, blocks: int) -> kit.Case:
    """Return high x wide tiles, in bands of so many rows, for so many blocks that stay."""
    return kit.one_launch(
        f"{high} x {quantity(wide, 'tile')}, bands of {band}, {quantity(blocks, 'block')}",
        {"Y": kit.unwritten((high, 32 * wide), np.int32)},
        (blocks,),
        (32,),
        high,
        wide,
        kinds={"tiles": (high, wide), "band": band},
        facts={"wide": wide, "band": band, "blocks": blocks},
        options=(f"-DBAND={band}",),
    )


def in_bands(case: kit.Case) -> np.ndarray:
    """Return Y, in each output the number of its tile, band by band, column by column."""
    numbers = np.zeros((len(case["Y"]), case["wide"]), np.int64)
    done = 0
    for first in range(0, len(numbers), case["band"]):
        rows = numbers[first : first + case["band"]]
        rows[:] = done + np.arange(rows.size).reshape(rows.T.shape).T
        done += rows.size
    return numbers.repeat(32, axis=1)


EXERCISE = kit.Exercise(
    name="tile_order",
    place=2,
    lab="307_half_precision_ladder",
    title="The order of tiles of persistent blocks",
    points=5,
    cases=cases,
    small=small,
    reference=in_bands,
    counts={"tiles": "sizes", "band": "widths of a band"},
    budgets=(
        kit.ONE_STORE,
        kit.none_of("shared"),
        kit.none_of("global", "load"),
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: 32 * kit.ceil_div(case.count // 32, case["blocks"]),
    hints=(
        "Gap 1: the loop of a block is `for (int tile = blockIdx.x; tile < ...; tile += ...)`. It "
        "ends after the last of the high * wide tiles.",
        "Gap 2: a whole band has BAND * wide tiles. So the band of a tile begins with row "
        "tile / (BAND * wide) * BAND, and so many rows times `wide` tiles come before the band.",
        "Number the tiles of a band from 0. With `rows` rows in the band, the remainder of that "
        "number by `rows` is the row, and the quotient is the column. The last band has "
        "min(BAND, high - first) rows.",
    ),
)
