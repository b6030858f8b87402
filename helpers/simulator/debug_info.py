"""What the compiler's debug information says of a program's kernels and variables: names, types and shapes in the source's words.

The optimised PTX names symbols and sizes only. The same source compiled for debugging (`-G`) carries DWARF sections as text: kernels
with their parameters, variables with their types. This module reads them, and brings both texts together by symbol.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import PurePosixPath

_SPACES = {"shared": "shared", "const": "constant", "global": "device", "local": "local"}
_PTX_VARIABLE = re.compile(
    r"^[ \t]*(?P<extern>\.extern[ \t]+)?(?:\.(?:visible|weak|common)[ \t]+)?\.(?P<space>shared|const|global|local)\b[ \t]*"
    r"(?:\.attribute\([^)]*\)[ \t]*)?(?:\.align[ \t]+(?P<align>\d+)[ \t]+)?\.(?P<type>[a-z]\w*)[ \t]+"
    r"(?P<name>[\w$%]+)(?P<extents>(?:\[\d*\])*)",
    re.MULTILINE,
)
_PTX_FUNCTION = re.compile(r"^(?:\.(?:visible|weak|extern|common)[ \t]+)*\.(?P<kind>entry|func)\b(?P<rest>[^\n]*)", re.MULTILINE)
_NAME_OF_FUNCTION = re.compile(r"^[ \t]*(?:\([^)]*\)[ \t]*)?(?P<name>[\w$]+)")
_PTX_PARAMETER = re.compile(
    r"\.param[ \t]+(?:\.align[ \t]+(?P<align>\d+)[ \t]+)?\.(?P<type>[a-z]\d+)[^,\[\n]*?[ \t](?P<name>[\w$]+)(?:\[(?P<bytes>\d*)\])?[ \t]*(?:,|$)",
    re.MULTILINE,
)
_CALL = re.compile(r"\bcall(?:\.uni)?\s+(?:\([^)]*\)\s*,\s*)?([A-Za-z_$][\w$]*)")
_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d+)[ \t]+"((?:[^"\\]|\\.)*)"', re.MULTILINE)
_LOCAL_NAME = re.compile(r"E(?P<length>[1-9]\d*)(?P<rest>\w+)$")
_SAME_NAME_AGAIN = re.compile(r"(?:_\d*_?|__\d+_|\$\d+|__\d+)?")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel: bytes and offset in the packed argument buffer.

    is_const: it points to what the kernel does not write; element_bytes: of what it points to, 0 where that is not known.
    """

    name: str
    type_text: str
    size: int
    offset: int
    is_pointer: bool
    is_floating: bool
    is_const: bool = False
    element_bytes: int = 0


