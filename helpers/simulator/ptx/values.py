"""Lowers operands: sources, results, constants, special registers and addresses, with the rows that
they need before the instruction.
"""

from __future__ import annotations

import struct

from .opcodes import (
    ADDRESS_32,
    CONST_SPACE,
    FRAME_LOCAL,
    GLOBAL_SPACE,
    LOCAL_SPACE,
    PARAM_SPACE,
    PARAMETER,
    SHARED_SPACE,
    WIDTHS,
    Opcode,
    describe,
)
from .parse import Function
from .rows import FUNCTION_ADDRESS, NONE, STATIC_KINDS, Code, Context, Row, Template, Unsupported
from .syntax import Address, Literal, Negated, Nothing, Operand, Special, Symbol, Variable

_CLUSTER_IDS = {f"{n}clusterid.{axis}": f"{n}ctaid.{axis}" for n in ("", "n") for axis in "xyz"}
_FIXED = {
    "tid.w": 0, "ctaid.w": 0, "ntid.w": 1, "nctaid.w": 1, "cluster_ctarank": 0,
    "cluster_nctarank": 1,
    **{f"cluster_ctaid.{axis}": 0 for axis in "xyzw"},
    **{f"cluster_nctaid.{axis}": 1 for axis in "xyzw"},
}
CLOCKS = (
    "clock",
    "clock_hi",
    "clock64",
    "globaltimer",
    "globaltimer_lo",
    "globaltimer_hi",
)  # mov.clock: the immediate
# Groups of several warps and of the whole grid use these registers: the begin of the system's
# shared memory, and the address of the grid's barrier. Optimised code that reads them is refused.
# The careful translation computes such an address for every group, and does not use it.
_RESERVED = {"reserved_smem_offset": Literal(1 << 24), "envreg": Literal(0)}
_FLOATS = frozenset(("f16", "bf16", "f32", "f64"))
_SIGNED_FLOATS = _FLOATS | {"f16x2", "bf16x2"}


_SLOT_WIDTHS = {name: 2 if width == 1 else width for name, width in WIDTHS.items()}


def slot_width(type: str) -> int:
    """Return the bytes of a value in a slot; a value of 8 bits has a slot of 16."""
    return _SLOT_WIDTHS[type]


def float_bits(value: float, type: str) -> int:
    """Return the bits of a float in another type, rounded to nearest even."""
    if type == "f64":
        return int.from_bytes(struct.pack("<d", value), "little")
    if type == "f16":
        return int.from_bytes(struct.pack("<e", value), "little")
    single = int.from_bytes(struct.pack("<f", value), "little")
    return (single + 0x7FFF + (single >> 16 & 1)) >> 16 if type == "bf16" else single


