"""The simulator's counters beside those of Nsight Compute, launch by launch.

    python -m helpers.tools.counters FOLDER
    python -m helpers.tools.counters FOLDER --only 'conv2d|gemm' --merge data/measured/counters.json
    python -m helpers.tools.counters FOLDER --explain data/measured/counters.json

FOLDER has the kernels that are launched only to be counted (.cu files); the others are those of
kernels/. On a GPU host the launches of `LAUNCHES` run under ``ncu`` (one call for all of them,
through PyCUDA in the primary context), then in the simulator; a table says where the two agree, and
``results/counters.json`` keeps what was read (copy it to ``data/measured/``). Without a GPU the
recorded numbers stand in for ``ncu``, and the simulator is asked again.

--only takes the launches whose label a regular expression is found in. --merge keeps, of the
launches that were not run, what another record of the same GPU and CUDA read, so that new launches
cost a short run. --explain asks the simulator again about everything in a record and writes its
numbers, and the reasons of `KNOWN`, into it: what ncu read stays, no GPU is needed. Every
difference without a reason is printed by launch and counter, with the source lines that the
simulator's number is made of.

Each launch is read `READINGS` times. The hardware adds to some counters now and then (a bank
conflict between two kinds of work in the load-store unit), never takes away: the lowest reading is
what the kernel does, and a reading that varied is recorded.

Exit status: 0 when every number is equal or its difference is one of `KNOWN`, 1 when one is not or
a launch is not in the record, 2 when ``ncu``, an option or a record cannot be used.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import io
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from helpers import device, limits, results, tables
from helpers.experiments import ncu
from helpers.experiments.ncu import NcuError
from helpers.tools.counter_cases import LAUNCHES, Case, matching

READINGS = 3

# Counters that must be equal: the Profile's name -> the metrics of Nsight Compute whose sum it is.
COMPARED = {
    "global_load_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",),
    "global_load_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",),
    "global_store_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",),
    "global_store_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",),
    "global_atomic_requests": (
        "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
        "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    ),
    "global_atomic_sectors": (
        "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    ),
    "shared_load_wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",),
    "shared_load_conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",),
    "shared_store_wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",),
    "shared_store_conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",),
    "shared_atomic_requests": ("smsp__inst_executed_op_shared_atom.sum",),
    "shared_atomic_wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",),
}
# Read and recorded, but not compared: the look-ups in constant memory are among the requests for a
# kernel's parameters.
OBSERVED = ("idc__requests.sum",)

# Differences that are understood: label (or kernel, for all its launches) -> counters -> why. The
# numbers are in the record.
_TURNS = (
    "lanes whose bins repeat take turns; where many bins are hit as well, "
    "the hardware takes a few more, by a rule not known here"
)
_BUSY = (
    "the hardware repeats a pass now and then while shared memory does other work: "
    "at most 1.5 % of the passes"
)
_JOINED = (
    "nvcc joins two loads of neighbours to one; the simulator's compiler, NVRTC, "
    "writes their addresses in another way, in which they stay two"
)
_MORE = (
    "the hardware takes 78 to 82 passes more (4 %) in three readings; by which rule is not known"
)
KNOWN: dict[str, dict[str, str]] = {
    "conv2d_mma_pairs, layer 2": {
        "shared_store_wavefronts": _MORE,
        "shared_store_conflicts": _MORE,
    },
    "reduce_interleaved, n = 1000": {
        "shared_load_wavefronts": _JOINED,
        "shared_load_conflicts": _JOINED,
    },
    "histogram_global, random": {"global_atomic_sectors": _TURNS},
}


def reason(launch: Case, counter: str, counted: int, read: Mapping[str, Any]) -> str | None:
    """Why this counter of this launch is known to differ; None where it must be equal."""
    known = KNOWN.get(launch.label, {}).get(counter) or KNOWN.get(launch.kernel, {}).get(counter)
    if (
        known is None
        and counter.startswith("shared_")
        and counter.endswith(("_wavefronts", "_conflicts"))
    ):
        wavefronts = read[counter.replace("_conflicts", "_wavefronts")]
        return _BUSY if 0 < read[counter] - counted <= 0.015 * wavefronts else None
    return known


# --------------------------------------------------------------------------------------------------
# On a GPU, under ncu


def read_with_ncu(only: str, folder: Path) -> list[dict[str, int | str]]:
    """Run launches under ncu.

    Returns for each of ``matching(only, folder)``: metric -> lowest reading, "readings METRIC"
    where they varied.

    Raises NcuError, and ValueError as `matching` does.
    """
    launches = matching(only, folder)
    program = ncu.program()
    # Here, because ncu would follow the compiler's processes as well.
    binaries = _build_all(launches)
    metrics = [*(metric for several in COMPARED.values() for metric in several), *OBSERVED]
    with tempfile.TemporaryDirectory() as scratch:
        for number, binary in enumerate(binaries.values()):
            (Path(scratch) / f"{number}.cubin").write_bytes(binary)
        log = Path(scratch) / "ncu.csv"
        options = [
            "--clock-control",
            "none",
            "--cache-control",
            "none",
            "--csv",
            "--log-file",
            str(log),
        ]
        script = [
            sys.executable,
            "-m",
            "helpers.tools.counters",
            str(folder.resolve()),
            f"--launch={scratch}",
            f"--only={only}",
        ]
        command = [program, *options, "--metrics", ",".join(metrics), *script]
        how: dict[str, Any] = {"text": True, "env": ncu.environment(), "cwd": results.ROOT}
        done = subprocess.run(command, check=False, stderr=subprocess.PIPE, **how)
        return _readings(log.read_text() if log.exists() else "", done.stderr, launches)


def _readings(output: str, errors: str, launches: Sequence[Case]) -> list[dict[str, int | str]]:
    rows = list(
        csv.DictReader(
            io.StringIO("\n".join(line for line in output.splitlines() if line.startswith('"')))
        )
    )
    seen: dict[int, dict[str, Any]] = {}
    for row in rows:
        of_launch = seen.setdefault(
            int(row["ID"]), {"kernel": row["Kernel Name"].partition("(")[0]}
        )
        of_launch[row["Metric Name"]] = _number(row["Metric Value"])
    wanted = [launch for launch in launches for _ in range(READINGS)]
    found = [seen[number] for number in sorted(seen)]
    if [row["kernel"] for row in found] != [launch.kernel for launch in wanted]:
        said = "\n".join((output + errors).strip().splitlines()[-12:])
        raise NcuError(f"ncu saw {len(found)} launches of {len(wanted)}. It said:\n{said}")
    return [_lowest(found[k : k + READINGS]) for k in range(0, len(found), READINGS)]


def _number(text: str) -> int | None:
    try:
        return int(float(text.replace(",", "")))
    except ValueError:  # "n/a": this chip does not count it
        return None


def _lowest(readings: Sequence[Mapping[str, Any]]) -> dict[str, int | str]:
    row: dict[str, int | str] = {}
    for metric in readings[0]:
        values = [reading[metric] for reading in readings]
        if metric == "kernel" or None in values:
            continue
        row[metric] = min(values)
        if min(values) != max(values):
            row[f"readings {metric}"] = " ".join(map(str, values))
    return row


def _build_all(launches: Sequence[Case]) -> dict[tuple[Path, tuple[str, ...]], bytes]:
    """Compile each source with each set of options of `_binaries` once, several at a time."""
    import pycuda.compiler
    import pycuda.driver as cuda

    arch = "sm_{}{}".format(*cuda.Context.get_device().compute_capability())
    wanted = _binaries(launches)

    def build(item: tuple[Path, tuple[str, ...]]) -> bytes:
        return pycuda.compiler.compile(
            item[0].read_text(), options=list(item[1]), no_extern_c=True, arch=arch
        )

    # Each compilation is a process of nvcc.
    with ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as pool:
        return dict(zip(wanted, pool.map(build, wanted), strict=True))


def _binaries(launches: Sequence[Case]) -> list[tuple[Path, tuple[str, ...]]]:
    """Sources and their options, each pair once."""
    return list(dict.fromkeys((launch.path, launch.options) for launch in launches))


def launch_all(launches: Sequence[Case], folder: Path) -> None:
    """Launch each `READINGS` times on the GPU, from the binaries in ``folder``; ncu runs this in a process of its own."""
    device.select()
    import pycuda.driver as cuda

    binaries = {
        item: (folder / f"{number}.cubin").read_bytes()
        for number, item in enumerate(_binaries(launches))
    }
    for number, launch in enumerate(launches):
        if number % 20 == 0:
            print(f"launch {number + 1} of {len(launches)}", flush=True)
        module = cuda.module_from_buffer(binaries[launch.path, launch.options])
        for symbol, value in launch.constants.items():
            cuda.memcpy_htod(module.get_global(symbol)[0], np.ascontiguousarray(value))
        values = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in launch.arguments()]
        function = module.get_function(launch.kernel)
        if launch.shared > limits.STATIC_SHARED_BYTES:
            function.set_attribute(
                cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, launch.shared
            )
        for _ in range(READINGS):
            function(*values, grid=launch.grid, block=launch.block, shared=launch.shared)
            cuda.Context.synchronize()


# --------------------------------------------------------------------------------------------------
# Side by side


@dataclass(frozen=True)
class Compared:
    """One counter of one launch. why: the reason when the difference is a known one, None when there may be none."""

    launch: Case
    counter: str
    ncu: int
    simulator: int
    why: str | None

    @property
    def equal(self) -> bool:
        return self.ncu == self.simulator

    def __str__(self) -> str:
        return "=" if self.equal else f"{self.simulator:,}/{self.ncu:,}{'*' if self.why else ' !'}"


def count(launch: Case) -> dict[str, int]:
    """The simulator's counters of ``launch``. Raises AssertionError where it stopped the launch."""
    profile = launch.profile()
    if not profile.completed:
        raise AssertionError(f"{launch.label}: the simulator stopped it\n{profile}")
    return profile.counters()


