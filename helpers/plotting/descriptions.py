"""A figure in words: what a screen reader says, and what a website puts beside the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def description(figure: Figure) -> str:
    """The figure's claim and its axes, in one line.

    Titles of ours are sentences that say what a figure shows; with the labels of the axes they describe it.
    Axes without a title, a label or anything drawn (a colour bar, say) are left out.
    """
    title = " ".join(figure.get_suptitle().split())
    sentences = [f"{title}." if title else "", *map(_axes, figure.axes)]
    return " ".join(["Figure:", *filter(None, sentences)])


def _axes(axes: Any) -> str:
    titles = (" ".join(axes.get_title(loc=where).split()) for where in ("left", "center", "right"))
    title = " ".join(filter(None, titles))
    labels = {"x": axes.get_xlabel(), "y": axes.get_ylabel()}
    drawn = ", ".join(
        f"{axis}: {' '.join(label.split())}" for axis, label in labels.items() if label
    )
    if not title:
        return f"Axes of {drawn}." if drawn else ""
    return f"{title} ({drawn})." if drawn else f"{title}."
