"""The labs' LeNet for Fashion-MNIST at 86x86, in NumPy. The kernels compute two of its layers.

    image (1, 86, 86) -> conv1 (4, 80, 80) -> ReLU -> max-pool 2 (4, 40, 40)
                      -> conv2 (16, 34, 34) -> ReLU -> max-pool 4 (16, 9, 9) -> 1296
                      -> fc3 32 -> ReLU -> fc4 10

after Y. LeCun, L. Bottou, Y. Bengio, P. Haffner, "Gradient-based learning applied to document
recognition" (1998), with filters of 7, no bias in the convolutions, and raw pixel values 0 to 255
as input.

A kernel can compute both convolutions: `forward(x, weights, conv=mine)` calls `mine(x, filter)`
with float32 arrays of shape (B, C, H, W) and (M, C, 7, 7), and expects (B, M, H - 6, W - 6).

`python -m helpers.problems.lenet.network` prints the accuracy over the first 100, 1,000 and 10,000
test images.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.problems import data_files, datasets, measured, resizing
from helpers.problems.datasets import Images
from helpers.problems.lenet import trained_weights
from helpers.problems.lenet.trained_weights import Weights

Convolution = Callable[[np.ndarray, np.ndarray], np.ndarray]

POOL1, POOL2 = 2, 4
ACCURACY_SIZES = (100, 1_000, 10_000)
# The windows of 10 images are 13 MB in layer 1. More would not fit the caches, and be slower.
_IMAGES_AT_A_TIME = 10


@dataclass(frozen=True)
class Accuracy:
    """How many of `count` images were classified right."""

    right: int
    count: int

    @property
    def share(self) -> float:
        """The share of images that were classified right, 0 to 1."""
        return self.right / self.count

    def __str__(self) -> str:
        return f"{self.share:.4f} ({self.right:,} of {self.count:,} right)"


def conv2d(x: np.ndarray, filter: np.ndarray) -> np.ndarray:
    """Return the convolution of images, as one matrix product per row of outputs.

        y[b, m, h, w] = sum_{c, p, q} x[b, c, h + p, w + q] filter[m, c, p, q]

    x: float32 or float64, shape (B, C, H, W); filter: the same dtype, shape (M, C, K, K); y: that
    dtype, shape (B, M, H - K + 1, W - K + 1). The windows of x are copied into matrices, K * K
    times the size of x. The tests compare it with `reference.conv2d`. Raises ValueError if the
    shapes do not fit.
    """
    if x.ndim != 4 or filter.ndim != 4 or x.shape[1] != filter.shape[1]:
        raise ValueError(
            f"x has shape {x.shape} and filter {filter.shape}; "
            "expected (B, C, H, W) and (M, C, K, K)"
        )
    if x.shape[2] < filter.shape[2] or x.shape[3] < filter.shape[3]:
        raise ValueError(f"the filter, {filter.shape[2:]}, is larger than the image, {x.shape[2:]}")
    # windows: (B, C, Ho, Wo, K, K).
    windows = np.lib.stride_tricks.sliding_window_view(x, filter.shape[2:], axis=(2, 3))
    out_height, out_width = windows.shape[2:4]
    # One matrix per row of outputs, not per image: BLAS starts no threads for products this small.
    # On a busy machine, threads that wait for each other make this ten times slower.
    columns = windows.transpose(0, 2, 1, 4, 5, 3).reshape(len(x), out_height, -1, out_width)
    y = filter.reshape(len(filter), -1) @ columns  # (B, Ho, M, Wo)
    return np.ascontiguousarray(y.swapaxes(1, 2))


def relu(x: np.ndarray) -> np.ndarray:
    """Return max(x, 0), of the shape and dtype of x. NaN stays NaN."""
    return np.maximum(x, x.dtype.type(0))


def max_pool(x: np.ndarray, width: int) -> np.ndarray:
    """Return the largest cell of each width x width window; windows do not overlap.

    (B, C, H, W) becomes (B, C, ceil(H / width), ceil(W / width)): windows that reach over the lower
    or right edge are cut there. A window with a NaN gives NaN. Raises ValueError for a width below
    1 and for another rank.
    """
    if x.ndim != 4 or x.size == 0:
        raise ValueError(f"x has shape {x.shape}; expected (B, C, H, W), not empty")
    if width < 1:
        raise ValueError(f"width is {width}; expected 1 or more")
    return _pool_rows(_pool_rows(x, width).swapaxes(2, 3), width).swapaxes(2, 3)


def _pool_rows(x: np.ndarray, width: int) -> np.ndarray:
    largest = x[:, :, ::width].copy()
    for offset in range(1, min(width, x.shape[2])):
        part = x[:, :, offset::width]  # one row fewer if the last window is cut
        into = largest[:, :, : part.shape[2]]
        np.maximum(into, part, out=into)
    return largest


def dense(x: np.ndarray, weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Return x @ weights.T + bias: (B, inputs), (outputs, inputs), (outputs,) -> (B, outputs).

    Raises ValueError where the shapes do not fit.
    """
    if (
        x.ndim != 2
        or weights.ndim != 2
        or x.shape[1] != weights.shape[1]
        or bias.shape != weights.shape[:1]
    ):
        raise ValueError(
            f"x has shape {x.shape}, weights {weights.shape}, bias {bias.shape}; "
            "expected (B, inputs), (outputs, inputs), (outputs,)"
        )
    return x @ weights.T + bias


