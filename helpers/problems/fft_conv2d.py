"""The convolution layer by Fourier transforms of tiles: launches, cost and error bound."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from helpers import kernels, programs
from helpers.device import Device
from helpers.launch import Array, Launch, Plan, Prepared, Scratch
from helpers.limits import INDICES, MAX_GRID, MAX_THREADS, MOST_SHARED_BYTES, ConvShape
from helpers.problems import conv2d
from helpers.problems.fft import (
    TRANSFORM,
    FftError,
    three_transforms,
    transform,
    transform_flops,
    twiddles,
)
from helpers.programs import Program

TILES = "conv2d_fft_tiles"


@dataclass(frozen=True)
class Tiles:
    """How conv2d_fft_tiles is compiled and launched.

    log_side: a tile has 2^log_side cells along each side. stages: the radix-2 stages between two
    barriers. Raises FftError for sizes that the kernel refuses.
    """

    log_side: int = 5
    stages: int = 2
    name: str = TILES

    def __post_init__(self) -> None:
        if not 1 <= self.log_side <= 6:
            raise FftError(f"tiles of 2^{self.log_side} cells: take 2^1 to 2^6")
        if not 1 <= self.stages <= 5 or 2 * self.log_side % self.stages:
            raise FftError(
                f"stages is {self.stages}: take 1 to 5, a divisor of {2 * self.log_side}"
            )
        if self.size >> self.stages > MAX_THREADS:
            raise FftError(
                f"tiles of {self.size:,} cells, {1 << self.stages} a thread, need more than "
                "1,024 threads: take more stages or smaller tiles"
            )

    @property
    def side(self) -> int:
        """The cells along a side of a tile."""
        return 1 << self.log_side

    @property
    def size(self) -> int:
        """The points of a transform, which are the cells of a tile."""
        return self.side**2

    def outputs(self, K: int) -> int:
        """Return the outputs along a tile for a filter of width K.

        Raises FftError for a filter that is wider than the tile.
        """
        if self.side < K:
            raise FftError(
                f"a filter of {K} x {K} leaves no output in tiles of {self.side} x {self.side}: "
                "take log_side = 6"
            )
        return self.side - K + 1

    @property
    def options(self) -> list[str]:
        """nvcc's options."""
        return [f"-DLOG_SIDE={self.log_side}", f"-DSTAGES={self.stages}"]

    @property
    def block(self) -> tuple[int, int, int]:
        """Threads of a block, THREADS of the source."""
        return (self.size >> self.stages, 1, 1)

    def tiles(self, shape: ConvShape) -> int:
        """Return how many tiles cover an output map."""
        wide = self.outputs(shape.K)
        return -(-shape.out_h // wide) * -(-shape.out_w // wide)

    def grid(self, shape: ConvShape) -> tuple[int, int, int]:
        """Return the grid; a block computes a tile of two images, all channels and output maps."""
        return self.tiles(shape), -(-shape.B // 2), 1

    def shared(self, shape: ConvShape) -> int:
        """Return the bytes of dynamic shared memory of a block."""
        return 8 * (shape.C + 1) * (self.size + self.size // 16)

    def flops(self, shape: ConvShape) -> int:
        """Return the operations of a layer.

        Each tile of two images takes C + M transforms, and M C products and sums (8 n).
        """
        one = (shape.C + shape.M) * transform_flops(self.size) + 8 * shape.M * shape.C * self.size
        return math.prod(self.grid(shape)) * one

    def require(self, shape: ConvShape) -> None:
        """Raise FftError unless the kernel can be launched for the shape."""
        self.outputs(shape.K)
        if shape.stride != 1:
            raise FftError(
                f"conv2d_fft_tiles supports only stride 1, got {shape.stride}: it computes every "
                "output, and a stride would drop most of them; use conv2d_basic"
            )
        if self.shared(shape) > MOST_SHARED_BYTES:
            raise FftError(
                f"{shape.C} channels of {self.side} x {self.side} need "
                f"{self.shared(shape):,} bytes of shared memory; "
                f"a block has {MOST_SHARED_BYTES:,}: take smaller tiles"
            )
        if self.grid(shape)[1] > MAX_GRID[1]:
            most = 2 * MAX_GRID[1]
            raise FftError(
                f"{shape.B:,} images are more than the grid has room for: take up to {most:,}"
            )
        if shape.C * shape.H * shape.W >= INDICES:
            raise FftError(
                f"one image of {shape} has more cells than an int counts, {INDICES - 1:,}: "
                "convolve parts of it"
            )

    def prepared(self, filter: np.ndarray) -> np.ndarray:
        """Return the input of the filter's transforms, complex64, (M C, side^2).

        It is filter / side^2 with both axes in reverse order, padded with zeros.
        """
        M, C, K, _ = filter.shape
        padded = np.zeros((M, C, self.side, self.side), np.complex64)
        padded[:, :, :K, :K] = filter[:, :, ::-1, ::-1] / np.float32(self.size)
        return padded.reshape(M * C, self.size)

    def plan(self, shape: ConvShape) -> Plan:
        """Return the filter's transforms and the layer, on "y", "x" and "filter"."""
        signals = shape.M * shape.C, self.size
        spectra = Scratch("spectra", signals, np.complex64)
        padded = Prepared(Array("filter", shape.filter_shape), self.prepared, spectra.nbytes)
        sizes = map(np.int32, (shape.B, shape.C, shape.M, shape.H, shape.W, shape.K))
        layer = Launch(
            kernels.source(self.name),
            self.name,
            tuple(self.options),
            self.grid(shape),
            self.block,
            self.shared(shape),
            arguments=(
                Array("y", shape.y_shape),
                Array("x", shape.x_shape),
                spectra,
                twiddles(self.side),
                *sizes,
            ),
        )
        return transform(spectra, padded, signals, self.side), layer


@dataclass(frozen=True)
class FftLayer(conv2d.Conv2d):
    """conv2d_fft_tiles as one of the layer's kernels: both launches, also the filter's transforms.

    Its outputs on the network's layers stay within the error bound of a direct sum.
    """

    tiles: Tiles = Tiles()

    def fitted(self, shape: ConvShape) -> FftLayer:
        wide = self.tiles.outputs(shape.K)
        return dataclasses.replace(self, tile=(wide, wide, 2 * shape.M))  # of two images

    def grid(self, shape: ConvShape) -> tuple[int, int, int]:
        return self.tiles.grid(shape)

    def plan(self, shape: ConvShape) -> Plan:
        return self.tiles.plan(shape)

    def require(self, shape: ConvShape, device: Device | None = None) -> None:
        self.tiles.require(shape)


LAYER = FftLayer(TILES)


def conv2d_atol(spec: Tiles, x: np.ndarray, filter: np.ndarray) -> float:
    """Return the largest error of an output of conv2d_fft_tiles.

    It is that of `conv1d_atol`, summed over the channels of an output map.
    """
    spectra = np.abs(np.fft.fft2(filter.astype(np.float64), (spec.side, spec.side)))
    largest = spectra.max(axis=(2, 3)).sum(axis=1).max()
    return float(
        three_transforms(spec.size, filter.shape[1]) * largest * math.sqrt(2) * np.abs(x).max()
    )


def conv2d_launch(
    spec: Tiles, shape: ConvShape, y: int, x: int, filter: np.ndarray
) -> Callable[..., None]:
    """Compile for a layer and return ``launch(stream)`` on device addresses.

    filter: float32, shape.filter_shape, on the host; its spectra are computed here, once. Raises as
    `Tiles.require` does.
    """
    spec.require(shape)
    program = Program(spec.plan(shape))
    arrays = {"y": y, "x": x, "filter": filter}
    program.launch(arrays, only=(TRANSFORM,))
    return programs.launcher(program, arrays, (spec.name,))
