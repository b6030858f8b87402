"""Lab 108: sectors by hand, and counters beside times, for a swapped index and shapes of blocks.

What the lab compares and counts stands in its notebook.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from helpers import plotting, tables
from helpers.bench.counts import Count, Counts
from helpers.bench.times import Times
from helpers.limits import SECTOR_BYTES
from helpers.plotting import styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SQUARE = "16 x 16"
ALIKE = 1.1  # a request of less than that times the time of one of 16 x 16 costs about as much
CELL_BYTES = 4
LOADS = {"requests": "global_load_requests", "sectors": "global_load_sectors"}

ByLayer = Mapping[tuple[str, int], Times]  # by layer and number of images


def sectors(columns: int, rows: int, first_byte: int, row_bytes: int) -> int:
    """Return how many sectors hold a patch of columns x rows floats, counted float by float."""
    cells = ((row, column) for row in range(rows) for column in range(columns))
    return len(
        {
            (first_byte + row * row_bytes + CELL_BYTES * column) // SECTOR_BYTES
            for row, column in cells
        }
    )


# --------------------------------------------------------------------------------------------------
# Counters beside times


def ratio_table(times: ByLayer | Mapping[str, Times], seen: Mapping[str, Counts]) -> str:
    """Return measured times and counted loads of each variant over those of the baseline.

    times: comparisons by layer, or by layer and number of images. seen: counters of the same
    kernels.
    """
    times = _by_batch(times)
    batches = sorted({batch for _, batch in times})
    (first, *_) = times.values()
    names = [one.kernel.title for one in first if one.ratio]
    rows = []
    for layer, counts in seen.items():
        for name in names:
            ratios = [times[layer, batch].ratio(name) for batch in batches]
            over = (counts[name].over(counts[0], counter) for counter in LOADS.values())
            cells = [f"{ratio.value:.2f}" for ratio in ratios]
            row = (f"{layer}, {name}", *cells, ratios[-1].verdict, *(f"{n:.2f}" for n in over))
            rows.append(row)
    times_of = (f"time, {batch:,}\nimages" for batch in batches)
    head = (f"over {counts[0].kernel.title}", *times_of, "", "requests,\ncounted")
    return tables.text((*head, "sectors,\ncounted"), rows, left=(0, len(batches) + 1))


def _by_batch(times: Mapping[Any, Times]) -> ByLayer:
    """Return comparisons by layer and number of images."""
    of = {key: one.problem.where["batch"] for key, one in times.items()}
    return {key if isinstance(key, tuple) else (key, of[key]): one for key, one in times.items()}


def _sectors_of_x(one: Count) -> int:
    return one.profile.total("sectors", "global", "load", "x")


class Shapes:
    """Blocks of every shape on one layer: times and counted loads, by shape ("16 x 16").

    times: of a sweep over "block".
    """

    def __init__(self, times: Times):
        self.times = times
        timed = {str(dict(one.kernel.settings)["block"]): one for one in times}
        self.ms = {shape: one.ms for shape, one in timed.items() if one.ms is not None}
        if not self.ms:
            raise KeyError(f"record {times.record.name} has no time of the blocks {list(timed)}")
        counts = times.problem.count(*(timed[shape].kernel for shape in self.ms))
        seen = dict(zip(self.ms, counts, strict=True))
        self.requests = {k: one.profile.global_load_requests for k, one in seen.items()}
        self.sectors = {k: one.profile.global_load_sectors for k, one in seen.items()}

    @property
    def fastest(self) -> str:
        """The shape of the fastest block."""
        return min(self.ms, key=lambda shape: self.ms[shape])

    def per_request(self, shape: str) -> tuple[float, float]:
        """Return sectors and time of one request; the time of 16 x 16 is 1."""
        unit = self.ms[SQUARE] / self.requests[SQUARE]
        requests = self.requests[shape]
        return self.sectors[shape] / requests, self.ms[shape] / requests / unit


# --------------------------------------------------------------------------------------------------
# Figures


def ratio_figure(
    times: ByLayer | Mapping[str, Times], seen: Mapping[str, Counts], swapped: str
) -> Figure:
    """Draw what the swap multiplies: counted requests and sectors, measured times."""
    times = _by_batch(times)
    batches = sorted({batch for _, batch in times})
    counted_names = "load requests", "sectors of x", "sectors of all loads"
    labels = [*counted_names, *(f"time, {batch:,} images" for batch in batches)]
    figure, axes = styles.subplots(9, 3.1 * len(seen), len(seen), sharex=True)
    longest = 0.0
    for ax, (layer, counts) in zip(axes, seen.items(), strict=True):
        bad, good = counts[swapped], counts[0]
        counted = [
            bad.over(good, "global_load_requests"),
            _sectors_of_x(bad) / _sectors_of_x(good),
            bad.over(good, "global_load_sectors"),
        ]
        ratios = [times[layer, batch].ratio(swapped) for batch in batches]
        measured = [ratio.value for ratio in ratios]
        look: styles.Look = {"height": 0.6, "edgecolor": styles.INK}
        ax.barh(labels[:3], counted, label="counted", **look, **styles.BARS["aside"])
        ax.barh(labels[3:], measured, label="measured", **look, **styles.BARS["ours"])
        for bars in ax.containers[:2]:
            ax.bar_label(bars, fmt="%.2f", padding=8)
        for y, ratio in enumerate(ratios, 3):
            styles.whisker(ax, y, ratio.low, ratio.value, ratio.high)
        ax.axvline(1, color=styles.INK, linestyle=":")
        ax.invert_yaxis()
        ax.legend(frameon=False, loc="lower right")
        ax.set_xlabel(f"{swapped} over {good.kernel.title}")
        longest = max(longest, *counted, *measured)
        title = f"{layer}: {counted[2]:.1f} times the sectors, {measured[-1]:.2f} times the time"
        plotting.style(ax, title)
    axes[-1].set_xlim(0, 1.12 * longest)  # of both
    plotting.caption(axes[-1], next(iter(times.values())).record)
    return figure


def shapes_figure(shapes: Shapes) -> Figure:
    """Draw requests, sectors and time over the shape of the block, those of 16 x 16 being 1."""
    _, ax = styles.subplots(9, 4.6)
    drawn: tuple[tuple[str, Mapping[str, float]], ...] = (
        ("sectors (counted)", shapes.sectors),
        ("requests (counted)", shapes.requests),
        ("time (measured)", shapes.ms),
    )
    for number, (label, values) in enumerate(drawn):
        look = {**styles.series(number), "linestyle": styles.LINES[number]}
        over = [values[shape] / values[SQUARE] for shape in shapes.ms]
        ax.plot(list(shapes.ms), over, label=label, **look)
    where = f"{shapes.times.problem.title}, {shapes.times.problem.where['batch']:,} images"
    ax.set_xlabel(f"threads of a block, columns x rows ({where})")
    ax.set_ylabel("times that of 16 x 16")
    ax.set_ylim(0)
    ax.legend(frameon=False)
    best = shapes.fastest
    over_least = {
        name: counts[best] / min(counts.values())
        for name, counts in (("requests", shapes.requests), ("sectors", shapes.sectors))
    }
    title = (
        f"{best} is fastest: of all shapes it has "
        f"{over_least['requests']:.2f} x the fewest requests and "
        f"{over_least['sectors']:.2f} x the fewest sectors"
    )
    return plotting.finish(ax, title, shapes.times.record)


def price_figure(shapes: Shapes) -> Figure:
    """Draw the time of a request over the sectors that it moves, a point for each shape."""
    _, ax = styles.subplots(9, 4.6)
    points = {shape: shapes.per_request(shape) for shape in shapes.ms}
    ax.plot(*zip(*sorted(points.values()), strict=True), color=styles.PALE, zorder=1)
    for shape, (moved, time) in points.items():
        ax.plot(moved, time, "o", color=styles.COLOURS[0])
        if int(shape.split()[0]) <= 32:  # the wider ones lie on top of each other
            beside = {SQUARE: (-10, -16), "32 x 8": (-24, 16)}.get(shape, (6, -14))
            name = f"{shape}{' and wider' if shape == '32 x 8' else ''}"
            ax.annotate(name, (moved, time), beside, textcoords="offset points", fontsize="small")
    ax.axhline(1, color=styles.INK, linestyle=":")
    ax.set(xlim=(0, None), ylim=(0, None))
    ax.set_xlabel("sectors of a load request (counted)")
    ax.set_ylabel("time of a request (16 x 16 is 1)")
    most = max(points.values())
    alike = max(moved for moved, time in points.values() if time < ALIKE)
    title = (
        f"A request takes less than {ALIKE} x as long up to {alike:.1f} sectors, "
        f"{most[1]:.1f} x at {most[0]:.0f}"
    )
    return plotting.finish(ax, title, shapes.times.record)
