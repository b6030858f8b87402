"""Answers to sum_table, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("an index"),
    right("a pointer to the row, and a loop along it", "right_pointer.cu"),
)


WRONG = (
    wrong("the stride is width", "not `width`", ("y * pitch", "y * width")),
    wrong(
        "column and row exchanged",
        "a number for each row",
        ("column[y] + row[x];", "column[x] + row[y];"),
        status="finding",
    ),
    wrong(
        "x up to pitch",
        "guard for x is x < width",
        ("x < width", "x < pitch"),
        ("row[x];", "(x < width ? row[x] : 0.0f);"),
    ),
    wrong("no guard for y", "a number for each row", (" && y < height", ""), status="finding"),
    wrong(
        "a cell number in a short",
        "is an index a short",
        ("T[y * pitch + x]", "T[short(y * pitch + x)]"),
        status="finding",
    ),
    wrong("a product", "must be column[y] + row[x]", ("] + row[x];", "] * row[x];")),
    wrong("row[0] for all", "belongs to column x", ("row[x];", "row[0];")),
    wrong(
        "lanes down the columns",
        "a broadcast",
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
    wrong(
        "only the first row of blocks",
        "never written",
        ("y < height", "y < 8 && y < height"),
    ),
    wrong(
        "axes exchanged",
        "axes are exchanged",
        (
            "x = blockIdx.x * blockDim.x + threadIdx.x",
            "x = blockIdx.y * blockDim.y + threadIdx.y",
        ),
        (
            "y = blockIdx.y * blockDim.y + threadIdx.y",
            "y = blockIdx.x * blockDim.x + threadIdx.x",
        ),
    ),
    wrong(
        "two stores to each cell",
        "store each output once",
        (
            "T[y * pitch + x] = column[y] + row[x];",
            "{ volatile float* cell = T + y * pitch + x; *cell = column[y]; "
            "*cell = column[y] + row[x]; }",
        ),
        status="budget",
    ),
)
