"""Answers to entry, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("a tile, three columns, four maps"),
    right("registers without a tile", file="right_register.cu"),
)


WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("a shuffle for each cell", file="wrong_shuffles.cu", status="budget"),
    wrong(
        "a block that CUDA does not allow", ("-DTILE_WIDTH=12", "-DTILE_WIDTH=40"), status="refused"
    ),
    wrong(
        "another signature",
        ("int H, int W, int K)\n{", "int H, int W)\n{\n    const int K = 7;"),
        status="refused",
    ),
    wrong(
        "nothing is written", ("            if (m + j < M", "            if (K < 0 && m + j < M")
    ),
)
