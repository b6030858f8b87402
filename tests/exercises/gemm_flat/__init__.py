"""Answers to gemm_flat, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("a loop over rows"),
    right("threads counted through", file="right_counted.cu"),
    right("four rows, unrolled", file="right_unrolled.cu"),
)


WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("the loads of a square tile", file="wrong_square_loads.cu", status="finding"),
    wrong("the tiles are not used", file="wrong_no_tile.cu", status="budget"),
    wrong("products with rows that are not there", file="wrong_square.cu", status="budget"),
    wrong("nothing is written", ("    if (row < rows && col < cols) Y", "    if (rows < 0) Y")),
    wrong(
        "one row of threads loads X",
        ("for (int i = ty; i < STEP; i += ROWS)", "for (int i = 0; ty == 0 && i < STEP; ++i)"),
        status="budget",
    ),
)
