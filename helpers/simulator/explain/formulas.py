"""Formulas: where a value comes from.

A formula is a sum of products of input cells, in a normal form: two ways to the same sum are equal.
What is no sum or product is a function of formulas: the largest of some values, a quotient, a whole
number made of a float. Rounding is no part of a formula. So formulas of one value are equal
although two kernels round it differently, and a float that is only stored in fewer bits stays what
it is.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

Number = int | float
_MOST_TERMS = 1024  # of a product; a longer one stays a product of two sums
_MOST_ATOMS = 1 << 14  # of a formula, with those of its functions
_SHOWN_TERMS = 8
_DIGITS = 7  # to which coefficients are equal


class Atom:
    """What a formula is made of. Two atoms with the same `key` are the same."""

    __slots__ = ("_hash", "key")

    def __init__(self, *key: Any):
        self.key = (type(self).__name__, *key)
        self._hash = hash(self.key)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Atom) and self.key == other.key)

    def __hash__(self) -> int:
        return self._hash

    def evaluate(self, inputs: Mapping[str, Any]) -> Number:
        """Return the value for these inputs."""
        raise NotImplementedError

    @property
    def order(self) -> tuple:
        """By what atoms are sorted in a product."""
        return (3, str(self))


class Scalar(Atom):
    """A parameter of the kernel that is a number, or a number in one: `name` ("a", "p.x")."""

    __slots__ = ("name", "observed")

    def __init__(self, name: str, observed: Number):
        super().__init__(name)
        self.name, self.observed = name, observed

    def __str__(self) -> str:
        return self.name

    def evaluate(self, inputs: Mapping[str, Any]) -> Number:
        value = inputs.get(self.name, self.observed)
        return value.item() if isinstance(value, np.generic) else value

    @property
    def order(self) -> tuple:
        return (0, self.name)


class Cell(Atom):
    """A cell of an array as it was before the launch: N[3], tile[1][2], x[4].y.

    array, index, member: as in the source; rank: the place of the array among the parameters;
    offset, code: its bytes from the array's start and NumPy's code of its type.
    """

    __slots__ = ("array", "code", "index", "member", "offset", "rank")

    def __init__(
        self, array: str, index: int | tuple[int, ...], member: str = "", rank: int = 0,
        offset: int = 0, code: str = "f4",
    ):  # fmt: skip
        super().__init__(array, index, member)
        self.array, self.index, self.member = array, index, member
        self.rank, self.offset, self.code = rank, offset, code

    def __str__(self) -> str:
        return cell_text(self.array, self.index, self.member)

    def evaluate(self, inputs: Mapping[str, Any]) -> Number:
        if self.array not in inputs:
            raise KeyError(f"the inputs have no array {self.array!r}: {', '.join(inputs)}")
        data = np.ascontiguousarray(inputs[self.array]).view(np.uint8).reshape(-1)
        dtype = np.dtype(self.code)
        return data[self.offset : self.offset + dtype.itemsize].view(dtype)[0].item()

    @property
    def order(self) -> tuple:
        index = self.index if isinstance(self.index, tuple) else (self.index,)
        return (1, self.rank, self.array, index, self.member)


class Unset(Atom):
    """What is read where nothing has stored a value: a cell, or a variable (index None)."""

    __slots__ = ("array", "index", "member", "observed")

    def __init__(
        self, array: str, index: int | tuple[int, ...] | None, member: str = "",
        observed: Number = math.nan,
    ):  # fmt: skip
        super().__init__(array, index, member)
        self.array, self.index, self.member, self.observed = array, index, member, observed

    def __str__(self) -> str:
        return f"{cell_text(self.array, self.index, self.member)} without a value"

    def evaluate(self, inputs: Mapping[str, Any]) -> Number:
        return self.observed


class Before(Atom):
    """A cell that the launch has left as it was."""

    __slots__ = ("array", "index", "member", "observed")

    def __init__(self, array: str, index: int | tuple[int, ...], member: str, observed: Number):
        super().__init__(array, index, member)
        self.array, self.index, self.member, self.observed = array, index, member, observed

    def __str__(self) -> str:
        return f"{cell_text(self.array, self.index, self.member)} as before the launch"

    def evaluate(self, inputs: Mapping[str, Any]) -> Number:
        return self.observed


class Unknown(Atom):
    """A value whose origin is not on the record: of a thread that is not recorded, or from before a
    cut. `observed` is what was read.
    """

    __slots__ = ("observed", "what")

    def __init__(self, what: str, observed: Number):
        super().__init__(what, observed)
        self.what, self.observed = what, observed

    def __str__(self) -> str:
        return self.what

    def evaluate(self, inputs: Mapping[str, Any]) -> Number:
        return self.observed


class Loaded(Atom):
    """What one load has read, told apart from what other loads have: `load` is its number and its
    thread. `observed` is what was read.
    """

    __slots__ = ("observed",)

    def __init__(self, load: tuple[int, int, int], observed: Number):
        super().__init__(load)
        self.observed = observed

    def __str__(self) -> str:
        return "a loaded value"

    def evaluate(self, inputs: Mapping[str, Any]) -> Number:
        return self.observed


class Function(Atom):
    """A function of formulas: max(N[0], N[1]).

    name: of the function; type: the PTX type of its arguments ("s32", "f32"), to which whole
    numbers are wrapped; observed: the value that the machine computed, which stands for a function
    that this module does not compute itself.
    """

    __slots__ = ("_text", "args", "name", "observed", "size", "type")

    def __init__(self, name: str, args: tuple[Formula, ...], type: str, observed: Number):
        super().__init__(name, type, args)
        self.name, self.args, self.type, self.observed = name, args, type, observed
        self.size = 1 + sum(one.size for one in args)
        self._text = ""

    def __str__(self) -> str:
        # Kept: products are also sorted by it, so that each function within another one would
        # double the time.
        self._text = self._text or self._worded()
        return self._text

    def _worded(self) -> str:
        texts = [str(one) for one in self.args]
        if self.name in _SIGNS and len(texts) == 2:
            left, right = (
                t if _is_simple(a) else f"({t})" for t, a in zip(texts, self.args, strict=True)
            )
            return (
                f"{left} {_SIGNS[self.name]} {right}" if self.name != "div" else f"{left}/{right}"
            )
        return f"{_WORDS.get(self.name, self.name)}({', '.join(texts)})"

    @property
    def is_computed(self) -> bool:
        """Whether `evaluate` computes it, and so knows its value for other inputs, too."""
        return self._compute is not None

    @property
    def _compute(self) -> Callable[..., Number] | None:
        return _FUNCTIONS.get(self.name) or _of_library(self.name)

    def evaluate(self, inputs: Mapping[str, Any]) -> Number:
        compute = self._compute
        if compute is None:
            return self.observed
        values = [_wrapped(one.evaluate(inputs), self.type) for one in self.args]
        try:
            if self.name.strip("_").removesuffix("f") in _STEPS and len(values) == 1:
                # A float's rounding may have carried it over the edge, which a formula has not.
                near = {compute(self.type, values[0] * (1 + k * _ROUNDING)) for k in (-1, 1)}
                return self.observed if self.observed in near else compute(self.type, *values)
            return compute(self.type, *values)
        except (ZeroDivisionError, ValueError, OverflowError, TypeError):
            return self.observed


_STEPS = {"int", "floor", "ceil", "rint", "round", "trunc", "nearbyint"}
_ROUNDING = 1e-6
_SIGNS = {"div": "/", "rem": "%", "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>"}
_WORDS = {"rcp": "1/", "ex2": "exp2", "lg2": "log2", "wrap": "low bits of"}

Monomial = tuple[Atom, ...]


class Formula:
    """A sum of products. terms: the coefficient of each product of atoms, () for a constant;
    is_float: whether it is a float's value.

    Formulas are equal if their terms are, coefficients to seven digits. `str()` is a text of one
    line, whose end is left out if it is long.
    """

    __slots__ = ("_key", "is_float", "terms")

    def __init__(self, terms: Mapping[Monomial, Number], is_float: bool = True):
        self.terms, self.is_float = terms, is_float
        self._key: frozenset | None = None

    @classmethod
    def constant(cls, value: Number, is_float: bool = True) -> Formula:
        return cls({(): value} if value else {}, is_float)

    @classmethod
    def of(cls, atom: Atom, is_float: bool = True) -> Formula:
        return cls({(atom,): 1}, is_float)

    @property
    def size(self) -> int:
        """The number of atoms, with those of functions' arguments."""
        return sum(one.size if isinstance(one, Function) else 1 for m in self.terms for one in m)

    @property
    def key(self) -> frozenset:
        if self._key is None:
            self._key = frozenset((m, _rounded(c)) for m, c in self.terms.items())
        return self._key

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Formula) and self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)

    def plus(self, other: Formula, factor: Number = 1) -> Formula:
        """Return this formula plus `factor` times another one."""
        terms = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            total = terms.get(monomial, 0) + factor * coefficient
            if total:
                terms[monomial] = total
            else:
                terms.pop(monomial, None)
        return Formula(terms, self.is_float)

    def times(self, other: Formula, observed: Number) -> Formula:
        """Return the product with another formula; observed: its value."""
        if not self.terms or not other.terms:
            # 0 times what is no number is no number.
            rest = self if self.terms else other
            if any(isinstance(one, Unset | Unknown) for one in rest.leaves()):
                return self.function("0 *", (rest,), "f32", observed)
            return Formula({}, self.is_float)
        if len(self.terms) * len(other.terms) > _MOST_TERMS:
            return limited(self.function("product", (self, other), "f32", observed), observed)
        terms: dict[Monomial, Number] = {}
        for m, c in self.terms.items():
            for n, d in other.terms.items():
                both = tuple(sorted(m + n, key=_order)) if m and n else m or n
                total = terms.get(both, 0) + c * d
                if total:
                    terms[both] = total
                else:
                    terms.pop(both, None)
        return Formula(terms, self.is_float)

    def function(self, name: str, args: Iterable[Formula], type: str, observed: Number) -> Formula:
        """Return a function of formulas as a formula."""
        return Formula.of(
            Function(name, tuple(args), type, observed),
            type[:1] in "fb" and type != "b32" and type != "b64" and type != "b16",
        )

    @property
    def atom(self) -> Atom | None:
        """The atom that the formula consists of, None for any other formula."""
        if len(self.terms) == 1:
            ((monomial, coefficient),) = self.terms.items()
            if len(monomial) == 1 and coefficient == 1:
                return monomial[0]
        return None

    def leaves(self) -> set[Atom]:
        """Return the atoms of the formula and of its functions' arguments, but no functions."""
        found: set[Atom] = set()
        for monomial in self.terms:
            for atom in monomial:
                if isinstance(atom, Function):
                    for one in atom.args:
                        found |= one.leaves()
                else:
                    found.add(atom)
        return found

    def evaluate(self, inputs: Mapping[str, Any]) -> Number:
        """Return the value for these inputs: array name -> array as before the launch, and the
        names of scalars -> values (without one: that of the launch).

        Raises KeyError for an array that is missing.
        """
        return sum(self._values(inputs))

    def magnitude(self, inputs: Mapping[str, Any]) -> Number:
        """Return the sum of the sizes of the products: what rounding is measured by."""
        return sum(map(abs, self._values(inputs)))

    def _values(self, inputs: Mapping[str, Any]) -> Iterator[Number]:
        for monomial, coefficient in self.terms.items():
            value = coefficient
            for atom in monomial:
                value *= atom.evaluate(inputs)
            yield value

    @property
    def term_texts(self) -> list[str]:
        """The products as texts, such as "N[1]*filter[1]", in the order of their cells."""
        ordered = sorted(
            self.terms.items(), key=lambda one: (not one[0], [_order(a) for a in one[0]])
        )
        return [_term_text(monomial, coefficient) for monomial, coefficient in ordered]

    def __str__(self) -> str:
        texts = self.term_texts
        if not texts:
            return "0"
        rest = len(texts) - _SHOWN_TERMS
        shown = texts if rest <= 1 else texts[:_SHOWN_TERMS]
        text = shown[0] + "".join(
            f" - {one[1:]}" if one.startswith("-") else f" + {one}" for one in shown[1:]
        )
        return text if rest <= 1 else f"{text} + {rest} more terms"

    def __repr__(self) -> str:
        return f"<Formula {self}>"


