"""Overlap-add: a segment is transformed, multiplied with the filter's spectrum, and its sums are
added to those of its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from helpers import reference
from helpers.exercises import kit
from helpers.exercises.transforms import LAB
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


def by_segments(
    case: kit.Case,
    product: Callable[[np.ndarray, np.ndarray], np.ndarray] = np.multiply,
    sums: int | None = None,
    late: int = 0,
    cells: int | None = None,
) -> np.ndarray:
    """Return what comes out of another product of the spectra, if a block adds so many sums (None:
    all), so many places too late, or loads so many cells of N (None: those of its segment).
    """
    N, width, size = case["N"], case["filter"].size, case["spec"].size
    segment, spectrum = case["spec"].segment(width), np.fft.fft(case["filter"][::-1], size)
    full = np.zeros(N.size + 3 * size)  # output 0 stands behind `size` places
    for start in range(0, N.size, segment):
        own = np.fft.fft(N[start : start + (cells or segment)], size)
        made = np.fft.ifft(product(own, spectrum)).real[:sums]
        first = size + start - width // 2 + late
        full[first : first + made.size] += made
    return full[size:][: N.size]


def first_half(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the product of the cells 0 to SIZE / 2 - 1 alone, times SIZE, by which the spectrum in
    the kernel is divided. In bit-reversed order these are the even frequencies.
    """
    return np.where(np.arange(a.size) % 2 == 0, a * b, a.size * a)


