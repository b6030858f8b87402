"""Answers to fits, right and wrong."""

from tests.exercises.answers import broken_python, right_python, wrong_python

LAST = "    return 16 <= columns * rows * maps <= 72 and useful >= 0.8"

RIGHT = (
    right_python("one rule after the other"),
    right_python("all rules in a list", file="right_all.py"),
)

WRONG = (
    wrong_python("the stub", file="stub.py", status="not_begun"),
    wrong_python("nothing for no", ("useful >= 0.8", "useful >= 0.8 or None")),
    wrong_python("rows do not count", (" or tile_rows % rows", "")),
    wrong_python("maps do not count", (" or M % maps", "")),
    wrong_python("threads as they are", ("32 * -(-threads // 32)", "threads")),
    wrong_python("any number of threads", (" <= 256", " <= 1024")),
    wrong_python("any number of sums", ("16 <= columns * rows * maps <= 72 and ", "")),
    wrong_python("16 sums are too few", ("16 <= columns", "16 < columns")),
    wrong_python("M divides the maps", ("M % maps", "maps % M")),
    wrong_python("80 % are too few", ("useful >= 0.8", "useful > 0.8")),
    wrong_python("all outputs exist", (" and useful >= 0.8", "")),
    wrong_python(
        "tiles rounded along both axes at the same time",
        (
            "-(-out_w // tile_columns) * -(-out_h // tile_rows)",
            "-(-out_w * out_h // (tile_columns * tile_rows))",
        ),
    ),
    *broken_python("fits", (LAST, "    return 1 // 0")),
)
