"""The tape: what every thread of a launch did.

tape = simulator.record(source, "conv1d_basic", P, N, filter, n, grid=(2,), block=(4,))
for step in tape.thread((0, 0, 0), (1, 0, 0)):
    print(step.line, step.variables, step.accesses)
print(tape.cell("P", 1))    # P[1] = N[0]*filter[0] + N[1]*filter[1] + N[2]*filter[2]
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..findings.findings import Finding
from ..launch.launch_limits import Extents
from .arrays import ArrayPlace, ArrayPlaces, Index
from .changes import Turn
from .formulas import cell_text
from .origins import CellOrigin
from .recording import Event, Recording
from .steps import Access, Decision, Step, ThreadLog
from .translation import NotRecorded
from .work import Work

_WIDEST = 64  # bytes of an access


class Visit(NamedTuple):
    """A thread at a decision: its nth time there, from 0, whether the condition was true, and the
    place in the order of the launch.
    """

    block: Extents
    thread: Extents
    nth: int
    is_true: bool
    at: int


class Tape:
    """The record of one launch.

    name, source: of the kernel; grid, block: three extents each; inputs: the arrays and numbers
    that the launch got, by the names of the parameters and constants, as they were before it;
    outputs: the arrays after it; findings: as of `check`, of the recorded launch; completed:
    whether it came to its end; is_cut, why_cut: whether the first records are missing, and why;
    check: makes the tape of the same launch with all checks, None where this is it.
    """

    def __init__(
        self,
        source: str,
        recording: Recording,
        arrays: ArrayPlaces,
        inputs: Mapping[str, Any],
        outputs: Mapping[str, np.ndarray],
        before: Mapping[str, bytes],
        blocks: tuple[int, ...] | None,
    ):
        self.source, self.name = source, recording.kernel.name
        self.recording, self.arrays = recording, arrays
        self.inputs, self.outputs, self.before = dict(inputs), dict(outputs), dict(before)
        self.grid, self.block = recording.grid, recording.block
        self.completed = recording.report.completed
        self.printed = recording.report.printed
        self.is_cut = recording.is_cut
        self.most_of_warp = 0  # instructions that are read of a warp, the last ones; 0: all
        self.check: Callable[[], Tape] | None = None
        self.work = Work()  # of which reading the steps of a thread takes some
        self._watched = blocks
        self._logs: dict[tuple[int, int], ThreadLog] = {}

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of the recorded launch, with the values by which threads came to cells."""
        from .finding_values import values_of

        return tuple(
            dataclasses.replace(one, values=values_of(one, self))
            for one in self.recording.report.findings
        )

    @cached_property
    def checked(self) -> Tape:
        """The tape of the same launch with all checks."""
        return self.check() if self.check is not None else self

    @property
    def why_cut(self) -> str:
        """Why the first records are missing, "" if they are all there."""
        if not self.is_cut:
            return ""
        return (
            f"the launch has more records than {self.recording.most_words:,} words hold: only the "
            "last ones are here. Launch fewer or smaller blocks, or name the blocks to record"
        )

    @cached_property
    def blocks(self) -> list[Extents]:
        """The blocks that were recorded, in the order in which they ran."""
        numbers = dict.fromkeys(self.recording.columns.block.tolist())
        return [self.extents_of(k) for k in numbers]

    @property
    def threads(self) -> list[Extents]:
        """The threads of a block, x first."""
        x, y, z = self.block
        return [(i, j, k) for k in range(z) for j in range(y) for i in range(x)]

    @cached_property
    def events(self) -> list[Event]:
        """The executed instructions of all warps, in their order."""
        return list(self.recording.events())

    @property
    def lines(self) -> set[int]:
        """The lines of the source that some thread has run."""
        translation = self.recording.kernel.translation
        assert translation is not None
        return {translation.rows[pc].line for pc in np.unique(self.recording.columns.pc)}

    @cached_property
    def _events_of(self) -> dict[tuple[int, int], list[Event]]:
        """The events of each warp that was asked for, by block and warp."""
        return {}

    def _entries(self, block: int, thread: int) -> list[tuple[Event, int]]:
        """Return the events of a thread, each with its lane's place in it."""
        warp, lane = divmod(thread, 32)
        if (block, warp) not in self._events_of:
            columns = self.recording.columns
            own = np.flatnonzero((columns.block == block) & (columns.warp == warp)).tolist()
            own = own[-self.most_of_warp :]
            self._events_of[block, warp] = [self.recording.event(number) for number in own]
        events = self._events_of[block, warp]
        return [(one, one.lanes.index(lane)) for one in events if lane in one.lanes]

    @property
    def _logs_of_all(self) -> Iterator[ThreadLog]:
        return (self.log(block, thread) for block in self.blocks for thread in self.threads)

    def thread(self, block: Extents, thread: Extents) -> list[Step]:
        """Return what a thread did, line by line. block, thread: triples (x, y, z), or fewer
        numbers, of which the others are 0.

        Raises ValueError for a block or thread that the launch does not have, and NotRecorded for a
        block that was not recorded.
        """
        return self.log(block, thread).steps

    def log(self, block: Extents, thread: Extents) -> ThreadLog:
        """Return all that is known of a thread; the exceptions are those of `thread`."""
        b = self._number(block, self.grid, "block")
        t = self._number(thread, self.block, "thread")
        if self._watched is not None and b not in self._watched:
            raise NotRecorded(f"block {block} was not recorded: name it in blocks=[...]")
        if (b, t) not in self._logs:
            entries = self._entries(b, t)
            self.work.spend(len(entries), reserve=math.inf)
            self._logs[b, t] = ThreadLog(
                self.recording, self.arrays, self.extents_of(b), self.thread_of(t), entries
            )
        return self._logs[b, t]

    @staticmethod
    def _number(given: Any, extents: Extents, what: str) -> int:
        try:
            x, y, z = (*map(int, (given,) if isinstance(given, int) else given), 0, 0)[:3]
        except (TypeError, ValueError):
            raise ValueError(f"{what} {given!r}: give three numbers, such as (0, 0, 0)") from None
        if not all(0 <= k < n for k, n in zip((x, y, z), extents, strict=True)):
            raise ValueError(f"{what} {given} is not in the launch: its extents are {extents}")
        return x + extents[0] * (y + extents[1] * z)

    def extents_of(self, number: int) -> Extents:
        x, y, _ = self.grid
        return number % x, number // x % y, number // x // y

    def thread_of(self, number: int) -> Extents:
        x, y, _ = self.block
        return number % x, number // x % y, number // x // y

    def threads_of_line(self, block: Extents, line: int, address: int) -> list[Extents]:
        """Return the threads of a block that access memory around an address in a line of the
        source, in their order, without reading all of their steps, which takes long.
        """
        columns, translation = self.recording.columns, self.recording.kernel.translation
        assert translation is not None
        pcs = [pc for pc in np.unique(columns.pc) if translation.rows[pc].line == line]
        is_there = (columns.block == self._number(block, self.grid, "block")) & np.isin(
            columns.pc, pcs
        )
        found: set[int] = set()
        for number in np.flatnonzero(is_there & columns.has_addresses).tolist():
            event = self.recording.event(number)
            found |= {
                32 * event.warp + lane
                for lane, where in zip(event.lanes, event.addresses or (), strict=True)
                if abs(where - address) < _WIDEST
            }
        return [self.thread_of(number) for number in sorted(found)]

    def accesses(self) -> list[Access]:
        """Return the accesses of all recorded threads, in the order of the launch."""
        found = [
            access
            for log in self._logs_of_all
            for step in log.steps
            for access in step.accesses
        ]
        return sorted(found, key=lambda one: (one.at, one.thread[::-1], one.element))

    def turns(self, decision: Decision, values: Mapping[str, Any]) -> list[Turn]:
        """Return the changes that turn a decision round wherever the variables have these values
        before the step: each time that a recorded thread comes to it.
        """
        found = []
        for log in self._logs_of_all:
            for step in log.steps:
                for one in step.decisions:
                    if one.pc == decision.pc and _agrees(step.before, values):
                        found.append(Turn.of(step, one))
        return found

    def visits(self, pc: int, of: tuple[Extents, Extents] | None = None) -> Iterator[Visit]:
        """Yield each time that a recorded thread came to a decision, in the order of the launch.
        of: block and thread, for one thread alone.
        """
        times: Counter[tuple[int, int]] = Counter()
        columns = self.recording.columns
        is_it, own = columns.pc == pc, None
        if of is not None:
            own = self._number(of[1], self.block, "thread")
            number = self._number(of[0], self.grid, "block")
            is_it &= (columns.block == number) & (columns.warp == own // 32)
        for number in np.flatnonzero(is_it).tolist():
            event = self.recording.event(number)
            if event.decided is None:
                continue
            block = self.extents_of(event.block)
            for thread in (event.warp * 32 + lane for lane in event.lanes):
                if own in (None, thread):
                    nth = times[event.block, thread]
                    times[event.block, thread] += 1
                    is_true = not event.decided >> thread % 32 & 1
                    yield Visit(block, self.thread_of(thread), nth, is_true, number)

    # ---- where values come from

    @cached_property
    def provenance(self):
        """The formulas of all values."""
        from .provenance import Provenance

        return Provenance(self, Work())

    def cell(self, array: str, index: Index, member: str = "") -> CellOrigin:
        """Return where the value of a cell comes from, after the launch; of shared memory, after
        the last block that ran.

        index: of the array as it was passed (one number, or one for each axis), and of an array of
        the source as it declares it; member: of a structure, by default its first number.
        Raises ValueError for an array, a cell or a member that the launch does not have.
        """
        place = self.arrays.by_name.get(array)
        if place is None:
            known = ", ".join(
                one.name
                for one in sorted(self.arrays, key=lambda one: one.rank)
                if not one.name.startswith("$")  # a text of printf
            )
            raise ValueError(f"the launch has no array {array!r}: it has {known}")
        address = self._address(place, index)
        if not place.start <= address < place.start + place.nbytes:
            raise ValueError(f"{cell_text(array, index)} is not in {array}, of {place.count} cells")
        if member:
            if member not in place.members:
                raise ValueError(f"{array} has no member {member!r}: {', '.join(place.members)}")
            address += place.layout[place.members.index(member)][0]
        return self.provenance.cell(place, address)

    def _address(self, place: ArrayPlace, index: Index) -> int:
        given = self.inputs.get(place.name)
        width = place.element_bytes
        if isinstance(index, tuple) and len(index) > 1:
            index = tuple(int(k) for k in index)
            shape = place.extents if len(place.extents) > 1 else getattr(given, "shape", ())
            if len(shape) != len(index) or any(
                not 0 <= k < n for k, n in zip(index, shape, strict=True)
            ):
                raise ValueError(f"{cell_text(place.name, index)} is not in {place.name}: {shape}")
            flat = int(np.ravel_multi_index(index, shape))
        else:
            flat = int(index[0] if isinstance(index, tuple) else index)
        if isinstance(given, np.ndarray) and len(place.extents) < 2:
            width = given.itemsize
        return place.start + flat * width


def _agrees(variables: Mapping[str, Any], values: Mapping[str, Any]) -> bool:
    return all(name in variables and variables[name] == value for name, value in values.items())
