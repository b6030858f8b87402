"""Launches: runs one kernel over one grid, and reports its findings and counters.

One launch runs at a time. The machine runs it on threads of its own, so that Ctrl-C and the time
limit can stop it.

The simulator models results, every memory access, barriers within a block, warp operations,
atomics, fences, and the requests, sectors and wavefronts of each warp.
It does not model time, caches and clocks (`clock64()` counts the looks at it, and runs ahead where
a block only waits for it), nor weak memory order: every thread sees a store at once.
Blocks run one after another, in any order. A block that waits for a later one waits for ever, as it
may on a GPU.
"""

from __future__ import annotations

import copy
import ctypes
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from ctypes import c_size_t
from dataclasses import dataclass, field, replace
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..findings.byte_counts import with_byte_count
from ..findings.describe import Scene, describe_finding, describe_unwritten, missed_barriers
from ..findings.finding_facts import Kind
from ..findings.findings import Finding
from ..findings.joins import fault_of, merge_findings, one_a_cause, origin_of, with_warnings
from ..findings.race_facts import without_consequences, without_idle_races
from ..machine import arrays, memory
from ..machine.architecture import HEAP_BYTES
from ..machine.arrays import ArrayName
from ..machine.faults import LaunchFault, OutOfMemory
from ..machine.layouts import only_dtype
from ..machine.library import (
    Busiest,
    Dim,
    LaunchRequest,
    SharedArray,
    Site,
    StoreShare,
    WatchedLane,
    door,
    machine,
)
from ..machine.library import Program as RawProgram
from ..program import encoded
from ..program.module import Kernel
from ..program.progress import progress
from ..ptx import overflows
from . import coverage, cures, extremes, rehearsal
from .launch_limits import Extents, extents, require_launchable, whole_number
from .warned import warned

Watch = tuple[Extents, int | None]  # a block, and the number of a warp of it or None for all

TIME_LIMIT_S = 120.0
OBSERVERS = {
    "bounds": 0,
    "barriers": 1,
    "races": 2,
    "initialisation": 4,
    "traffic": 8,
    "instructions": 16,
    "without_products": 32,  # matrix instructions multiply by 0
    "changes": 64,  # a store races only if it changes what is there
}
_COUNTING = OBSERVERS["traffic"] | OBSERVERS["instructions"]
CHECKS = ("bounds", "barriers", "races", "initialisation")

# Extra local memory of a lane for functions that call themselves: their depth is not known.
_RECURSION_BYTES = 16 * 1024
_CAREFULLY = 4  # times as much for the careful form, whose variables all lie in local memory
# Bytes of a thread's stack on a GPU, unless the program sets cudaLimitStackSize.
STACK_LIMIT = 1024
_LIMIT_VARIABLE = "HALO_TIME_LIMIT"
_MOST_SAVED = 512 << 20  # bytes
_NEVER, _AT_END, _ON_REQUEST = 0, 1, 2  # Undo in machine/machine.h
_REHEARSAL_TURNS = 4  # each of 65,536 backward branches of a warp
_REHEARSAL_SHARE = 0.25  # of the time limit: a loop that waits for another thread counts no turns
_MOST_COMPARED = 1 << 14  # elements, about, of an array whose values are compared
_MOST_COMPARED_BYTES = 4 << 20  # of the arrays whose values the trials of cures compare
# For blocks that run again with a cure, each of which takes milliseconds: processor time, and time
# on a busy computer.
_CURES_S, _CURES_WALL_S = 5.0, 30.0
_TRIAL_S = 2.0  # for blocks that run again with larger arrays
_WORTH_SEVERAL_WORKERS = 1 << 15  # threads; fewer threads end before a second worker has started
_ALL_WARPS = 2**32 - 1  # all_warps in machine/traffic.h
_Read = TypeVar("_Read")
_WATCHED = np.dtype(WatchedLane)  # made once: NumPy takes a while to read a structure


