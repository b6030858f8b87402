"""Answers to conv2d_basic, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("three loops"),
    right("pointers to channels, and threads without an output leave", "right_pointers.cu"),
)

WRONG = (
    wrong("the last product alone", "only the last product", ("sum += image", "sum = image")),
    wrong(
        "the last column of the filter left out",
        "last column of the filter",
        ("q < K", "q < K - 1"),
    ),
    wrong(
        "adds to what nothing has set", "+= or atomicAdd", ("out_w + w] = sum", "out_w + w] += sum")
    ),
    wrong("the stub", "that is gap 1", file="stub.cu", status="not_begun"),
    wrong("no sum", "that is gap 3", ("sum += image", "sum += 0.0f * image")),
    wrong("no guard", "gap 2", ("h < out_h && w < out_w", "true"), status="finding"),
    wrong("no guard of the rows", "gap 2", ("h < out_h && ", ""), status="finding"),
    wrong("no guard of the columns", "gap 2", (" && w < out_w", ""), status="finding"),
    wrong(
        "a guard of the image",
        "gap 2",
        ("h < out_h && w < out_w", "h < H && w < W"),
        status="finding",
    ),
    wrong("the number in the block", "gap 1", ("blockIdx.x % across * blockDim.x + ", "")),
    wrong(
        "the filter turned",
        "half a turn",
        ("* weights[(c * K + p) * K + q]", "* weights[(c * K + K - 1 - p) * K + K - 1 - q]"),
    ),
    wrong("p and q exchanged", "exchanged", ("h + p", "h + q"), ("w + q", "w + p")),
    wrong(
        "tiles counted by two axes of the grid",
        "is the output map",
        ("blockIdx.x % across * blockDim.x", "blockIdx.x * blockDim.x"),
        ("blockIdx.x / across * blockDim.y", "blockIdx.y * blockDim.y"),
    ),
    wrong(
        "a block of 16 x 16",
        "16 x 16 threads only",
        ("blockIdx.x % across * blockDim.x", "blockIdx.x % across * 16"),
        ("blockIdx.x / across * blockDim.y", "blockIdx.x / across * 16"),
    ),
    wrong(
        "no channel of the weight",
        "weights of channel 0",
        ("* weights[(c * K + p) * K + q]", "* weights[p * K + q]"),
    ),
    wrong("rows of out_w cells", "out_w apart", ("h + p) * W + w + q", "h + p) * out_w + w + q")),
    wrong("a filter of 7", "end at k", ("p < K", "p < 7"), ("q < K", "q < 7"), status="finding"),
    wrong("no channel of the cell", "cells of channel 0", ("(c * H + h + p)", "(h + p)")),
    wrong(
        "columns for rows",
        "h rows of w cells",
        ("(c * H + h + p)", "(c * W + h + p)"),
        status="finding",
    ),
    wrong(
        "the tile's row and column exchanged",
        "whole tiles",
        ("blockIdx.x % across * blockDim.x", "blockIdx.x / across * blockDim.x"),
        ("blockIdx.x / across * blockDim.y", "blockIdx.x % across * blockDim.y"),
    ),
    wrong("one channel", "channel 0 alone", ("c < C", "c < 1")),
    wrong("a row too many", "out-of-bounds", ("p < K", "p <= K"), status="finding"),
    wrong(
        "each cell loaded twice",
        "loads per product",
        ("sum += image", "sum += 0 * image[(c * H + h + p) * W + w + K - 1 - q] + image"),
        status="budget",
    ),
)
