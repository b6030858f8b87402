"""A bound without a GPU: no H200 runs this launch faster than so many microseconds, and why.

    found = simulator.profile(source, "conv2d_basic", y, x, ...).bounds(device="H200")
    print(found)               # the bound, what makes it, and every resource beside it
    found.microseconds         # the largest of all resources'

How a bound is made
-------------------
A GPU gives only so much of each resource in a second: bytes of DRAM, passes over the banks of
shared memory, slots in which an instruction can be issued, multiply-adds. The simulator counts what
a launch asks for. Divide the one by the other and you know how long that resource alone is busy:

    a copy of 1 GB reads 1e9 bytes and writes 1e9; DRAM gives 4.2e12 bytes a second
    2e9 / 4.2e12 s = 476 us, so no launch that copies 1 GB ends sooner

That holds for each resource, so it holds for the one that is busy longest: the largest quotient is
the bound. All others are shown beside it. The best that can happen is that they all work at the
same moment. Mostly they do not: a warp waits for its loads, a block for its barrier, and the launch
takes longer than its bound. How much longer, the bound does not say: it is no estimate, and it is
not a time.

A bound must never be too high, and so two things are done with care. Of what a launch asks for,
only that counts which it cannot do without:

    DRAM                each sector of 32 bytes once that is read, and once that is written, though
                        a cache that is too small fetches it again; of the writes, as many bytes
                        as L2 holds may still be there when the launch ends
    L2                  the same sectors, whatever a launch finds there: loads that come again may
                        find them in L1, and stores of parts of one sector may go together
    L1, shared memory   sectors and wavefronts as `Profile` counts them
    instructions        the fewest with which the machine code can have done what the PTX was seen
                        to do (machine_code.py says how)

And of each rate the best counts that was ever measured: the fastest sample of the fastest of
several kernels, which ask for this resource and hardly anything else (kernels/rates/, recorded in
data/measured/rates_h200.json beside the figures that NVIDIA publishes).

A bound is of the launch that was profiled, its sizes and its data, of the machine code that ptxas
of the installed release makes, and, unless you say cache="hot", of a launch that finds none of its
arrays in the L2 cache.

When a bound is far below what a clock shows, no single resource is the cause: look for waiting, too
few warps, too little work for 132 multiprocessors. When it is close, only asking for less of that
resource helps.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from helpers import tables
from helpers.quantities import quantity

from ..machine.architecture import SECTOR_BYTES
from ..machine.traffic import LineTraffic
from .costs import Cost, Costs, cost_of
from .counts import Counts
from .resources import RECORDS, RESOURCES, Rate, Rates, Resource, UnknownDevice, rates, rates_of
from .shares import Share

__all__ = [
    "RECORDS", "RESOURCES", "Bounds", "Cost", "Costs", "Counts", "Rate", "Rates", "Resource",
    "Share", "UnknownDevice", "bounds", "costs", "in_a_row", "rates", "rates_of",
]

CACHES = ("cold", "hot")


@dataclass(frozen=True)
class Bounds:
    """No `device` runs the launch faster. shares: by resource, the largest first; a resource that
    the launch does not ask for is left out. cache: "cold" where the launch finds nothing of its
    arrays in L2, "hot" where it may. blocks_at_a_time: what a multiprocessor holds of its blocks at
    once; waves: rounds in which the multiprocessors take the blocks; both None where ptxas is not
    installed to say how many registers a thread has."""

    device: str
    kernel: str
    cache: str
    shares: tuple[Share, ...]
    waves: float | None = None
    blocks_at_a_time: int | None = None

    @property
    def largest(self) -> Share:
        return self.shares[0]

    @property
    def resource(self) -> str:
        """The name of the resource that makes the bound."""
        return self.largest.resource

    @property
    def microseconds(self) -> float:
        """The bound."""
        return self.largest.microseconds

    @property
    def sentence(self) -> str:
        first = f"No {self.device} runs {self.kernel} in less than {_us(self.microseconds)}"
        first += " from cold caches" if self.cache == "cold" else ""
        return f"{first}, a bound by {self.largest.title}: {self.largest.reason}"

    @property
    def occupancy(self) -> str:
        """How the blocks come to the multiprocessors, in words; "" where that is not known."""
        if self.waves is None or self.blocks_at_a_time is None:
            return ""
        rounds = f"{_number(self.waves)} wave{'s' * (self.waves != 1)}"
        held = quantity(self.blocks_at_a_time, "block")
        return (
            f"A multiprocessor holds {held} at once: {rounds}. In a last wave that is not full "
            "some multiprocessors have nothing to do; that does not enter the bound."
        )

    def share(self, resource: str) -> Share:
        """Return what the launch asks of a resource. Raises KeyError for one that it does not ask
        for.
        """
        for one in self.shares:
            if one.resource == resource:
                return one
        asked = ", ".join(one.resource for one in self.shares)
        raise KeyError(f"{self.kernel} asks nothing of {resource!r}; it asks for {asked}")

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for a file."""
        return {
            "device": self.device, "kernel": self.kernel, "cache": self.cache,
            "bound_us": self.microseconds, "resource": self.resource, "waves": self.waves,
            "shares": {one.resource: one.microseconds for one in self.shares},
        }

    def __str__(self) -> str:
        table = tables.text(_HEAD, self._rows(), left=(0, 2, 5))
        return f"{self.sentence}\n{table}\n{self.occupancy}".rstrip()

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in _HEAD)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self._rows()
        )
        words, more = html.escape(self.sentence), html.escape(self.occupancy)
        return f"<p>{words}</p><table><tr>{head}</tr>{rows}</table><p>{more}</p>"

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (one.title, f"{one.amount:,.0f}", one.unit, f"{one.per_second:.3g}",
             _number(one.microseconds), one.reason)
            for one in self.shares
        ]


