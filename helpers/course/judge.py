"""One answer, graded: the gate, the box, and then the comparison, outside.

    result = judge.grade("conv1d_edge", text, seed, benches)       # plain values, see grades.py

The inputs come from a secret seed. The box gets inputs, and gives outputs and counters back; it
never has a reference, an expected output, or the seed.
"""

from __future__ import annotations

import logging
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from helpers import exercises, kernel_cells
from helpers.bench.cost import cycles
from helpers.course import codec, policy, python_answers, texts, wire
from helpers.course.box import Benches, Ended
from helpers.course.grades import SENTENCES, Graded, not_begun, unreadable, without_run
from helpers.exercises.judge import gate, stories
from helpers.exercises.judge.cases import Case
from helpers.exercises.judge.exercise import Exercise
from helpers.exercises.judge.outcome import Outcome
from helpers.exercises.judge.verdict import Verdict
from helpers.kernel_cells import CellError
from helpers.simulator import Finding
from helpers.simulator.compile import toolkit


def grade(name: str, text: str, seed: int, benches: Benches) -> dict[str, Any]:
    """Grade the text of an answer to an exercise: status, points, messages, counters ... as plain
    values.
    """
    began = time.monotonic()
    # A student's values may be infinite or no numbers: verdicts tell that, and NumPy need not.
    with np.errstate(all="ignore"):
        found, ended = _judged(name, texts.clean(text), seed, benches)
    used = round(time.monotonic() - began, 3), ended.peak if ended else 0
    return plain(found, benches.level, vars(benches.limits), *used)


def plain(
    found: Graded,
    level: str,
    limits: Mapping[str, Any] = MappingProxyType({}),
    seconds: float = 0.0,
    memory: int = 0,
) -> dict[str, Any]:
    """Return a result as plain values: what is found, and what it may depend on."""
    versions = {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "nvrtc": toolkit.version(),
    }
    return {
        **found.to_dict(), "seconds": seconds, "memory": memory, "limits": dict(limits),
        "box": level, "versions": versions,
    }  # fmt: skip


def _judged(name: str, text: str, seed: int, benches: Benches) -> tuple[Graded, Ended | None]:
    if name in python_answers.PLAYERS:
        return python_answers.judged(python_answers.PLAYERS[name], text, seed, benches)
    exercise = exercises.find(name)
    assert isinstance(exercise, Exercise)
    try:
        gate.check(text)
        gate.check_includes(text)
    except gate.Refused as refusal:
        return without_run(exercise, "refused", str(refusal)), None
    if exercise.is_stub(text):
        return not_begun(exercise), None
    try:
        cases = exercise.fitted(kernel_cells.head(text), seed)
    except (CellError, ValueError, ArithmeticError, TypeError) as error:
        return without_run(exercise, "refused", f"the %%kernel line: {error}"[:2_000]), None
    with_counts = _run(exercise, text, cases, benches)
    if with_counts.status != "done":
        sentence = SENTENCES[with_counts.status].format(with_counts.said)
        return without_run(exercise, with_counts.status, sentence), with_counts
    try:
        found, outcomes = _of_answer(exercise, cases, with_counts.answer, seed)
        if exercise.is_recognisable(found.verdict):
            fitted = exercise.fit_all(kernel_cells.head(text), exercise.small_cases)
            small = _outcomes_of_each(exercise, text, fitted, benches)
            found = replace(found, verdict=exercise.recognised(found.verdict, small))
        found = replace(found, verdict=_explained(exercise, text, found.verdict, benches))
        if outcomes and outcomes[-1].stopped != "time" and len(outcomes) < len(cases):
            outcomes += _outcomes_of_each(exercise, text, cases[len(outcomes) :], benches)
        found = replace(found, cases=_each(exercise, cases, outcomes, seed))
    except wire.UNREADABLE as error:
        found = unreadable(exercise, error)
    return found, with_counts


def _run(
    exercise: Exercise, text: str, cases: Sequence[Case], benches: Benches, each: bool = False
) -> Ended:
    """Run a text on cases in the box. each: each case by itself, without counters."""
    how = {"limit_s": exercise.limit_s} | ({"each": True} if each else {"turns": exercise.turns})
    return benches.of("kernel").run(codec.job(text, cases, how), wire.size(codec.expected(cases)))


