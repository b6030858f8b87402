"""Answers to conv2d_columns, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("eight cells, pairs of neighbours"),
    right("pairs that move on", "right_moving.cu"),
    right("__hmul2 and __hadd2", "right_mul_add.cu"),
)


WRONG = (
    wrong("the stub", "Both sums are 0", file="stub.cu", status="not_begun"),
    wrong(
        "two loops, and each loads its own cells",
        "global loads per output",
        file="wrong_two_loops.cu",
        status="budget",
    ),
    wrong(
        "floats, and // __hfma2 in a comment",
        "single multiplications",
        file="wrong_comment.cu",
        status="budget",
    ),
    wrong(
        "floats, and one idle __hfma2",
        "single multiplications",
        file="wrong_idle.cu",
        status="budget",
    ),
    wrong("one half at a time", "single multiplications", file="wrong_single.cu", status="budget"),
    wrong("all rows added in half", "add the rows in float", file="wrong_half_sums.cu"),
    wrong(
        "two rows added in half",
        "add the rows in float",
        ("        __half2 part = __float2half2_rn(0.0f);\n", ""),
        ("    for (int p = 0; p < 7", "    __half2 part;\n    for (int p = 0; p < 7"),
        (
            "        const __half* tap =",
            "        if (p % 2 == 0) part = __float2half2_rn(0.0f);\n        const __half* tap =",
        ),
        ("        sum.x +=", "        if (p % 2 == 0 && p < 6) continue;\n        sum.x +="),
    ),
    wrong(
        "a sum that goes on from row to row",
        "begin each row with 0",
        ("        __half2 part = __float2half2_rn(0.0f);\n", ""),
        (
            "    for (int p = 0; p < 7",
            "    __half2 part = __float2half2_rn(0.0f);\n    for (int p = 0; p < 7",
        ),
    ),
    wrong(
        "exchanged",
        "exchanged",
        ("sum.x += __low2float(part)", "sum.x += __high2float(part)"),
        ("sum.y += __high2float(part)", "sum.y += __low2float(part)"),
    ),
    wrong(
        "the same cell twice",
        "odd columns",
        ("__halves2half2(cell[q], cell[q + 1])", "__halves2half2(cell[q], cell[q])"),
    ),
    wrong(
        "no guard of cells",
        "without a partner",
        ("w + i < W ? x[(h + p) * W + w + i] : __float2half(0.0f)", "x[(h + p) * W + w + i]"),
        status="finding",
    ),
    wrong(
        "the last column stored beyond",
        "without a partner",
        ("if (w + 1 < out_w) y[", "y["),
        status="finding",
    ),
    wrong(
        "nothing is written",
        "nothing is written",
        (
            "    y[(m * out_h + h) * out_w + w] =",
            "    if (H < 0) y[(m * out_h + h) * out_w + w] =",
        ),
        ("if (w + 1 < out_w) y[", "if (H < 0) y["),
    ),
    wrong(
        "map 0 for all",
        "the weights of map 0",
        ("(m * 7 + p) * 7", "p * 7"),
    ),
    wrong(
        "maps 7 weights apart",
        "a map has 49 weights",
        ("(m * 7 + p) * 7", "(m + p) * 7"),
    ),
    wrong(
        "the first row of weights",
        "the weights of row 0",
        ("(m * 7 + p) * 7", "m * 7 * 7"),
    ),
    wrong(
        "rows of out_w cells",
        "lie out_w apart",
        ("x[(h + p) * W + w + i]", "x[(h + p) * out_w + w + i]"),
    ),
    wrong(
        "one row of cells",
        "row depends on p",
        ("x[(h + p) * W + w + i]", "x[h * W + w + i]"),
    ),
    wrong(
        "p and q exchanged",
        "rows and columns are exchanged",
        ("tap[q]", "filter[(m * 7 + q) * 7 + p]"),
    ),
    wrong(
        "weights from the right",
        "the wrong way round",
        ("tap[q]", "tap[6 - q]"),
    ),
    wrong(
        "six rows",
        "the last row of the filter",
        ("p < 7", "p < 6"),
    ),
    wrong(
        "six columns",
        "the last column of the filter",
        ("q < 7", "q < 6"),
    ),
    wrong(
        "rows are not added",
        "only the last row",
        ("sum.x += ", "sum.x = "),
        ("sum.y += ", "sum.y = "),
    ),
    wrong(
        "the low half for both",
        "of the even one before",
        ("__high2float", "__low2float"),
    ),
    wrong(
        "seven cells",
        "eight cells of a row",
        ("i < 8; ++i", "i < 7; ++i"),
        status="finding",
    ),
)
