"""An exercise whose answer is Python, or text that Python compiles: what it makes is judged, never
its text.

As for a kernel, making and judging are apart: `run(text, seed)` executes the answer, in a box if
need be, and returns what it made; `verdict(made, seed)` compares elsewhere.
"""

from __future__ import annotations

import contextlib
import re
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from helpers.exercises.answers import Answer
from helpers.exercises.exercise import NOTEBOOK_SEED, OVER_BUDGET
from helpers.exercises.hints import next_hint
from helpers.exercises.verdict import ExerciseError, Verdict

LIMIT_S = 5.0


class StoppedError(Exception):
    """An answer that was still running after the time limit."""


@dataclass(frozen=True)
class Found:
    """What judging an answer gives: a status of Verdict, a message, and a hint."""

    status: str
    message: str
    hint: str = ""
    checked: str = ""


def of_findings(words: str, findings: Sequence[str], hint: str) -> Found:
    """What judging an answer gives whose work is not ordered. words: which run of it."""
    return Found("finding", f"{words}, {len(findings)} findings; the first\n{findings[0]}", hint)


@dataclass(frozen=True)
class PythonExercise:
    """An exercise whose answer is Python.

    answer: the name that an answer must bind; made: a function of what it binds and a seed: what it
    made, plain values and arrays; judged: a function of that and the seed. folder: of the module,
    with stub.py, solution.py and other answers.
    """

    name: str
    lab: str
    title: str
    folder: Path
    answer: str
    made: Callable[[Any, int], Any]
    judged: Callable[[Any, int], Found]
    hints: tuple[str, ...]
    right: tuple[Answer, ...]
    wrong: tuple[Answer, ...]
    points: int = 10
    limit_s: float = LIMIT_S
    more: Callable[[Any], str] | None = None
    place: int = 1

    @cached_property
    def stub(self) -> str:
        """The text of the notebook's cell."""
        return self.text("stub.py")

    @cached_property
    def solution(self) -> str:
        """The text of a cell that is right."""
        return self.text("solution.py")

    def text(self, file: str) -> str:
        """The text of an answer beside the module."""
        return (self.folder / file).read_text(encoding="utf-8")

    def text_of(self, answer: Answer) -> str:
        """The text of an answer: a file's, or the solution (another file) with edits."""
        return answer.applied(self.text)

    def check(self, answer: Any) -> Verdict:
        """Judge what a notebook's cell has bound. Raises ExerciseError until it is right."""
        verdict = self._of(answer, NOTEBOOK_SEED)
        if not verdict.passed:
            raise ExerciseError(verdict)
        if (
            self.more is not None
        ):  # what differs from run to run is shown, and no part of the verdict
            print(self.more(answer))
        return verdict

    def judge(self, text: str, seed: int = NOTEBOOK_SEED) -> Verdict:
        """Judge the text of a cell."""
        try:
            return self._of(self.bound(text), seed)
        except (SyntaxError, NameError) as error:
            return self._verdict(Found("compile", f"{type(error).__name__}: {error}"))

    def run(self, text: str, seed: int) -> Any:
        """Execute the text of a cell and return what it makes. Raises whatever the text raises, and
        StoppedError.
        """
        with _stopped_after(self.limit_s):
            return self.made(self.bound(text), seed)

    def verdict(self, made: Any, seed: int) -> Verdict:
        """Judge what an answer has made."""
        return self._verdict(self.judged(made, seed))

    def hint(self) -> None:
        """Print the next hint; after the last one, all of them again."""
        print(next_hint(self.name, self.hints))

    def bound(self, text: str) -> Any:
        """What the text of a cell binds to the answer's name. Raises NameError where it does not
        bind it.
        """
        names: dict[str, Any] = {}
        exec(compile(text, "<answer>", "exec"), names)
        if self.answer not in names:
            raise NameError(f"the cell must define {self.answer!r}")
        return names[self.answer]

    def _of(self, answer: Any, seed: int) -> Verdict:
        try:
            with _stopped_after(self.limit_s):
                made = self.made(answer, seed)
        except StoppedError as stopped:
            after = str(stopped) or f"{self.limit_s:g} s"
            late = f"it was still running after {after}, and was stopped"
            return self._verdict(Found("time", late, "Does each loop end?"))
        except Exception as error:
            where = _place(error)
            return self._verdict(Found("refused", f"{type(error).__name__}: {error}{where}"))
        return self.verdict(made, seed)

    def _verdict(self, found: Found) -> Verdict:
        share = {"pass": 1.0, "budget": OVER_BUDGET}.get(found.status, 0.0)
        words = (
            "PASS" if found.status == "pass" else "NOT YET" if found.status == "budget" else "FAIL"
        )
        text = f"{words} {self.name}: {found.message}"
        return Verdict(
            self.name,
            found.status,
            text,
            share * self.points,
            self.points,
            found.hint,
            found.checked,
        )


def _place(error: Exception) -> str:
    """The last line of the answer that led to an error, in a notebook or in a text."""
    frames = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if re.search(r"ipykernel|<answer>|<ipython", f.filename)
    ]
    return f" (line {frames[-1].lineno} of the cell)" if frames else ""


@contextlib.contextmanager
def _stopped_after(seconds: float) -> Iterator[None]:
    """Raise StoppedError in this thread after so many seconds; without effect beside the main
    thread, or on Windows.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(
        signal, "setitimer"
    ):
        yield
        return

    def stop(number: int, frame: Any) -> None:
        raise StoppedError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
