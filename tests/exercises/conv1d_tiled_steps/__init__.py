"""Answers to conv1d_tiled_steps, right and wrong."""

from tests.exercises.answers import right, wrong

END = "s < TILE_WIDTH + 2 * RADIUS; s"
CELL = "tile[threadIdx.x + j] * filter[j]"

RIGHT = (
    right("zeros first, then the cells", file="right_zeros_first.cu"),
    right("a loop over the tile"),
    right(
        "two statements",
        (
            "    // 1. Load TILE_WIDTH + 2 * RADIUS cells: tile[s] holds cell first + s, or "
            "0 for a ghost.\n"
            "    //    Thread t loads tile[t], and tile[t + TILE_WIDTH] if the tile has "
            "that cell.\n"
            "    for (int s = threadIdx.x; s < TILE_WIDTH + 2 * RADIUS; s += TILE_WIDTH) {\n"
            "        const int cell = first + s;\n"
            "        tile[s] = cell >= 0 && cell < n ? N[cell] : 0.0f;\n",
            "    const int cell = first + threadIdx.x;\n"
            "    tile[threadIdx.x] = cell >= 0 && cell < n ? N[cell] : 0.0f;\n"
            "    if (threadIdx.x < 2 * RADIUS) {\n"
            "        const int more = cell + TILE_WIDTH;\n"
            "        tile[threadIdx.x + TILE_WIDTH] = more >= 0 && more < n ? N[more] : 0.0f;\n",
        ),
    ),
    right(
        "two neighbours a thread",
        (
            f"int s = threadIdx.x; {END} += TILE_WIDTH",
            f"int s = 2 * threadIdx.x; {END} += s % 2 ? 2 * TILE_WIDTH - 1 : 1",
        ),
    ),
    right("the place in another order", (CELL, "filter[j] * *(tile + j + threadIdx.x)")),
)


WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong(
        "one thread loads the tile",
        (
            "int s = threadIdx.x; s < TILE_WIDTH + 2 * RADIUS; s += TILE_WIDTH",
            "int s = 0; threadIdx.x == 0 && s < TILE_WIDTH + 2 * RADIUS; ++s",
        ),
        status="budget",
    ),
    wrong(
        "the last warp loads the tile",
        (
            f"int s = threadIdx.x; {END} += TILE_WIDTH",
            f"int s = threadIdx.x - TILE_WIDTH + 32; s >= 0 && {END} += 32",
        ),
        status="budget",
    ),
    wrong(
        "the sum reads N",
        (CELL, "(i + j >= RADIUS && i + j - RADIUS < n ? N[i + j - RADIUS] : 0.0f) * filter[j]"),
        status="budget",
    ),
)
