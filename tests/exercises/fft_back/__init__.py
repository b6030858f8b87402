"""Answers to fft_back, right and wrong."""

from tests.exercises.answers import right, wrong

RIGHT = (
    right("spans up, the conjugate"),
    right("divided and taken modulo", file="right_modulo.cu"),
    right("the twiddle conjugated first", file="right_conjugate.cu"),
    right("two stages at a time", file="right_two_stages.cu"),
)


WRONG = (
    wrong("the stub", file="stub.cu", status="not_begun"),
    wrong("the transform by its definition", file="wrong_definition.cu", status="budget"),
    wrong(
        "two barriers a stage",
        ("        cells[first] =", "        __syncthreads();\n        cells[first] ="),
        status="budget",
    ),
    wrong("nothing is written", ("i += POINTS / 2) x[", "i += POINTS / 2) if (POINTS < 0) x[")),
)
