"""Random kernels: the simulator finds a race in each array where random_kernels.py knows of one,
names lines that race, and says nothing about a right kernel. Random programs: what their launches
leave is what the Python text of random_programs.py leaves, bit for bit.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import random_programs
from random_kernels import BLOCKS, CELLS, THREADS, TURNS, Kernel, draw, source_of

from helpers import simulator

pytestmark = pytest.mark.long

SEEDS = range(24)
TOGETHER = 12  # kernels of one source
RUNNERS = {
    "check": simulator.check,
    "profile": lambda *args, **more: simulator.profile(*args, **more).findings,
}


@cache
def drawn(first: int, right: bool) -> tuple[str, list[Kernel]]:
    """One source with the kernels of TOGETHER seeds."""
    kernels = [draw(f"k{seed}", seed, right) for seed in range(first, first + TOGETHER)]
    return source_of(kernels), kernels


def findings_of(source: str, kernel: Kernel, runner: str):
    cells, by_block = np.zeros(CELLS, np.int32), np.zeros(BLOCKS * CELLS, np.int32)
    x = np.arange(THREADS, dtype=np.int32) % 5
    return RUNNERS[runner](
        source, kernel.name, np.zeros(BLOCKS * THREADS, np.int32), by_block, cells, x,
        np.int32(TURNS), grid=(BLOCKS,), block=(THREADS,),
    )  # fmt: skip


def cases():
    """Every seed is checked; every third one is profiled, too."""
    for seed in SEEDS:
        yield seed, "check"
        if seed % 3 == 0:
            yield seed, "profile"


@pytest.mark.parametrize(("seed", "runner"), list(cases()))
def test_a_right_kernel_has_no_finding(seed, runner):
    source, kernels = drawn(seed - seed % TOGETHER, right=True)
    kernel = kernels[seed % TOGETHER]
    assert kernel.races() == {}
    assert findings_of(source, kernel, runner) == (), kernel.text()


@pytest.mark.parametrize(("seed", "runner"), list(cases()))
def test_the_races_of_a_kernel_are_found_and_no_others(seed, runner):
    source, kernels = drawn(seed - seed % TOGETHER, right=False)
    kernel = kernels[seed % TOGETHER]
    known = kernel.races()
    found = findings_of(source, kernel, runner)
    races = [(f.array, frozenset((f.line, f.other_line))) for f in found if f.kind == "race"]
    for array, lines in races:
        assert lines in known.get(array, ()), (array, lines, kernel.text())
    # One finding may be about several arrays, between which one barrier is missing.
    causes = " ".join(f.cause for f in found)
    named = {array for array in known if f" ({array})" in causes}
    named |= {array for array, _ in races}
    assert named >= set(kernel.races(certain=True)), kernel.text()
    # An element may be read before the store that races with this load.
    others = {(f.kind, f.array) for f in found if f.kind != "race"}
    assert others <= {("uninitialised", array) for array in known}, kernel.text()


def test_most_kernels_of_the_second_kind_race():
    racing = [kernel for first in (0, TOGETHER) for kernel in drawn(first, right=False)[1]]
    assert sum(bool(kernel.races()) for kernel in racing) > len(racing) / 2


def test_the_oracle_knows_what_orders_two_threads():
    """The same store and load with each kind of barrier between them, and with none."""
    from random_kernels import Access, Line

    store = Line("f = t;", (Access("store", "f", "f", lambda b, t, i: 0),), lambda b, t, i: t == 5)

    def races(reader: int, sync: str) -> bool:
        load = Line(
            "v = f;", (Access("load", "f", "f", lambda b, t, i: 0),), lambda b, t, i: t == reader
        )
        between = [Line("", sync=sync)] if sync else []
        return bool(Kernel("k", [store, *between, load]).races())

    assert races(6, "") and races(40, "") and races(40, "warp")
    assert not (races(5, "") or races(6, "warp") or races(6, "block") or races(40, "block"))


# ---- random programs ----


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.usefixtures("cuda")
def test_a_program_leaves_what_its_emulation_leaves(seed):
    program, given = random_programs.draw(seed), random_programs.inputs(seed)
    assert random_programs.differences(program, given) == []


@pytest.mark.parametrize(
    ("text", "instead", "array"),
    [
        ("(int)((unsigned)a - (unsigned)b)", "a + b", "out"),
        ("fminf(fmaxf(a, -1e6f), 1e6f)", "1e-6f + fminf(fmaxf(a, -1e6f), 1e6f)", "real"),
        ("__hmin2(__hmax2(a, ", "__hmin2(__hmin2(a, ", "pairs"),
    ],
)
@pytest.mark.usefixtures("cuda")
def test_a_program_that_computes_otherwise_is_seen(text, instead, array):
    program, given = random_programs.draw(1), random_programs.inputs(1)
    assert program.cuda.count(text) == 1
    wrong = replace(program, cuda=program.cuda.replace(text, instead))
    assert any(one.startswith(array) for one in random_programs.differences(wrong, given))


def test_an_emulated_sum_of_a_product_is_rounded_once():
    from emulated_operations import fused

    # The product is a little below 1, and the sum a little below the middle of two floats.
    one, other, more = np.float32(1 + 2**-23), np.float32(1 - 2**-23), np.float32(2**24 + 2)
    assert fused(one, other, more) == more and one * other + more == more + np.float32(2)
