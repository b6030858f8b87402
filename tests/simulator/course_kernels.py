"""Kernels as students of well-known courses write them: with one fault each, whose first and only
finding must name its cause, and right ones of unusual forms, which must have none.

`FAULTS` and `RIGHT` are data. A line that a finding may name ends with "// <- here".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Course:
    """A kernel k with its launch. kind, cause: regular expressions of the finding's kind, and of
    its message and cause; shared: bytes of dynamic shared memory.
    """

    name: str
    source: str
    arguments: Sequence[Any]
    grid: int | tuple[int, ...]
    block: int | tuple[int, ...]
    shared: int = 0
    kind: str = ""
    cause: str = ""

    @property
    def lines(self) -> set[int]:
        rows = self.source.split("\n")
        return {number for number, row in enumerate(rows, 1) if "<- here" in row}


FAULTS: list[Course] = []
RIGHT: list[Course] = []
_RANDOM = np.random.default_rng(3)


def zeros(count: int, dtype: Any = np.float32) -> np.ndarray:
    return np.zeros(count, dtype)


def wholes(count: int, dtype: Any = np.float32) -> np.ndarray:
    return _RANDOM.integers(-8, 9, count).astype(dtype)


def picks(count: int, low: int, high: int, dtype: Any = np.int32) -> np.ndarray:
    return _RANDOM.integers(low, high, count).astype(dtype)


def fault(name: str, arguments: Sequence[Any], grid: Any, block: Any, **more: Any) -> None:
    FAULTS.append(course(name, arguments, grid, block, **more))


def right(name: str, arguments: Sequence[Any], grid: Any, block: Any, **more: Any) -> None:
    RIGHT.append(course(name, arguments, grid, block, **more))


def course(
    name: str, arguments: Sequence[Any], grid: Any, block: Any, *, source: str, **more: Any
) -> Course:
    """Return a case. source: begins with an empty line, and its kernel gets the name k in C."""
    kernel = "__global__ void k("
    source = source.removeprefix("\n").replace(kernel, f'extern "C" {kernel}')
    return Course(name, source, arguments, grid, block, **more)


fault("append_plain", [zeros(300, np.int32), zeros(1, np.int32), picks(300, 0, 99), np.int32(300)],
      3, 128, kind="race", cause="atomicAdd", source="""
__global__ void k(int* out, int* count, const int* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] % 3 == 0) {
        int at = (*count)++; // <- here
        out[at] = x[i]; // <- here
    }
}""")
fault("device_func_update", [zeros(8), wholes(300), picks(300, 0, 8), np.int32(300)],
      3, 128, kind="race", cause="atomicAdd", source="""
__device__ void accumulate(float* acc, float v) {
    *acc += v; // <- here
}
__global__ void k(float* out, const float* x, const int* key, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) accumulate(&out[key[i]], x[i]);
}""")
fault("counter_struct", [zeros(1, np.dtype("i4,f4")), np.abs(wholes(300)) + 1, np.int32(300)],
      3, 128, kind="race", cause="atomicAdd", source="""
struct Stats { int seen; float sum; };
__global__ void k(Stats* s, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0) {
        s->seen++; // <- here
        atomicAdd(&s->sum, x[i]);
    }
}""")
fault("barrier_and", [zeros(64), wholes(64)],
      1, 64, kind="barrier", cause="branch|two branches", source="""
__global__ void k(float* y, const float* x) {
    __shared__ float s[64];
    int t = threadIdx.x;
    s[t] = x[t];
    if (t >= 32) __syncthreads(); else __syncthreads(); // <- here
    y[t] = s[63 - t];
}""")
fault("barrier_switch", [zeros(128), wholes(128)],
      1, 128, kind="barrier", cause="branch", source="""
__global__ void k(float* y, const float* x) {
    __shared__ float s[128];
    int t = threadIdx.x;
    s[t] = x[t];
    switch (t / 32) {
        case 0: s[t] *= 2; __syncthreads(); break; // <- here
        case 1: s[t] *= 3; __syncthreads(); break; // <- here
        default: __syncthreads(); // <- here
    }
    y[t] = s[127 - t];
}""")
fault("barrier_lambda", [zeros(128), wholes(128)],
      1, 128, kind="barrier", cause="branch", source="""
__global__ void k(float* y, const float* x) {
    __shared__ float s[128];
    int t = threadIdx.x;
    auto publish = [&](float v) { s[t] = v; __syncthreads(); }; // <- here
    if (t < 64) publish(x[t]); // <- here
    else publish(-x[t]); // <- here
    y[t] = s[127 - t];
}""")
fault("warp_scan", [zeros(64, np.int32), picks(64, 0, 9)],
      1, 64, kind="race", cause="__syncwarp", source="""
__device__ int scan_warp(volatile int* p, int lane) {
    if (lane >= 1) p[lane] += p[lane - 1]; // <- here
    if (lane >= 2) p[lane] += p[lane - 2]; // <- here
    if (lane >= 4) p[lane] += p[lane - 4]; // <- here
    return p[lane];
}
__global__ void k(int* y, const int* x) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = x[t]; // <- here
    y[t] = scan_warp(s + (t & ~31), t & 31);
}""")
fault("fence_block_helper", [zeros(4), zeros(4)],
      4, 32, kind="race", cause=r"__threadfence_block.*__threadfence\(\)", source="""
