"""Pictures of records and of launches. Every function draws on the Axes it is given and returns it.

They read in print and in a dark theme: series differ by marker, line style or hatch and not by colour alone, and the
background is opaque white. Titles are the caller's: a title says what the picture shows to be so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

if TYPE_CHECKING:
    from helpers.device import Device
    from helpers.results import Record
    from helpers.simulator import Profile

    Data = Record | Sequence[Mapping[str, Any]]

SECTOR_BYTES = 32
WORD_BYTES = 4  # of constant memory, and of a bank of shared memory
BANKS = 32
WARP = 32

# Dark and light in turn, for print in grey; markers and line styles differ as well.
COLOURS = ("#1b3a5c", "#e08a3c", "#1f7a5c", "#b39ddb", "#7a1f4b", "#5b8fd1", "#4a4a4a", "#c9a227")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 2)), (0, (3, 3)))
LIGHT = ("#5b8fd1", "#f3d2b3", "#9fcdb8", "#d9cdee", "#d79ab6", "#e6eaf0", "#b0b0b0", "#efe0a8")  # under hatches
PALE = "#e6eaf0"
INK = "#222222"

MOST_REQUESTS = 6  # of a warp that an access map tells apart; the others are drawn alike
MOST_CELLS = 64  # of an array that a picture of single cells can show
MOST_BLOCKS, MOST_THREADS = 8, 64  # along one axis of a picture of a grid, of a block
ROOFLINE = "roofline"
LOG_FROM = 30  # largest over smallest speedup from which on the axis is logarithmic


def style(ax: Axes, title: str = "") -> Axes:
    """Make `ax` opaque white without a box, lay its figure out so that nothing overlaps, and set the title.

    The functions below do it themselves; call it for a plot of your own.
    """
    figure = ax.get_figure()
    figure.set_facecolor("white")
    if figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
    ax.set_facecolor("white")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    if title:
        ax.set_title(title, loc="left", fontsize="medium", wrap=True)
    return ax


def caption(ax: Axes, record: Record) -> Axes:
    """Write where and when a record was measured, small, under the axes: "Measured on NVIDIA H200, 2026-11-21"."""
    label = ax.get_xlabel()
    below = -20 - 16 * (label.count("\n") + 1 if label else 0)
    ax.annotate(
        record.caption(), (0, 0), (0, below), xycoords="axes fraction", textcoords="offset points",
        fontsize="x-small", color="#555555", va="top",
    )  # fmt: skip
    return ax


# ------------------------------------------------------------------------------------------------------------- times


def speedup(
    ax: Axes,
    data: Data,
    *,
    baseline: str,
    where: Mapping[str, Any] | None = None,
    by: str | Sequence[str] = "series",
    title: str = "",
) -> Axes:
    """Horizontal bars: how many times faster than `baseline` each series is. The baseline has a bar of its own, at 1.

    data: a Record, or its rows (dicts with "series", "median_ms", "low_ms", "high_ms" and parameters); where: the rows
    to draw, such as {"n": 10**8, "cache": "cold"}; by: the column, or columns, that name a bar.

    The speedup is the baseline's median time over the series'. Its whisker goes from the fastest baseline over the
    slowest series to the opposite: wider than the interval of a ratio, which timing.compare measures.

    Raises ValueError for no rows, rows without times, several rows for one bar, or a baseline that is not among them.
    """
    rows = _one_row_each(_timed(data, where), by)
    if baseline not in rows:
        raise ValueError(f"there is no series {baseline!r} to compare with; there is: {', '.join(rows)}")
    base = rows[baseline]
    ratios = {
        name: (
            base["median_ms"] / row["median_ms"],
            base["low_ms"] / row["high_ms"],
            base["high_ms"] / row["low_ms"],
        )
        for name, row in rows.items()
    }
    ratios[baseline] = (1.0, 1.0, 1.0)
    style(ax, title)
    _draw_bars(ax, ratios, baseline)
    ax.set_xlabel(f"speedup over {baseline} (times; longer is faster)")
    return ax


def _draw_bars(ax: Axes, ratios: Mapping[str, tuple[float, float, float]], baseline: str) -> None:
    middle = [ratio for ratio, _, _ in ratios.values()]
    logarithmic = max(middle) > LOG_FROM * min(middle)
    start = 1.0 if logarithmic else 0.0  # on a logarithmic axis slower series go to the left
    if logarithmic:
        ax.set_xscale("log")
    for y, (name, (ratio, low, high)) in enumerate(ratios.items()):
        look = {"color": "white", "hatch": "////"} if name == baseline else {"color": COLOURS[5]}
        ax.barh(y, ratio - start, left=start, height=0.6, edgecolor=INK, linewidth=0.8, **look)
        if name != baseline:
            ax.errorbar(ratio, y, xerr=[[ratio - low], [high - ratio]], color=INK, capsize=4, linewidth=1.2)
        left = logarithmic and ratio < 1
        ax.annotate(
            "1× (baseline)" if name == baseline else f"{_ratio(ratio)}×", (low if left else high, y),
            (-5 if left else 5, 0), textcoords="offset points", va="center", ha="right" if left else "left",
        )  # fmt: skip
    ax.axvline(1, color=INK, linewidth=0.8, linestyle=":")
    ax.set_yticks(range(len(ratios)), ratios)
    ax.invert_yaxis()
    ax.margins(x=0.15)
    if not logarithmic:
        ax.set_xlim(left=0)
    ax.xaxis.set_major_formatter(FuncFormatter(_tick))


def _tick(value: float, _: int) -> str:
    """0.01, 30, 100,000: no powers of ten in a notation of their own."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"


def _ratio(value: float) -> str:
    """Three digits, and from 1,000 on no exponent but commas: 86,600."""
    if value < 999.5:
        return f"{value:.3g}"
    return f"{float(f'{value:.3g}'):,.0f}"


