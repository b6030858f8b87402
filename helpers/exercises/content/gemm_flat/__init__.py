"""A product of matrices by flat tiles: 4 rows, 64 columns, steps of 16."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.quantities import quantity

ROWS, COLS, STEP = 4, 64, 16
SMALL = (5, 10, 17, 2), (2, COLS + 2, 3, 1), (3, 4, 66, 1)  # rows, cols, inner, batch


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield products like layer 1's (4 rows), and ragged ones with other rows and columns,
    of 1 to 206 terms.
    """
    drawn = (5, int(rng.integers(70, 130)), int(rng.integers(20, 45)), 2)
    for rows, cols, inner, batch in (
        (4, 1_280, 49, 1),
        drawn,
        (1, 1, 1, 1),
        (4, 64, 16, 1),
        (9, 65, 17, 2),
        (7, 70, 206, 1),
    ):
        yield matrices(rng, rows, cols, inner, batch)
    yield matrices(rng, 4, 17_501, 2, 1)


def matrices(
    rng: np.random.Generator, rows: int = 16, cols: int = 1_280, inner: int = 196, batch: int = 64
) -> kit.Case:
    """Return a product for each image, by default as large as layer 2's."""
    arrays = {
        "Y": kit.unwritten((batch, rows, cols)),
        "A": kit.whole_numbers(rng, (rows, inner)),
        "X": kit.whole_numbers(rng, (batch, inner, cols)),
    }
    grid = (kit.ceil_div(cols, COLS), kit.ceil_div(rows, ROWS), batch)
    return kit.one_launch(
        f"{rows} x {inner} times {inner} x {cols}" + f", {quantity(batch, 'image')}" * (batch > 1),
        arrays, grid, (COLS, ROWS), rows, cols, inner,
        kinds={"size": (rows, cols, inner)}, facts={"terms": inner}, budgeted=cols == 1_280,
    )


def product(case: kit.Case) -> np.ndarray:
    """Return a X."""
    return case["A"].astype(float) @ case["X"].astype(float)


EXERCISE = kit.Exercise(
    name="gemm_flat",
    lab="200_conv2d_im2col_gemm",
    title="Load flat tiles of a product of matrices",
    place=2,
    timed=matrices,
    cases=cases,
    small=lambda rng: (matrices(rng, *size) for size in SMALL),
    reference=product,
    counts={"size": "sizes"},
    budgets=(
        kit.Budget(
            "words from shared memory per product",
            lambda case, one: (
                one.total("bytes_used", "shared", "load") / 4 / (case.count * case["terms"])
            ),
            2 / 0.7,
            "Each product needs two words. More of them are products with 0: of rows or terms "
            "that are not there.",
            least=0.5,
        ),
        kit.Budget(
            "loads of X per cell of X",
            lambda case, one: one.total("lanes", "global", "load", "X") / case["X"].size,
            1,
            "The tile loads each cell of X once for four rows: read it from there.",
            least=0.9,
        ),
        kit.Budget(
            "loads of A per block",
            lambda case, one: one.total("lanes", "global", "load", "A") / one.blocks,
            lambda case: ROWS * case["terms"],
            "A tile has 4 x 16 numbers of A: 64 threads load it.",
        ),
        kit.loads_of_a_warp(
            lambda case: 8 * kit.ceil_div(case["terms"], STEP),
            "All threads share the loads: in a step each loads four numbers of X, and one or none "
            "of A.",
        ),
        kit.ONE_STORE,
        kit.Budget(
            "barriers per warp",
            lambda case, one: one.barriers / kit.warps(case),
            lambda case: 2 * kit.ceil_div(case["terms"], STEP),
            "Two barriers a step are enough.",
            quiet=True,
        ),
        *kit.NO_DETOURS,
    ),
    most_of_a_block=lambda case: ROWS * COLS,
    hints=(
        "How many numbers has a tile of A, and how many a tile of X? How many threads has the "
        "block?",
        "64 of the 256 threads are enough for A. For X every thread loads four numbers.",
        "A loop over i from ty to STEP in steps of ROWS fills the rows of tile_x.",
    ),
)
