"""Lab 110: a layer whose filter has a known width, unrolled; and a promise about its arrays.

What the first two exercises are tried on, and what both can get wrong, stands here once.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import indices, kit, layers
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


def narrow_rows(case: kit.Case) -> np.ndarray | None:
    """Return what comes out if the rows of cells are taken to be as far apart as those of weights.
    """
    x, shape = case["x"], case["shape"]
    y = np.zeros(shape.y_shape, np.float64)
    K = shape.K
    last = x.size - 1
    b, c, h, w = np.ogrid[: shape.B, : shape.C, : shape.out_h, : shape.out_w]
    first = ((b * shape.C + c) * shape.H + h) * shape.W + w
    for p in range(K):
        for q in range(K):
            cells = x.ravel()[np.minimum(first + p * K + q, last)]
            y += np.einsum("bchw,mc->bmhw", cells, case["filter"][:, :, p, q])
    return y.astype(np.float32)


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
MISTAKES = (
    kit.all_zero("All sums are 0: add the product of each cell and its weight."),
    kit.Mistake(
        "The rows of cells lie W apart, not FILTER_WIDTH: that is the distance of two rows of "
        "weights.",
        gives=narrow_rows,
    ),
    *indices.WRONG_INDICES,
)
FINDINGS = (
    kit.FindingHint(
        "out-of-bounds",
        "The filter has the rows 0 to FILTER_WIDTH - 1, and as many columns. Weight (p, q) is "
        "tap[p * FILTER_WIDTH + q], and its cell is cell[p * W + q].",
    ),
)
