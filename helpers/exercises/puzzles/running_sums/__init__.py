"""Scan: running sums within each block, in eight steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.puzzles import (
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


def scanned(case: kit.Case, block: int = 0) -> np.ndarray:
    """Return the running sums of each block, or of another number of cells."""
    return as_blocks(case["N"], block or case["block"], lambda rows: rows.cumsum(axis=1))


def of_neighbours(case: kit.Case) -> np.ndarray:
    """Return what comes out if only a part of the steps is made: sums of the last 128 numbers."""

    def change(rows: np.ndarray) -> np.ndarray:
        sums = rows.cumsum(axis=1)
        return np.concatenate([sums[:, :128], sums[:, 128:] - sums[:, :-128]], axis=1)

    return as_blocks(case["N"], case["block"], change)


def without_first(case: kit.Case) -> np.ndarray:
    """Return what comes out if a thread adds s[t - far] only if t > far: thread `far` leaves out
    s[0], and with it all sums that are made of its own.
    """

    def change(rows: np.ndarray) -> np.ndarray:
        sums = rows.copy()
        for far in (1 << step for step in range(8)):
            left = np.zeros_like(sums)
            left[:, far + 1 :] = sums[:, 1 : sums.shape[1] - far]
            sums += left
        return sums

    return as_blocks(case["N"], case["block"], change)


EXERCISE = puzzle(
    "running_sums",
    10,
    "Scan: running sums of a block",
    task="P[i] must be the sum of the numbers of its block up to N[i]",
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
            "Eight steps, and in each of them a thread adds one number: what stands 1, 2, 4, ... "
            "128 places to its left. It already is a sum of as many numbers.",
        ),
        barriers(
            20,
            "One barrier behind the filling, and at most two in each of the eight steps. (Sums up "
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
    mistakes=(
        kit.Mistake(
            "N[i] itself is not in its sum: this scan is inclusive.",
            lambda case: scanned(case) - case["N"],
        ),
        kit.Mistake(
            "The sums go on over the blocks. Here each block begins anew.",
            lambda case: case["N"].astype(np.float64).cumsum(),
        ),
        kit.Mistake(
            "The sums begin anew in each warp of 32: the steps 32, 64 and 128 are missing.",
            lambda case: scanned(case, 32),
        ),
        kit.Mistake("The last step, 128, is missing.", of_neighbours),
        kit.Mistake(
            "The first number of a block is in no sum but its own: thread `far` adds s[0], so ask "
            "for t >= far, not t > far.",
            without_first,
        ),
        kit.Mistake(
            "The sums run from the right to the left.",
            lambda case: as_blocks(
                case["N"], case["block"], lambda rows: rows[:, ::-1].cumsum(axis=1)[:, ::-1]
            ),
        ),
    ),
    findings=(
        kit.FindingHint(
            "out-of-bounds",
            "Thread t has t numbers to its left: it adds s[t - far] only if t >= far.",
            when=lambda found: found.array not in ("P", "N"),
        ),
        kit.FindingHint(
            "out-of-bounds", "The last block has more threads than numbers are left: if (i < n)."
        ),
        kit.FindingHint(
            "race",
            "In one step thread t reads s[t - far], and another thread writes it. Read into a "
            "variable, __syncthreads(), then write, __syncthreads().",
            when=lambda found: found.array != "P",
        ),
    ),
    hints=(
        "After the step with 1, s[t] is the sum of 2 numbers: its own and its left neighbour's. "
        "What must it add to be a sum of 4?",
        "s[t - 2], which is a sum of 2, too; then s[t - 4], and so on up to 128. A thread with "
        "t < far adds nothing.",
        "Everybody reads and writes s in a step. So read into a variable, wait, write, wait.",
    ),
)
