"""Copies that run beside the threads, mbarriers and matrices: each operation right, each misuse
found.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable

import numpy as np
import pytest

from helpers.simulator.compile.compiler import compile_source
from helpers.simulator.launch.launch import CHECKS, launch
from helpers.simulator.machine import memory
from helpers.simulator.machine.faults import LaunchFault
from helpers.simulator.program import module

PTX = r"""
typedef unsigned long long State;
__device__ unsigned at(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
template <int size> __device__ void copy_async(void* to, const void* from) {
    if (size == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(at(to)),
        "l"(from) : "memory");
    else asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" :: "r"(at(to)), "l"(from),
        "n"(size) : "memory");
}
__device__ void copy_some(void* to, const void* from, int bytes) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" :: "r"(at(to)), "l"(from),
        "r"(bytes) : "memory");
}
__device__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int n> __device__ void wait_group() { asm volatile("cp.async.wait_group %0;" :: "n"(n)
    : "memory"); }
__device__ void wait_all() { asm volatile("cp.async.wait_all;" ::: "memory"); }
__device__ void init(State* b,
    int n) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" :: "r"(at(b)), "r"(n) : "memory"); }
__device__ void inval(State* b) { asm volatile("mbarrier.inval.shared.b64 [%0];" :: "r"(at(b))
    : "memory"); }
__device__ State arrive(State* b) {
    State s;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(s) : "r"(at(b)) : "memory");
    return s;
}
__device__ State arrive_many(State* b, int n) {
    State s;
    asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 %0, [%1], %2;" : "=l"(s)
        : "r"(at(b)), "r"(n) : "memory");
    return s;
}
__device__ State arrive_expecting(State* b, int bytes) {
    State s;
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], %2;" : "=l"(s) : "r"(at(b)),
        "r"(bytes) : "memory");
    return s;
}
__device__ bool is_over(State* b, State s) {
    int p;
    asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.s32 %0, 1, 0, p;}"
                 : "=r"(p) : "r"(at(b)), "l"(s) : "memory");
    return p;
}
__device__ void wait_state(State* b, State s) { while (!is_over(b, s)) {} }
__device__ void wait_parity(State* b, int parity) {
    asm volatile("{.reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; "
        "@!p bra again;}"
                 :: "r"(at(b)), "r"(parity) : "memory");
}
__device__ void bulk_in(void* to, const void* from, int bytes, State* b) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
        "[%0], [%1], %2, [%3];"
                 :: "r"(at(to)), "l"(from), "r"(bytes), "r"(at(b)) : "memory");
}
__device__ void bulk_out(void* to, const void* from, int bytes) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" :: "l"(to),
        "r"(at(from)), "r"(bytes) : "memory");
}
__device__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ void bulk_wait_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
__device__ void fence_proxy() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
"""
HEAD = 'extern "C" __global__ void k(float* y, const float* x)'
_modules: dict[str, module.Module] = {}


def several(bodies: Iterable[str]) -> str:
    """One source with a kernel for each body, k0, k1 and so on: it is compiled once."""
    return "".join(
        f'extern "C" __global__ void k{n}(float* y, const float* x) {{{body}}}\n'
        for n, body in enumerate(bodies)
    )


def run(
    body: str,
    y: np.ndarray,
    x: np.ndarray,
    block: int = 32,
    grid: int = 1,
    observe=CHECKS,
    head: str = HEAD,
    name: str = "k",
):
    """What the kernel with this body leaves in y, and the report of its launch. Raises LaunchFault.
    """
    source = PTX + (body if head == "" else head + " {" + body + "}")
    loaded = _modules.get(source) or _modules.setdefault(source, module.load(source))
    addresses = [memory.allocate(one.nbytes) for one in (y, x)]
    try:
        memory.write(addresses[1], x, x.nbytes)
        packed = struct.pack("QQ", *addresses)
        report = launch(loaded.kernels[name], packed, (grid, 1, 1), (block, 1, 1), observe=observe)
        result = np.empty_like(y)
        memory.read(result, addresses[0], y.nbytes)
        return result, report
    finally:
        for address in addresses:
            memory.free(address)


def finds(
    body: str,
    *words: str,
    block: int = 32,
    cells: int = 1024,
    head: str = HEAD,
    name: str = "k",
) -> str:
    """The text of all findings of a launch, in which each of `words` must be, wherever its lines
    end.
    """
    x = np.arange(cells, dtype=np.float32)
    try:
        _, report = run(body, np.zeros(cells, np.float32), x, block, head=head, name=name)
        findings = report.findings
    except LaunchFault as fault:
        findings = fault.report.findings
    text = "\n".join(f"{one.kind}: {one}" for one in findings)
    for word in words:
        assert re.search(word, " ".join(text.split())), text or "nothing was found"
    return text


def right(
    body: str,
    expected: np.ndarray,
    x: np.ndarray,
    block: int = 32,
    head: str = HEAD,
    name: str = "k",
) -> None:
    """The kernel's results are the expected ones and nothing is found."""
    result, report = run(body, np.zeros_like(expected), x, block, head=head, name=name)
    assert not report.findings, "\n".join(str(one) for one in report.findings)
    np.testing.assert_array_equal(result, expected)