@dataclass(frozen=True)
class Variable:
    """An array or scalar with a fixed place, and how the source speaks of it.

    name: as the source declares it, without namespaces; symbol: its name in the PTX; element: the type of its elements, "" where
    that is not known; extents: () for a scalar, a first extent of 0 for dynamic shared memory; space: "shared", "constant",
    "device" or "local"; function: the (mangled) name of the function that declares it, "" outside functions.
    A local array's symbol is that of the function's whole frame: where in the frame it lies, the compiler does not say.
    """

    name: str
    symbol: str
    element: str
    element_bytes: int
    extents: tuple[int, ...]
    space: str
    function: str = ""
    size: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of the whole variable; 0 for dynamic shared memory."""
        return self.size


@dataclass(frozen=True)
class KernelInfo:
    """A kernel that can be launched.

    name: as the source calls it ("k", "ns::k", "k<4>"); mangled: the linker's name, which is that of the .entry; line: of its
    name in `file`, from 1, and 0 where that is not known.
    """

    name: str
    mangled: str
    parameters: tuple[Parameter, ...]
    line: int
    file: str


@dataclass(frozen=True)
class DebugInfo:
    """Variables of a program, by symbol where they have one of their own."""

    variables: tuple[Variable, ...] = ()

    def of_symbol(self, symbol: str) -> Variable | None:
        """The variable with this name in the PTX; None where there is none."""
        return next((v for v in self.variables if v.symbol == symbol and v.space != "local"), None)

    def locals_of(self, function: str) -> tuple[Variable, ...]:
        """The local arrays of a function, by its mangled name, in the order of the source."""
        return tuple(v for v in self.variables if v.space == "local" and v.function == function)

    def to_dict(self) -> dict:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict) -> DebugInfo:
        return cls(tuple(Variable(**{**v, "extents": tuple(v["extents"])}) for v in data["variables"]))


def read(ptx: str, debug_ptx: str, file: str) -> tuple[tuple[KernelInfo, ...], DebugInfo]:
    """The kernels and variables of `ptx`, in the words of the DWARF in `debug_ptx` ("" where there is none)."""
    dwarf = _Dwarf(debug_ptx)
    return tuple(_kernels(ptx, dwarf, file)), DebugInfo(tuple(_variables(ptx, dwarf)))


def functions_with_lines(debug_ptx: str, file: str) -> list[tuple[str, str, int]]:
    """Name, file and line of each function that a kernel of a debug compilation calls, by whatever way."""
    dwarf, places = _Dwarf(debug_ptx), list(functions(debug_ptx))
    ends = [start for _, _, start in places[1:]] + [len(debug_ptx)]
    calls: dict[str, set[str]] = {}
    for (_, name, start), end in zip(places, ends, strict=True):
        calls.setdefault(name, set()).update(_CALL.findall(debug_ptx, start, end))
    reached: set[str] = set()
    waiting = [name for kind, name, _ in places if kind == "entry"]
    while waiting:
        new = calls.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    entries = [entry for name in sorted(reached) if (entry := dwarf.entry_of(name)) is not None]
    return [(e.text("name"), short_path(dwarf.files.get(e.number("file"), file), file), e.number("line")) for e in entries]


# ---- the PTX that runs ----


@dataclass(frozen=True)
class _Symbol:
    """A variable of the PTX. declared: bytes of its type; count: None for an array without a size."""

    name: str
    space: str
    declared: int
    count: int | None
    is_array: bool
    align: int
    floating: bool
    function: str

    @property
    def nbytes(self) -> int:
        return self.declared * (self.count or 0)


def functions(ptx: str) -> Iterator[tuple[str, str, int]]:
    """(kind, name, position) of each .entry and .func, in order."""
    for found in _PTX_FUNCTION.finditer(ptx):
        if name := _NAME_OF_FUNCTION.match(found["rest"]):
            yield found["kind"], name["name"], found.start()
        elif name := _NAME_OF_FUNCTION.match(ptx[found.end() :].lstrip()):  # a result's declaration may take a line
            yield found["kind"], name["name"], found.start()


def _symbols(ptx: str) -> Iterator[_Symbol]:
    places = list(functions(ptx))
    position, owner = 0, ""
    seen = set()
    for found in _PTX_VARIABLE.finditer(ptx):
        while position < len(places) and places[position][2] < found.start():
            owner, position = places[position][1], position + 1
        indented = ptx[found.start()] in " \t"
        name, extents = found["name"], found["extents"]
        if name in seen or found["type"] in ("texref", "samplerref", "surfref"):
            continue
        seen.add(name)
        count: int | None = 1
        for extent in re.findall(r"\[(\d*)\]", extents):
            count = None if extent == "" or count is None else count * int(extent)
        declared = int(re.sub(r"\D", "", found["type"]) or 8) // 8
        align, floating = int(found["align"] or declared), found["type"][0] == "f"
        yield _Symbol(name, found["space"], declared, count, bool(extents), align, floating, owner if indented else "")


def _parameter_sizes(ptx: str, start: int) -> list[tuple[int, int, bool]]:
    """(bytes, offset, whether it is a floating-point number) of the parameters of the .entry at `start`."""
    end = ptx.find("{", start)
    head = ptx[start:end]
    sizes, offset = [], 0
    for found in _PTX_PARAMETER.finditer(head):
        width = int(found["type"][1:]) // 8
        size = width * int(found["bytes"] or 1) if found["bytes"] is not None else width
        align = int(found["align"] or width)
        offset = -(-offset // align) * align
        sizes.append((size, offset, found["type"][0] == "f"))
        offset += size
    return sizes


# ---- DWARF, as the PTX of a debug compilation writes it ----

_TAGS = {
    0x01: "array", 0x02: "class", 0x04: "enumeration", 0x05: "parameter", 0x0B: "block", 0x0F: "pointer", 0x10: "reference",
    0x11: "unit", 0x13: "structure", 0x16: "typedef", 0x17: "union", 0x1D: "inlined", 0x21: "subrange", 0x24: "base",
    0x26: "const", 0x2E: "function", 0x34: "variable", 0x35: "volatile", 0x37: "restrict", 0x39: "namespace", 0x3B: "unspecified",
    0x42: "rvalue reference",
}  # fmt: skip
_ATTRIBUTES = {
    0x02: "location", 0x03: "name", 0x0B: "bytes", 0x22: "bound", 0x2F: "upper", 0x31: "origin", 0x37: "count", 0x3A: "file", 0x3B: "line",
    0x3E: "encoding", 0x47: "specification", 0x49: "type", 0x6E: "linkage", 0x2007: "linkage",
}  # fmt: skip
_FLOATING, _ADDRESS = 0x04, 0x03
_MOST_LEVELS = 64  # of pointers, arrays and names of one type


@dataclass
class _Entry:
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
class _Type:
    """What is known of a type: its text, bytes (0 for unknown), the extents of an array, and what a pointer points to."""

    text: str
    nbytes: int = 0
    extents: tuple[int, ...] = ()
    floating: bool = False
    is_const: bool = False
    target: _Type | None = None

    @property
    def total(self) -> int:
        count = 1
        for extent in self.extents:
            count *= extent
        return count * self.nbytes


_UNKNOWN = _Type("")


class _Dwarf:
    """The entries of a debug compilation, by what is asked: kernels, variables with a symbol, variables inside functions."""

    def __init__(self, ptx: str):
        self.files = {int(number): path for number, path in _FILE.findall(ptx)}
        self._names: list[str] = []  # symbols: an address in the sections is a position in this list, from 1
        self._entries: list[_Entry] = []
        self._at: dict[int, int] = {}  # offset in .debug_info -> position in _entries
        self._types: dict[int, _Type] = {}
        try:
            self._read(self._section(ptx, "info"), self._section(ptx, "abbrev"), self._section(ptx, "str"))
        except (IndexError, KeyError, ValueError):  # a form that nobody knows: what was read up to it counts
            pass
        self._children: dict[int, list[int]] = {}
        for position, entry in enumerate(self._entries):
            self._children.setdefault(entry.parent, []).append(position)
        self.functions = {e.text("linkage") or e.text("name"): k for k, e in enumerate(self._entries) if e.tag == "function"}
        self._by_symbol = {s: e for e in self._entries if e.tag == "variable" and (s := self._symbol(e))}

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
            length, table = int.from_bytes(info[unit : unit + 4], "little"), int.from_bytes(info[unit + 6 : unit + 10], "little")
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
            entry = _Entry(tag, parents[-1])
            for name, form in attributes:
                value, at = _attribute(info, strings, at, form, unit)
                if name:
                    entry.values[name] = value
            self._at[offset] = len(self._entries)
            self._entries.append(entry)
            if has_children:
                parents.append(len(self._entries) - 1)

    def _symbol(self, entry: _Entry) -> str:
        """The symbol that a variable's location names, "" where it is none of its own."""
        location = entry.values.get("location")
        if not isinstance(location, bytes) or len(location) != 9 or location[0] != _ADDRESS:
            return ""
        number = int.from_bytes(location[1:], "little")
        return self._names[number - 1] if 0 < number <= len(self._names) else ""

    def of_symbol(self, symbol: str) -> tuple[str, _Type] | None:
        """Name and type of the variable with this symbol; None where there is none."""
        entry = self._by_symbol.get(symbol)
        return (entry.text("name"), self.type_of(entry)) if entry is not None else None

    def _inside(self, position: int) -> Iterator[tuple[int, _Entry]]:
        """The entries directly inside the one at `position`, with their own positions."""
        return ((k, self._entries[k]) for k in self._children.get(position, []))

    def parameters(self, function: str) -> list[tuple[str, _Type]]:
        """Names and types of a function's parameters, in order."""
        inside = self._inside(self.functions.get(function, -2))
        return [(entry.text("name"), self.type_of(entry)) for _, entry in inside if entry.tag == "parameter"]

    def variables_in(self, function: str) -> list[tuple[str, _Type, bool]]:
        """Names and types of the variables that a function declares, in the order of the source; whether each has a place."""
        found: list[tuple[str, _Type, bool]] = []
        waiting = [self.functions.get(function, -2)]
        while waiting:
            for position, entry in self._inside(waiting.pop(0)):
                if entry.tag == "variable":
                    found.append((entry.text("name"), self.type_of(entry), isinstance(entry.values.get("location"), bytes)))
                elif entry.tag == "block":
                    waiting.append(position)
        return found

    def entry_of(self, function: str) -> _Entry | None:
        position = self.functions.get(function)
        return self._entries[position] if position is not None else None

    def type_of(self, entry: _Entry) -> _Type:
        """The type of a variable or parameter."""
        for link in ("origin", "specification"):
            if "type" not in entry.values and link in entry.values:
                entry = self._entries[self._at[entry.number(link)]]
        return self._type(entry.number("type"), 0) if "type" in entry.values else _UNKNOWN

    def _type(self, offset: int, level: int) -> _Type:
        if level > _MOST_LEVELS or offset not in self._at:
            return _UNKNOWN
        if offset not in self._types:
            self._types[offset] = self._new_type(self._at[offset], level)
        return self._types[offset]

    def _new_type(self, position: int, level: int) -> _Type:
        entry = self._entries[position]
        inner = self._type(entry.number("type"), level + 1) if "type" in entry.values else _Type("void")
        name = entry.text("name")
        if entry.tag in ("pointer", "reference", "rvalue reference"):
            sign = {"pointer": "*", "reference": "&"}.get(entry.tag, "&&")
            return _Type(f"{inner.text} {sign}" if inner.text[-1:].isalnum() else f"{inner.text}{sign}", 8, target=inner)
        if entry.tag == "const":
            # Of a pointer, the word stands behind the star.
            text = f"{inner.text} const" if inner.target is not None else f"const {inner.text}"
            return _Type(text, inner.nbytes, inner.extents, inner.floating, True, inner.target)
        if entry.tag in ("volatile", "restrict"):
            text = inner.text if entry.tag == "restrict" else f"volatile {inner.text}"
            return _Type(text, inner.nbytes, inner.extents, inner.floating, inner.is_const, inner.target)
        if entry.tag == "typedef":
            return _Type(name or inner.text, inner.nbytes, inner.extents, inner.floating, inner.is_const, inner.target)
        if entry.tag == "array":
            extents = tuple(_extent(e) for _, e in self._inside(position) if e.tag == "subrange")
            return _Type(inner.text, inner.nbytes, extents + inner.extents, inner.floating, inner.is_const, inner.target)
        floating = entry.tag == "base" and entry.number("encoding") == _FLOATING
        return _Type(name, entry.number("bytes"), floating=floating)


