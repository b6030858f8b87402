"""The cure that the words about a race advise has been tried."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import simulator
from helpers.simulator.findings.words import Cause
from helpers.simulator.ptx.edits import with_atomics

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
HALVES = (
    HEAD
    + """
    for (int step = blockDim.x / 2; step > 0; step /= 2)
        if (t < step) s[t] += s[t + step];"""
    + TAIL
)
ODD_HALVES = (
    HEAD
    + """
    for (int live = blockDim.x; live > 1; live = (live + 1) / 2) {
        if (t >= (live + 1) / 2) s[t - (live + 1) / 2] += s[t];
        __syncthreads();
    }"""
    + TAIL
)
SCAN = (
    HEAD
    + """
    for (int step = 1; step < blockDim.x; step *= 2) {
        if (t >= step) s[t] += s[t - step];
        __syncthreads();
    }"""
    + TAIL
)
SHIFT = (
    HEAD
    + """
    s[t] = s[(t + 1) % blockDim.x];
    __syncthreads();"""
    + TAIL
)
IN_PLACE = """__global__ void f(float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i < gridDim.x * blockDim.x - 1) x[i] = x[i - 1] + x[i + 1] + y[i];
}"""
LAST_WARP = (
    HEAD
    + """
    if (t < 32) {
        s[t] = 2 * x[t];
        y[t] = s[31 - t];
    }
}"""
)

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


# Kernels of x, y and counts, whose blocks have 64 threads.
KERNEL = "__global__ void f(const float *x, float *y, int *counts) {\n int t = threadIdx.x;\n"
VOLATILE_TAIL = """
    __shared__ float s[64];
    s[t] = x[t];
    __syncthreads();
    if (t < 32) {
        volatile float *v = s;
        v[t] += v[t + 32]; v[t] += v[t + 16]; v[t] += v[t + 8];
        v[t] += v[t + 4]; v[t] += v[t + 2]; v[t] += v[t + 1];
    }
    if (t == 0) y[blockIdx.x] = s[0];"""
SET_BY_ANOTHER = """
    __shared__ int total;
    if (t == 63) total = 3;
    y[64 * blockIdx.x + t] = total;"""
TWO_CELLS = "y[t % 8] += x[t]; y[(t + 1) % 8] -= x[t];"
LARGEST = "if (x[t] > *counts) *counts = x[t];"
APPENDED = "if (t % 3) { int k = *counts; *counts = k + 1; y[k] = x[t]; }"
LAST_ONE = "y[t / 2] = x[64 * blockIdx.x + t];"
FIRST_ONES = """
    __shared__ int taken;
    if (t == 0) taken = 0;
    __syncthreads();
    if (x[t] > 0) atomicAdd(&taken, 1);
    y[64 * blockIdx.x + t] = taken;"""
CHAIN = """
    if (t != 0) return;
    int b = blockIdx.x;
    if (b > 0) while ({look}) {{ }}
    {before}
    y[b] = b > 0 ? y[b - 1] + 1 : 1;
    {fence}
    {signal};
    {after}"""
BY_ATOMICS = {"look": "atomicAdd(&counts[b - 1], 0) == 0", "signal": "atomicExch(&counts[b], 1)"}
PLAINLY = {"look": "counts[b - 1] == 0", "signal": "counts[b] = 1"}


def chain(before: str = "", fence: str = "", after: str = "", **how: str) -> str:
    """Blocks that wait for the one before them, and add to its value."""
    return CHAIN.format(before=before, fence=fence, after=after, **how)


@pytest.mark.parametrize(
    ("body", "blocks", "cause"),
    [
        (VOLATILE_TAIL, 2, Cause.STEPS_OF_WARP),  # one __syncwarp() is not enough
        (SET_BY_ANOTHER, 2, Cause.NO_BARRIER),
        (TWO_CELLS, 1, Cause.UPDATED),  # both updates of the array become atomic
        (LARGEST, 2, Cause.UPDATED),
        (APPENDED, 2, Cause.UPDATED),  # the race for the place that the counter gives follows
        (LAST_ONE, 1, Cause.LAST_ONE_DECIDES),  # atomicExch() ends the race and helps nobody
        (FIRST_ONES, 1, Cause.NO_BARRIER),
        (chain(**BY_ATOMICS), 4, Cause.NO_FENCE),
        (chain(fence="__threadfence_block();", **BY_ATOMICS), 4, Cause.FENCE_OF_BLOCK),
        (chain(fence="__threadfence();", **PLAINLY), 4, Cause.PLAIN_SIGNAL),
        (chain(**PLAINLY), 4, Cause.ANY_ORDER),  # nothing says that the blocks know an order
        ("if (t == 0) y[blockIdx.x] = blockIdx.x ? y[blockIdx.x - 1] : 1;", 4, Cause.ANY_ORDER),
    ],
)
def test_the_cure_that_is_told_ends_the_race(body, blocks, cause):
    x, y = (np.arange(64 * blocks, dtype=np.float32) for _ in range(2))
    counts = np.zeros(64, np.int32)
    first, *others = simulator.check(
        f"{KERNEL}{body}\n}}", "f", x, y, counts, grid=(blocks,), block=(64,)
    )
    assert first.reason is cause, first
    assert not [one for one in others if one.kind == "race"]


def test_accesses_without_an_atomic_form_are_left_alone():
    code = "ld.global.u8 %r1, [%rd1];\nst.global.u32 [%rd2], %r2;"
    assert with_atomics(code, [1], {}) == ""
    assert "atom.global.exch.b32" in with_atomics(code, [2], {})
