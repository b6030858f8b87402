"""Repeat the edge: a 1D convolution whose array goes on with copies of its end cells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from helpers.exercises.budgets import Budget, none_of, per_output, shuffles
from helpers.exercises.cases import MANY, Case, Step, ceil_div, cells, unwritten, whole_numbers
from helpers.exercises.exercise import Exercise
from helpers.exercises.mistakes import FindingHint, Mistake
from helpers.reference import conv1d

THREADS = 256


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """Sizes of a few cells, around a block, and ragged ones; two filters, neither symmetric."""
    ragged = int(rng.integers(600, 1_500))
    for n in (ragged, 1, 2, THREADS - 1, THREADS, THREADS + 1, MANY):
        filters = {"drawn": whole_numbers(rng, 3), "1, 2, 4": np.array([1, 2, 4], np.float32)}
        for name, filter in filters.items():
            N = cells(rng, n)
            step = Step((ceil_div(n, THREADS),), (THREADS,), ("P", "N", "filter", np.int32(n)))
            arrays = {"P": unwritten(n), "N": N, "filter": filter}
            title, kinds = f"n = {n}, filter {name}", {"size": n, "filter": name}
            yield Case(title, arrays, ("P",), (step,), kinds, budgeted=n < MANY)


def large(rng: np.random.Generator) -> Case:
    """Ten million cells."""
    n, filter = 10_000_000, whole_numbers(rng, 3)
    step = Step((ceil_div(n, THREADS),), (THREADS,), ("P", "N", "filter", np.int32(n)))
    arrays = {"P": unwritten(n), "N": cells(rng, n), "filter": filter}
    return Case(f"n = {n:,}", arrays, ("P",), (step,))


def edge(case: Case, left: Any = "edge", right: Any = "edge") -> np.ndarray:
    """Return the convolution with each end padded as NumPy's pad does by that mode."""
    N, filter = case["N"], case["filter"]
    wide = np.concatenate([np.pad(N, (1, 0), mode=left)[:1], N, np.pad(N, (0, 1), mode=right)[-1:]])
    return conv1d(wide, filter)[1:-1]


def repeats_second(case: Case) -> np.ndarray | None:
    """Return what comes out if the cells beside the edge are repeated, which reflecting does."""
    return edge(case, "reflect", "reflect") if case["N"].size > 1 else None


def only_ends(case: Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether all outputs are written, and the inner ones are right."""
    return bool(np.isfinite(got).all() and (got == want)[1:-1].all())


EXERCISE = Exercise(
    name="conv1d_edge",
    lab="101_conv1d_blocks_and_halos",
    title="Repeat the edge cell in place of zeros",
    place=2,
    folder=Path(__file__).parent,
    cases=cases,
    reference=edge,
    counts={"size": "sizes", "filter": "filters"},
    budgets=(
        Budget(
            "loads of N per output",
            per_output("global", "load", "N"),
            3,
            "Each output needs three cells of N: load each of them once.",
        ),
        Budget(
            "loads of the filter per output", per_output("global", "load", "filter"), 3, quiet=True
        ),
        Budget(
            "stores per output",
            per_output("global", "store"),
            1,
            "Store each output once.",
            quiet=True,
        ),
        none_of("shared", hint="Three cells a thread need no tile."),
        none_of("global", "atomic", what="atomics"),
        shuffles(),
    ),
    timed=large,
    most_of_a_block=lambda case: THREADS,
    mistakes=(
        Mistake(
            "Cells outside N still count as 0: cell -1 must count as N[0], and cell n as N[n - 1].",
            gives=lambda case: edge(case, "constant", "constant"),
        ),
        Mistake(
            "The left end is right. At the right end cell n still counts as 0, and must count as "
            "N[n - 1].",
            gives=lambda case: edge(case, "edge", "constant"),
        ),
        Mistake(
            "The right end is right. At the left end cell -1 still counts as 0, and must count "
            "as N[0].",
            gives=lambda case: edge(case, "constant", "edge"),
        ),
        Mistake(
            "At each end the second cell is repeated, N[1] and N[n - 2]: the edge cell itself is "
            "N[0] and N[n - 1].",
            gives=repeats_second,
        ),
        Mistake(
            "Each output is made of one end of N alone: are min and max exchanged? max(cell, 0) is "
            "never below 0.",
            when=lambda case, got, want: bool((got == got[0]).all()),
        ),
        Mistake(
            "The array goes on at its other end, like a ring. Here the edge cell is repeated.",
            gives=lambda case: edge(case, "wrap", "wrap"),
        ),
        Mistake(
            "The filter is flipped: filter[j] belongs to cell i - 1 + j.",
            gives=lambda case: conv1d(np.pad(case["N"], 1, mode="edge"), case["filter"][::-1])[
                1:-1
            ],
        ),
        Mistake(
            "Only the ends are wrong: at the left end cell -1 must count as N[0], and at the right "
            "end cell n as N[n - 1].",
            when=only_ends,
        ),
        Mistake(
            "With one filter it is right, with another it is not: read the weights from "
            "`filter`, do not write them down.",
            when=lambda case, got, want: case.kinds["filter"] == "drawn" and np.isfinite(got).all(),
        ),
    ),
    findings=(
        FindingHint(
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
