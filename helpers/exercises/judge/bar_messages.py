"""What the buttons of the exercise bars need, sent to our extension of JupyterLab by a comm. A comm
is no output: nothing of it is stored, and without the extension nothing happens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from helpers.exercises.judge import earned
from helpers.exercises.judge.bar import as_code
from helpers.exercises.judge.base import BaseExercise

TARGET = "halo-labs:bar"  # as in bar.js


def send(every: Iterable[BaseExercise]) -> None:
    """Send what the bars of some exercises need to the extension."""
    tell({"exercises": [needs(one) for one in every]})


def tell(data: dict[str, Any]) -> None:
    """Send data to the extension; without a Jupyter kernel, nothing happens."""
    from IPython import get_ipython

    if getattr(get_ipython(), "kernel", None) is None:
        return
    from comm import create_comm

    create_comm(target_name=TARGET, data=data).close()


def needs(exercise: BaseExercise) -> dict[str, Any]:
    """Return what the bar of an exercise needs. kernel: the name in the cell's first line, "" for
    an answer in Python; cell, check: regular expressions (of JavaScript,
    for many lines) that the exercise's own cell has, and the cell of its check.
    """
    kernel = getattr(exercise, "cell_name", "")
    bound = re.escape(getattr(exercise, "answer", "") or kernel)
    pattern = rf"^\s*%%kernel\s+{kernel}\b" if kernel else rf"^(?:(?:def|class)\s+)?{bound}\s*[(:=]"
    return {
        "name": exercise.home or exercise.name,
        "kernel": kernel,
        "title": exercise.title,
        "stub": exercise.stub.rstrip(),
        "cell": pattern,
        "check": rf"\.check\(\s*{bound}\s*\)",
        "hints": [as_code(hint) for hint in exercise.hints],
        "solution": exercise.has_solution,
        "passed": earned.has(exercise),
    }
