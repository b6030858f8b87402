"""Reads DWARF in the PTX of a debug compilation: functions, variables and types in the words of the
source.

The compiler lists the sections' bytes as text, with the names of symbols in place of addresses.
This module reads the forms of versions 2 to 4.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d+)[ \t]+"((?:[^"\\]|\\.)*)"', re.MULTILINE)

_TAGS = {
    0x01: "array", 0x02: "class", 0x04: "enumeration", 0x05: "parameter", 0x0B: "block",
    0x0D: "member", 0x1C: "base class",
    0x0F: "pointer", 0x10: "reference", 0x11: "unit", 0x13: "structure", 0x16: "typedef",
    0x17: "union", 0x21: "subrange", 0x24: "base", 0x26: "const", 0x2E: "function",
    0x34: "variable", 0x35: "volatile", 0x37: "restrict", 0x42: "rvalue reference",
}  # fmt: skip
_ATTRIBUTES = {
    0x02: "location", 0x03: "name", 0x0B: "bytes", 0x0C: "bit place", 0x0D: "bits",
    0x2F: "upper", 0x31: "origin", 0x37: "count",
    0x38: "place",
    0x3A: "file", 0x3B: "line", 0x3E: "encoding", 0x47: "specification", 0x49: "type",
    0x6E: "linkage", 0x2007: "linkage",
}  # fmt: skip
_FLOATING, _ADDRESS, _PLUS = 0x04, 0x03, 0x23
_MOST_LEVELS = 64  # levels of pointers, arrays and names in one type
_MOST_NUMBERS = 64  # in the layout of one type
_POINTERS = ("pointer", "reference", "rvalue reference")
_HALF = "__half"  # a structure to the compiler, a number to a source
# Encodings of base types, as the letters that NumPy has for them.
_LETTERS = {0x02: "b", 0x04: "f", 0x05: "i", 0x06: "i", 0x07: "u", 0x08: "u", 0x10: "u"}


@dataclass
class Entry:
    """A debugging information entry. parent: its position in the list of entries, -1 for none."""

    tag: str
    parent: int
    values: dict[str, int | str | bytes] = field(default_factory=dict)

    def text(self, name: str) -> str:
        value = self.values.get(name, "")
        return value if isinstance(value, str) else ""

    def number(self, name: str) -> int:
        value = self.values.get(name, 0)
        return value if isinstance(value, int) else 0


@dataclass(frozen=True)
class Type:
    """A type: its text, its bytes (0 if unknown), the extents of an array, and the type that a
    pointer points to.
    """

    text: str
    nbytes: int = 0
    extents: tuple[int, ...] = ()
    floating: bool = False
    is_const: bool = False
    target: Type | None = None
    members: tuple[tuple[str, int, Type], ...] = ()  # of a structure: name, offset, type
    used: bytes = b""  # of a structure or union with gaps, for each byte the bits of its members

    @property
    def total(self) -> int:
        count = 1
        for extent in self.extents:
            count *= extent
        return count * self.nbytes


UNKNOWN = Type("")


class Dwarf:
    """The entries of a debug compilation: kernels, variables with a symbol, and variables inside
    functions.
    """

    def __init__(self, ptx: str):
        self.files = {int(number): path for number, path in _FILE.findall(ptx)}
        self._names: list[
            str
        ] = []  # symbols: an address in the sections is a position in this list, from 1
        self._entries: list[Entry] = []
        self._at: dict[int, int] = {}  # offset in .debug_info -> position in _entries
        self._types: dict[int, Type] = {}
        # Reading ends at an unknown form; the entries before it are valid.
        with suppress(IndexError, KeyError, ValueError):
            self._read(*(self._section(ptx, name) for name in ("info", "abbrev", "str")))
        self._children: dict[int, list[int]] = {}
        for position, entry in enumerate(self._entries):
            self._children.setdefault(entry.parent, []).append(position)
        self.functions = {
            e.text("linkage") or e.text("name"): k
            for k, e in enumerate(self._entries)
            if e.tag == "function"
        }
        self._by_symbol = {
            s: e for e in self._entries if e.tag == "variable" and (s := self._symbol(e))
        }

    def _section(self, ptx: str, name: str) -> bytes:
        begin = re.search(rf"^[ \t]*\.section[ \t]+\.debug_{name}\s*\{{", ptx, re.MULTILINE)
        if begin is None:
            return b""
        end = ptx.find("}", begin.end())
        data = bytearray()
        for line in ptx[begin.end() : end if end >= 0 else len(ptx)].split("\n"):
            words = line.split(None, 1)
            if len(words) != 2 or words[0] not in (".b8", ".b16", ".b32", ".b64"):
                continue
            if words[0] == ".b8":
                data += bytes(map(int, words[1].split(",")))
                continue
            width = int(words[0][2:]) // 8
            for item in words[1].split(","):
                data += self._value(item.strip(), width)
        return bytes(data)

    def _value(self, item: str, width: int) -> bytes:
        if item.isdigit():
            return (int(item) & ((1 << 8 * width) - 1)).to_bytes(width, "little")
        if item.startswith("."):  # a place in another section
            return int(item.partition("+")[2] or 0).to_bytes(width, "little")
        self._names.append(item)
        return len(self._names).to_bytes(width, "little")

    def _read(self, info: bytes, abbrev: bytes, strings: bytes) -> None:
        unit = 0
        while unit + 11 <= len(info):
            length, table = (
                int.from_bytes(info[unit : unit + 4], "little"),
                int.from_bytes(info[unit + 6 : unit + 10], "little"),
            )
            end = unit + 4 + length
            self._read_unit(info, strings, _abbreviations(abbrev, table), unit, end)
            unit = end

    def _read_unit(self, info: bytes, strings: bytes, forms: dict, unit: int, end: int) -> None:
        at, parents = unit + 11, [-1]
        while at < end:
            offset = at
            code, at = _leb128(info, at)
            if code == 0:
                parents[1:] = parents[1:-1]
                continue
            tag, has_children, attributes = forms[code]
            entry = Entry(tag, parents[-1])
            for name, form in attributes:
                value, at = _attribute(info, strings, at, form, unit)
                if name:
                    entry.values[name] = value
            self._at[offset] = len(self._entries)
            self._entries.append(entry)
            if has_children:
                parents.append(len(self._entries) - 1)

    def _symbol(self, entry: Entry) -> str:
        """Returns the symbol in a variable's location, "" if the variable has none of its own."""
        location = entry.values.get("location")
        if not isinstance(location, bytes) or len(location) != 9 or location[0] != _ADDRESS:
            return ""
        number = int.from_bytes(location[1:], "little")
        return self._names[number - 1] if 0 < number <= len(self._names) else ""

    def of_symbol(self, symbol: str) -> tuple[str, Type] | None:
        """Returns name and type of the variable with this symbol, None if there is none."""
        entry = self._by_symbol.get(symbol)
        return (entry.text("name"), self.type_of(entry)) if entry is not None else None

    def _inside(self, position: int) -> Iterator[tuple[int, Entry]]:
        """Yields the entries directly inside the one at `position`, with their positions."""
        return ((k, self._entries[k]) for k in self._children.get(position, []))

    def parameters(self, function: str) -> list[tuple[str, Type]]:
        """Returns names and types of a function's parameters, in order."""
        inside = self._inside(self.functions.get(function, -2))
        return [
            (entry.text("name"), self.type_of(entry))
            for _, entry in inside
            if entry.tag == "parameter"
        ]

    def variables_in(self, function: str) -> list[tuple[str, Type, bool]]:
        """Returns the variables that a function declares, in the order of the source: name, type,
        and whether it has a place in memory.
        """
        variables: list[tuple[str, Type, bool]] = []
        waiting = [self.functions.get(function, -2)]
        while waiting:
            for position, entry in self._inside(waiting.pop(0)):
                if entry.tag == "variable":
                    variables.append(
                        (
                            entry.text("name"),
                            self.type_of(entry),
                            isinstance(entry.values.get("location"), bytes),
                        )
                    )
                elif entry.tag == "block":
                    waiting.append(position)
        return variables

    def entry_of(self, function: str) -> Entry | None:
        position = self.functions.get(function)
        return self._entries[position] if position is not None else None

    def type_of(self, entry: Entry) -> Type:
        """Returns the type of a variable or parameter."""
        entry = self._with_type(entry)
        return self._type(entry.number("type"), 0) if "type" in entry.values else UNKNOWN

    def _with_type(self, entry: Entry) -> Entry:
        """Returns the entry that has the type: this one, or the declaration that it refers to."""
        for link in ("origin", "specification"):
            if "type" not in entry.values and link in entry.values:
                entry = self._entries[self._at[entry.number(link)]]
        return entry

    def _type(self, offset: int, level: int) -> Type:
        if level > _MOST_LEVELS or offset not in self._at:
            return UNKNOWN
        if offset not in self._types:
            self._types[offset] = self._new_type(self._at[offset], level)
        return self._types[offset]

    def _new_type(self, position: int, level: int) -> Type:
        entry = self._entries[position]
        inner = (
            self._type(entry.number("type"), level + 1) if "type" in entry.values else Type("void")
        )
        name = entry.text("name")
        if entry.tag in _POINTERS:
            sign = {"pointer": "*", "reference": "&"}.get(entry.tag, "&&")
            return Type(
                f"{inner.text} {sign}" if inner.text[-1:] not in "*&" else f"{inner.text}{sign}",
                8,
                target=inner,
            )
        if entry.tag == "const":
            # A pointer has the word behind the star.
            text = f"{inner.text} const" if inner.target is not None else f"const {inner.text}"
            return replace(inner, text=text, is_const=True, members=())
        if entry.tag in ("volatile", "restrict"):
            text = inner.text if entry.tag == "restrict" else f"volatile {inner.text}"
            return replace(inner, text=text, members=())
        if entry.tag == "typedef":
            return replace(inner, text=name or inner.text, members=())
        if entry.tag == "array":
            extents = tuple(_extent(e) for _, e in self._inside(position) if e.tag == "subrange")
            return replace(inner, extents=extents + inner.extents, members=())
        if entry.tag in ("structure", "class", "union"):
            used = self._used_bits(position)
            has_gaps = used.count(0xFF) != len(used)
            return Type(name, entry.number("bytes"), used=used if has_gaps else b"")
        floating = entry.tag == "base" and entry.number("encoding") == _FLOATING
        return Type(name, entry.number("bytes"), floating=floating)

    def layouts_of_parameters(self, function: str) -> list[str]:
        """Returns the numbers in the types of a function's parameters, in order: of a pointer, in
        what it points to.

        Each number has NumPy's code and its offset in bytes: "f4@0 f4@4" for a float2. The text is
        "" if the numbers are not known.
        """
        layouts = []
        for _, entry in self._inside(self.functions.get(function, -2)):
            if entry.tag == "parameter":
                kind = self._plain(self._with_type(entry))
                is_pointer = kind is not None and self._entries[kind].tag in _POINTERS
                layouts.append(self._layout(self._target(kind) if is_pointer else kind))
        return layouts

    def layout_of_symbol(self, symbol: str) -> str:
        """Returns the numbers in the elements of the variable with this symbol, as
        `layouts_of_parameters` has them.
        """
        entry = self._by_symbol.get(symbol)
        kind = self._plain(self._with_type(entry)) if entry is not None else None
        while kind is not None and self._entries[kind].tag == "array":
            kind = self._target(kind)
        return self._layout(kind)

    def _layout(self, kind: int | None) -> str:
        return " ".join(f"{code}@{offset}" for offset, code in self._numbers(kind, 0) or ())

    def _target(self, kind: int | None) -> int | None:
        return self._plain(self._entries[kind]) if kind is not None else None

    def _plain(self, entry: Entry) -> int | None:
        """Returns the position of the type of an entry, behind qualifiers and typedefs; None for
        void.
        """
        for _ in range(_MOST_LEVELS):
            position = self._at.get(entry.number("type")) if "type" in entry.values else None
            if position is None:
                return None
            entry = self._entries[position]
            if entry.tag not in ("typedef", "const", "volatile", "restrict"):
                return position
        return None

    def _numbers(self, position: int | None, level: int) -> list[tuple[int, str]] | None:
        """Returns offset and code of each number in the type at a position, None if they are not
        known.
        """
        if position is None or level > _MOST_LEVELS:
            return None
        kind = self._entries[position]
        nbytes = kind.number("bytes")
        if kind.tag == "base" and kind.number("encoding") in _LETTERS:
            return [(0, f"{_LETTERS[kind.number('encoding')]}{nbytes}")]
        if kind.tag == "enumeration":
            return [(0, f"i{nbytes}")] if nbytes else None
        if kind.tag in _POINTERS:
            return [(0, "u8")]
        if kind.tag == "array":
            return self._numbers_of_array(position, level)
        if kind.tag not in ("structure", "class") or not nbytes:
            return None  # a union, or a type that the source only declares
        if kind.text("name") == _HALF:
            return [(0, "f2")]
        return self._numbers_of_members(position, level)

    def _numbers_of_array(self, position: int, level: int) -> list[tuple[int, str]] | None:
        element = self.type_of(self._entries[position]).total
        inner = self._numbers(self._target(position), level + 1)
        count = 1
        for _, entry in self._inside(position):
            count *= _extent(entry) if entry.tag == "subrange" else 1
        if inner is None or not 0 < count * len(inner) <= _MOST_NUMBERS:
            return None
        return [(k * element + offset, code) for k in range(count) for offset, code in inner]

    def _numbers_of_members(self, position: int, level: int) -> list[tuple[int, str]] | None:
        numbers: list[tuple[int, str]] = []
        for _, member in self._inside(position):
            # A static member has no place in the structure.
            if member.tag not in ("member", "base class") or "place" not in member.values:
                continue
            inner = self._numbers(self._plain(member), level + 1)
            if inner is None or "bits" in member.values:
                return None
            start = _offset(member.values["place"])
            numbers += [(start + offset, code) for offset, code in inner]
            if len(numbers) > _MOST_NUMBERS:
                return None
        return numbers or None

    def _used_bits(self, position: int) -> bytes:
        """Returns for each byte of the type at `position` the bits that a program sets when it sets
        all members. In a union it sets one member: only what all have in common.
        """
        entry = self._entries[position]
        inside = self._at.get(entry.number("type"), position)  # `position`: of nothing known
        size = entry.number("bytes")
        if entry.tag in ("pointer", "reference", "rvalue reference"):
            return b"\xff" * 8
        if entry.tag in ("const", "volatile", "restrict", "typedef", "array"):
            one = self._used_bits(inside) if inside != position else b""
            extents = [_extent(e) for _, e in self._inside(position) if e.tag == "subrange"]
            return one * math.prod(extents)
        if entry.tag not in ("structure", "class", "union"):
            return b"\xff" * size
        is_union, everything = entry.tag == "union", (1 << 8 * size) - 1
        used = everything if is_union else 0
        for _, inner in self._inside(position):
            is_inside = "place" in inner.values or is_union  # a static member is elsewhere
            if inner.tag not in ("member", "base class") or not is_inside:
                continue
            kind = self._at.get(inner.number("type"))
            of_member = self._used_bits(kind) if kind is not None else b""
            bits = int.from_bytes(of_member, "little")
            shift = 8 * _offset(inner.values.get("place"))
            if "bits" in inner.values:  # their place is counted from the highest bit of the word
                width = inner.number("bits")
                shift += 8 * len(of_member) - inner.number("bit place") - width
                bits = (1 << width) - 1
            used = used & bits << shift if is_union else used | bits << shift
        return (used & everything).to_bytes(size, "little")

    @cached_property
    def structures(self) -> dict[str, Type]:
        """Returns the structures with their members by name, without names that two share."""
        by_name: dict[str, Type | None] = {}
        for position, entry in enumerate(self._entries):
            if entry.tag not in ("structure", "class") or not entry.number("bytes"):
                continue
            members = tuple(
                (inner.text("name"), _offset(inner.values.get("place")), self.type_of(inner))
                for _, inner in self._inside(position)
                if inner.tag == "member"
            )
            kind = Type(entry.text("name"), entry.number("bytes"), members=members)
            first = by_name.setdefault(kind.text, kind)
            if first != kind:
                by_name[kind.text] = None
        return {name: kind for name, kind in by_name.items() if name and kind is not None}


