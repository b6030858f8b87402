"""Remarks on arrays of which a launch leaves out a large part, though nothing of it is a fault.

    gemm never reads 992 of the 2,048 elements of a, from a[1056] on

A kernel may be given a larger array than it needs, a row of a matrix, or a step of several. So the
launch itself must say that it means the whole array: every whole number among its arguments is an
extent of its arrays, and the array has as many elements as a product of them. Nor may the program
have taken a part of the array before, as a view or by a pointer into it. Only such arrays are
watched. What is used and what is left out must be pieces of one size at equal distances: a
triangle, a diagonal, or what a search or an index from memory happens to leave, is not told.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..findings.race_facts import appends
from ..machine import memory
from ..machine.arrays import pointers
from ..machine.layouts import only_dtype
from ..machine.library import machine
from ..program.module import Kernel
from ..ptx.declarations import Parameter

_MOST_NUMBERS = 6  # among the arguments; more have too many products
_LEAST_SHARE = 0.25  # of an array, left out and used: a kernel may set an edge, or leave it
_LEAST_PIECE = 8  # elements in a row, left out and used: fewer are a stride of the kernel's
_READS, _WRITES = 0, 1


@dataclass(frozen=True)
class WholeArray:
    """An array that a launch means as a whole. others: the numbers among the launch's arguments
    that are no extents of this array.
    """

    parameter: Parameter
    address: int
    nbytes: int
    others: frozenset[int]

    @property
    def count(self) -> int:
        return self.nbytes // self.parameter.element_bytes

    @property
    def grain(self) -> int:
        """The binary logarithm of the bytes of a cell, of which the machine takes notes."""
        nbytes = self.parameter.element_bytes
        return (nbytes & -nbytes).bit_length() - 1

    def share(self, way: int) -> float:
        """Return which share the launch has read or written, below 0 if that is not known."""
        cells = self.nbytes >> self.grain
        return machine().halo_count_covered(self.address, way) / cells

    def elements(self, way: int) -> np.ndarray:
        """Return which elements the launch has read or written, bool, shape (count,)."""
        cells = self.nbytes >> self.grain
        bits = np.zeros(-(-cells // 64), np.uint64)
        machine().halo_covered(self.address, way, bits.ctypes.data, len(bits))
        of_cells = np.unpackbits(bits.view(np.uint8), bitorder="little")[:cells]
        return np.any(of_cells.reshape(self.count, -1), axis=1)


def whole_arrays(kernel: Kernel, packed: bytes) -> tuple[WholeArray, ...]:
    """Return the arrays that a launch means as a whole, by its arguments (packed); () if one of the
    whole numbers among these is no extent.
    """
    numbers = tuple(_whole_numbers(kernel, packed))
    if not 0 < len(numbers) <= _MOST_NUMBERS or min(numbers) < 2:
        return ()
    found: list[WholeArray] = []
    extents: set[int] = set()
    addresses: set[int] = set()
    given = pointers(kernel, packed)
    for parameter in kernel.parameters:
        address = given.get(parameter.name, 0)
        place = memory.allocation(address) if address and parameter.element_bytes else None
        if place is not None and place[0] != address:
            memory.set_parted(address)
        if place is None or memory.is_parted(address) or place[1] % parameter.element_bytes:
            continue
        if address in addresses:
            return ()  # two names for one array
        addresses.add(address)
        if own := _extents(numbers, place[1] // parameter.element_bytes):
            extents |= own
            found.append(WholeArray(parameter, *place, frozenset(numbers) - own))
    return tuple(found) if extents == set(numbers) else ()


@contextlib.contextmanager
def watched(arrays: Sequence[WholeArray]) -> Iterator[None]:
    """Let the machine note meanwhile what launches read and write of these arrays."""
    for one in arrays:
        machine().halo_cover(one.address, one.grain)
    try:
        yield
    finally:
        for one in arrays:
            machine().halo_uncover(one.address)


def remarks(kernel: Kernel, arrays: Sequence[WholeArray]) -> tuple[str, ...]:
    """Return one remark on the watched arrays of which the launch has left out much, () if there
    are none.
    """
    parts = [text for one in arrays if (text := _part_left_out(kernel, one))]
    if not parts:
        return ()
    return (
        f"{kernel.name} never {', and never '.join(parts)}. Is that meant? If not, compare the "
        "grid, the bounds of loops and the step from row to row with the sizes of the array",
    )


def _part_left_out(kernel: Kernel, array: WholeArray) -> str:
    """Return "reads 512 of the 1,024 elements of x, from x[512] on", "" for no such part."""
    reads, writes = array.share(_READS), array.share(_WRITES)
    if min(reads, writes) < 0 or max(reads, writes) > 1 - _LEAST_SHARE:
        return ""
    if memory.written(array.address, array.nbytes) < array.nbytes:
        return ""  # unset values are told elsewhere
    used = array.elements(_READS) | array.elements(_WRITES)
    is_half_used = _LEAST_SHARE <= used.mean() <= 1 - _LEAST_SHARE
    if not is_half_used or not _is_regular(used, array.others):
        return ""
    if writes and appends(kernel, array.parameter.offset):
        return ""
    missing, name = np.flatnonzero(~used), array.parameter.name
    verb = "reads" if not writes else "writes" if not reads else "reads or writes"
    is_one_piece = missing[-1] - missing[0] + 1 == len(missing)
    where = f"from {name}[{missing[0]}] on" if is_one_piece else f"such as {name}[{missing[0]}]"
    return f"{verb} {len(missing):,} of the {array.count:,} elements of {name}, {where}"


def _whole_numbers(kernel: Kernel, packed: bytes) -> Iterator[int]:
    for parameter in kernel.parameters:
        dtype = only_dtype(parameter.layout) if not parameter.is_pointer else None
        if dtype is not None and dtype.kind in "iu" and dtype.itemsize == parameter.size:
            yield int(np.frombuffer(packed, dtype, 1, parameter.offset)[0])


def _extents(numbers: Sequence[int], count: int) -> set[int]:
    """Return the numbers that are factors of products of some of them, if these are `count`."""
    if len(numbers) == 1:  # most launches
        return set(numbers) if numbers[0] == count else set()
    return {
        number
        for size in range(1, len(numbers) + 1)
        for factors in itertools.combinations(numbers, size)
        if math.prod(factors) == count
        for number in factors
    }


def _is_regular(used: np.ndarray, others: frozenset[int]) -> bool:
    """Return whether used and unused elements are pieces of one size each. At the array's ends, a
    piece may be smaller. Rows of another extent's length, with gaps behind them, are what the
    launch means.
    """
    starts = np.flatnonzero(np.diff(used)) + 1
    sizes = np.diff(np.concatenate([[0], starts, [len(used)]]))
    if len(sizes) > 2 and int(sizes[1 - int(used[0]) :: 2].max()) in others:
        return False
    inner = sizes[1:-1]
    return bool(
        inner.min(initial=_LEAST_PIECE) >= _LEAST_PIECE
        and (inner[::2] == inner[:1]).all()
        and (inner[1::2] == inner[1:2]).all()
    )