_HEAD = ("resource", "asks for, at least", "unit", "given in a second", "bound, us", "why")


def _us(microseconds: float) -> str:
    if microseconds < 1e3:
        return f"{microseconds:.3g} us"
    return f"{_number(microseconds / 1e3)} ms"


def _number(value: float) -> str:
    """Return three digits, and no exponent from 1,000 on."""
    return f"{value:.3g}" if value < 999.5 else f"{float(f'{value:.3g}'):,.0f}"


def bounds(counts: Counts, device: str = "H200", cache: str = "cold") -> Bounds:
    """Return the bounds of a launch on a device.

    cache: "cold" for a launch that finds nothing in the L2 cache, "hot" for one that may find there
    all that fits. Raises UnknownDevice, and ValueError for another cache.
    """
    if cache not in CACHES:
        raise ValueError(f"cache is {cache!r}; give one of {', '.join(CACHES)}")
    given, asks, totals = rates(device), dict(counts.asks), counts.totals
    read, written = (SECTOR_BYTES * totals[f"sectors_{what}"] for what in ("read", "written"))
    kept = [0.0 if cache == "cold" else min(read, given.l2_bytes), min(written, given.l2_bytes)]
    asks["dram"] = read - kept[0] + written - kept[1]
    moved = {"dram_read": read - kept[0], "dram_write": written - kept[1]}
    used = min(counts.blocks, given.multiprocessors)
    shares = []
    for name, amount in asks.items():
        if amount <= 0 or name not in given.by_resource:
            continue
        resource, per_second = RESOURCES[name], given.by_resource[name].per_second
        if name == "dram":  # reads and writes take turns on the same wires
            busy = sum(part / given.by_resource[way].per_second for way, part in moved.items())
            per_second = amount / busy
        if resource.shared_out:
            per_second *= used / given.multiprocessors
        few = used < given.multiprocessors
        reason = _reason(name, read, written, sum(kept), used, few)
        shares.append(Share(name, resource.title, amount, resource.unit, per_second, reason))
    shares.sort(key=lambda one: -one.microseconds)
    held, waves = counts.blocks_at_a_time, None
    if held:
        waves = counts.blocks / (held * given.multiprocessors)
    return Bounds(device, counts.kernel.name, cache, tuple(shares), waves, held)


