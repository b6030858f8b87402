"""A column of 8 outputs in the registers of a thread."""

from __future__ import annotations

from helpers.exercises.content.products import exercise

TILE, PATCH = 64, 8


EXERCISE = exercise(
    "gemm_column",
    1,
    "A column of outputs in registers",
    TILE,
    TILE * TILE // PATCH,
    1 + 1 / PATCH,
    small=((20, 10, 9), (TILE + 2, 3, 9), (3, TILE + 2, 9), (2, 3, 40)),
    points=5,
    hints=(
        "Which of the two factors of a product stays the same for all 8 outputs of a column?",
        "Read tile_x[i][column] once, before the loop over the 8 rows. In that loop only the cell "
        "of A changes.",
        "The cell of A for sum[r] is tile_a[patch + r][i]. `#pragma unroll` above the loop keeps "
        "sum in registers.",
    ),
)
