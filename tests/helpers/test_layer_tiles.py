"""Tiles in the layer: variants of the kernels, counters, and what is read off the records."""

from __future__ import annotations

import pytest
from matplotlib import pyplot as plt

from helpers import bench, kernels
from helpers.bench import results, sources
from helpers.experiments import layer_caches, layer_tiles
from helpers.limits import ConvShape
from tests import records

RAGGED = ConvShape(2, 3, 5, 21, 30, 4)


@pytest.fixture(scope="module")
def times() -> results.Record:
    return results.load(results.MEASURED / "111_tiles.json")


@pytest.fixture(scope="module")
def counted() -> results.Record:
    return layer_caches.recorded()


@pytest.mark.parametrize("variant", layer_caches.VARIANTS)
def test_every_counted_variant_computes_the_layer_on_a_ragged_shape(variant):
    layer = bench.layer(images=2, shape=RAGGED)
    launch = next(one for one in layer_caches.launches() if one.variant == variant)
    kernel = layer.kernel(launch.spec.name, MAPS=launch.spec.tile[2])
    kernel = kernel.changed(*layer_caches.VARIANTS[variant], label=variant)
    assert layer.check(kernel)
    assert layer.plan(kernel)[0].source == launch.plan(RAGGED)[0].source
    (seen,) = layer.count(kernel)
    assert (seen.profile.shared_load_requests == 0) == (variant == "tile not used")


def test_a_change_that_does_not_fit_the_source_is_refused():
    with pytest.raises(ValueError, match="the kernel has no 'no such line' to replace"):
        sources.changed(kernels.source("conv2d_tiled"), ("no such line", ""))


def test_counters_are_those_of_32_outputs():
    (seen,) = counts = bench.layer("layer 1").count("conv2d_tiled")
    row = counts.table().splitlines()[-1].split()
    assert row[1] == f"{32 * seen.profile.global_load_requests / seen.outputs:.1f}" == "2.8"
    constant = 32 * seen.profile.constant_load_requests / seen.outputs
    assert row[-2:] == [f"{constant:.1f}", "0%"]


def test_a_warp_without_a_tile_asks_for_each_sector_many_times():
    (seen,) = bench.layer("layer 1").count("conv2d_constant", watch=((1, 0, 0), 1))
    asked, different = seen.sectors("x")
    rows, runs = 8, 22  # the cells under 2 x 16 outputs and a filter of 7 x 7
    assert different >= rows * runs * 4 / 32
    assert asked > 5 * different


def maps_of(record: results.Record, layer: bench.Problem) -> bench.Times:
    """What lab 111 compares, of a record."""
    maps = [layer.kernel("conv2d_tiled_maps", MAPS=maps) for maps in (2, 4, 8, 16)]
    plain = layer.kernel("conv2d_constant")
    return bench.Times.read(record, layer, [layer.kernel("conv2d_tiled"), *maps], plain)


def test_the_best_number_of_maps_follows_the_record(times):
    where = {"layer": "layer 2", "maps": 8, "kernel": "conv2d_tiled_maps"}
    changed = records.with_values(times, where, low=0.19, ratio=0.2, high=0.21)
    layer = bench.layer("layer 2")
    assert dict(maps_of(times, layer).fastest().kernel.settings) != {"maps": 8}
    assert dict(maps_of(changed, layer).fastest().kernel.settings) == {"maps": 8}
    figure = bench.curve(maps_of(changed, layer), by="maps")
    assert "maps 8 is best, 5.00 x as fast" in figure.axes[0].get_title(loc="left")
    plt.close(figure)


def test_ours_stand_below_the_reports(times):
    layers = {name: bench.layer(name) for name in ("layer 1", "layer 2")}
    best = {name: maps_of(times, layer) for name, layer in layers.items()}
    variants = {
        name: [layer.compare("conv2d_constant", "conv2d_tiled", record="111_reported")]
        for name, layer in layers.items()
    }
    *_, plain, last = layer_tiles.reported_table(best, variants).splitlines()
    assert plain.split()[-2:] == [f"{one.ratios[0].value:.2f}" for (one,) in variants.values()]
    assert last.split()[-2:] == [f"{one.fastest().ratio.value:.2f}" for one in best.values()]


def test_the_caches_record_has_every_launch(counted):
    launches = [(one.spec.name, one.layer, one.variant) for one in layer_caches.launches()]
    rows = [(row["series"], row["layer"], row["variant"]) for row in counted.rows()]
    assert rows == launches
    assert all(set(layer_caches.METRICS) <= set(row) for row in counted.rows())


def test_cycles_over_the_floor_are_those_of_the_clock(counted):
    """Two ways to one number: ncu's counters on 1,000 images, and a clock on 10,000."""
    from helpers.experiments import layer_times

    clock = layer_times.LayerTimes(results.load(results.MEASURED / "107_layer.json"))
    for layer in layer_caches.LAYERS:
        basic = layer_caches.row(counted, layer, layer_caches.BASIC)
        where = layer, layer_times.MANY
        expected = 1e-3 * clock.ms(*where, layer_times.OP_TIME) / clock.floor(*where).seconds
        assert layer_caches.cycles_over_floor(basic) == pytest.approx(expected, rel=0.03)


def test_shares_are_of_all_requests(counted):
    one = dict(layer_caches.row(counted, "layer 1", layer_caches.TILED))
    one |= {"load_sectors": 200, "load_sectors_hit": 50, "constant_hits": 30, "constant_misses": 10}
    assert layer_caches.hit_share(one) == 0.25
    assert layer_caches.constant_miss_share(one) == 0.25


def test_a_kernel_that_was_not_counted_is_named(counted):
    with pytest.raises(ValueError, match=r"no .*32.* on layer 1"):
        layer_caches.row(counted, "layer 1", layer_caches.mapped(32))


def test_a_table_has_the_columns_that_one_asks_for(counted):
    keys = [layer_caches.CONSTANT, layer_caches.TILED]
    text = layer_caches.table(counted, keys, "l1", "busy", layers=["layer 2"])
    one = layer_caches.row(counted, "layer 2", layer_caches.TILED)
    assert text.splitlines()[-1].split()[-2:] == [
        f"{layer_caches.hit_share(one):.1%}",
        f"{one['issue_slots_busy']:.0f}%",
    ]
    with pytest.raises(KeyError):
        layer_caches.table(counted, keys, "no such column")


def test_the_picture_of_a_tile_shows_the_cells_that_one_thread_loads():
    figure = layer_tiles.tile_figure(tile=4, filter_width=3, thread=(1, 0))
    (ax,) = figure.axes
    assert "4 x 4 threads load 6 x 6 cells" in ax.get_title(loc="left")
    assert [(text.get_text(), *text.get_position()) for text in ax.texts] == [
        ("1", 1.5, 0.5),
        ("2", 5.5, 0.5),
        ("3", 1.5, 4.5),
        ("4", 5.5, 4.5),
    ]
    plt.close(figure)
