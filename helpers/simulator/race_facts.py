"""What the code says of a race: whether it is an update, which fence is missing, and what follows
from another race.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import encoded
from .library import RawFinding, operation_names
from .module import Kernel
from .ptx.idempotence import Marks
from .ptx.updates import Dataflow, Update

_STORE, _ATOMIC = 1, 2  # Place.access
_SCOPE_CTA, _VOLATILE, _STRONG = 1 << 15, 1 << 14, 7 << 18  # flags in machine/program.h
_SHARED = 2  # StateSpace in machine/program.h


def update_of(kernel: Kernel, first: int, second: int) -> Update | None:
    """Return the update that two instructions belong to, None if they are none of one element."""
    found = _accesses(kernel, first, second)
    if found is None:
        return None
    flow, (one, other) = found
    return flow.update(one, other)


def is_contended(kernel: Kernel, first: int, second: int) -> bool:
    """Return whether the threads of two instructions race because both have found the same element,
    so that no barrier between the two instructions helps.
    """
    found = _accesses(kernel, first, second)
    if found is None:
        return False
    flow, (one, other) = found
    return flow.contended(one, other)


def comes_from_memory(kernel: Kernel, first: int, second: int) -> bool:
    """Return whether the addresses of two instructions depend on values in memory."""
    found = _accesses(kernel, first, second)
    return found is not None and all(found[0].loads_of_address(one) for one in found[1])


def fence_needed(kernel: Kernel, store: int) -> tuple[int | None, int | None] | None:
    """Return what is wrong behind a store whose value other blocks wait for, by an atomic or a
    volatile variable: the line of the __threadfence_block() before that one, else None, and the
    line of that one. Returns None if the kernel announces nothing, or has a __threadfence() there.
    """
    program = kernel.program
    flow = _flow(kernel, store)
    if flow is None or not (flow.uses_an_atomic() or _polls(kernel)):
        return None
    name = operation_names()
    instructions = program.instructions
    end = _function_of(kernel, store)[1]
    fence: int | None = None
    for pc in range(store + 1, end):
        operation, flags = name[instructions["operation"][pc]], int(instructions["flags"][pc])
        if operation == "fence":
            if not flags & _SCOPE_CTA:
                return None
            fence = fence or pc
        is_shared = instructions["space"][pc] == _SHARED
        is_flag = operation == "st" and flags & (_VOLATILE | _STRONG)
        if not is_shared and (operation.startswith(("atom", "red.")) or is_flag):
            line = kernel.places.line_of
            return (line(fence) or None if fence else None, line(pc) or None)
    return None


def without_idle_races(
    kernel: Kernel, raw: Sequence[RawFinding], race: int, parameters: bytes
) -> list[RawFinding]:
    """Return the findings without races that decide nothing, such as those of a search that marks
    vertices (ptx/idempotence.py). parameters: the bytes of the launch's arguments.
    """

    def is_idle(one: RawFinding) -> bool:
        if one.kind != race:
            return False
        found = _accesses(kernel, int(one.here.pc), int(one.other.pc))
        if found is None:
            return False
        flow, statements = found
        roots = {flow.root_of(statement) for statement in statements}
        return len(roots) == 1 and Marks(flow, parameters).of(roots.pop())

    return [one for one in raw if not is_idle(one)]


def without_consequences(kernel: Kernel, raw: Sequence[RawFinding], race: int) -> list[RawFinding]:
    """Return the findings without races that follow from others: at a place that a racing update
    has given, and at the variable that announces a value where the fence is missing. race: the
    number of that kind.
    """
    races = [one for one in raw if one.kind == race]
    if len(races) < 2:
        return list(raw)
    updates: dict[tuple[int, int], Update] = {}
    unfenced = False
    for one in races:
        here, other = int(one.here.pc), int(one.other.pc)
        if (update := update_of(kernel, here, other)) is not None:
            updates[here, other] = update
        elif not _is_in_one_block(one) and one.other.access == _STORE:
            unfenced |= fence_needed(kernel, other) is not None
    loads = {update.load for update in updates.values()}

    def follows(one: RawFinding) -> bool:
        here, other = int(one.here.pc), int(one.other.pc)
        if one.kind != race or (here, other) in updates:
            return False
        is_signal = _ATOMIC in (one.here.access, one.other.access) or (
            _is_volatile(kernel, here) and _is_volatile(kernel, other)
        )
        if unfenced and is_signal and not _is_in_one_block(one):
            return one.other.access != _STORE or fence_needed(kernel, other) is None
        found = _accesses(kernel, here, other)
        if found is None:
            return False
        flow, statements = found
        return any(flow.loads_of_address(k) & loads for k in statements)

    return [one for one in raw if not follows(one)]


def _is_in_one_block(one: RawFinding) -> bool:
    return tuple(one.here.block) == tuple(one.other.block)


def _is_volatile(kernel: Kernel, pc: int) -> bool:
    return bool(int(kernel.program.instructions["flags"][pc]) & (_VOLATILE | _STRONG))


def _polls(kernel: Kernel) -> bool:
    """Return whether the kernel reads a volatile variable of global memory."""
    instructions = kernel.program.instructions
    loads = [k for k, name in enumerate(operation_names()) if name == "ld"]
    chosen = np.isin(instructions["operation"], loads) & (instructions["space"] != _SHARED)
    return bool((instructions["flags"][chosen] & (_VOLATILE | _STRONG)).any())


def _function_of(kernel: Kernel, pc: int) -> tuple[str, int]:
    """Return the name of an instruction's function, and the number behind its last instruction."""
    program = kernel.program
    for name, function in zip(program.function_names, program.functions, strict=False):
        if function["first"] <= pc < function["end"]:
            return name, int(function["end"])
    return "", 0


def _flow(kernel: Kernel, pc: int) -> Dataflow | None:
    name, _ = _function_of(kernel, pc)
    return encoded.dataflow(kernel.compiled, name) if name else None


def _accesses(kernel: Kernel, *pcs: int) -> tuple[Dataflow, list[int]] | None:
    """Return the dataflow of a function and the statements of its instructions, None if they are
    of several functions.
    """
    functions = {_function_of(kernel, pc) for pc in pcs}
    flow = _flow(kernel, pcs[0])
    if len(functions) != 1 or flow is None:
        return None
    found = [_access(kernel, flow, pc) for pc in pcs]
    known = [one for one in found if one is not None]
    return (flow, known) if len(known) == len(pcs) else None


def _access(kernel: Kernel, flow: Dataflow, pc: int) -> int | None:
    """Return the statement of an access."""
    lines, operations = kernel.program.ptx_lines, kernel.program.instructions["operation"]
    alike = np.flatnonzero((lines == lines[pc]) & (operations == operations[pc]))
    first = next(
        int(f["first"]) for f in kernel.program.functions if f["first"] <= pc < f["end"]
    )
    number = int(((alike >= first) & (alike < pc)).sum())
    return flow.access_at(int(lines[pc]), kernel.operation_at(pc).partition(".")[0], number)
