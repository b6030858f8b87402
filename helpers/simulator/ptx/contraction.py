"""Contracts products and sums as ptxas does: mul and add (or sub) become one fma, which does not
round the product.

    mul.f16 p, a, b;  add.f16 d, p, c;        ->  fma.rn.f16 d, a, b, c
    mul.f32 p, a, b;  sub.f32 d, c, p;        ->  fma.rn.f32 d, -a, b, c

Neither of the two names a rounding mode (.rn forbids contraction), both have the same type and the
same .ftz, and both are in one basic block. The product does not saturate and has no guard. Every
use of it is such an addition: if the code also stores or multiplies the product, it needs the
rounded value, and all additions take that. Copies and changes of sign between the two do not
matter.

If both operands of an addition are products, ptxas rounds one of them: the one with more uses, or
else the second. It rounds a product that one addition uses twice (p + p).

The rules come from machine code of ptxas 13.0 for compute capability 9.0. ptxas follows them at
every level of optimisation, but not with --fmad=false.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from .body import Body
from .syntax import Label, Literal, Negated, Operand, Statement

_TYPES = ("f32", "f64", "f16", "f16x2", "bf16", "bf16x2")
_MODIFIERS = ("ftz", "sat")
_COPIES = {"f32": "b32", "f64": "b64", "f16": "b16", "bf16": "b16", "f16x2": "b32", "bf16x2": "b32"}
# The beginnings of opcodes after which a new block begins.
_ENDS = ("bra", "brx", "ret", "exit", "trap")


def contracted(body: Body) -> dict[int, Statement | None]:
    """Return the new statements of a function by number; None removes a statement."""
    kinds = {opcode: _kind(opcode) for opcode in {one.opcode for one in body.statements}}
    named = {kind[0] for kind in kinds.values() if kind is not None}
    if "mul" not in named or "add" not in named:
        return {}
    return _Contraction(body, kinds).run()


def _kind(opcode: str) -> tuple[str, str, str] | None:
    """Return ("mul" or "add", type, modifiers) for an opcode that may be contracted, ("copy" or
    "neg", type, "") for one between the two; None for any other.
    """
    root, *rest = opcode.split(".")
    if root not in ("mul", "add", "sub", "mov", "neg") or not rest:
        return None
    type, modifiers = rest[-1], rest[:-1]
    if root == "mov":
        return ("copy", type, "") if type in ("f32", "f64", "b16", "b32", "b64") else None
    if type not in _TYPES or any(one not in _MODIFIERS for one in modifiers):
        return None
    if root == "neg":
        # ptxas changes the sign of two bfloat16 by a multiplication.
        return ("neg", type, "") if type != "bf16x2" else None
    if root == "mul" and "sat" in modifiers:
        return None
    return "mul" if root == "mul" else "add", type, "ftz" if "ftz" in modifiers else ""


@dataclass(slots=True)
class _Use:
    """An addition of a product: its statement, the product's operand number, and whether the sign
    changes on the way.
    """

    statement: int
    position: int
    negative: bool


@dataclass(slots=True)
class _Product:
    """A product whose uses are all additions in its block. through: the copies between them."""

    statement: int
    uses: list[_Use] = field(default_factory=list)
    through: list[int] = field(default_factory=list)


class _Contraction:
    def __init__(self, body: Body, kinds: dict[str, tuple[str, str, str] | None]):
        self.statements = body.statements
        self.kinds = [kinds[one.opcode] for one in body.statements]
        self.written, self.read = body.definitions, body.readers
        self.starts = _starts(body)

    def run(self) -> dict[int, Statement | None]:
        products = {}
        for number, kind in enumerate(self.kinds):
            if kind is not None and kind[0] == "mul" and (one := self._product(number)) is not None:
                products[number] = one
        # An addition of two products takes the one that no other addition uses.
        found: dict[int, Statement | None] = {}
        of_addition: dict[int, list[tuple[_Product, _Use]]] = {}
        for product in products.values():
            for use in product.uses:
                of_addition.setdefault(use.statement, []).append((product, use))
        additions = sorted(of_addition)
        for alone in (True, False):
            for number in additions:
                if number in found:
                    continue
                here = sorted(of_addition[number], key=lambda one: one[1].position)
                here = [one for one in here if one[0].statement in products]
                chosen = next((one for one in here if len(one[0].uses) == 1 or not alone), None)
                if chosen is None:
                    continue
                product, use = chosen
                found[number] = self._fused(product, use)
                product.uses.remove(use)
                for other, _ in here:
                    if other is not product:
                        del products[other.statement]  # it is rounded for this addition
                if not product.uses:
                    found.update(dict.fromkeys((product.statement, *product.through)))
        return found

    def _product(self, number: int) -> _Product | None:
        """Return a multiplication as a product if every use is an addition that can take it."""
        one, found = self.statements[number], _Product(number)
        if one.guard >= 0 or not _is_plain(one.operands[1:]):
            return None
        if not self._follow(number, False, found):
            return None
        if len({use.statement for use in found.uses}) < len(found.uses):
            return None  # p + p
        last = max((use.statement for use in found.uses), default=-1)
        for operand in one.operands[1:]:
            if operand.__class__ is int and self._is_written(operand, number, last):
                return None
        return found if found.uses else None

    def _is_written(self, register: int, after: int, before: int) -> bool:
        """Return whether a register changes between two statements."""
        rows = self.written.get(register, [])
        at = bisect_right(rows, after - 1)
        return at < len(rows) and rows[at] < before

    def _follow(self, number: int, negative: bool, found: _Product) -> bool:
        """Add the uses of a statement's result; returns False if a use is no addition."""
        register = self.statements[number].operands[0]
        if register.__class__ is not int:
            return False
        written, read = self.written[register], self.read.get(register, [])
        end = self._end(number)
        at = bisect_right(written, number)
        replaced = written[at] if at < len(written) and written[at] < end else None
        if replaced is None and (
            any(not number < one < end for one in read) or (len(written) > 1 and not read)
        ):
            return False  # another block may read it
        first = bisect_right(read, number)
        reading = read[first : bisect_right(read, replaced if replaced is not None else end)]
        product = self.kinds[found.statement]
        assert product is not None
        return all(
            self._takes(one, register, product, negative, found) for one in dict.fromkeys(reading)
        )

    def _takes(
        self, number: int, register: int, product: tuple[str, str, str], negative: bool,
        found: _Product,
    ) -> bool:
        """Return whether a statement that reads a product adds it, or pass it on to additions."""
        statement, kind = self.statements[number], self.kinds[number]
        if kind is None or statement.guard == register:
            return False
        name, type, modifiers = kind
        if name == "add":
            if (type, modifiers) != product[1:] or not _is_plain(statement.operands[1:]):
                return False
            for position, operand in enumerate(statement.operands[1:], 1):
                if operand.__class__ is int and operand == register:
                    found.uses.append(_Use(number, position, negative))
            return True
        if statement.guard >= 0 or name == "mul" or statement.operands[1] != register:
            return False
        if name == "copy" and type not in (product[1], _COPIES[product[1]]):
            return False
        if name == "neg" and type != product[1]:
            return False
        found.through.append(number)
        return self._follow(number, negative != (name == "neg"), found)

    def _fused(self, product: _Product, use: _Use) -> Statement:
        """Return the addition with the product's factors."""
        one, addition = self.statements[product.statement], self.statements[use.statement]
        root, *modifiers = addition.opcode.split(".")
        negative = use.negative
        other = addition.operands[3 - use.position]
        if root == "sub":
            if use.position == 2:
                negative = not negative
            else:
                other = _negated(other)
        first, second = one.operands[1:]
        if negative:
            if first.__class__ is not int:
                first, second = second, first
            first = _negated(first)
        opcode = ".".join(("fma", "rn", *modifiers))
        operands = [addition.operands[0], first, second, other]
        return Statement(opcode, operands, addition.place, addition.guard, addition.negated)

    def _end(self, number: int) -> int:
        """Return the number of the first statement after a statement's block."""
        at = bisect_right(self.starts, number)
        return self.starts[at] if at < len(self.starts) else len(self.statements)