__device__ int ticket_of = 0;
__device__ void publish(float* p, float v) {
    *p = v; // <- here
    __threadfence_block(); // <- here
}
__global__ void k(float* out, float* part) {
    __shared__ int last;
    if (threadIdx.x == 0) {
        publish(&part[blockIdx.x], blockIdx.x + 1.f);
        last = atomicAdd(&ticket_of, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) {
        __threadfence();
        out[threadIdx.x] = part[threadIdx.x]; // <- here
    }
}""")
fault("flag_fence_block", [zeros(1), zeros(1, np.int32), zeros(1)],
      2, 32, kind="race", cause=r"__threadfence", source="""
__global__ void k(float* data, int* flag, float* out) {
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        data[0] = 42.f; // <- here
        __threadfence_block(); // <- here
        atomicExch(flag, 1);
    }
    if (blockIdx.x == 1 && threadIdx.x == 0) {
        while (atomicAdd(flag, 0) == 0) { }
        __threadfence();
        out[0] = data[0]; // <- here
    }
}""")
fault("dyn_elements_not_bytes", [zeros(64), wholes(64)],
      1, 64, shared=64, kind="out-of-bounds", cause="shared=.*(bytes|256)", source="""
__global__ void k(float* y, const float* x) {
    extern __shared__ float s[];
    s[threadIdx.x] = x[threadIdx.x]; // <- here
    __syncthreads();
    y[threadIdx.x] = s[63 - threadIdx.x];
}""")
fault("dyn_overlap_types", [zeros(64), picks(64, 0, 64), wholes(64)],
      1, 64, shared=512, kind="race", cause="overlap|dynamic shared|start", source="""
__global__ void k(float* y, const int* keys, const float* v) {
    extern __shared__ char pool[];
    int* ks = (int*)pool;
    float* vs = (float*)(pool + blockDim.x);
    ks[threadIdx.x] = keys[threadIdx.x]; // <- here
    vs[threadIdx.x] = v[threadIdx.x]; // <- here
    __syncthreads();
    y[threadIdx.x] = vs[ks[threadIdx.x]];
}""")
fault("async_wait_one_too_few", [zeros(64), wholes(256), np.int32(4)],
      1, 64, kind="race", cause="[Ww]ait", source="""
#include <cuda_pipeline.h>
__global__ void k(float* y, const float* x, int tiles) {
    __shared__ float s[2][64];
    int t = threadIdx.x;
    __pipeline_memcpy_async(&s[0][t], &x[t], 4); // <- here
    __pipeline_commit();
    float sum = 0;
    for (int k = 0; k < tiles; ++k) {
        if (k + 1 < tiles) __pipeline_memcpy_async(&s[(k + 1) & 1][t], &x[(k + 1) * 64 + t], 4);
            // <- here
        __pipeline_commit();
        __pipeline_wait_prior(2);
        __syncthreads();
        sum += s[k & 1][63 - t]; // <- here
        __syncthreads();
    }
    y[t] = sum;
}""")
fault("fnptr_uninit", [zeros(32), wholes(32), np.int32(0)],
      1, 32, kind="fault|uninit", cause="function pointer|value first", source="""
typedef float (*Op)(float);
__device__ float twice(float x) { return 2 * x; }
__global__ void k(float* y, const float* x, int mode) {
    Op op;
    if (mode == 1) op = twice;
    y[threadIdx.x] = op(x[threadIdx.x]); // <- here
}""")
fault("heap_double_free", [zeros(32, np.int32), np.int32(6)],
      1, 32, kind="fault|out-of-bounds", cause="Free each address once", source="""
__global__ void k(int* y, int n) {
    int* p = new int[n];
    p[0] = n;
    y[threadIdx.x] = p[0];
    delete[] p;
    if (n > 3) delete[] p; // <- here
}""")
fault("heap_free_wrong", [zeros(32, np.int32), np.int32(6)],
      1, 32, kind="fault|out-of-bounds", cause="malloc|start|free", source="""
__global__ void k(int* y, int n) {
    int* p = (int*)malloc(n * sizeof(int));
    for (int i = 0; i < n; ++i) *p++ = i;
    y[threadIdx.x] = p[-1];
    free(p); // <- here
}""")
fault("heap_leak", [zeros(32, np.int32), np.int32(6)],
      1, 32, kind="leak", cause="free|delete", source="""
__global__ void k(int* y, int n) {
    int* p = new int[n]; // <- here
    for (int i = 0; i < n; ++i) p[i] = i * threadIdx.x;
    int s = 0;
    for (int i = 0; i < n; ++i) s += p[i];
    y[threadIdx.x] = s;
}""")
fault("heap_uninit", [zeros(32, np.int32), np.int32(6)],
      1, 32, kind="uninit", cause="leftovers, not zeros", source="""
__global__ void k(int* y, int n) {
    int* count = new int[n];
    for (int i = 0; i < 10; ++i) count[(i * threadIdx.x) % n]++; // <- here
    y[threadIdx.x] = count[0];
    delete[] count;
}""")
fault("local_pointer_param", [zeros(32), wholes(64), np.int32(8)],
      1, 32, kind="out-of-bounds", cause="buffer|local", source="""
__device__ void fill(float* out, float v, int n) {
    for (int i = 0; i < n; ++i) out[i] = v; // <- here
}
__global__ void k(float* y, const float* x, int n) {
    float buffer[8];
    fill(buffer, x[threadIdx.x], n + 1);
    float s = 0;
    for (int i = 0; i < n; ++i) s += buffer[i];
    y[threadIdx.x] = s;
}""")
fault("local_struct_member", [zeros(32), wholes(64), np.int32(4)],
      1, 32, kind="out-of-bounds", cause="taps", source="""
