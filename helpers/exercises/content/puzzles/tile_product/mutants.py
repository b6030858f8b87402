"""The mistakes of tile_product."""

from helpers.exercises.kit import mutant

TURNS = "first < inner; first"
LOAD_A = "r < rows && first + x < inner ?"
LOAD_B = "first + y < inner && c < cols ?"
PRODUCT = "a[y][k] * b[k][x]"

OUTSIDE = (
    "Rows, columns and inner need not be multiples of 16: ask before you load, because a cell "
    "outside of A or B counts as 0."
)
BARRIERS = (
    "Each turn has two barriers: one between filling the tiles and reading them, one between "
    "reading them and filling them again."
)
FEW_TURNS = (
    "Only a product of many terms is wrong: the loop must run until all of them are in the sum."
)

MUTANTS = (
    mutant(
        "The terms after the last whole tile of 16 are missing: the loop runs while first < "
        "inner, and cells outside count as 0.",
        (TURNS, "first + 16 <= inner; first"),
    ),
    mutant(
        "Only the first tile's 16 terms are in the sum.", (TURNS, "first < min(inner, 16); first")
    ),
    mutant(FEW_TURNS, (TURNS, "first < 64; first")),
    mutant(
        "Only the terms of the last tile are in the sum: it begins with 0 once, before the turns.",
        ("        for (int k", "        sum = 0.0f;\n        for (int k"),
    ),
    mutant(
        "The last of the 16 terms of each tile is missing: k runs from 0 to 15.",
        ("k < 16", "k < 15"),
    ),
    mutant(
        "Whole tiles of C have no thread: the row r comes from blockIdx.y, the column c from "
        "blockIdx.x.",
        ("r = blockIdx.y * 16 + y, c = blockIdx.x", "r = blockIdx.x * 16 + y, c = blockIdx.y"),
    ),
    mutant(
        "C is stored with rows and columns exchanged: C[r * cols + c].",
        ("C[r * cols + c]", "C[c * rows + r]"),
    ),
    mutant(
        "The tile of B is read along its rows. The sum over k goes down a column of B.",
        (PRODUCT, "a[y][k] * b[x][k]"),
    ),
    mutant(
        "The tile of A is read down its columns. The sum over k goes along a row of A.",
        (PRODUCT, "a[k][y] * b[k][x]"),
    ),
    mutant(
        "A row of A has `inner` cells, and not cols.",
        ("A[r * inner + first + x]", "A[r * cols + first + x]"),
    ),
    mutant(
        "A row of B has `cols` cells, and not inner.",
        ("B[(first + y) * cols + c]", "B[(first + y) * inner + c]"),
    ),
    mutant(OUTSIDE, (LOAD_A, "first + x < inner ?")),
    mutant(OUTSIDE, (LOAD_A, "r < rows ?")),
    mutant(OUTSIDE, (LOAD_B, "c < cols ?")),
    mutant(OUTSIDE, (LOAD_B, "first + y < inner ?")),
    mutant(
        "Two threads write one cell of C. A row of C has cols cells, and a thread beyond the last "
        "column must not store.",
        ("if (r < rows && c < cols) C", "C"),
    ),
    mutant(BARRIERS, ("        __syncthreads();\n        for", "        for")),
    mutant(BARRIERS, ("        __syncthreads();    // the next turn fills the tiles again\n", "")),
    mutant(
        "A thread without a cell of C leaves before the barrier: every thread of the block fills "
        "its cells of the tiles, and reaches each __syncthreads().",
        ("    float sum", "    if (r >= rows || c >= cols) return;\n    float sum"),
    ),
)
