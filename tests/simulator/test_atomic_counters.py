"""What atomics and copies to shared memory cost a warp: counters that Nsight Compute read on an
H200.
"""

import re

import numpy as np
import pytest
from instances import Kernels

from helpers import simulator

ATOMICS = """
template <int PATTERN> __device__ int cell(int t)
{{
    return PATTERN == 0 ? t : PATTERN == 1 ? 0 : PATTERN == 2 ? t % 2 : PATTERN == 3 ? t / 2
        : PATTERN == 4 ? t % 8
         : PATTERN == 5 ? t * 8 % 256 : PATTERN == 6 ? t * t % 32 : t * t * 5 % 128;
}}
template <int PATTERN> __global__ void k(unsigned* g, unsigned n)
{{
    __shared__ __align__(16) unsigned s[512];
    const int t = threadIdx.x, i = cell<PATTERN>(t);
    for (int j = t; j < 512; j += 32) s[j] = 0;
    __syncthreads();
    unsigned result = 0, *a = {where};
    {update};
    g[1024 + t] = result;
    __syncthreads();
    g[2048 + t] = s[t];
}}
"""
PATTERNS = range(8)
# A kernel for each pattern: all of them are one compilation.
ATOMICS += "\n".join(
    f"template __global__ void k<{pattern}>(unsigned*, unsigned);" for pattern in PATTERNS
)
UPDATES = {
    "1": "atomicAdd(a + i, 1u)", "n": "atomicAdd(a + i, n)", "used": "result = atomicAdd(a + i, n)",
    "max": "atomicMax(a + i, n + t)", "cas": "result = atomicCAS(a + i, 0, n)",
    "exch": "result = atomicExch(a + i, t)", "inc": "atomicInc(a + i, n)",
    "float": "atomicAdd((float*)a + i, 1.0f + n)", "double": "atomicAdd((double*)a + i, 1.0 + n)",
    "long": "atomicAdd((unsigned long long*)a + i, (unsigned long long)n)",
}  # fmt: skip
# Passes of lanes that take turns, by pattern; one lane does it for all in the second.
TURNS = (1, 1, 16, 2, 4, 8, 8, 8)
BEFORE = 16  # passes of the loops around the atomic

# By pattern: passes of the atomic; requests and passes of loads where a loop comes of it.
SHARED = {
    "1": (1, 1, 1, 1, 1, 8, 1, 4),
    "n": TURNS, "used": TURNS, "max": TURNS,
    "inc": (1, 32, *TURNS[2:]), "exch": (1, 32, *TURNS[2:]),
    "cas": (2, 64, 32, 4, 8, 16, 16, 16), "float": (2, 64, 32, 4, 8, 16, 16, 16),
    "double": (4, 96, 48, 8, 12, 32, 24, 18), "long": (4, 2, 48, 8, 12, 32, 24, 18),
}  # fmt: skip
ROUNDS = {
    "float": ((1, 32, 16, 2, 4, 8, 8, 8), (1, 32, 16, 2, 4, 36, 8, 26)),
    "double": ((1, 32, 16, 2, 4, 8, 8, 5), (2, 32, 16, 2, 6, 72, 20, 22)),
    "long": ((1, 1, 16, 2, 4, 8, 8, 5), (2, 1, 16, 2, 6, 72, 20, 22)),
}
SECTORS = {
    "n": (4, 1, 16, 4, 4, 32, 20, 24), "used": (4, 1, 16, 4, 4, 32, 20, 24),
    "max": (4, 1, 16, 4, 4, 32, 20, 24), "exch": (4, 32, 16, 4, 4, 32, 20, 24),
    "float": (4, 32, 16, 4, 4, 32, 20, 24), "double": (8, 32, 16, 8, 8, 32, 24, 28),
    "long": (8, 1, 16, 8, 8, 32, 24, 28),
}  # fmt: skip


def counters(source, *arguments, kernel="k"):
    return simulator.profile(source, kernel, *arguments, grid=(1,), block=(32,)).counters()


def of_pattern(source, pattern):
    return counters(source, np.zeros(4096, np.uint32), np.uint32(3), kernel=f"k<{pattern}>")


# Updates that cost what another one costs: three patterns show it.
ALIKE = {"used", "max", "exch"}
FEW = (1, 5, 7)


def cases(updates) -> list[tuple[str, int]]:
    """Updates and patterns."""
    return [(one, pattern) for one in updates for pattern in (FEW if one in ALIKE else PATTERNS)]


@pytest.mark.parametrize(("update", "pattern"), cases(SHARED))
def test_an_atomic_in_shared_memory(update, pattern):
    found = of_pattern(ATOMICS.format(where="s", update=UPDATES[update]), pattern)
    requests, loads = (
        (several[pattern] for several in ROUNDS[update]) if update in ROUNDS else (1, 0)
    )
    assert (found["shared_atomic_requests"], found["shared_load_wavefronts"] - 1) == (
        requests,
        loads,
    )
    assert found["shared_atomic_wavefronts"] == SHARED[update][pattern]


@pytest.mark.parametrize(("update", "pattern"), cases(SECTORS))
def test_an_atomic_in_global_memory(update, pattern):
    found = of_pattern(ATOMICS.format(where="g", update=UPDATES[update]), pattern)
    assert (found["global_atomic_requests"], found["global_atomic_sectors"]) == (
        1,
        SECTORS[update][pattern],
    )


