"""Transpose: a tile turned in shared memory, so that neither side is scattered."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.content.puzzles import over_image, puzzle, sectors_per_request, shared_out

TILE = (
    "Lanes that are neighbours in a row of N are a whole row apart in P, so each touches its own "
    "sector there. Lanes should load neighbours of N, and store neighbours of P: how can a lane "
    "store a cell that another lane has loaded?"
)


def case(N: np.ndarray, block: int = 32) -> kit.Case:
    """Return a case with square blocks, a thread for each cell."""
    return over_image(N, kit.unwritten(N.shape[::-1]), (block, block), block=block)


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Return cases that are wider than high and higher than wide, one of whole tiles, one of few
    cells.
    """
    drawn = (int(rng.integers(33, 60)), int(rng.integers(66, 90)))
    for shape in (drawn, (2, 33), (40, 3), (32, 64)):
        yield case(kit.cells(rng, shape))
    yield case(kit.cells(rng, kit.MANY_ROWS))


EXERCISE = puzzle(
    "transpose",
    7,
    "Transpose: rows in, rows out, and no bank conflict",
    cases=cases,
    small=lambda rng: (case(kit.cells(rng, shape)) for shape in ((2, 3), (3, 34), (34, 3))),
    reference=lambda case: case["N"].T,
    example=case(np.arange(6, dtype=np.float32).reshape(2, 3), 2),
    follow=(2, 1),
    comes_from={"N": ((1, 2),)},
    pictured=3,
    budgets=(
        sectors_per_request("N", "load", 5, TILE),
        sectors_per_request("P", "store", 5, TILE),
        shared_out(1, "tile: each loads one cell"),
        kit.Budget(
            "bank conflicts",
            lambda case, one: sum(one.total("conflicts", "shared", a) for a in ("load", "store")),
            0,
            "The cells of a column of tile[32][32] are 32 words apart: all of them lie in one "
            "bank. How long must a row be, so that each of them lies in another bank?",
        ),
    ),
    most_of_a_block=lambda case: case["block"] ** 2,
    timed=lambda rng: case(kit.cells(rng, (4_096, 4_096))),
    hints=(
        "A direct copy is coalesced on one side only. Which side, and how many sectors does a "
        "request need on the other one? Draw the accesses of your kernel.",
        "Load tile[threadIdx.y][threadIdx.x], wait, and store tile[threadIdx.x][threadIdx.y]. The "
        "column in P is blockIdx.y * 32 + threadIdx.x, the row blockIdx.x * 32 + threadIdx.y.",
        "The store has its own guards: column < height, row < width. And a tile of [32][33] "
        "has no bank conflict.",
    ),
)
