"""Atomics in the simulator: values, checks, and the order that a fence and an atomic make."""

import instances
import numpy as np
import pytest
from instances import ONE_WARP, Kernels, only, require

from helpers import simulator

GRID = {"grid": (4,), "block": (64,)}


INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;\n"


def kernel(body: str, parameters: str = "int* y", before: str = "") -> str:
    return instances.kernel(INDEX + body, parameters, before)


TYPES = [
    ("int", np.int32),
    ("unsigned int", np.uint32),
    ("unsigned long long", np.uint64),
    ("float", np.float32),
    ("double", np.float64),
]


ADD = """
template <class T> __global__ void to_global(T* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicAdd(&y[i % 3], (T) i);
}
template <class T> __global__ void to_shared(T* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    __shared__ T s[2];
    if (threadIdx.x < 2) s[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&s[i % 2], (T) i);
    __syncthreads();
    if (threadIdx.x < 2) y[2 * blockIdx.x + threadIdx.x] = s[threadIdx.x];
}
""" + "".join(
    f"template __global__ void {name}<{c_type}>({c_type}*);\n"
    for name in ("to_global", "to_shared")
    for c_type, _ in TYPES
)


@pytest.mark.parametrize(("c_type", "dtype"), TYPES)
def test_atomic_add_on_global_memory(c_type, dtype):
    y = np.full(3, 5, dtype)
    assert simulator.check(ADD, f"to_global<{c_type}>", y, **GRID) == ()
    np.testing.assert_array_equal(y, [5 + np.arange(k, 256, 3).sum() for k in range(3)])


@pytest.mark.parametrize(("c_type", "dtype"), TYPES)
def test_atomic_add_on_shared_memory(c_type, dtype):
    y = np.zeros(8, dtype)
    assert simulator.check(ADD, f"to_shared<{c_type}>", y, **GRID) == ()
    np.testing.assert_array_equal(y, np.arange(256).reshape(4, 32, 2).sum(axis=1).ravel())


