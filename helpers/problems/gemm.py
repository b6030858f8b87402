"""Products of two matrices: a ladder of kernels, from one thread per output to tensor cores.

    spec = gemm.pipelined()
    plan = spec.plan(rows, cols, inner)                # on "Y", "A" and "X"

Y[r, s] = sum_i A[r, i] X[i, s]; A: (rows, inner), X: (inner, cols), Y: (rows, cols).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helpers import kernels, limits
from helpers.launch import Array, Launch, Plan
from helpers.problems.precision import FLOAT_UNIT, HALF_UNIT

HEADERS = f"-I{kernels.FOLDER}"  # what a kernel with an #include needs


class GemmError(ValueError):
    """A product that a kernel does not take; the message says what does not fit, and what would."""


@dataclass(frozen=True)
class Gemm:
    """How a kernel of the ladder is launched.

    tile: rows and columns of a block's outputs. block: threads. constants: names and values for -D.
    shared: bytes of dynamic shared memory. halves: the matrices are float16. options: further
    options for nvcc.
    """

    name: str
    tile: tuple[int, int]
    block: tuple[int, int, int]
    constants: tuple[tuple[str, int], ...] = ()
    shared: int = 0
    halves: bool = False
    options: tuple[str, ...] = ()

    @property
    def dtype(self) -> type[np.floating]:
        """The type of all three matrices."""
        return np.float16 if self.halves else np.float32

    def require(self, rows: int, cols: int, inner: int) -> None:
        """Raise GemmError unless the kernel takes these sizes."""
        if min(rows, cols, inner) < 1:
            raise GemmError(f"{rows} x {inner} by {inner} x {cols}: each size must be at least 1")
        if max(rows * cols, rows * inner, inner * cols) >= limits.INDICES:
            raise GemmError(
                f"{rows:,} x {inner:,} by {inner:,} x {cols:,}: each matrix must have fewer than "
                "2^31 cells"
            )
        if self.halves and (cols % 8 or inner % 8):
            raise GemmError(
                f"{self.name} copies 8 halves at a time: cols = {cols:,} and inner = {inner:,} "
                "must be multiples of 8"
            )

    def plan(self, rows: int, cols: int, inner: int) -> Plan:
        """Return the launch on "Y", "A" and "X". Raises GemmError for sizes that it refuses."""
        self.require(rows, cols, inner)
        high, wide = self.tile
        constants = dict(self.constants)
        if "COPY" in constants and (cols % 4 or inner % 4):
            constants["COPY"] = 1  # rows do not begin at multiples of 16 bytes
        Y, A, X = (
            Array(name, shape, self.dtype)
            for name, shape in (("Y", (rows, cols)), ("A", (rows, inner)), ("X", (inner, cols)))
        )
        return (
            Launch(
                kernels.source(self.name),
                self.name,
                (*(f"-D{name}={value}" for name, value in constants.items()), *self.options),
                (-(-cols // wide), -(-rows // high), 1),
                self.block,
                self.shared,
                arguments=(Y, A, X, np.int32(rows), np.int32(cols), np.int32(inner)),
            ),
        )


def pipelined(patch: int = 16, depth: int = 32, stages: int = 2) -> Gemm:
    """Return gemm_pipelined with other sizes: rows of a thread's outputs, steps, stages."""
    constants = {"COPY": 4, "PATCH": patch, "DEPTH": depth, "STAGES": stages}
    shared = stages * (16 * patch * (depth + 4) + depth * 128) * 4
    return Gemm(
        "gemm_pipelined",
        (16 * patch, 128),
        (256, 1, 1),
        tuple(constants.items()),
        shared,
        options=(HEADERS,),
    )


# In the order of the ladder.
GEMM = (
    Gemm("gemm_basic", (8, 32), (32, 8, 1)),
    Gemm("gemm_tiled", (32, 32), (32, 32, 1), (("TILE_WIDTH", 32),)),
    Gemm("gemm_column", (64, 64), (512, 1, 1)),
    Gemm("gemm_patch", (128, 128), (256, 1, 1)),
    Gemm("gemm_vector", (128, 128), (256, 1, 1)),
    pipelined(),
)
# On tensor cores: compute capability 9.0 only, so that the simulator refuses it.
WGMMA = Gemm(
    "gemm_wgmma",
    (128, 256),
    (384, 1, 1),
    shared=2048 + 4 * 49_152,
    halves=True,
    options=(HEADERS, "-arch=sm_90a"),
)


def matrices(
    rows: int, cols: int, inner: int, dtype: type[np.floating] = np.float32, seed: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Return random A and X, uniform from -1 to 1, in ``dtype``."""
    rng = np.random.default_rng(seed)
    shapes = (rows, inner), (inner, cols)
    A, X = (2 * rng.random(shape, dtype=np.float32) - 1 for shape in shapes)
    return A.astype(dtype, copy=False), X.astype(dtype, copy=False)


def reference(A: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return A X in float64, shape (rows, cols)."""
    return A.astype(np.float64) @ X.astype(np.float64)


def atol(A: np.ndarray, X: np.ndarray, want: np.ndarray) -> float:
    """Return the error bound of a sum in float32 in any order, of a rounded output for halves.

    N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., SIAM 2002, section 3.1:
    |error| <= inner u / (1 - inner u) * sum |a| |x|. The sum is bounded by inner max |a| max |x|.
    """
    inner = A.shape[1]
    terms = inner * float(np.abs(A).max()) * float(np.abs(X).max())
    bound = inner * FLOAT_UNIT / (1 - inner * FLOAT_UNIT) * terms
    return bound + (HALF_UNIT * float(np.abs(want).max()) if A.dtype == np.float16 else 0.0)
