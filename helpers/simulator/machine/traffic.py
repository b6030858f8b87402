"""Memory traffic as rows of counters: by source line and array, by array, and one request at a
time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import NamedTuple, overload

import numpy as np

from .architecture import SECTOR_BYTES


@dataclass(frozen=True, kw_only=True)
class Counters:
    """Sums over requests to one array, and what follows from them.

    requests: warp instructions; lanes: lanes that took part; bytes_used: bytes that lanes
    requested; sectors: sectors of 32 bytes that the requests move (global); wavefronts, conflicts:
    passes over the banks, and passes beyond the first (shared); replays: different words in a
    request beyond the first (constant); serialised: turns beyond the first of lanes that update one
    address (atomics); repeated: stores of a value that another thread has just stored there, which
    is no race.
    """

    requests: int
    lanes: int
    bytes_used: int
    sectors: int
    wavefronts: int
    conflicts: int
    replays: int = 0
    serialised: int = 0
    repeated: int = 0

    @property
    def bytes_moved(self) -> int:
        return self.sectors * SECTOR_BYTES

    @property
    def efficiency(self) -> float:
        """The bytes that lanes requested, as a share of the bytes that the sectors move. It may
        exceed 1, because lanes that read the same word share it.
        """
        return self.bytes_used / self.bytes_moved if self.bytes_moved else float("nan")

    @property
    def active_lanes(self) -> float:
        """The average number of lanes in a request: 32 if no lane was inactive."""
        return self.lanes / self.requests if self.requests else float("nan")


@dataclass(frozen=True, kw_only=True)
class LineTraffic(Counters):
    """The traffic between one source line and one array.

    access: "load", "store" or "atomic"; space: "global", "shared", "constant" or "local"; model:
    "sass" if the kernel's machine code says how every access counts, else "ptx": an access of which
    it is not sure counts as PTX has it.
    """

    line: int
    source: str
    access: str
    space: str
    array: str
    model: str = field(default="ptx", compare=False)


@dataclass(frozen=True, kw_only=True)
class ArrayTraffic(Counters):
    """The traffic of a launch to one array by one kind of access: the sum of its LineTraffic, and
    the lines.
    """

    array: str
    access: str
    space: str
    lines: tuple[int, ...]


@dataclass(frozen=True)
class LineControl:
    """Barriers and divergent branches of one source line.

    kind: "barrier": `count` warps came to it, with `lanes` lanes; "branch": the lanes of a warp
    parted `count` times, and `lanes` lanes had to wait for the others. A branch that the compiler
    turned into a selection does not count.
    """

    line: int
    source: str
    kind: str
    count: int
    lanes: int


@dataclass(frozen=True)
class StoreShare:
    """Values of an array that one warp and one block store at most, in bytes, and how many warps
    store any. A bulk copy belongs to its block, and to no warp.
    """

    array: str
    of_warp: int
    of_block: int
    warps: int


@dataclass(frozen=True)
class Shares:
    """How the work of a launch lies: the most of any warp, block or thread of it.

    steps_of_warp, steps_of_block: instructions that warps executed; loads_of_warp: requests that
    load from global memory, and bulk copies; words_in_a_row: of 4 bytes, that threads of a block
    read from shared memory one after another, between two barriers those of the busiest thread.
    """

    steps_of_warp: int = 0
    steps_of_block: int = 0
    loads_of_warp: int = 0
    words_in_a_row: int = 0
    stores: tuple[StoreShare, ...] = ()


@dataclass(frozen=True)
class Request:
    """One instruction of a watched warp: the lanes that took part, and the byte offset in the array
    that each lane accessed. in_flight: asynchronous copies of its block, one for each lane, that
    had not arrived; warp: the number of the warp in its block.
    """

    kind: str
    space: str
    array: str
    line: int
    lanes: tuple[int, ...]
    offsets: tuple[int, ...]
    size: int
    in_flight: int = 0
    warp: int = 0


class RequestRow(NamedTuple):
    """A Request whose lanes and offsets are those from `first` to `end` of two arrays."""

    kind: str
    space: str
    array: str
    line: int
    size: int
    first: int
    end: int
    in_flight: int = 0
    warp: int = 0


class Requests(Sequence[Request]):
    """Requests of the watched warps. Each Request is made when somebody reads it, because most
    profiles are made for their sums alone.

    lanes, offsets: of all requests.
    """

    def __init__(self, rows: Sequence[RequestRow], lanes: np.ndarray, offsets: np.ndarray):
        self._rows, self._lanes, self._offsets = rows, lanes, offsets

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, which: int) -> Request: ...
    @overload
    def __getitem__(self, which: slice) -> Requests: ...
    def __getitem__(self, which: int | slice) -> Request | Requests:
        if isinstance(which, slice):
            return Requests(self._rows[which], self._lanes, self._offsets)
        return self._made(self._rows[which])

    def __iter__(self) -> Iterator[Request]:
        return map(self._made, self._rows)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == tuple(other) if isinstance(other, Sequence) else NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))

    def of(self, **words: str | int) -> Requests:
        """Return the requests of a kind, a space, an array or a warp: of(kind="store", warp=1)."""
        rows = self._rows
        for name, word in words.items():  # by place: a warp has thousands of requests
            place = RequestRow._fields.index(name)
            rows = [row for row in rows if row[place] == word]
        return Requests(rows, self._lanes, self._offsets)

    def _made(self, row: RequestRow) -> Request:
        lanes, offsets = (
            tuple(values[row.first : row.end].tolist()) for values in (self._lanes, self._offsets)
        )
        return Request(
            row.kind, row.space, row.array, row.line, lanes, offsets, row.size, row.in_flight,
            row.warp,
        )


COUNTERS = tuple(one.name for one in fields(Counters))
# The order in which tables list the spaces.
_ORDER = {"global": 0, "shared": 1, "constant": 2, "local": 3}


def total_of(rows: Iterable[LineTraffic], counter: str) -> int:
    """Return the sum of one counter."""
    return sum(getattr(row, counter) for row in rows)


def by_array(lines: Iterable[LineTraffic]) -> tuple[ArrayTraffic, ...]:
    """Return the sums by array and kind of access: global memory first, then the largest first."""
    groups: dict[tuple[str, str, str], list[LineTraffic]] = {}
    for row in lines:
        groups.setdefault((row.array, row.access, row.space), []).append(row)
    traffic = [
        ArrayTraffic(
            array=array,
            access=access,
            space=space,
            lines=tuple(dict.fromkeys(row.line for row in rows)),
            **{name: total_of(rows, name) for name in COUNTERS},
        )
        for (array, access, space), rows in groups.items()
    ]
    return tuple(
        sorted(
            traffic, key=lambda a: (_ORDER[a.space], -a.sectors, -a.wavefronts, a.array, a.access)
        )
    )
