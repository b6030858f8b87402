"""Makes the Profile of a launch from the machine's counters: names their lines and arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..bounds import Counts
from ..machine import library
from ..machine.library import Site
from ..machine.traffic import (
    COUNTERS,
    LineControl,
    LineTraffic,
    RequestRow,
    Requests,
    Shares,
    StoreShare,
)
from ..program import encoded
from ..program.module import Kernel
from . import instructions
from .launch import LaunchReport
from .profile import Profile

# The spaces by their numbers in the machine (Space in machine/memory.h).
_SPACES = ("global", "shared", "shared", "constant", "global", "local")
_ACCESSES = ("load", "store", "atomic", "barrier", "branch", "bulk copy")
_BARRIER, _BRANCH, _BULK_COPY = 3, 4, 5


class _Reader:
    """Names the lines and arrays of the machine's counters."""

    def __init__(self, report: LaunchReport, kernel: Kernel):
        self.line, self.names, self.kernel = kernel.places.line_of, report.arrays, kernel
        self.source = kernel.module.compiled.source.splitlines()

    @cached_property
    def by_machine_code(self) -> list[bool]:
        """Whether each instruction is counted by the machine code. A launch that its rehearsal
        stopped has no counters, and does not need the form for counting.
        """
        return self.kernel.counted.by_machine_code.tolist()

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
    """Return the Profile of a launch that ran with the traffic observer. shared: its bytes of
    dynamic shared memory.
    """
    reader = _Reader(report, kernel)
    copies, requests = _parted(report.sites)
    lines, control = _lines(requests, reader), _control(report.sites, reader)
    operations, of_headers = (
        instructions.by_name(kernel.counted, report.executed, at)
        if len(report.executed)
        else {}
        for at in (None, kernel.places.is_of_a_header)
    )
    profile = Profile(
        kernel.name, grid, block, report.findings, report.completed, report.blocks_run,
        report.blocks, lines,
        requests_of(report, kernel), report.seconds, control,
        operations, runtime_calls=_runtime_calls(report, reader),
        parted_recursion=_parted_recursion(report.sites, reader),
        bulk_copies=_lines(copies, reader), shares=_shares(report, reader),
        of_headers=of_headers, clock_reads=_clock_reads(kernel),
        remark=kernel.module.compiled.remark,
        remarks=report.remarks,
    )
    if not len(report.executed) or not report.completed:
        return profile
    return replace(profile, counts=_counts(report, kernel, profile, shared))


def _parted(sites: Iterable[Site]) -> tuple[list[Site], list[Site]]:
    """Return the sites of bulk copies, and those of requests."""
    copies: list[Site] = []
    requests: list[Site] = []
    for site in sites:
        if site.access not in (_BARRIER, _BRANCH):
            (copies if site.access == _BULK_COPY else requests).append(site)
    return copies, requests


def _clock_reads(kernel: Kernel) -> int:
    """Return how many instructions of a kernel read a clock, those of headers left out."""
    clock = library.operation_ids()["mov.clock"]
    reads = np.flatnonzero(kernel.counted.instructions["operation"] == clock)
    return sum(not kernel.places.is_of_a_header(pc) for pc in reads.tolist())


def _shares(report: LaunchReport, reader: _Reader) -> Shares:
    stores = (
        StoreShare(reader.array(one.region), one.of_warp, one.of_block, one.warps)
        for one in sorted(report.stores, key=lambda one: one.region)  # whichever worker came first
    )
    most = report.busiest
    return Shares(
        most.steps_of_warp, most.steps_of_block, most.loads_of_warp, most.words_in_a_row,
        tuple(stores),
    )


def _lines(sites: Iterable[Site], reader: _Reader) -> tuple[LineTraffic, ...]:
    rows: dict[tuple[int, str, str, str], list[int]] = {}
    as_written = set()
    for site in sites:
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
            *(getattr(site, name) for name in COUNTERS[3:]),
        )
        rows[key] = [a + b for a, b in zip(rows.get(key, [0] * len(counts)), counts, strict=True)]
        if not reader.by_machine_code[site.pc]:
            as_written.add(key)
    return tuple(
        LineTraffic(
            line=line, source=reader.text(line), access=access, space=space, array=array,
            model="ptx" if (line, access, space, array) in as_written else "sass",
            **dict(zip(COUNTERS, row, strict=True)),
        )
        for (line, access, space, array), row in sorted(rows.items())
    )


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


