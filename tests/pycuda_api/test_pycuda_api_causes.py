"""What findings and errors say of slips in a PyCUDA program around a right kernel."""

from __future__ import annotations

import re
import struct
import warnings

import numpy as np
import pytest

from helpers.simulator import pycuda_api
from helpers.simulator.pycuda_api import (
    autoprimaryctx,  # noqa: F401  importing it makes the context
    gpuarray,
    tools,
)
from helpers.simulator.pycuda_api import driver as cuda
from helpers.simulator.pycuda_api.compiler import SourceModule

BLOCK = (64, 1, 1)
SOURCE = """
struct Points { int n; float *x; float *v; };
__global__ void drift(Points *p) { int i = threadIdx.x; if (i < p->n) p->x[i] += p->v[i]; }
__global__ void twice(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}
__global__ void rows_by_pitch(const float *in, size_t pitch, float *out, int w, int h)
{
    for (int y = 0; y < h; y++)
        out[y * w + threadIdx.x] = ((const float *)((const char *)in + y * pitch))[threadIdx.x];
}
__global__ void rows_by_elements(const float *in, size_t pitch, float *out, int w, int h)
{
    for (int y = 0; y < h; y++) out[y * w + threadIdx.x] = in[y * pitch + threadIdx.x];
}
__global__ void rows_by_width(const float *in, size_t pitch, float *out, int w, int h)
{
    for (int y = 0; y < h; y++) out[y * w + threadIdx.x] = in[y * w + threadIdx.x];
}
__global__ void keep(const float *x, float *kept, int *count, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0) kept[atomicAdd(count, 1)] = x[i];
}
__global__ void grey(const unsigned char *x, int *y) { y[threadIdx.x] = x[threadIdx.x]; }
__global__ void anything(const void *x, int *y)
{
    y[threadIdx.x] = ((const long long *)x)[threadIdx.x];
}
__global__ void scale(unsigned short factor, float *x) { x[threadIdx.x] *= factor; }
struct Step { float dt; int n; };
__global__ void decay(float *x, Step s) { if (threadIdx.x < s.n) x[threadIdx.x] -= s.dt; }
__global__ void dots(const int *a, const int *b, int *y)
{
    y[threadIdx.x] = __dp4a(a[threadIdx.x], b[threadIdx.x], 0);
}
__global__ void sums(const int *a, int *y) { y[threadIdx.x] = a[threadIdx.x] + 1; }
__global__ void shifted(const float *x, float *y, int up)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (up)
        y[i + 1] = x[i];
    else
        y[i] = x[i + 1];
}
__global__ void fill(float *x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
__global__ void fill_to(float *x, int n) { for (int i = threadIdx.x; i <= n; i += 64) x[i] = 1; }
__global__ void quads(float4 *x, int n)
{
    for (int i = threadIdx.x; i < n; i += 64) x[i] = make_float4(1, 2, 3, 4);
}
__global__ void both(float *x, double *y, int n)
{
    for (int i = threadIdx.x; i < n; i += 64) { x[i] = 1; y[i] = 2; }
}
static __global__ void hidden(float *x) { x[threadIdx.x] = 1; }
__device__ float *inner() { float v[2]; v[0] = 1; v[1] = 2; return v; }
__global__ void outlived(float *x) { float *v = inner(); x[threadIdx.x] = v[0] + v[1]; }
__global__ void lengths(float* y, const Step* s) { y[threadIdx.x] = s[threadIdx.x].dt; }
"""
MODULE = SourceModule(SOURCE)


