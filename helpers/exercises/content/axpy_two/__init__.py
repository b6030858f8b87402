"""Two elements a thread: y = a x + y with half the blocks, and no more sectors than one element a
thread needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from helpers.exercises import kit


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield three widths of a block, two factors, sizes of one element, around a block's share, and
    ragged ones.
    """
    for block, sizes in (
        (256, (1, 511, 512, 513)),
        (64, (int(rng.integers(700, 999)),)),
        (128, (int(rng.integers(1_300, 2_000)), kit.MANY)),
    ):
        for n in sizes:
            for a in (2, int(rng.integers(3, 9))):
                title = f"n = {n}, a = {a}, blocks of {block}"
                kinds = {"size": n, "block size": block, "factor": a}
                yield arrays_of(rng, n, block, a, title, kinds=kinds, budgeted=n < kit.MANY)


def arrays_of(
    rng: np.random.Generator, n: int, block: int, a: int, title: str, **more: Any
) -> kit.Case:
    """Return n elements, two for each thread. more: other fields of the case."""
    arrays, grid = {"y": kit.cells(rng, n), "x": kit.cells(rng, n)}, (kit.ceil_div(n, 2 * block),)
    facts = {"a": a, "block": block}
    return kit.one_launch(title, arrays, grid, (block,), n, np.float32(a), facts=facts, **more)


def large(rng: np.random.Generator) -> kit.Case:
    """Return ten million elements; a is 0, so that a launch can be repeated."""
    return arrays_of(rng, 10_000_000, 256, 0, "n = 10,000,000")


def axpy(case: kit.Case) -> np.ndarray:
    """Return a x + y."""
    return (case["a"] * case["x"] + case["y"]).astype(np.float32)


EXERCISE = kit.Exercise(
    name="axpy_two",
    lab="114_memory_and_time",
    place=1,
    title="Two elements a thread, with half the blocks",
    reads_outputs=True,
    cases=cases,
    small=lambda rng: (
        arrays_of(rng, n, 4, 3, f"n = {n}, a = 3, blocks of 4") for n in (6, 13, 21)
    ),
    reference=axpy,
    counts={"size": "sizes", "block size": "block sizes", "factor": "factors"},
    budgets=(
        kit.Budget(
            "sectors",
            lambda case, one: (
                one.total("sectors", "global", "load") + one.total("sectors", "global", "store")
            ),
            lambda case: (
                3 * kit.ceil_div(case.count, 8) + 3
            ),  # as axpy_basic has; the tail may take one sector more of each
            "Look at the first elements of the 32 lanes of a warp: they should be neighbours, not "
            "every second one. The same holds for their second elements. (If they are, the second "
            "ones begin inside a sector: let each be blockDim.x after the first.)",
        ),
        kit.Budget(
            "loads per element",
            kit.per_output("global", "load"),
            2,
            "Load x[i] and y[i] once each.",
            quiet=True,
        ),
        kit.Budget("stores per element", kit.per_output("global", "store"), 1, quiet=True),
        kit.Budget(
            "load requests per warp",
            lambda case, one: one.total("requests", "global", "load") / kit.warps(case),
            4,
            "A warp loads x and y for the first elements of its 32 lanes, and for their second "
            "ones: four requests. Do all lanes take part?",
            quiet=True,
        ),
        kit.none_of("shared"),
        kit.NO_ATOMICS,
        kit.shuffles(),
    ),
    timed=large,
    most_of_a_block=lambda case: 2 * case["block"],
    hints=(
        "Write down the first element of lanes 0, 1 and 2. How far apart are they?",
        "If the first elements of a block's threads are neighbours, which elements are left for "
        "the second ones?",
        "A block has 2 * blockDim.x elements. A thread's first element is in the first half of "
        "them, and its second element is blockDim.x after that.",
    ),
)
