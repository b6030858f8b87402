"""Pages of a course, each one file that needs no other:

    report.write(Path("grades"), Path("report"))
    report/index.html             the class, for the instructors
    report/writing.html           predictions and texts, with points to give
    report/figures.html           figures that were handed in, with points to give
    report/similar.html           answers that are alike
    report/students/STUDENT.html  one student's own results: safe to hand out
    report/grades.csv

Everything that a page shows is escaped by Jinja2; only the drawings, which escape what they show,
are HTML already. A figure that was handed in is a claim. It is drawn anew from its numbers, beside
what was measured or counted again.
"""

from __future__ import annotations

import base64
import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers import exercises, labs
from helpers.course import (
    CourseError,
    drawings,
    export,
    gradebook,
    grades,
    similarity,
    texts,
    writing,
)
from helpers.course.gradebook import Account, Extra, Gradebook

WORDS = {
    "pass": "right, within its budget", "budget": "right, over its budget",
    "wrong": "wrong values", "finding": "a fault was found",
    "compile": "does not compile", "refused": "no answer, or refused", "time": "took too long",
    "memory": "took too much memory",
    "crash": "crashed", "not_begun": "not begun", "not_graded": "not graded",
    "missing": "not handed in",
}
MARKS = {"pass": "✓", "budget": "≈", "not_begun": "–", "not_graded": "?", "missing": "·"}
OTHER = "✗"
PAGES = Path(__file__).parent / "pages"
MOST_PICTURE = 3 << 20  # bytes of a figure that a page shows
MOST_ROWS = 12  # of the times of a figure: those that differ most stand first


class NoTemplates(CourseError, RuntimeError):
    """Jinja2 is missing; the message says what to install."""


def write(folder: Path, to: Path) -> int:
    """Write all pages; how many. Raises grades.GradesError, and as gradebook.read does."""
    book = gradebook.read(folder)
    results = [row.result for one in book.students for row in one.rows if row.result is not None]
    alike = similarity.groups(results)
    claims = _all_claims(book, folder)
    (to / "students").mkdir(parents=True, exist_ok=True)
    for account in book.students:
        page = student_page(account, book)
        texts.write(to / "students" / f"{account.student.student}.html", page)
    counts = {"figures": len(claims), "similar": len(alike)}
    texts.write(to / "index.html", _class(book, results, counts))
    rubric = list(book.policy.rubric.items())
    figures = _render("figures.html", title="Figures", claims=claims, rubric=rubric)
    texts.write(to / "figures.html", figures)
    read = _all_writing(book, folder)
    texts.write(to / "writing.html", _render("writing.html", title="Written", written=read))
    texts.write(to / "similar.html", _render("similar.html", title="Alike", groups=alike))
    texts.write(to / "grades.csv", export.csv(folder))
    return len(book.students) + 4


def _render(template: str, **values: Any) -> str:
    try:
        import jinja2
    except ImportError:
        raise NoTemplates('Pages need Jinja2: pip install -e ".[course]"') from None
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = _number
    environment.filters["time"] = lambda at: at.replace("T", " ").removesuffix("Z") + " UTC"
    return environment.get_template(template).render(
        words=WORDS, marks=MARKS, other=OTHER, **texts.clean(values)
    )


class _Drawn(str):
    """A drawing, which has escaped its own texts: Jinja2 leaves what has this method as it is."""

    def __html__(self) -> str:
        return self


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


# ---- the class ----


