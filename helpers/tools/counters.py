"""The simulator's counters beside those of Nsight Compute, launch by launch.

    python -m helpers.tools.counters FOLDER
    python -m helpers.tools.counters FOLDER --only 'conv2d|gemm' --merge data/measured/counters.json
    python -m helpers.tools.counters FOLDER --explain data/measured/counters.json

FOLDER has the kernels that are launched only to be counted (.cu files); the others are those of
kernels/. On a GPU host, the launches of `LAUNCHES` run under ``ncu`` (one call for all of them,
through PyCUDA in the primary context), then in the simulator. A table says where the two agree, and
``results/counters.json`` has the readings (copy it to ``data/measured/``). Without a GPU, the
recorded numbers replace ``ncu``, and the simulator counts again.

--only chooses launches by a regular expression that matches their label. --merge keeps the readings
of the other launches from another record of the same GPU and CUDA, so that new launches need only a
short run. --explain needs no GPU: the simulator counts all launches of a record again, and its
numbers and the reasons of `KNOWN` replace those in the record, while ncu's readings stay. The tool
prints every difference without a reason by launch and counter, with the source lines of the
simulator's number.

ncu reads each launch `READINGS` times. The hardware sometimes adds to a counter (a bank conflict
between two kinds of work in the load-store unit), but never subtracts. So the lowest reading is the
kernel's own; the record also has readings that vary.

The exit status is 0 if every number is equal or its difference is one of `KNOWN`; 1 if one is not,
or if a launch is not in the record; 2 if ``ncu``, an option or a record cannot be used.
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

# The known differences: label (or kernel, for all its launches) -> counter -> reason. The numbers
# are in the record.
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
# Readings of one launch that differ from each other: no rule on addresses can give them.
_MORE = (
    "the hardware repeats 78 to 82 passes in three readings, each time another number, so that "
    "time decides and no address. The machine code has the stores that the simulator counts; those "
    "of the outputs are exact, as conv2d_mma_halves shows. The others run while weights and cells "
    "arrive from global memory in the same memory of the multiprocessor; that they collide is "
    "likely, but not measured apart"
)
_MORE_OF_DENSE = (
    "the hardware repeats 207, 221 or 249 passes in three readings, so that time decides and no "
    "address: the machine code has 608 stores of 32 neighbouring words. While they run, other "
    "warps still load from global memory. With a barrier in front of them, so that all loads have "
    "arrived, the same run counted 0 repeated passes where the kernel as it is had 58"
)
_UNROLLED = (
    "ptxas unrolls the loop over outputs by four, with a rest of two and one: in the last tile, "
    "lanes of a warp with four outputs and lanes with three take different copies of the loop, "
    "three stores and 45 loads more; the simulator runs PTX, in which the loop is one"
)
_RAGGED = dict.fromkeys(
    ("global_store_requests", "global_store_sectors", "shared_load_wavefronts"), _UNROLLED
)
KNOWN: dict[str, dict[str, str]] = {
    "copy_plain, n = 4096, tiles of 512": _RAGGED,
    "copy_async, n = 4096, tiles of 512": _RAGGED,
    "copy_bulk, n = 4096, tiles of 512": _RAGGED,
    "conv2d_mma_pairs, layer 2": {
        "shared_store_wavefronts": _MORE,
        "shared_store_conflicts": _MORE,
    },
    "lenet_dense_split, 37 images": {
        "shared_store_wavefronts": _MORE_OF_DENSE,
        "shared_store_conflicts": _MORE_OF_DENSE,
    },
    "reduce_interleaved, n = 1000": {
        "shared_load_wavefronts": _JOINED,
        "shared_load_conflicts": _JOINED,
    },
    "histogram_global, random": {"global_atomic_sectors": _TURNS},
}


def reason(launch: Case, counter: str, counted: int, read: Mapping[str, Any]) -> str | None:
    """Return the reason of a known difference; None if the numbers must be equal."""
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
    """Run the launches of ``matching(only, folder)`` under ncu; return metric -> lowest reading.

    "readings METRIC" has all readings if they vary. Raises NcuError, and ValueError as `matching`
    does.
    """
    launches = matching(only, folder)
    program = ncu.program()
    # Compile first: ncu would also follow the compiler's processes.
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
    by_number: dict[int, dict[str, Any]] = {}
    for row in rows:
        of_launch = by_number.setdefault(
            int(row["ID"]), {"kernel": row["Kernel Name"].partition("(")[0]}
        )
        of_launch[row["Metric Name"]] = _number(row["Metric Value"])
    expected = [launch.kernel for launch in launches for _ in range(READINGS)]
    readings = [by_number[number] for number in sorted(by_number)]
    if [row["kernel"] for row in readings] != expected:
        words = "\n".join((output + errors).strip().splitlines()[-12:])
        raise NcuError(f"ncu saw {len(readings)} launches of {len(expected)}. It said:\n{words}")
    return [_lowest(readings[k : k + READINGS]) for k in range(0, len(readings), READINGS)]


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
    """Compile all of `_binaries`, several at a time."""
    import pycuda.compiler
    import pycuda.driver as cuda

    arch = "sm_{}{}".format(*cuda.Context.get_device().compute_capability())
    items = _binaries(launches)

    def build(item: tuple[Path, tuple[str, ...]]) -> bytes:
        return pycuda.compiler.compile(
            item[0].read_text(), options=list(item[1]), no_extern_c=True, arch=arch
        )

    # Each compilation is a process of nvcc.
    with ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as pool:
        return dict(zip(items, pool.map(build, items), strict=True))


def _binaries(launches: Sequence[Case]) -> list[tuple[Path, tuple[str, ...]]]:
    """Return the sources with their options, each pair once."""
    return list(dict.fromkeys((launch.path, launch.options) for launch in launches))


def launch_all(launches: Sequence[Case], folder: Path) -> None:
    """Launch each case `READINGS` times on the GPU; ncu runs this in a process of its own.

    folder: with the binaries of `_binaries`.
    """
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
    """One counter of one launch. why: the reason of a known difference, else None."""

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
    """Return the simulator's counters of ``launch``; AssertionError if it stopped the launch."""
    profile = launch.profile()
    if not profile.completed:
        raise AssertionError(f"{launch.label}: the simulator stopped it\n{profile}")
    return profile.counters()


