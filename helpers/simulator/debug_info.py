"""Reads names, types and shapes of a program's kernels and variables from the debug information.

The optimised PTX has only symbols and sizes. If the compiler translates the same source for
debugging (`-G`), its PTX has DWARF sections as text: kernels with their parameters, variables with
their types. This module reads them and matches both texts by symbol.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace

from .dwarf import UNKNOWN, Dwarf, Type
from .mangled import local_name, plain_name, source_name
from .ptx.parse import Function, Module
from .ptx.parse import Variable as Symbol
from .ptx.syntax import TYPE_BYTES
from .ptx_places import short_path

_HALVES = ("half", "__half")  # structures to the compiler, numbers to a source
_SPACES = {"shared": "shared", "const": "constant", "global": "device", "local": "local"}
_REFERENCES = ("texref", "samplerref", "surfref")  # names of objects, which have no bytes
_QUALIFIERS = re.compile(r"\b(?:const|volatile) ")


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


def read(module: Module, debug_ptx: str, file: str) -> tuple[tuple[KernelInfo, ...], DebugInfo]:
    """Return the kernels and variables of a module, named as in the DWARF of `debug_ptx` ("" if
    there is none).
    """
    dwarf = Dwarf(debug_ptx)
    variables = tuple(_variables(module, dwarf))
    members = tuple(_members(variables, dwarf))
    fields = tuple(_fields(dwarf))
    return tuple(_kernels(module, dwarf, file)), DebugInfo(variables, members, fields)


def functions_with_lines(debug_ptx: str, file: str) -> list[tuple[str, str, int]]:
    """Return name, file and line of each function that a kernel of a debug compilation calls,
    directly or through other functions.
    """
    dwarf, module = Dwarf(debug_ptx), Module(debug_ptx)
    reached: set[str] = set()
    waiting = module.kernels
    while waiting:
        new = _functions_named_in(module, waiting.pop()) - reached
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


def _functions_named_in(module: Module, name: str) -> set[str]:
    """Return the functions that a function of the module names: it calls them or hands them on."""
    has_code = module.functions[name].text is not None
    return module.body(name).symbols & module.functions.keys() if has_code else set()


def _kernels(module: Module, dwarf: Dwarf, file: str) -> Iterator[KernelInfo]:
    for mangled in module.kernels:
        entry = dwarf.entry_of(mangled)
        parameters = tuple(_parameters(module.functions[mangled], dwarf))
        own = entry.text("name") if entry is not None else ""
        where = dwarf.files.get(entry.number("file"), file) if entry is not None else file
        yield KernelInfo(
            source_name(mangled, own),
            mangled,
            parameters,
            entry.number("line") if entry else 0,
            short_path(where, file),
        )


def _parameters(kernel: Function, dwarf: Dwarf) -> Iterator[Parameter]:
    named, layouts = dwarf.parameters(kernel.name), dwarf.layouts_of_parameters(kernel.name)
    count = len(kernel.parameters)
    if len(named) != count:
        named, layouts = [("", UNKNOWN)] * count, [""] * count
    for number, (symbol, (name, kind), layout) in enumerate(
        zip(kernel.parameters, named, layouts, strict=True)
    ):
        yield _parameter(name or f"argument {number}", kind, symbol, layout)


def _parameter(name: str, kind: Type, symbol: Symbol, layout: str) -> Parameter:
    floating = symbol.type.startswith("f")
    text = kind.text
    if kind.is_const:  # this `const` is of the parameter itself; the caller does not see it
        text = (
            text.removesuffix(" const") if kind.target is not None else text.removeprefix("const ")
        )
    target = kind.target
    known = bool(text)
    return Parameter(
        name,
        text,
        symbol.size,
        symbol.offset,
        is_pointer=target is not None if known else symbol.size == 8 and not floating,
        is_floating=kind.floating or text in _HALVES if known else floating,
        is_const=target is not None and target.is_const,
        element_bytes=target.total if target is not None else 0,
        layout=layout,
        used=target.used.hex() if target is not None else "",
    )


def _variables(module: Module, dwarf: Dwarf) -> Iterator[Variable]:
    taken: dict[tuple[str, str, int], int] = {}
    inner = {name: module.variables_of(name) for name in module.functions}
    declared = []
    for symbol in (*module.variables.values(), *(one for some in inner.values() for one in some)):
        if symbol.space == "local" or symbol.type in _REFERENCES:
            continue
        known, function = dwarf.of_symbol(symbol.name), ""
        name = plain_name(symbol.name)
        if inside := local_name(symbol.name):
            encoded = inside[0]
            names = (f"_Z{encoded}", plain_name(f"_Z{encoded}"))
            function = next((n for n in names if n in dwarf.functions), names[0])
            known = known or _same_size(dwarf.variables_in(function), name, symbol, function, taken)
        kind = known[1] if known is not None else UNKNOWN
        if symbol.size and kind.total != symbol.size:
            kind = UNKNOWN
        variable = _variable(name, symbol, kind, _SPACES[symbol.space], function)
        layout = dwarf.layout_of_symbol(symbol.name) if kind is not UNKNOWN else ""
        declared.append(replace(variable, layout=layout))
    yield from declared
    static = {(v.function, v.name, v.nbytes) for v in declared}
    frames = {
        name: symbol.name
        for name, some in inner.items()
        for symbol in some
        if symbol.space == "local"
    }
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
    symbol: Symbol,
    function: str,
    taken: dict[tuple[str, str, int], int],
) -> tuple[str, Type] | None:
    """Return the variable of this name and size. If one function has several, returns the first
    that no other symbol has.
    """
    fitting = [(n, kind) for n, kind, _ in variables if n == name and kind.total == symbol.size]
    if not fitting:
        return None
    key = (function, name, symbol.size)
    taken[key] = taken.get(key, 0) + 1
    return fitting[min(taken[key], len(fitting)) - 1]


def _variable(name: str, symbol: Symbol, kind: Type, space: str, function: str) -> Variable:
    if kind.text and kind.nbytes:
        text = kind.text if kind.target is not None else _QUALIFIERS.sub("", kind.text)
        return Variable(
            name,
            symbol.name,
            text,
            kind.nbytes,
            kind.extents,
            space,
            function,
            symbol.size,
            used=kind.used.hex(),
        )
    # The PTX declares every array and structure as bytes. The alignment then tells most about it.
    declared = TYPE_BYTES[symbol.type]
    width = declared if declared > 1 else symbol.align
    if symbol.size == 0:
        return Variable(name, symbol.name, "", width, (0,), space, function, 0)
    width = width if symbol.size % width == 0 else 1
    extents = (symbol.size // width,) if symbol.size > declared else ()
    return Variable(name, symbol.name, "", width, extents, space, function, symbol.size)
