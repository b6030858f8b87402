"""Products on tensor cores and copies to shared memory: `bench.product`, `mma`, `copies`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import checking, limits
from helpers.bench.convolutions import CellsOnDevice
from helpers.bench.problem import Problem
from helpers.bench.sources import Kernel, chosen, sized
from helpers.launch import Array, Plan
from helpers.problems import conv1d as kernels_1d
from helpers.problems import copies as kernels_of_copies
from helpers.problems import tensor_product
from helpers.problems.precision import FLOAT_UNIT
from helpers.quantities import quantity

SEED = 7


def product(batch: int = 10_000, steps: int = 16) -> Product:
    """Return ``batch`` products of a 16 x (16 steps) matrix with (16 steps) x 8 ones, in float32.

    Its kernels are split_product (products of halves on tensor cores) and gemm_tiled (FP32 units).
    Raises ValueError for no product and for no step.
    """
    limits.require_count(batch, "batch", "the number of products")
    limits.require_count(steps, "steps", "the number of steps")
    return Product(batch, steps)


@dataclass(frozen=True)
class Product(Problem):
    """Products of small matrices. Its kernels compute "D" of "A" and "B"."""

    batch: int
    steps: int

    @property
    def title(self) -> str:
        return f"{self.batch:,} products of {quantity(self.steps, 'step')}"

    @property
    def where(self) -> Mapping[str, Any]:
        return {"batch": self.batch, "steps": self.steps}

    @property
    def few(self) -> Product:
        return dataclasses.replace(self, batch=min(2, self.batch))

    @property
    def one(self) -> Product:
        return dataclasses.replace(self, batch=1)

    def arrays(self) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(SEED)
        depth = tensor_product.DEPTH * self.steps
        shapes = (tensor_product.ROWS, depth), (self.batch, depth, tensor_product.COLUMNS)
        A, B = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in shapes)
        return {"D": tensor_product.empty_product(B), "A": A, "B": B}

    def named(self, name: str) -> Any:
        rows = {"split_product": tensor_product.Split(), "gemm_tiled": tensor_product.Units()}
        return chosen(rows, name, "product")

    def sized(self, spec: Any, constants: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Return the record with other sizes: PRODUCTS and SHORT, or TILE_WIDTH."""
        names = {"PRODUCTS": "products", "SHORT": "short"}
        if spec.name == "gemm_tiled":
            names = {"TILE_WIDTH": "tile"}
        return sized(spec, constants, names)

    def macros(self, spec: Any) -> frozenset[str]:
        return frozenset(("PRODUCTS", "SHORT", "TILE_WIDTH"))

    def plan(self, kernel: Kernel) -> Plan:
        depth = tensor_product.DEPTH * self.steps
        A = Array("A", (tensor_product.ROWS, depth))
        B = Array("B", (self.batch, depth, tensor_product.COLUMNS))
        D = Array("D", (self.batch, tensor_product.ROWS, tensor_product.COLUMNS))
        plan = kernel.spec.plan_for(A, B)
        values = {"D": D, "A": A, "B": B, "steps": np.int32(self.steps)}
        return kernel.rewritten(plan, values)

    def verdict(
        self, arrays: Mapping[str, np.ndarray], kernel: Kernel, name: str
    ) -> checking.Verdict:
        A, B = arrays["A"], arrays["B"]
        if isinstance(kernel.spec, tensor_product.Split):
            atol = kernel.spec.atol(A, B)
        else:
            magnitudes = tensor_product.reference(np.abs(A), np.abs(B))
            atol = (A.shape[1] + 1) * FLOAT_UNIT * float(magnitudes.max())
        want = tensor_product.reference(A, B)
        return checking.check(arrays["D"], want, rtol=0.0, atol=atol, name=name)

    def passed(self, verdict: checking.Verdict) -> str:
        return f"PASS {verdict.name}: {quantity(verdict.count, 'value')} within {verdict.atol:.1g}"

    @property
    def outputs(self) -> int:
        return self.batch * tensor_product.ROWS * tensor_product.COLUMNS

    def covered(self, kernel: Kernel) -> int:
        (one,) = self.plan(kernel)
        tile = getattr(kernel.spec, "tile", 0)
        each = tile * tile or tensor_product.ROWS * tensor_product.COLUMNS
        return math.prod(one.grid) * each

    @property
    def work(self) -> limits.Work:
        arrays = Product(1, self.steps).arrays()
        cells = arrays["A"].size + self.batch * (arrays["B"].size + arrays["D"].size)
        depth = tensor_product.DEPTH * self.steps
        return limits.Work(bytes=4 * cells, flops=2 * self.outputs * depth)


