"""Products of two large matrices on the bench: `bench.gemm(4096, 4096, 4096)`."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import checking, limits
from helpers.bench import cudnn, plan_bounds
from helpers.bench.on_device import NoLibraryError, OnDevice, Ready
from helpers.bench.problem import Problem
from helpers.bench.sources import Kernel, KernelError, sized
from helpers.bench.task import Library, require_source
from helpers.launch import Plan
from helpers.limits import SECTOR_BYTES
from helpers.problems import gemm as ladder
from helpers.simulator import bounds
from helpers.simulator.bounds import Counts

LIBRARY = "cuBLAS"
RECORD = "benchmark_products"  # of the products beside cuBLAS
# Rows, columns and terms of its products. The sides of the first and the fourth suit no tile.
SIZES = (
    (1000, 1016, 1048),
    (2048, 2048, 2048),
    (4096, 4096, 4096),
    (4096, 4104, 4112),
    (8192, 8192, 8192),
)
# Rows, columns and terms of a check, and of a count. A kernel of halves copies 8 at a time.
FEW, FEW_HALVES, ONE = (150, 140, 70), (150, 136, 72), (256, 256, 64)
INNER = (64, 128)  # terms of the sums that are counted for a bound


def gemm(rows: int = 4096, cols: int = 4096, inner: int = 4096, *, halves: bool = False) -> Gemm:
    """Return the product of a rows x inner by an inner x cols matrix, random numbers from -1 to 1.

    Its kernels are those of `problems.gemm`, in float32 or float16 (halves=True), and "cuBLAS",
    NVIDIA's library as PyTorch calls it, which is compared and cannot be counted. The fastest one
    of each type, gemm_warp and gemm_overlapped, has the tiles that suit the sizes.
    Raises ValueError for an empty matrix.
    """
    for name, value in (("rows", rows), ("cols", cols), ("inner", inner)):
        limits.require_count(value, name, "a side of a matrix")
    return Gemm(rows, cols, inner, halves)


@dataclass(frozen=True)
class Gemm(Problem):
    """A product of one size. Its kernels compute "Y" of "A" and "X"."""

    rows: int
    cols: int
    inner: int
    halves: bool = False

    @property
    def title(self) -> str:
        return f"{self.rows:,} x {self.inner:,} by {self.inner:,} x {self.cols:,}"

    @property
    def where(self) -> Mapping[str, Any]:
        return dataclasses.asdict(self)

    @property
    def few(self) -> Gemm:
        return self._at_most(*(FEW_HALVES if self.halves else FEW))

    @property
    def one(self) -> Gemm:
        return self._at_most(*ONE)

    def _at_most(self, *most: int) -> Gemm:
        sizes = zip((self.rows, self.cols, self.inner), most, strict=True)
        rows, cols, inner = (min(pair) for pair in sizes)
        return Gemm(rows, cols, inner, self.halves)

    @property
    def dtype(self) -> type[np.floating]:
        """The type of the three matrices."""
        return np.float16 if self.halves else np.float32

    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """Return A and X; other callers get the same arrays, so leave them."""
        return _product(self)[:2]

    def arrays(self) -> dict[str, np.ndarray]:
        A, X = self.factors()
        Y = np.full((self.rows, self.cols), np.nan, self.dtype)
        return {"Y": Y, "A": A.copy(), "X": X.copy()}

    def named(self, name: str) -> Any:
        if name == LIBRARY:
            return Library(LIBRARY)
        last = ladder.fastest(self.rows, self.cols, halves=self.halves)
        own = [*(ladder.HALVES[:-1] if self.halves else ladder.GEMM), last]
        for spec in own:
            if spec.name == name:
                return spec
        there = ", ".join((*(spec.name for spec in own), LIBRARY))
        raise KernelError(
            f"there is no kernel {name!r} for products in {self.dtype.__name__}; choose from "
            f"{there}"
        )

    def sized(self, spec: Any, constants: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Return a record with another tile or block: fields of problems.gemm.Gemm."""
        return sized(spec, constants, {"tile": "tile", "block": "block", "constants": "constants"})

    def macros(self, spec: Any) -> frozenset[str]:
        return frozenset(name for name, _ in spec.constants)

    def plan(self, kernel: Kernel) -> Plan:
        require_source(kernel)
        plan = kernel.spec.plan(self.rows, self.cols, self.inner)
        Y, A, X, *sizes = plan[0].arguments
        named = dict(zip(("rows", "cols", "inner"), sizes, strict=True))
        return kernel.rewritten(plan, {"Y": Y, "A": A, "X": X, **named})

    def verdict(
        self, arrays: Mapping[str, np.ndarray], kernel: Kernel, name: str
    ) -> checking.Verdict:
        A, X, want = _product(self)
        got = arrays["Y"].astype(np.float32)
        return checking.check(got, want, rtol=0.0, atol=ladder.atol(A, X, want), name=name)

    @property
    def outputs(self) -> int:
        return self.rows * self.cols

    def covered(self, kernel: Kernel) -> int:
        high, wide = kernel.spec.tile
        return -(-self.rows // high) * high * -(-self.cols // wide) * wide

    @property
    def work(self) -> limits.Work:
        cells = self.rows * self.inner + self.inner * self.cols + self.outputs
        size = np.dtype(self.dtype).itemsize
        return limits.Work(bytes=size * cells, flops=2 * self.outputs * self.inner)

    def bounds(self, kernel: Kernel) -> bounds.Bounds | None:
        """Return the bounds of a kernel's launch on an H200; None of a library, and where tiles or
        sums of INNER terms are cut at the ends of the matrices.
        """
        return _bounds(self, kernel)

    def on_device(self) -> GemmOnDevice:
        return GemmOnDevice(self)


@functools.lru_cache(maxsize=16)
def _bounds(problem: Gemm, kernel: Kernel) -> bounds.Bounds | None:
    """Count one tile and two, of sums of two lengths: each block does what the others do, so that
    the counts are straight lines in both numbers. Its bytes are those of the matrices, once.
    """
    if kernel.is_missing or isinstance(kernel.spec, Library):
        return None
    high, wide = kernel.spec.tile
    if problem.rows % high or problem.cols % wide or problem.inner % INNER[0]:
        return None
    (whole,) = problem.plan(kernel)

    def of_length(inner: int) -> Counts:
        one, two = (
            plan_bounds.counted(Gemm(high, tiles * wide, inner, problem.halves).plan(kernel))[0]
            for tiles in (1, 2)
        )
        return one.at(two, whole.grid)

    small, large = map(of_length, INNER)
    counts = small.at(large, whole.grid, (*INNER, problem.inner))
    sectors = {
        "sectors_read": (problem.rows + problem.cols) * problem.inner,
        "sectors_written": problem.outputs,
    }
    size = np.dtype(problem.dtype).itemsize
    totals = {name: cells * size / SECTOR_BYTES for name, cells in sectors.items()}
    counts = dataclasses.replace(counts, totals={**counts.totals, **totals})
    return bounds.bounds(counts, plan_bounds.DEVICE)


@functools.lru_cache(maxsize=4)
def _product(problem: Gemm) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    A, X = ladder.matrices(problem.rows, problem.cols, problem.inner, problem.dtype)
    return A, X, ladder.reference(A, X)


class GemmOnDevice(OnDevice):
    """The matrices on the GPU."""

    problem: Gemm

    def ready(self, kernel: Any) -> Ready:
        one = self.problem.kernel(kernel)
        if not isinstance(one.spec, Library):
            return super().ready(one)
        try:
            run = cublas(self.arrays, self.problem)
        except cudnn.TorchMissing as missing:
            raise NoLibraryError(f"{LIBRARY} is left out: {missing}") from None
        self.poison()
        run(None)
        verdict = self.verdict(one)
        return Ready(one, run, verdict, 0, verdict.max_error)


def cublas(addresses: Mapping[str, Any], sizes: Gemm) -> Any:
    """Return a function of a stream that multiplies by cuBLAS, through PyTorch's `torch.mm`.

    addresses: of "Y", "A" and "X" on the device. In FP32, TF32 is off. Raises TorchMissing.
    """
    mode = "FP16" if sizes.halves else "FP32"
    torch = cudnn.require(mode)
    shapes = {
        "Y": (sizes.rows, sizes.cols),
        "A": (sizes.rows, sizes.inner),
        "X": (sizes.inner, sizes.cols),
    }
    Y, A, X = (
        cudnn.borrowed(int(addresses[name]), shape, sizes.dtype) for name, shape in shapes.items()
    )

    def run(stream: Any = None) -> None:
        cudnn.require(mode)
        with torch.no_grad(), torch.cuda.stream(cudnn.on_stream(torch, stream)):
            torch.mm(A, X, out=Y)

    return run
