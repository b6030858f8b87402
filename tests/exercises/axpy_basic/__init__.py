"""Answers to axpy_basic, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

INDEX = "blockIdx.x * blockDim.x + threadIdx.x"

RIGHT = (
    right("the index and a guard"),
    right(
        "threads without an element leave at once",
        "solution.cu",
        ("    if (i < n) {\n", "    if (i >= n) return;\n    {\n"),
    ),
    right(
        "the sum in another order",
        "solution.cu",
        (INDEX, "threadIdx.x + blockDim.x * blockIdx.x"),
    ),
)


WRONG = (
    wrong(
        "one warp of all later blocks",
        "threadidx says which",
        file="wrong_later_blocks.cu",
        status="budget",
    ),
    wrong(
        "blocks 2 and 3 for all later ones",
        "blockidx says which",
        file="wrong_four_blocks.cu",
        status="budget",
    ),
    wrong(
        "ints in place of floats",
        "no output has a fraction",
        ("y[i] = a * x[i] + y[i]", "y[i] = (int)(a * x[i] + y[i])"),
    ),
    wrong("the stub", "the same i", file="stub.cu", status="not_begun"),
    wrong("the first block alone", "outputs of its own", ("i < n", "i < n && i < 256")),
    wrong("nothing is done", "nothing is written", ("y[i] = a * x[i] + y[i]", "(void)i")),
)
