"""The loops that get a YIELD from ptxas, as a rule over PTX finds them, beside the machine code."""

from __future__ import annotations

from functools import cache

import pytest

from helpers.simulator.compile import compiler, toolkit
from helpers.simulator.program import assembly
from helpers.simulator.ptx import listing
from helpers.simulator.ptx.parse import Module
from helpers.simulator.ptx.yields import yielding_loops

PARAMETERS = "int* out, unsigned* left, const int* in, int n"
FUNCTIONS = """
__device__ __noinline__ unsigned turn(unsigned* word) { return atomicAdd(word, 256u) & 255; }
"""
# The exit of a loop depends on the old value of an atomic, or on a load that others may answer.
WAITING = {
    "an atomic": "while (atomicAdd(&left[i], 1) != n) ++k;",
    "its sum": "while (k < 100) k += atomicAdd(&left[i], 1);",
    "a lock": "while (atomicCAS(left, 0, 1)) {} out[0] += k; atomicExch(left, 0);",
    "a flag that an atomic sets": """
        bool done = false;
        while (!done)
            if (atomicCAS(left, 0, 1) == 0) { out[0] += k; atomicExch(left, 0); done = true; }""",
    "a compare-and-swap": """
        unsigned old = *left, seen;
        while ((seen = atomicCAS(left, old, 2 * old)) != old) old = seen;""",
    "in shared memory": """
        __shared__ unsigned word[32];
        word[i] = in[i];
        while (atomicAdd(&word[i], 1) != n) ++k;""",
    "a volatile load": "while (((volatile unsigned*)left)[i] != n) ++k;",
    "a load with acquire": """
        int found;
        do asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(found) : "l"(in + i) : "memory");
        while (found != ++k);""",
    "one of two exits": "while (in[k] != 4) { if (atomicAdd(&left[i], 1) == 9) break; ++k; }",
    "a branch in the loop": """
        while (k < n) if (atomicAdd(&left[i], 1) & 1) { out[k] = 3; k = in[k]; } else ++k;""",
    "an address": "int s = in[i]; while (s != 5) s = in[atomicAdd(&left[s], 1)]; k = s;",
    "a loop in a branch": """
        if (atomicAdd(&left[i], 1) == 5)
            #pragma unroll 1
            for (int j = 0; j < n; ++j) k += atomicAdd(&left[32 + j], 1);""",
    "a bound from before, and an addition": """
        const int m = atomicAdd(&left[i], 1);
        #pragma unroll 1
        for (int j = 0; j < m; ++j) atomicAdd(&left[32 + j], 1);""",
    "two loops, one in the other": """
        while (atomicAdd(&left[i], 1) != n) {
            if (in[k] & 1) while (atomicAdd(&left[32 + i], 1) != n) ++k;
            ++k;
        }""",
    "a plain loop inside": """
        while (atomicAdd(&left[i], 1) != n)
            #pragma unroll 1
            for (int j = 0; j < in[i]; ++j) k += in[j];""",
    "a shuffled value": """
        do k += __shfl_xor_sync(~0u, atomicAdd(&left[i], 1), 1); while (k < n);""",
    "a function's result": "while (turn(&left[i]) != n) ++k;",
}
PLAIN = {
    "a plain load": "while (in[i + k]) ++k;",
    "a plain load and a fence": "while (left[i] != k) { ++k; __threadfence(); }",
    "a counter beside an atomic": """
        #pragma unroll 1
        for (int j = in[i]; j < 8; ++j) k += atomicAdd(&left[i], 1);""",
    "a list beside an atomic": """
        int s = in[i];
        while (s != 5) { k += atomicAdd(&left[s], 1); s = in[s]; }""",
    "a bound from before": """
        const int m = atomicAdd(&left[i], 1);
        #pragma unroll 1
        for (int j = 0; j < m; ++j) k += in[32 + j];""",
    "a volatile store": "while (in[k] != 4) { ((volatile int*)out)[i] = k; ++k; }",
    "a value of memory": """
        __shared__ int s[32];
        do s[i] = atomicAdd(&left[i], 1); while (s[i ^ ++k & 31] != 9);""",
    "a vote": "while (__any_sync(~0u, atomicAdd(&left[i], 1) != n)) ++k;",
    "a sum of the warp": "do k += __reduce_add_sync(~0u, atomicAdd(&left[i], 1)); while (k < n);",
    "a sleep": "while (atomicAdd(&left[i], 1) != n) { ++k; __nanosleep(10); }",
    "the clock": "const long long s = clock64(); while (clock64() - s < in[i]) ++k;",
    "no loop": "if (atomicAdd(&left[i], 1) == 5) k = 3;",
}
FORMS = WAITING | PLAIN


@cache
def loops() -> dict[str, tuple[int, int]]:
    """Return for each form the loops of the rule, and the YIELD of the machine code."""
    kernels = "".join(
        f'extern "C" __global__ void k{number}({PARAMETERS})\n'
        f"{{ int i = threadIdx.x, k = 0; {body}\nout[i] = k; }}\n"
        for number, body in enumerate(FORMS.values())
    )
    compiled = compiler.compile_source(FUNCTIONS + kernels)
    sections = listing.sections(assembly.sass(compiled) or "")
    module = Module(compiled.ptx)
    return {
        form: (
            len(yielding_loops(module.body(f"k{number}"))),
            sum(one.root == "YIELD" for one in sections[f"k{number}"].instructions),
        )
        for number, form in enumerate(FORMS)
    }


@pytest.mark.skipif(toolkit.program("nvdisasm") is None, reason="nvdisasm is not installed")
@pytest.mark.parametrize("form", FORMS)
def test_the_rule_finds_the_loops_of_the_machine_code(form):
    rule, machine_code = loops()[form]
    assert rule == machine_code
    assert (machine_code > 0) == (form in WAITING)
