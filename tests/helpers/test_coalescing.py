"""Coalescing: sectors by hand, ratios of counters, and titles that follow the record."""

from __future__ import annotations

import dataclasses

import pytest
from matplotlib import pyplot as plt

from helpers.bench import results
from helpers.experiments import coalescing
from helpers.experiments.coalescing import BAD, GOOD, MANY, WIDE


@pytest.fixture(scope="module")
def record() -> results.Record:
    return results.load(results.MEASURED / "108_coalescing.json")


def with_ratio(record: results.Record, label: str, ratio: float) -> results.Record:
    """The record with another ratio, and an interval of 1 % to both sides."""
    changed = {"ratio": ratio, "ratio_low": 0.99 * ratio, "ratio_high": 1.01 * ratio}
    return dataclasses.replace(
        record,
        measurements=tuple(
            dataclasses.replace(m, parameters={**m.parameters, **changed})
            if m.series == f"{label} over {GOOD}"
            else m
            for m in record.measurements
        ),
    )


@pytest.mark.parametrize(
    ("patch", "want"),
    [
        ((8, 1, 0, 0), 1),  # eight floats from the first byte of a sector
        ((8, 1, 4, 0), 2),  # one float further: they reach into the next
        ((1, 4, 0, 344), 4),  # a column: a sector each
        ((1, 4, 0, 8), 1),  # rows so short that four of them lie in one sector
        ((2, 2, 28, 32), 3),  # the rows share the sector in the middle
    ],
)
def test_sectors_of_a_patch(patch, want):
    assert coalescing.sectors(*patch) == want


def test_average_sectors_are_those_of_eight_places():
    assert coalescing.average_sectors(16) == (2 + 7 * 3) / 8
    assert coalescing.average_sectors(2) == (7 * 1 + 2) / 8


def test_the_counters_are_the_derived_ones():
    good, bad = (coalescing.profile(coalescing.SPECS[one], "layer 1") for one in (GOOD, BAD))
    assert coalescing.per_request(good, "load", "x") == pytest.approx(6 - 2 / 7)
    assert coalescing.per_request(bad, "load", "x") == pytest.approx(16 * (1 + 3 / 28))
    assert coalescing.counted_ratio("layer 1", "requests") == 1
    assert coalescing.counted_ratio("layer 1", "requests", label=WIDE) == pytest.approx(1.2)


@pytest.mark.parametrize(
    ("ratio", "want"), [(1.5, "slower"), (0.7, "faster"), (1.004, "no measurable difference")]
)
def test_the_verdict_follows_the_interval(record, ratio, want):
    assert coalescing.verdict(with_ratio(record, WIDE, ratio), "layer 2", MANY, WIDE) == want


def test_titles_follow_the_record(record):
    figure = coalescing.ratio_figure(with_ratio(record, BAD, 2.5))
    assert "2.50 times the time" in figure.axes[0].get_title(loc="left")
    plt.close(figure)


def test_the_fastest_shape_is_that_of_the_shortest_time(record):
    shapes = coalescing.Shapes(record)
    assert shapes.ms[shapes.fastest] == min(shapes.ms.values())
    assert shapes.per_request(coalescing.SQUARE)[1] == 1
    shapes.ms[64] = 0.5 * shapes.ms[shapes.fastest]
    assert shapes.fastest == 64
