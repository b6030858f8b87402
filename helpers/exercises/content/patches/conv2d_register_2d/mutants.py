"""The mistakes of conv2d_register_2d."""

from helpers.exercises.kit import mutant

FILL = "tile[row + h + p][column + i]"
CELL = "cell[h][w + q]"
WEIGHT = "weight = filter[c][p][q][map + m]"

MUTANTS = (
    mutant(
        "All sums are 0: fill the cells, and add their products with the weights.",
        ("q = 0; q < K", "q = 0; q < 0"),
    ),
    mutant(
        "Both rows of a patch have the values of the upper one: the lower output's cells lie a row "
        "further down, in cell[1].",
        (CELL, "cell[0][w + q]"),
    ),
    mutant(
        "All columns of a patch have the value of its first one: output w meets weight q with the "
        "cell in column w + q.",
        (CELL, "cell[h][q]"),
    ),
    mutant(
        "All maps of a thread have the weights of its first one: the map is map + m.",
        (WEIGHT, "weight = filter[c][p][q][map]"),
    ),
    mutant(
        "All patches have the weights of the first MAPS maps: the map is map + m.",
        (WEIGHT, "weight = filter[c][p][q][m]"),
    ),
    mutant(
        "All patches of a block have the cells of its first row of patches: the row of a cell in "
        "the tile is row + h + p.",
        (FILL, "tile[h + p][column + i]"),
    ),
    mutant(
        "All patches of a block have the cells of its first column of patches: the column of a "
        "cell in the tile is column + i.",
        (FILL, "tile[row + h + p][i]"),
    ),
    mutant(
        "Each row of the filter meets its cells from right to left: output w meets weight q with "
        "the cell in column w + q.",
        (CELL, "cell[h][w + K - 1 - q]"),
    ),
    mutant(
        "Patches overlap: a patch has two rows, so it begins in row 2 * threadIdx.y of the tile, "
        "which is `row`.",
        (FILL, "tile[threadIdx.y + h + p][column + i]"),
    ),
    mutant(
        "Patches overlap: a patch has four columns, so it begins in column 4 * threadIdx.x of the "
        "tile, which is `column`.",
        (FILL, "tile[row + h + p][threadIdx.x + i]"),
    ),
    *(
        mutant(
            f"The filter's columns from {first} on are left out: q goes from 0 to 6.",
            ("q = 0; q < K", f"q = 0; q < {first}"),
        )
        for first in range(1, 6)
    ),
    mutant(
        "The filter has rows p and columns q from 0 to 6, and channels from 0 to CHANNELS - 1.",
        ("p = 0; p < K", "p = 0; p <= K"),
    ),
    mutant(
        "The axes of filter are channel, row, column and map: filter[c][p][q][map + m].",
        (WEIGHT, "weight = filter[p][c][q][map + m]"),
    ),
    mutant(
        "A patch has MAPS maps, and MAPS is not always 4: let the loop over m end there.",
        ("m < MAPS; ++m) {", "m < 4; ++m) {"),
    ),
    mutant(
        "cell has 2 rows of 10 cells, 0 to 9: the last one is 3 + 6, of output 3 and weight 6.",
        ("i < 10", "i <= 10"),
    ),
    mutant(
        "The tile begins at the block's first cell: index it with row and column, which are the "
        "patch's place in it, and not with top and left.",
        (FILL, "tile[top + row + h + p][left + column + i]"),
    ),
    mutant("Fill all 2 x 10 cells before they are used.", ("i < 10", "i < 9")),
    mutant("Fill all 2 x 10 cells before they are used.", (f"cell[h][i] = {FILL};", ";")),
)
