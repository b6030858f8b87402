"""Integer operations, comparisons, conversions of integers and moves of the simulator's machine
against Python's integers.
"""

import itertools
import random

import numpy as np
import pytest
from operations_library import ALL, NAN, RELU, SAT, SATFINITE, SHIFT, WRAP, evaluate, numbers, run

INTEGERS = {
    f"{s}{b}": np.dtype(("int" if s == "s" else "uint") + str(b))
    for s in "us"
    for b in (16, 32, 64)
}


def interesting(dtype, count=160, seed=1):
    """Extremes, small numbers and random ones of every size."""
    chooser, bits = random.Random(seed), dtype.itemsize * 8
    edges = [
        0,
        1,
        2,
        3,
        5,
        7,
        (1 << bits) - 1,
        (1 << bits) - 2,
        1 << (bits - 1),
        (1 << (bits - 1)) - 1,
        (1 << (bits - 1)) + 1,
    ]
    values = edges + [
        chooser.getrandbits(chooser.randint(1, bits)) for _ in range(count - len(edges))
    ]
    chooser.shuffle(values)
    return np.array(values, dtype.str.replace("i", "u")).view(dtype)


def wrap(value, dtype):
    bits = dtype.itemsize * 8
    value &= (1 << bits) - 1
    return value - (1 << bits) if dtype.kind == "i" and value >> (bits - 1) else value


def limits(dtype):
    return int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def clamp(value, dtype):
    low, high = limits(dtype)
    return min(max(value, low), high)


def quotient(a, b):
    q = abs(a) // abs(b)
    return -q if (a < 0) != (b < 0) else q


def check(name, result, function, *sources, flags=0):
    """The operation against `function` of Python's integers, wrapped to the result's type."""
    result = np.dtype(result)
    got = evaluate(name, result, *sources, flags=flags)
    want = [wrap(function(*(int(s) for s in row)), result) for row in zip(*sources, strict=True)]
    wrong = [
        (row, g, w)
        for row, g, w in zip(zip(*sources, strict=True), got.tolist(), want, strict=True)
        if g != w
    ]
    assert not wrong, f"{name}: {wrong[:4]}"


