"""conv2d_channels_last and _halo: layers whose channels are neighbours in memory, in FP16.

The copy engine gathers their windows, by tensor maps of four dimensions.
"""

from __future__ import annotations

import abc
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

NAME, HALO = "conv2d_channels_last", "conv2d_channels_last_halo"
PORTABLE = "conv2d_implicit_mma_async"
THREADS, CONSUMER = 288, 128  # of a block; of them those that have a tile's sums
DEPTH = 64  # channels of a row of A in shared memory
ROW_BYTES = 2 * DEPTH
SUMS = 128  # of a thread, that fit its registers
WARP_OUTPUTS = 16  # that a warp stores at a time
SIDE = 8  # of a patch of outputs
FIXED_BYTES = 34_816  # of shared memory: barriers, and the outputs that are being stored


class GatherSizes(NamedTuple):
    """The sizes of a `ChannelsLast`.

    tile: images, rows and columns of a block's outputs, powers of two, 128 outputs together. maps:
    of a block, 64 or 128. stages: of 64 channels of a tap in shared memory.
    """

    tile: tuple[int, int, int]
    maps: int
    stages: int

    @property
    def warp_tile(self) -> tuple[int, int, int]:
        """The images, rows and columns of what a warp stores at a time."""
        columns = min(WARP_OUTPUTS, self.tile[2])
        rows = min(WARP_OUTPUTS // columns, self.tile[1])
        return WARP_OUTPUTS // (columns * rows), rows, columns


class HaloSizes(NamedTuple):
    """The sizes of a `ChannelsLastHalo`.

    images, patches: of a tile; the patches, of 8 x 8 outputs, lie below each other. maps: of a
    block, 64 or 128. stages: tiles of cells in shared memory, an even number.
    """

    images: int
    patches: int
    maps: int
    stages: int

    @property
    def tile(self) -> tuple[int, int, int]:
        """The images, rows and columns of a block's outputs."""
        return self.images, SIDE * self.patches, SIDE

    @property
    def warp_tile(self) -> tuple[int, int, int]:
        """The images, rows and columns of what a warp stores at a time."""
        return 1, WARP_OUTPUTS // SIDE, SIDE


@dataclass(frozen=True)
class TensorMapLayer(Implicit):
    """A layer by tensor maps: x and y are float16, in the order (image, row, column, channel)."""

    half_io: bool = True

    flags: ClassVar[tuple[str, ...]] = WARPGROUP_FLAGS
    axes: ClassVar[tuple[int, int, int, int]] = (0, 2, 3, 1)

    @abc.abstractmethod
    def shared_of(self, shape: ConvShape, sizes: Any) -> int:
        """Return the bytes of dynamic shared memory of a block of these sizes."""

    @abc.abstractmethod
    def box(self, shape: ConvShape, sizes: Any) -> tuple[tuple[int, int, int], int]:
        """Return the images, rows and columns of x that one copy takes, and how far apart its rows
        and columns are.
        """

    def threads(self, shape: ConvShape) -> tuple[int, int, int]:
        return THREADS, 1, 1

    def tiles(self, shape: ConvShape) -> int:
        """Return the tiles of all images and maps."""
        return _tiles(self.fitted(shape).known, shape)

    def grid(self, shape: ConvShape) -> tuple[int, int, int]:
        return min(self.tiles(shape), self.blocks or device.select().multiprocessors), 1, 1

    def shared(self, shape: ConvShape) -> int:
        return self.shared_of(shape, self.fitted(shape).known)

    def arguments(self, y: Any, x: Any, filter: Any, shape: ConvShape) -> tuple:
        sizes = self.fitted(shape).known
        cells, step = self.box(shape, sizes)
        return (
            TensorMap(y, (*sizes.warp_tile, DEPTH)),
            TensorMap(x, (*cells, DEPTH), (1, step, step, 1)),
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

    def misfit(self, shape: ConvShape, sizes: Any) -> str:
        if sizes.maps not in (64, 128):
            return f"{sizes.maps} maps of a block: take 64 or 128"
        if math.prod(sizes.tile) * sizes.maps > CONSUMER * SUMS:
            return f"a tile of {sizes.tile} outputs and {sizes.maps} maps: at most 16,384 sums fit"
        cells, step = self.box(shape, sizes)
        span = (max(cells[1:]) - 1) * step + 1
        if max(span, cells[0]) > tensor_maps.MOST_CELLS or step > tensor_maps.MOST_STEP:
            return (
                f"a tile of {sizes.tile} outputs spans {span} cells of x, {step} apart; that of a "
                f"tensor map spans up to {tensor_maps.MOST_CELLS}, {tensor_maps.MOST_STEP} apart"
            )
        if (needed := self.shared_of(shape, sizes)) > limits.MOST_SHARED_BYTES:
            return (
                f"a block needs {needed:,} bytes of shared memory, and one of a Hopper GPU has "
                f"{limits.MOST_SHARED_BYTES:,}: take smaller tiles or fewer stages"
            )
        return ""

    def cost(self, shape: ConvShape, sizes: Any) -> float:
        """Estimate the cycles of a launch on an H200; infinite if the sizes do not fit.

        Tensor cores make 2,048 products of halves in a cycle; a multiprocessor reads 40 bytes of L2
        in one.
        """
        if self.misfit(shape, sizes):
            return math.inf
        terms = shape.K**2 * DEPTH * ceil_div(shape.C, DEPTH)
        products = math.prod(sizes.tile) * sizes.maps * terms / 2048
        copies = self.copied(shape, sizes) / 40
        rounds = ceil_div(_tiles(sizes, shape), limits.MULTIPROCESSORS)
        return rounds * (max(products, copies) + 500) * (1 + 0.1 / sizes.stages)

    @abc.abstractmethod
    def copied(self, shape: ConvShape, sizes: Any) -> int:
        """Return the bytes that a block copies to shared memory for a tile."""


@dataclass(frozen=True)
class ChannelsLast(TensorMapLayer):
    """conv2d_channels_last: for each tap, the cells of a tile's outputs, and their weights."""

    sizes: GatherSizes | None = None

    least: ClassVar[str] = "two stages of 64 channels"

    # The fastest of the measured sizes on an H200, by shapes of one image.
    fastest: ClassVar[dict[ConvShape, GatherSizes]] = {
        ConvShape(1, C=128, M=128, H=58, W=58, K=3, stride=2): GatherSizes((32, 2, 2), 128, 6),
        ConvShape(1, C=256, M=256, H=16, W=16, K=3): GatherSizes((32, 2, 2), 128, 6),
    }

    def constant_values(self, shape: ConvShape) -> dict[str, int]:
        sizes = self.fitted(shape).known
        return {
            **shape.constants,
            "FILTER_STRIDE": shape.stride,
            **dict(zip(("IMAGES", "TILE_H", "TILE_W"), sizes.tile, strict=True)),
            "MAPS": sizes.maps,
            "STAGES": sizes.stages,
        }

    def box(self, shape: ConvShape, sizes: GatherSizes) -> tuple[tuple[int, int, int], int]:
        return sizes.tile, shape.stride

    def shared_of(self, shape: ConvShape, sizes: GatherSizes) -> int:
        return FIXED_BYTES + sizes.stages * ROW_BYTES * (math.prod(sizes.tile) + sizes.maps)

    def copied(self, shape: ConvShape, sizes: GatherSizes) -> int:
        taps = shape.K**2 * ceil_div(shape.C, DEPTH)
        return taps * ROW_BYTES * (math.prod(sizes.tile) + sizes.maps)

    def measured(self, shape: ConvShape) -> GatherSizes | None:
        return self.fastest.get(dataclasses.replace(shape, B=1))

    def choices(self, shape: ConvShape) -> Iterator[GatherSizes]:
        powers = [2**i for i in range(8)]
        for rows, columns, maps in itertools.product(powers, powers, (64, 128)):
            if rows * columns <= 128:
                for stages in range(2, 9):
                    yield GatherSizes((128 // (rows * columns), rows, columns), maps, stages)

    def misfit(self, shape: ConvShape, sizes: GatherSizes) -> str:
        if any(size & (size - 1) for size in sizes.tile) or math.prod(sizes.tile) != 128:
            return f"a tile of {sizes.tile} outputs: take powers of two, 128 outputs together"
        return super().misfit(shape, sizes)


@dataclass(frozen=True)
class ChannelsLastHalo(TensorMapLayer):
    """conv2d_channels_last_halo: a tile's cells once for all taps, and all weights at once."""

    sizes: HaloSizes | None = None

    least: ClassVar[str] = "all weights and two tiles of cells"

    # The fastest of the measured sizes on an H200, by shapes of one image.
    fastest: ClassVar[dict[ConvShape, HaloSizes]] = {
        ConvShape(1, C=64, M=64, H=58, W=58, K=3): HaloSizes(2, 1, 64, 4),
        ConvShape(1, C=64, M=64, H=226, W=226, K=3): HaloSizes(1, 2, 64, 4),
    }

    def constant_values(self, shape: ConvShape) -> dict[str, int]:
        sizes = self.fitted(shape).known
        return {
            **shape.constants,
            "IMAGES": sizes.images,
            "PATCHES": sizes.patches,
            "MAPS": sizes.maps,
            "STAGES": sizes.stages,
        }

    def box(self, shape: ConvShape, sizes: HaloSizes) -> tuple[tuple[int, int, int], int]:
        images, rows, columns = sizes.tile
        return (images, rows + shape.K - 1, columns + shape.K - 1), 1

    def shared_of(self, shape: ConvShape, sizes: HaloSizes) -> int:
        weights = ROW_BYTES * shape.K**2 * sizes.maps
        stage = 1024 * ceil_div(self.copied(shape, sizes), 1024)
        return FIXED_BYTES + weights + sizes.stages * stage

    def copied(self, shape: ConvShape, sizes: HaloSizes) -> int:
        cells, _ = self.box(shape, sizes)
        return ROW_BYTES * math.prod(cells)

    def measured(self, shape: ConvShape) -> HaloSizes | None:
        return self.fastest.get(dataclasses.replace(shape, B=1))

    def choices(self, shape: ConvShape) -> Iterator[HaloSizes]:
        for images, patches, maps in itertools.product(range(1, 5), range(1, 5), (64, 128)):
            for stages in range(2, 9, 2):
                yield HaloSizes(images, patches, maps, stages)

    def misfit(self, shape: ConvShape, sizes: HaloSizes) -> str:
        if sizes.maps < shape.M or sizes.stages % 2 or sizes.stages < 2:
            return (
                f"{sizes}: take all {shape.M} maps of the layer, and 2, 4, 6 or 8 stages (half of "
                "them are each consumer's)"
            )
        return super().misfit(shape, sizes)

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        if shape.C > DEPTH or shape.M > 128:
            raise LayerError(
                f"{self.name} takes up to {DEPTH} channels and 128 maps, got {shape}; {NAME} takes "
                "more"
            )
        super().require(shape, device)


def _tiles(sizes: Any, shape: ConvShape) -> int:
    images, rows, columns = sizes.tile
    boxes = ceil_div(shape.B, images) * ceil_div(shape.out_h, rows) * ceil_div(shape.out_w, columns)
    return boxes * ceil_div(shape.M, sizes.maps)


CHANNELS_LAST: tuple[TensorMapLayer, ...] = (
    ChannelsLastHalo(HALO, tile=(1, 1, 8), filter_in="constant", precision=SCALED_HALF, parts=1),
    ChannelsLast(
        NAME, tile=(1, 1, 8), filter_in="constant", strides=True, precision=SCALED_HALF, parts=1
    ),
)


def channels_last(shape: ConvShape) -> TensorMapLayer:
    """Return the first record of CHANNELS_LAST that takes a shape. Raises LayerError for a shape
    that none takes.
    """
    *first, last = CHANNELS_LAST
    for spec in first:
        try:
            spec.require(shape)
        except LayerError:
            continue
        return spec
    last.require(shape)
    return last
