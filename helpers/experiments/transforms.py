"""Fourier transforms: pictures of them, and their times beside a library and in two dimensions.

    record = results.record("402_fft", transforms.measure, device=gpu, lab=lab)
    transforms.layer_figure(record)          # a layer by tiles beside the direct kernel

The record is "402_fft": overlap-add for several widths and stages at a time beside cuFFT, and a
layer of a network by tiles beside the fastest direct kernel.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import limits, plotting, tables
from helpers.bench import convolutions, cufft, layers, results
from helpers.bench.on_device import NoLibraryError
from helpers.bench.ratios import Ratio
from helpers.plotting import boxes, styles
from helpers.plotting.styles import INK
from helpers.problems import fft, fft_conv1d, fft_conv2d

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
    from helpers.limits import ConvShape

WIDTHS = (3, 31, 63, 127, 255, 511, 1023, 4095)
SIZES = (10**7, 10**6)
STAGES = (1, 2, 3, 4)
STAGES_WIDTH = 255  # of the filter that every number of stages is timed with
LAYER_WIDTHS = (3, 7, 11, 15)
BATCH = 10_000
DIRECT_2D = "conv2d_register_tiled"
LOG_SIDE = 5  # tiles of 32 x 32 cells
CUFFT = "cuFFT through CuPy"  # the series of the record
BUDGET_S = 0.1  # of one timing
SEED = 20

Row = dict[str, Any]


def filters() -> dict[int, np.ndarray]:
    """Return a random filter of each width, float32."""
    rng = np.random.default_rng(SEED)
    return {width: rng.uniform(-1, 1, width).astype(np.float32) for width in WIDTHS}


def layer_shapes() -> dict[int, ConvShape]:
    """Return layer 2 with filters of each K; all have 34 x 34 outputs."""
    return {K: limits.ConvShape(BATCH, 4, 16, 33 + K, 33 + K, K) for K in LAYER_WIDTHS}


# --------------------------------------------------------------------------------------------------
# What a GPU measures


def measure() -> Iterator[Row]:
    """Yield the rows of the record "402_fft", measured on the selected GPU."""
    others = [(STAGES_WIDTH, stages) for stages in STAGES if stages != 3]
    for n in SIZES:
        for width, stages in (*((width, 3) for width in WIDTHS), *others):
            yield from _width(n, width, stages)
    yield from _layer(layers.layer("layer 1", BATCH))
    for shape in layer_shapes().values():
        yield from _layer(layers.layer("layer 2", shape=shape, images=BATCH))


def _width(n: int, width: int, stages: int) -> Iterator[Row]:
    """Yield the rows of overlap-add and, with three stages at a time, of cuFFT."""
    where = {"n": n, "filter_width": width, "stages": stages}
    with convolutions.conv1d(n, width).on_device() as there:
        ours = there.ready(fft_conv1d.OverlapAdd.fitting(width, stages))
        yield {"series": ours.kernel.name, **where, "timing": ours.time(BUDGET_S)}
        if stages == 3:
            with contextlib.suppress(NoLibraryError):
                library = there.ready(cufft.LIBRARY)
                yield {"series": CUFFT, **where, "timing": library.time(BUDGET_S)}


def _layer(problem: layers.Layer) -> Iterator[Row]:
    """Yield the rows of the tiles, of the direct kernel and of their ratio."""
    tiles = dataclasses.replace(fft_conv2d.LAYER, tiles=fft_conv2d.Tiles(LOG_SIDE))
    where = {"layer": "layer 1" if problem.trained else "layer 2", "K": problem.shape.K}
    with problem.on_device() as there:
        ours, direct = there.ready(tiles), there.ready(DIRECT_2D)
        for one in (direct, ours):
            row = {"series": one.kernel.name, **where, "relative_error": one.error}
            yield row | {"timing": one.time(BUDGET_S)}
        ratio = ours.over(direct, 2 * BUDGET_S).to_row()
        yield {"series": "ratio", "kernel": ours.kernel.name, **where, **ratio}


# --------------------------------------------------------------------------------------------------
# What a record says


def yardstick_table(data: Record) -> str:
    """Return a table of overlap-add's times beside those of the same steps by cuFFT, in ms."""
    times = data.ms("series", "filter_width", n=SIZES[0], stages=3)
    body = []
    for width in WIDTHS:
        ours, theirs = times[fft_conv1d.OVERLAP_ADD, width], times.get((CUFFT, width))
        shown = ("-", "-") if theirs is None else (f"{theirs:.3f}", f"{theirs / ours:.1f}")
        body.append((str(width), f"{ours:.3f}", *shown))
    return tables.text(("width", fft_conv1d.OVERLAP_ADD, CUFFT, "ratio"), body)