BINARY = {
    "add": lambda a, b, w: a + b,
    "sub": lambda a, b, w: a - b,
    "mul.lo": lambda a, b, w: a * b,
    "mul.hi": lambda a, b, w: a * b >> w,
    "div": lambda a, b, w: quotient(a, b) if b else -1,
    "rem": lambda a, b, w: a - quotient(a, b) * b if b else -1,
    "min": lambda a, b, w: min(a, b),
    "max": lambda a, b, w: max(a, b),
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("kind", INTEGERS)
def test_two_operands(name, kind):
    dtype = INTEGERS[kind]
    a, b = interesting(dtype), interesting(dtype, seed=2)
    b[:12], a[12:24] = a[:12], b[12:24]
    check(f"{name}.{kind}", dtype, lambda x, y: BINARY[name](x, y, dtype.itemsize * 8), a, b)


@pytest.mark.parametrize("kind", INTEGERS)
def test_three_operands(kind):
    dtype, bits = INTEGERS[kind], INTEGERS[kind].itemsize * 8
    a, b, c = (interesting(dtype, seed=s) for s in (1, 2, 3))
    check(f"mad.lo.{kind}", dtype, lambda x, y, z: x * y + z, a, b, c)
    check(f"mad.hi.{kind}", dtype, lambda x, y, z: (x * y >> bits) + z, a, b, c)
    check(f"sad.{kind}", dtype, lambda x, y, z: abs(x - y) + z, a, b, c)
    if bits < 64:
        wide = INTEGERS[f"{kind[0]}{2 * bits}"]
        check(f"mul.wide.{kind}", wide, lambda x, y: x * y, a, b)
        check(f"mad.wide.{kind}", wide, lambda x, y, z: x * y + z, a, b, interesting(wide, seed=4))
    if kind[0] == "s":
        check(f"neg.{kind}", dtype, lambda x: -x, a)
        check(f"abs.{kind}", dtype, abs, a)


def test_saturation_and_relu():
    s32 = INTEGERS["s32"]
    a, b, c = (interesting(s32, seed=s) for s in (1, 2, 3))
    check("add.s32", s32, lambda x, y: clamp(x + y, s32), a, b, flags=SAT)
    check("sub.s32", s32, lambda x, y: clamp(x - y, s32), a, b, flags=SAT)
    check("mad.hi.s32", s32, lambda x, y, z: clamp((x * y >> 32) + z, s32), a, b, c, flags=SAT)
    check("min.s32", s32, lambda x, y: max(min(x, y), 0), a, b, flags=RELU)
    check("max.s32", s32, lambda x, y: max(x, y, 0), a, b, flags=RELU)


@pytest.mark.parametrize("kind", ["u32", "s32"])
def test_24_bits(kind):
    dtype = INTEGERS[kind]
    a, b, c = (interesting(dtype, seed=s) for s in (1, 2, 3))

    def low(x):
        x &= 0xFFFFFF
        return x - (1 << 24) if kind == "s32" and x >> 23 else x

    check(f"mul24.lo.{kind}", dtype, lambda x, y: low(x) * low(y), a, b)
    check(f"mul24.hi.{kind}", dtype, lambda x, y: low(x) * low(y) >> 16, a, b)
    check(f"mad24.lo.{kind}", dtype, lambda x, y, z: low(x) * low(y) + z, a, b, c)
    check(f"mad24.hi.{kind}", dtype, lambda x, y, z: (low(x) * low(y) >> 16) + z, a, b, c)
    if kind == "s32":
        check(
            "mad24.hi.s32",
            dtype,
            lambda x, y, z: clamp((low(x) * low(y) >> 16) + z, dtype),
            a,
            b,
            c,
            flags=SAT,
        )


@pytest.mark.parametrize("kind", ["u16x2", "s16x2"])
def test_pairs_of_16_bits(kind):
    part = INTEGERS[kind[:3]]
    a, b = (interesting(INTEGERS["u32"], seed=s) for s in (1, 2))

    def halves(function):
        def of_both(x, y):
            result = 0
            for k in (0, 16):
                result |= (function(wrap(x >> k, part), wrap(y >> k, part)) & 0xFFFF) << k
            return result

        return of_both

    check(f"add.{kind}", np.uint32, halves(lambda x, y: x + y), a, b)
    check(f"min.{kind}", np.uint32, halves(min), a, b)
    check(f"max.{kind}", np.uint32, halves(max), a, b)
    if kind == "s16x2":
        check(f"min.{kind}", np.uint32, halves(lambda x, y: max(min(x, y), 0)), a, b, flags=RELU)


def test_carries():
    """128-bit sums, differences and products of 64-bit and 32-bit words."""
    for kind, bits in (("u32", 32), ("u64", 64)):
        dtype = INTEGERS[kind]
        a, b, c, d = (interesting(dtype, 32, seed) for seed in range(4))
        total = [
            (int(x) | int(y) << bits) + (int(z) | int(t) << bits)
            for x, y, z, t in zip(a, b, c, d, strict=True)
        ]
        low, carry = run(f"add.cc.{kind}", [dtype], a, c)
        high, last = run(f"addc.cc.{kind}", [dtype], b, d, carry=carry)
        assert [int(x) | int(y) << bits for x, y in zip(low, high, strict=True)] == [
            t % (1 << 2 * bits) for t in total
        ]
        assert last == sum((t >> 2 * bits) << k for k, t in enumerate(total))
        top, unchanged = run(f"addc.{kind}", [dtype], a * 0, a * 0, carry=last)
        assert [int(x) for x in top] == [t >> 2 * bits for t in total] and unchanged == last
        total = [
            (int(x) | int(y) << bits) - (int(z) | int(t) << bits)
            for x, y, z, t in zip(a, b, c, d, strict=True)
        ]
        low, borrow = run(f"sub.cc.{kind}", [dtype], a, c)
        high, last = run(f"subc.cc.{kind}", [dtype], b, d, carry=borrow)
        assert [int(x) | int(y) << bits for x, y in zip(low, high, strict=True)] == [
            t % (1 << 2 * bits) for t in total
        ]
        assert last == sum((t < 0) << k for k, t in enumerate(total))
        low, carry = run(f"mad.lo.cc.{kind}", [dtype], a, b, c)
        high, last = run(f"madc.hi.cc.{kind}", [dtype], a, b, d, carry=carry)
        total = [
            int(x) * int(y) + (int(z) | int(t) << bits)
            for x, y, z, t in zip(a, b, c, d, strict=True)
        ]
        assert [int(x) | int(y) << bits for x, y in zip(low, high, strict=True)] == [
            t % (1 << 2 * bits) for t in total
        ]
        assert last == sum((t >> 2 * bits) << k for k, t in enumerate(total))


def test_a_carry_belongs_to_its_lane():
    ones = np.full(32, 0xFFFFFFFF, np.uint32)
    low, carry = run(
        "add.cc.u32", [np.uint32], ones, np.ones(32, np.uint32), lanes=0x0F, carry=0xF0
    )
    assert carry == 0xFF and (low == 0).all()


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_logic_and_shifts(bits):
    dtype, signed = INTEGERS[f"u{bits}"], INTEGERS[f"s{bits}"]
    a, b = (interesting(dtype, seed=s) for s in (1, 2))
    n = np.array(
        [random.Random(5).choice([0, 1, bits - 1, bits, bits + 1, 31, 200, 2**32 - 1]) for _ in a],
        np.uint32,
    )
    n[40:] = np.arange(n.size - 40) % (bits + 4)
    check(f"and.b{bits}", dtype, lambda x, y: x & y, a, b)
    check(f"or.b{bits}", dtype, lambda x, y: x | y, a, b)
    check(f"xor.b{bits}", dtype, lambda x, y: x ^ y, a, b)
    check(f"not.b{bits}", dtype, lambda x: ~x, a)
    check(f"cnot.b{bits}", dtype, lambda x: int(x == 0), a)
    check(f"shl.b{bits}", dtype, lambda x, s: x << s if s < bits else 0, a, n)
    check(f"shr.u{bits}", dtype, lambda x, s: x >> s, a, n)
    check(f"shr.b{bits}", dtype, lambda x, s: x >> s, a, n)
    check(f"shr.s{bits}", signed, lambda x, s: x >> s, a.view(signed), n)


@pytest.mark.parametrize("bits", [32, 64])
def test_fields(bits):
    dtype, signed = INTEGERS[f"u{bits}"], INTEGERS[f"s{bits}"]
    a, b = (interesting(dtype, 800, seed=s) for s in (1, 2))
    chooser = random.Random(3)
    ends = [0, 1, 5, bits - 1, bits, bits + 1, 100, 255, 256, 257]
    position, length = (
        np.array([chooser.choice([*ends, *range(bits)]) for _ in a], np.uint32) for _ in range(2)
    )
    check(f"popc.b{bits}", np.uint32, lambda x: x.bit_count(), a)
    check(f"clz.b{bits}", np.uint32, lambda x: bits - x.bit_length(), a)
    check(f"brev.b{bits}", dtype, lambda x: int(f"{x:0{bits}b}"[::-1], 2), a)
    check(f"bfind.u{bits}", np.uint32, lambda x: x.bit_length() - 1, a)
    check(
        f"bfind.s{bits}", np.uint32, lambda x: (~x if x < 0 else x).bit_length() - 1, a.view(signed)
    )
    check(f"bfind.u{bits}", np.uint32, lambda x: bits - x.bit_length() if x else -1, a, flags=SHIFT)

    def extract(with_sign):
        def field(x, p, n):
            p, n = p & 255, n & 255
            sign = x >> min(p + n - 1, bits - 1) & 1 if with_sign and n else 0
            return sum(
                (x >> (p + k) & 1 if k < n and p + k < bits else sign) << k for k in range(bits)
            )

        return field

    check(f"bfe.u{bits}", dtype, extract(False), a, position, length)
    check(f"bfe.s{bits}", dtype, extract(True), a, position, length)

    def insert(x, y, p, n):
        p, n = p & 255, n & 255
        for k in range(n):
            if p + k < bits:
                y = y & ~(1 << (p + k)) | (x >> k & 1) << (p + k)
        return y

    check(f"bfi.b{bits}", dtype, insert, a, b, position, length)


def test_funnel_shifts_masks_and_extensions():
    a, b = (interesting(INTEGERS["u32"], seed=s) for s in (1, 2))
    n = np.arange(a.size, dtype=np.uint32) % 40
    n[-3:] = (2**31, 2**32 - 1, 64)
    for flags, amount in ((WRAP, lambda s: s & 31), (0, lambda s: min(s, 32))):
        check(
            "shf.l.b32",
            np.uint32,
            lambda x, y, s: (y << 32 | x) << amount(s) >> 32,
            a,
            b,
            n,
            flags=flags,
        )
        check(
            "shf.r.b32", np.uint32, lambda x, y, s: (y << 32 | x) >> amount(s), a, b, n, flags=flags
        )
        check(
            "bmsk.b32",
            np.uint32,
            lambda p, s: ((1 << amount(s)) - 1) << amount(p),
            a % 40,
            n,
            flags=flags,
        )
        check("szext.u32", np.uint32, lambda x, s: x & ((1 << amount(s)) - 1), a, n,
            flags=flags)

        def signed(x, s):
            s = amount(s)
            x &= (1 << s) - 1
            return x - (1 << s) if s and x >> (s - 1) else x

        check("szext.s32", np.uint32, signed, a, n, flags=flags)


def test_find_the_nth_bit():
    mask, base = interesting(INTEGERS["u32"]), np.arange(160, dtype=np.uint32) % 32
    offset = (np.arange(160) % 11 - 5).astype(np.int32)

    def nth(m, at, n):
        ups = [k for k in range(at, 32) if m >> k & 1]
        downs = [k for k in range(at, -1, -1) if m >> k & 1]
        if n == 0:
            return at if m >> at & 1 else -1
        found = ups if n > 0 else downs
        return found[abs(n) - 1] if len(found) >= abs(n) else -1

    check("fns.b32", np.uint32, nth, mask, base, offset)


@pytest.mark.parametrize("table", [0x00, 0x96, 0xC0, 0xCA, 0xE8, 0xF8, 0x01, 0xFE, 0xFF, 0x5B])
def test_lop3(table):
    a, b, c = (interesting(INTEGERS["u32"], 64, seed=s) for s in (1, 2, 3))

    def look_up(x, y, z, _):
        return sum(
            (table >> ((x >> k & 1) * 4 + (y >> k & 1) * 2 + (z >> k & 1)) & 1) << k
            for k in range(32)
        )

    constant = np.full(64, table, np.uint32)
    check("lop3.b32", np.uint32, look_up, a, b, c, constant)
    q = np.arange(32) % 3 == 0
    d, p, _ = run("lop3.or.b32", [np.uint32, bool], a[:32], b[:32], c[:32], constant[:32], q)
    assert (p == ((d != 0) | q)).all()
    assert (
        run("lop3.and.b32", [None, bool], a[:32], b[:32], c[:32], constant[:32], q)[1]
        == ((d != 0) & q)
    ).all()


def test_permutation_of_bytes():
    a, b, c = (interesting(INTEGERS["u32"], 300, seed=s) for s in (1, 2, 3))

    def byte(x, y, n):
        return (y << 32 | x) >> 8 * n & 255

    def general(x, y, s):
        values = [(s >> 4 * k & 15, byte(x, y, s >> 4 * k & 7)) for k in range(4)]
        return sum(
            ((255 if v >> 7 else 0) if n & 8 else v) << 8 * k for k, (n, v) in enumerate(values)
        )

    check("prmt.b32", np.uint32, general, a, b, c)
    modes = {"f4e": lambda s, k: (s + k) % 8, "b4e": lambda s, k: (s - k) % 8, "rc8": lambda s,
        k: s,
             "ecl": max, "ecr": min, "rc16": lambda s, k: s % 2 * 2 + k % 2}  # fmt: skip
    for mode, index in modes.items():
        check(
            f"prmt.b32.{mode}",
            np.uint32,
            lambda x, y, s: sum(byte(x, y, index(s & 3, k)) << 8 * k for k in range(4)),
            a,
            b,
            c,
        )


@pytest.mark.parametrize("types", ["u32.u32", "u32.s32", "s32.u32", "s32.s32"])
def test_dot_products_of_bytes(types):
    a, b, c = (interesting(INTEGERS["u32"], seed=s) for s in (1, 2, 3))
    kinds = [np.dtype("int8" if t[0] == "s" else "uint8") for t in types.split(".")]
    wide = np.dtype("int16" if types[0] == "s" else "uint16")
    check(
        f"dp4a.{types}",
        np.uint32,
        # Fmt: skip.
        lambda x, y, z: (
            z + sum(wrap(x >> k, kinds[0]) * wrap(y >> k, kinds[1]) for k in (0, 8, 16, 24))
        ),
        a,
        b,
        c,
    )
    for half, first in (("lo", 0), ("hi", 16)):
        check(f"dp2a.{half}.{types}", np.uint32,
              lambda x, y, z: z + sum(wrap(x >> 2 * k, wide) * wrap(y >> (first + k),
                      kinds[1]) for k in (0, 8)), a, b, c)  # fmt: skip


COMPARISONS = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "lo": "<",
    "ls": "<=",
    "hi": ">",
    "hs": ">=",
}


