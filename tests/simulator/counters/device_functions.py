"""Device functions, conversions, atomics and matrix products on random and special operands: what
to run, as data.

`GROUPS` holds rows "name: operand types -> result type: expression"; `source(group)` is a .cu file
with a kernel for each row, y[i] = expression of a, b and c. `operands(row)` gives 4,096 cells for
each operand, by their bits (unsigned integers), from PCG64, the same everywhere. What a GPU
answered is kept by bits as well: "group/name" -> array.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import instructions
import numpy as np

CELLS = 4096
PRODUCTS = Path(__file__).resolve().parent / "device_functions"

# Letter -> (type in CUDA, unsigned integer of its bits).
TYPES: dict[str, tuple[str, Any]] = {
    "f": ("float", np.uint32), "d": ("double", np.uint64), "h": ("__half", np.uint16),
    "H": ("__half2", np.uint32), "b": ("__nv_bfloat16", np.uint16),
    "B": ("__nv_bfloat162", np.uint32), "i": ("int", np.uint32), "u": ("unsigned", np.uint32),
    "l": ("long long", np.uint64), "m": ("unsigned long long", np.uint64),
    "s": ("short", np.uint16), "t": ("unsigned short", np.uint16), "c": ("signed char", np.uint8),
    "e": ("unsigned char", np.uint8), "P": ("float2", np.uint64), "F": ("float", np.uint32),
}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One kernel. operands, result: letters of `TYPES`; F is a float as f, but of moderate size
    (|x| < 128); ptx: instructions that the expression's function consists of.
    """

    group: str
    name: str
    operands: str
    result: str
    expression: str
    options: tuple[str, ...] = ()
    ptx: str = ""

    @property
    def key(self) -> str:
        return f"{self.group}/{self.name}"

    @property
    def kernel(self) -> str:
        return f"k_{self.name}"


PRELUDE = r"""
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

__device__ float sine_of(float a) { float s, c; sincosf(a, &s, &c); return s; }
__device__ float cosine_of(float a) { float s, c; sincosf(a, &s, &c); return c; }
__device__ float fast_sine_of(float a) { float s, c; __sincosf(a, &s, &c); return s; }
__device__ float sine_of_pi(float a) { float s, c; sincospif(a, &s, &c); return s; }
__device__ float fraction_of(float a) { int e; return frexpf(a, &e); }
__device__ int exponent_of(float a) { int e; frexpf(a, &e); return isfinite(a) ? e : 0; }
__device__ float rest_of(float a) { float w; return modff(a, &w); }
__device__ float quotient_rest(float a, float b) { int q; return remquof(a, b, &q); }
__device__ double sine_of(double a) { double s, c; sincos(a, &s, &c); return s; }
template <class T> __device__ T added_to(T* p, T a, T b) { *p = a; atomicAdd(p, b); return *p; }
template <class T> __device__ T added_old(T* p, T a, T b) { *p = a; T o = atomicAdd(p, b);
    return *p == *p ? *p : o; }
template <class T> __device__ T added_shared(T a, T b)
{
    __shared__ T cells[256];
    cells[threadIdx.x] = a;
    atomicAdd(&cells[threadIdx.x], b);
    return cells[threadIdx.x];
}
__device__ unsigned to_tf32(float a) { unsigned r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(a)); return r; }
__device__ unsigned short pack_e4m3(float a, float b)
{
    unsigned short r;
    asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(r) : "f"(a), "f"(b));
    return r;
}
__device__ unsigned short pack_e5m2(float a, float b)
{
    unsigned short r;
    asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(r) : "f"(a), "f"(b));
    return r;
}
#define APPROXIMATE(NAME, OPERATION) \
    __device__ float NAME(float a) { float r; asm(OPERATION " %0, %1;" \
        : "=f"(r) : "f"(a)); return r; }
APPROXIMATE(approx_sin, "sin.approx.f32")
APPROXIMATE(approx_cos, "cos.approx.f32")
APPROXIMATE(approx_ex2, "ex2.approx.f32")
APPROXIMATE(approx_ex2_ftz, "ex2.approx.ftz.f32")
APPROXIMATE(approx_lg2, "lg2.approx.f32")
APPROXIMATE(approx_lg2_ftz, "lg2.approx.ftz.f32")
APPROXIMATE(approx_rcp, "rcp.approx.f32")
APPROXIMATE(approx_rcp_ftz, "rcp.approx.ftz.f32")
APPROXIMATE(approx_rsqrt, "rsqrt.approx.f32")
APPROXIMATE(approx_rsqrt_ftz, "rsqrt.approx.ftz.f32")
APPROXIMATE(approx_sqrt, "sqrt.approx.f32")
APPROXIMATE(approx_sqrt_ftz, "sqrt.approx.ftz.f32")
APPROXIMATE(approx_tanh, "tanh.approx.f32")
#define APPROXIMATE_D(NAME, OPERATION) \
    __device__ double NAME(double a) { double r; asm(OPERATION " %0, %1;" \
        : "=d"(r) : "d"(a)); return r; }
APPROXIMATE_D(approx_rcp_d, "rcp.approx.ftz.f64")
APPROXIMATE_D(approx_rsqrt_d, "rsqrt.approx.ftz.f64")
#define APPROXIMATE_T(NAME, OPERATION) \
    __device__ unsigned short NAME(unsigned short a) \
    { unsigned short r; asm(OPERATION " %0, %1;" : "=h"(r) : "h"(a)); return r; }
APPROXIMATE_T(approx_tanh_h, "tanh.approx.f16")
APPROXIMATE_T(approx_tanh_b, "tanh.approx.bf16")
APPROXIMATE_T(approx_ex2_h, "ex2.approx.f16")
APPROXIMATE_T(approx_ex2_b, "ex2.approx.ftz.bf16")
__device__ float approx_div(float a, float b) { float r;
    asm("div.approx.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
__device__ float full_div(float a, float b) { float r;
    asm("div.full.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
"""

