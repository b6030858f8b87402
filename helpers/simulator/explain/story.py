"""Why a cell is wrong, as data: the terms that it lacks or has too many, and what a thread did
otherwise than it should.

There is no rule for any mistake. A suspect is a decision, an index or a wait; it becomes a cause
only if the launch, run again with this one thing done otherwise, makes the cell right and breaks no
cell that was right.
"""

from __future__ import annotations

import bisect
import contextlib
import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..findings.findings import Finding
from ..launch.launch_limits import Extents
from . import patterns, trail
from .changes import Change, Redirect, Replace, Turn
from .changes import Place as At
from .experiment import Experiment, Thread
from .followed import CellStore, Followed
from .followed import Stored as StoredBy
from .formulas import (
    Atom,
    Before,
    Cell,
    Formula,
    Function,
    Loaded,
    Monomial,
    Number,
    Scalar,
    Unset,
    cell_text,
)
from .lanes import Form
from .patterns import Pattern, Stored
from .provenance import Load
from .source_text import NoValue, Source
from .steps import Access, Decision, Step
from .tape import Tape
from .translation import NotRecorded, Wait
from .values import DevicePointer
from .work import Spent, Work

MOST_LATE = 60_000  # units of work after all is spent, to put in words what is known
MOST_WORK_OF_FORMULAS = 350_000
UNITS_A_WORD = 4  # of a record: so much more work a launch may cost
MOST_OUTSIDE = 40  # accesses outside of an array that are kept away, one after another
MOST_DECISIONS = 24  # of one thread that are turned round
MOST_OF_WARP = 4_000  # instructions before the end of a launch without an end
MOST_IDLE = 3  # threads that store nothing, of a cell that another one should store
MOST_LOOKED_AT = 400  # decisions of one thread
MOST_ALIKE = 2_000  # decisions with the same values that are turned round together
MOST_MOVED = 5_000  # stores that are sent to other cells together
MOST_SET = 128  # threads of which a variable is set together
MOST_LINES = 10  # before which a wait is tried
MOST_TARGETS = 4  # wrong cells that are tried in turn
MOST_OTHERS = 32  # stores of threads that are not followed
MOST_AGREED = 4  # wrong cells that are asked whether they agree on a cause
MOST_DRAWN = 10  # other inputs with which a cause must hold, for the largest of some
MOST_DRAWN_FOR_SUMS = 2
ROUNDING = 5e-3  # of the sum of the sizes of the products: halves are summed as well
MOST_FOLLOWED = 8  # wrong cells whose values are followed
_SPECIAL = ("threadIdx", "blockIdx", "blockDim", "gridDim")


@dataclass(frozen=True)
class Choice:
    """A decision of a thread. condition: as the source writes it, "" if it is not plain; is_true:
    what it was; part: the one of its parts that decided, with `values` of its names.
    """

    line: int
    condition: str
    is_true: bool
    part: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Place:
    """An access of a thread. text: as the source writes it, "N[i - 1]", "" if it is not plain;
    element: the cell, "N[-1]"; values: of the names in its index; is_inside: the array has it.
    """

    line: int
    text: str
    element: str
    is_store: bool
    is_inside: bool
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Origin:
    """The line that gave a variable its value. text: the assignment."""

    line: int
    name: str
    value: Any
    text: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Cause:
    """Why a cell is wrong.

    kind: "decision" (turned round, all is right), "index" (another element belongs there), "store"
    (another cell belongs there), "skipped" (a decision leaves out an access, and its index is wrong
    as well), "unset" (a cell or variable without a value is read), "kept" (the output itself is
    read before it is stored), "whole" (a float becomes a whole number), "constant" (a number that
    belongs in no result), "lost" (a line puts a value in place of what a variable held), "copy"
    (what an asynchronous copy has not brought yet is read; idle_line: the last wait before), "race"
    (two accesses in no order), "outside" (an access outside of its array, that no decision keeps
    away), "endless" (a loop whose condition never changes).
    line: at fault; thread: of the decision or access; choice, place: what is at fault; belongs: the
    cell in place of place.element; stored_by: who stored what was read; origins: where the values
    come from; other: the other access of a race; other_line: before which a wait is needed, too, if
    it is another one; is_tried: a run without it has shown that.
    """

    kind: str
    line: int
    thread: Thread
    choice: Choice | None = None
    place: Place | None = None
    belongs: str = ""
    stored_by: tuple[Thread, int] | None = None
    origins: tuple[Origin, ...] = ()
    other: Place | None = None
    other_thread: Thread | None = None
    is_tried: bool = True
    name: str = ""
    value: Any = None
    belongs_value: int | None = None
    idle_line: int = 0
    other_line: int = 0
    count: int = 1


@dataclass(frozen=True)
class Story:
    """What is known of a wrong result. output: the array; wrong: its wrong cells; cell, got, want:
    the one that is explained (-1, None, None where a finding alone is); formula, right: its terms;
    missing, surplus: those that differ; is_unwritten: nobody stores it, and `wrong` has the cells
    of which that is so; are_alike: other wrong cells differ from what is right in the same way;
    tape: of the launch; mask, expected: where the output is wrong, and what is right.
    """

    output: str
    wrong: Pattern | None
    cell: int
    shape: tuple[int, ...]
    got: Any
    want: Any
    formula: Formula | None
    right: Formula | None
    missing: tuple[str, ...]
    surplus: tuple[str, ...]
    is_unwritten: bool
    are_alike: bool
    causes: tuple[Cause, ...]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    tape: Tape = field(repr=False, compare=False)
    mask: np.ndarray = field(repr=False, compare=False)
    expected: np.ndarray = field(repr=False, compare=False)


@dataclass
class Judge:
    """What is right. outputs: names of parameters; wrong: where the arrays of a tape are wrong, by
    output; right: of the tape of a kernel that is right, whose parameters are named as those of the
    kernel that is explained; others: returns other launches of the kernel, in which a cause must
    break nothing.
    """

    wrong: Callable[[Tape], dict[str, np.ndarray]]
    want: Mapping[str, np.ndarray]
    right: Followed | None = None
    names: Mapping[str, str] = field(default_factory=dict)  # of the answer, by those of `right`
    others: Callable[[], Iterable[tuple[Experiment, Judge]]] = tuple


class _Moved(NamedTuple):
    """A store of a thread to another cell of an array than in the right kernel. meant: the number
    of the cell that it stores there.
    """

    array: str
    thread: Thread
    store: CellStore
    meant: int


class _Right(NamedTuple):
    """Loads of the right kernel. teller: a search in its tape; names: of the answer's parameters,
    by those of the right kernel.
    """

    teller: Search
    loads: list[Access]
    names: Mapping[str, str]

    def own(self, one: Access) -> str:
        """Return the name that the array of a load has in the answer."""
        return self.names.get(one.array, one.array)

    def has(self, access: Access) -> bool:
        """Return whether one of the loads is from the cell of an access."""
        cells = ((self.own(one), one.index) for one in self.loads)
        return (access.array, access.index) in cells

    def values(self, one: Access, names: Iterable[str]) -> dict[str, Any]:
        """Return what variables of these names hold at a load."""
        return self.teller.values((one.block, one.thread), one.at, names)


