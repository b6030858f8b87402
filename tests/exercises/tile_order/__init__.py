"""Answers to tile_order, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("bands, with min"),
    right("the band's number and a remainder", file="right_remainder.cu"),
    right("a function of its own, as in the kernels of the ladder", file="right_function.cu"),
)

WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("one block for all tiles", file="wrong_one_block.cu", status="budget"),
    wrong("one lane stores for all", file="wrong_one_lane.cu", status="budget"),
)
