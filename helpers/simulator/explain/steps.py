"""What one thread did: its steps by source line, its variables, and its accesses."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..launch.launch_limits import Extents
from ..ptx.opcodes import PARAM_SPACE
from ..ptx.rows import STATIC_KINDS
from .arrays import ArrayPlaces, Index
from .formulas import cell_text
from .ptx_types import type_name
from .recording import Event, Recording
from .translation import BY_ADDRESS, Move, Row, TrackedVariable, Translation
from .values import at_address, number, of_bits
from .variables import (
    Array,
    Constant,
    Memory,
    Number,
    Pointer,
    Structure,
    ValueType,
    numbers_of,
)

_SPECIAL = {kind: name for name, kind in STATIC_KINDS.items()}
_PTX_CODES = {
    name: np.dtype(code)
    for name, code in (("u8", "u1"), ("u16", "u2"), ("u32", "u4"), ("u64", "u8"), ("s8", "i1"),
                       ("s16", "i2"), ("s32", "i4"), ("s64", "i8"), ("f16", "f2"), ("f32", "f4"),
                       ("f64", "f8"), ("b8", "u1"), ("b16", "u2"), ("b32", "u4"), ("b64", "u8"))
}  # fmt: skip


@dataclass(frozen=True)
class Access:
    """One access of one thread to one cell.

    array, index: as in the source: a flat index, or a tuple for an array that the source declares
    with several extents; member: of a structure in the array ("y" of a float4), "" without; space:
    "global", "device", "constant", "shared" or "local"; is_store: also for an atomic, which
    is_atomic tells apart; value: what was loaded or stored, of an atomic its operand; line: of the
    source; at: its place in the order of the launch; is_inside: whether the index lies in the
    array; nth: the thread's nth time at this access, from 0.
    """

    array: str
    index: Index | None
    is_store: bool
    value: Any
    space: str
    line: int
    at: int
    block: Extents
    thread: Extents
    member: str = ""
    is_atomic: bool = False
    is_inside: bool = True
    nth: int = 0
    address: int = field(default=0, repr=False)
    nbytes: int = field(default=0, repr=False)
    row: Row | None = field(default=None, repr=False, compare=False)
    element: int = field(default=0, repr=False)

    def __str__(self) -> str:
        verb = "updates" if self.is_atomic else "writes" if self.is_store else "reads"
        return f"{verb} {cell_text(self.array, self.index, self.member)}"


@dataclass(frozen=True)
class Decision:
    """A branch of one thread: line, whether its condition was true, and which instruction it is.
    nth: the thread's nth time at this instruction, from 0; at: as of an Access.
    """

    line: int
    is_true: bool
    pc: int
    nth: int
    at: int


class Frame:
    """A function that a thread runs, or has run: number in the translation; depth: 0 for the
    kernel; local: the address of its local memory.
    """

    __slots__ = ("depth", "function", "last", "local", "places", "registers")

    def __init__(self, function: int, depth: int, local: int):
        self.function, self.depth, self.local = function, depth, local
        self.registers: dict[int, tuple[list[int], list[int | None]]] = {}
        self.places: dict[int, tuple[list[int], list[Move]]] = {}  # of variables, by number
        self.last = -1  # the instruction that ran last

    def set(self, register: int, at: int, bits: int | None) -> None:
        known = self.registers.get(register)
        if known is None:
            self.registers[register] = ([at], [bits])
        else:
            known[0].append(at)
            known[1].append(bits)

    def move(self, number: int, at: int, move: Move) -> None:
        """Note that a variable, by its number, is in another place from entry `at` on."""
        times, moves = self.places.setdefault(number, ([], []))
        written = self.registers.get(move.register)
        if move.is_own and written is not None and (not times or written[0][-1] >= times[-1]):
            at = written[0][-1] + 1
        times.append(at)
        moves.append(move)

    def register_of(self, one: TrackedVariable, at: int) -> tuple[int, int]:
        """Return the register that a variable is in before entry `at`, and before which entry it
        got what it holds; -1 for none.
        """
        if one.where is not None:
            return one.register, at
        times, moves = self.places.get(one.number, ((), ()))
        k = bisect_right(times, at) - 1
        return (moves[k].register, times[k]) if k >= 0 else (-1, at)

    def bits(self, register: int, at: int) -> int | None:
        """Return what a register held before entry `at` of the thread, None for nothing."""
        known = self.registers.get(register)
        if known is None:
            return None
        k = bisect_left(known[0], at) - 1
        return known[1][k] if k >= 0 else None


@dataclass
class Step:
    """One visit of a thread to a line of the source.

    line, function: of the source; depth: 0 in the kernel, 1 in a function that it calls, and so on;
    is_barrier: the thread waits here for others. A loop that is written on one line makes a step
    each time round.
    """

    line: int
    function: str
    depth: int
    block: Extents
    thread: Extents
    is_barrier: bool = False
    decisions: list[Decision] = field(default_factory=list, repr=False)
    _log: ThreadLog = field(default=None, repr=False)  # type: ignore[assignment]
    _frame: Frame = field(default=None, repr=False)  # type: ignore[assignment]
    _entries: list[int] = field(default_factory=list, repr=False)
    _next: int = field(default=-1, repr=False)

    @property
    def variables(self) -> dict[str, Any]:
        """The variables of the function that runs, by name, after the step: parameters, locals and
        loop counters as NumPy's values of their types; local arrays as arrays, masked where a cell
        has no value; structures as Members, and each of their members under "p.x" as well; pointers
        as DevicePointer. A variable that has no value yet is not there.
        """
        return self._log.variables(self, True)

    @property
    def before(self) -> dict[str, Any]:
        """The same before the step."""
        return self._log.variables(self, False)

    @property
    def unknown(self) -> list[str]:
        """The names of variables that the function has here, and of which the compiler does not say
        where they are: some of type bool. They are not among the variables.
        """
        return self._log.unknown(self)

    def variables_at(self, access: Access) -> dict[str, Any]:
        """Return the variables as they were when the step made one of its accesses."""
        return self._log.variables(self, True, access.at)

    @property
    def accesses(self) -> list[Access]:
        """What the step loads and stores, in order. Variables of the thread that are no arrays and
        the kernel's parameters are left out.
        """
        return self._log.accesses(self)

    @property
    def at(self) -> tuple[int, int]:
        """The places of the step's first and last instruction in the order of the launch."""
        first, last = self._entries[0], self._entries[-1]
        return self._log.entries[first][0].number, self._log.entries[last][0].number


