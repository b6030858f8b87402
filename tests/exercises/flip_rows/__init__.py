"""Answers to flip_rows, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("named by the input"),
    right("named by the output", "right_gather.cu"),
)


WRONG = (
    wrong("no guard for x", "two guards", ("x < width && ", ""), status="finding"),
    wrong("no guard for y", "two guards", (" && y < height", ""), status="finding"),
    wrong("height - y", "height - 1", ("(height - 1 - y)", "(height - y)"), status="finding"),
    wrong(
        "a stride of height",
        "`width` cells long",
        ("P[(height - 1 - y) * width + x]", "P[(height - 1 - y) * height + x]"),
        status="finding",
    ),
    wrong(
        "columns for rows",
        "must be row y of n",
        (
            "P[(height - 1 - y) * width + x] = N[y * width + x]",
            "P[x * height + height - 1 - y] = N[x * height + y]",
        ),
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
        "the first blocks along y for all",
        "Does each block write outputs of its own",
        ("blockIdx.y * blockDim.y + threadIdx.y", "threadIdx.y"),
    ),
    wrong("copied", "row y must become", ("(height - 1 - y)", "y")),
    wrong(
        "left and right",
        "top and bottom",
        ("P[(height - 1 - y) * width + x]", "P[y * width + width - 1 - x]"),
    ),
    wrong("half a turn", "half a turn", ("* width + x] =", "* width + width - 1 - x] =")),
    wrong(
        "lanes down the columns",
        "side by side",
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
