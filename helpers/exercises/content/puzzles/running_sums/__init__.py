"""Scan: running sums within each block, in eight steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.content.puzzles import (
    as_blocks,
    barriers,
    over_line,
    puzzle,
    shared_loads,
    shared_out,
    sizes_of,
)

BLOCK = 256


def case(N: np.ndarray, block: int = BLOCK) -> kit.Case:
    """Return a thread for each number."""
    return over_line(N, kit.unwritten(N.size), block)


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a ragged size, two numbers, and sizes around a block."""
    for n in sizes_of(rng, BLOCK, 1_300):
        yield case(kit.cells(rng, n))
    yield case(kit.cells(rng, kit.MANY))


def scanned(case: kit.Case) -> np.ndarray:
    """Return the running sums of each block."""
    return as_blocks(case["N"], case["block"], lambda rows: rows.cumsum(axis=1))


EXERCISE = puzzle(
    "running_sums",
    10,
    "Scan: running sums of a block",
    cases=cases,
    small=lambda rng: (case(kit.cells(rng, n)) for n in (6, 40, 258)),
    reference=scanned,
    example=case(np.array([3, 1, 4, 1, 5, 9, 2], np.float32), 4),
    follow=(3,),
    comes_from={"N": ((0,), (1,), (2,), (3,))},
    watch=((0, 0, 0), 1),
    budgets=(
        kit.NO_ACTIVEMASK,
        kit.Budget(
            "global load requests per block",
            kit.per_block("global", "load"),
            8,
            "Each thread loads its own number, once. Sums are made in shared memory.",
        ),
        # Half of the threads may begin with a number of the other half's.
        shared_out(2, "256 numbers: each loads its own"),
        shared_loads(
            140,
            "Eight steps, and in each of them a thread adds one number: the one 1, 2, 4, ... 128 "
            "places to its left. It already is a sum of as many numbers.",
        ),
        barriers(
            20,
            "One barrier after the filling, and at most two in each of the eight steps. (Sums up "
            "a tree and down again take a few more.)",
        ),
        kit.none_of("shared", "atomic", what="atomics in shared memory"),
        kit.shuffles(
            12,
            per="warp",
            hint="A warp makes its running sums in five steps of shuffles, from 1, 2, 4, 8 and 16 "
            "lanes to the left, and not in 31.",
        ),
    ),
    most_of_a_block=lambda case: case["block"],
    timed=lambda rng: case(kit.cells(rng, 10_000_000)),
    hints=(
        "After the step with 1, s[t] is the sum of 2 numbers: its own and its left neighbour's. "
        "What must it add to be a sum of 4?",
        "s[t - 2], which is a sum of 2, too; then s[t - 4], and so on up to 128. A thread with "
        "t < far adds nothing.",
        "All threads read and write s in a step. So read into a variable, wait, write, wait.",
    ),
)
