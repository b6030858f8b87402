"""Floating-point operations of the simulator's machine against exact fractions, and approximations
against a GPU's.
"""

import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from exact import AWAY, BF16, DOWN, E4M3, E5M2, F16, F32, F64, FORMATS, NEAREST, UP, ZERO, root
from operations_library import (
    APPROX,
    FTZ,
    FULL,
    INTEGER,
    NAN,
    RELU,
    RM,
    RNA,
    RP,
    RZ,
    SAT,
    SATFINITE,
    XORSIGN,
    evaluate,
    numbers,
    run,
)

MODES = {NEAREST: 0, ZERO: RZ, DOWN: RM, UP: RP}
SIGNED_NAN = 1 << 63


def flush(bits, f):
    """A subnormal number becomes zero of its sign."""
    return bits & f.sign if bits & f.infinity == 0 else bits


def arithmetic(kind, f, operands, mode):
    """The bits of add, sub, mul, fma, div, sqrt or rcp of bits, by fractions and the rules of IEEE
    754.
    """
    sign = f.sign
    if any(f.is_nan(x) for x in operands):
        if f is F64:
            # Of a fused multiply-add the first factor, the addend, the second factor.
            in_order = (operands[0], *operands[:0:-1]) if kind == "fma" else operands
            return next(x for x in in_order if f.is_nan(x)) | 1 << 51
        return f.nan
    infinite = [f.is_infinite(x) for x in operands]
    negative = [bool(x & sign) for x in operands]
    if kind == "sub":
        return arithmetic("add", f, (operands[0], operands[1] ^ sign), mode)
    if kind == "rcp":
        return arithmetic("div", f, (f.rounded(Fraction(1)), operands[0]), mode)
    if kind == "sqrt":
        (x,) = operands
        if x & (sign - 1) == 0:
            return x
        return f.nan if negative[0] else x if infinite[0] else f.rounded(root(f.value(x)), mode)
    if kind == "div":
        minus = negative[0] != negative[1]
        if infinite[0]:
            return f.nan if infinite[1] else f.infinity | sign * minus
        if infinite[1]:
            return sign * minus
        a, b = (f.value(x) for x in operands)
        if b == 0:
            return f.nan if a == 0 else f.infinity | sign * minus
        return f.rounded(a / b, mode, minus)
    if kind == "mul":
        minus = negative[0] != negative[1]
        if any(infinite):
            return (
                f.nan if any(x & (sign - 1) == 0 for x in operands) else f.infinity | sign * minus
            )
        return f.rounded(f.value(operands[0]) * f.value(operands[1]), mode, minus)
    if kind == "add":
        terms = list(operands)
    else:  # fma: the product as a number or an infinity
        a, b, c = operands
        minus = negative[0] != negative[1]
        if infinite[0] or infinite[1]:
            if a & (sign - 1) == 0 or b & (sign - 1) == 0:
                return f.nan
            product = f.infinity | sign * minus
            return f.nan if infinite[2] and negative[2] != minus else product
        if infinite[2]:
            return c
        exact = f.value(a) * f.value(b) + f.value(c)
        zero = minus if minus == negative[2] else mode == DOWN
        if exact == 0 and f.value(c) != 0:
            zero = mode == DOWN
        return f.rounded(exact, mode, zero)
    if any(infinite):
        return (
            f.nan
            if all(infinite) and negative[0] != negative[1]
            else next(x for x, i in zip(terms, infinite, strict=True) if i)
        )
    exact = f.value(terms[0]) + f.value(terms[1])
    zero = negative[0] if negative[0] == negative[1] else mode == DOWN
    if exact == 0 and f.value(terms[0]) != 0:
        zero = mode == DOWN
    return f.rounded(exact, mode, zero)


def compare(name, f, function, *sources, flags=0):
    got = evaluate(name, f.dtype, *sources, flags=flags).tolist()
    rows = list(zip(*(s.tolist() for s in sources), strict=True))
    wrong = [
        (list(map(hex, row)), hex(g), hex(function(*row)))
        for row, g in zip(rows, got, strict=True)
        if g != function(*row)
    ]
    assert not wrong, f"{name} ({flags:#x}): {len(wrong)} wrong, {wrong[:4]}"


