"""The plainest kernel of the convolution layer beside CPU programs, and with the copies.

`measure` yields the times; the functions below it read and draw what was measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import limits, plotting, tables
from helpers.bench import results, timing
from helpers.plotting import boxes, styles
from helpers.problems import baselines, conv2d
from helpers.quantities import percent, quantity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from helpers.bench.results import Record

KERNEL = "conv2d_basic"
LAYERS = conv2d.LENET
FEW, MANY = 100, 10_000
BATCHES = (FEW, MANY)
OP_TIME, LAYER_TIME = "op time", "layer time"

Row = Mapping[str, Any]


def measure() -> Iterator[Row]:
    """Yield the times of both layers, measured on the selected GPU and its host."""
    for layer in LAYERS:
        all_x, filter = conv2d.inputs(layer, MANY)
        for batch in BATCHES:
            x, shape = all_x[:batch], conv2d.shape_of(layer, batch)
            with conv2d.Problem(shape, x, filter) as problem:
                rows = [*_gpu_rows(problem, x), *_cpu_rows(shape, x, filter)]
            yield from (row | {"layer": layer, "batch": batch} for row in rows)


def _gpu_rows(problem: conv2d.Problem, x: np.ndarray) -> Iterator[dict[str, Any]]:
    """Time the kernel alone and with the copies of x and y, from and to pageable memory."""
    import pycuda.driver as cuda

    run, y = conv2d.compile(KERNEL, problem.shape), np.empty(problem.shape.y_shape, np.float32)
    arrays = problem.y, problem.x, problem.filter
    run.launch(*arrays)
    verdict = problem.check(KERNEL)  # y was poisoned: the check finds what is not written

    def with_copies() -> None:
        cuda.memcpy_htod(problem.x, x)
        run.launch(*arrays)
        cuda.memcpy_dtoh(y, problem.y)

    kernel = timing.time_gpu(
        lambda stream: run.launch(*arrays, stream), verdict=verdict, name=KERNEL, budget_s=0.4
    )
    yield {"series": OP_TIME, "kernel": KERNEL, "timing": kernel}
    whole = timing.time_end_to_end(with_copies, verdict=verdict, name="with copies", budget_s=0.4)
    yield {"series": LAYER_TIME, "kernel": KERNEL, "timing": whole}


def _cpu_rows(
    shape: limits.ConvShape, x: np.ndarray, filter: np.ndarray
) -> Iterator[dict[str, Any]]:
    """Time the CPU programs; those on one core only for the smallest batch, or minutes pass."""
    y = np.empty(shape.y_shape, np.float32)
    keys = ("numpy", "one_core", "swapped", "all_cores") if shape.B == FEW else ("all_cores",)
    for key in keys:
        program = baselines.conv2d()[key]
        call = partial(program.call, x, filter, y)
        timed = timing.time_cpu(call, name=program.name, budget_s=0.3)
        yield {"series": program.name, "timing": timed}


# --------------------------------------------------------------------------------------------------
# Reading the record


class LayerTimes:
    """The record "107_layer", by layer, batch and series."""

    def __init__(self, record: Record):
        self.record = record
        self._rows: dict[tuple[str, int], dict[str, Row]] = results.Selection(record, {})
        for row in record.rows():
            if "median_ms" in row:
                where = row["layer"], row["batch"]
                self._rows.setdefault(where, results.Selection(record, {}))[row["series"]] = row

    @property
    def all_cores(self) -> str:
        """The name of the CPU program on all cores, which says how many they are."""
        names = [name for name in self.rows(LAYERS[0], MANY) if name.startswith("C++")]
        if not names:
            raise KeyError(f"record {self.record.name} has no program of all CPU cores")
        return names[0]

    def rows(self, layer: str, batch: int) -> Mapping[str, Row]:
        """Return the rows of a layer and batch, by series."""
        return self._rows[layer, batch]

    def ms(self, layer: str, batch: int, series: str) -> float:
        """Return the median time."""
        return self._rows[layer, batch][series]["median_ms"]

    def copies_ms(self, layer: str, batch: int) -> float:
        """Return the time of the copies: what the layer time has beyond the op time."""
        return self.ms(layer, batch, LAYER_TIME) - self.ms(layer, batch, OP_TIME)

    def floor(self, layer: str, batch: int) -> limits.Floor:
        """Return the roofline floor on the record's GPU."""
        work = limits.conv2d(conv2d.shape_of(layer, batch))
        return limits.floor(work, self.record.device)

    def speedup(self, layer: str, batch: int, series: str) -> float:
        """Return how many times as fast as `series` the kernel is."""
        return self.ms(layer, batch, series) / self.ms(layer, batch, OP_TIME)


# --------------------------------------------------------------------------------------------------
# Tables


