"""An exercise whose answer is Python, or text that Python compiles: what it makes is judged, never
its text.

As for a kernel, making and judging are apart: `run(text, seed)` executes the answer, in a box if
need be, and returns what it made; `verdict(made, seed)` compares elsewhere.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import io
import linecache
import logging
import os
import re
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from helpers import kernel_cells
from helpers.exercises.judge import cell_texts, gate, patience
from helpers.exercises.judge.base import NOTEBOOK_SEED, BaseExercise
from helpers.exercises.judge.verdict import Verdict
from helpers.quantities import quantity

_NEXT_ALARM_S = 0.05  # after one that came where no error can be raised


class StoppedError(Exception):
    """An answer that was still running after the time limit."""


@dataclass(frozen=True)
class Judgement:
    """What judging an answer gives: a status of Verdict, a message, and a hint."""

    status: str
    message: str
    hint: str = ""
    checked: str = ""


def of_findings(words: str, findings: Sequence[str], hint: str) -> Judgement:
    """Return what judging an answer gives whose work is not ordered. words: which run of it."""
    count = quantity(len(findings), "finding")
    return Judgement("finding", f"{words}, {count}; the first\n{findings[0]}", hint)


@dataclass(frozen=True, kw_only=True)
class PythonExercise(BaseExercise):
    """An exercise whose answer is Python.

    answer: the name that an answer must bind; made: a function of what it binds and a seed: what it
    made, plain values and arrays; judged: a function of that and the seed; more: what a notebook
    prints below a pass, which differs from run to run and is no part of the verdict; is_text: the
    answer is a text, which is read from the cell and not executed there.
    """

    answer: str
    made: Callable[[Any, int], Any]
    judged: Callable[[Any, int], Judgement]
    more: Callable[[Any], str] | None = None
    is_text: bool = False

    suffix: ClassVar[str] = ".py"

    def check(self, answer: Any) -> Verdict:
        """Judge what a notebook's cell has bound, as BaseExercise.check says.

        A grader has the text of the cell alone, so that this text must be right, too.
        """
        text = _cell_of(answer, self.answer)
        if text is None and _is_of_elsewhere(answer):
            return self._said(self._verdict(Judgement("refused", _ELSEWHERE.format(self.answer))))
        if text is None and self.is_text and isinstance(answer, str):
            text = f"{self.answer} = {answer!r}"  # a cell that is in no history, as under nbval
        if text is not None and (now := cell_texts.replacement(text)) is not None:
            words = cell_texts.words(self.answer, now, f"Call the answer {self.answer}")
            return self._said(self._verdict(Judgement("refused", words)), now)
        verdict = self._of(answer, NOTEBOOK_SEED)
        if verdict.passed and text is not None:
            with contextlib.redirect_stdout(io.StringIO()):
                alone = self.judge(text)
            if not alone.passed:
                said = alone.message.partition(f" {self.name}: ")[2]
                words = f"right, but not by the text of its cell alone, which is graded: {said}"
                verdict = self._verdict(Judgement(alone.status, words, alone.hint or ALONE))
        elif text is not None and self.is_stub(text):
            verdict = verdict.not_begun()
        elif text is not None and verdict.status == "time" and _needs_ipython(text):
            said = verdict.message.partition(f" {self.name}: ")[2]
            # A line with ! starts a process each time.
            verdict = self._verdict(Judgement("time", said, ALONE))
        verdict = self._said(verdict, text or "")
        if self.more is not None and verdict.passed:
            print(self.more(answer))
        return verdict

    def judge(self, text: str, seed: int = NOTEBOOK_SEED) -> Verdict:
        """Judge the text of a cell."""
        try:
            gate.check(text)
            verdict = self._of(self.bound(text), seed)
        except gate.Refused as refusal:
            return self._verdict(Judgement("refused", str(refusal)))
        except (SyntaxError, NameError) as error:
            return self._verdict(Judgement("compile", f"{type(error).__name__}: {error}"))
        except Exception as error:  # of the cell's own lines, before anything is called
            return self._verdict(_refused(error))
        return verdict.not_begun() if not verdict.passed and self.is_stub(text) else verdict

    def is_answer(self, text: str) -> bool:
        """Return whether the text of a cell is an answer to this exercise: it binds the name."""
        return self.answer in text and self.answer in _bound_names(text)

    def is_stub(self, text: str) -> bool:
        """Return whether the text of a cell is the stub, up to comments and white space."""
        return _form(text) == _form(self.stub)

    def run(self, text: str, seed: int) -> Any:
        """Execute the text of a cell and return what it makes. Raises whatever the text raises, and
        StoppedError.
        """
        return self._made(functools.partial(self.bound, text), seed)

    def _made(self, answer: Callable[[], Any], seed: int) -> Any:
        """Return what an answer makes within its time. Raises whatever it raises, and
        StoppedError.
        """

        def run(limit_s: float) -> Any:
            try:
                with _stopped_after(limit_s):
                    return self.made(answer(), seed)
            except StoppedError as stopped:
                return stopped

        def is_late(made: Any) -> bool:
            return isinstance(made, StoppedError)

        made = patience.with_patience(run, is_late, self.limit_s)
        if is_late(made):
            raise made
        return made

    def verdict(self, made: Any, seed: int) -> Verdict:
        """Judge what an answer has made."""
        return self._verdict(self.judged(made, seed))

    def bound(self, text: str) -> Any:
        """Return what the text of a cell binds to the answer's name. Raises NameError where it does
        not bind it, and gate.Refused where it computes what should be a text.
        """
        if self.is_text:
            return literal(text, self.answer)
        names: dict[str, Any] = {"np": np, "__name__": "__main__", "__builtins__": _builtins()}
        exec(compile(text, "<answer>", "exec"), names)
        if self.answer not in names:
            raise NameError(f"the cell must define {self.answer!r}")
        return names[self.answer]

    def _of(self, answer: Any, seed: int) -> Verdict:
        try:
            made = self._made(lambda: answer, seed)
        except StoppedError as stopped:
            late = f"it was still running after {stopped}, and was stopped"
            return self._verdict(Judgement("time", late, "Does each loop end?"))
        except Exception as error:
            return self._verdict(_refused(error))
        return self.verdict(made, seed)

    def _verdict(self, found: Judgement) -> Verdict:
        return Verdict.of(
            self.name, found.status, found.message, self.points, found.hint, checked=found.checked
        )


ALONE = (
    "A grader runs this cell alone, as plain Python with NumPy as np: import in it what it needs "
    "(helpers is not there), define in it what it calls, use no % or ! of IPython, and write a "
    "text as one literal."
)
_ELSEWHERE = (
    "no cell of this notebook defines {0!r}: it comes from a file, or from a magic such as %%time. "
    "A grader reads the notebook's cells alone: define it in a cell of plain Python"
)
_CELL = re.compile(r"ipykernel|<ipython")  # in the name of the file that a cell was compiled as


def _builtins() -> dict[str, Any]:
    """Return Python's own names as a grader's box has them: IPython adds to them, and the box has
    no package `helpers`.
    """

    def imported(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "helpers":
            raise ModuleNotFoundError("No module named 'helpers'")
        return builtins.__import__(name, *rest, **more)

    own = {name: value for name, value in vars(builtins).items() if name not in _OF_IPYTHON}
    return {**own, "__import__": imported}


_OF_IPYTHON = ("get_ipython", "display")


def _is_of_elsewhere(answer: Any) -> bool:
    """Return whether a notebook's answer is a function that was compiled from no cell: from a file,
    or from a text that IPython has not kept.
    """
    code = getattr(answer, "__code__", None)
    if code is None or _shell() is None:
        return False
    is_file = os.path.exists(code.co_filename) and not _CELL.search(code.co_filename)
    return is_file or not linecache.getlines(code.co_filename)


def _shell() -> Any:
    """Return the notebook's shell; None outside of a notebook."""
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    return get_ipython()


