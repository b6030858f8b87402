"""The causes that findings name in kernels of known patterns."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import simulator


def found(body: str, *arguments, parameters: str, block: int = 64, **more) -> tuple:
    source = f'extern "C" __global__ void k({parameters}) {{\nint t = threadIdx.x;\n{body}\n}}'
    return simulator.check(source, "k", *arguments, grid=(1,), block=(block,), **more)


def test_two_arguments_of_one_memory_are_named():
    x = np.ones(64, np.float32)
    body = "if (t > 0) y[t] = x[t - 1] + x[t];"
    (finding,) = found(body, x, x, parameters="float* y, const float* x")
    assert finding.kind == "race"
    assert "x and y are the same memory in this launch" in finding.cause
    assert found(body, np.ones_like(x), x, parameters="float* y, const float* x") == ()


@pytest.mark.parametrize("threads", [64, 48])
def test_an_instruction_of_the_whole_warp_names_the_block(threads):
    source = (
        "#include <mma.h>\nusing namespace nvcuda;\n"
        'extern "C" __global__ void k(float* c) {\n'
        "wmma::fragment<wmma::accumulator, 16, 16, 16, float> f; wmma::fill_fragment(f, 1.0f);\n"
        "wmma::store_matrix_sync(c + threadIdx.x / 32 * 256, f, 16, wmma::mem_row_major); }"
    )
    findings = simulator.check(source, "k", np.zeros(512, np.float32), grid=(1,), block=(threads,))
    if threads == 64:
        assert findings == ()
    else:
        assert "the block (48 threads here) not made of whole warps" in findings[0].cause


# An exchange whose barrier is in its branch: a race between two turns of a loop.
EXCHANGE = (
    "if ((t ^ j) > t) {\nint a = s[t], b = s[t ^ j];\n"
    "if (a > b) { s[t] = b; s[t ^ j] = a; }\n__syncthreads();\n}\n"
)
TURN = f"{{\n{EXCHANGE}}}\n"
TURNS = f"for (int j = 32; j > 0; j /= 2) {TURN}"
# A function before the kernel, and what stands between its first store and its end.
LOOPS = {
    "a loop": ("", TURNS),
    "a loop in a loop": ("", f"for (int k = 2; k <= 64; k *= 2)\n{TURNS}"),
    "while": ("", f"int j = 32;\nwhile (j > 0) {{\n{EXCHANGE}j /= 2;\n}}\n"),
    "do": ("", f"int j = 32;\ndo {{\n{EXCHANGE}j /= 2;\n}} while (j > 0);\n"),
    "goto": ("", f"int j = 32;\nagain:\n{EXCHANGE}j /= 2;\nif (j > 0) goto again;\n"),
    "not unrolled": ("", f"#pragma unroll 1\n{TURNS}"),
    "unrolled": ("", f"#pragma unroll\n{TURNS}"),
    "a far barrier": ("", TURNS.replace("__sync", "// far\n" * 9 + "__sync")),
    "a function with a loop": (
        f"__noinline__ __device__ void sort(int* s, int t) {{\n{TURNS}}}\n", "sort(s, t);\n"
    ),
    "a function in a loop": (
        f"__device__ void exchange(int* s, int t, int j) {TURN}",
        "for (int j = 32; j > 0; j /= 2) exchange(s, t, j);\n",
    ),
    "a line": (
        "",
        "for (int j = 0; j < 4; ++j)\nif (t % 2 == j % 2 && t < 63) {\ns[t] += s[t + 1];\n"
        "__syncthreads();\n}\n",
    ),
}
# Lines that race in one turn, or without a loop, before a barrier in a branch that they need not.
LATE = "if (t < 32)\n__syncthreads();\n"
STRAIGHT = {
    "no loop": ("", f"x[t] = s[63 - t];\n{LATE}"),
    "a line": ("", f"__syncthreads();\nif (t < 63) s[t] += s[t + 1];\n{LATE}"),
    "a line that no barrier can mend": ("", f"__syncthreads();\ns[0] += x[t];\n{LATE}"),
    "behind a loop": (
        "",
        "for (int k = 0; k < 3; ++k) {\n__syncthreads();\ns[t] = x[t] + k;\nx[t] = s[63 - t];\n"
        f"__syncthreads();\n}}\n{LATE}",
    ),
    "behind the loop's own barrier": (
        "",
        "for (int k = 0; k < 3; ++k) {\ns[t] = x[t] + k;\nx[t] = s[63 - t];\n__syncthreads();\n"
        "if (k == 2 && t < 32)\n__syncthreads();\n}\n",
    ),
    "a function": (f"__device__ void late(int t) {{\n{LATE}}}\n", "x[t] = s[63 - t];\nlate(t);\n"),
}


def found_around(function: str, body: str) -> tuple:
    source = (
        f'{function}extern "C" __global__ void k(int* x) {{\n__shared__ int s[64];\n'
        f"int t = threadIdx.x;\ns[t] = x[t];\n{body}x[t] = s[t];\n}}"
    )
    x = np.arange(64, 0, -1).astype(np.int32)
    return simulator.check(source, "k", x, grid=(1,), block=(64,))


@pytest.mark.parametrize("name", LOOPS)
def test_a_barrier_in_the_branch_of_a_loop_is_one_finding(name):
    function, body = LOOPS[name]
    (finding,) = found_around(function, f"__syncthreads();\n{body}")
    assert (finding.kind, finding.severity) == ("barrier", "error")
    assert "race" in finding.cause


@pytest.mark.parametrize("name", STRAIGHT)
def test_a_race_before_a_barrier_in_a_branch_has_its_own_cause(name):
    barrier, *races = found_around(*STRAIGHT[name])
    assert (barrier.kind, barrier.severity) == ("barrier", "warning")
    assert races and {race.kind for race in races} == {"race"}


@pytest.mark.parametrize(
    ("body", "shared", "said"),
    [
        (
            "double* d = (double*)(s + t / 64 * 0 + 1); d[t] = 1; x[t] = 1;",
            640,
            "widest elements first",
        ),
        ("((int4*)(x + 1))[t] = make_int4(1, 2, 3, 4);", 4, "A vector of 16 bytes"),
    ],
)
def test_a_misaligned_access_names_what_must_be_aligned(body, shared, said):
    findings = found(
        f"extern __shared__ int s[];\ns[0] = 0;\n{body}", np.zeros(512, np.int32),
        parameters="int* x", shared=shared,
    )  # fmt: skip
    assert findings[0].kind == "misaligned" and said in findings[0].cause


def test_a_line_that_exchanges_elements_needs_a_barrier():
    body = (
        "__shared__ int s[128];\ns[2 * t] = s[2 * t + 1] = x[t];\nint off = 128;\n"
        "for (int d = 1; d < 128; d *= 2) { off /= 2;\n"
        "if (t < d) { int a = off * (2 * t + 1) - 1, b = off * (2 * t + 2) - 1, k = s[a]; "
        "s[a] = s[b]; s[b] += k; } }\n__syncthreads();\nx[t] = s[t];"
    )
    findings = found(body, np.ones(64, np.int32), parameters="int* x")
    assert {finding.kind for finding in findings} == {"race"}
    assert all("atomic" not in finding.cause for finding in findings)


def test_an_array_left_unset_for_two_lines_is_one_finding():
    body = (
        "__shared__ int h[64];\nif (t < 32) h[t] = 0;\n__syncthreads();\n"
        "atomicAdd(&h[x[t]], 1);\n__syncthreads();\nx[t] = h[t];"
    )
    x = (np.arange(64) % 40).astype(np.int32)
    (finding,) = found(body, x, parameters="int* x")
    assert finding.kind == "uninitialised" and "The same holds for line" in finding.cause


def test_an_index_past_an_array_is_no_race_for_that_array():
    body = (
        "__shared__ int h[2][64];\nint w = t / 32;\nh[w][t % 32] = h[w][t % 32 + 32] = 0;\n"
        "__syncwarp();\natomicAdd(&h[w][x[t]], 1);\n__syncthreads();\nx[t] = h[0][t] + h[1][t];"
    )
    x = np.arange(64, dtype=np.int32)
    assert found(body, x.copy(), parameters="int* x") == ()
    findings = found(body, 2 * x, parameters="int* x")
    assert findings[0].kind == "out-of-bounds"
    assert "The index comes from x[t]" in findings[0].cause


@pytest.mark.parametrize("kind", ["int", "volatile int"])
def test_a_loop_that_waits_by_a_plain_load_is_named(kind):
    source = (
        f'extern "C" __global__ void k({kind}* flag, {kind}* value, int* out) {{\n'
        "if (blockIdx.x == 0) { *value = 42; __threadfence(); *flag = 1; }\n"
        "else { while (*flag == 0) { }\n__threadfence(); out[blockIdx.x] = *value; } }"
    )
    zero = [np.zeros(1, np.int32) for _ in range(2)]
    findings = simulator.check(source, "k", *zero, np.zeros(3, np.int32), grid=(3,), block=(1,))
    if kind == "volatile int":
        assert findings == ()
    else:
        (finding,) = findings
        assert "waits for another block by flag, which is not volatile" in finding.cause
