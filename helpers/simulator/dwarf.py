"""Reads DWARF in the PTX of a debug compilation: functions, variables and types in the words of the
source.

The compiler lists the sections' bytes as text, with the names of symbols in place of addresses.
pyelftools decodes the bytes; this module says what the entries mean for a kernel.
"""

from __future__ import annotations

import inspect
import io
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

from elftools.common.exceptions import DWARFError, ELFError
from elftools.dwarf.compileunit import CompileUnit
from elftools.dwarf.die import AttributeValue
from elftools.dwarf.dwarf_expr import DWARFExprParser
from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d+)[ \t]+"((?:[^"\\]|\\.)*)"', re.MULTILINE)

# The tags and attributes that are read, in words of this module.
_TAGS = {
    "DW_TAG_array_type": "array",
    "DW_TAG_class_type": "class",
    "DW_TAG_enumeration_type": "enumeration",
    "DW_TAG_formal_parameter": "parameter",
    "DW_TAG_lexical_block": "block",
    "DW_TAG_member": "member",
    "DW_TAG_inheritance": "base class",
    "DW_TAG_pointer_type": "pointer",
    "DW_TAG_reference_type": "reference",
    "DW_TAG_rvalue_reference_type": "rvalue reference",
    "DW_TAG_structure_type": "structure",
    "DW_TAG_typedef": "typedef",
    "DW_TAG_union_type": "union",
    "DW_TAG_subrange_type": "subrange",
    "DW_TAG_base_type": "base",
    "DW_TAG_const_type": "const",
    "DW_TAG_subprogram": "function",
    "DW_TAG_variable": "variable",
    "DW_TAG_volatile_type": "volatile",
    "DW_TAG_restrict_type": "restrict",
}
_ATTRIBUTES = {
    "DW_AT_location": "location",
    "DW_AT_name": "name",
    "DW_AT_byte_size": "bytes",
    "DW_AT_bit_offset": "bit place",
    "DW_AT_bit_size": "bits",
    "DW_AT_upper_bound": "upper",
    "DW_AT_abstract_origin": "origin",
    "DW_AT_count": "count",
    "DW_AT_data_member_location": "place",
    "DW_AT_decl_file": "file",
    "DW_AT_decl_line": "line",
    "DW_AT_encoding": "encoding",
    "DW_AT_specification": "specification",
    "DW_AT_type": "type",
    "DW_AT_linkage_name": "linkage",
    "DW_AT_MIPS_linkage_name": "linkage",
}
_FLOATING, _ADDRESS = 0x04, 0x03
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
        # Reading ends at what is no DWARF; the entries before it are valid.
        with suppress(DWARFError, ELFError, KeyError, ValueError):
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

    def _read(self, info: bytes, abbreviations: bytes, strings: bytes) -> None:
        for unit in _dwarf_info(info, abbreviations, strings).iter_CUs():
            for die in unit.iter_DIEs():
                if die.is_null():
                    continue
                parent = die.get_parent()
                entry = Entry(
                    _TAGS.get(str(die.tag), "other"), self._at[parent.offset] if parent else -1
                )
                for attribute in die.attributes.values():
                    if attribute.name in _ATTRIBUTES:
                        entry.values[_ATTRIBUTES[attribute.name]] = _value_of(attribute, unit)
                self._at[die.offset] = len(self._entries)
                self._entries.append(entry)

    def _symbol(self, entry: Entry) -> str:
        """Return the symbol in a variable's location, "" if the variable has none of its own."""
        location = entry.values.get("location")
        if not isinstance(location, bytes) or len(location) != 9 or location[0] != _ADDRESS:
            return ""
        number = int.from_bytes(location[1:], "little")
        return self._names[number - 1] if 0 < number <= len(self._names) else ""

    def of_symbol(self, symbol: str) -> tuple[str, Type] | None:
        """Return name and type of the variable with this symbol, None if there is none."""
        entry = self._by_symbol.get(symbol)
        return (entry.text("name"), self.type_of(entry)) if entry is not None else None

    def _inside(self, position: int) -> Iterator[tuple[int, Entry]]:
        """Yield the entries directly inside the one at `position`, with their positions."""
        return ((k, self._entries[k]) for k in self._children.get(position, []))

    def parameters(self, function: str) -> list[tuple[str, Type]]:
        """Return names and types of a function's parameters, in order."""
        inside = self._inside(self.functions.get(function, -2))
        return [
            (entry.text("name"), self.type_of(entry))
            for _, entry in inside
            if entry.tag == "parameter"
        ]

    def variables_in(self, function: str) -> list[tuple[str, Type, bool]]:
        """Return the variables that a function declares, in the order of the source: name, type,
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
        """Return the type of a variable or parameter."""
        entry = self._with_type(entry)
        return self._type(entry.number("type"), 0) if "type" in entry.values else UNKNOWN

    def _with_type(self, entry: Entry) -> Entry:
        """Return the entry that has the type: this one, or the declaration that it refers to."""
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
        """Return the numbers in the types of a function's parameters, in order: of a pointer, in
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
        """Return the numbers in the elements of the variable with this symbol, as
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
        """Return the position of the type of an entry, behind qualifiers and typedefs; None for
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
        """Return offset and code of each number in the type at a position, None if they are not
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
            start = member.number("place")
            numbers += [(start + offset, code) for offset, code in inner]
            if len(numbers) > _MOST_NUMBERS:
                return None
        return numbers or None

    def _used_bits(self, position: int) -> bytes:
        """Return for each byte of the type at `position` the bits that a program sets when it sets
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
            shift = 8 * inner.number("place")
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
                (inner.text("name"), inner.number("place"), self.type_of(inner))
                for _, inner in self._inside(position)
                if inner.tag == "member"
            )
            kind = Type(entry.text("name"), entry.number("bytes"), members=members)
            first = by_name.setdefault(kind.text, kind)
            if first != kind:
                by_name[kind.text] = None
        return {name: kind for name, kind in by_name.items() if name and kind is not None}


def _dwarf_info(info: bytes, abbreviations: bytes, strings: bytes) -> DWARFInfo:
    """Return pyelftools' reader of three sections; there are no others."""
    sections = {
        f"debug_{name}_sec": DebugSectionDescriptor(
            io.BytesIO(data), f".debug_{name}", None, len(data), 0
        )
        for name, data in (("info", info), ("abbrev", abbreviations), ("str", strings))
    }
    config = DwarfConfig(little_endian=True, machine_arch="x64", default_address_size=8)
    absent = dict.fromkeys(list(inspect.signature(DWARFInfo).parameters)[1:])
    return DWARFInfo(config, **absent | sections)


def _value_of(attribute: AttributeValue, unit: CompileUnit) -> int | str | bytes:
    """Return a name as text, a reference as an offset in .debug_info, an expression as its bytes,
    and the place of a member as a number.
    """
    value = attribute.value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, list):
        if attribute.name == "DW_AT_data_member_location":
            (plus,) = DWARFExprParser(unit.structs).parse_expr(value)
            return plus.args[0]
        return bytes(value)
    if attribute.form.startswith("DW_FORM_ref") and attribute.form != "DW_FORM_ref_addr":
        return unit.cu_offset + value
    return int(value)


def _extent(subrange: Entry) -> int:
    return (
        subrange.number("count")
        if "count" in subrange.values
        else subrange.number("upper") + 1
        if "upper" in subrange.values
        else 0
    )
