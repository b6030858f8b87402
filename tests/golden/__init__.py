"""What the product says, as rows of data: of each answer to an exercise its verdict, of each kernel
of the corpus and each wrong kernel its findings, of each launch its counters, of each filled lab
the outputs that are the same everywhere, of wrong answers their stories, of each figure and table
of the labs what it shows.

A test holds what it has seen to its row:

    golden.require("corpus", "faulty/guard", [golden.of_finding(one) for one in findings])

A row that has changed fails the test. `make golden` writes all rows anew; read the difference in
git, and say in the commit's body which rows changed and why.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from helpers.exercises.judge.explained import Told
from helpers.exercises.judge.verdict import Verdict
from helpers.plotting.descriptions import description
from helpers.simulator import Finding
from helpers.simulator.explain import words
from helpers.tools.corpus import Said

HERE = Path(__file__).resolve().parent
WRITE_TO = "HALO_GOLDEN_SHARDS"  # the folder for new rows; set by `python -m tests.golden`

MOST_NUMBERS = 48  # coordinates that a row has of one line, or of boxes with one look
ENDLESS = "runaway"  # its words name the thread and the time at which the clock stopped it

Row = dict[str, Any] | list[Any]


def require(table: str, key: str, row: Row) -> None:
    """Compare a row with the stored one of its table, or store it when rows are being made.

    Raises AssertionError, with both rows side by side.
    """
    row = _plain(row)
    if folder := os.environ.get(WRITE_TO):
        shard = Path(folder) / f"{table}.{os.getpid()}.jsonl"
        with shard.open("a", encoding="utf-8") as file:
            file.write(_line(key, row) + "\n")
        return
    stored = rows(table)
    if key not in stored:
        raise AssertionError(f"golden rows {table} lack {key!r}: `make golden` writes it")
    if stored[key] != row:
        before, after = (json.dumps(one, indent=1).splitlines() for one in (stored[key], row))
        changes = "\n".join(difflib.unified_diff(before, after, "stored", "now", lineterm="", n=1))
        raise AssertionError(
            f"the golden row of {key!r} in {table} has changed:\n{changes}\n"
            "If the new one is better: `make golden`, read the difference in git, and say in the "
            "commit's body why."
        )


@functools.cache
def rows(table: str) -> dict[str, Row]:
    """Return the stored rows of a table, by key; none if it is not there."""
    path = path_of(table)
    if not path.exists():
        return {}
    pairs = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {key: row for key, row in pairs}


def write(table: str, found: dict[str, Row]) -> None:
    """Store the rows of a table, sorted by key, one a line."""
    lines = sorted(_line(key, row) for key, row in found.items())
    path_of(table).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def path_of(table: str) -> Path:
    """Return the file of a table."""
    return HERE / f"{table}.jsonl"


def of_finding(finding: Finding) -> Row:
    """Return kind, lines, array, index and words of a finding."""
    lines = [line for line in (finding.line, finding.other_line) if line]
    return {
        "kind": finding.kind,
        "severity": finding.severity,
        "lines": lines,
        "array": finding.array,
        "index": finding.index,
        "count": finding.count,
        "message": "" if finding.kind == ENDLESS else anywhere(finding.message),
        "cause": finding.cause,
    }


def of_verdict(verdict: Verdict) -> Row:
    """Return status, points, counters, findings and words of a verdict."""
    return {
        "status": verdict.status,
        "points": verdict.points,
        "message": anywhere(_of_any_thread(verdict)),
        "hint": anywhere(verdict.hint),
        "counters": verdict.to_dict()["counters"],
        "finding": of_finding(verdict.finding) if verdict.finding else None,
    }


def of_story(verdict: Verdict, told: Told | None, in_box: Sequence[str] | None) -> Row:
    """Return what a check says of a wrong answer, and its story: its lines, the kinds of its
    causes, the line of the first one, and whether it is known. in_box: the lines that a grader's
    box tells, without a solution; None where it was not asked.
    """
    causes = told.story.causes if told is not None else ()
    lines = words.lines_of(told.story, told.case.title) if told is not None else []
    return {
        "status": verdict.status,
        "says": anywhere(verdict.explanation.sentence),
        "evidence": [anywhere(one) for one in verdict.explanation.evidence],
        "story": lines,
        "kinds": [one.kind for one in causes],
        "line": causes[0].line if causes else 0,
        "has_cause": told is not None and told.has_cause,
        "in_box": "the same" if in_box == lines else in_box,
    }


def of_output(output: Figure | str) -> Row:
    """Return the lines of a table, or of a figure its description and what its pictures show."""
    if isinstance(output, str):
        return output.splitlines()
    return {"description": description(output), "pictures": list(map(_of_axes, output.axes))}


def _of_axes(ax: Axes) -> Row:
    """Return the words of a picture, but for the numbers at its axes, and its points and boxes by
    their looks.
    """
    ticks = (one.get_text() for one in (*ax.get_xticklabels(), *ax.get_yticklabels()))
    legend = ax.get_legend().get_texts() if ax.get_legend() else ()
    words = [one.get_text() for one in (*ax.texts, *legend)]
    boxes: dict[str, list[Any]] = {}
    for box in ax.patches:
        look = to_hex(box.get_facecolor()), box.get_linestyle(), box.get_hatch() or ""
        boxes.setdefault(" ".join(look), []).append(box.get_bbox().get_points())
    return {
        "words": [word for word in words if word],
        "names": [tick for tick in ticks if re.search(r"[^\W\d_]", re.sub(r"\$.*\$", "", tick))],
        "lines": [[*_look(one), *_in_short([one.get_xydata()])] for one in ax.lines],
        "points": [_in_short(_parts(one)) for one in ax.collections],
        "boxes": {look: _in_short(corners) for look, corners in boxes.items()},
        "scales": [ax.get_xscale(), ax.get_yscale()],
        "upside down": [ax.xaxis_inverted(), ax.yaxis_inverted()],
    }


def _parts(drawn: Collection) -> Sequence[Any]:
    return drawn.get_segments() if isinstance(drawn, LineCollection) else [drawn.get_offsets()]


def _look(line: Line2D) -> list[Any]:
    return [line.get_marker(), line.get_linestyle(), line.get_markerfacecolor() == "white"]


def _in_short(parts: Sequence[Any]) -> list[float]:
    """Return the coordinates of all parts with three digits; of many, how many they are, the least,
    the largest and their mean.
    """
    values = np.concatenate([np.ravel(np.ma.getdata(part)) for part in parts] or [[]]).astype(float)
    if values.size > MOST_NUMBERS:
        values = np.array([values.size, values.min(), values.max(), values.mean()])
    return [float(f"{value:.3g}") for value in values]


def of_said(said: Said) -> Row:
    """Return kind, lines, array, words and cause of what a checker said of a corpus kernel."""
    row = dataclasses.asdict(said)
    return row | ({"text": ""} if said.kind == ENDLESS else {})


def _of_any_thread(verdict: Verdict) -> str:
    """The message without the finding of a launch that was stopped: its thread is the one that the
    clock met.
    """
    return verdict.message.splitlines()[0] if verdict.status == "time" else verdict.message


def anywhere(text: str) -> str:
    """The text without what differs between machines: folders, and how long something ran."""
    text = re.sub(r"(?:/[\w.+~-]+)+/(?=[\w.+-]+)", "", text)
    text = re.sub(r"\btakes [\d.]+( times .*?) \(ratio [\d.]+, .*? pairs\)", r"takes R\1", text)
    return re.sub(r"\b\d+(?:\.\d+)? (?:s|ms|seconds)\b", "T s", text)


def _line(key: str, row: Row) -> str:
    return json.dumps([key, row], ensure_ascii=False, sort_keys=True)


def _plain(row: Row) -> Row:
    """The row as it is after a file has held it: lists in place of tuples, plain numbers."""
    return json.loads(json.dumps(row, default=_number))


def _number(value: Any) -> int | float:
    """A scalar of NumPy as a number of Python. Raises TypeError for anything else."""
    if not hasattr(value, "item"):
        raise TypeError(f"a golden row holds plain values, not {value!r}")
    return value.item()