struct State { float taps[4]; int count; };
__global__ void k(float* y, const float* x, int n) {
    State s;
    s.count = 0;
    for (int i = 0; i <= n; ++i) {
        s.taps[i] = x[threadIdx.x + i]; // <- here
    }
    y[threadIdx.x] = s.taps[0] + s.taps[3] + s.count;
}""")
fault("local_struct_member_read", [zeros(32), wholes(64), np.int32(3)],
      1, 32, kind="out-of-bounds", cause="c", source="""
struct Poly { float c[3]; float scale; };
__global__ void k(float* y, const float* x, int degree) {
    Poly p = {{1.f, 2.f, 3.f}, 10.f};
    float v = 0;
    for (int i = degree; i >= 0; --i) v = v * x[threadIdx.x] + p.c[i]; // <- here
    y[threadIdx.x] = v * p.scale;
}""")
fault("local_struct_method", [zeros(32, np.int32), picks(64, 1, 9), np.int32(5)],
      1, 32, kind="out-of-bounds", cause="data", source="""
struct Stack {
    int data[4];
    int top;
    __device__ void push(int v) { data[top++] = v; } // <- here
    __device__ int pop() { return data[--top]; }
};
__global__ void k(int* y, const int* x, int n) {
    Stack s;
    s.top = 0;
    for (int i = 0; i < n; ++i) s.push(x[i]);
    int sum = 0;
    for (int i = 0; i < n; ++i) sum = sum * 2 + s.pop();
    y[threadIdx.x] = sum;
}""")
fault("local_2d_inner", [zeros(32), wholes(64), np.int32(3)],
      1, 32, kind="out-of-bounds", cause="m", source="""
__global__ void k(float* y, const float* x, int n) {
    float m[4][3];
    for (int r = 0; r < 4; ++r) for (int c = 0; c < 3; ++c) m[r][c] = x[r * 3 + c];
    float s = 0;
    for (int c = 0; c <= n; ++c) s += m[1][c]; // <- here
    y[threadIdx.x] = s;
}""")
fault("no_return", [zeros(32), wholes(32)],
      1, 32, kind="uninit", cause="must end with a return", source="""
__device__ float clampf(float v, float lo, float hi) {
    if (v < lo) return lo;
    if (v > hi) return hi;
} // <- here
__global__ void k(float* y, const float* x) {
    y[threadIdx.x] = clampf(x[threadIdx.x], -100, 100); // <- here
}""")
fault("no_return_switch", [zeros(32), wholes(32), picks(32, 0, 5)],
      1, 32, kind="uninit", cause="must end with a return", source="""
enum Op { ADD, SUB, MUL };
__device__ float apply(Op op, float a, float b) {
    switch (op) {
        case ADD: return a + b;
        case SUB: return a - b;
        case MUL: return a * b;
    }
} // <- here
__global__ void k(float* y, const float* x, const int* op) {
    int t = threadIdx.x;
    y[t] = apply((Op)op[t], x[t], 2.f); // <- here
}""")
fault("uninit_branch_two", [zeros(32), wholes(32), np.int32(32)],
      1, 32, kind="uninit", cause="value first", source="""
__global__ void k(float* y, const float* x, int n) {
    int i = threadIdx.x;
    float left, right;
    if (i > 0) left = x[i - 1]; else left = 0;
    if (i < n - 1) right = x[i + 1];
    y[i] = left + right; // <- here
}""")
fault("uninit_float3", [zeros(32), wholes(96), np.int32(16)],
      1, 32, kind="uninit", cause="value first", source="""
__global__ void k(float* y, const float* x, int n) {
    float3 force;
    for (int i = 0; i < n; ++i) {
        force.x += x[3 * i]; // <- here
        force.y += x[3 * i + 1]; // <- here
        force.z += x[3 * i + 2]; // <- here
    }
    y[threadIdx.x] = force.x + force.y + force.z;
}""")
fault("uninit_max_fmaxf", [zeros(32), wholes(96), np.int32(96)],
      1, 32, kind="uninit", cause="value first", source="""
__global__ void k(float* y, const float* x, int n) {
    float best;
    for (int i = threadIdx.x; i < n; i += 32) best = fmaxf(best, x[i]); // <- here
    y[threadIdx.x] = best;
}""")
fault("uninit_index", [zeros(32), wholes(32), np.int32(32)],
      1, 32, kind="uninit", cause="value first", source="""
__global__ void k(float* y, const float* x, int n) {
    int i;
    if (threadIdx.x < 16) i = threadIdx.x;
    y[threadIdx.x] = x[i]; // <- here
}""")
fault("uninit_shuffle", [zeros(1), wholes(32), np.int32(20)],
      1, 32, kind="uninit", cause="value first", source="""
__global__ void k(float* y, const float* x, int n) {
    float v;
    if (threadIdx.x < n) v = x[threadIdx.x];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d); // <- here
    if (threadIdx.x == 0) *y = v; // <- here
}""")
fault("uninit_pointer_select", [zeros(32), zeros(32), wholes(64), picks(32, 0, 3)],
      1, 32, kind="uninit|out-of", cause="value first|uninitialised", source="""
__global__ void k(float* a, float* b, const float* x, const int* side) {
    float* dst;
    if (side[threadIdx.x] == 0) dst = a;
    if (side[threadIdx.x] == 1) dst = b;
    dst[threadIdx.x] = x[threadIdx.x]; // <- here
}""")
fault("uninit_shared_ptr_thread0", [zeros(32), wholes(64)],
      1, 32, kind="uninit", cause="Shared memory holds leftovers", source="""
