"""Answers to choose_tool, right and wrong."""

from tests.exercises.answers import right_python, wrong_python

RIGHT = (
    right_python("a minimum by a pair"),
    right_python("sorted, and the first that is fast enough", file="right_sorted.py"),
)


WRONG = (
    wrong_python("the stub", file="stub.py", status="not_begun"),
    wrong_python("the fastest", ("(lines[tool], measured[tool])", "measured[tool]")),
    wrong_python("the fewest lines, however slow", ("if time <= within * best", "if True")),
    wrong_python("the limit itself left out", ("<= within", "< within")),
    wrong_python("no tool is left", ("<= within", "< 0.5 * within")),
    wrong_python("None compared", ("if time is not None}", "}")),
    wrong_python("of equally few the first", ("(lines[tool], measured[tool])", "lines[tool]")),
    wrong_python(
        "no measurement taken as the best",
        ("if time is not None}", "}"),
        ("in ms.items()", "in ((t, m or 0.0) for t, m in ms.items())"),
    ),
    wrong_python("nothing is returned", ("    return min(enough", "    min(enough")),
)
