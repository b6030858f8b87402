"""Answers to conv1d_constant_divergent, right and wrong."""

from tests.exercises.answers import right, wrong

TAP = "(threadIdx.x + j) % FILTER_WIDTH"

RIGHT = (
    right("the rest of a division"),
    right("the lane in place of the thread", (TAP, "(threadIdx.x % 32 + j) % FILTER_WIDTH")),
    right(
        "a test in place of a division",
        (
            f"const int tap = {TAP};",
            "int tap = threadIdx.x % FILTER_WIDTH + j;\n"
            "            if (tap >= FILTER_WIDTH) tap -= FILTER_WIDTH;",
        ),
    ),
    right("every second weight", (TAP, "(threadIdx.x + 2 * j) % FILTER_WIDTH")),
)


WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong(
        "the block in place of the thread",
        (TAP, "(blockIdx.x + j) % FILTER_WIDTH"),
        status="budget",
    ),
    wrong("the order of conv1d_constant", (TAP, "j"), status="budget"),
)
