"""Coalescing: lanes along the output maps, turned to lie along columns."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.exercises.judge import indices
from helpers.limits import ConvShape

TILE = 16


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a layer as wide as layer 2 for the budgets, and ragged ones: few maps, maps beyond a
    block, narrow rows.
    """
    wide = ConvShape(1, 2, 16, 12, 40, 7)
    ragged = ConvShape(2, 3, 19, 9, int(rng.integers(19, 30)), 3)
    for shape in (wide, ragged, ConvShape(1, 1, 1, 5, 5, 5), ConvShape(1, 2, 33, 4, 18, 2)):
        yield layer(rng, shape, budgeted=shape is wide)
    yield layer(rng, ConvShape(1, 1, 1, *kit.MANY_ROWS, 1), budgeted=False)


def layer(
    rng: np.random.Generator, shape: ConvShape = layers.LARGE, budgeted: bool = True
) -> kit.Case:
    """Return a layer; a block has 16 columns and 16 maps."""
    grid = (kit.ceil_div(shape.out_w, TILE), shape.out_h * kit.ceil_div(shape.M, TILE), shape.B)
    return layers.layer_case(rng, shape, grid, (TILE, TILE), budgeted=budgeted)


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a small layer, one with several groups of columns, and one with several of maps."""
    for shape in (
        ConvShape(1, 1, 2, 4, 5, 2),
        ConvShape(2, 2, 3, 3, 19, 2),
        ConvShape(2, 1, 18, 3, 4, 2),
    ):
        yield layer(rng, shape)


EXERCISE = kit.Exercise(
    name="conv2d_maps",
    lab="108_conv2d_coalescing",
    title="Turn lanes along the maps into lanes along columns",
    timed=layer,
    cases=cases,
    small=small,
    reference=layers.convolved,
    counts=layers.COUNTS,
    budgets=(
        kit.Budget(
            "sectors per load request",
            kit.per_request("global", "load"),
            3,
            "Neighbouring lanes have neighbouring threadIdx.x: let it choose the column, so that "
            "they read neighbouring cells.",
        ),
        kit.Budget(
            "sectors per store request",
            kit.per_request("global", "store"),
            6,
            "Neighbouring lanes should store neighbouring columns of one map.",
        ),
        layers.loads_per_product(
            2,
            "More loads make the average look better, and the kernel slower.",
            what="loads per output and tap",
            quiet=True,
        ),
        kit.Budget(
            "load requests per output",
            kit.per_output("global", "load", counter="requests"),
            lambda case: 2 * case["shape"].terms / 16,
            "All 256 threads of the block have an output of their own, in 16 columns and 16 maps.",
            quiet=True,
        ),
        kit.ONE_STORE,
        kit.none_of(
            "shared", hint="An exchange through shared memory is not needed: turn the two indices."
        ),
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: TILE * TILE,
    mistakes=indices.WRONG_INDICES,
    hints=(
        "Lanes 0 and 1 have threadIdx.x 0 and 1. How far apart are the outputs that they store?",
        "Which of m, h and w must differ by 1 between neighbouring lanes, so that they store "
        "neighbouring floats?",
        "Exchange threadIdx.x and threadIdx.y in the two lines: columns by x, maps by y.",
    ),
)