def run(name: str, *arguments, grid=(1, 1), **more) -> str:
    """The words of what the launch finds, as one line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            MODULE.get_function(name)(*arguments, block=BLOCK, grid=grid, **more)
        except cuda.LaunchError as error:
            return re.sub(r"\s+", " ", str(error))
    return re.sub(r"\s+", " ", " ".join(str(one.message) for one in caught))


def points(form: str, x: cuda.DeviceAllocation, v: int) -> cuda.DeviceAllocation:
    p = cuda.mem_alloc(24)
    cuda.memcpy_htod(p, struct.pack(form, 64, int(x), v))
    return p


def test_a_structure_without_its_gaps_is_told_by_its_bytes():
    x, v = (cuda.to_device(np.ones(64, np.float32)) for _ in range(2))
    assert run("drift", points("i4xPP", x, int(v))) == ""
    said = run("drift", points("=iQQ", x, int(v)))
    assert "bytes 16 to 23 of p[0], of which nothing has written the last 4" in said
    assert "align=True" in said


def test_records_without_the_gaps_of_a_structure_are_refused():
    fields = [("n", np.int32), ("x", np.uint64), ("v", np.uint64)]
    x, v = (cuda.to_device(np.ones(64, np.float32)) for _ in range(2))
    for align in (True, False):
        record = np.zeros(1, np.dtype(fields, align=align))
        record["n"], record["x"], record["v"] = 64, int(x), int(v)
        if align:
            assert run("drift", cuda.In(record)) == ""
        else:
            with pytest.raises(cuda.LogicError, match="structures of 24 bytes"):
                run("drift", cuda.In(record))


def test_an_address_of_freed_memory_in_a_structure_is_told_as_that():
    x = cuda.to_device(np.ones(64, np.float32))
    freed = int(cuda.to_device(np.ones(64, np.float32)))
    said = run("drift", points("i4xPP", x, freed))
    assert "of an array of 256 bytes that has been freed" in said


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("rows_by_pitch", ""),
        ("rows_by_elements", "gives the distance of two rows in bytes"),
        ("rows_by_width", "rows of 256 bytes that begin 512 bytes apart"),
    ],
)
def test_rows_that_lie_a_pitch_apart_are_named(name, cause):
    h, w = 5, 64
    rows, pitch = cuda.mem_alloc_pitch(4 * w, h, 4)
    cuda.memset_d2d32(rows, pitch, 7, w, h)
    said = run(name, rows, np.uintp(pitch), cuda.Out(np.zeros((h, w), np.float32)),
               np.int32(w), np.int32(h))  # fmt: skip
    assert cause in said if cause else said == ""


@pytest.mark.parametrize(("dtype", "said"), [(np.float32, ""), (np.float64, "array of float64")])
def test_an_allocation_filled_with_numpys_usual_numbers_is_remarked_on_once(dtype, said):
    x, y = cuda.to_device(np.ones(64, dtype)), cuda.mem_alloc(256)
    first = run("twice", x, y, np.int32(64))
    assert said in first if said else first == ""
    assert run("twice", x, y, np.int32(64)) == ""


def test_bytes_and_what_a_kernel_has_written_are_no_reason_for_a_remark():
    x = cuda.to_device(np.ones(64, np.float32).view(np.uint8))
    y = cuda.to_device(np.ones(64, np.int64))
    assert "int64" in run("twice", x, y, np.int32(64))
    assert run("twice", y, x, np.int32(64)) == ""


@pytest.mark.parametrize("way", [cuda.In, gpuarray.to_gpu])
def test_usual_numbers_for_a_pointer_to_bytes_are_remarked_on(way):
    values, y = np.arange(64), np.zeros(64, np.int32)
    said = run("grey", way(values), cuda.Out(y))
    assert "8 bytes of a number for one element" in said and "astype(np.uint8)" in said
    for meant in (values.astype(np.uint8), values.view(np.uint8), values.astype(np.float32)):
        assert run("grey", way(meant), cuda.Out(y)) == ""
    assert run("anything", way(values), cuda.Out(y)) == ""


def test_an_array_to_which_a_kernel_appends_may_have_an_end_without_values():
    x = np.where(np.arange(128) % 3, -1, 1).astype(np.float32)
    kept, count = np.zeros_like(x), np.zeros(1, np.int32)
    launch = cuda.In(x), cuda.Out(kept), cuda.InOut(count), np.int32(128)
    assert run("keep", *launch, grid=(2, 1)) == ""
    assert count[0] == 43 and (kept[:43] == 1).all()
    short = run("twice", cuda.In(x), cuda.Out(kept), np.int32(128))
    assert "256 were never written" in short


def test_a_float16_by_value_is_refused_as_by_pycuda():
    x = cuda.to_device(np.ones(64, np.float32))
    with pytest.raises(struct.error, match="bad char in struct format"):
        MODULE.get_function("scale")(np.float16(2), x, block=BLOCK)
    assert run("scale", np.uint16(2), x) == ""


def test_memory_of_as_many_bytes_as_an_array_has_elements_is_told():
    x = np.ones(64, np.float32)
    with pytest.raises(cuda.LogicError, match="give it the array's nbytes, not its size"):
        cuda.memcpy_htod(cuda.mem_alloc(x.size), x)
    with pytest.raises(cuda.LogicError, match="the allocation has 63 bytes"):
        cuda.memcpy_htod(cuda.mem_alloc(63), x)


POOL = tools.DeviceMemoryPool()
# Launches with memory of as many bytes as an array of 256 float32 has elements.
COUNTED_IN_ELEMENTS = {
    "an output": lambda x: run(
        "twice", cuda.In(x), cuda.mem_alloc(x.size), np.int32(256), grid=(4, 1)
    ),
    "from a pool": lambda x: run("fill", POOL.allocate(x.size), grid=(4, 1)),
    "vectors": lambda x: run("quads", cuda.mem_alloc(len(x)), np.int32(64)),
    "two outputs": lambda x: run(
        "both", cuda.mem_alloc(x.size), cuda.mem_alloc(x.size), np.int32(256)
    ),
}


@pytest.mark.parametrize("name", COUNTED_IN_ELEMENTS)
def test_an_output_of_as_many_bytes_as_it_has_elements_is_told(name):
    said = COUNTED_IN_ELEMENTS[name](np.ones(256, np.float32))
    assert "and its memory has 256 bytes. mem_alloc takes bytes: give it the array's nbytes" in said
    assert "guard" not in said


def filled_before(x: np.ndarray) -> str:
    y = cuda.mem_alloc(len(x.tobytes()))
    cuda.memcpy_htod(y, x)
    return run("fill", y, grid=(16, 1))


# Launches that leave arrays of the right size: 1,024 bytes for 256 float32.
UNGUARDED = {
    "bytes by hand": lambda x, n: run("fill", cuda.mem_alloc(4 * len(x)), grid=(16, 1)),
    "one element more": lambda x, n: run("fill_to", cuda.mem_alloc(n), np.int32(256)),
    "a block more": lambda x, n: run("fill", cuda.mem_alloc(n), grid=(5, 1)),
    "as many elements as bytes": lambda x, n: run("fill", cuda.mem_alloc(x.nbytes), grid=(16, 1)),
    "filled by the host": lambda x, n: filled_before(x),
    "an array": lambda x, n: run("fill", gpuarray.empty(256, np.float32), grid=(16, 1)),
    "an array from a pool": lambda x, n: run(
        "fill", gpuarray.empty(256, np.float32, allocator=POOL.allocate), grid=(16, 1)
    ),
    "a copy": lambda x, n: run("fill", cuda.to_device(x), grid=(16, 1)),
}


@pytest.mark.parametrize("name", UNGUARDED)
def test_a_missing_guard_is_told_as_that(name):
    x = np.ones(256, np.float32)
    said = UNGUARDED[name](x, len(x.tobytes()))
    assert "Is a guard missing" in said and "mem_alloc" not in said


def test_one_missing_event_is_one_finding():
    x = cuda.pagelocked_empty(64, np.float32)
    a, b = cuda.mem_alloc(256), cuda.mem_alloc(256)
    first, second = cuda.Stream(), cuda.Stream()
    cuda.memcpy_htod_async(a, x, first)
    with pytest.warns(cuda.SimulatorWarning, match="kernel twice"):
        MODULE.get_function("twice")(a, b, np.int32(64), block=BLOCK, stream=first)
        MODULE.get_function("twice")(b, a, np.int32(64), block=BLOCK, stream=second)
    (finding,) = [one for one in pycuda_api.findings() if one.kind == "unsynchronised"]
    assert "kernel twice on stream" in finding.message


def test_a_loop_of_launches_shows_a_fault_once_and_keeps_all():
    x = cuda.to_device(np.ones(64, np.float32))
    shifted = SourceModule(
        "__global__ void shift(float *x) { int i = threadIdx.x; if (i < 63) x[i] += x[i + 1]; }"
    ).get_function("shift")

    def launches() -> int:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in range(3):
                shifted(x, block=BLOCK, grid=(1, 1))
        return len(caught)

    assert launches() == 1
    assert len(pycuda_api.findings(clear=True)) == 3
    assert launches() == 1


def test_an_output_that_is_not_copied_back_is_told():
    x = np.ones(64, np.float32)
    said = run("twice", cuda.In(x), cuda.In(np.zeros_like(x)), np.int32(64))
    assert "writes to y, which cuda.In copies to the device and not back" in said
    assert "Give cuda.Out for y" in said
    assert run("twice", cuda.In(x), cuda.Out(np.zeros_like(x)), np.int32(64)) == ""
    assert run("twice", cuda.In(x), cuda.In(2 * x), np.int32(64)) == ""  # it changes nothing


@pytest.mark.parametrize(
    ("way", "advice"), [(cuda.Out, "with dtype=np.float32"), (cuda.In, ".astype(np.float32)")]
)
def test_an_output_of_another_dtype_is_made_anew(way, advice):
    with pytest.raises(cuda.LogicError) as error:
        run("twice", cuda.In(np.ones(64, np.float32)), way(np.zeros(64)), np.int32(64))
    assert advice in str(error.value) and (way is cuda.In) == (".astype" in str(error.value))


def test_bytes_for_whole_numbers_that_a_kernel_unpacks_are_right():
    x, y = np.arange(256, dtype=np.int8), np.zeros(64, np.int32)
    assert run("dots", cuda.In(x), cuda.In(x), cuda.Out(y)) == ""
    np.testing.assert_array_equal(y, (x.astype(int) ** 2).reshape(64, 4).sum(1))
    with pytest.raises(cuda.LogicError, match=r"astype\(np.int32\), or pass .view\(np.int32\)"):
        run("sums", cuda.In(x), cuda.Out(y))


def test_one_memory_for_two_arguments_is_told_once_whichever_lines_race():
    x = cuda.to_device(np.ones(65, np.float32))
    said = [run("shifted", x, x, np.int32(up)) for up in (1, 0, 1)]
    assert [one.count("are the same memory in this launch") for one in said] == [1, 0, 0]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ([("dt", np.float32), ("n", np.int32)], ""),
        ([("dt", np.float64), ("n", np.int32)], "structures of 8 bytes (float32 at 0, int32 at 4)"),
        ([("n", np.int32), ("dt", np.float32)], "got structures with int32 at byte 0"),
    ],
)
def test_the_fields_of_a_structure_by_value_are_compared(fields, said):
    step = np.zeros(1, fields)
    step["dt"], step["n"] = 0.5, 64
    x = np.ones(64, np.float32)
    if said:
        with pytest.raises(cuda.LogicError, match="`Step s`, takes") as error:
            run("decay", cuda.InOut(x), step[0])
        assert said in str(error.value)
    else:
        assert run("decay", cuda.InOut(x), step[0]) == "" and (x == 0.5).all()


@pytest.mark.parametrize(("count", "is_told"), [(np.int32, False), (np.int64, True)])
def test_memory_with_structures_of_another_size_is_remarked_on(count, is_told):
    steps = np.zeros(64, [("dt", np.float32), ("n", count)])
    there, y = cuda.mem_alloc(steps.nbytes), np.zeros(64, np.float32)
    cuda.memcpy_htod(there, steps)
    said = run("lengths", cuda.Out(y), there)
    words = "structures of 8 bytes (float32 at 0, int32 at 4), got structures of 12 bytes"
    assert (words in said) == is_told and run("lengths", cuda.Out(y), there) == ""


def test_a_static_kernel_is_told_as_that():
    with pytest.raises(cuda.LogicError, match=r"hidden is static.* leave static out"):
        MODULE.get_function("hidden")


def test_an_output_whose_values_nothing_has_set_is_one_finding():
    said = run("outlived", cuda.Out(np.zeros(64, np.float32)))
    assert said.count("(warning)") == 1 and "declare it in the caller" in said
