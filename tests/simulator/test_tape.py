"""The tape: steps, variables, accesses, the origin of values, and launches that run otherwise."""

from __future__ import annotations

import math

import numpy as np
import pytest
import random_variables

from helpers import simulator
from helpers.simulator.explain import (
    NotRecorded,
    Place,
    Redirect,
    Replace,
    Schedule,
    Turn,
    Wait,
)
from helpers.simulator.explain.formulas import Formula, Function, Scalar

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
NO_LEFT = CONVOLUTION.replace("i + k >= 0", "i + k > 0")
DEAL = """
__global__ void deal(float* y, const float* x) {
    __shared__ float cells[64];
    int t = threadIdx.x;
    cells[t] = x[t];

    y[t] = cells[(t + 33) % 64];
}
"""
NAN = np.float32(np.nan)


def wholes(count: int, dtype=np.float32) -> np.ndarray:
    return (np.arange(count) % 11 + 1).astype(dtype)


def convolution(source: str = CONVOLUTION, n: int = 6, **more):
    arrays = np.full(n, NAN), np.arange(1, n + 1, dtype=np.float32)
    weights = np.array([1, 2, 4], np.float32)
    return simulator.record(
        source, "conv1d", *arrays, weights, np.int32(n), grid=(2,), block=(4,), **more
    )


def deal(source: str = DEAL, **more):
    return simulator.record(
        source, "deal", np.full(64, NAN), wholes(64), grid=(1,), block=(64,), **more
    )


# ---- steps, variables, accesses


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
    assert isinstance(steps[0].variables["i"], np.int32)
    assert str(steps[0].variables["N"]) == "N"


def test_the_decisions_of_a_step_are_those_of_its_condition():
    steps = convolution().thread((0, 0, 0), (0, 0, 0))
    first = next(s for s in steps if s.line == 7)
    assert first.before["k"] == -1
    assert not first.decisions[-1].is_true
    assert [s.decisions[-1].is_true for s in steps if s.line == 7] == [False, True, True]


STRUCTURES = """
struct Body { float mass; int id; float at[2]; };
__device__ __noinline__ float moved(Body& body, float by) {
    float half = by / 2;
    body.at[1] += half;
    return body.at[1];
}
__global__ void k(float* y, const float* x) {
    Body body;
    body.mass = x[threadIdx.x];
    body.id = threadIdx.x;
    body.at[0] = 1;
    body.at[1] = 2;
    int cells[2][3];
    cells[1][2] = 7;
    y[threadIdx.x] = moved(body, 4) * body.mass;
}
"""


def test_structures_arrays_and_called_functions_have_their_names():
    y = np.full(4, NAN)
    tape = simulator.record(STRUCTURES, "k", y, wholes(4), grid=(1,), block=(4,))
    steps = tape.thread((0, 0, 0), (3, 0, 0))
    inside = [s for s in steps if s.function == "moved"]
    assert [s.line for s in inside] == [4, 5, 6]
    assert {s.depth for s in inside} == {1}
    assert inside[1].variables["half"] == 2
    assert inside[1].variables["body.at"].tolist() == [1, 4]
    last = steps[-1].variables
    assert last["body"].mass == last["body.mass"] == 4
    assert last["body.id"] == 3
    assert last["cells"].mask.tolist() == [[True] * 3, [True, True, False]]
    assert last["cells"][1, 2] == 7
    stores = [(a.array, a.index) for s in steps for a in s.accesses if a.space == "local"]
    assert ("cells", (1, 2)) in stores
    assert ("body.at", 1) in stores


def test_a_variable_keeps_its_value_where_the_compiler_lists_no_place_for_it():
    """The compiler's list of the places of t ends inside one side of the choice."""
    source = """
__global__ void k(int* y, const int* x) {
    int t = threadIdx.x;
    int v = (x[t] > 5 ? t : x[t]) + 7;
    v += t;
    y[t] = v;
}
"""
    x = np.array([9, 1, 9, 1], np.int32)
    tape = simulator.record(source, "k", np.zeros(4, np.int32), x, grid=(1,), block=(4,))
    for thread in range(4):
        steps = tape.thread((0, 0, 0), (thread, 0, 0))
        assert [int(s.variables["t"]) for s in steps if s.line > 2] == [thread] * (len(steps))


