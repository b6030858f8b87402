"""Finds loads whose values nothing depends on: copies of structures, with the gaps between their
members.

No thread has written a gap, but reading it is no fault. The optimiser copies words, in which a gap
lies beside a written member. Code with little optimisation copies a gap byte by byte, like a
member.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .body import Body
from .opcodes import COPIED, UNWATCHED, describe
from .roots import UNKNOWN, Roots, read, results
from .rows import Code
from .syntax import Statement, Variable

_BIT_STEPS = 8  # limit of statements between a load and the store of a bit field
_FLOATS = ("f16", "bf16", "f32", "f64")
_Uses = Mapping[int, Sequence[tuple[Statement, int]]]


def copies_of_gaps(body: Body, roots: Roots) -> set[int]:
    """Returns the loads of code with little optimisation that may read a gap."""
    loads, uses = _loads(body), _uses(body)
    found = _single_bytes(loads) & {k for k, load in loads.items() if _is_only_stored(load, uses)}
    for k, load in loads.items():
        after = [use for register in results(load) for use in uses.get(register, [])]
        back = [_is_written_back(user, load, uses) for user, _ in after]
        local = _may_be_local(roots, load, 1)
        if all(
            is_back or (local and _stays(user, at, roots))
            for is_back, (user, at) in zip(back, after, strict=True)
        ):
            found.add(k)
    return found


def mark_copies(code: Code, instructions: np.ndarray) -> None:
    """Flags the loads of optimised code that may read a gap, alone or beside a written member."""
    loads = _loads(code.body)
    if all(load.opcode.endswith(_FLOATS) for load in loads.values()):
        return
    uses = _uses(code.body)
    copies = {k: load for k, load in loads.items() if _is_only_stored(load, uses)}
    single = _single_bytes(loads)
    for k, load in copies.items():
        if not load.opcode.endswith(_FLOATS):
            rows = slice(code.first_rows[k], code.first_rows[k + 1])
            flag = UNWATCHED if k in single else COPIED
            instructions["flags"][rows] |= np.where(
                instructions["elements"][rows] > 0, flag, 0
            ).astype(np.uint32)


def _is_only_stored(load: Statement, uses: _Uses) -> bool:
    after = [use for register in results(load) for use in uses.get(register, [])]
    return bool(after) and all(at == 1 and user.opcode.startswith("st.") for user, at in after)


def _single_bytes(loads: Mapping[int, Statement]) -> set[int]:
    """Returns the loads of single bytes if the same statement of the source also has loads of other
    sizes, as in the copy of a structure.
    """
    widths: dict[int, set[int]] = {}
    for load in loads.values():
        widths.setdefault(load.place, set()).add(describe(load.opcode).width)
    return {
        k
        for k, load in loads.items()
        if describe(load.opcode).width == 1 and len(widths[load.place]) > 1
    }


def _loads(body: Body) -> dict[int, Statement]:
    return {
        k: one
        for k, one in enumerate(body.statements)
        if one.opcode.startswith("ld.") and not one.opcode.startswith("ld.param")
    }


def _uses(body: Body) -> _Uses:
    """Returns the readers of each register, with the operand's number."""
    found: dict[int, list[tuple[Statement, int]]] = {}
    for statement in body.statements:
        for at, register in read(statement):
            found.setdefault(register, []).append((statement, at))
    return found


def _may_be_local(roots: Roots, statement: Statement, operand: int) -> bool:
    root = roots.of(statement.operands[operand])
    return root is UNKNOWN or (isinstance(root, Variable) and root.space == "local")


def _stays(user: Statement, at: int, roots: Roots) -> bool:
    """Whether a statement stores a value in local memory again, or passes it to a function."""
    if at != 1 or not user.opcode.startswith("st."):
        return False
    return user.opcode.startswith("st.param") or _may_be_local(roots, user, 0)


def _is_written_back(user: Statement, load: Statement, uses: _Uses, level: int = 0) -> bool:
    """Whether a value only returns to the place of its load, with some of its bits replaced."""
    if user.opcode.startswith("st."):
        return user.operands[0] == load.operands[1]
    if level > _BIT_STEPS or user.opcode.partition(".")[0] not in (
        "and",
        "or",
        "bfi",
        "cvt",
        "mov",
    ):
        return False
    after = [use for register in results(user) for use, _ in uses.get(register, [])]
    return bool(after) and all(_is_written_back(one, load, uses, level + 1) for one in after)