def compare(
    launch: Case, read: Mapping[str, Any], counted: Mapping[str, int] | None = None
) -> list[Compared]:
    """The simulator's counters of ``launch`` (``counted``, where known) beside those read: counter name -> number."""
    counted = counted or count(launch)
    return [
        Compared(
            launch, name, int(read[name]), counted[name], reason(launch, name, counted[name], read)
        )
        for name in COMPARED
    ]


def measure(only: str, folder: Path) -> list[dict[str, Any]]:
    """One row a launch of ``matching(only, folder)`` for ``results.record``: counters as ncu read
    them, and `annotated`.

    Raises as `read_with_ncu` does.
    """
    launches = matching(only, folder)
    # First: what fails here must not cost the readings.
    counted = [count(launch) for launch in launches]
    rows = []
    for launch, read, ours in zip(launches, read_with_ncu(only, folder), counted, strict=True):
        row: dict[str, Any] = {"series": launch.kernel, **_identity(launch)}
        row |= {
            name: sum(int(read.get(metric, 0)) for metric in metrics)
            for name, metrics in COMPARED.items()
        }
        rows.append(
            annotated(launch, row, ours)
            | {key: value for key, value in read.items() if key not in _METRICS}
        )
    return rows


_METRICS = frozenset(metric for several in COMPARED.values() for metric in several)


