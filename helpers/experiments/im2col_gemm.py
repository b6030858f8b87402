"""The layer as a product of matrices: its traffic, its padding and its memory, all counted.

`im2col_times` has its times.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, cast

import numpy as np

from helpers import kernels, plotting, tables
from helpers.plotting import boxes, styles
from helpers.problems import conv2d
from helpers.problems.conv2d.im2col import Im2colGemm
from helpers.quantities import percent
from helpers.simulator.compile.includes import without_comments

if TYPE_CHECKING:

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from helpers.simulator import Profile

PLAIN, IM2COL, GEMM = "conv2d_basic", "im2col_basic", "gemm_tiled"
OTHERS = ("layer E1", "layer E2")  # those of a course report
LAYERS = (*conv2d.LENET, *OTHERS)
WHOLE = 10_000  # images
TILES = (16, 32)
TILE = TILES[0]
WARP_SIZE = 32

SPEC = cast(Im2colGemm, conv2d.conv2d_named("im2col_gemm"))


def unroll(image: np.ndarray, K: int) -> np.ndarray:
    """Return the unrolled matrix of an image of shape (C, H, W).

    It has a row for each filter cell and a column for each output. NumPy's windows make it, without
    an index that is divided.
    """
    windows = np.lib.stride_tricks.sliding_window_view(image, (K, K), axis=(1, 2))
    return windows.transpose(0, 3, 4, 1, 2).reshape(len(image) * K * K, -1)


def divisions(kernel: str) -> int:
    """Return how often a kernel's source divides in a pass of its loop, before the barrier."""
    text = without_comments(kernels.source(kernel))
    body = text[text.index("for (int first") :]
    return len(re.findall(r"[/%]", body[: body.index("__syncthreads")]))


# --------------------------------------------------------------------------------------------------
# What the simulator counts, and what follows from the sizes


