"""Answers to second_difference, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("one thread fills each end"),
    right("filled in two steps", file="right_steps.cu"),
)


WRONG = (
    wrong("bulk copies by each thread", file="wrong_bulk_copies.cu", status="budget"),
    wrong("thread 0 loads the tile", file="wrong_one_thread.cu", status="budget"),
    wrong("no tile", file="wrong_direct.cu", status="budget"),
)
