"""The variables of a source in the code of a debug compilation: their types, the code in which they
are visible, and where their values are.

The compiler says it in DWARF: a variable is in a register, at a place of local memory, or at an
address that a register holds; in other parts of the code it may be elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from elftools.dwarf.die import DIE

from ..compile.dwarf import (
    _ADDRESS,
    _BLOCKS,
    _FLOATING,
    _HALF,
    _MOST_LEVELS,
    _PLUS,
    _POINTERS,
    _STRUCTURES,
    Dwarf,
    _name,
    _number,
    _place,
    _text,
)

_REGISTER, _DEREFERENCE = 0x90, 0x06  # operations of a location
_INTEGERS = {0x05: "i", 0x06: "i", 0x07: "u", 0x08: "u", 0x0D: "i", 0x10: "u"}
_BOOLEAN = 0x02
_MOST_BYTES = 4096  # of an array whose numbers are listed
_NAMED = {
    "float": "f4", "double": "f8", "char": "i1", "signed char": "i1", "unsigned char": "u1",
    "short": "i2", "unsigned short": "u2", "int": "i4", "unsigned int": "u4", "unsigned": "u4",
    "long": "i8", "unsigned long": "u8", "long long": "i8", "unsigned long long": "u8",
    "bool": "bool", "__half": "f2", "half": "f2",
}  # fmt: skip
_HALVES = {"__half": "float16", "__half_raw": "float16"}
_BFLOATS = ("__nv_bfloat16", "__nv_bfloat16_raw")


@dataclass(frozen=True)
class Number:
    """A number. is_bfloat16: NumPy has no type for it, so that its dtype is uint16."""

    dtype: np.dtype
    is_bfloat16: bool = False

    @property
    def nbytes(self) -> int:
        return self.dtype.itemsize


@dataclass(frozen=True)
class Pointer:
    """A pointer or, with is_reference, a reference; target: what it points to, None if unknown."""

    target: ValueType | None
    is_reference: bool = False
    nbytes: int = 8


@dataclass(frozen=True)
class Structure:
    """A structure: name, offset and type of each member, those of its bases first."""

    name: str
    nbytes: int
    members: tuple[tuple[str, int, ValueType], ...]


@dataclass(frozen=True)
class Array:
    """An array of `extents`, row after row."""

    element: ValueType
    extents: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        count = 1
        for extent in self.extents:
            count *= extent
        return count * self.element.nbytes


ValueType = Number | Pointer | Structure | Array


@dataclass(frozen=True)
class Register:
    """The register with this name; is_address: it holds the variable's address plus `offset`."""

    name: str
    is_address: bool = False
    offset: int = 0


@dataclass(frozen=True)
class Memory:
    """`offset` bytes behind a symbol: a variable of local, shared or global memory."""

    symbol: str
    offset: int


@dataclass(frozen=True)
class Constant:
    """A value that the compiler knows: its bits."""

    value: int


Where = Register | Memory | Constant


@dataclass(frozen=True)
class LocatedVariable:
    """A variable of a function.

    line: of its declaration; begin, end: the labels of the code in which it is visible, "" for the
    whole function; depth: how many blocks are around it; places: labels between which it is
    somewhere ("" for all code), and where, () if the compiler does not say; call: the name of the
    function inlined there that declares it, "" for the function itself.
    """

    name: str
    kind: ValueType
    line: int
    begin: str
    end: str
    depth: int
    places: tuple[tuple[str, str, Where], ...]
    call: str = ""


