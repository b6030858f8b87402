"""What the threads of a wrong answer did, on small cases, where what is right in them is known.

This needs no exercise, no reference and no solution: it runs in a grader's box as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from helpers.exercises.judge import outcome
from helpers.exercises.judge.cases import Case, real_pairs
from helpers.kernel_cells import KernelCell
from helpers.launch import Array
from helpers.simulator.compile.compiler import compile_source
from helpers.simulator.compile.toolchain import CompileFailed
from helpers.simulator.explain import words
from helpers.simulator.explain.experiment import Experiment
from helpers.simulator.explain.followed import Followed
from helpers.simulator.explain.story import Judge, Story, explain, faults
from helpers.simulator.explain.tape import Tape
from helpers.simulator.explain.translation import NotRecorded
from helpers.simulator.explain.work import Work
from helpers.simulator.machine.faults import LaunchRefused

MOST_WORK = 400_000  # units, of all cases
QUICK_WORK = 60_000  # where a cause is known: after that no further case is looked at
ENDLESS_SECONDS = 0.4  # of a run as it is judged, if its record has not come to an end


@dataclass(frozen=True)
class Told:
    """A story, and the case that it is of."""

    case: Case
    story: Story
    experiment: Experiment

    @property
    def has_cause(self) -> bool:
        """Whether a cause is known, and nothing else that was not tried may be it."""
        causes = self.story.causes
        return bool(causes) and not any(words.is_within_a_warp(self.story, one) for one in causes)


@dataclass(frozen=True)
class Task:
    """A case of one launch in which a mistake is looked for. wants: its right outputs, by name;
    right: returns the tape of a kernel that is right, None where nobody has one.
    """

    case: Case
    wants: Mapping[str, np.ndarray]
    atol: float
    rtol: float
    right: Callable[[], Followed] | None = None


class NoStory(RuntimeError):
    """An answer whose launches cannot be recorded; the message says why."""


def told_of(cell: KernelCell, tasks: Iterable[Task], limit_s: float) -> Told | None:
    """Return the story of an answer, the first one with a cause if there is any; None if all comes
    right. limit_s: of one run. Raises NoStory.
    """
    found: Told | None = None
    why_not = ""
    work = Work(MOST_WORK)
    tasks = tuple(tasks)
    for task in tasks:
        if work.left <= 0:
            break
        if not _is_plain(task.case):
            why_not = why_not or "a case has several launches, or another kernel calls the answer"
            continue
        try:
            others = [one for one in tasks if one is not task and _is_plain(one.case)]
            told = _in_case(cell, task, limit_s, work, others)
        except (NotRecorded, CompileFailed, LaunchRefused) as error:
            why_not = why_not or str(error)
            continue
        if told is None:
            continue
        if _shows_a_pattern(told.story):
            return told
        if found is None or _knows_more(told.story, found.story):
            found = told
        # A cause of a case in which all is wrong is worth a look at another one, if that is quick.
        if found.story.causes and work.spent > QUICK_WORK:
            break
    if found is None and why_not:
        raise NoStory(why_not)
    return found


def cause_of(cell: KernelCell, tasks: Iterable[Task], limit_s: float) -> list[str]:
    """Return the lines of an answer's story if it has a cause, none otherwise. limit_s: of one run.
    """
    try:
        told = told_of(cell, tasks, limit_s)
    except NoStory:
        return []
    if told is None or not told.has_cause:
        return []
    return words.lines_of(told.story, told.case.title)


def _shows_a_pattern(story: Story) -> bool:
    """Return whether some cells are right: where all are wrong, much could be the cause."""
    return bool(story.causes) and (story.wrong is None or not story.wrong.is_all)


def _knows_more(story: Story, other: Story) -> bool:
    """Return whether a story is to be told in place of one of a smaller case: it alone has a cause,
    or its cause is an index, of which more cells could say otherwise.
    """
    if not story.causes:
        return False
    return not other.causes or story.causes[0].kind == "index"


def _is_plain(case: Case) -> bool:
    """Return whether a case is one launch of the answer."""
    return len(case.steps) == 1 and not case.within


def _in_case(
    cell: KernelCell, task: Task, limit_s: float, work: Work, others: Iterable[Task]
) -> Told | None:
    experiment = experiment_of(task.case, cell, work)

    def elsewhere() -> Iterator[tuple[Experiment, Judge]]:
        for other in others:
            launch = experiment_of(other.case, cell, work)
            yield launch, judge_of(replace(other, right=None), launch)

    judge = replace(judge_of(task, experiment), others=elsewhere)
    story = explain(experiment, judge)
    if story is None or not _is_as_judged(task.case, cell, experiment, story, limit_s):
        return None
    return Told(task.case, story, experiment)


def _is_as_judged(
    case: Case, cell: KernelCell, experiment: Experiment, story: Story, limit_s: float
) -> bool:
    """Return whether the launch that is judged does what the record says: the debugger's
    translation rounds otherwise, and a variable without a value holds something else there.
    """
    is_endless = any(one.kind == "runaway" for one in faults(story.tape))
    limit_s = min(limit_s, ENDLESS_SECONDS) if is_endless else limit_s
    (judged,) = outcome.checked(cell, [case], limit_s=limit_s, each=True)
    kinds = {one.kind for one in judged.findings}
    # An output may be read before it is stored where it is judged: its values say so.
    recorded_kinds = {
        one.kind
        for one in faults(story.tape)
        if (one.kind, one.array) != ("uninitialised", story.output)
    }
    if kinds or recorded_kinds:
        return bool(kinds & recorded_kinds)
    own = parameters_of(experiment)
    for place, name in enumerate(case.steps[0].arguments):
        if isinstance(name, str) and name in case.outputs:
            got, recorded = judged.arrays[name], story.tape.outputs[own[place]]
            finite = np.abs(recorded[np.isfinite(recorded)])
            scale = 1e-5 * max(float(finite.max(initial=0)), 1e-30)
            if not np.allclose(got, recorded, 1e-4, scale, equal_nan=True):
                return False
    return True


def experiment_of(case: Case, cell: KernelCell, work: Work | None = None) -> Experiment:
    """Return the launch of a cell's kernel in a case. work: what its runs may cost."""
    (launch,) = case.plan(cell)
    arguments = tuple(
        case.arrays[one.name] if isinstance(one, Array) else one for one in launch.arguments
    )
    return Experiment(
        launch.source, launch.name, arguments, launch.grid, launch.block, launch.options,
        launch.constants, work=work or Work(),
    )  # fmt: skip


