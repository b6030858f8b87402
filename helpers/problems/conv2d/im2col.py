"""Convolution as a product of matrices: im2col_basic stores the unrolled images, gemm_tiled multiplies."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import device, kernels
from helpers.limits import ConvShape

from .base import Compiled, Conv2d, Entry
from .refusals import INDICES
from .shapes import LayerError, ceil_div


@dataclass(frozen=True)
class Im2colGemm(Conv2d):
    """Two kernels, im2col_basic and gemm_tiled: the unrolled matrix of each image is stored, then multiplied.

    images: how many images each pair of launches takes, None for all; the scratch buffer holds their matrices. threads
    of im2col_basic: ``columns`` a block. tile and block are those of gemm_tiled.
    """

    images: int | None = None
    columns: int = 256

    @property
    def sources(self) -> tuple[str, ...]:
        return "im2col_basic", "gemm_tiled"

    def constant_names(self) -> tuple[str, ...]:
        return ("TILE_WIDTH",)

    def per_launch(self, shape: ConvShape) -> int:
        """Return how many images a pair of launches takes."""
        return min(shape.B, self.images or shape.B)

    def scratch(self, shape: ConvShape) -> int:
        return 4 * self.per_launch(shape) * self.cells(shape)

    def cells(self, shape: ConvShape) -> int:
        """Return how many cells the unrolled matrix of one image has."""
        return shape.terms * shape.out_h * shape.out_w

    def grid(self, shape: ConvShape) -> tuple[int, int, int]:
        """Return the grid of gemm_tiled for a whole launch; im2col_grid is that of im2col_basic."""
        return super().grid(dataclasses.replace(shape, B=self.per_launch(shape)))

    def im2col_grid(self, shape: ConvShape) -> tuple[int, int, int]:
        """Return the grid of im2col_basic: a thread for each column of a matrix and channel."""
        return ceil_div(shape.out_h * shape.out_w, self.columns), shape.C, self.per_launch(shape)

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        super().require(shape, device)
        if self.im2col_grid(shape)[1] > kernels.MAX_GRID[1]:
            raise LayerError(f"im2col_basic takes {kernels.MAX_GRID[1]:,} channels, not {shape.C:,}")
        if self.cells(shape) >= INDICES:
            raise LayerError(
                f"the unrolled matrix of one image has {self.cells(shape):,} cells; the kernels count up to {INDICES - 1:,}"
            )

    def compile(self, shape: ConvShape) -> CompiledIm2colGemm:
        return CompiledIm2colGemm(self, shape)

    def im2col_sizes(self, shape: ConvShape) -> tuple:
        """Return what im2col_basic takes after its arrays: B, C, H, W, K."""
        return tuple(map(np.int32, (shape.B, shape.C, shape.H, shape.W, shape.K)))

    def gemm_sizes(self, shape: ConvShape) -> tuple:
        """Return what gemm_tiled takes after its arrays: rows, cols, inner."""
        return tuple(map(np.int32, (shape.M, shape.out_h * shape.out_w, shape.terms)))

    def simulate(self, entry: Entry, y: np.ndarray, x: np.ndarray, filter: np.ndarray, shape: ConvShape) -> tuple:
        found, step = [], self.per_launch(shape)
        for first in range(0, shape.B, step):
            cells, into = x[first : first + step], y[first : first + step]
            part = dataclasses.replace(shape, B=len(cells))
            unrolled = np.full((part.B, part.terms, part.out_h * part.out_w), np.nan, np.float32)
            launch = {"grid": self.im2col_grid(part), "block": (self.columns, 1, 1)}
            found.append(entry("im2col_basic", unrolled, cells, *self.im2col_sizes(part), **launch))
            launch = {"grid": self.grid(part), "block": self.threads(part), "options": self.options(part)}
            found.append(entry("gemm_tiled", into, filter, unrolled, *self.gemm_sizes(part), **launch))
        return tuple(found)


class CompiledIm2colGemm(Compiled):
    """im2col_basic and gemm_tiled, and a scratch buffer between them, which `free` gives back."""

    def __init__(self, spec: Im2colGemm, shape: ConvShape):
        spec.require(shape, device.select())
        import pycuda.driver as cuda

        self.spec, self.shape, self._cuda = spec, shape, cuda
        self._im2col = self._load("im2col_basic", [])
        self._gemm = self._load("gemm_tiled", spec.options(shape))
        self.block, self.shared = spec.threads(shape), 0
        needed, free = spec.scratch(shape), cuda.mem_get_info()[0]
        if needed > free:
            fitting = free // (4 * spec.cells(shape))
            advice = f"take dataclasses.replace(spec, images={fitting})" if fitting else "not even that of one image fits"
            raise LayerError(f"the unrolled matrices of {shape} take {needed:,} bytes, and {free:,} are free: {advice}")
        self.unrolled = cuda.mem_alloc(needed)

    def upload(self, filter: Any, stream: Any = None) -> None:
        """Nothing: the filter is read from global memory."""

    def launch(self, y: int, x: int, filter: int, stream: Any = None) -> None:
        """Enqueue both kernels, for ``spec.images`` images at a time."""
        step = self.spec.per_launch(self.shape)
        for first in range(0, self.shape.B, step):
            part = dataclasses.replace(self.shape, B=min(step, self.shape.B - first))
            at = [int(array) + 4 * first * math.prod(shape[1:]) for array, shape in ((y, part.y_shape), (x, part.x_shape))]
            self.im2col(at[1], part, stream)
            self.gemm(at[0], filter, part, stream)

    def im2col(self, x: int, shape: ConvShape, stream: Any = None) -> None:
        """Enqueue im2col_basic alone: x to the scratch buffer."""
        arguments = (self.unrolled, np.uintp(int(x)), *self.spec.im2col_sizes(shape))
        self._im2col[1](*arguments, block=(self.spec.columns, 1, 1), grid=self.spec.im2col_grid(shape), stream=stream)

    def gemm(self, y: int, filter: int, shape: ConvShape, stream: Any = None) -> None:
        """Enqueue gemm_tiled alone: filter times the scratch buffer to y."""
        arguments = (np.uintp(int(y)), np.uintp(int(filter)), self.unrolled, *self.spec.gemm_sizes(shape))
        self._gemm[1](*arguments, block=self.block, grid=self.spec.grid(shape), stream=stream)

    def free(self) -> None:
        """Free the scratch buffer."""
        self.unrolled.free()
