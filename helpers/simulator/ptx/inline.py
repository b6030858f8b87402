"""Replaces calls by the code of the function, if the function is known.

PTX with little optimisation calls a function for every `atomicAdd` and `__shfl_sync`. After
inlining, the places of these functions have the line of the call around them, as in optimised PTX,
and an analysis can follow pointers into them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from .body import Body
from .parse import Module
from .syntax import (
    Address,
    Group,
    Label,
    Negated,
    Operand,
    Pair,
    Place,
    Statement,
    Symbol,
    Variable,
)

MOST_STATEMENTS = 20_000  # limit of a function; a call that would exceed it stays a call
_RETURNS = ("ret", "ret.uni")
_PARAMETERS = 256  # statements before a call that may be those which store its arguments


class Inlined(Module):
    """A module after inlining. The only calls left are those in a circle of functions, through
    pointers, and of very long functions.
    """

    def __init__(self, module: Module):
        self.__dict__.update(vars(module))
        self._module = module
        self._done: dict[str, Body] = {}
        self._open: set[str] = set()

    def body(self, name: str) -> Body:
        """Return the code of a function. Raises ParseError, and KeyError where there is no code of
        that name.
        """
        if name not in self._done:
            self._open.add(name)
            try:
                self._done[name] = self._inlined(self._module.body(name))
            finally:
                self._open.discard(name)
        return self._done[name]

    def _inlined(self, body: Body) -> Body:
        callees = {
            k: found
            for k, one in enumerate(body.statements)
            if (found := self._callee(one)) is not None
        }
        return _Joined(self, body, callees).body if callees else body

    def _callee(self, statement: Statement) -> Body | None:
        """Return the body of a call's function, None for any other statement."""
        if not statement.opcode.startswith("call") or statement.guard >= 0:
            return None
        name = next((one.name for one in statement.operands if isinstance(one, Symbol)), "")
        name = self.aliases.get(name, name)
        function = self.functions.get(name)
        if function is None or function.text is None or function.kernel or name in self._open:
            return None
        passed = [
            one for group in statement.operands if isinstance(group, Group) for one in group.members
        ]
        formals = function.results + function.parameters
        if len(passed) != len(formals) or not all(
            isinstance(one, Variable) and one.space == "param" for one in passed
        ):
            return None
        return self.body(name)


@dataclass
class _Copy:
    """The new names of a body's operands in the body that it is put into."""

    registers: int  # added to each number
    memory: int  # added to offsets in the function's local memory
    formals: Mapping[Variable, Variable]
    statements: int  # added to labels
    suffix: str  # of the names of branch tables
    variables: dict[Variable, Variable]

    def operand(self, one: Operand) -> Operand:
        if isinstance(one, int):
            return one + self.registers
        if isinstance(one, Variable):
            return self.variable(one)
        if isinstance(one, list):
            return [self.operand(part) for part in one]
        if isinstance(one, Address):
            coordinates = tuple(self.operand(part) for part in one.coordinates)
            base = self.operand(one.base) if one.base is not None else None
            return Address(base, one.offset, coordinates)  # type: ignore[arg-type]
        if isinstance(one, Pair):
            return Pair(self.operand(one.first), self.operand(one.second))
        if isinstance(one, Group):
            return Group(tuple(self.operand(part) for part in one.members))
        if isinstance(one, Negated):
            return Negated(one.register + self.registers)
        if isinstance(one, Label):
            return self.label(one)
        return one

    def variable(self, one: Variable) -> Variable:
        if one in self.formals:
            return self.formals[one]
        if one.space not in ("local", "param"):
            return one  # a shared variable of the function is the same for all calls
        if one not in self.variables:
            found = Variable(one.name, one.space, one.size, one.align, one.type)
            found.offset = one.offset + self.memory
            self.variables[one] = found
        return self.variables[one]

    def label(self, one: Label) -> Label:
        return Label(one.name, one.statement + self.statements)

    def statement(self, one: Statement, place: int) -> Statement:
        operands = [self.operand(operand) for operand in one.operands]
        if one.opcode.startswith("brx") and isinstance(operands[1], Symbol):
            operands[1] = Symbol(operands[1].name + self.suffix)
        guard = one.guard + self.registers if one.guard >= 0 else -1
        return Statement(one.opcode, operands, place, guard, one.negated)


