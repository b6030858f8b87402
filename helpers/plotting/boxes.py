"""Drawings made of boxes: cells with a text, tiles over a map, and what runs when."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from helpers.plotting.styles import INK, Look

OWN: Look = {"facecolor": "#bcd3ee", "edgecolor": INK}
IDLE: Look = {"facecolor": "#f3d2b3", "edgecolor": "#9a6b45", "hatch": "////"}
_BEHIND: Look = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}


def box(
    ax: Axes,
    x: float,
    y: float,
    text: str = "",
    *,
    width: float = 1.0,
    height: float = 1.0,
    words: Look | None = None,
    **look: object,
) -> None:
    """Draw a box, by default a white square of side 1, with a text in its middle.

    x, y: the corner with the smallest coordinates. words: keyword arguments of the text; look:
    those of the box. The text of a hatched box has a white background.
    """
    shown: Look = {"facecolor": "white", "edgecolor": INK, "linewidth": 0.9, **look}
    # add_patch finds the same corners by transforms, which takes most of the time of a drawing.
    ax.add_artist(Rectangle((x, y), width, height, **shown))
    ax.update_datalim([(x, y), (x + width, y + height)])
    if text:
        of_text: Look = {"fontsize": "x-small", "color": INK, "ha": "center", "va": "center"}
        of_text |= {"bbox": _BEHIND} if shown.get("hatch") else {}
        ax.text(x + width / 2, y + height / 2, text, **of_text | (words or {}))


def cover(
    ax: Axes, rows: int, columns: int, tile: int, *, numbered: bool = False
) -> tuple[int, float]:
    """Draw how square tiles cover a map of rows x columns outputs; a cell of a tile is a thread.

    Return the number of tiles, and the share of the threads that have no output; they are hatched.
    numbered: whether each tile has its number.
    """
    down, across = -(-rows // tile), -(-columns // tile)
    box(ax, 0, 0, width=across * tile, height=down * tile, **IDLE)
    box(ax, 0, 0, width=columns, height=rows, **OWN)
    for number in range(down * across):
        row, column = divmod(number, across)
        words: Look = {"fontsize": "medium", "bbox": _BEHIND}
        text = str(number) if numbered else ""
        box(ax, column * tile, row * tile, text, width=tile, height=tile, fill=False, words=words)
    ax.set_aspect("equal")
    return down * across, 1 - rows * columns / (down * across * tile**2)


class Phase(NamedTuple):
    """A box of `phases`: in which row, when it starts, how long it lasts, of which kind it is."""

    row: int
    start: float
    width: float
    kind: str
    text: str = ""


def phases(
    ax: Axes, rows: Sequence[str], drawn: Iterable[Phase], looks: Mapping[str, Look], end: float
) -> None:
    """Draw what each row does when, on an axis of time without numbers. looks: of the kinds."""
    for one in drawn:
        look: Look = {"width": one.width, "height": 0.6, "linewidth": 1.0, **looks[one.kind]}
        box(ax, one.start, one.row - 0.3, one.text, words={"fontsize": "small"}, **look)
    ax.set_yticks(range(len(rows)), rows)
    ax.tick_params(axis="y", length=0)
    # The edge of a box that ends there is whole.
    ax.set(xlim=(0, 1.003 * end), ylim=(len(rows) - 0.5, -0.5), xticks=[])
    ax.set_xlabel("time (a drawing, not a measurement)")


def legend_of(figure: Figure, looks: Mapping[str, Look]) -> None:
    """Draw a legend of the looks of boxes below a figure's axes."""
    handles = [Patch(label=label, **{"edgecolor": INK, **look}) for label, look in looks.items()]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
