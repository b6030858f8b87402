"""Formulas through asynchronous copies: what cp.async reads comes to shared memory where the thread
waits for it, and not before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .provenance import Provenance, _Lane
    from .recording import Event
    from .translation import Row


def handler(row: Row) -> Callable | None:
    """Return what follows an instruction of cp.async, None for any other one."""
    return {
        "cp.async.shared.global": _begun,
        "cp.async.commit_group": _committed,
        "cp.async.wait_group": _awaited,
        "cp.async.wait_all": _awaited,
    }.get(row.operation)


def _begun(run: Provenance, event: Event, row: Row, lanes: list[_Lane]) -> None:
    if event.values is None:
        return
    for lane in lanes:
        target = run.recording.shared + (run.bits_of(lane, row.sources[0]) & 0xFFFFFFFF)
        source, size = run.bits_of(lane, row.sources[1]), run.bits_of(lane, row.sources[2])
        read = run.bits_of(lane, row.sources[3]) if len(row.sources) > 3 else size
        lane.groups[-1].append((event, row, target, size, run.pieces(source, read)))


def _committed(run: Provenance, event: Event, row: Row, lanes: list[_Lane]) -> None:
    for lane in lanes:
        lane.groups.append([])


def _awaited(run: Provenance, event: Event, row: Row, lanes: list[_Lane]) -> None:
    is_all = row.operation.endswith("wait_all")
    for lane in lanes:
        left = 0 if is_all else row.immediate
        count = len(lane.groups) if is_all else max(len(lane.groups) - 1 - left, 0)
        arrived, lane.groups = lane.groups[:count], lane.groups[count:] or [[]]
        for group in arrived:
            for begun, by, target, size, pieces in group:
                at = 0
                for nbytes, form, bits in pieces:
                    run.write(begun, by, lane, target + at, nbytes, form, bits)
                    at += nbytes
                while at < size:  # the rest is zero
                    nbytes = min(4, size - at)
                    run.write(begun, by, lane, target + at, nbytes, None, 0)
                    at += nbytes
