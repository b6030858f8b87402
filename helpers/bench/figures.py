"""Figures of times: bars, curves, ladders and rooflines, each with the caption of its record."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers.bench import plan_bounds
from helpers.bench.task import Library
from helpers.bench.times import AtLeast, Time, Times

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Data = Times | Mapping[str, Times]
MOST_BOUNDS = 5  # of a kernel from problem to problem: counting takes a second or two
BESIDE_CHARACTERS = 62  # of a line above a picture that has another one beside it
LEAST_LINEAR = 0.1  # a ratio below it cannot be read on an axis that begins at 0
LOG_TICKS = tuple(digit * 10.0**power for power in range(-4, 3) for digit in (1, 2, 5))


def bars(
    times: Data, *, title: str = "", labels: Sequence[str] | None = None, floor: bool = False
) -> Figure:
    """Draw the time of each kernel over the baseline's, with its interval; times alone, in ms.

    times: of one problem, or of several by name, which get a picture each and share one scale.
    title: by default, what the fastest kernel gains. labels: in place of the kernels'.
    A kernel without a time has a name and no bar, such as "yours: not yet"; a student's that passes
    where there is no GPU has the dashed outline of its bound, and a diamond at the recorded time of
    our solution, where these are known. floor: whether to draw
    the least time that the record's device needs. Where a ratio is below LEAST_LINEAR the axis is
    logarithmic, and dots take the place of bars.
    """
    from helpers import plotting

    named = _named(times)
    first = next(iter(named.values()))
    rows = len(_beside_baseline(first)) + floor  # the floor's words have a row of their own
    logarithmic = any(_is_small(one) for one in named.values())
    notes = max(len(_notes(one, logarithmic)) for one in named.values())
    figure, pictures = _pictures(named, 0.45 * rows + 0.25 * notes + 1.5, share="x")
    for ax, (_, one) in pictures:
        _draw_bars(ax, one, labels, logarithmic=logarithmic)
        if floor and (least := _floor(one)) is not None:
            _draw_floor(ax, least)
        plotting.finish(ax, title or _claim(one), one.record)
    if not logarithmic:
        pictures[0][0].set_xlim(left=0)  # of all pictures, behind the longest bar of all
    return figure


def curve(
    times: Data | Sequence[Times], by: str, *, title: str = "", xlabel: str = ""
) -> Figure:
    """Draw the points of each kernel over one of its sizes, such as by="tile_width".

    The vertical axis is the time over the baseline's; without a baseline, the time in ms. times: of
    one problem, or of several by name, which get a picture each and share the vertical axis if it
    is a ratio. Where nothing was timed, the picture says so. A student's kernel that passes where
    there is no GPU has its bound, a triangle on a dashed line. Raises ValueError where no kernel
    has this size.
    """
    from helpers import plotting
    from helpers.plotting import styles

    named = _named(times)
    over = next(iter(named.values())).over
    share = "y" if over is not None else ""
    figure, pictures = _pictures(named, 4.0, beside=True, share=share)
    for ax, (_, one) in pictures:
        lines, bounds = _lines(one, by), _bound_lines(one, by)
        if not any(_size(kernel, one, by) is not None for kernel in one):
            raise ValueError(f"no kernel of these times has a size {by!r} to draw over")
        if not lines and not bounds:
            states = ", ".join(dict.fromkeys(kernel.state for kernel in one))
            ax.text(0.5, 0.5, states, transform=ax.transAxes, ha="center", color=styles.INK)
        for number, (label, points) in enumerate(lines.items()):
            middle, around = styles.spread(points.values())
            # There is nothing to read off between the sizes.
            look: styles.Look = {**styles.series(number), "linestyle": "none", "label": label}
            places = [_place(size, over) for size in points]
            ax.errorbar(places, middle, around, capsize=4, **look)
        for number, (label, least) in enumerate(bounds.items(), len(lines)):
            places = [_place(size, over) for size in least]
            color = styles.series(number)["color"]
            ax.vlines(places, 0, list(least.values()), color=color, linestyle="--", linewidth=1)
            ax.plot(places, list(least.values()), linestyle="none", **_bound_look(number, label))
        if over is not None:
            ax.axhline(1, color=styles.INK, linestyle=":")
        drawn: list[Mapping[Any, Any]] = [*lines.values(), *bounds.values()]
        sizes = sorted({size for points in drawn for size in points})
        if all(isinstance(_place(size, over), int) for size in sizes):
            ax.set_xticks(sizes, [str(size) for size in sizes], fontsize="small")
        ax.set_xlabel(xlabel or by.replace("_", " "))
        if len(lines) + len(bounds) > 1:
            ax.legend(frameon=False, loc="upper left")
        claim = _claim(one) if len(pictures) == 1 else textwrap.fill(_claim(one), BESIDE_CHARACTERS)
        plotting.style(ax, title or claim)
    first = pictures[0][0]
    first.set_ylabel(f"time over that of\n{over.title}" if over else "time (ms)")
    for ax, _ in pictures:
        ax.set_ylim(0, 1.08 * ax.get_ylim()[1])
    plotting.caption(first, pictures[0][1][1].record)
    return figure


def across(
    times: Sequence[Times], by: str, *, title: str = "", floor: bool = False
) -> Figure:
    """Draw each kernel's time over the baseline's from problem to problem.

    by: the size in which the problems differ, such as "filter_width"; sizes of more than a factor
    of 100 get a logarithmic axis, and so do ratios of which the least is below LEAST_LINEAR, or
    below that part of the largest. floor: whether to draw the least time that the record's device
    needs. A student's kernel that passes where there is no GPU has its bounds, triangles on a
    dashed line. Raises ValueError for times without a baseline, or where the problems have no such
    size.
    """
    from matplotlib.ticker import NullLocator

    from helpers import plotting
    from helpers.plotting import styles

    over = times[0].over if times else None
    if over is None or any(one.over is None or by not in one.problem.where for one in times):
        raise ValueError(f"give times over a baseline, of problems that differ in {by!r}")
    _, ax = plotting.subplots(9, 4.4)
    sizes = [one.problem.where[by] for one in times]
    titles = [one.kernel.title for one in times[0] if one.kernel != over]
    handles: list[Any] = []  # Matplotlib's own order has the lines without intervals first
    drawn: list[float] = []  # all heights
    for number, label in enumerate(titles):
        found = [(size, one[label]) for size, one in zip(sizes, times, strict=True)]
        points = {size: point for size, one in found if (point := _points(one, ratio=True))}
        look = styles.series(number)
        if not points:
            bounds = _bounds_across(times, label, by)
            drawn.extend(bounds.values())
            name = times[0].without_bar(found[0][1])
            look = _bound_look(number, name) if bounds else {**look, "label": name}
            ax.vlines(list(bounds), 0, list(bounds.values()), linestyle="--", linewidth=1,
                      color=look["color"])
            handles += ax.plot(list(bounds), list(bounds.values()), linestyle="none", **look)
            continue
        middle, around = styles.spread(points.values())
        drawn.extend(middle)
        look |= {"capsize": 3, "markersize": 4, "label": label}
        handles.append(ax.errorbar(list(points), middle, around, **look))
    if floor:
        least = [_floor(one) for one in times]
        drawn.extend(n for n in least if n is not None)
        handles += ax.plot(sizes, [np.nan if n is None else n for n in least], "--",
                           color=styles.INK, label="floor of a direct sum")
    ax.axhline(1, color=styles.INK, linestyle=":")
    if max(sizes) > 100 * min(sizes):
        ax.set_xscale("log")
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes])
        ax.xaxis.set_minor_locator(NullLocator())
    lowest, highest = min(drawn, default=1), max(drawn, default=1)
    unit = f"time over that of\n{over.title}"
    if lowest < LEAST_LINEAR * max(1, highest):  # a bound may be many times the measured ratios
        unit += "\n(logarithmic)"
        ax.set_yscale("log")
        ax.set_ylim(0.8 * lowest, 1.25 * highest)
        styles.plain_ticks(ax.yaxis, LOG_TICKS)
    else:
        ax.set_ylim(0, 1.08 * ax.get_ylim()[1])
    ax.set_xlabel(by.replace("_", " "))
    ax.set_ylabel(unit)
    ax.legend(handles=handles, frameon=False)
    return plotting.finish(ax, title, times[0].record)


def ladder(
    times: Times, *, yardstick: str = "", order: Sequence[str] = (), title: str = ""
) -> Figure:
    """Draw the kernels from the slowest to the fastest, with the floor of the record's device.

    yardstick: the title of a kernel that is no step. order: the titles of the steps, where each
    was made from the one before; without it, they are those from the slowest to the fastest. A
    kernel without a time has a name and no bar; a student's has its bound, as in `bars`.
    """
    from helpers import plotting

    untimed = [one for one in times if one.ms is None]
    bounds = [times.at_least(one, in_ms=True) for one in untimed]
    notes = 0.25 * (2 if any(bounds) else 0)
    figure, ax = plotting.subplots(9, 0.45 * len(times) + 2.2 + notes)
    plotting.ladder(
        ax,
        times.rows(),
        floor_ms=_floor_ms(times),
        yardstick=yardstick,
        order=[one.row["series"] for name in order if (one := times.one(name)).row is not None],
        yours=[one.row["series"] for one in times if one.kernel.yours and one.row is not None],
        missing=[times.without_bar(one) for one in untimed],
        title=title or _claim(times),
    )
    as_dot = ax.get_xscale() == "log"
    for y, least in enumerate(bounds, len(ax.get_yticks()) - len(untimed)):
        if least is not None:
            draw_at_least(ax, y, least, as_dot=as_dot, digits=".3g")
    ax.set_xlabel(".\n".join([ax.get_xlabel(), *at_least_words(bounds, as_dot)]))
    plotting.caption(ax, times.record)
    return figure


def roofline(times: Times, *, title: str = "") -> Figure:
    """Draw the kernels below the roofline of the device on which they were measured."""
    from helpers import plotting

    figure, ax = plotting.subplots(8, 5)
    work = times.problem.work
    points = [
        (one.kernel.title, work.intensity, work.flops / (1e-3 * one.ms)) for one in times if one.ms
    ]
    plotting.roofline(ax, points, times.record.device, title=title or _claim(times))
    plotting.caption(ax, times.record)
    return figure


# --------------------------------------------------------------------------------------------------
# Parts


def _named(times: Any) -> Mapping[str, Times]:
    """Return times by the names of their pictures. Raises TypeError for what are no times, and
    ValueError for none.
    """
    if isinstance(times, Times):
        return {times.problem.title: times}
    each = times.values() if isinstance(times, Mapping) else times
    if not isinstance(each, Iterable) or not all(isinstance(one, Times) for one in each):
        raise TypeError(
            f"got {times!r}, and a figure draws what compare() or sweep() returned, or several of "
            "these by name: bench.bars({'layer 1': times, 'layer 2': others})"
        )
    if not times:
        raise ValueError("there are no times to draw: give what compare() or sweep() returned")
    return times if isinstance(times, Mapping) else {one.problem.title: one for one in times}


def _pictures(
    times: Any, height: float, *, beside: bool = False, share: str = ""
) -> tuple[Figure, list[tuple[Axes, tuple[str, Times]]]]:
    """Return a figure with a picture for each problem. share: "x", "y" or no axis in common."""
    from helpers import plotting

    named = _named(times)
    count = len(named)
    rows, columns = (1, count) if beside else (count, 1)
    width = 5.5 * count if beside and count > 1 else 9
    shared = {"sharex": share == "x", "sharey": share == "y"}
    figure, axes = plotting.subplots(width, height * rows, rows, columns, squeeze=False, **shared)
    return figure, list(zip(axes.ravel(), named.items(), strict=True))


def _beside_baseline(times: Times) -> list[Time]:
    """Return the times that have a bar: all but the baseline's, over which a ratio is."""
    return [one for one in times if times.over is None or one.kernel != times.over]


