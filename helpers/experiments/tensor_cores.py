"""Tensor cores in the convolution layer, by wmma: padding, times, floors.

`measure` yields the rows of the record "303_wmma". The floors of a time are the bounds of the same
launch (data/measured/bounds.json), so that every bar of a figure has its own. `tensor_counts` has
what the simulator counts.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import checking, kernels, limits, plotting, simulator, tables
from helpers.bench import layers, results
from helpers.bench.ratios import Ratio
from helpers.bench.sources import changed
from helpers.experiments import bound_ratios
from helpers.plotting import styles
from helpers.problems import conv2d, precision
from helpers.simulator import bounds

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
    from helpers.limits import ConvShape
    from helpers.problems.precision import Precision

RECORD = "303_wmma"
LAYERS = ("layer 1", "layer 2")
BATCH = 10_000
COUNTS = (100, 1_000)  # images of the smaller batches
COLUMNS = 32  # outputs of a warp

WMMA, FLOAT = "conv2d_wmma", "conv2d_register_tiled"
FP32, HALVES, TF32, ONE_BUFFER, NO_SKEW = "float32", "half", "TF32", "one buffer", "no skew"
VARIANTS: Mapping[str, conv2d.Wmma] = {
    HALVES: conv2d.wmma(),
    TF32: conv2d.wmma(tf32=True),
    ONE_BUFFER: conv2d.wmma(buffers=1),
    NO_SKEW: conv2d.wmma(skew=0),
    "16 rows": conv2d.wmma(rows=16),
    "8 rows": conv2d.wmma(rows=8),
}
CHANGED = (TF32, ONE_BUFFER, NO_SKEW)
# A fragment with another number of output maps: "half" has 8 in layer 1 and 16 in layer 2.
OTHER = {"layer 1": "16 rows", "layer 2": "8 rows"}
Row = Mapping[str, Any]


def variants_of(layer: str) -> tuple[str, ...]:
    """Return what is timed on a layer with all images."""
    return FP32, HALVES, *CHANGED, OTHER[layer]


# --------------------------------------------------------------------------------------------------
# What padding wastes


@dataclass(frozen=True)
class Useful:
    """Parts of the tensor cores' work that the formula needs: of maps, of terms, of outputs."""

    maps: float
    terms: float
    outputs: float

    @property
    def all(self) -> float:
        """The useful part of all multiply-adds."""
        return self.maps * self.terms * self.outputs


def useful(spec: conv2d.Wmma, shape: ConvShape) -> Useful:
    """Return which part of a kernel's products is useful on a layer."""
    rows, outputs = spec.fragment_rows(shape), shape.out_h * shape.out_w
    return Useful(
        shape.M / (rows * conv2d.ceil_div(shape.M, rows)),
        shape.terms / spec.depth(shape),
        outputs / (COLUMNS * conv2d.ceil_div(outputs, COLUMNS)),
    )


def useful_table(variants: tuple[str, ...] = (HALVES, "16 rows", TF32)) -> str:
    """Return the useful parts by layer and variant."""
    lines = []
    for layer in conv2d.LAYERS:
        shape = conv2d.shape_of(layer, BATCH)
        for variant in variants:
            part = useful(VARIANTS[variant], shape)
            sizes = f"{VARIANTS[variant].fragment_rows(shape)} maps"
            values = part.maps, part.terms, part.outputs, part.all
            lines.append((f"{layer}, {variant}", sizes, *(f"{one:.0%}" for one in values)))
    head = ("useful part of", "fragment", "maps", "terms", "outputs", "all")
    return tables.text(head, lines)


# --------------------------------------------------------------------------------------------------
# Right and wrong

PROMISES: Mapping[str, Precision] = {
    "float32": precision.FLOAT,
    "halves": precision.HALF_TENSOR,
    "TF32": precision.TF32_TENSOR,
    "halves, sums\nin half": precision.HALF_SUMS,
}


def promise_table(outputs: Mapping[str, np.ndarray], x: np.ndarray, filter: np.ndarray) -> str:
    """Return which outputs pass the check of which precision."""
    lines = []
    for name, y in outputs.items():
        words = []
        for promise in PROMISES.values():
            try:
                conv2d.check(y, x, filter, precision=promise)
                words.append("yes")
            except checking.CheckError:
                words.append("no")
        lines.append((name, *words))
    return tables.text(("passes the check of", *PROMISES), lines)