class ThreadLog:
    """All that one thread did. entries: its executed instructions, each with its lane's place in
    the event.
    """

    def __init__(
        self,
        recording: Recording,
        arrays: ArrayPlaces,
        block: Extents,
        thread: Extents,
        entries: list[tuple[Event, int]],
    ):
        self.recording, self.arrays = recording, arrays
        self.block, self.thread, self.entries = block, thread, entries
        translation = recording.kernel.translation
        assert translation is not None
        self.translation: Translation = translation
        x, y, z = thread
        self.linear = x + recording.block[0] * (y + recording.block[1] * z)
        self.local = recording.local + self.linear * recording.local_bytes
        self._memory: dict[int, tuple[list[int], list[int]]] | None = None
        self.frames: list[Frame] = []  # by entry
        self._args: dict[int, list[int | None]] = {}
        self._times = self._counted()
        self.steps = list(self._read())

    # ---- registers of the program that never change

    def static(self, operand: int) -> int:
        """Return the bits of a static operand: a constant or a special register of the thread."""
        return static_bits(operand, self.recording, self.block, self.linear)

    def bits_of(self, operand: int, at: int) -> int | None:
        """Return the bits of an operand before an entry of the thread."""
        if operand >= 0:
            return self.frames[at].bits(operand, at)
        return self.static(operand) if operand <= -2 else None

    def _counted(self) -> list[int]:
        """Return for each entry how often the thread has been at its instruction before."""
        known: dict[int, int] = {}
        found = []
        for event, _ in self.entries:
            if not event.finishes:
                known[event.row.pc] = known.get(event.row.pc, -1) + 1
            found.append(known.get(event.row.pc, 0))
        return found

    # ---- steps

    def _read(self) -> Iterator[Step]:
        functions, moves_at = self.translation.functions, self.translation.moves_at
        frame = Frame(0, 0, self.local)
        stack = [frame]
        pending = -1  # a call by address, whose function the next instruction tells
        step: Step | None = None
        last_pc, last_frame = -1, frame
        open_steps: dict[int, Step] = {}  # by frame, those whose next entry is not known yet
        done: list[Step] = []
        for at, (event, lane) in enumerate(self.entries):
            row = event.row
            if pending >= 0 and row.pc == functions[row.function].first:
                frame = self._entered(stack, row.function)
            pending = -1
            if row.function != frame.function:  # the record begins inside a call
                frame = self._resumed(stack, row.function)
            self.frames.append(frame)
            for variable, move in moves_at.get(row.pc, ()):
                if move.by_jump or frame.last == row.pc - 1 or frame.last < 0:
                    frame.move(variable, at, move)
            frame.last = row.pc
            code = functions[frame.function]
            is_visible = code.is_own or frame.depth == 0
            if id(frame) in open_steps and is_visible:
                open_steps.pop(id(frame))._next = at
            if is_visible and row.line and (
                step is None
                or step.line != row.line
                or last_frame is not frame
                or (row.pc <= last_pc and not event.finishes)
            ):  # fmt: skip
                name = self.translation.call_at(row.pc) or code.name
                step = Step(
                    row.line, name, frame.depth, self.block, self.thread, _log=self, _frame=frame
                )
                done.append(step)
            if step is not None:
                step._entries.append(at)
            if is_visible:
                last_pc, last_frame = row.pc, frame
            self._note(event, lane, at, frame, row, step)
            if step is not None and is_visible:
                open_steps[id(frame)] = step
            if row.operation == "call" and (event.decided is None):
                if row.target == BY_ADDRESS:
                    pending = at
                elif row.target >= 0:
                    frame = self._entered(stack, self.translation.number_of[row.target])
            elif row.operation == "ret" and self._goes(event, lane) and len(stack) > 1:
                stack.pop()
                frame = stack[-1]
        return iter(done)

    @staticmethod
    def _goes(event: Event, lane: int) -> bool:
        return event.decided is None or bool(event.decided >> event.lanes[lane] & 1)

    def _entered(self, stack: list[Frame], function: int) -> Frame:
        caller = stack[-1]
        local = caller.local + self.translation.functions[caller.function].local_bytes
        own = self.translation.functions[function].is_own
        stack.append(Frame(function, caller.depth + (1 if own else 0), local))
        return stack[-1]

    def _resumed(self, stack: list[Frame], function: int) -> Frame:
        for k in range(len(stack) - 1, -1, -1):
            if stack[k].function == function:
                del stack[k + 1 :]
                return stack[k]
        return self._entered(stack, function)

    def _note(
        self, event: Event, lane: int, at: int, frame: Frame, row: Row, step: Step | None
    ) -> None:
        """Note the results of an instruction, its branch and its barrier."""
        values = event.values
        for k, register in enumerate([r for r in row.results if r >= 0]):
            frame.set(register, at, values[k][lane] if values is not None else None)
        if step is None:
            return
        if event.decided is not None and row.operation in ("bra", "exit", "ret"):
            nth = self._times[at]
            taken = self._goes(event, lane)
            # The compiler negates the condition and jumps past what it guards.
            step.decisions.append(Decision(row.line, not taken, row.pc, nth, event.number))
        elif row.operation.startswith(("bar.", "barrier")):
            step.is_barrier = True

    # ---- variables

    def variables(self, step: Step, after: bool, number: int = -1) -> dict[str, Any]:
        """Return the variables after a step, before it, or at the event with this number."""
        frame, entries = step._frame, step._entries
        found: dict[str, Any] = {}
        own = [at for at in entries if self.frames[at] is frame]
        if number >= 0:
            own = [at for at in own if self.entries[at][0].number <= number] or own[:1]
        first, last = own[0], own[-1]
        moments: list[tuple[int, int]] = []  # an instruction, and before which entry
        if after:
            following = step._next if step._next >= 0 else last + 1
            if number >= 0:
                following = last
            elif step._next >= 0:
                moments.append((self.entries[step._next][0].row.pc, following))
            moments += [(self.entries[last][0].row.pc, following)]
            moments += [(self.entries[at][0].row.pc, at) for at in reversed(own[:-1])]
        else:
            moments.append((self.entries[first][0].row.pc, first))
        call = self.translation.call_at(self.entries[last][0].row.pc)
        for pc, at in moments:
            if self.translation.call_at(pc) != call:
                continue
            for one in self.translation.variables_at(pc):
                variable = one.variable
                if variable.name in found or variable.line > step.line:
                    continue
                value = self._value(one, frame, at)
                if value is not None:
                    self._add(found, variable.name, value)
        return found

    def unknown(self, step: Step) -> list[str]:
        pc = self.entries[step._entries[-1]][0].row.pc
        return [
            one.variable.name
            for one in self.translation.variables_at(pc)
            if not one.variable.places and one.variable.line <= step.line
        ]

    @staticmethod
    def _add(found: dict[str, Any], name: str, value: Any) -> None:
        found[name] = value
        if isinstance(value, dict):
            for member, inner in value.items():
                ThreadLog._add(found, f"{name}.{member}", inner)

    def _value(self, one: TrackedVariable, frame: Frame, at: int) -> Any:
        where, kind = one.where, one.variable.kind
        bits: int | None
        if where is None:
            times, moves = frame.places.get(one.number, ((), ()))
            k = bisect_right(times, at) - 1
            if k < 0:
                return None
            where = moves[k].where
            bits = self._bits_after(frame, moves[k], times[k], at)
        else:
            choice = self.translation.predicates[frame.function].get(one.register)
            if choice is not None:
                bits = frame.bits(choice.sources[2], at)
                if bits is not None:
                    bits = self.static(choice.sources[0 if bits & 1 else 1])
            else:
                bits = frame.bits(one.register, at) if one.register >= 0 else None
        if isinstance(where, Constant):
            return of_bits(where.value, kind, self.arrays)
        if isinstance(where, Memory):
            address = _address_of(self.translation, frame.function, frame.local, where)
            return self._in_memory(address, kind, at) if address is not None else None
        if bits is None:
            return None
        if where.is_address:
            return self._in_memory(bits + where.offset, kind, at)
        if isinstance(kind, Pointer) and kind.is_reference and kind.target is not None:
            value = self._in_memory(bits, kind.target, at)
            return value if value is not None else of_bits(bits, kind, self.arrays)
        if isinstance(kind, Structure):  # a small structure in one register
            data = bits.to_bytes(16, "little")
            return at_address(0, kind, lambda a, n: list(data[a : a + n]), self.arrays)
        return of_bits(bits, kind, self.arrays)

    def _bits_after(self, frame: Frame, move: Move, begun: int, at: int) -> int | None:
        """Return the bits of a variable before entry `at`, of which a register has had the value
        since entry `begun`: what others have put there later is not its value.
        """
        times, values = frame.registers.get(move.register, ([], []))
        k = bisect_left(times, begun) - 1
        if k >= 0:
            return values[k]
        # A parameter is in its register from the function's begin on, and is loaded a little later.
        if times and times[0] < at and move.begin <= self.entries[times[0]][0].row.pc < move.end:
            return values[0]
        return None

    def _in_memory(self, address: int, kind: ValueType, at: int) -> Any:
        if not 0 <= address - self.local < self.recording.local_bytes:
            return None
        memory = self.memory

        def read(start: int, nbytes: int) -> list[int | None]:
            found: list[int | None] = []
            for byte in range(start, start + nbytes):
                times, values = memory.get(byte, ((), ()))
                k = bisect_left(times, at) - 1
                found.append(values[k] if k >= 0 else None)
            return found

        return at_address(address, kind, read, self.arrays)

    @property
    def memory(self) -> dict[int, tuple[list[int], list[int]]]:
        """What the thread has stored in its local memory: entries and values of each byte."""
        if self._memory is None:
            self._memory = {}
            for at, (event, lane) in enumerate(self.entries):
                row = event.row
                if row.operation == "call" and self._enters(at):
                    self._copy_arguments(row, at)
                if event.addresses is None or row.operation not in ("st",):
                    continue
                address = event.addresses[lane]
                if not 0 <= address - self.local < self.recording.local_bytes:
                    continue
                for k, source in enumerate(row.sources[1:]):
                    bits = self.bits_of(source, at)
                    if bits is not None:
                        self._keep(address + k * row.bytes, row.bytes, bits, at)
        return self._memory

    def _enters(self, at: int) -> bool:
        """Return whether an entry, a call, leads to another function."""
        return at + 1 < len(self.frames) and self.frames[at + 1] is not self.frames[at]

    def _copy_arguments(self, row: Row, at: int) -> None:
        """A call copies its arguments to the start of the function's local memory."""
        assert self._memory is not None
        frame, entered = self.frames[at], self.frames[at + 1]
        to, function = entered.local, self.translation.functions[entered.function]
        for byte in range(to, to + function.local_bytes):
            self._memory.pop(byte, None)
        for actual, formal, nbytes in passed(row, False):
            for k in range(nbytes):
                times, values = self._memory.get(frame.local + actual + k, ([], []))
                if times:
                    self._memory[to + formal + k] = ([at], [values[-1]])

    def _keep(self, address: int, nbytes: int, bits: int, at: int) -> None:
        assert self._memory is not None
        for k, byte in enumerate((bits & ((1 << 8 * nbytes) - 1)).to_bytes(nbytes, "little")):
            times, values = self._memory.setdefault(address + k, ([], []))
            times.append(at)
            values.append(byte)

    # ---- accesses

    def accesses(self, step: Step) -> list[Access]:
        found: list[Access] = []
        for at in step._entries:
            event, lane = self.entries[at]
            if event.addresses is not None:
                found += self._accesses(event, lane, at)
        return found

    def _accesses(self, event: Event, lane: int, at: int) -> Iterator[Access]:
        row = event.row
        assert event.addresses is not None
        start = event.addresses[lane]
        is_local = 0 <= start - self.local < self.recording.local_bytes
        if row.space == PARAM_SPACE or (is_local and row.flags & (1 << 27)):
            return
        is_atomic = row.operation.startswith("atom.")
        is_store = row.operation == "st" or is_atomic
        stored = row.sources[1 : 1 + row.elements] if is_store else ()
        for k in range(row.elements):
            address = start + k * row.bytes
            bits: int | None
            if is_store:
                bits = self.bits_of(stored[k], at) if k < len(stored) else None
            else:
                bits = self._loaded(event, lane, k)
            if is_local:
                frame = self.frames[at]
                named = local_name(self.translation, frame.function, frame.local, address)
                if named is None:
                    continue
                array, index, kind = named
                space, member, inside = "local", "", True
            else:
                place = self.arrays.at(address)
                inside = place is not None
                place = place or self.arrays.near(address)
                if place is None:
                    array, index, member, space, kind = "", None, "", "", _ptx_number(row)
                else:
                    index, member, code = place.cell(address)
                    array, space = place.name, place.space
                    kind = Number(np.dtype(code)) if code else _ptx_number(row)
                    if kind.nbytes != row.bytes:
                        kind = _ptx_number(row)
            value = number(bits, kind) if bits is not None else None
            yield Access(
                array, index, is_store, value, space, row.line, event.number, self.block,
                self.thread, member, is_atomic, inside, self._times[at], address, row.bytes, row, k,
            )  # fmt: skip

    @staticmethod
    def _loaded(event: Event, lane: int, element: int) -> int | None:
        results = event.row.results
        if event.values is None or results[element] < 0:
            return None
        return event.values[sum(r >= 0 for r in results[:element])][lane]