def test_shared_arrays_of_two_axes_have_two_indices():
    source = """
__global__ void k(float* y, const float* x, int w) {
    __shared__ float tile[2][4];
    tile[threadIdx.y][threadIdx.x] = x[threadIdx.y * w + threadIdx.x];
    __syncthreads();
    y[threadIdx.y * w + threadIdx.x] = tile[1 - threadIdx.y][threadIdx.x];
}
"""
    tape = simulator.record(
        source, "k", np.full((2, 4), NAN), wholes(8).reshape(2, 4), np.int32(4),
        grid=(1,), block=(4, 2),
    )  # fmt: skip
    steps = tape.thread((0, 0, 0), (3, 1, 0))
    shared = [(a.index, a.is_store) for s in steps for a in s.accesses if a.array == "tile"]
    assert shared == [((1, 3), True), ((0, 3), False)]
    assert [s.line for s in steps if s.is_barrier] == [5]
    assert str(tape.cell("y", (1, 3))) == "y[7] = x[3]"
    assert str(tape.cell("tile", (0, 2))) == "tile[0][2] = x[2]"


# ---- where values come from


def test_a_cell_has_its_writers_and_its_terms():
    tape = convolution()
    cell = tape.cell("P", 0)
    assert cell.terms == ["N[0]*filter[1]", "N[1]*filter[2]"]
    assert str(cell) == "P[0] = N[0]*filter[1] + N[1]*filter[2]"
    assert cell.writers == [((0, 0, 0), (0, 0, 0), 10)]
    ((block, thread, line),) = cell.writers
    assert (block, thread, line) == ((0, 0, 0), (0, 0, 0), 10)


