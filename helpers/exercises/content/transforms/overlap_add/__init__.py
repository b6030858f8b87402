"""Overlap-add: a segment is transformed, multiplied with the filter's spectrum, and its sums are
added to those of its neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers import reference
from helpers.exercises import kit
from helpers.exercises.content.transforms import LAB
from helpers.problems import fft
from helpers.problems.fft_conv1d import OverlapAdd, conv1d_atol
from helpers.quantities import quantity

LOG_SIZE = 8


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield one cell, one whole segment, the widest filter, ragged ends, and other transforms."""
    yield case(rng, 200, 9)
    yield case(rng, 1, 3)
    yield case(rng, 2 * 194, 63)
    # Two blocks add to every output of this one, so that none has values of its own.
    yield kit.without_budgets(case(rng, 1000 + int(rng.integers(1, 100)), 129))
    yield case(rng, 700, 31, log_size=6)
    yield kit.without_budgets(case(rng, kit.MANY, 5))


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a part of a segment, and two segments."""
    for n in (7, 20):
        yield case(rng, n, 5, log_size=4)


def case(
    rng: np.random.Generator, n: int = 100_000, width: int = 63, log_size: int = LOG_SIZE
) -> kit.Case:
    """Return a signal and a filter of drawn whole numbers, by default long ones for a GPU."""
    spec = OverlapAdd(log_size, stages=1, segments=1)
    N, filter = kit.whole_numbers(rng, n), kit.whole_numbers(rng, width)
    arrays = {
        "P": np.zeros(n, np.float32),
        "N": N,
        "spectrum": fft.reference(spec.prepared(filter))[0].astype(np.complex64),
        "twiddles": fft.twiddles(spec.size),
    }
    return kit.one_launch(
        f"{quantity(n, 'cell')}, filter of {width}, {quantity(spec.size, 'point')}",
        arrays, spec.grid(n, width)[:1], spec.block[:1], n, width,
        kinds={"size": n, "filter width": width},
        facts={"filter": filter, "spec": spec},
        options=(f"-DLOG_SIZE={log_size}",),
    )


def large(rng: np.random.Generator) -> kit.Case:
    """Return what a GPU times."""
    return case(rng)


def convolved(case: kit.Case) -> np.ndarray:
    """Return the convolution whose cells outside the array count as 0."""
    return reference.conv1d(case["N"], case["filter"])


def stages(case: kit.Case) -> int:
    """Return stages of a transform."""
    return int(case["spec"].log_size)


def size(case: kit.Case) -> int:
    """Return points of a transform."""
    return int(case["spec"].size)


def lanes(space: str, access: str):
    """Return the lanes of an access for each block, as a function for a budget."""
    return kit.per_block(space, access, counter="lanes")


EXERCISE = kit.Exercise(
    name="overlap_add",
    lab=LAB,
    title="A convolution by overlap-add",
    place=2,
    reads_outputs=True,  # an atomic does
    cases=cases,
    small=small,
    reference=convolved,
    timed=large,
    counts={"size": "sizes", "filter width": "filter widths"},
    atol=lambda case: conv1d_atol(case["spec"], case["N"], case["filter"]),
    budgets=(
        kit.Budget(
            "waits at barriers per warp",
            lambda case, one: one.barriers / one.blocks / -(-case.steps[0].block[0] // 32),
            lambda case: 2 + 2 * stages(case),
            "Two barriers are given, and the transforms have one for each stage. More are not "
            "needed.",
        ),
        kit.Budget(
            "loads of global memory per block",
            lanes("global", "load"),
            lambda case: size(case) * (2 + stages(case)),
            "Load each cell of the segment and each number of the spectrum once.",
        ),
        kit.loads_of_a_warp(
            lambda case: 2 * stages(case) + 8,
            "All threads of the block share its SIZE points: thread t takes t, t + blockDim.x and "
            "so on. One that loads them alone lets the others wait.",
        ),
        kit.Budget(
            "additions to P per block",
            lanes("global", "atomic"),
            size,
            "A block has SIZE sums: add each of them once.",
        ),
        kit.Budget("loads of P", lambda case, one: one.total("lanes", "global", "load", "P"), 0),
        kit.none_of("local", what="accesses to local memory"),
        kit.shuffles(),
    ),
    hints=(
        "All three gaps are one loop: for (int i = threadIdx.x; i < SIZE; i += blockDim.x).",
        "Gap 1: make_float2(value, 0.0f), where value is N[start + i] if i < segment and "
        "start + i < n, else 0. Gap 2: keep cells[i] and spectrum[i] in two variables, because "
        "both parts of the product need both parts of each.",
        "Gap 3: int out = start + i - width / 2. If 0 <= out and out < n: atomicAdd(&P[out], "
        "cells[i].x).",
    ),
)
