"""The exercises on products by one warp: cases, budgets and mistakes that they share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from helpers.exercises import kit

LAB = "301_one_mma"
ROWS, COLUMNS, STEP = 16, 8, 16  # of D, and terms that one instruction adds up


def exercise(
    name: str, place: int, title: str, terms: int, loads: float, load_hint: str, **more: Any
) -> kit.Exercise:
    """Return an exercise on the product of 16 x `terms` and `terms` x 8 halves by one warp.

    loads: requests of global memory that an answer may make.
    """
    return kit.Exercise(
        name=name,
        place=place,
        lab=LAB,
        title=title,
        cases=cases(terms),
        reference=product,
        counts={"product": "products"},
        budgets=(
            kit.Budget(
                "products by tensor cores (mma)",
                kit.executed("mma.", "wmma.mma", per="launch"),
                terms / STEP,
                "Each mma of the whole warp adds up 16 terms of every sum.",
                least=terms / STEP,
            ),
            kit.Budget(
                "multiply-adds outside of the tensor cores, by warps",
                kit.executed("fma", "mul.f32", "mul.f16", "mad.f32", per="launch"),
                8,
                "The tensor cores should make all products.",
            ),
            kit.Budget(
                "global load requests", kit.all_of("requests", "global", "load"), loads, load_hint
            ),
            *more.pop("budgets", ()),
            kit.Budget(
                "stores of D", kit.all_of("lanes", "global", "store"), ROWS * COLUMNS, quiet=True
            ),
            *kit.elsewhere(48),
            *kit.NO_DETOURS,
        ),
        mistakes=(*more.pop("mistakes", ()), *MISTAKES),
        findings=(*more.pop("findings", ()), *FINDINGS),
        **more,
    )


def cases(terms: int) -> Callable[[np.random.Generator], Iterator[kit.Case]]:
    """Yield three products of whole numbers without 0: exact in half, and their sums exact in
    float.
    """

    def drawn(rng: np.random.Generator) -> Iterator[kit.Case]:
        for k in range(3):
            a = _numbers(rng, (ROWS, terms))
            b = _numbers(rng, (terms, COLUMNS))
            yield kit.warp_product(k + 1, "D", (ROWS, COLUMNS), A=a, B=b)

    return drawn


def _numbers(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return (rng.integers(1, 61, shape) * rng.choice((-1, 1), shape)).astype(np.float16)


def product(case: kit.Case) -> np.ndarray:
    """Return a B, in float64."""
    return of(case["A"], case["B"])


def of(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the product of two matrices, in float64."""
    return a.astype(float) @ b.astype(float)


def squares_exchanged(a: np.ndarray) -> np.ndarray:
    """Return a with the upper right and the lower left square of each 16 columns exchanged."""
    other = a.copy()
    for first in range(0, a.shape[1], STEP):
        other[:8, first + 8 : first + STEP] = a[8:, first : first + 8]
        other[8:, first : first + 8] = a[:8, first + 8 : first + STEP]
    return other


def pairs_exchanged(b: np.ndarray) -> np.ndarray:
    """B with the two rows of each pair exchanged."""
    return b.reshape(-1, 2, COLUMNS)[:, ::-1].reshape(b.shape)


def squares_transposed(b: np.ndarray) -> np.ndarray:
    """B with rows and columns of each square of 8 x 8 exchanged."""
    return b.reshape(-1, 8, COLUMNS).swapaxes(1, 2).reshape(b.shape)


MISTAKES = (
    kit.Mistake(
        "a[1] and a[2] are exchanged: a[1] is the square below a[0], a[2] the one beside it.",
        gives=lambda case: of(squares_exchanged(case["A"]), case["B"]),
    ),
    kit.Mistake(
        "The two halves of each pair of B are exchanged: the upper row belongs in the lower "
        "16 bits.",
        gives=lambda case: of(case["A"], pairs_exchanged(case["B"])),
    ),
    kit.Mistake(
        "B comes with rows and columns of each square exchanged: a register of B has two "
        "neighbours of one column, and memory has those of one row side by side.",
        gives=lambda case: of(case["A"], squares_transposed(case["B"])),
    ),
)

FINDINGS = (
    kit.FindingHint(
        "race",
        "Two lanes store one number of D: each of the 128 belongs to one lane, d[0] and d[1] in "
        "row `group`, d[2] and d[3] eight rows below.",
        when=lambda found: found.array == "D",
    ),
    kit.FindingHint(
        "out-of-bounds",
        "A row of B has 8 halves, and one of A has 16 or more. Which rows and columns does your "
        "lane read last?",
        when=lambda found: found.array in ("A", "B"),
    ),
    kit.FindingHint(
        "out-of-bounds",
        "D has 16 rows of 8 floats: a lane's last sum is D[group + 8][two + 1].",
        when=lambda found: found.array == "D",
    ),
    kit.FindingHint(
        "misaligned",
        "A pair is 4 bytes and begins at an even column: `two` is 0, 2, 4 or 6.",
    ),
)
