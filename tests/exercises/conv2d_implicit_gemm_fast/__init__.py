"""Answers to conv2d_implicit_gemm_fast, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("as we wrote it"),
    right(
        "h and w before the loop",
        (
            "corner = image + col / out_w * W + col % out_w",
            "corner = &image[col / out_w * W + col % out_w]",
        ),
    ),
)

WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("the first image", ("x + (size_t)blockIdx.z * C * H * W", "x")),
    wrong(
        "divided in the loop",
        ("cell = corner[", "cell = (image + col / out_w * W + (col + first - first) % out_w)["),
        ("(col + first - first)", "col"),
        status="budget",
    ),
    wrong(
        "a rounded quotient",
        (
            "const float* corner = image + col / out_w * W + col % out_w;",
            "const int h = col * (1.0f / out_w);\n"
            "    const float* corner = image + h * W + col - h * out_w;",
        ),
    ),
    wrong(
        "the cells of at most four channels",
        ("corner[(i_x / (K * K) * H", "corner[(i_x / (K * K) % 4 * H"),
    ),
)
