"""The mistakes of an exercise, each said once: as an edit of the solution, with the hint that it
gets.

They stand in `mutants.py` beside the solution:

    MUTANTS = (
        mutant("The filter is flipped: ...", ("filter[j]", "filter[2 - j]")),
        ...
    )

What a mutant leaves in the exercise's small cases is recorded in mutants.json, by
`python -m helpers.tools.exercise_records --write`. An answer that fails is run in the same cases,
and where it leaves just what a mutant leaves, in all of them, it gets the mutant's hint.

It is a record for three reasons. To run all mutants of an exercise takes seconds, and a student
waits for a check; to look into a table takes no time. A package for students has no solution, so it
can have no edits of one: it has the table. And the small cases are the same for every seed, so that
a grader, whose seed is secret, tells what the notebook tells.
"""

from __future__ import annotations

import importlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from helpers.exercises import folders
from helpers.exercises.judge.cases import Case, is_unwritten, real_pairs
from helpers.exercises.judge.outcome import Outcome
from helpers.simulator import Finding

FILE = Path(__file__).with_suffix(".json")
ROUNDING = 1e-9  # of sums, relative to the values in them
LIKELY = 4  # standard deviations of a sum of errors

Edit = tuple[str, str]  # old text, new text
Trace = list[list[Any]]  # what one case leaves: a row for each output, or for each finding


class EditError(ValueError):
    """An edit whose old text is not there exactly once."""


class Mutated(Protocol):
    """An exercise, as far as its mutants need it: the fields of GradedExercise."""

    @property
    def name(self) -> str: ...

    @property
    def folder(self) -> Path: ...

    @property
    def rtol(self) -> float: ...

    @property
    def small_cases(self) -> tuple[Case, ...]: ...

    def atol_of(self, case: Case) -> float: ...


@dataclass(frozen=True)
class Mutant:
    """A wrong version of a solution. hint: what its author is told; edits: of the solution."""

    hint: str
    edits: tuple[Edit, ...]


def mutant(hint: str, *edits: Edit) -> Mutant:
    """Return the mutant with these edits."""
    return Mutant(hint, edits)


def edited(text: str, edits: Sequence[Edit]) -> str:
    """Return a text with each old text exchanged for its new one. Raises EditError."""
    for old, new in edits:
        if text.count(old) != 1:
            raise EditError(f"{old!r} stands {text.count(old)} times in the text, must be once")
        text = text.replace(old, new)
    return text


def of(exercise: Mutated) -> tuple[Mutant, ...]:
    """Return the mutants of an exercise: none in a package for students."""
    if not (exercise.folder / "mutants.py").is_file():
        return ()
    package = ".".join(exercise.folder.relative_to(folders.ROOT).parts)
    return importlib.import_module(f"helpers.exercises.content.{package}.mutants").MUTANTS


# ---- what an answer leaves ----


def trace(case: Case, one: Outcome) -> Trace:
    """Return what an answer has left in a case: of each finding its kind, element, thread and
    count; else of each output the values that nobody wrote, those that are not finite, and the
    others, each as a sum with weights. Two outputs with the same sums are the same, but for
    rounding.
    """
    if one.stopped:
        return [
            [
                found.kind,
                _what(case, found),
                np.array(found.index).tolist(),
                list(found.thread),
                list(found.block),
                found.count,
            ]
            for found in one.findings
        ]
    return [_sums(one.arrays[name]) for name in case.outputs]


def _what(case: Case, found: Finding) -> str:
    """Return what a finding is of: an array of the case, because others have a student's names; a
    fault has no array, and one sentence for each error.
    """
    if found.kind == "fault":
        return found.message
    return found.array if found.array and found.array in case.arrays else ""


def _sums(got: np.ndarray) -> list[float]:
    is_finite = np.isfinite(real_pairs(got)).ravel()
    parts = _missing(got).ravel(), ~is_finite, _written(got)
    return [float(f"{_weights(part.size) @ part:.15g}") for part in parts]


def _missing(got: np.ndarray) -> np.ndarray:
    return is_unwritten(got) if got.itemsize >= 4 else np.zeros(got.shape, bool)


def _written(got: np.ndarray) -> np.ndarray:
    """Return the finite values that somebody wrote, and 0 in place of others."""
    values = real_pairs(np.where(_missing(got), 0, got)).astype(np.float64).ravel()
    return np.where(np.isfinite(values), values, 0)


@cache
def _weights(count: int) -> np.ndarray:
    """Return numbers from 0 to 1 without a pattern, the same on every machine."""
    return np.array([zlib.crc32(b"%d" % k) for k in range(count)]) / 2**32


def is_alike(first: Trace, second: Trace, slack: Sequence[float]) -> bool:
    """Return whether two traces of one case are of the same values. slack: by which the sums of
    the finite values of each output may differ.
    """
    if len(first) != len(second) or [len(row) for row in first] != [len(row) for row in second]:
        return False
    if any(isinstance(row[0], str) for row in (*first, *second)):
        return first == second
    return all(
        abs(a - b) <= allowed
        for row, other, most in zip(first, second, slack, strict=True)
        for a, b, allowed in zip(row, other, (ROUNDING, ROUNDING, most), strict=True)
    )


def slack(exercise: Mutated, case: Case, one: Outcome) -> list[float]:
    """Return by which sums of each output may differ: where an exercise allows rounding, the errors
    of its values add up as random ones do.
    """
    found = []
    for name in case.outputs if not one.stopped else ():
        values = np.abs(_written(one.arrays[name]))
        error = exercise.atol_of(case) + exercise.rtol * values.max(initial=0)
        found.append(ROUNDING * (1 + values.sum()) + LIKELY * error * values.size**0.5)
    return found


# ---- the records ----


def hint_of(exercise: Mutated, outcomes: Sequence[Outcome]) -> str:
    """Return the hint of the mutant that leaves what an answer has left in all small cases of an
    exercise; "" for none.
    """
    cases = exercise.small_cases
    if len(outcomes) != len(cases):
        return ""
    left = list(map(trace, cases, outcomes))
    slacks = [slack(exercise, case, one) for case, one in zip(cases, outcomes, strict=True)]
    for hint, traces in recorded().get(exercise.name, ()):
        if all(map(is_alike, left, traces, slacks)):
            return hint
    return ""


@cache
def recorded() -> dict[str, list[tuple[str, list[Trace]]]]:
    """Return hint and traces, a trace for each small case, of every mutant by exercise."""
    return json.loads(FILE.read_text(encoding="utf-8"))
