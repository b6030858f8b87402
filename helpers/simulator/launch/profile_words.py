"""Counters in words: what makes most of the traffic of a launch, a sentence for each kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from helpers.quantities import percent

from ..machine.architecture import SECTOR_BYTES
from ..machine.traffic import LineControl, LineTraffic, by_array, total_of


def _percent(share: float) -> str:
    return "all" if share == 1 else percent(share)


def _of_local_memory(lines: Sequence[LineTraffic]) -> Iterable[str]:
    rows = [row for row in lines if row.space == "local"]
    if rows:
        where = _listed(sorted({row.line for row in rows}))
        yield (
            f"{total_of(rows, 'requests'):,} requests go to local memory ({where}): an array of a "
            "thread's own that is indexed by a variable, or whose address is taken, has no "
            "registers"
        )


def sentences(
    lines: Sequence[LineTraffic],
    control: Sequence[LineControl],
    runtime_calls: Mapping[str, Sequence[int]],
    parted_recursion: Sequence[int] = (),
) -> Iterable[str]:
    """Yield sentences on a launch with these rows of counters. runtime_calls, parted_recursion: as
    in Profile.
    """
    for access in ("load", "store", "atomic"):
        rows = [row for row in lines if row.space == "global" and row.access == access]
        if total := total_of(rows, "sectors"):
            yield _of_sectors(_busiest_line(rows, "sectors"), total, access)
            arrays = [a for a in by_array(lines) if a.space == "global" and a.access == access]
            if len(arrays) > 1:
                where = _listed(arrays[0].lines)
                part = _percent(arrays[0].sectors / total)
                yield f"array {arrays[0].array} takes {part} of the {access} sectors ({where})"
    for access in ("load", "store"):
        rows = [row for row in lines if row.space == "shared" and row.access == access]
        if total := total_of(rows, "conflicts"):
            worst = _busiest_line(rows, "conflicts")
            passes = total_of(worst, "wavefronts") / total_of(worst, "requests")
            share = _percent(total_of(worst, "conflicts") / total)
            yield (
                f"line {worst[0].line} makes {share} of the bank conflicts of shared {access}s: "
                f"{passes:.3g} wavefronts a request"
            )
    yield from _of_local_memory(lines)
    yield from _of_turns(lines)
    for row in (row for row in lines if row.repeated):
        yield (
            f"line {row.line} stores what another thread has just put in {row.array}: the values "
            "are equal, so this is no race"
        )
    yield from _of_control(control)
    yield from _of_the_runtime(runtime_calls)
    if parted_recursion:
        yield (
            f"the lanes of a warp part in a function that calls itself ({_listed(parted_recursion)}"
            "): on a GPU, lanes of different depths then run on together, so the counters of this "
            "function are estimates"
        )


def _busiest_line(rows: list[LineTraffic], counter: str) -> list[LineTraffic]:
    lines: dict[int, list[LineTraffic]] = {}
    for row in rows:
        lines.setdefault(row.line, []).append(row)
    return max(lines.values(), key=lambda group: total_of(group, counter))


def _of_sectors(rows: list[LineTraffic], total: int, access: str) -> str:
    sectors = total_of(rows, "sectors")
    used = total_of(rows, "bytes_used") / (sectors * SECTOR_BYTES)
    what = (
        f"{_percent(used)} of the bytes it moves are used"
        if used <= 1
        else f"each byte it moves serves {used:.3g} lanes' requests"
    )
    return f"line {rows[0].line} makes {_percent(sectors / total)} of the {access} sectors; {what}"


def _of_turns(lines: Sequence[LineTraffic]) -> Iterable[str]:
    for counter, space, what in (
        ("serialised", None, "update one address"),
        ("replays", "constant", "read different words"),
    ):
        rows = [row for row in lines if getattr(row, counter) and space in (None, row.space)]
        if rows:
            worst = _busiest_line(rows, counter)
            turns = 1 + total_of(worst, counter) / total_of(worst, "requests")
            yield (
                f"line {worst[0].line}: lanes that {what} take turns, {turns:.3g} a request "
                f"({worst[0].array}, {worst[0].space})"
            )


def _of_control(control: Sequence[LineControl]) -> Iterable[str]:
    branches = [row for row in control if row.kind == "branch"]
    if branches:
        worst = max(branches, key=lambda row: row.count)
        parts = f"line {worst.line} parts the lanes of a warp"
        if worst.count == 1:
            yield f"{parts} once; {worst.lanes} wait"
        else:
            waiting = worst.lanes / worst.count
            yield f"{parts} {worst.count:,} times; {waiting:.3g} wait each time"


def _of_the_runtime(calls: Mapping[str, Sequence[int]]) -> Iterable[str]:
    if calls:
        where = " and ".join(f"{name} ({_listed(lines)})" for name, lines in calls.items())
        yield (
            f"the kernel calls {where}: what CUDA's runtime loads and stores for these calls is "
            "not counted here, but Nsight Compute counts it"
        )


def _listed(lines: Sequence[int]) -> str:
    return (
        f"line {lines[0]}"
        if len(lines) == 1
        else f"lines {', '.join(map(str, lines[:-1]))} and {lines[-1]}"
    )
