"""Chains and copies of the lab on latency: right in the simulator, and wrong ones refused."""

import numpy as np
import pytest

from helpers import launch, simulator
from helpers.bench import results
from helpers.experiments import waiting
from tests.support import mutants, require_named


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


@pytest.mark.parametrize("loads", waiting.LOADS)
@pytest.mark.parametrize("cells", [1, 63, 64, 4099])
def test_a_copy_of_any_length_is_whole(rng, loads, cells):
    values, out = rng.random(cells, dtype=np.float32), np.full(cells, np.nan, np.float32)
    plan = waiting.copy_plan(cells, 3, loads)
    (findings,) = launch.simulate(plan, {"out": out, "in": values}, simulator.check)
    assert not findings
    assert (out == values).all()


@pytest.mark.parametrize("mutant", mutants("flight_"), ids=lambda mutant: mutant.name)
def test_wrong_copies_are_rejected(rng, mutant):
    values, out = rng.random(4099, dtype=np.float32), np.full(4099, np.nan, np.float32)
    other = {waiting.COPY: (mutant.name, mutant.source)}
    plan = launch.replaced(waiting.copy_plan(4099, 3, 4), other)
    (findings,) = launch.simulate(plan, {"out": out, "in": values}, simulator.check)
    require_named(mutant, findings)


def test_the_machine_code_has_the_order_that_the_lab_names():
    first, one, promised = (waiting.access_order(order) for order in waiting.ORDERS)
    assert set(first.split("S")) <= {"LLLL", ""}, "four loads before each store of a round"
    assert "LL" not in one, "one load in flight"
    assert promised.startswith("LLLLS"), "the promise lets loads pass stores"


@pytest.mark.parametrize("order", waiting.ORDERS)
def test_a_copy_is_whole_in_every_order(rng, order):
    values, out = rng.random(4099, dtype=np.float32), np.full(4099, np.nan, np.float32)
    plan = waiting.copy_plan(4099, 3, waiting.ORDER_LOADS, order)
    (findings,) = launch.simulate(plan, {"out": out, "in": values}, simulator.check)
    assert not findings
    assert (out == values).all()


def test_one_load_in_flight_is_slower_and_a_promise_mends_it():
    """The lab says so of the record, at every number of warps."""
    rows = results.load(results.MEASURED / "106_orders.json").rows()
    ms = {(row["order"], row["warps"]): row["median_ms"] for row in rows if "order" in row}
    for warps in {number for _, number in ms}:
        first, one, promised = (ms[order, warps] for order in waiting.ORDERS)
        assert one > 1.2 * first
        assert promised < 1.1 * first


def test_littles_law_by_hand():
    # 1,320 bytes per ns over 132 multiprocessors are 10 each; each byte is 256 ns on its way.
    need = waiting.need(1320e9, 256.0, 132)
    assert need.bytes == pytest.approx(2560)
    assert need.warps(1) == pytest.approx(20)
    assert need.warps(4) == pytest.approx(5)


def test_the_record_has_every_point_of_the_figures():
    made = results.load(results.MEASURED / "106_waiting.json")
    shares = waiting.shares(made)
    warps = [blocks * waiting.THREADS // 32 for blocks in waiting.BLOCKS]
    assert sorted(shares) == sorted((w, loads) for w in warps for loads in waiting.LOADS)
    sizes = [row["bytes"] for row in made.rows() if row["series"] == waiting.CHAIN]
    assert sizes == list(waiting.CHAIN_BYTES)
    assert not made.changed_sources()
