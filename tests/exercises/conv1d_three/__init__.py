"""Answers to conv1d_three, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("cells outside, outputs inside"),
    right(
        "a window that moves through registers",
        (
            "    for (int o = 0; o < 3; ++o)\n"
            "        for (int j = 0; j < width; ++j) sum[o] += tile[mine + o + j] * filter[j];\n",
            "    float first = tile[mine], second = tile[mine + 1];\n"
            "    for (int j = 0; j < width; ++j) {\n"
            "        const float third = tile[mine + j + 2];\n"
            "        sum[0] += first * filter[j];\n"
            "        sum[1] += second * filter[j];\n"
            "        sum[2] += third * filter[j];\n"
            "        first = second;\n"
            "        second = third;\n"
            "    }\n",
        ),
        file="wrong_each_output.cu",
    ),
    right("pointers into the tile", file="right_pointer.cu"),
)


WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("one output after the other", file="wrong_each_output.cu", status="budget"),
    wrong(
        "no tile: sums from N, one dummy read of the tile", file="wrong_no_tile.cu", status="budget"
    ),
    wrong("no barrier", ("    __syncthreads();\n", ""), status="finding"),
    wrong(
        "the halo is not loaded",
        ("s < 3 * THREADS + width - 1", "s < 3 * THREADS"),
        status="finding",
    ),
    wrong("nothing is written", ("P[start + mine + o] = sum[o]", "if (n < 0) P[0] = sum[o]")),
    wrong("block 0 does everything", file="wrong_one_block.cu", status="budget"),
)
