"""Makes the Profile of a launch from the machine's counters: names their lines and arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

import numpy as np

from . import bounds, instructions
from .launch import LaunchReport
from .library import Site
from .module import Kernel
from .profile import SUMMED, LineControl, LineTraffic, Profile, Request

# The spaces by their numbers in the machine (Space in machine/memory.h).
_SPACES = ("global", "shared", "shared", "constant", "global", "local")
_ACCESSES = ("load", "store", "atomic", "barrier", "branch")
_BARRIER, _BRANCH = 3, 4


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
            *(getattr(site, name) for name in SUMMED[3:]),
        )
        rows[key] = [a + b for a, b in zip(rows.get(key, [0] * len(counts)), counts, strict=True)]
        if not reader.by_machine_code[site.pc]:
            by_rule.add(key)
    return tuple(
        LineTraffic(
            line, reader.text(line), access, space, array, **dict(zip(SUMMED, row, strict=True)),
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
