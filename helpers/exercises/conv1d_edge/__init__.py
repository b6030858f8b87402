"""Repeat the edge: a 1D convolution whose array goes on with copies of its end cells."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from helpers.exercises.answers import right, wrong
from helpers.exercises.budgets import Budget, none_of, per_output, shuffles
from helpers.exercises.cases import Case, Step, ceil_div, cells, unwritten, whole_numbers
from helpers.exercises.exercise import Exercise
from helpers.exercises.mistakes import Mistake
from helpers.reference import conv1d

THREADS = 256


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """Sizes of a few cells, around a block, and ragged ones; two filters, neither symmetric."""
    ragged = int(rng.integers(600, 1_500))
    for n in (ragged, 1, 2, THREADS - 1, THREADS, THREADS + 1):
        filters = {"drawn": whole_numbers(rng, 3), "1, 2, 4": np.array([1, 2, 4], np.float32)}
        for name, filter in filters.items():
            N = cells(rng, n)
            step = Step((ceil_div(n, THREADS),), (THREADS,), ("P", "N", "filter", np.int32(n)))
            arrays = {"P": unwritten(n), "N": N, "filter": filter}
            yield Case(
                f"n = {n}, filter {name}", arrays, ("P",), (step,), {"size": n, "filter": name}
            )


def large(rng: np.random.Generator) -> Case:
    """Ten million cells."""
    n, filter = 10_000_000, whole_numbers(rng, 3)
    step = Step((ceil_div(n, THREADS),), (THREADS,), ("P", "N", "filter", np.int32(n)))
    arrays = {"P": unwritten(n), "N": cells(rng, n), "filter": filter}
    return Case(f"n = {n:,}", arrays, ("P",), (step,))


def edge(case: Case, left: Any = "edge", right: Any = "edge") -> np.ndarray:
    """The convolution with each end padded as NumPy's pad does by that mode."""
    N, filter = case["N"], case["filter"]
    wide = np.concatenate([np.pad(N, (1, 0), mode=left)[:1], N, np.pad(N, (0, 1), mode=right)[-1:]])
    return conv1d(wide, filter)[1:-1]


def repeats_second(case: Case) -> np.ndarray | None:
    """What comes out if the cells beside the edge are repeated, which reflecting does."""
    return edge(case, "reflect", "reflect") if case["N"].size > 1 else None


def only_ends(case: Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Whether all outputs are written, and the inner ones are right."""
    return bool(np.isfinite(got).all() and (got == want)[1:-1].all())


EXERCISE = Exercise(
    name="conv1d_edge",
    lab="101_conv1d_blocks_and_halos",
    title="Repeat the edge cell in place of zeros",
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
    hints=(
        "Thread 0 of block 0 computes P[0]. Which three cells does it add up? Write them down, and "
        "those of the thread that computes P[n - 1].",
        "An index below 0 must become 0, and one above n - 1 must become n - 1. Then no test is "
        "left to do.",
        "min(max(cell, 0), n - 1) moves an index into the array, without a branch.",
    ),
    right=(
        right("clamp by min and max"),
        right("clamp by conditional expressions", "right_conditional.cu"),
        right("the middle first, then both neighbours", "right_unrolled.cu"),
    ),
    wrong=(
        wrong("the stub", "nothing is written", file="stub.cu", status="not_begun"),
        wrong("cells outside count as 0", "cell -1 must count as N[0]", file="wrong_zeros.cu"),
        wrong(
            "only the left end",
            "at the right end",
            ("min(max(i - 1 + j, 0), n - 1)", "max(i - 1 + j, 0)"),
            ("sum += N", "if (cell < n) sum += N"),
        ),
        wrong(
            "only the right end",
            "at the left end",
            ("min(max(i - 1 + j, 0), n - 1)", "min(i - 1 + j, n - 1)"),
            ("sum += N", "if (cell >= 0) sum += N"),
        ),
        wrong(
            "one end is read outside",
            "out-of-bounds",
            ("min(max(i - 1 + j, 0), n - 1)", "max(i - 1 + j, 0)"),
            status="finding",
        ),
        wrong("the second cell is repeated", "second cell", file="wrong_reflect.cu"),
        wrong("a ring", "like a ring", ("min(max(i - 1 + j, 0), n - 1)", "(i - 1 + j + n) % n")),
        wrong(
            "the last cell to the left of the first",
            "Only the ends are wrong",
            ("min(max(i - 1 + j, 0), n - 1)", "i + j == 0 ? n - 1 : min(i - 1 + j, n - 1)"),
        ),
        wrong(
            "half precision inside",
            "of",
            ("extern", "#include <cuda_fp16.h>\nextern"),
            ("N[cell] *", "__half2float(__float2half(N[cell])) *"),
        ),
        wrong(
            "other names, and each cell read three times",
            "loads of N per output",
            ("const float* N,", "const float* in,"),
            (
                "N[cell]",
                "0 * ((volatile const float*)in)[cell] + ((volatile const float*)in)[cell]",
            ),
            status="budget",
        ),
        wrong(
            "weights written into the kernel",
            "do not write them down",
            ("filter[j]", "(j == 0 ? 1.0f : j == 1 ? 2.0f : 4.0f)"),
        ),
        wrong("the filter is flipped", "flipped", ("filter[j]", "filter[2 - j]")),
        wrong("nothing is written", "nothing is written", ("P[i] = sum", "if (n < 0) P[i] = sum")),
        wrong(
            "a NaN is computed", "a nan was computed", ("P[i] = sum", "P[i] = sum / (sum - sum)")
        ),
        wrong("the last cell is not written", "never written", ("if (i < n)", "if (i < n - 1)")),
        wrong(
            "a fourth load",
            "4 loads of n per output",
            ("P[i] = sum", "P[i] = sum + 0 * N[n - 1 - i]"),
            status="budget",
        ),
        wrong("block 0 does everything", "own part", file="wrong_one_block.cu", status="budget"),
        wrong("a loop that never ends", "still running", ("++j) {", "j += 0) {"), status="time"),
        wrong(
            "it does not compile",
            "does not compile",
            ("P[i] = sum;", "P[i] = sum"),
            status="compile",
        ),
    ),
)
