"""Small drawings as SVG text: no library, no file, and readable in grey."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence

from helpers.quantities import quantity

WIDTH = 760
# Dark, middle and light, so that the three can be told apart in grey, too.
_GREYS = {"pass": "#1b5e20", "budget": "#c79a1b", "missing": "#eeeeee", "not_graded": "#ffffff"}
_BAD, _WRONG = "#b3412f", "#efb8ae"


class Drawn(str):
    """A drawing, which has escaped its own texts: Jinja2 leaves what has this method as it is."""

    def __html__(self) -> str:
        return self


def _svg(width: float, height: float, parts: Sequence[str], label: str) -> str:
    return (
        f'<svg width="{width:.0f}" height="{height:.0f}" viewBox="0 0 '
        f'{width:.0f} {height:.0f}" role="img" '
        f'aria-label="{html.escape(label)}">{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, words: str, anchor: str = "start", colour: str = "#333") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
        f'fill="{colour}">{html.escape(words)}</text>'
    )


def shares(counts: Mapping[str, int], width: int = 180) -> str:
    """Return a bar of shares: right, over budget, all others, not handed in, not graded."""
    total = sum(counts.values()) or 1
    others = sum(count for status, count in counts.items() if status not in _GREYS)
    order = [(one, counts.get(one, 0)) for one in ("pass", "budget")]
    order += [("wrong", others)]
    order += [(one, counts.get(one, 0)) for one in ("missing", "not_graded")]
    parts, x = [], 0.0
    for status, count in order:
        w = width * count / total
        if count:
            parts.append(
                f'<rect x="{x + 0.5:.1f}" y="1" width="{max(w - 1, 0.5):.1f}" height="14" '
                f'stroke="#555" stroke-width="0.5" fill="{_GREYS.get(status, _WRONG)}">'
                f"<title>{count} {status}</title></rect>"
            )
        x += w
    return _svg(
        width,
        16,
        parts,
        ", ".join(f"{count} {status}" for status, count in counts.items() if count),
    )


def gauge(amount: float, limit: float) -> str:
    """Return an amount beside its limit, as a bar that begins at zero."""
    width = 160
    most = max(amount, limit, 1e-12) * 1.05
    over = amount > limit * (1 + 1e-9)
    parts = [
        f'<rect x="0" y="3" width="{width * amount / most:.1f}" height="10" '
        f'fill="{_BAD if over else "#5b7fa6"}"/>',
        f'<line x1="{width * limit / most:.1f}" x2="{width * limit / most:.1f}" y1="0" y2="16" '
        'stroke="#000" stroke-width="2"/>',
    ]
    return _svg(width, 16, parts, f"{amount:g} of {limit:g}")


def histogram(values: Sequence[float], most: float, what: str, of: str) -> str:
    """Return how many values lie in each of 20 equal steps from 0 to `most`."""
    bins = 20
    if not values or most <= 0:
        return ""
    counts = [0] * bins
    for value in values:
        counts[min(int(value / most * bins), bins - 1)] += 1
    height, bottom, left = 130, 110, 40
    wide, high = (WIDTH - left - 10) / bins, max(counts)
    parts = []
    for k, count in enumerate(counts):
        h = 90 * count / high
        tip = f"{count} {of}: {most * k / bins:g} to {most * (k + 1) / bins:g} {what}"
        parts.append(
            f'<rect x="{left + k * wide + 1:.1f}" y="{bottom - h:.1f}" width="{wide - 2:.1f}" '
            f'height="{h:.1f}" fill="#5b7fa6"><title>{tip}</title></rect>'
        )
        if count:
            parts.append(_text(left + (k + 0.5) * wide, bottom - h - 3, str(count), "middle"))
    parts.append(f'<line x1="{left}" x2="{WIDTH - 10}" y1="{bottom}" y2="{bottom}" stroke="#333"/>')
    for k in range(0, bins + 1, 5):
        parts.append(_text(left + k * wide, bottom + 15, f"{most * k / bins:g}", "middle"))
    parts.append(_text(WIDTH - 10, height + 12, what, "end", "#555"))
    return _svg(WIDTH, height + 16, parts, f"{of} by {what}")


def distribution(
    dots: Sequence[tuple[float, str, str]],
    ladder: Sequence[tuple[float, str]],
    unit: str,
    mine: str = "",
) -> str:
    """Draw every kernel as a dot on a line of costs, the course's own as labelled lines.

    mine: a student, whose dot is larger, and whose page must not say whose the others are.
    """
    values = [d[0] for d in dots] + [c for c, _ in ladder]
    low, high = min(values), max(values)
    logarithmic = low > 0 and high / low > 20
    left, right = 20, WIDTH - 20

    def place(value: float) -> float:
        if high == low:
            return (left + right) / 2
        if logarithmic:
            return left + (right - left) * math.log(value / low) / math.log(high / low)
        start = min(0.0, low) if low < high / 4 else low - (high - low) * 0.05
        return left + (right - left) * (value - start) / (high * 1.02 - start)

    rungs = _merged([(place(cost), f"{what}: {cost:.3g}") for cost, what in sorted(ladder)])
    top = 14 * len(rungs) + 8
    parts: list[str] = []
    for row, (x, words) in enumerate(rungs):
        y = 12 + 14 * row
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - 8}" y2="{{bottom}}" stroke="#888" '
            'stroke-dasharray="3 3"/>'
        )
        end = x > WIDTH / 2
        parts.append(
            _text(x - 5 if end else x + 5, y, words[:90], "end" if end else "start", "#555")
        )
    stacks: dict[int, int] = {}
    placed = []  # slot on the line, and place in its stack
    for value, _, _ in sorted(dots):
        slot = round(place(value) / 7)
        placed.append((slot, min(stacks.get(slot, 0), 12)))
        stacks[slot] = stacks.get(slot, 0) + 1
    bottom = top + 14 + 7 * max(level for _, level in placed)
    for (value, status, student), (slot, level) in zip(sorted(dots), placed, strict=True):
        own = student == mine
        r = 6 if own else 3
        # Full: within its budget; a ring: over it.
        colour = _GREYS["pass"] if status == "pass" else "#fff"
        edge = f' stroke="{"#000" if own else _GREYS["pass"]}" stroke-width="{2 if own else 1.4}"'
        tip = "" if mine and not own else html.escape(f"{student}: {value:.3g}")
        y = bottom - 6 - 7 * level
        parts.append(
            f'<circle cx="{7 * slot:.1f}" cy="{y:.1f}" r="{r}" '
            f'fill="{colour}"{edge}>{f"<title>{tip}</title>" if tip else ""}</circle>'
        )
    parts.append(f'<line x1="{left}" x2="{right}" y1="{bottom}" y2="{bottom}" stroke="#333"/>')
    for value in _ticks(low, high, logarithmic):
        parts.append(_text(place(value), bottom + 15, f"{value:.3g}", "middle"))
    parts.append(
        _text(
            right,
            bottom + 30,
            unit + (", a logarithmic axis" if logarithmic else ""),
            "end",
            "#555",
        )
    )
    drawn = [part.replace("{bottom}", f"{bottom}") for part in parts]
    return _svg(WIDTH, bottom + 36, drawn, f"{quantity(len(dots), 'kernel')} by {unit}")


def _merged(rungs: Sequence[tuple[float, str]]) -> list[tuple[float, str]]:
    """Return the rungs with those at the same place on one line."""
    made: list[tuple[float, str]] = []
    for x, words in rungs:
        if made and abs(made[-1][0] - x) < 3:
            before, _, cost = made[-1][1].rpartition(": ")
            made[-1] = (made[-1][0], f"{before}; {words.rpartition(': ')[0]}: {cost}")
        else:
            made.append((x, words))
    return made


def _ticks(low: float, high: float, logarithmic: bool) -> list[float]:
    if high == low:
        return [low]
    if logarithmic:
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        steps = [m * 10.0**k for k in decades for m in (1, 2, 5)]
        return [value for value in steps if low <= value <= high]
    rough = (high - low) / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    first = math.ceil(low / step)
    return [k * step for k in range(first, math.floor(high / step) + 1)]


def pairs(
    rows: Sequence[tuple[str, float, float | None, float]], names: Sequence[str], unit: str
) -> str:
    """Draw three values of each row on one logarithmic line of its own: the first as an open dot,
    the second as a full one, and the third, where it is not 0, as a stroke. names: of the three.
    """
    values = [v for _, *three in rows for v in three if v]
    low, high = min(values) / 1.2, max(values) * 1.2
    left, right = 400, WIDTH - 30

    def place(value: float) -> float:
        return left + (right - left) * math.log(value / low) / math.log(high / low)

    def marks(values: Sequence[tuple[float, float | None]], y: float, unit: str) -> list[str]:
        """values: of each mark, in the order of `names`, where it stands and what it says."""
        (a, first), (b, second), (c, third) = values
        stroke = (
            f'<line x1="{c:.1f}" x2="{c:.1f}" y1="{y - 7}" y2="{y + 7}" stroke="#0b4f8a" '
            f'stroke-width="3">{_tip(third, unit)}</line>'
        )
        full = f'<circle cx="{b:.1f}" cy="{y}" r="5" fill="#333">{_tip(second, unit)}</circle>'
        ring = (
            f'<circle cx="{a:.1f}" cy="{y}" r="4.5" fill="none" stroke="{_BAD}" '
            f'stroke-width="2">{_tip(first, unit)}</circle>'
        )
        drawn = ((third, stroke), (second, full), (first, ring))
        return [mark for value, mark in drawn if value]

    parts = []
    for k, (label, *three) in enumerate(rows):
        y = 34 + 18 * k
        parts.append(_text(left - 10, y + 4, label, "end"))
        parts.append(f'<line x1="{left}" x2="{right}" y1="{y}" y2="{y}" stroke="#eee"/>')
        parts += marks([(place(value) if value else 0.0, value) for value in three], y, unit)
    bottom = 34 + 18 * len(rows)
    for k in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1):
        parts.append(_text(place(10.0**k), bottom + 10, f"{10.0**k:,.{max(-k, 0)}f}", "middle"))
    parts.append(_text(right, bottom + 24, f"{unit}, a logarithmic axis", "end", "#555"))
    key = [any(row[k] for row in rows) and 1.0 for k in (1, 2, 3)]
    starts = [10 + 200 * k for k in range(3)]
    parts += marks([(x, is_drawn or None) for x, is_drawn in zip(starts, key, strict=True)], 12, "")
    for x, name, is_drawn in zip(starts, names, key, strict=True):
        if is_drawn:
            parts.append(_text(x + 12, 16, name))
    return _svg(WIDTH, bottom + 30, parts, " beside ".join(names))


def _tip(value: float | None, unit: str) -> str:
    return f"<title>{value:.4g} {unit}</title>" if value and unit else ""
