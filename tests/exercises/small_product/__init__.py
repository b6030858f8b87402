"""Answers to small_product, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("zeros behind, a pitch of 72"),
    right("a pitch of 88", ("PITCH = 72", "PITCH = 88")),
    right(
        "cleared first",
        (
            "PITCH];\n",
            "PITCH];\n"
            "    for (int i = threadIdx.x; i < 16 * PITCH; i += 32) left[i] = right[i] = "
            "__float2half(0.0f);\n"
            "    __syncwarp();\n",
        ),
        file="wrong_unset.cu",
    ),
)


WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("three steps", file="wrong_short.cu"),
    wrong("the pitch stays", ("PITCH = 72", "PITCH = 64"), status="budget"),
    wrong("the terms behind are not set", file="wrong_unset.cu", status="finding"),
    wrong("no tensor cores", file="wrong_no_tensor.cu", status="budget"),
    wrong("no tensor cores, and one idle mma_sync", file="wrong_idle.cu", status="budget"),
    wrong("no __syncwarp()", ("    __syncwarp();\n", ""), status="finding"),
    wrong(
        "nothing is written",
        ("    wmma::store_matrix_sync", "    if (TERMS < 0) wmma::store_matrix_sync"),
    ),
    wrong(
        "the lanes that march together",
        ("    __syncwarp();\n", "    __syncwarp(__activemask());\n"),
    ),
    wrong(
        "lane 0 copies",
        (
            "for (int i = threadIdx.x; i < 16 * DEPTH; i += 32) {",
            "for (int i = 0; threadIdx.x == 0 && i < 16 * DEPTH; ++i) {",
        ),
        status="budget",
    ),
)
