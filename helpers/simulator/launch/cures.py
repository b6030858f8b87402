"""Tries the cures of a race before they are told.

Each cure is made in a copy of the careful PTX, and some blocks of the launch run again: with a wait
or a fence before a line, with atomic accesses, or with lines in another order. A cure
is told if the race is gone, no fault is new, and the blocks leave the same values in whatever order
the threads run. (Other races of the array, and reads of elements that nobody sets, were only hidden
behind the race.) If none is so, the words say what was tried.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np

from ..compile.includes import without_comments
from ..compile.toolchain import CompileFailed
from ..findings.findings import Finding
from ..findings.joins import fault_of
from ..findings.race_facts import (
    access_lines,
    has_atomic,
    is_between_stores,
    lines_of_arrays,
    update_lines,
)
from ..findings.words import Cause, Event, Need, Sentence
from ..program.module import Kernel
from ..ptx.edits import (
    BARRIER,
    FENCE,
    WARP_BARRIER,
    Wait,
    lines_of_block_fences,
    with_atomics,
    with_threads_reversed,
    with_waits,
    with_wide_atomics,
)
from .launch_limits import Extents

_NEAR = 6  # lines before and after the accesses at which a wait is tried: a loop may begin there
_MOST_RACES = 4
_TOLERANCE = 1e-3  # of sums of floats in another order, by the largest value
# What a fence may belong to.
_ORDERS = re.compile(r"\b(atom|red|volatile|relaxed|acquire|membar|fence)\b")


@dataclass(frozen=True)
class Cures:
    """What the trials of a launch's races have shown.

    causes: by fault_of, the cause that is described, and what to say in its place; consequences:
    the races that the cure of another one has ended, too.
    """

    causes: Mapping[tuple, tuple[Sentence, Sentence]] = field(default_factory=dict)
    consequences: Collection[tuple] = ()

    def applied(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Return findings with the causes that the trials have changed, without consequences."""
        return tuple(
            _as_tried(one, *self.causes.get(fault_of(one), (None, None)))
            for one in findings
            if fault_of(one) not in self.consequences
        )


@dataclass(frozen=True)
class Outcome:
    """What blocks of a launch did. findings: None if they are not known; values: what they left in
    each array that they may write, by name, as numbers if its elements are numbers, None if that is
    not known; is_whole: they came to their end.
    """

    findings: tuple[Finding, ...] | None
    values: Mapping[str, np.ndarray] | None = None
    is_whole: bool = False


# Runs a block with a form of the kernel, and perhaps more, or all blocks of the rehearsal if it is
# None; in the opposite order if the flag says so. The writes are undone.
Run = Callable[[Kernel, Extents | None, bool], Outcome]


def tried(kernel: Kernel, findings: Iterable[Finding], run: Run) -> Cures:
    """Try cures of races, first of those whose update is lost, because others may follow from it.

    kernel: the careful form, of whose run the findings are.
    """
    findings = tuple(findings)
    trials, causes = _Trials(kernel, findings, run), {}
    races = [one for one in findings if _may_be_tried(one)]
    races.sort(key=lambda one: (one.reason is not Cause.UPDATED, not trials.has_atomic(one)))
    for race in races[:_MOST_RACES]:
        if fault_of(race) in trials.consequences:
            continue
        if (cause := trials.cause_of(race)) is not None and cause != race.causes[0]:
            causes[fault_of(race)] = race.causes[0], cause
    return Cures(causes, trials.consequences)


def _as_tried(finding: Finding, cause: Sentence | None, better: Sentence | None) -> Finding:
    if cause is None or better is None or cause not in finding.causes:
        return finding
    causes = (better if one == cause else one for one in finding.causes)
    return replace(finding, causes=tuple(causes))


def _may_be_tried(finding: Finding) -> bool:
    needs = (Need.BARRIER, Need.WARP_BARRIER, Need.ATOMIC, Need.LAUNCH)
    is_race = finding.kind == "race" and finding.need in needs
    # Where a barrier stands that not all threads reach, its own finding says what to mend.
    return _is_unset(finding) or (is_race and not finding.missed_barriers)