def times(
    ax: Axes,
    data: Data,
    *,
    emphasize: str | Sequence[str] = (),
    where: Mapping[str, Any] | None = None,
    by: str | Sequence[str] = "series",
    title: str = "",
) -> Axes:
    """Horizontal bars on a logarithmic axis: the time of each row, with its 95 % interval, and the value as text.

    data, where, by: as for speedup(), one bar a row, in the order of the rows; emphasize: the names of bars to draw
    solid, where the others are hatched. A bar begins at the decade below the shortest time, which is no zero: compare
    the ends of bars and not their lengths.

    Raises ValueError as speedup() does, and for an emphasized name without a bar.
    """
    rows = _one_row_each(_timed(data, where), by)
    chosen = {emphasize} if isinstance(emphasize, str) else set(emphasize)
    if missing := sorted(chosen - rows.keys()):
        raise ValueError(f"there is no bar {missing[0]!r} to emphasize; there is: {', '.join(rows)}")
    style(ax, title)
    start = 10.0 ** math.floor(math.log10(min(row["low_ms"] for row in rows.values())) - 0.3)
    for y, (name, row) in enumerate(rows.items()):
        look = {"color": COLOURS[0]} if name in chosen else {"color": "white", "hatch": "///"}
        ax.barh(y, row["median_ms"] - start, left=start, height=0.6, edgecolor=INK, linewidth=0.8, **look)
        whisker = [[row["median_ms"] - row["low_ms"]], [row["high_ms"] - row["median_ms"]]]
        ax.errorbar(row["median_ms"], y, xerr=whisker, color=COLOURS[1], capsize=4, linewidth=1.6)
        weight = "bold" if name in chosen else "normal"
        _beside(ax, row["high_ms"], y, _duration(row["median_ms"]), fontweight=weight)
    ax.set_xscale("log")
    ax.set_xlim(left=start)
    _name_bars(ax, list(rows))
    ax.set_xlabel("time (ms; a logarithmic axis)")
    ax.xaxis.set_major_formatter(FuncFormatter(_tick))
    return ax


def _duration(ms: float) -> str:
    """Three digits and the unit that fits: 460 ns, 46 µs, 4.6 ms, 1,200 s."""
    for unit, factor in (("s", 1e-3), ("ms", 1.0), ("µs", 1e3)):
        if ms * factor >= 1:
            return f"{_ratio(ms * factor)} {unit}"
    return f"{_ratio(ms * 1e6)} ns"


def _beside(ax: Axes, x: float, y: float, text: str, **look: Any) -> None:
    """Text to the right of the end of a bar."""
    ax.annotate(text, (x, y), (6, 0), textcoords="offset points", va="center", **{"fontsize": "small", **look})


def _name_bars(ax: Axes, names: Sequence[str]) -> None:
    ax.set_yticks(range(len(names)), names)
    ax.tick_params(axis="y", length=0)
    ax.invert_yaxis()
    ax.margins(x=0.18)


def ladder(
    ax: Axes,
    data: Data,
    *,
    floor_ms: float | None = None,
    yardstick: str = "",
    logarithmic: bool | None = None,
    where: Mapping[str, Any] | None = None,
    by: str | Sequence[str] = "series",
    title: str = "",
) -> Axes:
    """Horizontal bars from the slowest step to the fastest: the time of each, and how many times faster than the step above.

    data: a Record, or its rows (dicts with "series", "median_ms", "low_ms", "high_ms" and parameters); where, by: as for
    speedup(). floor_ms: the roofline floor in ms, a dotted line, for instance 1e3 * limits.floor(work, device).seconds;
    yardstick: the name of a bar that is no step, such as a library's: it stands hatched below the others, and says what
    part of its speed the last step has. logarithmic: the time axis; unless given, where the slowest step takes more than
    30 times as long as the shortest bar or the floor. On a logarithmic axis compare the ends of bars and not their lengths.

    Raises ValueError for no rows, rows without times or names, several rows for one bar, no step besides the yardstick,
    an unknown yardstick, or a floor that is not positive.
    """
    rows = _one_row_each(_timed(data, where), by)
    if yardstick and yardstick not in rows:
        raise ValueError(f"there is no row {yardstick!r} to measure by; there is: {', '.join(rows)}")
    if floor_ms is not None and not 0 < floor_ms < math.inf:
        raise ValueError(f"floor_ms is {floor_ms}: give the floor in ms, such as 1e3 * limits.floor(work, device).seconds")
    names = sorted((name for name in rows if name != yardstick), key=lambda name: -rows[name]["median_ms"])
    if not names:
        raise ValueError(f"there is no step besides the yardstick {yardstick!r}")
    style(ax, title)
    least = min([row["low_ms"] for row in rows.values()] + ([floor_ms] if floor_ms else []))
    if logarithmic is None:
        logarithmic = rows[names[0]]["median_ms"] > LOG_FROM * least
    if logarithmic:
        ax.set_xscale("log")
    start = 10.0 ** math.floor(math.log10(least) - 0.3) if logarithmic else 0.0
    for y, (name, text) in enumerate(_climb(rows, names, yardstick).items()):
        _draw_step(ax, y, rows[name], start, text, hatched=name == yardstick)
    if floor_ms:
        _draw_ladder_floor(ax, floor_ms, rows[names[-1]]["median_ms"])
    _name_bars(ax, [*names, *([yardstick] if yardstick else [])])
    longest = max(row["high_ms"] for row in rows.values())
    ax.set_xlim(start, start * (longest / start) ** 1.4 if logarithmic else 1.45 * longest)  # text stands beside the bars
    ax.set_xlabel(f"time (ms{'; a logarithmic axis' if logarithmic else ''}; shorter is faster)")
    ax.xaxis.set_major_formatter(FuncFormatter(_tick))
    return ax


def _climb(rows: Mapping[str, Mapping[str, Any]], names: Sequence[str], yardstick: str) -> dict[str, str]:
    """What stands beside each bar: its time, and its gain over the step before."""
    times = [rows[name]["median_ms"] for name in names]
    told = {
        name: _duration(ms) + (f"   {_ratio(before / ms)}× faster" if k else "")
        for k, (name, ms, before) in enumerate(zip(names, times, [0.0, *times], strict=False))
    }
    if yardstick:
        ms = rows[yardstick]["median_ms"]
        told[yardstick] = f"{_duration(ms)}   the last step has {_ratio(100 * ms / times[-1])} % of its speed"
    return told


def _draw_step(ax: Axes, y: int, row: Mapping[str, Any], start: float, text: str, *, hatched: bool) -> None:
    look = {"color": "white", "hatch": "////"} if hatched else {"color": COLOURS[5]}
    ax.barh(y, row["median_ms"] - start, left=start, height=0.6, edgecolor=INK, linewidth=0.8, **look)
    whisker = [[row["median_ms"] - row["low_ms"]], [row["high_ms"] - row["median_ms"]]]
    ax.errorbar(row["median_ms"], y, xerr=whisker, color=INK, capsize=4, linewidth=1.2)
    behind = {"facecolor": "white", "edgecolor": "none", "pad": 1}  # the line of the floor ends there
    _beside(ax, row["high_ms"], y, text, bbox=behind, zorder=3)


