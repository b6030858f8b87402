"""Lab 307: the rungs of a product of halves, beside cuBLAS, and the order of their tiles.

    print(half_ladder.rungs_table())
    times = half_ladder.compare(product, "gemm_mma")   # over cuBLAS: here, or recorded
    half_ladder.shares_figure(times_by_product)
    half_ladder.order(8, mine)                         # of the tiles, by a student's kernel
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from helpers import device, launch, plotting, simulator, tables
from helpers.bench import cudnn, gemms, results
from helpers.bench.gemms import LIBRARY, Gemm
from helpers.bench.times import Times
from helpers.exercises.content import tile_order
from helpers.plotting import boxes, styles
from helpers.plotting.boxes import Phase
from helpers.problems import gemm
from helpers.quantities import percent
from helpers.simulator.bounds import resources

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# What each rung adds to the one before.
RUNGS: Mapping[str, str] = {
    "gemm_mma": "fragments in registers",
    "gemm_wgmma": "products from shared memory",
    "gemm_tma": "tensor maps",
    "gemm_cluster": "clusters with multicast",
    "gemm_persistent": "persistent blocks",
    "gemm_overlapped": "overlapped stores",
}
SPECS: Mapping[str, gemm.Gemm] = {spec.name: spec for spec in gemm.HALVES}
FIRST, LAST = next(iter(RUNGS)), list(RUNGS)[-1]
HALF_BYTES, DEPTH, COPY_BYTES = 2, 64, 16  # a half; terms of a step; what a thread copies at a time


def compare(product: Gemm, *names: str) -> Times:
    """Return the times of rungs over cuBLAS: measured where the GPU runs all of them and PyTorch
    calls cuBLAS, else those of the benchmark.
    """
    gpu = device.select()
    if gpu.kind != "gpu":
        return product.compare(LIBRARY, *names, record=gemms.RECORD)
    runs = gpu.compute_capability == (9, 0) or (
        set(names) <= {FIRST} and gpu.compute_capability >= (8, 0)
    )
    if runs and not cudnn.why_not():
        return product.compare(LIBRARY, *names)
    kernels = [product.kernel(name) for name in (LIBRARY, *names)]
    return Times.read(results.recorded(gemms.RECORD), product, kernels, over=kernels[0])


def share(times: Times, name: str) -> float | None:
    """Return the speed of a rung in percent of cuBLAS'; None where it has no time."""
    ratio = next((one.ratio for one in times if one.kernel.title == name), None)
    return None if ratio is None else 100 / ratio.value


def most_of_mma(times: Times) -> float:
    """Return the most that a kernel with `mma` can reach, in percent of cuBLAS' speed in `times`,
    by the rate of `mma` alone on an H200.
    """
    library = times.problem.work.flops / (1e-3 * times.ms(LIBRARY))
    return 100 * resources.rates().by_resource["tensor_half"].per_second / library


