"""Answers to flip_rows, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("named by the input"),
    right("named by the output", file="right_gather.cu"),
)


WRONG = (
    wrong(
        "columns for rows",
        (
            "P[(height - 1 - y) * width + x] = N[y * width + x]",
            "P[x * height + height - 1 - y] = N[x * height + y]",
        ),
    ),
    wrong(
        "the first blocks along y for all", ("blockIdx.y * blockDim.y + threadIdx.y", "threadIdx.y")
    ),
    wrong(
        "lanes down the columns",
        (
            "blockIdx.x * blockDim.x + threadIdx.x",
            "blockIdx.x * 32 + (threadIdx.y * 32 + threadIdx.x) / 8",
        ),
        (
            "blockIdx.y * blockDim.y + threadIdx.y",
            "blockIdx.y * 8 + (threadIdx.y * 32 + threadIdx.x) % 8",
        ),
        status="budget",
    ),
)
