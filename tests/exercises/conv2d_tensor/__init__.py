"""Answers to conv2d_tensor, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

BEFORE = "            __syncwarp();   // a fragment has columns that other lanes gathered\n"
BEHIND = "            __syncwarp();   // before the next step overwrites the columns\n"
CELL = "cells[i] = term < TERMS ? corner[offset] : __half(0.0f);"
OFFSET = "(c * HEIGHT + p) * WIDTH + q;"
LOOP = "for (int part = 0; part < 32 / COLUMNS; ++part) {\n                wmma::load"
ADD = "wmma::mma_sync(sum[part], a, b, sum[part])"
ANEW = "wmma::fill_fragment(sum[part], 0.0f);"

RIGHT = (
    right("ours"),
    right("a pitch without conflicts", "solution.cu", ("PITCH = 16; ", "PITCH = 24; ")),
    right(
        "rows counted through, zeros first",
        "solution.cu",
        ("const int p = term % (K * K) / K;", "const int p = term / K - c * K;"),
        ("(c * HEIGHT + p) * WIDTH + q;", "c * HEIGHT * WIDTH + p * WIDTH + q;"),
        (CELL, "cells[i] = __half(0.0f); if (term < TERMS) cells[i] = corner[offset];"),
    ),
)

WRONG = (
    wrong("p for both", "p stands for both", ("* WIDTH + q;", "* WIDTH + p;")),
    wrong("the stub", "gap 1", file="stub.cu", status="not_begun"),
    wrong("no wait before", "__syncwarp() twice", (BEFORE, ""), status="finding"),
    wrong("no wait behind", "__syncwarp() twice", (BEHIND, ""), status="finding"),
    wrong(
        "the whole block waits",
        "Only the lanes of one warp",
        ("__syncwarp();   // a fr", "__syncthreads();   // a fr"),
        status="finding",
    ),
    wrong("p grows on", "p below K", ("term % (K * K) / K", "term / K"), status="finding"),
    wrong(
        "no padding", "from term TERMS on", (CELL, "cells[i] = corner[offset];"), status="finding"
    ),
    wrong("p and q exchanged", "are exchanged", (OFFSET, "(c * HEIGHT + q) * WIDTH + p;")),
    wrong("rows of outputs", "has WIDTH cells", (OFFSET, "(c * HEIGHT + p) * OUT_W + q;")),
    wrong("one channel", "cells of channel 0", (OFFSET, "p * WIDTH + q;")),
    wrong("the first weights", "first 16 weights", ("weights + 16 * step", "weights")),
    wrong(
        "rows of F without their gap",
        "F_PITCH halves apart",
        ("weights + 16 * step, F_PITCH", "weights + 16 * step, 16 * STEPS"),
        status="finding",
    ),
    wrong("sums begin anew", "last 16 terms", (ADD, f"{ANEW} {ADD}")),
    wrong("part 0 twice", "part 1", (" + part * COLUMNS * PITCH, PITCH", ", PITCH")),
    wrong("part 0 alone", "part 1", (LOOP, LOOP.replace("32 / COLUMNS", "1"))),
    wrong("by rows", "`col_major`", ("__half, wmma::col_major> b", "__half, wmma::row_major> b")),
    wrong("without the last step", "last, padded step", ("step < STEPS;", "step < TERMS / 16;")),
    wrong(
        "gathered from x",
        "`image` in shared memory",
        ("corner[offset]", "__half(x[int(corner - image) + offset])"),
        status="budget",
    ),
    wrong(
        "the lanes that march together",
        "name them yourself",
        ("__syncwarp();   // a frag", "__syncwarp(__activemask());   // a frag"),
    ),
    wrong(
        "sums of the FP32 units beside the products",
        "outputs are its sums",
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
    wrong(
        "the cells of output 0 for all",
        "and not behind `image`",
        ("corner[offset]", "image[offset]"),
    ),
    wrong(
        "the last term left out",
        "the last term is left out",
        ("term < TERMS ?", "term < TERMS - 1 ?"),
    ),
    wrong(
        "both parts in one sum",
        "added to one sum",
        ("wmma::mma_sync(sum[part], a, b, sum[part]);", "wmma::mma_sync(sum[0], a, b, sum[0]);"),
    ),
)
