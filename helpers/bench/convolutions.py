"""1D convolution on the bench: `bench.conv1d(n=10**8, filter_width=5)`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import checking, limits, reference
from helpers.bench.problem import OnDevice, Problem
from helpers.bench.sources import Kernel, chosen, sized
from helpers.launch import Array, Plan
from helpers.problems import baselines
from helpers.problems import conv1d as kernels_1d
from helpers.programs import Program

FEW = 10_007  # cells of a check: a prime, so that the last block is never full
ONE = 92_160  # cells of a count: whole tiles of nearly all kernels
SEED = 4


def conv1d(n: int = 10**8, filter_width: int = 3, *, counted: int = ONE) -> Convolution:
    """Return a 1D convolution of n cells. counted: the cells of a count in the simulator.

    Raises ValueError for an even width.
    """
    limits.require_filter(filter_width)
    return Convolution(n, filter_width, counted)


@dataclass(frozen=True)
class Convolution(Problem):
    """A 1D convolution. Its kernels compute "P" of "N" and "filter"."""

    n: int
    filter_width: int
    counted: int = ONE

    @property
    def title(self) -> str:
        return f"n = {self.n:,}, filter of {self.filter_width}"

    @property
    def where(self) -> Mapping[str, Any]:
        return {"n": self.n, "filter_width": self.filter_width}

    @property
    def few(self) -> Convolution:
        return dataclasses.replace(self, n=min(FEW, self.n))

    @property
    def one(self) -> Convolution:
        return dataclasses.replace(self, n=min(self.counted, self.n))

    @property
    def filter(self) -> np.ndarray:
        """The weights, float32, shape (filter_width,)."""
        rng = np.random.default_rng((SEED, self.filter_width))
        return rng.uniform(0.1, 1, self.filter_width).astype(np.float32)

    def arrays(self) -> dict[str, np.ndarray]:
        cells = kernels_1d.PeriodicData(self.n).cells(0, self.n)
        return {"P": np.full_like(cells, np.nan), "N": cells, "filter": self.filter}

    def named(self, name: str) -> kernels_1d.Conv1d:
        rows = {spec.name: spec for spec in kernels_1d.CONV1D}
        return chosen(rows, name, "1D convolution")

    def sized(
        self, spec: kernels_1d.Conv1d, constants: Mapping[str, Any]
    ) -> tuple[kernels_1d.Conv1d, dict[str, Any]]:
        """Return the record with other sizes: TILE_WIDTH, OUTPUTS, threads."""
        names = {"TILE_WIDTH": "tile", "OUTPUTS": "outputs", "threads": "threads"}
        return sized(spec, constants, names)

    def facts(self, spec: kernels_1d.Conv1d) -> Mapping[str, Any]:
        facts = {"tile_width": spec.tile, "outputs": spec.outputs, "threads": spec.threads}
        return {key: value for key, value in facts.items() if value is not None}

    def macros(self, spec: kernels_1d.Conv1d) -> frozenset[str]:
        return frozenset(("FILTER_WIDTH", "TILE_WIDTH", "OUTPUTS"))

    def plan(self, kernel: Kernel) -> Plan:
        P, N, filter = (Array("P", (self.n,)), Array("N", (self.n,)),
                        Array("filter", (self.filter_width,)))  # fmt: skip
        values = {"P": P, "N": N, "filter": filter, "n": np.int32(self.n)}
        return kernel.rewritten(kernel.spec.plan(self.n, self.filter_width), values)

    def verdict(
        self, arrays: Mapping[str, np.ndarray], kernel: Kernel, name: str
    ) -> checking.Verdict:
        cells, filter = arrays["N"], self.filter
        want = reference.conv1d(cells, filter)
        suspects = {"the filter is flipped": reference.conv1d(cells, filter[::-1])}
        atol = kernels_1d.conv1d_atol(cells, filter)
        return checking.check(
            arrays["P"], want, rtol=0.0, atol=atol, name=name, suspects=suspects
        )

    @property
    def outputs(self) -> int:
        return self.n

    def covered(self, kernel: Kernel) -> int:
        spec = kernel.spec
        return math.prod(spec.grid(self.n, self.filter_width)) * spec.threads * (spec.outputs or 1)

    @property
    def work(self) -> limits.Work:
        return limits.conv1d(self.n, self.filter_width)

    def cpu(self) -> dict[str, baselines.Baseline]:
        """Return the CPU programs by short key, such as "numpy", "one_core" and "all_cores"."""
        return baselines.conv1d()

    def on_device(self) -> ConvolutionOnDevice:
        return ConvolutionOnDevice(self)


class ConvolutionOnDevice(OnDevice):
    """A 1D convolution on the GPU: all outputs against the plainest kernel's, windows by oracle."""

    problem: Convolution

    def __init__(self, problem: Convolution):
        super().__init__(problem)
        import pycuda.driver as cuda

        self._memory = [cuda.mem_alloc(4 * problem.n) for _ in range(3)]
        self._filter = cuda.to_device(problem.filter)
        source, self._output, want = map(int, self._memory)
        self._arrays = {"P": self._output, "N": source, "filter": self._filter}
        data = kernels_1d.PeriodicData(problem.n)
        data.upload(cuda, source)
        self._checker = kernels_1d.Checker(cuda, data, want)
        self._checker.poison(want)
        plainest = problem.plan(problem.kernel(kernels_1d.PLAINEST))
        with Program(plainest) as program:
            program.launch({**self._arrays, "P": want})
        self._checker.windows(want, problem.filter, kernels_1d.PLAINEST)

    @property
    def arrays(self) -> Mapping[str, Any]:
        return self._arrays

    def poison(self) -> None:
        self._checker.poison(self._output)

    def verdict(self, kernel: Kernel) -> checking.Verdict:
        return self._checker.everywhere(self._output, self.problem.filter, kernel.title)

    def free(self) -> None:
        super().free()
        for array in (*self._memory, self._filter):
            array.free()
