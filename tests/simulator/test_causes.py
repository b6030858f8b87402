"""What a finding names as its cause, and that one cause is one finding."""

from __future__ import annotations

import re

import numpy as np
import pytest
from instances import Kernels

from helpers import simulator
from helpers.simulator.compile.ptx_places import with_callers

N = 128
HEAD = "const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;\n"
PARAMETERS = "int* y, int* g, const int* x"
UPDATES = {
    "a histogram": ("g[x[i] % 4]++;", "atomicAdd(&g[x[i] % 4], ...)"),
    "an increment before": ("if (x[i] > 2) ++g[x[i] / 64];", "atomicAdd(&g[x[i] / 64], ...)"),
    "a sum in shared memory": (
        "__shared__ int s[1];\ns[0] = 0;\n__syncthreads();\ns[0] += x[i];\n__syncthreads();\n"
        "y[i] = s[0];",
        "atomicAdd(&s[0], ...)",
    ),
    "a sum through a pointer": ("*g += x[i];", "atomicAdd(g, ...)"),
    "bits": ("g[t / 32] |= 1 << t % 32;", "atomicOr(&g[t / 32], ...)"),
    "a sum written out": ("g[0] = g[0] + x[i];", "atomicAdd(&g[0], ...)"),
    "a pointer to a bin": ("int* bin = g + x[i] % 4;\n*bin += 1;", "atomicAdd(...)"),
    "a sum in two lines": ("int old = g[x[i]];\ng[x[i]] = old + 1;", "atomicAdd(...)"),
    "the largest": ("if (x[i] > *g)\n*g = x[i];", "atomicMax(...)"),
    "the smallest": ("if (*g > -x[i])\n*g = -x[i];", "atomicMin(...)"),
    "the largest by max": ("g[0] = max(g[0], x[i]);", "atomicMax(&g[0], ...)"),
    "an index with a product": ("g[(2 * t) / 64] += x[i];", "atomicAdd(&g[(2 * t) / 64], ...)"),
    "a generator's state": ("int s = g[t % 4];\nfor (int k = 0; k < 5 + x[i]; ++k)\n"
                            "s = 1664525 * s + 1013904223;\ng[t % 4] = s;", "atomicCAS(...)"),
    "a sum in a loop": ("int s = g[t % 4];\nfor (int k = 0; k < 5 + x[i]; ++k)\n"
                        "s += x[k];\ng[t % 4] = s;", "atomicAdd(...)"),
    "a share of itself": ("g[0] += (x[i] - g[0]) / 2;", "atomicCAS(&g[0], ...)"),
    "one that is first": ("if (g[1] == 0)\ng[1] = i + 1;", "atomicCAS(...)"),
}
TREE = (
    "__shared__ int s[128];\ns[t] = x[i];\n__syncthreads();\n"
    "if (t < 127) s[t] += s[t + 1];\n__syncthreads();\ny[i] = s[t];"
)
EXCHANGE = (
    "__shared__ int s[128];\ns[t] = x[i];\n{between}y[i] = s[t ^ 1];"
)
IN_BRANCH = (
    "__shared__ int s[128];\ns[t] = x[i];\nif (t < 64) {\n__syncthreads();\n}\ny[i] = s[127 - t];"
)
TOO_EARLY = "__shared__ int s[128];\ns[t] = x[i];\ny[i] = s[127 - t];"
BLOCK_FENCE = (
    "__shared__ int last;\nif (t == 0) { g[blockIdx.x] = x[i];\n__threadfence_block();\n"
    "last = atomicAdd(g + 100, 1) == gridDim.x - 1; }\n__syncthreads();\n"
    "if (last && t < gridDim.x) y[t] = g[t];"
)
BODIES = [*(body for body, _ in UPDATES.values()), TREE, IN_BRANCH, TOO_EARLY, BLOCK_FENCE,
          EXCHANGE.format(between=""), EXCHANGE.format(between="__syncwarp();\n")]  # fmt: skip
