"""Answers to block_program, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import right_python, wrong_python

RIGHT = (
    right_python("a range and a mask"),
    right_python("places by a loop", "right_loop.py"),
)


WRONG = (
    wrong_python("the stub", "nothing is written", file="stub.py", status="not_begun"),
    wrong_python(
        "every program at the beginning", "pid * BLOCK", ("pid * BLOCK + np.arange", "np.arange")
    ),
    wrong_python(
        "no mask",
        "only below len(x)",
        ("inside = place < len(x)", "inside = place >= 0"),
    ),
    wrong_python("the mask of a block", "a place lies in x", ("place < len(x)", "place < BLOCK")),
    wrong_python("the last cell left out", "all of them", ("< len(x)", "< len(x) - 1")),
    wrong_python("a block too far", "the places of program", ("pid * BLOCK", "(pid + 1) * BLOCK")),
    wrong_python(
        "no maximum", "larger of that and 0", ("np.maximum(2 * cells + 1, 0)", "(2 * cells + 1)")
    ),
    wrong_python(
        "the factor inside",
        "times 0.5",
        ("np.maximum(2 * cells + 1, 0) * 0.5", "np.maximum(cells + 1, 0)"),
    ),
    wrong_python(
        "nothing is returned",
        "two lists",
        ("    return place[inside].tolist(), y.tolist()", "    return None"),
    ),
    wrong_python(
        "large values left out",
        "the values are",
        (
            "y = np.maximum(2 * cells + 1, 0) * 0.5",
            "y = np.maximum(2 * np.minimum(cells, 1000) + 1, 0) * 0.5",
        ),
    ),
)
