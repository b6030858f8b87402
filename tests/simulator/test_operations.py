"""Operations of the simulator's machine without its memory and control flow: which lanes they
change, and approximations. `test_device_functions` has the results of all the others.
"""

import itertools
from pathlib import Path

import numpy as np
import pytest
from operations_library import ALL, APPROX, FTZ, RNA, SATFINITE, SATURATE, evaluate, run


def test_a_carry_belongs_to_its_lane():
    ones = np.full(32, 0xFFFFFFFF, np.uint32)
    low, carry = run(
        "add.cc.u32", [np.uint32], ones, np.ones(32, np.uint32), lanes=0x0F, carry=0xF0
    )
    assert carry == 0xFF and (low == 0).all()


@pytest.mark.parametrize("name", ["add.u32", "selp.u32", "cvt.u16.u32", "mul.wide.u32", "div.u32"])
def test_lanes_that_do_not_take_part_keep_their_values(name):
    a, b = (np.random.default_rng(seed).integers(0, 1 << 32, 32, np.uint32) for seed in (1, 2))
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


@pytest.mark.parametrize(
    ("kind", "dtype"), [("f16", np.float16), ("f32", np.float32), ("f64", np.float64)]
)
def test_edges_with_each_other(kind, dtype):
    known = np.finfo(dtype)
    least = [known.smallest_normal, known.smallest_subnormal]
    size = [0.0, 1.0, 1.5, np.inf, np.nan, known.max, *least]
    edges = np.array([*size, *(-one for one in size)], dtype)
    a, b = (some.ravel() for some in np.meshgrid(edges, edges))
    with np.errstate(all="ignore"):
        lesser, greater = ((a < b) | ((a == b) & np.signbit(a)) | np.isnan(b),
                           (a > b) | ((a == b) & ~np.signbit(a)) | np.isnan(b))  # fmt: skip
        wanted = {"add": a + b, "sub": a - b, "mul": a * b, "min": np.where(lesser, a, b),
                  "max": np.where(greater, a, b)}  # fmt: skip
        wanted |= {"div": a / b} if kind != "f16" else {}
    for name, want in wanted.items():
        got = evaluate(f"{name}.{kind}", dtype, a, b)
        np.testing.assert_array_equal(got, want, name)
        numbers = ~np.isnan(want)
        assert (np.signbit(got) == np.signbit(want))[numbers].all(), name
    for name, holds in (("eq", a == b), ("lt", a < b), ("le", a <= b), ("gt", a > b)):
        np.testing.assert_array_equal(evaluate(f"setp.{name}.{kind}", bool, a, b), holds, name)


def test_every_half_is_a_float():
    bits = np.arange(1 << 16, dtype=np.uint16)
    half = evaluate("cvt.f32.f16", np.float32, bits)
    np.testing.assert_array_equal(half, bits.view(np.float16).astype(np.float32))
    brain = evaluate("cvt.f32.bf16", np.uint32, bits)
    np.testing.assert_array_equal(brain, bits.astype(np.uint32) << 16)


def cut_bits(values: np.ndarray, lost: int, rule: str = "even") -> np.ndarray:
    """Return the bits of float32 numbers without their last `lost`, rounded to nearest; a tie goes
    to even or "away" from zero.
    """
    bits = values.astype(np.float32).view(np.uint32)
    up = bits >> lost & 1 if rule == "even" else np.ones_like(bits)
    return (bits + up + np.uint32((1 << (lost - 1)) - 1)) >> lost


def around_middles(values: np.ndarray) -> np.ndarray:
    """Return the middles between rising numbers, the numbers next to each middle, and all of them
    with the other sign.
    """
    middles = (values[:-1] / 2 + values[1:] / 2).astype(values.dtype)
    near = [middles, *(np.nextafter(middles, values.dtype.type(to)) for to in (-np.inf, np.inf))]
    return np.concatenate([*near, *(-one for one in near)])


