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


EXERCISE = kit.Exercise(
    name="conv1d_constant_divergent",
    lab="102_conv1d_constant_memory",
    title="Let each lane begin with a different weight",
    points=3,
    cases=cases,
    small=lambda rng: (signal(rng, n, w) for n, w in ((6, 3), (11, 3), (THREADS + 3, 3), (11, 7))),
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
    hints=(
        "With 7 weights, thread 0 takes 0, 1, 2, 3, 4, 5, 6, and thread 5 takes 5, 6, 0, 1, 2, 3, "
        "4. What is the rule for thread t in step j?",
        "It is t + j while that is below FILTER_WIDTH. Then it starts again at 0, as the "
        "remainder of a division by FILTER_WIDTH does.",
        "The thread's number in its block is threadIdx.x. Add j, and take the remainder with % "
        "FILTER_WIDTH.",
    ),
)
