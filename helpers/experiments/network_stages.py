"""Lab 501: the network stage by stage, from host memory, and beside PyTorch.

    network_stages.stages_figure(record)            # "501_lenet": the rows of `measure`
    network_stages.host_figure(record)
    network_stages.batches_figure(results.recorded("benchmark_lenet"))

The times are those of `helpers.bench.lenet_times`; "benchmark_lenet" has all forms of the network
and PyTorch's, at three batches.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import kernels, limits, plotting, simulator, tables
from helpers.bench import lenet_times
from helpers.bench.pytorch import COMPILED
from helpers.plotting import styles, timings
from helpers.problems import conv2d, datasets
from helpers.problems.lenet import network, network_plan, pooled, trained_weights

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
    from helpers.device import Device
    from helpers.problems.lenet.trained_weights import Weights

BATCHES = network.ACCURACY_SIZES
LARGE = BATCHES[-1]
APART, FUSED, TENSOR, WARPGROUPS = "apart", "fused", "tensor cores", "warpgroups"
BAR, BAR_COLOUR = 0.62, styles.COLOURS[5]

Row = dict[str, Any]
Forms = Mapping[str, Sequence[Any]]


def forms(gpu: Device, mine: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """Return the forms of the network that this GPU can run, by name.

    mine: the kernels of the two convolutions of the form "apart".
    """
    found: dict[str, Sequence[Any]] = {
        APART: mine, FUSED: network_plan.FUSED, TENSOR: network_plan.TENSOR_CORES,
    }
    if gpu.kind == "gpu" and gpu.compute_capability == (9, 0):
        found[WARPGROUPS] = network_plan.FASTEST
    return found


def measure(forms: Forms) -> Iterator[Row]:
    """Yield the rows of the record: `lenet.times.measure` of these forms, for all BATCHES.

    The last form is timed from host memory, too. Right answers are counted with the course's
    weights as well, where the reader has that file.
    """
    (weights, *others), images = trained_weights.at_hand(), datasets.images_at_hand(LARGE)
    host = list(forms)[-1]
    return lenet_times.measure(weights, images, forms, BATCHES, host=host, others=others)


# --------------------------------------------------------------------------------------------------
# What the records say


def _ms(data: Record, series: str, **which: Any) -> float:
    """Return the median of the one row of a series that has these entries, as `Record.one`."""
    return float(data.one(series=series, **which)["median_ms"])


def wholes(data: Record) -> dict[str, float]:
    """Return the time (ms) of the whole network on the device, by form."""
    return data.ms("form", series="whole", batch=LARGE)


def stages(data: Record, form: str, batch: int = LARGE) -> dict[str, float]:
    """Return the times (ms) of a form's stages from floats on, by their names.

    Raises KeyError for a form whose stages were not timed.
    """
    ms = data.ms("stage", series="stage", form=form, batch=batch)
    return {stage: value for stage, value in ms.items() if stage != "resize"}


def host_form(data: Record) -> str:
    """Return the form that was timed from host memory."""
    return str(data.select(series="host")[0]["form"])


def host_bounds(data: Record) -> str:
    """Return what bounds the way from host memory, for each batch and kind of input, as a table."""
    form, lines = host_form(data), []
    for batch in BATCHES:
        resize = _ms(data, "stage", stage="resize", form=form, batch=batch)
        whole = _ms(data, "whole", form=form, batch=batch)
        for kind in ("floats", "bytes"):
            which = {"form": form, "batch": batch, "input": kind}
            computed = whole + resize * (kind == "bytes")
            copy = _ms(data, "copy", parts=1, **which)
            once, chunks = (_ms(data, "host", parts=parts, **which) for parts in lenet_times.PARTS)
            size = data.select(series="host", batch=batch, input=kind)[0]["megabytes"]
            slower = "the copy" if copy > computed else "the device"
            ratio = max(copy, computed) / min(copy, computed)
            numbers = (f"{value:.3f}" for value in (copy, computed, once, chunks))
            lines.append([f"{batch:,}", kind, f"{size:.1f}", *numbers, slower, f"{ratio:.1f}"])
    head = ["images", "input", "MB", "copy,\nms", "device,\nms", "at once,\nms", "10 chunks,\nms",
            "the slower\npart", "\nby"]
    return tables.text(head, lines, left=(1, 7))


def pytorch_table(data: Record) -> str:
    """Return the times on the device of the benchmark: ours and PyTorch's, both ways each."""
    rows, lines = data.rows(), []
    series = list(dict.fromkeys(row["series"] for row in rows if row.get("clock") == "device"))
    for name in series:
        for way in dict.fromkeys(r["way"] for r in rows if r["series"] == name):
            cells = [_device_ms(data, name, way, batch) for batch in BATCHES]
            lines.append([name, way, *("-" if ms is None else f"{ms:.4f}" for ms in cells)])
    return tables.text(["ms", "", *(f"{batch:,}" for batch in BATCHES)], lines, left=(0, 1))


