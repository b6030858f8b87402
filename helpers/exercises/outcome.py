"""The half of a judgement that runs a kernel: outputs, findings and counters of each case, and
nothing that was expected.

outcomes = outcome.run(cell, cases)        # where the kernel runs, in a box if need be
outcome.save(outcomes, path)               # NumPy's .npz, without pickle
outcomes = outcome.load(path)              # elsewhere; Exercise.verdict compares them
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from helpers import simulator
from helpers.exercises.cases import LIMIT_S, Case, Step
from helpers.kernel_cells import KernelCell
from helpers.simulator import Finding, Profile
from helpers.simulator.compiler import compile_source
from helpers.simulator.faults import LaunchRefused, MemoryFault, OutOfMemory
from helpers.simulator.profile import WATCHED_REQUESTS
from helpers.simulator.toolchain import CompileFailed

# Outputs that one launch must write whole: none, because several launches may fill one together.
# The verdict looks at what came out of all.
_WRITTEN_WHOLE = ()
OWN = "(its own)"
# Of the watched warp, among Counts.instructions.
LOADS, BESIDE_COPIES = "watched shared loads", "watched loads beside copies"
TURNS_TO_LOADS = "watched turns from stores to loads"
SHOWN_LINES = 50  # of what printf wrote
_WIDEST = 200  # characters of such a line
_SUMS = (
    "requests",
    "lanes",
    "bytes_used",
    "sectors",
    "wavefronts",
    "conflicts",
    "replays",
    "serialised",
)


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
        """The counters of a profile, without its lines. names: the case's, by the kernel's."""
        rows: dict[tuple[str, str, str], list[int]] = {}
        for line in profile.lines:
            array = line.array
            if names is not None and line.space == "global":
                array = names.get(array, OWN)
            key = (line.space, line.access, array)
            own = [getattr(line, name) for name in _SUMS]
            rows[key] = [a + b for a, b in zip(rows.get(key, [0] * len(own)), own, strict=True)]
        traffic = tuple(Traffic(*key, *sums) for key, sums in rows.items())
        return cls(traffic, profile.barriers, profile.blocks, dict(profile.instructions), turns)

    def total(self, counter: str, space: str, access: str, array: str | None = None) -> int:
        """Sum of a counter: total("sectors", "global", "load", array="N")."""
        return sum(
            getattr(row, counter)
            for row in self.traffic
            if row.space == space and row.access == access and array in (None, row.array)
        )

    def executed(self, *names: str) -> int:
        """Warps that executed operations that begin with one of the names: executed("shfl",
        "div.s32").
        """
        return sum(n for operation, n in self.instructions.items() if operation.startswith(names))


@dataclass(frozen=True)
class Spread:
    """How the work of a launch lies: values of the outputs that blocks 0, 2, 4 ... change, those
    that the others change, those that warp 0 of block 0 stores, and those that the busiest warp of
    block 0 stores; -1 where that is not known.
    """

    even: int
    odd: int
    first_warp: int
    busiest_warp: int = -1


@dataclass(frozen=True)
class Outcome:
    """What came of one case. arrays: its outputs; counts: by launch; stopped: why not all launches
    ran, by status ("finding", "time", "refused"), else ""; spread: how the work of the
    first launch lies, None where nobody asked; printed: the first lines of what printf wrote, and
    lines: how many it wrote in all.
    """

    arrays: Mapping[str, np.ndarray]
    counts: tuple[Counts, ...] = ()
    findings: tuple[Finding, ...] = ()
    stopped: str = ""
    said: str = ""
    spread: Spread | None = None
    printed: str = ""
    lines: int = 0

    def total(self, counter: str, space: str, access: str, array: str | None = None) -> int:
        """The sum over all launches; see Counts.total."""
        return sum(one.total(counter, space, access, array) for one in self.counts)

    def executed(self, *names: str) -> int:
        """The sum over all launches; see Counts.executed."""
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
    spread: bool = False,
    limit_s: float = LIMIT_S,
    checks: bool = True,
) -> tuple[Outcome, ...]:
    """Run a kernel on the cases in the simulator, up to the first that it does not come through.

    turns: count the turns of its loops, too; spread: run every second block of each budgeted case
    alone, too; checks: look for faults, unless `checked` has found none in these cases.
    Raises DoesNotCompile.
    """
    return _up_to_a_stop(cases, lambda case: _run(cell, case, turns, spread, limit_s, checks))


def checked(
    cell: KernelCell, cases: Iterable[Case], *, limit_s: float = LIMIT_S
) -> tuple[Outcome, ...]:
    """As `run`, without counters: arrays and findings alone, which a wrong answer is known by.

    That saves the kernel's machine code and half of a launch.
    Raises DoesNotCompile.
    """
    return _up_to_a_stop(cases, lambda case: _check(cell, case, limit_s))


def each(
    cell: KernelCell, cases: Iterable[Case], *, limit_s: float = LIMIT_S
) -> tuple[Outcome, ...]:
    """As `checked`, but only a launch that took too long keeps the later cases from running.
    Raises DoesNotCompile.
    """
    return _up_to_a_stop(cases, lambda case: _check(cell, case, limit_s), ("time",))


def _up_to_a_stop(
    cases: Iterable[Case],
    outcome_of: Callable[[Case], Outcome],
    stops: Sequence[str] = ("finding", "time", "refused"),
) -> tuple[Outcome, ...]:
    outcomes: list[Outcome] = []
    for case in cases:
        # What a kernel prints may be longer than any reader's patience: it becomes a part of the
        # verdict, and stands below it.
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            try:
                one = outcome_of(case)
            except CompileFailed as error:
                raise DoesNotCompile(str(error)) from None
        text = printed.getvalue().rstrip(" ")
        first = text[: SHOWN_LINES * _WIDEST].splitlines()[:SHOWN_LINES]
        shown = "\n".join(line[:_WIDEST] for line in first)
        outcomes.append(dataclasses.replace(one, printed=shown, lines=len(text.splitlines())))
        if outcomes[-1].stopped in stops:
            break
    return tuple(outcomes)


# The kernel asks for what no launch can give it: other arguments, or more memory than there is.
_NO_LAUNCH = (TypeError, ValueError, OutOfMemory, MemoryFault)


def _placed(cell: KernelCell, case: Case) -> KernelCell:
    """The cell as a case launches it: with the sizes of the case, and, in a kernel of the case's
    own, whose name begins with the word behind `void`, as a function. The lines stay where they
    are.
    """
    if case.options:
        cell = dataclasses.replace(cell, options=case.options_for(cell.options))
    if not case.within:
        return cell
    first, _, rest = cell.source.partition("\n")
    head = "#define __global__ __device__"  # in place of a comment
    tail = (
        f"#undef __global__\n#define __global__ __attribute__((global))\n#define KERNEL "
        f"{cell.kernel}\n{case.within}"
    )
    name = re.search(r"\bvoid\s+(\w+)", case.within)
    assert first.startswith("//") and name is not None
    source = f"{head}\n{rest}\n{tail}\n"
    return dataclasses.replace(cell, source=source, kernel=name[1])


def _check(cell: KernelCell, case: Case, limit_s: float) -> Outcome:
    cell = _placed(cell, case)
    arrays, outputs = _copies(case)
    for step in case.steps:
        try:
            findings = simulator.check(
                cell.source,
                cell.kernel,
                *_given(arrays, step),
                **_where(cell, step),
                outputs=_WRITTEN_WHOLE,
                time_limit=limit_s,
            )
        except _NO_LAUNCH as error:
            return Outcome(outputs, (), (), "refused", str(error))
        if findings:
            return Outcome(outputs, (), findings, _why(findings))
    return Outcome(outputs)


def _run(
    cell: KernelCell, case: Case, turns: bool, spread: bool, limit_s: float, checks: bool
) -> Outcome:
    cell = _placed(cell, case)
    arrays, outputs = _copies(case)
    counts: list[Counts] = []
    all_blocks = first_warp = 0
    for step in case.steps:
        given, where = _given(arrays, step), _where(cell, step)
        try:
            seen = simulator.profile(
                cell.source,
                cell.kernel,
                *given,
                **where,
                outputs=_WRITTEN_WHOLE,
                time_limit=limit_s,
                checks=checks,
            )
        except LaunchRefused as refusal:
            return Outcome(outputs, tuple(counts), (refusal.finding,), "finding")
        except _NO_LAUNCH as error:
            return Outcome(outputs, tuple(counts), (), "refused", str(error))
        seen_turns = 0
        if turns and not seen.findings:
            with contextlib.redirect_stdout(None):  # printed already
                seen_turns = simulator.turns(
                    cell.source, cell.kernel, *given, **where, time_limit=limit_s
                )
        names = _names(cell, step)
        if not counts:
            all_blocks, first_warp = _changed(case, arrays), _stored(case, seen, names)
        one = Counts.of(seen, seen_turns, names)
        more = {**_special(cell), **_beside_copies(seen), **_turns_to_loads(seen)}
        counts.append(dataclasses.replace(one, instructions={**one.instructions, **more}))
        if seen.findings:
            return Outcome(outputs, tuple(counts), seen.findings, _why(seen.findings))
    if not spread or not case.budgeted or counts[0].blocks == 1:
        return Outcome(outputs, tuple(counts))
    with contextlib.redirect_stdout(None):
        even = _even_blocks(cell, case, limit_s)
        others = _other_warps(cell, case, limit_s)
    lies = Spread(even, max(all_blocks - even, 0), first_warp, max(first_warp, *others, -1))
    return Outcome(outputs, tuple(counts), spread=lies)


def _copies(case: Case) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Copies of all arrays of a case, and its outputs among them."""
    arrays = {name: array.copy() for name, array in case.arrays.items()}
    return arrays, {name: arrays[name] for name in case.outputs}


