"""Refusals of the convolution layer's kernels: shapes that a kernel cannot compute."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Protocol

from helpers import kernels
from helpers.device import Device
from helpers.limits import CONSTANT_BYTES, INDICES, MAX_GRID, USABLE, ConvShape

from .shapes import LayerError

# The kernel that is checked against the oracle. All outputs of other kernels are compared with its.
PLAINEST = "conv2d_basic"
# The advice of a refusal, for kernels that support some shapes or some GPUs only.
PORTABLE = "conv2d_register_tiled"
OTHERS = f"{PORTABLE} takes most other shapes, {PLAINEST} all"


class Record(Protocol):
    """The part of a `Conv2d` that the refusals read."""

    @property
    def name(self) -> str: ...
    @property
    def tile(self) -> tuple[int, int, int]: ...
    @property
    def strides(self) -> bool: ...
    @property
    def largest_width(self) -> int | None: ...
    def constant_bytes(self, shape: ConvShape) -> int: ...
    def static_bytes(self, shape: ConvShape) -> int: ...
    def memory(self, shape: ConvShape) -> int: ...
    def threads(self, shape: ConvShape) -> tuple[int, int, int]: ...
    def grid(self, shape: ConvShape) -> tuple[int, int, int]: ...


def require_capability(
    name: str, device: Device | None, least: tuple[int, int], instead: str, only: bool = False
) -> None:
    """Raise LayerError for a device of a lower compute capability; None fits.

    only: for a device of a higher one, too, and for the simulator. instead: words on the kernel to
    take there.
    """
    if device is None:
        return
    here = device.compute_capability
    if here < least or (only and (here, device.kind) != (least, "gpu")):
        kind = "GPU" if device.kind == "gpu" else device.kind
        raise LayerError(
            f"{name} needs a GPU of compute capability {'.'.join(map(str, least))}, and "
            f"{device.name} is a {kind} of {'.'.join(map(str, here))}; {instead}"
        )


def require_stride(spec: Record, shape: ConvShape) -> None:
    if shape.stride != 1 and not spec.strides:
        raise LayerError(f"{spec.name} supports only stride 1, got {shape.stride}; use {PLAINEST}")


def require_width(spec: Record, shape: ConvShape) -> None:
    if spec.largest_width is not None and spec.largest_width < shape.K:
        raise LayerError(
            f"{spec.name} takes filters up to K = {spec.largest_width}, got {shape.K}: "
            f"its registers hold a row of cells. {PLAINEST} takes any width."
        )


def require_constant(spec: Record, shape: ConvShape) -> None:
    needed = spec.constant_bytes(shape)
    if needed > CONSTANT_BYTES:
        maps = CONSTANT_BYTES // (4 * shape.terms)
        advice = (
            f"Launch it for {maps:,} output maps at a time, or"
            if maps
            else "The weights of a single output map do not fit:"
        )
        raise LayerError(
            f"{spec.name} keeps the filter in constant memory, which holds {CONSTANT_BYTES:,} "
            f"bytes: the filter of shape {shape.filter_shape} has {needed:,}. "
            f"{advice} take a kernel that reads the filter from global memory."
        )


def require_block(spec: Record, shape: ConvShape) -> None:
    block = spec.threads(shape)
    try:
        kernels.grid_for(1, block)
    except kernels.GridError as error:
        raise LayerError(f"{spec.name}: {error}") from None


def require_shared(spec: Record, shape: ConvShape, most: int) -> None:
    needed = spec.static_bytes(shape)
    if needed > most:
        raise LayerError(
            f"{spec.name} with tiles of {' x '.join(map(str, spec.tile[:2]))} outputs and "
            f"K = {shape.K} needs {needed:,} bytes of static shared memory; a block has {most:,}. "
            "Take smaller tiles: with_tile(8)."
        )


def require_indices(spec: Record, shape: ConvShape) -> None:
    """Refuse images of 2^31 cells: kernels count the cells of one image in a 32-bit int.

    The offset of an image is 64 bits wide, so that the number of images has no such limit.
    """
    for what, size in (
        ("one image", shape.x_shape[1:]),
        ("the filter", shape.filter_shape),
        ("one image's outputs", shape.y_shape[1:]),
    ):
        if math.prod(size) >= INDICES:
            raise LayerError(
                f"{spec.name} counts cells in an int, up to {INDICES - 1:,}; "
                f"{what} of shape {size} has {math.prod(size):,}: convolve parts of it"
            )


def require_grid(spec: Record, shape: ConvShape) -> None:
    grid = spec.grid(shape)
    for axis, blocks, most in zip("xyz", grid, MAX_GRID, strict=True):
        if blocks <= most:
            continue
        hint = {
            "x": "convolve parts of the image",
            "y": f"launch it for {most * spec.tile[2]:,} output maps at a time",
            "z": f"pass chunk={most} to conv2d.convolve, "
            f"or launch it for {most:,} images at a time",
        }
        raise LayerError(
            f"{spec.name} on {shape} needs a grid of {grid}; CUDA allows {most:,} along {axis}: "
            f"{hint[axis]}"
        )


def require_memory(
    spec: Record,
    shape: ConvShape,
    free: int,
    more: Callable[[ConvShape], int] | None = None,
) -> None:
    """Raise LayerError unless the memory of a launch fits into ``free`` bytes.

    more: further bytes that the caller needs for a shape.
    """

    def needed(images: int) -> int:
        part = dataclasses.replace(shape, B=images)
        return spec.memory(part) + (more(part) if more else 0)

    if needed(shape.B) <= USABLE * free:
        return
    images = next((n for n in _fewer(shape.B) if needed(n) <= USABLE * free), 0)
    advice = "not even one image fits"
    if images:
        advice = f"pass chunk={images} to conv2d.convolve: {needed(images):,} bytes at a time"
    if more and images:
        advice = f"take {images:,} images"
    raise LayerError(
        f"{spec.name} on {shape} needs {needed(shape.B):,} bytes of device memory, "
        f"and {free:,} are free: {advice}"
    )


def _fewer(images: int) -> Iterator[int]:
    """Round numbers below ``images``, downwards: 5, 2 and 1 times a power of ten, for advice."""
    power = 10 ** len(str(images))
    while power:
        yield from (n for n in (5 * power, 2 * power, power) if n < images)
        power //= 10
