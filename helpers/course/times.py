"""When something was handed in, where the files do not say it: a CSV file with a row for a student
and a lab, which `grade --times` reads.

    student,lab,time
    ann,101,2026-10-05 17:30

A time has the zone of the course, or its own: 2026-10-05T17:30+02:00.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from helpers import labs
from helpers.course import CourseError
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
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise TimesError(f"{path} cannot be read as UTF-8 text: {error}") from None
    head = text.partition("\n")[0]
    rows = csv.DictReader(io.StringIO(text), delimiter=max(",;\t", key=head.count))
    rows.fieldnames = [name.strip().lower() for name in rows.fieldnames or ()]
    if not set(COLUMNS) <= set(rows.fieldnames):
        raise TimesError(f"{path}: the first line must name the columns {', '.join(COLUMNS)}")
    found = {}
    for row in rows:
        student, lab, time = ((row[name] or "").strip() for name in COLUMNS)
        if not (student or lab or time):
            continue
        try:
            at = datetime.fromisoformat(time)
        except ValueError:
            raise TimesError(
                f"{path}, line {rows.line_num}: {time!r} is no time; write 2026-10-05 17:30"
            ) from None
        place = names.find(student) or student, labs.number(lab)
        found[place] = moment(at).astimezone(UTC).isoformat(timespec="seconds")
    return found
