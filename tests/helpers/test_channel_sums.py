"""The sum over channels, split over threads: counters by hand, the record's readings, mutants."""

from __future__ import annotations

import dataclasses

import matplotlib.pyplot as plt
import pytest

from helpers.bench import results
from helpers.bench.results import Measurement, Record
from helpers.experiments import channel_sums
from helpers.experiments.channel_sums import ATOMICS, PLAIN, SHUFFLE, TREE


@pytest.fixture(scope="module")
def record() -> Record:
    return results.load(results.MEASURED / "401_channels.json")


def with_ratio(record: Record, channels: int, kernel: str, high: float) -> Record:
    """The record with another upper end of one ratio's interval."""
    changed = tuple(
        Measurement(m.series, {**m.parameters, "high": high}, m.timing)
        if (m.parameters.get("kernel"), m.parameters.get("channels")) == (kernel, channels)
        else m
        for m in record.measurements
    )
    assert changed != record.measurements
    return dataclasses.replace(record, measurements=changed)


@pytest.mark.parametrize(
    ("threads", "steps"), [(1, []), (2, [1]), (4, [2, 1]), (32, [16, 8, 4, 2, 1])]
)
def test_a_tree_halves_the_threads_that_add(threads, steps):
    assert channel_sums.tree_steps(threads) == steps


def test_idle_threads_are_those_without_a_product():
    # Layer 1: maps of 80 x 80, which tiles of 16 divide; one of four threads has the one channel.
    assert channel_sums.idle_share(PLAIN, "layer 1") == 0
    assert channel_sums.idle_share(TREE, "layer 1") == 0.75
    assert channel_sums.idle_share(SHUFFLE, "layer 1") == 0.75
    # Layer 2: 34 x 34 outputs under 48 x 48 threads, or under 40 columns and 40 rows.
    assert channel_sums.idle_share(ATOMICS, "layer 2") == pytest.approx(1 - (34 / 48) ** 2)
    assert channel_sums.idle_share(SHUFFLE, "layer 2") == pytest.approx(1 - (34 / 40) ** 2)


def test_splitting_wins_from_the_first_number_from_which_all_three_win(record):
    assert channel_sums.wins_from(record) == 2
    assert channel_sums.wins_from(with_ratio(record, 4, TREE, 1.01)) == 16
    late = with_ratio(record, 256, ATOMICS, 1.0)
    assert channel_sums.wins_from(late) is None
    assert channel_sums.wins_in_words(late) == "for no number of channels up to 256"


def test_the_loop_takes_as_long_for_each_channel(record):
    each, once = channel_sums.per_channel(record)
    times = dict(channel_sums._small_times(record))
    assert times[16, PLAIN]["median_ms"] * 1000 == pytest.approx(once + 16 * each, rel=0.05)


def test_a_broken_kernel_is_found_and_one_that_is_gone_is_refused():
    layer = channel_sums.random_layer(1, 3, 2, 9, 20, 3)
    found = channel_sums.broken(TREE, "    for (int half", "    if (inside) for (int half", layer)
    assert "waits at a barrier" in found
    assert "PASS" in found
    wrong = channel_sums.broken(TREE, "partial[threadIdx.z + half]", "partial[threadIdx.z]", layer)
    assert "PASS" not in wrong
    with pytest.raises(ValueError, match="it has changed since"):
        channel_sums.broken(TREE, "no such text", "", layer)


def test_the_simulator_repeats_bit_by_bit():
    repeated = channel_sums.repeats(ATOMICS, 1, 2)
    assert repeated["outputs_differ"] == 0
    assert repeated["outputs"] == 16 * 34 * 34


def test_figures_say_what_the_record_holds(record):
    layers = channel_sums.layers_figure(record)
    best = channel_sums.fastest(record, "layer 2")
    speed = channel_sums.speed(record, "layer 2", best)
    assert f"{speed:.3g} times" in layers.axes[1].get_title(loc="left")
    assert "from 2 channels on" in channel_sums.channels_figure(record).axes[0].get_title(
        loc="left"
    )
    titles = [ax.get_title(loc="left") for ax in channel_sums.access_figure().axes]
    assert [title.rpartition("ask for ")[2] for title in titles] == ["4 sectors", "32 sectors"]
    plt.close("all")
