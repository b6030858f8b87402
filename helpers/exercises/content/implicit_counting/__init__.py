"""Divisions counted up: a fused product that finds channel, row and column by carrying."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.exercises.judge import indices
from helpers.limits import ConvShape

TILE = 16
INEXACT = 11  # width of a filter: in floats, 121 times 1.0f / 121 is less than 1
DIVISIONS = 20  # per warp: before the loop anyone may divide as often as the sizes ask for


SMALL = (
    ConvShape(1, 20, 1, 3, 4, 1),
    ConvShape(1, 5, 2, 4, 5, 2),
    ConvShape(2, 4, 2, 5, 7, 3),
    ConvShape(1, 2, 1, 5, 6, 5),
    ConvShape(1, 2, 1, 12, 11, INEXACT),
)


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield narrow and wide filters, ragged layers; the budgets hold for many steps."""
    rows, columns = (int(n) for n in rng.integers(9, 14, 2))
    drawn = ConvShape(1, 4, 17, rows, columns, 7)
    for shape in (
        ConvShape(1, 40, 3, 9, 8, 5),
        drawn,
        ConvShape(2, 3, 5, 9, 13, 3),
        ConvShape(1, 20, 2, 6, 5, 1),
        ConvShape(1, 2, 3, 5, 6, 2),
    ):
        yield layer(rng, shape, budgeted=shape.C == 40)
    yield layer(rng, ConvShape(1, 2, 1, 12, 13, INEXACT), budgeted=False)
    yield layer(rng, ConvShape(1, 1, 1, *kit.MANY_ROWS, 1), budgeted=False)


def layer(
    rng: np.random.Generator, shape: ConvShape = layers.LARGE, budgeted: bool = True
) -> kit.Case:
    """Return a layer as a product of matrices; a block has a tile of it."""
    grid = (kit.ceil_div(shape.out_h * shape.out_w, TILE), kit.ceil_div(shape.M, TILE), shape.B)
    return layers.layer_case(rng, shape, grid, (TILE, TILE), budgeted=budgeted)


LOADS = kit.Budget(
    "loads per tile and step",
    lambda case, one: (
        one.total("lanes", "global", "load")
        / (one.blocks * kit.ceil_div(case["shape"].terms, TILE))
    ),
    2 * TILE * TILE,
    "Load each cell of the two tiles once in a step.",
)
EXERCISE = kit.Exercise(
    name="implicit_counting",
    lab="202_conv2d_fusion",
    title="Count channel, row and column up, without divisions",
    place=3,
    timed=layer,
    cases=cases,
    small=lambda rng: (layer(rng, shape) for shape in SMALL),
    reference=layers.convolved,
    counts=layers.COUNTS,
    budgets=(
        kit.Budget(
            "divisions per warp",
            kit.executed("div.", "rem.", "rcp.", per="warp"),
            DIVISIONS,
            "There are 63 steps: a division in the loop runs in each of them. (Divisions are "
            "counted as they are executed, whatever they are called in the source.)",
        ),
        kit.Budget(
            "load sectors per tile and step",
            lambda case, one: (
                one.total("sectors", "global", "load")
                / (one.blocks * kit.ceil_div(case["shape"].terms, TILE))
            ),
            lambda case: 130,
            "Load each cell of the two tiles once in a step.",
            quiet=True,
        ),
        LOADS,
        kit.Budget(
            "words from shared memory per block, thread and term",
            lambda case, one: (
                one.total("lanes", "shared", "load")
                / (one.blocks * TILE**2 * kit.ceil_div(case["shape"].terms, TILE) * TILE)
            ),
            2,
            quiet=True,
        ),
        kit.Budget(
            "barriers per warp",
            lambda case, one: one.barriers / kit.warps(case),
            lambda case: 2 * kit.ceil_div(case["shape"].terms, TILE),
            quiet=True,
        ),
        kit.none_of(
            "constant",
            hint="A table of indices costs a request each time it is read: count up instead.",
        ),
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: TILE * TILE,
    mistakes=indices.WRONG_INDICES,
    hints=(
        "i grows by 16 in each step. For K = 5, by how much do c, p and q grow, before any carry?",
        "16 = dc * K * K + dp * K + dq. Work dc, dp and dq out before the loop.",
        "After adding: if q >= K, subtract K and add 1 to p; then if p >= K, subtract K and add "
        "1 to c.",
    ),
)
