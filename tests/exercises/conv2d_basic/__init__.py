"""Answers to conv2d_basic, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("three loops"),
    right("pointers to channels, and threads without an output leave", file="right_pointers.cu"),
)

WRONG = (
    wrong("the last product alone", ("sum += image", "sum = image")),
    wrong("the last column of the filter left out", ("q < K", "q < K - 1")),
    wrong("adds to what nothing has set", ("out_w + w] = sum", "out_w + w] += sum")),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong(
        "the filter turned",
        ("* weights[(c * K + p) * K + q]", "* weights[(c * K + K - 1 - p) * K + K - 1 - q]"),
    ),
    wrong("p and q exchanged", ("h + p", "h + q"), ("w + q", "w + p")),
    wrong("no channel of the weight", ("* weights[(c * K + p) * K + q]", "* weights[p * K + q]")),
    wrong("rows of out_w cells", ("h + p) * W + w + q", "h + p) * out_w + w + q")),
    wrong("no channel of the cell", ("(c * H + h + p)", "(h + p)")),
    wrong("one channel", ("c < C", "c < 1")),
    wrong(
        "each cell loaded twice",
        ("sum += image", "sum += 0 * image[(c * H + h + p) * W + w + K - 1 - q] + image"),
        status="budget",
    ),
)
