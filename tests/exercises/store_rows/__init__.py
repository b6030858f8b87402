"""Answers to store_rows, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("a tile of 8 x 48"),
    right("a tile of 8 x 34 without gaps", file="right_dense.cu"),
    right("stores of float4", file="right_float4.cu"),
)


WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("each lane stores its four sums at once", file="wrong_at_once.cu", status="budget"),
    wrong("sums read again from global memory", file="wrong_again.cu", status="budget"),
    wrong("in the order of the lanes", file="wrong_order.cu"),
    wrong("shuffles", file="wrong_shuffles.cu", status="budget"),
    wrong("nothing is written", ("i += 32) y[i]", "i += 32) if (i < 0) y[i]")),
    wrong(
        "the lanes that march together",
        ("    __syncwarp();   //", "    __syncwarp(__activemask());   //"),
    ),
)
