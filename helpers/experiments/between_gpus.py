"""Between cards: how long a copy from one to another takes, and a sum over all of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from helpers import cards, checking
from helpers.bench import timing
from helpers.cards.exchange import ring_sum
from helpers.checking import diagnosis
from helpers.quantities import quantity

MEGABYTES = 512  # of a copy between cards
FLOATS = (1_000_000, 100_000_000)  # of a vector that is summed over the cards

Row = dict[str, Any]


def require_same(got: np.ndarray, want: np.ndarray, name: str) -> None:
    """Raise CheckError unless two results have the same bits."""
    bits, wanted = (np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in (got, want))
    if not np.array_equal(bits, wanted):
        wrong = want.size
        if bits.size == wanted.size:  # -0.0 equals 0.0, and has other bits
            wrong = int((bits != wanted).reshape(want.size, -1).any(axis=1).sum())
        text = f"its bits are not those of one card, in {quantity(wrong, 'value')}"
        kind = diagnosis.Diagnosis("other bits", text)
        raise checking.CheckError(f"FAIL {name}: {text}", name=name, wrong=wrong, diagnosis=kind)


def peers(group: cards.Cards, budget_s: float) -> Iterator[Row]:
    """Yield how long a copy between two neighbours takes: with peer access, without, both ways at
    once, and through the host.
    """
    numbers = [card.number for card in group]
    n = int(MEGABYTES * 250_000)  # floats
    values = np.random.default_rng(1).standard_normal(n, np.float32)
    for source, target in itertools.pairwise(numbers):
        for way in ("through the host", "no peer access", "peer access", "peer access, both ways"):
            with cards.Exchange(
                group.cuda, group.compiler, n, (source, target), peer=way.startswith("peer")
            ) as pair:
                if way.startswith("peer") and not pair.can_reach(0, 1):
                    continue
                call = _one_copy(pair, way)
                pair.load([values, np.zeros_like(values)])
                call()
                with pair.on(1):
                    got = np.empty_like(values)
                    group.cuda.memcpy_dtoh(got, pair.inboxes[1])
                verdict = checking.check(got[::97], values[::97], rtol=0, name=way)
                require_same(got, values, way)
                timed = timing.time_end_to_end(call, verdict=verdict, name=way, budget_s=budget_s)
                size = 4 * n * (2 if "both" in way else 1)
                yield {
                    "series": "peer",
                    "way": way,
                    "source": source,
                    "target": target,
                    "bytes": size,
                    "timing": timed,
                }


def _one_copy(pair: cards.Exchange, way: str) -> Callable[[], None]:
    if way == "through the host":
        return _HostCopies(pair).run

    def run() -> None:
        pair.give(0, 1)
        if "both" in way:
            pair.give(1, 0)
        pair.wait()

    return run


class _HostCopies:
    """A vector through pinned host memory, in pieces, so that both ways overlap."""

    PIECES = 32

    def __init__(self, pair: cards.Exchange):
        self.pair = pair
        with pair.on(0):
            self.host = pair.cuda.pagelocked_empty(pair.n, np.float32)
            self.events = [
                pair.cuda.Event(pair.cuda.event_flags.DISABLE_TIMING) for _ in range(self.PIECES)
            ]
        ends = [pair.n * k // self.PIECES for k in range(self.PIECES + 1)]
        self.parts = list(itertools.pairwise(ends))

    def run(self) -> None:
        cuda, pair = self.pair.cuda, self.pair
        with pair.on(0):
            for (first, end), event in zip(self.parts, self.events, strict=True):
                cuda.memcpy_dtoh_async(
                    self.host[first:end], int(pair.vectors[0]) + 4 * first, pair.streams[0]
                )
                event.record(pair.streams[0])
        with pair.on(1):
            for (first, end), event in zip(self.parts, self.events, strict=True):
                pair.streams[1].wait_for_event(event)
                cuda.memcpy_htod_async(
                    int(pair.inboxes[1]) + 4 * first, self.host[first:end], pair.streams[1]
                )
        pair.wait()


def sums(group: cards.Cards, counts: Sequence[int], budget_s: float) -> Iterator[Row]:
    """Yield how long it takes until every card has the sum of a vector of each: in a ring of peer
    copies, and by the host.
    """
    rng = np.random.default_rng(2)
    for n in FLOATS:
        values = [rng.standard_normal(n, np.float32) for _ in group]
        for count in counts[1:]:
            numbers = [card.number for card in group][:count]
            for way in ("peer access", "no peer access", "the host adds"):
                with cards.Exchange(
                    group.cuda, group.compiler, n, numbers, peer=way == "peer access"
                ) as ring:
                    add = _host_sum(ring) if way == "the host adds" else _ring_sum(ring)
                    ring.load(values[:count])
                    add()
                    want = ring_sum(values[:count])
                    for card in range(count):
                        require_same(ring.read(card), want, f"{way}, card {card}")
                    verdict = checking.check(ring.read(0)[::97], want[::97], rtol=0, name=way)
                    # Of other vectors the sums would grow with each repetition, to infinity.
                    ring.load([np.zeros(n, np.float32)] * count)
                    timed = timing.time_end_to_end(
                        add, verdict=verdict, name=way, budget_s=budget_s
                    )
                    yield {
                        "series": "sum",
                        "way": way,
                        "kernel": "axpy_basic",
                        "cards": count,
                        "floats": n,
                        "timing": timed,
                    }


def _ring_sum(ring: cards.Exchange) -> Callable[[], None]:
    def run() -> None:
        ring.sum_ring()
        ring.wait()

    return run


def _host_sum(ring: cards.Exchange) -> Callable[[], None]:
    """Copy all vectors to the host, add them there in NumPy, and copy the sum to all cards."""
    hosts = []
    for card in range(ring.count):
        with ring.on(card):
            hosts.append(ring.cuda.pagelocked_empty(ring.n, np.float32))
    total = hosts[0]

    def run() -> None:
        for card in range(ring.count):
            with ring.on(card):
                ring.cuda.memcpy_dtoh_async(hosts[card], ring.vectors[card], ring.streams[card])
        ring.wait()
        if ring.count == 2:
            np.add(hosts[0], hosts[1], out=total)
        else:
            total[...] = ring_sum([np.asarray(host) for host in hosts])
        for card in range(ring.count):
            with ring.on(card):
                ring.cuda.memcpy_htod_async(ring.vectors[card], total, ring.streams[card])
        ring.wait()

    return run
