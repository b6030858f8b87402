"""What the layers on tensor cores are compared in: our kernels by way, and copies of as many bytes.

A kernel with halves in and out runs on arrays of its own. cuDNN's ways are `cudnn.contenders`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from helpers import checking, limits, reference
from helpers.bench.memory import DRIVER
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.problems.conv2d import (
    Compiled,
    Conv2d,
    ImplicitMma,
    ImplicitWgmma,
    Problem,
    TensorLayer,
)
from helpers.quantities import quantity

RECORD = "benchmark_tensor"  # all layers and batches, in data/measured/
COPY = {False: DRIVER, True: f"{DRIVER}, halves"}
UNITS, SPLIT, HALVES, HALF_IO = "FP32 units", "FP32 accuracy", "halves", "FP16 in and out"
# What each way is compared with, of cuDNN: the mode that rounds as it does, or less.
MODES = {UNITS: "FP32", SPLIT: "FP32", HALVES: "TF32", HALF_IO: "FP16"}

Row = dict[str, Any]
Launch = Callable[[Any], None]


def ways(layer: str) -> dict[str, tuple[Conv2d, ...]]:
    """Return the kernels of each way for a layer of `conv2d.LAYERS`.

    Those that refuse its shape are left out of the benchmark, with their reason.
    """
    tiled = conv2d.conv2d_named("conv2d_register_tiled")
    changes = conv2d.OCCUPANCY.get(layer)
    resident = (dataclasses.replace(tiled, **changes),) if changes else ()
    units = (tiled, *resident, *conv2d.SMALL)
    if conv2d.LAYERS[layer].C == 1:
        return {
            UNITS: units,
            SPLIT: (conv2d.mma_quads(), conv2d.implicit_mma(2)),
            HALVES: (conv2d.mma_quads(1), conv2d.implicit_mma()),
            HALF_IO: (conv2d.mma_quads(1, True), conv2d.implicit_mma(1, True)),
        }
    return {
        UNITS: units,
        SPLIT: (conv2d.mma_wgmma(), conv2d.mma_pairs(), conv2d.implicit_mma(2)),
        HALVES: (conv2d.mma_wgmma(1), conv2d.mma_halves(), conv2d.wmma(), conv2d.implicit_mma()),
        HALF_IO: (
            conv2d.mma_wgmma(1, True),
            conv2d.mma_halves(True),
            conv2d.implicit_mma(1, True),
        ),
    }


@dataclasses.dataclass(frozen=True)
class Contender:
    """Something checked that can be timed. free: gives back what it holds."""

    name: str
    launch: Launch
    verdict: checking.Verdict
    free: Callable[[], None]
    row: Row


def ours(way: str, spec: Conv2d, problem: Problem, x: np.ndarray) -> Contender:
    """Return one of our kernels, checked. Raises LayerError for a shape that it does not take."""
    row: Row = {"series": spec.name, "way": way, "kernel": spec.sources[-1]}
    name = f"{spec.name}, {way}"
    if isinstance(spec, conv2d.RegisterTiled):
        row |= {"resident": spec.resident, "weights_shared": spec.weights_shared}
        if spec.resident:
            name = f"{spec.name}, {quantity(spec.resident, 'block')}, {way}"
    run = conv2d.compile(spec, problem.shape)
    if isinstance(spec, (TensorLayer, ImplicitMma, ImplicitWgmma)) and spec.half_io:
        return _in_halves(spec, run, problem, x, row)

    def launch(stream: Any) -> None:
        run.launch(problem.y, problem.x, problem.filter, stream)

    problem.poison()
    launch(None)
    verdict = problem.check(spec.name, spec.precision)
    row["relative_error"] = problem.relative_error(spec.name, spec.precision)
    return Contender(name, launch, verdict, run.free, row)


def _in_halves(
    spec: TensorLayer | ImplicitMma | ImplicitWgmma,
    run: Compiled,
    problem: Problem,
    x: np.ndarray,
    row: Row,
) -> Contender:
    """Return a kernel with halves in and out; the oracle checks some images."""
    import pycuda.driver as cuda

    shape, images = problem.shape, conv2d.some_images(problem.shape.B)
    cells, y = cuda.to_device(x.astype(np.float16)), cuda.mem_alloc(2 * problem.shape.outputs)
    cuda.memset_d16(y, 0x7E00, shape.outputs)  # NaN

    def launch(stream: Any) -> None:
        run.launch(int(y), int(cells), problem.filter, stream)

    launch(None)
    cuda.Context.synchronize()
    got = np.empty((len(images), *shape.y_shape[1:]), np.float16)
    for place, image in zip(got, images, strict=True):
        cuda.memcpy_dtoh(place, int(y) + image * place.nbytes)
    some = np.ascontiguousarray(x[list(images)])
    want = reference.conv2d(some, problem.filter_on_host, shape.stride)
    largest = np.full((1, 1, 1, 1), np.abs(x).max())
    # y is rounded, too.
    atol = spec.precision.atol(largest, problem.filter_on_host) + 2.0**-11 * float(
        np.abs(want).max()
    )
    verdict = checking.check(got.astype(np.float32), want, rtol=0.0, atol=atol, name=spec.name)
    error = np.abs(got.astype(np.float64) - want).max() / np.abs(want).max()
    row["relative_error"] = float(error)

    def free() -> None:
        run.free()
        cells.free()
        y.free()

    return Contender(f"{spec.name}, {row['way']}", launch, verdict, free, row)


def copy(shape: ConvShape, halves: bool) -> Contender:
    """Return a copy of half the layer's bytes, which reads and writes as many as the layer must."""
    import pycuda.driver as cuda

    size = limits.conv2d(shape).bytes // (4 if halves else 2)
    source, target = (cuda.mem_alloc(size) for _ in range(2))
    cuda.memset_d8(source, 1, size)
    cuda.memset_d8(target, 0, size)

    def launch(stream: Any) -> None:
        cuda.memcpy_dtod_async(int(target), int(source), size, stream)

    def free() -> None:
        source.free()
        target.free()

    launch(None)
    got = np.empty(min(size, 4096), np.uint8)
    cuda.memcpy_dtoh(got, int(target) + size - got.size)
    verdict = checking.check(got, np.ones(got.size, np.uint8), rtol=0, name=COPY[halves])
    row = {"series": COPY[halves], "bytes": 2 * size}
    return Contender(COPY[halves], launch, verdict, free, row)