def _draw_bars(
    ax: Axes, times: Times, labels: Sequence[str] | None, *, logarithmic: bool
) -> None:
    from matplotlib.ticker import FuncFormatter

    from helpers.plotting import styles

    shown = _beside_baseline(times)
    names = list(labels or [one.kernel.title for one in shown])
    digits = ".2f" if times.over is not None and not logarithmic else ".3g"
    for y, one in enumerate(shown):
        points = _points(one, ratio=times.over is not None)
        if points is None:
            names[y] = times.without_bar(one, labels[y] if labels else "")
            if (least := times.at_least(one)) is not None:
                draw_at_least(ax, y, least, as_dot=logarithmic, digits=digits)
            continue
        _, value, high = points
        if logarithmic:
            styles.dot(ax, y, value, hollow=one.kernel.yours)
        else:
            styles.bar(ax, y, value, _kind(one))
        styles.whisker(ax, y, *points)
        styles.beside(ax, high, y, f"{value:{digits}}", points=9 if logarithmic else 6)
    if times.over is not None:
        ax.axvline(1, color=styles.INK, linestyle=":")
    ax.set_yticks(range(len(shown)), names)
    ax.margins(x=0.12)
    ax.set_ylim(len(shown) - 0.5, -0.5)
    unit = "time (ms)" if times.over is None else f"time over that of {times.over.title}"
    if logarithmic:
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(FuncFormatter(styles.tick_text))
        axis = f"{times.problem.title}:\n{unit} (logarithmic); left is faster"
    else:
        axis = f"{times.problem.title}: {unit}; shorter is faster"
    ax.set_xlabel(".\n".join([axis, *_notes(times, logarithmic)]))


