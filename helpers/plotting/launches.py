"""Pictures of a launch: halo cells, grid and blocks, the order of work in streams."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator, NullLocator

from helpers.limits import WARP
from helpers.plotting.boxes import OWN, box
from helpers.plotting.styles import INK, LIGHT, PALE, Look, style
from helpers.quantities import quantity

MOST_CELLS = 64  # the most cells of an array in a picture of single cells
MOST_BLOCKS, MOST_THREADS = 8, 64  # the most boxes along an axis of a grid, of a block
TIMELINE_ROWS = ("H2D", "kernel", "D2H")
HATCHES = ("", "////", "....", "xxxx", "\\\\\\\\", "oo", "----", "++", "**", "||||")


def timeline(
    ax: Axes, spans: Sequence[Mapping[str, Any]], *, order: bool = False, title: str = ""
) -> Axes:
    """Draw what ran when: a row for each of H2D, kernel and D2H, and a box for each piece of work.

    Each stream has a colour and a hatch. The number of a piece stands in its box if there is room.

    spans: dicts with "row", "stream" (a number from 1 on), "piece", "start" and "end", such as
    streams.Span.to_dict() returns and records hold; further entries are ignored. Times are in ms,
    measured by events. order: the numbers are steps of an order of work instead, and the axis says
    so. If a span has "ready", a thin line leads from that time to the box: the stream was ready for
    the work, and something else held it up.

    Raises ValueError for no spans, an unknown row, and a time that is not finite or ends before it
    starts.
    """
    _require_spans(spans)
    first, last = min(span["start"] for span in spans), max(span["end"] for span in spans)
    named = (last - first) / 40  # the smallest width of a box with room for a number
    style(ax, title)
    for span in spans:
        _draw_span(ax, span, first, named)
    ax.set_yticks(range(len(TIMELINE_ROWS)), TIMELINE_ROWS)
    ax.set(
        xlim=(first - 0.01 * (last - first), last + 0.01 * (last - first)),
        ylim=(len(TIMELINE_ROWS) - 0.5, -0.5),
    )
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(
        "step (an order, not a time: each operation counts as one step)"
        if order
        else "time since the first began (ms)"
    )
    if order:
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    streams = sorted({span["stream"] for span in spans})
    handles = [
        Patch(edgecolor=INK, linewidth=0.8, label=f"stream {stream}", **_stream_look(stream))
        for stream in streams
    ]
    beside: Look = {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "borderaxespad": 0}
    ax.legend(handles=handles, frameon=False, fontsize="small", handleheight=1.4, **beside)
    return ax


def _draw_span(ax: Axes, span: Mapping[str, Any], first: float, named: float) -> None:
    y, start, width = TIMELINE_ROWS.index(span["row"]), span["start"], span["end"] - span["start"]
    if span.get("ready", start) < start:
        # The lines lie under the boxes, one below the other for each of four streams.
        beside = y + 0.39 + 0.03 * ((span["stream"] - 1) % 4)
        ax.plot(
            [max(first, span["ready"]), start],
            [beside, beside],
            color="#666666",
            linewidth=1.0,
            zorder=1,
        )
    look: Look = {"width": width, "height": 0.72, "linewidth": 0.8, "zorder": 2}
    look |= _stream_look(span["stream"])
    behind: Look = {"facecolor": "white", "edgecolor": "none", "pad": 1}
    text = str(span["piece"]) if width >= named else ""
    box(ax, start, y - 0.36, text, words={"bbox": behind, "zorder": 3}, **look)


def _stream_look(stream: int) -> Look:
    """Return a light colour under a dark hatch: ten streams differ in grey, too."""
    return {
        "facecolor": LIGHT[(stream - 1) % len(LIGHT)],
        "hatch": HATCHES[(stream - 1) % len(HATCHES)],
    }


def _require_spans(spans: Sequence[Mapping[str, Any]]) -> None:
    if not spans:
        raise ValueError("there are no spans to draw: give at least one")
    for span in spans:
        if span["row"] not in TIMELINE_ROWS:
            raise ValueError(
                f"a span has the row {span['row']!r}; give one of {', '.join(TIMELINE_ROWS)}"
            )
        if not (
            math.isfinite(span["start"])
            and math.isfinite(span["end"])
            and span["start"] <= span["end"]
        ):
            hint = "give finite numbers, the start first"
            if math.isnan(span["end"]):
                hint = "the simulator has no time; draw its order of work, with order=True"
            raise ValueError(
                f"piece {span['piece']} is in {span['row']} from "
                f"{span['start']} to {span['end']}: {hint}"
            )


def halo(
    ax: Axes,
    n: int,
    tile_width: int,
    radius: int,
    *,
    block: int = 0,
    staged: bool = True,
    title: str = "",
) -> Axes:
    """Draw the cells of an array of `n`, and the cells that one block stages in shared memory.

    The upper row is the array, cut into tiles of `tile_width`, with `radius` ghost cells at each
    end. The lower row is the shared tile of `block`, tile_width + 2 radius cells. The tile's own
    cells are shaded, its halo (a neighbour's cells) is hatched, and ghosts, the cells outside the
    array that count as 0, are dashed.

    staged: if False, there is no shared tile. The lower row then has the outputs that the block
    computes, and the upper row the cells that it reads for them.

    Raises ValueError for sizes below 1 (radius: below 0), for more than 64 cells, and for a block
    without a tile in the array.
    """
    tiles = _require_halo(n, tile_width, radius, block)
    style(ax, title)
    first = block * tile_width
    end_of_block = first + tile_width if staged else min(first + tile_width, n)
    read = range(first - radius, end_of_block + radius)

    def look(cell: int) -> str:
        if not 0 <= cell < n:
            return "ghost"
        if cell not in read:
            return "plain"
        return "own" if first <= cell < first + tile_width else "halo"

    for cell in range(-radius, n + radius):
        box(ax, cell, 2.0, str(cell) if 0 <= cell < n else "", **_CELLS[look(cell)])
    for tile in range(tiles):
        start, end = tile * tile_width, min((tile + 1) * tile_width, n)
        name = f"tile {tile}" if staged else f"block {tile}"
        _draw_bracket(ax, start, end, 3.15, name, strong=tile == block)
    if staged:
        for index, cell in enumerate(read):
            box(ax, cell, 0.0, str(index), **_CELLS[look(cell)])
        edges = {edge: edge for edge in (read.start, read.stop)}
        below, own = f"shared tile of\nblock {block} (index)", "own cells of the tile"
    else:
        for cell in range(first, end_of_block):
            box(ax, cell, 0.0, str(cell), **OWN)
        edges = {first: read.start, end_of_block: read.stop}
        below, own = f"outputs of\nblock {block}", "cells of the block's own outputs"
    for lower, upper in edges.items():
        ax.plot([lower, upper], [1.0, 2.0], color="#777777", linewidth=0.8, linestyle=":")
    _label_rows(ax, {2.5: "array (cell)", 0.5: below})
    ax.set_xlim(-radius - 0.3, max(n + radius, read.stop) + 0.3)
    ax.set_ylim(-0.2, 4.2)
    around = {"halo": "halo: a neighbour's cells", "ghost": "ghosts: count as 0"}
    _legend_below(ax, {"own": own, **(around if radius else {})})
    return ax


def _require_halo(n: int, tile_width: int, radius: int, block: int) -> int:
    """Return the number of tiles. Raises ValueError for a picture that cannot be drawn."""
    if n < 1 or tile_width < 1 or radius < 0:
        raise ValueError(
            f"n = {n}, tile_width = {tile_width}, radius = {radius}: give at least 1, 1 and 0"
        )
    cells = max(n, tile_width) + 2 * radius
    if cells > MOST_CELLS:
        raise ValueError(
            f"a picture shows at most {MOST_CELLS} cells, and this one has {cells}: "
            "draw a smaller example"
        )
    tiles = -(-n // tile_width)
    if not 0 <= block < tiles:
        raise ValueError(
            f"block {block} has no tile: {n} cells in tiles of {tile_width} "
            f"make blocks 0 to {tiles - 1}"
        )
    return tiles


# The looks of a cell or a block: properties of a patch.
_CELLS: dict[str, Look] = {
    "plain": {"facecolor": "white", "edgecolor": INK},
    "own": OWN,
    "halo": {"facecolor": "#f3d9c8", "edgecolor": INK, "hatch": "////"},
    "ghost": {"facecolor": "white", "edgecolor": "#666666", "linestyle": "--"},
    # A block whose threads are drawn: without a hatch, which marks threads without an element.
    "chosen": {"facecolor": "#f3d9c8", "edgecolor": INK, "linewidth": 2.0},
}


def _draw_bracket(ax: Axes, start: float, end: float, y: float, text: str, *, strong: bool) -> None:
    width = 2.0 if strong else 0.8
    xs = [start + 0.08, start + 0.08, end - 0.08, end - 0.08]
    ax.plot(xs, [y, y + 0.2, y + 0.2, y], color=INK, linewidth=width)
    weight = "bold" if strong else "normal"
    ax.text(
        (start + end) / 2,
        y + 0.3,
        text,
        ha="center",
        va="bottom",
        fontsize="small",
        fontweight=weight,
        color=INK,
    )


def _label_rows(ax: Axes, labels: Mapping[float, str]) -> None:
    ax.set_yticks(list(labels), labels.values())
    ax.tick_params(left=False)
    ax.xaxis.set_major_locator(NullLocator())
    ax.spines[:].set_visible(False)


def _legend_below(ax: Axes, looks: Mapping[str, str]) -> None:
    handles = [Patch(label=label, **_CELLS[look]) for look, label in looks.items()]
    below: Look = {"loc": "upper center", "bbox_to_anchor": (0.5, 0)}
    ax.legend(handles=handles, ncols=len(handles), frameon=False, fontsize="small", **below)


def grid_picture(
    ax: Axes,
    grid: Sequence[int],
    block: Sequence[int],
    *,
    chosen: Sequence[int] = (0, 0),
    elements: int | None = None,
    title: str = "",
) -> Axes:
    """Draw a launch: the grid of blocks on the left, the threads of block `chosen` on the right.

    Shades distinguish the warps. grid, block: (x, y) or (x, y, z) with z = 1; x goes to the right
    and y down, as threadIdx and blockIdx count. A grid of more than 8 blocks along an axis, and a
    block of more than 64 threads along one, are cut; "..." marks the cut.

    elements: of a flat launch with one thread for each element; threads without an element are
    hatched.

    Raises ValueError for sizes below 1, a z above 1, a block of more than 1,024 threads, a chosen
    block that is not drawn, and `elements` with a grid or block of several rows.
    """
    columns, rows = _two_axes(grid, "grid")
    width, height = _two_axes(block, "block")
    if width * height > 1024:
        raise ValueError(
            f"a block of {width} x {height} is {width * height:,} threads; CUDA allows 1,024"
        )
    if not (0 <= chosen[0] < min(columns, MOST_BLOCKS) and 0 <= chosen[1] < min(rows, MOST_BLOCKS)):
        raise ValueError(
            f"chosen is {tuple(chosen)}; the picture has blocks (0, 0) to "
            f"{(min(columns, MOST_BLOCKS) - 1, min(rows, MOST_BLOCKS) - 1)}"
        )
    busy = width * height
    if elements is not None:
        if rows != 1 or height != 1:
            raise ValueError(
                f"grid {tuple(grid)} and block {tuple(block)} have several rows; `elements` needs "
                "a launch along x only"
            )
        busy = max(0, min(width, elements - chosen[0] * width))
    style(ax, title)
    grid_corners, grid_bottom = _draw_grid(ax, columns, rows, chosen)
    thread_corners, thread_bottom = _draw_threads(ax, width, height, chosen, busy)
    for (x, y), (to_x, to_y) in zip(grid_corners, thread_corners, strict=True):
        ax.plot([x, to_x], [y, to_y], color="#777777", linewidth=0.8, linestyle=":", zorder=0.5)
    ax.set_xlim(-0.02, 2.32)
    ax.set_ylim(max(grid_bottom, thread_bottom, 0.5) + 0.02, -0.14)
    ax.set_axis_off()
    return ax


def _two_axes(shape: Sequence[int], name: str) -> tuple[int, int]:
    x, y, z = (*shape, 1, 1)[:3]
    if min(x, y, z) < 1:
        raise ValueError(f"{name} is {tuple(shape)}: give at least 1 for every axis")
    if z != 1:
        raise ValueError(f"{name} is {tuple(shape)}: the picture is flat; give a z of 1")
    return x, y


_THREADS_LEFT = 1.3  # the grid takes x from 0 to 1, the threads from here to 2.3
_Corners = tuple[tuple[float, float], tuple[float, float]]


def _draw_grid(ax: Axes, columns: int, rows: int, chosen: Sequence[int]) -> tuple[_Corners, float]:
    """Draw the blocks; return the right corners of the chosen one, and the lowest y."""
    across, down = min(columns, MOST_BLOCKS), min(rows, MOST_BLOCKS)
    width, height = 0.92 / max(across, 3), min(0.28, 0.92 / down)
    for j in range(down):
        for i in range(across):
            look = "chosen" if (i, j) == tuple(chosen[:2]) else "plain"
            size: Look = {"width": width * 0.92, "height": height * 0.88}
            box(ax, i * width, j * height, f"{i},{j}", **size, **_CELLS[look])
    if across < columns:
        ax.text(across * width + 0.01, 0.46 * height, "...", va="center", fontsize="large")
    if down < rows:
        ax.text(
            0.46 * width, down * height + 0.04, "...", ha="center", fontsize="large", rotation=90
        )
    ax.text(
        0,
        -0.05,
        f"grid: {columns} x {rows} = {quantity(columns * rows, 'block')}",
        va="bottom",
    )
    edge, top = (chosen[0] + 0.92) * width, chosen[1] * height
    return ((edge, top), (edge, top + 0.88 * height)), down * height + 0.08 * (down < rows)


def _draw_threads(
    ax: Axes, width: int, height: int, chosen: Sequence[int], busy: int
) -> tuple[_Corners, float]:
    """Draw the threads; return the left corners of their block, and the lowest y.

    The threads of a flat block stand in rows of one warp. Only the first `busy` threads have work.
    """
    threads = width * height
    across, down = (width, height) if height > 1 else (min(width, WARP), -(-width // WARP))
    drawn, shown = min(down, MOST_THREADS), min(across, MOST_THREADS)
    w, h = 1.0 / max(shown, 8), min(0.11, 0.9 / drawn)
    every = max(1, -(-threads // WARP // 8))  # warps with a label
    # A gap of a pixel or two would be drawn once as one, once as two: narrow boxes have none.
    wide = w * (0.9 if w > 0.06 else 1)
    for row in range(drawn):
        for column in range(min(shown, threads - row * across)):
            thread = row * across + column
            text = str(thread) if w > 0.06 and h > 0.07 else ""
            look: Look = {"facecolor": _WARP_SHADES[thread // WARP % 4]}
            if thread >= busy:
                look = {"facecolor": "white", "hatch": "//////"}
            look |= {"width": wide, "height": h * 0.88, "linewidth": 0.5}
            box(ax, _THREADS_LEFT + column * w, row * h, text, **look)
        warp, rest = divmod(row * across, WARP)
        if rest == 0 and warp % every == 0:
            ax.text(
                _THREADS_LEFT - 0.015,
                (row + 0.44) * h,
                f"warp {warp}",
                ha="right",
                va="center",
                fontsize="x-small",
            )
    warps = -(-threads // WARP)
    name = (
        f"block ({chosen[0]}, {chosen[1]}): {width} x {height} = {threads:,} threads, "
        f"{quantity(warps, 'warp')}"
    )
    ax.text(_THREADS_LEFT, -0.05, name, va="bottom")
    cut = "..." if (drawn, shown) != (down, across) else ""
    count = threads - busy
    idle = f"\nhatched: {quantity(count, 'thread')} without an element" if count else ""
    ax.text(
        _THREADS_LEFT,
        drawn * h + 0.02,
        f"{cut}shade: the 32 threads of a warp, along x first{idle}",
        fontsize="small",
        va="top",
    )
    edge = _THREADS_LEFT - 0.14  # left of the labels
    return ((edge, 0.0), (edge, drawn * h)), drawn * h + 0.12 + 0.07 * (count > 0)


_WARP_SHADES = ("#bcd3ee", "#ffffff", "#8fb0d8", PALE)
