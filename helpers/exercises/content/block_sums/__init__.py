"""The sixth broken kernel: a sum of each block whose last warp relies on marching in step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from helpers.exercises import kit

THREADS, WARPS = 256, 8
GOES_ON = """extern "C" __global__ void goes_on(float* sums, const float* N, int n)
{
    KERNEL(sums, N, n);
    __syncthreads();
}"""


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield sizes of less than a block, of whole blocks, and ragged; and a kernel that does more.

    A lane that has ended is no longer waited for. Where all lanes go on, a lane that __syncwarp()
    names and that never comes there is missed.
    """
    for n in (int(rng.integers(600, 999)), 1, THREADS - 1, THREADS, THREADS + 1, 4 * THREADS):
        yield case_of(rng, n)
    yield called(rng)
    yield kit.without_budgets(case_of(rng, kit.MANY))


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield parts of a block, a whole one, two, and a kernel that does more."""
    for n in (2, 40, 256, 300):
        yield case_of(rng, n)
    yield called(rng)


def called(rng: np.random.Generator) -> kit.Case:
    """Return two blocks of a kernel that calls the answer and goes on after it."""
    return replace(
        case_of(rng, 2 * THREADS),
        title="called by a kernel that goes on after it",
        kinds={},
        budgeted=False,
        within=GOES_ON,
    )


def case_of(rng: np.random.Generator, n: int = 10_000_000) -> kit.Case:
    """Return a thread for each number, a sum for each block; by default ten million numbers."""
    blocks = kit.ceil_div(n, THREADS)
    arrays = {"sums": kit.unwritten(blocks), "N": kit.cells(rng, n)}
    return kit.one_launch(f"n = {n:,}", arrays, (blocks,), (THREADS,), n, kinds={"size": n})


def sums(case: kit.Case) -> np.ndarray:
    """Return the sum of each block."""
    cells = np.zeros(kit.ceil_div(case["N"].size, THREADS) * THREADS)
    cells[: case["N"].size] = case["N"]
    return cells.reshape(-1, THREADS).sum(axis=1)


def beyond_a_tree(case: kit.Case, one: kit.Outcome) -> float:
    """Return the shuffles of a block beyond what it needs: five for each of the warps whose
    numbers the steps with __syncthreads() have left, and five or so for the sums of the warps.
    """
    steps = one.barriers / (one.blocks * WARPS) - 1
    left = WARPS / 2 ** max(steps, 0)
    return max(one.executed("shfl", "redux") / one.blocks - (5 * left + 8), 0)


SPACES = "global", "shared"
ATOMICS = (
    "Atomics on one word are made one after the other: 31 of them take longer than the five steps "
    "that are left."
)
EXERCISE = kit.Exercise(
    name="block_sums",
    lab="105_five_broken_kernels",
    title="Fix a sum whose last warp needs no __syncthreads()",
    cases=cases,
    small=small,
    reference=sums,
    counts={"size": "sizes"},
    budgets=(
        kit.NO_ACTIVEMASK,
        *(kit.none_of(space, "atomic", what="atomics", hint=ATOMICS) for space in SPACES),
        kit.Budget(
            "waits at __syncthreads() per warp",
            lambda case, one: one.barriers / (one.blocks * WARPS),
            4,
            "The last 32 threads are one warp: they wait for each other by __syncwarp().",
        ),
        kit.Budget(
            "global load requests per block",
            kit.per_block("global", "load"),
            WARPS,
            "Each thread loads its own number, once; the sum is made in shared memory, by all "
            "threads.",
        ),
        kit.Budget(
            "shared load requests per block",
            kit.per_block("shared", "load"),
            40,
            "In each step, half of the remaining threads add a pair. They should be the first "
            "ones, 128, then 64 ...: whole warps are then done. Threads 2, 4, 8 ... apart keep "
            "all warps at work, and one thread alone makes 255 additions in a row.",
        ),
        kit.numbers_of_a_thread(
            24,
            "In each step a thread adds one number to its own, and half as many threads are left "
            "in the next step. So 256 numbers take thread 0 eight additions. If it adds the last "
            "32 alone, these are 31 additions in a row, and 31 lanes of its warp wait.",
        ),
        kit.Budget(
            "shared store requests per block", kit.per_block("shared", "store"), 40, quiet=True
        ),
        kit.Budget(
            "shuffles per block beyond those of a tree",
            beyond_a_tree,
            0,
            "A warp adds its 32 numbers in five steps of shuffles, over 16, 8, 4, 2 and 1 lanes, "
            "and not in 31 steps. The last 32 numbers need one warp: the others skip that part.",
            quiet=True,
        ),
        kit.Budget("stores per sum", kit.per_output("global", "store"), 1, quiet=True),
        kit.none_of("local", what="accesses to local memory"),
    ),
    timed=case_of,
    most_of_a_block=lambda case: 1,
    hints=(
        "Which lanes write s[t] in a step, and which lanes read it? Look at stride 16: lane 16 "
        "is read, and writes too.",
        "Let only lanes below `stride` add. Then no lane reads what another one writes in the "
        "same step.",
        "Between one step and the next the lanes must wait for each other: __syncwarp(), which "
        "all 32 lanes reach.",
    ),
)
