"""Nsight Compute's command line: the program, its environment, and the counters that it reads."""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from helpers.bench import results

ANY = "*"  # in the place of a kernel's name that another library chooses


class NcuError(RuntimeError):
    """Nsight Compute is missing, may not read the counters, or gave an unexpected answer."""


def program() -> str:
    """Return the path of ncu. Raises NcuError if it is not on the PATH."""
    ncu = shutil.which("ncu")
    if ncu is None:
        raise NcuError(
            "ncu (Nsight Compute) is not on the PATH. It is part of the CUDA toolkit; type "
            "export PATH=$PATH:/usr/local/cuda/bin if it lies there."
        )
    return ncu


def environment() -> dict[str, str]:
    """Return the environment of a program under ncu: it runs on the GPU and finds this package."""
    paths = [str(results.ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    return {**os.environ, "LAB_DEVICE": "gpu", "PYTHONPATH": os.pathsep.join(paths)}


def read(
    command: Sequence[str],
    metrics: Sequence[str],
    launches: Sequence[str],
    *,
    cold: bool = True,
    marked: bool = False,
) -> list[dict[str, Any]]:
    """Run `command` under ncu; return the metrics of each of its launches.

    launches: the names of the kernels that the command launches, in order; `ANY` for one of another
    library's. cold: ncu empties the caches before each of them. marked: the command says which
    ones are read, between cuda.start_profiler() and cuda.stop_profiler(). A metric that this chip
    or ncu does not know is None. Raises NcuError if ncu is missing, or for other launches.
    """
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "ncu.csv"
        how = ["--clock-control", "none", "--csv", "--print-units", "base", "--log-file", str(log)]
        how += ["--cache-control", "all" if cold else "none"]
        how += ["--profile-from-start", "no" if marked else "yes"]
        done = subprocess.run(
            [program(), *how, "--metrics", ",".join(metrics), *command],
            check=False,
            capture_output=True,
            text=True,
            env=environment(),
            cwd=results.ROOT,
        )
        return parse(log.read_text() if log.exists() else "", launches, done.stderr)


def parse(
    output: str, launches: Sequence[str], errors: str = ""
) -> list[dict[str, Any]]:
    """Return the metrics of each launch from ncu's CSV text, and the name of `ANY` as "kernel".

    Raises NcuError for other launches.
    """
    table = csv.DictReader(
        io.StringIO("\n".join(line for line in output.splitlines() if line.startswith('"')))
    )
    names: dict[int, str] = {}
    values: dict[int, dict[str, Any]] = {}
    for row in table:
        number = int(row["ID"])
        names[number] = row["Kernel Name"].partition("(")[0]
        values.setdefault(number, {})[row["Metric Name"]] = _number(row["Metric Value"])
    found = [names[number] for number in sorted(names)]
    if len(found) != len(launches) or any(
        one not in (name, ANY) for one, name in zip(launches, found, strict=True)
    ):
        words = "\n".join(f"{output}\n{errors}".strip().splitlines()[-12:])
        raise NcuError(f"ncu saw {len(names)} launches of {len(launches)}. It said:\n{words}")
    for number, name in zip(sorted(values), launches, strict=True):
        if name == ANY:
            values[number]["kernel"] = names[number]
    return [values[number] for number in sorted(values)]


def _number(text: str) -> float | int | None:
    try:
        value = float(text.replace(",", ""))
    except ValueError:  # "n/a"
        return None
    return int(value) if value.is_integer() else value