def _notes(times: Times, logarithmic: bool) -> list[str]:
    """Return what the marks of kernels without a time mean: no lines where there are none."""
    return at_least_words([times.at_least(one) for one in times], logarithmic)


def at_least_words(every: Iterable[AtLeast | None], logarithmic: bool) -> list[str]:
    """Return what the marks of `draw_at_least` mean, a sentence each: none for no bounds."""
    bounds = [least for least in every if least is not None]
    if not bounds:
        return []
    mark = "Triangle" if logarithmic else "Dashed bar"
    said = [f"{mark}: a bound by its counts, not a time; no {plan_bounds.DEVICE} is faster"]
    if any(least.ours is not None for least in bounds):
        said.append("Diamond: our solution, recorded")
    return said


def draw_at_least(ax: Axes, y: float, least: AtLeast, *, as_dot: bool, digits: str) -> None:
    """Draw the bound of a kernel that has no time, and our solution's recorded time, at height y.

    as_dot: on an axis without a zero. digits: how the numbers beside it are written, as ".3g".
    """
    from helpers.plotting import styles

    if as_dot:
        styles.dot(ax, y, least.value, marker=">", hollow=True)
    else:
        styles.bar(ax, y, least.value, "bound")
    text, end = f"at least {least.value:{digits}}", least.value
    if least.ours is not None:
        look: styles.Look = {"color": styles.COLOURS[5], "markeredgecolor": styles.INK}
        ax.plot(least.ours, y, marker="D", markersize=7, linestyle="none", **look)
        text, end = f"{text}; ours {least.ours:{digits}}", max(end, least.ours)
    styles.beside(ax, end, y, text, points=9)


