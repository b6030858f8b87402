"""How a course counts: course.toml, with points, weights, deadlines and what late work is worth.

    policy.read(Path("course.toml"))      checked, or PolicyError
    policy.Policy()                       every lab that was handed in, no deadline

EXAMPLE is a whole file, which `python -m helpers.course example` prints.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np

from helpers import exercises, labs
from helpers.course import CourseError, texts, writing
from helpers.exercises.judge.base import NOTEBOOK_SEED
from helpers.exercises.judge.cases import Case
from helpers.exercises.judge.exercise import Exercise

EXAMPLE = """# How this course counts. Every line but [labs] may be left out.
title = "Programming GPUs, autumn"
over_budget = 0.5            # share of the points for "right, over its budget"
take = "best"                # of several submissions: "best" or "last"
timezone = "Europe/Berlin"   # of deadlines, and of times in zips; else that of this computer

[late]
grace_minutes = 15           # after a deadline: nothing is taken away
share_a_day = 0.1            # taken away for each day that has begun after that
most_days = 5                # later than that a submission is worth nothing

[labs.101]
deadline = 2026-10-05T18:00:00
[labs.101.by_hand]           # points that an instructor gives, by `override`
predictions = 2
written = 3                  # texts that a student has added or changed
[labs.101.figures]           # figures that each student hands in, and their points
"101_sizes" = 3              # the name of a file, of a cell (its id), or a tag of the cell
[labs.103]
# column = "Puzzles (4711)"  # its name in the tables for Canvas and Moodle; else "Lab 103"
deadline = 2026-10-12T18:00:00
weight = 2                   # its points count twice
held = true                  # students and other systems get no points of it yet
[labs.103.points]            # of exercises; else those of the exercise itself
squares = 1
transpose = 3
[[labs.103.cases.squares]]   # points for some of the grader's cases; else all must be right
name = "one warp"
when = {values = [1, 32]}    # a case that makes from 1 to 32 values; also kinds, such as size
weight = 2
[[labs.103.cases.squares]]   # without `when`: all other cases
name = "larger blocks"
weight = 1
hidden = true                # students read whether these are right, and nothing else of them

[rubric]                     # what figures are graded by: each a key on the page of figures
"axes have names and units" = 1
"the claim is what the numbers say" = 2

