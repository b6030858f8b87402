"""Trains the LeNet of `helpers.problems.lenet.network` on Fashion-MNIST's 60,000 training images, with PyTorch.

    python -m helpers.tools.training --search --out data

writes data/lenet_weights.bin and data/lenet_training.json; nothing else of the labs needs PyTorch.
It first trains without the last 5,000 training images and measures the accuracy on those: once, or
with `--search` once for each of `CHANGES` too, of which it keeps those that help. The test images
choose nothing. The weights that are written come from a last training, on all 60,000 images, with
the settings found.

The network sees pixels times `PIXEL_SCALE`; at the end the scale is multiplied into conv1, so the
weights written take raw values 0 to 255, as the course's do. What is written is the running average
of the weights over the last steps (B. Polyak, A. Juditsky, "Acceleration of stochastic
approximation by averaging", 1992). Optimizer: AdamW (I. Loshchilov, F. Hutter, "Decoupled weight
decay regularization", 2019) with their cosine schedule; loss: cross-entropy with smoothed labels
(C. Szegedy et al., "Rethinking the Inception architecture for computer vision", 2016).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from helpers.problems import datasets
from helpers.problems.datasets import Images, Weights
from helpers.problems.lenet import network

PIXEL_SCALE = 1 / 255
SCHEMA = 1


class TrainingError(RuntimeError):
    """Training cannot begin, or has come to nothing; the message says why."""


@dataclass(frozen=True)
class Settings:
    """What a training depends on. `shift`: pixels of the 86x86 image by which it is moved at most, in each direction;
    `flip`: whether half of the images are mirrored; `average`: by how much the averaged weights
    keep their value in one step.
    """

    epochs: int = 40
    seed: int = 0
    batch: int = 256
    rate: float = 4e-3
    weight_decay: float = 0.01
    smoothing: float = 0.05
    dropout: float = 0.1
    shift: int = 2
    flip: bool = True
    average: float = 0.998

    def __post_init__(self) -> None:
        for name, least in (("epochs", 1), ("seed", 0), ("batch", 1), ("shift", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} is {getattr(self, name)}; expected {least} or more")
        for name in ("smoothing", "dropout", "average"):
            if not 0 <= getattr(self, name) < 1:
                raise ValueError(
                    f"{name} is {getattr(self, name)}; expected 0 or more, and less than 1"
                )
        if not self.rate > 0 or not self.weight_decay >= 0:
            raise ValueError(
                f"rate is {self.rate}, weight_decay {self.weight_decay}; expected more than 0, "
                "and 0 or more"
            )


# What --search tries, one after the other: a change stays where the accuracy on the held-out images
# grows.
CHANGES = (
    {"dropout": 0.0},
    {"dropout": 0.25},
    {"shift": 0},
    {"shift": 4},
    {"rate": 0.002},
    {"rate": 0.01},
    {"smoothing": 0.1},
    {"flip": False},
    {"weight_decay": 0.1},
)


# ---- without PyTorch ----


def learning_rate(step: int, steps: int, peak: float, warm_up: float = 0.05) -> float:
    """The rate of step `step` (from 0) of `steps`: up to `peak` in a straight line over the first `warm_up` of the steps, then
    down to 0 along half a cosine."""
    if not 0 <= step < steps:
        raise ValueError(f"step is {step} of {steps}; expected 0 to {steps - 1}")
    rising = max(1, round(warm_up * steps))
    if step < rising:
        return peak * (step + 1) / rising
    return peak * (1 + math.cos(math.pi * (step - rising) / (steps - rising))) / 2


def averaging(step: int, most: float) -> float:
    """How much of the average stays in step `step` (from 0): less in the first steps, whose weights are still random."""
    return min(most, (step + 1) / (step + 10))


def folded(arrays: Mapping[str, np.ndarray], scale: float, *, name: str, source: str) -> Weights:
    """The weights of a network for raw pixel values, from those of one for pixels times `scale`: conv1 is multiplied by it.

    arrays: by layer as in `datasets.LAYER_SHAPES`. Raises TrainingError where they hold NaN,
    ValueError for other shapes.
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
    """Right answers by the NumPy network over the first 100, 1,000, ... images and over all, and the closest decision:
    by how much the two best outputs differ at least, which rounding must stay below."""
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


