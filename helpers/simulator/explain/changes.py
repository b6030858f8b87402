"""Changes to what a launch does: experiments that confirm a cause, or show another order of
threads.

A cause is told only if the launch comes right without it: a decision turned round, a value
replaced, an access to another cell, a wait before a line. The machine runs the same program with
the change.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..launch.launch_limits import Extents
from ..program.module import Kernel
from .ptx_types import type_name
from .recording import CHANGE, CONDITION, OTHER_SIDE_FIRST, REDIRECT, REPLACE, TURN
from .steps import Access, Decision, Step
from .translation import Translation
from .variables import Number, Register

_ABSOLUTE, _SHARED, _LOCAL = 0, 1, 2  # from where the address of a change counts


@dataclass(frozen=True)
class Place:
    """Where a change applies: at an instruction, to a thread of a block (None: to all), the
    thread's nth time there (None: each time), and only while variables of the source have these
    values.
    """

    pc: int
    block: Extents | None = None
    thread: Extents | None = None
    nth: int | None = None
    where: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Turn:
    """A decision is turned round: a branch, which is a whole condition or a part of it with && or
    ||.
    """

    place: Place

    @classmethod
    def of(cls, step: Step, decision: Decision) -> Turn:
        """Return the change of one decision of one thread."""
        return cls(Place(decision.pc, step.block, step.thread, decision.nth))


@dataclass(frozen=True)
class Replace:
    """A load gets another value: a number of the type that is loaded. element: of a vector."""

    place: Place
    value: Any
    element: int = 0

    @classmethod
    def of(cls, access: Access, value: Any) -> Replace:
        """Return the change of one load of one thread."""
        return cls(_place_of(access), value, access.element)


@dataclass(frozen=True)
class Redirect:
    """An access goes to another cell: `array` and `index` as in Tape.cell."""

    place: Place
    array: str
    index: int | tuple[int, ...]

    @classmethod
    def of(cls, access: Access, array: str, index: int | tuple[int, ...]) -> Redirect:
        """Return the change of one access of one thread."""
        return cls(_place_of(access), array, index)


Change = Turn | Replace | Redirect


@dataclass(frozen=True)
class Schedule:
    """Another order of the threads, which a GPU may choose as well.

    warp: runs before the other warps of its block, up to each barrier; threads: numbers of threads
    of this warp that run before its others, up to a barrier or until they wait for each other;
    sides: branches (Decision.pc) at which the threads that jump run before those that go on;
    blocks: the order of the blocks, as triples.
    """

    warp: int = 0
    threads: tuple[int, ...] = ()
    sides: tuple[int, ...] = ()
    blocks: tuple[Extents, ...] | None = None

    @property
    def lanes(self) -> int:
        """The threads of the warp that run first, as bits."""
        found = 0
        for one in self.threads:
            if one // 32 != self.warp:
                raise ValueError(f"thread {one} is not of warp {self.warp}, which has 32 threads")
            found |= 1 << one % 32
        return found


def _place_of(access: Access) -> Place:
    if access.row is None:
        raise ValueError("this access does not belong to a tape")
    return Place(access.row.pc, access.block, access.thread, access.nth)


def encoded(
    translation: Translation,
    changes: Sequence[Change],
    sides: Iterable[int],
    grid: Extents,
    block: Extents,
    address_of: AddressOf,
) -> tuple[np.ndarray, np.ndarray]:
    """Return changes as the machine gets them, CHANGE, and their conditions, CONDITION. Raises
    ValueError for a change that cannot be made.
    """
    rows: list[tuple] = []
    conditions: list[tuple[int, int, int]] = []
    for change in changes:
        place = change.place
        first = len(conditions)
        conditions += _conditions(translation, place)
        row = translation.rows[place.pc]
        kind, value, element, base = TURN, 0, 0, _ABSOLUTE
        if isinstance(change, Turn):
            if row.guard < 0 or row.operation not in ("bra", "exit", "ret"):
                raise ValueError(f"line {row.line}: instruction {place.pc} decides nothing")
        elif isinstance(change, Replace):
            kind, element = REPLACE, sum(r >= 0 for r in row.results[: change.element])
            value = _bits(change.value, row)
        else:
            kind = REDIRECT
            if row.sources[:1] < (0,):
                raise ValueError(
                    f"line {row.line}: this access has a fixed address, and cannot go elsewhere"
                )
            value, base = address_of(change.array, change.index)
        rows.append(
            (
                place.pc, kind, _number(place.block, grid), _number(place.thread, block),
                -1 if place.nth is None else place.nth, first, len(conditions) - first,
                value % 2**64, element, base,
            )
        )  # fmt: skip
    rows += [(pc, OTHER_SIDE_FIRST, -1, -1, -1, 0, 0, 0, 0, 0) for pc in sides]
    none = [(0, 0, 0)]
    return np.array(rows, CHANGE), np.array(conditions or none, CONDITION)


def _number(given: Extents | None, extents: Extents) -> int:
    if given is None:
        return -1
    x, y, z = given
    return x + extents[0] * (y + extents[1] * z)


def _conditions(translation: Translation, place: Place) -> list[tuple[int, int, int]]:
    """Return slot, bytes and value of the registers that the variables are in."""
    found = []
    function = translation.function_at(place.pc)
    visible = {}
    for one in translation.variables_at(place.pc):
        where, register = one.where, one.register
        for move in one.moves:
            if move.begin <= place.pc < move.end:
                where, register = move.where, move.register
        is_plain = isinstance(where, Register) and not where.is_address and register >= 0
        if is_plain and isinstance(one.variable.kind, Number):
            visible[one.variable.name] = one.variable.kind, register
    for name, value in place.where.items():
        if name not in visible:
            raise ValueError(
                f"{name!r} has no register of its own at line {translation.rows[place.pc].line}: a "
                f"change can depend on {', '.join(visible) or 'no variable'} there"
            )
        kind, register = visible[name]
        slot, nbytes = translation.slot_of(function, register)
        data = np.array(value, kind.dtype).tobytes()
        bits = int.from_bytes(data, "little", signed=kind.dtype.kind == "i")
        found.append((slot, nbytes, bits & ((1 << 8 * max(nbytes, 1)) - 1)))
    return found


def _bits(value: Any, row) -> int:
    type = type_name(row.type)
    codes = {"f16": "f2", "f32": "f4", "f64": "f8"}
    code = codes.get(type, f"{'i' if type[:1] == 's' else 'u'}{row.bytes}")
    if isinstance(value, np.generic) and value.dtype.itemsize == row.bytes:
        return int.from_bytes(value.tobytes(), "little")  # the bits of its own type
    return int.from_bytes(np.array(value).astype(code).tobytes(), "little")


class AddressOf:
    """Returns the address of a cell and from where it counts, before the launch."""

    def __init__(
        self, kernel: Kernel, starts: Mapping[str, int], dynamic_offset: int, shared: Sequence
    ):
        self._kernel, self._starts = kernel, starts
        self._dynamic, self._shared = dynamic_offset, shared

    def __call__(self, array: str, index: int | tuple[int, ...]) -> tuple[int, int]:
        parameter = next((p for p in self._kernel.parameters if p.name == array), None)
        if array in self._starts:
            one = parameter or self._kernel.module.globals[array]
            extents = () if parameter is not None else self._kernel.module.globals[array].extents
            flat = _flat(index, extents, array)
            return self._starts[array] + flat * (one.element_bytes or 1), _ABSOLUTE
        for variable, offset, _ in self._shared:
            if not isinstance(variable, str) and variable.name == array:
                flat = _flat(index, variable.extents, array)
                return offset + flat * (variable.element_bytes or 1), _SHARED
        for variable in self._kernel.dynamic:
            if variable.name == array:
                flat = _flat(index, (), array)
                return self._dynamic + flat * (variable.element_bytes or 1), _SHARED
        raise ValueError(f"the launch has no array {array!r} to which an access could go")


def _flat(index: int | tuple[int, ...], extents: Sequence[int], array: str) -> int:
    if not isinstance(index, tuple):
        return int(index)
    if len(index) == 1:
        return int(index[0])
    if len(index) != len(extents):
        raise ValueError(f"{array} has no {len(index)} indices: give one number")
    return int(np.ravel_multi_index(index, tuple(extents)))
