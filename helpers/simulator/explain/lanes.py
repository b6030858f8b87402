"""The threads of a record while it is read: their registers with bits and formulas, and what those
who follow an instruction need of the reader and of the launch.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from ..launch.launch_limits import Extents
from .arrays import ArrayPlaces
from .formulas import Formula, Function, Packed
from .recording import Event, Recording
from .steps import Step
from .translation import Row

Form = Formula | Packed | None


class Frame:
    """A function that a thread runs. call: of a function of the library, its value as a function of
    its arguments: what happens inside is not followed; caller: the call that led here, None in the
    kernel; returned: where the results of the runtime's functions are that it has called.
    """

    __slots__ = ("bits", "call", "caller", "forms", "function", "local", "returned")

    def __init__(
        self, function: int, local: int, call: Function | None = None, caller: Row | None = None
    ):
        self.function, self.local, self.call, self.caller = function, local, call, caller
        self.returned: set[int] = set()
        self.bits: dict[int, int] = {}
        self.forms: dict[int, Formula | Packed] = {}


class Lane:
    """One thread while the record is read: its functions, the innermost last. pending: a call by
    address, until the thread is in the function that it led to; groups: of copies that it has begun
    and not waited for; waited: the line of its last wait for them, 0 for none.
    """

    __slots__ = ("block", "groups", "linear", "local", "pending", "stack", "staged", "waited")

    def __init__(self, block: int, linear: int, local: int):
        self.block, self.linear, self.local = block, linear, local
        self.stack = [Frame(0, local)]
        self.pending: Row | None = None
        self.staged: Form = None
        self.groups: list[list[tuple]] = [[]]
        self.waited = 0


class Unfinished(NamedTuple):
    """A load of what an asynchronous copy has not brought yet. line: of the copy; waited: of the
    thread's last wait for copies, 0 for none; address: of what is loaded.
    """

    line: int
    waited: int
    address: int


class LaunchRecord(Protocol):
    """What is asked of a tape by the formulas of its values, and by the values of its findings."""

    source: str
    grid: Extents
    block: Extents
    recording: Recording
    arrays: ArrayPlaces
    inputs: dict[str, Any]
    before: dict[str, bytes]
    outputs: dict[str, np.ndarray]

    @property
    def events(self) -> list[Event]: ...

    @property
    def threads(self) -> list[Extents]: ...

    def thread(self, block: Extents, thread: Extents) -> list[Step]: ...

    def threads_of_line(self, block: Extents, line: int, address: int) -> list[Extents]: ...

    def extents_of(self, number: int) -> Extents: ...

    def thread_of(self, number: int) -> Extents: ...


class Follower(Protocol):
    """What an instruction does to formulas is done by these: `Provenance` has them."""

    recording: Recording
    loaded: dict[tuple[int, int, int], Form]
    places: dict[tuple[int, int, int], int]
    copying: dict[int, int]
    unfinished: dict[tuple[int, int, int], Unfinished]

    def bits_of(self, lane: Lane, operand: int) -> int: ...

    def form_of(self, lane: Lane, operand: int) -> Form: ...

    def formula_of(self, lane: Lane, operand: int, type: str) -> Formula: ...

    def as_type(self, form: Formula | Packed, type: str, bits: int) -> Formula: ...

    def part(self, form: Formula | Packed, bits: int, type: str, place: int) -> Formula: ...

    def set(self, lane: Lane, register: int, form: Form) -> None: ...

    def load(self, address: int, nbytes: int, bits: int | None) -> Form: ...

    def pieces(self, address: int, nbytes: int) -> list[tuple[int, Form, int | None]]: ...

    def write(
        self,
        event: Event,
        row: Row,
        lane: Lane,
        address: int,
        nbytes: int,
        form: Form,
        bits: int | None,
    ) -> None: ...
