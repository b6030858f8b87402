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
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property

from elftools.common.exceptions import DWARFError, ELFError
from elftools.dwarf.die import DIE
from elftools.dwarf.dwarf_expr import DWARFExprParser
from elftools.dwarf.dwarfinfo import DebugSectionDescriptor, DwarfConfig, DWARFInfo

from ..ptx.lifetimes import ScopedVariable

_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d+)[ \t]+"((?:[^"\\]|\\.)*)"', re.MULTILINE)
_DATA = re.compile(r"^[ \t]*\.b(8|16|32|64)[ \t]+(\S[^\n]*)", re.MULTILINE)

_TYPE = "DW_AT_type"
_FLOATING = 0x04
_ADDRESS, _PLUS = 0x03, 0x23  # operations of a location
_MOST_LEVELS = 64  # levels of pointers, arrays and names in one type
_MOST_NUMBERS = 64  # in the layout of one type
_POINTERS = {
    "DW_TAG_pointer_type": "*",
    "DW_TAG_reference_type": "&",
    "DW_TAG_rvalue_reference_type": "&&",
}
_STRUCTURES = ("DW_TAG_structure_type", "DW_TAG_class_type")
_QUALIFIERS = ("DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type")
_MEMBERS = ("DW_TAG_member", "DW_TAG_inheritance")
_BLOCKS = ("DW_TAG_lexical_block", "DW_TAG_inlined_subroutine")
_HALF = "__half"  # a structure to the compiler, a number to a source
# Encodings of base types, as the letters that NumPy has for them.
_LETTERS = {0x02: "b", 0x04: "f", 0x05: "i", 0x06: "i", 0x07: "u", 0x08: "u", 0x10: "u"}


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
    functions. functions: their entries, by the linker's name.
    """

    def __init__(self, ptx: str):
        self.files = {int(number): path for number, path in _FILE.findall(ptx)}
        # Symbols: an address in the sections is a position in this list, from 1.
        self._names: list[str] = []
        self._entries: dict[int, DIE] = {}  # by offset in .debug_info
        self._children: dict[int, list[DIE]] = {}  # by the offset of the entry around them
        self._types: dict[int, Type] = {}
        # Reading ends at what is no DWARF; the entries before it are valid.
        with suppress(DWARFError, ELFError, KeyError, ValueError):
            self._read(*(self._section(ptx, name) for name in ("info", "abbrev", "str")))
        self.functions = {
            _text(e, "DW_AT_linkage_name") or _text(e, "DW_AT_MIPS_linkage_name") or _name(e): e
            for e in self._entries.values()
            if e.tag == "DW_TAG_subprogram"
        }
        self._by_symbol = {
            s: e
            for e in self._entries.values()
            if e.tag == "DW_TAG_variable" and (s := self._symbol(e))
        }

    def _section(self, ptx: str, name: str) -> bytes:
        begin = re.search(rf"^[ \t]*\.section[ \t]+\.debug_{name}\s*\{{", ptx, re.MULTILINE)
        if begin is None:
            return b""
        end = ptx.find("}", begin.end())
        data = bytearray()
        for bits, items in _DATA.findall(ptx, begin.end(), end if end >= 0 else len(ptx)):
            if bits == "8":
                data += bytes(map(int, items.split(",")))
                continue
            for item in items.split(","):
                data += self._value(item.strip(), int(bits) // 8)
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
            for entry in unit.iter_DIEs():
                if not entry.is_null():
                    self._entries[entry.offset] = entry
                    if (around := entry.get_parent()) is not None:
                        self._children.setdefault(around.offset, []).append(entry)

    def _symbol(self, variable: DIE) -> str:
        """Return the symbol in a variable's location, "" if the variable has none of its own."""
        location = _location(variable)
        if location is None or len(location) != 9 or location[0] != _ADDRESS:
            return ""
        number = int.from_bytes(bytes(location[1:]), "little")
        return self._names[number - 1] if 0 < number <= len(self._names) else ""

    def of_symbol(self, symbol: str) -> tuple[str, Type] | None:
        """Return name and type of the variable with this symbol, None if there is none."""
        entry = self._by_symbol.get(symbol)
        return (_name(entry), self.type_of(entry)) if entry is not None else None

    def _inside(self, entry: DIE | None, *tags: str) -> list[DIE]:
        """Return the entries with one of these tags directly inside another entry."""
        children = self._children.get(entry.offset, []) if entry is not None else []
        return [child for child in children if child.tag in tags]

    def _referred(self, entry: DIE, attribute: str) -> DIE | None:
        """Return the entry that an attribute refers to, None if there is none."""
        if attribute not in entry.attributes:
            return None
        value = entry.attributes[attribute]
        base = 0 if value.form == "DW_FORM_ref_addr" else entry.cu.cu_offset
        return self._entries.get(base + value.value)

    def declaration(self, function: str) -> tuple[str, str, int] | None:
        """Return name, file and line of a function's declaration, None if it is not known; the file
        is "" and the line 0 if they are not known.
        """
        entry = self.functions.get(function)
        if entry is None:
            return None
        file = self.files.get(_number(entry, "DW_AT_decl_file"), "")
        return _name(entry), file, _number(entry, "DW_AT_decl_line")

    def _parameters(self, function: str) -> list[DIE]:
        return self._inside(self.functions.get(function), "DW_TAG_formal_parameter")

    def parameters(self, function: str) -> list[tuple[str, Type]]:
        """Return names and types of a function's parameters, in order."""
        return [(_name(entry), self.type_of(entry)) for entry in self._parameters(function)]

    def variables_in(self, function: str) -> list[tuple[str, Type, bool]]:
        """Return the variables that a function declares, in the order of the source: name, type,
        and whether it has a place in memory.
        """
        variables: list[tuple[str, Type, bool]] = []
        waiting = [self.functions.get(function)]
        while waiting:
            for entry in self._inside(waiting.pop(0), "DW_TAG_variable", "DW_TAG_lexical_block"):
                if entry.tag == "DW_TAG_lexical_block":
                    waiting.append(entry)
                else:
                    has_place = _location(entry) is not None
                    variables.append((_name(entry), self.type_of(entry), has_place))
        return variables

    def variables_of_blocks(self, function: str) -> list[ScopedVariable]:
        """Return the variables in local memory that a function declares in its blocks, and those of
        the functions that the compiler has put in place of their calls.
        """
        variables = []
        waiting = self._inside(self.functions.get(function), *_BLOCKS)
        while waiting:
            block = waiting.pop()
            waiting += self._inside(block, *_BLOCKS)
            begin, end = (self._label(block, name) for name in ("DW_AT_low_pc", "DW_AT_high_pc"))
            for entry in self._inside(block, "DW_TAG_variable", "DW_TAG_formal_parameter"):
                place, kind = self._local_place(entry), self.type_of(entry)
                nbytes, is_array = kind.total, bool(kind.extents)
                origin = self._referred(entry, "DW_AT_abstract_origin") or entry
                if begin and end and place is not None and nbytes:
                    line = _number(origin, "DW_AT_decl_line")
                    variables.append(
                        ScopedVariable(_name(origin), begin, end, place, nbytes, is_array, line)
                    )
        return variables

    def _label(self, block: DIE, attribute: str) -> str:
        number = _number(block, attribute)
        return self._names[number - 1] if 0 < number <= len(self._names) else ""

    def _local_place(self, variable: DIE) -> int | None:
        """Return the offset of a variable in the local memory of its function, None if it has no
        place there.
        """
        location = _location(variable)
        if location is None or len(location) < 9 or location[0] != _ADDRESS:
            return None
        number = int.from_bytes(bytes(location[1:9]), "little")
        name = self._names[number - 1] if 0 < number <= len(self._names) else ""
        symbol, _, offset = name.partition("+")
        if not symbol.startswith("__local_depot"):
            return None
        if len(location) == 9:
            return int(offset or 0)
        if location[9] != _PLUS:
            return None
        more, shift = 0, 0
        for byte in location[10:]:
            more, shift = more | (byte & 0x7F) << shift, shift + 7
        return int(offset or 0) + more

    def type_of(self, entry: DIE) -> Type:
        """Return the type of a variable or parameter."""
        entry = self._with_type(entry)
        return self._type(self._referred(entry, _TYPE), 0) if _TYPE in entry.attributes else UNKNOWN

    def _with_type(self, entry: DIE) -> DIE:
        """Return the entry that has the type: this one, or the declaration that it refers to."""
        for link in ("DW_AT_abstract_origin", "DW_AT_specification"):
            if _TYPE not in entry.attributes:
                entry = self._referred(entry, link) or entry
        return entry

    def _type(self, entry: DIE | None, level: int) -> Type:
        if level > _MOST_LEVELS or entry is None:
            return UNKNOWN
        if entry.offset not in self._types:
            self._types[entry.offset] = self._new_type(entry, level)
        return self._types[entry.offset]

    def _new_type(self, entry: DIE, level: int) -> Type:
        inner = Type("void")
        if _TYPE in entry.attributes:
            inner = self._type(self._referred(entry, _TYPE), level + 1)
        tag, name, nbytes = entry.tag, _name(entry), _number(entry, "DW_AT_byte_size")
        if tag in _POINTERS:
            gap = "" if inner.text[-1:] in "*&" else " "
            return Type(f"{inner.text}{gap}{_POINTERS[tag]}", 8, target=inner)
        if tag == "DW_TAG_const_type":
            # A pointer has the word behind the star.
            text = f"{inner.text} const" if inner.target is not None else f"const {inner.text}"
            return replace(inner, text=text, is_const=True, members=())
        if tag in _QUALIFIERS:
            is_volatile = tag == "DW_TAG_volatile_type"
            text = f"volatile {inner.text}" if is_volatile else inner.text
            return replace(inner, text=text, members=())
        if tag == "DW_TAG_typedef":
            return replace(inner, text=name or inner.text, members=())
        if tag == "DW_TAG_array_type":
            return replace(inner, extents=self._extents(entry) + inner.extents, members=())
        if tag in (*_STRUCTURES, "DW_TAG_union_type"):
            used = self._used_bits(entry)
            has_gaps = used.count(0xFF) != len(used)
            return Type(name, nbytes, used=used if has_gaps else b"")
        floating = tag == "DW_TAG_base_type" and _number(entry, "DW_AT_encoding") == _FLOATING
        return Type(name, nbytes, floating=floating)

    def _extents(self, array: DIE) -> tuple[int, ...]:
        return tuple(map(_extent, self._inside(array, "DW_TAG_subrange_type")))

    def layouts_of_parameters(self, function: str) -> list[str]:
        """Return the numbers in the types of a function's parameters, in order: of a pointer, in
        what it points to.

        Each number has NumPy's code and its offset in bytes: "f4@0 f4@4" for a float2. The text is
        "" if the numbers are not known.
        """
        layouts = []
        for entry in self._parameters(function):
            kind = self._plain(self._with_type(entry))
            if kind is not None and kind.tag in _POINTERS:
                kind = self._plain(kind)
            layouts.append(self._layout(kind))
        return layouts

    def layout_of_symbol(self, symbol: str) -> str:
        """Return the numbers in the elements of the variable with this symbol, as
        `layouts_of_parameters` has them.
        """
        entry = self._by_symbol.get(symbol)
        kind = self._plain(self._with_type(entry)) if entry is not None else None
        while kind is not None and kind.tag == "DW_TAG_array_type":
            kind = self._plain(kind)
        return self._layout(kind)

    def _layout(self, kind: DIE | None) -> str:
        return " ".join(f"{code}@{offset}" for offset, code in self._numbers(kind, 0) or ())

    def _plain(self, entry: DIE) -> DIE | None:
        """Return the type of an entry, behind qualifiers and typedefs; None for void."""
        for _ in range(_MOST_LEVELS):
            kind = self._referred(entry, _TYPE)
            if kind is None or kind.tag not in ("DW_TAG_typedef", *_QUALIFIERS):
                return kind
            entry = kind
        return None

    def _numbers(self, kind: DIE | None, level: int) -> list[tuple[int, str]] | None:
        """Return offset and code of each number in a type, None if they are not known."""
        if kind is None or level > _MOST_LEVELS:
            return None
        nbytes, encoding = _number(kind, "DW_AT_byte_size"), _number(kind, "DW_AT_encoding")
        if kind.tag == "DW_TAG_base_type" and encoding in _LETTERS:
            return [(0, f"{_LETTERS[encoding]}{nbytes}")]
        if kind.tag == "DW_TAG_enumeration_type":
            return [(0, f"i{nbytes}")] if nbytes else None
        if kind.tag in _POINTERS:
            return [(0, "u8")]
        if kind.tag == "DW_TAG_array_type":
            return self._numbers_of_array(kind, level)
        if kind.tag not in _STRUCTURES or not nbytes:
            return None  # a union, or a type that the source only declares
        if _name(kind) == _HALF:
            return [(0, "f2")]
        return self._numbers_of_members(kind, level)

    def _numbers_of_array(self, array: DIE, level: int) -> list[tuple[int, str]] | None:
        element = self.type_of(array).total
        inner = self._numbers(self._plain(array), level + 1)
        count = math.prod(self._extents(array))
        if inner is None or not 0 < count * len(inner) <= _MOST_NUMBERS:
            return None
        return [(k * element + offset, code) for k in range(count) for offset, code in inner]

    def _numbers_of_members(self, structure: DIE, level: int) -> list[tuple[int, str]] | None:
        numbers: list[tuple[int, str]] = []
        for member in self._inside(structure, *_MEMBERS):
            start = _place(member)
            if start is None:
                continue
            inner = self._numbers(self._plain(member), level + 1)
            if inner is None or "DW_AT_bit_size" in member.attributes:
                return None
            numbers += [(start + offset, code) for offset, code in inner]
            if len(numbers) > _MOST_NUMBERS:
                return None
        return numbers or None

    def _used_bits(self, kind: DIE) -> bytes:
        """Return for each byte of a type the bits that a program sets when it sets all members. In
        a union it sets one member: only what all have in common.
        """
        inside, size = self._referred(kind, _TYPE), _number(kind, "DW_AT_byte_size")
        if kind.tag in _POINTERS:
            return b"\xff" * 8
        if kind.tag in ("DW_TAG_typedef", "DW_TAG_array_type", *_QUALIFIERS):
            one = self._used_bits(inside) if inside is not None else b""
            return one * math.prod(self._extents(kind))
        if kind.tag not in (*_STRUCTURES, "DW_TAG_union_type"):
            return b"\xff" * size
        is_union, everything = kind.tag == "DW_TAG_union_type", (1 << 8 * size) - 1
        used = everything if is_union else 0
        for member in self._inside(kind, *_MEMBERS):
            place = 0 if is_union else _place(member)
            if place is None:
                continue
            inner = self._referred(member, _TYPE)
            of_member = self._used_bits(inner) if inner is not None else b""
            bits, shift = int.from_bytes(of_member, "little"), 8 * place
            # The place of bits is counted from the highest bit of the word.
            if width := _number(member, "DW_AT_bit_size"):
                shift += 8 * len(of_member) - _number(member, "DW_AT_bit_offset") - width
                bits = (1 << width) - 1
            used = used & bits << shift if is_union else used | bits << shift
        return (used & everything).to_bytes(size, "little")

    @cached_property
    def structures(self) -> dict[str, Type]:
        """The structures with their members by name, without names that two share."""
        by_name: dict[str, Type | None] = {}
        for entry in self._entries.values():
            nbytes = _number(entry, "DW_AT_byte_size")
            if entry.tag not in _STRUCTURES or not nbytes:
                continue
            members = tuple(
                (_name(member), _place(member) or 0, self.type_of(member))
                for member in self._inside(entry, "DW_TAG_member")
            )
            kind = Type(_name(entry), nbytes, members=members)
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


