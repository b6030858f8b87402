"""Training of the labs' LeNet on Fashion-MNIST's 60,000 training images, with PyTorch.

    python -m helpers.tools.training --search --out data

This writes data/lenet_weights.bin and data/lenet_training.json. Nothing else in the labs needs
PyTorch. The program first trains without the last 5,000 training images and measures the accuracy
on these: once or, with `--search`, once more for each of `CHANGES`, of which it keeps those that
help. The test images do not influence the choice. The final training uses the best settings and all
60,000 images.

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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
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
    """The settings of a training.

    shift: the most pixels by which an 86x86 image moves in each direction. flip: whether half of
    the images are mirrored. average: the share of their value that the averaged weights keep in a
    step. Raises ValueError for values outside of their range.
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


# The changes of --search, in their order. A change stays if it improves the accuracy on the
# held-out images.
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


def split(images: Images, hold_out: int) -> tuple[Images, Images | None]:
    """Return the images without the last `hold_out`, and the last ones (None if `hold_out` is 0).

    Raises ValueError if no images are left.
    """
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


def train(
    images: Images, settings: Settings, *, device: str | None = None
) -> dict[str, np.ndarray]:
    """Return the trained weights by layer, float32, for pixels times `PIXEL_SCALE` (see `folded`).

    device: "cuda" or "cpu"; by default a GPU if there is one. The same images, settings, device and
    version of PyTorch give the same weights. It prints about five lines. Raises TrainingError
    without PyTorch.
    """
    torch = require_torch()
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
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


def run(
    settings: Settings,
    folder: Path,
    *,
    images: Images,
    test: Images,
    hold_out: int = 5000,
    changes: Sequence[dict] = (),
) -> dict[str, Any]:
    """Find the best settings, train on all images, write weights and record; return the record.

    It measures `settings` and `changes` on the last `hold_out` images (0: it does not). folder: for
    the weights and the record. Raises TrainingError without PyTorch and if a training diverges,
    ValueError for a wrong hold-out.
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
        "weights": trained_weights.LENET_FILE.name,
        "weights_sha256": trained_weights.write_weights(
            folder / trained_weights.LENET_FILE.name, weights
        ),
    }
    (folder / trained_weights.LENET_RECORD.name).write_text(
        json.dumps(record, indent=2) + "\n", encoding="utf-8"
    )
    return record


def search(
    settings: Settings, changes: Sequence[dict], measure: Callable[[Settings], dict[str, Any]]
) -> tuple[Settings, list[dict[str, Any]]]:
    """Return the best settings, and the accuracy of all that were tried.

    It tries `settings` first, then each change to the best settings so far. measure: a function
    that trains with some settings and returns `measured`. A diverged training counts as accuracy 0.
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
    """Return the command line: --out, --hold-out, --search, an option for each of `Settings`."""
    about = "Train the labs' LeNet on Fashion-MNIST (needs PyTorch)."
    options = argparse.ArgumentParser(prog="python -m helpers.tools.training", description=about)
    options.add_argument(
        "--out",
        type=Path,
        required=True,
        help="folder for lenet_weights.bin and lenet_training.json",
    )
    hold_out = (
        "first train without the last N images, and measure on them (default: 5000; 0: do not)"
    )
    options.add_argument("--hold-out", type=int, default=5000, help=hold_out)
    options.add_argument(
        "--search",
        action="store_true",
        help="try other settings on the held-out images, and train with the best",
    )
    for name, default in asdict(Settings()).items():
        kind = argparse.BooleanOptionalAction if isinstance(default, bool) else None
        extra = {"action": kind} if kind else {"type": type(default)}
        options.add_argument(
            f"--{name.replace('_', '-')}", default=default, help=f"(default: {default})", **extra
        )
    return options


def main(arguments: list[str] | None = None) -> None:
    """Train with the settings of the command line, and print the accuracy."""
    options = vars(parser().parse_args(arguments))
    folder, hold_out = options.pop("out"), options.pop("hold_out")
    changes = CHANGES if options.pop("search") else ()
    try:
        settings = Settings(**options)
        require_torch()  # Its error must come before a download.
        images, test = datasets.fashion_mnist("train"), datasets.fashion_mnist("test")
        record = run(settings, folder, images=images, test=test, hold_out=hold_out, changes=changes)
    except (TrainingError, data_files.DataError, ValueError) as error:
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