def _device_ms(data: Record, name: str, way: str, batch: int) -> float | None:
    """Return the fastest layout's time; None if PyTorch was not tried in this way."""
    rows = data.select(series=name, way=way, clock="device", batch=batch)
    return min((row["median_ms"] for row in rows), default=None)


def slowest_ratio(data: Record, batch: int | None = None) -> float:
    """Return by how much PyTorch's fastest mode and way takes longer than ours, at least.

    batch: of that batch only. Ours is the benchmark's first form, on warpgroups.
    """
    return min(
        row["ratio"]
        for row in data.rows()
        if row["series"] == lenet_times.RATIO and batch in (None, row["batch"])
    )


# --------------------------------------------------------------------------------------------------
# Counted without a GPU


class Broken:
    """Run the network with a piece of one kernel's source exchanged, in the simulator.

    broken("One", kernel, old, new) returns the first thing that the simulator finds.
    """

    def __init__(self, weights: Weights, images: np.ndarray, mine: Sequence[Any]):
        self._weights, self._images, self._mine = weights, images, mine

    def __call__(self, name: str, kernel: str, old: str, new: str) -> str:
        instead = {kernel: (kernel, kernels.changed(kernel, (old, new)))}
        layers = self._mine if kernel == "lenet_pool" else network_plan.FUSED
        _, seen = network_plan.simulate(
            self._weights, self._images, layers, entry=simulator.check, instead=instead
        )
        first = [one.brief() for findings in seen.values() for one in findings]
        return f"--- {name}\n{first[0] if first else 'no finding'}\n"


# --------------------------------------------------------------------------------------------------
# Figures


def _stage_bars(
    values: Mapping[str, Mapping[str, float]],
    unit: str,
    notes: Mapping[str, str],
    ends: Mapping[tuple[str, str], tuple[float, float]],
) -> tuple[Figure, Any]:
    """Return a panel for each form, a bar for each of its stages, all on one axis from zero on.

    notes: words for each form; ends: of the interval of a (form, stage), where it was measured.
    """
    sizes = [len(of_form) for of_form in values.values()]
    figure, axes = styles.subplots(
        9.5, 1.0 + 0.42 * sum(sizes), len(values), sharex=True, height_ratios=sizes, squeeze=False
    )
    for ax, (form, of_form) in zip(axes[:, 0], values.items(), strict=True):
        for place, (stage, value) in enumerate(of_form.items()):
            ax.barh(place, value, BAR, color=BAR_COLOUR, edgecolor=styles.INK, linewidth=0.8)
            if (form, stage) in ends:
                low, high = ends[form, stage]
                styles.whisker(ax, place, low, value, high, capsize=3)
            styles.beside(ax, value, place, styles.ratio_text(value))
        ax.set_yticks(range(len(of_form)), list(of_form))
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(len(of_form) - 0.5, -0.5)
        plotting.style(ax)
        ax.label_outer()
        ax.annotate(
            f"{form}: {notes[form]}", (1, 0.5), xycoords="axes fraction", ha="right",
            va="center", fontsize="small", fontweight="bold",
        )
    most = max(value for of_form in values.values() for value in of_form.values())
    axes[-1, 0].set_xlim(0, 1.45 * most)
    axes[-1, 0].set_xlabel(unit)
    return figure, axes[:, 0]


