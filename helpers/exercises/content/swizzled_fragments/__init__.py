"""A step of a product of halves by one warp: fragments by ldmatrix from swizzled tiles."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from helpers.exercises import kit

ROWS, TERMS, COLUMNS = 16, 64, 64
FEWEST = TERMS // 16 * (1 + COLUMNS // 16)  # ldmatrix of four squares: two fragments of X in one
MOST = TERMS // 16 * (1 + COLUMNS // 8)  # one for each fragment


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield three products of whole numbers without 0: exact in half, and their sums in float."""
    for k in range(3):
        a, x = (
            (rng.integers(1, 61, shape) * rng.choice((-1, 1), shape)).astype(np.float16)
            for shape in ((ROWS, TERMS), (TERMS, COLUMNS))
        )
        yield kit.warp_product(k + 1, "Y", (ROWS, COLUMNS), A=a, X=x)


def product(case: kit.Case) -> np.ndarray:
    """Return A X, in float64."""
    return case["A"].astype(float) @ case["X"].astype(float)


EXERCISE = kit.Exercise(
    name="swizzled_fragments",
    place=1,
    lab="307_half_precision_ladder",
    title="The fragments of a step from swizzled tiles",
    points=5,
    cases=cases,
    small=lambda rng: islice(cases(rng), 1),
    reference=product,
    counts={"product": "products"},
    budgets=(
        kit.Budget(
            "products by tensor cores (mma)",
            kit.executed("mma.", "wmma.mma", per="launch"),
            TERMS // 16 * COLUMNS // 8,
            "Each mma adds up 16 terms for 16 x 8 outputs.",
            least=TERMS // 16 * COLUMNS // 8,
        ),
        kit.single_products(8, "The tensor cores should make all products."),
        kit.Budget(
            "ldmatrix of the warp",
            kit.executed("ldmatrix", per="launch"),
            MOST,
            "ldmatrix loads all fragments: one for each fragment is enough.",
            least=FEWEST,
            quiet=True,
        ),
        kit.Budget(
            "load requests of shared memory",
            kit.all_of("requests", "shared", "load"),
            MOST,
            "What ldmatrix loads is multiplied: no lane loads a cell of the fragments by itself.",
            quiet=True,
        ),
        kit.Budget(
            "bank conflicts of ldmatrix",
            kit.all_of("conflicts", "shared", "load"),
            0,
            "A square is one piece of eight rows. With the pieces in order, these eight lie in the "
            "same four banks: each of eight rows needs a different order.",
        ),
        kit.Budget(
            "global load requests",
            kit.all_of("requests", "global", "load"),
            (ROWS + TERMS) * 8 // 32,
            "The copies are given: each lane loads 16 bytes at a time, and each piece once.",
            quiet=True,
        ),
        kit.Budget(
            "stores of Y", kit.all_of("lanes", "global", "store"), ROWS * COLUMNS // 2, quiet=True
        ),
        *kit.elsewhere(48),
        *kit.NO_DETOURS,
    ),
    hints=(
        "Gap 1: in lab 306 you moved piece p of row r to place p ^ r % 8. The exclusive or with a "
        "number below 8 exchanges the 8 pieces of a row among themselves.",
        "Gap 2 is lab 301: lanes 0 to 7 name rows 0 to 7 of the left square, lanes 8 to 15 rows 8 "
        "to 15 of it, and lanes 16 to 31 the same rows of the piece to its right. The 16 terms "
        "from `first` on are pieces first / 8 and first / 8 + 1.",
        "Gap 3: row first + lane % 16, piece s + lane / 16. In gap 2: row lane % 16, piece "
        "first / 8 + lane / 16. Both go through place_of.",
    ),
)
