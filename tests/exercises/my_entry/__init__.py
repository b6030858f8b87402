"""Answers to entry, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("a tile, three columns, four maps"),
    right("registers without a tile", "right_register.cu"),
)


WRONG = (
    wrong("the stub", "estimated cycles", file="stub.cu", status="not_begun"),
    wrong("a shuffle for each cell", "estimated cycles", file="wrong_shuffles.cu", status="budget"),
    wrong(
        "right on LeNet's layers alone",
        "guard",
        ("top + r < H && left + s < W ? plane", "C > 0 ? plane"),
        status="finding",
    ),
    wrong(
        "the last group of maps stored unguarded",
        "guard",
        ("if (m + j < M && ", "if ("),
        status="finding",
    ),
    wrong(
        "no second barrier",
        "barrier",
        ("        __syncthreads();   // not before all have read\n", ""),
        status="finding",
    ),
    wrong(
        "a block that CUDA does not allow",
        "at most 32",
        ("-DTILE_WIDTH=12", "-DTILE_WIDTH=40"),
        status="refused",
    ),
    wrong(
        "another signature",
        "parameters",
        ("int H, int W, int K)\n{", "int H, int W)\n{\n    const int K = 7;"),
        status="refused",
    ),
    wrong(
        "nothing is written",
        "nothing is written",
        ("            if (m + j < M", "            if (K < 0 && m + j < M"),
    ),
    wrong(
        "at most four channels",
        "not on other shapes",
        ("c < C;", "c < C && c < 4;"),
    ),
)
