"""The layer's filter in constant memory: what fits, times, and two suspects for a layer that loses.

`measure` yields the rows of the record "109_constant": conv2d_basic and conv2d_constant in turns on
four layers, and on filters of several sizes. "109_blocks" has both with equally many blocks on a
multiprocessor, and "109_counters" what Nsight Compute counts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import device, plotting, tables
from helpers.bench import results, timing
from helpers.experiments import ncu, sass
from helpers.limits import CONSTANT_BYTES, ConvShape
from helpers.plotting import styles
from helpers.problems import conv2d

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
    from helpers.checking import Verdict
    from helpers.simulator import Profile

BASIC, CONSTANT = "conv2d_basic", "conv2d_constant"
BATCHES = (100, 1_000, 10_000)  # images
MANY = BATCHES[-1]
LENET = ("layer 1", "layer 2")
REPORT_E = ("layer E1", "layer E2")
LAYERS = (*LENET, *REPORT_E)
# (width of the image, maps) as in layers 2 and E2: numbers of channels.
SWEEPS = {(40, 16): (1, 4, 8, 12, 16, 20), (11, 24): (1, 2, 4, 8, 12)}
SWEEP_BATCH = 1_000
FLOAT_BYTES = 4
# Shared memory that a kernel does not use holds its blocks down, and leaves its code as it is. A
# block gets an equal part of 32 KiB. CARVEOUT, in percent, tells the driver how much of it a
# multiprocessor should have; it takes the next larger of its sizes, 64 KiB.
HOLDING, CARVEOUT = 32 * 1024, 14
DRIVER_BYTES, SHARED_UNIT = 1024, 128  # of each block; shared memory is given out in such units
HELD_BLOCKS = (21, 16, 14, 13, 12, 10, 8, 6)
MOST_BLOCKS = 32  # that a multiprocessor holds of any kernel
HELD_LAYER = "layer E2"  # the one that loses



# --------------------------------------------------------------------------------------------------
# What fits, and what the simulator counts


def chunks(maps: int, channels: int, width: int) -> Iterator[tuple[int, int, int, int]]:
    """Yield (first map, maps, first channel, channels) of each launch.

    A launch gets as many whole maps as constant memory holds or, where one map does not fit, as
    many of its channels.
    """
    most = CONSTANT_BYTES // (FLOAT_BYTES * width**2)  # pairs of a map and a channel
    some_maps, some_channels = max(1, most // channels), min(channels, most)
    for m in range(0, maps, some_maps):
        for c in range(0, channels, some_channels):
            yield m, min(some_maps, maps - m), c, min(some_channels, channels - c)


@cache
def profile(kernel: str, layer: str) -> Profile:
    """Return the simulator's counters of one image of a layer."""
    _, (seen,) = conv2d.simulate(kernel, *conv2d.inputs(layer, 1), checks=False)
    return seen


def counter_table() -> str:
    """Return what a warp with outputs asks for on average, in both kernels and layers 1 and 2."""
    head = ("for each warp", "load\nrequests", "load\nsectors", "constant\nrequests", "replays")
    rows = []
    for layer in LENET:
        for kernel in (BASIC, CONSTANT):
            seen = profile(kernel, layer)
            counts = (
                seen.global_load_requests,
                seen.global_load_sectors,
                seen.constant_load_requests,
                seen.constant_load_replays,
            )
            warps = seen.global_store_requests  # each stores once
            rows.append((f"{layer}, {kernel}", *(f"{one / warps:.1f}" for one in counts)))
    return tables.text(head, rows)


def counters_figure(layer: str) -> Figure:
    """Draw requests and sectors of both kernels, on one image of a layer."""
    import matplotlib.pyplot as plt

    basic, constant = (profile(kernel, layer) for kernel in (BASIC, CONSTANT))
    requests = 1 - constant.global_load_requests / basic.global_load_requests
    sectors = 1 - constant.global_load_sectors / basic.global_load_sectors
    figure, ax = plt.subplots(figsize=(9, 3), layout="constrained")
    title = (
        f"{layer}: {requests:.0%} of the load requests disappear, "
        f"but only {sectors:.0%} of the sectors"
    )
    names = ("global_load_requests", "global_load_sectors", "constant_load_requests")
    plotting.compare(ax, basic, constant, counters=names, names=(BASIC, CONSTANT), title=title)
    return figure


