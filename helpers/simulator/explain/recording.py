"""One recorded launch: what the machine is asked to write down, and what it has written.

The record has each executed instruction in the order in which the machine ran them (see
machine/recorder.h): its lanes, the addresses that they access, and their results.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from ctypes import c_int, c_size_t, c_uint64
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from ..launch.launch import CHECKS, LaunchReport, run_recorded
from ..launch.launch_limits import Extents
from ..machine.library import Recording as RawRecording
from ..machine.library import machine
from .translation import NotRecorded, RecordedKernel, Row

CHANGE = np.dtype(
    [
        ("pc", "<i4"), ("kind", "<u4"), ("block", "<i8"), ("thread", "<i8"), ("nth", "<i8"),
        ("first_condition", "<u4"), ("condition_count", "<u4"), ("value", "<u8"),
        ("element", "<u4"), ("from", "<u4"),
    ]
)  # fmt: skip
CONDITION = np.dtype([("operand", "<i4"), ("bytes", "<u4"), ("value", "<u8")])
TURN, REPLACE, REDIRECT, OTHER_SIDE_FIRST = range(4)  # ChangeKind in machine/recorder.h
_HAS_ADDRESSES, _HAS_VALUES, _FINISHES, _IS_DECIDED = 1, 2, 4, 8  # EventFlag

# Words of a record. Each executed instruction takes 2, and one for each value and address of a
# lane.
MOST_WORDS = 1 << 21


class Event(NamedTuple):
    """One executed instruction of a warp.

    number: its place in the record; block: the block's number in the grid; lanes: those that
    executed it, the lowest first; addresses: one for each lane, None for what accesses no memory;
    values: for each result one value for each lane, None if it has not come to an end; decided: the
    lanes that took a branch, as bits, None for anything else; finishes: it has waited before.
    """

    number: int
    row: Row
    block: int
    warp: int
    lanes: tuple[int, ...]
    addresses: list[int] | None
    values: list[list[int]] | None
    decided: int | None
    finishes: bool


class Columns(NamedTuple):
    """The executed instructions of a record, one array each, in their order: the word at which one
    starts, its pc, its lanes as bits, block and warp, and whether it has addresses.
    """

    start: np.ndarray
    pc: np.ndarray
    lanes: np.ndarray
    block: np.ndarray
    warp: np.ndarray
    has_addresses: np.ndarray


@dataclass(frozen=True)
class Wanted:
    """What is recorded, and what is done otherwise than the program says.

    blocks: numbers of the blocks to record, None for all; until: address and bytes whose last store
    ends a record that is cut; changes, conditions: CHANGE and CONDITION; ahead: a warp of each
    block and the lanes of it that run first, as bits, 0 for all; order: the blocks in the order in
    which they run, None for the usual one.
    """

    blocks: tuple[int, ...] | None = None
    most_words: int = MOST_WORDS
    until: tuple[int, int] = (0, 0)
    changes: np.ndarray | None = None
    conditions: np.ndarray | None = None
    ahead: tuple[int, int] = (0, 0)
    order: tuple[int, ...] | None = None
    most_turns: int = 0


@dataclass(frozen=True)
class Recording:
    """The record of a launch. words: as machine/recorder.h says, uint64; is_cut: whether the first
    ones are missing; shared, local: addresses of the block's shared memory and of the local memory
    of its first thread; local_bytes: of one thread.
    """

    kernel: RecordedKernel
    report: LaunchReport
    words: np.ndarray
    is_cut: bool
    shared: int
    local: int
    local_bytes: int
    dynamic_shared: int
    most_words: int
    grid: Extents
    block: Extents

    @cached_property
    def statics(self) -> list[tuple[int, int]]:
        """The statics of the program: kind (0: a constant) and the bits of a constant."""
        statics = self.kernel.relocated.statics
        return list(zip(statics["kind"].tolist(), statics["value"].tolist(), strict=True))

    @cached_property
    def _rows(self) -> list[Row]:
        translation = self.kernel.translation
        assert translation is not None
        return translation.rows

    @cached_property
    def _words(self) -> memoryview:
        """The words, for those who take one at a time: quicker than from an array, and unlike a
        list nothing that the garbage collector looks through again and again.
        """
        return memoryview(self.words.view(np.uint8).data).cast("Q")

    @cached_property
    def _counts(self) -> list[tuple[int, ...]]:
        """The words of each result of an instruction, for one lane."""
        return [tuple(2 if w == 16 else 1 for r, w in zip(row.results, row.widths, strict=True)
                      if r >= 0) for row in self._rows]  # fmt: skip

    @cached_property
    def _starts(self) -> list[int]:
        """The words at which the executed instructions start."""
        words, sizes = self._words, [sum(one) for one in self._counts]
        starts, at, end = [], 0, len(words)
        while at < end:
            starts.append(at)
            head, flags = words[at], words[at + 1] >> 16
            lanes = (head >> 32).bit_count()
            at += 2 + (lanes if flags & _HAS_ADDRESSES else 0)
            at += 1 if flags & _IS_DECIDED else 0
            at += lanes * sizes[head & 0xFFFFFFFF] if flags & _HAS_VALUES else 0
        return starts

    @cached_property
    def columns(self) -> Columns:
        """What tells the executed instructions apart, of all of them at once."""
        start = np.array(self._starts, np.int64)
        heads, more = self.words[start], self.words[start + 1]
        has_addresses = more >> np.uint64(16) & np.uint64(_HAS_ADDRESSES) != 0
        return Columns(
            start, (heads & np.uint64(0xFFFFFFFF)).astype(np.int64), heads >> np.uint64(32),
            (more >> np.uint64(32)).astype(np.int64), (more & np.uint64(0xFFFF)).astype(np.int64),
            has_addresses,
        )  # fmt: skip

    def event(self, number: int, some: int | None = None) -> Event:
        """Return an executed instruction, by its place in the record. some: lanes as bits, if it is
        wanted for these alone.
        """
        words, at = self._words, self._starts[number]
        head, more = words[at], words[at + 1]
        pc, mask, flags = head & 0xFFFFFFFF, head >> 32, more >> 16
        n, some = mask.bit_count(), mask if some is None else some
        lanes, kept = _lanes_of(mask, some)
        at += 2
        addresses = values = decided = None
        is_whole = len(kept) == n
        if flags & _HAS_ADDRESSES:
            addresses = words[at : at + n].tolist() if is_whole else [words[at + k] for k in kept]
            at += n
        if flags & _IS_DECIDED:
            decided = words[at]
            at += 1
        if flags & _HAS_VALUES:
            values = []
            for size in self._counts[pc]:
                values.append(
                    words[at : at + n].tolist()
                    if size == 1 and is_whole
                    else [words[at + k] for k in kept]
                    if size == 1
                    else [words[at + 2 * k] | words[at + 2 * k + 1] << 64 for k in kept]
                )
                at += size * n
        return Event(
            number,
            self._rows[pc],
            more >> 32,
            more & 0xFFFF,
            lanes,
            addresses,
            values,
            decided,
            bool(flags & _FINISHES),
        )

    def events(self) -> Iterator[Event]:
        """Yield the executed instructions, in their order."""
        return map(self.event, range(len(self._starts)))


@lru_cache(maxsize=4096)
def _lanes_of(mask: int, some: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return some of the lanes of a mask, and their places among all of these."""
    every = [k for k in range(32) if mask >> k & 1]
    kept = tuple(place for place, lane in enumerate(every) if some >> lane & 1)
    return tuple(every[place] for place in kept), kept