def operands(f, kind, count=480):
    """Pairs or triples with cancellation, ties and special values."""
    arity = {"sqrt": 1, "rcp": 1, "fma": 3}.get(kind, 2)
    columns = [f.interesting(count, seed) for seed in range(arity)]
    if arity > 1:
        columns[1][::7] = columns[0][::7] ^ np.array(f.sign, f.dtype)
        columns[1][1::11] = columns[0][1::11] + np.array(1, f.dtype)
    if arity == 3:
        product = [
            arithmetic("mul", f, (a, b), NEAREST) ^ f.sign
            for a, b in zip(columns[0].tolist(), columns[1].tolist(), strict=True)
        ]
        columns[2][::3] = np.array(product, f.dtype)[::3]
    return columns


@pytest.mark.parametrize("kind", ["add", "sub", "mul", "fma", "div", "sqrt", "rcp"])
@pytest.mark.parametrize("name", FORMATS)
def test_arithmetic_rounds_once(name, kind):
    f = FORMATS[name]
    if f.bits == 16 and kind in ("div", "sqrt", "rcp"):
        assert f"{kind}.{name}" not in numbers()
        return
    columns = operands(f, kind)
    for mode, flag in MODES.items():
        if f.bits == 16 and flag:
            continue
        compare(
            f"{kind}.{name}",
            f,
            lambda *row: arithmetic(kind, f, row, mode),
            *columns,
            flags=flag,
        )


@pytest.mark.parametrize("kind", ["add", "mul", "fma"])
def test_flushed_and_saturated(kind):
    f = F32

    def flushed(*row):
        return flush(arithmetic(kind, f, [flush(x, f) for x in row], NEAREST), f)

    compare(f"{kind}.f32", f, flushed, *operands(f, kind), flags=FTZ)

    def saturated(*row):
        bits = arithmetic(kind, f, row, NEAREST)
        return 0 if f.is_nan(bits) or bits & f.sign else min(bits, 0x3F800000)

    compare(f"{kind}.f32", f, saturated, *operands(f, kind), flags=SAT)


