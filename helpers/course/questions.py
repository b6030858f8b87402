"""What people grade, question by question: all answers to one figure, or to the predictions or
texts of a lab, each beside what was found again. Pages show it (report.py, serve.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers import exercises
from helpers.course import drawings, pictures, texts, writing
from helpers.course.gradebook import Account, Extra, Gradebook

PAGE = 50  # answers of a page
MOST_ROWS = 12  # of the times of a figure: those that differ most stand first
NAMES = "claimed", "recorded by the course", "the least, by bytes"


@dataclass(frozen=True)
class Card:
    """Answers that are shown once: the same picture, or one that looks so, of several students."""

    students: tuple[Account, ...]
    extras: tuple[Extra, ...]

    @property
    def names(self) -> list[str]:
        """Of the students, as files and decisions have them."""
        return [one.student.student for one in self.students]


@dataclass(frozen=True)
class Question:
    """What can be graded at once. name: as decisions have it, "" for pictures that answer nothing
    that course.toml names; most: points, before the lab's weight; nothing: who handed in nothing.
    """

    lab: str
    name: str
    most: float
    cards: tuple[Card, ...]
    nothing: tuple[str, ...]

    @property
    def title(self) -> str:
        """As pages have it."""
        return f"Lab {self.lab}: {self.name or 'other figures'}"

    @property
    def file(self) -> str:
        """The beginning of the names of its static pages."""
        return f"{self.lab}_{''.join(c if c.isalnum() else '-' for c in self.name) or 'others'}"

    def page(self, number: int) -> tuple[Card, ...]:
        """Return the answers of a page, counted from 1."""
        return self.cards[PAGE * (number - 1) : PAGE * number]

    @property
    def pages(self) -> int:
        """How many there are."""
        return max(math.ceil(len(self.cards) / PAGE), 1)


def of_book(book: Gradebook, folder: Path) -> list[Question]:
    """Return the questions of a course, in the order of course.toml."""
    found = []
    for lab in book.policy.labs:
        for name, most in lab.by_people.items():
            pairs = [
                (account, one)
                for account in book.students
                for one in account.extras
                if (one.lab, one.what) == (lab.number, name)
            ]
            there = [(a, e) for a, e in pairs if e.pictures or _has(a, lab.number, name)]
            nothing = tuple(a.student.shown for a, e in pairs if (a, e) not in there)
            found.append(Question(lab.number, name, most, _cards(there, folder), nothing))
    for number in sorted({lab for account in book.students for lab in account.others}):
        others = [
            (account, Extra(number, "", None, 0.0, pictures=tuple(account.others[number])))
            for account in book.students
            if number in account.others
        ]
        found.append(Question(number, "", 0.0, _cards(others, folder), ()))
    return found


def _has(account: Account, lab: str, name: str) -> bool:
    return writing.has(account.writing.get(lab, {}), name)


def _cards(found: Sequence[tuple[Account, Extra]], folder: Path) -> tuple[Card, ...]:
    return tuple(
        Card(tuple(found[k][0] for k in fold), tuple(found[k][1] for k in fold))
        for fold in pictures.folds([extra.pictures for _, extra in found], folder)
    )


# ---- what stands beside a picture ----


def claim(one: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is known of a picture, as templates show it."""
    found = one.get("claim")
    if found is None:
        return {"unchecked": [
            "It holds no record, so that its numbers could not be checked. results.save_figure "
            "writes one into the file."
        ], "problems": [], "device": "", "created": "", "counted": [], "timed": [],
            "drawing": "", "others": "", "left_out": 0}  # fmt: skip
    rows = found["rows"]
    times = [
        (_label(row["series"], row["parameters"]), row["claimed_ms"], row.get("measured_ms"),
         row.get("bound_ms") or 0.0)
        for row in rows if row.get("claimed_ms")
    ]  # fmt: skip
    times.sort(key=lambda row: -abs(math.log(row[1] / row[2])) if row[2] else 0.0)
    first, others = times[:MOST_ROWS], times[MOST_ROWS:]
    counted = [
        (row["series"], name, *pair)
        for row in rows for name, pair in row.get("counters", {}).items()
    ]  # fmt: skip
    timed = list(dict.fromkeys((row["series"], row["gpu"]) for row in rows if row.get("gpu")))
    unchecked = []
    if rows and not counted:
        unchecked.append("Nothing was counted again: it shows no counter of a kernel handed in.")
    if times and not timed:
        unchecked.append("No time was measured again: `grade --gpu` does that, on a GPU.")
    if times and not any(row[2] for row in times):
        unchecked.append("The course has no record with these series and sizes.")
    if times and not any(row[3] for row in times):
        unchecked.append("No bound is known for these launches.")
    return {
        "unchecked": unchecked,
        "problems": found["problems"],
        "device": found.get("device", ""),
        "created": found.get("created", ""),
        "counted": counted,
        "timed": timed,
        "drawing": drawings.Drawn(drawings.pairs(first, NAMES, "ms")) if first else "",
        "left_out": len(others),
        "others": drawings.Drawn(drawings.pairs(others, NAMES, "ms")) if others else "",
    }


def kernels(account: Account, lab: str, run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what the grader found of a student's kernels in a lab: the verdict, the cost beside
    the course's, and the time on a GPU.
    """
    found = []
    for row in account.rows:
        result = row.result or {}
        if row.lab != lab or not result:
            continue
        ladder = run.get("ladders", {}).get(row.exercise, [])
        known = row.exercise in exercises.names()
        found.append({
            "title": exercises.find(row.exercise).title if known else row.exercise,
            "status": row.status,
            "cost": result.get("cost"),
            "ours": ladder[0]["cost"] if ladder else None,
            "gpu": str(result.get("gpu", "")),
        })  # fmt: skip
    return found


def _label(series: str, parameters: Mapping[str, Any]) -> str:
    more = ", ".join(
        f"{k} {v:,}" if isinstance(v, int) else f"{k} {v}"
        for k, v in parameters.items()
        if isinstance(v, int | str)
    )
    label = texts.visible(f"{series} ({more})" if more else series)
    return label if len(label) <= 58 else f"{label[:57]}…"