def _is_plain(operands: list[Operand]) -> bool:
    """Return whether operands are registers and constants with a sign."""
    return all(isinstance(one, int) or (isinstance(one, Literal) and one.width) for one in operands)


def _negated(operand: Operand) -> Operand:
    """Return a plain operand with the other sign."""
    if isinstance(operand, Literal):
        return Literal(operand.bits ^ 1 << (8 * operand.width - 1), operand.width)
    assert isinstance(operand, int)
    return Negated(operand)


def _starts(body: Body) -> list[int]:
    """Return the first statements of the basic blocks."""
    found = {0}
    ways: dict[int, int] = {}  # the number of branches to a statement
    ends = []
    for number, one in enumerate(body.statements):
        if one.opcode.startswith(_ENDS):
            ends.append(number)
            for operand in one.operands:
                if isinstance(operand, Label):
                    ways[operand.statement] = ways.get(operand.statement, 0) + 1
    for labels in body.targets.values():
        for label in labels:
            ways[label.statement] = ways.get(label.statement, 0) + 2
    found.update(ways)
    for number in ends:
        one = body.statements[number]
        only = one.operands[0] if one.opcode.startswith("bra") and one.guard < 0 else None
        if isinstance(only, Label) and only.statement == number + 1 and ways[number + 1] == 1:
            found.discard(number + 1)  # no block ends by a branch to what follows anyway
        else:
            found.add(number + 1)
    return sorted(found)
