"""Products of FP32 matrices on tensor cores: split each number in two halves, multiply thrice."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from helpers.exercises import kit

ROWS, COLUMNS, TERMS = 16, 8, 16  # of D, and terms that one instruction adds up
SIZES = ((1, 1), (3, 2), (2, 5), (600, 1))  # products of a batch, and steps of each
# With 25 seeds the error is at most 1.2e-6. Without the small products of A or of B it is 1e-4.
RTOL = 4e-6
# By step: residuals may be brought into the range of halves, and four sums back from there.
SCALING = 16


def cases(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield factors between 1 and 2: the sums are large, and every missing residual shows."""
    for batch, steps in SIZES:
        A = rng.uniform(1, 2, (ROWS, TERMS * steps)).astype(np.float32)
        yield case_of(A, rng.uniform(1, 2, (batch, TERMS * steps, COLUMNS)).astype(np.float32))


def small(rng: np.random.Generator) -> Iterator[kit.Case]:
    """Yield one product, and several steps, of factors whose residuals do not cancel out."""
    for steps in (1, 2):
        A, B = one_sided(rng, steps)
        yield case_of(A, B[None])


def one_sided(rng: np.random.Generator, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Return A and a B whose residuals do not cancel out, those of A three times as large."""
    A = _one_sided(rng, TERMS * steps, ROWS, 1.0).T.copy()
    return A, _one_sided(rng, TERMS * steps, COLUMNS, 0.3)


def _one_sided(rng: np.random.Generator, terms: int, size: int, most: float) -> np.ndarray:
    """Return numbers (terms, size) between 1 and 2 that are made smaller by rounding to half, and
    of each pair of terms a large one with a large residual and a small one with a small residual.
    most: of the residuals, in halves of the distance between two neighbouring halves.
    """
    is_first = np.arange(terms)[:, None] % 2 == 0
    rounded = np.where(is_first, 1.75, 1) + rng.integers(0, 256, (terms, size)) / 1024
    residual = np.where(is_first, 0.75, 0.1) + rng.uniform(0, 0.2, (terms, size))
    return (rounded + most * residual / 2048).astype(np.float32)


def case_of(A: np.ndarray, B: np.ndarray) -> kit.Case:
    """Return the products of A and each matrix of a batch."""
    batch, terms, _ = B.shape
    size = batch, terms // TERMS
    arrays = {"D": kit.unwritten((batch, ROWS, COLUMNS)), "A": A, "B": B}
    step = kit.Step((batch,), (32,), ("D", "A", "B", np.int32(size[1])))
    facts = {"steps": size[1]}
    return kit.Case(f"{batch} x {terms} terms", arrays, ("D",), (step,), {"size": size}, facts)


def product(case: kit.Case) -> np.ndarray:
    """Return a B, in float64."""
    return case["A"].astype(float) @ case["B"].astype(float)


EXERCISE = kit.Exercise(
    name="split_product",
    lab="304_split_products",
    title="Three products of halves for one of floats",
    points=4,
    place=1,
    cases=cases,
    small=small,
    reference=product,
    rtol=RTOL,
    most_of_a_block=lambda case: ROWS * COLUMNS,
    budgets=(
        kit.Budget(
            "products by tensor cores (mma) per step",
            lambda case, one: (
                kit.executed("mma.", "wmma.mma", per="launch")(case, one)
                / (case["steps"] * case["B"].shape[0])
            ),
            3,
            "Each step needs three products: a_lo b_hi, a_hi b_lo and a_hi b_hi. (a_lo b_lo is "
            "below what float32 rounds away.)",
            least=3,
        ),
        kit.Budget(
            "multiply-adds of the FP32 units",
            kit.executed("fma", "mul.f32", "mad.f32", per="launch"),
            lambda case: SCALING * case["steps"] * case["B"].shape[0],
            "The tensor cores should make all products.",
        ),
        kit.ONE_STORE,
        *kit.elsewhere(8000),
        *kit.NO_DETOURS,
    ),
    hints=(
        "In halves, first - rounded would be 0: go back to floats. const float2 kept = "
        "__half22float2(rounded);",
        "rest = __floats2half2_rn(first - kept.x, second - kept.y). Each number loses what "
        "belongs to it.",
        "multiply(sum, a_lo, b_hi), then a_hi with b_lo, then a_hi with b_hi.",
    ),
)