def _abbreviations(data: bytes, at: int) -> dict[int, tuple[str, bool, list[tuple[str, int]]]]:
    """The table of abbreviations at `at`: code -> tag, whether children follow, and names and forms of the attributes."""
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


_FIXED = {0x01: 8, 0x05: 2, 0x06: 4, 0x07: 8, 0x0B: 1, 0x0C: 1, 0x10: 4, 0x17: 4}  # forms of plain numbers -> bytes
_BLOCKS = {0x03: 2, 0x04: 4, 0x0A: 1}  # -> bytes of the length
_REFERENCES = {0x11: 1, 0x12: 2, 0x13: 4, 0x14: 8}


def _attribute(info: bytes, strings: bytes, at: int, form: int, unit: int) -> tuple[int | str | bytes, int]:
    """The value of an attribute at `at`, and where the next begins. Raises KeyError for a form that nobody knows."""
    if form == 0x08:
        end = info.index(0, at)
        return info[at:end].decode(errors="replace"), end + 1
    if form == 0x0E:
        start = int.from_bytes(info[at : at + 4], "little")
        return strings[start : strings.index(0, start)].decode(errors="replace"), at + 4
    if form in _FIXED:
        return int.from_bytes(info[at : at + _FIXED[form]], "little"), at + _FIXED[form]
    if form in _REFERENCES:
        return unit + int.from_bytes(info[at : at + _REFERENCES[form]], "little"), at + _REFERENCES[form]
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


