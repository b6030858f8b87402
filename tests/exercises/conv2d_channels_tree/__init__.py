"""Answers to conv2d_channels_tree, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

BARRIER = "        __syncthreads();\n"
STEP = f"        if (z < half) partial[z][mine] += partial[z + half][mine];\n{BARRIER}"

RIGHT = (
    right("both loops"),
    right(
        "the sum stays in a register",
        "solution.cu",
        (
            "if (z < half) partial[z][mine] += partial[z + half][mine];",
            "if (z < half) partial[z][mine] = sum += partial[z + half][mine];",
        ),
    ),
    right(
        "neighbours first",
        "solution.cu",
        (
            "for (int half = CHANNEL_THREADS / 2; half > 0; half /= 2) {",
            "for (int half = 1; half < CHANNEL_THREADS; half *= 2) {",
        ),
        ("if (z < half)", "if (z % (2 * half) == 0)"),
    ),
)


WRONG = (
    wrong("the stub", "all threads store", file="stub.cu", status="not_begun"),
    wrong(
        "every thread adds all channels",
        "as many times as it has threads",
        ("int c = z; inside && c < C; c += CHANNEL_THREADS", "int c = 0; inside && c < C; ++c"),
    ),
    wrong(
        "a thread adds one channel",
        "from channel_threads on",
        ("inside && c < C; c += CHANNEL_THREADS", "inside && c < C; c += C"),
    ),
    wrong(
        "a channel for each thread, there or not",
        "no channel: they must not read cells",
        ("int c = z; inside && c < C; c += CHANNEL_THREADS", "int c = z; inside && c == z; ++c"),
        status="finding",
    ),
    wrong("the last step is missing", "half = 1", ("half > 0;", "half > 1;")),
    wrong(
        "the first step is missing",
        "half = channel_threads / 2",
        ("CHANNEL_THREADS / 2; half", "CHANNEL_THREADS / 4; half"),
    ),
    wrong("no tree", "z = 0", (STEP, "")),
    wrong(
        "no barrier before the tree",
        "before the tree",
        ("sum;\n    __syncthreads();", "sum;"),
        status="finding",
    ),
    wrong(
        "no barrier in the tree",
        "after each step",
        (STEP, STEP.replace(BARRIER, "")),
        status="finding",
    ),
    wrong(
        "threads outside read cells",
        "must not read cells",
        ("inside && c < C", "c < C"),
        status="finding",
    ),
    wrong(
        "only threads inside store",
        "all threads store",
        ("    partial[z][mine] = sum;", "    if (inside) partial[z][mine] = sum;"),
        status="finding",
    ),
    wrong(
        "the thread with z = 0 adds the other sums",
        "one after another",
        (
            STEP,
            "        for (int k = half; z == 0 && k < 2 * half; ++k)\n"
            "            partial[0][mine] += partial[k][mine];\n",
        ),
        status="budget",
    ),
    wrong(
        "two steps, for four threads",
        "not always 4",
        ("int half = CHANNEL_THREADS / 2;", "int half = 2;"),
    ),
    wrong(
        "two barriers a step",
        "waits at barriers",
        (STEP, STEP + BARRIER),
        status="budget",
    ),
    wrong(
        "the threads with z = 0 add all channels",
        "loads for more than its own channels",
        (
            "int c = z; inside && c < C; c += CHANNEL_THREADS",
            "int c = 0; inside && z == 0 && c < C; ++c",
        ),
        status="budget",
    ),
    wrong(
        "p and q exchanged",
        "rows and columns are exchanged",
        ("sum += image[(c * H + h + p) * W + w + q", "sum += image[(c * H + h + q) * W + w + p"),
    ),
    wrong(
        "m and c exchanged",
        "m and c exchanged",
        ("((m * C + c) * K + p) * K + q];", "((c * M + m) * K + p) * K + q];"),
    ),
    wrong(
        "every thread begins at channel 0",
        "add the same channels",
        ("int c = z;", "int c = 0;"),
    ),
    wrong(
        "every channel from z on",
        "adds all from channel z on",
        ("c += CHANNEL_THREADS", "++c"),
    ),
    wrong(
        "channels in whole parts",
        "is rounded down",
        (
            "int c = z; inside && c < C; c += CHANNEL_THREADS",
            "int c = z * (C / CHANNEL_THREADS); inside && c < (z + 1) * (C / CHANNEL_THREADS); ++c",
        ),
    ),
    wrong(
        "sums are replaced",
        "the largest z",
        ("+= partial[z + half]", "= partial[z + half]"),
    ),
    wrong(
        "the own sum counts again",
        "sums count several times",
        (
            "partial[z][mine] += partial[z + half]",
            "partial[z][mine] += partial[z][mine] + partial[z + half]",
        ),
    ),
    wrong(
        "one thread too many adds",
        "only threads with z < half",
        ("if (z < half)", "if (z <= half)"),
        status="finding",
    ),
    wrong(
        "h and w exchanged",
        "an index is wrong",
        ("sum += image[(c * H + h + p) * W + w + q", "sum += image[(c * H + w + p) * W + h + q"),
        status="finding",
    ),
    wrong(
        "atomics in shared memory",
        "each to a number of its own",
        (
            "    partial[z][mine] = sum;\n"
            "    __syncthreads();\n"
            "    for (int half = CHANNEL_THREADS / 2; half > 0; half /= 2) {\n"
            "        if (z < half) partial[z][mine] += partial[z + half][mine];\n"
            "        __syncthreads();\n"
            "    }\n",
            "    if (z == 0) partial[0][mine] = 0.0f;\n"
            "    __syncthreads();\n"
            "    atomicAdd(&partial[0][mine], sum);\n"
            "    __syncthreads();\n",
        ),
        status="budget",
    ),
    wrong(
        "one place for all sums",
        "several threads store into one place",
        ("partial[z][mine] = sum;", "partial[0][mine] = sum;"),
        status="finding",
    ),
    wrong(
        "maps K channels apart",
        "a weight is ((m * c + c) * k + p) * k + q",
        ("((m * C + c) * K + p) * K + q];", "((m * K + c) * K + p) * K + q];"),
        status="finding",
    ),
)
