"""What others published: the numbers of data/reported/, and the course's reports beside ours.

    ours = {"ours": [times[name].ratio("conv2d_tiled").value for name in ("layer 1", "layer 2")]}
    print(reports.ratios([("A", "tiled shared memory", "baseline")], ours))
"""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from helpers import tables
from helpers.bench.results import ROOT, RecordError
from helpers.quantities import quantity

REPORTED = ROOT / "data" / "reported"
BATCH = 10_000


def rows(name: str) -> list[dict[str, Any]]:
    """Return the rows of data/reported/<name>.csv, numbers that others published.

    The values of a column are int if all of them are whole numbers, float if all are numbers, else
    str; an empty value is None. Raises RecordError for a missing file, and for a row with too many
    or too few values.
    """
    path = REPORTED / f"{name}.csv"
    try:
        with path.open(newline="", encoding="utf-8") as file:
            heads, *lines = csv.reader(file)
    except FileNotFoundError:
        there = ", ".join(sorted(file.stem for file in REPORTED.glob("*.csv"))) or "none"
        raise RecordError(f"there are no reported numbers {name!r}; there are: {there}") from None
    except ValueError as error:
        raise RecordError(f"{path} is empty; it needs a line of column names") from error
    for number, line in enumerate(lines, 2):
        if len(line) != len(heads):
            raise RecordError(
                f"{path}, line {number}: {quantity(len(line), 'value')} for "
                f"{quantity(len(heads), 'column')}"
            )
    columns = [_typed(column) for column in zip(*lines, strict=True)]
    return [dict(zip(heads, line, strict=True)) for line in zip(*columns, strict=True)]


def kernel(report: str, optimization: str, batch: int = BATCH) -> dict[str, Any]:
    """Return the row of a course report's kernel, such as kernel("A", "baseline").

    Raises KeyError for another one.
    """
    there = {
        (row["report"], row["optimization"], row["batch"]): row for row in rows("course_reports")
    }
    if (report, optimization, batch) not in there:
        names = ", ".join(dict.fromkeys(name for one, name, _ in there if one == report))
        raise KeyError(
            f"report {report} has no {optimization!r} for {quantity(batch, 'image')}; "
            f"it has {names or 'none'}"
        )
    return there[report, optimization, batch]


def ratio(report: str, optimization: str, over: str, batch: int = BATCH) -> tuple[float, float]:
    """Return the times of a report's kernel over those of another one of it, of both layers."""
    one, other = (kernel(report, name, batch) for name in (optimization, over))
    return one["op1_ms"] / other["op1_ms"], one["op2_ms"] / other["op2_ms"]


def ratios(theirs: Iterable[tuple[str, str, str]], ours: Mapping[str, Sequence[float]]) -> str:
    """Return times over those of another kernel, on both layers: published ones, and ours below.

    theirs: (report, optimization, the one it is compared with). ours: by what it is called.
    """
    published = {
        f"report {report}, {one} over {over}": ratio(report, one, over)
        for report, one, over in theirs
    }
    every = {**published, **ours}
    lines = [(name, *(f"{one:.2f}" for one in values)) for name, values in every.items()]
    return tables.text(("time over that of the other kernel", "layer 1", "layer 2"), lines)


def _typed(column: tuple[str, ...]) -> list[Any]:
    for convert in (int, float, str):
        with contextlib.suppress(ValueError):
            return [convert(text) if text else None for text in column]
    raise AssertionError("every text is a str")