def compare(
    launch: Case, read: Mapping[str, Any], counted: Mapping[str, int] | None = None
) -> list[Compared]:
    """Return the counters of ``launch`` by the simulator beside ncu's.

    read: ncu's, counter name -> number. counted: the simulator's, if they are known already.
    """
    counted = counted or count(launch)
    return [
        Compared(
            launch, name, int(read[name]), counted[name], reason(launch, name, counted[name], read)
        )
        for name in COMPARED
    ]


def measure(only: str, folder: Path) -> list[dict[str, Any]]:
    """Return a row for each launch of ``matching(only, folder)``, for ``results.record``.

    It has ncu's counters and the differences of `annotated`. Raises as `read_with_ncu` does.
    """
    launches = matching(only, folder)
    # The simulator counts first, so that its errors do not cost the readings.
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
    """Return the entries of a row that describe its launch."""
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
    """Return the row with "simulator COUNTER" and "why COUNTER" for the counters that differ."""
    plain = {key: value for key, value in row.items() if not key.startswith(("simulator ", "why "))}
    for one in compare(launch, plain, counted):
        if not one.equal:
            plain |= {f"simulator {one.counter}": one.simulator, f"why {one.counter}": one.why}
    return plain


def recorded(launch: Case, row: Mapping[str, Any]) -> list[Compared]:
    """Return the comparison of a row of the record."""
    return [
        Compared(
            launch, name, row[name], row.get(f"simulator {name}", row[name]), row.get(f"why {name}")
        )
        for name in COMPARED
    ]


def table(compared: Sequence[Compared]) -> str:
    """Return a text table with a line for each launch and a column for each counter that differs.

    A cell is "=" for equal numbers, else simulator/ncu, with a * if the reason is known and stands
    below, and a ! if not.
    """
    differences = [one for one in compared if not one.equal]
    columns = [name for name in COMPARED if any(one.counter == name for one in differences)]
    lines: dict[str, list[str]] = {}
    for one in compared:
        cells = lines.setdefault(one.launch.label, [])
        if one.counter in columns:
            cells.append(str(one))
    head = ["launch", *(name.replace("_", "\n") for name in columns)]
    text = tables.text(head, [[label, *cells] for label, cells in lines.items()])
    reasons = dict.fromkeys(
        f"* {one.launch.kernel}, {one.counter}: {one.why}" for one in differences if one.why
    )
    return "\n".join([text, *reasons, summary(compared)])