X = np.arange(1024, dtype=np.float32)

# ---- cp.async

REVERSED = X[:256][::-1].copy()


SIZES = several(
    f"""__shared__ __align__(16) float s[256];
    int t = threadIdx.x;
    if (t < {1024 // size}) copy_async<{size}>(s + {size // 4} * t, x + {size // 4} * t);
    commit(); wait_group<0>(); __syncthreads();
    y[t] = s[255 - t];"""
    for size in (4, 8, 16)
)


@pytest.mark.parametrize("number", range(3), ids=("4 bytes", "8 bytes", "16 bytes"))
def test_copy_of_each_size(number):
    right(SIZES, REVERSED, X, 256, head="", name=f"k{number}")


def test_groups_arrive_in_their_order():
    right(
        """__shared__ float s[4][32];
        int t = threadIdx.x;
        for (int k = 0; k < 4; ++k) { copy_async<4>(&s[k][t], x + 32 * k + t); commit(); }
        float sum = 0;
        wait_group<2>(); sum += s[0][t] + s[1][t];
        wait_group<1>(); sum += s[2][t];
        wait_all(); sum += s[3][t];
        y[t] = sum;""",
        X[:128].reshape(4, 32).sum(0),
        X,
    )


def test_bytes_beyond_the_source_are_zero():
    right(
        """__shared__ float s[32];
        int t = threadIdx.x;
        copy_some(s + t, x + t, t < 20 ? 4 : 0);
        wait_all(); y[t] = s[t];""",
        np.where(np.arange(32) < 20, X[:32], 0).astype(np.float32),
        X[:20],
    )


def test_other_threads_need_a_barrier_after_the_wait():
    text = finds(
        "__shared__ float s[64]; int t = threadIdx.x; copy_async<4>(s + t, x + t); wait_all(); "
        "y[t] = s[63 - t];",
        "race",
        block=64,
    )
    assert "asynchronous" not in text


def test_copy_out_of_bounds_and_misaligned():
    finds(
        "__shared__ float s[32]; int t = threadIdx.x; copy_async<4>(s + t, x + t); wait_all(); "
        "y[t] = s[t];",
        "out",
        cells=31,
    )
    finds(
        "__shared__ float s[64]; copy_async<8>(s + 2 * (threadIdx.x % 16) + 1, "
        "x + 2 * threadIdx.x); wait_all(); y[0] = s[0];",
        "aligned",
    )


def test_copy_counts_as_load_alone():
    """Nsight Compute counts no shared store for a copy in the background (LDGSTS), on an H200."""
    _, report = run(
        """__shared__ float4 s[32]; int t = threadIdx.x;
        copy_async<16>(s + t, x + 4 * t); wait_all(); y[t] = s[t].x;""",
        np.zeros(32, np.float32), X, observe=(*CHECKS, "traffic"),
    )  # fmt: skip
    sites = {(one.access, one.space): one for one in report.sites}
    assert sites[0, 0].requests == 1 and sites[0, 0].sectors == 16 and sites[0, 0].bytes == 512
    assert (1, 1) not in sites


# ---- mbarriers


def test_mbarrier_as_a_barrier_of_the_block():
    right(
        """__shared__ State b; __shared__ float s[96]; int t = threadIdx.x;
        if (t == 0) init(&b, 96);
        __syncthreads();
        float v = x[t];
        for (int k = 0; k < 5; ++k) {
            s[t] = v; State phase = arrive(&b); wait_state(&b, phase);
            v = s[(t + 33) % 96]; phase = arrive(&b); wait_state(&b, phase);
        }
        y[t] = v;""",
        np.roll(X[:96], -165 % 96 and -(165 % 96)), X, 96,
    )  # fmt: skip


