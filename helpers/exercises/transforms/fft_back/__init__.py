"""The way back: from the bit-reversed output of fft_radix2 to the signal, times n."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.transforms import LAB
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
    drawn = (rng.integers(-9, 10, (5, POINTS)) + 1j * rng.integers(-9, 10, (5, POINTS))).astype(
        np.complex64
    )
    for name, signals in (
        ("an impulse", impulse),
        ("one signal", drawn[:1]),
        ("four signals", drawn[1:]),
        (f"{FEWER} points", drawn[:1, :FEWER]),
    ):
        points = signals.shape[1]
        X = fft.reference(signals).astype(np.complex64)
        x = kit.unwritten(X.shape, np.complex64)
        yield kit.one_launch(
            name,
            {"x": x, "X": X, "twiddles": fft.twiddles(points)},
            (len(X),), (points // 2,),
            kinds={"signal": name},
            facts={"signals": signals.astype(np.complex128)},
            budgeted=points == POINTS,
            options=(f"-DPOINTS={points}",),
        )


def scaled(case: kit.Case) -> np.ndarray:
    """Return the signals, times n."""
    return case["signals"].shape[1] * case["signals"]


def reordered(case: kit.Case) -> np.ndarray:
    """Return the signals, times n, in bit-reversed order."""
    return scaled(case)[:, fft.bit_reversed(case["signals"].shape[1])]


def per_warp(space: str, access: str):
    """Return requests per warp; a block is one."""
    return lambda case, one: one.total("requests", space, access) / one.blocks


def half_done(case: kit.Case) -> np.ndarray:
    """Return what comes out if the last stage is left out: the transforms of the even and of the
    odd part of the spectrum.
    """
    points = case["X"].shape[1]
    X = case["X"][:, fft.bit_reversed(points)].astype(np.complex128)
    return np.concatenate([np.fft.ifft(X[:, first::2]) * (points // 2) for first in (0, 1)], axis=1)


SPANS = tuple(1 << stage for stage in range(STAGES))
Cells = np.ndarray
Stage = Callable[[Cells, Cells, Cells], tuple[Cells, Cells]]  # (first, second, conjugate of w)


def right_stage(a: Cells, c: Cells, back: Cells) -> tuple[Cells, Cells]:
    """Return both cells of the pairs behind a stage."""
    return a + c * back, a - c * back


def undone(
    stage: Stage = right_stage, spans: tuple[int, ...] = SPANS, scaled_turns: bool = True
) -> Callable[[kit.Case], np.ndarray]:
    """Return a function of a case: what comes out of other stages. scaled_turns: whether the angle
    of a pair follows from the span, or from its place alone.
    """

    def made(case: kit.Case) -> np.ndarray:
        cells = case["X"].astype(np.complex128)
        points = cells.shape[1]
        place = np.arange(points)
        for span in (one for one in spans if one < points):
            first = place[place // span % 2 == 0]
            turn = np.exp(2j * np.pi * (first % span) / (2 * span if scaled_turns else points))
            pair = stage(cells[:, first], cells[:, first + span], turn)
            cells[:, first], cells[:, first + span] = pair
        return cells

    return made


def with_product(
    product: Callable[[Cells, Cells], Cells], turned: int = 1
) -> Callable[[kit.Case], np.ndarray]:
    """Return a function of a case: what comes out of another product of a cell and the conjugate
    of its twiddle. turned: which cell of a pair is multiplied.
    """

    def stage(a: Cells, c: Cells, back: Cells) -> tuple[Cells, Cells]:
        a, c = (product(a, back), c) if turned == 0 else (a, product(c, back))
        return a + c, a - c

    return undone(stage)


def real_part_first(c: Cells, back: Cells) -> Cells:
    """Return the product if its real part stands in the imaginary part's product already."""
    real = (c * back).real
    return real + 1j * (c.imag * back.real + real * back.imag)


