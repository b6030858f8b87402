"""Pictures of the fragments of a tensor-core product: which lane holds which cell of a matrix."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from helpers.plotting.boxes import box
from helpers.plotting.styles import COLOURS, INK, LIGHT, PALE, Look, style

Holder = Callable[[int, int], tuple[int, int]]  # (row, column) -> (lane, register)
FILLS = ("white", PALE, LIGHT[1], LIGHT[6])  # by register, light to dark


def fragment(
    ax: Axes, shape: tuple[int, int], holder: Holder, title: str = "", lane: int | None = None
) -> Axes:
    """Draw a matrix as a grid; the number in a cell is the lane that holds it.

    The shade of a cell is the register, light to dark. holder: of a cell's row and column, its lane
    and register; (-1, 0) for a cell that nobody has. lane: the one whose cells get a frame.
    """
    rows, columns = shape
    for row, column in np.ndindex(rows, columns):
        owner, register = holder(row, column)
        chosen = owner == lane
        look: Look = {"facecolor": FILLS[register], "linewidth": 0.4, "zorder": 2}
        words: Look = {"fontsize": 7, "zorder": 4}
        if chosen:
            look |= {"edgecolor": COLOURS[4], "linewidth": 2.6, "zorder": 3}
            words["weight"] = "bold"
        box(ax, column, row, str(owner) if owner >= 0 else "?", words=words, **look)
    style(ax, title)
    ax.set(xlim=(-0.1, columns + 0.1), ylim=(rows + 0.1, -0.1), aspect="equal")
    ax.set_xticks([k + 0.5 for k in range(columns)], [str(k) for k in range(columns)])
    ax.set_yticks([k + 0.5 for k in range(rows)], [str(k) for k in range(rows)])
    ax.tick_params(length=0, labelsize="x-small")
    ax.set(xlabel="column", ylabel="row")
    ax.spines[["left", "bottom"]].set_visible(False)
    return ax


def registers(ax: Axes, names: tuple[str, ...]) -> Axes:
    """Add the key to the shades of `fragment`: one square for each register."""
    handles = [
        Rectangle((0, 0), 1, 1, facecolor=FILLS[k], edgecolor=INK, linewidth=0.6)
        for k in range(len(names))
    ]
    ax.legend(
        handles,
        names,
        loc="upper center",
        bbox_to_anchor=(0.5, -0.16),
        ncols=len(names),
        frameon=False,
        fontsize="small",
        handlelength=1.2,
        columnspacing=1.0,
    )
    return ax