def _text(entry: DIE, attribute: str) -> str:
    """Return an attribute that is a text, "" if the entry has none."""
    if attribute not in entry.attributes:
        return ""
    return entry.attributes[attribute].value.decode(errors="replace")


def _name(entry: DIE) -> str:
    """Return the name of an entry, "" if it has none."""
    return _text(entry, "DW_AT_name")


def _number(entry: DIE, attribute: str) -> int:
    """Return an attribute that is a number, 0 if the entry has none."""
    return int(entry.attributes[attribute].value) if attribute in entry.attributes else 0


def _location(variable: DIE) -> list[int] | None:
    """Return the expression of a variable's place, None if it has no place in memory."""
    attribute = variable.attributes.get("DW_AT_location")
    return attribute.value if attribute is not None and isinstance(attribute.value, list) else None


def _place(member: DIE) -> int | None:
    """Return the offset of a member, None for a static one: it has no place in the structure."""
    attribute = member.attributes.get("DW_AT_data_member_location")
    if attribute is None or not isinstance(attribute.value, list):
        return attribute.value if attribute is not None else None
    (plus,) = DWARFExprParser(member.cu.structs).parse_expr(attribute.value)
    return plus.args[0]


def _extent(subrange: DIE) -> int:
    if "DW_AT_count" in subrange.attributes:
        return _number(subrange, "DW_AT_count")
    has_bound = "DW_AT_upper_bound" in subrange.attributes
    return _number(subrange, "DW_AT_upper_bound") + 1 if has_bound else 0
