"""Values of variables: from the bits of registers and memory to Python's and NumPy's values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import ArrayPlaces
from .formulas import cell_text
from .variables import Array, Number, Pointer, Structure, ValueType

# Returns `nbytes` bytes from an address on, None for each byte that has no value.
Bytes = Callable[[int, int], list[int | None]]
_TYPES = {
    dtype: np.dtype(dtype).type
    for dtype in map(np.dtype, ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8",
                                "bool"))
}  # fmt: skip


@dataclass(frozen=True)
class DevicePointer:
    """A pointer: the array that it points into ("" if into none), the index there, the address."""

    array: str
    index: int | tuple[int, ...] | None
    address: int

    def __str__(self) -> str:
        if not self.array:
            return "nullptr" if self.address == 0 else f"{self.address:#x}"
        return self.array if self.index == 0 else f"&{cell_text(self.array, self.index)}"

    def __int__(self) -> int:
        return self.address


class Members(dict):
    """The members of a structure by name; `p.x` is `p["x"]`. One without a value is not there."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"no member {name!r} has a value: {', '.join(self)}") from None


def number(bits: int, kind: Number) -> Any:
    """Return the number of these bits as NumPy's value of its type; a bfloat16 as a float32."""
    nbytes = kind.dtype.itemsize
    data = (bits & ((1 << 8 * nbytes) - 1)).to_bytes(nbytes, "little")
    if kind.is_bfloat16:
        return np.frombuffer(b"\0\0" + data, np.float32)[0]
    if kind.dtype == bool:
        return np.bool_(data != b"\0")
    return np.frombuffer(data, kind.dtype)[0]


def of_bits(bits: int, kind: ValueType, arrays: ArrayPlaces) -> Any:
    """Return the value of a register's bits; None if it has no value of this type."""
    if isinstance(kind, Number):
        return number(bits, kind)
    if isinstance(kind, Pointer):
        return pointer(bits, arrays)
    return None


def pointer(address: int, arrays: ArrayPlaces) -> DevicePointer:
    """Return a pointer with the array that it points into, or from which it is not far."""
    place = arrays.at(address) or (arrays.near(address) if address else None)
    if place is None:
        return DevicePointer("", None, address)
    return DevicePointer(place.name, place.cell(address)[0], address)


def at_address(address: int, kind: ValueType, read: Bytes, arrays: ArrayPlaces) -> Any:
    """Return the value that lies at an address: a number, a pointer, Members, or a NumPy array,
    which is masked where cells have no value. It is None for what has none at all.
    """
    if isinstance(kind, Structure):
        found = Members()
        for name, offset, inner in kind.members:
            value = at_address(address + offset, inner, read, arrays)
            if value is not None:
                found[name] = value
        return found or None
    if isinstance(kind, Array):
        return _array(address, kind, read, arrays)
    data = read(address, kind.nbytes)
    if any(byte is None for byte in data):
        return None
    return of_bits(int.from_bytes(bytes(data), "little"), kind, arrays)  # type: ignore[arg-type]


def _array(address: int, kind: Array, read: Bytes, arrays: ArrayPlaces) -> Any:
    each, count = kind.element.nbytes, kind.nbytes // kind.element.nbytes
    cells = [at_address(address + k * each, kind.element, read, arrays) for k in range(count)]
    missing = [one is None for one in cells]
    if all(missing):
        return None
    if isinstance(kind.element, Number):
        dtype = np.dtype(np.float32) if kind.element.is_bfloat16 else kind.element.dtype
        values = np.array([0 if one is None else one for one in cells], dtype)
    else:
        values = np.empty(count, object)
        values[:] = cells
    values = values.reshape(kind.extents)
    return np.ma.MaskedArray(values, np.reshape(missing, kind.extents)) if any(missing) else values
