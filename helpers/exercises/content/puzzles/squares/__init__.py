"""Map: each thread of one block squares its own number."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.content.puzzles import puzzle


def case(N: np.ndarray) -> kit.Case:
    """Return one block with a thread for each number."""
    arrays = {"P": kit.unwritten(N.size), "N": N}
    return kit.one_launch(f"n = {N.size}", arrays, (1,), (N.size,), kinds={"size": N.size})


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Return cases of less than a warp, whole warps, and ragged sizes up to the largest block."""
    for n in (int(rng.integers(70, 500)), 2, 31, 32, 33, 1_024):
        yield case(kit.cells(rng, n))


EXERCISE = puzzle(
    "squares",
    1,
    "Map: each thread its own number",
    cases=cases,
    small=lambda rng: (case(kit.cells(rng, n)) for n in (2, 33)),
    reference=lambda case: case["N"] * case["N"],
    example=case(np.array([3, 1, 4, 1.5, 9, 2], np.float32)),
    follow=(2,),
    comes_from={"N": ((2,),)},
    budgets=(
        kit.Budget(
            "loads per number",
            kit.per_output("global", "load"),
            1,
            "Load N[i] once: the compiler joins the two factors if nothing is stored between them.",
        ),
    ),
    most_of_a_block=lambda case: case.count,
    hints=(
        "Who am I? threadIdx.x is this thread's number in its block, from 0 on.",
        "The thread with number i reads N[i] and writes P[i]. No loop is needed.",
    ),
)
