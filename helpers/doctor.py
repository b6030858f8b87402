"""What this computer has and lacks for the labs, and the line that mends it: `halo doctor`."""

from __future__ import annotations

import argparse
import importlib.util
import json
import platform
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement

from helpers import device, labs

PACKAGE = "halo-labs"
OLDEST_PYTHON = (3, 11)


@dataclass(frozen=True)
class Check:
    """One row of the answer. is_needed: whether the labs do not run without it; mend: the line to
    type where it is missing, "" where nothing is.
    """

    what: str
    is_there: bool
    found: str
    mend: str = ""
    is_needed: bool = True

    def __str__(self) -> str:
        mark = "ok     " if self.is_there else "MISSING" if self.is_needed else "absent "
        mend = f"\n           to fix it: {self.mend}" if self.mend and not self.is_there else ""
        return f"{mark}  {self.what}: {self.found}{mend}"


def main(arguments: Sequence[str] | None = None, prog: str = "halo doctor") -> int:
    """Print a row for each check; return 1 where something needed is missing."""
    parser = argparse.ArgumentParser(prog=prog, description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    asked = parser.parse_args(arguments)
    found = list(checks())
    if asked.json:
        print(json.dumps({"checks": [asdict(one) for one in found]}, indent=1))
    else:
        print(*found, sep="\n")
    return int(any(one.is_needed and not one.is_there for one in found))


def checks() -> Iterator[Check]:
    """Yield the checks: Python, packages, the device, compilers, the simulator's cache, the
    extension of JupyterLab.
    """
    yield _python()
    yield _packages()
    yield _gpu()
    yield _cxx()
    yield _nvidia_compiler()
    yield _cache()
    yield _extension()


def _python() -> Check:
    enough = sys.version_info >= OLDEST_PYTHON
    return Check(
        "Python",
        enough,
        f"{platform.python_version()} at {sys.executable}",
        "install Python 3.11 or newer, then: make env PYTHON3=/path/to/python3",
    )


def _packages() -> Check:
    try:
        needed = [Requirement(text) for text in requires(PACKAGE) or ()]
    except PackageNotFoundError:
        return Check("packages", False, f"{PACKAGE} is not installed", "pip install -e .")
    wrong = []
    for one in needed:
        if one.marker is not None and not one.marker.evaluate({"extra": ""}):
            continue
        try:
            here = version(one.name)
        except PackageNotFoundError:
            wrong.append(f"{one.name} is missing")
            continue
        if not one.specifier.contains(here, prereleases=True):
            wrong.append(f"{one.name} {here}, needed {one.specifier}")
    said = "; ".join(wrong) or f"{PACKAGE} {version(PACKAGE)} and all that it needs"
    return Check("packages", not wrong, said, "pip install -e .")


def _gpu() -> Check:
    found = device.probe()
    problem = device.problem_of(found)
    if problem:
        return Check("GPU", False, f"{problem}. The labs run in the simulator", is_needed=False)
    nvcc = ".".join(map(str, found.nvcc or ()))
    return Check("GPU", True, f"one that PyCUDA can use, nvcc of CUDA {nvcc}")


def _cxx() -> Check:
    from helpers.simulator.compile import toolchain
    from helpers.simulator.machine import prebuilt

    try:
        compiler = toolchain.find_compiler()
    except toolchain.CompilerMissingError as error:
        wheel = importlib.util.find_spec(prebuilt.PACKAGE) is not None
        said = "none runs" + ("; the installed wheel has the simulator compiled" if wheel else "")
        return Check("C++ compiler", False, said, str(error), is_needed=not wheel)
    return Check("C++ compiler", True, f"{compiler.version} ({' '.join(compiler.argv)})")


def _nvidia_compiler() -> Check:
    from helpers.simulator.compile import toolkit

    try:
        return Check("NVIDIA's compiler", True, str(toolkit.root()))
    except toolkit.ToolkitMissingError as error:
        return Check("NVIDIA's compiler", False, "not found", str(error))


def _cache() -> Check:
    from helpers.simulator.compile import toolchain

    try:
        folder = toolchain.cache_directory()
    except toolchain.CacheError as error:
        return Check("cache", False, "cannot be written", str(error))
    return Check("cache", True, str(folder))


def _extension() -> Check:
    place = Path(sys.prefix, "share/jupyter/labextensions/halo-labs/package.json")
    mend = f"{sys.executable} -m pip install -e {shlex.quote(str(labs.ROOT))}"
    said = "installed" if place.exists() else "not in this environment; `halo jupyter` brings it"
    return Check("JupyterLab extension", place.exists(), said, mend, is_needed=False)
