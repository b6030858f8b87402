"""An index that 32 bits cannot hold is found, where it leads to another element, too."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from instances import Kernels

from helpers import simulator
from helpers.exercises.judge.mistakes import wrapped_index
from helpers.simulator.compile.compiler import compile_source
from helpers.simulator.findings.words import Cause
from helpers.simulator.launch import rehearsal
from helpers.simulator.ptx import overflows

N = 64
PARAMETERS = "float* y, const float* x, const int* v, int n"
HEAD = "const int t = threadIdx.x;\n"
# Body, and the index that the first thread computes: n is 65,536.
WRAPS = {
    "a product": ("int row = t * 65536;\ny[t] = x[row * n];", 2**32),
    "a row and a column": ("int row = t / 32 * n;\ny[t] = x[row * n + t];", 2**32 + 32),
    "a square": ("int i = t * n;\ny[t] = x[i * i];", 2**32),
    "unsigned numbers": ("unsigned i = t * 65536u;\ny[t] = x[i * i];", 2**32),
    "three axes": ("int b = t * 64, w = n / 64;\ny[t] = x[((b * 64) * w + 0) * w + t];", 2**32 + 1),
    "a loop": ("for (int k = 0; k < 3; ++k) y[t] += x[k * 32768 * (2 * n) + t];", 2**32),
    "a store": ("int row = t * 65536;\ny[row * n + t] = x[t];", 2**32 + 1),
    "bytes": ("const char* p = (const char*)x;\nint row = t * n;\ny[t] = p[row * n];", 2**32),
    "a large constant": ("y[t] = x[t * 134217728];", 2**31),
    "a value from memory": ("y[t] = x[v[t] * n * 65536];", 2**32),
    "a number that is stored": (
        "if (t < 32) ((long long*)y)[t] = v[t] * n * 65536;", 2**32
    ),
    "a sum of products": (
        "long long s = 0;\nfor (int k = 0; k < 3; ++k) s += v[t] * n * (32768 * k);\n"
        "if (t < 32) ((long long*)y)[t] = s;", 2**31
    ),
}
FITS = {
    "a hash": (
        "unsigned h = v[t] * 2654435761u;\nint g = v[t] * 73856093 ^ 19349663;\n"
        "y[t] = x[h % 64] + x[(g & 0x7fffffff) % 64] + x[h >> 26];"
    ),
    "random numbers": (
        "int s = t;\nfor (int k = 0; k < 9; ++k) {\n    s = s * 1103515245 + 12345;\n"
        "    y[t] += x[s & 63];\n}"
    ),
    "a wide product": (
        "long long far = (long long)t * n * 65536;\ny[t] = x[t] + (float)far;\n"
        "size_t at = (size_t)t * n;\nif (at < 64) y[t] = x[at];"
    ),
    "a hash that is stored": (
        "if (t < 32) ((unsigned long long*)y)[t] = v[t] * 2654435761u;\n"
        "if (t < 32) ((long long*)y)[t] += (v[t] * 73856093) & 0xffff;"
    ),
    "a wide number that is stored": (
        "if (t < 32) ((long long*)y)[t] = (long long)v[t] * n * 65536;"
    ),
    "a sum that comes back": ("int far = t + 2147483647;\ny[t] = x[far - 2147483647];"),
    "a guard around the product": ("int row = t * 65536;\nif (row < 4) y[t] = x[row * n];"),
    "rows and columns": (
        "int width = n / 4096;\nint r = t / width, c = t % width;\n"
        "y[r * width + c] = x[(3 - r) * width + (width - 1 - c)];"
    ),
    "a row below 0": ("int width = n / 4096;\nif (t >= width) y[t] = x[(t / width - 1) * width];"),
}
ALL = Kernels(
    [HEAD + body for body in [*FITS.values(), *(b for b, _ in WRAPS.values())]], PARAMETERS
)


def found(body: str):
    values = np.arange(N, dtype=np.int32)
    y, x = np.zeros(N, np.float32), np.ones(N, np.float32)
    return simulator.check(
        *ALL.of(HEAD + body), y, x, values, np.int32(65536), grid=(1,), block=(N,)
    )


@pytest.mark.parametrize("name", WRAPS)
def test_an_index_that_wraps_is_found(name):
    body, index = WRAPS[name]
    (finding,) = (one for one in found(body) if "wraps to" in one.message)
    assert finding.kind == "out-of-bounds" and finding.index == index
    assert f"{index:,}" in finding.message and "size_t" in finding.cause
    assert ("the number" in finding.message) == ("long long" in body)


@pytest.mark.parametrize("name", FITS)
def test_numbers_that_are_no_index_may_wrap(name):
    assert found(FITS[name]) == ()


def test_an_access_at_an_index_that_wraps_is_no_finding_of_its_own():
    body = "int row = t * 31000;\ny[t] = x[row * 70000];"
    kernels = Kernels([HEAD + body], PARAMETERS)
    arrays = np.zeros(N, np.float32), np.ones(N, np.float32), np.zeros(N, np.int32)
    (finding,) = simulator.check(
        *kernels.of(HEAD + body), *arrays, np.int32(0), grid=(1,), block=(N,)
    )
    assert finding.index == 2_170_000_000 and finding.array == "x"


def test_an_exercise_leaves_the_cause_of_an_index_that_wraps():
    (finding,) = found(WRAPS["a product"][0])
    assert wrapped_index(finding)
    assert not wrapped_index(dataclasses.replace(finding, causes=(Cause.GUARD(),)))


ROW = "const int i = blockIdx.x * 64 + t;\ny[i] = x[{row} * n + t];"
FROM_MEMORY, COMPUTED = ROW.format(row="v[i]"), ROW.format(row="(i / 1000000)")
IN_THE_MIDDLE = Kernels([HEAD + FROM_MEMORY, HEAD + COMPUTED], PARAMETERS)


def test_an_index_from_memory_that_wraps_in_a_block_in_the_middle_is_found():
    n, far = 64 * 5000, 2503
    values = np.zeros(n, np.int32)
    values[64 * far + 1] = 65536
    x, y = np.ones(N, np.float32), np.zeros(n, np.float32)
    (finding,) = simulator.check(
        *IN_THE_MIDDLE.of(HEAD + FROM_MEMORY), y, x, values, np.int32(65536),
        grid=(5000,), block=(64,),
    )
    assert (finding.block, finding.thread) == ((far, 0, 0), (1, 0, 0))
    assert finding.index == 65536 * 65536 + 1


@pytest.mark.parametrize(("body", "is_from_memory"), [(FROM_MEMORY, True), (COMPUTED, False)])
def test_only_an_index_from_memory_asks_for_more_blocks(body, is_from_memory):
    compiled = compile_source(Kernels([HEAD + body], PARAMETERS).source, (), "k.cu")
    ptx = compiled.careful.ptx(compiled.compiler, compiled.ptx)
    assert overflows.comes_from_memory(ptx) == is_from_memory
    blocks = rehearsal.blocks_to_rehearse((5000, 1, 1), (64, 1, 1), is_from_memory)
    assert (len(blocks) == 5000) == is_from_memory


# Bodies that add up x, 256 times 20,000,000; k is a thread's number, s has 8 elements.
TOTAL = 256 * 20_000_000
SUMS = {
    "a sum": ("atomicAdd(s, x[k]);", TOTAL),
    "of a block": ("atomicAdd_block(s + 3, x[k]);", TOTAL),
    "a difference": ("atomicSub(s, x[k]);", -TOTAL),
    "two sums": ("atomicAdd(&s[k % 2], x[k] * 2);", TOTAL),
    "in shared memory": (
        "__shared__ int t;\nif (k == 0) t = 0;\n__syncthreads();\natomicAdd(&t, x[k]);\n"
        "__syncthreads();\nif (k == 0) s[0] = t;", TOTAL
    ),
    "with its old value": ("if (atomicAdd(s, x[k]) == 1) s[1] = 1;", TOTAL),
}
# What is right although an int wraps, or although much is added to one.
LEGAL = {
    "a sum that fits": "atomicAdd(s, x[k] / 10);",
    "a sum that fits unsigned numbers": "atomicAdd(s, x[k] / 2);",
    "unsigned numbers": "atomicAdd((unsigned*)s, (unsigned)x[k]);",
    "unsigned numbers, taken for ints": (
        "__shared__ unsigned t;\nif (k == 0) t = 0;\n__syncthreads();\nint* p = (int*)&t;\n"
        "atomicAdd(p, x[k]);\n__syncthreads();\nif (k == 0) s[0] = (t >> 8) & 15;"
    ),
    "a cast in the call": "unsigned* u = (unsigned*)s;\natomicAdd((int*)u, x[k]);",
    "a sum that comes back": "atomicAdd(s, x[k]);\n__syncthreads();\natomicAdd(s, -x[k]);",
    "signs in turn": "atomicAdd(s, k % 2 ? x[k] * 9 : -x[k] * 9);",
    "a hash": "atomicAdd(s, (x[k] + k) * 73856093 & 0x7fffffff);",
    "a hash with signs": "atomicAdd(s, (x[k] + k) * 19349663);",
    "counters in bytes": "if (k < 255) atomicAdd(s, 1 << 24);",
    "a count and a sum": "atomicAdd(s, 1 << 16 | k);",
    "a sum that begins again": (
        "__shared__ int t;\nfor (int j = 0; j < 8; ++j) {\nif (k == 0) t = 0;\n__syncthreads();\n"
        "atomicAdd(&t, x[k] / 20);\n__syncthreads();\nif (k == 0) s[j] = t;\n__syncthreads();\n}"
    ),
    "a wide sum": "atomicAdd((unsigned long long*)s, (unsigned long long)x[k]);",
    "tickets": "if (atomicAdd(s, 1) == 255) atomicExch(s, 0);",
}
NUMBER = "const int k = threadIdx.x;\n"
ADDED = Kernels(
    [NUMBER + body for body in [*(b for b, _ in SUMS.values()), *LEGAL.values()]],
    "int* s, const int* x",
)


def found_in_sum(body: str):
    x = np.full(256, 20_000_000, np.int32)
    return simulator.check(
        *ADDED.of(NUMBER + body), np.zeros(8, np.int32), x, grid=(1,), block=(256,)
    )


@pytest.mark.parametrize("name", SUMS)
def test_a_sum_that_an_int_cannot_hold_is_found(name):
    body, total = SUMS[name]
    findings = [one for one in found_in_sum(body) if one.kind == "out-of-bounds"]
    assert findings and all(one.severity == "warning" for one in findings)
    assert f"add up to {total:,}: 32 bits cannot hold it" in findings[0].message


@pytest.mark.parametrize("name", LEGAL)
def test_an_int_that_wraps_on_purpose_is_not_blamed(name):
    assert found_in_sum(LEGAL[name]) == ()
