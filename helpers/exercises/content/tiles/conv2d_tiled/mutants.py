"""The mistakes of conv2d_tiled."""

from helpers.exercises.kit import mutant

ROWS, COLUMNS = "r < SPAN && top + r < H", "s < SPAN && left + s < W"
CELL = "tile[threadIdx.y + p][threadIdx.x + q]"
BEFORE = "__syncthreads();   // outputs read"
AFTER = "__syncthreads();   // the next channel overwrites"
BRANCH = "        if (h < out_h && w < out_w) {\n"

ZERO = "All sums are 0: multiply each weight with a cell of the tile."
BLOCK_0 = "Every block has the tile of block 0: its cells begin at row `top` and column `left`."
NOT_LOADED = "A part of the tile was not loaded. There are 256 threads and 484 cells:"
TWO_BARRIERS = (
    "Two barriers are needed in the loop over the channels: one between the loads and the sums, "
    "one between the sums and the next channel's loads."
)
LEAVES = "At the right and the lower edge a tile leaves the image: load a cell only if its"

WINDOW = (  # what conv2d_tiled_maps shares
    mutant(
        "All threads of a block have the same window: that of a thread begins in row threadIdx.y "
        "and column threadIdx.x of the tile.",
        (CELL, "tile[p][q]"),
    ),
    mutant(
        "Rows and columns of the tile are exchanged: threadIdx.y belongs to the row of a cell, "
        "threadIdx.x to its column.",
        (CELL, "tile[threadIdx.x + p][threadIdx.y + q]"),
    ),
    mutant(
        "The tile has rows 0 to 21 and columns 0 to 21: index it from the block's first cell, "
        "with threadIdx, not with h and w.",
        (CELL, "tile[h + p][w + q]"),
    ),
)
MUTANTS = (
    mutant(ZERO, (CELL, "0.0f")),
    *WINDOW,
    mutant(BLOCK_0, ("channel[(top + r) * W + left + s]", "channel[r * W + s]")),
    mutant(
        "The tile has rows 0 to 21 and columns 0 to 21: the cell in row top + r and column "
        "left + s of the channel stands in row r and column s of it.",
        ("tile[r][s] = ", "tile[top + r][left + s] = "),
    ),
    mutant(
        f"{NOT_LOADED} each thread loads up to four, in every 16th row and every 16th column.",
        ("r += TILE_WIDTH", "r += SPAN"),
        ("s += TILE_WIDTH", "s += SPAN"),
    ),
    mutant(
        f"{NOT_LOADED} each thread loads cells in every 16th row, and yours in one row alone.",
        ("r += TILE_WIDTH", "r += SPAN"),
    ),
    mutant(
        f"{NOT_LOADED} each thread loads cells in every 16th column, and yours in one column "
        "alone.",
        ("s += TILE_WIDTH", "s += SPAN"),
    ),
    mutant(TWO_BARRIERS, (BEFORE, "// outputs read"), (AFTER, "// the next channel overwrites")),
    mutant(
        f"{TWO_BARRIERS} The first of them is missing.",
        (BEFORE, "// outputs read"),
    ),
    mutant(
        f"{TWO_BARRIERS} The second of them is missing.",
        (AFTER, "// the next channel overwrites"),
    ),
    mutant(
        "Threads without an output skip the branch, and must come to the barrier, too: it belongs "
        "outside of the branch.",
        (BEFORE, "// outputs read"),
        (BRANCH, f"{BRANCH}__syncthreads();\n"),
    ),
    mutant(
        f"{LEAVES} row top + r is below H, and its column left + s below W.",
        (ROWS, "r < SPAN"),
        (COLUMNS, "s < SPAN"),
    ),
    mutant(f"{LEAVES} row top + r is below H.", (ROWS, "r < SPAN")),
    mutant(
        f"{LEAVES} column left + s is below W. A row of the channel has W cells.",
        (COLUMNS, "s < SPAN"),
    ),
)
