"""Shared-memory tiles in the convolution layer: their times, with variants of the kernels.

`measure` compares the tiled kernels with `conv2d_constant`, for several numbers of output maps that
share a tile, and times several widths. `measure_reported` builds what the course reports compared:
a tile in a kernel whose filter stays in global memory, and a tile that is filled and never read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import kernels, launch, plotting, simulator, tables
from helpers.bench import results, timing
from helpers.experiments import sass
from helpers.launch import Plan
from helpers.limits import ConvShape
from helpers.plotting import styles
from helpers.problems import conv2d

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record
    from helpers.simulator import Profile

Changes = tuple[tuple[str, str], ...]  # pairs of the old text of a source and the new

BASIC, PLAIN = "conv2d_basic", "conv2d_constant"
TILED, MAPPED = "conv2d_tiled", "conv2d_tiled_maps"
LAYERS = ("layer 1", "layer 2")
WIDTHS = (8, 16, 20, 32)  # of square blocks and tiles
BATCH = 10_000

BASIC_SPEC, PLAIN_SPEC = conv2d.conv2d_named(BASIC), conv2d.conv2d_named(PLAIN)
TILED_SPEC = conv2d.conv2d_named(TILED)
MAPPED_SPECS = {maps: conv2d.conv2d_named(MAPPED).with_tile(16, maps) for maps in (2, 4, 8, 16)}
GLOBAL_SPEC = replace(TILED_SPEC, filter_in="global")  # for variants that read an argument `filter`

_CELL = "tile[(threadIdx.y + p) * span + threadIdx.x + q]"
_UNUSED = ((_CELL, "channel[(h + p) * W + w + q]"),)
_GLOBAL = (
    ("__constant__ float filter[FILTER_WORDS];", ""),
    ("float* y, const float* x, int B", "float* y, const float* x, const float* filter, int B"),
)
# Variants of a kernel's source: (kernel, changes).
VARIANTS: Mapping[str, tuple[str, Changes]] = {
    # The same results: threadIdx.z is 0. The compiler sees that all lanes want the same weight.
    "uniform": (MAPPED, ((" + threadIdx.z", ""),)),
    "tile not used": (TILED, _UNUSED),
    "filter in global memory": (TILED, _GLOBAL),
    "filter in global memory, tile not used": (TILED, (*_GLOBAL, *_UNUSED)),
}


def changed(source: str, *changes: tuple[str, str]) -> str:
    """Return the source with each (old, new) replaced; ValueError where an old is missing."""
    for old, new in changes:
        if old not in source:
            raise ValueError(f"the kernel has no {old!r} to replace: it has changed since")
        source = source.replace(old, new)
    return source


def variant_source(variant: str) -> str:
    """Return the source of one of VARIANTS."""
    kernel, changes = VARIANTS[variant]
    return changed(kernels.source(kernel), *changes)


def variant_plan(spec: conv2d.Conv2d, shape: ConvShape, variant: str = "") -> Plan:
    """Return the one launch of a kernel, with the source of a variant where one is named."""
    plan = spec.plan(shape)
    if not variant:
        return plan
    return (replace(plan[0], source=variant_source(variant)),)


class _Checked:
    """A kernel that has passed its check on a problem: its launch, verdict and registers."""

    def __init__(self, problem: conv2d.Problem, spec: conv2d.Conv2d, variant: str = ""):
        plan = variant_plan(spec, problem.shape, variant)
        self._run = conv2d.compile(spec, problem.shape, plan)
        self._arrays = problem.y, problem.x, problem.filter
        self.registers = self._run.function.num_regs
        problem.poison()
        self.launch()
        name = variant or spec.name
        self.verdict = problem.check(f"{name}, tile {spec.tile}")

    def launch(self, stream: Any = None) -> None:
        self._run.launch(*self._arrays, stream)

    def over(self, other: _Checked, names: tuple[str, str]) -> dict[str, float]:
        """Return the ratio of the times, this kernel's over the other's, with its interval."""
        verdicts = self.verdict, other.verdict
        pair = timing.compare(
            self.launch, other.launch, verdicts=verdicts, names=names, budget_s=0.5
        )
        return {"ratio": pair.ratio, "low": pair.low, "high": pair.high}


def measure() -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the record "109_tiles", measured on the selected GPU.

    Series "ratio": a tiled kernel over conv2d_constant, by layer and maps. Series "uniform": the
    same for the variant of that name. The other series: times by tile_width.
    """
    for layer in LAYERS:
        shape = conv2d.shape_of(layer, BATCH)
        with conv2d.Problem(shape, *conv2d.inputs(layer, BATCH)) as problem:
            plain = _Checked(problem, PLAIN_SPEC)
            mapped = [spec for maps, spec in MAPPED_SPECS.items() if maps <= shape.M]
            for spec in (TILED_SPEC, *mapped):
                yield _ratio_row("ratio", layer, _Checked(problem, spec), spec, plain)
            if layer == "layer 1":
                spec = MAPPED_SPECS[4]
                yield _ratio_row("uniform", layer, _Checked(problem, spec, "uniform"), spec, plain)
            for width in WIDTHS:
                for spec in (PLAIN_SPEC.with_tile(width), TILED_SPEC.with_tile(width)):
                    yield _time_row(layer, _Checked(problem, spec), spec)


