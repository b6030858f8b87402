"""What lab 501 shows of its records: stages, the way from host memory, PyTorch, and figures."""

import pytest

from helpers.bench import results
from helpers.device import Device, select
from helpers.experiments import network_stages
from helpers.problems import datasets
from helpers.problems.lenet import network_plan, trained_weights
from tests import records

MINE = ("conv2d_register_tiled", "conv2d_register_tiled")
LARGE = network_stages.LARGE


@pytest.fixture
def record():
    return results.recorded("501_lenet")


def test_the_stages_are_those_from_floats_on(record):
    apart = network_stages.stages(record, "apart")
    assert list(apart) == ["conv 1", "pool 1", "conv 2", "pool 2", "dense"]
    whole = network_stages.wholes(record)["apart"]
    assert 0.9 * whole < sum(apart.values()) < 1.1 * whole
    assert set(network_stages.stages(record, "fused", 100)) == {
        "conv + pool 1", "conv + pool 2", "dense",
    }  # fmt: skip


def test_only_a_hopper_gpu_runs_the_form_on_warpgroups():
    here = select()
    assert list(network_stages.forms(here, MINE)) == ["apart", "fused", "tensor cores"]
    hopper = Device(**{**vars(here), "kind": "gpu", "compute_capability": (9, 0)})
    found = network_stages.forms(hopper, MINE)
    assert found["warpgroups"] == network_plan.FASTEST and list(found)[-1] == "warpgroups"
    ampere = Device(**{**vars(here), "kind": "gpu", "compute_capability": (8, 6)})
    assert "warpgroups" not in network_stages.forms(ampere, MINE)


def test_the_last_form_is_timed_from_host_memory(monkeypatch):
    seen = {}

    def measured(weights, images, forms, batches, *, host, others):
        seen.update(forms=forms, batches=batches, host=host, images=len(images), others=others)
        yield {"series": "toy"}

    monkeypatch.setattr(network_stages.lenet_times, "measure", measured)
    monkeypatch.delenv(trained_weights.WEIGHTS_VARIABLE, raising=False)
    forms = {"apart": MINE, "fused": network_plan.FUSED}
    assert list(network_stages.measure(forms)) == [{"series": "toy"}]
    assert seen["host"] == "fused" and seen["forms"] == forms and seen["others"] == []
    assert seen["batches"] == (100, 1_000, 10_000)
    monkeypatch.setenv(trained_weights.WEIGHTS_VARIABLE, "a file")
    monkeypatch.setattr(trained_weights, "course_weights", lambda: "weights")
    list(network_stages.measure(forms))
    assert seen["others"] == ["weights"]


def test_the_slower_part_bounds_the_way_from_the_host(record):
    form = network_stages.host_form(record)
    table, where = network_stages.host_bounds(record), {"form": form, "batch": LARGE}
    line = next(one for one in table.splitlines() if one.startswith("10,000") and "floats" in one)
    copy = record.one(series="copy", **where, input="floats", parts=1)["median_ms"]
    whole = record.one(series="whole", **where)["median_ms"]
    assert copy > whole and "the copy" in line and f"{copy / whole:.1f}" in line
    swapped = records.slower(record, lambda *_: 1e-3, series="copy", input="floats")
    other = network_stages.host_bounds(swapped)
    line = next(one for one in other.splitlines() if one.startswith("10,000") and "floats" in one)
    assert "the device" in line and f"{whole / 1e-3:.1f}" in line


def test_the_least_ratio_is_that_of_pytorchs_fastest_way():
    data = results.recorded("benchmark_lenet")
    ratios = [row for row in data.rows() if row["series"] == "ratio"]
    assert network_stages.slowest_ratio(data) == min(row["ratio"] for row in ratios)
    large = [row["ratio"] for row in ratios if row["batch"] == LARGE]
    assert network_stages.slowest_ratio(data, LARGE) == min(large)


def test_a_harmless_change_has_no_finding_and_a_missing_barrier_has_one():
    few = datasets.fashion_mnist("test", 1).pixels
    broken = network_stages.Broken(trained_weights.lenet_weights(), few, MINE)
    assert "no finding" in broken("none", "lenet_pool", "// the ReLU", "// ReLU")
    barrier = "if (k > 0) __syncthreads();"
    assert "race" in broken("three", "lenet_dense", barrier, "")
