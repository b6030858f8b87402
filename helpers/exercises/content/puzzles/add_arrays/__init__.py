"""Guard: several blocks, and a last one that has threads to spare."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.content.puzzles import puzzle


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


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a few blocks of 4, and more numbers than the widest block has threads."""
    for n, block in ((3, 4), (6, 4), (9, 4), (1_100, 32)):
        yield case(kit.cells(rng, n), kit.cells(rng, n), block)


def added(case: kit.Case) -> np.ndarray:
    """Return a + B."""
    return case["A"] + case["B"]


EXERCISE = puzzle(
    "add_arrays",
    2,
    "Guard: more threads than numbers",
    cases=cases,
    small=small,
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
    hints=(
        "Count the threads of all blocks in one row: what is the number of the first thread of "
        "block 1 if a block has blockDim.x threads?",
        "i = blockIdx.x * blockDim.x + threadIdx.x. In the last block some i are n or larger.",
        "A thread whose number has no element does nothing: if (i < n) ...",
    ),
)