@dataclass(frozen=True)
class LaunchReport:
    """The findings of one launch and, with the traffic observer, the raw sites and lanes of the
    watched warps.

    fatal: the finding that stopped the launch, None if it ran to its end; printed: the text of its
    printf calls; watched: array of WatchedLane, shape (lanes,); workers: processor cores that ran
    its blocks; executed: how many warps executed each instruction of the program, uint64, empty
    without the observer of instructions; sectors_read, sectors_written: different sectors of global
    memory, with the observer of traffic. A sector that the launch wrote before it read it counts
    only as written. busiest, stores: how the work lies, with the observer of traffic.
    """

    findings: tuple[Finding, ...]
    completed: bool
    sites: tuple[Site, ...] = ()
    watched: np.ndarray = field(default_factory=lambda: np.zeros(0, _WATCHED), compare=False)
    arrays: Mapping[int, ArrayName] = field(default_factory=dict)
    blocks: int = 0
    blocks_run: int = 0
    seconds: float = 0.0
    fatal: Finding | None = None
    printed: str = ""
    workers: int = 1
    executed: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint64), compare=False)
    sectors_read: int = 0
    sectors_written: int = 0
    busiest: Busiest = field(default_factory=Busiest, compare=False)
    stores: tuple[StoreShare, ...] = field(default=(), compare=False)
    remarks: tuple[str, ...] = ()


def launch(
    kernel: Kernel,
    packed: bytes,
    grid: Sequence[int],
    block: Sequence[int],
    shared: int = 0,
    observe: Sequence[str] = CHECKS,
    names: Mapping[int, str] | None = None,
    *,
    outputs: Sequence[int] = (),
    watch: Watch = ((0, 0, 0), 0),
    sample_every: int = 1,
    time_limit: float | None = None,
    stack_limit: int | None = None,
    heap_bytes: int | None = None,
    workers: int | None = None,
) -> LaunchReport:
    """Run one launch to its end and return its findings.

    packed: the arguments one after another, each at its natural alignment (Kernel.parameters has
    sizes and offsets); shared: bytes of dynamic shared memory; names: address -> array name, for
    arrays beside the pointer parameters; outputs: addresses of arrays that must be written
    completely when the launch ends, else a finding ("unwritten"); watch: the block and warp whose
    requests the report lists one by one, None for all its warps; sample_every: run every n-th block
    only; time_limit: seconds, by default those of the environment's HALO_TIME_LIMIT, or else
    TIME_LIMIT_S; stack_limit: bytes of a thread's stack that the program has set; more ends the
    launch, as on a GPU. Without it, more than STACK_LIMIT is a warning, because nobody knows what
    the program will set; heap_bytes: of the device's heap, from which the kernel allocates memory
    that outlives the launch (memory.end_heap ends it). Without it, that memory ends with the
    launch; workers: processor cores that may run blocks, by default all.
    One core runs a small launch, and a launch that can see the order of its blocks (by printf,
    clocks, fences or atomics that return a value). Results, findings and counters do not depend on
    the number of workers: if several workers see anything doubtful, one worker runs the launch
    again.
    Raises LaunchRefused, LaunchFault, CompileFailed (for an instruction that the machine cannot
    run), OutOfMemory and KeyboardInterrupt, and TypeError and ValueError for a wrong grid, block,
    shared, watch, sample_every or time_limit.
    """
    grid, block = extents(grid, "grid"), extents(block, "block")
    kernel.module.require_assembled()
    require_launchable(kernel, grid, block, shared)
    shared = int(shared)
    (x, y, z), warp = _watched(watch)
    sample_every = whole_number(
        sample_every, "sample_every", "give 1 for all blocks, n for every n-th block", least=1
    )
    _require_time(time_limit)
    one = _Launch(kernel, packed, grid, block, shared, names or {}, stack_limit, heap_bytes)
    seconds = float(time_limit) if time_limit is not None else _usual_time()
    start = time.monotonic()
    deadline = start + seconds
    is_whole = sample_every == 1 and set(CHECKS) <= set(observe)
    whole = coverage.whole_arrays(kernel, packed) if is_whole else ()
    remarks = extremes.remarks(kernel, packed) if is_whole else ()
    with door, coverage.watched(whole):
        rehearsed = _rehearse(one, observe, start + _REHEARSAL_SHARE * seconds)
        began = time.monotonic()
        causes = _tried_cures(one, observe, rehearsed)
        deadline += time.monotonic() - began
        if rehearsed is not None and rehearsed.report.fatal is not None:
            print(rehearsed.report.printed, end="", flush=True)
            raise _fault(one, rehearsed.report, causes)
        most = _workers(kernel, grid, block, observe, sample_every)
        workers = most if workers is None else min(workers, max(most, 1))
        more = {"watched_block": x + grid[0] * (y + grid[1] * z), "watched_warp": warp}
        may_ask = rehearsed is not None and not rehearsed.is_whole
        try:
            report = one.run(
                observe, deadline, outputs, sample_every=sample_every, workers=workers,
                undo=_ON_REQUEST if may_ask else _NEVER, **more,
            )
            findings = report.findings
            if rehearsed is not None:
                findings = _confirmed(one, report, rehearsed, observe, sample_every, deadline)
        finally:
            machine().halo_forget_before()
        if findings or not (remarks or whole):
            remarks = ()
        else:
            remarks = (*remarks, *coverage.remarks(kernel, whole))
    findings = one_a_cause(causes.applied(findings))
    if "initialisation" in observe:
        findings = with_warnings(findings, warned(kernel))
    if findings or report.findings or remarks:
        report = replace(report, findings=findings, remarks=remarks)
    if report.printed:  # Python prints, not the machine: a notebook shows only what Python writes
        print(report.printed, end="", flush=True)
    if report.fatal is not None:
        with door:
            raise _fault(one, report, causes)
    return report