def _extent(subrange: _Entry) -> int:
    return subrange.number("count") if "count" in subrange.values else subrange.number("upper") + 1 if "upper" in subrange.values else 0


# ---- both together ----


def _kernels(ptx: str, dwarf: _Dwarf, file: str) -> Iterator[KernelInfo]:
    for kind, mangled, start in functions(ptx):
        if kind != "entry":
            continue
        entry = dwarf.entry_of(mangled)
        sizes, named = _parameter_sizes(ptx, start), dwarf.parameters(mangled)
        if len(named) != len(sizes):
            named = [("", _UNKNOWN)] * len(sizes)
        parameters = tuple(_parameter(k, *words, *place) for k, (words, place) in enumerate(zip(named, sizes, strict=True)))
        own = entry.text("name") if entry is not None else ""
        where = dwarf.files.get(entry.number("file"), file) if entry is not None else file
        yield KernelInfo(source_name(mangled, own), mangled, parameters, entry.number("line") if entry else 0, short_path(where, file))


def _parameter(number: int, name: str, kind: _Type, size: int, offset: int, floating: bool) -> Parameter:
    text = kind.text
    if kind.is_const:  # of the parameter itself: the caller does not see it
        text = text.removesuffix(" const") if kind.target is not None else text.removeprefix("const ")
    target = kind.target
    known = bool(text)
    return Parameter(
        name or f"argument {number}",
        text,
        size,
        offset,
        is_pointer=target is not None if known else size == 8 and not floating,
        is_floating=kind.floating if known else floating,
        is_const=target is not None and target.is_const,
        element_bytes=target.total if target is not None else 0,
    )


