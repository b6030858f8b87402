"""The stubs of exercises, for the buttons that JupyterLab shows at their cells.

Our extension (share/, gaps.js) opens a comm with the names that a notebook asks for, and gets what
`exercises.buttons` says of each. `exercises.progress` sends the same of its own accord, so that the
buttons come where nobody listened when the notebook was opened.
"""

from __future__ import annotations

from typing import Any

from helpers.exercises.buttons import TARGET, gap


def listen(shell: Any) -> None:
    """Answer the extension, in a shell that is a Jupyter kernel."""
    if getattr(shell, "kernel", None) is None:  # in a terminal
        return
    from comm import get_comm_manager

    get_comm_manager().register_target(TARGET, _answer)


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
