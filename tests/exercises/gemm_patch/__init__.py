"""Answers to gemm_patch, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("8 and 8 cells, each with each"),
    right(
        "a row of the patch at a time",
        ("                a[p] = tile_a[ty + p * ACROSS][i];\n", ""),
        (
            "            for (int r = 0; r < PATCH; ++r) {\n"
            "                #pragma unroll\n"
            "                for (int s = 0; s < PATCH; ++s) {\n"
            "                    sum[r][s] += a[r] * x[s];\n",
            "            for (int r = 0; r < PATCH; ++r) {\n"
            "                a[r] = tile_a[r * ACROSS + ty][i];\n"
            "                #pragma unroll\n"
            "                for (int s = 0; s < PATCH; ++s) {\n"
            "                    sum[r][s] = fmaf(x[s], a[r], sum[r][s]);\n",
        ),
    ),
)
WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong(
        "each cell read for each product",
        (
            "sum[r][s] += a[r] * x[s];",
            "sum[r][s] += *(volatile float*)&tile_a[ty + r * ACROSS][i] * x[s];",
        ),
        status="budget",
    ),
    wrong(
        "sums in double", ("float sum[PATCH][PATCH]", "double sum[PATCH][PATCH]"), status="budget"
    ),
)
