"""Answers to gemm_flat, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("a loop over rows"),
    right("threads counted through", "right_counted.cu"),
    right("four rows, unrolled", "right_unrolled.cu"),
)


WRONG = (
    wrong("A's first tile again", "first tile of A", ("* inner + first + tx]", "* inner + tx]")),
    wrong("X's first tile again", "first tile of X", ("matrix[(first + i)", "matrix[(i)")),
    wrong(
        "image 0 for all",
        "the matrix of image 0",
        ("(size_t)blockIdx.z * inner", "(size_t)0 * inner"),
    ),
    wrong(
        "images rows apart",
        "only image 0 is right",
        ("blockIdx.z * inner * cols", "blockIdx.z * rows * cols"),
    ),
    wrong("the stub", "All sums are 0", file="stub.cu", status="not_begun"),
    wrong(
        "the loads of a square tile",
        "tx < step",
        file="wrong_square_loads.cu",
        status="finding",
    ),
    wrong(
        "no loop over the rows of X",
        "four of its rows",
        ("for (int i = ty; i < STEP; i += ROWS)", "for (int i = ty; i < ROWS; i += ROWS)"),
        status="finding",
    ),
    wrong("only four terms of each step", "only 4 of each 16 terms", ("k < STEP", "k < ROWS")),
    wrong(
        "the last step is missing",
        "last whole step",
        ("first < inner", "first + STEP <= inner"),
    ),
    wrong("no guard of terms", "counts as 0", ("first + i < inner && ", ""), status="finding"),
    wrong(
        "no second barrier",
        "before the next loads",
        ("tile_x[k][tx];\n        __syncthreads();", "tile_x[k][tx];"),
        status="finding",
    ),
    wrong(
        "the tiles are not used",
        "words from shared memory",
        file="wrong_no_tile.cu",
        status="budget",
    ),
    wrong(
        "products with rows that are not there",
        "words from shared memory",
        file="wrong_square.cu",
        status="budget",
    ),
    wrong(
        "nothing is written",
        "nothing is written",
        ("    if (row < rows && col < cols) Y", "    if (rows < 0) Y"),
    ),
    wrong(
        "one row of threads loads X",
        "all threads share the loads",
        ("for (int i = ty; i < STEP; i += ROWS)", "for (int i = 0; ty == 0 && i < STEP; ++i)"),
        status="budget",
    ),
    wrong(
        "a sum that begins anew in each step",
        "only the last step counts",
        (
            "for (int k = 0; k < STEP; ++k) sum +=",
            "sum = 0.0f;\n        for (int k = 0; k < STEP; ++k) sum +=",
        ),
    ),
    wrong(
        "as many terms as layer 1 has",
        "only its first terms",
        ("first < inner; first", "first < 49; first"),
    ),
)
