"""The oracles against hand-worked cases and laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import reference


def arrays(n, width, seed=0):
    random = np.random.default_rng(seed)
    return random.uniform(-1, 1, n).astype(np.float32), random.uniform(-1, 1, width).astype(
        np.float32
    )


# ---- the oracle ----


def test_a_hand_worked_asymmetric_case():
    # 0*10 + 1*20 + 2*1, then 1*10 + 2*20 + 3*1, ...; the last output has a ghost cell on its right.
    got = reference.conv1d(np.array([1, 2, 3, 4]), np.array([10, 20, 1]))
    assert got.dtype == np.float64
    assert got.tolist() == [22, 53, 84, 110]


def test_the_filter_is_not_flipped():
    impulse = np.array([0, 0, 1, 0, 0])
    assert reference.conv1d(impulse, np.array([10, 20, 1])).tolist() == [0, 1, 20, 10, 0]


def test_a_filter_wider_than_the_array():
    assert reference.conv1d(np.array([2.0, 3.0]), np.array([1, 10, 100, 1000, 10000])).tolist() == [
        3200,
        320,
    ]


def test_the_identity_filter_and_the_shift():
    N, _ = arrays(100, 1)
    assert np.array_equal(reference.conv1d(N, np.array([0, 1, 0])), N)
    assert np.array_equal(
        reference.conv1d(N, np.array([1, 0, 0])), np.append(0, N[:-1]).astype(float)
    )


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 60), st.integers(0, 8), st.integers(0, 2**32 - 1))
def test_linearity(n, radius, seed):
    random = np.random.default_rng(seed)
    a, b, filter = (random.integers(-99, 99, size) for size in (n, n, 2 * radius + 1))
    together = reference.conv1d(2 * a - 3 * b, filter)
    assert np.array_equal(
        together, 2 * reference.conv1d(a, filter) - 3 * reference.conv1d(b, filter)
    )


def test_float32_input_is_summed_in_float64():
    N = np.array([1e8, 1, -1e8], np.float32)
    assert reference.conv1d(N, np.ones(3, np.float32))[1] == 1.0  # float32 would lose the 1


def test_nan_is_not_hidden():
    assert np.isnan(reference.conv1d(np.array([0, np.nan, 0]), np.ones(3))).all()


@pytest.mark.parametrize(
    ("N", "filter", "message"),
    [
        ([], [1, 2, 3], "N is empty"),
        ([1, 2], [1, 2], "even"),
        ([[1, 2], [3, 4]], [1], r"N has shape \(2, 2\).*ravel"),
        ([1, 2], [[1]], "filter has shape"),
        ([1, 2], [], "filter"),
    ],
)
def test_bad_input_to_the_oracle_is_explained(N, filter, message):
    with pytest.raises(ValueError, match=message):
        reference.conv1d(np.array(N), np.array(filter))


# ---- the convolution layer ----


def layer(batch=2, channels=3, height=6, width=9, maps=4, taps=3, seed=0):
    random = np.random.default_rng(seed)
    return random.integers(-9, 10, (batch, channels, height, width)), random.integers(
        -9, 10, (maps, channels, taps, taps)
    )


def six_loops(x, filter, stride=1):
    """The definition, index by index."""
    (batch, channels, height, width), (maps, _, taps, _) = x.shape, filter.shape
    y = np.zeros((batch, maps, (height - taps) // stride + 1, (width - taps) // stride + 1))
    for b, m, h, w in np.ndindex(y.shape):
        for c, p, q in np.ndindex(channels, taps, taps):
            y[b, m, h, w] += x[b, c, h * stride + p, w * stride + q] * filter[m, c, p, q]
    return y


# Two rows of three, one 2x2 filter without any symmetry: 1*1 + 2*10 + 4*100 + 5*1000, and one cell
# to the right.
HAND_X = np.array([[[[1, 2, 3], [4, 5, 6]]]])
HAND_FILTER = np.array([[[[1, 10], [100, 1000]]]])


def test_a_hand_worked_layer():
    got = reference.conv2d(HAND_X, HAND_FILTER)
    assert got.dtype == np.float64
    assert got.tolist() == [[[[5421, 6532]]]]


def test_the_layers_filter_is_neither_flipped_nor_transposed():
    flipped = HAND_FILTER[:, :, ::-1, ::-1]
    assert reference.conv2d(HAND_X, flipped).tolist() == [[[[1245, 2356]]]]
    assert reference.conv2d(HAND_X, HAND_FILTER.swapaxes(2, 3)).tolist() == [[[[5241, 6352]]]]


def test_channels_are_added_and_maps_and_images_kept_apart():
    # Two images of two channels of one row of two.
    x = np.array([[[[1, 2]], [[3, 4]]], [[[5, 6]], [[7, 8]]]])
    # Three maps of one tap.
    filter = np.array([[[[1]], [[10]]], [[[100]], [[1000]]], [[[0]], [[1]]]])
    want = [[[[31, 42]], [[3100, 4200]], [[3, 4]]], [[[75, 86]], [[7500, 8600]], [[7, 8]]]]
    assert reference.conv2d(x, filter).tolist() == want


def test_a_stride_by_hand():
    x = np.arange(1, 22).reshape(1, 1, 3, 7)  # rows 1..7, 8..14, 15..21
    filter = np.array([[[[1, 10], [100, 1000]]]])
    # Windows begin at rows 0 and columns 0, 2, 4 (stride 2) or 0, 3 (stride 3); row 2 and column 6
    # begin none.
    assert reference.conv2d(x, filter, 2).tolist() == [[[[9821, 12043, 14265]]]]
    assert reference.conv2d(x, filter, 3).tolist() == [[[[9821, 13154]]]]


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(
        st.integers(1, 3),
        st.integers(1, 3),
        st.integers(0, 4),
        st.integers(0, 5),
        st.integers(1, 3),
    ),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(0, 2**32 - 1),
)
def test_the_layer_is_its_definition(sizes, taps, stride, seed):
    batch, channels, more_height, more_width, maps = sizes
    x, filter = layer(batch, channels, taps + more_height, taps + more_width, maps, taps, seed)
    assert np.array_equal(reference.conv2d(x, filter, stride), six_loops(x, filter, stride))


def test_laws_of_the_layer():
    x, filter = layer()
    other, more = layer(seed=1)
    y = reference.conv2d(x, filter)
    assert np.array_equal(
        reference.conv2d(2 * x - 3 * other, filter), 2 * y - 3 * reference.conv2d(other, filter)
    )
    assert np.array_equal(
        reference.conv2d(x, 2 * filter - 3 * more), 2 * y - 3 * reference.conv2d(x, more)
    )
    # A moved image, a moved output.
    assert np.array_equal(reference.conv2d(x[:, :, 1:, 2:], filter), y[:, :, 1:, 2:])
    assert np.array_equal(reference.conv2d(x[1:], filter), y[1:])
    assert np.array_equal(reference.conv2d(x, filter[2:]), y[:, 2:])
    assert np.array_equal(reference.conv2d(x, filter, 2), y[:, :, ::2, ::2])
    identity = np.zeros((3, 3, 3, 3))
    identity[range(3), range(3), 1, 1] = 1
    assert np.array_equal(reference.conv2d(x, identity), x[:, :, 1:-1, 1:-1])


def test_the_layer_is_summed_in_float64_and_hides_no_nan():
    x = np.array([1e8, 1, -1e8], np.float32).reshape(1, 3, 1, 1)
    assert reference.conv2d(x, np.ones((1, 3, 1, 1), np.float32)).item() == 1.0
    x, filter = layer()
    x = x.astype(float)
    x[0, 1, 2, 3] = np.nan
    # Each window of 3x3 that meets it, in 4 maps.
    assert np.isnan(reference.conv2d(x, filter)).sum() == 4 * 9


@pytest.mark.parametrize(
    ("x", "filter", "stride", "error", "message"),
    [
        (
            (3, 6, 9),
            (4, 3, 3, 3),
            1,
            ValueError,
            r"x has shape \(3, 6, 9\); expected four dimensions, \(B, C, H, W\)",
        ),
        ((2, 3, 6, 9), (3, 3, 3), 1, ValueError, r"filter has shape \(3, 3, 3\).*\(M, C, K, K\)"),
        ((2, 3, 6, 9), (4, 2, 3, 3), 1, ValueError, "x has 3 channels and filter 2"),
        (
            (2, 3, 6, 9),
            (4, 3, 7, 7),
            1,
            ValueError,
            "filter, 7 x 7, is larger than the image, 6 x 9",
        ),
        ((2, 3, 6, 9), (4, 3, 3, 2), 1, ValueError, "filter is 3 x 2, which is not square"),
        ((0, 3, 6, 9), (4, 3, 3, 3), 1, ValueError, "x is empty"),
        ((2, 3, 6, 9), (4, 3, 0, 0), 1, ValueError, "filter is empty"),
        ((2, 3, 6, 9), (4, 3, 3, 3), 0, ValueError, "stride is 0"),
        ((2, 3, 6, 9), (4, 3, 3, 3), 1.5, TypeError, "stride is 1.5"),
        ((2, 3, 6, 9), (4, 3, 3, 3), True, TypeError, "stride is True"),
    ],
)
def test_bad_input_to_the_layers_oracle_is_explained(x, filter, stride, error, message):
    with pytest.raises(error, match=message):
        reference.conv2d(np.ones(x), np.ones(filter), stride)


def test_values_that_are_not_real_are_explained():
    x, filter = layer()
    with pytest.raises(TypeError, match="x is complex128"):
        reference.conv2d(x + 1j, filter)
    with pytest.raises(TypeError, match="filter is object"):
        reference.conv2d(x, filter.astype(object))
