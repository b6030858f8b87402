"""Patches of outputs in registers: what their threads load, and their times.

`measure` makes the record "112_register". `loads` counts in the simulator how many words a thread
loads for a multiply-add, from each memory. `layer_counters` has Nsight Compute's counters of the
same kernels, and `register_sizes` what their sizes take of a multiprocessor.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import checking, device, launch, limits, plotting, simulator, tables
from helpers.bench import layers, results
from helpers.bench.ratios import Ratio
from helpers.bench.sources import Changes, changed
from helpers.experiments import layer_counters, layer_tiles, ncu, sass
from helpers.launch import Plan
from helpers.limits import ConvShape
from helpers.plotting import styles
from helpers.problems import conv2d

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
    from helpers.simulator import Profile

BASIC, MAPPED = "conv2d_basic", "conv2d_tiled_maps"
PATCH, BEST = "conv2d_register", "conv2d_register_tiled"
KERNELS = (BASIC, MAPPED, PATCH, BEST)
LAYERS, OTHERS = ("layer 1", "layer 2"), ("layer E1", "layer E2")
BATCH = 10_000
SMALLER = (1_000, 100)  # images of further timings
MEMORIES = ("global", "shared", "constant")
FLOAT_BYTES = 4

# conv2d_register with its filter in constant memory: a change of its source.
CONSTANT_FILTER: Changes = (
    (" x, const float* __restrict__ filter,", " x,"),
    ('extern "C"', '__constant__ float filter[FILTER_WORDS];\n\nextern "C"'),
)
# The same kernel with loops that stay loops: the index into `cell` is not known to the compiler.
NOT_UNROLLED: Changes = (("#pragma unroll", "#pragma unroll 1"),)


def constant_plan(shape: ConvShape) -> Plan:
    """Return the launch of conv2d_register with its filter in constant memory."""
    (one,) = replace(conv2d.conv2d_named(PATCH), filter_in="constant").plan(shape)
    words = f"-DFILTER_WORDS={math.prod(shape.filter_shape)}"
    source = changed(one.source, *CONSTANT_FILTER)
    return (replace(one, source=source, options=(*one.options, words)),)


# --------------------------------------------------------------------------------------------------
# Measuring


def measure() -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the record "112_register", measured on the selected GPU.

    Times of KERNELS on LAYERS, and of the last one on all layers and smaller batches. Series
    "ratio": one kernel's time over another's. Series "constant filter": that of conv2d_register
    with its filter in constant memory over its own.
    """
    for layer in LAYERS:
        yield from _measure_layer(layer, BATCH, KERNELS)
    others = [(layer, BATCH) for layer in OTHERS]
    smaller = [(layer, batch) for layer in (*LAYERS, *OTHERS) for batch in SMALLER]
    for layer, batch in (*others, *smaller):
        yield from _measure_layer(layer, batch, (BEST,))


