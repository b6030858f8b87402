"""A convolution, slow on purpose: lanes side by side want different words of constant memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers import reference
from helpers.exercises import kit
from helpers.quantities import quantity

WIDTH, OTHER_WIDTH, THREADS = 7, 9, 128


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield whole blocks, whose lanes are counted; one cell, around a block, and many cells; a
    wider filter.
    """
    for n in (8 * THREADS, 1, THREADS - 1, THREADS + 1, int(rng.integers(600, 999)), kit.MANY):
        yield signal(rng, n)
    yield signal(rng, 3 * THREADS + 1, OTHER_WIDTH)


def signal(rng: np.random.Generator, n: int = 10_000_000, width: int = WIDTH) -> kit.Case:
    """Return a signal, by default a long one, and a filter without symmetry."""
    filter = kit.whole_numbers(rng, width)
    filter[0], filter[-1] = 3, -4
    step = kit.Step(
        (kit.ceil_div(n, THREADS),), (THREADS,), ("P", "N", np.int32(n)), {"filter": filter}
    )
    arrays = {"P": kit.unwritten(n), "N": kit.cells(rng, n)}
    budgeted = n == 8 * THREADS
    kinds = {"size": n, "width": width}
    title = f"n = {n:,}" if width == WIDTH else f"n = {n:,}, {quantity(width, 'weight')}"
    options = () if width == WIDTH else (f"-DFILTER_WIDTH={width}",)
    facts = {"filter": filter}
    return kit.Case(title, arrays, ("P",), (step,), kinds, facts, budgeted, options=options)


def convolved(case: kit.Case) -> np.ndarray:
    """Return the convolution."""
    return reference.conv1d(case["N"], case["filter"])


def one_weight(case: kit.Case) -> np.ndarray:
    """Return what comes out if a thread takes its first weight in each step."""
    N, filter = case["N"], case["filter"]
    places = np.arange(N.size)
    taps = places % THREADS % filter.size
    there = places - filter.size // 2 + taps
    inside = (there >= 0) & (there < N.size)
    return filter.size * np.where(inside, N[there % N.size], 0) * filter[taps]


def weight_0(case: kit.Case) -> np.ndarray:
    """Return what comes out if all threads take weight 0 in each step."""
    left = np.zeros_like(case["filter"])
    left[0] = left.size * case["filter"][0]
    return reference.conv1d(case["N"], left)


EXERCISE = kit.Exercise(
    name="conv1d_constant_divergent",
    lab="102_conv1d_constant_memory",
    title="Let each lane begin with another weight",
    points=3,
    cases=cases,
    small=lambda rng: (signal(rng, n, 3) for n in (6, 11, THREADS + 3)),
    reference=convolved,
    counts={"size": "sizes", "width": "widths of the filter"},
    budgets=(
        kit.Budget(
            "words beyond the first in a request for weights",
            kit.per_request("constant", "load", "replays"),
            WIDTH - 1,
            "The sums are right, but all lanes of a warp take the same weight in a step: let it "
            "depend on threadIdx.x, too.",
            least=WIDTH - 1.5,
        ),
        kit.Budget(
            "loads of N per output",
            kit.per_output("global", "load", "N"),
            WIDTH,
            "Each thread needs each of its cells once.",
        ),
        kit.none_of("shared", hint="The weights stay in constant memory here."),
        kit.ONE_STORE,
        *kit.NO_DETOURS,
    ),
    timed=signal,
    most_of_a_block=lambda case: THREADS,
    mistakes=(
        kit.Mistake("All threads take weight 0 in each step: replace the line.", gives=weight_0),
        kit.Mistake(
            "Each thread takes the same weight in all steps: the place must change with j, too.",
            gives=one_weight,
        ),
        kit.Mistake(
            "The filter is flipped: weight `tap` belongs to cell i - RADIUS + tap.",
            gives=lambda case: reference.conv1d(case["N"], case["filter"][::-1]),
        ),
        kit.Mistake(
            f"It is right with {WIDTH} weights only: their number is FILTER_WIDTH.",
            when=lambda case, got, want: case["filter"].size != WIDTH,
        ),
        kit.Mistake(
            "Some weights are taken twice and others never: a thread takes FILTER_WIDTH different "
            "ones, and begins again with 0 behind the last one.",
            when=lambda case, got, want: bool(np.isfinite(got).all()),
        ),
    ),
    findings=(
        kit.FindingHint(
            "out-of-bounds",
            "Weights have numbers from 0 to FILTER_WIDTH - 1. Which operator of C++ begins again "
            "at 0? % gives the rest of a division.",
            when=lambda found: found.array == "filter",
        ),
    ),
    hints=(
        "With 7 weights, thread 0 takes 0, 1, 2, 3, 4, 5, 6, and thread 5 takes 5, 6, 0, 1, 2, 3, "
        "4. What is the rule for thread t in step j?",
        "It is t + j, as long as that is below FILTER_WIDTH. The rest of a division by "
        "FILTER_WIDTH begins again at 0.",
        "The thread's number in its block is threadIdx.x. Add j, and take the rest by "
        "% FILTER_WIDTH.",
    ),
)
