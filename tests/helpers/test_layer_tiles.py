"""Tiles in the layer: variants of the kernels, counters, and what is read off the records."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from matplotlib import pyplot as plt

from helpers import kernels, launch, simulator
from helpers.bench import results
from helpers.experiments import layer_caches, layer_tiles
from helpers.experiments.layer_tiles import PLAIN_SPEC, TILED_SPEC
from helpers.limits import ConvShape
from helpers.problems import conv2d

RAGGED = ConvShape(2, 3, 5, 21, 30, 4)


@pytest.fixture(scope="module")
def times() -> results.Record:
    return results.load(results.MEASURED / "109_tiles.json")


@pytest.fixture(scope="module")
def counted() -> results.Record:
    return layer_caches.recorded()


def with_row(record: results.Record, where: dict, **changes) -> results.Record:
    """The record with other parameters in the measurements that have those of `where`."""

    def fits(one) -> bool:
        return all(one.parameters.get(key) == value for key, value in where.items())

    assert any(map(fits, record.measurements))
    return dataclasses.replace(
        record,
        measurements=tuple(
            dataclasses.replace(one, parameters={**one.parameters, **changes}) if fits(one) else one
            for one in record.measurements
        ),
    )


@pytest.mark.parametrize("variant", layer_tiles.VARIANTS)
def test_every_variant_computes_the_layer_on_a_ragged_shape(variant):
    rng = np.random.default_rng(9)
    sizes = RAGGED.x_shape, RAGGED.filter_shape
    x, filter = (rng.uniform(-1, 1, size).astype(np.float32) for size in sizes)
    spec = TILED_SPEC
    if variant == "uniform":
        spec = layer_tiles.MAPPED_SPECS[4]
    elif "filter in global memory" in variant:
        spec = layer_tiles.GLOBAL_SPEC
    y = np.full(RAGGED.y_shape, np.nan, np.float32)
    plan = layer_tiles.variant_plan(spec, RAGGED, variant)
    (seen,) = launch.simulate(plan, {"y": y, "x": x, "filter": filter}, simulator.profile)
    assert conv2d.check(y, x, filter, name=variant) and not seen.findings
    assert (seen.shared_load_requests == 0) == ("tile not used" in variant)
    assert (seen.constant_load_requests == 0) == ("global memory" in variant)


def test_a_change_that_does_not_fit_the_source_is_refused():
    with pytest.raises(ValueError, match="the kernel has no 'no such line' to replace"):
        layer_tiles.changed(kernels.source("conv2d_tiled"), ("no such line", ""))


def test_counters_are_those_of_32_outputs():
    table = layer_tiles.counter_table([("with a tile", TILED_SPEC, "layer 1", ())])
    seen, y = layer_tiles.profile(TILED_SPEC, "layer 1")
    row = table.splitlines()[-1].split()
    assert row[3] == f"{32 * seen.global_load_requests / y.size:.1f}" == "2.8"
    assert row[-2:] == [f"{32 * seen.constant_load_requests / y.size:.1f}", "0%"]


def test_a_warp_without_a_tile_asks_for_each_sector_many_times():
    asked, different = layer_tiles.repeated_sectors(layer_tiles.profile(PLAIN_SPEC, "layer 1")[0])
    rows, runs = 8, 22  # the cells under 2 x 16 outputs and a filter of 7 x 7
    assert different >= rows * runs * 4 / 32
    assert asked > 5 * different


@pytest.mark.parametrize(
    ("registers", "warps", "want"),
    [(32, 8, 64), (33, 8, 48), (64, 8, 32), (35, 32, 32), (32, 1, 32), (32, 13, 52)],
)
def test_resident_warps(registers, warps, want):
    assert layer_tiles.resident_warps(registers, warps) == want


@pytest.mark.parametrize(
    ("row", "want"),
    [
        ({"low": 0.99, "ratio": 1.0, "high": 1.01}, "no measurable difference"),
        ({"low": 0.49, "ratio": 0.5, "high": 0.51}, "2.00 x as fast"),
        ({"low": 1.49, "ratio": 1.5, "high": 1.51}, "1.50 x the time"),
    ],
)
def test_a_ratio_in_words(row, want):
    assert layer_tiles.in_words(row) == want


def test_the_best_number_of_maps_follows_the_record(times):
    where = {"layer": "layer 2", "maps": 8, "kernel": "conv2d_tiled_maps"}
    changed = with_row(times, where, low=0.19, ratio=0.2, high=0.21)
    assert layer_tiles.best_maps(changed, "layer 2") == 8 != layer_tiles.best_maps(times, "layer 2")
    figure = layer_tiles.maps_figure(changed)
    assert "8 maps are best, 5.00 x as fast" in figure.axes[1].get_title(loc="left")
    plt.close(figure)


def test_the_caches_record_has_every_launch(counted):
    launches = [(one.spec.name, one.layer, one.variant) for one in layer_caches.launches()]
    rows = [(row["series"], row["layer"], row["variant"]) for row in counted.rows()]
    assert rows == launches
    assert all(set(layer_caches.METRICS) <= set(row) for row in counted.rows())


def test_cycles_over_the_floor_are_those_of_the_clock(counted):
    """Two ways to one number: ncu's counters on 1,000 images, and a clock on 10,000."""
    from helpers.experiments import layer_times

    clock = layer_times.LayerTimes(results.load(results.MEASURED / "107_layer.json"))
    for layer in layer_tiles.LAYERS:
        basic = layer_caches.row(counted, layer, layer_caches.BASIC)
        expected = clock.over_floor(layer, layer_times.MANY)
        assert layer_caches.cycles_over_floor(basic) == pytest.approx(expected, rel=0.03)


def test_shares_are_of_all_requests(counted):
    one = dict(layer_caches.row(counted, "layer 1", layer_caches.TILED))
    one |= {"load_sectors": 200, "load_sectors_hit": 50, "constant_hits": 30, "constant_misses": 10}
    assert layer_caches.hit_share(one) == 0.25
    assert layer_caches.constant_miss_share(one) == 0.25


def test_a_kernel_that_was_not_counted_is_named(counted):
    with pytest.raises(ValueError, match=r"no .*32.* on layer 1"):
        layer_caches.row(counted, "layer 1", layer_caches.mapped(32))
