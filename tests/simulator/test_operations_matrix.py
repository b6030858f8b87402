"""mma and wmma of the simulator's machine: registers as the PTX manual has them, sums as a tensor
core cuts them.
"""

import random
from fractions import Fraction

import numpy as np
import pytest
from exact import BF16, E4M3, E5M2, F16, F32, F64, NEAREST, ZERO
from operations_library import RZ, SATFINITE, numbers, run

LANES = range(32)
TF32 = "tf32"
BITS = {F16: 16, BF16: 16, TF32: 32, E4M3: 8, E5M2: 8, F64: 64}


def exponent_and_size(bits, f):
    """A number as 2^exponent times a size below 2; subnormal numbers keep the lowest exponent. None
    for zero.
    """
    size = bits & (f.sign - 1)
    if size == 0:
        return None
    field = size >> f.digits
    exponent = max(field, 1) - f.bias
    return exponent, f.value(bits) / Fraction(2) ** exponent


def fused(a, b, c, f, g, of_c, of_d):
    """The bits of c plus the sum of the products: each cut 25 binary digits behind the point of the
    largest exponent.
    """
    terms = [exponent_and_size(c, of_c)]
    for x, y in zip(a, b, strict=True):
        left, right = exponent_and_size(x, f), exponent_and_size(y, g)
        terms.append(left and right and (left[0] + right[0], left[1] * right[1]))
    terms = [t for t in terms if t]
    if not terms:
        return 0
    largest = max(e for e, _ in terms)
    unit = Fraction(2) ** (largest - 25)
    total = sum(int(Fraction(2) ** e * s / unit) for e, s in terms) * unit
    bits = of_d.rounded(total, NEAREST if of_d is F16 else ZERO)
    if of_d is F16 and bits == F16.sign:
        return 0  # a negative sum that rounds to nothing has no sign
    return of_d.infinity | (bits & of_d.sign) if abs(total) >= Fraction(2) ** 128 else bits


def by_halves(a, b, c, f, g, of_c, of_d):
    """The same of bytes: two sums of halves, of the lower two bytes of each register and, added to
    that, of the upper two; c is added to the second one as an operation of its own."""
    a, b = ([F16.rounded(h.value(x)) for x in row] for row, h in ((a, f), (b, g)))
    total = 0
    for part in ((0, 1), (2, 3)):
        chosen = [t for t in range(len(a)) if t % 4 in part]
        factors = [a[t] for t in chosen], [b[t] for t in chosen]
        total = fused(*factors, total, F16, F16, of_d, of_d)
    return of_d.rounded(of_d.value(total) + of_c.value(c))


