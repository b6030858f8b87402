"""Tries the barrier that the words about a race advise, before they are told.

The same blocks run again with a wait before one line after another, near the two accesses. The
advice stands if one of these runs has neither the race nor a fault that is new. (Other races of the
array, and reads of elements that nobody sets, were only hidden behind the race.) If none is so, the
barrier would not help, and the words say what was tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache

from ..compile.toolchain import CompileFailed
from ..findings.findings import Finding
from ..findings.joins import fault_of, needs_barrier
from ..findings.words import Cause, Need, Sentence
from ..program.module import Kernel
from ..ptx.waits import Barrier, with_barriers
from .launch_limits import Extents

_NEAR = 6  # lines before and after the accesses at which a wait is tried: a loop may begin there
_MOST_RACES = 4

# Runs a block of the launch, and perhaps more, with a form of the kernel, and undoes the writes:
# the findings, None if they are not known.
Run = Callable[[Kernel, Extents], tuple[Finding, ...] | None]
Waits = tuple[Barrier, ...]
# By fault_of: the cause that does not help, and what to say in its place.
Cures = Mapping[tuple, tuple[Sentence, Sentence]]


def tried(kernel: Kernel, findings: Iterable[Finding], run: Run) -> Cures:
    """Return the causes of the races whose advice does not help, and what to say in their place.

    kernel: the careful form, of whose run the findings are.
    """
    findings = tuple(findings)
    trials, causes = _Trials(kernel, findings, run), {}
    for race in [one for one in findings if needs_barrier(one)][:_MOST_RACES]:
        if cause := trials.cause_of(race):
            causes[fault_of(race)] = race.causes[0], cause
    return causes


def as_tried(findings: Iterable[Finding], causes: Cures) -> tuple[Finding, ...]:
    """Return findings with the causes that the trials have changed."""
    return tuple(_as_tried(one, *causes.get(fault_of(one), (None, None))) for one in findings)


def _as_tried(finding: Finding, cause: Sentence | None, better: Sentence | None) -> Finding:
    if cause is None or better is None or cause not in finding.causes:
        return finding
    causes = (better if one == cause else one for one in finding.causes)
    return replace(finding, causes=tuple(causes))


class _Trials:
    """Waits near the accesses of the races of one launch."""

    def __init__(self, kernel: Kernel, findings: tuple[Finding, ...], run: Run):
        self._kernel, self._run = kernel, run
        self._known = {fault_of(one) for one in findings}
        self._faults = cache(self._faults_with)

    def cause_of(self, race: Finding) -> Sentence | None:
        """Return the cause of a race in place of the advice, None where the advice helps, or where
        there was no time to try it.
        """
        is_of_warp = race.need is Need.WARP_BARRIER
        if is_of_warp and self._is_ordered(race, is_of_warp=True) is not False:
            return None
        is_ordered = self._is_ordered(race, is_of_warp=False)
        if is_ordered is None or (is_ordered and not is_of_warp):
            return None
        return Cause.NO_BARRIER() if is_ordered else Cause.NO_WAIT_FOUND()

    def _is_ordered(self, race: Finding, is_of_warp: bool) -> bool | None:
        """Return whether a wait near the accesses mends the race, None if that is not known."""
        forms = dict.fromkeys(map(self._form, _waits_near(race, is_of_warp)))
        forms.pop("", None)
        for ptx in forms:
            faults = self._faults(ptx, race.block)
            if faults is None:
                return None
            new = {(kind, array) for kind, _, _, array, _ in faults - self._known}
            hidden = {("race", race.array), ("uninitialised", race.array)}
            if fault_of(race) not in faults and new <= hidden:
                return True
        return False if forms else None

    def _faults_with(self, ptx: str, block: Extents) -> set[tuple] | None:
        """Return the faults of a run of this PTX, None if they are not known."""
        compiled = replace(self._kernel.compiled, ptx=ptx)
        try:
            found = self._run(replace(self._kernel, compiled=compiled), block)
        except CompileFailed:
            return None
        return None if found is None else {fault_of(one) for one in found}

    def _form(self, waits: Waits) -> str:
        """Return the kernel's PTX with these waits, "" if their lines have no code."""
        compiled = self._kernel.compiled
        ptx = with_barriers(compiled.ptx, compiled.file, waits)
        return ptx if ptx != compiled.ptx else ""


def _waits_near(race: Finding, is_of_warp: bool) -> Iterator[Waits]:
    """Yield the waits that may order the accesses of a race, the likeliest first: one before a
    line, where its code begins or wherever it is, and for a line that loads and stores, one between
    the two, with and without one before it.
    """
    low, high = sorted((race.line, race.other_line or race.line))
    around = (*range(low - 1, max(low - 1 - _NEAR, 0), -1), *range(high + 1, high + 1 + _NEAR))
    between = range(high - 1, max(high - 1 - 2 * _NEAR, low), -1)
    lines = tuple(dict.fromkeys((high, low, *between, *around)))
    for line in lines:
        yield (Barrier(line, is_of_warp, is_at_start=True),)
    if low == high:
        at_store = Barrier(low, is_of_warp, is_at_store=True)
        yield (at_store,)
        yield (Barrier(low, is_of_warp, is_at_start=True), at_store)
    for line in lines:
        yield (Barrier(line, is_of_warp),)