REDUCTION = """
__global__ void k(float* y, const float* x) {
    __shared__ float part[64];
    int t = threadIdx.x;
    part[t] = x[blockIdx.x * 64 + t];
    __syncthreads();
    for (int d = 32; d > 0; d /= 2) {
        if (t < d) part[t] += part[t + d];
        __syncthreads();
    }
    if (t == 0) y[blockIdx.x] = part[0];
}
"""
SHUFFLE = """
__global__ void k(float* y, const float* x) {
    float v = x[threadIdx.x];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down_sync(0xffffffff, v, d);
    y[threadIdx.x] = __shfl_sync(0xffffffff, v, 0) - x[threadIdx.x];
}
"""
ATOMICS = """
__global__ void k(int* counts, float* sum, int* most, const int* x) {
    int i = threadIdx.x;
    atomicAdd(&counts[x[i] % 4], 1);
    atomicAdd(sum, (float)x[i]);
    atomicMax(most, x[i]);
    int at = atomicAdd(&counts[4], 2);
    counts[5 + at / 2] = i;
}
"""
HALVES = """
#include <cuda_fp16.h>
__global__ void k(__half* y, const __half* a, const __half* b) {
    int i = threadIdx.x;
    __half v = __hmul(a[i], b[i]) + a[i];
    y[i] = __float2half(__half2float(v) + 1.0f);
    if (i < 4) {
        __half2 pair = reinterpret_cast<const __half2*>(a)[i];
        reinterpret_cast<__half2*>(y + 16)[i] = __hadd2(pair, pair);
    }
}
"""
FUNCTIONS = """
__global__ void k(float* y, const float* x, float a) {
    int i = threadIdx.x;
    float e = expf(x[i] * .1f) + sqrtf(x[i]) + x[i] / 3.f + powf(x[i], 1.5f);
    y[i] = fmaxf(e, a * x[i]) + fabsf(-x[i]) + roundf(x[i] * .7f);
}
"""
CASTS = """
__global__ void k(int* y, const float* x, const unsigned char* c, double* d) {
    int i = threadIdx.x;
    y[i] = (int)x[i] + c[i] * 2;
    d[i] = x[i] * 0.5 + c[i];
    y[16 + i] = (unsigned char)(c[i] + 250) + (short)x[i] + ((c[i] * 7) & 12) % 5;
}
"""
VECTORS = """
__global__ void k(float4* y, const float4* x, float a) {
    float4 v = x[threadIdx.x];
    v.x *= a;
    v.w += v.y;
    y[threadIdx.x] = v;
}
"""
COPIES = """
#include <cuda_pipeline.h>
__global__ void k(float* y, const float* x) {
    __shared__ float s[16];
    __pipeline_memcpy_async(&s[threadIdx.x], &x[threadIdx.x], 4);
    __pipeline_commit();
    __pipeline_wait_prior(0);
    __syncthreads();
    y[threadIdx.x] = s[15 - threadIdx.x];
}
"""
MATRICES = """
#include <mma.h>
using namespace nvcuda;
__global__ void k(float* c, const half* a, const half* b) {
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.f);
    wmma::load_matrix_sync(left, a, 16);
    wmma::load_matrix_sync(right, b, 16);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}
"""
SWITCH = """
__global__ void k(int* y, const int* x, int n) {
    int i = threadIdx.x, r;
    switch (x[i] % 5) {
        case 0: r = x[i]; break;
        case 1: r = x[i] * 2;
        case 2: r = -1; break;
        case 3: r = x[i] / 3; break;
        default: r = x[i] & 6;
    }
    while (r > 10) r -= 3;
    y[i] = r > n ? r : r + x[0];
}
"""
BULK_COPIES = """
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__global__ void k(float* y, const float* x) {
    __shared__ alignas(16) float tile[64], out[64];
    __shared__ unsigned long long full;
    int t = threadIdx.x;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at(&full)) : "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;"
                     :: "r"(at(&full)) : "memory");
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                     "[%0], [%1], 256, [%2];"
                     :: "r"(at(tile)), "l"(x), "r"(at(&full)) : "memory");
    }
    __syncthreads();
    asm volatile("{.reg .pred over; again: "
                 "mbarrier.try_wait.parity.shared::cta.b64 over, [%0], 0; @!over bra again; }"
                 :: "r"(at(&full)) : "memory");
    out[t] = tile[t] * 2 + tile[63 - t];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (t == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;"
                     :: "l"(y), "r"(at(out)) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }
}
"""
BY_ADDRESS = """
struct Pair { float u; int v[3]; };
__device__ float add(Pair p, float b) { p.v[1] += 1; return p.u + b * p.v[1]; }
__device__ float mul(Pair p, float b) { return p.u * b + p.v[2]; }
struct Shape { float w; __device__ virtual float area() const = 0; };
struct Square : Shape { __device__ float area() const { return w * w; } };
struct Twice : Shape { __device__ float area() const { return 2 * w; } };
__device__ float down(float x, int n, void* me) {
    return n ? x + ((float (*)(float, int, void*))me)(x, n - 1, me) : 1;
}
__global__ void k(float* y, const float* x) {
    int i = threadIdx.x;
    Pair p = {x[i], {1, 2, 3}};
    Square square;
    Twice twice;
    square.w = twice.w = x[i];
    Shape* shape = i % 2 ? (Shape*)&square : (Shape*)&twice;
    float* heap = (float*)malloc(16);
    heap[1] = (i % 2 ? mul : add)(p, x[i + 1]) + shape->area();
    y[i] = heap[1] + down(x[i], 2, (void*)down);
    free(heap);
}
"""
HALF = np.float16
# name -> source, arguments, grid, block, and a cell with what it must say
FOLLOWED = {
    "shared memory": (
        REDUCTION, [np.full(2, NAN), wholes(128)], 2, 64, ("y", 1, ["x[64]", "x[65]"])
    ),
    "shuffles": (SHUFFLE, [np.full(32, NAN), wholes(32)], 1, 32, ("y", 1, ["x[0]", "x[2]"])),
    "atomics": (
        ATOMICS,
        [np.zeros(64, np.int32), np.zeros(1, np.float32), np.zeros(1, np.int32),
         wholes(40, np.int32)],
        1, 40, ("sum", 0, ["sum[0]", "x[0]"]),
    ),
    "halves": (HALVES, [np.full(24, np.nan, HALF), wholes(16, HALF), np.ones(16, HALF)], 1, 16,
               ("y", 2, ["a[2]", "a[2]*b[2]", "1"])),
    "functions of the library": (
        FUNCTIONS, [np.full(16, NAN), wholes(16), np.float32(3)], 1, 16, ("y", 0, ["abs(-x[0])"])
    ),
    "casts": (
        CASTS,
        [np.zeros(32, np.int32), wholes(16) * np.float32(0.7), wholes(16, np.uint8) * 3,
         np.full(16, np.nan)],
        1, 16, ("y", 1, ["2*c[1]", "int(x[1])"]),
    ),
    "vectors": (
        VECTORS, [np.full(16, NAN), wholes(16), np.float32(3)], 1, 4, ("y", 7, ["x[1].w", "x[1].y"])
    ),
    "asynchronous copies": (COPIES, [np.full(16, NAN), wholes(16)], 1, 16, ("y", 2, ["x[13]"])),
    "bulk copies": (
        BULK_COPIES, [np.full(64, NAN), wholes(64)], 1, 64, ("y", 3, ["2*x[3]", "x[60]"])
    ),
    "functions by their addresses": (
        BY_ADDRESS, [np.full(8, NAN), wholes(9)], 1, 8, ("y", 1, ["x[1]*x[1]", "x[1]*x[2]", "4"])
    ),
    "matrices": (
        MATRICES, [np.full(256, NAN), wholes(256, HALF), wholes(256, HALF)], 1, 32,
        ("c", 17, ["a[16]*b[16]", "a[17]*b[17]"]),
    ),
    "a switch": (
        SWITCH, [np.zeros(16, np.int32), wholes(16, np.int32), np.int32(4)], 1, 16,
        ("y", 1, ["x[0]", "-1"]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLLOWED)
def test_the_formula_of_each_cell_has_the_value_of_the_cell(name):
    source, arguments, grid, block, (array, index, terms) = FOLLOWED[name]
    tape = simulator.record(source, "k", *arguments, grid=(grid,), block=(block,))
    assert set(terms) <= set(tape.cell(array, index).terms)
    for output, values in tape.outputs.items():
        for k, value in enumerate(values.tolist()):
            formula = tape.cell(output, k).formula
            assert "elsewhere" not in str(formula)
            got = formula.evaluate(tape.inputs)
            is_near = math.isnan(got) and math.isnan(value)
            assert is_near or abs(got - value) <= 1e-3 * max(1, abs(value)), (output, k, formula)


@pytest.mark.parametrize("seed", range(4))
def test_variables_are_what_printf_prints_and_formulas_what_the_cells_hold(seed):
    wrong, variables, cells = random_variables.compare(seed)
    assert wrong == []
    assert variables > 100
    assert cells >= 96


def test_what_has_no_value_and_what_stays_as_it_was_are_told():
    tape = deal()
    assert str(tape.cell("y", 0)) == "y[0] = cells[33] without a value"
    source = "__global__ void k(float* y) { if (threadIdx.x > 0) y[threadIdx.x] = 1; }"
    tape = simulator.record(source, "k", np.full(2, NAN), grid=(1,), block=(2,))
    assert str(tape.cell("y", 0)) == "y[0] is as before the launch"
    assert tape.cell("y", 0).writers == []
    source = """
__global__ void k(float* y, const float* x) {
    float sum;
    for (int k = 0; k < 2; ++k) sum += x[k];
    y[threadIdx.x] = sum;
}
"""
    tape = simulator.record(source, "k", np.full(2, NAN), wholes(2), grid=(1,), block=(2,))
    assert tape.cell("y", 1).terms == ["x[0]", "x[1]", "sum without a value"]


def test_what_is_not_followed_says_so():
    """A reduction by the copy engine changes an array: the record has no formula of it."""
    source = BULK_COPIES.replace("cp.async.bulk.global", "cp.reduce.async.bulk.global").replace(
        "bulk_group [", "bulk_group.add.f32 ["
    )
    arrays = np.ones(64, np.float32), wholes(64)
    tape = simulator.record(source, "k", *arrays, grid=(1,), block=(64,))
    assert str(tape.cell("y", 3)) == "y[3] = y[3] from elsewhere"
    assert tape.cell("y", 3).writers == [((0, 0, 0), (0, 0, 0), 25)]


def test_a_value_that_comes_from_a_block_without_a_record_is_not_explained():
    source = """
__global__ void k(float* y, const float* x) {
    if (blockIdx.x == 0) y[threadIdx.x] = x[threadIdx.x];
    else y[4 + threadIdx.x] = 2 * y[threadIdx.x];
}
"""
    y = np.zeros(8, np.float32)
    more = {"grid": (2,), "block": (4,)}
    tape = simulator.record(source, "k", y, wholes(4), **more)
    assert str(tape.cell("y", 5)) == "y[5] = 2*x[1]"
    tape = simulator.record(source, "k", y, wholes(4), blocks=[(1, 0, 0)], **more)
    assert str(tape.cell("y", 5)) == "y[5] = 2*y[1] from elsewhere"
    with pytest.raises(NotRecorded, match="was not recorded"):
        tape.thread((0, 0, 0), (0, 0, 0))


def test_formulas_are_equal_whatever_the_order_of_the_sum():
    other = CONVOLUTION.replace(
        "sum += N[i + k] * filter[k + 1];", "sum = filter[k + 1] * N[i + k] + sum;"
    ).replace("int k = -1; k <= 1; ++k", "int k = 1; k >= -1; --k")
    one, two = convolution(), convolution(other)
    for k in range(6):
        assert one.cell("P", k).formula == two.cell("P", k).formula
    assert one.cell("P", 0).formula != convolution(NO_LEFT).cell("P", 0).formula


# ---- refusals and cuts


def test_arguments_stay_unchanged():
    result = np.full(4, NAN)
    source = "__global__ void k(float* y) { y[threadIdx.x] = 1; }"
    tape = simulator.record(source, "k", result, grid=(1,), block=(4,))
    assert np.isnan(result).all()
    assert tape.outputs["y"].tolist() == [1] * 4


def test_too_large_a_launch_is_refused_and_one_block_of_it_is_recorded():
    source = "__global__ void k(float* y) { y[blockIdx.x * 256 + threadIdx.x] = 1; }"
    y = np.full(256 * 1024, NAN)
    with pytest.raises(NotRecorded, match="name some of them in blocks"):
        simulator.record(source, "k", y, grid=(1024,), block=(256,))
    tape = simulator.record(source, "k", y, grid=(1024,), block=(256,), blocks=[(7, 0, 0)])
    assert tape.cell("y", 7 * 256).writers == [((7, 0, 0), (0, 0, 0), 1)]


def test_a_record_that_is_cut_ends_with_the_last_store_to_the_cell():
    tape = deal(most_words=900, until=("y", 5))
    assert tape.is_cut
    assert "only the last ones are here" in tape.why_cut
    assert tape.cell("y", 5).writers == [((0, 0, 0), (5, 0, 0), 7)]
    assert not deal().is_cut


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda tape: tape.cell("Q", 0), ValueError, "has no array 'Q': it has P, N, filter"),
        (lambda tape: tape.cell("P", 6), ValueError, r"P\[6\] is not in P, of 6 cells"),
        (lambda tape: tape.thread((2, 0, 0), (0, 0, 0)), ValueError, "not in the launch"),
        (lambda tape: tape.thread("all", (0, 0, 0)), ValueError, "give three numbers"),
    ],
)
def test_what_the_tape_does_not_have_is_an_error(call, error, message):
    with pytest.raises(error, match=message):
        call(convolution())


