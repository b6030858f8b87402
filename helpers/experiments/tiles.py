"""Lab 104: pictures of a block's tile, and the speed of 1D kernels beside that of a copy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from helpers import plotting
from helpers.plotting.boxes import OWN, box
from helpers.plotting.styles import BARS, INK, Look, bar, beside, spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from helpers.bench.times import Time, Times

COPY = "device-to-device copy"
WIDEST = 115  # percent that the picture of shares has room for
# The loop that fills the tile of conv1d_tiled_steps, and two statements in its place: all threads
# go once, and the first ones a second time. For filters of at most TILE_WIDTH + 1 weights.
BY_IF = (
    """    for (int s = threadIdx.x; s < TILE_WIDTH + 2 * RADIUS; s += TILE_WIDTH) {
        const int cell = first + s;
        tile[s] = cell >= 0 && cell < n ? N[cell] : 0.0f;
    }
""",
    """    const int cell = first + threadIdx.x;
    tile[threadIdx.x] = cell >= 0 && cell < n ? N[cell] : 0.0f;
    if (threadIdx.x < 2 * RADIUS) {
        const int more = cell + TILE_WIDTH;
        tile[threadIdx.x + TILE_WIDTH] = more >= 0 && more < n ? N[more] : 0.0f;
    }
""",
)


def tile_figure(tile: int = 8, filter_width: int = 5, block: int = 1, thread: int = 5) -> Figure:
    """Draw who loads the cells of a block's tile, and which of them one thread reads.

    tile: outputs, and threads, of a block. thread: whose window is framed.
    """
    from matplotlib.patches import Patch

    radius = filter_width // 2
    span = tile + 2 * radius
    first = block * tile - radius
    halo: Look = {"facecolor": "#f3d9c8", "edgecolor": INK, "hatch": "////"}

    figure, ax = plotting.subplots(10, 4.2)

    def row(y: float, texts: Mapping[int, str], shaded: bool = False) -> None:
        for place, text in texts.items():
            of_cell = OWN if radius <= place < radius + tile else halo
            look = of_cell if shaded else {}
            box(ax, place, y, text, words={"fontsize": "small"}, **look)

    row(5.4, {s: str(first + s) for s in range(span)}, shaded=True)
    row(3.6, {s: f"t{s % tile}" for s in range(span)})
    row(1.9, {s: str(s) for s in range(span)}, shaded=True)
    row(0.0, {t + radius: f"t{t}" for t in range(tile)})
    for s in range(span):
        ax.annotate("", (s + 0.5, 4.6), (s + 0.5, 5.4), arrowprops={"arrowstyle": "->"})
    box(ax, thread, 1.9, width=filter_width, fill=False, linewidth=3.2)
    centre = thread + radius + 0.5
    for edge in (thread, thread + filter_width):
        ax.plot([edge, centre], [1.9, 1.0], color=INK, linewidth=1)
    for start, end, words in ((0, tile, "first round"), (tile, span, "second round")):
        ax.plot([start + 0.08, end - 0.08], [3.45, 3.45], color=INK, linewidth=1)
        ax.text((start + end) / 2, 3.4, words, ha="center", va="top", fontsize="small")
    rows = {5.9: "cell of N", 4.1: "loaded by thread", 2.4: "place in the tile", 0.5: "output of"}
    for y, text in rows.items():
        ax.text(-0.3, y, text, ha="right", va="center")
    ax.set_xlim(-3.2, span + 0.2)
    ax.set_ylim(-0.1, 6.6)
    ax.axis("off")
    looks = {"the block's own cells": OWN, "halo: cells of a neighbour": halo}
    handles = [Patch(label=text, **look) for text, look in looks.items()]
    ax.legend(
        handles=handles, loc="upper right", bbox_to_anchor=(1, 0), ncols=2, frameon=False,
        fontsize="small",
    )
    plotting.style(
        ax,
        f"{tile} threads load {span} cells: thread {thread} loads "
        f"{len(range(thread, span, tile))} of them and reads {filter_width} (frame)",
    )
    return figure


def ways_figure() -> Figure:
    """Draw three ways to fill a tile, for 12 cells, a filter of 3 and blocks of 5 threads."""
    figure, axes = plotting.subplots(9, 8, 3)
    plotting.halo(
        axes[0], 12, 5, 1, block=1,
        title="In steps: 5 threads make 5 outputs and stage 7 cells, so they load twice",
    )
    plotting.halo(axes[1], 12, 5, 0, block=1)
    for cell, x, align in ((4, 3.9, "right"), (10, 11.1, "left")):
        box(axes[1], cell, 2, str(cell), facecolor="#fff4c2", hatch="...")
        axes[1].annotate(
            "read from\nglobal memory", (cell + 0.5, 2), (x, 0.5), ha=align, va="center",
            fontsize="small", arrowprops={"arrowstyle": "<-", "color": INK},
        )
    plotting.style(
        axes[1],
        "Cached halo: 5 threads make 5 outputs and stage 5 cells, but not the cells 4 and 10",
    )
    plotting.halo(
        axes[2], 12, 3, 1, block=1,
        title="Input tile: 5 threads stage 5 cells and make 3 outputs; two threads make none",
    )
    for ax in axes:
        ax.set_xlim(-1.3, 13.3)
    return figure


def share(times: Times, name: str, copy: Time, of: str = "median_ms") -> float:
    """Return the speed of a kernel in percent of the copy's: both move as many bytes."""
    rows = times.one(name).row, copy.row
    if rows[0] is None or rows[1] is None:
        raise KeyError(f"{name} or the copy has no time")
    return 100 * rows[1]["median_ms"] / rows[0][of]


