"""Pictures of several cards: their buses, their times, and what lies between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from helpers.plotting.styles import (
    COLOURS,
    INK,
    Look,
    bar,
    beside,
    interval,
    ratio_text,
    series,
    spread,
    style,
    whisker,
)
from helpers.quantities import percent

Row = Mapping[str, Any]
WAYS = {"H2D": "to the cards", "D2H": "back", "both": "both ways at once"}


def rate(row: Row) -> tuple[float, float, float]:
    """Return GB/s of a row with bytes and times: low end, median, high end."""
    fast, median, slow = (row["bytes"] / 1e6 / ms for ms in interval(row))
    return slow, median, fast


def buses(ax: Axes, rows: Sequence[Row], title: str = "") -> Axes:
    """Draw bars of GB/s: the copies of each card alone, their sum, and those of all cards at once.

    Where buses are shared, the last is less.

    rows: of the series "bus", for the ways "H2D", "D2H" and "both". Raises ValueError where there
    are none.
    """
    if not rows:
        raise ValueError("there is nothing to draw: no row of the series 'bus'")
    style(ax, title)
    names = list(dict.fromkeys(row["cards"] for row in rows))
    alone = [name for name in names if name != "all"]
    by = {(row["way"], row["cards"]): row for row in rows}
    ticks: list[tuple[float, str]] = []
    for place, (way, told) in enumerate(WAYS.items()):
        left = 0.0
        for number, name in enumerate(alone):
            _, middle, _ = rate(by[way, name])
            look: Look = {"color": COLOURS[5 if number % 2 == 0 else 3], "edgecolor": INK}
            ax.barh(place, middle, left=left, height=0.38, linewidth=0.8, **look)
            words: Look = {"ha": "center", "va": "center", "fontsize": "small"}
            ax.text(left + middle / 2, place, f"card {name}: {ratio_text(middle)}", **words)
            left += middle
        ticks.append((place, f"{told}, one after the other, added"))
        if ("all" in names) and len(alone) > 1:
            _, middle, high = rate(by[way, "all"])
            bar(ax, place + 0.42, middle, "aside", height=0.38)
            whisker(ax, place + 0.42, *rate(by[way, "all"]), capsize=3)
            beside(ax, high, place + 0.42, f"{ratio_text(middle)} ({percent(middle / left)})")
            ticks.append((place + 0.42, f"{told}, all cards at once"))
    ax.set_yticks([at for at, _ in ticks], [text for _, text in ticks])
    ax.invert_yaxis()
    ax.set_xlim(0, 1.15 * max(ax.get_xlim()[1], 1e-9))
    ax.set_xlabel("GB/s (longer is faster)")
    return ax


def counts(ax: Axes, rows: Sequence[Row], floors: Mapping[int, float], title: str = "") -> Axes:
    """Draw the time of a batch on 1, 2, N cards as points.

    A line is one card's time over their number, and marks are floors.

    rows: with "cards" and times, one for each number; floors: ms by number of cards, such as the
    copies of all cards at once.
    """
    if not rows:
        raise ValueError("there is nothing to draw: no rows")
    style(ax, title)
    rows = sorted(rows, key=lambda row: row["cards"])
    numbers = [row["cards"] for row in rows]
    middle, around = spread(map(interval, rows))
    ax.plot(
        numbers,
        [middle[0] * numbers[0] / n for n in numbers],
        color="#777777",
        linestyle=":",
        label="one card's time, divided",
    )
    if floors:
        at = sorted(floors)
        ax.plot(
            at,
            [floors[n] for n in at],
            color=COLOURS[1],
            marker="_",
            markersize=22,
            linestyle="none",
            markeredgewidth=2.5,
            label="the copies alone, all cards at once",
        )
    ax.errorbar(numbers, middle, around, capsize=4, linestyle="-", label="measured", **series(0))
    for n, ms in zip(numbers, middle, strict=True):
        ax.annotate(
            f"{ratio_text(ms)} ms", (n, ms), (8, 6), textcoords="offset points", fontsize="small"
        )
    ax.set_xticks(numbers)
    ax.set(
        xlim=(min(numbers) - 0.4, max(numbers) + 0.6),
        ylim=(0, 1.25 * max(middle)),
        xlabel="cards",
        ylabel="batch (ms)",
    )
    ax.legend(frameon=False, fontsize="small", loc="lower left")
    return ax


def between(ax: Axes, rows: Sequence[Row], title: str = "") -> Axes:
    """Draw bars of GB/s of copies from one card to another, by way.

    rows: of the series "peer". Raises ValueError where there are none.
    """
    if not rows:
        raise ValueError("there is nothing to draw: no row of the series 'peer'")
    style(ax, title)
    for place, row in enumerate(rows):
        _, middle, high = rate(row)
        bar(ax, place, middle, "aside" if "host" in row["way"] else "ours")
        whisker(ax, place, *rate(row), capsize=3)
        beside(ax, high, place, f"{ratio_text(middle)} GB/s", points=5)
    ax.set_yticks(
        range(len(rows)), [f"{row['way']}, {row['source']} to {row['target']}" for row in rows]
    )
    ax.invert_yaxis()
    ax.set_xlim(0, 1.25 * max(rate(row)[1] for row in rows))
    ax.set_xlabel("GB/s (longer is faster)")
    return ax
