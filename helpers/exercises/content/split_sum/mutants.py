"""The mistakes of split_sum."""

from helpers.exercises.kit import mutant

REST = "first - kept.x, second - kept.y"

TOO_LONG = (
    "All errors have one sign: the tensor core cuts, and your sums are too long. Add them to a "
    "total in ordinary floats after a few steps, and start again at 0."
)

MUTANTS = (
    # How much is cut grows with the length: each of these stands for the lengths about it.
    *(mutant(TOO_LONG, ("SHORT = 4", f"SHORT = {steps}")) for steps in (32, 64, 96, 128, 256)),
    mutant(
        "The results are too small by far more than rounding: the last, incomplete short sum is "
        "missing.",
        ("= total[i] + sum[i]", "= total[i]"),
    ),
    mutant(
        "The results are too small by far more than rounding: a total is the sum of all its short "
        "sums, and not the last of them.",
        ("total[i] += sum[i]", "total[i] = sum[i]"),
    ),
    mutant(
        "The results are too large by far more than rounding: a short sum that was added to the "
        "total must start again at 0.",
        ("                sum[i] = 0.0f;\n", ""),
    ),
    mutant(
        "The results are too large by far more than rounding: a_hi b_hi is added twice, and "
        "a_lo b_hi is missing.",
        ("multiply(sum, a_lo, b_hi);", "multiply(sum, a_hi, b_hi) ;"),
    ),
    mutant(
        "Only long sums are wrong, and by little: the products are right, and adding them loses "
        "too much. Each of a lane's four sums goes to a total of its own after a few steps, and "
        "begins again at 0.",
        ("i < 4; ++i) {\n                total", "i < 1; ++i) {\n                total"),
    ),
    mutant(
        "The error is that of halves, and the residuals are 0: they must be computed in float.",
        (f"__floats2half2_rn({REST})", "__hsub2(both, both)"),
    ),
    mutant(
        "The error is that of halves: a residual is what rounding took off this very number.",
        (REST, "second - kept.y, first - kept.x"),
    ),
    mutant(
        "The error is that of halves: a_hi b_lo is missing.",
        ("multiply(sum, a_hi, b_lo);", ""),
    ),
    mutant(
        "The error is that of halves: a_lo b_hi is missing.",
        ("multiply(sum, a_lo, b_hi);", ""),
    ),
)
