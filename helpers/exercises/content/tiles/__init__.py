"""Lab 111: tiles of a layer in shared memory, for one output map, for several, for two rows.

What the first two exercises are tried on stands here once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.limits import ConvShape

LAB = "111_conv2d_tiles"
TILE, SPAN = 16, 22  # outputs along a side of a block's tile, and its cells
WORDS = 3_136  # of `filter`: layer 2 has 16 maps of 4 x 7 x 7 weights


def layer(
    rng: np.random.Generator, shape: ConvShape = layers.LARGE, maps: int = 1, words: int = WORDS
) -> kit.Case:
    """Return a layer, by default a large one; a block has a tile for so many maps. words: of the
    symbol.
    """
    drawn = layers.draw(rng, shape)
    return layers.layer_case(
        rng,
        shape,
        (layers.tiles(shape, TILE), kit.ceil_div(shape.M, maps), shape.B),
        (TILE, TILE),
        drawn=drawn,
        constants=layers.symbol(drawn[1], words, beyond=0),
        facts={"maps": maps},
        budgeted=shape.K == SPAN - TILE + 1 and shape.M % maps == 0,
    )


def shapes(rng: np.random.Generator) -> Iterator[ConvShape]:
    """Yield ragged layers of several channels and maps, whole tiles side by side, one output, a
    small filter, and many outputs of a whole one.
    """
    height, width = map(int, rng.integers(24, 38, 2))
    yield ConvShape(2, 3, 4, height, width, 7)
    yield ConvShape(1, 1, 4, 24, 38, 7)
    yield ConvShape(1, 2, 5, 7, 7, 7)
    yield ConvShape(1, 2, 2, 19, 41, 3)
    rows, columns = kit.MANY_ROWS  # of outputs
    yield ConvShape(1, 1, 1, rows + 6, columns + 6, 7)


def of_a_channel(space: str, access: str, array: str | None = None):
    """Return the lanes of an access for each block and channel, as a function for a budget."""
    return lambda case, one: (
        one.total("lanes", space, access, array) / (one.blocks * case["shape"].C)
    )


LOADS = kit.Budget(
    "loads of x per block and channel",
    of_a_channel("global", "load", "x"),
    SPAN * SPAN,
    "The tile brings each of 22 x 22 cells once. Read the products' cells from it, not from x.",
)
MOST_REQUESTS = 40  # of a block and channel; loads by rows take 22, one thread alone takes 484
MOST_SECTORS = 10  # two rows of 16 cells take up to 6, 16 rows of two take 16 or more
MOST_OF_A_WARP = 6  # of these; warp 0 takes 4 by rows, one warp alone takes 16
ALL_WARPS = kit.loads_of_a_warp(
    lambda case: MOST_OF_A_WARP * case["shape"].C,
    "All 256 threads load a part of the tile: r begins at threadIdx.y, and s at threadIdx.x. A "
    "warp that loads it alone has to wait for its loads while the others have nothing to do.",
)
USUAL = (
    kit.Budget(
        "load requests of x per block and channel",
        lambda case, one: (
            one.total("requests", "global", "load", "x") / (one.blocks * case["shape"].C)
        ),
        MOST_REQUESTS,
        "All 256 threads load, neighbours side by side: the 32 lanes of a warp share a request.",
        quiet=True,
    ),
    kit.Budget(
        "sectors per load request",
        kit.per_request("global", "load"),
        MOST_SECTORS,
        "Neighbouring lanes, with neighbouring threadIdx.x, should load neighbouring cells of a "
        "row: let s, the column, begin at threadIdx.x.",
        quiet=True,
    ),
    ALL_WARPS,
    kit.Budget(
        "shared stores per block and channel",
        of_a_channel("shared", "store"),
        SPAN * SPAN,
        "Each cell of the tile needs to be stored once, by one of the threads.",
    ),
    kit.Budget(
        "constant loads per product",
        lambda case, one: (
            one.total("lanes", "constant", "load") / (case.count * case["shape"].terms)
        ),
        1,
        "Each product needs one weight: load it once.",
        quiet=True,
    ),
    kit.ONE_STORE,
    *kit.NO_DETOURS,
)
