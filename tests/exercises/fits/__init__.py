"""Answers to fits, right and wrong."""

from __future__ import annotations

from tests.exercises.answers import broken_python, right_python, wrong_python

LAST = "    return 16 <= columns * rows * maps <= 72 and useful >= 0.8"

RIGHT = (
    right_python("one rule after the other"),
    right_python("all rules in a list", "right_all.py"),
)

WRONG = (
    wrong_python("the stub", "rule 1", file="stub.py", status="not_begun"),
    wrong_python("nothing for no", "True or False", ("useful >= 0.8", "useful >= 0.8 or None")),
    wrong_python("rows do not count", "rule 1", (" or tile_rows % rows", "")),
    wrong_python("maps do not count", "rule 2", (" or M % maps", "")),
    wrong_python("threads as they are", "whole warps", ("32 * -(-threads // 32)", "threads")),
    wrong_python("any number of threads", "rule 3", (" <= 256", " <= 1024")),
    wrong_python("any number of sums", "rule 4", ("16 <= columns * rows * maps <= 72 and ", "")),
    wrong_python("16 sums are too few", "it returns False", ("16 <= columns", "16 < columns")),
    wrong_python("M divides the maps", "8 divides 16", ("M % maps", "maps % M")),
    wrong_python("80 % are too few", "It keeps all five rules", ("useful >= 0.8", "useful > 0.8")),
    wrong_python("all outputs exist", "rule 5", (" and useful >= 0.8", "")),
    wrong_python(
        "tiles rounded along both axes at the same time",
        "rule 5",
        (
            "-(-out_w // tile_columns) * -(-out_h // tile_rows)",
            "-(-out_w * out_h // (tile_columns * tile_rows))",
        ),
    ),
    *broken_python("fits", (LAST, "    return 1 // 0")),
)
