"""Answers to unrolled_by_two, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("pairs, then the last one"),
    right("q = q + 2", ("q += 2", "q = q + 2")),
    right("the partner under a condition", file="right_condition.cu"),
    right("the odd tap first", file="right_odd_first.cu"),
    right("steps of four and two, two sums", file="right_four.cu"),
)


WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("one tap a turn, and // q += 2 in a comment", file="wrong_comment.cu", status="budget"),
    wrong("one tap a turn, unrolled by #pragma", file="wrong_pragma.cu", status="budget"),
    wrong(
        "more loads",
        ("cell[q] * tap[q] + cell[q + 1]", "cell[q] * tap[q] + 0 * cell[0] + cell[q + 1]"),
        ("int q = 0;", "int q = 0; sum += 0 * tap[K - 1];"),
        status="budget",
    ),
    wrong("a loop that never ends", ("q += 2", "q += 0"), status="time"),
    wrong("nothing is written", ("    y[((b", "    if (K < 0) y[((b")),
)
