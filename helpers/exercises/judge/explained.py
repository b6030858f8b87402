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
from helpers.simulator.explain.story import Judge, Search, Story, faults
from helpers.simulator.explain.tape import Tape
from helpers.simulator.explain.translation import NotRecorded
from helpers.simulator.explain.work import Work
from helpers.simulator.machine.faults import LaunchRefused

LEAST_WORK = 100_000  # units, of all cases; the largest one adds to it
MOST_MORE_WORK = 400_000
QUICK_WORK = 40_000  # after that no further case is looked at where a cause is known
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
    work, tasks = Work(LEAST_WORK, MOST_MORE_WORK), tuple(tasks)
    cases: list[_Case] = []
    waiting: list[_Case] = []
    reasons: list[str] = []
    found: Told | None = None
    for task in tasks:
        searches: list[tuple[_Case, Callable[[Search], Story | None]]] = []
        if work.left > 0 and (case := _begun(cell, task, tasks, limit_s, work, reasons)):
            cases.append(case)
            waiting.append(case)
            if not case.search.tape.completed:  # no formulas: trials of smaller cases show more
                searches += [(other, Search.tried) for other in waiting[:-1]]
            searches.append((case, Search.shown))
        # What formulas show needs few runs: of several cases before any trial of decisions.
        if task is tasks[-1] or work.spent > QUICK_WORK:
            searches += [(case, Search.tried) for case in waiting]
        for case, search in searches:
            if case not in waiting:  # its formulas have shown it
                continue
            told = case.told(search)
            if told is not None or search is Search.tried:
                waiting.remove(case)
            if told is not None and _shows_a_pattern(told.story):
                return told
            # Of an index more cells could say otherwise.
            if told is not None and (found is None or told.story.causes[0].kind == "index"):
                found = told
            # A cause of a case in which all is wrong is worth a look at another one, if that is
            # quick.
            if found is not None and work.spent > QUICK_WORK:
                return found
    found = found or next(filter(None, (case.told(Search.seen) for case in cases)), None)
    if found is None and reasons:
        raise NoStory(reasons[0])
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


def _is_plain(case: Case) -> bool:
    """Return whether a case is one launch of the answer."""
    return len(case.steps) == 1 and not case.within


def _begun(
    cell: KernelCell, task: Task, tasks: Iterable[Task], limit_s: float, work: Work,
    reasons: list[str],
) -> _Case | None:
    """Return the search in a case, None where nothing is wrong or the case is not recorded: then
    why not is added to the reasons.
    """
    if not _is_plain(task.case):
        reasons.append("a case has several launches, or another kernel calls the answer")
        return None

    def elsewhere() -> Iterator[tuple[Experiment, Judge]]:
        for other in tasks:
            if other is not task and _is_plain(other.case):
                launch = experiment_of(other.case, cell, work)
                yield launch, judge_of(replace(other, right=None), launch)

    try:
        experiment = experiment_of(task.case, cell, work)
        search = Search(experiment, replace(judge_of(task, experiment), others=elsewhere))
    except (NotRecorded, CompileFailed, LaunchRefused) as error:
        reasons.append(str(error))
        return None
    return None if search.is_right else _Case(task.case, search, cell, limit_s, reasons)


@dataclass(frozen=True, eq=False)
class _Case:
    """A case in which something is wrong, with the search for its causes."""

    case: Case
    search: Search
    cell: KernelCell
    limit_s: float
    reasons: list[str]

    def told(self, find: Callable[[Search], Story | None]) -> Told | None:
        """Return the story that a search finds, None where the launch that is judged does otherwise
        than the record says.
        """
        experiment = self.search.experiment
        try:
            story = find(self.search)
            if story is None or not _is_as_judged(
                self.case, self.cell, experiment, story, self.limit_s
            ):
                return None
        except (NotRecorded, CompileFailed, LaunchRefused) as error:
            self.reasons.append(str(error))
            return None
        return Told(self.case, story, experiment)


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