def _ratio_row(
    series: str, layer: str, one: _Checked, spec: conv2d.Conv2d, plain: _Checked
) -> dict[str, Any]:
    where = {"layer": layer, "kernel": spec.name, "maps": spec.tile[2], "registers": one.registers}
    return {"series": series, **where, **one.over(plain, (spec.name, PLAIN))}


def _time_row(layer: str, one: _Checked, spec: conv2d.Conv2d) -> dict[str, Any]:
    timed = timing.time_gpu(one.launch, verdict=one.verdict, name=spec.name, budget_s=0.2)
    where = {"layer": layer, "tile_width": spec.tile[0], "registers": one.registers}
    return {"series": spec.name, **where, "timing": timed}


# What measure_reported compares: (variant, its record, the kernel without a tile).
REPORTED = (
    ("filter in global memory", GLOBAL_SPEC, BASIC_SPEC),
    ("filter in global memory, tile not used", GLOBAL_SPEC, BASIC_SPEC),
    ("", TILED_SPEC, PLAIN_SPEC),
    ("tile not used", TILED_SPEC, PLAIN_SPEC),
)


def measure_reported() -> Iterator[Mapping[str, Any]]:
    """Yield the rows of the record "109_reported", measured on the selected GPU.

    Each row is the ratio of a variant with a tile over the kernel without: series "ratio", layer,
    variant ("" is the lab's own kernel), without, ratio, low, high.
    """
    for layer in LAYERS:
        shape = conv2d.shape_of(layer, BATCH)
        with conv2d.Problem(shape, *conv2d.inputs(layer, BATCH)) as problem:
            for variant, spec, without in REPORTED:
                tiled = _Checked(problem, spec, variant)
                names = variant or spec.name, without.name
                ratio = tiled.over(_Checked(problem, without), names)
                where = {"layer": layer, "variant": variant, "without": without.name}
                yield {"series": "ratio", "kernel": TILED, **where, **ratio}


# --------------------------------------------------------------------------------------------------
# Counting


@cache
def profile(
    spec: conv2d.Conv2d, layer: str, changes: Changes = ()
) -> tuple[Profile, np.ndarray]:
    """Run one image of a layer in the simulator; return the profile and y.

    changes: pairs of old and new text for the kernel's source. The watched warp is the second one
    of block (1, 0, 0).
    """
    x, filter = conv2d.inputs(layer, 1)
    shape = conv2d.shape_for(x, filter)
    y = np.full(shape.y_shape, np.nan, np.float32)
    (one,) = spec.plan(shape)
    plan = (replace(one, source=changed(one.source, *changes)),)
    arrays = {"y": y, "x": x, "filter": filter}
    (seen,) = launch.simulate(plan, arrays, simulator.profile, watch=((1, 0, 0), 1))
    return seen, y


