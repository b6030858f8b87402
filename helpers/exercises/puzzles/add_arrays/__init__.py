"""Guard: several blocks, and a last one that has threads to spare."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.puzzles import puzzle


def case(A: np.ndarray, B: np.ndarray, block: int) -> kit.Case:
    """Return a case with just as many blocks as the numbers need."""
    n = A.size
    arrays, grid = {"C": kit.unwritten(n), "A": A, "B": B}, (kit.ceil_div(n, block),)
    kinds, facts = {"size": n, "block size": block}, {"block": block}
    title = f"n = {n:,}, blocks of {block}"
    return kit.one_launch(title, arrays, grid, (block,), n, kinds=kinds, facts=facts)


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield two widths of a block; one number, around a block, and a ragged size."""
    for n, block in ((int(rng.integers(400, 900)), 128), (1, 64), (63, 64), (64, 64), (65, 64)):
        yield case(kit.cells(rng, n), kit.cells(rng, n), block)
    yield case(kit.cells(rng, kit.MANY), kit.cells(rng, kit.MANY), 128)


def added(case: kit.Case) -> np.ndarray:
    """Return a + B."""
    return case["A"] + case["B"]


def first_block_only(case: kit.Case) -> np.ndarray:
    """Return what comes out if each block makes the first block's numbers."""
    return np.where(np.arange(case.count) < case["block"], added(case), case["C"])


def last_left_out(case: kit.Case) -> np.ndarray:
    """Return what comes out if the last number is not written."""
    return np.where(np.arange(case.count) < case.count - 1, added(case), case["C"])


def other_width(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether blocks that begin another number of numbers apart explain the result."""
    blocks, block = case.steps[0].grid[0], case["block"]
    for width in {32, 64, 128, 256, 512, 1024} - {block}:
        places = (np.arange(blocks)[:, None] * width + np.arange(block)).reshape(-1)
        if np.array_equal(got == want, np.isin(np.arange(case.count), places)):
            return True
    return False


EXERCISE = puzzle(
    "add_arrays",
    2,
    "Guard: more threads than numbers",
    task="C[i] must be A[i] + B[i]",
    cases=cases,
    small=lambda rng: (case(kit.cells(rng, n), kit.cells(rng, n), 4) for n in (3, 6, 9)),
    reference=added,
    counts={"size": "sizes", "block size": "block sizes"},
    example=case(
        np.array([1, 2, 3, 4, 5, 6], np.float32), np.array([10, 20, 30, 40, 50, 60], np.float32), 4
    ),
    follow=(5,),
    comes_from={"A": ((5,),), "B": ((5,),)},
    budgets=(
        kit.Budget(
            "loads per number", kit.per_output("global", "load"), 2, "Load A[i] and B[i] once each."
        ),
    ),
    most_of_a_block=lambda case: case["block"],
    timed=lambda rng: case(kit.cells(rng, 10_000_000), kit.cells(rng, 10_000_000), 256),
    mistakes=(
        kit.Mistake(
            "Only the first block's numbers are there: blocks count, too. The first thread of "
            "block b has number b * blockDim.x.",
            first_block_only,
        ),
        kit.Mistake(
            "The last number is left out: i < n is right, i < n - 1 is not.", last_left_out
        ),
        kit.Mistake(
            "The first number is left out: threads and blocks count from 0.",
            lambda case: np.where(np.arange(case.count) > 0, added(case), case["C"]),
        ),
        kit.Mistake("A is copied: add B[i].", lambda case: case["A"]),
        kit.Mistake(
            "It is right with blocks of one size only: a block's width is blockDim.x, not "
            "a number.",
            when=other_width,
        ),
    ),
    findings=(
        kit.FindingHint(
            "out-of-bounds",
            "The last block has more threads than numbers are left. A guard stops them: if "
            "(i < n).",
        ),
    ),
    hints=(
        "Number the threads of all blocks through: what is the number of the first thread of "
        "block 1 if a block has blockDim.x threads?",
        "i = blockIdx.x * blockDim.x + threadIdx.x. In the last block some i are n or larger.",
        "A thread whose number has no element does nothing: if (i < n) ...",
    ),
)
