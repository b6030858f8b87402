"""The simulator's PyCUDA: the same names, the same refusals, and results that a wrong kernel would
not give.
"""

from __future__ import annotations

import importlib
import json
import struct
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from helpers import simulator
from helpers.simulator import pycuda_api
from helpers.simulator.pycuda_api import _times, compiler, gpuarray
from helpers.simulator.pycuda_api import driver as cuda
from helpers.simulator.pycuda_api.compiler import SourceModule

SOURCE = """
__constant__ float filter[3];

__global__ void scale(float *out, const float *in, int n, float factor)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i] * factor;
}

__global__ void weigh(float *out, const float *in, int n)
{
    int i = threadIdx.x;
    if (i < n)
        out[i] = in[i] * filter[1];
}

__global__ void reverse(float *out, const float *in)
{
    extern __shared__ float tile[];
    tile[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
"""
N = 1000
DATA = Path(__file__).resolve().parents[2] / "data" / "measured"
LAUNCH = {"block": (256, 1, 1), "grid": (4, 1)}


@pytest.fixture(scope="module", autouse=True)
def context():
    """A context for each test, also for one that runs alone."""
    simulator.activate()
    importlib.import_module("pycuda.autoprimaryctx")


@pytest.fixture(scope="module")
def module():
    return SourceModule(SOURCE)


@pytest.fixture(scope="module")
def scale(module):
    return module.get_function("scale")


@pytest.fixture
def data():
    return np.arange(1, N + 1, dtype=np.float32)


@pytest.fixture
def arrays(data):
    return gpuarray.zeros(N, np.float32), gpuarray.to_gpu(data)


# ---- names and exceptions ----


def test_import_gives_the_simulator_and_only_what_it_has():
    pycuda = importlib.import_module("pycuda")
    assert pycuda.VERSION == (2026, 1)
    assert sys.modules["pycuda.driver"] is cuda
    assert pycuda.autoprimaryctx.device.name() == "Halo Labs simulator"
    with pytest.raises(ModuleNotFoundError, match=r"no module named 'pycuda\.gl' in the simulator"):
        importlib.import_module("pycuda.gl")


def test_install_refuses_beside_the_real_pycuda(monkeypatch):
    monkeypatch.setitem(sys.modules, "pycuda", types.ModuleType("pycuda"))
    with pytest.raises(RuntimeError, match=r"already imported.*Restart the kernel"):
        pycuda_api.install()
    monkeypatch.undo()
    pycuda_api.install()  # again does no harm


def test_exceptions_have_pycudas_hierarchy():
    assert not issubclass(cuda.LogicError, cuda.LaunchError)
    for error in (
        cuda.LogicError,
        cuda.LaunchError,
        cuda.MemoryError,
        cuda.RuntimeError,
        cuda.CompileError,
    ):
        assert issubclass(error, cuda.Error)
    assert issubclass(cuda.MemoryError, MemoryError)
    assert not issubclass(cuda.RuntimeError, RuntimeError)


# ---- launches ----


@pytest.mark.parametrize("factor", [3.0, -0.5])
def test_in_and_out(scale, data, factor):
    out = np.full_like(data, np.nan)
    scale(cuda.Out(out), cuda.In(data), np.int32(N), np.float32(factor), **LAUNCH)
    assert not np.array_equal(out, data)
    np.testing.assert_array_equal(out, data * np.float32(factor))


def test_inout(scale, data):
    both = data.copy()
    array = cuda.InOut(both)
    scale(array, array, np.int32(N), np.float32(2), **LAUNCH)
    np.testing.assert_array_equal(both, data * 2)


def test_device_allocations_and_addresses(scale, data):
    source, target = cuda.to_device(data), cuda.mem_alloc(data.nbytes)
    cuda.memset_d8(target, 0, data.nbytes)
    half = N // 2
    scale(np.uintp(int(target) + 4 * half), source, np.int32(half), np.float32(1), **LAUNCH)
    got = cuda.from_device(target, N, np.float32)
    np.testing.assert_array_equal(got[:half], 0)
    np.testing.assert_array_equal(got[half:], data[:half])


def test_prepared_calls_take_python_numbers(scale, arrays, data):
    out, source = arrays
    scale.prepare(["P", np.intp, np.int32, np.float32])
    scale.prepared_call((4, 1), (256, 1, 1), out.gpudata, int(source.gpudata), N, 5.0)
    np.testing.assert_array_equal(out.get(), data * 5)
    scale.prepare("PPif").prepared_async_call(
        (4, 1), (256, 1, 1), cuda.Stream(), out.gpudata, source.gpudata, N, 7
    )
    np.testing.assert_array_equal(out.get(), data * 7)


