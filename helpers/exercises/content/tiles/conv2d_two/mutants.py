"""The mistakes of conv2d_two."""

from helpers.exercises.content.tiles.conv2d_tiled.mutants import BLOCK_0
from helpers.exercises.kit import mutant

BELOW, RIGHT = "top + r < H", "left + s < W"
CELL = "x[(top + r) * W + left + s]"
UPPER, LOWER = "if (p < 7) sum[0]", "if (p > 0) sum[1]"
OWN_ROW = "filter[(m * 7 + p - 1) * 7 + q]"

NOT_LOADED = "A part of the tile was not loaded. There are 128 threads and 484 cells:"
LEAVES = "At the right and the lower edge a tile leaves the image: load a cell only where"
LAST_CELLS = (
    "of the image count as 0 in yours. There are H rows and W columns of cells. Only the outputs "
    "end at H - K + 1 and W - K + 1."
)

MUTANTS = (
    mutant(
        "Both sums are 0: load the tile, wait at a barrier, and add up the products.",
        ("p < 8", "p < 0"),
    ),
    mutant("Only the upper output of each pair is right.", (LOWER, "if (p > 8) sum[1]")),
    mutant("Only the lower output of each pair is right.", (UPPER, "if (p < 0) sum[0]")),
    mutant(
        "The last row of the lower output's window is left out: the windows of two outputs have "
        "eight rows together.",
        ("p < 8", "p < 7"),
    ),
    mutant(
        "The lower output of each pair is the same as the upper one: its window begins one row "
        "lower, so that row p meets row p - 1 of the filter.",
        (LOWER, "if (p < 7) sum[1]"),
        (OWN_ROW, "filter[(m * 7 + p) * 7 + q]"),
    ),
    mutant(
        "A filter has rows 0 to 6: row 0 of the window does not belong to the lower output.",
        (LOWER, "sum[1]"),
    ),
    mutant(
        "A filter has rows 0 to 6. Row 7 of the window belongs to the lower output alone, and "
        "meets row 6 of the filter.",
        (UPPER, "sum[0]"),
    ),
    mutant(
        "A window begins in row threadIdx.y of the tile: a thread has two rows of outputs, so its "
        "window begins in row `row`, 2 * threadIdx.y.",
        ("tile[row + p]", "tile[threadIdx.y + p]"),
    ),
    mutant(BLOCK_0, (CELL, "x[r * W + s]")),
    mutant(f"Cells in the last K - 1 rows {LAST_CELLS}", (BELOW, "top + r < H - 6")),
    mutant(f"Cells in the last K - 1 columns {LAST_CELLS}", (RIGHT, "left + s < W - 6")),
    mutant(
        f"Cells in the last K - 1 rows and columns {LAST_CELLS}",
        (BELOW, "top + r < H - 6"),
        (RIGHT, "left + s < W - 6"),
    ),
    mutant(
        f"{LEAVES} top + r < H and left + s < W, and 0 elsewhere.",
        (f"{BELOW} && {RIGHT} ? {CELL} : 0.0f", CELL),
    ),
    mutant(f"{LEAVES} top + r < H, too, and 0 elsewhere.", (f"{BELOW} && ", "")),
    mutant(f"{LEAVES} left + s < W, too, and 0 elsewhere.", (f" && {RIGHT}", "")),
    mutant(
        f"{NOT_LOADED} r goes on in steps of 8 and s in steps of 16, as long as they are below 22.",
        ("r += 8", "r += 22"),
        ("s += 16", "s += 22"),
    ),
    mutant(
        f"{NOT_LOADED} there are 8 rows of threads, and r goes on in steps of 8.",
        ("r += 8", "r += 16"),
    ),
    mutant(
        "A thread reads cells of the tile that others have loaded: it must wait for them.",
        ("    __syncthreads();\n", ""),
    ),
    mutant(
        "Two threads store the same output. A thread's outputs are in rows top + row and top + "
        "row + 1.",
        ("top + row + o < H", "top + row + 8 * o < H"),
        ("top + row + o) *", "top + row + 8 * o) *"),
    ),
)