def run_recorded(
    kernel: Kernel,
    packed: bytes,
    grid: Extents,
    block: Extents,
    shared: int,
    observe: Sequence[str],
    read: Callable[[], _Read],
    *,
    outputs: Sequence[int] = (),
    time_limit: float | None = None,
    **more: Any,
) -> tuple[LaunchReport, int, _Read]:
    """Run one launch of a kernel as it is, on one worker and without a rehearsal. A finding that
    stops it is the report's `fatal`, and no exception.

    read: is called after the launch, before another one can begin; more: fields of
    library.LaunchRequest; the other arguments are those of `launch`. Returns the report, the bytes
    of local memory of a thread, and what `read` has returned.
    """
    require_launchable(kernel, grid, block, shared)
    _require_time(time_limit)
    one = _Launch(kernel, packed, grid, block, int(shared), {})
    seconds = float(time_limit) if time_limit is not None else _usual_time()
    with door:
        report = one.run(observe, time.monotonic() + seconds, outputs, **more)
        found = read()
    return (
        replace(report, findings=one_a_cause(report.findings)),
        one._request(observe, {}).local_bytes,
        found,
    )


def _fault(one: _Launch, report: LaunchReport, causes: cures.Cures) -> LaunchFault:
    """Return the exception for a launch that a finding has stopped. An access by an index or a
    pointer that nothing has set, or that a race has spoilt, is a consequence: the finding about
    that value stops the launch.
    """
    kernel = one.kernel
    fatal = report.fatal
    assert fatal is not None
    # A loop without an end tells what is wrong with the variable that it asks for.
    is_told = fatal.kind == "runaway" and fatal.array is not None
    kept = (
        f for f in report.findings if not (is_told and f.kind == "race" and f.array == fatal.array)
    )
    report = replace(report, findings=one_a_cause(causes.applied(kept)))
    warnings = warned(kernel)
    others = [f for f in report.findings if f != fatal] + list(warnings)
    is_own = fatal.file == Path(kernel.compiled.file).name
    source = kernel.compiled.source.splitlines() if is_own else []
    cause = origin_of(fatal, others, source)
    if cause is None:
        told = with_byte_count(fatal, kernel, one.packed, one.fault_of)
        findings = tuple(told if f == fatal else f for f in report.findings)
        return LaunchFault(told, replace(report, findings=findings, fatal=told))
    cause = replace(cause, severity="error")
    place = cause.kind, cause.file, cause.line
    kept = (f for f in report.findings if f != fatal and (f.kind, f.file, f.line) != place)
    report = replace(report, findings=(cause, *kept), fatal=cause)
    return LaunchFault(cause, report)


