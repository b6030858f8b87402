"""The half of a judgement that runs a kernel: outputs, findings and counters of each case, and
nothing that was expected.

outcomes = outcome.run(cell, cases)        # where the kernel runs, in a box if need be
exercise.verdict(outcomes, seed)           # elsewhere
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from helpers import launch, simulator
from helpers.exercises.judge import patience
from helpers.exercises.judge.cases import LIMIT_S, Case
from helpers.kernel_cells import KernelCell
from helpers.launch import Array, Launch, Plan
from helpers.simulator import Finding, Profile, Requests
from helpers.simulator.compile.ahead import Ahead
from helpers.simulator.compile.compiler import compile_source
from helpers.simulator.compile.toolchain import CompileFailed
from helpers.simulator.machine.faults import LaunchRefused, MemoryFault, OutOfMemory

# Outputs that one launch must write whole: none, because several launches may fill one together.
# The verdict looks at what came out of all.
_WRITTEN_WHOLE = ()
OWN = "(its own)"
# Of the warps of Case.watched, among Counts.instructions.
LOADS, BESIDE_COPIES = "watched shared loads", "watched loads beside copies"
TURNS_TO_LOADS = "watched turns from stores to loads"
SHOWN_LINES = 50  # of what printf wrote
_WIDEST = 200  # characters of such a line


@dataclass(frozen=True)
class Traffic:
    """What a launch did to one array by one kind of access; counters as helpers.simulator.profile
    names them. array: of global memory, the case's name for it, whatever the kernel calls its
    parameter; OWN for a variable of the kernel's own.
    """

    space: str
    access: str
    array: str
    requests: int = 0
    lanes: int = 0
    bytes_used: int = 0
    sectors: int = 0
    wavefronts: int = 0
    conflicts: int = 0
    replays: int = 0
    serialised: int = 0


COUNTERS = tuple(each.name for each in dataclasses.fields(Traffic))[3:]


@dataclass(frozen=True)
class Counts:
    """The counters of one launch. instructions: warps that executed each operation, by its PTX
    name; turns: of all loops, as the source has them, where the exercise asks for it.
    """

    traffic: tuple[Traffic, ...]
    barriers: int
    blocks: int
    instructions: Mapping[str, int] = field(default_factory=dict)
    turns: int = 0

    @classmethod
    def of(cls, profile: Profile, turns: int = 0, names: Mapping[str, str] | None = None) -> Counts:
        """Return the counters of a profile, without its lines. names: the case's, by the kernel's.
        """
        rows: dict[tuple[str, str, str], list[int]] = {}
        for line in (*profile.lines, *profile.bulk_copies):
            array = line.array
            if names is not None and line.space == "global":
                array = names.get(array, OWN)
            # A bulk copy loads, whatever brings the cells.
            access = "load" if line.access == "bulk copy" else line.access
            key = (line.space, access, array)
            own = [getattr(line, name) for name in COUNTERS]
            rows[key] = [a + b for a, b in zip(rows.get(key, [0] * len(own)), own, strict=True)]
        traffic = tuple(Traffic(*key, *sums) for key, sums in rows.items())
        return cls(traffic, profile.barriers, profile.blocks, dict(profile.instructions), turns)

    def total(self, counter: str, space: str, access: str, array: str | None = None) -> int:
        """Return sum of a counter: total("sectors", "global", "load", array="N")."""
        return sum(
            getattr(row, counter)
            for row in self.traffic
            if row.space == space and row.access == access and array in (None, row.array)
        )

    def executed(self, *names: str) -> int:
        """Return how many warps executed operations that begin with one of the names:
        executed("shfl", "div.s32").
        """
        return sum(n for operation, n in self.instructions.items() if operation.startswith(names))


@dataclass(frozen=True)
class Spread:
    """How the work of a case lies in the blocks, warps and threads of all its launches.

    values: of the outputs that are stored, each counted once for a launch; of_block, of_warp: the
    most of them that one block and one warp store; warps: how many warps store any; loads: the most
    requests by which one warp loads from global memory; numbers: the most words of 4 bytes that
    threads of a block read from shared memory one after another, between two barriers those of the
    busiest thread; steps: the most instructions that one warp executes.
    """

    values: float = 0
    of_block: float = 0
    of_warp: float = 0
    warps: float = 0
    loads: float = 0
    numbers: float = 0
    steps: float = 0

    def and_then(self, later: Spread) -> Spread:
        """Return what both together are: sums of values and warps, else the larger number."""
        return Spread(
            self.values + later.values,
            max(self.of_block, later.of_block),
            max(self.of_warp, later.of_warp),
            self.warps + later.warps,
            max(self.loads, later.loads),
            max(self.numbers, later.numbers),
            max(self.steps, later.steps),
        )


@dataclass(frozen=True)
class Outcome:
    """What came of one case. arrays: its outputs; counts: by launch; stopped: why not all launches
    ran, by status ("finding", "time", "refused"), else ""; spread: how the work lies; printed: the
    first lines of what printf wrote, and lines:
    how many it wrote in all; misplaced: the kernel's parameters, by the case's array that they got,
    for inputs that changed and for parameters with the name of another array; beside: values of the
    outputs that are not 0 where matrix instructions multiply by 0.
    """

    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    counts: tuple[Counts, ...] = ()
    findings: tuple[Finding, ...] = ()
    stopped: str = ""
    said: str = ""
    spread: Spread = Spread()
    printed: str = ""
    lines: int = 0
    misplaced: Mapping[str, str] = field(default_factory=dict)
    beside: int = 0

    def total(self, counter: str, space: str, access: str, array: str | None = None) -> int:
        """Return the sum over all launches; see Counts.total."""
        return sum(one.total(counter, space, access, array) for one in self.counts)

    def executed(self, *names: str) -> int:
        """Return the sum over all launches; see Counts.executed."""
        return sum(one.executed(*names) for one in self.counts)

    @property
    def barriers(self) -> int:
        """Warps that came to a __syncthreads()."""
        return sum(one.barriers for one in self.counts)

    @property
    def blocks(self) -> int:
        """Blocks of all launches."""
        return sum(one.blocks for one in self.counts)


class DoesNotCompile(Exception):
    """The compiler refuses the source; the message is what it said."""


def run(
    cell: KernelCell,
    cases: Iterable[Case],
    *,
    turns: bool = False,
    limit_s: float = LIMIT_S,
    checks: bool = True,
) -> tuple[Outcome, ...]:
    """Run a kernel on the cases in the simulator, up to the first that it does not come through.

    turns: count the turns of its loops, too; checks: look for faults, unless `checked` has found
    none in these cases.
    Raises DoesNotCompile.
    """
    run_of = functools.partial(_run, turns=turns, checks=checks)
    return _up_to_a_stop(cell, cases, run_of, limit_s, counts=True)


def checked(
    cell: KernelCell, cases: Sequence[Case], *, limit_s: float = LIMIT_S, each: bool = False
) -> tuple[Outcome, ...]:
    """Run as `run` does, without counters: arrays and findings alone show a wrong answer.

    That saves the kernel's machine code and half of a launch. each: the answer is wrong already, so
    that nobody will count it, and only a launch that took too long keeps later cases from running.
    Raises DoesNotCompile.
    """
    if each:
        return _up_to_a_stop(cell, cases, _check, limit_s, stops=("time",))
    # What gets past the first case is likely to be counted.
    later = [case for case in cases if case.budgeted]
    return _up_to_a_stop(cell, cases, _check, limit_s, later=later)


_STOPS = "finding", "time", "refused"
_Arrays = Mapping[str, np.ndarray]


def _up_to_a_stop(
    cell: KernelCell,
    cases: Iterable[Case],
    run_of: Callable[[Case, Plan, _Arrays, float], Outcome],
    limit_s: float,
    stops: Sequence[str] = _STOPS,
    counts: bool = False,
    later: Sequence[Case] = (),
) -> tuple[Outcome, ...]:
    """Return the outcomes of the cases. run_of: what a plan does to copies of a case's arrays,
    within a time limit, as an Outcome without arrays; counts: it counts, too; later: the cases to
    compile for counters as soon as the first case is passed.
    """

    def outcome_of(case: Case, limit_s: float) -> Outcome:
        plan, arrays = case.plan(cell), {name: a.copy() for name, a in case.arrays.items()}
        one = run_of(case, plan, arrays, limit_s)
        misplaced = {} if one.stopped == "refused" else _misplaced(case, plan[0], arrays)
        outputs = {name: arrays[name] for name in case.outputs}
        return dataclasses.replace(one, arrays=outputs, misplaced=misplaced)

    cases = tuple(cases)
    ahead = [begin(cell, cases, counts)]
    try:
        outcomes: list[Outcome] = []
        for case in cases:
            # What a kernel prints may be longer than any reader's patience: it becomes a part of
            # the verdict, and stands below it.
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                try:
                    run = functools.partial(outcome_of, case)
                    one = patience.with_patience(run, lambda one: one.stopped == "time", limit_s)
                except CompileFailed as error:
                    raise DoesNotCompile(str(error)) from None
            text = printed.getvalue().rstrip(" ")
            first = text[: SHOWN_LINES * _WIDEST].splitlines()[:SHOWN_LINES]
            shown = "\n".join(line[:_WIDEST] for line in first)
            outcomes.append(dataclasses.replace(one, printed=shown, lines=len(text.splitlines())))
            if outcomes[-1].stopped in stops:
                break
            if len(outcomes) == 1 and later:
                ahead.append(begin(cell, later, counts=True))
    finally:
        for several in ahead:
            several.stop()
    return tuple(outcomes)


def begin(cell: KernelCell, cases: Iterable[Case], counts: bool = False) -> Ahead:
    """Begin to compile what the launches of the cases need: sizes may be constants of a source."""
    launches = [one for case in cases for one in case.plan(cell)]
    return Ahead([(one.source, one.options, f"{one.name}.cu") for one in launches], counts)


# The kernel asks for what no launch can give it: other arguments, or more memory than there is.
_NO_LAUNCH = (TypeError, ValueError, OutOfMemory, MemoryFault)


def _check(case: Case, plan: Plan, arrays: _Arrays, limit_s: float) -> Outcome:
    how = {"outputs": _WRITTEN_WHOLE, "time_limit": limit_s}
    for one in plan:
        try:
            (findings,) = launch.simulate((one,), arrays, simulator.check, **how)
        except _NO_LAUNCH as error:
            return Outcome(stopped="refused", said=str(error))
        if findings:
            return Outcome(findings=findings, stopped=_why(findings))
    return Outcome()


def _run(
    case: Case,
    plan: Plan,
    arrays: _Arrays,
    limit_s: float,
    turns: bool,
    checks: bool,
) -> Outcome:
    how = {"outputs": _WRITTEN_WHOLE, "time_limit": limit_s, "checks": checks}
    counts: list[Counts] = []
    spread, watch = Spread(), (case.watched, None)
    for one in plan:
        try:
            (seen,) = launch.simulate((one,), arrays, simulator.profile, watch=watch, **how)
        except LaunchRefused as refusal:
            return Outcome({}, tuple(counts), (refusal.finding,), "finding")
        except _NO_LAUNCH as error:
            return Outcome({}, tuple(counts), (), "refused", str(error))
        seen_turns = 0
        if turns and not seen.findings:
            with contextlib.redirect_stdout(None):  # printed already
                (seen_turns,) = launch.simulate((one,), arrays, simulator.turns, time_limit=limit_s)
        names = _names(one)
        by_warp = [seen.requests.of(warp=warp) for warp in range(-(-math.prod(one.block) // 32))]
        spread = spread.and_then(_spread(case, seen, names, arrays))
        own = Counts.of(seen, seen_turns, names)
        more = {
            **_acts(seen),
            **_special(one),
            "special.clock": seen.clock_reads,
            **_compiled_for(case.architecture, one),
            **_beside_copies(seen, by_warp),
            TURNS_TO_LOADS: max(map(_turns_to_loads, by_warp)),
        }
        counts.append(dataclasses.replace(own, instructions={**own.instructions, **more}))
        if seen.findings:
            return Outcome({}, tuple(counts), seen.findings, _why(seen.findings))
    beside = _beside_matrices(case, plan, limit_s) if _multiplies_matrices(counts) else 0
    return Outcome({}, tuple(counts), spread=spread, beside=beside)


def _why(findings: Sequence[Finding]) -> str:
    """Return Outcome.stopped of a launch with findings."""
    return "time" if any(finding.kind == "runaway" for finding in findings) else "finding"


def _names(one: Launch) -> dict[str, str]:
    """Return the case's name of each array, by the kernel's name for that parameter.

    Budgets speak of the case's names, and a kernel may give its parameters any others.
    """
    compiled = compile_source(one.source, one.options, f"{one.name}.cu")
    parameters = next(k.parameters for k in compiled.kernels if k.name == one.name)
    return {
        parameter.name: given.name
        for parameter, given in zip(parameters, one.arguments, strict=True)
        if isinstance(given, Array)
    }


def _beside_copies(seen: Profile, by_warp: Sequence[Requests]) -> dict[str, int]:
    """Return how many requests that load from shared memory a watched warp makes, and how many of
    them while asynchronous copies of its block are under way.

    It is the first warp or the last one, whichever sees more of the copies: the simulator runs the
    warps one after another, so one of the two may be through before a copy is started that on a GPU
    is under way beside it.
    """
    if not any(name.startswith("cp.async") for name in seen.instructions):
        return {}
    in_flight = [
        [bool(request.in_flight) for request in made.of(kind="load", space="shared")]
        for made in (by_warp[0], by_warp[-1])
    ]
    loads = max(in_flight, key=lambda flags: sum(flags) / max(len(flags), 1))
    return {LOADS: len(loads), BESIDE_COPIES: sum(loads)}


def _turns_to_loads(made: Requests) -> int:
    """Return how many times a thread of a warp begins to load from global memory: at first, and
    after a store. A value is waited for before it is stored, so the loads in between are under way
    at the same time. It is the order of the PTX, which is that of the source.
    """
    turns = [0] * 32  # by lane
    before = ["store"] * 32
    for one in made.of(space="global"):
        for lane in one.lanes:
            turns[lane] += (before[lane], one.kind) == ("store", "load")
            before[lane] = one.kind
    return max(turns)


# What a header may do for purposes of its own, and a source should not.
_ACTS = re.compile(r"mov\.clock|activemask|cvt\.[su]\d+\.f32.*")


def _acts(seen: Profile) -> dict[str, int]:
    """Return such operations, without those of headers."""
    return {
        name: count - seen.of_headers.get(name, 0)
        for name, count in seen.instructions.items()
        if _ACTS.match(name)
    }


def _special(one: Launch) -> dict[str, int]:
    """Return the special registers that a kernel's machine code reads and that depend on chance."""
    compiled = compile_source(one.source, one.options, f"{one.name}.cu")
    read = set(re.findall(r"%(n?smid|gridid)\b", compiled.ptx))
    return {f"special.{name}": 1 for name in sorted(read)}


