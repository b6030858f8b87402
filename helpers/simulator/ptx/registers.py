"""Allocates slots for virtual registers by a linear scan over their live ranges.

Each lane has its own column in a slot. So liveness is that of one thread, also if the lanes have
parted. This needs separate columns: only a register of the same width may reuse a slot.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .control import Flow, predecessors

SLOT_BYTES = {
    0: 4,
    2: 64,
    4: 128,
    8: 256,
    16: 512,
}  # of a register, by the bytes of one of its values (0: a predicate)


@dataclass
class Accesses:
    """The registers that instructions read and write, as flat int64 or bool arrays.

    use_rows, uses: an instruction and a register that it reads. late: no result of it may share
    this register's slot. result_rows, results: an instruction and a register that it writes.
    partial: it writes only lanes whose predicate is true.
    """

    use_rows: np.ndarray
    uses: np.ndarray
    late: np.ndarray
    result_rows: np.ndarray
    results: np.ndarray
    partial: np.ndarray


def live_ranges(
    accesses: Accesses, flow: Flow, count: int, registers: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first and last point of each register: int64, shape (registers,); first > last
    for a register without any access.

    Instruction i reads at 3 i and writes at 3 i + 1. If its results must not share slots with its
    sources, the sources live until 3 i + 2. A register counts as live between its first and last
    point, although it may have holes.
    """
    points = np.concatenate([3 * accesses.use_rows, 3 * accesses.result_rows + 1])
    ends = np.concatenate([3 * accesses.use_rows + 2 * accesses.late, 3 * accesses.result_rows + 1])
    met = np.concatenate([accesses.uses, accesses.results])
    order = np.argsort(points, kind="stable")
    points, ends, met = points[order], ends[order], met[order]
    kills = np.concatenate([np.zeros(len(accesses.uses), bool), ~accesses.partial])[order]

    first = np.full(registers, 3 * count + 3)
    last = np.full(registers, -1)
    whole = np.zeros(registers, bool)  # whether the first access writes all lanes
    first[met[::-1]] = points[::-1]
    whole[met[::-1]] = kills[::-1]
    last[met] = ends
    block_of = np.append(flow.block_of(count), len(flow.starts))
    crosses = (
        block_of[np.minimum(first // 3, count)] != block_of[np.maximum(last, 0) // 3]
    ) | ~whole
    crosses &= first <= last
    if crosses.any():
        _extend(first, last, crosses, flow, count, block_of, points, met, kills)
    return first, last


def _extend(
    first: np.ndarray, last: np.ndarray, crosses: np.ndarray, flow: Flow, count: int,
    block_of: np.ndarray, points: np.ndarray, met: np.ndarray, kills: np.ndarray,
) -> None:
    """Widen the ranges of registers that cross blocks to all blocks at whose borders they are live
    (bit sets, backward).
    """
    registers = np.flatnonzero(crosses)
    bit_of = np.full(len(crosses), -1)
    bit_of[registers] = np.arange(len(registers))
    chosen = crosses[met]
    blocks = len(flow.starts)
    exposed, killed = [0] * blocks, [0] * blocks
    for block, register, kill, point in zip(
        block_of[points[chosen] // 3].tolist(), bit_of[met[chosen]].tolist(),
        kills[chosen].tolist(), (points[chosen] % 3).tolist(), strict=True,
    ):
        bit = 1 << register
        if kill:
            killed[block] |= bit
        elif point == 0 and not killed[block] & bit:
            exposed[block] |= bit

    before = predecessors(flow.successors)
    live_in, live_out = exposed[:], [0] * blocks
    waiting, queued = list(range(blocks)), [True] * blocks
    while waiting:
        block = waiting.pop()
        queued[block] = False
        out = 0
        for way in flow.successors[block]:
            out |= live_in[way]
        live_out[block] = out
        into = exposed[block] | (out & ~killed[block])
        if into != live_in[block]:
            live_in[block] = into
            for way in before[block]:
                if not queued[way]:
                    queued[way] = True
                    waiting.append(way)

    bounds = [*flow.starts, count]
    seen = 0
    for block in range(blocks):
        for register in _bits(live_in[block] & ~seen):
            first[registers[register]] = min(first[registers[register]], 3 * bounds[block])
        seen |= live_in[block]
    seen = 0
    for block in range(blocks - 1, -1, -1):
        for register in _bits(live_out[block] & ~seen):
            last[registers[register]] = max(last[registers[register]], 3 * bounds[block + 1] - 1)
        seen |= live_out[block]


def _bits(value: int) -> list[int]:
    found = []
    while value:
        low = value & -value
        found.append(low.bit_length() - 1)
        value ^= low
    return found


def allocate(first: np.ndarray, last: np.ndarray, widths: Sequence[int]) -> tuple[np.ndarray, int]:
    """Allocate a slot for each register. Returns byte offsets in the frame (int64, shape of
    ``first``) and the frame's bytes.

    Registers with overlapping ranges or different widths do not share a slot. A register without
    any access has 0.
    """
    offsets = np.zeros(len(first), np.int64)
    kinds = np.asarray(widths, np.int64).reshape(-1)
    used, base = first <= last, 0
    for width, slot_bytes in sorted(SLOT_BYTES.items(), reverse=True):
        registers = np.flatnonzero(used & (kinds == width))
        if not len(registers):
            continue
        registers = registers[np.argsort(first[registers], kind="stable")]
        busy: list[tuple[int, int]] = []
        free: list[int] = []
        slots, found = 0, []
        for start, end in zip(first[registers].tolist(), last[registers].tolist(), strict=True):
            while busy and busy[0][0] < start:
                heapq.heappush(free, heapq.heappop(busy)[1])
            if free:
                slot = heapq.heappop(free)
            else:
                slot, slots = slots, slots + 1
            heapq.heappush(busy, (end, slot))
            found.append(slot)
        offsets[registers] = base + slot_bytes * np.array(found)
        base += slot_bytes * slots
    return offsets, -(-base // 64) * 64
