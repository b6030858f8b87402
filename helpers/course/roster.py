"""Who is in the course: a CSV file with a row for each student.

    student,name,section,nickname
    ann,Ann Müller,Monday,

`student` is the name of the folder that is handed in. The other columns may be left out or empty. A
nickname puts the student on the leaderboard of the class, which shows no other name.
"""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

from helpers.course import CourseError, texts

COLUMNS = ("student", "name", "section", "nickname")


class RosterError(CourseError, ValueError):
    """A roster that cannot be read; the message says which line and why."""


@dataclass(frozen=True)
class Student:
    """A row of the roster. student: the folder's name."""

    student: str
    name: str = ""
    section: str = ""
    nickname: str = ""

    @property
    def shown(self) -> str:
        """As pages name the student."""
        return self.name or self.student


def read(path: Path) -> tuple[Student, ...]:
    """Return the students of a roster, in its order. Raises RosterError."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise RosterError(f"{path} cannot be read as UTF-8 text: {error}") from None
    head = text.partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    columns = [column.strip().lower() for column in next(rows, [])]
    if "student" not in columns or len(set(columns)) != len(columns):
        raise RosterError(
            f"{path}: the first line is {head.strip()[:80]!r}; it must name the columns, "
            f"`student` and any of {', '.join(COLUMNS[1:])}"
        )
    found: dict[str, Student] = {}
    for number, row in enumerate(rows, 2):
        cells = {name: texts.clean(cell.strip()) for name, cell in zip(columns, row, strict=False)}
        name = cells["student"] = texts.name(cells.get("student", ""))
        if not any(cells.values()):
            continue
        if not name:
            raise RosterError(f"{path}, line {number}: the column `student` is empty")
        if name in found:
            raise RosterError(f"{path}, line {number}: {name!r} stands there already; keep one")
        found[name] = Student(**{c: cells.get(c, "") for c in COLUMNS})
    if not found:
        raise RosterError(f"{path} has no student")
    return tuple(found.values())
