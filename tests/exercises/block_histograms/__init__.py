"""Answers to block_histograms, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

COUNT = "    __syncthreads();\n    P"

RIGHT = (
    right("one histogram"),
    right("four cells in one load", "right_vectors.cu"),
    right("a histogram of each warp", "right_copies.cu"),
    right("two counters in a word", "right_two_counters.cu"),
)


WRONG = (
    wrong("one thread counts", "wait for one of them", file="wrong_one_thread.cu", status="budget"),
    wrong(
        "each thread looks at all cells",
        "do again what",
        file="wrong_all_cells.cu",
        status="budget",
    ),
    wrong(
        "counts of 0 are not stored",
        "store the counts that are 0",
        ("    P[256", "    if (counts[t]) P[256"),
    ),
    wrong(
        "value 255 is not counted",
        "255, is counted nowhere",
        ("atomicAdd(&counts[N[i]], 1)", "if (N[i] < 255) atomicAdd(&counts[N[i]], 1)"),
    ),
    wrong("counts of 8 bits", "more than 255 times", file="wrong_packed.cu"),
    wrong("added to what was there", "to what p held before", ("= counts[t];", "+= counts[t];")),
    wrong(
        "no atomic",
        "in one piece",
        ("atomicAdd(&counts[N[i]], 1)", "++counts[N[i]]"),
        status="finding",
    ),
    wrong(
        "counters are not set to 0",
        "begins with anything",
        ("    counts[t] = 0;\n", ""),
        status="finding",
    ),
    wrong(
        "no barrier behind the zeros",
        "between each two",
        ("counts[t] = 0;\n    __syncthreads();", "counts[t] = 0;"),
        status="finding",
    ),
    wrong(
        "no barrier before the store",
        "between each two",
        (COUNT, "    P"),
        status="finding",
    ),
    wrong("no guard", "fewer cells", (" && i < n", ""), status="finding"),
    wrong("one cell a thread", "each thread counts four", ("i < first + 1024", "i < first + 256")),
    wrong("block 0's cells", "cells of block 0", ("first = 1024 * blockIdx.x", "first = 0")),
    wrong(
        "256 cells for each block",
        "n[1024 * b] to n[1024 * b + 1023]",
        ("first = 1024 * blockIdx.x", "first = 256 * blockIdx.x"),
    ),
    wrong(
        "stored without the block",
        "two blocks write",
        ("P[256 * blockIdx.x + t]", "P[t]"),
        status="finding",
    ),
    wrong("up to the end of N", "blocks behind it", ("i < first + 1024 && ", "")),
    wrong("set, not added", "do not set", ("atomicAdd", "atomicExch")),
    wrong(
        "only values below 64 are stored",
        "never written",
        ("    P[256", "    if (t < 64) P[256"),
    ),
    wrong(
        "counted in global memory",
        "atomics in global memory",
        ("atomicAdd(&counts[N[i]], 1)", "atomicAdd(&P[256 * blockIdx.x + N[i]], 1)"),
        ("    P[256 * blockIdx.x + t] = counts[t];\n", ""),
        ("    counts[t]", "    P[256 * blockIdx.x + t]"),
        status="budget",
    ),
    wrong("a thread for each value", "loaded once", file="wrong_each_value.cu", status="budget"),
    wrong(
        "lanes four cells apart",
        "neighbouring lanes",
        file="wrong_four_apart.cu",
        status="budget",
    ),
    wrong(
        "shares of 256 cells",
        "from 1024 * b on",
        ("first = 1024 * blockIdx.x", "first = 256 * blockIdx.x"),
        ("i < first + 1024 && i < n", "i < first + 256 && i < n"),
    ),
    wrong(
        "one warp counts",
        "a warp that loads for the others",
        (
            "i = first + t; i < first + 1024 && i < n; i += 256",
            "i = first + t; t < 32 && i < first + 1024 && i < n; i += 32",
        ),
        status="budget",
    ),
)