__global__ void k(float* y, const float* x) {
    __shared__ const float* base;
    if (threadIdx.x == 1000) base = x;
    __syncthreads();
    y[threadIdx.x] = base[threadIdx.x]; // <- here
}""")
fault("warp_shuffle_in_branch", [zeros(32), wholes(32), np.int32(32)],
      1, 32, kind="mask|shuffle", cause="mask", source="""
__global__ void k(float* y, const float* x, int n) {
    int t = threadIdx.x;
    float v = x[t];
    if (t < 16) {
        v += __shfl_down_sync(0xffffffff, v, 8); // <- here
    }
    y[t] = v;
}""")
right("warp_sync_mask", [zeros(4), wholes(128)], 1, 128, source="""
__global__ void k(float* y, const float* x) {
    __shared__ float s[4][32];
    int lane = threadIdx.x & 31, w = threadIdx.x >> 5;
    s[w][lane] = x[threadIdx.x];
    __syncwarp();
    for (int d = 16; d > 0; d >>= 1) {
        float v = lane < d ? s[w][lane + d] : 0;
        __syncwarp();
        if (lane < d) s[w][lane] += v;
        __syncwarp();
    }
    if (lane == 0) y[w] = s[w][0];
}""")
right("bit_field_partial", [zeros(32, np.uint32), picks(32, 0, 255, np.uint32)], 1, 32, source="""
struct Flags { unsigned live : 1; unsigned kind : 7; };
__global__ void k(unsigned* y, const unsigned* x) {
    Flags f;
    f.live = x[threadIdx.x] & 1;
    y[threadIdx.x] = f.live ? 1 : 0;
}""")
right("partial_struct_copy", [zeros(32), wholes(32), np.zeros(32 * 20, np.uint8)], 1, 32, source="""
struct Ray { float o[3]; float t; int hit; };
__device__ Ray make(float a) { Ray r; r.o[0] = a; r.t = 2 * a; return r; }
__global__ void k(float* y, const float* x, Ray* store) {
    Ray r = make(x[threadIdx.x]);
    Ray q = r;
    y[threadIdx.x] = q.t + q.o[0];
}""")
right("partial_struct_array", [zeros(32), wholes(32), np.int32(4)], 1, 32, source="""
struct Item { int key; int spare; float v; };
__global__ void k(float* y, const float* x, int n) {
    Item items[4];
    for (int i = 0; i < 4; ++i) { items[i].key = (i * 3 + threadIdx.x) % 4; items[i].v = x[i]; }
    for (int i = 1; i < 4; ++i)
        for (int j = i; j > 0 && items[j].key < items[j - 1].key; --j) { Item h = items[j];
            items[j] = items[j - 1]; items[j - 1] = h; }
    y[threadIdx.x] = items[0].v + items[3].key;
}""")
right("unused_uninit", [zeros(32), wholes(32), np.int32(32)], 1, 32, source="""
__global__ void k(float* y, const float* x, int n) {
    float best;
    int have = 0;
    for (int i = 0; i < n; ++i)
        if (x[i] > 0 && (!have || x[i] > best)) { best = x[i]; have = 1; }
    y[threadIdx.x] = have ? best : -1;
}""")
right("uninit_selected_away", [zeros(32), wholes(20), np.int32(20)], 1, 32, source="""
__global__ void k(float* y, const float* x, int n) {
    float v;
    bool in = threadIdx.x < n;
    if (in) v = x[threadIdx.x];
    y[threadIdx.x] = in ? v * 2 : 0;
}""")
right("uninit_shuffle_ignored", [zeros(32), wholes(20), np.int32(20)], 1, 32, source="""
__global__ void k(float* y, const float* x, int n) {
    float v;
    if (threadIdx.x < n) v = x[threadIdx.x];
    float other = __shfl_sync(0xffffffff, v, threadIdx.x % n);
    y[threadIdx.x] = other;
}""")
right("out_parameter", [zeros(32), wholes(32), np.int32(32)], 1, 32, source="""
__device__ void minmax(const float* x, int n, float* lo, float* hi) {
    *lo = *hi = x[0];
    for (int i = 1; i < n; ++i) { *lo = fminf(*lo, x[i]); *hi = fmaxf(*hi, x[i]); }
}
__device__ __noinline__ bool find(const float* x, int n, float v, int* at) {
    for (int i = 0; i < n; ++i) if (x[i] == v) { *at = i; return true; }
    return false;
}
__global__ void k(float* y, const float* x, int n) {
    float lo, hi;
    int at;
    minmax(x, n, &lo, &hi);
    bool there = find(x, n, threadIdx.x, &at);
    y[threadIdx.x] = there ? lo + hi + at : lo;
}""")
right("local_used_part", [zeros(32), wholes(32), np.int32(32)], 1, 32, source="""
__global__ void k(float* y, const float* x, int n) {
    float q[16];
    int count = 0;
    for (int i = 0; i < n; ++i) if (x[i] > 0 && count < 16) q[count++] = x[i];
    float s = 0;
    while (count > 0) s = s * 0.5f + q[--count];
    y[threadIdx.x] = s;
}""")
right("flat_view_2d", [zeros(32), wholes(64)], 1, 32, source="""
__global__ void k(float* y, const float* x) {
    float m[3][4];
    float* flat = &m[0][0];
    for (int i = 0; i < 12; ++i) flat[i] = x[i + threadIdx.x];
    float s = 0;
    for (int r = 0; r < 3; ++r) for (int c = 0; c < 4; ++c) s += m[r][c] * (r + 1);
    y[threadIdx.x] = s;
}""")
right("struct_arrays_memset", [zeros(32, np.int32), np.int32(9)], 1, 32, source="""
struct State { int a[4]; int b[4]; };
__global__ void k(int* y, int n) {
    State s;
    memset(&s, 0, sizeof(s));
    for (int i = 0; i < n; ++i) { s.a[i & 3] += i; s.b[i & 3] -= i; }
    int t = 0;
    const int* p = (const int*)&s;
    for (int i = 0; i < 8; ++i) t = t * 3 + p[i];
    y[threadIdx.x] = t;
}""")
right("cg_coalesced", [zeros(64, np.int32), zeros(1, np.int32), picks(64, 0, 9), np.int32(64)],
      1, 64, source="""
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void k(int* y, int* count, const int* x, int n) {
    int i = threadIdx.x;
    if (x[i] > 4) {
        auto g = cg::coalesced_threads();
        int base;
        if (g.thread_rank() == 0) base = atomicAdd(count, (int)g.size());
        base = g.shfl(base, 0);
        y[base + g.thread_rank()] = x[i];
    }
}""")
right("lookback", [zeros(256, np.int32), zeros(4, np.int32), zeros(4, np.int32), picks(256, 0, 9)],
      4, 64, source="""
