"""Finds the accesses of an array that is a member of a structure, in the careful translation.

    s.taps[i] = v;      p->data[p->top++] = v;      data[--top]     // in its own function

An index past such an array lands in the next member, inside the same variable. The debug
information has the arrays of each structure; the line has the member's name; and the address is a
sum with a term for each axis. Where a line could mean another array as well, nothing is found.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from .body import Body
from .declarations import Declared, Field
from .opcodes import describe
from .roots import UNKNOWN, Roots, constant
from .syntax import Address, Statement, Variable

_STEPS = 32  # limit for a chain of additions
_SUBSCRIPTED = re.compile(r"(?P<before>[\w\])]\s*(?:\.|->)\s*)?\b(?P<name>[A-Za-z_]\w*)\s*\[")


class Term(NamedTuple):
    """A register that is an index, and the bytes of one step. type: its type in the check."""

    stride: int
    register: int
    type: str


class Indexed(NamedTuple):
    """An access of a field, and the indices of its axes."""

    array: Field
    terms: tuple[Term, ...]


class Fields:
    """The fields of a program whose names only one structure has."""

    def __init__(self, fields: Sequence[Field]):
        names = [one.name for one in fields]
        # An array of one element may stand for as many as the memory behind it has.
        self._by_name = {
            one.name: one
            for one in fields
            if names.count(one.name) == 1 and math.prod(one.extents) > 1
        }

    def of(
        self,
        body: Body,
        roots: Roots,
        address: Address,
        text: str,
        variables: Collection[str],
        parameters: Mapping[int, str],
    ) -> Indexed | None:
        """Return the field that has an address, None if it is not certain. text: the access's line;
        variables: names of arrays and parameters, which hide a field; parameters: those by offset.
        """
        if not self._by_name or not text:
            return None
        subscripted = [
            one for one in _SUBSCRIPTED.finditer(text) if not self._is_object(text, one.end())
        ]
        uses = [one for one in subscripted if one["name"] in self._by_name]
        if not uses or len({one["name"] for one in uses}) > 1:
            return None
        field, is_bare = self._by_name[uses[0]["name"]], any(not one["before"] for one in uses)
        if is_bare and field.name in variables:
            return None
        if not isinstance(address.base, int):
            return None
        names = {one["name"] for one in subscripted if one not in uses}
        root = roots.of(address.base)
        if isinstance(root, int) and parameters.get(root) not in (None, *names):
            names -= {*parameters.values()}  # their arrays start from other parameters
        if not self._is_alone(body, roots, address.base, bool(names), is_bare):
            return None
        terms = _terms(roots, address.base)
        steps = strides(field)
        own = tuple(one for one in terms if one.stride in steps)
        others = [one for one in terms if one.stride not in steps]
        if sorted(one.stride for one in own) != sorted(steps) or len(set(steps)) < len(steps):
            return None
        is_of_array = all(one.stride and one.stride % field.nbytes == 0 for one in others)
        return Indexed(field, own) if is_of_array else None

    def _is_object(self, text: str, position: int) -> bool:
        """Return whether an index, whose bracket has just been opened, chooses the structure:
        `p[i].pos[d]`.
        """
        depth = 1
        for end in range(position, len(text)):
            depth += {"[": 1, "]": -1}.get(text[end], 0)
            if depth == 0:
                found = re.match(r"\s*(?:\.|->)\s*(\w+)\s*\[", text[end + 1 :])
                return found is not None and found[1] in self._by_name
        return False

    def _is_alone(
        self, body: Body, roots: Roots, base: int, has_others: bool, is_bare: bool
    ) -> bool:
        """Return whether an address can only be that of the field, if its line has others, too."""
        root = roots.of(base)
        if isinstance(root, Variable):
            return not has_others or not any(one.space == "local" for one in body.variables[1:])
        if root is not UNKNOWN:
            return not has_others
        return not has_others or (is_bare and _is_first_parameter(roots, base))


def strides(array: Declared | Field) -> list[int]:
    """Return for each axis the bytes from one index to the next."""
    return [
        array.element_bytes * math.prod(array.extents[axis + 1 :])
        for axis in range(len(array.extents))
    ]


def scaled(statement: Statement) -> Term | None:
    """Return what a shift or a product by a number gives, None for any other statement."""
    name, _, type = describe(statement.opcode).name.partition(".")
    operands = statement.operands
    factor = constant(operands[2]) if name in ("shl", "mul") and len(operands) > 2 else None
    if factor is None or not isinstance(operands[1], int):
        return None
    if name == "shl" and type == "b64" and 0 <= factor < 32:
        return Term(1 << factor, operands[1], "s64")
    if name == "mul" and type in ("lo.s64", "lo.u64", "wide.s32", "wide.u32"):
        return Term(
            factor, operands[1], "s64" if type.startswith("lo") else type.rpartition(".")[2]
        )
    return None


def _terms(roots: Roots, register: int) -> list[Term]:
    """Return the indices that an address adds to its base."""
    found: list[Term] = []
    for _ in range(_STEPS):
        statement = roots.definition(register)
        if statement is None:
            break
        name, _, type = describe(statement.opcode).name.partition(".")
        operands = statement.operands
        if name in ("mov", "cvta") and isinstance(operands[1], int):
            register = operands[1]
        elif name == "add" and type in ("s64", "u64") and isinstance(operands[1], int):
            first, second = operands[1], operands[2]
            if constant(second) is None:
                if not isinstance(second, int):
                    break
                term = _term(roots, second)
                if term is None:
                    first, term = second, _term(roots, first)
                if term is None:
                    break
                found.append(term)
            register = first
        else:
            break
    return found


def _term(roots: Roots, register: int) -> Term | None:
    statement = roots.definition(register)
    if statement is None:
        return None
    if statement.opcode.startswith("cvt.") and isinstance(statement.operands[1], int):
        return Term(1, register, "s64")
    return scaled(statement)


def _is_first_parameter(roots: Roots, register: int) -> bool:
    """Return whether an address starts from a function's first parameter: the structure of a
    function that belongs to it.
    """
    for _ in range(_STEPS):
        statement = roots.definition(register)
        if statement is None:
            return False
        root = describe(statement.opcode).root
        if root == "ld":
            address = next((one for one in statement.operands if isinstance(one, Address)), None)
            base = address.base if address is not None else None
            return isinstance(base, Variable) and base.name.endswith("_param_0")
        following = [one for one in statement.operands[1:2] if isinstance(one, int)]
        if not following or root not in ("mov", "cvta", "add"):
            return False
        register = following[0]
    return False
