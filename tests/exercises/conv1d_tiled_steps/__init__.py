"""Answers to conv1d_tiled_steps, right and wrong."""

from tests.exercises.answers import right, wrong

END = "s < TILE_WIDTH + 2 * RADIUS; s"
CELL = "tile[threadIdx.x + j] * filter[j]"

RIGHT = (
    right("zeros first, then the cells", file="right_zeros_first.cu"),
    right("a loop over the tile"),
    right("two statements", file="right_two_statements.cu"),
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
