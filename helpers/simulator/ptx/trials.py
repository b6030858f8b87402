"""Runs a piece of one thread's code with drawn values, to see what a value that it loads decides.

    thread = Thread(Code(flow, parameters), Draws(seed, numbers))
    thread.memory[thread.address(load)] = 7
    thread.run(load, 3)      # go on behind the load, as if it had read 3
    thread.written           # what the thread has stored, by address

A register that has its value from before the load is computed where the code says how, such as from
an argument of the launch; any other value, such as a thread's number or an element of memory, is
drawn. Two threads with the same draws differ only by what is loaded.
"""

from __future__ import annotations

import operator
import random
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .opcodes import describe
from .syntax import (
    TYPE_BYTES,
    Address,
    Label,
    Literal,
    Negated,
    Operand,
    Special,
    Statement,
    Symbol,
    Variable,
)
from .updates import Dataflow, argument_of

_STEPS = 300  # of a trial: a loop may have any number of turns
_DEEPEST = 50  # steps back from a register to values that are drawn
_APART = 1 << 44  # bytes between the drawn addresses of two variables
_OWN_INDEX = 0.3  # share of the elements that hold it
_USUAL = 0.75  # share of the guards behind which the code runs
_RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt,
    "ge": operator.ge, "lo": operator.lt, "ls": operator.le, "hi": operator.gt, "hs": operator.ge,
}  # fmt: skip
_OPERATIONS: dict[str, Callable[..., int]] = {
    "mov": lambda a: a, "cvt": lambda a: a, "cvta": lambda a: a,
    "add": operator.add, "sub": operator.sub, "neg": operator.neg,
    "mul": operator.mul, "mad": lambda a, b, c: a * b + c,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor, "not": operator.invert,
    "min": min, "max": max, "selp": lambda a, b, chosen: a if chosen else b,
    "shl": lambda a, b: a << min(b, 64), "shr": lambda a, b: a >> min(b, 64),
}  # fmt: skip
_ATOMICS: dict[str, Callable[..., int]] = {
    **{name: _OPERATIONS[name] for name in ("add", "and", "or", "xor", "min", "max")},
    "exch": lambda old, new: new,
    "cas": lambda old, compared, new: new if old == compared else old,
}
_SILENT = ("st", "red", "fence", "membar", "nanosleep")
ENDS = ("ret", "exit")
_OWN = ("tid", "ctaid", "laneid", "warpid")  # a thread has these numbers for itself
BARRIERS = ("bar", "barrier")
OF_OTHERS = (*BARRIERS, "shfl", "vote", "match", "activemask", "redux", "call")


class Draws:
    """Values that nobody knows, each drawn once. numbers: what to draw from.

    links: the address of an array's first element and the bytes of one, if many of its elements
    hold their own index, as the end of a chain does.
    """

    def __init__(self, seed: int, numbers: Sequence[int]):
        self._random, self._numbers = random.Random(seed), numbers
        self.links: tuple[int, int] | None = None
        self._drawn: dict[Hashable, int] = {}

    def __call__(self, key: Hashable) -> int:
        if key not in self._drawn:
            self._drawn[key] = self._random.choice(self._numbers)
        return self._drawn[key]

    def chance(self, key: Hashable, share: float) -> bool:
        """Return whether something is so, in this share of all cases."""
        return bool(self._drawn.setdefault(("chance", key), self._random.random() < share))

    def set(self, key: Hashable, value: int) -> None:
        """Set a value instead of drawing it."""
        self._drawn[key] = value

    def element(self, address: int) -> int:
        """Return the value in memory at an address."""
        if self.links is not None and ("memory", address) not in self._drawn:
            index, rest = divmod(address - self.links[0], self.links[1])
            if not rest and index in self._numbers and self._random.random() < _OWN_INDEX:
                return self._drawn.setdefault(("memory", address), index)
        return self(("memory", address))

    def address(self, variable: Hashable) -> int:
        """Return the address of a variable."""
        return self._drawn.setdefault(("address", variable), _APART * (len(self._drawn) + 1))