def local_name(
    translation: Translation, function: int, local: int, address: int, only_arrays: bool = True
) -> tuple[str, Index | None, Number] | None:
    """Return array, index and type of a cell of a local array, None for other local memory.

    function, local: number and local memory of the function that runs; only_arrays: without it also
    the name of a variable, with None for the index.
    """
    for one in translation.variables_in(function):
        for _, _, where in one.places:
            if not isinstance(where, Memory):
                continue
            start = _address_of(translation, function, local, where)
            if start is None or not 0 <= address - start < one.kind.nbytes:
                continue
            found = _cell_in(one.name, one.kind, address - start)
            if found is None and not only_arrays:
                numbers = numbers_of(one.kind)
                code = next((c for at, _, c in numbers if at == address - start), "u1")
                return one.name, None, Number(np.dtype(code))
            return found
    return None


def _address_of(translation: Translation, function: int, local: int, where: Memory) -> int | None:
    """Return the address of a variable in local memory, None for one that is elsewhere."""
    offset = translation.local_offset(function, where.symbol)
    return None if offset is None else local + offset + where.offset


def _cell_in(name: str, kind: ValueType, offset: int) -> tuple[str, Index | None, Number] | None:
    """Return array, index and type of a cell in a variable, None if it is in no array."""
    if isinstance(kind, Structure):
        for member, start, inner in kind.members:
            if start <= offset < start + inner.nbytes:
                return _cell_in(f"{name}.{member}", inner, offset - start)
    if isinstance(kind, Array):
        flat, rest = divmod(offset, kind.element.nbytes)
        index = tuple(int(k) for k in np.unravel_index(flat, kind.extents))
        own: Index = index if len(index) > 1 else flat
        if isinstance(kind.element, Number):
            return name, own, kind.element
        if isinstance(kind.element, Structure):
            for member, at, number_kind in kind.element.members:
                if at == rest and isinstance(number_kind, Number):
                    return f"{cell_text(name, own)}.{member}", None, number_kind
    return None


