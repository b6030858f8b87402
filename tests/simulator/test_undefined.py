"""What C++ or CUDA leaves undefined, and what looks like it and is right."""

from __future__ import annotations

import numpy as np
from instances import Kernels

from helpers import simulator

N = 64
HEAD = "const int t = threadIdx.x;\n"
BEFORE = "#define MEET(c) if (c) __syncthreads(); else __syncthreads()\n"
DIVIDES = "y[t] = 100 / x[t];"
REMAINS = "y[t] = t % x[t];"
GUARDED = "y[t] = x[t] ? 100 / x[t] : 0;"
TWO = "__shared__ int s[64];\ns[t] = x[t];\nMEET(t < 32);\ny[t] = s[63 - t];"
TWO_IN_LINE = (
    "__shared__ int s[64];\ns[t] = x[t];\nif (t < 32) __syncthreads(); else __syncthreads();\n"
    "y[t] = s[63 - t];"
)
COMMON = "__shared__ int s[64];\ns[t] = x[t];\nMEET(n > 3);\ny[t] = s[63 - t];"
UNROLLED = (
    "__shared__ int s[64];\n#pragma unroll\nfor (int k = 0; k < 4; ++k) { s[t] = x[t] + k;\n"
    "__syncthreads(); y[t] = s[63 - t]; __syncthreads(); }"
)
BODIES = [DIVIDES, REMAINS, GUARDED, TWO, TWO_IN_LINE, COMMON, UNROLLED]
KERNELS = Kernels([HEAD + body for body in BODIES], "int* y, const int* x, int n", BEFORE)


def found(body: str, x=None):
    x = np.arange(N, dtype=np.int32) if x is None else x
    return simulator.check(
        *KERNELS.of(HEAD + body), np.zeros(N, np.int32), x, np.int32(N), grid=(1,), block=(N,)
    )


def test_a_division_by_zero_is_found():
    for body in (DIVIDES, REMAINS):
        (finding,) = found(body)
        assert finding.kind == "fault" and "by zero" in finding.message
        assert finding.thread == (0, 0, 0) and finding.count == 1
        assert finding.line == KERNELS.line(HEAD + body, 2)
        assert found(body, np.ones(N, np.int32)) == ()
    assert found(GUARDED) == ()


def test_two_barriers_in_one_line_are_two():
    for body in (TWO, TWO_IN_LINE):
        finding = found(body)[0]
        assert finding.kind == "barrier"
        assert finding.line == KERNELS.line(HEAD + body, 4)
    assert found(COMMON) == ()
    assert found(UNROLLED) == ()


UNSET = """
__device__ int sign(int v)
{
    if (v > 0) return 1;
    if (v < 0) return -1;
}
extern "C" __global__ void adds(float* y, const float* x)
{
    float sum;
    sum += x[threadIdx.x];
    y[threadIdx.x] = sum;
}
extern "C" __global__ void signs(float* y, const float* x)
{
    y[threadIdx.x] = sign(x[threadIdx.x]);
}
extern "C" __global__ void copies(float* y, const float* x)
{
    float v;
    if (threadIdx.x < 9) v = x[threadIdx.x];
    else v = 0;
    y[threadIdx.x] = v;
}
"""


def test_what_the_compiler_knows_of_a_kernel_is_a_finding():
    def findings(name):
        arrays = np.zeros(N, np.float32), np.ones(N, np.float32)
        return simulator.check(UNSET, name, *arrays, grid=(1,), block=(N,))

    (unset,), (unreturned,) = findings("adds"), findings("signs")
    assert (unset.kind, unset.line) == ("uninitialised", 10) and "sum" in unset.message
    assert (unreturned.kind, unreturned.line) == ("uninitialised", 6)
    assert "sign" in unreturned.message
    assert findings("copies") == ()


# ---- variables that are set on some ways only ----

