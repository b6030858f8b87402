"""Answers to block_max, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("halves in shared memory"),
    right("candidates in registers", file="right_first.cu"),
    right("shuffles in each warp, then among the warps", file="right_warps.cu"),
    right(
        "half of the threads begin with two numbers",
        (
            "    s[t] = i < n ? N[i] : -INFINITY;\n",
            "    if (t < 128) {\n"
            "        const float first = i < n ? N[i] : -INFINITY;\n"
            "        s[t] = i + 128 < n ? fmaxf(first, N[i + 128]) : first;\n"
            "    }\n",
        ),
        ("half = 128", "half = 64"),
    ),
    right("all lanes of a warp store its maximum", file="right_one_value.cu"),
)


WRONG = (
    wrong("16 threads, then one", file="wrong_two_phases.cu", status="budget"),
    wrong("32 shuffles in a row", file="wrong_serial_shuffles.cu", status="budget"),
    wrong(
        "thread 0 compares the last 32",
        ("half > 0", "half > 16"),
        (
            "if (t == 0) P[blockIdx.x] = s[0];",
            "if (t == 0) {\n        float most = s[0];\n        for (int k = 1; k < 32; ++k) "
            "most = fmaxf(most, s[k]);\n        P[blockIdx.x] = most;\n    }",
        ),
        status="budget",
    ),
    wrong("every thread writes the result", ("if (t == 0) P", "P"), status="budget"),
    wrong("one thread compares", file="wrong_one_thread.cu", status="budget"),
    wrong("one thread loads", file="wrong_global.cu", status="budget"),
    wrong(
        "one warp fills s",
        (
            "    s[t] = i < n ? N[i] : -INFINITY;\n",
            "    for (int k = t; t < 32 && k < 256; k += 32) {\n"
            "        const int cell = blockIdx.x * 256 + k;\n"
            "        s[k] = cell < n ? N[cell] : -INFINITY;\n"
            "    }\n",
        ),
        status="budget",
    ),
)
