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
        "lane 0 alone",
        "lane 0's own",
        (
            "for (int half = 16; half > 0; half /= 2) sum += __shfl_down_sync(0xffffffff, "
            "sum, half);\n",
            "",
        ),
    ),
    wrong("from 8 lanes on", "first shuffle", ("half = 16", "half = 8")),
    wrong("down to 2 lanes", "last shuffle", ("half > 0", "half > 1")),
    wrong("all lanes store", "several lanes store", ("if (lane == 0) ", ""), status="finding"),
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
    wrong("shuffles up", "no lane before it", ("__shfl_down_sync", "__shfl_up_sync")),
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
        "rows of W outputs",
        "in rows of out_w",
        ("h = i / out_w, w = i % out_w", "h = i / W, w = i % W"),
    ),
    wrong(
        "one weight for a lane",
        "by one weight",
        ("filter[m * taps + t]", "filter[m * taps + lane]"),
    ),
    wrong(
        "the first shuffle reaches 32 lanes",
        "twice what it should be",
        ("half = 16", "half = 32"),
    ),
    wrong(
        "the sum is replaced",
        "taps of lane 31",
        ("sum += __shfl", "sum = __shfl"),
    ),
    wrong(
        "lane 31 stores",
        "the whole sum is in lane 0",
        ("lane == 0", "lane == 31"),
    ),
    wrong(
        "16 taps further on",
        "two lanes add the same tap",
        ("t += 32", "t += 16"),
    ),
    wrong(
        "the row without its remainder",
        "how many taps has a channel",
        ("p = t / K % K", "p = t / K"),
        status="finding",
    ),
    wrong(
        "at most 512 taps",
        "right in 6 of 7 cases",
        ("t < taps; t += 32", "t < taps && t < 512; t += 32"),
    ),
)
