"""The ladder's times over the number of images, for the layers of the network and two more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from helpers import plotting, tables
from helpers.experiments import ladder
from helpers.experiments.ladder import LENET, Ladder
from helpers.problems import conv2d

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
from helpers.experiments.ladder_steps import BEST

BATCHES = (100, 1_000, 10_000)
OTHERS = ("layer E1", "layer E2")  # of a course report: 28 x 28 cells, and 12 channels of 11 x 11
# The kernels of the figures: at most six series in the one, the ways to the best in the other.
IN_BATCHES = (
    "conv2d_basic",
    "conv2d_tiled_maps",
    "conv2d_implicit_gemm_fast",
    "conv2d_register",
    BEST,
)


def batches_figure(record: Record) -> Figure:
    """Draw the times of IN_BATCHES and cuDNN over the images, for four layers."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullLocator

    figure, axes = plt.subplots(2, 2, figsize=(12, 8.5), layout="constrained")
    for ax, which in zip(axes.flat, (*LENET, *OTHERS), strict=True):
        every = [ladder.build(record, which, batch) for batch in BATCHES]
        by_name = [{step.name: step.row for step in built.steps} for built in every]
        rows = [
            {**of_batch[name], "series": name}
            for name in IN_BATCHES
            for of_batch in by_name
            if name in of_batch
        ]
        rows += [
            {**built.yardstick, "series": ladder.YARDSTICK} for built in every if built.yardstick
        ]
        title = f"{which}, our fastest: {_fastest_words(every)}"
        plotting.scaling(
            ax, rows, x="batch", xlabel="images", floor=_floor_seconds(every), title=title
        )
        handles, labels = ax.get_legend_handles_labels()
        if (legend := ax.get_legend()) is not None:
            legend.remove()
        ax.set_xticks(BATCHES, [f"{batch:,}" for batch in BATCHES])
        ax.xaxis.set_minor_locator(NullLocator())
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    plotting.caption(axes[1, 0], record)
    return figure


def _floor_seconds(every: Sequence[Ladder]) -> Callable[[int], float]:
    """The least seconds of a layer by the number of images."""
    seconds = {built.shape.B: 1e-3 * built.floor_ms for built in every}
    return lambda images: seconds[images]


def _fastest_words(every: Sequence[Ladder]) -> str:
    """Our fastest kernels by batch, and the batches at which cuDNN is faster."""
    batches: dict[str, list[str]] = {}
    for built in every:
        batches.setdefault(built.best.name, []).append(f"{built.shape.B:,}")
    words = [f"{name} at {', '.join(at)}" for name, at in batches.items()]
    beaten = [
        f"{built.shape.B:,}"
        for built in every
        if built.yardstick and built.yardstick["median_ms"] < built.best.ms
    ]
    if beaten:
        words.append(f"cuDNN is faster at {', '.join(beaten)}")
    return ";\n".join(words)


def blocks_table(record: Record) -> str:
    """Return the blocks of the best kernel by layer and images."""
    spec = conv2d.conv2d_named(BEST)
    rows = []
    for which in (*LENET, *OTHERS):
        grids = (spec.grid(conv2d.shape_of(which, batch)) for batch in BATCHES)
        rows.append((which, *(f"{int(np.prod(grid)):,}" for grid in grids)))
    head = (f"blocks of {BEST}", *(f"{batch:,} images" for batch in BATCHES))
    table = tables.text(head, rows)
    return f"{table}\nmultiprocessors of {record.device.name}: {record.device.multiprocessors}"