def run(
    kernel: RecordedKernel,
    packed: bytes,
    grid: Extents,
    block: Extents,
    shared: int,
    wanted: Wanted,
    outputs: Sequence[int],
    time_limit: float | None,
    observe: Sequence[str] = CHECKS,
) -> Recording:
    """Run one launch and record it. observe: the checks. Raises NotRecorded, and what launch.launch
    raises for a launch that a GPU refuses.
    """
    translation = kernel.translation
    assert translation is not None
    first, slots = translation.slots
    has_addresses = translation.has_addresses
    blocks = grid[0] * grid[1] * grid[2]
    watched = np.ones(blocks, np.uint8)
    if wanted.blocks is not None:
        watched[:] = 0
        watched[list(wanted.blocks)] = 1
    none = np.zeros(1, CHANGE)
    changes = wanted.changes if wanted.changes is not None else none[:0]
    conditions = wanted.conditions if wanted.conditions is not None else np.zeros(1, CONDITION)
    raw = RawRecording(
        first.ctypes.data, slots.ctypes.data, has_addresses.ctypes.data, watched.ctypes.data,
        changes.ctypes.data, conditions.ctypes.data, wanted.most_words, *wanted.until,
        len(changes), *wanted.ahead, 0,
    )  # fmt: skip
    more: dict = {
        "recording": ctypes.cast(ctypes.pointer(raw), ctypes.c_void_p),
        "step_limit": wanted.most_turns,
    }
    order = np.array(wanted.order if wanted.order is not None else [], np.uint64)
    if len(order):
        more |= {"block_count": len(order), "blocks": order.ctypes.data}

    def read() -> tuple[np.ndarray, bool, int, int]:
        count, cut, window, local = c_size_t(), c_int(), c_uint64(), c_uint64()
        told = (ctypes.byref(one) for one in (count, cut, window, local))
        at = machine().halo_recorded(*told)
        words = np.ctypeslib.as_array(at, (count.value,)).copy() if count.value else _NOTHING
        return words, bool(cut.value), window.value, local.value

    report, local_bytes, (words, is_cut, window, local) = run_recorded(
        kernel, packed, grid, block, shared, observe, read,
        outputs=outputs, time_limit=time_limit, **more,
    )  # fmt: skip
    if report.fatal is not None and kernel.is_left_out(machine().halo_fatal()[0].here.pc):
        raise NotRecorded(
            f"{report.fatal.file}:{report.fatal.line}: the debugger's translation of this line has "
            "an instruction that the simulator does not run, so that the launch cannot be recorded"
        )
    return Recording(
        kernel,
        report,
        words,
        is_cut,
        window,
        local,
        local_bytes,
        int(shared),
        wanted.most_words,
        grid,
        block,
    )


_NOTHING = np.zeros(0, np.uint64)
