"""When something was handed in, where the files do not say it: a CSV file with a row for a student
and a lab, which `grade --times` reads.

    student,lab,time
    ann,101,2026-10-05 17:30

A time has the zone of the course, or its own: 2026-10-05T17:30+02:00.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from helpers import labs
from helpers.course import CourseError, sheet
from helpers.course.roster import Names

COLUMNS = ("student", "lab", "time")


class TimesError(CourseError, ValueError):
    """A file of times that cannot be read; the message says which line and why."""


def read(
    path: Path, names: Names, moment: Callable[[datetime], datetime]
) -> dict[tuple[str, str], str]:
    """Return the times by student and number of the lab, as ISO 8601 in UTC. moment: gives a time
    without a zone that of the course. Raises TimesError.
    """
    known = {labs.number(lab.stem) for lab in labs.notebooks()}
    found = {}
    for line, cells in sheet.read(path, COLUMNS, (), TimesError):
        student, lab, time = cells["student"], labs.number(cells["lab"]), cells["time"]
        if lab not in known:
            raise TimesError(
                f"{path}, line {line}: there is no lab {cells['lab']!r}; write a number of "
                f"{', '.join(sorted(known))}"
            )
        try:
            at = datetime.fromisoformat(time)
        except ValueError:
            raise TimesError(
                f"{path}, line {line}: {time!r} is no time; write 2026-10-05 17:30"
            ) from None
        place = names.find(student) or student, lab
        found[place] = moment(at).astimezone(UTC).isoformat(timespec="seconds")
    return found
