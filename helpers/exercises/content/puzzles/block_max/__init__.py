"""Reduction: the largest number of each block, in eight steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.content.puzzles import (
    FAR_OUT,
    barriers,
    far_out,
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
    for start in FAR_OUT:
        far = -far_out(-numbers(rng, int(rng.integers(300, 500))), start)
        yield kit.without_budgets(case(far))


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a part of a block, far smaller numbers, and two blocks, the second one whole or not."""
    yield case(numbers(rng, 5))
    yield case(-far_out(-numbers(rng, 299), FAR_OUT[-1]))
    for n in (300, 2 * BLOCK):
        yield case(numbers(rng, n))


def largest(case: kit.Case) -> np.ndarray:
    """Return the largest number of each block."""
    return padded(case["N"], case["block"], -np.inf).max(axis=1)


EXERCISE = puzzle(
    "block_max",
    8,
    "Reduction: the largest number of a block",
    cases=cases,
    small=small,
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
            "In each step, half of the remaining threads compare a pair. They should be the first "
            "ones, 128, then 64 ...: whole warps are then done. Threads 2, 4, 8 ... apart keep "
            "all warps at work, and one thread alone makes 255 comparisons in a row.",
        ),
        barriers(17, "A barrier after the filling and one or two after each of the eight steps."),
        kit.numbers_of_a_thread(
            24,
            "In each of the eight steps a thread reads one number beside its own. Thread 0 reads "
            "many in a row: halve the candidates down to one, also where only 32, 16, 8, 4 and "
            "2 of them are left.",
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
            "One thread writes the block's result: if (threadIdx.x == 0).",
            quiet=True,
        ),
    ),
    most_of_a_block=lambda case: 1,
    timed=lambda rng: case(numbers(rng, 10_000_000)),
    hints=(
        "256 numbers in shared memory. If thread t of the first 128 keeps the larger one of s[t] "
        "and s[t + 128], how many candidates are left?",
        "Then with 64, 32, ... 1. Between two steps all threads wait: __syncthreads(), outside of "
        "the `if`.",
        "A thread without a number puts -INFINITY into s[t]. At the end thread 0 writes s[0].",
    ),
)
