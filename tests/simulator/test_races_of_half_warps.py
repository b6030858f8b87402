"""Races where half-warps touch neighbouring places at once: the observer keeps one cell for all."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import simulator

BLOCK = 64
_BEFORE = "__shared__ {type} tile[128];\nint t = threadIdx.x; {type} sum = 0;\n"
_AFTER = "\ny[blockIdx.x * blockDim.x + t] = sum;"


def findings(body: str, element: str = "float", grid: int = 1, n: int = BLOCK) -> tuple:
    dtype = {"float": np.float32, "double": np.float64}[element]
    source = (
        f'extern "C" __global__ void k({element}* y, {element}* x) {{\n'
        f"{_BEFORE.format(type=element)}{body}{_AFTER}\n}}"
    )
    y, x = np.zeros(grid * BLOCK, dtype), np.ones(n, dtype)
    return simulator.check(source, "k", y, x, grid=(grid,), block=(BLOCK,))


# What comes after `tile[t] = t;`, and a barrier that makes it right.
READS = {
    "one behind the other, by the other warp": "sum = tile[t ^ 32];",
    "one place": "sum = tile[40];",
    "one place each half": "sum = tile[t / 16 * 16 ^ 32];",
    "in reverse": "sum = tile[63 - t];",
    "by one lane": "if (t == 5) sum = tile[50];",
    "past the stretch": "if (t > 0) sum = tile[t - 1];",
    "by a part of the warp": "if (t < 7) sum = tile[t + 33];",
    "after its own": "sum = tile[t]; sum += tile[t ^ 32];",
}


@pytest.mark.parametrize("element", ["float", "double"])
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_read_of_what_another_warp_stores(read, element):
    found = findings(f"tile[t] = t;\n{read}", element)
    # Where the reader runs first, it also reads what nothing has written.
    races = [f for f in found if f.kind != "uninitialised"]
    assert {(f.kind, f.array) for f in races} == {("race", "tile")}
    assert {f.line for f in found} <= {4, 5}
    assert findings(f"tile[t] = t;\n__syncthreads();\n{read}", element) == ()


WRITES = {
    "one behind the other": "tile[t ^ 32] = 2 * t;",
    "by one lane": "if (t == 5) tile[50] = -1;",
    "shifted": "if (t < 63) tile[t + 1] = -t;",
    "in reverse": "tile[63 - t] = -t;",
}


@pytest.mark.parametrize("element", ["float", "double"])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_store_over_what_another_warp_reads_or_stores(write, element):
    for first in ("tile[t] = 100 + t;", "tile[t] = 1;\n__syncthreads();\nsum = tile[t];"):
        # What is read at last, the compiler may not leave out.
        last = "__syncthreads();\nsum += tile[t];"
        assert {f.kind for f in findings(f"{first}\n{write}\n{last}", element)} == {"race"}
        assert findings(f"{first}\n__syncthreads();\n{write}\n{last}", element) == ()


def test_a_place_is_known_after_many_turns():
    turns = "for (int k = 0; k < 5; ++k) {{ tile[t] = k; {} sum += tile[(t + 17) % 64]; {} }}"
    both, first = (turns.format("__syncthreads();", b) for b in ("__syncthreads();", ""))
    assert findings(both) == ()
    assert {f.kind for f in findings(first)} == {"race"}


# Enough blocks for several workers, of which one finds it.
BLOCKS = 1024


@pytest.mark.parametrize(
    "body",
    [
        "x[t] = blockIdx.x;",  # stretches against stretches
        "if (blockIdx.x == 900) sum = x[5 * 64 + 3]; else x[blockIdx.x * 64 + t] = t;",
        "if (blockIdx.x == 3) x[900 * 64 + 3] = 7; else sum = x[blockIdx.x * 64 + t];",
        "sum = x[blockIdx.x * 64 + t]; x[(blockIdx.x * 64 + t + 64) % (1024 * 64)] = 5;",
    ],
)
def test_a_race_between_blocks(body):
    found = findings(body, grid=BLOCKS, n=BLOCKS * BLOCK)
    assert {(f.kind, f.array) for f in found} == {("race", "x")}


@pytest.mark.parametrize(
    "body",
    [
        "x[blockIdx.x * 64 + t] += 1;",
        "sum = x[t] + x[(t + 5) % 64] + x[blockIdx.x % 64];",
        "if (blockIdx.x % 2) sum = x[t + 64]; else sum = x[2 * t];",
        "if (t < 50) x[blockIdx.x * 64 + t] = 1; else x[blockIdx.x * 64 + t] = 2;",
    ],
)
def test_blocks_that_do_not_meet(body):
    assert findings(body, grid=BLOCKS, n=BLOCKS * BLOCK) == ()
