"""A product of matrices without the matrix: its traffic and its times.

`measure` yields the rows of the record "202_fusion"; the functions below it read and draw them.
What the simulator counts needs no record. `fusion_loops` reads the machine code of the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from helpers import checking, plotting, tables
from helpers.bench import results, timing
from helpers.experiments import im2col_times
from helpers.experiments.im2col_gemm import (
    IM2COL,
    LENET,
    OTHERS,
    PLAIN,
    TILE,
    WHOLE,
    said_of_change,
)
from helpers.limits import ConvShape
from helpers.plotting import styles
from helpers.problems import conv2d
from helpers.problems.conv2d.im2col import Im2colGemm
from helpers.simulator import Finding

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
    from helpers.simulator import Profile

TWO, FUSED, FAST = "im2col_gemm", "conv2d_implicit_gemm", "conv2d_implicit_gemm_fast"
WAYS = (TWO, FUSED, FAST)
BATCHES = (100, 1_000, WHOLE)
TILES = (8, TILE, 32)
PAIRS = ((FUSED, TWO), (FAST, FUSED), (FAST, PLAIN))  # of ratios: (kernel, over)

# What moves -> the arrays and accesses that count as it. The two launches name their arrays anew.
TRAFFIC: Mapping[str, tuple[tuple[str, str], ...]] = {
    "loads of x": (("x", "load"),),
    "loads of the filter": (("filter", "load"), ("A", "load")),
    "stores of the matrix": (("unrolled", "store"),),
    "loads of the matrix": (("X", "load"),),
    "stores of y": (("y", "store"), ("Y", "store")),
}

Row = Mapping[str, Any]


# --------------------------------------------------------------------------------------------------
# What the simulator counts


@cache
def profiles(kernel: str, layer: str, tile: int = TILE) -> tuple[Profile, ...]:
    """Return the simulator's counters of each launch on one image of a layer."""
    spec = conv2d.conv2d_named(kernel).with_tile(tile)
    return conv2d.simulate(spec, *conv2d.inputs(layer, 1), checks=False)[1]


def sectors(kernel: str, layer: str) -> dict[str, float]:
    """Return the sectors of global memory for 32 outputs, by what moves."""
    outputs = conv2d.shape_of(layer, 1).outputs
    return {
        what: 32 / outputs
        * sum(
            launch.total("sectors", "global", access, array)
            for launch in profiles(kernel, layer)
            for array, access in arrays
        )
        for what, arrays in TRAFFIC.items()
    }  # fmt: skip


def traffic_table() -> str:
    """Return the sectors for 32 outputs of the two launches and of the fused kernels."""
    head = (
        "sectors for 32 outputs", "loads\nof x", "loads of\nthe filter", "stores of\nthe matrix",
        "loads of\nthe matrix", "stores\nof y", "all",
    )  # fmt: skip
    rows = []
    for layer in LENET:
        for way in WAYS:
            moved = list(sectors(way, layer).values())
            rows.append((f"{layer}, {way}", *(f"{one:.1f}" for one in (*moved, sum(moved)))))
    return tables.text(head, rows)


def sectors_left(layer: str) -> float:
    """Return the sectors of the fused kernel over those of the two launches."""
    fused, two = (sum(sectors(way, layer).values()) for way in (FUSED, TWO))
    return fused / two


def broken(kernel: str, old: str, new: str) -> str:
    """Return what the simulator and the check say of a fused kernel with a change.

    old, new: text of its source. The layer is small and ragged, and has three channels. Raises
    ValueError if the source does not contain `old`.
    """
    shape, spec = ConvShape(B=2, C=3, M=5, H=9, W=13, K=3), conv2d.conv2d_named(kernel)
    return said_of_change(spec, kernel, (old, new), shape, seed=12, tell=Finding.brief)


# --------------------------------------------------------------------------------------------------
# Times


