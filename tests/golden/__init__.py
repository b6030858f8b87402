"""What the product says, as rows of data: of each answer to an exercise its verdict, of each kernel
of the corpus and each wrong kernel its findings, of each launch its counters, of each filled lab
the outputs that are the same everywhere.

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
from pathlib import Path
from typing import Any

from helpers.exercises.judge.verdict import Verdict
from helpers.simulator import Finding
from helpers.tools.corpus import Said

HERE = Path(__file__).resolve().parent
WRITE_TO = "HALO_GOLDEN_SHARDS"  # the folder for new rows; set by `python -m tests.golden`

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
