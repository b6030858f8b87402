"""Pictures of memory accesses: access maps and bank conflicts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from helpers.limits import BANKS, SECTOR_BYTES, WARP
from helpers.plotting.styles import (
    COLOURS,
    INK,
    MARKERS,
    PALE,
    Look,
    legend_beside,
    style,
)
from helpers.quantities import quantity

if TYPE_CHECKING:
    from helpers.simulator import Profile

WORD_BYTES = 4  # a word of constant memory, and of a bank of shared memory
THINNEST = 1 / 40  # a band that takes less of the axis is a line, and nobody counts it
MOST_REQUESTS = 6  # in an access map with a kind of mark each; where there are more, all look alike


def access_map(
    ax: Axes,
    profile: Profile,
    *,
    array: str,
    kind: str = "load",
    space: str = "global",
    first: int | None = None,
    shown: range | None = None,
    title: str = "",
) -> Axes:
    """Draw which bytes of `array` each lane of the watched warp touches, and which sectors move.

    The vertical axis has the lanes 0 to 31, the horizontal axis the bytes from the start of the
    array. Each band is a sector of 32 bytes that at least one request touches. Each kind of mark is
    one request (one instruction of the whole warp), in the order of execution; more than
    MOST_REQUESTS look alike. A line through a mark is an access of more than 4 bytes. Shared and
    constant memory have no sectors: there a band is a word of 4 bytes.

    kind: "load", "store" or "atomic". first: draw only the first so many requests, all by default.
    shown: the bytes that the axis has, by default those of `touched`.

    Raises ValueError if the watched warp made no such request, and for a `first` below 1.
    """
    drawn = _drawn(profile, array, kind, space, first)
    unit, name = (SECTOR_BYTES, "sector") if space == "global" else (WORD_BYTES, "word")
    style(ax, title)
    pieces = sorted({piece for request in drawn for piece in _pieces(request, unit)})
    _draw_pieces(ax, pieces, unit, shown or touched(profile, array, kind, space, first))
    for number, request in enumerate(drawn, 1):
        _draw_request(ax, number, request, len(drawn), unit)
    ax.set_ylim(WARP - 0.5, -0.5)
    ax.set_yticks([0, 8, 16, 24, 31])
    ax.set_ylabel("lane of the warp")
    ax.set_xlabel(f"byte of {array} (each band: a {name} of {unit} bytes)")
    legend_beside(ax)
    return ax


def touched(
    profile: Profile, array: str, kind: str = "load", space: str = "global",
    first: int | None = None,
) -> range:
    """Return the bytes from the first to the last piece of an array that an access map shows.

    Their step is a piece: a sector of 32 bytes, or a word of 4. Raises as `access_map` does.
    """
    unit = SECTOR_BYTES if space == "global" else WORD_BYTES
    pieces = [
        piece
        for request in _drawn(profile, array, kind, space, first)
        for piece in _pieces(request, unit)
    ]
    return range(min(pieces) * unit, (max(pieces) + 1) * unit, unit)


def shared_bytes(maps: Sequence[range]) -> list[range]:
    """Return what the axes of several access maps of one array show, of `touched` each.

    It is the same for all, as long as a band of it can be seen; otherwise each map has its own.
    """
    unit = maps[0].step
    every = range(min(one.start for one in maps), max(one.stop for one in maps), unit)
    return [every if len(every) * THINNEST <= 1 else one for one in maps]


def _drawn(profile: Profile, array: str, kind: str, space: str, first: int | None) -> list:
    there = _requests_of(profile, array, kind, space)
    if first is not None and first < 1:
        raise ValueError(f"first={first}: draw one request or more")
    return there[:first]


def _requests_of(profile: Profile, array: str, kind: str, space: str) -> list:
    """Return the watched warp's requests of one kind. Raises ValueError if it made none."""
    requests = [r for r in profile.requests if (r.array, r.kind, r.space) == (array, kind, space)]
    if not requests:
        others = sorted({f"{r.kind} of {r.array} ({r.space})" for r in profile.requests})
        raise ValueError(
            f"the watched warp made no {space} {kind} of {array!r}; it made: "
            f"{', '.join(others) or 'none'}"
        )
    return requests


