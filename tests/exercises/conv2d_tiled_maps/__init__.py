"""Answers to conv2d_tiled_maps, right and wrong."""

from tests.exercises.answers import right, wrong

CELL = "tile[threadIdx.y + p][threadIdx.x + q]"

MAP = "const int m = min(first + o, M - 1);   // past the last map: its sum again"

RIGHT = (
    right("until the last map", (MAP, "const int m = first + o; if (m >= M) break;")),
    right(
        "from the last map down",
        ("int o = 0; o < MAPS; ++o) {", "int o = MAPS - 1; o >= 0; --o) {"),
    ),
    right("a cell and a loop over the maps"),
    right(
        "the weights first, and a return after the last barrier",
        (
            "1).\n",
            "1).\n"
            "                    float weights[MAPS];\n"
            "                    for (int o = 0; o < MAPS; ++o)\n"
            "                        weights[o] = filter[((min(first + o, M - 1) * C + c) * "
            "K + p) * K + q];\n",
        ),
        (
            "                    #pragma unroll\n"
            "                    for (int o = 0; o < MAPS; ++o) {\n"
            "                        const int m = min(first + o, M - 1);   // past the "
            "last map: its sum again\n"
            "                        sum[o] += cell * filter[((m * C + c) * K + p) * K + q];\n"
            "                    }\n",
            "                    for (int o = 0; o < MAPS; ++o)\n"
            "                        sum[o] += weights[o] * cell;\n",
        ),
        (
            "< out_h && w < out_w)\n"
            "        #pragma unroll\n"
            "        for (int o = 0; o < MAPS; ++o)\n"
            "            if (first + o < M)\n"
            "                y[(((size_t)b * M + first + o) * out_h + h) * out_w + w] = sum[o];\n",
            ">= out_h || w >= out_w) return;\n"
            "    for (int o = 0; o < MAPS; ++o) {\n"
            "        const int m = first + o;\n"
            "        if (m >= M) break;\n"
            "        y[(((size_t)b * M + m) * out_h + h) * out_w + w] = sum[o];\n"
            "    }\n",
        ),
    ),
)

WRONG = (
    wrong("no channels in the index", ("(m * C + c) * K + p", "m * K + p")),
    wrong(
        "a turn over the taps for each map",
        ("for (int p = 0;", "for (int o = 0; o < MAPS; ++o)\n                for (int p = 0;"),
        ("                    for (int o = 0; o < MAPS; ++o) {\n", "                    {\n"),
        ("                    #pragma unroll\n", ""),
        status="budget",
    ),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong(
        "the cell read again for each map",
        (
            f"const float cell = {CELL};",
            "const volatile float* cell = &tile[threadIdx.y + p][threadIdx.x + q];",
        ),
        ("sum[o] += cell", "sum[o] += *cell"),
        status="budget",
    ),
    wrong("the cell read from x", (CELL, "channel[(h + p) * W + w + q]"), status="budget"),
    wrong("the first channel alone", ("((size_t)b * C + c) * H", "((size_t)b * C) * H")),
    wrong("the filter turned", ("K + p) * K + q]", "K + K - 1 - p) * K + K - 1 - q]")),
)
