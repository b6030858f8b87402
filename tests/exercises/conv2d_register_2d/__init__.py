"""Answers to conv2d_register_2d, right and wrong."""

from tests.exercises.answers import right, wrong

FILL = "cell[h][i] = tile[row + h + p][column + i];"
ADD = "sum[m][h][w] += cell[h][w + q] * weight;"
WEIGHT = "weight = filter[c][p][q][map + m];"

RIGHT = (
    right("cells first, then weight by weight"),
    right(
        "map by map, and the weights by a pointer",
        (
            "            // 2. For each q and m: take the weight filter[c][p][q][map + m] "
            "once, and add its\n"
            "            //    products to the 8 sums sum[m][h][w]. Which cell belongs to "
            "sum[m][h][w]?\n"
            "            //    Write #pragma unroll above the loops.\n",
            "            const float* weights = &filter[c][p][0][map];\n",
        ),
        (
            "q = 0; q < K; ++q) {\n",
            "m = 0; m < MAPS; ++m) {\n",
        ),
        (
            "m = 0; m < MAPS; ++m) {\n"
            "                    const float weight = filter[c][p][q][map + m];\n"
            "                    for (int h = 0; h < 2; ++h)\n"
            "                        for (int w = 0; w < 4; ++w)\n"
            "                            sum[m][h][w] += cell[h][w + q] * weight;\n",
            "q = 0; q < K; ++q) {\n"
            "                    const float weight = weights[q * GROUPS * MAPS + m];\n"
            "                    #pragma unroll\n"
            "                    for (int o = 0; o < 8; ++o)\n"
            "                        sum[m][o / 4][o % 4] += weight * cell[o / 4][o % 4 + q];\n",
        ),
    ),
    right(
        "fused multiply-adds, said so",
        (ADD, "sum[m][h][w] = fmaf(weight, cell[h][q + w], sum[m][h][w]);"),
    ),
)

WRONG = (
    wrong(
        "a block does the work of two",
        (
            "__global__ void conv2d_register_2d(float* y, const float* x)\n",
            "__device__ void of_block(int, float*, const float*);\n"
            "__global__ void conv2d_register_2d(float* y, const float* x)\n{\n"
            "    for (int k = 0; blockIdx.x % 2 == 0 && k < 2 && blockIdx.x + k < gridDim.x; ++k)\n"
            "        of_block(blockIdx.x + k, y, x);\n}\n"
            "__device__ void of_block(int block, float* y, const float* x)\n",
        ),
        ("blockIdx.x / TILES", "block / TILES"),
        ("blockIdx.x % TILES", "block % TILES"),
        status="budget",
    ),
    wrong("the weights of channel 0", ("= filter[c][p]", "= filter[0][p]")),
    wrong(
        "cells from global memory",
        (
            "= tile[row + h + p][column + i]",
            "= top + row + h + p < HEIGHT && left + column + i < WIDTH\n"
            "                        ? channel[(top + row + h + p) * WIDTH + left + column + i]\n"
            "                        : 0.0f",
        ),
        status="budget",
    ),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("six weights of a row", ("q = 0; q < K", "q = 0; q < K - 1")),
    wrong("the filter turned", (WEIGHT, "weight = filter[c][6 - p][6 - q][map + m];")),
    wrong(
        "the products read the tile again",
        (ADD, "sum[m][h][w] += ((volatile float*)tile[row + h + p])[column + w + q] * weight;"),
        status="budget",
    ),
    wrong(
        "a loop that stays a loop: the cells have no registers",
        ("#pragma unroll\n            for (int q", "#pragma unroll 1\n            for (int q"),
        status="budget",
    ),
    wrong("p and q exchanged", (WEIGHT, "weight = filter[c][q][p][map + m];")),
    wrong("no q", ("[w + q]", "[w]")),
    wrong("no p", (FILL, FILL.replace("h + p", "h"))),
    wrong("sums replaced", ("+= cell", "= cell")),
)
