"""Pages for the instructors: one for the class, one for each student, and a table; each is one
file that needs no other.

    report.write(Path("grades"), Path("report"))       index.html, students/NAME.html, grades.csv

A figure that was handed in is a claim. It is drawn anew from its numbers, beside what was
measured or counted again.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers.course import drawings, export, grades, texts
from helpers.exercises import labs

WORDS = {
    "pass": "right, within its budget", "budget": "right, over its budget",
    "wrong": "wrong values", "finding": "a fault was found",
    "compile": "does not compile", "refused": "refused", "time": "took too long",
    "memory": "took too much memory",
    "crash": "crashed", "not_begun": "not begun", "not_graded": "not graded",
}  # fmt: skip
MARKS = {"pass": "✓", "budget": "≈", "not_begun": "–", "not_graded": "?"}
OTHER = "✗"
_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 72em;
  padding: 0 1.5em; color: #1c1c1c; }
h1 { font-size: 1.5em; } h2 { font-size: 1.2em; margin-top: 2em; border-top: 1px solid #ccc;
  padding-top: .8em; }
table { border-collapse: collapse; } th, td { padding: .25em .7em; text-align: left;
  border-bottom: 1px solid #e4e4e4; }
th { font-weight: 600; } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
pre { background: #f5f5f3; padding: .7em 1em; overflow-x: auto; white-space: pre-wrap;
  font-size: 13px; }
.s { display: inline-block; padding: 0 .5em; border-radius: .6em; font-size: 13px;
  white-space: nowrap; }
.pass { background: #d7efd9; } .budget { background: #fbeec4; }
.not_begun, .not_graded { background: #e3e3e3; }
.wrong, .finding, .compile, .refused, .time, .memory, .crash { background: #f8d9d4; }
.note { color: #555; } .line { background: #fff3c4; } svg text { font: 12px system-ui, sans-serif; }
.grid td { text-align: center; padding: .2em .35em; } .grid td:first-child { text-align: left; }
.grid th { font-size: 12px; vertical-align: bottom; } .grid th div { writing-mode: vertical-rl;
  transform: rotate(180deg); }
a { color: #0b4f8a; } details { margin: .6em 0; } .scroll { overflow-x: auto; }
  .warning { background: #f8d9d4; padding: .5em 1em; }
"""


def write(folder: Path, to: Path) -> int:
    """Write all pages; how many. Raises grades.GradesError."""
    results = list(grades.results(folder))
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    students: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        students.setdefault(result["student"], []).append(result)
    (to / "students").mkdir(parents=True, exist_ok=True)
    for name, mine in students.items():
        texts.write(to / "students" / f"{name}.html", _student(name, mine, run, results))
    texts.write(to / "index.html", _class(students, run, results))
    texts.write(to / "grades.csv", export.csv(folder))
    return len(students) + 1


def points(results: Iterable[Mapping[str, Any]]) -> tuple[float, float, int]:
    """Points, the maximum of what was graded, and how many exercises were not graded."""
    graded = [r for r in results if r["status"] != "not_graded"]
    missing = sum(1 for r in results if r["status"] == "not_graded")
    return sum(r["points"] for r in graded), sum(r["maximum"] for r in graded), missing


def _page(title: str, body: Sequence[str]) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta '
        f'charset="utf-8"><title>{html.escape(title)}</title><meta name="viewport" '
        f'content="width=device-width"><style>{_STYLE}</style></head><body>\n'
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _badge(status: str, text: str = "") -> str:
    mark = MARKS.get(status, OTHER)
    return f'<span class="s {status}">{mark} {html.escape(text or WORDS[status])}</span>'


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.2f}"


# ------------------------------------------------------------------------------------------------
# --------------------
# The class


def _class(
    students: Mapping[str, list[dict[str, Any]]],
    run: Mapping[str, Any],
    results: Sequence[dict[str, Any]],
) -> str:
    exercises = list(
        dict.fromkeys(
            (r["lab"], r["exercise"])
            for r in sorted(results, key=lambda r: (r["lab"], r["exercise"]))
        )
    )
    right = sum(r["status"] == "pass" for r in results)
    body = [
        f"<h1>{len(students):,} students, {len(exercises)} exercises: {right:,} of "
        f"{len(results):,} answers are right</h1>"
    ]
    body += _about(run)
    body.append("<h2>Exercises</h2>" + _exercises(exercises, results))
    body.append("<h2>Points</h2>")
    totals = [points(mine)[0] for mine in students.values()]
    most = max((points(mine)[1] for mine in students.values()), default=0)
    body.append(drawings.histogram(totals, most, "points", "students"))
    body.append("<h2>What each right kernel costs</h2>" + _costs_words(run))
    for lab, name in exercises:
        drawing = _costs(name, results, run)
        if drawing:
            body.append(
                f"<h3>{html.escape(name)} <span "
                f"class=note>({html.escape(lab)})</span></h3>{drawing}"
            )
    body.append("<h2>Students</h2>" + _grid(students, exercises))
    return _page("The class", body)