def _draw_ladder_floor(ax: Axes, floor_ms: float, fastest: float) -> None:
    label = f"{ROOFLINE} floor: {_duration(floor_ms)} (the last step has {_ratio(100 * floor_ms / fastest)} % of its speed)"
    ax.axvline(floor_ms, color=INK, linewidth=2.2, linestyle=(0, (1, 1.5)), label=label)
    above = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2, "borderpad": 0.2}
    ax.legend(handles=[ax.lines[-1]], frameon=False, fontsize="small", handlelength=3.2, **above)
    ax.set_title(ax.get_title(loc="left"), loc="left", fontsize="medium", wrap=True, pad=24)  # above the legend


def _group_look(number: int) -> dict[str, Any]:
    hatches = ("", "////", "....", "xxxx")
    return {"facecolor": (COLOURS[5], "white", PALE, "white")[number % 4], "hatch": hatches[number % 4], "edgecolor": INK}


def scaling(
    ax: Axes,
    data: Data,
    *,
    x: str = "n",
    by: str | Sequence[str] = "series",
    where: Mapping[str, Any] | None = None,
    bytes_of: Callable[[Any], float] | None = None,
    floor: Callable[[Any], float] | None = None,
    xlabel: str = "",
    title: str = "",
) -> Axes:
    """Lines, both axes logarithmic: time in ms of each series against the parameter `x`, with 95 % intervals.

    data, where, by: as for speedup(). bytes_of: bytes that a problem of size x must move; when given, the lines are
    throughputs in GB/s, bytes over time. floor: the least seconds for a problem of size x, drawn as the limit that no
    series passes, for instance

        floor=lambda n: limits.floor(limits.conv1d(n, 3), record.device).seconds

    Raises ValueError for no rows, rows without times or without `x`, or several rows for one point.
    """
    lines: dict[str, dict[Any, Mapping[str, Any]]] = {}
    for row in _timed(data, where):
        if row.get(x) is None:
            raise ValueError(f"a row of {_name(row, by)} has no {x!r}; it has: {', '.join(row)}")
        points = lines.setdefault(_name(row, by), {})
        if row[x] in points:
            raise _several(f"{_name(row, by)} at {x} = {row[x]}", row, points[row[x]])
        points[row[x]] = row
    style(ax, title)
    for number, (name, points) in enumerate(lines.items()):
        _draw_line(ax, name, number, dict(sorted(points.items())), bytes_of)
    if floor is not None:
        _draw_floor(ax, sorted({size for points in lines.values() for size in points}), floor, bytes_of)
    ax.set(xscale="log", yscale="log", xlabel=xlabel or x)
    ax.set_ylabel("time (ms)" if bytes_of is None else "throughput (GB/s)")
    ax.grid(which="major", color="#d0d0d0", linewidth=0.6)
    _legend_beside(ax)
    return ax


def _draw_line(ax: Axes, name: str, number: int, points: Mapping, bytes_of: Callable[[Any], float] | None) -> None:
    values = [_in_unit(size, row, bytes_of) for size, row in points.items()]
    middle, low, high = ([value[i] for value in values] for i in range(3))
    ax.errorbar(
        list(points), middle,
        yerr=[[m - a for m, a in zip(middle, low, strict=True)], [b - m for m, b in zip(middle, high, strict=True)]],
        label=name, color=COLOURS[number % len(COLOURS)], marker=MARKERS[number % len(MARKERS)],
        linestyle=LINES[number % len(LINES)], markersize=5, capsize=3, linewidth=1.4,
    )  # fmt: skip


def _in_unit(size, row: Mapping[str, Any], bytes_of: Callable[[Any], float] | None) -> tuple[float, float, float]:
    """Median, low and high: in ms, or in GB/s."""
    times = row["median_ms"], row["low_ms"], row["high_ms"]
    if bytes_of is None:
        return times
    median, slow, fast = (bytes_of(size) / (ms * 1e-3) / 1e9 for ms in (times[0], times[2], times[1]))
    return median, slow, fast


def _draw_floor(ax: Axes, sizes: Sequence, floor: Callable, bytes_of: Callable | None) -> None:
    seconds = [floor(size) for size in sizes]
    limit = [s * 1e3 for s in seconds] if bytes_of is None else _throughputs(sizes, seconds, bytes_of)
    label = f"{ROOFLINE} floor (nothing is faster)" if bytes_of is None else f"{ROOFLINE} limit (nothing is above)"
    ax.plot(sizes, limit, color=INK, linewidth=2.2, linestyle=(0, (1, 1.5)), label=label)


def _throughputs(sizes: Sequence, seconds: Sequence[float], bytes_of: Callable) -> list[float]:
    return [bytes_of(size) / s / 1e9 for size, s in zip(sizes, seconds, strict=True)]


def roofline(ax: Axes, points: Sequence[tuple[str, float, float]], device: Device, *, what: str = "FP32", title: str = "") -> Axes:
    """The roofline of a device, both axes logarithmic, and kernels below it: speed against arithmetic intensity.

    points: (label, intensity in flop/byte, speed in flop/s), for instance (name, work.intensity, work.flops / seconds) with
    a limits.Work; the text at a point says its part of the roof above it. device: its dram_bandwidth (bytes/s) and fp32_peak
    (flop/s) are the two roofs; they meet at the intensity from which on a kernel is bound by arithmetic.

    Raises ValueError for no points, a point that is not a label and two positive numbers, a label given twice, or a device
    without figures.
    """
    if device.dram_bandwidth is None or device.fp32_peak is None:
        raise ValueError(
            f"{device.name} ({device.kind}) has no DRAM bandwidth and FP32 peak to draw a roof from: "
            "pass the device that a record was measured on, record.device"
        )
    _require_points(points)
    style(ax, title)
    ridge = device.fp32_peak / device.dram_bandwidth
    left = min(ridge, *(x for _, x, _ in points)) / 4
    right = max(ridge, *(x for _, x, _ in points)) * 8
    lowest = min(device.dram_bandwidth * left, *(speed for _, _, speed in points))
    ax.set(xscale="log", yscale="log", xlim=(left, right), ylim=(lowest / 6e12, device.fp32_peak * 4 / 1e12))
    _draw_roofs(ax, device, ridge, left, right)
    labels = []
    for number, (label, intensity, speed) in enumerate(points):
        part = speed / min(device.fp32_peak, device.dram_bandwidth * intensity)
        look = {"marker": MARKERS[number % len(MARKERS)], "facecolors": ("white", COLOURS[0])[number % 2]}
        ax.scatter(intensity, speed / 1e12, s=36, edgecolors=COLOURS[0], zorder=4, **look)
        labels.append(_label_point(ax, f"{label}  {_ratio(100 * part)} %", intensity, speed / 1e12))
    ax.set_xlabel("arithmetic intensity (flop per byte of DRAM traffic)\npercent: of the roof above a point", fontsize="small")
    ax.set_ylabel(f"{what} speed (Tflop/s)")
    ax.grid(which="major", color="#e4e4e4", linewidth=0.6)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(FuncFormatter(_tick))
    while not _part_labels(ax, labels):  # more room below
        ax.set_ylim(bottom=ax.get_ylim()[0] / 4)
    return ax


