"""What instructors decide: points, words, days. Kept apart from the verdicts, so that no later run
of the grader and no export overwrites it.

    decisions.decide(grades, [Decision("ann", "101", "conv1d_edge", points=8, comment="neat")])
    decisions.load(grades)

They stand in one file, to which lines are added and nothing else, with who decided and when. A line
is written whole, behind a lock, so that two graders do not overwrite each other, and a program that
is killed loses at most the line that it was writing. A later line about the same thing counts.

A figure is called by its name in course.toml, and a written answer by the id of its cell.
"""

from __future__ import annotations

import contextlib
import fcntl
import getpass
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from helpers.course import grades, texts

FILE = ".decisions.jsonl"
Key = tuple[str, str, str]


@dataclass(frozen=True)
class Decision:
    """of: an exercise, a figure, a written answer's cell, or "" for the whole lab; points: before
    the lab's weight, None for those of the grader; items: of the rubric, that were met; days: more
    time for the lab; request: what the student asked for; withdrawn: nothing is decided any more.

    Of the file: at: when; who: the grader; act: one for all that was decided at once; undoes: the
    act that this one takes back; line: its number, from 1 on.
    """

    student: str
    lab: str
    of: str = ""
    points: float | None = None
    comment: str = ""
    items: tuple[str, ...] = ()
    days: float | None = None
    request: str = ""
    withdrawn: bool = False
    at: str = ""
    who: str = ""
    act: int = 0
    undoes: int = 0
    line: int = 0

    @property
    def key(self) -> Key:
        """What it decides about."""
        return self.student, self.lab, self.of


# By path: the lines that were read, and what they say. A page reads them with each key.
_read: dict[Path, tuple[bytes, tuple[Decision, ...]]] = {}
_FIELDS = {one.name for one in fields(Decision)} - {"line"}


class Changed(grades.GradesError):
    """Somebody else has decided meanwhile; `now` is what counts."""

    def __init__(self, now: Decision):
        self.now = now
        super().__init__(
            f"{now.who} has decided about {' '.join(filter(None, now.key))} meanwhile: points "
            f"{now.points}, {now.comment!r}"
        )


def history(folder: Path) -> list[Decision]:
    """Return every decision on a folder of grades, in order. Raises grades.GradesError."""
    path = folder / FILE
    try:
        data = path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise grades.GradesError(f"{path} cannot be read ({error.strerror})") from None
    data = data[: data.rfind(b"\n") + 1]  # a last line without an end is none
    known, before = _read.get(path, (b"", ()))
    if not data.startswith(known):  # somebody has mended a line
        known, before = b"", ()
    made = list(before)
    rest = data[len(known) :].split(b"\n")
    for place, line in enumerate(rest[:-1]):
        number = known.count(b"\n") + place + 1
        if not line:
            continue  # behind a line that was cut short
        try:
            given = {k: v for k, v in json.loads(line).items() if k in _FIELDS}
            given["items"] = tuple(given.get("items", ()))
            made.append(Decision(**given, line=number))
        except (ValueError, TypeError, AttributeError) as error:
            if not rest[place + 1]:
                continue  # cut short: its program was killed, and nobody was told that it is kept
            raise grades.GradesError(
                f"{path}, line {number} is no decision: {error}. Mend the line, or delete it"
            ) from None
    _read[path] = data, tuple(made)
    return made


def load(folder: Path) -> dict[Key, Decision]:
    """Return the decisions that count. Raises grades.GradesError."""
    last = {one.key: one for one in history(folder)}
    return {key: one for key, one in last.items() if not one.withdrawn}


def decide(
    folder: Path,
    made: Sequence[Decision],
    who: str = "",
    seen: Mapping[Key, int] | None = None,
    undoes: int = 0,
) -> list[Decision]:
    """Add decisions, which count from now on, and return them as they are kept. who: decides; the
    user of this computer, if nobody is named; seen: by key, the line that counted when the grader
    decided, 0 for none. Raises Changed where another line counts by now, and adds nothing then.
    """
    with _locked(folder) as file:
        before = history(folder)
        last = {one.key: one for one in before}
        for key, line in (seen or {}).items():
            now = last.get(key)
            if now is not None and now.line != line:
                raise Changed(now)
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        act = max((one.act for one in before), default=0) + 1
        kept = [
            replace(one, at=at, who=who or user(), act=act, undoes=undoes, line=0) for one in made
        ]
        rows = [json.dumps(texts.clean(_plain(one)), ensure_ascii=False) + "\n" for one in kept]
        file.seek(0, os.SEEK_END)
        start = ""
        if file.tell():
            file.seek(-1, os.SEEK_END)
            start = "" if file.read(1) == b"\n" else "\n\n"  # the end of a line cut short
        file.write((start + "".join(rows)).encode())
        file.flush()
        os.fsync(file.fileno())
        keys = {one.key for one in kept}
        return [one for one in history(folder) if one.act == act and one.key in keys]


def undo(folder: Path, who: str) -> list[Decision]:
    """Take back the last thing that a grader decided, and return what counts now. Raises
    grades.GradesError where there is nothing, and Changed where others have decided since.
    """
    every = history(folder)
    acts: list[int] = []
    for one in every:
        if one.who == who and one.act not in acts:
            if one.undoes:
                acts = [act for act in acts if act != one.undoes]
            else:
                acts.append(one.act)
    if not acts:
        raise grades.GradesError(f"{who} has nothing to undo")
    back, seen = [], {}
    for one in every:
        if one.act == acts[-1]:
            others = [other for other in every if other.key == one.key]
            earlier = [other for other in others if other.line < one.line]
            if any(other.who != who for other in others if other.line > one.line):
                raise Changed(others[-1])
            back.append(earlier[-1] if earlier else replace(_empty(one.key), withdrawn=True))
            seen[one.key] = others[-1].line  # what follows is undone, or of this grader
    return decide(folder, back, who, seen, acts[-1])


def withdraw(folder: Path, key: Key, who: str = "") -> None:
    """Forget a decision: the grader's verdict counts again. Raises grades.GradesError."""
    if key not in load(folder):
        raise grades.GradesError(f"nothing was decided for {' '.join(filter(None, key))}")
    decide(folder, [replace(_empty(key), withdrawn=True)], who)


def changed(known: Mapping[Key, Decision], key: Key, **more: Any) -> Decision:
    """Return the decision about something with other values; the rest stays as it was decided.
    known: what `load` returns.
    """
    return replace(known.get(key, _empty(key)), **more)


def user() -> str:
    """Return the name of this computer's user."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user without a name
        return str(os.getuid())


def _empty(key: Key) -> Decision:
    return Decision(*key)


def _plain(one: Decision) -> dict[str, Any]:
    """Return what a line says: nothing that is as in an empty decision."""
    none = asdict(Decision("", "", ""))
    return {k: v for k, v in asdict(one).items() if k in _FIELDS and (v != none[k] or k == "of")}


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[Any]:
    with (folder / FILE).open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file
