"""The tape: steps, variables, accesses and the origin of values of recorded launches."""

from __future__ import annotations

import numpy as np

from helpers import simulator

CONVOLUTION = """
__global__ void conv1d(float* P, const float* N, const float* filter, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0;
        for (int k = -1; k <= 1; ++k) {
            if (i + k >= 0 && i + k < n)
                sum += N[i + k] * filter[k + 1];
        }
        P[i] = sum;
    }
}
"""


def convolution(source: str = CONVOLUTION, n: int = 6, **more):
    arrays = np.full(n, np.nan, np.float32), np.arange(1, n + 1, dtype=np.float32)
    weights = np.array([1, 2, 4], np.float32)
    return simulator.record(
        source, "conv1d", *arrays, weights, np.int32(n), grid=(2,), block=(4,), **more
    )


def test_a_tape_has_the_steps_of_a_thread_with_its_variables():
    tape = convolution()
    steps = tape.thread((0, 0, 0), (2, 0, 0))
    assert [s.line for s in steps[:4]] == [3, 4, 5, 6]
    assert all(s.variables["i"] == 2 for s in steps)
    in_loop = [s for s in steps if s.line == 8]
    assert [s.variables["k"] for s in in_loop] == [-1, 0, 1]
    assert [float(s.before["sum"]) for s in in_loop] == [0, 2, 8]
    assert [float(s.variables["sum"]) for s in in_loop] == [2, 8, 24]
    assert [(a.array, a.index, a.is_store, float(a.value)) for a in in_loop[0].accesses] == [
        ("N", 1, False, 2.0),
        ("filter", 0, False, 1.0),
    ]
    (store,) = [a for s in steps for a in s.accesses if a.is_store]
    assert (store.array, store.index, store.line, float(store.value)) == ("P", 2, 10, 24.0)


def test_a_cell_has_its_writers_and_its_terms():
    tape = convolution()
    cell = tape.cell("P", 0)
    assert cell.terms == ["N[0]*filter[1]", "N[1]*filter[2]"]
    assert str(cell) == "P[0] = N[0]*filter[1] + N[1]*filter[2]"
    assert cell.writers == [((0, 0, 0), (0, 0, 0), 10)]
    for k, value in enumerate(tape.outputs["P"]):
        assert tape.cell("P", k).formula.evaluate(tape.inputs) == value


def test_arguments_stay_unchanged():
    result = np.full(4, np.nan, np.float32)
    source = "__global__ void k(float* y) { y[threadIdx.x] = 1; }"
    tape = simulator.record(source, "k", result, grid=(1,), block=(4,))
    assert np.isnan(result).all()
    assert tape.outputs["y"].tolist() == [1] * 4
