"""The simulator finds what is wrong, counts what a GPU counts, and leaves right kernels alone."""

import os
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from instances import ONE_WARP, Kernels, kernel, only, require

from helpers import simulator
from helpers.simulator.compile.toolchain import CompileFailed
from helpers.simulator.launch.launch import TIME_LIMIT_S, launch
from helpers.simulator.machine import memory
from helpers.simulator.machine.faults import LaunchFault, LaunchRefused, MemoryFault, OutOfMemory
from helpers.simulator.program.module import load


def arrays(n: int) -> tuple[np.ndarray, np.ndarray, np.int32]:
    return np.full(n, np.nan, np.float32), np.arange(n, dtype=np.float32), np.int32(n)


# ---- right kernels ----


@pytest.mark.parametrize(
    ("n", "block"), [(1, 1), (1, 1024), (31, 32), (32, 32), (33, 32), (33, 1), (1000, 100)]
)
def test_a_guarded_copy_is_right_and_gives_no_finding(n, block):
    y, x, count = arrays(n)
    source = kernel("int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i < n) y[i] = 2 * x[i];")
    assert simulator.check(source, "k", y, x, count, grid=(-(-n // block),), block=(block,)) == ()
    np.testing.assert_array_equal(y, 2 * x)


def test_three_dimensional_grids_and_blocks_reach_every_thread_once():
    source = kernel(
        "int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);\n"
        "int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);\n"
        "y[block * blockDim.x * blockDim.y * blockDim.z + thread] += 1;",
        "float* y",
    )
    y = np.zeros(2 * 3 * 4 * 5 * 2 * 3, np.float32)
    assert simulator.check(source, "k", y, grid=(2, 3, 4), block=(5, 2, 3)) == ()
    np.testing.assert_array_equal(y, 1)


def halves_at_their_own_barriers(threads: int) -> str:
    """Return a kernel whose halves of 64 threads wait at two barriers, each for `threads`."""
    return kernel(
        "__shared__ float s[128];\nint t = threadIdx.x, half = t / 64;\ns[t] = x[t];\n"
        f'asm volatile("bar.sync %0, {threads};" :: "r"(half + 1) : "memory");\n'
        "y[t] = s[64 * half + 63 - t % 64];"
    )


def test_a_barrier_with_a_number_opens_when_so_many_threads_have_come():
    y, x, n = arrays(128)
    source = halves_at_their_own_barriers(64)
    assert simulator.check(source, "k", y, x, n, grid=(1,), block=(128,)) == ()
    np.testing.assert_array_equal(y, x.reshape(2, 64)[:, ::-1].ravel())


def test_a_barrier_with_a_number_stays_shut_when_too_few_threads_come():
    source = halves_at_their_own_barriers(96)
    found = only(simulator.check(source, "k", *arrays(128), grid=(1,), block=(128,)))
    assert (found.kind, found.severity, found.line) == ("barrier", "error", 6)


@pytest.mark.parametrize("where", ["inside", "outside"])
def test_dynamic_shared_memory_in_either_scope(where):
    declaration = "extern __shared__ float s[];"
    body = (
        "s[threadIdx.x] = x[threadIdx.x];\n__syncthreads();\ny[threadIdx.x] = s[31 - threadIdx.x];"
    )
    source = kernel(declaration + body) if where == "inside" else kernel(body, before=declaration)
    y, x, n = arrays(32)
    assert simulator.check(source, "k", y, x, n, shared=128, **ONE_WARP) == ()
    np.testing.assert_array_equal(y, x[::-1])
    finding = only(simulator.check(source, "k", y, x, n, shared=124, **ONE_WARP))
    assert (finding.kind, finding.array, finding.index) == ("out-of-bounds", "s", 31)


def test_constants_and_options():
    source = kernel(
        "y[threadIdx.x] = x[threadIdx.x] * c[WHICH];", before="__constant__ float c[3];"
    )
    y, x, n = arrays(32)
    constants = {"c": np.array([1, 10, 100], np.float32)}
    assert (
        simulator.check(
            source, "k", y, x, n, options=["-DWHICH=2"], constants=constants, **ONE_WARP
        )
        == ()
    )
    np.testing.assert_array_equal(y, 100 * x)


def test_two_modules_of_one_source_have_constants_of_their_own():
    source = kernel("y[0] = c;", "float* y", before="__constant__ float c;")
    first, second = load(source), load(source)
    memory.write(first.globals["c"].address, np.float32(1).tobytes(), 4)
    memory.write(second.globals["c"].address, np.float32(2).tobytes(), 4)
    address = memory.allocate(4)
    results = []
    for module in (first, second):
        launch(module.kernels["k"], address.to_bytes(8, "little"), (1,), (1,))
        out = np.empty(1, np.float32)
        memory.read(out, address, 4)
        results.append(out[0])
        module.close()
    memory.free(address)
    assert results == [1, 2]


# ---- structures, copies and fills ----


PARAMETERS = "float* y, const float* x, int n"
HALF = "#include <cuda_fp16.h>\n"
STRUCTS = "struct Two { float a, b; };\nstruct Six { float a[6]; };\n"


@pytest.mark.parametrize(
    ("element", "given"),
    [("__half", "__float2half(4)"), ("Two", "Two{1, 2}"), ("Six", "Six{1, 2, 3, 4, 5, 6}")],
)
def test_structs_are_given_and_returned_by_value(element, given):
    before = (
        f"{HALF}{STRUCTS}__device__ __noinline__ {element} same({element} given) "
        f"{{ {element} own = given;\nreturn own; }}"
    )
    body = (
        f"{element} own = same(given), made = same({given});\nbool equal = true;\n"
        "for (int k = 0; k < sizeof own; ++k) equal &= ((char*) &own)[k] == ((char*) &made)[k];\n"
        "y[threadIdx.x] = equal ? factor : -1;"
    )
    source = kernel(body, f"float* y, {element} given, float factor", before)
    bytes_given = {
        "__half": np.float16(4),
        "Two": np.float32([1, 2]),
        "Six": np.float32([1, 2, 3, 4, 5, 6]),
    }[element]
    module = load(source)
    address = memory.allocate(128)
    packed = bytearray(address.to_bytes(8, "little") + bytes_given.tobytes())
    packed += bytes(-len(packed) % 4) + np.float32(7).tobytes()
    report = launch(module.kernels["k"], bytes(packed), (1,), (32,))
    y = np.empty(32, np.float32)
    memory.read(y, address, 128)
    memory.free(address)
    module.close()
    assert report.findings == () and (y == 7).all()


def test_an_array_of_one_element_is_named_in_the_singular():
    y, x, n = np.zeros(1, np.float32), np.ones(32, np.float32), np.int32(32)
    found = simulator.check(kernel("y[threadIdx.x] = x[threadIdx.x];"), "k", y, x, n, **ONE_WARP)
    assert only(found).message.endswith("writes y[1], but y has only y[0]")


def test_a_memcpy_past_the_end_is_found():
    y, x, _ = arrays(32)
    source = kernel("memcpy(y + 1 + threadIdx.x, x + threadIdx.x, 4);", "float* y, const float* x")
    finding = only(simulator.check(source, "k", y, x, **ONE_WARP))
    require(finding, kind="out-of-bounds", array="y", index=32, line=3)


def test_a_loop_that_fills_or_copies_is_one_of_single_stores():
    fills = (
        "for (int j = 0; j < 200; ++j) y[threadIdx.x * 200 + j] = 0;\nfor (int j = 0; j < n; "
        "++j) y[threadIdx.x * 200 + j] = 0;"
    )
    copies = "for (int j = 0; j < n; ++j) y[threadIdx.x * 200 + j] = x[threadIdx.x * 200 + j];"
    y, x = np.zeros(6400, np.float32), np.zeros(6400, np.float32)
    found = simulator.profile(kernel(f"{fills}\n{copies}"), "k", y, x, np.int32(200), **ONE_WARP)
    assert (
        found.global_store_requests,
        found.global_load_requests,
        found.global_store_sectors,
    ) == (600, 200, 600 * 32)
    assert found.findings == ()


# ---- whatever a kernel does, the process goes on ----


def fault(body: str, before: str = "") -> simulator.Finding:
    y, x, n = arrays(32)
    return only(simulator.check(kernel(body, before=before), "k", y, x, n, **ONE_WARP))


def test_a_division_of_integers_by_zero_does_not_end_the_process():
    y, x, n = arrays(64)
    source = kernel(
        "int t = threadIdx.x, divisor = 5 - int(x[t]);\n"
        "y[t] = t / divisor;\ny[t + 32] = t % divisor;"
    )
    simulator.check(source, "k", y, x, n, **ONE_WARP)
    assert (y[7], y[32 + 7]) == (-3, 1)


def test_a_read_past_a_local_array_is_a_finding_that_names_it():
    finding = fault("float a[4] = {};\na[n % 5] = n;\ny[threadIdx.x] = a[int(x[threadIdx.x]) * n];")
    require(finding, kind="out-of-bounds", array="a", line=5, thread=(1, 0, 0))
    assert "a has 4 elements" in finding.message


# Each call takes 272 bytes of the stack by ptxas: 256 for the array, 16 for registers.
DEEP = """__device__ float deep(float x, int depth) {
    volatile float kept[64];
    for (int k = 0; k < 64; ++k) kept[k] = x + k;
    const float below = depth > 1 ? deep(x * 0.5f, depth - 1) : 0.0f;
    float sum = below;
    for (int k = 0; k < 64; ++k) sum += kept[k];
    return sum;
}
extern "C" __global__ void deep_calls(float* y, int depth) { y[threadIdx.x] = deep(1, depth); }"""


@pytest.mark.parametrize(("depth", "needed"), [(3, ""), (4, "1,088"), (12, "3,264")])
def test_recursion_beyond_the_stack_of_a_gpu_is_a_warning(depth, needed):
    y = np.zeros(64, np.float32)
    findings = simulator.check(DEEP, "deep_calls", y, np.int32(depth), grid=(1,), block=(64,))
    assert [(f.kind, f.severity) for f in findings] == [("resources", "warning")] * bool(needed)
    assert y[0] > 0
    for finding in findings:
        assert f"{needed} bytes of stack, and has 1,024" in finding.message
        assert "set_limit(pycuda.driver.limit.STACK_SIZE, " in finding.cause


def test_recursion_without_end_is_a_finding():
    before = (
        "__device__ __noinline__ float down(float* y, int n) { y[0] = n; return down(y, "
        "n + 1) + y[0]; }"
    )
    finding = fault("y[threadIdx.x] = down(y + threadIdx.x, 0);", before)
    assert (finding.kind, finding.thread) == ("fault", (0, 0, 0))
    assert "deeper than its stack" in finding.message


def test_a_trap_ends_the_launch_and_says_where():
    finding = fault("y[threadIdx.x] = 1;\nif (x[threadIdx.x] == 9) __trap();")
    assert (finding.kind, finding.line, finding.thread) == ("fault", 4, (9, 0, 0))


FAULTS_ELSEWHERE = """
import faulthandler, ctypes, numpy as np
faulthandler.enable()
from helpers import simulator
source = 'extern "C" __global__ void k(float* y) { y[threadIdx.x] = 1; }'
simulator.check(source, "k", np.zeros(32, np.float32), grid=(1,), block=(32,))
ctypes.string_at(0)
"""


def test_a_fault_that_is_not_a_kernels_goes_to_who_was_asked_before():
    done = subprocess.run(
        [sys.executable, "-c", FAULTS_ELSEWHERE], check=False, capture_output=True, text=True
    )
    assert (
        done.returncode == -signal.SIGSEGV
        and "Fatal Python error: Segmentation fault" in done.stderr
    )


# ---- CUDA C++ ----


def values(
    source: str, name: str, n: int = 4, dtype=np.float32, block: int = 1, **more
) -> np.ndarray:
    y = np.zeros(n, dtype)
    assert simulator.check(source, name, y, grid=(1,), block=(block,), **more) == ()
    return y


TEMPLATES = """
template <typename T, int N = 2> struct Pair { T first[N]; };
template <int N> __device__ float power(float x) { if constexpr (N == 0) return 1.0f;
    else return x * power<N - 1>(x); }
template <int N, typename T> __global__ void k(T* y, const Pair<T, N>* p, int n) {
  __shared__ T s[N][2];
  constexpr T table[3] = {1, 10, 100};
  s[threadIdx.x % N][0] = table[threadIdx.x % 3];
  __syncthreads();
  if (threadIdx.x < n) y[threadIdx.x] = power<N>(s[threadIdx.x % N][0]) + p->first[N - 1];
}
template __global__ void k<2, float>(float*, const Pair<float, 2>*, int);
template __global__ void k< 3 , double >(double* out, const Pair<double, 3>* p, int n);
template <> __global__ void k<7, float>(float* y, const Pair<float, 7>*, int) { y[0] = 7; }
"""


def test_instances_of_a_template_are_kernels():
    module = load(TEMPLATES)
    assert list(module.kernels) == ["k<2, float>", "k<3, double>", "k<7, float>"]
    kernel_of_doubles = module.kernels["k<3,double>"]
    assert kernel_of_doubles.mangled == "_Z1kILi3EdEvPT0_PK4PairIS0_XT_EEi"
    assert module.kernels[kernel_of_doubles.mangled] is kernel_of_doubles
    assert [
        (p.name, p.size, p.is_const, p.element_bytes) for p in kernel_of_doubles.parameters
    ] == [("y", 8, False, 8), ("p", 8, True, 24), ("n", 4, False, 0)]
    assert [k.static_shared for k in module.kernels.values()] == [16, 48, 0]
    module.close()


def test_an_instance_of_a_template_runs():
    y = np.zeros(2, np.float32)
    p, n = np.array([5, 6], np.float32), np.int32(2)
    assert simulator.check(TEMPLATES, "k<2,float>", y, p, n, grid=(1,), block=(2,)) == ()
    np.testing.assert_array_equal(y, [1 + 6, 100 + 6])


def test_an_instance_is_found_with_and_without_the_letter_of_an_unsigned_number():
    source = "template <unsigned N, int M> __global__ void k(float* y) { y[0] = N + M; }\n"
    module = load(source + "template __global__ void k<64, -1>(float*);")
    (only,) = module.kernels.values()
    for name in ("k<64, -1>", "k<64u,-1>", "k<64U, -1>"):
        assert module.kernels[name] is only
    with pytest.raises(KeyError, match="no kernel 'k<6, -1>'"):
        module.kernels["k<6, -1>"]
    module.close()


@pytest.mark.parametrize(
    ("name", "match"),
    [
        (
            "k",
            r"'k' may be any of k<2, float>, k<3, double>, k<7, float>: give "
            r"the full or the mangled name",
        ),
        ("k<4, float>", r"no kernel 'k<4, float>' in this source: it has k<2, float>"),
    ],
)
def test_an_ambiguous_or_missing_instance_is_named(name, match):
    with pytest.raises(ValueError, match=match):
        simulator.check(
            TEMPLATES,
            name,
            np.zeros(1, np.float32),
            np.zeros(2, np.float32),
            np.int32(1),
            **ONE_WARP,
        )


def test_a_template_without_an_instance_says_what_to_add():
    source = "template <int N> __global__ void k(float* y) { y[0] = N; }"
    with pytest.raises(
        ValueError, match=r"'k' is a template, but the source has no such instance of it: add one"
    ):
        simulator.check(source, "k", np.zeros(1, np.float32), **ONE_WARP)
    only_one = source + "\ntemplate __global__ void k<4>(float*);"
    assert values(only_one, "k")[0] == 4
    deduced = (
        "template <class T> __global__ void k(T* y) { y[0] = sizeof(T); "
        "}\ntemplate __global__ void k(double*);"
    )
    assert values(deduced, "k", dtype=np.float64)[0] == 8


NAMESPACES = """
namespace layers {
  constexpr int two = 2;
  struct Options { int a; float b; };
  namespace detail { __global__ void __launch_bounds__(two * 32, 1) scale(float* __restrict__ y,
      Options o) { y[0] = o.a * o.b; } }
  __global__ void scale(float* y) { y[0] = 1; }
  __global__ void scale(float* y, int n) { y[0] = n; }
}
namespace { __global__ void hidden(float* y) { y[0] = 3; } }
static __global__ void local(float* y) { y[0] = 4; }
void __global__ turned(float* y) { y[0] = 5; }
namespace a::b { extern "C" __global__ void plain(float* y) { y[0] = 6; } }
"""


def test_kernels_in_namespaces_overloaded_and_not_extern_c():
    module = load(NAMESPACES)
    assert list(module.kernels) == [
        "layers::detail::scale", "_ZN6layers5scaleEPf", "_ZN6layers5scaleEPfi", "hidden", "local",
        "turned", "plain"
    ]  # fmt: skip
    assert module.kernels["layers::detail::scale"].max_threads == 64
    assert module.kernels["plain"].mangled == "plain"
    assert module.kernels["_ZN6layers5scaleEPf"].parameters[0].name == "y"
    module.close()
    for name, want in (("hidden", 3), ("local", 4), ("turned", 5), ("plain", 6)):
        assert values(NAMESPACES, name)[0] == want
    y = np.zeros(1, np.float32)
    assert (
        simulator.check(NAMESPACES, "_ZN6layers5scaleEPfi", y, np.int32(9), grid=(1,), block=(1,))
        == ()
    )
    assert y[0] == 9
    with pytest.raises(ValueError, match="may be any of"):
        simulator.check(NAMESPACES, "scale", y, grid=(1,), block=(1,))


def test_kernels_that_macros_make_and_conditions_leave_out():
    source = """
#define KERNEL(T, NAME) extern "C" __global__ void NAME(T* y) { y[0] = sizeof(T); }
KERNEL(float, k4) KERNEL(double, k8)
#if 0
__global__ void never(float* y) { asm("trap;"); }
#endif
#ifdef WITH_EXTRA
extern "C" __global__ void extra(float* y) { y[0] = WITH_EXTRA; }
#endif
"""
    assert list(load(source).kernels) == ["k4", "k8"]
    assert values(source, "k8", dtype=np.float64)[0] == 8
    assert values(source, "extra", options=["-DWITH_EXTRA=5"])[0] == 5
    found = simulator.check(
        source.replace("WITH_EXTRA;", "y[4];"),
        "extra",
        np.zeros(4, np.float32),
        grid=(1,),
        block=(1,),
        options=[("-DWITH_EXTRA=5")],
    )
    assert (found[0].kind, found[0].line) == ("out-of-bounds", 8)


def test_a_finding_in_a_three_dimensional_shared_array_names_its_axes():
    source = kernel("__shared__ float s[2][3][4];\ny[0] = s[1][2][threadIdx.x];", "float* y")
    finding = only(simulator.check(source, "k", np.zeros(1, np.float32), grid=(1,), block=(1,)))
    assert (finding.kind, finding.array, finding.index) == ("uninitialised", "s", (1, 2, 0))


def test_several_kernels_of_one_source_have_their_own_shared_memory():
    source = "".join(
        f'extern "C" __global__ void k{j}(float* y) '
        f"{{ volatile __shared__ float s[{n}]; s[0] = {n}; y[0] = s[0]; }}\n"
        for j, n in enumerate((12000, 11000, 2))
    )
    module = load(source)
    assert [k.static_shared for k in module.kernels.values()] == [48000, 44000, 8]
    module.close()
    assert values(source, "k1")[0] == 11000


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (
            "__global__ void __cluster_dims__(2, 1, 1) k(int* y) { y[0] = 1; }",
            r"kernel\.cu:2: .*cannot run clusters of blocks",
        ),
        (
            '__global__ void k(int* y) { asm volatile("setmaxnreg.inc.sync.aligned.u32 232;"); }',
            r"kernel\.cu:2: .*cannot run .*setmaxnreg",
        ),
    ],
)
def test_what_cannot_run_is_refused_by_line(line, what):
    with pytest.raises(CompileFailed, match=what):
        load(f"\n{line}\n").kernels["k"].require_supported()


def test_a_kernel_in_a_header_is_refused_by_its_own_line(tmp_path):
    kernel = (
        "__global__ void k(float* y, cudaTextureObject_t t)\n{\n    y[0] = tex1D<float>(t, "
        "0.f);\n}\n"
    )
    (tmp_path / "sampled.cuh").write_text("#pragma once\n" + kernel)
    with pytest.raises(CompileFailed, match=r"^sampled\.cuh:4: .*cannot run .*tex\."):
        load('#include "sampled.cuh"\n', [f"-I{tmp_path}"]).kernels["k"].require_supported()


TWO_FORMS = """
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800 && !defined(HALO_SIMULATOR)
__device__ int lane() { int n; asm("mov.u32 %0, %laneid;" : "=r"(n)); return n; }
#else
__device__ int lane() { return threadIdx.x % 32; }
#endif
extern "C" __global__ void k(int* y) { y[threadIdx.x] = lane(); }
"""


def test_inline_ptx_beside_a_plain_form_is_left_out():
    y = np.zeros(64, np.int32)
    assert simulator.check(TWO_FORMS, "k", y, grid=(1,), block=(64,)) == ()
    assert y.tolist() == [*range(32), *range(32)]
    (found, *_) = simulator.check(TWO_FORMS, "k", y[:40].copy(), grid=(1,), block=(64,))
    assert (found.kind, found.line) == ("out-of-bounds", 7)


def test_inline_ptx_runs():
    source = kernel(
        'unsigned n;\nasm("mov.u32 %0, %laneid;" : "=r"(n));\ny[threadIdx.x] = n;', "float* y"
    )
    np.testing.assert_array_equal(values(source, "k", n=64, block=64), [*range(32), *range(32)])


def test_a_constant_table_of_a_kernel_is_no_array_of_the_device():
    source = kernel(
        "constexpr int order[8] = {3, 1, 2, 0, 7, 6, 5, 4};\ny[threadIdx.x] = order[threadIdx.x];",
        "float* y",
    )
    np.testing.assert_array_equal(values(source, "k", n=8, block=8), [3, 1, 2, 0, 7, 6, 5, 4])


# ---- findings ----


OUTSIDE = [
    ("y[threadIdx.x] = x[int(threadIdx.x) - 1];", -1, "reads"),
    ("y[threadIdx.x] = x[threadIdx.x + 1];", 32, "reads"),
    ("y[threadIdx.x + 1] = x[threadIdx.x];", 32, "writes"),
    ("y[threadIdx.x + 100000] = x[threadIdx.x];", 100000, "writes"),
]
LEAVING = Kernels([body for body, *_ in OUTSIDE], PARAMETERS)


@pytest.mark.parametrize(("body", "index", "verb"), OUTSIDE)
def test_out_of_bounds_names_array_index_length_thread_and_line(body, index, verb):
    y, x, n = arrays(32)
    finding = only(simulator.check(*LEAVING.of(body), y, x, n, **ONE_WARP))
    array = "x" if verb == "reads" else "y"
    require(finding, kind="out-of-bounds", array=array, index=index, line=LEAVING.line(body))
    assert f"{verb} {array}[{index}], but {array} has 32 elements" in str(finding)
    assert body in str(finding)
    assert finding.thread == ((0, 0, 0) if index in (-1, 100000) else (31, 0, 0))


def test_a_launch_stopped_at_a_finding_leaves_the_host_arrays_alone_and_the_next_launch_works():
    y, x, n = arrays(32)
    assert simulator.check(kernel("y[threadIdx.x] = 7;\ny[-1] = 0;"), "k", y, x, n, **ONE_WARP)
    assert np.isnan(y).all()
    assert (
        simulator.check(kernel("y[threadIdx.x] = x[threadIdx.x];"), "k", y, x, n, **ONE_WARP) == ()
    )


def test_a_null_pointer_is_out_of_bounds():
    module = load(kernel("y[0] = 1;", "float* y"))
    with pytest.raises(LaunchFault, match=r"outside\s+every\s+array|but|null"):
        launch(module.kernels["k"], bytes(8), (1,), (1,))


def test_a_row_overrun_inside_a_shared_array_is_found():
    source = kernel(
        "__shared__ float s[4][8];\nfor (int r = 0; r < 4; ++r) s[r][threadIdx.x] = 0;", "float* y"
    )
    finding = only(simulator.check(source, "k", np.zeros(1, np.float32), grid=(1,), block=(9,)))
    require(finding, kind="out-of-bounds", array="s", index=8, thread=(8, 0, 0))


def test_a_write_to_constant_memory_is_refused():
    source = kernel("const_cast<float*>(c)[0] = 1;", "float* y", before="__constant__ float c[2];")
    finding = only(simulator.check(source, "k", np.zeros(1, np.float32), grid=(1,), block=(1,)))
    assert "constant memory" in finding.message


def test_a_race_with_several_readers_names_another_thread_than_the_writer():
    body = (
        "__shared__ float s[1];\ns[0] = 1;\n__syncthreads();\ny[threadIdx.x] = s[0];\nif "
        "(threadIdx.x == 31) s[0] = 2;"
    )
    race = simulator.check(kernel(body), "k", *arrays(32), **ONE_WARP)[-1]
    assert (race.kind, race.thread) == ("race", (31, 0, 0))
    assert "which thread (0, 0, 0) read" in race.message


def test_every_block_writing_one_cell_is_a_race():
    finding = only(
        simulator.check(
            kernel("y[0] = blockIdx.x;", "float* y"),
            "k",
            np.zeros(1, np.float32),
            grid=(2,),
            block=(1,),
        )
    )
    assert (finding.kind, finding.index, finding.block) == ("race", 0, (1, 0, 0))
    assert "nothing orders two blocks" in finding.message


MANY = {"grid": (3,), "block": (96,)}
INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;\n"


COMMON = [
    "*changed = 1;",
    "if (threadIdx.x % 3) *changed = 1;",
    "if (threadIdx.x < 40) *changed = 1;\nelse *changed = n - 287;",
    "changed[i % 7] = i % 7 + 100;",
    "__shared__ char seen[5];\nif (threadIdx.x < 5) seen[threadIdx.x] = 0;\n__syncthreads();\n"
    "seen[i * i % 5] = 1;\n__syncthreads();\nif (i < 2) changed[i] = seen[i];",
    "((float4*)changed)[i % 2] = make_float4(1, 2, 3, 4);",
]
COMMON_KERNELS = Kernels([INDEX + body for body in COMMON], "int* changed, int n")


@pytest.mark.parametrize("body", COMMON)
def test_one_value_that_many_threads_store_is_no_race(body):
    changed = np.zeros(8, np.int32)
    assert simulator.check(*COMMON_KERNELS.of(INDEX + body), changed, np.int32(288), **MANY) == ()
    assert changed.any()


def test_a_profile_says_that_many_threads_store_one_value():
    source = kernel(
        "if (threadIdx.x % 2) *changed = 1;\nchanged[1 + threadIdx.x] = 2;", "int* changed"
    )
    found = simulator.profile(source, "k", np.zeros(65, np.int32), grid=(1,), block=(64,))
    assert found.findings == ()
    assert [(row.line, row.repeated) for row in found.lines] == [(3, 31), (4, 0)]
    assert "line 3 stores what another thread has just put in changed: the values are equal" in str(
        found
    )


DIFFERENT = [
    "*changed = i / 287;",  # only the last thread's differs
    "*changed = threadIdx.x == 31;",
    "*changed = 1;\nif (i == 95) *changed = 2;",
    "*changed = 1;\nif (i == 287) *changed = 0;",
    "if (i == 40) *changed = 0;\n*changed = 1;",
    "changed[i % 7] = i % 5;",
    "*changed = 1;\nif (threadIdx.x == 32) changed[2] = *changed;",
    "__shared__ volatile int s;\nif (threadIdx.x < 64) s = 1;\nchanged[1 + i] = s;",
    "((int2*)changed)[0] = make_int2(1, i);",
    "((char*)changed)[i % 4] = 1;\nif (i % 4 == 3) *changed = 0x01010100;",
]
DIFFERENT_KERNELS = Kernels([INDEX + body for body in DIFFERENT], "int* changed")


@pytest.mark.parametrize("body", DIFFERENT)
def test_different_values_and_reads_of_a_common_one_race(body):
    source, name = DIFFERENT_KERNELS.of(INDEX + body)
    findings = simulator.check(source, name, np.zeros(300, np.int32), **MANY)
    assert {finding.kind for finding in findings} == {"race"}


def test_fresh_device_memory_is_poisoned_and_reading_it_is_found():
    source = kernel("y[threadIdx.x] = y[threadIdx.x] + 1;", "float* y")
    module, address = load(source), memory.allocate(128)
    report = launch(module.kernels["k"], address.to_bytes(8, "little"), (1,), (32,))
    out = np.zeros(32, np.float32)
    memory.read(out, address, 128)
    memory.free(address)
    assert only(report.findings).kind == "uninitialised"
    assert np.isnan(out).all()


TAIL = kernel("int i = blockIdx.x * blockDim.x + threadIdx.x;\nif (i < n) y[i] = x[i];")


def test_an_output_that_is_not_wholly_written_is_a_warning_at_the_store():
    y, x, n = arrays(40)
    finding = only(simulator.check(TAIL, "k", y, x, n, **ONE_WARP))
    require(finding, kind="unwritten", severity="warning", array="y", index=32, line=4)
    assert "leaves 8 of the 40 elements of y unwritten: the first is y[32]" in finding.message
    assert simulator.check(TAIL, "k", y, x, n, grid=(2,), block=(32,)) == ()


def test_only_declared_or_nan_outputs_must_be_written():
    x, n = np.arange(40, dtype=np.float32), np.int32(40)
    zeros = np.zeros(40, np.float32)
    assert simulator.check(TAIL, "k", zeros, x, n, **ONE_WARP) == ()
    declared = only(simulator.check(TAIL, "k", zeros, x, n, outputs=("y",), **ONE_WARP))
    assert (declared.kind, declared.array) == ("unwritten", "y")
    assert np.isnan(zeros[32:]).all()
    assert not np.isnan(zeros[:32]).any()
    assert (
        simulator.check(TAIL, "k", np.full(40, np.nan, np.float32), x, n, outputs=(), **ONE_WARP)
        == ()
    )
    with pytest.raises(ValueError, match=r"outputs names z; the pointers of k are y, x"):
        simulator.check(TAIL, "k", zeros, x, n, outputs=("z",), **ONE_WARP)


def test_an_output_that_nothing_is_written_to():
    finding = only(simulator.check(kernel("if (n < 0) y[0] = x[0];"), "k", *arrays(40), **ONE_WARP))
    assert (finding.kind, finding.line) == ("unwritten", 2)
    assert "writes nothing to y" in finding.message


def test_a_declared_output_that_is_read_first_is_uninitialised():
    source = kernel("y[threadIdx.x] += 1;", "int* y")
    y = np.zeros(32, np.int32)
    assert simulator.check(source, "k", y, **ONE_WARP) == ()
    assert only(simulator.check(source, "k", y, outputs=("y",), **ONE_WARP)).kind == "uninitialised"


def test_a_return_above_a_barrier_is_a_warning_and_the_launch_goes_on():
    y, x, n = arrays(20)
    body = "int i = threadIdx.x;\nif (i >= n) return;\n__syncthreads();\ny[i] = x[i];"
    finding = only(simulator.check(kernel(body), "k", y, x, n, **ONE_WARP))
    assert (finding.kind, finding.severity, finding.line) == ("barrier", "warning", 5)
    np.testing.assert_array_equal(y, x)


@pytest.mark.parametrize(
    "body",
    [
        "for (;;) {}",
        "float s = 0;\nfor (;;) s += 1;\ny[0] = s;",
        "volatile float* p = y;\nwhile (p[0] != 3) {}",
    ],
)
def test_a_runaway_kernel_is_stopped_by_the_time_limit(body):
    y = np.zeros(1, np.float32)
    finding = only(
        simulator.check(kernel(body, "float* y"), "k", y, grid=(1,), block=(1,), time_limit=0.1)
    )
    assert finding.kind == "runaway"


@pytest.fixture
def ctrl_c():
    """SIGINT raises KeyboardInterrupt, also where a shell started the tests in the background,
    which ignores it.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_stops_a_runaway_kernel_and_the_next_launch_works(ctrl_c):
    source = kernel("volatile float* p = y;\nfor (unsigned i = 0;; ++i) p[0] = i;", "float* y")
    y = np.zeros(1, np.float32)
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        simulator.check(source, "k", y, grid=(1,), block=(1,))
    assert time.monotonic() - started < TIME_LIMIT_S / 2
    assert simulator.check(kernel("y[0] = 1;", "float* y"), "k", y, grid=(1,), block=(1,)) == ()


# ---- counters ----


def test_lanes_that_leave_a_branch_early_meet_the_others_again():
    """Lane 0 skips the first of three loads; the other two still go as one request of 32 lanes
    each.
    """
    body = (
        "int i = threadIdx.x;\nfloat s = 0;\nfor (int j = -1; j <= "
        "1; ++j)\nif (i + j >= 0 && i + j < n) s += x[i + j];\ny[i] = s;"
    )
    y, x, n = arrays(64)
    profile = simulator.profile(kernel(body), "k", y, x, n, **ONE_WARP)
    loads = [r for r in profile.requests if r.kind == "load"]
    assert [len(r.lanes) for r in loads] == [31, 32, 32]
    assert loads[0].offsets == tuple(4 * k for k in range(31))


def test_loops_of_unequal_length_do_not_misalign_what_follows():
    body = (
        "int i = threadIdx.x;\nfloat s = 0;\nfor (int j = 0; j < i % 3; ++j) s += x[j];\n"
        "for (int j = 0; j < 4; ++j) s += x[i + j];\ny[i] = s;"
    )
    y, x, n = arrays(64)
    profile = simulator.profile(kernel(body), "k", y, x, n, **ONE_WARP)
    counts = [len(r.lanes) for r in profile.requests if r.kind == "load" and r.line == 6]
    assert counts == [32, 32, 32, 32]


def test_a_long_trace_is_merged_in_parts_and_counts_the_same():
    body = (
        "int i = threadIdx.x;\nfloat s = 0;\nfor (int j = 0; j < 40000; "
        "++j) s += x[(i + j) % n];\ny[i] = s;"
    )
    y, x, n = arrays(64)
    profile = simulator.profile(kernel(body), "k", y, x, n, **ONE_WARP)
    assert profile.global_load_requests == 40000


# Strides of lanes in shared memory, and how many passes a load takes.
WAVEFRONTS = {1: 1, 2: 2, 4: 4, 17: 1, 32: 32, 33: 1, 0: 1}


def strided_in_shared(stride: int) -> str:
    return (
        "__shared__ float s[32 * 34];\nfor (int k = threadIdx.x; k < 32 * 34; "
        "k += 32) s[k] = k;\n__syncthreads();\n"
        f"y[threadIdx.x] = s[threadIdx.x * {stride}];"
    )


STRIDED_IN_SHARED = Kernels(map(strided_in_shared, WAVEFRONTS), PARAMETERS)


@pytest.mark.parametrize(("stride", "wavefronts"), WAVEFRONTS.items())
def test_bank_conflicts_of_strided_shared_loads(stride, wavefronts):
    source, name = STRIDED_IN_SHARED.of(strided_in_shared(stride))
    profile = simulator.profile(source, name, *arrays(32), **ONE_WARP)
    assert profile.shared_load_wavefronts == wavefronts
    assert profile.shared_load_conflicts == wavefronts - 1


def test_vector_loads_are_one_request_of_sixteen_bytes():
    body = (
        "reinterpret_cast<float4*>(y)[threadIdx.x] = reinterpret_cast<const "
        "float4*>(x)[threadIdx.x];"
    )
    y, x, n = arrays(128)
    profile = simulator.profile(kernel(body), "k", y, x, n, **ONE_WARP)
    assert (profile.global_load_requests, profile.global_load_sectors) == (1, 16)
    assert (profile.global_store_requests, profile.global_store_sectors) == (1, 16)
    assert profile.requests[0].size == 16
    np.testing.assert_array_equal(y, x)


def test_the_watched_warp_can_be_any():
    source = kernel("int i = blockIdx.x * blockDim.x + threadIdx.x;\ny[i] = x[i];")
    profile = simulator.profile(
        source, "k", *arrays(256), grid=(2,), block=(128,), watch=((1, 0, 0), 2)
    )
    assert profile.requests[0].offsets == tuple(4 * (128 + 64 + lane) for lane in range(32))


def test_a_sample_of_blocks_says_so():
    source = kernel("int i = blockIdx.x * blockDim.x + threadIdx.x;\ny[i] = x[i];")
    profile = simulator.profile(source, "k", *arrays(256), grid=(8,), block=(32,), sample_every=4)
    assert (profile.blocks_run, profile.blocks, profile.global_load_requests) == (2, 8, 2)
    assert "2 of 8 blocks" in str(profile)


def test_a_profile_prints_its_lines_and_findings():
    profile = simulator.profile(
        kernel("y[threadIdx.x] = x[threadIdx.x + 1];"), "k", *arrays(32), **ONE_WARP
    )
    assert not profile.completed
    for text in (str(profile), profile._repr_html_()):
        assert "x[32]" in text and "partial" in text


# ---- bad input ----


@pytest.mark.parametrize(
    ("shape", "match"),
    [
        ({"grid": (1,), "block": (1025,)}, "1025"),
        ({"grid": (1,), "block": (32, 33)}, "1,056 threads"),
        ({"grid": (0,), "block": (32,)}, "at least 1"),
        ({"grid": (1,), "block": (32,), "shared": 300_000}, "300,000 bytes"),
    ],
)
def test_launches_that_a_gpu_refuses(shape, match):
    source = kernel("y[0] = 0;")
    finding = only(simulator.check(source, "k", *arrays(4), **shape))
    assert (finding.kind, finding.severity, finding.line) == ("resources", "error", 2)
    assert re.search(match, finding.message)
    with pytest.raises(LaunchRefused, match=match):
        simulator.profile(source, "k", *arrays(4), **shape)


def test_a_block_beyond_the_launch_bounds_is_refused():
    source = "#define MOST (2 * 32)\n" + kernel("y[threadIdx.x] = 0;", "float* y").replace(
        "void k", ("void __launch_bounds__(MOST, 2) k")
    )
    finding = only(simulator.check(source, "k", np.zeros(96, np.float32), grid=(1,), block=(96,)))
    assert finding.kind == "resources"
    assert "96 threads, 64 at most by its __launch_bounds__" in finding.message
    assert simulator.check(source, "k", np.zeros(64, np.float32), grid=(1,), block=(64,)) == ()


@pytest.mark.parametrize(
    ("args", "error", "match"),
    [
        (
            (np.zeros(4, np.float32), np.zeros(4, np.float32)),
            TypeError,
            "takes 3 arguments, but the launch gives 2",
        ),
        ((np.zeros(4, np.float32), np.zeros(4, np.float32), 4), TypeError, "NumPy scalar"),
        (
            (np.zeros(4, np.float32), np.zeros(4, np.float32), np.float32(4)),
            TypeError,
            "does not fit",
        ),
        (
            (np.zeros(4, np.float32), np.zeros(4, np.float32), np.int64(4)),
            TypeError,
            "does not fit",
        ),
        (
            (np.zeros((4, 4), np.float32).T, np.zeros(4, np.float32), np.int32(4)),
            ValueError,
            "C-contiguous|strides",
        ),
        (
            (np.zeros(8, np.float32)[::2], np.zeros(4, np.float32), np.int32(4)),
            ValueError,
            "C-contiguous",
        ),
        ((np.zeros(0, np.float32), np.zeros(4, np.float32), np.int32(4)), ValueError, "empty"),
        (([1.0], np.zeros(4, np.float32), np.int32(4)), TypeError, "got list"),
    ],
)
def test_arguments_that_do_not_fit(args, error, match):
    if args[0] is not None and getattr(args[0], "ndim", 1) == 2:
        args = (np.asfortranarray(np.zeros((4, 3), np.float32)), *args[1:])
    with pytest.raises(error, match=match):
        simulator.check(kernel("y[0] = x[0];"), "k", *args, **ONE_WARP)


def test_words_in_comments_and_strings_are_not_code():
    body = (
        '// asm("x") <<< __global__ void ghost(int a) {\n/* extern __shared__ float s[]; '
        '*/ const char* t = "<<<";\n'
        "y[0] = t[0] == 0;"
    )
    y = np.zeros(1, np.float32)
    module = load(kernel(body, "float* y"))
    assert list(module.kernels) == ["k"]
    assert y[0] == 0


@pytest.mark.parametrize(
    ("before", "what"), [("__constant__ float c[20000];", "constant"), ("", "static shared")]
)
def test_too_much_constant_or_static_shared_memory(before, what):
    body = (
        "y[0] = c[threadIdx.x];"
        if before
        else "__shared__ float s[20000];\ns[threadIdx.x] = 1;\n__syncthreads();\ny[0] = s[31];"
    )
    with pytest.raises(CompileFailed, match=f"80,000 bytes of {what}"):
        simulator.check(kernel(body, before=before), "k", *arrays(32), **ONE_WARP)


def test_unknown_kernel_and_constant():
    good = kernel("y[0] = 0;")
    with pytest.raises(ValueError, match="it has k"):
        simulator.check(good, "kk", *arrays(4), **ONE_WARP)
    with pytest.raises(ValueError, match="no constant 'c'"):
        simulator.check(good, "k", *arrays(4), constants={"c": np.zeros(1)}, **ONE_WARP)


def test_host_copies_outside_an_allocation_are_refused():
    address = memory.allocate(64)
    with pytest.raises(MemoryFault, match="the allocation has 64 bytes"):
        memory.write(address, bytes(65), 65)
    memory.free(address)
    with pytest.raises(MemoryFault, match="it is not the start of a live"):
        memory.free(address)
    with pytest.raises(OutOfMemory, match=r"cannot allocate .* of the simulator"):
        memory.allocate(memory.TOTAL + 1)


# ---- several workers ----


@pytest.fixture
def three_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)


def launched(source: str, *args: np.ndarray, grid: int, block: int = 256, name="k", **more):
    """Launches a kernel with these arrays; the report and what the first array holds afterwards."""
    module = load(source, file="k.cu")
    addresses = [memory.allocate(a.nbytes) for a in args]
    try:
        for address, array in zip(addresses, args, strict=True):
            memory.write(address, array, array.nbytes)
        packed = b"".join(address.to_bytes(8, "little") for address in addresses)
        report = launch(module.kernels[name], packed, (grid,), (block,), **more)
        result = np.empty_like(args[0])
        memory.read(result, addresses[0], result.nbytes)
        return report, result
    finally:
        for address in addresses:
            memory.free(address)
        module.close()


TILE = (
    "__shared__ float s[256];\ns[threadIdx.x] = "
    "x[i];\n__syncthreads();\ny[i] = s[255 - threadIdx.x] + x[0];"
)


@pytest.mark.parametrize(
    ("c_type", "dtype"),
    [
        ("float", np.float32),
        (("unsigned char"), np.uint8),
        ("short", np.int16),
        ("double", np.float64),
    ],
)
def test_several_workers_share_a_right_launch(three_cores, c_type, dtype):
    x = (np.arange(512 * 256) % 100).astype(dtype)
    source = kernel(INDEX + TILE.replace("float", c_type), f"{c_type}* y, const {c_type}* x")
    report, y = launched(source, np.zeros_like(x), x, grid=512)
    assert (report.workers, report.findings) == (3, ())
    np.testing.assert_array_equal(y, x.reshape(512, 256)[:, ::-1].ravel() + x[0])


DOUBTED = [
    ("y[i] = y[i] + y[(i + 1) % (512 * 256)];", "race"),  # between neighbouring blocks only
    # Two blocks, far apart.
    ("if (i == 300 * 256 || i == 511 * 256) y[7] = i;\nelse if (i != 7) y[i] = 1;", "race"),
    ("if (blockIdx.x == 500) y[threadIdx.x / 2] = threadIdx.x;", "race"),  # within one block
    ("if (i != 99999) y[i] = 1;\nelse y[1 << 20] = 1;", "out-of-bounds"),
    ("volatile __shared__ float s[256];\ny[i] = i == 77777 ? s[0] : 0;", "uninitialised"),
]
DOUBTED_KERNELS = Kernels([INDEX + body for body, _ in DOUBTED], "float* y")


@pytest.mark.parametrize(("body", "kind"), DOUBTED)
def test_what_several_workers_doubt_one_finds_the_same_each_time(three_cores, body, kind):
    start = np.arange(512 * 256, dtype=np.float32)
    alone, want = _outcome(DOUBTED_KERNELS.of(INDEX + body), start, workers=1)
    for _ in range(2):
        findings, got = _outcome(DOUBTED_KERNELS.of(INDEX + body), start)
        assert [str(f) for f in findings] == [str(f) for f in alone]
        assert findings[0].kind == kind
        np.testing.assert_array_equal(got, want)


def _outcome(source_and_name, start, **more):
    source, name = source_and_name
    try:
        report, result = launched(source, start, grid=512, name=name, **more)
    except LaunchFault as fault:
        return fault.report.findings, None
    assert report.workers == 1
    return report.findings, result


@pytest.mark.parametrize(
    "body", ["atomicAdd(y, 1.0f);", 'if (i == 5) printf("x");', "if (i == 0) y[0] = clock64();"]
)
def test_one_worker_runs_what_shows_the_order_of_blocks(three_cores, body, capsys):
    report, _ = launched(kernel(INDEX + body, "float* y"), np.zeros(4, np.float32), grid=512)
    assert (report.workers, report.findings) == (1, ())


def test_atomics_of_a_macro_are_run_by_one_worker_too(three_cores, tmp_path):
    (tmp_path / "more.h").write_text("#define ADD(p) atomicAdd(p, 1.0f)\n")
    source = kernel(INDEX + "ADD(y + i % 4);", "float* y", '#include "more.h"')
    y = np.zeros(4, np.float32)
    assert (
        simulator.check(source, "k", y, grid=(512,), block=(256,), options=[f"-I{tmp_path}"]) == ()
    )
    np.testing.assert_array_equal(y, 512 * 64)


def test_a_runaway_is_stopped_in_every_worker(three_cores):
    source = kernel(INDEX + "while (y[i % 4] == 0) {}", "volatile float* y")
    started = time.monotonic()
    finding = only(
        simulator.check(
            source, "k", np.zeros(4, np.float32), grid=(512,), block=(256,), time_limit=0.3
        )
    )
    assert finding.kind == "runaway"
    assert time.monotonic() - started < 30


# Arguments of `check` that are of no use, and what the error says of each.
ODD = {
    "no name": ({"name": None}, "kernel's name is a text, got NoneType"),
    "options that are none": ({"options": None}, "options takes a list"),
    "an option that is a number": ({"options": [3]}, "an option of the compiler is a text"),
    "outputs as a number": ({"outputs": 3}, "outputs takes a list of names"),
    "an output that is none": ({"outputs": [None]}, "outputs takes a list of names"),
    "a surrogate": ({"source": "// \udc80\n"}, "half of a surrogate pair .in line 1"),
    "a NUL in the source": ({"source": "\n\0"}, "NUL byte .in line 2"),
    "a NUL in an option": ({"options": ["-DX=\0"]}, "an option has a NUL byte"),
    "options that contradict": (
        {"options": ["-fmad=false", "-DN=3", "--fmad", "true"]}, "-fmad=false and -fmad=true",
    ),
    "two architectures": (
        {"options": ["-arch=sm_80", "--gpu-architecture=sm_90"]}, "-arch=sm_80 and -arch=sm_90",
    ),
    "bytes for numbers": ({"x": np.zeros(4, "S4")}, "holds no numbers"),
    "a masked array": ({"x": np.ma.zeros(4, np.float32)}, "a masked array, whose mask"),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_an_odd_argument_is_named(name):
    given, words = ODD[name]
    y = np.zeros(4, np.float32)
    about = {"name": "k", "source": "", "x": np.ones(4, np.float32), **given}
    source = about.pop("source") + kernel("y[threadIdx.x] = x[threadIdx.x];")
    kernel_name, x = about.pop("name"), about.pop("x")
    launch = {"grid": (1,), "block": (4,), **about}
    with pytest.raises((TypeError, ValueError), match=words):
        simulator.check(source, kernel_name, y, x, np.int32(4), **launch)
