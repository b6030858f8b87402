"""Every student of the roster with every lab of the course, handed in or not: what the grader
found, what the clock takes away, what an instructor decided.

    book = gradebook.read(Path("grades"))
    for student in book.students:
        for row in student.rows: ...
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from helpers import exercises, labs
from helpers.course import decisions, grades, pictures, policy, roster, texts, times, writing
from helpers.course.decisions import Decision
from helpers.course.policy import GroupFound, Policy
from helpers.course.roster import Names, Student

ROSTER, COURSE, TIMES = ".roster.csv", ".course.toml", ".times.csv"  # copies beside the grades
MISSING = "missing"  # the status of what was not handed in
WORDS = {  # of each status, as students read them
    "pass": "right, within its budget", "budget": "right, over its budget",
    "wrong": "does not pass", "finding": "a fault was found",
    "compile": "does not compile", "refused": "no answer, or refused", "time": "took too long",
    "memory": "took too much memory",
    "crash": "crashed", "not_begun": "not begun", "not_graded": "not graded",
    "missing": "not handed in",
}


@dataclass(frozen=True)
class Row:
    """One exercise of one student. lab: its number; points: what counts, with its weight, None for
    what could not be graded; maximum: with its weight, too; earned: of the verdict alone; share:
    what the clock left; days: that it was late; most: points before the weight.
    """

    student: str
    lab: str
    exercise: str
    status: str
    points: float | None
    maximum: float
    earned: float | None = None
    share: float = 1.0
    days: int = 0
    decision: Decision | None = None
    result: Mapping[str, Any] | None = None
    groups: tuple[GroupFound, ...] = ()
    most: float = 0.0

    @property
    def name(self) -> str:
        """What it is called in decisions."""
        return self.exercise

    @property
    def comment(self) -> str:
        """The instructor's words."""
        return self.decision.comment if self.decision else ""

    @property
    def shown(self) -> Mapping[str, Any]:
        """The result as its student may read it: of hidden cases nothing stands in it."""
        result = self.result or {}
        hidden = [case for one in self.groups if one.group.hidden for case in one.cases]
        if all(case["right"] for case in hidden):
            return result
        wrong = [case for case in result["cases"] if not case["right"] and case not in hidden]
        if wrong:
            said, hint = wrong[0]["said"], wrong[0]["hint"]
        else:
            said, hint = f"FAIL {self.exercise}: right in all cases but hidden ones", ""
        # A finding's line is that of one case, which may be a hidden one.
        return {**result, "messages": [said], "hint": hint, "findings": [], "cases": []}


