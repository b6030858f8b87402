"""Answers to conv2d_chunk, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("the sum starts from y"),
    right("the sum is added at the end", file="right_added.cu"),
    right("pointers", file="right_pointers.cu"),
)


WRONG = (
    wrong("images one channel apart", ("(b * C + first", "(b + first")),
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("y is read for nothing", file="wrong_read.cu", status="budget"),
)