# --------------------------------------------------------------------------------------------------
# Measuring


def measure() -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the record "109_constant", measured on the selected GPU."""
    for layer in LAYERS:
        x, filter = conv2d.inputs(layer, MANY)
        for batch in BATCHES:
            with conv2d.Problem(conv2d.shape_of(layer, batch), x[:batch], filter) as problem:
                yield from _time_both("ratio", problem, layer=layer, batch=batch)
    random = np.random.default_rng(8)
    for (width, maps), sizes in SWEEPS.items():
        for channels in sizes:
            shape = ConvShape(B=SWEEP_BATCH, C=channels, M=maps, H=width, W=width, K=7)
            x, filter = (
                random.uniform(-1, 1, size).astype(np.float32)
                for size in (shape.x_shape, shape.filter_shape)
            )
            where: dict[str, Any] = {"width": width, "channels": channels}
            where["filter_bytes"] = FLOAT_BYTES * maps * shape.terms
            with conv2d.Problem(shape, x, filter) as problem:
                yield from _time_both("sweep", problem, **where)


def shared_bytes(blocks: int) -> int:
    """Return the dynamic shared memory of a block if so many fit into HOLDING."""
    return HOLDING // blocks // SHARED_UNIT * SHARED_UNIT - DRIVER_BYTES


def measure_blocks() -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the record "109_blocks", measured on the selected GPU.

    Both kernels in turns, with as much shared memory in each block. "blocks": see `shared_bytes`.
    """
    shape, arrays = conv2d.shape_of(HELD_LAYER, MANY), conv2d.inputs(HELD_LAYER, MANY)
    with conv2d.Problem(shape, *arrays) as problem:
        for blocks in HELD_BLOCKS:
            where: dict[str, Any] = {"layer": HELD_LAYER, "batch": MANY, "blocks": blocks}
            yield from _time_both("held", problem, shared=shared_bytes(blocks), **where)


def _time_both(
    series: str, problem: conv2d.Problem, shared: int = 0, **parameters: Any
) -> Iterator[dict[str, Any]]:
    first, first_verdict, first_registers = _prepared(problem, BASIC, shared=shared)
    second, second_verdict, second_registers = _prepared(problem, CONSTANT, shared=shared)
    pair = timing.compare(
        first, second, verdicts=(first_verdict, second_verdict), names=(BASIC, CONSTANT),
        budget_s=0.5, precision=0.002,
    )  # fmt: skip
    for kernel, timed, registers in (
        (BASIC, pair.a, first_registers),
        (CONSTANT, pair.b, second_registers),
    ):
        facts = {"kernel": kernel, **parameters, "registers": registers, "timing": timed}
        yield {"series": f"{series}, {kernel}", **facts}
    ratio = {"ratio": pair.ratio, "low": pair.low, "high": pair.high}
    yield {"series": series, **ratio, **parameters}


def _compiled(shape: ConvShape, kernel: str, shared: int) -> conv2d.Compiled:
    plan = conv2d.conv2d_named(kernel).plan(shape)
    run = conv2d.compile(kernel, shape, tuple(replace(one, shared=shared) for one in plan))
    if shared:
        import pycuda.driver as cuda

        carveout = cuda.function_attribute.PREFERRED_SHARED_MEMORY_CARVEOUT
        run.function.set_attribute(carveout, CARVEOUT)
    return run


def _prepared(
    problem: conv2d.Problem, kernel: str, shared: int
) -> tuple[Callable[[Any], None], Verdict, int]:
    """Return the launch of a kernel that has passed its check, its verdict and its registers.

    shared: bytes of dynamic shared memory of a block.
    """
    run = _compiled(problem.shape, kernel, shared)

    def launch(stream: Any = None) -> None:
        run.launch(problem.y, problem.x, problem.filter, stream)

    problem.poison()
    launch()
    return launch, problem.check(kernel), run.function.num_regs


# --------------------------------------------------------------------------------------------------
# Nsight Compute