def stages_figure(data: Record) -> Figure:
    """Draw the time of each stage of each form for 10,000 images."""
    whole = wholes(data)
    notes = {form: f"{value:.2f} ms in a row" for form, value in whole.items()}
    values = {form: stages(data, form) for form in whole}
    ends = {
        (row["form"], row["stage"]): (row["low_ms"], row["high_ms"])
        for row in data.select(series="stage", batch=LARGE)
    }
    figure, axes = _stage_bars(values, "op time of a stage, 10,000 images (ms)", notes, ends)
    best = min(whole, key=lambda form: whole[form])
    gain = whole[APART] / whole[best]
    title = f"10,000 images: the form '{best}' is {gain:.1f} times as fast as '{APART}'"
    plotting.style(axes[0], title)
    plotting.caption(axes[-1], data)
    return figure


def host_figure(data: Record) -> Figure:
    """Draw the ways from host memory for 10,000 images, and the copy of the input in each."""
    form = host_form(data)
    ways = [(kind, parts) for kind in ("floats", "bytes") for parts in lenet_times.PARTS]
    last = [_ms(data, "host", form=form, batch=LARGE, input=k, parts=parts) for k, parts in ways]
    copies = [_ms(data, "copy", form=form, batch=LARGE, input=k, parts=1) for k, _ in ways]
    _, ax = styles.subplots(9.5, 3.2)
    look: styles.Look = {"edgecolor": styles.INK, **styles.BARS["ours"]}
    ax.barh(range(4), last, label="to classes on the host", **look)
    look |= styles.BARS["aside"]
    ax.barh(range(4), copies, 0.3, **look, label="copy of the input alone")
    for place, value in enumerate(last):
        rate = f"{LARGE / value / 1e3:.1f} million images/s"
        styles.beside(ax, value, place, f"{value:.2f} ms, {rate}")
    gain = min(last[:2]) / min(last[2:])
    title = f"Copying bytes, not floats: {gain:.1f} times as fast as copying floats"
    labels = [f"{kind}, {'at once' if parts == 1 else f'{parts} chunks'}" for kind, parts in ways]
    ax.set(yticks=range(4), yticklabels=labels, xlabel="10,000 images (ms)")
    ax.set_xlim(0, 1.5 * max(last))
    ax.invert_yaxis()
    ax.legend(frameon=False, fontsize="small", loc="lower right")
    return plotting.finish(ax, title if gain > 1 else "Sending bytes does not pay here", data)


_SHOWN = {
    "ours, FP32 units": ("FP32 units", "launches", styles.PRODUCTS["FP32 units"]),
    "ours, tensor cores": (
        "FP32 accuracy, portable", "launches", styles.PRODUCTS["split halves"]
    ),
    "ours, warpgroups": (
        "FP32 accuracy", "launches", styles.PRODUCTS["split halves, improved"]
    ),
    "PyTorch, FP32": ("PyTorch, FP32", "eager", styles.library("x")),
    "PyTorch, FP16": ("PyTorch, FP16", "eager", styles.library("*")),
    "PyTorch, FP16, as a graph": ("PyTorch, FP16", "CUDA graph", styles.library("D")),
}


def batches_figure(data: Record) -> Figure:
    """Draw the images in a second of our forms and PyTorch's over the images of a batch."""
    lines = {}
    for label, (name, way, look) in _SHOWN.items():
        times = [_device_ms(data, name, way, batch) for batch in BATCHES]
        speeds = [
            math.nan if ms is None else batch / ms / 1e3
            for batch, ms in zip(BATCHES, times, strict=True)
        ]
        lines[label] = look, speeds
    ylabel, ticks = "million images in a second", (0.5, 1, 2, 5, 10, 20)
    ax = timings.over_batches(lines, BATCHES, ylabel=ylabel, yticks=ticks)
    # torch.compile was tried for one batch only, and has no line here.
    ratios = data.select(series=lenet_times.RATIO)
    least = min(row["ratio"] for row in ratios if row["way"] != COMPILED)
    title = f"Without torch.compile, PyTorch takes at least {least:.1f} times as long as warpgroups"
    return plotting.finish(ax, title, data)


def floor_ms(device: Device) -> float:
    """Return the least time (ms) of both convolutions of 10,000 images on the FP32 units."""
    works = [limits.conv2d(conv2d.shape_of(name, LARGE)) for name in pooled.LAYERS]
    return 1e3 * sum(limits.floor(work, device).compute_s for work in works)
