"""The part of a tape that some cells depend on: who stored what, and the threads to follow.

To follow every value of every thread takes long, and a story needs the formulas of a few cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from .provenance import Provenance
from .recording import Event
from .tape import Tape

# Instructions in which the lanes of a warp exchange values: all of them are followed.
_OF_WARPS = ("shfl", "mma", "wmma.mma", "movmatrix", "redux", "vote", "match")
# Those whose accesses the record does not have: every thread is followed.
_WITHOUT_ADDRESSES = ("cp.", "ldmatrix", "stmatrix", "wmma.load", "wmma.store")

Lane = tuple[int, int]  # block and thread, by number


class Stored(NamedTuple):
    """A store to an address: its place in the order of the launch, its thread and its line."""

    at: int
    lane: Lane
    line: int


class Loaded(NamedTuple):
    """A load from an address."""

    at: int
    address: int


class Followed:
    """The stores of a tape, and the formulas of some of its cells."""

    def __init__(self, tape: Tape):
        self.tape = tape

    @cached_property
    def _accesses(self) -> tuple[dict[int, list[Stored]], dict[Lane, list[Loaded]], bool, bool]:
        """The stores by address, the loads of each thread in order, whether warps exchange values,
        and whether all accesses are here.
        """
        stores: dict[int, list[Stored]] = {}
        loads: dict[Lane, list[Loaded]] = {}
        exchanges, is_complete = False, True
        for event in self.tape.events:
            row = event.row
            exchanges = exchanges or row.operation.startswith(_OF_WARPS)
            is_complete = is_complete and not row.operation.startswith(_WITHOUT_ADDRESSES)
            if event.addresses is None:
                continue
            is_store = row.operation == "st" or row.operation.startswith(("atom", "red"))
            for lane, address in zip(event.lanes, event.addresses, strict=True):
                key = event.block, event.warp * 32 + lane
                for k in range(max(row.elements, 1)):
                    place = address + k * row.bytes
                    if is_store:
                        one = Stored(event.number, key, row.line)
                        stores.setdefault(place, []).append(one)
                    if not is_store or row.operation != "st":
                        loads.setdefault(key, []).append(Loaded(event.number, place))
        return stores, loads, exchanges, is_complete

    def stores(self, address: int) -> list[Stored]:
        """Return the stores to an address, in order."""
        return self._accesses[0].get(address, [])

    def writers(self, array: str, cell: int) -> list[Stored]:
        """Return the stores to a cell of an array of global memory, in order."""
        place = self.tape.arrays.by_name[array]
        return self.stores(place.start + cell * place.element_bytes)

    def follow(self, array: str, cells: Iterable[int], until: float = math.inf) -> None:
        """Follow the values that some cells depend on: the tape has the formulas of these alone.
        until: as of Provenance, whose exception it raises.
        """
        stores, loads, exchanges, is_complete = self._accesses
        if not is_complete:
            self.tape.__dict__["provenance"] = Provenance(self.tape, until)
            return
        # A thread is followed up to the last of its stores that matters.
        todo = [(one.lane, one.at) for cell in cells for one in self.writers(array, cell)]
        ends: dict[Lane, int] = {}
        while todo:
            lane, end = todo.pop()
            done = ends.get(lane, -1)
            if end <= done:
                continue
            ends[lane] = end
            for load in loads.get(lane, ()):
                if done < load.at <= end:
                    todo += [(one.lane, one.at) for one in stores.get(load.address, ())
                             if one.at < load.at]  # fmt: skip
            if exchanges:
                first = lane[1] // 32 * 32
                todo += [((lane[0], first + k), end) for k in range(32)]
        part: Any = _Part(self.tape, list(self._of(set(ends))))
        self.tape.__dict__["provenance"] = Provenance(part, until)

    def _of(self, lanes: set[Lane]) -> Iterator[Event]:
        by_warp: dict[tuple[int, int], set[int]] = {}
        for block, linear in lanes:
            by_warp.setdefault((block, linear // 32), set()).add(linear % 32)
        for event in self.tape.events:
            own = by_warp.get((event.block, event.warp))
            if own is None:
                continue
            keep = [k for k, lane in enumerate(event.lanes) if lane in own]
            if len(keep) == len(event.lanes):
                yield event
            elif keep:
                yield event._replace(
                    lanes=tuple(event.lanes[k] for k in keep),
                    addresses=event.addresses and [event.addresses[k] for k in keep],
                    values=event.values and [[v[k] for k in keep] for v in event.values],
                )


class _Part:
    """A tape with some of its events."""

    def __init__(self, tape: Tape, events: list[Event]):
        self._tape, self.events = tape, events

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tape, name)
