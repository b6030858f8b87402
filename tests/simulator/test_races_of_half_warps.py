"""Races where half-warps touch neighbouring places at once: the observer keeps one cell for all."""

from __future__ import annotations

import numpy as np
import pytest
from instances import Kernels

from helpers import simulator

BLOCK = 64
_BEFORE = "__shared__ {type} tile[128];\nint t = threadIdx.x; {type} sum = 0;\n"
_AFTER = "\ny[blockIdx.x * blockDim.x + t] = sum;"
TYPES = {"float": np.float32, "double": np.float64}


class Tiles:
    """Kernels that do something with a tile, for floats and for doubles: a source for each."""

    def __init__(self, bodies: list[str], elements: tuple[str, ...] = ("float", "double")):
        self._of = {
            element: Kernels(
                [self._whole(body, element) for body in bodies], f"{element}* y, {element}* x"
            )
            for element in elements
        }

    @staticmethod
    def _whole(body: str, element: str) -> str:
        return f"{_BEFORE.format(type=element)}{body}{_AFTER}"

    def findings(self, body: str, element: str = "float", grid: int = 1, n: int = BLOCK) -> tuple:
        """Returns what is found, by its kind, its array and its line of the body, from 1 on."""
        kernels, whole = self._of[element], self._whole(body, element)
        y, x = np.zeros(grid * BLOCK, TYPES[element]), np.ones(n, TYPES[element])
        found = simulator.check(*kernels.of(whole), y, x, grid=(grid,), block=(BLOCK,))
        first = kernels.line(whole, 3)
        return tuple((f.kind, f.array, f.line - first + 1) for f in found)


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


def read_after_store(read: str) -> tuple[str, str]:
    """The wrong kernel and the right one."""
    return f"tile[t] = t;\n{read}", f"tile[t] = t;\n__syncthreads();\n{read}"


READERS = Tiles([body for read in READS.values() for body in read_after_store(read)])


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_read_of_what_another_warp_stores(read, element):
    wrong, right = read_after_store(read)
    found = READERS.findings(wrong, element)
    # Where the reader runs first, it also reads what nothing has written.
    races = [(kind, array) for kind, array, _ in found if kind != "uninitialised"]
    assert set(races) == {("race", "tile")}
    assert {line for *_, line in found} <= {1, 2}
    assert READERS.findings(right, element) == ()


WRITES = {
    "one behind the other": "tile[t ^ 32] = 2 * t;",
    "by one lane": "if (t == 5) tile[50] = -1;",
    "shifted": "if (t < 63) tile[t + 1] = -t;",
    "in reverse": "tile[63 - t] = -t;",
}


def store_after(first: str, write: str) -> tuple[str, str]:
    """The wrong kernel and the right one; what is read at last, the compiler may not leave out."""
    last = "__syncthreads();\nsum += tile[t];"
    return f"{first}\n{write}\n{last}", f"{first}\n__syncthreads();\n{write}\n{last}"


FIRST = ("tile[t] = 100 + t;", "tile[t] = 1;\n__syncthreads();\nsum = tile[t];")
WRITERS = Tiles(
    [body for first in FIRST for write in WRITES.values() for body in store_after(first, write)]
)


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_store_over_what_another_warp_reads_or_stores(write, element):
    for first in FIRST:
        wrong, right = store_after(first, write)
        assert {kind for kind, *_ in WRITERS.findings(wrong, element)} == {"race"}
        assert WRITERS.findings(right, element) == ()


def test_a_place_is_known_after_many_turns():
    turns = "for (int k = 0; k < 5; ++k) {{ tile[t] = k; {} sum += tile[(t + 17) % 64]; {} }}"
    both, first = (turns.format("__syncthreads();", b) for b in ("__syncthreads();", ""))
    kernels = Tiles([both, first], ("float",))
    assert kernels.findings(both) == ()
    assert {kind for kind, *_ in kernels.findings(first)} == {"race"}


# Enough blocks for several workers, of which one finds it.
BLOCKS = 1024
MEETING = [
    "x[t] = blockIdx.x;",  # stretches against stretches
    "if (blockIdx.x == 900) sum = x[5 * 64 + 3]; else x[blockIdx.x * 64 + t] = t;",
    "if (blockIdx.x == 3) x[900 * 64 + 3] = 7; else sum = x[blockIdx.x * 64 + t];",
    "sum = x[blockIdx.x * 64 + t]; x[(blockIdx.x * 64 + t + 64) % (1024 * 64)] = 5;",
]
APART = [
    "x[blockIdx.x * 64 + t] += 1;",
    "sum = x[t] + x[(t + 5) % 64] + x[blockIdx.x % 64];",
    "if (blockIdx.x % 2) sum = x[t + 64]; else sum = x[2 * t];",
    "if (t < 50) x[blockIdx.x * 64 + t] = 1; else x[blockIdx.x * 64 + t] = 2;",
]
MANY_BLOCKS = Tiles([*MEETING, *APART], ("float",))


@pytest.mark.parametrize("body", MEETING)
def test_a_race_between_blocks(body):
    found = MANY_BLOCKS.findings(body, grid=BLOCKS, n=BLOCKS * BLOCK)
    assert {(kind, array) for kind, array, _ in found} == {("race", "x")}


@pytest.mark.parametrize("body", APART)
def test_blocks_that_do_not_meet(body):
    assert MANY_BLOCKS.findings(body, grid=BLOCKS, n=BLOCKS * BLOCK) == ()
