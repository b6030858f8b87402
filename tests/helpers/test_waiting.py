"""Chains and copies of the lab on latency: right in the simulator, and wrong ones refused."""

import dataclasses

import numpy as np
import pytest

from helpers import bench, launch, simulator
from helpers.bench import results, sass
from helpers.bench.counts import NOT_YET
from helpers.bench.memory import DRIVER, Memcpy
from helpers.bench.sources import KernelError
from helpers.experiments import waiting
from tests.bench.test_bench import cell_of
from tests.kernels.mutants import mutants, require_named


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.mark.parametrize("stride", [1, 4, 32])
def test_a_chain_is_one_cycle_through_every_stride(rng, stride):
    following = waiting.chain(512, rng, stride)
    cell, seen = 0, []
    for _ in range(512 // stride):
        seen.append(cell)
        cell = int(following[cell])
    assert cell == 0
    assert sorted(seen) == list(range(0, 512, stride))
    others = np.setdiff1d(np.arange(512), seen)
    assert (following[others] == others).all()


def test_a_chain_of_one_cell_is_refused(rng):
    with pytest.raises(ValueError, match="needs two cells at least: 32 cells have 1"):
        waiting.chain(32, rng)


@pytest.mark.parametrize(
    ("name", "cells", "stride"), [(waiting.CHAIN, 2048, 32), (waiting.SHARED_CHAIN, 1024, 1)]
)
@pytest.mark.parametrize(("start", "steps"), [(0, 0), (32, 1), (0, 777)])
def test_kernels_reach_the_cell_that_python_reaches(rng, name, cells, stride, start, steps):
    following, last = waiting.chain(cells, rng, stride), np.full(1, -1, np.int32)
    plan = waiting.chain_plan(name, cells, start, steps)
    (findings,) = launch.simulate(plan, {"last": last, "next": following}, simulator.check)
    assert not findings
    assert last[0] == waiting.walk(following, start, steps)


@pytest.mark.parametrize("loads", [1, 2, 4, 8])
@pytest.mark.parametrize("cells", [1, 63, 64, 4099])
def test_a_copy_of_any_length_is_whole(loads, cells):
    copy = bench.memcpy(cells)
    assert copy.check(copy.kernel(waiting.COPY, LOADS=loads, WARPS=2))


@pytest.mark.parametrize("mutant", mutants("flight_"), ids=lambda mutant: mutant.name)
def test_wrong_copies_are_rejected(mutant):
    copy = bench.memcpy()
    kernel = copy.kernel(waiting.COPY)
    wrong = dataclasses.replace(kernel, text=mutant.source, function=mutant.name)
    require_named(mutant, copy.check(wrong).findings)


def test_a_launch_has_the_warps_loads_and_shared_memory_that_were_asked_for():
    copy = Memcpy(2**20, 132)
    (walking,) = copy.plan(copy.kernel(waiting.COPY, WARPS=8, LOADS=2))
    assert (walking.grid, walking.shared) == ((4 * 132, 1, 1), 0)
    limited = copy.kernel(waiting.COPY, WARPS=64, LOADS=2, SHARED_KB=13)
    for kernel in (limited, limited.changed("0.0f", "1.0f")):  # the text has no shared array
        (limits,) = copy.plan(kernel)
        assert (limits.grid, limits.shared) == ((32 * 132, 1, 1), 13 * 1024)


def test_the_record_has_every_point_of_the_figures():
    made = results.load(results.MEASURED / "106_waiting.json")
    shares = waiting.shares(made)
    assert sorted(shares) == sorted(
        (warps, loads) for warps in (2, 4, 8, 16, 32, 64) for loads in (1, 2, 4, 8)
    )
    sizes = [row["bytes"] for row in made.rows() if row["series"] == waiting.CHAIN]
    assert sizes == list(waiting.CHAIN_BYTES)
    copy = bench.memcpy()
    sweep = copy.sweep(waiting.COPY, LOADS=(1, 8), WARPS=(2, 64), record="106_waiting")
    driver = copy.sweep(DRIVER, record="106_waiting")
    for one in sweep:
        settings = dict(one.kernel.settings)
        share = shares[settings["warps"], settings["loads"]]
        assert share == pytest.approx(100 * driver[0].ms / one.ms)


def test_the_orders_of_an_earlier_record_are_kernels_of_their_own():
    copy = bench.memcpy()
    kernels = [copy.kernel(waiting.COPY), copy.kernel(waiting.COPY, label="one loop")]
    driver = copy.sweep(DRIVER, record="106_orders")
    times = copy.sweep(*kernels, WARPS=(2, 64), record="106_orders")
    first, _, one, _ = (time.ms for time in times)
    assert one > 2 * first
    table = waiting.speeds(times, driver).splitlines()
    shares = [f"{100 * driver[0].ms / times[k].ms:.0f}" for k in (1, 3)]
    assert [line.split()[-1] for line in table] == ["warps", *shares]
    missing = copy.sweep(bench.yours("copy_in_flight"), WARPS=(2,))
    last = waiting.speeds(missing, driver).splitlines()[-1]
    assert last.startswith(NOT_YET) and last.endswith("-")


def test_a_students_copy_that_passes_has_the_bound_of_its_speed():
    copy, mine = bench.memcpy(), cell_of(waiting.COPY, of=waiting.COPY)
    driver = copy.sweep(DRIVER, record="106_orders")
    times = copy.sweep(waiting.COPY, mine, WARPS=(2, 64), record="106_orders")
    lines = waiting.speeds(times, driver).splitlines()
    most = [f"{100 * driver[0].ms / times.at_least(one).value:.0f}" for one in times[2:]]
    assert [word.strip() for word in lines[2].split("<=")[1:]] == most
    assert " ".join(lines[3:]).startswith("<=: a bound by its counts (DRAM), not a speed.")
    assert max(map(len, lines)) <= 100


def test_the_order_of_loads_and_stores_is_read_from_machine_code():
    copy = bench.memcpy()
    plain = copy.kernel(waiting.COPY).changed("LOADS; ++k", "1; ++k", label="one load")
    lines = sass.orders(
        copy, waiting.COPY, plain, bench.yours("copy_in_flight"), LDG="L", STG="S"
    ).splitlines()
    assert lines[1].split()[1].startswith("LLLLSSSS")
    assert lines[2].split()[-1].startswith("LS")
    assert lines[3].strip() == NOT_YET


def test_a_copy_has_one_library_and_names_its_kernels():
    copy = bench.memcpy()
    with pytest.raises(KernelError, match="no kernel 'memcpy' that copies; choose from copy_in_"):
        copy.kernel("memcpy")
    with pytest.raises(KernelError, match="library without a source"):
        copy.count(DRIVER)
    assert copy.work.bytes == 2 * 4 * 2**25


@pytest.mark.gpu
def test_the_drivers_copy_and_ours_are_timed_on_the_gpu():
    copy = bench.memcpy(2**22)
    times = copy.sweep(waiting.COPY, DRIVER, record="106_test")
    assert all(one.ms and one.ms < 1 for one in times)