[extensions.ann]             # days more than the others, for one student
101 = 7
"""


MOST_ITEMS = 26  # of a rubric


class PolicyError(CourseError, ValueError):
    """A course.toml that cannot be used; the message says which line of it, and what is allowed."""


@dataclass(frozen=True)
class Late:
    """What late work is worth."""

    grace_minutes: float = 0.0
    share_a_day: float = 0.0
    most_days: float = math.inf

    def share(self, over: timedelta, by_clock: timedelta | None = None) -> tuple[float, int]:
        """Return the share of the points that is left, and the days that count as late. by_clock:
        what clocks on the wall say, where they were put forward or back since the deadline: a day
        ends at the hour of the deadline.
        """
        if over <= timedelta(minutes=self.grace_minutes):
            return 1.0, 0
        days = max(math.ceil((over if by_clock is None else by_clock) / timedelta(days=1)), 1)
        if days > self.most_days:
            return 0.0, days
        return max(0.0, 1.0 - days * self.share_a_day), days


@dataclass(frozen=True)
class Group:
    """Some of the grader's cases for an exercise, which are right together or not at all. when: by
    kind of case the value that it must have, or the first and the last of a range; hidden: students
    read whether these cases are right, and nothing else of them.
    """

    name: str
    weight: float = 1.0
    hidden: bool = False
    when: Mapping[str, Any] = field(default_factory=dict)

    def has(self, kinds: Mapping[str, Any]) -> bool:
        """Return whether a case of these kinds is one of the group."""
        return all(kind in kinds and _is_in(kinds[kind], one) for kind, one in self.when.items())


def _is_in(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, list) and len(wanted) == 2 and isinstance(value, int | float):
        return wanted[0] <= value <= wanted[1]
    return value == wanted


@dataclass(frozen=True)
class GroupFound:
    """A group, and what became of its cases, as results have them."""

    group: Group
    cases: tuple[Mapping[str, Any], ...]

    @property
    def right(self) -> bool:
        """Whether all of them are right."""
        return all(case["right"] for case in self.cases)


@dataclass(frozen=True)
class Lab:
    """A lab of the course. deadline: in the zone of the course if it has none of its own; points:
    by exercise; cases: groups of cases by exercise. A case is one of the first group that has it.
    by_hand: the most points for "predictions" and what is "written"; figures: those of each figure
    that is expected; column: its name in the tables for Canvas and Moodle; held: whether students
    and other systems get no points of it yet.
    """

    number: str
    deadline: datetime | None = None
    weight: float = 1.0
    points: Mapping[str, float] = field(default_factory=dict)
    cases: Mapping[str, tuple[Group, ...]] = field(default_factory=dict)
    by_hand: Mapping[str, float] = field(default_factory=dict)
    column: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
    held: bool = False

    @property
    def by_people(self) -> Mapping[str, float]:
        """The most points of all that no grader judges."""
        return {**self.figures, **self.by_hand}

    def groups(self, result: Mapping[str, Any]) -> tuple[GroupFound, ...]:
        """Return the groups of an exercise that cases of a result are in."""
        groups = self.cases.get(result["exercise"], ())
        cases = result.get("cases", [])
        first = [next((g for g in groups if g.has(case["kinds"])), None) for case in cases]
        found = [
            GroupFound(
                group, tuple(case for case, of in zip(cases, first, strict=True) if of is group)
            )
            for group in groups
        ]
        return tuple(one for one in found if one.cases)


@dataclass(frozen=True)
class Policy:
    """How a course counts. labs: none for those that were handed in; extensions: days, by student
    and lab; rubric: points by what figures are graded by; zone: None for that of this computer.
    """

    title: str = ""
    over_budget: float = 0.5
    take: str = "best"
    late: Late = Late()
    labs: tuple[Lab, ...] = ()
    extensions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    rubric: Mapping[str, float] = field(default_factory=dict)
    zone: ZoneInfo | None = None

    def moment(self, at: datetime) -> datetime:
        """Return a time with its zone: that of the course, if it has none."""
        if at.tzinfo is not None:
            return at
        return at.replace(tzinfo=self.zone) if self.zone is not None else at.astimezone()

    def lab(self, number: str) -> Lab:
        """Return a lab of the course, by its number."""
        return next((one for one in self.labs if one.number == number), Lab(number))

    def share_of_points(self, result: Mapping[str, Any]) -> float:
        """Return the share of the points that a verdict is worth. What is wrong in some cases, and
        gets points for others, counts as over its budget there.
        """
        if result["status"] in ("pass", "budget"):
            return 1.0 if result["status"] == "pass" else self.over_budget
        groups = self.lab(labs.number(result["lab"])).groups(result)
        whole = sum(one.group.weight for one in groups)
        right = sum(one.group.weight for one in groups if one.right)
        return self.over_budget * right / whole if whole else 0.0

    def share_of_time(self, student: str, number: str, handed_in: datetime | None) -> tuple:
        """Return the share of the points that is left of what was handed in then, and the days that
        count as late.
        """
        deadline = self.lab(number).deadline
        if deadline is None or handed_in is None:
            return 1.0, 0
        deadline += timedelta(days=float(self.extensions.get(student, {}).get(number, 0.0)))
        due, came = self.moment(deadline), self.moment(handed_in)
        zone = self.zone or due.tzinfo
        by_clock = came.astimezone(zone).replace(tzinfo=None) - due.astimezone(zone).replace(
            tzinfo=None
        )
        return self.late.share(came - due, by_clock)


def read(path: Path) -> Policy:
    """Return the policy of a course.toml. Raises PolicyError."""
    try:
        with path.open("rb") as file:
            given = tomllib.load(file)
    except (OSError, ValueError) as error:
        raise PolicyError(f"{path} cannot be read: {error}") from None
    try:
        return _policy(given)
    except PolicyError as error:
        raise PolicyError(f"{path}: {error}") from None


def _policy(given: Mapping[str, Any]) -> Policy:
    _known(
        "the file",
        given,
        ("title", "over_budget", "take", "timezone", "late", "labs", "rubric", "extensions"),
    )
    late = _table(given, "late")
    _known("[late]", late, ("grace_minutes", "share_a_day", "most_days"))
    take = given.get("take", "best")
    if take not in ("best", "last"):
        raise PolicyError(f'take = {take!r}; it must be "best" or "last"')
    extensions = _table(given, "extensions")
    made = Policy(
        title=str(given.get("title", "")),
        over_budget=_number("over_budget", given.get("over_budget", 0.5), most=1.0),
        take=take,
        late=Late(
            _number("late.grace_minutes", late.get("grace_minutes", 0.0)),
            _number("late.share_a_day", late.get("share_a_day", 0.0), most=1.0),
            _number("late.most_days", late.get("most_days", 10_000)),
        ),
        labs=tuple(_lab(str(number), one) for number, one in _table(given, "labs").items()),
        extensions={
            texts.name(student): {
                str(lab): _number(f"extensions.{student}.{lab}", days)
                for lab, days in _table(extensions, student).items()
            }
            for student in extensions
        },
        rubric={
            str(what): _number(f"rubric.{what!r}", n) for what, n in _table(given, "rubric").items()
        },
        zone=_zone(given.get("timezone")),
    )
    if len(made.rubric) > MOST_ITEMS:
        raise PolicyError(
            f"[rubric] has {len(made.rubric)} items; at most {MOST_ITEMS}: each has a letter as key"
        )
    named = {one.number for one in made.labs}
    for student, one in made.extensions.items():
        for lab in one:
            if lab not in named:
                raise PolicyError(f"extensions.{student}: there is no [labs.{lab}]")
    return made


def _zone(name: Any) -> ZoneInfo | None:
    try:
        return None if name is None else ZoneInfo(name)
    except (ValueError, TypeError, OSError, KeyError, AttributeError):
        raise PolicyError(
            f'timezone = {name!r}; write a name of the tz database, such as "Europe/Berlin"'
        ) from None


def _lab(number: str, given: Any) -> Lab:
    if not isinstance(given, dict):
        raise PolicyError(f"labs.{number} = {given!r}; write a table, [labs.{number}]")
    names = ("column", "deadline", "weight", "points", "cases", "by_hand", "figures", "held")
    _known(f"[labs.{number}]", given, names)
    mine = exercises_of(number)
    if not mine:
        known = ", ".join(sorted({labs.number(exercises.find(n).lab) for n in exercises.names()}))
        raise PolicyError(f"[labs.{number}]: no lab {number} has an exercise; these have: {known}")
    points = _table(given, "points")
    _known(f"[labs.{number}.points]", points, mine)
    cases = _table(given, "cases")
    _known(f"[labs.{number}.cases]", cases, mine)
    by_hand = _table(given, "by_hand")
    _known(f"[labs.{number}.by_hand]", by_hand, writing.KINDS)
    figures = _table(given, "figures")
    for name in figures:
        if not name or name in (*mine, *writing.KINDS):
            raise PolicyError(
                f"[labs.{number}.figures] has {name!r}; write the name of a figure's file or cell"
            )
    held = given.get("held", False)
    if not isinstance(held, bool):
        raise PolicyError(f"labs.{number}.held = {held!r}; it must be true or false")
    deadline = given.get("deadline")
    if deadline is not None and not isinstance(deadline, datetime):
        raise PolicyError(
            f"labs.{number}.deadline = {deadline!r}; write a date and a time, without quotes: "
            "2026-10-05T18:00:00"
        )
    return Lab(
        number,
        deadline,
        _number(f"labs.{number}.weight", given.get("weight", 1.0)),
        {name: _number(f"labs.{number}.points.{name}", n) for name, n in points.items()},
        {name: _groups(f"labs.{number}.cases.{name}", name, made) for name, made in cases.items()},
        {what: _number(f"labs.{number}.by_hand.{what}", n) for what, n in by_hand.items()},
        str(given.get("column", f"Lab {number}")),
        {name: _number(f"labs.{number}.figures.{name}", n) for name, n in figures.items()},
        held,
    )


def _groups(where: str, exercise: str, given: Any) -> tuple[Group, ...]:
    """Return the groups of an exercise's cases, each of which has a case of the notebook."""
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise PolicyError(f"{where} = {given!r}; write tables, [[{where}]]")
    found = exercises.find(exercise)
    if not isinstance(found, Exercise):
        raise PolicyError(f"{where}: an answer in Python has no cases; leave it out")
    cases = [{"kinds": kinds(case), "right": True} for case in found.all_cases(NOTEBOOK_SEED)]
    groups = tuple(_group(where, k, one, cases) for k, one in enumerate(given, 1))
    own = Lab("", cases={exercise: groups}).groups({"exercise": exercise, "cases": cases})
    for group in groups:
        if group not in [one.group for one in own]:
            raise PolicyError(
                f"{where}: no case is left for {group.name!r}; there are: "
                + "; ".join(str(case["kinds"]) for case in cases)
            )
    return groups


