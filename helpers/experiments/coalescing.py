"""Coalescing in the convolution layer: a swapped index, and blocks of every shape.

`measure` yields the rows of the record "108_coalescing"; the simulator counts the requests and
sectors that the times are set beside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import plotting, tables
from helpers.bench import results, timing
from helpers.plotting import styles
from helpers.problems import conv2d

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
    from helpers.checking import Verdict
    from helpers.simulator import Profile

GOOD, BAD = "conv2d_basic", "conv2d_uncoalesced"
WIDE = f"{GOOD}, 32 x 8"
LAYERS = ("layer 1", "layer 2")
BATCHES = (100, 1_000, 10_000)
MANY = BATCHES[-1]
THREADS = 256  # of a block
WIDTHS = (1, 2, 4, 8, 16, 32, 64, 128)  # threads of a block along a row
SQUARE = 16
ALIKE = 1.1  # a request of less than that times the time of one of 16 x 16 costs about as much
SECTOR_BYTES = 32
CELL_BYTES = 4


def sectors(columns: int, rows: int, first_byte: int, row_bytes: int) -> int:
    """Return how many sectors hold a patch of columns x rows floats, counted float by float."""
    cells = ((row, column) for row in range(rows) for column in range(columns))
    return len(
        {
            (first_byte + row * row_bytes + CELL_BYTES * column) // SECTOR_BYTES
            for row, column in cells
        }
    )


def average_sectors(columns: int) -> float:
    """Return the sectors of a run of floats, averaged over the places in a sector to begin at."""
    starts = range(0, SECTOR_BYTES, CELL_BYTES)
    return float(np.mean([sectors(columns, 1, start, 0) for start in starts]))


def blocks_of(width: int) -> conv2d.Conv2d:
    """Return the record of conv2d_basic with blocks of width x (256 / width) threads."""
    height = THREADS // width
    return replace(conv2d.conv2d_named(GOOD), block=(width, height), tile=(width, height, 1))


SPECS = {GOOD: blocks_of(SQUARE), WIDE: blocks_of(32), BAD: conv2d.conv2d_named(BAD)}


@cache
def profile(spec: conv2d.Conv2d, layer: str) -> Profile:
    """Return the simulator's counters of one image of a layer."""
    _, (seen,) = conv2d.simulate(spec, *conv2d.inputs(layer, 1))
    return seen


def loads(seen: Profile, counter: str, array: str | None = None) -> int:
    """Return a counter of the global loads, of one array or of all."""
    return seen.total(counter, "global", "load", array=array)


def per_request(seen: Profile, kind: str, array: str | None = None) -> float:
    """Return the sectors of a request of global memory, on average."""
    counts = (seen.total(one, "global", kind, array=array) for one in ("sectors", "requests"))
    moved, requests = counts
    return moved / requests


def counted_ratio(layer: str, counter: str, array: str | None = None, label: str = BAD) -> float:
    """Return a counter of the loads of SPECS[label] over that of conv2d_basic."""
    other, basic = (profile(SPECS[one], layer) for one in (label, GOOD))
    return loads(other, counter, array) / loads(basic, counter, array)


# --------------------------------------------------------------------------------------------------
# Measuring


def measure() -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the record "108_coalescing", measured on the selected GPU."""
    for layer in LAYERS:
        all_x, filter = conv2d.inputs(layer, MANY)
        for batch in BATCHES:
            with conv2d.Problem(conv2d.shape_of(layer, batch), all_x[:batch], filter) as problem:
                where = {"layer": layer, "batch": batch}
                yield from (row | where for row in _ratio_rows(problem))
                if batch == MANY and layer == "layer 1":
                    yield from (row | where for row in _shape_rows(problem))


def _checked(
    spec: conv2d.Conv2d, problem: conv2d.Problem
) -> tuple[Callable[[Any], None], Verdict]:
    """Return the launch of a kernel that has passed its check, and its verdict."""
    run, arrays = conv2d.compile(spec, problem.shape), (problem.y, problem.x, problem.filter)
    problem.poison()
    run.launch(*arrays)
    return (lambda stream: run.launch(*arrays, stream)), problem.check(spec.name)


def _ratio_rows(problem: conv2d.Problem) -> Iterator[dict[str, Any]]:
    good, good_verdict = _checked(SPECS[GOOD], problem)
    for label in (BAD, WIDE):
        other, verdict = _checked(SPECS[label], problem)
        verdicts = verdict, good_verdict
        pair = timing.compare(other, good, verdicts=verdicts, names=(label, GOOD), budget_s=0.8)
        ratio = {"ratio": pair.ratio, "ratio_low": pair.low, "ratio_high": pair.high}
        kernel = SPECS[label].name
        yield {"series": f"{label} over {GOOD}", "kernel": kernel, **ratio, "timing": None}
        yield {"series": label, "kernel": kernel, "timing": pair.a}
        if label == BAD:
            yield {"series": GOOD, "timing": pair.b}


def _shape_rows(problem: conv2d.Problem) -> Iterator[dict[str, Any]]:
    for width in WIDTHS:
        launch, verdict = _checked(blocks_of(width), problem)
        name = f"{width} x {THREADS // width}"
        timed = timing.time_gpu(launch, verdict=verdict, name=name, budget_s=0.3)
        yield {"series": "block shapes", "kernel": GOOD, "block_width": width, "timing": timed}


# --------------------------------------------------------------------------------------------------
# Reading the record


def ratio_row(record: Record, layer: str, batch: int, label: str = BAD) -> Mapping[str, Any]:
    """Return the row of a kernel's time over that of conv2d_basic: ratio, ratio_low, ratio_high."""
    series = f"{label} over {GOOD}"
    rows = (row for row in record.rows() if row["series"] == series)
    return next(row for row in rows if (row["layer"], row["batch"]) == (layer, batch))


