"""Answers to above_lowest, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("a butterfly"),
    right("down, then lane 0 tells all", "right_down.cu"),
    right(
        "smallest distance first",
        "solution.cu",
        ("far = 16; far > 0; far /= 2", "far = 1; far < 32; far *= 2"),
    ),
    right("the smallest of a warp by one instruction", "right_redux.cu"),
)


WRONG = (
    wrong("blocks of 128, whatever they are", "blocks of one size", ("blockDim.x", "128")),
    wrong(
        "the largest",
        "the largest number of the warp",
        ("fminf", "fmaxf"),
        ("INFINITY", "-INFINITY"),
    ),
    wrong("the bits of a float as a number", "only numbers below 0", file="wrong_bits.cu"),
    wrong(
        "an absolute value", "only numbers below 0", ("= mine - lowest", "= fabsf(mine) - lowest")
    ),
    wrong("0 for lanes without a number", "must bring infinity", (": INFINITY", ": 0.0f")),
    wrong("1e5 for lanes without a number", "that is infinity", (": INFINITY", ": 1e5f")),
    wrong(
        "down instead of xor",
        "gives the result to all",
        ("__shfl_xor_sync", "__shfl_down_sync"),
    ),
    wrong("four steps", "five steps are needed", ("far > 0", "far > 1")),
    wrong(
        "its own number handed on in each step",
        "seen so far",
        ("0xffffffff, lowest, far", "0xffffffff, mine, far"),
    ),
    wrong("turned around", "minus the smallest, not", ("mine - lowest", "lowest - mine")),
    wrong("not subtracted", "not subtracted", ("mine - lowest", "mine")),
    wrong(
        "lanes without a number leave",
        "no lane may return",
        ("    const float mine", "    if (i >= n) return;\n    const float mine"),
        status="finding",
    ),
    wrong("no guard", "in place of N[i]", ("i < n ? N[i] : INFINITY", "N[i]"), status="finding"),
    wrong(
        "through shared memory",
        "needs no shared memory",
        file="wrong_shared.cu",
        status="budget",
    ),
    wrong(
        "all numbers loaded by each lane",
        "come by a shuffle",
        file="wrong_global.cu",
        status="budget",
    ),
    wrong(
        "a mask of half a warp",
        "the mask must name every lane that makes the call",
        ("0xffffffff", "0xffff"),
        status="finding",
    ),
)
