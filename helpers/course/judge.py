"""One answer, graded: the gate, the box, and then the comparison, outside.

    result = judge.grade("conv1d_edge", text, seed, benches)       # plain values, see grades.py

The inputs come from a secret seed. The box gets inputs, and gives outputs and counters back; it
never has a reference, an expected output, or the seed.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from helpers import exercises, kernel_cells
from helpers.bench.cost import cycles
from helpers.course import policy, python_answers, texts, wire
from helpers.course.benches import Benches
from helpers.course.box import Ended
from helpers.course.verdicts import SENTENCES, Graded, not_begun, without_run
from helpers.exercises import gate
from helpers.exercises.cases import Case
from helpers.exercises.exercise import Exercise
from helpers.exercises.outcome import Counts, Outcome, Spread, Traffic
from helpers.exercises.verdict import Verdict
from helpers.kernel_cells import CellError
from helpers.simulator import Finding, toolkit


def grade(name: str, text: str, seed: int, benches: Benches) -> dict[str, Any]:
    """Grade the text of an answer to an exercise: status, points, messages, counters ... as plain
    values.
    """
    began = time.monotonic()
    found, ended = _judged(name, text, seed, benches)
    return {
        **found.to_dict(),
        "seconds": round(time.monotonic() - began, 3),
        "memory": ended.peak if ended else 0,
        "limits": dict(vars(benches.limits)),
        "box": benches.level,
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Return what a verdict may depend on."""
    return {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "nvrtc": toolkit.version(),
    }


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
    with_counts = benches.of("kernel").run(job(exercise, text, cases), wire.size(_outputs(cases)))
    if with_counts.status != "done":
        sentence = SENTENCES[with_counts.status].format(with_counts.said)
        return without_run(exercise, with_counts.status, sentence), with_counts
    try:
        found, outcomes = _of_answer(exercise, cases, with_counts.answer, seed)
        if outcomes and outcomes[-1].stopped != "time" and len(outcomes) < len(cases):
            outcomes += _of_rest(exercise, text, cases[len(outcomes) :], benches)
        found = replace(found, cases=_each(exercise, cases, outcomes, seed))
    except (
        wire.MessageError,
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        found = without_run(
            exercise,
            "crash",
            f"the box gave no answer that can be read: {type(error).__name__}: {error}"[:500],
        )
    return found, with_counts


def _of_rest(
    exercise: Exercise, text: str, cases: Sequence[Case], benches: Benches
) -> tuple[Outcome, ...]:
    """Return the outcomes of cases behind the one that ended a run, each by itself and without
    counters: a course may give points for some cases.
    """
    ended = benches.of("kernel").run(
        job(exercise, text, cases, each=True), wire.size(_outputs(cases))
    )
    if ended.status != "done":
        return ()
    notes, start = wire.content(ended.answer)
    if "outcomes" not in notes:
        return ()
    return _outcomes(texts.clean(notes)["outcomes"], cases, ended.answer, start, counted=False)


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
    outcomes = _outcomes(notes["outcomes"], cases, answer, start)
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
    source = finding.source_lines.get(finding.line, "")
    return {
        "kind": finding.kind,
        "line": finding.line,
        "message": finding.message,
        "source": source,
        "cause": finding.cause,
    }


def cost(cases: Sequence[Case], outcomes: Sequence[Outcome]) -> float:
    """Cycles for each value in the budgeted cases, an estimate of helpers.bench.cost."""
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


# ------------------------------------------------------------------------------------------------
# --------------------
# Jobs and answers


def job(exercise: Exercise, text: str, cases: Sequence[Case], each: bool = False) -> bytes:
    """Return what the box gets: the text, and the cases' inputs and launches. No reference, no
    facts, no seed. each: run each case by itself, without counters.
    """
    how: dict[str, Any] = {"limit_s": exercise.limit_s}
    if not each:
        how |= {"turns": exercise.turns, "spread": True}
    arrays: list[np.ndarray] = []
    plain_cases = []
    for case in cases:
        arrays += case.arrays.values()
        steps = []
        for step in case.steps:
            arguments = [
                a if isinstance(a, str) else [np.asarray(a).dtype.str, np.asarray(a).item()]
                for a in step.arguments
            ]
            constants = {name: np.asarray(value) for name, value in step.constants.items()}
            arrays += constants.values()
            plain_step = {
                "grid": [int(n) for n in step.grid],
                "block": [int(n) for n in step.block],
            }
            steps.append({**plain_step, "arguments": arguments, "constants": list(constants)})
        about = {
            "title": case.title,
            "arrays": list(case.arrays),
            "outputs": list(case.outputs),
            "budgeted": case.budgeted,
            "within": case.within,
        }
        plain_cases.append({**about, "steps": steps})
    shapes = [[a.dtype.str, list(a.shape)] for a in arrays]
    return wire.pack(
        {"text": text, "cases": plain_cases, "arrays": shapes, "how": how, "each": each}, arrays
    )


def _outputs(cases: Sequence[Case]) -> list[tuple[np.dtype, tuple[int, ...]]]:
    """Return the types and shapes of what comes back."""
    return [(case.arrays[n].dtype, case.arrays[n].shape) for case in cases for n in case.outputs]


def _outcomes(
    notes: Sequence[Mapping[str, Any]],
    cases: Sequence[Case],
    answer: bytes,
    start: int,
    counted: bool = True,
) -> tuple[Outcome, ...]:
    if not isinstance(notes, list) or len(notes) > len(cases):
        raise wire.MessageError("there are more outcomes than cases")
    ran = cases[: len(notes)]
    stored = iter(wire.arrays(answer, start, _outputs(ran)))
    made = []
    for case, note in zip(ran, notes, strict=True):
        arrays = {name: next(stored) for name in case.outputs}
        counts = tuple(_counts(c) for c in note["counts"])
        findings = tuple(_finding(f) for f in note["findings"][:100])
        stopped = (
            note["stopped"] if note["stopped"] in ("", "finding", "time", "refused") else "refused"
        )
        spread = None
        if note["spread"] is not None:
            even, odd, first, busiest = map(int, note["spread"])
            spread = Spread(_count(even), _count(odd), max(first, -1), max(busiest, -1))
        if stopped in ("finding", "time") and not findings:
            raise wire.MessageError("a launch was stopped without a finding")
        if counted and not stopped and len(counts) != len(case.steps):
            raise wire.MessageError("not every launch has counters")
        said, printed = str(note["said"])[:5_000], str(note["printed"])[:20_000]
        lines = _count(note["lines"])
        made.append(Outcome(arrays, counts, findings, stopped, said, spread, printed, lines))
    return tuple(made)


_NUMBERS = (
    "requests",
    "lanes",
    "bytes_used",
    "sectors",
    "wavefronts",
    "conflicts",
    "replays",
    "serialised",
)


def _counts(note: Mapping[str, Any]) -> Counts:
    traffic = tuple(
        Traffic(
            str(row["space"]),
            str(row["access"]),
            str(row["array"]),
            *(_count(row[name]) for name in _NUMBERS),
        )
        for row in note["traffic"][:10_000]
    )
    instructions = {str(name): _count(n) for name, n in note["instructions"].items()}
    return Counts(
        traffic,
        _count(note["barriers"]),
        _count(note["blocks"]),
        instructions,
        _count(note["turns"]),
    )


def _count(value: Any) -> int:
    number = int(value)
    if number < 0:
        raise wire.MessageError(f"a counter is {number}")
    return number


def _finding(note: Mapping[str, Any]) -> Finding:
    index = note["index"]
    known: dict[str, Any] = {
        "kind": str(note["kind"])[:50],
        "message": str(note["message"])[:2_000],
        "file": str(note["file"])[:200],
        "line": int(note["line"]),
        "thread": _three(note["thread"]),
        "block": _three(note["block"]),
        "array": None if note["array"] is None else str(note["array"])[:200],
        "index": tuple(int(k) for k in index)
        if isinstance(index, list)
        else None
        if index is None
        else int(index),
        "severity": str(note["severity"])[:20],
        "cause": str(note["cause"])[:2_000],
        "other_line": None if note["other_line"] is None else int(note["other_line"]),
        "count": int(note["count"]),
        "source_lines": {
            int(line): str(text)[:2_000] for line, text in list(note["source_lines"].items())[:50]
        },
    }
    return Finding(**known)


def _three(values: Any) -> tuple[int, int, int]:
    x, y, z = (int(v) for v in values)
    return x, y, z
