"""Finds arrays whose races decide nothing, whichever thread comes first.

    Orders(flow, parameters).deciding_nothing(root)    # loads and stores that may come in any order

A breadth-first search marks vertices by the number of their level, while other threads look for
vertices of the level before. Whether such a thread reads a mark or what was there before, it does
not find the number that it looks for. And if several threads find a vertex without a mark, all of
them store the same mark: to do it twice changes nothing. In the same way, a thread may look at an
element before it calls atomicMax, atomicOr or atomicExch there, to save the call.

So the changes of the array must be of one kind: all of them store the same number, or all are the
same one of atomicMin, atomicMax, atomicAnd and atomicOr. Then no order of the changes matters. Or
all are atomicCAS: their order is that of any atomics, and only the loads can decide something. A
store that barriers part from all other accesses, as one that sets a cell of shared memory before
its block counts there, is none of these changes: it has no part in a race. And
a thread that reads an element too early, before another thread's change, must leave the same values
in memory as one that reads it after that change. This is tried (trials.py), with values that differ
from the numbers of the code by at most 1, so that each comparison comes out both ways; in every
other trial, guards that do not depend on the element come out by chance, so that what happens
rarely is seen. One more difference is allowed: a flag, a number that is stored at one place for all
threads. A thread that has read too early may set it again.

A search for shortest paths lowers distances by atomicMin, while other threads read them. A thread
that reads an old distance offers a longer way; whoever has lowered the distance sets a flag, so
that the host launches once more, until no thread lowers any. There, the array's own elements and
the flag may differ, if a later state of an element never offers less than an earlier one.

Stores of different numbers are tried with two threads in one memory: a thread that replaces a link
by the end of its chain leaves the same memory wherever in it the other one runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from .control import following, reached
from .syntax import Literal, Variable
from .trials import BARRIERS, OF_OTHERS, Code, Draws, Meeting, Thread, is_in_memory
from .updates import Dataflow

_BOUNDS, _BITS = ("min", "max"), ("and", "or")
_TRIALS, _FEWEST = 40, 10  # of a load, with all numbers; those that must come to an end
# Memories in which two threads meet, their lowest indices, the numbers of one of the threads, and
# how often it must meet the other one.
_WORLDS, _LINKS, _OTHERS, _MEETINGS = 600, 6, (1, 2, 3), 10
_TRIES = 6  # to change an element that has a certain number


class Orders:
    """The races of one launch. parameters: the bytes of its arguments, at the offsets that the
    kernel declares.
    """

    def __init__(self, flow: Dataflow, parameters: bytes):
        self.flow, self._code = flow, Code(flow, parameters)
        self._numbers = self._critical_numbers()
        self._known_ways: dict[int, set[int]] = {}

    @cached_property
    def _flags(self) -> set[int]:
        return {k for k in range(len(self._code.steps)) if self._is_flag(k)}

    def deciding_nothing(self, root: object) -> frozenset[int]:
        """Return the loads and changes of the array of this root that may come in any order, at
        least in the end.
        """
        accesses = self._accesses(root)
        if accesses is None:
            return frozenset()
        self._loads, self._changes = accesses
        if any(map(self.flow.waits_for, self._loads)):
            return frozenset()
        if not self._changes_commute():
            waits = any(step.root in OF_OTHERS for step in self._code.steps)
            if waits or not self._loads or not isinstance(root, int | str):
                return frozenset()
            return self._in_any_order(root)
        if not (steps := self._steps()):
            return frozenset()
        told = {load: self._trials(load, steps) for load in self._loads}
        is_bound = self._code.steps[self._changes[0]].parts[-2] in _BOUNDS and self._others
        if is_bound and all(in_the_end for _, in_the_end in told.values()):
            return frozenset((*told, *self._changes))
        return frozenset(self._changes).union(load for load, (same, _) in told.items() if same)

    def _in_any_order(self, root: int | str) -> frozenset[int]:
        """Return the loads and stores of an array that may come in any order, although the stores
        differ: two threads leave the same memory, whichever comes first, and wherever in one of
        them the other runs. A thread that replaces a link by the end of its chain is such a one.
        """
        meetings = dict.fromkeys(self._loads, 0)
        for seed in range(_WORLDS):
            if seed == _WORLDS // 4 and not any(meetings.values()):
                break
            if seed == _WORLDS // 2:  # no other thread changes the elements that the rest read
                meetings = {load: times for load, times in meetings.items() if times}
            if all(times >= _MEETINGS for times in meetings.values()):
                break
            draws = self._world(seed, root)
            other = Thread(self._code, draws)
            if not other.run(0) or all(draws.element(k) == v for k, v in other.written.items()):
                continue
            for number in _OTHERS:
                one = Thread(self._code, draws, number)
                if one.run(0) and not self._meet(one, other, meetings):
                    return frozenset()
        loads = [load for load, times in meetings.items() if times >= _MEETINGS]
        return frozenset((*loads, *self._changes)) if loads else frozenset()

    def _meet(self, one: Thread, other: Thread, meetings: dict[int, int]) -> bool:
        """Return whether two threads leave the same memory whichever comes first, if they change
        the same element, and wherever in one of them the other runs. Count the loads of elements
        that the other one changes. Threads that store the same say nothing.
        """
        if one.written == other.written:
            return True
        changed = {*one.written, *other.written}
        ends = self._behind(one, other), self._behind(other, one)
        if {*one.written} & {*other.written} and self._differ(*ends, changed):
            return False
        for load in meetings:
            early, late = (
                self._behind(other, one, Meeting(load, other.written, is_early))
                for is_early in (True, False)
            )
            if self._differ(early, late, changed):
                return False
            meetings[load] += early is not None and late is not None
        return True

    def _world(self, seed: int, root: int | str) -> Draws:
        """Return draws for two threads, in which many elements of an array hold their own index."""
        draws = Draws(seed, [*range(_LINKS), *(self._numbers if seed % 2 else ())])
        draws.set("ntid.x", 1)  # so that the threads have low numbers
        if isinstance(root, str):
            start = draws.address(root)
        else:
            start = int.from_bytes(self._code.parameters[root : root + 8], "little")
        draws.links = start, self._code.steps[self._loads[0]].width
        return draws

    def _behind(
        self, first: Thread, second: Thread, meeting: Meeting | None = None
    ) -> Thread | None:
        """Return a thread like the second, behind the first or with a meeting, None if it does not
        come to its end, or does not meet the first.
        """
        again = Thread(self._code, second.draws, second.number)
        if meeting is None:
            again.memory.update(first.written)
        is_met = again.run(0, meeting=meeting) and (meeting is None or meeting.address is not None)
        return again if is_met else None

    def _differ(self, one: Thread | None, other: Thread | None, changed: set[int]) -> bool:
        """Return whether two ends differ; changed: the addresses that both may have changed."""
        if one is None or other is None:
            return False
        places = changed.union(one.written, other.written)
        is_same_thread = one.number == other.number
        is_done = not is_same_thread or one.done == other.done
        return not is_done or any(one.at(place) != other.at(place) for place in places)

    def _trials(self, load: int, steps: list[tuple[int, int]]) -> tuple[bool, bool]:
        """Return whether a load may read an element early or late, with the same memory behind the
        launch, and with the same after more launches.
        """
        told, same, in_the_end = 0, True, True
        for seed in self._seeds():
            found = self._compared(load, seed, steps[seed % len(steps)])
            if found is not None:
                told, same, in_the_end = told + 1, same and found[0], in_the_end and found[1]
            if not same and not in_the_end:
                break
        return told >= _FEWEST and same, told >= _FEWEST and in_the_end

    def _accesses(self, root: object) -> tuple[list[int], list[int]] | None:
        """Return the loads and the changes of an array, None if some may go through an unknown
        pointer, or are of vectors or another size, or change fractions; without the changes that
        barriers part from everything else.
        """
        if not _is_array(root):
            return None
        loads: list[int] = []
        changes: list[int] = []
        widths = set()
        for k, step in enumerate(self._code.steps):
            if step.address is None or not is_in_memory(step.address):
                continue
            found = self.flow.roots.of(step.address)
            if not isinstance(found, int | str | Variable):
                return None
            if found != root:
                continue
            widths.add(step.width)
            if "v2" in step.parts or "v4" in step.parts:
                return None
            (loads if step.root == "ld" else changes).append(k)
        if self._may_be_set_apart(root, changes):
            changes = [k for k in changes if not self._is_apart(k, {*loads, *changes})]
        if any(self._code.steps[k].kind[0] not in "bsu" for k in changes):
            return None
        return (loads, changes) if len(widths) == 1 and changes else None

    def _may_be_set_apart(self, root: object, changes: list[int]) -> bool:
        """Return whether a cell of shared memory is changed as one is that a thread sets first: by
        atomics, or by numbers that all threads have in common.
        """
        is_shared = isinstance(root, Variable) or any(
            "shared" in step.parts
            and any(self.flow.roots.of(one) == root for one in step.statement.operands)
            for step in self._code.steps
        )
        return is_shared and (
            any(self._code.steps[k].root != "st" for k in changes)
            or all(self._stored(k) is not None for k in changes)
        )

    def _is_apart(self, store: int, accesses: set[int]) -> bool:
        """Return whether an access to shared memory is a store, and no way leads from it to the
        others, or from one of them to it, without a barrier of the whole block.
        """
        if self._code.steps[store].root != "st":
            return False
        others = accesses - {store}
        return others.isdisjoint(self._reached(store)) and not any(
            store in self._reached(one) for one in others
        )

    def _reached(self, start: int) -> set[int]:
        """Return the statements to which a thread may come from one without a barrier."""
        if start not in self._known_ways:
            self._known_ways[start] = reached(start, self._ways, self._barriers)
        return self._known_ways[start]

    @cached_property
    def _ways(self) -> list[list[int]]:
        return following(self.flow.body)

    @cached_property
    def _barriers(self) -> frozenset[int]:
        """The barriers at which the whole block always meets."""
        return frozenset(
            k for k, step in enumerate(self._code.steps)
            if step.root in BARRIERS and "sync" in step.parts
            and len(step.read) == 1 and step.statement.guard < 0
        )  # fmt: skip

    def _changes_commute(self) -> bool:
        """Return whether any order of the changes leads to the same element, or is as good as any
        other one, because all of them are atomicCAS.
        """
        kinds: set[tuple[str, str | int | None]] = set()
        for k in self._changes:
            parts = self._code.steps[k].parts
            number = self._stored(k) if parts[0] == "st" or {*parts} & {"exch", "cas"} else None
            if number is not None:
                kinds.add(("a number", number))
            else:
                kinds.add((parts[-2], parts[-1]))
        return len(kinds) == 1 and next(iter(kinds))[0] in ("a number", "cas", *_BOUNDS, *_BITS)

    # ---- numbers ----

    def _critical_numbers(self) -> list[int]:
        """Return numbers around those that the code compares, stores or takes as arguments."""
        known, thread = {0, 1}, Thread(self._code, Draws(0, [0]))
        for step in self._code.steps:
            if step.root in ("setp", "st", "atom", "red", "selp", "mov"):
                literals = (one for one in step.read if isinstance(one, Literal))
                known |= {_signed(one.bits) for one in literals if not one.width}
            elif step.parts[:2] == ["ld", "param"] and step.width <= 4:
                known |= {_signed(thread.value(one)) for one in step.results}
        return sorted({one + more for one in known for more in (-1, 0, 1)})

    def _stored(self, k: int) -> int | None:
        """Return the number that all threads store by a statement, None if they differ."""
        return self._fixed(lambda thread: thread.value(self._code.steps[k].read[-1]))

    def _is_flag(self, k: int) -> bool:
        """Return whether all threads store the same number at the same place."""
        is_store = self._code.steps[k].root == "st"
        is_common = is_store and self._fixed(lambda thread: thread.address(k)) is not None
        return is_common and self._stored(k) is not None

    def _fixed(self, value: Callable[[Thread], int]) -> int | None:
        """Return a value that all threads have in common, None if they differ."""
        values = (value(Thread(self._code, self._draws(seed))) for seed in self._seeds())
        first = next(values)
        return first if all(one == first for one in values) else None

    def _seeds(self) -> range:
        return range(len(self._numbers) + _TRIALS)

    def _draws(self, seed: int) -> Draws:
        """Return draws for a trial: first of one number each, so that every comparison comes out
        equal once, then of all of them.
        """
        return Draws(seed, self._numbers[seed : seed + 1] or self._numbers)

    # ---- trials ----

    def _compared(self, load: int, seed: int, step: tuple[int, int]) -> tuple[bool, bool] | None:
        """Return whether a load before and behind another thread's change leads to the same memory,
        and to the same after more launches; None if this trial does not end. step: the element
        before and after the change.
        """
        before, after = step
        draws = self._draws(seed)
        early, late = (Thread(self._code, draws) for _ in range(2))
        for thread, value in ((early, before), (late, after)):
            thread.memory[thread.address(load)] = after
            if seed % 2:  # what happens rarely must be seen, too
                thread.go_any_way(load)
            if not thread.run(load, value):
                return None
        if early.done != late.done:
            return False, False
        differ = {
            address
            for address in {*early.written, *late.written}
            if early.at(address) != late.at(address)
        }
        again = {one for one in differ if self._only(early, one, self._others)}
        is_same = all(one in again and one not in late.written for one in differ)
        allowed = {*self._changes, *self._others}
        return is_same, all(
            self._only(early, one, allowed) and self._only(late, one, allowed) for one in differ
        ) and self._offers_in_order(early, late)

    def _only(self, thread: Thread, address: int, statements: set[int]) -> bool:
        """Return whether only these statements have written to an address."""
        return all(k in statements for k, _ in thread.by.get(address, ()))

    def _offers_in_order(self, early: Thread, late: Thread) -> bool:
        """Return whether a later state of an element offers no less to the same elements."""
        for address in {*early.by} & {*late.by}:
            pairs = zip(early.by[address], late.by[address], strict=False)
            for (k, first), (other, second) in pairs:
                if k == other and k in self._changes and first and second:
                    is_min = "min" in self._code.steps[k].parts
                    if first[0] < second[0] if is_min else first[0] > second[0]:
                        return False
        return True

    def _steps(self) -> list[tuple[int, int]]:
        """Return elements before and after the changes that threads make of them. A flag that all
        of these threads set is one that another thread may set, too.
        """
        self._others = self._flags.difference(self._changes)
        found = {
            self._changed(change, before, seed)
            for change in self._changes
            for before in self._numbers
            for seed in range(_TRIES)
        }
        return sorted(one for one in found if one is not None)

    def _changed(self, change: int, before: int, seed: int) -> tuple[int, int] | None:
        """Return an element before and after a change, None if this thread does not change it."""
        thread = Thread(self._code, Draws(seed, self._numbers))
        place = self.flow.place(change)
        guards = [one for one in self._loads if one < change and self.flow.place(one) == place]
        start = guards[-1] if guards else change
        before &= (1 << 8 * self._code.steps[start].width) - 1
        address = thread.address(start)
        thread.memory[address] = before
        if not thread.run(start, before if guards else None) or thread.at(address) == before:
            return None
        self._others &= {k for several in thread.by.values() for k, _ in several}
        return before, thread.at(address)


def _is_array(root: object) -> bool:
    """Return whether the root of an address is an array that threads share."""
    is_shared = isinstance(root, Variable) and root.space == "shared"
    return is_shared or isinstance(root, int | str)


def _signed(bits: int) -> int:
    bits &= 0xFFFFFFFF
    return bits - (1 << 32) if bits >> 31 else bits