_UNARY = """sinf cosf tanf expf exp2f exp10f expm1f logf log2f log10f log1pf sqrtf rsqrtf cbrtf
rcbrtf erff erfcf erfinvf
erfcinvf erfcxf normcdff normcdfinvf tgammaf lgammaf asinf acosf atanf sinhf coshf tanhf asinhf
acoshf atanhf sinpif cospif
j0f j1f y0f y1f cyl_bessel_i0f cyl_bessel_i1f ceilf floorf truncf roundf rintf logbf sine_of
cosine_of
sine_of_pi fraction_of rest_of"""
_INTRINSIC = """__expf __exp10f __logf __log2f __log10f __sinf __cosf __tanf __tanhf __saturatef
fast_sine_of
approx_sin approx_cos approx_ex2 approx_ex2_ftz approx_lg2 approx_lg2_ftz approx_rcp approx_rcp_ftz
approx_rsqrt
approx_rsqrt_ftz approx_sqrt approx_sqrt_ftz approx_tanh __frsqrt_rn"""
_ROUNDED = [f"__frcp_{r}" for r in ("rn", "rz", "ru", "rd")] + [
    f"__fsqrt_{r}" for r in ("rn", "rz", "ru", "rd")
]
_BINARY = """powf fmodf remainderf hypotf rhypotf atan2f fdividef fmaxf fminf fdimf copysignf
    nextafterf quotient_rest"""
_DOUBLE = """sin cos tan exp exp2 exp10 expm1 log log2 log10 log1p sqrt rsqrt cbrt erf erfc erfinv
normcdf tgamma lgamma asin
acos atan sinh cosh tanh asinh acosh atanh sinpi j0 rint round floor"""
_HALF = (
    "hexp hexp2 hexp10 hlog hlog2 hlog10 hsin hcos hsqrt hrsqrt "
    "hrcp hfloor hceil hrint htrunc htanh htanh_approx __habs __hneg"
)

