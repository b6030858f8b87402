"""A picture of small arrays, cell by cell: what goes in, what comes out, and from where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from helpers.plotting.boxes import box
from helpers.plotting.styles import INK, Look, style

MOST_CELLS = 64  # of all arrays together: a larger picture has no room for values
_MARKED, _RESULT = "#f3d2b3", "#bcd3ee"


@dataclass(frozen=True)
class Cells:
    """An array to draw. values: of one or two axes; marked: places that the picture stresses;
    group: of an array of one axis, cells of a block (0: no blocks); of: what a group is called;
    upright: whether an array of one axis stands as a column.
    """

    name: str
    values: np.ndarray
    marked: Sequence[tuple[int, ...]] = ()
    group: int = 0
    of: str = "block"
    upright: bool = False

    @property
    def rows(self) -> np.ndarray:
        """The values as rows."""
        if self.values.ndim == 2:
            return self.values
        return self.values[:, None] if self.upright else self.values[None]

    def place(self, index: tuple[int, ...]) -> tuple[int, int]:
        """Return the row and the column of a cell in the picture."""
        if len(index) == 2:
            return index[0], index[1]
        return (index[0], 0) if self.upright else (0, index[0])


def cells(ax: Axes, inputs: Sequence[Cells], output: Cells, *, title: str = "") -> Axes:
    """Draw arrays with the value of each cell, and mark inputs and the output that they make.

    If all inputs are rows, the arrays stand below each other, the output at the bottom, and arrows
    lead from the marked inputs to the marked output. Otherwise they stand side by side, the output
    on the right. Brackets name the blocks of an input that has several.

    Raises ValueError for more than 64 cells, and unless one output is marked.
    """
    every = [*inputs, output]
    total = sum(array.values.size for array in every)
    if total > MOST_CELLS:
        raise ValueError(
            f"a picture shows at most {MOST_CELLS} cells, and these arrays have {total}: "
            "draw a smaller example"
        )
    if len(output.marked) != 1:
        raise ValueError(f"mark one cell of the output {output.name}, got {len(output.marked)}")
    style(ax, title)
    flat = all(len(array.rows) == 1 for array in inputs)
    x = y = right = bottom = 0.0
    corners = []
    for array in every:
        height, width = array.rows.shape
        corners.append((x, y))
        _draw(ax, array, x, y, result=array is output, arrows=flat)
        right, bottom = max(right, x + width), max(bottom, y + height)
        x, y = (0.0, y + 2.5) if flat else (x + width + 1.7, 0.0)
    if flat:
        end = _middle(output, corners[-1], output.marked[0])
        for array, corner in zip(inputs, corners, strict=False):
            for index in array.marked:
                x, y = _middle(array, corner, index)
                arrow: Look = {"arrowstyle": "->", "color": "#8a4b10", "linewidth": 1.0}
                # Behind the cells: the arrow shows only between two arrays.
                ax.annotate("", end, (x, y + 1.0), arrowprops=arrow, zorder=0.5)
    ax.set_xlim(-1.0, right + 0.3)
    ax.set_ylim(bottom + (0.5 if flat else 0.3), -1.05)
    ax.set_aspect("equal")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(NullLocator())
    ax.spines[:].set_visible(False)
    return ax


def _draw(ax: Axes, array: Cells, x: float, y: float, *, result: bool, arrows: bool) -> None:
    height, width = array.rows.shape
    marked = {array.place(index) for index in array.marked}
    for row in range(height):
        for column in range(width):
            own = (row, column) in marked
            look: Look = {"linewidth": 1.6, "zorder": 2} if own else {"linewidth": 0.8, "zorder": 1}
            if own:
                look["facecolor"] = _RESULT if result else _MARKED
            weight = "bold" if own else "normal"
            words: Look = {"fontsize": "small", "fontweight": weight, "zorder": 4}
            box(ax, x + column, y + row, f"{array.rows[row, column]:g}", words=words, **look)
    _number(ax, array, x, y, result=result, arrows=arrows)
    ax.text(
        x - 0.55 if array.values.ndim == 1 and not array.upright else x - 0.1,
        y + 0.5 if array.values.ndim == 1 and not array.upright else y - 0.42,
        array.name,
        ha="center",
        va="center" if array.values.ndim == 1 and not array.upright else "bottom",
        fontsize="medium",
        fontweight="bold",
        color=INK,
    )


def _number(ax: Axes, array: Cells, x: float, y: float, *, result: bool, arrows: bool) -> None:
    """Write the indices along the edges, and the names of an input's blocks.

    arrows: they end at the upper side of the result, so that its columns are numbered below.
    """
    height, width = array.rows.shape
    small: Look = {"fontsize": "x-small", "color": "#666666"}
    if not array.upright:
        for column in range(width):
            below = arrows and result
            at = y + height + 0.06 if below else y - 0.06
            text = ax.text(
                x + column + 0.5, at, str(column), ha="center", va="top" if below else "bottom",
                **small,
            )
            # An arrow from an array further up breaks off where it would cross a number.
            text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.4})
    if array.values.ndim == 2 or array.upright:
        for row in range(height):
            ax.text(x - 0.08, y + row + 0.5, str(row), ha="right", va="center", **small)
    if not array.group or array.group >= array.values.size:
        return
    for number, first in enumerate(range(0, array.values.size, array.group)):
        last = min(first + array.group, array.values.size)
        if first:
            ax.plot([x + first, x + first], [y - 0.1, y + 1.1], color=INK, linewidth=2.4, zorder=5)
        if result:
            continue
        ax.plot([x + first + 0.08, x + last - 0.08], [y - 0.45, y - 0.45], color=INK, linewidth=1.0)
        ax.text(
            x + (first + last) / 2,
            y - 0.5,
            f"{array.of} {number}",
            ha="center",
            va="bottom",
            fontsize="x-small",
            color=INK,
        )


def _middle(
    array: Cells, corner: tuple[float, float], index: tuple[int, ...]
) -> tuple[float, float]:
    """Return the middle of a cell's upper side."""
    row, column = array.place(index)
    return corner[0] + column + 0.5, corner[1] + row
