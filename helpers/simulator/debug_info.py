"""Reads names, types and shapes of a program's kernels and variables from the debug information.

The optimised PTX has only symbols and sizes. If the compiler translates the same source for
debugging (`-G`), its PTX has DWARF sections as text: kernels with their parameters, variables with
their types. This module reads them and matches both texts by symbol.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import PurePosixPath

from .dwarf import UNKNOWN, Dwarf, Type
from .mangled import local_name, plain_name, source_name

_HALVES = ("half", "__half")  # structures to the compiler, numbers to a source
_SPACES = {"shared": "shared", "const": "constant", "global": "device", "local": "local"}
_PTX_VARIABLE = re.compile(
    r"^[ \t]*(?:\.(?:extern|visible|weak|common)[ \t]+)?\.(?P<space>shared|const|global|local)\b"
    r"[ \t]*(?:\.attribute\([^)]*\)[ \t]*)?(?:\.align[ \t]+(?P<align>\d+)[ \t]+)?"
    r"\.(?P<type>[a-z]\w*)[ \t]+"
    r"(?P<name>[\w$%]+)(?P<extents>(?:\[\d*\])*)",
    re.MULTILINE,
)
_PTX_FUNCTION = re.compile(
    r"^(?:\.(?:visible|weak|extern|common)[ \t]+)*\.(?P<kind>entry|func)\b(?P<rest>[^\n]*)",
    re.MULTILINE,
)
_NAME_OF_FUNCTION = re.compile(r"^[ \t]*(?:\([^)]*\)[ \t]*)?(?P<name>[\w$]+)")
_PTX_PARAMETER = re.compile(
    r"\.param[ \t]+(?:\.align[ \t]+(?P<align>\d+)[ \t]+)?\.(?P<type>[a-z]\d+)[^,\[\n]*?[ \t]"
    r"(?P<name>[\w$]+)(?:\[(?P<bytes>\d*)\])?[ \t]*(?:,|$)",
    re.MULTILINE,
)
_PTX_PLACE = re.compile(r"[ \t]*\.loc[ \t]+(\d+)[ \t]+(\d+)[ \t]+(\d+)[ \t]*$")
_FILE_LINE = re.compile(
    r'^(?P<begin>[ \t]*\.file[ \t]+(?P<number>\d+)[ \t]+)"(?P<path>(?:[^"\\]|\\.)*)".*$',
    re.MULTILINE,
)
_QUALIFIERS = re.compile(r"\b(?:const|volatile) ")
_CALL = re.compile(r"\bcall(?:\.uni)?\s+(?:\([^)]*\)\s*,\s*)?([A-Za-z_$][\w$]*)")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel: bytes and offset in the packed argument buffer.

    is_const: it points to elements that the kernel may not write; element_bytes: bytes of such an
    element, 0 if unknown; layout: the numbers in such an element, or in the value of a parameter
    that is no pointer (Dwarf.layouts_of_parameters); used: for each byte of such an element the
    bits that belong to its members, in hexadecimal, "" if it has no gaps.
    """

    name: str
    type_text: str
    size: int
    offset: int
    is_pointer: bool
    is_floating: bool
    is_const: bool = False
    element_bytes: int = 0
    layout: str = ""
    used: str = ""


@dataclass(frozen=True)
class Variable:
    """An array or scalar with a fixed place, described in the source's words.

    name: the declared name, without namespaces; symbol: its name in the PTX; element: the type of
    its elements, "" if unknown; extents: () for a scalar, a first extent of 0 for dynamic shared
    memory; space: "shared", "constant", "device" or "local"; function: the mangled name of the
    function that declares it, "" outside functions; layout: the numbers in an element, as
    Dwarf.layout_of has them.
    The symbol of a local array is the symbol of the function's whole frame, or "" if the PTX has
    none. The compiler does not say where in the frame the array lies.
    """

    name: str
    symbol: str
    element: str
    element_bytes: int
    extents: tuple[int, ...]
    space: str
    function: str = ""
    size: int = 0
    layout: str = ""
    used: str = ""  # as of a Parameter

    @property
    def nbytes(self) -> int:
        """The bytes of the whole variable; 0 for dynamic shared memory."""
        return self.size


@dataclass(frozen=True)
class Member:
    """An array inside a variable that is a structure, `offset` bytes from its start. Its name has
    the variable's name in front ("stage.low"); the other fields are those of a Variable.
    """

    name: str
    symbol: str
    offset: int
    element: str
    element_bytes: int
    extents: tuple[int, ...]
    space: str
    function: str = ""


