"""One warp multiplies 16 x 32 by 32 x 8: two products on tensor cores, added up."""

from __future__ import annotations

import numpy as np

from helpers.exercises import kit
from helpers.exercises.mma import ROWS, STEP, exercise, of

TERMS = 2 * STEP


def _columns_from_8(case: kit.Case) -> np.ndarray:
    a, b = case["A"], case["B"]
    return of(a[:, :STEP], b[:STEP]) + of(a[:, 8 : 8 + STEP], b[STEP:])


def _rows_of_16(case: kit.Case) -> np.ndarray:
    """Return a read as if its rows had 16 halves."""
    flat = case["A"].ravel()
    places = 16 * np.arange(ROWS)[:, None] + np.arange(TERMS)
    return of(flat[places], case["B"])


EXERCISE = exercise(
    "two_products",
    3,
    "A product of 32 terms by two instructions of one warp",
    TERMS,
    16,
    "Two columns of A are neighbours: one load of 4 bytes gives both.",
    mistakes=(
        kit.Mistake(
            "D holds the last 16 terms alone: the second mma must add to the sums of the first.",
            gives=lambda case: of(case["A"][:, STEP:], case["B"][STEP:]),
        ),
        kit.Mistake(
            "D holds the first 16 terms alone: where is the second mma?",
            gives=lambda case: of(case["A"][:, :STEP], case["B"][:STEP]),
        ),
        kit.Mistake(
            "The second step reads columns 8 to 23 of A: it begins at column 16.",
            gives=_columns_from_8,
        ),
        kit.Mistake(
            "The second step multiplies by the first 16 rows of B again.",
            gives=lambda case: of(
                case["A"][:, :STEP] + case["A"][:, STEP:].astype(float), case["B"][:STEP]
            ),
        ),
        kit.Mistake(
            "The first step multiplies by rows 16 to 31 of B, and the second one by rows 0 to 15: "
            "step s takes columns 16 * s to 16 * s + 15 of A, and the rows of B of these numbers.",
            gives=lambda case: of(case["A"], np.roll(case["B"], STEP, axis=0)),
        ),
        kit.Mistake("A row of A has 32 halves here, not 16.", gives=_rows_of_16),
    ),
    hints=(
        "Write one_mma first, and count 16 of its columns and rows from 16 * step on. A row of A "
        "now has 32 halves.",
        "Set d[0] to d[3] to 0 once, before the loop over the two steps.",
        'In the asm line, "+f"(d[0]) is read and written: {%0, %1, %2, %3} stands first and last, '
        "as the result and as the sums to add to.",
    ),
)