def costs(
    counts: Counts, lines: Sequence[LineTraffic], device: str = "H200", cache: str = "cold"
) -> Costs:
    """Return the avoidable work of a launch. lines: of its profile; device, cache, and what is
    raised: as for `bounds`.
    """
    found = bounds(counts, device, cache)
    avoidable = cost_of(found.shares, counts, lines)
    bound, by = found.microseconds, found.largest.title
    return Costs(counts.kernel.name, device, bound, by, avoidable, counts.residence)


def in_a_row(launches: Iterable[Bounds], name: str = "") -> Bounds:
    """Return the bounds of launches that run one after the other: the sum of their bounds, and the
    shares of each resource added up beside it. Raises ValueError for none, and for different
    devices.
    """
    all_bounds = tuple(launches)
    if len({one.device for one in all_bounds}) != 1:
        raise ValueError("give the bounds of one launch or more, all of one device")
    if len(all_bounds) == 1:
        return all_bounds[0]
    first = all_bounds[0]
    binding = {one.resource: one.largest for one in all_bounds}
    names = name or ", ".join(one.kernel for one in all_bounds)
    total = sum(one.microseconds for one in all_bounds)
    parts = "; ".join(
        f"{one.kernel} {_us(one.microseconds)} by {one.largest.title}" for one in all_bounds
    )
    whole = Share(
        "launches in a row", " and ".join(one.title for one in binding.values()), total,
        "microseconds", 1e6, f"one launch begins when the one before has ended: {parts}",
    )
    return Bounds(first.device, names, first.cache, (whole, *_added(all_bounds)))


def _added(all_bounds: Sequence[Bounds]) -> list[Share]:
    found: dict[str, Share] = {}
    for share in (share for one in all_bounds for share in one.shares):
        known = found.get(share.resource)
        amount = share.amount + (known.amount if known else 0.0)
        busy = share.microseconds + (known.microseconds if known else 0.0)
        found[share.resource] = Share(
            share.resource, share.title, amount, share.unit, 1e6 * amount / busy,
            "the sum over the launches",
        )
    return sorted(found.values(), key=lambda one: -one.microseconds)


# ---- in words ----

_REASONS = {
    "l2_read": "each sector that is read passes once at least",
    "l2_write": "each sector that is written passes once at least",
    "l1": "the sectors that loads of global memory touch, request by request",
    "l1_data": "loads of global memory and accesses to shared memory use one way of 128 bytes",
    "shared": "each request takes a wavefront, and one more for each bank conflict",
    "lsu": "each load, store and atomic is a request",
    "constant": "each load from constant memory, and each further word that its lanes differ by",
    "shuffle": "each exchange between lanes goes through the crossbar",
    "atomics": "lanes that update one address take turns, and each turn moves its sectors",
    "issue": "the fewest instructions with which its machine code can do the work",
    "fp32": "multiply-adds, sums and products of 32 bits",
    "fp64": "multiply-adds, sums and products of 64 bits",
    "half": "multiply-adds, sums and products of pairs of halves",
    "integer": "sums, logic, shifts and minima of whole numbers",
    "product": "products of whole numbers, mostly those of indices",
    "special": "roots, reciprocals, exponentials",
    "tensor_half": "each product of matrices asks for 2 x rows x columns x depth",
    "tensor_tf32": "each product of matrices asks for 2 x rows x columns x depth",
    "tensor_int8": "each product of matrices asks for 2 x rows x columns x depth",
    "tensor_fp64": "each product of matrices asks for 2 x rows x columns x depth",
    "blocks": "each block has to be started",
    "warps": "each warp has to be started",
    "launches": "a launch of nothing takes as long",
}


def _reason(name: str, read: float, written: float, kept: float, used: int, few: bool) -> str:
    if name == "dram":
        words = f"it reads {_size(read)} and writes {_size(written)}, each sector once"
        return f"{words}; L2 may keep {_size(kept)} of that" if kept else words
    reason = _REASONS[name]
    if RESOURCES[name].shared_out and few:
        blocks = "one block uses one multiprocessor" if used == 1 else f"{used} blocks use as many"
        return f"{reason}; {blocks} only"
    return reason


def _size(nbytes: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if nbytes >= size:
            return f"{nbytes / size:,.3g} {unit}"
    return f"{nbytes:.0f} bytes"
