"""The way back: from the bit-reversed output of fft_radix2 to the signal, times n."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.transforms import LAB
from helpers.problems import fft

POINTS = 64
STAGES = 6


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield one signal, an impulse that stands anywhere, and several drawn ones, whole numbers."""
    impulse = np.zeros((1, POINTS), np.complex64)
    impulse[0, int(rng.integers(1, POINTS))] = 1
    drawn = (rng.integers(-9, 10, (5, POINTS)) + 1j * rng.integers(-9, 10, (5, POINTS))).astype(
        np.complex64
    )
    for name, signals in (
        ("an impulse", impulse),
        ("one signal", drawn[:1]),
        ("four signals", drawn[1:]),
    ):
        X = fft.reference(signals).astype(np.complex64)
        arrays = {
            "x": kit.unwritten(X.shape, np.complex64),
            "X": X,
            "twiddles": fft.twiddles(POINTS),
        }
        step = kit.Step((len(X),), (POINTS // 2,), ("x", "X", "twiddles"))
        yield kit.Case(
            name,
            arrays,
            ("x",),
            (step,),
            {"signal": name},
            {"signals": signals.astype(np.complex128)},
        )


def scaled(case: kit.Case) -> np.ndarray:
    """Return the signals, times n."""
    return POINTS * case["signals"]


def per_warp(space: str, access: str):
    """Return requests per warp; a block is one."""
    return lambda case, one: one.total("requests", space, access) / one.blocks


def half_done(case: kit.Case) -> np.ndarray:
    """Return what comes out if the last stage is left out: the transforms of the even and of the
    odd part of the spectrum.
    """
    X = case["X"][:, fft.bit_reversed(POINTS)].astype(np.complex128)
    return np.concatenate([np.fft.ifft(X[:, first::2]) * (POINTS // 2) for first in (0, 1)], axis=1)


def in_order_of_forward(case: kit.Case) -> np.ndarray:
    """Return what comes out if the stages are undone with the first one first: spans n / 2 to 1."""
    cells, place = case["X"].astype(np.complex128), np.arange(POINTS)
    for span in (POINTS >> stage for stage in range(1, STAGES + 1)):
        first = place[place // span % 2 == 0]
        turn = np.exp(2j * np.pi * (first % span) / (2 * span))
        a, b = cells[:, first], cells[:, first + span] * turn
        cells[:, first], cells[:, first + span] = a + b, a - b
    return cells


EXERCISE = kit.Exercise(
    name="fft_back",
    lab=LAB,
    title="The inverse transform, from bit-reversed order",
    points=4,
    cases=cases,
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
            "A stage reads each cell once, two a thread. A sum over all 64 points for each "
            "output is the transform by its definition: "
            "n * n products instead of n / 2 * log2 n.",
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
            2 + STAGES + 1,
            "Cells come from shared memory; only the twiddle of each stage is loaded.",
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
    mistakes=(
        kit.Mistake(
            "The stages are undone with the first one first. The way back begins with the last "
            "one: spans 1, 2, 4 ... POINTS / 2.",
            gives=in_order_of_forward,
        ),
        kit.Mistake(
            "The output is the spectrum as it came: no stage is done.", gives=lambda case: case["X"]
        ),
        kit.Mistake(
            "The result is divided by n: here the signal times n is asked for, as the stages "
            "give it by themselves.",
            gives=lambda case: case["signals"],
        ),
        kit.Mistake(
            "The pairs turn forward: the way back multiplies by the conjugate of the twiddle, "
            "exp(+2 pi i k / n).",
            gives=lambda case: POINTS * np.roll(case["signals"][:, ::-1], 1, axis=1),
        ),
        kit.Mistake(
            "The values are right and stand in bit-reversed order: the way back begins with "
            "neighbours (span 1) and ends with span n / 2.",
            gives=lambda case: scaled(case)[:, fft.bit_reversed(POINTS)],
        ),
        kit.Mistake("The last stage is missing: the widest span is n / 2.", gives=half_done),
        kit.Mistake(
            "Real and imaginary part are exchanged.",
            gives=lambda case: scaled(case).imag + 1j * scaled(case).real,
        ),
        kit.Mistake(
            "The impulse is right, other signals are not: the difference of a pair, or its "
            "twiddle, is wrong in some stage.",
            when=lambda case, got, want: case.kinds["signal"] != "an impulse",
        ),
    ),
    findings=(
        kit.FindingHint(
            "race",
            "A stage reads cells that the stage before has written: a barrier must lie between "
            "them.",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "A pair is (first, first + span), with span from 1 to n / 2: first = 2 * (t - place) "
            "+ place.",
            when=lambda found: found.array == "cells",
        ),
    ),
    hints=(
        "The forward kernel's last stage had span 1. The way back undoes that stage first. With "
        "which span does it end?",
        "In a stage with span s, thread t's place in its group is t & (s - 1), and its pair is "
        "(first, first + s) with "
        "first = 2 * (t - place) + place.",
        "Turn the second cell by the conjugate of twiddles[place * (n / 2 / s)]; then sum and "
        "difference.",
    ),
)