def _cell_of(answer: Any, name: str) -> str | None:
    """Return the text of the notebook's cell that has bound an answer; None where there is none.

    IPython keeps the text of each cell for tracebacks, and all of them in `In`.
    """
    shell = _shell()
    if shell is None:
        return None
    if code := getattr(answer, "__code__", None):
        return None if _is_of_elsewhere(answer) else "".join(linecache.getlines(code.co_filename))
    cells = reversed(shell.user_ns.get("In", ()))
    return next((cell for cell in cells if name in _bound_names(cell)), None)


def _bound_names(text: str) -> set[str]:
    """Return the names that the text of a cell binds at its top level; none where it is no Python.
    """
    names: set[str] = set()
    for node in _statements(text):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {one.id for one in targets if isinstance(one, ast.Name)}
    return names


def _form(text: str) -> tuple[str, ...]:
    """Return what two texts of a cell have in common that differ in comments and white space alone;
    of a text in it, such as C++, too.
    """
    made = []
    for node in _statements(text):
        for one in ast.walk(node):
            if isinstance(one, ast.Constant) and isinstance(one.value, str):
                one.value = " ".join(kernel_cells.tokens(one.value))
        made.append(ast.dump(node))
    return tuple(made) or (text,)


def literal(cell: str, name: str) -> str:
    """Return the text that a cell assigns to a name; the cell is read, not run. Raises
    gate.Refused.
    """
    try:
        tree = ast.parse(cell)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise gate.Refused(f"the cell is no Python: {type(error).__name__}: {error}") from None
    value = None
    for node in tree.body:
        targets = getattr(node, "targets", None) or [getattr(node, "target", None)]
        if any(isinstance(one, ast.Name) and one.id == name for one in targets):
            value = getattr(node, "value", None) if isinstance(node, ast.Assign) else node
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        gate.check_includes(value.value)
        return value.value
    raise gate.Refused(f'the cell must set the text as one literal: {name} = r""" ... """')


def _statements(text: str) -> list[ast.stmt]:
    try:
        return ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def _needs_ipython(text: str) -> bool:
    """Return whether the text of a cell is no plain Python: it has a % or !, as it was typed or in
    the form that IPython gives to it.
    """
    nodes = [node for statement in _statements(text) for node in ast.walk(statement)]
    return not nodes or any(
        isinstance(node, ast.Name) and node.id in _OF_IPYTHON for node in nodes
    )


def _refused(error: Exception) -> Judgement:
    """Return what judging an answer gives that ends with an error."""
    return Judgement("refused", f"{type(error).__name__}: {error}{_place(error)}")


def _place(error: Exception) -> str:
    """Return the last line of the answer that led to an error, in a notebook or in a text."""
    frames = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if f.filename == "<answer>" or _CELL.search(f.filename)
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
        # Around a fork, Python ignores an error in what logging does with its locks, and the answer
        # would go on. The next alarm comes soon.
        if frame is not None and frame.f_globals.get("__name__") == logging.__name__:
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise StoppedError(f"{seconds:.3g} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, _NEXT_ALARM_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
