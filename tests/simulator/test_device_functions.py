"""Device functions in the simulator: every rounding against an independent oracle, wmma against
float64.

Each check is also given the answer of a plausible mistake (a missing rounding, an unfused product,
a transposed operand), which it must refuse.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from instances import Kernels

from helpers import simulator
from helpers.simulator.compiler import compile_source
from helpers.simulator.module import load
from helpers.simulator.toolchain import CompileFailed

EVERY = np.arange(1 << 16, dtype=np.uint16)


def run(text: str, *args, threads: int, block: int = 256, name: str = "k", **more):
    findings = simulator.check(
        text, name, *args, grid=(-(-threads // block),), block=(min(block, threads),), **more
    )
    assert findings == (), [str(f) for f in findings]


def expect(got: np.ndarray, want: np.ndarray, wrong: np.ndarray) -> None:
    """`got` equals `want` bit for bit (any NaN equals any other), and the comparison is one that
    refuses `wrong`.
    """
    assert equal(got, want), first_difference(got, want)
    assert not equal(wrong, want), "the wrong answer passes: this check shows nothing"


def equal(got: np.ndarray, want: np.ndarray) -> bool:
    assert got.dtype == want.dtype and got.shape == want.shape, (
        got.dtype,
        want.dtype,
        got.shape,
        want.shape,
    )
    if got.dtype.kind != "f":
        return bool(np.array_equal(got, want))
    nan = np.isnan(want)
    word = np.dtype(f"u{got.itemsize}")
    return bool(
        np.array_equal(np.isnan(got), nan)
        and np.array_equal(got.view(word)[~nan], want.view(word)[~nan])
    )


def first_difference(got: np.ndarray, want: np.ndarray) -> str:
    differs = (got != want) & ~((got != got) & (want != want))
    places = np.flatnonzero(differs)
    first = places[:5]
    return (
        f"{places.size} of {got.size} differ; first at {first}: "
        f"{got.ravel()[first]} instead of {want.ravel()[first]}"
    )


def test_the_comparison_refuses_a_last_bit_and_a_sign_of_zero():
    one = np.ones(3, np.float16)
    assert equal(one, one.copy())
    assert not equal(np.nextafter(one, np.float16(2)), one)
    assert not equal(np.array([-0.0]), np.array([0.0]))
    assert not equal(np.array([np.nan]), np.array([0.0])) and equal(
        np.array([np.nan]), np.array([-np.nan])
    )


# ---- the formats, and an oracle that rounds exact fractions ----


def bfloat16(pattern: np.ndarray) -> np.ndarray:
    """The float32 values of bfloat16 patterns."""
    return (pattern.astype(np.uint32) << 16).view(np.float32)


def value_of(pattern: np.ndarray, kind: str) -> np.ndarray:
    return pattern.view(np.float16).astype(np.float32) if kind == "half" else bfloat16(pattern)


def pattern_of_exact(value: Fraction, kind: str, mode: str = "rn") -> int:
    """The pattern of an exact value, rounded once: to nearest (ties to even), towards zero, up or
    down. Slow and obvious.
    """
    digits, lowest, infinity = (11, -14, 0x7C00) if kind == "half" else (8, -126, 0x7F80)
    sign, size = (0x8000, -value) if value < 0 else (0, value)
    if size == 0:
        return 0
    # Or one more than the true one.
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent = max(exponent - (size < Fraction(2) ** exponent), lowest)
    unit = Fraction(2) ** (exponent - digits + 1)
    whole, rest = divmod(size, unit)
    away = (mode == "ru" and not sign) or (mode == "rd" and sign)
    if mode == "rn":
        whole += rest * 2 > unit or (rest * 2 == unit and whole % 2)
    elif away:
        whole += rest > 0
    pattern = (exponent - lowest) * (1 << (digits - 1)) + int(whole)
    if pattern >= infinity:
        pattern = infinity if mode == "rn" or away else infinity - 1
    return sign | pattern


def test_the_oracle_agrees_with_numpy_where_numpy_has_the_format():
    values = np.random.default_rng(1).standard_normal(500) * 10.0 ** np.random.default_rng(
        2
    ).integers(-8, 6, 500)
    mine = np.array([pattern_of_exact(Fraction(v), "half") for v in values], np.uint16)
    cut = np.array([pattern_of_exact(Fraction(v), "half", "rz") for v in values], np.uint16)
    with np.errstate(over="ignore"):
        expect(mine, values.astype(np.float16).view(np.uint16), cut)


def samples(kind: str, count: int, seed: int) -> np.ndarray:
    """Patterns of finite numbers: half of them anywhere, half of them within a few powers of two of
    1, so that digits overlap.
    """
    generator = np.random.default_rng(seed)
    anywhere = generator.integers(0, 0x7C00 if kind == "half" else 0x7F80, count)
    near_one = generator.integers(
        *((0x3000, 0x4800) if kind == "half" else (0x3C00, 0x4300)), count
    )
    pattern = np.where(generator.random(count) < 0.5, anywhere, near_one)
    return (pattern | generator.integers(0, 2, count) << 15).astype(np.uint16)


# ---- conversions ----

NAMES = {
    "half": ("cuda_fp16.h", "__half", "__half2"),
    "bfloat16": ("cuda_bf16.h", "__nv_bfloat16", "__nv_bfloat162"),
}


def conversions(kind: str) -> str:
    header, value, _ = NAMES[kind]
    from_float = "\n".join(
        f"patterns[{k} * n + i] = __{kind}_as_ushort(__float2{kind}_{m}(f));"
        for k, m in enumerate(MODES)
    )
    to_int = "\n".join(f"ints[{k} * n + i] = __{kind}2int_{m}(h);" for k, m in enumerate(MODES))
    from_int = "\n".join(
        f"out_of_ints[{k} * n + i] = __{kind}_as_ushort(__int2{kind}_{m}(number[i]));"
        for k, m in enumerate(MODES)
    )
    return f"""#include <{header}>
