"""A product of matrices by flat tiles: 4 rows, 64 columns, steps of 16."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from helpers.exercises import kit
from helpers.quantities import quantity

ROWS, COLS, STEP = 4, 64, 16


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


def product(case: kit.Case, terms: int | None = None) -> np.ndarray:
    """Return a X, of the first so many terms."""
    return case["A"][:, :terms].astype(float) @ case["X"][:, :terms].astype(float)


def one_row_of_four(case: kit.Case) -> np.ndarray:
    """Return what comes out if only terms 0 to 3 of each step of 16 are multiplied."""
    terms = np.arange(case["terms"]) % STEP < ROWS
    return case["A"][:, terms].astype(float) @ case["X"][:, terms].astype(float)


def first_tile(name: str, case: kit.Case) -> np.ndarray:
    """Return what comes out if each step takes the first tile of a matrix."""
    factors = {one: case[one].astype(float) for one in ("A", "X")}
    factors[name] = factors[name][:, np.arange(case["terms"]) % STEP]
    return factors["A"] @ factors["X"]


def has_fixed_terms(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether each sum ends after so many steps, and the last terms are left out."""
    ends = range(STEP, case["terms"], STEP)
    return any(np.array_equal(got, product(case, end)) for end in ends)


def last_step(case: kit.Case) -> np.ndarray | None:
    """Return what comes out if the sum begins anew in each step."""
    terms = case["terms"]
    first = (terms - 1) // STEP * STEP
    return product(case) - product(case, first) if first else None


EXERCISE = kit.Exercise(
    name="gemm_flat",
    lab="200_conv2d_im2col_gemm",
    title="Load flat tiles of a product of matrices",
    place=2,
    timed=matrices,
    cases=cases,
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
            "The tile brings each cell of X once for four rows: read it from there.",
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
            "All threads share the loads: in a step each brings four numbers of X, and one or none "
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
    mistakes=(
        kit.Mistake(
            "A sum has only its first terms: the loop over the steps goes on to `inner`, which is "
            "another number in each layer.",
            when=has_fixed_terms,
        ),
        kit.all_zero("All sums are 0: load the tiles, wait at a barrier, and add up the products."),
        kit.Mistake(
            "Only 4 of each 16 terms are multiplied: a tile of X has 16 rows, and the block only "
            "4 rows of threads.",
            gives=one_row_of_four,
        ),
        *(
            kit.Mistake(
                f"Each step multiplies the first tile of {name}: `first` belongs to its index.",
                gives=partial(first_tile, name),
            )
            for name in ("A", "X")
        ),
        kit.Mistake(
            "Only the last step counts: the sum goes on from step to step, and begins with 0 once, "
            "before the loop.",
            gives=last_step,
        ),
        kit.Mistake(
            "Every image has the matrix of image 0: that of image b begins at b * inner * cols.",
            gives=lambda case: (
                case["A"].astype(float) @ np.repeat(case["X"][:1], len(case["X"]), axis=0)
            ),
        ),
        kit.Mistake(
            "Only image 0 is right: the matrix of image b begins at b * inner * cols.",
            when=lambda case, got, want: bool((got[0] == want[0]).all()),
        ),
        kit.Mistake(
            "The terms beyond the last whole step are missing.",
            gives=lambda case: (
                product(case, case["terms"] // STEP * STEP) if case["terms"] >= STEP else None
            ),
        ),
    ),
    findings=(
        kit.FindingHint(
            "race",
            "All warps of the block read the tiles: wait at __syncthreads() between the loads and "
            "the sum, and again before the next loads.",
            when=lambda found: str(found.array).startswith("tile"),
        ),
        kit.FindingHint(
            "out-of-bounds",
            "A tile of A is 16 numbers wide, and the block 64 threads: only threads with tx < "
            "STEP load it.",
            when=lambda found: found.array == "tile_a",
        ),
        kit.FindingHint(
            "uninitialised",
            "A part of the tile of X is never filled: it has 16 rows, and the block only 4 rows of "
            "threads, so that each thread loads four of its rows.",
            when=lambda found: found.array == "tile_x",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "A and X end at rows, inner and cols: what lies beyond counts as 0.",
            when=lambda found: found.array in ("A", "X"),
        ),
    ),
    hints=(
        "How many numbers has a tile of A, and how many a tile of X? How many threads has the "
        "block?",
        "64 of the 256 threads are enough for A. For X every thread loads four numbers.",
        "A loop over i from ty to STEP in steps of ROWS fills the rows of tile_x.",
    ),
)
