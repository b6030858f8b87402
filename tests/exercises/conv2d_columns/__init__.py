"""Answers to conv2d_columns, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("eight cells, pairs of neighbours"),
    right("pairs that move on", file="right_moving.cu"),
    right("__hmul2 and __hadd2", file="right_mul_add.cu"),
)


WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("two loops, and each loads its own cells", file="wrong_two_loops.cu", status="budget"),
    wrong("floats, and // __hfma2 in a comment", file="wrong_comment.cu", status="budget"),
    wrong("floats, and one idle __hfma2", file="wrong_idle.cu", status="budget"),
    wrong("one half at a time", file="wrong_single.cu", status="budget"),
    wrong(
        "nothing is written",
        (
            "    y[(m * out_h + h) * out_w + w] =",
            "    if (H < 0) y[(m * out_h + h) * out_w + w] =",
        ),
        ("if (w + 1 < out_w) y[", "if (H < 0) y["),
    ),
    wrong("map 0 for all", ("(m * 7 + p) * 7", "p * 7")),
    wrong("the first row of weights", ("(m * 7 + p) * 7", "m * 7 * 7")),
    wrong("rows of out_w cells", ("x[(h + p) * W + w + i]", "x[(h + p) * out_w + w + i]")),
    wrong("one row of cells", ("x[(h + p) * W + w + i]", "x[h * W + w + i]")),
    wrong("p and q exchanged", ("tap[q]", "filter[(m * 7 + q) * 7 + p]")),
    wrong("six rows", ("p < 7", "p < 6")),
    wrong("six columns", ("q < 7", "q < 6")),
)
