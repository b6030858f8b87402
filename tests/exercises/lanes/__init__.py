"""Answers to lanes, right and wrong."""

from tests.exercises.answers import broken_python, right_python, wrong_python

WARPS = "    warps = -(-width * width // 32)  # of a block"
LAST = "    return 32 * warps * tiles"

RIGHT = (
    right_python("warps of a block"),
    right_python("tile by tile", file="right_tiles.py"),
    right_python(
        "a whole number as a float", ("return 32 * warps * tiles", "return 32.0 * warps * tiles")
    ),
)

WRONG = (
    wrong_python("the stub", file="stub.py", status="not_begun"),
    wrong_python(
        "threads in all, rounded up", (LAST, "    return 32 * -(-tiles * width * width // 32)")
    ),
    wrong_python("warps", (LAST, "    return warps * tiles")),
    wrong_python(
        "tiles rounded down",
        ("-(-out_h // width) * -(-out_w // width)", "(out_h // width) * (out_w // width)"),
    ),
    wrong_python(
        "threads over 32, rounded down", ("-(-width * width // 32)", "width * width // 32")
    ),
    wrong_python("a number with a fraction", (LAST, LAST + " / 7")),
    *broken_python("lanes", (LAST, "    return 1 // 0")),
)