def test_prepared_calls_refuse_what_does_not_fit(module, arrays):
    out, source = arrays
    scale = module.get_function("scale")
    shape = ((4, 1), (256, 1, 1))
    with pytest.raises(AttributeError, match="prepare"):
        scale.prepared_call(*shape, out.gpudata, source.gpudata, N, 5.0)
    scale.prepare("PPif")
    with pytest.raises(struct.error, match="prepared for 4 arguments and got 3"):
        scale.prepared_call(*shape, out.gpudata, source.gpudata, N)
    with pytest.raises(struct.error, match="gpudata"):
        scale.prepared_call(*shape, out, source.gpudata, N, 5.0)
    with pytest.raises(struct.error):
        scale.prepared_call(*shape, out.gpudata, source.gpudata, 2**40, 5.0)
    scale.prepare("PPid")
    with pytest.raises(
        cuda.LogicError, match=r"parameter #3 \(0-based\) of scale, `float factor`, has 4 bytes"
    ):
        scale.prepared_call(*shape, out.gpudata, source.gpudata, N, 5.0)


def test_constant_memory(module, data):
    address, nbytes = module.get_global("filter")
    assert nbytes == 12
    cuda.memcpy_htod(address, np.array([1, 4, 9], np.float32))
    out = np.zeros(3, np.float32)
    module.get_function("weigh")(cuda.Out(out), cuda.In(data[:3]), np.int32(3), block=(32, 1, 1))
    np.testing.assert_array_equal(out, [4, 8, 12])


def test_dynamic_shared_memory_and_its_limits(module, data):
    reverse = module.get_function("reverse")
    out = np.zeros(64, np.float32)
    launch = {"block": (64, 1, 1), "grid": (1, 1)}
    reverse(cuda.Out(out), cuda.In(data[:64]), shared=256, **launch)
    np.testing.assert_array_equal(out, data[63::-1])
    with pytest.raises(
        cuda.LogicError, match=r"invalid argument.*50,000 bytes of shared memory.*49,152"
    ):
        reverse(cuda.Out(out), cuda.In(data[:64]), shared=50_000, **launch)
    reverse.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, 60_000)
    reverse(cuda.Out(out), cuda.In(data[:64]), shared=50_000, **launch)
    with pytest.raises(cuda.LogicError, match="232,448"):
        reverse.set_attribute(cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, 300_000)


def test_static_shared_memory_leaves_less_for_dynamic():
    source = """
    __global__ void staged(float* y) {
        __shared__ float cells[1024];
        cells[threadIdx.x] = y[threadIdx.x];
        __syncthreads();
        y[threadIdx.x] = cells[1023 - threadIdx.x];
    }
    """
    staged = SourceModule(source).get_function("staged")
    limit = cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES
    with pytest.raises(cuda.LogicError, match="0 to 228,352 bytes"):  # 232,448 - 4,096
        staged.set_attribute(limit, 232_448)
    staged.set_attribute(limit, 228_352)


def test_function_attributes(module):
    reverse = module.get_function("reverse")
    assert reverse.max_threads_per_block == 1024
    assert reverse.get_attribute(cuda.function_attribute.CONST_SIZE_BYTES) == 12
    assert reverse.shared_size_bytes == 0
    reverse.set_cache_config(cuda.func_cache.PREFER_L1)
    assert 0 < reverse.num_regs < 64 and reverse.local_size_bytes == 0
    with pytest.raises(AttributeError):
        _ = reverse.no_such_attribute


# ---- wrong launches ----