def summary(compared: Sequence[Compared]) -> str:
    """Return how many numbers are equal, differ for a known reason, and differ for none."""
    known = sum(not one.equal and one.why is not None for one in compared)
    unknown = sum(not one.equal and one.why is None for one in compared)
    launches = len({one.launch.label for one in compared})
    kernels = len({one.launch.kernel for one in compared})
    return (
        f"{launches} launches of {kernels} kernels, {len(compared):,} numbers: "
        f"{sum(one.equal for one in compared):,} equal, "
        f"{known} differ for a known reason, {unknown} for none"
    )


def unexplained(compared: Sequence[Compared]) -> list[str]:
    """Return a text for each difference without a reason.

    It has the launch, the counter, both numbers, and the simulator's number by source line.
    """
    return [
        f"{one.launch.label}: {one.counter} {one.simulator:,} in the simulator, "
        f"{one.ncu:,} by ncu ({one.ncu - one.simulator:+,}); the simulator's by line: "
        f"{_by_line(one)}"
        for one in compared
        if not one.equal and one.why is None
    ]


def _by_line(one: Compared) -> str:
    space, access, what = one.counter.split("_")
    lines = one.launch.profile().lines
    rows = [row for row in lines if (row.space, row.access) == (space, access)]
    return ", ".join(f"{row.line} ({row.array}) {getattr(row, what):,}" for row in rows) or "none"


# --------------------------------------------------------------------------------------------------
# Records made of more than one run


def require_mergeable(before: results.Record, launches: Sequence[Case], gpu: device.Device) -> None:
    """Raise RecordError unless ``before`` can give the rows of the launches that did not run.

    launches: those that ran. The rows must come from the same GPU and CUDA, and from the present
    kernels and launches.
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
    """Return the version of CUDA that PyCUDA was built for, in the form of records."""
    import pycuda.driver as cuda

    return ".".join(map(str, cuda.get_version()))


def merged(rows: Sequence[Mapping[str, Any]], before: results.Record) -> list[dict[str, Any]]:
    """Return ``rows`` and the other rows of ``before``, in the order of `LAUNCHES`.

    "created" of a row of ``before`` is the time of its reading. Rows of launches that are no longer
    in `LAUNCHES` are dropped.
    """
    kept = {row["launch"]: {"created": before.created, **row} for row in before.rows()}
    by_label = kept | {row["launch"]: dict(row) for row in rows}
    return [by_label[launch.label] for launch in LAUNCHES if launch.label in by_label]


def explain(path: Path | str, folder: Path) -> results.Record:
    """Write the simulator's numbers and the reasons of `KNOWN` into a record's file again.

    ncu's readings and their times stay. Returns the record. Raises RecordError if it cannot be read
    or written.
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
        "--only", metavar="REGEX", default="", help="the launches whose label matches"
    )
    parser.add_argument(
        "--merge", metavar="RECORD", help="take the other launches from this record"
    )
    parser.add_argument(
        "--explain",
        metavar="RECORD",
        help="write the simulator's numbers of this record again, without a GPU",
    )
    # For the process under ncu.
    parser.add_argument("--launch", type=Path, metavar="SCRATCH", help=argparse.SUPPRESS)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison and print its table; return the exit status."""
    options = _parser().parse_args(argv)
    try:
        launches = matching(options.only, options.folder)
        if options.launch:
            launch_all(launches, options.launch)
            return 0
        if options.explain:
            return _report(explain(options.explain, options.folder), launches, recorded)
        record = _read(options, launches)
    except (NcuError, results.RecordError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    shown = matching("", options.folder) if options.merge else launches
    # On a GPU the simulator has just counted.
    return _report(record, shown, compare if record.recalled else recorded)


def _read(options: argparse.Namespace, launches: Sequence[Case]) -> results.Record:
    gpu = device.select()
    if not options.merge:
        return results.record(
            "counters", lambda: measure(options.only, options.folder), device=gpu, lab="counters"
        )
    if gpu.kind != "gpu":
        raise results.RecordError(
            "--merge adds what a GPU reads to a record, and there is no GPU here; "
            "--explain needs none"
        )
    before = results.load(options.merge)
    require_mergeable(before, launches, gpu)

    def rows() -> list[dict[str, Any]]:
        return merged(measure(options.only, options.folder), before)

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
        one
        for launch in launches
        if launch.label in read
        for one in side_by_side(launch, read[launch.label])
    ]
    print(f"{record.caption()}: simulator/ncu where they differ\n{table(compared)}")
    differences = unexplained(compared)
    print("\n".join(f"! {text}" for text in differences))
    return int(bool(missing or differences))


if __name__ == "__main__":
    sys.exit(main())
