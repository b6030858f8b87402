"""Who is in the course: a CSV file with a row for each student.

    student,name,section,nickname,email,id
    ann,Ann Müller,Monday,,ann@example.edu,

`student` is the name of the folder that is handed in. The other columns may be left out or empty. A
nickname puts the student on the leaderboard of the class, which shows no other name. `email` and
`id` are for Moodle and Canvas: `id` is the number that Canvas has for the student.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path

from helpers.course import CourseError, sheet, texts


class RosterError(CourseError, ValueError):
    """A roster that cannot be read; the message says which line and why."""


@dataclass(frozen=True)
class Student:
    """A row of the roster. student: the folder's name."""

    student: str
    name: str = ""
    section: str = ""
    nickname: str = ""
    email: str = ""
    id: str = ""

    @property
    def shown(self) -> str:
        """As pages name the student."""
        return self.name or self.student


COLUMNS = tuple(one.name for one in fields(Student))


def read(path: Path) -> tuple[Student, ...]:
    """Return the students of a roster, in its order. Raises RosterError."""
    found: dict[str, Student] = {}
    for line, cells in sheet.read(path, COLUMNS[:1], COLUMNS[1:], RosterError):
        name = cells["student"] = texts.name(cells["student"])
        if not name:
            raise RosterError(f"{path}, line {line}: the column `student` is empty")
        if name in found:
            raise RosterError(f"{path}, line {line}: {name!r} is there already; keep one")
        if not texts.is_name(name):
            raise RosterError(f"{path}, line {line}: {name!r} {texts.NO_NAME}")
        found[name] = Student(**cells)
    if not found:
        raise RosterError(f"{path} has no student")
    return tuple(found.values())


class Names:
    """Whose a submission is. Moodle writes full names, and Canvas the letters of "Last, First" and
    its own number, where the roster has the names of folders.
    """

    def __init__(self, students: Sequence[Student]):
        self._by_name = {one.student: one for one in students}

    def number_of(self, student: str) -> str:
        """Return Canvas' number of a student of the roster, "" where it is not known."""
        return self._by_name[student].id if student in self._by_name else ""

    def find(self, name: str, number: str = "") -> str:
        """Return the roster's name of a student, "" where there is none or more than one. number:
        Canvas', if there is one.
        """
        name = texts.name(name)
        if name in self._by_name:
            return name
        folded, letters = name.casefold(), _letters(name)
        ways: tuple[Callable[[Student], bool], ...] = (
            lambda one: bool(number) and one.id == number,
            lambda one: folded in (one.student.casefold(), one.email.casefold()),
            lambda one: one.name.casefold() == folded,
            lambda one: letters in _spellings(one.name),
        )
        for is_meant in ways:
            found = [
                one.student
                for one in self._by_name.values()
                if is_meant(one) and (not number or one.id in ("", number))
            ]
            if found:
                return found[0] if len(found) == 1 else ""
        return ""


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name.casefold())


@cache  # each name that is handed in is compared with all of them
def _spellings(name: str) -> set[str]:
    """Return the letters of a full name with the last name first, wherever it stands."""
    first, _, last = name.strip().rpartition(" ")
    return {_letters(name), _letters(last + first)} - {""}