class _Joined:
    """A body with the bodies of its callees in it. callees: by number of the calling statement."""

    def __init__(self, module: Inlined, outer: Body, callees: Mapping[int, Body]):
        self.module, self.outer = module, outer
        self.body = Body(
            outer.name,
            places=list(outer.places),
            widths=list(outer.widths),
            variables=list(outer.variables),
            local_bytes=outer.local_bytes,
        )
        self.places = {one: k for k, one in enumerate(outer.places)}
        self.shared = {one for one in outer.variables if one.space == "shared"}
        self.numbers: list[int] = []  # of the outer statements, here
        self.references: list[tuple[list[Operand], int]] = []
        room = MOST_STATEMENTS - len(outer.statements)
        for k, statement in enumerate(outer.statements):
            self.numbers.append(len(self.body.statements))
            inner = callees.get(k)
            if inner is not None and len(inner.statements) <= room:
                room -= len(inner.statements)
                self.insert(k, statement, inner)
            else:
                self.append(
                    Statement(
                        statement.opcode,
                        list(statement.operands),
                        statement.place,
                        statement.guard,
                        statement.negated,
                    ),
                    k,
                )
        self.numbers.append(len(self.body.statements))
        for operands, at in self.references:
            old = operands[at]
            assert isinstance(old, Label)
            operands[at] = Label(old.name, self.numbers[old.statement])
        for name, labels in outer.targets.items():
            self.body.targets[name] = [
                Label(one.name, self.numbers[one.statement]) for one in labels
            ]
        for statement in self.body.statements:
            for operand in statement.operands:
                self.body.symbols.update(_names(operand))

    def append(self, statement: Statement, k: int) -> None:
        """Append a statement of the outer body; its labels get their numbers at the end."""
        self.references += [
            (statement.operands, at)
            for at, one in enumerate(statement.operands)
            if isinstance(one, Label)
        ]
        self.body.statements.append(statement)
        self.body.lines.append(self.outer.lines[k])

    def insert(self, k: int, call: Statement, inner: Body) -> None:
        body, function = self.body, self.module.functions[inner.name]
        groups = [one.members for one in call.operands if isinstance(one, Group)]
        passed = [one for members in groups for one in members if isinstance(one, Variable)]
        formals = dict(zip(function.results + function.parameters, passed, strict=True))
        start, memory = len(body.statements), self.outer.local_bytes
        copy = _Copy(len(body.widths), memory, formals, start, f"@{start}", {})
        stored = self.stored(k, set(passed[len(function.results) :]))
        statements = inner.statements
        if statements and statements[-1].opcode in _RETURNS and statements[-1].guard < 0:
            statements = statements[:-1]
        end = start + len(statements)
        places = self.places_in(inner, self.outer.places[call.place])
        for one in statements:
            found = copy.statement(one, places[one.place])
            if found.opcode in _RETURNS:
                found = Statement("bra", [Label("", end)], found.place, found.guard, found.negated)
            elif found.opcode.startswith("ld.param"):
                found = _forwarded(found, stored)
            body.statements.append(found)
            body.lines.append(self.outer.lines[k])
        body.widths.extend(inner.widths)
        for name, labels in inner.targets.items():
            body.targets[name + copy.suffix] = [copy.label(one) for one in labels]
        for variable in inner.variables:
            if variable.space != "shared":
                body.variables.append(copy.variable(variable))
            elif variable not in self.shared:
                self.shared.add(variable)
                body.variables.append(variable)
        body.local_bytes = max(body.local_bytes, memory + inner.local_bytes)

    def places_in(self, inner: Body, call: Place) -> Sequence[int]:
        """Return the numbers of the callee's places, with the call around them."""
        around = ((call.file, call.line), *call.inlined)
        found = []
        for one in inner.places:
            place = Place(one.file, one.line, (*one.inlined, *around), one.column)
            number = self.places.setdefault(place, len(self.body.places))
            if number == len(self.body.places):
                self.body.places.append(place)
            found.append(number)
        return found

    def stored(self, k: int, arguments: set[Variable]) -> dict[Variable, tuple[str, Operand]]:
        """Return type and value of the arguments that the statements before a call store in one
        piece.
        """
        found: dict[Variable, tuple[str, Operand]] = {}
        parts: set[Variable] = set()
        for one in reversed(self.outer.statements[max(k - _PARAMETERS, 0) : k]):
            if one.opcode.startswith(("bra", "brx", "call")):
                break
            if not one.opcode.startswith("st.param") or not isinstance(one.operands[0], Address):
                continue
            base, type = one.operands[0].base, one.opcode.rpartition(".")[2]
            if not isinstance(base, Variable) or base not in arguments:
                continue
            if (
                base in found
                or one.operands[0].offset
                or isinstance(one.operands[1], list)
                or one.guard >= 0
            ):
                parts.add(base)
            found[base] = type, one.operands[1]
        return {base: value for base, value in found.items() if base not in parts}


def _names(operand: Operand) -> Iterator[str]:
    """Yield the names from outside the function in an operand."""
    if isinstance(operand, Symbol):
        yield operand.name
    elif isinstance(operand, Address):
        yield from _names(operand.base) if isinstance(operand.base, Symbol) else ()
    elif isinstance(operand, list | Group):
        for one in operand if isinstance(operand, list) else operand.members:
            yield from _names(one)


def _forwarded(load: Statement, stored: Mapping[Variable, tuple[str, Operand]]) -> Statement:
    """Return the load of an argument as a move of its value, if the widths agree."""
    result, address = load.operands
    if not isinstance(address, Address) or not isinstance(address.base, Variable) or address.offset:
        return load
    known, type = stored.get(address.base), load.opcode.rpartition(".")[2]
    if (
        known is None
        or known[0][1:] != type[1:]
        or type[1:] not in ("32", "64")
        or isinstance(result, list)
    ):
        return load
    return Statement(f"mov.{type}", [result, known[1]], load.place, load.guard, load.negated)