@pytest.mark.parametrize("name", ["f16", "bf16"])
@pytest.mark.parametrize("kind", ["add", "mul", "fma"])
def test_pairs_are_two_numbers(name, kind):
    f = FORMATS[name]
    columns = [c[: c.size // 2 * 2] for c in operands(f, kind)]
    pairs = evaluate(
        f"{kind}.{name}x2", np.dtype(np.uint32), *(c.view(np.uint32) for c in columns)
    ).view(np.uint16)
    assert (pairs == evaluate(f"{kind}.{name}", f.dtype, *columns)).all()
    if kind == "fma":
        relu = evaluate(f"fma.{name}", f.dtype, *columns, flags=RELU)
        plain = evaluate(f"fma.{name}", f.dtype, *columns)
        assert (relu == np.where((plain & 0x8000) != 0, 0, plain)).all()


@pytest.mark.parametrize("name", FORMATS)
def test_minimum_and_maximum(name):
    f = FORMATS[name]
    a, b = (
        np.array([x for x, _ in itertools.product(f.interesting(40), repeat=2)], f.dtype)
        for _ in range(2)
    )
    b = np.array([y for _, y in itertools.product(f.interesting(40), repeat=2)], f.dtype)

    def order(bits):  # -0 below +0
        return -(bits & (f.sign - 1)) - 1 if bits & f.sign else bits

    for kind, choose in (("min", min), ("max", max)):

        def extreme(x, y):
            if f.is_nan(x) or f.is_nan(y):
                numbers_only = [v for v in (x, y) if not f.is_nan(v)]
                return numbers_only[0] if numbers_only else arithmetic("add", f, (x, y), NEAREST)
            return choose(x, y, key=order)

        compare(f"{kind}.{name}", f, extreme, a, b)
        if f is F64:
            continue
        compare(
            f"{kind}.{name}",
            f,
            lambda x, y: f.nan if f.is_nan(x) or f.is_nan(y) else choose(x, y, key=order),
            a,
            b,
            flags=NAN,
        )

        def by_size(x, y):
            if f.is_nan(x) and f.is_nan(y):
                return f.nan
            sizes = [v & (f.sign - 1) for v in (x, y) if not f.is_nan(v)]
            return choose(sizes) | (x ^ y) & f.sign

        compare(f"{kind}.{name}", f, by_size, a, b, flags=XORSIGN)
    for x, y, z in ((1.0, 2.0, -3.0), (np.nan, 2.0, 1.0)):
        three = [np.full(32, v, np.float32) for v in (x, y, z)]
        assert run("min.f32", [np.float32], *three)[0][0] == np.nanmin([x, y, z])


@pytest.mark.parametrize("name", FORMATS)
def test_signs(name):
    f = FORMATS[name]
    a, b = f.interesting(200, special=False), f.interesting(200, 2, special=False)
    compare(f"neg.{name}", f, lambda x: x ^ f.sign, a)
    compare(f"abs.{name}", f, lambda x: x & (f.sign - 1), a)
    if f.bits > 16:
        compare(f"copysign.{name}", f, lambda x, y: x & f.sign | y & (f.sign - 1), a, b)


@pytest.mark.parametrize("name", [*FORMATS])
def test_comparisons(name):
    f = FORMATS[name]
    pairs = list(itertools.product(f.interesting(34).tolist(), repeat=2))
    a, b = (np.array(column, f.dtype) for column in zip(*pairs, strict=True))

    def value(bits):
        return math.copysign(math.inf, -(bits & f.sign)) if f.is_infinite(bits) else f.value(bits)

    signs = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
    unordered = np.array([f.is_nan(x) or f.is_nan(y) for x, y in pairs])
    for kind, sign in signs.items():
        holds = np.array([not nan and eval(f"x {sign} y",
                    {"x": value(x) if not nan else 0, "y": value(y) if not nan else 0})
                          for (x, y), nan in zip(pairs, unordered, strict=True)])  # fmt: skip
        assert (evaluate(f"setp.{kind}.{name}", bool, a, b) == holds).all(), kind
        assert (evaluate(f"setp.{kind}u.{name}", bool, a, b) == (holds | unordered)).all(), kind
        if f.bits == 16:
            x2 = [np.resize(v, 64).view(np.uint32) for v in (a, b)]
            p, q, _ = run(f"setp.{kind}.{name}x2", [bool, bool], *x2)
            assert (p == holds[:64:2]).all() and (q == holds[1:64:2]).all()
            ones = run(f"set.{kind}.{name}x2.{name}x2", [np.uint32], *x2)[0].view(np.uint16)
            assert (ones == np.where(holds[:64], f.rounded(Fraction(1)), 0)).all()
            masks = run(f"set.{kind}.u32.{name}x2", [np.uint32], *x2)[0].view(np.uint16)
            assert (masks == np.where(holds[:64], 0xFFFF, 0)).all()
    assert (evaluate(f"setp.num.{name}", bool, a, b) == ~unordered).all()
    assert (evaluate(f"setp.nan.{name}", bool, a, b) == unordered).all()


def test_comparisons_of_flushed_numbers_and_classes():
    small, zero = np.full(32, 1, np.uint32).view(np.float32), np.zeros(32, np.float32)
    assert (
        not run("setp.eq.f32", [bool], small, zero)[0].any()
        and run("setp.eq.f32", [bool], small, zero, flags=FTZ)[0].all()
    )
    for f in (F32, F64):
        a = f.interesting(320)
        size = a & np.array(f.sign - 1, f.dtype)
        classes = {"finite": size < f.infinity, "infinite": size == f.infinity,
            "number": size <= f.infinity,
                   "notanumber": size > f.infinity,
                   "normal": (size >= 1 << f.digits) & (size < f.infinity),
                   "subnormal": (size > 0) & (size < 1 << f.digits)}  # fmt: skip
        for kind, want in classes.items():
            assert (evaluate(f"testp.{kind}.{f.name}", bool, a) == want).all(), kind


def nan_between(x, f, g):
    """A NaN of f in g: one of 64 bits keeps its sign and its upper bits and becomes quiet, one of
    bfloat16 keeps all bits in f32, every other one is the NaN that operations make."""
    if f is F64:
        upper = x >> (f.digits - g.digits) & ((1 << g.digits) - 1)
        return (x >> 63) * g.sign | g.infinity | 1 << (g.digits - 1) | upper
    return x << 16 if f is BF16 and g is F32 else g.nan


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("of", FORMATS)
def test_between_formats(of, to):
    f, g = FORMATS[of], FORMATS[to]
    a = f.interesting(600)
    if f is g:
        whole = {NEAREST: round, ZERO: math.trunc, DOWN: math.floor, UP: math.ceil}
        for mode, flag in MODES.items():

            def to_whole(x):
                if f.is_nan(x):
                    return x | 1 << 51 if f is F64 else f.nan
                return (
                    x
                    if f.is_infinite(x)
                    else f.rounded(Fraction(whole[mode](f.value(x))), zero_sign=bool(x & f.sign))
                )

            compare(f"cvt.{to}.{of}", g, to_whole, a, flags=INTEGER | flag)
        return
    for mode, flag in MODES.items():

        def converted(x):
            if f.is_nan(x):
                return nan_between(x, f, g)
            if f.is_infinite(x):
                return g.infinity | (g.sign if x & f.sign else 0)
            return g.rounded(f.value(x), mode, bool(x & f.sign))

        if g is F64:
            a = np.array([x for x in a.tolist() if not f.is_nan(x)], f.dtype)
            if flag:
                continue
        if f.bits < g.bits and flag:
            continue
        compare(f"cvt.{to}.{of}", g, converted, a, flags=flag)


INTEGER_TYPES = {
    f"{s}{b}": np.dtype(("int" if s == "s" else "uint") + str(b))
    for s in "us"
    for b in (8, 16, 32, 64)
}


@pytest.mark.parametrize("kind", INTEGER_TYPES)
@pytest.mark.parametrize("name", FORMATS)
def test_to_and_from_integers(name, kind):
    f, dtype = FORMATS[name], INTEGER_TYPES[kind]
    bits, signed = 8 * dtype.itemsize, kind[0] == "s"
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    slot = np.dtype(f"{'int' if signed else 'uint'}{max(bits, 16)}")
    a = f.interesting(600)
    edges = [
        low,
        low - 1,
        low + 1,
        high,
        high + 1,
        high - 1,
        Fraction(2 * high + 1, 2),
        Fraction(-1, 2),
        Fraction(1, 2),
        Fraction(3, 2),
    ]
    a = np.concatenate([a, np.array([f.rounded(Fraction(e)) for e in edges], f.dtype)])
    whole = {NEAREST: round, ZERO: math.trunc, DOWN: math.floor, UP: math.ceil}
    for mode, flag in MODES.items():
        got = evaluate(f"cvt.{kind}.{name}", slot, a, flags=INTEGER | flag).tolist()
        for x, value in zip(a.tolist(), got, strict=True):
            if f.is_nan(x):
                top = low if signed else 1 << (bits - 1)
                want = top if bits == 64 or f is F64 else 0
            elif f.is_infinite(x):
                want = low if x & f.sign else high
            else:
                want = min(max(whole[mode](f.value(x)), low), high)
            assert value == want, (kind, name, mode, hex(x), value, want)
    chooser = np.random.default_rng(3)
    sizes = chooser.integers(0, bits - 1, 300).astype(dtype)
    numbers_ = np.concatenate(
        [
            chooser.integers(low, high, 300, dtype, endpoint=True) >> sizes,
            # Fmt: skip.
            np.array([low, high, high - 1, 0, 1], dtype),
        ]
    ).astype(slot)
    for mode, flag in MODES.items():
        compare(
            f"cvt.{name}.{kind}", f, lambda n: f.rounded(Fraction(n), mode), numbers_, flags=flag
        )


def test_pairs_and_bytes_from_floats():
    a, b = F32.interesting(800), F32.interesting(800, 2)
    # Numbers near the ends of the small formats, where ties and overflow are.
    for k, scale in enumerate(
        (448.0, 464.0, 57344.0, 61440.0, 2.0**-9, 2.0**-16, 2.0**-17, 65504.0)
    ):
        a[k::16] = (np.linspace(0.9, 1.1, a[k::16].size) * scale).astype(np.float32).view(np.uint32)

    def narrow(x, g, flags):
        if F32.is_nan(x):
            return g.nan
        if flags & RELU and x & F32.sign:
            return 0
        finite = bool(flags & SATFINITE)
        if F32.is_infinite(x):
            return (g.largest if finite else g.infinity) | (g.sign if x & F32.sign else 0)
        return g.rounded(F32.value(x), ZERO if flags & RZ else NEAREST, bool(x & F32.sign), finite)

    cases = [
        ("f16x2", F16, (0, RZ, RELU, SATFINITE)),
        ("bf16x2", BF16, (0, RZ, RELU, SATFINITE, RZ | RELU)),
        # Fmt: skip.
        ("e4m3x2", E4M3, (SATFINITE, SATFINITE | RELU)),
        ("e5m2x2", E5M2, (SATFINITE, SATFINITE | RELU)),
    ]
    for kind, g, all_flags in cases:
        for flags in all_flags:
            got = evaluate(
                f"cvt.{kind}.f32",
                np.dtype(np.uint32 if g.bits == 16 else np.uint16),
                a,
                b,
                flags=flags,
            ).tolist()
            want = [
                narrow(x, g, flags) << g.bits | narrow(y, g, flags)
                for x, y in zip(a.tolist(), b.tolist(), strict=True)
            ]
            assert got == want, (
                kind,
                flags,
                next(
                    (hex(x), hex(y), hex(u), hex(v))
                    for x, y, u, v in zip(a, b, got, want, strict=True)
                    if u != v
                ),
            )


@pytest.mark.parametrize("g", [E4M3, E5M2], ids=["e4m3", "e5m2"])
def test_bytes_to_and_from_halves(g):
    every = np.arange(65536, dtype=np.uint16)
    back = (
        evaluate(f"cvt.f16x2.{g.name}x2", np.dtype(np.uint32), every)
        .view(np.uint16)
        .reshape(-1, 2)
        .tolist()
    )
    single = [F16.nan if g.is_nan(x) else F16.infinity | (x & g.sign) << 8 if g.is_infinite(x) else
              F16.rounded(g.value(x), zero_sign=bool(x & g.sign)) for x in range(256)]  # fmt: skip
    assert back == [[single[x & 255], single[x >> 8]] for x in every.tolist()]
    got = evaluate(
        f"cvt.{g.name}x2.f16x2",
        np.dtype(np.uint16),
        every.astype(np.uint32) | 0x3C000000,
        flags=SATFINITE,
    )
    for x, byte in zip(every.tolist()[::7], (got & 255).tolist()[::7], strict=True):
        sign = g.sign if x & 0x8000 else 0
        want = (
            g.nan
            if F16.is_nan(x)
            else sign | g.largest
            if F16.is_infinite(x)
            else g.rounded(F16.value(x), NEAREST, bool(sign), True)
        )
        assert byte == want, (hex(x), hex(byte), hex(want))


def test_tf32():
    a = F32.interesting(2000)
    for flags, mode in ((RNA, AWAY), (0, NEAREST), (RZ, ZERO)):

        def rounded(x, mode=mode):
            if F32.is_nan(x):
                return x & ~0x1FFF if mode == AWAY else 0x7FFFFFFF  # cut, not made anew
            if F32.is_infinite(x):
                return x
            cut, rest = x & ~0x1FFF, x & 0x1FFF
            up = (
                rest >= 0x1000
                if mode == AWAY
                else mode == NEAREST and (rest > 0x1000 or (rest == 0x1000 and x & 0x2000))
            )
            return cut + (0x2000 if up else 0)

        compare("cvt.tf32.f32", F32, rounded, a, flags=flags)


def ulps(got, want):
    """Units in the last place of `want`, float64, of float32 results."""
    want = np.asarray(want, np.float64)
    unit = np.exp2(np.maximum(np.floor(np.log2(np.maximum(np.abs(want), 2.0**-126))), -126) - 23)
    return np.abs(np.asarray(got, np.float64) - want) / unit


def test_approximations_are_within_their_bounds():
    chooser = np.random.default_rng(1)
    x = np.concatenate(
        [chooser.uniform(-149, 127.9, 40000), chooser.uniform(-1, 1, 20000), np.arange(-149, 128)]
    ).astype(np.float32)
    assert ulps(evaluate("ex2.f32", np.float32, x), np.exp2(x.astype(np.float64))).max() <= 3
    assert (
        evaluate("ex2.f32", np.float32, np.arange(-126, 128, dtype=np.float32))
        == np.exp2(np.arange(-126.0, 128.0))
    ).all()
    positive = np.exp2(chooser.uniform(-149, 127, 60000)).astype(np.float32)
    positive[:20000] = chooser.uniform(0.5, 2, 20000)
    want = np.log2(positive.astype(np.float64))
    assert (
        np.abs(evaluate("lg2.f32", np.float32, positive) - want)
        <= np.maximum(2.0**-22 * np.abs(want), 2.0**-22)
    ).all()
    assert (
        ulps(
            evaluate("rsqrt.f32", np.float32, positive), 1 / np.sqrt(positive.astype(np.float64))
        ).max()
        <= 2
    )
    angles = chooser.uniform(-math.pi, math.pi, 60000).astype(np.float32)
    for kind, function in (("sin", np.sin), ("cos", np.cos)):
        assert (
            np.abs(
                evaluate(f"{kind}.f32", np.float32, angles) - function(angles.astype(np.float64))
            ).max()
            <= 2.0**-20.5
        )
    want = np.tanh(x.astype(np.float64))
    assert (np.abs(evaluate("tanh.f32", np.float32, x) - want) <= 2.0**-10.9 * np.abs(want)).all()
    a, b = (np.exp2(chooser.uniform(-40, 40, 40000)).astype(np.float32) for _ in range(2))
    for flags in (APPROX, FULL):
        assert (
            ulps(evaluate("div.f32", np.float32, a, b, flags=flags), a.astype(np.float64) / b).max()
            <= 2
        )
    large = np.full(32, 2.0**127, np.float32)
    assert (run("div.f32", [np.float32], large, large, flags=APPROX)[0] == 0).all()
    assert (run("div.f32", [np.float32], large, large, flags=FULL)[0] == 1).all()


def test_approximations_of_special_values():
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, 2.0**-149, 1.0], np.float32)
    want = {
        "ex2": [1, 1, np.inf, 0, np.nan, 0.5, 1, 2],
        "lg2": [-np.inf, -np.inf, np.inf, np.nan, np.nan, np.nan, -149, 0],
        "rsqrt": [np.inf, -np.inf, 0, np.nan, np.nan, np.nan, 2.0**74.5, 1],
        "sqrt": [0, -0.0, np.inf, np.nan, np.nan, np.nan, 2.0**-74.5, 1],
        "rcp": [np.inf, -np.inf, 0, -0.0, np.nan, -1, np.inf, 1],
        "tanh": [0, -0.0, 1, -1, np.nan, math.tanh(-1), 2.0**-149, math.tanh(1)],
        "sin": [0, -0.0, np.nan, np.nan, np.nan, math.sin(-1), 0, math.sin(1)],
        "cos": [1, 1, np.nan, np.nan, np.nan, math.cos(1), 1, math.cos(1)],
    }
    for kind, values in want.items():
        got, expected = (
            evaluate(f"{kind}.f32", np.float32, special, flags=APPROX),
            np.array(values, np.float32),
        )
        assert np.allclose(
            got, expected, 2.0**-10.9 if kind == "tanh" else 1e-6, 3e-7, equal_nan=True
        ), (kind, got)
        assert (np.signbit(got) == np.signbit(expected))[~np.isnan(expected)].all(), (kind, got)
        assert (got.view(np.uint32)[np.isnan(got)] == 0x7FFFFFFF).all()
    assert evaluate("lg2.f32", np.float32, special, flags=FTZ)[6] == -np.inf
    assert evaluate("ex2.f32", np.float32, np.array([-127.0], np.float32), flags=FTZ)[0] == 0


