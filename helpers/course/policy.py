"""How a course counts: course.toml, with points, weights, deadlines and what late work is worth.

    policy.read(Path("course.toml"))      checked, or PolicyError
    policy.Policy()                       every lab that was handed in, no deadline

EXAMPLE is a whole file, which `python -m helpers.course example` prints.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from helpers import exercises, labs
from helpers.course.errors import CourseError

EXAMPLE = """# How this course counts. Every line but [labs] may be left out.
title = "Programming GPUs, autumn"
over_budget = 0.5            # share of the points for "right, over its budget"
take = "best"                # of several submissions: "best" or "last"

[late]
grace_minutes = 15           # after a deadline: nothing is taken away
share_a_day = 0.1            # taken away for each day that has begun after that
most_days = 5                # later than that a submission is worth nothing

[labs.101]
deadline = 2026-10-05T18:00:00
[labs.103]
deadline = 2026-10-12T18:00:00
weight = 2                   # its points count twice
[labs.103.points]            # of exercises; else those of the exercise itself
squares = 1
transpose = 3

[rubric]                     # of each figure that is handed in, by hand: what, and how many points
"axes have names and units" = 1
"the claim is what the numbers say" = 2

[extensions.ann]             # days more than the others, for one student
101 = 7
"""


class PolicyError(CourseError, ValueError):
    """A course.toml that cannot be used; the message says which line of it, and what is allowed."""


@dataclass(frozen=True)
class Late:
    """What late work is worth."""

    grace_minutes: float = 0.0
    share_a_day: float = 0.0
    most_days: float = math.inf

    def share(self, over: timedelta) -> tuple[float, int]:
        """Return the share of the points that is left, and the days that count as late."""
        if over <= timedelta(minutes=self.grace_minutes):
            return 1.0, 0
        days = math.ceil(over / timedelta(days=1))
        if days > self.most_days:
            return 0.0, days
        return max(0.0, 1.0 - days * self.share_a_day), days


@dataclass(frozen=True)
class Lab:
    """A lab of the course. deadline: of the clock where `grade` runs; points: by exercise."""

    number: str
    deadline: datetime | None = None
    weight: float = 1.0
    points: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Policy:
    """How a course counts. labs: none for those that were handed in; extensions: days, by student
    and lab; rubric: points by what a figure is judged by.
    """

    title: str = ""
    over_budget: float = 0.5
    take: str = "best"
    late: Late = Late()
    labs: tuple[Lab, ...] = ()
    extensions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    rubric: Mapping[str, float] = field(default_factory=dict)

    def lab(self, number: str) -> Lab:
        """Return a lab of the course, by its number."""
        return next((one for one in self.labs if one.number == number), Lab(number))

    def share_of_time(self, student: str, number: str, handed_in: datetime | None) -> tuple:
        """Return the share of the points that is left of what was handed in then, and the days that
        count as late.
        """
        deadline = self.lab(number).deadline
        if deadline is None or handed_in is None:
            return 1.0, 0
        more = timedelta(days=float(self.extensions.get(student, {}).get(number, 0.0)))
        return self.late.share(handed_in - deadline - more)


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
    _known("the file", given, ("title", "over_budget", "take", "late", "labs", "rubric",
                               "extensions"))  # fmt: skip
    late = _table(given, "late")
    _known("[late]", late, ("grace_minutes", "share_a_day", "most_days"))
    take = given.get("take", "best")
    if take not in ("best", "last"):
        raise PolicyError(f'take = {take!r}; it must be "best" or "last"')
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
            str(student): {
                str(lab): _number(f"extensions.{student}.{lab}", days) for lab, days in one.items()
            }
            for student, one in _table(given, "extensions").items()
        },
        rubric={
            str(what): _number(f"rubric.{what!r}", n) for what, n in _table(given, "rubric").items()
        },
    )
    named = {one.number for one in made.labs}
    for student, one in made.extensions.items():
        for lab in one:
            if lab not in named:
                raise PolicyError(f"extensions.{student}: there is no [labs.{lab}]")
    return made


def _lab(number: str, given: Any) -> Lab:
    if not isinstance(given, dict):
        raise PolicyError(f"labs.{number} = {given!r}; write a table, [labs.{number}]")
    _known(f"[labs.{number}]", given, ("deadline", "weight", "points"))
    mine = exercises_of(number)
    if not mine:
        known = ", ".join(sorted({labs.number(exercises.find(n).lab) for n in exercises.names()}))
        raise PolicyError(f"[labs.{number}]: no lab {number} has an exercise; these have: {known}")
    points = _table(given, "points")
    _known(f"[labs.{number}.points]", points, mine)
    deadline = given.get("deadline")
    if deadline is not None and not isinstance(deadline, datetime):
        raise PolicyError(
            f"labs.{number}.deadline = {deadline!r}; write a date and a time, without quotes: "
            "2026-10-05T18:00:00"
        )
    if deadline is not None and deadline.tzinfo is not None:
        deadline = deadline.astimezone().replace(tzinfo=None)
    return Lab(
        number,
        deadline,
        _number(f"labs.{number}.weight", given.get("weight", 1.0)),
        {name: _number(f"labs.{number}.points.{name}", n) for name, n in points.items()},
    )


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
    if not is_number or not 0 <= value <= most:
        upper = f" to {most:g}" if most < math.inf else " or more"
        raise PolicyError(f"{name} = {value!r}; it must be a number, 0{upper}")
    return float(value)
