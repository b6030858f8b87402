"""Products that ptxas adds unrounded: what the simulator computes, beside exact arithmetic and the
machine code that ptxas makes of the same text."""

import re
from fractions import Fraction

import numpy as np
import pytest

from helpers import simulator
from helpers.simulator.compile import compiler
from helpers.simulator.machine import library
from helpers.simulator.program import assembly, encoded

# a * b = 1 + 2**-11 + 2**-24 needs one bit more than a float has: rounded it ends in ...2**-11.
A, B, C, D = np.float32(1 + 2**-12), np.float32(1 + 2**-12), np.float32(-1), np.float32(3)
EXACT = Fraction(float(A)) * Fraction(float(B))

KERNEL = """
extern "C" __global__ void {name}(float* out, const float* in, int n)
{{
    float a = in[0], b = in[1], c = in[2], d = in[3], p = 0, q = 0, r = 0, s = 0;
    {body}
    out[0] = r, out[1] = s, out[2] = {third};
}}
"""

IN_ONE = 'asm volatile("{{ .reg .f32 p, q; .reg .pred y; {ptx} }}" : "+f"(r), "+f"(s) '
IN_ONE += ': "f"(a), "f"(b), "f"(c), "f"(d), "r"(n));'

# PTX (%0, %1 results, %2 to %5 factors a, b, c, d, %6 is 1), and how many fused multiply-adds,
# multiplications and additions it becomes.
TEXTS = {
    "a product and a sum": ("mul.f32 p, %2, %3; add.f32 %0, p, %4;", (1, 0, 0)),
    "a sum and a product": ("mul.f32 p, %2, %3; add.f32 %0, %4, p;", (1, 0, 0)),
    "a difference": ("mul.f32 p, %2, %3; sub.f32 %0, p, %4;", (1, 0, 0)),
    "from a number": ("mul.f32 p, %2, %3; sub.f32 %0, %4, p;", (1, 0, 0)),
    "of the other sign": ("mul.f32 p, %2, %3; neg.f32 q, p; add.f32 %0, q, %4;", (1, 0, 0)),
    "copied": ("mul.f32 p, %2, %3; mov.f32 q, p; add.f32 %0, q, %4;", (1, 0, 0)),
    "of two sums": ("mul.f32 p, %2, %3; add.f32 %0, p, %4; add.f32 %1, p, %5;", (2, 0, 0)),
    "a saturated sum": ("mul.f32 p, %2, %3; add.sat.f32 %0, p, %4;", (1, 0, 0)),
    "both flushed": ("mul.ftz.f32 p, %2, %3; add.ftz.f32 %0, p, %4;", (1, 0, 0)),
    "a guarded sum": ("mul.f32 p, %2, %3; setp.eq.s32 y, %6, 1; @y add.f32 %0, p, %4;", (1, 0, 0)),
    "a barrier between": ("mul.f32 p, %2, %3; bar.sync 0; add.f32 %0, p, %4;", (1, 0, 0)),
    "two products": ("mul.f32 p, %2, %3; mul.f32 q, %4, %5; add.f32 %0, p, q;", (1, 1, 0)),
    "one product used twice": (
        "mul.f32 p, %2, %3; mul.f32 q, %4, %5; add.f32 %0, q, p; add.f32 %1, q, %5;",
        (1, 1, 1),
    ),
    "a product that is rounded by name": ("mul.rn.f32 p, %2, %3; add.f32 %0, p, %4;", (0, 1, 1)),
    "a sum that is rounded by name": ("mul.f32 p, %2, %3; add.rn.f32 %0, p, %4;", (0, 1, 1)),
    "twice in one sum": ("mul.f32 p, %2, %3; add.f32 %0, p, p;", (0, 1, 1)),
    "multiplied on": ("mul.f32 p, %2, %3; add.f32 %0, p, %4; mul.f32 %1, p, %5;", (0, 2, 1)),
    "a saturated product": ("mul.sat.f32 p, %2, %3; add.f32 %0, p, %4;", (0, 1, 1)),
    "one flushed": ("mul.ftz.f32 p, %2, %3; add.f32 %0, p, %4;", (0, 1, 1)),
    "its size": ("mul.f32 p, %2, %3; abs.f32 q, p; add.f32 %0, q, %4;", (0, 1, 1)),
    "a way between": (
        "mul.f32 p, %2, %3; setp.ne.s32 y, %6, 1; @y bra DONE; add.f32 %0, p, %4; DONE:",
        (0, 1, 1),
    ),
}


def source(ptx: str, third: str = "0.0f", name: str = "k") -> str:
    return KERNEL.format(name=name, body=IN_ONE.format(ptx=ptx), third=third)