def _require_points(points: Sequence) -> None:
    if not points:
        raise ValueError("there is nothing to draw: no points; give (label, flop/byte, flop/s) for each")
    seen: set[str] = set()
    for point in points:
        if isinstance(point, str) or len(point) != 3 or not all(0 < float(value) < math.inf for value in point[1:]):
            raise ValueError(f"{point!r} is no point: give (label, flop/byte, flop/s), both figures above 0")
        if point[0] in seen:
            raise ValueError(f"there are several points {point[0]!r}: give each a label of its own")
        seen.add(point[0])


def _draw_roofs(ax: Axes, device: Device, ridge: float, left: float, right: float) -> None:
    bandwidth, peak = device.dram_bandwidth / 1e12, device.fp32_peak / 1e12
    ax.plot([left, ridge, right], [bandwidth * left, peak, peak], color=INK, linewidth=2.2)
    ax.plot([ridge, ridge], [1e-12 * peak, peak], color="#777777", linewidth=0.9, linestyle=":")
    # Along a line where y is proportional to x the slope is y / x, on any scales; the axes turn the text as they turn the line.
    above = 1.25 * bandwidth
    turned = {"rotation": math.degrees(math.atan(above)), "rotation_mode": "anchor", "transform_rotates_text": True}
    at = ridge**0.3 * left**0.7
    ax.text(at, above * at, f"DRAM {_ratio(bandwidth)} TB/s", fontsize="small", color=INK, **turned)
    text = {"textcoords": "offset points", "fontsize": "small", "color": INK, "va": "bottom"}
    ax.annotate(f"{_ratio(peak)} Tflop/s", (right, peak), (-4, 4), ha="right", **text)
    ax.annotate(f"{_ratio(ridge)} flop/byte", (ridge, 0), (4, 4), ("data", "axes fraction"), **text)


def _label_point(ax: Axes, text: str, x: float, y: float):
    """A label to the right of a point, where the roof is never lower, with a line to the point once it is moved."""
    line = {"arrowstyle": "-", "color": "#777777", "linewidth": 0.7, "shrinkA": 0, "shrinkB": 3, "relpos": (0, 0.5)}
    look = {"textcoords": "offset points", "va": "center", "fontsize": "small", "color": INK}
    return ax.annotate(text, (x, y), (12, 0), arrowprops=line, **look)


def _part_labels(ax: Axes, labels: Sequence) -> bool:
    """Move labels down, for the roof is above them, until none overlaps another; whether they are still above the axis."""
    figure = ax.get_figure()
    figure.draw_without_rendering()  # so that the axes have their place, and texts their size
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


# ---------------------------------------------------------------------------------------------------------- timelines

TIMELINE_ROWS = ("H2D", "kernel", "D2H")
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "oo", "----", "++", "**", "||||")


def timeline(ax: Axes, spans: Sequence[Mapping[str, Any]], *, order: bool = False, title: str = "") -> Axes:
    """What ran when: rows H2D, kernel, D2H; a box for each piece of work, a colour and a hatch for each stream.

    spans: dicts with "row", "stream" (a number from 1 on), "piece", "start" and "end", such as streams.Span.to_dict() gives and
    records hold; more entries do no harm. Times are in ms, measured by events; with ``order`` they are steps of an order of work,
    and the axis says that they are no time. With "ready", a thin line leads from there to a box that begins later: the stream had
    come to the work, and something else held it up. The number of a piece stands in its box where there is room.

    Raises ValueError for no spans, an unknown row, and a time that is not finite or ends before it starts.
    """
    _require_spans(spans)
    first, last = min(span["start"] for span in spans), max(span["end"] for span in spans)
    named = (last - first) / 40  # from this width on a box has room for a number
    style(ax, title)
    for span in spans:
        _draw_span(ax, span, first, named)
    ax.set_yticks(range(len(TIMELINE_ROWS)), TIMELINE_ROWS)
    ax.set(xlim=(first - 0.01 * (last - first), last + 0.01 * (last - first)), ylim=(len(TIMELINE_ROWS) - 0.5, -0.5))
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel("step (an order of work, not a time: each counts as one step)" if order else "time since the first began (ms)")
    if order:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    streams = sorted({span["stream"] for span in spans})
    handles = [Patch(edgecolor=INK, linewidth=0.8, label=f"stream {stream}", **_stream_look(stream)) for stream in streams]
    beside = {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "borderaxespad": 0}
    ax.legend(handles=handles, frameon=False, fontsize="small", handleheight=1.4, **beside)
    return ax


def _draw_span(ax: Axes, span: Mapping[str, Any], first: float, named: float) -> None:
    y, start, width = TIMELINE_ROWS.index(span["row"]), span["start"], span["end"] - span["start"]
    if span.get("ready", start) < start:
        beside = y + 0.38 + 0.012 * (span["stream"] % 8)  # under the boxes, a stream beside the other
        ax.plot([max(first, span["ready"]), start], [beside, beside], color="#888888", linewidth=0.7, zorder=1)
    box = Rectangle((start, y - 0.36), width, 0.72, edgecolor=INK, linewidth=0.8, zorder=2, **_stream_look(span["stream"]))
    ax.add_patch(box)
    if width >= named:
        behind = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        middle = start + width / 2
        ax.text(middle, y, str(span["piece"]), ha="center", va="center", fontsize="x-small", bbox=behind, zorder=3)


def _stream_look(stream: int) -> dict[str, Any]:
    """Light colours under dark hatches: ten streams differ in grey, too."""
    return {"facecolor": LIGHT[(stream - 1) % len(LIGHT)], "hatch": HATCHES[(stream - 1) % len(HATCHES)]}


def _require_spans(spans: Sequence[Mapping[str, Any]]) -> None:
    if not spans:
        raise ValueError("there are no spans to draw")
    for span in spans:
        if span["row"] not in TIMELINE_ROWS:
            raise ValueError(f"a timeline has the rows {', '.join(TIMELINE_ROWS)}; a span has {span['row']!r}")
        if not (math.isfinite(span["start"]) and math.isfinite(span["end"]) and span["start"] <= span["end"]):
            hint = " (the simulator has no time: draw its order of work, with order=True)" if math.isnan(span["end"]) else ""
            raise ValueError(f"piece {span['piece']} is in {span['row']} from {span['start']} to {span['end']}{hint}")


