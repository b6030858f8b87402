"""Answers to axpy_two, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("a block's two halves"),
    right("the grid's two halves", file="right_grid_stride.cu"),
    right("float2", file="right_float2.cu"),
)


WRONG = (
    wrong(
        "every second thread does the work of two", file="wrong_every_second.cu", status="budget"
    ),
    wrong("n written into the kernel, too small", ("i < n", "i < 512 && i < n")),
    wrong("block 0 does everything", file="wrong_one_block.cu", status="budget"),
    wrong("nothing for many elements", ("i < n", "i < n && n < 2000")),
    wrong(
        "the halves of the array",
        ("= 2 * blockIdx.x", "= blockIdx.x"),
        ("k * blockDim.x", "k * ((n + 1) / 2)"),
        ("if (i < n)", "if (first < (n + 1) / 2 && i < n)"),
        status="budget",
    ),
    wrong("nothing is done", ("y[i] = a * x[i] + y[i]", "continue")),
    wrong(
        "lanes two elements apart",
        ("2 * blockIdx.x * blockDim.x + threadIdx.x", "2 * (blockIdx.x * blockDim.x + t)"),
        ("const int first", "const int t = threadIdx.x, first"),
        ("k * blockDim.x", "k"),
        status="budget",
    ),
    wrong("the stub", file="stub.cu", status="not_begun"),
)
