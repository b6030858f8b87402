"""Pictures of measured times: speedups, times, ladders of kernels, scaling."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from helpers.plotting.styles import (
    COLOURS,
    INK,
    LINES,
    ROOFLINE,
    Look,
    Measured,
    PlainLogFormatter,
    bar,
    beside,
    dot,
    duration_text,
    interval,
    legend_beside,
    name_bars,
    plain_ticks,
    ratio_text,
    series,
    spread,
    style,
    subplots,
    tick_text,
    whisker,
)

Data = Measured | Sequence[Mapping[str, Any]]

FEW_POWERS = 1_000  # a logarithmic axis is short below this ratio of its ends
LOG_FROM = 20  # the axis is logarithmic above this ratio of the largest to the smallest value


def speedup(
    ax: Axes,
    data: Data,
    *,
    baseline: str,
    title: str = "",
) -> Axes:
    """Draw horizontal bars: how many times faster than `baseline` each series is.

    The baseline has a bar of its own, at 1. If the values differ by more than a factor of 20, the
    axis is logarithmic, and dots take the place of bars. data: a Record, or its rows (dicts with
    "series", "median_ms", "low_ms", "high_ms" and parameters), one for each bar.

    The speedup is the baseline's median time divided by the series' median time. Its whisker goes
    from the fastest baseline over the slowest series to the slowest baseline over the fastest
    series. It is wider than the interval of a ratio, which timing.compare measures.

    Raises ValueError for no rows, rows without times, several rows for one bar, and a baseline
    without a row.
    """
    rows = _one_row_each(_timed(data))
    if baseline not in rows:
        raise ValueError(
            f"there is no series {baseline!r} to compare with; there is: {', '.join(rows)}"
        )
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
    how = "a logarithmic axis; right" if ax.get_xscale() == "log" else "longer"
    ax.set_xlabel(f"speedup over {baseline} (times; {how} is faster)")
    return ax


def _draw_bars(ax: Axes, ratios: Mapping[str, tuple[float, float, float]], baseline: str) -> None:
    middle = [ratio for ratio, _, _ in ratios.values()]
    logarithmic = max(middle) > LOG_FROM * min(middle)
    if logarithmic:
        ax.set_xscale("log")
    for y, (name, (ratio, low, high)) in enumerate(ratios.items()):
        hollow = name == baseline
        if logarithmic:
            dot(ax, y, ratio, hollow=hollow)
        else:
            bar(ax, y, ratio, "aside" if hollow else "ours")
        if not hollow:
            whisker(ax, y, low, ratio, high)
        text = "1× (baseline)" if hollow else f"{ratio_text(ratio)}×"
        beside(ax, high, y, text, points=8)
    ax.axvline(1, color=INK, linewidth=0.8, linestyle=":")
    ax.set_yticks(range(len(ratios)), ratios)
    ax.invert_yaxis()
    ax.margins(x=0.15)
    if not logarithmic:
        ax.set_xlim(left=0)
    ax.xaxis.set_major_formatter(FuncFormatter(tick_text))


def times(
    ax: Axes,
    data: Data,
    *,
    emphasize: str | Sequence[str] = (),
    by: str = "series",
    title: str = "",
) -> Axes:
    """Draw dots on a logarithmic axis: the time of each row, with its 95 % interval.

    data: as for speedup(), one dot a row, in the order of the rows. by: the column that names a
    dot. emphasize: the names of the dots to fill, with their times in bold; the others are hollow.

    Raises ValueError as speedup() does, and for an emphasized name without a row.
    """
    rows = _one_row_each(_timed(data), by)
    chosen = {emphasize} if isinstance(emphasize, str) else set(emphasize)
    if missing := sorted(chosen - rows.keys()):
        raise ValueError(
            f"there is no row {missing[0]!r} to emphasize; there is: {', '.join(rows)}"
        )
    style(ax, title)
    ax.set_xscale("log")
    for y, (name, row) in enumerate(rows.items()):
        dot(ax, y, row["median_ms"], hollow=name not in chosen)
        whisker(ax, y, *interval(row), color=COLOURS[1], linewidth=1.6)
        weight = "bold" if name in chosen else "normal"
        text = duration_text(row["median_ms"])
        beside(ax, row["high_ms"], y, text, points=9, fontweight=weight, zorder=3)
    name_bars(ax, list(rows))
    ax.set_xlabel("time (ms; a logarithmic axis)")
    low, high = ax.get_xlim()
    # Over a few powers of ten there is room for labels at 1, 2 and 5; in between there is none.
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < FEW_POWERS * low else (1,)))
    ax.xaxis.set_major_formatter(FuncFormatter(tick_text))
    ax.xaxis.set_minor_formatter(NullFormatter())
    return ax


def ladder(
    ax: Axes,
    data: Data,
    *,
    floor_ms: float | None = None,
    yardstick: str = "",
    order: Sequence[str] = (),
    yours: Collection[str] = (),
    missing: Sequence[str] = (),
    title: str = "",
) -> Axes:
    """Draw the steps of a ladder: their times, and the gain of each over the one above it.

    They are bars from zero. If the slowest step takes more than 30 times as long as the shortest
    one or the floor, the axis is logarithmic, and dots take the place of bars.

    data: as for speedup(). order: the names of the steps, from the first to the last; the others
    stand below them, without a gain. Without it, all are steps, from the slowest to the fastest.
    floor_ms: the roofline floor in ms, drawn as a dotted line, for instance
    1e3 * limits.floor(work, device).seconds. yardstick: the name of a bar that is no step, such as
    a library's. It stands below the others, in another colour; its text says what percent of its
    speed the last step reaches. yours: the names of the student's steps. missing: names without a
    time, which stand below all bars and have none.

    Raises ValueError for no rows, rows without times or names, several rows for one bar, no step
    besides the yardstick, an unknown name, and a floor that is not positive.
    """
    rows = _one_row_each(_timed(data))
    named = {name: "step" for name in order} | ({yardstick: "yardstick"} if yardstick else {})
    for name, role in named.items():
        if name not in rows:
            raise ValueError(
                f"there is no row {name!r} for the {role}; choose from {', '.join(rows)}"
            )
    if floor_ms is not None and not 0 < floor_ms < math.inf:
        raise ValueError(
            f"floor_ms is {floor_ms}: give the floor in ms, above 0, such as "
            "1e3 * limits.floor(work, device).seconds"
        )
    rest = sorted(
        (name for name in rows if name not in {yardstick, *order}),
        key=lambda name: -rows[name]["median_ms"],
    )
    steps = list(order) or rest
    names = list(dict.fromkeys([*steps, *rest]))
    if not names:
        raise ValueError(
            f"there is no step besides the yardstick {yardstick!r}: give a row for each step"
        )
    style(ax, title)
    least = min([row["low_ms"] for row in rows.values()] + ([floor_ms] if floor_ms else []))
    logarithmic = max(rows[name]["median_ms"] for name in names) > LOG_FROM * least
    if logarithmic:
        ax.set_xscale("log")
    start = 10.0 ** math.floor(math.log10(least) - 0.3) if logarithmic else 0.0
    for y, (name, text) in enumerate(_climb(rows, steps, rest, yardstick).items()):
        kind = "library" if name == yardstick else "yours" if name in yours else "ours"
        _draw_step(ax, y, rows[name], text, kind, as_dot=logarithmic)
    if floor_ms:
        _draw_ladder_floor(ax, floor_ms, rows[steps[-1]]["median_ms"])
    name_bars(ax, [*names, *([yardstick] if yardstick else []), *missing])
    longest = max(row["high_ms"] for row in rows.values())
    # The text beside the bars needs room.
    ax.set_xlim(start, start * (longest / start) ** 1.4 if logarithmic else 1.45 * longest)
    ax.set_xlabel(f"time (ms{'; a logarithmic axis' if logarithmic else ''}; shorter is faster)")
    ax.xaxis.set_major_formatter(FuncFormatter(tick_text))
    return ax


def _climb(
    rows: Mapping[str, Mapping[str, Any]],
    steps: Sequence[str],
    rest: Sequence[str],
    yardstick: str,
) -> dict[str, str]:
    """Return the text beside each bar: its time, and of a step its gain over the one before."""
    times = [rows[name]["median_ms"] for name in steps]
    texts = {
        name: duration_text(ms) + (f"   {ratio_text(before / ms)}× as fast as above" if k else "")
        for k, (name, ms, before) in enumerate(zip(steps, times, [0.0, *times], strict=False))
    }
    for name in rest:
        texts.setdefault(name, duration_text(rows[name]["median_ms"]))
    if yardstick:
        ms = rows[yardstick]["median_ms"]
        texts[yardstick] = (
            f"{duration_text(ms)}   the last step has "
            f"{ratio_text(100 * ms / times[-1])} % of its speed"
        )
    return texts


def _draw_step(
    ax: Axes, y: int, row: Mapping[str, Any], text: str, kind: str, *, as_dot: bool
) -> None:
    if as_dot:
        dot(ax, y, row["median_ms"], hollow=kind != "ours")
    else:
        bar(ax, y, row["median_ms"], kind)
    whisker(ax, y, *interval(row))
    beside(ax, row["high_ms"], y, text, points=10 if as_dot else 6, zorder=3)


def _draw_ladder_floor(ax: Axes, floor_ms: float, fastest: float) -> None:
    label = (
        f"{ROOFLINE} floor: {duration_text(floor_ms)} (the last step has "
        f"{ratio_text(100 * floor_ms / fastest)} % of its speed)"
    )
    ax.axvline(floor_ms, color=INK, linewidth=2.2, linestyle=(0, (1, 1.5)), label=label)
    above: Look = {
        "loc": "lower left",
        "bbox_to_anchor": (0, 1),
        "borderaxespad": 0.2,
        "borderpad": 0.2,
    }
    ax.legend(handles=[ax.lines[-1]], frameon=False, fontsize="small", handlelength=3.2, **above)
    # The title stands above the legend.
    ax.set_title(ax.get_title(loc="left"), loc="left", fontsize="medium", wrap=True, pad=24)


def scaling(
    ax: Axes,
    data: Data,
    *,
    x: str = "n",
    by: str = "series",
    floor: Callable[[Any], float] | None = None,
    xlabel: str = "",
    title: str = "",
) -> Axes:
    """Draw lines on logarithmic axes: the time of each series in ms against the parameter `x`.

    Each time has its 95 % interval. data: a Record, or its rows, one for each point. by: the column
    that names a line. floor: a function that returns the least seconds for a problem of size x,
    drawn as the limit of all series, for instance

        floor=lambda n: limits.floor(limits.conv1d(n, 3), record.device).seconds

    Raises ValueError for no rows, rows without times or `x`, and several rows for one point.
    """
    lines: dict[str, dict[Any, Mapping[str, Any]]] = {}
    for row in _timed(data):
        if row.get(x) is None:
            raise ValueError(f"a row of {_name(row, by)} has no {x!r}; it has: {', '.join(row)}")
        points = lines.setdefault(_name(row, by), {})
        if row[x] in points:
            raise _several(f"{_name(row, by)} at {x} = {row[x]}", row, points[row[x]])
        points[row[x]] = row
    style(ax, title)
    for number, (name, points) in enumerate(lines.items()):
        _draw_line(ax, name, number, dict(sorted(points.items())))
    if floor is not None:
        sizes = sorted({size for points in lines.values() for size in points})
        label = f"{ROOFLINE} floor (these bytes and operations at the peaks)"
        look: Look = {"linewidth": 2.2, "linestyle": (0, (1, 1.5)), "label": label}
        ax.plot(sizes, [1e3 * floor(size) for size in sizes], color=INK, **look)
    ax.set(xscale="log", yscale="log", xlabel=xlabel or x, ylabel="time (ms)")
    ax.xaxis.set_major_formatter(PlainLogFormatter())
    if max(ax.get_xlim()) > 1e7:
        ax.tick_params(axis="x", labelsize="x-small")  # room for a billion
    ax.yaxis.set_major_formatter(PlainLogFormatter())
    ax.yaxis.set_minor_formatter(PlainLogFormatter(minor_thresholds=(1, 0.4)))
    ax.grid(which="major", color="#d0d0d0", linewidth=0.6)
    legend_beside(ax)
    return ax


def over_batches(
    lines: Mapping[str, tuple[Look, Sequence[float]]],
    batches: Sequence[int],
    *,
    ylabel: str,
    yticks: Sequence[float],
) -> Axes:
    """Draw a figure of lines over the images of a batch, on logarithmic axes; return its axes.

    lines: by label, its look and a value for each of `batches`.
    """
    _, ax = subplots(9.5, 4.7)
    for label, (look, values) in lines.items():
        ax.plot(batches, values, label=label, **{"markersize": 7, **look})
    ax.set(xscale="log", yscale="log", ylabel=ylabel)
    ax.set_xlabel("images of a batch (both axes logarithmic)")
    plain_ticks(ax.xaxis, batches)
    plain_ticks(ax.yaxis, yticks)
    legend_beside(ax)
    return ax


def _draw_line(
    ax: Axes, name: str, number: int, points: Mapping[Any, Mapping[str, Any]]
) -> None:
    middle, around = spread(map(interval, points.values()))
    look: Look = {**series(number), "linestyle": LINES[number % len(LINES)], "markersize": 5}
    ax.errorbar(list(points), middle, around, label=name, capsize=3, linewidth=1.4, **look)


def _timed(data: Data) -> list[Mapping[str, Any]]:
    """Return the rows of `data`. Raises ValueError if there are none, and if one has no time."""
    rows = list(data.rows() if hasattr(data, "rows") else data)
    if not rows:
        raise ValueError("there is nothing to draw: the record has no rows")
    for row in rows:
        _require_time(row)
    return rows


def _require_time(row: Mapping[str, Any]) -> None:
    """Raise ValueError for a row without a time above 0 and its interval."""
    times = {key: row.get(key) for key in ("low_ms", "median_ms", "high_ms")}
    if times["median_ms"] is None:
        raise ValueError(f"the row {dict(row)} has no time (median_ms); leave it out")
    if missing := [key for key, value in times.items() if value is None]:
        raise ValueError(
            f"the row {dict(row)} has a median_ms and no {missing[0]}: "
            "give every time with its interval"
        )
    low, median, high = (float(row[key]) for key in times)
    if not 0 < low <= median <= high < math.inf:
        raise ValueError(
            f"the row {dict(row)} has impossible times: "
            "0 < low_ms <= median_ms <= high_ms must hold"
        )


def _name(row: Mapping[str, Any], by: str) -> str:
    if row.get(by) is None:
        raise ValueError(f"a row has no {by!r} to name it by; it has: {', '.join(row)}")
    return str(row[by])


def _one_row_each(
    rows: Sequence[Mapping[str, Any]], by: str = "series"
) -> dict[str, Mapping[str, Any]]:
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
    difference = f"they differ in {', '.join(apart)}" if apart else "they have the same parameters"
    return ValueError(f"there are several rows for {name}; {difference}. Give one of them")
