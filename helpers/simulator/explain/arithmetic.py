"""What an instruction makes of the formulas of its sources."""

from __future__ import annotations

from collections.abc import Iterable

from ..ptx.opcodes import ROUND_INTEGER, SATURATE
from .formulas import Cell, Formula, Function, Number, Packed, largest_or_smallest, limited
from .lanes import Follower, Form, Lane
from .ptx_types import is_float, value_of
from .translation import Row

_ROUNDINGS = ("rint", "int", "floor", "ceil")  # the lowest two flags of an instruction
_PAIRS = {"f16x2": "f16", "bf16x2": "bf16"}
_UNARY = ("sqrt", "rsqrt", "rcp", "ex2", "lg2", "sin", "cos", "tanh", "not", "popc", "clz", "brev",
          "bfind")  # fmt: skip
_BINARY = ("rem", "and", "or", "xor", "shl", "shr")


def compute(run: Follower, lane: Lane, row: Row, observed: list[int]) -> Form | list[Form]:
    """Return the formula of an instruction's result, or those of all its results.

    observed: the bits of the results, as the machine computed them.
    """
    root, *rest = row.operation.split(".")
    if root in ("mov", "cvta", "isspacep"):
        return run.form_of(lane, row.sources[0])
    if root in ("pack", "unpack"):
        return _pack(run, lane, row) if root == "pack" else _unpack(run, lane, row)
    types = _types(rest)
    type = types[-1] if types else ""
    if root == "setp" or type == "pred" or row.widths[:1] == (0,):
        return None
    if type in _PAIRS:
        return _in_pairs(run, lane, row, root, rest, _PAIRS[type], observed)
    if root == "selp":
        chosen = 0 if run.bits_of(lane, row.sources[2]) & 1 else 1
        return run.form_of(lane, row.sources[chosen])
    if root == "cvt":
        return _converted(run, lane, row, types, observed[0])
    args = [run.formula_of(lane, one, _type_of(root, rest, type, k)) for k, one in
            enumerate(row.sources)]  # fmt: skip
    value = value_of(observed[0], _wide(type) if "wide" in rest else type)
    return combined(root, rest, type, args, row.flags, value)


def combined(
    root: str,
    rest: list[str],
    type: str,
    args: list[Formula],
    flags: int,
    value: Number,
) -> Formula:
    """Return the formula of an operation by its name: root.rest; value: its result."""
    real = is_float(type)
    if flags & SATURATE and real:
        return _function(f"{root}.sat", args, type, value)
    if root in ("add", "sub"):
        return args[0].plus(args[1], 1 if root == "add" else -1)
    if root == "neg":
        return Formula.constant(0, real).plus(args[0], -1)
    if root in ("mul", "mad", "fma") and "hi" not in rest:
        product = args[0].times(args[1], value)
        product = Formula(product.terms, real)
        return product if root == "mul" else product.plus(args[2])
    if root in ("min", "max"):
        return largest_or_smallest(root, args, type, value)
    if root == "div":
        divisor = _constant(args[1])
        if real and divisor:
            return args[0].times(Formula.constant(1 / divisor), value)
        return _function("div", args, type, value)
    if root == "rcp" and real and (known := _constant(args[0])):
        return Formula.constant(1 / known)
    if root == "and" and (kept := _masked(args)) is not None:
        return kept
    if root == "copysign":  # the sign of the first, the size of the second
        args = args[::-1]
    if root in ("abs", "copysign") or root in _UNARY or root in _BINARY:
        return _function(root, args, type, value)
    name = ".".join([root, *(one for one in rest if one != type)])
    return _function(name, args, type, value)


def _masked(args: list[Formula]) -> Formula | None:
    """Return the cell whose bits a mask leaves as they are, None for any other mask."""
    for one, other in (args, args[::-1]):
        mask, atom = _constant(other), one.atom
        if isinstance(atom, Cell) and atom.code[0] == "u" and isinstance(mask, int):
            bits = 8 * int(atom.code[1:])
            if mask & ((1 << bits) - 1) == (1 << bits) - 1:
                return one
    return None


