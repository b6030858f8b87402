"""Several workers run the blocks of a launch. The counters, the findings and the outputs are those
of one worker, bit for bit.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from instances import Kernels

from evidence.counters import cases as counter_cases
from helpers import simulator
from helpers.simulator.launch import launch as launches

sys.path.insert(0, str(Path(__file__).resolve().parent / "counters"))

import strangers

KERNELS = Path(__file__).resolve().parent / "counters"
INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
WORKERS = (2, 3)


class Runs:
    """Profiles launches on a number of workers, and notes how many have run the last launch."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self._monkeypatch, self.used = monkeypatch, 0
        monkeypatch.setattr(launches, "_WORTH_SEVERAL_WORKERS", 1)
        run = simulator.run_launch

        def noted(*args, **more):
            report = run(*args, **more)
            self.used = report.workers
            return report

        monkeypatch.setattr(simulator, "run_launch", noted)
        self._rehearse = launches._rehearse

    def profile(self, workers: int, source: str, name: str, arguments: list, **more):
        """Returns everything that must be equal: the profile and the arrays after the launch."""
        cores = set(range(workers))
        self._monkeypatch.setattr(os, "sched_getaffinity", lambda _: cores, raising=False)
        # One worker runs every rehearsal, so that the first one is enough.
        rehearse = self._rehearse if workers == 1 else lambda *_: None
        self._monkeypatch.setattr(launches, "_rehearse", rehearse)
        arrays = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        profile = simulator.profile(source, name, *arrays, **more)
        return comparable(profile), [a.tobytes() for a in arrays]

    def require_equal(self, source: str, name: str, arguments: list, **more) -> set[int]:
        """Compares several workers with one. Returns the numbers of workers that ran blocks."""
        alone, used = self.profile(1, source, name, arguments, **more), set()
        for workers in WORKERS:
            together = self.profile(workers, source, name, arguments, **more)
            used.add(self.used)
            assert together == alone, f"{name} on {workers} workers"
        return used


def comparable(profile: simulator.Profile) -> dict:
    """A profile without its seconds, and without the causes of findings: a launch that was not
    rehearsed has not tried them. `counts` by its numbers.
    """
    fields = {f.name: getattr(profile, f.name) for f in dataclasses.fields(profile)}
    fields["findings"] = [dataclasses.replace(one, causes=()) for one in profile.findings]
    counts = fields.pop("counts")
    del fields["seconds"]
    numbers = (counts.executed.tolist(), dict(counts.totals)) if counts is not None else None
    models = [row.model for row in profile.lines]
    return {**fields, "models": models, "counts": numbers, "counters": profile.counters()}


@pytest.fixture
def runs(monkeypatch) -> Runs:
    return Runs(monkeypatch)


def kernel(body: str, parameters: str) -> str:
    return f'extern "C" __global__ void k({parameters})\n{{\n{INDEX}{body}\n}}\n'


# ---- the launches whose counters a GPU gave ----


# Of the labs' kernels, one for each thing that its threads share or wait for; those of the folder
# counters/ are counted all.
MECHANISMS = {
    "copy_in_flight": "loads in flight",
    "conv1d_constant_divergent": "constants, another one for each lane",
    "conv1d_vector": "loads of several cells",
    "conv1d_tiled_cached_halo": "a tile, and its halo from the caches",
    "conv1d_fft_overlap_add": "transforms in shared memory, and atomics",
    "conv2d_tiled": "a tile with its halo",
    "conv2d_register_images": "several outputs a thread",
    "conv2d_half2": "pairs of halves",
    "conv2d_channels_atomics": "sums of floats by atomics",
    "conv2d_channels_shuffle": "sums by shuffles",
    "conv2d_channels_tree": "sums by a tree",
    "conv2d_implicit_gemm_fast": "a product of matrices that are not stored",
    "im2col_basic": "a matrix that is stored",
    "gemm_tiled": "a product of stored matrices",
    "lenet_conv_pool": "a convolution and what follows it",
    "lenet_dense_split": "partial sums of several blocks",
}


