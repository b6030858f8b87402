"""The mistakes of small_product."""

from helpers.exercises.kit import mutant

PRODUCT = "wmma::mma_sync(sum, f, g, sum);"
LEFT = "left[row * PITCH + term] = term < TERMS ? a[row * TERMS + term] : __half(0.0f);"
RIGHT = "right[row * PITCH + term] = term < TERMS ? x[term * 16 + row] : __half(0.0f);"

LEFT_NOT_SET = LEFT, "if (term < TERMS) left[row * PITCH + term] = a[row * TERMS + term];"
RIGHT_NOT_SET = RIGHT, "if (term < TERMS) right[row * PITCH + term] = x[term * 16 + row];"

NOT_SET = (
    "A fragment of 16 terms reads all of them: terms 49 to 63 must be set to 0, in both matrices."
)
OUTSIDE = "a and x have 49 terms: from the 50th on, store 0 in shared memory and load nothing."

MUTANTS = (
    mutant("All sums are 0: nothing was multiplied.", (PRODUCT, "")),
    mutant(
        "The 49th term is left out: 49 terms need four steps of 16.", ("k < DEPTH", "k < TERMS - 1")
    ),
    mutant(
        "Only the last step is in the sums: they begin with 0 once, before the loop.",
        (PRODUCT, f"wmma::fill_fragment(sum, 0.0f); {PRODUCT}"),
    ),
    mutant(
        "The fragments of x are taken with rows and columns exchanged. A fragment of x is "
        "`col_major` where the 16 terms of a column lie side by side in shared memory, and "
        "`row_major` where the 16 columns of a term do.",
        ("__half, wmma::col_major", "__half, wmma::row_major"),
    ),
    mutant(
        "x is taken as if it were transposed. Lab 303's kernel stores each column of its matrix "
        "side by side, for a fragment that is `col_major`.",
        ("x[term * 16 + row]", "x[row * TERMS + term]"),
    ),
    mutant(NOT_SET, LEFT_NOT_SET),
    mutant(NOT_SET, LEFT_NOT_SET, RIGHT_NOT_SET),
    mutant(OUTSIDE, (LEFT, "left[row * PITCH + term] = a[row * TERMS + term];")),
    mutant(OUTSIDE, (RIGHT, "right[row * PITCH + term] = x[term * 16 + row];")),
    mutant(
        "Step k of 16 terms begins k terms further on: 16 * k halves where the terms of a row or "
        "column lie side by side, and 16 * k pitches where those of a row of x do.",
        ("left + k, PITCH", "left + k * PITCH, PITCH"),
    ),
    mutant(
        "load_matrix_sync() needs rows that begin at multiples of 16 bytes: the pitch must be a "
        "multiple of 8 halves.",
        ("PITCH = 72", "PITCH = 73"),
    ),
)
