"""Counters as records that print themselves: the memory traffic of a launch by source line and by
array, and the comparison of two launches.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise

import numpy as np

from helpers import tables

from . import bounds, instructions
from .bounds import Bounds, Counts
from .findings import Finding
from .launch import LaunchReport
from .library import Site
from .module import Kernel

SECTOR_BYTES = 32
# The machine keeps so many requests of the watched warp (watched_limit in machine/traffic.h).
WATCHED_REQUESTS = 4096

# The spaces by their numbers in the machine (Space in machine/memory.h).
_SPACES = ("global", "shared", "shared", "constant", "global", "local")
_ACCESSES = ("load", "store", "atomic", "barrier", "branch")
_BARRIER, _BRANCH = 3, 4


# ---- the records ----


class _Traffic:
    """The properties that LineTraffic and ArrayTraffic compute from their counters."""

    requests: int
    lanes: int
    bytes_used: int
    sectors: int

    @property
    def bytes_moved(self) -> int:
        return self.sectors * SECTOR_BYTES

    @property
    def efficiency(self) -> float:
        """The bytes that lanes requested, as a share of the bytes that the sectors move. It may
        exceed 1, because lanes that read the same word share it.
        """
        return self.bytes_used / self.bytes_moved if self.bytes_moved else float("nan")

    @property
    def active_lanes(self) -> float:
        """The average number of lanes in a request: 32 if no lane was inactive."""
        return self.lanes / self.requests if self.requests else float("nan")


@dataclass(frozen=True)
class LineTraffic(_Traffic):
    """The traffic between one source line and one array.

    access: "load", "store" or "atomic"; space: "global", "shared", "constant" or "local"; requests:
    warp instructions; lanes: lanes that took part; bytes_used: bytes that lanes requested; sectors:
    sectors of 32 bytes that the requests move (global); wavefronts, conflicts: passes over the
    banks, and passes beyond the first (shared); replays: different words in a request beyond the
    first (constant); serialised: turns beyond the first of lanes that update one address (atomics);
    repeated: stores of a value that another thread has just stored there, which is no race; model:
    "sass" if the kernel's machine code says how every access counts, "rule" if rules predict what
    ptxas makes of it.
    """

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
    replays: int = 0
    serialised: int = 0
    repeated: int = 0
    model: str = field(default="rule", compare=False)


@dataclass(frozen=True)
class ArrayTraffic(_Traffic):
    """The traffic of a launch to one array by one kind of access: the sum of its LineTraffic, and
    the lines.
    """

    array: str
    access: str
    space: str
    lines: tuple[int, ...]
    requests: int
    lanes: int
    bytes_used: int
    sectors: int
    wavefronts: int
    conflicts: int
    replays: int
    serialised: int
    repeated: int


@dataclass(frozen=True)
class LineControl:
    """Barriers and divergent branches of one source line.

    kind: "barrier": `count` warps came to it, with `lanes` lanes; "branch": the lanes of a warp
    parted `count` times, and `lanes` lanes had to wait for the others. A branch that the compiler
    turned into a selection does not count.
    """

    line: int
    source: str
    kind: str
    count: int
    lanes: int


@dataclass(frozen=True)
class Request:
    """One instruction of the watched warp: the lanes that took part, and the byte offset in the
    array that each lane accessed.
    """

    kind: str
    space: str
    array: str
    line: int
    lanes: tuple[int, ...]
    offsets: tuple[int, ...]
    size: int


_SUMS = (
    "requests",
    "lanes",
    "bytes_used",
    "sectors",
    "wavefronts",
    "conflicts",
    "replays",
    "serialised",
    "repeated",
)
# The counters of a launch: name -> (LineTraffic counter, space, access).
_TOTALS = {
    **{
        f"global_{a}_{c}": (c, "global", a)
        for a in ("load", "store", "atomic")
        for c in ("requests", "sectors")
    },
    **{
        f"shared_{a}_{c}": (c, "shared", a)
        for a in ("load", "store")
        for c in ("requests", "wavefronts", "conflicts")
    },
    **{f"shared_atomic_{c}": (c, "shared", "atomic") for c in ("requests", "wavefronts")},
    "global_atomic_serialised": ("serialised", "global", "atomic"),
    "shared_atomic_serialised": ("serialised", "shared", "atomic"),
    "constant_load_requests": ("requests", "constant", "load"),
    "constant_load_replays": ("replays", "constant", "load"),
}


def _total(name: str) -> property:
    return property(lambda self: self.total(*_TOTALS[name]))


@dataclass(frozen=True)
class Profile:
    """The counters and findings of one launch. The counters mean the same as the metrics of Nsight
    Compute (`python -m helpers.tools.counters` compares them).

    Requests count warp instructions; sectors count 32-byte pieces of global memory that the
    requests access; wavefronts count passes over the banks of shared memory, and conflicts the
    passes beyond the first. The simulator does not model time, caches and occupancy.

    lines: by source line and array; control: barriers and divergent branches by line; instructions:
    warps that executed each operation, by its name in PTX ("shfl.sync.down.b32"), before ptxas;
    requests: the first WATCHED_REQUESTS requests of the watched warp, one by one; blocks_run: the
    simulator ran so many of `blocks`, and every counter is a sum over these only.
    ptxas joins neighbouring words of shared memory and drops loads. The counters follow its machine
    code, or rules where there is none.
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
    control: tuple[LineControl, ...] = ()
    instructions: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)
    counts: Counts | None = field(default=None, repr=False, compare=False)

    def bounds(self, device: str = "H200", cache: str = "cold") -> Bounds:
        """What no such device does faster, resource by resource.

        helpers.simulator.bounds says how a bound is made. cache: "cold" for a launch that finds
        nothing in the L2 cache, "hot" for one that may. Raises bounds.UnknownDevice, which lists
        the devices that there are, and ValueError for a launch that did not run whole.
        """
        if self.counts is None or self.sampled or not self.completed:
            why = "it was stopped at a finding"
            if self.sampled:
                why = f"{self.blocks_run:,} of {self.blocks:,} blocks were run"
            raise ValueError(
                f"{self.kernel} has no bounds, because {why}: profile it whole, without "
                "sample_every"
            )
        return bounds.bounds(self.counts, device, cache)

    def total(self, counter: str, space: str, access: str, array: str | None = None) -> int:
        """Sums a LineTraffic counter over all lines, as in total("sectors", "global", "load")."""
        return sum(
            getattr(row, counter)
            for row in self.lines
            if row.space == space and row.access == access and array in (None, row.array)
        )

    global_load_requests = _total("global_load_requests")
    global_store_requests = _total("global_store_requests")
    global_atomic_requests = _total("global_atomic_requests")
    global_load_sectors = _total("global_load_sectors")
    global_store_sectors = _total("global_store_sectors")
    global_atomic_sectors = _total("global_atomic_sectors")
    global_atomic_serialised = _total("global_atomic_serialised")
    shared_load_requests = _total("shared_load_requests")
    shared_store_requests = _total("shared_store_requests")
    shared_atomic_requests = _total("shared_atomic_requests")
    shared_atomic_wavefronts = _total("shared_atomic_wavefronts")
    shared_load_wavefronts = _total("shared_load_wavefronts")
    shared_store_wavefronts = _total("shared_store_wavefronts")
    shared_load_conflicts = _total("shared_load_conflicts")
    shared_store_conflicts = _total("shared_store_conflicts")
    shared_atomic_serialised = _total("shared_atomic_serialised")
    constant_load_requests = _total("constant_load_requests")
    constant_load_replays = _total("constant_load_replays")
    barriers = property(lambda self: self._controls("barrier"))
    divergent_branches = property(lambda self: self._controls("branch"))
    load_efficiency = property(lambda self: self._efficiency("load"))
    store_efficiency = property(lambda self: self._efficiency("store"))

    def _controls(self, kind: str) -> int:
        return sum(row.count for row in self.control if row.kind == kind)

    def _efficiency(self, access: str) -> float:
        moved = self.total("bytes_moved", "global", access)
        return self.total("bytes_used", "global", access) / moved if moved else float("nan")

    @property
    def bytes_requested(self) -> int:
        """Bytes of global memory that lanes requested by loads, stores and atomics."""
        return sum(row.bytes_used for row in self.lines if row.space == "global")

    @property
    def bytes_moved(self) -> int:
        """Bytes of the sectors of global memory that the requests moved. DRAM may move fewer,
        because the simulator has no caches.
        """
        return sum(row.bytes_moved for row in self.lines if row.space == "global")

    @property
    def active_lanes(self) -> float:
        """The average number of lanes in a memory request."""
        requests = sum(row.requests for row in self.lines)
        return sum(row.lanes for row in self.lines) / requests if requests else float("nan")

    @property
    def sampled(self) -> bool:
        """Whether the launch ran only some of its blocks; each counter is a sum over these."""
        return self.blocks_run != self.blocks

    @property
    def arrays(self) -> tuple[ArrayTraffic, ...]:
        """The traffic by array: global memory first, then the largest first."""
        groups: dict[tuple[str, str, str], list[LineTraffic]] = {}
        for row in self.lines:
            groups.setdefault((row.array, row.access, row.space), []).append(row)
        traffic = [
            ArrayTraffic(
                *key,
                tuple(dict.fromkeys(row.line for row in rows)),
                *(_sum(rows, name) for name in _SUMS),
            )
            for key, rows in groups.items()
        ]
        return tuple(
            sorted(
                traffic,
                key=lambda a: (_ORDER[a.space], -a.sectors, -a.wavefronts, a.array, a.access),
            )
        )

    def counters(self) -> dict[str, int]:
        """Returns the counters by name."""
        return {name: getattr(self, name) for name in [*_TOTALS, "barriers", "divergent_branches"]}

    def sentences(self) -> tuple[str, ...]:
        """Returns sentences on the counters: for each kind of access the most important line first;
        () for a kernel without traffic.
        """
        return tuple(_sentences(self))

    def to_dict(self) -> dict:
        """Returns plain values for a file: counters, lines, arrays, control and findings, without
        the watched requests.
        """
        return {
            "kernel": self.kernel, "grid": list(self.grid), "block": list(self.block),
            "completed": self.completed,
            "blocks_run": self.blocks_run, "blocks": self.blocks, "counters": self.counters(),
            "bytes_requested": self.bytes_requested, "bytes_moved": self.bytes_moved,
            "sentences": list(self.sentences()),
            "lines": [asdict(row) for row in self.lines],
            "arrays": [{**asdict(row), "lines": list(row.lines)} for row in self.arrays],
            "control": [asdict(row) for row in self.control],
            "findings": [finding.to_dict() for finding in self.findings],
        }  # fmt: skip

    def title(self) -> str:
        """Returns kernel, grid and block, and why the counters may be partial: a sample of the
        blocks, or a finding that stopped the launch.
        """
        part = (
            f", {self.blocks_run:,} of {self.blocks:,} blocks run (a sample)"
            if self.sampled
            else ""
        )
        part += "" if self.completed else "; stopped at a finding, so the counters are partial"
        return f"{self.kernel}  grid {self.grid}  block {self.block}{part}"

    def __str__(self) -> str:
        rows = [self.title(), _text_table(_HEAD, self._rows())]
        rows += list(self.sentences())
        rows += [str(finding) for finding in self.findings] or ["no findings"]
        return "\n".join(rows)

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in self.sentences())
        findings = "".join(f._repr_html_() for f in self.findings) or "<p>no findings</p>"
        title = f"<p><b>{html.escape(self.title())}</b></p>"
        sentences = f"<ul>{items}</ul>" if items else ""
        return f"{title}{_html_table(_HEAD, self._rows())}{sentences}{findings}"

    def _rows(self) -> list[tuple[str, ...]]:
        rows = [(row.line, _traffic_row(row)) for row in self.lines]
        rows += [(row.line, _control_row(row)) for row in self.control]
        return [cells for _, cells in sorted(rows, key=lambda row: row[0])]


