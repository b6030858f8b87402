"""The look of figures: colours, marks, captions, and numbers as text.

Series differ by marker, line style or hatch and not by colour alone, so that figures are readable
in print and in a dark theme. The background is opaque white.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.container import BarContainer
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogFormatter, NullLocator

# Dark and light colours alternate, for print in grey; markers and line styles differ as well.
COLOURS = ("#1b3a5c", "#e08a3c", "#1f7a5c", "#b39ddb", "#7a1f4b", "#5b8fd1", "#4a4a4a", "#c9a227")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)), (0, (3, 3)))
# Light colours, for areas with a hatch.
LIGHT = ("#5b8fd1", "#f3d2b3", "#9fcdb8", "#d9cdee", "#d79ab6", "#e6eaf0", "#b0b0b0", "#efe0a8")
PALE = "#e6eaf0"
INK = "#222222"
Look = dict[str, Any]  # keyword arguments of Matplotlib
ROOFLINE = "roofline"
# What a bar stands for, in all figures: a kernel of this repository, the student's, a library's
# program, what is no result, such as a baseline or a part of one, and a bound, which is no time.
BARS: dict[str, Look] = {
    "ours": {"color": COLOURS[5]},
    "yours": {"color": "white", "hatch": "////"},
    "library": {"color": LIGHT[6], "hatch": ".."},
    "aside": {"color": PALE},
    "bound": {"color": "white", "linestyle": "--"},
}


def style(ax: Axes, title: str = "") -> Axes:
    """Make `ax` opaque white without a box, set a layout without overlaps, and set the title.

    The drawing functions of this package call it. Call it yourself for a plot of your own.
    """
    figure = figure_of(ax)
    figure.set_facecolor("white")
    if figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
    ax.set_facecolor("white")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    if title:
        ax.set_title(title, loc="left", fontsize="medium", wrap=True)
    return ax


def subplots(
    width: float, height: float, rows: int = 1, columns: int = 1, **more: Any
) -> tuple[Figure, Any]:
    """Return a new figure of pyplot, with so many inches, and its axes, as `plt.subplots` does.

    The axes do not overlap, and rows that share a horizontal axis have its numbers each. more:
    other arguments of `plt.subplots`.
    """
    import matplotlib.pyplot as plt

    size = (width, height)
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", **more)
    for ax in figure.axes if more.get("sharex") else ():
        ax.tick_params(labelbottom=True)  # matplotlib leaves the numbers to the lowest picture
    return figure, axes


def figure_of(ax: Axes) -> Figure:
    """Return the figure of `ax`. Raises ValueError if `ax` was removed from its figure."""
    figure = ax.get_figure()
    if figure is None:
        raise ValueError("the axes belong to no figure: make new ones with plt.subplots()")
    return figure.figure if isinstance(figure, SubFigure) else figure


class Measured(Protocol):
    """What a figure needs of a record of measurements."""

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows, with "series" and the numbers."""

    def caption(self, *, cpu: bool = False) -> str:
        """Return where and when it was measured, in words; cpu: the CPU's name, too."""


def caption(ax: Axes, record: Measured, *, cpu: bool = False) -> Axes:
    """Write where and when a record was measured under the axes, in small letters.

    An example: "Measured on NVIDIA H200, 2026-11-21". cpu: whether the figure shows programs of
    the CPU, whose processor is then named, too.
    """
    label = ax.get_xlabel()
    below = -20 - 16 * (label.count("\n") + 1 if label else 0)
    ax.annotate(
        record.caption(cpu=cpu), (0, 0), (0, below), xycoords="axes fraction",
        textcoords="offset points", fontsize="x-small", color="#555555", va="top",
    )
    return ax


def finish(ax: Axes, title: str, record: Measured, *, cpu: bool = False) -> Figure:
    """Style `ax` with its title, write the record's caption below it, and return its figure.

    cpu: as in :func:`caption`.
    """
    return figure_of(caption(style(ax, title), record, cpu=cpu))


def tick_text(value: float, _: int) -> str:
    """Return a tick's label as a plain number without an exponent: 0.01, 30, 100,000."""
    if 0 < value < 1e-4:
        return f"{value:.12f}".rstrip("0")
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"


class PlainLogFormatter(LogFormatter):
    """Labels of a logarithmic axis as plain numbers, at the ticks that Matplotlib chooses."""

    def __call__(self, x: float, pos: Any = None) -> str:
        return tick_text(x, 0) if super().__call__(x, pos) else ""


def ratio_text(value: float) -> str:
    """Return three digits, with commas and no exponent from 1,000 on: 86,600."""
    if value < 999.5:
        return f"{value:.3g}"
    return f"{float(f'{value:.3g}'):,.0f}"