def _variables(ptx: str, dwarf: _Dwarf) -> Iterator[Variable]:
    taken: dict[tuple[str, str, int], int] = {}
    symbols = list(_symbols(ptx))
    declared = []
    for symbol in symbols:
        if symbol.space == "local":
            continue
        known, function = dwarf.of_symbol(symbol.name), symbol.function
        name = plain_name(symbol.name)
        if inside := local_name(symbol.name):
            encoded = inside[0]
            names = (f"_Z{encoded}", plain_name(f"_Z{encoded}"))
            function = next((n for n in names if n in dwarf.functions), names[0])
            known = known or _same_size(dwarf.variables_in(function), name, symbol, function, taken)
        kind = known[1] if known is not None else _UNKNOWN
        if symbol.count is not None and kind.total != symbol.nbytes:
            kind = _UNKNOWN
        declared.append(_variable(name, symbol, kind, _SPACES[symbol.space], function))
    yield from declared
    static = {(v.function, v.name, v.nbytes) for v in declared}
    for symbol in symbols:
        if symbol.space != "local":
            continue
        for name, kind, has_place in dwarf.variables_in(symbol.function):
            if has_place and kind.extents and kind.total and (symbol.function, name, kind.total) not in static:
                yield Variable(name, symbol.name, kind.text, kind.nbytes, kind.extents, "local", symbol.function, kind.total)


