"""The simulator's counters beside those of Nsight Compute, launch by launch.

    python -m evidence.counters FOLDER [--only REGEX]

FOLDER has the kernels that are launched only to be counted (.cu files); the others are those of
kernels/. On a GPU host, the launches of `LAUNCHES` run under ``ncu`` (one call for all of them,
through PyCUDA in the primary context), and in the simulator. A table says where the two agree, and
``results/counters.json`` has the readings (copy it to ``data/measured/``). Without a GPU, the
recorded numbers replace ``ncu``, and the simulator counts again. --only chooses launches by a
regular expression that matches their label.

The tool prints every difference without a reason in `KNOWN` by launch and counter, with the source
lines of the simulator's number. The exit status is 0 if there is none; 1 if there is one, or if a
launch is not in the record; 2 if ``ncu``, an option or a record cannot be used.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from evidence.counters import readings as counter_readings
from evidence.counters.cases import Case, matching
from evidence.counters.comparison import compare, count, table, unexplained
from evidence.ncu import NcuError
from helpers import device
from helpers.bench import results

Counted = Mapping[str, Mapping[str, int]]  # by label, the simulator's counters of a launch


def measure(only: str, folder: Path, counted: Counted) -> list[dict[str, Any]]:
    """Return a row for each launch of ``matching(only, folder)``, for ``results.record``.

    It has ncu's counters, and "simulator COUNTER" for those that differ. Raises as `read_with_ncu`
    does.
    """
    launches = matching(only, folder)
    rows = []
    for launch, read in zip(launches, counter_readings.read_with_ncu(only, folder), strict=True):
        row: dict[str, Any] = {"series": launch.kernel, **_identity(launch)}
        row |= {
            name: sum(int(read.get(metric, 0)) for metric in metrics)
            for name, metrics in counter_readings.COMPARED.items()
        }
        row |= {
            f"simulator {one.counter}": one.simulator
            for one in compare(launch, row, counted[launch.label])
            if not one.equal
        }
        row |= {key: value for key, value in read.items() if key not in _METRICS}
        rows.append(row)
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m evidence.counters", description=__doc__.partition("\n")[0]
    )
    parser.add_argument(
        "folder", type=Path, help="the kernels that are launched only to be counted, as .cu files"
    )
    parser.add_argument(
        "--only", metavar="REGEX", default="", help="the launches whose label matches"
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
        gpu = device.select()
        # The simulator counts first, so that its errors do not cost the readings.
        counted = {launch.label: count(launch) for launch in launches}
        read = partial(measure, options.only, options.folder, counted)
        record = results.record("counters", read, device=gpu, lab="counters")
    except (NcuError, results.RecordError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return _report(record, launches, counted)


def _report(record: results.Record, launches: Sequence[Case], counted: Counted) -> int:
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
        for one in compare(launch, read[launch.label], counted[launch.label])
    ]
    print(f"{record.caption()}: simulator/ncu where they differ\n{table(compared)}")
    differences = unexplained(compared)
    print("\n".join(f"! {text}" for text in differences))
    return int(bool(missing or differences))


if __name__ == "__main__":
    sys.exit(main())
