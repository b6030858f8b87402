"""Points for other systems: a table, Gradescope's results.json, nbgrader's gradebook."""

from __future__ import annotations

import csv as csv_module
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers.course import grades, texts
from helpers.exercises import labs

COLUMNS = (
    "student", "lab", "exercise", "status", "points", "maximum", "cost", "time_ms", "seconds",
    "box", "message", "hint", "figures",
    "text_sha256", "grader",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv(folder: Path) -> str:
    """All results, a line each. What could not be graded has no points."""
    out = io.StringIO()
    table = csv_module.writer(out, lineterminator="\n")
    table.writerow(COLUMNS)
    for result in grades.results(folder):
        row = {**result, "message": " ".join(result["messages"])[:500]}
        row["figures"] = "; ".join(
            p for claim in result.get("figures", []) for p in claim["problems"]
        )[:500]
        table.writerow([_cell(row.get(column)) for column in COLUMNS])
    return out.getvalue()


def _cell(value: Any) -> Any:
    """A text that begins like a formula is not to be computed by whatever opens the table."""
    if isinstance(value, str):
        value = " ".join(value.split())
        return f"'{value}" if value.startswith(_FORMULA) else value
    return "" if value is None else value


def gradescope(folder: Path, student: str) -> str:
    """results.json for one student. Raises grades.GradesError where nothing of that student is
    there.
    """
    mine = [r for r in grades.results(folder) if r["student"] == student]
    if not mine:
        raise grades.GradesError(f"{folder} holds no results of {student!r}")
    return json.dumps(gradescope_results(mine), indent=1) + "\n"


def words(result: Mapping[str, Any]) -> str:
    """What a student reads of a result."""
    hint = f"Hint: {result['hint']}" if result.get("hint") else ""
    return "\n".join(filter(None, [*result["messages"], hint, result.get("note", "")]))


def gradescope_results(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Results in the form that Gradescope documents: a test for each exercise."""
    tests = []
    for result in results:
        text = words(result)
        graded = result["status"] != "not_graded"
        tests.append(
            {
                "score": float(result["points"] or 0.0),
                "max_score": float(result["maximum"]),
                "status": "passed" if result["status"] == "pass" else "failed",
                "name": f"{labs.number(result['lab'])} {result['exercise']}",
                "output": text[:20_000]
                if graded
                else f"This exercise could not be graded: {text[:2_000]}",
                "output_format": "text",
                "visibility": "visible",
                "extra_data": {
                    "status": result["status"],
                    "counters": result["counters"],
                    "box": result["box"],
                },
            }
        )
    return {
        "output": "Each exercise was compiled from the text of its cell; nothing "
        "else of the notebook was run.",
        "execution_time": round(sum(r.get("seconds") or 0 for r in results), 1),
        "visibility": "visible",
        "stdout_visibility": "hidden",
        "tests": tests,
    }


def nbgrader(folder: Path, database: str) -> int:
    """Put the points into nbgrader's gradebook, as the score of the cell that has the exercise's
    name; how many.

    The assignment is the lab. Its cells come from `release --nbgrader` and nbgrader's own
    generate_assignment. Raises grades.GradesError where nbgrader is missing, or does not know an
    assignment.
    """
    try:
        from nbgrader.api import Gradebook, MissingEntry
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
    with Gradebook(address) as book:
        for result in grades.results(folder):
            if result["status"] == "not_graded":
                continue
            lab, name = result["lab"], result["exercise"]
            try:
                grade = book.find_grade(
                    name, result.get("notebook_name") or lab, lab, result["student"]
                )
            except MissingEntry:
                raise grades.GradesError(
                    f"the gradebook has no cell {name!r} of {result['student']} in {lab}: "
                    f"run nbgrader generate_assignment {lab} and nbgrader autograde {lab} first"
                ) from None
            grade.auto_score, grade.manual_score, grade.needs_manual_grade = (
                None,
                float(result["points"]),
                False,
            )
            comment = book.find_comment(
                name, result.get("notebook_name") or lab, lab, result["student"]
            )
            # nbgrader's feedback page shows it by way of Markdown.
            comment.manual_comment = texts.for_markdown(words(result)[:10_000])
            written += 1
        book.db.commit()
    return written