def _shares(times: Times, name: str, copy: Time) -> tuple[float, float, float]:
    """Return the low end, the median and the high end of `share`."""
    slow, median, fast = (share(times, name, copy, of) for of in ("high_ms", "median_ms", "low_ms"))
    return slow, median, fast


def shares_figure(times: Mapping[int, Times], copy: Time) -> Figure:
    """Draw the kernels' speeds in percent of the copy's, for two filters by their width.

    A kernel that has no time has a name and no bar; a student's that passes where there is no GPU
    has the dashed outline of its bound. The title names the last one that is ours.
    """
    figure, ax = plotting.subplots(9, 5.6)
    looks = BARS["aside"], BARS["ours"]
    names: list[str] = []
    for k, ((width, each), look) in enumerate(zip(times.items(), looks, strict=True)):
        names = [_name(one) for one in each]
        there = [y for y, one in enumerate(each) if one.ms is not None]
        titles = [each[y].kernel.title for y in there]
        speeds, around = spread(_shares(each, title, copy) for title in titles)
        ax.barh(
            np.array(there) + 0.4 * k, speeds, 0.38, xerr=around, capsize=3, edgecolor=INK,
            label=f"filter of {width}", **look,
        )
        for y, least in enumerate(map(each.at_least, each)):
            if least is not None and copy.ms is not None:
                most = 100 * copy.ms / least.value
                bar(ax, y + 0.4 * k, most, "bound", height=0.38)
                beside(ax, min(most, WIDEST), y + 0.4 * k, f"at most {most:.0f}")
    _finish(ax, names)
    best = [one for one in next(iter(times.values())) if not one.kernel.yours][-1].kernel.title
    shares = [f"{share(each, best, copy):.0f} % (filter of {w})" for w, each in times.items()]
    plotting.style(ax, f"{best} reaches, of the copy's speed, {' and '.join(shares)}")
    plotting.caption(ax, next(iter(times.values())).record)
    return figure


def _name(one: Time) -> str:
    """Return the name beside the bars: of a student's kernel what is known of it."""
    words = one.kernel.label.removesuffix(", unrolled")
    if one.ms is not None:
        return words
    return one.state if one.kernel.yours and "yours" in one.state else f"{words}: {one.state}"


def _finish(ax: Axes, names: list[str]) -> None:
    ax.axvline(100, color=INK, linestyle=":")
    words = ["percent of the copy's speed (n = 100,000,000)"]
    if any(text.get_text().startswith("at most") for text in ax.texts):
        words.append("Dashed bar: a bound by its counts, not a speed; no H200 is faster")
    ax.set(
        yticks=np.arange(len(names)) + 0.2, yticklabels=names, xlim=(0, WIDEST),
        xlabel=".\n".join(words),
    )
    ax.set_ylim(len(names) - 0.2, -0.4)  # with the room of a last name that has no bar
    below = -0.05 - 0.06 * len(words)
    ax.legend(
        loc="upper right", bbox_to_anchor=(1, below), ncols=2, frameon=False, fontsize="small"
    )
