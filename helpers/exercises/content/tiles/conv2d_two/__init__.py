"""Two outputs a thread, one under the other, which share six rows of cells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit, layers
from helpers.exercises.content import tiles
from helpers.exercises.judge import indices
from helpers.limits import ConvShape

MAPS, TILE, SPAN = 4, tiles.TILE, tiles.SPAN
MOST_OF_A_WARP = 9  # load requests; a warp takes 6 by rows, one warp alone takes 16


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield one channel, four maps; images of one output, of whole tiles and ragged ones."""
    for H, W in (
        tuple(map(int, rng.integers(23, 40, 2))),
        (7, 7),
        (22, 22),
        (23, int(rng.integers(24, 37))),
        (12, 38),
        (24, 38),
    ):
        yield image(rng, H, W)
    yield kit.without_budgets(image(rng, 262, 257))


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a part of a tile, and four ragged tiles."""
    yield image(rng, 9, 10)
    yield image(rng, 23, 24)


def image(rng: np.random.Generator, H: int = 1_030, W: int = 1_030) -> kit.Case:
    """Return an image, by default a large one; a block has a tile of one map."""
    shape = ConvShape(1, 1, MAPS, H, W, 7)
    x, filter = layers.draw(rng, shape)
    grid = (kit.ceil_div(H - 6, TILE) * kit.ceil_div(W - 6, TILE), MAPS)
    step = kit.Step(grid, (16, 8), ("y", "x", np.int32(H), np.int32(W)), {"filter": filter.ravel()})
    arrays = {"y": kit.unwritten(shape.y_shape), "x": x}
    facts = {"filter": filter, "shape": shape}
    return kit.Case(f"{H} x {W}", arrays, ("y",), (step,), {"size": (H, W)}, facts)


EXERCISE = kit.Exercise(
    name="conv2d_two",
    lab=tiles.LAB,
    place=3,
    title="Two outputs, one under the other, from one reading of the tile",
    timed=image,
    cases=cases,
    small=small,
    reference=layers.convolved,
    counts={"size": "sizes"},
    budgets=(
        kit.Budget(
            "loads of x per block",
            lambda case, one: one.total("lanes", "global", "load") / one.blocks,
            SPAN * SPAN,
            "The tile loads each cell once: read it from there, not from x.",
        ),
        kit.loads_of_a_warp(
            MOST_OF_A_WARP,
            "All 128 threads load a part of the tile: r begins at threadIdx.y, and s at "
            "threadIdx.x. A warp that loads it alone has to wait for its loads while the others "
            "have nothing to do.",
        ),
        kit.Budget(
            "shared loads per output",
            lambda case, one: one.total("lanes", "shared", "load") / (one.blocks * 256),
            28,
            "Rows 1 to 6 of a thread's window belong to both outputs: read a cell once, and add "
            "it to both sums.",
            least=14,
        ),
        kit.Budget(
            "bank conflicts per shared load",
            kit.per_request("shared", "load", "conflicts"),
            0,
            "Lanes 16 to 31 stand two rows below lanes 0 to 15: 2 * PITCH words. In which banks "
            "are they? PITCH is yours to choose.",
        ),
        kit.Budget(
            "shared stores per block",
            lambda case, one: one.total("lanes", "shared", "store") / one.blocks,
            SPAN * SPAN,
            "Store each cell of the tile once: choose its value, or 0, before.",
            quiet=True,
        ),
        kit.Budget(
            "constant requests per warp",
            lambda case, one: one.total("requests", "constant", "load") / kit.warps(case),
            98,
            "A thread has two outputs of 49 products: 98 weights.",
            quiet=True,
        ),
        kit.ONE_STORE,
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: TILE * TILE,
    mistakes=indices.WRONG_INDICES,
    hints=(
        "A thread's two outputs read rows 0 to 6 and 1 to 7 of its window. How many different "
        "cells are that, and how many reads?",
        "Let p go from 0 to 7 and read each cell once. Row p of the window meets row p of the "
        "filter for the upper output, and row p - 1 for the lower one.",
        "Conflicts: two rows of the tile should be 16 banks apart, so 2 * PITCH should leave 16 "
        "when divided by 32.",
    ),
)
