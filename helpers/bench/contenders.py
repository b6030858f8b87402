"""The contenders of the benchmark on tensor cores: our kernels, grouped by how they round, and a
copy of the layer's bytes.

cuDNN's ways are `cudnn.contenders`.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from helpers import limits
from helpers.bench.layers import LayerOnDevice
from helpers.bench.memory import DRIVER, Memcpy, memcpy
from helpers.bench.on_device import OnDevice, Ready
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.problems.conv2d import Conv2d
from helpers.quantities import quantity

RECORD = "benchmark_tensor"  # all layers and batches, in data/measured/
COPY = {False: DRIVER, True: f"{DRIVER}, halves"}
UNITS, SPLIT, HALVES, HALF_IO = "FP32 units", "FP32 accuracy", "halves", "FP16 in and out"
# The mode of cuDNN that each group is compared with: it rounds as the group does, or less.
MODES = {UNITS: "FP32", SPLIT: "FP32", HALVES: "TF32", HALF_IO: "FP16"}

Row = dict[str, Any]


def ways(layer: str) -> dict[str, tuple[Conv2d, ...]]:
    """Return the kernels of each group for a layer of `conv2d.LAYERS`.

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


def ours(way: str, spec: Conv2d, there: LayerOnDevice) -> tuple[Ready, Row]:
    """Return one of our kernels, ready, and its row without a time.

    Raises LayerError for a shape that it does not take, and NotReadyError if it is wrong.
    """
    row: Row = {"series": spec.name, "way": way, "kernel": spec.sources[-1]}
    name = f"{spec.name}, {way}"
    if isinstance(spec, conv2d.RegisterTiled):
        row |= {"resident": spec.resident, "weights_shared": spec.weights_shared}
        if spec.resident:
            name = f"{spec.name}, {quantity(spec.resident, 'block')}, {way}"
    ready = there.ready(there.problem.kernel(spec).named(name))
    return ready, row | {"relative_error": ready.error}


def copy(shape: ConvShape, halves: bool) -> Memcpy:
    """Return a copy of half the layer's bytes, which reads and writes as many as the layer must."""
    return memcpy(limits.conv2d(shape).bytes // (16 if halves else 8))


def copied(there: OnDevice, halves: bool) -> tuple[Ready, Row]:
    """Return the driver's copy, ready, and its row without a time."""
    ready = there.ready(there.problem.kernel(DRIVER).named(COPY[halves]))
    return ready, {"series": COPY[halves], "bytes": there.problem.work.bytes}
