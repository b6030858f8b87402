"""PTX text to modules, functions and statements.

    module = Module(text)
    module.kernels                      # names of the .entry functions
    body = module.body("conv1d_basic")  # its statements, registers, labels and variables: parsed when first asked for

A statement's operands are resolved here, because names have scopes: a register is its number in the function (an `int`), a
vector a `list` of operands, everything else a small record of its own class. Nothing here knows what an instruction does.

Raises ParseError where the text is not what NVIDIA's compiler writes or takes in inline assembly.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

TYPE_BYTES = {  # of one value; a predicate has no bytes of its own
    "pred": 0,
    **{f"{kind}{bits}": bits // 8 for kind in "bus" for bits in (8, 16, 32, 64)},
    **{"b128": 16, "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "f16x2": 4, "bf16x2": 4, "tf32": 4},
}


class ParseError(ValueError):
    """Text that is not PTX as this reader knows it; the message quotes it."""


class Place(NamedTuple):
    """A line and column of the source. `line` 0 is none. `inlined`: (file, line) of the calls around it, innermost first."""

    file: str
    line: int
    inlined: tuple[tuple[str, int], ...] = ()
    column: int = 0


# --------------------------------------------------------------------------------------------------------------------
# Operands


@dataclass(slots=True, frozen=True)
class Literal:
    """A constant: its bits. `width` is 4 of 0f..., 8 of 0d... and of decimal fractions, 0 of an integer (of any width)."""

    bits: int
    width: int = 0


@dataclass(slots=True, frozen=True)
class Special:
    """A special register, by its name without %."""

    name: str


@dataclass(slots=True, frozen=True)
class Symbol:
    """The address of a variable, parameter or function, and what is added to it."""

    name: str
    offset: int = 0


@dataclass(slots=True, eq=False)
class Variable:
    """A variable of a state space ("entry": a kernel's parameter; "param": one of a call). `data`: its initial bytes, None where it has none. `addresses`: (offset, symbol, addend)
    of the 64-bit words in it that hold an address. `size` 0 of an extern array without a size."""

    name: str
    space: str
    size: int
    align: int
    type: str
    linkage: str = ""
    data: bytes | None = None
    addresses: tuple[tuple[int, str, int], ...] = ()
    managed: bool = False
    offset: int = -1  # of local and parameter variables: in the function's local memory


@dataclass(slots=True, frozen=True)
class Address:
    """[base + offset], and for tensors [base, {coordinates}]. A base is a register, a Symbol, a Variable of the function or None."""

    base: int | Symbol | Variable | None
    offset: int
    coordinates: tuple[Operand, ...] = ()


@dataclass(slots=True, frozen=True)
class Negated:
    """!predicate, or -register in a video instruction."""

    register: int


@dataclass(slots=True, frozen=True)
class Pair:
    """first|second: two results."""

    first: Operand
    second: Operand


@dataclass(slots=True, frozen=True)
class Part:
    """Some bytes of a register, as in %r1.b0 or %r1.h1 of the video instructions."""

    register: int
    selector: str


@dataclass(slots=True, frozen=True)
class Group:
    """(a, b, ...): the arguments or the results of a call."""

    members: tuple[Operand, ...]


@dataclass(slots=True, eq=False)
class Label:
    """A place in the code; `statement` is the index of the statement behind it, -1 until it is found."""

    name: str
    statement: int = -1


class Nothing:
    """The operand `_`."""


NOTHING = Nothing()
Operand = int | Literal | Special | Symbol | Variable | Address | Negated | Pair | Part | Group | Label | Nothing | list


@dataclass(slots=True)
class Statement:
    """One instruction. guard: register of its predicate or -1; negated: it runs where the predicate is false."""

    opcode: str
    operands: list[Operand]
    place: int
    guard: int = -1
    negated: bool = False


# --------------------------------------------------------------------------------------------------------------------
# A function's body

_STATEMENT = re.compile(
    r"""\s*(?:
    ([A-Za-z_$%][\w$]*)\s*:(?!:)                                      # 1 label
    |(?:@\s*(!?)\s*([\w$%]+)\s+)?([a-z][\w.:]*)\s*([^;]*);            # 2 "!" 3 guard 4 opcode 5 operands
    |\.loc\s+(\d+)\s+(\d+)\s+(\d+)[ \t]*([^\n]*)                      # 6 file 7 line 8 column 9 where it is inlined
    |([{}])                                                           # 10 scope
    |\.(\w+)\s*([^;]*);                                               # 11 directive 12 what it says
    )""",
    re.VERBOSE,
)
_INLINED = re.compile(r"inlined_at\s+(\d+)\s+(\d+)\s+(\d+)")
_OPERAND = re.compile(r"\s*(\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,\s{\[(][^,]*?)\s*(?:,|$)")
_REGISTERS = re.compile(r"\.(?:v[24]\s*\.)?(\w+)\s+(.*)", re.DOTALL)
_FAMILY = re.compile(r"([^\s<]+)\s*<\s*(\d+)\s*>")
_NUMBER = re.compile(r"[-+~!]?\s*(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+)U?")
_FLOAT = re.compile(r"0([fFdD])([0-9a-fA-F]+)")
_DECIMAL = re.compile(r"[-+]?\d*\.?\d*(?:[eE][-+]?\d+)?")
_SELECTOR = re.compile(r"(.+)\.([bh]\d+)")
_NAME = re.compile(r"[A-Za-z_$%][\w$]*(?:\.[a-z])?")
_SUM = re.compile(r"\s*([A-Za-z_$%][\w$]*)\s*([+-])\s*([-+]?\s*\w+)\s*")


@dataclass
class Body:
    """A function's code. widths: bytes of a value of each register, 0 of a predicate."""

    name: str
    statements: list[Statement] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)  # .local and .shared
    targets: dict[str, list[Label]] = field(default_factory=dict)  # of .branchtargets
    symbols: set[str] = field(default_factory=set)  # names from outside
    local_bytes: int = 0  # of formals, .local variables and the .param variables of calls
    lines: list[int] = field(default_factory=list)  # of each statement, in the PTX


