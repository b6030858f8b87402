"""A column of 8 outputs in the registers of a thread."""

from __future__ import annotations

import numpy as np

from helpers.exercises import kit
from helpers.exercises.products import Place, exercise, from_places, product

TILE, PATCH = 64, 8


def its_row(row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Return the row of an output."""
    return row


def its_column(row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """Return the column of an output."""
    return column


def placed(hint: str, rows: Place = its_row, columns: Place = its_column) -> kit.Mistake:
    """Return the mistake of other rows of A, or other columns of X."""
    return kit.Mistake(hint, gives=lambda case: from_places(case, TILE, rows, columns))


def without_last_row(case: kit.Case) -> np.ndarray | None:
    """Return what comes out if the last sum of each thread stays 0."""
    want = product(case)
    if want.shape[0] < PATCH:
        return None
    want[PATCH - 1 :: PATCH] = 0
    return want


EXERCISE = exercise(
    "gemm_column",
    1,
    "A column of outputs in registers",
    TILE,
    TILE * TILE // PATCH,
    1 + 1 / PATCH,
    points=5,
    mistakes=(
        placed(
            "All 8 rows of a thread have the sum of the first one: row patch + r of tile_a belongs "
            "to sum[r].",
            rows=lambda row, column: row // PATCH * PATCH,
        ),
        placed(
            "Every thread has the first 8 rows of the tile of A: yours begin with row `patch`.",
            rows=lambda row, column: row % PATCH,
        ),
        placed(
            "The rows are right, and stand in other places: the 8 rows of a thread are neighbours, "
            "patch + r, where they are read and where they are stored.",
            rows=lambda row, column: row % PATCH * PATCH + row // PATCH,
        ),
        placed(
            "The patches of threads overlap: `patch` is a row of the tile already, so row r of a "
            "thread is patch + r.",
            rows=lambda row, column: row // PATCH + row % PATCH,
        ),
        placed(
            "The 8 rows of a thread stand upside down: row patch + r belongs to sum[r], where it "
            "is added and where it is stored.",
            rows=lambda row, column: row + PATCH - 1 - 2 * (row % PATCH),
        ),
        placed(
            "The row of A is that of the thread's column: row r of a thread is patch + r.",
            rows=lambda row, column: column,
        ),
        placed(
            "The column of X is the first row of the thread's patch: it must be `column`.",
            columns=lambda row, column: row // PATCH * PATCH,
        ),
        placed(
            "All outputs of a row are made of the first column of the tile of X: take `column`.",
            columns=lambda row, column: 0 * column,
        ),
        placed(
            "The first 8 columns of X stand in all: `column` goes up to TILE - 1.",
            columns=lambda row, column: column % PATCH,
        ),
        placed(
            "Each row of a patch has another column of X: a thread has one column, and 8 rows.",
            columns=lambda row, column: (column + row % PATCH) % TILE,
        ),
        kit.Mistake(
            "The last row of each thread is 0: r goes from 0 to PATCH - 1.",
            gives=without_last_row,
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