def test_producers_and_consumers():
    """Two warps fill two buffers in turn, two others read them."""
    right(
        """__shared__ State full[2], empty[2]; __shared__ float s[2][64]; int t = threadIdx.x;
        if (t == 0) for (int k = 0; k < 2; ++k) { init(full + k, 64); init(empty + k, 64); }
        __syncthreads();
        if (t < 64) {
            for (int k = 0; k < 8; ++k) {
                wait_parity(empty + k % 2, (k / 2 & 1) ^ 1);
                s[k % 2][t] = x[64 * k + t];
                arrive(full + k % 2);
            }
        } else {
            for (int k = 0; k < 8; ++k) {
                wait_parity(full + k % 2, k / 2 & 1);
                y[64 * k + t - 64] = s[k % 2][127 - t];
                arrive(empty + k % 2);
            }
        }""",
        X[:512].reshape(8, 64)[:, ::-1].reshape(-1), X, 128,
    )  # fmt: skip


def test_one_lane_waits_for_its_warp():
    right(
        """__shared__ State b; __shared__ float s[32]; int t = threadIdx.x;
        if (t == 0) init(&b, 32);
        __syncthreads();
        if (t < 32) { s[t] = x[t]; arrive(&b); }
        else { if (t == 32) wait_parity(&b, 0); __syncwarp(); y[t - 32] = s[63 - t]; }""",
        X[:32][::-1].copy(), X, 64,
    )  # fmt: skip


def test_counts_states_and_drops():
    right(
        """__shared__ State b; int t = threadIdx.x;
        if (t) return;
        init(&b, 5);
        State s = arrive_many(&b, 2);
        int pending;
        State after = arrive(&b);
        asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(after));
        y[0] = pending; y[1] = is_over(&b, s);
        asm volatile("mbarrier.arrive_drop.shared.b64 _, [%0];" :: "r"(at(&b)) : "memory");
        arrive(&b); y[2] = is_over(&b, s);
        s = arrive_many(&b, 4); y[3] = is_over(&b, s);
        inval(&b); init(&b, 1); y[4] = is_over(&b, arrive(&b));""",
        np.array([3, 0, 1, 1, 1], np.float32),
        X,
    )


MBARRIERS = {
    "arrive(&b);": "no mbarrier.init",
    "init(&b, 1); init(&b, 1);": "already",
    "init(&b, 1); inval(&b); arrive(&b);": "after mbarrier.inval",
    "init(&b, 2); arrive_many(&b, 3);": "arrives 3 times",
    "init(&b, 0);": "0 arrivals",
    "init((State*)((char*)&b + 4), 1);": "multiple of 8",
    "init(&b, 1); *(volatile State*)&b = 7; arrive(&b);": "overwritten",
    "init(&b, 2); State s = arrive(&b); wait_state(&b, s);": "2 arrivals, of which 1 has come",
    "init(&b, 1); arrive_expecting(&b, 64); wait_parity(&b, 0);": "without end.*64 bytes",
    "init(&b, 1); wait_state(&b, 1);": "state of another",
}
MBARRIER_MISUSES = several(
    f"__shared__ State b; __shared__ int more; if (threadIdx.x == 0) {{ {body} }} y[0] = more;"
    for body in MBARRIERS
)


@pytest.mark.parametrize("number", range(len(MBARRIERS)), ids=MBARRIERS)
def test_misuse_of_an_mbarrier(number):
    words = list(MBARRIERS.values())[number]
    finds(MBARRIER_MISUSES, words, head="", name=f"k{number}")


ARRIVALS = several(
    f"""__shared__ State b; __shared__ float s[64]; int t = threadIdx.x;
    if (t == 0) init(&b, 64);
    __syncthreads();
    copy_async<4>(s + t, x + t);
    asm volatile("cp.async.mbarrier.arrive{noinc}.shared.b64 [%0];" :: "r"(at(&b)) : "memory");
    if ({int(not noinc)}) arrive(&b);
    wait_parity(&b, 0);
    y[t] = s[63 - t];"""
    for noinc in ("", ".noinc")
)


@pytest.mark.parametrize("number", range(2), ids=("arrive", "arrive.noinc"))
def test_cp_async_arrives_at_an_mbarrier(number):
    right(ARRIVALS, X[:64][::-1].copy(), X, 64, head="", name=f"k{number}")


