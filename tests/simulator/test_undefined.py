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
