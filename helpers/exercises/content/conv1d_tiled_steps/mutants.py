"""The mistakes of conv1d_tiled_steps."""

from helpers.exercises.kit import mutant

BARRIER = "    __syncthreads();\n"
GHOST = "cell >= 0 && cell < n ? N[cell] : 0.0f"
LOAD = f"tile[s] = {GHOST}"
END = "s < TILE_WIDTH + 2 * RADIUS; s"
CELL = "tile[threadIdx.x + j] * filter[j]"

NOT_SET = (
    "A ghost has a place in the tile, too, and nothing stored a 0 there: a thread whose cell is "
    "outside N must store 0."
)
NOT_LOADED = (
    "A part of the tile was not loaded. It has 2 * RADIUS cells more than the block has threads, "
    "so the first 2 * RADIUS threads load a second one."
)
OUTSIDE = "That cell is a ghost: store 0 in its place in the tile, and do not read N."

MUTANTS = (
    mutant("All sums are 0: gap 3 wants a cell of the tile.", (CELL, "0.0f * filter[j]")),
    mutant(
        "The outputs of block 0 are 0, because none of its cells is found in N. blockIdx.x is "
        "unsigned: 0 * TILE_WIDTH - RADIUS is a large number, unless you store it in an int. For "
        "a long long, write (long long)blockIdx.x.",
        ("const int first = ", "const long long first = "),
        ("const int cell = ", "const long long cell = "),
    ),
    mutant(
        "Ghosts count as 0 here, not as the cell at the edge.",
        (GHOST, "N[min(max(cell, 0), n - 1)]"),
    ),
    mutant(
        "The filter is flipped: filter[j] belongs to tile[threadIdx.x + j].",
        (CELL, "tile[threadIdx.x + 2 * RADIUS - j] * filter[j]"),
    ),
    mutant(
        "It is right with 31 weights only: the tile has TILE_WIDTH + 2 * RADIUS cells.",
        (END, "s < 286; s"),
    ),
    mutant(
        "It is right with tiles of 256 outputs only: their number is TILE_WIDTH.",
        ("s += TILE_WIDTH", "s += 256"),
    ),
    mutant(NOT_SET, (LOAD, "if (cell >= 0) tile[s] = cell < n ? N[cell] : 0.0f")),
    mutant(NOT_SET, (LOAD, "if (cell < n) tile[s] = cell >= 0 ? N[cell] : 0.0f")),
    mutant(NOT_SET, (LOAD, "if (cell >= 0 && cell < n) tile[s] = N[cell]")),
    mutant(NOT_LOADED, (END, "s < TILE_WIDTH; s")),
    mutant(NOT_LOADED, (END, END.replace("; s", " - 1; s"))),
    mutant(NOT_LOADED, (LOAD, "")),
    mutant(
        "A thread may read a cell before another thread has loaded it. Gap 2 is a barrier: "
        "__syncthreads().",
        (BARRIER, ""),
    ),
    mutant(
        "Threads without an output must reach the barrier, too: they have cells to load. Guard "
        "only the store.",
        (BARRIER, "    if (blockIdx.x * TILE_WIDTH + threadIdx.x < n) __syncthreads();\n"),
    ),
    mutant(OUTSIDE, ("cell >= 0 && ", "")),
    mutant(OUTSIDE, (" && cell < n", "")),
    mutant(
        "The tile has places 0 to 285. The window of thread 255 ends at the last one: it begins at "
        "tile[threadIdx.x].",
        (CELL, "tile[threadIdx.x + RADIUS + j] * filter[j]"),
    ),
)