def _abbreviations(data: bytes, at: int) -> dict[int, tuple[str, bool, list[tuple[str, int]]]]:
    """Reads the table of abbreviations at `at`: code -> tag, whether children follow, and names and
    forms of the attributes.
    """
    table = {}
    while at < len(data):
        code, at = _leb128(data, at)
        if code == 0:
            break
        tag, at = _leb128(data, at)
        has_children, at, attributes = bool(data[at]), at + 1, []
        while True:
            name, at = _leb128(data, at)
            form, at = _leb128(data, at)
            if not name and not form:
                break
            attributes.append((_ATTRIBUTES.get(name, ""), form))
        table[code] = (_TAGS.get(tag, "other"), has_children, attributes)
    return table


def _leb128(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


_FIXED = {
    0x01: 8,
    0x05: 2,
    0x06: 4,
    0x07: 8,
    0x0B: 1,
    0x0C: 1,
    0x10: 4,
    0x17: 4,
}  # forms of plain numbers -> bytes
_BLOCKS = {0x03: 2, 0x04: 4, 0x0A: 1}  # -> bytes of the length
_REFERENCES = {0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8}


def _attribute(
    info: bytes, strings: bytes, at: int, form: int, unit: int
) -> tuple[int | str | bytes, int]:
    """Returns the value of an attribute at `at`, and the offset of the next one. Raises KeyError
    for an unknown form.
    """
    if form == 0x08:
        end = info.index(0, at)
        return info[at:end].decode(errors="replace"), end + 1
    if form == 0x0E:
        start = int.from_bytes(info[at : at + 4], "little")
        return strings[start : strings.index(0, start)].decode(errors="replace"), at + 4
    if form in _FIXED:
        return int.from_bytes(info[at : at + _FIXED[form]], "little"), at + _FIXED[form]
    if form in _REFERENCES:
        return unit + int.from_bytes(info[at : at + _REFERENCES[form]], "little"), at + _REFERENCES[
            form
        ]
    if form in _BLOCKS:
        start = at + _BLOCKS[form]
        end = start + int.from_bytes(info[at:start], "little")
        return info[start:end], end
    if form in (0x0D, 0x0F):
        return _leb128(info, at)
    if form == 0x15:
        value, at = _leb128(info, at)
        return unit + value, at
    if form == 0x18:
        length, at = _leb128(info, at)
        return info[at : at + length], at + length
    if form == 0x19:
        return 1, at
    raise KeyError(form)


def _offset(place: int | str | bytes | None) -> int:
    """Returns the bytes from a structure's start: `place` is a number, or an operation that adds
    one.
    """
    if isinstance(place, bytes) and place[:1] == bytes([_PLUS]):
        return _leb128(place, 1)[0]
    return place if isinstance(place, int) else 0


def _extent(subrange: Entry) -> int:
    return (
        subrange.number("count")
        if "count" in subrange.values
        else subrange.number("upper") + 1
        if "upper" in subrange.values
        else 0
    )
