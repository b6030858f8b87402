"""Pictures of rooflines: speed over arithmetic intensity, below the roofs of a device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter

from helpers.plotting.styles import (
    COLOURS,
    INK,
    MARKERS,
    Look,
    figure_of,
    ratio_text,
    style,
    tick_text,
)
from helpers.quantities import percent

if TYPE_CHECKING:
    from helpers.device import Device


def roofline(
    ax: Axes,
    points: Sequence[tuple[str, float, float]],
    device: Device,
    *,
    title: str = "",
) -> Axes:
    """Draw the roofline of a device on logarithmic axes, and kernels below it.

    The horizontal axis is arithmetic intensity, the vertical axis speed. points: (label, intensity
    in flop/byte, speed in flop/s), for instance (name, work.intensity, work.flops / seconds) with a
    limits.Work. The text at a point gives its speed in percent of the roof above it. device: its
    dram_bandwidth (bytes/s) and fp32_peak (flop/s) are the two roofs. They meet at the intensity
    above which arithmetic limits a kernel.

    Raises ValueError for no points, a point that is not a label and two positive numbers, a
    repeated label, and a device without these two figures.
    """
    if device.dram_bandwidth is None or device.fp32_peak is None:
        raise ValueError(
            f"{device.name} ({device.kind}) has no DRAM bandwidth and FP32 peak for a roofline: "
            "pass the device that a record was measured on, record.device"
        )
    _require_points(points)
    style(ax, title)
    ridge = device.fp32_peak / device.dram_bandwidth
    left = min(ridge, *(x for _, x, _ in points)) / 4
    right = max(ridge, *(x for _, x, _ in points)) * 8
    lowest = min(device.dram_bandwidth * left, *(speed for _, _, speed in points))
    ax.set(
        xscale="log",
        yscale="log",
        xlim=(left, right),
        ylim=(lowest / 6e12, device.fp32_peak * 4 / 1e12),
    )
    _draw_roofs(ax, device.dram_bandwidth / 1e12, device.fp32_peak / 1e12, ridge, left, right)
    labels = []
    for number, (label, intensity, speed) in enumerate(points):
        part = speed / min(device.fp32_peak, device.dram_bandwidth * intensity)
        look: Look = {
            "marker": MARKERS[number % len(MARKERS)],
            "facecolors": ("white", COLOURS[0])[number % 2],
        }
        ax.scatter(intensity, speed / 1e12, s=36, edgecolors=COLOURS[0], zorder=4, **look)
        labels.append(
            _label_point(ax, f"{label}  {percent(part)}", intensity, speed / 1e12)
        )
    ax.set_xlabel(
        "arithmetic intensity (flop per byte of DRAM traffic)\npercent: of the roof above a point",
        fontsize="small",
    )
    ax.set_ylabel("FP32 speed (Tflop/s)")
    ax.grid(which="major", color="#e4e4e4", linewidth=0.6)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(tick_text))
    while not _part_labels(ax, labels):  # They need more room below.
        ax.set_ylim(bottom=ax.get_ylim()[0] / 4)
    return ax


def _require_points(points: Sequence) -> None:
    if not points:
        raise ValueError("there are no points to draw; give (label, flop/byte, flop/s) for each")
    seen: set[str] = set()
    for point in points:
        if (
            isinstance(point, str)
            or len(point) != 3
            or not all(0 < float(value) < math.inf for value in point[1:])
        ):
            raise ValueError(
                f"{point!r} is no point: give (label, flop/byte, flop/s), both figures above 0"
            )
        if point[0] in seen:
            raise ValueError(f"there are several points {point[0]!r}: give each a label of its own")
        seen.add(point[0])


def _draw_roofs(
    ax: Axes, bandwidth: float, peak: float, ridge: float, left: float, right: float
) -> None:
    """Draw the roofs: bandwidth in TB/s, peak in Tflop/s, the other three in flop/byte."""
    ax.plot([left, ridge, right], [bandwidth * left, peak, peak], color=INK, linewidth=2.2)
    ax.plot([ridge, ridge], [1e-12 * peak, peak], color="#777777", linewidth=0.9, linestyle=":")
    # Along a line on which y is proportional to x, the slope is y / x, on any scale. The axes
    # rotate the text like the line.
    above = 1.25 * bandwidth
    turned: Look = {
        "rotation": math.degrees(math.atan(above)),
        "rotation_mode": "anchor",
        "transform_rotates_text": True,
    }
    at = ridge**0.3 * left**0.7
    ax.text(
        at, above * at, f"DRAM {ratio_text(bandwidth)} TB/s", fontsize="small", color=INK, **turned
    )
    text: Look = {"textcoords": "offset points", "fontsize": "small", "color": INK, "va": "bottom"}
    ax.annotate(f"{ratio_text(peak)} Tflop/s", (right, peak), (-4, 4), ha="right", **text)
    ax.annotate(
        f"{ratio_text(ridge)} flop/byte", (ridge, 0), (4, 4), ("data", "axes fraction"), **text
    )


def _label_point(ax: Axes, text: str, x: float, y: float):
    """Return a label to the right of a point, where the roof is at least as high.

    A line connects the point with a label that `_part_labels` moves.
    """
    line: Look = {
        "arrowstyle": "-",
        "color": "#777777",
        "linewidth": 0.7,
        "shrinkA": 0,
        "shrinkB": 3,
        "relpos": (0, 0.5),
    }
    look: Look = {"textcoords": "offset points", "va": "center", "fontsize": "small", "color": INK}
    return ax.annotate(text, (x, y), (12, 0), arrowprops=line, **look)


def _part_labels(ax: Axes, labels: Sequence) -> bool:
    """Move labels down until none overlaps another; return whether all are above the axis.

    They move down because the roof is above them.
    """
    figure = figure_of(ax)
    if layout := figure.get_layout_engine():  # This takes half as long as drawing without output.
        layout.execute(figure)
    points = 72 / figure.dpi
    placed: list[tuple[float, float, float]] = []  # left and right end, height of the middle
    for label in sorted(labels, key=lambda label: -label.xy[1]):
        x, home = ax.transData.transform(label.xy) * points
        box = Text.get_window_extent(label)  # without the line to the point
        right, apart = x + 24 + box.width * points, box.height * points + 2
        y = home
        for left, end, taken in sorted(placed, key=lambda place: -place[2]):
            if left < right and x < end and abs(y - taken) < apart:
                y = taken - apart
        placed.append((x, right, y))
        label.set_position((12, y - home))
    return min(y for _, _, y in placed) - apart > ax.get_window_extent().y0 * points
