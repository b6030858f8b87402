"""Answers to split_sum, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("short sums of four steps"),
    right("short sums of eight steps", "solution.cu", ("SHORT = 4", "SHORT = 8")),
    right("halves by cutting, and a loop in a loop", "right_cut.cu"),
    right("small products in a sum of their own", "right_two_sums.cu"),
    right(
        "hi and lo exchanged throughout",
        "solution.cu",
        ("split(unsigned& hi, unsigned& lo,", "split(unsigned& lo, unsigned& hi,"),
        ("multiply(sum, a_lo, b_hi);", "multiply(sum, a_hi, b_hi);"),
        (
            "        multiply(sum, a_hi, b_lo);\n        multiply(sum, a_hi, b_hi);",
            "        multiply(sum, a_lo, b_hi);\n        multiply(sum, a_hi, b_lo);",
        ),
        (
            "        multiply(sum, a_hi, b_hi);\n        multiply(sum, a_lo, b_hi);",
            "        multiply(sum, a_lo, b_lo);\n        multiply(sum, a_lo, b_hi);",
        ),
    ),
)


WRONG = (
    wrong("the stub", "errors have one sign", file="stub.cu", status="not_begun"),
    wrong("one long sum", "errors have one sign", ("SHORT = 4", "SHORT = 1000")),
    wrong("sums of 256 terms", "errors have one sign", ("SHORT = 4", "SHORT = 16")),
    wrong("sums of 16 terms", "every fourth step", ("SHORT = 4", "SHORT = 1"), status="budget"),
    wrong("the last sum is lost", "incomplete short", ("= total[i] + sum[i]", "= total[i]")),
    wrong("sums are counted again", "again at 0", ("                sum[i] = 0.0f;\n", "")),
    wrong(
        "a residual made in half",
        "error is that of halves",
        ("__floats2half2_rn(first - kept.x, second - kept.y)", "__hsub2(both, both)"),
    ),
    wrong(
        "the residual of the other number",
        "this very x",
        ("first - kept.x, second - kept.y", "second - kept.y, first - kept.x"),
    ),
    wrong(
        "the residuals of B missing",
        "a residual is missing",
        ("multiply(sum, a_hi, b_lo);", "multiply(sum, a_lo, b_lo);"),
    ),
    wrong(
        "all four products",
        "below what float32 rounds away",
        (
            "        multiply(sum, a_lo, b_hi);",
            "        multiply(sum, a_lo, b_lo);\n        multiply(sum, a_lo, b_hi);",
        ),
        status="budget",
    ),
    wrong("the FP32 units", "mma", file="wrong_units.cu", status="budget"),
    wrong(
        "a product twice",
        "each product counts once",
        ("multiply(sum, a_lo, b_hi);", "multiply(sum, a_hi, b_hi);"),
    ),
    wrong(
        "nothing is written",
        "nothing is written",
        ("        D[8 *", "        if (i < 0) D[8 *"),
    ),
    wrong(
        "a total replaced",
        "each of them to those before it (+=)",
        ("total[i] += sum[i]", "total[i] = sum[i]"),
    ),
    wrong(
        "one of four sums taken over",
        "each of a lane's four sums",
        ("i < 4; ++i) {\n                total", "i < 1; ++i) {\n                total"),
    ),
    wrong(
        "totals in doubles",
        "no doubles are needed",
        ("float total[4]", "double total[4]"),
        status="budget",
    ),
)