def _runtime_calls(report: LaunchReport, reader: _Reader) -> dict[str, tuple[int, ...]]:
    """Return the lines of the calls that the launch has executed, by the function's name."""
    lines: dict[str, set[int]] = {}
    if not len(report.executed):  # the rehearsal stopped the launch
        return {}
    for pc, name in encoded.calls_of_the_runtime(reader.kernel.counted).items():
        if report.executed[pc]:
            lines.setdefault(name, set()).add(reader.line(pc))
    return {name: tuple(sorted(found)) for name, found in lines.items()}


def _parted_recursion(sites: Iterable[Site], reader: _Reader) -> tuple[int, ...]:
    """Return the lines in which lanes have parted in a function that calls itself."""
    branches = [site.pc for site in sites if site.access == _BRANCH]
    if not branches:
        return ()
    inside = encoded.recursive_functions(reader.kernel.counted)
    lines = {reader.line(pc) for pc in branches if any(pc in one for one in inside)}
    return tuple(sorted(lines))


def requests_of(report: LaunchReport, kernel: Kernel) -> Requests:
    """Return the requests of the watched warps, of a launch that ran with the traffic observer."""
    # An array of WatchedLane, shape (lanes,), with the lanes of each request one after another.
    watched, reader = report.watched, _Reader(report, kernel)
    offsets = watched["offset"]
    if not len(watched):
        return Requests([], watched["lane"], offsets)
    regions = np.unique(watched["region"]).tolist()
    for region in regions:
        if first_byte := reader.first_byte(region):
            offsets = np.where(watched["region"] == region, watched["offset"] - first_byte, offsets)
    numbers = watched["request"].astype(np.int64) << 32 | watched["warp"]
    starts = np.flatnonzero(np.diff(numbers, prepend=numbers[:1] + 1))
    firsts = watched[starts]
    arrays = {region: reader.array(region) for region in regions}
    lines = {pc: reader.line(pc) for pc in set(firsts["pc"].tolist())}
    columns = (firsts[name].tolist() for name in ("access", "space", "region", "pc", "size"))
    last = (firsts[name].tolist() for name in ("in_flight", "warp"))
    rows = [
        RequestRow(
            _ACCESSES[access], _SPACES[space], arrays[region], lines[pc], size, first, end, copies,
            warp,
        )
        for access, space, region, pc, size, first, end, copies, warp in zip(
            *columns, starts.tolist(), [*starts[1:].tolist(), len(watched)], *last, strict=True
        )
    ]
    # Copies of two columns, so that the rest of `watched` is let go.
    return Requests(rows, watched["lane"].copy(), offsets.copy())


def _counts(report: LaunchReport, kernel: Kernel, profile: Profile, shared: int) -> Counts:
    """Return what the bounds of a launch are computed from. The launch must have run whole."""
    totals = {
        name: float(getattr(profile, name))
        for name in (
            "global_load_sectors", "global_load_requests", "global_store_requests",
            "global_store_sectors", "global_atomic_requests", "global_atomic_sectors",
        )
    }
    totals["shared_wavefronts"] = float(
        profile.shared_load_wavefronts
        + profile.shared_store_wavefronts
        + profile.shared_atomic_wavefronts
    )
    totals["shared_requests"] = float(
        profile.shared_load_requests
        + profile.shared_store_requests
        + profile.shared_atomic_requests
    )
    totals["constant_replays"] = float(profile.constant_load_replays)
    totals["sectors_read"] = float(report.sectors_read)
    totals["sectors_written"] = float(report.sectors_written)
    elements = {
        one.name: one.nbytes // one.element_bytes
        for one in report.arrays.values()
        if one.space == "global" and one.element_bytes
    }
    return Counts(kernel, profile.grid, profile.block, shared, report.executed, totals, elements)