def limited(formula: Formula, observed: Number) -> Formula:
    """Return a formula, or what stands for one that has become too long to follow."""
    if formula.size <= _MOST_ATOMS:
        return formula
    return Formula.of(Unknown("a long formula", observed), formula.is_float)


class Packed:
    """Several values in one register: its parts, the lowest first; a part is a formula, or None for
    a value without one.
    """

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Formula | None, ...]):
        self.parts = parts


def largest_or_smallest(name: str, args: Iterable[Formula], type: str, observed: Number) -> Formula:
    """Return the largest ("max") or the smallest ("min") of some formulas, whatever their order."""
    parts: dict[Formula, None] = {}
    for one in args:
        atom = one.atom
        if isinstance(atom, Function) and atom.name == name:
            parts.update(dict.fromkeys(atom.args))
        else:
            parts[one] = None
    if len(parts) == 1:
        return next(iter(parts))
    ordered = tuple(sorted(parts, key=_formula_order))
    return Formula.of(Function(name, ordered, type, observed), type[:1] in ("f", "b"))


def cell_text(array: str, index: int | tuple[int, ...] | None, member: str = "") -> str:
    """Return a cell as the source writes it: "N[3]", "tile[1][2]", "x[4].y"."""
    indices = () if index is None else index if isinstance(index, tuple) else (index,)
    return array + "".join(f"[{k}]" for k in indices) + (f".{member}" if member else "")


