"""The record of compute-sanitizer's answers, data/measured/sanitizer.json.

It names one GPU. A kernel that was measured on another one names that GPU in its own entry, with
the time and the versions of its measurement.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from helpers.tools.corpus import Case, Said

SCHEMA = 1
ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "data" / "measured" / "sanitizer.json"


def key(case: Case) -> str:
    """Return the name of a case in the record: its folder and its own."""
    return f"{case.path.parent.name}/{case.name}"


def pack(case: Case, values: np.ndarray) -> dict:
    """Return an output for the record: dtype, shape, and the sha256 of its bytes.

    An output with a tolerance also has its bytes.
    """
    values = np.sort(values, axis=None) if case.is_sorted else values
    packed = {
        "dtype": str(values.dtype),
        "shape": list(values.shape),
        "sha256": hashlib.sha256(values.tobytes()).hexdigest(),
    }
    if not case.is_bitwise(values):
        packed["bytes"] = base64.b64encode(values.tobytes()).decode()
    return packed


def load(path: Path = RECORD) -> dict:
    """Return the record. Raises FileNotFoundError, and ValueError for another schema."""
    record = json.loads(path.read_text(encoding="utf-8"))
    if record.get("schema") != SCHEMA:
        raise ValueError(
            f"{path.name} has schema {record.get('schema')}, {SCHEMA} is read here: "
            "run python -m evidence.sanitizer again"
        )
    return record


def merged(old: Mapping, new: Mapping) -> dict[str, Any]:
    """Return the new record with those kernels of the old one that were not measured again.

    If the new one is of another GPU, return the old record instead; each new kernel's entry then
    names its GPU.
    """
    if new["device"] == old["device"]:
        return {**new, "kernels": {**old["kernels"], **new["kernels"]}}
    about = {name: new[name] for name in ("device", "created", "software")}
    kernels = {name: {**about, **entry} for name, entry in new["kernels"].items()}
    return {**old, "kernels": {**old["kernels"], **kernels}}


def device(record: Mapping, entry: Mapping) -> str:
    """Return the name of the GPU that an entry of the record was measured on."""
    return entry.get("device", record["device"])


def software(record: Mapping, entry: Mapping) -> Mapping[str, str]:
    """Return the versions of the programs that an entry of the record was measured with."""
    return entry.get("software", record["software"])


def as_text(record: Mapping) -> str:
    """Return the record as JSON, with a line for each kernel."""
    about = json.dumps(
        {key: value for key, value in record.items() if key != "kernels"}, indent=1
    ).removesuffix("\n}")
    kernels = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in record["kernels"].items()
    )
    return f'{about},\n "kernels": {{\n{kernels}\n }}\n}}\n'


def recorded(record: Mapping, case: Case) -> Mapping | None:
    """Return the record's entry of a case; None without one, and for a changed kernel."""
    entry = record["kernels"].get(key(case))
    return entry if entry is not None and entry["digest"] == case.digest else None


def answers(entry: Mapping) -> dict[str, tuple[Said, ...]]:
    """Return the findings of each tool, and those of "nvcc" if it refused the source."""
    raw = {tool: answer["said"] for tool, answer in entry["tools"].items()}
    if "compiler" in entry:
        raw["nvcc"] = entry["compiler"]
    return {
        tool: tuple(Said(s["kind"], tuple(s["lines"]), s["text"]) for s in said)
        for tool, said in raw.items()
    }
