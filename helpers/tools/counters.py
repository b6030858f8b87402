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

The exit status is 0 if every number is equal or its difference is one of `KNOWN`; 1 if one is not,
or if a launch is not in the record; 2 if ``ncu``, an option or a record cannot be used.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers import device
from helpers.bench import results
from helpers.tools import counter_readings
from helpers.tools.counter_cases import LAUNCHES, Case, matching
from helpers.tools.counter_comparison import (
    Compared,
    annotated,
    compare,
    count,
    recorded,
    table,
    unexplained,
)
from helpers.tools.ncu import NcuError


def measure(only: str, folder: Path) -> list[dict[str, Any]]:
    """Return a row for each launch of ``matching(only, folder)``, for ``results.record``.

    It has ncu's counters and the differences of `annotated`. Raises as `read_with_ncu` does.
    """
    launches = matching(only, folder)
    # The simulator counts first, so that its errors do not cost the readings.
    counted = [count(launch) for launch in launches]
    rows = []
    for launch, read, ours in zip(
        launches, counter_readings.read_with_ncu(only, folder), counted, strict=True
    ):
        row: dict[str, Any] = {"series": launch.kernel, **_identity(launch)}
        row |= {
            name: sum(int(read.get(metric, 0)) for metric in metrics)
            for name, metrics in counter_readings.COMPARED.items()
        }
        rows.append(
            annotated(launch, row, ours)
            | {key: value for key, value in read.items() if key not in _METRICS}
        )
    return rows


_METRICS = frozenset(metric for several in counter_readings.COMPARED.values() for metric in several)


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
            counter_readings.launch_all(launches, options.launch)
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
