"""Answers to gemm_column, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

LOOP = "sum[r] += tile_a[patch + r][i] * x;"
RIGHT = (
    right("the cell of X in a register"),
    right(
        "the rows outside, the steps inside, cells of X in an array",
        "solution.cu",
        (
            "        for (int i = 0; i < DEPTH; ++i) {\n"
            "            const float x = tile_x[i][column];\n"
            "            #pragma unroll\n"
            "            for (int r = 0; r < PATCH; ++r) {\n"
            f"                {LOOP}\n"
            "            }\n"
            "        }\n",
            "        float x[DEPTH];\n"
            "        #pragma unroll\n"
            "        for (int i = 0; i < DEPTH; ++i) x[i] = tile_x[i][column];\n"
            "        #pragma unroll\n"
            "        for (int r = 0; r < PATCH; ++r)\n"
            "            #pragma unroll\n"
            "            for (int i = 0; i < DEPTH; ++i)\n"
            "                sum[r] = fmaf(x[i], tile_a[patch + r][i], sum[r]);\n",
        ),
    ),
)
WRONG = (
    wrong("the stub", "nothing is written", file="stub.cu", status="not_begun"),
    wrong("all rows alike", "all 8 rows of a thread", ("tile_a[patch + r][i]", "tile_a[patch][i]")),
    wrong("the first rows for all", "begin with row", ("tile_a[patch + r][i]", "tile_a[r][i]")),
    wrong("no block's rows", "begin at top", ("top + patch + r", "patch + r"), status="finding"),
    wrong("no block's columns", "begin at top", ("left + column", "column"), status="finding"),
    wrong("sums that begin again", "do not replace it", ("sum[r] += tile_a", "sum[r] = tile_a")),
    wrong(
        "no guard at the store",
        "row < rows",
        ("        if (row < rows && col < cols) Y", "        Y"),
        status="finding",
    ),
    wrong(
        "step and row exchanged",
        "step along inner",
        ("tile_a[patch + r][i]", "tile_a[i][patch + r]"),
        status="finding",
    ),
    wrong(
        "the first barrier is missing",
        "race",
        (
            "        __syncthreads();\n        // For each of the DEPTH steps",
            "        // For each of the DEPTH steps",
        ),
        status="finding",
    ),
    wrong(
        "the cell of X read for each product",
        "keeps in a variable",
        (
            LOOP,
            "sum[r] += tile_a[patch + r][i] * *(volatile float*)&tile_x[i][column];",
        ),
        status="budget",
    ),
)
