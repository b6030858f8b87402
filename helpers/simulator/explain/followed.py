"""The part of a tape that some cells depend on: who stored what, and the threads to follow.

To follow every value of every thread takes long, and a story needs the formulas of a few cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .provenance import Provenance
from .recording import Event
from .tape import Tape

# Instructions in which the lanes of a warp exchange values: all of them are followed.
_OF_WARPS = ("shfl", "mma", "wmma.mma", "movmatrix", "redux", "vote", "match")
# Those whose accesses the record does not have: every thread of the block is followed.
_WITHOUT_ADDRESSES = ("cp.", "ldmatrix", "stmatrix", "wmma.load", "wmma.store")
# Those that store where no address is on the record: every block is followed.
_STORES_ANYWHERE = ("cp.", "wmma.store")

MOST_FOLLOWED = 60_000  # instructions of lanes that are followed for one story

Lane = tuple[int, int]  # block and thread, by number


class Stored(NamedTuple):
    """A store to an address: its place in the order of the launch, its thread and its line."""

    at: int
    lane: Lane
    line: int


class _Accesses(NamedTuple):
    """Accesses to memory, one array for each of: address, place in the order of the launch, block
    and thread by number, pc.
    """

    address: np.ndarray
    at: np.ndarray
    block: np.ndarray
    thread: np.ndarray
    pc: np.ndarray

    def ordered(self, *keys: np.ndarray) -> _Accesses:
        """Return them by the first key, then by the next one."""
        order = np.lexsort(keys[::-1])
        return _Accesses(*(one[order] for one in self))


class Followed:
    """The stores of a tape, and the formulas of some of its cells."""

    def __init__(self, tape: Tape):
        self.tape = tape
        translation = tape.recording.kernel.translation
        assert translation is not None
        self._rows = translation.rows

    def _is_of(self, names: tuple[str, ...]) -> bool:
        """Return whether the launch has run an instruction with one of these names."""
        return any(self._rows[pc].operation.startswith(names) for pc in self._pcs)

    @cached_property
    def _pcs(self) -> list[int]:
        return np.unique(self.tape.recording.columns.pc).tolist()

    @cached_property
    def _accesses(self) -> _Accesses:
        """All accesses whose addresses are on the record, in order."""
        recording = self.tape.recording
        columns = recording.columns
        events = np.flatnonzero(columns.has_addresses)
        shifts = np.arange(32, dtype=np.uint64)
        active = (columns.lanes[events, None] >> shifts & np.uint64(1)).astype(bool)
        nth, lane = np.nonzero(active)
        event = events[nth]
        rank = np.cumsum(active, axis=1)[nth, lane] - 1
        address = recording.words[columns.start[event] + 2 + rank].astype(np.int64)
        # An access of a vector is one to each of its elements.
        pc = columns.pc[event]
        times = np.array([max(row.elements, 1) for row in self._rows], np.int64)[pc]
        sizes = np.array([row.bytes for row in self._rows], np.int64)[pc]
        element = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        address, event, lane, sizes = (
            np.repeat(one, times) for one in (address, event, lane, sizes)
        )
        return _Accesses(
            address + element * sizes, event, columns.block[event],
            columns.warp[event] * 32 + lane, columns.pc[event],
        )  # fmt: skip

    def _some(self, is_wanted: list[bool]) -> _Accesses:
        """Return the accesses of some instructions. is_wanted: by pc."""
        keep = np.array(is_wanted)[self._accesses.pc]
        return _Accesses(*(one[keep] for one in self._accesses))

    @cached_property
    def _stores(self) -> _Accesses:
        """The stores and atomics, by address and in order."""
        names = ("atom", "red")
        wanted = [r.operation == "st" or r.operation.startswith(names) for r in self._rows]
        found = self._some(wanted)
        return found.ordered(found.address, found.at)

    @cached_property
    def _loads(self) -> _Accesses:
        """The loads and atomics, by block and thread and in order."""
        found = self._some([row.operation != "st" for row in self._rows])
        return found.ordered(found.block, found.thread, found.at)

    @cached_property
    def _starts_of_loads(self) -> dict[Lane, tuple[int, int]]:
        """Where the loads of each thread begin and end."""
        loads = self._loads
        if not len(loads.at):
            return {}
        is_other = (np.diff(loads.block) != 0) | (np.diff(loads.thread) != 0)
        firsts = [0, *(np.flatnonzero(is_other) + 1).tolist()]
        return {
            (int(loads.block[first]), int(loads.thread[first])): (first, last)
            for first, last in zip(firsts, [*firsts[1:], len(loads.at)], strict=True)
        }

    def stores(self, address: int) -> list[Stored]:
        """Return the stores to an address, in order."""
        stores = self._stores
        first, last = np.searchsorted(stores.address, [address, address + 1])
        return [
            Stored(
                int(stores.at[k]), (int(stores.block[k]), int(stores.thread[k])),
                self._rows[stores.pc[k]].line,
            )
            for k in range(first, last)
        ]  # fmt: skip

    def writers(self, array: str, cell: int) -> list[Stored]:
        """Return the stores to a cell of an array of global memory, in order."""
        place = self.tape.arrays.by_name[array]
        return self.stores(place.start + cell * place.element_bytes)

    def is_stored(self, array: str, cell: int) -> bool:
        """Return whether a thread has stored a cell of an array, wherever that is on the record."""
        if self._is_of(_STORES_ANYWHERE):
            return bool(self.tape.cell(array, cell).writers)
        return bool(self.writers(array, cell))

    def some_of(self, array: str, cells: Sequence[int]) -> list[int]:
        """Return as many of some cells as can be followed, at least one."""
        found = list(cells)
        while len(found) > 1 and self._cost(self._ends(array, found)) > MOST_FOLLOWED:
            found = found[::2]
        return found

    def follow(self, array: str, cells: Iterable[int], until: float = math.inf) -> None:
        """Follow the values that some cells depend on: the tape has the formulas of these alone.
        until: as of Provenance, whose exception it raises.
        """
        part: Any = _Part(self.tape, self._events(self._ends(array, cells)))
        self.tape.__dict__["provenance"] = Provenance(part, until)

    def _ends(self, array: str, cells: Iterable[int]) -> dict[Lane, int]:
        """Return the threads that some cells depend on, each with the last place in the order of
        the launch that matters.
        """
        if self._is_of(_STORES_ANYWHERE):
            return self._of_blocks(range(int(np.prod(self.tape.grid))))
        todo = [(one.lane, one.at) for cell in cells for one in self.writers(array, cell)]
        exchanges, is_by_block = self._is_of(_OF_WARPS), self._is_of(_WITHOUT_ADDRESSES)
        ends: dict[Lane, int] = {}
        while todo:
            lane, end = todo.pop()
            done = ends.get(lane, -1)
            if end <= done:
                continue
            ends[lane] = end
            todo += self._stored_for(lane, done, end)
            if is_by_block:
                todo += [(one, end) for one in self._of_blocks([lane[0]])]
            elif exchanges:
                first = lane[1] // 32 * 32
                todo += [((lane[0], first + k), end) for k in range(32)]
        return ends

    def _of_blocks(self, blocks: Iterable[int]) -> dict[Lane, int]:
        threads, last = int(np.prod(self.tape.block)), len(self.tape.recording.columns.pc)
        return {(block, thread): last for block in blocks for thread in range(threads)}

    def _stored_for(self, lane: Lane, since: int, until: int) -> Iterator[tuple[Lane, int]]:
        """Yield the threads that have stored what a thread loads between two places, with where."""
        first, last = self._starts_of_loads.get(lane, (0, 0))
        at = self._loads.at[first:last]
        low, high = np.searchsorted(at, [since + 1, until + 1]) + first
        # Of the loads from one address the last one: it may have read what any store before has.
        addresses, from_last = np.unique(self._loads.address[low:high][::-1], return_index=True)
        latest = self._loads.at[low:high][::-1][from_last]
        stores = self._stores
        firsts = np.searchsorted(stores.address, addresses)
        lasts = np.searchsorted(stores.address, addresses, "right")
        for k in np.flatnonzero(lasts > firsts).tolist():
            is_of_block = self._is_of_block(addresses[k])
            for one in range(firsts[k], lasts[k]):
                who = int(stores.block[one]), int(stores.thread[one])
                is_there = who[0] == lane[0] or not is_of_block
                if who != lane and is_there and stores.at[one] < latest[k]:
                    yield who, int(stores.at[one])

    def _is_of_block(self, address: int) -> bool:
        """Return whether an address is of shared or local memory: each block has its own there."""
        recording = self.tape.recording
        threads = -(-int(np.prod(self.tape.block)) // 32) * 32
        shared_bytes = recording.kernel.program.shared_bytes + recording.dynamic_shared
        return (
            0 <= address - recording.shared < shared_bytes
            or 0 <= address - recording.local < recording.local_bytes * threads
        )

    def _run_by(self, ends: dict[Lane, int]) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of the instructions that some threads have run up to their ends, and
        their lanes as bits.
        """
        columns = self.tape.recording.columns
        last, bits = (np.zeros((columns.block.max() + 1, columns.warp.max() + 1), dtype)
                      for dtype in (np.int64, np.uint64))  # fmt: skip
        for (block, thread), end in ends.items():
            warp = thread // 32
            last[block, warp] = max(last[block, warp], end)
            bits[block, warp] |= np.uint64(1 << thread % 32)
        lanes = bits[columns.block, columns.warp] & columns.lanes
        numbers = np.flatnonzero(lanes)
        numbers = numbers[numbers <= last[columns.block, columns.warp][numbers]]
        return numbers, lanes[numbers]

    def _cost(self, ends: dict[Lane, int]) -> int:
        """Return how many instructions of lanes are to be followed."""
        _, lanes = self._run_by(ends)
        return int(np.unpackbits(lanes.view(np.uint8)).sum())

    def _events(self, ends: dict[Lane, int]) -> Iterator[Event]:
        numbers, lanes = self._run_by(ends)
        event = self.tape.recording.event
        return map(event, numbers.tolist(), lanes.tolist())


class _Part:
    """A tape with some of its events, which are read once."""

    def __init__(self, tape: Tape, events: Iterator[Event]):
        self._tape, self.events = tape, events

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tape, name)
