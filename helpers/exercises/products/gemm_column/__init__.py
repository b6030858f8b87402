"""A column of 8 outputs in the registers of a thread."""

from __future__ import annotations

import numpy as np

from helpers.exercises import kit
from helpers.exercises.products import exercise, product

TILE, PATCH = 64, 8


def first_rows(case: kit.Case) -> np.ndarray | None:
    """Return what comes out if each thread's 8 rows all get the product of its first one."""
    want = product(case)
    if want.shape[0] < 2:
        return None
    return want[np.arange(want.shape[0]) // PATCH * PATCH]


def top_rows(case: kit.Case) -> np.ndarray | None:
    """Return what comes out if every thread reads the first 8 rows of the tile of A."""
    want = product(case)
    if want.shape[0] <= PATCH:
        return None
    rows = np.arange(want.shape[0])
    return want[rows // TILE * TILE + rows % PATCH]


EXERCISE = exercise(
    "gemm_column",
    1,
    "A column of outputs in registers",
    TILE,
    TILE * TILE // PATCH,
    1 + 1 / PATCH,
    points=5,
    mistakes=(
        kit.Mistake(
            "All 8 rows of a thread have the sum of the first one: row patch + r of tile_a belongs "
            "to sum[r].",
            gives=first_rows,
        ),
        kit.Mistake(
            "Every thread has the first 8 rows of the tile of A: yours begin with row `patch`.",
            gives=top_rows,
        ),
    ),
    hints=(
        "Which of the two factors of a product stays the same for all 8 outputs of a column?",
        "Read tile_x[i][column] once, before the loop over the 8 rows. In that loop only the cell "
        "of A changes.",
        "The cell of A for sum[r] is tile_a[patch + r][i]. `#pragma unroll` above the loop keeps "
        "sum in registers.",
    ),
)
