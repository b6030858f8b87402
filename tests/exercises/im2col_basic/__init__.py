"""Answers to im2col_basic, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

STORE = "rows[(p * K + q) * out_h * out_w + pixel]"
CELL = "channel[(h + p) * W + w + q]"

QUOTIENTS = "    const int h = pixel / out_w, w = pixel % out_w;\n"
LOOPS = f"""    for (int p = 0; p < K; ++p) {{
        for (int q = 0; q < K; ++q) {{
            {STORE} = {CELL};
        }}
    }}
"""
PAIRS = f"""    if (pixel % 2) return;
    for (int one = pixel; one < pixel + 2 && one < out_h * out_w; ++one) {{
        const int h = one / out_w, w = one % out_w;
        for (int p = 0; p < K; ++p)
            for (int q = 0; q < K; ++q)
                {STORE.replace("pixel", "one")} = {CELL};
    }}
"""
POINTERS = """    const float* in = channel + pixel / out_w * W + pixel % out_w;
    float* out = rows + pixel;
    for (int p = 0; p < K; ++p, in += W)
        for (int q = 0; q < K; ++q, out += out_h * out_w) *out = in[q];
"""

RIGHT = (
    right("two loops"),
    right("pointers that go on", "solution.cu", (QUOTIENTS + LOOPS, POINTERS)),
    right("one loop over the filter cells", "right_one_loop.cu"),
)

WRONG = (
    wrong("one cell for the window", "depends on p and q", ("(h + p) * W + w + q", "h * W + w")),
    wrong(
        "half of the threads, two outputs each",
        "leaves another one idle",
        (QUOTIENTS + LOOPS, PAIRS),
        status="budget",
    ),
    wrong("the last column of the filter left out", "last column of", ("q < K;", "q < K - 1;")),
    wrong(
        "images one channel apart",
        "begins with channel b * c",
        ("x + ((size_t)b * C + c)", "x + ((size_t)b + c)"),
    ),
    wrong("p for both", "p stands for both", ("W + w + q]", "W + w + p]")),
    wrong("the stub", "nothing is written", file="stub.cu", status="not_begun"),
    wrong(
        "rows and columns changed",
        "are exchanged",
        (STORE, STORE.replace("p * K + q", "q * K + p")),
    ),
    wrong(
        "the image taken as wide as the outputs",
        "out_w apart",
        (CELL, "channel[(h + p) * out_w + w + q]"),
    ),
    wrong(
        "the output's row by W",
        "pixel is in row pixel / out_w",
        ("pixel / out_w, w = pixel % out_w", "pixel / W, w = pixel % W"),
    ),
    wrong("no row of outputs", "pixel is in row", (CELL, "channel[pixel + p * W + q]")),
    wrong("one channel for all", "channel 0 of image 0", (CELL, CELL.replace("channel", "x"))),
    wrong("each output a row", "a column of the", (STORE, "rows[pixel * K * K + p * K + q]")),
    wrong(
        "rows of the matrix as long as a channel",
        "a row has out_h * out_w numbers",
        (STORE, STORE.replace("out_h * out_w", "H * W")),
        status="finding",
    ),
    wrong(
        "every cell loaded twice",
        "load it once",
        (CELL, CELL + " * 0.5f + 0.5f * ((volatile float*)" + CELL[:7] + ")[(h + p) * W + w + q]"),
        status="budget",
    ),
    wrong(
        "a rounded quotient",
        "whole numbers",  # by one hint or the other, as the drawn width has it
        (
            "h = pixel / out_w, w = pixel % out_w",
            "h = pixel * (1.0f / out_w), w = pixel - h * out_w",
        ),
    ),
    wrong(
        "filters of at most 7 x 7",
        "never written",
        ("p < K;", "p < 7 && p < K;"),
    ),
    wrong(
        "the first image for all",
        "cells of image 0",
        ("x + ((size_t)b * C + c) * H * W", "x + (size_t)c * H * W"),
    ),
    wrong(
        "the last row of the filter left out",
        "last row of the filter",
        ("p < K;", "p < K - 1;"),
    ),
)
