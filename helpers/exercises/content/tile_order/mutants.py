"""The mistakes of tile_order."""

from helpers.exercises.kit import mutant

FIRST = ("tile / (BAND * wide) * BAND", "0")
ROW, COLUMN = "first + within % rows", "within / rows"
LOOP = "for (int tile = blockIdx.x; tile < high * wide; tile += gridDim.x) {"
ONE_TILE = (
    "Each block computes one tile and ends: the loop goes on to tile + gridDim.x, until there is "
    "no tile left."
)
ROW_BY_ROW = (
    "The tiles come row by row, over the whole width of Y. Within a band, the tiles of one column "
    "come first, then those of the next column."
)

MUTANTS = (
    mutant(ROW_BY_ROW, (ROW, "tile / wide"), (COLUMN, "tile % wide")),
    mutant(
        "The tiles come column by column, over the whole height of Y. A column ends with the band, "
        "after BAND rows.",
        FIRST,
        ("min(BAND, high - first)", "high"),
    ),
    mutant(
        "Only the last band is wrong: it has high - first rows where these are fewer than BAND.",
        ("min(BAND, high - first)", "BAND"),
    ),
    mutant(
        "The first band is right. In a later band, number the tiles from 0 again: first * wide "
        "tiles came before it.",
        ("tile - first * wide", "tile"),
    ),
    mutant(
        "The bands overlap: tile / (BAND * wide) is the number of the band, and BAND times that is "
        "its first row.",
        ("(BAND * wide) * BAND", "(BAND * wide)"),
    ),
    mutant(
        "It is right for bands of 4 rows only: a band has BAND rows.",
        ("tile / (BAND * wide) * BAND", "tile / (4 * wide) * 4"),
        ("min(BAND,", "min(4,"),
    ),
    mutant(
        "The bands are columns in yours: BAND columns, row by row. They should be BAND rows, "
        "column by column.",
        ("tile / (BAND * wide) * BAND", "tile / (BAND * high) * BAND"),
        ("high - first", "wide - first"),
        ("first * wide;", "first * high;"),
        (ROW, "within / rows"),
        ("const int column = within / rows", "const int column = first + within % rows"),
    ),
    mutant(
        "Within a band, a column is computed from its last row to its first: begin with the first.",
        (ROW, "first + rows - 1 - within % rows"),
    ),
    mutant(ONE_TILE, (LOOP, "for (int tile = blockIdx.x; tile < blockIdx.x + 1; ++tile) {")),
    mutant(ONE_TILE, ("tile += gridDim.x", "tile = high * wide")),
    mutant(
        "A block computes neighbouring tiles one after the other. So the tiles that are computed "
        "at the same time lie far apart: the next tile of a block is gridDim.x further on.",
        (
            LOOP,
            "const int share = (high * wide + gridDim.x - 1) / gridDim.x;\n"
            "    for (int tile = blockIdx.x * share;\n"
            "         tile < min((int)(blockIdx.x + 1) * share, high * wide); ++tile) {",
        ),
    ),
    mutant(
        "Several blocks compute the same tile: the first tile of a block is blockIdx.x, and each "
        "further one is gridDim.x after it.",
        ("tile += gridDim.x", "++tile"),
    ),
    mutant(
        "Several blocks compute the same tile: the first tile of a block is its blockIdx.x, not 0.",
        ("tile = blockIdx.x;", "tile = 0;"),
    ),
    mutant(
        "A block goes on past the last tile: there are high * wide tiles, from 0 on.",
        ("tile < high * wide", "tile <= high * wide"),
    ),
    mutant(
        "The last tile is not computed: the last one has the number high * wide - 1.",
        ("tile < high * wide", "tile < high * wide - 1"),
    ),
)
