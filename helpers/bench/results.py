"""The records of the labs: measurements with their device and sources, also inside figures.

A record is JSON, schema version 1, with sorted keys, in ``results/<name>.json`` (or in the folder
of the environment variable LAB_RESULTS). Without a GPU, :func:`record` returns the repository's own
record of the same name from data/measured/ instead, and its caption says so.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import html
import io
import itertools
import json
import math
import os
import platform
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import kernels, labs, tables
from helpers.bench import old_records, png
from helpers.bench.timing import Timing
from helpers.problems.measured import CPU_SOURCES, MEASURED, ROOT
from helpers.quantities import quantity
from helpers.simulator.compile import notices

if TYPE_CHECKING:
    from helpers.device import Device

SCHEMA = 1
PNG_KEY = "halo-labs-record"
UNNAMED = "bench"  # the record of experiments that name none

# The entries of a measurement that its timing fills.
FROM_TIMING = ("median_ms", "low_ms", "high_ms", "samples", "what", "cache")
# What a measurement finds, beside the entries that name it.
OUTCOMES = ("ratio", "low", "high", "registers", "relative_error", "code_sha256")
_NUMBERS = {*OUTCOMES, *FROM_TIMING}
_NAMED = 8  # keys that an error lists
_UNFINISHED = "unfinished"  # the key of a record's file whose parts are not all there yet


class RecordError(RuntimeError):
    """A record cannot be read or written; the message says which file, why, and what to do."""


@dataclass(frozen=True)
class Measurement:
    """One row of a record. series: such as a kernel's name. parameters: plain scalars."""

    series: str
    parameters: dict[str, Any]
    timing: Timing | None

    def row(self) -> dict[str, Any]:
        """Return one flat dict: times in ms (median_ms, low_ms, high_ms), their count (samples)."""
        row = {"series": self.series} | self.parameters
        if self.timing is not None:
            t = self.timing
            row |= dict(
                zip(FROM_TIMING, (t.median, t.low, t.high, t.n, t.what, t.cache), strict=True)
            )
        return row


