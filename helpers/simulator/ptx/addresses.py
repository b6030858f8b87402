"""Analyses addresses without running a kernel: finds a root, and the distance from it.

The root of an address is the address without the constants that the code adds to it. The distances
of two addresses from one root tell how far they are apart.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .columns import Columns
from .control import Flow, predecessors
from .rows import Code, Context

_STEPS = 64  # limit for a chain of additions


class Root(NamedTuple):
    """kind: "register" (number; version: the row that defined it last in the block, -1 for none),
    "symbol" (name), "constant".
    """

    kind: str
    name: int | str = 0
    version: int = -1


class Addresses:
    """The addresses of one function. names: names of its operations by number."""

    def __init__(self, context: Context, code: Code, rows: Columns, flow: Flow):
        self.context, self.rows = context, rows
        self.names = context.operations.names
        self.statics = list(context.statics.index)
        self.starts = np.cumsum(rows.lengths) - rows.lengths
        self.block_of = flow.block_of(len(rows))
        written = np.flatnonzero(rows.is_result & (rows.operand >= 0))
        order = np.argsort(rows.operand[written], kind="stable")
        registers = rows.operand[written][order]
        self.defining = rows.row_of[written][order]
        self.first_definition = np.searchsorted(registers, np.arange(len(code.widths) + 1))
        self.operation = rows.field("operation")

    def definitions(self, register: int) -> list[int]:
        """Return the rows that write a register."""
        first, end = self.first_definition[register], self.first_definition[register + 1]
        return self.defining[first:end].tolist()

    def operands(self, row: int) -> list[int]:
        start = self.starts[row]
        return self.rows.operand[start : start + self.rows.lengths[row]].tolist()

    def constant(self, operand: int) -> int | None:
        """Return the signed value of an operand that is a plain constant, else None."""
        if operand > -2:
            return None
        kind, width, value, symbol = self.statics[-2 - operand]
        if kind or symbol:
            return None
        bits = 8 * width
        return value - (1 << bits) if bits and value >> (bits - 1) & 1 else value

    # ---- roots

    def root(self, operand: int, row: int) -> tuple[Root, int]:
        """Return root and distance of an operand as `row` reads it."""
        distance = 0
        for _ in range(_STEPS):
            if operand <= -2:
                kind, _, value, symbol = self.statics[-2 - operand]
                if symbol:
                    return Root("symbol", symbol), distance + value
                known = self.constant(operand)
                return (
                    (Root("constant"), distance + known)
                    if known is not None
                    else (Root("special", kind), distance)
                )
            rows = self.definitions(operand)
            if len(rows) != 1:
                return Root("register", operand, self._version(rows, row)), distance
            (definition,) = rows
            step = self._step(definition) if not self.rows.guard[definition] else None
            if step is None or (step[0] >= 0 and not self._same(step[0], definition, row)):
                return Root("register", operand), distance
            operand, added = step
            distance += added
        return Root("register", operand), distance

    def _version(self, rows: list[int], row: int) -> int:
        block = self.block_of[row]
        return max((one for one in rows if one < row and self.block_of[one] == block), default=-1)

    def _same(self, register: int, definition: int, row: int) -> bool:
        """Return whether a register has the same value at a definition that reads it and at `row`.
        """
        rows = self.definitions(register)
        if len(rows) <= 1:
            return True
        together = self.block_of[definition] == self.block_of[row] and definition < row
        return together and self._version(rows, definition) == self._version(rows, row)

    def _step(self, row: int) -> tuple[int, int] | None:
        """Return the operand to which a row adds a constant, and the constant; None for any other
        row.
        """
        name = self.names[self.operation[row]]
        operation, _, type = name.partition(".")
        operands = self.operands(row)
        if operation == "mov" and type in ("b32", "b64"):
            return operands[1], 0
        if operation in ("add", "sub") and type in ("s32", "u32", "s64", "u64"):
            second = self.constant(operands[2])
            if second is not None:
                return operands[1], second if operation == "add" else -second
            first = self.constant(operands[1])
            if first is not None and operation == "add":
                return operands[2], first
        return None


def dominators(flow: Flow) -> list[int]:
    """Return the dominators of each block as bits: the blocks on every way to it, with itself. A
    block that no way reaches has all bits.
    """
    count = len(flow.starts)
    before = predecessors(flow.successors)
    everything = (1 << count) - 1
    found = [everything] * count
    found[0] = 1
    changed = True
    while changed:
        changed = False
        for block in range(1, count):
            meet = everything
            for one in before[block]:
                meet &= found[one]
            meet |= 1 << block
            if meet != found[block]:
                found[block], changed = meet, True
    return found
