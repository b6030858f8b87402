"""Real images and trained weights for the layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from helpers.limits import ConvShape

from .shapes import LAYERS, LENET, SEED, LayerError, shape_of


def inputs(name: str, batch: int, weights: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Return (x, filter) of a layer of LAYERS, float32: test images and trained weights.

    x: the first ``batch`` test images. Without the full test set, the first 1,000 images repeat
    (`datasets.images_at_hand`). "layer 1" takes them resized to 86 x 86, with raw values 0 to 255;
    "layer 2" takes max-pool 2 of ReLU of layer 1, summed in double precision and rounded, so that
    it is the same on every processor. weights: `trained_weights.Weights`; by default, the labs'
    own.

    "layer E1" takes the images in their own size, and "layer E2" max-pool 2 of ReLU of layer E1.
    No trained network has these sizes: their filters are uniform random numbers from a fixed seed,
    scaled by 1 / sqrt(C K K). Raises LayerError for ``weights`` with one of them, and what
    `datasets.images_at_hand` raises.
    """
    from helpers.problems import datasets, resizing
    from helpers.problems.lenet import network, trained_weights

    shape = shape_of(name, batch)
    pixels = datasets.images_at_hand(batch).repeated(batch)
    if name in LENET:
        weights = weights or trained_weights.lenet_weights()
        filters, x = (weights.conv1, weights.conv2), resizing.network_input(pixels)
    elif weights is None:
        filters = _random_filter(LAYERS["layer E1"]), _random_filter(LAYERS["layer E2"])
        x = pixels.astype(np.float32)[:, None]
    else:
        raise LayerError(
            f"{name} is not a layer of the trained network: call inputs({name!r}, {batch}) "
            "without weights"
        )
    if name in ("layer 1", "layer E1"):
        return x, filters[0]
    pooled = np.empty(shape.x_shape, np.float32)
    # In double precision: the order in which BLAS adds depends on the processor, and sums of
    # floats would give each computer another layer. Ten images at a time: their windows stay in
    # the caches.
    doubles = filters[0].astype(np.float64)
    for first in range(0, batch, 10):
        images = x[first : first + 10].astype(np.float64)
        part = network.relu(network.conv2d(images, doubles))
        pooled[first : first + 10] = network.max_pool(part, network.POOL1)
    return pooled, filters[1]


def _random_filter(shape: ConvShape) -> np.ndarray:
    rng = np.random.default_rng(SEED)
    return (rng.uniform(-1, 1, shape.filter_shape) / math.sqrt(shape.terms)).astype(np.float32)


def random_inputs(shape: ConvShape) -> tuple[np.ndarray, np.ndarray]:
    """Return (x, filter), float32, random: x with a standard deviation of 1, and outputs, too."""
    rng = np.random.default_rng([shape.C, shape.M, shape.H, shape.K])
    x = rng.standard_normal(shape.x_shape, np.float32)
    filter = rng.standard_normal(shape.filter_shape, np.float32)
    return x, filter / np.float32(math.sqrt(shape.terms))
