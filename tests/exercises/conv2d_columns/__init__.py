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
        "six rows",
        "the last row of the filter",
        ("p < 7", "p < 6"),
    ),
    wrong(
        "six columns",
        "the last column of the filter",
        ("q < 7", "q < 6"),
    ),
)
