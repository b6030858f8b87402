"""Why a launch is slow: its avoidable work, and what each kind of it costs.

    print(simulator.profile(source, "k", y, x, ...).costs())

Each cost is work of one resource that other code for the same result does without: sectors of loads
beyond the bytes that lanes ask for, passes over the banks beyond the first, turns of atomics on one
address, updates that several warps of a block make of one element, other words of constant memory,
values that lack a register. By how much the bound falls without that work is what it costs on the
bound. That is nothing where another resource makes the bound; then the table still says for how
long its own resource is busy with it.

Below stands which resource limits the blocks that a multiprocessor holds. That costs nothing on a
bound, which knows no waiting.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from helpers import tables
from helpers.quantities import percent, quantity

from ..machine.architecture import SECTOR_BYTES
from ..machine.traffic import LineTraffic
from .counts import SECTORS_A_PASS, Counts
from .shares import Share

# The resources that do a work, the one that it is named after first: how much each of them has to
# do for one unit of the first.
_Done = dict[str, float]
_SECTOR: _Done = {"l1": 1.0, "l1_data": 1 / SECTORS_A_PASS}
_WAVEFRONT: _Done = {"shared": 1.0, "l1_data": 1.0}
_LOCAL: _Done = {"l1": 1.0, "l1_data": 1 / SECTORS_A_PASS, "lsu": 1 / SECTORS_A_PASS}
# A kind of work: what does it, how much of it a row of counters has, what it is, and what to
# change.
_Kind = tuple[_Done, Callable[[LineTraffic], float], str, str]


def _sectors_to_spare(row: LineTraffic) -> float:
    if (row.space, row.access) != ("global", "load"):
        return 0.0
    return max(row.sectors - row.bytes_used / SECTOR_BYTES, 0.0)


def _turns(space: str) -> Callable[[LineTraffic], float]:
    return lambda row: float(row.serialised if (row.space, row.access) == (space, "atomic") else 0)


def _conflicts(row: LineTraffic) -> float:
    return float(row.conflicts if row.access != "atomic" else 0)


_KINDS: tuple[_Kind, ...] = (
    (_SECTOR, _sectors_to_spare, "sectors with bytes that no lane asks for",
     "let neighbouring lanes read neighbouring elements"),
    (_WAVEFRONT, _conflicts, "bank conflicts",
     "let the lanes of a warp use different banks: change the stride, or pad the rows"),
    (_WAVEFRONT, _turns("shared"), "atomics of one warp on one address",
     "add within the warp first, or give each warp its own copy"),
    ({"atomics": 1.0}, _turns("global"), "atomics of one warp on one address",
     "add within the warp or the block first, then once for all of them"),
    ({"constant": 1.0}, lambda row: float(row.replays), "lanes that read different constants",
     "let all lanes of a warp read one element, or use global memory"),
)  # fmt: skip


@dataclass(frozen=True)
class Cost:
    """Avoidable work. line: of the source, 0 for the kernel as a whole; resource: the title of the
    one that does it; amount: in `unit`s; microseconds: for how long that keeps the resource busy,
    at least; on_the_bound: by how many microseconds the bound falls without it; cure: what to
    change.
    """

    line: int
    what: str
    resource: str
    amount: float
    unit: str
    microseconds: float
    on_the_bound: float
    cure: str


@dataclass(frozen=True)
class Costs:
    """The costs of a launch, the dearest on the bound first. bound: in microseconds; resource: the
    title of the one that makes it; residence: what limits the blocks that a multiprocessor holds,
    "" where that is not known.
    """

    kernel: str
    device: str
    bound: float
    resource: str
    costs: tuple[Cost, ...]
    residence: str

    @property
    def sentence(self) -> str:
        """What to change first."""
        bound = f"{self.kernel} has a bound of {self.bound:.3g} us on an {self.device}, by "
        if not self.costs:
            return f"{bound}{self.resource}. None of its work is of a kind known to be avoidable."
        first = self.costs[0]
        where = f"line {first.line}" if first.line else "the whole kernel"
        if first.on_the_bound <= 0:
            return (
                f"{bound}{self.resource}. Nothing below lowers it; most of the work beside it "
                f"comes from {where}: {first.what}."
            )
        share = percent(first.on_the_bound / self.bound)
        return f"{bound}{self.resource}. Begin with {where}: {first.what} cost {share} of it."

    def __str__(self) -> str:
        table = tables.text(_HEAD, self._rows(), left=(1, 4, 5)) if self.costs else ""
        return "\n".join(part for part in (self.sentence, table, self.residence) if part)

    def _repr_html_(self) -> str:
        def line(tag: str, cells: Sequence[str]) -> str:
            return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"

        rows = "".join(line("td", row) for row in self._rows())
        table = f"<table>{line('th', _HEAD)}{rows}</table>" if rows else ""
        return f"<p>{html.escape(self.sentence)}</p>{table}<p>{html.escape(self.residence)}</p>"

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                str(one.line or ""), one.what, f"{one.on_the_bound:.3g}",
                f"{one.microseconds:.3g}",
                f"{one.resource}: {one.amount:,.0f} {one.unit}", one.cure,
            )
            for one in self.costs
        ]  # fmt: skip


_HEAD = ("line", "what", "on the bound, us", "its own, us", "of which resource", "what to change")


def cost_of(
    shares: Sequence[Share], counts: Counts, lines: Sequence[LineTraffic]
) -> tuple[Cost, ...]:
    """Return the avoidable work of a launch. shares: those of its bounds; lines: of its profile."""
    found = []
    kinds = (*_by_line(lines), *_by_blocks(counts, lines), *_by_registers(counts, lines))
    for done, line, amount, what, cure in kinds:
        busy = {
            one.resource: min(1e6 * amount * done[one.resource] / one.per_second, one.microseconds)
            for one in shares
            if one.resource in done
        }
        share = next((one for one in shares if one.resource == next(iter(done))), None)
        if share is None:
            continue
        rest = max(one.microseconds - busy.get(one.resource, 0.0) for one in shares)
        own, saved = busy[share.resource], shares[0].microseconds - rest
        found.append(Cost(line, what, share.title, amount, share.unit, own, saved, cure))
    return tuple(sorted(found, key=lambda one: (-one.on_the_bound, -one.microseconds)))


def _by_line(lines: Sequence[LineTraffic]) -> Iterator[tuple[_Done, int, float, str, str]]:
    for done, amount_of, what, cure in _KINDS:
        amounts: dict[int, float] = {}
        for row in lines:
            amounts[row.line] = amounts.get(row.line, 0.0) + amount_of(row)
        for line, amount in amounts.items():
            if amount > 0:
                yield done, line, amount, what, cure


def _by_blocks(
    counts: Counts, lines: Sequence[LineTraffic]
) -> Iterator[tuple[_Done, int, float, str, str]]:
    """Yield the updates of arrays by atomics beyond one of each block for each element. Those of a
    warp on one address are a kind of their own.
    """
    for row in lines:
        elements = counts.elements.get(row.array, 0)
        if not elements or (row.space, row.access) != ("global", "atomic"):
            continue
        spare = row.lanes - row.serialised - counts.blocks * elements
        if spare > 0:
            each = quantity(-(-row.lanes // elements), "update")
            what = f"atomics of several warps of a block: {each} of each element of {row.array}"
            cure = "add in shared memory first, then once for each block"
            yield {"atomics": 1.0}, row.line, float(spare), what, cure


def _by_registers(
    counts: Counts, lines: Sequence[LineTraffic]
) -> Iterator[tuple[_Done, int, float, str, str]]:
    """Yield what the machine code moves to and from local memory beside the source's own arrays."""
    needs = counts.kernel.resources
    spilled = needs.spill_store_bytes + needs.spill_load_bytes if needs is not None else 0
    own = sum(row.requests for row in lines if row.space == "local")
    passes = counts.local_passes - own
    if spilled and passes > 0:
        what = f"spills: values of {quantity(spilled, 'byte')} a thread lack registers"
        cure = "keep fewer values at a time, unroll less, or allow a thread more registers"
        yield _LOCAL, 0, SECTORS_A_PASS * passes, what, cure