def broken(*changes: tuple[str, str]) -> str:
    """Return findings and the check's verdict on the kernel with a changed source, in layer 1.

    changes: pairs of old and new text. Raises ValueError if the source lacks an old one.
    """
    source = changed(kernels.source(WMMA), *changes)
    x, filter = conv2d.inputs("layer 1", 1)
    y, (found,) = conv2d.simulate(
        VARIANTS["16 rows"], x, filter, entry=simulator.check, instead={WMMA: (WMMA, source)}
    )
    told = str(found[0]) if found else "no finding"
    try:
        verdict = conv2d.check(y, x, filter, WMMA, precision=precision.HALF_TENSOR)
    except checking.CheckError as error:
        return "\n".join(
            (told, str(error).splitlines()[0], textwrap.fill(error.diagnosis.text, 96))
        )
    return f"{told}\nPASS {verdict.name}"


# --------------------------------------------------------------------------------------------------
# Measuring


def measure() -> Iterator[Row]:
    """Yield the rows of the record "303_wmma", measured on the selected GPU.

    Times: series (the kernel), variant, layer, batch, relative_error. Series "ratio": a variant
    over `HALVES`.
    """
    for layer in LAYERS:
        yield from _time_layer(layer, BATCH, variants_of(layer))
        for batch in COUNTS:
            yield from _time_layer(layer, batch, (FP32, HALVES))


def _time_layer(layer: str, batch: int, variants: tuple[str, ...]) -> Iterator[Row]:
    where = {"layer": layer, "batch": batch}
    specs = {one: FLOAT if one == FP32 else VARIANTS[one] for one in variants}
    with layers.layer(layer, batch).on_device() as there:
        ready = {variant: there.ready(spec) for variant, spec in specs.items()}
        for variant, one in ready.items():
            own = {"series": one.kernel.name, "variant": variant, "relative_error": one.error}
            yield {**own, **where, "timing": one.time(0.25)}
        for variant in (variant for variant in variants if variant != HALVES):
            ratio = ready[variant].over(ready[HALVES], 0.3).to_row()
            yield {"series": "ratio", "variant": variant, **where, **ratio}


# --------------------------------------------------------------------------------------------------
# Reading the record


def time_rows(record: Record) -> dict[tuple[str, str, int], Row]:
    """Return the times by variant, layer and batch."""
    rows = (row for row in record.rows() if "median_ms" in row)
    return {(row["variant"], row["layer"], row["batch"]): row for row in rows}


def ratio_row(record: Record, variant: str, layer: str, batch: int = BATCH) -> Row:
    """Return the ratio of a variant's time over that of `HALVES`."""
    for row in record.rows():
        where = row.get("variant"), row.get("layer"), row.get("batch")
        if row["series"] == "ratio" and where == (variant, layer, batch):
            return row
    raise ValueError(f"the record {record.name} does not compare {variant} on {layer}, {batch:,}")


def halves_over_float(record: Record, layer: str, batch: int = BATCH) -> dict[str, float]:
    """Return the ratio of the time of `HALVES` over that of float32, with its interval."""
    row = ratio_row(record, FP32, layer, batch)
    return {"ratio": 1 / row["ratio"], "low": 1 / row["high"], "high": 1 / row["low"]}


def peak(variant: str) -> float:
    """Return the published flop/s of the units that a variant multiplies on, of an H200."""
    units = {FP32: "fp32", TF32: "tensor_tf32"}.get(variant, "tensor_half")
    if units == "fp32":
        return 2 * 32 * _published("fp32")  # instructions of a warp, two flop in each lane
    return _published(units)


def measured_peak(resource: str = "tensor_half") -> float:
    """Return the most flop/s that `mma` reached in a kernel of nothing else, on an H200."""
    return bounds.rates("H200").by_resource[resource].per_second


def _published(resource: str) -> float:
    value = bounds.RESOURCES[resource].published
    if value is None:
        raise ValueError(f"NVIDIA publishes no rate of {resource}")
    return value


