"""Lab 110: a layer whose filter has a known width, unrolled; and a promise about its arrays.

What the first two exercises are tried on stands here once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.limits import ConvShape

LAB = "110_conv2d_restrict_and_unrolling"
TILE = 16  # threads along each side of a block


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield ragged layers of several images, channels and maps, whole tiles, other widths, and many
    outputs.
    """
    height, width = map(int, rng.integers(20, 38, 2))
    yield layer(rng, ConvShape(2, 3, 4, height, width, 7))
    yield layer(rng, ConvShape(1, 2, 3, 7, 7, 7))
    yield layer(rng, ConvShape(1, 1, 2, 21, 36, 5))
    yield layer(rng, ConvShape(1, 2, 2, 19, 23, 2))
    yield kit.without_budgets(layer(rng, ConvShape(1, 1, 1, *kit.MANY_ROWS, 1)))


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a small layer, and one of two tiles, with several images, channels and maps."""
    yield layer(rng, ConvShape(1, 1, 2, 4, 5, 2))
    yield layer(rng, ConvShape(2, 2, 3, 5, 19, 3))


def layer(rng: np.random.Generator, shape: ConvShape = layers.LARGE) -> kit.Case:
    """Return a layer, by default a large one. The kernel gets no K, but FILTER_WIDTH."""
    *sizes, _ = layers.sizes(shape)
    return layers.layer_case(
        rng,
        shape,
        (layers.tiles(shape, TILE), shape.M, shape.B),
        (TILE, TILE),
        arguments=("y", "x", "filter", *sizes),
        options=(f"-DFILTER_WIDTH={shape.K}",),
    )


LOADS = layers.loads_per_product(
    2,
    "A product needs a cell and a weight.",
)
BRANCHES = kit.Budget(
    "branches of a warp per channel",
    lambda case, one: one.executed("bra") / (kit.warps(case) * case["shape"].C),
    3,
    "The code still has a loop over the filter. Both of its loops need a number of turns that the "
    "compiler knows (FILTER_WIDTH), and #pragma unroll above each.",
)
