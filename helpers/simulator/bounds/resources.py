"""What a GPU gives in a second of each resource: the published figure, and the rate measured.

The rates come from a record of evidence.rates: the amount that a launch of a kernel of
kernels/rates/ asked for, over its shortest sample. The largest of all variants counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from helpers import limits

MEASURED = Path(__file__).resolve().parents[3] / "data" / "measured"
RECORDS = {"H200": "rates_h200"}

# An H200 (SXM) by its data sheet and by the tables of the CUDA C++ Programming Guide for compute
# capability 9.0: 132 multiprocessors at 1.98 GHz at most.
_CYCLES = limits.MULTIPROCESSORS * 1.98e9
_SHEET = "NVIDIA H200 data sheet"
_GUIDE = "CUDA C++ Programming Guide, Arithmetic Instructions, 9.0"
_BANKS = "CUDA C++ Programming Guide, Shared Memory: 32 banks of 4 bytes a cycle"
_WHITE = "NVIDIA H100 white paper"


@dataclass(frozen=True)
class Resource:
    """Something of which a GPU gives a limited amount in a second.

    unit: what is counted; published: the most in a second as NVIDIA says it, None where it does
    not; source: where; shared_out: each multiprocessor has its own part of it, so that a launch of
    fewer blocks than multiprocessors cannot have it all.
    """

    title: str
    unit: str
    published: float | None
    source: str
    shared_out: bool = True


def _of_device(title: str, unit: str, published: float | None = None, source: str = "") -> Resource:
    return Resource(title, unit, published, source, shared_out=False)


RESOURCES = {
    "dram": _of_device("DRAM", "bytes", 4.8e12, _SHEET),
    "dram_read": _of_device("DRAM, reads", "bytes", 4.8e12, _SHEET),
    "dram_write": _of_device("DRAM, writes", "bytes", 4.8e12, _SHEET),
    "l2_read": _of_device("L2 cache, reads", "sectors"),
    "l2_write": _of_device("L2 cache, stores", "sectors"),
    "l1": Resource("L1 cache", "sectors", 4 * _CYCLES, f"{_WHITE}: 128 bytes a cycle"),
    "l1_data": Resource("L1 and shared memory", "passes", _CYCLES, _BANKS),
    "shared": Resource("shared memory", "wavefronts", _CYCLES, _BANKS),
    "lsu": Resource("load and store units", "requests", _CYCLES, f"{_WHITE}: 32 units"),
    "constant": Resource("constant memory", "words", None, ""),
    "shuffle": Resource("shuffles", "instructions", _CYCLES, _GUIDE),
    "atomics": _of_device("atomics", "sectors"),
    "issue": Resource("issue slots", "instructions", 4 * _CYCLES, f"{_WHITE}: 4 schedulers"),
    "fp32": Resource("FP32 units", "instructions", 4 * _CYCLES, _GUIDE),
    "fp64": Resource("FP64 units", "instructions", 2 * _CYCLES, _GUIDE),
    "half": Resource("half units", "instructions", 4 * _CYCLES, _GUIDE),
    "integer": Resource("integer units", "instructions", 2 * _CYCLES, _GUIDE),
    "product": Resource("integer products", "instructions", 2 * _CYCLES, _GUIDE),
    "special": Resource("special functions", "instructions", _CYCLES / 2, _GUIDE),
    "tensor_half": Resource("tensor cores, halves", "flop", 989.4e12, _SHEET),
    "tensor_tf32": Resource("tensor cores, TF32", "flop", 494.7e12, _SHEET),
    "tensor_int8": Resource("tensor cores, bytes", "operations", 1978.9e12, _SHEET),
    "tensor_fp64": Resource("tensor cores, FP64", "flop", 66.9e12, _SHEET),
    "blocks": _of_device("starts of blocks", "blocks"),
    "warps": _of_device("starts of warps", "warps"),
    "launches": _of_device("launch", "launches"),
}


class UnknownDevice(ValueError):
    """A device without measured rates."""


@dataclass(frozen=True)
class Rate:
    """The most of a resource that was measured in a second, and by which variant of its kernel."""

    resource: str
    per_second: float
    variant: str


@dataclass(frozen=True)
class Rates:
    """What one device gives. device: its short name; by_resource: of RESOURCES, as far as it was
    measured."""

    device: str
    multiprocessors: int
    l2_bytes: int
    by_resource: Mapping[str, Rate]


def rates_of(record: Mapping[str, Any]) -> dict[str, Rate]:
    """Return the rate of each resource from a record of evidence.rates, as its JSON has it."""
    found: dict[str, Rate] = {}
    for row in record["measurements"]:
        values, name = row["parameters"], row["series"]
        best = values["amount"] / (1e-3 * min(row["timing"]["samples"]))
        if name in RESOURCES and (name not in found or best > found[name].per_second):
            found[name] = Rate(name, best, values["variant"])
    return found


@cache
def rates(device: str = "H200") -> Rates:
    """Return the rates of a device. Raises UnknownDevice, which lists the devices that there are.
    """
    if device not in RECORDS:
        known = ", ".join(RECORDS)
        raise UnknownDevice(
            f"no rates of {device!r} were measured; there are those of: {known}. On a machine with "
            "that GPU, `python -m evidence.rates` measures them."
        )
    text = (MEASURED / f"{RECORDS[device]}.json").read_text(encoding="utf-8")
    record = json.loads(text)
    about = record["device"]
    return Rates(device, about["multiprocessors"], about["l2_bytes"], rates_of(record))