KERNELS = Kernels([HEAD + body for body in BODIES], PARAMETERS)


def found(body: str, blocks: int = 1):
    x = np.arange(N * blocks, dtype=np.int32) % 13
    return simulator.check(
        *KERNELS.of(HEAD + body), np.zeros(N * blocks, np.int32), np.zeros(N, np.int32), x,
        grid=(blocks,), block=(N,),
    )  # fmt: skip


@pytest.mark.parametrize("name", UPDATES)
def test_an_update_by_several_threads_needs_an_atomic(name):
    body, advice = UPDATES[name]
    (finding,) = found(body)
    assert finding.kind == "race"
    assert advice in finding.cause
    assert "syncthreads" not in finding.cause


def test_a_sum_of_neighbours_needs_a_barrier():
    (finding,) = found(TREE)
    assert "__syncthreads()" in finding.cause and "atomic" not in finding.cause


def test_an_exchange_within_a_warp_needs_its_barrier():
    (finding,) = found(EXCHANGE.format(between=""))
    assert "__syncwarp()" in finding.cause
    assert found(EXCHANGE.format(between="__syncwarp();\n")) == ()


def test_a_barrier_in_a_branch_is_one_finding_and_says_what_follows():
    (barrier,) = found(IN_BRANCH)
    assert barrier.kind == "barrier" and "branch" in barrier.cause
    assert barrier.severity == "error"
    assert f"lines {barrier.line - 2} and {barrier.line + 2} race" in barrier.cause


def test_a_read_that_comes_too_early_is_one_finding():
    (finding,) = found(TOO_EARLY)
    assert finding.kind == "race"


def test_a_fence_for_a_block_is_named_where_blocks_race():
    (finding,) = [one for one in found(BLOCK_FENCE, blocks=3) if one.array == "g"]
    assert "__threadfence()" in finding.cause
    assert f"line {KERNELS.line(HEAD + BLOCK_FENCE, 4)}" in finding.cause


def test_too_little_dynamic_shared_memory_names_its_argument():
    source = (
        'extern "C" __global__ void k(float* y) { extern __shared__ float s[];\n'
        "s[threadIdx.x] = 1; __syncthreads(); y[threadIdx.x] = s[31 - threadIdx.x]; }"
    )
    (finding,) = simulator.check(
        source, "k", np.zeros(32, np.float32), grid=(1,), block=(32,), shared=64
    )
    assert finding.kind == "out-of-bounds"
    assert "shared=64" in finding.cause


@pytest.mark.parametrize("cell", ["b[t]", "b[t / 8 + t % 8 * 8]"])
def test_two_extern_arrays_at_one_address_are_one_finding(cell):
    source = (
        "extern __shared__ float a[];\nextern __shared__ float b[];\n"
        'extern "C" __global__ void k(float* y, const float* x, const float* z) {\n'
        f"int t = threadIdx.x; a[t] = x[t];\n{cell} = z[t];\n"
        "__syncthreads(); y[t] = a[63 - t] * b[t]; }"
    )
    x = np.ones(64, np.float32)
    (finding,) = simulator.check(
        source, "k", np.zeros_like(x), x, x, grid=(1,), block=(64,), shared=512
    )
    assert (finding.kind, finding.line, finding.other_line) == ("overlap", 6, 5)
    assert "float* b = (float*)&a[elements of a]" in finding.cause and "shared=" in finding.cause


def test_a_kernel_that_knows_its_extern_arrays_as_one_is_not_blamed():
    source = (
        "extern __shared__ float4 quads[];\nextern __shared__ float cells[];\n"
        'extern "C" __global__ void k(float* y, const float4* x) {\n'
        "int t = threadIdx.x; quads[t] = x[t]; __syncthreads();\n"
        "cells[t * 4] += 1; __syncthreads(); y[t] = quads[31 - t].x; }"
    )
    y, x = np.zeros(32, np.float32), np.ones(128, np.float32)
    assert simulator.check(source, "k", y, x, grid=(1,), block=(32,), shared=512) == ()
    assert (y == 2).all()