# ---- launches that run otherwise


def first_decision(tape, line=7):
    steps = tape.thread((0, 0, 0), (1, 0, 0))
    return next((s, s.decisions[-1]) for s in steps if s.line == line)


def test_a_decision_is_turned_round_once_or_wherever_variables_have_these_values():
    tape = convolution(NO_LEFT)
    assert tape.cell("P", 1).terms == ["N[1]*filter[1]", "N[2]*filter[2]"]
    step, decision = first_decision(tape)
    right = ["N[0]*filter[0]", "N[1]*filter[1]", "N[2]*filter[2]"]
    once = convolution(NO_LEFT, changes=[Turn.of(step, decision)])
    assert once.cell("P", 1).terms == right
    assert once.cell("P", 2).formula == tape.cell("P", 2).formula
    assert len(tape.turns(decision, {"k": -1})) == 6
    (every,) = tape.turns(decision, {"k": -1, "i": 2})
    changed = convolution(NO_LEFT, changes=[every])
    assert changed.cell("P", 2).terms == ["N[2]*filter[1]", "N[3]*filter[2]"]
    where = convolution(NO_LEFT, changes=[Turn(Place(decision.pc, where={"i": 1}))])
    assert where.cell("P", 3).formula == tape.cell("P", 3).formula


def test_a_loaded_value_is_replaced_and_an_access_redirected():
    tape = convolution()
    step = next(s for s in tape.thread((0, 0, 0), (1, 0, 0)) if s.line == 8)
    load = step.accesses[0]
    assert tape.outputs["P"][1] == 1 * 1 + 2 * 2 + 3 * 4
    replaced = convolution(changes=[Replace.of(load, np.float32(100))])
    assert replaced.outputs["P"][1] == 100 * 1 + 2 * 2 + 3 * 4
    assert replaced.outputs["P"][2] == tape.outputs["P"][2]
    redirected = convolution(changes=[Redirect.of(load, "N", 5)])
    assert redirected.cell("P", 1).terms == ["N[1]*filter[1]", "N[2]*filter[2]", "N[5]*filter[0]"]
    step = next(s for s in deal().thread((0, 0, 0), (0, 0, 0)) if s.line == 7)
    redirected = deal(changes=[Redirect.of(step.accesses[0], "cells", 3)])
    assert str(redirected.cell("y", 0)) == "y[0] = x[3]"