class Values:
    """Appends rows to a function's code. `guard`, `predicate` and `place` belong to the present
    statement.
    """

    def __init__(self, context: Context, function: Function):
        self.context, self.function = context, function
        self.body = context.module.body(function.name)
        self.code = Code(
            function, self.body, widths=list(self.body.widths), local_bytes=self.body.local_bytes
        )
        self.rows, self.widths = self.code.rows, self.code.widths
        self.guard, self.predicate, self.place = 0, NONE, 0
        self.after: list[tuple[int, int, str]] = []  # results to convert: register, temporary, type

    # ---- rows

    def unsupported(self, what: str) -> Unsupported:
        return Unsupported(what, self.body.places[self.place])

    def template(
        self,
        opcode: Opcode,
        start: int,
        stop: int,
        apart: bool,
        space: int | None = None,
        name: str | None = None,
    ) -> int:
        """Return the index of a template: `opcode`'s, of another space or name where one is given.
        """
        key = (opcode.text, start, stop, space, name)
        found = self.context.known.get(key)
        if found is None:
            operation = self.context.operation_ids.get(name or opcode.name)
            if operation is None:
                raise self.unsupported(f"the instruction {opcode.text}")
            one = Template(
                operation, opcode.flags, opcode.space if space is None else space, opcode.width,
                opcode.elements,
                opcode.type, start, stop, apart,
            )
            found = self.context.templates.setdefault(one, len(self.context.templates))
            self.context.known[key] = found
        return found

    def emit(self, template: int, operands: list[int], immediate: int = 0, flags: int = 0) -> int:
        """Append a row under the statement's guard. It returns its index."""
        self.rows.append(
            Row(template, operands, self.guard, self.predicate, immediate, flags, self.place)
        )
        return len(self.rows) - 1

    def simple(self, text: str, operands: list[int], guarded: bool = False) -> int:
        """Append a row that the statement does not have itself: an opcode with one result, without
        the statement's guard unless asked for.
        """
        template = self.template(describe(text), 0, 1, False)
        guard, predicate = (self.guard, self.predicate) if guarded else (0, NONE)
        self.rows.append(Row(template, operands, guard, predicate, 0, 0, self.place))
        return operands[0]

    def temporary(self, width: int) -> int:
        self.widths.append(width)
        return len(self.widths) - 1

    def convert(self, result: int, source: int, type: str, guarded: bool = True) -> int:
        """Move a value to a register of another width. It keeps the low bits, or extend the
        value; types s... extend the sign.
        """
        to, of = 8 * self.widths[result], 8 * self.widths[source]
        if not to or not of or max(to, of) > 64:
            raise self.unsupported(f"operands of these widths in {type or 'an instruction'}")
        kind = "s" if type[:1] == "s" and to > of else "u"
        return self.simple(f"cvt.{kind}{to}.{kind}{of}", [result, source], guarded)

    # ---- operands

    def source(self, operand: Operand, type: str) -> int:
        """Return the operand of a source of a type ("": a register as it is)."""
        if isinstance(operand, int):
            width = self.widths[operand]
            if not type or width == (needed := slot_width(type)):
                return operand
            return self.convert(self.temporary(needed), operand, type, guarded=False)
        if isinstance(operand, Literal):
            return self.constant(operand, type or "u32")
        if isinstance(operand, Special):
            if self.context.leaves_out:
                for name, value in _RESERVED.items():
                    if operand.name.startswith(name):
                        return self.constant(value, type or "u32")
            return self.special(operand.name, type)
        if isinstance(operand, Symbol | Variable):
            return self.address_value(operand, slot_width(type) if type else 8)
        if isinstance(operand, Negated):
            if self.widths[operand.register] == 0:
                return self.simple("not.pred", [self.temporary(0), operand.register])
            if type in _SIGNED_FLOATS:
                read = self.source(operand.register, type)
                return self.simple(f"neg.{type}", [self.temporary(slot_width(type)), read])
        elif isinstance(operand, Address):
            return self.address(operand)
        elif isinstance(operand, Nothing):
            return NONE
        raise self.unsupported(f"an operand {operand} here")

    def sources(self, operands: list[Operand], types: tuple[str, ...], skip: int) -> list[int]:
        """Return the operands of all sources, vectors element by element; the first `skip` types
        belong to results.
        """
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
        """Return the operand of a result. If the register has another width, it is a temporary,
        and a conversion follows the row.
        """
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
            value: float = struct.unpack(
                "<f" if literal.width == 4 else "<d", bits.to_bytes(literal.width, "little")
            )[0]
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

    # ---- addresses

    def where(self, base: Symbol | Variable, offset: int) -> tuple[int, int, int, str]:
        """Return the place of a name: state space, offset, flags, and the symbol that relocation
        adds.
        """
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
            return (
                LOCAL_SPACE,
                base.offset + offset,
                FRAME_LOCAL | (PARAMETER if base.space == "param" else 0),
                "",
            )
        raise self.unsupported(f"a .{base.space} variable in a function")

    def address_value(self, base: Symbol | Variable, width: int = 8, offset: int = 0) -> int:
        """Return the address of a name as a value."""
        if isinstance(base, Symbol):
            name = self.context.module.aliases.get(base.name, base.name)
            if name in self.context.module.functions:
                self.code.addressed.add(name)
                return self.context.statics.constant(
                    width, FUNCTION_ADDRESS | self.context.module.order[name]
                )
        _, at, flags, symbol = self.where(base, offset)
        if flags:
            found = self.temporary(8)
            template = self.template(describe("mov.u64"), 0, 1, True, name="mov.local")
            self.rows.append(Row(template, [found], 0, NONE, at, 0, self.place))
        elif symbol:
            found = self.context.statics.symbol(symbol, at)
        else:
            return self.context.statics.constant(width, at & ((1 << 8 * width) - 1))
        return (
            found
            if width == 8
            else self.simple(f"cvt.u{8 * width}.u64", [self.temporary(width), found])
        )

    def address(self, address: Address) -> int:
        """Return an address plus its displacement, as an operand of 64 bits."""
        base = address.base
        constant = self.context.statics.constant
        if base is None:
            return constant(8, address.offset & (2**64 - 1))
        if not isinstance(base, int):
            return self.address_value(base, 8, address.offset)
        found = (
            base
            if self.widths[base] == 8
            else self.simple("cvt.u64.u32", [self.temporary(8), base])
        )
        if address.offset:
            found = self.simple(
                "add.s64", [self.temporary(8), found, constant(8, address.offset & (2**64 - 1))]
            )
        return found

    def memory(
        self,
        opcode: Opcode,
        address: Operand,
        operands: list[int],
        results: int,
        name: str | None = None,
    ) -> None:
        """Append a row that accesses memory; the address is its first operand."""
        if not isinstance(address, Address):
            raise self.unsupported(f"the address of {opcode.text}")
        base, at, flags, symbol, space, register = (
            address.base,
            address.offset,
            0,
            "",
            opcode.space,
            NONE,
        )
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
