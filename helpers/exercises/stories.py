"""Why an answer is wrong: its story on a small case of the exercise."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from helpers import kernel_cells
from helpers.exercises import outcome
from helpers.exercises.base import NOTEBOOK_SEED
from helpers.exercises.cases import Case
from helpers.exercises.graded import SEARCH
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
from helpers.simulator.faults import LaunchRefused
from helpers.simulator.toolchain import CompileFailed

if TYPE_CHECKING:
    from helpers.exercises.graded import GradedExercise

MOST_CELLS = 2_500  # of the arrays of a case in which a mistake is explained
MOST_THREADS = 2_048  # of its blocks
MOST_SECONDS = 1.2  # of the processor, until no further case is begun
QUICK_SECONDS = 0.4  # the same where a cause is known
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


class NoStory(RuntimeError):
    """An answer whose launches cannot be recorded; the message says why."""


def story_of(exercise: GradedExercise, cell: KernelCell) -> Told | None:
    """Return the story of an answer, the first one with a cause if there is any; None if all small
    cases come right. Raises NoStory.
    """
    found: Told | None = None
    why_not = ""
    begun = time.process_time()
    for case in exercise.fit_all(cell, tuple(small_cases(exercise))):
        if time.process_time() > begun + MOST_SECONDS:
            break
        if len(case.steps) != 1 or case.within:
            why_not = why_not or "a case has several launches, or another kernel calls the answer"
            continue
        try:
            told = _in_case(exercise, cell, case, begun + MOST_SECONDS)
        except (NotRecorded, CompileFailed, LaunchRefused) as error:
            why_not = why_not or str(error)
            continue
        if told is None:
            continue
        if _shows_a_pattern(told.story):
            return told
        if found is None or not found.story.causes or _is_of_index(told.story):
            found = told  # of a larger case: more of its cells could say otherwise
        # A cause of a case in which all is wrong is worth a look at another one, if that is quick.
        if found.story.causes and time.process_time() > begun + QUICK_SECONDS:
            break
    if found is None and why_not:
        raise NoStory(f"what the threads of {exercise.name} did is not recorded: {why_not}")
    return found


def _shows_a_pattern(story: Story) -> bool:
    """Return whether some cells are right: where all are wrong, much could be the cause."""
    return bool(story.causes) and (story.wrong is None or not story.wrong.is_all)


def _is_of_index(story: Story) -> bool:
    return bool(story.causes) and story.causes[0].kind == "index"


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


def _in_case(
    exercise: GradedExercise, cell: KernelCell, case: Case, until: float
) -> Told | None:
    experiment = _experiment(case, cell)
    judge = judge_of(exercise, case, experiment)
    story = explain(experiment, judge, until)
    if story is None or not _is_as_judged(exercise, case, cell, experiment, story):
        return None
    return Told(case, story, experiment)


def _is_as_judged(
    exercise: GradedExercise, case: Case, cell: KernelCell, experiment: Experiment, story: Story
) -> bool:
    """Return whether the launch that is judged does what the record says: the debugger's
    translation rounds otherwise, and a variable without a value holds something else there.
    """
    is_endless = any(one.kind == "runaway" for one in faults(story.tape))
    limit = min(exercise.limit_s, 1.0) if is_endless else exercise.limit_s
    (judged,) = outcome.checked(cell, [case], limit_s=limit)
    kinds = {one.kind for one in judged.findings}
    # An output may be read before it is stored where it is judged: its values say so.
    recorded_kinds = {
        one.kind
        for one in faults(story.tape)
        if (one.kind, one.array) != ("uninitialised", story.output)
    }
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
        right = _solved(exercise, case)
        solved = [one.name for one in right.tape.recording.kernel.parameters]
        names = dict(zip(solved, own, strict=True))

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


_right: dict[tuple[str, str], Followed] = {}  # of the latest cases, by exercise and title


def _solved(exercise: GradedExercise, case: Case) -> Followed:
    """Return the tape of the solution in a case."""
    key = exercise.name, case.title
    if key not in _right:
        solved = _experiment(case, kernel_cells.parse(str(exercise.solution)))
        _right[key] = Followed(solved.record())
        while len(_right) > _MOST_CASES:
            del _right[next(iter(_right))]
    return _right[key]


def _parameters(experiment: Experiment) -> list[str]:
    from helpers.simulator.compiler import compile_source

    compiled = compile_source(experiment.source, experiment.options, f"{experiment.name}.cu")
    kernel = next(one for one in compiled.kernels if one.name == experiment.name)
    return [one.name for one in kernel.parameters]


def told_in(verdict: Verdict, told: Told) -> Verdict:
    """Return a verdict with a story in place of its hint: the cause, or what was seen. The hint of
    a mutant stays where the story knows no cause.
    """
    sentence, *evidence = words.lines_of(told.story, told.case.title)
    if verdict.is_recognised and not told.story.causes:
        sentence = verdict.hint
    return replace(
        verdict.because("\n".join((sentence, *evidence))),
        story=Explanation(sentence, tuple(evidence[:EVIDENCE_LINES])),
    )


def untold(verdict: Verdict, why_not: str = "") -> Verdict:
    """Return a verdict whose hint says that nothing has shown it. why_not: why there is no story.
    """
    if verdict.is_recognised or verdict.hint in ("", SEARCH):
        return verdict.with_note(why_not)
    return replace(
        verdict, hint="\n".join(filter(None, (f"{words.UNKNOWN} {_OFTEN} {verdict.hint}", why_not)))
    )


_OFTEN = "This often leads to it:"
