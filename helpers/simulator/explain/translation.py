"""The debugger's translation of a kernel, as the machine runs it for a record.

It keeps the lines and the variables of the source: each register has a slot of its own, no copy is
left out, and no product and sum become one operation. So a value on the record belongs to a
register of the PTX, and the debug information says which variable that is.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from ..compile.compiler import Compiled, debugger_ptx, parsed
from ..compile.ptx_places import with_callers
from ..compile.toolchain import CompileFailed
from ..machine import library
from ..program.encoded import refusal
from ..program.module import Kernel
from ..ptx import parse
from ..ptx.edits import Wait, with_waits
from ..ptx.encode import Encoding, Program, Unsupported, own_slots
from .variables import DebugVariables, LocatedVariable, Register, Where

SLOT = np.dtype([("operand", "<i4"), ("bytes", "<u4")])
_APPROXIMATIONS = {"copysign", "ex2", "lg2", "sin", "cos", "tanh"}
_DEBUG_LABELS = ("$L__tmp", "$L__func_")
BY_ADDRESS = -(2**31)  # the target of a call of a function by its address
_WITH_ADDRESSES = ("ld", "ldu", "st")


class NotRecorded(RuntimeError):
    """A launch that cannot be recorded; the message says why."""


@dataclass(frozen=True, slots=True)
class Row:
    """An instruction of the recorded program.

    operation: the machine's name of it; results, sources: registers of its function, or -1 for
    none, or -2 - k for the k-th static of the program (for memory: the address first); type: the
    number of its PTX type; function: its number in the program; line: of the source, 0 if it has
    none; guard: the register of its guard, -1 without one, and is_negated its sense.
    """

    pc: int
    operation: str
    results: tuple[int, ...]
    sources: tuple[int, ...]
    widths: tuple[int, ...]
    space: int
    bytes: int
    elements: int
    type: int
    immediate: int
    flags: int
    target: int
    function: int
    line: int
    guard: int
    is_negated: bool
    passed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Move:
    """A variable is in another place from an instruction on: `where`, and the number of its
    register if it is one. It is there until `end`; by_jump: also for a thread that jumps to
    `begin`.

    Where the code of a block ends, the compiler's list of places is no longer right, or has none.
    So a place counts for a thread only once it has come past its begin, and until the next one.
    is_own: no other variable is ever in this register. Then it is the variable's from the moment
    when it is set; the compiler may say so a few instructions later.
    """

    begin: int
    end: int
    by_jump: bool
    register: int
    where: Where
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class TrackedVariable:
    """A variable of a function, visible from instruction `first` to `last`. It is in one place
    (`where`, and the number of its register), or moves.
    """

    number: int
    variable: LocatedVariable
    first: int
    last: int
    register: int = -1
    where: Where | None = None
    moves: tuple[Move, ...] = ()


@dataclass(frozen=True)
class FunctionCode:
    """One function of the program. symbol: its linker's name; first, end: its instructions;
    local_bytes: of local memory; is_own: the source has it, and no header; is_mathematical: it is a
    function of CUDA's library that approximates or works on the bits of floats, such as expf;
    result_bytes, parameter_bytes: of each; label_pcs: the instruction behind each label;
    labels_behind: those that come after the label to which branches jump.
    """

    symbol: str
    name: str
    first: int
    end: int
    local_bytes: int
    is_own: bool
    is_mathematical: bool
    result_bytes: tuple[int, ...]
    parameter_bytes: tuple[int, ...]
    registers: dict[str, int]
    label_pcs: dict[str, int]
    labels_behind: frozenset[str]


class Translation:
    """The debugger's translation of a kernel: the program that the machine runs, and what its
    instructions and registers mean.

    Raises CompileFailed, with file and line, for an instruction that the machine cannot run.
    """

    def __init__(self, compiled: Compiled, mangled: str, barriers: tuple[Wait, ...] = ()):
        ptx = debugger_ptx(compiled)
        code = with_callers(ptx[: _end_of_code(ptx)], compiled.file)
        if barriers:
            code = with_waits(code, compiled.file, barriers)
        self.debug = _debug(ptx, compiled.file)
        self.compiled = replace(compiled, ptx=code, contract=False)
        self.mangled = mangled
        module = parsed(code)
        if mangled not in module.functions:
            raise NotRecorded(
                f"the debugger's translation has no kernel {mangled}: it cannot be recorded"
            )
        try:
            self.encoding = Encoding(
                module,
                mangled,
                library.operation_ids(),
                library.operation_operands(),
                contract=False,
                leaves_out=True,
                keeps_registers=True,
            )
        except Unsupported as error:
            raise refusal(compiled, mangled, error) from error
        except parse.ParseError as error:
            raise CompileFailed(
                f"{compiled.file}: the simulator cannot read the debugger's PTX of {mangled}: "
                f"{error}"
            ) from error
        self.program: Program = self.encoding.program

    # ---- instructions

    @cached_property
    def rows(self) -> list[Row]:
        """The instructions of the program."""
        names, program = library.operation_names(), self.program
        lines = self._lines
        found: list[Row] = []
        instructions = program.instructions
        fields = {
            name: instructions[name].tolist()
            for name in (
                "operation",
                "space",
                "bytes",
                "elements",
                "type",
                "immediate",
                "flags",
                "target",
                "guard",
            )
        }
        for number, piece in enumerate(self.encoding.pieces):
            rows, widths = piece.rows, piece.code.widths
            ends = np.cumsum(rows.lengths).tolist()
            operands, is_result = rows.operand.tolist(), rows.is_result.tolist()
            predicates = rows.predicate.tolist()
            start = 0
            for k, end in enumerate(ends):
                pc = piece.start + k
                own, marks = operands[start:end], is_result[start:end]
                start = end
                results = tuple(o for o, m in zip(own, marks, strict=True) if m)
                guard = fields["guard"][pc]
                found.append(
                    Row(
                        pc,
                        names[fields["operation"][pc]],
                        results,
                        tuple(o for o, m in zip(own, marks, strict=True) if not m),
                        tuple(widths[r] if r >= 0 else 0 for r in results),
                        fields["space"][pc],
                        fields["bytes"][pc],
                        fields["elements"][pc],
                        fields["type"][pc],
                        fields["immediate"][pc],
                        fields["flags"][pc],
                        fields["target"][pc],
                        number,
                        lines[pc],
                        predicates[k] if guard else -1,
                        guard == 2,
                        tuple(piece.code.lists.get(k, ())),
                    )
                )
        return found

    @cached_property
    def _lines(self) -> list[int]:
        """The line of the source of each instruction: for one in a header, that of the call; 0 for
        the code before a function's first statement.
        """
        file = self.compiled.file
        by_place = [
            (place.line if place.column or not place.line else -1)
            if place.file == file
            else next((line for name, line in place.inlined if name == file), 0)
            for place in self.program.places
        ]
        lines = [by_place[place] for place in self.program.instructions["place"].tolist()]
        for piece in self.encoding.pieces:  # line 0 belongs to what is before it
            for pc in range(piece.start + 1, piece.start + len(piece.rows)):
                lines[pc] = lines[pc] or lines[pc - 1]
        return [max(line, 0) for line in lines]

    @cached_property
    def functions(self) -> list[FunctionCode]:
        """The functions that the program has code of, the kernel first."""
        found = []
        for piece in self.encoding.pieces:
            function, body, first = piece.code.function, piece.code.body, piece.start
            declared = self.debug.functions.get(function.name)
            name = (self.debug.declaration(function.name) or ("",))[0]
            rows = piece.code.first_rows
            names = {n: r for n, r in body.names.items() if isinstance(r, int)}
            found.append(
                FunctionCode(
                    function.name,
                    name or function.name,
                    first,
                    first + len(piece.rows),
                    -(-piece.code.local_bytes // 16) * 16,
                    declared is not None and self.debug.is_own(declared),
                    self._is_mathematical(function.name),
                    tuple(one.size for one in function.results),
                    tuple(one.size for one in function.parameters),
                    names,
                    {label: first + rows[at] for label, at in body.label_places.items()},
                    _labels_behind(body.label_places),
                )
            )
        return found

    @cached_property
    def _operations(self) -> dict[str, set[str]]:
        """The machine's operations in each function, and those of the functions that it calls."""
        names, rows = library.operation_names(), self.program.instructions["operation"]
        found: dict[str, set[str]] = {}
        callees: dict[str, set[str]] = {}
        for piece in self.encoding.pieces:
            numbers = rows[piece.start : piece.start + len(piece.rows)].tolist()
            name = piece.code.function.name
            found[name] = {names[k] for k in numbers}
            callees[name] = piece.code.callees
        for _ in found:
            for name, called in callees.items():
                for one in called:
                    found[name] = found[name] | found.get(one, set())
        return found

    def _is_mathematical(self, symbol: str) -> bool:
        if symbol == self.mangled or self.debug.functions.get(symbol) is not None:
            return False
        operations = self._operations[symbol]
        roots = {one.partition(".")[0] for one in operations}
        if roots & {"shfl", "vote", "match", "redux", "atom", "bar", "barrier"}:
            return False
        on_floats = any(one.endswith((".f32", ".f64")) for one in operations)
        on_bits = bool(roots & {"and", "or", "xor", "lop3", "shl", "shr"})
        return bool(roots & _APPROXIMATIONS) or (on_floats and on_bits)

    def function_at(self, pc: int) -> int:
        """Return the number of the function that has an instruction."""
        return bisect.bisect_right(self._firsts, pc) - 1

    @cached_property
    def _firsts(self) -> list[int]:
        return [piece.start for piece in self.encoding.pieces]

    @cached_property
    def number_of(self) -> dict[int, int]:
        """The number in `functions` of a function by its number in the machine's program."""
        order = {name: k for k, name in enumerate(self.program.function_names)}
        return {order[one.symbol]: k for k, one in enumerate(self.functions)}

    # ---- variables

    @cached_property
    def _variables(self) -> list[list[LocatedVariable]]:
        return [self.debug.of_function(one.symbol) for one in self.functions]

    def variables_in(self, function: int) -> list[LocatedVariable]:
        """Return all variables of a function, by its number."""
        return self._variables[function]

    def local_offset(self, function: int, symbol: str) -> int | None:
        """Return the offset of a symbol in a function's local memory, None if it is not there."""
        known = self._local_offsets[function]
        return known.get(symbol)

    @cached_property
    def _local_offsets(self) -> list[dict[str, int]]:
        found = []
        for piece in self.encoding.pieces:
            body = piece.code.body
            named = [*body.variables, *piece.code.function.parameters]
            found.append(
                {v.name: v.offset for v in named if v.space in ("local", "param") and v.offset >= 0}
            )
        return found

    @cached_property
    def tracked(self) -> list[list[TrackedVariable]]:
        """The variables of each function, with their places."""
        found = []
        for code, variables in zip(self.functions, self._variables, strict=True):
            users: dict[str, set[int]] = {}
            for k, one in enumerate(variables):
                for _, _, where in one.places:
                    if isinstance(where, Register):
                        users.setdefault(where.name, set()).add(k)
            shared = {name for name, numbers in users.items() if len(numbers) > 1}
            found.append([self._tracked(code, k, one, shared) for k, one in enumerate(variables)])
        return found

    @staticmethod
    def _tracked(
        code: FunctionCode, number: int, one: LocatedVariable, shared: set[str]
    ) -> TrackedVariable:
        def pc(label: str, other: int) -> int:
            return code.label_pcs.get(label, other) if label else other

        def register(where: Where) -> int:
            return code.registers.get(where.name, -1) if isinstance(where, Register) else -1

        first, last = pc(one.begin, code.first), pc(one.end, code.end)
        if len(one.places) == 1 and not one.places[0][0]:
            where = one.places[0][2]
            return TrackedVariable(number, one, first, last, register(where), where)
        moves = tuple(
            Move(
                pc(begin, code.first), pc(end, code.end), begin in code.labels_behind,
                register(where), where, isinstance(where, Register) and where.name not in shared,
            )
            for begin, end, where in one.places
        )  # fmt: skip
        return TrackedVariable(number, one, first, last, moves=moves)

    @cached_property
    def predicates(self) -> list[dict[int, Row]]:
        """For each function the registers that only hold whether a predicate is true, with the
        instruction that sets them. The compiler puts it where the value is used, so that a variable
        of type bool has its value before its register has it.
        """
        found: list[dict[int, Row]] = [{} for _ in self.functions]
        defined: list[dict[int, int]] = [{} for _ in self.functions]
        for row in self.rows:
            for register in row.results:
                known = defined[row.function]
                known[register] = known.get(register, 0) + 1
                is_choice = row.operation.startswith("selp") and max(row.sources[:2]) <= -2
                if is_choice and row.sources[2] >= 0:
                    found[row.function][register] = row
        return [
            {register: row for register, row in rows.items() if counts[register] == 1}
            for rows, counts in zip(found, defined, strict=True)
        ]

    @cached_property
    def moves_at(self) -> dict[int, list[tuple[int, Move]]]:
        """The variables that are in another place from an instruction on, and their moves."""
        found: dict[int, list[tuple[int, Move]]] = {}
        for variables in self.tracked:
            for one in variables:
                for move in one.moves:
                    found.setdefault(move.begin, []).append((one.number, move))
        return found

    @cached_property
    def _visible_at(self) -> dict[int, list[TrackedVariable]]:
        return {}

    def variables_at(self, pc: int) -> list[TrackedVariable]:
        """Return the variables that are visible when an instruction is about to run: of two with
        one name only the inner one.
        """
        known = self._visible_at
        if pc not in known:
            call = self.call_at(pc)
            best: dict[str, TrackedVariable] = {}
            for one in self.tracked[self.function_at(pc)]:
                variable = one.variable
                if variable.call != call or not one.first <= pc < one.last:
                    continue
                inner = best.get(variable.name)
                if inner is None or inner.variable.depth <= variable.depth:
                    best[variable.name] = one
            known[pc] = list(best.values())
        return known[pc]

    @cached_property
    def _inlined(self) -> list[list[tuple[str, str, str]]]:
        return [self.debug.inlined(one.symbol) for one in self.functions]

    def call_at(self, pc: int) -> str:
        """Return the function of the source that is inlined at an instruction, or ""."""
        number = self.function_at(pc)
        code, found = self.functions[number], ""
        for name, begin, end in self._inlined[number]:
            if code.label_pcs.get(begin, code.end) <= pc < code.label_pcs.get(end, code.first):
                found = name
        return found

    # ---- what the machine is to record

    @cached_property
    def slots(self) -> tuple[np.ndarray, np.ndarray]:
        """The results of each instruction as the machine knows them: the number of its first one,
        uint32, shape (instructions + 1,), and their slots and bytes (SLOT).
        """
        instructions, extra = self.program.instructions, self.program.operands
        first = np.zeros(len(instructions) + 1, np.uint32)
        found: list[tuple[int, int]] = []
        for piece in self.encoding.pieces:
            rows, widths = piece.rows, piece.code.widths
            for flat in np.flatnonzero(rows.is_result & (rows.operand >= 0)).tolist():
                pc, position = piece.start + int(rows.row_of[flat]), int(rows.position[flat])
                one = instructions[pc]
                operand = (
                    one["operand"][position]
                    if position < 6
                    else extra[int(one["more"]) + position - 6]
                )
                found.append((int(operand), widths[int(rows.operand[flat])]))
                first[pc + 1] += 1
        return np.cumsum(first, dtype=np.uint32), np.array(found, SLOT)

    @cached_property
    def has_addresses(self) -> np.ndarray:
        """Whether an instruction is a load, a store or an atomic, uint8, shape (instructions,)."""
        names = library.operation_names()
        kinds = np.array([n in _WITH_ADDRESSES or n.startswith("atom.") for n in names], np.uint8)
        return kinds[self.program.instructions["operation"]]

    def slot_of(self, function: int, register: int) -> tuple[int, int]:
        """Return the slot and the bytes of a register of a function."""
        widths = self.encoding.pieces[function].code.widths
        return self._own_slots(function)[register], widths[register]

    def _own_slots(self, function: int) -> list[int]:
        return own_slots(self.encoding.pieces[function].code.widths)[0].tolist()


