"""Answers to copy_in_flight, right and wrong."""

from tests.exercises.answers import right, wrong

LOAD = "value[k] = i < n ? in[i] : 0.0f;"


RIGHT = (
    right("the last cell again behind the end", file="right_clamped.cu"),
    right("loads, then stores"),
    right("a load under an if", (LOAD, "value[k] = 0; if (i < n) value[k] = in[i];")),
    right("the next round is loaded before this one is stored", file="right_ahead.cu"),
    right("stores from the last to the first", file="right_backwards.cu"),
)

WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("one loop", file="wrong_one_loop.cu", status="budget"),
    wrong("each is stored at once", file="wrong_pairs.cu", status="budget"),
    wrong("neighbours in one thread", file="wrong_neighbours.cu", status="budget"),
    wrong("each cell is loaded twice", file="wrong_twice.cu", status="budget"),
)