def _formula_order(one: Formula) -> list:
    return [([_order(a) for a in m], repr(c)) for m, c in sorted(
        one.terms.items(), key=lambda t: [_order(a) for a in t[0]])]  # fmt: skip


def _order(atom: Atom) -> tuple:
    first, *rest = atom.order
    return (first, tuple(map(repr_key, rest)))


def repr_key(one: Any) -> tuple:
    """Return what sorts numbers, texts and tuples of them together."""
    if isinstance(one, tuple):
        return (2, tuple(map(repr_key, one)))
    return (0, one, "") if isinstance(one, int | float) else (1, 0, str(one))


def _term_text(monomial: Monomial, coefficient: Number) -> str:
    factors = [
        f"({one})" if isinstance(one, Function) and one.name in _SIGNS and len(monomial) > 1
        else str(one)
        for one in monomial
    ]  # fmt: skip
    if not factors:
        return _number_text(coefficient)
    text = "*".join(factors)
    if coefficient == 1:
        return text
    return f"-{text}" if coefficient == -1 else f"{_number_text(coefficient)}*{text}"


def _number_text(value: Number) -> str:
    return str(value) if isinstance(value, int) else f"{value:.7g}"


def _is_simple(one: Formula) -> bool:
    if len(one.terms) > 1:
        return False
    return not isinstance(one.atom, Function) or one.atom.name not in _SIGNS


