"""What a lab says of the plainest layer's times: which rows it takes, and what it derives."""

from __future__ import annotations

import dataclasses

import pytest
from matplotlib import pyplot as plt

from helpers import limits
from helpers.bench import cudnn, results
from helpers.experiments import layer_times
from helpers.experiments.layer_times import LAYER_TIME, MANY, OP_TIME, SWAPPED
from helpers.problems import conv2d


@pytest.fixture(scope="module")
def record() -> results.Record:
    return results.load(results.MEASURED / "107_layer.json")


@pytest.fixture(scope="module")
def times(record) -> layer_times.LayerTimes:
    return layer_times.LayerTimes(record)


def with_times(record: results.Record, series: str, factors) -> results.Record:
    """The record with the medians of a series multiplied, one factor a row in turn."""
    factors, made = iter(factors), []
    for one in record.measurements:
        if one.series == series:
            factor = next(factors)
            timed = dataclasses.replace(
                one.timing,
                **{key: getattr(one.timing, key) * factor for key in ("low", "median", "high")},
            )
            one = dataclasses.replace(one, timing=timed)
        made.append(one)
    return dataclasses.replace(record, measurements=tuple(made))


def test_the_better_of_two_layouts_counts(record):
    rows = [m for m in record.measurements if m.series == cudnn.NAME]
    for slow in (0, 1):  # whichever comes first in the record
        factors = [1000.0 if number % 2 == slow else 1.0 for number in range(len(rows))]
        changed = with_times(record, cudnn.NAME, factors)
        of_layer = [
            m.timing.median
            for m in changed.measurements
            if m.series == cudnn.NAME
            and (m.parameters["layer"], m.parameters["batch"]) == ("layer 1", MANY)
        ]
        best = layer_times.LayerTimes(changed).ms("layer 1", MANY, cudnn.NAME)
        assert best == min(of_layer) < 100


def test_copies_are_what_the_layer_time_has_beyond_the_kernel(times):
    whole = times.ms("layer 2", MANY, LAYER_TIME)
    kernel = times.ms("layer 2", MANY, OP_TIME)
    assert times.copies_ms("layer 2", MANY) == pytest.approx(whole - kernel)


def test_the_floor_is_that_of_the_records_gpu(times, record):
    work = limits.conv2d(conv2d.shape_of("layer 1", MANY))
    assert times.floor("layer 1", MANY).compute_s == work.flops / record.device.fp32_peak
    expected = times.ms("layer 1", MANY, OP_TIME) * 1e-3 * record.device.fp32_peak / work.flops
    assert times.over_floor("layer 1", MANY) == pytest.approx(expected)


def test_a_slower_cpu_program_changes_the_speedup_and_the_title(record, times):
    before = times.speedup("layer 1", layer_times.FEW, SWAPPED)
    slower = layer_times.LayerTimes(with_times(record, SWAPPED, [2.0, 2.0]))
    assert slower.speedup("layer 1", layer_times.FEW, SWAPPED) == pytest.approx(2 * before)
    figure = layer_times.cpu_figure(slower)
    assert f"{2 * before:.0f} x as fast as one core" in figure.axes[0].get_title(loc="left")
    plt.close(figure)


def test_the_title_of_the_copies_holds_only_where_they_are_most_of_the_time(record, times):
    figure = layer_times.copies_figure(times)
    assert "most of the layer time" in figure.axes[0].get_title(loc="left")
    barely = layer_times.LayerTimes(with_times(record, LAYER_TIME, [0.3] * 6))
    other = layer_times.copies_figure(barely)
    assert "most" not in other.axes[0].get_title(loc="left")
    plt.close("all")


def test_a_record_without_cudnn_says_so(record):
    without = dataclasses.replace(
        record, measurements=tuple(m for m in record.measurements if m.series != cudnn.NAME)
    )
    times = layer_times.LayerTimes(without)
    assert "was not measured" in layer_times.cudnn_table(times)
    assert "cuDNN" not in layer_times.floor_figure(times).axes[0].get_title(loc="left")
    plt.close("all")
