"""A patch of 8 x 8 outputs in the registers of a thread."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from helpers.exercises import kit
from helpers.exercises.products import exercise, product

TILE, PATCH = 128, 8
ACROSS = TILE // PATCH


def diagonal(case: kit.Case) -> np.ndarray | None:
    """Return what comes out if a thread multiplies a[r] by x[r] only."""
    want = product(case)
    if max(want.shape) <= ACROSS:
        return None
    rows, cols = np.ogrid[: want.shape[0], : want.shape[1]]
    same = rows % TILE // ACROSS == cols % TILE // ACROSS
    return np.where(same, want, 0)


def in_tiles(case: kit.Case, *axes: int) -> np.ndarray:
    """Return the product with its axes (tile, r, ty, tile, s, tx) in another order, and 0 beyond
    it.
    """
    padded = padded_product(case)
    parts = padded.reshape(len(padded) // TILE, PATCH, ACROSS, -1, PATCH, ACROSS)
    return cut(case, parts.transpose(axes).reshape(padded.shape))


def cells(case: kit.Case, rows: Cells, columns: Cells) -> np.ndarray:
    """Return what comes out if r of lane t reads these cells of the tile, functions of (t, r)."""
    padded = padded_product(case)

    def places(size: int, chosen: Cells) -> np.ndarray:
        tile, at = np.divmod(np.arange(size), TILE)
        return tile * TILE + chosen(at % ACROSS, at // ACROSS)

    high, wide = padded.shape
    return cut(case, padded[np.ix_(places(high, rows), places(wide, columns))])


def padded_product(case: kit.Case) -> np.ndarray:
    """Return the product, with zeros up to whole tiles."""
    want = product(case)
    padded = np.zeros([-(-size // TILE) * TILE for size in want.shape])
    padded[: want.shape[0], : want.shape[1]] = want
    return padded


def cut(case: kit.Case, padded: np.ndarray) -> np.ndarray:
    """Return the part of whole tiles that is the product."""
    return padded[: len(case["A"]), : case["X"].shape[1]]


Cells = Callable[[np.ndarray, np.ndarray], np.ndarray]
EXCHANGED, TURNED = (0, 4, 2, 3, 1, 5), (0, 1, 5, 3, 4, 2)


def right(t: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return every 16th cell."""
    return t + r * ACROSS


def neighbours(t: np.ndarray, r: np.ndarray) -> np.ndarray:
    """8 neighbouring cells."""
    return t * PATCH + r


def first_cells(t: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return the first 8 cells of the tile, for every thread."""
    return r


EXERCISE = exercise(
    "gemm_patch",
    2,
    "A patch of outputs in registers",
    TILE,
    ACROSS * ACROSS,
    2 / PATCH,
    points=10,
    mistakes=(
        kit.Mistake(
            "Only sum[r][r] is right: multiply each of the 8 cells of A by each of the 8 of X.",
            gives=diagonal,
        ),
        kit.Mistake(
            "sum[r][s] has the row of s and the column of r: a[r] belongs to the rows, x[s] to the "
            "columns.",
            gives=lambda case: in_tiles(case, *EXCHANGED),
        ),
        kit.Mistake(
            "The rows are right, and stand in other places: row r of a thread is ty + r * ACROSS, "
            "as the store has it.",
            gives=lambda case: cells(case, neighbours, right),
        ),
        kit.Mistake(
            "The columns are right, and stand in other places: column s of a thread is "
            "tx + s * ACROSS, as the store has it.",
            gives=lambda case: cells(case, right, neighbours),
        ),
        kit.Mistake(
            "The outputs are right, and stand in other places: a thread has rows ty + r * ACROSS "
            "and columns tx + s * ACROSS, as the store has them.",
            gives=lambda case: cells(case, neighbours, neighbours),
        ),
        kit.Mistake(
            "Every thread reads the first 8 rows of tile_a: yours are ty + p * ACROSS.",
            gives=lambda case: cells(case, first_cells, right),
        ),
        kit.Mistake(
            "Every thread reads the first 8 columns of tile_x: yours are tx + p * ACROSS.",
            gives=lambda case: cells(case, right, first_cells),
        ),
        kit.Mistake(
            "tx and ty have changed places: tx counts columns, so it belongs to tile_x.",
            gives=lambda case: in_tiles(case, *TURNED),
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
