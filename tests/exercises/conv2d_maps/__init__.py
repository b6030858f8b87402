"""Answers to conv2d_maps, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("x for columns, y for maps"),
    right(
        "a number of the thread, divided",
        "solution.cu",
        ("threadIdx.y;", "(threadIdx.x + 16 * threadIdx.y) / 16;"),
        (
            "blockIdx.x * 16 + threadIdx.x",
            "blockIdx.x * 16 + (threadIdx.x + 16 * threadIdx.y) % 16",
        ),
    ),
    right("pointers", "right_pointers.cu"),
)


WRONG = (
    wrong(
        "axes exchanged in large grids",
        "touch far less memory",
        ("* 16 + threadIdx.y;", "* 16 + (gridDim.y < 99 ? threadIdx.y : threadIdx.x);"),
        ("* 16 + threadIdx.x;", "* 16 + (gridDim.y < 99 ? threadIdx.x : threadIdx.y);"),
        status="budget",
    ),
    wrong(
        "outputs stored column by column",
        "in other places",
        ("m) * out_h + h) * out_w + w]", "m) * out_w + w) * out_h + h]"),
    ),
    wrong(
        "the grid's axes exchanged",
        "never written",
        ("blockIdx.y % ((M + 15) / 16) * 16", "blockIdx.x * 16"),
        ("w = blockIdx.x * 16", "w = blockIdx.y % ((M + 15) / 16) * 16"),
    ),
    wrong(
        "maps side by side",
        "keep the index of the store",
        ("y[((b * M + m) * out_h + h) * out_w + w]", "y[((b * out_h + h) * out_w + w) * M + m]"),
    ),
    wrong("no width of a row", "begins at r * w", ("+ p) * W", "+ p)")),
    wrong("p for both", "p stands for both", ("w + q]", "w + p]")),
    wrong(
        "row 0 of the filter alone", "the weights of row 0", ("* K + p) * K + q]", "* K) * K + q]")
    ),
    wrong("the stub", "sectors per load request", file="stub.cu", status="not_begun"),
    wrong(
        "both by y",
        "two threads write the same output",
        ("16 + threadIdx.x", "16 + threadIdx.y"),
    ),
    wrong(
        "both by x",
        "two threads write the same output",
        ("16 + threadIdx.y", "16 + threadIdx.x"),
    ),
    wrong(
        "only the first 16 maps",
        "maps from 16 on",
        ("blockIdx.y % ((M + 15) / 16) * 16", "0"),
    ),
    wrong("maps from 16 on left out", "maps from 16 on", ("m >= M", "m >= min(M, 16)")),
    wrong("no guard for maps", "out-of-bounds", ("|| m >= M", ""), status="finding"),
    wrong(
        "no guard for columns",
        "two blocks write the same output",
        ("w >= out_w || ", ""),
        status="finding",
    ),
    wrong(
        "the filter turned",
        "half a turn",
        ("* K + p) * K + q]", "* K + K - 1 - p) * K + K - 1 - q]"),
    ),
    wrong(
        "a dummy load for each tap",
        "loads per output",
        ("sum += x", "sum += 0.0f * x[q] + x"),
        status="budget",
    ),
    wrong("block 0 does everything", "own part", file="wrong_one_block.cu", status="budget"),
    wrong("nothing is written", "nothing is written", ("    y[((b", "    if (K < 0) y[((b")),
)