_ORDER = {"global": 0, "shared": 1, "constant": 2, "local": 3}


def _sum(rows: Iterable[LineTraffic], counter: str) -> int:
    return sum(getattr(row, counter) for row in rows)


def _traffic_row(row: LineTraffic) -> tuple[str, ...]:
    moves_sectors, is_shared = row.space in ("global", "local"), row.space == "shared"
    extra = (
        f"{row.serialised:,} serialised"
        if row.serialised
        else f"{row.replays:,} replays"
        if row.replays
        else ""
    )
    conflicts = f"{row.conflicts:,}" if is_shared else ""
    return (
        str(row.line), f"{row.space} {row.access}", row.array, f"{row.requests:,}",
        f"{row.active_lanes:.3g}",
        f"{row.sectors:,}" if moves_sectors else "",
        f"{row.efficiency:.0%}" if moves_sectors else "",
        f"{row.wavefronts:,}" if is_shared else "",
        f"{conflicts}{', ' if conflicts and extra else ''}{extra}", _short(row.source),
    )  # fmt: skip


def _short(source: str) -> str:
    return source if len(source) <= 100 else f"{source[:99]}…"


def _control_row(row: LineControl) -> tuple[str, ...]:
    what = "barrier" if row.kind == "barrier" else "divergent branch"
    lanes = f"{row.lanes / row.count:.3g}" if row.kind == "barrier" else ""
    return (str(row.line), what, "", f"{row.count:,}", lanes, "", "", "", "", _short(row.source))


