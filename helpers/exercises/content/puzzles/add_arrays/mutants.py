"""The mistakes of add_arrays."""

from helpers.exercises.kit import mutant

SUM = "A[i] + B[i];"

FIRST_BLOCK = (
    "Only the first block's numbers are there: the first thread of block b has number b * "
    "blockDim.x."
)
ONE_WIDTH = (
    "The width of a block is a constant in the kernel, but launches have different widths: use "
    "blockDim.x."
)

MUTANTS = (
    mutant(FIRST_BLOCK, ("blockIdx.x * blockDim.x + ", "")),
    *(mutant(ONE_WIDTH, ("* blockDim.x", f"* {width}")) for width in (32, 64, 128, 256, 512)),
    mutant(
        "The last number is left out: i < n is right, i < n - 1 is not.", ("(i < n)", "(i < n - 1)")
    ),
    mutant(
        "The first number is left out: threads and blocks count from 0.",
        ("threadIdx.x;", "threadIdx.x + 1;"),
    ),
    mutant(
        "The last block has more threads than numbers are left. A guard must stop every thread "
        "past number n - 1, the last one.",
        ("if (i < n) ", ""),
    ),
    mutant("A is copied: add B[i].", (SUM, "A[i];")),
    mutant("B is copied: add A[i].", (SUM, "B[i];")),
    mutant("B[i] is subtracted, and must be added.", (SUM, "A[i] - B[i];")),
)
