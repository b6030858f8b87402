"""Convolution as a product of matrices: im2col_basic unrolls the images, gemm_tiled multiplies."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import device, kernels
from helpers.launch import Launch, Plan, Scratch
from helpers.limits import INDICES, MAX_GRID, ConvShape

from .base import Conv2d
from .shapes import LayerError, ceil_div


@dataclass(frozen=True)
class Im2colGemm(Conv2d):
    """Two kernels: im2col_basic stores the unrolled matrix of each image, gemm_tiled multiplies it.

    images: how many images a pair of launches handles, None for all; the scratch buffer holds their
    matrices. columns: threads of a block of im2col_basic. tile and block are those of gemm_tiled.
    """

    images: int | None = None
    columns: int = 256

    @property
    def sources(self) -> tuple[str, ...]:
        return "im2col_basic", "gemm_tiled"

    def per_launch(self, shape: ConvShape) -> int:
        """Return how many images a pair of launches handles."""
        return min(shape.B, self.images or shape.B)

    def scratch(self, shape: ConvShape) -> int:
        return 4 * self.per_launch(shape) * self.cells(shape)

    def cells(self, shape: ConvShape) -> int:
        """Return how many cells the unrolled matrix of one image has."""
        return shape.terms * shape.out_h * shape.out_w

    def grid(self, shape: ConvShape) -> tuple[int, int, int]:
        """Return the grid of gemm_tiled for `per_launch` images; see also `im2col_grid`."""
        return super().grid(dataclasses.replace(shape, B=self.per_launch(shape)))

    def im2col_grid(self, shape: ConvShape) -> tuple[int, int, int]:
        """Return the grid of im2col_basic: a thread for each column of a matrix and channel."""
        return ceil_div(shape.out_h * shape.out_w, self.columns), shape.C, self.per_launch(shape)

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        super().require(shape, device)
        if self.im2col_grid(shape)[1] > MAX_GRID[1]:
            raise LayerError(
                f"im2col_basic takes at most {MAX_GRID[1]:,} channels, got {shape.C:,}: "
                "convolve some channels at a time"
            )
        if self.cells(shape) >= INDICES:
            raise LayerError(
                f"the unrolled matrix of one image has {self.cells(shape):,} cells; "
                f"the kernels count up to {INDICES - 1:,}: take a kernel without such a matrix, "
                "conv2d_basic"
            )

    def scratch_advice(self, shape: ConvShape, free: int) -> str:
        fitting = free // (4 * self.cells(shape))
        advice = "not even the matrix of one image fits"
        if fitting:
            advice = f"take dataclasses.replace(spec, images={fitting})"
        return (
            f"the unrolled matrices of {shape} take {self.scratch(shape):,} bytes, and {free:,} "
            f"are free: {advice}"
        )

    def im2col_sizes(self, shape: ConvShape) -> tuple:
        """Return the arguments of im2col_basic after its arrays: B, C, H, W, K."""
        return tuple(map(np.int32, (shape.B, shape.C, shape.H, shape.W, shape.K)))

    def gemm_sizes(self, shape: ConvShape) -> tuple:
        """Return the arguments of gemm_tiled after its arrays: rows, cols, inner."""
        return tuple(map(np.int32, (shape.M, shape.out_h * shape.out_w, shape.terms)))

    def arguments(self, y: Any, x: Any, filter: Any, shape: ConvShape) -> tuple:
        """Return the arguments of gemm_tiled; x: the unrolled matrices."""
        return y, filter, x, *self.gemm_sizes(shape)

    def plan(self, shape: ConvShape) -> Plan:
        """Return a pair of launches for every ``images`` images."""
        step = self.per_launch(shape)
        return tuple(
            launch
            for first in range(0, shape.B, step)
            for launch in self._pair(shape, first, min(step, shape.B - first))
        )

    def _pair(self, shape: ConvShape, first: int, images: int) -> Plan:
        part = dataclasses.replace(shape, B=images)
        entries = (first, first + images)
        y, x, filter = self.names(shape)
        y, x = (dataclasses.replace(array, entries=entries) for array in (y, x))
        unrolled = Scratch("unrolled", (images, shape.terms, shape.out_h * shape.out_w))
        unroll = Launch(
            kernels.source("im2col_basic"),
            "im2col_basic",
            (),
            self.im2col_grid(part),
            (self.columns, 1, 1),
            arguments=(unrolled, x, *self.im2col_sizes(part)),
        )
        return unroll, self._launch(part, y, unrolled, filter)
