"""Answers to above_lowest, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("a butterfly"),
    right("down, then lane 0 tells all", file="right_down.cu"),
    right(
        "smallest distance first", ("far = 16; far > 0; far /= 2", "far = 1; far < 32; far *= 2")
    ),
    right("the smallest of a warp by one instruction", file="right_redux.cu"),
)


WRONG = (
    wrong("the bits of a float as a number", file="wrong_bits.cu"),
    wrong("through shared memory", file="wrong_shared.cu", status="budget"),
    wrong("all numbers loaded by each lane", file="wrong_global.cu", status="budget"),
)
