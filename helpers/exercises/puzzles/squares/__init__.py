"""Map: each thread of one block squares its own number."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.puzzles import puzzle


def case(N: np.ndarray) -> kit.Case:
    """Return one block with a thread for each number."""
    arrays = {"P": kit.unwritten(N.size), "N": N}
    return kit.one_launch(f"n = {N.size}", arrays, (1,), (N.size,), kinds={"size": N.size})


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Return cases of less than a warp, whole warps, and ragged sizes up to the largest block."""
    for n in (int(rng.integers(70, 500)), 2, 31, 32, 33, 1_024):
        yield case(kit.cells(rng, n))


def same(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether all values of a result are one number."""
    return bool(np.isfinite(got).all() and np.unique(got).size == 1)


EXERCISE = puzzle(
    "squares",
    1,
    "Map: each thread its own number",
    task="P[i] must be N[i] * N[i]",
    cases=cases,
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
    mistakes=(
        kit.Mistake(
            "The numbers are copied, not squared: multiply N[i] by itself.", lambda c: c["N"]
        ),
        kit.Mistake("The numbers are doubled, not squared.", lambda c: 2 * c["N"]),
        kit.Mistake(
            "Only the first number is right: each thread takes its own, threadIdx.x.",
            lambda c: np.where(np.arange(c.count) == 0, c["N"] ** 2, c["P"]),
        ),
        kit.Mistake(
            "All values are the same: each thread must read its own number, N[threadIdx.x].",
            when=same,
        ),
    ),
    findings=(
        kit.FindingHint(
            "out-of-bounds",
            "There are as many threads as numbers, and they count from 0: thread i takes N[i].",
        ),
        kit.FindingHint(
            "race",
            "Several threads write the same cell: thread i writes P[i], and i is threadIdx.x.",
        ),
    ),
    hints=(
        "Who am I? threadIdx.x is this thread's number in its block, from 0 on.",
        "The thread with number i reads N[i] and writes P[i]. No loop is needed.",
    ),
)
