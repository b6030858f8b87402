"""Copies between cards, and the sum of a vector that each card has: what training on several cards
adds up after each step.

One thread drives all cards here, by pushing the context of the card that it speaks to: every call
only enqueues work, so that one thread is enough where calls are few and large. Each card has a
stream; what must wait for another card waits for its event.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from helpers import kernels
from helpers.cards.group import CardsError
from helpers.launch import Launch
from helpers.programs import DeviceOwner, Modules
from helpers.quantities import quantity

ADD = "axpy_basic"  # y = a * x + y: with a = 1 it adds one vector to another
BLOCK = 256
Part = tuple[int, int]  # floats [first, end) of a vector


class Exchange(DeviceOwner):
    """A vector of ``n`` floats on each of some cards, an inbox of the same size beside it, and a
    stream.

    cuda, compiler: a driver and its compiler, PyCUDA's or the simulator's. numbers: the cards.
    peer: let each card reach the others' memory where it can; else the driver takes every copy
    through the host.

    `give`, `put` and `add` enqueue work on a stream and return the event behind it; `sum_ring` is
    made of them. Beside the vector only the inbox may be written by another card. Raises CardsError
    for cards that there are not.
    """

    def __init__(
        self, cuda: Any, compiler: Any, n: int, numbers: Sequence[int], *, peer: bool = True
    ):
        if (
            n < len(numbers)
            or len(set(numbers)) < len(numbers)
            or not all(0 <= k < cuda.Device.count() for k in numbers)
        ):
            raise CardsError(
                f"{quantity(n, 'float')} on cards {tuple(numbers)} of {cuda.Device.count()}: give "
                "at least a "
                "float for each card"
            )
        self.cuda, self.n, self.numbers = cuda, n, tuple(numbers)
        self.contexts = [cuda.Device(number).retain_primary_context() for number in self.numbers]
        self.vectors: list[Any] = []
        self.inboxes: list[Any] = []
        self.streams: list[Any] = []
        self._add: list[Any] = []
        self._peers: list[tuple[int, int]] = []
        one = Launch(kernels.source(ADD), ADD, (), (1, 1, 1), (BLOCK, 1, 1))
        try:
            for card in range(self.count):
                with self.on(card):
                    self._add.append(Modules(cuda, compiler).load(one))
                    self.vectors.append(cuda.mem_alloc(4 * n))
                    self.inboxes.append(cuda.mem_alloc(4 * n))
                    self.streams.append(cuda.Stream())
                if peer:
                    self._reach_others(card)
        except Exception:
            self.free()
            raise

    def _reach_others(self, card: int) -> None:
        for other in range(self.count):
            if other != card and self.can_reach(card, other):
                with self.on(card):
                    self.cuda.Context.enable_peer_access(self.contexts[other])
                self._peers.append((card, other))

    @property
    def count(self) -> int:
        """How many cards there are."""
        return len(self.numbers)

    @property
    def parts(self) -> list[Part]:
        """The vector, cut into as many parts as there are cards."""
        ends = [self.n * k // self.count for k in range(self.count + 1)]
        return list(itertools.pairwise(ends))

    def can_reach(self, card: int, other: int) -> bool:
        """Return whether one card may use another's memory."""
        return self.cuda.Device(self.numbers[card]).can_access_peer(
            self.cuda.Device(self.numbers[other])
        )

    @contextlib.contextmanager
    def on(self, card: int) -> Iterator[None]:
        """Make a card's context current in this thread, inside the block."""
        self.contexts[card].push()
        try:
            yield
        finally:
            self.cuda.Context.pop()

    def load(self, values: Sequence[np.ndarray]) -> None:
        """Copy a vector to each card: float32, (n,)."""
        for card, array in enumerate(values):
            if array.shape != (self.n,) or array.dtype != np.float32:
                raise CardsError(
                    f"a vector is {array.dtype} {array.shape}; give float32 {(self.n,)}"
                )
            with self.on(card):
                self.cuda.memcpy_htod(self.vectors[card], array)

    def read(self, card: int) -> np.ndarray:
        """Return a card's vector; the host waits for all cards first."""
        self.wait()
        values = np.empty(self.n, np.float32)
        with self.on(card):
            self.cuda.memcpy_dtoh(values, self.vectors[card])
        return values

    def give(self, source: int, target: int, part: Part | None = None, stream: Any = None) -> Any:
        """Enqueue a copy of a card's vector, or a part of it, to another card's inbox; return the
        event behind it.

        stream: the source's own where it is left out.
        """
        return self._copy(source, target, self.inboxes[target], part, stream)

    def put(self, source: int, target: int, part: Part | None = None, stream: Any = None) -> Any:
        """Copy as `give` does, over the other card's vector."""
        return self._copy(source, target, self.vectors[target], part, stream)

    def _copy(self, source: int, target: int, to: Any, part: Part | None, stream: Any) -> Any:
        first, end = part or (0, self.n)
        stream = stream or self.streams[source]
        there, here = int(to) + 4 * first, int(self.vectors[source]) + 4 * first
        with self.on(source):
            self.cuda.memcpy_peer_async(
                there, here, 4 * (end - first), self.contexts[target], self.contexts[source], stream
            )
        return self.event(stream)

    def add(self, card: int, part: Part | None = None) -> Any:
        """Enqueue vector += inbox on a card's stream; return the event behind it."""
        first, end = part or (0, self.n)
        vector, inbox = (np.uintp(int(a[card]) + 4 * first) for a in (self.vectors, self.inboxes))
        with self.on(card):
            self._add[card].function(
                *(vector, inbox, np.int32(end - first), np.float32(1)),
                block=(BLOCK, 1, 1),
                grid=(-(-(end - first) // BLOCK), 1),
                stream=self.streams[card],
            )
        return self.event(self.streams[card])

    def event(self, stream: Any) -> Any:
        """Return a new event, recorded behind everything in a card's stream."""
        with self.on(self.streams.index(stream)):
            return self.cuda.Event(self.cuda.event_flags.DISABLE_TIMING).record(stream)

    def sum_ring(self) -> None:
        """Enqueue the sum of all vectors into every card's vector, in a ring.

        Each card sends one part to the next card, which adds it, and so on, until one card has the
        whole sum of each part; then the parts go round once more. Each card sends 2 (count - 1) /
        count of a vector, whatever the number of cards. A part is summed in the order of the ring,
        from the card of its number on: all cards have the same bits.

        Nothing waits for a card to have read what is written over: the part that comes back to a
        card holds that card's own addition, and so comes after it. Afterwards the vectors may be
        used in the cards' streams.
        """
        cards, parts = range(self.count), self.parts
        for step in range(self.count - 1):
            given = [
                self.give(card, (card + 1) % self.count, parts[(card - step) % self.count])
                for card in cards
            ]
            for card in cards:
                before = (card - 1) % self.count
                self.streams[card].wait_for_event(given[before])
                self.add(card, parts[(before - step) % self.count])
        for step in range(self.count - 1):
            put = [
                self.put(card, (card + 1) % self.count, parts[(card + 1 - step) % self.count])
                for card in cards
            ]
            for card in cards:
                self.streams[card].wait_for_event(put[(card - 1) % self.count])

    def wait(self) -> None:
        """Wait for everything in all streams."""
        for stream in self.streams:
            stream.synchronize()

    def free(self) -> None:
        """Wait, free what is on the cards, and end what lets them reach each other."""
        for card in range(len(self.streams)):
            with self.on(card):
                self.streams[card].synchronize()
        for card in range(len(self.contexts)):
            with self.on(card):
                for held in (self.vectors, self.inboxes):
                    if card < len(held):
                        held[card].free()
        for card, other in self._peers:
            with self.on(card):
                self.cuda.Context.disable_peer_access(self.contexts[other])
        self.vectors, self.inboxes, self.streams, self._peers = [], [], [], []


def ring_sum(values: Sequence[np.ndarray]) -> np.ndarray:
    """Return the sum of float32 vectors in the order of `Exchange.sum_ring`: the same bits."""
    count, n = len(values), len(values[0])
    total = np.empty(n, np.float32)
    for k in range(count):
        part = slice(n * k // count, n * (k + 1) // count)
        total[part] = values[k][part]
        for card in range(k + 1, k + count):
            total[part] = values[card % count][part] + total[part]
    return total