def speed_table(record: Record) -> str:
    """Return times, speeds, their part of the peak without and with padding, and errors."""
    lines = []
    for (variant, layer, batch), row in time_rows(record).items():
        if batch != BATCH:
            continue
        shape = conv2d.shape_of(layer, BATCH)
        speed = limits.conv2d(shape).flops / row["median_ms"] * 1e3
        part = speed / peak(variant)
        padded = part if variant == FP32 else part / useful(VARIANTS[variant], shape).all
        lines.append((
            f"{layer}, {variant}", f"{row['median_ms']:.3f}", f"{speed / 1e12:.1f}",
            f"{part:.1%}", f"{padded:.1%}", f"{row['relative_error']:.0e}",
        ))  # fmt: skip
    head = (
        f"{BATCH:,} images",
        "ms",
        "TFLOP/s",
        "of the\npeak",
        "with\npadding",
        "relative\nerror",
    )
    return tables.text(head, lines)


def ratio_table(record: Record) -> str:
    """Return the variants' times over that of `HALVES`, with intervals."""
    lines = []
    for layer in LAYERS:
        for variant in (*CHANGED, OTHER[layer]):
            row = ratio_row(record, variant, layer)
            interval = f"{row['ratio']:.3f} ({row['low']:.3f} to {row['high']:.3f})"
            lines.append((f"{layer}, {variant}", interval, Ratio.of_row(row).words()))
    return tables.text((f"over {HALVES}", "time (95 % interval)", ""), lines, left=(0, 2))


def batch_table(record: Record) -> str:
    """Return the halves beside float32 by the number of images."""
    lines = []
    for layer in LAYERS:
        for batch in (*COUNTS, BATCH):
            row = halves_over_float(record, layer, batch)
            ratio = Ratio.of_row(row)
            lines.append((f"{layer}, {batch:,} images", f"{ratio.value:.2f}", ratio.words()))
    return tables.text(("half over float32", "time", ""), lines, left=(0, 2))


def reported_table(record: Record) -> str:
    """Return the fastest of the course reports for both layers, and ours."""
    best: dict[str, tuple[float, str]] = {}
    for row in results.reported("course_reports"):
        # The streams' op times are those of launches: lab 113.
        if row["batch"] == BATCH and row["report"] in "ABC" and row["optimization"] != "streams":
            one = row["op1_ms"] + row["op2_ms"], row["optimization"]
            best[row["report"]] = min(best.get(row["report"], one), one)
    lines = [(f"report {report}, {how}", f"{total:.1f}") for report, (total, how) in best.items()]
    rows = time_rows(record)
    for variant in (FP32, HALVES, TF32):
        total = sum(rows[variant, layer, BATCH]["median_ms"] for layer in LAYERS)
        lines.append((f"ours, {variant}, on another GPU", f"{total:.2f}"))
    return tables.text((f"both layers, {BATCH:,} images", "ms"), lines)


# --------------------------------------------------------------------------------------------------
# Floors

DRAM, SHARED, UNITS = "DRAM", "L1 and shared memory", "arithmetic units"


def floors(variant: str, layer: str) -> dict[str, float]:
    """Return the least time in ms that each resource takes for this variant's launch.

    DRAM and shared memory: from the recorded bounds, the launch's counts over the best rates that
    were measured on an H200. Arithmetic units: the products, with padding, over the best rate of
    `mma` or of float32 instructions.
    """
    where = f"{layer}, {BATCH:,} images, {variant}"
    (row,) = (
        one for one in bound_ratios.recorded()["rows"]
        if (one["record"], one["where"]) == (RECORD, where)
    )  # fmt: skip
    shares = row["shares_us"]
    if variant == FP32:
        units = shares["fp32"]
    else:
        shape, spec = conv2d.shape_of(layer, BATCH), VARIANTS[variant]
        rate = measured_peak("tensor_tf32" if spec.tf32 else "tensor_half")
        units = 1e6 * limits.conv2d(shape).flops / useful(spec, shape).all / rate
    in_us = {DRAM: shares["dram"], SHARED: shares["l1_data"], UNITS: units}
    return {name: one / 1e3 for name, one in in_us.items()}