_TEXT: dict[str, str] = {
    "float": "\n".join(
        [f"{n}: f -> f: {n}(a)" for n in _UNARY.split()]
        + [f"{n}: ff -> f: {n}(a, b)" for n in _BINARY.split()]
        + [
            "divide: ff -> f: a / b", "reciprocal: f -> f: 1.0f / a", "third: f -> f: a / 3.0f",
            "multiply_add: fff -> f: a * b + c", "add: ff -> f: a + b", "multiply: ff -> f: a * b",
            "fmaf: fff -> f: fmaf(a, b, "
                                                               "c)", "norm3df: fff -> f: "
                                                                     "norm3df(a, b, c)",
            "rnorm3df: fff -> f: rnorm3df(a, b, c)", "powf_moderate: FF -> f: powf(a, b)",
            "sinf_moderate: F -> f: sinf(a)", "cosf_moderate: F -> f: cosf(a)",
            "tanf_moderate: F -> f: tanf(a)", "expf_moderate: F -> f: expf(a)",
            "atan2f_moderate: FF -> f: atan2f(a, b)", "hypotf_moderate: FF -> f: hypotf(a, b)",
            "fmodf_moderate: FF -> f: fmodf(a, b)", "divide_moderate: FF -> f: a / b",
            "tgammaf_moderate: F -> f: tgammaf(a)", "lgammaf_moderate: F -> f: lgammaf(a)",
            "ldexpf: fi -> f: ldexpf(a, b % 300)", "exponent_of: f -> i: exponent_of(a)",
            "square_root_of_sum: FF -> f: sqrtf(a * a + b * b)", "sigmoid: F -> f: 1.0f / "
                                                                 "(1.0f + expf(-a))",
        ]
    ),
    "intrinsic": "\n".join(
        [f"{n}: f -> f: {n}(a)" for n in (*_INTRINSIC.split(), *_ROUNDED)]
        + [f"{n}_moderate: F -> f: {n}(a)" for n in _INTRINSIC.split()]
        + [f"__f{o}_{r}: ff -> f: __f{o}_{r}(a, b)" for o in ("add", "sub", "mul",
                "div") for r in ("rn", "rz", "ru", "rd")]
        + [f"__fmaf_{r}: fff -> f: __fmaf_{r}(a, b, c)" for r in ("rn", "rz", "ru", "rd")]
        + [f"{n}: ff -> f: {n}(a, b)" for n in ("__powf", "__fdividef", "approx_div", "full_div")]
        + [f"{n}_moderate: FF -> f: {n}(a, b)" for n in ("__powf", "__fdividef", "approx_div",
                "full_div")]
    ),
    "double": "\n".join(
        [f"{n}: d -> d: {n}(a)" for n in _DOUBLE.split()]
        + [f"{n}: dd -> d: {n}(a, b)" for n in ["pow", "fmod", "remainder", "hypot", "atan2",
                "fmax", "nextafter"]]
        + [f"__d{o}_{r}: dd -> d: __d{o}_{r}(a, b)" for o in ("add", "mul", "div") for r in ("rn",
                "rz", "ru", "rd")]
        + [f"__d{o}_{r}: d -> d: __d{o}_{r}(a)" for o in ("rcp", "sqrt") for r in ("rn", "rz", "ru",
                "rd")]
        + [f"__fma_{r}: ddd -> d: __fma_{r}(a, b, c)" for r in ("rn", "rz", "ru", "rd")]
        + ["divide: dd -> d: a / b", "multiply_add: ddd -> d: a * b + c", "sine_of: d -> d: "
                                                                          "sine_of(a)",
           "approx_rcp_d: d -> d: approx_rcp_d(a)", "approx_rsqrt_d: d -> d: approx_rsqrt_d(a)"]
    ),
    **{
        group: "\n".join(
            [f"{n}: {x} -> {x}: {n}(a)" for n in _HALF.split()]
            + [f"{n}: {x}{x} -> {x}: {n}(a, b)" for n in ["__hadd", "__hsub", "__hmul", "__hdiv",
                    "__hadd_sat", "__hmul_sat", "__hmax", "__hmin", "__hmax_nan"]]
            + [f"{n}: {x}{x}{x} -> {x}: {n}(a, b, c)" for n in ["__hfma", "__hfma_sat",
                    "__hfma_relu"]]
            + [f"{n}: {x}{x} -> i: {n}(a, b)" for n in ["__hlt", "__hge", "__heq", "__hneu",
                    "__hltu"]]
            + [f"{n}: {p}{p} -> {p}: {n}(a, b)" for n in ["__hadd2", "__hmul2", "__h2div",
                    "__hmax2", "__hmin2_nan", "__hgt2"]]
            + [f"{n}: {p} -> {p}: {n}(a)" for n in ["h2exp", "h2exp2", "h2log", "h2sin", "h2sqrt",
                    "h2rcp", "h2tanh", "h2tanh_approx"]]
            + [f"__hfma2: {p}{p}{p} -> {p}: __hfma2(a, b, c)", f"plain: {x}{x}{x} -> {x}: "
                                                               "a * b + c",
               f"tanh_ptx: t -> t: approx_tanh_{x}(a)", f"ex2_ptx: t -> t: approx_ex2_{x}(a)"]
        )
        for group, x, p in (("half", "h", "H"), ("bfloat16", "b", "B"))
    },
    "conversion": "\n".join(
        [f"__float2half_{r}: f -> h: __float2half_{r}(a)" for r in ("rn", "rz", "ru", "rd")]
        + [f"__float2bfloat16_{r}: f -> b: __float2bfloat16_{r}(a)" for r in ("rn", "rz", "ru",
                "rd")]
        + [f"__float2{i}_{r}: f -> {t}: __float2{i}_{r}(a)" for i,
            t in (("int", "i"), ("uint", "u"), ("ll", "l"), ("ull", "m"))
           for r in ("rn", "rz", "ru", "rd")]
        + [f"__double2{i}_{r}: d -> {t}: __double2{i}_{r}(a)" for i,
            t in (("int", "i"), ("uint", "u"), ("ll", "l"), ("ull", "m"), ("float", "f"))
           for r in ("rn", "rz", "ru", "rd")]
        + [f"__{i}2float_{r}: {t} -> f: __{i}2float_{r}(a)" for i,
            t in (("int", "i"), ("uint", "u"), ("ll", "l"), ("ull", "m"))
           for r in ("rn", "rz", "ru", "rd")]
        + [f"__{i}2double_{r}: {t} -> d: __{i}2double_{r}(a)" for i,
            t in (("ll", "l"), ("ull", "m")) for r in ("rn", "rz", "ru", "rd")]
        + [f"__{i}2half_{r}: {t} -> h: __{i}2half_{r}(a)" for i,
            t in (("int", "i"), ("uint", "u"), ("short", "s"), ("ll", "l"))
           for r in ("rn", "rz", "ru", "rd")]
        + [f"__half2{i}_{r}: h -> {t}: __half2{i}_{r}(a)" for i,
            t in (("int", "i"), ("uint", "u"), ("short", "s"), ("ushort", "t"), ("ll", "l"))
           for r in ("rn", "rz", "ru", "rd")]
        + [f"__bfloat162{i}_{r}: b -> {t}: __bfloat162{i}_{r}(a)" for i,
            t in (("int", "i"), ("uint", "u"), ("short", "s"), ("ll", "l"))
           for r in ("rn", "rz")]
        + [f"__{i}2bfloat16_{r}: {t} -> b: __{i}2bfloat16_{r}(a)" for i,
            t in (("int", "i"), ("uint", "u"), ("short", "s"), ("ll", "l"))
           for r in ("rn", "rz")]
        + [
            "__half2float: h -> f: __half2float(a)", "__bfloat162float: b -> f: "
                                                     "__bfloat162float(a)",
            "__double2half: d -> h: __double2half(a)", "__double2bfloat16: d -> b: "
                                                       "__double2bfloat16(a)",
            "float_to_uchar: f -> e: (unsigned char)a", "float_to_schar: f -> c: (signed char)a",
            "float_to_short: f -> s: (short)a", "float_to_ushort: f -> t: (unsigned short)a",
            "moderate_to_uchar: F -> e: "
                                                          "(unsigned char)a",
            "double_to_short: d -> s: (short)a", "to_tf32: f -> u: to_tf32(a)",
            "pack_e4m3: ff -> t: pack_e4m3(a, b)", "pack_e5m2: ff -> t: pack_e5m2(a, b)",
            "e4m3_sat: f -> e: __nv_cvt_float_to_fp8(a, __NV_SATFINITE, __NV_E4M3)",
            "e4m3_nosat: f -> e: __nv_cvt_float_to_fp8(a, __NV_NOSAT, __NV_E4M3)",
            "e5m2_sat: f -> e: __nv_cvt_float_to_fp8(a, __NV_SATFINITE, __NV_E5M2)",
            "e5m2_nosat: f -> e: __nv_cvt_float_to_fp8(a, __NV_NOSAT, __NV_E5M2)",
            "half_to_e4m3: h -> e: __nv_cvt_halfraw_to_fp8(a, __NV_SATFINITE, __NV_E4M3)",
            "bfloat16_to_e5m2: b -> e: __nv_cvt_bfloat16raw_to_fp8(a, __NV_SATFINITE, __NV_E5M2)",
            "e4m3_to_half: e -> t: __half_as_ushort(__half(__nv_cvt_fp8_to_halfraw(a, __NV_E4M3)))",
            "e5m2_to_half: e -> t: __half_as_ushort(__half(__nv_cvt_fp8_to_halfraw(a, __NV_E5M2)))",
            "e4m3_class: f -> e: __nv_fp8_e4m3(a).__x", "pairs_to_half2: ff -> H: "
                                                        "__floats2half2_rn(a, b)",
            "pairs_to_bfloat162: ff -> B: __floats2bfloat162_rn(a, b)",
        ]
    ),
    "integer": "\n".join(
        [f"{n}: ii -> i: {n}(a, b)" for n in ["__mulhi", "__mul24", "__hadd", "__rhadd", "min",
                "max"]]
        + [f"{n}: uu -> u: {n}(a, b)" for n in ["__umulhi", "__umul24", "__uhadd", "__urhadd"]]
        + ["abs: i -> i: abs(a)", "__mul64hi: ll -> l: __mul64hi(a, b)", "__umul64hi: mm -> m: "
                                                                         "__umul64hi(a, b)"]
        + [f"{n}: u -> {t}: {n}(a)" for n,
            t in (("__brev", "u"), ("__clz", "i"), ("__ffs", "i"), ("__popc", "i"))]
        + [f"{n}: m -> {t}: {n}(a)" for n,
            t in (("__brevll", "m"), ("__clzll", "i"), ("__ffsll", "i"), ("__popcll", "i"))]
        + [f"{n}: uuu -> u: {n}(a, b, c)" for n in ["__byte_perm", "__funnelshift_l",
                "__funnelshift_r", "__funnelshift_lc", "__funnelshift_rc", "__usad"]]
        + ["__sad: iiu -> u: __sad(a, b, c)", "__dp4a: iii -> i: __dp4a(a, b, c)",
            "__dp4a_u: uuu -> u: __dp4a(a, b, c)",
           "__dp2a_lo: iii -> i: __dp2a_lo(a, b, c)", "__dp2a_hi_u: uuu -> u: __dp2a_hi(a, b, c)",
           "fns: uu -> i: __fns(a, b & 31, (int)(b >> 8) % 20)"]
        + [f"{n}: uu -> u: {n}(a, b)" for n in ["__vabsdiffu4", "__vabsdiffs4", "__vabsdiffu2",
                "__vabsdiffs2", "__vadd4", "__vsub4", "__vadd2", "__vsub2", "__vaddss4",
                "__vaddus4", "__vsubss2", "__vsubus4", "__vmaxs4", "__vmaxu2", "__vminu2",
                "__vmins4", "__vcmpgtu4", "__vcmples2", "__vseteq4", "__vsetgts2", "__vsads4",
                "__vsadu4", "__vsadu2", "__vavgu4", "__vavgs2", "__vhaddu4"]]
        + [f"{n}: u -> u: {n}(a)" for n in ["__vabs4", "__vabsss2", "__vneg4", "__vnegss2",
                "__vabs2"]]
        + [f"{n}: iii -> i: {n}(a, b, c)" for n in ["__viaddmax_s32", "__viaddmin_s32_relu",
                "__vimax3_s32", "__vimin3_s32_relu"]]
        + [f"{n}: uuu -> u: {n}(a, b, c)" for n in ["__vimax3_s16x2", "__viaddmax_u16x2",
                "__viaddmin_s16x2_relu", "__vimin3_u32"]]
        + ["divide: ii -> i: b == 0 || b == -1 ? 0 : a / b", "modulo: ii -> i: b == 0 || b == "
                                                             "-1 ? 0 : a % b",
           "divide_u: uu -> u: b == 0 ? 0 : a / b", "modulo_u: uu -> u: b == 0 ? 0 : a % b",
           "divide_l: ll -> l: b == 0 || b == -1 ? 0 : a / b", "modulo_m: mm -> m: b == 0 ? 0 : "
                                                               "a % b",
           "seventh: i -> i: a / 7", "tenth: u -> u: a % 10", "shift: iu -> i: a "
                                                              ">> (b & 31)", "rotate: uu -> u: (a "
                                                                             "<< (b & 31)) | (a >> "
                                                                             "(-b & 31))",
           "multiply: ll -> l: (long long)((unsigned long long)a * (unsigned long long)b)",
           "wide: ii -> l: (long long)a * b",
           "bits: uu -> u: (a >> (b & 31)) & ((1u << (b >> 27)) - 1)", "logic: uuu -> u: (a & "
                                                                       "b) ^ (~c | a)"]
    ),
    "atomic": "\n".join(
        f"{n}_{name}: {x}{x} -> {x}: {call}"
        for name, x in (("float", "f"), ("double", "d"), ("half", "h"), ("half2", "H"), ("bfloat16",
                "b"), ("bfloat162", "B"))
        for n, call in (("global", "added_to(y + i, a, b)"), ("returned", "added_old(y + i, a, b)"),
            ("shared", "added_shared(a, b)"))
        if not (n == "returned" and x in "HB")
    ),
}  # fmt: skip


