"""Analyses addresses without running a kernel: finds a root, the distance from it, and the root's
alignment.

The root of an address is the address without the constants that the code adds to it. The distances
of two addresses from one root tell how far they are apart. Trailing zeros of constants and factors
prove the alignment, as they do in an assembler.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .columns import Columns
from .control import Flow, predecessors
from .rows import Code, Context

ALWAYS = 1 << 30  # the alignment of zero
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
        self.widths = code.widths
        self.operation = rows.field("operation")
        self.zeros: dict[int, int] = {}  # alignment of registers

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

    # ---- alignment

    def alignment(self, root: Root) -> int:
        """Return the largest power of two that surely divides the root."""
        if root.kind == "constant":
            return ALWAYS
        if root.kind == "symbol":
            variable = self.context.module.variables.get(str(root.name))
            return variable.align if variable is not None else 1
        if root.kind != "register":
            return 1
        register = int(root.name)
        if register not in self.zeros:
            self._solve(register)
        return self.zeros[register]

    def _solve(self, register: int) -> None:
        """Find the greatest alignments that agree with all definitions, of this register and of
        the registers from which it is computed.
        """
        slice_: dict[int, list[int]] = {}
        waiting = [register]
        while waiting:
            one = waiting.pop()
            if one in slice_ or one in self.zeros:
                continue
            slice_[one] = self.definitions(one)
            for row in slice_[one]:
                waiting += [operand for operand in self._read(row) if operand >= 0]
        found = dict.fromkeys(slice_, ALWAYS)
        order = list(slice_)[::-1]
        changed = True
        while changed:
            changed = False
            for one in order:
                now = min((self._of_row(row, found) for row in slice_[one]), default=1)
                if now < found[one]:
                    found[one], changed = now, True
        self.zeros.update(found)

    def _read(self, row: int) -> list[int]:
        """Return the operands on which the alignment of a row's result depends."""
        rule = _RULES.get(self._kind(row))
        return self.operands(row)[1:] if rule is not None else []

    def _kind(self, row: int) -> str:
        name = self.names[self.operation[row]]
        operation, _, rest = name.partition(".")
        if operation in ("mul", "mad"):
            return operation if rest.startswith(("lo.", "wide.")) else ""
        if operation == "cvt":
            to, _, of = rest.partition(".")
            return (
                "cvt"
                if to[:1] in "us" and of[:1] in "us" and int(to[1:]) >= 32 <= int(of[1:])
                else ""
            )
        if operation in ("add", "sub", "min", "max", "shl", "selp", "mov", "and", "or", "xor"):
            return operation if rest[:1] in "usb" and rest[1:] in ("32", "64") else ""
        return operation if name in ("cvta.to.shared",) else ""

    def _of_row(self, row: int, found: dict[int, int]) -> int:
        def of(operand: int) -> int:
            if operand >= 0:
                return found[operand] if operand in found else self.zeros.get(operand, 1)
            if operand <= -2 and (value := self.constant(operand)) is not None:
                return value & -value if value else ALWAYS
            return 1

        operands = self.operands(row)
        rule = _RULES.get(self._kind(row))
        if rule is None:
            return 1
        if self._kind(row) == "shl":
            shift = self.constant(operands[2])
            return (
                min(of(operands[1]) << min(max(shift, 0), 30), ALWAYS)
                if shift is not None
                else of(operands[1])
            )
        return min(rule([of(operand) for operand in operands[1:]]), ALWAYS)


_RULES: dict[str, Callable[[list[int]], int]] = {
    "mov": min, "cvt": min, "cvta.to.shared": min, "add": min, "sub": min, "or": min, "xor": min,
    "min": min, "max": min,
    "and": max, "mul": lambda a: a[0] * a[1], "mad": lambda a: min(a[0] * a[1], a[2]),
    "selp": lambda a: min(a[:2]),
    "shl": min,
}


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