def _same_size(
    variables: Iterable[tuple[str, _Type, bool]], name: str, symbol: _Symbol, function: str, taken: dict[tuple[str, str, int], int]
) -> tuple[str, _Type] | None:
    """The variable of this name and size, of several such in one function the first that no other symbol has."""
    fitting = [(n, kind) for n, kind, _ in variables if n == name and kind.total == symbol.nbytes]
    if not fitting:
        return None
    key = (function, name, symbol.nbytes)
    taken[key] = taken.get(key, 0) + 1
    return fitting[min(taken[key], len(fitting)) - 1]


def _variable(name: str, symbol: _Symbol, kind: _Type, space: str, function: str) -> Variable:
    if kind.text and kind.nbytes:
        text = kind.text.replace("const ", "", 1) if kind.is_const and kind.target is None else kind.text
        size = symbol.nbytes
        return Variable(name, symbol.name, text, kind.nbytes, kind.extents, space, function, size)
    # The PTX declares every array and structure as bytes: the alignment then says the most.
    width = symbol.declared if symbol.declared > 1 else symbol.align
    if symbol.count is None:
        return Variable(name, symbol.name, "", width, (0,), space, function, 0)
    width = width if symbol.nbytes % width == 0 else 1
    extents = (symbol.nbytes // width,) if symbol.is_array else ()
    return Variable(name, symbol.name, "", width, extents, space, function, symbol.nbytes)


# ---- names ----


def nested_name(mangled: str) -> list[str]:
    """The namespaces and the last plain name of a mangled name, as far as it is made of these: "_ZN2ns1kEPKf" -> ["ns", "k"]."""
    rest = mangled.removeprefix("_Z")
    if rest == mangled:
        return [mangled]
    nested = rest.startswith("N")
    rest = rest[1:].lstrip("KVr") if nested else rest.removeprefix("L")
    parts = []
    while found := re.match(r"L?(\d+)", rest):
        length = int(found[1])
        parts.append(rest[found.end() : found.end() + length])
        rest = rest[found.end() + length :]
        if not nested:
            break
    # What a compiler adds for names that are known in one file only.
    return [part for part in parts if not part.startswith(("_INTERNAL_", "_GLOBAL__N"))]


def local_name(symbol: str) -> tuple[str, str] | None:
    """Function, mangled without its `_Z`, and name of a variable inside it: "_ZZ1kPfE4tile" -> ("1kPf", "tile"). Else None."""
    if not symbol.startswith("_ZZ"):
        return None
    for start in range(len(symbol) - 2, 3, -1):
        found = _LOCAL_NAME.match(symbol, start)
        length = int(found["length"]) if found else 0
        if found and len(found["rest"]) >= length and _SAME_NAME_AGAIN.fullmatch(found["rest"][length:]):
            return symbol[3:start], found["rest"][:length]
    return None


def plain_name(symbol: str) -> str:
    """The name that the source gives to a variable: "_ZZ1kPfE4tile" -> "tile"."""
    if inside := local_name(symbol):
        return inside[1]
    parts = nested_name(symbol)
    return parts[-1] if parts else symbol


def source_name(mangled: str, own: str) -> str:
    """A kernel's name with namespaces and template arguments. own: what the debug information calls it ("k<4,float>"), or ""."""
    parts = nested_name(mangled)
    if not own:
        return "::".join(parts) or mangled
    base = own.partition("<")[0]
    spaces = parts[: parts.index(base)] if base in parts else []
    arguments = re.sub(r"\s*,\s*", ", ", own[len(base) :])
    return "::".join([*spaces, base + arguments])


def short_path(path: str, file: str) -> str:
    """How findings call a file: the source by the name it was given, a header by its last part."""
    if path == file or path.endswith("/" + file):
        return file
    return PurePosixPath(path.replace("\\\\", "/")).name
