"""Answers to block_histograms, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("one histogram"),
    right("four cells in one load", file="right_vectors.cu"),
    right("a histogram of each warp", file="right_copies.cu"),
    right("two counters in a word", file="right_two_counters.cu"),
)


WRONG = (
    wrong("one thread counts", file="wrong_one_thread.cu", status="budget"),
    wrong("each thread looks at all cells", file="wrong_all_cells.cu", status="budget"),
    wrong("only values below 64 are stored", ("    P[256", "    if (t < 64) P[256")),
    wrong(
        "counted in global memory",
        ("atomicAdd(&counts[N[i]], 1)", "atomicAdd(&P[256 * blockIdx.x + N[i]], 1)"),
        ("    P[256 * blockIdx.x + t] = counts[t];\n", ""),
        ("    counts[t]", "    P[256 * blockIdx.x + t]"),
        status="budget",
    ),
    wrong("a thread for each value", file="wrong_each_value.cu", status="budget"),
    wrong("lanes four cells apart", file="wrong_four_apart.cu", status="budget"),
    wrong(
        "one warp counts",
        (
            "i = first + t; i < first + 1024 && i < n; i += 256",
            "i = first + t; t < 32 && i < first + 1024 && i < n; i += 32",
        ),
        status="budget",
    ),
)
