"""Finds the array of an address: the parameter, variable or local array that it starts from.

    found = Roots(body)
    found.of(register)  # 8: the pointer at offset 8 of the kernel's parameters
                        # "table": a variable; None: no address

An address that may come from two arrays, or from memory, is UNKNOWN. All other answers are certain.
"""

from __future__ import annotations

from .body import Body
from .opcodes import describe
from .syntax import Address, Literal, Operand, Statement, Symbol, Variable


class Unknown:
    """The root of an address that may point anywhere."""


UNKNOWN = Unknown()
DIFFERENCE = Unknown()  # a distance between two arrays: a pointer plus it may point anywhere
Root = (
    int | str | Variable | Unknown | None
)  # an offset among the parameters, a symbol, a variable of the function
_POINTER, _SHORT_POINTER = 8, 4  # bytes; an address of shared memory may be short

_NUMBERS = frozenset(
    (
        "mul",
        "shl",
        "shr",
        "cvt",
        "neg",
        "not",
        "div",
        "rem",
        "abs",
        "popc",
        "clz",
        "bfe",
        "bfi",
        "bfind",
        "brev",
        "set",
        "fma",
    )
)
_SUMS = frozenset(("add", "and", "or", "xor"))
_MAY_POINT = _NUMBERS | _SUMS | {"mov", "sub", "mad", "selp", "min", "max"}
_TO_SHORT = "cvt.u32.u64"
_WIDTHS = ("cvt.u64.u32", _TO_SHORT)  # from and to a short address


class Roots:
    """The roots of the registers of a function."""

    def __init__(self, body: Body):
        self.body = body
        self._found: dict[int, Root] = {}
        pointing = []
        has_short = any(map(_names_memory, body.statements))
        for k, statement in enumerate(body.statements):
            is_short = has_short and describe(statement.opcode).root in _MAY_POINT
            for place, register in enumerate(body.written[k]):
                width = body.widths[register]
                if width == _POINTER or (is_short and width == _SHORT_POINTER):
                    pointing.append((register, place, statement))
        changed = True
        while changed:
            changed = False
            for register, place, statement in pointing:
                before = self._found.get(register)
                now = _either(before, self._root(statement, place))
                if now is not before and now != before:
                    self._found[register], changed = now, True

    def of(self, operand: Operand) -> Root:
        """Return the root of an operand, or of the base of an address."""
        if isinstance(operand, int):
            return self._found.get(operand)
        if isinstance(operand, Address):
            return self.of(operand.base) if operand.base is not None else None
        if isinstance(operand, Symbol):
            return operand.name
        return operand if isinstance(operand, Variable) else None

    def definition(self, register: int) -> Statement | None:
        """Return the statement that writes a register, None if several do, or if it has a guard."""
        rows = self.body.definitions.get(register, [])
        statement = self.body.statements[rows[0]] if len(rows) == 1 else None
        return statement if statement is not None and statement.guard < 0 else None

    def _root(self, statement: Statement, place: int) -> Root:
        """Return the root of result number `place`."""
        opcode, operands = describe(statement.opcode), statement.operands
        root = opcode.root
        if root in ("mov", "cvta"):
            return (
                UNKNOWN
                if isinstance(operands[1], list) or isinstance(operands[0], list)
                else self.of(operands[1])
            )
        if root == "ld":
            address = operands[1]
            base = address.base if isinstance(address, Address) else None
            if (
                isinstance(base, Variable)
                and base.space == "entry"
                and isinstance(address, Address)
            ):
                return base.offset + address.offset + place * opcode.width
            return UNKNOWN
        if root in _SUMS:
            return _sum(self.of(operands[1]), self.of(operands[2]))
        if root == "sub":
            first, second = self.of(operands[1]), self.of(operands[2])
            if second is None:
                return first
            return None if first == second and not isinstance(first, Unknown) else DIFFERENCE
        if root == "mad":
            is_distance = any(self.of(one) is DIFFERENCE for one in operands[1:3])
            return UNKNOWN if is_distance else self.of(operands[3])
        if root in ("selp", "min", "max"):
            return _either(self.of(operands[1]), self.of(operands[2]))
        if statement.opcode in _WIDTHS:
            return self.of(operands[1])
        if root in _NUMBERS:
            is_distance = any(self.of(one) is DIFFERENCE for one in operands[1:])
            return DIFFERENCE if is_distance else None
        return UNKNOWN


def _names_memory(statement: Statement) -> bool:
    """Return whether a statement gives a short address."""
    return statement.opcode == _TO_SHORT or (
        statement.opcode == "mov.u32" and isinstance(statement.operands[1], Symbol | Variable)
    )


def _sum(first: Root, second: Root) -> Root:
    """Return the root of a sum: the root of one operand, if the other is a number."""
    if first is None or second is None:
        return second if first is None else first
    return UNKNOWN


def _either(first: Root, second: Root) -> Root:
    if first is None or second is None:
        return second if first is None else first
    return first if first is second or first == second else UNKNOWN


def constant(operand: Operand) -> int | None:
    """Return the signed value of an integer of 64 bits, None for any other operand."""
    if not isinstance(operand, Literal) or operand.width:
        return None
    bits = operand.bits & (1 << 64) - 1
    return bits - (1 << 64) if bits >> 63 else bits
