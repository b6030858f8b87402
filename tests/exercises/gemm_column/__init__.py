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
    wrong(
        "each product many times",
        "do again what",
        (
            "sum[r] += tile_a[patch + r][i] * x;",
            """const float a = tile_a[patch + r][i], before = sum[r];
                for (int again = 0; again < 9; ++again)
                    asm volatile("fma.rn.f32 %0, %1, %2, %3;"
                                 : "=f"(sum[r]) : "f"(a), "f"(x), "f"(before));""",
        ),
        status="budget",
    ),
    wrong("the stub", "nothing is written", file="stub.cu", status="not_begun"),
    wrong("all rows alike", "all 8 rows of a thread", ("tile_a[patch + r][i]", "tile_a[patch][i]")),
    wrong("the first rows for all", "begin with row", ("tile_a[patch + r][i]", "tile_a[r][i]")),
    wrong("no block's rows", "begin at top", ("top + patch + r", "patch + r"), status="finding"),
    wrong(
        "rows of Y as far apart as there are rows",
        "a row of y has cols cells",
        ("Y[row * cols + col]", "Y[row * rows + col]"),
        status="finding",
    ),
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
    wrong(
        "rows 8 apart",
        "in other places",
        ("tile_a[patch + r][i]", "tile_a[r * PATCH + patch / PATCH][i]"),
    ),
    wrong(
        "stored 8 apart",
        "in other places",
        ("top + patch + r", "top + r * PATCH + patch / PATCH"),
    ),
    wrong(
        "patches overlap",
        "overlap",
        ("tile_a[patch + r][i]", "tile_a[patch / PATCH + r][i]"),
    ),
    wrong(
        "rows upside down",
        "upside down",
        ("sum[r] += tile_a", "sum[PATCH - 1 - r] += tile_a"),
    ),
    wrong(
        "the row of the column",
        "that of the thread's column",
        ("tile_a[patch + r][i]", "tile_a[column][i]"),
    ),
    wrong(
        "the column of the row",
        "it must be `column`",
        ("tile_x[i][column]", "tile_x[i][patch]"),
    ),
    wrong(
        "the first column for all",
        "first column of the tile",
        ("tile_x[i][column]", "tile_x[i][0]"),
    ),
    wrong(
        "8 columns for all",
        "first 8 columns of x",
        ("tile_x[i][column]", "tile_x[i][column % PATCH]"),
    ),
    wrong(
        "a diagonal",
        "another column of x",
        ("* x;", "* tile_x[i][(column + r) % TILE];"),
    ),
    wrong(
        "step 0 of X",
        "cell of x of step 0",
        ("tile_x[i][column]", "tile_x[0][column]"),
    ),
    wrong(
        "step 0 of A",
        "cell of a of step 0",
        ("tile_a[patch + r][i]", "tile_a[patch + r][0]"),
    ),
    wrong(
        "seven steps",
        "last of the depth steps",
        ("i < DEPTH; ++i", "i < DEPTH - 1; ++i"),
    ),
    wrong(
        "seven rows",
        "the last row of each thread",
        ("r < PATCH; ++r) {\n                sum", "r < PATCH - 1; ++r) {\n                sum"),
    ),
    wrong(
        "every patch at the top",
        "has rows of its own",
        ("top + patch + r", "top + r"),
        status="finding",
    ),
    wrong(
        "32 terms, whatever `inner` is",
        "only its first terms",
        ("first < inner; first", "first < 32; first"),
    ),
    wrong(
        "the tiles are filled and not read",
        "multiply the cells of the tiles",
        (
            "            const float x = tile_x[i][column];\n",
            "            const bool is_term = first + i < inner;\n"
            "            const float x = is_term && left + column < cols\n"
            "                ? X[(first + i) * cols + left + column] : 0.0f;\n",
        ),
        (
            "sum[r] += tile_a[patch + r][i] * x;",
            "if (is_term && top + patch + r < rows)\n"
            "                    sum[r] += A[(top + patch + r) * inner + first + i] * x;",
        ),
        status="budget",
    ),
)
