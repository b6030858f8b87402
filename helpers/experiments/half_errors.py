"""How far the sums of the half-precision kernels are from exact ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from helpers import plotting, reference, tables
from helpers.experiments.half_precision import ALL_IN_HALF, ERROR_SPECS, title
from helpers.plotting import styles
from helpers.problems import conv2d, precision

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CHANNELS = (1, 2, 4, 8, 16, 32)
ROUNDING = "rounding the inputs alone"


@dataclass(frozen=True)
class Errors:
    """Largest errors and their bounds over max |x| sum |filter|, by series; lengths: products."""

    lengths: tuple[int, ...]
    largest: Mapping[str, Sequence[float]]
    bounds: Mapping[str, Sequence[float]]


def errors(seed: int = 18) -> Errors:
    """Return the errors of sums of 49 to 1,568 products, on the selected device.

    x is uniform in 0 to 1, the weights in -1 to 1. The sums of a kernel are compared with exact
    ones of the rounded inputs; ROUNDING compares these with exact ones of the inputs as they are.
    """
    rng = np.random.default_rng(seed)
    largest: dict[str, list[float]] = {ROUNDING: [], **{title(spec): [] for spec in ERROR_SPECS}}
    bounds: dict[str, list[float]] = {name: [] for name in largest}
    for channels in CHANNELS:
        x = rng.random((1, channels, 14, 14), np.float32)
        filter = rng.uniform(-1, 1, (4, channels, 7, 7)).astype(np.float32)
        size = float(x.max() * np.abs(filter).sum(axis=(1, 2, 3)).max())
        rounded = reference.conv2d(precision.HALF.rounded(x), precision.HALF.rounded(filter))
        exact = reference.conv2d(x, filter)
        largest[ROUNDING].append(float(np.abs(rounded - exact).max()) / size)
        bounds[ROUNDING].append(precision.HALF.input_atol(x, filter) / size)
        for spec in ERROR_SPECS:
            small = replace(spec, block=(8, 8), tile=(8 * spec.tile[0] // 16, 8, spec.tile[2]))
            y = conv2d.convolve(small, x, filter)
            largest[title(spec)].append(float(np.abs(y - rounded).max()) / size)
            bounds[title(spec)].append(spec.precision.sum_atol(x, filter) / size)
    return Errors(tuple(49 * channels for channels in CHANNELS), largest, bounds)


def error_table(found: Errors) -> str:
    """Return how the errors of the sums compare with that of rounding the inputs."""
    head = ("error of the sums over that of the inputs", *(f"{n:,}" for n in found.lengths))
    rows = [
        (name, *(f"{one / inputs:.2g}" for one, inputs in
                 zip(values, found.largest[ROUNDING], strict=True)))
        for name, values in found.largest.items() if name != ROUNDING
    ]
    return tables.text(head, rows)


def error_figure(found: Errors) -> Figure:
    """Draw the largest errors and their bounds over the number of products."""
    figure, ax = styles.subplots(10, 5)
    for number, (name, values) in enumerate(found.largest.items()):
        look = styles.series(number)
        ax.plot(found.lengths, values, label=name, **look)
        ax.plot(found.lengths, found.bounds[name], linestyle=":", markerfacecolor="white", **look)
    everything, half = (found.largest[title(spec)][-1] for spec in (ALL_IN_HALF, ERROR_SPECS[0]))
    plotting.style(
        ax,
        f"{found.lengths[-1]:,} products: a sum in half errs {everything / half:,.0f} times as "
        "much as one in float32",
    )
    ax.set(xscale="log", yscale="log", xlabel="products in a sum")
    ax.set_ylabel("largest error over max |x| sum |filter|")
    styles.plain_ticks(ax.xaxis, found.lengths)
    styles.plain_ticks(ax.yaxis)
    styles.legend_beside(ax, title="filled: measured; open, dotted: bound")
    return figure
