"""One recorded launch: what the machine is asked to write down, and what it has written.

The record has each executed instruction in the order in which the machine ran them (see
machine/recorder.h): its lanes, the addresses that they access, and their results.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from ctypes import c_int, c_size_t, c_uint64
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..launch import CHECKS, LaunchReport, run_recorded
from ..launch_limits import Extents
from ..library import Recording as RawRecording
from ..library import machine
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

    def events(self) -> Iterator[Event]:
        """Yield the executed instructions, in their order."""
        translation = self.kernel.translation
        assert translation is not None
        rows, words = translation.rows, self.words.tolist()
        counts = [tuple(2 if w == 16 else 1 for r, w in zip(row.results, row.widths, strict=True)
                        if r >= 0) for row in rows]  # fmt: skip
        lanes_of: dict[int, tuple[int, ...]] = {}
        at, end, number = 0, len(words), 0
        while at < end:
            head, more = words[at], words[at + 1]
            pc, mask = head & 0xFFFFFFFF, head >> 32
            flags = more >> 16 & 0xFFFF
            at += 2
            lanes = lanes_of.get(mask)
            if lanes is None:
                lanes = lanes_of[mask] = tuple(k for k in range(32) if mask >> k & 1)
            n = len(lanes)
            addresses = values = decided = None
            if flags & _HAS_ADDRESSES:
                addresses = words[at : at + n]
                at += n
            if flags & _IS_DECIDED:
                decided = words[at]
                at += 1
            if flags & _HAS_VALUES:
                values = []
                for size in counts[pc]:
                    if size == 1:
                        values.append(words[at : at + n])
                    else:
                        pairs = words[at : at + 2 * n]
                        values.append(
                            [a | b << 64 for a, b in zip(pairs[::2], pairs[1::2], strict=True)]
                        )
                    at += size * n
            yield Event(
                number,
                rows[pc],
                more >> 32,
                more & 0xFFFF,
                lanes,
                addresses,
                values,
                decided,
                bool(flags & _FINISHES),
            )
            number += 1


def run(
    kernel: RecordedKernel,
    packed: bytes,
    grid: Extents,
    block: Extents,
    shared: int,
    wanted: Wanted,
    outputs: Sequence[int],
    time_limit: float | None,
) -> Recording:
    """Run one launch and record it. Raises NotRecorded, and what launch.launch raises for a launch
    that a GPU refuses.
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
    more: dict = {"recording": ctypes.cast(ctypes.pointer(raw), ctypes.c_void_p)}
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
        kernel, packed, grid, block, shared, CHECKS, read,
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
