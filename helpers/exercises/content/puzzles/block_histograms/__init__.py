"""Atomics in shared memory: each block counts its values."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.content.puzzles import puzzle, shared_out

BINS, SHARE, THREADS = 256, 1_024, 256


def case(N: np.ndarray, bins: int = BINS, share: int = SHARE, threads: int = THREADS) -> kit.Case:
    """Return a block for each `share` of the values."""
    blocks = kit.ceil_div(N.size, share)
    return kit.one_launch(
        f"n = {N.size:,}",
        {"P": kit.unwritten((blocks, bins), np.int32), "N": N},
        (blocks,), (threads,), N.size,
        kinds={"size": N.size}, facts={"bins": bins, "share": share},
    )


def values(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return values from 0 to 255, small ones more often, and the last one at least once."""
    drawn = np.minimum(rng.integers(0, BINS, n), rng.integers(0, BINS, n)).astype(np.int32)
    drawn[n // 2] = BINS - 1
    return drawn


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a ragged size, a few values, sizes around a block's share, and one value alone, whose
    count needs more than 8 bits.
    """
    for n in (int(rng.integers(2_100, 4_000)), 3, SHARE, SHARE + 1):
        yield case(values(rng, n))
    yield case(values(rng, kit.MANY))
    yield kit.without_budgets(alone(rng))


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a few values, a block and a part of one, and one value alone."""
    for n in (5, 1_030):
        yield case(values(rng, n))
    yield alone(rng)


def alone(rng: np.random.Generator) -> kit.Case:
    """Return a block in which one value stands in all cells."""
    N = np.full(SHARE, rng.integers(1, BINS), np.int32)
    return dataclasses.replace(case(N), title="n = 1,024, all the same")


def counted(case: kit.Case, most: int = 0) -> np.ndarray:
    """Return the counts of each block, of its first `most` cells (0: of all)."""
    N, share = case["N"], case["share"]
    return np.array(
        [
            np.bincount(N[first : first + (most or share)], minlength=case["bins"])
            for first in range(0, N.size, share)
        ],
        np.int32,
    )


EXERCISE = puzzle(
    "block_histograms",
    11,
    "Atomics: a histogram of each block",
    cases=cases,
    small=small,
    reference=counted,
    example=case(np.array([2, 0, 2, 1, 3, 2, 0, 0, 3, 1], np.int32), 4, 6, 2),
    follow=(0, 2),
    comes_from={"N": ((0,), (2,), (5,))},
    budgets=(
        kit.Budget(
            "sectors of N for each 8 values",
            lambda case, one: one.total("sectors", "global", "load", "N") * 8 / case["N"].size,
            lambda case: 8 * (kit.ceil_div(case["N"].size, 8) + 4) / case["N"].size,
            "Each value is loaded once, by neighbouring lanes: thread t takes cells t, t + 256, "
            "t + 512 and t + 768 of its block, or four neighbouring ones in one load (int4).",
        ),
        shared_out(4, "1,024 cells: each of the 256 takes four"),
    ),
    most_of_a_block=lambda case: case["bins"],
    timed=lambda rng: case(values(rng, 10_000_000)),
    hints=(
        "256 counters in __shared__ memory. Who sets them to 0, and who must wait for that?",
        "Two threads may find the same value at the same time: atomicAdd(&counts[N[i]], 1).",
        "Set to 0, wait, count (i = 1024 * blockIdx.x + t, then 256 further, four times), wait, "
        "and let each thread store one count.",
    ),
)
