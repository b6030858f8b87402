"""What every exercise has, whatever its answer is: its texts, its hints, its points."""

from __future__ import annotations

import abc
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from helpers.exercises import folders
from helpers.exercises.judge import bar, earned, gaps
from helpers.exercises.judge.cases import LIMIT_S
from helpers.exercises.judge.hints import next_hint
from helpers.exercises.judge.verdict import ExerciseError, Verdict
from helpers.kernels import Listing

if TYPE_CHECKING:
    from helpers.kernel_cells import KernelCell
    from helpers.simulator.compile.ahead import Ahead

NOTEBOOK_SEED = 1  # of the cases in a notebook; a grader takes another
NO_SOLUTIONS = "This package of the labs has no solutions: your instructor has them."

_latest: dict[str, Verdict] = {}  # of `check`, by exercise
watchers: list[Callable[[], None]] = []  # called after each check


@dataclass(frozen=True, kw_only=True)
class BaseExercise(abc.ABC):
    """An exercise of a lab. hints: in the order in which a notebook shows them; place: among the
    exercises of its lab; limit_s: seconds of one run; home: the name of its folder, "" for that of
    the exercise.
    """

    name: str
    lab: str
    title: str
    hints: tuple[str, ...]
    points: int = 10
    place: int = 1
    limit_s: float = LIMIT_S
    home: str = ""

    suffix: ClassVar[str]  # of the files of answers

    @property
    def folder(self) -> Path:
        """The folder of its module, with the solution."""
        return folders.ROOT / folders.folders()[self.home or self.name]

    @cached_property
    def stub(self) -> str:
        """The text of the notebook's cell: the solution without its gaps. A package for students
        has a file of it, in place of the solution.
        """
        return self.text(f"stub{self.suffix}")

    @cached_property
    def solution(self) -> Solution:
        """The text of a cell that is right; a notebook shows it in colours. Raises
        FileNotFoundError where `has_solution` is false.
        """
        if not self.has_solution:
            raise FileNotFoundError(NO_SOLUTIONS)
        return Solution(self.text(f"solution{self.suffix}"), self.title)

    @property
    def has_solution(self) -> bool:
        """Whether the solution is there: a package for students leaves it out."""
        return (self.folder / f"solution{self.suffix}").is_file()

    def text(self, file: str, folder: Path | None = None) -> str:
        """Return the text of a cell in a file, by default beside the module. What is a comment
        there, `// %%kernel`, begins the cell. Without a file of the stub, it is made of the
        solution.
        """
        path = (folder or self.folder) / file
        if path.stem == "stub" and not path.is_file():
            made = gaps.stub(path.with_stem("solution").read_text(encoding="utf-8"))
        else:
            made = gaps.solution(path.read_text(encoding="utf-8"))
        return re.sub(r"\A// %%", "%%", made)

    @abc.abstractmethod
    def is_answer(self, text: str) -> bool:
        """Return whether the text of a cell says that it is an answer to this exercise."""

    @abc.abstractmethod
    def is_stub(self, text: str) -> bool:
        """Return whether the text of a cell is the stub, up to comments and white space."""

    def begin(self, cell: KernelCell) -> Ahead | None:
        """Begin to compile what the check of a kernel will need, if it needs anything."""
        return None

    @abc.abstractmethod
    def check(self, answer: Any) -> Verdict:
        """Judge what a notebook's cell has bound, on the notebook's cases. A notebook shows the
        verdict; in a program, ExerciseError is raised until it is right and within its budget.
        """

    @abc.abstractmethod
    def judge(self, text: str, seed: int = NOTEBOOK_SEED) -> Verdict:
        """Judge the text of a cell on the cases of a seed."""

    @property
    def latest(self) -> Verdict | None:
        """The verdict of the latest check in this session; None before the first one."""
        return _latest.get(self.name)

    def hint(self) -> None:
        """Print the next hint; after the last one, show the solution; then the first hint again."""
        text = next_hint(self.name, self.hints)
        if text:
            last = text.startswith(f"Hint {len(self.hints)} ") and self.has_solution
            print(f"{text}\nThe next call shows a solution." if last else text)
        elif self.has_solution:
            print("These were all hints. Here is a solution:")
            self.solution.show()
        else:
            print(f"These were all hints. {NO_SOLUTIONS}")

    def _said(self, verdict: Verdict, text: str = "") -> Verdict:
        """Keep a verdict as the latest one, and return it for a notebook to show; with a pass, say
        where the solution is. text: of the cell that was judged. Raises ExerciseError for one that
        is no pass, in a program.
        """
        _latest[self.name] = verdict
        if verdict.passed:
            earned.keep(self.name)
        for watcher in watchers:
            watcher()
        if not verdict.passed and not _in_notebook():
            raise ExerciseError(verdict)
        noted = verdict.passed and self.has_solution
        verdict = verdict.with_note(_SOLUTION) if noted else verdict
        return replace(verdict, frame=bar.Frame(self.hints, earned.has(self), text))


def _in_notebook() -> bool:
    """Return whether IPython runs this: it shows what a cell returns."""
    ipython = sys.modules.get("IPython")  # who has not imported it is not run by it
    return ipython is not None and ipython.get_ipython() is not None


class Solution(str):
    """The text of a solution. A notebook that displays it shows a listing in colours."""

    exercise_title: str

    def __new__(cls, text: str, exercise_title: str) -> Solution:
        made = super().__new__(cls, text)
        made.exercise_title = exercise_title
        return made

    @property
    def listing(self) -> Listing:
        """The text with the numbers of its lines."""
        language = "cuda" if self.startswith("%%kernel") else "python"
        return Listing(f"A solution: {self.exercise_title}", str(self), language=language)

    def __repr__(self) -> str:
        return repr(self.listing)

    def _repr_html_(self) -> str:
        return self.listing._repr_html_()

    def show(self) -> None:
        """Display the listing; without IPython, print it."""
        try:
            from IPython.display import display
        except ImportError:
            print(repr(self))
        else:
            display(self)


_SOLUTION = "One way to write it, to compare: exercise.solution"
