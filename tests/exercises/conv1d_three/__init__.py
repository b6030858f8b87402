"""Answers to conv1d_three, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("cells outside, outputs inside"),
    right("a window that moves through registers", "right_window.cu"),
    right("pointers into the tile", "right_pointer.cu"),
)


WRONG = (
    wrong("windows one cell apart", "begins at cell 3 * t", ("tile[mine +", "tile[threadIdx.x +")),
    wrong("the first cell left out", "cell 0 of its window", ("int c = 0", "int c = 1")),
    wrong("31 weights, whatever the width", "31 weights only", ("c - o < width", "c - o < 31")),
    wrong("the stub", "All sums are 0", file="stub.cu", status="not_begun"),
    wrong(
        "one output after the other",
        "shared words per output",
        file="wrong_each_output.cu",
        status="budget",
    ),
    wrong(
        "no tile: sums from N, one dummy read of the tile",
        "global loads per output",
        file="wrong_no_tile.cu",
        status="budget",
    ),
    wrong("a window that is too short", "width + 2 cells", ("c < width + 2", "c < width")),
    wrong(
        "only the first output",
        "only the first",
        ("o < 3; ++o) if (c >= o", "o < 1; ++o) if (c >= o"),
    ),
    wrong(
        "two of three outputs",
        "third output",
        ("o < 3; ++o) if (c >= o", "o < 2; ++o) if (c >= o"),
    ),
    wrong("the filter runs backwards", "backwards", ("filter[c - o]", "filter[width - 1 - c + o]")),
    wrong(
        "the outputs turned around",
        "each other's weights",
        ("c >= o && c - o < width", "c - 2 + o >= 0 && c - 2 + o < width"),
        ("filter[c - o]", "filter[c - 2 + o]"),
    ),
    wrong(
        "no test of the weight",
        "belongs to output 0 alone",
        ("if (c >= o && c - o < width) ", ""),
        status="finding",
    ),
    wrong("no barrier", "race", ("    __syncthreads();\n", ""), status="finding"),
    wrong(
        "the halo is not loaded",
        "uninitialised",
        ("s < 3 * THREADS + width - 1", "s < 3 * THREADS"),
        status="finding",
    ),
    wrong(
        "nothing is written",
        "nothing is written",
        ("P[start + mine + o] = sum[o]", "if (n < 0) P[0] = sum[o]"),
    ),
    wrong("block 0 does everything", "own part", file="wrong_one_block.cu", status="budget"),
)