class _Step(NamedTuple):
    """A statement, and what it reads beside its address; kind: its last type, such as "s32";
    width: bytes of an element.
    """

    statement: Statement
    root: str
    parts: list[str]
    kind: str
    width: int
    results: list[int]
    read: list[Operand]
    address: Address | None
    argument: object


class Code:
    """A function whose threads are tried. parameters: the bytes of the launch's arguments."""

    def __init__(self, flow: Dataflow, parameters: bytes):
        self.flow, self.parameters = flow, parameters
        pairs = zip(flow.body.statements, flow.body.written, strict=True)
        self.steps = [self._step(one, list(written)) for one, written in pairs]

    def _step(self, one: Statement, written: list[int]) -> _Step:
        parts = one.opcode.split(".")
        address = next((each for each in one.operands if isinstance(each, Address)), None)
        read = [
            each
            for operand in one.operands[1 if written else 0 :]
            for each in (operand if isinstance(operand, list) else [operand])
            if each is not address
        ]
        width, argument = describe(one.opcode).width, argument_of(one)
        return _Step(one, parts[0], parts, parts[-1], width, written, read, address, argument)


@dataclass
class Meeting:
    """A load of an element that another thread changes. written: what that thread has stored, by
    address; is_early: whether the load comes before; address: of the element, None so far.
    """

    load: int
    written: Mapping[int, int]
    is_early: bool
    address: int | None = None