def _kind(one: Time) -> str:
    """Return what a bar stands for, as styles.BARS names it."""
    if one.kernel.yours:
        return "yours"
    return "library" if isinstance(one.kernel.spec, Library) else "ours"


def _is_small(times: Times) -> bool:
    """Return whether a ratio is too small for an axis that begins at 0."""
    return min((one.value for one in times.ratios), default=1) < LEAST_LINEAR


def _floor_ms(times: Times) -> float | None:
    """Return the least ms on the record's device; None where its peaks are not known."""
    device = times.record.device
    if not (device.dram_bandwidth and device.fp32_peak):
        return None
    return times.problem.floor_ms(device)


def _floor(times: Times) -> float | None:
    """Return the floor as a bar has it: in ms, or over the baseline's time."""
    ms = _floor_ms(times)
    if times.over is None or ms is None:
        return ms
    over = next((one.ms for one in times if one.kernel == times.over), None)
    return None if over is None else ms / over


def _draw_floor(ax: Axes, least: float) -> None:
    from helpers.plotting import styles

    ax.axvline(least, color=styles.INK, linestyle="--")
    last, first = ax.get_ylim()
    ax.set_ylim(last, first - 0.4)  # room for the words above the first bar
    ax.annotate(
        f"floor: {least:.2g}", (least, 1), xycoords=("data", "axes fraction"), xytext=(4, -4),
        textcoords="offset points", va="top", fontsize="small", bbox=styles.WHITE,
    )


