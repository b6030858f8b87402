"""What a launch says that its time limit stops: whether it was slow, did not end, or waited."""

import re
import time

import numpy as np
import pytest

from helpers import simulator
from helpers.simulator.findings.findings import Finding
from helpers.simulator.launch import launch
from helpers.simulator.program.progress import Progress

PRODUCT = """extern "C" __global__ void product(float* C, const float* A, const float* B, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; ++k) sum += A[row * n + k] * B[k * n + column];
    C[row * n + column] = sum;
}"""
WAIT = """extern "C" __global__ void k(volatile int* flags, int last) {
    if (blockIdx.x == 5) while (flags[last] == 0) {}
    flags[blockIdx.x] = 1;
}"""
LOCK = """extern "C" __global__ void k(int* flags, int last) {
    while (atomicCAS(&flags[0], 0, 1) != 0) {}
}"""
ENDLESS = """extern "C" __global__ void k(int* flags, int last) {
    int i = 0;
    if (blockIdx.x == 5) do { flags[i & 7] = i; i = (i + 1) & 255; } while (i >= 0);
}"""


def stopped(source: str, *args, **more) -> Finding:
    name = "product" if source is PRODUCT else "k"
    findings = [
        finding
        for finding in simulator.check(source, name, *args, **more)
        if finding.kind == "runaway"
    ]
    assert len(findings) == 1
    return findings[0]


def test_a_slow_product_says_how_far_it_was_and_what_to_do():
    n = 2048
    A, C = np.ones((n, n), np.float32), np.zeros((n, n), np.float32)
    launched = {"grid": (128, 128), "block": (16, 16), "time_limit": 3}
    finding = stopped(PRODUCT, C, A, A, np.int32(n), **launched)
    assert "of 16,384 blocks done" in finding.message and "time limit after" in finding.message
    assert "time_limit=" in finding.cause and "sample_every" in finding.cause
    assert re.search(r"HALO_TIME_LIMIT=\d+ in the environment", finding.cause)
    assert "loop" not in finding.message + finding.cause


@pytest.mark.parametrize(
    ("done", "seconds", "idle", "slow"),
    [
        (1730, 2.26, 0.001, True),
        (1730, 2.26, 0.1, True),  # a busy machine kept a block of 3 ms from its core
        (1730, 2.26, 1.0, False),
        (2, 120.0, 50.0, True),  # two blocks of 35 s each, and a third that is not late yet
        (2, 120.0, 70.0, False),
        (0, 120.0, 120.0, False),
    ],
)
def test_a_launch_is_slow_while_its_blocks_go_on_to_end(done, seconds, idle, slow):
    assert Progress(done, 16384, seconds, idle, 2).is_slow is slow


@pytest.mark.parametrize(("blocks", "words"), [(64, "one of the 58 blocks"), (6, "Does a thread")])
def test_a_wait_for_another_block_is_no_endless_loop(blocks, words):
    flags = np.zeros(64, np.int32)
    grid = {"grid": (blocks,), "block": (1,), "time_limit": 1.5}
    finding = stopped(WAIT, flags, np.int32(63), **grid)
    assert "waits for ever in this loop" in finding.message and words in finding.cause
    assert finding.block == (5, 0, 0) and finding.line == 2


FENCED = """extern "C" __global__ void k(int* flags, int last) {
    if (blockIdx.x == 0) while (flags[last] == 0) __threadfence();
    flags[blockIdx.x] = 1;
}"""


def test_a_plain_load_beside_a_fence_is_a_wait():
    flags = np.zeros(8, np.int32)
    finding = stopped(FENCED, flags, np.int32(7), grid=(8,), block=(1,))
    assert "waits for ever in this loop" in finding.message and finding.line == 2
    assert "one of the 7 blocks" in finding.cause


def test_a_lock_that_nobody_opens_is_a_wait():
    one = {"grid": (1,), "block": (1,), "time_limit": 0.3}
    finding = stopped(LOCK, np.ones(1, np.int32), np.int32(0), **one)
    assert "waits for ever in this loop" in finding.message


# What a block does to the end of time, by the words on it. It is told at once, not at the limit.
FOR_EVER = {
    "the compiler's own loop": (
        "__shared__ int turn;\nif (threadIdx.x == 0) turn = 0;\n__syncthreads();\n"
        "while (turn < threadIdx.x) {}\nflags[turn] = last; turn++;",
        "The compiler has loaded turn once, before the loop",
    ),
    "no step": ("int i = 0;\nwhile (i < last) flags[i] = 1;", "Is the step missing"),
    "threads at a barrier": (
        "if (threadIdx.x == 0) while (*(volatile int*)flags == 0) {}\n__syncthreads();\n"
        "flags[0] = 1;",
        "Does a thread write the value",
    ),
    "looks by an atomic function": (
        "while (atomicAdd(flags, 0) == 0) __threadfence();\nflags[1] = 1;",
        "Does a thread write the value",
    ),
    "looks at the clock, too": (
        "const long long start = clock64();\n"
        "while (*(volatile int*)flags == 0 || clock64() < start) {}\nflags[1] = 1;",
        "Does a thread write the value",
    ),
    "a lock taken twice": (
        "while (atomicCAS(flags, 0, 1)) {}\nflags[1]++;",
        "Does a thread write the value",
    ),
}