def test_an_int_that_overflows_is_named():
    source = (
        'extern "C" __global__ void k(char* y, int row, int width) { y[row * width] = 1; }'
    )
    (finding,) = simulator.check(
        source, "k", np.zeros(64, np.int8), np.int32(50_000), np.int32(50_000),
        grid=(1,), block=(1,),
    )  # fmt: skip
    assert finding.index == 50_000**2 and f"{50_000**2 - 2**32:,}" in finding.message
    assert f"{50_000**2:,}" in finding.message and "size_t" in finding.cause


@pytest.mark.parametrize(
    ("index", "said"),
    [
        ("short i = threadIdx.x + 33000", "-32,536 is 33,000 as a short"),
        ("int i = threadIdx.x - 32536", "Is a guard missing"),
    ],
)
def test_an_index_that_leaves_a_short_is_named(index, said):
    source = f'extern "C" __global__ void k(int* y, const int* x) {{ {index}; y[0] = x[i]; }}'
    y, x = np.zeros(1, np.int32), np.zeros(40_000, np.int32)
    (finding,) = simulator.check(source, "k", y, x, grid=(1,), block=(1,))
    assert finding.index == -32_536 and said in finding.cause


def test_an_index_below_zero_in_an_unsigned_number_is_named():
    body = "y[threadIdx.x] = x[threadIdx.x - 1];"
    source = f'extern "C" __global__ void k(float* y, const float* x) {{ {body} }}'
    y, x = np.zeros(64, np.float32), np.zeros(64, np.float32)
    (finding,) = simulator.check(source, "k", y, x, grid=(1,), block=(64,))
    assert finding.index == 2**32 - 1
    assert finding.cause.startswith("4,294,967,295 is -1 as an unsigned number: threadIdx")


@pytest.mark.parametrize(
    ("array", "cell", "said"),
    [
        ("s[64]", "s[threadIdx.x - 3]", "s[4294967293] (-3 as an unsigned number), but s has 64"),
        ("s[2][64]", "s[1][threadIdx.x - 3]", "index 4294967293 (-3 as an unsigned number) on s"),
        ("s[64]", "s[(int)threadIdx.x - 3]", "uses s[-3], but s has 64"),
    ],
)
def test_an_index_of_shared_memory_below_zero_is_told_with_its_sign(array, cell, said):
    body = f"__shared__ float {array}; {cell} = 1; __syncthreads(); y[0] = {cell};"
    source = f'extern "C" __global__ void k(float* y) {{ {body} }}'
    finding, *_ = simulator.check(source, "k", np.zeros(1, np.float32), grid=(1,), block=(64,))
    assert finding.kind == "out-of-bounds" and said in finding.message


@pytest.mark.parametrize("line", ["if (t < 40) s = twice(x, t);", "if (t < 40)\n  s = get(x, t);"])
def test_a_fault_of_a_header_has_the_line_that_calls_it_where_a_value_may_be_unset(tmp_path, line):
    # Such a kernel is read as a debugger's PTX, in which the compiler names no calls.
    (tmp_path / "parts.cuh").write_text(
        "__device__ __forceinline__ float get(const float* p, int i) { return p[i + 1]; }\n"
        "__device__ __forceinline__ float twice(const float* p, int i) { return 2 * get(p, i); }\n"
    )
    source = f"""#include "parts.cuh"
__global__ void k(float* y, const float* x)
{{
    const int t = threadIdx.x;
    float s;
    {line}
    y[t] = s;
}}
"""
    x, y = np.ones(32, np.float32), np.zeros(32, np.float32)
    (found,) = simulator.check(source, "k", y, x, grid=(1,), block=(32,), options=[f"-I{tmp_path}"])
    assert (found.kind, found.array, found.index) == ("out-of-bounds", "x", 32)
    assert (found.file, found.line) == ("k.cu", 6 + line.count("\n"))


