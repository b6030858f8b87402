"""Answers to add_arrays, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("a guard"),
    right("a loop with the grid's stride", "right_stride.cu"),
    right("an early return", "right_return.cu"),
)


WRONG = (
    wrong(
        "adds to what nothing has set",
        "+= or atomicAdd",
        ("if (i < n) C[i] =", "if (i < n) C[i] +="),
    ),
    wrong("no guard", "a guard stops them", ("if (i < n) ", ""), status="finding"),
    wrong("i <= n", "a guard stops them", ("(i < n)", "(i <= n)"), status="finding"),
    wrong("n - 1", "last number", ("(i < n)", "(i < n - 1)")),
    wrong("threadIdx alone", "blocks count, too", ("blockIdx.x * blockDim.x + ", "")),
    wrong("subtracted", "must be a[i] + b[i]", ("A[i] + B[i];", "A[i] - B[i];")),
    wrong("counted from 1", "count from 0", ("threadIdx.x;", "threadIdx.x + 1;")),
    wrong("A alone", "add b[i]", ("A[i] + B[i];", "A[i];")),
    wrong("64 written into the kernel", "blockDim.x", ("* blockDim.x", "* 64")),
    wrong("n written into the kernel", "never written", ("(i < n)", "(i < 100 && i < n)")),
    wrong("block 0 does everything", "own part", file="wrong_one_block.cu", status="budget"),
)
