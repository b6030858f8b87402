"""Tiles in the layer: variants of the kernels, counters, and what is read off the records."""

from __future__ import annotations

import pytest

from evidence.launch_counters import cases
from helpers import bench, kernels
from helpers.bench import results
from helpers.limits import ConvShape
from tests import records

RAGGED = ConvShape(2, 3, 5, 21, 30, 4)


@pytest.fixture(scope="module")
def times() -> results.Record:
    return results.load(results.MEASURED / "111_tiles.json")


@pytest.mark.parametrize("variant", ["uniform", "tile not used"])
def test_every_counted_variant_computes_the_layer_on_a_ragged_shape(variant):
    case = next(one for one in cases("111_caches") if one.columns["variant"] == variant)
    layer = bench.layer(images=2, shape=RAGGED)
    maps = {"MAPS": case.columns["maps"]} if case.columns["maps"] > 1 else {}
    (one,) = case.plan
    kernel = layer.kernel(one.name, **maps).changed(kernels.source(one.name), one.source)
    assert layer.check(kernel)
    (seen,) = layer.count(kernel)
    assert (seen.profile.shared_load_requests == 0) == (variant == "tile not used")


def test_a_change_that_does_not_fit_the_source_is_refused():
    with pytest.raises(ValueError, match="the kernel has no 'no such line' to replace"):
        kernels.replaced(kernels.source("conv2d_tiled"), ("no such line", ""))


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
