"""Answers to conv_pool, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("the loops of lab 107"),
    right("pointers, and a guard in place of continue", "right_pointers.cu"),
)


WRONG = (
    wrong("images one channel apart", "begins with channel b * c", ("* C + c) * H", "+ c) * H")),
    wrong(
        "the sum begins anew in each channel",
        "only the last channel is in the sum",
        (
            "for (int c = 0; c < C; ++c)\n",
            "for (int c = 0; c < C; ++c, sum = c < C ? 0.0f : sum)\n",
        ),
    ),
    wrong("the stub", "all outputs are 0", file="stub.cu", status="not_begun"),
    wrong("the last channel left out", "last channel", ("c < C", "c < (C > 1 ? C - 1 : C)")),
    wrong(
        "the filter turned",
        "half a turn",
        ("filter[((m * C + c) * K + p) * K + q]", "filter[((m * C + c + 1) * K - p) * K - 1 - q]"),
    ),
    wrong(
        "values above a million",
        "right in 7 of 8 cases",
        ("largest = max(largest, sum);", "largest = max(largest, min(sum, 1e6f));"),
    ),
    wrong(
        "windows of at most four rows",
        "right in 7 of 8 cases",
        ("r < pool; ++r", "r < 4 && r < pool; ++r"),
    ),
    wrong(
        "sums in whole numbers",
        "no output has a fraction",
        ("float sum = 0.0f;", "int sum = 0;"),
        ("max(largest, sum)", "max(largest, (float)sum)"),
    ),
    wrong(
        "two windows by every second thread",
        "work of two leaves another one idle",
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
    wrong("the first channel alone", "channel 0 alone", ("c < C;", "c < 1;")),
    wrong("map 0's weights", "weights of map 0", ("((m * C + c) * K + p)", "(c * K + p)")),
    wrong("image 0's cells", "cells of image 0", ("((size_t)b * C + c)", "(size_t)c")),
)
