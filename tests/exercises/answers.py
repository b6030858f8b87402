"""Answers that a test holds an exercise to: right ones, and wrong or cheating ones with the verdict
that each must get. What is said of each stands in its golden row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from helpers.exercises.judge import mutants
from helpers.exercises.judge.mutants import Edit


@dataclass(frozen=True)
class Answer:
    """what: in words; file: beside the module; edits: what is exchanged in it; status: of the
    verdict.
    """

    what: str
    file: str = "solution.cu"
    edits: tuple[Edit, ...] = ()
    status: str = "wrong"

    def applied(self, text_of: Callable[[str], str]) -> str:
        """The text of the answer. Raises mutants.EditError."""
        return mutants.edited(text_of(self.file), self.edits)


def right(what: str, *edits: Edit, file: str = "solution.cu") -> Answer:
    """An answer that must pass."""
    return Answer(what, file, edits, "pass")


def wrong(what: str, *edits: Edit, file: str = "solution.cu", status: str = "wrong") -> Answer:
    """An answer that must be rejected with `status`."""
    return Answer(what, file, edits, status)


def right_python(what: str, *edits: Edit, file: str = "solution.py") -> Answer:
    """An answer in Python that must pass."""
    return right(what, *edits, file=file)


def wrong_python(
    what: str, *edits: Edit, file: str = "solution.py", status: str = "wrong"
) -> Answer:
    """An answer in Python that must be rejected, as `wrong` says."""
    return wrong(what, *edits, file=file, status=status)


def broken_python(name: str, error: Edit) -> tuple[Answer, ...]:
    """Answers in Python that end before anything is judged: a loop without an end (the file
    wrong_endless.py), an error (an edit of the solution that divides by zero), and no function
    `name`.
    """
    return (
        wrong_python("a loop that never ends", file="wrong_endless.py", status="time"),
        wrong_python("an error", error, status="refused"),
        wrong_python(
            "no function of that name", (f"def {name}(", f"def other_{name}("), status="compile"
        ),
    )