# A call, what stands in memory before, and what after 256 threads have made the call.
CALLS = [
    ("atomicSub(y, i)", 0, -(256 * 255 // 2)),
    ("atomicMax(y, i - 300)", -1000, -45),
    ("atomicMin(y, 100 - i)", 1000, -155),
    ("atomicMax((unsigned*) y, (unsigned) -i)", 0, -1),
    ("atomicMin((unsigned*) y, (unsigned) -i)", -1, 0),
    ("atomicAnd(y, ~(1 << (i % 32)))", -1, 0),
    ("atomicOr(y, 1 << (i % 31))", 0, 0x7FFFFFFF),
    ("atomicXor(y, i)", 0, 0),
    ("atomicInc((unsigned*) y, 9)", 0, 256 % 10),
    ("atomicDec((unsigned*) y, 9)", 0, 10 - 256 % 10),
    ("atomicAdd_system(y, 1)", 0, 256),
]
CALLING = Kernels([f"{INDEX}{call};" for call, *_ in CALLS], "int* y")


@pytest.mark.parametrize(("call", "start", "want"), CALLS)
def test_what_the_operations_leave(call, start, want):
    y = np.full(1, start, np.int32)
    assert simulator.check(*CALLING.of(f"{INDEX}{call};"), y, **GRID) == ()
    assert y[0] == want


def test_what_the_operations_return():
    body = (
        "if (i == 0) {\ny[0] = atomicExch(&y[5], 8);\ny[1] = atomicCAS(&y[5], 8, 9);\n"
        "y[2] = atomicCAS(&y[5], 8, 10);\ny[3] = atomicAdd(&y[5], 1);\n"
        "y[4] = atomicInc((unsigned*) &y[5], 10);\n}"
    )
    y = np.array([0, 0, 0, 0, 0, 7], np.int32)
    assert simulator.check(kernel(body), "k", y, **GRID) == ()
    assert list(y) == [7, 8, 9, 9, 10, 0]


def test_tickets_are_given_out_once():
    y = np.full(257, -1, np.int32)
    y[256] = 0
    assert simulator.check(kernel("y[atomicAdd(&y[256], 1)] = i;"), "k", y, **GRID) == ()
    assert sorted(y[:256]) == list(range(256))


COMPARE_AND_SWAP = """__device__ double add(double* address, double value) {
  unsigned long long* bits = (unsigned long long*) address;
  unsigned long long old = *bits, assumed;
  do {
    assumed = old;
    old = atomicCAS(bits, assumed, __double_as_longlong(value + __longlong_as_double(assumed)));
  } while (assumed != old);
  return __longlong_as_double(old);
}"""


def test_the_compare_and_swap_loop_of_the_programming_guide_is_right():
    y = np.zeros(1, np.float64)
    assert (
        simulator.check(kernel("add(y, i);", "double* y", COMPARE_AND_SWAP), "k", y, **GRID) == ()
    )
    assert y[0] == 256 * 255 // 2


# ---- findings ----


def test_an_update_by_threads_of_one_number_in_two_blocks_asks_for_the_number_of_the_block():
    y = np.zeros(64, np.int32)
    launch = {"grid": (2,), "block": (64,)}
    question = "is blockIdx in the index?"
    same_number = only(simulator.check(kernel("y[threadIdx.x] += 1;"), "k", y, **launch))
    assert question in same_number.cause
    in_one_block = simulator.check(kernel("y[0] += 1;"), "k", y, grid=(1,), block=(64,))[0]
    assert question not in in_one_block.cause


def test_an_atomic_races_with_a_plain_read_and_a_plain_write():
    y = np.zeros(4, np.int32)
    source = kernel("atomicAdd(&y[0], 1);\nif (threadIdx.x == 0) y[1] = y[0];\n")
    read = only(simulator.check(source, "k", y, grid=(1,), block=(64,)), kind="race", index=0)
    assert "updates y[0], which thread (0, 0, 0) read at line 5" in read.message
    written = simulator.check(
        kernel("if (threadIdx.x == 9) y[0] = 1;\natomicAdd(&y[0], 1);"),
        "k",
        y,
        grid=(1,),
        block=(64,),
    )
    assert {f.kind for f in written} == {"race"}


def test_a_result_read_by_the_thread_that_added_last_is_a_race_too():
    body = "atomicAdd(&y[0], 1);\nif (threadIdx.x == 63) y[1] = y[0];"
    finding = only(
        simulator.check(kernel(body), "k", np.zeros(2, np.int32), grid=(1,), block=(64,))
    )
    assert (finding.kind, finding.thread, finding.line) == ("race", (63, 0, 0), 5)
    assert "which thread (31, 0, 0) updated at line 4" in finding.message
    right = body.replace("\n", "\n__syncthreads();\n")
    assert simulator.check(kernel(right), "k", np.zeros(2, np.int32), grid=(1,), block=(64,)) == ()


def test_a_counter_read_after_the_barrier_of_one_block_only():
    body = "atomicAdd(&y[0], 1);\n__syncthreads();\nif (threadIdx.x == 0) y[1 + blockIdx.x] = y[0];"
    finding = simulator.check(kernel(body), "k", np.zeros(8, np.int32), **GRID)[0]
    assert (finding.kind, finding.array, finding.index) == ("race", "y", 0)


def test_an_atomic_outside_its_array_is_stopped():
    finding = only(
        simulator.check(kernel("atomicAdd(&y[i], 1);"), "k", np.zeros(100, np.int32), **GRID)
    )
    require(finding, kind="out-of-bounds", array="y", index=100, line=4)
    assert "updates y[100]" in finding.message


def test_a_misaligned_atomic_is_stopped():
    source = kernel("atomicAdd((unsigned long long*) (y + 1), 1ull);")
    finding = only(simulator.check(source, "k", np.zeros(4, np.int32), grid=(1,), block=(1,)))
    assert (finding.kind, finding.index) == ("misaligned", 1)


def test_an_atomic_of_block_scope_races_with_one_of_the_device():
    body = "if (blockIdx.x == 0) atomicAdd_block(y, 1);\nelse atomicAdd(y, 1);"
    assert only(simulator.check(kernel(body), "k", np.zeros(4, np.int32), **GRID)).kind == "race"


INITIALISED = "if (i == 0) y[0] = 0;\n__syncthreads();\natomicAdd(&y[0], 1);"


def test_a_sum_that_one_block_sets_to_zero_while_others_add_to_it():
    """The writer's own atomics come after its plain write, and must not hide it from the other
    blocks.
    """
    finding = only(simulator.check(kernel(INITIALISED), "k", np.zeros(1, np.int32), **GRID))
    assert (finding.kind, finding.line, finding.other_line) == ("race", 6, 4)
    assert (
        simulator.check(kernel(INITIALISED), "k", np.zeros(1, np.int32), grid=(1,), block=(64,))
        == ()
    )


def test_a_sum_that_one_thread_sets_to_zero_while_others_add_to_it():
    body = INITIALISED.replace("__syncthreads();", "")
    finding = only(
        simulator.check(kernel(body), "k", np.zeros(1, np.int32), grid=(1,), block=(64,))
    )
    assert (finding.kind, finding.line, finding.other_line) == ("race", 6, 4)


def test_a_sum_read_before_the_others_have_added():
    body = INITIALISED + "\nif (threadIdx.x == 0) y[1] = y[0];"
    finding = only(
        simulator.check(kernel(body), "k", np.zeros(2, np.int32), grid=(1,), block=(64,))
    )
    assert (finding.kind, finding.line, finding.other_line) == ("race", 6, 7)


# ---- the last block adds up the parts ----

def test_every_thread_of_a_block_may_leave_its_part_behind_one_fence_after_a_barrier():
    body = (
        "__shared__ bool last;\npart[i] = i;\n__threadfence();\n__syncthreads();\n"
        "if (threadIdx.x == 0) last = atomicAdd(y + 1, 1) == gridDim.x - 1;\n__syncthreads();\n"
        "if (last && threadIdx.x < 32) {\nint sum = 0;\n"
        "for (int k = threadIdx.x; k < 256; k += 32) sum += part[k];\natomicAdd(y, sum);\n}"
    )
    y = np.zeros(2, np.int32)
    assert (
        simulator.check(kernel(body, "int* y, int* part"), "k", y, np.zeros(256, np.int32), **GRID)
        == ()
    )
    assert y[0] == 256 * 255 // 2


LOCK = """while (atomicCAS(&y[0], 0, 1) != 0) {}
FIRST
y[1] = y[1] + 1;
SECOND
atomicExch(&y[0], 0);"""


@pytest.mark.parametrize("where", ["global", "within one warp"])
def test_a_lock_with_fences_orders_what_it_guards(where):
    body = LOCK.replace("FIRST", "__threadfence();").replace("SECOND", "__threadfence();")
    shape = GRID if where == "global" else ONE_WARP
    y = np.zeros(2, np.int32)
    assert simulator.check(kernel(body), "k", y, **shape) == ()
    assert y[1] == shape["grid"][0] * shape["block"][0]


def test_a_lock_that_is_never_given_back_is_a_runaway():
    y = np.zeros(2, np.int32)
    finding = only(
        simulator.check(
            kernel("while (atomicCAS(&y[0], 0, 1) != 0) {}"),
            "k",
            y,
            grid=(1,),
            block=(2,),
            time_limit=0.3,
        )
    )
    assert finding.kind == "runaway"


def test_a_flag_that_another_warp_sets_is_waited_for():
    """The waiting warp runs first here, and must let the other one run."""
    body = (
        "if (threadIdx.x < 32) { while (atomicAdd(&y[0], 0) == 0) {} y[1 + threadIdx.x] = 1; }\n"
        "else if (threadIdx.x == 32) atomicExch(&y[0], 1);"
    )
    y = np.zeros(33, np.int32)
    assert simulator.check(kernel(body), "k", y, grid=(1,), block=(64,)) == ()
    np.testing.assert_array_equal(y, 1)


# ---- counters ----


def test_atomics_are_requests_of_their_own():
    y = np.zeros(32, np.int32)
    profile = simulator.profile(kernel("atomicAdd(&y[i % 32], 1);"), "k", y, grid=(2,), block=(64,))
    rows = [row for row in profile.lines if row.access == "atomic"]
    assert [(row.array, row.requests, row.lanes, row.sectors) for row in rows] == [
        ("y", 4, 128, 16)
    ]


# ---- values that show which unit adds ----

ADDED_BITS = """
extern "C" __global__ void k({word}* global, const {word}* added, {word}* shared, int n)
{{
    __shared__ {word} s[8];
    const int t = threadIdx.x;
    if (t >= n) return;
    s[t] = global[t];
    atomicAdd(({type}*)&global[t], {to_float}(added[t]));
    atomicAdd(({type}*)&s[t], {to_float}(added[t]));
    shared[t] = s[t];
}}
"""


def bits_after(type, cells, added):
    """The bits that atomicAdd leaves in global and in shared memory."""
    double = type == "double"
    word, dtype = ("unsigned long long", np.uint64) if double else ("unsigned", np.uint32)
    to_float = "__longlong_as_double" if double else "__uint_as_float"
    source = ADDED_BITS.format(type=type, word=word, to_float=to_float)
    here, there = np.array(cells, dtype), np.zeros(len(cells), dtype)
    n = np.int32(len(cells))
    findings = simulator.check(
        source, "k", here, np.array(added, dtype), there, n, grid=(1,), block=(len(cells),)
    )
    assert findings == ()
    return here.tolist(), there.tolist()


def test_global_memory_adds_floats_without_subnormal_numbers():
    least = 1 << 23  # of the normal numbers
    cells = [1, least, least + 1, 0x80000005, 0x7FC00001, 0x7F800000]
    added = [2, 1, least | 1 << 31, 0, 0x3F800000, 0xFF800000]
    here, there = bits_after("float", cells, added)
    assert there == [3, least + 1, 1, 0x80000005, 0x7FFFFFFF, 0x7FFFFFFF]
    assert here == [0, least, 0, 0, 0x7FFFFFFF, 0x7FFFFFFF]


def test_global_memory_hands_a_nan_of_64_bits_on():
    one, noisy, quiet = 0x3FF0000000000000, 0x7FF0000000000001, 0x7FF8000000000001
    other = 0xFFF0000000000002
    here, there = bits_after("double", [noisy, one, noisy, one], [one, noisy, other, one])
    assert here == [noisy, noisy, other, 0x4000000000000000]
    assert there == [quiet, quiet, quiet, 0x4000000000000000]
