"""Answers to conv2d_tensor, right and wrong."""

from tests.exercises.answers import right, wrong

CELL = "cells[i] = term < TERMS ? corner[offset] : __half(0.0f);"
OFFSET = "(c * HEIGHT + p) * WIDTH + q;"

RIGHT = (
    right("ours"),
    right("a pitch without conflicts", ("PITCH = 16; ", "PITCH = 24; ")),
    right(
        "rows counted through, zeros first",
        ("const int p = term % (K * K) / K;", "const int p = term / K - c * K;"),
        ("(c * HEIGHT + p) * WIDTH + q;", "c * HEIGHT * WIDTH + p * WIDTH + q;"),
        (CELL, "cells[i] = __half(0.0f); if (term < TERMS) cells[i] = corner[offset];"),
    ),
)

WRONG = (
    wrong(
        "every second block does the work of two",
        (
            "    for (int i = threadIdx.x; i < CELLS; i += THREADS) {\n",
            "    if (blockIdx.z % 2) return;\n"
            "    for (int twin = 0; twin < 2 && blockIdx.z + twin < gridDim.z; ++twin) {\n"
            "    __syncthreads();\n"
            "    for (int i = threadIdx.x; i < CELLS; i += THREADS) {\n",
        ),
        (
            "sums[warp][i];\n                }\n            }\n            __syncwarp();\n"
            "        }\n    }\n",
            "sums[warp][i];\n                }\n            }\n            __syncwarp();\n"
            "        }\n    }\n    x += CELLS; y += (size_t)OUTPUT_MAPS * OUTPUTS;\n    }\n",
        ),
        status="budget",
    ),
    wrong("p for both", ("* WIDTH + q;", "* WIDTH + p;")),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("p and q exchanged", (OFFSET, "(c * HEIGHT + q) * WIDTH + p;")),
    wrong("one channel", (OFFSET, "p * WIDTH + q;")),
    wrong(
        "gathered from x",
        ("corner[offset]", "__half(x[int(corner - image) + offset])"),
        status="budget",
    ),
    wrong(
        "the lanes that march together",
        ("__syncwarp();   // a frag", "__syncwarp(__activemask());   // a frag"),
    ),
    wrong(
        "sums of the FP32 units beside the products",
        (
            "        #pragma unroll\n        for (int step",
            "        float plain[ROWS] = {};\n        #pragma unroll\n        for (int step",
        ),
        (
            "            int4* column =",
            "            for (int i = 0; i < 16; ++i)\n"
            "                for (int m = 0; m < ROWS; ++m)\n"
            "                    plain[m] += __half2float(weights[m * F_PITCH + 16 * "
            "step + i])\n"
            "                              * __half2float(cells[i]);\n"
            "            int4* column =",
        ),
        (
            "        // Store through shared",
            "        for (int m = 0; m < ROWS; ++m)\n"
            "            if (map + m < OUTPUT_MAPS && first + lane < OUTPUTS)\n"
            "                y[m * OUTPUTS + first + lane] = plain[m];\n"
            "        // Store through shared",
        ),
        (
            "if (map + m < OUTPUT_MAPS && column < OUTPUTS) {",
            "if (sums[warp][i] == -12345.5f && column < OUTPUTS) {",
        ),
        status="budget",
    ),
)
