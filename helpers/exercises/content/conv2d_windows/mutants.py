"""The mistakes of conv2d_windows."""

from helpers.exercises.kit import mutant

WINDOW = "column / ACROSS * 2 * ROW + column % ACROSS + q;"
LOW = "window + n / K * PLANE + (n % K + row) * ROW;"
HIGH = "window + (n + 1) / K * PLANE + ((n + 1) % K + row) * ROW;"
PAIR, MAP = "first + 2 * q + i % 2;", "g + i / 2 * 8;"
STEP = "const int n = 2 * step;"

MUTANTS = (
    mutant(
        "Windows begin one row of x apart: a column of B serves two rows of outputs, so the next "
        "row of columns begins 2 * ROW Pairs further on.",
        (WINDOW, "column / ACROSS * ROW + column % ACROSS + q;"),
    ),
    mutant(
        "All four lanes of a group take the same Pair: lane 4 g + q is q Pairs further on.",
        (WINDOW, "column / ACROSS * 2 * ROW + column % ACROSS;"),
    ),
    mutant(
        "The lane's place in its group, q, moves its window on by q Pairs. Yours moves on by g, "
        "which has chosen the column.",
        (WINDOW, "column / ACROSS * 2 * ROW + column % ACROSS + g;"),
    ),
    mutant(
        "A row of outputs has ACROSS columns of B, one for each pair, and not OUT_W.",
        (WINDOW, "column / OUT_W * 2 * ROW + column % OUT_W + q;"),
    ),
    mutant(
        "Both rows of outputs are the same: for `row` = 1 the window begins one row lower.",
        (LOW, "window + n / K * PLANE + n % K * ROW;"),
        (HIGH, "window + (n + 1) / K * PLANE + (n + 1) % K * ROW;"),
    ),
    mutant(
        "All channels take the cells of the first one: filter row n belongs to channel n / K, "
        "which begins n / K * PLANE Pairs further on.",
        (LOW, "window + (n % K + row) * ROW;"),
        (HIGH, "window + ((n + 1) % K + row) * ROW;"),
    ),
    mutant(
        "Row n of the filter takes the cells n rows below the window. Only n % K of these rows "
        "belong to its channel, and the channel begins n / K * PLANE Pairs further on.",
        (LOW, "window + (n + row) * ROW;"),
        (HIGH, "window + (n + 1 + row) * ROW;"),
    ),
    mutant(
        "Filter row n is row n % K of its channel. Yours lies n rows below the channel's first "
        "one, which leaves the image.",
        (LOW, "window + n / K * PLANE + (n + row) * ROW;"),
        (HIGH, "window + (n + 1) / K * PLANE + (n + 1 + row) * ROW;"),
    ),
    mutant(
        "`high` lies one row below `low`, which is wrong where the second row of a step belongs "
        "to the next channel: work out n + 1 as you did n.",
        (HIGH, "low + ROW;"),
    ),
    mutant(
        "A step takes two rows of the filter: its first one is 2 * step, and not `step`.",
        (STEP, "const int n = step;"),
    ),
    mutant(
        "`low` is always taken from channel 0: filter row n belongs to channel n / K, which "
        "begins n / K * PLANE Pairs further on.",
        (LOW, "window + (n % K + row) * ROW;"),
    ),
    mutant(
        "low and high are exchanged: b_low holds the first of the two filter rows.",
        (f"low = {LOW}", f"high = {LOW}"),
        (f"high = {HIGH}", f"low = {HIGH}"),
    ),
    mutant(
        "The maps are exchanged: registers 0 and 1 belong to row g of A, registers 2 and 3 to row "
        "g + 8.",
        (MAP, "g + (1 - i / 2) * 8;"),
    ),
    mutant(
        "g and q are exchanged in gap 3: a lane has loaded column g of B, and it gets the sums of "
        "columns 2 q and 2 q + 1. The maps are g and g + 8.",
        (PAIR, "first + g;"),
        (MAP, "2 * q + i % 2 + i / 2 * 8;"),
    ),
    mutant(
        "Registers 1 and 2 are exchanged: register 1 is the next column of B, 2 q + 1, and "
        "register 2 is the map g + 8.",
        (PAIR, "first + 2 * q + i / 2;"),
        (MAP, "g + i % 2 * 8;"),
    ),
    mutant(
        "The two columns of a lane are neighbours, 2 q and 2 q + 1. Yours are q and q + 4.",
        (PAIR, "first + q + i % 2 * 4;"),
    ),
    mutant(
        "The two maps of a lane are g and g + 8. Yours are 2 g and 2 g + 1.",
        (MAP, "2 * g + i / 2;"),
    ),
    mutant(
        "Several lanes store the same output. A lane loads column g of B, but it gets the sums of "
        "columns 2 q and 2 q + 1, of the rows g and g + 8 of A.",
        (PAIR, "first + g;"),
    ),
)