def _timed(data: Data, where: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """The rows of `data` that have what `where` says; ValueError when there are none, or one has no time."""
    rows = list(data.rows() if hasattr(data, "rows") else data)
    if not rows:
        raise ValueError("there is nothing to draw: the record has no rows")
    chosen = [row for row in rows if all(row.get(key) == value for key, value in (where or {}).items())]
    if not chosen:
        there = "; ".join(f"{key}: {sorted({str(row.get(key)) for row in rows})}" for key in where)
        raise ValueError(f"no row has {dict(where)}. In the record there is {there}")
    for row in chosen:
        _require_time(row)
    return chosen


def _require_time(row: Mapping[str, Any]) -> None:
    """ValueError for a row without a time above 0 and its interval."""
    times = {key: row.get(key) for key in ("low_ms", "median_ms", "high_ms")}
    if times["median_ms"] is None:
        raise ValueError(f"the row {dict(row)} has no time (median_ms); leave it out by `where`")
    if missing := [key for key, value in times.items() if value is None]:
        raise ValueError(f"the row {dict(row)} has a median_ms and no {missing[0]}: a time comes with its interval")
    low, median, high = times.values()
    if not 0 < low <= median <= high < math.inf:
        raise ValueError(f"the row {dict(row)} has times that cannot be: 0 < low_ms <= median_ms <= high_ms must hold")


def _name(row: Mapping[str, Any], by: str | Sequence[str]) -> str:
    columns = (by,) if isinstance(by, str) else by
    if all(row.get(column) is None for column in columns):
        raise ValueError(f"a row has no {columns[0]!r} to name it by; it has: {', '.join(row)}")
    return ", ".join(str(row.get(column)) for column in columns)


def _one_row_each(rows: Sequence[Mapping[str, Any]], by: str | Sequence[str]) -> dict[str, Mapping[str, Any]]:
    named: dict[str, Mapping[str, Any]] = {}
    for row in rows:
        name = _name(row, by)
        if name in named:
            raise _several(name, row, named[name])
        named[name] = row
    return named


def _several(name: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> ValueError:
    times = {"median_ms", "low_ms", "high_ms", "samples"}
    apart = [key for key in one if key not in times and one[key] != other.get(key)]
    told = f"they differ in {', '.join(apart)}" if apart else "they have the same parameters"
    return ValueError(f"there are several rows for {name}; {told}. Choose by `where`, or name more columns in `by`")


def _legend_beside(ax: Axes) -> None:
    """To the right of the axes, where it hides no data; in the order in which things were drawn."""
    handles, labels = ax.get_legend_handles_labels()
    order = sorted(range(len(labels)), key=lambda i: labels[i].startswith(ROOFLINE))  # a limit comes after what it limits
    ax.legend(
        [handles[i] for i in order], [labels[i] for i in order], loc="upper left", bbox_to_anchor=(1.01, 1),
        frameon=False, fontsize="small", handlelength=3.2,
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------------------ memory


def access_map(
    ax: Axes,
    profile: Profile,
    *,
    array: str,
    kind: str = "load",
    space: str = "global",
    first: int | None = None,
    requests: Sequence[int] | None = None,
    title: str = "",
) -> Axes:
    """Which bytes of `array` each lane of the watched warp touches, request by request, and which sectors that moves.

    Down: lanes 0 to 31. Across: bytes from the start of the array. Each band is a sector of 32 bytes that at least one
    request touches; each kind of mark is one request (one instruction of the whole warp), in the order in which the
    warp made them. A line through a mark is an access of more than 4 bytes. In shared and constant memory, which have
    no sectors, a band is a word of 4 bytes.

    kind: "load", "store" or "atomic"; first: draw the first so many requests only; requests: draw those of these
    numbers, counted from 1 as the legend counts them.

    Raises ValueError when the watched warp made no such request, or fewer than asked for.
    """
    made = _requests_of(profile, array, kind, space)
    chosen = _chosen(made, first, requests, f"{space} {kind}s of {array}")
    unit, name = (SECTOR_BYTES, "sector") if space == "global" else (WORD_BYTES, "word")
    style(ax, title)
    pieces = sorted({piece for number in chosen for piece in _pieces(made[number - 1], unit)})
    _draw_pieces(ax, pieces, unit)
    for place, number in enumerate(chosen):
        _draw_request(ax, place, number, made[number - 1], chosen[-1], unit)
    ax.set_ylim(WARP - 0.5, -0.5)
    ax.set_yticks([0, 8, 16, 24, 31])
    ax.set_ylabel("lane of the warp")
    ax.set_xlabel(f"byte of {array} (a band: one {name} of {unit} bytes; {len(pieces)} touched)")
    _legend_beside(ax)
    return ax


def _requests_of(profile: Profile, array: str, kind: str, space: str) -> list:
    """The watched warp's requests of one kind; ValueError, naming what there is, where it made none."""
    found = [r for r in profile.requests if (r.array, r.kind, r.space) == (array, kind, space)]
    if not found:
        made = sorted({f"{r.kind} of {r.array} ({r.space})" for r in profile.requests})
        raise ValueError(f"the watched warp made no {space} {kind} of {array!r}; it made: {', '.join(made) or 'none'}")
    return found


def _chosen(made: Sequence, first: int | None, requests: Sequence[int] | None, what: str) -> list[int]:
    """Numbers of requests, from 1."""
    if first is not None and requests is not None:
        raise ValueError("give first= or requests=, not both")
    chosen = list(requests) if requests is not None else list(range(1, (len(made) if first is None else min(first, len(made))) + 1))
    if not chosen or not all(1 <= number <= len(made) for number in chosen):
        asked = f"requests={list(requests)}" if requests is not None else f"first={first}"
        raise ValueError(f"{asked}: the watched warp made {len(made)} {what}, numbered from 1")
    return sorted(set(chosen))


def _pieces(request, unit: int) -> set[int]:
    """The pieces of `unit` bytes that the lanes touch: sectors, or words."""
    return {
        piece for offset in request.offsets for piece in range(offset // unit, (offset + request.size - 1) // unit + 1)
    }  # fmt: skip


def _draw_pieces(ax: Axes, pieces: Sequence[int], unit: int) -> None:
    first, last = pieces[0] * unit, (pieces[-1] + 1) * unit
    for piece in pieces:
        ax.axvspan(piece * unit, (piece + 1) * unit, facecolor=PALE, edgecolor="#9aa5b1", linewidth=0.6)
    margin = max(unit / 4, (last - first) * 0.02)
    step = unit * 2 ** max(0, math.ceil(math.log2((last - first) / unit / 8)))  # at most nine labels, all on boundaries
    ax.set_xticks(range(first - first % step, last + 1, step))
    ax.set_xlim(first - margin, last + margin)


def _draw_request(ax: Axes, place: int, number: int, request, last: int, unit: int) -> None:
    told_apart = place < MOST_REQUESTS
    moved, name = len(_pieces(request, unit)), "sector" if unit == SECTOR_BYTES else "different word"
    label = f"request {number}, line {request.line}: {moved} {name}{'s' * (moved != 1)}"
    if not told_apart:
        label = f"the others, to request {last}" if place == MOST_REQUESTS else None
    colour = COLOURS[place] if told_apart else "#777777"
    if request.size > 4:
        ends = [offset + request.size for offset in request.offsets]
        ax.hlines(request.lanes, request.offsets, ends, color=colour, linewidth=1.5)
    middle = [offset + request.size / 2 for offset in request.offsets]
    hollow = told_apart and place % 2 == 1
    mark = {"marker": MARKERS[place], "s": 16} if told_apart else {"marker": "o", "s": 3}
    ax.scatter(
        middle,
        request.lanes,
        label=label,
        zorder=3,
        facecolors="white" if hollow else colour,
        edgecolors=colour,
        **mark,
    )


def bank_conflicts(
    ax: Axes, profile: Profile, *, array: str, kind: str = "load", request: int | None = None, title: str = ""
) -> Axes:
    """Which bank of shared memory serves each lane of one request of the watched warp, and in which wavefront.

    Down: lanes 0 to 31. Across: the 32 banks, counted from the first byte of `array`; a bank is one word of 4 bytes
    wide and gives one word, to any number of lanes, in a wavefront. The number in a cell is the wavefront that serves
    the lane there, and its shade darkens with it. A frame round a bank says that lanes want several words of it: a
    conflict. Lanes that want the same word share a wavefront. Accesses of 8 bytes go in half warps, those of 16 in
    quarters, one after another.

    request: its number among those of `array` and `kind`, from 1; unless given, the first of those that take the most
    wavefronts. Raises ValueError when the watched warp made no such request.
    """
    made = _requests_of(profile, array, kind, "shared")
    number = max(range(1, len(made) + 1), key=lambda n: _wavefronts(made[n - 1])[1]) if request is None else request
    _chosen(made, None, [number], f"shared {kind}s of {array}")
    cells, wavefronts, least = _wavefronts(made[number - 1])
    style(ax, title)
    _draw_wavefronts(ax, cells, wavefronts)
    several = {bank: count for bank, count in _words_in_banks(made[number - 1]).items() if count > 1}
    _frame_banks(ax, several)
    ticks = {lane: str(lane) for lane in (0, 8, 16, 24, 31)}
    ax.set_yticks([*([_HEAD] if several else []), *ticks], [*(["words of\nthe bank"] if several else []), *ticks.values()])
    ax.set(xlim=(-0.6, BANKS - 0.4), ylim=(WARP - 0.4, _HEAD - 1.2 if several else -0.6), xticks=list(ticks))
    ax.set_ylabel("lane of the warp")
    told = f"{wavefronts} wavefront{'s' * (wavefronts != 1)}, {wavefronts - least} for conflicts"
    ax.set_xlabel(f"bank of 4 bytes\n{kind} of {array}, line {made[number - 1].line}: {told}", fontsize="small")
    return ax


_HEAD = -2.3  # above lane 0: how many words of a bank the lanes want


def _draw_wavefronts(ax: Axes, cells: Mapping[tuple[int, int], int], wavefronts: int) -> None:
    """Shade and number of the cell of each (lane, bank)."""
    ax.vlines([bank + 0.5 for bank in range(-1, BANKS)], -0.5, WARP - 0.5, color="#dddddd", linewidth=0.5, zorder=0)
    for (lane, bank), wavefront in cells.items():
        shade = 0.88 - 0.7 * (wavefront - 1) / max(wavefronts - 1, 1)
        look = {"facecolor": (shade, shade, shade), "edgecolor": "#555555", "linewidth": 0.4}
        ax.add_patch(Rectangle((bank - 0.5, lane - 0.5), 1, 1, **look))
        colour = INK if shade > 0.55 else "white"
        ax.text(bank, lane, str(wavefront), ha="center", va="center_baseline", fontsize=6, color=colour, clip_on=True)


def _frame_banks(ax: Axes, words: Mapping[int, int]) -> None:
    for bank, count in words.items():
        ax.add_patch(Rectangle((bank - 0.5, -0.5), 1, WARP, fill=False, edgecolor=COLOURS[1], linewidth=1.6, zorder=3))
        ax.text(bank, _HEAD, str(count), ha="center", va="center_baseline", fontsize=7, fontweight="bold", color=INK)


def _passes(request) -> list[list[tuple[int, int]]]:
    """(lane, offset) in the groups that are served together: the warp, halves of it for 8 bytes, quarters for 16."""
    lanes = WARP if request.size <= 4 else WARP * 4 // request.size
    groups: dict[int, list[tuple[int, int]]] = {}
    for lane, offset in zip(request.lanes, request.offsets, strict=True):
        groups.setdefault(lane // lanes, []).append((lane, offset))
    return [groups[key] for key in sorted(groups)]


def _wavefronts(request) -> tuple[dict[tuple[int, int], int], int, int]:
    """The wavefront (from 1) of each (lane, bank), how many there are, and how many there must be."""
    cells: dict[tuple[int, int], int] = {}
    before = 0
    groups = _passes(request)
    for group in groups:
        queues: dict[int, list[int]] = {}  # the different words of each bank, in the order of the lanes
        for lane, offset in group:
            for word in range(offset // WORD_BYTES, (offset + request.size - 1) // WORD_BYTES + 1):
                queue = queues.setdefault(word % BANKS, [])
                if word not in queue:
                    queue.append(word)
                cells[lane, word % BANKS] = before + queue.index(word) + 1
        before += max(map(len, queues.values()))
    return cells, before, len(groups)


def _words_in_banks(request) -> dict[int, int]:
    """How many different words of a bank lanes served together want, at most."""
    most: dict[int, int] = {}
    for group in _passes(request):
        words = {word for _, offset in group for word in range(offset // WORD_BYTES, (offset + request.size - 1) // WORD_BYTES + 1)}
        for bank in range(BANKS):
            count = sum(word % BANKS == bank for word in words)
            if count:
                most[bank] = max(most.get(bank, 0), count)
    return most




def compare(
    ax: Axes,
    before: Profile,
    after: Profile,
    *,
    counters: Sequence[str] = (),
    names: tuple[str, str] = ("before", "after"),
    title: str = "",
) -> Axes:
    """Two profiles side by side: a pair of bars for each counter, in percent of the longer one; the counts stand beside.

    counters: names of Profile.counters(), such as "global_load_sectors"; unless given, those that differ, or all that are
    not 0 where none does. Beside the second count stands what became of the first: "÷ 4" is a quarter, "× 3" three times
    as many, "new" some where there were none.

    Raises ValueError for a counter that profiles do not have, or nothing to compare.
    """
    both = before.counters(), after.counters()
    if unknown := [name for name in counters if name not in both[0]]:
        raise ValueError(f"no counter {unknown[0]!r}; there is: {', '.join(both[0])}")
    shown = list(counters) or [n for n in both[0] if both[0][n] != both[1].get(n)] or [n for n in both[0] if both[0][n]]
    if not shown:
        raise ValueError(f"neither {before.kernel} nor {after.kernel} touched memory: there is nothing to compare")
    style(ax)
    ax.set_title(title, loc="left", fontsize="medium", wrap=True, pad=24)  # the legend stands between title and bars
    fontsize = "small" if len(shown) <= 8 else "x-small"
    for place, name in enumerate(shown):
        _draw_pair(ax, place, both[0][name], both[1][name], fontsize)
    _name_bars(ax, [name.replace("_", " ") for name in shown])
    ax.tick_params(axis="y", labelsize=fontsize)
    ax.set(xlim=(0, 132), ylim=(len(shown) - 0.5, -0.5), xticks=range(0, 101, 25))
    ax.set_xlabel("percent of the longer bar of each pair", fontsize="small")
    handles = [Patch(label=name, **_group_look(1 - k)) for k, name in enumerate(names)]
    above = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.3, "borderpad": 0.2}
    ax.legend(handles=handles, ncols=2, frameon=False, fontsize="small", **above)
    return ax


def _draw_pair(ax: Axes, place: int, before: float, after: float, fontsize: str) -> None:
    longest = max(before, after) or 1
    for value, shift, look, text in ((before, -0.2, 1, ""), (after, 0.2, 0, f"   {_change(before, after)}")):
        ax.barh(place + shift, 100 * value / longest, height=0.36, linewidth=0.8, **_group_look(look))
        _beside(ax, 100 * value / longest, place + shift, f"{value:,}{text}", fontsize=fontsize)


def _change(before: float, after: float) -> str:
    """What became of a count: "÷ 4", "× 3", "same", "new" and "none"."""
    if before == after:
        return "same"
    if not before or not after:
        return "new" if after else "none"
    return f"÷ {_ratio(before / after)}" if after < before else f"× {_ratio(after / before)}"


# ------------------------------------------------------------------------------------------------------- launches


def halo(ax: Axes, n: int, tile_width: int, radius: int, *, block: int = 0, title: str = "") -> Axes:
    """The cells of an array of `n`, and those that one block stages in shared memory.

    Above: the array, cut into tiles of `tile_width`, with `radius` ghost cells at each end. Below: the shared tile of
    `block`, tile_width + 2 radius cells. Shaded cells are the tile's own, hatched cells its halo (a neighbour's cells),
    dashed cells are ghosts, outside the array: they count as 0.

    Raises ValueError for sizes below 1 (radius: 0), more than 64 cells, or a block that has no tile in the array.
    """
    tiles = _require_halo(n, tile_width, radius, block)
    style(ax, title)
    first = block * tile_width
    staged = range(first - radius, first + tile_width + radius)

    def look(cell: int) -> str:
        if not 0 <= cell < n:
            return "ghost"
        if cell not in staged:
            return "plain"
        return "own" if first <= cell < first + tile_width else "halo"

    for cell in range(-radius, n + radius):
        _draw_cell(ax, cell, 2.0, str(cell) if 0 <= cell < n else "", look(cell))
    for tile in range(tiles):
        start, end = tile * tile_width, min((tile + 1) * tile_width, n)
        _draw_bracket(ax, start, end, 3.15, f"tile {tile}", strong=tile == block)
    for index, cell in enumerate(staged):
        _draw_cell(ax, cell, 0.0, str(index), look(cell))
    for edge in (staged.start, staged.stop):
        ax.plot([edge, edge], [1.0, 2.0], color="#777777", linewidth=0.8, linestyle=":")
    _label_rows(ax, {2.5: "array (cell)", 0.5: f"shared tile of\nblock {block} (index)"})
    ax.set_xlim(-radius - 0.3, max(n + radius, staged.stop) + 0.3)
    ax.set_ylim(-0.2, 4.2)
    _legend_below(ax, {"own": "own cells of the tile", "halo": "halo: a neighbour's cells", "ghost": "ghosts: count as 0"})
    return ax


def _require_halo(n: int, tile_width: int, radius: int, block: int) -> int:
    """The number of tiles; ValueError for a picture that cannot be drawn."""
    if n < 1 or tile_width < 1 or radius < 0:
        raise ValueError(f"n = {n}, tile_width = {tile_width}, radius = {radius}: give at least 1, 1 and 0")
    cells = max(n, tile_width) + 2 * radius
    if cells > MOST_CELLS:
        raise ValueError(f"a picture shows at most {MOST_CELLS} cells, and this has {cells}: draw a smaller example")
    tiles = -(-n // tile_width)
    if not 0 <= block < tiles:
        raise ValueError(f"block {block} has no tile: {n} cells in tiles of {tile_width} make blocks 0 to {tiles - 1}")
    return tiles


# Looks of a cell or a block, as properties of a patch.
_CELLS = {
    "plain": {"facecolor": "white", "edgecolor": INK},
    "own": {"facecolor": "#bcd3ee", "edgecolor": INK},
    "halo": {"facecolor": "#f3d9c8", "edgecolor": INK, "hatch": "////"},
    "ghost": {"facecolor": "white", "edgecolor": "#666666", "linestyle": "--"},
}


def _draw_cell(ax: Axes, x: float, y: float, text: str, look: str, linewidth: float = 0.9) -> None:
    ax.add_patch(Rectangle((x, y), 1, 1, linewidth=linewidth, **_CELLS[look]))
    if not text:
        return
    behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.8} if look == "halo" else None
    ax.text(x + 0.5, y + 0.5, text, ha="center", va="center", fontsize="x-small", color=INK, bbox=behind)


def _draw_bracket(ax: Axes, start: float, end: float, y: float, text: str, *, strong: bool) -> None:
    width = 2.0 if strong else 0.8
    xs = [start + 0.08, start + 0.08, end - 0.08, end - 0.08]
    ax.plot(xs, [y, y + 0.2, y + 0.2, y], color=INK, linewidth=width)
    weight = "bold" if strong else "normal"
    ax.text((start + end) / 2, y + 0.3, text, ha="center", va="bottom", fontsize="small", fontweight=weight, color=INK)


def _label_rows(ax: Axes, labels: Mapping[float, str]) -> None:
    ax.set_yticks(list(labels), labels.values())
    ax.tick_params(left=False)
    ax.xaxis.set_major_locator(NullLocator())
    ax.spines[:].set_visible(False)


def _legend_below(ax: Axes, looks: Mapping[str, str]) -> None:
    handles = [Patch(label=label, **_CELLS[look]) for look, label in looks.items()]
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, 0)}
    ax.legend(handles=handles, ncols=len(handles), frameon=False, fontsize="small", **below)


def grid_picture(ax: Axes, grid: Sequence[int], block: Sequence[int], *, chosen: Sequence[int] = (0, 0), title: str = "") -> Axes:
    """A launch: the grid of blocks on the left, the threads of the block `chosen` on the right, its warps told apart.

    grid, block: (x, y) or (x, y, z) with z = 1; x goes to the right and y down, as threadIdx and blockIdx count. A grid
    of more than 8 blocks along an axis, and a block of more than 64 threads, are cut, and "..." says so.

    Raises ValueError for sizes below 1, a z above 1, a block of more than 1,024 threads, or a block outside the grid.
    """
    columns, rows = _two_axes(grid, "grid")
    width, height = _two_axes(block, "block")
    if width * height > 1024:
        raise ValueError(f"a block of {width} x {height} is {width * height:,} threads; CUDA allows 1,024")
    if not (0 <= chosen[0] < min(columns, MOST_BLOCKS) and 0 <= chosen[1] < min(rows, MOST_BLOCKS)):
        raise ValueError(f"block {tuple(chosen)} is not among the blocks drawn, {(columns, rows)} cut to {MOST_BLOCKS}")
    style(ax, title)
    grid_corners, grid_bottom = _draw_grid(ax, columns, rows, chosen)
    thread_corners, thread_bottom = _draw_threads(ax, width, height, chosen)
    for (x, y), (to_x, to_y) in zip(grid_corners, thread_corners, strict=True):
        ax.plot([x, to_x], [y, to_y], color="#777777", linewidth=0.8, linestyle=":", zorder=0.5)
    ax.set_xlim(-0.02, 2.32)
    ax.set_ylim(max(grid_bottom, thread_bottom, 0.5) + 0.02, -0.14)
    ax.set_axis_off()
    return ax


def _two_axes(shape: Sequence[int], name: str) -> tuple[int, int]:
    x, y, z = (*shape, 1, 1)[:3]
    if min(x, y, z) < 1:
        raise ValueError(f"{name} is {tuple(shape)}: every axis has at least 1")
    if z != 1:
        raise ValueError(f"{name} is {tuple(shape)}: the picture is flat; give a z of 1")
    return x, y


_THREADS_LEFT = 1.3  # the grid takes x from 0 to 1, the threads from here to 2.3


_Corners = tuple[tuple[float, float], tuple[float, float]]


def _draw_grid(ax: Axes, columns: int, rows: int, chosen: Sequence[int]) -> tuple[_Corners, float]:
    """Draws the blocks; returns the right corners of the chosen one, and the lowest y."""
    across, down = min(columns, MOST_BLOCKS), min(rows, MOST_BLOCKS)
    width, height = 0.92 / max(across, 3), min(0.28, 0.92 / down)
    for j in range(down):
        for i in range(across):
            look = "halo" if (i, j) == tuple(chosen[:2]) else "plain"
            _draw_box(ax, (i * width, j * height, width * 0.92, height * 0.88), f"{i},{j}", **_CELLS[look])
    if across < columns:
        ax.text(across * width + 0.01, 0.46 * height, "...", va="center", fontsize="large")
    if down < rows:
        ax.text(0.46 * width, down * height + 0.04, "...", ha="center", fontsize="large", rotation=90)
    ax.text(0, -0.05, f"grid: {columns} x {rows} = {columns * rows:,} block{'s' * (columns * rows > 1)}", va="bottom")
    edge, top = (chosen[0] + 0.92) * width, chosen[1] * height
    return ((edge, top), (edge, top + 0.88 * height)), down * height + 0.08 * (down < rows)


def _draw_threads(ax: Axes, width: int, height: int, chosen: Sequence[int]) -> tuple[_Corners, float]:
    """Draws the threads, a flat block folded into rows of one warp; returns its left corners, and the lowest y."""
    threads = width * height
    across, down = (width, height) if height > 1 else (min(width, WARP), -(-width // WARP))
    drawn, shown = min(down, MOST_THREADS), min(across, MOST_THREADS)
    w, h = 1.0 / max(shown, 8), min(0.11, 0.9 / drawn)
    every = max(1, -(-threads // WARP // 8))  # warps with a label
    for row in range(drawn):
        for column in range(min(shown, threads - row * across)):
            thread = row * across + column
            text = str(thread) if w > 0.06 and h > 0.07 else ""
            box = (_THREADS_LEFT + column * w, row * h, w * 0.9, h * 0.88)
            _draw_box(ax, box, text, facecolor=_WARP_SHADES[thread // WARP % 4], edgecolor=INK, linewidth=0.5)
        warp, rest = divmod(row * across, WARP)
        if rest == 0 and warp % every == 0:
            ax.text(_THREADS_LEFT - 0.015, (row + 0.44) * h, f"warp {warp}", ha="right", va="center", fontsize="x-small")
    warps = -(-threads // WARP)
    name = f"block ({chosen[0]}, {chosen[1]}): {width} x {height} = {threads:,} threads, {warps} warp{'s' * (warps > 1)}"
    ax.text(_THREADS_LEFT, -0.05, name, va="bottom")
    cut = "..." if (drawn, shown) != (down, across) else ""
    ax.text(
        _THREADS_LEFT,
        drawn * h + 0.02,
        f"{cut}shade: the 32 threads of a warp, along x first",
        fontsize="small",
        va="top",
    )
    edge = _THREADS_LEFT - 0.14  # left of the labels
    return ((edge, 0.0), (edge, drawn * h)), drawn * h + 0.12


_WARP_SHADES = ("#bcd3ee", "#ffffff", "#8fb0d8", PALE)


def _draw_box(ax: Axes, box: tuple[float, float, float, float], text: str, **look: Any) -> None:
    x, y, width, height = box
    ax.add_patch(Rectangle((x, y), width, height, **look))
    behind = {"facecolor": "white", "edgecolor": "none", "pad": 0.6} if "hatch" in look else None
    ax.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize="x-small", color=INK, bbox=behind)
