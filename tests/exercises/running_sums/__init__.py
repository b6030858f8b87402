"""Answers to running_sums, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("read, wait, write, wait"),
    right("two arrays by turns", file="right_two_arrays.cu"),
    right("shuffles in each warp, then the warps' totals", file="right_warps.cu"),
    right("up a tree, and down again", file="right_tree.cu"),
)


WRONG = (
    wrong("one thread adds all", file="wrong_one_thread.cu", status="budget"),
    wrong("32 shuffles in a row", file="wrong_serial_shuffles.cu", status="budget"),
    wrong("each thread adds all", file="wrong_long_sums.cu", status="budget"),
    wrong("sums from global memory", file="wrong_global.cu", status="budget"),
    wrong(
        "one warp fills s",
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
