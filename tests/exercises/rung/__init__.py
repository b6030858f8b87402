"""Answers to rung, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("a tile and the weights of four maps"),
    right("eight maps", ("-DMAPS=4", "-DMAPS=8")),
    right("by rows, the weights of a place side by side", file="right_rows.cu"),
)


WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("one map a block, no weights staged", file="wrong_one_map.cu", status="budget"),
    wrong("MAPS that the launch cannot have", ("-DMAPS=4", "-DMAPS=0"), status="refused"),
    wrong("transposed", ("* taps[m][i]", "* taps[m][i % K * K + i / K]")),
    wrong("the last channel left out", ("c < C", "c < (C > 1 ? C - 1 : C)")),
    wrong(
        "nothing is written",
        (
            "    for (int m = 0; m < maps && inside; ++m)\n        y",
            "    for (int m = 0; m < maps && K < 0; ++m)\n        y",
        ),
    ),
    wrong(
        "a cell read for each map",
        (
            "sum[m] += cell * taps",
            "sum[m] += ((volatile float*)tile[threadIdx.y + i / K])[threadIdx.x + i % K] * taps",
        ),
        status="budget",
    ),
    wrong(
        "one warp loads the tile",
        (
            "for (int i = t; i < span * span; i += 256) {",
            "for (int i = t; t < 32 && i < span * span; i += 32) {",
        ),
        status="budget",
    ),
    wrong(
        "cells numbered in 16 bits",
        (
            "x[(((size_t)b * C + c) * H + top + r) * W + left + s]",
            "x[(unsigned short) (((b * C + c) * H + top + r) * W + left + s)]",
        ),
        status="wrong",
    ),
)