def forward(x: np.ndarray, weights: Weights, conv: Convolution = conv2d) -> np.ndarray:
    """Return the ten outputs (logits) of each image, shape (B, 10): the largest marks the class.

    x: float32 or float64, shape (B, 1, 86, 86), raw values 0 to 255 (`resizing.network_input`). The
    network computes in the dtype of x, if `conv` keeps it. conv: a function (x, filter) -> y that
    computes both convolutions, see the module. Raises TypeError or ValueError for another x, and
    ValueError if `conv` returns another shape.
    """
    side = resizing.NETWORK_SIDE
    if x.dtype not in (np.float32, np.float64):
        raise TypeError(
            f"x is {x.dtype}; expected float32 or float64: "
            "resizing.network_input(images) returns it"
        )
    if x.ndim != 4 or x.shape[1:] != (1, side, side) or len(x) == 0:
        raise ValueError(f"x has shape {x.shape}; expected (B, 1, {side}, {side}), not empty")
    for filter, width in ((weights.conv1, POOL1), (weights.conv2, POOL2)):
        x = max_pool(relu(_convolved(x, filter.astype(x.dtype), conv)), width)
    hidden = relu(
        dense(x.reshape(len(x), -1), weights.fc3.astype(x.dtype), weights.fc3_bias.astype(x.dtype))
    )
    return dense(hidden, weights.fc4.astype(x.dtype), weights.fc4_bias.astype(x.dtype))


def _convolved(x: np.ndarray, filter: np.ndarray, conv: Convolution) -> np.ndarray:
    y = np.asarray(conv(np.ascontiguousarray(x), filter))
    expected = (
        len(x),
        len(filter),
        x.shape[2] - filter.shape[2] + 1,
        x.shape[3] - filter.shape[3] + 1,
    )
    if y.shape != expected:
        raise ValueError(
            f"conv returned shape {y.shape} for x {x.shape} and filter {filter.shape}; "
            f"expected {expected}"
        )
    return y


def classify(logits: np.ndarray) -> np.ndarray:
    """Return the class of the largest output, uint8, shape (B,); of equal outputs, the first.

    logits: shape (B, classes). Raises ValueError for an output that is NaN, which argmax would take
    for the largest.
    """
    if logits.ndim != 2 or logits.size == 0:
        raise ValueError(f"logits have shape {logits.shape}; expected (B, classes), not empty")
    broken = int(np.isnan(logits).any(axis=1).sum())
    if broken:
        raise ValueError(
            f"{broken:,} of {len(logits):,} images have NaN among their outputs: they have no class"
        )
    return logits.argmax(axis=1).astype(np.uint8)


def margins(logits: np.ndarray) -> np.ndarray:
    """Return the largest output minus the second largest, shape (B,).

    If no output errs by half of it, the class is certain.
    """
    two = np.partition(logits, -2, axis=1)[:, -2:]
    return two[:, 1] - two[:, 0]