HALVES = "#include <cuda_fp16.h>\n" + ATOMICS.replace(
    "    {update};\n", "    atomicAdd((__half*)a + i, __float2half(1.0f));\n"
)


@pytest.mark.parametrize(
    ("pattern", "rounds", "sectors", "passes"),
    [
        (0, 2, 6, 6),
        (1, 32, 528, 1056),
        (2, 32, 528, 1056),
        (3, 4, 10, 20),
        (4, 8, 36, 72),
        (5, 1, 16, 8),
        (6, 8, 72, 72),
        (7, 4, 36, 26),
    ],
)
def test_an_atomic_of_16_bits_is_a_loop_of_compare_and_swap(pattern, rounds, sectors, passes):
    found = of_pattern(HALVES.format(where="g"), pattern)
    assert (found["global_atomic_requests"], found["global_atomic_sectors"]) == (rounds, sectors)
    assert found["global_load_requests"] == 1
    found = of_pattern(HALVES.format(where="s"), pattern)
    # The address is generic: this counter of the hardware's knows only atomics that are told where
    # they are.
    assert (found["shared_atomic_requests"], found["shared_atomic_wavefronts"]) == (0, passes)


COPY = """
    __shared__ __align__(128) char s[8192];
    const int t = threadIdx.x;
    char *to = s + ({to}) * {size}, *from = g + ({of}) * {size};
    const unsigned there = __cvta_generic_to_shared(to);
    if ({which}) asm volatile("cp.async.{kind}.shared.global [%0], [%1], {size};" :: "r"(there),
        "l"(from));
    asm volatile("cp.async.commit_group;\\ncp.async.wait_group 0;" ::: "memory");
"""
PLACES = (
    ("t", "t", "1"),
    ("t", "t * 2", "1"),
    ("t * 2", "t", "1"),
    ("t", "t % 4 * 8 + t / 4", "1"),
    ("t * 9 % 32", "t", "1"),
    ("t", "t + 1", "t < 20"),
)
# The kind of the copy and its bytes; the sectors for each of the places.
COPIES = {
    ("ca", 4): (4, 8, 4, 4, 4, 3), ("ca", 8): (8, 16, 8, 8, 8, 6),
    ("ca", 16): (16, 32, 16, 16, 16, 11), ("cg", 16): (16, 16, 32, 32, 32, 12),
}  # fmt: skip


def copy(kind: str, size: int, place: tuple[str, str, str]) -> str:
    to, of, which = place
    return COPY.format(kind=kind, size=size, to=to, of=of, which=which)


COPYING = Kernels([copy(*how, place) for how in COPIES for place in PLACES], "char* g")


@pytest.mark.parametrize(("kind", "size"), COPIES)
def test_an_asynchronous_copy(kind, size):
    for place, wanted in zip(PLACES, COPIES[kind, size], strict=True):
        source, name = COPYING.of(copy(kind, size, place))
        found = counters(source, np.zeros(8192, np.int8), kernel=name)
        read = {
            name: found[name]
            for name in ("global_load_requests", "global_load_sectors", "shared_store_wavefronts")
        }
        assert read == {
            "global_load_requests": 1,
            "global_load_sectors": wanted,
            "shared_store_wavefronts": 0,
        }, place


def test_lines_say_how_they_were_counted():
    found = simulator.profile(
        ATOMICS.format(where="s", update=UPDATES["1"]),
        "k<0>",
        np.zeros(4096, np.uint32),
        np.uint32(3),
        grid=(1,),
        block=(32,),
    )
    assert {line.model for line in found.lines} <= {"sass", "ptx"}
    assert re.search("shared atomic", str(found))


def test_only_loads_join_half_warps_whose_lanes_agree():
    source = """
extern "C" __global__ void k(float* y, int n)
{
    __shared__ float2 s[64];
    const int t = threadIdx.x;
    if (t % 2) s[t] = make_float2(t, n);
    __syncthreads();
    if (t % 2) y[t] = s[t].x + s[t].y;
}
"""
    found = counters(source, np.zeros(64, np.float32), np.int32(1))
    # 16 lanes of 8 bytes: two parts without a conflict, or one whose banks have two words each.
    assert (found["shared_store_wavefronts"], found["shared_store_conflicts"]) == (2, 0)
    assert (found["shared_load_wavefronts"], found["shared_load_conflicts"]) == (2, 1)


COUNTS = """
extern "C" __global__ void k(unsigned short* counts, const int* cell)
{
    unsigned short* own = counts + cell[threadIdx.x];
    unsigned short seen = *own;
    while (seen < 30) {
        unsigned short was = atomicCAS(own, seen, (unsigned short)(seen + 1));
        if (was == seen) break;
        seen = was;
    }
}
"""


@pytest.mark.parametrize(
    ("cell", "requests", "sectors"),
    [
        ([2 * k for k in range(32)], 1, 4),  # each lane has a word of its own
        (list(range(32)), 2, 6),  # two halves of a word: the second lane meets what the first left
        ([k // 2 for k in range(32)], 4, 9),  # two lanes a half: of these the loser has its answer
    ],
)
def test_a_compare_and_swap_of_16_bits_ends_when_the_other_half_stands(cell, requests, sectors):
    counts = np.zeros(64, np.uint16)
    found = counters(COUNTS, counts, np.array(cell, np.int32))
    assert found["global_atomic_requests"] == requests
    assert found["global_atomic_sectors"] == sectors
    np.testing.assert_array_equal(counts, np.bincount(cell, minlength=64))