def _is_unset(finding: Finding) -> bool:
    """Return whether a finding is about shared memory that a thread perhaps sets later."""
    is_of_shared = finding.kind == "uninitialised" and finding.reason is Cause.SHARED_LEFTOVERS
    return is_of_shared and finding.event.row is not Event.NEVER_SET


class _Trials:
    """The cures of the races of one launch."""

    def __init__(self, kernel: Kernel, findings: tuple[Finding, ...], run: Run):
        self._kernel, self._run = kernel, run
        self._known = {fault_of(one) for one in findings}
        self.consequences: set[tuple] = set()
        self._moved: set[str] = set()
        self._outcome = cache(self._outcome_with)
        self._ptx, self._file = kernel.compiled.ptx, kernel.compiled.file

    def cause_of(self, race: Finding) -> Sentence | None:
        """Return what to say of a race: the first cure that helps, or what was tried; None where
        nothing could be tried.
        """
        answers: set[bool | None] = set()
        for cause, forms in self._cures_of(race):
            for ptx in dict.fromkeys(forms):
                if ptx in ("", self._ptx):
                    continue
                helps = self._helps(ptx, race, cause.row.need)
                if helps:
                    if cause.row.need in (Need.ATOMIC, Need.FENCE):
                        self._note_consequences(ptx, race)
                    return cause
                answers.add(helps)
        return self._nothing_helps(race) if answers == {False} else None

    def has_atomic(self, race: Finding) -> bool:
        """Return whether one of the accesses of a race is atomic."""
        return has_atomic(self._kernel, race.accesses)

    def _note_consequences(self, ptx: str, race: Finding) -> None:
        """Note the races that a cure ends beside the race that it is for: those of arrays that have
        no race any more.
        """
        found = self._outcome(ptx, _block_of(race), False).findings or ()
        left = {one.array for one in found if one.kind == "race"}
        own = fault_of(race)
        for one in self._known:
            kind, _, _, array, _ = one
            if kind == "race" and array not in left and one != own:
                self.consequences.add(one)

    def _nothing_helps(self, race: Finding) -> Sentence:
        if _is_unset(race):
            return race.causes[0]
        if race.reason is Cause.UPDATED:
            facts = race.causes[0].facts
            return Cause.LOST_UPDATE(
                element=facts["element"], atomic=facts["atomic"], instead=facts["instead"]
            )
        if race.event.row is Event.RACE_OF_BLOCKS:
            return Cause.ANY_ORDER()
        element = race.event.facts["element"]
        faults = [self._faults(ptx, race) for ptx in self._atomic_forms(race) if ptx]
        if any(one is not None and fault_of(race) not in one for one in faults):
            if self.has_atomic(race):
                return Cause.PARTLY_ATOMIC(element=element)
            if is_between_stores(self._kernel, race.accesses):
                return Cause.LAST_ONE_DECIDES(element=element)
        return Cause.NO_WAIT_FOUND()

    # ---- cures, the likeliest first ----

    def _cures_of(self, race: Finding) -> Iterator[tuple[Sentence, Iterable[str]]]:
        """Yield what to say of a fault, and the PTX that must help for that."""
        if _is_unset(race):
            lines = range(race.line, max(race.line - _NEAR, 0), -1)
            at_start = (Wait(line, is_at_start=True) for line in lines)
            waits = (*at_start, *(Wait(line) for line in lines))
            yield Cause.SET_LATER(), (self._waiting((one,)) for one in waits)
        elif race.event.row is Event.RACE_OF_BLOCKS:
            yield from self._between_blocks(race)
        else:
            yield from self._in_block(race)

    def _in_block(self, race: Finding) -> Iterator[tuple[Sentence, Iterable[str]]]:
        told = race.causes[0]
        if race.reason is Cause.UPDATED:  # a barrier between load and store would lose it, too
            yield told, self._atomic_forms(race)
            return
        if race.need is Need.WARP_BARRIER:
            yield told, map(self._waiting, _waits_near(race, WARP_BARRIER))
            yield Cause.STEPS_OF_WARP(), (self._in_steps(race, WARP_BARRIER),)
        of_block = told if race.need is Need.BARRIER else Cause.NO_BARRIER()
        yield of_block, map(self._waiting, _waits_near(race, BARRIER))
        yield Cause.STEPS(), (self._in_steps(race, BARRIER),)

    def _between_blocks(self, race: Finding) -> Iterator[tuple[Sentence, Iterable[str]]]:
        told = race.causes[0]
        if race.reason is Cause.ATOMIC_OF_BLOCK:
            lines = {int(self._kernel.program.ptx_lines[pc]) for pc in race.accesses}
            yield told, (with_wide_atomics(self._ptx, lines),)
        if race.other_line is not None and _ORDERS.search(self._ptx):
            yield from self._fences(race, race.other_line)
        if race.reason is Cause.UPDATED:
            yield told, self._atomic_forms(race)

    def _fences(self, race: Finding, store: int) -> Iterator[tuple[Sentence, Iterable[str]]]:
        """Yield the fences that may be missing behind the store in a line."""
        lines = range(store + 1, store + 1 + 2 * _NEAR)
        of_block = lines_of_block_fences(self._ptx, self._file)
        for line in sorted(of_block.intersection((store, *lines))):
            yield Cause.FENCE_OF_BLOCK(fence=line), (self._waiting((Wait(line, FENCE),)),)
        # The last line before which a fence helps tells other blocks that the value is there.
        for line in reversed(lines):
            fenced = self._waiting((Wait(line, FENCE),))
            yield Cause.NO_FENCE(where=f"line {line}"), (fenced,)
            if fenced != self._ptx:
                flags = lines_of_arrays(self._kernel, race.accesses[1], line)
                atomic = with_atomics(self._ptx, flags, {})
                with_fence = with_waits(atomic, self._file, (Wait(line, FENCE),))
                yield Cause.PLAIN_SIGNAL(signal=line), (atomic, with_fence)
        for line in range(store - 1, store - 1 - _NEAR, -1):
            yield Cause.ANNOUNCED_EARLY(signal=line), (self._stored_before(race, line),)

    # ---- edited copies ----

    def _waiting(self, waits: tuple[Wait, ...]) -> str:
        return with_waits(self._ptx, self._file, waits)

    def _in_steps(self, race: Finding, instruction: str) -> str:
        """Return PTX with a wait before and after each store of an array's racing lines."""
        races = (
            lines
            for kind, _, lines, array, _ in self._known
            if kind == "race" and array == race.array
        )
        lines = {line for several in races for line in several if line}
        at = (Wait(line, instruction, is_at_store=True) for line in lines)
        behind = (Wait(line, instruction, is_behind_store=True) for line in lines)
        return self._waiting((*at, *behind))

    def _atomic_forms(self, race: Finding) -> tuple[str, ...]:
        lines = access_lines(self._kernel, race.accesses)
        updates = update_lines(self._kernel, race.accesses)
        return (with_atomics(self._ptx, lines, updates),) if lines else ()

    def _stored_before(self, race: Finding, line: int) -> str:
        """Return PTX in which the store of the other block comes before an earlier line, with a
        fence between the two; "" if that line does not compile there.
        """
        source = without_comments(self._kernel.compiled.source).split("\n")
        store = (race.other_line or 0) - 1
        if not 0 < line <= store < len(source):
            return ""
        signal = source[line - 1]
        source[line - 1] = f"{source[store]} __threadfence(); {signal}"
        source[store] = ""
        ptx = self._compiled("\n".join(source))
        self._moved.add(ptx)
        return ptx

    def _compiled(self, source: str) -> str:
        careful = self._kernel.module.compiled.careful
        if careful is None:
            return ""
        try:
            return careful.edited(source, self._kernel.compiled.compiler, self._ptx)
        except CompileFailed:
            return ""

    # ---- trials ----

    def _helps(self, ptx: str, race: Finding, need: Need | None) -> bool | None:
        """Return whether a form of the kernel has no race there, no fault that is new, and values
        that do not depend on the order of its threads; None if that is not known.

        An atomic function orders nothing, so that it is no cure where a thread waits for another
        one, and comes to no end in another order.
        """
        is_gone = self._is_gone(ptx, race)
        if not is_gone:
            return is_gone
        one = self._outcome(ptx, _block_of(race), False)
        if any(finding.kind == "race" for finding in one.findings or ()):
            return True  # the values depend on the other races
        other = self._outcome(with_threads_reversed(ptx), _block_of(race), True)
        if not other.is_whole and need is Need.ATOMIC:
            return False
        if one.values is None or other.values is None:
            return True
        return _are_alike(one.values, other.values)

    def _is_gone(self, ptx: str, race: Finding) -> bool | None:
        """Return whether a form of the kernel has no race there, and no fault that is new."""
        faults = self._faults(ptx, race)
        if faults is None:
            return None
        new = {(kind, array) for kind, _, _, array, _ in faults - self._known}
        hidden = {("race", race.array), ("uninitialised", race.array)}
        if ptx in self._moved:  # whose lines have other numbers
            return not any(("race", race.array) == (kind, array) for kind, _, _, array, _ in faults)
        return fault_of(race) not in faults and new <= hidden

    def _faults(self, ptx: str, race: Finding) -> set[tuple] | None:
        """Return the faults of a form of the kernel, None if they are not known; those of the race
        if it cannot run.
        """
        try:
            findings = self._outcome(ptx, _block_of(race), False).findings
        except CompileFailed:
            return {fault_of(race)}
        return None if findings is None else {fault_of(one) for one in findings}

    def _outcome_with(self, ptx: str, block: Extents | None, is_reversed: bool) -> Outcome:
        compiled = replace(self._kernel.compiled, ptx=ptx)
        return self._run(replace(self._kernel, compiled=compiled), block, is_reversed)


