"""Persistent blocks on tensor cores by inline PTX: the fastest kernels, for some shapes only."""

from __future__ import annotations

import abc
import itertools
import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from helpers import device, kernels
from helpers.limits import (
    MOST_SHARED_BYTES,
    MULTIPROCESSOR_SHARED_BYTES,
    RESERVED_SHARED_BYTES,
    ConvShape,
)
from helpers.problems.precision import FLOAT, Precision

from . import refusals
from .base import Conv2d, Names
from .shapes import LAYERS, LayerError, ceil_div


@dataclass(frozen=True)
class ScaledHalf(Precision):
    """Half precision of scaled values: small values keep their digits.

    `power_of_two` gives the scale. The sums are scaled back at the end.
    """

    def rounded(self, values: np.ndarray) -> np.ndarray:
        scale = np.float32(power_of_two(values))
        return super().rounded(np.asarray(values, np.float32) * scale) / scale


def power_of_two(weights: np.ndarray) -> float:
    """Return the power of two that scales the largest weight to 2^13 or more, below 2^14.

    The range of half is far away on both sides there.
    """
    largest = float(np.abs(weights).max(initial=0))
    return 2.0 ** (13 - math.floor(math.log2(largest))) if largest else 1.0


# Of wgmma.cuh: no other GPU has its instructions.
WARPGROUP_FLAGS = (f"-I{kernels.FOLDER}", "-arch=sm_90a")


@dataclass(frozen=True)
class TensorKernel(Conv2d, abc.ABC):
    """Persistent blocks on tensor cores, with the weights in the order of A's registers.

    parts: 1 reads x and the filter as half (precision ScaledHalf), 2 as sums of two halves, which
    keeps FP32's accuracy. warps: of a block. resident: blocks of a multiprocessor. blocks: of a
    group of maps; None for as many as are resident on the device. half_io: x and y are float16 in
    the plan. The functions on host arrays take float32 only.
    """

    parts: int = 2
    warps: int = 8
    resident: int = 2
    blocks: int | None = None
    half_io: bool = False

    arranged: ClassVar[bool] = True
    flags: ClassVar[tuple[str, ...]] = (f"-I{kernels.FOLDER}",)

    @abc.abstractmethod
    def fragments(self, parts: np.ndarray) -> np.ndarray:
        """Return the fragments of A, float16, whose last axes are lanes, registers and halves.

        parts: the weights, float16, shape (parts, M, C, K, K).
        """

    def names(self, shape: ConvShape) -> Names:
        y, x, filter = super().names(shape)
        if not self.half_io:
            return y, x, filter
        return replace(y, dtype=np.float16), replace(x, dtype=np.float16), filter

    def threads(self, shape: ConvShape) -> tuple[int, int, int]:
        return 32 * self.warps, 1, 1

    def grid(self, shape: ConvShape) -> tuple[int, int, int]:
        blocks = self.blocks or self.resident * device.select().multiprocessors
        return min(shape.B, blocks), ceil_div(shape.M, self.tile[2]), 1

    def arguments(self, y: Any, x: Any, filter: Any, shape: ConvShape) -> tuple:
        return y, x, np.int32(shape.B)

    def constant_bytes(self, shape: ConvShape) -> int:
        return 0  # The symbol `filter` lies in global memory.

    def arrange(self, filter: np.ndarray) -> np.ndarray:
        """Return the bytes of the weights' `fragments`, then 1 / scale as float32 in 16 bytes."""
        scale = power_of_two(filter)
        scaled = filter * np.float32(scale)
        high = scaled.astype(np.float16)
        low = (scaled - high.astype(np.float32)).astype(np.float16)
        fragments = self.fragments(np.stack([high, low][: self.parts]))
        inverse = np.array([1 / scale, 0, 0, 0], np.float32)
        flat = np.ascontiguousarray(fragments).view(np.uint8).ravel()
        return np.concatenate([flat, inverse.view(np.uint8)])

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        if shape.K not in (3, 5, 7) or shape.H % 2 or shape.W % 2:
            raise LayerError(
                f"{self.name} takes K = 3, 5 or 7 and even numbers of rows and columns, "
                f"got {shape}; {refusals.OTHERS}"
            )
        if self.parts not in (1, 2):
            raise LayerError(f"{self.name} takes parts = 1 or 2, got {self.parts}")
        refusals.require_capability(self.name, device, (8, 0), f"take {refusals.PORTABLE}")
        if (needed := self.shared(shape)) > MOST_SHARED_BYTES:
            raise LayerError(
                f"{self.name} holds an image, and weights or outputs, in {needed:,} bytes of "
                f"shared memory on {shape}; a block of a Hopper GPU has {MOST_SHARED_BYTES:,}. "
                f"{refusals.OTHERS}."
            )
        super().require(shape, device)


