"""The registers that a statement writes and reads."""

from __future__ import annotations

from collections.abc import Sequence

from .opcodes import describe
from .syntax import Address, Group, Negated, Operand, Pair, Statement


def written(statement: Statement) -> Sequence[int]:
    """Return the registers that a statement writes."""
    return registers(statement.operands[0]) if _has_result(statement) else ()


def read(statement: Statement) -> Sequence[int]:
    """Return the registers that a statement reads, also in addresses, and the predicate of its
    guard.
    """
    sources = statement.operands[1:] if _has_result(statement) else statement.operands
    found = [register for one in sources for register in registers(one)]
    return [*found, statement.guard] if statement.guard >= 0 else found


def _has_result(statement: Statement) -> bool:
    """Return whether the first operand of a statement is what it writes."""
    if not statement.operands:
        return False
    first = statement.operands[0]
    if statement.opcode.startswith("call"):
        return isinstance(first, Group)
    return not isinstance(first, Address) and describe(statement.opcode).result


def registers(operand: Operand) -> Sequence[int]:
    """Return the registers in an operand."""
    if isinstance(operand, int):
        return (operand,)
    if isinstance(operand, Address):
        base = [operand.base] if isinstance(operand.base, int) else []
        return base + _of_all(operand.coordinates)
    if isinstance(operand, list):
        return _of_all(operand)
    if isinstance(operand, Group):
        return _of_all(operand.members)
    if isinstance(operand, Pair):
        return _of_all((operand.first, operand.second))
    return (operand.register,) if isinstance(operand, Negated) else ()


def _of_all(operands: Sequence[Operand]) -> list[int]:
    return [register for one in operands for register in registers(one)]
