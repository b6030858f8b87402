"""What goes into the box and comes out of it: cases with their launches, and their outcomes.

    message = codec.job(text, cases, how)                outside
    text, cases, how = codec.work(message)               in the box
    message = codec.answer(cases, outcomes)              in the box
    outcomes = codec.outcomes(notes, cases, message)     outside; notes: what `wire.content` gave

A job holds inputs only: no reference, no facts, no seed. An answer comes from a student's process,
so nothing of it is believed: types and shapes of its arrays come from the cases, and a text is cut
where it is too long.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from helpers.course import texts, wire
from helpers.exercises.judge.cases import Case, Step
from helpers.exercises.judge.outcome import COUNTERS, Counts, Outcome, Spread, Traffic
from helpers.simulator import Finding

STOPPED = ("", "finding", "time", "refused")
_LONGEST = {"said": 5_000, "printed": 20_000}  # characters
_LONGEST_LINE = 500  # characters of a line of a story
_NAME = 100  # characters of a parameter's name
_MOST_FINDINGS, _MOST_ROWS = 100, 10_000
_PLAIN = ("stopped", "said", "printed", "lines", "misplaced", "beside")
_CASE = ("title", "outputs", "budgeted", "within", "options", "architecture")


# --------------------------------------------------------------------------------------------------
# Jobs


def job(
    text: str,
    cases: Sequence[Case],
    how: Mapping[str, Any],
    wants: Sequence[Mapping[str, np.ndarray]] = (),
) -> bytes:
    """Return what the box gets. how: arguments of `outcome.run`, or those of `outcome.checked`, or
    "explain" with what `kernel_job` says; wants: for that the right outputs of each case, which
    anybody may know.
    """
    arrays: list[np.ndarray] = []
    plain = []
    for case in cases:
        arrays += case.arrays.values()
        steps = []
        for step in case.steps:
            constants = {name: np.asarray(value) for name, value in step.constants.items()}
            arrays += constants.values()
            steps.append(
                {
                    "grid": [int(n) for n in step.grid],
                    "block": [int(n) for n in step.block],
                    "arguments": [
                        a if isinstance(a, str) else [np.asarray(a).dtype.str, np.asarray(a).item()]
                        for a in step.arguments
                    ],
                    "constants": list(constants),
                }
            )
        about = {name: getattr(case, name) for name in _CASE}
        plain.append({**about, "arrays": list(case.arrays), "steps": steps})
    for want in wants:
        arrays += want.values()
    shapes = [[a.dtype.str, list(a.shape)] for a in arrays]
    content = {"text": text, "cases": plain, "arrays": shapes, "how": dict(how)}
    return wire.pack({**content, "wants": [list(one) for one in wants]}, arrays)


def work(message: bytes) -> tuple[str, list[Case], dict[str, Any]]:
    """Return the text, the cases and the arguments of a job."""
    job, start = wire.content(message)
    stored = iter(wire.arrays(message, start, [(np.dtype(d), tuple(s)) for d, s in job["arrays"]]))
    cases = []
    for one in job["cases"]:
        arrays = {name: next(stored) for name in one["arrays"]}
        steps = []
        for step in one["steps"]:
            arguments = tuple(
                a if isinstance(a, str) else np.dtype(a[0]).type(a[1]) for a in step["arguments"]
            )
            constants = {name: next(stored) for name in step["constants"]}
            steps.append(Step(tuple(step["grid"]), tuple(step["block"]), arguments, constants))
        about = {name: one[name] for name in _CASE}
        about |= {name: tuple(one[name]) for name in ("outputs", "options")}
        cases.append(Case(arrays=arrays, steps=tuple(steps), **about))
    wants = [{name: next(stored) for name in names} for names in job["wants"]]
    return job["text"], cases, job["how"] | ({"wants": wants} if wants else {})


# --------------------------------------------------------------------------------------------------
# Answers


def answer(cases: Sequence[Case], outcomes: Sequence[Outcome]) -> bytes:
    """Return what the box says of the cases that ran."""
    notes = [
        {
            "counts": [dataclasses.asdict(c) for c in one.counts],
            "findings": [f.to_dict() for f in one.findings],
            "spread": dataclasses.asdict(one.spread),
            **{name: getattr(one, name) for name in _PLAIN},
        }
        for one in outcomes
    ]
    ran = zip(cases, outcomes, strict=False)
    arrays = [one.arrays[name] for case, one in ran for name in case.outputs]
    return wire.pack({"outcomes": notes}, arrays)


def told(message: bytes) -> tuple[str, ...]:
    """Return the lines of a story in an answer: at most 3, () where there is none."""
    notes, _ = wire.content(message)
    lines = notes.get("told")
    if not isinstance(lines, list):
        return ()
    return tuple(texts.line(str(one))[:_LONGEST_LINE] for one in lines[:3])


def expected(cases: Sequence[Case]) -> list[tuple[np.dtype, tuple[int, ...]]]:
    """Return the types and shapes of the arrays that come back."""
    return [(case.arrays[n].dtype, case.arrays[n].shape) for case in cases for n in case.outputs]


def outcomes(
    notes: Sequence[Mapping[str, Any]],
    cases: Sequence[Case],
    answer: bytes,
    start: int,
    counted: bool = True,
) -> tuple[Outcome, ...]:
    """Return the outcomes in an answer; start: where its arrays begin. counted: whether each launch
    that was not stopped must have counters.

    Raises wire.MessageError for an answer that contradicts itself, and KeyError, TypeError,
    ValueError and OverflowError for one of another form.
    """
    if not isinstance(notes, list) or len(notes) > len(cases):
        raise wire.MessageError("there are more outcomes than cases")
    ran = cases[: len(notes)]
    stored = iter(wire.arrays(answer, start, expected(ran)))
    made = []
    for case, note in zip(ran, notes, strict=True):
        arrays = {name: next(stored) for name in case.outputs}
        counts = tuple(_counts(c) for c in note["counts"])
        findings = tuple(Finding.from_dict(f) for f in note["findings"][:_MOST_FINDINGS])
        stopped = note["stopped"] if note["stopped"] in STOPPED else "refused"
        spread = Spread(**{name: _amount(value) for name, value in dict(note["spread"]).items()})
        if stopped in ("finding", "time") and not findings:
            raise wire.MessageError("a launch was stopped without a finding")
        if counted and not stopped and len(counts) != len(case.steps):
            raise wire.MessageError("not every launch has counters")
        said, printed = (str(note[name])[:most] for name, most in _LONGEST.items())
        words = (printed, _count(note["lines"]), _misplaced(case, note["misplaced"]))
        beside = _count(note["beside"])
        made.append(Outcome(arrays, counts, findings, stopped, said, spread, *words, beside))
    return tuple(made)


def _misplaced(case: Case, note: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(note[name])[:_NAME] for name in case.arrays if name in note}


def _counts(note: Mapping[str, Any]) -> Counts:
    traffic = tuple(
        Traffic(
            str(row["space"]),
            str(row["access"]),
            str(row["array"]),
            *(_count(row[name]) for name in COUNTERS),
        )
        for row in note["traffic"][:_MOST_ROWS]
    )
    instructions = {str(name): _count(n) for name, n in note["instructions"].items()}
    barriers, blocks, turns = (_count(note[name]) for name in ("barriers", "blocks", "turns"))
    return Counts(traffic, barriers, blocks, instructions, turns)


def _amount(value: Any) -> float:
    number = float(value)
    if not 0 <= number < math.inf:
        raise wire.MessageError(f"a counter is {number}")
    return number


def _count(value: Any) -> int:
    return int(_amount(value))
