"""What an instructor decides: points, words, days. Kept apart from the verdicts, so that no later
run of the grader and no export overwrites it.

    decisions.decide(grades, Decision("ann", "101", "conv1d_edge", points=8, comment="neat"))
    decisions.load(grades)

A figure is called by the name of its file, and a written answer by the id of its cell.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from helpers.course import grades, texts

FILE = ".decisions.json"
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Decision:
    """of: an exercise, a figure's file, a written answer's cell, or "" for the whole lab; points:
    None for those of the grader; days: more time for the lab.
    """

    student: str
    lab: str
    of: str = ""
    points: float | None = None
    comment: str = ""
    days: float | None = None
    at: str = ""

    @property
    def key(self) -> Key:
        """What it decides about."""
        return self.student, self.lab, self.of


def load(folder: Path) -> dict[Key, Decision]:
    """Return the decisions on a folder of grades. Raises grades.GradesError."""
    path = folder / FILE
    if not path.exists():
        return {}
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["decisions"]
        made = [Decision(**row) for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise grades.GradesError(f"{path} holds no decisions: {error}; mend or move it") from None
    return {one.key: one for one in made}


def decide(folder: Path, decision: Decision) -> Decision:
    """Keep a decision; what it leaves open stays as it was decided before. Returns the whole."""
    known = load(folder)
    before = known.get(decision.key)
    if before is not None:
        decision = replace(
            decision,
            points=before.points if decision.points is None else decision.points,
            comment=decision.comment or before.comment,
            days=before.days if decision.days is None else decision.days,
        )
    decision = replace(decision, at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    _save(folder, {**known, decision.key: decision})
    return decision


def withdraw(folder: Path, key: Key) -> None:
    """Forget a decision: the grader's verdict counts again. Raises grades.GradesError."""
    known = load(folder)
    if key not in known:
        raise grades.GradesError(f"nothing was decided for {' '.join(filter(None, key))}")
    _save(folder, {other: one for other, one in known.items() if other != key})


def _save(folder: Path, known: Mapping[Key, Decision]) -> None:
    rows = [asdict(one) for _, one in sorted(known.items())]
    texts.write(folder / FILE, json.dumps({"schema": 1, "decisions": rows}, indent=1) + "\n")
