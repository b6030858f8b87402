"""Kernels that are right and leave the GPU idle: the last block does everything, or the first warp
of each block, or one thread. They are made from the solutions, so that no exercise is left out.
"""

from __future__ import annotations

import re

import pytest

from helpers import exercises
from helpers.exercises.judge.exercise import Exercise

ALL = [one for one in map(exercises.find, exercises.names()) if isinstance(one, Exercise)]
# One warp is all that these launch, and one block all that the others do.
ONE_WARP = ("one_mma", "one_ldmatrix", "two_products", "split_sum", "swizzled_fragments")
ONE_BLOCK = ("small_product", "squares", "store_rows", "wgmma_taps", *ONE_WARP)
ONCE = ("copy_bulk",)  # sets up mbarriers, which a block may do once: a loop of it is a finding
SHARED = [one for one in ALL if one.name not in (*ONE_BLOCK, *ONCE)]
WARP_A_BLOCK = ("split_product", "tile_order")  # their blocks have one warp each
# Without a barrier or a shuffle one thread can do what another one should.
ALONE = [
    one
    for one in SHARED
    if one.name not in WARP_A_BLOCK
    and "__sync" not in one.solution
    and "_sync(" not in one.solution
]

LAST_BLOCK = """
    if (blockIdx.x + 1 < gridDim.x || blockIdx.y + 1 < gridDim.y) return;
    if (blockIdx.z + 1 < gridDim.z) return;
    for (unsigned k = 0; k < gridDim.z; ++k)
        for (unsigned j = 0; j < gridDim.y; ++j)
            for (unsigned i = 0; i < gridDim.x; ++i) {{
                work({names}, make_uint3(i, j, k),
                     make_uint3(threadIdx.x, threadIdx.y, threadIdx.z));
                __syncthreads();
            }}
"""
FIRST_WARP = """
    const unsigned t = threadIdx.y * blockDim.x + threadIdx.x;
    if (t >= {threads}) return;
    for (unsigned k = t; k < blockDim.x * blockDim.y; k += {threads})
        work({names}, make_uint3(blockIdx.x, blockIdx.y, blockIdx.z),
             make_uint3(k % blockDim.x, k / blockDim.x, 0));
"""


def rearranged(text: str, body: str, **words: object) -> str:
    """A solution whose kernel is a function of block and thread, called as `body` says."""
    head, source = text.split("\n", 1)
    bounds = r"(?:__launch_bounds__\([^)]*\) )?"
    found = re.search(rf'(?:extern "C" )?__global__ void {bounds}(\w+)\(([^)]*)\)', source)
    assert found is not None
    name, parameters = found[1], found[2]
    names = ", ".join(re.findall(r"(\w+)\s*(?:,|$)", parameters))
    end = source.index("\n}\n", found.end()) + 3
    code = re.sub(r"\b(thread|block)Idx\b", r"\1", source[found.end() : end])
    work = f"__device__ void work({parameters}, uint3 block, uint3 thread){code}"
    kernel = f"__global__ void {name}({parameters})\n{{{body.format(names=names, **words)}}}\n"
    return f"{head}\n{source[: found.start()]}{work}{source[end:]}\n{kernel}"


@pytest.mark.parametrize("one", SHARED, ids=lambda one: one.name)
def test_the_last_block_cannot_do_everything(one):
    verdict = one.judge(rearranged(one.solution, LAST_BLOCK))
    assert verdict.status == "budget", verdict
    assert "own part" in str(verdict) or "barriers" in str(verdict) or "waits" in str(verdict)


@pytest.mark.parametrize("one", ALONE, ids=lambda one: one.name)
def test_one_warp_cannot_do_the_work_of_its_block(one):
    verdict = one.judge(rearranged(one.solution, FIRST_WARP, threads=32))
    assert verdict.status == "budget", verdict


def test_one_thread_cannot_do_the_work_of_its_block():
    one = ALONE[0]
    verdict = one.judge(rearranged(one.solution, FIRST_WARP, threads=1))
    assert verdict.status == "budget", verdict


def test_the_rearrangement_itself_keeps_the_result():
    one = exercises.find("conv1d_edge")
    same = rearranged(one.solution, "work({names}, blockIdx, threadIdx);")
    assert one.judge(same).passed
