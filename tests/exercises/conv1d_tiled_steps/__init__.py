"""Answers to conv1d_tiled_steps, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

BARRIER = "    __syncthreads();\n"
GHOST = "cell >= 0 && cell < n ? N[cell] : 0.0f"
END = "s < TILE_WIDTH + 2 * RADIUS; s"
CELL = "tile[threadIdx.x + j] * filter[j]"

RIGHT = (
    right("zeros first, then the cells", "right_zeros_first.cu"),
    right("a loop over the tile"),
    right("two statements", "right_two_statements.cu"),
    right(
        "two neighbours a thread",
        "solution.cu",
        (
            f"int s = threadIdx.x; {END} += TILE_WIDTH",
            f"int s = 2 * threadIdx.x; {END} += s % 2 ? 2 * TILE_WIDTH - 1 : 1",
        ),
    ),
    right(
        "the place in another order",
        "solution.cu",
        (CELL, "filter[j] * *(tile + j + threadIdx.x)"),
    ),
)


WRONG = (
    wrong(
        "tiles of 256, whatever they are",
        "tiles of 256 outputs only",
        ("s += TILE_WIDTH", "s += 256"),
        status="finding",
    ),
    wrong(
        "the first cell in a long long",
        "blockidx.x has no sign",
        ("const int first = ", "const long long first = "),
        ("const int cell = ", "const long long cell = "),
    ),
    wrong("the stub", "gap 3", file="stub.cu", status="not_begun"),
    wrong(
        "31 weights written into the kernel",
        "31 weights only",
        (END, "s < 286; s"),
        status="finding",
    ),
    wrong(
        "one thread loads the tile",
        "All threads of the block load",
        (
            "int s = threadIdx.x; s < TILE_WIDTH + 2 * RADIUS; s += TILE_WIDTH",
            "int s = 0; threadIdx.x == 0 && s < TILE_WIDTH + 2 * RADIUS; ++s",
        ),
        status="budget",
    ),
    wrong(
        "the last warp loads the tile",
        "while the others have nothing to do",
        (
            f"int s = threadIdx.x; {END} += TILE_WIDTH",
            f"int s = threadIdx.x - TILE_WIDTH + 32; s >= 0 && {END} += 32",
        ),
        status="budget",
    ),
    wrong("no second round", "second one", (END, "s < TILE_WIDTH; s"), status="finding"),
    wrong(
        "a halo one cell short",
        "second one",
        (END, END.replace("; s", " - 1; s")),
        status="finding",
    ),
    wrong("no barrier", "gap 2", (BARRIER, ""), status="finding"),
    wrong("no ghost on the left", "a ghost", ("cell >= 0 && ", ""), status="finding"),
    wrong("no ghost on the right", "a ghost", (" && cell < n", ""), status="finding"),
    wrong(
        "ghosts on the left are left as they were",
        "a ghost has a place",
        ("tile[s] = " + GHOST, "if (cell >= 0) tile[s] = cell < n ? N[cell] : 0.0f"),
        status="finding",
    ),
    wrong(
        "ghosts on the right are left as they were",
        "a ghost has a place",
        ("tile[s] = " + GHOST, "if (cell < n) tile[s] = cell >= 0 ? N[cell] : 0.0f"),
        status="finding",
    ),
    wrong(
        "all ghosts are left as they were",
        "a ghost has a place",
        ("tile[s] = " + GHOST, "if (cell >= 0 && cell < n) tile[s] = N[cell]"),
        status="finding",
    ),
    wrong("nothing is loaded", "second one", ("tile[s] = " + GHOST, ""), status="finding"),
    wrong(
        "ghosts are the cell at the edge",
        "not as the cell",
        (GHOST, "N[min(max(cell, 0), n - 1)]"),
    ),
    wrong(
        "the window begins at the output",
        "places 0 to 285",
        (CELL, "tile[threadIdx.x + RADIUS + j] * filter[j]"),
        status="finding",
    ),
    wrong(
        "the filter is flipped",
        "flipped",
        (CELL, "tile[threadIdx.x + 2 * RADIUS - j] * filter[j]"),
    ),
    wrong(
        "the sum reads N",
        "not from n",
        (CELL, "(i + j >= RADIUS && i + j - RADIUS < n ? N[i + j - RADIUS] : 0.0f) * filter[j]"),
        status="budget",
    ),
)