__global__ void k(int* out, volatile int* part, volatile int* flag, const int* x) {
    __shared__ int s[64];
    __shared__ int before;
    int t = threadIdx.x;
    s[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        int v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
        __syncthreads();
    }
    if (t == 0) {
        int sum = 0;
        if (blockIdx.x) { while (flag[blockIdx.x - 1] != 1); __threadfence();
            sum = part[blockIdx.x - 1]; }
        part[blockIdx.x] = sum + s[63];
        __threadfence();
        flag[blockIdx.x] = 1;
        before = sum;
    }
    __syncthreads();
    out[blockIdx.x * 64 + t] = before + s[t];
}""")
right("early_return", [zeros(100), wholes(100), np.int32(100)], 1, 128, source="""
__global__ void k(float* y, const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (x[i] < 0) { y[i] = 0; return; }
    y[i] = x[i];
}""")
right("dyn_reused", [zeros(48), wholes(48), picks(48, 0, 9), np.int32(48)],
      1, 48, shared=48 * 4, source="""
__global__ void k(float* y, const float* a, const int* b, int n) {
    extern __shared__ float s[];
    int t = threadIdx.x;
    s[t] = a[t];
    __syncthreads();
    float v = s[n - 1 - t];
    __syncthreads();
    int* q = (int*)s;
    q[t] = b[t];
    __syncthreads();
    y[t] = v + q[n - 1 - t];
}""")
right("heap_list", [zeros(32, np.int32), np.int32(5)], 1, 32, source="""
struct Node { int v; Node* next; };
__global__ void k(int* y, int n) {
    Node* head = 0;
    for (int i = 0; i < n; ++i) { Node* p = new Node; p->v = i; p->next = head; head = p; }
    int s = 0;
    while (head) { s = s * 2 + head->v; Node* d = head; head = head->next; delete d; }
    free(0);
    y[threadIdx.x] = s;
}""")
right("heap_global_pointer", [zeros(128, np.int32), np.int32(5)], 4, 32, source="""
__device__ int* kept[4];
__global__ void k(int* y, int n) {
    if (threadIdx.x == 0) { kept[blockIdx.x] = new int[n]; for (int i = 0; i < n;
        ++i) kept[blockIdx.x][i] = i; }
    __syncthreads();
    y[blockIdx.x * blockDim.x + threadIdx.x] = kept[blockIdx.x][threadIdx.x % n];
    __syncthreads();
    if (threadIdx.x == 0) delete[] kept[blockIdx.x];
}""")
right("swap_pointers", [zeros(32), wholes(64), np.int32(3)], 1, 32, source="""
__global__ void k(float* y, const float* x, int steps) {
    float a[8], b[8];
    for (int i = 0; i < 8; ++i) a[i] = x[i + threadIdx.x];
    float *p = a, *q = b;
    for (int s = 0; s < steps; ++s) {
        for (int i = 0; i < 8; ++i) q[i] = 0.5f * (p[i ? i - 1 : 0] + p[i < 7 ? i + 1 : 7]);
        float* h = p; p = q; q = h;
    }
    y[threadIdx.x] = p[3];
}""")
right("prefetch_next_tail", [zeros(32), wholes(128), np.int32(4)], 1, 32, source="""
__global__ void k(float* y, const float* x, int n) {
    int i = threadIdx.x;
    float now = x[i], next;
    float s = 0;
    for (int k = 0; k < n; ++k) {
        if (k + 1 < n) next = x[(k + 1) * 32 + i];
        s += now;
        now = next;
    }
    y[i] = s;
}""")
right("register_window_rotating", [zeros(64), wholes(128), np.int32(4)], 1, 32, source="""
__global__ void k(float* y, const float* x, int n) {
    float w[3];
    int i = threadIdx.x;
    w[1] = x[i]; w[2] = x[32 + i];
    for (int k = 2; k < n; ++k) {
        w[0] = w[1]; w[1] = w[2]; w[2] = x[k * 32 + i];
        y[(k - 2) * 32 + i] = w[0] + w[1] + w[2];
    }
}""")
right("do_while_first_value", [zeros(32, np.int32), picks(32, 0, 4), np.int32(32)],
      1, 32, source="""