def judge_of(task: Task, experiment: Experiment) -> Judge:
    """Return what is right in a case: the values of its outputs, and the tape of a kernel that is
    right if it is there.
    """
    case, own = task.case, parameters_of(experiment)
    given = case.steps[0].arguments
    places = {name: k for k, name in enumerate(given) if isinstance(name, str)}
    right, names = None, {}
    if task.right is not None:
        right = task.right()
        solved = [one.name for one in right.tape.recording.kernel.parameters]
        names = dict(zip(solved, own, strict=True))

    def wrong(tape: Tape) -> dict[str, np.ndarray]:
        found = {}
        for name in case.outputs:
            given = tape.outputs[own[places[name]]]
            got = real_pairs(given).astype(np.float64)
            want = real_pairs(task.wants[name]).astype(np.float64)
            with np.errstate(invalid="ignore"):
                near = np.abs(got - want) <= task.atol + (task.rtol + 1e-6) * np.abs(want)
            is_wrong = np.atleast_1d(~(near | (np.isnan(got) & np.isnan(want))))
            if given.dtype.kind == "c":  # a cell is a pair
                is_wrong = np.logical_or(is_wrong[..., ::2], is_wrong[..., 1::2])
            found[own[places[name]]] = is_wrong
        return found

    return Judge(wrong, {own[places[n]]: task.wants[n] for n in case.outputs}, right, names)


def parameters_of(experiment: Experiment) -> list[str]:
    """Return the names of the kernel's parameters."""
    compiled = compile_source(experiment.source, experiment.options, f"{experiment.name}.cu")
    kernel = next(one for one in compiled.kernels if one.name == experiment.name)
    return [one.name for one in kernel.parameters]