def real_part_first(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return what comes out if the new real part stands in the imaginary part's product."""
    real = (a * b).real
    return real + 1j * (real * b.imag / a.size + a.imag * b.real)


def half_loaded(case: kit.Case) -> np.ndarray | None:
    """Return what comes out if only the first half of the points is loaded, and the others are 0;
    None where a segment is no longer.
    """
    half = size(case) // 2
    is_longer = case["spec"].segment(case["filter"].size) > half
    return by_segments(case, cells=half) if is_longer else None


def is_rounding(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether a result is 0, but for rounding."""
    least = conv1d_atol(case["spec"], case["N"], case["filter"])
    return bool(got.any() and np.abs(got).max() <= least)


def in_parts(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the product of the real parts and that of the imaginary ones, as the two parts."""
    return a.real * b.real + 1j * a.imag * b.imag


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
    mistakes=(
        kit.Mistake(
            "All outputs are 0, but for rounding: the sums are the real parts of cells[i], and the "
            "imaginary parts are 0.",
            when=is_rounding,
        ),
        kit.all_zero(
            "All outputs are 0: nothing is added to P yet, or the cells that are loaded are all 0."
        ),
        kit.Mistake(
            "The sums stand width / 2 places too late: the middle weight of output 0 lies on "
            "cell 0, so sum i belongs to output start + i - width / 2.",
            gives=lambda case: by_segments(case, late=case["filter"].size // 2),
        ),
        kit.Mistake(
            "The sums stand width - 1 places too late: the middle weight of output 0 lies on "
            "cell 0, so sum i belongs to output start + i - width / 2.",
            gives=lambda case: by_segments(case, late=2 * (case["filter"].size // 2)),
        ),
        kit.Mistake(
            "The sums stand too early: the middle weight of output 0 lies on cell 0, and not the "
            "last one, so sum i belongs to output start + i - width / 2.",
            gives=lambda case: by_segments(case, late=-(case["filter"].size // 2)),
        ),
        kit.Mistake(
            "The outputs are half as large as they should be: add the whole real part.",
            gives=lambda case: convolved(case) / 2,
        ),
        kit.Mistake(
            "The outputs are divided by SIZE once more: the host has divided the spectrum.",
            gives=lambda case: convolved(case) / size(case),
        ),
        kit.Mistake(
            "Only the first half of the sums is added: a block has SIZE / 2 threads, so each has "
            "two of them.",
            gives=lambda case: by_segments(case, sums=size(case) // 2),
        ),
        kit.Mistake(
            "Only the first half of the cells is multiplied: a block has SIZE / 2 threads, so each "
            "has two of them.",
            gives=lambda case: by_segments(case, first_half),
        ),
        kit.Mistake(
            "The tails are missing: add all SIZE sums, not only those of the segment's own cells.",
            gives=lambda case: by_segments(
                case, sums=case["spec"].segment(case["filter"].size)
            ),
        ),
        kit.Mistake(
            "Only the first half of the tails is added: width - 1 sums lie behind the segment's "
            "own cells. Add all SIZE sums.",
            gives=lambda case: by_segments(
                case,
                sums=case["spec"].segment(case["filter"].size) + case["filter"].size // 2,
            ),
        ),
        kit.Mistake(
            "Only the first SIZE / 2 cells of a segment are loaded: a block has SIZE / 2 threads, "
            "so each loads two points.",
            gives=half_loaded,
        ),
        kit.Mistake(
            "The result is the signal: the spectra are not multiplied. That is gap 2.",
            gives=lambda case: by_segments(case, lambda a, b: size(case) * a),
        ),
        kit.Mistake(
            "The parts are multiplied one by one. The product of two complex numbers has the real "
            "part ac - bd and the imaginary part ad + bc.",
            gives=lambda case: by_segments(case, in_parts),
        ),
        kit.Mistake(
            "The sign in the real part is wrong: i times i is -1.",
            gives=lambda case: by_segments(case, lambda a, b: a * b + 2 * a.imag * b.imag),
        ),
        kit.Mistake(
            "The sign in the imaginary part is wrong: it is ad + bc.",
            gives=lambda case: by_segments(case, lambda a, b: a * b - 2j * a.imag * b.real),
        ),
        kit.Mistake(
            "The sign in the imaginary part is wrong: it is ad + bc.",
            gives=lambda case: by_segments(case, lambda a, b: a * b - 2j * a.real * b.imag),
        ),
        kit.Mistake(
            "The imaginary part is as it was: it becomes ad + bc.",
            gives=lambda case: by_segments(
                case, lambda a, b: (a * b).real + 1j * a.size * a.imag
            ),
        ),
        kit.Mistake(
            "The new real part is used in the imaginary part: keep the old one in a variable, "
            "until both parts are made.",
            gives=lambda case: by_segments(case, real_part_first),
        ),
        kit.Mistake(
            "One spectrum is multiplied by the conjugate of the other: the real part is ac - bd, "
            "and the imaginary part ad + bc.",
            gives=lambda case: by_segments(case, lambda a, b: a.conj() * b),
        ),
        kit.Mistake(
            "One spectrum is multiplied by the conjugate of the other: the real part is ac - bd, "
            "and the imaginary part ad + bc.",
            gives=lambda case: by_segments(case, lambda a, b: a * b.conj()),
        ),
        kit.Mistake(
            "Cells of the next segment are transformed, too, and counted twice: cells[i] is a cell "
            "of N for i below `segment`, and 0 from there on.",
            gives=lambda case: by_segments(case, cells=case["spec"].size),
        ),
        kit.Mistake(
            "A segment has one cell too many, which the next one has, too: cells[i] is a cell of "
            "N for i below `segment`, and 0 from there on.",
            gives=lambda case: by_segments(
                case, cells=case["spec"].segment(case["filter"].size) + 1
            ),
        ),
        kit.Mistake(
            "One segment is right, several are not: each block begins at its own `start`.",
            when=lambda case, got, want: case["N"].size > case["spec"].segment(len(case["filter"])),
        ),
    ),
    findings=(
        kit.FindingHint(
            "race",
            "Two blocks write the same output: the tail of one and the head of the next. Each must "
            "add its part by atomicAdd(&P[out], value).",
            when=lambda found: found.array == "P",
        ),
        kit.FindingHint(
            "uninitialised",
            "A transform reads all SIZE points: those behind the segment's cells must hold 0, and "
            "the imaginary parts, too.",
            when=lambda found: found.array == "cells",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "The last segment may be longer than what is left of N: behind cell n - 1 come zeros.",
            when=lambda found: found.array == "N",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "The first width / 2 sums stand before P[0], and the last ones behind P[n - 1]: these "
            "are no outputs.",
            when=lambda found: found.array == "P",
        ),
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