HELPERS = """
__device__ void fill(int* a, int count)
{
    for (int k = 0; k < count; ++k) a[k] = k;
}
template <typename T> struct Pair { T left, right; };
__device__ int last(const int* x, int count)
{
    int w[3];
    for (int k = 0; k < count; ++k) w[k] = x[k];
    return w[count % 3];
}
__device__ int* of_caller(int* a, int v)
{
    a[0] = v;
    return a;
}
"""
SUM = "int s;\nfor (int i = 0; i < n; ++i) s += x[i];\ny[t] = s;"
BEST = "int best;\nfor (int i = 0; i < n; ++i) if (x[i] > 1000) best = x[i];\ny[t] = best;"
POINTER = "const int* p;\ny[t] = p[t];"
PAIR = "Pair<int> a;\nPair<int> b;\na.left = a.right = x[t];\ny[t] = a.left + b.right;"
FIRST_TURN = "int s;\nfor (int i = 0; i < n; ++i) { if (i == 0) s = 0; s += x[i]; }\ny[t] = s;"
SOME_THREADS = "int v;\nif (t < 32) v = 2 * x[t];\n__syncthreads();\ny[t] = t < 32 ? v + 1 : 0;"
SOME_LANES = (
    "int v;\nif (t % 32 < 16) v = x[t];\nv = __shfl_xor_sync(~0u, v, 1);\n"
    "y[t] = t % 32 < 16 ? v : 0;"
)
SWITCH = "int v;\nswitch (n & 1) { case 0: v = 1; break; default: v = x[t]; }\ny[t] = v;"
UNSET_BODIES = [SUM, BEST, POINTER, PAIR, FIRST_TURN, SOME_THREADS, SOME_LANES, SWITCH]
# n elements are written: 4 fit into the first array, 3 into the second.
BY_HELPER = "int a[4], b[4];\nfill(b, 4);\nfill(a, n);\ny[t] = a[n & 3] + b[n & 3];"
BY_LONG_HELPER = "int a[4];\nlong long b[3] = {1, 2, 3};\nfill(a, n);\ny[t] = a[n & 3] + b[n & 1];"
IN_HELPER = "int a[2] = {n, n};\ny[t] = last(x, n - 1) + a[t & 1];"
PLACES_BODIES = [BY_HELPER, BY_LONG_HELPER, IN_HELPER, "int a[1];\ny[t] = *of_caller(a, n);"]
WAYS = Kernels(
    [HEAD + body for body in UNSET_BODIES + PLACES_BODIES], "int* y, const int* x, int n", HELPERS
)


def ways(body: str, n: int = 4):
    arrays = np.zeros(N, np.int32), np.arange(N, dtype=np.int32)
    return simulator.check(*WAYS.of(HEAD + body), *arrays, np.int32(n), grid=(1,), block=(N,))


def test_a_variable_that_nothing_sets_before_a_loop_is_found():
    for body, name, line in ((SUM, "s", 4), (BEST, "best", 4), (POINTER, "p", 3), (PAIR, "b", 5)):
        (finding,) = ways(body)
        assert finding.kind == "uninitialised"
        assert name in finding.message.replace(",", "").split()
        assert WAYS.line(HEAD + body, 3) <= finding.line <= WAYS.line(HEAD + body, line)


def test_a_variable_that_is_set_before_its_use_is_no_fault():
    for body in (FIRST_TURN, SOME_THREADS, SOME_LANES, SWITCH):
        assert ways(body) == (), body


def test_an_index_past_a_local_array_is_found_in_a_helper():
    for body in (BY_HELPER, BY_LONG_HELPER, IN_HELPER):
        assert ways(body, 4) == ()
        (finding,) = ways(body, 5)
        assert finding.kind == "out-of-bounds" and "local array" in finding.message
        assert finding.thread == (0, 0, 0)
    assert ways(PLACES_BODIES[-1]) == ()


DEAD = """
__device__ int* dead(int v)
{
    int a[4] = {v, v, v, v};
    return a;
}
extern "C" __global__ void uses(int* y, int n) { y[threadIdx.x] = dead(n)[n & 3]; }
extern "C" __global__ void ignores(int* y, int n) { y[threadIdx.x] = n; }
"""