def _rounded(value: Number) -> Number:
    if isinstance(value, int):
        return value
    if not math.isfinite(value):
        return repr(value)  # type: ignore[return-value]  # NaN equals itself here
    return float(f"{value:.{_DIGITS}g}")


# ---- what functions compute

_BITS = {"8": 8, "16": 16, "32": 32, "64": 64}


def _wrapped(value: Number, type: str) -> Number:
    """Return a whole number as a type holds it; another value as it is."""
    bits = _BITS.get(type[1:])
    if bits is None or type[:1] not in "sub" or not isinstance(value, int):
        return value
    value &= (1 << bits) - 1
    return value - (1 << bits) if type[0] == "s" and value >> (bits - 1) else value


def _divided(type: str, a: Number, b: Number) -> Number:
    if type[:1] not in "sub":
        return a / b
    quotient = abs(int(a)) // abs(int(b))
    return quotient if (a < 0) == (b < 0) else -quotient


def _whole(number: Callable[[Number], int]) -> Callable[[str, Number], int]:
    return lambda type, a: number(a)


_FUNCTIONS: dict[str, Callable[..., Number]] = {
    "max": lambda type, *values: _extreme(max, values),
    "min": lambda type, *values: _extreme(min, values),
    "product": lambda type, a, b: a * b,
    "0 *": lambda type, a: 0 * a,
    "div": _divided,
    "rem": lambda type, a, b: a - b * _divided(type, a, b),
    "and": lambda type, a, b: a & b,
    "or": lambda type, a, b: a | b,
    "xor": lambda type, a, b: a ^ b,
    "not": lambda type, a: ~a,
    "shl": lambda type, a, b: _wrapped(a << b, type),
    "shr": lambda type, a, b: a >> b,
    "abs": lambda type, a: abs(a),
    "wrap": lambda type, a: a,
    "sqrt": lambda type, a: math.sqrt(a),
    "rsqrt": lambda type, a: 1 / math.sqrt(a),
    "rcp": lambda type, a: 1 / a,
    "ex2": lambda type, a: 2.0**a,
    "lg2": lambda type, a: math.log2(a),
    "sin": lambda type, a: math.sin(a),
    "cos": lambda type, a: math.cos(a),
    "tanh": lambda type, a: math.tanh(a),
    "int": _whole(math.trunc),
    "floor": _whole(math.floor),
    "ceil": _whole(math.ceil),
    "rint": _whole(round),
    "bits": lambda type, a: struct.unpack("<i", struct.pack("<f", a))[0],
}


def _of_library(name: str) -> Callable[..., Number] | None:
    """Return what a mathematical function of CUDA computes, by its name in a source: "expf"."""
    plain = name.strip("_")
    for known in (plain, plain.removesuffix("f")):
        known = {"fabs": "fabs", "round": "", "rint": "rint", "nearbyint": "rint"}.get(known, known)
        if (found := getattr(math, known, None)) is not None and callable(found):
            return lambda type, *values: float(found(*values))
        if known == "rint":
            return lambda type, a: float(round(a))
    if plain in ("roundf", "round"):
        return lambda type, a: math.copysign(math.floor(abs(a) + 0.5), a)
    if plain in ("rsqrtf", "rsqrt"):
        return lambda type, a: 1 / math.sqrt(a)
    return None


def _extreme(choose: Callable, values: tuple[Number, ...]) -> Number:
    known = [one for one in values if one == one]
    return choose(known) if known else math.nan
