"""Answers to conv2d_two, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

LOADS = """    for (int r = threadIdx.y; r < 22; r += 8)
        for (int s = threadIdx.x; s < 22; s += 16)
            tile[r][s] = top + r < H && left + s < W ? x[(top + r) * W + left + s] : 0.0f;
"""
CELLS = """    for (int i = threadIdx.y * 16 + threadIdx.x; i < 22 * 22; i += 128) {
        const int r = i / 22, s = i % 22;
        float cell = 0.0f;
        if (top + r < H && left + s < W) cell = x[(top + r) * W + left + s];
        tile[r][s] = cell;
    }
"""
TWICE = CELLS.replace("float cell =", "tile[r][s] =").replace(") cell =", ") tile[r][s] =")
TWICE = TWICE.replace("        tile[r][s] = cell;\n", "")
CELL = "x[(top + r) * W + left + s]"

RIGHT = (
    right("one loop over the tile", "solution.cu", (LOADS, CELLS)),
    right("columns, one cell behind the other", "right_columns.cu"),
    right("eight rows, two sums"),
    right("a row in registers", "right_rows.cu"),
    right("a pitch of 40", "solution.cu", ("PITCH=24", "PITCH=40")),
)


WRONG = (
    wrong(
        "a zero first, then the cell",
        "Store each cell of the tile once",
        (LOADS, TWICE),
        status="budget",
    ),
    wrong(
        "a window from threadIdx.y on",
        "2 * threadIdx.y",
        ("tile[row + p]", "tile[threadIdx.y + p]"),
    ),
    wrong("cells below the last output left out", "last K - 1 rows", ("r < H &&", "r < H - 6 &&")),
    wrong(
        "rows as long as those of outputs", "out_w apart", (CELL, CELL.replace("* W", "* (W - 6)"))
    ),
    wrong("block 0's tile for all", "tile of block 0", (CELL, "x[r * W + s]")),
    wrong(
        "cells outside of the image",
        "0 elsewhere",
        ("top + r < H && left + s < W ? x[(top + r) * W + left + s] : 0.0f", CELL),
        status="finding",
    ),
    wrong("every 16th row", "in steps of 8", ("r += 8", "r += 16"), status="finding"),
    wrong(
        "the second output eight rows below",
        "two threads store the same output",
        ("top + row + o < H", "top + row + 8 * o < H"),
        ("top + row + o) *", "top + row + 8 * o) *"),
        status="finding",
    ),
    wrong(
        "one warp loads the tile",
        "while the others have nothing to do",
        ("int r = threadIdx.y; r < 22; r += 8", "int r = threadIdx.y / 2 * 22; r < 22; ++r"),
        (
            "int s = threadIdx.x; s < 22; s += 16",
            "int s = threadIdx.y % 2 * 16 + threadIdx.x; s < 22; s += 32",
        ),
        status="budget",
    ),
    wrong(
        "a cell number in a short",
        "as a short",
        ("x[(top + r) * W + left + s]", "x[short((top + r) * W + left + s)]"),
        status="finding",
    ),
    wrong("the stub", "Both sums are 0", file="stub.cu", status="not_begun"),
    wrong(
        "the tile read for each output anew",
        "shared loads per output",
        file="wrong_two_readings.cu",
        status="budget",
    ),
    wrong(
        "the tile is filled and ignored, sums from x",
        "loads of x per block",
        file="wrong_ignored.cu",
        status="budget",
    ),
    wrong(
        "sizes written into the kernel",
        "arguments h and w",
        ("int H, int W)\n{", "int, int)\n{\n    const int H = 23, W = 30;"),
        status="finding",
    ),
    wrong("the pitch stays", "bank conflicts", ("PITCH=24", "PITCH=22"), status="budget"),
    wrong("only the upper output", "only the upper", ("if (p > 0) sum[1]", "if (p > 8) sum[1]")),
    wrong(
        "the lower output with the upper one's rows",
        "rows 0 to 6",
        ("(m * 7 + p - 1) * 7", "(m * 7 + p) * 7"),
        status="finding",
    ),
    wrong(
        "row 7 for the upper output, too",
        "rows 0 to 6",
        ("if (p < 7) sum[0]", "sum[0]"),
        status="finding",
    ),
    wrong(
        "the lower output with rows that are one too early",
        "lower output",
        (
            "if (p > 0) sum[1] += cell * filter[(m * 7 + p - 1)",
            "if (p < 7) sum[1] += cell * filter[(m * 7 + 6 - p)",
        ),
    ),
    wrong("no barrier", "race", ("    __syncthreads();\n", ""), status="finding"),
    wrong(
        "nothing is written",
        "nothing is written",
        ("            y[(m", "            if (H < 0) y[(m"),
    ),
)
