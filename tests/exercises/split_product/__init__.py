"""Answers to split_product, right and wrong."""

from tests.exercises.answers import right, wrong

LOW_A, LOW_B = "multiply(sum, a_lo, b_hi);", "multiply(sum, a_hi, b_lo);"
REST = "__floats2half2_rn(first - kept.x, second - kept.y)"

RIGHT = (
    right("ours"),
    right("the small products in another order", (LOW_A, "@"), (LOW_B, LOW_A),
          ("@", LOW_B)),
    right(
        "one number after the other",
        ("    const float2 kept = __half22float2(rounded);\n", ""),
        (REST, "__floats2half2_rn(first - __low2float(rounded), second - __high2float(rounded))")),
    right(
        "residuals scaled by 2048, in a sum of their own",
        (REST, "__floats2half2_rn(2048 * (first - kept.x), 2048 * (second - kept.y))"),
        (LOW_A, "float small[4] = {};\n        multiply(small, a_lo, b_hi);"),
        (LOW_B, "multiply(small, a_hi, b_lo);\n"
                "        for (int i = 0; i < 4; ++i) sum[i] += small[i] / 2048;")),
)  # fmt: skip

WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("no residual", (REST, "__floats2half2_rn(0.0f, 0.0f)")),
    wrong("a residual made in half", (REST, "__hsub2(rounded, rounded)")),
    wrong("all four",
          (LOW_A, f"multiply(sum, a_lo, b_lo); {LOW_A}"), status="budget"),
)  # fmt: skip
