"""What JupyterLab's buttons at the cell of an exercise are given: its stub, and its own text.

Our extension of JupyterLab (gaps.js in helpers/jupyterlab/share) gets it by a comm. A comm is no
output: nothing of it is stored, and without the extension nothing happens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from helpers.exercises.base import BaseExercise

TARGET = "halo-labs:gaps"  # as in gaps.js


def send(every: Iterable[BaseExercise]) -> None:
    """Send the gaps of some exercises to the extension."""
    from IPython import get_ipython

    if getattr(get_ipython(), "kernel", None) is None:
        return
    from comm import create_comm

    create_comm(target_name=TARGET, data={"gaps": [gap(one) for one in every]}).close()


def gap(exercise: BaseExercise) -> dict[str, str]:
    """Return an exercise's title, stub, and a regular expression (of JavaScript, for many lines)
    that its cell has and its check has not.
    """
    kernel = getattr(exercise, "cell_name", "")
    bound = re.escape(getattr(exercise, "answer", ""))
    pattern = rf"^\s*%%kernel\s+{kernel}\b" if kernel else rf"^(?:(?:def|class)\s+)?{bound}\s*[(:=]"
    return {"title": exercise.title, "stub": exercise.stub.rstrip(), "pattern": pattern}
