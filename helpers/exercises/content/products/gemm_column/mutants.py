"""The mistakes of gemm_column."""

from helpers.exercises.content.products.mutants import of_steps
from helpers.exercises.kit import mutant

A, X = "tile_a[patch + r][i]", "tile_x[i][column]"
PRODUCTS = "r < PATCH; ++r) {\n                sum"
GUARD = "if (row < rows && col < cols) Y"

TWO_BLOCKS = (
    "Two blocks write one cell of Y: a block's rows begin at top, its columns at left, and a row "
    "of Y has cols cells."
)
AXES = "tile_a is [row of the tile][step along inner], tile_x is [step][column]."

MUTANTS = (
    *of_steps(
        products=(f"{A} * x", f"0 * {A} * x"),
        sums=("sum[r] += tile_a", "sum[r] = tile_a"),
        a=(A, "tile_a[patch + r][0]"),
        x=(X, "tile_x[0][column]"),
    ),
    mutant(
        "All 8 rows of a thread have the sum of the first one: the row of the cell of A depends on "
        "r, too.",
        (A, "tile_a[patch][i]"),
    ),
    mutant(
        "Every thread has the first 8 rows of the tile of A: yours begin with row `patch`.",
        (A, "tile_a[r][i]"),
    ),
    mutant(
        "The rows are right, and are in other places: the 8 rows of a thread are neighbours, "
        "from row `patch` on, where they are read and where they are stored.",
        (A, "tile_a[r * PATCH + patch / PATCH][i]"),
    ),
    mutant(
        "The patches of threads overlap: `patch` is a row of the tile already, the first one of "
        "the thread's 8.",
        (A, "tile_a[patch / PATCH + r][i]"),
    ),
    mutant(
        "The 8 rows of a thread stand upside down: where a row is added and where it is stored, it "
        "has one and the same r.",
        ("sum[r] += tile_a", "sum[PATCH - 1 - r] += tile_a"),
    ),
    mutant(
        "The row of A is that of the thread's column: a thread's rows begin with row `patch`.",
        (A, "tile_a[column][i]"),
    ),
    mutant(
        "The column of X is the first row of the thread's patch: it must be `column`.",
        (X, "tile_x[i][patch]"),
    ),
    mutant(
        "All outputs of a row are made of the first column of the tile of X: take `column`.",
        (X, "tile_x[i][0]"),
    ),
    mutant(
        "The first 8 columns of X stand in all: `column` goes up to TILE - 1.",
        (X, "tile_x[i][column % PATCH]"),
    ),
    mutant(
        "Each row of a patch has another column of X: a thread has one column, and 8 rows.",
        ("* x;", "* tile_x[i][(column + r) % TILE];"),
    ),
    mutant(
        "The last row of each thread is 0: r goes from 0 to PATCH - 1.",
        (PRODUCTS, PRODUCTS.replace("PATCH", "PATCH - 1")),
    ),
    mutant(TWO_BLOCKS, ("top + patch + r", "patch + r")),
    mutant(TWO_BLOCKS, ("left + column;", "column;")),
    mutant(TWO_BLOCKS, ("Y[row * cols + col]", "Y[row * rows + col]")),
    mutant(
        "Two threads of a block write one cell of Y: each thread has rows of its own in the tile.",
        ("top + patch + r", "top + r"),
    ),
    mutant(
        "A tile may be larger than what is left of Y: store where row < rows and col < cols.",
        (GUARD, "Y"),
    ),
    mutant(
        "A tile may be larger than what is left of Y: store where row < rows, too.",
        (GUARD, "if (col < cols) Y"),
    ),
    mutant(
        "A column beyond the last one is a cell of the next row, which has a thread of its own: "
        "store where col < cols, too.",
        (GUARD, "if (row < rows) Y"),
    ),
    mutant(AXES, (A, "tile_a[i][patch + r]")),
    mutant(AXES, (X, "tile_x[column][i]")),
)
