"""Training of the labs' LeNet on Fashion-MNIST's 60,000 training images, with PyTorch.

    python -m evidence.training --out data

This writes data/lenet_weights.bin and data/lenet_training.json. Nothing else in the labs needs
PyTorch. The test images have no part in the training.

The network of `helpers.problems.lenet.network` reads pixels times `PIXEL_SCALE`. At the end, conv1
is multiplied by the scale, so that the written weights take raw values 0 to 255 like the course's.
They are the running average of the weights over the last steps (B. Polyak, A. Juditsky,
"Acceleration of stochastic approximation by averaging", 1992). The optimizer is AdamW (I.
Loshchilov, F. Hutter, "Decoupled weight decay regularization", 2019) with their cosine schedule;
the loss is cross-entropy with smoothed labels (C. Szegedy et al., "Rethinking the Inception
architecture for computer vision", 2016).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from helpers.problems import data_files, datasets, resizing
from helpers.problems.datasets import Images
from helpers.problems.lenet import network, trained_weights
from helpers.problems.lenet.trained_weights import Weights

PIXEL_SCALE = 1 / 255
SCHEMA = 1


class TrainingError(RuntimeError):
    """Training cannot begin, or it failed; the message says why."""


@dataclass(frozen=True)
class Settings:
    """The settings of a training; by default those of the weights in data/.

    shift: the most pixels by which an 86x86 image moves in each direction. flip: whether half of
    the images are mirrored. average: the share of their value that the averaged weights keep in a
    step.
    """

    epochs: int = 30
    seed: int = 0
    batch: int = 256
    rate: float = 4e-3
    weight_decay: float = 0.01
    smoothing: float = 0.05
    dropout: float = 0.1
    shift: int = 2
    flip: bool = True
    average: float = 0.998


# ---- without PyTorch ----


def learning_rate(step: int, steps: int, peak: float) -> float:
    """Return the learning rate of step `step` (from 0) of `steps`.

    It rises to `peak` in a straight line over the first 5 % of the steps, then falls to 0
    along half a cosine. Raises ValueError for another step.
    """
    if not 0 <= step < steps:
        raise ValueError(f"step is {step} of {steps}; expected 0 to {steps - 1}")
    rising = max(1, round(0.05 * steps))
    if step < rising:
        return peak * (step + 1) / rising
    return peak * (1 + math.cos(math.pi * (step - rising) / (steps - rising))) / 2


def averaging(step: int, most: float) -> float:
    """Return the share of the average that stays in step `step` (from 0).

    It is smaller in the first steps, whose weights are still random.
    """
    return min(most, (step + 1) / (step + 10))


def folded(arrays: Mapping[str, np.ndarray], scale: float, *, name: str, source: str) -> Weights:
    """Return the weights for raw pixel values, from those for pixels times `scale`.

    It multiplies conv1 by the scale. arrays: by layer as in `trained_weights.LAYER_SHAPES`. Raises
    TrainingError for NaN and infinity, ValueError for other shapes.
    """
    broken = [layer for layer, array in arrays.items() if not np.isfinite(array).all()]
    if broken:
        raise TrainingError(
            f"training diverged: {', '.join(broken)} hold NaN or infinity. Try a smaller rate."
        )
    raw = {layer: np.array(array, np.float32) for layer, array in arrays.items()}
    raw["conv1"] = (arrays["conv1"].astype(np.float64) * scale).astype(np.float32)
    return Weights(name, source, **raw)


def measured(images: Images, weights: Weights) -> dict[str, Any]:
    """Return the accuracy of weights by the NumPy network, for the record.

    "right": the right answers among the first 100, 1,000, ... images and among all. "closest": the
    smallest difference of an image's two best outputs, which rounding errors must not reach.
    """
    logits = network.logits(images, weights)
    classes = network.classify(logits)
    counts = sorted({min(count, len(images)) for count in (*network.ACCURACY_SIZES, len(images))})
    right = {
        str(count): network.accuracy(classes[:count], images.labels[:count]).right
        for count in counts
    }
    return {
        "right": right,
        "accuracy": right[str(len(images))] / len(images),
        "closest": float(network.margins(logits).min()),
    }


# ---- PyTorch ----


def require_torch() -> ModuleType:
    """Return PyTorch. Raises TrainingError if it is not installed."""
    # cuBLAS sums in a fixed order only with its own workspace, and reads this variable at its
    # start.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    try:
        import torch
    except ImportError as error:
        raise TrainingError(
            f"Training needs PyTorch, which is not installed ({error}): https://pytorch.org says "
            "how to install it. The labs do not need it: "
            "trained_weights.lenet_weights() reads trained weights."
        ) from error
    return torch


def train(images: Images, settings: Settings) -> dict[str, np.ndarray]:
    """Return the trained weights by layer, float32, for pixels times `PIXEL_SCALE` (see `folded`).

    It runs on a GPU if there is one. The same images, settings, device and version of PyTorch give
    the same weights. It prints about five lines. Raises TrainingError without PyTorch.
    """
    torch = require_torch()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.use_deterministic_algorithms(True, warn_only=True)
    # The benchmark mode would choose algorithms by their times, and so vary between runs.
    torch.backends.cudnn.benchmark = False
    torch.manual_seed(settings.seed)
    draws = torch.Generator(device).manual_seed(settings.seed)
    pixels, labels = _on_device(torch, images, settings, device)
    model = _model(torch, settings.dropout).to(device)
    average = [parameter.detach().clone() for parameter in model.parameters()]
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=settings.weight_decay)
    step, steps = 0, settings.epochs * -(-len(labels) // settings.batch)
    for epoch in range(1, settings.epochs + 1):
        begin, total = time.perf_counter(), torch.zeros((), device=device)
        for chosen in torch.randperm(len(labels), generator=draws, device=device).split(
            settings.batch
        ):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(step, steps, settings.rate)
            x = _augmented(torch, pixels, chosen, settings, draws)
            loss = torch.nn.functional.cross_entropy(
                model(x), labels[chosen], label_smoothing=settings.smoothing
            )
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            keep = averaging(step, settings.average)
            for mean, parameter in zip(average, model.parameters(), strict=True):
                mean.lerp_(parameter.detach(), 1 - keep)
            total += loss.detach() * len(chosen)
            step += 1
        mean_loss = total.item() / len(labels)  # It waits for the GPU.
        if epoch % max(1, settings.epochs // 5) == 0:
            print(
                f"epoch {epoch:>3}: loss {mean_loss:.4f}, {time.perf_counter() - begin:.1f} s",
                flush=True,
            )
    return {
        layer: array.cpu().numpy()
        for layer, array in zip(trained_weights.LAYER_SHAPES, average, strict=True)
    }


def _model(torch: ModuleType, dropout: float) -> Any:
    """Return the network; its parameters come in the order of `trained_weights.LAYER_SHAPES`."""
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(1, 4, 7, bias=False),
        nn.ReLU(),
        nn.MaxPool2d(network.POOL1),
        nn.Conv2d(4, 16, 7, bias=False),
        nn.ReLU(),
        nn.MaxPool2d(network.POOL2, ceil_mode=True),
        nn.Flatten(),
        nn.Dropout(dropout),
        nn.Linear(1296, 32),
        nn.ReLU(),
        nn.Linear(32, 10),
    )


def _on_device(
    torch: ModuleType, images: Images, settings: Settings, device: str
) -> tuple[Any, Any]:
    """Return the images at 86x86 as uint8 with a border of `shift` zeros, and the labels.

    A moved image is a part of the image with its border.
    """
    pixels = torch.from_numpy(resizing.resize(images.pixels)).to(device)
    pixels = torch.nn.functional.pad(pixels, (settings.shift,) * 4)
    return pixels, torch.from_numpy(images.labels.astype(np.int64)).to(device)


def _augmented(torch: ModuleType, pixels: Any, chosen: Any, settings: Settings, draws: Any) -> Any:
    """Return the chosen images as float32 (B, 1, 86, 86), each moved and mirrored at random."""
    count, device = len(chosen), pixels.device
    side = torch.arange(resizing.NETWORK_SIDE, device=device)
    moves = torch.randint(0, 2 * settings.shift + 1, (2, count, 1), generator=draws, device=device)
    rows, columns = side + moves[0], side + moves[1]
    if settings.flip:
        mirrored = torch.rand((count, 1), generator=draws, device=device) < 0.5
        columns = torch.where(mirrored, columns.flip(1), columns)
    return (
        pixels[chosen[:, None, None], rows[:, :, None], columns[:, None, :]]
        .float()
        .mul_(PIXEL_SCALE)[:, None]
    )


# ---- the program ----


def run(settings: Settings, folder: Path, *, images: Images, test: Images) -> dict[str, Any]:
    """Train on the images, write weights and record to a folder; return the record.

    test: the images whose right answers the record counts. Raises TrainingError without PyTorch and
    if the training diverges.
    """
    torch = require_torch()
    print(f"On all {len(images):,} images: {settings}")
    begin = time.perf_counter()
    trained = train(images, settings)
    weights = folded(trained, PIXEL_SCALE, name="the labs' LeNet", source="trained just now")
    seconds = time.perf_counter() - begin
    folder.mkdir(parents=True, exist_ok=True)
    record = {
        "schema": SCHEMA,
        "made_by": "python -m evidence.training",
        "data": images.source,
        "training_images": len(images),
        "settings": asdict(settings),
        "test": measured(test, weights),
        "seconds": round(seconds, 1),
        "device": torch.cuda.get_device_name()
        if torch.cuda.is_available()
        else f"CPU ({platform.machine()})",
        "software": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "torch": torch.__version__,
        },
        "weights": trained_weights.LENET_FILE.name,
        "weights_sha256": trained_weights.write_weights(
            folder / trained_weights.LENET_FILE.name, weights
        ),
    }
    (folder / trained_weights.LENET_RECORD.name).write_text(
        json.dumps(record, indent=2) + "\n", encoding="utf-8"
    )
    return record


def main(arguments: list[str] | None = None) -> None:
    """Train, and print the accuracy."""
    about = "Train the labs' LeNet on Fashion-MNIST (needs PyTorch)."
    parser = argparse.ArgumentParser(prog="python -m evidence.training", description=about)
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        help="folder for lenet_weights.bin and lenet_training.json",
    )
    folder = parser.parse_args(arguments).out
    try:
        require_torch()  # Its error must come before a download.
        images, test = datasets.fashion_mnist("train"), datasets.fashion_mnist("test")
        record = run(Settings(), folder, images=images, test=test)
    except (TrainingError, data_files.DataError) as error:
        raise SystemExit(str(error)) from None
    right = ", ".join(
        f"{right:,} of the first {int(count):,}" for count, right in record["test"]["right"].items()
    )
    print(
        f"test images: {right} right; {folder / trained_weights.LENET_FILE.name}, "
        f"sha256 {record['weights_sha256'][:12]}"
    )


if __name__ == "__main__":
    main()