@dataclass(frozen=True)
class Extra:
    """Points that no grader gives: of a figure, of predictions, or of a written answer. what: its
    name; points: with the lab's weight, None until somebody has decided, 0 where nothing was handed
    in; maximum: with the weight, too; most: before it; pictures: that answer a figure.
    """

    lab: str
    what: str
    points: float | None
    maximum: float
    decision: Decision | None = None
    most: float = 0.0
    pictures: tuple[Mapping[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """What it is called in decisions."""
        return self.what

    @property
    def comment(self) -> str:
        """The instructor's words."""
        return self.decision.comment if self.decision else ""


@dataclass(frozen=True)
class Account:
    """A student with all rows. listed: whether the roster has the name; writing: what was written
    beside the exercises, by the lab's number; others: pictures that answer no expected figure.
    """

    student: Student
    rows: tuple[Row, ...]
    extras: tuple[Extra, ...] = ()
    listed: bool = True
    writing: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    others: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    def of_lab(self, lab: str) -> list[Row | Extra]:
        """Return all that counts in a lab."""
        return [one for one in self.all if one.lab == lab]

    @property
    def all(self) -> list[Row | Extra]:
        """All that counts: rows and extras."""
        return [*self.rows, *self.extras]

    @property
    def points(self) -> float:
        """The sum of what counts."""
        return sum(one.points or 0.0 for one in self.all)

    @property
    def maximum(self) -> float:
        """The most that can be had, the same for all students."""
        return sum(one.maximum for one in self.all)

    @property
    def not_graded(self) -> int:
        """Exercises that could not be graded."""
        return sum(one.points is None for one in self.rows)

    @property
    def not_decided(self) -> int:
        """Figures and texts that nobody has decided about; they count as 0."""
        return sum(one.points is None for one in self.extras)


@dataclass(frozen=True)
class Gradebook:
    """The students of a course; exercises: (number of the lab, name), in the order of the labs."""

    students: tuple[Account, ...]
    exercises: tuple[tuple[str, str], ...]
    policy: Policy
    run: Mapping[str, Any]

    def account(self, name: str) -> Account:
        """Return a student's. Raises grades.GradesError."""
        for one in self.students:
            if one.student.student == texts.name(name):
                return one
        raise grades.GradesError(f"there are no results of {name!r}, and no row of the roster")


def names_in(account: Account, lab: str) -> dict[str, float]:
    """Return what can be decided in a lab of a student, and the most points of it: exercises,
    figures, what was written, and cells, which get words alone.
    """
    cells = [one["cell"] for one in account.writing.get(lab, {}).get("written", []) if one["cell"]]
    return {**dict.fromkeys(cells, 0.0), **{one.name: one.most for one in account.of_lab(lab)}}


def most_of(account: Account, lab: str, name: str) -> float:
    """Return the most points of something that can be decided in a lab of a student; 0 of the lab
    itself, "". Raises grades.GradesError.
    """
    who, known = account.student.student, sorted({row.lab for row in account.rows})
    if lab not in known:
        raise grades.GradesError(f"{who} has no lab {lab}; there are: {', '.join(known)}")
    names = names_in(account, lab)
    if name and name not in names:
        there = ", ".join(names)
        raise grades.GradesError(f"{who} has no {name!r} in lab {lab}; there are: {there}")
    return names.get(name, 0.0)


def check_points(name: str, points: float, most: float) -> None:
    """Raise grades.GradesError for points that cannot be given."""
    if not 0 <= points <= most:
        raise grades.GradesError(f"{points:g} points for {name}: they must be from 0 to {most:g}")


def keep(
    folder: Path, course: Path | None, students: Path | None, submitted: Path | None = None
) -> None:
    """Put the files of the course beside its grades, checked, so that every later command counts
    alike. Raises policy.PolicyError, roster.RosterError, times.TimesError.
    """
    counts = policy.read(course) if course is not None else policy_of(folder)
    names = Names(roster.read(students)) if students is not None else names_of(folder)
    if submitted is not None:
        times.read(submitted, names, counts.moment)
    folder.mkdir(parents=True, exist_ok=True)
    for given, name in ((course, COURSE), (students, ROSTER), (submitted, TIMES)):
        if given is not None and given.resolve() != (folder / name).resolve():
            shutil.copyfile(given, folder / name)


def policy_of(folder: Path) -> Policy:
    """Return how a folder of grades counts."""
    return policy.read(folder / COURSE) if (folder / COURSE).exists() else Policy()


def roster_of(folder: Path) -> tuple[Student, ...]:
    """Return the roster of a folder of grades, empty where it has none."""
    return roster.read(folder / ROSTER) if (folder / ROSTER).exists() else ()


def names_of(folder: Path) -> Names:
    """Return what finds students of that roster."""
    return Names(roster_of(folder))


def times_of(folder: Path) -> dict[tuple[str, str], str]:
    """Return when something was handed in that a file says nothing of; see times.read."""
    if not (folder / TIMES).exists():
        return {}
    return times.read(folder / TIMES, names_of(folder), policy_of(folder).moment)


def strangers(folder: Path, students: set[str]) -> list[str]:
    """Return what to say of students who handed something in and are not on the roster, of those
    of an earlier run, and of more days for nobody.
    """
    listed = {one.student for one in roster_of(folder)}
    said = grades.stale(folder, students)
    if not listed:
        return said
    if unknown := texts.first_of(students - listed):
        said.append(
            f"not on the roster: {unknown}. Rename the folder, or write a row; until then these "
            "are in no table for Canvas and Moodle"
        )
    if nobody := texts.first_of({student for student, _ in times_of(folder)} - listed):
        said.append(
            f"the file of --times names {nobody}, and the roster does not. Write the roster's "
            "name; until then the time of the file counts"
        )
    for name in policy_of(folder).extensions:
        if name not in listed:
            said.append(f"course.toml has [extensions.{name}], and the roster no {name}")
    return said


def read(folder: Path) -> Gradebook:
    """Return the gradebook of a folder of grades. Raises grades.GradesError, and as the files of
    the course do.
    """
    found = list(grades.results(folder))
    run = grades.run_of(folder)
    counts = policy_of(folder)
    decided = decisions.load(folder)
    listed = roster_of(folder)
    mine: dict[str, dict[tuple[str, str], Mapping[str, Any]]] = {}
    for result in found:
        place = labs.number(result["lab"]), result["exercise"]
        mine.setdefault(result["student"], {})[place] = result
    wanted = _wanted(counts, mine)
    names = {one.student for one in listed}
    students = [*listed, *(Student(name) for name in sorted(set(mine) - names))]
    accounts = []
    for student in students:
        own = mine.get(student.student, {})
        rows = tuple(
            _row(student.student, lab, name, own.get((lab, name)), counts, decided)
            for lab, name in wanted
        )
        beside = _writing(folder / student.student) if own else {}
        shown = _pictures(folder / student.student, counts) if own else {}
        extras = _extras(student.student, counts, decided, beside, shown)
        others = {lab: of[""] for lab, of in shown.items() if of.get("")}
        is_listed = not listed or student.student in names
        accounts.append(Account(student, rows, extras, is_listed, beside, others))
    return Gradebook(tuple(accounts), tuple(wanted), counts, run)


def _writing(folder: Path) -> dict[str, Mapping[str, Any]]:
    """Return what a student wrote beside the exercises, by the lab's number."""
    found = {path.parent.name: writing.load(path.parent) for path in folder.glob("*/.writing.json")}
    return {labs.number(lab): one for lab, one in sorted(found.items()) if one is not None}


def _pictures(folder: Path, counts: Policy) -> dict[str, dict[str, list[Mapping[str, Any]]]]:
    """Return the pictures of a student by the lab's number and the figure that they answer."""
    found: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for path in sorted(folder.glob(f"*/{pictures.FILE}")):
        lab = labs.number(path.parent.name)
        found[lab] = pictures.answers(pictures.load(path.parent), counts.lab(lab).figures)
    return found


def _wanted(counts: Policy, mine: Mapping[str, Mapping[tuple[str, str], Any]]) -> list:
    """Return the exercises of the course: of its labs, or of those that anybody handed in."""
    if counts.labs:
        return [(one.number, n) for one in counts.labs for n in policy.exercises_of(one.number)]
    handed_in = {lab for own in mine.values() for lab, _ in own}
    return [
        (labs.number(exercises.find(name).lab), name)
        for name in exercises.names()
        if labs.number(exercises.find(name).lab) in handed_in
    ]


def _row(
    student: str,
    lab: str,
    name: str,
    result: Mapping[str, Any] | None,
    counts: Policy,
    decided: Mapping[decisions.Key, Decision],
) -> Row:
    of_lab = counts.lab(lab)
    maximum = float(of_lab.points.get(name, exercises.find(name).points))
    status = result["status"] if result is not None else MISSING
    share_of_points = counts.share_of_points(result) if result is not None else 0.0
    earned = None if status == "not_graded" else share_of_points * maximum
    at = _time(result.get("submitted")) if result is not None else None
    more = decided.get((student, lab, ""))
    share, days = with_days(counts, student, lab, more).share_of_time(student, lab, at)
    points = None if earned is None else earned * share
    decision = decided.get((student, lab, name))
    if decision is not None and decision.points is not None:
        points = decision.points
    weighted = None if points is None else points * of_lab.weight
    groups = of_lab.groups(result) if result is not None else ()
    return Row(student, lab, name, status, weighted, maximum * of_lab.weight, earned, share, days,
               decision, result, groups, maximum)


def with_days(counts: Policy, student: str, lab: str, decision: Decision | None) -> Policy:
    """Return the policy with the days that an instructor gave one student for one lab."""
    if decision is None or decision.days is None:
        return counts
    own = {**counts.extensions.get(student, {}), lab: decision.days}
    return replace(counts, extensions={**counts.extensions, student: own})


def _extras(
    student: str,
    counts: Policy,
    decided: Mapping[decisions.Key, Decision],
    beside: Mapping[str, Mapping[str, Any]],
    shown: Mapping[str, Mapping[str, Sequence[Mapping[str, Any]]]],
) -> tuple[Extra, ...]:
    """Return the figures, predictions and texts for which the course gives points, the same for all
    students, and whatever else was said of something beside the exercises.
    """
    found = {(of.number, what): most for of in counts.labs for what, most in of.by_people.items()}
    known = set(found)
    for who, lab, of in decided:
        if who == student and of and of not in exercises.names():
            found.setdefault((lab, of), 0.0)
    extras = []
    for (lab, what), most in found.items():
        decision = decided.get((student, lab, what))
        mine = tuple(shown.get(lab, {}).get(what, ()))
        points = decision.points if decision else None
        # Nothing was handed in that somebody could look at.
        is_there = mine or writing.has(beside.get(lab, {}), what)
        if (points is None and not is_there) or (lab, what) not in known:
            points = 0.0
        weight = counts.lab(lab).weight
        weighted = None if points is None else points * weight
        extras.append(Extra(lab, what, weighted, most * weight, decision, most, mine))
    return tuple(extras)


def _time(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if text else None
    except (TypeError, ValueError):
        return None
