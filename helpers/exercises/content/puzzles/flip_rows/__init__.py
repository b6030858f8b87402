"""A map of two axes: an image upside down."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.content.puzzles import over_image, puzzle, sectors_per_request

ACROSS = (
    "A warp is 32 threads with neighbouring threadIdx.x. Let x, the column, come from "
    "threadIdx.x: then its lanes are side by side in a row. In a column, each lane needs its own "
    "sector."
)


def case(N: np.ndarray, block: tuple[int, int] = (32, 8)) -> kit.Case:
    """Return blocks of 32 x 8 threads over an image."""
    return over_image(N, kit.unwritten(N.shape), block)


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield images that are higher than wide and wider than high, none of whole blocks but one."""
    drawn = (int(rng.integers(18, 40)), int(rng.integers(70, 120)))
    for shape in (drawn, (2, 33), (31, 5), (16, 64), (9, 31)):
        yield case(kit.cells(rng, shape))
    yield case(kit.cells(rng, kit.MANY_ROWS))


EXERCISE = puzzle(
    "flip_rows",
    3,
    "Two axes: an image upside down",
    cases=cases,
    small=lambda rng: (case(kit.cells(rng, shape)) for shape in ((2, 3), (9, 34))),
    reference=lambda case: case["N"][::-1],
    example=case(np.arange(15, dtype=np.float32).reshape(3, 5), (4, 2)),
    follow=(2, 1),
    comes_from={"N": ((0, 1),)},
    budgets=(
        sectors_per_request("N", "load", 5, ACROSS),
        sectors_per_request("P", "store", 5, ACROSS),
    ),
    most_of_a_block=lambda case: 256,
    timed=lambda rng: case(kit.cells(rng, (4_096, 4_096))),
    hints=(
        "There are two numbers for a thread now: threadIdx.x with blockIdx.x and blockDim.x, and "
        "the same with .y.",
        "Both need a guard: if (x < width && y < height).",
        "Read N[y * width + x]; the row to write is height - 1 - y, in the same column.",
    ),
)
