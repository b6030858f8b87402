"""Why an answer is wrong: its story on a small case of the exercise."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from helpers import kernel_cells
from helpers.exercises.judge.base import NOTEBOOK_SEED
from helpers.exercises.judge.cases import Case
from helpers.exercises.judge.explained import NoStory, Task, Told, experiment_of, told_of
from helpers.exercises.judge.graded import SEARCH
from helpers.exercises.judge.verdict import EVIDENCE_LINES, Explanation, Verdict
from helpers.kernel_cells import KernelCell
from helpers.simulator.explain import drawings, pictures, words
from helpers.simulator.explain.followed import Followed
from helpers.simulator.findings.words import Cause, Need

if TYPE_CHECKING:
    from helpers.exercises.judge.graded import GradedExercise

MOST_CELLS = 10_000  # of the arrays of a case in which a mistake is explained
MOST_THREADS = 2_048  # of its blocks
_MOST_CASES = 4


def picture_of(told: Told) -> pictures.Why:
    """Return the picture of a story. Raises ValueError for a story of a finding alone."""
    return drawings.why(told.story, told.experiment, told.case.title)


def story_of(exercise: GradedExercise, cell: KernelCell) -> Told | None:
    """Return the story of an answer, the first one with a cause if there is any; None if all small
    cases come right. Raises NoStory.
    """
    try:
        return told_of(cell, tasks(exercise, cell), exercise.limit_s)
    except NoStory as error:
        raise NoStory(f"What the threads of {exercise.name} did is not shown: {error}") from None


def is_explainable(verdict: Verdict) -> bool:
    """Return whether a verdict is about what the threads did."""
    return verdict.status in ("wrong", "finding", "time")


def is_to_explain(verdict: Verdict) -> bool:
    """Return whether a verdict has but a guess at what led to it."""
    return verdict.is_guess and is_explainable(verdict)


def tasks(exercise: GradedExercise, cell: KernelCell) -> Iterator[Task]:
    """Yield the cases in which a mistake of a cell is looked for, with the solution if it is there.
    """
    for case in small_cases(exercise, cell):
        right = functools.partial(_solved, exercise, case) if exercise.has_solution else None
        yield Task(case, exercise.wanted(case), exercise.atol_of(case), exercise.rtol, right)


def small_cases(exercise: GradedExercise, cell: KernelCell) -> tuple[Case, ...]:
    """Return the cases in which a mistake of a cell is explained, the smallest first."""
    if exercise.small is not None:
        return exercise.fit_all(cell, exercise.small_cases)
    cases = exercise.fit_all(cell, exercise.all_cases(NOTEBOOK_SEED))
    few = [one for one in cases if _cells(one) <= MOST_CELLS and _threads(one) <= MOST_THREADS]
    return tuple(sorted(few, key=_cells)[:_MOST_CASES])


def _cells(case: Case) -> int:
    return sum(array.size for array in case.arrays.values())


def _threads(case: Case) -> int:
    return int(np.prod(case.steps[0].grid)) * int(np.prod(case.steps[0].block))


def _solved(exercise: GradedExercise, case: Case) -> Followed:
    """Return the tape of the solution in a case."""
    cell = kernel_cells.parse(str(exercise.solution))
    (fitted,) = exercise.fit_all(cell, (case,))
    return Followed(experiment_of(fitted, cell).record())


def told_in(verdict: Verdict, told: Told) -> Verdict:
    """Return a verdict with a story in place of its hint: the cause, or what was seen. A remark of
    the compiler's on the line of the cause comes first. Where the story knows no cause, the hint of
    a mutant stays, and any remark comes first.
    """
    lines, remark = words.lines_of(told.story, told.case.title), verdict.remark
    said = with_lines(verdict, lines)
    if remark is not None and (not told.has_cause or remark.line == told.story.causes[0].line):
        seen = [lines[0].removesuffix(words.UNKNOWN).strip(), *lines[1:]]  # the remark knows it
        said = replace(said, story=_explanation([remark.text, *filter(None, seen)]))
    if told.has_cause:
        return said
    if verdict.is_recognised:
        return with_lines(verdict, (verdict.hint, *lines[1:]))
    if verdict.finding is not None and told.story.causes:
        # The barrier that the finding's own cause names has been tried.
        cause = verdict.finding.cause
        return with_lines(verdict, (cause, *lines)) if cause else said
    # What the machine has found says more than a story that fails.
    return said if verdict.finding is None else untold(verdict)


def without_untried_cure(verdict: Verdict, exercise: GradedExercise) -> Verdict:
    """Return a verdict whose finding names no cure that nobody has tried: as often, the index is
    wrong. An atomic function stays where the solution has one.
    """
    finding = verdict.finding
    if finding is None:
        return verdict
    if finding.need not in _UNTRIED and finding.reason is not Cause.NO_WAIT_FOUND:
        return verdict
    if finding.need is Need.ATOMIC and exercise.has_solution and _has_atomic(exercise):
        return verdict
    bare = replace(finding, causes=())
    message = verdict.message.replace(str(finding), str(bare))
    return replace(verdict, message=message, finding=bare)


_UNTRIED = (Need.GUARD, Need.ATOMIC, Need.LAUNCH)


def _has_atomic(exercise: GradedExercise) -> bool:
    return re.search(r"\batomic\w+\(", str(exercise.solution)) is not None


def with_lines(verdict: Verdict, lines: Sequence[str]) -> Verdict:
    """Return a verdict with the sentence of a story and its evidence in place of its hint."""
    return replace(verdict.because("\n".join(lines)), story=_explanation(lines))


def _explanation(lines: Sequence[str]) -> Explanation:
    sentence, *evidence = lines
    return Explanation(sentence, tuple(evidence[:EVIDENCE_LINES]))


def untold(verdict: Verdict, why_not: str = "") -> Verdict:
    """Return a verdict whose hint says that nothing has shown it. why_not: why there is no story.
    """
    if not verdict.hint and why_not:  # what the verdict says stays the first that is read
        return replace(verdict, message=f"{verdict.message}\n{why_not}")
    if verdict.is_recognised or verdict.hint in ("", SEARCH):
        return verdict.with_note(why_not)
    return replace(
        verdict, hint="\n".join(filter(None, (f"{words.UNKNOWN} {_OFTEN} {verdict.hint}", why_not)))
    )


_OFTEN = "This often leads to it:"
