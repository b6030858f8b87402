"""Figures whose saving lays out every artist and draws no pixel: for runs of labs in which nobody
looks at the pictures.

Drawing takes a third of the time of a lab. A kernel that imports this module saves each figure as
a picture without content. Every artist still computes its extent, so one that cannot be drawn
raises as ever.
"""

from __future__ import annotations

from typing import Any

from matplotlib import cbook
from matplotlib.backend_bases import FigureCanvasBase

from helpers.bench import png

_END = b"\0\0\0\0IEND\xaeB`\x82"


def _without_pixels(canvas: FigureCanvasBase, file: Any, *_: Any, **__: Any) -> None:
    canvas.figure.set_layout_engine("none")
    canvas.figure.draw_without_rendering()
    with cbook.open_file_cm(file, "wb") as opened:
        opened.write(png.SIGNATURE + _END)


FigureCanvasBase.print_figure = _without_pixels  # type: ignore[method-assign,assignment]