def _types(parts: Iterable[str]) -> list[str]:
    return [one for one in parts if one == "pred" or (one[-1:].isdigit() and one[0] in "fsubt")]


def _type_of(root: str, rest: list[str], type: str, k: int) -> str:
    """Return the type of the k-th source."""
    if root == "mad" and "wide" in rest and k == 2:
        return _wide(type)
    if root in ("shl", "shr", "shf") and k > 0:
        return "u32"
    return type


def _wide(type: str) -> str:
    return f"{type[0]}{2 * int(type[1:])}"


def _function(name: str, args: Iterable[Formula], type: str, value: Number) -> Formula:
    return limited(Formula.of(Function(name, tuple(args), type, value), is_float(type)), value)


def _constant(one: Formula) -> Number | None:
    """Return the value of a formula without cells, None for any other one."""
    if not one.terms:
        return 0
    return one.terms[()] if len(one.terms) == 1 and () in one.terms else None


# ---- conversions


def _converted(run: Follower, lane: Lane, row: Row, types: list[str], bits: int) -> Form:
    to, source = (types[0], types[1]) if len(types) > 1 else (types[-1], types[-1])
    operand = row.sources[0]
    form = run.form_of(lane, operand)
    if to in _PAIRS:  # two floats become a pair of halves: the first is the upper one
        high, low = (run.formula_of(lane, one, "f32") for one in row.sources[:2])
        return Packed((low, high))
    before = value_of(run.bits_of(lane, operand), source)
    after = value_of(bits, to)
    if isinstance(form, Packed):
        return form if int(to[1:]) >= int(source[1:]) else form.parts[0]
    arg = run.formula_of(lane, operand, source)
    if is_float(source) and is_float(to):
        if row.flags & ROUND_INTEGER:
            return _function(_ROUNDINGS[row.flags & 3], [arg], to, after)
        return _function("saturate", [arg], to, after) if row.flags & SATURATE else arg
    if is_float(source):
        name = _ROUNDINGS[row.flags & 3] if row.flags & ROUND_INTEGER else "int"
        return _function(name, [arg], to, after)
    if is_float(to):
        return Formula(_fitting(arg, source, before).terms, True)
    if int(to[1:]) > int(source[1:]):
        return _fitting(arg, source, before)
    return arg if before == after else _function("wrap", [arg], to, after)


def _fitting(arg: Formula, type: str, value: Number) -> Formula:
    """Return a whole number's formula where more bits are wanted than its type has: as it is, if it
    is one cell or constant, or a sum of few small ones.
    """
    if arg.atom is not None or isinstance(_constant(arg), int):
        return arg
    limit = 1 << (int(type[1:]) - 2)
    if isinstance(value, int) and -limit < value < limit:
        return arg
    return _function("wrap", [arg], type, value)


# ---- several values in one register


def _pack(run: Follower, lane: Lane, row: Row) -> Form:
    parts: list[Formula | None] = []
    for source in row.sources:
        form = run.form_of(lane, source)
        parts += form.parts if isinstance(form, Packed) else [form]
    return Packed(tuple(parts)) if any(one is not None for one in parts) else None


def _unpack(run: Follower, lane: Lane, row: Row) -> list[Form]:
    form, count = run.form_of(lane, row.sources[0]), len(row.results)
    found: list[Form] = []
    if isinstance(form, Packed) and len(form.parts) % count == 0:
        each = len(form.parts) // count
        for k in range(count):
            parts = form.parts[k * each : (k + 1) * each]
            found.append(parts[0] if each == 1 else Packed(parts))
    elif isinstance(form, Formula):
        found = [_function(f"part {k}", [form], "", 0) for k in range(count)]
    else:
        found = [None] * count
    return [one for one, register in zip(found, row.results, strict=True) if register >= 0]


