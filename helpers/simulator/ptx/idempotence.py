"""Finds arrays whose races decide nothing, whichever thread comes first.

    Marks(flow, parameters).of(root)   # True: no order of accesses to this array changes a value

A breadth-first search marks vertices by the number of their level, while other threads look for
vertices of the level before. Whether such a thread reads a mark or what was there before, it does
not find the number that it looks for. And if several threads find a vertex without a mark, all of
them store the same mark: to do it twice changes nothing. So it is for an array

- that is only compared, by == or !=, with numbers that are the same for all threads,
- in which only one such number is stored, and only in place of a number that is known: by
  atomicCAS, or behind a comparison with it,
- if each comparison either cannot see the difference, or asks for the number that is replaced, and
  leads to the stores that replace it, and to others of such numbers at places which all threads
  have in common.

Everything else about the array, such as an access through an unknown pointer, makes it False.

    Bounds(flow, parameters).of(root)  # True: the array only comes nearer to one last state

A search for shortest paths lowers distances by atomicMin, while other threads read them. A thread
that reads an old distance offers a longer way; whoever has lowered the distance sets a flag, so
that the host launches once more, until no thread lowers any. So it is for an array

- that is changed by atomicMin alone, or by atomicMax alone,
- whose plain reads go, by way of sums, into these atomics and into comparisons,
- if such comparisons decide nothing but these atomics and a flag that is the same for all threads.
"""

from __future__ import annotations

from collections.abc import Iterator

from .opcodes import describe
from .roots import read, results
from .syntax import Address, Label, Literal, Operand, Statement, Variable
from .updates import Dataflow

_EQUAL, _UNEQUAL = "eq", "ne"
_TYPES = ("b32", "s32", "u32")
# What a thread may compute where others do not: nothing but its own registers changes.
_PURE = frozenset(
    ("mov", "add", "sub", "mul", "mad", "shl", "shr", "and", "or", "xor", "not", "neg", "cvt",
     "cvta", "setp", "selp", "min", "max")
)  # fmt: skip


