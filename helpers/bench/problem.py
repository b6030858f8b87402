"""A problem as a lab sees it: its arrays and reference, and what one does with its kernels.

    layer = bench.layer("layer 2", images=10_000)
    tiled = layer.kernel("conv2d_tiled", TILE_WIDTH=20)

    print(layer.check(my_cell))                              # PASS, or what is wrong, and where
    print(layer.count("conv2d_constant", tiled, my_cell))    # counters side by side
    times = layer.compare("conv2d_constant", tiled, my_cell, record="111_tiles")
    widths = layer.sweep("conv2d_tiled", TILE_WIDTH=(8, 16, 20, 32), record="111_deeper")

A kernel is a name of kernels/, what `kernel` made of one, or a student's %%kernel cell. Checks and
counts run in the simulator. Times are those of the selected GPU; without one, the recorded ones.
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from helpers import checking, device, kernels, launch, limits, simulator
from helpers.bench import results, sources, timing
from helpers.bench.counts import Count, Counts
from helpers.bench.ratios import Ratio
from helpers.bench.sources import Kernel, KernelError
from helpers.bench.times import Times, noted
from helpers.launch import Plan
from helpers.programs import Program, launcher

Row = dict[str, Any]
Watch = tuple[tuple[int, int, int], int]  # a block, and the number of a warp of it
COMPARE_S, SWEEP_S = 0.5, 0.2  # seconds for the samples of a pair, and of a kernel alone


class NotReadyError(RuntimeError):
    """A kernel that has not passed its check, so that it may not be timed."""


class NoLibraryError(NotReadyError):
    """A vendor's library that is not installed here: it is left out of a comparison."""


@dataclass(frozen=True)
class Library:
    """A vendor's library in the place of a kernel's record. It is compared, and cannot be counted.

    Its source is not known, so nothing else holds of it.
    """

    name: str


@dataclass(frozen=True)
class Check:
    """The result of a check: true if the kernel passed.

    verdict: of the outputs, None where they are wrong or the launch did not run to its end.
    message: what a student reads. findings: the simulator's.
    """

    kernel: Kernel
    message: str
    verdict: checking.Verdict | None = None
    findings: tuple[simulator.Finding, ...] = field(default=(), repr=False)

    def __bool__(self) -> bool:
        return self.verdict is not None

    def __repr__(self) -> str:
        return self.message


class Checks(list[Check]):
    """The checks of several kernels."""

    def __repr__(self) -> str:
        return "\n".join(map(str, self))

    __str__ = __repr__


@dataclass(frozen=True)
class Ready:
    """A kernel that was compiled for the device and has passed its check there.

    Only `OnDevice.ready` makes one, and only a Ready can be timed. run: `run(stream)` enqueues it.
    registers: of a thread. error: the largest error of its outputs over the largest output, which a
    record calls relative_error. program, arrays: what it launches, and on which addresses.
    """

    kernel: Kernel
    run: Any
    verdict: checking.Verdict
    registers: int
    error: float
    program: Program | None = field(default=None, repr=False, compare=False)
    arrays: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def only(self, *names: str) -> Ready:
        """Return a part of it: its kernels of these names, which has passed with the whole."""
        if self.program is None:
            raise ValueError(f"{self.kernel.title} has no program to take a part of")
        return dataclasses.replace(self, run=launcher(self.program, self.arrays, names))

    def time(self, budget_s: float = SWEEP_S, cache: str = "cold") -> timing.Timing:
        """Return its time, as timing.time_gpu measures it."""
        return timing.time_gpu(
            self.run,
            verdict=self.verdict,
            name=self.kernel.title,
            budget_s=budget_s,
            cache=cache,
        )

    def beside(
        self,
        other: Ready,
        budget_s: float = COMPARE_S,
        precision: float = 0.01,
        cache: str = "cold",
    ) -> timing.Comparison:
        """Return its time over that of another kernel, sample by sample in turns."""
        return timing.compare(
            self.run,
            other.run,
            verdicts=(self.verdict, other.verdict),
            names=(self.kernel.title, other.kernel.title),
            budget_s=budget_s,
            precision=precision,
            cache=cache,
        )

    def over(self, other: Ready, budget_s: float = COMPARE_S) -> Ratio:
        """Return the ratio of the times, this kernel's over the other's."""
        return Ratio.of(self.beside(other, budget_s))


