"""Answers to conv_pool, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("the loops of lab 107"),
    right("pointers, and a guard in place of continue", file="right_pointers.cu"),
)


WRONG = (
    wrong("images one channel apart", ("* C + c) * H", "+ c) * H")),
    wrong(
        "the sum begins anew in each channel",
        (
            "for (int c = 0; c < C; ++c)\n",
            "for (int c = 0; c < C; ++c, sum = c < C ? 0.0f : sum)\n",
        ),
    ),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("the last channel left out", ("c < C", "c < (C > 1 ? C - 1 : C)")),
    wrong(
        "the filter turned",
        ("filter[((m * C + c) * K + p) * K + q]", "filter[((m * C + c + 1) * K - p) * K - 1 - q]"),
    ),
    wrong(
        "values above a million",
        ("largest = max(largest, sum);", "largest = max(largest, min(sum, 1e6f));"),
    ),
    wrong("windows of at most four rows", ("r < pool; ++r", "r < 4 && r < pool; ++r")),
    wrong(
        "sums in whole numbers",
        ("float sum = 0.0f;", "int sum = 0;"),
        ("max(largest, sum)", "max(largest, (float)sum)"),
    ),
    wrong(
        "two windows by every second thread",
        (
            "    const int column = blockIdx.x % across * 16 + threadIdx.x;\n",
            "    const int first = blockIdx.x % across * 16 + threadIdx.x;\n",
        ),
        (
            "    if (row >= rows || column >= columns) return;\n",
            "    for (int column = first; column < first + 2 && first % 2 == 0; ++column) {\n"
            "    if (row >= rows || column >= columns) return;\n",
        ),
        ("+ column] = largest;\n", "+ column] = largest;\n    }\n"),
        status="budget",
    ),
    wrong("the first channel alone", ("c < C;", "c < 1;")),
    wrong("map 0's weights", ("((m * C + c) * K + p)", "(c * K + p)")),
    wrong("image 0's cells", ("((size_t)b * C + c)", "(size_t)c")),
)
