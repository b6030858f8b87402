"""The types of PTX: their names, and the numbers that their bits mean."""

from __future__ import annotations

import struct
from collections.abc import Callable

from ..ptx.opcodes import TYPES
from .formulas import Number

_TYPE_NAMES = {number: name for name, number in TYPES.items()}


def type_name(number: int) -> str:
    """Return the name of a PTX type by the machine's number, "" if there is none."""
    return _TYPE_NAMES.get(number, "")


def value_of(bits: int, type: str) -> Number:
    """Return the number that a register of a PTX type holds."""
    read = _READERS.get(type)
    if read is None:
        return bits & 0xFFFFFFFF
    mask, unpack, sign = read
    bits &= mask
    if unpack is not None:
        return unpack(bits)
    return bits - (sign << 1) if sign and bits & sign else bits


def _reader(type: str) -> tuple[int, Callable[[int], float] | None, int]:
    """Return a mask for the bits of a type, what makes a float of them, and the bit of the sign."""
    width = int("".join(k for k in type if k.isdigit()))
    if type == "bf16":
        return 0xFFFF, lambda bits: struct.unpack("<f", struct.pack("<I", bits << 16))[0], 0
    if type[0] == "f":
        to, of = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}[width]
        return (1 << width) - 1, lambda bits: struct.unpack(to, struct.pack(of, bits))[0], 0
    return (1 << width) - 1, None, 1 << width - 1 if type[0] == "s" else 0


_READERS = {
    type: _reader(type)
    for type in ("f16", "bf16", "f32", "f64", *(f"{k}{n}" for k in "bus" for n in (8, 16, 32, 64)))
}


def is_float(type: str) -> bool:
    """Return whether a PTX type is one of floats."""
    return type[:1] == "f" or type[:2] == "bf" or type == "tf32"
