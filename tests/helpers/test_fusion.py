"""The fused product of matrices: its loop in machine code, what it measures, what is said of it."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import simulator
from helpers.experiments import fusion_loops
from helpers.experiments.fusion_loops import FAST, FUSED
from helpers.experiments.im2col_gemm import TILE
from tests.simulator.instances import Kernels

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


def loop(body: str) -> fusion_loops.Loop:
    arrays = np.zeros(32, np.float32), np.ones(64, np.float32)
    sizes = np.int32(8), np.int32(3)
    seen = simulator.profile(*CODES.of(body), *arrays, *sizes, grid=(1,), block=(32,))
    return fusion_loops.loop_of(seen)


def test_a_loop_has_its_own_instructions_only():
    found = loop(ALONE)
    assert (found.multiply_adds, found.reciprocals) == (1, 0)


def test_a_division_by_a_variable_shows_as_a_reciprocal():
    by_variable, by_constant = loop(BY_VARIABLE), loop(BY_CONSTANT)
    assert (by_variable.reciprocals, by_constant.reciprocals) == (1, 0)
    assert by_variable.instructions > by_constant.instructions


def test_code_without_a_loop_is_refused():
    with pytest.raises(ValueError, match="no loop"):
        loop(STRAIGHT)


def test_the_divisions_of_the_sources():
    assert [fusion_loops.operators(kernel) for kernel in ("gemm_tiled", FUSED, FAST)] == [0, 6, 4]


def test_the_fused_loops_have_sixteen_multiply_adds():
    loops = fusion_loops.loops()
    assert {loop.multiply_adds for loop in loops.values()} == {TILE}
    assert loops[FUSED].reciprocals == 3
    assert loops[FAST].reciprocals == loops["gemm_tiled"].reciprocals == 0