@pytest.mark.parametrize("kind", INTEGERS)
def test_comparisons(kind):
    dtype = INTEGERS[kind]
    a, b = interesting(dtype, 32), interesting(dtype, 32, seed=2)
    b[::3] = a[::3]
    c = np.arange(32) % 5 < 2
    for name, sign in COMPARISONS.items():
        if name in ("lo", "ls", "hi", "hs") and kind[0] == "s":
            assert f"setp.{name}.{kind}" not in numbers()
            continue
        want = np.array([eval(f"{int(x)} {sign} {int(y)}") for x, y in zip(a, b, strict=True)])
        assert (run(f"setp.{name}.{kind}", [bool], a, b)[0] == want).all()
        p, q, _ = run(f"setp.{name}.{kind}", [bool, bool], a, b)
        assert (p == want).all() and (q == ~want).all()
        for join, function in (
            ("and", np.logical_and),
            ("or", np.logical_or),
            ("xor", np.logical_xor),
        ):
            p, q, _ = run(f"setp.{name}.{join}.{kind}", [bool, bool], a, b, c)
            assert (p == function(want, c)).all() and (q == function(~want, c)).all()
        assert (
            run(f"set.{name}.u32.{kind}", [np.uint32], a, b)[0] == np.where(want, 0xFFFFFFFF, 0)
        ).all()
        assert (run(f"set.{name}.f32.{kind}", [np.float32], a, b)[0] == want).all()


