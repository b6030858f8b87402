"""1D convolution on the bench: `bench.conv1d(n=10**8, filter_width=5)`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import checking, limits, reference
from helpers.bench import cufft
from helpers.bench.on_device import NoLibraryError, OnDevice, Ready
from helpers.bench.problem import Problem
from helpers.bench.sources import Kernel, chosen, sized
from helpers.bench.task import Library
from helpers.checking import device_counter
from helpers.launch import Array, Plan
from helpers.problems import baselines, fft_conv1d
from helpers.problems import conv1d as kernels_1d
from helpers.programs import Program

FEW = 10_007  # cells of a check: a prime, so that the last block is never full
ONE = 92_160  # cells of a count: whole tiles of nearly all kernels
SEED = 4


def conv1d(n: int = 10**8, filter_width: int = 3, *, counted: int = ONE) -> Convolution:
    """Return a 1D convolution of n cells. counted: the cells of a count in the simulator.

    Raises ValueError for an even width and for no cells.
    """
    limits.require_filter(filter_width)
    limits.require_count(n, "n", "the number of cells")
    return Convolution(n, filter_width, counted)


Spec = kernels_1d.Conv1d | fft_conv1d.OverlapAdd | Library
# For the record of a launch, its sizes and the fields that hold them.
_SIZES: Mapping[type, Mapping[str, str]] = {
    kernels_1d.Conv1d: {"TILE_WIDTH": "tile", "OUTPUTS": "outputs", "threads": "threads"},
    fft_conv1d.OverlapAdd: {"LOG_SIZE": "log_size", "STAGES": "stages", "segments": "segments"},
    Library: {},
}


@dataclass(frozen=True)
class Convolution(Problem):
    """A 1D convolution. Its kernels compute "P" of "N" and "filter".

    Overlap-add is one of them, in the transforms that are the fastest for the filter. Its time is
    that of one launch: the filter's spectrum is made once, before. "cuFFT" does the steps of
    overlap-add by NVIDIA's library, through CuPy: it is compared, and cannot be counted.
    """

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

    @property
    def size(self) -> int:
        """Its cells."""
        return self.n

    def of_size(self, size: int) -> Convolution:
        return dataclasses.replace(self, n=size)

    def arrays(self) -> dict[str, np.ndarray]:
        cells = kernels_1d.PeriodicData(self.n).cells(0, self.n)
        return {"P": np.full_like(cells, np.nan), "N": cells, "filter": self.filter}

    def named(self, name: str) -> Spec:
        rows: dict[str, Spec] = {spec.name: spec for spec in kernels_1d.CONV1D}
        if name == cufft.LIBRARY:
            return Library(name)
        if self.filter_width <= fft_conv1d.WIDEST:
            rows[fft_conv1d.OVERLAP_ADD] = fft_conv1d.OverlapAdd.fastest(self.filter_width)
        return chosen(rows, name, "1D convolution")

    def sized(self, spec: Spec, constants: Mapping[str, Any]) -> tuple[Spec, dict[str, Any]]:
        """Return the record with other sizes: TILE_WIDTH, OUTPUTS, threads of a direct sum.

        A block has the threads of its tile, unless they are given. Of overlap-add: LOG_SIZE,
        STAGES, segments.
        """
        new, settings = sized(spec, constants, _SIZES[type(spec)])
        if isinstance(new, kernels_1d.Conv1d) and new.tile and "threads" not in constants:
            new = dataclasses.replace(new, threads=new.tile // (new.outputs or 1))
        return new, settings

    def facts(self, spec: Spec) -> Mapping[str, Any]:
        facts = {key.lower(): getattr(spec, field) for key, field in _SIZES[type(spec)].items()}
        return {key: value for key, value in facts.items() if value is not None}

    def macros(self, spec: Spec) -> frozenset[str]:
        return frozenset(("FILTER_WIDTH", *(key for key in _SIZES[type(spec)] if key.isupper())))

    def plan(self, kernel: Kernel) -> Plan:
        P, N, filter = (Array("P", (self.n,)), Array("N", (self.n,)),
                        Array("filter", (self.filter_width,)))
        n, width = np.int32(self.n), np.int32(self.filter_width)
        values = {"P": P, "N": N, "filter": filter, "n": n, "width": width}
        return kernel.rewritten(kernel.spec.plan(self.n, self.filter_width), values)

    def slack(self, spec: Spec, cells: np.ndarray) -> float:
        """Return how many times the error bound of a direct sum a kernel may err."""
        if not isinstance(spec, fft_conv1d.OverlapAdd):
            return 1.0
        bound = fft_conv1d.conv1d_atol(spec, cells, self.filter)
        return bound / kernels_1d.conv1d_atol(cells, self.filter)

    def verdict(
        self, arrays: Mapping[str, np.ndarray], kernel: Kernel, name: str
    ) -> checking.Verdict:
        cells, filter = arrays["N"], self.filter
        want = reference.conv1d(cells, filter)
        suspects = {"the filter is flipped": reference.conv1d(cells, filter[::-1])}
        atol = self.slack(kernel.spec, cells) * kernels_1d.conv1d_atol(cells, filter)
        return checking.check(
            arrays["P"], want, rtol=0.0, atol=atol, name=name, suspects=suspects
        )

    @property
    def outputs(self) -> int:
        return self.n

    def covered(self, kernel: Kernel) -> int:
        spec, blocks = kernel.spec, math.prod(kernel.spec.grid(self.n, self.filter_width))
        if isinstance(spec, fft_conv1d.OverlapAdd):
            return blocks * spec.segments * spec.segment(self.filter_width)
        return blocks * spec.threads * (spec.outputs or 1)

    @property
    def work(self) -> limits.Work:
        return limits.conv1d(self.n, self.filter_width)

    def cpu(self) -> dict[str, baselines.Baseline]:
        """Return the CPU programs by short key, such as "numpy", "one_core" and "all_cores"."""
        return baselines.conv1d()

    def on_device(self) -> ConvolutionOnDevice:
        return ConvolutionOnDevice(self)


class CellsOnDevice(OnDevice):
    """N, P and the filter on the GPU: outputs against the plainest kernel's, windows by the oracle.

    skipped: the outputs at either end that the kernels of the problem leave out.
    """

    problem: Any

    def __init__(self, problem: Any, skipped: int = 0):
        super().__init__(problem)
        import pycuda.driver as cuda

        data = kernels_1d.PeriodicData(problem.n)
        self._memory = [cuda.mem_alloc(4 * problem.n) for _ in range(3)]
        self._filter = cuda.to_device(problem.filter)
        source, self._output, want = map(int, self._memory)
        self._arrays = {"P": self._output, "N": source, "filter": self._filter}
        data.upload(cuda, source)
        self._cells = data.period
        device_counter.DeviceCounter().poison(want, problem.n)
        plainest = kernels_1d.conv1d_named(kernels_1d.PLAINEST)
        with Program(plainest.plan(problem.n, problem.filter.size)) as program:
            program.launch({**self._arrays, "P": want})
        self._checker = kernels_1d.Checker(cuda, data, want, skipped)
        self._checker.windows(self._checker.want, problem.filter, kernels_1d.PLAINEST)

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


class ConvolutionOnDevice(CellsOnDevice):
    """A 1D convolution on the GPU, by our kernels and by cuFFT."""

    problem: Convolution

    def ready(self, kernel: Any) -> Ready:
        """Return what every problem does. What prepares the filter has run, and is not launched."""
        one = self.problem.kernel(kernel)
        if isinstance(one.spec, Library):
            return self._library(one)
        ready = super().ready(one)
        assert ready.program is not None
        return ready.only(ready.program.names[-1])

    def _library(self, one: Kernel) -> Ready:
        """Return overlap-add by cuFFT, checked.

        Raises NoLibraryError where it is not installed, or wrong: our kernels do without it.
        """
        n, filter = self.problem.n, self.problem.filter
        spec = fft_conv1d.OverlapAdd.fitting(filter.size)
        run = cufft.launcher(spec, n, self._arrays["N"], self._output, filter)
        if run is None:
            raise NoLibraryError(f"{one.title} is left out: CuPy is not installed")
        self.poison()
        run(None)
        try:
            verdict = self.verdict(dataclasses.replace(one, spec=spec))
        except checking.CheckError as error:
            raise NoLibraryError(f"{one.title} is left out: {error}") from None
        return Ready(one, run, verdict, 0, verdict.max_error)

    def verdict(self, kernel: Kernel) -> checking.Verdict:
        slack = self.problem.slack(kernel.spec, self._cells)
        return self._checker.everywhere(self._output, self.problem.filter, kernel.title, slack)
