"""Findings and counters as records that print themselves: text for a terminal, HTML for a notebook, dictionaries for files."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace

SECTOR_BYTES = 32
_KINDS = (
    "out-of-bounds",
    "misaligned",
    "race",
    "uninitialised",
    "barrier",
    "barrier",
    "runaway",
    "out-of-bounds",
    "out-of-bounds",
)
_OUT_OF_BOUNDS, _MISALIGNED, _RACE, _UNINITIALISED, _DIVERGENCE, _EXITED, _RUNAWAY, _READ_ONLY, _ROW_OVERRUN = range(9)
_VERBS = {0: "reads", 1: "writes", 2: "updates"}
_PAST = {0: "read", 1: "wrote", 2: "updated"}
_SPACES = ("global", "shared", "shared", "constant", "global")


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a launch, the first time it happened.

    kind: "out-of-bounds", "misaligned", "race", "uninitialised", "barrier" or "runaway"; severity: "error" or "warning";
    message: one sentence on what happened; cause: one sentence on what usually leads to it; line: of `file`, 0 if unknown;
    thread, block: (x, y, z); array, index: what was touched (index: int, or one int an axis; None where it does not apply);
    other_line: the line of the access or barrier that this one collides with; count: how often the same instruction did it.
    """

    kind: str
    message: str
    file: str
    line: int
    thread: tuple[int, int, int]
    block: tuple[int, int, int]
    array: str | None = None
    index: int | tuple[int, ...] | None = None
    severity: str = "error"
    cause: str = ""
    other_line: int | None = None
    count: int = 1
    source_lines: Mapping[int, str] = field(default_factory=dict, repr=False, compare=False)

    def __str__(self) -> str:
        times = f" ({self.count:,} times in this launch; this is the first)" if self.count > 1 else ""
        rows = [f"{self.kind}{'' if self.severity == 'error' else f' ({self.severity})'}: {self.message}{times}"]
        rows += [f"  {self.file}:{number}: {text}" for number, text in self.source_lines.items()]
        if self.cause:
            rows.append(f"  {self.cause}")
        return "\n".join(rows)

    def _repr_html_(self) -> str:
        return block_of_text(str(self), "#c0392b" if self.severity == "error" else "#b9770e")

    def to_dict(self) -> dict:
        return {**asdict(self), "source_lines": dict(self.source_lines)}


def block_of_text(text: str, colour: str) -> str:
    """Monospaced text behind a coloured bar; takes its colours from the page, so that it reads in light and dark themes."""
    return f'<pre style="border-left: 4px solid {colour}; padding-left: 0.8em; white-space: pre-wrap">{html.escape(text)}</pre>'


def describe_finding(raw, kernel, arrays: Mapping[int, object], block_shape: tuple[int, int, int]) -> Finding:
    """The engine's finding (a runtime.RawFinding) in words. `arrays` names the arrays by the engine's numbers."""
    return _Describer(raw, kernel, arrays, block_shape).finding()


def merge_findings(findings) -> tuple[Finding, ...]:
    """One finding for each fault: a line that the compiler unrolled is several instructions, but one line to the reader."""
    merged: dict[tuple, Finding] = {}
    for finding in findings:
        key = (finding.kind, finding.line, finding.other_line, finding.array)
        known = merged.get(key)
        merged[key] = replace(known, count=known.count + finding.count) if known else finding
    # A missing barrier shows as a race and as a read of nothing: the race says what to mend, so it comes first.
    return tuple(sorted(merged.values(), key=lambda f: f.kind == "uninitialised"))