def test_choices_moves_and_predicates():
    a, b = interesting(INTEGERS["u64"], 32), interesting(INTEGERS["u64"], 32, seed=2)
    p, q = np.arange(32) % 3 == 0, np.arange(32) % 4 < 2
    assert (run("selp.b64", [np.uint64], a, b, p)[0] == np.where(p, a, b)).all()
    c = np.array([-1, 0, 1, -(2**31)] * 8, np.int32)
    assert (run("slct.u64.s32", [np.uint64], a, b, c)[0] == np.where(c >= 0, a, b)).all()
    f = np.array([-0.0, np.nan, -1e-40, 3] * 8, np.float32)
    assert (run("slct.u64.f32", [np.uint64], a, b, f)[0] == np.where(f >= 0, a, b)).all()
    assert (run("not.pred", [bool], p)[0] == ~p).all() and (
        run("xor.pred", [bool], p, q)[0] == (p ^ q)
    ).all()
    assert (run("mov.pred", [bool], p)[0] == p).all() and (
        run("mov.b64", [np.uint64], a)[0] == a
    ).all()
    low, high, _ = run("unpack.b64.b32", [np.uint32, np.uint32], a)
    assert (low == (a & np.uint64(0xFFFFFFFF))).all() and (high == a >> np.uint64(32)).all()
    assert (run("pack.b64.b32", [np.uint64], low, high)[0] == a).all()
    parts = run("unpack.b64.b16", [np.uint16] * 4, a)[:4]
    assert (run("pack.b64.b16", [np.uint64], *parts)[0] == a).all()
    assert (run("unpack.b32.b16", [None, np.uint16], low)[1] == low >> 16).all()
    bytes_ = run("unpack.b32.b8", [np.uint16] * 4, low)[:4]
    assert (run("pack.b32.b8", [np.uint32], *bytes_)[0] == low).all()


