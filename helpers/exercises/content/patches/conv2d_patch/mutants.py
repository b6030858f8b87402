"""The mistakes of conv2d_patch."""

from helpers.exercises.content.tiles.conv2d_two.mutants import LAST_CELLS
from helpers.exercises.kit import mutant

CELL = "h + r < H && w + i < W ? x[(h + r) * W + w + i] : 0.0f"
IS_ROW = "if (r - o >= 0 && r - o < 7)"
STORED = "if (h + o < out_h && w + i < out_w)"

FILTER_ROWS = (
    "The filter has rows 0 to 6: row r of the window is its row r for the upper outputs, and r - 1 "
    "for the lower ones."
)
PARTIAL = (
    "A partial patch ends at H and W: cells beyond count as 0, and outputs beyond are not stored. "
    "H and W are two numbers: neither follows from the other."
)
TWO_SIZES = (
    "22 x 38 cells are right, other sizes are not: out_h follows from H and out_w from W, which "
    "are two numbers. Neither follows from the other."
)
ROW_OF_A_PATCH = "A row of the patch has 10 cells and 4 sums."
EQUAL_COLUMNS = "The four columns of a patch are equal: sum[o][i] belongs to cell[i + q]."

MUTANTS = (
    mutant(
        "All sums are 0: load rows of cells, and add up their products with the weights.",
        ("r = 0; r < 8", "r = 0; r < 0"),
    ),
    *(
        mutant(
            f"Rows {rows} to 7 of the window are left out: it has eight rows of cells, 0 to 7.",
            ("r < 8", f"r < {rows}"),
        )
        for rows in range(1, 7)
    ),
    *(
        mutant(
            f"The filter's {what} from {first} on are left out: it has seven, 0 to 6.",
            (f"{index} < 7", f"{index} < {first}"),
        )
        for first in range(1, 7)
        for what, index in (("rows", "r - o"), ("columns", "q"))
    ),
    mutant(f"Cells in the last K - 1 rows {LAST_CELLS}", ("h + r < H", "h + r < out_h")),
    mutant(f"Cells in the last K - 1 columns {LAST_CELLS}", ("w + i < W", "w + i < out_w")),
    mutant(
        f"Cells in the last K - 1 rows and columns {LAST_CELLS}",
        ("h + r < H", "h + r < out_h"),
        ("w + i < W", "w + i < out_w"),
    ),
    mutant(EQUAL_COLUMNS, ("cell[i + q]", "cell[q]")),
    mutant(EQUAL_COLUMNS, ("cell[i + q]", "cell[o + q]")),
    mutant(
        "Only the upper row of each patch is right: row r of the window is row r - 1 of the filter "
        "for the lower one.",
        ("r - o) * 7", "min(r, 6)) * 7"),
    ),
    mutant(
        "Only the upper row of each patch is right: the lower one needs row 7 of the window, too.",
        ("r < 8", "r < 7"),
    ),
    mutant(
        "Only the lower row of each patch is right: for the upper one the filter's rows are 0 to "
        "6.",
        ("r = 0", "r = 1"),
    ),
    mutant(TWO_SIZES, ("out_h = H - 6", "out_h = W - 22")),
    mutant(TWO_SIZES, ("out_w = W - 6", "out_w = H + 10")),
    mutant(
        "The lower row of each patch is never stored: a thread has two rows of outputs.",
        (STORED, "if (o < 1 && w + i < out_w)"),
    ),
    mutant(FILTER_ROWS, (IS_ROW, "")),
    mutant(FILTER_ROWS, (IS_ROW, "if (r - o >= 0)")),
    mutant(PARTIAL, (CELL, "x[(h + r) * W + w + i]")),
    mutant(PARTIAL, ("h + r < H && ", "")),
    mutant(PARTIAL, ("h + o < out_h && ", "")),
    mutant(
        "Two threads store the same output. An output in column out_w or more is one of the next "
        "row, which has a thread of its own: store it only where h + o < out_h and w + i < out_w.",
        (" && w + i < out_w", ""),
    ),
    mutant(ROW_OF_A_PATCH, ("i < 10", "i < 11")),
    mutant(
        ROW_OF_A_PATCH,
        ("i < 4; ++i)\n                    if", "i < 5; ++i)\n                    if"),
    ),
)
