"""Pages of a course, each one file that needs no other:

    report.write(Path("grades"), Path("report"))
    report/index.html             the class, for the instructors
    report/writing.html           predictions and texts, with points to give
    report/figures.html           figures that were handed in, by question; pages in figures/
    report/similar.html           answers that are alike
    report/students/STUDENT.html  one student's own results: safe to hand out
    report/grades.csv

Everything that a page shows is escaped by Jinja2; only the drawings, which escape what they show,
are HTML already. A figure that was handed in is a claim. It is drawn anew from its numbers, beside
what was measured or counted again.
"""

from __future__ import annotations

import math
import shlex
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from helpers import exercises
from helpers.course import (
    CourseError,
    drawings,
    export,
    gradebook,
    grades,
    questions,
    similarity,
    texts,
    writing,
)
from helpers.course.gradebook import Account, Gradebook

MARKS = {"pass": "✓", "budget": "≈", "not_begun": "–", "not_graded": "?", "missing": "·"}
OTHER = "✗"
PAGES = Path(__file__).parent / "pages"


class NoTemplates(CourseError, RuntimeError):
    """Jinja2 is missing; the message says what to install."""


def write(folder: Path, to: Path) -> int:
    """Write all pages; how many. Raises grades.GradesError, and as gradebook.read does."""
    book = gradebook.read(folder)
    results = [row.result for one in book.students for row in one.rows if row.result is not None]
    alike = similarity.groups(results)
    (to / "students").mkdir(parents=True, exist_ok=True)
    for account in book.students:
        page = student_page(account, book)
        texts.write(to / "students" / f"{account.student.student}.html", page)
    pages = _figures(book, folder, to)
    texts.write(to / "index.html", _class(book, results, len(alike)))
    read = _all_writing(book, folder)
    texts.write(to / "writing.html", render("writing.html", title="Written", written=read))
    texts.write(to / "similar.html", render("similar.html", title="Alike", groups=alike))
    texts.write(to / "grades.csv", export.csv(folder))
    return len(book.students) + 3 + pages


def render(template: str, **values: Any) -> str:
    try:
        import jinja2
    except ImportError:
        raise NoTemplates('Pages need Jinja2: pip install -e ".[course]"') from None
    page = _environment(jinja2).get_template(template)
    return page.render(words=gradebook.WORDS, marks=MARKS, other=OTHER, **texts.clean(values))


@cache
def _environment(jinja2: Any) -> Any:
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["number"] = _number
    made.filters["time"] = lambda at: at.replace("T", " ").removesuffix("Z") + " UTC"
    return made


def _number(value: float) -> str:
    if not math.isfinite(value):  # a limit that no amount passes
        return "–"
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


# ---- the class ----


def _class(
    book: Gradebook, results: Sequence[Mapping[str, Any]], similar: int
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
    return render(
        "class.html",
        title=book.policy.title or "The class",
        book=book,
        right=sum(one["status"] == "pass" for one in results),
        answers=len(results),
        exercises=[_of_exercise(book, *place, results) for place in book.exercises],
        histogram=drawings.Drawn(drawings.histogram(totals, most, "points", "students")),
        cells=cells,
        leaders=leaders,
        requests=[
            (one.student.shown, row.lab, row.name, row.decision.request)
            for one in book.students
            for row in one.all
            if row.decision is not None and row.decision.request
        ],
        similar=similar,
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
        "shares": drawings.Drawn(drawings.shares(counts)),
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
    return drawings.Drawn(drawings.distribution(dots, ladder, unit, mine)) if dots else ""


# ---- a student ----


def student_page(account: Account, book: Gradebook) -> str:
    """Return a student's own page: nothing of anybody else stands on it, and nothing of a lab that
    is held.
    """
    held = [lab.number for lab in book.policy.labs if lab.held]
    account = replace(
        account,
        rows=tuple(row for row in account.rows if row.lab not in held),
        extras=tuple(one for one in account.extras if one.lab not in held),
        writing={lab: one for lab, one in account.writing.items() if lab not in held},
    )
    return render(
        "student.html",
        title=account.student.shown,
        account=account,
        held=held,
        run=book.run,
        results=[_result(row, book.run) for row in account.rows],
        claims=[
            {"lab": extra.lab, "name": one["name"], "extra": extra, "about": questions.claim(one)}
            for extra in account.extras
            for one in extra.pictures
        ],
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
            (what, amount, limit, drawings.Drawn(drawings.gauge(amount, limit)))
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


def _figures(book: Gradebook, folder: Path, to: Path) -> int:
    """Write the pages of figures with their pictures; how many pages."""
    found = questions.of_book(book, folder)
    texts.write(to / "figures.html", render("figures.html", title="Figures", questions=found))
    (to / "figures").mkdir(exist_ok=True)
    pages = 1
    for one in found:
        for card in one.cards:
            for extra in card.extras:
                for picture in extra.pictures:
                    _copy(folder / grades.FIGURES, to / "figures", picture["picture"])
        for number in range(1, one.pages + 1):
            page = render(
                "figure.html",
                title=one.title,
                question=one,
                number=number,
                cards=[shown_card(one, card, book, "") for card in one.page(number)],
            )
            texts.write(to / "figures" / f"{one.file}_{number}.html", page)
            pages += 1
    return pages


def _copy(kept: Path, to: Path, name: str) -> None:
    if name and not (to / name).exists() and (kept / name).is_file():
        shutil.copyfile(kept / name, to / name)


def shown_card(
    question: questions.Question, card: questions.Card, book: Gradebook, pictures: str
) -> dict[str, Any]:
    """Return an answer as templates show it. pictures: the address before the names of files."""
    first, extra = card.students[0], card.extras[0]
    return {
        "names": card.names,
        "shown": [one.student.shown for one in card.students],
        "pictures": [
            {**one, "address": pictures + one["picture"], "about": questions.claim(one)}
            for one in extra.pictures
        ],
        "kernels": questions.kernels(first, question.lab, book.run) if extra.pictures else [],
        "writing": first.writing.get(question.lab, {}).get(question.name, [])
        if question.name in writing.KINDS
        else [],
        "decisions": [one.decision for one in card.extras],
    }


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