@pytest.mark.parametrize("wide", [np.float32, np.float64])
@pytest.mark.parametrize("narrow", [np.float16, np.float32])
def test_middles_round_to_even_and_as_their_modifiers_say(wide, narrow):
    if wide == narrow:
        return
    bits = np.arange(0x7C00) if narrow == np.float16 else np.arange(1, 0x7F7FFFFF, 41381)
    word = np.uint16 if narrow == np.float16 else np.uint32
    low = bits.astype(word).view(narrow)
    with np.errstate(over="ignore"):
        pairs = np.stack([low, np.nextafter(low, narrow(np.inf))], 1)
        x = around_middles(pairs.astype(wide).ravel())
        x = x[np.isfinite(x)]
        near = x.astype(narrow)
        down = np.where(near.astype(wide) > x, np.nextafter(near, narrow(-np.inf)), near)
        up = np.where(near.astype(wide) < x, np.nextafter(near, narrow(np.inf)), near)
    name = f"cvt.f{8 * np.dtype(narrow).itemsize}.f{8 * np.dtype(wide).itemsize}"
    for flags, want in enumerate((near, np.where(x < 0, up, down), down, up)):
        got = evaluate(name, narrow, x, flags=flags)
        np.testing.assert_array_equal(got.view(word), want.view(word), f"{name} {flags}")


@pytest.mark.parametrize(
    ("name", "lost", "flags", "rule"),
    [("bf16", 16, 0, "even"), ("tf32", 13, 0, "even"), ("tf32", 13, RNA, "away")],
)
def test_middles_between_cut_floats(name, lost, flags, rule):
    bits = np.arange(0, 0x7F7F0000, 1 << lost, dtype=np.uint32)[:: 1 if lost == 16 else 7]
    x = around_middles(np.stack([bits, bits + (1 << lost)], 1).ravel().view(np.float32))
    word = np.uint16 if name == "bf16" else np.uint32
    want = cut_bits(x, lost, rule) << (0 if name == "bf16" else lost)
    got = evaluate(f"cvt.{name}.f32", word, x, flags=flags)
    np.testing.assert_array_equal(got, want.astype(word))


@pytest.mark.parametrize(("name", "finite"), [("e4m3x2", 0x7F), ("e5m2x2", 0x7C)])
def test_middles_between_bytes(name, finite):
    code = np.arange(finite, dtype=np.uint16)
    values = evaluate(f"cvt.f16x2.{name}", np.uint32, code).astype(np.uint16).view(np.float16)
    x = around_middles(values.astype(np.float32))
    low = code[:-1]
    nearest = np.concatenate([low + (low & 1), low, low + 1])  # of the middle, below and above it
    want = np.concatenate([nearest, nearest | 0x80]) << 8
    got = evaluate(f"cvt.{name}.f32", np.uint16, x, np.zeros_like(x), flags=SATFINITE)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(("kind", "digits"), [("f16", 10), ("bf16", 7)])
def test_a_small_addend_breaks_the_tie_of_a_product(kind, digits):
    """A sum that is rounded to float first, or a product that is rounded alone, loses it."""
    one = (15 if kind == "f16" else 127) << digits
    i, j = (some.ravel() for some in np.mgrid[0 : 1 << digits, 0 : 1 << digits])
    product = (i + (1 << digits)) * (j + (1 << digits))
    unit = np.where(product >> (2 * digits + 1), 2 << digits, 1 << digits)
    tie = np.flatnonzero(product % unit * 2 == unit)[:: 3 if kind == "f16" else 1]
    exact = (product[tie] * 2.0 ** (-2 * digits)).astype(np.float32)
    a, b = ((one + some[tie]).astype(np.uint16) for some in (i, j))
    for sign in (0, 0x8000):
        nudged = np.nextafter(exact, np.float32(-np.inf if sign else np.inf))
        want = nudged.astype(np.float16).view(np.uint16) if kind == "f16" else cut_bits(nudged, 16)
        c = np.full(a.size, sign | 1, np.uint16)
        got = evaluate(f"fma.{kind}", np.uint16, a, b, c)
        np.testing.assert_array_equal(got, want.astype(np.uint16))


