"""The two-class samples: their sizes and shares, and that no trivial classifier reaches a real accuracy."""

import numpy as np
import pytest

from helpers import datasets


def shares_of_right_answers(data, x_columns):
    """The accuracy on the test samples of the best plane through `x_columns`, by least squares."""
    train = np.c_[data.train_x[:, x_columns], np.ones(len(data.train_x))]
    test = np.c_[data.test_x[:, x_columns], np.ones(len(data.test_x))]
    weights = np.linalg.lstsq(train, 2 * data.train_y - 1, rcond=None)[0]
    return np.mean((test @ weights > 0) == data.test_y)


@pytest.mark.parametrize("seed", range(5))
def test_sizes_shares_and_types(seed):
    data = datasets.two_class(seed)
    assert data.train_x.shape == (1096, 4)
    assert data.train_y.shape == (1096,)
    assert data.test_x.shape == (275, 4)
    assert data.test_y.shape == (275,)
    for array in (data.train_x, data.train_y, data.test_x, data.test_y):
        assert array.dtype == np.float32
        assert array.flags.c_contiguous
    for y in (data.train_y, data.test_y):
        assert set(y.tolist()) == {0.0, 1.0}
        assert round(1 - y.mean(), 2) == 0.59  # a constant answer reaches this
    x = np.concatenate([data.train_x, data.test_x])
    assert np.allclose(x.mean(axis=0), 0, atol=1e-5)
    assert np.allclose(x.std(axis=0), 1, atol=1e-5)


def test_no_sample_is_in_both_parts():
    data = datasets.two_class()
    rows = {row.tobytes() for row in np.concatenate([data.train_x, data.test_x])}
    assert len(rows) == 1371


@pytest.mark.parametrize("seed", range(5))
def test_neither_a_plane_nor_one_feature_is_enough(seed):
    data = datasets.two_class(seed)
    assert 0.6 < shares_of_right_answers(data, [0, 1, 2, 3]) < 0.85
    assert all(shares_of_right_answers(data, [column]) < 0.8 for column in range(4))


def test_the_same_seed_gives_the_same_samples():
    first, second, other = datasets.two_class(3), datasets.two_class(3), datasets.two_class(4)
    assert np.array_equal(first.train_x, second.train_x)
    assert np.array_equal(first.test_y, second.test_y)
    assert not np.array_equal(first.train_x, other.train_x)


def test_the_classes_are_mixed_in_order():
    # Threads take stretches of the samples: each stretch must hold both classes.
    shares = [part.mean() for part in np.array_split(datasets.two_class().train_y, 16)]
    assert min(shares) > 0.2
    assert max(shares) < 0.7
