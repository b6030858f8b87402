"""Two outputs a thread, one under the other, which share six rows of cells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import indices, kit, layers, tiles
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
        (8, 38),
        (24, 38),
    ):
        yield image(rng, H, W)
    yield kit.without_budgets(image(rng, 262, 257))


def image(rng: np.random.Generator, H: int = 1_030, W: int = 1_030) -> kit.Case:
    """Return an image, by default a large one; a block has a tile of one map."""
    shape = ConvShape(1, 1, MAPS, H, W, 7)
    x, filter = layers.draw(rng, shape)
    grid = (kit.ceil_div(H - 6, TILE) * kit.ceil_div(W - 6, TILE), MAPS)
    step = kit.Step(grid, (16, 8), ("y", "x", np.int32(H), np.int32(W)), {"filter": filter.ravel()})
    arrays = {"y": kit.unwritten(shape.y_shape), "x": x}
    facts = {"filter": filter, "shape": shape}
    return kit.Case(f"{H} x {W}", arrays, ("y",), (step,), {"size": (H, W)}, facts)


def rows_only(first: int):
    """Return a function of a case: what comes out if of each pair of rows only the first (0) or the
    second (1) is right, the other 0.
    """

    def made(case: kit.Case) -> np.ndarray:
        y = layers.convolved(case)
        y[:, :, 1 - first :: 2] = 0
        return y

    return made


EXERCISE = kit.Exercise(
    name="conv2d_two",
    lab=tiles.LAB,
    place=3,
    title="Two outputs, one under the other, from one reading of the tile",
    timed=image,
    cases=cases,
    reference=layers.convolved,
    counts={"size": "sizes"},
    budgets=(
        kit.Budget(
            "loads of x per block",
            lambda case, one: one.total("lanes", "global", "load") / one.blocks,
            SPAN * SPAN,
            "The tile brings each cell once: read it from there, not from x.",
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
    mistakes=(
        kit.all_zero("Both sums are 0: load the tile, wait at a barrier, and add up the products."),
        kit.Mistake("Only the upper output of each pair is right.", gives=rows_only(0)),
        kit.Mistake("Only the lower output of each pair is right.", gives=rows_only(1)),
        tiles.FIRST_TILE,
        kit.Mistake(
            "A window begins in row threadIdx.y of the tile: a thread has two rows of outputs, so "
            "its window begins in row `row`, 2 * threadIdx.y.",
            gives=layers.taken(
                rows=lambda case, row: row - row % TILE + row % TILE // 2 + row % 2
            ),
        ),
        *layers.LAST_CELLS,
        *indices.WRONG_INDICES,
        kit.Mistake(
            "The lower output of each pair is wrong: row p of its window meets row p - 1 of the "
            "filter.",
            when=lambda case, got, want: bool((got[:, :, 0::2] == want[:, :, 0::2]).all()),
        ),
        kit.Mistake(
            "The upper output of each pair is wrong: its filter has rows 0 to 6, and row 7 of "
            "the window is not its own.",
            when=lambda case, got, want: bool((got[:, :, 1::2] == want[:, :, 1::2]).all()),
        ),
    ),
    findings=(
        kit.FindingHint(
            "out-of-bounds",
            "At the right and the lower edge a tile leaves the image: load a cell only where top + "
            "r < H and left + s < W, and 0 elsewhere. The sizes are the arguments H and W: other "
            "images are tried, too.",
            when=lambda found: found.array == "x",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "The sizes are the arguments H and W: other images are tried, too.",
            when=lambda found: found.array == "y",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "A filter has rows 0 to 6. Row p of the window meets row p of it for the upper output "
            "(p < 7), and row p - 1 for the lower one (p > 0).",
            when=lambda found: found.array == "filter",
        ),
        kit.FindingHint(
            "uninitialised",
            "A part of the tile was not loaded. There are 128 threads and 484 cells: r goes on in "
            "steps of 8 and s in steps of 16, as long as they are below 22.",
            when=lambda found: found.array == "tile",
        ),
        kit.FindingHint(
            "race",
            "Two threads store the same output. A thread's outputs are in rows top + row and top + "
            "row + 1, and only those below H - 6, in a column below W - 6, exist.",
            when=lambda found: found.array == "y",
        ),
    ),
    hints=(
        "A thread's two outputs read rows 0 to 6 and 1 to 7 of its window. How many different "
        "cells are that, and how many reads?",
        "Let p go from 0 to 7 and read each cell once. Row p of the window meets row p of the "
        "filter for the upper output, and row p - 1 for the lower one.",
        "Conflicts: two rows of the tile should be 16 banks apart, so 2 * PITCH should leave 16 "
        "when divided by 32.",
    ),
)