class _Describer:
    def __init__(self, raw, kernel, arrays, block_shape):
        self.raw, self.kernel, self.block_shape = raw, kernel, block_shape
        self.array, self.offset = arrays.get(raw.region), raw.offset
        self.file = kernel.module.program.file
        self.source = kernel.module.program.source.splitlines()
        self.line = self.line_of(raw.here)
        self.other_line = None
        if raw.kind == _OUT_OF_BOUNDS:
            self._correct_guess(arrays)

    def _correct_guess(self, arrays) -> None:
        """The engine guesses the array that lies nearest; what the source line indexes, left or right of `=`, knows better."""
        left, equals, right = re.sub(r"[=!<>]=", "  ", self.text_of_line()).rpartition("=")
        side = left if self.raw.here.access == 1 else right
        candidates = [a for a in arrays.values() if a.start and re.search(rf"\b{re.escape(a.name)}\s*\[", side)]
        if equals and candidates and self.array is not None and self.array.start and self.array not in candidates:
            self.offset += self.array.start - candidates[0].start
            self.array = candidates[0]

    def text_of_line(self) -> str:
        return self.source[self.line - 1] if 0 < self.line <= len(self.source) else ""

    def line_of(self, place) -> int:
        if place.line:
            return place.line
        file, line = self.kernel.module.program.debug.place_of(place.pc - 1)
        return line if file == self.file else 0

    def thread(self, place) -> tuple[int, int, int]:
        x, y, _ = self.block_shape
        return (place.thread % x, place.thread // x % y, place.thread // (x * y))

    def who(self, place) -> str:
        return f"thread {self.thread(place)} of block {tuple(place.block)}"

    def finding(self) -> Finding:
        writers = {
            _OUT_OF_BOUNDS: self.out_of_bounds, _MISALIGNED: self.misaligned, _RACE: self.race, _UNINITIALISED: self.uninitialised,
            _DIVERGENCE: self.divergence, _EXITED: self.exited, _RUNAWAY: self.runaway, _READ_ONLY: self.read_only,
            _ROW_OVERRUN: self.row_overrun,
        }  # fmt: skip
        index, name, message, cause = writers[self.raw.kind]()
        lines = [n for n in (self.other_line, self.line) if n]
        shown = {n: self.source[n - 1].strip() for n in dict.fromkeys(lines) if n <= len(self.source)}
        return Finding(
            _KINDS[self.raw.kind], message, self.file, self.line, self.thread(self.raw.here), tuple(self.raw.here.block),
            name, index,
            "warning" if self.raw.kind == _EXITED else "error", cause, self.other_line, self.raw.count, shown,
        )  # fmt: skip

    def index(self) -> int | tuple[int, ...]:
        """The element that the access starts at, by axes inside an array of several."""
        width = self.array.element_bytes or self.raw.size
        flat = (self.offset - self.array.first_byte) // width
        if len(self.array.extents) < 2 or not 0 <= self.offset < self.array.nbytes:
            return flat
        axes = []
        for extent in reversed(self.array.extents):
            axes.append(flat % extent)
            flat //= extent
        return tuple(reversed(axes))

    def element(self) -> tuple[int | tuple[int, ...], str]:
        index = self.index()
        subscript = "".join(f"[{i}]" for i in index) if isinstance(index, tuple) else f"[{index}]"
        return index, f"{self.array.name}{subscript}"

    def extent(self) -> str:
        array = self.array
        if len(array.extents) > 1:
            return f"{array.name} is {array.element} {array.name}{''.join(f'[{e}]' for e in array.extents)}"
        count = array.nbytes // (array.element_bytes or self.raw.size)
        return f"{array.name} has {count:,} elements ({array.name}[0] to {array.name}[{count - 1}])"

    def out_of_bounds(self):
        here, verb = self.raw.here, _VERBS[self.raw.here.access]
        if self.array is None:
            where = f"address {self.raw.offset & (2**64 - 1):#x}"
            cause = "No array is there: is a pointer null, uninitialised, a host pointer, or an array that has been freed?"
            return None, None, f"{self.who(here)} {verb} {self.raw.size} bytes at {where}, outside every array", cause
        index, element = self.element()
        size = "" if self.raw.size == (self.array.element_bytes or self.raw.size) else f"{self.raw.size} bytes from "
        message = f"{self.who(here)} {verb} {size}{element}, but {self.extent()}"
        if isinstance(index, int) and 2**31 <= index < 2**32:
            wrapped = f"{index:,} is {index - 2**32} as an unsigned number"
            cause = f"{wrapped}: threadIdx and blockIdx are unsigned, so make the index an int first."
        elif self.array.space == "global":
            cause = (
                "Is a guard missing or off by one: at the array's ends (ghost cells), or in the last block, which may be partial?"
            )
        else:
            cause = "Is the array declared too small for the tile and both halos, or the index off by one?"
        return index, self.array.name, message, cause

    def row_overrun(self):
        here = self.raw.here
        type_text = self.raw.text.decode().strip("'").replace(" [", "[").replace("[", " [", 1)  # clang writes float[5]
        variable = self._indexed_array(type_text)
        indexed = set(re.findall(r"(\w+)\s*\[", self.text_of_line()))
        name = variable.name if variable else indexed.pop() if len(indexed) == 1 else None
        if variable and len(variable.extents) == 1:
            last = variable.extents[0] - 1
            extent = f"{name} has {last + 1:,} elements ({name}[0] to {name}[{last}])"
            message = f"{self.who(here)} uses {name}[{self.raw.offset}], but {extent}"
            cause = "Is the array declared too small for the tile and both halos, or the index off by one?"
        else:
            message = f"{self.who(here)} uses index {self.raw.offset} on {name or 'an array'}, on an axis declared as {type_text}"
            cause = "The index leaves its axis; inside a larger array it touches the next row unseen."
        return self.raw.offset, name, message, cause

    def _indexed_array(self, type_text: str):
        """The array on this source line whose declaration holds the type that was indexed: the compiler tells only the type."""
        text = self.text_of_line()
        for variable in self.kernel.module.variables.values():
            declared = f"{variable.element} " + "".join(f"[{e}]" for e in variable.extents)
            row = f"{variable.element} " + "".join(f"[{e}]" for e in variable.extents[1:])
            if f"{variable.name}[" in text.replace(" ", "") and type_text in (declared, row):
                return variable
        return None

    def misaligned(self):
        index, element = self.element()
        here, size = self.raw.here, self.raw.size
        message = f"{self.who(here)} {_VERBS[here.access]} {size} bytes at {element}, which is not {size}-byte aligned"
        return (
            index,
            self.array.name,
            message,
            f"A vector of {self.raw.size} bytes must start at a multiple of its size; a GPU ends the launch here.",
        )

    def read_only(self):
        index, element = self.element()
        message = f"{self.who(self.raw.here)} writes {element} in constant memory"
        return (
            index,
            self.array.name,
            message,
            "Constant memory is written by the host, with memcpy_htod to the symbol's address.",
        )

    def race(self):
        here, other = self.raw.here, self.raw.other
        self.other_line = self.line_of(other)
        index, element = self.element() if self.array else (None, "the same bytes")
        same_block = tuple(here.block) == tuple(other.block)
        between = "with no barrier between them" if same_block else "and nothing orders two blocks"
        first = f"{f'thread {self.thread(other)}' if same_block else self.who(other)} {_PAST[other.access]}"
        message = f"{self.who(here)} {_VERBS[here.access]} {element}, which {first} at line {self.other_line}, {between}"
        cause = (
            "On a GPU either may come first: a __syncthreads() is missing between the two lines."
            if same_block
            else "Blocks run in any order: let each block write its own part, use an atomic, or make it two launches."
        )
        return index, self.array.name if self.array else None, message, cause

    def uninitialised(self):
        index, element = self.element()
        message = f"{self.who(self.raw.here)} reads {element}, which nothing has written"
        shared = self.array.space == "shared"
        what = "Shared memory" if shared else "Fresh device memory"
        return (
            index,
            self.array.name,
            message,
            f"{what} holds leftovers, not zeros: was a part (a halo?) left out when it was filled?",
        )

    def divergence(self):
        here, other = self.raw.here, self.raw.other
        self.other_line = self.line_of(other)
        elsewhere = f"thread {self.thread(other)} at the one in line {self.other_line}"
        message = f"{self.who(here)} waits at the barrier in line {self.line}, {elsewhere}"
        return (
            None,
            None,
            message,
            "All threads of a block must meet at the same __syncthreads(): take it out of the branch.",
        )

    def exited(self):
        here, other = self.raw.here, self.raw.other
        message = f"{self.who(here)} waits at a barrier that thread {self.thread(other)} can no longer reach: it has returned"
        cause = (
            "Since Volta a thread that has exited does not hold the others up, but its share of the tile is not loaded: "
            "guard the store instead."
        )
        return None, None, message, cause

    def runaway(self):
        return (
            None,
            None,
            f"{self.who(self.raw.here)} was still running when the launch was stopped",
            "Does this loop end for every thread?",
        )


@dataclass(frozen=True)
class LineTraffic:
    """What one source line did to one array: warp requests, lanes, 32-byte sectors (global), wavefronts and conflicts (shared)."""

    line: int
    source: str
    access: str
    space: str
    array: str
    requests: int
    lanes: int
    bytes_used: int
    sectors: int
    wavefronts: int
    conflicts: int

    @property
    def bytes_moved(self) -> int:
        return self.sectors * SECTOR_BYTES

    @property
    def efficiency(self) -> float:
        """Bytes that lanes asked for, as a share of the bytes moved (may exceed 1: lanes that read the same word share it)."""
        return self.bytes_used / self.bytes_moved if self.bytes_moved else float("nan")


@dataclass(frozen=True)
class Request:
    """One instruction of the watched warp: which lanes took part, and the byte offset in the array that each touched."""

    kind: str
    space: str
    array: str
    line: int
    lanes: tuple[int, ...]
    offsets: tuple[int, ...]
    size: int


@dataclass(frozen=True)
class Profile:
    """One launch seen by the simulator. Counters bear the meaning of the Nsight Compute metrics that DESIGN names.

    Requests count warp instructions, sectors 32-byte pieces of global memory that they touch, wavefronts passes over the
    banks of shared memory, conflicts the passes beyond the first. Not modelled: time, caches, occupancy.
    nvcc may join neighbouring shared loads of one thread into one of 16 bytes, which a host compiler does not: a GPU then
    counts fewer shared wavefronts.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    findings: tuple[Finding, ...]
    completed: bool
    blocks_run: int
    blocks: int
    lines: tuple[LineTraffic, ...]
    requests: tuple[Request, ...] = field(repr=False)
    seconds: float = field(default=0.0, compare=False)

    def total(self, counter: str, space: str, access: str, array: str | None = None) -> int:
        """Sum of a LineTraffic counter over lines: total("sectors", "global", "load", array="N")."""
        return sum(
            getattr(row, counter)
            for row in self.lines
            if row.space == space and row.access == access and array in (None, row.array)
        )

    global_load_requests = property(lambda self: self.total("requests", "global", "load"))
    global_store_requests = property(lambda self: self.total("requests", "global", "store"))
    global_load_sectors = property(lambda self: self.total("sectors", "global", "load"))
    global_store_sectors = property(lambda self: self.total("sectors", "global", "store"))
    shared_load_requests = property(lambda self: self.total("requests", "shared", "load"))
    shared_store_requests = property(lambda self: self.total("requests", "shared", "store"))
    shared_load_wavefronts = property(lambda self: self.total("wavefronts", "shared", "load"))
    shared_store_wavefronts = property(lambda self: self.total("wavefronts", "shared", "store"))
    shared_load_conflicts = property(lambda self: self.total("conflicts", "shared", "load"))
    shared_store_conflicts = property(lambda self: self.total("conflicts", "shared", "store"))
    constant_load_requests = property(lambda self: self.total("requests", "constant", "load"))
    load_efficiency = property(lambda self: self._efficiency("load"))
    store_efficiency = property(lambda self: self._efficiency("store"))

    def _efficiency(self, access: str) -> float:
        moved = self.total("bytes_moved", "global", access)
        return self.total("bytes_used", "global", access) / moved if moved else float("nan")

    def counters(self) -> dict[str, int]:
        """The counters by name."""
        names = [f"{s}_{a}_{c}" for s in ("global", "shared") for a in ("load", "store") for c in _COUNTERS[s]]
        return {name: getattr(self, name) for name in [*names, "constant_load_requests"]}

    def __str__(self) -> str:
        part = "" if self.blocks_run == self.blocks else f", {self.blocks_run:,} of {self.blocks:,} blocks run (a sample)"
        part += "" if self.completed else "; stopped at a finding, so the counters are partial"
        rows = [f"{self.kernel}  grid {self.grid}  block {self.block}{part}"]
        rows += _table(_HEAD, [self._row(row) for row in self.lines])
        rows += [str(finding) for finding in self.findings] or ["no findings"]
        return "\n".join(rows)

    @staticmethod
    def _row(row: LineTraffic) -> tuple[str, ...]:
        is_global, is_shared = row.space == "global", row.space == "shared"
        return (
            str(row.line), f"{row.space} {row.access}", row.array, f"{row.requests:,}",
            f"{row.sectors:,}" if is_global else "", f"{row.efficiency:.0%}" if is_global else "",
            f"{row.wavefronts:,}" if is_shared else "", f"{row.conflicts:,}" if is_shared else "", row.source,
        )  # fmt: skip

    def _repr_html_(self) -> str:
        head = "".join(f"<th style='text-align: {'left' if k in _LEFT else 'right'}'>{h}</th>" for k, h in enumerate(_HEAD))
        body = "".join("<tr>" + "".join(_cell(k, text) for k, text in enumerate(self._row(row))) + "</tr>" for row in self.lines)
        title = html.escape(str(self).splitlines()[0])
        findings = "".join(f._repr_html_() for f in self.findings) or "<p>no findings</p>"
        return f"<p><b>{title}</b></p><table><tr>{head}</tr>{body}</table>{findings}"


_COUNTERS = {"global": ("requests", "sectors"), "shared": ("requests", "wavefronts", "conflicts")}
_HEAD = ("line", "access", "array", "requests", "sectors", "used", "wavefronts", "conflicts", "source")
_LEFT = {1, 2, 8}


def _cell(column: int, text: str) -> str:
    shown = f"<code>{html.escape(text)}</code>" if column == 8 else html.escape(text)
    return f"<td style='text-align: {'left' if column in _LEFT else 'right'}'>{shown}</td>"


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[k]) for row in [head, *rows]) for k in range(len(head))]

    def line(row):
        return "  ".join(
            t.ljust(w) if k in _LEFT else t.rjust(w) for k, (t, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()

    return [line(head), *map(line, rows)]


def profile_of(report, kernel, grid, block) -> Profile:
    """The launch's Profile from a runtime.LaunchReport with the traffic observer on."""
    accesses = {0: "load", 1: "store", 2: "atomic"}
    program = kernel.module.program
    source = program.source.splitlines()

    def line_of(pc: int) -> int:
        file, line = program.debug.place_of(pc - 1)
        return line if file == program.file else 0

    rows: dict[tuple, list[int]] = {}
    for site in report.sites:
        name = report.arrays[site.region].name if site.region in report.arrays else "?"
        key = (line_of(site.pc), accesses[site.access], _SPACES[site.space], name)
        row = rows.setdefault(key, [0] * 6)
        for k, value in enumerate(
            (site.requests, site.lanes, site.lanes * site.size, site.sectors, site.wavefronts, site.conflicts)
        ):
            row[k] += value
    lines = tuple(
        LineTraffic(key[0], source[key[0] - 1].strip() if 0 < key[0] <= len(source) else "", *key[1:], *row)
        for key, row in sorted(rows.items())
    )
    grouped: dict[int, list] = {}
    for lane in report.watched:
        grouped.setdefault(lane.request, []).append(lane)
    requests = tuple(
        Request(
            accesses[lanes[0].access], _SPACES[lanes[0].space],
            report.arrays[lanes[0].region].name if lanes[0].region in report.arrays else "?", line_of(lanes[0].pc),
            tuple(lane.lane for lane in lanes),
            tuple(lane.offset - getattr(report.arrays.get(lane.region), "first_byte", 0) for lane in lanes), lanes[0].size,
        )
        for lanes in grouped.values()
    )  # fmt: skip
    return Profile(
        kernel.name,
        grid,
        block,
        report.findings,
        report.completed,
        report.blocks_run,
        report.blocks,
        lines,
        requests,
        report.seconds,
    )