class DebugVariables(Dwarf):
    """The variables of the functions of a debug compilation. file: the source's name; functions of
    other files that are inlined have no variables here.
    """

    def __init__(self, ptx: str, file: str):
        super().__init__(ptx)
        self._ptx, self._file = ptx, file
        self._kinds: dict[int, ValueType | None] = {}
        self._found: dict[str, list[LocatedVariable]] = {}

    @cached_property
    def _locations(self) -> bytes:
        return self._section(self._ptx, "loc")

    def of_function(self, function: str) -> list[LocatedVariable]:
        """Return the variables of a function, by its linker's name: its parameters, those of its
        blocks, and those of the functions that are inlined there.
        """
        if function not in self._found:
            entry = self.functions.get(function)
            variables = self._variables(entry, "", "", 0, "") if entry is not None else ()
            self._found[function] = list(variables)
        return self._found[function]

    def is_own(self, entry: DIE | None) -> bool:
        """Return whether the source declares a function, and no header."""
        path = self.files.get(_number(entry, "DW_AT_decl_file"), "") if entry is not None else ""
        return path in ("", self._file) or path.endswith("/" + self._file)

    def _variables(
        self, entry: DIE, begin: str, end: str, depth: int, call: str | None
    ) -> Iterator[LocatedVariable]:
        for one in self._inside(entry, "DW_TAG_formal_parameter", "DW_TAG_variable"):
            declared = self._referred(one, "DW_AT_abstract_origin") or one
            name, kind = _name(declared), self.kind_of(declared)
            if kind is None or not name or call is None:
                continue
            line, places = _number(declared, "DW_AT_decl_line"), tuple(self._places(one))
            yield LocatedVariable(name, kind, line, begin, end, depth, places, call)
        for block in self._inside(entry, *_BLOCKS):
            first = self._label(block, "DW_AT_low_pc") or begin
            last = self._label(block, "DW_AT_high_pc") or end
            inner = call
            if block.tag == "DW_TAG_inlined_subroutine":
                origin = self._referred(block, "DW_AT_abstract_origin")
                inner = _name(origin) if origin is not None and self.is_own(origin) else None
            yield from self._variables(block, first, last, depth + 1, inner)

    def inlined(self, function: str) -> list[tuple[str, str, str]]:
        """Return the functions of the source that are inlined into a function, the outer ones
        first: name, and the labels of their code.
        """
        found = []
        waiting = self._inside(self.functions.get(function), *_BLOCKS)
        while waiting:
            block = waiting.pop(0)
            waiting += self._inside(block, *_BLOCKS)
            if block.tag == "DW_TAG_inlined_subroutine":
                origin = self._referred(block, "DW_AT_abstract_origin")
                begin, end = (self._label(block, f"DW_AT_{k}_pc") for k in ("low", "high"))
                if origin is not None and self.is_own(origin) and begin and end:
                    found.append((_name(origin), begin, end))
        return found

    # ---- where a variable is

    def _places(self, variable: DIE) -> Iterator[tuple[str, str, Where]]:
        if "DW_AT_const_value" in variable.attributes:
            value = variable.attributes["DW_AT_const_value"].value
            if isinstance(value, list | bytes):
                value = int.from_bytes(bytes(value), "little")
            yield "", "", Constant(int(value))
            return
        attribute = variable.attributes.get("DW_AT_location")
        if attribute is None:
            return
        if isinstance(attribute.value, list):
            if (where := self._where(bytes(attribute.value))) is not None:
                yield "", "", where
            return
        data, at = self._locations, int(attribute.value)
        while at + 16 <= len(data):
            begin, end = (int.from_bytes(data[k : k + 8], "little") for k in (at, at + 8))
            if not begin and not end:
                return
            size = int.from_bytes(data[at + 16 : at + 18], "little")
            where = self._where(data[at + 18 : at + 18 + size])
            if where is not None:
                yield self._name_of(begin), self._name_of(end), where
            at += 18 + size

    def _name_of(self, number: int) -> str:
        return self._names[number - 1] if 0 < number <= len(self._names) else ""

    def _where(self, expression: bytes) -> Where | None:
        """Return what a location's expression says, None for one that is not known."""
        if not expression:
            return None
        if expression[0] == _REGISTER:
            number, at = _uleb(expression, 1)
            name = number.to_bytes(8, "big").lstrip(b"\0").decode(errors="replace")
            rest = expression[at:]
            if not rest:
                return Register(name)
            offset, at = _uleb(rest, 1) if rest[0] == _PLUS else (0, 0)
            return Register(name, True, offset) if rest[at:] in (b"", b"\x06") else None
        if expression[0] == _ADDRESS and len(expression) >= 9:
            symbol, _, more = self._name_of(int.from_bytes(expression[1:9], "little")).partition(
                "+"
            )
            offset = int(more or 0)
            rest = expression[9:]
            if rest and rest[0] == _PLUS:
                number, at = _uleb(rest, 1)
                offset, rest = offset + number, rest[at:]
            return Memory(symbol, offset) if not rest else None
        return None

    # ---- types

    def kind_of(self, entry: DIE) -> ValueType | None:
        """Return the type of a variable, a parameter or a member; None if it is not known."""
        return self._kind(self._plain(self._with_type(entry)), 0)

    def kind_named(self, text: str) -> ValueType | None:
        """Return the type with this name in the source, None if it is not known."""
        plain = " ".join(w for w in text.split() if w not in ("const", "volatile"))
        entry = self._by_name.get(plain)
        known = self._kind(entry, 0) if entry is not None else None
        return known or (Number(np.dtype(_NAMED[plain])) if plain in _NAMED else None)

    @cached_property
    def _by_name(self) -> dict[str, DIE]:
        tags = ("DW_TAG_base_type", "DW_TAG_enumeration_type", *_STRUCTURES)
        return {_name(e): e for e in self._entries.values() if e.tag in tags and _name(e)}

    def kind_of_symbol(self, symbol: str) -> ValueType | None:
        """Return the type of the variable with this symbol, None if there is none."""
        entry = self._by_symbol.get(symbol)
        return self.kind_of(entry) if entry is not None else None

    def _kind(self, kind: DIE | None, level: int) -> ValueType | None:
        if kind is None or level > _MOST_LEVELS:
            return None
        if kind.offset not in self._kinds:
            self._kinds[kind.offset] = None  # a type inside itself, which only a pointer may be
            self._kinds[kind.offset] = self._new_kind(kind, level)
        return self._kinds[kind.offset]

    def _new_kind(self, kind: DIE, level: int) -> ValueType | None:
        nbytes, name = _number(kind, "DW_AT_byte_size"), _name(kind)
        if kind.tag == "DW_TAG_base_type":
            return _number_of(_number(kind, "DW_AT_encoding"), nbytes)
        if kind.tag == "DW_TAG_enumeration_type":
            return Number(np.dtype(f"i{nbytes}")) if nbytes in (1, 2, 4, 8) else None
        if kind.tag in _POINTERS:
            target = self._kind(self._plain(kind), level + 1)
            return Pointer(target, kind.tag != "DW_TAG_pointer_type")
        if kind.tag == "DW_TAG_array_type":
            element = self._kind(self._plain(kind), level + 1)
            extents = self._extents(kind)
            return Array(element, extents) if element is not None and extents else None
        if kind.tag not in _STRUCTURES or not nbytes:
            return None
        if name in _HALVES or name == _HALF:
            return Number(np.dtype("float16"))
        if name in _BFLOATS:
            return Number(np.dtype("uint16"), is_bfloat16=True)
        return Structure(name, nbytes, tuple(self._members_of(kind, level)))

    def _members_of(self, kind: DIE, level: int) -> Iterator[tuple[str, int, ValueType]]:
        for member in self._inside(kind, "DW_TAG_inheritance", "DW_TAG_member"):
            start, inner = _place(member), self._kind(self._plain(member), level + 1)
            if start is None or inner is None or "DW_AT_bit_size" in member.attributes:
                continue
            if member.tag == "DW_TAG_member" and _text(member, "DW_AT_name"):
                yield _name(member), start, inner
            elif isinstance(inner, Structure):
                yield from ((n, start + at, k) for n, at, k in inner.members)


