"""One warp multiplies 16 x 49 by 49 x 16 on tensor cores, without bank conflicts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from helpers.exercises import kit

ROWS, TERMS, COLUMNS = 16, 49, 16


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield three products of whole numbers: exact in half, and their sums in float alone."""
    for k in range(3):
        a = rng.integers(-60, 61, (ROWS, TERMS)).astype(np.float16)
        x = rng.integers(-60, 61, (TERMS, COLUMNS)).astype(np.float16)
        a[:, -1], x[-1] = (
            rng.integers(1, 10, ROWS),
            rng.integers(1, 10, COLUMNS),
        )  # the 49th term always shows
        yield kit.warp_product(k + 1, "y", (ROWS, COLUMNS), a=a, x=x)


def product(case: kit.Case) -> np.ndarray:
    """Return a x."""
    return case["a"].astype(float) @ case["x"].astype(float)


EXERCISE = kit.Exercise(
    name="small_product",
    lab="303_tensor_cores",
    title="A product of 49 terms on tensor cores, without bank conflicts",
    place=2,
    cases=cases,
    small=lambda rng: islice(cases(rng), 1),
    reference=product,
    counts={"product": "products"},
    budgets=(
        kit.Budget(
            "products by tensor cores (mma_sync)",
            kit.executed("wmma.mma", "mma.", per="launch"),
            16,
            "Four steps of 16 terms hold all 49.",
            least=4,
        ),
        kit.single_products(
            8,
            "The tensor cores should make the products: fill the 49th to the 64th term, the last "
            "fifteen with zeros.",
        ),
        kit.Budget(
            "global load requests",
            kit.all_of("requests", "global", "load"),
            2 * (ROWS + TERMS),
            "All lanes of the warp share the loads: neighbouring lanes load neighbouring numbers.",
            quiet=True,
        ),
        kit.Budget(
            "bank conflicts when fragments are loaded",
            kit.all_of("conflicts", "shared", "load"),
            0,
            "Eight rows of a fragment are read at once. They begin PITCH halves apart: in which "
            "banks? A pitch of 64 halves is 32 words.",
        ),
        kit.Budget(
            "global loads",
            kit.all_of("lanes", "global", "load"),
            ROWS * TERMS + TERMS * COLUMNS,
            "Each number of a and x is loaded once.",
            quiet=True,
        ),
        kit.ONE_STORE,
        *kit.elsewhere(160),
        *kit.NO_DETOURS,
    ),
    hints=(
        "49 terms are three steps of 16, and one term. What must the other 15 terms of the "
        "fourth step hold?",
        "Two arrays in shared memory: left[16 * PITCH] for the rows of a, right[16 * PITCH] for "
        "the columns of x. For each of 16 rows and 64 terms: store the number, or from term 49 on "
        "a zero, and load nothing then. After __syncwarp() make four steps: load_matrix_sync of "
        "left + k (row_major) and right + k (col_major), and mma_sync.",
        "A pitch of 64 halves puts all rows into the same banks. 8 halves more, 16 bytes, move "
        "each row on by four banks.",
    ),
)