def step(spec: gemm.Gemm) -> tuple[int, int]:
    """Return the copies that a block starts in a step, and the bytes that L2 sends for them."""
    high, wide = spec.tile
    of_a, of_x = (HALF_BYTES * DEPTH * cells for cells in (high, wide // spec.cluster))
    sizes = {name: HALF_BYTES * math.prod(tile) for name, tile in spec.maps}
    copies = of_a // sizes.get("A", COPY_BYTES) + of_x // sizes.get("X", COPY_BYTES)
    return copies, of_a + of_x


def rungs_table() -> str:
    """Return the ladder as a text table: what each rung adds, and what a block does in a step."""
    rows = []
    for name, adds in RUNGS.items():
        spec = SPECS[name]
        copies, sent = step(spec)
        product = "mma" if spec is gemm.MMA else "wgmma"
        rows.append((adds, name, product, f"{copies:,}", f"{sent // 1024}"))
    head = ("what it adds", "kernel", "products", "copies", "KB from L2")
    return tables.text(head, rows, left=(0, 1, 2))


def shares_figure(times: Sequence[Times]) -> Figure:
    """Draw the speed of each rung over cuBLAS', product by product."""
    _, ax = styles.subplots(9.5, 4.8)
    for number, name in enumerate(RUNGS):
        shares = [share(of_product, name) for of_product in times]
        points = [(i, value) for i, value in enumerate(shares) if value is not None]
        if points:
            ax.plot(*zip(*points, strict=True), label=name, **styles.series(number))
    ax.axhline(100, label=LIBRARY, **(styles.library("") | {"marker": None}))
    ax.set_xticks(range(len(times)), [_title(one.problem) for one in times])
    ax.set_ylim(bottom=0)
    ax.set(xlabel="rows x columns x inner size", ylabel=f"speed, in % of {LIBRARY}'s")
    styles.legend_beside(ax)
    found = [value for one in times if (value := share(one, LAST)) is not None]
    title = f"{LAST} is not timed yet"
    if found:
        title = f"{LAST} reaches {min(found):.0f} to {max(found):.0f} % of {LIBRARY}'s speed"
    return plotting.finish(ax, title, times[-1].record)


def rounds_table(times: Sequence[Times]) -> str:
    """Return, for the last two rungs and each product: tiles, rounds, and speed over cuBLAS'.

    Rounds: the tiles over those that an H200 computes at a time, with all its blocks. Busy: the
    share of their time in which its 132 multiprocessors have a tile.
    """
    rows = []
    for one in times:
        for name in list(RUNGS)[-2:]:
            product: Any = one.problem
            spec = SPECS[name]
            if name == LAST:
                spec = gemm.fastest(product.rows, product.cols, halves=True)
            tiles = spec.tiles(product.rows, product.cols)
            rounds = spec.rounds(product.rows, product.cols)
            value = share(one, name)
            rows.append(
                (
                    _title(product), name, " x ".join(map(str, spec.tile)),
                    f"{tiles:,}", f"{rounds:.2f}",
                    percent(tiles / (math.ceil(rounds) * gemm.CLUSTERS[1])),
                    "-" if value is None else f"{value:.0f} %",
                )
            )  # fmt: skip
    head = ("product", "kernel", "tile", "tiles", "rounds", "busy", f"of {LIBRARY}'s speed")
    return tables.text(head, rows, left=(0, 1))


def _title(product: Any) -> str:
    return " x ".join(map(str, dict.fromkeys((product.rows, product.cols, product.inner))))


# --------------------------------------------------------------------------------------------------
# The order of the tiles

SIDE = 32  # tiles of two blocks, below each other and beside each other, for 8192 x 8192 outputs
AT_A_TIME = gemm.CLUSTERS[2]


def order(band: int, cell: Any = None, side: int = SIDE) -> np.ndarray:
    """Return when each of side x side tiles is computed by clusters that stay.

    band: rows of a band. cell: a student's right tile_order, as a %%kernel cell binds it, which
    runs in the simulator; ours without one. Raises ValueError where its launch has a finding.
    """
    case = tile_order.tiles(side, side, band, AT_A_TIME)
    numbers = tile_order.in_bands(case)
    if cell is not None:
        arrays = {"Y": np.full(numbers.shape, -1, np.int32)}
        (findings,) = launch.simulate(case.plan(cell.cell), arrays, simulator.check)
        if findings:
            raise ValueError(f"{cell.name}: {findings[0].brief()}")
        numbers = arrays["Y"]
    return numbers[:, ::32]


def strips(numbers: np.ndarray) -> tuple[int, int]:
    """Return from how many rows and columns of tiles those come that are computed first, at a time.

    They are strips of A, and strips of X.
    """
    rows, columns = np.nonzero(numbers < AT_A_TIME)
    return len(set(rows.tolist())), len(set(columns.tolist()))


def strips_table(orders: Mapping[int, np.ndarray]) -> str:
    """Return a line for each band: the strips that the first tiles need. orders: by rows of a band.
    """
    rows = []
    for band, numbers in orders.items():
        of_a, of_x = strips(numbers)
        rows.append([str(value) for value in (band, of_a, of_x, of_a + of_x)])
    head = ("rows of a band", "strips of A", "strips of X", "together")
    return tables.text(head, rows, left=())


def order_figure(orders: Mapping[int, np.ndarray]) -> Figure:
    """Draw the tiles of the first and of the second round, a picture for each band."""
    figure, axes = styles.subplots(9.5, 5.4, columns=len(orders), squeeze=False)
    looks: dict[str, styles.Look] = {
        "first round": {"facecolor": styles.COLOURS[0]},
        "second round": {"facecolor": styles.LIGHT[1], "hatch": "////"},
        "later": {"facecolor": "white"},
    }
    for ax, (band, numbers) in zip(axes[0], orders.items(), strict=True):
        for (row, column), number in np.ndenumerate(numbers):
            kind = list(looks)[min(number // AT_A_TIME, 2)]
            look = {"width": 1, "height": 1, "linewidth": 0.3, **looks[kind]}
            boxes.box(ax, column, row, "", **look)
        high, wide = numbers.shape
        ax.set(xlim=(0, wide), ylim=(high, 0), aspect="equal")
        ax.set(xlabel="column of tiles", ylabel="row of tiles")
        ax.set_xticks(range(0, wide + 1, 8))
        ax.set_yticks(range(0, high + 1, 8))
        of_a, of_x = strips(numbers)
        styles.style(ax, f"Bands of {band}: {of_a} strips of A and {of_x} of X")
    boxes.legend_of(figure, looks)
    return figure


def stores_figure() -> Figure:
    """Draw what a multiprocessor does with three tiles, rung by rung; nothing is measured."""
    figure, ax = styles.subplots(9.5, 3.6)
    looks: dict[str, styles.Look] = {
        "copies the first steps": {"facecolor": styles.PALE},
        "multiplies": {"facecolor": styles.COLOURS[0]},
        "stores": {"facecolor": styles.LIGHT[1], "hatch": "////"},
    }
    drawn = []
    # Of each rung: the rows of its copies, products and stores, and how far apart its tiles begin.
    for rows, apart in (((0, 0, 0), 12), ((1, 2, 2), 10), ((3, 4, 5), 7)):
        for first in range(2, 2 + 3 * apart, apart):
            phases = zip(rows, (first - 2, first, first + 7), (2, 7, 3), looks, strict=True)
            drawn += [Phase(*phase) for phase in phases]
    names = (
        "gemm_cluster", "gemm_persistent: producer", "consumers", "gemm_overlapped: producer",
        "consumers", "copy engine",
    )
    boxes.phases(ax, names, drawn, looks, 37)
    boxes.legend_of(figure, looks)
    title = "Three tiles: gemm_persistent copies during the stores, gemm_overlapped also multiplies"
    plotting.style(ax, title)
    return figure