def cells(use, m, k, bits):
    """The manual's place of each register's elements: [register][part][lane] -> (row, column) of A,
    or (k, n) of B.
    """
    each = max(32 // bits, 1)
    rows = m // 8 if use == "a" else 1
    registers = rows * max(k // (4 * each), 1)
    found = []
    for r in range(registers):
        block_row, block_k = (r % rows, r // rows) if use == "a" else (0, r)
        found.append(
            [
                [
                    (lane // 4 + 8 * block_row, block_k * 4 * each + lane % 4 * each + part)
                    for lane in LANES
                ]
                for part in range(each)
            ]
        )
    return (
        found
        if use == "a"
        else [[[(column, row) for row, column in lanes] for lanes in parts] for parts in found]
    )


def sum_cells(m):
    return [
        [(lane // 4 + 8 * (r // 2), lane % 4 * 2 + r % 2) for lane in LANES] for r in range(m // 4)
    ]


def pack(matrix, places, bits):
    """Registers of 32 lanes from a dictionary of bits."""
    dtype = np.uint64 if bits == 64 else np.uint32
    return [
        np.array(
            [sum(matrix[parts[p][lane]] << p * bits for p in range(len(parts))) for lane in LANES],
            dtype,
        )
        for parts in places
    ]


def table(rows, columns, draw):
    return {(r, c): int(draw()) for r in range(rows) for c in range(columns)}


def drawer(f, seed, spread=6):
    """Bits of numbers of similar sizes, where sums cancel and are cut."""
    chooser = random.Random(seed)
    g = F32 if f is TF32 else f

    def draw():
        if chooser.random() < 0.05:
            return 0
        field = g.bias + chooser.randint(-spread, spread)
        if chooser.random() < 0.05:
            field = 0
        bits = (
            chooser.choice([0, g.sign])
            | (field % (1 << g.exponent_bits)) << g.digits
            | chooser.getrandbits(g.digits)
        )
        return 0 if g.is_nan(bits) or g.is_infinite(bits) else bits

    return draw


def without_low_bits(matrix, f):
    return {k: v & ~0x1FFF for k, v in matrix.items()} if f is TF32 else matrix


FLOATS = [
    ("m16n8k8", F16, F16), ("m16n8k16", F16, F16), ("m16n8k8", BF16, BF16),
    ("m16n8k16", BF16, BF16), ("m16n8k4", TF32, TF32), ("m16n8k8", TF32, TF32),
    ("m16n8k32", E4M3, E4M3), ("m16n8k32", E5M2, E4M3), ("m16n8k16", E4M3, E5M2),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "f", "g"), FLOATS, ids=lambda x: getattr(x, "name", x))
@pytest.mark.parametrize("half", [False, True])
def test_sums_of_tensor_cores(shape, f, g, half):
    name = ".".join(getattr(x, "name", x) for x in (f, g))
    kind = "f16" if half else "f32"
    operation = f"mma.{shape}.row.col.{kind}.{name}.{kind}"
    if half and f in (BF16, TF32):
        assert operation not in numbers()
        return
    m, k, bits = 16, int(shape.split("k")[1]), BITS[f]
    of_sum = F16 if half else F32
    ff, gg = (F32 if x is TF32 else x for x in (f, g))
    # Some are beyond float's range; bytes have one spread.
    for seed, spread in enumerate((2,) if bits == 8 else (2, 6, 12) if f is F16 else (2, 12, 50)):
        a, b = table(m, k, drawer(f, seed, spread)), table(k, 8, drawer(g, seed + 50, spread))
        c = table(m, 8, drawer(of_sum, seed + 90, 4 if half else spread))
        registers = [*pack(a, cells("a", m, k, bits), bits), *pack(b, cells("b", m, k, bits), bits)]
        places = sum_cells(m)
        if half:
            registers += pack(c, [places[:2], places[2:]], 16)
            got = [
                d.view(np.uint16).reshape(32, 2)
                for d in run(operation, [np.uint32] * 2, *registers)[:2]
            ]
            got = [got[r // 2][:, r % 2] for r in range(4)]
        else:
            registers += pack(c, [[p] for p in places], 32)
            got = run(operation, [np.uint32] * 4, *registers)[:4]
        a, b = without_low_bits(a, f), without_low_bits(b, g)
        for r, lane in ((r, lane) for r in range(4) for lane in LANES):
            row, column = places[r][lane]
            factors = [a[row, t] for t in range(k)], [b[t, column] for t in range(k)]
            summed = by_halves if bits == 8 else fused
            want = summed(*factors, c[row, column], ff, gg, of_sum, of_sum)
            assert got[r][lane] == want, (seed, row, column, hex(got[r][lane]), hex(want))


def test_bytes_are_not_one_sum():
    """2^16 and -2^16 in different halves of a register leave a small number next to them alone."""
    a, b, c = table(16, 32, int), table(32, 8, int), table(16, 8, int)
    large = E4M3.rounded(Fraction(256))
    for row, (first, second) in enumerate([(0, 1), (0, 2)] * 8):
        a[row, first], a[row, second] = large, large | E4M3.sign
        a[row, 3] = E4M3.rounded(Fraction(1, 512))
    for column in range(8):
        b[0, column] = b[1, column] = b[2, column] = large
        b[3, column] = E4M3.rounded(Fraction(1, 512))
    c = {place: F32.rounded(Fraction(1, 2**20)) for place in c}
    places = sum_cells(16)
    registers = [*pack(a, cells("a", 16, 32, 8), 8), *pack(b, cells("b", 32, 32, 8), 8)]
    registers += pack(c, [[p] for p in places], 32)
    operation = "mma.m16n8k32.row.col.f32.e4m3.e4m3.f32"
    got = run(operation, [np.float32] * 4, *registers)[:4]
    for r, lane in ((r, lane) for r in range(4) for lane in LANES):
        row, _ = places[r][lane]
        # Rows with even numbers: the large products meet in the first sum. Else the small product
        # comes to a sum that holds the large one, which has no room for it.
        assert got[r][lane] == (2.0**-18 + 2.0**-20 if row % 2 == 0 else 2.0**-20)


def test_infinities_and_nans_of_a_product():
    one, infinity = 0x3C003C00, 0x7C003C00
    a, b, c = np.full(32, one, np.uint32), np.full(32, one, np.uint32), np.zeros(32, np.float32)
    changed = a.copy()
    changed[5] = infinity  # row 1 of A
    d = run(
        "mma.m16n8k16.row.col.f32.f16.f16.f32", [np.float32] * 4, changed, a, a, a, b, b, c, c, c, c
    )
    assert (d[0][4:8] == np.inf).all() and (d[0][:4] == 16).all() and (d[2] == 16).all()
    changed[6] = 0xFC003C00  # and the opposite one
    d = run(
        "mma.m16n8k16.row.col.f32.f16.f16.f32", [np.uint32] * 4, changed, a, a, a, b, b, c, c, c, c
    )
    assert (d[0][4:8] == 0x7FFFFFFF).all()
    d = run(
        "mma.m16n8k16.row.col.f32.f16.f16.f32",
        [np.float32] * 4,
        *[a * 0] * 4,
        b,
        b,
        *[c + np.float32(-np.inf)] * 4,
    )
    assert all((x == -np.inf).all() for x in d[:4])


INTEGERS = [
    ("m8n8k16", 8),
    ("m16n8k16", 8),
    ("m16n8k32", 8),
    ("m8n8k32", 4),
    ("m16n8k32", 4),
    ("m16n8k64", 4),
]


@pytest.mark.parametrize(("shape", "bits"), INTEGERS)
@pytest.mark.parametrize("kinds", ["us", "su", "uu", "ss"])
def test_integers(shape, bits, kinds):
    m, k = int(shape[1:].split("n")[0]), int(shape.split("k")[1])
    chooser = random.Random(7)
    a, b = (
        table(m, k, lambda: chooser.getrandbits(bits)),
        table(k, 8, lambda: chooser.getrandbits(bits)),
    )
    c = table(m, 8, lambda: chooser.choice([chooser.getrandbits(20), 2**31 - 5, 2**31]))
    places = sum_cells(m)
    registers = [
        *pack(a, cells("a", m, k, bits), bits),
        *pack(b, cells("b", m, k, bits), bits),
        *pack(c, [[p] for p in places], 32),
    ]

    def value(x, kind, width=bits):
        return x - (1 << width) if kind == "s" and x >> (width - 1) else x

    for flags in (0, SATFINITE):
        name = f"mma.{shape}.row.col.s32.{kinds[0]}{bits}.{kinds[1]}{bits}.s32"
        got = run(name, [np.int32] * len(places), *registers, flags=flags)
        for r, lane in ((r, lane) for r in range(len(places)) for lane in LANES):
            row, column = places[r][lane]
            total = value(c[row, column], "s", 32) + sum(
                value(a[row, t], kinds[0]) * value(b[t, column], kinds[1]) for t in range(k)
            )
            want = (
                min(max(total, -(2**31)), 2**31 - 1)
                if flags
                else value(total & 0xFFFFFFFF, "s", 32)
            )
            assert got[r][lane] == want


@pytest.mark.parametrize("shape", ["m8n8k128", "m16n8k128", "m16n8k256"])
def test_bits(shape):
    m, k = int(shape[1:].split("n")[0]), int(shape.split("k")[1])
    chooser = random.Random(8)
    a, b = (
        table(m, k // 32, lambda: chooser.getrandbits(32)),
        table(k // 32, 8, lambda: chooser.getrandbits(32)),
    )
    c, places = table(m, 8, lambda: chooser.getrandbits(10)), sum_cells(m)
    registers = [
        *pack(a, cells("a", m, k // 32, 32), 32),
        *pack(b, cells("b", m, k // 32, 32), 32),
        *pack(c, [[p] for p in places], 32),
    ]
    for name, function in (("xor", int.__xor__), ("and", int.__and__)):
        got = run(
            f"mma.{shape}.row.col.s32.b1.b1.s32.{name}.popc", [np.int32] * len(places), *registers
        )
        for r, lane in ((r, lane) for r in range(len(places)) for lane in LANES):
            row, column = places[r][lane]
            assert got[r][lane] == c[row, column] + sum(
                function(a[row, t], b[t, column]).bit_count() for t in range(k // 32)
            )


@pytest.mark.parametrize(("m", "k"), [(8, 4), (16, 4), (16, 8), (16, 16)])
def test_doubles_are_one_fused_step_after_another(m, k):
    chooser = random.Random(4)
    draw = drawer(F64, 5, 20)
    a, b, c = table(m, k, draw), table(k, 8, draw), table(m, 8, draw)
    places = sum_cells(m)
    registers = [
        *pack(a, cells("a", m, k, 64), 64),
        *pack(b, cells("b", m, k, 64), 64),
        *pack(c, [[p] for p in places], 64),
    ]
    got = run(f"mma.m{m}n8k{k}.row.col.f64.f64.f64.f64", [np.uint64] * len(places), *registers)
    for r, lane in ((chooser.randrange(len(places)), lane) for lane in LANES):
        row, column = places[r][lane]
        total = c[row, column]
        for t in range(k):
            total = F64.rounded(F64.value(a[row, t]) * F64.value(b[t, column]) + F64.value(total))
        assert got[r][lane] == total


@pytest.mark.parametrize("rounding", [0, RZ])
def test_a_product_of_doubles_has_the_nan_of_a_gpu(rounding):
    """An invalid step makes NVIDIA's NaN; a NaN among its operands goes on, the factor's first."""
    one, infinity, zero = 0x3FF0000000000000, 0x7FF0000000000000, 0
    factor, addend, made = 0x7FF8000000000ABC, 0x7FF8000000000123, 0xFFF8000000000000
    a, b, c = ({key: one for key in np.ndindex(shape)} for shape in ((8, 4), (4, 8), (8, 8)))
    a[0, 0], b[0, 0] = infinity, zero
    a[1, 3] = factor
    c[2, 5] = addend
    a[3, 0], c[3, 1] = factor, addend
    registers = [
        *pack(a, cells("a", 8, 4, 64), 64),
        *pack(b, cells("b", 8, 4, 64), 64),
        *pack(c, [[p] for p in sum_cells(8)], 64),
    ]
    name = "mma.m8n8k4.row.col.f64.f64.f64.f64"
    got = run(name, [np.uint64] * 2, *registers, flags=rounding)
    cells_of = enumerate(sum_cells(8))
    sums = {place: got[r][lane] for r, places in cells_of for lane, place in enumerate(places)}
    assert sums[0, 0] == made
    assert sums[0, 1] == infinity
    assert {sums[1, column] for column in range(8)} == {factor}
    assert sums[2, 5] == addend
    assert sums[2, 4] not in (addend, made)
    assert {sums[3, column] for column in range(8)} == {factor}


@pytest.mark.parametrize("layouts", ["row.col", "row.row", "col.col", "col.row"])
@pytest.mark.parametrize("kinds", ["f32 f32", "f16 f16", "f32 f16", "f16 f32"])
def test_four_products_of_quads(layouts, kinds):
    of_d, of_c = ({"f16": F16, "f32": F32}[x] for x in kinds.split())
    column_a, row_b = layouts[:3] == "col", layouts[4:] == "row"
    a, b = ([table(8, 4, drawer(F16, s + 10 * p, 3)) for p in range(4)] for s in (1, 2))
    c = [table(8, 8, drawer(of_c, 70 + p, 3)) for p in range(4)]

    def place(lane, i, by_column):  # of A; of B the same with n for the row
        upper = 4 * (lane // 16)
        return (i + upper, lane % 4) if by_column else (lane % 4 + upper, i)

    def place_of_sum(f, lane, i):
        if f is F16:
            return lane % 4 + 4 * (lane // 16), i
        return (lane & 1) + (i & 2) + 4 * (lane // 16), (i & 4) + (lane & 2) + (i & 1)

    def halves(matrices, where, count):
        def register(i):
            return [
                sum(matrices[lane % 16 // 4][where(lane, i + p)] << 16 * p for p in range(2))
                for lane in LANES
            ]

        return [np.array(register(i), np.uint32) for i in range(0, count, 2)]

    registers = halves(a, lambda lane, i: place(lane, i, column_a), 4) + halves(
        b, lambda lane, i: place(lane, i, row_b), 4
    )
    if of_c is F16:
        registers += halves(c, lambda lane, i: place_of_sum(F16, lane, i), 8)
    else:
        registers += [
            np.array([c[lane % 16 // 4][place_of_sum(F32, lane, i)] for lane in LANES], np.uint32)
            for i in range(8)
        ]
    got = run(
        f"mma.m8n8k4.{layouts}.{of_d.name}.f16.f16.{of_c.name}",
        [np.uint32] * (4 if of_d is F16 else 8),
        *registers,
    )
    for lane, i in ((lane, i) for lane in LANES for i in range(8)):
        quad, (row, column) = lane % 16 // 4, place_of_sum(of_d, lane, i)
        want = fused(
            [a[quad][row, t] for t in range(4)],
            [b[quad][column, t] for t in range(4)],
            c[quad][row, column],
            F16,
            F16,
            of_c,
            of_d,
        )
        bits = got[i // 2][lane] >> 16 * (i % 2) & 0xFFFF if of_d is F16 else got[i][lane]
        assert bits == want


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