def integer(text: str) -> int:
    """The value of PTX's integer constants: decimal, 0x, 0b and octal, with U or a sign."""
    digits = text.replace(" ", "").rstrip("U")
    sign = 1
    if digits[0] in "+-~!":
        value = integer(digits[1:])
        return {"+": value, "-": -value, "~": ~value, "!": int(not value)}[digits[0]]
    if len(digits) > 1 and digits[0] == "0" and digits.isdigit():
        return int(digits, 8)
    return sign * int(digits, 0)


def split(text: str) -> list[str]:
    """Operands of an instruction: commas inside brackets do not part them."""
    if not any(bracket in text for bracket in "{[("):
        return [one.strip() for one in text.split(",")] if text and not text.isspace() else []
    found, position = [], 0
    text = text.strip()
    while position < len(text):
        match = _OPERAND.match(text, position)
        if match is None:
            raise ParseError(f"operands {text!r}")
        found.append(match[1])
        position = match.end()
    return found


class _BodyReader:
    """Reads one function. `names` holds what each name means now; a scope's end restores what its declarations hid."""

    def __init__(self, module: Module, function: Function):
        self.body = Body(function.name)
        self.module = module
        self.names: dict[str, Operand] = {}
        self.hidden: list[list[tuple[str, Operand | None]]] = [[]]  # for each open scope
        self.waiting: list[list[Label]] = [[]]  # labels that were named and not yet met, for each open scope
        self.labels: list[dict[str, Label]] = [{}]
        self.marks: list[int] = []  # local memory in use where a scope began
        self.chains: dict[tuple[str, str, str], tuple[tuple[str, int], ...]] = {}
        self.place_numbers: dict[object, int] = {}
        self.last_label = ""
        self.used = 0
        for formal in function.results + function.parameters:
            self.names[formal.name] = formal
        if not function.kernel:
            self.used = function.parameter_bytes
        self.body.local_bytes = self.used

    def read(self, text: str, line: int = 1) -> Body:
        body, place = self.body, self.place("0", "0", "0", "")
        statements, names, position, end = body.statements, self.names, 0, len(text)
        match_at, operand = _STATEMENT.match, self.operand
        lines, counted = body.lines, 0
        while True:
            match = match_at(text, position)
            if match is None:
                if text[position:].strip():
                    raise ParseError(f"statement {text[position:position + 60].strip()!r} of {body.name}")
                break
            position = match.end()
            kind = match.lastindex
            if kind == 5:
                opcode, rest = match[4], match[5]
                statement = Statement(opcode, [], place)
                if match[3] is not None:
                    statement.guard = self.register(match[3])
                    statement.negated = match[2] == "!"
                if opcode.startswith(("bra", "brx")):
                    statement.operands = self.branch(opcode, rest)
                else:
                    statement.operands = [
                        found if (found := names.get(one)).__class__ is int else operand(one) for one in split(rest)
                    ]
                statements.append(statement)
                line += text.count("\n", counted, counted := match.start(4))
                lines.append(line)
            elif kind == 9:
                place = self.place(match[6], match[7], match[8], match[9])
            elif kind == 1:
                self.label(match[1])
            elif kind == 10:
                self.open() if match[10] == "{" else self.close()
            else:
                self.directive(match[11], match[12])
            if position >= end:
                break
        for one in self.waiting[0]:
            raise ParseError(f"no label {one.name!r} in {body.name}")
        return body

    # ---- places

    def place(self, file: str, line: str, column: str, rest: str) -> int:
        """The number of a place. `rest` says where it is inlined; a chain of calls goes on at the place that is named there."""
        key = (file, line, column)
        number = self.place_numbers.get(key) if not rest else None
        if number is not None:
            self.chains.pop(key, None)
            return number
        files, inlined = self.module.files, ()
        if rest and (match := _INLINED.search(rest)):
            outer = match[1], match[2], match[3]
            inlined = ((files.get(int(outer[0]), ""), int(outer[1])), *self.chains.get(outer, ()))
        self.chains[key] = inlined
        found = Place(files.get(int(file), ""), int(line), inlined, int(column))
        number = self.place_numbers.setdefault(found, len(self.body.places))
        if number == len(self.body.places):
            self.body.places.append(found)
        if not inlined:
            self.place_numbers[key] = number
        return number

    # ---- scopes

    def open(self) -> None:
        self.hidden.append([])
        self.waiting.append([])
        self.labels.append({})
        self.marks.append(self.used)

    def close(self) -> None:
        if not self.marks:
            raise ParseError(f"a brace too many in {self.body.name}")
        for name, before in reversed(self.hidden.pop()):
            if before is None:
                del self.names[name]
            else:
                self.names[name] = before
        self.labels.pop()
        self.waiting[-2].extend(self.waiting.pop())
        # A label of an enclosing scope may already be known.
        self.waiting[-1] = [one for one in self.waiting[-1] if not self.find_label(one)]
        self.used = self.marks.pop()

    def declare(self, name: str, meaning: Operand) -> None:
        self.hidden[-1].append((name, self.names.get(name)))
        self.names[name] = meaning

    def find_label(self, one: Label) -> bool:
        known = self.labels[-1].get(one.name)
        if known is not None:
            one.statement = known.statement
        return known is not None

    def label(self, name: str) -> None:
        self.labels[-1][name] = Label(name, len(self.body.statements))
        if self.waiting[-1]:
            self.waiting[-1] = [one for one in self.waiting[-1] if not self.find_label(one)]
        self.last_label = name

    def reference(self, name: str) -> Label:
        one = Label(name)
        # A label of an outer scope waits for this scope's end: one of the same name may still come in this one.
        if not self.find_label(one):
            self.waiting[-1].append(one)
        return one

    # ---- declarations

    def directive(self, kind: str, text: str) -> None:
        if kind == "reg":
            self.registers(text)
        elif kind in ("local", "param", "shared", "global", "const"):
            self.variable(kind, text)
        elif kind == "branchtargets":
            self.body.targets[self.last_label] = [self.reference(one) for one in split(text)]
        elif kind not in ("callprototype", "calltargets", "pragma", "noreturn"):
            raise ParseError(f"directive .{kind} in {self.body.name}")

    def registers(self, text: str) -> None:
        match = _REGISTERS.match(text)
        if match is None or match[1] not in TYPE_BYTES:
            raise ParseError(f"registers {text!r} in {self.body.name}")
        # Values of 8 bits live in registers of 16.
        width = max(2, TYPE_BYTES[match[1]]) if match[1] != "pred" else 0
        widths, names = self.body.widths, self.names
        for one in match[2].split(","):
            family = _FAMILY.search(one)
            if family is None:
                self.declare(one.strip(), len(widths))
                widths.append(width)
                continue
            prefix, count, first = family[1], int(family[2]), len(widths)
            if len(self.hidden) > 1:
                for k in range(count):
                    self.declare(f"{prefix}{k}", first + k)
            else:
                names.update(zip([f"{prefix}{k}" for k in range(count)], range(first, first + count)))
            widths.extend([width] * count)

    def variable(self, space: str, text: str) -> None:
        one = read_variable(space, text)
        self.declare(one.name, one)
        if space in ("local", "param"):
            align = max(16, one.align)
            one.offset = -(-self.used // align) * align
            self.used = one.offset + one.size
            self.body.local_bytes = max(self.body.local_bytes, -(-self.used // 16) * 16)
        if space != "param":
            self.body.variables.append(one)

    # ---- operands

    def register(self, name: str) -> int:
        found = self.names.get(name)
        if not isinstance(found, int):
            raise ParseError(f"no register {name!r} in {self.body.name}")
        return found

    def branch(self, opcode: str, text: str) -> list[Operand]:
        operands = split(text)
        if opcode.startswith("brx"):
            return [self.operand(operands[0]), Symbol(operands[1])]
        return [self.reference(operands[0])]

    def operand(self, text: str) -> Operand:
        found = self.names.get(text)
        if found is not None:
            return found
        first = text[:1]
        if first == "[":
            return self.address(text[1:-1])
        if first == "{":
            return [self.operand(one) for one in split(text[1:-1])]
        if first == "(":
            return Group(tuple(self.operand(one) for one in split(text[1:-1])))
        if text == "_":
            return NOTHING
        if "|" in text:
            left, _, right = text.partition("|")
            return Pair(self.operand(left.strip()), self.operand(right.strip()))
        if first in "0123456789-+~" or (first == "!" and text[1:2].isdigit()):
            return self.number(text)
        if first in "!-":
            return Negated(self.register(text[1:].strip()))
        return self.named(text)

    def number(self, text: str) -> Operand:
        if match := _FLOAT.fullmatch(text):
            if len(match[2]) == (8 if match[1] in "fF" else 16):
                return Literal(int(match[2], 16), 4 if match[1] in "fF" else 8)
        elif _NUMBER.fullmatch(text):
            return Literal(integer(text))
        elif text[0] == "-" and isinstance(self.names.get(text[1:].strip()), int):
            return Negated(self.register(text[1:].strip()))
        elif _DECIMAL.fullmatch(text):
            return Literal(int.from_bytes(struct.pack("<d", float(text)), "little"), 8)
        raise ParseError(f"constant {text!r} in {self.body.name}")

    def named(self, text: str) -> Operand:
        if text == "WARP_SZ":
            return Literal(32)
        if match := _SELECTOR.fullmatch(text):
            if isinstance(register := self.names.get(match[1]), int):
                return Part(register, match[2])
        if match := _SUM.fullmatch(text):
            base = self.operand(match[1])
            added = integer(match[3]) * (-1 if match[2] == "-" else 1)
            if isinstance(base, Symbol):
                return Symbol(base.name, base.offset + added)
            raise ParseError(f"operand {text!r} in {self.body.name}")
        if _NAME.fullmatch(text) is None:
            raise ParseError(f"operand {text!r} in {self.body.name}")
        if text[0] == "%":
            return Special(text[1:])
        self.body.symbols.add(text)
        return Symbol(text)

    def address(self, text: str) -> Address:
        coordinates: tuple[Operand, ...] = ()
        if "," in text:
            text, *more = split(text)
            coordinates = tuple(one for operand in more for one in self.coordinates(operand))
        base, plus, rest = text.partition("+")
        base = base.strip()
        known = self.names.get(base)
        if known.__class__ is int or isinstance(known, Variable):
            return Address(known, integer(rest.strip()) if plus else 0, coordinates)  # type: ignore[arg-type]
        if not plus and "-" in base[1:]:
            base, _, rest = base.partition("-")
            return self.address(f"{base}+-{rest}")
        if _NUMBER.fullmatch(base):
            return Address(None, integer(base) + (integer(rest.strip()) if plus else 0), coordinates)
        meaning = self.operand(base)
        if not isinstance(meaning, Symbol):
            raise ParseError(f"address [{text}] in {self.body.name}")
        return Address(meaning, integer(rest.strip()) if plus else 0, coordinates)

    def coordinates(self, text: str) -> list[Operand]:
        found = self.operand(text)
        return found if isinstance(found, list) else [found]


# --------------------------------------------------------------------------------------------------------------------
# A module

_COMMENT = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TOP = re.compile(
    r"""\s*(?:
    \.(?:version|address_size|target)\b[^\n]*
    |\.file\s+(\d+)\s+"([^"\n]*)"[^\n]*                     # 1 number 2 path
    |(\.section)\s[^{]*\{[^}]*\}                            # 3
    |((?:\.(?:visible|extern|weak|common)\s+)*)             # 4 linkage
     (?:\.(entry|func)\b                                    # 5 function
       |\.(global|const|shared|local|tex)\b([^;]*);         # 6 space 7 variable
       |\.alias\s+([\w$]+)\s*,\s*([\w$]+)\s*;               # 8 9
       |\.pragma[^;]*;)
    )""",
    re.VERBOSE,
)
_SIGNATURE = re.compile(r"\s*(?:\(([^)]*)\)\s*)?([\w$%]+)\s*(?:\(([^)]*)\))?([^{;]*)([{;])")
_BRACE = re.compile(r"[{}]")
_DIRECTIVE = re.compile(r"\.(\w+)\s*([\d,\s]*)")
_VARIABLE = re.compile(
    r"\s*((?:\.(?:align\s+\d+|attribute\s*\([^)]*\)|ptr|global|const|shared|local|\w+)\s*)*?)"
    r"\.(\w+)\s+(?:\.ptr\b[\s.\w]*?\s)?([\w$%]+)\s*((?:\[\s*\d*\s*\]\s*)*)(?:=\s*(.*?))?\s*$",
    re.DOTALL,
)
_ALIGN = re.compile(r"\.align\s+(\d+)")
_WORD = re.compile(r"\s*(?:(0[xX][fF]+[0]*)\s*\(|(generic)\s*\()?\s*([^,(){}\s+]+)\s*(?:\+\s*(-?\d+))?")


@dataclass(eq=False)
class Function:
    """A kernel or a function. results, parameters: its formals; their offsets count from the start of the parameter space
    of a kernel, else of the function's local memory. text: its code, None where it is only declared."""

    name: str
    kernel: bool
    results: list[Variable]
    parameters: list[Variable]
    text: str | None
    directives: dict[str, tuple[int, ...]]
    parameter_bytes: int
    line: int = 0  # of the text's first character, in the PTX


def _without_comment(match: re.Match) -> str:
    """What stands for a comment (or a string, which stays): its ends of lines, so that lines keep their numbers."""
    return match[0] if match[0][0] == '"' else " " + "\n" * match[0].count("\n")


class Module:
    """A translation unit. functions and variables by name; files by number."""

    def __init__(self, text: str):
        self.files: dict[int, str] = {}
        self.functions: dict[str, Function] = {}
        self.variables: dict[str, Variable] = {}
        self.aliases: dict[str, str] = {}
        self._bodies: dict[str, Body] = {}
        text = _COMMENT.sub(_without_comment, text)
        position = 0
        while match := _TOP.match(text, position):
            position = match.end()
            if match[1]:
                self.files[int(match[1])] = match[2]
            elif match[5]:
                position = self._function(text, position, match[5] == "entry")
            elif match[6]:
                one = read_variable(match[6], match[7], " ".join(match[4].split()))
                if one.name not in self.variables or not one.linkage.startswith(".extern"):
                    self.variables[one.name] = one
            elif match[8]:
                self.aliases[match[8]] = match[9]
        if text[position:].strip():
            raise ParseError(f"PTX outside functions: {text[position:position + 80].strip()!r}")
        self.order = {name: index + 1 for index, name in enumerate(self.functions)}

    @property
    def kernels(self) -> list[str]:
        """Names of the kernels, in their order."""
        return [one.name for one in self.functions.values() if one.kernel]

    def body(self, name: str) -> Body:
        """The code of a function. Raises ParseError, or KeyError where there is no code of that name."""
        if name not in self._bodies:
            function = self.functions[name]
            if function.text is None:
                raise KeyError(name)
            self._bodies[name] = _BodyReader(self, function).read(function.text, function.line)
        return self._bodies[name]

    def _function(self, text: str, position: int, kernel: bool) -> int:
        match = _SIGNATURE.match(text, position)
        if match is None:
            raise ParseError(f"function {text[position:position + 80].strip()!r}")
        used = 0
        formals: list[list[Variable]] = []
        for group in (match[1], match[3]):
            found = []
            for one in filter(str.strip, (group or "").split(",")):
                if not one.lstrip().startswith(".param"):
                    raise ParseError(f"formal {one.strip()!r} of {match[2]}")
                formal = read_variable("entry" if kernel else "param", one.replace(".param", "", 1))
                align = formal.align if kernel else max(16, formal.align)
                formal.offset = -(-used // align) * align
                used = formal.offset + formal.size
                found.append(formal)
            formals.append(found)
        directives = {
            one[1]: tuple(int(number) for number in one[2].replace(",", " ").split())
            for one in _DIRECTIVE.finditer(match[4])
        }
        end, code = match.end(), None
        if match[5] == "{":
            depth = 1
            for brace in _BRACE.finditer(text, end):
                depth += 1 if brace[0] == "{" else -1
                if depth == 0:
                    break
            else:
                raise ParseError(f"no end of function {match[2]}")
            code, end = text[match.end() : brace.start()], brace.end()
        if code is not None or match[2] not in self.functions:
            size = used if kernel else -(-used // 16) * 16
            line = text.count("\n", 0, match.end()) + 1
            self.functions[match[2]] = Function(match[2], kernel, *formals, code, directives, size, line)
        return end


def read_variable(space: str, text: str, linkage: str = "") -> Variable:
    """Read a declaration behind its state space: `.align 4 .b8 name[20] = {...}`."""
    match = _VARIABLE.match(text)
    if match is None or match[2] not in (*TYPE_BYTES, "texref", "samplerref", "surfref"):
        raise ParseError(f"variable .{space} {text.strip()[:80]}")
    width = TYPE_BYTES.get(match[2], 8)
    count = 1
    for dimension in re.findall(r"\[\s*(\d*)\s*\]", match[4]):
        count *= int(dimension or 0)
    if vector := re.search(r"\.v([248])\b", match[1]):
        width *= int(vector[1])
    align = _ALIGN.search(match[1]) or _ALIGN.search(text[: match.start(3)])
    one = Variable(
        match[3], space, width * count, int(align[1]) if align else max(1, width), match[2], linkage,
        managed=".managed" in match[1],
    )
    if match[5] is not None:
        _initialise(one, match[5], TYPE_BYTES[match[2]])
    return one


def _words(text: str) -> Iterator[str]:
    """The values of an initialiser, braces removed (inner ones are dense: the compiler writes arrays flat)."""
    return (one for one in re.split(r",(?![^(]*\))", text.replace("{", " ").replace("}", " ")) if one.strip())


def _initialise(variable: Variable, text: str, width: int) -> None:
    data = bytearray(variable.size)
    addresses: dict[int, tuple[str, int]] = {}
    masks: dict[int, int] = {}
    for index, word in enumerate(_words(text)):
        word, offset = word.strip(), index * width
        if _FLOAT.fullmatch(word):
            value = int(word[2:], 16)
        elif _NUMBER.fullmatch(word):
            value = integer(word)
        else:
            match = _WORD.fullmatch(word.replace(")", " ").rstrip())
            if match is None:
                raise ParseError(f"initialiser {word!r} of {variable.name}")
            # 0xFF00(symbol) is the second byte of an address: the first byte's offset stands for all eight.
            shift = 0 if match[1] is None else (int(match[1], 16) & -int(match[1], 16)).bit_length() - 1
            start = offset - shift // 8
            masks[start] = masks.get(start, 0) | (int(match[1], 16) if match[1] else 2**64 - 1)
            addresses[start] = match[3], int(match[4] or 0)
            continue
        data[offset : offset + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, "little")
    if any(mask != 2**64 - 1 for mask in masks.values()):
        raise ParseError(f"part of an address in the initialiser of {variable.name}")
    variable.data = bytes(data)
    variable.addresses = tuple((offset, *addresses[offset]) for offset in sorted(addresses))
