"""Patches in registers: loads, registers, broken kernels, and what is read off the records."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from matplotlib import pyplot as plt

from helpers import launch, simulator
from helpers.bench import results
from helpers.experiments import layer_counters, register_sizes, register_tiles
from helpers.experiments.register_tiles import BEST, KERNELS, LAYERS, PATCH
from helpers.limits import ConvShape
from helpers.problems import conv2d

RAGGED = ConvShape(2, 3, 5, 21, 30, 4)
WALKED = dataclasses.replace(
    conv2d.conv2d_named(BEST), patch=(4, 2, 8), patches=(9, 17, 1), staged=4, unroll=1
)


@pytest.fixture(scope="module")
def times() -> results.Record:
    return results.load(results.MEASURED / "112_register.json")


def test_the_filter_in_constant_memory_computes_the_same_layer():
    rng = np.random.default_rng(13)
    sizes = RAGGED.x_shape, RAGGED.filter_shape
    x, filter = (rng.uniform(-1, 1, size).astype(np.float32) for size in sizes)
    y = np.full(RAGGED.y_shape, np.nan, np.float32)
    plan = register_tiles.constant_plan(RAGGED)
    (seen,) = launch.simulate(plan, {"y": y, "x": x, "filter": filter}, simulator.profile)
    assert conv2d.check(y, x, filter, name="filter in constant memory") and not seen.findings
    assert seen.constant_load_requests > 0
    assert seen.total("requests", "global", "load", "filter") == 0


def test_loads_are_those_of_the_formula():
    assert register_tiles.loads("conv2d_basic", "layer 1")["global"] == 2
    patch = register_tiles.loads(PATCH, "layer 1")
    assert patch["global"] == pytest.approx((10 + 28) / 112, rel=1e-3)
    assert patch["shared"] == patch["constant"] == 0
    together = [sum(register_tiles.loads(kernel, "layer 2").values()) for kernel in KERNELS]
    assert together == sorted(together, reverse=True)


def test_lanes_of_patches_touch_more_sectors():
    basic, patch = map(register_tiles.sectors_per_load, ("conv2d_basic", PATCH))
    assert patch > 1.5 * basic


def test_a_kernel_as_it_is_passes_and_a_filter_in_another_order_does_not():
    assert "no finding. PASS" in register_tiles.trial(WALKED, "layer 2")
    assert "no finding. FAIL" in register_tiles.trial(WALKED, "layer 2", plain_filter=True)


def test_a_finding_comes_before_the_values():
    leave = (
        (
            "    const unsigned load_row",
            "    if (t >= PATCHES) return;\n    const unsigned load_row",
        ),
    )
    assert register_tiles.trial(WALKED, "layer 2", leave).startswith("uninitialised")
    with pytest.raises(ValueError, match="no 'no such line' to replace"):
        register_tiles.trial(WALKED, "layer 2", (("no such line", ""),))


def test_loops_that_stay_loops_take_local_memory():
    as_it_is, rolled = register_tiles.unrolling_table().splitlines()[-2:]
    assert as_it_is.split()[-1] == "0" and int(rolled.split()[-1]) >= 4 * (10 + 16)


def test_more_sums_leave_room_for_fewer_warps():
    few, many = (dataclasses.replace(WALKED, patch=(4, 2, maps)) for maps in (4, 16))
    lines = register_sizes.registers_table([few, many], "layer 2").splitlines()[-2:]
    warps = [int(line.split()[-2]) for line in lines]
    assert warps[0] > warps[1] > 0


def test_the_sweep_is_read_with_the_warps_that_fit():
    found = register_sizes.swept("layer 2")
    assert [one.ms for one in found] == sorted(one.ms for one in found)
    for one in found:
        assert 0 < one.warps <= register_sizes.MOST_WARPS
        assert one.warps * 32 * one.registers <= 65_536
    assert found[0].sums > found[-1].sums


def test_the_shares_of_the_issue_slots_multiply_to_the_share_of_the_peak(times):
    table = register_tiles.issue_table(layer_counters.recorded(), times)
    lines = [line.split() for line in table.splitlines() if line.startswith("layer")]
    assert len(lines) == len(KERNELS) * len(LAYERS)
    for words in lines:
        used, useful, product, clock, *_ = (float(word.rstrip("%")) / 100 for word in words[3:])
        assert product == pytest.approx(used * useful, abs=0.02)
        assert clock == pytest.approx(product, abs=0.08)


def test_a_record_without_the_variant_says_so(times):
    rows = [one for one in times.measurements if one.series != "constant filter"]
    without = dataclasses.replace(times, measurements=tuple(rows))
    assert "no time of it" in register_tiles.constant_words(without)
    more = {"layer": "layer 1", "kernel": PATCH, "ratio": 2.0, "low": 1.9, "high": 2.1}
    one = dataclasses.replace(rows[0], series="constant filter", timing=None, parameters=more)
    record = dataclasses.replace(times, measurements=(*rows, one))
    assert register_tiles.constant_words(record).endswith("2.00 x the time")


def test_tables_have_a_row_for_each_kernel(times, monkeypatch):
    assert register_tiles.steps_table(times).count("layer 1, ") == len(KERNELS)
    assert register_sizes.sizes_table().count("layer") == 4
    monkeypatch.setattr(register_sizes, "LAYERS", ("layer 2",))  # it compiles two kernels of each
    assert register_sizes.fittings_table().count("layer 2") == 2
    table = register_tiles.reported_table(times)
    assert all(f"report {letter}: " in table for letter in "ABC") and "streams" not in table


def test_figures_are_drawn_with_the_record_s_numbers(times):
    title = register_sizes.warps_figure().axes[0].get_title(loc="left")
    assert f"let {register_sizes.swept('layer 2')[0].warps} of 64" in title
    for figure in (
        register_tiles.patch_figure(),
        register_tiles.loads_figure(),
        register_tiles.access_figure(),
        register_tiles.ladder_figure(times),
        register_tiles.roofline_figure(times),
    ):
        assert all(ax.get_title(loc="left") for ax in figure.axes)
    plt.close("all")