extern "C" __global__ void k(float* floats, unsigned short* patterns, int* ints, unsigned short*
out_of_ints, long long* longs,
                             const unsigned short* given, const float* values, const int* number,
                             int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    {value} h = __ushort_as_{kind}(given[i]);
    floats[i] = __{kind}2float(h);
    longs[i] = __{kind}2ll_rn(h);
    float f = values[i];
    {from_float}
    {to_int}
    {from_int}
}}
"""


MODES = ("rn", "rz", "ru", "rd")


def hard_floats(kind: str) -> np.ndarray:
    """16,384 floats: values of the format, the middles between them, and their neighbours in
    float32.
    """
    pattern = samples(kind, 1 << 12, seed=3)
    value = value_of(pattern, kind)
    with np.errstate(over="ignore", invalid="ignore"):
        middle = (
            (
                value.astype(np.float64)
                + value_of((pattern + 1).astype(np.uint16), kind).astype(np.float64)
            )
            / 2
        ).astype(np.float32)
    middle = np.where(np.isfinite(middle), middle, np.float32(1e38))
    return np.concatenate(
        [
            value,
            middle,
            np.nextafter(middle, np.float32(np.inf)),
            np.nextafter(middle, np.float32(-np.inf)),
        ]
    )


@pytest.mark.parametrize("kind", ["half", "bfloat16"])
def test_conversions_of_every_value_and_of_hard_cases(kind):
    values, numbers = (
        hard_floats(kind),
        np.random.default_rng(4).integers(-(2**31), 2**31, 1 << 16).astype(np.int32),
    )
    numbers[: 1 << 15] %= 70000
    n = EVERY.size
    floats, patterns, ints = (
        np.zeros(n, np.float32),
        np.zeros((4, n), np.uint16),
        np.zeros((4, n), np.int32),
    )
    out_of_ints, longs = np.zeros((4, n), np.uint16), np.zeros(n, np.int64)
    run(
        conversions(kind),
        floats,
        patterns,
        ints,
        out_of_ints,
        longs,
        EVERY,
        np.resize(values, n),
        numbers,
        np.int32(n),
        threads=n,
    )

    want = value_of(EVERY, kind)
    # Subnormals flushed.
    expect(floats, want, np.where(np.abs(want) < 2.0**-14, np.float32(0), want))
    exact = [Fraction(float(v)) for v in values]
    # The oracle has no sign of zero.
    minus = np.where(np.signbit(values) & (values == 0), 0x8000, 0).astype(np.uint16)
    wanted = {
        m: np.array([pattern_of_exact(v, kind, m) for v in exact], np.uint16) | minus for m in MODES
    }
    for k, mode in enumerate(MODES):
        expect(patterns[k][: values.size], wanted[mode], wanted["rz" if mode == "rn" else "rn"])
    rounding = {"rn": np.rint, "rz": np.trunc, "ru": np.ceil, "rd": np.floor}
    with np.errstate(invalid="ignore"):
        number = np.nan_to_num(want.astype(np.float64), nan=0.0)
    for k, mode in enumerate(MODES):
        other = "rd" if mode == "rn" else "rn"
        limits = (-(2**31), 2**31 - 1)
        expect(
            ints[k],
            *(np.clip(rounding[m](number), *limits).astype(np.int32) for m in (mode, other)),
        )
        some = [Fraction(int(v)) for v in numbers[::16]]
        expect(
            out_of_ints[k][::16].copy(),
            *(
                np.array([pattern_of_exact(v, kind, m) for v in some], np.uint16)
                for m in (mode, other)
            ),
        )
    assert (longs[np.isnan(want)] == -(2**63)).all() and longs[EVERY == 0x4000][0] == 2


# ---- arithmetic ----

BINARY = (
    "__hadd",
    "__hsub",
    "__hmul",
    "__hdiv",
    "__hmin",
    "__hmax",
    "__hmin_nan",
    "__hmax_nan",
    "__hadd_sat",
    "__hmul_sat",
)
PAIRS = {
    "__hdiv": "__h2div",
    "__hmin_nan": "__hmin2_nan",
    "__hmax_nan": "__hmax2_nan",
    "__hadd_sat": "__hadd2_sat",
    "__hmul_sat": "__hmul2_sat",
    "__hfma_relu": "__hfma2_relu",
}
TERNARY = ("__hfma", "__hfma_relu")
UNARY = ("__hneg", "__habs", "hsqrt", "hrcp", "hrsqrt", "hexp", "hlog", "hfloor", "hrint")
OPERATORS = ("+", "-", "*", "/")


def arithmetic(kind: str) -> str:
    header, value, pair = NAMES[kind]
    slots = itertools.count()
    lines = []
    for f in (*BINARY, *TERNARY):
        arguments = "x, y, z" if f in TERNARY else "x, y"
        pair_arguments = "xy, yx, zz" if f in TERNARY else "xy, yx"
        lines.append(f"out[{next(slots)} * n + i] = __{kind}_as_ushort({f}({arguments}));")
        lines.append(
            f"out[{next(slots)} * n + i] = "
            f"__{kind}_as_ushort(__low2{kind}({PAIRS.get(f, f + '2')}({pair_arguments})));"
        )
    lines += [f"out[{next(slots)} * n + i] = __{kind}_as_ushort({f}(x));" for f in UNARY]
    lines += [f"out[{next(slots)} * n + i] = __{kind}_as_ushort(x {op} y);" for op in OPERATORS]
    lines += [
        f"out[{next(slots)} * n + i] = __{kind}_as_ushort(__high2{kind}(xy {op} yx));"
        for op in OPERATORS
    ]
    body = "\n    ".join(lines)
    return f"""#include <{header}>