def _outcomes_of_each(
    exercise: Exercise, text: str, cases: Sequence[Case], benches: Benches
) -> tuple[Outcome, ...]:
    """Return the outcomes of cases, each by itself and without counters: of the small ones, or of
    those behind the one that ended a run, because a course may give points for some cases.
    """
    ended = _run(exercise, text, cases, benches, each=True)
    if ended.status != "done":
        return ()
    notes, start = wire.content(ended.answer)
    if "outcomes" not in notes:
        return ()
    return codec.outcomes(texts.clean(notes)["outcomes"], cases, ended.answer, start, counted=False)


def _explained(exercise: Exercise, text: str, verdict: Verdict, benches: Benches) -> Verdict:
    """Return a verdict that tells what the threads did in a small case, in place of a guess; the
    same one where that shows no cause, or fails. The box explains with the right values of the
    small cases alone: they are the same for every seed, and the solution stays outside.
    """
    if not stories.is_to_explain(verdict):
        return verdict
    try:
        tasks = list(stories.tasks(exercise, kernel_cells.head(text)))
        how = {
            "atol": [one.atol for one in tasks], "rtol": exercise.rtol, "limit_s": exercise.limit_s,
        }  # fmt: skip
        wants = [one.wants for one in tasks]
        job = codec.job(text, [one.case for one in tasks], {"explain": how}, wants)
        ended = benches.of("kernel").run(job, wire.size(()))
        lines = codec.told(ended.answer) if ended.status == "done" else ()
    except Exception:  # a fault of the explanation must not cost a verdict
        logging.getLogger(__name__).exception("the explanation of %s failed", exercise.name)
        return verdict
    return stories.with_lines(verdict, lines) if lines else verdict


def _each(
    exercise: Exercise, cases: Sequence[Case], outcomes: Sequence[Outcome], seed: int
) -> tuple[dict[str, Any], ...]:
    """Return what became of each case, as plain values: its title and kinds, whether it came out
    right, and what is wrong.
    """
    not_run = Verdict(exercise.name, "time", "it was not run", 0.0, exercise.points)
    judged = exercise.of_each(outcomes, seed)
    rest = (not_run,) * (len(cases) - len(judged))
    return tuple(
        {
            "title": case.title,
            "kinds": policy.kinds(case),
            "right": verdict is None,
            "said": "" if verdict is None else verdict.message[:2_000],
            "hint": "" if verdict is None else verdict.hint[:2_000],
        }
        for case, verdict in zip(cases, (*judged, *rest), strict=True)
    )


def _of_answer(
    exercise: Exercise, cases: Sequence[Case], answer: bytes, seed: int
) -> tuple[Graded, tuple[Outcome, ...]]:
    """Return what is found, and the outcomes, up to the first case that was stopped."""
    notes, start = wire.content(answer)
    notes = texts.clean(notes)
    if stopped := notes.get("stopped"):
        said = str(notes.get("said", ""))[:20_000]
        status = {"compile": "compile", "compiler": "crash", "broken": "not_graded"}.get(
            stopped, "refused"
        )
        message = (
            f"{exercise.name} does not compile (line 1 is the %%kernel line):\n{said}"
            if status == "compile"
            else said
        )
        return without_run(exercise, status, message), ()
    outcomes = codec.outcomes(notes["outcomes"], cases, answer, start)
    verdict = exercise.verdict(outcomes, seed)
    findings = [f for one in outcomes for f in one.findings]
    whole = len(outcomes) == len(cases) and verdict.status in ("pass", "budget")
    graded = Graded(
        verdict,
        tuple(_plain_finding(f) for f in findings[:5]),
        cost(cases, outcomes) if whole else None,
        totals(outcomes),
    )
    return graded, outcomes


def _plain_finding(finding: Finding) -> dict[str, Any]:
    plain = {name: getattr(finding, name) for name in ("kind", "line", "message", "cause")}
    return {**plain, "source": finding.source_lines.get(finding.line, "")}


def cost(cases: Sequence[Case], outcomes: Sequence[Outcome]) -> float:
    """Return cycles for each value in the budgeted cases, an estimate of helpers.bench.cost."""
    ran = [(case, one) for case, one in zip(cases, outcomes, strict=True) if case.budgeted]
    work = sum(
        cycles(counts.traffic, counts.instructions) for _, one in ran for counts in one.counts
    )
    return work / max(sum(case.count for case, _ in ran), 1)


def totals(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """Return the sums of all launches, by the names of helpers.simulator.Profile."""
    found = {}
    for space, access in (
        ("global", "load"),
        ("global", "store"),
        ("shared", "load"),
        ("shared", "store"),
    ):
        for counter in ("requests", "sectors" if space == "global" else "wavefronts"):
            found[f"{space}_{access}_{counter}"] = sum(
                one.total(counter, space, access) for one in outcomes
            )
    return found
