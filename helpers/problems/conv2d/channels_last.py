"""conv2d_channels_last: layers whose channels are neighbours in memory, by the copy engine."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from helpers import device, limits, tensor_maps
from helpers.launch import TensorMap
from helpers.limits import ConvShape

from . import refusals
from .implicit import Implicit
from .mma import SCALED_HALF, WARPGROUP_FLAGS
from .shapes import LayerError, ceil_div

NAME = "conv2d_channels_last"
PORTABLE = "conv2d_implicit_mma_async"
THREADS = 288
DEPTH = 64  # channels of a step
WARP_OUTPUTS = 16  # that a warp stores at a time
FIXED_BYTES = 34_816  # of shared memory: barriers, and the outputs that are being stored


class BoxSizes(NamedTuple):
    """The sizes of a `ChannelsLast`.

    tile: images, rows and columns of a block's outputs, powers of two, 128 or 256 outputs together.
    maps: of a block. stages: steps of 64 channels in shared memory.
    """

    tile: tuple[int, int, int]
    maps: int
    stages: int

    @property
    def outputs(self) -> int:
        """The outputs of a tile, of each map."""
        return math.prod(self.tile)

    @property
    def warp_tile(self) -> tuple[int, int, int]:
        """The images, rows and columns of what a warp stores at a time."""
        columns = min(WARP_OUTPUTS, self.tile[2])
        rows = min(WARP_OUTPUTS // columns, self.tile[1])
        return WARP_OUTPUTS // (columns * rows), rows, columns


# The fastest of the measured sizes on an H200, by shapes of one image.
FITTED: dict[ConvShape, BoxSizes] = {
    ConvShape(1, C=64, M=64, H=58, W=58, K=3): BoxSizes((4, 8, 8), 64, 4),
    ConvShape(1, C=128, M=128, H=58, W=58, K=3, stride=2): BoxSizes((8, 4, 4), 128, 6),
    ConvShape(1, C=256, M=256, H=16, W=16, K=3): BoxSizes((64, 1, 2), 256, 4),
    ConvShape(1, C=64, M=64, H=226, W=226, K=3): BoxSizes((1, 8, 32), 64, 4),
}


@dataclass(frozen=True)
class ChannelsLast(Implicit):
    """conv2d_channels_last: x and y are float16, in the order (image, row, column, channel)."""

    sizes: BoxSizes | None = None
    half_io: bool = True

    flags: ClassVar[tuple[str, ...]] = WARPGROUP_FLAGS
    least: ClassVar[str] = "two stages of 64 channels"
    axes: ClassVar[tuple[int, int, int, int]] = (0, 2, 3, 1)

    def constant_values(self, shape: ConvShape) -> dict[str, int]:
        sizes = self.fitted(shape).known
        return {
            **shape.constants,
            "FILTER_STRIDE": shape.stride,
            **dict(zip(("IMAGES", "TILE_H", "TILE_W"), sizes.tile, strict=True)),
            "MAPS": sizes.maps,
            "STAGES": sizes.stages,
        }

    def threads(self, shape: ConvShape) -> tuple[int, int, int]:
        return THREADS, 1, 1

    def tiles(self, shape: ConvShape) -> int:
        """Return the tiles of all images and maps."""
        return _tiles(self.fitted(shape).known, shape)

    def grid(self, shape: ConvShape) -> tuple[int, int, int]:
        return min(self.tiles(shape), self.blocks or device.select().multiprocessors), 1, 1

    def shared(self, shape: ConvShape) -> int:
        return _shared(self.fitted(shape).known)

    def arguments(self, y: Any, x: Any, filter: Any, shape: ConvShape) -> tuple:
        sizes, stride = self.fitted(shape).known, shape.stride
        return (
            TensorMap(y, (*sizes.warp_tile, DEPTH)),
            TensorMap(x, (*sizes.tile, DEPTH), (1, stride, stride, 1)),
            np.int32(shape.B),
        )

    def fragments(self, parts: np.ndarray) -> np.ndarray:
        """Return B's tiles: (group, row and column of the filter, chunk, 64 maps, channel, map).

        parts: the weights, float16, shape (1, M, C, K, K). Each eight maps lie in a place that the
        channel decides: the tiles are swizzled.
        """
        _, M, C, K, _ = parts.shape
        maps = self.known.maps
        groups, chunks = ceil_div(M, maps), ceil_div(C, DEPTH)
        padded = np.zeros((groups * maps, chunks * DEPTH, K, K), np.float16)
        padded[:M, :C] = parts[0]
        named = padded.reshape(groups, maps // 64, 8, 8, chunks, DEPTH // 8, 8, K, K)
        # (group, row, column, chunk, 64 maps, eight channels, channel, piece of eight maps, map)
        pieces = np.ascontiguousarray(named.transpose(0, 7, 8, 4, 1, 5, 6, 2, 3))
        swizzled = np.empty_like(pieces)
        for channel, piece in itertools.product(range(8), range(8)):
            swizzled[..., channel, piece ^ channel, :] = pieces[..., channel, piece, :]
        return swizzled

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        if shape.C % 8 or shape.M % 8:
            raise LayerError(
                f"{self.name} takes channels and maps by eights, got {shape}; {PORTABLE} takes "
                f"most other shapes, {refusals.PLAINEST} all"
            )
        refusals.require_capability(self.name, device, (9, 0), f"take {PORTABLE}", only=True)
        super().require(shape, device)

    def measured(self, shape: ConvShape) -> BoxSizes | None:
        return FITTED.get(dataclasses.replace(shape, B=1))

    def choices(self, shape: ConvShape) -> Iterator[BoxSizes]:
        powers = [2**i for i in range(9)]
        for columns, rows, outputs in itertools.product(powers, powers, (128, 256)):
            if columns * rows > outputs:
                continue
            for maps, stages in itertools.product((64, 128, 192, 256), range(2, 9)):
                yield BoxSizes((outputs // (columns * rows), rows, columns), maps, stages)

    def misfit(self, shape: ConvShape, sizes: BoxSizes) -> str:
        if any(size & (size - 1) for size in sizes.tile) or sizes.outputs not in (128, 256):
            return f"a tile of {sizes.tile}: take powers of two, 128 or 256 outputs together"
        if sizes.maps not in (64, 128, 192, 256) or sizes.outputs * sizes.maps > 2**15:
            return (
                f"{sizes.maps} maps and {sizes.outputs} outputs: take 64, 128, 192 or 256 maps, "
                f"and at most {2**15:,} sums"
            )
        span = (max(sizes.tile[1:]) - 1) * shape.stride + 1
        if span > tensor_maps.MOST_CELLS or shape.stride > tensor_maps.MOST_STEP:
            return (
                f"a tile of {sizes.tile} spans {span} cells of x, {shape.stride} apart; that of a "
                f"tensor map spans up to {tensor_maps.MOST_CELLS}, {tensor_maps.MOST_STEP} apart"
            )
        if (needed := _shared(sizes)) > limits.MOST_SHARED_BYTES:
            return (
                f"a block needs {needed:,} bytes of shared memory, and one of a Hopper GPU has "
                f"{limits.MOST_SHARED_BYTES:,}: take smaller tiles or fewer stages"
            )
        return ""

    def cost(self, shape: ConvShape, sizes: BoxSizes) -> float:
        """Estimate the cycles of a launch on an H200; infinite if the sizes do not fit.

        Tensor cores make 2,048 products of halves in a cycle; a multiprocessor reads 40 bytes of L2
        in one.
        """
        if self.misfit(shape, sizes):
            return math.inf
        products = sizes.outputs * sizes.maps * DEPTH / 2048
        copies = 2 * DEPTH * (sizes.outputs + sizes.maps) / 40
        steps = shape.K**2 * ceil_div(shape.C, DEPTH)
        rounds = ceil_div(_tiles(sizes, shape), limits.MULTIPROCESSORS)
        return rounds * (steps * max(products, copies) + 1000) * (1 + 0.1 / sizes.stages)


def _tiles(sizes: BoxSizes, shape: ConvShape) -> int:
    images, rows, columns = sizes.tile
    boxes = ceil_div(shape.B, images) * ceil_div(shape.out_h, rows) * ceil_div(shape.out_w, columns)
    return boxes * ceil_div(shape.M, sizes.maps)


def _shared(sizes: BoxSizes) -> int:
    return FIXED_BYTES + sizes.stages * 2 * DEPTH * (sizes.outputs + sizes.maps)


def channels_last() -> ChannelsLast:
    """Return the record of conv2d_channels_last, for layers of FP16 in that order."""
    return ChannelsLast(
        NAME,
        tile=(1, 1, 8),
        filter_in="constant",
        strides=True,
        precision=SCALED_HALF,
        parts=1,
    )