@pytest.mark.parametrize("name", FOR_EVER)
def test_a_block_that_changes_nothing_more_is_told_at_once(name):
    body, words = FOR_EVER[name]
    source = f'extern "C" __global__ void k(int* flags, int last) {{\n{body}\n}}'
    start = time.monotonic()
    finding = stopped(source, np.zeros(64, np.int32), np.int32(7), grid=(1,), block=(64,))
    assert words in finding.cause and time.monotonic() - start < launch.TIME_LIMIT_S / 4


WAITS_THAT_END = (
    "long long s = clock64(); while (clock64() - s < 2000000000000) {} flags[threadIdx.x] = 1;",
    "unsigned s = clock(); while (clock() - s < 2000000000u) {} flags[threadIdx.x] = 1;",
    "for (int k = 0; k < 3000000; k++) if (*(volatile int*)flags == 5) break;",
    "volatile int* f = flags; if (threadIdx.x < 32) while (f[9] == 0) {} else { unsigned x = last;"
    " for (int i = 0; i < 9000000; i++) x = x * 5 + 1; flags[8] = x; __threadfence(); f[9] = 1; }",
    "while (atomicCAS(flags, 0, 1)) {} __threadfence(); flags[1]++; __threadfence();"
    " atomicExch(flags, 0);",
    "if (threadIdx.x < 32) { while (atomicAdd(&flags[9], 0) == 0) __threadfence(); __threadfence();"
    " flags[10 + threadIdx.x] = flags[8]; } else { unsigned x = last;"
    " for (int i = 0; i < 900000; i++) x = x * 5 + 1;"
    " if (threadIdx.x == 40) { flags[8] = x; __threadfence(); atomicExch(&flags[9], 1); } }",
)


@pytest.mark.parametrize("body", WAITS_THAT_END)
def test_a_wait_that_ends_is_none(body):
    source = f'extern "C" __global__ void k(int* flags, int last) {{\n{body}\n}}'
    args = np.zeros(64, np.int32), np.int32(7)
    assert simulator.check(source, "k", *args, grid=(1,), block=(64,)) == ()


def test_a_loop_without_end_says_so():
    flags = np.zeros(8, np.int32)
    finding = stopped(ENDLESS, flags, np.int32(0), grid=(9,), block=(1,), time_limit=0.5)
    assert "was still running" in finding.message and "5 of 9 blocks done" in finding.message
    assert "Does this loop end for every thread?" in finding.cause


def test_a_launch_in_time_says_nothing_of_it():
    n = 64
    A, C = np.ones((n, n), np.float32), np.zeros((n, n), np.float32)
    args = (C, A, A, np.int32(n))
    assert simulator.check(PRODUCT, "product", *args, grid=(4, 4), block=(16, 16)) == ()
    assert launch.TIME_LIMIT_S == 120


# ---- a program with PyCUDA, whose calls take no time limit ----


def test_the_environment_limits_the_time_of_a_launch(monkeypatch):
    monkeypatch.setenv("HALO_TIME_LIMIT", "0.2")
    flags = np.zeros(64, np.int32)
    finding = stopped(ENDLESS, flags, np.int32(0), grid=(6,), block=(1,))
    assert "HALO_TIME_LIMIT" in finding.cause


@pytest.mark.parametrize("text", ["soon", "0", "-3", "nan"])
def test_a_time_limit_of_the_environment_that_is_no_time_is_refused(monkeypatch, text):
    monkeypatch.setenv("HALO_TIME_LIMIT", text)
    with pytest.raises(ValueError, match="HALO_TIME_LIMIT is '" + text):
        simulator.check(ENDLESS, "k", np.zeros(64, np.int32), np.int32(0), grid=(1,), block=(1,))


BARRIERS = """#include <cuda/barrier>
using Barrier = cuda::barrier<cuda::thread_scope_block>;
extern "C" __global__ void k(int* y, int arrivals, int last) {
    __shared__ Barrier barrier;
    if (threadIdx.x == 0) init(&barrier, arrivals);
    __syncthreads();
    if (threadIdx.x < last)
        barrier.arrive_and_wait();
    y[threadIdx.x] = 1;
}"""


@pytest.mark.parametrize(
    ("arrivals", "last", "words"),
    [(65, 64, "for 65 arrivals, of which 64 have come"), (64, 40, "of which 40 have come")],
)
def test_a_barrier_says_how_many_arrivals_it_waits_for(arrivals, last, words):
    y = np.zeros(64, np.int32)
    one = {"grid": (1,), "block": (64,)}
    (finding,) = simulator.check(BARRIERS, "k", y, np.int32(arrivals), np.int32(last), **one)
    assert words in finding.message and finding.line == 8
    assert "compare n with the threads" in finding.cause and "loop" not in finding.message


def test_a_barrier_with_the_right_count_ends():
    y = np.zeros(64, np.int32)
    args = y, np.int32(64), np.int32(64)
    assert simulator.check(BARRIERS, "k", *args, grid=(1,), block=(64,)) == ()


FLAG = """extern "C" __global__ void k(int* y, int n) {
    __shared__ volatile int ready;
    if (threadIdx.x == 0) ready = 0;
    __syncthreads();
    if (threadIdx.x == 40 && n > 5) ready = 1;
    while (!ready);
    y[threadIdx.x] = 1;
}"""


def test_a_flag_in_shared_memory_is_waited_for():
    one = {"grid": (8,), "block": (64,), "time_limit": 0.5}
    finding = stopped(FLAG, np.zeros(64, np.int32), np.int32(0), **one)
    assert "waits for ever in this loop" in finding.message and finding.line == 6
    assert "Does a thread write" in finding.cause