def floor_table(record: Record) -> str:
    """Return the floors of each variant beside its time."""
    rows, lines = time_rows(record), []
    for layer in LAYERS:
        for variant in variants_of(layer):
            least, ms = floors(variant, layer), rows[variant, layer, BATCH]["median_ms"]
            top = max(least, key=lambda name: least[name])
            values = (f"{one:.2f}" for one in (*least.values(), ms))
            lines.append((f"{layer}, {variant}", *values, f"{least[top] / ms:.0%}", top))
    head = (
        "ms, at least, for", DRAM, "L1 and\nshared", "arithmetic\nunits", "measured",
        "highest over\nmeasured", "highest",
    )  # fmt: skip
    return tables.text(head, lines, left=(0, 6))


def time_figure(record: Record) -> Figure:
    """Draw the times of all variants, each with its own floors."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 1, figsize=(11, 7.4), layout="constrained")
    for ax, layer in zip(axes, LAYERS, strict=True):
        _draw_times(ax, record, layer)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=3, frameon=False,
        title="no launch of this kernel can be faster than its marks, because of",
    )  # fmt: skip
    plotting.caption(axes[1], record)
    return figure


def _draw_times(ax: Axes, record: Record, layer: str) -> None:
    rows, names = time_rows(record), variants_of(layer)
    for place, variant in enumerate(names):
        row = rows[variant, layer, BATCH]
        color = styles.LIGHT[0] if variant == FP32 else "white"
        ax.barh(place, row["median_ms"], 0.7, color=color, edgecolor=styles.INK)
        styles.beside(ax, row["median_ms"], place, f"{row['median_ms']:.2f}")
    marks = {DRAM: "o", SHARED: "D", UNITS: "^"}
    for number, (name, marker) in enumerate(marks.items()):
        at = [floors(variant, layer)[name] for variant in names]
        ax.plot(at, range(len(names)), marker, color=styles.COLOURS[number], label=name, ms=7)
    styles.name_bars(ax, names)
    ax.set_xlim(0)
    ax.set_xlabel(f"op time (ms), cold caches, {BATCH:,} images")
    words = Ratio.of_row(halves_over_float(record, layer)).words()
    plotting.style(ax, f"{layer}: tensor cores with halves, beside lab 112's kernel: {words}")


def reach(layer: str, record: Record) -> float:
    """Return the part of the tensor cores' peak that DRAM allows a layer, float32 in and out."""
    work = limits.conv2d(conv2d.shape_of(layer, BATCH))
    return work.intensity * _bandwidth(record) / peak(HALVES)


def _bandwidth(record: Record) -> float:
    value = record.device.dram_bandwidth
    if value is None:
        raise ValueError(f"the DRAM bandwidth of {record.device.name} is not known")
    return value


def roofline_figure(record: Record) -> Figure:
    """Draw both layers under the roofs of DRAM, the tensor cores and the FP32 units."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(10, 4.8), layout="constrained")
    bandwidth, at = _bandwidth(record), np.logspace(0.5, 3.5, 500)
    for variant, line, label in (
        (HALVES, "-", "tensor cores, halves"), (FP32, "--", "FP32 units")
    ):  # fmt: skip
        roof = np.minimum(at * bandwidth, peak(variant)) / 1e12
        ax.plot(at, roof, line, color=styles.INK, label=f"roof: {label}")
    rows = time_rows(record)
    for layer, marker in zip(LAYERS, styles.MARKERS, strict=False):
        work = limits.conv2d(conv2d.shape_of(layer, BATCH))
        for variant in (FP32, HALVES):
            speed = work.flops / rows[variant, layer, BATCH]["median_ms"] / 1e9
            face = "white" if variant == FP32 else styles.COLOURS[0]
            ax.plot(
                work.intensity, speed, marker, color=styles.COLOURS[0], markerfacecolor=face,
                ms=8, label=f"{layer}, {variant}",
            )  # fmt: skip
    parts = ", ".join(f"{reach(layer, record):.0%} in {layer}" for layer in LAYERS)
    plotting.style(ax, f"DRAM allows this part of the tensor cores' peak: {parts}")
    ax.set(xscale="log", yscale="log", ylabel="TFLOP/s")
    ax.set_xlabel("flop for each byte of DRAM, float32 in and out")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(styles.PlainLogFormatter())
    ax.minorticks_off()
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.01, 1))
    plotting.caption(ax, record)
    return figure
