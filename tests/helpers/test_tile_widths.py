"""Widths of tiles: lanes, models, searches, and what is read off the records."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from helpers import bench, exercises
from helpers.bench.times import Times
from helpers.exercises.content import fits as fits_exercise
from helpers.experiments import sweep, sweep_replay, tile_widths
from helpers.experiments.tile_widths import BEST, LAYERS, TILED, WIDTHS


@pytest.fixture(scope="module")
def times() -> dict[str, Times]:
    return {
        name: bench.layer(name, images=10_000).sweep(TILED, TILE_WIDTH=WIDTHS, record="203_tiles")
        for name in LAYERS
    }


@pytest.fixture(scope="module", autouse=True)
def few_searches():
    """Four searches of each strategy in place of twenty."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tile_widths, "SEEDS", range(4))
        tile_widths.searches.cache_clear()
        yield
    tile_widths.searches.cache_clear()


def lanes(out_h: int, out_w: int, width: int) -> int:
    return exercises.find("lanes").bound(exercises.find("lanes").solution)(out_h, out_w, width)


def test_lanes_for_an_output_are_1_where_tiles_divide_the_map():
    assert tile_widths.lanes_per_output(lanes, "layer 1", 16) == 1
    assert tile_widths.lanes_per_output(lanes, "layer 2", 16) == 48 * 48 / 34**2
    assert tile_widths.lanes_per_output(lanes, "layer 2", 17) == 4 * 320 / 34**2


def test_a_models_choice_and_its_loss_are_shown(times):
    def wide(shape, width, seen):
        return -width

    assert tile_widths.chosen_width(wide, "layer 1") == 32
    assert tile_widths.chosen_width(lambda *_: None, "layer 1") in tile_widths.WIDTHS
    ms = tile_widths.by_width(times["layer 2"])
    lines = tile_widths.choices_table(wide, lanes, times).splitlines()
    assert lines[4].split()[-3:] == ["17", f"{ms[17]:.3f}", "0%"]
    assert lines[5].split()[-3:] == ["32", f"{ms[32]:.3f}", f"{ms[32] / min(ms.values()) - 1:.0%}"]


def test_the_tuners_best_are_kernels_of_the_bench_in_an_earlier_record():
    layer = bench.layer("layer 2", images=10_000)
    one, _ = tile_widths.best("layer 2")[0]
    kernel = layer.kernel(sweep.spec_of(one), label=sweep.label(one))
    times = layer.compare(BEST, kernel, record="203_tiles")
    assert times.ratio(sweep.label(one)).words() == "no measurable difference"


def test_the_rules_of_the_exercise_are_those_of_the_sweep():
    one = exercises.find("fits")
    fits = one.bound(one.solution)
    for name, layer in fits_exercise.LAYERS.items():
        products = itertools.product(*sweep.SIZES[name])
        kept = {sizes for sizes in products if fits(*sizes[:5], *layer)}
        assert kept == {one[:8] for one in sweep.space(name)}


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
