"""A patch of 8 x 8 outputs in the registers of a thread."""

from __future__ import annotations

import numpy as np

from helpers.exercises.kit import Case, Mistake
from helpers.exercises.products import exercise, product

TILE, PATCH = 128, 8
ACROSS = TILE // PATCH


def diagonal(case: Case) -> np.ndarray | None:
    """What comes out if a thread multiplies a[r] by x[r] only."""
    want = product(case)
    if max(want.shape) <= ACROSS:
        return None
    rows, cols = np.ogrid[: want.shape[0], : want.shape[1]]
    same = rows % TILE // ACROSS == cols % TILE // ACROSS
    return np.where(same, want, 0)


def in_tiles(case: Case, *axes: int) -> np.ndarray:
    """The product with its axes (tile, r, ty, tile, s, tx) in another order, and 0 beyond it."""
    want = product(case)
    tiles = [-(-size // TILE) for size in want.shape]
    padded = np.zeros([count * TILE for count in tiles])
    padded[: want.shape[0], : want.shape[1]] = want
    parts = padded.reshape(tiles[0], PATCH, ACROSS, tiles[1], PATCH, ACROSS)
    if axes == NEIGHBOURS:  # row ty * 8 + r of a tile
        parts = padded.reshape(tiles[0], ACROSS, PATCH, tiles[1], PATCH, ACROSS)
    return parts.transpose(axes).reshape(padded.shape)[: want.shape[0], : want.shape[1]]


EXCHANGED, NEIGHBOURS = (0, 4, 2, 3, 1, 5), (0, 2, 1, 3, 4, 5)


EXERCISE = exercise(
    "gemm_patch",
    2,
    "A patch of outputs in registers",
    TILE,
    ACROSS * ACROSS,
    2 / PATCH,
    points=10,
    mistakes=(
        Mistake(
            "Only sum[r][r] is right: multiply each of the 8 cells of A by each of the 8 of X.",
            gives=diagonal,
        ),
        Mistake(
            "sum[r][s] has the row of s and the column of r: a[r] belongs to the rows, x[s] to the "
            "columns.",
            gives=lambda case: in_tiles(case, *EXCHANGED),
        ),
        Mistake(
            "The rows are right, and stand in other places: row r of a thread is ty + r * ACROSS, "
            "as the store has it.",
            gives=lambda case: in_tiles(case, *NEIGHBOURS),
        ),
    ),
    hints=(
        "Your outputs are in rows ty, ty + 16, ty + 32, ... of the tile. Which 8 cells of tile_a "
        "does step i need for them?",
        "a[p] is tile_a[ty + p * ACROSS][i], and x[p] is tile_x[i][tx + p * ACROSS].",
        "Two loops, one in the other: sum[r][s] gets a[r] * x[s]. `#pragma unroll` above both of "
        "them, since an array stays in registers only if every index is known.",
    ),
)
