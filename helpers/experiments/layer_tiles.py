"""Lab 111: a block's tile, the warps that fit, and the times that course reports published.

What the lab compares and counts stands in its notebook.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from helpers import limits, plotting, tables
from helpers.bench import sass
from helpers.bench.problem import Problem
from helpers.bench.sources import Kernel
from helpers.bench.times import Times
from helpers.plotting import boxes, styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure



def warps_table(times: Times) -> str:
    """Return how many warps of each kernel and width of a sweep fit on a multiprocessor: shared
    memory does not limit these kernels.
    """
    registers: dict[str, dict[int, int]] = {}
    for one in times:
        width = dict(one.kernel.settings)["tile_width"]
        if one.row is not None:
            registers.setdefault(one.kernel.label, {})[width] = one.row["registers"]
    widths = list(dict.fromkeys(width for each in registers.values() for width in each))
    rows = []
    for kernel, each in registers.items():
        fit = [limits.resident_warps(width**2, each[width], 0) for width in widths]
        rows.append((kernel, *map(str, fit)))
        rows.append(("  registers a thread", *(str(each[width]) for width in widths)))
    head = ("warps that fit, of 64", *(f"{width} x {width}" for width in widths))
    return tables.text(head, rows)


def uniform_code_table(problem: Problem, **kernels: Kernel) -> str:
    """Return what the machine code of kernels has; their names have _ for blanks."""
    codes = {}
    for name, kernel in kernels.items():
        (one,) = problem.plan(kernel)
        codes[name.replace("_", " ")] = sass.assembled(one.name, one.options, source=one.source)
    return sass.table(codes, ("LDC", "ULDC", "LDS", "FFMA"))


def tile_figure(tile: int = 16, filter_width: int = 7, thread: tuple[int, int] = (3, 5)) -> Figure:
    """Draw the cells that a block stages for its outputs, and those that one thread loads.

    tile: outputs along each side, as many as threads. thread: its threadIdx.x and threadIdx.y.
    """
    from matplotlib.patches import Rectangle

    span, (x, y) = tile + filter_width - 1, thread
    looks: Mapping[str, styles.Look] = {
        f"under the block's {tile} x {tile} outputs": boxes.OWN,
        "halo": {"facecolor": "#f3d9c8"},
        f"loaded by thread ({x}, {y})": {"facecolor": "#f3d9c8", "hatch": "/////"},
    }
    own, halo, loaded = looks
    loads = [(row, column) for row in range(y, span, tile) for column in range(x, span, tile)]
    figure, ax = styles.subplots(7, 7.4)
    for row in range(span):
        for column in range(span):
            look, text = {**looks[own if max(row, column) < tile else halo], "linewidth": 0.5}, ""
            if (row, column) in loads:
                look["hatch"] = looks[loaded]["hatch"]
                text = f"{1 + loads.index((row, column))}"
            boxes.box(ax, column, row, text, words={"fontsize": "medium"}, **look)
    frame = Rectangle((x, y), filter_width, filter_width, fill=False, ec=styles.INK, lw=2.5)
    ax.add_patch(frame)
    title = (
        f"{tile} x {tile} threads load {span} x {span} cells: thread ({x}, {y}) loads "
        f"{len(loads)} of them\nand reads {filter_width} x {filter_width} (thick frame)"
    )
    plotting.style(ax, title)
    ax.set(xlim=(-0.1, span + 0.1), ylim=(span + 0.1, -0.1), aspect="equal")
    ax.set(xlabel="column of the tile", ylabel="row of the tile")
    ax.set(xticks=range(0, span + 1, 4), yticks=range(0, span + 1, 4))
    boxes.legend_of(figure, looks)
    return figure
