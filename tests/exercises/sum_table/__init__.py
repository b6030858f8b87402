"""Answers to sum_table, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("an index"),
    right("a pointer to the row, and a loop along it", file="right_pointer.cu"),
)


WRONG = (
    wrong(
        "a cell number in a short",
        ("T[y * pitch + x]", "T[short(y * pitch + x)]"),
        status="finding",
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
    wrong("only the first row of blocks", ("y < height", "y < 8 && y < height")),
    wrong(
        "two stores to each cell",
        (
            "T[y * pitch + x] = column[y] + row[x];",
            "{ volatile float* cell = T + y * pitch + x; *cell = column[y]; "
            "*cell = column[y] + row[x]; }",
        ),
        status="budget",
    ),
)