def test_places_of_a_header_follow_the_line_of_their_call():
    ptx = """.file 1 "k.cu"
.file 2 "parts.cuh"
.visible .entry k(
.loc 1 5 9
.loc 2 1 3
.loc 1 0 9
.loc 2 2 3
.loc 1 7 1
.func get(
.loc 2 1 3
.loc 2 2 3
"""
    lines = with_callers(ptx, "k.cu").splitlines()
    assert lines[4] == ".loc 2 1 3, inlined_at 1 5 9"
    assert lines[6] == ".loc 2 2 3, inlined_at 1 5 9"  # line 0 is no place
    assert lines[8:] == ptx.splitlines()[8:]  # a function of the header, which is called
    assert with_callers(ptx, "other.cu") == ptx


def test_a_huge_index_is_told_and_not_taken_for_another_pointer():
    source = "__global__ void k(float* y) { y[(1ull << 36) + threadIdx.x] = 1; }"
    (found,) = simulator.check(source, "k", np.zeros(100, np.float32), grid=(1,), block=(1,))
    assert (found.array, found.index) == ("y", 2**36)
    assert "y has 100 elements" in found.message


def test_a_pointer_to_another_threads_variable_is_told():
    body = (
        "__shared__ int* p[128];\nint mine[4] = {t, x[i], t + 2, t + 3};\np[t] = mine;\n"
        "__syncthreads();\ny[i] = p[t ^ 1][x[i] & 3];"
    )
    source = f'extern "C" __global__ void f({PARAMETERS})\n{{\n{HEAD}{body}\n}}\n'
    arrays = np.zeros(N, np.int32), np.zeros(N, np.int32), np.zeros(N, np.int32)
    (finding,) = simulator.check(source, "f", *arrays, grid=(1,), block=(N,))
    assert finding.kind == "out-of-bounds"
    assert "a pointer to a local variable of lane 1 of its warp" in finding.message
    assert "hand values over in shared memory, or by a shuffle" in finding.cause


# ---- one cause, one finding ----

