"""The causes that findings name in kernels of known patterns, most of them of the corpus."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers import simulator
from helpers.launch import simulate
from helpers.tools import corpus

FAULTY = Path(__file__).resolve().parent / "corpus" / "faulty"
# The finding's words in the one finding of a kernel.
CAUSES = {
    "carved_arrays_overlap": "stage and square lie in the block's dynamic shared memory",
    "copy_overtakes_readers": "let all threads meet at a __syncthreads() before the copy begins",
    "fragment_rows_too_far_apart": "is the distance of two rows",
    "sum_announced_before_it_is_stored": "Line 30 tells other blocks that the value is there",
    "lock_freed_by_plain_store": "a __threadfence() is missing",
    "work_item_replaced_too_early": "not all of them come to the barrier in line 15",
    "zeros_read_before_they_are_counted": "a __syncthreads() is missing between the two lines",
    "base_from_a_lane_that_is_not_there": "takes no part in this shuffle",
    "mbarrier_counts_too_many_threads": "for 96 arrivals",
    "gather_index_minus_one": "The index comes from",
    "histogram_value_past_last_bin": "The index comes from",
}


@pytest.mark.parametrize("name", CAUSES)
def test_a_faulty_pattern_has_one_finding_with_its_cause(name):
    case = corpus.read(FAULTY / f"{name}.cu")
    written = [argument.name for argument in case.of_role("out")]
    (seen,) = simulate(case.plan(int), case.arrays(), simulator.profile, outputs=written)
    (finding,) = seen.findings
    assert CAUSES[name] in f"{finding.message}; {finding.cause}"


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


def test_a_barrier_in_the_branch_of_a_loop_is_one_finding():
    body = (
        "__shared__ int s[64];\ns[t] = x[t];\n__syncthreads();\n"
        "for (int j = 32; j > 0; j /= 2)\nif ((t ^ j) > t) {\nint a = s[t], b = s[t ^ j];\n"
        "if (a > b) { s[t] = b; s[t ^ j] = a; }\n__syncthreads();\n}\nx[t] = s[t];"
    )
    findings = found(body, np.arange(64, 0, -1).astype(np.int32), parameters="int* x")
    assert [finding.kind for finding in findings] == ["barrier"]
    assert findings[0].severity == "error"


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
