"""Answers to conv2d_same, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("outside is skipped"),
    right("loops over what lies inside", file="right_bounds.cu"),
    right("a choice between the cell and 0", file="right_choice.cu"),
)


WRONG = (
    wrong("q for both", ("h - K / 2 + p", "h - K / 2 + q")),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("one filter for all maps", ("(m * C + c) * K", "c * K")),
    wrong(
        "the filter turned", ("h - K / 2 + p", "h + K / 2 - p"), ("w - K / 2 + q", "w + K / 2 - q")
    ),
    wrong("p and q exchanged", ("K + p) * K + q", "K + q) * K + p")),
    wrong(
        "each cell loaded twice",
        ("sum += x", "sum += 0 * x[((b * C + C - 1 - c) * H + row) * W + column] + x"),
        status="budget",
    ),
    wrong("block 0 does everything", file="wrong_one_block.cu", status="budget"),
    wrong("nothing is written", ("    y[((b", "    if (K < 0) y[((b")),
)