# ---- in words ----


def _percent(share: float) -> str:
    return (
        "all"
        if share == 1
        else f"{share:.0%}".replace("%", " %")
        if share >= 0.005
        else "less than 1 %"
    )


def _of_local_memory(profile: Profile) -> Iterable[str]:
    rows = [row for row in profile.lines if row.space == "local"]
    if rows:
        lines = _listed(sorted({row.line for row in rows}))
        yield (
            f"{_sum(rows, 'requests'):,} requests go to local memory ({lines}): an array of a "
            "thread's own that is indexed by a variable, or whose address is taken, has no "
            "registers"
        )


def _sentences(profile: Profile) -> Iterable[str]:
    for access in ("load", "store", "atomic"):
        rows = [row for row in profile.lines if row.space == "global" and row.access == access]
        if total := _sum(rows, "sectors"):
            yield _of_sectors(_busiest_line(rows, "sectors"), total, access)
            arrays = [a for a in profile.arrays if a.space == "global" and a.access == access]
            if len(arrays) > 1:
                lines = _listed(arrays[0].lines)
                part = _percent(arrays[0].sectors / total)
                yield f"array {arrays[0].array} takes {part} of the {access} sectors ({lines})"
    for access in ("load", "store"):
        rows = [row for row in profile.lines if row.space == "shared" and row.access == access]
        if total := _sum(rows, "conflicts"):
            worst = _busiest_line(rows, "conflicts")
            passes = _sum(worst, "wavefronts") / _sum(worst, "requests")
            share = _percent(_sum(worst, "conflicts") / total)
            yield (
                f"line {worst[0].line} makes {share} of the bank conflicts of shared {access}s: "
                f"{passes:.3g} wavefronts a request"
            )
    yield from _of_local_memory(profile)
    yield from _of_turns(profile)
    for row in (row for row in profile.lines if row.repeated):
        yield (
            f"line {row.line} stores what another thread has just put in {row.array}: the values "
            "are equal, so this is no race"
        )
    yield from _of_control(profile)