def _watched(watch: Any) -> tuple[Extents, int]:
    """Return the watched block, and the number of its warp or _ALL_WARPS."""
    example = "give (block, warp), such as watch=((0, 0, 0), 1)"
    try:
        (x, y, z), warp = watch
    except (TypeError, ValueError):
        raise TypeError(f"watch={watch!r} is no block and warp: {example}") from None
    warp = _ALL_WARPS if warp is None else warp
    x, y, z, warp = (whole_number(one, "a number of watch", example, 0) for one in (x, y, z, warp))
    return (x, y, z), warp


def _usual_time() -> float:
    """Return the time limit in seconds of a launch that names none. Raises ValueError for a
    HALO_TIME_LIMIT that is no number above 0.
    """
    text = os.environ.get(_LIMIT_VARIABLE, "")
    if not text:
        return TIME_LIMIT_S
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise ValueError(
            f"{_LIMIT_VARIABLE} is {text!r}: give a number of seconds above 0, or unset it for "
            f"{TIME_LIMIT_S:g} seconds"
        )
    return seconds


def _require_time(time_limit: Any) -> None:
    if time_limit is None:
        return
    hint = "give a number of seconds above 0, or None for the usual limit"
    if isinstance(time_limit, bool) or not isinstance(time_limit, Real):
        raise TypeError(f"time_limit is {time_limit!r} ({type(time_limit).__name__}): {hint}")
    if not float(time_limit) > 0:
        raise ValueError(f"time_limit is {time_limit}: {hint}")


# ---- the launch itself ----


