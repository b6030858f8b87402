"""A kernel and the functions that it calls, as arrays that the machine runs (machine/program.h).

    encoding = Encoding(module, "conv1d_basic", operation_ids, operands)
    encoding.program    # for a launch whose traffic nobody counts
    encoding.counted()  # the same instructions, with what the machine counts of each access

Raises Unsupported for what the machine has no operation for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from . import ptxas, sass
from .axes import Axis
from .columns import Columns, columns, without_copies
from .control import Flow, Jump, flow
from .lower import Lowering
from .opcodes import RESULT_UNUSED
from .origins import extern_names, origins, shared_names
from .parse import Module, Place, Variable
from .parting import lanes_may_part
from .registers import SLOT_BYTES, Accesses, allocate, live_ranges
from .rows import BUILTINS, BY_ADDRESS, FUNCTION_ADDRESS, Code, Context, Unsupported

__all__ = [
    "BUILTINS",
    "FUNCTION_ADDRESS",
    "INSTRUCTION",
    "Encoding",
    "Program",
    "Relocation",
    "Unsupported",
]

INSTRUCTION = np.dtype(
    [
        ("operation", "<u2"), ("guard", "u1"), ("count", "u1"), ("predicate", "<i4"),
        ("operand", "<i4", 6),
        ("more", "<u4"), ("flags", "<u4"), ("immediate", "<i8"), ("space", "u1"), ("bytes", "u1"),
        ("elements", "u1"),
        ("type", "u1"), ("place", "<u4"), ("target", "<i4"), ("join", "<i4"),
    ]
)
FUNCTION = np.dtype(
    [
        ("first", "<i4"), ("end", "<i4"), ("frame_bytes", "<u4"), ("local_bytes", "<u4"),
        ("parameter_bytes", "<u4"),
        ("stack_bytes", "<u4"),
        ("reserved", "<u4", 2),
    ]
)
STATIC = np.dtype([("slot", "<u4"), ("kind", "<u2"), ("bytes", "<u2"), ("value", "<u8")])
RED_ZONE = 1024  # bytes between shared variables, a multiple of all banks
INLINE = 6  # operands in the instruction itself


@dataclass(frozen=True)
class Relocation:
    """An address that the module fills in: in static `index`, or in the immediate of instruction
    `index`. It is the symbol's address plus `addend`.
    """

    kind: str
    index: int
    symbol: str
    addend: int


@dataclass(frozen=True)
class Parameter:
    """A kernel's parameter: offset and bytes in the parameter space, PTX type (b8 for structures),
    alignment."""

    offset: int
    size: int
    type: str
    align: int


@dataclass
class Program:
    """A kernel and the functions that it calls, for the machine.

    instructions, operands, functions, statics: arrays as in machine/program.h. Function 0 is the
    kernel, function 1 + k the module's k-th for every kernel; `first` is -1 if this kernel cannot
    reach the function. places: Instruction.place is an index into them. place_groups: uint32, by
    place, equal if file, line and column are, even if the calls around differ. shared: (variable,
    offset, bytes) of static shared memory; dynamic_offset: offset of the extern arrays;
    real_shared_bytes: static shared memory without the gaps between variables. parameter_bytes:
    bytes of the kernel's parameters. total_local_bytes: local memory of a lane for the deepest
    chain of calls; recursive: a chain may come back to itself, and total_local_bytes counts each of
    its functions once. most_threads: limit of threads in a block (.maxntid), 0 without a limit;
    exact_block: .reqntid. by_machine_code: bool for each instruction, whether the kernel's machine
    code says how its accesses count (otherwise as PTX has them). origins, shared_names: see
    origins.py; shared_name_of numbers the names from 1.
    ptx_lines: for each instruction its line of the PTX text, 0 without one, int32. axes: the axes
    of the checks of rows by number, see axes.py.
    """

    name: str
    instructions: np.ndarray
    operands: np.ndarray
    functions: np.ndarray
    function_names: list[str]
    statics: np.ndarray
    statics_bytes: int
    places: list[Place]
    place_groups: np.ndarray
    shared: list[tuple[str, int, int]]
    shared_bytes: int
    real_shared_bytes: int
    dynamic_offset: int
    uses_dynamic: bool
    relocations: list[Relocation]
    parameters: list[Parameter]
    parameter_bytes: int
    total_local_bytes: int
    recursive: bool
    most_threads: int
    exact_block: tuple[int, ...]
    by_machine_code: np.ndarray
    origins: np.ndarray
    shared_names: tuple[str, ...]
    shared_name_of: np.ndarray
    ptx_lines: np.ndarray
    axes: list[Axis] = field(default_factory=list)


@dataclass(frozen=True)
class Piece:
    """One function of a program: its first instruction, its code, and its rows, of which row k is
    instruction `start + k`.
    """

    start: int
    code: Code
    rows: Columns
    graph: Flow


class Encoding:
    """A kernel and the functions that it calls, encoded once for both forms of its program.

    operation_ids, operands: the index of each operation by its name, and the letters of its
    operands; contract: whether products and sums become fused multiply-adds, see contraction.py;
    leaves_out: an instruction that the machine does not run is no error until a thread comes to
    it, see Context; keeps_registers: each register of the PTX has a slot of its own, and no copy
    between two of them is left out.

    Raises KeyError if the module has no such kernel, ParseError, Unsupported.
    """

    def __init__(
        self,
        module: Module,
        name: str,
        operation_ids: Mapping[str, int],
        operands: Mapping[str, str],
        contract: bool = True,
        leaves_out: bool = False,
        keeps_registers: bool = False,
    ):
        self._context = Context(module, operation_ids, operands, contract, leaves_out)
        self._keeps_registers = keeps_registers
        self.pieces: list[Piece] = []
        self.program = self._encoded(module, name)

    def counted(self, machine_code: sass.Lines | None = None) -> Program:
        """Return the program with what the machine counts of each access. machine_code: the
        accesses of the kernel's machine code, which then decide.
        """
        instructions = self.program.instructions.copy()
        certain = [
            ptxas.mark(
                instructions[piece.start : piece.start + len(piece.rows)],
                self._context, piece.code, piece.rows, piece.graph, machine_code,
            )
            for piece in self.pieces
        ]
        return replace(
            self.program, instructions=instructions, by_machine_code=np.concatenate(certain)
        )

    def _encoded(self, module: Module, name: str) -> Program:
        context = self._context
        kernel = module.functions[name]
        if not kernel.kernel:
            raise KeyError(name)
        # A cluster of one block is that block.
        blocks = kernel.directives.get("reqnctapercluster")
        if blocks is None and "explicitcluster" in kernel.directives:
            raise Unsupported("a kernel in clusters (.explicitcluster)", Place("", 0))
        if blocks is not None and math.prod(blocks) != 1:
            raise Unsupported("a kernel in clusters (.reqnctapercluster)", Place("", 0))
        layout = _Shared(context)
        codes = _reachable(context, layout, name)

        order = [name, *(one for one in module.functions if one in codes and one != name)]
        names = extern_names(layout.extern, codes.values())
        places: dict[Place, int] = {}
        pieces, roots, named, lines, relocations, start = [], [], [], [], [], 0
        extra: list[int] = []
        functions = np.zeros(len(module.functions) + 1, FUNCTION)
        functions["first"] = functions["end"] = -1
        statics, statics_bytes = _statics(context)
        static_slots = statics["slot"].astype(np.int64) + 1
        offsets = [offset for _, offset, _ in layout.variables]
        for one in order:
            code = codes[one]
            rows = columns(context, code)
            if not self._keeps_registers:
                rows = without_copies(context, code, rows)
            graph, jumps = _flow(code, len(rows))
            self.pieces.append(Piece(start, code, rows, graph))
            slots, frame_bytes = (
                own_slots(code.widths) if self._keeps_registers else _slots(code, rows, graph)
            )
            piece = _assemble(
                context, code, rows, graph, jumps, slots, start, static_slots, extra, places
            )
            pieces.append(piece)
            roots.append(origins(context, code, piece, offsets, len(statics)))
            named.append(shared_names(context, code, piece, names))
            lines.append(_lines(code, len(piece)))
            relocations += [
                Relocation("immediate", start + row, symbol, int(piece["immediate"][row]))
                for row, symbol in code.relocations
            ]
            index = 0 if one == name else module.order[one]
            local = -(-code.local_bytes // 16) * 16
            parameter_bytes = 0 if one == name else code.function.parameter_bytes
            sizes = frame_bytes, local, parameter_bytes
            functions[index] = (start, start + len(piece), *sizes, 0, 0)
            start += len(piece)
        for index, (_kind, _width, addend, symbol) in enumerate(context.statics.index):
            if symbol:
                relocations.append(Relocation("static", index, symbol, addend))

        total, recursive = _deepest(codes, name, _address_taken(context, codes))
        limits = kernel.directives
        exact = limits.get("reqntid", ())
        return Program(
            name=name,
            instructions=np.concatenate(pieces),
            operands=np.array(extra, np.int32),
            functions=functions,
            function_names=[name, *module.functions],
            statics=statics,
            statics_bytes=statics_bytes,
            places=list(places),
            place_groups=_groups(places),
            shared=layout.variables,
            shared_bytes=layout.end,
            real_shared_bytes=layout.real_end,
            dynamic_offset=layout.dynamic,
            uses_dynamic=layout.uses_dynamic,
            relocations=relocations,
            parameters=[
                Parameter(one.offset, one.size, one.type, one.align) for one in kernel.parameters
            ],
            parameter_bytes=kernel.parameter_bytes,
            total_local_bytes=total,
            recursive=recursive,
            most_threads=math.prod(exact or limits.get("maxntid", (0,))),
            exact_block=exact,
            by_machine_code=np.zeros(start, bool),
            origins=np.concatenate(roots),
            shared_names=names,
            shared_name_of=np.concatenate(named),
            ptx_lines=np.concatenate(lines),
        )


def _lines(code: Code, count: int) -> np.ndarray:
    """Return the line of the PTX text of each instruction of a function."""
    statement = np.searchsorted(code.first_rows[: len(code.body.lines)], np.arange(count), "right")
    return np.array([0, *code.body.lines], np.int32)[statement]


def _groups(places: Iterable[Place]) -> np.ndarray:
    groups: dict[tuple[str, int, int], int] = {}
    return np.array(
        [groups.setdefault((one.file, one.line, one.column), len(groups)) for one in places],
        np.uint32,
    )


class _Shared:
    """Places shared variables: each at its real offset, and one red zone after the variable before
    it.
    """

    def __init__(self, context: Context):
        self.context = context
        self.variables: list[tuple[str, int, int]] = []
        self.real_end = self.end = self.dynamic = 0
        self.align = 16
        self.uses_dynamic = False
        self.extern: list[str] = []  # names of the arrays in dynamic shared memory

    def add(self, key: Variable | str, variable: Variable) -> None:
        if key in self.context.shared:
            return
        if "extern" in variable.linkage:
            self.uses_dynamic = True
            self.extern.append(variable.name)
            self.align = max(self.align, variable.align)
            self.context.shared[key] = 0
            return
        at = -(-self.real_end // variable.align) * variable.align
        gap = RED_ZONE * len(self.variables)
        self.context.shared[key] = at + gap
        self.variables.append((variable.name, at + gap, variable.size))
        self.real_end, self.end = at + variable.size, at + gap + variable.size

    def place_dynamic(self) -> None:
        at = -(-self.real_end // self.align) * self.align
        self.dynamic = at + RED_ZONE * len(self.variables)
        for name, variable in self.context.module.variables.items():
            if name in self.context.shared and "extern" in variable.linkage:
                self.context.shared[name] = self.dynamic


def _reachable(context: Context, layout: _Shared, name: str) -> dict[str, Code]:
    """Lower the kernel and every function that it may call, after it has placed shared memory in
    order of appearance.
    """
    module = context.module
    bodies, waiting = {}, [name]
    while waiting:
        one = waiting.pop()
        if one in bodies:
            continue
        body = bodies[one] = module.body(one)
        named = {module.aliases.get(symbol, symbol) for symbol in body.symbols}
        # A call through a register may reach every function whose address an initialised variable
        # has.
        if any(
            statement.opcode.startswith("call") and _indirect(statement.operands)
            for statement in body.statements
        ):
            named |= {
                symbol
                for variable in module.variables.values()
                for _, symbol, _ in variable.addresses
            }
        for symbol in named:
            function = module.functions.get(symbol)
            if function is not None and function.text is not None and not function.kernel:
                waiting.append(symbol)
    named = {
        module.aliases.get(symbol, symbol) for body in bodies.values() for symbol in body.symbols
    }
    for symbol, variable in module.variables.items():
        if variable.space == "shared" and symbol in named:
            layout.add(symbol, variable)
    for one in module.functions:
        if one in bodies:
            for variable in bodies[one].variables:
                if variable.space == "shared":
                    layout.add(variable, variable)
    layout.place_dynamic()
    return {
        one: Lowering(context, module.functions[one]).run()
        for one in module.functions
        if one in bodies
    }


def _indirect(operands: list) -> bool:
    return any(isinstance(operand, int) for operand in operands)


def _statics(context: Context) -> tuple[np.ndarray, int]:
    """Return the table of statics and the bytes of their slots."""
    statics, at = np.zeros(len(context.statics.index), STATIC), 0
    for index, (kind, width, value, symbol) in enumerate(context.statics.index):
        align = 64 if width else 4
        at = -(-at // align) * align
        statics[index] = at, kind, width, 0 if symbol else value & (2**64 - 1)
        at += SLOT_BYTES[width]
    return statics, -(-at // 64) * 64


def _slots(code: Code, rows: Columns, graph: Flow) -> tuple[np.ndarray, int]:
    """Return the slots of a function's registers, and the bytes of its frame."""
    count, operand, row_of, guard = len(rows), rows.operand, rows.row_of, rows.guard
    read, written = (operand >= 0) & ~rows.is_result, (operand >= 0) & rows.is_result
    guarded = np.flatnonzero(guard)
    use_rows = np.concatenate([row_of[read], guarded])
    accesses = Accesses(
        use_rows, np.concatenate([operand[read], rows.predicate[guarded]]),
        rows.field("apart")[use_rows] != 0,
        row_of[written], operand[written], guard[row_of[written]] != 0,
    )
    first, last = live_ranges(accesses, graph, count, len(code.widths))
    return allocate(first, last, code.widths)


