"""What a grader finds of an answer, and its results on disk: grades/STUDENT/LAB/EXERCISE.json for
people, grades/.results/KEY.json for answers that are equal.

A key is made of the text, the exercise, the grader's version and the seed. Files are written
beside their place and renamed, so that a task may run twice, on two machines, and a reader never
sees half a file.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from helpers.course import CourseError, texts
from helpers.exercises.judge.base import BaseExercise
from helpers.exercises.judge.verdict import Verdict

SCHEMA = 1
FIGURES = ".figures"  # of a folder: pictures that were handed in, by their sha256
RUN = ".run.json"  # of a folder: a student may be called run.json
STATUSES = (
    "pass", "wrong", "finding", "budget", "compile", "refused", "time", "memory", "crash",
    "not_begun", "not_graded",
)
SENTENCES = {
    "time": "it took too long: {}",
    "memory": "it took too much: {}",
    "crash": "its process did not come to an end of its own: {}",
}
NOT_BEGUN = "NOT BEGUN {}: the cell is still as it was given."
_HELPERS = Path(__file__).resolve().parents[1]


class GradesError(CourseError, ValueError):
    """A folder of grades that cannot be read or written; the message says which file and why."""


@cache
def grader_version() -> str:
    """Return 16 hexadecimal digits over all of helpers/, so that no verdict outlives a change of
    what it depends on.
    """
    digest = hashlib.sha256()
    for path in sorted(_HELPERS.rglob("*")):
        if path.suffix in (".py", ".cu", ".cuh", ".cpp", ".h") and path.is_file():
            name = path.relative_to(_HELPERS).as_posix()
            digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def sha256(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8 bytes."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def key(text: str, exercise: str, seed: int, how: str = "") -> str:
    """Return which answers get the same result. how: what else a verdict depends on, such as the
    level of the box.
    """
    parts = json.dumps([sha256(text), exercise, grader_version(), seed, how])
    return hashlib.sha256(parts.encode()).hexdigest()[:40]


def seed_of(folder: Path, given: int | None = None) -> int:
    """Return the secret seed of a folder of grades: drawn at the first run, and kept in a file that
    others cannot read.
    """
    path = folder / ".seed"
    if path.exists():
        kept = int(path.read_text(encoding="ascii"))
        if given is not None and given != kept:
            raise GradesError(
                f"{folder} was graded with another seed; give another folder by --to, "
                "or leave --seed out"
            )
        return kept
    folder.mkdir(parents=True, exist_ok=True)
    seed = secrets.randbits(48) if given is None else given
    write_secret(path, str(seed))
    return seed_of(folder, given)


def write_secret(path: Path, text: str) -> None:
    """Write a file that others cannot read; of two programs that begin together one is first."""
    part = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(
        os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii"
    ) as file:
        file.write(text)
    try:
        os.link(part, path)
    except FileExistsError:
        return
    finally:
        part.unlink()


def save(path: Path, result: Mapping[str, Any]) -> None:
    """Write a result, at once or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        texts.write(path, json.dumps(texts.clean(result), indent=1, sort_keys=True) + "\n")
    except OSError as error:
        raise GradesError(
            f"{path} cannot be written ({error.strerror}); give a folder that can be by --to"
        ) from None


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file, at once or not at all."""
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_bytes(data)
    part.replace(path)


def load(path: Path) -> dict[str, Any] | None:
    """Return a result; None where there is none that is whole."""
    try:
        result = texts.clean(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, RecursionError):
        return None
    whole = (
        isinstance(result, dict)
        and result.get("schema") == SCHEMA
        and result.get("status") in STATUSES
    )
    return result if whole else None


def run_of(folder: Path) -> dict[str, Any]:
    """Return what the last whole run wrote about itself; empty where there was none."""
    try:
        return json.loads((folder / RUN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def results(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield all results of a folder of grades, by student, lab and exercise. Raises GradesError
    where there is none, and where the grading has not come to its end.
    """
    if not (folder / RUN).exists():
        command = f"`python -m helpers.course grade submitted/ --to {folder}`"
        if any(folder.glob(".results/*.json")) or any(folder.glob("*/*/*.json")):
            raise GradesError(
                f"the grading of {folder} was stopped before its end: run {command} again; "
                "what is graded already is kept"
            )
        raise GradesError(f"{folder} holds no grades: run {command} first")
    for path in sorted(folder.glob("*/*/*.json")):
        if (
            not any(part.startswith(".") for part in path.relative_to(folder).parts)
            and (found := load(path)) is not None
        ):
            yield found


def stale(folder: Path, students: set[str]) -> list[str]:
    """Return a sentence where a folder of grades has results of other students than these."""
    found = {path.parts[-3] for path in folder.glob("*/*/*.json")} - students
    names = texts.first_of(name for name in found if not name.startswith("."))
    if not names:
        return []
    return [
        f"of an earlier run are the results of {names}: nothing of theirs was handed in now. "
        f"Delete their folders in {folder} if they have left the course"
    ]


def place(folder: Path, student: str, lab: str, exercise: str) -> Path:
    """Return where a result lies."""
    return folder / student / lab / f"{exercise}.json"


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
        """Return plain values, for a file."""
        one = self.verdict
        return {
            "status": one.status,
            "points": None if one.status == "not_graded" else one.points,
            "maximum": one.maximum,
            "messages": [texts.visible(one.message)],
            "hint": texts.visible(one.hint),
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


def unreadable(exercise: BaseExercise, error: Exception) -> Graded:
    """Return what a grader finds where a box gave something else than an answer."""
    said = f"the box gave no answer that can be read: {type(error).__name__}: {error}"
    return without_run(exercise, "crash", said[:500])


def not_begun(exercise: BaseExercise) -> Graded:
    """Return what a grader finds of an untouched stub."""
    return without_run(exercise, "not_begun", NOT_BEGUN.format(exercise.name))