def mma() -> Mma:
    """Return the product of 16 x 16 and 16 x 8 halves that one instruction of a warp makes.

    Its kernels are mma_one_warp and mma_ldmatrix.
    """
    return Mma()


@dataclass(frozen=True)
class Mma(Problem):
    """One product of whole numbers, which is exact. Its kernels compute "D" of "A" and "B"."""

    @property
    def title(self) -> str:
        return "one product"

    @property
    def where(self) -> Mapping[str, Any]:
        return {}

    @property
    def few(self) -> Mma:
        return self

    @property
    def one(self) -> Mma:
        return self

    def arrays(self) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(SEED)
        shapes = (
            (tensor_product.ROWS, tensor_product.DEPTH),
            (tensor_product.DEPTH, tensor_product.COLUMNS),
        )
        A, B = (rng.integers(-9, 10, shape).astype(np.float16) for shape in shapes)
        return {"D": tensor_product.empty_product(B), "A": A, "B": B}

    def named(self, name: str) -> Any:
        kernels = (tensor_product.ONE_WARP, tensor_product.LDMATRIX)
        return chosen({one.name: one for one in kernels}, name, "one-product")

    def sized(self, spec: Any, constants: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Return the record as it is: it has no sizes."""
        return sized(spec, constants, {})

    def macros(self, spec: Any) -> frozenset[str]:
        return frozenset()

    def plan(self, kernel: Kernel) -> Plan:
        plan = kernel.spec.plan()
        (one,) = plan
        return kernel.rewritten(plan, {array.name: array for array in one.arguments})

    def verdict(
        self, arrays: Mapping[str, np.ndarray], kernel: Kernel, name: str
    ) -> checking.Verdict:
        A, B = arrays["A"], arrays["B"]
        crossed = A.copy()
        crossed[:8, 8:], crossed[8:, :8] = A[8:, :8], A[:8, 8:]
        transposed = np.concatenate([B[:8].T, B[8:].T])
        suspects = {
            "two squares of A are exchanged": tensor_product.reference(crossed, B),
            "both squares of B are transposed": tensor_product.reference(A, transposed),
        }
        want = tensor_product.reference(A, B)
        return checking.check(arrays["D"], want, rtol=0.0, name=name, suspects=suspects)

    def passed(self, verdict: checking.Verdict) -> str:
        return f"PASS {verdict.name}: {quantity(verdict.count, 'value')}, all exact"

    @property
    def outputs(self) -> int:
        return tensor_product.ROWS * tensor_product.COLUMNS

    def covered(self, kernel: Kernel) -> int:
        return self.outputs

    @property
    def work(self) -> limits.Work:
        cells = (tensor_product.ROWS + tensor_product.COLUMNS) * tensor_product.DEPTH
        flops = 2 * self.outputs * tensor_product.DEPTH
        return limits.Work(bytes=2 * cells + 4 * self.outputs, flops=flops)


def copies(
    n: int = 10**8, filter_width: int = 31, blocks: int = 4, *, tile: int = 1024
) -> Copies:
    """Return a 1D convolution whose kernels copy their tiles to shared memory in different ways.

    Its kernels are copy_plain, copy_async and copy_bulk. n: cells, a multiple of 4. blocks: for
    each multiprocessor; a block takes tile after tile. tile: outputs of one.
    """
    return Copies(n, filter_width, blocks, tile)


@dataclass(frozen=True)
class Copies(Problem):
    """A 1D convolution of the cells that need none outside. "P" of "N" and "filter".

    launched: blocks of a launch, in place of `blocks` for each multiprocessor.
    """

    n: int
    filter_width: int
    blocks: int
    tile: int = 1024
    launched: int = 0

    @property
    def title(self) -> str:
        if self.launched:
            return f"n = {self.n:,}, filter of {self.filter_width}"
        each = f"{quantity(self.blocks, 'block')} a multiprocessor"
        return f"tiles of {self.tile:,}, filter of {self.filter_width}, {each}"

    @property
    def where(self) -> Mapping[str, Any]:
        names = ("n", "filter_width", "blocks", "tile")
        return {name: getattr(self, name) for name in names}

    @property
    def few(self) -> Copies:
        return dataclasses.replace(self, n=min(10_004, self.n), launched=2)

    @property
    def one(self) -> Copies:
        return dataclasses.replace(self, n=min(92_160, self.n), launched=4)

    @property
    def size(self) -> int:
        """Its tiles."""
        return -(-self.n // self.tile)

    def of_size(self, size: int) -> Copies:
        return dataclasses.replace(self, n=size * self.tile)

    def counted_sizes(self, kernel: Kernel) -> tuple[int, int]:
        return 2, 4

    @property
    def filter(self) -> np.ndarray:
        """The weights, float32, shape (filter_width,)."""
        rng = np.random.default_rng(SEED)
        return rng.uniform(0.1, 1, self.filter_width).astype(np.float32)

    def arrays(self) -> dict[str, np.ndarray]:
        N = kernels_1d.PeriodicData(self.n).cells(0, self.n)
        P = np.full(self.outputs, np.nan, np.float32)
        return {"P": P, "N": N, "filter": self.filter}

    def named(self, name: str) -> Any:
        rows = {one: kernels_of_copies.Copies(one, self.tile) for one in kernels_of_copies.NAMES}
        return chosen(rows, name, "copying")

    def sized(self, spec: Any, constants: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Return the record with other sizes: THREADS. The tile is the problem's."""
        return sized(spec, constants, {"THREADS": "threads"})

    def macros(self, spec: Any) -> frozenset[str]:
        return frozenset(("FILTER_WIDTH", "TILE_WIDTH", "THREADS"))

    def plan(self, kernel: Kernel) -> Plan:
        P, N = Array("P", (self.outputs,)), Array("N", (self.n,))
        values = {"P": P, "N": N, "n": np.int32(self.n)}
        return kernel.rewritten(
            kernel.spec.plan(self.n, self.filter_width, self._launched), values
        )

    @property
    def _launched(self) -> int:
        """The blocks of a launch: each has a tile."""
        return min(self.launched or self.blocks * _multiprocessors(), self.size)

    def verdict(
        self, arrays: Mapping[str, np.ndarray], kernel: Kernel, name: str
    ) -> checking.Verdict:
        N, filter = arrays["N"], arrays["filter"]
        atol = kernels_1d.conv1d_atol(N, filter)
        want = kernels_of_copies.reference(N, filter)
        return checking.check(arrays["P"], want, rtol=0.0, atol=atol, name=name)

    @property
    def outputs(self) -> int:
        return self.n - self.filter_width + 1

    def covered(self, kernel: Kernel) -> int:
        tile = kernel.spec.tile
        return -(-self.outputs // tile) * tile

    @property
    def work(self) -> limits.Work:
        return limits.conv1d(self.n, self.filter_width)

    def on_device(self) -> CellsOnDevice:
        return CellsOnDevice(self, skipped=self.filter_width // 2)


def _multiprocessors() -> int:
    import pycuda.driver as cuda

    return int(cuda.Context.get_device().multiprocessor_count)