def verdict(record: Record, layer: str, batch: int, label: str = BAD) -> str:
    """Return "slower", "faster", or "no measurable difference" where the interval spans 1."""
    row = ratio_row(record, layer, batch, label)
    if row["ratio_low"] <= 1 <= row["ratio_high"]:
        return "no measurable difference"
    return "slower" if row["ratio"] > 1 else "faster"


def ratio_table(record: Record) -> str:
    """Return measured times and counted loads of each variant over those of conv2d_basic."""
    times_of = (f"time, {batch:,}\nimages" for batch in BATCHES)
    head = (f"over {GOOD}", *times_of, "", "requests,\ncounted", "sectors,\ncounted")
    rows = []
    for layer in LAYERS:
        for label in (BAD, WIDE):
            measured = [ratio_row(record, layer, batch, label)["ratio"] for batch in BATCHES]
            counted = [
                counted_ratio(layer, one, label=label) for one in ("requests", "sectors")
            ]
            times, counts = ([f"{value:.2f}" for value in values] for values in (measured, counted))
            rows.append(
                (f"{layer}, {label}", *times, verdict(record, layer, MANY, label), *counts)
            )
    return tables.text(head, rows, left=(0, 4))


def reported_table(record: Record) -> str:
    """Return how many times as long report C's uncoalesced kernel takes, and ours."""
    reported = {
        (row["optimization"], row["batch"]): row
        for row in results.reported("course_reports")
        if row["report"] == "C"
    }
    head = ("swapped over not swapped", *(f"{batch:,} images" for batch in BATCHES))
    rows = []
    for number, layer in enumerate(LAYERS, 1):
        theirs, ours = [], []
        for batch in BATCHES:
            slow, fast = (
                reported[name, batch][f"op{number}_ms"]
                for name in ("baseline (uncoalesced)", "coalesced")
            )
            theirs.append(f"{slow / fast:.2f}")
            ours.append(f"{ratio_row(record, layer, batch)['ratio']:.2f}")
        rows += [(f"{layer}, report C", *theirs), (f"{layer}, ours", *ours)]
    return tables.text(head, rows)


class Shapes:
    """Blocks of 256 threads of every shape, on layer 1: times and counted loads, by width."""

    def __init__(self, record: Record):
        rows = [row for row in record.rows() if row["series"] == "block shapes"]
        self.record = record
        self.rows = {row["block_width"]: row for row in rows}
        self.ms = {width: row["median_ms"] for width, row in self.rows.items()}
        seen = {width: profile(blocks_of(width), "layer 1") for width in self.ms}
        self.requests = {width: loads(one, "requests") for width, one in seen.items()}
        self.sectors = {width: loads(one, "sectors") for width, one in seen.items()}

    @property
    def fastest(self) -> int:
        """The width of the fastest block."""
        return min(self.ms, key=lambda width: self.ms[width])

    def per_request(self, width: int) -> tuple[float, float]:
        """Return sectors and time of one request; the time of 16 x 16 is 1."""
        unit = self.ms[SQUARE] / self.requests[SQUARE]
        requests = self.requests[width]
        return self.sectors[width] / requests, self.ms[width] / requests / unit


# --------------------------------------------------------------------------------------------------
# Figures