@dataclass(frozen=True)
class TensorLayer(TensorKernel):
    """A layer by a `TensorKernel` for any even shape that fits shared memory."""

    @abc.abstractmethod
    def piece(self, shape: ConvShape) -> int:
        """Return how many outputs one copy from shared memory writes."""

    def constant_values(self, shape: ConvShape) -> dict[str, int]:
        return {
            **shape.constants,
            "PARTS": self.parts,
            "HALF_IO": int(self.half_io),
            "WARPS": self.warps,
            "RESIDENT": self.resident,
        }

    def staged(self, pairs: int, cells: int) -> int:
        """Return the bytes of shared memory for two images: the current one and the next.

        pairs: 32-bit words of a part of the current image. cells: floats of the next image.
        """
        halves = 128 * ceil_div(pairs, 32)
        following = halves + 128 if self.half_io else 128 * ceil_div(cells, 32)
        return following + self.parts * halves + 128

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        if self.half_io and self.parts == 2:
            raise LayerError(
                f"{self.name} takes parts = 1 if x is half, got parts = {self.parts}, "
                f"half_io = {self.half_io}"
            )
        if self.half_io and self.piece(shape) % 8:
            raise LayerError(
                f"{self.name} writes float16 in vectors of 8, and {self.piece(shape)} outputs "
                f"are no multiple of 8; {refusals.OTHERS}"
            )
        super().require(shape, device)


