"""Answers to block_program, right and wrong."""

from tests.exercises.answers import right_python, wrong_python

RIGHT = (
    right_python("a range and a mask"),
    right_python("places by a loop", file="right_loop.py"),
)


WRONG = (
    wrong_python("the stub", file="stub.py", status="not_begun"),
    wrong_python("every program at the beginning", ("pid * BLOCK + np.arange", "np.arange")),
    wrong_python("no mask", ("inside = place < len(x)", "inside = place >= 0")),
    wrong_python("the mask of a block", ("place < len(x)", "place < BLOCK")),
    wrong_python("the last cell left out", ("< len(x)", "< len(x) - 1")),
    wrong_python("a block too far", ("pid * BLOCK", "(pid + 1) * BLOCK")),
    wrong_python("no maximum", ("np.maximum(2 * cells + 1, 0)", "(2 * cells + 1)")),
    wrong_python(
        "the factor inside", ("np.maximum(2 * cells + 1, 0) * 0.5", "np.maximum(cells + 1, 0)")
    ),
    wrong_python(
        "nothing is returned", ("    return place[inside].tolist(), y.tolist()", "    return None")
    ),
    wrong_python(
        "large values left out",
        (
            "y = np.maximum(2 * cells + 1, 0) * 0.5",
            "y = np.maximum(2 * np.minimum(cells, 1000) + 1, 0) * 0.5",
        ),
    ),
)
