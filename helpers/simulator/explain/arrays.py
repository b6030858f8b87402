"""The arrays of a recorded launch by address: their names, their cells, and the types of these."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ..machine import memory
from ..machine.layouts import numbers_in
from .recording import Recording
from .variables import Array as ArrayType
from .variables import Pointer, ValueType, numbers_of

Index = int | tuple[int, ...]


@dataclass(frozen=True)
class ArrayPlace:
    """An array of the launch. rank: its place among the parameters, then the variables; layout: the
    numbers in an element, as offset and NumPy's code; members: their names, "" for the only number;
    has_value: whether it holds values before the launch.
    """

    name: str
    start: int
    nbytes: int
    element_bytes: int
    extents: tuple[int, ...]
    space: str
    rank: int
    layout: tuple[tuple[int, str], ...]
    members: tuple[str, ...]
    has_value: bool

    def cell(self, address: int) -> tuple[Index, str, str]:
        """Return index, member and NumPy's code of what lies at an address, also before the array's
        start and past its end.
        """
        offset = address - self.start
        flat, inside = divmod(offset, self.element_bytes or 1)
        number = next((k for k, (at, _) in enumerate(self.layout) if at == inside), None)
        member = self.members[number] if number is not None else ""
        code = self.layout[number][1] if number is not None else ""
        return self.index(flat), member, code

    def index(self, flat: int) -> Index:
        """Return the index of an element as the source writes it."""
        if len(self.extents) < 2 or not 0 <= flat < self.count:
            return flat
        return tuple(int(k) for k in np.unravel_index(flat, self.extents))

    def flat(self, index: Index) -> int:
        """Return the number of an element in its array."""
        if isinstance(index, tuple):
            return int(np.ravel_multi_index(index, self.extents)) if len(index) > 1 else index[0]
        return index

    @property
    def count(self) -> int:
        return self.nbytes // (self.element_bytes or 1)


class ArrayPlaces:
    """The arrays of a launch, by address and by name."""

    def __init__(self, arrays: Iterable[ArrayPlace]):
        # Of two parameters with one array, the first names it.
        self._all = sorted(arrays, key=lambda one: (one.start, -one.rank))
        self._starts = [one.start for one in self._all]
        self.by_name = {one.name: one for one in reversed(self._all)}

    def at(self, address: int) -> ArrayPlace | None:
        """Return the array that holds an address, None outside all of them."""
        k = bisect.bisect_right(self._starts, address) - 1
        if k < 0:
            return None
        one = self._all[k]
        return one if address < one.start + one.nbytes else None

    def near(self, address: int, most: int = 1024) -> ArrayPlace | None:
        """Return the array nearest to an address outside all of them, at most `most` bytes away."""
        best, distance = None, most
        for one in self._all:
            away = max(one.start - address, address - (one.start + one.nbytes - 1))
            if away <= distance:
                best, distance = one, away
        return best

    def __iter__(self):
        return iter(self._all)


def arrays_of(
    recording: Recording, starts: Mapping[str, int], initial: Mapping[str, bool]
) -> ArrayPlaces:
    """Return the arrays of a recorded launch.

    starts: the addresses of the pointer parameters, by name; initial: whether their arrays hold
    values before the launch.
    """
    kernel = recording.kernel
    translation = kernel.translation
    assert translation is not None
    debug = translation.debug
    pointers = {
        one.name: one.kind.target
        for one in debug.of_function(kernel.mangled)
        if isinstance(one.kind, Pointer) and one.depth == 0
    }
    found = []
    for rank, parameter in enumerate(kernel.parameters):
        address = starts.get(parameter.name, 0)
        if (region := memory.region(address) if address else None) is None:
            continue
        nbytes, width = region[0] + region[1] - address, parameter.element_bytes or 1
        found.append(
            ArrayPlace(
                parameter.name, address, nbytes, width, (nbytes // width,), "global", rank,
                *_numbers(pointers.get(parameter.name), parameter.layout), initial[parameter.name],
            )
        )  # fmt: skip
    rank = len(kernel.parameters)
    for one in kernel.module.regions.values():
        kind = _element(debug.kind_of_symbol(one.symbol)) or debug.kind_named(one.element)
        found.append(
            ArrayPlace(
                one.name, one.address, one.nbytes, one.element_bytes or 1, one.extents, one.space,
                rank, *_numbers(kind, one.layout), True,
            )
        )  # fmt: skip
    for variable, offset, nbytes in kernel.shared:
        start, space = recording.shared + offset, "shared"
        if isinstance(variable, str):  # the compiler does not describe it
            found.append(
                ArrayPlace(variable, start, nbytes, 1, (nbytes,), space, rank + 1, (), (), False)
            )
            continue
        numbers = _numbers(debug.kind_named(variable.element), variable.layout)
        found.append(
            ArrayPlace(
                variable.name, start, nbytes, variable.element_bytes or 1, variable.extents, space,
                rank + 1, *numbers, False,
            )
        )  # fmt: skip
    if (nbytes := recording.dynamic_shared) > 0:
        known = next((v for v in kernel.dynamic if v.element_bytes), None)
        name = "/".join(dict.fromkeys(v.name for v in kernel.dynamic)) or "dynamic shared memory"
        start, width = recording.shared + kernel.program.dynamic_offset, 1
        kind = None
        if known is not None:
            kind, width = debug.kind_named(known.element), known.element_bytes
        found.append(
            ArrayPlace(
                name, start, nbytes, width, (nbytes // width,), "shared", rank + 1,
                *_numbers(kind, ""), False,
            )
        )  # fmt: skip
    return ArrayPlaces(found)


def _element(kind: ValueType | None) -> ValueType | None:
    """Return the type of an array's elements, or of a variable that is no array."""
    return kind.element if isinstance(kind, ArrayType) else kind


def _numbers(
    kind: ValueType | None, layout: str
) -> tuple[tuple[tuple[int, str], ...], tuple[str, ...]]:
    """Return the numbers of an element, and the names of its members."""
    numbers = numbers_of(kind)
    if numbers:
        return tuple((at, code) for at, _, code in numbers), tuple(name for _, name, _ in numbers)
    plain = numbers_in(layout)
    names = "xyzw" if 1 < len(plain) <= 4 else ""
    return plain, tuple(
        "" if len(plain) == 1 else names[k] if k < len(names) else f"+{at}"
        for k, (at, _) in enumerate(plain)
    )
