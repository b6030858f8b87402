"""Accesses in which each half of a warp stays at one place or goes forward place by place: the
machine counts them from two addresses, and looks for races only where something writes.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from instances import Kernels

from helpers import simulator

CELLS = 512
SOURCE = """
template <class T> __device__ void copy(T* y, const T* x, const int* plan) {
    __shared__ __align__(16) T tile[512];
    int t = threadIdx.x, half = t / 16;
    for (int k = t; k < 512; k += 32) tile[k] = T();
    __syncwarp();
    int at = plan[2 * half] + t % 16 * plan[2 * half + 1];
    y[t] = x[at];
    y[32 + t] = tile[at];
    tile[at] = T();
}
extern "C" __global__ void copy_4(float* y, const float* x, const int* plan) {
    copy(y, x, plan);
}
extern "C" __global__ void copy_8(float2* y, const float2* x, const int* plan) {
    copy(y, x, plan);
}
extern "C" __global__ void copy_16(float4* y, const float4* x, const int* plan) {
    copy(y, x, plan);
}
"""
LOAD, SHARED_LOAD = (SOURCE[: SOURCE.index(text)].count("\n") + 1 for text in ("= x[at]", "= tile"))
# The first places of both halves: alike, one behind the other, overlapping, in one bank.
PLACES = [(0, 0), (0, 16), (0, 32), (5, 37), (0, 1), (16, 0), (100, 7), (65, 33), (40, 8), (9, 300)]


def wavefronts(places: np.ndarray, size: int) -> int:
    """Returns the wavefronts of a shared load by the rules of traffic.h, lane by lane."""
    words = places[:, None] * (size // 4) + np.arange(size // 4)
    if size == 4:
        parts = [words]
    else:
        neighbours = [places[np.arange(32) ^ k] for k in (1, 2)]
        in_pairs = any((places == other).all() for other in neighbours)
        lanes = 128 // size * (2 if in_pairs else 1)
        parts = np.split(words, 32 // lanes)
    return sum(max(np.bincount(np.unique(part) % 32)) for part in parts)


@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize("steps", [*itertools.product((0, 1), repeat=2)])
def test_patterns_of_halves_count_as_lane_by_lane(size, steps):
    for first in PLACES:
        plan = np.array([first[0], steps[0], first[1], steps[1]], np.int32)
        y, x = (np.zeros(n * size // 4, np.float32) for n in (64, CELLS))
        found = simulator.profile(
            SOURCE, f"copy_{size}", y, x, plan, grid=(1,), block=(32,), checks=False
        )
        places = np.concatenate([first[h] + steps[h] * np.arange(16) for h in range(2)])
        bytes_ = places[:, None] * size + np.arange(size)
        rows = {(row.line, row.space): row for row in found.lines if row.access == "load"}
        assert rows[LOAD, "global"].sectors == len(np.unique(bytes_ // 32)), plan
        assert rows[SHARED_LOAD, "shared"].wavefronts == wavefronts(places, size), plan


# ---- arrays that a launch only reads ----

RACES = {
    "by the other parameter": "y[t] = x[t ^ 1];",
    "by a pointer of two arrays": "float* p = n > 0 ? const_cast<float*>(x) : y;\np[t] = x[t ^ 1];",
    "by an atomic": "atomicAdd(const_cast<float*>(x) + (t ^ 1), x[t]);",
    "by a function that is called": "store(const_cast<float*>(x) + t, x[t ^ 1]);",
    "by a variable": "own[t] = x[t];\ny[t] = own[t ^ 1];",
    "by a pointer in memory": "place = const_cast<float*>(x);\nplace[t] = x[t ^ 1];",
}
RIGHT = {
    "a read of all": "y[t] = x[t ^ 1] + x[0];",
    "a cell each": "const_cast<float*>(x)[t] += 1;",
    "atomics alone": "atomicAdd(const_cast<float*>(x), 1.0f);",
}
BEFORE = """__device__ float own[64];
__device__ float* place;
__device__ __noinline__ void store(float* p, float value) { *p = value; }"""
KERNELS = Kernels(
    [f"int t = threadIdx.x;\n{body}" for body in (*RACES.values(), *RIGHT.values())],
    "float* y, const float* x, int n",
    BEFORE,
)


def races(body: str, *, alike: bool = False) -> list[str]:
    x = np.ones(64, np.float32)
    y = x if alike else np.zeros(64, np.float32)
    kernel = KERNELS.of(f"int t = threadIdx.x;\n{body}")
    found = simulator.check(*kernel, y, x, np.int32(1), grid=(1,), block=(64,))
    return [finding.array for finding in found if finding.kind == "race"]


@pytest.mark.parametrize("how", RACES)
def test_a_write_makes_readers_race_whatever_leads_to_it(how):
    assert races(RACES[how], alike=how == "by the other parameter")


@pytest.mark.parametrize("how", RIGHT)
def test_what_nobody_else_writes_does_not_race(how):
    assert races(RIGHT[how]) == []


# ---- loads by one register, of which the first finds the pattern for all ----

# What changes the register between two loads, in PTX; and the lanes that take part.
CHANGES = {
    "nothing": ("", range(0)),
    "an addition": ("add.u64 at, at, %3;", range(32)),
    "an addition in half the lanes": ("@upper add.u64 at, at, %3;", range(16, 32)),
    "an addition in a branch": ("@!upper bra end; add.u64 at, at, %3; end:", range(16, 32)),
    "a load": ("ld.u64 at, [%4];", range(32)),
}
TWO_LOADS = """
extern "C" __global__ void two_loads(float* y, const float* x, const int* steps) {
    __shared__ const float* table[32];
    int t = threadIdx.x;
    float first, second;
    table[t] = x + t + steps[t];
    #pragma unroll 1
    for (int turn = 0; turn < 2; ++turn)    // the second turn knows the array
        asm volatile("{.reg .u64 at; .reg .pred upper; setp.ge.u32 upper, %5, 16; mov.u64 at, %2;"
                     "ld.f32 %0, [at]; CHANGE ld.f32 %1, [at+4];}"
                     : "=f"(first), "=f"(second)
                     : "l"(x + t), "l"(4ll * steps[t]), "l"(table + t), "r"(t));
    y[t] = first;
    y[32 + t] = second;
}"""


@pytest.mark.parametrize("what", CHANGES)
def test_a_load_follows_a_register_that_changes(what):
    change, lanes = CHANGES[what]
    x, y = np.arange(100, dtype=np.float32), np.zeros(64, np.float32)
    steps = (np.arange(32) * 37 % 64).astype(np.int32)
    source = TWO_LOADS.replace("CHANGE", change)
    assert not simulator.check(source, "two_loads", y, x, steps, grid=(1,), block=(32,))
    places = np.arange(32)
    assert (y[:32] == places).all()
    assert (y[32:] == places + 1 + np.where(np.isin(places, lanes), steps, 0)).all()
