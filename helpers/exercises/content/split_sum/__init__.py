"""A long sum at FP32 accuracy from products of halves: split numbers, short sums."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit
from helpers.exercises.content.split_product import SCALING, one_sided

ROWS, COLUMNS, TERMS = 16, 8, 16  # of D, and terms that one instruction adds up
STEPS = (256, 251, 6, 1)
# With 25 seeds, short sums of 4 steps err by 7e-7 at most (by 1.3e-6 with halves that are cut), of
# 8 steps by 1e-6, of 16 by 1.7e-6 at least.
RTOL = 1.5e-6
SPARE = 12  # additions beside the short sums': the last one, and totals put together


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield factors between 0 and 1, so that all cuts go the same way; whole short sums and others.
    """
    for steps in STEPS:
        a = rng.uniform(0, 1, (ROWS, TERMS * steps)).astype(np.float32)
        yield case_of(a, rng.uniform(0, 1, (TERMS * steps, COLUMNS)).astype(np.float32))


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield a short sum whose residuals do not cancel out, and the longest one of `cases`."""
    yield case_of(*one_sided(rng, 6))
    yield next(cases(rng))


def case_of(a: np.ndarray, b: np.ndarray) -> kit.Case:
    """Return one product."""
    terms = len(b)
    steps = terms // TERMS
    arrays = {"D": kit.unwritten((ROWS, COLUMNS)), "A": a, "B": b}
    step = kit.Step((1,), (32,), ("D", "A", "B", np.int32(steps)))
    title, facts = f"{terms:,} terms", {"steps": steps}
    return kit.Case(title, arrays, ("D",), (step,), {"length": steps}, facts)


def product(case: kit.Case) -> np.ndarray:
    """Return a B, in float64."""
    return case["A"].astype(float) @ case["B"].astype(float)


EXERCISE = kit.Exercise(
    name="split_sum",
    lab="304_split_products",
    title="Sums of 4,096 terms at FP32 accuracy, from halves",
    place=2,
    cases=cases,
    small=small,
    reference=product,
    rtol=RTOL,
    counts={"length": "lengths"},
    budgets=(
        kit.Budget(
            "products by tensor cores (mma) per step",
            kit.executed("mma.", "wmma.mma", per=lambda case: case["steps"]),
            3,
            "Each step needs three products: a_lo b_hi, a_hi b_lo and a_hi b_hi. (a_lo b_lo is "
            "below what float32 rounds away.)",
            least=3,
        ),
        kit.Budget(
            "multiply-adds of the FP32 units",
            kit.executed("fma", "mul.f32", "mad.f32", per="launch"),
            lambda case: SCALING * case["steps"],
            "The tensor cores should make all products.",
        ),
        kit.Budget(
            "FP32 additions of the warp",
            kit.executed("add.f32", "add.rn.f32", per="launch"),
            lambda case: case["steps"] + SPARE,
            "Four additions take a short sum back. Take it back every fourth step or less often; "
            "how much less often does the error allow?",
        ),
        kit.ONE_STORE,
        kit.no_doubles(
            "The tensor cores make all products, and FP32 additions take the short sums over: no "
            "doubles are needed."
        ),
        *kit.elsewhere(1000),
        *kit.NO_DETOURS,
    ),
    hints=(
        "A tensor core cuts from the sum that it holds: the smaller that sum, the less it loses. "
        "float total[4] = {} is added to by ordinary additions, which round.",
        "After SHORT steps, `if (step % SHORT == SHORT - 1)`: total[i] += sum[i] for i from 0 to "
        "3, and sum[i] = 0. A SHORT of 4 is four additions for four steps.",
        "What remains in sum behind the last step belongs to the result, too: store total[i] + "
        "sum[i].",
    ),
)
