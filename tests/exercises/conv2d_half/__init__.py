"""Answers to conv2d_half, right and wrong."""

from tests.exercises.answers import right, wrong

CELL = "image[(c * H + h + p) * W + w + q]"
TAP = "weights[(c * K + p) * K + q]"
ADD = "sum += __half2float(cell) * __half2float(tap);"

RIGHT = (
    right("ours"),
    right("by conversion", (ADD, "sum += float(cell) * float(tap);")),
    right(
        "indices that multiply out, fmaf",
        (CELL, "image[c * H * W + (h + p) * W + (w + q)]"),
        (ADD, "sum = fmaf(__half2float(tap), __half2float(cell), sum);"),
    ),
)

WRONG = (
    wrong("row 0 of the filter alone", ("weights[(c * K + p) * K", "weights[c * K * K")),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("rows of outputs", (CELL, "image[(c * H + h + p) * out_w + w + q]")),
    wrong("a filter turned around", (TAP, "weights[(c * K + K - 1 - p) * K + K - 1 - q]")),
    wrong("one channel", (CELL, "image[(h + p) * W + w + q]")),
    wrong("one channel's weights", (TAP, "weights[p * K + q]")),
    wrong("columns first", (TAP, "weights[(c * K + q) * K + p]")),
    wrong(
        "sums in double",
        ("float sum = 0.0f;", "double sum = 0.0;"),
        (
            "__half2float(cell) * __half2float(tap)",
            "(double)__half2float(cell) * (double)__half2float(tap)",
        ),
        status="budget",
    ),
    wrong(
        "small weights left out",
        (
            "sum += __half2float(cell)",
            "if (fabsf(__half2float(tap)) > 1e-3f) sum += __half2float(cell)",
        ),
    ),
    wrong("the last product alone", ("sum += __half2float(cell)", "sum = __half2float(cell)")),
    wrong("the last column of the filter left out", ("q < K;", "q < K - 1;")),
    wrong("rows as narrow as those of outputs", ("+ p) * W + w", "+ p) * out_w + w")),
)
