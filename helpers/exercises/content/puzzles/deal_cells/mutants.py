"""The mistakes of deal_cells."""

from helpers.exercises.kit import mutant

FILL = "cells[t] = N[start + t];"
DEALT = "= cells[(step * t) % 256]"

MUTANTS = (
    mutant(
        "The cells are copied in their order: output t is cell (step * t) % 256.",
        (DEALT, "= cells[t]"),
    ),
    mutant(
        "The shuffle goes the wrong way: cell t went to output (step * t) % 256. Fill cells[t], "
        "and read cells[(step * t) % 256].",
        ("cells[t] =", "cells[(step * t) % 256] ="),
        (DEALT, "= cells[t]"),
    ),
    mutant(
        "Every block shuffles the cells of block 0: a block's own cells begin at blockIdx.x * 256.",
        ("= N[start + t]", "= N[t]"),
    ),
    mutant(
        "A step of 3 is a constant in the kernel: use the argument.",
        (DEALT, "= cells[(3 * t) % 256]"),
    ),
    mutant(
        "A thread may read a cell before another thread has filled it: a __syncthreads() belongs "
        "between filling and reading.",
        ("    __syncthreads();\n", ""),
    ),
    mutant(
        "Two blocks write the same output. Each block has its own outputs: does the index of "
        "the store hold blockIdx?",
        ("P[start + t]", "P[t]"),
    ),
    mutant(
        "In N and P, a block has the cells from blockIdx.x * 256 to blockIdx.x * 256 + 255. In "
        "shared memory they have the numbers 0 to 255, whatever block it is.",
        (DEALT, "= cells[start + (step * t) % 256]"),
    ),
    mutant(
        "Cell 255 goes to no output: there are 256 cells, so use % 256.",
        (DEALT, "= cells[(step * t) % 255]"),
    ),
    mutant(
        "step * t goes beyond the block's 256 cells: % 256 begins again at its first one.",
        (DEALT, "= cells[step * t]"),
    ),
    mutant(
        "A cell is read that no thread has filled: each of the block's 256 threads fills one.",
        (FILL, f"if (t < 128) {FILL}"),
    ),
)
