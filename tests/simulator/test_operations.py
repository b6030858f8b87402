"""Operations of the simulator's machine without its memory and control flow: which lanes they
change, and approximations. `test_device_functions` has the results of all the others.
"""

from pathlib import Path

import numpy as np
import pytest
from operations_library import ALL, APPROX, FTZ, evaluate, run


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
    size = [0, 1, 1.5, np.inf, known.max, known.smallest_normal, known.smallest_subnormal, np.nan]
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
