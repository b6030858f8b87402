"""Products of FP32 matrices on tensor cores: split each number in two halves, multiply thrice."""

from __future__ import annotations

from collections.abc import Callable, Iterator

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
        B = rng.uniform(1, 2, (batch, TERMS * steps, COLUMNS)).astype(np.float32)
        arrays = {"D": kit.unwritten((batch, ROWS, COLUMNS)), "A": A, "B": B}
        step = kit.Step((batch,), (32,), ("D", "A", "B", np.int32(steps)))
        title = f"{batch} x {TERMS * steps} terms"
        yield kit.Case(title, arrays, ("D",), (step,), {"size": (batch, steps)}, {"steps": steps})


def halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the two halves of each number, in float64."""
    high = x.astype(np.float16).astype(np.float32)
    return high.astype(float), (x - high).astype(np.float16).astype(float)


def product(case: kit.Case) -> np.ndarray:
    """Return a B, in float64."""
    return case["A"].astype(float) @ case["B"].astype(float)


HH, HL, LH = ("h", "h"), ("h", "l"), ("l", "h")  # halves of A and B whose products are added


def _last_step(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether the sums are those of the last step's terms alone."""
    last = case["A"][:, -TERMS:].astype(float) @ case["B"][:, -TERMS:].astype(float)
    return bool(np.abs(got - last).max() <= RTOL * np.abs(last).max())


def _of(*pairs: tuple[str, str]) -> Callable[[kit.Case, np.ndarray, np.ndarray], bool]:
    """Return whether the sums are those of these products alone, such as HH and HL."""

    def are(case: kit.Case, got: np.ndarray, want: np.ndarray) -> bool:
        a, b = (dict(zip(HL, halves(case[name]), strict=True)) for name in "AB")
        made = np.zeros(want.shape)
        for first, second in pairs:
            made += a[first] @ b[second]
        return bool(np.abs(got - made).max() <= RTOL * np.abs(want).max())

    return are


EXERCISE = kit.Exercise(
    name="split_product",
    lab="304_split_products",
    title="Three products of halves for one of floats",
    points=4,
    place=1,
    cases=cases,
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
    mistakes=(
        kit.Mistake("All sums are 0: gap 2 has no product yet.",
                when=lambda case, got, want: not got.any()),
        kit.Mistake(
            "The sums are those of the rounded numbers alone. Is `rest` what rounding took off, "
            "computed in float, and do a_lo b_hi and a_hi b_lo count, too?",
            when=_of(HH),
        ),
        kit.Mistake(
            "Only the last step's 16 terms are in the sums: they begin with 0 once, before the "
            "steps.",
            when=_last_step,
        ),
        kit.Mistake("a_lo b_hi is missing.", when=_of(HH, HL)),
        kit.Mistake("a_hi b_lo is missing.", when=_of(HH, LH)),
        kit.Mistake("The large product, a_hi b_hi, is missing.", when=_of(HL, LH)),
        kit.Mistake("a_hi b_hi is added twice.", when=_of(HH, HH, HL, LH)),
        kit.Mistake(
            "a_lo b_hi is added twice, and a_hi b_lo is missing.", when=_of(HH, LH, LH)
        ),
        kit.Mistake(
            "a_hi b_lo is added twice, and a_lo b_hi is missing.", when=_of(HH, HL, HL)
        ),
        kit.Mistake(
            "a_hi b_hi is added twice, and a_lo b_hi is missing.", when=_of(HH, HH, HL)
        ),
        kit.Mistake(
            "a_hi b_hi is added twice, and a_hi b_lo is missing.", when=_of(HH, HH, LH)
        ),
        kit.Mistake(
            "Only a_lo b_hi is there: a_hi b_lo and a_hi b_hi count, too.", when=_of(LH)
        ),
        kit.Mistake(
            "Only a_hi b_lo is there: a_lo b_hi and a_hi b_hi count, too.", when=_of(HL)
        ),
        kit.Mistake(
            "The sums are three times too large: `rest` is the number itself, and must be what "
            "rounding took off it.",
            when=lambda case, got, want: np.abs(got / want - 3).max() < 0.01,
        ),
        kit.Mistake(
            "A residual is wrong: `first - kept.x` belongs to the first number, "
            "`second - kept.y` to the second, with this sign.",
            when=lambda case, got, want: np.median(np.abs(got / want - 1)) < 0.2,
        ),
    ),
    hints=(
        "In halves, first - rounded would be 0: go back to floats. const float2 kept = "
        "__half22float2(rounded);",
        "rest = __floats2half2_rn(first - kept.x, second - kept.y). Each number loses what "
        "belongs to it.",
        "multiply(sum, a_lo, b_hi), then a_hi with b_lo, then a_hi with b_hi.",
    ),
)
