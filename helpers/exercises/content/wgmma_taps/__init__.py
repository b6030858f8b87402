"""A product of a warpgroup for each tap of a filter: descriptors say where the matrices lie."""

from __future__ import annotations

from collections.abc import Iterator

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
    """Yield filters of several widths."""
    return (filtered(rng, taps) for taps in TAPS)


def filtered(rng: np.random.Generator, taps: int) -> kit.Case:
    """Return a filter of so many taps, of whole numbers: exact in half, and their sums in float."""
    x = rng.integers(-30, 31, (OUTPUTS + taps - 1, CHANNELS)).astype(np.float16)
    filter = rng.integers(-30, 31, (taps, MAPS, CHANNELS)).astype(np.float16)
    return kit.one_launch(
        quantity(taps, "tap"),
        {"y": kit.unwritten((MAPS, OUTPUTS)), "x": x, "filter": filter},
        (1,),
        (128,),
        kinds={"filter width": taps},
        facts={"taps": taps},
        options=(f"-DTAPS={taps}",),
        architecture=WGMMA,
    )


def product(case: kit.Case) -> np.ndarray:
    """Return y, in float64."""
    x, filter = case["x"].astype(float), case["filter"].astype(float)
    parts = [weights @ x[tap:][:OUTPUTS].T for tap, weights in enumerate(filter)]
    return np.sum(parts, axis=0)


EXERCISE = kit.Exercise(
    name="wgmma_taps",
    lab="306_warpgroup_products",
    title="Descriptors: a window for each tap of a filter",
    cases=cases,
    small=lambda rng: iter((filtered(rng, 2),)),
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
    hints=(
        "Gap 1: turn each number into a Descriptor before you shift it, because an int has 32 "
        "bits: (Descriptor)(next_eight / 16) << 32. Join them with |.",
        "Gap 2: an Octet has 16 bytes. weights[tap][1] begins 64 Octets after weights[tap][0], "
        "and row 8 of A is 8 Octets after row 0.",
        "B begins at b_first + 16 * tap, its other half CELLS * 16 bytes further on, its next "
        "eight columns 8 * 16.",
    ),
)
