"""A batch of images split over cards, from host memory to host memory, or resident on the cards.

Each card has a share of the images in pinned host memory of its own, and cuts it into pieces.
Pieces take turns on a few lanes: a stream and device arrays each, so that copies and kernels of
different pieces overlap. A card that fails in the middle is left out from then on: the others do
what it had not finished. A kernel that faults cannot be made good: on a GPU it ends CUDA for the
whole process, on all cards.
"""

from __future__ import annotations

import contextlib
import math
import statistics
import time
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from helpers.cards.group import Card, Cards, CardsError, is_real
from helpers.cards.shares import shares
from helpers.cards.work import Work, whole_bytes
from helpers.checking import gpu_faults
from helpers.launch import Array
from helpers.limits import USABLE
from helpers.programs import DeviceOwner, Program
from helpers.quantities import quantity

LANES = 4
TRIALS = 5  # runs of `speeds`


class CardFailed(UserWarning):
    """A card failed, and others did its work."""


class CardsFailedError(RuntimeError):
    """No card is left that could do the work."""


@dataclass(frozen=True)
class Failure:
    """A card that failed: what it said, and how many images of its share the others did."""

    card: int
    error: str
    images: int

    def __str__(self) -> str:
        return (
            f"card {self.card} failed ({self.error}): the other cards did {self.images:,} of its "
            "images"
        )


@dataclass(frozen=True)
class Report:
    """Who did what in a run: images by card, and the cards that failed."""

    images: Mapping[int, int]
    failures: tuple[Failure, ...] = ()

    def __str__(self) -> str:
        done = "; ".join(
            f"card {card}: {quantity(count, 'image')}" for card, count in self.images.items()
        )
        return "\n".join([done, *map(str, self.failures)])


@dataclass
class _Lane:
    """What one piece at a time needs on a card."""

    stream: Any
    arrays: dict[str, Any]
    programs: dict[int, Program] = field(default_factory=dict)


Piece = tuple[int, int, int]  # whose share (its place among the cards), first image in it, end


