"""Reads names, types and shapes of a program's kernels and variables from the debug information.

The optimised PTX has only symbols and sizes. If the compiler translates the same source for
debugging (`-G`), its PTX has DWARF sections as text: kernels with their parameters, variables with
their types. This module reads them and matches both texts by symbol.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..ptx.declarations import DebugInfo, Field, KernelInfo, Parameter, Variable
from ..ptx.parse import Function, Module
from ..ptx.parse import Variable as Symbol
from ..ptx.syntax import TYPE_BYTES
from .dwarf import UNKNOWN, Dwarf, Type
from .mangled import local_name, plain_name, source_name
from .ptx_places import short_path

_HALVES = ("half", "__half")  # structures to the compiler, numbers to a source
_SPACES = {"shared": "shared", "const": "constant", "global": "device", "local": "local"}
_REFERENCES = ("texref", "samplerref", "surfref")  # names of objects, which have no bytes
_QUALIFIERS = re.compile(r"\b(?:const|volatile) ")


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
    declared = [one for name in sorted(reached) if (one := dwarf.declaration(name)) is not None]
    return [(name, short_path(path or file, file), line) for name, path, line in declared]


def _functions_named_in(module: Module, name: str) -> set[str]:
    """Return the functions that a function of the module names: it calls them or hands them on."""
    has_code = module.functions[name].text is not None
    return module.body(name).symbols & module.functions.keys() if has_code else set()


def _kernels(module: Module, dwarf: Dwarf, file: str) -> Iterator[KernelInfo]:
    for mangled in module.kernels:
        own, path, line = dwarf.declaration(mangled) or ("", "", 0)
        parameters = tuple(_parameters(module.functions[mangled], dwarf))
        where = short_path(path or file, file)
        yield KernelInfo(source_name(mangled, own), mangled, parameters, line, where)


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
                    name, frames.get(function, ""), kind.text, kind.nbytes, kind.extents, "local",
                    function, kind.total,
                )


def _members(variables: Iterable[Variable], dwarf: Dwarf) -> Iterator[Variable]:
    """Yield the arrays inside variables that are structures."""
    for variable in variables:
        kind = dwarf.structures.get(variable.element)
        is_plain = not variable.extents and variable.space != "local"
        if kind is None or not is_plain or kind.nbytes != variable.size:
            continue
        for name, offset, inner in kind.members:
            if name and inner.extents and inner.nbytes and offset + inner.total <= variable.size:
                yield Variable(
                    f"{variable.name}.{name}", variable.symbol, inner.text, inner.nbytes,
                    inner.extents, variable.space, variable.function, inner.total, offset=offset,
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
