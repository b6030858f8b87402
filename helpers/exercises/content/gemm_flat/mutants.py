"""The mistakes of gemm_flat."""

from helpers.exercises.kit import mutant

STEPS = "first < inner; first"
PRODUCTS = "for (int k = 0; k < STEP; ++k) sum +="
IN_A = "row < rows && first + tx < inner ?"

FIRST_TERMS = (
    "A sum has only its first terms: the loop over the steps runs to `inner`, which is another "
    "number in each layer."
)
NO_WAIT = (
    "All warps of the block read the tiles: wait at __syncthreads() between the loads and the sum, "
    "and again before the next loads."
)
ENDS = "A and X end at rows, inner and cols: what lies beyond counts as 0."

MUTANTS = (
    mutant(FIRST_TERMS, (STEPS, "first < 49; first")),
    mutant(FIRST_TERMS, (STEPS, "first < 1; first")),
    mutant(
        "All sums are 0: load the tiles, wait at a barrier, and add up the products.",
        (PRODUCTS, f"{PRODUCTS} 0 *"),
    ),
    mutant(
        "Only 4 of each 16 terms are multiplied: a tile of X has 16 rows, and the block only 4 "
        "rows of threads.",
        ("k < STEP", "k < ROWS"),
    ),
    mutant(
        "Each step multiplies the first tile of A: `first` belongs to its index.",
        ("* inner + first + tx]", "* inner + tx]"),
    ),
    mutant(
        "Each step multiplies the first tile of X: `first` belongs to its index.",
        ("matrix[(first + i)", "matrix[i"),
    ),
    mutant(
        "Only the last step counts: the sum continues from step to step, and begins with 0 once, "
        "before the loop.",
        (PRODUCTS, f"sum = 0.0f;\n        {PRODUCTS}"),
    ),
    mutant(
        "Every image has the matrix of image 0: that of image b begins at b * inner * cols.",
        ("(size_t)blockIdx.z * inner", "(size_t)0 * inner"),
    ),
    mutant(
        "Only image 0 is right: the matrix of image b begins at b * inner * cols.",
        ("blockIdx.z * inner * cols", "blockIdx.z * rows * cols"),
    ),
    mutant(
        "The terms beyond the last whole step are missing.", (STEPS, "first + STEP <= inner; first")
    ),
    mutant(NO_WAIT, ("        __syncthreads();\n        for (int k", "        for (int k")),
    mutant(NO_WAIT, ("tile_x[k][tx];\n        __syncthreads();", "tile_x[k][tx];")),
    mutant(
        "A tile of A is 16 numbers wide, and the block 64 threads: not all of them have a number "
        "to load.",
        ("if (tx < STEP)\n", "\n"),
    ),
    mutant(
        "A part of the tile of X is never filled: it has 16 rows, and the block only 4 rows of "
        "threads, so that each thread loads four of its rows.",
        ("i < STEP; i += ROWS", "i < ROWS; i += ROWS"),
    ),
    mutant(ENDS, (IN_A, "first + tx < inner ?")),
    mutant(ENDS, (IN_A, "row < rows ?")),
    mutant(ENDS, ("first + i < inner && ", "")),
    mutant(ENDS, (" && col < cols ?", " ?")),
)
