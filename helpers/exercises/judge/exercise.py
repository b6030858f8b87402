"""One exercise in a notebook: it takes the function that a %%kernel cell makes.

exercise.check(kernel)   a Verdict, which a notebook shows; on a GPU, with times
exercise.on_bench()      its case for the bench, which counts an answer beside the lab's
exercise.why()           the picture of what the latest check found wrong
exercise.hint()          the next hint; after the last one, a solution

How an answer is judged is the matter of `graded`.
"""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from helpers.exercises.judge import cell_texts
from helpers.exercises.judge.base import NOTEBOOK_SEED
from helpers.exercises.judge.graded import GradedExercise
from helpers.exercises.judge.verdict import ExerciseError, Verdict
from helpers.kernel_cells import KernelCell, is_cell

if TYPE_CHECKING:
    from helpers.exercises.judge.explained import Told
    from helpers.exercises.judge.on_bench import OnBench
    from helpers.simulator.explain.pictures import Why


@dataclass(frozen=True, kw_only=True)
class Exercise(GradedExercise):
    """An exercise whose answer is a %%kernel cell. Its fields are those of GradedExercise."""

    def check(self, answer: Any) -> Verdict:
        """Judge a %%kernel function, as BaseExercise.check says; on a GPU, time it as well."""
        cell = _cell_of(answer)
        text = getattr(answer, "raw", "") or cell.text
        if (now := cell_texts.replacement(text)) is not None:
            begin = f"Begin it with `%%kernel {self.cell_name}`"
            words = cell_texts.words(self.cell_name, now, begin)
            return self._said(self._verdict("refused", words), now)
        verdict = self._as_graded(self._of_cell(cell, NOTEBOOK_SEED), answer, cell)
        verdict = self._with_story(verdict, cell)
        if verdict.passed and _on_gpu():
            from helpers.exercises.judge import on_gpu

            try:
                verdict = on_gpu.timed(self, answer, verdict, NOTEBOOK_SEED)
            except ExerciseError as error:
                verdict = error.verdict
        return self._said(verdict, text)

    def _with_story(self, verdict: Verdict, cell: KernelCell) -> Verdict:
        """Return a verdict that tells what the threads did, in place of a guess; where that is not
        known, a guess says that it is one.
        """
        _stories.pop(self.name, None)
        _recognised.pop(self.name, None)
        from helpers.exercises.judge import stories
        from helpers.exercises.judge.explained import NoStory

        if not stories.is_to_explain(verdict):
            if stories.is_explainable(verdict):
                _recognised[self.name] = cell
            return verdict
        verdict = stories.without_untried_cure(verdict, self)
        try:
            told = stories.story_of(self, cell)
        except NoStory as error:
            return stories.untold(verdict, f"{error}.")
        except Exception as error:  # a fault of ours must not cost a student the verdict
            logging.getLogger(__name__).exception("the explanation of %s failed", self.name)
            return stories.untold(verdict, f"Its explanation failed: {error!r}. Please tell us.")
        if told is None:
            return stories.untold(verdict)
        _stories[self.name] = told
        return stories.told_in(verdict, told)

    def why(self) -> Why:
        """Return the picture of what the latest check found wrong: the terms of an output, and what
        its thread did. Raises ValueError where no check has found a cause that a picture shows.
        """
        if self.name in _recognised:
            self._follow(_recognised.pop(self.name))
        if self.name not in _stories:
            raise ValueError(
                f"there is no picture of {self.name}: check an answer first; a right one has none, "
                "nor has one whose launches cannot be recorded"
            )
        from helpers.exercises.judge import stories

        return stories.picture_of(_stories[self.name])

    def _follow(self, cell: KernelCell) -> None:
        """Find the story of an answer whose mistake was recognised, so that the check needed none.
        """
        from helpers.exercises.judge import stories
        from helpers.exercises.judge.explained import NoStory

        with contextlib.suppress(NoStory):
            told = stories.story_of(self, cell)
            if told is not None:
                _stories[self.name] = told

    def _as_graded(self, verdict: Verdict, kernel: Any, cell: KernelCell) -> Verdict:
        """Return the verdict that a grader would give, who reads the cell in the notebook's file.
        """
        if verdict.passed and cell.text and cell.name != self.cell_name:
            words = (
                f"right, but its cell begins with %%kernel {cell.name}. The grader looks for "
                f"%%kernel {self.cell_name}: change the first line, and run the cell again."
            )
            return self._verdict("refused", words)
        if verdict.passed and not getattr(kernel, "readable", True):
            words = (
                "right, but a grader cannot find it: its text must be alone in a cell that "
                f"begins with %%kernel {self.cell_name}."
            )
            return self._verdict("refused", words)
        return verdict.with_note(_TWICE) if getattr(kernel, "twice", False) else verdict

    def accepted(self, kernel: Any) -> Any:
        """Return a %%kernel function that passes; one that is "yours: not yet" in its place else.
        """
        from helpers.bench.sources import Missing

        is_right = bool(kernel.source) and self.accepts(_cell_of(kernel))
        return kernel if is_right else Missing(self.name)

    def on_bench(self) -> OnBench:
        """Return the case on which the bench counts an answer beside the lab's."""
        from helpers.exercises.judge.on_bench import OnBench

        return OnBench(self.name, self)


_stories: dict[str, Told] = {}  # of the latest check, by exercise
_recognised: dict[str, KernelCell] = {}  # the latest answer whose mistake has a hint of its own
_TWICE = (
    "Two cells of this session make this kernel, with different texts. The grader takes the last "
    "of them in the notebook, from top to bottom: keep one."
)


def _cell_of(kernel: Any) -> KernelCell:
    if isinstance(cell := getattr(kernel, "cell", None), KernelCell):
        return cell
    if not is_cell(kernel):
        raise TypeError(
            f"check() takes the function that a %%kernel cell makes, got "
            f"{type(kernel).__name__}: run that cell, and pass its name"
        )
    return KernelCell(kernel.name, kernel.name, tuple(kernel.options), kernel.source)


def _on_gpu() -> bool:
    from helpers import device

    selected = device.selected()
    return selected is not None and selected.kind == "gpu"
