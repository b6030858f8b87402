"""What a kernel of the convolution layer cannot do, refused before it is compiled."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from helpers import kernels
from helpers.limits import CONSTANT_BYTES, INDICES, MAX_GRID, ConvShape

from .shapes import LayerError

if TYPE_CHECKING:
    from .base import Conv2d

PLAINEST = "conv2d_basic"  # checked against the oracle; every output of the others is checked against it
SPARE = 0.95  # use at most 95 % of free memory: the driver and the modules need the rest


def require_stride(spec: Conv2d, shape: ConvShape) -> None:
    if shape.stride != 1 and not spec.strides:
        raise LayerError(
            f"{spec.name} moves the filter cell by cell, the stride asked for is {shape.stride}: "
            f"take {PLAINEST}"
        )


def require_width(spec: Conv2d, shape: ConvShape) -> None:
    if spec.largest_width is not None and spec.largest_width < shape.K:
        raise LayerError(
            f"{spec.name} takes filters up to K = {spec.largest_width}, not {shape.K}: its registers hold a row of cells. "
            f"{PLAINEST} takes any width."
        )


def require_constant(spec: Conv2d, shape: ConvShape) -> None:
    needed = spec.constant_bytes(shape)
    if needed > CONSTANT_BYTES:
        maps = CONSTANT_BYTES // (4 * shape.terms)
        part = f"launch it for {maps:,} output maps at a time" if maps else "not even one output map's weights fit"
        raise LayerError(
            f"{spec.name} keeps the filter in constant memory, which holds {CONSTANT_BYTES:,} bytes: the filter of shape "
            f"{shape.filter_shape} has {needed:,}. {part[0].upper()}{part[1:]}, or take a kernel that reads the filter "
            "from global memory."
        )


def require_block(spec: Conv2d, shape: ConvShape) -> None:
    block = spec.threads(shape)
    try:
        kernels.grid_for(1, block)
    except kernels.GridError as error:
        raise LayerError(f"{spec.name}: {error}") from None


def require_shared(spec: Conv2d, shape: ConvShape, most: int) -> None:
    needed = spec.static(spec, shape)
    if needed > most:
        raise LayerError(
            f"{spec.name} with tiles of {' x '.join(map(str, spec.tile[:2]))} outputs and K = {shape.K} needs {needed:,} "
            f"bytes of static shared memory; a block has {most:,}. Take smaller tiles: with_tile(8)."
        )


def require_indices(spec: Conv2d, shape: ConvShape) -> None:
    """Kernels count the cells of one image in an int; where an image begins is 64 bits."""
    for what, size in (
        ("one image", shape.x_shape[1:]),
        ("the filter", shape.filter_shape),
        ("one image's outputs", shape.y_shape[1:]),
    ):
        if math.prod(size) >= INDICES:
            raise LayerError(
                f"{spec.name} counts cells in an int, up to {INDICES - 1:,}; {what} of shape {size} has {math.prod(size):,}: "
                "convolve parts of it"
            )


def require_grid(spec: Conv2d, shape: ConvShape) -> None:
    grid = spec.grid(shape)
    for axis, blocks, most in zip("xyz", grid, MAX_GRID, strict=True):
        if blocks <= most:
            continue
        hint = {
            "x": "convolve parts of the image",
            "y": f"launch it for {most * spec.tile[2]:,} output maps at a time",
            "z": f"pass chunk={most} to conv2d.convolve, or launch it for {most:,} images at a time",
        }
        raise LayerError(f"{spec.name} on {shape} needs a grid of {grid}; CUDA allows {most:,} along {axis}: {hint[axis]}")


def require_memory(spec: Conv2d, shape: ConvShape, free: int, more: Callable[[ConvShape], int] | None = None) -> None:
    """Raise LayerError unless what a launch needs (and ``more`` of a shape) fits into ``free`` bytes."""

    def needed(images: int) -> int:
        part = dataclasses.replace(shape, B=images)
        return spec.memory(part) + (more(part) if more else 0)

    if needed(shape.B) <= SPARE * free:
        return
    images = next((n for n in _fewer(shape.B) if needed(n) <= SPARE * free), 0)
    advice = f"pass chunk={images} to conv2d.convolve: {needed(images):,} bytes at a time" if images else "not even one image fits"
    if more and images:
        advice = f"take {images:,} images"
    raise LayerError(f"{spec.name} on {shape} needs {needed(shape.B):,} bytes of device memory, and {free:,} are free: {advice}")


def _fewer(images: int) -> Iterator[int]:
    """Numbers of images below ``images``, downwards: 1, 2 and 5 times a power of ten, so that advice is round."""
    power = 10 ** len(str(images))
    while power:
        yield from (n for n in (5 * power, 2 * power, power) if n < images)
        power //= 10
