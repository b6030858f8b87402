"""Answers to block_max, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

STEP = "        __syncthreads();\n    }"

RIGHT = (
    right("halves in shared memory"),
    right("candidates in registers", "right_first.cu"),
    right("shuffles in each warp, then among the warps", "right_warps.cu"),
    right(
        "half of the threads begin with two numbers",
        "solution.cu",
        (
            "    s[t] = i < n ? N[i] : -INFINITY;\n",
            "    if (t < 128) {\n"
            "        const float first = i < n ? N[i] : -INFINITY;\n"
            "        s[t] = i + 128 < n ? fmaxf(first, N[i + 128]) : first;\n"
            "    }\n",
        ),
        ("half = 128", "half = 64"),
    ),
    right("all lanes of a warp store its maximum", "right_one_value.cu"),
)


WRONG = (
    wrong(
        "16 threads, then one",
        "reads one number beside its own",
        file="wrong_two_phases.cu",
        status="budget",
    ),
    wrong(
        "32 shuffles in a row", "and not in 31", file="wrong_serial_shuffles.cu", status="budget"
    ),
    wrong(
        "all blocks write one result",
        "does the index of the store hold blockIdx",
        ("P[blockIdx.x] =", "P[0] ="),
        status="finding",
    ),
    wrong("no test in a step", "if (t < half)", ("if (t < half) s", "s"), status="finding"),
    wrong(
        "thread 0 compares the last 32",
        "thread 0 reads many in a row",
        ("half > 0", "half > 16"),
        (
            "if (t == 0) P[blockIdx.x] = s[0];",
            "if (t == 0) {\n        float most = s[0];\n        for (int k = 1; k < 32; ++k) "
            "most = fmaxf(most, s[k]);\n        P[blockIdx.x] = most;\n    }",
        ),
        status="budget",
    ),
    wrong("0 for threads without a number", "-infinity", ("-INFINITY", "0.0f")),
    wrong(
        "begins with 0",
        "begin with 0",
        ("P[blockIdx.x] = s[0]", "P[blockIdx.x] = fmaxf(0.0f, s[0])"),
    ),
    wrong("-1 for threads without a number", "only the last block", ("-INFINITY", "-1.0f")),
    wrong("the smallest", "must be the largest", ("fmaxf(s[t], s", "fminf(s[t], s")),
    wrong(
        "every thread writes the result",
        "one thread writes",
        ("if (t == 0) P", "P"),
        status="budget",
    ),
    wrong("the last step is missing", "half = 1", ("half > 0", "half > 1")),
    wrong("the first step is missing", "half = 128", ("half = 128", "half = 64")),
    wrong("no step", "first number of each block", ("half = 128", "half = 0")),
    wrong("no barrier in the steps", "behind each step", (STEP, "    }"), status="finding"),
    wrong(
        "no barrier behind the filling",
        "behind the filling",
        ("-INFINITY;\n    __syncthreads();", "-INFINITY;"),
        status="finding",
    ),
    wrong(
        "the barrier in the branch",
        "must not stand in a branch",
        (
            "if (t < half) s[t] = fmaxf(s[t], s[t + half]);\n        __syncthreads();",
            "if (t < half) {\n            s[t] = fmaxf(s[t], s[t + half]);\n"
            "            __syncthreads();\n        }",
        ),
        status="finding",
    ),
    wrong(
        "no guard",
        "the last block has more threads",
        ("i < n ? N[i] : -INFINITY", "N[i]"),
        status="finding",
    ),
    wrong("one thread compares", "255 comparisons", file="wrong_one_thread.cu", status="budget"),
    wrong("one thread loads", "loads its 32 numbers", file="wrong_global.cu", status="budget"),
    wrong(
        "the smallest, of what is there",
        "keeps the larger of two",
        ("-INFINITY", "INFINITY"),
        ("fmaxf", "fminf"),
    ),
    wrong(
        "one warp fills s",
        "a warp that loads for the others",
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