def _rows(group: str, text: str, options: tuple[str, ...] = ()) -> tuple[Row, ...]:
    rows = []
    for line in text.splitlines():
        name, types, expression = (part.strip() for part in line.split(": ", 2))
        given, result = (part.strip() for part in types.split("->"))
        rows.append(Row(group, name, given, result, expression, options))
    return tuple(rows)


GROUPS: dict[str, tuple[Row, ...]] = {group: _rows(group, text) for group, text in _TEXT.items()}
GROUPS["float_fast"] = _rows("float_fast", _TEXT["float"], ("-use_fast_math",))


def _rows_of_instructions(group: str) -> Iterator[Row]:
    for name, given, result, ptx in instructions.GROUPS[group]():
        function = re.sub(r"\W", "_", name)
        call = f"{function}({', '.join('abc'[: len(given)])})"
        yield Row(group, function, given, result, call, (), ptx)


for _group in instructions.GROUPS:
    GROUPS[_group] = tuple(_rows_of_instructions(_group))


def type_of(row: Row, letter: str) -> str:
    """The type in CUDA; PTX takes halves by their bits."""
    of_bits = {"h": "unsigned short", "b": "unsigned short", "H": "unsigned", "B": "unsigned"}
    return of_bits.get(letter, TYPES[letter][0]) if row.ptx else TYPES[letter][0]