def duration_text(ms: float) -> str:
    """Return three digits and a unit: 460 ns, 46 µs, 4.6 ms, 1,200 s."""
    for unit, factor in (("s", 1e-3), ("ms", 1.0), ("µs", 1e3)):
        if ms * factor >= 1:
            return f"{ratio_text(ms * factor)} {unit}"
    return f"{ratio_text(ms * 1e6)} ns"


WHITE = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}  # hides a line behind the text


def dot(ax: Axes, y: float, value: float, *, hollow: bool, marker: str = "o") -> None:
    """Draw a dot, or another marker, on a thin line, along which the eye finds its name.

    On a logarithmic axis the length of a bar would mean nothing, because there is no zero.
    """
    ax.axhline(y, color="#c8c8c8", linewidth=0.8, zorder=0)
    face = "white" if hollow else COLOURS[0]
    look: Look = {"color": face, "markeredgecolor": INK, "linestyle": "none"}
    ax.plot(value, y, marker=marker, markersize=9, **look)


def bar(ax: Axes, y: float, width: float, kind: str = "ours", **look: Any) -> BarContainer:
    """Draw a horizontal bar from zero at the height y. kind: one of BARS."""
    shape = {"height": 0.6, "edgecolor": INK, "linewidth": 0.8, **BARS[kind]}
    return ax.barh(y, width, **{**shape, **look})


def beside(ax: Axes, x: float, y: float, text: str, *, points: float = 6, **look: Any) -> None:
    """Write text to the right of the end of a bar, so many points away."""
    ax.annotate(
        text,
        (x, y),
        (points, 0),
        textcoords="offset points",
        va="center",
        **{"fontsize": "small", "bbox": WHITE, **look},
    )


def interval(row: Mapping[str, Any]) -> tuple[float, float, float]:
    """Return the low end, the median and the high end of a row's time, in ms."""
    return row["low_ms"], row["median_ms"], row["high_ms"]


def spread(intervals: Iterable[tuple[float, float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the middles of intervals, and how far these reach below and above them.

    intervals: (low, middle, high) each. The second result is what `Axes.errorbar` and `Axes.barh`
    take as xerr or yerr, shape (2, intervals).
    """
    low, middle, high = np.array(list(intervals), float).reshape(-1, 3).T
    return middle, np.array([middle - low, high - middle])


def whisker(ax: Axes, y: float, low: float, middle: float, high: float, **look: Any) -> None:
    """Draw the interval of a bar or a dot at the height y."""
    at, around = spread([(low, middle, high)])
    ax.errorbar(at, [y], xerr=around, **{"color": INK, "capsize": 4, "linewidth": 1.2, **look})


def series(number: int) -> Look:
    """Return the colour and the marker of a figure's series, which is the first one for 0."""
    return {"color": COLOURS[number % len(COLOURS)], "marker": MARKERS[number % len(MARKERS)]}


# By which units a product is made, and in which halves: the same look in all figures.
PRODUCTS: dict[str, Look] = {
    "FP32 units": {**series(0), "linestyle": "--"},
    "split halves": {**series(1), "linestyle": "-"},
    "halves": {**series(2), "linestyle": "-."},
    "split halves, improved": {**series(4), "linestyle": "-"},
}


def library(marker: str) -> Look:
    """Return the look of a library's line: grey and dotted, its points with this marker."""
    return {"color": COLOURS[6], "marker": marker, "linestyle": ":"}


def plain_ticks(axis: Axis, places: Sequence[float] = ()) -> None:
    """Write an axis' ticks as plain numbers, without ticks between them.

    places: where the ticks stand; Matplotlib chooses if there are none.
    """
    if places:
        axis.set_major_locator(FixedLocator(places))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(tick_text))


def name_bars(ax: Axes, names: Sequence[str]) -> None:
    """Write the names of horizontal bars, the first one above.

    The last bar may be missing, and has its room all the same.
    """
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(axis="y", length=0)
    ax.margins(x=0.18)
    ax.set_ylim(len(names) - 0.5, -0.5)


def legend_below(figure: Figure, *axes: Axes, columns: int = 3, **more: Any) -> None:
    """Draw one legend below a figure's axes, with each label once. columns: of the legend."""
    handles = {
        label: handle
        for ax in axes
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)
    }
    below: Look = {"loc": "outside lower center", "ncols": columns, "frameon": False}
    figure.legend(handles.values(), handles.keys(), **below, **more)


def legend_beside(ax: Axes, title: str = "") -> None:
    """Draw the legend to the right of the axes, where it hides no data, in the order of drawing."""
    handles, labels = ax.get_legend_handles_labels()
    # The roofline comes after the series that it limits.
    order = sorted(range(len(labels)), key=lambda i: labels[i].startswith(ROOFLINE))
    ax.legend(
        [handles[i] for i in order],
        [labels[i] for i in order],
        loc="upper left",
        bbox_to_anchor=(1.01, 1),
        frameon=False,
        fontsize="small",
        handlelength=3.2,
        title=title or None,
    )
