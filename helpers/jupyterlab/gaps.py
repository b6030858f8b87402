"""The stubs of exercises, for the buttons that JupyterLab shows at their cells.

Our extension (share/, gaps.js) opens a comm with the names that a notebook asks for, and gets for
each its title, its stub, and what the text of its cell has. `exercises.progress` sends the same of
its own accord, so that the buttons come where nobody listened when the notebook was opened. A comm
is no output: nothing of it is stored, and without the extension nothing happens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from helpers.exercises.base import BaseExercise

TARGET = "halo-labs:gaps"  # as in gaps.js


def listen(shell: Any) -> None:
    """Answer the extension, in a shell that is a Jupyter kernel."""
    if getattr(shell, "kernel", None) is None:  # in a terminal
        return
    from comm import get_comm_manager

    get_comm_manager().register_target(TARGET, _answer)


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


def _answer(comm: Any, message: dict[str, Any]) -> None:
    from helpers import exercises

    found = []
    for name in dict.fromkeys(message["content"]["data"].get("asked", ())):
        try:
            found.append(gap(exercises.find(str(name))))
        except LookupError:  # a name of the student's, or a lab of several
            continue
    comm.send({"gaps": found})
    comm.close()