def _labels_behind(places: dict[str, int]) -> frozenset[str]:
    """Return the labels of debug information that stand behind all others at their statement."""
    last: dict[int, int] = {}
    order = {label: k for k, label in enumerate(places)}
    for label, at in places.items():
        if not label.startswith(_DEBUG_LABELS):
            last[at] = max(order[label], last.get(at, -1))
    return frozenset(
        label for label, at in places.items()
        if label.startswith(_DEBUG_LABELS) and last.get(at, -1) >= 0 and order[label] > last[at]
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class RecordedKernel(Kernel):
    """A kernel in the debugger's translation."""

    translation: Translation | None = None

    @cached_property
    def program(self) -> Program:
        assert self.translation is not None
        return self.translation.program


def _end_of_code(ptx: str) -> int:
    at = ptx.find("\t.section")
    return at if at >= 0 else len(ptx)


@lru_cache(maxsize=32)
def _debug(ptx: str, file: str) -> DebugVariables:
    return DebugVariables(ptx, file)


@lru_cache(maxsize=32)
def translation_of(
    compiled: Compiled, mangled: str, barriers: tuple[Wait, ...] = ()
) -> Translation:
    """Return the debugger's translation of a kernel. Raises CompileFailed and NotRecorded."""
    return Translation(compiled, mangled, barriers)


def recorded(kernel: Kernel, barriers: tuple[Wait, ...] = ()) -> RecordedKernel:
    """Return the form of a kernel that is recorded. Raises CompileFailed and NotRecorded."""
    translation = translation_of(kernel.compiled, kernel.mangled, barriers)
    return RecordedKernel(
        kernel.name,
        kernel.mangled,
        kernel.parameters,
        kernel.line,
        kernel.module,
        translation.compiled,
        translation,
    )
