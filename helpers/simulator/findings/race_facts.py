"""What the code says of a race: whether it is an update, and which instructions access an array."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from ..machine.library import RawFinding
from ..program import encoded
from ..program.module import Kernel
from ..ptx.idempotence import Orders
from ..ptx.updates import Dataflow, Update

UNKNOWN = 2**32 - 1  # Place::unknown in machine/findings.h
_LOAD, _STORE, _ATOMIC = 0, 1, 2  # Place.access
_SCOPE_CTA, _VOLATILE, _STRONG = 1 << 15, 1 << 14, 7 << 18  # flags in machine/program.h
_SHARED = 2  # StateSpace in machine/program.h


def update_of(kernel: Kernel, first: int, second: int) -> Update | None:
    """Return the update that two instructions belong to, None if they are none of one element."""
    found = _accesses(kernel, first, second)
    if found is None:
        return None
    flow, (one, other) = found
    return flow.update(one, other)


def access_lines(kernel: Kernel, pcs: Collection[int]) -> tuple[int, ...]:
    """Return the lines of the PTX that have those of some instructions that load or store."""
    plain = [pc for pc in pcs if kernel.operation_at(pc).partition(".")[0] in ("ld", "st")]
    return tuple(dict.fromkeys(int(kernel.program.ptx_lines[pc]) for pc in plain))


def has_atomic(kernel: Kernel, pcs: Collection[int]) -> bool:
    """Return whether one of some instructions is an atomic."""
    return any(kernel.operation_at(pc).startswith(("atom", "red")) for pc in pcs)


def is_between_stores(kernel: Kernel, pcs: Collection[int]) -> bool:
    """Return whether all of some instructions store."""
    return all(kernel.operation_at(pc).startswith("st") for pc in pcs)


def update_lines(kernel: Kernel, pcs: Sequence[int]) -> dict[int, int]:
    """Return the lines of the PTX that load and store in the updates of an array, by those of the
    stores; none if some instructions belong to no update.
    """
    update, flow = update_of(kernel, pcs[0], pcs[-1]), _flow(kernel, pcs[0])
    if update is None or flow is None:
        return {}
    lines = flow.body.lines
    found = {update, *flow.updates_of(flow.root_of(update.store))}
    return {lines[one.store]: lines[one.last_load] for one in found if one.last_load is not None}


def lines_of_arrays(kernel: Kernel, pc: int, line: int) -> tuple[int, ...]:
    """Return the lines of the PTX that access the arrays to which a line of the source stores, in
    the function of an instruction.
    """
    flow = _flow(kernel, pc)
    if flow is None:
        return ()
    body = flow.body
    places = (body.places[one.place].line for one in body.statements)
    of_line = {k for k, at in enumerate(places) if at == line}
    roots = {flow.root_of(k) for k in flow.plain_accesses("st") if k in of_line} - {None}
    accesses = (k for k in flow.plain_accesses("ld", "st") if flow.root_of(k) in roots)
    return tuple(body.lines[k] for k in accesses)


def index_arrays(kernel: Kernel, access: int) -> set[object]:
    """Return the arrays from which an index is loaded: offsets of pointers among the parameters,
    names of variables.
    """
    found = _accesses(kernel, access)
    if found is None:
        return set()
    flow, (statement,) = found
    return {flow.root_of(load) for load in flow.loads_of_index(statement)}


def waits_plainly(kernel: Kernel, load: int) -> bool:
    """Return whether a loop does nothing but wait for what a plain load reads: the compiler may
    take the load out of it.
    """
    found = _accesses(kernel, load)
    if found is None or _is_volatile(kernel, load):
        return False
    flow, (statement,) = found
    return flow.waits_for(statement)


def barriers_between(kernel: Kernel, race: RawFinding, missed: Iterable[int]) -> list[int]:
    """Return those of the barriers `missed`, which not all threads reach, that stand between the
    accesses of a race, with no other barrier: a barrier there for all threads would order them.
    """
    found = _accesses(kernel, int(race.here.pc), int(race.other.pc))
    if found is None:
        return []
    flow, (first, second) = found
    function = _function_of(kernel, int(race.here.pc))
    statements = {
        pc: _barrier(kernel, flow, pc) for pc in missed if _function_of(kernel, pc) == function
    }
    known = {one for one in statements.values() if one is not None}
    between = flow.barriers_between(first, second, known)
    return [pc for pc, statement in statements.items() if statement in between]


def _barrier(kernel: Kernel, flow: Dataflow, pc: int) -> int | None:
    """Return the statement of a barrier, which PTX writes in two ways."""
    found = (_statement(kernel, flow, pc, root) for root in ("bar", "barrier"))
    return next((one for one in found if one is not None), None)


def whole_store(kernel: Kernel, store: int) -> tuple[int, int] | None:
    """Return how many bytes before a store the source's own store begins, and its bytes; None if
    the code does not say so.
    """
    found = _accesses(kernel, store)
    if found is None or not kernel.operation_at(store).startswith("st"):
        return None
    flow, (statement,) = found
    return flow.whole_store(statement)


def arrays_of(kernel: Kernel, *pcs: int) -> tuple[object, ...]:
    """Return the arrays that accesses of one function go through: offsets of pointers among the
    parameters, names of variables; () if that is not known.
    """
    found = _accesses(kernel, *pcs)
    return tuple(found[0].root_of(one) for one in found[1]) if found is not None else ()


def appends(kernel: Kernel, array: int) -> bool:
    """Return whether a kernel writes an array only at places that it counts (by atomics, shuffles
    or shared memory), so that it may leave the array's end unwritten. array: the offset of its
    pointer among the parameters.
    """
    flow = _flow(kernel, 0)
    return flow is not None and flow.appends(array)


def without_idle_races(
    kernel: Kernel, raw: Sequence[RawFinding], race: int, parameters: bytes
) -> list[RawFinding]:
    """Return the findings without races that decide nothing, such as those of a search that marks
    vertices (ptx/idempotence.py). parameters: the bytes of the launch's arguments.
    """

    known: dict[tuple[str, object], frozenset[int]] = {}

    def is_idle(one: RawFinding) -> bool:
        found = _accesses(kernel, int(one.here.pc), int(one.other.pc))
        if one.kind != race or found is None:
            return False
        flow, statements = found
        roots = {flow.root_of(statement) for statement in statements}
        key = flow.body.name, next(iter(roots))
        if len(roots) == 1 and key not in known:
            known[key] = Orders(flow, parameters).deciding_nothing(key[1])
        if len(roots) > 1:
            return False
        idle, here = known[key], statements[0]
        if one.other.thread == UNKNOWN:  # the line is one of several that may be meant
            return here in idle and len(idle) > 1
        return idle.issuperset(statements)

    return [one for one in raw if not is_idle(one)]


def without_consequences(
    kernel: Kernel, raw: Sequence[RawFinding], race: int, shuffle: int
) -> list[RawFinding]:
    """Return the findings without races at a place that a faulty shuffle, or a plain load beside
    atomics, has given. race, shuffle: the numbers of these kinds.
    """
    given: list[tuple[int, str]] = [
        (int(one.here.pc), "shfl") for one in raw if one.kind == shuffle
    ]
    for one in raw:
        sides = {side.access: int(side.pc) for side in (one.here, one.other)}
        if one.kind == race and set(sides) == {_LOAD, _ATOMIC}:
            given.append((sides[_LOAD], kernel.operation_at(sides[_LOAD]).partition(".")[0]))

    def follows(one: RawFinding) -> bool:
        found = _accesses(kernel, int(one.here.pc), int(one.other.pc))
        if one.kind != race or found is None:
            return False
        flow, statements = found
        sources = {_statement(kernel, flow, pc, root) for pc, root in given}
        return any(flow.sources_of_address(k) & sources for k in statements)

    return [one for one in raw if not given or not follows(one)]


def _is_volatile(kernel: Kernel, pc: int) -> bool:
    return bool(int(kernel.program.instructions["flags"][pc]) & (_VOLATILE | _STRONG))


def _function_of(kernel: Kernel, pc: int) -> tuple[str, int]:
    """Return the name of an instruction's function, and the number behind its last instruction."""
    program = kernel.program
    for name, function in zip(program.function_names, program.functions, strict=False):
        if function["first"] <= pc < function["end"]:
            return name, int(function["end"])
    return "", 0


def _first_of(kernel: Kernel, pc: int) -> int:
    """Return the first instruction of an instruction's function."""
    return next(int(f["first"]) for f in kernel.program.functions if f["first"] <= pc < f["end"])


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
    return _statement(kernel, flow, pc, kernel.operation_at(pc).partition(".")[0])


def _statement(kernel: Kernel, flow: Dataflow, pc: int, root: str) -> int | None:
    """Return the statement of an instruction that begins with `root`."""
    lines, operations = kernel.program.ptx_lines, kernel.program.instructions["operation"]
    alike = np.flatnonzero((lines == lines[pc]) & (operations == operations[pc]))
    number = int(((alike >= _first_of(kernel, pc)) & (alike < pc)).sum())
    return flow.access_at(int(lines[pc]), root, number)
