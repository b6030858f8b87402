"""Lab 301: who holds the cells of a product on tensor cores, whom a kernel gives them to, and what
its loads cost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from helpers.bench.counts import Count, Counts
from helpers.limits import SECTOR_BYTES
from helpers.plotting import fragments, style
from helpers.plotting.styles import COLOURS, INK, LIGHT, subplots
from helpers.problems import tensor_product as product

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Holder = Callable[[int, int], tuple[int, int]]
# By matrix: rows and columns, who holds a cell, the registers, and the bytes of a cell.
LAYOUTS: dict[str, tuple[tuple[int, int], Holder, tuple[str, ...], int]] = {
    "A": (
        (product.ROWS, product.DEPTH),
        product.holder_of_a,
        ("a[0]", "a[1]", "a[2]", "a[3]"),
        2,
    ),
    "B": ((product.DEPTH, product.COLUMNS), product.holder_of_b, ("b[0]", "b[1]"), 2),
    "D": (
        (product.ROWS, product.COLUMNS),
        product.holder_of_d,
        ("d[0]", "d[1]", "d[2]", "d[3]"),
        4,
    ),
}
LEAST_REQUESTS = 2  # of A and B: 512 and 256 bytes, and a request brings at most 512


def layout_figure(lane: int = 13) -> Figure:
    """Draw A, B and D with the lane that holds each cell, as NVIDIA's manual says."""
    holders = {name: holder for name, (_, holder, *_) in LAYOUTS.items()}
    titles = {name: f"{name}: each cell has the number of its lane" for name in LAYOUTS}
    return _figure(holders, titles, lane)


def kernel_figure(one: Count, lane: int = 13) -> Figure:
    """Draw A, B and D with the lane that the kernel loads or stores each cell by."""
    loaded = {name: touched(one, name) for name in LAYOUTS}
    titles = {}
    for name, (shape, holder, *_) in LAYOUTS.items():
        right = sum(loaded[name].get(cell) == holder(*cell)[0] for cell in np.ndindex(shape))
        titles[name] = f"{name}: {right} of {np.prod(shape)} cells\nare with the right lane"

    def holder_in(name: str) -> Holder:
        _, right, *_ = LAYOUTS[name]
        return lambda row, column: (loaded[name].get((row, column), -1), right(row, column)[1])

    return _figure({name: holder_in(name) for name in LAYOUTS}, titles, lane)


def touched(one: Count, name: str) -> dict[tuple[int, int], int]:
    """Return the lane that loads each cell of A or B, or stores each of D; the last of several."""
    (_, columns), *_, size = LAYOUTS[name]
    kind = "store" if name == "D" else "load"
    lanes = {}
    for profile in one.profiles:
        for request in profile.requests.of(array=name, kind=kind, space="global"):
            for lane, offset in zip(request.lanes, request.offsets, strict=True):
                for byte in range(offset, offset + request.size, size):
                    lanes[divmod(byte // size, columns)] = lane
    return lanes


def _figure(holders: dict[str, Holder], titles: dict[str, str], lane: int) -> Figure:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(13, 5.8), width_ratios=(2, 1, 1))
    for ax, (name, (shape, _, registers, _)) in zip(axes, LAYOUTS.items(), strict=True):
        fragments.fragment(ax, shape, holders[name], titles[name], lane=lane)
        fragments.registers(ax, registers)
    return figure


def naming_figure(lane: int = 13) -> Figure:
    """Draw A in shared memory with the lane that names each row of eight for ldmatrix, and A's
    fragment, with the pairs that the lane receives.
    """
    import matplotlib.pyplot as plt

    figure, (named, held) = plt.subplots(1, 2, figsize=(11, 5.8))

    def namer(row: int, column: int) -> tuple[int, int]:
        square = row // 8 + column // 8 * 2
        return 8 * square + row % 8, square

    shape, holder, registers, _ = LAYOUTS["A"]
    fragments.fragment(named, shape, namer, f"Lane {lane} names one row of eight ...", lane=lane)
    fragments.registers(named, ("square 0", "square 1", "square 2", "square 3"))
    fragments.fragment(held, shape, holder, "... and receives four pairs of other rows", lane=lane)
    fragments.registers(held, registers)
    return figure


def cost_figure(seen: Counts) -> Figure:
    """Draw the load requests and sectors of kernels for one product, with the least there can be.

    A student's kernel that has not passed has no bar.
    """
    sectors = sum(
        2 * rows * columns // SECTOR_BYTES for (rows, columns), *_ in list(LAYOUTS.values())[:2]
    )
    panels = (
        ("global_load_requests", "load requests of the warp", LEAST_REQUESTS),
        ("global_load_sectors", "sectors of 32 bytes", sectors),
    )
    figure, axes = subplots(11, 3, columns=2, sharey=True)
    missing = [one.kernel.yours and not one.passed for one in seen]
    names = [
        seen.not_yet(one) if gone else one.kernel.title
        for one, gone in zip(seen, missing, strict=True)
    ]
    for ax, (counter, unit, least) in zip(axes, panels, strict=True):
        for place, (one, gone) in enumerate(zip(seen, missing, strict=True)):
            value = 0 if gone else getattr(one.profile, counter)
            colour = COLOURS[4] if one.kernel.yours else LIGHT[1]
            ax.barh(place, value, color=colour, edgecolor=INK, height=0.6)
            if not gone:
                ax.text(value, place, f" {value}", va="center", fontsize="small")
        ax.axvline(least, color=INK, linestyle=":")
        ax.text(least, -0.55, f" at least {least}", fontsize="small", va="bottom")
        ax.set(xlabel=unit, yticks=range(len(seen)), ylim=(len(seen) - 0.5, -1.1))
        ax.set_yticks(range(len(seen)), names)
        ax.tick_params(axis="y", length=0)
    style(axes[0], "ldmatrix loads both matrices with the fewest requests")
    style(axes[1], "and with the fewest sectors")
    return figure