def split(images: Images, hold_out: int) -> tuple[Images, Images | None]:
    """The images without the last `hold_out`, and those (None where `hold_out` is 0). Raises ValueError if none are left."""
    if not 0 <= hold_out < len(images):
        raise ValueError(
            f"hold-out is {hold_out}; expected 0 to {len(images) - 1:,}: some "
            "images must be left to train on"
        )
    if hold_out == 0:
        return images, None
    first, last = (
        Images(images.pixels[part], images.labels[part], images.source)
        for part in (slice(-hold_out), slice(-hold_out, None))
    )
    return first, last


# ---- PyTorch ----


def require_torch() -> ModuleType:
    """PyTorch. Raises TrainingError where it is not installed."""
    # cuBLAS sums in a fixed order only with a workspace of its own, and reads this when it starts.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    try:
        import torch
    except ImportError as error:
        raise TrainingError(
            f"Training needs PyTorch, which is not installed ({error}): https://pytorch.org says "
            "how. The labs do not need it: datasets.lenet_weights() reads "
            "weights that are trained already."
        ) from error
    return torch


def train(
    images: Images, settings: Settings, *, device: str | None = None
) -> dict[str, np.ndarray]:
    """The trained weights by layer, float32, for pixels times `PIXEL_SCALE`: see `folded`. Prints some five lines.

    device: "cuda" or "cpu"; without it, a GPU where there is one. The same images, settings, device
    and versions of PyTorch give the same weights. Raises TrainingError without PyTorch.
    """
    torch = require_torch()
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    torch.use_deterministic_algorithms(True, warn_only=True)
    # It picks algorithms by timing them, so not the same ones each time.
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
        mean_loss = total.item() / len(labels)  # waits for the GPU
        if epoch % max(1, settings.epochs // 5) == 0:
            print(
                f"epoch {epoch:>3}: loss {mean_loss:.4f}, {time.perf_counter() - begin:.1f} s",
                flush=True,
            )
    return {
        layer: array.cpu().numpy()
        for layer, array in zip(datasets.LAYER_SHAPES, average, strict=True)
    }


def _model(torch: ModuleType, dropout: float) -> Any:
    """The network; its parameters come in the order of `datasets.LAYER_SHAPES`."""
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
    """All images at 86x86 as uint8 with a border of `shift` zeros, so that a moved image is a part of it; and the labels."""
    pixels = torch.from_numpy(datasets.resize(images.pixels)).to(device)
    pixels = torch.nn.functional.pad(pixels, (settings.shift,) * 4)
    return pixels, torch.from_numpy(images.labels.astype(np.int64)).to(device)


def _augmented(torch: ModuleType, pixels: Any, chosen: Any, settings: Settings, draws: Any) -> Any:
    """The chosen images as float32 (B, 1, 86, 86), each moved and mirrored at random."""
    count, side, device = (
        len(chosen),
        torch.arange(datasets.NETWORK_SIDE, device=pixels.device),
        pixels.device,
    )
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


def run(
    settings: Settings,
    folder: Path,
    *,
    images: Images,
    test: Images,
    hold_out: int = 5000,
    changes: Sequence[dict] = (),
) -> dict[str, Any]:
    """Measures `settings` and `changes` on held-out images (none where `hold_out` is 0), trains the best on all `images`, writes
    weights and record into `folder`, and returns the record.

    Raises TrainingError without PyTorch or where a training diverged, ValueError for a bad
    hold-out.
    """
    torch = require_torch()
    kept, held_out = split(images, hold_out)
    tried: list[dict[str, Any]] = []
    if held_out is not None:
        settings, tried = search(
            settings, changes, lambda each: measured(held_out, _trained(kept, each))
        )
    print(f"On all {len(images):,} images: {settings}")
    begin = time.perf_counter()
    weights = _trained(images, settings)
    seconds = time.perf_counter() - begin
    folder.mkdir(parents=True, exist_ok=True)
    record = {
        "schema": SCHEMA,
        "made_by": "python -m helpers.tools.training",
        "data": images.source,
        "training_images": len(images),
        "settings": asdict(settings),
        "held_out_images": hold_out,
        "tried_on_held_out_images": tried,
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
        "weights": datasets.LENET_FILE.name,
        "weights_sha256": datasets.write_weights(folder / datasets.LENET_FILE.name, weights),
    }
    (folder / datasets.LENET_RECORD.name).write_text(
        json.dumps(record, indent=2) + "\n", encoding="utf-8"
    )
    return record


def search(
    settings: Settings, changes: Sequence[dict], measure: Callable[[Settings], dict[str, Any]]
) -> tuple[Settings, list[dict[str, Any]]]:
    """The best settings found, and what was measured of each: `settings` first, then one change after the other to the best
    so far. measure: what `measured` returns, of a training with these settings. A diverged training
    counts as 0 right.
    """
    best, most = settings, -1.0
    tried: list[dict[str, Any]] = []
    for change in ({}, *changes):
        candidate = replace(best, **change)
        if tried and candidate == best:
            continue
        try:
            accuracy = measure(candidate)["accuracy"]
        except TrainingError as error:
            print(error)
            accuracy = 0.0
        print(f"held-out accuracy {accuracy:.4f}: {candidate}", flush=True)
        tried.append({"accuracy": accuracy, "settings": asdict(candidate)})
        if accuracy > most:
            best, most = candidate, accuracy
    return best, tried


def _trained(images: Images, settings: Settings) -> Weights:
    return folded(
        train(images, settings), PIXEL_SCALE, name="the labs' LeNet", source="trained just now"
    )


def parser() -> argparse.ArgumentParser:
    """The command line: --out, --hold-out, --search, and one option for each field of `Settings`."""
    about = "Train the labs' LeNet on Fashion-MNIST (needs PyTorch)."
    made = argparse.ArgumentParser(prog="python -m helpers.tools.training", description=about)
    made.add_argument(
        "--out",
        type=Path,
        required=True,
        help="folder for lenet_weights.bin and lenet_training.json",
    )
    hold_out = (
        "first train without the last N images, and measure on them (default: 5000; 0: do not)"
    )
    made.add_argument("--hold-out", type=int, default=5000, help=hold_out)
    made.add_argument(
        "--search",
        action="store_true",
        help="try other settings on the held-out images, and train with the best",
    )
    for name, default in asdict(Settings()).items():
        kind = argparse.BooleanOptionalAction if isinstance(default, bool) else None
        extra = {"action": kind} if kind else {"type": type(default)}
        made.add_argument(
            f"--{name.replace('_', '-')}", default=default, help=f"(default: {default})", **extra
        )
    return made


def main(arguments: list[str] | None = None) -> None:
    """Reads the command line, trains, and prints what came out."""
    given = vars(parser().parse_args(arguments))
    folder, hold_out, changes = (
        given.pop("out"),
        given.pop("hold_out"),
        CHANGES if given.pop("search") else (),
    )
    try:
        settings = Settings(**given)
        require_torch()  # before a download
        images, test = datasets.fashion_mnist("train"), datasets.fashion_mnist("test")
        record = run(settings, folder, images=images, test=test, hold_out=hold_out, changes=changes)
    except (TrainingError, datasets.DataError, ValueError) as error:
        raise SystemExit(str(error)) from None
    right = ", ".join(
        f"{right:,} of the first {int(count):,}" for count, right in record["test"]["right"].items()
    )
    print(
        f"test images: {right} right; {folder / datasets.LENET_FILE.name}, "
        f"sha256 {record['weights_sha256'][:12]}"
    )


if __name__ == "__main__":
    main()