def copies_table(times: LayerTimes) -> str:
    """Return the time and the speed of the copies of MANY images, and the CPU's time."""
    head = ("", "bytes of x and y", "copies", "speed", "layer time", times.all_cores)
    rows = []
    for layer in LAYERS:
        moved, ms = limits.conv2d(conv2d.shape_of(layer, MANY)).bytes, times.copies_ms(layer, MANY)
        whole, cores = (times.ms(layer, MANY, one) for one in (LAYER_TIME, times.all_cores))
        speed = f"{moved / ms / 1e6:.0f} GB/s"
        rows.append(
            (layer, f"{moved:,}", f"{ms:.3g} ms", speed, f"{whole:.3g} ms", f"{cores:.3g} ms")
        )
    return tables.text(head, rows)


def cpu_table(times: LayerTimes) -> str:
    """Return how many times as fast as each CPU program the kernel is, with 95 % intervals."""
    head = (f"{KERNEL} at {FEW} images is", *LAYERS)
    series = [name for name in times.rows(LAYERS[0], FEW) if _is_cpu(name)]
    rows = [
        (f"... times as fast as {name}", *(_speedup_text(times, layer, name) for layer in LAYERS))
        for name in series
    ]
    return tables.text(head, rows)


def _speedup_text(times: LayerTimes, layer: str, series: str) -> str:
    row, op = times.rows(layer, FEW)[series], times.ms(layer, FEW, OP_TIME)
    low, middle, high = (styles.ratio_text(ms / op) for ms in styles.interval(row))
    return f"{middle} ({low} to {high})"


# --------------------------------------------------------------------------------------------------
# Figures


def tiles_figure(tile: int) -> Figure:
    """Draw how square tiles cover an output map of each layer; threads without output hatched."""
    figure, axes = styles.subplots(9, 4.4, columns=2)
    for ax, layer in zip(axes, LAYERS, strict=True):
        shape = conv2d.shape_of(layer, 1)
        tiles, idle = boxes.cover(ax, shape.out_h, shape.out_w, tile, numbered=True)
        covered = conv2d.ceil_div(shape.out_w, tile) * tile
        edges = range(0, covered + 1, tile)
        ax.set(xlim=(-1, covered + 1), ylim=(covered + 1, -1), xticks=edges, yticks=edges)
        ax.set(xlabel="column w", ylabel="row h")
        without = f"{percent(idle)} of the threads have no output"
        plotting.style(ax, f"{layer}: {quantity(tiles, 'tile')}, {without}")
    return figure


def _is_cpu(series: str) -> bool:
    return series.startswith(("NumPy", "C++"))


def copies_figure(times: LayerTimes) -> Figure:
    """Draw op time and copies as one bar, beside all cores of the CPU, for the largest batch."""
    batch = MANY
    figure, ax = styles.subplots(9, 3.8)
    names: list[str] = []
    shortest = 0.1 * max(times.ms(layer, batch, LAYER_TIME) for layer in LAYERS)
    for layer in LAYERS:
        kernel, copies = times.ms(layer, batch, OP_TIME), times.copies_ms(layer, batch)
        cores = times.rows(layer, batch)[times.all_cores]
        _bar(ax, len(names), 0, kernel, styles.BARS["ours"], "the kernel (op time)")
        _bar(ax, len(names), kernel, copies, styles.BARS["aside"], "the copies of x and y")
        for left, width in ((0, kernel), (kernel, copies)):
            if width > shortest:  # otherwise the bar has no room for a number
                _inside(ax, len(names), left + width / 2, width)
        _interval(ax, len(names), times.rows(layer, batch)[LAYER_TIME])
        names.append(f"{layer}, on the GPU")
        _bar(ax, len(names), 0, cores["median_ms"], {"color": styles.LIGHT[1]}, times.all_cores)
        _interval(ax, len(names), cores)
        names.append(f"{layer}, on the CPU")
    styles.name_bars(ax, names)
    ax.set_xlim(left=0)
    ax.set_xlabel("time (ms)")
    styles.legend_below(figure, ax)
    shares = [times.copies_ms(one, batch) / times.ms(one, batch, LAYER_TIME) for one in LAYERS]
    words = " and ".join(
        f"{percent(share)} in {layer}"
        for share, layer in zip(shares, LAYERS, strict=True)
    )
    most = "the copies are most of the layer time," if min(shares) > 0.5 else "copies take"
    rest = "" if min(shares) > 0.5 else " of the layer time"
    return plotting.finish(ax, f"{batch:,} images: {most} {words}{rest}", times.record, cpu=True)


def _bar(ax: Axes, y: int, left: float, width: float, look: styles.Look, label: str) -> None:
    ax.barh(y, width, left=left, height=0.6, label=label, edgecolor=styles.INK, **look)


def _inside(ax: Axes, y: int, middle: float, ms: float) -> None:
    behind: styles.Look = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    look: styles.Look = {"ha": "center", "va": "center", "fontsize": "small", "bbox": behind}
    ax.text(middle, y, styles.duration_text(ms), **look)


def _interval(ax: Axes, y: int, row: Row) -> None:
    styles.whisker(ax, y, *styles.interval(row))
    styles.beside(ax, row["high_ms"], y, styles.duration_text(row["median_ms"]), weight="bold")