def _about(run: Mapping[str, Any]) -> list[str]:
    box = run["box"]
    lines = []
    if box == "none":
        lines.append(
            '<p class="warning">These submissions ran <b>without a box</b> (--no-box).</p>'
        )
    lines.append(
        f'<p class="note">Graded {html.escape(run["finished"])} on {html.escape(run["machine"])}: '
        f'{run["texts"]:,} different texts, '
        f"{run['seconds']:,.0f} s with {run['workers']} "
        f"worker{'s' if run['workers'] != 1 else ''}; box: {html.escape(box)}; "
        f'grader {html.escape(run["grader"])}. The table as a file: <a '
        'href="grades.csv">grades.csv</a></p>'
    )
    return lines


def _exercises(exercises: Sequence[tuple[str, str]], results: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for lab, name in exercises:
        mine = [r for r in results if r["exercise"] == name and r["lab"] == lab]
        counts = {status: sum(r["status"] == status for r in mine) for status in grades.STATUSES}
        shown = " ".join(
            _badge(status, f"{count} × {WORDS[status]}")
            for status, count in counts.items()
            if count
        )
        rows.append(
            f"<tr><td>{html.escape(lab)}</td><td>{html.escape(name)}</td>"
            f"<td>{drawings.shares(counts)}</td><td>{shown}</td></tr>"
        )
    return (
        "<table><tr><th>lab</th><th>exercise</th><th>answers</th><th></th></tr>"
        + "".join(rows)
        + "</table>"
    )


def _costs_words(run: Mapping[str, Any]) -> str:
    return (
        "<p class=\"note\">One dot is a student's kernel that gives the right result: "
        "full where it is within its budget, a ring where it is over. Lines "
        "with a label are the course's own. Without a GPU the cost is an estimate: cycles of a "
        "multiprocessor for each output value, of all that the kernel asks for. Left is better.</p>"
    )


def _costs(
    name: str, results: Sequence[Mapping[str, Any]], run: Mapping[str, Any], mine: str = ""
) -> str:
    timed = [r for r in results if r["exercise"] == name and r.get("time_ms")]
    key, unit = (
        ("time_ms", "ms on this machine's GPU")
        if timed
        else ("cost", "estimated cycles for each value")
    )
    dots = [
        (r[key], r["status"], r["student"])
        for r in results
        if r["exercise"] == name and r.get(key) and r["status"] in ("pass", "budget")
    ]
    rungs = run.get("ladders", {}).get(name, [])
    ladder = [(one[key], one["what"]) for one in rungs if one.get(key)]
    return drawings.distribution(dots, ladder, unit, mine) if dots else ""


def _grid(
    students: Mapping[str, list[dict[str, Any]]], exercises: Sequence[tuple[str, str]]
) -> str:
    head = "".join(f"<th><div>{html.escape(name)}</div></th>" for _, name in exercises)
    rows = []
    for student, mine in sorted(students.items()):
        by = {(r["lab"], r["exercise"]): r for r in mine}
        cells = []
        for key in exercises:
            r = by.get(key)
            mark = MARKS.get(r["status"], OTHER) if r else ""
            cells.append(
                f'<td title="{WORDS[r["status"]]}"><span class="s {r["status"]}">{mark}</span></td>'
                if r
                else "<td></td>"
            )
        got, most, missing = points(mine)
        more = f" + {missing} not graded" if missing else ""
        link = f'<a href="students/{html.escape(student)}.html">{html.escape(student)}</a>'
        rows.append(
            f'<tr><td>{link}</td>{"".join(cells)}<td class="n">{_number(got)} of '
            f'{_number(most)}{more}</td></tr>'
        )
    return (
        '<div class="scroll"><table '
        f'class="grid"><tr><th></th>{head}<th>points</th></tr>{"".join(rows)}</table></div>'
    )


# ------------------------------------------------------------------------------------------------
# --------------------
# A student


def _student(
    name: str,
    mine: Sequence[dict[str, Any]],
    run: Mapping[str, Any],
    results: Sequence[dict[str, Any]],
) -> str:
    got, most, missing = points(mine)
    body = [
        f"<p><a href='../index.html'>The class</a></p><h1>{html.escape(name)}: "
        f"{_number(got)} of {_number(most)} points</h1>"
    ]
    if missing:
        body.append(
            f'<p class="warning">{missing} exercises could not be graded; '
            'they are not in the points.</p>'
        )
    body += [line.replace('href="grades.csv"', 'href="../grades.csv"') for line in _about(run)]
    for result in sorted(mine, key=lambda r: (r["lab"], r["exercise"])):
        body += _result(result, run, results)
    shown = set()
    for result in mine:
        for claim in result.get("figures", []):
            if (result["lab"], claim["file"]) not in shown:
                shown.add((result["lab"], claim["file"]))
                body.append(_claim(result["lab"], claim))
    return _page(name, body)


def _result(
    result: Mapping[str, Any], run: Mapping[str, Any], results: Sequence[dict[str, Any]]
) -> list[str]:
    title = _title(result["exercise"])
    score = (
        "not graded"
        if result["points"] is None
        else f"{_number(result['points'])} of {_number(result['maximum'])} points"
    )
    parts = [
        f"<h2>{html.escape(labs.number(result['lab']))} · {html.escape(title)} "
        f"{_badge(result['status'])}</h2><p>{score}"
    ]
    parts.append(f' <span class="note">({html.escape(result["exercise"])})</span></p>')
    parts.append(f"<pre>{html.escape(chr(10).join(result['messages']))}</pre>")
    if result.get("hint"):
        parts.append(f"<p><b>Hint:</b> {html.escape(result['hint'])}</p>")
    if result.get("note"):
        parts.append(f'<p class="note">{html.escape(result["note"])}</p>')
    if result["counters"]:
        parts.append(_counters(result["counters"]))
    if result.get("gpu"):
        parts.append(f'<p class="note">{html.escape(str(result["gpu"]))}</p>')
    if result.get("cost") is not None and result["status"] in ("pass", "budget"):
        parts.append(_costs(result["exercise"], results, run, result["student"]))
    if result.get("text"):
        lines = {f["line"]: f for f in result.get("findings", [])}
        opened = " open" if lines else ""
        parts.append(
            f"<details{opened}><summary>The "
            f"text</summary><pre>{_listing(result['text'], lines)}</pre></details>"
        )
    return parts


def _counters(counters: Mapping[str, Sequence[float]]) -> str:
    """A row for each budget; budgets of nothing, of which nothing was used, share a line."""
    none = [what for what, (amount, limit) in counters.items() if amount == limit == 0]
    rows = "".join(
        f"<tr><td>{html.escape(what)}</td><td class=n>{_number(amount)}</td>"
        f"<td class=n>{_number(limit)}</td><td>{drawings.gauge(amount, limit)}</td></tr>"
        for what, (amount, limit) in counters.items()
        if what not in none
    )
    head = "<tr><th>counted</th><th class=n>yours</th><th class=n>budget</th><th></th></tr>"
    table = f"<table>{head}{rows}</table>" if rows else ""
    more = (
        f'<p class="note">None, as it must be: {html.escape(", ".join(none))}.</p>' if none else ""
    )
    return table + more


def _title(name: str) -> str:
    from helpers import exercises

    return exercises.find(name).title if name in exercises.names() else name


def _listing(text: str, findings: Mapping[int, Mapping[str, Any]]) -> str:
    rows = []
    for number, line in enumerate(text.split("\n"), 1):
        row = f"{number:4}  {html.escape(line)}"
        if number in findings:
            found = findings[number]
            row = (
                f'<span class="line">{row}</span>\n      ▲ {html.escape(found["kind"])}: '
                f'{html.escape(found["message"])}'
            )
        rows.append(row)
    return "\n".join(rows)


def _claim(lab: str, claim: Mapping[str, Any]) -> str:
    parts = [
        f"<h2>{html.escape(labs.number(lab))} · a figure that was handed in: "
        f"{html.escape(claim['file'])}</h2>"
    ]
    if claim["problems"]:
        items = [f"<li>{html.escape(p)}</li>" for p in claim["problems"]]
        parts.append("<ul>" + "".join(items[:6]) + "</ul>")
        if len(items) > 6:
            parts.append(
                f"<details><summary>{len(items) - 6} "
                f"more</summary><ul>{''.join(items[6:])}</ul></details>"
            )
    else:
        parts.append('<p class="note">Its record is consistent.</p>')
    if claim.get("device"):
        parts.append(
            f'<p class="note">It claims to be measured on {html.escape(claim["device"])}, '
            f'{html.escape(claim["created"][:10])}.</p>'
        )
    counted = [
        (r["series"], name, pair)
        for r in claim["rows"]
        for name, pair in r.get("counters", {}).items()
    ]
    if counted:
        rows = "".join(
            f"<tr><td>{html.escape(series)}</td><td>{html.escape(name)}</td><td "
            f"class=n>{_number(pair[0])}</td><td class=n>{_number(pair[1])}"
            f"</td><td>{'equal' if pair[0] == pair[1] else _badge('wrong', 'differs')}</td></tr>"
            for series, name, pair in counted
        )
        head = (
            "<tr><th>kernel</th><th>counter</th><th class=n>claimed</th><th class=n>counted "
            "again</th><th></th></tr>"
        )
        parts.append(f"<table>{head}{rows}</table>")
    times = [
        (r["series"], r["parameters"], r["claimed_ms"], r.get("measured_ms"))
        for r in claim["rows"]
        if r.get("claimed_ms")
    ]
    if times:
        pairs = [
            (_label(series, parameters), claimed, again)
            for series, parameters, claimed, again in times[:40]
        ]
        parts.append(
            drawings.pairs(pairs, "claimed", "measured again or recorded by the course", "ms")
        )
    return "".join(parts)


def _label(series: str, parameters: Mapping[str, Any]) -> str:
    more = ", ".join(
        f"{k} {v:,}" if isinstance(v, int) else f"{k} {v}"
        for k, v in parameters.items()
        if isinstance(v, int | str)
    )
    label = f"{series} ({more})" if more else series
    return label if len(label) <= 58 else f"{label[:57]}…"