class _Share:
    """The images of one card: its host memory, its lanes, and, where the data are resident, its
    device memory.
    """

    def __init__(
        self,
        card: Card,
        place: int,
        work: Work,
        images: int,
        piece: int,
        lanes: int,
        pinned: bool,
        resident: bool,
    ):
        self.card, self.place, self.work, self.images, self.resident = (
            card,
            place,
            work,
            images,
            resident,
        )
        self.lanes: list[_Lane] = []
        self.given: dict[str, Any] = {}
        self.whole: dict[str, Any] = {}  # x and y of the whole share on the card, where resident
        cuda = card.cuda
        make = cuda.pagelocked_empty if pinned else np.empty
        make = make if images else np.empty  # nobody locks no page
        self.x, self.y = (
            make((images, *shape), dtype) for shape, dtype in map(work.image, (work.x, work.y))
        )
        self.events: list[Any] = []
        kept = (work.x, work.y) if resident else ()
        self.piece, count = self._fitting(piece, lanes, kept)
        try:
            if resident and images:
                self.whole = {
                    work.x: cuda.mem_alloc(self.x.nbytes),
                    work.y: cuda.mem_alloc(self.y.nbytes),
                }
            arguments = {
                a.name for one in work.plan(1) for a in one.arguments if isinstance(a, Array)
            }
            for name, array in work.given.items():
                self.given[name] = (
                    cuda.to_device(np.ascontiguousarray(array)) if name in arguments else array
                )
            for _ in range(count):
                sizes = {
                    name: whole_bytes(array)
                    for name, array in work.arrays(self.piece).items()
                    if name not in kept
                }
                self.lanes.append(
                    _Lane(
                        cuda.Stream(), {name: cuda.mem_alloc(size) for name, size in sizes.items()}
                    )
                )
        except Exception:
            self.free()
            raise

    def _fitting(self, piece: int, lanes: int, kept: Sequence[str]) -> tuple[int, int]:
        """Return the images of a piece and the lanes that fit into the card's free memory: as
        asked, or fewer.
        """
        room = USABLE * self.card.cuda.mem_get_info()[0] - sum(
            array.nbytes for array in self.work.given.values()
        )
        if kept:
            room -= self.x.nbytes + self.y.nbytes
        images = max(1, min(piece, self.images))
        while True:
            each = self.work.bytes_of(images, kept)
            if (
                fitting := min(
                    lanes, int(room // max(1, each)), max(1, math.ceil(self.images / images))
                )
            ) >= 1:
                return images, fitting
            if images == 1:
                raise CardsError(
                    f"card {self.card.number} has {max(0, int(room)):,} bytes for "
                    f"{self.work.name}, and one image needs {each:,}: "
                    "free memory there, or leave the card out (Cards(numbers=...))"
                )
            images //= 2

    def pieces(self) -> list[Piece]:
        """Return the whole share, cut."""
        return [
            (self.place, k, min(k + self.piece, self.images))
            for k in range(0, self.images, self.piece)
        ]

    def launch(self, lane: _Lane, count: int, at: Mapping[str, int]) -> None:
        """Enqueue the plan for ``count`` images; at: addresses that are not the lane's own."""
        if count not in lane.programs:
            lane.programs[count] = Program(self.work.plan(count), self.card.modules)
        lane.programs[count].launch({**self.given, **lane.arrays, **at}, lane.stream)

    def address(self, name: str, first: int) -> int:
        """Return where an image of the resident share lies on the card."""
        array = self.x if name == self.work.x else self.y
        return int(self.whole[name]) + first * array[:1].nbytes

    def free(self) -> None:
        """Free everything on the card, in its thread. What a lost context held is gone already."""
        for lane in self.lanes:
            with contextlib.suppress(self.card.cuda.Error):
                lane.stream.synchronize()
            for held in (*lane.programs.values(), *lane.arrays.values()):
                with contextlib.suppress(self.card.cuda.Error):
                    held.free()
        for held in (
            *self.whole.values(),
            *(one for one in self.given.values() if not isinstance(one, np.ndarray)),
        ):
            with contextlib.suppress(self.card.cuda.Error):
                held.free()
        self.lanes, self.events, self.given, self.whole = [], [], {}, {}

    def mark(self, number: int, stream: Any) -> Any:
        """Record the event of a run's piece, by its number in the run, and return it."""
        while len(self.events) <= number:
            self.events.append(self.card.cuda.Event(self.card.cuda.event_flags.DISABLE_TIMING))
        return self.events[number].record(stream)


class Batch(DeviceOwner):
    """A batch of images on several cards.

    work: what is done. images: how many; piece: at a time on a card, fewer where its memory is
    short; lanes: pieces on their way at a time. weights: of the cards' shares (`shares`), equal
    where they are left out; `speeds` measures them. pinned: whether the host's memory is
    page-locked. resident: the images are on the cards before `run`, and the results stay there
    until `result`; a card takes no more images than it has memory for. instead: another work on the
    same arrays for some cards, by their place: an older card may need a smaller tile.

    Raises CardsError where a card has too little memory for one image, or all of them for a
    resident batch.
    """

    def __init__(
        self,
        cards: Cards,
        work: Work,
        images: int,
        *,
        piece: int = 250,
        lanes: int = LANES,
        weights: Sequence[float] | None = None,
        pinned: bool = True,
        resident: bool = False,
        instead: Mapping[int, Work] | None = None,
    ):
        if piece < 1 or lanes < 1:
            raise CardsError(
                f"pieces of {quantity(piece, 'image')} on {quantity(lanes, 'lane')}: give at "
                "least 1 of both"
            )
        if lost := [card for card in cards if card.failed]:
            raise CardsError(
                f"card {lost[0].number} has failed ({lost[0].failed}): make new Cards(numbers=...) "
                "without it"
            )
        self.cards, self.work, self.resident = cards, work, resident
        self._weights = tuple(weights or [1.0] * len(cards))
        most = cards.each(lambda card: self._room(card, piece)) if resident else ()
        try:
            self.shares = shares(images, self._weights, most)
        except ValueError as error:
            raise CardsError(f"{work.name}: {error}") from None
        self._shares: list[_Share] = []
        others = instead or {}
        running = [
            card.start(
                _Share, card, place, others.get(place, work), count, piece, lanes, pinned, resident
            )
            for place, (card, count) in enumerate(zip(cards, self.shares, strict=True))
        ]
        try:
            self._shares = _all_of(running)
        except Exception:
            self._shares = [one.result() for one in running if one.exception() is None]
            self.free()
            raise

    def _room(self, card: Card, piece: int) -> int:
        """Return how many images a card can hold beside one lane."""
        kept = self.work.x, self.work.y
        each = sum(whole_bytes(self.work.arrays(1)[name]) for name in kept)
        beside = self.work.bytes_of(piece, kept) + sum(
            array.nbytes for array in self.work.given.values()
        )
        return max(0, int((USABLE * card.cuda.mem_get_info()[0] - beside) // each))

    @property
    def images(self) -> int:
        """How many there are."""
        return sum(self.shares)

    @property
    def pieces(self) -> tuple[int, ...]:
        """Images of a piece on each card."""
        return tuple(share.piece for share in self._shares)

    def load(self, x: np.ndarray) -> None:
        """Put the images into the cards' host memory, each card's share by its thread; and on the
        cards, where resident.
        """
        shape, dtype = self.work.image(self.work.x)
        if x.shape != (self.images, *shape) or x.dtype != dtype:
            raise CardsError(
                f"x is {x.dtype} {x.shape}; this batch takes {dtype} {(self.images, *shape)}"
            )
        ends = np.cumsum(self.shares)

        def put(share: _Share, part: np.ndarray) -> None:
            share.x[...] = part
            if share.whole:
                share.card.cuda.memcpy_htod(share.whole[self.work.x], share.x)

        _all_of([
            share.card.start(put, share, x[end - share.images : end])
            for share, end in zip(self._shares, ends, strict=True)
        ])

    def poison(self) -> None:
        """Fill all results with NaN, or with 255, so that what no card writes shows."""

        def fill(share: _Share) -> None:
            share.y.view(np.uint8)[...] = 255
            if share.whole:
                share.card.cuda.memcpy_htod(share.whole[self.work.y], share.y)

        _all_of([share.card.start(fill, share) for share in self._shares])

    def run(self) -> Report:
        """Do all pieces on all cards at once, and wait; return who did what.

        A card that raises is left out from then on, with a CardFailed warning, and the others do
        what it has not finished. Raises CardsFailedError when none is left, and for a fault of a
        kernel; for resident data nobody else has the images, and the card's error is raised.
        """
        left = {share.place: share.pieces() for share in self._shares}
        done = dict.fromkeys((card.number for card in self.cards), 0)
        lost: dict[int, int] = {}
        for place, share in enumerate(self._shares):
            if share.card.failed:
                lost[place] = share.images
        todo = self._dealt(left)
        while todo:
            running = {
                place: self.cards[place].start(self._do, place, pieces)
                for place, pieces in todo.items()
            }
            outcomes = {place: one.result() for place, one in running.items()}
            again: list[Piece] = []
            for place, (finished, _) in outcomes.items():
                done[self.cards[place].number] += sum(end - first for _, first, end in finished)
            for place, (finished, error) in outcomes.items():
                if error is not None:
                    rest = [piece for piece in todo[place] if piece not in finished]
                    lost[place] = lost.get(place, 0) + sum(end - first for _, first, end in rest)
                    self._fail(place, error, sum(done.values()))
                    again += rest
            todo = self._dealt({-1: again})
        failures = tuple(
            Failure(self.cards[k].number, self.cards[k].failed, count) for k, count in lost.items()
        )
        report = Report(done, failures)
        for failure in failures:
            warnings.warn(str(failure), CardFailed, stacklevel=2)
        return report

    def result(self) -> np.ndarray:
        """Return the results of all images, in their order."""

        def back(share: _Share) -> None:
            if share.whole:
                share.card.cuda.memcpy_dtoh(share.y, share.whole[self.work.y])

        _all_of([share.card.start(back, share) for share in self._shares])
        return np.concatenate([np.asarray(share.y) for share in self._shares])

    def free(self) -> None:
        """Free everything on the cards, and the host's memory."""
        for share in self._shares:
            share.card.call(share.free)
            share.card.call(_drop, share)
        self._shares = []

    def _fail(self, place: int, error: Exception, done: int) -> None:
        """Leave a card out. Raises for what the others cannot make good."""
        card = self.cards[place]
        said = str(error).split("\n")[0]
        card.failed = " ".join(f"{type(error).__name__}: {said}".split())
        if gpu_faults.is_fault(error):
            raise CardsFailedError(
                f"{self.work.name}: a kernel on card {card.number} faulted ({card.failed}). On a "
                "GPU a fault ends CUDA for the whole process, on every card. "
                f"{done:,} of {quantity(self.images, 'image')} are done, and result() gives them; "
                "find the "
                "fault in the simulator, and do the others in a new process"
            ) from error
        if self.resident:
            raise error

    def _dealt(self, left: Mapping[int, list[Piece]]) -> dict[int, list[Piece]]:
        """Return the pieces that each living card does: its own, and a part of those of cards that
        are out.
        """
        living = [place for place, card in enumerate(self.cards) if not card.failed]
        todo = {place: left[place] for place in living if left.get(place)}
        orphans = [
            piece for place, pieces in left.items() if place not in living for piece in pieces
        ]
        if orphans and not living:
            told = "; ".join(f"card {card.number}: {card.failed}" for card in self.cards)
            raise CardsFailedError(f"{self.work.name}: no card is left. {told}")
        if orphans:
            weights = [self._weights[place] for place in living]
            counts = shares(len(orphans), weights if sum(weights) else [1.0] * len(living))
            for place, count in zip(living, counts, strict=True):
                if count:
                    todo[place] = [*todo.get(place, []), *orphans[:count]]
                    del orphans[:count]
        return todo

    def _do(self, place: int, pieces: list[Piece]) -> tuple[list[Piece], Exception | None]:
        """Do pieces, in a card's thread; return those that are certainly done, and what stopped the
        others.
        """
        share, finished, error = self._shares[place], [], None
        issued: list[tuple[Piece, Any]] = []
        try:
            for piece in pieces:
                lane = share.lanes[len(issued) % len(share.lanes)]
                self._issue(share, lane, piece)
                issued.append((piece, share.mark(len(issued), lane.stream)))
        except Exception as stopped:
            error = stopped
        # Also where it failed: nothing of this card may be on its way into the results when others
        # write them. A context that is lost answers every wait with its error: then no more pieces
        # count as done.
        try:
            for piece, event in issued:
                event.synchronize()
                finished.append(piece)
            share.card.cuda.Context.synchronize()
        except Exception as stopped:
            error = error or stopped
        return finished, error

    def _issue(self, share: _Share, lane: _Lane, piece: Piece) -> None:
        owner, first, end = piece
        if self.resident:
            at = {name: share.address(name, first) for name in (self.work.x, self.work.y)}
            share.launch(lane, end - first, at)
            return
        host = self._shares[owner]
        for start in range(first, end, share.piece):  # a piece of another card may be larger
            stop = min(start + share.piece, end)
            x, y = host.x[start:stop], host.y[start:stop]
            if host is share:
                self._enqueue(share, lane, x, y)
                continue
            # The memory was pinned by a card that has failed: others take copies of it.
            copied, made = np.array(x), np.empty_like(np.asarray(y))
            self._enqueue(share, lane, copied, made)
            lane.stream.synchronize()
            y[...] = made

    def _enqueue(self, share: _Share, lane: _Lane, x: np.ndarray, y: np.ndarray) -> None:
        """Enqueue a piece: the copy to the card, the plan, the copy back."""
        cuda = share.card.cuda
        cuda.memcpy_htod_async(lane.arrays[self.work.x], x, lane.stream)
        share.launch(lane, len(x), {})
        cuda.memcpy_dtoh_async(y, lane.arrays[self.work.y], lane.stream)


def _drop(share: _Share) -> None:
    """Let go of a share's pinned memory in the card's thread: elsewhere PyCUDA would keep it."""
    del share.x, share.y


def _all_of(running: Sequence[Future[Any]]) -> list[Any]:
    """Return the results of tasks of several cards; the first exception where there is one, when
    all have ended.
    """
    for one in running:
        one.exception()
    return [one.result() for one in running]


def speeds(cards: Cards, work: Work, images: int, **how: Any) -> tuple[float, ...]:
    """Return how many images a second each card does, by itself, from host memory to host memory:
    weights for `Batch`.

    images: of a trial; how: as for `Batch`. Raises CardsError in the simulator, which has no clock.
    """
    if not is_real(cards.cuda):
        raise CardsError(
            "the simulator does not model time, so it has no speeds: give weights, such as (3, 1)"
        )
    found = []
    for place in range(len(cards)):
        alone = [float(k == place) for k in range(len(cards))]
        with Batch(cards, work, images, weights=alone, **how) as batch:
            batch.poison()
            batch.load(np.zeros((images, *work.image(work.x)[0]), work.image(work.x)[1]))
            batch.run()
            found.append(images / statistics.median(_seconds(batch) for _ in range(TRIALS)))
    return tuple(found)


def _seconds(batch: Batch) -> float:
    began = time.perf_counter()
    batch.run()
    return time.perf_counter() - began
