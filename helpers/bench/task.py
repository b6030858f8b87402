"""What kernels compute: arrays, reference and tolerance; checked and counted in the simulator.

A `Task` says what a kind of problem is. `problem.Problem` adds the times of its kernels.
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from helpers import checking, kernel_cells, launch, limits, simulator
from helpers.bench import plan_bounds, sources
from helpers.bench.counts import Count, Counts
from helpers.bench.sources import Kernel, KernelError
from helpers.launch import Plan
from helpers.quantities import quantity
from helpers.simulator.bounds import Bounds

Watch = tuple[tuple[int, int, int], int]  # a block, and the number of a warp of it


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
    message: what a student reads. findings: the simulator's. wrong: how many values of the outputs.
    """

    kernel: Kernel
    message: str
    verdict: checking.Verdict | None = None
    findings: tuple[simulator.Finding, ...] = field(default=(), repr=False)
    wrong: int = 0

    def __bool__(self) -> bool:
        return self.verdict is not None

    def __repr__(self) -> str:
        return self.message


class Checks(list[Check]):
    """The checks of several kernels."""

    def __repr__(self) -> str:
        return "\n".join(map(str, self))

    __str__ = __repr__


class Task(abc.ABC):
    """What the kernels of one kind compute, at one size. Tasks are values: equal ones are one.

    few: as large as a check needs it; one: as large as a count needs it. Both are tasks of the
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
    def few(self) -> Task:
        """The problem at the size of a check in the simulator."""

    @property
    @abc.abstractmethod
    def one(self) -> Task:
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

    @property
    def size(self) -> int | None:
        """The cells or images with whose number the counts of a launch grow in a straight line;
        None where no such number is known, and so no bound.
        """
        return None

    def of_size(self, size: int) -> Task:
        """Return the problem with another `size`. Raises KernelError where it has none."""
        raise KernelError(f"{self.title} has no size to change")

    def counted_sizes(self, kernel: Kernel) -> tuple[int, int]:
        """Return two of the values of `size` that the simulator counts for a bound."""
        size = self.one.size or 0
        return size, 2 * size

    def passed(self, verdict: checking.Verdict) -> str:
        """Return what a student reads of a kernel that is right."""
        return (
            f"PASS {verdict.name}: {quantity(verdict.count, 'value')} within the rounding of "
            "float32 sums"
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
        it, the one of its name. arguments: for a cell with other parameters, their names in order,
        such as "y x H W". sizes: -D constants of the source (TILE_WIDTH=20), or fields of the
        record (block=(32, 8)). Raises KernelError for what is no kernel, and for a size that the
        record does not have.
        """
        if isinstance(kernel, Kernel):
            found = kernel
        elif hasattr(kernel, "plan") and not isinstance(kernel, Task):
            found = Kernel(kernel.name, kernel)
        elif isinstance(kernel, str):
            found = Kernel(kernel, self.named(kernel))
        elif kernel_cells.is_cell(kernel):
            spec = self.named(like or self.like(kernel))
            known = self.macros(spec)
            found = sources.from_cell(kernel, spec, lambda macro: macro in known)
        else:
            raise KernelError(
                f"{kernel!r} is no kernel: give a name of kernels/, what kernel() returned, or "
                "the name that a %%kernel cell binds"
            )
        if sizes:
            for name, value in sizes.items():
                sources.require_alike(found.name, name, value, getattr(found.spec, name, None))
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

    def bounds(self, kernel: Kernel) -> Bounds | None:
        """Return the bounds of a kernel's launches on an H200; None where they cannot be counted.

        They are not: where the problem has no `size`, or where a launch ends in a finding.
        """
        return _bounds(self, kernel)


def require_source(kernel: Kernel) -> None:
    """Raise KernelError for a library, which cannot be checked or counted in the simulator."""
    if isinstance(kernel.spec, Library):
        raise KernelError(
            f"{kernel.spec.name} is a library without a source: compare() and sweep() time it, "
            "and nothing else"
        )


# --------------------------------------------------------------------------------------------------
# In the simulator

_PROFILES: dict[Any, Any] = {}
MOST_PROFILES = 96  # with their arrays


def _profiled(task: Task, kernel: Kernel, watch: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """Run a kernel; return its profile and the arrays. A launch is run once, and then kept."""
    key = (task, kernel, watch)
    if key not in _PROFILES:
        if len(_PROFILES) >= MOST_PROFILES:
            _PROFILES.pop(next(iter(_PROFILES)))
        task.require(kernel)
        arrays = task.arrays()
        more = {} if watch is None else {"watch": watch}
        profiles = launch.simulate(task.plan(kernel), arrays, simulator.profile, **more)
        _PROFILES[key] = profiles, arrays
    return _PROFILES[key]


def _check(task: Task, kernel: Kernel) -> Check:
    if kernel.is_missing:
        return Check(kernel, sources.MISSING)
    try:
        profiles, arrays = _profiled(task, kernel, None)
    except (simulator.CompileFailed, launch.LaunchError) as error:
        return Check(kernel, f"FAIL {kernel.title}: {error}")
    findings = tuple(finding for one in profiles for finding in one.findings)
    name = f"{kernel.title}, {task.title}"
    if faults := _faults(profiles):
        return Check(kernel, f"FAIL {name}: {faults[0]}", None, findings)
    try:
        verdict = task.verdict(arrays, kernel, name)
    except checking.CheckError as error:
        return Check(kernel, str(error), None, findings, error.wrong)
    return Check(kernel, task.passed(verdict), verdict, findings)


def _count(task: Task, kernel: Kernel, watch: Any) -> Count:
    if kernel.is_missing:
        return Count(kernel, task.title, (), task.outputs, task.outputs, False)
    try:
        profiles, arrays = _profiled(task, kernel, watch)
    except simulator.CompileFailed:
        if not kernel.yours:
            raise
        return Count(kernel, task.title, (), task.outputs, task.outputs, False)
    right = not _faults(profiles)
    if right and kernel.yours:
        try:
            task.verdict(arrays, kernel, kernel.title)
        except checking.CheckError:
            right = False
    covered = task.covered(kernel)
    return Count(kernel, task.title, tuple(profiles), task.outputs, covered, right)


@functools.lru_cache(maxsize=MOST_PROFILES)
def _bounds(task: Task, kernel: Kernel) -> Bounds | None:
    if task.size is None or kernel.is_missing or isinstance(kernel.spec, Library):
        return None
    with contextlib.suppress(ValueError):  # a finding, or sizes that the kernel refuses
        sizes = task.counted_sizes(kernel)
        if task.size < max(sizes):
            return plan_bounds.of_whole(task.plan(kernel), kernel.title)
        return plan_bounds.bounds_of(
            lambda size: task.of_size(size).plan(kernel), task.size, sizes, kernel.title
        )
    return None


def _faults(profiles: Sequence[simulator.Profile]) -> list[simulator.Finding]:
    return [one for profile in profiles for one in profile.findings if one.severity == "error"]