__global__ void k(int* y, const int* x, int n) {
    int v, i = 0;
    do { v = x[i++]; } while (v != 0 && i < n);
    y[threadIdx.x] = v + i;
}""")
right("goto_set", [zeros(32, np.int32), picks(32, 0, 9), np.int32(32)], 1, 32, source="""
__global__ void k(int* y, const int* x, int n) {
    int at;
    for (int i = 0; i < n; ++i) if (x[i] == 7) { at = i; goto done; }
    at = -1;
done:
    y[threadIdx.x] = at;
}""")
right("local_struct_return_big", [zeros(32), wholes(9) / 8, np.int32(2)], 1, 32, source="""
struct M { float a[3][3]; };
__device__ M mul(const M& p, const M& q) {
    M r;
    for (int i = 0; i < 3; ++i) for (int j = 0; j < 3; ++j) { r.a[i][j] = 0; for (int k = 0;
        k < 3; ++k) r.a[i][j] += p.a[i][k] * q.a[k][j]; }
    return r;
}
__global__ void k(float* y, const float* x, int n) {
    M m, s = {};
    for (int i = 0; i < 9; ++i) { m.a[i / 3][i % 3] = x[i]; }
    for (int i = 0; i < 3; ++i) s.a[i][i] = 1;
    for (int i = 0; i < n; ++i) s = mul(s, m);
    y[threadIdx.x] = s.a[0][threadIdx.x % 3];
}""")
right("recursion_local_array", [zeros(32, np.int32), np.int32(5)], 1, 32, source="""
__device__ int walk(int* path, int depth, int n) {
    int next[3];
    if (depth == n) return path[0] + path[n - 1];
    int s = 0;
    for (int i = 0; i < 3; ++i) { next[i] = path[depth - 1] * 3 + i; path[depth] = next[i];
        s += walk(path, depth + 1, n); }
    return s;
}
__global__ void k(int* y, int n) {
    int path[6];
    path[0] = threadIdx.x;
    y[threadIdx.x] = walk(path, 1, n);
}""")
right("atomics_relaxed", [zeros(1, np.int32), zeros(1, np.int32), picks(64, 0, 9), np.int32(64)],
      2, 32, source="""
#include <cuda/atomic>
__global__ void k(int* y, int* count, const int* x, int n) {
    cuda::atomic_ref<int, cuda::thread_scope_device> c(*count);
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c.fetch_add(x[i], cuda::memory_order_relaxed);
}""")
fault("member_ptr", [zeros(32, np.int32), picks(64, 0, 9), np.int32(7)],
      1, 32, kind="out-of-bounds", cause="v", source="""
struct Buf { int n; int v[6]; int guard; };
__device__ void push(Buf* b, int v) {
    b->v[b->n++] = v; // <- here
}
__global__ void k(int* y, const int* x, int n) {
    Buf b;
    b.n = 0; b.guard = 77;
    for (int i = 0; i < n; ++i) push(&b, x[i]);
    y[threadIdx.x] = b.v[0] + b.v[5] + b.guard;
}""")
fault("member_ref_global", [zeros(32), np.zeros(32, np.dtype([("pos", "f4", 3), ("vel", "f4", 3)])),
      np.int32(3)],
      1, 32, kind="out-of-bounds", cause="pos", source="""
struct Particle { float pos[3]; float vel[3]; };
__global__ void k(float* y, Particle* p, int n) {
    int i = threadIdx.x;
    float s = 0;
    for (int d = 0; d <= n; ++d)
        s += p[i].pos[d]; // <- here
    y[i] = s;
}""")
fault("uninit_min_index", [zeros(32, np.int32), wholes(64), np.int32(64)],
      1, 32, kind="uninit", cause="value first", source="""
__global__ void k(int* y, const float* x, int n) {
    float best = 1e30f;
    int where;
    for (int i = 0; i < n; ++i)
        if (x[i] < best && x[i] > 100) { best = x[i]; where = i; }
    y[threadIdx.x] = where; // <- here
}""")
fault("uninit_in_switch", [zeros(32), wholes(32), picks(32, 0, 3)],
      1, 32, kind="uninit", cause="value first", source="""
__global__ void k(float* y, const float* x, const int* op) {
    float r;
    switch (op[threadIdx.x]) {
        case 0: r = x[threadIdx.x]; break;
        case 1: r = -x[threadIdx.x]; break;
    }
    y[threadIdx.x] = r; // <- here
}""")
fault("uninit_cond_used_in_cond", [zeros(32, np.int32), picks(32, 0, 9), np.int32(32)],
      1, 32, kind="uninit", cause="value first", source="""
__global__ void k(int* y, const int* x, int n) {
    bool found;
    for (int i = 0; i < n; ++i)
        if (x[i] == 1000) found = true;
    if (found) y[threadIdx.x] = 1; // <- here
    else y[threadIdx.x] = 0;
}""")
fault("fence_flag_none", [zeros(32), zeros(1, np.int32), zeros(32)],
      2, 32, kind="race", cause="__threadfence|atomic", source="""
__global__ void k(float* data, volatile int* flag, float* out) {
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x; // <- here
        __syncthreads();
        if (threadIdx.x == 0) *flag = 1;
    } else {
        if (threadIdx.x == 0) while (*flag == 0) { }
        __syncthreads();
        out[threadIdx.x] = data[31 - threadIdx.x]; // <- here
    }
}""")
fault("mod_zero_hash", [zeros(32, np.int32), picks(32, 0, 9, np.uint32), np.uint32(0)],
      1, 32, kind="fault", cause="guard the division", source="""
__global__ void k(int* y, const unsigned* key, unsigned buckets) {
    unsigned h = key[threadIdx.x] * 2654435761u;
    y[h % buckets] = 1; // <- here
}""")
fault("dead_struct", [zeros(32), wholes(64)],
      1, 32, kind="out-of-bounds|uninit|fault", cause="local", source="""
