"""Real images and trained weights for the layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from helpers.limits import ConvShape

from .shapes import LAYERS, SEED, LayerError, shape_of


def inputs(name: str, batch: int, weights: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Return (x, filter) of a layer of LAYERS: the first ``batch`` test images and a trained network's weights, float32.

    Where the full test set cannot be had, its first 1,000 images are repeated
    (`datasets.images_at_hand`).

    "layer 1": images resized to 86 x 86, raw values 0 to 255; "layer 2": max-pool 2 of ReLU of
    layer 1. weights: datasets.Weights, the labs' own where left out. "layer E1" takes the images as
    they are, and "layer E2" max-pool 2 of ReLU of it; there is no trained network of these sizes:
    their filters are uniform random numbers from a fixed seed, scaled by 1 / sqrt(C K K), and
    ``weights`` is refused. Raises LayerError for these, and what `datasets.images_at_hand` raises.
    """
    from helpers.problems import datasets
    from helpers.problems.lenet import network

    shape = shape_of(name, batch)
    pixels = datasets.images_at_hand(batch).repeated(batch)
    if name in ("layer 1", "layer 2"):
        weights = weights or datasets.lenet_weights()
        filters, x = (weights.conv1, weights.conv2), datasets.network_input(pixels)
    elif weights is None:
        filters = _random_filter(LAYERS["layer E1"]), _random_filter(LAYERS["layer E2"])
        x = pixels.astype(np.float32)[:, None]
    else:
        raise LayerError(f"{name} is none of the network's layers: leave weights out")
    if name in ("layer 1", "layer E1"):
        return x, filters[0]
    pooled = np.empty(shape.x_shape, np.float32)
    for first in range(0, batch, 10):  # a few at a time, so that their windows stay in the caches
        part = network.relu(network.conv2d(x[first : first + 10], filters[0]))
        pooled[first : first + 10] = network.max_pool(part, network.POOL1)
    return pooled, filters[1]


def _random_filter(shape: ConvShape) -> np.ndarray:
    rng = np.random.default_rng(SEED)
    return (rng.uniform(-1, 1, shape.filter_shape) / math.sqrt(shape.terms)).astype(np.float32)