JOINED = {
    "a barrier in a branch of a loop": (
        "__shared__ int s[128];\ns[t] = x[i];\n__syncthreads();\nfor (int k = 0; k < 3; ++k) {\n"
        "if (t < 100) {\ns[t] += s[t + 1];\n__syncthreads();\n}\n}\ny[i] = s[t];",
        "barrier", "races with itself",
    ),
    "two barriers of which a branch has one": (
        "__shared__ int s[128];\nif (t < 64) {\ns[t] = x[i];\n__syncthreads();\n}\n"
        "if (t > 9) y[i] = s[t / 2];\n__syncthreads();",
        "barrier", "take it out of the branch",
    ),
    "a return between two barriers of a loop": (
        "__shared__ int s[128];\nint sum = 0;\nfor (int k = 0; k < 2; ++k) {\ns[t] = x[i];\n"
        "__syncthreads();\nif (t >= 100) return;\nsum += s[t / 2];\n__syncthreads();\n}\n"
        "y[i] = sum;",
        "barrier", "guard the store",
    ),
    "an exchange of half a warp among others": (
        "int v = x[i];\nfor (int k = 16; k > 0; k /= 2) {\n"
        "int a = __shfl_xor_sync(~0u, v, k);\nint b = 0;\n"
        "if (t % 32 < 16) b = __shfl_xor_sync(~0u, v + 1, k);\nv += a + b;\n}\ny[i] = v;",
        "mask", "The same holds for line",
    ),
    "phases of a warp's sort": (
        "__shared__ int s[128];\ns[t] = 999 - t;\n__syncthreads();\n"
        "for (int k = 0; k < 8; ++k) {\nint a = 2 * t + k % 2;\n"
        "if (t < 31 && s[a] > s[a + 1]) {\nint v = s[a];\ns[a] = s[a + 1];\ns[a + 1] = v;\n"
        "}\n}\n__syncthreads();\ny[i] = s[t];",
        "race", "The same holds for lines",
    ),
    "two arrays around one missing barrier": (
        "__shared__ int a[128], b[128];\na[t] = x[i];\nb[t] = x[i];\n"
        "int u = a[127 - t];\nint v = b[127 - t];\ny[i] = u + v;",
        "race", "The same holds for lines",
    ),
    "two tiles with one column left out": (
        "__shared__ int a[128], b[128];\nif (t < 127) {\na[t] = x[i];\nb[t] = x[i];\n}\n"
        "__syncthreads();\ny[i] = a[t]; g[t] = b[t];",
        "uninitialised", "The same holds for",
    ),
    "a tile that two lines read where it is not set": (
        "__shared__ int s[128];\nif (t > 0) s[t] = x[i];\n__syncthreads();\n"
        "if (t < 9) y[i] = s[t];\nif (t < 5) g[t] = s[2 * t];",
        "uninitialised", "The same holds for line",
    ),
    "a table that two lines read": (
        "y[i] = unset[t % 8];\ng[t] = unset[x[i] % 8] + 1;",
        "uninitialised", "The same holds for line",
    ),
    "a place that a race gives": (
        "__shared__ int s[128];\ns[t] = t < 5 ? 900000 : 1;\nint add = s[t ^ 33];\n"
        "__syncthreads();\nint to = add - 1;\nint at = to + t;\ng[at] = t;",
        "race", "__syncthreads()",
    ),
    "a place that nothing gives": (
        "__shared__ int count;\nint at = atomicAdd(&count, 1);\ng[at] = t;",
        "uninitialised", "leftovers",
    ),
}  # fmt: skip
JOINED_KERNELS = Kernels(
    [HEAD + body for body, _, _ in JOINED.values()], PARAMETERS, "__constant__ int unset[8];"
)


@pytest.mark.parametrize("name", JOINED)
def test_one_cause_is_one_finding(name):
    body, kind, words = JOINED[name]
    x = np.arange(2 * N, dtype=np.int32) % 13
    arrays = np.zeros(2 * N, np.int32), np.zeros(N, np.int32), x
    (finding,) = simulator.check(
        *JOINED_KERNELS.of(HEAD + body), *arrays, grid=(1,), block=(N,)
    )
    assert finding.kind == kind, finding
    assert words in finding.cause


def test_two_missing_barriers_apart_are_two_findings():
    body = (
        "__shared__ int a[128], b[128];\na[t] = x[i];\nint u = a[127 - t];\n__syncthreads();\n"
        "b[t] = u;\ny[i] = b[127 - t];"
    )
    kernels = Kernels([HEAD + body], PARAMETERS)
    x = np.arange(N, dtype=np.int32)
    arrays = np.zeros(N, np.int32), np.zeros(N, np.int32), x
    findings = simulator.check(*kernels.of(HEAD + body), *arrays, grid=(1,), block=(N,))
    assert [f.array for f in findings] == ["a", "b"]


# ---- two faults are two findings, and one is one ----

