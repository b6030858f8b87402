"""Answers to split_sum, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("short sums of four steps"),
    right("short sums of eight steps", ("SHORT = 4", "SHORT = 8")),
    right("halves by cutting, and a loop in a loop", file="right_cut.cu"),
    right("small products in a sum of their own", file="right_two_sums.cu"),
    right(
        "hi and lo exchanged throughout",
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
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("sums of 256 terms", ("SHORT = 4", "SHORT = 16")),
    wrong("sums of 16 terms", ("SHORT = 4", "SHORT = 1"), status="budget"),
    wrong(
        "all four products",
        (
            "        multiply(sum, a_lo, b_hi);",
            "        multiply(sum, a_lo, b_lo);\n        multiply(sum, a_lo, b_hi);",
        ),
        status="budget",
    ),
    wrong("the FP32 units", file="wrong_units.cu", status="budget"),
    wrong("nothing is written", ("        D[8 *", "        if (i < 0) D[8 *")),
    wrong("totals in doubles", ("float total[4]", "double total[4]"), status="budget"),
)
