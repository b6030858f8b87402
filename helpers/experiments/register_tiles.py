"""Patches of outputs in registers: words loaded, registers and warps, and what the clock says.

What the lab compares and counts stands in its notebook; Nsight Compute's counters of the same
kernels are in "112_counters".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from helpers import limits, plotting, tables
from helpers.bench import results, sass
from helpers.bench.counts import Count, Counts
from helpers.bench.layers import Layer
from helpers.bench.sources import Changes, Kernel
from helpers.experiments import sweep
from helpers.plotting import boxes, styles
from helpers.problems import conv2d
from helpers.problems.conv2d import RegisterTiled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record

PATCH, BEST = "conv2d_register", "conv2d_register_tiled"
LAYERS = conv2d.LENET
MEMORIES = ("global", "shared", "constant")
FLOAT_BYTES = 4

# conv2d_register with its filter in constant memory: a change of its source.
CONSTANT_FILTER: Changes = (
    (" x, const float* __restrict__ filter,", " x,"),
    ('extern "C"', '__constant__ float filter[FILTER_WORDS];\n\nextern "C"'),
)


def constant_filter(layer: Layer) -> Kernel:
    """Return conv2d_register with its filter in constant memory."""
    return layer.kernel(PATCH, filter_in="constant").changed(
        *CONSTANT_FILTER, label="constant filter"
    )


# --------------------------------------------------------------------------------------------------
# Counting


def loads(one: Count) -> dict[str, float]:
    """Return the words that threads load for a multiply-add of the formula, by memory."""
    products = FLOAT_BYTES * one.outputs * conv2d.shape_of(one.problem, 1).terms
    return {memory: one.total("bytes_used", memory, "load") / products for memory in MEMORIES}


def loads_table(counts: Counts) -> str:
    """Return the words that threads load for a multiply-add of the formula, by kernel and memory.

    counts: of a layer. A student's kernel that has not passed is "yours: not yet".
    """

    def cells(one: Count) -> list[str]:
        words = loads(one)
        return [f"{value:.3f}" for value in (*words.values(), sum(words.values()))]

    head = ("words loaded per multiply-add", *MEMORIES, "together")
    return tables.text(head, counts.rows(cells, len(MEMORIES) + 1))


def rates_table() -> str:
    """Return how many instructions of warps an H200 starts in a nanosecond, of two kinds.

    They are the largest rates of the record "rates_h200".
    """
    record = results.recorded("rates_h200")
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


# --------------------------------------------------------------------------------------------------
# Reading the records


def constant_code_table(layer: Layer) -> str:
    """Return what the machine code of conv2d_register has, with its filter in either memory."""
    kernels = {"filter in global memory": PATCH, "in constant memory": constant_filter(layer)}
    codes = {name: sass.code(layer, kernel) for name, kernel in kernels.items()}
    return sass.table(codes, ("LDG", "ULDC", "FFMA"))


def issue_table(counters: Record, record: Record) -> str:
    """Return which part of the issue slots did useful work, and the part of the peak.

    counters: "112_counters"; record: "112_register".
    """
    head = ("", "slots\nused", "of these\nuseful", "product", "of the peak,\nby the clock",
            "warps\npresent", "DRAM\nbusy")
    rows = []
    for row in counters.rows():
        flops = limits.conv2d(conv2d.shape_of(row["layer"], row["batch"])).flops
        useful = flops / 64 / row["instructions"]  # a multiply-add of a whole warp is 64 flop
        where = {key: row[key] for key in ("series", "layer", "batch")}
        seconds = 1e-3 * record.one(**where)["median_ms"]
        peak = record.device.fp32_peak
        assert peak is not None
        busy = row["issue_slots_busy"] / 100
        shares = (busy, useful, busy * useful, flops / seconds / peak)
        more = (row["warps_active"] / 100, row["dram_throughput"] / 100)
        cells = (f"{share:.0%}" for share in (*shares, *more))
        rows.append((f"{row['layer']}, {row['series']}", *cells))
    return tables.text(head, rows)


# --------------------------------------------------------------------------------------------------
# What sizes take of a multiprocessor


MOST_WARPS = 64  # of a multiprocessor


def registers_table(specs: Sequence[RegisterTiled], layer: str) -> str:
    """Compile kernels for a layer; return what they take of a multiprocessor of an H200.

    The compiler is that of the selected device.
    """
    shape = conv2d.shape_of(layer, 1)
    head = ("patch", "sums of\na thread", "registers\nof a thread", "bytes of\nlocal memory",
            f"warps that\nfit, of {MOST_WARPS}", "sums on a\nmultiprocessor")
    rows = []
    for spec in specs:
        function = conv2d.compile(spec, shape).function
        threads = spec.threads(shape)[0]
        warps = limits.resident_warps(threads, function.num_regs, function.shared_size_bytes)
        sums = math.prod(spec.sizes.patch)
        at_work = warps * 32 * math.prod(spec.sizes.patches) // threads
        rows.append(
            (
                " x ".join(map(str, spec.sizes.patch)),
                str(sums),
                str(function.num_regs),
                f"{function.local_size_bytes:,}",
                str(warps),
                f"{at_work * sums:,}",
            )
        )
    return tables.text(head, rows)


@dataclass(frozen=True)
class Swept:
    """A configuration of lab 203's sweep: its sums, registers, warps that fit, and time."""

    sums: int
    registers: int
    warps: int
    ms: float


