"""The parts of PTX: places, operands, variables, statements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

TYPE_BYTES = {  # of one value; a predicate has no bytes of its own
    "pred": 0,
    **{f"{kind}{bits}": bits // 8 for kind in "bus" for bits in (8, 16, 32, 64)},
    "b128": 16, "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "f16x2": 4, "bf16x2": 4, "tf32": 4,
}


class ParseError(ValueError):
    """Text that this reader does not know as PTX; the message quotes it."""


class Place(NamedTuple):
    """A line and column of the source.

    `line` 0 is none. `inlined`: (file, line) of the calls around it, innermost first.
    """

    file: str
    line: int
    inlined: tuple[tuple[str, int], ...] = ()
    column: int = 0


@dataclass(slots=True, frozen=True)
class Literal:
    """A constant: its bits.

    `width` is 4 of 0f..., 8 of 0d... and of decimal fractions, 0 of an integer (of any width).
    """

    bits: int
    width: int = 0


@dataclass(slots=True, frozen=True)
class Special:
    """A special register, by its name without %."""

    name: str


@dataclass(slots=True, frozen=True)
class Symbol:
    """The address of a variable, parameter or function, and an offset."""

    name: str
    offset: int = 0


@dataclass(slots=True, eq=False)
class Variable:
    """A variable of a state space ("entry": a kernel's parameter; "param": one of a call).

    data: its initial bytes, None where it has none. addresses: (offset, symbol, addend) of the
    64-bit words in it that hold an address. size: 0 of an extern array.
    """

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
    """[base + offset], and for tensors [base, {coordinates}]. A base may be missing."""

    base: int | Symbol | Variable | None
    offset: int
    coordinates: tuple[Operand, ...] = ()


@dataclass(slots=True, frozen=True)
class Negated:
    """!predicate, or -register where a product and a sum are contracted."""

    register: int


@dataclass(slots=True, frozen=True)
class Pair:
    """first|second: two results."""

    first: Operand
    second: Operand


@dataclass(slots=True, frozen=True)
class Group:
    """(a, b, ...): the arguments or the results of a call."""

    members: tuple[Operand, ...]


@dataclass(slots=True, eq=False)
class Label:
    """A place in the code; `statement` is the index of the statement behind it, -1 until it is
    found."""

    name: str
    statement: int = -1


class Nothing:
    """The operand `_`."""


NOTHING = Nothing()
Operand = (
    int
    | Literal
    | Special
    | Symbol
    | Variable
    | Address
    | Negated
    | Pair
    | Group
    | Label
    | Nothing
    | list
)


@dataclass(slots=True)
class Statement:
    """One instruction. guard: register of its predicate or -1; negated: it runs in lanes whose
    predicate is false.
    """

    opcode: str
    operands: list[Operand]
    place: int
    guard: int = -1
    negated: bool = False