class Marks:
    """The arrays of one launch whose races decide nothing. parameters: the bytes of its arguments,
    at the offsets that the kernel declares.
    """

    def __init__(self, flow: Dataflow, parameters: bytes):
        self.flow, self.parameters = flow, parameters
        self.statements = flow.body.statements
        self._readers: dict[int, list[int]] = {}
        for k, statement in enumerate(self.statements):
            for _, register in read(statement):
                self._readers.setdefault(register, []).append(k)

    def of(self, root: object) -> bool:
        """Return whether no order of the accesses to the array of this root changes a value."""
        accesses = self._accesses(root)
        if accesses is None:
            return False
        loads, stores = accesses
        compared = {load: self._comparisons(load) for load in loads}
        exchanged: dict[int, tuple[int, int]] = {}
        for store in stores:
            numbers = self._exchanged(store, compared)
            if numbers is None:
                return False
            exchanged[store] = numbers
        marks = {after for _, after in exchanged.values()}
        if not loads or len(marks) != 1:
            return False  # which of two marks stays is left open
        for load, comparisons in compared.items():
            if comparisons is None:
                return False
            for setp, number in comparisons:
                replacing = [store for store, one in exchanged.items() if one[0] == number]
                if number in marks:
                    return False
                if replacing and not self._leads_to_equal_stores(load, setp, replacing):
                    return False
        return True

    def _accesses(self, root: object) -> tuple[list[int], list[int]] | None:
        """Return the loads and the stores of an array, None if it has other accesses, or may have
        some through an unknown pointer.
        """
        operations = self._operations(root)
        if operations is None:
            return None
        loads: list[int] = []
        stores: list[int] = []
        for k, operation in operations:
            if operation[-1] not in _TYPES or any(part in ("v2", "v4") for part in operation):
                return None
            if operation[0] == "ld":
                loads.append(k)
            elif operation[0] == "st" or (operation[0] == "atom" and "cas" in operation):
                stores.append(k)
            else:
                return None
        return loads, stores

    def _operations(self, root: object) -> list[tuple[int, list[str]]] | None:
        """Return the accesses to an array, each with the parts of its opcode, None if some may go
        through an unknown pointer.
        """
        if not isinstance(root, int | str):
            return None
        operations = []
        for k, statement in enumerate(self.statements):
            address = next((one for one in statement.operands if isinstance(one, Address)), None)
            if address is None or isinstance(address.base, Variable):
                continue
            found = self.flow.roots.of(address)
            if isinstance(found, Variable):
                continue
            if not isinstance(found, int | str):
                return None
            if found == root:
                operations.append((k, statement.opcode.split(".")))
        return operations

    # ---- what is compared, and what is stored ----

    def _comparisons(self, load: int) -> list[tuple[int, int]] | None:
        """Return the comparisons of a loaded value, each with its number, None if something else
        uses the value.
        """
        found: list[tuple[int, int]] = []
        waiting = list(results(self.statements[load]))
        if len(waiting) != 1:
            return None
        while waiting:
            register = waiting.pop()
            for k in self._readers.get(register, ()):
                statement = self.statements[k]
                parts = statement.opcode.split(".")
                if parts[0] == "mov" and statement.guard < 0:
                    waiting += results(statement)
                    continue
                is_equality = parts[0] == "setp" and parts[1] in (_EQUAL, _UNEQUAL)
                if not is_equality or parts[-1] not in _TYPES or statement.guard == register:
                    return None
                first, second = statement.operands[1:3]
                number = self._number(second if first == register else first)
                if number is None:
                    return None
                found.append((k, number))
        return found

    def _exchanged(
        self, store: int, compared: dict[int, list[tuple[int, int]] | None]
    ) -> tuple[int, int] | None:
        """Return the number that a store replaces and the one that it stores, None if one of them
        is not the same for all threads.
        """
        statement = self.statements[store]
        if statement.opcode.startswith("atom"):
            before, after = (self._number(one) for one in statement.operands[2:4])
        else:
            before, after = self._replaced(store, compared), self._number(statement.operands[1])
        return None if before is None or after is None else (before, after)

    def _replaced(
        self, store: int, compared: dict[int, list[tuple[int, int]] | None]
    ) -> int | None:
        """Return the number at the store's place, which the comparison before it asks for."""
        place = self.flow.place(store)
        for load, comparisons in compared.items():
            if self.flow.place(load) != place:
                continue
            for setp, number in comparisons or ():
                for branch, if_equal in self._branches(setp):
                    if if_equal and branch < store < self._end(branch):
                        return number
        return None

    def _number(self, operand: Operand) -> int | None:
        """Return the value of an operand that is the same for all threads, None for any other."""
        if isinstance(operand, Literal):
            return operand.bits & 0xFFFFFFFF if not operand.width else None
        if not isinstance(operand, int):
            return None
        definitions = self.flow.roots.definitions.get(operand, ())
        bits = 8 * self.flow.body.widths[operand]
        if len(definitions) != 1 or bits != 32 or self.statements[definitions[0]].guard >= 0:
            return None
        statement = self.statements[definitions[0]]
        root = describe(statement.opcode).root
        if root == "ld":
            return self._argument(statement)
        if root == "mov":
            return self._number(statement.operands[1])
        if root in ("add", "sub") and statement.opcode.endswith(_TYPES):
            first, second = (self._number(one) for one in statement.operands[1:3])
            if first is None or second is None:
                return None
            return (first + second if root == "add" else first - second) & 0xFFFFFFFF
        return None

    def _argument(self, statement: Statement) -> int | None:
        """Return the value of an argument of the launch, or of a call that is inlined."""
        address = statement.operands[1]
        if not isinstance(address, Address) or not isinstance(address.base, Variable):
            return None
        if address.base.space == "entry":
            offset = address.base.offset + address.offset
            return int.from_bytes(self.parameters[offset : offset + 4], "little")
        passed = self.flow.values_of_argument(statement)
        return self._number(passed[0]) if len(passed) == 1 else None

    # ---- what a comparison leads to ----

    def _branches(self, setp: int) -> Iterator[tuple[int, bool]]:
        """Yield the branches forward that a comparison decides, and whether the code up to their
        ends runs if the numbers are equal.
        """
        is_equal = self.statements[setp].opcode.split(".")[1] == _EQUAL
        waiting = [(one, is_equal) for one in results(self.statements[setp])]
        while waiting:
            register, if_true = waiting.pop()
            for k in self._readers.get(register, ()):
                statement = self.statements[k]
                root = describe(statement.opcode).root
                if root in ("mov", "not") and statement.guard < 0:
                    waiting += [(one, if_true ^ (root == "not")) for one in results(statement)]
                elif root == "bra" and statement.guard == register and self._end(k) > k:
                    yield k, if_true == bool(statement.negated)

    def _end(self, branch: int) -> int:
        label = self.statements[branch].operands[0]
        return label.statement if isinstance(label, Label) else -1

    def _leads_to_equal_stores(self, load: int, setp: int, replacing: list[int]) -> bool:
        """Return whether a comparison decides one branch alone, around the stores that replace the
        number and other code that may run once more and change nothing. load: of the comparison.
        """
        registers = list(results(self.statements[setp]))
        used = 0
        while registers:
            for k in self._readers.get(registers.pop(), ()):
                root = describe(self.statements[k].opcode).root
                if root == "not":
                    registers += results(self.statements[k])
                elif root == "bra":
                    used += 1
                else:
                    return False
        branches = [branch for branch, if_equal in self._branches(setp) if if_equal]
        if used != 1 or len(branches) != 1:
            return False
        first, end = branches[0] + 1, self._end(branches[0])
        is_inside = all(first <= store < end for store in replacing)
        return is_inside and self._may_run_again(first, end, self.flow.place(load))

    def _may_run_again(self, first: int, end: int, place: object) -> bool:
        """Return whether the code first ... end changes nothing if several threads run it that have
        found the same element. place: of that element.
        """
        if end < first:
            return False
        for k in range(first, end):
            statement = self.statements[k]
            root = describe(statement.opcode).root
            if self._is_handed_over(statement):
                if not self._is_read_inside(statement, first, end):
                    return False
            elif root == "st":
                is_common = self.flow.place(k) == place or self.flow.is_common_place(k)
                if not is_common or self._number(statement.operands[1]) is None:
                    return False
            elif root == "ld":
                if not self._is_loaded_alike(k, first, end):
                    return False
            elif root == "bra":
                if not k < self._end(k) <= end:
                    return False
            elif self._is_allowed(k):
                continue
            elif root not in _PURE or not self._is_read_inside(statement, first, end):
                return False
        return True

    def _is_handed_over(self, statement: Statement) -> bool:
        """Return whether a statement stores or loads an argument or a result of an inlined call."""
        address = next((one for one in statement.operands if isinstance(one, Address)), None)
        base = address.base if address is not None else None
        return isinstance(base, Variable) and base.space == "param"

    def _is_allowed(self, statement: int) -> bool:
        """Return whether several threads may run a statement that is no plain operation."""
        return False

    def _is_read_inside(self, statement: Statement, first: int, end: int) -> bool:
        """Return whether only the code first ... end reads the results of a statement."""
        return all(
            first <= reader < end
            for register in results(statement)
            for reader in self._readers.get(register, ())
        )

    def _is_loaded_alike(self, load: int, first: int, end: int) -> bool:
        """Return whether a load in the code first ... end gives a value that is there without it,
        too: that of an array which the kernel never changes, for this code alone or loaded from
        the same place before.
        """
        statement = self.statements[load]
        root = self.flow.roots.of(statement.operands[1])
        if not isinstance(root, int | str) or any(
            self.flow.roots.of(one.operands[0]) == root
            for one in self.statements
            if one.operands and isinstance(one.operands[0], Address)
        ):
            return False
        if self._is_read_inside(statement, first, end):
            return True
        before = [self.flow.roots.definitions[register] for register in results(statement)]
        return all(
            len(several) > 1
            and all(self.flow.place(one) == self.flow.place(load) for one in several)
            for several in before
        )