struct V { float x, y; };
__device__ __noinline__ V* make(float a) {
    V v = {a, 2 * a};
    V* p = &v;
    return p; // <- here
}
__global__ void k(float* y, const float* x) {
    V* p = make(x[threadIdx.x]);
    y[threadIdx.x] = p->x + p->y;
}""")
right("struct_flexible_alias", [zeros(32, np.int32), np.array([5, 1, 2, 3, 4, 5], np.int32)],
      1, 32, source="""
struct H { int n; int v[1]; };
__global__ void k(int* y, int* raw) {
    H* h = (H*)raw;
    int s = 0;
    for (int i = 0; i < h->n; ++i) s += h->v[i];
    y[threadIdx.x] = s;
}""")
right("struct_array_loop", [zeros(32), np.zeros(32, np.dtype([("pos", "f4", 3), ("vel", "f4", 3)])),
      np.int32(3)],
      1, 32, source="""
struct P { float pos[3]; float vel[3]; };
__global__ void k(float* y, P* p, int n) {
    int i = threadIdx.x;
    P q = p[i];
    for (int d = 0; d < 3; ++d) { q.pos[d] += q.vel[d]; q.vel[d] *= 0.5f; }
    p[i] = q;
    y[i] = q.pos[0] + q.pos[2];
}""")
right("struct_offset_index", [zeros(32), wholes(64), np.int32(20)], 1, 32, source="""
struct W { int head; float v[8]; int tail; };
__global__ void k(float* y, const float* x, int n) {
    W w;
    w.head = 0; w.tail = 0;
    for (int i = 0; i < n; ++i) { w.v[w.tail] = x[i]; w.tail = (w.tail + 1) % 8; }
    float s = 0;
    for (int i = -2; i < 2; ++i) s += w.v[i + 2] * w.v[5 - i];
    y[threadIdx.x] = s;
}""")
right("reduce_partial_lanes", [zeros(1), wholes(32), np.int32(20)], 1, 32, source="""
__global__ void k(float* y, const float* x, int n) {
    float v;
    int t = threadIdx.x;
    if (t < n) v = x[t];
    for (int d = 16; d > 0; d /= 2) {
        float o = __shfl_down_sync(~0u, v, d);
        if (t + d < n && t < n) v += o;
    }
    if (t == 0) *y = v;
}""")
right("volatile_poll_sum", [zeros(1, np.int32), zeros(4, np.int32), zeros(4, np.int32)],
      4, 1, source="""
__global__ void k(int* out, volatile int* ready, volatile int* part) {
    part[blockIdx.x] = blockIdx.x + 1;
    __threadfence();
    ready[blockIdx.x] = 1;
    if (blockIdx.x == gridDim.x - 1) {
        int s = 0;
        for (int b = 0; b < gridDim.x; ++b) { while (!ready[b]) { } __threadfence(); s += part[b]; }
        *out = s;
    }
}""")
right("state_machine_union", [zeros(32), picks(32, 0, 9)], 1, 32, source="""
struct Tok { int kind; union { int i; float f; } v; };
__global__ void k(float* y, const int* x) {
    Tok t;
    t.kind = x[threadIdx.x] & 1;
    if (t.kind) t.v.f = 1.5f; else t.v.i = 3;
    y[threadIdx.x] = t.kind ? t.v.f : (float)t.v.i;
}""")
right("dyn_pingpong", [zeros(64), wholes(64), np.int32(5)], 1, 64, shared=512, source="""
__global__ void k(float* y, const float* x, int steps) {
    extern __shared__ float m[];
    int t = threadIdx.x, n = blockDim.x;
    float *a = m, *b = m + n;
    a[t] = x[t];
    __syncthreads();
    for (int s = 1; s < n; s *= 2) {
        b[t] = t >= s ? a[t] + a[t - s] : a[t];
        __syncthreads();
        float* h = a; a = b; b = h;
    }
    y[t] = a[t];
}""")
right("heap_across_blocks", [zeros(4, np.int32)], 4, 1, source="""
__device__ int* slots[4];
__global__ void k(int* y) {
    int b = blockIdx.x;
    slots[b] = (int*)malloc(16);
    slots[b][0] = b * 10;
    y[b] = slots[b][0];
}""")
right("union_find_by_swaps", [np.arange(90, dtype=np.int32), picks(256, 0, 90)], 2, 64, source="""
__global__ void k(volatile int* p, const int* ends) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int a = ends[2 * i], b = ends[2 * i + 1];
    while (true) {
        while (p[a] != a) a = p[a];
        while (p[b] != b) b = p[b];
        if (a == b) return;
        const int high = max(a, b), low = min(a, b);
        if (atomicCAS((int*)&p[high], high, low) == high) return;
    }
}""")
STATS = np.dtype([("hist", "i4", 16), ("total", "i4"), ("mean", "f4")])
fault("struct_array_behind_pointer", [np.zeros(64, STATS), np.arange(4, 68, dtype=np.int32)],
      1, 64, kind="out-of-bounds", cause="declared too small|leaves its axis", source="""
struct Stats { int hist[16]; int total; float mean; };
__global__ void k(Stats* s, const int* x) {
    int t = threadIdx.x;
    s[t].hist[x[t] / 4] += 1; // <- here
}""")
right("struct_array_behind_pointer", [np.zeros(64, STATS), np.arange(64, dtype=np.int32)], 1, 64,
      source="""
