"""The exercises on products by one warp: what they share."""

from __future__ import annotations

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
        cases=lambda rng: (drawn(rng, terms, k + 1) for k in range(3)),
        small=lambda rng: iter((drawn(rng, terms, 1),)),
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
            kit.single_products(8, "The tensor cores should make all products."),
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
        **more,
    )


def drawn(rng: np.random.Generator, terms: int, number: int) -> kit.Case:
    """Return a product of whole numbers without 0: exact in half, and its sums exact in float."""
    a = _numbers(rng, (ROWS, terms))
    b = _numbers(rng, (terms, COLUMNS))
    return kit.warp_product(number, "D", (ROWS, COLUMNS), A=a, B=b)


def _numbers(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    return (rng.integers(1, 61, shape) * rng.choice((-1, 1), shape)).astype(np.float16)


def product(case: kit.Case) -> np.ndarray:
    """Return a B, in float64."""
    return case["A"].astype(float) @ case["B"].astype(float)