def _busiest_line(rows: list[LineTraffic], counter: str) -> list[LineTraffic]:
    lines: dict[int, list[LineTraffic]] = {}
    for row in rows:
        lines.setdefault(row.line, []).append(row)
    return max(lines.values(), key=lambda group: _sum(group, counter))


def _of_sectors(rows: list[LineTraffic], total: int, access: str) -> str:
    sectors = _sum(rows, "sectors")
    used = _sum(rows, "bytes_used") / (sectors * SECTOR_BYTES)
    what = (
        f"{_percent(used)} of the bytes it moves are used"
        if used <= 1
        else f"each byte it moves serves {used:.3g} lanes' requests"
    )
    return f"line {rows[0].line} makes {_percent(sectors / total)} of the {access} sectors; {what}"


def _of_turns(profile: Profile) -> Iterable[str]:
    for counter, space, what in (
        ("serialised", None, "update one address"),
        ("replays", "constant", "read different words"),
    ):
        rows = [
            row for row in profile.lines if getattr(row, counter) and space in (None, row.space)
        ]
        if rows:
            worst = _busiest_line(rows, counter)
            turns = 1 + _sum(worst, counter) / _sum(worst, "requests")
            yield (
                f"line {worst[0].line}: lanes that {what} take turns, {turns:.3g} a request "
                f"({worst[0].array}, {worst[0].space})"
            )


def _of_control(profile: Profile) -> Iterable[str]:
    branches = [row for row in profile.control if row.kind == "branch"]
    if branches:
        worst = max(branches, key=lambda row: row.count)
        yield (
            f"line {worst.line} parts the lanes of a warp {worst.count:,} times; "
            f"{worst.lanes / worst.count:.3g} wait each time"
        )


def _listed(lines: Sequence[int]) -> str:
    return (
        f"line {lines[0]}"
        if len(lines) == 1
        else f"lines {', '.join(map(str, lines[:-1]))} and {lines[-1]}"
    )


# ---- tables ----

