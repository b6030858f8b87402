"""Images of 28x28 pixels resized to the networks' input of 86x86, exactly."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

NETWORK_SIDE = 86  # pixels along a side of the networks' input
_RESIZED_AT_A_TIME = 500


def resize(images: np.ndarray, size: int = NETWORK_SIDE) -> np.ndarray:
    """Resize uint8 images, shape (n, height, width), to uint8, shape (n, size, size), bilinearly.

    Pixels have half-pixel centres: output o lies at source coordinate (o + 1/2) length / size -
    1/2, which is (28 o - 29) / 86 from 28 to 86. Cells outside the image count as 0, so that the
    border darkens. The weights are whole multiples of 1 / denominator, so that every value is
    computed exactly and then truncated. The function does not smooth the images before: for much
    smaller sizes, it skips the pixels between the outputs.

    Raises TypeError for another dtype, ValueError for another rank, an empty array or a size below
    1.
    """
    images = _require_pixels(images)
    if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
        raise ValueError(f"size is {size!r}; expected a whole number of pixels, 1 or more")
    resized = np.empty((len(images), size, size), np.uint8)
    for begin, part in _chunks(images):
        resized[begin : begin + len(part)] = _resize_chunk(part, int(size))
    return resized


def network_input(images: np.ndarray, size: int = NETWORK_SIDE) -> np.ndarray:
    """Return the networks' input: `resize`, then a cast to float32 NCHW, shape (n, 1, size, size).

    images: uint8, shape (n, height, width); the values stay 0 to 255. Raises what `resize` raises.
    10,000 images at 86x86 take 296 MB.
    """
    return resize(images, size).astype(np.float32)[:, None]


def _require_pixels(images: np.ndarray) -> np.ndarray:
    images = np.asarray(images)
    if images.dtype != np.uint8:
        raise TypeError(f"images are {images.dtype}; expected uint8 with values 0 to 255")
    if images.ndim != 3 or images.size == 0:
        raise ValueError(
            f"images have shape {images.shape}; expected (n, height, width), not empty: "
            "image[None] is a batch of one"
        )
    return images


def _chunks(images: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    for begin in range(0, len(images), _RESIZED_AT_A_TIME):
        yield begin, images[begin : begin + _RESIZED_AT_A_TIME]


def _resize_chunk(images: np.ndarray, size: int) -> np.ndarray:
    (rows, row_unit), (columns, column_unit) = (
        _bilinear(length, size) for length in images.shape[1:]
    )
    unit = row_unit * column_unit
    # Sums of whole numbers are exact in any order: in float32 up to 2^24, in float64 up to 2^53.
    exact = np.float32 if 255 * unit <= 2**24 else np.float64
    sums = rows.astype(exact) @ (images.astype(exact) @ columns.T.astype(exact))
    return (sums.astype(np.int64 if 255 * unit >= 2**31 else np.int32) // unit).astype(np.uint8)


def _bilinear(length: int, size: int) -> tuple[np.ndarray, int]:
    """Return whole-number weights, shape (size, length), and their common denominator."""
    output = np.arange(size)
    numerator, denominator = (2 * output + 1) * length - size, 2 * size
    common = int(np.gcd.reduce(np.append(numerator, denominator)))
    numerator, denominator = numerator // common, denominator // common
    before, part = np.divmod(numerator, denominator)  # It rounds down, below 0 as well.
    weights = np.zeros((size, length), np.int64)
    for cell, weight in ((before, denominator - part), (before + 1, part)):
        inside = (cell >= 0) & (cell < length)
        weights[output[inside], cell[inside]] += weight[inside]
    return weights, denominator