def test_large_whole_numbers_are_rounded_once():
    middles = [(256 | 2 * k + 1) << e for k in range(128) for e in (1, 30, 55)]
    whole = [middle + beside for middle in middles for beside in (-1, 0, 1)]
    exact = [value + (value >> value.bit_length() - 8 & 1) - 1 for value in whole]
    want = [(v + (1 << v.bit_length() - 9)) >> v.bit_length() - 8 for v in exact]
    got = evaluate("cvt.bf16.u64", np.uint16, np.array(whole, np.uint64)).astype(np.uint32)
    found = (got << 16).view(np.float32).astype(float)
    lengths = [v.bit_length() - 8 for v in exact]
    assert found.tolist() == [float(w << n) for w, n in zip(want, lengths, strict=True)]


@pytest.mark.parametrize(
    ("name", "flags", "want"),
    [
        ("vadd.s32.s32.s32", 0, lambda a, b, c: a + b),
        ("vadd.s32.s32.s32", SATURATE, lambda a, b, c: min(max(a + b, -(2**31)), 2**31 - 1)),
        ("vsub.u32.s32.s32.add", SATURATE, lambda a, b, c: max(a - b, 0) + c % 2**32),
        ("vabsdiff.u32.s32.s32.max", 0, lambda a, b, c: max(abs(a - b), c % 2**32)),
        ("vmax.s32.u32.s32.min", 0, lambda a, b, c: min(max(a % 2**32, b), c)),
        ("vmin.s32.s32.u32", 0, lambda a, b, c: min(a, b % 2**32)),
        ("vset.s32.u32.lt.add", 0, lambda a, b, c: (a < b % 2**32) + c),
    ],
)
def test_video_instructions_of_whole_registers_are_exact_before_the_second_operation(
    name, flags, want
):
    edges = [0, 1, -1, 5, -7, 2**31 - 1, -(2**31), 2**30]
    triples = list(itertools.product(edges, repeat=3))
    got = evaluate(name, np.uint32, *np.array(triples, np.int32).T, flags=flags)
    assert got.tolist() == [want(*triple) % 2**32 for triple in triples]


def test_the_least_of_three_leaves_out_a_nan():
    for values in ((1.0, 2.0, -3.0), (np.nan, 2.0, 1.0)):
        three = [np.full(32, value, np.float32) for value in values]
        assert (run("min.f32", [np.float32], *three)[0] == np.nanmin(values)).all()


@pytest.mark.parametrize("shape", [(16, 16), (32, 8), (8, 32)])
@pytest.mark.parametrize("half", [False, True])
def test_wmma_is_the_mma_of_its_parts(shape, half):
    """m16n16k16 is two mma side by side, m32n8k16 two below each other, and m8n32k16 the transpose
    of that.
    """
    chooser = np.random.default_rng(3)
    a, b = (
        chooser.integers(0x3800, 0x4000, (8, 32), np.uint32) << 16
        | chooser.integers(0xB800, 0xC000, (8, 32), np.uint32)
        for _ in range(2)
    )
    count = 4 if half else 8
    c = chooser.integers(0x3C003C00, 0x3C013C01, (count, 32), np.uint32)
    kind = "f16" if half else "f32"
    got = run(
        f"wmma.mma.row.col.m{shape[0]}n{shape[1]}k16.{kind}.{kind}", [np.uint32] * count, *a, *b, *c
    )[:count]
    n = count // 2
    mma = f"mma.m16n8k16.row.col.{kind}.f16.f16.{kind}"
    if shape == (16, 16):
        parts = [(a[:4], b[:2]), (a[:4], b[2:4])]
    elif shape == (32, 8):
        parts = [(a[:4], b[:2]), (a[4:], b[:2])]
    else:
        parts = [(b[:4], a[:2]), (b[4:], a[:2])]
    want = [
        d
        for k, (x, y) in enumerate(parts)
        for d in run(mma, [np.uint32] * n, *x, *y, *c[k * n : k * n + n])[:n]
    ]
    assert all((g == w).all() for g, w in zip(got, want, strict=True))


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
