"""The mistakes of split_product."""

from helpers.exercises.kit import mutant

LOW_A = "multiply(sum, a_lo, b_hi);"
LOW_B = "multiply(sum, a_hi, b_lo);"
LARGE = "multiply(sum, a_hi, b_hi);"
REST = "first - kept.x, second - kept.y"

OTHER_RESIDUAL = (
    "A residual is wrong: the first number loses what belongs to it, `kept.x`, and the second "
    "`kept.y`."
)

MUTANTS = (
    mutant("All sums are 0: gap 2 has no product yet.", (LOW_A, ""), (LOW_B, ""), (LARGE, "")),
    mutant(
        "The sums are those of the rounded numbers alone. Is `rest` what rounding took off, "
        "computed in float, and do a_lo b_hi and a_hi b_lo count, too?",
        (LOW_A, ""),
        (LOW_B, ""),
    ),
    mutant(
        "Only the last step's 16 terms are in the sums: they begin with 0 once, before the steps.",
        (LOW_A, f"for (int i = 0; i < 4; ++i) sum[i] = 0.0f;\n        {LOW_A}"),
    ),
    mutant("a_lo b_hi is missing.", (LOW_A, "")),
    mutant("a_hi b_lo is missing.", (LOW_B, "")),
    mutant("The large product, a_hi b_hi, is missing.", (LARGE, "")),
    mutant("a_hi b_hi is added twice.", (LARGE, f"{LARGE} {LARGE}")),
    mutant("a_lo b_hi is added twice, and a_hi b_lo is missing.", (LOW_B, LOW_A + " ")),
    mutant("a_hi b_lo is added twice, and a_lo b_hi is missing.", (LOW_A, LOW_B + " ")),
    mutant("a_hi b_hi is added twice, and a_lo b_hi is missing.", (LOW_A, LARGE + " ")),
    mutant("a_hi b_hi is added twice, and a_hi b_lo is missing.", (LOW_B, LARGE + " ")),
    mutant(
        "Only a_lo b_hi is there: a_hi b_lo and a_hi b_hi count, too.", (LOW_B, ""), (LARGE, "")
    ),
    mutant(
        "Only a_hi b_lo is there: a_lo b_hi and a_hi b_hi count, too.", (LOW_A, ""), (LARGE, "")
    ),
    mutant(
        "The sums are three times too large: `rest` is the number itself, and must be what "
        "rounding took off it.",
        (REST, "first, second"),
    ),
    mutant(OTHER_RESIDUAL, (REST, "second - kept.y, first - kept.x")),
    mutant(OTHER_RESIDUAL, ("second - kept.y", "second - kept.x")),
    mutant(OTHER_RESIDUAL, ("first - kept.x", "first - kept.y")),
    mutant(
        "Both residuals have the other sign: what rounding took off a number is missing in the "
        "rounded one.",
        (REST, "kept.x - first, kept.y - second"),
    ),
)
