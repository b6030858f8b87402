"""What of the training needs no PyTorch: settings, schedule, folding, search, the record; and a
tiny training where it is.
"""

import builtins
import json
import math
from itertools import pairwise

import numpy as np
import pytest

from helpers.problems import datasets, resizing
from helpers.problems.lenet import network, trained_weights
from helpers.tools import training


def arrays(seed=0):
    random = np.random.default_rng(seed)
    return {
        layer: (0.1 * random.standard_normal(shape)).astype(np.float32)
        for layer, shape in trained_weights.LAYER_SHAPES.items()
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 0}, "epochs is 0; expected 1 or more"),
        ({"batch": 0}, "batch is 0"),
        ({"shift": -1}, "shift is -1"),
        ({"dropout": 1.0}, "dropout is 1.0; expected 0 or more, and less than 1"),
        ({"smoothing": -0.1}, "smoothing is -0.1"),
        ({"average": math.nan}, "average is nan"),
        ({"rate": 0.0}, "rate is 0.0"),
        ({"rate": math.nan}, "rate is nan"),
        ({"weight_decay": -1.0}, "weight_decay -1.0"),
    ],
)
def test_settings_that_cannot_be_are_explained(change, message):
    with pytest.raises(ValueError, match=message):
        training.Settings(**change)


def test_every_change_of_the_search_can_be_made():
    changed = [training.Settings(**change) for change in training.CHANGES]
    assert training.Settings() not in changed
    assert len(set(changed)) == len(changed)


