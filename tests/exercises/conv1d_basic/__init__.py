"""Answers to conv1d_basic, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("neighbours by shuffles", file="right_shuffles.cu"),
    right("a tile", file="right_tile.cu"),
    right("a loop with a test"),
    right("three tests, one after the other", file="right_three_tests.cu"),
    right(
        "threads without an output leave at once",
        ("    if (i < n) {\n", "    if (i >= n) return;\n    {\n"),
    ),
    right(
        "a conditional expression for a ghost",
        ("            if (cell >= 0 && cell < n) {\n", "            {\n"),
        ("sum += N[cell] * filter[j]", "sum += cell < 0 || cell >= n ? 0 : N[cell] * filter[j]"),
    ),
)


WRONG = (
    wrong("a sum in an int", ("float sum = 0.0f", "int sum = 0")),
    wrong("a tile without a barrier", file="wrong_no_barrier.cu", status="finding"),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("no guard", ("i < n", "true"), status="finding"),
    wrong("no test on the right", (" && cell < n", ""), status="finding"),
    wrong("the index is a short", ("const int i =", "const short i ="), status="finding"),
    wrong(
        "each cell is read twice",
        (
            "N[cell] *",
            "(0 * ((volatile const float*)N)[cell] + ((volatile const float*)N)[cell]) *",
        ),
        status="budget",
    ),
    wrong("it does not compile", ("P[i] = sum;", "P[i] = sum"), status="compile"),
)