# ---- bulk copies

BULK = """__shared__ State b; __shared__ __align__(128) float s[256]; int t = threadIdx.x;
if (t == 0) { init(&b, 1); fence_proxy(); }
__syncthreads();
"""


def test_bulk_copy_in_and_out():
    right(
        BULK + """
        if (t == 0) { bulk_in(s, x, 1024, &b); arrive_expecting(&b, 1024); }
        wait_parity(&b, 0);
        float mine = s[255 - t]; __syncthreads();
        s[t] = mine + 1; fence_proxy(); __syncthreads();
        if (t == 0) { bulk_out(y, s, 1024); bulk_commit(); bulk_wait_read(); }""",
        REVERSED + 1, X, 256,
    )  # fmt: skip


def test_bulk_copies_of_a_pipeline():
    right(
        """__shared__ State full[2]; __shared__ __align__(128) float s[2][64]; int t = threadIdx.x;
        if (t == 0) { init(full, 1); init(full + 1, 1); fence_proxy(); }
        __syncthreads();
        for (int k = 0; k < 8; ++k) {
            if (t == 0 && k == 0) { arrive_expecting(full, 256); bulk_in(s[0], x, 256, full); }
            if (t == 0 && k < 7) {
                arrive_expecting(full + (k + 1) % 2, 256);
                bulk_in(s[(k + 1) % 2], x + 64 * (k + 1), 256, full + (k + 1) % 2);
            }
            wait_parity(full + k % 2, k / 2 & 1);
            y[64 * k + t] = s[k % 2][63 - t];
            __syncthreads();
        }""",
        X[:512].reshape(8, 64)[:, ::-1].reshape(-1), X, 64,
    )  # fmt: skip


BULK_CALLS = {
    "bulk_in(s, x, 1000, &b);": "multiples of 16",
    "bulk_in(s, x + 1, 16, &b);": "from an address 4 bytes",
    "bulk_in(s + 1, x, 16, &b);": "to an address 4 bytes",
    "bulk_in(s, x, 1040, &b);": "out|outside|beyond",
    "inval(&b); bulk_in(s, x, 16, &b);": "after mbarrier.inval",
}
BULK_MISUSES = several(BULK + f"if (t == 0) {{ {call} }} y[t] = s[0];" for call in BULK_CALLS)


@pytest.mark.parametrize("number", range(len(BULK_CALLS)), ids=BULK_CALLS)
def test_misuse_of_a_bulk_copy(number):
    finds(BULK_MISUSES, list(BULK_CALLS.values())[number], head="", name=f"k{number}")


def test_fence_behind_the_barrier_will_do():
    right(
        "__shared__ __align__(16) float s[256]; int t = threadIdx.x; s[t] = x[t]; __syncthreads();"
        "if (t == 0) { fence_proxy(); bulk_out(y, s, 1024); bulk_commit(); bulk_wait_read(); }",
        X[:256], X, 256,
    )  # fmt: skip


def test_bulk_reduction():
    body = """__shared__ __align__(16) float s[256]; int t = threadIdx.x; y[t] = 1; s[t] = x[t];
        fence_proxy(); __syncthreads();
        if (t == 0) {
            asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 "
                "[%0], [%1], 1024;"
                         :: "l"(y), "r"(at(s)) : "memory");
            bulk_commit(); bulk_wait_read();
        }"""
    right(body, X[:256] + 1, X, 256)


# ---- copies that nobody waited for, or that others still read

