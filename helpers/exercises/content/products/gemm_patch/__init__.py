"""A patch of 8 x 8 outputs in the registers of a thread."""

from __future__ import annotations

from helpers.exercises.content.products import exercise

TILE, PATCH = 128, 8
ACROSS = TILE // PATCH


EXERCISE = exercise(
    "gemm_patch",
    2,
    "A patch of outputs in registers",
    TILE,
    ACROSS * ACROSS,
    2 / PATCH,
    small=((20, 18, 9), (TILE, ACROSS + 1, 9), (ACROSS + 1, TILE, 9), (2, 3, 40)),
    points=10,
    hints=(
        "Your outputs are in rows ty, ty + 16, ty + 32, ... of the tile. Which 8 cells of tile_a "
        "does step i need for them?",
        "a[p] is tile_a[ty + p * ACROSS][i], and x[p] is tile_x[i][tx + p * ACROSS].",
        "Two loops, one in the other: sum[r][s] gets a[r] * x[s]. `#pragma unroll` above both of "
        "them, since an array stays in registers only if every index is known.",
    ),
)
