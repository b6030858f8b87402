"""The way back: from the bit-reversed output of fft_radix2 to the signal, times n."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.content.transforms import LAB
from helpers.problems import fft

POINTS = 64
STAGES = 6
FEWER = 16  # points of one signal: POINTS is an option of the cell


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield one signal, an impulse that stands anywhere, and several drawn ones, whole numbers; one
    of fewer points.
    """
    impulse = np.zeros((1, POINTS), np.complex64)
    impulse[0, int(rng.integers(1, POINTS))] = 1
    signals = drawn(rng, 5, POINTS)
    yield case_of("an impulse", impulse)
    yield case_of("one signal", signals[:1])
    yield case_of("four signals", signals[1:])
    yield case_of(f"{FEWER} points", signals[:1, :FEWER])


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield one signal of few points, and two."""
    yield case_of("8 points", drawn(rng, 1, 8))
    yield case_of("two signals", drawn(rng, 2, 16))


def drawn(rng: np.random.Generator, count: int, points: int) -> np.ndarray:
    """Return so many signals."""
    shape = count, points
    parts = rng.integers(-9, 10, shape) + 1j * rng.integers(-9, 10, shape)
    return parts.astype(np.complex64)


def case_of(name: str, signals: np.ndarray) -> kit.Case:
    """Return the case whose transforms are those of these signals."""
    points = signals.shape[1]
    X = np.ascontiguousarray(fft.reference(signals), np.complex64)
    x = kit.unwritten(X.shape, np.complex64)
    return kit.one_launch(
        name,
        {"x": x, "X": X, "twiddles": fft.twiddles(points)},
        (len(X),),
        (points // 2,),
        kinds={"signal": name},
        facts={"signals": signals.astype(np.complex128)},
        budgeted=points == POINTS,
        options=(f"-DPOINTS={points}",),
    )


def scaled(case: kit.Case) -> np.ndarray:
    """Return the signals, times n."""
    return case["signals"].shape[1] * case["signals"]


def per_warp(space: str, access: str):
    """Return requests per warp; a block is one."""
    return lambda case, one: one.total("requests", space, access) / one.blocks


EXERCISE = kit.Exercise(
    name="fft_back",
    lab=LAB,
    title="The inverse transform, from bit-reversed order",
    points=4,
    cases=cases,
    small=small,
    reference=scaled,
    counts={"signal": "sets of signals"},
    atol=lambda case: 2 * fft.transform_atol(scaled(case)),
    budgets=(
        kit.Budget(
            "waits at barriers per warp",
            lambda case, one: one.barriers / one.blocks,
            1 + STAGES,
            "One barrier after the load, and one after each of the log2 n stages.",
        ),
        kit.Budget(
            "requests of shared loads per warp",
            per_warp("shared", "load"),
            4 * STAGES + 4,
            "A stage reads each cell once, two a thread. A sum over all 64 points for each output "
            "is the transform by its definition: n * n products instead of n / 2 * log2 n.",
        ),
        kit.Budget(
            "multiplications per warp",
            kit.executed("mul.f32", "fma.f32", "mul.f64", "fma.f64", per="warp"),
            8 * STAGES,
            "A stage turns one value a thread: four multiplications.",
        ),
        kit.Budget(
            "requests of global loads per warp",
            per_warp("global", "load"),
            2 + 2 * STAGES,  # two stages at a time take three twiddles
            "Cells come from shared memory; only twiddles are loaded in a stage.",
            quiet=True,
        ),
        kit.Budget(
            "requests of shared stores per warp",
            per_warp("shared", "store"),
            4 * STAGES + 4,
            quiet=True,
        ),
        kit.Budget("stores per value", kit.per_output("global", "store"), 1, quiet=True),
        kit.none_of("local", what="accesses to local memory"),
        kit.NO_ATOMICS,
        kit.shuffles(10 * STAGES, per="warp"),
    ),
    most_of_a_block=lambda case: POINTS,
    hints=(
        "The forward kernel's last stage had span 1. The way back undoes that stage first. With "
        "which span does it end?",
        "In a stage with span s, thread t's place in its group is t & (s - 1), and its pair is "
        "(first, first + s) with first = 2 * (t - place) + place.",
        "Turn the second cell by the conjugate of twiddles[place * (n / 2 / s)]; then sum and "
        "difference.",
    ),
)
