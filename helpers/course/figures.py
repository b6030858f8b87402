"""Figures that were handed in: the record in a PNG is a claim. It is read, checked, and set
beside what was measured again.

Only the text in the file is read, by this module and with limits; no picture is decoded.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from helpers.bench import png, results
from helpers.course import CourseError, plausible, texts

MOST_FILE = 32 << 20


class ClaimError(CourseError, ValueError):
    """A picture that holds no record; the message says why."""


def claimed(path: Path, name: str = "") -> dict[str, Any] | None:
    """Return the record in a PNG as plain values, None where it has none. name: that the picture
    was handed in under. Raises ClaimError.
    """
    name = name or path.name
    try:
        if path.stat().st_size > MOST_FILE:
            raise ClaimError(f"{name} has more than {MOST_FILE >> 20} MiB")
        data = path.read_bytes()
    except OSError as error:
        raise ClaimError(f"{name} cannot be read ({error.strerror})") from None
    text = png.text(data, results.PNG_KEY)
    if text is None:
        return None
    try:
        record = texts.clean(json.loads(text))
    except (ValueError, RecursionError):
        raise ClaimError(f"{name}: its record is not JSON") from None
    if not isinstance(record, dict) or not isinstance(record.get("measurements"), list):
        raise ClaimError(f"{name}: its record has no measurements")
    return record


@dataclass(frozen=True)
class Again:
    """What a grader knows of a kernel that a figure may show. counters: counted again, by name;
    code_sha256: of its text, as a record has it; right: whether it came out right; gpu: what its
    timing said.
    """

    counters: Mapping[str, int] = field(default_factory=dict)
    code_sha256: str = ""
    right: bool = True
    gpu: str = ""


def check(record: Mapping[str, Any], known: Mapping[str, Again]) -> dict[str, Any]:
    """Return a claim beside what is known here: its rows, and what does not hold.

    known: what was found of each kernel that was handed in, by the name of its cell.
    """
    problems: list[str] = []
    of_rows: list[str] = []
    rows = []
    try:
        results._parse(json.dumps(record), "the record")
    except (results.RecordError, ValueError, TypeError) as error:
        problems.append(str(error)[:300])
    measurements = [one for one in record["measurements"] if isinstance(one, dict)][:500]
    for one in measurements:
        bound = plausible.bound_ms(record, one)
        rows.append({**_row(one, known, of_rows), "bound_ms": bound})
    ours, same = _ours(record)
    if ours and ours == record["measurements"]:
        problems.append("this is the repository's own record, not a measurement of the student's")
    else:
        problems += plausible.copied(record, ours)
    problems += _sources(record) + plausible.facts(record)
    if same:
        problems += plausible.clock_steps(record, ours)
    problems += plausible.ratios(record) + plausible.bounds(record)
    _beside_ours(ours, rows, of_rows, SAME_DEVICE if same else MOST_FASTER)
    return {
        "name": str(record.get("name", ""))[:100],
        "lab": str(record.get("lab", ""))[:100],
        "created": str(record.get("created", ""))[:40],
        "device": str((record.get("device") or {}).get("name", ""))[:100]
        if isinstance(record.get("device"), dict)
        else "",
        "rows": rows,
        "problems": list(dict.fromkeys([*problems, *of_rows]))[:50],
    }


def _row(
    one: Mapping[str, Any], known: Mapping[str, Again], problems: list[str]
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
    row["on_gpu"] = timing is not None and timing.get("what") == "kernel"
    # A student's cell may have the name of one of our kernels; the bench calls it "yours: NAME".
    is_ours = series in results.kernels.names()
    again = None if is_ours else known.get(series.removeprefix("yours: "))
    if again is not None:
        _beside_again(row, again, problems)
    return row


def _beside_again(row: dict[str, Any], again: Again, problems: list[str]) -> None:
    """Set what was found of the student's kernel beside a row of it."""
    series, row["counters"], row["gpu"] = row["series"], {}, again.gpu
    for name, value in row["parameters"].items():
        if name in again.counters and isinstance(value, int | float):
            row["counters"][name] = [value, again.counters[name]]
            if value != again.counters[name]:
                problems.append(
                    f"{series}: the figure claims {value:,} {name}, counted "
                    f"again it is {again.counters[name]:,}"
                )
    measured = row["parameters"].get("code_sha256")
    if measured is not None and measured != again.code_sha256:
        problems.append(f"{series}: measured from another text than the one that was handed in")
    if row["claimed_ms"] is not None and not again.right:
        problems.append(f"{series}: the figure times it, and the text that was handed in is wrong")


def _plain(value: Any) -> bool:
    return (
        value is None
        or isinstance(value, str | bool | int)
        or (isinstance(value, float) and math.isfinite(value))
    )


def _timing(series: str, timing: Mapping[str, Any], problems: list[str]) -> float | None:
    """Return the median that a claim's samples have; what the claim says otherwise is a problem."""
    samples = plausible.samples_of(timing)
    if not samples:
        problems.append(f"{series}: the times are no list of positive numbers")
        return None
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
    ours: list[dict[str, Any]], rows: list[dict[str, Any]], problems: list[str], most: float
) -> None:
    """Put the course's own recorded times beside those claimed, where series and parameters are
    the same. most: times as fast as them.
    """
    known = {_key(one): one["timing"]["median"] for one in ours if one.get("timing")}
    for row in rows:
        found = known.get(_key(row))
        if found is None or row["claimed_ms"] is None:
            continue
        row["measured_ms"] = found
        allowed = most if row["on_gpu"] else MOST_FASTER
        allowed = max(allowed, SHORT_FASTER) if found < SHORT_MS else allowed
        if row["claimed_ms"] < found / allowed:
            on = " on the same GPU" if allowed < MOST_FASTER and row["on_gpu"] else ""
            problems.append(
                f"{row['series']}: {row['claimed_ms']:.3g} ms is {row['claimed_ms'] / found:.2g} "
                f"of what the course recorded{on}, {found:.3g} ms"
            )


# Times as fast as the course's own record. One generation of GPUs makes less than the first, and
# another day on the same kind of GPU less than the second; a short launch differs by more.
MOST_FASTER, SAME_DEVICE = 4, 1.15
SHORT_MS, SHORT_FASTER = 0.05, 2.0


def _key(row: Mapping[str, Any]) -> str:
    """Return what names a measurement, without what it found."""
    given = row.get("parameters")
    given = given if isinstance(given, dict) else {}
    named = {key: value for key, value in given.items() if key not in results.OUTCOMES}
    return json.dumps([row.get("series"), named], sort_keys=True, default=str)


def _ours(record: Mapping[str, Any]) -> tuple[list[dict[str, Any]], bool]:
    """Return the rows of the course's record of this name, and whether it claims the same GPU."""
    name = str(record.get("name"))
    path = results.MEASURED / f"{name}.json"
    if "/" in name or not path.is_file():
        return [], False
    ours = json.loads(path.read_text(encoding="utf-8"))
    claimed = record.get("device")
    same = isinstance(claimed, dict) and claimed.get("name") == ours["device"]["name"]
    return ours["measurements"], same