WRONG_ARGUMENTS = {
    "a Python int": (
        lambda o, i: (o, i, N, np.float32(1)),
        TypeError,
        r"^parameter #2 \(0-based\) cannot be passed to a kernel: `int n`.*np.int32",
    ),
    "a Python float": (
        lambda o, i: (o, i, np.int32(N), 1.5),
        TypeError,
        r"^parameter #3 \(0-based\) cannot be passed.*np.float32",
    ),
    "a list": (
        lambda o, i: (o, [1.0], np.int32(N), np.float32(1)),
        TypeError,
        r"^parameter #1 .* a list",
    ),
    "an argument missing": (
        lambda o, i: (o, i, np.int32(N)),
        cuda.LogicError,
        r"takes 4, got 3 arguments",
    ),
    "an argument too many": (
        lambda o, i: (o, i, np.int32(N), np.float32(1), np.int32(1)),
        cuda.LogicError,
        r"takes 4, got 5",
    ),
    "float64 for float": (
        lambda o, i: (o, i, np.int32(N), np.float64(1)),
        cuda.LogicError,
        r"`float factor`, has 4 bytes.*float64 of 8",
    ),
    "int64 for int": (
        lambda o, i: (o, i, np.int64(N), np.float32(1)),
        cuda.LogicError,
        r"`int n`, has 4 bytes.*np.int32",
    ),
    "int for float": (
        lambda o, i: (o, i, np.int32(N), np.int32(1)),
        cuda.LogicError,
        r"`float factor`.*another kind of number",
    ),
    "an array by value": (
        lambda o, i: (o, i.get(), np.int32(N), np.float32(1)),
        cuda.LogicError,
        r"`const float \*in`, is a pointer.*cuda.In",
    ),
    "a pointer for a value": (
        lambda o, i: (o, i, i, np.float32(1)),
        cuda.LogicError,
        r"`int n`, is a value",
    ),
    "elements of another type": (
        lambda o, i: (o, i.astype(np.float64), np.int32(N), np.float32(1)),
        cuda.LogicError,
        r"points to float32.*float64",
    ),
    "a strided host array": (
        lambda o, i: (o, cuda.In(i.get()[::2]), np.int32(N), np.float32(1)),
        ValueError,
        r"strided view",
    ),
    "two exchanged arguments": (
        lambda o, i: (o, i, np.float32(1), np.int32(N)),
        cuda.LogicError,
        r"`int n`, got numpy.float32: exchange it and argument #3, which fits here",
    ),
    "a pointer and a number exchanged": (
        lambda o, i: (o, np.int32(N), i, np.float32(1)),
        cuda.LogicError,
        r"`const float \*in`, got numpy.int32: exchange it and argument #2, which fits here",
    ),
    "an empty array": (
        lambda o, i: (o, gpuarray.empty(0, np.float32), np.int32(N), np.float32(1)),
        TypeError,
        r"empty array",
    ),
    "a list in In": (
        lambda o, i: (o, cuda.In([1.0]), np.int32(N), np.float32(1)),
        TypeError,
        r"In\(\) takes a NumPy array, got a list",
    ),
}


@pytest.mark.parametrize("case", WRONG_ARGUMENTS)
def test_wrong_arguments_are_named(scale, arrays, data, case):
    make, error, message = WRONG_ARGUMENTS[case]
    with pytest.raises(error, match=message):
        scale(*make(*arrays), **LAUNCH)
    out, source = arrays  # and the next launch works
    scale(out, source, np.int32(N), np.float32(3), **LAUNCH)
    np.testing.assert_array_equal(out.get(), data * 3)


WRONG_SHAPES = {
    "no block": ({}, ValueError, "needs the size of its blocks"),
    "1,025 threads": ({"block": (1025, 1, 1)}, cuda.LogicError, "invalid argument.*1,025 threads"),
    "1,056 threads": ({"block": (33, 32, 1)}, cuda.LogicError, "invalid argument.*1,056 threads"),
    "too deep a block": ({"block": (1, 1, 65)}, cuda.LogicError, "invalid argument"),
    "an empty block": ({"block": (0, 1, 1)}, cuda.LogicError, "invalid argument"),
    "a negative block": ({"block": (-1, 1, 1)}, OverflowError, "negative"),
    "a block of two": ({"block": (32, 1)}, TypeError, "tuple of 3 ints"),
    "a block that is a number": ({"block": 256}, TypeError, "tuple of 3 ints"),
    "a float": ({"block": (256.0, 1, 1)}, TypeError, r"256.0.*pass int\(256.0\)"),
    "a quotient": ({"block": (256, 1, 1), "grid": (1000 / 256, 1)}, TypeError, "round .* up"),
    "a NumPy int": ({"block": (256, 1, 1), "grid": (np.int64(4), 1)}, TypeError, "pass int"),
    "an empty grid": (
        {"block": (256, 1, 1), "grid": (0, 1)},
        cuda.LogicError,
        "cuLaunchKernel failed: invalid argument.*grid",
    ),
    "too wide a grid": ({"block": (256, 1, 1), "grid": (1, 65536)}, cuda.LogicError, "65535"),
    "four dimensions": (
        {"block": (256, 1, 1), "grid": (1, 1, 1, 1)},
        cuda.LogicError,
        "too many grid dimensions",
    ),
    "a misspelt keyword": (
        {"block": (256, 1, 1), "gird": (1, 1)},
        ValueError,
        "extra keyword arguments: gird",
    ),
    "negative shared memory": ({"block": (256, 1, 1), "shared": -1}, OverflowError, "negative"),
    "a number as stream": ({"block": (256, 1, 1), "stream": 1}, TypeError, "Stream"),
}


@pytest.mark.parametrize("case", WRONG_SHAPES)
def test_wrong_launch_shapes(scale, arrays, case):
    keywords, error, message = WRONG_SHAPES[case]
    out, source = arrays
    with pytest.raises(error, match=message):
        scale(out, source, np.int32(N), np.float32(1), **keywords)


