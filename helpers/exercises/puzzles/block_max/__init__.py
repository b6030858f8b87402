"""Reduction: the largest number of each block, in eight steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.puzzles import (
    barriers,
    over_line,
    padded,
    puzzle,
    shared_loads,
    shared_out,
    sizes_of,
)

BLOCK = 256


def case(N: np.ndarray, block: int = BLOCK) -> kit.Case:
    """Return a thread for each number, a result for each block."""
    return over_line(N, kit.unwritten(kit.ceil_div(N.size, block)), block)


def numbers(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return different numbers below 0: a block that counts a 0 has another maximum.

    The largest of block 0 stands in its last thread, those of the other blocks in threads that are
    drawn, so that a kernel which leaves threads out does not find them.
    """
    N = -rng.permutation(np.arange(1, n + 1)).astype(np.float32)
    lanes = rng.integers(0, BLOCK, kit.ceil_div(n, BLOCK))
    lanes[0] = BLOCK - 1
    for first, lane in zip(range(0, n, BLOCK), lanes, strict=True):
        block = N[first : first + BLOCK]
        swap = [block.argmax(), lane % block.size]
        block[swap] = block[swap[::-1]]
    return N


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a ragged size, two numbers, and sizes around a block."""
    for n in sizes_of(rng, BLOCK, 6_000):
        yield case(numbers(rng, n))
    yield case(numbers(rng, kit.MANY))
    # Below whatever a student may take for the least of all numbers, other than that one itself.
    for least, step in ((-3e6, 16), (np.ldexp(-1.0, 127), np.ldexp(1.0, 104))):
        far = numbers(rng, int(rng.integers(300, 500))).astype(np.float64) * step + least
        yield kit.without_budgets(case(far.astype(np.float32)))


def largest(case: kit.Case, keep: slice = slice(None), fill: float = -np.inf) -> np.ndarray:
    """Return the largest number of each block, of the threads that `keep` selects."""
    return padded(case["N"], case["block"], fill)[:, keep].max(axis=1)


EXERCISE = puzzle(
    "block_max",
    8,
    "Reduction: the largest number of a block",
    task="P[b] must be the largest number of block b",
    cases=cases,
    small=lambda rng: (case(numbers(rng, n)) for n in (5, 256, 300)),
    reference=largest,
    example=case(np.array([3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5], np.float32), 4),
    follow=(1,),
    comes_from={"N": ((4,), (5,), (6,), (7,))},
    budgets=(
        kit.NO_ACTIVEMASK,
        kit.Budget(
            "global load requests per block",
            kit.per_block("global", "load"),
            8,
            "Each of the block's 8 warps loads its 32 numbers once, one number a thread.",
        ),
        # Half of the threads may begin with a number of the other half's.
        shared_out(2, "256 numbers: each loads its own"),
        shared_loads(
            40,
            "In each step half of the threads that are left compare a pair, and they should be the "
            "first ones, 128, then 64 ...: whole warps are then done. Threads 2, 4, 8 ... apart "
            "keep all warps at work, and one thread alone makes 255 comparisons in a row.",
        ),
        barriers(17, "A barrier behind the filling and one or two behind each of the eight steps."),
        kit.numbers_of_a_thread(
            24,
            "In each of the eight steps a thread reads one number beside its own. Thread 0 reads "
            "many in a row: halve the candidates down to one, with half = 16, 8, 4, 2 and 1 at the "
            "end.",
        ),
        kit.none_of(
            "shared",
            "atomic",
            what="atomics in shared memory",
            hint="256 atomics on one word are made one after the other. Halve the candidates in "
            "eight steps instead.",
        ),
        kit.shuffles(
            10,
            per="warp",
            hint="A warp compares its 32 numbers in five steps of shuffles, 16, 8, 4, 2 and 1 "
            "lanes apart, and not in 31.",
        ),
        kit.Budget(
            "stores of each result",
            kit.per_output("global", "store"),
            1,
            "One thread writes the block's result: if (t == 0).",
            quiet=True,
        ),
    ),
    most_of_a_block=lambda case: 1,
    timed=lambda rng: case(numbers(rng, 10_000_000)),
    mistakes=(
        kit.Mistake(
            "The last block counts 0 for threads without a number, and all its numbers are below "
            "0. What changes no maximum is -INFINITY.",
            lambda case: largest(case, fill=0.0),
        ),
        kit.all_zero(
            "All maxima are 0: a maximum must not begin with 0 if the numbers may be below it."
        ),
        kit.Mistake(
            "Only every second number is looked at: the last step has half = 1.",
            lambda case: largest(case, slice(0, None, 2)),
        ),
        kit.Mistake(
            "Half of the numbers are not looked at: the first step has half = 128.",
            lambda case: largest(case, slice(0, 128)),
        ),
        kit.Mistake(
            "Only the last block is wrong, and some of its threads have no number: what they bring "
            "must change no maximum. That is -INFINITY.",
            when=lambda case, got, want: (got == want)[:-1].all() and case["N"].size % BLOCK > 0,
        ),
        kit.Mistake(
            "It is the smallest number of each block: fmaxf keeps the larger of two.",
            lambda case: padded(case["N"], case["block"], np.inf).min(axis=1),
        ),
        kit.Mistake(
            "It is the first number of each block.", lambda case: largest(case, slice(0, 1))
        ),
        kit.Mistake(
            "It is the largest of the first warp.", lambda case: largest(case, slice(0, 32))
        ),
    ),
    findings=(
        kit.FindingHint(
            "out-of-bounds",
            "The last block has more threads than numbers are left: i < n, or -INFINITY instead.",
            when=lambda found: found.array == "N",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "A block has one result: P[blockIdx.x], written by one thread.",
            when=lambda found: found.array == "P",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "In a step thread t compares s[t] with s[t + half], and only threads below `half` have "
            "such a partner: if (t < half).",
        ),
        kit.FindingHint(
            "race",
            "A step reads what other threads wrote in the step before: a __syncthreads() belongs "
            "behind the filling and behind each step. And in a step only threads below "
            "`half` write.",
            when=lambda found: found.array != "P",
        ),
        kit.FindingHint(
            "race",
            "All threads write the block's result: let thread 0 do it.",
            when=lambda found: "two blocks" not in found.message,
        ),
    ),
    hints=(
        "256 numbers in shared memory. If thread t of the first 128 keeps the larger one of s[t] "
        "and s[t + 128], how many candidates are left?",
        "Then with 64, 32, ... 1. Between two steps all threads wait: __syncthreads(), outside of "
        "the `if`.",
        "A thread without a number puts -INFINITY into s[t]. At the end thread 0 writes s[0].",
    ),
)
