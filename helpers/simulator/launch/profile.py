"""The counters and findings of a launch as one record that prints itself."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

from helpers.quantities import quantity

from .. import bounds
from ..bounds import Bounds, Costs, Counts
from ..findings.findings import Finding
from ..machine.traffic import ArrayTraffic, LineControl, LineTraffic, Requests, Shares, by_array
from .profile_tables import html_table, text_table
from .profile_words import sentences

# The machine keeps so many requests of a watched warp (watched_limit in machine/traffic.h).
WATCHED_REQUESTS = 4096

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
    Compute (`python -m evidence.counters` compares them).

    Requests count warp instructions; sectors count 32-byte pieces of global memory that the
    requests access; wavefronts count passes over the banks of shared memory, and conflicts the
    passes beyond the first. The simulator does not model time, caches and occupancy.

    lines: by source line and array; control: barriers and divergent branches by line; instructions:
    warps that executed each operation, by its name in PTX ("shfl.sync.down.b32"), before ptxas;
    requests: the first WATCHED_REQUESTS requests of each watched warp, one by one; runtime_calls:
    lines that call printf, malloc, new or free, by the function; what the runtime itself loads and
    stores for these calls is in no counter; parted_recursion: lines in which lanes part in a
    function that calls itself, whose counters are estimates; blocks_run: the simulator ran so many
    of `blocks`, and every counter is a sum over these only; checked: the simulator looked for
    faults; bulk_copies: those that read global memory, by line and array, lanes in words of 4
    bytes, which are in no counter of Nsight Compute; shares: what the busiest of its warps, threads
    and blocks did; of_headers: those of `instructions` that functions of headers execute on their
    own account, as a barrier of <cuda/barrier> reads a clock; clock_reads: how many instructions of
    the kernel read a clock, those of headers left out, whether or not they were executed; remark:
    why the counters are not those of nvcc's PTX, "" if they are; remarks: on what may be a mistake
    and is no fault.
    ptxas joins neighbouring words of shared memory and drops loads. The counters follow its machine
    code, and count an access as PTX has it where that is not sure.
    """

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    findings: tuple[Finding, ...]
    completed: bool
    blocks_run: int
    blocks: int
    lines: tuple[LineTraffic, ...]
    requests: Requests = field(repr=False)
    seconds: float = field(default=0.0, compare=False)
    control: tuple[LineControl, ...] = ()
    instructions: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)
    counts: Counts | None = field(default=None, repr=False, compare=False)
    checked: bool = field(default=True, repr=False, compare=False)
    runtime_calls: Mapping[str, tuple[int, ...]] = field(default_factory=dict, repr=False)
    parted_recursion: tuple[int, ...] = field(default=(), repr=False)
    bulk_copies: tuple[LineTraffic, ...] = field(default=(), repr=False)
    of_headers: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)
    clock_reads: int = field(default=0, repr=False, compare=False)
    shares: Shares = field(default_factory=Shares, repr=False, compare=False)
    remark: str = field(default="", compare=False)
    remarks: tuple[str, ...] = ()

    def bounds(self, device: str = "H200", cache: str = "cold") -> Bounds:
        """Return what no such device does faster, resource by resource.

        helpers.simulator.bounds says how a bound is made. cache: "cold" for a launch that finds
        nothing in the L2 cache, "hot" for one that may. Raises bounds.UnknownDevice, which lists
        the devices that there are, and ValueError for a launch that did not run whole.
        """
        return bounds.bounds(self._require_counts(), device, cache)

    def _require_counts(self) -> Counts:
        if self.counts is None or self.sampled or not self.completed:
            why = "it was stopped at a finding"
            if self.sampled:
                why = f"{self.blocks_run:,} of {quantity(self.blocks, 'block')} were run"
            raise ValueError(
                f"{self.kernel} has no bounds, because {why}: profile it whole, without "
                "sample_every"
            )
        return self.counts

    def costs(self, device: str = "H200", cache: str = "cold") -> Costs:
        """Return the avoidable work of the launch, the dearest on the bound first, and what limits
        the blocks that a multiprocessor holds. The arguments, and what is raised: as for `bounds`.
        """
        return bounds.costs(self._require_counts(), self.lines, device, cache)

    def total(self, counter: str, space: str, access: str, array: str | None = None) -> int:
        """Sum a LineTraffic counter over all lines, as in total("sectors", "global", "load")."""
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
    def sampled(self) -> bool:
        """Whether the launch ran only some of its blocks; each counter is a sum over these."""
        return self.blocks_run != self.blocks

    @property
    def arrays(self) -> tuple[ArrayTraffic, ...]:
        """The traffic by array: global memory first, then the largest first."""
        return by_array(self.lines)

    def counters(self) -> dict[str, int]:
        """Return the counters by name."""
        return {name: getattr(self, name) for name in [*_TOTALS, "barriers", "divergent_branches"]}

    def sentences(self) -> tuple[str, ...]:
        """Return sentences on the counters: for each kind of access the most important line first;
        () for a kernel without traffic.
        """
        told = list(sentences(self.lines, self.control, self.runtime_calls, self.parted_recursion))
        if spilled := self._spilled_bytes():
            told.append(
                f"a thread lacks registers: the compiler moves {quantity(spilled, 'byte')} of its "
                "values to local memory and back (spills)"
            )
        if self.remark:
            other = "the counters follow the code of NVRTC, and PyCUDA's nvcc may write another"
            told.append(f"{other} ({self.remark})")
        return (*told, *self.remarks)

    def _spilled_bytes(self) -> int:
        """Return the bytes that the code of a thread stores and loads for want of registers."""
        needs = self.counts.kernel.resources if self.counts is not None else None
        return needs.spill_store_bytes + needs.spill_load_bytes if needs is not None else 0

    def to_dict(self) -> dict:
        """Return plain values for a file: counters, lines, arrays, control and findings, without
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
        }

    def title(self) -> str:
        """Return kernel, grid and block, and why the counters may be partial: a sample of the
        blocks, or a finding that stopped the launch.
        """
        part = (
            f", {self.blocks_run:,} of {quantity(self.blocks, 'block')} run (a sample)"
            if self.sampled
            else ""
        )
        part += "" if self.completed else "; stopped at a finding, so the counters are partial"
        return f"{self.kernel}  grid {self.grid}  block {self.block}{part}"

    def __str__(self) -> str:
        rows = [self.title(), text_table(_HEAD, self._rows())]
        rows += list(self.sentences())
        rows += [str(finding) for finding in self.findings] or [self._without_findings()]
        return "\n".join(rows)

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in self.sentences())
        findings = "".join(f._repr_html_() for f in self.findings)
        findings = findings or f"<p>{self._without_findings()}</p>"
        title = f"<p><b>{html.escape(self.title())}</b></p>"
        sentences = f"<ul>{items}</ul>" if items else ""
        return f"{title}{html_table(_HEAD, self._rows())}{sentences}{findings}"

    def _without_findings(self) -> str:
        return "no findings" if self.checked else "not checked for faults"

    def _rows(self) -> list[tuple[str, ...]]:
        rows = [(row.line, _traffic_row(row)) for row in self.lines]
        rows += [(row.line, _control_row(row)) for row in self.control]
        return [cells for _, cells in sorted(rows, key=lambda row: row[0])]


def _traffic_row(row: LineTraffic) -> tuple[str, ...]:
    moves_sectors, is_shared = row.space in ("global", "local"), row.space == "shared"
    extra = (
        f"{row.serialised:,} serialised"
        if row.serialised
        else f"{quantity(row.replays, 'replay')}"
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
    )


def _short(source: str) -> str:
    return source if len(source) <= 100 else f"{source[:99]}…"


def _control_row(row: LineControl) -> tuple[str, ...]:
    what = "barrier" if row.kind == "barrier" else "divergent branch"
    lanes = f"{row.lanes / row.count:.3g}" if row.kind == "barrier" else ""
    return (str(row.line), what, "", f"{row.count:,}", lanes, "", "", "", "", _short(row.source))


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
