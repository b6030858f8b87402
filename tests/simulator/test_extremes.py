"""Remarks on atomics that can never change what they start from."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import simulator

UNSIGNED, SIGNED = np.uint32, np.int32


def remarks(body, x, more=""):
    source = f"""{more}
    __global__ void f({"unsigned" if x.dtype == UNSIGNED else "int"} *x) {{ {body} }}"""
    profile = simulator.profile(source, "f", x, grid=(1,), block=(32,))
    assert not profile.findings
    return " ".join(profile.remarks)


@pytest.mark.parametrize(
    ("body", "values", "says"),
    [
        ("atomicMin(x, threadIdx.x + 5);", np.zeros(1, UNSIGNED),
         "atomicMin in line 2 cannot change x, which holds 0, the smallest of its type."),
        ("atomicMin(&x[threadIdx.x % 4], 3);", np.full(4, -(2**31), SIGNED),
         "x, which holds -2147483648 in all 4 elements, the smallest"),
        ("atomicMax(x, threadIdx.x);", np.full(1, 2**32 - 1, UNSIGNED), "holds 4294967295, the la"),
        ("atomicAnd(x, threadIdx.x < 32);", np.zeros(1, SIGNED), "atomicAnd in line 2 cannot"),
        ("atomicOr(x, 1 << threadIdx.x);", np.full(1, -1, SIGNED), "atomicOr in line 2 cannot"),
        ("atomicMin(x, threadIdx.x + 5);", np.zeros(1, SIGNED), ""),
        ("atomicMax(x, threadIdx.x);", np.zeros(1, UNSIGNED), ""),
        ("atomicMin(&x[threadIdx.x % 4], 3);", np.arange(4, dtype=UNSIGNED), ""),
        ("if (threadIdx.x == 0) *x = 9; __syncthreads(); atomicMin(x, threadIdx.x + 5);",
         np.zeros(1, UNSIGNED), ""),
        ("atomicAdd(x, 0); atomicMin(x, 1);", np.zeros(1, UNSIGNED), ""),
        ("atomicAdd(x, 1);", np.zeros(1, UNSIGNED), ""),
        ("__shared__ unsigned s; if (threadIdx.x == 0) s = 0; __syncthreads(); "
         "atomicMin(&s, 3u); __syncthreads(); x[threadIdx.x] = s;", np.ones(32, UNSIGNED), ""),
    ],
)  # fmt: skip
def test_an_atomic_that_cannot_change_anything_is_told(body, values, says):
    told = remarks(body, values)
    assert says in told and bool(says) == bool(told)


def test_a_variable_of_the_module_starts_as_zero():
    told = remarks("atomicMin(&lowest, x[threadIdx.x]);", np.ones(32, UNSIGNED),
                   "__device__ unsigned lowest;")  # fmt: skip
    assert "atomicMin in line 2 cannot change lowest, which holds 0" in told
