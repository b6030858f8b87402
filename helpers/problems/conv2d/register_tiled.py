"""conv2d_register_tiled: the choice of its patch and block sizes for each shape."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import operator
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from helpers import device, kernels, limits
from helpers.limits import ConvShape

from . import refusals
from .base import Conv2d
from .shapes import LAYERS, LayerError, ceil_div

# The fastest configurations of lab 203's sweep on an H200.
FITTED: dict[str, dict[str, Any]] = {
    "layer 1": {"patch": (4, 2, 4), "patches": (20, 8, 1), "staged": 1, "unroll": 7},
    "layer 2": {"patch": (4, 2, 8), "patches": (9, 17, 1), "staged": 4, "unroll": 1},
    "layer E1": {"patch": (2, 1, 12), "patches": (11, 11, 1), "staged": 1, "unroll": 7},
    "layer E2": {"patch": (3, 1, 24), "patches": (2, 5, 6), "staged": 12, "unroll": 1},
}

# What makes the same sizes faster on an H200: room for more blocks, and for layer 2, whose filter
# does not stay in the cache of constants, weights in shared memory. The sweep does not try these.
OCCUPANCY: dict[str, dict[str, Any]] = {
    "layer 1": {"resident": 6},
    "layer 2": {"resident": 4, "weights_shared": True},
}


class Sizes(NamedTuple):
    """The sizes of a `RegisterTiled`, all of them set."""

    patch: tuple[int, int, int]
    patches: tuple[int, int, int]
    staged: int
    unroll: int

    @property
    def tile(self) -> tuple[int, int, int]:
        """Columns, rows and output maps of a block."""
        (columns, rows, maps), (across, down, _) = self.patch, self.patches
        return columns * across, rows * down, maps


@dataclass(frozen=True)
class RegisterTiled(Conv2d):
    """conv2d_register_tiled: all sizes are constants, so that each shape compiles its own kernel.

    patch: outputs of a thread along columns and rows, and output maps. patches: of a block along
    columns and rows, and images. staged: channels in shared memory at a time. unroll: rows of the
    filter in one round of the loop. `fitted` sets the sizes that are None. resident: blocks that a
    multiprocessor must have room for, by registers; 0: any number. weights_shared: whether a block
    copies its weights to shared memory.
    """

    patch: tuple[int, int, int] | None = None
    patches: tuple[int, int, int] | None = None
    staged: int | None = None
    unroll: int | None = None
    resident: int = 0
    weights_shared: bool = False

    arranged: ClassVar[bool] = True
    flags: ClassVar[tuple[str, ...]] = (f"-I{kernels.FOLDER}",)

    def __post_init__(self) -> None:
        if self.is_fitted:
            object.__setattr__(self, "tile", self.sizes.tile)

    @property
    def is_fitted(self) -> bool:
        """Whether all sizes are set."""
        return bool(self.patch and self.patches and self.staged and self.unroll)

    @property
    def sizes(self) -> Sizes:
        """The sizes. Raises LayerError if one is None."""
        if not (self.patch and self.patches and self.staged and self.unroll):
            raise LayerError(f"{self.name}: the sizes depend on the shape; use fitted(shape)")
        return Sizes(self.patch, self.patches, self.staged, self.unroll)

    def fitted(self, shape: ConvShape) -> RegisterTiled:
        """Fill in the sizes that are None: the measured best (`FITTED`), else the lowest `cost`.

        Raises LayerError if no choice can be launched.
        """
        return self if self.is_fitted else _fit(self, dataclasses.replace(shape, B=1))

    def constant_values(self, shape: ConvShape) -> dict[str, int]:
        spec = self.fitted(shape)
        sizes = spec.sizes
        values: dict[str, int] = {
            **shape.constants,
            **dict(zip(("PATCH_WIDTH", "PATCH_HEIGHT", "MAPS"), sizes.patch, strict=True)),
            **dict(zip(("PATCHES_X", "PATCHES_Y", "IMAGES"), sizes.patches, strict=True)),
            "STAGED": sizes.staged,
            "UNROLL": sizes.unroll,
        }
        if spec.resident:
            values["RESIDENT"] = spec.resident
        if spec.weights_shared:
            values["WEIGHTS_SHARED"] = 1
        return values

    def threads(self, shape: ConvShape) -> tuple[int, int, int]:
        return 32 * ceil_div(math.prod(self.fitted(shape).sizes.patches), 32), 1, 1

    def grid(self, shape: ConvShape) -> tuple[int, int, int]:
        spec = self.fitted(shape)
        tiles, groups, _ = super(RegisterTiled, spec).grid(shape)
        return tiles, groups, ceil_div(shape.B, spec.sizes.patches[2])

    def arguments(self, y: Any, x: Any, filter: Any, shape: ConvShape) -> tuple:
        return y, x, np.int32(shape.B)

    def arrange(self, filter: np.ndarray) -> np.ndarray:
        """Return the weights as (C, K, K, M); zeros fill M up to whole patches."""
        patch = self.patch or self.sizes.patch  # `sizes` raises LayerError without a patch.
        spare = -filter.shape[0] % patch[2]
        return np.pad(filter.transpose(1, 2, 3, 0), ((0, 0),) * 3 + ((0, spare),))

    def constant_bytes(self, shape: ConvShape) -> int:
        if self.weights_shared:
            return 0
        maps = self.patch[2] if self.patch else 1
        return 4 * shape.terms * maps * ceil_div(shape.M, maps)

    def staged_cells(self, shape: ConvShape) -> tuple[int, int]:
        """Return (rows, columns) of the staged tile of one channel, with its halo.

        Rows are whole vectors of 16 bytes.
        """
        columns, rows, _ = self.sizes.tile
        return rows + shape.K - 1, 4 * ceil_div(columns + shape.K - 1, 4)

    def staged_bytes(self, shape: ConvShape) -> int:
        """Return the bytes of a staged tile: `staged` channels of the images of a block."""
        sizes = self.sizes
        return 4 * sizes.patches[2] * sizes.staged * math.prod(self.staged_cells(shape))

    def static_bytes(self, shape: ConvShape) -> int:
        weights = 4 * shape.terms * self.sizes.patch[2] if self.weights_shared else 0
        return self.staged_bytes(shape) + weights

    def loads_at_a_time(self, shape: ConvShape) -> int:
        """Return how many rows of the tile a block loads at a time (STEP in the source).

        It is 0 if the block has too few threads for a row.
        """
        vector = vector_width(shape.W, self.sizes.tile[0])
        return self.threads(shape)[0] // (self.staged_cells(shape)[1] // vector)

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        refusals.require_width(self, shape)
        refusals.require_constant(self, shape)
        spec = self.fitted(shape)
        staged, images = spec.sizes.staged, spec.sizes.patches[2]
        if shape.C % staged or (images > 1 and staged != shape.C):
            raise LayerError(
                f"{self.name} stages {staged} of {shape.C} channels for {images} images at a time: "
                "staged must divide the channels, and be all of them where a block has several "
                "images"
            )
        super(RegisterTiled, spec).require(shape, device)
        if spec.loads_at_a_time(shape) < 1:
            raise LayerError(
                f"{self.name} with {spec.threads(shape)[0]} threads cannot load a row of "
                f"{spec.staged_cells(shape)[1]} cells at once: take more patches along rows, or "
                "fewer along columns"
            )

    def cost(self, shape: ConvShape) -> float:
        """Estimate the instructions per useful multiply-add. All sizes must be set.

        The estimate counts the source's multiply-adds, loads of cells and weights, staging and
        stores, with idle threads and outputs beyond the edge. Its last factor stands for the
        latency that few resident warps cannot hide. This factor is a guess that reproduces the
        order of the measured configurations. The cost is infinite if the launch is refused.
        """
        try:
            self.require(shape)
        except LayerError:
            return math.inf
        return self._estimate(shape)

    def _estimate(self, shape: ConvShape) -> float:
        """Return the cost of a launch that may be refused."""
        (columns, rows, maps), (_, _, images) = self.sizes.patch, self.sizes.patches
        sums, threads = columns * rows * maps, self.threads(shape)[0]
        parts = ceil_div(columns + shape.K - 1, vector_width(0, columns))
        held = sums + (rows + 1) * (columns + shape.K) + 24
        registers = min(limits.THREAD_REGISTERS, 8 * ceil_div(held, 8))
        by_registers = limits.MULTIPROCESSOR_REGISTERS // (registers * threads)
        of_a_block = self.staged_bytes(shape) + limits.RESERVED_SHARED_BYTES
        resident = min(by_registers, limits.MOST_SHARED_BYTES // of_a_block) * threads // 32
        at_a_time = self.loads_at_a_time(shape)
        if resident < 8 or at_a_time < 1:
            return math.inf
        of_a_row = shape.K * sums + rows * parts + shape.K * ceil_div(maps, 2) + 8
        staged_rows = images * shape.C * self.staged_cells(shape)[0]
        staging = ceil_div(staged_rows, at_a_time)
        instructions = shape.C * shape.K * of_a_row + 4 * staging + sums // 2 + 60
        blocks = math.prod(self.grid(shape)[:2]) / images
        useful = shape.M * shape.out_h * shape.out_w * shape.terms
        return blocks * threads * instructions / useful * (1 + 2 / resident)


@functools.cache
def _fit(spec: RegisterTiled, shape: ConvShape) -> RegisterTiled:
    sizes = ((name, getattr(spec, name)) for name in Sizes._fields)
    fixed = {name: value for name, value in sizes if value is not None}
    known = next((FITTED[name] for name, layer in LAYERS.items() if layer == shape), None)
    offered = [known] if known else _choices(shape, fixed.get("patch"))
    choices = [{**choice, **fixed} for choice in offered]
    # Most choices can be launched, and whether one can takes longer than its estimate: so the
    # cheapest are asked first.
    specs = [dataclasses.replace(spec, **choice) for choice in choices]
    specs.sort(key=lambda one: one._estimate(shape))
    best = specs[0] if known else next((one for one in specs if one.cost(shape) < math.inf), None)
    if best is None:
        raise LayerError(
            f"{spec.name} has no patch and block for {shape}: the filter, with its maps rounded up "
            f"to whole patches, must fit {limits.CONSTANT_BYTES:,} bytes of constant memory, and "
            f"a tile {limits.STATIC_SHARED_BYTES:,} bytes of shared memory"
        )
    return best


def _choices(shape: ConvShape, patch: tuple[int, int, int] | None) -> Iterator[dict[str, Any]]:
    """Yield sizes: patches of up to 72 sums, and blocks of up to 512 patches.

    A block is as wide as the output, or has at least 32 columns.
    """
    sizes = itertools.product((1, 2, 3, 4, 5, 8), (1, 2, 3, 4), (1, 2, 3, 4, 6, 8, 12, 16, 24))
    most = (shape.out_w, shape.out_h, shape.M)
    fitting = (
        size for size in sizes if math.prod(size) <= 72 and all(map(operator.le, size, most))
    )
    for columns, rows, maps in [patch] if patch else fitting:
        unroll = shape.K if columns * rows * maps * shape.K**2 <= 1600 else 1
        widest, highest = ceil_div(shape.out_w, columns), ceil_div(shape.out_h, rows)
        widths = {widest, min(widest, ceil_div(32, columns))}
        heights = {highest, *range(1, min(highest, 24))}
        for across, down in itertools.product(widths, heights):
            for images in (1, 2, 4, 6) if (across, down) == (widest, highest) else (1,):
                if across * down * images > 512:
                    continue
                for staged in {1, shape.C} if images == 1 else {shape.C}:
                    yield {
                        "patch": (columns, rows, maps),
                        "patches": (across, down, images),
                        "unroll": unroll,
                        "staged": staged,
                    }


def vector_width(width: int, tile: int) -> int:
    """Return how many floats an access moves: a divisor of both widths, in cells."""
    return next(n for n in (4, 2, 1) if width % n == 0 and tile % n == 0)
