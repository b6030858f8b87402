"""The fused product of matrices: its loop in machine code, what it measures, what is said of it."""

from __future__ import annotations

import pytest

from helpers import bench
from helpers.bench import sass
from helpers.experiments import im2col_gemm
from tests.simulator.instances import Kernels

FUSED, FAST = "conv2d_implicit_gemm", "conv2d_implicit_gemm_fast"
ALONE = (
    "float sum = 0.0f;\n#pragma unroll 1\n"
    "for (int i = 0; i < n; ++i) sum = sum * x[i] + x[i + 1];\n"
    "y[threadIdx.x] = sum * x[n] + x[d];"
)
BY_VARIABLE, BY_CONSTANT = (
    "float sum = 0.0f;\n#pragma unroll 1\n"
    f"for (int i = 0; i < n; ++i) sum = sum * x[n / {divisor}] + x[i + 1];\n"
    "y[threadIdx.x] = sum;"
    for divisor in ("(d + i)", "3")
)
STRAIGHT = "y[threadIdx.x] = x[n] * x[d] + 1.0f;"
# One source: each other one would start the disassembler again.
CODES = Kernels(
    (ALONE, BY_VARIABLE, BY_CONSTANT, STRAIGHT), "float* y, const float* x, int n, int d"
)


def loop(body: str) -> sass.Code:
    source, name = CODES.of(body)
    return sass.assembled(name, source=source).main_loop


def reciprocals(code: sass.Code) -> int:
    return code.opcodes.get("MUFU.RCP", 0)


def test_a_loop_has_its_own_instructions_only():
    found = loop(ALONE)
    assert (found.count("multiply-adds"), reciprocals(found)) == (1, 0)


def test_a_division_by_a_variable_shows_as_a_reciprocal():
    by_variable, by_constant = loop(BY_VARIABLE), loop(BY_CONSTANT)
    assert (reciprocals(by_variable), reciprocals(by_constant)) == (1, 0)
    assert by_variable.total > by_constant.total


def test_code_without_a_loop_is_refused():
    with pytest.raises(ValueError, match="no loop"):
        loop(STRAIGHT)


def test_the_divisions_of_the_sources():
    assert [im2col_gemm.divisions(one) for one in ("gemm_tiled", FUSED, FAST)] == [0, 6, 4]


def test_the_fused_loops_have_sixteen_multiply_adds():
    layer = bench.layer("layer 1")
    loops = {name: sass.code(layer, name).main_loop for name in ("im2col_gemm", FUSED, FAST)}
    assert {loop.count("multiply-adds") for loop in loops.values()} == {im2col_gemm.TILE}
    assert reciprocals(loops[FUSED]) == 3
    assert reciprocals(loops[FAST]) == reciprocals(loops["im2col_gemm"]) == 0
