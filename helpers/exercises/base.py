"""What every exercise has, whatever its answer is: its texts, its hints, its points."""

from __future__ import annotations

import abc
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from helpers.exercises import gaps
from helpers.exercises.cases import LIMIT_S
from helpers.exercises.hints import next_hint
from helpers.exercises.verdict import ExerciseError, Verdict

NOTEBOOK_SEED = 1  # of the cases in a notebook; a grader takes another

_latest: dict[str, Verdict] = {}  # of `check`, by exercise


@dataclass(frozen=True, kw_only=True)
class BaseExercise(abc.ABC):
    """An exercise of a lab. folder: of its module, with the solution; hints: in the
    order in which a notebook shows them; place: among the exercises of its lab; limit_s: seconds of
    one run.
    """

    name: str
    lab: str
    title: str
    folder: Path
    hints: tuple[str, ...]
    points: int = 10
    place: int = 1
    limit_s: float = LIMIT_S

    suffix: ClassVar[str]  # of the files of answers

    @cached_property
    def stub(self) -> str:
        """The text of the notebook's cell: the solution without its gaps. A package for students
        has a file of it, in place of the solution.
        """
        return self.text(f"stub{self.suffix}")

    @cached_property
    def solution(self) -> str:
        """The text of a cell that is right. Raises FileNotFoundError where `has_solution` is
        false.
        """
        return self.text(f"solution{self.suffix}")

    @property
    def has_solution(self) -> bool:
        """Whether the solution is there: a package for students leaves it out."""
        return (self.folder / f"solution{self.suffix}").is_file()

    def text(self, file: str, folder: Path | None = None) -> str:
        """The text of a cell in a file, by default beside the module. What is a comment there,
        `// %%kernel`, begins the cell. Without a file of the stub, it is made of the solution.
        """
        path = (folder or self.folder) / file
        if path.stem == "stub" and not path.is_file():
            made = gaps.stub(path.with_stem("solution").read_text(encoding="utf-8"))
        else:
            made = gaps.solution(path.read_text(encoding="utf-8"))
        return re.sub(r"\A// %%", "%%", made)

    @abc.abstractmethod
    def is_answer(self, text: str) -> bool:
        """Whether the text of a cell says that it is an answer to this exercise."""

    @abc.abstractmethod
    def is_stub(self, text: str) -> bool:
        """Whether the text of a cell is the stub, up to comments and white space."""

    @abc.abstractmethod
    def check(self, answer: Any) -> Verdict:
        """Judge what a notebook's cell has bound, on the notebook's cases. Raises ExerciseError
        until it is right and within its budget.
        """

    @abc.abstractmethod
    def judge(self, text: str, seed: int = NOTEBOOK_SEED) -> Verdict:
        """Judge the text of a cell on the cases of a seed."""

    @property
    def latest(self) -> Verdict | None:
        """The verdict of the latest check in this session; None before the first one."""
        return _latest.get(self.name)

    def hint(self) -> None:
        """Print the next hint; after the last one, all of them again."""
        print(next_hint(self.name, self.hints))

    def _said(self, verdict: Verdict) -> Verdict:
        """Keep a verdict as the latest one. Raises ExerciseError for one that is no pass."""
        _latest[self.name] = verdict
        if not verdict.passed:
            raise ExerciseError(verdict)
        return verdict
