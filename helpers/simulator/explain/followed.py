"""The part of a tape that some cells depend on: who stored what, and the threads to follow.

To follow every value of every thread takes long, and a story needs the formulas of a few cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..ptx.opcodes import LOCAL_SPACE, PARAM_SPACE, SHARED_SPACE
from .formulas import Formula
from .lanes import Form
from .origins import Writer
from .provenance import Load, Provenance, place_bytes
from .recording import Event
from .tape import Tape
from .translation import NotRecorded
from .work import Work

# Instructions in which the lanes of a warp exchange values: all of them are followed.
_OF_WARPS = ("shfl", "mma", "wmma.mma", "movmatrix", "redux", "vote", "match")
# Those whose accesses the record does not have: every thread of the block is followed.
_WITHOUT_ADDRESSES = ("cp.", "ldmatrix", "stmatrix", "wmma.load", "wmma.store")
# Those that store where no address is on the record: every block is followed.
_STORES_ANYWHERE = ("cp.", "wmma.store")

MOST_FOLLOWED = 20_000  # instructions of lanes that are followed for the formulas of several cells
MOST_OF_ONE = 150_000  # the same for one cell

Lane = tuple[int, int]  # block and thread, by number


class Stored(NamedTuple):
    """A store to an address: its place in the order of the launch, its thread and its line."""

    at: int
    lane: Lane
    line: int


class CellStore(NamedTuple):
    """A store of a thread to a cell of an array, or to several from it on: the cell's number, its
    place in the order of the launch, its instruction, and the thread's nth time there, from 0.
    """

    cell: int
    at: int
    pc: int
    nth: int


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
        self.is_followed = False
        self.instead: dict[Load, Formula] = {}  # as of Provenance
        self._lanes_storing: dict[str, set[Lane]] = {}  # by array
        self._latest: tuple[tuple[str, tuple[int, ...]], list[Event]] = ("", ()), []
        translation = tape.recording.kernel.translation
        assert translation is not None
        self._rows = translation.rows

    def _is_of(self, names: tuple[str, ...]) -> bool:
        """Return whether the launch has run an instruction with one of these names."""
        return any(self._rows[pc].operation.startswith(names) for pc in self._pcs)

    def needs_formulas(self, array: str) -> bool:
        """Return whether only the formulas know which thread stores which cell of an array, such as
        of a fragment that goes there whole.
        """
        return self._stores_anywhere and not self.lanes_storing(array)

    @cached_property
    def _stores_anywhere(self) -> bool:
        return self._is_of(_STORES_ANYWHERE)

    @cached_property
    def can_store(self) -> bool:
        """Whether the program has an instruction that may store to global memory."""
        own = (SHARED_SPACE, LOCAL_SPACE, PARAM_SPACE)
        return any(
            row.operation.startswith(("st", "atom", "red", *_STORES_ANYWHERE))
            and row.space not in own
            for row in self._rows
        )

    def lanes_storing(self, array: str) -> set[Lane]:
        """Return the threads that store to an array of global memory, but for whole fragments."""
        if array not in self._lanes_storing:
            stores = self._stores_to(array)
            lanes = zip(stores.block.tolist(), stores.thread.tolist(), strict=True)
            self._lanes_storing[array] = set(lanes)
        return self._lanes_storing[array]

    def _stores_to(self, array: str) -> _Accesses:
        """Return the stores to an array of global memory, by address and in order."""
        place, stores = self.tape.arrays.by_name[array], self._stores
        first, last = np.searchsorted(stores.address, [place.start, place.start + place.nbytes])
        return _Accesses(*(one[first:last] for one in stores))

    def last_lanes(self, array: str) -> dict[int, Lane]:
        """Return the thread that stores each cell of an array last, by the cells' numbers."""
        place, stores = self.tape.arrays.by_name[array], self._stores_to(array)
        cells = ((stores.address - place.start) // place.element_bytes).tolist()
        lanes = zip(stores.block.tolist(), stores.thread.tolist(), strict=True)
        return dict(zip(cells, lanes, strict=True))  # of one cell the last one stays

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
        # An access of a vector is one to each of its elements, and one to an array of smaller
        # elements, such as that of two halves at once, is one to each of these.
        pc = columns.pc[event]
        sizes = np.array([row.bytes for row in self._rows], np.int64)[pc]
        elements = np.array([max(row.elements, 1) for row in self._rows], np.int64)[pc]
        nbytes, sizes = elements * sizes, self._parts(address, sizes)
        times = nbytes // sizes
        element = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        address, event, lane, sizes = (
            np.repeat(one, times) for one in (address, event, lane, sizes)
        )
        return _Accesses(
            address + element * sizes, event, columns.block[event],
            columns.warp[event] * 32 + lane, columns.pc[event],
        )  # fmt: skip

    def _parts(self, address: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """Return sizes of accesses, in bytes, where none is larger than an element of its array."""
        found = sizes.copy()
        for place in self.tape.arrays:
            is_there = (address >= place.start) & (address < place.start + place.nbytes)
            np.minimum(found, place.element_bytes, out=found, where=is_there)
        return found

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
    def _order_of_loads(self) -> np.ndarray:
        """A number for each load, by thread and then by its place in the order of the launch."""
        loads, threads = self._loads, int(np.prod(self.tape.block))
        count = len(self.tape.recording.columns.pc) + 1
        return (loads.block * threads + loads.thread) * count + loads.at

    @cached_property
    def busy_lanes(self) -> set[Lane]:
        """The threads that read or store anything but their parameters and own variables."""
        places = [one for one in self.tape.arrays if one.space != "constant"]
        address = self._accesses.address
        is_there = np.zeros(len(address), bool)
        for one in places:
            is_there |= (address >= one.start) & (address < one.start + one.nbytes)
        lanes = zip(self._accesses.block[is_there], self._accesses.thread[is_there], strict=True)
        return {(int(block), int(thread)) for block, thread in lanes}

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
        if self.needs_formulas(array):
            if not self.is_followed:
                raise NotRecorded("the record does not say which thread stores which cell")
            return [
                Stored(one.at, self._lane_of(one), one.line)
                for one in self.tape.cell(array, cell).writers
            ]
        place = self.tape.arrays.by_name[array]
        return self.stores(place.start + cell * place.element_bytes)

    def stores_by_lane(self, array: str) -> dict[Lane, list[CellStore]]:
        """Return the stores of each thread to an array of global memory, in order."""
        place, stores = self.tape.arrays.by_name[array], self._stores_to(array)
        stores = stores.ordered(stores.block, stores.thread, stores.at)
        cells = (stores.address - place.start) // place.element_bytes
        found: dict[Lane, list[CellStore]] = {}
        times: Counter[tuple[Lane, int]] = Counter()
        every = (one.tolist() for one in (stores.block, stores.thread, cells, stores.at, stores.pc))
        for block, thread, cell, at, pc in zip(*every, strict=True):
            own = found.setdefault((block, thread), [])
            if own and own[-1].at == at:  # a further element of a vector
                continue
            own.append(CellStore(cell, at, pc, times[(block, thread), pc]))
            times[(block, thread), pc] += 1
        return found

    def _lane_of(self, one: Writer) -> Lane:
        (x, y, z), (i, j, k) = one.block, one.thread
        (width, height, _), (across, down, _) = self.tape.grid, self.tape.block
        return x + width * (y + height * z), i + across * (j + down * k)

    def some_of(self, array: str, cells: Sequence[int]) -> list[int]:
        """Return as many of some cells as can be followed; none if one is too much."""
        found = list(cells)
        while len(found) > 1 and self._cost(self._ends(array, found)) > MOST_FOLLOWED:
            found = found[::2]
        return found if self._cost(self._ends(array, found)) <= MOST_OF_ONE else []

    def follow(self, array: str, cells: Iterable[int], work: Work) -> None:
        """Follow the values that some cells depend on: the tape has the formulas of these alone.
        work: as of Provenance, whose exception it raises.
        """
        self.tape.__dict__["provenance"] = self._provenance(array, cells, work, self.instead)
        self.is_followed = True

    def formula_with(
        self, array: str, cell: int, instead: Mapping[Load, Formula], work: Work
    ) -> Form:
        """Return the formula that a cell has if some instructions give something else. work,
        instead: as of Provenance, whose exception it raises.
        """
        found = self._provenance(array, [cell], work, {**self.instead, **instead})
        place = self.tape.arrays.by_name[array]
        address = self.tape._address(place, cell)
        return found.load(address, place_bytes(place, address), None)

    def given_by(
        self, lane: Lane, array: str, cell: int, work: Work
    ) -> dict[tuple[int, int], Form]:
        """Return the formulas of all results of a thread on which a cell depends, by the number of
        the event and the element. work: as of Provenance, whose exception it raises.
        """
        return self._provenance(array, [cell], work, self.instead, lane).given

    def _provenance(
        self,
        array: str,
        cells: Iterable[int],
        work: Work,
        instead: Mapping[Load, Formula],
        watched: Lane | None = None,
    ) -> Provenance:
        key = array, tuple(cells)
        if self._latest[0] != key:  # the formulas of one cell are asked for several times
            self._latest = key, list(self._events(self._ends(*key)))
        part: Any = _Part(self.tape, self._latest[1])
        return Provenance(part, work, instead, watched)

    def _ends(self, array: str, cells: Iterable[int]) -> np.ndarray:
        """Return up to where in the order of the launch some cells depend on each thread, by block
        and thread; -1 for those on which they do not depend.
        """
        threads, blocks = int(np.prod(self.tape.block)), int(np.prod(self.tape.grid))
        if self.needs_formulas(array):
            return np.full((blocks, threads), len(self.tape.recording.columns.pc))
        ends = np.full(blocks * threads, -1)
        needs = ends.copy()
        for one in (writer for cell in cells for writer in self.writers(array, cell)):
            lane = one.lane[0] * threads + one.lane[1]
            needs[lane] = max(needs[lane], one.at)
        # Those that are followed together: a block, a warp, or none but the thread itself.
        together = None
        block_of, thread_of = np.divmod(np.arange(blocks * threads), threads)
        if self._is_of(_WITHOUT_ADDRESSES):
            together = block_of
        elif self._is_of(_OF_WARPS):
            together = block_of * threads + thread_of // 32
        while len(more := np.flatnonzero(needs > ends)):
            since, until = ends[more], needs[more]
            ends[more] = until
            self._add_stores_for(more, since, until, needs)
            if together is not None:
                ends_of_all = np.full(together.max() + 1, -1)
                np.maximum.at(ends_of_all, together[more], until)
                np.maximum(needs, ends_of_all[together], out=needs)
        return ends.reshape(blocks, threads)

    def _add_stores_for(
        self, lanes: np.ndarray, since: np.ndarray, until: np.ndarray, needs: np.ndarray
    ) -> None:
        """Add to needs where the last stores are to what some threads load between two places."""
        loads, stores, threads = self._loads, self._stores, int(np.prod(self.tape.block))
        count = len(self.tape.recording.columns.pc) + 1
        firsts = np.searchsorted(self._order_of_loads, lanes * count + since + 1)
        lasts = np.searchsorted(self._order_of_loads, lanes * count + until + 1)
        nth, one = _ranges(firsts, lasts)
        address, at, block = loads.address[one], loads.at[one], loads.block[one]
        block = np.where(self._are_of_a_block(address), block, -1)
        # Of the loads from one address the last one: it may have read what any store before has.
        order = np.lexsort((at, address, block))
        is_last = np.ones(len(order), bool)
        is_last[:-1] = (np.diff(address[order]) != 0) | (np.diff(block[order]) != 0)
        address, at, block = (one[order[is_last]] for one in (address, at, block))
        ends = (np.searchsorted(stores.address, address, side) for side in ("left", "right"))
        nth, one = _ranges(*ends)
        is_there = (block[nth] < 0) | (stores.block[one] == block[nth])
        one = one[is_there & (stores.at[one] < at[nth])]
        np.maximum.at(needs, stores.block[one] * threads + stores.thread[one], stores.at[one])

    def _are_of_a_block(self, addresses: np.ndarray) -> np.ndarray:
        """Return where addresses are of shared or local memory: each block has its own there."""
        recording = self.tape.recording
        threads = -(-int(np.prod(self.tape.block)) // 32) * 32
        shared_bytes = recording.kernel.program.shared_bytes + recording.dynamic_shared
        shared, local = addresses - recording.shared, addresses - recording.local
        is_local = (local >= 0) & (local < recording.local_bytes * threads)
        return is_local | ((shared >= 0) & (shared < shared_bytes))

    def _run_by(self, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of the instructions that some threads have run up to their ends, and
        their lanes as bits.
        """
        columns = self.tape.recording.columns
        blocks, threads = ends.shape
        padded = np.full((blocks, -(-threads // 32) * 32), -1)
        padded[:, :threads] = ends
        by_warp = padded.reshape(blocks, -1, 32)
        last = by_warp.max(axis=2)
        bits = ((by_warp >= 0) << np.arange(32, dtype=np.uint64)).sum(axis=2, dtype=np.uint64)
        lanes = bits[columns.block, columns.warp] & columns.lanes
        numbers = np.flatnonzero(lanes)
        numbers = numbers[numbers <= last[columns.block, columns.warp][numbers]]
        return numbers, lanes[numbers]

    def _cost(self, ends: np.ndarray) -> int:
        """Return how many instructions of lanes are to be followed."""
        _, lanes = self._run_by(ends)
        return int(np.unpackbits(lanes.view(np.uint8)).sum())

    def _events(self, ends: np.ndarray) -> Iterator[Event]:
        numbers, lanes = self._run_by(ends)
        event = self.tape.recording.event
        return map(event, numbers.tolist(), lanes.tolist())


def _ranges(firsts: np.ndarray, lasts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of some ranges, one after another: of which range each is, and itself."""
    counts = lasts - firsts
    nth = np.repeat(np.arange(len(counts)), counts)
    return nth, np.arange(counts.sum()) - (np.cumsum(counts) - counts - firsts)[nth]


class _Part:
    """A tape with some of its events."""

    def __init__(self, tape: Tape, events: list[Event]):
        self._tape, self.events = tape, events

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tape, name)
