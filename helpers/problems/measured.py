"""Counts of the recorded measurements: rows of data/measured/*.json that have no times.

`helpers.bench.results` reads whole records, with their timings. Problems need only what was
counted, such as how many images a network classified right, and stand below the records.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MEASURED = ROOT / "data" / "measured"
CPU_SOURCES = ROOT / "helpers" / "problems" / "cpu"  # of `baselines`; records have their hashes


def counts(name: str, **entries: Any) -> list[dict[str, Any]]:
    """Return the rows of data/measured/<name>.json with these entries, for another record.

    They have the form of the rows of a ``measure()``, without a timing. "recorded_on" is the name
    of their device. Raises FileNotFoundError where there is no such record.
    """
    record = json.loads((MEASURED / f"{name}.json").read_text(encoding="utf-8"))
    rows = ({"series": m["series"], **m["parameters"]} for m in record["measurements"])
    fitting = (row for row in rows if all(row.get(key) == value for key, value in entries.items()))
    return [{**row, "timing": None, "recorded_on": record["device"]["name"]} for row in fitting]
