"""The first convolution: one thread per output, a guard, and ghost cells that count as 0."""

from __future__ import annotations

import numpy as np

from helpers.exercises import kit
from helpers.exercises.conv1d_edge import (
    LOADS,
    ONE_FILTER,
    OTHER_BLOCK,
    SHARED_FAIRLY,
    cases,
    edge,
    large,
    small,
)
from helpers.reference import conv1d


def zeros(case: kit.Case) -> np.ndarray:
    """Return the convolution whose cells outside the array count as 0."""
    return conv1d(case["N"], case["filter"])


def middle(case: kit.Case) -> np.ndarray:
    """Return what comes out if each output has its own cell alone, as in the kernel of step 1."""
    return case["N"] * case["filter"][1]


def without_first(case: kit.Case) -> np.ndarray:
    """Return what comes out if output 1 leaves out cell 0, as with `if (i > 1)` for the left
    neighbour.
    """
    made = zeros(case)
    if made.size > 1:
        made[1] -= case["N"][0] * case["filter"][0]
    return made


def without_last(case: kit.Case) -> np.ndarray:
    """Return what comes out if output n - 2 leaves out cell n - 1, as with `if (i < n - 2)`."""
    made = zeros(case)
    if made.size > 1:
        made[-2] -= case["N"][-1] * case["filter"][2]
    return made


def without_end(case: kit.Case, end: int) -> np.ndarray:
    """Return what comes out if cell 0, or the last one (-1), counts as 0."""
    N = case["N"].copy()
    N[end] = 0
    return conv1d(N, case["filter"])


def backwards(case: kit.Case) -> np.ndarray:
    """Return what comes out if filter[j] meets cell i - 1 - j."""
    later = np.concatenate([np.zeros(2, np.float32), case["N"]])
    return conv1d(later, case["filter"][::-1])[: case["N"].size]


def blocks_apart(case: kit.Case, left: bool = True, right: bool = True) -> np.ndarray:
    """Return what comes out if no block takes the cell of the block to its left, or right."""
    N, filter, made = case["N"], case["filter"], zeros(case)
    starts = np.arange(case.steps[0].block[0], N.size, case.steps[0].block[0])
    if left:
        made[starts] -= N[starts - 1] * filter[0]
    if right:
        made[starts - 1] -= N[starts] * filter[2]
    return made


def is_of_one_block(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether the first block alone has written outputs, or the case has no other block."""
    width = case.steps[0].block[0]
    return bool(np.isfinite(got[:width]).any() and not np.isfinite(got[width:]).any())


EXERCISE = kit.Exercise(
    name="conv1d_basic",
    lab="101_conv1d_blocks_and_halos",
    title="One thread per output, with guards for the last block and for ghosts",
    points=5,
    cases=cases,
    small=small,
    reference=zeros,
    counts={"size": "sizes", "filter": "filters"},
    budgets=(
        LOADS,
        kit.Budget(
            "stores per output",
            kit.per_output("global", "store"),
            1,
            "Keep the sum in a variable of the thread, and store it once.",
            quiet=True,
        ),
        *SHARED_FAIRLY,
        kit.none_of("local", what="accesses to local memory"),
        kit.NO_ATOMICS,
        kit.NO_ACTIVEMASK,
    ),
    timed=large,
    most_of_a_block=lambda case: case.steps[0].block[0],
    mistakes=(
        kit.all_zero("Every output is 0: nothing is added to `sum` yet. That is gap 3."),
        kit.Mistake(
            "Only P[0] is written: all threads have the same i. That is gap 1.",
            when=lambda case, got, want: np.isfinite(got[0]) and not np.isfinite(got[1:]).any(),
        ),
        kit.Mistake(
            "Each output is its own cell times filter[1], as in step 1: the neighbours i - 1 and "
            "i + 1 are missing.",
            gives=middle,
        ),
        kit.Mistake(
            "Cells outside N count as their neighbour, the edge cell. Here they count as 0.",
            gives=edge,
        ),
        kit.Mistake(
            "The array goes on at its other end, like a ring. Here a ghost counts as 0.",
            gives=lambda case: edge(case, "wrap", "wrap"),
        ),
        kit.Mistake(
            "Only P[1] is wrong: it leaves out N[0], which is a cell and no ghost. The left "
            "neighbour of output i exists from i = 1 on.",
            gives=without_first,
        ),
        kit.Mistake(
            "Only P[n - 2] is wrong: it leaves out N[n - 1], which is a cell and no ghost. The "
            "right neighbour of output i exists up to i = n - 2.",
            gives=without_last,
        ),
        kit.Mistake(
            "The filter is flipped: filter[0] belongs to the cell on the left, i - 1.",
            gives=lambda case: conv1d(case["N"], case["filter"][::-1]),
        ),
        OTHER_BLOCK,
        kit.Mistake(
            "Only the first block's outputs are written: i is a thread's number in its block. In "
            "the whole grid it is blockIdx.x * blockDim.x + threadIdx.x.",
            when=is_of_one_block,
        ),
        kit.Mistake(
            "filter[2] is in no sum: the right neighbour has a weight of its own.",
            gives=lambda case: conv1d(case["N"], case["filter"][[0, 1, 0]]),
        ),
        kit.Mistake(
            "N[0] is in no sum, and it is no ghost: a cell exists if it is 0 or more.",
            gives=lambda case: without_end(case, 0),
        ),
        kit.Mistake(
            "N[n - 1] is in no sum, and it is no ghost: a cell exists if it is below n.",
            gives=lambda case: without_end(case, -1),
        ),
        kit.Mistake(
            "Every output has the cells i - 1, i - 2 and i - 3: filter[j] belongs to i - 1 + j.",
            gives=backwards,
        ),
        kit.Mistake(
            "The cells of another block count as ghosts. A ghost lies outside of N, and threads "
            "read all of N.",
            gives=blocks_apart,
        ),
        kit.Mistake(
            "The first output of each later block leaves out its left neighbour, which exists: "
            "test i, and not threadIdx.x. Only cell -1 is a ghost.",
            gives=lambda case: blocks_apart(case, right=False),
        ),
        kit.Mistake(
            "The last output of each block leaves out its right neighbour, which exists: test i, "
            "and not threadIdx.x. Only cell n is a ghost.",
            gives=lambda case: blocks_apart(case, left=False),
        ),
        ONE_FILTER,
    ),
    findings=(
        kit.FindingHint(
            "out-of-bounds",
            "That is the ghost on the left: test that the cell is not below 0 before you read it.",
            lambda finding: "[-1]" in finding.message,
        ),
        kit.FindingHint(
            "race",
            "Many threads write the same output: each thread needs an output of its own. Gap 1 "
            "says which.",
            lambda finding: finding.array == "P",
        ),
    ),
    hints=(
        "Gaps 1 and 2 are two lines of axpy_basic, letter by letter: the one that begins with "
        "`const int i`, and the `if`.",
        "Gap 3 is a loop over j = 0, 1, 2. Its cell is i - 1 + j, and it is in the array if "
        "cell >= 0 && cell < n.",
        "In the loop: if the cell is in the array, sum += N[cell] * filter[j]. The store below "
        "stands outside of that `if`, so that thread 0 and thread n - 1 store their sums, too.",
    ),
)