def _group(
    where: str, place: int, given: Mapping[str, Any], cases: Sequence[Mapping[str, Any]]
) -> Group:
    _known(f"[[{where}]]", given, ("name", "weight", "hidden", "when"))
    when, hidden = _table(given, "when"), given.get("hidden", False)
    _known(f"{where}: when", when, sorted({kind for case in cases for kind in case["kinds"]}))
    if not isinstance(hidden, bool):
        raise PolicyError(f"{where}: hidden = {hidden!r}; it must be true or false")
    weight = _number(f"{where}: weight", given.get("weight", 1.0))
    return Group(str(given.get("name", f"group {place}")), weight, hidden, when)


def kinds(case: Case) -> dict[str, Any]:
    """Return the kinds of a case as JSON has them, with the number of values that it makes."""
    return {"values": case.count, **{name: _plain(one) for name, one in case.kinds.items()}}


def _plain(kind: Any) -> Any:
    if isinstance(kind, np.generic):
        return kind.item()
    if isinstance(kind, tuple) and not hasattr(kind, "_fields"):
        return [_plain(one) for one in kind]
    return kind if isinstance(kind, bool | int | float | str) else str(kind)


def exercises_of(number: str) -> list[str]:
    """Return the names of the exercises of a lab, as files of results have them."""
    return [name for name in exercises.names() if labs.number(exercises.find(name).lab) == number]


def _table(given: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = given.get(name, {})
    if not isinstance(found, dict):
        raise PolicyError(f"{name} = {found!r}; write a table, [{name}]")
    return found


def _known(where: str, given: Mapping[str, Any], names: Any) -> None:
    for name in given:
        if name not in names:
            raise PolicyError(f"{where} has {name!r}; it may have {', '.join(names)}")


def _number(name: str, value: Any, most: float = math.inf) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= most or value == math.inf:
        upper = f" to {most:g}" if most < math.inf else " or more"
        raise PolicyError(f"{name} = {value!r}; it must be a number, 0{upper}")
    return float(value)
