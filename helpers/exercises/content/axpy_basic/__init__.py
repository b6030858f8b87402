"""The first kernel: the number of a thread in the grid, and the guard of the last block."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.content.axpy_two import axpy


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield two widths of a block and two factors; sizes of one element, around a block, and
    ragged.
    """
    for block, sizes in (
        (256, (1_000, 1, 255, 256, 257)),
        (64, (int(rng.integers(70, 99)), kit.MANY)),
    ):
        for n in sizes:
            yield array(rng, n, block, int(rng.integers(2, 9)))


def large(rng: np.random.Generator) -> kit.Case:
    """Return ten million elements; a is 0, so that a launch can be repeated."""
    return array(rng, 10_000_000, 256, 0)


def array(rng: np.random.Generator, n: int, block: int, a: int) -> kit.Case:
    """Return n elements in blocks of so many threads."""
    arrays = {"y": kit.cells(rng, n), "x": kit.cells(rng, n)}
    step = kit.Step((kit.ceil_div(n, block),), (block,), ("y", "x", np.int32(n), np.float32(a)))
    kinds = {"size": n, "block size": block}
    name = f"n = {n:,}, a = {a}, blocks of {block}"
    return kit.Case(name, arrays, ("y",), (step,), kinds, {"a": a, "block": block}, n < kit.MANY)


EXERCISE = kit.Exercise(
    name="axpy_basic",
    lab="100_start_here",
    title="A thread for each element, in any number of blocks",
    points=3,
    reads_outputs=True,
    cases=cases,
    small=lambda rng: (array(rng, n, 4, 3) for n in (3, 6, 9)),
    reference=axpy,
    counts={"size": "sizes", "block size": "block sizes"},
    budgets=(
        kit.Budget(
            "loads per element",
            kit.per_output("global", "load"),
            2,
            "Each thread has one element: it loads x[i] and y[i] once.",
        ),
        kit.Budget(
            "stores per element",
            kit.per_output("global", "store"),
            1,
            "Each thread has one element, and stores it once.",
        ),
        kit.none_of("shared"),
        *kit.NO_DETOURS,
    ),
    timed=large,
    most_of_a_block=lambda case: case["block"],
    hints=(
        "With blocks of 4 threads, threads 0 and 1 of block 1 should get i = 4 and i = 5. How do "
        "you get from 1, 4 and 0 to 4?",
        "A block has blockDim.x threads. Before block blockIdx.x there are blockIdx.x * "
        "blockDim.x threads; add threadIdx.x to them.",
        "The guard compares i with n: if i is n or more, the thread does nothing.",
    ),
)