def smallest_launches() -> list[counter_cases.Case]:
    """The smallest launch of each kernel that has enough blocks for three workers."""

    def threads(launch: counter_cases.Case) -> int:
        return int(np.prod(launch.grid) * np.prod(launch.block))

    chosen: dict[str, counter_cases.Case] = {}
    for launch in sorted(counter_cases.matching("", KERNELS), key=threads):
        counted = launch.kernel in MECHANISMS or launch.path.parent == KERNELS
        if counted and np.prod(launch.grid) >= 2 * max(WORKERS):
            chosen.setdefault(launch.kernel, launch)
    assert chosen.keys() >= MECHANISMS.keys(), MECHANISMS.keys() - chosen.keys()
    return list(chosen.values())


@pytest.mark.parametrize("case", smallest_launches(), ids=lambda case: case.kernel)
def test_a_counted_kernel_counts_the_same_on_several_workers(runs, case):
    runs.require_equal(
        case.path.read_text(), case.kernel, list(case.arguments()), grid=case.grid,
        block=case.block, shared=case.shared, options=case.options, constants=case.constants,
    )  # fmt: skip


# Kernels unlike the labs': structures, scans, hash tables, atomics of all kinds.
STRANGERS = {one.kernel: one for one in strangers.LAUNCHES if np.prod(one.grid) >= 6}


@pytest.mark.parametrize("name", STRANGERS)
def test_a_strangers_kernel_counts_the_same_on_several_workers(runs, name):
    one = STRANGERS[name]
    runs.require_equal(
        one.path.read_text(), one.kernel, list(one.arguments()), grid=one.grid, block=one.block,
        shared=one.shared, options=one.options, constants=one.constants,
    )  # fmt: skip


# ---- what depends on the order of the blocks ----

BLOCKS = 96  # each one a batch of its own, so that neighbours run on different workers


@pytest.mark.parametrize("first", ["writes", "reads"])
def test_a_sector_counts_as_read_if_the_first_of_its_blocks_reads_it(runs, first):
    # Eight blocks share a sector of 32 bytes. The lowest one decides whether DRAM must deliver it.
    condition = "blockIdx.x % 8 == 0" if first == "writes" else "blockIdx.x % 8 != 0"
    source = kernel(
        f"if ({condition}) y[blockIdx.x] = 1;\nelse z[blockIdx.x] = y[blockIdx.x];",
        "float* y, float* z",
    )
    arrays = [np.ones(BLOCKS, np.float32), np.zeros(BLOCKS, np.float32)]
    for _ in range(5):
        assert runs.require_equal(source, "k", arrays, grid=(BLOCKS,), block=(1,)) == {2, 3}
    alone, _ = runs.profile(1, source, "k", arrays, grid=(BLOCKS,), block=(1,))
    assert alone["counts"][1]["sectors_read"] == (0 if first == "writes" else BLOCKS / 8)


def test_warps_alternate_at_the_same_places_in_every_block(runs):
    # Each turn of a warp ends after 65,536 backward branches. The tickets show who came first.
    body = """
    __shared__ unsigned ticket, drawn[2];
    if (threadIdx.x == 0) ticket = 0;
    __syncthreads();
    unsigned mixed = threadIdx.x;
    #pragma unroll 1
    for (int k = 0; k < (threadIdx.x < 32 ? 40000 : 20000); ++k)
        mixed = mixed * 1664525u + (mixed >> 3);
    if (threadIdx.x % 32 == 0) drawn[threadIdx.x / 32] = atomicAdd(&ticket, 1u) + (mixed == 7);
    __syncthreads();
    if (threadIdx.x < 2) y[2 * blockIdx.x + threadIdx.x] = drawn[threadIdx.x];
    """
    arrays = [np.zeros(2 * 12, np.uint32)]
    used = runs.require_equal(
        kernel(body, "unsigned* y"), "k", arrays, grid=(12,), block=(64,), outputs=["y"]
    )
    assert used == {2, 3}


