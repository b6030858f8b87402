"""Answers to split_product, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

LAST = "        multiply(sum, a_hi, b_hi);\n"
LOW_A, LOW_B = "multiply(sum, a_lo, b_hi);", "multiply(sum, a_hi, b_lo);"
REST = "__floats2half2_rn(first - kept.x, second - kept.y)"

RIGHT = (
    right("ours"),
    right("the small products in another order", "solution.cu", (LOW_A, "@"), (LOW_B, LOW_A),
          ("@", LOW_B)),
    right(
        "one number after the other",
        "solution.cu",
        ("    const float2 kept = __half22float2(rounded);\n", ""),
        (REST, "__floats2half2_rn(first - __low2float(rounded), second - __high2float(rounded))"),
    ),
    right(
        "residuals scaled by 2048, in a sum of their own",
        "solution.cu",
        (REST, "__floats2half2_rn(2048 * (first - kept.x), 2048 * (second - kept.y))"),
        (LOW_A, "float small[4] = {};\n        multiply(small, a_lo, b_hi);"),
        (LOW_B, "multiply(small, a_hi, b_lo);\n"
                "        for (int i = 0; i < 4; ++i) sum[i] += small[i] / 2048;"),
    ),
)  # fmt: skip

WRONG = (
    wrong("the stub", "no product yet", file="stub.cu", status="not_begun"),
    wrong("no residual", "rounded numbers alone", (REST, "__floats2half2_rn(0.0f, 0.0f)")),
    wrong("a residual made in half", "rounded numbers alone", (REST, "__hsub2(rounded, rounded)")),
    wrong("one product", "rounded numbers alone", (LOW_A, ""), (LOW_B, "")),
    wrong("without the residuals of A", "a_lo b_hi is missing", (LOW_A, "")),
    wrong("without the residuals of B", "a_hi b_lo is missing", (LOW_B, "")),
    wrong("without the large product", "large product", (LAST, "")),
    wrong("the large one twice", "added twice", (LAST, 2 * LAST)),
    wrong("residuals exchanged", "belongs to the first",
          ("first - kept.x, second - kept.y", "second - kept.y, first - kept.x")),
    wrong("one residual of the other number", "belongs to the first",
          ("second - kept.y", "second - kept.x")),
    wrong("residuals of the other sign", "with this sign",
          ("first - kept.x, second - kept.y", "kept.x - first, kept.y - second")),
    wrong("all four", "below what float32 rounds away",
          (LOW_A, f"multiply(sum, a_lo, b_lo); {LOW_A}"), status="budget"),
    wrong("the number in place of its residual", "three times too large",
          ("first - kept.x, second - kept.y", "first, second")),
    wrong("a_lo b_hi twice", "a_lo b_hi is added twice", ("a_hi, b_lo", "a_lo, b_hi ")),
    wrong("a_hi b_lo twice", "a_hi b_lo is added twice", ("a_lo, b_hi", "a_hi, b_lo ")),
    wrong("the large product in place of a_lo b_hi", "added twice, and a_lo b_hi",
          ("a_lo, b_hi", "a_hi, b_hi ")),
    wrong("the large product in place of a_hi b_lo", "added twice, and a_hi b_lo",
          ("a_hi, b_lo", "a_hi, b_hi ")),
    wrong("one small product", "only a_lo b_hi", (LAST, ""), (LOW_B, "")),
    wrong("the other small product", "only a_hi b_lo", (LAST, ""), (LOW_A, "")),
    wrong("a sum that begins again in each step", "begin with 0 once, before the steps",
          (LOW_A, "for (int i = 0; i < 4; ++i) sum[i] = 0.0f;\n        " + LOW_A)),
)  # fmt: skip
