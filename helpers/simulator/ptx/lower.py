"""Statements of a function to rows of machine instructions, still with virtual registers in place of slots.

An operand of a row is a virtual register (0, 1 ...), NONE, or a static: -2 - its index in `Statics`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from .opcodes import (
    ADDRESS_32, CONST_SPACE, FRAME_LOCAL, GLOBAL_SPACE, LOCAL_SPACE, PARAM_SPACE, PARAMETER, SHARED_SPACE, TYPES, WIDTHS,
    Opcode, describe,
)  # fmt: skip
from .parse import (
    Address, Body, Function, Group, Label, Literal, Module, Negated, Nothing, Operand, Pair, Part, Place, Special,
    Statement, Symbol, Variable,
)  # fmt: skip

NONE = -1
BUILTINS = ("vprintf", "__assertfail", "malloc", "free")
FUNCTION_ADDRESS = 1 << 62  # plus the function's index
BY_ADDRESS = -(2**31)  # Instruction.target of a call through a register

# Static kinds (program.h), CONSTANT first. Without clusters a block is a cluster of its own.
STATIC_KINDS = {
    name: kind
    for kind, name in enumerate(
        "constant tid.x tid.y tid.z ntid.x ntid.y ntid.z ctaid.x ctaid.y ctaid.z nctaid.x nctaid.y nctaid.z laneid warpid "
        "nwarpid smid nsmid lanemask_eq lanemask_lt lanemask_le lanemask_gt lanemask_ge dynamic_smem_size total_smem_size "
        "gridid".split()
    )
}
_CLUSTER_IDS = {f"{n}clusterid.{axis}": f"{n}ctaid.{axis}" for n in ("", "n") for axis in "xyz"}
_FIXED = {
    "tid.w": 0, "ctaid.w": 0, "ntid.w": 1, "nctaid.w": 1, "cluster_ctarank": 0, "cluster_nctarank": 1,
    **{f"cluster_ctaid.{axis}": 0 for axis in "xyzw"}, **{f"cluster_nctaid.{axis}": 1 for axis in "xyzw"},
}  # fmt: skip
CLOCKS = ("clock", "clock_hi", "clock64", "globaltimer", "globaltimer_lo", "globaltimer_hi")  # mov.clock: the immediate
# A result of these must keep clear of what they read: lanes read each other's values.
_ACROSS_LANES = frozenset(("shfl", "vote", "match", "redux", "elect", "activemask", "mma", "wmma", "movmatrix"))
_NO_OPERANDS = frozenset(("prefetch", "prefetchu", "discard", "applypriority", "griddepcontrol", "pmevent", "membar"))


class Unsupported(ValueError):
    """An instruction that the machine does not run. name: what it is; place: where in the source."""

    def __init__(self, name: str, place: Place):
        where = f" ({place.file}:{place.line})" if place.line else ""
        super().__init__(f"the simulator does not run {name}{where}")
        self.name, self.place = name, place


class Template(NamedTuple):
    """What rows of one opcode share. Operands start .. stop are results; apart: their slots differ from all that is read."""

    operation: int
    flags: int
    space: int
    bytes: int
    elements: int
    type: int
    start: int
    stop: int
    apart: bool


class Row(NamedTuple):
    """An instruction: an index of Context.templates, operands, a guard (0 none, 1 true, 2 false) and its register."""

    template: int
    operands: list[int]
    guard: int
    predicate: int
    immediate: int
    flags: int
    place: int


@dataclass
class Statics:
    """The constants and special registers of a program, each once: (kind, bytes of a value, value or addend, symbol)."""

    index: dict[tuple[int, int, int, str], int] = field(default_factory=dict)

    def constant(self, width: int, bits: int) -> int:
        """The operand of a constant; ``width`` 0 is a predicate."""
        return -2 - self.index.setdefault((0, width, bits, ""), len(self.index))

    def special(self, name: str) -> int:
        """The operand of a special register."""
        return -2 - self.index.setdefault((STATIC_KINDS[name], 8 if name == "gridid" else 4, 0, ""), len(self.index))

    def symbol(self, name: str, addend: int) -> int:
        """The operand of the address of a .global or .const variable, to be relocated."""
        return -2 - self.index.setdefault((0, 8, addend, name), len(self.index))


@dataclass
class Context:
    """What the functions of a program share. shared: offset of each shared variable (of a module's by its name)."""

    module: Module
    operation_ids: Mapping[str, int]
    statics: Statics = field(default_factory=Statics)
    templates: dict[Template, int] = field(default_factory=dict)
    known: dict[object, int] = field(default_factory=dict)  # templates by opcode
    plain: dict[str, tuple[int, tuple[int, ...]]] = field(default_factory=dict)
    shared: dict[Variable | str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Branch:
    """A row after which another than the next may run."""

    row: int
    labels: list[Label]
    falls: bool
    fatal: bool = False


@dataclass
class Code:
    """A function's rows. lists and targets: of calls, by row; relocations: rows whose immediate is added to a symbol."""

    function: Function
    body: Body
    rows: list[Row] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)
    lists: dict[int, list[int]] = field(default_factory=dict)
    targets: dict[int, int] = field(default_factory=dict)
    relocations: list[tuple[int, str]] = field(default_factory=list)
    callees: set[str] = field(default_factory=set)
    addressed: set[str] = field(default_factory=set)  # functions whose address it takes
    indirect: bool = False
    first_rows: list[int] = field(default_factory=list)  # of each statement, and one behind the last
    local_bytes: int = 0


class Lowering:
    """Lowers one function. `guard`, `predicate` and `place` are the statement's that is being lowered."""

    def __init__(self, context: Context, function: Function):
        self.context, self.function = context, function
        self.body = context.module.body(function.name)
        self.code = Code(function, self.body, widths=list(self.body.widths), local_bytes=self.body.local_bytes)
        self.rows, self.widths = self.code.rows, self.code.widths
        self.guard, self.predicate, self.place = 0, NONE, 0
        self.after: list[tuple[int, int, str]] = []  # results to convert: register, temporary, type

    def run(self) -> Code:
        """Returns the function's rows. Raises Unsupported."""
        rows, widths, plain = self.rows, self.widths, self.context.plain
        first_rows = self.code.first_rows
        for statement in self.body.statements:
            first_rows.append(len(rows))
            self.predicate = statement.guard
            self.guard = 0 if statement.guard < 0 else 2 if statement.negated else 1
            self.place = statement.place
            found = plain.get(statement.opcode)
            if found is not None:
                template, needed = found
                operands = []
                for operand, width in zip(statement.operands, needed):  # noqa: B905 (opcodes with fewer operands)
                    if operand.__class__ is not int or widths[operand] != width:
                        break
                    operands.append(operand)
                else:
                    rows.append(Row(template, operands, self.guard, self.predicate, 0, 0, self.place))
                    continue
            self.lower(statement)
        first_rows.append(len(rows))
        self.guard, self.predicate = 0, NONE
        last = self.code.branches[-1] if self.code.branches else None
        if last is None or last.row != len(rows) - 1 or last.falls or self.names_the_end():
            self.leave("ret")
        if self.function.kernel:
            self.leave_early()
        return self.code

    def names_the_end(self) -> bool:
        return any(one.statement == len(self.body.statements) for branch in self.code.branches for one in branch.labels)

    def lower(self, statement: Statement) -> None:
        opcode = describe(statement.opcode)
        method = _METHODS.get(opcode.root, Lowering.plain)
        method(self, statement, opcode)
        while self.after:
            self.convert(*self.after.pop())

    # ---- rows

    def unsupported(self, what: str) -> Unsupported:
        return Unsupported(what, self.body.places[self.place])

    def template(
        self, opcode: Opcode, start: int, stop: int, apart: bool, space: int | None = None, name: str | None = None
    ) -> int:
        """The index of a template: `opcode`'s, of another space or name where one is given."""
        key = (opcode.text, start, stop, space, name)
        found = self.context.known.get(key)
        if found is None:
            operation = self.context.operation_ids.get(name or opcode.name)
            if operation is None:
                raise self.unsupported(f"the instruction {opcode.text}")
            one = Template(
                operation, opcode.flags, opcode.space if space is None else space, opcode.width, opcode.elements,
                opcode.type, start, stop, apart,
            )  # fmt: skip
            found = self.context.templates.setdefault(one, len(self.context.templates))
            self.context.known[key] = found
        return found

    def emit(self, template: int, operands: list[int], immediate: int = 0, flags: int = 0) -> int:
        """Append a row under the statement's guard. Returns its index."""
        self.rows.append(Row(template, operands, self.guard, self.predicate, immediate, flags, self.place))
        return len(self.rows) - 1

    def simple(self, text: str, operands: list[int], guarded: bool = False) -> int:
        """Append a row of an opcode with one result, of ours and not of the statement's: without its guard if not asked for."""
        template = self.template(describe(text), 0, 1, False)
        guard, predicate = (self.guard, self.predicate) if guarded else (0, NONE)
        self.rows.append(Row(template, operands, guard, predicate, 0, 0, self.place))
        return operands[0]

    def temporary(self, width: int) -> int:
        self.widths.append(width)
        return len(self.widths) - 1

    def convert(self, result: int, source: int, type: str, guarded: bool = True) -> int:
        """Move a value to a register of another width: the low bits, or extended by the sign of type s..."""
        to, of = 8 * self.widths[result], 8 * self.widths[source]
        if not to or not of or max(to, of) > 64:
            raise self.unsupported(f"operands of these widths in {type or 'an instruction'}")
        kind = "s" if type[:1] == "s" and to > of else "u"
        return self.simple(f"cvt.{kind}{to}.{kind}{of}", [result, source], guarded)

    # ---- operands

    def source(self, operand: Operand, type: str) -> int:
        """The operand of a value that is read, of a type ("": a register as it is)."""
        if isinstance(operand, int):
            width = self.widths[operand]
            if not type or width == (needed := slot_width(type)):
                return operand
            return self.convert(self.temporary(needed), operand, type, guarded=False)
        if isinstance(operand, Literal):
            return self.constant(operand, type or "u32")
        if isinstance(operand, Special):
            return self.special(operand.name, type)
        if isinstance(operand, Symbol | Variable):
            return self.address_value(operand, slot_width(type) if type else 8)
        if isinstance(operand, Negated):
            if self.widths[operand.register] == 0:
                return self.simple("not.pred", [self.temporary(0), operand.register])
        elif isinstance(operand, Address):
            return self.address(operand)
        elif isinstance(operand, Nothing):
            return NONE
        elif isinstance(operand, Part):
            return self.part(operand, type)
        raise self.unsupported(f"an operand {operand} here")

    def sources(self, operands: list[Operand], types: tuple[str, ...], skip: int) -> list[int]:
        """The operands that are read, vectors written out; `skip` types are those of results."""
        found: list[int] = []
        for index, operand in enumerate(operands, skip):
            type = types[min(index, len(types) - 1)]
            if isinstance(operand, list):
                found += [self.source(one, type) for one in operand]
            else:
                found.append(self.source(operand, type))
                if isinstance(operand, Address):
                    found += [self.source(one, type) for one in operand.coordinates]
        return found

    def result(self, operand: Operand, type: str) -> int:
        """The operand of a result; where the register is of another width, a temporary that is converted behind the row."""
        if isinstance(operand, Nothing):
            return NONE
        if not isinstance(operand, int):
            raise self.unsupported(f"a result {operand}")
        if not type or self.widths[operand] == slot_width(type):
            return operand
        temporary = self.temporary(slot_width(type))
        self.after.append((operand, temporary, type))
        return temporary

    def constant(self, literal: Literal, type: str) -> int:
        width = WIDTHS[type]
        if width == 0:
            return self.context.statics.constant(0, int(literal.bits != 0))
        slot = slot_width(type)
        bits = literal.bits
        if literal.width and type in _FLOATS and literal.width != width:
            value: float = struct.unpack("<f" if literal.width == 4 else "<d", bits.to_bytes(literal.width, "little"))[0]
            bits = float_bits(value, type)
        elif not literal.width and type in ("f32", "f64"):
            bits = float_bits(float(bits), type)
        bits &= (1 << 8 * width) - 1
        if type == "s8" and bits >= 128:
            bits |= 0xFF00
        return self.context.statics.constant(slot, bits)

    def special(self, name: str, type: str) -> int:
        name = _CLUSTER_IDS.get(name, name)
        if name in CLOCKS:
            width = 8 if name in ("clock64", "globaltimer") else 4
            found = self.temporary(width)
            template = self.template(describe(f"mov.u{8 * width}"), 0, 1, True, name="mov.clock")
            self.rows.append(Row(template, [found], 0, NONE, CLOCKS.index(name), 0, self.place))
        elif name == "is_explicit_cluster":
            return self.context.statics.constant(0, 0)
        elif name in _FIXED:
            return self.context.statics.constant(slot_width(type) if type else 4, _FIXED[name])
        elif name in STATIC_KINDS:
            found, width = self.context.statics.special(name), 8 if name == "gridid" else 4
        else:
            raise self.unsupported(f"the special register %{name}")
        needed = slot_width(type) if type else width
        if needed == width:
            return found
        return self.simple(f"cvt.u{8 * needed}.u{8 * width}", [self.temporary(needed), found])

    def part(self, operand: Part, type: str) -> int:
        """One byte or half of a register (video instructions)."""
        start, size = (8 * int(operand.selector[1:]), 8) if operand.selector[0] == "b" else (16 * int(operand.selector[1:]), 16)
        if start + size > 32:
            raise self.unsupported(f"the selector .{operand.selector}")
        constant = self.context.statics.constant
        kind = "s32" if type[:1] == "s" else "u32"
        return self.simple(f"bfe.{kind}", [self.temporary(4), operand.register, constant(4, start), constant(4, size)])

    # ---- addresses

    def where(self, base: Symbol | Variable, offset: int) -> tuple[int, int, int, str]:
        """Where a named thing lies: state space, offset, flags, and the symbol that is still to be added."""
        if isinstance(base, Symbol):
            offset += base.offset
            name = self.context.module.aliases.get(base.name, base.name)
            variable = self.context.module.variables.get(name)
            if variable is None:
                raise self.unsupported(f"the symbol {base.name}")
            if variable.space == "shared":
                return SHARED_SPACE, self.context.shared[name] + offset, 0, ""
            if variable.space in ("global", "const"):
                return GLOBAL_SPACE if variable.space == "global" else CONST_SPACE, offset, 0, name
            raise self.unsupported(f"the .{variable.space} variable {base.name}")
        if base.space == "shared":
            return SHARED_SPACE, self.context.shared[base] + offset, 0, ""
        if base.space == "entry":
            return PARAM_SPACE, base.offset + offset, 0, ""
        if base.space in ("local", "param"):
            return LOCAL_SPACE, base.offset + offset, FRAME_LOCAL | (PARAMETER if base.space == "param" else 0), ""
        raise self.unsupported(f"a .{base.space} variable in a function")

    def address_value(self, base: Symbol | Variable, width: int = 8, offset: int = 0) -> int:
        """The address of a named thing as a value."""
        if isinstance(base, Symbol):
            name = self.context.module.aliases.get(base.name, base.name)
            if name in self.context.module.functions:
                self.code.addressed.add(name)
                return self.context.statics.constant(width, FUNCTION_ADDRESS | self.context.module.order[name])
        _, at, flags, symbol = self.where(base, offset)
        if flags:
            found = self.temporary(8)
            template = self.template(describe("mov.u64"), 0, 1, True, name="mov.local")
            self.rows.append(Row(template, [found], 0, NONE, at, 0, self.place))
        elif symbol:
            found = self.context.statics.symbol(symbol, at)
        else:
            return self.context.statics.constant(width, at & ((1 << 8 * width) - 1))
        return found if width == 8 else self.simple(f"cvt.u{8 * width}.u64", [self.temporary(width), found])

    def address(self, address: Address) -> int:
        """An address with its displacement added: an operand of 64 bits."""
        base = address.base
        constant = self.context.statics.constant
        if base is None:
            return constant(8, address.offset & (2**64 - 1))
        if not isinstance(base, int):
            return self.address_value(base, 8, address.offset)
        found = base if self.widths[base] == 8 else self.simple("cvt.u64.u32", [self.temporary(8), base])
        if address.offset:
            found = self.simple("add.s64", [self.temporary(8), found, constant(8, address.offset & (2**64 - 1))])
        return found

    def memory(self, opcode: Opcode, address: Operand, operands: list[int], results: int, name: str | None = None) -> None:
        """Append a row that accesses memory: the address is its first operand."""
        if not isinstance(address, Address):
            raise self.unsupported(f"the address of {opcode.text}")
        base, at, flags, symbol, space, register = address.base, address.offset, 0, "", opcode.space, NONE
        if isinstance(base, int):
            register = base
            if self.widths[base] == 4:
                flags = ADDRESS_32
            if space == PARAM_SPACE and not self.function.kernel:
                space, flags = LOCAL_SPACE, flags | PARAMETER
        elif base is not None:
            space, at, flags, symbol = self.where(base, at)
        template = self.template(opcode, 1, 1 + results, True, space, name)
        row = self.emit(template, [register, *operands], at, flags)
        if symbol:
            self.code.relocations.append((row, symbol))

    # ---- instructions

    def plain(self, statement: Statement, opcode: Opcode) -> None:
        """Results first, then what is read: everything without rules of its own."""
        operands, types = statement.operands, opcode.types
        if opcode.policy:
            operands = operands[:-1]
        results: list[int] = []
        if opcode.result and operands and not isinstance(operands[0], Address):
            first = operands[0]
            if isinstance(first, Pair):
                results = [self.result(first.first, types[0]), self.result(first.second, opcode.second_result)]
            elif isinstance(first, list):
                results = [self.result(one, types[0]) for one in first]
            else:
                results = [self.result(first, types[0])]
            operands, skip = operands[1:], 1
        else:
            skip = 0
        apart = len(results) > 1 or opcode.root in _ACROSS_LANES or not types[0]
        template = self.template(opcode, 0, len(results), apart)
        if len(results) == 1 and all(types) and statement.opcode not in self.context.plain:
            widths = tuple(slot_width(types[min(index, len(types) - 1)]) for index in range(8))
            self.context.plain[statement.opcode] = template, widths
        self.emit(template, results + self.sources(operands, types, skip))

    def with_gaps(self, statement: Statement, opcode: Opcode) -> None:
        """shfl, vote, match.all and elect, whose missing operands are written out as NONE."""
        operands, types = statement.operands, opcode.types
        first = operands[0]
        results = [first.first, first.second] if isinstance(first, Pair) else [first]
        if opcode.name.startswith(("shfl", "match.all")) and len(results) == 1:
            results.append(Nothing())
        found = [self.result(one, type) for one, type in zip(results, (types[0], opcode.second_result), strict=False)]
        read = self.sources(operands[1:], types, 1)
        if opcode.root in ("shfl", "vote"):
            read += [NONE] * ((4 if opcode.root == "shfl" else 2) - len(read))
        self.emit(self.template(opcode, 0, len(found), True), found + read)

    def load(self, statement: Statement, opcode: Opcode) -> None:
        first, type = statement.operands[0], opcode.types[-1]
        parts = first if isinstance(first, list) else [first]
        self.memory(opcode, statement.operands[1], [self.result(one, type) for one in parts], len(parts))

    def store(self, statement: Statement, opcode: Opcode) -> None:
        second, type = statement.operands[1], opcode.types[-1]
        parts = second if isinstance(second, list) else [second]
        self.memory(opcode, statement.operands[0], [self.source(one, type) for one in parts], 0)

    def atomic(self, statement: Statement, opcode: Opcode) -> None:
        operands, type = list(statement.operands), opcode.types[-1]
        if opcode.policy:
            operands.pop()
        if opcode.root == "red":
            results = [NONE] * opcode.elements
        else:
            first = operands.pop(0)
            results = [self.result(one, type) for one in (first if isinstance(first, list) else [first])]
        read = self.sources(operands[1:], (type,), 0)
        self.memory(opcode, operands[0], results + read, len(results))

    def move(self, statement: Statement, opcode: Opcode) -> None:
        result, source = statement.operands
        type = opcode.types[-1]
        bits = 8 * opcode.width
        if isinstance(source, list):
            name, part = f"pack.b{bits}.b{bits // len(source)}", f"b{bits // len(source)}"
            read = [self.source(one, part) for one in source]
            self.emit(self.template(opcode, 0, 1, True, name=name), [self.result(result, type), *read])
        elif isinstance(result, list):
            name, part = f"unpack.b{bits}.b{bits // len(result)}", f"b{bits // len(result)}"
            read = [self.source(source, type)]
            results = [self.result(one, part) for one in result]
            self.emit(self.template(opcode, 0, len(results), True, name=name), results + read)
        else:
            self.plain(statement, opcode)

    def to_space(self, statement: Statement, opcode: Opcode) -> None:
        """cvta; generic addresses of .global and .const memory are their own."""
        result, source = statement.operands
        type = opcode.types[-1]
        operands = [self.result(result, type), self.source(source, type)]
        if opcode.space in (GLOBAL_SPACE, CONST_SPACE):
            self.emit(self.template(describe(f"mov.{type}"), 0, 1, False), operands)
        else:
            self.emit(self.template(opcode, 0, 1, False, name=opcode.name.rpartition(".")[0]), operands)

    def is_space(self, statement: Statement, opcode: Opcode) -> None:
        result, source = statement.operands
        self.emit(self.template(opcode, 0, 1, False), [self.result(result, "pred"), self.source(source, "u64")])

    def barrier(self, statement: Statement, opcode: Opcode) -> None:
        """bar and barrier: [result,] number, count of threads or NONE [, predicate]."""
        operands = list(statement.operands)
        if opcode.name.startswith(("bar.warp", "barrier")):
            self.emit(self.template(opcode, 0, 0, True), self.sources(operands, ("u32",), 0))
            return
        results, tail = [], []
        if opcode.name.startswith("bar.red"):
            results = [self.result(operands.pop(0), "u32" if opcode.name.endswith("popc") else "pred")]
            tail = [self.source(operands.pop(), "pred")]
        read = self.sources(operands, ("u32",), 0)
        self.emit(self.template(opcode, 0, len(results), True), results + (read + [NONE])[:2] + tail)

    def asynchronous(self, statement: Statement, opcode: Opcode) -> None:
        """cp.async: the number of groups is an immediate; source bytes may be left out by a predicate."""
        operands = list(statement.operands)
        if opcode.policy:
            operands.pop()
        name = opcode.name
        if ".wait_group" in name:
            number = operands[0]
            if not isinstance(number, Literal):
                raise self.unsupported(statement.opcode)
            self.emit(self.template(opcode, 0, 0, True), [], number.bits)
            return
        last = operands[-1] if operands else None
        if name.startswith(("cp.async.shared", "cp.async.global")) and isinstance(last, int) and self.widths[last] == 0:
            zero, size = self.context.statics.constant(4, 0), self.source(operands[2], "u32")
            operands[3:] = [self.simple("selp.b32", [self.temporary(4), zero, size, last])]
        self.emit(self.template(opcode, 0, 0, True), self.sources(operands, opcode.types, 0))

    def bare(self, statement: Statement, opcode: Opcode) -> None:
        self.emit(self.template(opcode, 0, 0, True), [])

    def policy(self, statement: Statement, opcode: Opcode) -> None:
        """createpolicy: what caches keep is not modelled."""
        written = self.result(statement.operands[0], "b64")
        self.emit(self.template(describe("mov.b64"), 0, 1, False), [written, self.context.statics.constant(8, 0)])

    # ---- control flow

    def branch(self, statement: Statement, opcode: Opcode) -> None:
        label = statement.operands[0]
        assert isinstance(label, Label)
        row = self.emit(self.template(opcode, 0, 0, True), [])
        self.code.branches.append(Branch(row, [label], self.guard != 0))

    def branch_by_index(self, statement: Statement, opcode: Opcode) -> None:
        index, table = statement.operands
        assert isinstance(table, Symbol)
        if table.name not in self.body.targets:
            raise self.unsupported(f"brx.idx without its table {table.name}")
        labels = self.body.targets[table.name]
        row = self.emit(self.template(opcode, 0, 0, True), [self.source(index, "u32")], len(labels))
        self.code.branches.append(Branch(row, labels, self.guard != 0))

    def end(self, statement: Statement, opcode: Opcode) -> None:
        self.leave(opcode.root)

    def leave(self, name: str) -> None:
        name = "exit" if name == "ret" and self.function.kernel else name
        row = self.emit(self.template(describe(name), 0, 0, True), [])
        self.code.branches.append(Branch(row, [], self.guard != 0, name == "trap"))

    def leave_early(self) -> None:
        """In a kernel, a branch to its end is an exit under the branch's guard, as ptxas has it."""
        ways = {one.row: one for one in self.code.branches}
        exit_template = self.template(describe("exit"), 0, 0, True)
        for one in self.code.branches:
            if len(one.labels) != 1 or self.rows[one.row].operands:
                continue
            row = self.code.first_rows[one.labels[0].statement]
            for _ in range(4):
                if row in ways and not ways[row].falls and len(ways[row].labels) == 1 and not self.rows[row].operands:
                    row = self.code.first_rows[ways[row].labels[0].statement]
            end = self.rows[row]
            if end.template == exit_template and not end.guard:
                self.rows[one.row] = self.rows[one.row]._replace(template=exit_template)
                one.labels = []

    def call(self, statement: Statement, opcode: Opcode) -> None:
        operands = list(statement.operands)
        results = operands.pop(0).members if isinstance(operands[0], Group) else ()
        callee = operands.pop(0)
        arguments = operands.pop(0).members if operands and isinstance(operands[0], Group) else ()
        if isinstance(callee, int):
            target, read = BY_ADDRESS, [callee]
            self.code.indirect = True
        elif isinstance(callee, Symbol):
            target, read = self.callee(callee.name), []
        else:
            raise self.unsupported(f"a call of {callee}")
        passed = [self.passed(one, True) for one in arguments]
        returned = [self.passed(one, False) for one in results]
        row = self.emit(self.template(opcode, 0, 0, True, name="call"), read)
        self.code.targets[row] = target
        numbers = [len(returned), *(n for one in returned for n in one), len(passed), *(n for one in passed for n in one)]
        self.code.lists[row] = numbers
        for register, (at, width) in zip(results, returned, strict=True):
            if isinstance(register, int):
                template = self.template(describe(f"ld.b{8 * width}"), 1, 2, True, LOCAL_SPACE)
                self.emit(template, [NONE, register], at, FRAME_LOCAL | PARAMETER)

    def callee(self, name: str) -> int:
        module = self.context.module
        name = module.aliases.get(name, name)
        function = module.functions.get(name)
        if function is not None and function.text is not None:
            self.code.callees.add(name)
            return module.order[name]
        if name not in BUILTINS:
            raise self.unsupported(f"a call of {name}")
        return -1 - BUILTINS.index(name)

    def passed(self, operand: Operand, argument: bool) -> tuple[int, int]:
        """Offset and bytes of something that is passed; a register or a constant is stored to memory of its own first."""
        if isinstance(operand, Variable) and operand.space == "param":
            return operand.offset, operand.size
        if isinstance(operand, int) and self.widths[operand]:
            width = self.widths[operand]
            at = self.code.local_bytes
            self.code.local_bytes += 16
            if argument:
                template = self.template(describe(f"st.b{8 * width}"), 1, 1, True, LOCAL_SPACE)
                self.emit(template, [NONE, operand], at, FRAME_LOCAL | PARAMETER)
            return at, width
        raise self.unsupported(f"a call with {operand}")


_FLOATS = frozenset(("f16", "bf16", "f32", "f64"))


def slot_width(type: str) -> int:
    """Bytes of a value in a slot: values of 8 bits lie in slots of 16."""
    width = WIDTHS[type]
    return 2 if width == 1 else width


def float_bits(value: float, type: str) -> int:
    """The bits of a float of another type, rounded to nearest even."""
    if type == "f64":
        return int.from_bytes(struct.pack("<d", value), "little")
    if type == "f16":
        return int.from_bytes(struct.pack("<e", value), "little")
    single = int.from_bytes(struct.pack("<f", value), "little")
    return (single + 0x7FFF + (single >> 16 & 1)) >> 16 if type == "bf16" else single


_METHODS: dict[str, Callable[[Lowering, Statement, Opcode], None]] = {
    "ld": Lowering.load, "ldu": Lowering.load, "st": Lowering.store, "atom": Lowering.atomic, "red": Lowering.atomic,
    "mov": Lowering.move, "cvta": Lowering.to_space, "isspacep": Lowering.is_space, "bar": Lowering.barrier,
    "barrier": Lowering.barrier, "shfl": Lowering.with_gaps, "vote": Lowering.with_gaps, "match": Lowering.with_gaps,
    "elect": Lowering.with_gaps, "cp": Lowering.asynchronous, "bra": Lowering.branch, "brx": Lowering.branch_by_index,
    "call": Lowering.call, "ret": Lowering.end, "exit": Lowering.end, "trap": Lowering.end,
    "createpolicy": Lowering.policy, **{root: Lowering.bare for root in _NO_OPERANDS},
}  # fmt: skip
