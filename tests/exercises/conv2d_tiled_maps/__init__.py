"""Answers to conv2d_tiled_maps, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

CELL = "tile[threadIdx.y + p][threadIdx.x + q]"

MAP = "const int m = min(first + o, M - 1);   // past the last map: its sum again"

RIGHT = (
    right(
        "until the last map", "solution.cu", (MAP, "const int m = first + o; if (m >= M) break;")
    ),
    right(
        "from the last map down",
        "solution.cu",
        ("int o = 0; o < MAPS; ++o) {", "int o = MAPS - 1; o >= 0; --o) {"),
    ),
    right("a cell and a loop over the maps"),
    right("the weights first, and a return after the last barrier", "right_weights_first.cu"),
)

WRONG = (
    wrong("no channels in the index", "number m * C + c", ("(m * C + c) * K + p", "m * K + p")),
    wrong(
        "maps from blockIdx.y on",
        "not at blockIdx.y",
        (MAP, "const int m = min((int)blockIdx.y + o, M - 1);"),
    ),
    wrong("map 3 for the last", "last one is M - 1", (MAP, "const int m = min(first + o, 3);")),
    wrong(
        "a turn over the taps for each map",
        "shared loads per product",
        ("for (int p = 0;", "for (int o = 0; o < MAPS; ++o)\n                for (int p = 0;"),
        ("                    for (int o = 0; o < MAPS; ++o) {\n", "                    {\n"),
        ("                    #pragma unroll\n", ""),
        status="budget",
    ),
    wrong(
        "the weights of maps that do not exist",
        "map min(first + o, M - 1)",
        ("int m = min(first + o, M - 1)", "int m = first + o"),
        status="finding",
    ),
    wrong(
        "four maps",
        "not always 4",
        ("o < MAPS; ++o) {", "o < 4; ++o) {"),
        ("o < MAPS; ++o)\n            if", "o < 4; ++o)\n            if"),
        status="finding",
    ),
    wrong("the stub", "nothing is written", file="stub.cu", status="not_begun"),
    wrong(
        "the cell read again for each map",
        "shared loads per product",
        (
            f"const float cell = {CELL};",
            "const volatile float* cell = &tile[threadIdx.y + p][threadIdx.x + q];",
        ),
        ("sum[o] += cell", "sum[o] += *cell"),
        status="budget",
    ),
    wrong(
        "the cell read from x",
        "loads of x per block",
        (CELL, "channel[(h + p) * W + w + q]"),
        status="budget",
    ),
    wrong(
        "one map's weights for all of them",
        "weights of its first one",
        ("min(first + o, M - 1);", "first;"),
    ),
    wrong(
        "the first channel alone", "channel 0", ("((size_t)b * C + c) * H", "((size_t)b * C) * H")
    ),
    wrong(
        "the filter turned", "half a turn", ("K + p) * K + q]", "K + K - 1 - p) * K + K - 1 - q]")
    ),
    wrong("stores behind the last map", "fewer maps", ("if (first + o < M)", ""), status="finding"),
    wrong(
        "the first maps' weights", "begin at `first`", ("min(first + o, M - 1);", "min(o, M - 1);")
    ),
    wrong("map o", "map first + o", ("b * M + first + o", "b * M + o"), status="finding"),
    wrong(
        "no guard",
        "thread with an output",
        ("    if (h < out_h && w < out_w)\n        #pragma", "        #pragma"),
        status="finding",
    ),
)