SLOT = (
    "int key = x[i] % 16, slot = key * 31 % 64;\n"
    "while (true) {\n"
    "    int old = atomicCAS(&g[slot], 0, key + 1);\n"
    "    if (old == 0 || old == key + 1) { DONE break; }\n"
    "    slot = (slot + 1) % 64;\n}\n"
)
# Body, and for each finding that it has a word of its cause and the lines that it names.
CONTENTIONS = {
    "a value behind a claimed key": (
        SLOT.replace("DONE", "y[slot] = i;"), "a barrier cannot help", {"5"}
    ),
    "a count behind a claimed key": (
        SLOT.replace("DONE", "y[slot]++;"), "atomicAdd(&y[slot], ...)", {"5"}
    ),
    "a first value and a count": (
        SLOT.replace("DONE", "if (old == 0) y[slot] = 1; else y[slot]++;"), "atomicAdd", {"5"}
    ),
    "a key that is not claimed": (
        "int slot = x[i] * 31 % 64;\nfor (int k = 0; k < 64; ++k) {\n    if (g[slot] == 0) {\n"
        "        g[slot] = x[i] + 1;\n        y[slot] = i;\n        break;\n    }\n"
        "    slot = (slot + 1) % 64;\n}",
        "atomicCAS", {"4", "5", "6"},
    ),
    "a claimed key that others read plainly": (
        "int slot = x[i] * 31 % 64;\n"
        "while (atomicCAS(&g[slot], 0, x[i] + 1) != 0 && g[slot] != x[i] + 1)\n"
        "    slot = (slot + 1) % 64;",
        "the value that the atomic function returns", {"3"},
    ),
    "a place that the atomic would have given": (
        "if (x[i] > 4) {\n    atomicAdd(g, 1);\n    y[*g - 1] = i;\n}",
        "the value that the atomic function returns", {"3", "4"},
    ),
    "a head that others move on": (
        "while (*g < 100) {\n    int k = atomicAdd(g, 1);\n    y[k] = k;\n}",
        "the value that the atomic function returns", {"2", "3"},
    ),
    "one element of two threads": ("y[x[i] / 2] = i;", "a barrier cannot help", {"2"}),
    "an element of the thread's number": ("y[t / 2] = i;", "a barrier cannot help", {"2"}),
}  # fmt: skip
# Bodies with the lines of each barrier that is missing.
BARRIERS = {
    "two arrays": (
        "__shared__ int a[128], b[128];\na[t] = x[i];\nint s = a[127 - t];\n__syncthreads();\n"
        "b[t] = s;\ny[i] = b[127 - t];",
        [{3, 4}, {6, 7}],
    ),
    "two places for one array": (
        "__shared__ int a[128];\na[t] = x[i];\nint s = a[127 - t];\n__syncthreads();\n"
        "int r = a[(t + 1) % 128];\na[t] = r + s;\n__syncthreads();\ny[i] = a[t];",
        [{3, 4}, {6, 7}],
    ),
    "one line in both": (
        "__shared__ int a[128];\na[t] = x[i];\ny[i] = a[(t + 32) % 128];\n"
        "y[i] += y[i - t + (t + 1) % 128];",
        [{3, 4}, {4, 5}],
    ),
    "two tiles and one barrier": (
        "__shared__ int a[128], b[128];\na[t] = x[i];\nb[t] = x[i] + 1;\n"
        "int s = a[127 - t];\ny[i] = s + b[127 - t];",
        [{3, 5}],
    ),
    "a tree and what follows it": (
        "__shared__ int a[128];\na[t] = x[i];\n__syncthreads();\n"
        "for (int d = 64; d > 0; d /= 2)\n    if (t < d) a[t] += a[t + d];\n"
        "if (t < 2) y[t] = a[0];",
        [{6}],
    ),
}
MIXED = {
    "a barrier and an atomic": (
        "__shared__ int b[4];\nif (t < 4) b[t] = 0;\nb[x[i] % 4]++;\n__syncthreads();\n"
        "if (t < 4) y[t] = b[t];",
        ["__syncthreads() is missing", "atomicAdd(&b[x[i] % 4], ...)"],
    ),
    "a race and an overrun": (
        "__shared__ int a[128];\na[t] = x[i];\ny[i + 1] = a[127 - t];",
        ["__syncthreads() is missing", "guard"],
    ),
    "a barrier and a halo that nobody sets": (
        "__shared__ int a[130];\na[t + 1] = x[i];\ny[i] = a[t] + a[t + 1] + a[t + 2];",
        ["__syncthreads() is missing", "was a part (a halo?) left out"],
    ),
    "a race and a value that is not set": (
        "__shared__ int a[128];\nint s;\nif (x[i] < 0) s = 1;\na[t] = x[i];\n"
        "y[i] = a[127 - t] + s;",
        ["__syncthreads() is missing", "A local variable holds leftovers"],
    ),
}
TWO = Kernels(
    [HEAD + one[0] for some in (CONTENTIONS, BARRIERS, MIXED) for one in some.values()], PARAMETERS
)


