"""The card of a kernel: what the header of its .cu file says of a launch, held to both.

    card = read("conv1d_basic", kernels.source("conv1d_basic"))
    card.faults(launch)                       # [] where header, source and launch say the same

A header is prose. These phrases in it are the card, and all other words are for the reader alone:

    Arrays     N, P: float32, shape (n,); filter: float32, shape (FILTER_WIDTH,).
    Launch     block = (TILE_WIDTH, 1, 1); grid = (ceil(n / (TILE_WIDTH - 2R)), 1)
    Memory     shared: TILE_WIDTH * 4 bytes, static. constant: FILTER_WIDTH * 4 bytes in `filter`.
    Constants  TILE_WIDTH, FILTER_WIDTH by -D (defaults below). R = FILTER_WIDTH / 2.

A formula is one of whole numbers: `/` rounds down as in CUDA, `ceil(a / b)` rounds up, and `2R` and
`x^2` mean what they do in mathematics. A name in it is one of the source, whose value the compiler
says; a parameter of the kernel; one that the header defines (`R = ...`); or an extent of an array,
which the first formula that is only this name gives (`n` in `shape (n,)`). An extent of a block or
grid may be `any`. `x: float32, or half (HALF_IO), (n,)` is half where HALF_IO is 1; an array whose
type is not said, or "alike", has the type of the one before it.
"""

from __future__ import annotations

import ast
import functools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import kernels
from helpers.launch import Array, Launch, Scratch, TensorMap
from helpers.simulator.compile.compiler import CompileFailed, compile_source, parsed

FIELDS = ("Summary", "Computes", "Idea", "Arrays", "Launch", "Sizes", "Memory", "Constants",
          "Reference")  # fmt: skip
_DEFINING = ("Computes", "Arrays", "Launch", "Constants")
# What a header calls the cells of an array, what the source calls them, and NumPy's type.
TYPES: Mapping[str, tuple[tuple[str, ...], Any]] = {
    "float32": (("float",), np.float32),
    "half": (("half", "__half"), np.float16),
    "float2": (("float2",), np.complex64),
    "int32": (("int",), np.int32),
    "uint8": (("unsigned char",), np.uint8),
}
_WORDS_OF_TYPES = {"bool", "char", "short", "int", "long", "signed", "unsigned", "float", "double",
                   "half", "__half", "float2"}  # fmt: skip
_ASKED = "card_asks_"  # the values that the compiler is asked for
Values = dict[str, int]


class HeaderError(ValueError):
    """A header that cannot be read; the message says what is there, and what to give."""


class _Unknown(Exception):
    """A formula has a name without a value."""


@dataclass(frozen=True)
class Formula:
    """A formula of a header. text: as the header has it. names: all that it asks for."""

    text: str
    names: frozenset[str]
    tree: ast.expr

    @classmethod
    def read(cls, text: str) -> Formula:
        """Raise HeaderError for a text that is no formula."""
        python = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text).replace("^", "**").replace("/", "//")
        python = re.sub(r"\b(\d+) ?(?=[A-Za-z(])", r"\1*", python)
        python = re.sub(r"\bsizeof\((\w+)\)", r"sizeof_\1", python)
        python = python.replace("blockDim.", "blockDim_").replace("::", "__")
        try:
            tree = ast.parse(python.strip(), mode="eval").body
            names = frozenset(_names(tree))
        except SyntaxError:
            raise HeaderError(
                f"{text!r} is no formula: give whole numbers, names, + - * / ^, ceil(a / b), "
                "min(a, b) and max(a, b)"
            ) from None
        return cls(text.strip(), names, tree)

    @property
    def is_name(self) -> bool:
        """Whether it is a name and nothing else."""
        return isinstance(self.tree, ast.Name)

    def value(self, values: Mapping[str, int]) -> int:
        """Raise _Unknown where a name has no value."""
        return _value(self.tree, values)


