"""Answers to taps_split, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("down, halving"),
    right("crosswise", ("__shfl_down_sync", "__shfl_xor_sync")),
    right(
        "five lines, growing",
        (
            "    atomicAdd(&y[(b * M + m) * outputs + i], sum);             // change this line\n",
            "    sum += __shfl_xor_sync(0xffffffff, sum, 1);\n"
            "    sum += __shfl_xor_sync(0xffffffff, sum, 2);\n"
            "    sum += __shfl_xor_sync(0xffffffff, sum, 4);\n"
            "    sum += __shfl_xor_sync(0xffffffff, sum, 8);\n"
            "    sum += __shfl_xor_sync(0xffffffff, sum, 16);\n"
            "    if (lane == 5) y[(b * M + m) * outputs + i] = sum;\n",
        ),
        file="wrong_atomics.cu",
    ),
    right(
        "the last lane stores",
        (
            "    atomicAdd(&y[(b * M + m) * outputs + i], sum);             // change this line\n",
            "    for (int away = 1; away < 32; away *= 2) {\n"
            "        const float lower = __shfl_up_sync(0xffffffff, sum, away);\n"
            "        if (lane >= away) sum += lower;\n"
            "    }\n"
            "    if (lane == 31) y[(b * M + m) * outputs + i] = sum;\n",
        ),
        file="wrong_atomics.cu",
    ),
)


WRONG = (
    wrong("map 0 for all", ("filter[m * taps + t]", "filter[t]")),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("32 atomics", file="wrong_atomics.cu", status="budget"),
    wrong(
        "all lanes store the same sum",
        ("__shfl_down_sync", "__shfl_xor_sync"),
        ("if (lane == 0) ", ""),
        status="budget",
    ),
    wrong("shared memory", file="wrong_shared.cu", status="budget"),
    wrong("every lane does all taps", file="wrong_all_taps.cu", status="budget"),
    wrong("31 shuffles", file="wrong_chain.cu", status="budget"),
    wrong("nothing is written", ("if (lane == 0)", "if (lane == 32)")),
    wrong(
        "a rounded quotient",
        ("h = i / out_w, w = i % out_w", "h = i * (1.0f / out_w), w = i - h * out_w"),
    ),
    wrong(
        "a filter of 7 x 7",
        ("t / (K * K), p = t / K % K, q = t % K", "t / 49, p = t / 7 % 7, q = t % 7"),
    ),
    wrong("p and q exchanged", ("p = t / K % K, q = t % K", "q = t / K % K, p = t % K")),
    wrong("at most 512 taps", ("t < taps; t += 32", "t < taps && t < 512; t += 32")),
)
