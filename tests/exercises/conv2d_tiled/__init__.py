"""Answers to conv2d_tiled, right and wrong."""

from tests.exercises.answers import right, wrong

BEFORE = "        __syncthreads();   // outputs read cells that other threads loaded\n"
AFTER = (
    "        __syncthreads();   // the next channel overwrites the tile: not before all have read"
)
CELL = "tile[threadIdx.y + p][threadIdx.x + q]"
ROWS = "r < SPAN && top + r < H; r += TILE_WIDTH"
COLUMNS = "s < SPAN && left + s < W; s += TILE_WIDTH"
WARP = "(threadIdx.y * TILE_WIDTH + threadIdx.x) / 32"
LANE = "(threadIdx.y * TILE_WIDTH + threadIdx.x) % 32"

LOADS = f"""        for (int r = threadIdx.y; {ROWS})
            for (int s = threadIdx.x; {COLUMNS})
                tile[r][s] = channel[(top + r) * W + left + s];
"""
STORE = """
    if (h < out_h && w < out_w)
        y[(((size_t)b * M + m) * out_h + h) * out_w + w] = sum;"""

RIGHT = (
    right("two loops"),
    right("the second barrier first", (LOADS, "        __syncthreads();\n" + LOADS), (AFTER, "")),
    right(
        "a barrier of cooperative groups",
        ("#define SPAN", "#include <cooperative_groups.h>\n#define SPAN"),
        (BEFORE, "        cooperative_groups::this_thread_block().sync();\n"),
    ),
    right(
        "down from the last cell",
        (f"r = threadIdx.y; {ROWS}", "r = SPAN - 1 - threadIdx.y; r >= 0; r -= TILE_WIDTH"),
        (f"s = threadIdx.x; {COLUMNS}", "s = SPAN - 1 - threadIdx.x; s >= 0; s -= TILE_WIDTH"),
        ("tile[r][s] = c", "if (top + r < H && left + s < W) tile[r][s] = c"),
    ),
    right(
        "256 threads along the cells of the tile",
        (
            "        for (int r = threadIdx.y; r < SPAN && top + r < H; r += TILE_WIDTH)\n"
            "            for (int s = threadIdx.x; s < SPAN && left + s < W; s += TILE_WIDTH)\n"
            "                tile[r][s] = channel[(top + r) * W + left + s];\n",
            "        const int t = threadIdx.y * TILE_WIDTH + threadIdx.x;\n"
            "        for (int i = t; i < SPAN * SPAN; i += TILE_WIDTH * TILE_WIDTH) {\n"
            "            const int r = i / SPAN, s = i % SPAN;\n"
            "            const bool inside = top + r < H && left + s < W;\n"
            "            tile[r][s] = inside ? channel[(top + r) * W + left + s] : 0.0f;\n"
            "        }\n",
        ),
    ),
    right("a wider pitch", ("-DPITCH=22", "-DPITCH=48")),
    right(
        "a row for each warp",
        (f"int r = threadIdx.y; {ROWS}", f"int r = {WARP}; {ROWS.replace('TILE_WIDTH', '8')}"),
        (
            f"int s = threadIdx.x; {COLUMNS}",
            f"int s = {LANE}; {COLUMNS.replace('TILE_WIDTH', '32')}",
        ),
    ),
)

WRONG = (
    wrong(
        "the sum in y",
        (
            "    float sum = 0.0f;",
            "    float& sum = y[(((size_t)b * M + m) * out_h + h) * out_w + w];\n"
            "    if (h < out_h && w < out_w) sum = 0.0f;",
        ),
        (STORE, ""),
        status="budget",
    ),
    wrong("image 0 and channel 0 for all", ("= channel[(top", "= x[(top")),
    wrong(
        "lanes go down the columns",
        ("int r = threadIdx.y", "int r = threadIdx.x"),
        ("int s = threadIdx.x", "int s = threadIdx.y"),
        status="budget",
    ),
    wrong(
        "one thread loads the tile",
        (
            "int r = threadIdx.y; r < SPAN && top + r < H; r += TILE_WIDTH",
            "int r = threadIdx.x + threadIdx.y == 0 ? 0 : SPAN; r < SPAN && top + r < H; ++r",
        ),
        (
            "int s = threadIdx.x; s < SPAN && left + s < W; s += TILE_WIDTH",
            "int s = 0; s < SPAN && left + s < W; ++s",
        ),
        status="budget",
    ),
    wrong(
        "one warp loads the tile",
        (
            f"int r = threadIdx.y; {ROWS}",
            f"int r = {WARP} * SPAN; {ROWS.replace('TILE_WIDTH', '1')}",
        ),
        (
            f"int s = threadIdx.x; {COLUMNS}",
            f"int s = {LANE}; {COLUMNS.replace('TILE_WIDTH', '32')}",
        ),
        status="budget",
    ),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("p and q exchanged", (CELL, "tile[threadIdx.y + q][threadIdx.x + p]")),
    wrong(
        "the tile is filled, and not used", (CELL, "channel[(h + p) * W + w + q]"), status="budget"
    ),
    wrong("the first channel alone", ("((size_t)b * C + c) * H", "((size_t)b * C) * H")),
    wrong("the filter turned", ("K + p) * K + q]", "K + K - 1 - p) * K + K - 1 - q]")),
)
