"""A kernel of the layer on arrays: on the selected device, or in the simulator."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from helpers import device, launch, simulator
from helpers.launch import Plan
from helpers.limits import ConvShape

from . import refusals
from .base import Compiled, Conv2d
from .shapes import LayerError, shape_for
from .table import spec_of


def compile(kernel: str | Conv2d, shape: ConvShape, plan: Plan | None = None) -> Compiled:
    """Return a kernel, by name or by its record, compiled for a shape on the selected device.

    plan: launches in place of the record's own, such as those of `launch.replaced`. Raises
    LayerError if `Conv2d.require` refuses the shape, or if the compiled kernel needs more registers
    than a block has, or more shared memory than the device has.
    """
    return spec_of(kernel).compile(shape, plan)


def convolve(
    kernel: str | Conv2d,
    x: np.ndarray,
    filter: np.ndarray,
    stride: int = 1,
    chunk: int | None = None,
) -> np.ndarray:
    """Return y, float32, shape (B, M, out_h, out_w): a kernel computes it on the selected device.

    x: float32, (B, C, H, W); filter: float32, (M, C, K, K); both in C order. chunk: images on the
    device at a time; by default all. Raises before the launch: TypeError for another dtype;
    LayerError for arrays that are no layer (see `shape_for`), for a shape that the kernel refuses
    (see `Conv2d.require`), and for a batch that does not fit the device's memory; that message
    proposes a chunk.
    """
    spec, shape = spec_of(kernel), shape_for(x, filter, stride)
    device.select()
    import pycuda.driver as cuda

    images = _require_chunk(chunk, shape.B)
    first_part = dataclasses.replace(shape, B=images)
    spec.require(first_part, device.selected())
    refusals.require_memory(spec, first_part, cuda.mem_get_info()[0])
    y = np.empty(shape.y_shape, np.float32)
    for first in range(0, shape.B, images):
        _convolve_part(
            cuda, spec, x[first : first + images], filter, stride, y[first : first + images]
        )
    return y


def simulate(
    kernel: str | Conv2d,
    x: np.ndarray,
    filter: np.ndarray,
    stride: int = 1,
    *,
    entry: Callable[..., Any] = simulator.profile,
    instead: Mapping[str, tuple[str, str]] | None = None,
    **more: Any,
) -> tuple[np.ndarray, tuple]:
    """Run a kernel in the simulator: return y and the result of ``entry`` for each launch.

    It does not use the selected device. entry: simulator.profile or simulator.check; ``more``:
    further arguments of it. instead: for a kernel's name, the (name, source) to run in its place,
    such as an exercise or a broken kernel. Raises as `convolve` does, and as ``entry``.

        y, (seen,) = conv2d.simulate("conv2d_basic", x, filter)
        print(seen.global_load_sectors)
    """
    spec, shape = spec_of(kernel), shape_for(x, filter, stride)
    spec.require(shape)
    y = np.full(shape.y_shape, np.nan, np.float32)
    plan = launch.replaced(spec.plan(shape), instead)
    return y, launch.simulate(plan, {"y": y, "x": x, "filter": filter}, entry, **more)


def _require_chunk(chunk: int | None, batch: int) -> int:
    if chunk is None:
        return batch
    if isinstance(chunk, bool) or not hasattr(chunk, "__index__") or chunk < 1:
        raise LayerError(
            f"chunk is {chunk!r}; give the number of images to hold on the device at a time, "
            "such as 1000"
        )
    return min(int(chunk), batch)


def _convolve_part(
    cuda: Any, spec: Conv2d, x: np.ndarray, filter: np.ndarray, stride: int, y: np.ndarray
) -> None:
    run = spec.compile(shape_for(x, filter, stride))
    arrays: list[Any] = []
    try:
        arrays.extend(cuda.mem_alloc(array.nbytes) for array in (y, x, filter))
        cuda.memcpy_htod(arrays[1], x)
        cuda.memcpy_htod(arrays[2], filter)
        y_there, x_there, filter_there = map(int, arrays)
        run.launch(y_there, x_there, filter_there)
        cuda.memcpy_dtoh(y, arrays[0])
    finally:
        for array in arrays:
            array.free()
        run.free()