_HEAD = (
    "line",
    "access",
    "array",
    "requests",
    "lanes",
    "sectors",
    "used",
    "wavefronts",
    "conflicts",
    "source",
)
_WORDS = {"access", "array", "source", "counter"}  # columns of text, set to the left


def _text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return tables.text(head, rows, left=[k for k, name in enumerate(head) if name in _WORDS])


def _html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a table in the page's colours, so that it is legible in light and dark themes."""

    def cell(tag: str, name: str, text: str) -> str:
        content = (
            f"<code>{html.escape(text)}</code>"
            if name == "source" and tag == "td"
            else html.escape(text)
        )
        side = "left" if name in _WORDS else "right"
        return (
            f"<{tag} style='text-align: {side}; color: inherit; background: "
            f"transparent'>{content}</{tag}>"
        )

    def line(tag: str, row: Sequence[str]) -> str:
        return (
            "<tr>"
            + "".join(cell(tag, name, text) for name, text in zip(head, row, strict=True))
            + "</tr>"
        )

    return f"<table>{line('th', head)}{''.join(line('td', row) for row in rows)}</table>"


# ---- before and after ----


@dataclass(frozen=True)
class ProfileComparison:
    """Two profiles side by side, from compare(). `rows` lists the counters that are not zero in
    both.
    """

    before: Profile
    after: Profile

    @property
    def rows(self) -> tuple[tuple[str, int, int], ...]:
        """(counter, before, after) for each counter of the launch, then the bytes of global
        memory.
        """
        before, after = (
            {**p.counters(), "bytes_requested": p.bytes_requested, "bytes_moved": p.bytes_moved}
            for p in self.pair
        )
        return tuple(
            (name, before[name], after[name]) for name in before if before[name] or after[name]
        )

    @property
    def pair(self) -> tuple[Profile, Profile]:
        return self.before, self.after

    def ratio(self, counter: str) -> float:
        """Returns before / after: 4.0 means four times fewer after, inf means none after, nan means
        none before and after.
        """
        first, second = next(((a, b) for name, a, b in self.rows if name == counter), (0, 0))
        return first / second if second else float("inf") if first else float("nan")

    def sentences(self) -> tuple[str, ...]:
        """Returns one sentence for each counter that differs, the largest change first."""
        changed = [(name, a, b) for name, a, b in self.rows if a != b]
        changed.sort(
            key=lambda row: (
                -max(row[1] / row[2], row[2] / row[1]) if row[1] and row[2] else float("-inf")
            )
        )
        return tuple(_change(*row) for row in changed) or ("no counter differs",)

    def to_dict(self) -> dict:
        """Returns plain values for a file."""
        rows = [{"counter": name, "before": a, "after": b} for name, a, b in self.rows]
        return {"before": self.before.to_dict(), "after": self.after.to_dict(), "rows": rows}

    def __str__(self) -> str:
        return "\n".join([*self._titles(), _text_table(_COMPARED, self._cells())])

    def _repr_html_(self) -> str:
        titles = "<br>".join(html.escape(title) for title in self._titles())
        return f"<p>{titles}</p>{_html_table(_COMPARED, self._cells())}"

    def _titles(self) -> tuple[str, str]:
        return f"before: {self.before.title()}", f"after:  {self.after.title()}"

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (name.replace("_", " "), f"{a:,}", f"{b:,}", _times(a, b)) for name, a, b in self.rows
        ]


_COMPARED = ("counter", "before", "after", "change")


def _times(before: int, after: int) -> str:
    if before == after:
        return "same"
    if not before or not after:
        return "new" if after else "gone"
    return f"{before / after:.3g} x fewer" if before > after else f"{after / before:.3g} x more"


def _change(name: str, before: int, after: int) -> str:
    words = name.replace("_", " ")
    if not before or not after:
        return f"{words}: {before:,} before, {after:,} after"
    return f"{words}: {before:,} before, {after:,} after ({_times(before, after)})"


def compare(before: Profile, after: Profile) -> ProfileComparison:
    """Compares two launches of the same problem. Raises ValueError if their counters are not sums
    over the same blocks.

    A sample of blocks compares only with a sample of the same share. A launch that a finding
    stopped compares with no other.
    """
    for profile in (before, after):
        if not profile.completed:
            raise ValueError(
                f"{profile.kernel} was stopped at a finding, so its counters are partial: mend it "
                "first"
            )
    if before.blocks_run * after.blocks != after.blocks_run * before.blocks:
        raise ValueError(
            f"{before.kernel} ran {before.blocks_run:,} of {before.blocks:,} blocks and "
            f"{after.kernel} {after.blocks_run:,} of "
            f"{after.blocks:,}: profile both with all blocks (sample_every=1)"
        )
    return ProfileComparison(before, after)


