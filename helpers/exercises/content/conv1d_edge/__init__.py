"""Repeat the edge: a 1D convolution whose array goes on with copies of its end cells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.reference import conv1d

THREADS, NARROW = 256, 64
RANDOM = "a random filter"


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield sizes of a few cells, around a block, ragged ones; two filters, neither symmetric; and
    blocks of another width. Budgets hold where blocks are full: a tile has as many cells whatever
    there is to compute.
    """
    ragged = int(rng.integers(600, 1_500))
    for n in (ragged, 1, 2, THREADS - 1, THREADS, THREADS + 1, kit.MANY):
        filters = {
            RANDOM: kit.whole_numbers(rng, 3),
            "the filter 1, 2, 4": np.array([1, 2, 4], np.float32),
        }
        for name, filter in filters.items():
            N = kit.cells(rng, n)
            yield line(N, filter, name, budgeted=THREADS <= n < kit.MANY)
    N, filter = kit.cells(rng, 5 * NARROW + 5), kit.whole_numbers(rng, 3)
    yield line(N, filter, RANDOM, NARROW, budgeted=False)


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield lines of one to three blocks of 4 threads, and of two of 256."""
    for n, threads in ((2, 4), (6, 4), (11, 4), (THREADS + 3, THREADS)):
        yield line(kit.cells(rng, n), kit.whole_numbers(rng, 3), RANDOM, threads)


def line(
    N: np.ndarray, filter: np.ndarray, name: str, threads: int = THREADS, budgeted: bool = True
) -> kit.Case:
    """Return a thread for each cell of N, in blocks of so many threads."""
    n = N.size
    arrays, grid = {"P": kit.unwritten(n), "N": N, "filter": filter}, (kit.ceil_div(n, threads),)
    title = f"n = {n}, {name}" + (f", blocks of {threads}" if threads != THREADS else "")
    kinds = {"size": n, "filter": name, "block size": threads}
    return kit.one_launch(title, arrays, grid, (threads,), n, kinds=kinds, budgeted=budgeted)


def large(rng: np.random.Generator) -> kit.Case:
    """Return ten million cells."""
    n, filter = 10_000_000, kit.whole_numbers(rng, 3)
    arrays = {"P": kit.unwritten(n), "N": kit.cells(rng, n), "filter": filter}
    return kit.one_launch(f"n = {n:,}", arrays, (kit.ceil_div(n, THREADS),), (THREADS,), n)


def repeated(case: kit.Case) -> np.ndarray:
    """Return the convolution of the array with its end cells repeated."""
    return conv1d(np.pad(case["N"], 1, mode="edge"), case["filter"])[1:-1]


# What conv1d_basic shares.
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
        8, per="warp", hint= (
            "Two of the three cells are a neighbouring lane's: two shuffles are enough."
        )
    ),
)
EXERCISE = kit.Exercise(
    name="conv1d_edge",
    lab="101_conv1d_blocks_and_halos",
    title="Repeat the edge cell in place of zeros",
    place=2,
    cases=cases,
    small=small,
    reference=repeated,
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
    hints=(
        "Thread 0 of block 0 computes P[0]. Which three cells does it add up? Write them down, and "
        "those of the thread that computes P[n - 1].",
        "An index below 0 must become 0, and one above n - 1 must become n - 1. Then you need no "
        "test.",
        "min(max(cell, 0), n - 1) moves an index into the array, without a branch.",
    ),
)