# An operation at the beginning of a line of PTX, behind its condition if it has one.
_OPERATION = re.compile(r"^\s*(?:@!?\S+\s+)?([a-z]\w*(?:[.:]+\w+)+)\s", re.MULTILINE)


def _compiled_for(architecture: str, one: Launch) -> dict[str, int]:
    """Return how often each operation stands in the PTX for another architecture, by
    "sm_90a.wgmma.mma_async...": the simulator cannot run it. Nothing without an architecture.
    """
    if not architecture:
        return {}
    compiled = compile_source(
        one.source, (*one.options, f"-arch={architecture}"), f"{one.name}.cu"
    )
    return Counter(f"{architecture}.{name}" for name in _OPERATION.findall(compiled.ptx))


def _multiplies_matrices(counts: Sequence[Counts]) -> bool:
    return any(one.executed("mma.", "wmma.mma.") for one in counts)


def _beside_matrices(case: Case, plan: Plan, limit_s: float) -> int:
    """Return Outcome.beside."""
    arrays = {name: array.copy() for name, array in case.arrays.items()}
    how = {"without_products": True, "time_limit": limit_s}
    with contextlib.redirect_stdout(None):  # printed already
        launch.simulate(plan, arrays, simulator.execute, **how)
    return sum(int(np.count_nonzero(arrays[name])) for name in case.outputs)


