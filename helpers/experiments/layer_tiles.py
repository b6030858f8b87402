"""Lab 111: the tile and its halo, the warps that fit, and the times that course reports published.

What the lab compares and counts stands in its notebook.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from helpers import plotting, tables
from helpers.bench import layers, results
from helpers.bench.problem import Problem
from helpers.bench.sources import Kernel
from helpers.bench.times import Times
from helpers.experiments import sass
from helpers.plotting import styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.results import Record

BATCH = 10_000


def resident_warps(registers: int, warps: int) -> int:
    """Return how many of a multiprocessor's 64 places for warps such blocks take, on an H200.

    registers: of a thread; warps: of a block. The 65,536 registers are given out by eights; shared
    memory does not limit these kernels.
    """
    by_eights = -(-registers // 8) * 8
    return warps * min(32, 64 // warps, 65_536 // (32 * warps * by_eights))


def warps_table(times: Times) -> str:
    """Return how many warps of each kernel and width of a sweep fit on a multiprocessor."""
    registers: dict[str, dict[int, int]] = {}
    for one in times:
        width = dict(one.kernel.settings)["tile_width"]
        if one.row is not None:
            registers.setdefault(one.kernel.label, {})[width] = one.row["registers"]
    widths = list(dict.fromkeys(width for each in registers.values() for width in each))
    rows = []
    for kernel, each in registers.items():
        fit = [resident_warps(each[width], -(-(width**2) // 32)) for width in widths]
        rows.append((kernel, *map(str, fit)))
        rows.append(("  registers a thread", *(str(each[width]) for width in widths)))
    head = ("warps that fit, of 64", *(f"{width} x {width}" for width in widths))
    return tables.text(head, rows)


def fastest(record: Record, layer: str) -> tuple[int, float]:
    """Return the best number of maps for a tile of 16 x 16 on a layer, and its time in ms.

    record: "111_tiles".
    """
    problem = layers.layer(layer)
    kernels = [problem.kernel("conv2d_tiled")]
    kernels += [problem.kernel("conv2d_tiled_maps", MAPS=maps) for maps in (2, 4, 8, 16)]
    plain = problem.kernel("conv2d_constant", TILE_WIDTH=16)
    best = Times.read(record, problem, kernels, plain.named("conv2d_constant")).fastest()
    assert best.ratio is not None, f"{record.name} has no ratios on {layer}"
    ms = Times.read(record, problem, [plain])[0].ms
    return best.kernel.spec.tile[2], best.ratio.value * ms


def uniform_code_table(problem: Problem, **kernels: Kernel) -> str:
    """Return what the machine code of kernels has; their names have _ for blanks."""
    codes = {}
    for name, kernel in kernels.items():
        (one,) = problem.plan(kernel)
        codes[name.replace("_", " ")] = sass.assembled(one.name, one.options, source=one.source)
    return sass.table(codes, ("LDC", "ULDC", "LDS", "FFMA"))


def reported_table(times: Mapping[str, Times], variants: Mapping[str, Sequence[Times]]) -> str:
    """Return the course reports' tiled kernels over those without one, and ours below them.

    times: of the lab, by layer. variants: by layer, comparisons whose kernels have a tile that is
    used or not, as the labels say.
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
    for parts in zip(*variants.values(), strict=True):
        for ratios in zip(*(one.ratios for one in parts), strict=True):
            words = "the tile is not used" if "tile not used" in ratios[0].kernel else "tile"
            cells = (f"{ratio.value:.2f}" for ratio in ratios)
            rows.append((f"ours over {ratios[0].over}, {words}", *cells))
    fastest = [min(one.ratios, key=lambda ratio: ratio.value) for one in times.values()]
    cells = (f"{ratio.value:.2f}" for ratio in fastest)
    rows.append((f"ours over {fastest[0].over}, best number of maps", *cells))
    return tables.text(("time with a tile over time without", *times), rows)


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
