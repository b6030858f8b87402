"""Where values come from: the formulas of all values of a recorded launch.

The record is read once, in the order of the launch. A register and a cell of memory have a formula
while their value depends on an array's content or on a parameter that is a float; every other value
is a constant, which the record has.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from ..compile.mangled import plain_name
from ..ptx.opcodes import PARAM_SPACE, PARAMETER
from . import copies, matrices
from .arithmetic import compute, reduced, updated
from .arrays import ArrayPlace, Index
from .formulas import (
    Before,
    Cell,
    Formula,
    Function,
    Packed,
    Scalar,
    Unknown,
    Unset,
    cell_text,
)
from .lanes import Form, Frame, Lane, LaunchRecord, Unfinished
from .origins import CellOrigin, Writer
from .ptx_types import is_float, type_name, value_of
from .recording import Event
from .steps import ThreadLog, local_name, passed, static_bits
from .translation import BY_ADDRESS, FunctionCode, Row
from .values import number
from .variables import Number as NumberType
from .variables import Pointer, Structure, numbers_of
from .work import Work

Load = tuple[int, int, int]  # the number of its event, the thread and the element
_TERMS = 30  # of a formula, which cost a unit of work
_OF_MATRICES = ("mma", "wmma", "wgmma", "ldmatrix", "movmatrix")
_ROUNDING = {2: 0.1, 4: 1e-2, 8: 1e-6}  # of a result by its bytes, over the size of its terms


class Provenance:
    """The formulas of a launch. `loaded` has the formula that each load has read, by the number of
    its event, the thread and the element; `stored` those of stores; `places` has the addresses of
    loads whose accesses are not on the record; `unfinished` has the loads of what an asynchronous
    copy has not brought yet.

    work: what it may cost. Raises Spent. instead: formulas in place of those that some instructions
    have given or stored, by the keys of `loaded`; watched: the block and the number of a thread, of
    which `given` has all results, by event and element.
    """

    def __init__(
        self,
        tape: LaunchRecord,
        work: Work,
        instead: Mapping[Load, Formula] = MappingProxyType({}),
        watched: tuple[int, int] | None = None,
    ):
        self._work, self._instead, self._watched = work, instead, watched
        self.given: dict[tuple[int, int], Form] = {}
        self.tape = tape
        self.recording = tape.recording
        translation = tape.recording.kernel.translation
        assert translation is not None
        self.translation = translation
        self.arrays = tape.arrays
        # address -> bytes, formula (None: a constant) and bits (None: not known; without a formula
        # what is there is not followed)
        self.memory: dict[int, tuple[int, Form, int | None]] = {}
        self.of_block: dict[int, tuple[int, Form, int | None]] = {}
        self.writers: dict[int, list[tuple[int, int, int, int]]] = {}
        self.stored: dict[Load, Form] = {}
        self.places: dict[Load, int] = {}
        self.copying: dict[int, int] = {}  # the lines of copies under way, by where they go
        self.unfinished: dict[Load, Unfinished] = {}
        self.loaded: dict[Load, Form] = {}
        self.conditions: dict[tuple[int, int], tuple] = {}
        self._cells: dict[int, tuple[int, Formula, int | None]] = {}
        self._lanes: dict[tuple[int, int], Lane] = {}
        self._block = -1
        self._statics: dict[tuple[int, int, int], int] = {}
        self._shared = (
            tape.recording.shared,
            tape.recording.shared
            + max(tape.recording.kernel.program.shared_bytes, 1)
            + tape.recording.dynamic_shared
            + 4096,
        )
        self._local = (
            tape.recording.local,
            tape.recording.local
            + tape.recording.local_bytes
            * -(-tape.block[0] * tape.block[1] * tape.block[2] // 32)
            * 32,
        )
        self._handlers: dict[int, Callable | None] = {}
        self._parameters = list(self._parameter_numbers())
        # Where the results of calls begin in the local memory of each function.
        self._formals = [
            sum(-(-n // 16) * 16 for n in (*one.result_bytes, *one.parameter_bytes)) if k else 0
            for k, one in enumerate(self.translation.functions)
        ]
        self._run()

    # ---- the result

    def cell(self, place: ArrayPlace, address: int) -> CellOrigin:
        """Return where the value of the number at an address of an array comes from."""
        index, member, code = place.cell(address)
        nbytes = int(code[1:]) if code else 1
        writers = [
            Writer(self.tape.extents_of(block), self.tape.thread_of(linear), line, when)
            for block, linear, line, when in self.writers.get(address, ())
        ]
        formula = self._final(place, address, nbytes, code or "u1")
        value = self._value(place, address, code or "u1")
        return CellOrigin(place.name, index, member, writers, formula, value)

    def _value(self, place: ArrayPlace, address: int, code: str) -> Any:
        array = self.tape.outputs.get(place.name)
        if array is None:
            return None
        data, dtype = array.tobytes(), _dtype(code)
        at = address - place.start
        return np.frombuffer(data[at : at + dtype.itemsize], dtype)[0]

    def _final(self, place: ArrayPlace, address: int, nbytes: int, code: str) -> Formula:
        index, member, _ = place.cell(address)
        memory = self._memory_of(address)
        value = self._value(place, address, code)
        bits = None if value is None else int.from_bytes(value.tobytes(), "little")
        if address not in memory and not self._overlaps(memory, address, nbytes):
            if place.space == "shared":
                return Formula.of(Unset(place.name, index, member))
            if bits is not None and self._initial_bits(address, nbytes) not in (None, bits):
                return self._foreign(address, nbytes, bits)
            return Formula.of(Before(place.name, index, member, 0 if value is None else value))
        form = self.load(address, nbytes, bits)
        if isinstance(form, Packed):
            return Formula.of(Unknown("several values", 0))
        if form is not None:
            return form if self._gives(form, value) else self._foreign(address, nbytes, bits)
        known = self._bits_in(memory, address, nbytes)
        assert known is not None  # a constant
        constant = number(known, NumberType(_dtype(code))).item()
        return Formula.constant(constant, isinstance(constant, float))

    def _gives(self, form: Formula, value: Any) -> bool:
        """Return whether a formula gives the value that the array has, but for rounding: an
        instruction may do more than its formula says.
        """
        if value is None:
            return True
        try:
            got, size = form.evaluate(self.tape.inputs), form.magnitude(self.tape.inputs)
        except KeyError:
            return True  # an array whose content before the launch is not known
        if not (math.isfinite(got) and np.isfinite(value)):
            return True  # past the largest number of a type, or a variable without a value
        if value.dtype.kind in "iub":
            off = got - int(value)
            return off == 0 or (float(off).is_integer() and int(off) % 256**value.itemsize == 0)
        return abs(got - float(value)) <= _ROUNDING.get(value.dtype.itemsize, 1e-3) * size

    # ---- memory

    def _parameter_numbers(self):
        """Yield the numbers among the kernel's parameters that are floats: offset, bytes, name."""
        kinds = {
            v.name: v.kind
            for v in self.translation.debug.of_function(self.translation.mangled)
            if v.depth == 0
        }
        for parameter in self.recording.kernel.parameters:
            kind = kinds.get(parameter.name)
            if parameter.is_pointer or isinstance(kind, Pointer):
                continue
            if isinstance(kind, Structure):
                for at, name, code in numbers_of(kind):
                    if code[0] == "f":
                        text = f"{parameter.name}{'' if name[:1] == '[' else '.'}{name}"
                        yield parameter.offset + at, int(code[1:]), text
            elif parameter.is_floating:
                yield parameter.offset, parameter.size, parameter.name

    def _memory_of(self, address: int) -> dict[int, tuple[int, Form, int | None]]:
        if (
            self._shared[0] <= address < self._shared[1]
            or self._local[0] <= address < self._local[1]
        ):
            return self.of_block
        return self.memory

    @staticmethod
    def _overlaps(memory: dict, address: int, nbytes: int) -> bool:
        return any(
            start + memory[start][0] > address
            for start in range(address - 7, address + nbytes)
            if start in memory
        )

    def _store(self, address: int, nbytes: int, form: Form, bits: int | None) -> None:
        if isinstance(form, Packed):
            each = nbytes // len(form.parts)
            for k, part in enumerate(form.parts):
                piece = None if bits is None else bits >> 8 * each * k & ((1 << 8 * each) - 1)
                self._store(address + k * each, each, part, piece)
            return
        memory = self._memory_of(address)
        before = memory.get(address)
        if before is None or before[0] != nbytes:
            self._cut_out(memory, address, nbytes)
        memory[address] = nbytes, form, bits

    @staticmethod
    def _cut_out(memory: dict, address: int, nbytes: int) -> None:
        """Remove what lies in the way of a store. What it covers in part keeps its other bytes, if
        it is a constant.
        """
        for start in range(address - 7, address + nbytes):
            one = memory.get(start)
            if one is None or start + one[0] <= address:
                continue
            del memory[start]
            if one[1] is not None or one[2] is None:
                continue
            for k in range(one[0]):
                if not address <= start + k < address + nbytes:
                    memory[start + k] = 1, None, one[2] >> 8 * k & 255

    def _bits_in(self, memory: dict, address: int, nbytes: int) -> int | None:
        """Return the bits of constants in memory, None if some are not known."""
        found = 0
        for k in range(nbytes):
            byte = None
            for start in range(address + k - 7, address + k + 1):
                one = memory.get(start)
                if one is not None and start + one[0] > address + k and one[2] is not None:
                    byte = one[2] >> 8 * (address + k - start) & 255
            if byte is None:
                return None
            found |= byte << 8 * k
        return found

    def load(self, address: int, nbytes: int, bits: int | None) -> Form:
        """Return the formula of what a load reads; bits: what the machine has read."""
        memory = self._memory_of(address)
        one = memory.get(address)
        if one is not None and one[0] == nbytes:
            is_other = bits is not None and one[2] is not None and one[2] != bits
            if is_other or (one[1] is None and one[2] is None):
                return self._foreign(address, nbytes, bits)
            return one[1]
        if one is None and not self._overlaps(memory, address, nbytes):
            return self._initial(address, nbytes, bits)
        parts = self._parts(memory, address, nbytes)
        if parts is not None:
            return Packed(tuple(parts)) if any(p is not None for p in parts) else None
        if self._bits_in(memory, address, nbytes) == bits and bits is not None:
            covered = [
                memory[s][1]
                for s in range(address - 7, address + nbytes)
                if s in memory and s + memory[s][0] > address
            ]
            if not any(one is not None for one in covered):
                return None
        return self._foreign(address, nbytes, bits)

    def pieces(self, address: int, nbytes: int) -> list[tuple[int, Form, int | None]]:
        """Return what lies in some bytes, in pieces of its cells: bytes, formula and bits."""
        found: list[tuple[int, Form, int | None]] = []
        at = address
        while at < address + nbytes:
            one = self._memory_of(at).get(at)
            place = self.arrays.at(at)
            each = one[0] if one is not None else place_bytes(place, at) if place else 0
            each = min(each or 1, address + nbytes - at)
            bits = self._bits_in(self._memory_of(at), at, each)
            if bits is None:
                bits = self._initial_bits(at, each)
            found.append((each, self.load(at, each, None), bits))
            at += each
        return found

    def part(self, form: Formula | Packed, bits: int, type: str, place: int) -> Formula:
        """Return a part of a register that holds one formula."""
        arg = self.as_type(form, type, bits) if isinstance(form, Packed) else form
        return Formula.of(Function(f"part {place}", (arg,), type, value_of(bits, type)))

    def _parts(self, memory: dict, address: int, nbytes: int) -> list[Formula | None] | None:
        """Return the formulas of the pieces that lie side by side in some bytes, None if pieces of
        one size do not fill them.
        """
        first = memory.get(address)
        each = first[0] if first is not None else nbytes // 2
        if each >= nbytes or each < 1 or nbytes % each:
            return None
        found: list[Formula | None] = []
        for start in range(address, address + nbytes, each):
            one = memory.get(start)
            if one is None:
                form = self._initial(start, each, None)
            elif one[0] != each or (one[1] is None and one[2] is None):
                return None
            else:
                form = one[1]
            if isinstance(form, Packed):
                return None
            found.append(form)
        return found

    def _foreign(self, address: int, nbytes: int, bits: int | None) -> Formula:
        """Return the formula of a value that does not come from the record."""
        place = self.arrays.at(address)
        what = "a value from elsewhere"
        code = f"u{nbytes}"
        if place is not None:
            index, member, known = place.cell(address)
            what = f"{cell_text(place.name, index, member)} from elsewhere"
            code = known if known[1:] == str(nbytes) else code
        value = number(bits or 0, NumberType(_dtype(code))).item()
        return Formula.of(Unknown(what, value), code[0] == "f")

    def _initial(self, address: int, nbytes: int, bits: int | None) -> Form:
        """Return the formula of what no thread of the record has stored."""
        place = self.arrays.at(address)
        if place is None:
            return self._of_nothing(address, nbytes, bits)
        known = self._cells.get(address)
        if known is not None and known[0] == nbytes and bits in (None, known[2]):
            return known[1]
        index, member, code = place.cell(address)
        if not code or int(code[1:]) != nbytes:
            return self._initial_of_pieces(place, address, nbytes, bits)
        if bits is not None and self._initial_bits(address, nbytes) not in (None, bits):
            return self._foreign(address, nbytes, bits)
        if place.has_value:
            cell = Cell(place.name, index, member, place.rank, address - place.start, code)
            found = Formula.of(cell, code[0] == "f")
        else:
            value = number(bits or 0, NumberType(_dtype(code))).item()
            found = Formula.of(Unset(place.name, index, member, value), code[0] == "f")
            if place.space == "shared":
                return found  # the same address is another block's cell later
        self._cells[address] = nbytes, found, self._initial_bits(address, nbytes)
        return found

    def _initial_of_pieces(
        self, place: ArrayPlace, address: int, nbytes: int, bits: int | None
    ) -> Form:
        """Return the formulas of several cells that a load reads at once."""
        _, _, code = place.cell(address)
        each = int(code[1:]) if code else 0
        if not each or each >= nbytes or nbytes % each:
            return self._foreign(address, nbytes, bits)
        parts = [self._initial(a, each, None) for a in range(address, address + nbytes, each)]
        if any(isinstance(one, Packed) for one in parts):
            return self._foreign(address, nbytes, bits)
        return Packed(tuple(parts))  # type: ignore[arg-type]

    def _of_nothing(self, address: int, nbytes: int, bits: int | None) -> Formula:
        """Return the formula of what lies in no array."""
        if not self._local[0] <= address < self._local[1]:
            return self._foreign(address, nbytes, bits)
        name, index, kind = "a variable", None, NumberType(_dtype(f"i{nbytes}"))
        for lane in self._lanes.values():
            is_own = 0 <= address - lane.local < self.recording.local_bytes
            if lane.block == self._block and is_own:
                name, index, kind = self._name_of_local(lane, address) or (name, index, kind)
        value = number(bits or 0, kind).item()
        return Formula.of(Unset(name, index, "", value), kind.dtype.kind == "f")

    def _name_of_local(
        self, lane: Lane, address: int
    ) -> tuple[str, Index | None, NumberType] | None:
        frame = lane.stack[-1]
        return local_name(self.translation, frame.function, frame.local, address, False)

    # ---- reading the record

    def _run(self) -> None:
        groups: dict[tuple, list[Lane]] = {}
        for event in self.tape.events:
            self._work.spend(len(event.lanes))
            if event.block != self._block:
                self._block = event.block
                self.of_block.clear()
                self.copying.clear()
            row = event.row
            key = event.block, event.warp, event.lanes
            lanes = groups.get(key)
            if lanes is None:
                lanes = [self._lane(event, k) for k in range(len(event.lanes))]
                groups[key] = lanes
            for lane in lanes:
                frame = lane.stack[-1]
                if row.function != frame.function or lane.pending:
                    self._follow(lane, row)
            if row.pc in self._handlers:
                handler = self._handlers[row.pc]
            else:
                handler = self._handlers[row.pc] = self._handler(row)
            if handler is not None:
                handler(event, row, lanes)
            if event.values is not None and row.results:
                self._keep_bits(event, row, lanes)
                if self._instead or self._watched is not None:
                    self._put(event, row, lanes)
            if row.operation == "call":
                self._call(row, lanes)
            elif row.operation == "ret":
                for k, lane in enumerate(lanes):
                    if ThreadLog._goes(event, k) and len(lane.stack) > 1:
                        self._return(lane)

    def _lane(self, event: Event, k: int) -> Lane:
        linear = event.warp * 32 + event.lanes[k]
        key = event.block, linear
        lane = self._lanes.get(key)
        if lane is None:
            local = self.recording.local + linear * self.recording.local_bytes
            lane = self._lanes[key] = Lane(event.block, linear, local)
        return lane

    def _keep_bits(self, event: Event, row: Row, lanes: list[Lane]) -> None:
        assert event.values is not None
        for values, register in zip(event.values, (r for r in row.results if r >= 0), strict=False):
            for k, lane in enumerate(lanes):
                lane.stack[-1].bits[register] = values[k]

    def _put(self, event: Event, row: Row, lanes: list[Lane]) -> None:
        """Put other formulas in the place of results, and note those of the watched thread."""
        for k, register in enumerate(row.results):
            for lane in lanes if register >= 0 else ():
                key = event.number, lane.linear, k
                if key in self._instead:
                    self.set(lane, register, self._instead[key])
                    if key in self.loaded:
                        self.loaded[key] = self._instead[key]
                if (lane.block, lane.linear) == self._watched:
                    self.given[event.number, k] = lane.stack[-1].forms.get(register)

    def _follow(self, lane: Lane, row: Row) -> None:
        """A call by address has led here, or the record begins inside a function."""
        call, lane.pending = lane.pending, None
        is_first = row.pc == self.translation.functions[row.function].first
        if call is not None and is_first:
            self._enter(lane, row.function, call)
            return
        for k in range(len(lane.stack) - 1, -1, -1):
            if lane.stack[k].function == row.function:
                del lane.stack[k + 1 :]
                return
        frame = lane.stack[-1]
        local = frame.local + self.translation.functions[frame.function].local_bytes
        lane.stack.append(Frame(row.function, local))

    def _call(self, row: Row, lanes: list[Lane]) -> None:
        for lane in lanes:
            if row.target == BY_ADDRESS:
                lane.pending = row  # the thread's next instruction tells which function it is
            elif row.target >= 0:
                self._enter(lane, self.translation.number_of[row.target], row)
            else:  # of the runtime: only the load of a result tells what it has returned
                frame = lane.stack[-1]
                for actual, _, nbytes in passed(row, True):
                    self._store(frame.local + actual, nbytes, None, None)
                    frame.returned |= {frame.local + actual}

    def _enter(self, lane: Lane, number: int, row: Row) -> None:
        """Enter a function, by its number in the translation, from a call."""
        functions, frame = self.translation.functions, lane.stack[-1]
        local = frame.local + functions[frame.function].local_bytes
        end = local + functions[number].local_bytes
        if end > local and self._overlaps(self.of_block, local, end - local):
            for address in range(local, end):
                self.of_block.pop(address, None)
        for actual, formal, nbytes in passed(row, False):
            self._copy(frame.local + actual, local + formal, nbytes)
        for actual, _, _ in passed(row, True):
            frame.returned -= {frame.local + actual}
        call = frame.call
        if functions[number].is_mathematical and call is None:
            call = self._call_of_library(functions[number], local, row)
        lane.stack.append(Frame(number, local, call, row))
        lane.staged = None

    def _call_of_library(self, code: FunctionCode, local: int, row: Row) -> Function | None:
        """Return the call of a function of the library as a function of formulas, None if all of
        its arguments are constants. Inside of it the arguments are constants.
        """
        args: list[Formula] = []
        any_form = False
        for _, formal, nbytes in passed(row, False):
            one = self.of_block.get(local + formal)
            if one is None or one[2] is None:
                continue
            form = one[1]
            if form is None:
                args.append(Formula.constant(value_of(one[2], f"f{8 * nbytes}")))
                continue
            any_form = True
            args.append(self.as_type(form, f"f{8 * nbytes}", one[2]))
            self.of_block[local + formal] = one[0], None, one[2]
        if not any_form:
            return None
        return Function(plain_name(code.symbol), tuple(args), "f32", 0)

    def _return(self, lane: Lane) -> None:
        frame = lane.stack.pop()
        caller = lane.stack[-1]
        if frame.caller is None:  # the record begins behind the call
            return
        for actual, formal, nbytes in passed(frame.caller, True):
            self._copy(frame.local + formal, caller.local + actual, nbytes)
            if frame.call is not None and caller.call is None:
                bits = self._bits_in(self.of_block, caller.local + actual, nbytes)
                form = self._called(frame.call, nbytes, bits)
                self._store(caller.local + actual, nbytes, form, bits)

    @staticmethod
    def _called(call: Function, nbytes: int, bits: int | None) -> Formula:
        value = value_of(bits or 0, f"f{8 * nbytes}") if nbytes in (4, 8) else 0
        return Formula.of(Function(call.name, call.args, call.type, value))

    def _copy(self, source: int, target: int, nbytes: int) -> None:
        """Copy the formulas of some bytes."""
        memory = self._memory_of(source)
        found = [(a - source, memory[a]) for a in range(source, source + nbytes) if a in memory]
        to = self._memory_of(target)
        self._cut_out(to, target, nbytes)
        for offset, one in found:
            if offset + one[0] <= nbytes:
                to[target + offset] = one

    # ---- operands

    def bits_of(self, lane: Lane, operand: int) -> int:
        if operand >= 0:
            return lane.stack[-1].bits.get(operand, 0)
        if operand == -1:
            return 0
        key = operand, lane.block, lane.linear
        found = self._statics.get(key)
        if found is None:
            block = self.tape.extents_of(lane.block)
            found = self._statics[key] = static_bits(operand, self.recording, block, lane.linear)
        return found

    def formula_of(self, lane: Lane, operand: int, type: str) -> Formula:
        """Return the formula of an operand, as a number of a PTX type."""
        form = self.form_of(lane, operand)
        if form is None:
            return Formula.constant(value_of(self.bits_of(lane, operand), type), is_float(type))
        return self.as_type(form, type, self.bits_of(lane, operand))

    def form_of(self, lane: Lane, operand: int) -> Form:
        """Return what an operand holds, None for a constant."""
        if operand < 0:
            return None
        frame = lane.stack[-1]
        if operand not in frame.bits and operand not in frame.forms:
            frame.forms[operand] = self._without_value(frame, operand)
        return frame.forms.get(operand)

    def _without_value(self, frame: Frame, register: int) -> Formula:
        """Return the formula of a register that nothing has set."""
        if self.recording.is_cut:
            return Formula.of(Unknown("a value from before the record", 0))
        names = (
            one.variable.name
            for one in self.translation.tracked[frame.function]
            if register in (one.register, *(move.register for move in one.moves))
        )
        return Formula.of(Unset(next(names, "a variable"), None))

    @staticmethod
    def as_type(form: Formula | Packed, type: str, bits: int) -> Formula:
        value = value_of(bits, type)
        if isinstance(form, Packed):
            parts = [p if p is not None else Formula.constant(0) for p in form.parts]
            return Formula.of(Function("packed", tuple(parts), type, value), is_float(type))
        if form.is_float == is_float(type):
            return form
        if isinstance(form.atom, Function) and form.atom.name == "bits":
            return form.atom.args[0]  # there and back again
        return Formula.of(Function("bits", (form,), "", value), is_float(type))

    # ---- instructions

    def _handler(self, row: Row) -> Callable | None:
        root = row.operation.partition(".")[0]
        if root in (
            "bra",
            "ret",
            "exit",
            "bar",
            "barrier",
            "fence",
            "call",
            "yield",
            "nop",
            "trap",
        ):
            return None
        if root in ("ld", "ldu"):
            return self._loads
        if root == "st":
            return self._stores
        if root == "atom":
            return self._atomics
        if root == "shfl":
            return self._shuffles
        if root == "redux":
            return self._reductions
        special = matrices.handler(row) or copies.handler(row)
        if special is not None:
            return functools.partial(special, self)
        if root in _OF_MATRICES:
            return self._not_followed
        return self._computes if row.results else None

    def _not_followed(self, event: Event, row: Row, lanes: list[Lane]) -> None:
        """The results of an instruction come from where its formulas do not follow them."""
        registers = [one for one in row.results if one >= 0]
        for register, values in zip(registers, event.values or (), strict=False):
            for lane, bits in zip(lanes, values, strict=True):
                self.set(lane, register, self._unfollowed(row, bits))

    @staticmethod
    def _unfollowed(row: Row, bits: int) -> Formula:
        what = f"a value of {'.'.join(row.operation.split('.')[:2])}"
        return Formula.of(Unknown(what, value_of(bits, f"u{8 * max(row.bytes, 4)}")), False)

    def set(self, lane: Lane, register: int, form: Form) -> None:
        forms = lane.stack[-1].forms
        if form is None or (isinstance(form, Formula) and self._is_constant(form)):
            forms.pop(register, None)
        else:
            forms[register] = form
            if isinstance(form, Formula) and len(form.terms) > _TERMS:
                self._work.spend(len(form.terms) // _TERMS)

    @staticmethod
    def _is_constant(form: Formula) -> bool:
        return not form.terms or (len(form.terms) == 1 and () in form.terms)

    def _computes(self, event: Event, row: Row, lanes: list[Lane]) -> None:
        sources, results = row.sources, [r for r in row.results if r >= 0]
        for k, lane in enumerate(lanes):
            forms, bits = lane.stack[-1].forms, lane.stack[-1].bits
            for source in sources:
                if source >= 0 and (source in forms or source not in bits):
                    break
            else:
                for register in results:
                    forms.pop(register, None)
                continue
            observed = [v[k] for v in event.values] if event.values is not None else []
            self._compute(lane, row, results, observed)

    def _compute(self, lane: Lane, row: Row, results: list[int], observed: list[int]) -> None:
        found = compute(self, lane, row, observed)
        if isinstance(found, list):
            for register, form in zip(results, found, strict=False):
                self.set(lane, register, form)
        else:
            for register in results[:1]:
                self.set(lane, register, found)
            for register, width, bits in zip(
                results[1:], row.widths[1:], observed[1:], strict=False
            ):
                self.set(lane, register, self._unfollowed(row, bits) if width else None)

    def _loads(self, event: Event, row: Row, lanes: list[Lane]) -> None:
        assert event.addresses is not None
        nth = 0
        for k, register in enumerate(row.results):
            if register < 0:
                continue
            for j, lane in enumerate(lanes):
                if event.values is None:
                    lane.stack[-1].forms.pop(register, None)
                    continue
                address, bits = event.addresses[j] + k * row.bytes, event.values[nth][j]
                if row.space == PARAM_SPACE:
                    self.set(lane, register, self._parameter(address, row.bytes, bits))
                    continue
                frame = lane.stack[-1]
                if row.flags & PARAMETER and address in frame.returned:
                    self.set(lane, register, None)  # what a function of the runtime returns
                    continue
                form = self.load(address, row.bytes, bits & ((1 << 8 * row.bytes) - 1))
                if row.flags & PARAMETER and address >= frame.local + self._formals[frame.function]:
                    form = self._as_result(form, row)
                self.loaded[event.number, lane.linear, k] = form
                if self.copying:
                    copies.note_unfinished(self, event, lane, k, address)
                self.set(lane, register, form)
            nth += 1

    @staticmethod
    def _as_result(form: Form, row: Row) -> Form:
        """Return the result of a function of the library, of which only the load of the caller
        tells whether it is a whole number.
        """
        if not isinstance(form, Formula):
            return form
        type, atom = type_name(row.type), form.atom
        if isinstance(atom, Function) and form.is_float != is_float(type) and type[0] in "su":
            return Formula(form.terms, False)
        return form

    def _parameter(self, offset: int, nbytes: int, bits: int) -> Form:
        for at, size, name in self._parameters:
            if at == offset and size == nbytes:
                value = value_of(bits, f"f{8 * nbytes}")
                return Formula.of(Scalar(name, value))
        return None

    def _stores(self, event: Event, row: Row, lanes: list[Lane]) -> None:
        assert event.addresses is not None
        if event.values is None:
            return  # it has stopped the launch
        for j, lane in enumerate(lanes):
            for k, source in enumerate(row.sources[1:]):
                address = event.addresses[j] + k * row.bytes
                frame = lane.stack[-1]
                form = self.form_of(lane, source)
                bits = self.bits_of(lane, source) & ((1 << 8 * row.bytes) - 1)
                if frame.call is not None and not frame.local <= address < self._end_of(lane):
                    form = self._called(frame.call, row.bytes, bits)
                form = self._instead.get((event.number, lane.linear, k), form)
                self.stored[event.number, lane.linear, k] = form
                self.write(event, row, lane, address, row.bytes, form, bits)

    def _end_of(self, lane: Lane) -> int:
        return lane.local + self.recording.local_bytes

    def write(
        self,
        event: Event,
        row: Row,
        lane: Lane,
        address: int,
        nbytes: int,
        form: Form,
        bits: int | None,
    ) -> None:
        """Note what a thread has stored; bits: None if they are not known."""
        self._store(address, nbytes, form, bits)
        if not self._local[0] <= address < self._local[1]:
            for at in range(address, address + nbytes):
                self.writers.setdefault(at, []).append(
                    (lane.block, lane.linear, row.line, event.number)
                )

    def _atomics(self, event: Event, row: Row, lanes: list[Lane]) -> None:
        assert event.addresses is not None
        if event.values is None:
            return
        type = type_name(row.type)
        results = [r for r in row.results if r >= 0]
        for j, lane in enumerate(lanes):
            for k in range(row.elements):
                address = event.addresses[j] + k * row.bytes
                memory = self._memory_of(address)
                old_bits = self._bits_in(memory, address, row.bytes)
                if old_bits is None and self.arrays.at(address) is not None:
                    old_bits = self._initial_bits(address, row.bytes)
                observed = event.values[k][j] if k < len(results) else old_bits
                old = self.load(address, row.bytes, observed)
                new, bits = updated(self, lane, row, type, old, observed, k)
                if k < len(results):
                    self.set(lane, results[k], old)
                self.loaded[event.number, lane.linear, k] = old
                self.stored[event.number, lane.linear, k] = new
                self.write(event, row, lane, address, row.bytes, new, bits)

    def _initial_bits(self, address: int, nbytes: int) -> int | None:
        place = self.arrays.at(address)
        if place is None or place.name not in self.tape.before:
            return None
        at = address - place.start
        data = self.tape.before[place.name][at : at + nbytes]
        return int.from_bytes(data, "little") if len(data) == nbytes else None

    def _shuffles(self, event: Event, row: Row, lanes: list[Lane]) -> None:
        staged = lanes if not event.finishes else []
        for lane in staged:
            lane.staged = self.form_of(lane, row.sources[0])
        if event.values is None:
            for lane in lanes:
                for register in row.results:
                    lane.stack[-1].forms.pop(register, None)
            return
        kind = row.operation.split(".")[1]
        first = event.warp * 32
        taken: list[Form] = []
        for lane in lanes:
            own = lane.linear - first
            by = self.bits_of(lane, row.sources[1]) & 31
            control = self.bits_of(lane, row.sources[2])
            clamp, segments = control & 31, control >> 8 & 31
            most, least = own & segments | clamp & ~segments & 31, own & segments
            source = {"up": own - by, "down": own + by, "bfly": own ^ by}.get(
                kind, least | by & ~segments & 31
            )
            good = source >= most if kind == "up" else source <= most
            other = self._lanes.get((event.block, first + (source if good else own)))
            taken.append(other.staged if other is not None else None)
        for lane, form in zip(lanes, taken, strict=True):
            self.set(lane, row.results[0], form)
            if len(row.results) > 1 and row.results[1] >= 0:
                lane.stack[-1].forms.pop(row.results[1], None)

    def _reductions(self, event: Event, row: Row, lanes: list[Lane]) -> None:
        for lane in lanes if not event.finishes else ():
            lane.staged = self.formula_of(lane, row.sources[0], type_name(row.type))
        for lane in lanes:
            for register in row.results:
                lane.stack[-1].forms.pop(register, None)
        if event.values is None:
            return
        first = event.warp * 32
        for k, lane in enumerate(lanes):
            mask = self.bits_of(lane, row.sources[1])
            members = [
                one.staged
                for bit in range(32)
                if mask >> bit & 1 and (one := self._lanes.get((event.block, first + bit)))
            ]
            forms = [one for one in members if isinstance(one, Formula)]
            self.set(lane, row.results[0], reduced(row, forms, event.values[0][k]))


def place_bytes(place: ArrayPlace, address: int) -> int:
    """Return the bytes of the number at an address of an array, 0 if none begins there."""
    _, _, code = place.cell(address)
    return int(code[1:]) if code else 0


def _dtype(code: str):
    return np.dtype("bool" if code[0] == "b" else code)
