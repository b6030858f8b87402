"""Repeat the edge: a 1D convolution whose array goes on with copies of its end cells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from helpers.exercises import kit
from helpers.reference import conv1d

THREADS, NARROW = 256, 64


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield sizes of a few cells, around a block, ragged ones; two filters, neither symmetric; and
    blocks of another width. Budgets hold where blocks are full: a tile has as many cells whatever
    there is to compute.
    """
    ragged = int(rng.integers(600, 1_500))
    for n in (ragged, 1, 2, THREADS - 1, THREADS, THREADS + 1, kit.MANY):
        filters = {"drawn": kit.whole_numbers(rng, 3), "1, 2, 4": np.array([1, 2, 4], np.float32)}
        for name, filter in filters.items():
            N = kit.cells(rng, n)
            yield line(N, filter, name, budgeted=THREADS <= n < kit.MANY)
    N, filter = kit.cells(rng, 5 * NARROW + 5), kit.whole_numbers(rng, 3)
    yield line(N, filter, "drawn", NARROW, budgeted=False)


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield lines of one to three blocks of 4 threads."""
    for n in (2, 6, 11):
        yield line(kit.cells(rng, n), kit.whole_numbers(rng, 3), "drawn", 4)


def line(
    N: np.ndarray, filter: np.ndarray, name: str, threads: int = THREADS, budgeted: bool = True
) -> kit.Case:
    """Return a thread for each cell of N, in blocks of so many threads."""
    n = N.size
    arrays, grid = {"P": kit.unwritten(n), "N": N, "filter": filter}, (kit.ceil_div(n, threads),)
    title = f"n = {n}, filter {name}" + (f", blocks of {threads}" if threads != THREADS else "")
    kinds = {"size": n, "filter": name, "block size": threads}
    return kit.one_launch(title, arrays, grid, (threads,), n, kinds=kinds, budgeted=budgeted)


def large(rng: np.random.Generator) -> kit.Case:
    """Return ten million cells."""
    n, filter = 10_000_000, kit.whole_numbers(rng, 3)
    arrays = {"P": kit.unwritten(n), "N": kit.cells(rng, n), "filter": filter}
    return kit.one_launch(f"n = {n:,}", arrays, (kit.ceil_div(n, THREADS),), (THREADS,), n)


def edge(case: kit.Case, left: Any = "edge", right: Any = "edge") -> np.ndarray:
    """Return the convolution with each end padded as NumPy's pad does by that mode."""
    N, filter = case["N"], case["filter"]
    wide = np.concatenate([np.pad(N, (1, 0), mode=left)[:1], N, np.pad(N, (0, 1), mode=right)[-1:]])
    return conv1d(wide, filter)[1:-1]


def repeats_second(case: kit.Case) -> np.ndarray | None:
    """Return what comes out if the cells beside the edge are repeated, which reflecting does."""
    return edge(case, "reflect", "reflect") if case["N"].size > 1 else None


def only_ends(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether all outputs are written, and the inner ones are right: all but two at each
    end, whose sums hold a cell at an end.
    """
    return bool(np.isfinite(got).all() and (got == want)[2:-2].all())


# What conv1d_basic shares.
OTHER_BLOCK = kit.Mistake(
    "It is right with blocks of 256 threads only: the width of a block is blockDim.x.",
    when=lambda case, got, want: case.kinds["block size"] != THREADS,
)
LOADS = kit.Budget(
    "loads of N per output",
    kit.per_output("global", "load", "N"),
    3,
    "Each output needs three cells of N: load each of them once.",
)
# A tile, or shuffles, are not needed, and no fault: what counts is that all warps do their part.
SHARED_FAIRLY = (
    kit.loads_of_a_warp(
        8,
        "A warp loads three cells for each of its 32 outputs, and three weights. One that loads "
        "more does the work of others, which have nothing to do.",
    ),
    kit.numbers_of_a_thread(
        8, "A thread needs three cells for its output: let each thread add up its own."
    ),
    kit.shuffles(
        8, per="warp", hint="Two of the three cells are a neighbouring lane's: two shuffles do."
    ),
)
ONE_FILTER = kit.Mistake(
    "With one filter it is right, with another it is not: read the weights from "
    "`filter`, do not write them down.",
    when=lambda case, got, want: case.kinds["filter"] == "drawn" and np.isfinite(got).all(),
)

EXERCISE = kit.Exercise(
    name="conv1d_edge",
    lab="101_conv1d_blocks_and_halos",
    title="Repeat the edge cell in place of zeros",
    place=2,
    cases=cases,
    small=small,
    reference=edge,
    counts={"size": "sizes", "filter": "filters"},
    budgets=(
        LOADS,
        kit.Budget(
            "loads of the filter per output",
            kit.per_output("global", "load", "filter"),
            3,
            quiet=True,
        ),
        kit.Budget(
            "stores per output",
            kit.per_output("global", "store"),
            1,
            "Store each output once.",
            quiet=True,
        ),
        *SHARED_FAIRLY,
        kit.NO_ATOMICS,
    ),
    timed=large,
    most_of_a_block=lambda case: case.steps[0].block[0],
    mistakes=(
        kit.Mistake(
            "Cells outside N still count as 0: cell -1 must count as N[0], and cell n as N[n - 1].",
            gives=lambda case: edge(case, "constant", "constant"),
        ),
        kit.Mistake(
            "The left end is right. At the right end cell n still counts as 0, and must count as "
            "N[n - 1].",
            gives=lambda case: edge(case, "edge", "constant"),
        ),
        kit.Mistake(
            "The right end is right. At the left end cell -1 still counts as 0, and must count "
            "as N[0].",
            gives=lambda case: edge(case, "constant", "edge"),
        ),
        kit.Mistake(
            "At each end the second cell is repeated, N[1] and N[n - 2]: the edge cell itself is "
            "N[0] and N[n - 1].",
            gives=repeats_second,
        ),
        kit.Mistake(
            "Each output is made of one end of N alone: are min and max exchanged? max(cell, 0) is "
            "never below 0.",
            when=lambda case, got, want: bool((got == got[0]).all()),
        ),
        kit.Mistake(
            "The array goes on at its other end, like a ring. Here the edge cell is repeated.",
            gives=lambda case: edge(case, "wrap", "wrap"),
        ),
        kit.Mistake(
            "The filter is flipped: filter[j] belongs to cell i - 1 + j.",
            gives=lambda case: conv1d(np.pad(case["N"], 1, mode="edge"), case["filter"][::-1])[
                1:-1
            ],
        ),
        OTHER_BLOCK,
        kit.Mistake(
            "Only the ends are wrong: at the left end cell -1 must count as N[0], and at the right "
            "end cell n as N[n - 1].",
            when=only_ends,
        ),
        ONE_FILTER,
    ),
    findings=(
        kit.FindingHint(
            "out-of-bounds",
            "max(cell, 0) is never below 0, and min(cell, n - 1) is never above the last cell. Are "
            "the two exchanged, or is one of them off by one?",
            lambda finding: finding.array == "N",
        ),
    ),
    hints=(
        "Thread 0 of block 0 computes P[0]. Which three cells does it add up? Write them down, and "
        "those of the thread that computes P[n - 1].",
        "An index below 0 must become 0, and one above n - 1 must become n - 1. Then no test is "
        "left to do.",
        "min(max(cell, 0), n - 1) moves an index into the array, without a branch.",
    ),
)
