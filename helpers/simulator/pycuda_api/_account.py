"""Where the time of a program goes: its launches and copies by the program's line, the dearest
first, and for each what keeps it from running beside other work.

The times are those of _times.py: how long an H200 needs at least.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from helpers import tables
from helpers.quantities import percent

from ..launch.profile import Profile

# Below this share of the whole, no line is worth a change.
_LEAST_SHARE = 0.01


class Hold(Enum):
    """Why work runs beside no other."""

    HOST_WAITS = "the host waits for it; its form with _async and stream= lets the host continue"
    PAGEABLE = (
        "its host memory is pageable, so it is not asynchronous; driver.pagelocked_empty gives "
        "memory that is"
    )
    NULL_STREAM = "it is in the null stream, which waits for the other streams; give it stream="


@dataclass
class Row:
    """All work of one kind that a line of the program has begun. holds: how many pieces of it run
    beside no other, by the reason; first: what to change first in a kernel, "" where that is not
    known.
    """

    file: str
    line: int
    what: str
    times: int = 0
    microseconds: float = 0.0
    holds: Counter[Hold] = field(default_factory=Counter)
    first: str = ""
    is_copy: bool = False  # between the host and the device


_rows: dict[tuple[str, tuple[str, int]], Row] = {}
_is_kept = [False]


def keep() -> None:
    """Keep an account of all work from now on."""
    _is_kept[0] = True


def is_kept() -> bool:
    return _is_kept[0]


def note(what: str, site: tuple[str, int], times: int = 0, microseconds: float = 0.0) -> Row:
    """Add work to the account, and return its row."""
    row = _rows.setdefault((what, site), Row(Path(site[0]).name, site[1], what))
    row.times += times
    row.microseconds += microseconds
    return row


def first_change(profile: Profile) -> str:
    """Return what to change first in a kernel, "" where nothing lowers its bound."""
    is_whole = profile.counts is not None and profile.completed
    costs = profile.costs().costs if is_whole else ()
    dearest = next((one for one in costs if one.on_the_bound > 0), None)
    if dearest is None:
        return ""
    where = f"line {dearest.line} of the kernel" if dearest.line else "the kernel"
    return f"{where}: {dearest.what}; {dearest.cure}"


def rows() -> list[Row]:
    """Return the account, the dearest first."""
    return sorted(_rows.values(), key=lambda one: -one.microseconds)


def to_dicts() -> list[dict[str, Any]]:
    """Return the account as plain values."""
    return [
        {
            "file": one.file, "line": one.line, "what": one.what, "times": one.times,
            "least_us": one.microseconds, "hold": _in_words(one), "first_change": one.first,
        }
        for one in rows()
    ]  # fmt: skip


def text(end: float) -> str:
    """Return the account as a table. end: the microsecond in which all work is done at the
    earliest.
    """
    known = rows()
    total = sum(one.microseconds for one in known)
    if not total:
        return "The program has launched and copied nothing."
    shown = [one for one in known if one.microseconds >= _LEAST_SHARE * total]
    beside = 1 - end / total
    overlap = f"{percent(beside)} of it beside other work"
    overlap = overlap if beside > 0.005 else "one after another"
    copied = percent(sum(one.microseconds for one in known if one.is_copy) / total)
    lines = [
        f"An H200 needs at least {total:,.0f} us for its launches and copies, {overlap}. Copies "
        f"between host and device take {copied} of that:",
        tables.text(_HEAD, [_cells(one, total) for one in shown], left=(1, 5)),
    ]
    if len(shown) < len(known):
        lines.append(f"{len(known) - len(shown)} more lines take less than 1 % each.")
    return "\n".join(lines)


_HEAD = ("line", "what", "times", "at least, us", "share", "what to change")


def _cells(row: Row, total: float) -> Sequence[str]:
    share = percent(row.microseconds / total)
    line, least = str(row.line or ""), f"{row.microseconds:,.0f}"
    advice = ". ".join(one for one in (row.first, _in_words(row)) if one)
    return line, row.what, f"{row.times:,}", least, share, advice


def _in_words(row: Row) -> str:
    """Return the most frequent reason why work of a row runs beside no other, "" without one."""
    for hold, count in row.holds.most_common(1):
        part = f"{count} of {row.times:,} times: " if count < row.times else ""
        return part + hold.value
    return ""
