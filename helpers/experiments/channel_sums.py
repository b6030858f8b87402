"""The sum over channels, split over threads: its launches for a small image, and its last bits.

`small` and `fitted_to` state the experiment on one small image. `measure` times both layers and
counts the outputs whose bits differ between runs (record "401_deeper").
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import limits, plotting, tables
from helpers.bench import layers
from helpers.bench.sources import Kernel
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.quantities import quantity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Row = Mapping[str, Any]

PLAIN = "conv2d_basic"
ATOMICS, TREE, SHUFFLE = SPLIT = (
    "conv2d_channels_atomics",
    "conv2d_channels_tree",
    "conv2d_channels_shuffle",
)
KERNELS = (PLAIN, *SPLIT)
LAYERS = conv2d.LENET
BATCH = 10_000  # images of the two layers
CHANNELS = (1, 2, 4, 16, 64, 256)  # of the small image
SIDE, MAPS, WIDTH = 11, 24, 7  # of the small image: its rows and columns, output maps, filter
OUT = SIDE - WIDTH + 1  # its rows and columns of outputs
MOST_THREADS = 32  # threads, or lanes, that share one output's channels
REPEATED_IMAGES, RUNS = 100, 10  # for the count of bits that differ


def small_shape(C: int) -> ConvShape:
    """Return the shape of the small image with C channels."""
    return ConvShape(1, C=C, M=MAPS, H=SIDE, W=SIDE, K=WIDTH)


def fitted(name: str, C: int) -> conv2d.Conv2d:
    """Return a kernel's launch for the small image: no thread without an output if possible.

    Tree and shuffle get a thread for each channel, up to MOST_THREADS, and a power of two.
    """
    threads = min(MOST_THREADS, 1 << (C - 1).bit_length())
    if name == TREE:
        return conv2d.channels_tree(OUT, threads)
    if name == SHUFFLE:
        return conv2d.channels_shuffle(threads, OUT)
    return conv2d.conv2d_named(name).with_tile(OUT)


def small(C: int) -> layers.Layer:
    """Return the small image with C channels, as a problem of the bench."""
    return layers.layer(shape=small_shape(C), images=1)


def fitted_to(problem: layers.Layer, kernel: Any) -> Kernel:
    """Return a kernel with the launch of `fitted` for a small image; a student's cell, too."""
    one = problem.kernel(kernel)
    return dataclasses.replace(one, spec=fitted(one.name, problem.shape.C))


# --------------------------------------------------------------------------------------------------
# Counting


def access_figure() -> Figure:
    """Draw the first load of x of a warp, for 4 and for 32 lanes that share an output."""
    lanes = 4, 32
    few = conv2d.random_inputs(ConvShape(1, MOST_THREADS, 1, SIDE, SIDE, WIDTH))
    figure, axes = plotting.subplots(9, 3.5 * len(lanes), len(lanes))
    for ax, count in zip(axes, lanes, strict=True):
        _, (seen,) = conv2d.simulate(conv2d.channels_shuffle(count, OUT), *few)
        request = next(r for r in seen.requests if (r.array, r.kind) == ("x", "load"))
        sectors = {offset // 32 for offset in request.offsets}
        title = (
            f"{count} lanes share an output: the {len(request.offsets)} lanes with an output ask "
            f"for {quantity(len(sectors), 'sector')}"
        )
        plotting.access_map(ax, seen, array="x", first=1, title=title)
    return figure


def repeats(name: str, images: int, runs: int) -> dict[str, Any]:
    """Launch a kernel `runs` times on layer 2; count outputs that get other bits than at first.

    Returns outputs, outputs_differ, runs, and `largest`: the largest difference over the largest
    output.
    """
    x, filter = conv2d.inputs("layer 2", images)
    first, *others = (conv2d.convolve(name, x, filter) for _ in range(runs))
    changed = np.zeros(first.shape, bool)
    for other in others:
        changed |= other.view(np.uint32) != first.view(np.uint32)
    largest = max(np.abs(other - first).max() for other in others) / np.abs(first).max()
    return {
        "outputs": first.size,
        "outputs_differ": int(changed.sum()),
        "runs": runs,
        "largest": float(largest),
    }


# --------------------------------------------------------------------------------------------------
# Measuring


def _time_layer(layer: str, batch: int) -> Iterator[Row]:
    with layers.layer(layer, batch).on_device() as there:
        for name in KERNELS:
            timed = there.ready(name).time(0.3)
            yield {"series": name, "layer": layer, "batch": batch, "timing": timed}


def measure() -> Iterator[Row]:
    """Yield the rows of the record "401_deeper", measured on the selected GPU.

    Series by kernel: op times by layer. "differ": the outputs whose bits differ between runs, by
    kernel.
    """
    for layer in LAYERS:
        yield from _time_layer(layer, BATCH)
    for name in KERNELS:
        repeated = repeats(name, REPEATED_IMAGES, RUNS)
        yield {"series": "differ", "kernel": name, **repeated, "timing": None}


def places_table() -> str:
    """Return how many outputs each of the lab's problems has, in places for threads of the GPU.

    An H200 has 132 multiprocessors, each with places for 64 warps of 32 threads.
    """
    places = limits.MULTIPROCESSORS * limits.MOST_WARPS * limits.WARP
    problems = {
        f"{layer}, {BATCH:,} images": conv2d.shape_of(layer, BATCH).outputs for layer in LAYERS
    }
    problems[f"one image of {SIDE} x {SIDE}"] = small_shape(1).outputs
    rows = [(name, f"{count:,}", f"{count / places:,.3g}") for name, count in problems.items()]
    return tables.text(("", "outputs", f"outputs over {places:,} places"), rows)
