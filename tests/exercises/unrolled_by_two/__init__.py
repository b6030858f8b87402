"""Answers to unrolled_by_two, right and wrong."""

from tests.exercises.answers import right, wrong

LOOP = (
    "            int q = 0;\n"
    "            for (; q + 1 < K; q += 2) sum += cell[q] * tap[q] + cell[q + 1] * tap[q + 1];\n"
    "            if (q < K) sum += cell[q] * tap[q];\n"
)
RIGHT = (
    right("pairs, then the last one"),
    right("q = q + 2", ("q += 2", "q = q + 2")),
    right(
        "the partner under a condition",
        (
            LOOP,
            "            for (int q = 0; q < K; q += 2) {\n"
            "                sum += cell[q] * tap[q];\n"
            "                if (q + 1 < K) sum += cell[q + 1] * tap[q + 1];\n"
            "            }\n",
        ),
    ),
    right(
        "the odd tap first",
        (
            LOOP,
            "            if (K % 2 == 1) sum += cell[0] * tap[0];\n"
            "            for (int pair = 0; pair < K / 2; ++pair) {\n"
            "                const int q = K % 2 + 2 * pair;\n"
            "                sum += cell[q] * tap[q];\n"
            "                sum += cell[q + 1] * tap[q + 1];\n"
            "            }\n",
        ),
    ),
    right(
        "steps of four and two, two sums",
        (
            "int q = 0;\n",
            "int q = 0;\n"
            "            for (; q + 3 < K; q += 4) {\n"
            "                sum += cell[q] * tap[q] + cell[q + 1] * tap[q + 1];\n"
            "                sum += cell[q + 2] * tap[q + 2] + cell[q + 3] * tap[q + 3];\n"
            "            }\n",
        ),
    ),
)


WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong(
        "one tap a turn, and // q += 2 in a comment",
        (
            LOOP,
            "            for (int q = 0; q < K; ++q) {   // q += 2\n"
            "                sum += cell[q] * tap[q];\n"
            "            }\n",
        ),
        status="budget",
    ),
    wrong(
        "one tap a turn, unrolled by #pragma",
        (
            LOOP,
            "            #pragma unroll 2\n"
            "            for (int q = 0; q < K; q++) {\n"
            "                sum += cell[q] * tap[q];\n"
            "            }\n",
        ),
        status="budget",
    ),
    wrong(
        "more loads",
        ("cell[q] * tap[q] + cell[q + 1]", "cell[q] * tap[q] + 0 * cell[0] + cell[q + 1]"),
        ("int q = 0;", "int q = 0; sum += 0 * tap[K - 1];"),
        status="budget",
    ),
    wrong("a loop that never ends", ("q += 2", "q += 0"), status="time"),
    wrong("nothing is written", ("    y[((b", "    if (K < 0) y[((b")),
)
