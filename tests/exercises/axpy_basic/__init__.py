"""Answers to axpy_basic, right and wrong."""

from tests.exercises.answers import right, wrong

INDEX = "blockIdx.x * blockDim.x + threadIdx.x"

RIGHT = (
    right("the index and a guard"),
    right(
        "threads without an element leave at once",
        ("    if (i < n) {\n", "    if (i >= n) return;\n    {\n"),
    ),
    right("the sum in another order", (INDEX, "threadIdx.x + blockDim.x * blockIdx.x")),
)


WRONG = (
    wrong("one warp of all later blocks", file="wrong_later_blocks.cu", status="budget"),
    wrong("blocks 2 and 3 for all later ones", file="wrong_four_blocks.cu", status="budget"),
    wrong("ints in place of floats", ("y[i] = a * x[i] + y[i]", "y[i] = (int)(a * x[i] + y[i])")),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("the first block alone", ("i < n", "i < n && i < 256")),
    wrong("nothing is done", ("y[i] = a * x[i] + y[i]", "(void)i")),
)