def _lines(times: Times, by: str) -> dict[str, dict[Any, tuple[float, float, float]]]:
    """Return the points of each kernel's line, by the value of a size."""
    lines: dict[str, dict[Any, tuple[float, float, float]]] = {}
    for one in times:  # a size that a kernel does not name is that of its record
        size = _size(one, times, by)
        points = _points(one, ratio=times.over is not None)
        if size is None or points is None:
            continue
        rest = ", ".join(f"{key} {value}" for key, value in one.kernel.settings if key != by)
        label = ", ".join(filter(None, [one.kernel.label, rest]))
        lines.setdefault(label, {})[size] = points
    return lines


def _bound_lines(times: Times, by: str) -> dict[str, dict[Any, float]]:
    """Return the bounds of kernels without a time, by the value of a size, as `_lines` does."""
    lines: dict[str, dict[Any, float]] = {}
    for one in times:
        size, least = _size(one, times, by), times.at_least(one)
        if size is not None and least is not None:
            lines.setdefault(f"{one.kernel.label}: {one.missing}", {})[size] = least.value
    return lines


def _bounds_across(times: Sequence[Times], label: str, by: str) -> dict[Any, float]:
    """Return the bounds of a kernel by the size of the problems: of a few, each of which is counted
    by itself, from the first to the last one.
    """
    step = max(1, (len(times) - 1) // (MOST_BOUNDS - 1))
    every = {one.problem.where[by]: one.at_least(one[label]) for one in times[::step]}
    return {size: least.value for size, least in every.items() if least is not None}


def _bound_look(number: int, label: str) -> dict[str, Any]:
    """Return how the bounds of a kernel without a time look over a size."""
    from helpers.plotting import styles

    return {
        "color": styles.series(number)["color"], "marker": "^", "markerfacecolor": "white",
        "label": f"{label}\n(a bound, not a time; no {plan_bounds.DEVICE} is faster)",
    }


def _size(one: Time, times: Times, by: str) -> Any:
    """Return the size of a kernel; None where it has no such size."""
    facts = times.problem.facts(one.kernel.spec)
    return dict(one.kernel.settings).get(by, facts.get(by))


def _place(size: Any, over: Any) -> Any:
    """Return where a size stands: times at their number, ratios and words one after the other."""
    return size if over is None and isinstance(size, int) else str(size)


def _points(one: Time, *, ratio: bool) -> tuple[float, float, float] | None:
    """Return the low end, the middle and the high end of a ratio or a time, if there is one."""
    from helpers.plotting import styles

    if ratio:
        return None if one.ratio is None else (one.ratio.low, one.ratio.value, one.ratio.high)
    if one.row is None or one.ms is None:
        return None
    return styles.interval(one.row)


def _claim(times: Times) -> str:
    """Return the sentence of a figure: what the fastest kernel gains."""
    best = times.fastest()
    where = times.problem.title
    bars = [(one.kernel.title, one.ratio) for one in times if one.ratio is not None]
    if len(bars) == 1:
        ((name, ratio),) = bars
        return f"{where}, {name} beside {ratio.over}: {ratio.words()}"
    if bars and best.ratio is not None:
        gain = f"{best.ratio.words()} {'as' if best.ratio.different else 'from'} {best.ratio.over}"
        return f"{where}: {best.kernel.title} is best, {gain}"
    if bars:
        return f"{where}: none is faster than {best.kernel.title}"  # which has no bar
    if best.ms is None:
        return f"{where}: nothing is timed yet"
    return f"{where}: {best.kernel.title} is fastest, {best.ms:.3g} ms"
