"""The network in NumPy: its layers by hand, its fast convolution against the oracle, and its
accuracy to the last image.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import reference
from helpers.problems import datasets, resizing
from helpers.problems.lenet import network, trained_weights


def any_weights(seed=0):
    """Random weights whose layers keep the size of what they are given."""
    random = np.random.default_rng(seed)
    scale = {"conv1": 1e-3, "conv2": 0.1, "fc3": 0.03, "fc3_bias": 0.1, "fc4": 0.2, "fc4_bias": 0.1}
    arrays = {
        layer: (scale[layer] * random.standard_normal(shape)).astype(np.float32)
        for layer, shape in trained_weights.LAYER_SHAPES.items()
    }
    return trained_weights.Weights("random", "a test", **arrays)


def oracle(x, weights):
    """The network written out once more, in float64, with nothing of `network` but the weights."""
    x = np.asarray(x, np.float64)
    for filter, width in ((weights.conv1, 2), (weights.conv2, 4)):
        y = np.maximum(reference.conv2d(x, filter), 0)
        rows, columns = -(-y.shape[2] // width), -(-y.shape[3] // width)
        x = np.zeros((*y.shape[:2], rows, columns))
        for h, w in np.ndindex(rows, columns):
            x[:, :, h, w] = y[:, :, h * width : (h + 1) * width, w * width : (w + 1) * width].max(
                axis=(2, 3)
            )
    flat = np.array([image.ravel() for image in x])
    hidden = np.maximum(
        np.einsum("oi,bi->bo", weights.fc3.astype(float), flat) + weights.fc3_bias, 0
    )
    return np.einsum("oi,bi->bo", weights.fc4.astype(float), hidden) + weights.fc4_bias


# ---- layers ----


def test_relu_by_hand():
    x = np.array([-2.5, -0.0, 0.0, 3.5, np.nan], np.float32)
    got = network.relu(x)
    assert got.dtype == np.float32
    assert got[:4].tolist() == [0, 0, 0, 3.5]
    assert np.isnan(got[4])


POOLED = np.array([[1, 9, 2, 3, -1], [4, 5, 8, 6, -7], [-3, -4, 0, -6, -2]], np.float32)[None, None]


@pytest.mark.parametrize(
    ("width", "want"),
    [
        (1, POOLED[0, 0].tolist()),
        # The last row and column stand alone; nothing outside counts as 0.
        (2, [[9, 8, -1], [-3, 0, -2]]),
        (3, [[9, 6]]),
        (4, [[9, -1]]),
        (5, [[9]]),
        (9, [[9]]),
    ],
)
def test_max_pool_by_hand(width, want):
    got = network.max_pool(POOLED, width)
    assert got.dtype == np.float32
    assert got[0, 0].tolist() == want
    assert network.max_pool(POOLED.swapaxes(2, 3), width)[0, 0].T.tolist() == want


def test_max_pool_passes_nan_on_and_keeps_images_and_channels_apart():
    x = np.arange(2 * 3 * 4 * 4, dtype=np.float64).reshape(2, 3, 4, 4)
    assert network.max_pool(x, 4)[..., 0, 0].tolist() == [[15, 31, 47], [63, 79, 95]]
    x[1, 2, 3, 1] = np.nan
    assert np.isnan(network.max_pool(x, 2)).sum() == 1
    assert np.isnan(network.max_pool(x, 2)[1, 2, 1, 0])


def test_dense_by_hand():
    weights = np.array([[1, 10], [100, 1000], [0, 1]], np.float32)
    got = network.dense(
        np.array([[1, 2], [3, 4]], np.float32), weights, np.array([0.5, 0, -1], np.float32)
    )
    assert got.dtype == np.float32
    assert got.tolist() == [[21.5, 2100, 1], [43.5, 4300, 3]]


@given(
    st.tuples(
        st.integers(1, 3),
        st.integers(1, 3),
        st.integers(0, 6),
        st.integers(0, 9),
        st.integers(1, 4),
    ),
    st.integers(1, 5),
    st.integers(0, 2**32 - 1),
)
def test_the_fast_convolution_is_the_oracles(sizes, taps, seed):
    batch, channels, more_height, more_width, maps = sizes
    random = np.random.default_rng(seed)
    x = random.integers(-9, 10, (batch, channels, taps + more_height, taps + more_width)).astype(
        np.float32
    )
    filter = random.integers(-9, 10, (maps, channels, taps, taps)).astype(np.float32)
    got = network.conv2d(x, filter)
    assert got.dtype == np.float32
    assert np.array_equal(got, reference.conv2d(x, filter))  # whole numbers: no rounding


def test_the_fast_convolution_on_the_networks_layers():
    random = np.random.default_rng(0)
    for x_shape, layer in (((2, 1, 86, 86), "conv1"), ((2, 4, 40, 40), "conv2")):
        x, filter = (
            random.uniform(0, 255, x_shape).astype(np.float32),
            getattr(any_weights(), layer),
        )
        want, scale = reference.conv2d(x, filter), reference.conv2d(x, np.abs(filter))
        assert (np.abs(network.conv2d(x, filter) - want) <= 1e-5 * scale).all()


def test_bad_layers_are_explained():
    x, filter = np.ones((2, 3, 8, 9)), np.ones((4, 3, 3, 3))
    with pytest.raises(ValueError, match=r"x has shape \(3, 8, 9\)"):
        network.conv2d(x[0], filter)
    with pytest.raises(ValueError, match=r"filter \(4, 2, 3, 3\); expected"):
        network.conv2d(x, filter[:, :2])
    with pytest.raises(ValueError, match=r"\(9, 9\), is larger than the image, \(8, 9\)"):
        network.conv2d(x, np.ones((4, 3, 9, 9)))
    with pytest.raises(ValueError, match="width is 0"):
        network.max_pool(x, 0)
    with pytest.raises(ValueError, match=r"x has shape \(8, 9\)"):
        network.max_pool(x[0, 0], 2)
    with pytest.raises(ValueError, match=r"bias \(4,\); expected"):
        network.dense(np.ones((2, 3)), np.ones((5, 3)), np.ones(4))
    with pytest.raises(ValueError, match=r"weights \(5, 4\)"):
        network.dense(np.ones((2, 3)), np.ones((5, 4)), np.ones(5))


# ---- the whole network ----


@pytest.fixture(scope="module")
def images():
    return datasets.fashion_mnist("test", 23)


def test_forward_is_the_network(images):
    weights, x = any_weights(), resizing.network_input(images.pixels[:3])
    want = oracle(x, weights)
    assert np.ptp(want) > 1
    exact = network.forward(x.astype(np.float64), weights)
    assert exact.dtype == np.float64
    assert np.allclose(exact, want, rtol=1e-12, atol=1e-12)
    got = network.forward(x, weights)
    assert got.dtype == np.float32
    assert np.abs(got - want).max() < 1e-4


WRONG = {
    "filter flipped": lambda x, f: network.conv2d(x, f[:, :, ::-1, ::-1]),
    "filter transposed": lambda x, f: network.conv2d(x, f.swapaxes(2, 3)),
    "last output map left out": lambda x, f: network.conv2d(
        x, np.where(np.arange(len(f))[:, None, None, None] < len(f) - 1, f, 0)
    ),
    "one channel only": lambda x, f: network.conv2d(x[:, :1], f[:, :1]) + (f.shape[1] == 1) * 1e-3,
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_convolution_shows_in_the_outputs(name, images):
    weights, x = any_weights(), resizing.network_input(images.pixels[:3])
    assert np.abs(network.forward(x, weights, WRONG[name]) - oracle(x, weights)).max() > 1e-3


def test_another_convolution_takes_both_places(images):
    met = []

    def mine(x, filter):
        assert x.dtype == filter.dtype == np.float32
        assert x.flags.c_contiguous
        assert filter.flags.c_contiguous
        met.append((x.shape, filter.shape))
        return reference.conv2d(x, filter).astype(np.float32)

    x = resizing.network_input(images.pixels[:2])
    got = network.forward(x, any_weights(), mine)
    assert met == [((2, 1, 86, 86), (4, 1, 7, 7)), ((2, 4, 40, 40), (16, 4, 7, 7))]
    assert np.abs(got - network.forward(x, any_weights())).max() < 1e-4


def test_a_convolution_of_another_shape_is_explained(images):
    x = resizing.network_input(images.pixels[:2])
    with pytest.raises(
        ValueError, match=r"conv returned shape \(2, 4, 79, 80\).*expected \(2, 4, 80, 80\)"
    ):
        network.forward(x, any_weights(), lambda x, f: network.conv2d(x, f)[:, :, 1:])


def test_bad_input_to_the_network_is_explained(images):
    with pytest.raises(TypeError, match=r"x is uint8.*network_input"):
        network.forward(resizing.resize(images.pixels)[:, None], any_weights())
    with pytest.raises(ValueError, match=r"x has shape \(23, 28, 28\); expected \(B, 1, 86, 86\)"):
        network.forward(images.pixels.astype(np.float32), any_weights())
    with pytest.raises(ValueError, match="not empty"):
        network.predict(images.pixels[:0], any_weights())
    with pytest.raises(TypeError, match="images are float32"):
        network.predict(images.pixels.astype(np.float32), any_weights())


def test_images_in_parts_give_what_they_give_together(images):
    weights = any_weights()
    together = network.forward(resizing.network_input(images.pixels), weights)
    for given_images in (images, images.pixels, resizing.resize(images.pixels)):
        assert np.allclose(network.logits(given_images, weights), together, rtol=1e-4, atol=1e-4)
    assert network.logits(images, weights, dtype=np.float64).dtype == np.float64
    assert np.array_equal(network.predict(images, weights), together.argmax(axis=1))


# ---- classes and accuracy ----


def test_classes_and_margins_by_hand():
    logits = np.array([[1, 5, 2], [-1, -3, -2], [4, 4, 0]], np.float32)
    assert network.classify(logits).tolist() == [1, 0, 0]
    assert network.classify(logits).dtype == np.uint8
    assert network.margins(logits).tolist() == [3, 1, 0]


def test_an_output_that_is_nan_has_no_class():
    logits = np.zeros((4, 10))
    logits[2, 7] = np.nan
    with pytest.raises(ValueError, match="1 of 4 images have NaN"):
        network.classify(logits)
    with pytest.raises(ValueError, match=r"logits have shape \(10,\)"):
        network.classify(logits[0])


def test_accuracy_by_hand():
    found = network.accuracy(np.array([1, 2, 3, 4]), np.array([1, 2, 4, 3], np.uint8))
    assert (found.right, found.count, found.share) == (2, 4, 0.5)
    assert str(found) == "0.5000 (2 of 4 right)"
    with pytest.raises(ValueError, match=r"classes have shape \(4,\), labels \(3,\)"):
        network.accuracy(np.arange(4), np.arange(3))
    with pytest.raises(ValueError, match="not empty"):
        network.accuracy(np.arange(0), np.arange(0))
    with pytest.raises(TypeError, match=r"classes are float64.*classify"):
        network.accuracy(np.arange(4.0), np.arange(4))


def test_what_cannot_be_counted_here_is_the_recorded_number():
    good = np.array([True, False, True])
    told = {"network": "the labs' LeNet", "form": "fused"}
    here, far = network.right_rows(good, (2, 10_000), "501_lenet", **told)
    assert here == {"series": "accuracy", **told, "images": 2, "right": 1, "timing": None}
    assert far["right"] == trained_weights.lenet_record()["test"]["right"]["10000"]
    assert "recorded_on" in far
    assert network.right_rows(good, (3, 4), "501_lenet", **told)[1:] == []
    (row,) = network.right_rows(good, (3, 4), size="batch")
    assert (row["batch"], row["right"]) == (3, 2)


@pytest.mark.outside_data(trained_weights.WEIGHTS_VARIABLE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_courses_network_is_right_as_often_as_reported(dtype):
    images, weights = datasets.fashion_mnist("test", 1000), trained_weights.course_weights()
    classes = network.predict(images, weights, dtype=dtype)
    assert network.accuracy(classes[:100], images.labels[:100]).right == 86
    assert network.accuracy(classes, images.labels).right == 886


@pytest.mark.outside_data(trained_weights.WEIGHTS_VARIABLE)
def test_another_network_or_resizing_has_another_accuracy():
    images, weights = datasets.fashion_mnist("test", 1000), trained_weights.course_weights()
    swapped = {layer: getattr(weights, layer) for layer in trained_weights.LAYER_SHAPES} | {
        "conv1": weights.conv1[:, :, ::-1, ::-1].copy()
    }
    assert (
        network.accuracy(
            network.predict(images, trained_weights.Weights("x", "y", **swapped)), images.labels
        ).right
        != 886
    )
    moved = np.roll(resizing.resize(images.pixels), 3, axis=1)
    assert network.accuracy(network.predict(moved, weights), images.labels).right != 886


def test_our_network_is_right_as_often_as_its_record_says():
    record = trained_weights.lenet_record()
    images = datasets.fashion_mnist("test", 1000)
    classes = network.predict(images, trained_weights.lenet_weights())
    for count in (100, 1000):
        assert (
            network.accuracy(classes[:count], images.labels[:count]).right
            == record["test"]["right"][str(count)]
        )


def test_the_record_of_our_network():
    record = trained_weights.lenet_record()
    assert record["training_images"] == 60_000
    assert record["data"] == "Fashion-MNIST"
    assert record["test"]["accuracy"] >= 0.89
    assert record["test"]["accuracy"] == record["test"]["right"]["10000"] / 10_000
    # Rounding in float32 changes no class: the closest decision is further away than the outputs'
    # rounding.
    assert record["test"]["closest"] > 1e-5


def test_the_program_prints_both_networks(monkeypatch, capsys, images):
    monkeypatch.setattr(datasets, "images_at_hand", lambda count: images)
    monkeypatch.setattr(trained_weights, "lenet_weights", any_weights)
    monkeypatch.setattr(trained_weights, "course_weights", lambda: any_weights(1))
    monkeypatch.setattr(network, "ACCURACY_SIZES", (5, 23, 10_000))
    monkeypatch.delenv(trained_weights.WEIGHTS_VARIABLE, raising=False)
    network.main()
    said = capsys.readouterr().out
    assert said.startswith("random (a test) on Fashion-MNIST")
    assert said.count("right)") == 2
    assert "10,000 images: 9,200 right (recorded)" in said
    monkeypatch.setenv(trained_weights.WEIGHTS_VARIABLE, "anything")
    network.main()
    assert capsys.readouterr().out.count("right)") == 4


def test_the_program_ends_with_a_message_where_a_file_is_missing(monkeypatch, images, tmp_path):
    monkeypatch.setattr(datasets, "images_at_hand", lambda count: images)
    monkeypatch.setattr(trained_weights, "LENET_RECORD", tmp_path / "none.json")
    with pytest.raises(SystemExit, match=r"none.json cannot be read"):
        network.main()
