"""Answers to taps_split, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("down, halving"),
    right("crosswise", "solution.cu", ("__shfl_down_sync", "__shfl_xor_sync")),
    right("five lines, growing", "right_growing.cu"),
    right("the last lane stores", "right_up.cu"),
)


WRONG = (
    wrong("map 0 for all", "the weights of map 0", ("filter[m * taps + t]", "filter[t]")),
    wrong("the stub", "nothing is written", file="stub.cu", status="not_begun"),
    wrong("32 atomics", "atomics", file="wrong_atomics.cu", status="budget"),
    wrong(
        "all lanes store the same sum",
        "only one lane of the warp",
        ("__shfl_down_sync", "__shfl_xor_sync"),
        ("if (lane == 0) ", ""),
        status="budget",
    ),
    wrong("shared memory", "shared memory", file="wrong_shared.cu", status="budget"),
    wrong("every lane does all taps", "load", file="wrong_all_taps.cu", status="budget"),
    wrong("31 shuffles", "shuffles per warp", file="wrong_chain.cu", status="budget"),
    wrong("nothing is written", "nothing is written", ("if (lane == 0)", "if (lane == 32)")),
    wrong(
        "a rounded quotient",
        "stand for a division of whole numbers",
        ("h = i / out_w, w = i % out_w", "h = i * (1.0f / out_w), w = i - h * out_w"),
    ),
    wrong(
        "a filter of 7 x 7",
        "width 7 are right",
        ("t / (K * K), p = t / K % K, q = t % K", "t / 49, p = t / 7 % 7, q = t % 7"),
    ),
    wrong(
        "p and q exchanged",
        "rows and columns are exchanged",
        ("p = t / K % K, q = t % K", "q = t / K % K, p = t % K"),
    ),
    wrong(
        "at most 512 taps",
        "right in 6 of 7 cases",
        ("t < taps; t += 32", "t < taps && t < 512; t += 32"),
    ),
)