class Quads(TensorLayer):
    """conv2d_mma_quads: a column of B serves four outputs, a block 4 maps of one channel."""

    def constant_values(self, shape: ConvShape) -> dict[str, int]:
        return {**super().constant_values(shape), "BANDS": self.bands(shape)}

    def bands(self, shape: ConvShape) -> int:
        """Return the number of bands of an image's outputs.

        It is the smallest at which ``resident`` blocks fit the shared memory of a multiprocessor.
        """
        counts = [
            bands for bands in range(1, shape.out_h // 2 + 1) if shape.out_h // 2 % bands == 0
        ]
        most = MULTIPROCESSOR_SHARED_BYTES // self.resident - RESERVED_SHARED_BYTES
        return next((bands for bands in counts if self.shared_of(shape, bands) <= most), counts[-1])

    def shared_of(self, shape: ConvShape, bands: int) -> int:
        """Return the bytes of dynamic shared memory of a launch, for a number of bands."""
        plane, band = shape.H * shape.W // 2, shape.out_h * shape.out_w // bands
        pitch = 128 * ceil_div((2 if self.half_io else 4) * band + 64, 128) - 64
        return self.staged(plane, 2 * plane) + 4 * pitch

    def shared(self, shape: ConvShape) -> int:
        return self.shared_of(shape, self.bands(shape))

    def piece(self, shape: ConvShape) -> int:
        return shape.out_h // self.bands(shape) * shape.out_w

    def fragments(self, parts: np.ndarray) -> np.ndarray:
        _, M, _, K, _ = parts.shape
        fragments = np.zeros((ceil_div(M, 4), (K + 1) // 2, len(parts), 32, 4, 2), np.float16)
        for step, lane, register, half in itertools.product(
            range((K + 1) // 2), range(32), range(4), range(2)
        ):
            p, q = 2 * step + register // 2 - lane // 4 % 2, lane % 4 * 2 + half - register % 2
            if 0 <= p < K and 0 <= q < K:
                maps = parts[:, lane // 8 :: 4, 0, p, q]
                fragments[: maps.shape[1], step, :, lane, register, half] = maps.T
        return fragments

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        if shape.C != 1:
            raise LayerError(
                f"{self.name} takes one channel, got {shape.C}: use conv2d_mma_pairs; "
                f"{refusals.OTHERS}"
            )
        super().require(shape, device)


class Pairs(TensorLayer):
    """conv2d_mma_pairs, and conv2d_mma_halves: a column of B serves two outputs, a block 16 maps.

    conv2d_mma_pairs has FP32 accuracy (parts = 2) and its weights in shared memory.
    conv2d_mma_halves has half precision and its weights in registers.
    """

    def shared(self, shape: ConvShape) -> int:
        plane = shape.H * shape.W // 2
        weights = 512 * len(_steps(shape)) * 2 * 2 if self.parts == 2 else 0
        cells = self.staged(2 * ceil_div(shape.C, 2) * plane, 2 * shape.C * plane)
        return weights + cells + 16 * shape.out_h * shape.out_w * (2 if self.half_io else 4)

    def piece(self, shape: ConvShape) -> int:
        return shape.M * shape.out_h * shape.out_w

    def fragments(self, parts: np.ndarray) -> np.ndarray:
        _, M, C, K, _ = parts.shape
        steps = _steps(ConvShape(1, C, M, K, K, K))
        fragments = np.zeros((ceil_div(M, 16), len(steps), 2, len(parts), 32, 4, 2), np.float16)
        for (n, rows), shift, lane, register, half in itertools.product(
            enumerate(steps), range(2), range(32), range(4), range(2)
        ):
            (c, p), q = rows[register // 2], lane % 4 * 2 + half - shift
            if c < C and 0 <= q < K:
                maps = parts[:, lane // 4 + register % 2 * 8 :: 16, c, p, q]
                fragments[: maps.shape[1], n, shift, :, lane, register, half] = maps.T
        return fragments

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        if self.parts == 1 and shape.C > 4:
            raise LayerError(
                f"{self.name} holds the weights of at most 4 channels in registers, "
                f"got {shape.C} channels; {refusals.OTHERS}"
            )
        super().require(shape, device)


class Warpgroups(TensorLayer):
    """conv2d_wgmma: layer 2 by the products of warpgroups; a column of B serves four outputs.

    Two warpgroups multiply, and one or two fill shared memory; the source fixes how many, so
    ``warps`` only says so. It needs compute capability 9.0 itself; the simulator refuses it.
    conv2d_mma_pairs and conv2d_mma_halves run elsewhere.
    """

    flags: ClassVar[tuple[str, ...]] = WARPGROUP_FLAGS

    def constant_values(self, shape: ConvShape) -> dict[str, int]:
        return {"PARTS": self.parts, "HALF_IO": int(self.half_io)}

    def shared(self, shape: ConvShape) -> int:
        return warpgroup_bytes(self.parts, self.half_io)

    def piece(self, shape: ConvShape) -> int:
        return shape.M * shape.out_h * shape.out_w

    def fragments(self, parts: np.ndarray) -> np.ndarray:
        return warpgroup_fragments(parts)

    def require(self, shape: ConvShape, device: device.Device | None = None) -> None:
        require_warpgroups(self, "layer 2", shape, device)
        super().require(shape, device)


def warpgroup_bytes(parts: int, half_io: bool = False, pooled: bool = False) -> int:
    """Return the dynamic shared memory of conv2d_wgmma, or with ``pooled`` of lenet_wgmma_2.

    They are what the sources say: barriers, stages, slots of granules, outputs, and residuals.
    """
    across, planes = (18, 4) if pooled else (17, 2)
    slot = 16 * (parts * 2 * planes * (40 // planes) * across + 8)
    slots = 3 if parts == 2 else 6 if half_io else 5
    stages = 2 if pooled or half_io else 1 if parts == 2 else 3
    outputs = 0 if pooled else 16 * 34 * 34 if half_io else 16 * 10 * 34
    residuals = 2048 * (8 if pooled else 10) if parts == 2 else 0
    size = 2 if half_io else 4
    return 1024 + stages * 4 * 40 * 40 * size + slots * slot + 2 * outputs * size + residuals


def require_warpgroups(
    spec: TensorKernel, layer: str, shape: ConvShape, device: device.Device | None
) -> None:
    """Raise LayerError unless the shape is the layer's, and the device a GPU of capability 9.0."""
    portable = "conv2d_mma_pairs" if isinstance(spec, TensorLayer) else "lenet_mma_2"
    wanted = replace(LAYERS[layer], B=shape.B)
    if shape != wanted:
        raise LayerError(
            f"{spec.name} is made for {layer}, {wanted}, and takes no {shape}; take {portable}"
        )
    refusals.require_capability(spec.name, device, (9, 0), f"take {portable}", only=True)


def warpgroup_fragments(parts: np.ndarray) -> np.ndarray:
    """Return weights, float16, shape (parts, 16, C, 7, 7), as fragments of A for a warpgroup.

    The axes: step (channel, two rows of a window), part, lane of the warpgroup, register, half.
    Warp w has the maps w, w + 4, w + 8, w + 12; row g of its 16 rows is map w + 4 * (g / 2),
    shifted by g % 2 rows; row g + 8 is shifted by a column, too.
    """
    _, _, C, K, _ = parts.shape
    steps = (K + 1) // 2
    found = np.zeros((C * steps, len(parts), 128, 4, 2), np.float16)
    for step, lane, register, half in itertools.product(
        range(C * steps), range(128), range(4), range(2)
    ):
        (warp, lane_of_warp), (c, pair) = divmod(lane, 32), divmod(step, steps)
        g, q = divmod(lane_of_warp, 4)
        p, column = 2 * pair + register // 2 - g % 2, 2 * q + half - register % 2
        if 0 <= p < K and 0 <= column < K:
            found[step, :, lane, register, half] = parts[:, warp + g // 2 * 4, c, p, column]
    return found


def _steps(shape: ConvShape) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the two filter rows, as (channel, row), of each step of conv2d_mma_pairs.

    Two channels have 2 K rows, so that no row is left over; an odd C gets a channel of zeros.
    """
    rows = [(c, p) for c in range(2 * ceil_div(shape.C, 2)) for p in range(shape.K)]
    return list(zip(rows[::2], rows[1::2], strict=True))


def mma_pairs() -> TensorLayer:
    """Return the record of conv2d_mma_pairs, for layers of many maps in FP32 accuracy."""
    return Pairs("conv2d_mma_pairs", tile=(2, 1, 16), filter_in="constant", warps=12, resident=1)


def mma_halves(half_io: bool = False) -> TensorLayer:
    """Return the record of conv2d_mma_halves, for layers of many maps in halves."""
    return Pairs(
        "conv2d_mma_halves",
        tile=(2, 1, 16),
        filter_in="constant",
        precision=SCALED_HALF,
        parts=1,
        half_io=half_io,
        warps=6,
    )


def mma_quads(parts: int = 2, half_io: bool = False) -> TensorLayer:
    """Return the record of conv2d_mma_quads, for a layer of one channel."""
    return Quads(
        "conv2d_mma_quads",
        tile=(2, 2, 4),
        filter_in="constant",
        precision=SCALED_HALF if parts == 1 else FLOAT,
        parts=parts,
        half_io=half_io,
    )


def mma_wgmma(parts: int = 2, half_io: bool = False) -> TensorLayer:
    """Return the record of conv2d_wgmma, for layer 2 on an H100 or H200."""
    return Warpgroups(
        "conv2d_wgmma",
        tile=(2, 2, 16),
        filter_in="constant",
        precision=SCALED_HALF if parts == 1 else FLOAT,
        parts=parts,
        half_io=half_io,
        warps=12 if parts == 2 else 16,
        resident=1,
    )


SCALED_HALF = ScaledHalf("half inputs, scaled, float32 sums of tensor cores", "half", tensor=True)
# Not in CONV2D: they support some shapes only, and their grid depends on the size of the GPU.
FASTEST: tuple[TensorLayer, ...] = (mma_pairs(), mma_quads(), mma_halves())
# On an H100 or H200 only: the simulator refuses it.
WARPGROUPS: tuple[TensorLayer, ...] = (mma_wgmma(),)
