"""The launches of the whole network, in order, and their run in the simulator."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import kernels, launch, simulator
from helpers.launch import Array, Launch, Plan
from helpers.limits import INDICES
from helpers.problems import conv2d, datasets, resizing
from helpers.problems.conv2d import Conv2d, LayerError, ceil_div
from helpers.problems.lenet.pooled import LAYERS, POOLS, chosen, is_pooled, pooled_shape
from helpers.problems.lenet.trained_weights import Weights

FUSED = ("lenet_conv_pool", "lenet_conv_pool")
TENSOR_CORES = ("lenet_mma_1", "lenet_mma_2")
FASTEST = ("lenet_mma_1", "lenet_wgmma_2")  # on an H100 or H200
PLAIN = (conv2d.PLAINEST, conv2d.PLAINEST)
SIDE = datasets.SIDE  # pixels of an image, before it is resized
CELLS, HIDDEN, CLASSES = 1296, 32, 10  # values of an image after pool 2 and each dense layer
BLOCK = 256  # threads of lenet_pool
RESIZE_ROWS = 6  # rows of threads in a block of lenet_resize: 43 * 6 = 258 threads
DENSE_WARPS, DENSE_EACH = 4, 8  # of lenet_dense: warps of a block, images of a warp
# Images for lenet_dense_split: more than one block of lenet_dense takes, and fewer than those from
# which on lenet_dense is the faster one on an H200.
DENSE_SPLIT = range(DENSE_WARPS * DENSE_EACH + 1, 3_000)
SPLIT_WARPS = 16  # of a block of lenet_dense_split
SPLIT_BLOCKS = 250  # of lenet_dense_split: as many blocks of two images, otherwise blocks of one


@dataclass(frozen=True)
class Stage:
    """One step of the network. name: such as "conv 1"; kernel: its name; plan: its launches."""

    name: str
    kernel: str
    plan: Plan


def stages(layers: Sequence[str | Conv2d], batch: int, *, pixels: bool) -> tuple[Stage, ...]:
    """Return the steps of the network for ``batch`` images, in order.

    layers, pixels: as for `pipeline.Network`, whose `sizes` has the arrays of their plans.
    """
    steps = [Stage("resize", "lenet_resize", (_resize(batch),))] if pixels else []
    for number, (layer, kernel, pool) in enumerate(zip(LAYERS, layers, POOLS, strict=True), 1):
        shape, spec = conv2d.shape_of(layer, batch), chosen(kernel, pool)
        pooled = f"pool {number}"
        y = pooled if is_pooled(spec) else f"conv {number}"
        names = {"y": y, "x": ("x", "pool 1")[number - 1], "filter": f"filter {number}"}
        plan = launch.renamed(spec.plan(shape), names)
        if is_pooled(spec):
            steps.append(Stage(f"conv + pool {number}", spec.name, plan))
            continue
        steps.append(Stage(f"conv {number}", spec.name, plan))
        steps.append(Stage(pooled, "lenet_pool", (pooling(Array(y, shape.y_shape), pooled, pool),)))
    dense = _dense(batch)
    return (*steps, Stage("dense", dense.name, (dense,)))


def _launch(
    name: str, block: tuple[int, int, int], blocks: int, *arguments: Any, **constants: int
) -> Launch:
    """Return a launch of ``blocks`` blocks along x; constants: set by -D."""
    options = tuple(f"-D{constant}={value}" for constant, value in constants.items())
    source = kernels.source(name)
    return Launch(source, name, options, (blocks, 1, 1), block, arguments=arguments)


def _resize(batch: int) -> Launch:
    x = Array("x", conv2d.shape_of(LAYERS[0], batch).x_shape)
    pixels = Array("pixels", (batch, SIDE, SIDE), np.uint8)
    return _launch("lenet_resize", (resizing.NETWORK_SIDE // 2, RESIZE_ROWS, 1), batch, x, pixels)


def pooling(y: Array, pooled: str, pool: int) -> Launch:
    """Return the launch of lenet_pool from y, (images, maps, rows, columns), to the array
    ``pooled``.
    """
    images, maps, rows, columns = y.shape
    shape = images, maps, ceil_div(rows, pool), ceil_div(columns, pool)
    windows = math.prod(shape)
    if windows >= INDICES:
        raise LayerError(
            f"lenet_pool counts windows in an int, up to {INDICES - 1:,}; {images:,} images have "
            f"{windows:,}: take fewer images"
        )
    arguments = Array(pooled, shape), y, np.int32(images * maps)
    sizes = {"HEIGHT": rows, "WIDTH": columns, "POOL": pool}
    return _launch("lenet_pool", (BLOCK, 1, 1), ceil_div(windows, BLOCK), *arguments, **sizes)


def _dense(batch: int) -> Launch:
    shapes = {
        "fc3": (CELLS, HIDDEN),
        "fc3_bias": (HIDDEN,),
        "fc4": (HIDDEN, CLASSES),
        "fc4_bias": (CLASSES,),
    }
    arguments = (
        Array("classes", (batch,), np.uint8),
        Array("logits", (batch, CLASSES)),
        Array("pool 2", pooled_shape(conv2d.shape_of(LAYERS[1], batch), POOLS[1])),
        *(Array(name, shape) for name, shape in shapes.items()),
        np.int32(batch),
    )
    if batch in DENSE_SPLIT:
        images = 2 if batch >= 2 * SPLIT_BLOCKS else 1
        sizes = {"WARPS": SPLIT_WARPS, "IMAGES": images}
        threads, blocks = 32 * SPLIT_WARPS, ceil_div(batch, images)
        return _launch("lenet_dense_split", (threads, 1, 1), blocks, *arguments, **sizes)
    blocks = ceil_div(batch, DENSE_WARPS * DENSE_EACH)
    sizes = {"WARPS": DENSE_WARPS, "EACH": DENSE_EACH}
    return _launch("lenet_dense", (32 * DENSE_WARPS, 1, 1), blocks, *arguments, **sizes)


def constants(weights: Weights) -> dict[str, np.ndarray]:
    """Return the weights in the kernels' order: those of the dense layers have the outputs
    innermost.
    """
    return {
        "filter 1": weights.conv1,
        "filter 2": weights.conv2,
        "fc3": np.ascontiguousarray(weights.fc3.T),
        "fc3_bias": weights.fc3_bias,
        "fc4": np.ascontiguousarray(weights.fc4.T),
        "fc4_bias": weights.fc4_bias,
    }


def simulate(
    weights: Weights,
    images: np.ndarray,
    layers: Sequence[str | Conv2d] = FUSED,
    *,
    pixels: bool = False,
    entry: Callable[..., Any] = simulator.profile,
    instead: Mapping[str, tuple[str, str]] | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Run the network in the simulator: return its arrays by name and ``entry``'s results by stage.

    It does not use the selected device. images: uint8, (n, 28, 28). entry: simulator.profile or
    simulator.check. instead: for a kernel's name, the (name, source) to run in its place. A stage
    of several launches has a tuple of results. Raises as ``entry``.
    """
    batch = len(images)
    outputs: dict[str, np.ndarray] = {}
    arrays = {"pixels": images, **constants(weights)}
    if not pixels:
        outputs["x"] = resizing.network_input(images)
    profiles: dict[str, Any] = {}
    for stage in stages(layers, batch, pixels=pixels):
        for array in (array for one in stage.plan for array in one.arrays):
            if array.name not in arrays | outputs:
                fill = 255 if np.dtype(array.dtype) == np.uint8 else np.nan
                outputs[array.name] = np.full(array.shape, fill, array.dtype)
        plan = launch.replaced(stage.plan, instead)
        entries = launch.simulate(plan, arrays | outputs, entry)
        profiles[stage.name] = entries[0] if len(entries) == 1 else entries
    kept = {name: array for name, array in outputs.items() if not name.startswith("conv ")}
    return kept, profiles
