"""Kernels that PyCUDA writes for a program, and the names by which a program finds its own."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from helpers import simulator
from helpers.simulator import pycuda_api

# Importing it makes the context.
from helpers.simulator.pycuda_api import (
    autoprimaryctx,  # noqa: F401
    characterize,
    compiler,
    cumath,
    gpuarray,
    tools,
)
from helpers.simulator.pycuda_api import driver as cuda
from helpers.simulator.pycuda_api.compiler import DynamicModule, DynamicSourceModule, SourceModule
from helpers.simulator.pycuda_api.elementwise import ElementwiseKernel, get_elwise_kernel
from helpers.simulator.pycuda_api.reduction import ReductionKernel, get_dot_kernel, get_sum_kernel
from helpers.simulator.pycuda_api.scan import ExclusiveScanKernel, InclusiveScanKernel

# ---- memory that kernels allocate ----

HEAP = """
struct Node { int value; Node *next; };
extern "C" {
__device__ Node *head;
__device__ int *kept;
__global__ void push(int n) {
    for (int i = 0; i < n; i++) {
        Node *one = new Node;
        one->value = i; one->next = head; head = one;
    }
}
__global__ void total(int *out) {
    int sum = 0;
    for (Node *one = head; one; one = one->next) sum += one->value;
    out[0] = sum;
}
__global__ void clear() { while (head) { Node *one = head; head = one->next; delete one; } }
__global__ void get(int *out, int n) {
    int *fresh = (int *)malloc(n);
    out[0] = fresh != 0;
    if (fresh) kept = fresh;
    for (int i = 0; i < 3 && fresh; i++) fresh[i] = i;
}
__global__ void read(int *out, int k) { out[0] = kept[k]; }
__global__ void drop() { free(kept); }
}"""


class Heap:
    """A program whose kernels share what they allocate."""

    def __init__(self):
        self.module = SourceModule(HEAP, no_extern_c=True)

    def run(self, name: str, *numbers: int) -> int:
        out = np.zeros(1, np.int32)
        outputs = [cuda.Out(out)] if name in ("total", "get", "read") else []
        self.module.get_function(name)(*outputs, *map(np.int32, numbers), block=(1, 1, 1))
        return int(out[0])


def test_what_a_kernel_allocates_lives_until_it_is_freed():
    heap = Heap()
    heap.run("push", 10)
    assert heap.run("total") == 45 and heap.run("push", 5) == 0 and heap.run("total") == 55
    heap.run("clear")
    assert heap.run("total") == 0
    assert heap.run("get", 12) and heap.run("read", 2) == 2
    assert not pycuda_api.findings()


@pytest.mark.parametrize(
    ("last", "words"),
    [
        (("read", 3), "at byte 12 of the 12 bytes that malloc or new gave"),
        (("drop", "read", 0), "of the 12 bytes that malloc or new gave the kernel, after they"),
        (("drop", "drop"), "frees memory that has been freed before"),
    ],
)
def test_a_later_kernel_misuses_what_another_one_allocated(last, words):
    heap = Heap()
    heap.run("get", 12)
    *first, (name, *numbers) = _calls(last)
    for one, *more in first:
        heap.run(one, *more)
    with pytest.raises(cuda.LaunchError) as refused:
        heap.run(name, *numbers)
    assert words in " ".join(str(refused.value).split())


def _calls(words):
    calls: list[list] = []
    for word in words:
        if isinstance(word, str):
            calls.append([])
        calls[-1].append(word)
    return calls


def test_the_heap_is_as_large_as_the_program_asks_and_no_check_takes_from_it():
    heap, size = Heap(), cuda.Context.get_limit(cuda.limit.MALLOC_HEAP_SIZE)
    assert heap.run("get", 5 << 20) == 1 and heap.run("get", 5 << 20) == 0
    source = "__global__ void k(int *y) { int *p = (int *)malloc(5 << 20); *y = p != 0; free(p); }"
    y = np.zeros(1, np.int32)
    assert simulator.check(source, "k", y, grid=(1,), block=(1,)) == () and y[0] == 1
    cuda.Context.set_limit(cuda.limit.MALLOC_HEAP_SIZE, 16 << 20)
    try:
        assert heap.run("read", 2) == 2 and heap.run("drop") == 0 and heap.run("get", 12 << 20)
        heap.run("drop")
    finally:
        cuda.Context.set_limit(cuda.limit.MALLOC_HEAP_SIZE, size)


# ---- element by element ----


@pytest.fixture(scope="module")
def combine():
    return ElementwiseKernel(
        "float a, float *x, float b, float *y, float *z", "z[i] = a*x[i] + b*y[i]", "combine"
    )


def test_elementwise(combine):
    x, y = np.arange(1000, dtype=np.float32), np.ones(1000, np.float32)
    z = gpuarray.zeros(1000, np.float32)
    combine(5, gpuarray.to_gpu(x), 6, gpuarray.to_gpu(y), z)
    np.testing.assert_array_equal(z.get(), 5 * x + 6)
    assert not pycuda_api.findings()


@pytest.mark.parametrize(
    "piece", [slice(5, 900), slice(5, 900, 17), slice(300, 5, -1), slice(100, -1), slice(4, 4)]
)
@pytest.mark.parametrize("keyword", ["slice", "range"])
def test_elementwise_of_a_part(piece, keyword):
    seven = ElementwiseKernel("int *z", "z[i] = 7", "seven")
    array, want = gpuarray.zeros(1000, np.int32), np.zeros(1000, np.int32)
    want[piece] = 7
    seven(array, **{keyword: piece if keyword == "slice" else slice(*piece.indices(1000))})
    np.testing.assert_array_equal(array.get(), want)


def test_elementwise_with_a_preamble_and_complex_numbers():
    kernel = ElementwiseKernel(
        "pycuda::complex<float> *x, pycuda::complex<float> *y, float *size",
        "y[i] = turned(x[i]); size[i] = abs(x[i])",
        "turn",
        preamble="__device__ pycuda::complex<float> turned(pycuda::complex<float> z) "
        "{ return exp(pycuda::complex<float>(0, 1)) * conj(z); }",
    )
    values = (np.arange(40) + 1j * np.arange(40, 0, -1)).astype(np.complex64)
    got, sizes = gpuarray.zeros(40, np.complex64), gpuarray.zeros(40, np.float32)
    kernel(gpuarray.to_gpu(values), got, sizes)
    np.testing.assert_allclose(got.get(), np.exp(1j) * values.conj(), rtol=1e-6)
    np.testing.assert_allclose(sizes.get(), np.abs(values), rtol=1e-6)


def test_complex_functions():
    functions = ["exp", "log", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh"]
    arrays = ["x", *(f"y_{f}" for f in functions)]
    kernel = ElementwiseKernel(
        ", ".join(f"pycuda::complex<double> *{name}" for name in arrays),
        "; ".join(f"y_{f}[i] = {f}(x[i])" for f in functions),
        "complex_functions",
    )
    values = np.array([0.5 + 1j, -0.5 + 0.25j, -1 - 2j, 2 - 0.125j, -3 + 0j])
    got = [gpuarray.zeros(5, np.complex128) for _ in functions]
    kernel(gpuarray.to_gpu(values), *got)
    for function, array in zip(functions, got, strict=True):
        want = getattr(np, function)(values)
        np.testing.assert_allclose(array.get(), want, rtol=1e-12, err_msg=function)


def test_an_index_out_of_bounds_in_an_operation_is_named():
    shift = ElementwiseKernel("const float *x, float *y", "y[i] = x[i + 1]", "shift")
    array = gpuarray.ones(100, np.float32)
    with pytest.raises(cuda.LaunchError, match=r"x\[100\]"):
        shift(array, gpuarray.empty(100, np.float32))
    (finding,) = pycuda_api.findings()
    assert finding.kind == "out-of-bounds"


def test_wrong_use_of_elementwise(combine):
    good = gpuarray.ones(10, np.float32)
    with pytest.raises(RuntimeError, match="non-contiguous"):
        combine(1, good[::2], 1, good[::2], good[::2])
    with pytest.raises(TypeError, match="takes 5 arguments, got 2"):
        combine(1, good)
    with pytest.raises(TypeError, match=r"`float \*x`, must be a GPUArray, got ndarray"):
        combine(1, np.ones(10, np.float32), 1, good, good)
    with pytest.raises(
        cuda.LogicError,
        match=r"parameter #3 \(0-based\) of combine, `float \*y`, points to float32.*float64",
    ):
        combine(1, good, 1, gpuarray.ones(10, np.float64), good)
    with pytest.raises(TypeError, match="not both"):
        combine(1, good, 1, good, good, range=slice(3), slice=slice(3))
    with pytest.raises(AssertionError, match="at least one array"):
        ElementwiseKernel("float a", "a = 1")(1)
    with pytest.raises(cuda.CompileError, match=r"kernel\.cu\(.*nowhere"):
        ElementwiseKernel("float *x", "x[i] = nowhere", "broken")(good)


def test_prepared_elementwise_kernel():
    function = get_elwise_kernel("float *x, int a", "x[i] += a", "add")
    array = gpuarray.ones(100, np.float32)
    function.prepared_call(array._grid, array._block, array.gpudata, 3, array.mem_size)
    np.testing.assert_array_equal(array.get(), 4)


# ---- reductions ----


@pytest.mark.parametrize("n", [1, 2, 31, 511, 512, 513, 2048, 2049, 5000])
def test_reduction_sizes(n):
    values = np.random.default_rng(n).integers(-50, 50, n).astype(np.int32)
    total = get_sum_kernel(np.int64, np.int32)(gpuarray.to_gpu(values))
    assert (
        total.shape == ()
        and total.dtype == np.int64
        and total.get() == values.sum() != values.sum() + 1
    )
    assert not pycuda_api.findings()


def test_reduction_with_a_map_and_several_arguments():
    distance = ReductionKernel(
        np.float32, "0", "a+b", "scale*(x[i]-y[i])*(x[i]-y[i])", "float scale, float *x, float *y"
    )
    x, y = np.arange(3000, dtype=np.float32), np.arange(3000, dtype=np.float32)[::-1].copy()
    got = distance(0.5, gpuarray.to_gpu(x), gpuarray.to_gpu(y)).get()
    np.testing.assert_allclose(got, 0.5 * np.sum((x - y) ** 2, dtype=np.float64), rtol=1e-5)


def test_the_neutral_element_of_a_reduction_may_be_a_number():
    total = ReductionKernel(np.float32, 0, "a+b", arguments="float *in")
    assert total(gpuarray.to_gpu(np.ones(100, np.float32))).get() == 100


def test_reduction_into_an_array():
    largest = ReductionKernel(np.float32, "-1e30f", "max(a,b)", arguments="float *in")
    values = np.random.default_rng(1).random((4, 700), np.float32)
    device, out = gpuarray.to_gpu(values), gpuarray.zeros(4, np.float32)
    for k in range(4):
        largest(device[k], out=out[k])
    np.testing.assert_array_equal(out.get(), values.max(axis=1))
    with pytest.raises(ValueError, match="same dtype"):
        largest(device[0], out=gpuarray.zeros(1, np.float64))
    with pytest.raises(RuntimeError, match="non-contiguous"):
        largest(device[:, ::2])


def test_reduction_of_a_struct():
    span = np.dtype([("low", np.float32), ("high", np.float32)])
    tools.get_or_register_dtype("span", span)
    reduce = ReductionKernel(
        span, "span{1e30f, -1e30f}", "joined(a, b)", "span{x[i], x[i]}", "float *x",
        preamble="struct span { float low, high; };\n"
        "__device__ span joined(span a, span b) { return span{fminf(a.low, b.low), fmaxf(a.high, "
        "b.high)}; }",
    )  # fmt: skip
    values = np.random.default_rng(2).random(3000, np.float32)
    got = reduce(gpuarray.to_gpu(values)).get()
    assert (got["low"], got["high"]) == (values.min(), values.max())


def test_dot_and_wrong_reductions():
    a = gpuarray.arange(2000, dtype=np.float32)
    assert get_dot_kernel(np.float64, np.float32, np.float32)(a, a).get() == sum(
        k * k for k in range(2000)
    )
    with pytest.raises(AssertionError, match="at least one array"):
        ReductionKernel(np.float32, "0", "a+b", arguments="float a")
    with pytest.raises(cuda.LaunchError, match=r"b\[1536\], but b has 1,500 elements"):
        get_dot_kernel(np.float64, np.float32, np.float32)(a, gpuarray.ones(1500, np.float32))


# ---- scans ----


@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 1000, 100_000])
@pytest.mark.parametrize("kind", [InclusiveScanKernel, ExclusiveScanKernel])
def test_scans(kind, n):
    values = np.random.default_rng(n).integers(0, 10, n).astype(np.int32)
    array = gpuarray.to_gpu(values)
    assert kind(np.int32, "a+b", "0")(array) is array
    want = np.cumsum(values) - (values if kind is ExclusiveScanKernel else 0)
    np.testing.assert_array_equal(array.get(), want)
    assert not pycuda_api.findings()


def test_a_scan_whose_order_matters():
    """Not commutative: x * slope + offset, as two numbers, one after another."""
    line = np.dtype([("slope", np.int64), ("offset", np.int64)])
    tools.get_or_register_dtype("line_t", line)
    preamble = (
        "struct line_t { long slope, offset; };\n"
        "__device__ line_t after(line_t a, line_t b) { return line_t{b.slope * a.slope, "
        "b.slope * a.offset + b.offset}; }"
    )
    values = np.zeros(100, line)
    values["slope"], values["offset"] = np.arange(100) % 3 - 1, np.arange(100)
    got = InclusiveScanKernel(line, "after(a, b)", preamble=preamble)(
        gpuarray.to_gpu(values), "new"
    ).get()
    slope, offset = values[0]
    for k in range(1, 100):
        slope, offset = (
            values[k]["slope"] * slope,
            values[k]["slope"] * offset + values[k]["offset"],
        )
        assert tuple(got[k]) == (slope, offset)


def test_scans_into_another_array_and_wrong_ones():
    scan = InclusiveScanKernel(np.float32, "max(a,b)")
    values = np.array([1, 3, 2, 5, 4], np.float32)
    source, target = gpuarray.to_gpu(values), gpuarray.zeros(5, np.float32)
    assert scan(source, target) is target
    np.testing.assert_array_equal(target.get(), [1, 3, 3, 5, 5])
    np.testing.assert_array_equal(source.get(), values)
    with pytest.raises(ValueError, match="neutral element"):
        ExclusiveScanKernel(np.float32, "a+b")
    with pytest.raises(ValueError, match="same shape"):
        scan(source, gpuarray.zeros(4, np.float32))
    with pytest.raises(cuda.LogicError, match="float64"):
        scan(gpuarray.zeros(4, np.float64))


# ---- a program's own kernels ----

MANGLED = """
template <class T> __device__ T next(T x) { return x + T(1); }
__global__ void step(float *x) { x[threadIdx.x] = next(x[threadIdx.x]); }
extern "C" __global__ void plain(float *x) { x[threadIdx.x] = 0; }
"""


def test_a_mangled_name_finds_its_kernel():
    module = SourceModule(MANGLED, no_extern_c=True)
    array = gpuarray.ones(4, np.float32)
    module.get_function("_Z4stepPf")(array, block=(4, 1, 1))
    np.testing.assert_array_equal(array.get(), 2)
    module.get_function("plain")(array, block=(4, 1, 1))
    with pytest.raises(cuda.LogicError, match='mangles its name: write extern "C"'):
        module.get_function("step")
    with pytest.raises(cuda.LogicError, match="named symbol not found"):
        module.get_function("_Z5otherPf")
    # Extern "C" wraps the whole source.
    with pytest.raises(cuda.LogicError, match="named symbol not found"):
        SourceModule("__global__ void step(float *x) { }").get_function("_Z4stepPf")


def test_constants_have_addresses_of_their_own():
    source = (
        "__constant__ float filter[4];\n__global__ void get(float *x) { "
        "x[threadIdx.x] = filter[threadIdx.x]; }"
    )
    modules = [SourceModule(source), SourceModule(source)]
    for k, module in enumerate(modules):
        cuda.memcpy_htod(module.get_global("filter")[0], np.full(4, k, np.float32))
    got = [np.zeros(4, np.float32) for _ in modules]
    for module, out in zip(modules, got, strict=True):
        module.get_function("get")(cuda.Out(out), block=(4, 1, 1))
    np.testing.assert_array_equal(got, [[0] * 4, [1] * 4])


def test_launches_from_a_kernel_are_refused_by_line():
    nested = "__global__ void inner() { }\n__global__ void outer() {\n    inner<<<1, 1>>>();\n}\n"
    with pytest.raises(cuda.CompileError, match=r"kernel\.cu\(3\).*launch"):
        DynamicSourceModule(nested)
    single = "__global__ void one(int *x) { *x = 1; }"
    out = np.zeros(1, np.int32)
    DynamicSourceModule(single, options=["-rdc=true", "-lcudadevrt"]).get_function("one")(
        cuda.Out(out), block=(1, 1, 1)
    )
    assert out[0] == 1
    with pytest.raises(cuda.LogicError, match="no device linker"):
        DynamicModule().add_source(single)


def test_a_newer_architecture_and_a_cubin():
    with pytest.warns(UserWarning, match="higher compute capability"):
        SourceModule("__global__ void nothing() { }", arch="sm_100")
    with pytest.raises(cuda.RuntimeError, match="cuModuleLoad failed: file not found"):
        cuda.module_from_file("/nowhere/kernel.cubin")


@pytest.mark.parametrize(
    ("options", "arch", "words"),
    [
        (["-arch=sm_20"], None, "-arch=sm_20, and PyCUDA adds -arch=sm_90"),
        (["-arch", "sm_90a"], None, "-arch=sm_90a, and PyCUDA adds -arch=sm_90"),
        (["-arch=sm_90"], "sm_90a", "-arch=sm_90, and PyCUDA adds -arch=sm_90a"),
        (["-fmad=false", "-fmad=true"], None, "-fmad=false and -fmad=true"),
    ],
)
def test_options_of_which_nvcc_takes_the_last_are_told(options, arch, words):
    with pytest.warns(pycuda_api.SimulatorWarning, match=words):
        SourceModule(NOTHING, options=options, arch=arch)


@pytest.mark.parametrize(
    ("options", "arch"),
    [
        (["-arch=sm_90"], None),
        (["-arch=sm_90a"], "sm_90a"),
        (["-fmad=false", "-fmad=false"], None),
        (["-gencode=arch=compute_90,code=sm_90"], None),
    ],
)
def test_options_that_agree_with_pycudas_are_taken_in_silence(options, arch, recwarn):
    SourceModule(NOTHING, options=options, arch=arch)
    compiler.compile_plain(NOTHING, ["-arch=sm_80"], False, "nvcc", None)
    assert not recwarn.list


def test_a_saved_image_is_loaded_again(tmp_path):
    path = tmp_path / "one.image"
    path.write_bytes(compiler.compile("__global__ void one(int *x) { *x = 1; }"))
    out = np.zeros(1, np.int32)
    cuda.module_from_file(str(path)).get_function("one")(cuda.Out(out), block=(1, 1, 1))
    assert out[0] == 1


def test_sizes_of_types():
    assert (
        characterize.platform_bits() == 64
        and characterize.has_double_support()
        and characterize.has_stack()
    )
    assert characterize.sizeof("float4") == 16
    assert characterize.sizeof("mine", "struct mine { char a; double b; };") == 16


def test_a_source_is_what_gives_a_text():
    class Source:  # as a module of cgen is
        def __str__(self) -> str:
            return "__global__ void fill(int *y) { y[threadIdx.x] = 3; }"

    y = np.zeros(4, np.int32)
    SourceModule(Source()).get_function("fill")(cuda.Out(y), block=(4, 1, 1))
    assert (y == 3).all()
    with pytest.raises(AttributeError, match=r"a Source: give str\(source\)"):
        SourceModule(Source(), no_extern_c=True)


# ---- functions that call themselves ----

DEEP = """__device__ float deep(float x, int depth) {
    volatile float kept[64];
    for (int k = 0; k < 64; ++k) kept[k] = x + k;
    const float below = depth > 1 ? deep(x * 0.5f, depth - 1) : 0.0f;
    float sum = below;
    for (int k = 0; k < 64; ++k) sum += kept[k];
    return sum;
}
__global__ void deep_calls(float* y, int depth) { y[threadIdx.x] = deep(1, depth); }"""


@pytest.fixture
def stack():
    """Set the stack of a thread in bytes, for one test."""
    before = cuda.Context.get_limit(cuda.limit.STACK_SIZE)
    yield lambda nbytes: cuda.Context.set_limit(cuda.limit.STACK_SIZE, nbytes)
    cuda.Context.set_limit(cuda.limit.STACK_SIZE, before)


# An H100 runs the right ones of these, and ends the others by an illegal memory access.
@pytest.mark.parametrize(
    ("nbytes", "depth", "fits"),
    [(1024, 3, True), (1024, 4, False), (2048, 12, False), (4096, 12, True), (32768, 100, True)],
)
def test_recursion_needs_the_stack_that_the_program_asks_for(stack, nbytes, depth, fits):
    stack(nbytes)
    y = np.zeros(64, np.float32)
    deep = SourceModule(DEEP).get_function("deep_calls")
    if fits:
        deep(cuda.Out(y), np.int32(depth), block=(64, 1, 1))
        assert (y > 2016 * depth).all() and not pycuda_api.findings()
        return
    with pytest.raises(cuda.LaunchError, match=f"bytes of stack, and has {nbytes:,}"):
        deep(cuda.Out(y), np.int32(depth), block=(64, 1, 1))


# ---- reductions whose result depends on the order ----


@pytest.mark.parametrize(
    ("dtype", "reduce_expr", "is_told"),
    [
        (np.float32, "a+2*b", True),
        (np.float32, "2*a+b", True),
        (np.float64, "(a+b)/2", True),
        (np.int32, "a-b", True),
        (np.complex64, "a-b", True),
        (np.int32, "a/3+b", True),
        (np.float32, "a+b", False),
        (np.float32, "a*b", False),
        (np.float32, "a+b+0*n", False),
        (np.float64, "fmax(a, b)", False),
        (np.float64, "log(exp(a)+exp(b))", False),
        (np.float32, "hypotf(a, b)", False),
        (np.int32, "a+b", False),
        (np.int64, "a|b", False),
        (np.uint8, "a > b ? a : b", False),
        (np.complex64, "a*b", False),
    ],
)
def test_a_reduction_that_is_not_associative_is_told(dtype, reduce_expr, is_told, recwarn):
    name = tools.dtype_to_ctype(dtype)
    reduce = ReductionKernel(dtype, "0", reduce_expr, arguments=f"const {name} *in")
    reduce(gpuarray.to_gpu(np.array([7, 2, 4, 9], dtype)))
    told = [str(one.message) for one in recwarn.list]
    assert is_told == (len(told) == 1 and "is not associative" in told[0]) and len(told) <= 1
    reduce(gpuarray.to_gpu(np.array([7, 2, 4, 9], dtype)))
    assert len(recwarn.list) == len(told)  # once


def test_rounding_and_effects_are_no_question_of_the_order(recwarn):
    values = gpuarray.to_gpu(np.array([1e8, 1, -1e8, 3], np.float32))
    assert ReductionKernel(np.float32, "0", "a+b", arguments="float *in")(values).get() < 9
    counter = gpuarray.zeros(1, np.int32)
    count = ReductionKernel(
        np.float32, "0", "a+b", "in[i] + 0 * atomicAdd(seen, 1)", "float *in, int *seen"
    )
    count(values, counter)
    assert counter.get() == 4 and not recwarn.list


# ---- what PyCUDA or its compiler refuses ----


def _passes_float4():
    twice = SourceModule(
        "__global__ void tint(float4 *y, float4 c, int n) {"
        " if (threadIdx.x < n) y[threadIdx.x] = c; }"
    ).get_function("tint")
    twice(cuda.InOut(np.zeros((4, 4), np.float32)), np.ones(4, np.float32), np.int32(4),
          block=(4, 1, 1))  # fmt: skip


def _three(dtype):
    return gpuarray.to_gpu(np.array([1, 2, 3], dtype))


NOTHING = "__global__ void f() {}"
TEMPLATE = "template <class T> __global__ void f(T *y) { y[0] = 1; }"
REFUSED = {
    "a float4 behind a pointer": (_passes_float4, cuda.LogicError, "begins at byte 16"),
    "an old architecture": (
        lambda: SourceModule(NOTHING, arch="sm_20"), cuda.CompileError, "sm_20",
    ),
    "an architecture of nobody": (
        lambda: compiler.compile(NOTHING, arch="sm_91"), cuda.CompileError, "sm_91",
    ),
    "machine code for another GPU": (
        lambda: SourceModule(NOTHING, options=["-gencode", "arch=compute_80,code=sm_80"]),
        cuda.CompileError, "multiple GPU code instances",
    ),
    "an architecture that is a number": (
        lambda: SourceModule(NOTHING, arch=3), TypeError, "arch is a text",
    ),
    "no source": (lambda: SourceModule(None), TypeError, "the source is a text"),
    "no name": (lambda: SourceModule(NOTHING).get_function(None), TypeError, "name of a kernel"),
    "an unknown type code": (
        lambda: SourceModule(NOTHING).get_function("f").prepare("PPiz"), struct.error, "'z'",
    ),
    "an array of objects": (
        lambda: cuda.memcpy_htod(cuda.mem_alloc(8), np.array([None], object)), TypeError, "objects",
    ),
    "a memset that is too long": (
        lambda: cuda.memset_d32(cuda.mem_alloc(256), 0, 2**33), cuda.LogicError, "34,359,738,368",
    ),
    "the minimum of bool": (
        lambda: gpuarray.min(gpuarray.to_gpu(np.ones(4, bool))), TypeError, "unsupported dtype",
    ),
    "zeros of float16": (lambda: gpuarray.zeros(4, np.float16), ValueError, "'float16'"),
    "a sum of float16": (lambda: gpuarray.sum(_three(np.float16)), ValueError, "'float16'"),
    "a conversion to float16": (
        lambda: _three(np.float32).astype(np.float16), ValueError, "'float16'",
    ),
    "the smaller of integers": (
        lambda: gpuarray.minimum(_three(np.int32), 2), cuda.CompileError, "minimum of int32",
    ),
    "the larger of complex numbers": (
        lambda: gpuarray.maximum(_three(np.complex64), _three(np.complex64)), cuda.CompileError,
        "maximum of complex64",
    ),
    "a sine of integers": (
        lambda: cumath.sin(_three(np.int32)), cuda.CompileError, "sin of int32",
    ),
    "abs of unsigned": (lambda: abs(_three(np.uint32)), cuda.CompileError, "abs of uint32"),
    "an order of complex numbers": (
        lambda: _three(np.complex64) < _three(np.complex64), cuda.CompileError, "< of complex64",
    ),
    "a positive complex number": (
        lambda: gpuarray.if_positive(*[_three(np.complex64)] * 3), cuda.CompileError,
        "if_positive of complex64",
    ),
    "a template without an instance": (
        lambda: SourceModule(TEMPLATE, no_extern_c=True).get_function("f"), cuda.LogicError,
        "make it a __device__ function",
    ),
    "a template in extern C": (
        lambda: SourceModule(TEMPLATE), cuda.CompileError, "that is no template",
    ),
    "a forgotten __global__": (
        lambda: SourceModule("void f(int *y) { y[0] = 1; }").get_function("f"), cuda.LogicError,
        "write __global__ before its void",
    ),
    "a shuffle of old books": (
        lambda: SourceModule("__global__ void f(int *y) { y[0] = __shfl_down(y[0], 1); }"),
        cuda.CompileError, "__shfl_down_sync",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_gpu_would_refuse_is_refused_by_name(name):
    call, error, words = REFUSED[name]
    with pytest.raises(error) as refused:
        call()
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: abs(_three(np.uint8)), [1, 2, 3]),
        (lambda: abs(_three(np.int32)), [1, 2, 3]),
        (lambda: gpuarray.minimum(_three(np.int32), _three(np.float32)), [1, 2, 3]),
        (lambda: gpuarray.maximum(2, _three(np.float64)), [2, 2, 3]),
        (lambda: _three(np.complex64) == _three(np.complex64), [1, 1, 1]),
        (lambda: cumath.sqrt(_three(np.complex64)), np.sqrt([1, 2, 3])),
        (lambda: _three(np.float16), [1, 2, 3]),  # a copy needs no kernel
    ],
)
def test_what_has_a_function_in_cuda_is_taken(call, expected):
    np.testing.assert_allclose(call().get(), expected, rtol=1e-6)