def _given(arrays: Mapping[str, np.ndarray], step: Step) -> list[Any]:
    return [arrays[one] if isinstance(one, str) else one for one in step.arguments]


def _where(cell: KernelCell, step: Step) -> dict[str, Any]:
    return {
        "grid": step.grid,
        "block": step.block,
        "options": cell.options,
        "constants": step.constants,
    }


def _why(findings: Sequence[Finding]) -> str:
    """Outcome.stopped of a launch with findings."""
    return "time" if any(finding.kind == "runaway" for finding in findings) else "finding"


def _names(cell: KernelCell, step: Step) -> dict[str, str]:
    """The case's name of each array, by the kernel's name for that parameter.

    Budgets speak of the case's names, and a kernel may give its parameters any others.
    """
    compiled = compile_source(cell.source, cell.options, f"{cell.kernel}.cu")
    parameters = next(k.parameters for k in compiled.kernels if k.name == cell.kernel)
    return {
        parameter.name: given
        for parameter, given in zip(parameters, step.arguments, strict=True)
        if isinstance(given, str)
    }


def _beside_copies(seen: Profile) -> dict[str, int]:
    """How many requests that load from shared memory the watched warp makes, and how many of them
    while asynchronous copies of its block are under way.
    """
    if not any(name.startswith("cp.async") for name in seen.instructions):
        return {}
    loads = [one.in_flight for one in seen.requests.of(kind="load", space="shared")]
    return {LOADS: len(loads), BESIDE_COPIES: sum(map(bool, loads))}


