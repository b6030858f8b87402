"""Answers to transpose, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("rows of 33 cells"),
    right("turned while it is filled, rotated rows", file="right_turned_store.cu"),
)


WRONG = (
    wrong("no tile", file="wrong_direct.cu", status="budget"),
    wrong("rows of 32 cells", ("tile[32][33]", "tile[32][32]"), status="budget"),
    wrong(
        "one warp fills the tile",
        (
            "    if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = N[y * width + x];",
            "    for (int r = 0; threadIdx.y == 0 && r < 32; ++r)\n"
            "        if (x < width && y + r < height)\n"
            "            tile[r][threadIdx.x] = N[(y + r) * width + x];",
        ),
        status="budget",
    ),
)
