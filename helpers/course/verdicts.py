"""What a grader finds of an answer: the exercise's verdict, and what a report shows beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from helpers.exercises.base import BaseExercise
from helpers.exercises.verdict import Verdict

SENTENCES = {
    "time": "it took too long: {}",
    "memory": "it took too much: {}",
    "crash": "its process did not come to an end of its own: {}",
}
NOT_BEGUN = "NOT BEGUN {}: the cell is still as it was given."


@dataclass(frozen=True)
class Graded:
    """verdict: of the exercise; its status may also be "memory", "crash" or "not_graded"; findings:
    plain values of the first ones; cost: estimated cycles of a multiprocessor for each value;
    totals: counters of all launches; cases: plain values of each case, as `judge` makes them.
    """

    verdict: Verdict
    findings: tuple[Mapping[str, Any], ...] = ()
    cost: float | None = None
    totals: Mapping[str, int] = field(default_factory=dict)
    cases: tuple[Mapping[str, Any], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a file."""
        one = self.verdict
        return {
            "status": one.status,
            "points": None if one.status == "not_graded" else one.points,
            "maximum": one.maximum,
            "messages": [one.message],
            "hint": one.hint,
            "counters": {what: [float(v) for v in pair] for what, pair in one.counters.items()},
            "findings": [dict(finding) for finding in self.findings],
            "cost": self.cost,
            "totals": dict(self.totals),
            "cases": [dict(case) for case in self.cases],
        }


def without_run(exercise: BaseExercise, status: str, message: str) -> Graded:
    """Return what a grader finds of an answer that has no outcomes to judge: it is worth nothing.
    """
    return Graded(Verdict(exercise.name, status, message, 0.0, exercise.points))


def not_begun(exercise: BaseExercise) -> Graded:
    """Return what a grader finds of an untouched stub."""
    return without_run(exercise, "not_begun", NOT_BEGUN.format(exercise.name))