# ---- from the machine ----


class _Reader:
    """Names the lines and arrays of the machine's counters."""

    def __init__(self, report: LaunchReport, kernel: Kernel):
        self.line, self.names = kernel.line_of, report.arrays
        self.by_machine_code = kernel.counted.by_machine_code.tolist()
        self.source = kernel.module.compiled.source.splitlines()

    def text(self, line: int) -> str:
        return self.source[line - 1].strip() if 0 < line <= len(self.source) else ""

    def array(self, region: int) -> str:
        return self.names[region].name if region in self.names else "?"

    def first_byte(self, region: int) -> int:
        return self.names[region].first_byte if region in self.names else 0


def profile_of(
    report: LaunchReport,
    kernel: Kernel,
    grid: tuple[int, int, int],
    block: tuple[int, int, int],
    shared: int,
) -> Profile:
    """Returns the Profile of a launch that ran with the traffic observer. shared: its bytes of
    dynamic shared memory.
    """
    reader = _Reader(report, kernel)
    lines, control = _lines(report.sites, reader), _control(report.sites, reader)
    profile = Profile(
        kernel.name, grid, block, report.findings, report.completed, report.blocks_run,
        report.blocks, lines,
        _requests(report.watched, reader), report.seconds, control,
        instructions.by_name(kernel.counted, report.executed),
    )  # fmt: skip
    if not len(report.executed) or not report.completed:
        return profile
    return replace(profile, counts=bounds.counts_of(report, kernel, profile, shared))


def _lines(sites: Iterable[Site], reader: _Reader) -> tuple[LineTraffic, ...]:
    rows: dict[tuple[int, str, str, str], list[int]] = {}
    by_rule = set()
    for site in sites:
        if site.access in (_BARRIER, _BRANCH):
            continue
        key = (
            reader.line(site.pc),
            _ACCESSES[site.access],
            _SPACES[site.space],
            reader.array(site.region),
        )
        counts = (
            site.requests,
            site.lanes,
            site.bytes,
            *(getattr(site, name) for name in _SUMS[3:]),
        )
        rows[key] = [a + b for a, b in zip(rows.get(key, [0] * len(counts)), counts, strict=True)]
        if not reader.by_machine_code[site.pc]:
            by_rule.add(key)
    return tuple(
        LineTraffic(
            line, reader.text(line), access, space, array, **dict(zip(_SUMS, row, strict=True)),
            model="rule" if (line, access, space, array) in by_rule else "sass",
        )
        for (line, access, space, array), row in sorted(rows.items())
    )  # fmt: skip


def _control(sites: Iterable[Site], reader: _Reader) -> tuple[LineControl, ...]:
    rows: dict[tuple[int, str], list[int]] = {}
    for site in sites:
        if site.access not in (_BARRIER, _BRANCH):
            continue
        line = reader.line(site.pc)
        row = rows.setdefault((line, _ACCESSES[site.access]), [0, 0])
        row[0] += site.requests
        row[1] += site.lanes
    return tuple(
        LineControl(line, reader.text(line), kind, *row)
        for (line, kind), row in sorted(rows.items())
    )


def _requests(watched: np.ndarray, reader: _Reader) -> tuple[Request, ...]:
    """Returns the watched requests. watched: an array of WatchedLane, shape (lanes,), with the
    lanes of each request one after another.
    """
    columns = {name: watched[name].tolist() for name in watched.dtype.names or ()}
    first_bytes = {region: reader.first_byte(region) for region in set(columns["region"])}
    offsets = [
        offset - first_bytes[region]
        for offset, region in zip(columns["offset"], columns["region"], strict=True)
    ]
    starts = (
        [0, *(np.flatnonzero(np.diff(watched["request"])) + 1).tolist(), len(watched)]
        if len(watched)
        else []
    )
    requests = []
    for first, end in pairwise(starts):
        access, space, region, pc, size = (
            columns[name][first] for name in ("access", "space", "region", "pc", "size")
        )
        lanes = tuple(columns["lane"][first:end])
        where = reader.array(region), reader.line(pc)
        requests.append(
            Request(
                _ACCESSES[access], _SPACES[space], *where, lanes, tuple(offsets[first:end]), size
            )
        )
    return tuple(requests)
