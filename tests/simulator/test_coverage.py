"""Remarks on what a launch leaves out of arrays that it means as a whole."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import simulator
from helpers.simulator.launch import coverage
from helpers.simulator.pycuda_api import _findings

ADD = """__global__ void f(const float *x, float *y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += x[i];
}"""
IMAGE = """__global__ void f(float *x, int height, int width) {
    int row = blockIdx.%s * 16 + threadIdx.y, column = blockIdx.%s * 16 + threadIdx.x;
    if (row < height && column < width) x[row * width + column] *= 2;
}"""
ROWS = """__global__ void f(const float *a, float *y, int rows, int columns) {
    int row = blockIdx.x;
    float sum = 0;
    for (int k = 0; k < %s; k++) sum += a[row * columns + k];
    if (threadIdx.x == 0) y[row] += sum;
}"""
PRODUCT = """
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void f(const half *a, const half *b, float *c, int m, int n, int k) {
    int r = blockIdx.y * 16, q = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
    wmma::fill_fragment(fc, 0.f);
    for (int i = 0; i < k; i += 16) {
        wmma::load_matrix_sync(fa, a + r * %(width)s + i, %(width)s);
        wmma::load_matrix_sync(fb, b + q * k + i, k);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(c + r * n + q, fc, n, wmma::mem_row_major);
}"""
DIAGONAL = """__global__ void f(float *a, int n) {
    if (threadIdx.x < n) a[threadIdx.x * n + threadIdx.x] += 1;
}"""
TRIANGLE = """__global__ void f(float *a, int n) {
    for (int k = 0; k <= threadIdx.x; k++) a[threadIdx.x * n + k] *= 2;
}"""
GATHER = """__global__ void f(const int *which, const float *x, float *y, int n) {
    y[threadIdx.x] = x[which[threadIdx.x]] + n;
}"""
PITCHED = """__global__ void f(float *t, const float *c, const float *r, int w, int h, int pitch) {
    if (threadIdx.x < w && blockIdx.x < h)
        t[blockIdx.x * pitch + threadIdx.x] = c[blockIdx.x] + r[threadIdx.x];
}"""
EVENS = """__global__ void f(const float *x, float *y, int n) {
    if (2 * threadIdx.x < n) y[threadIdx.x] += x[2 * threadIdx.x];
}"""
APPENDS = """__global__ void f(const float *x, float *y, int *count, int n) {
    if (x[threadIdx.x] > 0.5f) y[atomicAdd(count, 1)] = x[threadIdx.x];
}"""


def numbers(*shape, dtype=np.float32):
    return np.random.default_rng(1).random(shape).astype(dtype)


def remarks(source, *args, grid=(1,), block=(64,)):
    ints = (np.int32(one) if isinstance(one, int) else one for one in args)
    profile = simulator.profile(source, "f", *ints, grid=grid, block=block)
    assert not profile.findings
    assert set(profile.remarks) <= set(profile.sentences())
    return " ".join(profile.remarks)


@pytest.mark.parametrize(
    ("source", "args", "launch", "says"),
    [
        (ADD, (numbers(512), numbers(512), 512), {"grid": (4,)},
         "f never reads 256 of the 512 elements of x, from x[256] on, "
         "and never reads or writes 256 of the 512 elements of y, from y[256] on"),
        (IMAGE % ("x", "y"), (numbers(64, 96), 64, 96), {"grid": (6, 4), "block": (16, 16)},
         "never reads or writes 2,048 of the 6,144 elements of x, such as x[64]"),
        (ROWS % "gridDim.x", (numbers(16, 48), numbers(16), 16, 48), {"grid": (16,)},
         "never reads 512 of the 768 elements of a, such as a[16]"),
        (ROWS % "columns / 2", (numbers(16, 48), numbers(16), 16, 48), {"grid": (16,)},
         "never reads 384 of the 768 elements of a, such as a[24]"),
        (PRODUCT % {"width": "m"},
         (numbers(32, 64, dtype=np.float16), numbers(16, 64, dtype=np.float16), numbers(32, 16),
          32, 16, 64), {"grid": (1, 2), "block": (32,)},
         "f never reads 992 of the 2,048 elements of a, from a[1056] on"),
    ],
)  # fmt: skip
def test_what_is_left_out_of_a_whole_array_is_told(source, args, launch, says):
    assert says in remarks(source, *args, **launch)


@pytest.mark.parametrize(
    ("source", "args", "launch"),
    [
        (ADD, (numbers(512), numbers(512), 512), {"grid": (8,)}),
        (ADD, (numbers(512), numbers(512), 100), {"grid": (8,)}),  # arrays for more
        (ADD, (numbers(512), numbers(512), 448), {"grid": (7,)}),
        (IMAGE % ("y", "x"), (numbers(64, 96), 64, 96), {"grid": (6, 4), "block": (16, 16)}),
        (ROWS % "columns", (numbers(16, 48), numbers(16), 16, 48), {"grid": (16,)}),
        (PRODUCT % {"width": "k"},
         (numbers(32, 64, dtype=np.float16), numbers(16, 64, dtype=np.float16), numbers(32, 16),
          32, 16, 64), {"grid": (1, 2), "block": (32,)}),
        (DIAGONAL, (numbers(32, 32), 32), {}),
        (TRIANGLE, (numbers(64, 64), 64), {}),
        (GATHER, (np.arange(64, dtype=np.int32) * 37 % 100, numbers(128), numbers(64), 128), {}),
        (PITCHED, (numbers(128), numbers(2), numbers(33), 33, 2, 64), {"grid": (2,)}),
        (EVENS, (numbers(128), numbers(64), 128), {}),
        (APPENDS, (numbers(64), numbers(64), np.zeros(1, np.int32), 64), {}),
    ],
)  # fmt: skip
def test_what_a_kernel_means_to_leave_out_is_not_told(source, args, launch):
    assert remarks(source, *args, **launch) == ""


def test_an_array_that_starts_elsewhere_is_not_watched():
    with simulator._loaded(ADD, "f", (), None, rehearses=False) as kernel:
        assert coverage.whole_arrays(kernel, bytes(20)) == ()


def test_an_array_that_a_program_uses_row_by_row_is_not_told(cuda, monkeypatch):
    """The first row begins where the array begins."""
    from pycuda import compiler, gpuarray

    source = ADD.replace("int n)", "int n, int rows)")
    function = compiler.SourceModule(source).get_function("f")
    n, rows, launch = np.int32(64), np.int32(4), {"grid": (1, 1), "block": (64, 1, 1)}
    x, y = gpuarray.zeros((4, 64), np.float32), gpuarray.zeros((4, 64), np.float32)
    said = []
    monkeypatch.setattr(_findings, "remark", said.append)
    function(x, y, n, rows, **launch)
    assert len(said) == 1 and "elements of" in said[0]
    for k in range(4):
        function(x[k], y[k], n, rows, **launch)
    assert len(said) == 1
