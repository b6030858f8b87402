"""Answers to running_sums, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

BOTH_READ = "        __syncthreads();    // all have read before one writes\n"
BOTH_WRITTEN = "        __syncthreads();    // all have written before one reads\n"

RIGHT = (
    right("read, wait, write, wait"),
    right("two arrays by turns", "right_two_arrays.cu"),
    right("shuffles in each warp, then the warps' totals", "right_warps.cu"),
    right("up a tree, and down again", "right_tree.cu"),
)


WRONG = (
    wrong(
        "one thread adds all", "wait for one of them", file="wrong_one_thread.cu", status="budget"
    ),
    wrong(
        "32 shuffles in a row", "and not in 31", file="wrong_serial_shuffles.cu", status="budget"
    ),
    wrong(
        "no barrier between reading and writing",
        "read into a variable",
        (BOTH_READ, ""),
        status="finding",
    ),
    wrong(
        "no barrier behind the writing",
        "read into a variable",
        (BOTH_WRITTEN, ""),
        status="finding",
    ),
    wrong("the first step is missing", "up to n[i]", ("far = 1", "far = 2")),
    wrong("exclusive", "scan is inclusive", ("P[i] = s[t]", "P[i] = t > 0 ? s[t - 1] : 0.0f")),
    wrong(
        "only within warps",
        "in each warp of 32",
        ("t >= far ?", "t % 32 >= far ?"),
        ("far < 256", "far < 32"),
    ),
    wrong("the last step is missing", "last step, 128", ("far < 256", "far < 128")),
    wrong(
        "from the right",
        "right to the left",
        ("t >= far ? s[t - far]", "t + far < 256 ? s[t + far]"),
    ),
    wrong(
        "no guard in a step",
        "only if t >= far",
        ("t >= far ? s[t - far] : 0.0f", "s[t - far]"),
        status="finding",
    ),
    wrong(
        "a barrier in a branch",
        "in a branch",
        (
            "        s[t] += left;\n" + BOTH_WRITTEN,
            "        s[t] += left;\n        if (t >= far) __syncthreads();\n",
        ),
        status="finding",
    ),
    wrong("each thread adds all", "eight steps", file="wrong_long_sums.cu", status="budget"),
    wrong(
        "sums from global memory",
        "loads its own number",
        file="wrong_global.cu",
        status="budget",
    ),
    wrong("t > far", "ask for t >= far", ("t >= far", "t > far")),
    wrong(
        "one warp fills s",
        "a warp that loads for the others",
        (
            "    s[t] = i < n ? N[i] : 0.0f;\n",
            "    for (int k = t; t < 32 && k < 256; k += 32) {\n"
            "        const int cell = blockIdx.x * 256 + k;\n"
            "        s[k] = cell < n ? N[cell] : 0.0f;\n"
            "    }\n",
        ),
        status="budget",
    ),
)
