"""Answers to implicit_counting, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("counted with carries"),
    right("carries at the end of a step", file="right_at_end.cu"),
    right("one by one, sixteen times", file="right_one_by_one.cu"),
)


WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("divisions in the loop", file="wrong_divided.cu", status="budget"),
    wrong(
        "the divisions in a macro",
        (
            "-DTILE=16\n",
            "-DTILE=16\n"
            "#define OVER /\n",
        ),
        (
            "/ (K * K), p = i % (K * K) / K, q = i % K;\n",
            "OVER (K * K), p = (i - c * K * K) OVER K;\n"
            "        const int q = i - (c * K + p) * K;\n",
        ),
        file="wrong_divided.cu",
        status="budget",
    ),
    wrong(
        "divisions of floats",
        (
            "i / (K * K), p = i % (K * K) / K, q = i % K;\n",
            "(int)((i + 0.5f) / (K * K)), p = (int)((i - c * K * K + 0.5f) / K);\n"
            "        const int q = i - (c * K + p) * K;\n",
        ),
        file="wrong_divided.cu",
        status="budget",
    ),
    wrong(
        "cells loaded twice",
        (
            "corner[(c * H + p) * W + q] : 0.0f;",
            "corner[(c * H + p) * W + q] + 0 * corner[0] + 0 * x[1] : 0.0f;",
        ),
        status="budget",
    ),
    wrong("nothing is written", ("    if (row < M && col < cols) y", "    if (M < 0) y")),
)