def numbers_of(kind: ValueType | None) -> list[tuple[int, str, str]]:
    """Return the numbers in a type: offset, name of the member ("" for a plain number, "a.b" for
    one in a structure, "k[2]" for one in an array), and NumPy's code.
    """
    if isinstance(kind, Number):
        return [(0, "", kind.dtype.str[1:])]
    if isinstance(kind, Pointer):
        return [(0, "", "u8")]
    if isinstance(kind, Structure):
        return [
            (start + at, name + (f".{inner}" if inner[:1] not in ("", "[") else inner), code)
            for name, start, member in kind.members
            for at, inner, code in numbers_of(member)
        ]
    if isinstance(kind, Array) and kind.nbytes <= _MOST_BYTES:
        each = kind.element.nbytes
        return [
            (k * each + at, "".join(f"[{i}]" for i in np.unravel_index(k, kind.extents)) +
             (f".{inner}" if inner[:1] not in ("", "[") else inner), code)
            for k in range(kind.nbytes // each)
            for at, inner, code in numbers_of(kind.element)
        ]  # fmt: skip
    return []


def _number_of(encoding: int, nbytes: int) -> Number | None:
    if nbytes not in (1, 2, 4, 8):
        return None
    if encoding == _FLOATING:
        return Number(np.dtype(f"f{nbytes}")) if nbytes > 1 else None
    if encoding == _BOOLEAN:
        return Number(np.dtype("bool"))
    letter = _INTEGERS.get(encoding)
    return Number(np.dtype(f"{letter}{nbytes}")) if letter else None


def _uleb(data: bytes, at: int) -> tuple[int, int]:
    """Return the number that begins at `at`, in DWARF's form of seven bits a byte, and its end."""
    value = shift = 0
    while at < len(data):
        byte = data[at]
        value, shift, at = value | (byte & 0x7F) << shift, shift + 7, at + 1
        if not byte & 0x80:
            break
    return value, at