def found_of(body: str):
    x = np.arange(N, dtype=np.int32) % 13
    arrays = np.zeros(N, np.int32), np.zeros(N, np.int32), x
    return simulator.check(*TWO.of(HEAD + body), *arrays, grid=(1,), block=(N,))


@pytest.mark.parametrize("name", CONTENTIONS)
def test_threads_that_find_the_same_element_need_no_barrier(name):
    body, words, lines = CONTENTIONS[name]
    (finding,) = found_of(body)
    assert finding.kind == "race" and words in finding.cause
    assert "syncthreads" not in finding.cause and "syncwarp" not in finding.cause
    first = TWO.line(HEAD + body, 1) - 1
    named = {finding.line, finding.other_line, *map(int, re.findall(r"\d+(?= \()", finding.cause))}
    assert {str(line - first) for line in named if line} <= lines


@pytest.mark.parametrize("name", BARRIERS)
def test_each_missing_barrier_is_a_finding(name):
    body, places = BARRIERS[name]
    first = TWO.line(HEAD + body, 1) - 1
    findings = found_of(body)
    lines = [{one.line - first, (one.other_line or one.line) - first} for one in findings]
    assert sorted(lines, key=min) == places
    assert all("is missing between the" in one.cause for one in findings)


@pytest.mark.parametrize("name", MIXED)
def test_two_faults_are_two_findings(name):
    body, words = MIXED[name]
    findings = found_of(body)
    assert len(findings) == len(words)
    assert all(any(word in one.cause for one in findings) for word in words)


def test_a_line_that_reads_its_neighbours_is_no_update():
    body = (
        "__shared__ int s[128];\ns[t] = x[i];\n__syncthreads();\n"
        "for (int d = 64; d; d /= 2) { int other = s[t ^ d]; s[t] += other; }\ny[i] = s[t];"
    )
    kernels = Kernels([HEAD + body], PARAMETERS)
    arrays = np.zeros(N, np.int32), np.zeros(N, np.int32), np.arange(N, dtype=np.int32)
    (finding,) = simulator.check(*kernels.of(HEAD + body), *arrays, grid=(1,), block=(N,))
    assert "atomic" not in finding.cause and "__syncthreads()" in finding.cause


def test_a_race_with_another_block_is_told_as_one_behind_a_barrier():
    body = "g[x[i] % 16]++;\n__syncthreads();\nif (t == 0) g[0] = 5;"
    kernels = Kernels([HEAD + body], PARAMETERS)
    arrays = np.zeros(N, np.int32), np.zeros(N, np.int32), np.arange(2 * N, dtype=np.int32)
    update, store = simulator.check(*kernels.of(HEAD + body), *arrays, grid=(2,), block=(N,))
    assert "atomicAdd" in update.cause
    assert "a thread of another block" in store.message and "two blocks" in store.message
    assert "__syncthreads() waits for one block alone" in store.cause


def test_lines_that_race_between_blocks_are_one_finding():
    body = "int u = g[0];\nint v = g[1];\ny[i] = u - v;\ng[i] = u + v;"
    kernels = Kernels([HEAD + body], PARAMETERS)
    arrays = np.zeros(4, np.int32), np.zeros(4, np.int32), np.arange(4, dtype=np.int32)
    (finding,) = simulator.check(*kernels.of(HEAD + body), *arrays, grid=(4,), block=(1,))
    assert "make it two launches. The same holds for lines" in finding.cause