def _class(
    book: Gradebook, results: Sequence[Mapping[str, Any]], counts: Mapping[str, int]
) -> str:
    by_place = {
        one.student.student: {(row.lab, row.exercise): row for row in one.rows}
        for one in book.students
    }
    cells = {
        name: [rows.get(place) for place in book.exercises] for name, rows in by_place.items()
    }
    totals = [account.points for account in book.students]
    most = max((account.maximum for account in book.students), default=0)
    leaders = sorted(
        ((one.student.nickname, one.points) for one in book.students if one.student.nickname),
        key=lambda row: (-row[1], row[0]),
    )
    return _render(
        "class.html",
        title=book.policy.title or "The class",
        book=book,
        right=sum(one["status"] == "pass" for one in results),
        answers=len(results),
        exercises=[_of_exercise(book, *place, results) for place in book.exercises],
        histogram=_Drawn(drawings.histogram(totals, most, "points", "students")),
        cells=cells,
        leaders=leaders,
        counts=counts,
    )


def _of_exercise(
    book: Gradebook, lab: str, name: str, results: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    rows = [r for one in book.students for r in one.rows if (r.lab, r.exercise) == (lab, name)]
    every = (*grades.STATUSES, gradebook.MISSING)
    counts = {status: sum(row.status == status for row in rows) for status in every}
    return {
        "lab": lab,
        "name": name,
        "shares": _Drawn(drawings.shares(counts)),
        "counts": [(status, count) for status, count in counts.items() if count],
        "costs": _costs(name, results, book.run),
    }


def _costs(
    name: str, results: Iterable[Mapping[str, Any]], run: Mapping[str, Any], mine: str = ""
) -> Any:
    """Return the costs of right kernels. mine: of one student's own page, which shows no other."""
    known = [
        r
        for r in results
        if r["exercise"] == name
        and r["status"] in ("pass", "budget")
        and (not mine or r["student"] == mine)
    ]
    timed = any(r.get("time_ms") for r in known)
    key, unit = (
        ("time_ms", "ms on this machine's GPU")
        if timed
        else ("cost", "estimated cycles for each value")
    )
    dots = [(r[key], r["status"], r["student"]) for r in known if r.get(key)]
    rungs = run.get("ladders", {}).get(name, [])
    ladder = [(one[key], one["what"]) for one in rungs if one.get(key)]
    return _Drawn(drawings.distribution(dots, ladder, unit, mine)) if dots else ""


# ---- a student ----


def student_page(account: Account, book: Gradebook) -> str:
    """Return a student's own page: nothing of anybody else stands on it."""
    return _render(
        "student.html",
        title=account.student.shown,
        account=account,
        run=book.run,
        results=[_result(row, book.run) for row in account.rows],
        claims=[_claim(lab, claim, extra) for lab, claim, extra in _figures(account)],
        written=[_written(account, lab, one) for lab, one in account.writing.items()],
    )


def _written(account: Account, lab: str, one: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a student wrote beside the exercises of a lab, and the points for it."""
    extras = [e for e in account.extras if e.lab == lab and e.what in writing.KINDS]
    return {"student": account.student.shown, "lab": lab, "extras": extras, **one}


def _result(row: gradebook.Row, run: Mapping[str, Any]) -> dict[str, Any]:
    known = row.exercise in exercises.names()
    result = row.shown
    counters = result.get("counters", {})
    none = [what for what, (amount, limit) in counters.items() if amount == limit == 0]
    found = {one["line"]: one for one in result.get("findings", [])}
    return {
        "row": row,
        "title": exercises.find(row.exercise).title if known else row.exercise,
        "message": "\n".join(result.get("messages", [])),
        "hint": result.get("hint", ""),
        "note": result.get("note", ""),
        "gpu": str(result.get("gpu", "")),
        "counters": [
            (what, amount, limit, _Drawn(drawings.gauge(amount, limit)))
            for what, (amount, limit) in counters.items()
            if what not in none
        ],
        "none": none,
        "costs": _costs(row.exercise, [result], run, row.student) if result else "",
        "found": bool(found),
        "is_shown": bool(result) or row.decision is not None,
        "groups": [
            (one.group.name, one.group.weight, one.right, len(one.cases)) for one in row.groups
        ],
        "listing": [
            {
                "number": number,
                "text": line,
                "kind": found.get(number, {}).get("kind", ""),
                "message": found.get(number, {}).get("message", ""),
            }
            for number, line in enumerate(result.get("text", "").split("\n"), 1)
        ]
        if result.get("text")
        else [],
    }


# ---- figures ----


def _all_claims(book: Gradebook, folder: Path) -> list[dict[str, Any]]:
    """Return all figures of the class, with what an instructor types to give points."""
    return [
        {
            **_claim(lab, claim, extra),
            "student": account.student.shown,
            "picture": _picture(folder, claim),
            "command": _override(account.student.student, lab, claim["file"], folder),
        }
        for account in sorted(book.students, key=lambda one: one.student.student)
        for lab, claim, extra in _figures(account)
    ]


def _figures(account: Account) -> list[tuple[str, Mapping[str, Any], Extra | None]]:
    """Return the figures of a student: the lab's number, the claim, and what was decided. Each
    stands in all results of its lab.
    """
    extras = {(one.lab, one.what): one for one in account.extras}
    found = {
        (row.lab, claim["file"]): claim
        for row in account.rows
        for claim in (row.result or {}).get("figures", [])
    }
    return [(lab, found[lab, file], extras.get((lab, file))) for lab, file in sorted(found)]


def _all_writing(book: Gradebook, folder: Path) -> list[dict[str, Any]]:
    """Return what all students wrote, by lab, with what an instructor types to give points."""
    found = []
    for account in book.students:
        for lab, one in account.writing.items():
            by_hand = book.policy.lab(lab).by_hand
            commands = [
                (what, by_hand.get(what, ""), _override(account.student.student, lab, what, folder))
                for what in writing.KINDS
                if writing.has(one, what)
            ]
            if commands:
                found.append({**_written(account, lab, one), "commands": commands})
    return sorted(found, key=lambda one: one["lab"])


def _override(student: str, lab: str, what: str, folder: Path) -> str:
    command = ["python", "-m", "helpers.course", "override", student, lab, what]
    return shlex.join([*command, "--grades", str(folder)])


def _picture(folder: Path, claim: Mapping[str, Any]) -> str:
    """Return a figure's bytes for a page; a browser decodes them, this program never does."""
    name = str(claim.get("picture", ""))
    path = folder / grades.FIGURES / name
    if not name.isalnum() or not path.is_file() or path.stat().st_size > MOST_PICTURE:
        return ""
    return base64.b64encode(path.read_bytes()).decode("ascii")


def _claim(lab: str, claim: Mapping[str, Any], extra: Extra | None = None) -> dict[str, Any]:
    rows = claim["rows"]
    times = [
        (_label(one["series"], one["parameters"]), one["claimed_ms"], one.get("measured_ms"))
        for one in rows
        if one.get("claimed_ms")
    ]
    times.sort(key=lambda row: -abs(math.log(row[1] / row[2])) if row[2] else 0.0)
    first, others = times[:MOST_ROWS], times[MOST_ROWS:]
    words = "claimed", "recorded by the course", "ms"
    return {
        "lab": labs.number(lab),
        "file": claim["file"],
        "extra": extra,
        "problems": claim["problems"],
        "device": claim.get("device", ""),
        "created": claim.get("created", ""),
        "counted": [
            (one["series"], name, *pair)
            for one in rows
            for name, pair in one.get("counters", {}).items()
        ],
        "timed": list(dict.fromkeys((one["series"], one["gpu"]) for one in rows if one.get("gpu"))),
        "drawing": _Drawn(drawings.pairs(first, *words)) if first else "",
        "left_out": len(others),
        "others": _Drawn(drawings.pairs(others, *words)) if others else "",
    }


def _label(series: str, parameters: Mapping[str, Any]) -> str:
    more = ", ".join(
        f"{k} {v:,}" if isinstance(v, int) else f"{k} {v}"
        for k, v in parameters.items()
        if isinstance(v, int | str)
    )
    label = f"{series} ({more})" if more else series
    return label if len(label) <= 58 else f"{label[:57]}…"