class Thread:
    """A thread, from a statement on. number: tells two threads of one memory apart.

    memory, written: values by address; done: what it does beside that, such as barriers; by: for
    each address, the statements that have written it; depends: the registers and places whose value
    depends on what was loaded, if other guards may come out either way, else None.
    """

    def __init__(self, code: Code, draws: Draws, number: int = 0):
        self.code, self.draws, self.number = code, draws, number
        self.memory: dict[int, int] = {}
        self.written: dict[int, int] = {}
        self.done: list[tuple[int, ...]] = []
        self.by: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
        self.depends: set[Hashable] | None = None
        self._loaded_place: Hashable = None
        self._has_parted = False  # at a branch that depends on what was loaded
        self._decided: set[int] = set()
        self._origins: dict[Operand, Hashable] = {}  # of predicates: what they are computed from
        self._values: dict[Hashable, int] = {}
        self._depth = 0

    def run(self, start: int, loaded: int | None = None, meeting: Meeting | None = None) -> bool:
        """Run from a statement to the end; loaded: what the statement, a load, reads; meeting: with
        another thread, which has run to its end behind, or before, a load of this one. Return
        whether the end came soon enough.
        """
        steps, at = self.code.steps, start
        if loaded is not None:
            self._set(steps[start], [loaded])
            at += 1
        for _ in range(_STEPS):
            if at >= len(steps):
                return True
            step = steps[at]
            statement = step.statement
            if self._is_off(at, step) or self._meet(at, step, meeting):
                at += 1
            elif step.root in ENDS:
                return True
            elif step.root == "bra" and isinstance(label := statement.operands[0], Label):
                at = label.statement
            else:
                self._execute(at, step)
                at += 1
        return False

    def go_any_way(self, load: int) -> None:
        """Let guards that depend on nothing loaded come out either way; load: where it starts."""
        self._loaded_place = "memory", self.address(load)
        self.depends = {*self.code.steps[load].results, self._loaded_place}

    def _is_off(self, at: int, step: _Step) -> bool:
        """Return whether a guard keeps the thread from a statement. If the thread may go any way, a
        guard that depends on nothing loaded is mostly such that the code behind it runs.
        """
        guard, negated = step.statement.guard, step.statement.negated
        if guard < 0:
            return False
        if self.depends is not None:
            if self._depends(guard):
                self._has_parted = True
            elif guard not in self._decided:
                label = step.statement.operands[0] if step.root == "bra" else None
                skips = isinstance(label, Label) and label.statement > at
                is_usual = self.draws.chance((at, self._origins.get(guard)), _USUAL)
                self._values[guard] = int(negated if skips == is_usual else not negated)
                self._decided.add(guard)
        return self.value(guard) == negated

    def _depends(self, source: Hashable) -> bool:
        """Return whether a register or place depends on what was loaded. What a register holds
        behind a branch may depend on the way there.
        """
        assert self.depends is not None
        definitions = self.code.flow.body.definitions
        has_ways = isinstance(source, int) and len(definitions.get(source, ())) > 1
        return source in self.depends or (has_ways and self._has_parted)

    def _follow(self, k: int, step: _Step) -> None:
        """Note whether the results of a statement depend on what was loaded."""
        assert self.depends is not None
        sources: set[Hashable] = {*self.code.flow.body.read[k]}
        results: list[Hashable] = [*step.results]
        if step.argument is not None:
            (results.append if step.root == "st" else sources.add)(("argument", step.argument))
        elif step.address is not None and is_in_memory(step.address):
            place = "memory", self._address(step)
            if step.root != "st":
                sources.add(place)
            if step.root != "ld" and place != self._loaded_place:
                results.append(place)
        for one in step.results if step.kind == "pred" or step.root == "setp" else ():
            origins = (self._origins.get(each, self.value(each)) for each in step.read)
            self._origins[one] = step.statement.opcode, *origins
        if any(map(self._depends, sources)):
            self.depends.update(results)
        else:
            self.depends.difference_update(results)
        self._decided.difference_update(step.results)

    def _meet(self, at: int, step: _Step, meeting: Meeting | None) -> bool:
        """Load the element that the other thread has changed, if it is the first one, and take over
        that thread's memory. Return whether it is.
        """
        if meeting is None or at != meeting.load or meeting.address is not None:
            return False
        address = self._address(step)
        before = self.at(address)
        if meeting.written.get(address, before) == before:
            return False
        meeting.address = address
        self.memory.update(meeting.written)
        self._set(step, [before if meeting.is_early else self.memory[address]])
        return True

    def value(self, operand: Operand) -> int:
        """Return the value of an operand."""
        if isinstance(operand, int):
            if operand not in self._values:
                self._values[operand] = self._bits(operand, self.draws(("register", operand)))
                definitions = self.code.flow.body.definitions.get(operand, ())
                if len(definitions) == 1 and self._depth < _DEEPEST:
                    before = self.code.steps[definitions[0]]
                    if before.statement.guard < 0:
                        self._depth += 1
                        self._set(before, self._results(definitions[0], before))
                        self._depth -= 1
            return self._values[operand]
        if isinstance(operand, Negated):
            return 1 - self.value(operand.register)
        if isinstance(operand, Literal):
            return operand.bits
        if isinstance(operand, Symbol):
            return self.draws.address(operand.name) + operand.offset
        if isinstance(operand, Variable):
            return self.draws.address(id(operand))
        if isinstance(operand, Special) and operand.name.startswith(_OWN):
            return self.draws((operand.name, self.number))
        return self.draws(operand.name if isinstance(operand, Special) else repr(operand))

    def address(self, statement: int) -> int:
        """Return the address of an access."""
        return self._address(self.code.steps[statement])

    def at(self, address: int) -> int:
        """Return the value in memory."""
        if address not in self.memory:
            self.memory[address] = self.draws.element(address) & 0xFFFFFFFF
        return self.memory[address]

    def _address(self, step: _Step) -> int:
        assert step.address is not None
        base = step.address.base
        return (self.value(base) if base is not None else 0) + step.address.offset

    def _bits(self, register: int, value: int) -> int:
        return value & ((1 << (8 * self.code.flow.body.widths[register] or 1)) - 1)

    def _set(self, step: _Step, values: Sequence[int]) -> None:
        for register, value in zip(step.results, values, strict=False):
            self._values[register] = self._bits(register, value)

    def _execute(self, k: int, step: _Step) -> None:
        if self.depends is not None:
            self._follow(k, step)
        if step.root in OF_OTHERS or not (step.results or step.root in _SILENT):
            self.done.append((k, *map(self.value, step.read)))
        if step.root == "st":
            for number, one in enumerate(step.read):
                if step.argument is not None:
                    self._values[step.argument] = self.value(one)
                else:
                    place = self._address(step) + number * step.width
                    self._write(k, place, self.value(one), step.width)
        elif step.root in ("atom", "red"):
            address = self._address(step)
            given = tuple(_typed(step.kind, self.value(one)) for one in step.read)
            old = _typed(step.kind, self.at(address))
            name = next((one for one in step.parts if one in _ATOMICS and _is_whole(step)), "")
            new = _ATOMICS[name](old, *given) if name else self.draws((k, old, *given))
            self._write(k, address, new, step.width, given)
            self._set(step, [old])
        else:
            self._set(step, self._results(k, step))

    def _write(
        self, k: int, address: int, value: int, width: int, given: tuple[int, ...] = ()
    ) -> None:
        self.memory[address] = self.written[address] = value & ((1 << 8 * width) - 1)
        self.by.setdefault(address, []).append((k, given))

    def _results(self, k: int, step: _Step) -> list[int]:
        """Return what a statement computes or loads."""
        if step.root == "ld":
            return self._loaded(step)
        root, values = step.root, [self.value(one) for one in step.read]
        if root in OF_OTHERS or root == "atom":
            return [self.draws((k, number, *values)) for number in range(len(step.results))]
        few = 2 if root == "mad" else 1 if root in ("shl", "shr") else len(values)
        typed = [*(_typed(step.kind, one) for one in values[:few]), *values[few:]]
        if root == "setp" and _is_whole(step) and len(values) == 2:
            return [int(_RELATIONS[step.parts[1]](*typed))]
        if root == "setp" and step.kind in ("f32", "f64") and len(values) == 2:
            return [int(_compared_fractions(step, *values))]
        is_one = len(step.results) == 1 and len(values) == len(step.statement.operands) - 1
        is_known = root == "mov" or (_is_whole(step) and step.parts[1] != "hi")
        if root in _OPERATIONS and is_one and is_known:
            return [_OPERATIONS[root](*typed)]
        opcode = step.statement.opcode
        return [self.draws((opcode, number, *values)) for number in range(len(step.results))]

    def _loaded(self, step: _Step) -> list[int]:
        if step.argument is not None:
            passed = self.code.flow.values_of_argument(step.statement)
            if step.argument not in self._values and len(passed) == 1:
                return [self.value(passed[0])]
            return [self._values.get(step.argument, self.draws(step.argument))]
        places = [number * step.width for number in range(len(step.results))]
        assert step.address is not None
        if isinstance(base := step.address.base, Variable) and base.space == "entry":
            first, bytes_ = base.offset + step.address.offset, self.code.parameters
            given = (bytes_[first + one : first + one + step.width] for one in places)
            return [_typed(step.kind, int.from_bytes(one, "little")) for one in given]
        start = self._address(step)
        return [_typed(step.kind, self.at(start + one)) for one in places]


def is_in_memory(address: Address) -> bool:
    """Return whether an address is one of memory that threads share, and no argument's."""
    return not isinstance(address.base, Variable) or address.base.space == "shared"


def _compared_fractions(step: _Step, *bits: int) -> bool:
    """Return what a comparison of two fractions says, given by their bits. Those of a NaN count as
    a number beyond infinity: what a NaN does to a program is no matter of the order of its threads.
    """
    relation, sign = step.parts[1], 1 << (8 * TYPE_BYTES[step.kind] - 1)
    values = (-(one & sign - 1) if one & sign else one & sign - 1 for one in bits)
    if relation in ("num", "nan"):
        return relation == "num"
    return _RELATIONS[relation.removesuffix("u")](*values)


def _is_whole(step: _Step) -> bool:
    """Return whether a statement computes with whole numbers or predicates."""
    return step.kind == "pred" or (step.kind[0] in "bsu" and step.kind[1:].isdecimal())


def _typed(kind: str, value: int) -> int:
    """Return a value as a number of a type, such as "s32"."""
    bits = 8 * TYPE_BYTES.get(kind, 8) or 1
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind[0] == "s" and value >> (bits - 1) else value