def _identity(launch: Case) -> dict[str, str]:
    """What a row says of its launch."""
    options = " ".join(one for one in launch.options if not one.startswith("-I"))
    how = {
        "launch": launch.label,
        "grid": str(launch.grid),
        "block": str(launch.block),
        "options": options,
    }
    return how | ({"shared": str(launch.shared)} if launch.shared else {})


def annotated(
    launch: Case, row: Mapping[str, Any], counted: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """The row with "simulator COUNTER" and "why COUNTER" where the simulator's number is another, and nowhere else."""
    plain = {key: value for key, value in row.items() if not key.startswith(("simulator ", "why "))}
    for found in compare(launch, plain, counted):
        if not found.equal:
            plain |= {
                f"simulator {found.counter}": found.simulator,
                f"why {found.counter}": found.why,
            }
    return plain


def recorded(launch: Case, row: Mapping[str, Any]) -> list[Compared]:
    """The comparison that a row of the record holds."""
    return [
        Compared(
            launch, name, row[name], row.get(f"simulator {name}", row[name]), row.get(f"why {name}")
        )
        for name in COMPARED
    ]


def table(compared: Sequence[Compared]) -> str:
    """A line for each launch and a column for each counter of which one differs: "=" where equal, else simulator/ncu.

    A * says that the reason is known and stands below, a ! that it is not.
    """
    differ = [found for found in compared if not found.equal]
    columns = [name for name in COMPARED if any(found.counter == name for found in differ)]
    lines: dict[str, list[str]] = {}
    for found in compared:
        cells = lines.setdefault(found.launch.label, [])
        if found.counter in columns:
            cells.append(str(found))
    head = ["launch", *(name.replace("_", "\n") for name in columns)]
    text = tables.text(head, [[label, *cells] for label, cells in lines.items()])
    reasons = dict.fromkeys(
        f"* {found.launch.kernel}, {found.counter}: {found.why}" for found in differ if found.why
    )
    return "\n".join([text, *reasons, summary(compared)])


def summary(compared: Sequence[Compared]) -> str:
    """How many numbers are equal, differ for a known reason, and differ for none."""
    known = sum(not found.equal and found.why is not None for found in compared)
    unknown = [found for found in compared if not found.equal and found.why is None]
    launches = len({found.launch.label for found in compared})
    kernel_count = len({found.launch.kernel for found in compared})
    said = (
        f"{launches} launches of {kernel_count} kernels, {len(compared):,} numbers: "
        f"{sum(f.equal for f in compared):,} equal, "
    )
    return said + f"{known} differ for a known reason, {len(unknown)} for none"


def unexplained(compared: Sequence[Compared]) -> list[str]:
    """A text for each difference without a reason: launch, counter, both numbers, and what the simulator's is made of."""
    return [
        f"{found.launch.label}: {found.counter} {found.simulator:,} in the simulator, "
        f"{found.ncu:,} by ncu ({found.ncu - found.simulator:+,}); the simulator's by line: "
        f"{_by_line(found)}"
        for found in compared
        if not found.equal and found.why is None
    ]


def _by_line(found: Compared) -> str:
    space, access, what = found.counter.split("_")
    rows = [
        row for row in found.launch.profile().lines if (row.space, row.access) == (space, access)
    ]
    return ", ".join(f"{row.line} ({row.array}) {getattr(row, what):,}" for row in rows) or "none"


# --------------------------------------------------------------------------------------------------
# Records made of more than one run


def require_mergeable(before: results.Record, launches: Sequence[Case], gpu: device.Device) -> None:
    """Raise RecordError unless the rows of ``before`` that ``launches`` do not replace can stand in a record of this GPU.

    They cannot when another GPU or CUDA read them, or when a kernel or the way it is launched has
    changed since.
    """
    here = gpu.name, cuda_version()
    there = before.device.name, before.software["cuda_runtime"]
    if here != there:
        raise results.RecordError(
            f"the record to merge is of {there[0]} with CUDA {there[1]}, and this is "
            f"{here[0]} with CUDA {here[1]}: leave --merge and --only out, "
            "and measure everything here"
        )
    run, changed = {launch.label for launch in launches}, before.changed_sources()
    kept = {row["launch"]: row for row in before.rows() if row["launch"] not in run}
    other = [
        launch.label
        for launch in LAUNCHES
        if (row := kept.get(launch.label))
        and (
            launch.kernel in changed
            or any(row.get(key) != value for key, value in _identity(launch).items())
        )
    ]
    if other:
        raise results.RecordError(
            f"changed since the record to merge was made: {'; '.join(other)}. "
            "Have --only match these, too"
        )


def cuda_version() -> str:
    """The CUDA that PyCUDA was built for, as records say it."""
    import pycuda.driver as cuda

    return ".".join(map(str, cuda.get_version()))


def merged(rows: Sequence[Mapping[str, Any]], before: results.Record) -> list[dict[str, Any]]:
    """``rows``, and those rows of ``before`` that they do not replace, in the order of `LAUNCHES`.

    A row that is kept says under "created" when it was read. A row whose launch is no longer in
    `LAUNCHES` is left out.
    """
    kept = {row["launch"]: {"created": before.created, **row} for row in before.rows()}
    found = kept | {row["launch"]: dict(row) for row in rows}
    return [found[launch.label] for launch in LAUNCHES if launch.label in found]


def explain(path: Path | str, folder: Path) -> results.Record:
    """Write the simulator's numbers and the reasons of `KNOWN` into a record's file anew; return the
    record.

    What ncu read, and when, stays. Raises RecordError where the record cannot be read or written.
    """
    before = results.load(path)
    launches = {launch.label: launch for launch in matching("", folder)}
    measurements = tuple(
        dataclasses.replace(m, parameters=annotated(launches[label], m.parameters))
        for m in before.measurements
        if (label := m.parameters["launch"]) in launches
    )
    after = dataclasses.replace(before, measurements=measurements)
    try:
        Path(path).write_text(after.to_json())
    except OSError as error:
        raise results.RecordError(
            f"{path} cannot be written ({error.strerror}): make it writable, or explain a copy"
        ) from error
    return after


# --------------------------------------------------------------------------------------------------
# The command


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m helpers.tools.counters", description=__doc__.partition("\n")[0]
    )
    parser.add_argument(
        "folder", type=Path, help="the kernels that are launched only to be counted, as .cu files"
    )
    parser.add_argument(
        "--only", metavar="REGEX", default="", help="the launches whose label this is found in"
    )
    parser.add_argument(
        "--merge", metavar="RECORD", help="keep what this record has of the other launches"
    )
    parser.add_argument(
        "--explain",
        metavar="RECORD",
        help="write the simulator's side of this record anew; no GPU is needed",
    )
    # What runs under ncu.
    parser.add_argument("--launch", type=Path, metavar="SCRATCH", help=argparse.SUPPRESS)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison; print its table. Returns the exit status."""
    asked = _parser().parse_args(argv)
    try:
        launches = matching(asked.only, asked.folder)
        if asked.launch:
            launch_all(launches, asked.launch)
            return 0
        if asked.explain:
            return _report(explain(asked.explain, asked.folder), launches, recorded)
        record = _read(asked, launches)
    except (NcuError, results.RecordError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    shown = matching("", asked.folder) if asked.merge else launches
    # On a GPU the simulator has just been asked.
    return _report(record, shown, compare if record.recalled else recorded)


def _read(asked: argparse.Namespace, launches: Sequence[Case]) -> results.Record:
    gpu = device.select()
    if not asked.merge:
        return results.record(
            "counters", lambda: measure(asked.only, asked.folder), device=gpu, lab="counters"
        )
    if gpu.kind != "gpu":
        raise results.RecordError(
            "--merge adds what a GPU reads to a record, and there is no GPU here; "
            "--explain needs none"
        )
    before = results.load(asked.merge)
    require_mergeable(before, launches, gpu)

    def rows() -> list[dict[str, Any]]:
        return merged(measure(asked.only, asked.folder), before)

    return results.record("counters", rows, device=gpu, lab="counters")


def _report(
    record: results.Record, launches: Sequence[Case], side_by_side: Callable[..., list[Compared]]
) -> int:
    read = {row["launch"]: row for row in record.rows()}
    missing = [launch.label for launch in launches if launch.label not in read]
    if missing:
        print(
            f"{len(missing)} launches are not in the record, measure them: {'; '.join(missing)}",
            file=sys.stderr,
        )
    compared = [
        found
        for launch in launches
        if launch.label in read
        for found in side_by_side(launch, read[launch.label])
    ]
    print(f"{record.caption()}: simulator/ncu where they differ\n{table(compared)}")
    differences = unexplained(compared)
    print("\n".join(f"! {text}" for text in differences))
    return int(bool(missing or differences))


if __name__ == "__main__":
    sys.exit(main())
