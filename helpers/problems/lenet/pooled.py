"""Kernels that pool their own outputs: convolution, ReLU and max-pool of a layer in one launch."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from helpers import device
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.problems.conv2d import Conv2d, LayerError, RegisterTiled, TensorKernel, ceil_div
from helpers.problems.lenet import network

LAYERS = conv2d.LENET
POOLS = (network.POOL1, network.POOL2)


@dataclass(frozen=True)
class ConvPool(RegisterTiled):
    """lenet_conv_pool: a `RegisterTiled` with all channels staged at once and one image a block.

    pool: width of a window.
    """

    pool: int = 2

    def constant_values(self, shape: ConvShape) -> dict[str, int]:
        fixed = ("IMAGES", "STAGED", "RESIDENT", "WEIGHTS_SHARED")
        values = super().constant_values(shape).items()
        return {name: value for name, value in values if name not in fixed} | {"POOL": self.pool}

    def names(self, shape: ConvShape) -> conv2d.Names:
        y, x, filter = super().names(shape)
        return dataclasses.replace(y, shape=self.pooled_shape(shape)), x, filter

    def arguments(self, y: Any, x: Any, filter: Any, shape: ConvShape) -> tuple:
        return y, x

    def pooled_shape(self, shape: ConvShape) -> tuple[int, int, int, int]:
        """Return the shape of y."""
        return pooled_shape(shape, self.pool)

    def static_bytes(self, shape: ConvShape) -> int:
        columns, rows, maps = self.sizes.tile
        windows = maps * ceil_div(columns, self.pool) * ceil_div(rows, self.pool)
        return 4 * (shape.C * math.prod(self.staged_cells(shape)) + windows)

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        super().require(shape, device)
        spec = self.fitted(shape)
        sizes, (columns, rows, _) = spec.sizes, spec.tile
        if sizes.staged != shape.C or sizes.patches[2] != 1:
            raise LayerError(
                f"{self.name} stages all channels of one image: give staged = {shape.C} and one "
                "image a block"
            )
        for what, patch, tile, out in (
            ("columns", sizes.patch[0], columns, shape.out_w),
            ("rows", sizes.patch[1], rows, shape.out_h),
        ):
            if max(patch, self.pool) % min(patch, self.pool):
                raise LayerError(
                    f"{self.name}: patches have {patch} {what} and windows {self.pool}; "
                    "one must be a multiple of the other"
                )
            if tile % self.pool and tile < out:
                raise LayerError(
                    f"{self.name}: a tile of {tile} {what} would cut a window; "
                    f"take a multiple of {self.pool}"
                )


@dataclass(frozen=True)
class MmaPool(TensorKernel):
    """lenet_mma_1 and lenet_mma_2: one of LAYERS with ReLU and pool on tensor cores.

    All sizes stand in the source. layer: the name of the layer that it computes.
    """

    layer: str = ""
    pool: int = 2

    def constant_values(self, shape: ConvShape) -> dict[str, int]:
        known = {"PARTS": self.parts, "WARPS": self.warps, "RESIDENT": self.resident}
        return {name: known[name] for name in known if name in self.constant_names()}

    def names(self, shape: ConvShape) -> conv2d.Names:
        y, x, filter = super().names(shape)
        return dataclasses.replace(y, shape=pooled_shape(shape, self.pool)), x, filter

    def shared(self, shape: ConvShape) -> int:
        cells = shape.C * shape.H * shape.W
        # The 28 fragments of A. Layer 1 keeps its four in registers.
        weights = 512 * 28 * self.parts if shape.C > 1 else 0
        return weights + 4 * cells + 2 * self.parts * cells

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        only = conv2d.shape_of(self.layer, shape.B)
        pool = POOLS[LAYERS.index(self.layer)]
        if shape != only or self.pool != pool:
            raise LayerError(
                f"{self.name} takes only {self.layer}, {only}, with pool {pool}; "
                f"got {shape} with pool {self.pool}"
            )
        super().require(shape, device)

    def fragments(self, parts: np.ndarray) -> np.ndarray:
        """Return the fragments of conv2d_mma_quads (layer 1) or conv2d_mma_pairs (layer 2)."""
        spec = conv2d.mma_quads() if self.layer == "layer 1" else conv2d.mma_pairs()
        return spec.fragments(parts)


@dataclass(frozen=True)
class WarpgroupPool(MmaPool):
    """lenet_wgmma_2: layer 2 by the products of warpgroups, on compute capability 9.0 only."""

    flags: ClassVar[tuple[str, ...]] = conv2d.WARPGROUP_FLAGS

    def constant_values(self, shape: ConvShape) -> dict[str, int]:
        return {"PARTS": self.parts}

    def shared(self, shape: ConvShape) -> int:
        return conv2d.warpgroup_bytes(self.parts, pooled=True)

    def fragments(self, parts: np.ndarray) -> np.ndarray:
        return conv2d.warpgroup_fragments(parts)

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        conv2d.require_warpgroups(self, self.layer, shape, device)
        super().require(shape, device)


POOLED: tuple[ConvPool | MmaPool, ...] = (
    ConvPool("lenet_conv_pool", filter_in="constant", largest_width=15),
    MmaPool("lenet_mma_1", tile=(2, 2, 4), filter_in="constant", layer="layer 1", pool=2),
    MmaPool(
        "lenet_mma_2",
        tile=(4, 4, 16),
        filter_in="constant",
        layer="layer 2",
        pool=4,
        warps=11,
        resident=1,
    ),
    WarpgroupPool(
        "lenet_wgmma_2",
        tile=(4, 4, 16),
        filter_in="constant",
        layer="layer 2",
        pool=4,
        warps=16,
        resident=1,
    ),
)


def pooled_named(name: str, pool: int) -> ConvPool | MmaPool:
    """Return the row of POOLED of a name, for windows of ``pool``; LayerError for another name."""
    for spec in POOLED:
        if spec.name == name:
            return dataclasses.replace(spec, pool=pool)
    raise LayerError(
        f"there is no kernel {name!r} with a pool of its own; choose from "
        f"{', '.join(spec.name for spec in POOLED)}"
    )


def pooled_shape(shape: ConvShape, pool: int) -> tuple[int, int, int, int]:
    """Return the shape of a layer's outputs after max-pool ``pool``, the last windows cut."""
    return shape.B, shape.M, ceil_div(shape.out_h, pool), ceil_div(shape.out_w, pool)


def is_pooled(kernel: str | Conv2d) -> bool:
    """Return whether a kernel, by name or by its record, pools its own outputs."""
    if isinstance(kernel, str):
        return kernel in [spec.name for spec in POOLED]
    return isinstance(kernel, ConvPool | MmaPool)


def chosen(kernel: str | Conv2d, pool: int) -> Conv2d:
    """Return the record of a kernel, given by name or by its record, for windows of ``pool``."""
    if isinstance(kernel, str):
        return pooled_named(kernel, pool) if is_pooled(kernel) else conv2d.conv2d_named(kernel)
    if isinstance(kernel, ConvPool | MmaPool):
        return dataclasses.replace(kernel, pool=pool)
    return kernel