def _spread(case: Case, seen: Profile, names: Mapping[str, str], arrays: _Arrays) -> Spread:
    """Return how the work of one launch lies. names: as `_names` returns them; arrays: as the
    launch has left them.
    """
    stores, lies = [], seen.shares
    for one in lies.stores:
        name = names.get(one.array)
        if name in case.outputs:
            size, total = case.arrays[name].itemsize, _stored(seen, one.array)
            # A kernel may store to its outputs several times, and leave gaps between them.
            changed = _changed(case, arrays, name) * size
            times = max(total / changed, 1) if changed else 1
            each = times * size
            values = Spread(total / each, one.of_block / each, one.of_warp / each, one.warps)
            stores.append(values)
    most = Spread(0, 0, 0, 0, lies.loads_of_warp, lies.words_in_a_row, lies.steps_of_warp)
    return functools.reduce(Spread.and_then, stores, most)


def _stored(seen: Profile, array: str) -> int:
    """Return the bytes of global memory that stores and atomics of a launch write to an array."""
    return sum(
        line.bytes_used
        for line in seen.lines
        if line.array == array and line.space == "global" and line.access != "load"
    )


def _changed(case: Case, arrays: _Arrays, *names: str) -> int:
    """Return how many values of the arrays of these names are others than before the launch."""
    return sum(
        int((_bits(arrays[name]) != _bits(case.arrays[name])).any(axis=1).sum()) for name in names
    )


def _misplaced(case: Case, one: Launch, arrays: _Arrays) -> dict[str, str]:
    """Return Outcome.misplaced. arrays: as the launches have left them."""
    return {
        name: parameter
        for parameter, name in _names(one).items()
        if (parameter != name and parameter in case.arrays)
        or (name not in case.outputs and _changed(case, arrays, name))
    }


def _bits(a: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(a).reshape(-1).view(np.uint8).reshape(a.size, -1)
