"""Why an answer is wrong: its story on a small case of the exercise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from helpers import kernel_cells
from helpers.exercises import outcome
from helpers.exercises.base import NOTEBOOK_SEED
from helpers.exercises.cases import Case
from helpers.exercises.mistakes import real_pairs
from helpers.exercises.verdict import EVIDENCE_LINES, Explanation, Verdict
from helpers.kernel_cells import KernelCell
from helpers.launch import Array
from helpers.simulator.explain import drawings, pictures, words
from helpers.simulator.explain.experiment import Experiment
from helpers.simulator.explain.followed import Followed
from helpers.simulator.explain.story import Judge, Story, explain, faults
from helpers.simulator.explain.tape import Tape
from helpers.simulator.explain.translation import NotRecorded
from helpers.simulator.toolchain import CompileFailed

if TYPE_CHECKING:
    from helpers.exercises.graded import GradedExercise

MOST_CELLS = 2_500  # of the arrays of a case in which a mistake is explained
MOST_THREADS = 2_048  # of its blocks
_MOST_CASES = 4


@dataclass(frozen=True)
class Told:
    """A story, and the case that it is of."""

    case: Case
    story: Story
    experiment: Experiment

    def picture(self) -> pictures.Why:
        """Return the picture of the story. Raises ValueError for a story of a finding alone."""
        return drawings.why(self.story, self.experiment, self.case.title)


def story_of(exercise: GradedExercise, cell: KernelCell) -> Told | None:
    """Return the story of an answer; None if all small cases come right, or none is recorded."""
    found: Told | None = None
    for case in small_cases(exercise):
        try:
            told = _in_case(exercise, cell, case)
        except (NotRecorded, CompileFailed, TypeError, ValueError):
            continue
        if told is None:
            continue
        if _shows_a_pattern(told.story):
            return told
        found = found or told
    return found


def _shows_a_pattern(story: Story) -> bool:
    """Return whether some cells are right: where all are wrong, much could be the cause."""
    return bool(story.causes) and (story.wrong is None or not story.wrong.is_all)


def small_cases(exercise: GradedExercise) -> Iterator[Case]:
    """Yield the cases in which a mistake is explained, the smallest first."""
    if exercise.small is not None:
        yield from exercise.small_cases
        return
    cases = sorted(exercise.all_cases(NOTEBOOK_SEED), key=_cells)
    few = [one for one in cases if _cells(one) <= MOST_CELLS and _threads(one) <= MOST_THREADS]
    yield from few[:_MOST_CASES]


def _cells(case: Case) -> int:
    return sum(array.size for array in case.arrays.values())


def _threads(case: Case) -> int:
    return int(np.prod(case.steps[0].grid)) * int(np.prod(case.steps[0].block))


def _in_case(exercise: GradedExercise, cell: KernelCell, case: Case) -> Told | None:
    if len(case.steps) != 1 or case.within:
        return None
    experiment = _experiment(case, cell)
    judge = judge_of(exercise, case, experiment)
    story = explain(experiment, judge)
    if story is None or not _is_as_judged(exercise, case, cell, experiment, story):
        return None
    return Told(case, story, experiment)


def _is_as_judged(
    exercise: GradedExercise, case: Case, cell: KernelCell, experiment: Experiment, story: Story
) -> bool:
    """Return whether the launch that is judged does what the record says: the debugger's
    translation rounds otherwise, and a variable without a value holds something else there.
    """
    (judged,) = outcome.checked(cell, [case], limit_s=exercise.limit_s)
    kinds = {one.kind for one in judged.findings}
    recorded_kinds = {one.kind for one in faults(story.tape)}
    if kinds or recorded_kinds:
        return bool(kinds & recorded_kinds)
    own = _parameters(experiment)
    for place, name in enumerate(case.steps[0].arguments):
        if isinstance(name, str) and name in case.outputs:
            got, recorded = judged.arrays[name], story.tape.outputs[own[place]]
            scale = 1e-5 * max(float(np.nanmax(np.abs(recorded), initial=0)), 1e-30)
            if not np.allclose(got, recorded, 1e-4, scale, equal_nan=True):
                return False
    return True


def _experiment(case: Case, cell: KernelCell) -> Experiment:
    (launch,) = case.plan(cell)
    arguments = tuple(
        case.arrays[one.name] if isinstance(one, Array) else one for one in launch.arguments
    )
    return Experiment(
        launch.source, launch.name, arguments, launch.grid, launch.block, launch.options,
        launch.constants,
    )  # fmt: skip


def judge_of(exercise: GradedExercise, case: Case, experiment: Experiment) -> Judge:
    """Return what is right in a case: the values of the reference, and the tape of the solution if
    it is there.
    """
    wants = exercise.wanted(case)
    given = case.steps[0].arguments
    places = {name: k for k, name in enumerate(given) if isinstance(name, str)}
    own = _parameters(experiment)
    right, names = None, {}
    if exercise.has_solution:
        solved = _experiment(case, kernel_cells.parse(str(exercise.solution)))
        right = Followed(solved.record())
        names = dict(zip(_parameters(solved), own, strict=True))

    def wrong(tape: Tape) -> dict[str, np.ndarray]:
        found = {}
        for name in case.outputs:
            got = real_pairs(tape.outputs[own[places[name]]]).astype(np.float64)
            want = real_pairs(wants[name]).astype(np.float64)
            with np.errstate(invalid="ignore"):
                near = np.abs(got - want) <= exercise.atol_of(case) + (
                    exercise.rtol + 1e-6
                ) * np.abs(want)
            found[own[places[name]]] = np.atleast_1d(~(near | (np.isnan(got) & np.isnan(want))))
        return found

    return Judge(wrong, {own[places[n]]: wants[n] for n in case.outputs}, right, names)


def _parameters(experiment: Experiment) -> list[str]:
    from helpers.simulator.compiler import compile_source

    compiled = compile_source(experiment.source, experiment.options, f"{experiment.name}.cu")
    kernel = next(one for one in compiled.kernels if one.name == experiment.name)
    return [one.name for one in kernel.parameters]


def told_in(verdict: Verdict, told: Told) -> Verdict:
    """Return a verdict with a story in place of its hint."""
    sentence, *evidence = words.lines_of(told.story, told.case.title)
    return replace(
        verdict.because("\n".join((sentence, *evidence))),
        story=Explanation(sentence, tuple(evidence[:EVIDENCE_LINES])),
    )