@pytest.mark.parametrize("number", [0, 50, BLOCKS - 1])
def test_the_watched_block_may_run_on_any_worker(runs, number):
    body = "__shared__ float s[64];\ns[threadIdx.x] = y[i];\n__syncthreads();\n"
    body += "y[i] = s[63 - threadIdx.x];"
    arrays = [np.arange(64 * BLOCKS, dtype=np.float32)]
    used = runs.require_equal(
        kernel(body, "float* y"), "k", arrays, grid=(BLOCKS,), block=(64,),
        watch=((number, 0, 0), 1),
    )  # fmt: skip
    assert used == {2, 3}


def test_several_workers_run_a_sample_of_the_blocks(runs):
    arrays = [np.zeros(32 * BLOCKS, np.float32)]
    more = {"grid": (BLOCKS,), "block": (32,), "sample_every": 5}
    assert runs.require_equal(kernel("y[i] += i;", "float* y"), "k", arrays, **more) == {2, 3}


# ---- updates of global memory ----


TYPES = {
    "int": np.int32, "unsigned": np.uint32, "unsigned long long": np.uint64, "long long": np.int64
}  # fmt: skip
UPDATES = {
    "Add": np.add, "Min": np.minimum, "Max": np.maximum, "And": np.bitwise_and,
    "Or": np.bitwise_or, "Xor": np.bitwise_xor,
}  # fmt: skip
# CUDA has no atomicAdd for long long.
COMMUTING = [(c, u) for c in TYPES for u in UPDATES if (c, u) != ("long long", "Add")]


def update_of(name: str) -> str:
    return f"{INDEX}atomic{name}(y + i % 5, x[i]);"


@pytest.mark.parametrize(("c_type", "update"), COMMUTING)
def test_updates_that_commute_run_on_several_workers(runs, c_type, update):
    together = [update_of(u) for c, u in COMMUTING if c == c_type]
    source, name = Kernels(together, f"{c_type}* y, const {c_type}* x").of(update_of(update))
    values = np.random.default_rng(3).integers(0, 1 << 30, 64 * BLOCKS).astype(TYPES[c_type])
    arrays = [values[:5].copy(), values]
    more = {"grid": (BLOCKS,), "block": (64,)}
    assert runs.require_equal(source, name, arrays, **more) == {2, 3}
    want = values[:5].copy()
    UPDATES[update].at(want, np.arange(values.size) % 5, values)
    assert runs.profile(2, source, name, arrays, **more)[1][0] == want.tobytes()


ORDERED = [
    "x[i] = atomicAdd(y + i % 5, 1);",  # shows the order
    "atomicExch(y + i % 5, i);",
    "atomicAdd((float*)y + i % 5, 0.1f * i);",  # rounds each sum
    "atomicAdd(y + i % 5, 1);\natomicMax(y + i % 5, i);",  # two kinds
    "if (i % 3) atomicAdd(y + i % 5, 1);\nelse atomicOr(y + i % 5, i);",
    "atomicInc((unsigned*)y + i % 5, 1000);",
    "atomicCAS(y + i % 5, i, i + 1);",
    # Races with other blocks, in either order.
    "if (i == 33) x[i] = y[3];\nelse atomicAdd(y + i % 5, 1);",
    "if (i == 64 * 95) x[i] = y[3];\nelse atomicAdd(y + i % 5, 1);",
    "if (i == 33) y[3] = 7;\nelse atomicAdd(y + i % 5, 1);",
    "if (i == 64 * 95) y[3] = 7;\nelse atomicAdd(y + i % 5, 1);",
]


@pytest.mark.parametrize("body", ORDERED)
def test_one_worker_runs_updates_whose_order_matters(runs, body):
    arrays = [np.zeros(5, np.int32), np.zeros(64 * BLOCKS, np.int32)]
    source, name = Kernels([INDEX + each for each in ORDERED], "int* y, int* x").of(INDEX + body)
    more = {"grid": (BLOCKS,), "block": (64,), "outputs": []}
    assert runs.require_equal(source, name, arrays, **more) == {1}
