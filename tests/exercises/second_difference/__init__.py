"""Answers to second_difference, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right, wrong

RIGHT = (
    right("one thread fills each end"),
    right("filled in two steps", "right_steps.cu"),
)


WRONG = (
    wrong(
        "bulk copies by each thread",
        "load each of them once",
        file="wrong_bulk_copies.cu",
        status="budget",
    ),
    wrong(
        "thread 0 loads the tile",
        "others have nothing to do",
        file="wrong_one_thread.cu",
        status="budget",
    ),
    wrong("no tile", "load each of them once", file="wrong_direct.cu", status="budget"),
)