def test_out_of_bounds_is_a_launch_error_and_the_context_lives(scale, arrays, data):
    out, source = arrays
    with pytest.raises(cuda.LaunchError) as caught:
        scale(out, source, np.int32(N + 1), np.float32(1), **LAUNCH)
    text = str(caught.value)
    for part in (
        "in[1000]",
        "1,000 elements",
        "thread (232, 0, 0)",
        "block (3, 0, 0)",
        "kernel.cu:8",
    ):
        assert part in text, text
    assert caught.value.finding.kind == "out-of-bounds"
    scale(out, source, np.int32(N), np.float32(3), **LAUNCH)
    np.testing.assert_array_equal(out.get(), data * 3)


def test_findings_that_do_not_stop_a_launch_are_warnings(scale, arrays, recwarn):
    out, source = arrays
    scale(out, source, np.int32(N), np.float32(1), **LAUNCH)
    assert not [w for w in recwarn if issubclass(w.category, pycuda_api.SimulatorWarning)]
    unwritten = gpuarray.empty(N, np.float32)
    with pytest.warns(
        pycuda_api.SimulatorWarning, match=r"in\[0\], which nothing has written"
    ) as caught:
        scale(out, unwritten, np.int32(N), np.float32(1), **LAUNCH)
    assert caught[0].filename == __file__


def test_a_race_is_a_warning(data):
    race = "__global__ void race(float *out) { out[0] = threadIdx.x; }"
    with pytest.warns(pycuda_api.SimulatorWarning, match=r"^race: .*thread \(1, 0, 0\)"):
        SourceModule(race).get_function("race")(cuda.InOut(data), block=(32, 1, 1))


def test_use_after_free(scale, arrays):
    out, _ = arrays
    freed = cuda.mem_alloc(4 * N)
    freed.free()
    with pytest.raises(cuda.LogicError, match="use after free"):
        scale(out, freed, np.int32(N), np.float32(1), **LAUNCH)
    with pytest.raises(
        cuda.LogicError, match=r"cuMemcpyDtoH failed: invalid argument.*use after free"
    ):
        cuda.memcpy_dtoh(np.empty(N, np.float32), freed)
    with pytest.raises(cuda.LogicError, match="invalid resource handle"):
        freed.free()


DOUBTFUL_ARGUMENTS = {
    "a view with gaps": (
        lambda o, i: (o, i[::2]),
        r"parameter #1 \(0-based\), `const float \*in`: the GPUArray is a view with gaps",
    ),
    "a Fortran array": (
        lambda o, i: (o, i.reshape(10, 100, order="F")),
        "the GPUArray is in Fortran order",
    ),
    "a host array in Fortran order": (
        lambda o, i: (o, cuda.In(i.get().reshape(10, 100).T)),
        "Fortran order.*transposed",
    ),
    "bits of another kind": (
        lambda o, i: (o, i.view(np.int32)),
        "points to float32, got a GPUArray of int32",
    ),
}