@pytest.mark.parametrize("name", ["add.u32", "selp.u32", "cvt.u16.u32", "mul.wide.u32", "div.u32"])
def test_lanes_that_do_not_take_part_keep_their_values(name):
    a, b = interesting(INTEGERS["u32"], 32), interesting(INTEGERS["u32"], 32, seed=2)
    dtype = {"cvt.u16.u32": np.uint16, "mul.wide.u32": np.uint64}.get(name, np.uint32)
    sources = (
        [a] if name[:3] == "cvt" else [a, b, np.arange(32) > 7] if name[:4] == "selp" else [a, b]
    )
    before = np.arange(32).astype(dtype)
    for lanes in (1, 0x80000000, 0xF0F0F0F0, 0x7FFFFFFF, ALL):
        part = np.array([lanes >> k & 1 for k in range(32)], bool)
        full = run(name, [dtype], *sources)[0]
        assert (
            run(name, [dtype], *sources, lanes=lanes, before=[before])[0]
            == np.where(part, full, before)
        ).all()
    p = run("setp.lt.u32", [bool], a, b, lanes=0xFF00, before=[np.ones(32, bool)])[0]
    assert (p == np.where((np.arange(32) // 8) == 1, a < b, True)).all()


SMALL = {**INTEGERS, "u8": np.dtype("uint8"), "s8": np.dtype("int8")}


@pytest.mark.parametrize("to", SMALL)
@pytest.mark.parametrize("of", SMALL)
def test_integers_to_integers(of, to):
    source, target = SMALL[of], SMALL[to]
    values = interesting(source)
    slots = [np.dtype(d.str.replace("1", "2")) if d.itemsize == 1 else d for d in (source, target)]
    check(f"cvt.{to}.{of}", slots[1], lambda x: wrap(x, target), values.astype(slots[0]))
    check(
        f"cvt.{to}.{of}", slots[1], lambda x: clamp(x, target), values.astype(slots[0]), flags=SAT
    )
    if source.itemsize == 1:  # only the lowest byte of the slot counts
        check(
            f"cvt.{to}.{of}",
            slots[1],
            lambda x: wrap(wrap(x, source), target),
            values.astype(slots[0]) ^ np.array(0x5A00, slots[0]),
        )


def test_pack_with_saturation():
    a, b, c = (
        interesting(INTEGERS["s32"]),
        interesting(INTEGERS["s32"], seed=2),
        interesting(INTEGERS["u32"], seed=3),
    )
    for bits in (16, 8, 4, 2):
        for kind in "us":
            low = -(1 << (bits - 1)) if kind == "s" else 0
            high = low + (1 << bits) - 1

            def packed(x, y, z=0):
                parts = [min(max(v, low), high) & ((1 << bits) - 1) for v in (x, y)]
                return parts[0] << bits | parts[1] | z << 2 * bits

            if bits == 16:
                check(f"cvt.pack.{kind}16.s32", np.uint32, packed, a, b, flags=SAT)
            else:
                check(f"cvt.pack.{kind}{bits}.s32.b32", np.uint32, packed, a, b, c, flags=SAT)


def test_flags_are_those_of_the_header():
    assert (NAN, SATFINITE) == (1 << 9, 1 << 8)


def test_video_instructions():
    chooser = random.Random(9)
    a, b, c = (interesting(INTEGERS["u32"], 64, seed=s) for s in (1, 2, 3))
    types = {"u32": np.dtype("uint32"), "s32": np.dtype("int32")}
    actions = {"vadd": lambda x, y: x + y, "vsub": lambda x, y: x - y, "vabsdiff": lambda x,
        y: abs(x - y),
               "vmin": min, "vmax": max,
               "vavrg": lambda x, y: (x + y + (x + y >= 0)) >> 1}  # fmt: skip
    for name, action in actions.items():
        for kinds in [[chooser.choice(list(types)) for _ in range(3)] for _ in range(4)]:
            d, of_a, of_b = (types[k] for k in kinds)
            rest = ".".join(kinds)
            for flags in (0, SAT):

                def first(x, y):
                    value = action(wrap(x, of_a), wrap(y, of_b))
                    return clamp(value, d) if flags else wrap(value, d)

                if name == "vavrg":
                    continue
                check(f"{name}.{rest}", np.uint32, first, a, b, flags=flags)
                check(
                    f"{name}.{rest}.add",
                    np.uint32,
                    lambda x, y, z: first(x, y) + z,
                    a,
                    b,
                    c,
                    flags=flags,
                )
                check(
                    f"{name}.{rest}.min",
                    np.uint32,
                    lambda x, y, z: min(first(x, y), wrap(z, d)),
                    a,
                    b,
                    c,
                    flags=flags,
                )
        for kind, bits in itertools.product(types, (16, 8)):
            part = np.dtype(f"{'int' if kind == 's32' else 'uint'}{bits}")
            for flags in (0, SAT):

                def parts(x, y):
                    for k in range(0, 32, bits):
                        value = action(wrap(x >> k, part), wrap(y >> k, part))
                        yield k, clamp(value, part) if flags else wrap(value, part)

                every = f"{name}{32 // bits}.{kind}.{kind}.{kind}"
                check(
                    every,
                    np.uint32,
                    lambda x, y, z: sum((v % (1 << bits)) << k for k, v in parts(x, y)),
                    a,
                    b,
                    c,
                    flags=flags,
                )
                check(
                    f"{every}.add",
                    np.uint32,
                    lambda x, y, z: z + sum(v for _, v in parts(x, y)),
                    a,
                    b,
                    c,
                    flags=flags,
                )
    check("vset.s32.u32.lt", np.uint32, lambda x, y: wrap(x, types["s32"]) < y, a, b)
    check(
        "vset4.u32.u32.ge.add",
        np.uint32,
        lambda x, y, z: z + sum((x >> k & 255) >= (y >> k & 255) for k in (0, 8, 16, 24)),
        a,
        b,
        c,
    )
    check("vmad.u32.u32.u32", np.uint32, lambda x, y, z: x * y + z, a, b, c)
    check(
        "vmad.s32.s32.u32.shr7",
        np.uint32,
        lambda x, y, z: (wrap(x, types["s32"]) * y + wrap(z, types["s32"])) >> 7,
        a,
        b,
        c,
    )
    n = np.arange(64, dtype=np.uint32)
    check("vshl.u32.u32.u32", np.uint32, lambda x, s: x << min(s, 32), a, n)
    check(
        "vshr.s32.s32.u32",
        np.uint32,
        lambda x, s: wrap(x, types["s32"]) >> (s & 31),
        a,
        n,
        flags=WRAP,
    )