def test_the_rate_rises_in_a_line_and_falls_along_a_cosine():
    rates = [training.learning_rate(step, 100, 2.0) for step in range(100)]
    assert np.allclose(rates[:6], [0.4, 0.8, 1.2, 1.6, 2.0, 2.0])
    assert all(a > b for a, b in pairwise(rates[5:]))
    assert math.isclose(
        training.learning_rate(5 + 95 // 2, 100, 2.0), 1 + math.cos(math.pi * 47 / 95)
    )
    assert 0 < rates[-1] < 0.001
    assert training.learning_rate(0, 1, 3.0) == 3.0
    for step in (-1, 100):
        with pytest.raises(ValueError, match=f"step is {step} of 100"):
            training.learning_rate(step, 100, 2.0)


def test_the_average_forgets_the_first_steps():
    kept = [training.averaging(step, 0.99) for step in range(2000)]
    assert kept[0] == 0.1
    assert kept[-1] == 0.99
    assert kept == sorted(kept)


def test_folding_the_scale_changes_no_class_but_only_conv1():
    images = datasets.fashion_mnist("test", 8)
    found = training.folded(arrays(), 1 / 255, name="n", source="s")
    assert np.allclose(found.conv1, arrays()["conv1"] / 255, rtol=1e-6)
    for layer in list(trained_weights.LAYER_SHAPES)[1:]:
        assert np.array_equal(getattr(found, layer), arrays()[layer])
    scaled = resizing.network_input(images.pixels) / np.float32(255)
    want = network.forward(scaled, trained_weights.Weights("x", "y", **arrays()))
    assert np.abs(want).max() > 1e-3
    assert np.allclose(network.logits(images, found), want, rtol=1e-3, atol=1e-5)
    assert not np.allclose(
        network.logits(images, trained_weights.Weights("x", "y", **arrays())),
        want,
        rtol=1e-3,
        atol=1e-5,
    )


def test_a_diverged_training_is_named():
    broken = arrays() | {
        "conv2": np.full(trained_weights.LAYER_SHAPES["conv2"], np.nan, np.float32)
    }
    with pytest.raises(training.TrainingError, match=r"diverged: conv2 hold NaN.*smaller rate"):
        training.folded(broken, 1.0, name="n", source="s")


def test_what_is_measured_is_what_the_network_gives():
    images, weights = (
        datasets.fashion_mnist("test", 130),
        training.folded(arrays(), 0.01, name="n", source="s"),
    )
    classes = network.predict(images, weights)
    found = training.measured(images, weights)
    assert found["right"] == {
        str(n): int((classes[:n] == images.labels[:n]).sum()) for n in (100, 130)
    }
    assert found["accuracy"] == found["right"]["130"] / 130
    assert found["closest"] == network.margins(network.logits(images, weights)).min()


def test_the_held_out_images_are_the_last_and_no_others():
    images = datasets.fashion_mnist("test", 10)
    kept, held_out = training.split(images, 3)
    assert np.array_equal(np.concatenate([kept.pixels, held_out.pixels]), images.pixels)
    assert np.array_equal(held_out.labels, images.labels[7:])
    assert training.split(images, 0) == (images, None)
    for count in (-1, 10):
        with pytest.raises(ValueError, match=f"hold-out is {count}; expected 0 to 9"):
            training.split(images, count)


def test_the_search_keeps_what_helps(capsys):
    def measure(settings):
        if settings.rate > 1:
            raise training.TrainingError("training diverged")
        return {
            "accuracy": 0.5
            + 0.1 * (settings.dropout == 0)
            + 0.2 * (settings.shift == 4)
            - 0.3 * (settings.shift == 0)
        }

    changes = ({"dropout": 0.0}, {"shift": 0}, {"rate": 9.0}, {"shift": 4}, {"dropout": 0.0})
    best, tried = training.search(training.Settings(), changes, measure)
    assert best == training.Settings(dropout=0.0, shift=4)
    # The last change was there already.
    assert [round(each["accuracy"], 6) for each in tried] == [0.5, 0.6, 0.3, 0.0, 0.8]
    assert tried[4]["settings"]["dropout"] == 0.0
    assert "diverged" in capsys.readouterr().out


def test_the_search_keeps_the_settings_given_where_nothing_helps():
    best, tried = training.search(
        training.Settings(seed=7), ({"shift": 0},), lambda settings: {"accuracy": 0.5}
    )
    assert best == training.Settings(seed=7)
    assert len(tried) == 2


def test_the_command_line_has_every_setting():
    given = vars(
        training.parser().parse_args(
            ["--out", "x", "--epochs", "3", "--no-flip", "--weight-decay", "0.5"]
        )
    )
    assert given.pop("out").name == "x"
    assert given.pop("hold_out") == 5000
    assert given.pop("search") is False
    assert training.Settings(**given) == training.Settings(epochs=3, flip=False, weight_decay=0.5)


@pytest.fixture
def without_torch(monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **named):
        if name == "torch":
            raise ImportError("No module named 'torch'")
        return real(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


def test_without_pytorch_the_error_says_so(without_torch, tmp_path):
    with pytest.raises(
        training.TrainingError, match=r"needs PyTorch, which is not installed.*lenet_weights"
    ):
        training.require_torch()
    with pytest.raises(SystemExit, match="needs PyTorch"):
        training.main(["--out", str(tmp_path)])
    assert list(tmp_path.iterdir()) == []


def test_a_bad_setting_ends_the_program_with_a_message(tmp_path):
    with pytest.raises(SystemExit, match="epochs is 0"):
        training.main(["--out", str(tmp_path), "--epochs", "0"])


# ---- with PyTorch ----


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="PyTorch is not installed: only training needs it")


def test_pytorchs_network_is_numpys(torch):
    model = training._model(torch, 0.5).eval()
    found = {
        layer: p.detach().numpy()
        for layer, p in zip(trained_weights.LAYER_SHAPES, model.parameters(), strict=True)
    }
    x = resizing.network_input(datasets.fashion_mnist("test", 4).pixels) / np.float32(255)
    with torch.no_grad():
        want = model(torch.from_numpy(x)).numpy()
    assert np.allclose(
        network.forward(x, trained_weights.Weights("x", "y", **found)), want, rtol=1e-4, atol=1e-5
    )


def test_images_are_moved_and_mirrored_and_not_more(torch):
    images = datasets.fashion_mnist("test", 1)
    plain = resizing.resize(images.pixels)[0]
    settings = training.Settings(shift=1)
    pixels, _ = training._on_device(torch, images, settings, "cpu")
    draws = torch.Generator().manual_seed(0)
    x = training._augmented(torch, pixels, torch.zeros(200, dtype=torch.int64), settings, draws)
    assert x.shape == (200, 1, 86, 86)
    padded = np.pad(plain, 1)
    allowed = {
        padded[y : y + 86, x : x + 86][:, ::step].tobytes()
        for y in range(3)
        for x in range(3)
        for step in (1, -1)
    }
    seen = {np.rint(picture.numpy() * 255).astype(np.uint8).tobytes() for picture in x[:, 0]}
    assert seen == allowed


def test_a_tiny_training_learns_repeats_itself_and_leaves_a_record(torch, tmp_path, capsys):
    sample = datasets.fashion_mnist("test", 800)
    parts = (slice(600), slice(600, 800))
    images, test = (
        datasets.Images(sample.pixels[part], sample.labels[part], "a test") for part in parts
    )
    settings = training.Settings(epochs=4, batch=50, average=0.9)
    records = [
        training.run(settings, tmp_path / name, images=images, test=test, hold_out=100)
        for name in "ab"
    ]
    assert records[0]["weights_sha256"] == records[1]["weights_sha256"]
    other = training.run(
        training.Settings(epochs=1, batch=50, seed=1),
        tmp_path / "c",
        images=images,
        test=test,
        hold_out=0,
    )
    assert other["weights_sha256"] != records[0]["weights_sha256"]
    assert other["tried_on_held_out_images"] == []
    assert records[0]["test"]["accuracy"] > 0.3  # a guess has 0.1
    assert records[0]["tried_on_held_out_images"][0]["accuracy"] > 0.3
    assert json.loads((tmp_path / "a" / "lenet_training.json").read_text()) == records[0]
    written = trained_weights.read_weights(tmp_path / "a" / "lenet_weights.bin", "written")
    assert training.measured(test, written) == records[0]["test"]
    assert "On all 600 images" in capsys.readouterr().out
