"""Finds the origins of the addresses of a function's accesses, for the machine (Program::origins
and Program::shared_names in machine/program.h).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from .opcodes import GENERIC, GLOBAL_SPACE, SHARED_SPACE, describe
from .roots import UNKNOWN, Root, Roots
from .rows import Code, Context
from .syntax import Address, Statement, Variable

NOT_KNOWN = -1
_ACCESSES = ("ld", "st", "atom", "red")
# Instructions that write shared memory and are no stores or atomics.
_OTHER_WRITES = ("cp", "stmatrix", "wmma", "mbarrier")
_ANY_NAME = 255
_MOST_NAMES = 31  # the machine has a bit for each


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


def extern_names(names: Sequence[str], codes: Iterable[Code]) -> tuple[str, ...]:
    """Return the `extern __shared__` arrays whose accesses the machine tells apart.

    There are none if a program has less than two of them, or writes shared memory in another way
    than by stores and atomics. codes: the functions of the program.
    """
    opcodes = (one.opcode.partition(".")[0] for code in codes for one in code.body.statements)
    is_known = 2 <= len(names) <= _MOST_NAMES and not any(one in _OTHER_WRITES for one in opcodes)
    return tuple(names) if is_known else ()


def shared_names(
    context: Context, code: Code, instructions: np.ndarray, names: Sequence[str]
) -> np.ndarray:
    """Return for each instruction which `extern __shared__` array it accesses, uint8, shape of
    `instructions`: 1 + the place in `names`, 0 for none, and 255 where it may be any of them.

    Only loads, stores and atomics have one. names: as of `extern_names`.
    """
    found = np.zeros(len(instructions), np.uint8)
    if not names:
        return found
    roots = Roots(code.body)
    numbers = {name: 1 + k for k, name in enumerate(names)}
    for k, one in enumerate(code.body.statements):
        address = next((each for each in one.operands if isinstance(each, Address)), None)
        if address is None or one.opcode.partition(".")[0] not in _ACCESSES:
            continue
        space = describe(one.opcode).space
        if space not in (GENERIC, SHARED_SPACE):
            continue
        root = roots.of(address)
        if isinstance(root, str | Variable):
            name = root if isinstance(root, str) else root.name
            number = numbers.get(context.module.aliases.get(name, name), 0)
        else:
            number = _ANY_NAME if space == SHARED_SPACE or root in (None, UNKNOWN) else 0
        found[code.first_rows[k] : code.first_rows[k + 1]] = number
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