class Search:
    """The search for the causes in one launch, as long as its experiment has work left. base: what
    is done otherwise in all of its runs. Its methods raise NotRecorded.
    """

    def __init__(self, experiment: Experiment, judge: Judge, base: tuple[Change, ...] = ()):
        self.experiment, self.judge, self.base = experiment, judge, base
        self.work = experiment.work
        self.tape = experiment.record(base)
        if not base:
            self.work.grow(UNITS_A_WORD * len(self.tape.recording.words))
        self.source = Source.of(experiment.source, experiment.options)
        self.wrong = judge.wrong(self.tape)
        self.findings = faults(self.tape)
        is_wrong = bool(self.findings) or any(mask.any() for mask in self.wrong.values())
        is_endless = any(one.kind == "runaway" for one in self.findings)
        if self.tape.is_cut and is_wrong and not is_endless:
            # What is missing would seem never to have been done.
            raise NotRecorded("they take too many steps to follow them")
        if self.tape.is_cut:
            self.tape.most_of_warp = MOST_OF_WARP
        names = [name for name, mask in self.wrong.items() if mask.any()]
        self.out = names[0] if names else next(iter(self.wrong))
        self.followed = Followed(self.tape)
        # The first ones, and some of all others: the ends of an array have stories of their own.
        wrong = np.flatnonzero(self.wrong[self.out].reshape(-1)).tolist()
        rest = wrong[MOST_FOLLOWED // 2 :]
        step = -(-len(rest) // (MOST_FOLLOWED // 2)) or 1
        self.cells: list[int] = [*wrong[: MOST_FOLLOWED // 2], *rest[::-1][::step][::-1]]

    @cached_property
    def has_formulas(self) -> bool:
        """Whether the values of some wrong cells are followed: not where that takes too long."""
        right, name = self.judge.right, self._name_in_right
        cells = self.followed.some_of(self.out, self.cells)
        if cells and right is not None:
            cells = right.some_of(name, cells)
        if not cells:
            return False
        self.cells = cells
        work = Work(MOST_WORK_OF_FORMULAS)  # also where the rest is spent: they are told
        try:
            self.followed.follow(self.out, cells, work)
            if right is not None:
                right.follow(name, cells, work)
        except Spent:
            return False
        finally:
            self.work.spend(work.spent, reserve=math.inf)
        return True

    @cached_property
    def threads(self) -> list[Thread]:
        return [(block, thread) for block in self.tape.blocks for thread in self.tape.threads]

    # ---- the story

    @property
    def is_right(self) -> bool:
        """Whether nothing is wrong with the launch."""
        return not self.findings and not self.wrong[self.out].any()

    @property
    def _has_wrong_cells(self) -> bool:
        return self.tape.completed and bool(self.wrong[self.out].any())

    def shown(self) -> Story | None:
        """Return the story of what the stores, the findings and the formulas of wrong cells show,
        which needs few runs; None where that is nothing.
        """
        with contextlib.suppress(Spent):
            cell, causes = self._of_all_stores(True) if self._has_wrong_cells else (None, [])
            if causes := causes or self._of_findings():
                return self._told(cell, causes)
            return self._of_cells(self._shown)
        return None

    def tried(self) -> Story | None:
        """Return the story of what runs with other decisions, stores and variables show, or of what
        was seen in the findings; None where that is nothing.
        """
        with contextlib.suppress(Spent):
            if (told := self._of_cells(self._tried)) is not None:
                return told
            cell, causes = self._of_all_stores(False) if self._has_wrong_cells else (None, [])
            if causes:
                return self._told(cell, causes)
        with contextlib.suppress(Spent):
            if causes := self._of_one_cell() or self._of_unset_read():
                return self._told(None, causes)
        return None

    def seen(self) -> Story:
        """Return the story without a cause."""
        return self._told(None, [])

    def _of_cells(self, search: Callable[[int], list[Cause]]) -> Story | None:
        """Return the story of the first wrong cell of which a search finds the causes."""
        for target in self._targets() if self._has_wrong_cells else ():
            found = search(target)
            if found and (agreed := self._agreed(target, found))[1]:
                return self._told(*agreed)
        return None

    def _told(self, cell: int | None, causes: Sequence[Cause]) -> Story:
        """Return the story of a cell; None: of the first wrong one, if there is any."""
        if cell is None and self._has_wrong_cells:
            cell = next(iter(self._targets()))
        mask, want = self.wrong[self.out], self.judge.want[self.out]
        got = formula = right = value = None
        missing: tuple[str, ...] = ()
        surplus: tuple[str, ...] = ()
        is_unwritten, are_alike, shown = False, True, mask
        if cell is not None:
            got, formula = self.tape.outputs[self.out].reshape(-1)[cell], self.formula(cell)
            is_unwritten = not self.writers(cell)
            value, right = want.reshape(-1)[cell], self.goal(cell)
            missing, surplus = self._differences(cell)
            how = bool(missing), bool(surplus)
            are_alike = self.has_formulas and all(
                tuple(map(bool, self._differences(one))) == how
                for one in self.cells
                if self.writers(one)
            )
            if is_unwritten:
                are_alike, shown = True, mask & self._unwritten
        is_over = shown.any() and self.tape.completed
        wrong = patterns.pattern(shown, self.stored) if is_over else None
        return Story(
            self.out, wrong, -1 if cell is None else cell, mask.shape, got, value, formula, right,
            missing, surplus, is_unwritten, are_alike, tuple(causes), self.tape.grid,
            self.tape.block, self.tape, mask, want,
        )  # fmt: skip

    @cached_property
    def _unwritten(self) -> np.ndarray:
        """Where nobody stores the output."""
        shape = self.wrong[self.out].shape
        if self.followed.needs_formulas(self.out):
            written = [one for one in range(int(np.prod(shape))) if self.writers(one)]
        else:
            written = list(self.followed.last_lanes(self.out))
        found = np.ones(int(np.prod(shape)), bool)
        found[written] = False
        return found.reshape(shape)

    def _differences(self, cell: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the terms that a cell lacks, and those that it has too many."""
        formula, right = self.formula(cell), self.goal(cell)
        if formula is None or right is None or not self.writers(cell):
            return (), ()
        return _difference(formula, right)[::-1]

    def writers(self, cell: int) -> list[StoredBy]:
        """Return the stores to a cell of the output, in order."""
        if self.followed.needs_formulas(self.out) and not self.has_formulas:
            raise NotRecorded("its values come from too many steps to follow them")
        return self.followed.writers(self.out, cell)

    def formula(self, cell: int) -> Formula | None:
        """Return the formula of a cell, None if the values are not followed."""
        return self.tape.cell(self.out, cell).formula if self.has_formulas else None

    # ---- what is right

    @cached_property
    def _name_in_right(self) -> str:
        return next((r for r, own in self.judge.names.items() if own == self.out), self.out)

    def goal(self, cell: int) -> Formula | None:
        """Return the right formula of a cell, in the names of this kernel."""
        if self.judge.right is None or not self.has_formulas:
            return None
        formula = self.judge.right.tape.cell(self._name_in_right, cell).formula
        return _renamed(formula, self.judge.names)

    def owner(self, cell: int) -> Thread | None:
        """Return the thread that stores a cell in the right kernel."""
        return self._owners.get(cell)

    @cached_property
    def _owners(self) -> dict[int, Thread]:
        right, name = self.judge.right, self._name_in_right
        if right is None or not self._has_same_threads:
            return {}
        if not right.needs_formulas(name):
            return {cell: self._named(one) for cell, one in right.last_lanes(name).items()}
        if not self.has_formulas:
            return {}
        stores = {cell: right.writers(name, cell) for cell in range(self.wrong[self.out].size)}
        return {cell: self._named(every[-1].lane) for cell, every in stores.items() if every}

    @cached_property
    def _has_same_threads(self) -> bool:
        """Return whether the right kernel is launched with the same blocks."""
        own, right = self.tape, self.judge.right
        return right is not None and (right.tape.grid, right.tape.block) == (own.grid, own.block)

    def _named(self, lane: tuple[int, int]) -> Thread:
        return self.tape.extents_of(lane[0]), self.tape.thread_of(lane[1])

    @cached_property
    def stored(self) -> Stored | None:
        """Who stores each cell in the right kernel."""
        shape = self.wrong[self.out].shape
        size = int(np.prod(shape))
        threads, blocks = np.full((size, 3), -1), np.full((size, 3), -1)
        for cell, one in self._owners.items():
            blocks[cell], threads[cell] = one
        if (threads < 0).all():
            return None
        return Stored(
            threads.reshape(*shape, 3), blocks.reshape(*shape, 3), self.tape.block, self.tape.grid
        )

    # ---- trials

    def again(
        self, changes: Sequence[Change] = (), barriers: tuple[Wait, ...] = ()
    ) -> Tape | None:
        """Run the launch with changes; None where that cannot be."""
        # Of a launch with wrong values most trials are done with once these are seen.
        is_checked = bool(barriers) or not any(mask.any() for mask in self.wrong.values())
        try:
            return self.experiment.record(
                (*self.base, *changes), barriers, blocks=(), is_checked=is_checked
            )
        except (NotRecorded, ValueError):
            return None

    def mends(self, tape: Tape | None, cell: int, own: Iterable[int] = ()) -> bool:
        """Return whether a trial makes a cell right, and breaks nothing that was right. own: cells
        that must be right as well.
        """
        if tape is None or not tape.completed:
            return False
        wrong = self.judge.wrong(tape)
        if wrong[self.out].reshape(-1)[cell]:
            return False
        if any(wrong[self.out].reshape(-1)[one] for one in own):
            return False
        if any((mask & ~self.wrong[name]).any() for name, mask in wrong.items()):
            return False
        return _weight(faults(tape)) <= _weight(self.findings)

    def _is_all_right(self, tape: Tape | None) -> bool:
        """Return whether all is right in a trial."""
        return (
            tape is not None
            and tape.completed
            and not any(mask.any() for mask in self.judge.wrong(tape).values())
            and not faults(tape)
        )

    # ---- findings

    def _of_findings(self) -> list[Cause]:
        for finding in self.findings:
            if finding.kind == "race":
                return self._of_race(finding)
            if finding.kind == "out-of-bounds":
                return self._of_outside(finding)
            if finding.kind == "runaway":
                return self._of_endless(finding)
            if not self.tape.completed:
                return []
        return []

    def _of_race(self, finding: Finding) -> list[Cause]:
        """Find a line before which a wait leaves no race: one of the two, or one that a thread was
        at since it has waited last. Where no single one is enough, find another one that is needed
        beside a wait between the two accesses.
        """
        if finding.other_line is None:
            return []
        thread: Thread = (finding.block, finding.thread)
        low, high = sorted((finding.line, finding.other_line))
        since = self._since_wait(thread, finding.line)
        if finding.other_thread is not None:
            since += self._since_wait((finding.block, finding.other_thread), finding.other_line)
        lines = dict.fromkeys((finding.line, finding.other_line, *since))
        tried = list(lines)[:MOST_LINES]
        has_pairs = low < high and finding.other_thread is not None
        pairs = [(high, line) for line in tried if line != high] if has_pairs else []
        for places in [*((line,) for line in tried), *pairs]:
            if self._is_all_right(self.again(barriers=tuple(map(Wait, places)))):
                idle = next((k for k in range(low, high + 1) if self._does_nothing(k)), 0)
                return [
                    Cause(
                        "race", places[0], thread, idle_line=idle, name=finding.array or "",
                        other_line=places[-1],
                    )
                ]  # fmt: skip
        return []

    def _since_wait(self, thread: Thread, line: int) -> list[int]:
        """Return the lines that a thread was at between its wait and a line, the nearest first."""
        found: list[int] = []
        since: list[int] = []
        for step in self.steps(thread):
            if step.is_barrier:
                since = []
            elif step.line == line:
                found += reversed(since)
            else:
                since.append(step.line)
        return list(dict.fromkeys(found))

    def _of_one_cell(self) -> list[Cause]:
        """Tell which two threads come to one cell in no order, where no wait makes that right."""
        found = (one for one in self.findings if one.kind == "race")
        finding = next((one for one in found if one.other_thread is not None), None)
        if finding is None or finding.other_line is None or finding.other_thread is None:
            return []
        one = self._at_cell(finding, finding.line, finding.thread)
        if one is None:
            return []
        other = self._at_cell(finding, finding.other_line, finding.other_thread)
        if other is not None:
            text = self.place(other)
        else:  # of an instruction whose accesses are not on the record
            texts = self.source.indices(finding.other_line, finding.array or "")
            text = Place(finding.other_line, "", self.place(one).element, not texts, True, {})
        return [
            Cause(
                "one cell", finding.line, (finding.block, finding.thread), place=self.place(one),
                origins=self.origins(one), other=text,
                other_thread=(finding.block, finding.other_thread), is_tried=False,
            )
        ]  # fmt: skip

    def _at_cell(self, finding: Finding, line: int, thread: tuple[int, int, int]) -> Access | None:
        """Return the first access of a thread to the cell of a finding in a line, a store if there
        is one: only with a store two threads race.
        """
        steps = self.steps((finding.block, thread))
        cell = finding.array, finding.index
        every = (one for step in steps if step.line == line for one in step.accesses)
        found = [one for one in every if one.line == line and (one.array, one.index) == cell]
        is_race = finding.kind == "race"
        stores = [one for one in found if one.is_store] if is_race else []
        return next(iter([*stores, *found]), None)

    def _of_unset_read(self) -> list[Cause]:
        """Find what lets a thread read a cell that nothing has stored: a decision without which all
        is right, or a thread that does not store it.
        """
        found = (one for one in self.findings if one.kind == "uninitialised")
        finding = next((one for one in found if one.array != self.out), None)
        if finding is None:
            return []
        thread: Thread = (finding.block, finding.thread)
        access = self._at_cell(finding, finding.line, finding.thread)
        if access is None:
            return []
        place, origins = self.place(access), self.origins(access)
        tried: set[int] = set()
        with contextlib.suppress(Spent):
            for step in reversed(self.steps(thread)):
                for one in reversed(step.decisions):
                    if one.at > access.at or one.pc in tried or len(tried) >= MOST_LINES:
                        continue
                    tried.add(one.pc)
                    if self._is_still_first(finding, self.again([Turn.of(step, one)])):
                        continue
                    choice = self.choice(step, one)
                    # What lacks may be a condition on something that only blocks differ in.
                    for block in (None, finding.block) if choice.values else ():
                        if self._is_all_right(self._turned_wherever(one, choice, block)[0]):
                            return [
                                Cause(
                                    "decision", choice.line, thread, choice, place, origins=origins
                                )
                            ]  # fmt: skip
        return [Cause("unset", access.line, thread, place=place, origins=origins, is_tried=False)]

    def _is_still_first(self, finding: Finding, tape: Tape | None) -> bool:
        """Return whether a trial has the same access of the same thread as its first finding of a
        kind, or could not be made.
        """
        if tape is None:
            return True
        same = (one for one in faults(tape) if one.kind == finding.kind)
        return next(map(_fault, same), None) == _fault(finding)

    def _does_nothing(self, line: int) -> bool:
        """Return whether a line is an expression of which no instruction comes."""
        text = self.source.line(line)
        is_expression = re.fullmatch(r"[\w.]+;", text) is not None
        return is_expression and line not in self.tape.lines

    def _of_outside(self, finding: Finding) -> list[Cause]:
        """Find what lets a thread access what is outside of its array: a decision that is turned
        wherever it leads there, or an index.
        """
        thread = (finding.block, finding.thread)
        access = self._outside(self.tape, thread)
        if access is None:
            return []
        if not access.array and finding.array:  # past the end of a row, or far from all arrays
            access = replace(access, array=finding.array, index=finding.index)
        place, origins = self.place(access), self._trail_outside(access)
        with contextlib.suppress(Spent):
            if causes := self._of_way_out(thread, access, place, origins):
                return causes
        is_idle = bool(self._cells_of) and thread not in self._cells_of and self._has_own_cells
        is_idle = is_idle and access.space != "shared" and not self._idle_work_when_right
        kind = "unguarded" if is_idle else "outside"
        index = access.index if isinstance(access.index, int) else 0
        wraps = 2**31 <= index < 2**32  # as threadIdx.x - 1 does, which is unsigned
        return [
            Cause(
                kind, access.line, thread, place=place, origins=origins, is_tried=False,
                value=index - 2**32 if wraps else None,
            )
        ]  # fmt: skip

    def _trail_outside(self, access: Access) -> tuple[Origin, ...]:
        """Return where the variable was set by which the thread of an access first goes elsewhere
        than in the right kernel; all variables of its index where that is not known.
        """
        right, names = self.judge.right, self.judge.names
        thread = (access.block, access.thread)
        if right is None or not self._has_same_threads:
            return self.origins(access)
        inner = _Right(self._with(right.tape), [], names)
        own, others = (
            [
                one
                for step in teller.steps(thread)
                for one in step.accesses
                if one.is_store == access.is_store and array(one) == access.array
            ]
            for teller, array in ((self, lambda one: one.array), (inner.teller, inner.own))
        )
        for one, other in zip(own, others, strict=False):
            if one.index != other.index:
                return self._trail_to(one, other.index, inner, other)
        return self.origins(access)

    @property
    def _idle_work_when_right(self) -> bool:
        """Whether threads without an output read or store something in the right kernel: they do so
        for others.
        """
        right = self.judge.right
        owners = {self._lane(one) for one in self._cells_of}
        return right is not None and bool(right.busy_lanes - owners)

    def _of_way_out(
        self, thread: Thread, access: Access, place: Place, origins: tuple[Origin, ...]
    ) -> list[Cause]:
        """Find the decision that leads a thread out of its array, or an index. Where several
        decisions could keep it inside, as of two guards, one in the other, none is blamed.
        """
        ways = self._ways_out(thread, access)
        if len(ways) == 1:
            (choice,) = ways
            return [Cause("decision", choice.line, thread, choice, place=place, origins=origins)]
        return [] if access.is_store else self._of_outside_index(access, place, origins)

    def _ways_out(self, thread: Thread, access: Access) -> list[Choice]:
        """Return the decisions of a thread, the latest first, each of which makes all right where
        it is turned wherever it leads outside of an array: as many as there is time to try.
        """
        found: dict[tuple[int, str], Choice] = {}
        with contextlib.suppress(Spent):
            for choice in self._turned_ways_out(thread, access):
                found.setdefault((choice.line, choice.condition), choice)
        return list(found.values())

    def _turned_ways_out(self, thread: Thread, access: Access) -> Iterator[Choice]:
        tried: set[int] = set()
        for step in reversed(self.steps(thread)):
            for one in reversed(step.decisions):
                if one.at > access.at or one.pc in tried or len(tried) >= 8:
                    continue
                tried.add(one.pc)
                tape, changes = self._kept_away(one)
                choice = self.choice(step, one)
                if tape is None or not self._is_all_right(tape) or not choice.values:
                    continue
                # Turned wherever its variables have these values, it must break nothing.
                others = self._with(tape)._alike(one, choice)
                is_right = not others or self._is_all_right(self.again((*changes, *others)))
                if is_right and not self._leads_out_anyway(one):
                    yield choice

    def _leads_out_anyway(self, decision: Decision) -> bool:
        """Return whether in another case a thread comes outside of an array where the decision is
        turned, or the results are wrong then: in a small case, what the decision leads to may not
        be needed.
        """
        for experiment, judge in self.judge.others() if not self.base else ():
            # Where there is no time for another case, nothing speaks against the decision.
            with contextlib.suppress(NotRecorded, ValueError, Spent):
                inner = Search(experiment, judge)
                tape, changes = inner._kept_away(decision, MOST_LINES)
                if tape is None and len(changes) < MOST_LINES:
                    return True
                if changes and tape is not None and not inner._is_all_right(tape):
                    return True
        return False

    def _outside(self, tape: Tape, thread: Thread) -> Access | None:
        """Return the last access of a thread outside of all arrays."""
        steps = self._with(tape).steps(thread)
        every = ((step, one) for step in reversed(steps) for one in reversed(step.accesses))
        step, found = next(((step, one) for step, one in every if not one.is_inside), (None, None))
        if step is None or found is None or found.line:
            return found
        return replace(found, line=step.line)  # in a header

    def _with(self, tape: Tape) -> Search:
        """Return this search in another tape of the same launch."""
        inner = Search.__new__(Search)
        inner.__dict__.update(self.__dict__ | {"tape": tape, "_numbers": {}})
        return inner

    def _kept_away(
        self, decision: Decision, most: int = MOST_OUTSIDE
    ) -> tuple[Tape | None, list[Change]]:
        """Turn a decision wherever it leads outside of an array, until the launch ends. Returns
        None for the tape where it does not.
        """
        changes: list[Change] = []
        tape: Tape = self.tape
        for _ in range(most):
            finding = next((one for one in faults(tape) if one.kind == "out-of-bounds"), None)
            if finding is None:
                return tape, changes
            thread = (finding.block, finding.thread)
            end = len(tape.recording.columns.pc)
            if tape.completed:  # other arrays lie after it
                access = self._outside(tape, thread)
                end = access.at if access is not None else 0
            visits = [one for one in tape.visits(decision.pc, thread) if one.at < end]
            if not visits or visits[-1].is_true != decision.is_true:
                return None, changes
            change = Turn(At(decision.pc, *thread, visits[-1].nth))
            if change in changes:
                return None, changes
            changes.append(change)
            tape = self.experiment.record((*self.base, *changes))
        return None, changes

    def _of_outside_index(
        self, access: Access, place: Place, origins: tuple[Origin, ...]
    ) -> list[Cause]:
        """Let all accesses outside of their arrays read a first element, and look at the cells that
        come of it.
        """
        name = access.array if access.array in self.tape.inputs else ""
        if not name or access.row is None:
            return []
        changes: list[Change] = []
        tape: Tape = self.tape
        while not tape.completed:
            finding = next((one for one in faults(tape) if one.kind == "out-of-bounds"), None)
            if finding is None or len(changes) > MOST_OUTSIDE:
                return []
            one = self._outside(tape, (finding.block, finding.thread))
            if one is None or one.is_store or one.array not in self.tape.inputs:
                return []
            changes.append(Redirect.of(one, one.array, 0))
            tape = self.experiment.record(changes)
        return self._of_first_elements(access, place, origins, tuple(changes))

    def _of_first_elements(
        self, access: Access, place: Place, origins: tuple[Origin, ...], changes: tuple[Change, ...]
    ) -> list[Cause]:
        """Find what belongs where a thread has read outside of an array: there, it reads the first
        element now.
        """
        thread = (access.block, access.thread)
        inner = Search(self.experiment, self.judge, changes)
        inner.followed.instead = dict(inner._outside_loads())
        inner.cells = [
            cell
            for cell in range(inner.wrong[self.out].size)
            if any(inner._named(w.lane) == thread for w in inner.followed.writers(self.out, cell))
        ]
        for cell in inner.cells[:MOST_FOLLOWED] if inner.has_formulas else ():
            for one, need in itertools.chain(*inner._misread(thread, 1 << 60, cell)):
                if Redirect.of(one, access.array, 0) == Redirect.of(access, access.array, 0):
                    return [
                        Cause(
                            "index", access.line, thread, place=place, belongs=str(need),
                            origins=origins,
                        )
                    ]  # fmt: skip
        return []

    def _outside_loads(self) -> Iterator[tuple[Load, Formula]]:
        """Yield the loads that changes have kept in their arrays, each with a value of its own: the
        element that it reads has nothing to do with the one that it should read.
        """
        for place in (change.place for change in self.base):
            if place.block is not None and place.thread is not None:
                for step in self.steps((place.block, place.thread)):
                    for one in step.accesses:
                        if Redirect.of(one, one.array, 0).place == place:
                            is_float = isinstance(one.value, np.floating)
                            yield self._load(one), self._alone(one, is_float)

    def _of_endless(self, finding: Finding) -> list[Cause]:
        """Find the condition that stays as it is."""
        thread = (finding.block, finding.thread)
        for step in reversed(self.steps(thread)[-50:]):
            for one in step.decisions:
                choice = self.choice(step, one)
                if choice.condition and choice.values:
                    return [Cause("endless", choice.line, thread, choice, is_tried=False)]
        return []

    # ---- wrong cells

    def _targets(self) -> Iterator[int]:
        """Yield wrong cells, those first whose formulas differ least."""

        def distance(cell: int) -> tuple:
            formula, goal = self.formula(cell), self.goal(cell)
            if not self.writers(cell):
                return (0, 0, 0)
            if formula is None or goal is None:
                return (1, 0, 0)
            odd = any(isinstance(one, Unset | Before) for one in formula.leaves())
            extra = formula.plus(goal, -1).terms
            pairs = max(map(len, _pairs(formula, goal)), default=0)
            return (1 + odd, len(extra) - pairs, len(extra))

        _ = self.has_formulas  # which chooses the cells
        distances = {cell: distance(cell) for cell in self.cells}
        seen: set[tuple] = set()
        for cell in sorted(distances, key=lambda one: (distances[one], one)):
            if distances[cell] not in seen and len(seen) < MOST_TARGETS:
                seen.add(distances[cell])
                yield cell

    def _last_writer(self, cell: int) -> tuple[Thread, int] | None:
        """Return the thread that has stored a cell last, and where; None for a cell that nobody
        stores, and for one whose formula is right: it is rounded otherwise, and nothing says why.
        """
        writers, goal = self.writers(cell), self.goal(cell)
        if not writers or (goal is not None and self.formula(cell) == goal):
            return None
        return self._named(writers[-1].lane), writers[-1].at

    @cached_property
    def _has_own_cells(self) -> bool:
        """Return whether the threads store the cells that they store in the right kernel: then a
        cell that another thread has stored has a value that was not meant for it.
        """
        stored = own = 0
        for thread, cells in self._cells_of.items():
            for cell in cells:
                if writers := self.followed.writers(self.out, cell):
                    stored += 1
                    own += any(self._named(one.lane) == thread for one in writers)
        return 3 * own >= stored

    def _is_foreign(self, cell: int, thread: Thread) -> bool:
        """Return whether a thread has stored a cell of another thread."""
        owner = self.owner(cell)
        return owner is not None and owner != thread and self._has_own_cells

    def _agreed(self, cell: int, causes: list[Cause]) -> tuple[int, list[Cause]]:
        """Return the causes on which some wrong cells agree, as a first one may have one by chance,
        and a cell that has them: of indices the one that explains the most cells, and the value of
        a variable only if it is wrong for another cell, too.
        """
        if causes[0].kind not in ("index", "variable"):
            return cell, causes
        search = self._shown if causes[0].kind == "index" else self._tried
        step = max(len(self.cells) // MOST_AGREED, 1)
        others = [one for one in self.cells[step // 2 :: step] if one != cell]
        found = (
            (one, more)
            for one in others
            if (more := search(one)) and more[0].kind == causes[0].kind
        )

        def place(one: tuple[int, list[Cause]]) -> tuple:
            first = one[1][0]
            return first.line, first.name, first.place and first.place.element.partition("[")[0]

        own = cell, causes
        if causes[0].kind == "variable":
            # Those first that nobody stores, if this is one of them.
            others.sort(key=lambda one: bool(self.writers(one)) != bool(self.writers(cell)))
            is_agreed = not others or any(place(one) == place(own) for one in found)
            return cell, causes if is_agreed else []
        every = [own, *found]
        counts = Counter(map(place, every))
        return max(every, key=lambda one: counts[place(one)])

    def _shown(self, cell: int) -> list[Cause]:
        """Return the causes that the formula of a cell shows."""
        if (writer := self._last_writer(cell)) is None:
            return []
        formula, goal = self.formula(cell), self.goal(cell)
        if formula is None or self._is_foreign(cell, writer[0]):
            return []
        if causes := self._of_unset(*writer, cell):
            return causes
        if goal is None:
            return []
        if causes := self._of_indices(*writer, cell):
            return causes
        cause = self._of_whole(writer[0], formula, goal) or self._of_constant(formula, goal)
        return [cause] if cause is not None else []

    def _tried(self, cell: int) -> list[Cause]:
        """Return the causes of a cell that runs with other decisions and stores show."""
        if not self.writers(cell):
            return self._of_unwritten(cell)
        if (writer := self._last_writer(cell)) is None:
            return []
        if causes := self._of_lost(cell, *writer):  # which needs no run
            return causes
        for thread, at in [writer, *self._fillers(*writer)]:
            if cause := self._blamed(thread, cell, at):
                return [cause]
        return self._of_start(cell, *writer) or self._of_store(cell, writer[0])

    def _of_start(self, cell: int, thread: Thread, at: int) -> list[Cause]:
        """Find a variable that begins with another number than it should: from that on, a thread
        also reads what its cell lacks.
        """
        formula, goal = self.formula(cell), self.goal(cell)
        if formula is None or goal is None:
            return []
        atoms = {
            atom
            for monomial in goal.plus(formula, -1).terms
            if monomial not in formula.terms
            for atom in monomial
            if isinstance(atom, Cell)
        }
        # Of each array the first one: the others come with it.
        lacks = {one.array: one for one in sorted(atoms, key=lambda one: -one.offset)}
        for step in self.steps(thread):
            for access in step.accesses:
                need = lacks.pop(access.array, None) if not access.is_store else None
                if need is None or access.at > at:
                    continue
                for name, value in self.place(access).values.items():
                    if isinstance(value, np.integer):
                        others = [int(value) - 1]
                        if isinstance(need.index, int) and isinstance(access.index, int):
                            others.insert(0, int(value) + need.index - access.index)
                        cause = self._of_variable(
                            thread, access.at, name, others, cell, is_always=True
                        )
                        if cause is not None:
                            return [cause]
        return []

    # ---- decisions

    def _blamed(self, thread: Thread, cell: int, at: int | None) -> Cause | None:
        """Turn each decision of a thread before a place, the nearest first. It is the cause if the
        cell comes right, also when it is turned wherever its variables had the same values. Where
        several terms differ, one turn may not be enough: then wherever they had them alone.
        """
        are_several = sum(map(len, self._differences(cell))) > 1
        is_elsewhere = self._belongs_elsewhere(cell)
        tried = 0
        known: set[tuple] = set()
        decisions = ((step, one) for step in reversed(self.steps(thread))
                     for one in reversed(step.decisions) if at is None or one.at <= at)  # fmt: skip
        for step, one in itertools.islice(decisions, MOST_LOOKED_AT):
            if is_elsewhere and one.is_true:
                continue  # without it, the terms would be in no cell
            tried += 1
            # A thread that is sent away must not miss its own cells.
            own = self._cells_of.get(thread, ()) if one.is_true else ()
            if tried <= MOST_DECISIONS:
                tape = self.again([Turn.of(step, one)])
                if self.mends(tape, cell, own):
                    choice = self.choice(step, one)
                    if self._is_mended_wherever(one, choice, cell):
                        return self._decided(thread, one, choice)
                    continue
                if (cause := self._skipped(thread, step, one, cell, tape)) is not None:
                    return cause
            elif not are_several:
                return None
            if are_several and len(known) < MOST_DECISIONS:
                choice = self._part_of(self.choice(step, one))
                key = one.pc, one.is_true, *choice.values.items()
                if not choice.values or key in known:
                    continue
                known.add(key)
                if self._is_mended_wherever(one, choice, cell, own):
                    return self._decided(thread, one, choice)
        return None

    def _belongs_elsewhere(self, cell: int) -> bool:
        """Return whether another wrong cell lacks what a cell has too much: it came to a wrong
        place.
        """
        missing, surplus = map(set, self._differences(cell))
        others = (self._differences(one)[0] for one in self.cells if one != cell)
        return bool(surplus) and not missing and any(surplus & set(one) for one in others)

    def _part_of(self, choice: Choice) -> Choice:
        """Return a choice with the part that has decided it, and with the values of that alone."""
        part, parts = choice.part, self.source.parts(choice.condition)
        if len(parts) > 1 and ("||" in choice.condition) != ("&&" in choice.condition):
            with contextlib.suppress(NoValue):
                decides = "||" in choice.condition
                is_it = (bool(self.source.value(p, choice.values)) == decides for p in parts)
                part = next(itertools.compress(parts, is_it), part)
        names = self.source.names(part)
        values = {name: value for name, value in choice.values.items() if name in names}
        return replace(choice, part=part, values=values)

    def _decided(self, thread: Thread, one: Decision, choice: Choice) -> Cause:
        odd = self._unlike_right(thread, choice.values)
        origins = self._origins(thread, one.at, odd or list(choice.values))
        return Cause("decision", choice.line, thread, choice, origins=origins)

    def _unlike_right(self, thread: Thread, values: Mapping[str, Any]) -> list[str]:
        """Return those of some variables which the same thread of the right kernel has, and never
        with this value.
        """
        known = {name: self._values_in_right(thread, name) for name in values}
        return [name for name, others in known.items() if others and values[name] not in others]

    def _values_in_right(self, thread: Thread, name: str) -> set[Any]:
        """Return the numbers that a variable of this name has in the same thread of the right
        kernel.
        """
        right, known = self.judge.right, self._known_in_right
        if right is None or not self._has_same_threads:
            return set()
        if (thread, name) not in known:
            inner = self._with(right.tape)
            steps = inner.steps(thread)[:MOST_LOOKED_AT]
            found = (inner.values(thread, one.at[1], [name]).get(name) for one in steps)
            known[thread, name] = {one for one in found if one is not None}
        return known[thread, name]

    @cached_property
    def _known_in_right(self) -> dict[tuple[Thread, str], set[Any]]:
        return {}

    @cached_property
    def _cells_of(self) -> dict[Thread, list[int]]:
        """The cells that each thread stores in the right kernel."""
        found: dict[Thread, list[int]] = {}
        for cell, owner in sorted(self._owners.items()):
            found.setdefault(owner, []).append(cell)
        return found

    def _skipped(
        self, thread: Thread, step: Step, one: Decision, cell: int, tape: Tape | None
    ) -> Cause | None:
        """Find a decision that leaves out a load outside of its array, where another element
        belongs.
        """
        goal, formula = self.goal(cell), self.formula(cell)
        if goal is None or formula is None or tape is None or tape.completed or one.is_true:
            return None
        stops = tape.recording.report.findings
        if not any(one.kind == "out-of-bounds" and one.thread == thread[1] for one in stops):
            return None
        tape = self.experiment.record((*self.base, Turn.of(step, one)), blocks=thread[:1])
        access = self._outside(tape, thread)
        if access is None or access.is_store or access.array not in self.tape.inputs:
            return None
        lacks = [
            atom
            for monomial in goal.plus(formula, -1).terms
            for atom in monomial
            if isinstance(atom, Cell) and atom.array == access.array
        ]
        for need in dict.fromkeys(lacks):
            change = Redirect.of(access, need.array, need.index)
            changes: list[Change] = [Turn.of(step, one), change]
            if self.mends(self.again(changes), cell) and self._gives(changes, cell, goal):
                inner = self._with(tape)
                return Cause(
                    "skipped", one.line, thread, self.choice(step, one), place=inner.place(access),
                    belongs=str(need), origins=inner.origins(access),
                )  # fmt: skip
        return None

    def _gives(self, changes: Sequence[Change], cell: int, goal: Formula) -> bool:
        """Return whether a cell has the right formula with some changes: inputs with equal values
        may make it right by chance.
        """
        judge = replace(self.judge, right=None)  # whose values stay followed as they are
        inner = Search(self.experiment, judge, (*self.base, *changes))
        inner.cells = [cell]
        return inner.formula(cell) == goal

    def _is_mended_wherever(
        self, one: Decision, choice: Choice, cell: int, own: Iterable[int] = ()
    ) -> bool:
        """Return whether a decision makes a cell right that is turned wherever its variables have
        the same values, and not by chance. own: as of `mends`.
        """
        tape, changes = self._turned_wherever(one, choice)
        return self.mends(tape, cell, own) and not (
            self._is_chance(changes, cell) or self._is_refuted(one, choice)
        )

    def _is_chance(self, changes: Sequence[Change], cell: int) -> bool:
        """Return whether changes that make a cell right leave it wrong with other inputs: the
        largest of some is often right by chance. The inputs change their places, and the right
        formula says what the cell should be; one that cannot be computed must be given itself.
        """
        goal = self.goal(cell)
        if goal is None:
            return False
        functions = _functions(goal)
        is_computed = all(one.is_computed for one in functions)
        if not is_computed or not all(isinstance(one, Cell | Scalar) for one in goal.leaves()):
            return not self._gives(changes, cell, goal)
        for seed in range(MOST_DRAWN if functions else MOST_DRAWN_FOR_SUMS):
            drawn, inputs = self._drawn(seed)
            try:
                tape = drawn.record((*self.base, *changes), blocks=())
                want, size = goal.evaluate(inputs), goal.magnitude(inputs)
            except (NotRecorded, ValueError, KeyError):
                return False
            got = tape.outputs[self.out].reshape(-1)[cell]
            is_known = tape.completed and np.isreal(got) and np.isfinite([want, size]).all()
            if is_known and not abs(float(got) - want) <= ROUNDING * size:
                return True
        return False

    def _drawn(self, seed: int) -> tuple[Experiment, dict[str, np.ndarray]]:
        """Return the launch with the numbers of each array of floats in another order, and the
        arrays by name.
        """
        draws = np.random.default_rng(seed)

        def drawn(given: Any) -> Any:
            if isinstance(given, np.ndarray) and given.dtype.kind == "f":
                return draws.permutation(given.reshape(-1)).reshape(given.shape)
            return given

        experiment = self.experiment
        arguments = tuple(map(drawn, experiment.arguments))
        constants = {name: drawn(one) for name, one in experiment.constants.items()}
        names = [one.name for one in self.tape.recording.kernel.parameters]
        arrays = {**dict(zip(names, arguments, strict=True)), **constants}
        inputs = {name: arrays.get(name, one) for name, one in self.tape.inputs.items()}
        return replace(experiment, arguments=arguments, constants=constants), inputs

    def _is_refuted(self, one: Decision, choice: Choice) -> bool:
        """Return whether a decision breaks another case that is turned wherever its variables have
        the same values: in a small case, what it leads to may not be needed.
        """
        turn = self._turn_anywhere(one, choice)
        if turn is None or self.base:
            return False
        for experiment, judge in self.judge.others():
            with contextlib.suppress(NotRecorded, ValueError):
                tape = experiment.record([turn], blocks=())
                plain = experiment.record(blocks=())
                if not tape.completed or not plain.completed:
                    continue
                known = judge.wrong(plain)
                if any((mask & ~known[name]).any() for name, mask in judge.wrong(tape).items()):
                    return True
        return False

    def _turn_anywhere(
        self, one: Decision, choice: Choice, block: Extents | None = None
    ) -> Turn | None:
        """Return the turn of a decision wherever its variables have the same values, None if these
        alone do not decide it.
        """
        if not choice.values or any("." in name for name in choice.values):
            return None
        with contextlib.suppress(NoValue):
            self.source.value(choice.part or choice.condition, choice.values)
            return Turn(At(one.pc, block, where=choice.values))
        return None

    def _turned_wherever(
        self, one: Decision, choice: Choice, block: Extents | None = None
    ) -> tuple[Tape | None, Sequence[Change]]:
        """Turn a decision wherever the variables of its choice have the same values. block: only
        there.
        """
        # What these variables alone decide, the machine can turn without a list of turns.
        turn = self._turn_anywhere(one, choice, block)
        changes: Sequence[Change] = [turn] if turn is not None else []
        tape = self.again(changes) if changes else None
        for others in (self._visits, self._alike):
            if tape is None:
                changes = others(one, choice, block)
                tape = self.again(changes)
        return tape, changes

    def _visits(self, one: Decision, choice: Choice, block: Extents | None) -> list[Change]:
        """Return the turns of a decision for all threads for which it is what it was, while the
        variables have these values: the machine looks at them.
        """
        known = {name: value for name, value in choice.values.items() if "." not in name}
        special = {name: value for name, value in choice.values.items() if "." in name}
        found: dict[tuple[Extents, Extents, int | None], None] = {}
        for visit in self.tape.visits(one.pc):
            thread = visit.block, visit.thread
            is_it = visit.is_true == one.is_true and block in (None, visit.block)
            if is_it and (not special or special.items() <= self._special(thread).items()):
                found[visit.block, visit.thread, None if known else visit.nth] = None
            if len(found) > MOST_ALIKE:
                break
        return [Turn(At(one.pc, at, who, nth, known)) for at, who, nth in found]

    def _alike(
        self, one: Decision, choice: Choice, block: Extents | None = None
    ) -> list[Change]:
        """Return all turns of a decision where the variables of its condition have these values."""
        found: list[Change] = []
        special = {name: value for name, value in choice.values.items() if "." in name}
        threads = {
            (visit.block, visit.thread): None
            for visit in self.tape.visits(one.pc)
            if visit.is_true == one.is_true and block in (None, visit.block)
        }
        for thread in threads:
            if not special.items() <= self._special(thread).items():
                continue
            for step in self.steps(thread):
                for other in step.decisions:
                    if other.pc != one.pc or other.is_true != one.is_true:
                        continue
                    if self.values(thread, other.at, choice.values) == choice.values:
                        found.append(Turn.of(step, other))
            if len(found) > MOST_ALIKE:
                break
        return found

    def _of_unwritten(self, cell: int) -> list[Cause]:
        if not self.followed.can_store:
            return []  # whatever a thread decides
        owner = self.owner(cell)
        busy = {self._named(one) for one in self.followed.lanes_storing(self.out)}
        idle = [one for one in self.threads if one not in busy]
        is_busy = owner is not None and owner not in idle
        if owner is not None and is_busy and (causes := self._of_store(cell, owner)):
            return causes
        # Without an owner any thread may be the one that should have stored it.
        others = idle[:: -(-len(idle) // MOST_IDLE) or 1] if owner else idle[: 4 * MOST_IDLE]
        for thread in dict.fromkeys([*([owner] if owner else []), *others]):
            if cause := self._blamed(thread, cell, None):
                return [cause]
        if owner is None:
            return []
        if not is_busy and (causes := self._of_store(cell, owner)):
            return causes
        return self._of_condition(cell, owner) or self._last_choice(owner)

    def _last_choice(self, thread: Thread) -> list[Cause]:
        """Return the last decision of a thread, if it is false and keeps the thread from lines to
        which it has never come.
        """
        for step in reversed(self.steps(thread)):
            for one in reversed(step.decisions):
                choice = self.choice(step, one)
                if choice.is_true or not choice.condition:
                    return []
                tape = self.experiment.record(
                    (*self.base, Turn.of(step, one)), blocks=thread[:1]
                )
                known = {other.line for other in self.steps(thread)}
                if all(other.line in known for other in tape.thread(*thread)):
                    return []  # a loop that has come to its end
                origins = self._origins(thread, one.at, list(choice.values))
                return [Cause("idle", one.line, thread, choice, origins=origins, is_tried=False)]
        return []

    def _stores(self, thread: Thread, array: str) -> list[Access]:
        """Return the stores of a thread to an array, with the lines of their steps: their own may
        be those of a header.
        """
        return [
            replace(one, line=step.line)
            for step in self.steps(thread)
            for one in step.accesses
            if one.is_store and one.array == array
        ]

    def _of_condition(self, cell: int, thread: Thread) -> list[Cause]:
        """Find a variable of the last condition, which keeps a thread from its cell: with another
        value the cell is right.
        """
        for step in reversed(self.steps(thread)):
            for one in reversed(step.decisions):
                choice = self.choice(step, one)
                for name in choice.values:
                    cause = self._of_variable(thread, one.at, name, self._numbers_of(cell), cell)
                    if cause is not None:
                        return [replace(cause, choice=choice)]
        return []

    def _numbers_of(self, cell: int) -> list[int]:
        index = np.unravel_index(cell, self.wrong[self.out].shape)
        return list(dict.fromkeys((cell, *(int(k) for k in reversed(index)))))

    def _of_store(self, cell: int, thread: Thread) -> list[Cause]:
        """Find a store to another cell: with another value of a variable of its index, or if it
        goes to this cell, the cell is right.
        """
        owner = self.owner(cell)
        for who in dict.fromkeys(filter(None, (owner, thread))):
            for access, meant in self._stores_instead(who, cell):
                if access.index == meant or not isinstance(access.index, int):
                    continue
                place = self.place(access)
                for name, others in self._other_values(access, place, meant):
                    cause = self._of_variable(who, access.at, name, others, cell)
                    if cause is not None:
                        return [replace(cause, place=place, belongs=self._cell_text(meant))]
                if meant != cell:
                    continue
                change = Redirect.of(access, self.out, cell)
                tape = self.again([change])
                cause = Cause(
                    "store", access.line, who, place=place, belongs=self._cell_text(cell),
                    origins=self._origins(who, access.at, self._unlike_right(who, place.values)),
                )  # fmt: skip
                goal = self.goal(cell)
                if self.mends(tape, cell) and (goal is None or self._gives([change], cell, goal)):
                    return [cause]
                is_first = tape is not None and tape.completed and not self.base
                if is_first and (more := self._of_both(change, cell)):
                    return [cause, *more]
        return []

    def _of_all_stores(self, is_written: bool) -> tuple[int | None, list[Cause]]:
        """Find stores to other cells than those to which the same threads store in the right
        kernel, of the output or of shared memory: if each of them goes there, or with another value
        of a variable of their index in each thread, all is right. Returns the wrong cell that is
        told as well. is_written: only those whose index the source writes plainly, or only the
        others, of which something else may say why.
        """
        shared = [moved for name in self._shared_in_right.items() if (moved := self._moved(*name))]
        together = [list(itertools.chain(*shared))] if len(shared) > 1 else []
        for moved in (self._moved(self.out, self._name_in_right), *shared, *together):
            told = self._told_of(moved) if 0 < len(moved) <= MOST_MOVED else None
            access = self._store_at(told[1]) if told is not None else None
            if told is None or access is None:
                continue
            cell, first = told
            place, belongs = self.place(access), self._cell_text(first.meant, first.array)
            if bool(place.text) != is_written:
                continue
            changes = [
                Redirect(At(one.store.pc, *one.thread, one.store.nth), one.array, one.meant)
                for one in moved
            ]
            if self._is_all_right(self.again(changes)):
                cause = Cause(
                    "store", access.line, first.thread, place=place, belongs=belongs,
                    origins=self.origins(access), count=len(moved),
                )  # fmt: skip
                return cell, [cause]
            for name in place.values if len(moved) <= MOST_SET else ():
                found = self._of_variable_of_all(name, moved, first)
                if found is not None:
                    return cell, [replace(found, place=place, belongs=belongs)]
        return None, []

    @cached_property
    def _shared_in_right(self) -> dict[str, str]:
        """The arrays of shared memory, each with the name of its like in the right kernel: one of
        that name and as many indices, or the only one of its shape.
        """
        right = self.judge.right
        if right is None or not self._has_same_threads:
            return {}
        own, others = (
            {one.name: one.extents for one in tape.arrays if one.space == "shared"}
            for tape in (self.tape, right.tape)
        )
        named = [one for one in own if len(own[one]) == len(others.get(one, ()))]
        found = {one: one for one in named}
        for one in [name for name in own if name not in found]:
            like = [other for other in others if other not in found.values()
                    and others[other] == own[one]]  # fmt: skip
            if len(like) == 1 and list(own.values()).count(own[one]) == 1:
                found[one] = like[0]
        return found

    def _moved(self, array: str, name_in_right: str) -> list[_Moved]:
        """Return the stores to other cells of an array than in the right kernel, with the cells
        that it stores in their place; none where a thread that stores there stores more often, or
        less often, here.
        """
        right = self.judge.right
        if not self._owners or right is None or self.followed.needs_formulas(array):
            return []
        own = self.followed.stores_by_lane(array)
        others = right.stores_by_lane(name_in_right)
        both = own.keys() & others.keys()
        if any(len(own[lane]) != len(others[lane]) for lane in both):
            return []
        place, other = (
            tape.arrays.by_name[name]
            for tape, name in ((self.tape, array), (right.tape, name_in_right))
        )
        found = []
        for lane in sorted(both):
            for one, meant in zip(own[lane], others[lane], strict=True):
                cell = meant.cell
                if place.extents[1:] != other.extents[1:] and place.space == "shared":
                    try:
                        cell = place.flat(other.index(cell))  # of rows that are padded
                    except ValueError:
                        return []
                if cell != one.cell:
                    found.append(_Moved(array, self._named(lane), one, cell))
        return found

    def _told_of(self, moved: Sequence[_Moved]) -> tuple[int, _Moved] | None:
        """Return a wrong cell and the first of some stores that go elsewhere which is meant for it,
        or for what its thread reads; None where none of them has to do with a wrong cell.
        """
        wrong = self.wrong[self.out].reshape(-1)
        if moved[0].array == self.out:
            own = [one for one in moved if wrong[one.meant]]
            first = min(own, key=lambda one: (one.meant, one.thread), default=None)
            return (first.meant, first) if first is not None else None
        for cell in self._targets():
            if (writer := self._last_writer(cell)) is None:
                continue
            places = self.tape.arrays.by_name
            read = {one.address for one in self._loads_before(*writer) if one.space == "shared"}
            for one in sorted(moved, key=lambda one: one.store.at):
                place = places[one.array]
                is_read = place.start + one.meant * place.element_bytes in read
                if is_read and one.thread[0] == writer[0][0]:
                    return cell, one
        return None

    def _store_at(self, moved: _Moved) -> Access | None:
        """Return the first access of a store."""
        stores = self._stores(moved.thread, moved.array)
        return next((one for one in stores if one.at == moved.store.at), None)

    def _of_variable_of_all(
        self, name: str, moved: Sequence[_Moved], told: _Moved
    ) -> Cause | None:
        """Give a variable, in all threads, the value by which they store to the cells that are
        meant: is all right then? Where it is off by the same number in all of a block, the block's
        threads that should store nothing get another value, too.
        """
        changes: dict[tuple[int, Thread, int], Replace] = {}
        shifts: dict[Extents, set[tuple[int, int, int]]] = {}  # by block: pc, element, difference
        cause: Cause | None = None
        for one in moved:
            thread, at = one.thread, one.store.at
            access = self._store_at(one)
            definition = self._definition(thread, at, name)
            other = self._value_for(access, name, one.meant) if access is not None else None
            if access is None or definition is None or other is None:
                return None
            entry, element = definition
            entries = self.tape.log(*thread).entries
            row, value = entries[entry][0].row, self.place(access).values[name]
            if row.line == 0:
                return None  # a parameter, which the launch gives
            nth = sum(event.row.pc == row.pc for event, _ in entries[:entry])
            change = Replace(At(row.pc, *thread, nth), other, element)
            if changes.setdefault((row.pc, thread, nth), change).value != other:
                return None
            shifts.setdefault(thread[0], set()).add((row.pc, element, other - int(value)))
            if one == told:
                origins = self._origins(thread, at, [name])
                cause = Cause(
                    "variable", origins[0].line if origins else access.line, thread,
                    origins=origins, name=name, value=value, belongs_value=other,
                    count=len(moved),
                )  # fmt: skip
        for block, found in shifts.items():
            if len(found) == 1 and len(self.tape.threads) <= MOST_SET:
                pc, element, difference = found.pop()
                for thread, nth, value in self._results_at(block, pc, element):
                    if thread not in self._cells_of:
                        place = At(pc, *thread, nth)
                        changes[pc, thread, nth] = Replace(place, value + difference, element)
        return cause if self._is_all_right(self.again(list(changes.values()))) else None

    def _results_at(
        self, block: Extents, pc: int, element: int
    ) -> Iterator[tuple[Thread, int, int]]:
        """Yield the threads of a block that come to an instruction, each with its nth time there
        and the bits of what it gets.
        """
        for thread in self.tape.threads:
            results = (
                event.values[element][lane]
                for event, lane in self.tape.log(block, thread).entries
                if event.row.pc == pc and event.values is not None
            )
            for nth, value in enumerate(results):
                yield (block, thread), nth, value

    def _value_for(self, access: Access, name: str, cell: int) -> int | None:
        """Return the value of a variable with which a store goes to a cell, by the index that the
        source writes; None where that is not plain, or no number is enough.
        """
        place = self.place(access)
        text, value = place.text[len(access.array) + 1 : -1], place.values.get(name)
        if not isinstance(value, np.integer):
            return None
        values = {**place.values, name: value}
        indices = []
        for other in (int(value), int(value) + 1):
            found = self._index(text, {**values, name: type(value)(other)})
            if found is None or len(found) != 1:
                return None
            indices.append(int(found[0]))
        step = indices[1] - indices[0]
        if indices[0] != access.index or step == 0 or (cell - indices[0]) % step:
            return None
        return int(value) + (cell - indices[0]) // step

    def _other_values(
        self, access: Access, place: Place, cell: int
    ) -> Iterator[tuple[str, list[int]]]:
        """Yield variables by which a store would go to a cell, with the values that they would
        have: those of its index; where the source does not say it plainly, those that are set last
        and equal an index that is another one in the cell.
        """
        assert isinstance(access.index, int)
        needs = self._needs(access, cell)
        for name, value in place.values.items():
            if isinstance(value, np.integer):
                first = [needs[name]] if name in needs else []
                yield name, [*first, *self._numbers_of(cell)]
        shape = self.wrong[self.out].shape
        if place.text or not 0 <= access.index < int(np.prod(shape)):
            return
        got, want = np.unravel_index(access.index, shape), np.unravel_index(cell, shape)
        differ = {int(a): int(b) for a, b in zip(got, want, strict=True) if a != b}
        thread = (access.block, access.thread)
        log, entry = self.tape.log(*thread), self._entry(thread, access.at)
        seen = log.translation.variables_at(log.entries[entry][0].row.pc)
        values = self.values(thread, access.at, [one.variable.name for one in seen])
        is_it = {k: int(v) for k, v in values.items() if isinstance(v, np.integer) and v in differ}
        places = {name: self._definition(thread, access.at, name) for name in is_it}
        known = [(at[0], name) for name, at in places.items() if at is not None]
        for _, name in sorted(known, reverse=True)[:MOST_LINES]:
            yield name, [differ[is_it[name]]]

    def _stores_instead(self, thread: Thread, cell: int) -> list[tuple[Access, int]]:
        """Return the stores of a thread that may be meant for a cell: the one in whose place the
        right kernel stores it, and the last ones to cells that are not the thread's own. Before
        these, if their order tells nothing, the thread's first store to another cell than in the
        right kernel, with that cell.
        """
        stores, right = self._stores(thread, self.out), self.judge.right
        own = self._cells_of.get(thread, ())
        found = [(one, cell) for one in stores[-3:] if one.index not in own]
        if right is not None:
            by_lane = right.stores_by_lane(self._name_in_right)
            meant = [one.cell for one in by_lane.get(self._lane(thread), ())]
            if len(meant) == len(stores) and meant.count(cell) == 1:
                found.insert(0, (stores[meant.index(cell)], cell))
            else:
                pairs = zip(stores, meant, strict=False)
                found[:0] = [(one, other) for one, other in pairs if one.index != other][:1]
        return found

    def _of_both(self, change: Change, cell: int) -> list[Cause]:
        """Return the causes that a cell has besides a change that does not mend it alone."""
        inner = Search(self.experiment, self.judge, (*self.base, change))
        if not inner.tape.completed or not inner.wrong[self.out].reshape(-1)[cell]:
            return []
        if not (writers := inner.writers(cell)):
            return []
        thread, at = inner._named(writers[-1].lane), writers[-1].at
        inner.wrong = self.wrong  # nothing that was right may be wrong after both
        return inner._of_indices(thread, at, cell)

    def _cell_text(self, cell: int, array: str = "") -> str:
        place = self.tape.arrays.by_name[array or self.out]
        return _element(place.name, place.index(cell) if place.space == "shared" else cell)

    def _of_variable(
        self, thread: Thread, at: int, name: str, others: Iterable[int], cell: int,
        is_always: bool = False,
    ) -> Cause | None:
        """Give a variable another value where it got its own: is the cell right then? Or one of
        those that the first of these values comes from, if that leaves fewer wrong cells.
        is_always: also each time that the thread comes there.
        """

        def order(one: tuple[int, int, Cause]) -> tuple[int, bool, int]:
            left, depth, cause = one
            # Of those that do the same the first one that was set otherwise than it should.
            is_unlike = bool(self._unlike_right(thread, {cause.name: cause.value}))
            return left, not is_unlike, -depth if is_unlike else depth

        found = list(self._variables(thread, at, name, list(others), cell, is_always))
        return min(found, key=order)[2] if found else None

    def _variables(
        self, thread: Thread, at: int, name: str, others: Sequence[int], cell: int, is_always: bool,
        depth: int = 0,
    ) -> Iterator[tuple[int, int, Cause]]:
        """Yield the variables as of _of_variable, each after how many cells it leaves wrong, and
        how many others come from it on the way to the first one. The count of a loop, which begins
        with a number, is none that others come from.
        """
        definition = self._definition(thread, at, name)
        if definition is None:
            return
        entry, element = definition
        entries = self.tape.log(*thread).entries
        if entries[entry][0].row.line == 0:
            return  # a parameter, read before the first line: the launch gives it
        pc = entries[entry][0].row.pc
        nth = sum(event.row.pc == pc for event, _ in entries[:entry])
        value = self.values(thread, at, [name]).get(name)
        times = (nth, None) if is_always else (nth,)
        origins = self._origins(thread, at, [name])
        for other, when in itertools.product(dict.fromkeys(others), times):
            if value is None or int(value) == other or not self._can_be(thread, name, other):
                continue
            change = Replace(At(pc, *thread, when), other, element)
            tape = self.again([change])
            if tape is None or not tape.completed:
                continue
            wrong = self.judge.wrong(tape)
            was_right = ~self.wrong[self.out] & wrong[self.out]
            is_mended = not wrong[self.out].reshape(-1)[cell] and not was_right.any()
            if is_mended and not self._is_chance([change], cell):
                line = origins[0].line if origins else entries[entry][0].row.line
                cause = Cause(
                    "variable", line, thread, origins=origins, name=name, value=value,
                    belongs_value=other,
                )  # fmt: skip
                yield int(wrong[self.out].sum()), depth, cause
                break
        for origin, other in itertools.product(origins, others[:1]):
            needs = trail.needed(self.source, origin.text, origin.values, other)
            begun = entries[entry][0].number
            for inner, need in needs.items():
                value = self.values(thread, begun, [inner]).get(inner)
                is_right = value in self._values_in_right(thread, inner)
                if is_right or not self._origins(thread, begun, [inner]):
                    continue
                yield from self._variables(
                    thread, begun, inner, [need], cell, is_always, depth + 1
                )

    def _can_be(self, thread: Thread, name: str, other: int) -> bool:
        """Return whether a variable can have a value: a number below 0 only if it has one in the
        right kernel, or in this one.
        """
        if other >= 0 or any(one < 0 for one in self._values_in_right(thread, name)):
            return True
        steps = self.steps(thread)[:MOST_LOOKED_AT]
        found = (self.values(thread, one.at[1], [name]).get(name) for one in steps)
        return any(one is not None and one < 0 for one in found)

    def _definition(self, thread: Thread, at: int, name: str) -> tuple[int, int] | None:
        """Return the entry of the thread's log that gave a variable its value, and which of its
        results it is.
        """
        log, entry = self.tape.log(*thread), self._entry(thread, at)
        frame = log.frames[entry]
        for candidate in log.translation.variables_at(log.entries[entry][0].row.pc):
            if candidate.variable.name != name:
                continue
            register, until = frame.register_of(candidate, entry)
            known = frame.registers.get(register)
            k = bisect.bisect_left(known[0], until) - 1 if known is not None else -1
            if known is None or k < 0:
                continue
            row = log.entries[known[0][k]][0].row
            results = [one for one in row.results if one >= 0]
            if register in results:
                return known[0][k], results.index(register)
        return None

    # ---- indices

    def _of_indices(self, thread: Thread, at: int, cell: int) -> list[Cause]:
        """Find a line whose loads, with the values that belong there, make the cell right."""
        for some in self._misread(thread, at, cell):
            access, need = some[0]
            return [
                Cause(
                    "index", access.line, (access.block, access.thread),
                    place=self.place(access), belongs=str(need),
                    stored_by=self._stored_by(access), origins=self._trail(access, need, cell),
                    count=len(some),
                )
            ]  # fmt: skip
        return []

    # ---- back to the variable at fault

    def _trail(self, access: Access, need: Cell, cell: int) -> tuple[Origin, ...]:
        """Return where the variable of an index was set that is not what it is in the right kernel,
        or else the only one by which the index can be right. need: what belongs in place of what is
        read.
        """
        right = self._right_loads(cell, need)
        same = next((one for one in right.loads if right.own(one) == access.array), None)
        goal = same.index if same else need.index if need.array == access.array else None
        if goal is None or not self.place(access).text:
            found = self.origins(access)
            return found if len(found) == 1 else ()
        return self._trail_to(access, goal, right, same)

    def _trail_to(
        self, access: Access, goal: Any, right: _Right, same: Access | None
    ) -> tuple[Origin, ...]:
        """Return where the variable was set by which an access is not to its goal. same: the access
        of the right kernel with which variables are compared, None for none.
        """
        thread, place = (access.block, access.thread), self.place(access)
        name, _, text = place.text.partition("[")
        if same is not None and name != access.array:
            own, other = (
                teller._pointers((one.block, one.thread), one.at).get(name)
                for teller, one in ((self, access), (right.teller, same))
            )
            if own is not None and other is not None and own.index != other.index:
                return self._origins(thread, access.at, [name])
        if (inner := self._goal_inside(access, goal)) is None:
            return ()
        return self._way_back(thread, access.at, text[:-1], place.values, inner, right, same)

    def _goal_inside(self, access: Access, goal: Any) -> Any:
        """Return what the index that a source writes must be, so that an access is to its goal:
        another number where it goes by a pointer into the array. None where that is not known.
        """
        place = self.place(access)
        text = place.text.partition("[")[2][:-1]
        got = self._index(text, place.values) if text else None
        if got is not None and isinstance(goal, int) and isinstance(access.index, int):
            return got[0] + goal - access.index
        return goal if got is not None else None

    def _needs(self, access: Access, goal: Any) -> dict[str, int]:
        """Return for each variable of an index the value with which it alone gives another one."""
        place, inner = self.place(access), self._goal_inside(access, goal)
        text = place.text.partition("[")[2][:-1]
        return trail.needed(self.source, text, place.values, inner) if inner is not None else {}

    def _way_back(
        self, thread: Thread, at: int, text: str, values: Mapping[str, Any], goal: Any,
        right: _Right, same: Access | None,
    ) -> tuple[Origin, ...]:
        """Return where the variable of an expression was set that keeps it from its goal, after
        where those were that its value comes from.
        """
        known = right.values(same, values) if same is not None else {}
        needs = trail.needed(self.source, text, values, goal)
        odd = {name: value for name, value in known.items() if value != values[name]}
        if not odd:
            unknown = [name for name in needs if name not in known]
            odd = {name: needs[name] for name in unknown} if len(unknown) == 1 else {}
        elif trail.value_of(self.source, text, {**values, **odd}) != trail.as_tuple(goal):
            return ()
        for name, need in odd.items():
            for one in self._origins(thread, at, [name]):
                entry, _ = self._definition(thread, at, name) or (0, 0)
                begun = self.tape.log(*thread).entries[entry][0].number
                inner = self._way_back(
                    thread, begun, one.text, one.values, int(need), right, same
                )
                return (*inner, one)
        return ()

    def _right_loads(self, cell: int, need: Cell) -> _Right:
        """Return the loads of the right kernel that bring what a cell needs."""
        right, names = self.judge.right, self.judge.names
        if right is None or not right.is_followed:
            return _Right(self, [], names)
        inner = self._with(right.tape)
        inner.followed = right
        writers = right.writers(self._name_in_right, cell)
        leaf = _renamed(Formula.of(need), {own: name for name, own in names.items()}).atom
        if not writers or leaf is None:
            return _Right(inner, [], names)
        thread = inner._named(writers[-1].lane)
        return _Right(
            inner, [one for _, one in inner._loads_of(thread, writers[-1].at, leaf)], names
        )

    def _misread(self, thread: Thread, at: int, cell: int) -> Iterator[list[tuple[Access, Cell]]]:
        """Yield loads of one line, each with the cell that belongs in its place: with these cells
        the formula is the right one, and with their values the launch makes the cell right.
        """
        formula, goal = self.formula(cell), self.goal(cell)
        if formula is None or goal is None:
            return
        for pairs in _pairs(formula, goal):
            by_line: dict[tuple[int, int, str], list[Access]] = {}
            for have in dict.fromkeys(pair.have for pair in pairs):
                for level, access in self._loads_of(thread, at, have):
                    if access.space != "local":
                        by_line.setdefault((level, access.line, access.array), []).append(access)
            # Those nearest to the store first: an earlier load may have filled what they read.
            nearest = sorted(
                by_line.items(), key=lambda one: (one[0][0], -max(k.at for k in one[1]))
            )
            later = []
            for _, loads in nearest:
                some = self._instead(loads, pairs, cell)
                changes = [
                    Replace.of(one, value)
                    for one, need in some
                    if (value := self._value(one, need)) is not None
                ]
                if not changes or not self.mends(self.again(changes), cell):
                    continue
                if all(self._is_as_in_right(access) for access, _ in some):
                    continue  # it has a right value, and goes to a wrong place
                if all(a.space != "shared" or self._stands_in_shared(a, n) for a, n in some):
                    # Where the right kernel reads the same, what lies there is rather at fault.
                    if all(self._right_loads(cell, n).has(a) for a, n in some):
                        later.append(some)
                    else:
                        yield some
            yield from later

    def _is_as_in_right(self, access: Access) -> bool:
        """Return whether the same thread of the right kernel reads the same cells of an array in
        the same order.
        """
        right, names = self.judge.right, self.judge.names
        if right is None or not self._has_same_threads:
            return False
        thread = access.block, access.thread
        shared = {name: own for own, name in self._shared_in_right.items()}
        own, others = (
            [
                one.index
                for step in teller.steps(thread)
                for one in step.accesses
                if not one.is_store and names.get(one.array, one.array) == access.array
            ]
            for teller, names in ((self, {}), (self._with(right.tape), {**names, **shared}))
        )
        return own == others

    def _instead(
        self, loads: Iterable[Access], pairs: Sequence[_Pair], cell: int
    ) -> list[tuple[Access, Cell]]:
        """Return those of some loads that bring the surplus terms, each with what belongs in its
        place, if the formula is right with that; none if it is not.
        """
        alone: dict[Load, Formula] = {}
        was: dict[Atom | None, Atom | None] = {}
        for one in loads:
            if (form := self._loaded(one)) is not None:
                alone[self._load(one)] = self._alone(one, form.is_float)
                was[alone[self._load(one)].atom] = form.atom
        try:
            formula = self.followed.formula_with(self.out, cell, alone, self.work)
        except NotRecorded:
            return []
        if not isinstance(formula, Formula):
            return []
        needs: dict[Atom | None, Cell] = {}
        for pair in pairs:
            rest = Counter(pair.surplus) - Counter([pair.have])
            brought = [
                (atom, coefficient)
                for monomial, coefficient in formula.terms.items()
                for atom in monomial
                if was.get(atom) == pair.have
                and Counter(was.get(one) or one for one in monomial if one != atom) == rest
            ]
            if not math.isclose(sum(c for _, c in brought), pair.coefficient):
                # Others of them bring what is right.
                brought = [one for one in brought if math.isclose(one[1], pair.coefficient)][:1]
            needs |= {atom: pair.need for atom, _ in brought}
        if _mapped(formula, lambda one: needs.get(one) or was.get(one) or one) != self.goal(cell):
            return []
        atoms = ((one, alone[self._load(one)].atom) for one in loads)
        return [(one, needs[atom]) for one, atom in atoms if atom in needs]

    def _load(self, one: Access) -> Load:
        return one.at, self._linear(one.thread), one.element

    def _alone(self, one: Access, is_float: bool) -> Formula:
        """Return what an access has read as a formula that no other load has."""
        return Formula.of(Loaded(self._load(one), one.value.item()), is_float)

    def _value(self, access: Access, need: Atom) -> Any:
        """Return the value that a load would have of an atom; None for one without a value."""
        if isinstance(need, Unset | Before) or access.value is None:
            return None
        value = Formula.of(need).evaluate(self.tape.inputs)
        return np.asarray(value).astype(np.asarray(access.value).dtype)[()]

    def _loads_of(self, thread: Thread, at: int, leaf: Atom) -> list[tuple[int, Access]]:
        """Return the loads that brought a leaf to a thread: its own, then those of the threads that
        stored it in shared memory, with how many stores lie between.
        """
        goal = Formula.of(leaf)
        found, todo, seen = [], [(thread, at, 0)], set()
        while todo:
            who, end, level = todo.pop(0)
            if (who, end) in seen or level > 3:
                continue
            seen.add((who, end))
            for step in self.steps(who):
                if step.at[0] > end:
                    break
                for one in step.accesses:
                    if one.is_store or one.at > end or self._loaded(one) != goal:
                        continue
                    found.append((level, one))
                    if (by := self._store_before(one)) is not None:
                        todo.append((by[0], by[1], level + 1))
            # Of a whole fragment the record has no accesses, but the threads that filled it.
            for by in self._fillers_of_fragments(who, end, goal):
                todo.append((by[0], by[1], level + 1))
        return found

    def _fillers_of_fragments(
        self, thread: Thread, end: int, goal: Formula
    ) -> Iterator[tuple[Thread, int, int]]:
        """Yield thread, place and line of the stores to shared memory from which a thread's warp
        has loaded a formula with a fragment.
        """
        provenance, warp = self.tape.provenance, self._linear(thread[1]) // 32
        number = self.tape._number(thread[0], self.tape.grid, "block")
        for key, address in provenance.places.items():
            at, linear, _ = key
            if at > end or linear // 32 != warp or provenance.loaded[key] != goal:
                continue
            by = self._last_store(address, at, "shared", number)
            if by is not None and self.tape.recording.event(at).block == number:
                yield by

    def _lane(self, thread: Thread) -> tuple[int, int]:
        return self.tape._number(thread[0], self.tape.grid, "block"), self._linear(thread[1])

    def _linear(self, thread: tuple[int, int, int]) -> int:
        return self.tape._number(thread, self.tape.block, "thread")

    def _loaded(self, one: Access) -> Formula | None:
        form = self.tape.provenance.loaded.get(self._load(one))
        return form if isinstance(form, Formula) else None

    def _store_before(self, one: Access) -> tuple[Thread, int, int] | None:
        """Return thread, place and line of the last store to what an access reads."""
        if one.space not in ("shared", "global"):
            return None
        number = self.tape._number(one.block, self.tape.grid, "block")
        return self._last_store(one.address, one.at, one.space, number)

    def _last_store(
        self, address: int, at: int, space: str, block: int
    ) -> tuple[Thread, int, int] | None:
        """Return thread, place and line of the last store to an address before a place."""
        last = None
        for store in self.followed.stores(address):
            if store.at < at and (space == "global" or store.lane[0] == block):
                last = self._named(store.lane), store.at, store.line
        return last

    def _stored_by(self, one: Access) -> tuple[Thread, int] | None:
        by = self._store_before(one) if one.space == "shared" else None
        return (by[0], by[2]) if by is not None else None

    def _stands_in_shared(self, access: Access, need: Atom) -> bool:
        """Return whether the array that an access reads holds the value of an atom somewhere."""
        value, own = self._value(access, need), self.tape.arrays.at(access.address)
        number = self.tape._number(access.block, self.tape.grid, "block")
        if own is None or value is None:
            return False
        goal, others = Formula.of(need), 0
        for address in range(own.start, own.start + own.nbytes, own.element_bytes or 4):
            for store in self.followed.stores(address):
                if store.lane[0] != number or store.at > access.at:
                    continue
                keys = [(store.at, store.lane[1], element) for element in range(4)]
                if keys[0] in self.tape.provenance.stored:
                    if any(self.tape.provenance.stored.get(key) == goal for key in keys):
                        return True
                elif others < MOST_OTHERS:  # its thread's values are not followed
                    others += 1
                    stored = self._access_at(self._named(store.lane), store.at, address)
                    if stored is not None and stored.value == value:
                        return True
        return False

    def _access_at(self, thread: Thread, at: int, address: int) -> Access | None:
        """Return the access that a thread made at a place in the order of the launch."""
        return next(
            (
                one
                for step in self.steps(thread)
                if step.at[0] <= at <= step.at[1]
                for one in step.accesses
                if one.at == at and one.address == address
            ),
            None,
        )

    def _fillers(self, thread: Thread, at: int) -> list[tuple[Thread, int]]:
        """Return the threads that stored the shared cells that a thread has read, and where."""
        found: dict[Thread, int] = {}
        for step in self.steps(thread):
            if step.at[0] > at:
                break
            for one in step.accesses:
                if not one.is_store and one.space == "shared":
                    by = self._store_before(one)
                    if by is not None and by[0] != thread:
                        found.setdefault(by[0], by[1])
        return list(found.items())[:6]

    # ---- values that are lost

    def _of_lost(self, cell: int, thread: Thread, at: int) -> list[Cause]:
        """Find a line that puts a value in place of what a variable holds: if it is the sum of both
        each time, the formula is right.
        """
        goal, formula = self.goal(cell), self.formula(cell)
        missing, surplus = self._differences(cell)
        if not missing or surplus or goal is None or formula is None:
            return []
        lacks = _atoms(goal.plus(formula, -1))
        try:
            for found in (
                self._replaced_elements(thread, at),
                self._replaced_variables(thread, at, cell),
            ):
                kept: dict[tuple[int, str], dict[Load, Formula]] = {}
                lost: dict[tuple[int, str], Formula] = {}
                for line, name, load, old, new in found:
                    if old.terms.keys() - new.terms.keys():
                        lost[line, name] = old.plus(lost.get((line, name), Formula({})))
                        kept.setdefault((line, name), {})[load] = new.plus(lost[line, name])
                for (line, name), instead in kept.items():
                    if not lacks <= _atoms(lost[line, name]):
                        continue
                    if self.followed.formula_with(self.out, cell, instead, self.work) == goal:
                        return [Cause("lost", line, thread, name=name)]
        except NotRecorded:
            return []
        return []

    def _replaced_variables(
        self, thread: Thread, at: int, cell: int
    ) -> Iterator[tuple[int, str, Load, Formula, Formula]]:
        """Yield the line that gives a variable another value, its name, the result that is this
        value, and the formulas before and after. Raises NotRecorded.
        """
        log, lane = self.tape.log(*thread), self._lane(thread)
        given = self.followed.given_by(lane, self.out, cell, self.work)
        steps = [one for one in self.steps(thread)[:MOST_LOOKED_AT] if one.at[0] <= at]
        for step, following in itertools.pairwise(steps):
            entry = self._entry(thread, step.at[0])
            for candidate in log.translation.variables_at(log.entries[entry][0].row.pc):
                variable = candidate.variable
                if variable.line == step.line:  # it begins there
                    continue
                times = step.at[0], following.at[0]
                found = (self._definition(thread, one, variable.name) for one in times)
                places = [one for one in found if one is not None]
                if len(set(places)) < 2:
                    continue
                keys = [(log.entries[k][0].number, element) for k, element in places]
                old, new = map(given.get, keys)
                if isinstance(old, Formula):
                    number, element = keys[1]
                    new = new if isinstance(new, Formula) else Formula({})  # a constant
                    yield step.line, variable.name, (number, lane[1], element), old, new

    def _replaced_elements(
        self, thread: Thread, at: int
    ) -> Iterator[tuple[int, str, Load, Formula, Formula]]:
        """Yield the same of the elements of a thread's own arrays."""
        held: dict[int, Form] = {}  # by address
        stored = self.tape.provenance.stored
        for step in self.steps(thread):
            for one in step.accesses:
                load = self._load(one)
                if not one.is_store or one.space != "local" or one.at > at or load not in stored:
                    continue
                old, new = held.get(one.address), stored[load]
                if isinstance(old, Formula):
                    new = new if isinstance(new, Formula) else Formula({})  # a constant
                    yield one.line, _element(one.array, one.index), load, old, new
                held[one.address] = new

    # ---- values that belong nowhere

    def _of_unset(self, thread: Thread, at: int, cell: int) -> list[Cause]:
        """Say where a value is read that nothing has stored, and who would store it."""
        formula = self.formula(cell)
        if causes := self._of_copy(thread, at):
            return causes
        access = next((one for one in self._loads_before(thread, at) if self._is_unset(one)), None)
        if access is None:
            return self._of_unset_fragment(formula) if formula is not None else []
        if access.array != self.out and (causes := self._of_indices(thread, at, cell)):
            return causes
        if any((one.kind, one.array) == ("race", access.array) for one in self.findings):
            return []  # a thread stores it, in no order with this
        who, place = (access.block, access.thread), self.place(access)
        if access.array == self.out:
            return [Cause("kept", access.line, who, place=place, is_tried=False)]
        would = None
        with contextlib.suppress(Spent):  # what is known is told all the same
            would = self._would_store(access)
        return [
            Cause(
                "unset", access.line, who, place=place, choice=would[1] if would else None,
                stored_by=(would[0], would[1].line) if would else None,
                name="own" if access.space == "local" else "", origins=self.origins(access),
                is_tried=False,
            )
        ]  # fmt: skip

    def _of_copy(self, thread: Thread, at: int) -> list[Cause]:
        """Say where a thread, or its warp with a whole fragment, reads what an asynchronous copy
        has not brought yet.
        """
        number = self.tape._number(thread[0], self.tape.grid, "block")
        warp = self._linear(thread[1]) // 32
        for (when, linear, _), copy in sorted(self.tape.provenance.unfinished.items()):
            event = self.tape.recording.event(when)
            if when > at or (event.block, event.warp) != (number, warp):
                continue
            who = self._named((number, linear))
            one = self._access_at(who, when, copy.address)
            place = self.place(one) if one is not None else None
            if place is None and event.addresses is None:
                own = self.tape.arrays.at(copy.address)
                index = own.cell(copy.address)[:2] if own is not None else None
                element = cell_text(own.name, *index) if own is not None and index else ""
                place = Place(event.row.line, "", element, False, True, {})
            if place is not None and (who == thread or one is None):
                begun = Place(copy.line, "", "", True, True, {})
                return [
                    Cause(
                        "copy", place.line, who, place=place, other=begun, idle_line=copy.waited,
                        is_tried=False,
                    )
                ]  # fmt: skip
        return []

    def _of_unset_fragment(self, formula: Formula) -> list[Cause]:
        """Say where a warp loads, with a whole fragment, a value that nothing has stored and that
        a formula has.
        """
        unset = {one for one in formula.leaves() if isinstance(one, Unset)}
        for (at, linear, _), form in self.tape.provenance.loaded.items():
            atom = form.atom if isinstance(form, Formula) else None
            if not isinstance(atom, Unset) or atom not in unset:
                continue
            event = self.tape.recording.event(at)
            thread = self._named((event.block, linear))
            steps = (one for one in self.steps(thread) if one.at[0] <= at <= one.at[1])
            if event.addresses is None and (step := next(steps, None)) is not None:
                element = cell_text(atom.array, atom.index, atom.member)
                place = Place(step.line, "", element, False, True, {})
                return [Cause("unset", step.line, thread, place=place, is_tried=False)]
        return []

    def _loads_before(self, thread: Thread, at: int) -> Iterator[Access]:
        for step in self.steps(thread):
            for one in step.accesses:
                if not one.is_store and one.at <= at:
                    yield one

    def _is_unset(self, one: Access) -> bool:
        """Return whether an access reads what nothing has given a value."""
        form = self._loaded(one)
        return form is not None and isinstance(form.atom, Unset)

    def _would_store(self, access: Access) -> tuple[Thread, Choice] | None:
        """Return the thread and its decision that keeps it from storing what an access reads."""
        if access.space != "shared":
            return None
        order = sorted(
            (one for one in self.threads if one[0] == access.block),
            key=lambda one: one[1] != access.thread,
        )
        for thread in order[:32]:
            for step in reversed(self.steps(thread)):
                for one in reversed(step.decisions):
                    if one.at > access.at or not self._leads_to_store(one.line, access.array):
                        continue
                    if self._stores_with(Turn.of(step, one), thread, access):
                        return thread, self.choice(step, one)
        return None

    def _leads_to_store(self, line: int, array: str) -> bool:
        """Return whether an array is accessed in a line, or right after it."""
        return any(self.source.indices(k, array) for k in (line, line + 1))

    def _stores_with(self, turn: Turn, thread: Thread, access: Access) -> bool:
        """Return whether a thread stores to the cell of an access with a change. What it then loads
        outside of an input is a first element.
        """
        changes: list[Change] = [*self.base, turn]
        tape = self.experiment.record(changes, blocks=thread[:1], is_checked=False)
        if not tape.completed and (one := self._outside(tape, thread)) is not None:
            if one.is_store or one.array not in self.tape.inputs:
                return False
            changes.append(Redirect.of(one, one.array, 0))
            tape = self.experiment.record(changes, blocks=thread[:1], is_checked=False)
        cell = access.array, access.index
        return any(
            one.is_store and not one.is_atomic and (one.array, one.index) == cell
            for step in tape.thread(*thread)
            for one in step.accesses
        )

    def _of_whole(self, thread: Thread, formula: Formula, goal: Formula) -> Cause | None:
        """Find the line in which a float loses its fraction."""
        own = [one for one in _functions(formula) if one.name in ("int", "floor", "rint", "ceil")]
        if not own or any(one.name == own[-1].name for one in _functions(goal)):
            return None
        value = own[-1].args[0].evaluate(self.tape.inputs)
        for event, lane in self.tape.log(*thread).entries:
            if not event.row.operation.startswith("cvt") or event.values is None:
                continue
            if event.row.line and event.values[0][lane] & 0xFFFFFFFF == int(value) & 0xFFFFFFFF:
                return Cause(
                    "whole", event.row.line, thread, name=f"{value:g}", value=int(value),
                    is_tried=False,
                )  # fmt: skip
        return None

    def _of_constant(self, formula: Formula, goal: Formula) -> Cause | None:
        """Find the line that stores a number which belongs in no largest or smallest of some."""
        numbers = sorted(_constants(formula) - _constants(goal))
        stored = sorted(self.tape.provenance.stored.items(), key=lambda one: one[0])
        for at, linear, element in [key for key, form in stored if form is None and numbers]:
            event = self.tape.recording.event(at)
            assert event.addresses is not None
            address = event.addresses[event.lanes.index(linear % 32)] + element * event.row.bytes
            place = self.tape.arrays.at(address)
            if place is None or place.space != "shared":
                continue
            thread = self._named((event.block, linear))
            one = self._access_at(thread, at, address)
            if one is not None and one.value in numbers:
                return Cause(
                    "constant", one.line, thread, place=self.place(one), value=one.value,
                    is_tried=False,
                )  # fmt: skip
        return None

    # ---- in words of the source

    def steps(self, thread: Thread) -> list[Step]:
        """Return what a thread did. Raises Spent where no work is left, nor of that with which what
        is known is put in words.
        """
        self.work.spend(0, reserve=MOST_LATE)
        return self.tape.thread(*thread)

    def _entry(self, thread: Thread, at: int) -> int:
        """Return which entry of a thread's log has a place in the order of the launch."""
        numbers = self._numbers.get(thread)
        if numbers is None:
            numbers = [event.number for event, _ in self.tape.log(*thread).entries]
            self._numbers[thread] = numbers
        return bisect.bisect_left(numbers, at)

    @cached_property
    def _numbers(self) -> dict[Thread, list[int]]:
        return {}

    def values(self, thread: Thread, at: int, names: Iterable[str]) -> dict[str, Any]:
        """Return the numbers that some variables of a thread hold before an instruction, threadIdx
        and its like among them.
        """
        wanted = list(names)
        found = self._special(thread)
        log, entry = self.tape.log(*thread), self._entry(thread, at)
        if entry < len(log.entries):
            frame = log.frames[entry]
            for candidate in log.translation.variables_at(log.entries[entry][0].row.pc):
                name = candidate.variable.name
                if name in wanted and name not in found:
                    value = log._value(candidate, frame, entry)
                    if _is_plain(value):
                        found[name] = value
        return {name: found[name] for name in wanted if name in found}

    def _special(self, thread: Thread) -> dict[str, Any]:
        """Return threadIdx.x and its like of a thread."""
        block, own = thread
        every = zip(_SPECIAL, (own, block, self.tape.block, self.tape.grid), strict=True)
        return {f"{name}.{axis}": one[k] for name, one in every for k, axis in enumerate("xyz")}

    def choice(self, step: Step, one: Decision) -> Choice:
        """Return a decision in the words of the source."""
        thread = (step.block, step.thread)
        texts = self.source.conditions(one.line)
        nth = next(k for k, other in enumerate(step.decisions) if other == one)
        names = [name for text in texts for name in self.source.names(text)]
        variables = self.values(thread, one.at, names)
        branches = [(text, part) for text in texts for part in self._done(text, variables)]
        text, part = (
            branches[nth] if nth < len(branches) else (texts[0], texts[0]) if texts else ("", "")
        )
        is_true = one.is_true
        with contextlib.suppress(NoValue):
            is_true = bool(self.source.value(text, variables)) if text else is_true
        values = {name: variables[name] for name in self.source.names(text) if name in variables}
        return Choice(one.line, text, is_true, part, values)

    def _done(self, text: str, variables: Mapping[str, Any]) -> list[str]:
        """Return the parts of a condition that are tested: && ends at the first that is false."""
        parts = self.source.parts(text)
        if len(parts) < 2 or "||" in text:
            return parts
        for k, part in enumerate(parts):
            with contextlib.suppress(NoValue):
                if not self.source.value(part, variables):
                    return parts[: k + 1]
        return parts

    def place(self, access: Access) -> Place:
        """Return an access in the words of the source."""
        thread = (access.block, access.thread)
        texts = self.source.indices(access.line, access.array) if access.array else []
        wanted = access.index if isinstance(access.index, tuple) else (access.index,)
        found: tuple[str, dict[str, Any]] = ("", {})
        for text in reversed(texts):
            variables = self._variables_in(text, thread, access.at)
            if not found[0] or self._index(text, variables) == wanted:
                found = f"{access.array}[{text}]", variables
        if not found[0] and access.array:
            found = self._by_pointer(access)
        element = _element(access.array, access.index) if access.array else ""
        return Place(
            access.line, found[0], element, access.is_store, access.is_inside, found[1]
        )

    def _variables_in(self, text: str, thread: Thread, at: int) -> dict[str, Any]:
        """Return the values of the names in an index, "y][x" for two."""
        names = [name for part in text.split("][") for name in self.source.names(part)]
        return self.values(thread, at, names)

    def _by_pointer(self, access: Access) -> tuple[str, dict[str, Any]]:
        """Return the access of a line that goes by a pointer into its array, and the values in it;
        "" if there is none, or several.
        """
        thread = (access.block, access.thread)
        found = []
        for name, pointer in self._pointers(thread, access.at).items():
            for text in self.source.indices(access.line, name):
                variables = self._variables_in(text, thread, access.at)
                index = self._index(text, variables)
                first = pointer.index
                is_plain = isinstance(access.index, int) and isinstance(first, int)
                if is_plain and index == (access.index - first,):  # type: ignore[operator]
                    found.append((f"{name}[{text}]", variables))
        return found[0] if len(found) == 1 else ("", {})

    def _pointers(self, thread: Thread, at: int) -> dict[str, DevicePointer]:
        """Return the pointers among the variables of a thread before an instruction."""
        log, entry = self.tape.log(*thread), self._entry(thread, at)
        frame, found = log.frames[entry], {}
        for candidate in log.translation.variables_at(log.entries[entry][0].row.pc):
            value = log._value(candidate, frame, entry)
            if isinstance(value, DevicePointer):
                found[candidate.variable.name] = value
        return found

    def _index(self, text: str, variables: Mapping[str, Any]) -> tuple | None:
        try:
            return tuple(self.source.value(one, variables) for one in text.split("]["))
        except NoValue:
            return None

    def origins(self, access: Access) -> tuple[Origin, ...]:
        """Return where the variables of an access's index got their values."""
        thread = (access.block, access.thread)
        return self._origins(thread, access.at, list(self.place(access).values))

    def _origins(self, thread: Thread, at: int, names: list[str]) -> tuple[Origin, ...]:
        found = []
        log = self.tape.log(*thread)
        for name in names:
            definition = self._definition(thread, at, name)
            if definition is None:
                continue
            event = log.entries[definition[0]][0]
            text = self._assignment(event.row.line, name)
            if text:
                value = self.values(thread, at, [name]).get(name)
                if value is None and (pointer := self._pointers(thread, at).get(name)) is not None:
                    value = f"&{_element(pointer.array, pointer.index)}"
                own = [one for one in self.source.names(text) if one != name]
                values = self.values(thread, event.number, own)
                is_init = self._begins_loop(event.row.line)
                if is_init and (not own or self._index(text, values) != (value,)):
                    continue  # a number, or of a later round
                found.append(Origin(event.row.line, name, value, text, values))
        return tuple(found)

    def _begins_loop(self, line: int) -> bool:
        return self.source.statement(line).startswith("for")

    def _assignment(self, line: int, name: str) -> str:
        """Return the right side of the assignment to a variable in a line, "" for none."""
        text = self.source.statement(line)
        match = re.search(rf"\b{re.escape(name)}\s*=(?!=)\s*([^;]*)", text)
        if match is None:
            return ""
        right, depth = "", 0
        for letter in match[1]:
            depth += (letter in "([") - (letter in ")]")
            if depth < 0 or (depth == 0 and letter == ","):
                break
            right += letter
        return right.strip()


# ---- formulas


def _difference(formula: Formula, goal: Formula) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the terms that a formula has too many and those that it lacks, as texts."""
    surplus: dict[Monomial, Number] = {}
    missing: dict[Monomial, Number] = {}
    for monomial, coefficient in formula.plus(goal, -1).terms.items():
        own, right = formula.terms.get(monomial, 0), goal.terms.get(monomial, 0)
        if not right or (own and abs(own) > abs(right)):
            surplus[monomial] = coefficient
        else:
            missing[monomial] = -coefficient
    return (
        tuple(Formula(surplus, formula.is_float).term_texts),
        tuple(Formula(missing, formula.is_float).term_texts),
    )


class _Pair(NamedTuple):
    """A surplus term and a missing one with all factors but one in common: `have` in the first, in
    whose place the other one has `need`. coefficient: of the surplus.
    """

    surplus: Monomial
    coefficient: Number
    have: Atom
    need: Cell


def _pairs(formula: Formula, goal: Formula) -> list[list[_Pair]]:
    """Return the surplus terms of which some missing one differs in one factor, for each array that
    this factor is of: N[0]*filter[1] may stand for N[0]*filter[2], and for N[1]*filter[1]. Those
    first that leave the fewest terms.
    """
    extra = formula.plus(goal, -1).terms
    surplus = [m for m in formula.terms if m in extra]
    missing = [m for m in goal.terms if m in extra]
    found: dict[str, dict[Monomial, _Pair]] = {}  # by array, then by the missing term
    with_rest: dict[Monomial, list[Monomial]] = {}  # by what stays of a missing term
    for other in missing:
        for rest in _rests(other):
            with_rest.setdefault(rest, []).append(other)
    order = {other: k for k, other in enumerate(missing)}
    candidates = []
    for one in surplus:
        near = {other for rest in _rests(one) for other in with_rest.get(rest, ())}
        candidates += [(one, other) for other in sorted(near, key=order.__getitem__)]
    for one, other in candidates:
        if one == other or extra[one] != -extra[other]:
            continue
        have = list((Counter(one) - Counter(other)).elements())
        need = list((Counter(other) - Counter(one)).elements())
        if len(have) == len(need) == 1 and isinstance(need[0], Cell):
            pairs = found.setdefault(need[0].array, {})
            if other not in pairs and all(pair.surplus != one for pair in pairs.values()):
                pairs[other] = _Pair(one, extra[one], have[0], need[0])
    return sorted((list(pairs.values()) for pairs in found.values()), key=len, reverse=True)


def _atoms(formula: Formula) -> set[Atom]:
    return {atom for monomial in formula.terms for atom in monomial}


def _rests(monomial: Monomial) -> Iterator[Monomial]:
    """Yield what stays of a product without one of its factors."""
    for k in range(len(monomial)):
        yield monomial[:k] + monomial[k + 1 :]


def _functions(formula: Formula) -> list[Function]:
    found = []
    for monomial in formula.terms:
        for atom in monomial:
            if isinstance(atom, Function):
                found.append(atom)
                for one in atom.args:
                    found += _functions(one)
    return found


def _constants(formula: Formula) -> set[Number]:
    """Return the numbers among the arguments of the largest and smallest of some."""
    return {
        one.terms.get((), 0)
        for function in _functions(formula)
        if function.name in ("max", "min")
        for one in function.args
        if set(one.terms) <= {()}
    }


def _renamed(formula: Formula, names: Mapping[str, str]) -> Formula:
    """Return a formula with other names of arrays and scalars."""
    if all(one == other for one, other in names.items()):
        return formula

    def named(atom: Atom) -> Atom:
        if not isinstance(atom, Cell):
            return atom
        return Cell(
            names.get(atom.array, atom.array), atom.index, atom.member, atom.rank, atom.offset,
            atom.code,
        )  # fmt: skip

    return _mapped(formula, named)


def _mapped(formula: Formula, other: Callable[[Atom], Atom]) -> Formula:
    """Return a formula with other atoms, in its functions, too."""
    terms: dict[Monomial, Number] = {}
    for monomial, coefficient in formula.terms.items():
        rest = Formula({(): coefficient}, formula.is_float)
        for atom in monomial:
            if isinstance(atom, Function):
                args = tuple(_mapped(one, other) for one in atom.args)
                atom = Function(atom.name, args, atom.type, atom.observed)
            rest = rest.times(Formula.of(other(atom)), 0)
        for m, c in rest.terms.items():
            terms[m] = terms.get(m, 0) + c
    return Formula({m: c for m, c in terms.items() if c}, formula.is_float)


def _element(array: str, index: Any) -> str:
    if index is None:
        return array
    indices = index if isinstance(index, tuple) else (index,)
    return array + "".join(f"[{one}]" for one in indices)


def _is_plain(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating | np.bool_)


def faults(tape: Tape) -> tuple[Finding, ...]:
    """Return the findings of a tape but for cells that nobody stores: these are wrong cells here.
    """
    findings = tape.checked.recording.report.findings
    return tuple(one for one in findings if one.kind != "unwritten")


def _fault(one: Finding) -> tuple:
    """Return what tells a finding from others: its kind, thread, line and cell."""
    return one.kind, one.block, one.thread, one.line, one.array, one.index


def _weight(findings: Iterable[Finding]) -> int:
    return sum(one.count for one in findings)