def counter_table(rows: Iterable[tuple[str, conv2d.Conv2d, str, Changes]]) -> str:
    """Return counters per 32 outputs, what one full warp computes.

    rows: (label, record of the kernel, layer, changes of its source).
    """
    head = (
        "per 32 outputs", "global\nrequests", "global\nsectors", "shared\nwavefronts", "barriers",
        "constant\nrequests", "idle\nthreads",
    )  # fmt: skip
    lines = []
    for label, spec, layer, changes in rows:
        seen, y = profile(spec, layer, changes)
        counts = (
            seen.global_load_requests,
            seen.global_load_sectors,
            seen.shared_load_wavefronts + seen.shared_store_wavefronts,
            seen.barriers,
            seen.constant_load_requests,
        )
        columns, height, maps = spec.tile
        idle = 1 - y.size / (seen.blocks * columns * height * maps)
        lines.append((label, *(f"{32 * count / y.size:.1f}" for count in counts), f"{idle:.0%}"))
    return tables.text(head, lines)


def repeated_sectors(seen: Profile, array: str = "x") -> tuple[int, int]:
    """Return the sectors that the watched warp asks for, and how many different ones they are."""
    asked = [
        sector
        for request in seen.requests
        if (request.array, request.kind) == (array, "load")
        for sector in {offset // 32 for offset in request.offsets}
    ]
    return len(asked), len(set(asked))


def resident_warps(registers: int, warps: int) -> int:
    """Return how many of a multiprocessor's 64 places for warps such blocks take, on an H200.

    registers: of a thread; warps: of a block. The 65,536 registers are given out by eights; shared
    memory does not limit these kernels.
    """
    by_eights = -(-registers // 8) * 8
    return warps * min(32, 64 // warps, 65_536 // (32 * warps * by_eights))


# --------------------------------------------------------------------------------------------------
# Reading the records


def ratio_rows(record: Record) -> dict[tuple[str, int], Mapping[str, Any]]:
    """Return the ratios over conv2d_constant by layer and maps that share a tile."""
    rows = (row for row in record.rows() if row["series"] == "ratio")
    return {(row["layer"], row["maps"]): row for row in rows}


def best_maps(record: Record, layer: str) -> int:
    """Return the number of maps that is fastest on a layer."""
    ratios = ratio_rows(record)
    of_layer = {maps: row["ratio"] for (name, maps), row in ratios.items() if name == layer}
    return min(of_layer, key=lambda maps: of_layer[maps])


def fastest(record: Record, layer: str) -> tuple[int, float]:
    """Return the best number of maps for a tile of 16 x 16 on a layer, and its time in ms."""
    maps = best_maps(record, layer)
    plain = width_rows(record)[PLAIN, layer, 16]["median_ms"]
    return maps, ratio_rows(record)[layer, maps]["ratio"] * plain


def in_words(row: Mapping[str, Any]) -> str:
    """Return a ratio in words; "no measurable difference" where its interval spans 1."""
    if row["low"] <= 1 <= row["high"]:
        return "no measurable difference"
    ratio = row["ratio"]
    return f"{ratio:.2f} x the time" if ratio > 1 else f"{1 / ratio:.2f} x as fast"


def ratio_table(record: Record) -> str:
    """Return the tiled kernels over conv2d_constant, with intervals and registers."""
    head = (f"over {PLAIN}", "maps", "time (95 % interval)", "", "registers")
    uniform = [row for row in record.rows() if row["series"] == "uniform"]
    rows = []
    for row in (*ratio_rows(record).values(), *uniform):
        interval = f"{row['ratio']:.3f} ({row['low']:.3f} to {row['high']:.3f})"
        label = f"{row['layer']}, {row['kernel']}"
        if row["series"] == "uniform":
            label += " without threadIdx.z"
        rows.append((label, str(row["maps"]), interval, in_words(row), str(row["registers"])))
    return tables.text(head, rows, left=(0, 3))


def width_rows(record: Record) -> dict[tuple[str, str, int], Mapping[str, Any]]:
    """Return the times by kernel, layer and width of the tile."""
    rows = (row for row in record.rows() if "median_ms" in row)
    return {(row["series"], row["layer"], row["tile_width"]): row for row in rows}


def warps_table(record: Record) -> str:
    """Return how many warps of each kernel and width fit on a multiprocessor of an H200."""
    head = ("warps that fit, of 64", *(f"{width} x {width}" for width in WIDTHS))
    timed, rows = width_rows(record), []
    for kernel in (PLAIN, TILED):
        registers = {width: timed[kernel, LAYERS[0], width]["registers"] for width in WIDTHS}
        fit = [resident_warps(registers[width], -(-(width**2) // 32)) for width in WIDTHS]
        rows.append((kernel, *map(str, fit)))
        rows.append(("  registers a thread", *map(str, registers.values())))
    return tables.text(head, rows)


def reported_table(record: Record, variants: Record) -> str:
    """Return the course reports' tiled kernels over those without a tile, and ours below them.

    record: "109_tiles"; variants: "109_reported", of `measure_reported`.
    """
    reported = {
        (row["report"], row["optimization"]): row
        for row in results.reported("course_reports")
        if row["batch"] == BATCH
    }
    rows = []
    for report, without in (("A", "baseline"), ("B", "baseline"), ("C", "constant memory")):
        tiled, plain = reported[report, "tiled shared memory"], reported[report, without]
        values = (tiled[f"op{number}_ms"] / plain[f"op{number}_ms"] for number in (1, 2))
        rows.append((f"report {report}, over its {without}", *(f"{one:.2f}" for one in values)))
    built = {(row["variant"], row["layer"]): row["ratio"] for row in variants.rows()}
    for variant, _, spec in REPORTED:
        values = (f"{built[variant, layer]:.2f}" for layer in LAYERS)
        words = "the tile is not used" if "tile not used" in variant else "tile"
        rows.append((f"ours over {spec.name}, {words}", *values))
    ratios = ratio_rows(record)
    pairs = [(layer, best_maps(record, layer)) for layer in LAYERS]
    values = (f"{ratios[one]['ratio']:.2f}" for one in pairs)
    rows.append((f"ours over {PLAIN}, best number of maps", *values))
    return tables.text(("time with a tile over time without", *LAYERS), rows)


# --------------------------------------------------------------------------------------------------
# Figures


def halo_figure(tile: int = 4, filter_width: int = 4) -> Figure:
    """Draw the cells that a block needs for a square tile of outputs."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import Patch, Rectangle

    rows, columns, (top, left) = 12, 20, (4, 8)
    span = tile + filter_width - 1
    looks: Mapping[str, styles.Look] = {
        "under its own outputs": {"facecolor": "#bcd3ee"},
        "halo: right and below": {"facecolor": "#f3d9c8", "hatch": "////"},
        "not needed": {"facecolor": "white"},
    }
    names = list(looks)
    figure, ax = plt.subplots(figsize=(9, 4.8), layout="constrained")
    for row in range(rows):
        for column in range(columns):
            down, right = row - top, column - left
            inside = 0 <= down < span and 0 <= right < span
            name = names[2] if not inside else names[0] if max(down, right) < tile else names[1]
            look: styles.Look = {"edgecolor": styles.INK, "linewidth": 0.8, **looks[name]}
            ax.add_patch(Rectangle((column, row), 1, 1, **look))
    title = (
        f"A tile of {tile} x {tile} outputs needs {span} x {span} cells with K = {filter_width}: "
        f"{span**2 / tile**2:.1f} cells for each output"
    )
    plotting.style(ax, title)
    ax.set(xlim=(0, columns), ylim=(rows, 0), aspect="equal", xlabel="column", ylabel="row")
    ax.set(xticks=range(0, columns + 1, tile), yticks=range(0, rows + 1, tile))
    handles = [Patch(edgecolor=styles.INK, label=name, **look) for name, look in looks.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return figure


def uniform_code_table(layer: str = "layer 1", maps: int = 4) -> str:
    """Return what the machine code of conv2d_tiled_maps has, with and without threadIdx.z."""
    codes = {}
    for name, variant in (("with threadIdx.z", ""), ("without", "uniform")):
        (one,) = variant_plan(MAPPED_SPECS[maps], conv2d.shape_of(layer, 1), variant)
        codes[name] = sass.assembled(one.name, one.options, source=one.source)
    return sass.table(codes, ("LDC", "ULDC", "LDS", "FFMA"))


def banks_figure(layer: str = "layer 1", widths: tuple[int, int] = (16, 32)) -> Figure:
    """Draw which banks of shared memory one load of the tile asks, for two widths."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(13, 6), layout="constrained")
    for ax, width in zip(axes, widths, strict=True):
        seen, _ = profile(TILED_SPEC.with_tile(width), layer)
        each = seen.shared_load_wavefronts / seen.shared_load_requests
        words = width + conv2d.shape_of(layer, 1).K - 1
        title = (
            f"Tiles of {width} x {width}, rows of {words} words: "
            f"{each:.2g} wavefront{'s' * (each > 1)} a load"
        )
        plotting.bank_conflicts(ax, seen, array="tile", request=1, title=title)
    return figure


def maps_figure(record: Record) -> Figure:
    """Draw the time over conv2d_constant's, by the number of maps that share a tile."""
    import matplotlib.pyplot as plt

    ratios = ratio_rows(record)
    figure, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
    for ax, layer in zip(axes, LAYERS, strict=True):
        rows = {maps: row for (where, maps), row in ratios.items() if where == layer}
        low, middle, high = (
            np.array([row[key] for row in rows.values()]) for key in ("low", "ratio", "high")
        )
        look: styles.Look = {"fmt": "o", "capsize": 5, "color": styles.COLOURS[0]}
        ax.errorbar([str(maps) for maps in rows], middle, [middle - low, high - middle], **look)
        ax.axhline(1, color=styles.INK, linestyle=":")
        ax.set_xlabel("output maps that share a tile")
        best = best_maps(record, layer)
        plotting.style(ax, f"{layer}: {best} maps are best, {in_words(rows[best])}")
    axes[0].set_ylabel(f"time over that of\n{PLAIN}")
    axes[0].set_ylim(0, 1.08 * max(row["high"] for row in ratios.values()))
    plotting.caption(axes[0], record)
    return figure


def widths_figure(record: Record) -> Figure:
    """Draw the times of the kernel without and with a tile, by the width of the block."""
    import matplotlib.pyplot as plt

    timed = width_rows(record)
    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for ax, layer in zip(axes, LAYERS, strict=True):
        fastest = []
        for number, kernel in enumerate((PLAIN, TILED)):
            rows = [timed[kernel, layer, width] for width in WIDTHS]
            middle = np.array([row["median_ms"] for row in rows])
            around = [
                middle - [row["low_ms"] for row in rows],
                [row["high_ms"] for row in rows] - middle,
            ]
            look: styles.Look = {
                "color": styles.COLOURS[number],
                "marker": styles.MARKERS[number],
                "linestyle": "none",
                "capsize": 3,
                "label": kernel,
            }
            ax.errorbar(WIDTHS, middle, around, **look)
            fastest.append(f"{WIDTHS[int(middle.argmin())]} ({kernel})")
        plotting.style(ax, f"{layer}, fastest widths:\n{', '.join(fastest)}")
        ax.set_xticks(WIDTHS)
        ax.set_xlabel("width of tile and block (outputs)")
        ax.set_ylabel("time (ms)")
        ax.set_ylim(0)
    axes[1].legend(frameon=False, loc="upper left")
    plotting.caption(axes[0], record)
    return figure