def _register(letter: str) -> str:
    """The letter of inline assembly for a type's register."""
    of_size = {2: "h", 4: "r", 8: "l"}
    return letter if letter in "fd" else of_size[np.dtype(TYPES[letter][1]).itemsize]


def _assembly(row: Row) -> str:
    """A function of a row's instructions."""
    operands = list(zip("abc", row.operands, strict=False))
    given = ", ".join(f"{type_of(row, t)} {name}" for name, t in operands)
    read = ", ".join(f'"{_register(t)}"({name})' for name, t in operands)
    asm = f'asm("{{ {row.ptx}; }}" : "={_register(row.result)}"(y) : {read});'
    kind = type_of(row, row.result)
    return f"__device__ {kind} {row.name}({given}) {{ {kind} y; {asm} return y; }}"


def source(group: str) -> str:
    """A .cu file with the kernels of a group."""
    kernels = []
    for row in GROUPS[group]:
        given = "".join(f", const {type_of(row, t)}* p{k}" for k, t in enumerate(row.operands))
        loads = " ".join(
            f"const {type_of(row, t)} {'abc'[k]} = p{k}[i];" for k, t in enumerate(row.operands)
        )
        if row.ptx:
            kernels.append(_assembly(row))
        kernels.append(
            f'extern "C" __global__ void {row.kernel}({type_of(row, row.result)}* y, '
            f'int n{given})\n{{\n'
            "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if "
            f"(i >= n) return;\n    {loads}\n"
            f"    y[i] = {row.expression};\n}}\n"
        )
    return ("" if GROUPS[group][0].ptx else PRELUDE) + "\n" + "\n".join(kernels)


