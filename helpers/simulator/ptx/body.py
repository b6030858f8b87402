"""The code of one function: its statements, with every name resolved in its scope.

A register is its number in the function (an `int`), a vector a `list` of operands, everything else
a record of syntax.py. Nothing here knows what an instruction does.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from . import register_use
from .syntax import (
    NOTHING,
    TYPE_BYTES,
    Address,
    Group,
    Label,
    Literal,
    Negated,
    Operand,
    Pair,
    ParseError,
    Place,
    Special,
    Statement,
    Symbol,
    Variable,
)
from .variables import FLOAT, NUMBER, integer, read_variable

_STATEMENT = re.compile(
    r"""\s*(?:
    ([A-Za-z_$%][\w$]*)\s*:(?!:)                           # 1 label
    |(?:@\s*(!?)\s*([\w$%]+)\s+)?([a-z][\w.:]*)\s*([^;]*);   # 2 "!" 3 guard 4 opcode 5 operands
    |\.loc\s+(\d+)\s+(\d+)\s+(\d+)[ \t]*([^\n]*)   # 6 file 7 line 8 column 9 inlined where
    |([{}])                                                # 10 scope
    |\.(\w+)\s*([^;]*);                                    # 11 directive 12 what it says
    )""",
    re.VERBOSE,
)
_INLINED = re.compile(r"inlined_at\s+(\d+)\s+(\d+)\s+(\d+)")
_OPERAND = re.compile(r"\s*(\{[^}]*\}|\[[^\]]*\]|\([^)]*\)|[^,\s{\[(][^,]*?)\s*(?:,|$)")
_REGISTERS = re.compile(r"\.(?:v[24]\s*\.)?(\w+)\s+(.*)", re.DOTALL)
_FAMILY = re.compile(r"([^\s<]+)\s*<\s*(\d+)\s*>")
_DECIMAL = re.compile(r"[-+]?\d*\.?\d*(?:[eE][-+]?\d+)?")
_NAME = re.compile(r"[A-Za-z_$%][\w$]*(?:\.[a-z])?")
_SUM = re.compile(r"\s*([A-Za-z_$%][\w$]*)\s*([+-])\s*([-+]?\s*\w+)\s*")


@dataclass
class Body:
    """A function's code, which nothing changes once it is read. widths: bytes of a value of each
    register, 0 of a predicate.
    """

    name: str
    statements: list[Statement] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)  # .local and .shared
    targets: dict[str, list[Label]] = field(default_factory=dict)  # of .branchtargets
    symbols: set[str] = field(default_factory=set)  # names from outside
    local_bytes: int = 0  # of formals, .local variables and the .param variables of calls
    lines: list[int] = field(default_factory=list)  # of each statement, in the PTX
    names: dict[str, Operand] = field(default_factory=dict)  # what each means outside of scopes
    label_places: dict[str, int] = field(default_factory=dict)  # the statement behind each label

    def labels(self, statement: Statement) -> list[Label]:
        """Return where a branch may lead; [] for any other statement."""
        if not statement.opcode.startswith(("bra", "brx")):
            return []
        last = statement.operands[-1]
        labels = self.targets.get(last.name, []) if isinstance(last, Symbol) else [last]
        return [one for one in labels if isinstance(one, Label)]

    @cached_property
    def written(self) -> list[Sequence[int]]:
        """The registers that each statement writes."""
        return [register_use.written(one) for one in self.statements]

    @cached_property
    def read(self) -> list[Sequence[int]]:
        """The registers that each statement reads, with the predicate of its guard."""
        return [register_use.read(one) for one in self.statements]

    @cached_property
    def definitions(self) -> dict[int, list[int]]:
        """The numbers of the statements that write a register; none for one without a value."""
        return _statements_of(self.written)

    @cached_property
    def readers(self) -> dict[int, list[int]]:
        """The numbers of the statements that read a register."""
        return _statements_of(self.read)


def _statements_of(registers: Iterable[Sequence[int]]) -> dict[int, list[int]]:
    """Return the numbers of the statements by register. registers: those of each statement."""
    found: dict[int, list[int]] = {}
    for k, several in enumerate(registers):
        for register in several:
            found.setdefault(register, []).append(k)
    return found


def split(text: str) -> list[str]:
    """Split the operands of an instruction at commas that are not inside brackets."""
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


class BodyReader:
    """Reads one function; `used` bytes of its local memory hold its formals.

    `names` holds what each name means now; a scope's end restores what its declarations hid.
    """

    def __init__(self, name: str, formals: Sequence[Variable], used: int, files: Mapping[int, str]):
        self.body = Body(name)
        self.files = files
        self.names = self.body.names
        self.hidden: list[list[tuple[str, Operand | None]]] = [[]]  # for each open scope
        self.waiting: list[list[Label]] = [
            []
        ]  # labels that a branch names before they are defined, for each open scope
        self.labels: list[dict[str, Label]] = [{}]
        self.marks: list[int] = []  # local memory in use where a scope began
        self.chains: dict[tuple[str, str, str], tuple[tuple[str, int], ...]] = {}
        self.place_numbers: dict[object, int] = {}
        self.last_label = ""
        self.names.update((formal.name, formal) for formal in formals)
        self.used = self.body.local_bytes = used

    def read(self, text: str, line: int = 1) -> Body:
        body, place = self.body, self.place("0", "0", "0", "")
        statements, names, position, end = body.statements, self.names, 0, len(text)
        match_at, operand = _STATEMENT.match, self.operand
        lines, counted = body.lines, 0
        while True:
            match = match_at(text, position)
            if match is None:
                if text[position:].strip():
                    raise ParseError(
                        f"statement {text[position : position + 60].strip()!r} of {body.name}"
                    )
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
                        found if (found := names.get(one)).__class__ is int else operand(one)
                        for one in split(rest)
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
        """Return the number of a place.

        `rest` names the call into which it is inlined; that call may be inlined in turn.
        """
        key = (file, line, column)
        number = self.place_numbers.get(key) if not rest else None
        if number is not None:
            self.chains.pop(key, None)
            return number
        files = self.files
        inlined: tuple[tuple[str, int], ...] = ()
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
        self.body.label_places[name] = len(self.body.statements)
        if self.waiting[-1]:
            self.waiting[-1] = [one for one in self.waiting[-1] if not self.find_label(one)]
        self.last_label = name

    def reference(self, name: str) -> Label:
        one = Label(name)
        # A label of an outer scope waits for this scope's end, because this scope may still define
        # one of the same name.
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
                names.update(
                    zip(
                        [f"{prefix}{k}" for k in range(count)],
                        range(first, first + count),
                        strict=True,
                    )
                )
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
        if first == "!":
            return Negated(self.register(text[1:].strip()))
        return self.named(text)

    def number(self, text: str) -> Operand:
        if match := FLOAT.fullmatch(text):
            if len(match[2]) == (8 if match[1] in "fF" else 16):
                return Literal(int(match[2], 16), 4 if match[1] in "fF" else 8)
        elif NUMBER.fullmatch(text):
            return Literal(integer(text))
        elif _DECIMAL.fullmatch(text):
            return Literal(int.from_bytes(struct.pack("<d", float(text)), "little"), 8)
        raise ParseError(f"constant {text!r} in {self.body.name}")

    def named(self, text: str) -> Operand:
        if text == "WARP_SZ":
            return Literal(32)
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
            offset = integer(rest.strip()) if plus else 0
            return Address(known, offset, coordinates)
        if not plus and "-" in base[1:]:
            base, _, rest = base.partition("-")
            return self.address(f"{base}+-{rest}")
        if NUMBER.fullmatch(base):
            return Address(
                None, integer(base) + (integer(rest.strip()) if plus else 0), coordinates
            )
        meaning = self.operand(base)
        if not isinstance(meaning, Symbol):
            raise ParseError(f"address [{text}] in {self.body.name}")
        return Address(meaning, integer(rest.strip()) if plus else 0, coordinates)

    def coordinates(self, text: str) -> list[Operand]:
        found = self.operand(text)
        return found if isinstance(found, list) else [found]