def _pieces(request, unit: int) -> set[int]:
    """Return the pieces of `unit` bytes that the lanes touch: sectors, or words."""
    return {
        piece
        for offset in request.offsets
        for piece in range(offset // unit, (offset + request.size - 1) // unit + 1)
    }


def _draw_pieces(ax: Axes, pieces: Sequence[int], unit: int, shown: range) -> None:
    first, last = shown.start, shown.stop
    for piece in pieces:
        ax.axvspan(
            piece * unit, (piece + 1) * unit, facecolor=PALE, edgecolor="#9aa5b1", linewidth=0.6
        )
    margin = max(unit / 4, (last - first) * 0.02)
    # The axis has at most nine labels, all on boundaries.
    step = unit * 2 ** max(0, math.ceil(math.log2((last - first) / unit / 8)))
    ax.set_xticks(range(first - first % step, last + 1, step))
    ax.set_xlim(first - margin, last + margin)


def _draw_request(ax: Axes, number: int, request, last: int, unit: int) -> None:
    place = number - 1
    distinct = last <= MOST_REQUESTS  # more marks than these cover each other
    count = len(_pieces(request, unit))
    name = "sector" if unit == SECTOR_BYTES else "different word"
    label: str | None = f"request {number}, line {request.line}: {quantity(count, name)}"
    if not distinct:
        label = f"requests 1 to {last}" if number == 1 else None
    colour = COLOURS[place] if distinct else "#777777"
    if request.size > 4:
        ends = [offset + request.size for offset in request.offsets]
        ax.hlines(request.lanes, request.offsets, ends, color=colour, linewidth=1.5)
    middle = [offset + request.size / 2 for offset in request.offsets]
    hollow = distinct and place % 2 == 1
    mark: Look = {"marker": MARKERS[place], "s": 16} if distinct else {"marker": "o", "s": 3}
    ax.scatter(
        middle,
        request.lanes,
        label=label,
        zorder=3,
        facecolors="white" if hollow else colour,
        edgecolors=colour,
        **mark,
    )


def bank_conflicts(
    ax: Axes,
    profile: Profile,
    *,
    array: str,
    kind: str = "load",
    request: int | None = None,
    title: str = "",
) -> Axes:
    """Draw which bank of shared memory serves each lane of one request, and in which wavefront.

    The vertical axis has the lanes 0 to 31 of the watched warp. The horizontal axis has the 32
    banks, counted from the first byte of `array`. A bank is one word of 4 bytes wide; in a
    wavefront it gives one word to any number of lanes. The number in a cell is the wavefront that
    serves the lane there; later wavefronts are darker. A frame around a bank marks a conflict: the
    lanes read several of its words. Lanes with the same word share a wavefront. An access of 8
    bytes is served in half warps, one of 16 bytes in quarter warps, one after another.

    request: its number among those of `array` and `kind`, from 1 on; by default, the first of those
    with the most wavefronts. Raises ValueError if the watched warp made no such request.
    """
    there = _requests_of(profile, array, kind, "shared")
    number = request
    if number is None:
        number = max(range(1, len(there) + 1), key=lambda n: _wavefronts(there[n - 1])[1])
    if not 1 <= number <= len(there):
        raise ValueError(
            f"request={number}: the watched warp made {len(there)} shared {kind}s of {array}, "
            "numbered from 1"
        )
    cells, wavefronts, least = _wavefronts(there[number - 1])
    counts = f"{quantity(wavefronts, 'wavefront')}, {wavefronts - least} for conflicts"
    which = f"drawn: {kind} of {array}, line {there[number - 1].line}: {counts}"
    style(ax, f"{title}\n{which}" if title else which)
    _draw_wavefronts(ax, cells, wavefronts)
    words = _words_in_banks(there[number - 1])
    several = {bank: count for bank, count in words.items() if count > 1}
    _frame_banks(ax, several)
    ticks = {lane: str(lane) for lane in (0, 8, 16, 24, 31)}
    ax.set_yticks(
        [*([_HEAD] if several else []), *ticks],
        [*(["words of\nthe bank"] if several else []), *ticks.values()],
    )
    ax.set(
        xlim=(-0.6, BANKS - 0.4),
        ylim=(WARP - 0.4, _HEAD - 1.2 if several else -0.6),
        xticks=list(ticks),
    )
    ax.set_ylabel("lane of the warp")
    ax.set_xlabel("bank of 4 bytes")
    return ax


_HEAD = -2.3  # the y of the words of a bank, above lane 0


def _draw_wavefronts(ax: Axes, cells: Mapping[tuple[int, int], int], wavefronts: int) -> None:
    """Draw the shade and the number of each (lane, bank)."""
    ax.vlines(
        [bank + 0.5 for bank in range(-1, BANKS)],
        -0.5,
        WARP - 0.5,
        color="#dddddd",
        linewidth=0.5,
        zorder=0,
    )
    for (lane, bank), wavefront in cells.items():
        shade = 0.88 - 0.7 * (wavefront - 1) / max(wavefronts - 1, 1)
        look: Look = {"facecolor": (shade, shade, shade), "edgecolor": "#555555", "linewidth": 0.4}
        ax.add_patch(Rectangle((bank - 0.5, lane - 0.5), 1, 1, **look))
        colour = INK if shade > 0.55 else "white"
        ax.text(
            bank,
            lane,
            str(wavefront),
            ha="center",
            va="center_baseline",
            fontsize=6,
            color=colour,
            clip_on=True,
        )


def _frame_banks(ax: Axes, words: Mapping[int, int]) -> None:
    for bank, count in words.items():
        ax.add_patch(
            Rectangle(
                (bank - 0.5, -0.5),
                1,
                WARP,
                fill=False,
                edgecolor=COLOURS[1],
                linewidth=1.6,
                zorder=3,
            )
        )
        ax.text(
            bank,
            _HEAD,
            str(count),
            ha="center",
            va="center_baseline",
            fontsize=7,
            fontweight="bold",
            color=INK,
        )


def _passes(request) -> list[list[tuple[int, int]]]:
    """Return (lane, offset) in the groups that are served together.

    A group is the warp, a half of it for accesses of 8 bytes, a quarter for those of 16.
    """
    lanes = WARP if request.size <= 4 else WARP * 4 // request.size
    groups: dict[int, list[tuple[int, int]]] = {}
    for lane, offset in zip(request.lanes, request.offsets, strict=True):
        groups.setdefault(lane // lanes, []).append((lane, offset))
    return [groups[key] for key in sorted(groups)]


def _wavefronts(request) -> tuple[dict[tuple[int, int], int], int, int]:
    """Return the wavefront (from 1) of each (lane, bank), their number, and the least number."""
    cells: dict[tuple[int, int], int] = {}
    before = 0
    groups = _passes(request)
    for group in groups:
        # The different words of each bank, in the order of the lanes.
        queues: dict[int, list[int]] = {}
        for lane, offset in group:
            for word in range(offset // WORD_BYTES, (offset + request.size - 1) // WORD_BYTES + 1):
                queue = queues.setdefault(word % BANKS, [])
                if word not in queue:
                    queue.append(word)
                cells[lane, word % BANKS] = before + queue.index(word) + 1
        before += max(map(len, queues.values()))
    return cells, before, len(groups)


def _words_in_banks(request) -> dict[int, int]:
    """Return the most different words of a bank that the lanes of one group access."""
    most: dict[int, int] = {}
    for group in _passes(request):
        words = {
            word
            for _, offset in group
            for word in range(offset // WORD_BYTES, (offset + request.size - 1) // WORD_BYTES + 1)
        }
        for bank in range(BANKS):
            count = sum(word % BANKS == bank for word in words)
            if count:
                most[bank] = max(most.get(bank, 0), count)
    return most