struct Stats { int hist[16]; int total; float mean; };
__global__ void k(Stats* s, const int* x) {
    int t = threadIdx.x;
    s[t].hist[x[t] / 4] += x[t] + x[63 - t];
}""")

COUNTS = np.dtype([("hist", "i4", 16), ("total", "i4"), ("spare", "i4", 15)])
VALUES = (np.arange(64) * 7 % 20).astype(np.int32)  # 16 to 19 are past the last bin
HISTOGRAM = "struct Counts { int hist[16]; int total; int spare[15]; };"
fault("member_atomic", [np.zeros(1, COUNTS), VALUES, np.int32(64)],
      1, 64, kind="out-of-bounds", cause=r"hist\[1[6-9]\], but hist has 16", source=HISTOGRAM + """
__global__ void k(Counts* s, const int* x, int n) {
    int i = threadIdx.x;
    if (i < n) atomicAdd(&s->hist[x[i]], 1); // <- here
}""")
fault("member_atomic_of_several", [np.zeros(2, COUNTS), VALUES, np.int32(64)],
      1, 64, kind="out-of-bounds", cause=r"hist\[1[6-9]\], but hist has 16", source=HISTOGRAM + """
__global__ void k(Counts* s, const int* x, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    int last = atomicMax(&s[i % 2].hist[x[i]], i); // <- here
    if (last > i) atomicExch(&s->total, last);
}""")
fault("member_atomic_in_function", [np.zeros(1, COUNTS), VALUES, np.int32(64)],
      1, 64, kind="out-of-bounds", cause=r"hist\[1[6-9]\], but hist has 16", source=HISTOGRAM + """
__device__ void count(Counts* c, int bin) {
    atomicAdd(&c->hist[bin], 1); // <- here
    atomicAdd(&c->total, 1);
}
__global__ void k(Counts* s, const int* x, int n) {
    if (threadIdx.x < n) count(s, x[threadIdx.x]);
}""")
fault("member_atomic_in_method", [np.zeros(1, COUNTS), VALUES, np.int32(64)],
      1, 64, kind="out-of-bounds", cause=r"hist\[1[6-9]\], but hist has 16", source="""
struct Counts {
    int hist[16]; int total; int spare[15];
    __device__ void count(int bin) { atomicAdd(&hist[bin], 1); } // <- here
};
__global__ void k(Counts* s, const int* x, int n) {
    if (threadIdx.x < n) s->count(x[threadIdx.x]);
}""")
fault("member_atomic_in_shared", [np.zeros(1, COUNTS), VALUES],
      1, 64, kind="out-of-bounds", cause=r"hist\[1[6-9]\], but q.hist has", source=HISTOGRAM + """
__global__ void k(Counts* s, const int* x) {
    __shared__ Counts q;
    int i = threadIdx.x;
    if (i < 16) q.hist[i] = 0;
    if (i < 15) q.spare[i] = 0;
    if (i == 0) q.total = 0;
    __syncthreads();
    atomicAdd(&q.hist[x[i]], 1); // <- here
    __syncthreads();
    if (i < 16) s->hist[i] = q.hist[i] + q.spare[i % 15] + q.total;
}""")
fault("axis_atomic", [zeros(32, np.int32), VALUES],
      1, 64, kind="out-of-bounds", cause="index 8 on h, on an axis", source="""
__global__ void k(int* y, const int* x) {
    __shared__ int h[4][8];
    int i = threadIdx.x;
    if (i < 32) h[i / 8][i % 8] = 0;
    __syncthreads();
    atomicAdd(&h[i % 3][x[i] % 9], 1); // <- here
    __syncthreads();
    if (i < 32) y[i] = h[i / 8][i % 8];
}""")
right("member_atomics", [np.zeros(2, COUNTS), VALUES, np.int32(64)], 1, 64, source=HISTOGRAM + """
__device__ int* place(Counts* c, int bin) { return bin < 16 ? &c->hist[bin] : &c->spare[bin - 16]; }
__global__ void k(Counts* s, const int* x, int n) {
    int i = threadIdx.x, bin = x[i];
    if (bin < 16) atomicAdd(&s->hist[bin], 1);
    atomicAdd(&s[1].hist[atomicAdd(&s->total, 1) % 16], 1);
    atomicAdd(place(s, bin), 1);
    atomicAdd(bin < 16 ? &s->hist[bin] : &s->spare[bin - 16], 1);
    atomicAdd(&(bin < 16 ? s->hist[bin] : s->spare[bin - 16]), n > bin);
    atomicMax(&s->spare[x[i] % 15], i); atomicMin(&s[1].spare[14], -bin);
}""")
right("axis_atomics", [zeros(32, np.int32), VALUES], 1, 64, source="""
__global__ void k(int* y, const int* x) {
    __shared__ int h[4][8], flat[32];
    int i = threadIdx.x;
    if (i < 32) h[i / 8][i % 8] = flat[i] = 0;
    __syncthreads();
    atomicAdd(&h[i % 4][x[i] % 8], 1); atomicAdd(&flat[x[i]], 1);
    atomicAdd(&h[0][0] + x[i], 1);
    atomicAdd(h[0] + x[i], 1);
    __syncthreads();
    if (i < 32) y[i] = h[i / 8][i % 8] + flat[i];
}""")
right("open_ended_member_atomic", [zeros(65, np.int32), VALUES], 1, 64, source="""
struct Bins { int count; int bin[1]; };
__global__ void k(Bins* b, const int* x) {
    atomicAdd(&b->bin[x[threadIdx.x]], 1);
    atomicAdd(&b->count, 1);
}""")