def _ptx_number(row: Row) -> Number:
    return Number(_PTX_CODES.get(type_name(row.type), np.dtype(f"u{min(row.bytes, 8)}")))


def passed(row: Row, returns: bool) -> Iterator[tuple[int, int, int]]:
    """Yield the place of each argument (or each result) of a call in the local memory of the caller
    and of the function, and its bytes.
    """
    numbers, formal = list(row.passed), 0
    at = 0
    for group in (True, False):
        count = numbers[at]
        at += 1
        for _ in range(count):
            actual, nbytes = numbers[at], numbers[at + 1]
            at += 2
            if group is returns:
                yield actual, formal, nbytes
            formal += -(-nbytes // 16) * 16


def static_bits(operand: int, recording: Recording, block: Extents, linear: int) -> int:
    """Return the bits of a static operand of the program for one thread of a block."""
    kind, value = recording.statics[-2 - operand]
    if kind == 0:
        return value
    (bx, by, bz), (gx, gy, gz) = recording.block, recording.grid
    special = {
        "tid.x": linear % bx, "tid.y": linear // bx % by, "tid.z": linear // bx // by,
        "ntid.x": bx, "ntid.y": by, "ntid.z": bz,
        "ctaid.x": block[0], "ctaid.y": block[1], "ctaid.z": block[2],
        "nctaid.x": gx, "nctaid.y": gy, "nctaid.z": gz,
        "laneid": linear % 32, "warpid": linear // 32,
    }  # fmt: skip
    lane = linear % 32
    masks = {
        "lanemask_eq": 1 << lane, "lanemask_lt": (1 << lane) - 1,
        "lanemask_le": (2 << lane) - 1, "lanemask_gt": ~((2 << lane) - 1) & 0xFFFFFFFF,
        "lanemask_ge": ~((1 << lane) - 1) & 0xFFFFFFFF,
        "nwarpid": -(-bx * by * bz // 32), "dynamic_smem_size": recording.dynamic_shared,
    }  # fmt: skip
    return {**special, **masks}.get(_SPECIAL[kind], 0)
