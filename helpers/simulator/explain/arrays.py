"""The arrays of a recorded launch by address: their names, their cells, and the types of these."""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from .. import memory
from ..layouts import numbers_in
from ..library import machine
from .recording import Recording
from .variables import Array as ArrayType
from .variables import Memory, Pointer, ValueType, numbers_of

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
        self._all = sorted(arrays, key=lambda one: one.start)
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


def arrays_of(recording: Recording, initial: dict[str, bool]) -> ArrayPlaces:
    """Return the arrays of a recorded launch. initial: whether the array of a pointer parameter
    holds values before the launch, by name.
    """
    kernel = recording.kernel
    translation = kernel.translation
    assert translation is not None
    pointers = {
        one.name: one.kind.target
        for one in translation.debug.of_function(kernel.mangled)
        if isinstance(one.kind, Pointer) and one.depth == 0
    }
    variables = {v.name: v for v in kernel.module.variables.values()}
    kinds = {
        where.symbol: one.kind
        for number in range(len(translation.functions))
        for one in translation.variables_in(number)
        for _, _, where in one.places
        if isinstance(where, Memory)
    }
    ranks = {p.name: k for k, p in enumerate(kernel.parameters)}
    found = []
    for number, named in recording.report.arrays.items():
        if named.space in ("shared", "local"):
            continue
        start = named.start or machine().halo_region_start(number)
        name = named.name.split("=")[0]
        kind, layout = pointers.get(name), ""
        if name not in ranks and name in variables:
            kind = _element(translation.debug.kind_of_symbol(variables[name].symbol))
            layout = variables[name].layout
        found.append(
            ArrayPlace(
                name, start + named.first_byte, named.nbytes, named.element_bytes or 1,
                named.extents, named.space, ranks.get(name, len(ranks)),
                *_numbers(kind, layout), initial.get(name, True),
            )
        )  # fmt: skip
    for variable, offset, nbytes in kernel.shared:
        is_known = not isinstance(variable, str)
        name = variable.name if is_known else variable
        symbol = variable.symbol if is_known else variable
        width = variable.element_bytes or 1 if is_known else 1
        found.append(
            ArrayPlace(
                name, recording.shared + offset, nbytes, width,
                variable.extents if is_known else (nbytes,), "shared", len(ranks) + 1,
                *_numbers(_element(kinds.get(symbol) or translation.debug.kind_of_symbol(symbol)),
                          variable.layout if is_known else ""), False,
            )
        )  # fmt: skip
    if recording.dynamic_shared > 0:
        known = next((v for v in kernel.dynamic if v.element_bytes), None)
        width = known.element_bytes if known is not None else 1
        found.append(
            ArrayPlace(
                "/".join(dict.fromkeys(v.name for v in kernel.dynamic)) or "dynamic shared memory",
                recording.shared + kernel.program.dynamic_offset, recording.dynamic_shared, width,
                (recording.dynamic_shared // width,), "shared", len(ranks) + 1,
                *_numbers(None, known.layout if known is not None else ""), False,
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


def values_at(address: int, nbytes: int, dtype: np.dtype) -> np.ndarray:
    """Return the values that the device has at an address."""
    found = np.empty(nbytes // dtype.itemsize, dtype)
    memory.read(found, address, found.nbytes)
    return found
