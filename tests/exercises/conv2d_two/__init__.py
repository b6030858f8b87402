"""Answers to conv2d_two, right and wrong."""

from tests.exercises.answers import right, wrong

LOADS = """    for (int r = threadIdx.y; r < 22; r += 8)
        for (int s = threadIdx.x; s < 22; s += 16)
            tile[r][s] = top + r < H && left + s < W ? x[(top + r) * W + left + s] : 0.0f;
"""
CELLS = """    for (int i = threadIdx.y * 16 + threadIdx.x; i < 22 * 22; i += 128) {
        const int r = i / 22, s = i % 22;
        float cell = 0.0f;
        if (top + r < H && left + s < W) cell = x[(top + r) * W + left + s];
        tile[r][s] = cell;
    }
"""
TWICE = CELLS.replace("float cell =", "tile[r][s] =").replace(") cell =", ") tile[r][s] =")
TWICE = TWICE.replace("        tile[r][s] = cell;\n", "")
CELL = "x[(top + r) * W + left + s]"

RIGHT = (
    right("one loop over the tile", (LOADS, CELLS)),
    right("columns, one cell behind the other", file="right_columns.cu"),
    right("eight rows, two sums"),
    right("a row in registers", file="right_rows.cu"),
    right("a pitch of 40", ("PITCH=24", "PITCH=40")),
)


WRONG = (
    wrong("a zero first, then the cell", (LOADS, TWICE), status="budget"),
    wrong("rows as long as those of outputs", (CELL, CELL.replace("* W", "* (W - 6)"))),
    wrong(
        "one warp loads the tile",
        ("int r = threadIdx.y; r < 22; r += 8", "int r = threadIdx.y / 2 * 22; r < 22; ++r"),
        (
            "int s = threadIdx.x; s < 22; s += 16",
            "int s = threadIdx.y % 2 * 16 + threadIdx.x; s < 22; s += 32",
        ),
        status="budget",
    ),
    wrong(
        "a cell number in a short",
        ("x[(top + r) * W + left + s]", "x[short((top + r) * W + left + s)]"),
        status="finding",
    ),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("the tile read for each output anew", file="wrong_two_readings.cu", status="budget"),
    wrong("the tile is filled and ignored, sums from x", file="wrong_ignored.cu", status="budget"),
    wrong(
        "sizes written into the kernel",
        ("int H, int W)\n{", "int, int)\n{\n    const int H = 23, W = 30;"),
        status="finding",
    ),
    wrong("the pitch stays", ("PITCH=24", "PITCH=22"), status="budget"),
    wrong(
        "the lower output with the upper one's rows",
        ("(m * 7 + p - 1) * 7", "(m * 7 + p) * 7"),
        status="finding",
    ),
    wrong(
        "the lower output with the filter's rows upside down",
        (
            "if (p > 0) sum[1] += cell * filter[(m * 7 + p - 1)",
            "if (p < 7) sum[1] += cell * filter[(m * 7 + 6 - p)",
        ),
    ),
    wrong("nothing is written", ("            y[(m", "            if (H < 0) y[(m")),
)
