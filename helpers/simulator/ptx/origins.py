"""Finds the origins of the addresses of a function's accesses, for the machine (Program::origins
and Program::shared_names in machine/program.h).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from .opcodes import GENERIC, GLOBAL_SPACE, SHARED_SPACE, describe
from .roots import UNKNOWN, Root, Roots
from .rows import Code, Context
from .syntax import Address, Statement, Variable

NOT_KNOWN = -1
_ACCESSES = ("ld", "st", "atom", "red")
_OTHER_ACCESSES = ("wmma.load", "wmma.store", "ldmatrix", "stmatrix")
_COPIES = "cp.async.c", "cp.async.shared.global"  # opcodes and operations begin so
# Instructions that write shared memory and are no stores or atomics.
_OTHER_WRITES = ("cp", "stmatrix", "wmma", "mbarrier")
_ANY_NAME = 255
_MOST_NAMES = 31  # the machine has a bit for each


def origins(
    context: Context, code: Code, instructions: np.ndarray, shared: Sequence[int], statics: int
) -> np.ndarray:
    """Return an origin for each instruction, int32, shape of `instructions`: the offset of a
    pointer among the kernel's parameters, -2 - k for the variable whose address is static k,
    -2 - statics - k for shared variable k, or NOT_KNOWN. An access has one only if it is sure.

    shared: the offsets of the static shared variables; statics: the number of all statics.
    """
    found = np.full(len(instructions), NOT_KNOWN, np.int32)
    accesses = [
        (k, one.opcode, address)
        for k, one in enumerate(code.body.statements)
        if (address := _address(one)) is not None
    ]
    if not accesses:
        return found
    roots, first = Roots(code.body), code.first_rows
    ids, operations = context.operation_ids, context.operations
    memory = {ids[name] for name in ("ld", "st") if name in ids}
    memory.update(operations.beginning("atom."))
    memory.update(operations.beginning(*_OTHER_ACCESSES, *_COPIES))
    operation = instructions["operation"].tolist()
    numbers = {offset: -2 - statics - k for k, offset in enumerate(shared)}
    for k, opcode, address in accesses:
        root = roots.of(address)
        number = _of_shared(context, root, numbers)
        # A copy has an address in global memory, too.
        may_be_global = opcode.partition(".")[0] in _ACCESSES and isinstance(address.base, int)
        if number == NOT_KNOWN and may_be_global:
            number = _number(context, root)
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
    """Return the address of an access to global or shared memory, of a copy the one it writes to.
    """
    name = statement.opcode.partition(".")[0]
    if name in _ACCESSES:
        if describe(statement.opcode).space not in (GENERIC, GLOBAL_SPACE, SHARED_SPACE):
            return None
    elif not statement.opcode.startswith((*_OTHER_ACCESSES, *_COPIES)):
        return None
    return next((one for one in statement.operands if isinstance(one, Address)), None)


def _of_shared(context: Context, root: Root, numbers: Mapping[int, int]) -> int:
    """Return the origin of a static shared variable; numbers: the origins by offset."""
    key = context.module.aliases.get(root, root) if isinstance(root, str) else root
    if not isinstance(key, str | Variable):
        return NOT_KNOWN
    return numbers.get(context.shared.get(key, -1), NOT_KNOWN)


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
