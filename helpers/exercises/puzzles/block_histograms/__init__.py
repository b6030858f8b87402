"""Atomics in shared memory: each block counts its values."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.puzzles import puzzle, shared_out

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
    alone = np.full(SHARE, rng.integers(1, BINS), np.int32)
    yield kit.without_budgets(dataclasses.replace(case(alone), title="n = 1,024, all the same"))


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


def without_last_value(case: kit.Case) -> np.ndarray:
    """Return the counts, 0 for the last value."""
    made = counted(case)
    made[:, -1] = 0
    return made


def shares_of_256(case: kit.Case) -> np.ndarray:
    """Return what comes out if block b counts the 256 cells from 256 * b on."""
    first = THREADS * np.arange(case.steps[0].grid[0])
    return np.array(
        [np.bincount(case["N"][k : k + THREADS], minlength=case["bins"]) for k in first], np.int32
    )


def first_block_alone(case: kit.Case) -> np.ndarray:
    """Return what comes out if every block counts the cells of block 0."""
    return np.repeat(counted(case)[:1], case.steps[0].grid[0], axis=0)


EXERCISE = puzzle(
    "block_histograms",
    11,
    "Atomics: a histogram of each block",
    task="P[256 * b + v] must be how often v stands in N[1024 * b] to N[1024 * b + 1023]",
    cases=cases,
    small=lambda rng: (case(values(rng, n)) for n in (5, 1_030)),
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
    mistakes=(
        kit.Mistake(
            "Only the first 256 cells of each block are counted: a block has 1,024 cells for its "
            "256 threads, so each thread counts four.",
            lambda case: counted(case, THREADS),
        ),
        kit.Mistake(
            "Block b counts the 256 cells from 256 * b on: its own are 1,024, from 1024 * b on, so "
            "each of its 256 threads counts four.",
            shares_of_256,
        ),
        kit.Mistake(
            "A value that does not occur has a count, too: store the counts that are 0.",
            when=lambda case, got, want: np.array_equal(got == want, want != 0),
        ),
        kit.Mistake(
            "The last value, 255, is counted nowhere.",
            without_last_value,
        ),
        kit.Mistake(
            "Only a block in which one value occurs more than 255 times is wrong: 8 bits hold no "
            "larger count.",
            when=lambda case, got, want: want.max() > 255,
        ),
        kit.Mistake(
            "Every block counts the cells of block 0: a block's own begin at 1024 * blockIdx.x.",
            first_block_alone,
        ),
        kit.Mistake(
            "A block counts the cells of the blocks behind it, too: its own end at "
            "1024 * blockIdx.x + 1023.",
            when=lambda case, got, want: bool((got >= want).all() and (got[-1] == want[-1]).all()),
        ),
        kit.Mistake(
            "The counts are 1 where a value occurs at all: add up, do not set.",
            lambda case: np.minimum(counted(case), 1),
        ),
        kit.Mistake(
            "The counts are added to what P held before: store them, P[...] = counts[t].",
            lambda case: counted(case) + case["P"],
        ),
    ),
    findings=(
        kit.FindingHint(
            "race",
            "Two threads change one counter at the same time, and one of the two is lost. "
            "atomicAdd(&counts[v], 1) reads, adds and writes in one piece.",
            when=lambda found: found.array != "P" and "update" not in found.message,
        ),
        kit.FindingHint(
            "race",
            "Three phases touch the counters: set to 0, count, store. A __syncthreads() belongs "
            "between each two of them.",
            when=lambda found: found.array != "P",
        ),
        kit.FindingHint(
            "uninitialised",
            "Shared memory begins with anything, not with 0: the threads set the counters to 0, "
            "and a __syncthreads() follows.",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "The last block has fewer cells: i < n.",
            when=lambda found: found.array == "N",
        ),
        kit.FindingHint(
            "out-of-bounds", "There are 256 counters for each block, from 256 * blockIdx.x on."
        ),
    ),
    hints=(
        "256 counters in __shared__ memory. Who sets them to 0, and who must wait for that?",
        "Two threads may find the same value at the same time: atomicAdd(&counts[N[i]], 1).",
        "Set to 0, wait, count (i = 1024 * blockIdx.x + t, then 256 further, four times), wait, "
        "and let each thread store one count.",
    ),
)