class OnDevice:
    """The arrays of a problem on the selected GPU, for as long as the `with` block lasts.

    This one copies all outputs back and checks them on the host. A problem too large for that has
    its own.
    """

    def __init__(self, problem: Problem):
        self.problem = problem
        self._host: dict[str, np.ndarray] = {}
        self._there: dict[str, Any] = {}
        self._programs: list[Program] = []

    @property
    def arrays(self) -> Mapping[str, Any]:
        """The device addresses of a plan's arrays, by name."""
        if not self._there:
            import pycuda.driver as cuda

            self._host = self.problem.arrays()
            self._there = {name: cuda.to_device(one) for name, one in self._host.items()}
        return self._there

    def poison(self) -> None:
        """Fill the outputs with NaN, so that a check sees what a kernel does not write."""
        import pycuda.driver as cuda

        for name, there in self.arrays.items():
            cuda.memcpy_htod(there, self._host[name])

    def verdict(self, kernel: Kernel) -> checking.Verdict:
        """Check all outputs. Raises checking.CheckError."""
        import pycuda.driver as cuda

        back = {name: np.empty_like(one) for name, one in self._host.items()}
        for name, array in back.items():
            cuda.memcpy_dtoh(array, self.arrays[name])
        return self.problem.verdict(back, kernel, kernel.title)

    def free(self) -> None:
        """Free the device's memory, and what the kernels took beside the arrays."""
        for program in self._programs:
            program.free()
        for array in self._there.values():
            array.free()
        self._there = {}

    def error(self, kernel: Kernel) -> float:
        """Return the largest error of outputs that have passed, over the largest output."""
        return self.verdict(kernel).max_error

    def ready(self, kernel: Any) -> Ready:
        """Compile a kernel, launch it on poisoned outputs, and check them.

        A text that is no file of kernels/ is checked in the simulator first, because a fault on
        the GPU would end the notebook. Raises NotReadyError for a kernel that does not pass, and
        what the problem's record raises for sizes that it refuses.
        """
        one = self.problem.kernel(kernel)
        if not one.is_ours and not (first := self.problem.check(one)):
            raise NotReadyError(
                f"{one.title} has not passed its check, so it is not timed:\n{first}"
            )
        self.problem.require(one)
        program = Program(self.problem.plan(one))
        self._programs.append(program)
        run = launcher(program, self.arrays)
        self.poison()
        run()
        try:
            verdict = self.verdict(one)
        except checking.CheckError as error:
            raise NotReadyError(
                f"{one.title} is wrong on this GPU, so it is not timed:\n{error}"
            ) from None
        registers = program.kernel().function.num_regs
        return Ready(one, run, verdict, registers, self.error(one), program, self.arrays)

    def __enter__(self) -> OnDevice:
        return self

    def __exit__(self, *_: Any) -> None:
        self.free()


