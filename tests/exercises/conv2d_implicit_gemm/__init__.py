"""Answers to conv2d_implicit_gemm, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("as we wrote it"),
    right(
        "p from what is left of c",
        ("i_x % (K * K) / K", "(i_x - c * K * K) / K"),
        ("col % out_w;", "col - h * out_w;"),
    ),
)

WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("the first image", ("x + (size_t)blockIdx.z * C * H * W", "x")),
    wrong("the filter turned", ("w + q]", "w + K - 1 - q]"), ("h + p)", "h + K - 1 - p)")),
    wrong("rows of outputs", ("h + p) * W", "h + p) * out_w")),
    wrong(
        "two loads",
        (
            "cell = image[(c * H + h + p) * W + w + q]",
            "cell = 0.5f * image[(c * H + h + p) * W + w + q] "
            "+ 0.5f * ((volatile float*)image)[(c * H + h + p) * W + w + q]",
        ),
        status="budget",
    ),
)
