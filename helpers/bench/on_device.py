"""Kernels of a task on the selected GPU: `OnDevice` makes a `Ready`, which can be timed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from helpers import checking
from helpers.bench import timing
from helpers.bench.ratios import Ratio
from helpers.bench.sources import Kernel
from helpers.bench.task import Task
from helpers.programs import DeviceOwner, Program, launcher

COMPARE_S, SWEEP_S = 0.5, 0.2  # seconds for the samples of a pair, and of a kernel alone


class NotReadyError(RuntimeError):
    """A kernel that has not passed its check, so that it may not be timed."""


class NoLibraryError(NotReadyError):
    """A vendor's library that is not installed here: it is left out of a comparison."""


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


class OnDevice(DeviceOwner):
    """The arrays of a problem on the selected GPU, for as long as the `with` block lasts.

    This one copies all outputs back and checks them on the host. A problem too large for that has
    its own.
    """

    def __init__(self, problem: Task):
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
