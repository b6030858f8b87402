"""Finds the origins of the addresses of a function's accesses, for the machine (Program::origins in
machine/program.h).
"""

from __future__ import annotations

import numpy as np

from .opcodes import GENERIC, GLOBAL_SPACE, describe
from .roots import Root, Roots
from .rows import Code, Context
from .syntax import Address, Statement

NOT_KNOWN = -1
_ACCESSES = ("ld", "st", "atom", "red")


def origins(context: Context, code: Code, instructions: np.ndarray) -> np.ndarray:
    """Return an origin for each instruction, int32, shape of `instructions`: the offset of a
    pointer among the kernel's parameters, -2 - k for the variable whose address is static k, or
    NOT_KNOWN. Only accesses that may reach global memory have one, and only if it is sure.
    """
    found = np.full(len(instructions), NOT_KNOWN, np.int32)
    accesses = [
        (k, address)
        for k, one in enumerate(code.body.statements)
        if (address := _address(one)) is not None
    ]
    if not accesses:
        return found
    roots, first = Roots(code.body), code.first_rows
    ids = context.operation_ids
    memory = {ids[name] for name in ("ld", "st") if name in ids}
    memory.update(context.operations.beginning("atom."))
    operation = instructions["operation"].tolist()
    for k, address in accesses:
        number = _number(context, roots.of(address))
        if number != NOT_KNOWN:
            for row in range(first[k], first[k + 1]):
                if operation[row] in memory:
                    found[row] = number
    return found


def _address(statement: Statement) -> Address | None:
    if statement.opcode.partition(".")[0] not in _ACCESSES or describe(
        statement.opcode
    ).space not in (GENERIC, GLOBAL_SPACE):
        return None
    address = next((one for one in statement.operands if isinstance(one, Address)), None)
    return address if address is not None and isinstance(address.base, int) else None


def _number(context: Context, root: Root) -> int:
    if isinstance(root, int):
        return root
    if isinstance(root, str):
        name = context.module.aliases.get(root, root)
        return (
            -2 - context.statics.index.get((0, 8, 0, name), -1)
            if (0, 8, 0, name) in context.statics.index
            else NOT_KNOWN
        )
    return NOT_KNOWN
