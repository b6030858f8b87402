"""The mistakes of conv2d_columns."""

from helpers.exercises.kit import mutant

PART = "        __half2 part = __float2half2_rn(0.0f);\n"
ROWS = "    for (int p = 0; p < 7; ++p) {\n"
TAP = "        const __half* tap ="
CELL = "w + i < W ? x[(h + p) * W + w + i] : __float2half(0.0f)"
ADD = "sum.x += __low2float(part);\n        sum.y += __high2float(part);"

ONE_SUM = (
    "Right to three digits: half adds up one row exactly, and not two or seven. Add the rows in "
    "float."
)

MUTANTS = (
    mutant("Both sums are 0: nothing was added to them.", (ADD, "")),  # the stub
    mutant(
        "The two outputs of a pair are exchanged: the low half is column w, the high half column "
        "w + 1.",
        (ADD, "sum.x += __high2float(part);\n        sum.y += __low2float(part);"),
    ),
    mutant(
        "Odd columns have the value of the even one before. Is the second cell of a pair the next "
        "one, w + q + 1, and does sum.y get the high half?",
        ("__high2float", "__low2float"),
    ),
    mutant(
        "Even columns have the value of the odd one behind. Is the first cell of a pair w + q, and "
        "does sum.x get the low half?",
        ("__low2float", "__high2float"),
    ),
    mutant(
        "Odd columns are wrong: both cells of a pair meet the same weight, that of tap q.",
        ("__half2half2(tap[q])", "__halves2half2(tap[q], tap[6 - q])"),
    ),
    mutant(
        "Odd columns are wrong: both cells of a pair meet the same weight, that of tap q.",
        ("__half2half2(tap[q])", "__halves2half2(tap[q], tap[min(q + 1, 6)])"),
    ),
    mutant(
        "Odd columns are 0: nothing was added to sum.y.",
        (ADD, "sum.x += __low2float(part);"),
    ),
    mutant(
        "Only the last row of the filter is left: add each row's pair to sum.x and sum.y.",
        (ADD, ADD.replace("+=", "=")),
    ),
    mutant(
        "The weights of a row stand the wrong way round: tap q meets the cell in column w + q.",
        ("tap[q]", "tap[6 - q]"),
    ),
    mutant(
        "A map has 49 weights: row p of map m begins at weight (m * 7 + p) * 7.",
        ("(m * 7 + p) * 7", "(m + p) * 7"),
    ),
    mutant(
        "The sum in half goes on from row to row, and is added again behind each: begin each row "
        "with 0.",
        (PART, ""),
        (ROWS, f"{PART}{ROWS}"),
    ),
    mutant(ONE_SUM, (PART, ""), (ROWS, f"{PART}{ROWS}"), (ADD, ADD.replace("+=", "="))),
    mutant(
        ONE_SUM,
        (PART, ""),
        (ROWS, f"    __half2 part;\n{ROWS}"),
        (TAP, f"        if (p % 2 == 0) part = __float2half2_rn(0.0f);\n{TAP}"),
        (ADD, f"if (p % 2 == 0 && p < 6) continue;\n        {ADD}"),
    ),
    mutant(
        "An odd width has a last column without a partner: cells from W on count as 0.",
        (CELL, "x[(h + p) * W + w + i]"),
    ),
    mutant(
        "An odd width has a last column without a partner: what is stored behind it is the next "
        "row's first output.",
        ("if (w + 1 < out_w) y[", "y["),
    ),
    mutant(
        "w is a column already, the first of two: the cells of row p begin at (h + p) * W + w.",
        (CELL, CELL.replace("W + w + i]", "W + 2 * w + i]")),
    ),
    mutant(
        "Two outputs need eight cells of a row, those in the columns w to w + 7.",
        ("i < 8; ++i", "i < 7; ++i"),
    ),
)
