"""conv2d_implicit_wgmma: layers of 16 channels and more by the products of warpgroups."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from helpers import device, limits
from helpers.limits import ConvShape

from . import refusals
from .implicit import Implicit
from .mma import SCALED_HALF, WARPGROUP_FLAGS
from .shapes import LayerError, ceil_div

NAME = "conv2d_implicit_wgmma"
PORTABLE = "conv2d_implicit_mma_async"
# Columns of B whose sums fit the registers of a consumer, by producers. With two producers a thread
# has 128 registers, and up to 192 columns nvcc spills none.
MOST_COLUMNS = {1: 256, 2: 192}


class WarpgroupSizes(NamedTuple):
    """The sizes of an `ImplicitWgmma`.

    tile: rows and columns of the outputs of a consumer. map_tiles: 1, both consumers have the same
    64 maps and tiles below each other; 2, they have the same tile and 64 maps each. stages: chunks
    of 16 channels in shared memory. producers: warpgroups that fill them, 1 or 2.
    """

    tile: tuple[int, int]
    map_tiles: int
    stages: int
    producers: int = 1


# The fastest of the measured sizes, by shapes of one image: on an H200 for images of 226 x 226 and
# 32 x 32 cells, on an H100 for the others.
FITTED: dict[ConvShape, WarpgroupSizes] = {
    ConvShape(1, C=64, M=64, H=58, W=58, K=3): WarpgroupSizes((2, 56), 1, 5, 2),
    ConvShape(1, C=128, M=128, H=58, W=58, K=3, stride=2): WarpgroupSizes((6, 28), 2, 3, 2),
    ConvShape(1, C=256, M=256, H=16, W=16, K=3): WarpgroupSizes((14, 14), 2, 5),
    ConvShape(1, C=64, M=64, H=226, W=226, K=3): WarpgroupSizes((2, 112), 1, 5),
    ConvShape(1, C=16, M=32, H=32, W=32, K=5): WarpgroupSizes((4, 28), 1, 3),
}


def layout(shape: ConvShape, sizes: WarpgroupSizes) -> tuple[int, int, int]:
    """Return (columns of B, cells of a stage, vectors of weights of a stage), as the source."""
    (tile_h, tile_w), maps = sizes.tile, sizes.map_tiles
    step = shape.stride
    rows = (tile_h * 2 // maps - 1) * step + shape.K
    pairs = ceil_div((tile_w - 1) * step + shape.K, 2)
    at_once = 4 if shape.out_w % 4 == 0 and tile_w % 4 == 0 else 2
    pitch = at_once * ceil_div(ceil_div(2 * pairs, step), at_once)
    columns = 8 * ceil_div((tile_h - 1) * pitch + tile_w, 8)
    cells = 2 * step * step * ceil_div(rows, step) * pitch
    return columns, cells, shape.K**2 * maps * 128


@dataclass(frozen=True)
class ImplicitWgmma(Implicit):
    """conv2d_implicit_wgmma: x and y are float16."""

    sizes: WarpgroupSizes | None = None
    half_io: bool = True

    flags: ClassVar[tuple[str, ...]] = WARPGROUP_FLAGS
    least: ClassVar[str] = "two stages of 16 channels"

    def constant_values(self, shape: ConvShape) -> dict[str, int]:
        sizes = self.fitted(shape).known
        columns, _, _ = layout(shape, sizes)
        return {
            **shape.constants,
            "FILTER_STRIDE": shape.stride,
            "TILE_H": sizes.tile[0],
            "TILE_W": sizes.tile[1],
            "COLUMNS": columns,
            "MAP_TILES": sizes.map_tiles,
            "STAGES": sizes.stages,
            "PRODUCERS": sizes.producers,
        }

    def threads(self, shape: ConvShape) -> tuple[int, int, int]:
        return 128 * (2 + self.fitted(shape).known.producers), 1, 1

    def tiles(self, shape: ConvShape) -> int:
        """Return the tiles of all images and maps."""
        (rows, columns), maps, *_ = self.fitted(shape).known
        across, down = ceil_div(shape.out_w, columns), ceil_div(shape.out_h, rows * 2 // maps)
        return shape.B * across * down * ceil_div(shape.M, 64 * maps)

    def grid(self, shape: ConvShape) -> tuple[int, int, int]:
        return min(self.tiles(shape), self.blocks or device.select().multiprocessors), 1, 1

    def shared(self, shape: ConvShape) -> int:
        sizes = self.fitted(shape).known
        _, cells, weights = layout(shape, sizes)
        return sizes.stages * 16 * (cells + weights)

    def static_bytes(self, shape: ConvShape) -> int:
        return 16 * self.fitted(shape).known.stages

    def fragments(self, parts: np.ndarray) -> np.ndarray:
        """Return A's pieces: (group, chunk, row and column of the filter, 64 maps, octet, map, 8).

        parts: the weights, float16, shape (1, M, C, K, K).
        """
        _, M, C, K, _ = parts.shape
        maps = self.known.map_tiles
        groups, chunks = ceil_div(M, 64 * maps), ceil_div(C, 16)
        padded = np.zeros((groups * maps * 64, chunks * 16, K, K), np.float16)
        padded[:M, :C] = parts[0]
        named = padded.reshape(groups, maps, 64, chunks, 2, 8, K, K)
        return named.transpose(0, 3, 6, 7, 1, 4, 2, 5)

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        if shape.C < 16 or shape.W % 2 or shape.out_w % 2:
            raise LayerError(
                f"{self.name} takes 16 channels and more, and rows of x and y of an even number of "
                f"cells, got {shape}; {PORTABLE} takes most other shapes, {refusals.PLAINEST} all"
            )
        refusals.require_capability(self.name, device, (9, 0), f"take {PORTABLE}", only=True)
        super().require(shape, device)

    def measured(self, shape: ConvShape) -> WarpgroupSizes | None:
        return FITTED.get(dataclasses.replace(shape, B=1))

    def choices(self, shape: ConvShape) -> Iterator[WarpgroupSizes]:
        widths = {shape.out_w} | {
            2 * ceil_div(ceil_div(shape.out_w, 2), parts) for parts in range(2, 9)
        }
        for width in sorted(widths):
            for height in range(1, min(shape.out_h, 16) + 1):
                for maps in (1, 2):
                    for stages in range(2, 9):
                        yield WarpgroupSizes((height, width), maps, stages)

    def misfit(self, shape: ConvShape, sizes: WarpgroupSizes) -> str:
        columns, cells, weights = layout(shape, sizes)
        most = MOST_COLUMNS[sizes.producers]
        if columns > most:
            return f"a tile of {sizes.tile} outputs has {columns} columns; at most {most} fit"
        needed = sizes.stages * 16 * (cells + weights + 1)
        if needed > limits.MOST_SHARED_BYTES:
            return (
                f"a block needs {needed:,} bytes of shared memory, and one of a Hopper GPU has "
                f"{limits.MOST_SHARED_BYTES:,}: take smaller tiles or fewer stages"
            )
        return ""

    def cost(self, shape: ConvShape, sizes: WarpgroupSizes) -> float:
        """Estimate the cycles of a launch on an H200; infinite if the sizes do not fit.

        Tensor cores take 64 x 16 by 16 x 8 in 4 cycles, a multiprocessor 24 bytes of L2 in one.
        """
        if self.misfit(shape, sizes):
            return math.inf
        columns, cells, weights = layout(shape, sizes)
        chunks = ceil_div(shape.C, 16)
        products = shape.K**2 * max(columns, 64)
        copies = 16 * (cells + weights) / 24
        tiles = dataclasses.replace(self, sizes=sizes).tiles(shape)
        rounds = ceil_div(tiles, limits.MULTIPROCESSORS)
        return rounds * (chunks * max(products, copies) + 1000) * (1 + 0.1 / sizes.stages)


def implicit_wgmma() -> ImplicitWgmma:
    """Return the record of conv2d_implicit_wgmma, for layers of 16 channels and more in FP16."""
    return ImplicitWgmma(
        NAME,
        tile=(1, 1, 8),
        filter_in="constant",
        strides=True,
        precision=SCALED_HALF,
        parts=1,
    )
