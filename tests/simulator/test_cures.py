"""The barrier that the words about a race advise has been tried."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import simulator

HEAD = """__global__ void f(const float *x, float *y) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * blockDim.x + t];
    __syncthreads();
"""
TAIL = """
    y[blockIdx.x * blockDim.x + t] = s[t];
}"""
REVERSE = """__global__ void f(const float *x, float *y) {
    __shared__ float s[256];
    int t = threadIdx.x;
    s[t] = x[t];
    y[t] = s[blockDim.x - 1 - t];
}"""
HALVES = HEAD + """
    for (int step = blockDim.x / 2; step > 0; step /= 2)
        if (t < step) s[t] += s[t + step];""" + TAIL
ODD_HALVES = HEAD + """
    for (int live = blockDim.x; live > 1; live = (live + 1) / 2) {
        if (t >= (live + 1) / 2) s[t - (live + 1) / 2] += s[t];
        __syncthreads();
    }""" + TAIL
SCAN = HEAD + """
    for (int step = 1; step < blockDim.x; step *= 2) {
        if (t >= step) s[t] += s[t - step];
        __syncthreads();
    }""" + TAIL
SHIFT = HEAD + """
    s[t] = s[(t + 1) % blockDim.x];
    __syncthreads();""" + TAIL
IN_PLACE = """__global__ void f(float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < gridDim.x * blockDim.x - 1) x[i] = x[i - 1] + x[i + 1] + y[i];
}"""
LAST_WARP = HEAD + """
    if (t < 32) {
        s[t] = 2 * x[t];
        y[t] = s[31 - t];
    }
}"""

ONE_WARP = "a __syncwarp() or a __syncthreads() is missing between the two lines"
OF_WARP = "a __syncwarp() is missing between the two lines"
OF_BLOCK = "On a GPU either may come first: a __syncthreads() is missing between the"
NONE = "No single __syncthreads() was found that fixes this"


@pytest.mark.parametrize(
    ("source", "threads", "says"),
    [
        (REVERSE, 32, ONE_WARP),
        (REVERSE, 256, OF_BLOCK),
        (LAST_WARP, 256, OF_WARP),
        (HALVES, 256, OF_BLOCK),  # the first pair of threads is of one warp
        (SHIFT, 64, OF_BLOCK),  # between the load and the store of a line
        (ODD_HALVES, 5, NONE),
        (SCAN, 256, NONE),
        (IN_PLACE, 256, NONE),
    ],
)
def test_a_barrier_is_advised_where_it_helps(source, threads, says):
    x, y = (np.arange(threads, dtype=np.float32) for _ in range(2))
    (finding,) = simulator.check(source, "f", x, y, grid=(1,), block=(threads,))
    assert finding.kind == "race" and says in finding.cause


def test_a_large_launch_is_told_what_was_tried_in_some_of_its_blocks():
    x, y = (np.arange(64 * 256, dtype=np.float32) for _ in range(2))
    (finding,) = simulator.check(SCAN, "f", x, y, grid=(64,), block=(256,))
    assert NONE in finding.cause
