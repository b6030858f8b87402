"""Finds what a race means: an update of an element, or an index that comes from one.

    flow = Dataflow(body)
    flow.update(store, other)     # *p += v: the store's value comes from a load of the same address

Several threads that update one element need an atomic function, and a barrier cannot help. Two
addresses are the same if the same operations compute them from the same registers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from .body import Body
from .control import following, predecessors, reached
from .opcodes import describe
from .register_use import registers
from .roots import Root, Roots
from .syntax import Address, Label, Literal, Operand, Special, Statement, Symbol, Variable

_FUNCTIONS = {
    "add": "atomicAdd",
    "sub": "atomicSub",
    "and": "atomicAnd",
    "or": "atomicOr",
    "xor": "atomicXor",
    "min": "atomicMin",
    "max": "atomicMax",
    "fma": "atomicAdd",
    "mad": "atomicAdd",
}
# What a store behind a comparison does: `if (x > *best) *best = x` keeps the largest value.
_LARGER, _SMALLER = ("gt", "ge", "gtu", "geu", "hi", "hs"), ("lt", "le", "ltu", "leu", "lo", "ls")
_NOT_FOR_FLOATS = ("atomicMin", "atomicMax", "atomicSub", "atomicAnd", "atomicOr", "atomicXor")
COMPARE_AND_SWAP = "atomicCAS"
_POINTER = 8  # bytes


@dataclass(frozen=True)
class Update:
    """An update of one element: loads, and a store to the same address that depends on them.

    function: the atomic function that does it, "atomicCAS" where none does.
    """

    loads: tuple[int, ...]
    store: int
    function: str


class Dataflow:
    """Where the values of a function's registers come from. Statements are given by their numbers.

    `Roots` says from which arrays addresses start.
    """

    def __init__(self, body: Body):
        self.body, self.roots = body, Roots(body)
        self._passed = self._stores_of_arguments()
        self._numbers: dict[object, int] = {}
        self._known: dict[int, object] = {}

    def access_at(self, line: int, root: str, number: int) -> int | None:
        """Return an access to memory: of those in a line of the PTX that begin with `root`, the one
        of this number. A call that inlining has replaced has all its accesses in one line.
        """
        found = self._by_line.get((root, line), ())
        return found[number] if number < len(found) else None

    @cached_property
    def _by_line(self) -> dict[tuple[str, int], list[int]]:
        """The statements by the name that their opcodes begin with, and their line of the PTX."""
        found: dict[tuple[str, int], list[int]] = {}
        for k, at in enumerate(zip(self._operations, self.body.lines, strict=True)):
            found.setdefault(at, []).append(k)
        return found

    def uses_an_atomic(self) -> bool:
        """Return whether the function uses the value that an atomic function returns."""
        returned = {one for k in self._all("atom") for one in self.body.written[k]}
        return any(not returned.isdisjoint(one) for one in self.body.read)

    def update(self, first: int, second: int) -> Update | None:
        """Return the update that two accesses belong to, which two threads make of one element; or
        that one of them belongs to, if the threads contend for the element.
        """
        contended = self.contended(first, second)
        place, stores = self.place(first), [first, second]
        if contended:
            stores = [k for k in self._all("st") if self.place(k) == place]
        for store in stores:
            found = self._update_by(store) if self._is(store, "st") else None
            known = {*found.loads, found.store} if found is not None else set()
            if {first, second} <= known or (contended and {first, second} & known):
                return found
        return None

    def contended(self, first: int, second: int) -> bool:
        """Return whether two threads race because both have found the same element: both accesses
        have the same index, and it comes from memory, or from the thread's number alone. An index
        that a loop counts is none: other turns of the loop may have the same element. Or one of
        them is an atomic, and the other one asks by a plain load what its result says.
        """
        place, base = self.place(first), self._base(first)
        if place is None or place != self.place(second) or not isinstance(base, int):
            return False
        if self._asks_for_result(first, second) or self._asks_for_result(second, first):
            return True
        slice_ = self._slice([base])
        if self._loads(slice_) or any(self._is(k, "atom", "shfl", "match") for k in slice_):
            return True
        sources = [self.body.statements[k] for k in slice_]
        written = {register for k in slice_ for register in self.body.written[k]}
        if any(len(self.body.definitions[one]) > 1 for one in written):
            return False
        return any(
            isinstance(operand, Special) and operand.name.startswith(("tid", "laneid"))
            for one in sources
            for operand in one.operands
        )

    def _asks_for_result(self, load: int, atomic: int) -> bool:
        """Return whether a load asks for what the atomic at its place would say: it decides whether
        the atomic is called, or it gives an index behind it. In a function with barriers it may
        ask for what all threads have done.
        """
        is_pair = self._is(load, "ld") and self._is(atomic, "atom", "red")
        if not is_pair or self._all("bar", "barrier"):
            return False
        is_decided = any(
            min(k, target) < atomic < max(k, target) and load in self._deciding([k])
            for k, target in self._branches()
        )
        behind = range(atomic, len(self.body.statements) if atomic < load else atomic)
        return is_decided or any(load in self.loads_of_address(k) for k in behind)

    @cached_property
    def _operations(self) -> list[str]:
        """The name that the opcode of each statement begins with."""
        return [one.opcode.partition(".")[0] for one in self.body.statements]

    @cached_property
    def _statements(self) -> dict[str, list[int]]:
        """The statements by the name that their opcodes begin with."""
        found: dict[str, list[int]] = {}
        for k, name in enumerate(self._operations):
            found.setdefault(name, []).append(k)
        return found

    def _is(self, statement: int, *roots: str) -> bool:
        """Return whether the opcode of a statement begins with one of these names."""
        return self._operations[statement] in roots

    def _all(self, *roots: str) -> list[int]:
        """Return the statements whose opcodes begin with one of these names."""
        if len(roots) == 1:
            return self._statements.get(roots[0], [])
        return sorted(k for root in roots for k in self._statements.get(root, ()))

    def _base(self, statement: int) -> object:
        """Return the base of the address of an access, None for other statements."""
        address = _address(self.body.statements[statement])
        return address.base if address is not None else None

    def loads_of_address(self, statement: int) -> frozenset[int]:
        """Return the loads that the address of an access depends on."""
        return self._loads(self.sources_of_address(statement))

    def place(self, statement: int) -> object | None:
        """Return what accesses to one address have in common, None for a statement that is none."""
        address = _address(self.body.statements[statement])
        return None if address is None else (self._number(address.base), address.offset)

    def whole_store(self, statement: int) -> tuple[int, int]:
        """Return how many bytes before a store the source's own store begins, and its bytes.

        The compiler makes several stores of one that copies a structure or a vector. They follow
        one another, in any order of their addresses, and have one place in the source.
        """
        statements, place = self.body.statements, self.body.statements[statement].place
        base, own = self._anchor(statement)
        spans = [(own, own + _bytes(statements[statement]))]
        for step in (-1, 1):
            other = statement + step
            while 0 <= other < len(statements) and self._is(other, "st"):
                anchor, offset = self._anchor(other)
                if anchor != base or statements[other].place != place:
                    break
                spans.append((offset, offset + _bytes(statements[other])))
                other += step
        first, end = spans[0]
        for low, high in sorted(spans, reverse=True):
            first = low if high == first else first
        for low, high in sorted(spans):
            end = high if low == end else end
        return own - first, end - first

    def _anchor(self, access: int) -> tuple[object, int]:
        """Return the base and the offset of an access's address, behind the constants that the code
        adds to it.
        """
        address = _address(self.body.statements[access])
        if address is None:
            return None, 0
        base, offset = address.base, address.offset
        while isinstance(base, int) and len(made := self.body.definitions.get(base, [])) == 1:
            one = self.body.statements[made[0]]
            added = one.operands[-1]
            is_sum = one.opcode in ("add.s64", "add.u64") and one.guard < 0
            if not is_sum or not isinstance(added, Literal) or not isinstance(one.operands[1], int):
                break
            base, offset = one.operands[1], offset + _signed(added.bits)
        return base, offset

    def root_of(self, statement: int) -> Root:
        """Return the array of an access."""
        address = _address(self.body.statements[statement])
        return None if address is None else self.roots.of(address)

    def values_of_argument(self, load: Statement) -> list[Operand]:
        """Return what the calls that inlining has replaced hand over to the load of an argument."""
        passed = self._passed.get(argument_of(load), [])
        return [self.body.statements[one].operands[1] for one in passed]

    def sources_of_address(self, statement: int) -> frozenset[int]:
        """Return the statements that the address of an access comes from, up to loads; of a check
        of an index, those that the index comes from.
        """
        is_check = self._is(statement, "row")
        base = self.body.statements[statement].operands[0] if is_check else self._base(statement)
        return self._slice([base] if isinstance(base, int) else [])

    def stores_just_before(self, statement: int) -> list[int]:
        """Return the stores to the array of an access that stand before it, behind the last barrier
        before it.
        """
        root, stores = self.root_of(statement), self._all("st")
        if root is None:
            return []
        barriers = self._all("bar", "barrier")
        behind = bisect_left(barriers, statement)
        first = barriers[behind - 1] if behind else 0
        between = stores[bisect_left(stores, first) : bisect_left(stores, statement)]
        return [k for k in reversed(between) if self.root_of(k) == root]

    def barriers_between(
        self, first: int, second: int, missed: Collection[int]
    ) -> frozenset[int]:
        """Return those of the barriers `missed` that stand on a way from one of two statements to
        the other, round a loop, too, past which no other barrier of the block stands.
        """
        ways = following(self.body)
        ways_back = predecessors(ways)
        others = set(filter(self._is_of_block, self._all("bar", "barrier"))).difference(missed)
        found: set[int] = set()
        for start, end in ((first, second), (second, first)):
            found |= reached(start, ways, others) & reached(end, ways_back, others)
        return frozenset(found.intersection(missed))

    def _is_of_block(self, barrier: int) -> bool:
        return not self.body.statements[barrier].opcode.startswith("bar.warp")

    def locks(self, before: int | None = None) -> set[Root]:
        """Return the arrays of the atomics whose results keep the function in a loop; before: of
        the loops that end before this statement.
        """
        found: set[Root] = set()
        for loop in self._loops():
            if before is None or loop[-1] < before:
                atomics = self._deciding(loop).intersection(loop)
                found |= {self.root_of(k) for k in atomics if self._is(k, "atom")}
        return {root for root in found if isinstance(root, int | str)}

    def waits_for(self, load: int) -> bool:
        """Return whether a loop without stores, atomics and barriers goes round until the value of
        a load changes, whose address is the same in each turn.
        """
        base = self._base(load)
        loop = next((one for one in self._loops() if load in one), None)
        if loop is None or any(self._is(k, "st", "atom", "red", "bar", "barrier") for k in loop):
            return False
        is_fixed = not any(base in self.body.written[k] for k in loop)
        return is_fixed and load in self._deciding(loop)

    def _loops(self) -> Iterator[range]:
        """Yield the loops, each from its first statement to the branch back to it."""
        for k, target in self._branches():
            if 0 <= target <= k:
                yield range(target, k + 1)

    def _branches(self) -> Iterator[tuple[int, int]]:
        """Yield the branches, each with the statement that it leads to."""
        for k in self._all("bra"):
            label = self.body.statements[k].operands[0]
            if isinstance(label, Label):
                yield k, label.statement

    def _deciding(self, statements: Iterable[int]) -> frozenset[int]:
        """Return the statements that the branches among some statements depend on."""
        guards = [self.body.statements[k].guard for k in statements if self._is(k, "bra")]
        return self._slice(guard for guard in guards if guard >= 0)

    def appends(self, root: Root) -> bool:
        """Return whether all stores to an array have addresses that come from atomics, exchanges
        between lanes, or shared memory.
        """
        stores = [k for k in self._all("st") if self.root_of(k) == root]
        return bool(stores) and all(
            any(
                self._is(k, "atom", "shfl", "vote", "match")
                or self.body.statements[k].opcode.startswith("ld.shared")
                for k in self.sources_of_address(store)
            )
            for store in stores
        )

    def loads_of_index(self, statement: int) -> list[int]:
        """Return the loads of numbers, not of pointers, that an access has its address from."""
        widths = self.body.widths
        return [
            load
            for load in self.loads_of_address(statement)
            if all(widths[one] < _POINTER for one in self.body.written[load])
        ]

    # ---- updates ----

    def _update_by(self, store: int) -> Update | None:
        statement = self.body.statements[store]
        place, root = self.place(store), self.root_of(store)
        if place is None:
            return None
        values = [one for one in self.body.read[store] if one != self._base(store)]
        slice_ = self._slice(values)
        if loads := self._only_loads(slice_, place, root):
            return Update(loads, store, self._function(statement, values, loads))
        for branch in self._branches_around(store):
            slice_ = self._slice([self.body.statements[branch].guard])
            if loads := self._only_loads(slice_, place, root):
                skips_if_true = not self.body.statements[branch].negated
                function = self._compared(statement, slice_, loads, skips_if_true)
                return Update(loads, store, function)
        return None

    def _only_loads(self, slice_: frozenset[int], place: object, root: object) -> tuple[int, ...]:
        """Return the loads of a place, () if other elements of its array are loaded, too: then
        the threads read each other's elements, and need a barrier.
        """
        loads = self._loads(slice_)
        same = [k for k in loads if self.place(k) == place]
        others = [k for k in loads if self.place(k) != place and self.root_of(k) == root]
        return tuple(same) if not others else ()

    def _function(self, store: Statement, values: list[int], loads: tuple[int, ...]) -> str:
        """Return the atomic function for the last operations before a store, which combine what is
        loaded with other values.
        """
        defined = [k for one in values for k in self.body.definitions.get(one, ())]
        function = ""
        for k in defined:
            statement = self.body.statements[k]
            root = describe(statement.opcode).root
            stores = self._passed.get(argument_of(statement), [])
            if root == "selp" and not function:
                compares = self._slice(registers(statement.operands[3]))
                return self._compared(store, compares, loads, False)
            own = _FUNCTIONS.get(root, "")
            function = function or own
            is_copy = root in ("cvt", "mov") or bool(stores)  # of a byte, or of an argument
            is_one = is_copy or {function, own} in ({own}, {"atomicAdd", "atomicSub"})
            read = [one for source in stores or [k] for one in self.body.read[source]]
            added = registers(statement.operands[3]) if root in ("fma", "mad") else read
            combined = added if is_one else ()
            others = [one for one in read if one not in combined]
            if self._slice(others).intersection(loads):
                return COMPARE_AND_SWAP
            found = (d for one in combined for d in self.body.definitions.get(one, ()))
            defined += [d for d in dict.fromkeys(found) if d not in defined]
        return _for_type(function, store) if function else COMPARE_AND_SWAP

    def _compared(
        self, store: Statement, slice_: Iterable[int], loads: tuple[int, ...], negated: bool
    ) -> str:
        """Return the function for a store of a value that compares with the loaded one."""
        for k in slice_:
            statement = self.body.statements[k]
            if describe(statement.opcode).root == "not":
                negated = not negated
        for k in slice_:
            statement = self.body.statements[k]
            parts = statement.opcode.split(".")
            if parts[0] != "setp":
                continue
            larger, smaller = parts[1] in _LARGER, parts[1] in _SMALLER
            is_bound = not any(isinstance(one, Literal) for one in statement.operands[1:])
            if not is_bound or not (larger or smaller):
                continue  # a number that is fixed is a state, such as "not seen", and no bound
            left = self._loads(self._slice(registers(statement.operands[1])))
            is_max = larger ^ bool(left.intersection(loads)) ^ negated
            return _for_type("atomicMax" if is_max else "atomicMin", store)
        return COMPARE_AND_SWAP

    def _branches_around(self, store: int) -> list[int]:
        """Return the branches that lead around a statement further down, the nearest first."""
        around = (k for k, target in self._branches() if k < store < target)
        return [k for k in reversed([*around]) if self.body.statements[k].guard >= 0]

    # ---- registers ----

    def _slice(self, registers: Iterable[int]) -> frozenset[int]:
        """Return the statements that registers come from, up to the loads from memory."""
        waiting, seen, found = list(registers), set(), set()
        while waiting:
            register = waiting.pop()
            if register in seen:
                continue
            seen.add(register)
            for k in self.body.definitions.get(register, ()):
                found.add(k)
                statement = self.body.statements[k]
                if passed := self._passed.get(argument_of(statement)):
                    waiting += [one for s in passed for one in self.body.read[s]]
                elif not self._is(k, "ld"):
                    waiting += self.body.read[k]
        return frozenset(found)

    def _stores_of_arguments(self) -> dict[object, list[int]]:
        """Return the stores of each argument and result of the calls that inlining has replaced."""
        found: dict[object, list[int]] = {}
        for k in self._all("st"):
            if (argument := argument_of(self.body.statements[k])) is not None:
                found.setdefault(argument, []).append(k)
        return found

    def _loads(self, statements: Iterable[int]) -> frozenset[int]:
        """Return the loads from memory among statements; those of parameters are none."""
        loads = (k for k in statements if self._is(k, "ld"))
        return frozenset(k for k in loads if not isinstance(self._base(k), Variable))

    def _number(self, operand: Operand | None) -> object:
        """Return a number that is equal for operands of equal value."""
        if isinstance(operand, int):
            if operand not in self._known:
                self._known[operand] = self._interned(("register", operand))  # for a loop
                self._known[operand] = self._computed(operand)
            return self._known[operand]
        if isinstance(operand, Literal):
            return ("literal", operand.bits)
        if isinstance(operand, Symbol):
            return ("symbol", operand.name)
        if isinstance(operand, Special):
            return ("special", operand.name)
        return ("other", id(operand)) if isinstance(operand, Variable) else ("other", repr(operand))

    def _computed(self, register: int) -> object:
        definitions = self.body.definitions.get(register, ())
        if len(definitions) != 1:
            return self._interned(("register", register))
        statement = self.body.statements[definitions[0]]
        if statement.guard >= 0 or len(self.body.written[definitions[0]]) != 1:
            return self._interned(("register", register))
        root = describe(statement.opcode).root
        if root in ("mov", "cvta"):
            return self._number(statement.operands[1])
        if root == "ld":
            address = _address(statement)
            passed = self._passed.get(argument_of(statement), [])
            if len(passed) == 1:
                (value,) = self.body.statements[passed[0]].operands[1:]
                return self._number(value)
            if address is None or passed:
                return self._interned(("register", register))
            return self._interned((statement.opcode, self._number(address.base), address.offset))
        if root in ("atom", "shfl", "vote", "match", "activemask", "call"):
            return self._interned(("register", register))
        return self._interned((statement.opcode, *map(self._number, statement.operands[1:])))

    def _interned(self, key: object) -> int:
        return self._numbers.setdefault(key, len(self._numbers))


def _signed(bits: int) -> int:
    return bits - 2**64 if bits >> 63 else bits


def _bytes(access: Statement) -> int:
    opcode = describe(access.opcode)
    return opcode.width * opcode.elements


def _address(statement: Statement) -> Address | None:
    return next((one for one in statement.operands if isinstance(one, Address)), None)


def argument_of(statement: Statement) -> object:
    """Return the argument or result of a call that a statement stores or loads, else None."""
    address = _address(statement)
    base = address.base if address is not None else None
    if isinstance(base, Variable) and base.space == "param":
        return base, address.offset if address is not None else 0
    return None


def _for_type(function: str, store: Statement) -> str:
    is_float = store.opcode.rpartition(".")[2].startswith(("f", "bf"))
    return COMPARE_AND_SWAP if is_float and function in _NOT_FOR_FLOATS else function