extern "C" __global__ void k(unsigned short* out, const unsigned short* a, const unsigned short* b,
const unsigned short* c,
                             int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    {value} x = __ushort_as_{kind}(a[i]), y = __ushort_as_{kind}(b[i]),
        z = __ushort_as_{kind}(c[i]);
    {pair} xy = __halves2{kind}2(x, y), yx = __halves2{kind}2(y, x), zz = __{kind}2{kind}2(z);
    {body}
}}
"""


def results(kind: str, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> dict[str, np.ndarray]:
    """Patterns by function name; "2" marks the form for pairs, "op" the operator."""
    names = (
        [n for f in (*BINARY, *TERNARY) for n in (f, f + " 2")]
        + list(UNARY)
        + [f"{o} op" for o in OPERATORS]
        + [f"{o} op2" for o in OPERATORS]
    )
    out = np.zeros((len(names), a.size), np.uint16)
    run(arithmetic(kind), out, a, b, c, np.int32(a.size), threads=a.size)
    return dict(zip(names, out, strict=True))


def test_half_arithmetic_against_numpy():
    n = 1 << 17
    generator = np.random.default_rng(5)
    a, b, c = (generator.integers(0, 1 << 16, n).astype(np.uint16) for _ in range(3))
    a[: n // 2], b[: n // 2] = samples("half", n // 2, 6), samples("half", n // 2, 7)
    got = {name: pattern.view(np.float16) for name, pattern in results("half", a, b, c).items()}
    x, y = a.view(np.float16), b.view(np.float16)
    with np.errstate(all="ignore"):
        wide = {
            "__hadd": x.astype(float) + y,
            "__hsub": x.astype(float) - y,
            "__hmul": x.astype(float) * y,
            "__hdiv": x.astype(float) / y,
        }
        wanted = {"__hadd": x + y, "__hsub": x - y, "__hmul": x * y, "__hdiv": x / y}
    for name, want in wanted.items():
        truncated = np.where(
            np.abs(want.astype(float)) > np.abs(wide[name]), np.nextafter(want, np.float16(0)), want
        )
        operator = dict(zip(wanted, OPERATORS, strict=True))[name]
        for form in (name, name + " 2", operator + " op"):
            expect(got[form], want, truncated)
    with np.errstate(all="ignore"):
        expect(got["- op2"], y - x, x - y)
        for form in ("__hmin", "__hmin 2"):
            expect(np.abs(got[form]), np.abs(np.fmin(x, y)), np.abs(np.minimum(x, y)))
        for form in ("__hmax_nan", "__hmax_nan 2"):
            expect(np.abs(got[form]), np.abs(np.maximum(x, y)), np.abs(np.fmax(x, y)))
        clipped = np.clip(np.nan_to_num((x * y).astype(np.float32), nan=0), 0, 1).astype(
            np.float16
        ) + np.float16(0)
        expect(got["__hmul_sat"], clipped, x * y)
        expect(got["hsqrt"], np.sqrt(x), x)
        expect(got["hrcp"], (1.0 / x.astype(np.float64)).astype(np.float16), x)
        # Rounded twice.
        expect(
            got["hrsqrt"],
            (1 / np.sqrt(x.astype(np.float64))).astype(np.float16),
            (np.float16(1) / np.sqrt(x)),
        )
        for name, function in (("hexp", np.exp), ("hlog", np.log)):
            # They go through approximations in float; cuda_fp16.h corrects the few arguments at
            # which those lie on the wrong side of the middle between two halves. So every half has
            # the nearest result, as on a GPU.
            want = function(x.astype(np.float64)).astype(np.float16)
            expect(got[name], want, np.nextafter(want, np.float16(0)))
        expect(got["hfloor"], np.floor(x), np.rint(x))
        expect(got["hrint"], np.rint(x), np.floor(x))
        expect(got["__hneg"], -x, x)
        expect(got["__habs"], np.abs(x), x)


def fma_cases(kind: str, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random triples, and products that lie on a middle between two values with a third operand
    that only breaks the tie.
    """
    a, b, c = (samples(kind, count, seed) for seed in (8, 9, 10))
    one, digits = (0x3C00, 10) if kind == "half" else (0x3F80, 7)
    left, right = np.meshgrid(
        np.arange(1 << digits, 2 << digits), np.arange(1 << digits, 2 << digits)
    )
    product = left * right  # in units of 2**(-2 * digits): from 1 to 4
    unit = np.where(product >> (2 * digits + 1), 2 << digits, 1 << digits)
    ties = np.argwhere(product % unit * 2 == unit)
    ties = ties[:: max(1, len(ties) // (count // 2))]
    found = [(one + int(i), one + int(j)) for i, j in ties]
    for k, (left, right) in enumerate(found[: count // 2]):
        a[k], b[k] = left, right
        c[k] = (1 + k % 5 if kind == "half" else 0x1000 + k) | (0x8000 if k % 2 else 0)
    assert len(found) > 50, len(found)
    return a, b, c


@pytest.mark.parametrize("kind", ["half", "bfloat16"])
def test_one_rounding_of_the_exact_result(kind):
    a, b, c = fma_cases(kind, 3000)
    got = results(kind, a, b, c)
    x, y, z = ([Fraction(float(v)) for v in value_of(p, kind)] for p in (a, b, c))

    def patterns(values):
        return np.array([pattern_of_exact(v, kind) for v in values], np.uint16)

    def unsigned_zero(pattern):  # the oracle has no sign of zero
        return np.where(pattern == 0x8000, np.uint16(0), pattern)

    def from_double(values):
        return patterns([Fraction(v) for v in values])

    def doubles(values):
        return [float(v) for v in values]

    products = patterns([p * q for p, q in zip(x, y, strict=True)])
    finite = (products & 0x7FFF) < (0x7C00 if kind == "half" else 0x7F80)
    exact = patterns([p * q + r for p, q, r in zip(x, y, z, strict=True)])
    rounded_product = [
        Fraction(float(v)) for v in value_of(np.where(finite, products, 0).astype(np.uint16), kind)
    ]
    unfused = patterns([p + r for p, r in zip(rounded_product, z, strict=True)])
    for form in ("__hfma", "__hfma 2"):
        expect(unsigned_zero(got[form]), unsigned_zero(exact), unsigned_zero(unfused))
    # A double sum rounded again is wrong where the third operand is too small for a double:
    # bfloat16 only, half never needs more.
    twice = from_double(
        [p * q + r for p, q, r in zip(doubles(x), doubles(y), doubles(z), strict=True)]
    )
    assert equal(twice, exact) == (kind == "half")
    negative = (exact & 0x8000) != 0
    expect(unsigned_zero(got["__hfma_relu"]), np.where(negative, np.uint16(0), exact), exact)
    sums, quotients = (
        patterns([p + q for p, q in zip(x, y, strict=True)]),
        patterns([p / q if q else Fraction(0) for p, q in zip(x, y, strict=True)]),
    )
    nonzero = np.array([q != 0 for q in y])
    differences = patterns([p - q for p, q in zip(x, y, strict=True)])
    for form in ("__hadd", "__hadd 2", "+ op"):
        expect(unsigned_zero(got[form]), unsigned_zero(sums), unsigned_zero(differences))
    expect(unsigned_zero(got["__hsub"]), unsigned_zero(differences), unsigned_zero(sums))
    for form in ("__hmul", "__hmul 2", "* op"):
        expect(unsigned_zero(got[form]), unsigned_zero(products), unsigned_zero(sums))
    expect(
        unsigned_zero(got["__hdiv"])[nonzero],
        unsigned_zero(quotients)[nonzero],
        unsigned_zero(products)[nonzero],
    )


COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def comparisons(kind: str) -> str:
    header, value, pair = NAMES[kind]
    lines = []
    for k, word in enumerate([w + u for w in COMPARISONS for u in ("", "u")]):
        lines.append(f"out[{2 * k} * n + i] = __h{word}(x, y);")
        lines.append(
            f"out[{2 * k + 1} * n + i] = 2 * __hb{word}2(xy, yx) +\n"
            f"        (__h{word}2_mask(xy, yx) == 0xFFFFu * __h{word}(x, y) + "
            f"0xFFFF0000u * __h{word}(y, x));"
        )
    operators = " + ".join(
        f"{1 << k} * (x {op} y)" for k, op in enumerate(("==", "!=", "<", "<=", ">", ">="))
    )
    body = "\n    ".join(lines)
    return f"""#include <{header}>
extern "C" __global__ void k(int* out, int* operators, int* special, const unsigned short* a, const
unsigned short* b, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    {value} x = __ushort_as_{kind}(a[i]), y = __ushort_as_{kind}(b[i]);
    {pair} xy = __halves2{kind}2(x, y), yx = __halves2{kind}2(y, x);
    {body}
    operators[i] = {operators};
    special[i] = __hisnan(x) + 2 * __hisinf(x);
}}
"""


@pytest.mark.parametrize("kind", ["half", "bfloat16"])
def test_comparisons_with_nan_infinity_and_zeros(kind):
    special = np.array(
        [0, 0x8000, 1, 0x3C00, 0x3F80, 0x7C00, 0xFC00, 0x7F80, 0xFF80, 0x7E00, 0x7FFF, 0xBC00],
        np.uint16,
    )
    a, b = (
        g.ravel().copy()
        for g in np.meshgrid(
            np.concatenate([special, samples(kind, 52, 11)]),
            np.concatenate([special, samples(kind, 52, 12)]),
        )
    )
    n = a.size
    out, operators, classes = (
        np.zeros((24, n), np.int32),
        np.zeros(n, np.int32),
        np.zeros(n, np.int32),
    )
    run(comparisons(kind), out, operators, classes, a, b, np.int32(n), threads=n)
    x, y = value_of(a, kind), value_of(b, kind)
    unordered = np.isnan(x) | np.isnan(y)
    for k, compare in enumerate(COMPARISONS.values()):
        ordered = compare(x, y) & ~unordered
        expect(out[4 * k], ordered.astype(np.int32), (ordered | unordered).astype(np.int32))
        expect(out[4 * k + 2], (ordered | unordered).astype(np.int32), ordered.astype(np.int32))
        swapped = compare(y, x)
        both = 1 + 2 * (ordered & swapped & ~unordered)
        expect(out[4 * k + 1], both.astype(np.int32), (both - 1).astype(np.int32))
    want = sum(
        (1 << k) * compare(x, y).astype(np.int32) for k, compare in enumerate(COMPARISONS.values())
    )
    expect(operators, want.astype(np.int32), (want ^ 1).astype(np.int32))
    want = np.isnan(x) + 2 * np.where(np.isinf(x), np.sign(np.nan_to_num(x)), 0)
    expect(classes, want.astype(np.int32), np.isnan(x).astype(np.int32))


# ---- vectors ----

VECTORS = """
struct Particle { float4 place; float3 speed; };
__constant__ float2 scale[2] = {{1.0f, 2.0f}, {3.0f, 4.0f}};
extern "C" __global__ void k(float4* f4, const float4* g4, float3* f3, const float3* g3, double2*
d2, const double2* e2, uchar4* u4,
                             const uchar4* v4, short2* s2, const short2* t2, char3* c3, const
                             char3* b3, ulonglong2* l2,
                             const ulonglong2* m2) {
    __shared__ float4 tile[2][32];
    __shared__ uchar4 small[32];
    int i = threadIdx.x;
    tile[0][i] = g4[i];
    small[i] = v4[i];
    __syncthreads();
    float4 filled = {1, 2, 3, 4}, first = {5}, none;
    float2 zero{};
    none.x = filled.x + first.x + first.w + zero.y;
    float4 v = tile[0][31 - i];
    v.x += none.x - 6.0f;
    f4[i] = v;
    f3[i] = g3[i];
    d2[i] = make_double2(e2[i].y, e2[i].x);
    u4[i] = small[31 - i];
    s2[i] = __ldg(&t2[i]);
    c3[i] = b3[i];
    l2[i] = i == 40 ? make_ulonglong2(1, 2) : m2[i];
    Particle p = {make_float4(1, 2, 3, scale[i % 2].y), make_float3(4, 5, 6)};
    if (p.place.w < 0) f4[i] = p.place;
}
"""


def test_a_copy_of_a_vector_is_as_many_accesses_as_on_a_gpu():
    generator = np.random.default_rng(13)
    shapes = {
        "f4": (np.float32, 4),
        "f3": (np.float32, 3),
        "d2": (np.float64, 2),
        "u4": (np.uint8, 4),
        "s2": (np.int16, 2),
        "c3": (np.int8, 3),
        "l2": (np.uint64, 2),
    }
    given = {n: generator.integers(0, 100, (32, w)).astype(t) for n, (t, w) in shapes.items()}
    out = {n: np.zeros_like(v) for n, v in given.items()}
    args = [a for name in shapes for a in (out[name], given[name])]
    p = simulator.profile(VECTORS, "k", *args, grid=(1,), block=(32,))
    assert p.findings == ()
    wanted = {**given, "f4": given["f4"][::-1], "u4": given["u4"][::-1], "d2": given["d2"][:, ::-1]}
    for name, want in wanted.items():
        expect(out[name], np.ascontiguousarray(want), np.zeros_like(want))
    stores = {
        line.array: (line.requests, line.bytes_used)
        for line in p.lines
        if line.access == "store" and line.space == "global"
    }
    assert stores == {
        "f4": (1, 512),
        "f3": (3, 384),
        "d2": (1, 512),
        "u4": (1, 128),
        "s2": (1, 128),
        "c3": (3, 96),
        "l2": (1, 512),
    }
    loads = {
        line.array: line.requests
        for line in p.lines
        if line.access == "load" and line.space == "global"
    }
    assert loads == {"g4": 1, "g3": 3, "e2": 1, "v4": 1, "t2": 1, "b3": 3, "m2": 1}
    assert all(line.line > 3 and line.source for line in p.lines), [
        (line.line, line.source) for line in p.lines
    ]


def test_a_single_value_in_braces_is_a_vector_and_without_them_is_not():
    with pytest.raises(CompileFailed, match=r"k\.cu\(1\): .*float4"):
        compile_source(
            "__global__ void k(float4* p) { float4 v = 1.0f; *p = v; }",
            file="k.cu",
            compiler="nvrtc",
        )


def test_misaligned_vectors_are_found_at_the_line_of_the_kernel():
    text = (
        'extern "C" __global__ void k(float* y, const float* x) {\n    '
        '*(float2*)y = *(const float2*)(x + 1);\n}\n'
    )
    findings = simulator.check(
        text, "k", np.zeros(4, np.float32), np.ones(4, np.float32), grid=(1,), block=(1,)
    )
    assert [(f.kind, f.line, f.array) for f in findings] == [("misaligned", 2, "x")]


# ---- mathematics and intrinsics ----

INTRINSICS = """
extern "C" __global__ void k(float* f, unsigned* u, long long* l, const float* x, const float* y,
const float* z, const int* a,
                             const int* b, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float p = x[i], q = y[i], r = z[i];
    int s = a[i], t = b[i];
    float results[] = {__fmaf_rn(p, q, r), __fmul_rn(p, q), __fadd_rz(p, q), __fadd_ru(p, q),
    __fadd_rd(p, q), __fmul_rz(p, q),
                       __fmaf_ru(p, q, r), __frcp_rd(p), __fsqrt_ru(fabsf(p)), __fdiv_rz(p, q),
                       __saturatef(p), rsqrtf(fabsf(p)),
                       fminf(p, q), fmaxf(p, q), min(p, q), max(p, q), sqrt(fabsf(p)), abs(p),
                       __int_as_float(s),
                       __double2float_rz(1.0 / p), __int2float_rd(s)};
    for (int j = 0; j < 21; ++j) f[j * n + i] = results[j];
    unsigned words[] = {(unsigned)__popc(s), (unsigned)__clz(s), (unsigned)__ffs(s), __brev(s),
    __umulhi(s, t),
                        (unsigned)__mulhi(s, t), (unsigned)__mul24(s, t), __umul24(s, t),
                        (unsigned)max(s, t), min(s, 7u),
                        (unsigned)__float2int_rn(p), (unsigned)__float2int_rz(1e20f * p),
                        __float2uint_ru(q),
                        __byte_perm(s, t, 0x3715), (unsigned)__float_as_int(p), __sad(s, t, 1u),
                            __funnelshift_l(s, t, 8)};
    for (int j = 0; j < 17; ++j) u[j * n + i] = words[j];
    l[i] = __float2ll_rd(p) + __clzll((long long)s);
}
"""


def exact_float32(value: Fraction, mode: str) -> np.float32:
    """A fraction in float32, rounded in the direction asked for."""
    near = np.float32(float(value))  # within one unit: double rounding can miss by no more
    if math.isinf(near):
        near = np.copysign(np.finfo(np.float32).max, near)
    around = sorted(
        {
            float(np.nextafter(near, np.float32(-np.inf))),
            float(near),
            float(np.nextafter(near, np.float32(np.inf))),
        }
    )
    below, above = (
        max(v for v in around if Fraction(v) <= value),
        min(v for v in around if Fraction(v) >= value),
    )
    towards_zero = below if value > 0 else above
    return np.float32({"rd": below, "ru": above, "rz": towards_zero}[mode])


def test_intrinsics_round_as_their_names_say():
    n = 2000
    generator = np.random.default_rng(14)
    x, y, z = (
        np.where(generator.random(n) < 0.5, -1, 1).astype(np.float32)
        * generator.uniform(0.01, 8, n).astype(np.float32)
        for _ in range(3)
    )
    a, b = (generator.integers(-(2**31), 2**31, n).astype(np.int32) for _ in range(2))
    a[:5] = [0, 1, -1, 2**30, -(2**31)]
    f, u, longs = np.zeros((21, n), np.float32), np.zeros((17, n), np.uint32), np.zeros(n, np.int64)
    run(INTRINSICS, f, u, longs, x, y, z, a, b, np.int32(n), threads=n)
    p, q, r = ([Fraction(float(v)) for v in w] for w in (x, y, z))

    def directed(values, mode):
        return np.array([exact_float32(v, mode) for v in values], np.float32)

    sums, products = (
        [i + j for i, j in zip(p, q, strict=True)],
        [i * j for i, j in zip(p, q, strict=True)],
    )
    fused = [i + j for i, j in zip(products, r, strict=True)]
    fma = np.float32(x.astype(np.longdouble) * y + z)
    expect(f[0], fma, x * y + z)
    expect(f[1], x * y, x + y)
    for slot, values, mode, near in (
        (2, sums, "rz", x + y),
        (3, sums, "ru", x + y),
        (4, sums, "rd", x + y),
        (5, products, "rz", x * y),
        (6, fused, "ru", fma),
    ):
        expect(f[slot], directed(values, mode), near)
    expect(f[7], directed([1 / i for i in p], "rd"), 1 / x)
    root = np.sqrt(np.abs(x.astype(np.longdouble)))
    above = np.float32(root)
    above = np.where(above < root, np.nextafter(above, np.float32(np.inf)), above)
    expect(f[8], above, np.sqrt(np.abs(x)))
    expect(f[9], directed([i / j for i, j in zip(p, q, strict=True)], "rz"), x / y)
    expect(f[10], np.clip(x, 0, 1), x)
    # rsqrtf is an approximation: one unit off for many an argument, and never two (CUDA's
    # documentation allows two).
    nearest = (1 / np.sqrt(np.abs(x.astype(np.float64)))).astype(np.float32)
    units = np.abs(f[11].view(np.int32) - nearest.view(np.int32))
    assert units.max() == 1 and 0.1 < (units == 1).mean() < 0.4, (units.max(), (units == 1).mean())
    for slot in (12, 14):
        expect(f[slot], np.minimum(x, y), np.maximum(x, y))
    expect(f[15], np.maximum(x, y), np.minimum(x, y))
    expect(f[16], np.sqrt(np.abs(x)), x)
    expect(f[17], np.abs(x), np.abs(np.trunc(x)))  # abs(int) would cut
    expect(f[18].view(np.int32), a, b)
    expect(
        f[19],
        directed([Fraction(1 / float(v)) for v in x], "rz"),
        np.float32(1 / x.astype(np.float64)),
    )
    expect(f[20], directed([Fraction(int(v)) for v in a], "rd"), a.astype(np.float32))

    s, t = [int(v) for v in a], [int(v) for v in b]
    us, ut = [v % 2**32 for v in s], [v % 2**32 for v in t]
    low = [(v + 2**23) % 2**24 - 2**23 for v in s], [(v + 2**23) % 2**24 - 2**23 for v in t]
    byte = [
        [(i | j << 32) >> 8 * k & 255 for k in (5, 1, 7, 3)] for i, j in zip(us, ut, strict=True)
    ]
    wanted = {
        0: [bin(v).count("1") for v in us], 1: [32 - v.bit_length() for v in us],
        2: [(v & -v).bit_length() for v in us], 3: [int(f"{v:032b}"[::-1], 2) for v in us],
        4: [i * j >> 32 for i, j in zip(us, ut, strict=True)],
        5: [i * j >> 32 for i, j in zip(s, t, strict=True)],
        6: [i * j for i, j in zip(*low, strict=True)],
        7: [(i & 0xFFFFFF) * (j & 0xFFFFFF) for i, j in zip(us, ut, strict=True)],
        8: [max(i, j) for i, j in zip(s, t, strict=True)], 9: [min(v, 7) for v in us],
        10: [int(np.rint(v)) for v in x], 11: [2**31 - 1 if v > 0 else -(2**31) for v in x],
        12: [max(0, math.ceil(v)) for v in y],
        13: [sum(v << 8 * k for k, v in enumerate(bytes_)) for bytes_ in byte],
        14: x.view(np.uint32).tolist(), 15: [abs(i - j) + 1 for i, j in zip(s, t, strict=True)],
        16: [(i | j << 32) << 8 >> 32 for i, j in zip(us, ut, strict=True)],
    }  # fmt: skip
    for slot, values in wanted.items():
        want = np.array([v % 2**32 for v in values], np.uint32)
        expect(u[slot], want, want ^ np.uint32(1))
    expect(
        longs,
        np.array(
            [math.floor(v) + 64 - (i % 2**64).bit_length() for v, i in zip(x, s, strict=True)]
        ),
        np.zeros(n, np.int64),
    )


# ---- wmma ----

SHAPES = ((16, 16, 16), (32, 8, 16), (8, 32, 16))
WMMA = """namespace case{number} {{
constexpr int M = {m}, N = {n}, K = {k};
__global__ void k({out}* d, const {held}* a, const {held}* b, const {out}* c, int lda,
int ldb, int ldc) {{
    wmma::fragment<wmma::matrix_a, M, N, K, {element}, wmma::{left}_major> fa;
    wmma::fragment<wmma::matrix_b, M, N, K, {element}, wmma::{right}_major> fb;
    wmma::fragment<wmma::accumulator, M, N, K, {out}> fc;
    wmma::load_matrix_sync(fa, a, lda);
    wmma::load_matrix_sync(fb, b, ldb);
    wmma::load_matrix_sync(fc, c, ldc, wmma::mem_{sum}_major);
    {convert}
    wmma::mma_sync(fc, fa, fb, fc);
    for (int i = 0; i < fc.num_elements; ++i) fc.x[i] = fc.x[i] * ({out})2.0f;
    wmma::store_matrix_sync(d, fc, ldc, wmma::mem_{sum}_major);
}}
}}
"""
CONVERT = """for (int i = 0; i < fa.num_elements; ++i) fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
    for (int i = 0; i < fb.num_elements; ++i) fb.x[i] = wmma::__float_to_tf32(fb.x[i]);"""
WMMA_CASES = [
    (s, "half", ("half", "float")[(i + j) % 2], *order)
    for i, s in enumerate(SHAPES)
    for j, order in enumerate(
        (("row", "col", "row"), ("col", "row", "col"), ("row", "row", "row"))
    )
]
WMMA_CASES += [
    (SHAPES[0], "bfloat16", "float", "row", "col", "col"),
    (SHAPES[1], "bfloat16", "float", "col", "row", "row"),
    (SHAPES[2], "bfloat16", "float", "row", "col", "col"),
    # Each pair of orders of two of the three matrices.
    ((16, 16, 8), "tf32", "float", "row", "row", "row"),
    ((16, 16, 8), "tf32", "float", "row", "col", "col"),
    ((16, 16, 8), "tf32", "float", "col", "row", "col"),
    ((16, 16, 8), "tf32", "float", "col", "col", "row"),
]


def tf32(values: np.ndarray) -> np.ndarray:
    """float32 with 10 bits after the point: to nearest, ties away from zero."""
    return ((values.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


def operand(generator, shape: tuple[int, int], kind: str) -> tuple[np.ndarray, np.ndarray]:
    """(as a kernel's array, exact values in float64) of a random matrix."""
    values = generator.standard_normal(shape).astype(np.float32)
    if kind == "half":
        return values.astype(np.float16), values.astype(np.float16).astype(np.float64)
    if kind == "bfloat16":
        pattern = (values.view(np.uint32) >> 16).astype(np.uint16)
        return pattern, bfloat16(pattern).astype(np.float64)
    return values, tf32(values).astype(np.float64)


def laid_out(matrix: np.ndarray, order: str, padding: int = 8) -> np.ndarray:
    """Row by row or column by column, with `padding` elements after each."""
    lines = matrix if order == "row" else matrix.T
    return np.ascontiguousarray(np.pad(lines, ((0, 0), (0, padding))))


def read_back(lines: np.ndarray, order: str, padding: int = 8) -> np.ndarray:
    return lines[:, :-padding] if order == "row" else lines[:, :-padding].T


def wmma_source(number, shape, kind, out, left, right, total) -> str:
    m, n, k = shape
    held = {"half": "half", "bfloat16": "__nv_bfloat16", "tf32": "float"}[kind]
    element = "wmma::precision::tf32" if kind == "tf32" else held
    return WMMA.format(
        number=number,
        m=m,
        n=n,
        k=k,
        out=out,
        held=held,
        element=element,
        left=left,
        right=right,
        sum=total,
        convert=CONVERT if kind == "tf32" else "",
    )


# All kernels in one source: the header is the larger part of a compilation.
WMMA_SOURCE = "#include <mma.h>\nusing namespace nvcuda;\n" + "".join(
    wmma_source(number, *case) for number, case in enumerate(WMMA_CASES)
)


@pytest.mark.parametrize("number", range(len(WMMA_CASES)), ids=lambda n: str(WMMA_CASES[n]))
def test_wmma_against_float64(number):
    shape, kind, out, left, right, total = WMMA_CASES[number]
    m, n, k = shape
    generator = np.random.default_rng(m + n + k)
    a, exact_a = operand(generator, (m, k), kind)
    b, exact_b = operand(generator, (k, n), kind)
    c = generator.standard_normal((m, n)).astype(np.float16 if out == "half" else np.float32)
    arrays = laid_out(a, left), laid_out(b, right), laid_out(c, total)
    d = np.zeros_like(arrays[2])
    strides = [np.int32(v.shape[1]) for v in arrays]
    run(WMMA_SOURCE, d, *arrays, *strides, threads=32, block=32, name=f"case{number}::k")
    got = read_back(d, total).astype(np.float64) / 2
    want = exact_a @ exact_b + c
    # k additions in float32, each within half a unit of the sum so far; a half result is rounded
    # twice more (and doubled exactly).
    size = np.abs(exact_a) @ np.abs(exact_b) + np.abs(c)
    bound = k * 2.0**-24 * 1.01 * size + (
        2.0**-11 * np.abs(want) * 1.01 + 2.0**-24 if out == "half" else 0
    )
    assert (np.abs(got - want) <= bound).all(), np.abs((got - want) / bound).max()
    wrongs = [exact_a @ np.roll(exact_b, 1, axis=0) + c, exact_a @ exact_b]
    if kind == "tf32":
        wrongs.append(a.astype(np.float64) @ b.astype(np.float64) + c)  # never rounded to TF32
    for wrong in wrongs:
        assert not (np.abs(got - wrong) <= bound).all()


TF32 = """#include <mma.h>
extern "C" __global__ void k(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = nvcuda::wmma::__float_to_tf32(x[i]);
}
"""


def test_tf32_rounds_to_nearest_with_ties_away_from_zero():
    patterns = np.random.default_rng(15).integers(0, 1 << 32, 1 << 16, dtype=np.uint32)
    patterns[: 1 << 14] = patterns[: 1 << 14] & 0xFFFFE000 | 0x1000  # ties
    patterns[:6] = [0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF]
    x = patterns.view(np.float32)
    y = np.zeros_like(x)
    run(TF32, y, x, np.int32(x.size), threads=x.size)
    finite = np.isfinite(x)
    size = np.abs(x[finite].astype(np.float64))
    exponent = np.maximum(np.floor(np.log2(np.where(size > 0, size, 1.0))), -126.0)
    # Log2 may round up.
    exponent = np.where(2.0**exponent > size, np.maximum(exponent - 1, -126), exponent)
    unit = 2.0 ** (exponent - 10)
    with np.errstate(over="ignore"):
        want = (np.copysign(np.floor(size / unit + 0.5) * unit, x[finite])).astype(np.float32)
        even = (np.copysign(np.rint(size / unit) * unit, x[finite])).astype(np.float32)
    expect(y[finite], want, even)
    expect(y[~finite], x[~finite], np.zeros_like(x[~finite]))


def fragment_body(body: str) -> str:
    return (
        "    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;\n"
        "    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;\n"
        f"    wmma::fill_fragment(fc, 1.0f);\n{body}"
    )


STORE = "    wmma::store_matrix_sync(d, fc, 16, wmma::mem_row_major);"
GOOD = fragment_body("    wmma::load_matrix_sync(fa, a, 16);\n" + STORE)
FAULTS = [
    ("    wmma::load_matrix_sync(fa, a + 8, 16);", "fault", "multiple of 32 bytes"),
    ("    wmma::load_matrix_sync(fa, a, 12);", "fault", "multiples of 16 bytes"),
    ("    wmma::load_matrix_sync(fa, a + 16, 16);", "out-of-bounds", "a["),
    ("    wmma::store_matrix_sync(d + 16, fc, 16, wmma::mem_row_major);", "out-of-bounds", "d["),
]
POINTERS = [
    (16, "a", "all of its 32 lanes"),
    (32, "a + 16 * (threadIdx.x % 2)", "another address or stride"),
]


def load_from(pointer: str) -> str:
    return fragment_body(f"    wmma::load_matrix_sync(fa, {pointer}, 16);\n" + STORE)


def tile_read_by_others(barrier: str) -> str:
    return fragment_body(
        "    __shared__ __align__(32) float tile[256];\n    wmma::store_matrix_sync(tile, fc, 16, "
        f"wmma::mem_row_major);\n{barrier}    d[threadIdx.x] = tile[255 - threadIdx.x];"
    )


ORDERED, UNORDERED = tile_read_by_others("    __syncthreads();\n"), tile_read_by_others("")
FRAGMENTS = Kernels(
    [
        GOOD,
        *(fragment_body(body) for body, *_ in FAULTS),
        *(load_from(pointer) for _, pointer, _ in POINTERS),
        ORDERED,
        UNORDERED,
    ],
    "float* d, const half* a",
    "#include <mma.h>\nusing namespace nvcuda;",
)


@pytest.mark.parametrize(("body", "kind", "text"), FAULTS)
def test_faults_of_fragments_name_the_line_of_the_kernel(body, kind, text):
    d, a = np.zeros((16, 16), np.float32), np.zeros((16, 16), np.float16)
    source, good = FRAGMENTS.of(GOOD)
    run(source, d, a, threads=32, block=32, name=good)
    assert (d == 1).all()
    wrong = fragment_body(body)
    findings = simulator.check(*FRAGMENTS.of(wrong), d, a, grid=(1,), block=(32,))
    assert [(f.kind, f.line) for f in findings] == [(kind, FRAGMENTS.line(wrong, 4))]
    assert text in findings[0].message + findings[0].cause


@pytest.mark.parametrize(("lanes", "pointer", "text"), POINTERS)
def test_fragments_need_a_whole_warp_that_agrees(lanes, pointer, text):
    d, a = np.zeros((16, 16), np.float32), np.zeros((17, 16), np.float16)
    body = load_from(pointer)
    findings = simulator.check(*FRAGMENTS.of(body), d, a, grid=(1,), block=(lanes,))
    assert [(f.kind, f.line) for f in findings] == [("fault", FRAGMENTS.line(body, 4))]
    assert text in findings[0].message


def test_fragments_are_seen_by_the_race_check_and_counted_as_pairs():
    d, a = np.zeros((16, 16), np.float32), np.zeros((16, 16), np.float16)
    assert simulator.check(*FRAGMENTS.of(ORDERED), d, a, grid=(1,), block=(32,)) == ()
    findings = simulator.check(*FRAGMENTS.of(UNORDERED), d, a, grid=(1,), block=(32,))
    assert "race" in {f.kind for f in findings}
    p = simulator.profile(*FRAGMENTS.of(ORDERED), d, a, grid=(1,), block=(32,))
    stored = [line for line in p.lines if line.array == "tile" and line.access == "store"]
    line = FRAGMENTS.line(ORDERED, 5)
    assert [(one.requests, one.bytes_used, one.line) for one in stored] == [(4, 1024, line)]


# ---- cooperative groups, atomics and shuffles of half ----

GROUPS = """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;
extern "C" __global__ void k(int* out, half2* pairs, half* shuffled) {
    cg::thread_block block = cg::this_thread_block();
    __shared__ int s[96];
    s[block.thread_rank()] = block.thread_rank();
    block.sync();
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
    auto tile = cg::tiled_partition<8>(warp);
    int v = s[95 - block.thread_rank()];
    int* o = out + block.thread_rank() * 12;
    o[0] = cg::reduce(warp, v, cg::plus<int>());
    o[1] = cg::reduce(tile, v, cg::greater<int>());
    o[2] = warp.meta_group_rank() * 100 + warp.meta_group_size() * 10 + tile.meta_group_rank();
    o[3] = tile.shfl(v, 3);
    o[4] = tile.shfl_down(v, 2);
    o[5] = tile.shfl_up(v, 2);
    o[6] = tile.shfl_xor(v, 1);
    o[7] = tile.ballot(v % 3 == 0);
    o[8] = tile.any(v == 0) + 2 * tile.all(v >= 0) + 4 * tile.all(v > 5);
    o[9] = (int)block.size() + (int)tile.size() + (int)tile.thread_rank();
    o[10] = (int)block.group_index().x * 1000 + (int)block.thread_index().x;
    tile.sync();
    cg::sync(warp);
    o[11] = 0;
    if (v % 4 == 0) {
        cg::coalesced_group together = cg::coalesced_threads();
        o[11] = (int)together.size() * 100 + (int)together.thread_rank();
    }
    half2 one_two = __floats2half2_rn(1.0f, 2.0f);
    atomicAdd(&pairs[0], one_two);
    shuffled[blockIdx.x * blockDim.x + threadIdx.x] = __shfl_xor_sync(0xffffffffu,
        __int2half_rn(v), 1);
}
"""


def test_groups_tiles_and_half_atomics():
    out, pairs, shuffled = (
        np.zeros((96, 12), np.int32),
        np.zeros(2, np.float16),
        np.zeros(96, np.float16),
    )
    run(GROUPS, out, pairs, shuffled, threads=96, block=96)
    rank = np.arange(96)
    v = 95 - rank
    lane = rank % 8

    def tile_at(index):
        return v[rank - lane + index]

    ballots = np.array(
        [sum(int(x % 3 == 0) << k for k, x in enumerate(group)) for group in v.reshape(-1, 8)]
    ).repeat(8)
    want = np.stack([
        v.reshape(3, 32).sum(1).repeat(32), v.reshape(12, 8).max(1).repeat(8),
        rank // 32 * 100 + 30 + rank % 32 // 8, tile_at(3),
        np.where(lane + 2 < 8, tile_at(np.minimum(lane + 2, 7)), v),
        np.where(lane >= 2, tile_at(np.maximum(lane - 2, 0)), v), tile_at(lane ^ 1), ballots,
        (v < 8) * 1 + 2 + 4 * (v.reshape(12, 8).min(1) > 5).repeat(8), 96 + 8 + lane, rank,
        np.where(v % 4 == 0, 800 + rank % 32 // 4, 0),
    ], axis=1).astype(np.int32)  # fmt: skip
    for column in range(12):
        expect(out[:, column].copy(), want[:, column].copy(), np.full(96, -1, np.int32))
    assert pairs.tolist() == [96.0, 192.0]
    expect(shuffled, v[rank ^ 1].astype(np.float16), v.astype(np.float16))


# ---- what is refused, and what a source may do ----


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "#include <cooperative_groups.h>\nusing namespace cooperative_groups;\n"
            "__global__ void k(int* y) { auto t = tiled_partition<64>(this_thread_block()); "
            "t.sync(); *y = t.thread_rank(); }",
            r"k\.cu:3: .*group of several warps",
        ),
        (
            '__global__ void k() {\n    asm volatile("wgmma.fence.sync.aligned;");\n}',
            r"k\.cu:2: .* wgmma\.fence",
        ),
        # The compiler's own words for what is not CUDA.
        (
            "#include <mma.h>\nusing namespace nvcuda::wmma;\n__global__ void k(float* p) {\n"
            "fragment<accumulator, 16, 16, 4, float> f;\n*p = hcosh(__half(1.0f)); }",
            r"(?s)k\.cu\(4\): error: incomplete type .*fragment.*k\.cu\(5\): error: .*hcosh",
        ),
    ],
)
def test_what_the_simulator_or_cuda_lacks_is_refused_by_name_and_line(text, message):
    with pytest.raises(CompileFailed, match=message):
        assert load(text, file="k.cu").kernels["k"].program is None


def test_a_header_of_templates_takes_no_extern_c_around_it():
    text = "#include <cuda_fp16.h>\n__global__ void k(half* y) { *y = __float2half(1.0f); }"
    with pytest.raises(CompileFailed, match='"C" linkage'):
        compile_source(text, file="k.cu", extern_c=True, compiler="nvrtc")
    load(text, file="k.cu").close()


def test_a_half_can_be_an_argument():
    signature = '#include <cuda_fp16.h>\nextern "C" __global__ void k(half* y, half factor) {'
    text = signature + " y[threadIdx.x] = y[threadIdx.x] * factor; }"
    y = np.arange(32, dtype=np.float16)
    run(text, y, np.float16(0.5), threads=32, block=32)
    expect(y, np.arange(32, dtype=np.float16) / 2, np.arange(32, dtype=np.float16))
    with pytest.raises(TypeError, match="does not fit"):
        run(text, y, np.int16(2), threads=32, block=32)
