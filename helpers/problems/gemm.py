"""Products of two matrices: a ladder of kernels, from one thread per output to tensor cores.

    spec = gemm.fastest(rows, cols, halves=True)
    plan = spec.plan(rows, cols, inner)                # on "Y", "A" and "X"

Y[r, s] = sum_i A[r, i] X[i, s]; A: (rows, inner), X: (inner, cols), Y: (rows, cols).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from helpers import kernels, limits
from helpers.launch import Argument, Array, Launch, Plan, TensorMap
from helpers.problems.precision import FLOAT_UNIT, HALF_UNIT

HEADERS = f"-I{kernels.FOLDER}"  # what a kernel with an #include needs
# Clusters of so many blocks, one on each of the 132 multiprocessors of an H100 or H200, that run at
# a time. Of four blocks, 16 did on an H200 and 32 did not: a cluster lies in one part of the GPU.
CLUSTERS = {1: 132, 2: 66, 4: 16}


class GemmError(ValueError):
    """A product that a kernel does not take; the message says what does not fit, and what would."""


@dataclass(frozen=True)
class Gemm:
    """How a kernel of the ladder is launched.

    tile: rows and columns of a block's outputs. block: threads. constants: names and values for -D.
    shared: bytes of dynamic shared memory. halves: the matrices are float16. options: further
    options for nvcc. maps: the kernel takes tensor maps of these matrices, with tiles of these rows
    and columns. cluster: blocks below each other that form a cluster. stays: each block computes
    tile after tile, and there are as many as multiprocessors at most.
    """

    name: str
    tile: tuple[int, int]
    block: tuple[int, int, int]
    constants: tuple[tuple[str, int], ...] = ()
    shared: int = 0
    halves: bool = False
    options: tuple[str, ...] = ()
    maps: tuple[tuple[str, tuple[int, int]], ...] = ()
    cluster: int = 1
    stays: bool = False

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
        constants = dict(self.constants)
        if "COPY" in constants and (cols % 4 or inner % 4):
            constants["COPY"] = 1  # rows do not begin at multiples of 16 bytes
        tiles = dict(self.maps)

        def matrix(name: str, *shape: int) -> Argument:
            array = Array(name, shape, self.dtype)
            return TensorMap(array, tiles[name]) if name in tiles else array

        matrices = (matrix("Y", rows, cols), matrix("A", rows, inner), matrix("X", inner, cols))
        return (
            Launch(
                kernels.source(self.name),
                self.name,
                (*(f"-D{name}={value}" for name, value in constants.items()), *self.options),
                self._grid(rows, cols),
                self.block,
                self.shared,
                arguments=(*matrices, np.int32(rows), np.int32(cols), np.int32(inner)),
            ),
        )

    def tiles(self, rows: int, cols: int) -> int:
        """Return how many tiles a product has, those that fill up the last clusters included."""
        across, down = self._tiles(rows, cols)
        return across * down

    def rounds(self, rows: int, cols: int) -> float:
        """Return the tiles of a product over those that an H100 or H200 computes at a time, each
        multiprocessor one: 3.5 rounds take as long as 4.
        """
        return self.tiles(rows, cols) / (CLUSTERS[self.cluster] * self.cluster)

    def _tiles(self, rows: int, cols: int) -> tuple[int, int]:
        high, wide = self.tile
        return -(-cols // wide), -(-rows // (high * self.cluster)) * self.cluster

    def _grid(self, rows: int, cols: int) -> tuple[int, int, int]:
        across, down = self._tiles(rows, cols)
        if not self.stays:
            return across, down, 1
        return min(across * down, CLUSTERS[self.cluster] * self.cluster), 1, 1


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


def warp_tiles(
    patch: tuple[int, int] = (16, 8),
    warps: tuple[int, int] = (2, 4),
    depth: int = 32,
    stages: int = 3,
    blocks: int = 1,
    snake_down: bool = True,
) -> Gemm:
    """Return gemm_warp with other sizes.

    patch: rows and columns of a thread's outputs. warps: of a block, below and beside each other.
    blocks: on a multiprocessor. snake_down: the order of a patch's products.
    """
    high, wide = 4 * patch[0] * warps[0], 8 * patch[1] * warps[1]
    constants = {
        "COPY": 4, "PATCH_HIGH": patch[0], "PATCH_WIDE": patch[1], "WARPS_HIGH": warps[0],
        "WARPS_WIDE": warps[1], "DEPTH": depth, "STAGES": stages, "BLOCKS": blocks,
        "SNAKE_DOWN": int(snake_down),
    }  # fmt: skip
    return Gemm(
        "gemm_warp",
        (high, wide),
        (32 * warps[0] * warps[1], 1, 1),
        tuple(constants.items()),
        stages * depth * (high + 4 + wide) * 4,
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

# On tensor cores, halves. The first one runs from compute capability 8.0 on, and in the simulator;
# the others are for 9.0 only, so that the simulator refuses them.
MMA = Gemm(
    "gemm_mma",
    (128, 256),
    (256, 1, 1),
    (("STAGES", 3),),
    shared=3 * 49_152,
    halves=True,
    options=(HEADERS,),
)
WGMMA = Gemm(
    "gemm_wgmma",
    (128, 256),
    (384, 1, 1),
    shared=2048 + 4 * 49_152,
    halves=True,
    options=(HEADERS, "-arch=sm_90a"),
)
TMA = replace(WGMMA, name="gemm_tma", block=(288, 1, 1), maps=(("A", (128, 64)), ("X", (64, 64))))
CLUSTER = replace(TMA, name="gemm_cluster", cluster=2)
PERSISTENT = replace(CLUSTER, name="gemm_persistent", constants=(("BAND", 8),), stays=True)


def overlapped(
    tile: tuple[int, int] = (128, 256), stages: int = 4, cluster: int = 2, band: int = 8
) -> Gemm:
    """Return gemm_overlapped with another tile, stages, blocks of a cluster, rows of a band."""
    high, wide = tile
    constants = {"HIGH": high, "WIDE": wide, "STAGES": stages, "CLUSTER": cluster, "BAND": band}
    return replace(
        PERSISTENT,
        name="gemm_overlapped",
        tile=tile,
        constants=tuple(constants.items()),
        shared=34_816 + stages * 128 * (high + wide),
        maps=(("Y", (16, 64)), ("A", (high, 64)), ("X", (64 // cluster, 64))),
        cluster=cluster,
    )


HALVES = (MMA, WGMMA, TMA, CLUSTER, PERSISTENT, overlapped())

# What the host chooses from, the fastest for large matrices first: sizes, and their speed over that
# of the first one where neither has a multiprocessor that waits for others (measured on an H200).
CHOICES = {
    False: (
        (warp_tiles(), 1.0),
        (warp_tiles((8, 16), (8, 1)), 0.98),
        (warp_tiles((8, 8), (2, 2), 16, 4, blocks=2, snake_down=False), 0.94),
    ),
    True: (
        (overlapped(), 1.0),
        (overlapped((256, 128), band=4), 0.99),
        (overlapped((128, 128), stages=6), 0.9),
        (overlapped((128, 128), stages=6, cluster=4), 0.92),
    ),
}


def fastest(rows: int, cols: int, *, halves: bool = False) -> Gemm:
    """Return our fastest kernel with the tiles that suit these sizes.

    The multiprocessor with the most tiles ends last. The choice is the one whose most tiles, times
    the outputs of a tile and over the speed, are the fewest. Its plan refuses sizes that it does
    not take.
    """

    def cost(choice: tuple[Gemm, float]) -> float:
        spec, speed = choice
        return math.ceil(spec.rounds(rows, cols)) * math.prod(spec.tile) / speed

    spec, _ = min(CHOICES[halves], key=cost)
    return spec


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