@dataclass(frozen=True)
class Field:
    """An array that is a member of a structure, `offset` bytes from its start; nbytes: bytes of the
    structure. The other fields are those of a Variable.
    """

    name: str
    structure: str
    nbytes: int
    offset: int
    element: str
    element_bytes: int
    extents: tuple[int, ...]


@dataclass(frozen=True)
class KernelInfo:
    """A kernel that can be launched.

    name: its name in the source ("k", "ns::k", "k<4>"); mangled: the linker's name, which the
    .entry has; line: the line of its name in `file`, from 1, or 0 if unknown.
    """

    name: str
    mangled: str
    parameters: tuple[Parameter, ...]
    line: int
    file: str


@dataclass(frozen=True)
class DebugInfo:
    """The variables of a program; those with a symbol of their own are found by symbol. fields: the
    arrays in its structures.
    """

    variables: tuple[Variable, ...] = ()
    members: tuple[Member, ...] = ()
    fields: tuple[Field, ...] = ()

    def of_symbol(self, symbol: str) -> Variable | None:
        """Return the variable with this name in the PTX, None if there is none."""
        return next((v for v in self.variables if v.symbol == symbol and v.space != "local"), None)

    def locals_of(self, function: str) -> tuple[Variable, ...]:
        """Return the local arrays of a function by its mangled name, in the source's order."""
        return tuple(v for v in self.variables if v.space == "local" and v.function == function)

    def to_dict(self) -> dict:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict) -> DebugInfo:
        return cls(
            tuple(Variable(**{**v, "extents": tuple(v["extents"])}) for v in data["variables"]),
            tuple(Member(**{**m, "extents": tuple(m["extents"])}) for m in data["members"]),
            tuple(Field(**{**f, "extents": tuple(f["extents"])}) for f in data["fields"]),
        )


def read(ptx: str, debug_ptx: str, file: str) -> tuple[tuple[KernelInfo, ...], DebugInfo]:
    """Return the kernels and variables of `ptx`, named as in the DWARF of `debug_ptx` ("" if there
    is none).
    """
    dwarf = Dwarf(debug_ptx)
    variables = tuple(_variables(ptx, dwarf))
    members = tuple(_members(variables, dwarf))
    fields = tuple(_fields(dwarf))
    return tuple(_kernels(ptx, dwarf, file)), DebugInfo(variables, members, fields)


def functions_with_lines(debug_ptx: str, file: str) -> list[tuple[str, str, int]]:
    """Return name, file and line of each function that a kernel of a debug compilation calls,
    directly or through other functions.
    """
    dwarf, places = Dwarf(debug_ptx), list(functions(debug_ptx))
    bounds = [start for _, _, start in places] + [len(debug_ptx)]
    calls: dict[str, set[str]] = {}
    for (_, name, start), end in zip(places, bounds[1:], strict=True):
        calls.setdefault(name, set()).update(_CALL.findall(debug_ptx, start, end))
    reached: set[str] = set()
    waiting = [name for kind, name, _ in places if kind == "entry"]
    while waiting:
        new = calls.get(waiting.pop(), set()) - reached
        reached |= new
        waiting += new
    entries = [entry for name in sorted(reached) if (entry := dwarf.entry_of(name)) is not None]
    return [
        (
            e.text("name"),
            short_path(dwarf.files.get(e.number("file"), file), file),
            e.number("line"),
        )
        for e in entries
    ]


# ---- the PTX that runs ----


@dataclass(frozen=True)
class _Symbol:
    """A variable of the PTX. declared: bytes of its type; count: None for an unsized array."""

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
    """Yield (kind, name, position) of each .entry and .func, in order."""
    for match in _PTX_FUNCTION.finditer(ptx):
        if (name := _NAME_OF_FUNCTION.match(match["rest"])) or (
            name := _NAME_OF_FUNCTION.match(ptx[match.end() :].lstrip())
        ):
            yield match["kind"], name["name"], match.start()


