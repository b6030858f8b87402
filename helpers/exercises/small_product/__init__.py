"""One warp multiplies 16 x 49 by 49 x 16 on tensor cores, without bank conflicts."""

from __future__ import annotations

from collections.abc import Iterator

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


def product(case: kit.Case, terms: int = TERMS) -> np.ndarray:
    """Return a x, of the first so many terms."""
    return case["a"][:, :terms].astype(float) @ case["x"][:terms].astype(float)


def squares_turned(case: kit.Case) -> np.ndarray:
    """Return what comes out if rows and columns of each square of x are exchanged."""
    steps = kit.ceil_div(TERMS, COLUMNS)
    a, x = np.zeros((ROWS, steps * COLUMNS)), np.zeros((steps * COLUMNS, COLUMNS))
    a[:, :TERMS], x[:TERMS] = case["a"], case["x"]
    return a @ x.reshape(steps, COLUMNS, COLUMNS).swapaxes(1, 2).reshape(x.shape)


EXERCISE = kit.Exercise(
    name="small_product",
    lab="303_tensor_cores",
    title="A product of 49 terms on tensor cores, without bank conflicts",
    place=2,
    cases=cases,
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
    mistakes=(
        kit.all_zero("All sums are 0: nothing was multiplied."),
        kit.Mistake(
            "The 49th term is left out: 49 terms need four steps of 16.",
            gives=lambda case: product(case, 48),
        ),
        kit.Mistake(
            "Only the last step is in the sums: they begin with 0 once, before the loop.",
            gives=lambda case: product(case) - product(case, 48),
        ),
        kit.Mistake(
            "The fragments of x are taken with rows and columns exchanged. A fragment of x is "
            "`col_major` where the 16 terms of a column lie side by side in shared memory, and "
            "`row_major` where the 16 columns of a term do.",
            gives=squares_turned,
        ),
        kit.Mistake(
            "x is taken as if it were transposed. Lab 303's kernel stores each column of its "
            "matrix side by side, for a fragment that is `col_major`.",
            gives=lambda case: (
                case["a"].astype(float)
                @ np.resize(case["x"].ravel(), (COLUMNS, TERMS)).T.astype(float)
            ),
        ),
    ),
    findings=(
        kit.FindingHint(
            "uninitialised",
            "A fragment of 16 terms reads all of them: terms 49 to 63 must be set to 0, in both "
            "matrices.",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "a and x have 49 terms: from the 50th on, store 0 in shared memory and load nothing.",
            when=lambda found: found.array in ("a", "x"),
        ),
        kit.FindingHint(
            "out-of-bounds",
            "Step k of 16 terms begins k terms further on: 16 * k halves where the terms of a row "
            "or column lie side by side, and 16 * k pitches where those of a row of x do.",
        ),
        kit.FindingHint(
            "fault",
            "load_matrix_sync() needs rows that begin at multiples of 16 bytes: the pitch must "
            "be a multiple of 8 halves.",
        ),
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
