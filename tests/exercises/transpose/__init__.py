"""Answers to transpose, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("rows of 33 cells"),
    right("turned while it is filled, rotated rows", "right_turned_store.cu"),
)


WRONG = (
    wrong("no tile", "where can a block keep", file="wrong_direct.cu", status="budget"),
    wrong("rows of 32 cells", "in one bank", ("tile[32][33]", "tile[32][32]"), status="budget"),
    wrong(
        "no barrier",
        "between filling the tile and reading it",
        ("    __syncthreads();\n", ""),
        status="finding",
    ),
    wrong(
        "the guards of the load for the store",
        "the guards change places",
        ("column < height && row < width", "x < width && y < height"),
        status="finding",
    ),
    wrong(
        "the blocks do not change places",
        "the .x and .y of blockidx",
        ("column = blockIdx.y", "column = blockIdx.x"),
        ("row = blockIdx.x", "row = blockIdx.y"),
        status="finding",
    ),
    wrong(
        "the tile is not turned",
        "the two indices of the tile",
        ("= tile[threadIdx.x][threadIdx.y]", "= tile[threadIdx.y][threadIdx.x]"),
        status="finding",
    ),
    wrong(
        "no guard of the load",
        "if x < width and y < height",
        ("    if (x < width && y < height) tile", "    tile"),
        status="finding",
    ),
    wrong(
        "rows of P of width cells",
        "one row is `height` cells behind the row before",
        ("row * height", "row * width"),
        status="finding",
    ),
    wrong(
        "copied",
        "in their order",
        (
            "    if (column < height && row < width) P[row * height + column] = "
            "tile[threadIdx.x][threadIdx.y]",
            "    if (x < width && y < height) P[y * width + x] = "
            "tile[threadIdx.y][threadIdx.x] + 0 * (row + column)",
        ),
    ),
    wrong(
        "one warp fills the tile",
        "a warp that loads for the others",
        (
            "    if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = N[y * width + x];",
            "    for (int r = 0; threadIdx.y == 0 && r < 32; ++r)\n"
            "        if (x < width && y + r < height)\n"
            "            tile[r][threadIdx.x] = N[(y + r) * width + x];",
        ),
        status="budget",
    ),
)