def _names(tree: ast.expr) -> Iterator[str]:
    """Yield the names of a formula. Raises SyntaxError for what is none."""
    if isinstance(tree, ast.BinOp) and type(tree.op) in _OPERATIONS:
        yield from (*_names(tree.left), *_names(tree.right))
    elif isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        is_quotient = [isinstance(getattr(one, "op", None), ast.FloorDiv) for one in tree.args]
        if tree.func.id not in ("min", "max") and (tree.func.id, is_quotient) != ("ceil", [True]):
            raise SyntaxError
        for one in tree.args:
            yield from _names(one)
    elif isinstance(tree, ast.Name):
        yield tree.id
    elif not (isinstance(tree, ast.Constant) and type(tree.value) is int):
        raise SyntaxError


_OPERATIONS = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Pow: lambda a, b: a**b,
}


def _value(tree: Any, values: Mapping[str, int]) -> int:
    if isinstance(tree, ast.Constant):
        return int(tree.value)  # type: ignore[arg-type]
    if isinstance(tree, ast.Name):
        if tree.id not in values:
            raise _Unknown(tree.id)
        return values[tree.id]
    if isinstance(tree, ast.BinOp):
        return _OPERATIONS[type(tree.op)](_value(tree.left, values), _value(tree.right, values))
    if tree.func.id == "ceil":
        (quotient,) = tree.args
        return -(-_value(quotient.left, values) // _value(quotient.right, values))
    return {"min": min, "max": max}[tree.func.id](_value(one, values) for one in tree.args)


@dataclass(frozen=True)
class Cells:
    """An array of a header. kinds: of TYPES, the second one where the macro `switch` is 1."""

    kinds: tuple[str, ...]
    shape: tuple[Formula, ...]
    switch: str = ""


@dataclass(frozen=True)
class Card:
    """What a header says of a launch.

    arrays: by name. named: names of Arrays, those without a type and shape, too. block, grid: None
    for an extent that is any. shared: bytes by kind, "static" and "dynamic". symbols: bytes of
    constant memory by symbol. unless: macros that, if not 0, leave a symbol out. definitions:
    formulas by name. macros: words of Constants that may be macros. target: the architecture, such
    as "sm_90a".
    """

    name: str
    source: str
    arrays: Mapping[str, Cells]
    named: frozenset[str]
    block: tuple[Formula | None, ...]
    grid: tuple[Formula | None, ...]
    shared: Mapping[str, Formula]
    symbols: Mapping[str, Formula]
    unless: Mapping[str, str]
    definitions: Mapping[str, Formula]
    macros: frozenset[str]
    target: str

    def faults(self, one: Launch) -> list[str]:
        """Return what header, source and launch say differently, a sentence each."""
        try:
            return list(_Comparison(self, one).faults())
        except CompileFailed as error:
            return [f"the source does not know all names of the header: {error}"]
        except _Unknown as name:
            return [f"Arrays has {name}, and nothing says what it is"]

    @property
    def formulas(self) -> Iterator[Formula]:
        """All of its formulas."""
        for cells in self.arrays.values():
            yield from cells.shape
        yield from (one for one in (*self.block, *self.grid) if one)
        for several in (self.shared, self.symbols, self.definitions):
            yield from several.values()


class _Comparison:
    """A card beside a launch, and beside the program that the launch compiles."""

    def __init__(self, card: Card, one: Launch):
        self.card, self.one = card, one
        words = set(re.findall(r"\w+", _whole(card.source)))
        names = {name for formula in card.formulas for name in formula.names}
        names |= {cells.switch for cells in card.arrays.values()} | set(card.definitions)
        names |= set(card.unless.values())
        asked = {name: _in_source(name) for name in names if _is_constant(name)}
        lines = "".join(
            f"\n__device__ const int {_ASKED}{name} = (int)({text});"
            for name, text in sorted(asked.items())
            if set(re.findall(r"\w+", text)) - {"sizeof"} <= words
        )
        compiled = compile_source(f"{card.source}{lines}\n", one.options, f"{card.name}.cu")
        module = parsed(compiled.ptx)
        (kernel,) = (each for each in compiled.kernels if each.name == card.name)
        self.parameters, self.function = kernel.parameters, module.functions[kernel.mangled]
        variables = compiled.debug.variables
        self.variables = {v.name: v for v in variables if v.space in ("constant", "device")}
        static = sum(v.size for v in variables if v.space == "shared")
        self.shared = {"static": static, "dynamic": one.shared}
        self.is_dynamic = bool(compiled.dynamic_shared)
        self.values: Values = {
            re.sub(rf".*{_ASKED}", "", name): int.from_bytes(each.data or b"", "little")
            for name, each in module.variables.items()
            if _ASKED in name
        }
        for parameter, value in zip(self.parameters, one.arguments, strict=True):
            if isinstance(value, np.integer):
                self.values[parameter.name] = int(value)
        self.values |= {f"blockDim_{a}": n for a, n in zip("xyz", one.block, strict=True)}

    def faults(self) -> Iterator[str]:
        card = self.card
        pointers = {one.name for one in self.parameters if one.is_pointer}
        if missing := (pointers | set(self.one.constants)) - card.named:
            yield f"Arrays lacks {', '.join(sorted(missing))}"
        mapped = {name for name in card.arrays if f"{name.lower()}_map" in pointers}
        if spare := set(card.arrays) - pointers - set(self.variables) - mapped:
            yield f"Arrays has {', '.join(sorted(spare))}, and the source does not"
        for given in (True, False):  # first the extents that are names, which gives them values
            yield from self._shapes(given)
            yield from self._definitions(given)
        yield from self._types()
        yield from self._extents("block", card.block, self.one.block)
        yield from self._extents("grid", card.grid, self.one.grid)
        bounds = self.function.directives.get("maxntid")
        if bounds and math.prod(bounds) != math.prod(self.one.block):
            yield f"the source has bounds of {math.prod(bounds)} threads, block {self.one.block}"
        yield from self._memory()
        yield from self._macros()

    def _held(self) -> Iterator[tuple[str, Any]]:
        """Yield the arguments of the launch and its constants, by names of the source."""
        for parameter, value in zip(self.parameters, self.one.arguments, strict=True):
            is_map = isinstance(value, TensorMap)
            yield (value.of.name, value.of) if is_map else (parameter.name, value)
        yield from self.one.constants.items()

    def _shapes(self, of_names: bool) -> Iterator[str]:
        for name, value in self._held():
            if name not in self.card.arrays or not isinstance(value, (Array, Scratch, np.ndarray)):
                continue
            shape, entries = tuple(value.shape), getattr(value, "entries", None)
            if entries:
                shape = (entries[1] - entries[0], *shape[1:])
            cells = self.card.arrays[name]
            if len(cells.shape) != len(shape):
                if not of_names:
                    yield from self._as_one_row(name, cells.shape, math.prod(shape))
                continue
            for formula, extent in zip(cells.shape, shape, strict=True):
                if formula.is_name == of_names:
                    yield from self._same(f"{name} has the extent", formula, extent)

    def _as_one_row(self, name: str, extents: Sequence[Formula], cells: int) -> Iterator[str]:
        """Compare the cells of an array that the launch has with other axes. One extent may be a
        name without a value.
        """
        open_ones = [one for one in extents if one.is_name and one.text not in self.values]
        known = math.prod(one.value(self.values) for one in extents if one not in open_ones)
        if open_ones and not cells % known:
            self.values[open_ones[0].text] = cells // known
        elif known != cells:
            yield f"{name} has {known:,} cells by the header, and {cells:,} in the launch"

    def _definitions(self, of_names: bool) -> Iterator[str]:
        for name, formula in self.card.definitions.items():
            if formula.is_name == of_names and name in self.values:
                yield from self._same(f"{name} is", formula, self.values[name])
            elif not formula.names - set(self.values):
                self.values.setdefault(name, formula.value(self.values))

    def _same(self, what: str, formula: Formula, value: int) -> Iterator[str]:
        """Yield a fault where a formula has another value. A size without one takes this value."""
        try:
            said = formula.value(self.values)
        except _Unknown as name:
            if formula.is_name and not _is_constant(formula.text):
                self.values[formula.text] = value
            else:
                yield f"{what} {formula.text}, and nothing says what {name} is"
            return
        if said != value:
            yield f"{what} {formula.text} = {said:,} by the header, and {value:,} in fact"

    def _types(self) -> Iterator[str]:
        types = {one.name: (one.type_text, one.element_bytes) for one in self.parameters}
        types |= {name: (one.element, one.element_bytes) for name, one in self.variables.items()}
        for name, value in self._held():
            if name not in self.card.arrays or not isinstance(value, (Array, Scratch, np.ndarray)):
                continue
            cells = self.card.arrays[name]
            kind = cells.kinds[bool(cells.switch and self.values.get(cells.switch))]
            known, dtype = TYPES[kind]
            said, size = types.get(name, (known[0], np.dtype(dtype).itemsize))
            there = re.sub(r"\b(const|__restrict__|volatile)\b|\*", "", said).strip()
            # A type of the source's own, such as Cell, is only held to its size.
            is_other = there not in known and set(there.split()) <= _WORDS_OF_TYPES
            if is_other or np.dtype(dtype).itemsize != size or np.dtype(value.dtype) != dtype:
                yield f"{name} is {kind} by the header, {there} in the source, {value.dtype} given"

    def _extents(
        self, what: str, formulas: Sequence[Formula | None], extents: Sequence[int]
    ) -> Iterator[str]:
        for axis, formula, extent in zip("xyz", formulas, extents, strict=True):
            if formula is not None:
                yield from self._same(f"the {what} along {axis} is", formula, extent)

    def _memory(self) -> Iterator[str]:
        for kind, size in self.shared.items():
            there = self.is_dynamic if kind == "dynamic" else size > 0
            if there != (kind in self.card.shared):
                yield f"Memory and source differ: {kind} shared memory, {size:,} bytes of it"
            elif there:
                yield from self._same(f"{kind} shared memory is", self.card.shared[kind], size)
        there = {name: v.size for name, v in self.variables.items() if v.space == "constant"}
        unless = self.card.unless
        said = {one for one in self.card.symbols if not self.values.get(unless.get(one, ""))}
        if said != set(there):
            yield f"Memory has the symbols {sorted(said)}, and the source {sorted(there)}"
        for name in said & set(there):
            what = f"constant memory in {name} is"
            yield from self._same(what, self.card.symbols[name], there[name])

    def _macros(self) -> Iterator[str]:
        source, whole = self.card.source, _whole(self.card.source)
        own = set(re.findall(r"^#ifndef (\w+)", source, re.MULTILINE))
        if missing := own - self.card.macros:
            yield f"Constants lacks {', '.join(sorted(missing))}, which -D can set"
        set_by = {option[2:].partition("=")[0] for option in self.one.options if option[:2] == "-D"}
        if unknown := (set_by | self.card.macros) - set(re.findall(r"\w+", whole)):
            yield f"the source has no {', '.join(sorted(unknown))}"
        targets = [option for option in self.one.options if option.startswith("-arch=")]
        if targets != [f"-arch={self.card.target}"] * bool(self.card.target):
            yield f"the launch has {targets}, and the header is for {self.card.target!r}"


def _in_source(name: str) -> str:
    """Return what the name of a formula is in CUDA: "sizeof_Cell", "Windows__SLOT"."""
    return f"sizeof({name[7:]})" if name.startswith("sizeof_") else name.replace("__", "::")


def _is_constant(name: str) -> bool:
    """Whether the source must know a name of a formula; other names are sizes of the problem."""
    return name.startswith("sizeof_") or (len(name) > 1 and name.rpartition("__")[2].isupper())


@functools.cache
def _whole(source: str) -> str:
    """Return the source below its header, with the headers that it includes."""
    code = re.sub(r"\A(//.*\n)+", "", source)
    for name in re.findall(r'^#include "(.+)"', code, re.MULTILINE):
        code += _whole((kernels.FOLDER / name).read_text("utf-8"))
    return re.sub(r"//.*", "", code)


# --------------------------------------------------------------------------------------------------
# Reading


def read(name: str, source: str) -> Card:
    """Return the card of a source. Raises HeaderError where its header cannot be read."""
    try:
        fields = header(name, source)
        if list(fields) != list(FIELDS):
            raise HeaderError(f"its header has the fields {list(fields)}; give {list(FIELDS)}")
        memory, constants = fields["Memory"], fields["Constants"]
        sizes = re.findall(r"constant: (.+?) bytes in `(\w+)`(?: where (\w+) is 0)?", memory)
        shared = dict(re.findall(r"shared, (static|dynamic): (.+?) bytes", memory))
        shared |= {k: size for size, k in re.findall(r"shared: (.+?) bytes, (\w+)", memory)}
        target = re.search(r"Compile for (sm_\w+)", constants)
        return Card(
            name,
            source,
            dict(_arrays(fields["Arrays"])),
            frozenset(re.findall(r"\w+(?=(?:, \w+)*: )", fields["Arrays"])),
            tuple(_three(fields["Launch"], "block")),
            tuple(_three(fields["Launch"], "grid")),
            {kind: Formula.read(size) for kind, size in shared.items()},
            {symbol: Formula.read(size) for size, symbol, _ in sizes},
            {symbol: macro for _, symbol, macro in sizes if macro},
            dict(_definitions(" ".join(fields[one] for one in FIELDS if one in _DEFINING))),
            frozenset(re.findall(r"\b[A-Z][A-Z_][A-Z0-9_]*\b", constants)),
            target[1] if target else "",
        )
    except HeaderError as error:
        raise HeaderError(f"{name}.cu: {error}") from None


def header(name: str, source: str) -> dict[str, str]:
    """Return the fields of a header by name, with "Summary": a space joins continued lines.

    Raises HeaderError if the first line is not ``// <name>.cu -- summary``.
    """
    lines = source.splitlines()
    first = re.fullmatch(rf"// {re.escape(name)}\.cu -- (\S.*)", lines[0] if lines else "")
    if first is None:
        raise HeaderError(f"its first line is {lines[:1]}; give // {name}.cu -- <one line>")
    parts, current = {"Summary": [first[1]]}, "Summary"
    for line in lines[1:]:
        if not line.startswith("//"):
            break
        if field := re.fullmatch(r"// ([A-Z][a-z]+) {2,}(\S.*)", line):
            current = field[1]
            parts[current] = [field[2]]
        elif text := line[2:].strip():
            parts[current].append(text)
    return {key: " ".join(text) for key, text in parts.items()}


def _arrays(text: str) -> Iterator[tuple[str, Cells]]:
    kinds = "|".join(TYPES)
    kind = rf"(?:({kinds}|alike)(?:, or ({kinds}) \((\w+)\))?, )?"
    last, switch = ("float32",), ""
    for one in re.finditer(rf"((?:\w+, )*\w+): {kind}(?:shapes? )?(?=\()", text):
        if one[2] and one[2] != "alike":  # else it has the type of the array before
            last, switch = (one[2], one[3] or one[2]), one[4] or ""
        shape = tuple(map(Formula.read, _split(text[one.end() :])))
        for name in one[1].split(", "):
            yield name, Cells(last, shape, switch)


def _three(text: str, what: str) -> Iterator[Formula | None]:
    """Yield the extents of a block or grid along x, y and z; None for "any"."""
    start = text.find(f"{what} = (")
    if start < 0:
        raise HeaderError(f"its field Launch is {text!r}; give `{what} = (x, y, z)`")
    for extent in (*_split(text[start + len(f"{what} = ") :]), "1", "1")[:3]:
        yield None if extent == "any" else Formula.read(extent)


def _split(text: str) -> list[str]:
    """Return what a tuple at the beginning of a text holds: "(n, ceil(m / 2)) ..."."""
    depth, found = 0, [""]
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if not depth:
            return [one.strip() for one in found if one.strip()]
        if depth == 1 and re.match(r",[ )]", text[place:]):  # and not the comma of 1,024
            found.append("")
        elif place:
            found[-1] += sign
    raise HeaderError(f"a bracket is not closed in {text!r}")


def _definitions(text: str) -> Iterator[tuple[str, Formula]]:
    """Yield the formulas of "NAME = formula", each as long as it can be read. A number is none:
    "PARTS = 1" is a case.
    """
    for one in re.finditer(r"\b([A-Za-z]\w*) = (?!\()", text):
        rest = text[one.end() :]
        for end in sorted((cut.start() for cut in re.finditer(r"\W|$", rest)), reverse=True):
            if re.search(r"\d [A-Za-z]", rest[:end]):
                continue  # "1 only"
            try:
                formula = Formula.read(rest[:end])
            except HeaderError:
                continue
            if formula.names:
                yield one[1], formula
            break