# --------------------------------------------------------------------------------------------------
# Operands


def _raw(count: int, seed: int) -> np.ndarray:
    return np.random.PCG64(seed).random_raw(count)


# Bits, exponent, fraction.
_FORMATS = {
    "f": (32, 8, 23),
    "F": (32, 8, 23),
    "d": (64, 11, 52),
    "h": (16, 5, 10),
    "b": (16, 8, 7),
}
_VALUES = (
    0, 1, 2, 3, 0.5, 0.25, 1.5, 2.5, 0.1, 10, 100, 1e-3, 0.9999999, 1.0000001, 3.1415927, 1.5707964,
    0.7853982, 6.2831855, 88.72, 88.73, 89.5, 87.34, 103.9, 104.1, 127.99, 128, 149.5, 38.53, 44.9,
    0.7071068, 0.6931472, 1e4, 65504, 65520, 65536, 105615, 39000, 1e7, 16777216, 2147483647,
    2147483648, 4294967295, 4294967296, 9.2e18, 1.9e19, 1e-10, 1e-20, 33.5, 35.1, 171.6, 709.78,
    709.79, 745.2, 1e15, 4503599627370497, 448, 464, 57344, 61440, 240, 0.001953125, 0.0009765,
    0.015625,
)  # fmt: skip


