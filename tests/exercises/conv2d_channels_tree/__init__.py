"""Answers to conv2d_channels_tree, right and wrong."""

from tests.exercises.answers import right, wrong

BARRIER = "        __syncthreads();\n"
STEP = f"        if (z < half) partial[z][mine] += partial[z + half][mine];\n{BARRIER}"

RIGHT = (
    right("both loops"),
    right(
        "the sum stays in a register",
        (
            "if (z < half) partial[z][mine] += partial[z + half][mine];",
            "if (z < half) partial[z][mine] = sum += partial[z + half][mine];",
        ),
    ),
    right(
        "neighbours first",
        (
            "for (int half = CHANNEL_THREADS / 2; half > 0; half /= 2) {",
            "for (int half = 1; half < CHANNEL_THREADS; half *= 2) {",
        ),
        ("if (z < half)", "if (z % (2 * half) == 0)"),
    ),
)


WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong(
        "the thread with z = 0 adds the other sums",
        (
            STEP,
            "        for (int k = half; z == 0 && k < 2 * half; ++k)\n"
            "            partial[0][mine] += partial[k][mine];\n",
        ),
        status="budget",
    ),
    wrong("steps of two", ("half > 0; half /= 2", "half > 0; half -= 2")),
    wrong("two barriers a step", (STEP, STEP + BARRIER), status="budget"),
    wrong(
        "the threads with z = 0 add all channels",
        (
            "int c = z; inside && c < C; c += CHANNEL_THREADS",
            "int c = 0; inside && z == 0 && c < C; ++c",
        ),
        status="budget",
    ),
    wrong(
        "p and q exchanged",
        ("sum += image[(c * H + h + p) * W + w + q", "sum += image[(c * H + h + q) * W + w + p"),
    ),
    wrong(
        "m and c exchanged", ("((m * C + c) * K + p) * K + q];", "((c * M + m) * K + p) * K + q];")
    ),
    wrong(
        "atomics in shared memory",
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
)
