"""Answers to gemm_column, right and wrong."""

from tests.exercises.answers import right, wrong

LOOP = "sum[r] += tile_a[patch + r][i] * x;"
RIGHT = (
    right("the cell of X in a register"),
    right(
        "the rows outside, the steps inside, cells of X in an array",
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
        (
            "sum[r] += tile_a[patch + r][i] * x;",
            """const float a = tile_a[patch + r][i], before = sum[r];
                for (int again = 0; again < 9; ++again)
                    asm volatile("fma.rn.f32 %0, %1, %2, %3;"
                                 : "=f"(sum[r]) : "f"(a), "f"(x), "f"(before));""",
        ),
        status="budget",
    ),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong(
        "the first barrier is missing",
        (
            "        __syncthreads();\n        // For each of the DEPTH steps",
            "        // For each of the DEPTH steps",
        ),
        status="finding",
    ),
    wrong(
        "the cell of X read for each product",
        (
            LOOP,
            "sum[r] += tile_a[patch + r][i] * *(volatile float*)&tile_x[i][column];",
        ),
        status="budget",
    ),
    wrong(
        "the tiles are filled and not read",
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