def _narrowed(values: np.ndarray, kind: str) -> np.ndarray:
    """The bits of doubles in a format, cut."""
    if kind in "fF":
        return values.astype(np.float32).view(np.uint32)
    if kind == "d":
        return values.astype(np.float64).view(np.uint64)
    if kind == "h":
        return values.astype(np.float16).view(np.uint16)
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def specials(kind: str) -> np.ndarray:
    """Zeros, infinities, NaNs, subnormals, extremes and values where functions turn, of both signs.
    """
    width, exponent, fraction = _FORMATS[kind]
    one, top = 1 << fraction, ((1 << exponent) - 1) << fraction
    edges = [
        0,
        1,
        2,
        one - 1,
        one,
        one + 1,
        one // 2,
        one // 3,
        top - 1,
        top,
        top + one // 2,
        top + 1,
        top + one - 1,
        top + one // 2 + 5,
    ]
    with np.errstate(over="ignore", under="ignore"):
        near = _narrowed(np.array(_VALUES, np.float64), kind)
    both = np.concatenate([np.array(edges, np.uint64), near.astype(np.uint64)])
    both = np.concatenate([both, both | np.uint64(1 << (width - 1))])
    return np.unique(both).astype(TYPES[kind][1])


def _floating(kind: str, seed: int) -> np.ndarray:
    """Cells: anything at all, and values of moderate size."""
    width = _FORMATS[kind][0]
    dtype = TYPES[kind][1]
    raw = _raw(CELLS, seed)
    anything = (raw >> np.uint64(64 - width)).astype(dtype)
    fraction = (_raw(CELLS, seed + 100) >> np.uint64(11)) * 2.0**-53
    with np.errstate(over="ignore", under="ignore"):
        spans = [_narrowed((fraction * 2 - 1) * span, kind) for span in (1, 10, 100, 1000)]
        logarithmic = _narrowed(
            np.exp2(np.floor(fraction * 60) - 30) * (1 + np.modf(fraction * 60)[0]), kind
        )
    which = np.arange(CELLS) % 6
    return np.choose(which, [anything, *spans, logarithmic]).astype(dtype)


