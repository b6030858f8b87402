"""Descriptions of figures in words, for screen readers and for the website."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def description(figure: Figure) -> str:
    """Return the figure's claim and its axes, in one line.

    The labs' titles are sentences that say what a figure shows. With the labels of the axes, they
    describe it. Axes without a title and labels, such as a colour bar, are left out.
    """
    title = " ".join(figure.get_suptitle().split())
    sentences = [f"{title}." if title else "", *map(_axes, figure.axes)]
    return " ".join(["Figure:", *filter(None, sentences)])


def has_pixels(figure: Figure) -> bool:
    """Return whether the figure shows the pixels of a picture, as `imshow` draws them."""
    return any(axes.images for axes in figure.axes)


def _axes(axes: Any) -> str:
    titles = (" ".join(axes.get_title(loc=where).split()) for where in ("left", "center", "right"))
    title = " ".join(filter(None, titles))
    labels = {"x": axes.get_xlabel(), "y": axes.get_ylabel()}
    words = ", ".join(
        f"{axis}: {' '.join(label.split())}" for axis, label in labels.items() if label
    )
    if not title:
        return f"Axes of {words}." if words else ""
    return f"{title} ({words})." if words else f"{title}."