def test_a_wait_before_a_line_removes_a_race():
    assert {f.kind for f in deal().findings} == {"race"}
    waiting = deal(barriers=[Wait(7)])
    assert waiting.findings == ()
    assert str(waiting.cell("y", 0)) == "y[0] = x[33]"


def test_another_order_of_the_threads_shows_the_other_result_of_a_race():
    first, second = deal(), deal(schedule=Schedule(warp=1))
    assert str(first.cell("y", 40)) == "y[40] = x[9]"
    assert str(second.cell("y", 40)) == "y[40] = cells[9] without a value"
    assert str(second.cell("y", 0)) == "y[0] = x[33]"
    alone = deal(DEAL.replace("(t + 33) % 64", "t / 32 * 32 + (t + 1) % 32"))
    assert str(alone.cell("y", 0)) == "y[0] = x[1]"
    alone = deal(
        DEAL.replace("(t + 33) % 64", "t / 32 * 32 + (t + 1) % 32"),
        schedule=Schedule(warp=0, threads=(0,)),
    )
    assert str(alone.cell("y", 0)) == "y[0] = cells[1] without a value"


def test_one_side_of_a_branch_runs_first():
    source = DEAL.replace(
        "y[t] = cells[(t + 33) % 64];",
        "if (t < 16) y[t] = cells[t + 16]; else { cells[t] = 0; y[t] = 0; }",
    )
    tape = deal(source)
    assert str(tape.cell("y", 0)) == "y[0] = x[16]"
    pc = next(d.pc for s in tape.thread((0, 0, 0), (0, 0, 0)) for d in s.decisions)
    assert str(deal(source, schedule=Schedule(sides=(pc,))).cell("y", 0)) == "y[0] = 0"


