"""Predicts how ptxas translates atomics: to one instruction, a loop, or one lane's update for a
whole warp.

    atomic                                     machine code
    shared memory: f32, f64, f16x2, bf16x2     a loop; each round loads and tries
        (add), 64 bits (all but exch, cas)
    16 bits, in any memory                     a loop; each round loads the word and
                                               compares and swaps
    shared memory: additions of one            lanes with the same word act as one
    one address for the whole warp             the lanes' values are reduced, one lane updates

The rules come from machine code of ptxas 13.0 for compute capability 9.0. If the machine code of a
kernel is at hand, it says in which atomics one lane updates for all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from . import sass
from .addresses import Addresses
from .columns import Columns
from .opcodes import GENERIC, RESULT_UNUSED, SHARED_SPACE, TYPES
from .rows import STATIC_KINDS

# Instruction.join of an atomic: machine/program.h.
JOINED, SPIN, WORD, ONE_LANE, WHOLE_WARP = 1, 2, 4, 8, 16

_FLOATS = frozenset(TYPES[name] for name in ("f32", "f64", "f16x2", "bf16x2"))
_REDUCED = ("atom.add", "atom.min", "atom.max", "atom.and", "atom.or", "atom.xor")
_BY_LANE = frozenset(
    STATIC_KINDS[name]
    for name in (
        "tid.x", "tid.y", "tid.z", "laneid", "lanemask_eq", "lanemask_lt", "lanemask_le",
        "lanemask_gt", "lanemask_ge",
    )
)
# Operations whose results differ between lanes, even if their operands do not.
_ACROSS = ("shfl", "match", "elect", "atom", "mov.clock", "mov.local", "ldmatrix", "wmma", "mma")
_STEPS = 400
# Instructions beside an atomic in machine code by which one lane collects the others' updates.
_FOR_ALL = ("VOTE", "VOTEU", "REDUX", "POPC", "UPOPC")


class Update(NamedTuple):
    """An atomic that is not one instruction of all its lanes. how: bits, the constants above."""

    row: int
    how: int
    certain: bool


def updates(
    rows: Columns,
    addresses: Addresses,
    instructions: np.ndarray,
    line_of: Callable[[int], int],
    machine_code: sass.Lines | None,
) -> list[Update]:
    """Return the translations of a function's atomics. line_of: the PTX line of a row."""
    names = addresses.names
    atomics = addresses.context.operations.beginning("atom.")
    chosen = np.flatnonzero(np.isin(rows.field("operation"), atomics)).tolist()
    uniform = _Uniform(rows, addresses)
    found = []
    for row in chosen:
        name = names[rows.field("operation")[row]]
        unused = bool(instructions["flags"][row] & RESULT_UNUSED)
        how = _expanded(rows, addresses, row, name, unused)
        lines = machine_code.get(line_of(row), ()) if machine_code is not None else ()
        atoms = [one.opcode for one in lines if one.root.startswith(("ATOM", "RED"))]
        if atoms:
            how &= ~JOINED
            how |= JOINED if any("POPC" in opcode for opcode in atoms) else 0
            if any(one.root in _FOR_ALL for one in lines):
                shuffles = sum(one.root == "SHFL" for one in lines)
                how |= WHOLE_WARP if shuffles > 2 else ONE_LANE
        elif not how & (JOINED | WORD):
            how |= _reduced(rows, addresses, uniform, row, name, unused)
        found.append(Update(row, how, bool(atoms)))
    return found


def _expanded(rows: Columns, addresses: Addresses, row: int, name: str, unused: bool) -> int:
    """Return the translation of an atomic that follows from its type alone."""
    space, width = rows.field("space")[row], int(rows.field("bytes")[row])
    type = int(rows.field("type")[row])
    if width == 2 and rows.field("elements")[row] == 1:
        return WORD
    if space not in (SHARED_SPACE, GENERIC):
        return 0
    swaps = name.startswith(("atom.cas", "atom.exch"))
    if not swaps and ((name.startswith("atom.add") and type in _FLOATS) or width == 8):
        return SPIN
    if not unused or space != SHARED_SPACE or width != 4:
        return 0
    value = addresses.constant(addresses.operands(row)[2])
    by_one = (name.startswith("atom.add") and value == 1) or (
        name.startswith("atom.inc") and value == -1
    )
    return JOINED if by_one else 0


def _reduced(
    rows: Columns, addresses: Addresses, uniform: _Uniform, row: int, name: str, unused: bool
) -> int:
    """Return whether one lane updates for all, by rule: for integers at an address that lanes
    share.
    """
    width, type = int(rows.field("bytes")[row]), int(rows.field("type")[row])
    if type in _FLOATS or not name.startswith(_REDUCED) or rows.field("elements")[row] != 1:
        return 0
    operands = addresses.operands(row)
    if operands[0] >= 0 and not uniform.register(operands[0]):
        return 0
    same_value = uniform.operand(operands[2])
    if width == 8:
        return ONE_LANE if name.startswith("atom.add") and same_value else 0
    if unused:
        return ONE_LANE
    if not name.startswith("atom.add"):
        return 0
    return ONE_LANE if same_value else WHOLE_WARP


class _Uniform:
    """Finds registers that surely have one value in all lanes of a warp: one definition computes
    them from constants, parameters, a block's numbers, or memory at such addresses.
    """

    def __init__(self, rows: Columns, addresses: Addresses):
        self.rows, self.addresses = rows, addresses
        self.known: dict[int, bool] = {}

    def operand(self, operand: int) -> bool:
        if operand >= 0:
            return self.register(operand)
        return operand == -1 or self.addresses.statics[-2 - operand][0] not in _BY_LANE

    def register(self, register: int) -> bool:
        """Return whether a register is uniform; it follows at most _STEPS definitions back."""
        slice_: set[int] = set()
        waiting = [register]
        while waiting:
            one = waiting.pop()
            if one in slice_:
                continue
            if self.known.get(one) is False or len(slice_) >= _STEPS:
                return False
            slice_.add(one)
            rows = self.addresses.definitions(one)
            if len(rows) != 1 or self.rows.guard[rows[0]]:
                self.known[one] = False
                return False
            (row,) = rows
            name = self.addresses.names[self.addresses.operation[row]]
            start, stop = int(self.rows.field("start")[row]), int(self.rows.field("stop")[row])
            if name.startswith(_ACROSS):
                self.known[one] = False
                return False
            operands = self.addresses.operands(row)
            read = operands[:start] + operands[stop:]
            if not all(other >= 0 or self.operand(other) for other in read):
                self.known[one] = False
                return False
            waiting += [other for other in read if other >= 0]
        self.known.update(dict.fromkeys(slice_, True))
        return True
