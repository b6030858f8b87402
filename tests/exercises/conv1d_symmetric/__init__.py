"""Answers to conv1d_symmetric, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("a tile of cells", file="right_tile.cu"),
    right("pairs, then the middle"),
    right("counted by distance from the middle", file="right_distance.cu"),
    right("three weights in registers, five products", file="right_registers.cu"),
)


WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("a request for every weight", file="wrong_every_weight.cu", status="budget"),
    wrong("weights passed by shuffles", file="wrong_shuffles.cu", status="budget"),
    wrong("nothing is written", ("P[i] = sum", "if (n < 0) P[i] = sum")),
    wrong("block 0 does everything", file="wrong_one_block.cu", status="budget"),
)