def steps(layer: str, tile: int = TILE) -> int:
    """Return how many steps gemm_tiled makes along the inner axis."""
    return -(-conv2d.LAYERS[layer].terms // tile)


def blocks(layer: str, tile: int = TILE) -> int:
    """Return how many blocks of gemm_tiled one image has."""
    columns, rows, _ = SPEC.with_tile(tile).grid(conv2d.shape_of(layer, 1))
    return columns * rows


def useful_share(layer: str, tile: int) -> float:
    """Return the share of the multiplications of gemm_tiled that are not by padding."""
    one = conv2d.shape_of(layer, 1)
    sizes = one.M, one.out_h * one.out_w, one.terms
    return float(np.prod([size / (-(-size // tile) * tile) for size in sizes]))


@cache
def profiles(kernel: str, layer: str, tile: int = TILE) -> tuple[Profile, ...]:
    """Return the simulator's counters of each launch on one image of a layer.

    The watched warp is the first one of block (1, 0, 0).
    """
    spec = conv2d.conv2d_named(kernel)
    spec = spec if kernel == PLAIN else spec.with_tile(tile)
    _, seen = conv2d.simulate(
        spec, *conv2d.inputs(layer, 1), watch=((1, 0, 0), 0), checks=False
    )
    return seen


def counted_multiplications(layer: str, tile: int) -> int:
    """Return the multiplications of gemm_tiled for one image, padding included, as counted.

    Each one loads two words from shared memory, and nothing else loads from there.
    """
    (_, gemm) = profiles(SPEC.name, layer, tile)
    return gemm.total("bytes_used", "shared", "load") // 8


def padding_table() -> str:
    """Return how many multiplications gemm_tiled makes for one image, and how many are needed."""
    head = (
        "one image", "multiplications\ncounted", "needed", "useful", "threads without\nan output"
    )
    rows = []
    for layer in conv2d.LENET:
        for tile in TILES:
            one, counted = conv2d.shape_of(layer, 1), counted_multiplications(layer, tile)
            needed = one.outputs * one.terms
            idle = 1 - one.outputs / (blocks(layer, tile) * tile**2)
            cells = f"{counted:,}", f"{needed:,}", f"{needed / counted:.0%}", f"{idle:.0%}"
            rows.append((f"{layer}, tiles of {tile}", *cells))
    return tables.text(head, rows)


def step_lines(layer: str = "layer 2", tile: int = TILE) -> str:
    """Return the passes of shared memory in one step of one warp, as counted."""
    (_, gemm) = profiles(SPEC.name, layer, tile)
    warps = tile * tile // WARP_SIZE
    warps_and_steps = gemm.blocks * warps * steps(layer, tile)
    loads = gemm.shared_load_wavefronts / warps_and_steps
    stores = gemm.shared_store_wavefronts / warps_and_steps
    part = tile / (4 * (loads + stores))
    return (
        f"tiles of {tile}, one step of one warp: {loads:.0f} wavefronts of loads and {stores:.0f} "
        f"of stores, for {tile} multiply-adds\n"
        f"one wavefront in a cycle: {loads + stores:.0f} cycles; four multiply-adds of warps in a "
        f"cycle: {tile / 4:.0f} cycles\n"
        f"so at most {part:.0%} of the peak"
    )


def matrix_gigabytes(layer: str) -> float:
    """Return the gigabytes of the unrolled matrices of the whole batch."""
    return SPEC.scratch(conv2d.shape_of(layer, WHOLE)) / 1e9


# --------------------------------------------------------------------------------------------------
# Figures

_PADDING: styles.Look = {"facecolor": "white", "hatch": "////", "edgecolor": "#9a9a9a"}
_NEEDED: styles.Look = {"facecolor": "#bcd3ee", "edgecolor": "#9a9a9a"}


def unroll_figure() -> Figure:
    """Draw a small image and its unrolled matrix; the cells of one output are marked in both."""
    rows, columns, K, output = 3, 4, 2, 4
    image = np.arange(rows * columns).reshape(1, rows, columns)
    matrix = unroll(image, K)
    out_w = columns - K + 1
    top, left = divmod(output, out_w)
    figure, axes = styles.subplots(9, 3, columns=2, width_ratios=(columns, matrix.shape[1] + 2))
    window = {(top + p, left + q) for p in range(K) for q in range(K)}
    _draw_numbers(axes[0], image[0], window)
    column = {(row, output) for row in range(K * K)}
    _draw_numbers(axes[1], matrix, column)
    often = np.bincount(matrix.ravel())
    plotting.style(axes[0], f"Image, {rows} x {columns}; blue: for output {output}")
    plotting.style(
        axes[1],
        f"Unrolled matrix, {K * K} x {matrix.shape[1]}: each cell occurs 1 to "
        f"{often.max()} times",
    )
    cells = [f"({p}, {q})" for p in range(K) for q in range(K)]
    axes[1].set(yticks=np.arange(K * K) + 0.5, yticklabels=cells, ylabel="filter cell (p, q)")
    axes[1].set(xticks=np.arange(matrix.shape[1]) + 0.5, xticklabels=range(matrix.shape[1]))
    axes[1].set_xlabel("output")
    axes[0].set(xticks=[], yticks=[])
    return figure


def _draw_numbers(ax: Axes, numbers: np.ndarray, marked: set[tuple[int, int]]) -> None:
    for (row, column), number in np.ndenumerate(numbers):
        dark = (row, column) in marked
        words: styles.Look = {"fontsize": "medium", "color": "white" if dark else styles.INK}
        fill = styles.COLOURS[0] if dark else "white"
        boxes.box(ax, column, row, str(number), words=words, facecolor=fill)
    rows, columns = numbers.shape
    # The edges of the outermost boxes are whole.
    ax.set(xlim=(-0.03, columns + 0.03), ylim=(rows + 0.03, -0.03), aspect="equal")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def tiles_figure(layer: str = "layer 1") -> Figure:
    """Draw the three matrices of the product in tiles, three of them beside each other, and mark
    one step of a block and a thread.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch, Rectangle

    one, tile, columns = conv2d.shape_of(layer, 1), TILE, 3
    inner, wide, high = steps(layer, tile) * tile, columns * tile, -(-one.M // tile) * tile
    gap = tile
    block, step = 1, 1  # the tile of Y and the step that are marked
    tx, ty = 3, 2  # the thread
    figure, ax = styles.subplots(8, 5.6)
    matrices = (  # name, place, height, width, of them needed
        ("A, the filter", 0, inner + gap, high, inner, one.M, one.terms),
        ("X, unrolled", inner + gap, 0, inner, wide, one.terms, wide),
        ("Y", inner + gap, inner + gap, high, wide, one.M, wide),
    )
    for name, left, top, rows, across, needed_rows, needed_across in matrices:
        ax.add_patch(Rectangle((left, top), across, rows, **_PADDING))
        ax.add_patch(Rectangle((left, top), needed_across, needed_rows, **_NEEDED))
        for x in range(left, left + across + 1, tile):
            ax.plot([x, x], [top, top + rows], color=styles.INK, linewidth=0.7)
        for y in range(top, top + rows + 1, tile):
            ax.plot([left, left + across], [y, y], color=styles.INK, linewidth=0.7)
        ax.text(left, top - 1.5, name, va="bottom")
    marked: styles.Look = {"facecolor": "none", "edgecolor": styles.COLOURS[1], "linewidth": 3.5}
    across = inner + gap + block * tile
    for x, y in ((step * tile, inner + gap), (across, step * tile), (across, inner + gap)):
        ax.add_patch(Rectangle((x, y), tile, tile, zorder=3, **marked))
    reads: styles.Look = {"facecolor": styles.COLOURS[0], "edgecolor": "none", "alpha": 0.45}
    ax.add_patch(Rectangle((step * tile, inner + gap + ty), tile, 1, zorder=4, **reads))
    ax.add_patch(Rectangle((across + tx, step * tile), 1, tile, zorder=4, **reads))
    loads: styles.Look = {"color": styles.COLOURS[0], "marker": "o", "markersize": 5, "zorder": 5}
    loads |= {"linestyle": "none"}
    ax.plot(step * tile + tx + 0.5, inner + gap + ty + 0.5, **loads)
    ax.plot(across + tx + 0.5, step * tile + ty + 0.5, **loads)
    writes: styles.Look = {**loads, "marker": "s"}
    ax.plot(across + tx + 0.5, inner + gap + ty + 0.5, **writes)
    ax.set(xlim=(-1, inner + gap + wide + 1), ylim=(inner + gap + high + 1, -5), aspect="equal")
    ax.axis("off")
    handles = [
        Patch(label="needed", **_NEEDED),
        Patch(label="padding: zeros, or not stored", **_PADDING),
        Patch(label=f"block {block} in its step {step} (counted from 0)", **marked),
        Line2D([], [], label=f"thread ({tx}, {ty}) loads these", **loads),
        Patch(label="and multiplies these", **reads),
        Line2D([], [], label="for this output", **writes),
    ]
    ax.legend(handles=handles, loc="upper left", frameon=False)
    share = useful_share(layer, tile)
    plotting.style(
        ax,
        f"{layer}, tiles of {tile}: {percent(share)} of the multiplications are needed "
        f"({columns} of {-(-one.out_h * one.out_w // tile)} columns of tiles are drawn)",
    )
    return figure
