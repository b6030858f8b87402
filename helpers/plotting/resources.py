"""Pictures of bounds: what a launch asks of each resource of a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helpers.plotting.styles import bar, beside, ratio_text, style
from helpers.quantities import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from helpers.simulator.bounds import Bounds

# A resource that is busy for a hundredth of the bound is not worth a bar.
LEAST = 0.01


def resource_bars(ax: Axes, found: Bounds, *, most: int = 8, title: str = "") -> Axes:
    """Draw a bar for each resource that a launch asks for: the least time, in microseconds, that it
    is busy.

    found: of `Profile.bounds`. The longest bar is the bound; the others are pale. At most `most`
    resources are drawn, those with the longest bars. It returns ax. Raises ValueError for a number
    of bars below 1.
    """
    if most < 1:
        raise ValueError(f"most is {most}: draw one bar or more")
    bound = found.microseconds
    shares = [share for share in found.shares if share.microseconds >= LEAST * bound][:most]
    factor, unit = (1.0, "µs") if bound < 1e3 else (1e-3, "ms")
    for place, share in enumerate(shares):
        width, first = factor * share.microseconds, place == 0
        bar(ax, place, width, "ours" if first else "aside", height=0.66)
        part = "the bound" if first else percent(share.microseconds / bound)
        beside(ax, width, place, f"{ratio_text(width)} {unit}, {part}", fontsize="small")
    ax.set_yticks(range(len(shares)), [share.title for share in shares])
    ax.invert_yaxis()
    ax.set_xlim(0, 1.3 * factor * bound)
    ax.set_xlabel(f"busy for so long at least, on an {found.device} ({unit})")
    least = f"{ratio_text(factor * bound)} {unit}"
    said = f"No {found.device} runs {found.kernel} in less than {least}"
    return style(ax, title or f"{said}: its {found.largest.title} would be busy all the time")
