"""The mistakes of squares."""

from helpers.exercises.kit import mutant

SQUARE = "N[i] * N[i];"

MUTANTS = (
    mutant("The numbers are copied, not squared: multiply N[i] by itself.", (SQUARE, "N[i];")),
    mutant("The numbers are doubled, not squared.", (SQUARE, "2 * N[i];")),
    mutant("The numbers are cubed, not squared.", (SQUARE, f"N[i] * {SQUARE}")),
    mutant(
        "Only the first number is right: each thread takes its own, threadIdx.x.",
        ("  P[i] =", "  if (i < 1) P[i] ="),
    ),
    mutant(
        "Every output is the square of N[0]: each thread must read its own number, N[threadIdx.x].",
        (SQUARE, "N[0] * N[0];"),
    ),
    mutant(
        "There are as many threads as numbers, and they count from 0: thread i takes N[i].",
        ("threadIdx.x", "threadIdx.x + 1"),
    ),
    mutant(
        "Several threads write the same cell: thread i writes P[i], and i is threadIdx.x.",
        ("  P[i] =", "  P[0] ="),
    ),
)