def _measure_layer(layer: str, batch: int, wanted: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    where = {"layer": layer, "batch": batch}
    problem = layers.layer(layer, batch)
    with problem.on_device() as there:
        ready = {}
        for kernel in wanted:
            one = ready[kernel] = there.ready(kernel)
            yield {"series": kernel, **where, "relative_error": one.error, "timing": one.time(0.4)}
        if len(wanted) == 1:
            return
        for kernel, over in ((PATCH, MAPPED), (BEST, PATCH)):
            ratio = ready[kernel].over(ready[over], 0.6).to_row()
            yield {"series": "ratio", "layer": layer, "kernel": kernel, "over": over, **ratio}
        variant = problem.kernel(PATCH, filter_in="constant")
        constant = variant.changed(*CONSTANT_FILTER, label="filter in constant memory")
        ratio = there.ready(constant).over(ready[PATCH], 0.6).to_row()
        yield {"series": "constant filter", "layer": layer, "kernel": PATCH, **ratio}


CONSTANT_COUNTERS = "112_constant_filter"


def launch_constant() -> None:
    """Launch conv2d_register on LAYERS, as it is and with its filter in constant memory."""
    device.select()
    import pycuda.driver as cuda

    rng = np.random.default_rng(13)  # no counter depends on the values
    for layer in LAYERS:
        shape = conv2d.shape_of(layer, BATCH)
        x, filter = (
            rng.random(size, dtype=np.float32) for size in (shape.x_shape, shape.filter_shape)
        )
        there = [cuda.mem_alloc(4 * shape.outputs), cuda.to_device(x), cuda.to_device(filter)]
        y_there, x_there, filter_there = map(int, there)
        spec = conv2d.conv2d_named(PATCH)
        for run in (
            conv2d.compile(spec, shape),
            conv2d.compile(replace(spec, filter_in="constant"), shape, constant_plan(shape)),
        ):
            run.launch(y_there, x_there, filter_there)
            cuda.Context.synchronize()
        for array in there:
            array.free()


def count_constant() -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the record "112_constant_filter", by Nsight Compute. Raises NcuError."""
    launch_constant()  # Compile first: ncu would also follow the compiler's processes.
    launches = [(filter, layer) for layer in LAYERS for filter in ("global", "constant")]
    metrics = layer_counters.METRICS
    command = [sys.executable, "-m", "helpers.experiments.register_tiles", "--launch"]
    readings = ncu.read(command, tuple(metrics.values()), [PATCH] * len(launches))
    for (filter, layer), one in zip(launches, readings, strict=True):
        values = {column: one.get(metric) for column, metric in metrics.items()}
        yield {"series": PATCH, "filter": filter, "layer": layer, "batch": BATCH, **values}


# --------------------------------------------------------------------------------------------------
# Counting


@cache
def profile(spec: conv2d.Conv2d, layer: str) -> Profile:
    """Run one image of a layer in the simulator; the watched warp is the first of block 0."""
    _, (seen,) = conv2d.simulate(
        spec, *conv2d.inputs(layer, 1), watch=((0, 0, 0), 0), checks=False
    )
    return seen


def loads(kernel: str, layer: str) -> dict[str, float]:
    """Return the words that threads load for a multiply-add of the formula, by memory."""
    shape = conv2d.shape_of(layer, 1)
    seen = profile(conv2d.conv2d_named(kernel), layer)
    words = FLOAT_BYTES * shape.outputs * shape.terms
    return {memory: seen.total("bytes_used", memory, "load") / words for memory in MEMORIES}


def loads_table() -> str:
    """Return the words that threads load for a multiply-add, by kernel and memory."""
    head = ("words loaded for a multiply-add", *MEMORIES, "together")
    rows = []
    for layer in LAYERS:
        for kernel in KERNELS:
            words = loads(kernel, layer)
            values = (*words.values(), sum(words.values()))
            rows.append((f"{layer}, {kernel}", *(f"{value:.3f}" for value in values)))
    return tables.text(head, rows)


def sectors_per_load(kernel: str, layer: str = LAYERS[0]) -> float:
    """Return the sectors that one load request of x touches, on average."""
    seen = profile(conv2d.conv2d_named(kernel), layer)
    sectors, requests = (
        seen.total(what, "global", "load", "x") for what in ("sectors", "requests")
    )
    return sectors / requests


def rates_table() -> str:
    """Return how many instructions of warps an H200 starts in a nanosecond, of two kinds.

    They are the largest rates of the record "rates_h200".
    """
    record = results.load(results.MEASURED / "rates_h200.json")
    found = {}
    for series in ("fp32", "lsu"):
        rows = [row for row in record.rows() if row["series"] == series]
        found[series] = max(1e-6 * row["amount"] / row["median_ms"] for row in rows)
    lines = [
        (name, f"{found[series]:,.0f}", f"{found[series] / record.device.multiprocessors:.1f}")
        for name, series in (("multiply-adds", "fp32"), ("loads that the L1 cache answers", "lsu"))
    ]
    head = ("of whole warps, in a nanosecond", "the GPU", "one multi-\nprocessor")
    times_as_many = found["fp32"] / found["lsu"]
    words = f"{times_as_many:.1f} multiply-adds start in the time of one load."
    return f"{tables.text(head, lines)}\n{words} {record.caption()}"


def unrolling_table() -> str:
    """Compile conv2d_register with and without unrolled loops; return what it takes.

    The compiler is that of the selected device.
    """
    spec, shape = conv2d.conv2d_named(PATCH), conv2d.shape_of(LAYERS[0], 1)
    head = (PATCH, "registers\nof a thread", "bytes of\nlocal memory")
    rows = []
    forms: tuple[tuple[str, Changes], ...] = (
        ("as it is", ()),
        ("with #pragma unroll 1", NOT_UNROLLED),
    )
    for name, changes in forms:
        (one,) = spec.plan(shape)
        plan = (replace(one, source=changed(one.source, *changes)),)
        function = conv2d.compile(spec, shape, plan).function
        rows.append((name, str(function.num_regs), str(function.local_size_bytes)))
    return tables.text(head, rows)


def trial(
    spec: conv2d.Conv2d, layer: str, changes: Changes = (), *, plain_filter: bool = False
) -> str:
    """Run a changed kernel on one image; return its first error, or what a check of values says.

    plain_filter: upload the filter as (M, C, K, K), whatever order the kernel reads.
    """
    x, filter = conv2d.inputs(layer, 1)
    shape = conv2d.shape_for(x, filter)
    (one,) = spec.plan(shape)
    plan = (replace(one, source=changed(one.source, *changes)),)
    y = np.full(shape.y_shape, np.nan, np.float32)
    arrays = {"y": y, "x": x, "filter": filter}
    more = {"constants": {"filter": filter}} if plain_filter else {}
    (found,) = launch.simulate(plan, arrays, simulator.check, **more)
    errors = [finding for finding in found if finding.severity == "error"]
    if errors:
        return str(errors[0].brief())
    try:
        return f"no finding. {conv2d.check(y, x, filter, 'the values')}"
    except checking.CheckError as error:
        return f"no finding. {str(error).splitlines()[0]}"


# --------------------------------------------------------------------------------------------------
# Reading the records


def times(record: Record) -> dict[tuple[str, str, int], Mapping[str, Any]]:
    """Return the times by kernel, layer and images."""
    rows = (row for row in record.rows() if "median_ms" in row)
    return {(row["series"], row["layer"], row["batch"]): row for row in rows}


def floor_ms(record: Record, layer: str, batch: int = BATCH) -> float:
    """Return the roofline floor of a layer on the record's device."""
    work = limits.conv2d(conv2d.shape_of(layer, batch))
    return 1e3 * limits.floor(work, record.device).seconds


def share_of_roof(record: Record, layer: str, kernel: str = BEST, batch: int = BATCH) -> float:
    """Return a kernel's speed as a share of what the roof allows."""
    return floor_ms(record, layer, batch) / times(record)[kernel, layer, batch]["median_ms"]


def _with_maps(kernel: str) -> str:
    """Return the name of a kernel in a table, with the maps of the one that lab 111 leaves open."""
    maps = conv2d.conv2d_named(MAPPED).tile[2]
    return f"{kernel}, {maps} maps" if kernel == MAPPED else kernel


def steps_table(record: Record) -> str:
    """Return the four kernels' times on the two layers, and each step's gain."""
    timed = times(record)
    ratios = {
        (row["kernel"], row["layer"]): row for row in record.rows() if row["series"] == "ratio"
    }
    head = (f"{BATCH:,} images", "ms", "of the roof's\nspeed", "beside the kernel above")
    rows = []
    for layer in LAYERS:
        for kernel in KERNELS:
            ratio = ratios.get((kernel, layer))
            rows.append(
                (
                    f"{layer}, {_with_maps(kernel)}",
                    f"{timed[kernel, layer, BATCH]['median_ms']:.2f}",
                    f"{share_of_roof(record, layer, kernel):.0%}",
                    Ratio.of_row(ratio).words() if ratio else "",
                )
            )
    return tables.text(head, rows, left=(0, 3))


def constant_words(record: Record) -> str:
    """Return how conv2d_register with its filter in constant memory compares with itself."""
    rows = [row for row in record.rows() if row["series"] == "constant filter"]
    if not rows:
        return f"{PATCH}, its filter in constant memory: this record has no time of it"
    return "\n".join(
        f"{row['layer']}, {PATCH}, its filter in constant memory: {Ratio.of_row(row).words()}"
        for row in rows
    )


def constant_code_table(layer: str = LAYERS[0]) -> str:
    """Return what the machine code of conv2d_register has, with its filter in either memory."""
    shape = conv2d.shape_of(layer, 1)
    plans = {
        "filter in global memory": conv2d.conv2d_named(PATCH).plan(shape),
        "in constant memory": constant_plan(shape),
    }
    codes = {
        name: sass.assembled(one.name, one.options, source=one.source)
        for name, (one,) in plans.items()
    }
    return sass.table(codes, ("LDG", "ULDC", "FFMA"))


def constant_counters_table(counters: Record) -> str:
    """Return what Nsight Compute counted of conv2d_register, with its filter in either memory.

    counters: "112_constant_filter".
    """
    head = ("filter of conv2d_register", "instructions\n(millions)",
            "longest waits, in warps for an instruction that starts")  # fmt: skip
    rows = []
    for row in counters.rows():
        waits = ", ".join(f"{why} {warps:.1f}" for why, warps in layer_counters.stalls(row, 2))
        count = f"{row['instructions'] / 1e6:,.0f}"
        rows.append((f"{row['layer']}, in {row['filter']} memory", count, waits))
    return tables.text(head, rows, left=(0, 2))


def sizes_measured_table(record: Record) -> str:
    """Return the times of conv2d_register_tiled on all layers and batches."""
    head = (BEST, "images", "ms", "us for\nan image", "of the roof's\nspeed", "relative\nerror")
    rows = []
    for (kernel, layer, batch), row in sorted(times(record).items(), key=_by_layer):
        if kernel == BEST:
            each = 1e3 * row["median_ms"] / batch
            share = share_of_roof(record, layer, batch=batch)
            values = (f"{row['median_ms']:.4f}", f"{each:.4f}", f"{share:.0%}")
            rows.append((layer, f"{batch:,}", *values, f"{row['relative_error']:.0e}"))
    return tables.text(head, rows)


def _by_layer(item: tuple[tuple[str, str, int], Any]) -> tuple[str, int]:
    (_, layer, batch), _ = item
    return layer, -batch


def issue_table(counters: Record, record: Record) -> str:
    """Return which part of the issue slots did useful work, and the part of the peak.

    counters: "112_counters" of `layer_counters`; record: "112_register".
    """
    timed = times(record)
    head = ("", "slots\nused", "of these\nuseful", "product", "of the peak,\nby the clock",
            "warps\npresent", "DRAM\nbusy")  # fmt: skip
    rows = []
    for row in counters.rows():
        flops = limits.conv2d(conv2d.shape_of(row["layer"], row["batch"])).flops
        useful = flops / 64 / row["instructions"]  # a multiply-add of a whole warp is 64 flop
        seconds = 1e-3 * timed[row["series"], row["layer"], row["batch"]]["median_ms"]
        peak = record.device.fp32_peak
        assert peak is not None
        busy = row["issue_slots_busy"] / 100
        shares = (busy, useful, busy * useful, flops / seconds / peak)
        more = (row["warps_active"] / 100, row["dram_throughput"] / 100)
        cells = (f"{share:.0%}" for share in (*shares, *more))
        rows.append((f"{row['layer']}, {row['series']}", *cells))
    return tables.text(head, rows)


def waits_table(counters: Record) -> str:
    """Return what the warps of each kernel wait for most."""
    head = ("warps that wait, for an instruction that starts", "longest waits")
    rows = []
    for row in counters.rows():
        waits = layer_counters.stalls(row, 3)
        words = ", ".join(f"{reason} {warps:.1f}" for reason, warps in waits)
        rows.append((f"{row['layer']}, {row['series']}", words))
    return tables.text(head, rows, left=(0, 1))


def reported_table(record: Record) -> str:
    """Return the fastest kernels of the course reports on both layers, and ours."""
    fastest: dict[str, tuple[float, str]] = {}
    for row in results.reported("course_reports"):
        if row["batch"] != BATCH or row["report"] not in "ABC" or row["optimization"] == "streams":
            continue
        one = row["op1_ms"] + row["op2_ms"], row["optimization"]
        fastest[row["report"]] = min(fastest.get(row["report"], one), one)
    rows = [
        (f"report {report}: {how}", f"{ms:.1f}") for report, (ms, how) in sorted(fastest.items())
    ]
    timed = times(record)
    for kernel in KERNELS:
        ours = sum(timed[kernel, layer, BATCH]["median_ms"] for layer in LAYERS)
        rows.append((f"ours: {_with_maps(kernel)}", f"{ours:.1f}"))
    floor = sum(floor_ms(record, layer) for layer in LAYERS)
    rows.append((f"roofline floor, {record.device.name}", f"{floor:.1f}"))
    return tables.text((f"both layers, {BATCH:,} images", "ms"), rows)


# --------------------------------------------------------------------------------------------------
# Figures


def patch_figure(outputs: int = 4, filter_width: int = 7) -> Figure:
    """Draw which cell of a row meets which weight, for neighbouring outputs of a patch."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import Rectangle

    cells = outputs + filter_width - 1
    figure, ax = plt.subplots(figsize=(9, 3), layout="constrained")
    for o in range(outputs):
        for i in range(cells):
            q = i - o
            met = 0 <= q < filter_width
            face = "#bcd3ee" if met else "white"
            ax.add_patch(Rectangle((i, o), 1, 1, facecolor=face, edgecolor=styles.INK))
            ax.text(i + 0.5, o + 0.5, f"q={q}" if met else "", ha="center", va="center")
    title = (
        f"{cells} loaded cells serve {outputs * filter_width} multiply-adds of {outputs} "
        "neighbouring outputs, for each output map"
    )
    plotting.style(ax, title)
    ax.set(xlim=(0, cells), ylim=(outputs, 0))
    ax.set_xticks(np.arange(cells) + 0.5, [f"w+{i}" for i in range(cells)])
    ax.set_yticks(np.arange(outputs) + 0.5, [f"y[w+{o}]" for o in range(outputs)])
    ax.set_xlabel("column of the cell, in a register (in a box: the weight q that it meets)")
    ax.set_ylabel("output of the patch")
    return figure


def loads_figure() -> Figure:
    """Draw the words that a thread loads for a multiply-add, by the memory they come from."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(12, 3.4), sharey=True, layout="constrained")
    for ax, layer in zip(axes, LAYERS, strict=True):
        words = {kernel: loads(kernel, layer) for kernel in KERNELS}
        for y, kernel in enumerate(KERNELS):
            left = 0.0
            for number, memory in enumerate(MEMORIES):
                width = words[kernel][memory]
                label = f"{memory} memory" if y == 0 else None
                ax.barh(y, width, 0.6, left, label=label, **styles.pair_look(number))
                left += width
            styles.beside(ax, left, y, f"{left:.2f}")
        first, last = (sum(words[kernel].values()) for kernel in (BASIC, BEST))
        title = f"{layer}: {first:.2g} loaded words for a multiply-add become {last:.2f}"
        plotting.style(ax, title)
        ax.set_xlim(0, 1.15 * first)
        ax.set_xlabel("words that a thread loads for one multiply-add")
    styles.name_bars(axes[0], KERNELS)  # Both panels have the same vertical axis.
    axes[1].tick_params(axis="y", length=0)
    axes[1].legend(frameon=False, loc="lower right")
    return figure


def access_figure(kernel: str = PATCH, layer: str = LAYERS[0]) -> Figure:
    """Draw what one load request of x of a kernel touches, beside that of conv2d_basic."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(13, 4.4), sharex=True, layout="constrained")
    for ax, one in zip(axes, (BASIC, kernel), strict=True):
        seen = profile(conv2d.conv2d_named(one), layer)
        request = next(r for r in seen.requests if (r.array, r.kind) == ("x", "load"))
        touched = len({offset // 32 for offset in request.offsets})
        title = f"{one}: one load request touches {touched} sectors"
        plotting.access_map(ax, seen, array="x", first=1, title=title)
    return figure


def ladder_figure(record: Record) -> Figure:
    """Draw the four kernels' times on each layer, with the floor."""
    import matplotlib.pyplot as plt

    timed = times(record)
    tiles = results.load(results.MEASURED / "111_tiles.json")
    figure, axes = plt.subplots(2, 1, figsize=(10, 7), layout="constrained")
    for ax, layer in zip(axes, LAYERS, strict=True):
        maps, ms = layer_tiles.fastest(tiles, layer)
        gain = ms / timed[BEST, layer, BATCH]["median_ms"]
        title = (
            f"{layer}: registers and tile together are {gain:.1f} times as fast as "
            f"lab 111's best tile, shared by {maps} maps"
        )
        rows = [timed[kernel, layer, BATCH] for kernel in KERNELS]
        plotting.ladder(ax, rows, floor_ms=floor_ms(record, layer), title=title)
    plotting.caption(axes[1], record)
    return figure


def roofline_figure(record: Record) -> Figure:
    """Draw the four kernels under the roofline of the record's device."""
    import matplotlib.pyplot as plt

    timed = times(record)
    figure, axes = plt.subplots(1, 2, figsize=(13, 4.6), layout="constrained")
    for ax, layer in zip(axes, LAYERS, strict=True):
        work = limits.conv2d(conv2d.shape_of(layer, BATCH))
        points = [
            (kernel, work.intensity, 1e3 * work.flops / timed[kernel, layer, BATCH]["median_ms"])
            for kernel in KERNELS
        ]
        first, last = (share_of_roof(record, layer, kernel) for kernel in (BASIC, BEST))
        title = f"{layer}: from {first:.0%} to {last:.0%} of what the roof allows"
        plotting.roofline(ax, points, record.device, title=title)
    plotting.caption(axes[0], record)
    return figure


def main(argv: Sequence[str] | None = None) -> int:
    """Read the counters and write the record "112_constant_filter"; return the exit status."""
    if list(sys.argv[1:] if argv is None else argv) == ["--launch"]:
        launch_constant()
        return 0
    return ncu.record_here(CONSTANT_COUNTERS, count_constant, "112_conv2d_register_tiling")


if __name__ == "__main__":
    sys.exit(main())
