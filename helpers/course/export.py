"""Points for other systems: tables (our own, Canvas', Moodle's), Gradescope's results.json,
nbgrader's gradebook. What an instructor decided is in all of them, and nothing that somebody typed
there is overwritten.
"""

from __future__ import annotations

import csv as csv_module
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers.course import gradebook, grades, texts
from helpers.course.gradebook import Account, Extra, Gradebook, Row

COLUMNS = (
    "student", "name", "section", "lab", "exercise", "status", "points", "maximum", "days_late",
    "comment", "cost", "time_ms", "seconds", "box", "message", "hint", "figures",
    "text_sha256", "grader",
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv(folder: Path) -> str:
    """Return all exercises, figures and texts of all students, a line each, those of labs that are
    held, too. What could not be graded, and what nobody has decided, has no points.
    """
    rows = []
    for account in gradebook.read(folder).students:
        who = {"student": account.student.student, "name": account.student.name}
        who["section"] = account.student.section
        for row in account.rows:
            result = row.result or {}
            own = {
                "lab": row.lab, "exercise": row.exercise, "status": row.status,
                "points": row.points, "maximum": row.maximum, "days_late": row.days,
                "comment": row.comment,
                "message": " ".join(result.get("messages", []))[:500],
            }
            rows.append({**result, **who, **own})
        for extra in account.extras:
            rows.append(
                {**who, "lab": extra.lab, "exercise": extra.what, "status": "by hand",
                 "points": extra.points, "maximum": extra.maximum, "comment": extra.comment,
                 "figures": "; ".join(_problems(extra))[:500]}
            )  # fmt: skip
    return _table(COLUMNS, [[row.get(column) for column in COLUMNS] for row in rows])


def _problems(extra: Extra) -> list[str]:
    """Return what does not hold in the records of a figure."""
    claims = [one.get("claim") or {} for one in extra.pictures]
    return [problem for claim in claims for problem in claim.get("problems", [])]


def canvas(folder: Path) -> str:
    """Return Canvas' grade file: a row for each student of the roster, a column for each lab.
    Canvas finds a student by `ID`, else by `SIS User ID` or `SIS Login ID` (the roster's column
    `student`), else by the name.
    """
    book = gradebook.read(folder)
    labs_of = _labs(book)
    head = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    possible = [_possible(book, lab) for lab in labs_of]
    rows: list[list[Any]] = [["Points Possible", "", "", "", "", *possible]]
    for account in _listed(book):
        who = account.student
        points = [_of_lab(book, account, lab) for lab in labs_of]
        rows.append([who.shown, who.id, who.student, who.student, who.section, *points])
    return _table([*head, *(_column(book, lab) for lab in labs_of)], rows)


def moodle(folder: Path) -> str:
    """Return Moodle's grade file: a row for each student of the roster, a column for each lab and
    one for words. Moodle finds a student by `Username` (the roster's column `student`) or by `Email
    address`, and takes nothing of a file with one that it does not know.
    """
    book = gradebook.read(folder)
    labs_of = _labs(book)
    head = ["Username", "Full name", "Email address"]
    for lab in labs_of:
        head += [_column(book, lab), f"{_column(book, lab)} feedback"]
    rows = []
    for account in _listed(book):
        who = account.student
        row: list[Any] = [who.student, who.shown, who.email]
        for lab in labs_of:
            row += [_of_lab(book, account, lab), _feedback(book, account, lab)]
        rows.append(row)
    return _table(head, rows)


def _listed(book: Gradebook) -> list[Account]:
    """Return the students of the roster; all where there is none."""
    return [one for one in book.students if one.listed]


def _column(book: Gradebook, lab: str) -> str:
    return book.policy.lab(lab).column or f"Lab {lab}"


def _labs(book: Gradebook) -> list[str]:
    return list(dict.fromkeys(lab for lab, _ in book.exercises))


def _of_lab(book: Gradebook, account: Account, lab: str) -> float | str:
    """Return the points of a lab; "" where one of its exercises could not be graded, and where the
    lab is held.
    """
    mine = account.of_lab(lab)
    if book.policy.lab(lab).held or any(one in account.rows and one.points is None for one in mine):
        return ""
    return round(sum(one.points or 0.0 for one in mine), 2)


def _possible(book: Gradebook, lab: str) -> float:
    """Return the most points of a lab, the same for all."""
    counts = book.policy.lab(lab)
    sums = [sum(r.maximum for r in one.rows if r.lab == lab) for one in book.students]
    return max(sums, default=0.0) + counts.weight * sum(counts.by_people.values())


def _feedback(book: Gradebook, account: Account, lab: str) -> str:
    if book.policy.lab(lab).held:
        return ""
    rows = [row for row in account.rows if row.lab == lab]
    parts = [f"{row.exercise}: {gradebook.WORDS[row.status]}" for row in rows]
    if all(row.status == gradebook.MISSING for row in rows):
        parts = ["not handed in"]
    extras = [one for one in account.extras if one.lab == lab]
    parts += [
        f"{one.what}: " + ("not graded yet" if one.points is None else f"{one.points:g}")
        for one in extras
        if one.maximum
    ]
    said: list[Row | Extra] = [*rows, *extras]
    return "; ".join([*parts, *(one.comment for one in said if one.comment)])


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    out = io.StringIO()
    table = csv_module.writer(out, lineterminator="\n")
    table.writerow(head)
    table.writerows([[_cell(value) for value in row] for row in rows])
    return texts.clean(out.getvalue())


def _cell(value: Any) -> Any:
    """Return a cell of a table. A text that begins like a formula gets an apostrophe, so that no
    program computes it.
    """
    if isinstance(value, str):
        value = " ".join(value.split())
        return f"'{value}" if value.startswith(_FORMULA) else value
    return "" if value is None else value


def gradescope(folder: Path, student: str, lab: str = "") -> str:
    """Return results.json for one student. lab: the number of a lab, for nothing of other ones.
    Raises grades.GradesError where nothing of that student is there.
    """
    book = gradebook.read(folder)
    account = book.account(student)
    mine = [
        one
        for one in account.all
        if lab in ("", one.lab) and not book.policy.lab(one.lab).held
    ]
    tests = [_test_of_row(one) if isinstance(one, Row) else _test_of_extra(one) for one in mine]
    seconds = sum((one.result or {}).get("seconds") or 0 for one in mine if isinstance(one, Row))
    made = {
        "output": "Each exercise was compiled from the text of its cell; nothing "
        "else of the notebook was run.",
        "execution_time": round(seconds, 1),
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
    }
    return json.dumps(made, indent=1) + "\n"


def words(result: Mapping[str, Any]) -> str:
    """Return what a student reads of a result."""
    hint = f"Hint: {result['hint']}" if result.get("hint") else ""
    more = [hint, result.get("note", ""), result.get("comment", "")]
    return "\n".join(filter(None, [*result["messages"], *more]))


def _test_of_row(row: Row) -> dict[str, Any]:
    """Return an exercise in the form that Gradescope documents."""
    result = row.shown
    text = words({**result, "comment": row.comment}) if result else row.comment
    said = f"{gradebook.WORDS[row.status]}\n" if row.points is None or not result else ""
    return {
        "score": float(row.points or 0.0),
        "max_score": float(row.maximum),
        "status": "passed" if row.status == "pass" else "failed",
        "name": f"{row.lab} {row.exercise}",
        "output": (said + text)[:20_000].strip(),
        "output_format": "text",
        "visibility": "visible",
        "extra_data": {
            "status": row.status,
            "counters": result.get("counters", {}),
            "box": result.get("box", ""),
        },
    }


def _test_of_extra(one: Extra) -> dict[str, Any]:
    """Return a figure or a text that people grade, in the form that Gradescope documents."""
    said = one.comment or ("not graded yet" if one.points is None else "")
    return {
        "score": float(one.points or 0.0), "max_score": float(one.maximum),
        "name": f"{one.lab} {one.what}", "output": said[:20_000], "output_format": "text",
        "visibility": "visible",
    }  # fmt: skip


def nbgrader(folder: Path, database: str) -> int:
    """Put points into nbgrader's gradebook; how many. Those of an exercise are the score of the
    cell that has its name. A figure or a text gets a cell in the gradebook alone.

    The assignment is the lab. Its cells come from `release --nbgrader` and nbgrader's own
    generate_assignment. Raises grades.GradesError where nbgrader is missing, or does not know an
    assignment.
    """
    try:
        from nbgrader.api import Gradebook as Database
        from nbgrader.api import MissingEntry
    except ImportError:
        raise grades.GradesError(
            'nbgrader is not installed: pip install -e ".[nbgrader]"'
        ) from None
    address = database if "://" in database else f"sqlite:///{Path(database).absolute()}"
    if "://" not in database and not Path(database).exists():
        raise grades.GradesError(
            f"there is no gradebook {database}: run nbgrader "
            "generate_assignment and autograde first"
        )
    written = 0
    counted = gradebook.read(folder)
    with Database(address) as book:
        for account in counted.students:
            places = {}  # by the lab's number: the notebook and the assignment, which is the lab
            for row in account.rows:
                result = row.result
                if result is None or counted.policy.lab(row.lab).held:
                    continue
                lab = result["lab"]
                places[row.lab] = lab, lab
                if row.points is None:
                    continue
                try:
                    _score_row(book, row, places[row.lab])
                except MissingEntry:
                    raise grades.GradesError(
                        f"the gradebook has no cell {row.exercise!r} of {row.student} in {lab}: "
                        f"run nbgrader generate_assignment {lab} and nbgrader autograde {lab} first"
                    ) from None
                written += 1
            for extra in account.extras:
                if extra.maximum and extra.lab in places:
                    _score_extra(book, extra, places[extra.lab], account.student.student)
                    written += 1
        book.db.commit()
    return written


def _score_row(book: Any, row: Row, place: tuple[str, str]) -> None:
    """Put an exercise into nbgrader's gradebook. Raises nbgrader's MissingEntry."""
    grade = book.find_grade(row.exercise, *place, row.student)
    book.update_or_create_grade_cell(row.exercise, *place, max_score=float(row.maximum))
    # What an instructor types in nbgrader, manual_score and manual_comment, goes before these, and
    # stays.
    grade.auto_score, grade.needs_manual_grade = float(row.points or 0.0), False
    # nbgrader's feedback page shows it by way of Markdown.
    said = words({**row.shown, "comment": row.comment})[:10_000]
    book.find_comment(row.exercise, *place, row.student).auto_comment = texts.for_markdown(said)


def _score_extra(book: Any, extra: Extra, place: tuple[str, str], student: str) -> None:
    """Put a figure or a text, which is no cell of the notebook, into nbgrader's gradebook."""
    from nbgrader.api import Grade, MissingEntry

    cell = book.update_or_create_grade_cell(
        extra.what, *place, max_score=float(extra.maximum), cell_type="markdown"
    )
    try:
        grade = book.find_grade(extra.what, *place, student)
    except MissingEntry:
        grade = Grade(cell=cell, notebook=book.find_submission_notebook(*place, student))
        book.db.add(grade)
    grade.auto_score, grade.needs_manual_grade = float(extra.points or 0.0), False
