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


def last_left_out(case: kit.Case) -> np.ndarray:
    """Return what comes out if the last element keeps its value."""
    y = axpy(case)
    y[-1] = case["y"][-1]
    return y


def first_of_two(case: kit.Case) -> np.ndarray:
    """Return what comes out if each block makes as many elements as it has threads, not twice as
    many.
    """
    y, one = axpy(case), case["block"] * case.steps[0].grid[0]
    y[one:] = case["y"][one:]
    return y


def other_factor(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether another factor than a explains the result."""
    factors = np.unique((got - case["y"]) / case["x"])
    return factors.size == 1 and factors[0] not in (0, case["a"])


# Wrong sums, for both exercises of the lab.
WRONG_SUMS = (
    kit.Mistake(
        "y[i] is subtracted: an element is a * x[i] + y[i].",
        gives=lambda case: case["a"] * case["x"] - case["y"],
    ),
    kit.Mistake(
        "y[i] is multiplied by a, too: only x[i] is. An element is a * x[i] + y[i].",
        gives=lambda case: case["a"] * (case["x"] + case["y"]),
    ),
    kit.Mistake(
        "The elements are a * x[i]: y[i] is not added.", gives=lambda case: case["a"] * case["x"]
    ),
    kit.Mistake(
        "y[i] is added twice: y[i] = a * x[i] + y[i] adds it already, so write = in place of +=.",
        gives=lambda case: case["a"] * case["x"] + 2 * case["y"],
    ),
    kit.Mistake(
        "x and y are exchanged: an element is a * x[i] + y[i].",
        gives=lambda case: case["a"] * case["y"] + case["x"],
    ),
)

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
            "ones begin inside a sector: let them begin blockDim.x behind the first.)",
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
    mistakes=(
        kit.Mistake(
            "The last element is left out: i < n is right, i < n - 1 is not.", gives=last_left_out
        ),
        kit.Mistake(
            "Half of the elements keep their old value: with half the blocks each thread must "
            "compute a second element, too.",
            gives=first_of_two,
        ),
        *WRONG_SUMS,
        kit.Mistake(
            "A factor is written into the kernel: multiply by the argument a.", when=other_factor
        ),
        kit.Mistake(
            "It is right with blocks of 256 threads only: the width of a block is blockDim.x.",
            when=lambda case, got, want: case.kinds["block size"] != 256,
        ),
    ),
    findings=(
        kit.FindingHint(
            "out-of-bounds",
            "The guard must stop each thread at n, the argument: i < n.",
            when=lambda found: found.array in ("x", "y"),
        ),
        kit.FindingHint(
            "race",
            "Two threads write the same element: is each element the first or the second of one "
            "thread only?",
        ),
    ),
    hints=(
        "Write down the first element of lanes 0, 1 and 2. How far apart are they?",
        "If the first elements of a block's threads are neighbours, where must the second ones "
        "stand?",
        "A block has 2 * blockDim.x elements. The first of each thread come from the first "
        "blockDim.x of them, and the second blockDim.x behind.",
    ),
)