COUNTERS = "109_counters"
COUNTED_BATCH = 1_000
# (kernel, argument of `shared_bytes` or 0, layer)
COUNTED = (
    *((kernel, 0, layer) for layer in LAYERS for kernel in (BASIC, CONSTANT)),
    *((kernel, blocks, HELD_LAYER) for blocks in HELD_BLOCKS for kernel in (BASIC, CONSTANT)),
)


def launch_counted() -> None:
    """Launch all of COUNTED once on the GPU; ncu runs this in a process of its own."""
    device.select()
    import pycuda.driver as cuda

    rng = np.random.default_rng(9)  # no counter depends on the values
    for kernel, blocks, layer in COUNTED:
        shape = conv2d.shape_of(layer, COUNTED_BATCH)
        x, filter = (
            rng.random(size, dtype=np.float32) for size in (shape.x_shape, shape.filter_shape)
        )
        there = [cuda.mem_alloc(4 * shape.outputs), cuda.to_device(x), cuda.to_device(filter)]
        y_there, x_there, filter_there = map(int, there)
        run = _compiled(shape, kernel, shared=shared_bytes(blocks) if blocks else 0)
        run.launch(y_there, x_there, filter_there)
        cuda.Context.synchronize()
        for array in there:
            array.free()


def count() -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the record "109_counters": `layer_caches.METRICS` for each of COUNTED.

    Raises NcuError.
    """
    from helpers.experiments.layer_caches import METRICS

    launch_counted()  # Compile first: ncu would also follow the compiler's processes.
    metrics = METRICS | {"shared_of_a_multiprocessor": "launch__shared_mem_config_size"}
    command = [sys.executable, "-m", "helpers.experiments.layer_constant", "--launch"]
    readings = ncu.read(command, tuple(metrics.values()), [kernel for kernel, *_ in COUNTED])
    for (kernel, blocks, layer), one in zip(COUNTED, readings, strict=True):
        values = {column: one.get(metric) for column, metric in metrics.items()}
        common = {"kernel": kernel, "blocks": blocks, "layer": layer, "batch": COUNTED_BATCH}
        yield {"series": kernel, **common, **values}


# --------------------------------------------------------------------------------------------------
# Reading the record


def ratios_of(record: Record) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the rows of the ratio (global over constant) by layer and number of images."""
    return {(row["layer"], row["batch"]): row for row in _rows(record, "ratio")}


def swept(record: Record, width: int) -> list[dict[str, Any]]:
    """Return the rows of the sweep over filter sizes, for images of one width."""
    return [row for row in _rows(record, "sweep") if row["width"] == width]


def _rows(record: Record, series: str) -> list[dict[str, Any]]:
    return [measurement.row() for measurement in record.series(series)]


def timed(record: Record, kernel: str, layer: str, batch: int, series: str = "ratio") -> dict:
    """Return the timed row of one kernel, with its registers."""
    rows = _rows(record, f"{series}, {kernel}")
    return next(row for row in rows if (row["layer"], row["batch"]) == (layer, batch))


def verdict(row: Mapping[str, Any]) -> str:
    """Return "faster", "slower", or "no measurable difference" where the interval contains 1."""
    if row["low"] <= 1 <= row["high"]:
        return "no measurable difference"
    return "faster" if row["ratio"] > 1 else "slower"


def says(row: Mapping[str, Any]) -> str:
    """Return how a ratio reads in a sentence."""
    judged = verdict(row)
    return judged if judged.startswith("no") else f"{row['ratio']:.3f}x as fast"


def ratio_table(record: Record) -> str:
    """Return both kernels' times and their ratio, for each layer and number of images."""
    head = ("layer", "images", "global\nms", "constant\nms", "times\nas fast", "95 % interval", "")
    rows = []
    for (layer, batch), row in ratios_of(record).items():
        ms = [timed(record, one, layer, batch)["median_ms"] for one in (BASIC, CONSTANT)]
        interval = f"{row['low']:.3f} to {row['high']:.3f}"
        cells = *(f"{one:.3f}" for one in ms), f"{row['ratio']:.3f}", interval, verdict(row)
        rows.append((layer, f"{batch:,}", *cells))
    return tables.text(head, rows, left=(0, 6))


