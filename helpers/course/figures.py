"""Figures that were handed in: the record in a PNG is a claim. It is read, checked, and set
beside what was measured again.

Only the text in the file is read, by this module and with limits; no picture is decoded.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

from helpers.bench import png, results
from helpers.course import texts
from helpers.course.errors import CourseError

MOST_FILE = 32 << 20


class ClaimError(CourseError, ValueError):
    """A picture that holds no record; the message says why."""


def claimed(path: Path) -> dict[str, Any]:
    """The record in a PNG as plain values. Raises ClaimError."""
    try:
        if path.stat().st_size > MOST_FILE:
            raise ClaimError(f"{path.name} has more than {MOST_FILE >> 20} MiB")
        data = path.read_bytes()
    except OSError as error:
        raise ClaimError(f"{path.name} cannot be read ({error.strerror})") from None
    text = png.text(data, results.PNG_KEY)
    if text is None:
        raise ClaimError(
            f"{path.name} holds no record: figures are saved by results.save_figure(fig, name, "
            "record)"
        )
    try:
        record = texts.clean(json.loads(text))
    except (ValueError, RecursionError):
        raise ClaimError(f"{path.name}: its record is not JSON") from None
    if not isinstance(record, dict) or not isinstance(record.get("measurements"), list):
        raise ClaimError(f"{path.name}: its record has no measurements")
    return record


def check(record: Mapping[str, Any], totals: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """A claim beside what is known here: its rows, and what does not hold.

    totals: for each exercise of the lab, what was measured again: "text_sha256", and counters by
    name.
    """
    problems: list[str] = []
    rows = []
    try:
        results._parse(json.dumps(record), "the record")
    except (results.RecordError, ValueError, TypeError) as error:
        problems.append(str(error)[:300])
    measurements = [one for one in record["measurements"] if isinstance(one, dict)][:500]
    for one in measurements:
        rows.append(_row(one, totals, problems))
    problems += _sources(record)
    _beside_ours(record, rows, problems)
    own = _same_as_ours(record)
    if own:
        problems.append("this is the repository's own record, not a measurement of the student's")
    return {
        "name": str(record.get("name", ""))[:100],
        "lab": str(record.get("lab", ""))[:100],
        "created": str(record.get("created", ""))[:40],
        "device": str((record.get("device") or {}).get("name", ""))[:100]
        if isinstance(record.get("device"), dict)
        else "",
        "rows": rows,
        "problems": problems[:50],
    }


def _row(
    one: Mapping[str, Any], totals: Mapping[str, Mapping[str, Any]], problems: list[str]
) -> dict[str, Any]:
    series = str(one.get("series", ""))[:100]
    parameters = one.get("parameters") if isinstance(one.get("parameters"), dict) else {}
    timing = one.get("timing") if isinstance(one.get("timing"), dict) else None
    row: dict[str, Any] = {
        "series": series,
        "parameters": {
            str(k)[:60]: v for k, v in list((parameters or {}).items())[:30] if _plain(v)
        },
    }
    row["claimed_ms"] = _timing(series, timing, problems) if timing else None
    again = totals.get(series)
    if again is not None:
        row["counters"] = {}
        for name, value in row["parameters"].items():
            if name in again and isinstance(value, int | float):
                row["counters"][name] = [value, again[name]]
                if value != again[name]:
                    problems.append(
                        f"{series}: the figure claims {value:,} {name}, counted "
                        f"again it is {again[name]:,}"
                    )
    return row


def _plain(value: Any) -> bool:
    return (
        value is None
        or isinstance(value, str | bool | int)
        or (isinstance(value, float) and math.isfinite(value))
    )


def _timing(series: str, timing: Mapping[str, Any], problems: list[str]) -> float | None:
    """The median that a claim's samples have; what the claim says otherwise is a problem."""
    samples = timing.get("samples")
    good = (
        isinstance(samples, list)
        and samples
        and all(isinstance(s, int | float) and 0 < s < 1e9 for s in samples)
    )
    if not good:
        problems.append(f"{series}: the times are no list of positive numbers")
        return None
    assert isinstance(samples, list)
    found = float(median(samples))
    said = timing.get("median")
    if isinstance(said, int | float) and not math.isclose(said, found, rel_tol=1e-6):
        problems.append(
            f"{series}: the claim's median is {said:g} ms, its samples have {found:g} ms"
        )
    if len(samples) > 4 and len(set(samples)) == 1:
        problems.append(
            f"{series}: all {len(samples)} samples are equal, which no measurement gives"
        )
    return found


def _sources(record: Mapping[str, Any]) -> list[str]:
    sources = record.get("sources")
    if not isinstance(sources, dict):
        return ["the record names no sources"]
    known = set(results.kernels.names())
    return [
        f"{name}: measured from another source than kernels/{name}.cu has now"
        for name, digest in sorted(sources.items())[:100]
        if name in known and digest != results._sha256(name)
    ]


def _beside_ours(
    record: Mapping[str, Any], rows: list[dict[str, Any]], problems: list[str]
) -> None:
    """Put the course's own recorded times beside those claimed, where series and parameters are
    the same.
    """
    ours = _ours(record)
    known = {_key(one): one["timing"]["median"] for one in ours if one.get("timing")}
    for row in rows:
        found = known.get(_key(row))
        if found is None or row["claimed_ms"] is None:
            continue
        row["measured_ms"] = found
        if row["claimed_ms"] < found / MOST_FASTER:
            problems.append(
                f"{row['series']}: {row['claimed_ms']:.3g} ms is less than 1/{MOST_FASTER} of "
                f"what the course recorded, {found:.3g} ms"
            )


MOST_FASTER = 4  # times as fast as the course's own record: one generation of GPUs makes less


def _key(row: Mapping[str, Any]) -> str:
    return json.dumps([row.get("series"), row.get("parameters")], sort_keys=True, default=str)


def _ours(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    name = str(record.get("name"))
    path = results.MEASURED / f"{name}.json"
    if "/" in name or not path.is_file():
        return []
    return json.loads(path.read_text(encoding="utf-8"))["measurements"]


def _same_as_ours(record: Mapping[str, Any]) -> bool:
    ours = _ours(record)
    return bool(ours) and ours == record.get("measurements")