def _block_of(race: Finding) -> Extents | None:
    return None if race.event.row is Event.RACE_OF_BLOCKS else race.block


def _are_alike(values: Mapping[str, np.ndarray], others: Mapping[str, np.ndarray]) -> bool:
    """Return whether arrays hold the same values, in any order: threads that take places by a
    counter may take others.
    """
    for name, one in values.items():
        left, right = np.sort(one), np.sort(others[name])
        if left.dtype.kind == "f":
            largest = np.abs(left[np.isfinite(left)]).max(initial=0)
            is_alike = np.allclose(
                left, right, rtol=0, atol=_TOLERANCE * float(largest), equal_nan=True
            )
        else:
            is_alike = np.array_equal(left, right)
        if not is_alike:
            return False
    return True


def _waits_near(race: Finding, instruction: str) -> Iterator[tuple[Wait, ...]]:
    """Yield the waits that may order the accesses of a race, the likeliest first: one before a
    line, where its code begins or wherever it is, and for a line that loads and stores, one between
    the two, with and without one before it.
    """
    low, high = sorted((race.line, race.other_line or race.line))
    around = (*range(low - 1, max(low - 1 - _NEAR, 0), -1), *range(high + 1, high + 1 + _NEAR))
    between = range(high - 1, max(high - 1 - 2 * _NEAR, low), -1)
    lines: Sequence[int] = tuple(dict.fromkeys((high, low, *between, *around)))
    for line in lines:
        yield (Wait(line, instruction, is_at_start=True),)
    if low == high:
        at_store = Wait(low, instruction, is_at_store=True)
        yield (at_store,)
        yield (Wait(low, instruction, is_at_start=True), at_store)
    for line in lines:
        yield (Wait(line, instruction),)