def accuracy(classes: np.ndarray, labels: np.ndarray) -> Accuracy:
    """Return how many of `classes` equal the `labels`. Both are whole numbers of shape (n,).

    Raises TypeError for another dtype and ValueError for another shape.
    """
    classes, labels = np.asarray(classes), np.asarray(labels)
    for name, array in (("classes", classes), ("labels", labels)):
        if array.dtype.kind not in "iu":
            raise TypeError(
                f"{name} are {array.dtype}; expected whole numbers, such as "
                "network.classify(logits) returns"
            )
    if classes.shape != labels.shape or classes.ndim != 1 or classes.size == 0:
        raise ValueError(
            f"classes have shape {classes.shape}, labels {labels.shape}; expected the same (n,), "
            "not empty"
        )
    return Accuracy(int((classes == labels).sum()), classes.size)


def right_rows(
    good: np.ndarray,
    counts: Sequence[int],
    record: str | None = None,
    *,
    size: str = "images",
    **entries: Any,
) -> list[dict[str, Any]]:
    """Return a row for a record for each of ``counts``: how many of the first images are right.

    good: bool, shape (n,): whether an image is right. size: the name of the column with the number
    of images. entries: the other columns. For a count beyond n the row comes from
    data/measured/<record>.json; without such a row there, the result has none.
    """
    rows: list[dict[str, Any]] = []
    for count in counts:
        row = {"series": "accuracy", **entries, size: count}
        if count <= len(good):
            rows.append({**row, "right": int(good[:count].sum()), "timing": None})
        elif record is not None:
            rows += measured.counts(record, **row)
    return rows


def logits(
    images: Images | np.ndarray,
    weights: Weights,
    *,
    dtype: type = np.float32,
    conv: Convolution = conv2d,
) -> np.ndarray:
    """Return `forward` of any number of images, in `dtype`, shape (n, 10).

    It computes a few images at a time, so that it needs little memory. images: `datasets.Images`,
    or uint8, shape (n, height, width); `resizing.resize` resizes those that are not 86x86.
    """
    pixels = images.pixels if isinstance(images, Images) else np.asarray(images)
    parts = []
    for begin in range(0, max(1, len(pixels)), _IMAGES_AT_A_TIME):
        x = resizing.network_input(pixels[begin : begin + _IMAGES_AT_A_TIME])
        parts.append(forward(x.astype(dtype, copy=False), weights, conv))
    return np.concatenate(parts)


def predict(
    images: Images | np.ndarray,
    weights: Weights,
    *,
    dtype: type = np.float32,
    conv: Convolution = conv2d,
) -> np.ndarray:
    """Return the class of each image, uint8, shape (n,): `classify` of `logits`.

    10,000 images take some 5 s on two cores.
    """
    return classify(logits(images, weights, dtype=dtype, conv=conv))


def _print_accuracies(images: Images, weights: Weights, recorded: Mapping[str, int]) -> None:
    print(f"{weights.name} ({weights.source}) on {images.source}")
    for count in ACCURACY_SIZES:
        if count > len(images):
            right = recorded.get(str(count))
            known = "not counted" if right is None else f"{right:,} right (recorded)"
            print(f"{count:>7,} images: {known}")
            continue
        begin = time.perf_counter()
        classes = predict(images.pixels[:count], weights)
        print(
            f"{count:>7,} images: {accuracy(classes, images.labels[:count])}, "
            f"{time.perf_counter() - begin:.1f} s"
        )


def main() -> None:
    """Print the accuracy of the labs' network, and of the course's if COURSE_WEIGHTS is set."""
    argparse.ArgumentParser(
        prog="python -m helpers.problems.lenet.network", description=main.__doc__
    ).parse_args()
    try:
        images = datasets.images_at_hand(max(ACCURACY_SIZES))
        recorded = trained_weights.lenet_record()["test"]["right"]
        _print_accuracies(images, trained_weights.lenet_weights(), recorded)
        if os.environ.get(trained_weights.WEIGHTS_VARIABLE, "").strip():
            _print_accuracies(images, trained_weights.course_weights(), {})
    except data_files.DataError as error:
        raise SystemExit(str(error)) from None


if __name__ == "__main__":
    main()