def situation_table(counted: Record) -> str:
    """Return what Nsight Compute counted for both kernels on all layers, from "109_counters"."""
    head = (
        "1,000 images", "registers", "warps\npresent", "constant reads\nthat missed",
        "schedulers\nbusy",
    )  # fmt: skip
    rows = []
    for row in counted.rows():
        if not row["blocks"]:
            missed = row["constant_misses"] / (row["constant_hits"] + row["constant_misses"])
            name = f"{row['layer']}, {row['kernel']}"
            cells = (
                f"{row['warps_active']:.0f} %", f"{missed:.2%}", f"{row['issue_slots_busy']:.0f} %",
            )  # fmt: skip
            rows.append((name, str(row["registers"]), *cells))
    return tables.text(head, rows)


def held_table(record: Record, counted: Record) -> str:
    """Return times with the same room for blocks for both kernels, from "109_blocks".

    counted: "109_counters", for the warps that were present and the multiprocessor's shared memory.
    """
    there = {(row["kernel"], row["layer"], row["blocks"]): row for row in counted.rows()}
    head = (
        "10,000 images", "room for\nblocks", "warps present,\nglobal / constant", "global\nms",
        "constant\nms", "times\nas fast", "95 % interval",
    )  # fmt: skip
    rows = []
    for row in _rows(record, "held"):
        layer, blocks = row["layer"], row["blocks"]
        if layer != HELD_LAYER:
            continue
        both = [there[kernel, layer, blocks] for kernel in (BASIC, CONSTANT)]
        warps = " / ".join(f"{one['warps_active']:.0f} %" for one in both)
        each = shared_bytes(blocks) + DRIVER_BYTES
        room = min(MOST_BLOCKS, both[0]["shared_of_a_multiprocessor"] // each)
        ms = [
            f"{one['median_ms']:.2f}"
            for kernel in (BASIC, CONSTANT)
            for one in _rows(record, f"held, {kernel}")
            if (one["layer"], one["blocks"]) == (layer, blocks)
        ]
        interval = f"{row['low']:.3f} to {row['high']:.3f}"
        rows.append((layer, str(room), warps, *ms, f"{row['ratio']:.3f}", interval))
    return tables.text(head, rows, left=(0,))


def code_table(layer: str = "layer 1") -> str:
    """Return what the machine code of both kernels has."""
    codes = {}
    for kernel in (BASIC, CONSTANT):
        (one,) = conv2d.conv2d_named(kernel).plan(conv2d.shape_of(layer, 1))
        codes[kernel] = sass.assembled(one.name, one.options, source=one.source)
    return sass.table(codes, ("LDG", "LDC", "FFMA", "IMAD", "IADD3", "LEA"))


def caches_table(record: Record) -> str:
    """Return what Nsight Compute counted for both kernels on layers 1 and 2, from "111_caches"."""
    head = (
        "1,000 images", "instructions\n(millions)", "load/store\n(millions)",
        "constant reads\n(millions)", "of them\nmissed", "warps\npresent",
    )  # fmt: skip
    rows = []
    for layer in LENET:
        for kernel in (BASIC, CONSTANT):
            (row,) = (
                one
                for one in record.rows()
                if (one["series"], one["layer"], one["variant"]) == (kernel, layer, "")
            )
            reads = row["constant_hits"] + row["constant_misses"]
            cells = (
                f"{row['instructions'] / 1e6:,.0f}",
                f"{row['lsu_instructions'] / 1e6:,.0f}",
                f"{reads / 1e6:,.0f}",
                f"{row['constant_misses'] / reads:.2%}",
                f"{row['warps_active']:.0f} %",
            )
            rows.append((f"{layer}, {kernel}", *cells))
    return tables.text(head, rows)


def reported_table(record: Record) -> str:
    """Return the speedups by constant memory that the course reports contain, and ours."""
    table = {
        (row["report"], row["optimization"], row["batch"]): row
        for row in results.reported("course_reports")
    }
    before = {
        "constant memory": None,
        "tiled shared + constant memory": "tiled shared memory",
    }
    head = ("", "images", "first layer", "second layer")
    rows = []
    for (report, name, batch), row in table.items():
        if name in before:
            base = table[report, before[name] or row["builds_on"], batch]
            gains = [f"{base[op] / row[op]:.2f}" for op in ("op1_ms", "op2_ms")]
            rows.append((f"report {report}", f"{batch:,}", *gains))
    ratios = ratios_of(record)
    for pair in (LENET, REPORT_E):
        gains = [f"{ratios[layer, MANY]['ratio']:.2f}" for layer in pair]
        rows.append((f"ours, {' and '.join(pair)}", f"{MANY:,}", *gains))
    return tables.text(head, rows)


# --------------------------------------------------------------------------------------------------
# Figures


def _draw(ax: Any, at: Any, rows: list[dict[str, Any]], **look: Any) -> str:
    low, middle, high = (
        np.array([row[key] for row in rows]) for key in ("low", "ratio", "high")
    )
    ax.errorbar(at, middle, [middle - low, high - middle], capsize=5, **look)
    return f"faster in {(low > 1).sum()} of {len(rows)}, slower in {(high < 1).sum()}"


def _finish(ax: Any, record: Record) -> None:
    ax.axhline(1, color=styles.INK, linestyle=":")
    ax.set_ylabel("time in global memory /\ntime in constant memory")
    ax.xaxis.set_label_coords(1, -0.22 if "\n" in ax.get_xticklabels()[0].get_text() else -0.12)
    ax.xaxis.label.set_horizontalalignment("right")
    plotting.caption(ax, record)


def layers_figure(record: Record) -> Figure:
    """Draw the ratio for each layer and number of images."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
    ratios = ratios_of(record)
    sentences = {}
    for number, layer in enumerate(LAYERS):
        places = [number + 0.2 * (k - 1) for k in range(len(BATCHES))]
        rows = [ratios[layer, batch] for batch in BATCHES]
        sentences[layer] = {verdict(row) for row in rows}
        look = {"fmt": styles.MARKERS[number], "color": styles.COLOURS[number]}
        _draw(ax, places, rows, **look)
    shapes = [conv2d.shape_of(layer, 1) for layer in LAYERS]
    labels = [
        f"{layer}\n{one.C} -> {one.M} maps, {one.H} x {one.W}"
        for layer, one in zip(LAYERS, shapes, strict=True)
    ]
    ax.set_xticks(range(len(LAYERS)), labels)
    ax.tick_params(axis="x", length=0)
    ax.set_xlabel("of each layer, from left to right: 100, 1,000 and 10,000 images")
    parts = []
    for word in ("faster", "slower", "no measurable difference"):
        names = [name for name, verdicts in sentences.items() if verdicts == {word}]
        if names:
            parts.append(f"{word} for {', '.join(names)}")
    mixed = [name for name, verdicts in sentences.items() if len(verdicts) > 1]
    if mixed:
        parts.append(f"depends on the images for {', '.join(mixed)}")
    plotting.style(ax, f"Constant memory: {'; '.join(parts)}")
    _finish(ax, record)
    return figure


def sweep_figure(record: Record) -> Figure:
    """Draw the ratio over the bytes of the filter, for large and for small images."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
    sentences = []
    for number, (width, maps) in enumerate(SWEEPS):
        rows = swept(record, width)
        at = [row["filter_bytes"] / 1024 for row in rows]
        look = {
            "color": styles.COLOURS[number],
            "marker": styles.MARKERS[number],
            "linestyle": styles.LINES[number],
            "label": f"images of {width} x {width}, {maps} maps",
        }
        sentences.append(f"{width} x {width}: {_draw(ax, at, rows, **look)}")
    plotting.style(ax, "Images of " + "; of ".join(sentences))
    ax.set_xlabel(f"bytes of the filter (KB): more channels to the right; {SWEEP_BATCH:,} images")
    ax.legend(frameon=False)
    _finish(ax, record)
    return figure


def main(argv: Sequence[str] | None = None) -> int:
    """Read the counters and write the record "109_counters"; return the exit status."""
    if list(sys.argv[1:] if argv is None else argv) == ["--launch"]:
        launch_counted()
        return 0
    return ncu.record_here(COUNTERS, count, "109_conv2d_constant_memory")


if __name__ == "__main__":
    sys.exit(main())
