"""Answers to im2col_basic, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

STORE = "rows[(p * K + q) * out_h * out_w + pixel]"
CELL = "channel[(h + p) * W + w + q]"

RIGHT = (
    right("two loops"),
    right("one loop over the filter cells", "right_one_loop.cu"),
)

WRONG = (
    wrong(
        "images one channel apart",
        "begins with channel b * c",
        ("x + ((size_t)b * C + c)", "x + ((size_t)b + c)"),
    ),
    wrong("p for both", "p stands for both", ("W + w + q]", "W + w + p]")),
    wrong("the stub", "nothing is written", file="stub.cu", status="not_begun"),
    wrong(
        "rows and columns changed",
        "changed places",
        (STORE, STORE.replace("p * K + q", "q * K + p")),
    ),
    wrong(
        "the image taken as wide as the outputs",
        "as narrow as",
        (CELL, "channel[(h + p) * out_w + w + q]"),
    ),
    wrong(
        "the output's row by W",
        "pixel is in row pixel / out_w",
        ("pixel / out_w, w = pixel % out_w", "pixel / W, w = pixel % W"),
    ),
    wrong("no row of outputs", "pixel is in row", (CELL, "channel[pixel + p * W + q]")),
    wrong("one channel for all", "first channel", (CELL, CELL.replace("channel", "x"))),
    wrong("each output a row", "a column of the", (STORE, "rows[pixel * K * K + p * K + q]")),
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
        "cells of the first image",
        ("x + ((size_t)b * C + c) * H * W", "x + (size_t)c * H * W"),
    ),
    wrong(
        "the last row of the filter left out",
        "last row of the filter",
        ("p < K;", "p < K - 1;"),
    ),
)
