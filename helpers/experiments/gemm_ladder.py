"""Lab 201: the words that a product reads from shared memory, and a thread's outputs drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helpers import tables
from helpers.bench.counts import Count, Counts
from helpers.bench.gemms import Gemm
from helpers.limits import WARP
from helpers.plotting import boxes, styles

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COUNTED = "shared_load_requests", "shared_load_wavefronts"


def words_table(problem: Gemm, seen: Counts) -> str:
    """Return what a multiply-add needs of shared memory, by kernel, as a text table.

    Words: those that a thread reads. Loads and wavefronts: for one multiply-add of a warp, since
    one load instruction of a warp may bring several words to each of its lanes.
    """

    def cells(one: Count) -> list[str]:
        words = one.total("bytes_used", "shared", "load") / 4 / one.outputs
        counts = (one.per(WARP, counter) for counter in COUNTED)
        return [f"{number / problem.one.inner:.3f}" for number in (words, *counts)]

    head = ("for one multiply-add", "words", "load instructions", "wavefronts")
    return tables.text(head, seen.rows(cells, 3), left=(0,))


def column_figure() -> Figure:
    """Return a drawing of the column of a thread, in a tile of 16 x 16 outputs for 32 threads."""
    outputs = [(row, 5) for row in range(8, 16)]
    return _figure(outputs, 16, "thread 21 = (row 8, column 5): 8 outputs below each other")


def patch_figure() -> Figure:
    """Return a drawing of the patch of a thread, in a tile of 16 x 16 outputs for 4 x 4 threads."""
    outputs = [(row, column) for row in range(1, 16, 4) for column in range(2, 16, 4)]
    return _figure(outputs, 16, "thread (2, 1): every 4th row and column, 16 outputs")


def _figure(outputs: list[tuple[int, int]], size: int, title: str) -> Figure:
    """Draw the tile of Y with a thread's outputs, and the cells of A and X of one step."""
    figure, ax = styles.subplots(6, 5.4)
    fills = ("white", styles.COLOURS[0])
    for row in range(size):
        for column in range(size):
            boxes.box(ax, column, -row, facecolor=fills[(row, column) in outputs])
    for row in range(size):
        boxes.box(ax, -3, -row, facecolor=fills[row in {one for one, _ in outputs}])
    for column in range(size):
        boxes.box(ax, column, 3, facecolor=fills[column in {one for _, one in outputs}])
    ax.text(size / 2, -size - 0.1, "tile of Y", ha="center", va="top")
    ax.text(-2.5, -size - 0.1, "A: one\nstep", ha="center", va="top")
    ax.text(-0.6, 3.5, "X: one step", ha="right", va="center")
    reads = len({one for one, _ in outputs}) + len({one for _, one in outputs})
    styles.style(ax, f"{title}\n{reads} words read, {len(outputs)} multiply-adds")
    ax.set_xlim(-6.5, size + 0.5)
    ax.set_ylim(-size - 2.2, 5)
    ax.set_aspect("equal")
    ax.axis("off")
    return figure