@cache
def swept(layer: str) -> tuple[Swept, ...]:
    """Return the timed configurations of a layer's sweep, the fastest first.

    The times are Kernel Tuner's, with warm caches.
    """
    record, shape = sweep.recorded(layer), conv2d.shape_of(layer, 1)
    registers = {sweep.key(row): row["registers"] for row in record.rows()}
    found = []
    for one, ms in sweep.ranking(record):
        spec = sweep.spec_of(one)
        threads = spec.threads(shape)[0]
        warps = limits.resident_warps(threads, registers[one], spec.static_bytes(shape))
        found.append(Swept(math.prod(spec.sizes.patch), registers[one], warps, ms))
    return tuple(found)


# --------------------------------------------------------------------------------------------------
# Figures


def patch_figure(thread: tuple[int, int] = (2, 1), filter_width: int = 7) -> Figure:
    """Draw the patches of a block's first threads, and the cells that one of them needs.

    thread: its threadIdx.x and threadIdx.y. The cells are those for the first row of the filter.
    """
    columns, rows, (x, y) = 4, 2, thread
    across, down, cells = 5, 3, columns + filter_width - 1
    figure, ax = styles.subplots(10, 4)
    looks: dict[str, styles.Look] = {
        f"outputs of thread ({x}, {y})": boxes.OWN,
        "cells that it needs for the first row of the filter": {
            "facecolor": "none", "hatch": "////",
        },
    }
    own, needed = looks.values()
    behind = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    words: styles.Look = {"fontsize": "medium", "bbox": behind, "zorder": 4}
    size: styles.Look = {"width": columns, "height": rows, "linewidth": 2}
    for h in range(down):
        for w in range(across):
            look = {**size, **(own if (w, h) == thread else {})}
            boxes.box(ax, columns * w, rows * h, f"thread ({w}, {h})", words=words, **look)
    for h in range(rows):
        for i in range(cells):
            boxes.box(ax, columns * x + i, rows * y + h, linewidth=0.5, zorder=3, **needed)
    title = (
        f"Thread ({x}, {y}) computes {columns} x {rows} outputs of each map: for a row of the "
        f"filter\nit needs {rows} x {cells} cells, and neighbouring threads need some of them, too"
    )
    plotting.style(ax, title)
    ax.set(xlim=(-0.1, columns * across + 0.1), ylim=(rows * down + 0.1, -0.1), aspect="equal")
    ax.set(xlabel="column of the block's outputs, and of its tile", ylabel="row")
    ax.set(xticks=range(0, columns * across + 1, 2), yticks=range(rows * down + 1))
    boxes.legend_of(figure, looks)
    return figure


def warps_figure() -> Figure:
    """Draw the times of the sweep over the warps that fit, by the sums of a thread."""
    layer = LAYERS[1]
    found, record = swept(layer), sweep.recorded(layer)
    groups = {"16 to 31": range(16, 32), "32 to 47": range(32, 48), "48 to 72": range(48, 73)}
    _, ax = styles.subplots(9, 4.4)
    for number, (name, sums) in enumerate(groups.items()):
        points = [(one.warps, one.ms) for one in found if one.sums in sums]
        if points:
            look = {**styles.series(number), "linestyle": "none"}
            look |= {"markerfacecolor": "white"} if number % 2 else {}
            ax.plot(*zip(*points, strict=True), label=f"{name} sums a thread", **look)
    most = max(one.warps for one in found)
    crowded = min(one.ms for one in found if one.warps == most)
    title = (
        f"{layer}: the fastest sizes let {found[0].warps} of {MOST_WARPS} warps fit; "
        f"with {most}, the best take {crowded / found[0].ms:.1f} times as long"
    )
    ax.set(xlim=(0, MOST_WARPS + 2), ylim=(0, None), ylabel="Kernel Tuner's time (ms)")
    ax.set_xlabel(f"warps that fit on a multiprocessor, of {MOST_WARPS}")
    ax.legend(frameon=False, loc="lower right")
    return plotting.finish(ax, title, record)
