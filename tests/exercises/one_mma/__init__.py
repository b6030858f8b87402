"""Answers to one_mma, right and wrong."""

from tests.exercises.answers import right, wrong

GROUP, TWO = "group = lane / 4;", "two = lane % 4 * 2;"

RIGHT = (
    right("ours"),
    right("pointers to the lane's rows and columns", file="right_pointers.cu"),
    right("terms in another order, A by two requests", file="right_renamed.cu"),
    right("bits for divisions", (GROUP, "group = lane >> 2;"), (TWO, "two = 2 * (lane & 3);")),
)

WRONG = (
    wrong(
        "an mma of ones that lets products of integers pass", file="wrong_gate.cu", status="budget"
    ),
    wrong("an idle mma, and products of integers", file="wrong_integers.cu", status="budget"),
    wrong("the stub", file="stub.cu", status="not_begun"),
)
