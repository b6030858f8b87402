"""A row too many, in NumPy and in the simulator; and titles that follow the record."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from matplotlib import pyplot as plt

from helpers.bench import results
from helpers.experiments import row_too_many, unrolling
from helpers.experiments.row_too_many import COURSE, EIGHT, LABS, MANY, SEVEN, UNROLLED
from helpers.problems.lenet import network, trained_weights


@pytest.fixture(scope="module")
def counted() -> results.Record:
    return results.load(results.MEASURED / "110_answers.json")


@pytest.fixture(scope="module")
def times() -> results.Record:
    return results.load(results.MEASURED / "110_unrolling.json")


def changed(record: results.Record, change) -> results.Record:
    """The record with the parameters that `change` returns for each row's."""
    return dataclasses.replace(
        record,
        measurements=tuple(
            dataclasses.replace(m, parameters=change(m.parameters)) for m in record.measurements
        ),
    )


def eight_rows_of_memory(x: np.ndarray, filter: np.ndarray) -> np.ndarray:
    """What a loop over eight rows reads from the flat arrays, with zeros behind them."""
    (B, C, H, W), (M, _, K, _) = x.shape, filter.shape
    cells = np.append(x.ravel(), np.zeros(W, np.float32))
    taps = np.append(filter.ravel(), np.zeros(K, np.float32))
    y = np.zeros((B, M, H - K + 1, W - K + 1))
    for b, m, h, w in np.ndindex(y.shape):
        for c, p, q in np.ndindex(C, K + 1, K):
            cell = cells[((b * C + c) * H + h + p) * W + w + q]
            y[b, m, h, w] += cell * taps[((m * C + c) * K + p) * K + q]
    return y


def test_eight_rows_are_those_that_follow_in_memory():
    random = np.random.default_rng(3)
    x = random.uniform(-1, 1, (2, 3, 6, 7)).astype(np.float32)
    filter = random.uniform(-1, 1, (2, 3, 4, 4)).astype(np.float32)
    got = row_too_many.eight_rows(x, filter)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, eight_rows_of_memory(x, filter), rtol=0, atol=1e-5)
    assert np.abs(got - network.conv2d(x, filter)).max() > 0.1


def test_answers_are_recounted_from_the_data_of_the_repository(counted):
    convolutions = {SEVEN: network.conv2d, EIGHT: row_too_many.eight_rows}
    weights, recorded = trained_weights.lenet_weights(), row_too_many.answers_of(counted)
    for name, good in row_too_many.right_answers(weights, 100, convolutions).items():
        assert good.sum() == recorded[LABS, name, 100]


def test_the_networks_differ_in_the_sign(counted):
    assert row_too_many.gained(counted, COURSE) > 0 > row_too_many.gained(counted, LABS)


def test_counts_of_the_gpu_are_compared_one_by_one(counted, times):
    same, all_of_them = row_too_many.same_on_gpu(counted, times)
    assert same == all_of_them > 0

    def one_more(parameters):
        is_last = parameters.get("images") == MANY and parameters.get("with") == UNROLLED
        return {**parameters, "right": parameters["right"] + 1} if is_last else parameters

    same, all_of_them = row_too_many.same_on_gpu(counted, changed(times, one_more))
    assert same < all_of_them


def test_an_interval_around_one_is_no_difference(times):
    assert "no measurable difference" not in unrolling.ratio_lines(times)

    def around_one(parameters):
        if "ratio" not in parameters:
            return parameters
        return {**parameters, "ratio": 1.0, "low": 0.99, "high": 1.01}

    lines = unrolling.ratio_lines(changed(times, around_one)).splitlines()
    assert lines and all("no measurable difference" in line for line in lines)


def test_the_title_names_the_width_that_gains_most(times):
    def best_at_nine(parameters):
        if "filter_width" not in parameters:
            return parameters
        ratio = 0.25 if parameters["filter_width"] == 9 else 0.8
        return {**parameters, "ratio": ratio, "low": ratio, "high": ratio}

    codes = results.load(results.MEASURED / "110_sass.json")
    figure = unrolling.widths_figure(changed(times, best_at_nine), codes)
    assert "most at K = 9 (4.00" in figure.axes[0].get_title(loc="left")
    plt.close("all")