def _in_pairs(
    run: Follower,
    lane: Lane,
    row: Row,
    root: str,
    rest: list[str],
    type: str,
    observed: list[int],
) -> Form:
    """Return the formulas of an operation on two halves at a time."""
    halves: list[Formula | None] = []
    for half in range(2):
        args = []
        for source in row.sources:
            bits = run.bits_of(lane, source) >> 16 * half & 0xFFFF
            form = run.form_of(lane, source)
            part = form.parts[half] if isinstance(form, Packed) and len(form.parts) == 2 else None
            if isinstance(form, Formula):
                part = _function(f"part {half}", [form], type, value_of(bits, type))
            args.append(
                run.as_type(part, type, bits)
                if part is not None
                else Formula.constant(value_of(bits, type))
            )
        value = value_of(observed[0] >> 16 * half & 0xFFFF, type)
        names = [one for one in rest if one not in _PAIRS]
        halves.append(combined(root, [*names, type], type, args, row.flags, value))
    return Packed(tuple(halves))


# ---- atomics and reductions


def updated(
    run: Follower, lane: Lane, row: Row, type: str, old: Form, old_bits: int | None, element: int
) -> tuple[Form, int | None]:
    """Return what an atomic stores: its formula, and its bits, None if they are not known."""
    name = row.operation.split(".")[1]
    source = row.sources[1 + element]
    form, bits = run.form_of(lane, source), run.bits_of(lane, source)
    if name == "exch":
        return form, bits
    if name == "cas":
        if old_bits is None:
            return _unknown_update(old, type)
        if old_bits != bits & ((1 << 8 * row.bytes) - 1):
            return old, old_bits
        value = row.sources[2]
        return run.form_of(lane, value), run.bits_of(lane, value)
    if type in _PAIRS:
        return _unknown_update(old, type)
    left = (
        Formula.constant(value_of(old_bits or 0, type), is_float(type))
        if old is None
        else run.as_type(old, type, old_bits or 0)
    )
    right = run.formula_of(lane, source, type)
    new_bits = None
    if old_bits is not None and not is_float(type):
        new_bits = _whole_update(name, type, old_bits, bits, 8 * row.bytes)
    if old is None and form is None and new_bits is not None:
        return None, new_bits
    if name == "add":
        return left.plus(right), new_bits
    observed = value_of(new_bits, type) if new_bits is not None else 0
    if name in ("min", "max"):
        return largest_or_smallest(name, (left, right), type, observed), new_bits
    return _function(name, (left, right), type, observed), new_bits


def _unknown_update(old: Form, type: str) -> tuple[Form, int | None]:
    arg = old if isinstance(old, Formula) else Formula.constant(0)
    return _function("updated", [arg], type, 0), None


def _whole_update(name: str, type: str, old: int, operand: int, bits: int) -> int | None:
    a, b = value_of(old, type), value_of(operand, type)
    mask = (1 << bits) - 1
    found = {
        "add": lambda: a + b, "min": lambda: min(a, b), "max": lambda: max(a, b),
        "and": lambda: old & operand, "or": lambda: old | operand, "xor": lambda: old ^ operand,
        "inc": lambda: 0 if old >= operand else old + 1,
        "dec": lambda: operand if old == 0 or old > operand else old - 1,
    }.get(name)  # fmt: skip
    return int(found()) & mask if found is not None else None


def reduced(row: Row, forms: list[Formula], bits: int) -> Formula:
    """Return the formula of a reduction over the lanes of a warp."""
    name = row.operation.split(".")[1]
    type = ("s32" if "s32" in row.operation else "u32") if "f32" not in row.operation else "f32"
    value = value_of(bits, type)
    if name == "add":
        total = Formula.constant(0, False)
        for one in forms:
            total = total.plus(one)
        return total
    if name in ("min", "max"):
        return largest_or_smallest(name, forms, type, value)
    return _function(name, forms, type, value)
