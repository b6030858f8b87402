"""What of the training needs no PyTorch: schedule, folding, the record; and a tiny training where
it is.
"""

import builtins
import json
import math
from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pytest

from evidence import training
from helpers.problems import datasets, resizing
from helpers.problems.lenet import network, trained_weights


def arrays(seed=0):
    random = np.random.default_rng(seed)
    return {
        layer: (0.1 * random.standard_normal(shape)).astype(np.float32)
        for layer, shape in trained_weights.LAYER_SHAPES.items()
    }


def test_the_settings_are_those_of_the_committed_weights():
    assert asdict(training.Settings()) == trained_weights.lenet_record()["settings"]


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
        training.run(settings, tmp_path / name, images=images, test=test) for name in "ab"
    ]
    assert records[0]["weights_sha256"] == records[1]["weights_sha256"]
    another = training.Settings(epochs=1, batch=50, seed=1)
    other = training.run(another, tmp_path / "c", images=images, test=test)
    assert other["weights_sha256"] != records[0]["weights_sha256"]
    assert records[0]["test"]["accuracy"] > 0.3  # a guess has 0.1
    assert json.loads((tmp_path / "a" / "lenet_training.json").read_text()) == records[0]
    written = trained_weights.read_weights(tmp_path / "a" / "lenet_weights.bin", "written")
    assert training.measured(test, written) == records[0]["test"]
    assert "On all 600 images" in capsys.readouterr().out