class Bounds(Marks):
    """The arrays of one launch that threads only lower, or only raise, and read meanwhile, in a
    kernel that tells the host by a flag that it has done so.
    """

    def of(self, root: object) -> bool:
        """Return whether early and late reads of the array of this root lead to one last state."""
        found = self._bounding(root)
        if found is None:
            return False
        loads, atomics = found
        self._atomics = set(atomics)
        self._conditions: set[int] = set()
        comparisons: set[int] = set()
        for source in (*loads, *atomics):
            compared = self._compared(source)
            if compared is None:
                return False
            comparisons |= compared
        flags = [
            k
            for k, one in enumerate(self.statements)
            if one.opcode.startswith("st")
            and self.flow.is_common_place(k)
            and self._number(one.operands[1]) is not None
        ]
        return bool(flags and loads and atomics) and all(map(self._decides_little, comparisons))

    def _bounding(self, root: object) -> tuple[list[int], list[int]] | None:
        """Return the plain loads and the atomics of an array that atomicMin alone changes, or
        atomicMax alone; None for any other.
        """
        operations = self._operations(root)
        if operations is None:
            return None
        loads: list[int] = []
        atomics: list[int] = []
        functions: set[str] = set()
        for k, parts in operations:
            if parts[0] == "ld" and parts[-1] in _TYPES and "v2" not in parts and "v4" not in parts:
                loads.append(k)
            elif parts[0] in ("atom", "red") and parts[-2] in ("min", "max"):
                atomics.append(k)
                functions.add(".".join(parts[-2:]))
            else:
                return None
        return (loads, atomics) if len(functions) == 1 else None

    def _compared(self, source: int) -> set[int] | None:
        """Return the comparisons that a value goes into, directly or in sums, None if it goes into
        anything else but the array's atomics.
        """
        comparisons: set[int] = set()
        waiting = [source]
        seen: set[int] = set()
        while waiting:
            k = waiting.pop()
            if k in seen:
                continue
            seen.add(k)
            for register in results(self.statements[k]):
                for reader in self._readers.get(register, ()):
                    statement = self.statements[reader]
                    root = describe(statement.opcode).root
                    if root == "setp":
                        comparisons.add(reader)
                    elif root in ("add", "mov", "min", "max"):
                        waiting.append(reader)
                    elif self._is_handed_over(statement):
                        waiting += self.flow.loads_of_argument(reader)
                    elif reader not in self._atomics or register not in statement.operands:
                        return None
        return comparisons

    def _decides_little(self, statement: int) -> bool:
        """Return whether a predicate decides only branches around code that may run or not."""
        registers, seen = list(results(self.statements[statement])), set[int]()
        while registers:
            register = registers.pop()
            if register in seen:
                continue
            seen.add(register)
            for k in self._readers.get(register, ()):
                root = describe(self.statements[k].opcode).root
                if root in ("mov", "not", "and", "or"):
                    registers += results(self.statements[k])
                elif root != "bra" or not self._may_run_again(k + 1, self._end(k), None):
                    return False
        return True

    def _is_allowed(self, statement: int) -> bool:
        return statement in self._atomics or self._is_part_of_a_condition(statement)

    def _is_part_of_a_condition(self, statement: int) -> bool:
        """Return whether a statement gives a predicate of `a && b` that decides little."""
        one = self.statements[statement]
        is_predicate = one.opcode == "mov.pred"
        if not is_predicate or statement in self._conditions:
            return is_predicate
        self._conditions.add(statement)  # what it decides may lead back to it
        return self._decides_little(statement)