def _symbols(ptx: str) -> Iterator[_Symbol]:
    places = list(functions(ptx))
    position, owner = 0, ""
    seen = set()
    for match in _PTX_VARIABLE.finditer(ptx):
        while position < len(places) and places[position][2] < match.start():
            owner, position = places[position][1], position + 1
        indented = ptx[match.start()] in " \t"
        name, extents = match["name"], match["extents"]
        if name in seen or match["type"] in ("texref", "samplerref", "surfref"):
            continue
        seen.add(name)
        count: int | None = 1
        for extent in re.findall(r"\[(\d*)\]", extents):
            count = None if extent == "" or count is None else count * int(extent)
        declared = int(re.sub(r"\D", "", match["type"]) or 8) // 8
        align, floating = int(match["align"] or declared), match["type"][0] == "f"
        yield _Symbol(
            name,
            match["space"],
            declared,
            count,
            bool(extents),
            align,
            floating,
            owner if indented else "",
        )


def _parameter_sizes(ptx: str, start: int) -> list[tuple[int, int, bool]]:
    """Return (bytes, offset, whether it is a floating-point number) of each parameter of the
    .entry at `start`.
    """
    end = ptx.find("{", start)
    head = ptx[start:end]
    sizes, offset = [], 0
    for match in _PTX_PARAMETER.finditer(head):
        width = int(match["type"][1:]) // 8
        size = width * int(match["bytes"] or 1) if match["bytes"] is not None else width
        align = int(match["align"] or width)
        offset = -(-offset // align) * align
        sizes.append((size, offset, match["type"][0] == "f"))
        offset += size
    return sizes


# ---- both together ----


def _kernels(ptx: str, dwarf: Dwarf, file: str) -> Iterator[KernelInfo]:
    for kind, mangled, start in functions(ptx):
        if kind != "entry":
            continue
        entry = dwarf.entry_of(mangled)
        sizes, named = _parameter_sizes(ptx, start), dwarf.parameters(mangled)
        layouts = dwarf.layouts_of_parameters(mangled)
        if len(named) != len(sizes):
            named, layouts = [("", UNKNOWN)] * len(sizes), [""] * len(sizes)
        parameters = tuple(
            _parameter(k, name, kind, *sizes[k], layouts[k]) for k, (name, kind) in enumerate(named)
        )
        own = entry.text("name") if entry is not None else ""
        where = dwarf.files.get(entry.number("file"), file) if entry is not None else file
        yield KernelInfo(
            source_name(mangled, own),
            mangled,
            parameters,
            entry.number("line") if entry else 0,
            short_path(where, file),
        )


def _parameter(
    number: int, name: str, kind: Type, size: int, offset: int, floating: bool, layout: str
) -> Parameter:
    text = kind.text
    if kind.is_const:  # this `const` is of the parameter itself; the caller does not see it
        text = (
            text.removesuffix(" const") if kind.target is not None else text.removeprefix("const ")
        )
    target = kind.target
    known = bool(text)
    return Parameter(
        name or f"argument {number}",
        text,
        size,
        offset,
        is_pointer=target is not None if known else size == 8 and not floating,
        is_floating=kind.floating or text in _HALVES if known else floating,
        is_const=target is not None and target.is_const,
        element_bytes=target.total if target is not None else 0,
        layout=layout,
        used=target.used.hex() if target is not None else "",
    )


def _variables(ptx: str, dwarf: Dwarf) -> Iterator[Variable]:
    taken: dict[tuple[str, str, int], int] = {}
    symbols = list(_symbols(ptx))
    declared = []
    for symbol in symbols:
        if symbol.space == "local":
            continue
        known, function = dwarf.of_symbol(symbol.name), ""
        name = plain_name(symbol.name)
        if inside := local_name(symbol.name):
            encoded = inside[0]
            names = (f"_Z{encoded}", plain_name(f"_Z{encoded}"))
            function = next((n for n in names if n in dwarf.functions), names[0])
            known = known or _same_size(dwarf.variables_in(function), name, symbol, function, taken)
        kind = known[1] if known is not None else UNKNOWN
        if symbol.count is not None and kind.total != symbol.nbytes:
            kind = UNKNOWN
        variable = _variable(name, symbol, kind, _SPACES[symbol.space], function)
        layout = dwarf.layout_of_symbol(symbol.name) if kind is not UNKNOWN else ""
        declared.append(replace(variable, layout=layout))
    yield from declared
    static = {(v.function, v.name, v.nbytes) for v in declared}
    frames = {symbol.function: symbol.name for symbol in symbols if symbol.space == "local"}
    for function in dict.fromkeys((*frames, *dwarf.functions)):
        for name, kind, has_place in dwarf.variables_in(function):
            if (
                has_place
                and kind.extents
                and kind.total
                and (function, name, kind.total) not in static
            ):
                yield Variable(
                    name,
                    frames.get(function, ""),
                    kind.text,
                    kind.nbytes,
                    kind.extents,
                    "local",
                    function,
                    kind.total,
                )


def _members(variables: Iterable[Variable], dwarf: Dwarf) -> Iterator[Member]:
    """Yield the arrays inside variables that are structures."""
    for variable in variables:
        kind = dwarf.structures.get(variable.element)
        is_plain = not variable.extents and variable.space != "local"
        if kind is None or not is_plain or kind.nbytes != variable.size:
            continue
        for name, offset, inner in kind.members:
            if name and inner.extents and inner.nbytes and offset + inner.total <= variable.size:
                yield Member(
                    f"{variable.name}.{name}",
                    variable.symbol,
                    offset,
                    inner.text,
                    inner.nbytes,
                    inner.extents,
                    variable.space,
                    variable.function,
                )


def _fields(dwarf: Dwarf) -> Iterator[Field]:
    """Yield the arrays that are members of the program's structures."""
    for structure, kind in dwarf.structures.items():
        for name, offset, inner in kind.members:
            if name and inner.extents and inner.nbytes and offset + inner.total <= kind.nbytes:
                yield Field(
                    name, structure, kind.nbytes, offset, inner.text, inner.nbytes, inner.extents
                )


def _same_size(
    variables: Iterable[tuple[str, Type, bool]],
    name: str,
    symbol: _Symbol,
    function: str,
    taken: dict[tuple[str, str, int], int],
) -> tuple[str, Type] | None:
    """Return the variable of this name and size. If one function has several, returns the first
    that no other symbol has.
    """
    fitting = [(n, kind) for n, kind, _ in variables if n == name and kind.total == symbol.nbytes]
    if not fitting:
        return None
    key = (function, name, symbol.nbytes)
    taken[key] = taken.get(key, 0) + 1
    return fitting[min(taken[key], len(fitting)) - 1]


def _variable(name: str, symbol: _Symbol, kind: Type, space: str, function: str) -> Variable:
    if kind.text and kind.nbytes:
        text = kind.text if kind.target is not None else _QUALIFIERS.sub("", kind.text)
        size = symbol.nbytes
        return Variable(
            name,
            symbol.name,
            text,
            kind.nbytes,
            kind.extents,
            space,
            function,
            size,
            used=kind.used.hex(),
        )
    # The PTX declares every array and structure as bytes. The alignment then tells most about it.
    width = symbol.declared if symbol.declared > 1 else symbol.align
    if symbol.count is None:
        return Variable(name, symbol.name, "", width, (0,), space, function, 0)
    width = width if symbol.nbytes % width == 0 else 1
    extents = (symbol.nbytes // width,) if symbol.is_array else ()
    return Variable(name, symbol.name, "", width, extents, space, function, symbol.nbytes)


def with_short_paths(ptx: str, file: str) -> str:
    """Return the PTX with the file names of findings in its `.file` lines."""
    return _FILE_LINE.sub(lambda m: f'{m["begin"]}"{short_path(m["path"], file)}"', ptx)


def short_path(path: str, file: str) -> str:
    """Return a file's name in findings: `file` for the source, the last part of the path for a
    header.
    """
    if path == file or path.endswith("/" + file):
        return file
    return PurePosixPath(path.replace("\\\\", "/")).name


def with_callers(ptx: str, file: str) -> str:
    """Return PTX for a debugger, in which a place in a header says from which line of `file` its
    function was inlined.

    The compiler says so in other PTX only. In this one it orders nothing anew: what a call brings
    follows the line of the call. A function that begins in a header is no part of `file`.
    """
    own = next((one["number"] for one in _FILE_LINE.finditer(ptx) if one["path"] == file), None)
    call, is_first = "", True
    lines = []
    for line in ptx.splitlines(keepends=True):
        if _PTX_FUNCTION.match(line):
            call, is_first = "", True
        elif place := _PTX_PLACE.match(line):
            number, at, column = place.groups()
            if number == own:
                call = f"{own} {at} {column}" if at != "0" else call
            elif call and not is_first:
                line = f"{line.rstrip()}, inlined_at {call}\n"
            is_first = False
        lines.append(line)
    return "".join(lines)
