"""Formulas through asynchronous copies.

What cp.async reads comes to shared memory where the thread waits for it, and not before. The bytes
of a bulk copy are written down where a thread starts it: a thread that reads them before it has
waited gets something else, which the record shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .lanes import Follower, Lane, Unfinished
from .recording import Event
from .translation import Row

_UNIT = 4  # bytes: what cp.async moves is a multiple of them
_BULK = re.compile(r"cp\.(reduce\.)?async\.bulk\.(cluster|shared|global)\.(global|shared)\.")


def handler(row: Row) -> Callable | None:
    """Return what follows an instruction of cp.async, None for any other one."""
    if _BULK.match(row.operation):
        return _reduced if row.operation.startswith("cp.reduce") else _copied
    return {
        "cp.async.shared.global": _begun,
        "cp.async.commit_group": _committed,
        "cp.async.wait_group": _awaited,
        "cp.async.wait_all": _awaited,
    }.get(row.operation)


def note_unfinished(run: Follower, event: Event, lane: Lane, place: int, address: int) -> None:
    """Note a load of what a copy may not have brought yet. place: of its element."""
    line = run.copying.get(address // _UNIT * _UNIT)
    if line is not None:
        run.unfinished[event.number, lane.linear, place] = Unfinished(line, lane.waited, address)


def _begun(run: Follower, event: Event, row: Row, lanes: list[Lane]) -> None:
    if event.values is None:
        return
    for lane in lanes:
        target = run.recording.shared + (run.bits_of(lane, row.sources[0]) & 0xFFFFFFFF)
        source, size = run.bits_of(lane, row.sources[1]), run.bits_of(lane, row.sources[2])
        read = run.bits_of(lane, row.sources[3]) if len(row.sources) > 3 else size
        lane.groups[-1].append((event, row, target, size, run.pieces(source, read)))
        for address in range(target, target + size, _UNIT):
            run.copying[address] = row.line


def _ends(run: Follower, row: Row, lane: Lane) -> tuple[int, int, int]:
    """Return target, source and bytes of a bulk copy."""
    spaces = _BULK.match(row.operation)
    assert spaces is not None
    target, source = (
        run.bits_of(lane, operand) if space == "global"
        else run.recording.shared + (run.bits_of(lane, operand) & 0xFFFFFFFF)
        for operand, space in zip(row.sources[:2], spaces.groups()[1:], strict=True)
    )  # fmt: skip
    return target, source, run.bits_of(lane, row.sources[2]) & 0xFFFFFFFF


def _copied(run: Follower, event: Event, row: Row, lanes: list[Lane]) -> None:
    for lane in lanes:
        target, source, size = _ends(run, row, lane)
        for nbytes, form, bits in run.pieces(source, size):
            run.write(event, row, lane, target, nbytes, form, bits)
            target += nbytes


def _reduced(run: Follower, event: Event, row: Row, lanes: list[Lane]) -> None:
    """The copy engine adds, or takes the larger one: that is not followed."""
    for lane in lanes:
        target, _, size = _ends(run, row, lane)
        for nbytes, _, _ in run.pieces(target, size):
            run.write(event, row, lane, target, nbytes, None, None)
            target += nbytes


def _committed(run: Follower, event: Event, row: Row, lanes: list[Lane]) -> None:
    for lane in lanes:
        lane.groups.append([])


def _awaited(run: Follower, event: Event, row: Row, lanes: list[Lane]) -> None:
    is_all = row.operation.endswith("wait_all")
    for lane in lanes:
        lane.waited = row.line
        left = 0 if is_all else row.immediate
        count = len(lane.groups) if is_all else max(len(lane.groups) - 1 - left, 0)
        arrived, lane.groups = lane.groups[:count], lane.groups[count:] or [[]]
        for group in arrived:
            for begun, by, target, size, pieces in group:
                at = 0
                for nbytes, form, bits in pieces:
                    run.write(begun, by, lane, target + at, nbytes, form, bits)
                    at += nbytes
                for address in range(target, target + size, _UNIT):
                    run.copying.pop(address, None)
                while at < size:  # the rest is zero
                    nbytes = min(4, size - at)
                    run.write(begun, by, lane, target + at, nbytes, None, 0)
                    at += nbytes
