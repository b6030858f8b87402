"""A row too many, in NumPy, and what a report says of it."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.bench import results
from helpers.experiments import row_too_many
from helpers.experiments.row_too_many import COURSE, EIGHT, LABS, SEVEN
from helpers.problems.lenet import network, trained_weights


@pytest.fixture(scope="module")
def counted() -> results.Record:
    return results.load(results.MEASURED / "110_answers.json")


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


def test_a_row_too_many_changes_no_output_that_it_does_not_touch(monkeypatch):
    random = np.random.default_rng(5)
    x = random.integers(0, 2, (2, 3, 8, 9)).astype(np.float32)
    filter = random.integers(0, 2, (2, 3, 3, 3)).astype(np.float32)  # no products below 0 cancel
    monkeypatch.setattr(row_too_many.conv2d, "inputs", lambda layer, images: (x, filter))
    changed = row_too_many.eight_rows(x, filter) != network.conv2d(x, filter)
    assert 0 < changed.mean() < 1
    assert row_too_many.touched_outputs("layer 1") == pytest.approx(changed.mean())


def test_answers_are_recounted_from_the_data_of_the_repository(counted):
    convolutions = {SEVEN: network.conv2d, EIGHT: row_too_many.eight_rows}
    weights, recorded = trained_weights.lenet_weights(), row_too_many.answers_of(counted)
    for name, good in row_too_many.right_answers(weights, 100, convolutions).items():
        assert good.sum() == recorded[LABS, name, 100]


def test_the_networks_differ_in_the_sign(counted):
    assert row_too_many.gained(counted, COURSE) > 0 > row_too_many.gained(counted, LABS)


def test_the_report_has_the_accuracies_of_the_bug(counted):
    lines = row_too_many.reported_table(counted).splitlines()[2:]
    for line in lines:
        _, theirs_right, theirs_wrong, right, wrong = line.split()
        assert (theirs_right, theirs_wrong) == (right, wrong)
    assert len(lines) == len(row_too_many.COUNTS)


def test_a_row_too_many_makes_outputs_wrong(monkeypatch):
    assert 0.3 < row_too_many.wrong_outputs("layer 1") < 0.7
    monkeypatch.setattr(row_too_many, "eight_rows", network.conv2d)
    assert row_too_many.wrong_outputs("layer 1") == 0