def _turns_to_loads(seen: Profile) -> dict[str, int]:
    """How many times the watched warp begins to load from global memory: at first, and after a
    store. A value is waited for before it is stored, so the loads in between are under way at the
    same time. It is the order of the PTX, which is that of the source.
    """
    kinds = [one.kind for one in seen.requests if one.space == "global"]
    before = ["store", *kinds]
    turns = sum(pair == ("store", "load") for pair in zip(before, kinds, strict=False))
    return {TURNS_TO_LOADS: turns}


def _special(cell: KernelCell) -> dict[str, int]:
    """The special registers that a kernel's machine code reads and that depend on chance."""
    compiled = compile_source(cell.source, cell.options, f"{cell.kernel}.cu")
    read = set(re.findall(r"%(n?smid|gridid|clock\w*|globaltimer\w*)\b", compiled.ptx))
    return {f"special.{name}": 1 for name in sorted(read)}


def _even_blocks(cell: KernelCell, case: Case, limit_s: float) -> int:
    """How many values of the outputs change when blocks 0, 2, 4 ... of the first launch run."""
    step = case.steps[0]
    arrays, _ = _copies(case)
    simulator.execute(
        cell.source,
        cell.kernel,
        *_given(arrays, step),
        **_where(cell, step),
        sample_every=2,
        time_limit=limit_s,
    )
    return _changed(case, arrays)