class Problem(abc.ABC):
    """What the kernels of one kind compute, at one size. Problems are values: equal ones are one.

    few: as large as a check needs it; one: as large as a count needs it. Both are problems of the
    same kind, so that everything below holds for them, too.
    """

    # ---- What a kind of problem says of itself

    @property
    @abc.abstractmethod
    def title(self) -> str:
        """Its name in tables and figures, such as "layer 1"."""

    @property
    @abc.abstractmethod
    def where(self) -> Mapping[str, Any]:
        """The columns that name it in a record, such as {"layer": "layer 1", "batch": 10000}."""

    @property
    @abc.abstractmethod
    def few(self) -> Problem:
        """The problem at the size of a check in the simulator."""

    @property
    @abc.abstractmethod
    def one(self) -> Problem:
        """The problem at the size of a count in the simulator."""

    @abc.abstractmethod
    def arrays(self) -> dict[str, np.ndarray]:
        """Return the inputs on the host, by the names of a plan, and outputs that hold NaN."""

    @abc.abstractmethod
    def named(self, name: str) -> Any:
        """Return the record of the launch of a kernel in kernels/. Raises KernelError."""

    @abc.abstractmethod
    def sized(self, spec: Any, constants: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Return a record with other sizes, and the columns that name them in a record."""

    @abc.abstractmethod
    def plan(self, kernel: Kernel) -> Plan:
        """Return the launches of a kernel."""

    @abc.abstractmethod
    def macros(self, spec: Any) -> frozenset[str]:
        """Return the -D macros that the record of a launch sets itself."""

    @abc.abstractmethod
    def verdict(
        self, arrays: Mapping[str, np.ndarray], kernel: Kernel, name: str
    ) -> checking.Verdict:
        """Check the outputs in `arrays`. Raises checking.CheckError, with the usual suspects."""

    @abc.abstractmethod
    def covered(self, kernel: Kernel) -> int:
        """Return for how many outputs the launch has threads."""

    @property
    @abc.abstractmethod
    def outputs(self) -> int:
        """How many values the problem has to compute."""

    @property
    @abc.abstractmethod
    def work(self) -> limits.Work:
        """The bytes that must be moved and the operations that must be made."""

    def on_device(self) -> OnDevice:
        """Return its arrays on the selected GPU, for a `with` block."""
        return OnDevice(self)

    def passed(self, verdict: checking.Verdict) -> str:
        """Return what a student reads of a kernel that is right."""
        return (
            f"PASS {verdict.name}: {verdict.count:,} values within the rounding of float32 sums"
        )

    def require(self, kernel: Kernel) -> None:
        """Raise what the record raises for a size that the kernel or the device refuses."""
        return  # most records refuse nothing

    def like(self, cell: Any) -> str:
        """Return the kernel whose launch a student's cell has where it names no other one."""
        name = cell.name
        with contextlib.suppress(KernelError):
            return str(self.named(name).name)
        raise KernelError(
            f"there is no kernel {name!r} in kernels/, so its launch is not known: say whose it "
            f'has, as in kernel({name}, like="conv2d_constant")'
        )

    def facts(self, spec: Any) -> Mapping[str, Any]:
        """Return the sizes of a record by the names of `sized`, set or not."""
        return {}

    # ---- What one does with it

    def floor_ms(self, device: Any) -> float:
        """Return the least ms on a device: its bytes or its operations, whichever take longer."""
        return 1e3 * limits.floor(self.work, device).seconds

    def kernel(
        self,
        kernel: Any,
        *,
        like: str = "",
        arguments: str = "",
        label: str = "",
        **sizes: Any,
    ) -> Kernel:
        """Return a kernel of this problem.

        kernel: a name of kernels/; a record of the problem; what a %%kernel cell binds; or a
        Kernel, which stays what it is. like: for a cell, the kernel whose launch it has; without
        it, the one of its name.
        arguments: for a cell with other parameters, their names in order, such as "y x H W".
        sizes: -D constants of the source (TILE_WIDTH=20), or fields of the record (block=(32, 8)).
        Raises KernelError for what is no kernel, and for a size that the record does not have.
        """
        if isinstance(kernel, Kernel):
            found = kernel
        elif hasattr(kernel, "plan"):
            found = Kernel(kernel.name, kernel)
        elif isinstance(kernel, str):
            found = Kernel(kernel, self.named(kernel))
        elif sources.is_cell(kernel):
            spec = self.named(like or self.like(kernel))
            known = self.macros(spec)
            found = sources.from_cell(kernel, spec, lambda macro: macro in known)
        else:
            raise KernelError(
                f"{kernel!r} is no kernel: give a name of kernels/, what kernel() returned, or "
                "the name that a %%kernel cell binds"
            )
        if sizes:
            spec, settings = self.sized(found.spec, sizes)
            own = (*found.settings, *settings.items())
            found = dataclasses.replace(found, spec=spec, settings=own)
        if arguments:
            found = dataclasses.replace(found, arguments=tuple(arguments.split()))
        return found.named(label) if label else found

    def check(self, *kernels: Any) -> Any:
        """Run kernels on a small case in the simulator: PASS, or what is wrong, in which line.

        Returns a Check, for several kernels Checks. It raises nothing for a wrong kernel.
        """
        checks = [_check(self.few, self.kernel(one)) for one in kernels]
        return checks[0] if len(checks) == 1 else Checks(checks)

    def count(self, *kernels: Any, watch: Watch | None = None) -> Counts:
        """Count what kernels ask for, on `one` of the problem in the simulator.

        watch: the block and the number of the warp whose requests are kept one by one.
        """
        counts = [_count(self.one, self.kernel(one), watch) for one in kernels]
        return Counts(counts)

    def compare(
        self,
        baseline: Any,
        *kernels: Any,
        record: str = results.UNNAMED,
        budget_s: float = COMPARE_S,
        precision: float = 0.01,
    ) -> Times:
        """Time kernels over a baseline, each in turns with it.

        record: the name of a record, which gets the rows on a GPU. Without a GPU, the recorded
        times are returned; kernels that are not in the record have none, nor has any without the
        name of a record. A student's kernel
        that has not passed is "yours: not yet". Raises NotReadyError for another kernel that does
        not pass, and KernelError for two kernels of one name.
        """
        base, *others = _distinct([self.kernel(one) for one in (baseline, *kernels)])
        if device.select().kind != "gpu":
            return Times.recalled(record, self, [base, *others], over=base)
        return noted(
            record, self, [base, *others], self._compared(base, others, budget_s, precision), base
        )

    def sweep(
        self,
        *kernels: Any,
        record: str = results.UNNAMED,
        budget_s: float = SWEEP_S,
        **sizes: Sequence[Any],
    ) -> Times:
        """Time kernels alone, at all combinations of the sizes, such as TILE_WIDTH=(8, 16).

        record and errors: as for `compare`.
        """
        each = _distinct(
            [
                self.kernel(one, **dict(zip(sizes, values, strict=True)))
                for one in kernels
                for values in itertools.product(*sizes.values())
            ]
        )
        if device.select().kind != "gpu":
            return Times.recalled(record, self, each)
        return noted(record, self, each, self._swept(each, budget_s))

    def _compared(
        self, base: Kernel, others: Sequence[Kernel], budget_s: float, precision: float
    ) -> Iterator[Row]:
        with self.on_device() as there:
            first = there.ready(base)
            is_first = True
            for one in others:
                ready = _ready_or_not_yet(there, one)
                if ready is None:
                    continue
                pair = ready.beside(first, budget_s, precision)
                if is_first:
                    yield self.row(first) | {"timing": pair.b}
                    is_first = False
                ratio = {"over": base.title, **Ratio.of(pair).to_row()}
                yield self.row(ready) | ratio | {"timing": pair.a}
            if is_first:
                yield self.row(first) | {"timing": first.time(budget_s)}

    def _swept(self, kernels: Sequence[Kernel], budget_s: float) -> Iterator[Row]:
        with self.on_device() as there:
            for one in kernels:
                ready = _ready_or_not_yet(there, one)
                if ready is not None:
                    yield self.row(ready) | {"timing": ready.time(budget_s)}

    def row(self, ready: Ready) -> Row:
        """Return the row of a record for a kernel, without its time."""
        one = ready.kernel
        facts: dict[str, Any] = {"registers": ready.registers, "relative_error": ready.error}
        if one.text:  # no file of kernels/, whose hashes stand in the record
            facts["code_sha256"] = kernels.code_sha256(one.text)
        named = {"series": one.label, "kernel": one.name, **dict(one.settings)}
        if isinstance(one.spec, Library):  # it has no source, and tells no registers
            del named["kernel"], facts["registers"]
        return {**named, **self.where, **facts}


def require_source(kernel: Kernel) -> None:
    """Raise KernelError for a library, which cannot be checked or counted in the simulator."""
    if isinstance(kernel.spec, Library):
        raise KernelError(
            f"{kernel.spec.name} is a library without a source: compare() and sweep() time it, "
            "and nothing else"
        )


def _distinct(kernels: list[Kernel]) -> list[Kernel]:
    """Return the kernels. Raises KernelError for two of one name, which a record would mix up."""
    titles = [one.title for one in kernels]
    if twice := [title for title in titles if titles.count(title) > 1]:
        raise KernelError(
            f"two kernels are called {twice[0]!r}: give one another name, "
            'as in kernel(..., label="the second version")'
        )
    return kernels


def _ready_or_not_yet(there: OnDevice, kernel: Kernel) -> Ready | None:
    """Return the kernel, ready; None for a student's that has not passed yet, and for a library
    that is not here, which is said.
    """
    try:
        return there.ready(kernel)
    except NoLibraryError as missing:
        print(missing)
        return None
    except NotReadyError:
        if kernel.yours:
            return None
        raise


# --------------------------------------------------------------------------------------------------
# In the simulator

_PROFILES: dict[Any, Any] = {}
MOST_PROFILES = 96  # with their arrays


def _profiled(problem: Problem, kernel: Kernel, watch: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """Run a kernel; return its profile and the arrays. A launch is run once, and then kept."""
    key = (problem, kernel, watch)
    if key not in _PROFILES:
        if len(_PROFILES) >= MOST_PROFILES:
            _PROFILES.pop(next(iter(_PROFILES)))
        problem.require(kernel)
        arrays = problem.arrays()
        more = {} if watch is None else {"watch": watch}
        profiles = launch.simulate(problem.plan(kernel), arrays, simulator.profile, **more)
        _PROFILES[key] = profiles, arrays
    return _PROFILES[key]


def _check(problem: Problem, kernel: Kernel) -> Check:
    if kernel.is_missing:
        return Check(kernel, sources.MISSING)
    try:
        profiles, arrays = _profiled(problem, kernel, None)
    except (simulator.CompileFailed, launch.LaunchError) as error:
        return Check(kernel, f"FAIL {kernel.title}: {error}")
    findings = tuple(finding for one in profiles for finding in one.findings)
    name = f"{kernel.title}, {problem.title}"
    if faults := _faults(profiles):
        return Check(kernel, f"FAIL {name}: {faults[0]}", None, findings)
    try:
        verdict = problem.verdict(arrays, kernel, name)
    except checking.CheckError as error:
        return Check(kernel, str(error), None, findings)
    return Check(kernel, problem.passed(verdict), verdict, findings)


def _count(problem: Problem, kernel: Kernel, watch: Any) -> Count:
    if kernel.is_missing:
        return Count(kernel, problem.title, (), problem.outputs, problem.outputs, False)
    try:
        profiles, arrays = _profiled(problem, kernel, watch)
    except simulator.CompileFailed:
        if not kernel.yours:
            raise
        return Count(kernel, problem.title, (), problem.outputs, problem.outputs, False)
    right = not _faults(profiles)
    if right and kernel.yours:
        try:
            problem.verdict(arrays, kernel, kernel.title)
        except checking.CheckError:
            right = False
    covered = problem.covered(kernel)
    return Count(kernel, problem.title, tuple(profiles), problem.outputs, covered, right)


def _faults(profiles: Sequence[simulator.Profile]) -> list[simulator.Finding]:
    return [one for profile in profiles for one in profile.findings if one.severity == "error"]