def layer_ratio(data: Record, layer: str, K: int) -> Ratio:
    """Return the tiles' time over the direct kernel's."""
    rows = {(row.get("layer"), row["K"]): row for row in data.rows() if row["series"] == "ratio"}
    return Ratio.of_row(results.Selection(data, rows)[layer, K], over=DIRECT_2D)


def layers_table(data: Record) -> str:
    """Return a table of the tiles' times over the direct kernel's, layer by layer."""
    body = []
    for layer, K in (("layer 1", 7), *(("layer 2", K) for K in LAYER_WIDTHS)):
        one = layer_ratio(data, layer, K)
        body.append((layer, str(K), f"{one.value:.3f}", f"{one.low:.3f} to {one.high:.3f}"))
    return tables.text(("", "K", "time by tiles over\nthe direct kernel's", "95 % interval"), body)


# --------------------------------------------------------------------------------------------------
# Figures


def segments_figure() -> Figure:
    """Draw segments of 4 cells in transforms of 8 points, for a filter of 5: where tails lie."""
    figure, ax = styles.subplots(10, 2.8)
    for row, start in enumerate(range(0, 16, 4)):
        for cell in range(start, start + 8):
            look = boxes.OWN if cell < start + 4 else {"hatch": "////"}
            boxes.box(ax, cell, row, height=0.8, **look)
    title = "Segments of 4 cells, 5 weights: each tail (hatched) lies on the next segment's head"
    plotting.style(ax, title)
    ax.set(xlim=(0, 20.1), ylim=(4, -0.1), xlabel="place of the sum", xticks=range(0, 21, 4))
    ax.set_yticks(np.arange(4) + 0.4, [f"segment {k}" for k in range(4)])
    return figure


def stages_figure() -> Figure:
    """Draw the pairs of a transform of eight points, stage by stage."""
    figure, ax = styles.subplots(9, 3.6)
    for stage, span in enumerate((4, 2, 1)):
        for first in (i for i in range(8) if not i & span):
            for a in (first, first + span):
                for b in (first, first + span):
                    look = "-" if a == b else "--"
                    ax.plot([stage, stage + 1], [a, b], look, color=INK, linewidth=1.0)
        ax.text(stage + 0.5, -0.5, f"span {span}", ha="center")
    ax.plot(*np.meshgrid(range(4), range(8)), "o", color=INK, markersize=4)
    plotting.style(ax, "Eight points: three stages of four pairs, and each pair stays in its cells")
    ax.set(xlim=(-0.2, 3.6), ylim=(7.5, -0.9), xticks=range(4), yticks=range(8))
    ax.set(xlabel="stages done", ylabel="cell")
    for cell, frequency in enumerate(fft.bit_reversed(8)):
        ax.text(3.1, cell, f"frequency {frequency}", va="center")
    return figure


def layer_figure(data: Record) -> Figure:
    """Draw the times of layer 2 by tiles and by the direct kernel over K."""
    _, ax = styles.subplots(9, 4.4)
    rows = [row for row in data.rows() if row.get("layer") == "layer 2" and "median_ms" in row]
    for number, name in enumerate((DIRECT_2D, fft_conv2d.TILES)):
        points = [row for row in rows if row["series"] == name]
        middle, around = styles.spread(map(styles.interval, points))
        widths = [row["K"] for row in points]
        ax.errorbar(widths, middle, around, label=name, capsize=3, **styles.series(number))
    said = layer_ratio(data, "layer 2", 7).words()
    ax.set(xlabel="filter width K (the outputs stay 34 x 34)", ylabel="time (ms)")
    ax.set(xticks=LAYER_WIDTHS, ylim=(0, None))
    ax.legend(frameon=False)
    return plotting.finish(
        ax, f"Layer 2, K = 7: {fft_conv2d.TILES} beside {DIRECT_2D}: {said}", data
    )