def measure() -> Iterator[Row]:
    """Yield the rows of the record "202_fusion", measured on the selected GPU.

    Times have layer, batch and tile. Series "ratio" is `kernel` over the kernel `over`, samples
    interleaved. im2col_gemm is both launches, in parts where the matrices do not fit.
    """
    for layer in (*LENET, *OTHERS):
        x, filter = conv2d.inputs(layer, WHOLE)
        for batch in BATCHES if layer in LENET else (WHOLE,):
            with conv2d.Problem(conv2d.shape_of(layer, batch), x[:batch], filter) as problem:
                yield from _time_layer(problem, {"layer": layer, "batch": batch})


Ready = tuple[Callable[[Any], Any], checking.Verdict]  # a launch that has passed its check


def _time_layer(problem: conv2d.Problem, where: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    ready = {name: _prepare(problem, name) for name in (PLAIN, *WAYS)}
    yield from (_time_one(name, *launch, where, TILE) for name, launch in ready.items())
    if where["batch"] != WHOLE:
        return
    for name in (FUSED, FAST):
        for tile in TILES:
            if tile != TILE:
                yield _time_one(name, *_prepare(problem, name, tile), where, tile)
    for of, over in PAIRS:
        yield _compare(of, over, ready, where)


def _prepare(problem: conv2d.Problem, name: str, tile: int = TILE) -> Ready:
    spec = conv2d.conv2d_named(name).with_tile(tile)
    if name == TWO:
        spec = replace(cast(Im2colGemm, spec), images=im2col_times.fitting(problem.shape))
    run = conv2d.compile(spec, problem.shape)
    problem.poison()
    run.launch(problem.y, problem.x, problem.filter)
    return (
        lambda stream: run.launch(problem.y, problem.x, problem.filter, stream),
        problem.check(name),
    )


def _time_one(
    series: str,
    launch: Callable[[Any], Any],
    right: checking.Verdict,
    where: Mapping[str, Any],
    tile: int,
) -> dict[str, Any]:
    timed = timing.time_gpu(launch, verdict=right, name=series, budget_s=0.1)
    return {"series": series, **where, "tile": tile, "timing": timed}


def _compare(
    of: str, over: str, ready: Mapping[str, Ready], where: Mapping[str, Any]
) -> dict[str, Any]:
    (a, right_a), (b, right_b) = ready[of], ready[over]
    pair = timing.compare(a, b, verdicts=(right_a, right_b), names=(of, over), budget_s=0.4)
    ratio = {"ratio": pair.ratio, "low": pair.low, "high": pair.high}
    return {"series": "ratio", "kernel": of, "over": over, **where, **ratio, "timing": None}


# --------------------------------------------------------------------------------------------------
# Reading the record


def times_of(record: Record) -> dict[tuple[str, str, int, int], Row]:
    """Return the timed rows by kernel, layer, batch and tile."""
    return {
        (row["series"], row["layer"], row["batch"], row["tile"]): row
        for row in record.rows()
        if "median_ms" in row
    }


def ratio_row(record: Record, of: str, over: str, layer: str) -> Row:
    """Return the ratio of two kernels' times on 10,000 images of a layer."""
    for row in record.rows():
        if "ratio" in row and (row["kernel"], row["over"], row["layer"]) == (of, over, layer):
            return row
    raise ValueError(f"the record {record.name} does not compare {of} with {over} on {layer}")


def in_words(row: Row) -> str:
    """Return "0.72 times the time"; "no measurable difference" where the interval contains 1."""
    if row["low"] <= 1 <= row["high"]:
        return "no measurable difference"
    return f"{row['ratio']:.2f} times the time"


def im2col_share(layer: str) -> float:
    """Return im2col's share of the two launches' time, as lab 200 recorded it for 10,000 images."""
    ms = im2col_times.times_of(results.load(results.MEASURED / f"{im2col_times.RECORD}.json"))
    whole = ms[im2col_times.BOTH, layer, WHOLE, TILE]["median_ms"]
    return ms[IM2COL, layer, WHOLE, None]["median_ms"] / whole


def fast_over_two(record: Record, layer: str) -> float:
    """Return the time of the fused kernel without divisions over that of the two launches.

    It is the product of the two measured ratios between them.
    """
    fused, fast = (ratio_row(record, *pair, layer)["ratio"] for pair in PAIRS[:2])
    return fused * fast


def step_table(record: Record) -> str:
    """Return the ratios of the times, step by step, and what im2col had taken of the time."""
    head = (
        f"{WHOLE:,} images", "im2col's share\nof two launches", "fused over\ntwo launches",
        "without divisions\nover fused", f"without divisions\nover {PLAIN}",
    )  # fmt: skip
    rows = []
    for layer in (*LENET, *OTHERS):
        ratios = (f"{ratio_row(record, *pair, layer)['ratio']:.2f}" for pair in PAIRS)
        rows.append((layer, f"{im2col_share(layer):.0%}", *ratios))
    return tables.text(head, rows)


def bound_table(record: Record) -> str:
    """Return the times of the fused kernels beside two bounds, for an H200.

    The bounds are the simulator's: the least time to start the instructions, and the least time of
    L1 and shared memory to answer them.
    """
    ms = times_of(record)
    head = (
        f"{WHOLE:,} images, tiles of {TILE}, ms", "measured", "at least, to\nstart instructions",
        "at least, for\nL1 and shared memory",
    )  # fmt: skip
    rows = []
    for layer in LENET:
        for way in (FUSED, FAST):
            bounds = im2col_times.bounds_of(way, layer)
            least = (bounds.share(one).microseconds / 1e3 for one in ("issue", "l1_data"))
            took = ms[way, layer, WHOLE, TILE]["median_ms"]
            rows.append((f"{layer}, {way}", *(f"{one:.1f}" for one in (took, *least))))
    return tables.text(head, rows)


def batch_lines(record: Record) -> str:
    """Return the time of an image for three sizes of the batch."""
    ms, lines = times_of(record), []
    for layer in LENET:
        each = ", ".join(
            f"{1e3 * ms[FAST, layer, batch, TILE]['median_ms'] / batch:.2f} at {batch:,}"
            for batch in BATCHES
        )
        lines.append(f"{layer}, microseconds an image: {each} images a launch")
    return "\n".join(lines)


def reported_table(record: Record) -> str:
    """Return report E's times of its two layers, and ours, with what fusing does to each."""
    theirs = {
        row["optimization"]: (row["op1_ms"], row["op2_ms"])
        for row in results.reported("course_reports")
        if row["report"] == "E" and "GEMM" in row["optimization"]
    }
    ms = times_of(record)
    ours = {
        way: tuple(ms[way, layer, WHOLE, TILE]["median_ms"] for layer in OTHERS) for way in WAYS
    }
    rows = [(f"reported: {name}", *(f"{t:.1f}" for t in both)) for name, both in theirs.items()]
    rows += [(f"ours: {way}", *(f"{t:.2f}" for t in both)) for way, both in ours.items()]
    pairs = {
        "reported: fused over tile 16": (
            theirs["fused im2col GEMM"], theirs["im2col + tiled GEMM (tile 16)"]
        ),
        f"ours: {FUSED} over two launches": (ours[FUSED], ours[TWO]),
        f"ours: {FAST} over two launches": (ours[FAST], ours[TWO]),
    }  # fmt: skip
    for name, (one, other) in pairs.items():
        rows.append((name, *(f"{a / b:.2f} times" for a, b in zip(one, other, strict=True))))
    head = (f"{WHOLE:,} images, ms", "E1: 1 -> 12,\n28 x 28", "E2: 12 -> 24,\n11 x 11")
    return tables.text(head, rows)


# --------------------------------------------------------------------------------------------------
# Figures


def traffic_figure() -> Figure:
    """Draw the sectors for 32 outputs of the two launches and of the fused kernel."""
    import matplotlib.pyplot as plt

    looks: tuple[styles.Look, ...] = (
        {"color": styles.COLOURS[0]},
        {"color": "white", "hatch": "...."},
        {"color": styles.COLOURS[1], "hatch": "////"},
        {"color": "white", "hatch": "////"},
        {"color": "#bbbbbb"},
    )
    figure, ax = plt.subplots(figsize=(9, 3.4), layout="constrained")
    bars = [(layer, way) for layer in LENET for way in (TWO, FUSED)]
    counted = [sectors(way, layer) for layer, way in bars]
    left = np.zeros(len(bars))
    for what, look in zip(TRAFFIC, looks, strict=True):
        part = np.array([one[what] for one in counted])
        ax.barh(range(len(bars)), part, left=left, edgecolor=styles.INK, label=what, **look)
        left += part
    styles.name_bars(ax, [f"{layer}, {way}" for layer, way in bars])
    ax.set_xlim(left=0)
    ax.set_xlabel("sectors of 32 bytes for 32 outputs")
    styles.legend_beside(ax)
    first, second = (100 * sectors_left(layer) for layer in LENET)
    plotting.style(
        ax, f"Fused: {first:.0f} % (layer 1) and {second:.0f} % (layer 2) of the sectors, and "
        "no matrix",
    )  # fmt: skip
    return figure


def times_figure(record: Record) -> Figure:
    """Draw the times of the plain kernel, of the two launches, and of both fused kernels."""
    import matplotlib.pyplot as plt

    ms = times_of(record)
    figure, axes = plt.subplots(2, 1, figsize=(9, 5.4), layout="constrained")
    names = {PLAIN: PLAIN, TWO: "im2col_basic + gemm_tiled", FUSED: FUSED, FAST: FAST}
    for ax, layer in zip(axes, LENET, strict=True):
        for place, way in enumerate(names):
            row = ms[way, layer, WHOLE, TILE]
            took = row["median_ms"]
            around = [[took - row["low_ms"]], [row["high_ms"] - took]]
            look: styles.Look = styles.pair_look(0 if way in (FUSED, FAST) else 1)
            ax.barh(place, took, height=0.6, **look)
            ax.errorbar(took, place, xerr=around, color=styles.INK, capsize=4, linewidth=1.2)
            styles.beside(ax, row["high_ms"], place, styles.duration_text(took))
        styles.name_bars(ax, list(names.values()))
        ax.set_xlim(0, 1.1 * ax.get_xlim()[1])
        ax.set_xlabel(f"time of {WHOLE:,} images (ms)")
        fused, fast = (in_words(ratio_row(record, *pair, layer)) for pair in PAIRS[:2])
        plotting.style(ax, f"{layer}: fused, {fused}; then without divisions, {fast}")
    plotting.caption(axes[1], record)
    return figure


def tiles_figure(record: Record) -> Figure:
    """Draw the times of both fused kernels over the width of the tile."""
    import matplotlib.pyplot as plt

    ms = times_of(record)
    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for ax, layer in zip(axes, LENET, strict=True):
        best = {}
        for number, way in enumerate((FUSED, FAST)):
            rows = [ms[way, layer, WHOLE, tile] for tile in TILES]
            middle, low, high = (
                np.array([row[key] for row in rows]) for key in ("median_ms", "low_ms", "high_ms")
            )
            best[way] = TILES[int(middle.argmin())]
            look: styles.Look = {
                "color": styles.COLOURS[number],
                "marker": styles.MARKERS[number],
                "linestyle": styles.LINES[number],
                "capsize": 4,
                "label": way,
            }
            ax.errorbar([str(t) for t in TILES], middle, [middle - low, high - middle], **look)
        ax.set(xlabel="width of the tile", ylabel=f"time of {WHOLE:,} images (ms)", ylim=(0, None))
        ax.legend(loc="lower right", frameon=False, fontsize="small")
        maps = conv2d.LAYERS[layer].M
        plotting.style(
            ax, f"{layer}, M = {maps}: without divisions, tiles of {best[FAST]} are fastest"
        )
    plotting.caption(axes[0], record)
    return figure
