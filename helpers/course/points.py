"""Points from a table that somebody has filled in: the one that `export --csv` writes, or any with
its columns `student`, `lab`, `exercise` and `points`; `comment` may be there, too.

Each row that says something else than what counts becomes a decision. An empty cell decides
nothing. Where a row is wrong none of them is taken.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from helpers import labs
from helpers.course import CourseError, decisions, gradebook, grades, sheet
from helpers.course.decisions import Decision

NEEDED, ALLOWED = ("student", "lab", "exercise", "points"), ("comment",)
_AS_IN_THE_TABLE = 0.005  # points are rounded there


class PointsError(CourseError, ValueError):
    """A table that cannot be taken; the message says which line and why."""


def take(folder: Path, table: Path, who: str = "") -> list[Decision]:
    """Decide as a table says, and return the decisions that are new. Points are those that count,
    with the lab's weight, as in the table of `export --csv`. Raises PointsError.
    """
    book, before = gradebook.read(folder), decisions.load(folder)
    made: dict[decisions.Key, Decision] = {}
    for line, cells in sheet.read(table, NEEDED, ALLOWED, PointsError):
        try:
            one = _of_row(before, book, cells)
        except grades.GradesError as error:
            raise PointsError(f"{table}, line {line}: {error}. No row was taken") from None
        if one is not None:
            if one.key in made:
                what = " ".join(one.key)
                raise PointsError(f"{table}, line {line}: {what} is there twice; keep one")
            made[one.key] = one
    return decisions.decide(folder, list(made.values()), who) if made else []


def _of_row(
    before: Mapping[decisions.Key, Decision], book: gradebook.Gradebook, cells: dict[str, str]
) -> Decision | None:
    """Return what a row decides, None if that counts already. Raises grades.GradesError."""
    account = book.account(_plain(cells["student"]))
    lab, name = labs.number(cells["lab"]), _plain(cells["exercise"])
    most = gradebook.most_of(account, lab, name)
    now = next((one for one in account.of_lab(lab) if one.name == name), None)
    more: dict[str, Any] = {}
    if cells["points"]:
        weighted, weight = _number(cells["points"]), book.policy.lab(lab).weight
        counted = now.points if now is not None else None
        if counted is None or abs(weighted - counted) > _AS_IN_THE_TABLE:
            points = round(weighted / weight, 6) if weight else 0.0
            gradebook.check_points(name, points, most)
            more["points"] = points
    words = _plain(cells["comment"])
    if words and words != " ".join((now.comment if now is not None else "").split()):
        more["comment"] = words
    key = account.student.student, lab, name
    return decisions.changed(before, key, **more) if more else None


def _number(text: str) -> float:
    try:
        # Spreadsheets of many countries write a comma.
        number = float(text.replace(",", "."))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise grades.GradesError(f"{text!r} is no number of points")
    return number


def _plain(text: str) -> str:
    """Return a cell without the apostrophe by which `export` keeps a spreadsheet from computing."""
    return text[1:] if text[:2] in ("'=", "'+", "'-", "'@") else text
