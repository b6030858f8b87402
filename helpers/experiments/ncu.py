"""Nsight Compute's command line: the program, its environment, and the counters that it reads."""

from __future__ import annotations

import csv
import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from helpers import device, tables
from helpers.bench import results

if TYPE_CHECKING:
    from helpers.simulator import Profile


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
    command: Sequence[str], metrics: Sequence[str], launches: Sequence[str], *, cold: bool = True
) -> list[dict[str, float | int | None]]:
    """Run `command` under ncu; return the metrics of each of its launches.

    launches: the names of the kernels that the command launches, in order. cold: ncu empties the
    caches before each of them. A metric that this chip or ncu does not know is None. Raises
    NcuError if ncu is missing, or for other launches.
    """
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "ncu.csv"
        how = ["--clock-control", "none", "--csv", "--print-units", "base", "--log-file", str(log)]
        how += ["--cache-control", "all" if cold else "none"]
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
) -> list[dict[str, float | int | None]]:
    """Return the metrics of each launch from ncu's CSV text. Raises NcuError for other launches."""
    table = csv.DictReader(
        io.StringIO("\n".join(line for line in output.splitlines() if line.startswith('"')))
    )
    names: dict[int, str] = {}
    values: dict[int, dict[str, float | int | None]] = {}
    for row in table:
        number = int(row["ID"])
        names[number] = row["Kernel Name"].partition("(")[0]
        values.setdefault(number, {})[row["Metric Name"]] = _number(row["Metric Value"])
    if [names[number] for number in sorted(names)] != list(launches):
        words = "\n".join(f"{output}\n{errors}".strip().splitlines()[-12:])
        raise NcuError(f"ncu saw {len(names)} launches of {len(launches)}. It said:\n{words}")
    return [values[number] for number in sorted(values)]


def _number(text: str) -> float | int | None:
    try:
        value = float(text.replace(",", ""))
    except ValueError:  # "n/a"
        return None
    return int(value) if value.is_integer() else value


# Counter of a Profile -> metric of Nsight Compute that must be equal.
GLOBAL = {
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
}
SHARED = {
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_load_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_store_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
}


def recorded() -> tuple[dict[str, dict[str, Any]], str]:
    """Return the rows of data/measured/counters.json by their launch, and the name of the GPU."""
    record = results.load(results.MEASURED / "counters.json")
    return {row["launch"]: row for row in record.rows() if "launch" in row}, record.device.name


def record_here(name: str, measure: Callable[[], Iterable[Mapping[str, Any]]], lab: str) -> int:
    """Write the record of what `measure` reads by ncu; return the exit status of a command."""
    gpu = device.select()
    if gpu.kind != "gpu":
        print(
            "Nsight Compute reads the counters of a GPU, and there is none here: "
            "run it on a machine with an NVIDIA GPU",
            file=sys.stderr,
        )
        return 2
    try:
        print(results.record(name, measure, device=gpu, lab=lab))
    except (NcuError, results.RecordError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def main(
    module: str,
    launch: Callable[[], None],
    measured: Mapping[str, Callable[[], Iterable[Mapping[str, Any]]]],
    lab: str,
    argv: Sequence[str] | None = None,
) -> int:
    """Run a module as a command: `--launch` launches what ncu counts, and without words the records
    are written. Returns the exit status.

    measured: by record, what reads its counters.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    if words == ["--launch"]:
        launch()
        return 0
    if words:
        print(f"python -m {module} takes no arguments, got {' '.join(words)}", file=sys.stderr)
        return 2
    return next(filter(None, (record_here(*one, lab) for one in measured.items())), 0)


def beside(
    profile: Profile, launch: str, metrics: Mapping[str, str] = GLOBAL, title: str = "metric"
) -> str:
    """Return a table of a profile's counters beside those of Nsight Compute.

    launch: the label of a launch in data/measured/counters.json, such as "axpy_basic, n = 1000".
    metrics: `GLOBAL` or `SHARED`. title: of the first column. Raises NcuError if the record does
    not contain the launch.
    """
    launches, gpu = recorded()
    if launch not in launches:
        raise NcuError(
            f"data/measured/counters.json has no launch {launch!r}; give the label "
            "of one, as `python -m helpers.tools.counters` prints them"
        )
    there, counted = launches[launch], profile.counters()
    body = [(metric, f"{there[name]:,}", f"{counted[name]:,}") for name, metric in metrics.items()]
    head = (title, f"Nsight Compute,\n{gpu}", "simulator")
    return tables.text(head, body)
