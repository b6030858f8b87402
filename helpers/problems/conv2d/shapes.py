"""The layers that the labs convolve, by name, and the shape that two arrays make."""

from __future__ import annotations

import dataclasses

import numpy as np

from helpers import checking
from helpers.limits import ConvShape

SEED = 20_25

# The two layers of the LeNet on images of 86 x 86, and those of a course report on the images as
# they are.
LAYERS = {
    "layer 1": ConvShape(1, C=1, M=4, H=86, W=86, K=7),
    "layer 2": ConvShape(1, C=4, M=16, H=40, W=40, K=7),
    "layer E1": ConvShape(1, C=1, M=12, H=28, W=28, K=7),
    "layer E2": ConvShape(1, C=12, M=24, H=11, W=11, K=7),
}
LENET = ("layer 1", "layer 2")

# Layers of well-known networks, which arrive with their border of zeros.
KNOWN_LAYERS = {
    "ResNet-50, first": ConvShape(64, C=3, M=64, H=230, W=230, K=7, stride=2),
    "ResNet-50, 56 x 56": ConvShape(128, C=64, M=64, H=58, W=58, K=3),
    "ResNet-50, 56 to 28": ConvShape(128, C=128, M=128, H=58, W=58, K=3, stride=2),
    "ResNet-50, 14 x 14": ConvShape(256, C=256, M=256, H=16, W=16, K=3),
    "VGG-16, 224 x 224": ConvShape(16, C=64, M=64, H=226, W=226, K=3),
    "GoogLeNet, 5 x 5": ConvShape(256, C=16, M=32, H=32, W=32, K=5),
}


class LayerError(ValueError):
    """A layer that no kernel can compute, or a launch that CUDA or a kernel refuses.

    The message names the size that does not fit, and the sizes that do.
    """


def shape_of(name: str, batch: int) -> ConvShape:
    """Return the shape of a layer of LAYERS for ``batch`` images; LayerError for another name."""
    if name not in LAYERS:
        raise LayerError(f"there is no layer {name!r}; choose from {', '.join(map(repr, LAYERS))}")
    return dataclasses.replace(LAYERS[name], B=batch)


def shape_for(x: np.ndarray, filter: np.ndarray, stride: int = 1) -> ConvShape:
    """Return the shape of the layer of two arrays.

    x: float32, shape (B, C, H, W); filter: float32, shape (M, C, K, K); both in C order. Raises
    TypeError for an object that is no array, and for another dtype; LayerError for another rank, an
    empty or non-contiguous array, a filter that is not square, unequal numbers of channels, a
    filter larger than the image, or a stride below 1.
    """
    try:
        for array, name in ((x, "x"), (filter, "filter")):
            checking.require_array(array, dtype=np.float32, ndim=4, name=name)
        (B, C, H, W), (M, channels, K, across) = x.shape, filter.shape
        if across != K:
            raise LayerError(
                f"the filter has {K} rows and {across} columns (shape {filter.shape}); "
                "the kernels take square filters"
            )
        if channels != C:
            raise LayerError(
                f"x has {C} channels (shape {x.shape}) and the filter {channels} (shape "
                f"{filter.shape}): they must be the same. x is (images, channels, rows, columns), "
                "the filter (output maps, channels, rows, columns)."
            )
        return ConvShape(B, C, M, H, W, K, stride)
    except LayerError:
        raise
    except ValueError as error:
        raise LayerError(str(error)) from None


def ceil_div(cells: int, tile: int) -> int:
    """Return how many tiles of ``tile`` cells cover ``cells`` of them."""
    return -(-cells // tile)