def test_approximations_of_doubles():
    d = np.exp2(np.random.default_rng(2).uniform(-300, 300, 4000))
    assert (np.abs(evaluate("rsqrt.f64", np.float64, d) * np.sqrt(d) - 1) < 2.0**-50).all()
    for kind, want in (("rcp", 1 / d), ("rsqrt", 1 / np.sqrt(d))):
        got = evaluate(f"{kind}.f64", np.float64, d, flags=APPROX | FTZ)
        assert (np.abs(got / want - 1) < 2.0**-19).all() and (
            got.view(np.uint64) & np.uint64(0xFFFFFFFF) == 0
        ).all()


MEASURED = np.load(Path(__file__).with_name("special_functions.npz"))


@pytest.mark.parametrize("name", MEASURED.files)
def test_approximations_are_those_of_a_gpu(name):
    """Bits of operands and results of an H200. They hold numbers of every kind."""
    a, want = MEASURED[name]
    kind, of_type, *ftz = name.split(".")
    # f64: ptxas makes rsqrt of its estimate of the upper half, which is what .ftz gives.
    flags = (FTZ if ftz or (kind == "ex2" and of_type == "bf16") else 0) | (
        0 if name == "rsqrt.f64" else APPROX
    )
    bits = {"f32": np.uint32, "f64": np.uint64, "f16": np.uint16, "bf16": np.uint16}[of_type]
    got = evaluate(f"{kind}.{of_type}", np.dtype(bits), a.astype(bits), flags=flags)
    np.testing.assert_array_equal(got, want.astype(bits))
