"""Standard headers for the run-time compiler: the names that nvcc gives to every source beside
CUDA's own.

The run-time compiler has no host headers. This module has only the names that a kernel can use:
types, limits, constants, and functions of the device. A source that needs more goes to nvcc, which
reads the host's own headers. Types are those of 64-bit Linux.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from . import toolkit

_EXACT = "".join(
    f"typedef {sign} {word} {prefix}int{bits}_t;\n"
    for bits, word in ((8, "char"), (16, "short"), (32, "int"), (64, "long"))
    for sign, prefix in (("signed", ""), ("unsigned", "u_"))
)
# The spelling is that of <cuda/std/climits>, which defines these macros again.
_LIMITS = """
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define CHAR_MIN SCHAR_MIN
#define CHAR_MAX SCHAR_MAX
#define SHRT_MIN (-SHRT_MAX - 1)
#define SHRT_MAX 0x7fff
#define USHRT_MAX 0xffff
#define INT_MIN (-INT_MAX - 1)
#define INT_MAX 0x7fffffff
#define UINT_MAX 0xffffffff
#define LONG_MIN (-LONG_MAX - 1)
#define LONG_MAX LLONG_MAX
#define ULONG_MAX ULLONG_MAX
#define LLONG_MIN (-LLONG_MAX - 1)
#define LLONG_MAX 0x7fffffffffffffffLL
#define ULLONG_MAX 0xffffffffffffffffUL
"""
_NUMBERS = """
#define HUGE_VAL (__longlong_as_double(0x7ff0000000000000ULL))
#define HUGE_VALF (__int_as_float(0x7f800000))
#define INFINITY (__int_as_float(0x7f800000))
#define NAN (__int_as_float(0x7fc00000))
#define FP_NAN 0
#define FP_INFINITE 1
#define FP_ZERO 2
#define FP_SUBNORMAL 3
#define FP_NORMAL 4
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#define RAND_MAX 2147483647
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
"""
# Functions of one argument only: the host's headers convert two arguments by rules of their own.
_FUNCTIONS = (
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "erf",
    "erfc", "exp", "exp2", "expm1", "fabs", "floor", "isfinite", "isinf", "isnan", "lgamma", "log",
    "log10", "log1p", "log2", "nearbyint", "rint", "round", "sin", "sinh", "sqrt", "tan", "tanh",
    "tgamma", "trunc",
)
PRELUDE = (
    "#define _CG_LIMIT_INCLUDED_DEPENDENCIES 1\n"
    f"{_EXACT}typedef long ssize_t;\ntypedef unsigned char u_char;\n"
    f"typedef unsigned short ushort;\ntypedef unsigned int uint;\ntypedef unsigned long ulong;\n"
    f"{_LIMITS}{_NUMBERS}"
    "namespace std { using ::size_t; using ::ptrdiff_t; "
    + " ".join(f"using ::{name};" for name in _FUNCTIONS)
    + " }\n"
)

_INTEGERS = """#pragma once
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef signed char int_least8_t, int_fast8_t;
typedef unsigned char uint_least8_t, uint_fast8_t;
typedef short int_least16_t;
typedef unsigned short uint_least16_t;
typedef int int_least32_t;
typedef unsigned int uint_least32_t;
typedef long int_least64_t, int_fast16_t, int_fast32_t, int_fast64_t, intptr_t, intmax_t;
typedef unsigned long uint_least64_t, uint_fast16_t, uint_fast32_t, uint_fast64_t;
typedef unsigned long uintptr_t, uintmax_t;
#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT16_MIN (-32768)
#define INT16_MAX 32767
#define UINT16_MAX 65535
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295U
#define INT64_MIN (-9223372036854775807L - 1L)
#define INT64_MAX 9223372036854775807L
#define UINT64_MAX 18446744073709551615UL
#define INTPTR_MIN INT64_MIN
#define INTPTR_MAX INT64_MAX
#define UINTPTR_MAX UINT64_MAX
#define INTMAX_MIN INT64_MIN
#define INTMAX_MAX INT64_MAX
#define UINTMAX_MAX UINT64_MAX
#define PTRDIFF_MIN INT64_MIN
#define PTRDIFF_MAX INT64_MAX
#define SIZE_MAX UINT64_MAX
#define INT8_C(value) value
#define UINT8_C(value) value
#define INT16_C(value) value
#define UINT16_C(value) value
#define INT32_C(value) value
#define UINT32_C(value) value##U
#define INT64_C(value) value##L
#define UINT64_C(value) value##UL
"""
_INTEGER_NAMES = [
    f"{sign}int{kind}{bits}_t"
    for sign in ("", "u")
    for kind in ("", "_least", "_fast")
    for bits in (8, 16, 32, 64)
] + ["intptr_t", "uintptr_t", "intmax_t", "uintmax_t"]
_STD_INTEGERS = (
    "#pragma once\n#include <stdint.h>\nnamespace std { "
    + " ".join(f"using ::{n};" for n in _INTEGER_NAMES)
    + " }\n"
)
_FLOATS = """#pragma once
#define FLT_RADIX 2
#define FLT_MANT_DIG 24
#define FLT_DIG 6
#define FLT_DECIMAL_DIG 9
#define FLT_MIN_EXP (-125)
#define FLT_MAX_EXP 128
#define FLT_MIN_10_EXP (-37)
#define FLT_MAX_10_EXP 38
#define FLT_MAX 3.40282346638528859811704183484516925e+38F
#define FLT_MIN 1.17549435082228750796873653722224568e-38F
#define FLT_EPSILON 1.19209289550781250000000000000000000e-7F
#define FLT_TRUE_MIN 1.40129846432481707092372958328991613e-45F
#define DBL_MANT_DIG 53
#define DBL_DIG 15
#define DBL_DECIMAL_DIG 17
#define DBL_MIN_EXP (-1021)
#define DBL_MAX_EXP 1024
#define DBL_MIN_10_EXP (-307)
#define DBL_MAX_10_EXP 308
#define DBL_MAX 1.79769313486231570814527423731704357e+308
#define DBL_MIN 2.22507385850720138309023271733240406e-308
#define DBL_EPSILON 2.22044604925031308084726333618164062e-16
#define DBL_TRUE_MIN 4.94065645841246544176568792868221372e-324
"""
# nvcc's own headers include these already, so that nothing is left to declare.
_NOTHING = "#pragma once\n"
_EMPTY = (
    "limits.h", "climits", "math.h", "cmath", "stdio.h", "cstdio",
    "stdlib.h", "cstdlib", "stddef.h", "cstddef", "string.h", "cstring", "time.h", "ctime",
    "stdbool.h", "cstdbool", "sys/types.h", "new",
)
# Each #include of the header decides anew whether assertions are checked.
_ASSERT = "#ifdef NDEBUG\n#undef assert\n#define assert(condition) ((void) 0)\n#endif\n"
# Programs mark ranges for NVIDIA's profilers by these headers. Here the marks have no effect.
_RANGES = """#pragma once
#define HALO_NO_EFFECT(result, call, value) __host__ static inline result call { return value; }
typedef unsigned long long nvtxRangeId_t;
HALO_NO_EFFECT(int, nvtxRangePushA(const char*), 0)
HALO_NO_EFFECT(int, nvtxRangePop(), 0)
HALO_NO_EFFECT(nvtxRangeId_t, nvtxRangeStartA(const char*), 0)
HALO_NO_EFFECT(void, nvtxRangeEnd(nvtxRangeId_t), (void) 0)
HALO_NO_EFFECT(void, nvtxMarkA(const char*), (void) 0)
#undef HALO_NO_EFFECT
#define nvtxRangePush nvtxRangePushA
#define nvtxRangeStart nvtxRangeStartA
#define nvtxMark nvtxMarkA
"""
_SCOPED_RANGES = """#pragma once
#include <nvtx3/nvToolsExt.h>
namespace nvtx3 {
struct scoped_range { template <class... T> __host__ explicit scoped_range(const T&...) {} };
template <class... T> __host__ void mark(const T&...) {}
}
#define NVTX3_FUNC_RANGE()
"""
_PROFILER = """#pragma once
#ifndef __CUDACC_RTC__
#include <cuda_runtime_api.h>
__host__ static inline cudaError_t cudaProfilerStart() { return cudaSuccess; }
__host__ static inline cudaError_t cudaProfilerStop() { return cudaSuccess; }
#endif
"""
_TOOLS = {
    "nvToolsExt.h": _RANGES,
    "nvtx3/nvToolsExt.h": _RANGES,
    "nvtx3/nvtx3.hpp": _SCOPED_RANGES,
    "cuda_profiler_api.h": _PROFILER,
    "cudaProfiler.h": _PROFILER,
}
_OWN = {
    **_TOOLS,
    "assert.h": _ASSERT,
    "cassert": _ASSERT,
    "stdint.h": _INTEGERS,
    "cstdint": _STD_INTEGERS,
    "inttypes.h": "#pragma once\n#include <stdint.h>\n",
    "float.h": _FLOATS,
    "cfloat": "#pragma once\n#include <float.h>\n",
    **dict.fromkeys(_EMPTY, _NOTHING),
}
# Headers of CUDA have other types and constants for the run-time compiler than for nvcc: a
# 64-bit integer has another type, so that a kernel would get another name. The changes below make
# these headers take the types above, as they take the host's types under nvcc.
_CHANGES = (
    ("cuda/std/cstdint", "#if !_CCCL_COMPILER(NVRTC)\n", "#include <cuda/std/climits>\n#if 1\n"),
    (
        "cuda/std/detail/libcxx/include/cmath",
        "#if _CCCL_COMPILER(NVRTC)\n#  define INFINITY",
        "#if 0\n#  define INFINITY",
    ),
    (
        "cuda_pipeline_helpers.h",
        "# if defined(__CUDACC_RTC__)\ntypedef unsigned int ",
        "# if 0\ntypedef unsigned int ",
    ),
    (
        "cuda_awbarrier_helpers.h",
        "#if defined(__CUDACC_RTC__)\ntypedef unsigned short ",
        "#if 0\ntypedef unsigned short ",
    ),
)


@cache
def headers() -> dict[str, str]:
    """Return the texts of headers by the name in angle brackets. Raises
    toolkit.ToolkitMissingError.
    """
    changed = {}
    for name, old, new in _CHANGES:
        for folder in toolkit.include_directories():
            if (folder / name).is_file():
                text = (folder / name).read_text(encoding="utf-8")
                changed[name] = text.replace(old, new)
                break
    return {**_OWN, **changed}


def write_tools(folder: Path) -> list[str]:
    """Write the headers of NVIDIA's tools that are not installed into a folder for nvcc. Returns
    its options.
    """
    there = toolkit.include_directories()
    for name, text in _TOOLS.items():
        if not any((one / name).is_file() for one in there):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    return ["-isystem", str(folder)] if folder.is_dir() else []
