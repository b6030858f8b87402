"""The engine that somebody else has compiled: the wheel halo-labs-engine, which `make wheel` makes,
brings it to a computer without a C++ compiler.

It is taken only if it was compiled from the very sources of this copy of the labs, and if this
processor has the instructions that it needs. Otherwise the engine is compiled here.
"""

from __future__ import annotations

import ctypes
import importlib.util
import json
import platform
from dataclasses import dataclass
from pathlib import Path

from ..compile import toolchain

PACKAGE = "halo_labs_engine"
LIBRARY, FACTS = "halo_machine.so", "built.json"

# Flags for all processors of an architecture from about 2013 on, and what Linux calls the
# instructions that they need.
FLAGS = {"x86_64": ("-march=x86-64-v3",)}
_NEEDS = {"x86_64": frozenset(["abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"])}


@dataclass(frozen=True)
class Prebuilt:
    """path: the library, None if it cannot be taken; why_not: the reason, "" where no wheel is
    installed.
    """

    path: Path | None
    why_not: str = ""


def facts(sources: str) -> dict[str, str]:
    """Return what the wheel says of a library that is compiled here from `sources`, a key of
    toolchain.sources_key.
    """
    return {"sources": sources, "machine": platform.machine()}


def find(sources: str) -> Prebuilt:
    """Return the installed engine, if it was compiled from `sources` and runs here."""
    folder = _folder()
    if folder is None:
        return Prebuilt(None)
    try:
        built = json.loads((folder / FACTS).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return Prebuilt(None, f"its file {FACTS} cannot be read ({error})")
    wanted = facts(sources)
    if built.get("machine") != wanted["machine"]:
        return Prebuilt(None, f"it is for {built.get('machine')}, this is {wanted['machine']}")
    if built.get("sources") != sources:
        return Prebuilt(None, "it was made from other sources than these")
    if missing := _NEEDS.get(wanted["machine"], frozenset()) - _instructions():
        return Prebuilt(None, f"this processor lacks {', '.join(sorted(missing))}")
    path = folder / LIBRARY
    try:
        ctypes.CDLL(str(path))
    except OSError as error:
        return Prebuilt(None, f"it does not load here ({error})")
    return Prebuilt(path)


def _folder() -> Path | None:
    spec = importlib.util.find_spec(PACKAGE)
    places = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(places))) if places else None


def _instructions() -> frozenset[str]:
    rows = (row.partition(":") for row in toolchain.processor().splitlines())
    words = [words for name, _, words in rows if name.strip() == "flags"]
    return frozenset(" ".join(words).split())
