"""The convolution layer, one thread for each output: index, guard, and the sum of the products."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.exercises.judge import indices
from helpers.limits import ConvShape

TILE, FLAT = 16, (32, 8)  # FLAT: another block, across and down


def layer(
    rng: np.random.Generator,
    shape: ConvShape = layers.LARGE,
    block: tuple[int, int] = (TILE, TILE),
) -> kit.Case:
    """Return a layer, by default a large one in tiles of 16 x 16 outputs."""
    tiles = kit.ceil_div(shape.out_w, block[0]) * kit.ceil_div(shape.out_h, block[1])
    return layers.layer_case(rng, shape, (tiles, shape.M, shape.B), block)


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield several tiles, channels, maps and images; ragged, wide, high; whole tiles; one output;
    another block; many outputs.
    """
    rows, columns = (int(n) for n in rng.integers(22, 40, 2))
    shapes = (
        ConvShape(2, 3, 2, rows, columns, 4),
        ConvShape(1, 2, 3, 19, 40, 3),
        ConvShape(3, 1, 2, 41, 9, 5),
        ConvShape(1, 1, 1, 2 * TILE + 2, 2 * TILE + 2, 3),
        ConvShape(1, 2, 1, 3, 3, 3),
    )
    for shape in shapes:
        yield layer(rng, shape)
    yield kit.without_budgets(layer(rng, ConvShape(2, 1, 2, 23, 70, 3), FLAT))
    yield kit.without_budgets(layer(rng, ConvShape(1, 1, 1, *kit.MANY_ROWS, 1)))


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield one output; several tiles across and down, of 4 x 4 outputs in a high and a wide image,
    and of 16 x 16.
    """
    yield layer(rng, ConvShape(1, 2, 1, 3, 3, 3))
    yield layer(rng, ConvShape(2, 2, 2, 8, 7, 3), (4, 4))
    yield layer(rng, ConvShape(1, 2, 2, 6, 11, 2), (4, 4))
    yield layer(rng, ConvShape(1, 1, 1, 18, 20, 2))


EXERCISE = kit.Exercise(
    name="conv2d_basic",
    lab="107_conv2d_layer",
    title="The layer, one thread for each output",
    points=5,
    timed=layer,
    cases=cases,
    small=small,
    reference=layers.convolved,
    counts=layers.COUNTS,
    budgets=(
        layers.loads_per_product(
            2,
            "Load a cell and a weight for each product, once.",
        ),
        kit.ONE_STORE,
        kit.none_of("shared", hint="This kernel loads each cell and weight from global memory."),
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: TILE * TILE,
    mistakes=indices.WRONG_INDICES,
    hints=(
        "Gap 1 is lab 101's index, once for each axis: columns are numbered by blockDim.x and "
        "threadIdx.x, rows by blockDim.y and threadIdx.y. In place of blockIdx.x stands the "
        "tile's column, or its row.",
        "Gap 2: the map has out_h rows and out_w columns, and a thread needs both to hold.",
        "Gap 3 is a loop over c, in it one over p, in it one over q. The cell's row is h + p, and "
        "its column is w + q.",
    ),
)