PRODUCT = (
    "One sign of the product is wrong. (c.x + i c.y) times the conjugate of w, (w.x - i w.y), has "
    "the real part c.x * w.x + c.y * w.y and the imaginary part c.y * w.x - c.x * w.y."
)


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
    mistakes=(
        kit.Mistake(
            "The stages are undone with the first one first. The way back begins with the last "
            "one: spans 1, 2, 4 ... POINTS / 2.",
            gives=undone(spans=SPANS[::-1]),
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
            gives=lambda case: np.roll(scaled(case)[:, ::-1], 1, axis=1),
        ),
        kit.Mistake(
            "The values are right and stand in bit-reversed order: the way back begins with "
            "neighbours (span 1) and ends with span n / 2.",
            gives=reordered,
        ),
        kit.Mistake("The last stage is missing: the widest span is n / 2.", gives=half_done),
        kit.Mistake(
            "Real and imaginary part are exchanged.",
            gives=lambda case: scaled(case).imag + 1j * scaled(case).real,
        ),
        kit.Mistake(PRODUCT, gives=with_product(lambda c, back: (c * back).conj())),
        kit.Mistake(
            PRODUCT, gives=with_product(lambda c, back: c * back + 2 * c.imag * back.imag)
        ),
        kit.Mistake(
            PRODUCT,
            gives=with_product(lambda c, back: c * back - 2j * c.real * back.imag),
        ),
        kit.Mistake(
            "The parts are multiplied one by one: both parts of a product need both parts of both "
            "factors.",
            gives=with_product(lambda c, back: c.real * back.real - 1j * c.imag * back.imag),
        ),
        kit.Mistake(
            "Only the real part of the second cell is turned: its imaginary part becomes "
            "c.y * w.x - c.x * w.y.",
            gives=with_product(lambda c, back: (c * back).real + 1j * c.imag),
        ),
        kit.Mistake(
            "Only the imaginary part of the second cell is turned: its real part becomes "
            "c.x * w.x + c.y * w.y.",
            gives=with_product(lambda c, back: c.real + 1j * (c * back).imag),
        ),
        kit.Mistake(
            "The new real part is used in the imaginary part: keep the old one in a variable, "
            "until both parts are made.",
            gives=with_product(real_part_first),
        ),
        kit.Mistake(
            "No cell is turned: the second cell of a pair is multiplied by the conjugate of its "
            "twiddle.",
            gives=with_product(lambda c, back: c),
        ),
        kit.Mistake(
            "The first cell of a pair is turned: it must be the second one.",
            gives=with_product(lambda a, back: a * back, turned=0),
        ),
        kit.Mistake(
            "The first cell of a pair is turned: it must be the second one.",
            gives=undone(lambda a, c, back: (c + a * back, c - a * back)),
        ),
        kit.Mistake(
            "The difference is turned, as on the way there. On the way back the second cell is "
            "turned first, and then sum and difference are made.",
            gives=undone(lambda a, c, back: (a + c, (a - c) * back)),
        ),
        kit.Mistake(
            "The sum of a pair is halved: the stages give the signal times n by themselves, and "
            "that is asked for.",
            gives=undone(lambda a, c, back: ((a + c * back) / 2, a - c * back)),
        ),
        kit.Mistake(
            "The difference of a pair is halved: the stages give the signal times n by themselves, "
            "and that is asked for.",
            gives=undone(lambda a, c, back: (a + c * back, (a - c * back) / 2)),
        ),
        kit.Mistake(
            "The difference has the wrong sign: it is the first cell minus the turned second one.",
            gives=undone(lambda a, c, back: (a + c * back, c * back - a)),
        ),
        kit.Mistake(
            "Sum and difference have changed places: the sum belongs to the first cell of a pair.",
            gives=undone(lambda a, c, back: (a - c * back, a + c * back)),
        ),
        kit.Mistake(
            "Each stage has its own turns: the pair at `place` takes number place * (POINTS / 2 / "
            "span) of the twiddles.",
            gives=undone(scaled_turns=False),
        ),
        kit.Mistake(
            "The stage with span 1 is missing: it is the first one on the way back.",
            gives=undone(spans=SPANS[1:]),
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
            "them. If one does, the pairs of two threads share a cell: `first` is 2 * (t - place) "
            "+ place.",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "A pair is (first, first + span), with span from 1 to n / 2: first = 2 * (t - place) "
            "+ place.",
            when=lambda found: found.array == "cells",
        ),
        kit.FindingHint(
            "out-of-bounds",
            "There are POINTS / 2 twiddles, and the pair at `place` takes number place * (POINTS / "
            "2 / span).",
            when=lambda found: found.array == "twiddles",
        ),
    ),
    hints=(
        "The forward kernel's last stage had span 1. The way back undoes that stage first. With "
        "which span does it end?",
        "In a stage with span s, thread t's place in its group is t & (s - 1), and its pair is "
        "(first, first + s) with first = 2 * (t - place) + place.",
        "Turn the second cell by the conjugate of twiddles[place * (n / 2 / s)]; then sum and "
        "difference.",
    ),
)
