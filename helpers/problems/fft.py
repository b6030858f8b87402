"""Fourier transforms of complex numbers: the launch of fft_radix2, its cost and its error bound.

`fft_conv1d` and `fft_conv2d` convolve with it: it computes the filter's spectrum, once, which both
their kernels read beside a table of twiddle factors.
"""

from __future__ import annotations

import math

import numpy as np

from helpers import kernels
from helpers.launch import Argument, Launch
from helpers.limits import MAX_THREADS
from helpers.problems.precision import FLOAT_UNIT

TRANSFORM = "fft_radix2"
LARGEST_FFT = 8192  # the most points that fit the shared memory of fft_radix2 on every GPU


class FftError(ValueError):
    """A size of a transform or a launch that a kernel refuses; the message says what fits."""


def bit_reversed(size: int) -> np.ndarray:
    """Return the frequencies in the order of fft_radix2's outputs: int64, shape (size,).

    size: a power of two. Output i has frequency bit_reversed(size)[i], which is i with its bits in
    reverse order: 0, 4, 2, 6, 1, 5, 3, 7 for eight.
    """
    order = np.zeros(1, np.int64)
    while order.size < _require_power_of_two(size):
        order = np.concatenate([2 * order, 2 * order + 1])
    return order


def twiddles(row: int) -> np.ndarray:
    """Return exp(-2 pi i k / row) for k < row / 2: complex64, shape (max(row / 2, 1),).

    The values are rounded once, from float64.
    """
    return np.exp(-2j * np.pi * np.arange(max(1, _require_power_of_two(row) // 2)) / row).astype(
        np.complex64
    )


def reference(signals: np.ndarray, row: int | None = None) -> np.ndarray:
    """Return the oracle of fft_radix2: NumPy's transform in float64, in bit-reversed order.

    signals: real or complex, shape (signals, size); the result is complex128 of that shape. row:
    None for transforms along one axis; for two-dimensional ones the length of a row, with
    row * row == size.
    """
    signals = np.asarray(signals, np.complex128)
    count, size = signals.shape
    if row in (None, size):
        return np.fft.fft(signals, axis=1)[:, bit_reversed(size)]
    planes = np.fft.fft2(signals.reshape(count, size // row, row))
    order = bit_reversed(row)
    return planes[:, bit_reversed(size // row)][:, :, order].reshape(count, size)


def transform_flops(size: int) -> int:
    """Return the usual count of operations of a complex radix-2 transform, 5 n log2 n.

    Each of its n / 2 log2 n pairs takes ten operations.
    """
    return 5 * size * _log2(size)


def _log2(size: int) -> int:
    return _require_power_of_two(size).bit_length() - 1


def _require_power_of_two(size: int) -> int:
    if size < 1 or size & (size - 1):
        raise FftError(f"a radix-2 transform has 1, 2, 4, 8, ... points, not {size}")
    return size


def transform_atol(want: np.ndarray) -> float:
    """Return the largest error of the real or imaginary part of an output of fft_radix2.

    It is log2 n times `stage_error`, relative to the largest of the oracle's outputs. want:
    `reference` of the signals, shape (signals, size). Higham's theorem is about the root mean
    square of a signal's outputs, and the largest output is at least as large.
    """
    return float(_log2(want.shape[-1]) * stage_error() * np.abs(want).max())


def stage_error() -> float:
    """Return the relative error of one radix-2 stage: u + gamma_4 (sqrt(2) + u).

    Here gamma_4 = 4 u / (1 - 4 u). N. J. Higham, *Accuracy and Stability of Numerical Algorithms*,
    theorem 24.2: a transform with log2 n stages, and with twiddle factors that err by at most u,
    errs in the 2-norm by at most log2 n times this, relative to its result.
    """
    gamma = 4 * FLOAT_UNIT / (1 - 4 * FLOAT_UNIT)
    return FLOAT_UNIT + gamma * (math.sqrt(2) + FLOAT_UNIT)


def three_transforms(size: int, channels: int = 1) -> float:
    """Return the relative error of two transforms, a sum over channels, and one back."""
    return 3 * _log2(size) * stage_error() + (2 + channels) * FLOAT_UNIT


def transform(
    spectrum: Argument, signals: Argument, shape: tuple[int, int], row: int | None = None
) -> Launch:
    """Return the launch of fft_radix2 from ``signals`` to ``spectrum``, complex64 of one shape.

    shape: (signals, size); row as for `reference`. Raises FftError for sizes that it refuses.
    """
    count, size = shape
    row = row or size
    if _require_power_of_two(size) > LARGEST_FFT or size < 2 or row not in (size, math.isqrt(size)):
        raise FftError(
            f"fft_radix2 transforms 2 to {LARGEST_FFT:,} points, in one row or as a square, not "
            f"{size} in rows of {row}"
        )
    return Launch(
        kernels.source(TRANSFORM),
        TRANSFORM,
        (f"-DFFT_SIZE={size}", f"-DROW={row}"),
        (count, 1, 1),
        (min(MAX_THREADS, size // 2), 1, 1),
        8 * size,
        arguments=(spectrum, signals, twiddles(row)),
    )