def test_blocks_run_in_another_order():
    source = "__global__ void k(int* y) { y[0] = blockIdx.x; }"
    order = ((2, 0, 0), (0, 0, 0), (1, 0, 0))
    tape = simulator.record(
        source, "k", np.zeros(1, np.int32), grid=(3,), block=(1,), schedule=Schedule(blocks=order)
    )
    assert tape.blocks == list(order)
    assert tape.outputs["y"][0] == 1


def test_a_change_that_cannot_be_made_is_an_error():
    _, decision = first_decision(convolution())
    with pytest.raises(ValueError, match="'nothing' has no register of its own at line 7"):
        convolution(changes=[Turn(Place(decision.pc, where={"nothing": 1}))])
    with pytest.raises(ValueError, match="decides nothing"):
        convolution(changes=[Turn(Place(0))])
    load = next(s for s in convolution().thread((0, 0, 0), (1, 0, 0)) if s.line == 8).accesses[0]
    with pytest.raises(ValueError, match="no array 'Q'"):
        convolution(changes=[Redirect.of(load, "Q", 0)])
    with pytest.raises(ValueError, match="cannot be combined"):
        convolution(changes=[Turn(Place(decision.pc))], barriers=[Wait(7)])


# ---- the values of findings

OUTSIDE = """
#define R 1
__global__ void k(float* P, const float* N, int n) {
    int i = threadIdx.x;
    float sum = 0;
    for (int j = 0; j < 3; ++j) {
        int cell = i - R + j;
        sum += N[cell];
    }
    P[i] = sum;
}
"""
VALUES = [
    (
        OUTSIDE, 4,
        ["line 8, thread (0, 0, 0): reads N[-1]: cell = i - R + j = -1, with i = 0, R = 1, j = 0"],
    ),
    (
        OUTSIDE.replace("N[cell]", "N[i - 1 + j]"), 4,
        ["line 8, thread (0, 0, 0): reads N[-1]: i - 1 + j = -1, with i = 0, j = 0"],
    ),
    (
        DEAL.replace("deal", "k").replace("const float* x", "const float* x, int n"), 64,
        [
            "line 7, thread (31, 0, 0): reads cells[0]: (t + 33) % 64 = 0, with t = 31",
            "line 5, thread (0, 0, 0): writes cells[0]: t = threadIdx.x = 0, with threadIdx.x = 0",
        ],
    ),
    (OUTSIDE.replace("N[cell]", "*(N + cell)"), 4, []),
]  # fmt: skip


@pytest.mark.parametrize(("source", "block", "values"), VALUES)
def test_a_finding_says_by_which_index_its_thread_came_to_the_cell(source, block, values):
    arguments = np.full(block, NAN), wholes(block), np.int32(block)
    (finding, *_) = simulator.check(source, "k", *arguments, grid=(1,), block=(block,))
    assert list(finding.values) == values
    for one in values:
        assert one.partition("=")[0] in str(finding)
    assert finding.to_dict()["values"] == values
    assert type(finding).from_dict(finding.to_dict()).to_dict() == finding.to_dict()


def test_a_function_within_many_others_is_worded_once():
    """Twice at each level would take for ever: a sum that is cut to whole numbers in 60 turns."""
    formula = Formula.constant(0)
    for number in range(60):
        formula = formula.plus(Formula.of(Scalar(f"a{number}", 1.5)))
        formula = Formula.of(Function("int", (formula,), "f32", 1.0))
    assert str(formula).count("int(") == 60
