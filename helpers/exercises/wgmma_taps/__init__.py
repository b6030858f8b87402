"""A product of a warpgroup for each tap of a filter: descriptors say where the matrices lie."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from helpers.exercises import kit
from helpers.quantities import quantity

MAPS, OUTPUTS, CHANNELS = 64, 32, 16
# In plain code start_product reads both factors of each product, one by one, by asm volatile, which
# the compiler keeps. So these loads of warps tell how many products it made.
LOADS = 2 * MAPS * OUTPUTS * CHANNELS // 32
TAPS = (3, 1, 6)
# The plain code can be copied by hand, its loads included. Only start_product becomes `wgmma`, so
# each answer is compiled for the architecture that has it, and must not multiply elsewhere there.
WGMMA = "sm_90a"


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield filters of several widths, of whole numbers: exact in half, and their sums in float."""
    for taps in TAPS:
        x = rng.integers(-30, 31, (OUTPUTS + taps - 1, CHANNELS)).astype(np.float16)
        filter = rng.integers(-30, 31, (taps, MAPS, CHANNELS)).astype(np.float16)
        arrays = {"y": kit.unwritten((MAPS, OUTPUTS)), "x": x, "filter": filter}
        yield kit.one_launch(
            quantity(taps, "tap"), arrays, (1,), (128,),
            kinds={"filter width": taps},
            facts={"taps": taps},
            options=(f"-DTAPS={taps}",),
            architecture=WGMMA,
        )


def product(case: kit.Case) -> np.ndarray:
    """Return y, in float64."""
    return _of(case)


def _of(
    case: kit.Case,
    first: Callable[[int, int], int] = lambda tap, taps: tap,
    columns: np.ndarray | None = None,
    channels: np.ndarray | None = None,
    maps: np.ndarray | None = None,
) -> np.ndarray:
    """Return y, where B begins at cell `first`, and columns, channels and maps are taken elsewhere.
    """
    x, filter = case["x"].astype(float), case["filter"].astype(float)
    y = np.zeros((MAPS, OUTPUTS))
    for tap in range(case["taps"]):
        window = x[first(tap, case["taps"]) :][:OUTPUTS]
        window = window if columns is None else window[columns]
        window = window if channels is None else window[:, channels]
        weights = filter[tap] if maps is None else filter[tap][maps]
        y += weights @ window.T
    return y


EIGHT = np.arange(OUTPUTS) % 8
TWICE = np.arange(CHANNELS) % 8

EXERCISE = kit.Exercise(
    name="wgmma_taps",
    lab="306_warpgroup_products",
    title="Descriptors: a window for each tap of a filter",
    cases=cases,
    reference=product,
    counts={"filter width": "filter widths"},
    budgets=(
        kit.Budget(
            "bytes of x loaded over its size",
            lambda case, one: one.total("bytes_used", "global", "load", "x") / case["x"].nbytes,
            1,
            "Each cell is loaded once: a tap takes the same cells from another address.",
        ),
        kit.Budget(
            "bytes of the filter loaded over its size",
            lambda case, one: (
                one.total("bytes_used", "global", "load", "filter") / case["filter"].nbytes
            ),
            1,
            quiet=True,
        ),
        kit.Budget(
            "bytes stored in shared memory, over those of x and the filter",
            lambda case, one: (
                kit.all_of("bytes_used", "shared", "store")(case, one)
                / (case["x"].nbytes + case["filter"].nbytes)
            ),
            1,
            "Nothing is stored again for a tap.",
        ),
        kit.Budget(
            "start_product for each tap, by the factors that are loaded",
            kit.executed("ld", per=lambda case: LOADS * case["taps"]),
            1.1,  # the loads of x, of the filter and of arguments are few
            "Each tap is one start_product. Nothing else multiplies, because only there your text "
            "becomes the instruction wgmma.",
            least=1,
        ),
        kit.Budget(
            f"wgmma in the code for {WGMMA}",
            kit.executed(f"{WGMMA}.wgmma.mma_async", per="launch"),
            lambda case: case["taps"],  # where the loop over the taps is unrolled
            "Each tap is one start_product.",
            least=1,
            quiet=True,
        ),
        kit.Budget(
            f"conversions and products of floats in the code for {WGMMA}",
            kit.executed(
                *(f"{WGMMA}.{name}" for name in ("fma", "mad.f", "mul.f", "mul.rn.f", "cvt.f")),
                per="launch",
            ),
            0,
            "Nothing but start_product multiplies: compiled for an H100, it is the instruction "
            "wgmma, and your text would multiply beside it.",
            quiet=True,
        ),
        kit.ONE_STORE,
        *kit.NO_DETOURS,
    ),
    mistakes=(
        kit.Mistake(
            "All taps meet the same cells: column w of B is cell w + tap, so B begins tap Octets "
            "further on.",
            gives=lambda case: _of(case, lambda tap, taps: 0),
        ),
        kit.Mistake(
            "The taps are in the opposite order: tap 0 meets cell w, the last one cell "
            "w + TAPS - 1.",
            gives=lambda case: _of(case, lambda tap, taps: taps - 1 - tap),
        ),
        kit.Mistake(
            "All columns of B are its first eight: next_eight of b leads 8 Octets further on.",
            gives=lambda case: _of(case, columns=EIGHT),
        ),
        kit.Mistake(
            "All rows of A are its first eight: next_eight of a leads 8 Octets further on.",
            gives=lambda case: _of(case, maps=np.arange(MAPS) % 8),
        ),
        kit.Mistake(
            "Channels 8 to 15 of B are its channels 0 to 7: other_half of b leads to the other row "
            "of cells, CELLS Octets further on.",
            gives=lambda case: _of(case, channels=TWICE),
        ),
        kit.Mistake(
            "Only the last tap counts: each product after the first one must add to the sums "
            "before it.",
            gives=lambda case: (
                case["filter"][-1].astype(float) @ case["x"][case["taps"] - 1 :][:OUTPUTS].T
            ),
        ),
        kit.Mistake(
            "Both fields of a matrix may be exchanged, or not divided by 16: other_half, in bits "
            "16 to 29, leads to channels 8 to 15, next_eight, in bits 32 to 45, to row 8 or "
            "column 8.",
            when=lambda case, got, want: bool(np.any(got != want)),
        ),
    ),
    findings=(
        kit.FindingHint(
            "out-of-bounds",
            "A descriptor leads out of shared memory. Are its numbers divided by 16, each in its "
            "bits? other_half is 64 Octets for A and CELLS for B, next_eight is 8 for both. (A "
            "shift by 32 needs 64 bits: make next_eight / 16 a Descriptor first.)",
        ),
        kit.FindingHint(
            "uninitialised",
            "A descriptor leads to shared memory that nothing has filled. Are its numbers divided "
            "by 16, each in its bits? other_half is 64 Octets for A and CELLS for B.",
        ),
    ),
    hints=(
        "Gap 1: turn each number into a Descriptor before you shift it, because an int has 32 "
        "bits: (Descriptor)(next_eight / 16) << 32. Join them with |.",
        "Gap 2: an Octet has 16 bytes. weights[tap][1] begins 64 Octets behind weights[tap][0], "
        "and row 8 of A is 8 Octets behind row 0.",
        "B begins at b_first + 16 * tap, its other half CELLS * 16 bytes further on, its next "
        "eight columns 8 * 16.",
    ),
)
