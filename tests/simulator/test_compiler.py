"""CUDA source to PTX: names, types and lines; options; includes; what is refused; the cache.

No GPU and no launch: only what the compiler says of a source.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from helpers.simulator.compile import (
    ahead,
    cicc,
    compiler,
    compiler_cache,
    compiler_options,
    front_ends,
    includes,
    named_later,
    nvrtc,
    nvrtc_worker,
    servers,
    standard_headers,
    toolkit,
)
from helpers.simulator.compile.ahead import Ahead
from helpers.simulator.compile.careful import CarefulTranslation
from helpers.simulator.compile.compiler import CompileFailed, compile_source
from helpers.simulator.program import assembly

NVCC = toolkit.program("nvcc") is not None and toolkit.host_compiler() is not None
PTXAS, NVDISASM = (toolkit.program(name) is not None for name in ("ptxas", "nvdisasm"))
needs_nvcc = pytest.mark.skipif(not NVCC, reason="nvcc's wheel or a C++ compiler is missing")
needs_ptxas = pytest.mark.skipif(not PTXAS, reason="the wheel with ptxas is missing")
needs_nvdisasm = pytest.mark.skipif(not NVDISASM, reason="the wheel with nvdisasm is missing")

PLAIN = """extern "C" __global__ void k(float* y, const float* x, int n)
{
    if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x];
}
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """A cache folder of the test's own, and nothing kept in memory from the tests before; without
    the second translation of each source, which is for launches.
    """
    monkeypatch.setenv("HALO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(CarefulTranslation, "begin", lambda *_: None)
    forget()
    cicc._servers.processes.end()
    yield
    forget()


def forget() -> None:
    """Forget what the process has compiled."""
    for kept in (compiler._compiled, compiler._by_cicc, compiler._careful, compiler.as_nvcc):
        kept.cache_clear()
    cicc._servers.called.clear()


def kernel_of(source: str, **given) -> compiler.KernelInfo:
    (kernel,) = compile_source(source, **given).kernels
    return kernel


def variables(source: str, **given) -> dict[str, compiler.Variable]:
    return {v.name: v for v in compile_source(source, **given).debug.variables}


def shape(variable: compiler.Variable) -> tuple:
    return variable.element, variable.element_bytes, variable.extents, variable.space


def value(expression: str, options=(), before: str = "", **given) -> str:
    """The PTX of a kernel that stores one number."""
    source = f"{before}\n__global__ void k(double* y) {{ y[0] = {expression}; }}"
    return compile_source(source, options, **given).ptx


def lines_of(ptx: str, file: int = 1) -> set[int]:
    return {int(line) for line in re.findall(rf"^\s*\.loc\s+{file}\s+(\d+)", ptx, re.MULTILINE)}


# ---- kernels and parameters ----


def test_a_kernel_has_its_name_its_line_and_its_parameters_in_the_words_of_the_source():
    k = kernel_of("\n\n" + PLAIN)
    assert (k.name, k.mangled, k.line, k.file) == ("k", "k", 3, "kernel.cu")
    assert [(p.name, p.type_text, p.size, p.offset) for p in k.parameters] == [
        ("y", "float *", 8, 0),
        ("x", "const float *", 8, 8),
        ("n", "int", 4, 16),
    ]
    assert [p.is_pointer for p in k.parameters] == [True, True, False]
    assert [p.is_const for p in k.parameters] == [False, True, False]
    assert [p.element_bytes for p in k.parameters] == [4, 4, 0]


# How a parameter is declared; the text of its type, its size, whether it is a pointer, whether it
# is a floating-point number, and the size of what it points to.
DECLARED = [
    ("double p", "double", 8, False, True, 0),
    ("const int p", "int", 4, False, False, 0),
    ("bool p", "bool", 1, False, False, 0),
    ("unsigned char p", "unsigned char", 1, False, False, 0),
    ("float2 p", "float2", 8, False, False, 0),
    ("Pair p", "Pair", 12, False, False, 0),
    ("Pair* p", "Pair *", 8, True, False, 12),
    ("const Pair* __restrict__ p", "const Pair *", 8, True, False, 12),
    ("real p", "real", 4, False, True, 0),
    ("real* p", "real *", 8, True, False, 4),
    ("void* p", "void *", 8, True, False, 0),
    ("float** p", "float **", 8, True, False, 8),
    ("unsigned long long* p", "unsigned long long *", 8, True, False, 8),
    ("Colour p", "Colour", 4, False, False, 0),
    ("float p[]", "float *", 8, True, False, 4),
    ("const float (*p)[5]", "const float *", 8, True, False, 20),
    ("half p", "__half", 2, False, True, 0),
    ("const half2* p", "const __half2 *", 8, True, False, 4),
]


def test_types_of_parameters():
    source = """#include <cuda_fp16.h>
struct Pair { float a; int b; char c; };
typedef float real;
enum Colour { RED };
"""
    for number, (declared, _, _, is_pointer, _, _) in enumerate(DECLARED):
        used = "if (p->b) __syncthreads();" if "Pair*" in declared else "if (p) __syncthreads();"
        used = used if is_pointer else ""
        source += f"__global__ void k{number}(int first, {declared}) {{ {used} }}\n"
    kernels = {kernel.name: kernel for kernel in compile_source(source).kernels}
    for number, (declared, type_text, *numbers) in enumerate(DECLARED):
        p = kernels[f"k{number}"].parameters[1]
        assert [p.name, p.size, p.is_pointer, p.is_floating, p.element_bytes] == [
            "p",
            *numbers,
        ], declared
        said = p.type_text.replace("half2 *", "__half2 *").replace("____", "__")
        assert said in (type_text, "half"), declared


def test_parameters_lie_at_the_offsets_that_the_ptx_gives_them():
    k = kernel_of("""struct S { double d; char c; };
__global__ void k(char a, short b, char c, S s, char d, float* e) {}""")
    places = [(p.offset, p.size) for p in k.parameters]
    assert places == [(0, 1), (2, 2), (4, 1), (8, 16), (24, 1), (32, 8)]


def test_parameters_without_a_name_keep_their_places():
    k = kernel_of("__global__ void k(float*, int, float* last) { *last = 1; }")
    assert [p.size for p in k.parameters] == [8, 4, 8]
    assert k.parameters[2].name == "last"


def test_names_have_namespaces_and_template_arguments():
    kernels = compile_source("""
template <int N, typename T> __global__ void scale(T* y) { y[threadIdx.x] *= N; }
template __global__ void scale<4, float>(float*);
namespace a { namespace b { __global__ void k(int* y) { *y = 1; }
template <bool B> __global__ void t(int* y) { *y = B; }
template __global__ void t<true>(int*); } }
""").kernels
    assert {k.name for k in kernels} == {"scale<4, float>", "a::b::k", "a::b::t<true>"}
    (inner,) = [k for k in kernels if k.name == "a::b::k"]
    assert (inner.mangled, inner.line) == ("_ZN1a1b1kEPi", 4)


def test_overloaded_kernels_have_one_name_and_two_mangled_ones():
    kernels = compile_source("""__global__ void k(float* y) { *y = 1; }
__global__ void k(double* y) { *y = 2; }""").kernels
    assert [k.name for k in kernels] == ["k", "k"]
    assert {k.mangled: k.line for k in kernels} == {"_Z1kPf": 1, "_Z1kPd": 2}


def test_templates_that_nobody_asked_an_instance_of_are_told():
    source = f"""template <int N> __global__ void t(int* y) {{ *y = N; }}
template <typename T> __device__ T twice(T x) {{ return 2 * x; }}
{PLAIN}"""
    assert compile_source(source).templates == ("t",)
    assert compile_source(source + "template __global__ void t<2>(int*);").templates == ()


# ---- variables ----


def test_shared_arrays_have_the_names_types_and_extents_of_the_source():
    found = variables("""#define WIDTH 8
struct Pair { float a; int b; };
__device__ float twice(float v)
{
    __shared__ Pair pairs[3];
    pairs[threadIdx.x].a = v;
    __syncthreads();
    return pairs[1].a;
}
template <int N> __global__ void t(float* y)
{
    __shared__ float tile[N + 2][WIDTH];
    __shared__ int flag;
    static __shared__ double sums[4];
    if (threadIdx.x == 0) flag = (int)y[5];
    tile[threadIdx.x][1] = y[0];
    sums[threadIdx.x] = y[1];
    __syncthreads();
    y[0] = tile[flag][1] + twice(y[2]) + sums[2];
}
template __global__ void t<4>(float*);
""")
    assert {name: shape(v) for name, v in found.items()} == {
        "tile": ("float", 4, (6, 8), "shared"),
        "flag": ("int", 4, (), "shared"),
        "sums": ("double", 8, (4,), "shared"),
        "pairs": ("Pair", 8, (3,), "shared"),
    }
    assert found["tile"].function == "_Z1tILi4EEvPf"
    assert found["tile"].symbol == "_ZZ1tILi4EEvPfE4tile"
    assert found["tile"].nbytes == 6 * 8 * 4


def test_constants_and_device_variables():
    found = variables("""namespace n { __constant__ float weights[2][3]; }
__device__ unsigned counter;
static __device__ float4 hidden[2];
extern "C" __global__ void k(float* y)
{
    y[0] = n::weights[1][threadIdx.x] + atomicAdd(&counter, 1) + hidden[1].x;
}""")
    assert {name: shape(v) for name, v in found.items()} == {
        "weights": ("float", 4, (2, 3), "constant"),
        "counter": ("unsigned int", 4, (), "device"),
        "hidden": ("float4", 16, (2,), "device"),
    }


def test_dynamic_shared_memory_has_a_name_and_an_element_type():
    source = """__global__ void k(float* y)
{
    extern __shared__ double cells[];
    cells[threadIdx.x] = 1;
    __syncthreads();
    y[0] = cells[1];
}"""
    assert compile_source(source).dynamic_shared == (("cells", "double"),)
    assert variables(source)["cells"].extents == (0,)


def test_a_local_array_is_known_by_its_function():
    found = variables("""__global__ void k(float* y, int n)
{
    float window[9];
    for (int i = 0; i < n; ++i) window[i] = y[i];
    y[n] = window[n % 9];
}""")["window"]
    assert shape(found) == ("float", 4, (9,), "local")
    assert found.function == "_Z1kPfi"


def test_two_arrays_of_one_name_in_one_function():
    source = """__global__ void k(float* y)
{
    { __shared__ float s[3]; s[threadIdx.x] = y[0]; __syncthreads(); y[1] = s[1]; }
    { __shared__ double s[5]; s[threadIdx.x] = y[2]; __syncthreads(); y[3] = s[1]; }
}"""
    found = {(v.element, v.extents) for v in compile_source(source).debug.variables}
    assert found == {("float", (3,)), ("double", (5,))}


# ---- lines ----


def test_instructions_have_lines_of_the_source_by_its_name():
    compiled = compile_source(PLAIN, file="copy.cu")
    assert '"copy.cu"' in compiled.ptx
    assert 3 in lines_of(compiled.ptx)


def test_extern_c_moves_no_line_and_takes_the_mangling_away():
    compiled = compile_source("\n__global__ void k(int* y)\n{\n    *y = 7;\n}\n", extern_c=True)
    assert (compiled.kernels[0].mangled, compiled.kernels[0].line) == ("k", 2)
    assert 4 in lines_of(compiled.ptx)
    with pytest.raises(CompileFailed, match=r'kernel\.cu\(2\): error: identifier "b" is undefined'):
        compile_source(
            "__global__ void k(int* y) {\n *y = b; }", extern_c=True, compiler="nvrtc"
        )


SQUARE = "\n__device__ float square(float x)\n{\n    return x * x;\n}\n"
SQUARES = "__global__ void k(float* y)\n{\n    y[0] = square(y[1]);\n}\n"


def test_functions_that_were_inlined_know_the_line_of_the_call():
    ptx = compile_source(SQUARE + SQUARES).ptx
    assert re.search(r"\.loc\s+1 4 \d+, function_name \S+, inlined_at 1 8 \d+", ptx)


def test_a_header_keeps_its_name_and_its_lines(tmp_path):
    (tmp_path / "square.cuh").write_text(SQUARE)
    ptx = compile_source('#include "square.cuh"\n' + SQUARES, [f"-I{tmp_path}"]).ptx
    number = re.search(r'\.file\s+(\d+)\s+"square.cuh"', ptx)
    assert number is not None
    assert 4 in lines_of(ptx, int(number[1]))


# ---- errors ----


def test_an_error_is_told_in_the_compilers_words_with_the_line_of_the_source():
    with pytest.raises(CompileFailed) as refused:
        compile_source("__global__ void k(float* y)\n{\n    y[0] = b;\n}\n")
    begin = 'kernel.cu(3): error: identifier "b" is undefined\n      y[0] = b;'
    assert refused.value.message.startswith(begin)
    assert "/" not in refused.value.message


def test_an_error_in_a_header_names_the_header_without_its_folder(tmp_path):
    (tmp_path / "wrong.cuh").write_text("\n__device__ int f() { return b; }\n")
    with pytest.raises(CompileFailed, match=r"^wrong\.cuh\(2\): error"):
        compile_source('#include "wrong.cuh"\n' + PLAIN, [f"-I{tmp_path}"])


def test_a_missing_header_is_named():
    with pytest.raises(CompileFailed, match=r"(?s)kernel\.cu.*nowhere\.h"):
        compile_source('#include "nowhere.h"\n' + PLAIN)


@pytest.mark.parametrize("which", ["nvrtc", pytest.param("", marks=needs_nvcc)])
def test_a_missing_header_of_another_wheel_says_what_to_install(which):
    """A name of cuRAND's that no release has, so that an installed wheel does not matter."""
    with pytest.raises(
        CompileFailed, match=r"curand_of_no_release\.h comes with: pip install nvidia-curand$"
    ):
        compile_source('#include "curand_of_no_release.h"\n' + PLAIN, compiler=which)
    with pytest.raises(CompileFailed) as refused:
        compile_source('#include "nowhere.h"\n' + PLAIN, compiler=which)
    assert "pip install" not in refused.value.message


@pytest.mark.parametrize("which", ["nvrtc", pytest.param("nvcc", marks=needs_nvcc)])
def test_a_byte_order_mark_is_passed_over_at_the_beginning_only(which):
    compiled = compile_source("\ufeff" + PLAIN, compiler=which)
    assert [(kernel.name, kernel.line) for kernel in compiled.kernels] == [("k", 1)]
    with pytest.raises(CompileFailed, match="error: "):
        compile_source("int a;\n\ufeff" + PLAIN, compiler=which)


def test_a_byte_order_mark_behind_extern_c_is_refused():
    with pytest.raises(CompileFailed, match="error: "):
        compile_source("\ufeff" + PLAIN, extern_c=True, compiler="nvrtc")


def test_warnings_are_kept():
    source = "__global__ void k() { int unused; }"
    assert "never referenced" in compile_source(source).warnings
    assert compile_source(source, ["-w"]).warnings == ""


def test_a_source_that_crashes_the_compiler_is_refused_and_the_next_one_compiled():
    deep = 250_000
    source = f"__global__ void k(int* y) {{ *y = {'(' * deep}1{')' * deep}; }}"
    with pytest.raises(CompileFailed, match=r"kernel\.cu: NVIDIA's compiler crashed .*signal"):
        compile_source(source, compiler="nvrtc")
    assert compile_source(PLAIN).kernels


LONG = "// a comment that makes a source long\n" * 200


def test_a_long_source_is_not_changed_by_the_options_of_the_one_before():
    source = f"{LONG}__global__ void k(float* y, const float* x) {{ *y = *x; }}"
    restricted = compile_source(source, ["-restrict"], compiler="nvrtc").ptx
    assert ".nc" in restricted and ".nc" not in compile_source(source, compiler="nvrtc").ptx
    assert [one.kind for one in nvrtc._processes.waiting].count(None) == 1


def test_a_child_of_the_compiler_ends_with_its_parent():
    """A source that keeps the compiler busy for ever keeps no process."""
    busy = """template <int N, int M>
struct T { static constexpr int v = T<N - 1, 2 * M>::v + T<N - 1, 2 * M + 1>::v; };
template <int M> struct T<0, M> { static constexpr int v = M; };
__global__ void k(int* y) { *y = T<28, 0>::v; }
"""
    process = nvrtc._start(None)
    nvrtc_worker.send(process.requests, [busy, "k.cu"])
    while not (children := children_of(process.pid)):
        time.sleep(0.01)
    process.end()
    while any(Path(f"/proc/{child}/exe").exists() for child in children):
        time.sleep(0.01)


@pytest.mark.parametrize(("work", "status"), [("len('')", 0), ("1 / 0", 1), ("os.abort()", -6)])
def test_a_process_ends_as_the_child_that_could_not_answer(work, status):
    """In a thread, as in the compiler's process: an error there would end the thread alone."""
    code = f"""
import os, threading
from helpers.simulator.compile import nvrtc_worker
thread = threading.Thread(target=lambda: nvrtc_worker._in_child(lambda: {work}))
thread.start()
thread.join()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == status, done.stderr.decode()


def children_of(process: int) -> list[str]:
    tasks = Path(f"/proc/{process}/task").iterdir()
    return [child for task in tasks for child in (task / "children").read_text().split()]


# ---- what nvcc takes and the run-time compiler does not ----


def test_headers_of_the_language_need_no_host_compiler():
    includes = """#include <math_constants.h>
#include <device_launch_parameters.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <cstring>
#include <cassert>
#include <math.h>
#include <cmath>
#include <climits>
#include <cfloat>
#include <float.h>
#include <cstdint>
#include <stdint.h>
#include <cstdio>
#include <stdio.h>
"""
    assert compile_source(includes + PLAIN, compiler="nvrtc").compiler == "nvrtc"


@pytest.mark.parametrize(
    ("header", "expression"),
    [
        ("", "INFINITY + NAN + M_PI + INT_MAX"),
        ("", "sizeof(int64_t) + sizeof(uint) + std::sqrt(y[1])"),
        ("cfloat", "FLT_MAX + FLT_EPSILON"),
        ("cstdint", "(uint32_t)3 + (std::uint64_t)4 + sizeof(uintptr_t)"),
        ("cassert", "(assert(y[0] > 0), 1)"),
        ("cstdio", 'printf("%d", 3)'),
        ("cuda.h", "CUDA_VERSION"),
    ],
)
def test_what_nvcc_gives_to_every_source(header, expression):
    value(expression, before=f"#include <{header}>" if header else "", compiler="nvrtc")


def test_what_nvcc_does_not_give_without_a_header_is_refused():
    with pytest.raises(CompileFailed) as refused:
        value("FLT_MAX + CUDA_VERSION + (uint32_t)1", compiler="nvrtc")
    for name in ("FLT_MAX", "uint32_t", "CUDA_VERSION"):
        assert f'identifier "{name}" is undefined' in refused.value.message


@needs_nvcc
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("y[0] = 1", 'expected a ";"'),
        ("y[0] = threadIdy.x;", '"threadIdy" is undefined'),
        ("int n = 3; y[0] = N(n) + m;", '"m" is undefined'),
        ("y[0] = y;", '"float \\*"'),
    ],
)
def test_a_wrong_source_does_not_wait_for_nvcc(body, said, monkeypatch):
    monkeypatch.setattr(front_ends, "_by_nvcc", None)
    with pytest.raises(CompileFailed, match=said):
        compile_source(f"#define N(a) (a)\n__global__ void k(float* y) {{ {body} }}")


# What NVRTC refuses and nvcc takes: extensions of C++, and names of the host's headers.
ONLY_NVCC = [
    ("y[0] = ((float2) {1, 2}).x;", ()),
    ("y[0] = ({ float a = y[1]; a + 1; });", ()),
    ("y[0] = offsetof(float4, z);", ()),
    ("if constexpr (sizeof(int) == 4) y[0] = 1;", ("-std=c++14",)),
    ("__int128 a = 3; y[0] = (float) a;", ()),
]


@needs_nvcc
@pytest.mark.parametrize(("body", "options"), ONLY_NVCC)
def test_nvcc_is_asked_where_it_may_take_a_source(body, options):
    source = f"#include <cstddef>\n__global__ void k(float* y) {{ {body} }}"
    assert compile_source(source, options).compiler == "nvcc"


@needs_nvcc
def test_host_code_in_the_file_goes_to_nvcc():
    compiled = compile_source("""#include <iostream>
#include <vector>
__global__ void k(float* y, int n)
{
    __shared__ float s[2][4];
    s[1][threadIdx.x] = n;
    __syncthreads();
    y[0] = s[1][2];
}
int main() { std::vector<float> v(4); k<<<1, 4>>>(nullptr, 4); std::cout << v[0]; }
""")
    (k,) = compiled.kernels
    assert compiled.compiler == "nvcc"
    assert ([(p.name, p.type_text) for p in k.parameters], k.line) == (
        [("y", "float *"), ("n", "int")],
        3,
    )
    assert [shape(v) for v in compiled.debug.variables] == [("float", 4, (2, 4), "shared")]
    assert 6 in lines_of(compiled.ptx)


@needs_nvcc
def test_both_compilers_say_the_same_of_a_source():
    first, second = (compile_source(PLAIN, compiler=name) for name in ("nvrtc", "nvcc"))
    assert first.kernels == second.kernels
    assert first.debug == second.debug


# Sources for which the front end alone must write the PTX that nvcc writes, and their options.
SHARED = """__global__ void k(float* y, const float* x, int n)
{
    __shared__ float s[256];
    s[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    float sum = 0;
    for (int j = 0; j < n; ++j) sum += s[threadIdx.x + j] * s[4 * j];
    y[threadIdx.x] = sum / x[n];
}
"""
WITH_HEADERS = """#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>
#include <cuda/barrier>
#include <cmath>
#include <cassert>
#include <cstdint>
namespace cg = cooperative_groups;
namespace { __device__ int hidden[2]; }
__global__ void k(float* y, half* h, uint64_t* wide)
{
    auto warp = cg::tiled_partition<32>(cg::this_thread_block());
    assert(y != nullptr);
    for (int i : {1, 2, 3}) y[i] = cg::reduce(warp, y[threadIdx.x], cg::plus<float>());
    h[0] = __hfma(h[1], h[2], h[3]);
    wide[hidden[1]] += __shfl_sync(~0u, hidden[0]++, 3);
    y[0] = std::sqrt(y[1]) + std::abs(y[2]) + sinf(y[3]) + pow(y[4], 2) + NAN;
    printf("%f %d", y[0], max(INT_MAX, 1));
}
"""
LIKE_NVCC = [
    (SHARED, ()),
    (SHARED, ("-use_fast_math", "-restrict", "-std=c++20", "-maxrregcount=32")),
    (SHARED, ("-fmad=false", "-prec-div=false", "-ftz=true", "-arch=sm_90a", "-DN=3")),
    (WITH_HEADERS, ()),
    ("template <class F> __device__ float twice(F f, float a) { return f(f(a)); }\n"
     "__global__ void k(float* y) { y[0] = twice([=](float a) { return a + y[2]; }, y[1]); }",
     ("--extended-lambda", "--expt-relaxed-constexpr")),
]  # fmt: skip


def code_of(ptx: str) -> list[str]:
    """The lines of PTX without places and with one number in names without linkage."""
    body = re.sub(r"(_INTERNAL_|_GLOBAL__N__)[0-9a-f]{8}_", r"\1_", ptx.partition("\t.section")[0])
    return [line for line in body.splitlines() if not re.match(r"\s*(\.loc|\.file|//|$)", line)]


@needs_nvcc
@pytest.mark.parametrize(("source", "options"), LIKE_NVCC)
def test_the_front_end_alone_writes_what_nvcc_writes(source, options):
    compiled = compile_source(source, options, counts=True)
    ours = compiler.as_nvcc(compiled)
    nvccs = compile_source(source, options, compiler="nvcc")
    assert (compiled.compiler, ours.remark, ours.kernels) == ("nvrtc", "", compiled.kernels)
    if "assert" not in source:  # of a line in a macro, which the front end does not know
        assert code_of(ours.ptx) == code_of(nvccs.ptx)
    assert lines_of(ours.ptx) == lines_of(nvccs.ptx)


def test_the_front_end_needs_no_host_compiler_and_comes_from_the_cache(monkeypatch):
    monkeypatch.setattr(toolkit, "host_compiler", lambda: None)
    first = compiler.as_nvcc(compile_source(SHARED))
    assert first.ptx != compile_source(SHARED).ptx and not first.remark
    forget()
    monkeypatch.setattr(toolkit, "run", None)
    assert compiler.as_nvcc(compile_source(SHARED)) == first


def test_a_server_of_the_front_end_writes_what_a_call_of_its_own_does():
    """From the second call of a kind on; a wrong source costs it nothing."""
    deep = f"__global__ void k(int* y) {{ *y = {'(' * 250_000}1{')' * 250_000}; }}"
    wrong = SHARED.replace(";", "", 1)
    sources = [SHARED, wrong, PLAIN, WITH_HEADERS, deep, SHARED]
    alone = []
    for source in sources:
        cicc._servers.called.clear()
        alone.append(front_end_of(source))
    assert not cicc._servers.processes.waiting
    assert [front_end_of(source) for source in sources] == alone
    (server,) = cicc._servers.processes.waiting
    assert server.poll() is None and not children_of(server.pid)
    folder = server.args[-1].removesuffix("/text.ptx")
    assert Path(folder).is_dir()
    cicc._servers.processes.end()
    assert not Path(folder).exists()


@needs_ptxas
def test_a_server_of_the_assembler_writes_what_a_call_of_its_own_does():
    """Byte for byte, also what it refuses, and with less to do."""
    call = assembly._Call(("-arch=sm_90", "-lineinfo", "-v"))
    ptx = compile_source(SHARED).ptx
    texts = [ptx, ptx.replace("ret;", "rett;"), "", compile_source(WITH_HEADERS).ptx, ptx]
    alone = [servers._run_once(call, text) for text in texts]
    assembler = servers.Servers()
    assembler.run(call, ptx)
    assert not assembler.processes.waiting
    served = [assembler.run(call, text) for text in texts]
    assert len(assembler.processes.waiting) == 1
    assembler.processes.end()
    for one, other in zip(alone, served, strict=True):
        timeless = (re.sub(r"time = .*", "", done.said) for done in (one, other))
        assert (one.status, one.result) == (other.status, other.result)
        assert len(set(timeless)) == 1
    assert [bool(one.status) for one in alone] == [False, True, True, False, False]


def front_end_of(source: str) -> list[str]:
    """Return the code that the front end writes, or what it says."""
    options = compiler_options.read(())
    try:
        whole = f'{standard_headers.PRELUDE}#line 1 "k.cu"\n{source}'
        return code_of(cicc.translate(whole, "k.cu", (), options))
    except CompileFailed as refused:
        return [refused.message]


@pytest.mark.parametrize("missing", ["front end", "headers"])
def test_without_the_front_end_the_ptx_is_that_of_nvrtc_with_a_remark(missing, monkeypatch):
    monkeypatch.setattr(toolkit, "host_compiler", lambda: None)
    if missing == "front end":
        monkeypatch.setattr(toolkit, "front_end", lambda: None)
    else:
        monkeypatch.setattr(cicc, "_PRELUDE", "#error none\n")
    compiled = compile_source(SHARED)
    told = compiler.as_nvcc(compiled)
    assert told.ptx == compiled.ptx and "cicc" in told.remark
    assert ("pip install" in told.remark) == (missing == "front end")


@pytest.mark.parametrize("source", [PLAIN, PLAIN.replace(";", "", 1)])
def test_a_launch_waits_for_the_compilation_that_was_begun_ahead(source, monkeypatch):
    """It does not compile the source again, and it meets the error of that compilation."""
    begun, goes_on, calls = threading.Event(), threading.Event(), []
    translate = front_ends.translate

    def slow(text, which):
        calls.append(text.source)
        begun.set()
        assert goes_on.wait(60)
        return translate(text, which)

    monkeypatch.setattr(front_ends, "translate", slow)
    Ahead([(source, (), "k.cu"), (source, (), "k.cu")])
    assert begun.wait(60)
    threading.Timer(0.2, goes_on.set).start()
    if source == PLAIN:
        assert compile_source(source, (), "k.cu").kernels
    else:
        with pytest.raises(CompileFailed, match="expected"):
            compile_source(source, (), "k.cu")
    assert calls == [source]


def test_nothing_is_begun_ahead_after_a_stop(monkeypatch):
    goes_on, done = threading.Event(), []
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    monkeypatch.setattr(ahead, "_compile", lambda *one: (done.append(one[0]), goes_on.wait(60)))
    several = Ahead([("a", (), ""), ("b", (), "")])
    several.stop()
    goes_on.set()
    time.sleep(0.1)
    assert done in ([], ["a"])


def test_without_a_host_compiler_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setattr(toolkit, "host_compiler", lambda: None)
    with pytest.raises(CompileFailed, match=r"(?s)iostream.*g\+\+"):
        compile_source("#include <iostream>\n" + PLAIN)


def test_constexpr_helpers_of_the_host_may_size_arrays():
    source = """constexpr int widest(int a) { return 2 * a; }
__global__ void k(float* y)
{
    __shared__ float s[widest(3)];
    s[threadIdx.x] = 1;
    __syncthreads();
    y[0] = s[2];
}"""
    assert compile_source(source, compiler="nvrtc").debug.variables[0].extents == (6,)


def test_a_source_of_host_functions_alone_has_no_kernel():
    compiled = compile_source("int twice(int x) { return 2 * x; }", compiler="nvrtc")
    assert compiled.kernels == ()


def test_host_functions_that_no_kernel_calls_are_no_harm():
    source = f"""int add(int a, int b) {{ return a + b; }}
int twice(int a) {{ return add(a, a); }}
{PLAIN}"""
    assert compile_source(source).compiler == "nvrtc"


@pytest.mark.parametrize(
    ("word", "which"),
    [
        pytest.param("", "", marks=needs_nvcc),
        ("", "nvrtc"),
        ("constexpr ", "nvrtc"),
        ("#include <cuda.h>\n", "nvrtc"),
    ],
)
def test_a_host_function_that_a_kernel_calls_is_refused(word, which):
    with pytest.raises(CompileFailed, match=r'__host__ function\("add'):
        value("add(y[0])", before=f"{word}int add(int a) {{ return a + 1; }}", compiler=which)


# ---- options ----


@pytest.mark.parametrize(
    "options",
    [
        ["-DWIDTH=11", "-DN=3"],
        ["-D", "WIDTH=11", "-D", "N=3"],
        ["-DWIDTH=33", "-DN"],
        ["-DWIDTH=33", "-DN=2", "-UN", "-DN=1"],
        ["--define-macro", "WIDTH=11", "-DN=(1 + 2)"],
    ],
    ids=" ".join,
)
def test_macros_count_and_may_be_two_words(options):
    source = "__global__ void k(int* y) { y[0] = WIDTH * N; }"
    assert re.search(r"\b33\b", compile_source(source, options).ptx)


@pytest.mark.parametrize("options", [["-DT=16"], ["-D", "x=3"], ["-DU"], ["-DT =1"]], ids=" ".join)
def test_a_macro_that_breaks_cudas_headers_is_refused(options):
    with pytest.raises(CompileFailed, match="in CUDA's own headers"):
        compile_source(PLAIN, options)


def test_macros_with_short_names_reach_the_kernel():
    numbers = {"A": 771, "I": 772, "K": 773, "N": 774, "R": 775, "i": 776, "m": 777}
    stores = " ".join(f"y[{k}] = {name};" for k, name in enumerate(numbers))
    options = [f"-D{name}={number}" for name, number in numbers.items()]
    ptx = compile_source(f"__global__ void k(int* y) {{ {stores} }}", options).ptx
    for name, number in numbers.items():
        assert re.search(rf"\b{number}\b", ptx), name


@pytest.mark.parametrize(
    "words",
    [
        """-O3 -g -lineinfo -Xptxas -v -Xptxas=-dlcm=ca --ptxas-options=-v -arch=sm_80
        -Xcompiler -fPIC -ccbin g++ -rdc=true -m64 -Wno-deprecated-gpu-targets -std=c++14
        --expt-relaxed-constexpr -keep --resource-usage -use_fast_math --restrict -w
        --maxrregcount=32 -t 4 -lcudadevrt --diag-suppress=177 -ftz=true -prec-div=false""",
        "-O 3 -G -arch sm_90 -code=sm_90 --std c++17 --use_fast_math -maxrregcount 32",
        "-gencode arch=compute_80,code=sm_80",
        "-gencode=arch=compute_80,code=sm_80",
    ],
    ids=["one word", "two words", "-gencode", "-gencode="],
)
def test_options_of_nvcc_that_are_taken(words):
    assert compile_source(PLAIN, words.split()).kernels[0].name == "k"


@pytest.mark.parametrize("option", ["--magic", "-Fast", "kernel.cu", "--pre-include=x.h"])
def test_an_option_that_nobody_knows_is_refused_by_name(option):
    name = option.partition("=")[0]
    with pytest.raises(CompileFailed, match=f"does not know the compiler option '{name}"):
        compile_source(PLAIN, [option])


def test_an_option_without_its_value_is_refused_by_name():
    with pytest.raises(CompileFailed, match="-arch"):
        compile_source(PLAIN, ["-arch"])


@pytest.mark.parametrize(
    "words",
    [
        "-arch=sm_20", "-arch=foo", "-arch sm_91", "--gpu-architecture=90",
        "-gencode arch=compute_20,code=sm_20",
        "-gencode=arch=compute_90,code=[sm_90,sm_35]",
    ],
)  # fmt: skip
def test_an_architecture_that_nvcc_does_not_know_is_refused(words):
    with pytest.raises(CompileFailed, match="Unsupported gpu architecture '"):
        compile_source(PLAIN, words.split())


def test_options_that_change_the_meaning_are_passed_on():
    assert "sin.approx" in value("sinf(y[1])", ["-use_fast_math"])
    assert "sin.approx" not in value("sinf(y[1])")
    assert "fma.rn" in value("y[1] + y[3] * y[4]")
    assert "fma.rn" not in value("y[1] + y[3] * y[4]", ["-fmad=false"])
    source = """template <int N> __global__ void k(int* y) { if constexpr (N == 3) y[0] = N; }
template __global__ void k<3>(int*);"""
    assert compile_source(source).warnings == ""
    assert "constexpr" in compile_source(source, ["-std=c++14"]).warnings


def test_the_target_is_an_h200_unless_its_own_instructions_are_asked_for():
    assert ".target sm_90\n" in compile_source(PLAIN, ["-arch=sm_80"]).ptx
    assert ".target sm_90a" in compile_source(PLAIN, ["-arch=sm_90a"]).ptx
    compile_source(f"""#if __CUDA_ARCH__ != 900 || __CUDACC_VER_MAJOR__ != 13
#error "another compiler"
#endif
{PLAIN}""")


# ---- includes ----

OUTSIDE = """#include "/etc/hostname"
#include </etc/hostname>
# include "../secret.h"
#include <../../../etc/hostname>
#include "folder/../../secret.h"
/* a */ #include /* b */ "/etc/hostname"
%:include "/etc/hostname"
#inc\\~lude "/etc/hostname"
#define NAME "/etc/hostname"~#include NAME
#define NAME(x) x~#include NAME(</etc/hostname>)
#define A /etc~#define NAME <A/hostname>~#include NAME
#if __has_include("/etc/hostname")~#endif
#import "/etc/hostname"
#include_next "/etc/hostname"
const char c[] = {~#embed "/etc/hostname"~};
#if 0~don't /*~#endif~#include "/etc/hostname"~#if 0~*/~#endif
const char* s = R"(/*)";~#include "/etc/hostname"~const char* t = R"(*/)";
const char* s = u8"/*";~#include "/etc/hostname"~// */
// ??/~#include "/etc/hostname"
""".splitlines()


@pytest.mark.parametrize("text", OUTSIDE)
def test_files_outside_are_refused(text):
    with pytest.raises(CompileFailed) as refused:
        compile_source(text.replace("~", "\n") + "\n" + PLAIN)
    assert re.search(r"kernel\.cu\(\d+\): error: #include .* -- ", refused.value.message)
    assert "no storage class" not in refused.value.message


INSIDE = [
    '// #include "/etc/hostname"',
    '/*\n#include "../x.h"\n*/',
    '__device__ const char* s = "#include \\"/etc/hostname\\"";',
    "__device__ int n = 1'000'000;",
    "#include <cuda_fp16.h>",
    "#include <cooperative_groups.h>",
    "#define HEADER <cuda_fp16.h>\n#include HEADER",
    "#if __has_include(<cuda_fp16.h>)\n#endif",
]


def test_what_looks_like_a_file_outside_is_not_refused():
    assert compile_source("\n".join([*INSIDE, PLAIN])).kernels[-1].name == "k"


def test_files_of_the_working_folder_are_not_a_texts_own(tmp_path, monkeypatch):
    (tmp_path / "here.h").write_text("#define VALUE 1\n")
    monkeypatch.chdir(tmp_path)
    source, file = '#include "here.h"\n' + PLAIN, tmp_path / "code.cu"
    with pytest.raises(CompileFailed, match=r"here\.h"):
        compile_source(source)
    file.write_text(source)
    assert compile_source(source, file=str(file)).kernels


def test_headers_of_headers_come_from_the_same_folders_and_count_for_the_cache(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "outer.h").write_text('#include "sub/inner.h"\n')
    (tmp_path / "sub" / "inner.h").write_text('#include "../value.h"\n')
    source = '#include "outer.h"\n__global__ void k(int* y) { y[0] = VALUE; }'
    for number in (4711, 4712):
        (tmp_path / "value.h").write_text(f"#define VALUE {number}\n")
        assert str(number) in compile_source(source, [f"-I{tmp_path}"]).ptx


def test_blanked_text_keeps_its_places():
    text = 'int a; // b "c\n/* d\n e */ "f/*g" \'"\' 1\'000 R"(x"y)" h'
    blank = includes.without_comments(text)
    assert (len(blank), blank.count("\n")) == (len(text), text.count("\n"))
    assert blank.split() == ["int", "a;", '"', '"', "'", "'", "1'000", "h"]


NAMES = "#define OBJECT cudaTextureObject_t\n#define FETCH tex1Dfetch<float>\n"


@pytest.mark.parametrize(
    ("source", "of_a_file"),
    [
        (NAMES, ""),
        (f"#include <cuda_fp16.h>\n#include <mma.h>\n{NAMES}", ""),
        (f'#include "own.cuh"\n{NAMES}', "#include <cuda_fp16.h>\n"),
        ('#include <mma.h>\n#include "own.cuh"\n', NAMES),
    ],
    ids=["alone", "headers of halves", "a header in a file", "names in a file"],
)
def test_names_of_textures_are_there_whatever_is_included(source, of_a_file, tmp_path):
    """The compiler leaves these names out where no text seems to need them."""
    (tmp_path / "own.cuh").write_text(of_a_file)
    source += "__global__ void k(float* y, OBJECT t) { y[0] = FETCH(t, 3); }"
    assert compile_source(source, [f"-I{tmp_path}"], compiler="nvrtc").kernels


def test_headers_of_halves_need_few_names(monkeypatch):
    asked = []
    compile = nvrtc.compile
    monkeypatch.setattr(
        nvrtc, "compile", lambda *given: (asked.append("--minimal" in given[2]), compile(*given))[1]
    )
    for before in ("cuda_fp16.h>  // not the CUDA runtime", "mma.h>", "cuda_runtime.h>"):
        compile_source(f"#include <{before}\n{PLAIN}", compiler="nvrtc")
    assert asked == [True] * 4 + [False] * 2


# ---- the compiler's processes ----


def test_options_of_one_source_leave_nothing_behind():
    plain = compile_source(PLAIN).ptx
    assert "ld.global.nc" in compile_source(PLAIN, ("--restrict",)).ptx
    again = compile_source(f"{PLAIN}\n// another text\n").ptx
    assert again.splitlines() == plain.splitlines()


# ---- the cache ----


def records() -> list[Path]:
    return sorted(Path(os.environ["HALO_CACHE"]).glob("ptx-*.json"))


def from_disk(source: str = PLAIN) -> compiler.Compiled:
    compiler._compiled.cache_clear()
    return compile_source(source)


def test_a_source_is_compiled_once(monkeypatch):
    first = from_disk()
    assert len(records()) == 1
    monkeypatch.setattr(compiler, "_compile", lambda *given: pytest.fail("compiled again"))
    assert from_disk() == first


def compiled_under(name: str, source: str) -> tuple[compiler.Compiled, compiler.Compiled]:
    """A text as it is compiled, and as it is compiled when it has its name from the beginning."""
    text = front_ends.Text(source, name, False, compiler_options.read(()), ())
    return compile_source(source, file=name), compiler._kept(text, "")


# Programs that are the same whatever their file is called.
NAMELESS = {
    "plain": PLAIN,
    "a warning": "__global__ void k(float* y) { int unused; *y = 1; }",
    "a template": "template <int n> __global__ void k(int* y) { *y = n; }\n"
    "template __global__ void k<3>(int*);",
    "inlined": "__device__ int f(int x) { return x + 1; }\n"
    "__global__ void k(int* y) { *y = f(*y); }",
}
# Programs that hold the name of their file.
NAMED = {
    "a string": 'PASTE __global__ void k(char* y) { const char* s = NAME; *y = s[*y]; }',
    "a printed string": '#include <stdio.h>\nPASTE __global__ void k() { printf("%s", NAME); }',
    "a symbol": "namespace { __device__ int v; } __global__ void k(int* y) { atomicAdd(&v, *y); }",
    "a name of debug information": "#include <mma.h>\nusing namespace nvcuda::wmma;\n"
    "__global__ void k(float* y) { fragment<accumulator, 16, 16, 16, float> f;\n"
    "    fill_fragment(f, 1.0f); store_matrix_sync(y, f, 16, mem_row_major); }",
}
# A macro that does not say __FILE__ in one word.
PASTE = "#define BOTH(a, b) a##b\n#define JOIN(a, b) BOTH(a, b)\n#define NAME JOIN(__FI, LE__)\n"


@pytest.mark.parametrize("source", NAMELESS.values(), ids=NAMELESS)
def test_a_text_under_two_names_is_compiled_once(source, monkeypatch):
    compile_source(source, file="one.cu")
    direct = compiled_under("another.cu", source)[1]
    monkeypatch.setattr(compiler, "_compile", lambda *given: pytest.fail("compiled again"))
    compiler._compiled.cache_clear()
    assert compile_source(source, file="another.cu") == direct


@pytest.mark.parametrize("source", NAMED.values(), ids=NAMED)
def test_a_program_that_holds_its_name_is_compiled_under_it(source):
    renamed, direct = compiled_under("mine.cu", source.replace("PASTE ", PASTE))
    assert renamed == direct
    assert not named_later.remains_in(renamed.ptx)


@pytest.mark.parametrize("name", ["a folder/mine.cu", 'a"quote.cu', "mine\n.cu", "größe.cu"])
def test_a_name_of_other_characters_is_given_to_the_compiler(name):
    assert not named_later.possible(
        front_ends.Text(PLAIN, name, False, compiler_options.read(()), ())
    )


def test_the_careful_translation_has_the_name_too(monkeypatch, tmp_path):
    monkeypatch.undo()  # the fixture keeps careful translations from beginning
    monkeypatch.setenv("HALO_CACHE", str(tmp_path / "cache"))
    for name in ("one.cu", "another.cu"):
        compiled = compile_source(PLAIN, file=name)
        files = re.findall(r'\.file\t\d+ "(.*?)"', compiler.careful_ptx(compiled))
        assert files == [name]


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff\xfe", b"digest\n{}"])
def test_a_damaged_record_is_made_anew(damage):
    first = from_disk()
    (path,) = records()
    whole = path.read_bytes()
    for content in (damage, whole[: len(whole) // 2], whole.replace(b"mov", b"xor")):
        path.write_bytes(content)
        assert from_disk() == first
        assert path.read_bytes() == whole


def test_a_record_of_another_version_is_made_anew():
    first = from_disk()
    key = records()[0].stem.removeprefix("ptx-")
    compiler_cache.store("ptx", key, {"kernels": [], "nothing": 1})
    assert from_disk() == first


def test_a_cache_that_cannot_be_written_to_is_done_without(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HALO_CACHE", str(tmp_path / "file"))
    assert from_disk().kernels[0].name == "k"

    def full(**given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compiler_cache.tempfile, "mkstemp", full)
    monkeypatch.setenv("HALO_CACHE", str(tmp_path / "full"))
    assert from_disk().kernels[0].name == "k"


def test_two_processes_may_compile_at_once():
    program = (
        "import sys; from helpers.simulator.compile.compiler import compile_source\n"
        "print(len(compile_source(sys.argv[1]).ptx))"
    )
    arguments = {
        "cwd": Path(__file__).resolve().parents[2],
        "stdout": subprocess.PIPE,
        "text": True,
    }
    started = [subprocess.Popen([sys.executable, "-c", program, PLAIN], **arguments) for _ in "ab"]
    said = {process.communicate(timeout=120)[0] for process in started}
    assert said == {f"{len(compile_source(PLAIN).ptx)}\n"}
    assert len(records()) == 1
    assert not list(Path(os.environ["HALO_CACHE"]).glob("*.part"))


def test_a_record_is_plain_json():
    compiled = from_disk()
    body = records()[0].read_text().partition("\n")[2]
    kept = compiler.Compiled.from_dict(json.loads(body))
    assert compiler._named(kept, "kernel.cu") == compiled


# ---- the assembler ----


@needs_ptxas
def test_resources():
    found = assembly.resources(
        compile_source("""__constant__ float c[33];
__global__ void __launch_bounds__(128) k(float* y, int n)
{
    __shared__ float s[64];
    float window[20];
    s[threadIdx.x] = y[1] * c[3];
    for (int i = 0; i < n; i++) window[i] = y[i];
    __syncthreads();
    y[0] = s[2] + window[n];
}
extern "C" __global__ void plain(float* y) { *y = 1; }""")
    )
    k, plain = found["_Z1kPfi"], found["plain"]
    assert (k.local_bytes, k.shared_bytes, k.constant_bytes, k.max_threads) == (80, 256, 132, 128)
    assert (plain.local_bytes, plain.shared_bytes, plain.max_threads) == (0, 0, 0)
    assert 4 <= plain.registers < k.registers <= 255


@needs_ptxas
def test_a_limit_of_registers_counts():
    source = """__global__ void k(float* y)
{
    float v[64];
    for (int i = 0; i < 64; ++i) v[i] = y[i];
    __syncthreads();
    for (int i = 0; i < 64; ++i) y[i + 1] = v[i];
}"""
    free, limited = (
        assembly.resources(compile_source(source, options))["_Z1kPf"]
        for options in ([], ["-maxrregcount=32"])
    )
    assert limited.registers <= 32 < free.registers
    assert limited.spill_store_bytes > 0 == free.spill_store_bytes


@needs_ptxas
def test_what_only_the_assembler_refuses_is_told_in_its_words():
    source = """__global__ void k(float* y)
{
    __shared__ float s[20000];
    s[threadIdx.x] = 1;
    __syncthreads();
    y[0] = s[31];
}"""
    with pytest.raises(CompileFailed, match="uses too much shared data"):
        assembly.resources(compile_source(source))


@needs_ptxas
@needs_nvdisasm
def test_machine_code_names_lines():
    code = assembly.sass(compile_source(PLAIN))
    assert code is not None
    assert re.search(r'File "kernel\.cu", line 3', code)
    assert "LDG" in code


@needs_ptxas
@needs_nvdisasm
def test_nvdisasm_lists_a_program_once(monkeypatch):
    programs = [compile_source(PLAIN), compile_source(PLAIN.replace("= x[", "= 2 * x["))]
    asked = [(assembly.sass, program) for program in programs]
    asked.append((assembly.with_lines_of_ptx, programs[0]))
    listings = [kind(program) for kind, program in asked]
    assert len(set(listings)) == 3
    monkeypatch.setattr(toolkit, "run", lambda *_: pytest.fail("nvdisasm runs again"))
    assert [kind(program) for kind, program in asked] == listings


@needs_nvdisasm
def test_a_text_under_two_names_is_assembled_once(monkeypatch):
    first, second = (compile_source(PLAIN, file=file) for file in ("kernel.cu", "named.cu"))
    code = assembly.sass(first)
    monkeypatch.setattr(assembly._servers, "run", lambda *_: pytest.fail("ptxas runs again"))
    assert 'File "named.cu", line 3' in assembly.sass(second)
    assert assembly.sass(second).replace("named.cu", "kernel.cu") == code
    assert compiler._careful.cache_info().misses == 1


# ---- the wheels ----


def test_the_version_is_that_of_the_release():
    assert toolkit.version().startswith("13.0")


def test_programs_load_at_the_same_addresses_in_each_run(tmp_path):
    show = [sys.executable, "-c", "print(open('/proc/self/maps').read())"]
    starts = {toolkit.run(show, tmp_path).stdout.split("\n")[0] for _ in range(4)}
    with toolkit.fixed_addresses():
        forbidden = ctypes.CDLL(None).personality(0xFFFFFFFF) & 0x0040000 == 0
    if forbidden:
        pytest.skip("this container does not let a program choose its addresses")
    assert len(starts) == 1
    assert ctypes.CDLL(None).personality(0xFFFFFFFF) & 0x0040000 == 0  # as before, afterwards


def test_programs_get_memory_the_same_way_in_each_run(monkeypatch, tmp_path):
    monkeypatch.setenv("MALLOC_CONF", "dirty_decay_ms:0")
    show = [sys.executable, "-c", "import os; print(os.environ['MALLOC_CONF'])"]
    assert toolkit.run(show, tmp_path).stdout == "dirty_decay_ms:-1,muzzy_decay_ms:-1\n"


def test_a_missing_wheel_is_one_sentence(monkeypatch):
    monkeypatch.setattr(toolkit.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(toolkit.ToolkitMissingError, match=r"pip install .*nvrtc>=13.0,<13.1"):
        toolkit.root.__wrapped__()
    monkeypatch.setattr(toolkit.sys, "platform", "darwin")
    with pytest.raises(toolkit.ToolkitMissingError, match="only on Linux"):
        toolkit.root.__wrapped__()


def test_a_cuda_installation_is_taken_only_where_it_is_asked_for(monkeypatch, tmp_path):
    wheels = toolkit.root()
    (tmp_path / "lib64").mkdir()
    for name in toolkit.nvrtc_libraries():
        (tmp_path / "lib64" / name.name).symlink_to(name)
    monkeypatch.setenv("HALO_CUDA", str(tmp_path))
    toolkit.root.cache_clear()
    try:
        with pytest.raises(toolkit.ToolkitMissingError, match="expected a CUDA 13 installation"):
            toolkit.root()
        (tmp_path / "include").symlink_to(wheels / "include")
        assert toolkit.root() == tmp_path
        assert toolkit.nvrtc_libraries()[0].parent == tmp_path / "lib64"
    finally:
        monkeypatch.undo()
        toolkit.root.cache_clear()
    assert toolkit.root() == wheels
