"""nvcc's own front end, cicc, without nvcc: it writes the PTX that PyCUDA's SourceModule gets.

NVRTC and cicc write different PTX for one source. cicc addresses shared memory by 32-bit pointers
and NVRTC by 64-bit ones, so that ptxas joins other loads. So counters and registers follow cicc.

nvcc has a host compiler preprocess the source with all of the host's headers. Here cicc
preprocesses the text that NVRTC reads, and CUDA's headers find the few names of the host's headers
that they need in `_PRELUDE`. That needs no host compiler and takes 0.15 s. After `_PRELUDE` the
headers of CUDA behave as they do for NVRTC.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from ..ptx.rows import BUILTINS
from . import servers, standard_headers, toolkit
from .compiler_options import Options
from .toolchain import CompileFailed

# Functions of <cmath> that CUDA's headers expect to find in the namespace std.
_ONE_ARGUMENT = (
    "acos", "asin", "atan", "ceil", "cos", "cosh", "exp", "fabs", "floor", "log", "log10", "sin",
    "sinh", "sqrt", "tan", "tanh",
)  # fmt: skip
_MORE_ARGUMENTS = {
    "atan2": ("{0} x, {0} y", "x, y"), "fmod": ("{0} x, {0} y", "x, y"),
    "pow": ("{0} x, {0} y", "x, y"), "modf": ("{0} x, {0}* y", "x, y"),
    "frexp": ("{0} x, int* y", "x, y"), "ldexp": ("{0} x, int y", "x, y"),
}  # fmt: skip


def _cmath() -> str:
    """Return a <cmath> whose functions of float call those of C."""
    functions = {name: ("{0} x", "x") for name in _ONE_ARGUMENT} | _MORE_ARGUMENTS
    lines = []
    for name, (parameters, arguments) in functions.items():
        of_double, of_float = parameters.format("double"), parameters.format("float")
        lines.append(
            f'extern "C" double {name}({of_double}) throw();\n'
            f'extern "C" float {name}f({of_float}) throw();\n'
            f"namespace std {{ using ::{name};\n"
            f"inline constexpr float {name}({of_float}) {{ return ::{name}f({arguments}); }} }}\n"
        )
    for kind, of_c in (("int", "abs"), ("long", "labs"), ("long long", "llabs")):
        lines.append(f'extern "C" {kind} {of_c}({kind} x) throw();\n')
    lines.append("namespace std { using ::abs;\n")
    for kind, of_c in (
        ("long", "labs"), ("long long", "llabs"), ("float", "fabsf"), ("double", "fabs"),
    ):  # fmt: skip
        lines.append(f"inline constexpr {kind} abs({kind} x) {{ return ::{of_c}(x); }}\n")
    return "".join([*lines, "}\n"])


# CUDA's headers take this for the host's compiler: gcc on 64-bit Linux.
_HOST = {
    "__GNUC__": "12", "__GNUC_MINOR__": "2", "__NVCC__": "1", "__CHAR_BIT__": "8",
    "__NV_NO_HOST_COMPILER_CHECK": "1", "CUDA_DOUBLE_MATH_FUNCTIONS": "1",
}  # fmt: skip
_HOST_HEADER = """#pragma once
#define __THROW throw()
#define __GNUC_PREREQ(major, minor) 1
#define __GLIBC_PREREQ(major, minor) 1
#define __GLIBC_USE_ISOC23 0
"""
# Names of the namespace std that NVRTC's parser knows without a header.
_OF_THE_LANGUAGE = """namespace std {
template <class T> struct __halo_plain { typedef T type; };
template <class T> struct __halo_plain<T&> { typedef T type; };
template <class T> struct __halo_plain<T&&> { typedef T type; };
template <class T> __host__ __device__ constexpr typename __halo_plain<T>::type&& move(T&& value)
{ return static_cast<typename __halo_plain<T>::type&&>(value); }
template <class T>
__host__ __device__ constexpr T&& forward(typename __halo_plain<T>::type& value)
{ return static_cast<T&&>(value); }
template <class T>
__host__ __device__ constexpr T&& forward(typename __halo_plain<T>::type&& value)
{ return static_cast<T&&>(value); }
template <class T> class initializer_list {
    const T* first; size_t count;
    __host__ __device__ constexpr initializer_list(const T* values, size_t size)
        : first(values), count(size) {}
public:
    typedef T value_type; typedef const T& reference; typedef const T& const_reference;
    typedef size_t size_type; typedef const T* iterator; typedef const T* const_iterator;
    __host__ __device__ constexpr initializer_list() noexcept : first(0), count(0) {}
    __host__ __device__ constexpr size_t size() const noexcept { return count; }
    __host__ __device__ constexpr const T* begin() const noexcept { return first; }
    __host__ __device__ constexpr const T* end() const noexcept { return first + count; }
};
}
"""
_PRELUDE = "".join(
    [
        *(f"#define {name} {value}\n" for name, value in _HOST.items()),
        "typedef unsigned long size_t;\ntypedef long ptrdiff_t;\n"
        "typedef long clock_t;\ntypedef long long time_t;\n#define NULL 0\n"
        "namespace std { using ::size_t; using ::ptrdiff_t; }\n",
        "namespace __gnu_cxx {\n"
        "template <class A, class B> struct __promote_2 { typedef double __type; };\n"
        "template <> struct __promote_2<float, float> { typedef float __type; };\n}\n",
        _cmath(),
        "#include <cuda_runtime.h>\n",
        _OF_THE_LANGUAGE,
        "#define assert(condition) ((condition) ? (void) 0 : "
        "__assert_fail(#condition, __FILE__, __LINE__, __PRETTY_FUNCTION__))\n",
        *(f"#undef {name}\n" for name in _HOST),
        "#define __CUDACC_RTC__ 1\n#include <nv/target>\n",
        # An empty file: a server goes on with a request where cicc opens it (servers.py).
        '#include "halo_gate.h"\n',
    ]
)
# Headers of the host that CUDA's include, beside those that a source may include.
_EMPTY = ("ctype.h", "cstdarg", "utility", "functional")
# Headers whose functions are built into NVRTC, so that they leave them out where they see it.
_BUILT_IN = ("cuda_fp16.h", "cuda_bf16.h")
_SEES_NVRTC = "(defined(__CUDACC_RTC__) && ((__CUDACC_VER_MAJOR__ >"
# Headers of CUDA that include a changed one by its name in quotes. They must lie beside it, because
# the compiler looks there first.
_BESIDE_CHANGED = (
    "cuda_pipeline.h", "cuda_pipeline_primitives.h", "cuda_awbarrier.h",
    "cuda_awbarrier_primitives.h", "cuda_fp8.h", "cuda_fp6.h", "cuda_fp4.h",
)  # fmt: skip
# cicc expects a preprocessed text and defines no macros itself. `{}` is the architecture's number.
_MACROS = {
    "__CUDACC__": "1", "__LP64__": "1", "__x86_64__": "1", "__linux__": "1",
    "__CUDA_API_VER_MAJOR__": "13", "__CUDA_API_VER_MINOR__": "0",
    "__CUDACC_VER_MAJOR__": "13", "__CUDACC_VER_MINOR__": "0",
    "__NVCC_DIAG_PRAGMA_SUPPORT__": "1", "__CUDACC_DEVICE_ATOMIC_BUILTINS__": "1",
    "__CUDA_ARCH__": "{}0", "__CUDA_ARCH_LIST__": "{}0", "__LINE__": "0",
}  # fmt: skip
_SPECIFIC = {
    "__CUDA_ARCH_FEAT_SM{}_ALL": "1", "__CUDA_ARCH_SPECIFIC__": "{}0",
    "__CUDA_ARCH_FAMILY_SPECIFIC__": "{}0",
}  # fmt: skip
# What each standard of C++ adds: the macros by which CUDA's headers know it, as NVRTC has them.
_STANDARDS = {
    "c++11": {
        "__cplusplus": "201103L", "__EDG__": "1", "__EDG_VERSION__": "606",
        "__cpp_rtti": "199711L",
    },
    "c++14": {
        "__cplusplus": "201402L", "__cpp_sized_deallocation": "201309L",
        "__cpp_variable_templates": "201304L",
    },
    "c++17": {
        "__cplusplus": "201703L", "__cpp_aligned_new": "201606L",
        "__STDCPP_DEFAULT_NEW_ALIGNMENT__": "16ul", "__cpp_deduction_guides": "201703L",
        "__cpp_fold_expressions": "201603L", "__cpp_if_constexpr": "201606L",
        "__cpp_inline_variables": "201606L", "__cpp_noexcept_function_type": "201510L",
        "__cpp_nontype_template_parameter_auto": "201606L",
    },
    "c++20": {
        "__cplusplus": "202002L", "__cpp_deduction_guides": "201907L",
        "__cpp_char8_t": "201811L", "__cpp_concepts": "202002L",
        "__cpp_constexpr_dynamic_alloc": "201907L",
        "__cpp_impl_destroying_delete": "201806L",
        "__cpp_impl_three_way_comparison": "201907L",
    },
}  # fmt: skip
_USUAL = "c++17"
# Options of cicc by those of nvcc.
_SWITCHES = {
    "--restrict": "-kernel-params-are-restrict",
    "--extra-device-vectorization": "-extra-device-vectorization",
    "--extended-lambda": "--extended-lambda",
    "--expt-extended-lambda": "--extended-lambda",
    "--relaxed-constexpr": "--relaxed_constexpr",
    "--expt-relaxed-constexpr": "--relaxed_constexpr",
}
_FAST = ("-fast-math", "--gen_div_approx_ftz")


_EXTERN = re.compile(r"^\.extern \.func\b[^;]*?([\w$]+)\s*(?:\([^()]*\))?\s*;", re.MULTILINE)


class NotAvailable(Exception):
    """cicc cannot be had here; the message says what is missing."""


def fingerprint() -> str:
    """Return everything that decides the PTX beside the text and its options."""
    return repr((_PRELUDE, _HOST_HEADER, _MACROS, _SPECIFIC, _STANDARDS, _SWITCHES, _BUILT_IN))


def require() -> None:
    """Raise NotAvailable if cicc is not installed."""
    if toolkit.front_end() is None:
        raise NotAvailable(
            "nvcc's front end, cicc, is not installed: "
            + toolkit.install_command("nvidia-nvvm")
        )


def translate(text: str, file: str, folders: tuple[Path, ...], options: Options) -> str:
    """Return the PTX of a text as NVRTC reads it. file: the source's name; folders: those in which
    the compiler looks for a source's includes.

    Raises NotAvailable, and CompileFailed if cicc refuses the text.
    """
    ptx = _run(text, file, folders, options)
    # A function that a header of CUDA leaves to NVRTC would have no code.
    if missing := set(_EXTERN.findall(ptx)) - set(BUILTINS):
        raise CompileFailed(f"{file}: there is no code of {', '.join(sorted(missing))}")
    return ptx


def require_syntax(text: str, file: str, folders: tuple[Path, ...], options: Options) -> None:
    """Raise as `translate` does for a text that cicc refuses."""
    _run(text, file, folders, options)


@dataclass(frozen=True)
class _Call:
    """A call of cicc. file, folders: as of `translate`; flags: its options."""

    source: ClassVar[str] = "source/text.ii"
    gate: ClassVar[str] = "headers/halo_gate.h"
    result: ClassVar[str] = "text.ptx"
    file: str
    folders: tuple[Path, ...]
    flags: tuple[str, ...]

    def command(self, folder: Path) -> list[str]:
        headers = folder / "headers"
        (folder / "source").mkdir()
        _write_headers(headers)
        includes = (*self.folders, headers, *toolkit.include_directories())
        return [
            str(toolkit.front_end()), *self.flags, *(f"-I{path}" for path in includes),
            f'-D__FILE__="{self.file}"', "--preinclude", str(headers / "halo_prelude.h"),
            "--orig_src_file_name", self.file, "--orig_src_path_name", self.file,
            "--include_file_name", "text.fatbin.c", "--gen_module_id_file",
            "--module_id_file_name", str(folder / "module_id"),
            str(folder / self.source), "-o", str(folder / self.result),
        ]  # fmt: skip


def _run(text: str, file: str, folders: tuple[Path, ...], options: Options) -> str:
    """Return the PTX of a text, "" if cicc writes none."""
    require()
    done = _servers.run(_Call(file, folders, tuple(_flags(options))), text)
    if done.status:
        raise CompileFailed(done.said.strip())
    return done.result.decode(errors="replace")


# A server has read CUDA's headers.
_servers = servers.Servers()


def _build() -> str:
    """Return the last part of the compiler's version, "88" of "13.0.88"."""
    last = toolkit.version().rpartition(".")[2]
    return last if last.isdigit() else "0"