@dataclass(frozen=True, repr=False)
class Record:
    """Measurements with their provenance.

    created: UTC, ISO 8601. sources: for each measured kernel, the sha256 of its code with its
    headers, and for programs of the CPU that of their file in helpers/problems/cpu/. software:
    versions by name, None for software that was not used. recalled: whether it was read from
    data/measured/ because there is no GPU here. committed: whether it was read from there at all.
    """

    name: str
    lab: str
    created: str
    device: Device
    software: dict[str, str | None]
    sources: dict[str, str]
    measurements: tuple[Measurement, ...]
    schema: int = SCHEMA
    recalled: bool = field(default=False, compare=False)
    committed: bool = field(default=False, compare=False)

    def caption(self, *, cpu: bool = False) -> str:
        """Return "Measured on <device>, <date>", or "Recorded on ..." for one of data/measured/.

        cpu: whether to name, beside the GPU, the processor that ran the programs of the CPU. A
        record without times of the GPU names that processor alone.
        """
        if not self.measurements:
            return "Nothing was timed (no GPU here)"
        where = f"{self._where(cpu)}, {self.created[:10]}"
        if self.recalled:
            return f"Recorded on {where} (no GPU here)"
        return f"{'Recorded' if self.committed else 'Measured'} on {where}"

    def _where(self, cpu: bool) -> str:
        timed_on = {m.timing.device for m in self.measurements if m.timing is not None}
        # The simulator has no times, so that such timings are the host's.
        processors = sorted(timed_on - {self.device.name})
        if self.device.name not in timed_on:
            return ", ".join(processors) or self.device.name
        return " and ".join([self.device.name, *(processors if cpu else ())])

    def series(self, name: str) -> tuple[Measurement, ...]:
        """Return the measurements of one series. Raises KeyError for another series."""
        measurements = tuple(m for m in self.measurements if m.series == name)
        if not measurements:
            there = ", ".join(dict.fromkeys(m.series for m in self.measurements))
            raise KeyError(f"record {self.name} has no series {name!r}; it has: {there}")
        return measurements

    def rows(self) -> list[dict[str, Any]]:
        """Return one flat dict for each measurement (see :meth:`Measurement.row`)."""
        return [m.row() for m in self.measurements]

    def comparable(self) -> list[dict[str, Any]]:
        """Return the rows in the form of the bench, also those of earlier versions of a lab.

        A ratio is then the time over the baseline's ("over"), with "low" and "high".
        """
        return [old_records.comparable(self.name, row) for row in self.rows()]

    def select(self, **where: Any) -> list[dict[str, Any]]:
        """Return the comparable rows that have all these entries, such as layer="layer 1".

        A tuple or a list stands for any of its values.
        """

        def fits(row: Mapping[str, Any], key: str, value: Any) -> bool:
            values = value if isinstance(value, tuple | list) else (value,)
            return key in row and row[key] in values

        return [
            row
            for row in self.comparable()
            if all(fits(row, key, value) for key, value in where.items())
        ]

    def some(self, **where: Any) -> list[dict[str, Any]]:
        """Return the comparable rows with these entries, as `select` does, at least one.

        Raises KeyError for no such row.
        """
        rows = self.select(**where)
        if not rows:
            known = {
                key: sorted({str(row.get(key)) for row in self.comparable()})
                for key in ("series", *where)
            }
            there = "; ".join(f"{key}: {', '.join(values)}" for key, values in known.items())
            raise KeyError(f"record {self.name} has no row with {where}; there is {there}")
        return rows

    def one(self, **where: Any) -> dict[str, Any]:
        """Return the only comparable row with these entries.

        Raises KeyError for no such row, and for several.
        """
        rows = self.some(**where)
        if len(rows) > 1:
            keys = dict.fromkeys(key for row in rows for key in row if key not in _NUMBERS)
            apart = [key for key in keys if len({str(row.get(key)) for row in rows}) > 1]
            entries = f"name one more entry, of {', '.join(apart)}"
            advice = entries if apart else "no entry tells them apart, so read them by `some`"
            raise KeyError(
                f"record {self.name} has {quantity(len(rows), 'row')} with {where}: {advice}"
            )
        return rows[0]

    def by(self, *keys: str, **where: Any) -> Selection:
        """Return the comparable rows with these entries, by the value of another entry.

        Several keys make tuples of values. Rows without one of these entries are left out. Raises
        KeyError for several rows of one value.
        """
        return self._by(keys, where, self.select(**where))

    def ms(self, *keys: str, **where: Any) -> Selection:
        """Return the median times of the rows with these entries, by the values of others, as `by`.

        Rows without a time are left out. Raises KeyError for no such row, and as `by`.
        """
        timed = [row for row in self.some(**where) if row.get("median_ms") is not None]
        rows = self._by(keys, where, timed)
        return Selection(self, {key: row["median_ms"] for key, row in rows.items()})

    def _by(self, keys: Sequence[str], where: Any, chosen: Iterable[dict[str, Any]]) -> Selection:
        rows = Selection(self, {})
        for row in chosen:
            values = tuple(row.get(key) for key in keys)
            if None in values:
                continue
            name = values if len(keys) > 1 else values[0]
            if name in rows:
                raise KeyError(
                    f"record {self.name} has several rows with {where} and {', '.join(keys)} "
                    f"{name!r}: name more entries"
                )
            rows[name] = row
        return rows

    def changed_sources(self) -> tuple[str, ...]:
        """Return the kernels whose source has changed since the measurement, or is gone; likewise
        the files of programs of the CPU."""
        known = set(kernels.names()) | {path.name for path in CPU_SOURCES.glob("*.cpp")}
        return tuple(
            k for k, sha in sorted(self.sources.items()) if k not in known or _sha256(k) != sha
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, without ``recalled``, which is no part of the file."""
        return {
            "schema": self.schema,
            "name": self.name,
            "lab": self.lab,
            "created": self.created,
            "device": self.device.to_dict(),
            "software": self.software,
            "sources": self.sources,
            "measurements": [
                {
                    "series": m.series,
                    "parameters": m.parameters,
                    "timing": m.timing and m.timing.to_dict(),
                }
                for m in self.measurements
            ],
        }

    def to_json(self, unfinished: Mapping[str, Any] | None = None) -> str:
        """Return the record's text, with sorted keys and the samples of a timing on one line.

        unfinished: what all rows of the part have that is being measured; None for a whole record.
        """
        part = {} if unfinished is None else {_UNFINISHED: dict(unfinished)}
        text = json.dumps(self.to_dict() | part, sort_keys=True, indent=1, allow_nan=False)
        return (
            re.sub(r'"samples": \[[^\]]*\]', lambda samples: " ".join(samples[0].split()), text)
            + "\n"
        )

    def __repr__(self) -> str:
        columns, cells = self._table()
        return f"{self.name}. {self.caption(cpu=True)}\n{tables.text(columns, cells, left=())}"

    def _repr_html_(self) -> str:
        """Return an HTML table without colours; the notebook's theme sets them."""
        columns, cells = self._table()

        def row(tag: str, texts: Iterable[str]) -> str:
            return (
                "<tr>" + "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts) + "</tr>"
            )

        body = "".join(row("td", line) for line in cells)
        caption = html.escape(f"{self.name}. {self.caption(cpu=True)}")
        head = row("th", columns)
        return (
            f"<table><caption>{caption}</caption><thead>{head}</thead><tbody>{body}</tbody></table>"
        )

    def _table(self) -> tuple[list[str], list[list[str]]]:
        rows = self.rows()
        columns = list(dict.fromkeys(key for row in rows for key in row))
        return columns, [[_cell(row.get(column)) for column in columns] for row in rows]


class Selection(dict[Any, Any]):
    """Numbers or rows of a record, by what names them. Another key raises KeyError, which names the
    record.
    """

    def __init__(self, record: Record, found: Mapping[Any, Any]):
        super().__init__(found)
        self._record = record.name

    def __missing__(self, key: Any) -> Any:
        there = ", ".join(map(repr, itertools.islice(self, _NAMED)))
        more = ", ..." if len(self) > _NAMED else ""
        raise KeyError(f"record {self._record} has no row of {key!r}; it has: {there}{more}")


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


# --------------------------------------------------------------------------------------------------
# Creating and reading records


def record(
    name: str,
    measure: Callable[[], Iterable[Mapping[str, Any]]],
    *,
    device: Device,
    lab: str,
    needs_gpu: bool = True,
) -> Record:
    """Measure, write ``results/<name>.json`` and return the record; in the simulator, recall it.

    measure: a function that returns dicts such as {"series": "conv1d_basic", "n": 1000000,
    "timing": Timing or None}; other entries are plain scalars, of NumPy, too. If a series, or an
    entry "kernel", is the name of a kernel, the record has the hash of its source; an entry
    "cpu_source" names a file of helpers/problems/cpu/ in the same way. In the simulator, the
    function returns the repository's record and does not measure, unless ``needs_gpu=False`` (host
    measurements).

    Raises RecordError, before it measures, if the results folder cannot be written, and if there is
    no recorded measurement; ValueError or TypeError for a malformed measurement or name.
    """
    _require_name(name)
    if device.kind != "gpu" and needs_gpu:
        return recall(name)
    _writable_folder()
    rows = notices.counted(f"Measuring {name}", measure())
    measurements = tuple(_measurement(row) for row in rows)
    if not measurements:
        raise ValueError(f"record {name}: measure() returned no measurements")
    return _written(name, lab, device, measurements)


Part = tuple[Mapping[str, Any], Callable[[], Iterable[Mapping[str, Any]]]]


def continued(name: str, parts: Iterable[Part], *, device: Device, lab: str) -> Record:
    """Measure part by part, write each row as it comes, and go on where an earlier call stopped.

    parts: the entries that all rows of a part have, such as {"layer": "layer 1", "batch": 100}, and
    a function that measures these rows, as that of `record`. While a part is measured, the file
    says which one. The next call keeps the parts that are whole, if the device, the versions and
    the sources are the same, and measures the others. A whole record is measured anew. Without a
    GPU, it returns the repository's record. Errors: as for `record`.
    """
    _require_name(name)
    if device.kind != "gpu":
        return recall(name)
    kept = _unfinished(name, device)
    for where, measure in parts:
        if any(_is_of(one, where) for one in kept):
            print(f"{_titled(where)}: measured by an earlier call", flush=True)
            continue
        if kept:  # the parts before this one are whole
            _written(name, lab, device, tuple(kept), unfinished=where)
        for row in measure():
            kept.append(_measurement(row))
            _written(name, lab, device, tuple(kept), unfinished=where)
    if not kept:
        raise ValueError(f"record {name}: nothing was measured")
    return _written(name, lab, device, tuple(kept))


def _unfinished(name: str, device: Device) -> list[Measurement]:
    """Return the measurements of the whole parts that a stopped `continued` has left."""
    path = _writable_folder() / f"{name}.json"
    if not path.exists():
        return []
    try:
        found, part = load(path), json.loads(path.read_text(encoding="utf-8")).get(_UNFINISHED)
    except RecordError as error:
        print(f"{error}; it is measured again")
        return []
    if part is None:
        return []
    same = (found.device.name, found.software) == (device.name, _software(device))
    if not same or found.changed_sources():
        print(f"{path} has another device, version or source: it is measured again")
        return []
    return [one for one in found.measurements if not _is_of(one, part)]


def _is_of(one: Measurement, where: Mapping[str, Any]) -> bool:
    return all(one.parameters.get(key) == value for key, value in where.items())


def _titled(where: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in where.items())


# The records that `extend` has begun in this process.
_begun: dict[str, dict[Any, Measurement]] = {}

def extend(name: str, rows: Iterable[Mapping[str, Any]]) -> Record:
    """Add rows to a record, write ``results/<name>.json`` and return the whole record.

    The first call of a process begins a new record. A row with the entries of an earlier one takes
    its place, so that a cell may run again. The record's lab is the notebook with the number in
    front of ``name``, the deeper one for a name such as "104_deeper_widths". rows and errors: as
    for `record`; the device is the selected one.
    """
    from helpers.device import select

    _require_name(name)
    _writable_folder()
    begun = _begun.setdefault(name, {})
    for row in notices.counted(f"Measuring {name}", rows):
        one = _measurement(row)
        named = {key: value for key, value in one.parameters.items() if key not in OUTCOMES}
        begun[one.series, tuple(sorted(named.items(), key=str))] = one
    if not begun:
        raise ValueError(f"record {name}: nothing was measured")
    return _written(name, _lab_of(name), select(), tuple(begun.values()))


def extended(name: str, rows: Callable[[], Iterable[Mapping[str, Any]]]) -> Record:
    """Return a record with rows that are measured now; without a GPU, the repository's record.

    rows, errors: as for `extend`, and as for `recall`.
    """
    from helpers.device import select

    return extend(name, rows()) if select().kind == "gpu" else recall(name)


def _lab_of(record: str) -> str:
    """Return the notebook of a record: "104_deeper..." is of that one, "104_..." of the lab."""
    deeper = [path.stem for path in labs.deeper() if record.startswith(path.stem)]
    number = labs.number(record)
    named = [path.stem for path in labs.notebooks() if labs.number(path.stem) == number]
    return next(iter(deeper + named), record)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _written(
    name: str,
    lab: str,
    device: Device,
    measurements: tuple[Measurement, ...],
    unfinished: Mapping[str, Any] | None = None,
) -> Record:
    """Write a record and return it. unfinished: the part of it that is being measured."""
    new = Record(
        name=name,
        lab=lab,
        created=_now(),
        device=device,
        software=_software(device),
        sources=_sources(measurements),
        measurements=measurements,
    )
    with _replacing(_writable_folder() / f"{name}.json") as file:
        file.write(new.to_json(unfinished).encode())
    return new


def load(path: Path | str) -> Record:
    """Return the record of a JSON file. Raises RecordError for a missing, damaged or other file."""
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise RecordError(f"there is no record {path}; run its lab first") from None
    except (OSError, UnicodeDecodeError) as error:
        raise RecordError(f"{path} cannot be read ({error}); measure again") from error
    committed = path.resolve().parent == MEASURED.resolve()
    return dataclasses.replace(_parse(text, str(path)), committed=committed)


def recorded(name: str) -> Record:
    """Return the repository's record of this name. Raises RecordError."""
    return load(MEASURED / f"{name}.json")


def recall(name: str) -> Record:
    """Return the repository's record of this name, for where there is no GPU.

    UNNAMED is a record without measurements. Raises RecordError if there is none of another name.
    """
    if name == UNNAMED:
        from helpers.device import select

        return Record(name, name, _now(), select(), {}, {}, (), recalled=True)
    path = MEASURED / f"{name}.json"
    if not path.exists():
        raise RecordError(
            f"there is no GPU here, and no recorded measurement {path} to show instead. "
            f"Run the lab on a machine with an NVIDIA GPU and copy results/{name}.json there."
        )
    return dataclasses.replace(load(path), recalled=True)


def _parse(text: str, where: str) -> Record:
    from helpers.device import Device

    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        body = text.rstrip()
        if not body or (
            body.startswith("{") and (not body.endswith("}") or error.pos >= len(body))
        ):
            raise RecordError(
                f"{where} is cut off after {quantity(len(text), 'character')}; measure again"
            ) from None
        raise RecordError(f"{where} is not JSON ({error}); measure again") from error
    schema = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(schema, int):
        raise RecordError(f"{where} is not a record of these labs: it has no schema version")
    if schema < SCHEMA:
        raise RecordError(
            f"{where} has the older schema {schema}, and this version reads {SCHEMA}; measure again"
        )
    if schema > SCHEMA:
        raise RecordError(
            f"{where} has the newer schema {schema}, and this version reads {SCHEMA}; "
            "update the labs"
        )
    try:
        measurements = tuple(
            Measurement(
                m["series"],
                _one_schema(m["parameters"]),
                m["timing"] and Timing.from_dict(m["timing"]),
            )
            for m in data["measurements"]
        )
        kept = {key: data[key] for key in ("name", "lab", "created", "software", "sources")}
        return Record(device=Device.from_dict(data["device"]), measurements=measurements, **kept)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordError(
            f"{where} lacks or garbles a part of a record ({error!r}); measure again"
        ) from error


def _require_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise ValueError(f"{name!r} cannot name a record; use letters, digits, _ and -")


def _measurement(row: Mapping[str, Any]) -> Measurement:
    parameters = _one_schema(row)
    series, timing = parameters.pop("series", None), parameters.pop("timing", None)
    if not isinstance(series, str) or not series:
        raise ValueError(
            f'a measurement needs a "series", such as the kernel\'s name; got {dict(row)!r}'
        )
    if timing is not None and not isinstance(timing, Timing):
        raise TypeError(
            f"{series}: timing is a {type(timing).__name__}; "
            "give what helpers.bench.timing returned, or None"
        )
    if taken := [key for key in parameters if key in FROM_TIMING]:
        raise ValueError(
            f"{series}: {', '.join(taken)} would hide a column that the timing fills; "
            "use other names"
        )
    return Measurement(
        series, {key: _scalar(value, series, key) for key, value in parameters.items()}, timing
    )


def _one_schema(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a row; the ends of a ratio's interval are "low" and "high".

    Earlier records call them "ratio_low" and "ratio_high".
    """
    ends = {"ratio_low": "low", "ratio_high": "high"}
    return {ends.get(key, key): value for key, value in parameters.items()}


def _scalar(value: Any, series: str, key: str) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if not (value is None or isinstance(value, str | bool | int | float)):
        raise TypeError(
            f"{series}: {key} is a {type(value).__name__}; a record holds texts, numbers, "
            "bools and None"
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{series}: {key} is {value}; use None where there is no number")
    return value


def _sources(measurements: Iterable[Measurement]) -> dict[str, str]:
    measurements = tuple(measurements)
    named = {str(name) for m in measurements for name in (m.series, m.parameters.get("kernel"))}
    named &= set(kernels.names())
    named |= {m.parameters["cpu_source"] for m in measurements if "cpu_source" in m.parameters}
    return {name: _sha256(name) for name in sorted(named)}


def _sha256(name: str) -> str:
    """Return `source_sha256` of a kernel, or the sha256 of a file of helpers/problems/cpu/."""
    if name.endswith(".cpp"):
        text = (CPU_SOURCES / name).read_text(encoding="utf-8")
        return hashlib.sha256(kernels.code(text).encode()).hexdigest()
    return source_sha256(name, kernels.FOLDER)


def source_sha256(name: str, folder: Path) -> str:
    """Return the sha256 of a kernel's code and of the headers in its folder that it includes, and
    that these include.

    Comments and line breaks do not count, because they do not change the measured code.
    """
    files = [f"{name}.cu"]
    sources = []
    for file in files:  # grows by the headers of each file
        text = (folder / file).read_text(encoding="utf-8")
        headers = re.findall(r'^#include "(.+)"', text, re.MULTILINE)
        files += [header for header in dict.fromkeys(headers) if header not in files]
        sources.append(kernels.code(text))
    return hashlib.sha256("\n".join(sources).encode()).hexdigest()


def _software(device: Device) -> dict[str, str | None]:
    versions: dict[str, str | None] = {"python": platform.python_version(), "numpy": np.__version__}
    versions |= {"pycuda": None, "cuda_driver": None, "cuda_runtime": None}
    if device.kind == "gpu":
        import pycuda
        import pycuda.driver as cuda

        driver = cuda.get_driver_version()  # 13000 is CUDA 13.0
        versions["pycuda"] = pycuda.VERSION_TEXT
        versions["cuda_driver"] = f"{driver // 1000}.{driver % 1000 // 10}"
        versions["cuda_runtime"] = ".".join(map(str, cuda.get_version()))
    return versions


# --------------------------------------------------------------------------------------------------
# Files


def folder() -> Path:
    """Return the results folder: the value of LAB_RESULTS, else results/ in the repository."""
    return Path(os.environ.get("LAB_RESULTS") or ROOT / "results").expanduser().resolve()


def _writable_folder() -> Path:
    target = folder()
    try:
        target.mkdir(parents=True, exist_ok=True)
        probe = target / f".writable-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise RecordError(
            f"the results folder {target} cannot be written ({error.strerror}). "
            "Set the environment variable LAB_RESULTS to a folder that can be, "
            "and run the cell again."
        ) from error
    return target


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[io.BufferedWriter]:
    """Write to a file beside ``path`` and rename it, so that no reader sees a part of a file."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            yield file
        os.replace(part, path)
    except OSError as error:
        raise RecordError(
            f"{path} cannot be written ({error.strerror}). Free the disk or make "
            "the folder writable, or set the environment variable LAB_RESULTS to another folder, "
            "and run the cell again."
        ) from error
    finally:
        part.unlink(missing_ok=True)


def save_figure(fig: Any, name: str, record: Record | None = None) -> Path:
    """Save a Matplotlib figure as ``results/<name>.png`` and return its path.

    The PNG's metadata contain the record, so that a single picture has its numbers. The background
    is opaque white, for dark themes. The figure keeps the layout that it has in the file. A
    notebook shows the picture of the file, without its metadata, until the figure changes. Raises
    RecordError if the folder cannot be written.
    """
    _require_name(name)
    path = _writable_folder() / f"{name}.png"
    metadata = {} if record is None else {PNG_KEY: record.to_json()}
    drawn = io.BytesIO()
    fig.savefig(
        drawn,
        format="png",
        metadata=metadata,
        facecolor="white",
        transparent=False,
        bbox_inches="tight",
    )
    with _replacing(path) as file:
        file.write(drawn.getvalue())
    fig.set_layout_engine("none")
    _show_as_saved(fig, png.without_texts(drawn.getvalue()))
    return path


def _show_as_saved(fig: Any, picture: bytes) -> None:
    """Let IPython take the picture of a figure that has not changed since, because drawing it again
    takes as long as the first time.
    """
    draw = fig.canvas.print_figure

    def print_figure(file: Any, **how: Any) -> Any:
        shown = {"facecolor": (1, 1, 1, 1), "edgecolor": fig.get_edgecolor(), "dpi": fig.dpi}
        if fig.stale or how != {"format": "png", "bbox_inches": "tight", **shown}:
            return draw(file, **how)
        return file.write(picture)

    fig.canvas.print_figure = print_figure
    fig.stale = False  # savefig sets it when it gives the page its size back.
