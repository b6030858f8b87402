"""A patch of 8 x 8 outputs in the registers of a thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from helpers.exercises import kit
from helpers.exercises.products import exercise, from_places, padded_product, product

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
    padded = padded_product(case, TILE)
    parts = padded.reshape(len(padded) // TILE, PATCH, ACROSS, -1, PATCH, ACROSS)
    made = parts.transpose(axes).reshape(padded.shape)
    return made[: len(case["A"]), : case["X"].shape[1]]


def cells(case: kit.Case, rows: Cells, columns: Cells) -> np.ndarray:
    """Return what comes out if r of lane t reads these cells of the tile, functions of (t, r)."""
    return from_places(
        case,
        TILE,
        lambda row, column: rows(row % ACROSS, row // ACROSS),
        lambda row, column: columns(column % ACROSS, column // ACROSS),
    )


def below(case: kit.Case) -> np.ndarray | None:
    """Return what comes out if sum[r][s] is made for s up to r."""
    want = product(case)
    rows, columns = np.ogrid[: want.shape[0], : want.shape[1]]
    made = columns % TILE // ACROSS <= rows % TILE // ACROSS
    return None if made.all() else np.where(made, want, 0)


def without_last(case: kit.Case, axis: int) -> np.ndarray | None:
    """Return what comes out if the last row (axis 0) or column of each patch stays 0."""
    want = product(case)
    last = np.arange(want.shape[axis]) % TILE // ACROSS == PATCH - 1
    if not last.any():
        return None
    want[(last, slice(None)) if axis == 0 else (slice(None), last)] = 0
    return want


Cells = Callable[[np.ndarray, np.ndarray], np.ndarray]
EXCHANGED, TURNED = (0, 4, 2, 3, 1, 5), (0, 1, 5, 3, 4, 2)


def right(t: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return every 16th cell."""
    return t + r * ACROSS


def neighbours(t: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return 8 neighbouring cells."""
    return t * PATCH + r


# What else a thread reads, and what is wrong with it.
STRIDES: tuple[tuple[str, Cells], ...] = (
    ("They are PATCH apart in yours, and must be ACROSS apart", lambda t, r: t + r * PATCH),
    ("They are neighbours in yours, and must be ACROSS apart", lambda t, r: t + r),
    ("They are the same for all threads in yours", lambda t, r: r * ACROSS),
    ("They are one and the same cell in yours", lambda t, r: t + 0 * r),
    ("They begin ACROSS apart in yours, thread by thread", lambda t, r: (t * ACROSS + r) % TILE),
)


def stride_mistakes() -> Iterator[kit.Mistake]:
    """Yield the mistakes of STRIDES in the cells of A, in those of X, and in both."""
    rows = "The 8 cells of A are tile_a[ty + p * ACROSS][i]. "
    columns = "The 8 cells of X are tile_x[i][tx + p * ACROSS]. "
    for words, chosen in STRIDES:
        for hint, of_a, of_x in (
            (rows, chosen, right),
            (columns, right, chosen),
            (rows + columns, chosen, chosen),
        ):
            gives = partial(cells, rows=of_a, columns=of_x)
            yield kit.Mistake(f"{hint}{words}.", gives=gives)


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
        *stride_mistakes(),
        kit.Mistake(
            "tx stands in the place of ty: the rows of tile_a are ty + p * ACROSS.",
            gives=lambda case: from_places(
                case,
                TILE,
                lambda row, column: column % ACROSS + row // ACROSS * ACROSS,
                lambda row, column: column,
            ),
        ),
        kit.Mistake(
            "ty stands in the place of tx: the columns of tile_x are tx + p * ACROSS.",
            gives=lambda case: from_places(
                case,
                TILE,
                lambda row, column: row,
                lambda row, column: row % ACROSS + column // ACROSS * ACROSS,
            ),
        ),
        kit.Mistake(
            "sum[r][s] is a[r] times x[r]: it must be a[r] times x[s].",
            gives=lambda case: from_places(
                case,
                TILE,
                lambda row, column: row,
                lambda row, column: column % ACROSS + row // ACROSS * ACROSS,
            ),
        ),
        kit.Mistake(
            "sum[r][s] is a[s] times x[s]: it must be a[r] times x[s].",
            gives=lambda case: from_places(
                case,
                TILE,
                lambda row, column: row % ACROSS + column // ACROSS * ACROSS,
                lambda row, column: column,
            ),
        ),
        kit.Mistake(
            "Only sum[r][s] with s up to r is made: both r and s go from 0 to PATCH - 1.",
            gives=below,
        ),
        kit.Mistake(
            "The last row of each patch is 0: r goes from 0 to PATCH - 1.",
            gives=lambda case: without_last(case, 0),
        ),
        kit.Mistake(
            "The last column of each patch is 0: s goes from 0 to PATCH - 1.",
            gives=lambda case: without_last(case, 1),
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
