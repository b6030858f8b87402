"""Broadcast: a column and a row make a table whose rows do not lie close together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.content.puzzles import puzzle, sectors_per_request
from helpers.quantities import quantity

BROADCAST = (
    "All 32 lanes of a warp should be in one row of the table: then they want the same column[y], "
    "which is one sector for all of them (a broadcast)."
)


def case(
    column: np.ndarray, row: np.ndarray, padding: np.ndarray, block: tuple[int, int] = (32, 8)
) -> kit.Case:
    """Return blocks of 32 x 8 threads over a table; padding: of its rows, (height, pitch - width).
    """
    height, width, pitch = column.size, row.size, row.size + padding.shape[1]
    # What T holds at first: cells that must change, and the padding, which must not.
    T = np.concatenate([np.full((height, width), -777.25, np.float32), padding], axis=1)
    grid = (kit.ceil_div(width, block[0]), kit.ceil_div(height, block[1]))
    return kit.one_launch(
        f"{quantity(height, 'row')} of {width}, pitch {pitch}",
        {"T": T, "column": column, "row": row},
        grid, block, width, height, pitch,
        kinds={"size": (height, width), "pitch": pitch},
    )


def drawn(rng: np.random.Generator, height: int, width: int, gap: int) -> kit.Case:
    """Return a table of random numbers."""
    column, row = kit.whole_numbers(rng, height, 99), kit.whole_numbers(rng, width, 99)
    return case(column, row, kit.whole_numbers(rng, (height, gap), 99))


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield tables that are higher than wide and wider than high, with and without padding."""
    height, width = int(rng.integers(18, 40)), int(rng.integers(70, 120))
    for shape in ((height, width, 5), (2, 33, 31), (31, 5, 3), (16, 64, 0), (9, 31, 1)):
        yield drawn(rng, *shape)
    yield drawn(rng, *kit.MANY_ROWS, 1)


def tabled(case: kit.Case) -> np.ndarray:
    """Return the table, and the padding as it was."""
    T = case["T"].copy()
    T[:, : case["row"].size] = case["column"][:, None] + case["row"]
    return T


EXERCISE = puzzle(
    "sum_table",
    4,
    "Broadcast: a column and a row make a table",
    cases=cases,
    small=lambda rng: (drawn(rng, *shape) for shape in ((2, 3, 2), (9, 33, 1))),
    reference=tabled,
    counts={"size": "sizes", "pitch": "pitches"},
    example=case(
        np.array([10, 20, 30], np.float32),
        np.array([1, 2, 3, 4], np.float32),
        np.full((3, 2), -1, np.float32),
        (4, 2),
    ),
    follow=(1, 2),
    comes_from={"column": ((1,),), "row": ((2,),)},
    upright=("column",),
    budgets=(
        sectors_per_request("column", "load", 1, BROADCAST),
        sectors_per_request("T", "store", 5, BROADCAST),
    ),
    most_of_a_block=lambda case: 256,
    timed=lambda rng: drawn(rng, 4_096, 4_000, 96),
    hints=(
        "As in the puzzle before: x from the .x of thread and block, y from the .y, and a guard "
        "for each.",
        "A stride is how many cells lie between a cell and the one below it. For T that is pitch.",
        "T[y * pitch + x] = column[y] + row[x].",
    ),
)