FILLED = "__shared__ __align__(16) float s[256]; int t = threadIdx.x; s[t] = x[t]; "
COPY_OUT = "bulk_out(y, s, 1024); bulk_commit();"
COPY_IN = BULK + "if (t == 0) { bulk_in(s, x, 1024, &b); arrive_expecting(&b, 1024); } "
# What is wrong, the threads of the block, a pattern of the finding, and the kernel's body.
TOO_EARLY = [
    ("a read before the wait", 32, "asynchronous copy",
     """__shared__ float s[32]; int t = threadIdx.x;
     copy_async<4>(s + t, x + t); y[t] = s[t];"""),
    ("a wait for too few groups", 32, "asynchronous copy",
     """__shared__ float s[2][32]; int t = threadIdx.x;
     for (int k = 0; k < 2; ++k) { copy_async<4>(&s[k][t], x + 32 * k + t); commit(); }
     wait_group<1>(); y[t] = s[1][t]; wait_all();"""),
    ("a write over a copy on its way", 32, "asynchronous copy",
     """__shared__ float s[32]; int t = threadIdx.x;
     copy_async<4>(s + t, x + t); s[t] = 1; wait_all(); y[t] = s[t];"""),
    ("a copy over what others still read", 64, "race",
     """__shared__ float s[64]; int t = threadIdx.x; s[t] = 1; __syncthreads();
     y[t] = s[63 - t]; copy_async<4>(s + t, x + t); wait_all();"""),
    ("a consumer that does not wait", 64, "race",
     """__shared__ State b; __shared__ float s[64]; int t = threadIdx.x;
     if (t == 0) init(&b, 64);
     __syncthreads();
     s[t] = x[t]; State phase = arrive(&b);
     if (t < 32) wait_state(&b, phase);
     y[t] = s[63 - t];"""),
    ("no barrier after init", 64, "race|no mbarrier",
     "__shared__ State b; if (threadIdx.x == 0) init(&b, 64); arrive(&b); y[0] = 0;"),
    ("a read before the mbarrier", 256, "asynchronous copy", COPY_IN + "y[t] = s[t];"),
    ("bytes that were not announced", 256, "asynchronous copy",
     BULK + """if (t == 0) { bulk_in(s, x, 1024, &b); arrive(&b); }
     wait_parity(&b, 0); y[t] = s[t];"""),
    ("a thread that does not wait", 256, "race|asynchronous",
     COPY_IN + "if (t < 32) wait_parity(&b, 0); y[t] = s[t];"),
    ("no fence", 256, "fence.proxy.async",
     f"{FILLED} __syncthreads(); if (t == 0) {{ {COPY_OUT} bulk_wait_read(); }}"),
    ("a source that changes too early", 256, "async",
     f"""{FILLED} fence_proxy(); __syncthreads();
     if (t == 0) {{ {COPY_OUT} }}
     __syncthreads(); s[t] = 0; if (t == 0) bulk_wait_read();"""),
    ("a copy of what others wrote", 256, "race",
     f"{FILLED} fence_proxy(); if (t == 255) {{ {COPY_OUT} bulk_wait_read(); }}"),
    ("a block that ends before its copy out", 256, "async",
     f"{FILLED} fence_proxy(); __syncthreads(); if (t == 0) {{ {COPY_OUT} }}"),
    ("a block that ends before its copy in", 256, "async", COPY_IN + "y[t] = 0;"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("block", "words", "body"), [row[1:] for row in TOO_EARLY], ids=[row[0] for row in TOO_EARLY]
)
def test_what_comes_too_early_is_found(block, words, body):
    finds(body, words, block=block)


# ---- matrices


def test_ldmatrix_and_its_transpose():
    source = several(
        f"""__shared__ __align__(16) unsigned short s[32][8]; int t = threadIdx.x;
        for (int j = 0; j < 8; ++j) s[t][j] = 8 * t + j;
        __syncwarp();
        unsigned r[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4{trans}.shared.b16 {{%0, %1, %2, %3}}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at(s[t])));
        for (int m = 0; m < 4; ++m) y[64 * m + 2 * t] = r[m] & 0xFFFF,
        y[64 * m + 2 * t + 1] = r[m] >> 16;"""
        for trans in ("", ".trans")
    )
    right(source, X[:256], X, head="", name="k0")
    turned = X[:256].reshape(4, 8, 8).transpose(0, 2, 1).reshape(-1)
    right(source, turned, X, head="", name="k1")


def test_stmatrix_and_movmatrix():
    right(
        """__shared__ __align__(16) unsigned short s[32][8]; int t = threadIdx.x;
        unsigned r[2] = {(unsigned)(2 * t | (2 * t + 1) << 16),
            (unsigned)(64 + 2 * t | (65 + 2 * t) << 16)}, m;
        asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" :: "r"(at(s[t])),
            "r"(r[0]), "r"(r[1]) : "memory");
        asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(m) : "r"(r[0]));
        asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};"
            :: "r"(at(s[16 + t % 8])), "r"(r[0]) : "memory");
        asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};"
            :: "r"(at(s[24 + t % 8])), "r"(m) : "memory");
        __syncwarp();
        for (int j = 0; j < 8; ++j) y[8 * t + j] = s[t][j];""",
        np.concatenate([X[:128], X[:64].reshape(8, 8).T.reshape(-1),
                X[:64].reshape(8, 8).T.reshape(-1)]), X,
    )  # fmt: skip


def test_ldmatrix_counts_wavefronts():
    expected = {8: 4, 64: 32, 72: 4}  # wavefronts, by the cells from a row to the next
    source = several(
        f"""__shared__ __align__(16) unsigned short s[32 * {pitch}]; int t = threadIdx.x;
        for (int j = t; j < 32 * {pitch}; j += 32) s[j] = j;
        __syncwarp();
        unsigned r[4];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{%0, %1, %2, %3}}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(at(s + {pitch} * t)));
        y[t] = r[0] + r[1] + r[2] + r[3];"""
        for pitch in expected
    )
    for number, wavefronts in enumerate(expected.values()):
        _, report = run(
            source, np.zeros(32, np.float32), X, observe=(*CHECKS, "traffic"), head="",
            name=f"k{number}",
        )  # fmt: skip
        loads = [one for one in report.sites if one.access == 0 and one.space == 1]
        assert [(one.requests, one.wavefronts) for one in loads] == [(1, wavefronts)]


def test_part_of_a_warp_is_refused():
    finds(
        """__shared__ __align__(16) unsigned short s[32][8]; int t = threadIdx.x; unsigned r = 0;
            s[t][0] = 0;
        if (t < 16) asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(r)
            : "r"(at(s[t])));
        y[t] = r;""",
        "32 lanes",
    )


WMMA = """
#include <mma.h>
#include <cuda_bf16.h>
using namespace nvcuda;
template <bool BY_ROW> struct Layout { using type = wmma::row_major; };
template <> struct Layout<false> { using type = wmma::col_major; };
template <class Element, class Operand, class Sum, int ROWS, int COLUMNS, int K, bool A_BY_ROW,
          bool B_BY_ROW, bool SUMS_BY_ROW, bool TWICE>
__device__ void product(float* y, const float* x) {
    __shared__ __align__(128) Element a[ROWS * K], b[K * COLUMNS];
    __shared__ __align__(128) Sum c[ROWS * COLUMNS];
    for (int i = threadIdx.x; i < ROWS * K; i += 32) a[i] = Element(x[i]);
    for (int i = threadIdx.x; i < K * COLUMNS; i += 32) b[i] = Element(x[ROWS * K + i]);
    for (int i = threadIdx.x; i < ROWS * COLUMNS; i += 32) c[i] = Sum(x[i % 7]);
    __syncwarp();
    const int lead_a = A_BY_ROW ? K : ROWS;
    const int lead_b = B_BY_ROW ? COLUMNS : K;
    const int lead_c = SUMS_BY_ROW ? COLUMNS : ROWS;
    const auto by_c = SUMS_BY_ROW ? wmma::mem_row_major : wmma::mem_col_major;
    wmma::fragment<wmma::matrix_a, ROWS, COLUMNS, K, Operand, typename Layout<A_BY_ROW>::type> fa;
    wmma::fragment<wmma::matrix_b, ROWS, COLUMNS, K, Operand, typename Layout<B_BY_ROW>::type> fb;
    wmma::fragment<wmma::accumulator, ROWS, COLUMNS, K, Sum> fc;
    wmma::load_matrix_sync(fa, a, lead_a);
    wmma::load_matrix_sync(fb, b, lead_b);
    wmma::load_matrix_sync(fc, c, lead_c, by_c);
    wmma::mma_sync(fc, fa, fb, fc);
    if (TWICE) for (int i = 0; i < fc.num_elements; ++i) fc.x[i] = fc.x[i] + fc.x[i];
    __syncwarp();
    wmma::store_matrix_sync(c, fc, lead_c, by_c);
    __syncwarp();
    for (int i = threadIdx.x; i < ROWS * COLUMNS; i += 32) y[i] = float(c[i]);
}
"""
# (element, sum, shape, numbers, layouts of A, B and C by row or by column). Each shape, layout and
# element with each other one at least once; test_device_functions has them in global memory, with
# gaps between rows.
PRODUCTS = [
    ("__half", "float", (16, 16, 16), (-8, 9), "rrr"),
    ("__nv_bfloat16", "float", (16, 16, 16), (-8, 9), "crc"),
    ("__half", "float", (32, 8, 16), (-8, 9), "rcr"),
    ("__nv_bfloat16", "float", (32, 8, 16), (-8, 9), "ccc"),
    ("__half", "float", (8, 32, 16), (-8, 9), "ccc"),
    ("__nv_bfloat16", "float", (8, 32, 16), (-8, 9), "rrr"),
    ("TF32", "float", (16, 16, 8), (-8, 9), "rcr"),
    ("TF32", "float", (16, 16, 8), (-8, 9), "crc"),
    ("signed char", "int", (16, 16, 16), (-9, 9), "crc"),
    ("unsigned char", "int", (32, 8, 16), (0, 9), "rcr"),
    ("signed char", "int", (8, 32, 16), (-9, 9), "rcr"),
    ("double", "double", (8, 8, 4), (-9, 9), "rcr"),
    ("double", "double", (8, 8, 4), (-9, 9), "crc"),
    ("__half", "__half", (16, 16, 16), (-3, 3), "crc"),
    ("__half", "__half", (8, 32, 16), (-3, 3), "rcr"),
]


def products() -> str:
    """One source with a kernel for each row of PRODUCTS: most of the time goes into the headers."""
    source = WMMA
    for number, (element, sum, (rows, columns, k), _, layouts) in enumerate(PRODUCTS):
        cell, operand = (element, element)
        if element == "TF32":
            cell, operand = "float", "wmma::precision::tf32"
        twice = "true" if sum != "float" else "false"
        by_row = ", ".join("true" if one == "r" else "false" for one in layouts)
        source += (
            f'extern "C" __global__ void k{number}(float* y, const float* x) {{\n'
            f"    product<{cell}, {operand}, {sum}, {rows}, {columns}, {k},\n"
            f"            {by_row}, {twice}>(y, x);\n}}\n"
        )
    return source


def operands(x, sizes, by_row):
    """The matrices of a product as the kernel reads them from x: a, b, and c from its first cells.
    """
    rows, k, columns = sizes

    def matrix(cells, shape, row_major):
        return cells.reshape(shape) if row_major else cells.reshape(shape[::-1]).T

    return (
        matrix(x[: rows * k], (rows, k), by_row[0]),
        matrix(x[rows * k :], (k, columns), by_row[1]),
        matrix(x[np.arange(rows * columns) % 7], (rows, columns), by_row[2]),
    )


@pytest.mark.parametrize("number", range(len(PRODUCTS)), ids=lambda n: str(PRODUCTS[n]))
def test_wmma_of_each_type_shape_and_layout(number):
    _, sum, (rows, columns, k), numbers, layouts = PRODUCTS[number]
    by_row = [one == "r" for one in layouts]
    x = np.random.default_rng(5).integers(*numbers, rows * k + k * columns).astype(np.float32)
    a, b, c = operands(x, (rows, k, columns), by_row)
    result = (1 if sum == "float" else 2) * (a @ b + c)
    expected = (result if by_row[2] else result.T).reshape(-1).copy()
    right(products(), expected, x, head="", name=f"k{number}")


SMALL_CELLS = "#include <mma.h>\nusing namespace nvcuda;\n" + several(
    f"""using Operand = wmma::experimental::precision::{operand};
    __shared__ __align__(128) unsigned a[32], b[32]; __shared__ __align__(128) int s[64];
    a[threadIdx.x] = (unsigned)x[threadIdx.x] * 2654435761u;
    b[threadIdx.x] = (unsigned)x[32 + threadIdx.x] * 2246822519u;
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 8, 8, {k}, Operand, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, {k}, Operand, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, {k}, int> c;
    wmma::fill_fragment(c, 1);
    wmma::load_matrix_sync(fa, a, {k}); wmma::load_matrix_sync(fb, b, {k});
    wmma::{product}(c, fa, fb, c);
    wmma::store_matrix_sync(s, c, 8, wmma::mem_row_major);
    __syncwarp();
    y[threadIdx.x] = s[threadIdx.x]; y[32 + threadIdx.x] = s[32 + threadIdx.x];"""
    for operand, k, product in (("b1", 128, "bmma_sync"), ("s4", 32, "mma_sync"))
)


@pytest.mark.parametrize(("number", "bits", "k"), [(0, 1, 128), (1, 4, 32)])
def test_wmma_of_less_than_a_byte(number, bits, k):
    words = (
        X[:64].astype(np.uint64)
        * np.where(np.arange(64) < 32, 2654435761, 2246822519).astype(np.uint64)
    ) & 0xFFFFFFFF
    cells = (words[:, None] >> np.arange(0, 32, bits, dtype=np.uint64)) & (2**bits - 1)
    a, b = cells.reshape(2, 8, k).astype(int)
    if bits == 4:
        a, b = (np.where(one > 7, one - 16, one) for one in (a, b))
    result = 1 + (a[:, None] ^ b[None] if bits == 1 else a[:, None] * b[None]).sum(-1)
    right(SMALL_CELLS, result.astype(np.float32).reshape(-1), X, head="", name=f"k{number}")


LOADS = {
    "a + 1, 16": "32 bytes",
    "a, 17": "16 bytes apart",
    "a + threadIdx.x / 16 * 32, 16": "lane 0",
}
WMMA_MISUSES = "#include <mma.h>\nusing namespace nvcuda;\n" + several(
    f"""__shared__ __align__(128) __half a[512];
    for (int i = threadIdx.x; i < 512; i += 32) a[i] = __half(x[i]);
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> fa;
    wmma::load_matrix_sync(fa, {load});
    y[threadIdx.x] = fa.x[0];"""
    for load in LOADS
)


@pytest.mark.parametrize("number", range(len(LOADS)), ids=LOADS)
def test_misuse_of_wmma(number):
    finds(WMMA_MISUSES, list(LOADS.values())[number], head="", name=f"k{number}")


# ---- what libcu++ and cooperative groups make of them

LIBRARY = """
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
using Barrier = cuda::barrier<cuda::thread_scope_block>;
"""
BODIES = {
    "barrier, aligned": """__shared__ alignas(128) float s[256]; __shared__ Barrier b;
        if (t == 0) init(&b, block.size());
        block.sync();
        cuda::memcpy_async(block, s, x, cuda::aligned_size_t<16>(1024), b);
        b.arrive_and_wait();
        y[t] = s[255 - t];""",
    "barrier": """__shared__ float s[256]; __shared__ Barrier b;
        if (t == 0) init(&b, block.size());
        block.sync();
        cuda::memcpy_async(s + t, x + t, 4, b);
        auto token = b.arrive();
        b.wait(std::move(token));
        y[t] = s[255 - t];""",
    "group": """__shared__ float s[256];
        cg::memcpy_async(block, s, x, 1024);
        cg::wait(block);
        y[t] = s[255 - t];""",
    "pipeline of a thread": """__shared__ float s[256];
        auto pipe = cuda::make_pipeline();
        pipe.producer_acquire(); cuda::memcpy_async(s + t, x + t, 4, pipe); pipe.producer_commit();
        pipe.consumer_wait(); __syncthreads();
        y[t] = s[255 - t];
        pipe.consumer_release();""",
    "pipeline of a block": """__shared__ float s[2][128];
            __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
        auto pipe = cuda::make_pipeline(block, &state);
        for (int k = 0; k < 3; ++k) {
            if (k < 2) { pipe.producer_acquire();
                cuda::memcpy_async(block, s[k], x + 128 * k, 512, pipe); pipe.producer_commit(); }
            if (k > 0) {
                pipe.consumer_wait();
                if (t < 128) y[255 - (128 * (k - 1) + t)] = s[k - 1][t];
                pipe.consumer_release();
            }
        }""",
}


def kernel_of(number: int, body: str) -> str:
    return (
        f'extern "C" __global__ void k{number}(float* y, const float* x) {{\n'
        f"    auto block = cg::this_thread_block();\n    const int t = threadIdx.x;\n{body}\n}}\n"
    )


# Most of the time goes into the headers, so that all kernels are one source.
LIBRARIES = LIBRARY + "".join(kernel_of(n, body) for n, body in enumerate(BODIES.values()))


@pytest.mark.parametrize("number", range(len(BODIES)), ids=BODIES)
def test_libraries(number):
    right(LIBRARIES, REVERSED, X, 256, head="", name=f"k{number}")


def test_integers_have_one_type_in_all_headers():
    """Else the run-time compiler refuses two of them together, and nvcc takes seconds."""
    both = "#include <cuda_pipeline.h>\n#include <cuda_awbarrier.h>\n"
    source = f"#include <cstdint>\n{both}__global__ void k(uint64_t* y, uintptr_t x) {{ *y = x; }}"
    compiled = compile_source(source)
    assert (compiled.compiler, compiled.kernels[0].mangled) == ("nvrtc", "_Z1kPmm")
    assert compile_source(PTX + LIBRARIES).compiler == "nvrtc"