def _write_headers(folder: Path) -> None:
    """Write the headers that stand in front of CUDA's own into a folder."""
    texts = {
        **standard_headers.headers(),
        **dict.fromkeys(_EMPTY, "#pragma once\n"),
        "features.h": _HOST_HEADER,
        "halo_gate.h": "",
        "halo_prelude.h": _PRELUDE,
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    for name in (*_BUILT_IN, *_BESIDE_CHANGED):
        original = next((one for one in _originals(name) if one.is_file()), None)
        if original is not None and name in _BUILT_IN:
            text = original.read_text(encoding="utf-8", errors="replace")
            (folder / name).write_text(text.replace(_SEES_NVRTC, "(0 && ((0 >"), encoding="utf-8")
        elif original is not None:
            (folder / name).symlink_to(original)


def _originals(name: str) -> list[Path]:
    return [folder / name for folder in toolkit.include_directories()]


def _flags(options: Options) -> list[str]:
    """Return the options that nvcc gives to cicc for these."""
    given = [*options.flags, *options.nvcc_flags]
    fast = "--use_fast_math" in given
    values = {"ftz": fast, "prec-div": not fast, "prec-sqrt": not fast, "fmad": True}
    standard = _USUAL
    for option in given:
        name, _, value = option.removeprefix("--").partition("=")
        if name == "std":
            standard = value if value in _STANDARDS else _USUAL
        elif name in values:
            values[name] = value not in ("false", "0")
    switches = dict.fromkeys(_SWITCHES[one] for one in given if one in _SWITCHES)
    number = options.architecture.rstrip("a")
    macros = _MACROS | (_SPECIFIC if options.architecture != number else {})
    macros |= {"__CUDACC_VER_BUILD__": _build()}
    for name, added in _STANDARDS.items():
        macros |= added
        if name == standard:
            break
    if "--extended-lambda" in switches:
        macros |= {"__CUDACC_EXTENDED_LAMBDA__": "1"}
    if "--relaxed_constexpr" in switches:
        macros |= {"__CUDACC_RELAXED_CONSTEXPR__": "1"}
    return [
        f"--{standard}", "--static-host-stub", "--device-hidden-visibility",
        "--allow_managed", "-w", "--gnu_version=120200",
        "-arch", f"compute_{options.architecture}", "-m64", "--no-version-ident",
        *(f"-{name.replace('-', '_')}={int(value)}" for name, value in values.items()),
        *(_FAST if fast else ()), *switches,
        *(("-maxreg", str(options.registers)) if options.registers else ()),
        "-generate-line-info", "-tused",
        *(f"-D{name.format(number)}={value.format(number)}" for name, value in macros.items()),
    ]  # fmt: skip