def test_the_address_of_a_dead_variable_is_found_in_the_kernel_that_uses_it():
    def findings(name):
        y = np.zeros(N, np.int32)
        return simulator.check(DEAD, name, y, np.int32(1), grid=(1,), block=(N,))

    (finding,) = findings("uses")
    assert (finding.kind, finding.line) == ("out-of-bounds", 5)
    assert "local variable" in finding.message
    assert findings("ignores") == ()


# ---- memory of the kernel's own, functions by pointers, bulk copies ----

HEAP = "int* p = (int*)malloc(4 * sizeof(int));\nfor (int k = 0; k < 4; ++k) p[k] = x[k];\n"
PAST_HEAP = f"{HEAP}y[t] = p[n];\nfree(p);"
FREED_HEAP = f"{HEAP}if (n > 3) free(p);\ny[t] = p[n & 3];\nif (n < 4) free(p);"
NO_HEAP = "int* p = (int*)malloc((size_t)n << 28);\np[t] = 1;\ny[t] = p[t];\nfree(p);"
BY_POINTER = "y[t] = (n < 4 ? twice : (int (*)(int))chosen)(x[t]);"
OWN_BODIES = [PAST_HEAP, FREED_HEAP, NO_HEAP, BY_POINTER]
TWICE = "__device__ int twice(int v) { return 2 * v; }\n__device__ int (*chosen)(int);\n"
OWN = Kernels([HEAD + body for body in OWN_BODIES], "int* y, const int* x, int n", TWICE)


def own(body: str, n: int):
    arrays = np.zeros(N, np.int32), np.arange(N, dtype=np.int32)
    return simulator.check(*OWN.of(HEAD + body), *arrays, np.int32(n), grid=(1,), block=(N,))


def test_memory_of_the_devices_heap_is_told_by_what_was_done_with_it():
    (past,) = own(PAST_HEAP, 4)
    assert past.kind == "out-of-bounds" and "byte 16 of the 16 bytes that malloc" in past.message
    (freed,) = own(FREED_HEAP, 4)
    assert freed.kind == "out-of-bounds" and "after they were freed" in freed.message
    (full,) = own(NO_HEAP, 4)
    assert "null pointer" in full.message and "heap" in full.cause
    assert own(PAST_HEAP, 3) == own(FREED_HEAP, 3) == ()


def test_a_call_through_a_pointer_that_nothing_set_says_so():
    (finding,) = own(BY_POINTER, 4)
    assert finding.kind == "fault" and "calls a function through a null pointer" in finding.message
    assert own(BY_POINTER, 3) == ()


BULK = """
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
extern "C" __global__ void brings(float* y, const float* x, int waits)
{
    __shared__ alignas(16) float tile[64];
    __shared__ alignas(8) unsigned long long bar;
    const int t = threadIdx.x;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&bar)) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;"
                     :: "r"(at(&bar)) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1], 256, [%2];" :: "r"(at(tile)), "l"(x), "r"(at(&bar)) : "memory");
    }
    __syncthreads();
    int done = !waits;
    while (!done)
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;"
                     " selp.b32 %0, 1, 0, p; }" : "=r"(done) : "r"(at(&bar)) : "memory");
    y[t] = tile[t];
}
extern "C" __global__ void takes(float* y, const float* x, int waits)
{
    __shared__ alignas(16) float tile[64];
    const int t = threadIdx.x;
    tile[t] = x[t];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;"
                     :: "l"(y), "r"(at(tile)) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        if (waits) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    __syncthreads();
    if (waits != 2) tile[t] = 0;
}
"""


def test_a_bulk_copy_that_nobody_waits_for_is_one_finding_with_its_wait():
    def findings(name, waits):
        arrays = np.zeros(N, np.float32), np.ones(N, np.float32)
        return simulator.check(BULK, name, *arrays, np.int32(waits), grid=(1,), block=(N,))

    (early,) = findings("brings", 0)
    assert early.kind == "race" and "may not have filled yet" in early.message
    assert "mbarrier" in early.cause
    (over,) = findings("takes", 0)
    assert over.kind == "race" and "may still be reading" in over.message
    assert "cp.async.bulk.wait_group.read" in over.cause
    assert findings("brings", 1) == findings("takes", 1) == ()