def access_figure(layer: str, array: str, kind: str) -> Figure:
    """Draw the first request of a kind by the first warp, without the swap and with it."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(12, 4.2), layout="constrained")
    for ax, name in zip(axes, (GOOD, BAD), strict=True):
        seen = profile(SPECS[name], layer)
        plotting.access_map(ax, seen, array=array, kind=kind, first=1)
        ax.get_legend().remove()
        first = next(one for one in seen.requests if (one.array, one.kind) == (array, kind))
        moved = len({offset // SECTOR_BYTES for offset in first.offsets})
        title = f"{name}: a {kind} of {array} moves {moved} sectors for 128 bytes"
        plotting.style(ax, title)
    return figure


def ratio_figure(record: Record) -> Figure:
    """Draw what the swap multiplies: counted requests and sectors, measured times."""
    import matplotlib.pyplot as plt

    counts = "load requests", "sectors of x", "sectors of all loads"
    labels = [*counts, *(f"time, {batch:,} images" for batch in BATCHES)]
    figure, axes = plt.subplots(2, 1, figsize=(9, 6.2), layout="constrained")
    for ax, layer in zip(axes, LAYERS, strict=True):
        rows = [ratio_row(record, layer, batch) for batch in BATCHES]
        counted = [
            counted_ratio(layer, "requests"),
            counted_ratio(layer, "sectors", "x"),
            counted_ratio(layer, "sectors"),
        ]
        measured = [row["ratio"] for row in rows]
        look: styles.Look = {"height": 0.6, "edgecolor": styles.INK}
        bars = ax.barh(labels[:3], counted, color="white", hatch="////", **look)
        ax.bar_label(bars, fmt="%.2f", padding=8)
        bars = ax.barh(labels[3:], measured, color=styles.COLOURS[5], **look)
        ax.bar_label(bars, fmt="%.2f", padding=8)
        spread = [
            [row["ratio"] - row["ratio_low"] for row in rows],
            [row["ratio_high"] - row["ratio"] for row in rows],
        ]
        ax.errorbar(measured, labels[3:], xerr=spread, fmt="none", color=styles.INK, capsize=4)
        ax.axvline(1, color=styles.INK, linestyle=":")
        ax.invert_yaxis()
        ax.set(xlabel=f"{BAD} over {GOOD} (hatched: counted, solid: measured)")
        ax.set_xlim(0, 1.12 * max(*counted, *measured))
        title = f"{layer}: {counted[2]:.1f} times the sectors, {measured[-1]:.2f} times the time"
        plotting.style(ax, title)
    plotting.caption(axes[1], record)
    return figure


def shapes_figure(shapes: Shapes) -> Figure:
    """Draw requests, sectors and time over the shape of the block, those of 16 x 16 being 1."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 4.6), layout="constrained")
    names = [f"{width} x {THREADS // width}" for width in shapes.ms]
    drawn: tuple[tuple[str, Mapping[int, float]], ...] = (
        ("sectors (counted)", shapes.sectors),
        ("requests (counted)", shapes.requests),
        ("time (measured)", shapes.ms),
    )
    for number, (label, values) in enumerate(drawn):
        look: styles.Look = {"color": styles.COLOURS[number], "marker": styles.MARKERS[number]}
        over = [values[width] / values[SQUARE] for width in shapes.ms]
        ax.plot(names, over, linestyle=styles.LINES[number], label=label, **look)
    ax.set_xlabel(f"threads of a block, columns x rows (layer 1, {MANY:,} images)")
    ax.set_ylabel("times that of 16 x 16")
    ax.set_ylim(0)
    ax.legend(frameon=False)
    best = shapes.fastest
    over_least = {
        name: counts[best] / min(counts.values())
        for name, counts in (("requests", shapes.requests), ("sectors", shapes.sectors))
    }
    title = (
        f"{best} x {THREADS // best} is fastest: of all shapes it has "
        f"{over_least['requests']:.2f} x the fewest requests and "
        f"{over_least['sectors']:.2f} x the fewest sectors"
    )
    plotting.style(ax, title)
    plotting.caption(ax, shapes.record)
    return figure


def price_figure(shapes: Shapes) -> Figure:
    """Draw the time of a request over the sectors that it moves, a point for each shape."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 4.6), layout="constrained")
    points = {width: shapes.per_request(width) for width in shapes.ms}
    ax.plot(*zip(*sorted(points.values()), strict=True), color=styles.PALE, zorder=1)
    for width, (moved, time) in points.items():
        ax.plot(moved, time, "o", color=styles.COLOURS[0])
        if width <= 2 * SQUARE:  # the wider ones lie on top of each other
            beside = {SQUARE: (-10, -16), 2 * SQUARE: (-24, 16)}.get(width, (6, -14))
            wider = " and wider" if width > SQUARE else ""
            name = f"{width} x {THREADS // width}{wider}"
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
    plotting.style(ax, title)
    plotting.caption(ax, shapes.record)
    return figure