def _workers(
    kernel: Kernel, grid: Extents, block: Extents, observe: Sequence[str], sample_every: int
) -> int:
    """Return how many workers may run the launch.

    Several do only with the observers of races and of initialisation: these notice whether a block
    depends on another one, and then one worker runs the launch again.
    """
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    blocks = -(-grid[0] * grid[1] * grid[2] // sample_every)
    too_small = (
        blocks < 2 * cores or blocks * block[0] * block[1] * block[2] < _WORTH_SEVERAL_WORKERS
    )
    if (
        too_small
        or grid[0] * grid[1] * grid[2] > 2**30
        or not {"races", "initialisation"} <= set(observe)
    ):
        return 1
    program = kernel.counted if _counts(observe) else kernel.program
    return 1 if encoded.sees_the_order_of_blocks(program) else cores


def _counts(observe: Sequence[str]) -> bool:
    return "traffic" in observe or "instructions" in observe


@dataclass
class _Launch:
    """One launch of one form of a kernel."""

    kernel: Kernel
    packed: bytes
    grid: Extents
    block: Extents
    shared: int
    names: Mapping[int, str]
    stack_limit: int | None = None
    heap_bytes: int | None = None

    def __post_init__(self) -> None:
        self.program = self.kernel.relocated
        self.pointers = arrays.pointers(self.kernel, self.packed)
        self.arrays = arrays.name_arrays(self.kernel, self.packed, self.names)

    def of(self, kernel: Kernel) -> _Launch:
        """Return the same launch with another form of the kernel, which has the same parameters
        and variables.
        """
        other = copy.copy(self)
        other.kernel, other.program = kernel, kernel.relocated
        other.arrays = dict(self.arrays)  # each form adds its own
        return other

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    def run(
        self, observe: Sequence[str], deadline: float, outputs: Sequence[int], **more
    ) -> LaunchReport:
        """Run the launch until `deadline` (time.monotonic()); more: fields of
        library.LaunchRequest.
        """
        request = self._request(observe, more)
        self._shadow()
        start = time.monotonic()
        if machine().halo_start(ctypes.byref(request)) != 0:
            raise OutOfMemory(
                "this computer has not enough free memory for the registers and the shared memory "
                "of one simulated block: close other programs, or launch smaller blocks"
            )
        try:
            _wait(deadline)
            report = self._report(request, time.monotonic() - start)
            is_whole = report.completed and request.sample_every == 1
            if is_whole and (unwritten := _unwritten(self.kernel, self.arrays, outputs)):
                report = replace(report, findings=report.findings + unwritten)
        finally:
            machine().halo_finish()
        return report

    def fault_of(self, packed: bytes) -> Finding | None:
        """Return the finding that stops some blocks of the launch with other arguments, None if
        they come to their end. What they write is undone.
        """
        blocks = rehearsal.blocks_to_rehearse(self.grid, self.block)
        report = replace(self, packed=packed).run(
            ("bounds",),
            time.monotonic() + _TRIAL_S,
            (),
            undo=_AT_END,
            block_count=len(blocks),
            blocks=blocks.ctypes.data,
        )
        return report.fatal

    def writable_bytes(self) -> int:
        """Return the bytes of the arrays that the launch lets the kernel write to."""
        addresses = {self.pointers.get(p.name, 0) for p in self.kernel.parameters if not p.is_const}
        regions = {
            where
            for address in addresses
            if address and (where := memory.region(address)) is not None
        }
        return sum(nbytes for _, nbytes, _ in regions)

    def _recursion_bytes(self) -> int:
        most = max(_RECURSION_BYTES, self.stack_limit or 0)
        return most * _CAREFULLY if self.kernel.compiled.is_careful else most

    def _shadow(self) -> None:
        """Tell the machine the arrays of the launch, so that several workers can share them."""
        for parameter in self.kernel.parameters:
            if address := self.pointers.get(parameter.name, 0):
                machine().halo_shadow(address, parameter.element_bytes, not parameter.is_const)
                _tell_layout(address, parameter.used)
        for variable in self.kernel.module.regions.values():
            if variable.space == "device":
                machine().halo_shadow(variable.address, variable.element_bytes, True)
                _tell_layout(variable.address, variable.used)

    def _request(self, observe: Sequence[str], more: Mapping[str, Any]) -> LaunchRequest:
        program = self.kernel.counted if _counts(observe) else self.program
        static = [SharedArray(offset, nbytes) for _, offset, nbytes in program.shared]
        fields: dict[str, Any] = {
            "program": _raw_program(program, self.kernel),
            "parameters": self.packed,
            "parameter_bytes": len(self.packed),
            "local_bytes": program.total_local_bytes
            + (self._recursion_bytes() if program.recursive else 0),
            "stack_limit": STACK_LIMIT if self.stack_limit is None else self.stack_limit,
            "stack_ends": self.stack_limit is not None,
            "heap_bytes": HEAP_BYTES if self.heap_bytes is None else self.heap_bytes,
            "keeps_heap": self.heap_bytes is not None,
            "grid": Dim(*self.grid),
            "block": Dim(*self.block),
            "shared_bytes": max(program.shared_bytes, program.dynamic_offset + self.shared),
            "dynamic_offset": program.dynamic_offset,
            "dynamic_shared": self.shared,
            "shared_count": len(static),
            "shared_arrays": (SharedArray * max(len(static), 1))(*static),
            "observe": sum(OBSERVERS[name] for name in observe),
            "sample_every": 1,
            "workers": 1,
        }
        return LaunchRequest(**{**fields, **more})

    def _report(self, request: LaunchRequest, seconds: float) -> LaunchReport:
        engine, kernel, named = machine(), self.kernel, self.arrays
        for k, (variable, _, nbytes) in enumerate(kernel.shared):
            named[engine.halo_shared_region(k)] = arrays.shared_array(variable, nbytes)
        if request.dynamic_shared:
            number = engine.halo_shared_region(len(kernel.shared))
            named[number] = arrays.dynamic_array(kernel.dynamic, request.dynamic_shared)
        if number := engine.halo_local_region():
            named[number] = ArrayName(
                "local memory", request.local_bytes, "", 1, (request.local_bytes,), "local"
            )
        count = c_size_t()
        raw = engine.halo_findings(ctypes.byref(count))
        several = [raw[k] for k in range(count.value)]
        scene = Scene(
            kernel,
            named,
            self.block,
            self.pointers,
            tuple(dict.fromkeys(v.name for v in kernel.dynamic)),
            progress(request.block_count or -(-self.blocks // request.sample_every), seconds),
            missed_barriers(kernel, several),
        )
        several = without_idle_races(kernel, several, Kind.RACE, self.packed)
        told = without_consequences(kernel, several, Kind.RACE, Kind.INACTIVE_LANE)
        described = (describe_finding(one, scene) for one in told)
        findings = merge_findings(finding for finding in described if finding is not None)
        aborted = bool(engine.halo_aborted())
        fatal = describe_finding(engine.halo_fatal()[0], scene) if aborted else None
        if fatal is not None:
            fatal = replace(fatal, severity="error")
        text = engine.halo_printed(ctypes.byref(count))
        printed = (
            ctypes.string_at(text, count.value).decode(errors="replace") if count.value else ""
        )
        run = request.block_count or -(-self.blocks // request.sample_every)
        return LaunchReport(
            findings,
            not aborted,
            arrays=dict(named),
            blocks=self.blocks,
            blocks_run=run,
            seconds=seconds,
            fatal=fatal,
            printed=printed,
            workers=engine.halo_workers_used(),
            **(_counters() if request.observe & _COUNTING else {}),
        )


def _counters() -> dict[str, Any]:
    """Return the fields of a LaunchReport that only observers of traffic and instructions fill."""
    engine, count = machine(), c_size_t()
    sites = tuple(Site() for _ in range(engine.halo_site_count()))
    for k, site in enumerate(sites):
        engine.halo_site(k, site)
    lanes = engine.halo_watched(ctypes.byref(count))
    watched = ctypes.string_at(lanes, count.value * ctypes.sizeof(WatchedLane))
    counts = engine.halo_executed(ctypes.byref(count))
    executed = np.frombuffer(ctypes.string_at(counts, count.value * 8), np.uint64)
    shares = engine.halo_store_shares(ctypes.byref(count))
    return {
        "sites": sites,
        "watched": np.frombuffer(watched, _WATCHED),
        "executed": executed,
        "sectors_read": engine.halo_sectors_read(),
        "sectors_written": engine.halo_sectors_written(),
        "busiest": Busiest.from_buffer_copy(engine.halo_busiest()[0]),
        "stores": tuple(StoreShare.from_buffer_copy(shares[k]) for k in range(count.value)),
    }


def _tell_layout(address: int, used: str) -> None:
    """Tell the machine the gaps of an array's structures; used: as of a Parameter."""
    if used:
        bits = bytes.fromhex(used)
        machine().halo_layout(address, bits, len(bits))


def _raw_program(program: encoded.Program, kernel: Kernel) -> RawProgram:
    if program.recursive and not kernel.compiled.is_careful:
        names = [kernel.mangled, *program.function_names[1:]]
        program.functions["stack_bytes"] = [kernel.stack_frames.get(name, 0) for name in names]
    columns = (
        program.instructions, program.operands, program.functions, program.statics,
        kernel.place_groups, program.origins,
    )
    return RawProgram(
        *(column.ctypes.data for column in columns),
        program.shared_name_of.ctypes.data if program.shared_names else None,
        len(program.instructions), len(program.functions), len(program.statics),
        program.statics_bytes,
    )


def _wait(deadline: float) -> None:
    """Wait in short steps, because Python sees Ctrl-C only between them."""
    try:
        while not machine().halo_wait(20):
            if time.monotonic() > deadline:
                machine().halo_stop()
    except BaseException:
        machine().halo_stop()
        while not machine().halo_wait(20):
            machine().halo_stop()
        raise


# ---- the rehearsal ----


@dataclass(frozen=True)
class _Rehearsal:
    """The report of the careful form of a launch. is_whole: it ran all blocks to their end, so that
    it has every finding of the source.
    """

    report: LaunchReport
    is_whole: bool


def _rehearse(one: _Launch, observe: Sequence[str], deadline: float) -> _Rehearsal | None:
    """Run some blocks of the careful form of the kernel, which keeps every access of the source,
    and undoes its writes.

    The optimiser drops wrong accesses, such as one past a local array or a store into a constant.
    A rehearsal that does not end is no finding: a block may wait for one that is left out.
    It returns None if there is no careful form or nothing to look for, if the kernel may write more
    than the machine can save, and if a thread came to an instruction that the encoder left out.
    """
    careful = one.kernel.rehearsal if "initialisation" in observe else None
    if careful is None or one.writable_bytes() > _MOST_SAVED:
        return None
    blocks = _blocks_to_rehearse(one, careful)
    found = _run_carefully(one, careful, observe, deadline, blocks, _REHEARSAL_TURNS)
    return _without_equal_stores(one, careful, observe, deadline, blocks, _REHEARSAL_TURNS, found)


def _blocks_to_rehearse(one: _Launch, careful: Kernel) -> np.ndarray:
    from_memory = overflows.comes_from_memory(careful.compiled.ptx)
    return rehearsal.blocks_to_rehearse(one.grid, one.block, from_memory)


def _without_equal_stores(
    one: _Launch,
    careful: Kernel,
    observe: Sequence[str],
    deadline: float,
    blocks: np.ndarray,
    turns: int,
    rehearsed: _Rehearsal | None,
) -> _Rehearsal | None:
    """Return a rehearsal without the races of stores that leave what is there: whichever thread
    comes first, all read the same. So the blocks run again, and such a store counts as a load.

    Of many values that are alike, such as zeros behind the data, this says nothing about others: a
    race in such an array stays, and so do those in shared memory, whose values are gone.
    """
    if rehearsed is None:
        return None
    found = rehearsed.report.findings
    if not any(f.kind == "race" and _has_different_values(one, f.array) for f in found):
        return rehearsed
    again = _run_carefully(one, careful, (*observe, "changes"), deadline, blocks, turns)
    if again is None or not again.report.completed:
        return rehearsed
    racing = {fault_of(f) for f in again.report.findings}
    kept = tuple(
        f
        for f in found
        if f.kind != "race"
        or fault_of(f) in racing
        or not _has_different_values(one, f.array)
    )
    return replace(rehearsed, report=replace(rehearsed.report, findings=kept))


def _has_different_values(one: _Launch, name: str | None) -> bool:
    """Return whether no value is that of more than half of the elements of an array that a launch
    is given.
    """
    parameter = next((p for p in one.kernel.parameters if p.name == name), None)
    place = memory.allocation(one.pointers[parameter.name]) if parameter is not None else None
    if parameter is None or place is None or not parameter.element_bytes:
        return False
    start, nbytes = place
    values = np.empty(nbytes - nbytes % parameter.element_bytes, np.uint8)
    memory.read(values, start, values.nbytes)
    elements = values.view(f"V{parameter.element_bytes}")
    elements = elements[:: len(elements) // _MOST_COMPARED + 1].tolist()
    return max(Counter(elements).values(), default=0) <= len(elements) / 2


def _tried_cures(
    one: _Launch, observe: Sequence[str], rehearsed: _Rehearsal | None
) -> cures.Cures:
    """Return other causes for the races of a rehearsal whose advice does not help. The block of a
    race runs again, and the last one, in which threads may have left.
    """
    careful = one.kernel.rehearsal
    if rehearsed is None or careful is None or not rehearsed.report.findings:
        return cures.Cures()
    first, deadline = rehearsed.report, time.monotonic() + _CURES_WALL_S
    began = time.process_time()
    rehearsed_blocks = _blocks_to_rehearse(one, careful)
    has_values = one.writable_bytes() <= _MOST_COMPARED_BYTES

    def run(changed: Kernel, block: Extents | None, is_reversed: bool) -> cures.Outcome:
        if time.process_time() - began > _CURES_S:
            return cures.Outcome(None)
        blocks = rehearsed_blocks
        if block is not None:
            blocks = np.unique(np.array([_linear(block, one.grid), one.blocks - 1], np.uint64))
        blocks = np.ascontiguousarray(blocks[::-1]) if is_reversed else blocks
        again = _run_carefully(
            one, changed, observe, deadline, blocks, _REHEARSAL_TURNS, undo=_ON_REQUEST
        )
        is_whole = again is not None and again.report.completed
        values = _values_of(one) if has_values and is_whole else None
        machine().halo_exchange()
        machine().halo_forget_before()
        if again is None:
            return cures.Outcome(None)
        report = again.report
        if report.fatal is not None:
            return cures.Outcome((*report.findings, report.fatal))
        # Of a run that was cut, the rest is not known, unless the first one was cut, too.
        is_known = report.completed or not first.completed
        return cures.Outcome(report.findings if is_known else None, values, is_whole)

    return cures.tried(careful, first.findings, run)


def _values_of(one: _Launch) -> dict[str, np.ndarray]:
    """Return what is in the arrays that the launch lets the kernel write to, by name."""
    found = {}
    for parameter in one.kernel.parameters:
        place = memory.allocation(one.pointers.get(parameter.name, 0))
        if parameter.is_const or place is None:
            continue
        start, nbytes = place
        dtype = only_dtype(parameter.layout) or np.dtype(np.uint8)
        values = np.empty(nbytes // dtype.itemsize, dtype)
        memory.read(values, start, values.nbytes)
        found[parameter.name] = values
    return found


def _run_carefully(
    one: _Launch,
    careful: Kernel,
    observe: Sequence[str],
    deadline: float,
    blocks: np.ndarray,
    turns: int,
    undo: int = _AT_END,
) -> _Rehearsal | None:
    report = one.of(careful).run(
        [name for name in observe if name in (*CHECKS, "changes")],
        deadline,
        (),
        undo=undo,
        block_count=len(blocks),
        blocks=blocks.ctypes.data,
        step_limit=turns,
    )
    if report.fatal is not None and careful.is_left_out(machine().halo_fatal()[0].here.pc):
        return None
    is_whole = report.completed and len(blocks) == one.blocks
    if not report.findings and report.fatal is None:
        return _Rehearsal(report, is_whole)
    findings = tuple(finding for finding in report.findings if finding.kind != "runaway")
    fatal = report.fatal if report.fatal is not None and report.fatal.kind != "runaway" else None
    return _Rehearsal(replace(report, findings=findings, fatal=fatal), is_whole)


def _confirmed(
    one: _Launch,
    report: LaunchReport,
    rehearsed: _Rehearsal,
    observe: Sequence[str],
    sample_every: int,
    deadline: float,
) -> tuple[Finding, ...]:
    """Return the findings of a launch and of its rehearsal, without those of accesses that only
    the optimised code makes.

    If the rehearsal left blocks out and lacks some of the findings, the careful form runs from the
    arrays as they were before the launch, up to the last block of these findings.
    """
    findings, careful = rehearsed.report.findings, one.kernel.rehearsal
    doubtful = rehearsal.unconfirmed(report.findings, findings, report.fatal)
    if not doubtful or rehearsed.is_whole or careful is None:
        return rehearsal.joined(report.findings, findings, doubtful, report.fatal)
    last = max(_linear(finding.block, one.grid) for finding in doubtful)
    machine().halo_exchange()
    try:
        blocks = np.arange(0, last + 1, sample_every, dtype=np.uint64)
        again = _run_carefully(one, careful, observe, deadline, blocks, 0)
        again = _without_equal_stores(one, careful, observe, deadline, blocks, 0, again)
    finally:
        machine().halo_exchange()
    if again is None or not again.report.completed:
        refuted = rehearsal.without_proof(doubtful)
        return rehearsal.joined(report.findings, findings, refuted, report.fatal)
    findings = rehearsal.joined(again.report.findings, findings)
    refuted = rehearsal.unconfirmed(doubtful, findings, report.fatal)
    return rehearsal.joined(report.findings, findings, refuted, report.fatal)


def _linear(block: Extents, grid: Extents) -> int:
    return block[0] + grid[0] * (block[1] + grid[1] * block[2])


# ---- unwritten outputs ----


def _unwritten(
    kernel: Kernel, named: Mapping[int, ArrayName], outputs: Sequence[int]
) -> tuple[Finding, ...]:
    engine, findings = machine(), []
    for address in outputs:
        if (region := memory.region(int(address))) is None:
            continue
        start, nbytes, number = region
        first = engine.halo_first_unwritten(start, nbytes)
        if first < nbytes:
            missing = nbytes - engine.halo_count_initialised(start, nbytes)
            findings.append(
                describe_unwritten(
                    kernel, named.get(number), first, missing, nbytes, engine.halo_store_pc(start)
                )
            )
    return tuple(findings)
