"""The oracles: the right results in float64 NumPy, slow and obvious.

They share no trick with a kernel or a baseline.
"""

from __future__ import annotations

import numpy as np

from helpers import limits


def conv1d(N: np.ndarray, filter: np.ndarray) -> np.ndarray:
    """Return P[i] = sum_j N[i - R + j] * filter[j], with R = width // 2; float64, shape (n,).

    This is the oracle of 1D convolution. Cells outside N count as 0; the filter is not flipped
    (cross-correlation, as in neural networks). N: real numbers, shape (n,), n >= 1; filter: real
    numbers, shape (width,), width odd. Raises ValueError for an empty array, an even width, or an
    array that is not one-dimensional.
    """
    N, filter = np.asarray(N), np.asarray(filter)
    require_shapes(N, filter)
    N, filter = N.astype(np.float64), filter.astype(np.float64)
    radius = filter.size // 2
    padded = np.pad(N, radius)
    P = np.zeros(N.size)
    for j, weight in enumerate(filter):
        P += weight * padded[j : j + N.size]
    return P


def axpy(a: float, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return a * x + y, float64."""
    return a * x.astype(np.float64) + y


def conv2d(x: np.ndarray, filter: np.ndarray, stride: int = 1) -> np.ndarray:
    """Return the oracle of the convolution layer.

        y[b, m, h, w] = sum_{c, p, q} x[b, c, h * stride + p, w * stride + q] * filter[m, c, p, q]

    y: float64, shape (B, M, (H - K) // stride + 1, (W - K) // stride + 1): only windows inside the
    image count ("valid"), and the filter is not flipped (cross-correlation, as in neural networks).
    x: real numbers, shape (B, C, H, W); filter: real numbers, shape (M, C, K, K), K odd or even;
    stride: 1 or more, in both directions. Images do not depend on each other: conv2d(x[:3], filter)
    is the start of conv2d(x, filter), in less time. Raises TypeError for values that are not real
    numbers and for a stride that is no whole number; ValueError for another rank, an empty array,
    another number of channels, a filter that is not square or larger than the image, or a stride
    below 1.
    """
    x, filter = np.asarray(x), np.asarray(filter)
    _require_layer(x, filter)
    _require_stride(stride)
    (batch, _, height, width), (maps, _, taps, _) = x.shape, filter.shape
    x, filter = x.astype(np.float64), filter.astype(np.float64)
    y = np.zeros((batch, maps, (height - taps) // stride + 1, (width - taps) // stride + 1))
    for p in range(taps):
        for q in range(taps):
            # The cells that the tap (p, q) multiplies, one for each output and channel.
            cells = x[:, :, p : p + height - taps + 1 : stride, q : q + width - taps + 1 : stride]
            weights = filter[:, :, p, q]
            y += np.einsum("mc,bchw->bmhw", weights, cells, optimize=True)  # of all channels
    return y


def _require_layer(x: np.ndarray, filter: np.ndarray) -> None:
    for name, array, axes in (("x", x, "(B, C, H, W)"), ("filter", filter, "(M, C, K, K)")):
        if array.dtype.kind not in "biuf":
            raise TypeError(f"{name} is {array.dtype}; expected real numbers, such as float32")
        if array.ndim != 4:
            raise ValueError(f"{name} has shape {array.shape}; expected four dimensions, {axes}")
        if array.size == 0:
            raise ValueError(
                f"{name} is empty, shape {array.shape}; expected at least "
                f"one value in each of {axes}"
            )
    if filter.shape[2] != filter.shape[3]:
        raise ValueError(
            f"filter is {filter.shape[2]} x {filter.shape[3]}, which is not square; "
            "expected (M, C, K, K)"
        )
    if x.shape[1] != filter.shape[1]:
        raise ValueError(
            f"x has {x.shape[1]} channels and filter {filter.shape[1]}; expected as many: "
            "(B, C, H, W), (M, C, K, K)"
        )
    if filter.shape[2] > min(x.shape[2:]):
        raise ValueError(
            f"the filter, {filter.shape[2]} x {filter.shape[3]}, is larger than the image, "
            f"{x.shape[2]} x {x.shape[3]}: no window lies inside it. Give a "
            "larger image or a smaller filter."
        )


def _require_stride(stride: int) -> None:
    if isinstance(stride, bool) or not isinstance(stride, (int, np.integer)):
        raise TypeError(f"stride is {stride!r}; expected a whole number of cells")
    if stride < 1:
        raise ValueError(f"stride is {stride}; expected 1 or more cells")


def require_shapes(N: np.ndarray, filter: np.ndarray) -> None:
    """Raise ValueError unless N and filter have one dimension and values, and an odd width."""
    for name, array in (("N", N), ("filter", filter)):
        if array.ndim != 1:
            raise ValueError(
                f"{name} has shape {array.shape}; 1D convolution expects one dimension: "
                f"{name}.ravel()?"
            )
        if array.size == 0:
            raise ValueError(f"{name} is empty; expected at least one value")
    limits.require_filter(filter.size)
