"""Lab 201: the rungs of a product in FP32, what they read from shared memory, and drawings.

    rungs = gemm_ladder.rungs(product)      # by the field's names, each made from the one before
    print(gemm_ladder.rungs_table(product))
    fig = gemm_ladder.sizes_figure(times)   # speed over the size of the matrices
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from helpers import plotting, tables
from helpers.bench.counts import Count, Counts
from helpers.bench.gemms import LIBRARY, Gemm
from helpers.bench.sources import Kernel
from helpers.limits import WARP
from helpers.plotting import boxes, styles
from helpers.problems import gemm

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from helpers.bench.times import Times

COUNTED = "shared_load_requests", "shared_load_wavefronts"
BASELINE, BEST = "block tile", "block tile 128 x 256"


@dataclass(frozen=True)
class Rung:
    """A kernel of the ladder. spec: how it is launched; depth: steps along the inner axis that are
    staged at a time, 0 for none; changes: of its source.
    """

    spec: gemm.Gemm
    depth: int = 0
    changes: tuple[tuple[str, str], ...] = ()

    @property
    def outputs(self) -> int:
        """The outputs of a thread."""
        return math.prod(self.spec.tile) // math.prod(self.spec.block)


_BASIC, _TILED, _COLUMN, _PATCH, _VECTOR, _ = gemm.GEMM
_SQUARE = replace(_BASIC, tile=(32, 32), block=(32, 32, 1))
# Neighbouring lanes take neighbouring rows in place of neighbouring columns.
_EXCHANGED = (
    ("blockDim.y + threadIdx.y", "blockDim.y + threadIdx.x"),
    ("blockDim.x + threadIdx.x", "blockDim.x + threadIdx.y"),
)
# One change each, but for what a larger tile demands of the threads, and the shorter steps of
# "block tile 64 x 64".
LADDER: Mapping[str, Rung] = {
    "naive": Rung(_SQUARE, changes=_EXCHANGED),
    "coalescing": Rung(_SQUARE),
    BASELINE: Rung(_TILED, 32),
    "thread tile 8 x 1": Rung(
        replace(
            _COLUMN, tile=(32, 32), block=(128, 1, 1), constants=(("TILE", 32), ("DEPTH", 32))
        ),
        32,
    ),
    "block tile 64 x 64": Rung(_COLUMN, 8),
    "thread tile 8 x 8": Rung(_PATCH, 8),
    "vectorised access": Rung(replace(_VECTOR, constants=(("DEPTH", 8),)), 8),
    "steps of 16": Rung(_VECTOR, 16),
    "double buffering": Rung(gemm.pipelined(8, 16), 16),
    "thread tile 16 x 8": Rung(gemm.pipelined(16, 16), 16),
    "steps of 32": Rung(gemm.pipelined(16, 32), 32),
    "fragments ahead": Rung(gemm.warp_tiles((8, 16), (8, 1), 32, 2), 32),
    "three stages": Rung(gemm.warp_tiles((8, 16), (8, 1), 32, 3), 32),
    "warp tile 64 x 64": Rung(gemm.warp_tiles((16, 8), (4, 2), 32, 3), 32),
    BEST: Rung(gemm.warp_tiles((16, 8), (2, 4), 32, 3), 32),
}


def rungs(problem: Gemm) -> dict[str, Kernel]:
    """Return the kernels of LADDER for a product, from the slowest idea to the last one."""
    made = {}
    for name, rung in LADDER.items():
        kernel = problem.kernel(rung.spec, label=name)
        made[name] = kernel.changed(*rung.changes, label=name) if rung.changes else kernel
    return made


def rungs_table() -> str:
    """Return LADDER as a text table: the kernel of each rung and its sizes."""
    rows = []
    for name, rung in LADDER.items():
        block = " x ".join(map(str, rung.spec.tile)) if rung.depth else "-"
        rows.append((name, rung.spec.name, block, str(rung.depth or "-"), str(rung.outputs)))
    head = ("rung", "kernel", "block tile", "steps at a time", "outputs of a thread")
    return tables.text(head, rows, left=(0, 1))


def peak_table(problem: Gemm, seen: Counts, times: Times) -> str:
    """Return which part of the FP32 peak a kernel's loads from shared memory allow, and which part
    it reached. Kernels without a tile have no such loads.

    A scheduler starts one instruction at a time: with a load for each multiply-add, it starts one
    multiply-add in two turns. seen: counts of kernels; times: of these kernels and of others.
    Raises ValueError for times of a device whose peak is not known.
    """
    peak = times.record.device.fp32_peak
    if not peak:
        raise ValueError(f"the FP32 peak of {times.record.device.name} is not known")

    def cells(one: Count) -> list[str]:
        _, loads, _ = per_multiply_add(problem, one)
        ms = times.one(one.kernel.title).ms
        part = f"{problem.work.flops / (1e-3 * ms) / peak:.0%}" if ms else "-"
        allowed = [f"{loads:.3f}", f"{1 / (1 + loads):.0%}"] if loads else ["-", "-"]
        return [*allowed, part]

    head = ("of the FP32 peak", "shared loads per multiply-add", "these allow", "measured")
    return tables.text(head, seen.rows(cells, 3), left=(0,))


def sizes_figure(times: Mapping[int, Times]) -> Figure:
    """Draw the speed of each kernel over the side of square matrices. times: by that side."""
    figure, ax = styles.subplots(9, 4.6)
    largest = times[max(times)]
    best: dict[str, float] = {}
    for number, name in enumerate(one.kernel.title for one in largest if one.ms is not None):
        points = [
            (side, of_side.problem.work.flops / (1e9 * one.ms))
            for side, of_side in times.items()
            for one in of_side
            if one.kernel.title == name and one.ms is not None
        ]
        look = styles.library("o") if name == LIBRARY else styles.series(number)
        ax.plot(*zip(*points, strict=True), label=name, **look)
        best[name] = points[-1][1]
    ax.set_xscale("log", base=2)
    ax.set_xticks(list(times), [f"{side:,}" for side in times])
    ax.minorticks_off()
    ax.set_ylim(bottom=0)
    ax.set(xlabel="rows, columns and inner size of the matrices", ylabel="speed (Tflop/s)")
    styles.legend_beside(ax)
    own = {name: speed for name, speed in best.items() if name != LIBRARY}
    title = f"{max(own, key=lambda name: own[name])} is our fastest for the largest matrices"
    if LIBRARY in best:
        title += f", at {max(own.values()) / best[LIBRARY]:.0%} of {LIBRARY}'s speed"
    plotting.style(ax, title)
    plotting.caption(ax, largest.record)
    return figure


def per_multiply_add(problem: Gemm, one: Count) -> tuple[float, float, float]:
    """Return the words, load instructions and wavefronts of shared memory per multiply-add.

    Words: those that a thread reads. Loads and wavefronts: for one multiply-add of a warp, since
    one load instruction of a warp may bring several words to each of its lanes.
    """
    words = one.total("bytes_used", "shared", "load") / 4 / one.outputs
    loads, wavefronts = (one.per(WARP, counter) for counter in COUNTED)
    inner = problem.one.inner
    return words / inner, loads / inner, wavefronts / inner


def words_table(problem: Gemm, seen: Counts) -> str:
    """Return what a multiply-add needs of shared memory, by kernel, as a text table."""

    def cells(one: Count) -> list[str]:
        return [f"{number:.3f}" for number in per_multiply_add(problem, one)]

    head = ("per multiply-add", "words", "load instructions", "wavefronts")
    return tables.text(head, seen.rows(cells, 3), left=(0,))


def column_figure() -> Figure:
    """Return a drawing of the column of a thread, in a tile of 16 x 16 outputs for 32 threads."""
    outputs = [(row, 5) for row in range(8, 16)]
    return _figure(outputs, 16, "thread 21 = (row 8, column 5): 8 outputs below each other")


def patch_figure() -> Figure:
    """Return a drawing of the patch of a thread, in a tile of 16 x 16 outputs for 4 x 4 threads."""
    outputs = [(row, column) for row in range(1, 16, 4) for column in range(2, 16, 4)]
    return _figure(outputs, 16, "thread (2, 1): every 4th row and column, 16 outputs")


def block_figure() -> Figure:
    """Return a drawing of the outputs of a block of gemm_vector, of a warp of it, and of a thread.

    Warp 1 has the threads 32 to 63: two rows of 16 threads, each with four quarters of 4 x 4.
    """
    from matplotlib.patches import Rectangle

    tile, half, across, warp, lane = 128, 64, 16, 1, 5
    figure, ax = styles.subplots(6.4, 5.6)
    own = warp * WARP + lane
    for thread in range(warp * WARP, (warp + 1) * WARP):
        fill = styles.COLOURS[0] if thread == own else styles.PALE
        for quarter in range(4):
            row = thread // across * 4 + quarter // 2 * half
            column = thread % across * 4 + quarter % 2 * half
            ax.add_patch(Rectangle((column, row), 4, 4, facecolor=fill, edgecolor=styles.INK))
    ax.add_patch(Rectangle((0, 0), tile, tile, fill=False, edgecolor=styles.INK, linewidth=2))
    ax.set(xlim=(-2, tile + 2), ylim=(tile + 2, -2), aspect="equal")
    ax.set(xlabel="column of the block tile", ylabel="row")
    ax.set_xticks(range(0, tile + 1, 32))
    ax.set_yticks(range(0, tile + 1, 32))
    styles.style(ax, f"A block of 128 x 128 outputs, warp {warp} of it (pale), thread {own} (blue)")
    return figure


def claim(times: Times) -> str:
    """Return which part of cuBLAS' speed the fastest rung has, as a title."""
    own = {one.kernel.title: one.ms for one in times if one.kernel.title in LADDER and one.ms}
    if not own:
        return "No rung is timed yet"
    name = min(own, key=lambda name: own[name])
    library = times.one(LIBRARY).ms
    part = f", with {library / own[name]:.0%} of {LIBRARY}'s speed" if library else ""
    return f"The fastest rung is: {name}{part}"


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
