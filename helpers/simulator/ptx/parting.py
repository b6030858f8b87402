"""Says whether the lanes of a warp may part in a function, as ptxas sees it.

Only then the machine code has a place behind a call through a pointer where lanes that called
different functions meet again (read from SASS of sm_90: BSSY before the call, BSYNC behind it).
A loop is enough, and so is a branch or an exit that depends on the thread, or on a loaded value.
"""

from __future__ import annotations

from .body import Body
from .syntax import Address, Label, Operand, Special, Variable

_BY_THREAD = ("tid", "laneid", "lanemask", "clock", "globaltimer", "smid")
_VARYING = ("ld", "atom", "call", "shfl", "vote", "match", "activemask", "redux")
_WAYS = ("bra", "brx", "ret", "exit")


def lanes_may_part(body: Body) -> bool:
    """Return whether the lanes of a warp may go different ways in a function."""
    varying = _varying(body)
    for k, statement in enumerate(body.statements):
        if statement.opcode.partition(".")[0] not in _WAYS:
            continue
        if not varying.isdisjoint(body.read[k]):
            return True
        if any(isinstance(one, Label) and one.statement <= k for one in statement.operands):
            return True
    return False


def _varying(body: Body) -> set[int]:
    """Return the registers whose values may differ between the lanes of a warp."""
    waiting: list[int] = []
    for k, statement in enumerate(body.statements):
        root = statement.opcode.partition(".")[0]
        is_parameter = root == "ld" and any(map(_is_of_kernel, statement.operands))
        by_thread = any(
            isinstance(one, Special) and one.name.startswith(_BY_THREAD)
            for one in statement.operands
        )
        if by_thread or (root in _VARYING and not is_parameter):
            waiting += body.written[k]
    varying: set[int] = set()
    while waiting:
        register = waiting.pop()
        if register in varying:
            continue
        varying.add(register)
        for k in body.readers.get(register, ()):
            waiting += body.written[k]
    return varying


def _is_of_kernel(operand: Operand) -> bool:
    """Return whether an operand is the address of a kernel's parameter."""
    base = operand.base if isinstance(operand, Address) else None
    return isinstance(base, Variable) and base.space == "entry"