def outputs(text: str, *options: str) -> np.ndarray:
    out = np.zeros(3, np.float32)
    given = np.array([A, B, C, D], np.float32)
    found = simulator.check(
        text, "k", out, given, np.int32(1), grid=(1,), block=(1,), options=options
    )
    assert found == ()
    return out


@pytest.fixture(scope="module")
def every_text():
    """The texts as kernels k0, k1 ... of one source, and the machine code of each."""
    texts = [source(ptx, name=f"k{n}") for n, (ptx, _) in enumerate(TEXTS.values())]
    compiled = compiler.compile_source("".join(texts))
    _, *parts = re.split(r"\.section\s+\.text\.(k\d+)", assembly.sass(compiled) or "")
    return compiled, dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.mark.parametrize("number", range(len(TEXTS)), ids=TEXTS)
def test_what_is_contracted_is_what_the_machine_code_contracts(number, every_text):
    compiled, listings = every_text
    _, wanted = [*TEXTS.values()][number]
    found = tuple(
        len(re.findall(rf"\b{root}\b(?!.*\bRZ\b)", listings[f"k{number}"]))
        for root in ("FFMA", "FMUL", "FADD")
    )
    assert found == wanted, "ptxas does otherwise"
    program = operations(compiled, f"k{number}")
    assert tuple(program.count(one) for one in ("fma.f32", "mul.f32")) == wanted[:2]
    assert program.count("add.f32") + program.count("sub.f32") == wanted[2]


def operations(compiled, kernel: str = "k") -> list[str]:
    """The names of a kernel's operations as the machine runs them."""
    program = encoded.encoded(compiled, kernel)
    names = library.operation_names()
    return [names[number] for number in program.instructions["operation"].tolist()]


ROUNDED = Fraction(float(np.float32(A) * np.float32(B)))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("a product and a sum", EXACT - 1),
        ("a sum and a product", EXACT - 1),
        ("copied", EXACT - 1),
        ("of two sums", EXACT - 1),
        ("both flushed", EXACT - 1),
        ("a guarded sum", EXACT - 1),
        ("a barrier between", EXACT - 1),
        ("a product that is rounded by name", ROUNDED - 1),
        ("a sum that is rounded by name", ROUNDED - 1),
        ("multiplied on", ROUNDED - 1),
        ("one flushed", ROUNDED - 1),
        ("a way between", ROUNDED - 1),
    ],
)
def test_a_contracted_product_is_not_rounded(name, wanted):
    assert EXACT != ROUNDED
    assert Fraction(float(outputs(source(TEXTS[name][0]))[0])) == wanted


def test_nothing_is_contracted_where_the_options_forbid_it():
    ptx, _ = TEXTS["a product and a sum"]
    assert Fraction(float(outputs(source(ptx))[0])) == EXACT - 1
    assert Fraction(float(outputs(source(ptx), "-fmad=false")[0])) == ROUNDED - 1
    assert Fraction(float(outputs(source(ptx), "-fmad=true")[0])) == EXACT - 1


HALVES = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
extern "C" __global__ void k({type}* out, const {type}* in)
{{
    {type} a = in[0], b = in[1], c = in[2];
    out[0] = {product};
    out[1] = {rounded};
}}
"""
SHORT = {
    "half": ("__half", "__hadd(__hmul(a, b), c)", "__hadd(__hmul_rn(a, b), c)", 11),
    "operators": ("__half", "a * b + c", "__hadd_rn(a * b, c)", 11),
    "bfloat16": ("__nv_bfloat16", "__hadd(__hmul(a, b), c)", "__hadd_rn(__hmul(a, b), c)", 8),
}


@pytest.mark.parametrize("name", SHORT)
def test_halves_are_contracted(name):
    type, product, rounded, digits = SHORT[name]
    # (1 + 2**-k)**2 = 1 + 2**(1 - k) + 2**-2k, whose last bit the format does not hold.
    k = (digits + 1) // 2
    number = 1 + 2.0**-k
    values = np.array([number, number, -1])
    if name == "bfloat16":
        bits = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    else:
        bits = values.astype(np.float16).view(np.uint16)
    out = np.zeros(2, np.uint16)
    text = HALVES.format(type=type, product=product, rounded=rounded)
    assert simulator.check(text, "k", out, bits, grid=(1,), block=(1,)) == ()
    got = (
        (out.astype(np.uint32) << 16).view(np.float32)
        if name == "bfloat16"
        else out.view(np.float16).astype(np.float32)
    )
    exact, cut = 2.0 ** (1 - k) + 2.0 ** (-2 * k), 2.0 ** (1 - k)
    assert got.tolist() == [exact, cut]
