"""Adds checks of indices, axis by axis, to the careful translation.

An index that leaves its axis inside a larger array lands in the next row, and no check of addresses
finds it. In code with little optimisation, the address of `tile[r][c]` is still the address of the
array, plus r times the bytes of a row, plus c times those of an element. This module puts a check
of r and c before an access if the sum fits the declaration in the source, and if the access's line
has the array with all its subscripts and no other use of its name. If anything is in doubt, it adds
no check.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import NamedTuple

from .body import Body
from .declarations import Declared, Field
from .fields import Fields, Term, scaled, strides
from .opcodes import describe
from .parse import Module
from .roots import UNKNOWN, Roots, constant
from .syntax import Address, Group, Label, Literal, Operand, Statement, Symbol, Variable

_ACCESSES = ("ld", "st", "atom", "red")
_STEPS = 32  # limit for a chain of additions
_LARGEST = (1 << 32) - 1  # extent: in the constant of a check, the number of the axis lies above it
_SUBSCRIPTED = re.compile(r"([\w.]+|->\s*\w+|[^\s\w])\s*\[")
_ATOMIC_CALL = re.compile(r"\batomic[A-Z]\w*\s*\(\s*")
_ADDRESS_OF_ELEMENT = re.compile(r"&[\w\s.()*]+(?:->[\w\s.()*]*)*")
_ATOMIC = re.compile(r"_Z\d+atomic[A-Z]").match
_DEREFERENCE = re.compile(r"(?:^|[^\w\s)\]])\s*\*\s*[\w(]")


class Axis(NamedTuple):
    """An axis of an array: the array's name, element type and extents, and the axis's number."""

    name: str
    element: str
    extents: tuple[int, ...]
    axis: int


class _Sum(NamedTuple):
    """The address of a variable, and the terms that the code adds to it."""

    root: str | Variable
    constant: int
    terms: tuple[Term, ...]


class _Access(NamedTuple):
    statement: int
    text: str
    sum: _Sum


class Checked(Module):
    """A module whose functions check indices. It also marks loads that may read a gap of a
    structure.

    variables: the declarations of the source; parameters: known names by function; source: its text
    without comments; file: its name in places; fields: the arrays in its structures; axes: the axes
    of the checks by number.
    """

    def __init__(
        self,
        module: Module,
        variables: Sequence[Declared],
        parameters: Mapping[str, Sequence[str]],
        source: str,
        file: str,
        fields: Sequence[Field] = (),
    ):
        self.__dict__.update(vars(module))
        self.axes: list[Axis] = []
        self._module, self._file = module, PurePath(file).name
        self._parameters, self._lines = parameters, source.split("\n")
        self._declared = [
            one
            for one in variables
            if one.extents
            and one.element_bytes
            and math.prod(one.extents)
            and max(one.extents) < _LARGEST
        ]
        self._fields = Fields(fields)
        self._shared: dict[str, Variable] = {}
        self._numbers: dict[Axis, int] = {}
        self._checked: dict[str, Body] = {}

    def body(self, name: str) -> Body:
        """Return the code of a function. Raises ParseError, and KeyError where there is no code of
        that name.
        """
        if name not in self._checked:
            body = self._module.body(name)
            self._shared.update((one.name, one) for one in body.variables if one.space == "shared")
            roots = Roots(body)
            self._checked[name] = _with_checks(body, self._checks(body, roots))
        return self._checked[name]

    def text_at(self, body: Body, statement: Statement) -> str:
        """Return the source line of a statement, "" if the statement is from another file."""
        place = body.places[statement.place]
        if PurePath(place.file).name != self._file or not 0 < place.line <= len(self._lines):
            return ""
        return self._lines[place.line - 1]

    def _checks(self, body: Body, roots: Roots) -> dict[int, list[Statement]]:
        """Return the checks before each statement."""
        here = [one for one in self._declared if one.function in ("", body.name)]
        names = {*(one.name for one in here), *self._parameters.get(body.name, ())}
        sums = _Sums(roots)
        accesses: list[_Access] = []
        doubtful: dict[tuple[str, str], list[_Access]] = {}
        written = list(self._written(body))
        for k, text, address in written:
            found_sum = sums.of(address)
            if found_sum is None or not (found_sum.terms or isinstance(found_sum.root, Variable)):
                continue
            if _is_plain(text, names):
                accesses.append(_Access(k, text, found_sum))
            elif isinstance(found_sum.root, str):
                doubtful.setdefault((text, found_sum.root), []).append(_Access(k, text, found_sum))
        for (text, root), group in doubtful.items():
            if len({one.sum for one in group}) <= _mentions(
                text, {one.name for one in self._of_symbol(root, here)}
            ):
                accesses += group  # the other arrays of this line lie elsewhere
        found: dict[int, list[Statement]] = {}
        for access in accesses:
            fitting = (
                self._of_symbol(access.sum.root, here) if isinstance(access.sum.root, str) else []
            )
            for array in fitting:
                start = access.sum.constant - array.offset
                if is_indexed(array, access.text) and _is_alone(array, fitting, access.text):
                    self._add(found, body, access, array, start)
        formals = self._module.functions[body.name].parameters
        known = self._parameters.get(body.name, ())
        pointers = {one.offset: name for one, name in zip(formals, known, strict=False)}
        locals_ = [one for one in here if one.space == "local"]
        for access, array, start in _local_arrays(accesses, locals_):
            self._add(found, body, access, array, access.sum.constant - start)
        for k, text, address in written:
            field = self._fields.of(body, roots, address, text, names, pointers)
            if k not in found and field is not None:
                access = _Access(k, "", _Sum("", 0, field.terms))
                self._add(found, body, access, field.array, 0)
        return found

    def _written(self, body: Body) -> Iterator[tuple[int, str, Address]]:
        """Yield the accesses that are written in the source: a statement, its line, its address.

        An atomic function is called here; the statement hands its address over.
        """
        handed = _handed_to_atomics(body)
        for k, statement in enumerate(body.statements):
            root = statement.opcode.partition(".")[0]
            text = self.text_at(body, statement) if root in _ACCESSES else ""
            address = handed.get(k) or _address(statement)
            if not text or address is None:
                continue
            if k in handed or root in ("atom", "red"):
                text = _of_elements(text)
            if text:
                yield k, text, address

    def _of_symbol(self, symbol: str, here: Sequence[Declared]) -> list[Declared]:
        """Return the arrays that a variable is or contains.

        If the optimised code has dropped the variable, its name tells it from local arrays.
        """
        known = [one for one in here if one.space != "local" and one.symbol == symbol]
        variable = self.variables.get(symbol) or self._shared.get(symbol)
        if known or variable is None:
            return known
        same = [
            one
            for one in here
            if re.search(rf"{len(one.name)}{re.escape(one.name)}(?:_\d+)?$", symbol)
        ]
        return [one for one in same if strides(one)[0] * one.extents[0] == variable.size][:1]

    def _add(
        self,
        found: dict[int, list[Statement]],
        body: Body,
        access: _Access,
        array: Declared | Field,
        rest: int,
    ) -> None:
        statement = body.statements[access.statement]
        for axis, index, type in indices(array, access.sum.terms, rest) or ():
            what = Axis(array.name, array.element, tuple(array.extents), axis)
            number = self._numbers.setdefault(what, len(self.axes))
            if number == len(self.axes):
                self.axes.append(what)
            check = Literal(number << 32 | array.extents[axis])
            found.setdefault(access.statement, []).append(
                Statement(
                    f"row.check.{type}",
                    [index, check],
                    statement.place,
                    statement.guard,
                    statement.negated,
                )
            )


# ---- accesses ----


def _address(statement: Statement) -> Address | None:
    return next((one for one in statement.operands if isinstance(one, Address)), None)


def _handed_to_atomics(body: Body) -> dict[int, Address]:
    """Return the addresses that a function hands to atomic functions, by the statement that stores
    the argument.
    """
    found: dict[int, Address] = {}
    stored: dict[int, tuple[int, Operand]] = {}  # the statement and the value of each argument
    for k, statement in enumerate(body.statements):
        address = _address(statement) if statement.opcode.startswith("st.param") else None
        if address is not None:
            stored[id(address.base)] = k, statement.operands[-1]
        elif _calls_atomic(statement) and isinstance(statement.operands[-1], Group):
            number, value = stored.get(id(statement.operands[-1].members[0]), (-1, None))
            if isinstance(value, int):
                found[number] = Address(value, 0)
    return found


def _calls_atomic(statement: Statement) -> bool:
    return statement.opcode.startswith("call") and any(
        isinstance(one, Symbol) and _ATOMIC(one.name) for one in statement.operands
    )


# ---- the source's words ----


def _is_plain(text: str, names: Collection[str]) -> bool:
    """Return whether a line indexes only arrays and parameters of known names, without pointers."""
    subscripted = [match[1] for match in _SUBSCRIPTED.finditer(text) if match[1] != "]"]
    return all(one in names for one in subscripted) and not _DEREFERENCE.search(text)


def _of_elements(text: str) -> str:
    """Return a line without the `&` before the elements that its atomic functions change, "" if one
    of them may change what another expression points to, such as `&tile[0][0] + k`.
    """
    for call in reversed([*_ATOMIC_CALL.finditer(text)]):
        start = call.end()
        plain, brackets = _first_argument(text[start:]), 1
        while brackets:
            plain, brackets = re.subn(r"\[[^][]*\]", "", plain)
        if not _ADDRESS_OF_ELEMENT.fullmatch(plain):
            return ""
        text = text[:start] + text[start + 1 :]
    return text


def _first_argument(text: str) -> str:
    """Return the text up to the first comma outside of brackets."""
    depth = 0
    for end, sign in enumerate(text):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and depth == 0:
            return text[:end]
    return text


def _mentions(text: str, names: Collection[str]) -> int:
    """Count a line's accesses of arrays with these names; returns 0 if the line may only use a
    type.
    """
    if re.search(r"\b(?:sizeof|decltype|alignof)\b", text):
        return 0
    return sum(
        len(re.findall(rf"(?<![\w.]){re.escape(name)}\b", text))
        for name in {one.partition(".")[0] for one in names}
    )


def is_indexed(array: Declared, text: str) -> bool:
    """Return whether a line accesses an array, always with all its subscripts and without `&`."""
    found = False
    for match in re.finditer(rf"(?<![\w.]){re.escape(array.name.partition('.')[0])}\b", text):
        before = text[: match.start()].rstrip()
        if before.endswith(("->", "::")) or (before.endswith("&") and not before.endswith("&&")):
            return False
        _, member, rest = array.name.partition(".")
        end = match.end()
        if member and (behind := re.match(r"\s*\.\s*(\w+)\b", text[end:])):
            if behind[1] != rest:
                continue  # another member
            end += behind.end()
        elif member:
            return False
        more = _subscripts(text, end) - len(array.extents)
        if more < 0 or (more > 0 and not array.element.endswith("*")):
            return False  # more subscripts than axes: another scope has an array of this name
        found = True
    return found


def _is_alone(array: Declared, fitting: Sequence[Declared], text: str) -> bool:
    """Return whether a line indexes no other array of the same structure, so that the access is one
    of this array.
    """
    return not any(one is not array and is_indexed(one, text) for one in fitting)


def _subscripts(text: str, position: int) -> int:
    """Return how many [...] follow."""
    count = depth = 0
    for sign in text[position:]:
        if sign == "[":
            depth += 1
        elif sign == "]":
            depth -= 1
            count += depth == 0
        elif depth == 0 and not sign.isspace():
            break
    return count


# ---- addresses ----


class _Sums:
    """Addresses of variables as sums."""

    def __init__(self, roots: Roots):
        self.roots = roots
        self.known: dict[int, _Sum | None] = {}

    def of(self, address: Address) -> _Sum | None:
        """Return the address of an access as a sum, None if it is none."""
        if isinstance(address.base, int):
            root = self.roots.of(address.base)
            if not isinstance(root, str | Variable):
                return None
            found = self.register(address.base, 0)
        else:
            found = self.base(address.base) if address.base is not None else None
        return (
            found._replace(constant=found.constant + address.offset) if found is not None else None
        )

    def base(self, operand: Operand) -> _Sum | None:
        if isinstance(operand, Symbol):
            return _Sum(operand.name, operand.offset, ())
        if isinstance(operand, Variable) and operand.space in ("local", "shared"):
            return _Sum(operand if operand.space == "local" else operand.name, 0, ())
        return None

    def register(self, register: int, level: int) -> _Sum | None:
        if register not in self.known:
            self.known[register] = self.expand(register, level)
        return self.known[register]

    def expand(self, register: int, level: int) -> _Sum | None:
        statement = self.roots.definition(register)
        if statement is None or level > _STEPS:
            return None
        operands = statement.operands
        name, _, type = describe(statement.opcode).name.partition(".")
        if name in ("mov", "cvta") or statement.opcode == "cvt.u64.u32":
            source = operands[1]
            return (
                self.register(source, level + 1) if isinstance(source, int) else self.base(source)
            )
        if name in ("add", "sub") and type in ("s64", "u64"):
            for first, second in ((operands[1], operands[2]), (operands[2], operands[1])):
                found = self.register(first, level + 1) if isinstance(first, int) else None
                if found is not None:
                    return self.plus(found, second, name == "sub", first is operands[2])
            return None
        factor = constant(operands[2]) if name == "mad" else None
        if (
            name == "mad"
            and type in ("lo.s64", "lo.u64", "wide.s32", "wide.u32")
            and factor
            and isinstance(operands[3], int)
        ):
            found = self.register(operands[3], level + 1)
            if (
                found is not None
                and isinstance(operands[1], int)
                and self.roots.definition(operands[1]) is not None
            ):
                return found._replace(
                    terms=(*found.terms, Term(factor, operands[1], type.rpartition(".")[2]))
                )
        return None

    def plus(self, found: _Sum, added: Operand, minus: bool, swapped: bool) -> _Sum | None:
        value = constant(added)
        if value is not None:
            return (
                found._replace(constant=found.constant + (-value if minus else value))
                if not (minus and swapped)
                else None
            )
        if minus or not isinstance(added, int) or self.roots.of(added) is UNKNOWN:
            return None
        statement = self.roots.definition(added)
        if statement is None or isinstance(self.roots.of(added), str | Variable):
            return None
        term = scaled(statement)
        if term is not None and self.roots.definition(term.register) is None:
            return None
        return found._replace(terms=(*found.terms, term or Term(1, added, "s64")))


def indices(
    array: Declared | Field, terms: Sequence[Term], rest: int
) -> list[tuple[int, Operand, str]] | None:
    """Return (axis, index, type) for each index of an access whose constant part is `rest` bytes;
    None if it does not fit the array.
    """
    steps = strides(array)
    if len(set(steps)) < len(steps):
        return None
    found: dict[int, Term] = {}
    for term in terms:
        if abs(term.stride) < array.element_bytes:
            continue  # the rest lies inside an element that is a structure
        if term.stride not in steps or steps.index(term.stride) in found:
            return None
        found[steps.index(term.stride)] = term
    constants: list[tuple[int, Operand, str]] = []
    missing = [axis for axis in range(len(steps)) if axis not in found]
    for axis in missing:
        index, rest = divmod(rest, steps[axis])
        if not 0 <= index < array.extents[axis]:
            if len(missing) > 1 or axis == 0:
                return None
            constants.append((axis, Literal(index & (1 << 64) - 1), "s64"))
    if not 0 <= rest < array.element_bytes:
        return None
    return [*((axis, term.register, term.type) for axis, term in sorted(found.items())), *constants]


def _local_arrays(
    accesses: Sequence[_Access], arrays: Sequence[Declared]
) -> Iterator[tuple[_Access, Declared, int]]:
    """Return accesses to local arrays with the array and its start in the function's local memory.

    The compiler does not say where an array lies. It starts where those accesses start that have a
    register for each axis.
    """
    inside = [access for access in accesses if isinstance(access.sum.root, Variable)]
    starts: dict[tuple[str | Variable, int], list[Declared]] = {}
    for access in inside:
        fitting = [
            array
            for array in arrays
            if is_indexed(array, access.text)
            and sorted(term.stride for term in access.sum.terms) == sorted(strides(array))
            and len(set(strides(array))) == len(array.extents)
        ]
        key = access.sum.root, access.sum.constant
        if fitting:
            known = starts.get(key, fitting)
            starts[key] = [array for array in known if array in fitting]
    # There must be as many starts as arrays that may lie there, else a start is not an array's.
    several = Counter(tuple(map(id, found)) for found in starts.values())
    placed = {
        key: found[0]
        for key, found in starts.items()
        if len({_shape(array) for array in found}) == 1
        and several[tuple(map(id, found))] <= len(found)
    }
    for access in inside:
        for (variable, start), array in placed.items():
            size = array.element_bytes * math.prod(array.extents)
            apart = all(
                not start < other < start + size for root, other in placed if root is variable
            )
            if (
                variable is access.sum.root
                and 0 <= access.sum.constant - start < size
                and apart
                and is_indexed(array, access.text)
            ):
                yield access, array, start


def _shape(array: Declared) -> tuple:
    return array.element_bytes, tuple(array.extents)


# ---- the new body ----


def _with_checks(body: Body, checks: Mapping[int, Sequence[Statement]]) -> Body:
    """Return the body with its checks."""
    if not checks:
        return body
    numbers: list[int] = []
    statements: list[Statement] = []
    lines: list[int] = []
    for k, statement in enumerate(body.statements):
        numbers.append(len(statements))
        statements += checks.get(k, ())
        statements.append(statement)
        lines += [body.lines[k]] * (len(statements) - len(lines))
    numbers.append(len(statements))

    def moved(one: Operand) -> Operand:
        return Label(one.name, numbers[one.statement]) if isinstance(one, Label) else one

    for k, statement in enumerate(statements):
        if any(isinstance(one, Label) for one in statement.operands):
            operands = [moved(one) for one in statement.operands]
            statements[k] = Statement(
                statement.opcode, operands, statement.place, statement.guard, statement.negated
            )
    targets = {
        name: [Label(one.name, numbers[one.statement]) for one in labels]
        for name, labels in body.targets.items()
    }
    return replace(body, statements=statements, targets=targets, lines=lines)