def own_slots(widths: Iterable[int]) -> tuple[np.ndarray, int]:
    """Return a slot for each register that no other one shares, and the bytes of the frame."""
    nbytes = [-(-SLOT_BYTES[width] // 64) * 64 for width in widths]
    ends = np.cumsum([0, *nbytes], dtype=np.int64)
    return ends[:-1], int(ends[-1])


def _assemble(
    context: Context,
    code: Code,
    rows: Columns,
    graph: Flow,
    jumps: list[Jump],
    slots: np.ndarray,
    start: int,
    static_slots: np.ndarray,
    extra: list[int],
    places: dict[Place, int],
) -> np.ndarray:
    """Return the instructions of one function. slots: of its registers; start: its first
    instruction in the program.
    """
    count, operand, row_of, guard = len(rows), rows.operand, rows.row_of, rows.guard

    found = np.zeros(count, INSTRUCTION)
    for name in ("operation", "flags", "space", "bytes", "elements", "type"):
        found[name] = rows.field(name)
    found["flags"] |= rows.flags.astype(np.uint32)
    found["guard"], found["count"], found["immediate"] = guard, rows.lengths, rows.immediate
    found["place"] = np.array([places.setdefault(one, len(places)) for one in code.body.places])[
        rows.place
    ]
    # One table has all operands: the registers' slots, then the statics' from its end, and NONE as
    # its last entry.
    table = np.concatenate([slots, static_slots[::-1], [-1]])
    found["predicate"] = np.where(guard != 0, table[rows.predicate], -1)
    found["target"] = found["join"] = -1
    resolved, inline = table[operand], rows.position < INLINE
    operands = np.full((count, INLINE), -1, np.int64)
    operands[row_of[inline], rows.position[inline]] = resolved[inline]
    found["operand"] = operands
    beyond = np.maximum(rows.lengths - INLINE, 0)
    found["more"] = np.where(beyond > 0, len(extra) + np.cumsum(beyond) - beyond, 0)
    extra.extend(resolved[~inline].tolist())

    _mark_unused(context, found, rows)
    _link(code, found, graph, jumps, start, extra)
    return found


def _flow(code: Code, count: int) -> tuple[Flow, list[Jump]]:
    first_rows = code.first_rows
    jumps = [
        Jump(
            one.row,
            tuple(first_rows[label.statement] for label in one.labels),
            one.falls,
            one.fatal,
        )
        for one in code.branches
    ]
    return flow(count, jumps), jumps


def _link(
    code: Code, found: np.ndarray, graph: Flow, jumps: list[Jump], start: int, extra: list[int]
) -> None:
    """Fill in the targets of branches and calls."""
    branching = [jump for jump in jumps if jump.targets]
    for jump, join in zip(branching, graph.joins([jump.row for jump in branching]), strict=True):
        join += start if join >= 0 else 0
        if found["count"][jump.row]:  # brx.idx
            found["more"][jump.row] = len(extra)
            extra.extend([*(start + target for target in jump.targets), join])
        else:
            found["target"][jump.row] = start + jump.targets[0]
        found["join"][jump.row] = join
    meets = code.indirect and lanes_may_part(code.body)
    for row, numbers in code.lists.items():
        found["target"][row] = code.targets[row]
        if meets and code.targets[row] == BY_ADDRESS:
            found["join"][row] = start + row + 1
        found["more"][row] = len(extra)
        extra.extend(numbers)


def _mark_unused(context: Context, found: np.ndarray, rows: Columns) -> None:
    """Flag atomics whose old value nothing reads."""
    chosen = np.isin(found["operation"], context.operations.beginning("atom."))
    if not chosen.any():
        return
    read = rows.operand[~rows.is_result & (rows.operand >= 0)]
    wanted = np.zeros(len(found), bool)
    wanted[rows.row_of[rows.is_result & np.isin(rows.operand, read)]] = True
    found["flags"][chosen & ~wanted] |= RESULT_UNUSED


def _address_taken(context: Context, codes: dict[str, Code]) -> set[str]:
    taken = {name for code in codes.values() for name in code.addressed}
    taken |= {
        symbol
        for variable in context.module.variables.values()
        for _, symbol, _ in variable.addresses
    }
    return taken & set(codes)


def _deepest(codes: dict[str, Code], name: str, taken: set[str]) -> tuple[int, bool]:
    """Return the local memory of the deepest chain of calls, and whether a chain may come back to
    itself.
    """
    depth: dict[str, int] = {}
    state: dict[str, int] = {}
    recursive = False
    stack = [(name, False)]
    while stack:
        one, done = stack.pop()
        callees = (codes[one].callees | (taken if codes[one].indirect else set())) & set(codes)
        if done:
            state[one] = 2
            own = -(-codes[one].local_bytes // 16) * 16
            depth[one] = own + max((depth.get(callee, 0) for callee in callees), default=0)
        elif one not in state:
            state[one] = 1
            stack.append((one, True))
            for callee in callees:
                recursive |= state.get(callee) == 1
                if callee not in state:
                    stack.append((callee, False))
    return depth[name], recursive
