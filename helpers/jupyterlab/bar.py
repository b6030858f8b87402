"""What the exercise bars and the cards of predictions in JupyterLab ask a kernel.

Our extension (share/, bar.js) opens a comm with the names that a notebook asks for, and gets what
`exercises.bar` says of each; or with the name of an exercise whose solution it shows.
`exercises.progress` sends the same of its own accord, so that the bars come where nobody listened
when the notebook was opened.
"""

from __future__ import annotations

from typing import Any

from helpers.bench import predictions
from helpers.exercises.judge.bar_messages import TARGET, needs, tell


def listen(shell: Any) -> None:
    """Answer the extension, in a shell that is a Jupyter kernel."""
    if getattr(shell, "kernel", None) is None:  # in a terminal
        return
    from comm import get_comm_manager

    get_comm_manager().register_target(TARGET, _answer)
    predictions.watchers.append(lambda: tell({"predictions": predictions.known()}))


def _answer(comm: Any, message: dict[str, Any]) -> None:
    from helpers import exercises

    asked = message["content"]["data"]
    if "solution" in asked:
        solution = exercises.find(str(asked["solution"])).solution
        comm.send({"solution": solution.listing._repr_html_()})
    else:
        found = []
        for name in dict.fromkeys(asked.get("asked", ())):
            try:
                found.append(needs(exercises.find(str(name))))
            except LookupError:  # a name of the student's, or a lab of several
                continue
        comm.send({"exercises": found, "predictions": predictions.known()})
    comm.close()