@pytest.mark.parametrize("case", DOUBTFUL_ARGUMENTS)
def test_what_a_gpu_takes_and_few_mean_is_taken_with_a_warning(scale, arrays, case):
    make, message = DOUBTFUL_ARGUMENTS[case]
    simulator.pycuda_api.findings(clear=True)
    with pytest.warns(cuda.SimulatorWarning, match=message):
        scale(*make(*arrays), np.int32(N // 2), np.float32(2), **LAUNCH)
    expected = arrays[1].get()[: N // 2] * 2  # the kernel sees the memory as it lies
    np.testing.assert_array_equal(arrays[0].get()[: N // 2], expected)


# ---- compiling ----


def test_compile_error_names_file_and_line():
    with pytest.raises(cuda.CompileError) as caught:
        SourceModule("__global__ void broken(int *a)\n{\n    a[0] = missing;\n}\n")
    assert "kernel.cu(3)" in caught.value.stderr
    assert "missing" in str(caught.value)


def test_unknown_names_suggest_near_ones(module):
    message = r"cuModuleGetFunction failed: named symbol not found.*did you mean 'reverse'"
    with pytest.raises(cuda.LogicError, match=message):
        module.get_function("revers")
    with pytest.raises(cuda.LogicError, match="it has reverse, scale, weigh"):
        module.get_function("conv1d")
    with pytest.raises(
        cuda.LogicError, match=r"cuModuleGetGlobal failed: named symbol not found.*'filter'"
    ):
        module.get_global("filters")


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("__global__ void k(int *a) { a[0] = 1; }", False),
        ('extern "C" __global__ void k(int *a) { a[0] = 1; }', True),
        ('extern "C" {\n__global__ void k(int *a) { a[0] = 1; }\n}', True),
        ('extern "C" { void f(); }\n__global__ void k(int *a) { a[0] = 1; }', False),
        ('// extern "C"\n__global__ void k(int *a) { a[0] = 1; }', False),
    ],
)
def test_no_extern_c_needs_c_linkage_as_on_a_gpu(source, found):
    module = SourceModule(source, no_extern_c=True)
    if found:
        module.get_function("k")
    else:
        with pytest.raises(cuda.LogicError, match=r'named symbol not found.*extern "C"'):
            module.get_function("k")


def test_options(data):
    source = "__global__ void fill(float *out) { out[threadIdx.x] = VALUE; }"
    out = np.zeros(4, np.float32)
    SourceModule(source, options=["-DVALUE=7"]).get_function("fill")(cuda.Out(out), block=(4, 1, 1))
    np.testing.assert_array_equal(out, 7)
    with pytest.raises(cuda.CompileError, match="VALUE"):
        SourceModule(source)
    with pytest.raises(AttributeError, match="must be a list"):
        SourceModule(source, options=("-DVALUE=7",))


def test_compile_and_module_from_buffer():
    source = "__global__ void fill(float *out) { out[threadIdx.x] = VALUE; }"
    image = compiler.compile(source, options=["-DVALUE=3"])
    out = np.zeros(4, np.float32)
    cuda.module_from_buffer(image).get_function("fill")(cuda.Out(out), block=(4, 1, 1))
    np.testing.assert_array_equal(out, 3)
    with pytest.raises(cuda.LogicError, match="device kernel image is invalid"):
        cuda.module_from_buffer(b"\x7fELF")


# ---- memory ----


def test_copies_round_trip_in_every_form(data):
    stream, first, second = cuda.Stream(), cuda.mem_alloc(data.nbytes), cuda.mem_alloc(data.nbytes)
    cuda.memcpy_htod_async(first, data, stream)
    cuda.memcpy_dtod_async(second, first, data.nbytes, stream)
    got = np.zeros_like(data)
    cuda.memcpy_dtoh_async(got, second, stream)
    stream.synchronize()
    np.testing.assert_array_equal(got, data)
    cuda.memcpy_dtod(int(second), int(first) + 4, data.nbytes - 4)
    np.testing.assert_array_equal(cuda.from_device_like(second, data)[:-1], data[1:])


@pytest.mark.parametrize("size", [1, 3, N])
def test_memset(size):
    memory = cuda.mem_alloc(4 * N)
    cuda.memset_d8(memory, 0, 4 * N)
    cuda.memset_d32(memory, 0x3F800000, size)
    cuda.memset_d16_async(int(memory) + 2, 0x4000, 1, None)
    got = cuda.from_device(memory, N, np.float32)
    want = np.where(np.arange(N) < size, np.float32(1), np.float32(0))
    want[0] = 2
    np.testing.assert_array_equal(got, want)


WRONG_MEMORY = {
    "negative size": (lambda: cuda.mem_alloc(-4), OverflowError, "negative"),
    "no bytes": (lambda: cuda.mem_alloc(0), cuda.LogicError, "cuMemAlloc failed: invalid argument"),
    "a NumPy size": (lambda: cuda.mem_alloc(np.int64(4)), TypeError, r"pass int\("),
    "too much": (
        lambda: cuda.mem_alloc(1 << 40),
        cuda.MemoryError,
        "cuMemAlloc failed: out of memory",
    ),
    "a copy that is too long": (
        lambda: cuda.memcpy_htod(cuda.mem_alloc(4), np.zeros(2, np.float32)),
        cuda.LogicError,
        "cuMemcpyHtoD failed: invalid argument.*8 bytes.*4 bytes",
    ),
    "a read that is too long": (
        lambda: cuda.memcpy_dtoh(np.zeros(2, np.float32), cuda.mem_alloc(4)),
        cuda.LogicError,
        "cuMemcpyDtoH failed: invalid argument",
    ),
    "a copy to nowhere": (
        lambda: cuda.memcpy_htod(16, np.zeros(2, np.float32)),
        cuda.LogicError,
        "no live allocation",
    ),
    "swapped arguments": (
        lambda: cuda.memcpy_htod(np.zeros(2, np.float32), cuda.mem_alloc(8)),
        TypeError,
        "wrong order",
    ),
    "a GPUArray as pointer": (
        lambda: cuda.memcpy_htod(gpuarray.zeros(2, np.float32), np.zeros(2, np.float32)),
        TypeError,
        "gpudata",
    ),
    "a list": (lambda: cuda.memcpy_htod(cuda.mem_alloc(8), [1, 2]), TypeError, "NumPy array"),
    "a strided source": (
        lambda: cuda.memcpy_htod(cuda.mem_alloc(8), np.zeros(4, np.float32)[::2]),
        ValueError,
        "not contiguous",
    ),
    "a read-only destination": (
        lambda: cuda.memcpy_dtoh(bytes(4), cuda.mem_alloc(4)),
        ValueError,
        "read-only",
    ),
    "memset beyond the end": (
        lambda: cuda.memset_d32(cuda.mem_alloc(4), 0, 2),
        cuda.LogicError,
        "invalid argument",
    ),
    "memset of too wide a value": (
        lambda: cuda.memset_d8(cuda.mem_alloc(4), 256, 4),
        OverflowError,
        "8 bits",
    ),
    "a misaligned memset": (
        lambda: cuda.memset_d32(int(cuda.mem_alloc(8)) + 2, 0, 1),
        cuda.LogicError,
        "multiple of 4",
    ),
    "no stream": (
        lambda: cuda.memcpy_htod_async(cuda.mem_alloc(4), np.zeros(1, np.float32), 0),
        TypeError,
        "Stream",
    ),
}


@pytest.mark.parametrize("case", WRONG_MEMORY)
def test_wrong_use_of_memory(case):
    call, error, message = WRONG_MEMORY[case]
    with pytest.raises(error, match=message):
        call()


def test_mem_get_info_sees_allocations_come_and_go():
    free, total = cuda.mem_get_info()
    kept = cuda.mem_alloc(1 << 20)
    assert cuda.mem_get_info()[0] <= free - (1 << 20)
    assert cuda.mem_get_address_range(int(kept) + 5) == (int(kept), 1 << 20)
    del kept
    assert cuda.mem_get_info() == (free, total)


@pytest.mark.parametrize("order", ["C", "F"])
def test_special_host_memory(order):
    pinned = cuda.pagelocked_zeros((3, 5), np.float32, order)
    aligned = cuda.aligned_empty((3, 5), np.float64, order, alignment=256)
    assert pinned.flags[f"{order}_CONTIGUOUS"] and aligned.flags[f"{order}_CONTIGUOUS"]
    assert aligned.ctypes.data % 256 == 0
    assert cuda.pagelocked_empty_like(pinned).strides == pinned.strides
    pinned[1, 2] = 4
    assert pinned.sum() == 4
    pinned.base.free()
    with pytest.raises(cuda.LogicError, match="invalid resource handle"):
        pinned.base.free()


def test_registered_host_memory_is_the_same_memory(data):
    registered = cuda.register_host_memory(data)
    registered[0] = -1
    assert data[0] == -1
    registered.base.unregister()
    with pytest.raises(cuda.LogicError, match="not contiguous"):
        cuda.register_host_memory(data[::2])


# ---- device, context, streams, events ----


def test_device_attributes():
    device = cuda.Context.get_device()
    assert device == cuda.Device(0) and cuda.Device.count() == 1
    assert device.compute_capability() == (9, 0)
    assert (
        device.get_attribute(cuda.device_attribute.MULTIPROCESSOR_COUNT)
        == device.multiprocessor_count
        == 132
    )
    assert device.get_attributes()[cuda.device_attribute.WARP_SIZE] == 32
    assert device.total_memory() == cuda.mem_get_info()[1]
    with pytest.raises(cuda.LogicError, match="does not model time"):
        _ = device.clock_rate
    with pytest.raises(cuda.LogicError, match="invalid device ordinal"):
        cuda.Device(1)
    with pytest.raises(AttributeError):
        _ = device.no_such_attribute


def test_calls_without_a_context_are_refused_as_on_a_gpu(scale, arrays):
    stack = []
    while (current := cuda.Context.get_current()) is not None:
        stack.append(current)
        cuda.Context.pop()
    try:
        with pytest.raises(cuda.LogicError, match="cuMemAlloc failed: invalid device context"):
            cuda.mem_alloc(4)
        with pytest.raises(cuda.LogicError, match="invalid device context"):
            scale(*arrays, np.int32(N), np.float32(1), **LAUNCH)
    finally:
        for context in reversed(stack):
            context.push()
    cuda.mem_alloc(4)


def test_contexts_stack():
    before = cuda.Context.get_current()
    context = cuda.Device(0).make_context()
    assert cuda.Context.get_current() is context is not before
    context.detach()
    assert cuda.Context.get_current() is before
    with pytest.raises(cuda.LogicError, match="invalid device context"):
        context.push()
    cuda.Context.set_limit(cuda.limit.STACK_SIZE, 2048)
    assert cuda.Context.get_limit(cuda.limit.STACK_SIZE) == 2048
    cuda.Context.synchronize()


def test_events_order_and_give_bounds(scale, arrays):
    start, end, stream = cuda.Event(), cuda.Event(), cuda.Stream()
    with pytest.raises(
        cuda.LogicError, match="cuEventElapsedTime failed: invalid resource handle - record"
    ):
        end.time_since(start)
    start.record(stream)
    stream.wait_for_event(start)
    assert end.record(stream).synchronize() is end
    assert end.query() and stream.is_done() and stream.handle
    with pytest.raises(cuda.LogicError, match="DISABLE_TIMING"):
        cuda.Event(cuda.event_flags.DISABLE_TIMING).record().time_since(start)
    with pytest.warns(cuda.SimulatorWarning, match="is a bound and no measurement"):
        assert end.time_since(start) == 0.001
    with pytest.warns(cuda.SimulatorWarning, match="is a bound and no measurement"):
        assert start.time_till(end) == 0.001
    launch = {"grid": (4, 1), "block": (256, 1, 1)}
    with pytest.warns(cuda.SimulatorWarning, match="is a bound and no measurement"):
        seconds = scale(*arrays, np.int32(N), np.float32(1), time_kernel=True, **launch)
    assert seconds == pytest.approx(_times.LAUNCH_US * 1e-6)
    with pytest.raises(AssertionError, match="takes no stream"):
        scale(*arrays, np.int32(N), np.float32(1), time_kernel=True, stream=stream, **launch)
    get_time = scale.prepare("PPif").prepared_timed_call(
        (4, 1), (256, 1, 1), arrays[0].gpudata, arrays[1].gpudata, N, 1.0
    )
    with pytest.warns(cuda.SimulatorWarning, match="is a bound and no measurement"):
        assert get_time() == pytest.approx(_times.LAUNCH_US * 1e-6)


@pytest.mark.parametrize("n", [1 << 10, 1 << 22])
def test_the_time_between_events_is_the_bound_of_the_work_between(n):
    source = (
        "__global__ void twice(float *y, const float *x, int n) {"
        " int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }"
    )
    twice = SourceModule(source).get_function("twice")
    x, y = np.ones(n, np.float32), np.empty(n, np.float32)
    before, after, end = cuda.Event(), cuda.Event(), cuda.Event()
    x_gpu, y_gpu = cuda.to_device(x), cuda.mem_alloc(y.nbytes)
    launched = {"grid": (n // 256, 1), "block": (256, 1, 1)}
    before.record()
    twice(y_gpu, x_gpu, np.int32(n), **launched)
    twice(y_gpu, x_gpu, np.int32(n), **launched)
    after.record()
    cuda.memcpy_dtoh(y, y_gpu)
    end.record().synchronize()
    profile = simulator.profile(source, "twice", y, x, np.int32(n), grid=(n // 256,), block=(256,))
    kernel = max(_times.LAUNCH_US, profile.bounds("H200").microseconds)
    with pytest.warns(cuda.SimulatorWarning, match="an H200 needs at least so long"):
        times = [before.time_till(after), after.time_till(end), end.time_since(before)]
    copy = max(_times.COPY_US, 4 * n / 55_000)
    np.testing.assert_allclose(times, np.array([2 * kernel, copy, 2 * kernel + copy]) / 1e3)


def test_a_program_that_repeats_until_a_time_has_passed_ends(scale, arrays):
    begin, end, total, turns = cuda.Event(), cuda.Event(), 0.0, 0
    while total < 0.1:
        begin.record()
        scale(*arrays, np.int32(N), np.float32(1), grid=(4, 1), block=(256, 1, 1))
        end.record().synchronize()
        total += begin.time_till(end)
        turns += 1
    assert turns == 28 and f"{int(1000 * total):d} us" == "100 us"


def test_streams_run_beside_each_other_and_the_null_stream_after_all(scale, arrays):
    begin, end = cuda.Event(), cuda.Event()
    events = [cuda.Event(), cuda.Event()]
    begin.record()
    for event, stream in zip(events, (cuda.Stream(), cuda.Stream()), strict=True):
        x = gpuarray.zeros(N, np.float32)
        scale(x, x, np.int32(N), np.float32(1), grid=(4, 1), block=(256, 1, 1), stream=stream)
        event.record(stream)
    end.record().synchronize()
    times = [begin.time_till(event) for event in (*events, end)]
    assert times[0] < times[2] and times[1] <= times[2]


def test_the_shortest_launch_and_copy_are_those_of_the_records():
    def shortest(record: str, series: str) -> float:
        rows = json.loads((DATA / f"{record}.json").read_text())["measurements"]
        fitting = (row for row in rows if row["series"] == series)
        return min(min(row["timing"]["samples"]) for row in fitting)

    launch = shortest("114_timing_traps", "events on the stream (right)")
    waited = shortest("115_sizes", "launched and waited for")
    two_copies = shortest("115_sizes", "with copies") - waited
    assert _times.LAUNCH_US <= 1e3 * launch < 1.1 * _times.LAUNCH_US
    assert _times.COPY_US <= 1e3 * two_copies / 2 < 1.1 * _times.COPY_US


# ---- gpuarray ----


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4), ()])
@pytest.mark.parametrize("order", ["C", "F"])
def test_gpuarray_round_trip(shape, order):
    host = np.asarray(np.random.default_rng(1).standard_normal(shape, np.float32), order=order)
    device = gpuarray.to_gpu(host)
    assert (device.shape, device.dtype, device.nbytes) == (host.shape, host.dtype, host.nbytes)
    assert device.flags.c_contiguous == host.flags.c_contiguous
    np.testing.assert_array_equal(device.get(), host)
    device.set(np.asarray(host + 1))
    assert not np.array_equal(device.get(), host)
    np.testing.assert_array_equal(device.get(), host + 1)


def test_gpuarray_views_agree_with_numpy():
    host = np.arange(24, dtype=np.float32).reshape(4, 6)
    device = gpuarray.to_gpu(host)
    for index in (
        1,
        slice(1, 3),
        (slice(None), 2),
        (slice(None, None, 2), slice(0, 5, 2)),
        (..., 0),
        (2, 3),
    ):
        np.testing.assert_array_equal(device[index].get(), host[index])
    device[1:3] = 100
    host[1:3] = 100
    device[1:3, ::2] = np.full((2, 3), 7, np.float32)
    host[1:3, ::2] = 7
    np.testing.assert_array_equal(device.get(), host)
    # As PyCUDA: filling needs an array without gaps.
    with pytest.raises(RuntimeError, match="needs contiguous arrays"):
        device[1:3, ::2] = 100
    with pytest.raises(OverflowError, match="reversed view"):
        device[::-1].get()
    np.testing.assert_array_equal(device.reshape(2, -1).get(), host.reshape(2, -1))
    device.ravel().fill(3)
    np.testing.assert_array_equal(device.get(), 3)
    with pytest.raises(ValueError, match="keeps the number of elements, "):
        device.reshape(5, 5)


def test_gpuarray_arithmetic_agrees_with_numpy():
    a, b = np.array([1, -2, 3], np.float32), np.array([4, 5, -6], np.float32)
    x, y = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
    pairs = [
        (x + y, a + b),
        (x - y, a - b),
        (x * y, a * b),
        (x / y, a / b),
        (2 - x, 2 - a),
        (1 / x, 1 / a),
        (-x, -a),
    ]
    for got, want in pairs:
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got.get(), want)
    y += 1
    y *= x
    np.testing.assert_array_equal(y.get(), (b + 1) * a)
    with pytest.raises(NotImplementedError, match="equal shapes"):
        x + gpuarray.zeros(4, np.float32)


WRONG_ARRAYS = {
    "another size": (lambda a: a.set(np.zeros(4, np.float32)), ValueError, "same size"),
    "another dtype": (lambda a: a.set(np.zeros(3)), ValueError, "same dtype"),
    "another dtype to get": (lambda a: a.get(np.zeros(3)), TypeError, "same dtype"),
    "a negative shape": (lambda a: gpuarray.empty((-3,), np.float32), ValueError, "negative"),
    "an unknown order": (
        lambda a: gpuarray.empty((3,), np.float32, order="X"),
        ValueError,
        "invalid order",
    ),
    "a hash": (hash, TypeError, "unhashable"),
    "its truth": (bool, ValueError, "neither true nor false"),
}


@pytest.mark.parametrize("case", WRONG_ARRAYS)
def test_wrong_use_of_gpuarray(case):
    call, error, message = WRONG_ARRAYS[case]
    with pytest.raises(error, match=message):
        call(gpuarray.zeros(3, np.float32))


def test_gpuarray_relatives():
    array = gpuarray.to_gpu_async(np.asfortranarray(np.ones((2, 3), np.float32)))
    for like in (gpuarray.zeros_like(array), gpuarray.empty_like(array)):
        assert like.shape == (2, 3) and like.flags.f_contiguous
    np.testing.assert_array_equal(gpuarray.zeros_like(array).get(), 0)
    assert gpuarray.zeros_like(array, dtype=np.int32).dtype == np.int32
    assert gpuarray.empty(0, np.float32).get().size == 0


@pytest.mark.parametrize(("value", "power"), [(0, 0), (1, 0), (2, 1), (7, 2), (8, 3)])
def test_the_power_of_two_that_a_number_holds(value, power):
    from helpers.simulator.pycuda_api import tools

    assert tools.bitlog2(value) == power
