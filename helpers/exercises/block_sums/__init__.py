"""The sixth broken kernel: a sum of each block whose last warp relies on marching in step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

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
    yield replace(
        case_of(rng, 2 * THREADS),
        title="called by a kernel that goes on after it",
        kinds={},
        budgeted=False,
        within=GOES_ON,
    )
    yield kit.without_budgets(case_of(rng, kit.MANY))


def case_of(rng: np.random.Generator, n: int = 10_000_000) -> kit.Case:
    """Return a thread for each number, a sum for each block; by default ten million numbers."""
    blocks = kit.ceil_div(n, THREADS)
    arrays = {"sums": kit.unwritten(blocks), "N": kit.cells(rng, n)}
    return kit.one_launch(f"n = {n:,}", arrays, (blocks,), (THREADS,), n, kinds={"size": n})


def sums(case: kit.Case, keep: Any = slice(None)) -> np.ndarray:
    """Return the sum of each block, of the threads that `keep` selects."""
    blocks = kit.ceil_div(case["N"].size, THREADS)
    cells = np.zeros(blocks * THREADS, np.float64)
    cells[: case["N"].size] = case["N"]
    return cells.reshape(blocks, THREADS)[:, keep].sum(axis=1)


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
    title="Mend a sum whose last warp needs no __syncthreads()",
    cases=cases,
    small=lambda rng: (case_of(rng, n) for n in (2, 40, 256, 300)),
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
            "Half of the threads that are left add a pair in each step, and they should be the "
            "first ones, 128, then 64 ...: whole warps are then done. Threads 2, 4, 8 ... apart "
            "keep all warps at work, and one thread alone makes 255 additions in a row.",
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
    mistakes=(
        kit.Mistake(
            "Only every second number is in the sum: the last step has stride 1.",
            gives=lambda c: sums(c, slice(0, None, 2)),
        ),
        kit.Mistake(
            "Half of the numbers are not in the sum: behind stride 32 comes stride 16.",
            gives=lambda c: sums(c, np.arange(THREADS) % 32 < 16),
        ),
        kit.Mistake(
            "Half of the numbers are missing: the first step has stride 128.",
            gives=lambda c: sums(c, slice(0, 128)),
        ),
        kit.Mistake(
            "Of 64 numbers the second 32 are missing: the step with stride 32 is left out.",
            gives=lambda c: sums(c, np.arange(THREADS) // 32 % 2 == 0),
        ),
        kit.Mistake(
            "Only the first warp's numbers are in the sum.", gives=lambda c: sums(c, slice(0, 32))
        ),
        kit.Mistake(
            "The sums are those of the first numbers alone.", gives=lambda c: sums(c, slice(0, 1))
        ),
    ),
    findings=(
        kit.FindingHint(
            "race",
            "Both threads belong to one warp, and since Volta its lanes need not march in step: a "
            "__syncwarp() is missing between the write and the read. In the same line they race as "
            "well: let only lanes below `stride` add, or read into a variable, wait, and then "
            "write.",
            when=kit.within_warp,
        ),
        kit.FindingHint(
            "mask",
            "__syncwarp() names all 32 lanes, and some of them go round it: it stands in a branch "
            "that they do not take. Put it behind the branch.",
            when=lambda found: "end without this call" in found.message,
        ),
        kit.FindingHint(
            "barrier",
            "__syncwarp() waits for all 32 lanes, and some of them never come: it stands in a "
            "branch that they do not take. Here your kernel seemed right because those lanes had "
            "ended. Put it behind the branch.",
            when=lambda found: "for the lanes of mask" in found.message,
        ),
        kit.FindingHint(
            "barrier",
            "__syncthreads() waits for all 256 threads, and 224 of them are not in this branch: "
            "take __syncwarp().",
        ),
    ),
    hints=(
        "Which lanes write s[t] in a step, and which lanes read it? Look at stride 16: lane 16 "
        "is read, and writes too.",
        "Let only lanes below `stride` add. Then no lane reads what another one writes in the "
        "same step.",
        "Between one step and the next the lanes must wait for each other: __syncwarp(), which "
        "all 32 lanes reach.",
    ),
)
