"""Products of small matrices on tensor cores: one instruction of one warp, and FP32 from halves.

    D, findings = tensor_product.simulate(tensor_product.ONE_WARP, A, B)          # halves
    D, findings = tensor_product.simulate(tensor_product.Split(3, 4), A, B)       # float32

`Split` adds up 16 terms a step; ``short`` steps make a short sum (0: one long sum).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import kernels, launch, simulator
from helpers.launch import Array, Launch, Plan
from helpers.problems.precision import FLOAT_UNIT, HALF_SUBNORMAL, HALF_UNIT, TENSOR_UNIT
from helpers.programs import Program

ROWS, COLUMNS, DEPTH = 16, 8, 16  # of D, and terms that one instruction adds up
WARP = (32, 1, 1)
Shaped = np.ndarray | Array  # a plan needs the shapes alone


class ProductError(ValueError):
    """A product that cannot be; the message says what does not fit, and what would."""


@dataclass(frozen=True)
class OneProduct:
    """How a kernel is launched that makes one product of 16 x 16 and 16 x 8 halves."""

    name: str

    def plan(self) -> Plan:
        """Return the launch on "D" (float32), "A" and "B" (half)."""
        A = Array("A", (ROWS, DEPTH), np.float16)
        B = Array("B", (DEPTH, COLUMNS), np.float16)
        D = Array("D", (ROWS, COLUMNS))
        source = kernels.source(self.name)
        return (Launch(source, self.name, (), (1, 1, 1), WARP, arguments=(D, A, B)),)

    def plan_for(self, A: Shaped, B: Shaped) -> Plan:
        """Return `plan`; A and B have its shapes, or the runner says so."""
        return self.plan()


ONE_WARP = OneProduct("mma_one_warp")
LDMATRIX = OneProduct("mma_ldmatrix")
SPLIT = "split_product"
NAMES = (ONE_WARP.name, LDMATRIX.name, SPLIT)


@dataclass(frozen=True)
class Split:
    """How split_product is compiled: products of halves for one product, steps of a short sum.

    Raises ProductError for what the kernel does not take.
    """

    products: int = 3
    short: int = 4
    name: str = SPLIT

    def __post_init__(self) -> None:
        if self.products not in (1, 3):
            raise ProductError(f"a product takes 1 or 3 products of halves, not {self.products}")
        if self.short < 0:
            raise ProductError(f"a short sum has 0 or more steps, not {self.short}")

    def plan(self, batch: int, steps: int) -> Plan:
        """Return the launch on "D", "A" and "B", for ``batch`` matrices B of 16 ``steps`` rows."""
        if batch < 1 or steps < 1 or ROWS * COLUMNS * batch * steps >= 2**31:
            raise ProductError(
                f"{batch:,} products of {steps:,} steps: take at least one of each, and fewer "
                "than 2^31 cells of B"
            )
        depth = DEPTH * steps
        return (
            Launch(
                kernels.source(self.name),
                self.name,
                (f"-DPRODUCTS={self.products}", f"-DSHORT={self.short}"),
                (batch, 1, 1),
                WARP,
                arguments=(
                    Array("D", (batch, ROWS, COLUMNS)),
                    Array("A", (ROWS, depth)),
                    Array("B", (batch, depth, COLUMNS)),
                    np.int32(steps),
                ),
            ),
        )

    def plan_for(self, A: Shaped, B: Shaped) -> Plan:
        """Return the plan for A and B. Raises ProductError where A has no whole steps."""
        if A.shape[1] % DEPTH:
            raise ProductError(f"A has {A.shape[1]} columns; take a multiple of {DEPTH}")
        return self.plan(B.shape[0], A.shape[1] // DEPTH)

    def atol(self, A: np.ndarray, B: np.ndarray) -> float:
        """Return how far a cell of D may be off, whatever the signs.

        A number is off by 2^-11 of itself if one half holds it, by 2^-22 if two do; and by 2^-25
        where a half is subnormal. Three products leave out a_lo b_lo, 2^-22 of the product. An
        instruction cuts 16 terms and the sum before, and its result, each by less than 2^-23 of
        the largest number that the sum could be by then. FP32 additions round, by 2^-24.
        """
        steps = A.shape[1] // DEPTH
        a, b = np.abs(A.astype(np.float64)), np.abs(B.astype(np.float64))
        terms = np.einsum(
            "isk,bskj->sbij",
            a.reshape(ROWS, steps, DEPTH),
            b.reshape(B.shape[0], steps, DEPTH, COLUMNS),
        )
        whole = terms.sum(axis=0)
        short = self.short or steps
        cut = np.zeros_like(whole)
        for first in range(0, steps, short):
            cut += np.cumsum(terms[first : first + short], axis=0).sum(axis=0)
        inputs = 2 * HALF_UNIT + HALF_UNIT**2 if self.products == 1 else 3 * HALF_UNIT**2
        tiny = HALF_SUBNORMAL * (a.sum(axis=1)[None, :, None] + b.sum(axis=1)[:, None, :])
        additions = -(-steps // short) + 1
        error = inputs * whole + tiny + FLOAT_UNIT * additions * whole
        return float((error + self.products * (DEPTH + 2) * TENSOR_UNIT * cut).max())


@dataclass(frozen=True)
class Units:
    """The same products on the FP32 units: gemm_tiled, one multiply-add after the other."""

    tile: int = 16
    name: str = "gemm_tiled"

    def plan_for(self, A: Shaped, B: Shaped) -> Plan:
        """Return the launch on "D", "A" and "B" of the shapes that `Split` takes."""
        batch, depth, columns = B.shape
        D = Array("D", (batch, ROWS, columns))
        sizes = (np.int32(ROWS), np.int32(columns), np.int32(depth))
        return (
            Launch(
                kernels.source(self.name),
                self.name,
                (f"-DTILE_WIDTH={self.tile}",),
                (-(-columns // self.tile), -(-ROWS // self.tile), batch),
                (self.tile, self.tile, 1),
                arguments=(D, Array("A", A.shape), Array("B", B.shape), *sizes),
            ),
        )


Product = OneProduct | Split | Units


def holder_of_a(row: int, column: int) -> tuple[int, int]:
    """Return the lane and the register, 0 to 3, that hold a cell of A in m16n8k16."""
    return row % 8 * 4 + column % 8 // 2, row // 8 + column // 8 * 2


def holder_of_b(row: int, column: int) -> tuple[int, int]:
    """Return the lane and the register, 0 or 1, that hold a cell of B in m16n8k16."""
    return column * 4 + row % 8 // 2, row // 8


def holder_of_d(row: int, column: int) -> tuple[int, int]:
    """Return the lane and the register, 0 to 3, that hold a cell of D in m16n8k16."""
    return row % 8 * 4 + column // 2, row // 8 * 2 + column % 2


def reference(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return D = A B in float64, for B of two or three axes."""
    return np.matmul(A.astype(np.float64), B.astype(np.float64))


def empty_product(B: np.ndarray) -> np.ndarray:
    """Return D before a launch, for B of two or three axes: NaN."""
    return np.full((*B.shape[:-2], ROWS, COLUMNS), np.nan, np.float32)


def product_on_device(spec: Product, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return D, made by the kernel on the selected device."""
    D = empty_product(B)
    with Program(spec.plan_for(A, B)) as program:
        cuda = program.modules.cuda
        there = {name: cuda.to_device(one) for name, one in {"D": D, "A": A, "B": B}.items()}
        program.launch(there)
        cuda.memcpy_dtoh(D, there["D"])
    return D


def simulate(
    spec: Product,
    A: np.ndarray,
    B: np.ndarray,
    entry: Callable[..., Any] = simulator.check,
    instead: Mapping[str, tuple[str, str]] | None = None,
) -> tuple[np.ndarray, Any]:
    """Run the kernel in the simulator: (D, what ``entry`` returned).

    instead: another (name, source) for the kernel.
    """
    D = empty_product(B)
    plan = launch.replaced(spec.plan_for(A, B), instead)
    return D, *launch.simulate(plan, {"D": D, "A": A, "B": B}, entry)
