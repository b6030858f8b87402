"""A stencil of three cells, from a tile with its halo."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.content.puzzles import lanes_of, over_line, puzzle, sizes_of

BLOCK = 128


def case(N: np.ndarray, block: int = BLOCK) -> kit.Case:
    """Return a thread for each output."""
    return over_line(N, kit.unwritten(N.size), block)


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a ragged size, two cells, and sizes around a block."""
    for n in sizes_of(rng, BLOCK):
        yield case(kit.cells(rng, n))
    yield case(kit.cells(rng, kit.MANY))


def differences(case: kit.Case) -> np.ndarray:
    """Return the second differences, N continued by 0."""
    wide = np.pad(case["N"], 1)
    return wide[:-2] - 2 * wide[1:-1] + wide[2:]


EXERCISE = puzzle(
    "second_difference",
    6,
    "Stencil: a tile with its halo",
    cases=cases,
    small=lambda rng: (case(kit.cells(rng, n)) for n in (3, 20, 131)),
    reference=differences,
    example=case(np.array([1, 2, 4, 8, 5, 3, 2, 9], np.float32), 4),
    follow=(4,),
    comes_from={"N": ((3,), (4,), (5,))},
    watch=((1, 0, 0), 0),
    budgets=(
        lanes_of(
            "N",
            lambda case: case.count + 2 * case.steps[0].grid[0],
            "Each block needs its 128 cells and one more at each side. Load each of them once, "
            "into __shared__ memory, and compute from there.",
        ),
        kit.loads_of_a_warp(
            3,
            "Each of the block's 128 threads loads a cell, and one or two of them the halo. A warp "
            "that loads the tile alone has to wait for its loads while the others have nothing to "
            "do.",
        ),
    ),
    most_of_a_block=lambda case: case["block"],
    timed=lambda rng: case(kit.cells(rng, 10_000_000)),
    hints=(
        "Block 1 computes outputs 128 to 255. Which cells of N does it need? (130 of them.)",
        "Let tile[s] be cell 128 * blockIdx.x - 1 + s. Each thread fills tile[t + 1]; one fills "
        "tile[0], another one tile[129]. A cell outside N is 0.",
        "All threads reach __syncthreads(), even those without an output. Then output i is "
        "tile[t] - 2 * tile[t + 1] + tile[t + 2].",
    ),
)