def _other_warps(cell: KernelCell, case: Case, limit_s: float) -> list[int]:
    """How many values of the outputs each warp of block 0 stores, from warp 1 on."""
    step = case.steps[0]
    found = []
    for warp in range(1, -(-math.prod(step.block) // 32)):
        arrays, _ = _copies(case)
        seen = simulator.profile(
            cell.source,
            cell.kernel,
            *_given(arrays, step),
            **_where(cell, step),
            sample_every=math.prod(step.grid),  # block 0 alone
            watch=((0, 0, 0), warp),
            time_limit=limit_s,
            checks=False,
        )
        found.append(_stored(case, seen, _names(cell, step)))
    return found


def _stored(case: Case, seen: Profile, names: Mapping[str, str]) -> int:
    """How many values of the outputs the watched warp stores."""
    if len(seen.requests) >= WATCHED_REQUESTS:
        return -1
    return sum(
        len(one.lanes) * one.size // case.arrays[names[one.array]].itemsize
        for one in seen.requests.of(kind="store", space="global")
        if names.get(one.array) in case.outputs
    )


def _changed(case: Case, arrays: Mapping[str, np.ndarray]) -> int:
    """How many values of the outputs are others than before the launch."""
    return sum(
        int((_bits(arrays[name]) != _bits(case.arrays[name])).any(axis=1).sum())
        for name in case.outputs
    )


def _bits(a: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(a).reshape(-1).view(np.uint8).reshape(a.size, -1)


# --------------------------------------------------------------------------------------------------
# Files


def save(outcomes: Sequence[Outcome], path: Path | str) -> None:
    """Write outcomes to an .npz file that `load` reads without pickle."""
    notes: list[dict[str, Any]] = []
    arrays: dict[str, Any] = {}
    for k, one in enumerate(outcomes):
        arrays |= {f"{k}/{name}": array for name, array in one.arrays.items()}
        counts = [dataclasses.asdict(c) for c in one.counts]
        findings = [f.to_dict() for f in one.findings]
        notes.append(
            {"counts": counts, "findings": findings, "spread": spread_note(one.spread)}
            | {n: getattr(one, n) for n in _PLAIN}
        )
    text = np.frombuffer(json.dumps(notes).encode(), np.uint8)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, outcomes=text, **arrays)
    Path(path).write_bytes(buffer.getvalue())


_PLAIN = ("stopped", "said", "printed", "lines")


def load(path: Path | str) -> tuple[Outcome, ...]:
    """Read what `save` wrote. Raises ValueError for anything else."""
    try:
        with np.load(path, allow_pickle=False) as file:
            stored = {name: file[name] for name in file.files}
        notes = json.loads(stored.pop("outcomes").tobytes())
        return tuple(_outcome(note, k, stored) for k, note in enumerate(notes))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} holds no outcomes of an exercise: {error}") from error


def _outcome(note: Mapping[str, Any], k: int, stored: Mapping[str, np.ndarray]) -> Outcome:
    arrays = {
        name.partition("/")[2]: a for name, a in stored.items() if name.partition("/")[0] == str(k)
    }
    counts = [
        Counts(**{**c, "traffic": tuple(Traffic(**row) for row in c["traffic"])})
        for c in note["counts"]
    ]
    findings = [_finding(one) for one in note["findings"]]
    spread = None if note["spread"] is None else Spread(*note["spread"])
    plain = {name: note[name] for name in _PLAIN}
    return Outcome(arrays, tuple(counts), tuple(findings), spread=spread, **plain)


def spread_note(spread: Spread | None) -> list[int] | None:
    """A Spread as plain values."""
    return None if spread is None else list(dataclasses.astuple(spread))


def _finding(stored: Mapping[str, Any]) -> Finding:
    lines = {int(line): text for line, text in stored["source_lines"].items()}
    three = {name: tuple(stored[name]) for name in ("thread", "block")}
    index = stored["index"]
    return Finding(
        **{
            **stored,
            **three,
            "source_lines": lines,
            "index": tuple(index) if isinstance(index, list) else index,
        }
    )
