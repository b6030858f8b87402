"""Widths of tiles: lanes, counters, searches, and what is read off the records."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from matplotlib import pyplot as plt

from helpers import reference
from helpers.bench import results
from helpers.experiments import sweep, sweep_replay, tile_widths
from helpers.experiments.tile_widths import BEST, LAYERS, TILED, WIDTHS


@pytest.fixture(scope="module")
def times() -> results.Record:
    return results.load(results.MEASURED / "203_tiles.json")


@pytest.fixture(scope="module", autouse=True)
def few_searches():
    """Four searches of each strategy in place of twenty."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tile_widths, "SEEDS", range(4))
        tile_widths.searches.cache_clear()
        yield
    tile_widths.searches.cache_clear()


def with_rows(record: results.Record, change) -> results.Record:
    """The record with the parameters of each measurement changed by a function."""
    changed = tuple(
        dataclasses.replace(one, parameters={**one.parameters, **change(one)})
        for one in record.measurements
    )
    return dataclasses.replace(record, measurements=changed)


@pytest.mark.parametrize(("width", "lanes"), [(2, 288), (3, 128), (4, 128), (5, 32)])
def test_lanes_are_those_of_whole_warps(width, lanes):
    assert tile_widths.lanes(5, 5, width) == lanes


def test_lanes_for_an_output_are_1_where_tiles_divide_the_map():
    assert tile_widths.lanes_per_output("layer 1", 16) == 1
    assert tile_widths.lanes_per_output("layer 2", 16) == 48 * 48 / 34**2
    assert tile_widths.lanes_per_output("layer 2", 17) == 4 * 320 / 34**2


@pytest.mark.parametrize("width", [1, 3, 4, 7])
def test_a_layer_is_the_same_tile_by_tile(width):
    rng = np.random.default_rng(14)
    x = rng.integers(-9, 10, (2, 3, 8, 11)).astype(float)
    weights = rng.integers(-9, 10, (2, 3, 3, 3)).astype(float)
    by_tiles = tile_widths.layer_by_tiles(x, weights, width)
    assert (by_tiles == reference.conv2d(x, weights)).all()


def test_idle_warps_make_no_loads_from_the_tile(monkeypatch):
    monkeypatch.setattr(tile_widths, "WIDTHS", (16, 17))
    shape_outputs = 16 * 34 * 34
    each = tile_widths.profile("layer 2", 16).shared_load_requests / (shape_outputs / 32)
    assert each < 4 * 49 * tile_widths.lanes_per_output("layer 2", 16)
    table = tile_widths.counters_table()
    assert f"{each:.1f}" in table and table.count("barriers") == len(LAYERS)


def test_the_fastest_width_is_read_from_the_record(times):
    first = tile_widths.fastest_width(times, "layer 2")
    rows = tile_widths.width_times(times)
    assert all(
        rows["layer 2", first]["median_ms"] <= rows["layer 2", w]["median_ms"] for w in WIDTHS
    )
    ratio = tile_widths.width_ratio(times, "layer 2", 20, 16)
    assert f"{ratio:.2f}" in tile_widths.reported_table(times)


def test_a_random_search_needs_as_many_tries_as_a_shuffle():
    layer = "layer 1"
    rng = np.random.default_rng(14)
    ms = np.array([ms for _, ms in tile_widths.best(layer)])
    near = ms <= tile_widths.NEAR * ms.min()
    places = [np.flatnonzero(rng.permutation(near))[0] + 1 for _ in range(4_000)]
    assert tile_widths.expected_tries(layer) == pytest.approx(np.mean(places), rel=0.05)
    assert tile_widths.near_best(layer) == near.sum() >= 1


def test_searches_are_counted_where_they_arrive():
    for strategy, (tries, curve) in tile_widths.searches("layer 1").items():
        assert len(tries) == len(tile_widths.SEEDS) and strategy in sweep_replay.STRATEGIES
        assert curve.shape == (tile_widths.TRIES,) and (np.diff(curve) <= 0).all()
        assert all(n is None or 1 <= n <= tile_widths.TRIES for n in tries)
        arrived = sum(n is not None for n in tries)
        assert f"{arrived} of {len(tries)}" in tile_widths.searches_table()


def test_configurations_are_those_of_the_record_and_of_no_later_sweep(times):
    ranked = with_rows(
        times,
        lambda one: {"configuration": "patch 1x1x1", "tuner_ms": 9.5} if one.series == BEST else {},
    )
    table = tile_widths.top_table(ranked)
    assert table.count("patch 1x1x1") == table.count("9.5000") == 4 * tile_widths.TOP
    without = dataclasses.replace(
        times,
        measurements=tuple(
            dataclasses.replace(
                one,
                parameters={
                    key: value
                    for key, value in one.parameters.items()
                    if key not in ("configuration", "tuner_ms")
                },
            )
            for one in times.measurements
        ),
    )
    table = tile_widths.top_table(without)
    assert "does not note the configurations" in table and "Kernel Tuner,\n" not in table
    assert table.count("rank ") == 4 * tile_widths.TOP


def test_tables_have_a_row_for_each_layer():
    assert all(f"\n{layer} " in tile_widths.space_table() for layer in sweep.SIZES)
    assert "unroll 1, 7" in tile_widths.sizes_in_space("layer 1")
    products = math.prod(
        words.count(",") + 1 for words in tile_widths.sizes_in_space("layer 2").split(";")
    )
    assert f" {products} " in next(
        line for line in tile_widths.space_table().splitlines() if line.startswith("layer 2")
    )
    lines = [line for line in tile_widths.images_table().splitlines() if "layer E" in line]
    assert len(lines) == 6
    blocks = {(line.split()[1], line.split()[2]): line.split()[3] for line in lines}
    assert blocks["E2", "100"] == "17"  # six images share a block


def test_figures_say_what_the_records_hold(times):
    figure = tile_widths.widths_figure(times)
    title = figure.axes[1].get_title(loc="left")
    assert title.startswith(f"layer 2: {tile_widths.fastest_width(times, 'layer 2')} is fastest")
    is_17 = [
        one.series == TILED and one.parameters["tile_width"] == 17 for one in times.measurements
    ]
    some = tuple(one for one, out in zip(times.measurements, is_17, strict=True) if not out)
    with pytest.raises(KeyError):
        tile_widths.widths_figure(dataclasses.replace(times, measurements=some))
    assert "28%" in tile_widths.cover_figure().axes[2].get_title(loc="left")
    assert "as long as" in tile_widths.sums_figure().axes[0].get_title(loc="left")
    assert "(random)" in tile_widths.searches_figure().axes[0].get_title(loc="left")
    plt.close("all")