def _integer(kind: str, seed: int) -> np.ndarray:
    dtype = TYPES[kind][1]
    width = 8 * np.dtype(dtype).itemsize
    raw = _raw(CELLS, seed)
    # Of every magnitude.
    shifted = raw >> (np.uint64(64 - width) + (_raw(CELLS, seed + 100) % np.uint64(width)))
    anything = raw >> np.uint64(64 - width)
    negative = ~shifted
    return np.choose(np.arange(CELLS) % 3, [anything, shifted, negative]).astype(dtype)


def _integer_specials(kind: str) -> np.ndarray:
    dtype = TYPES[kind][1]
    width = 8 * np.dtype(dtype).itemsize
    powers = [1 << k for k in range(0, width, max(1, width // 8))] + [1 << (width - 1)]
    some = [
        0,
        3,
        5,
        7,
        10,
        0x7F7F7F7F7F7F7F7F,
        0x8080808080808080,
        0x80017FFF00FF0100,
        0xFFFFFFFFFFFFFFFF,
    ]
    cells = [*some, *powers, *(p - 1 for p in powers), *((1 << width) - p for p in powers)]
    return np.unique(np.array([c % (1 << width) for c in cells], np.uint64)).astype(dtype)


def operands(row: Row) -> list[np.ndarray]:
    """`CELLS` cells of bits for each operand (half as many pairs). First the specials, with each
    other where there are several.
    """
    made = []
    for k, letter in enumerate(row.operands):
        kind = {"H": "h", "B": "b"}.get(letter, letter)
        if kind == "e" or (kind == "t" and row.group in ("half", "bfloat16")):
            every = 1 << (8 * np.dtype(TYPES[kind][1]).itemsize)
            made.append(
                (np.arange(CELLS) * (every // min(every, CELLS)) % every).astype(TYPES[kind][1])
            )
            continue
        floating = kind in _FORMATS
        cells = _floating(kind, 11 + k) if floating else _integer(kind, 11 + k)
        if kind == "F":
            cells = floats_of((_raw(CELLS, 31 + k) >> np.uint64(40)) * 2.0**-17 - 64)
            cells[::2] = floats_of(((_raw(CELLS, 41 + k) >> np.uint64(40)) * 2.0**-22 - 2)[::2])
            made.append(cells)
            continue
        special = specials(kind) if floating else _integer_specials(kind)
        count = len(special)
        if len(row.operands) == 1:
            cells[:count] = special
        else:  # pairs of every special with a few dozen others
            index = np.arange(CELLS // 2)
            chosen = [
                index % count,
                (index * 7 + index // count) % count,
                (index * 5 + index // 3) % count,
            ][k]
            cells[: CELLS // 2] = special[chosen]
        made.append(cells.view(TYPES[letter][1]))
    return made


def floats_of(values: np.ndarray) -> np.ndarray:
    return values.astype(np.float32).view(np.uint32)


def cells_of(row: Row) -> int:
    return CELLS // 2 if row.operands[0] in "HB" else CELLS


assert all(re.fullmatch(r"\w+", row.name) for rows in GROUPS.values() for row in rows)