def test_a_race_with_an_unknown_block_names_no_line_of_its_own_block():
    """The last cell is read at one line by its own block, and at another by the block before."""
    body = (
        "__shared__ int s[129];\ns[t] = g[i];\n"
        "if (t == 127) s[128] = g[i + 1];\n__syncthreads();\ng[i] = s[t] + s[t + 1];"
    )
    kernels = Kernels([HEAD + body], PARAMETERS)
    arrays = np.zeros(N, np.int32), np.zeros(2 * N + 1, np.int32), np.zeros(N, np.int32)
    findings = simulator.check(*kernels.of(HEAD + body), *arrays, grid=(2,), block=(N,))
    (store,) = [one for one in findings if "a thread of another block read" in one.message]
    assert "at line" not in store.message and store.other_line is None
    assert store.index == 128 and "two blocks" in store.message


def test_an_asynchronous_copy_past_the_end_names_the_array_that_it_reads():
    body = (
        "__shared__ int s[128];\nconst unsigned to = (unsigned)__cvta_generic_to_shared(s + t);\n"
        'asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(to), "l"(x + i));\n'
        'asm volatile("cp.async.wait_all;");\n__syncthreads();\ny[t] = s[127 - t];'
    )
    kernels = Kernels([HEAD + body], PARAMETERS)
    arrays = np.zeros(N, np.int32), np.zeros(N, np.int32), np.arange(N, dtype=np.int32)
    # The copy of block 0 is right, and the last array that this instruction accessed is its tile.
    (finding,) = simulator.check(*kernels.of(HEAD + body), *arrays, grid=(2,), block=(N,))
    assert finding.block == (1, 0, 0) and (finding.array, finding.index) == ("x", N)


FAR = HEAD + (
    "__shared__ alignas(16) int a[256];\n__shared__ alignas(16) int b[1024];\nb[t] = x[t];\n"
)
SUM = "__syncthreads();\ny[t] = a[t] + b[t];"
# Each lands in b, behind the gap that the simulator leaves between two arrays.
INTO_THE_NEXT_ARRAY = {
    "an index": ("a[t + 600] = x[t];", 600),
    "vectors": ("reinterpret_cast<int4*>(a)[t + 150] = make_int4(1, 2, 3, x[t]);", 600),
    "a pointer": ("int* p = a + t;\nfor (int k = 0; k < 2; ++k) { *p = x[t]; p += 600; }", 600),
    "an atomic": ("atomicAdd(&a[x[t] + 600], 1);", 600),
    "a copy": (
        'const unsigned to = (unsigned)__cvta_generic_to_shared(a + t + 600);\nasm volatile('
        '"cp.async.ca.shared.global [%0], [%1], 4;\\n\\tcp.async.wait_all;" :: "r"(to), "l"(x + t)'
        ': "memory");',
        600,
    ),
    "a matrix": (
        "unsigned r;\nasm volatile(\"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];\" : "
        '"=r"(r) : "r"((unsigned)__cvta_generic_to_shared(a + 600 + t % 8 * 4)));\ny[t] = (int)r;',
        600,
    ),
}


@pytest.mark.parametrize("name", INTO_THE_NEXT_ARRAY)
def test_an_overrun_into_the_next_shared_array_names_the_array_that_it_leaves(name):
    statement, index = INTO_THE_NEXT_ARRAY[name]
    kernels = Kernels([FAR + body + "\n" + SUM for body, _ in INTO_THE_NEXT_ARRAY.values()],
                      "int* y, const int* x")  # fmt: skip
    x = np.zeros(N, np.int32)
    finding, *others = simulator.check(
        *kernels.of(FAR + statement + "\n" + SUM), np.zeros(N, np.int32), x, grid=(1,), block=(N,)
    )
    assert {(f.kind, f.array) for f in others} <= {("uninitialised", "a")}
    assert (finding.kind, finding.array, finding.index) == ("out-of-bounds", "a", index)
