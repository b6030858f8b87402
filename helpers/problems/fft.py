"""Convolution by Fourier transforms: the launches of its kernels, their cost, their error bounds.

    # A launch on device addresses, to be timed.
    launch = fft.conv1d_launch(fft.OverlapAdd.fitting(255), n, N, P, filter)
    # The same with arrays, in the simulator.
    P, profiles = fft.simulate_conv1d(fft.OverlapAdd(10), N, filter)

Both kernels read the filter's spectrum, which `fft_radix2` computes once, and a table of twiddle
factors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import checking, kernels, launch, limits, simulator
from helpers.launch import Argument, Array, Launch, Plan, Prepared, Program, Scratch
from helpers.limits import INDICES, MAX_GRID, MAX_THREADS, MOST_SHARED_BYTES, ConvShape
from helpers.problems import conv2d

TRANSFORM, OVERLAP_ADD, TILES = "fft_radix2", "conv1d_fft_overlap_add", "conv2d_fft_tiles"
UNIT = 2.0**-24  # the unit roundoff of float32
LOG_SIZES = range(8, 14)  # of the 1D transforms: 256 to 8,192 points
LARGEST_FFT = 8192  # the most points that fit the shared memory of fft_radix2 on every GPU
# (largest width of the filter, log2 of the points, stages at a time) of the fastest overlap-add,
# measured on an H200 with 10^7 cells.
FASTEST: tuple[tuple[int, int, int], ...] = (
    (133, 9, 4),
    (227, 10, 4),
    (255, 11, 4),
)


class FftError(ValueError):
    """A size of a transform or a launch that a kernel refuses; the message says what fits."""


# --------------------------------------------------------------------------------------------------
# Transforms


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
    gamma = 4 * UNIT / (1 - 4 * UNIT)
    return UNIT + gamma * (math.sqrt(2) + UNIT)


# --------------------------------------------------------------------------------------------------
# 1D: overlap-add


@dataclass(frozen=True)
class OverlapAdd:
    """How conv1d_fft_overlap_add is compiled and launched.

    log_size: a transform has 2^log_size points. stages: the radix-2 stages between two barriers.
    Raises FftError for a size or a number of stages that the kernel refuses.
    """

    log_size: int
    stages: int = 3
    name: str = OVERLAP_ADD

    def __post_init__(self) -> None:
        if not 1 <= self.log_size <= max(LOG_SIZES):
            raise FftError(
                f"transforms of 2^{self.log_size} points: take 2^1 to 2^{max(LOG_SIZES)}"
            )
        if not 1 <= self.stages <= min(self.log_size, 5):
            raise FftError(
                f"{self.stages} stages at a time, of {self.log_size}: take 1 "
                f"to {min(self.log_size, 5)}"
            )

    @classmethod
    def fitting(cls, width: int, stages: int = 3) -> OverlapAdd:
        """Return the size with the fewest operations per output for a filter of ``width``.

        Raises FftError for widths above 4,097.
        """
        limits.require_filter(width)
        fit = [cls(log_size, stages) for log_size in LOG_SIZES if 2 * (width - 1) <= 1 << log_size]
        if not fit:
            raise FftError(
                f"a filter of {width:,} has no room in 2^{max(LOG_SIZES)} points; "
                "take one of at most 4,097"
            )
        return min(fit, key=lambda spec: spec.flops(width))

    @classmethod
    def fastest(cls, width: int) -> OverlapAdd:
        """Return what was fastest on an H200 (`FASTEST`). Raises FftError above 4,097.

        For a width that was not measured: the fewest operations, four stages at a time.
        """
        limits.require_filter(width)
        for largest, log_size, stages in FASTEST:
            if width <= largest:
                return cls(log_size, stages)
        return cls.fitting(width, 4)

    @property
    def size(self) -> int:
        """The points of a transform."""
        return 1 << self.log_size

    def segment(self, width: int) -> int:
        """Return how many cells of N a transform covers.

        The tail of width - 1 cells needs room, too. Raises FftError for a filter that is too wide.
        """
        limits.require_filter(width)
        if 2 * (width - 1) > self.size:
            raise FftError(
                f"a filter of {width:,} needs transforms of at least {2 * (width - 1):,} points, "
                f"not {self.size:,}: a segment shorter than its tail would reach over two others"
            )
        return self.size - width + 1

    @property
    def options(self) -> list[str]:
        """nvcc's options."""
        return [f"-DLOG_SIZE={self.log_size}", f"-DSTAGES={self.stages}"]

    @property
    def block(self) -> tuple[int, int, int]:
        """Threads of a block, THREADS of the source."""
        return (min(MAX_THREADS, self.size >> self.stages), 1, 1)

    def grid(self, n: int, width: int) -> tuple[int, int, int]:
        """Return the grid; a block computes two segments."""
        return kernels.grid_for(n, self.block, 2 * self.segment(width))

    @property
    def shared(self) -> int:
        """Bytes of dynamic shared memory."""
        return 8 * (self.size + self.size // 16)

    def flops(self, width: int) -> float:
        """Operations per output: two transforms and a product of spectra (6 n) for two segments."""
        return (2 * transform_flops(self.size) + 6 * self.size) / (2 * self.segment(width))

    def shared_bytes(self, width: int) -> float:
        """Bytes through shared memory per output.

        Each pass, and the product, reads and writes all cells; the load writes, the store reads.
        """
        passes = 2 * math.ceil(self.log_size / self.stages) + 1
        return 8 * self.size * (2 * passes + 2) / (2 * self.segment(width))

    def on_chip_bytes(self, width: int) -> float:
        """`shared_bytes` and the bytes of the spectrum and the twiddles through the same cache.

        A pass reads 2^stages - 1 twiddles for 2^stages cells.
        """
        passes, rest = divmod(self.log_size, self.stages)
        groups = [self.stages] * passes + [rest] * (rest > 0)
        factors = 2 * sum(1 - 2.0**-stages for stages in groups) + 1
        return self.shared_bytes(width) + 8 * self.size * factors / (2 * self.segment(width))

    def prepared(self, filter: np.ndarray) -> np.ndarray:
        """Return the input of the filter's transform, complex64, (1, size).

        It is filter / size in reverse order, followed by zeros.
        """
        self.segment(filter.size)
        padded = np.zeros((1, self.size), np.complex64)
        # The size is a power of two, so that the division is exact.
        padded[0, : filter.size] = filter[::-1] / np.float32(self.size)
        return padded

    def plan(self, n: int, width: int) -> Plan:
        """Return the filter's transform and the convolution of ``n`` cells with it.

        The arrays are "P", "N" and "filter".
        """
        spectrum = Scratch("spectrum", (1, self.size), np.complex64)
        padded = Prepared(Array("filter", (width,)), self.prepared, spectrum.nbytes)
        convolution = Launch(
            kernels.source(self.name),
            self.name,
            tuple(self.options),
            self.grid(n, width),
            self.block,
            self.shared,
            arguments=(
                Array("P", (n,), zeroed=True),
                Array("N", (n,)),
                spectrum,
                twiddles(self.size),
                np.int32(n),
                np.int32(width),
            ),
        )
        return transform(spectrum, padded, (1, self.size)), convolution


def conv1d_atol(spec: OverlapAdd, cells: np.ndarray, filter: np.ndarray) -> float:
    """Return the largest error of an output of conv1d_fft_overlap_add.

    The segment, the filter and the product of their spectra are transformed, log2 n stages each,
    and a complex product adds less than three u: by Higham's theorem (`stage_error`) the error of a
    segment is at most, as a root mean square over its n outputs and to first order,

        (3 log2 n stage_error + 3 u) * max |spectrum of the filter| * rms of the two segments.

    The rms is at most sqrt(2) max |cells|. A single output may exceed the root mean square by a
    factor of about five, but the bound takes the worst case of every rounding, which no real sum
    meets; the tests check that right outputs pass and less exact ones fail. This tolerance grows
    with log2 n; that of a direct sum grows with the filter's width.
    """
    largest = np.abs(np.fft.fft(filter.astype(np.float64), spec.size)).max()
    return float(_three_transforms(spec.size) * largest * math.sqrt(2) * np.abs(cells).max())


def _three_transforms(size: int, channels: int = 1) -> float:
    return 3 * _log2(size) * stage_error() + (2 + channels) * UNIT


def conv1d_launch(
    spec: OverlapAdd, n: int, source: int, output: int, filter: np.ndarray
) -> Callable[..., None]:
    """Compile for ``filter`` (float32, odd) and return ``launch(stream)``.

    source, output: addresses of n float32 on the selected device. The filter's spectrum is computed
    here, once. Each launch first sets the output to zero, which is part of its time.
    """
    program = Program(spec.plan(n, filter.size))
    arrays = {"P": output, "N": source, "filter": filter}
    program.launch(arrays, only=(TRANSFORM,))
    return launch.launcher(program, arrays, (spec.name,))


def simulate_conv1d(
    spec: OverlapAdd,
    N: np.ndarray,
    filter: np.ndarray,
    entry: Callable[..., Any] = simulator.profile,
    instead: Mapping[str, tuple[str, str]] | None = None,
) -> tuple[np.ndarray, tuple]:
    """Run the kernels in the simulator: return P and the results of ``entry`` for both launches.

    N, filter: float32, shapes (n,) and (width,), width odd. entry: simulator.profile or
    simulator.check. instead: for a kernel's name, the (name, source) to run in its place.
    """
    P = np.zeros(N.size, np.float32)
    plan = launch.replaced(spec.plan(N.size, filter.size), instead)
    return P, launch.simulate(plan, {"P": P, "N": N, "filter": filter}, entry)


# --------------------------------------------------------------------------------------------------
# 2D: tiles


@dataclass(frozen=True)
class Tiles:
    """How conv2d_fft_tiles is compiled and launched.

    log_side: a tile has 2^log_side cells along each side. stages: the radix-2 stages between two
    barriers. Raises FftError for sizes that the kernel refuses.
    """

    log_side: int = 5
    stages: int = 2
    name: str = TILES

    def __post_init__(self) -> None:
        if not 1 <= self.log_side <= 6:
            raise FftError(f"tiles of 2^{self.log_side} cells: take 2^1 to 2^6")
        if not 1 <= self.stages <= 5 or 2 * self.log_side % self.stages:
            raise FftError(
                f"stages is {self.stages}: take 1 to 5, a divisor of {2 * self.log_side}"
            )
        if self.size >> self.stages > MAX_THREADS:
            raise FftError(
                f"tiles of {self.size:,} cells, {1 << self.stages} a thread, need more than "
                "1,024 threads: take more stages or smaller tiles"
            )

    @property
    def side(self) -> int:
        """The cells along a side of a tile."""
        return 1 << self.log_side

    @property
    def size(self) -> int:
        """The points of a transform, which are the cells of a tile."""
        return self.side**2

    def outputs(self, K: int) -> int:
        """Return the outputs along a tile for a filter of width K.

        Raises FftError for a filter that is wider than the tile.
        """
        if self.side < K:
            raise FftError(
                f"a filter of {K} x {K} leaves no output in tiles of {self.side} x {self.side}: "
                "take log_side = 6"
            )
        return self.side - K + 1

    @property
    def options(self) -> list[str]:
        """nvcc's options."""
        return [f"-DLOG_SIDE={self.log_side}", f"-DSTAGES={self.stages}"]

    @property
    def block(self) -> tuple[int, int, int]:
        """Threads of a block, THREADS of the source."""
        return (self.size >> self.stages, 1, 1)

    def tiles(self, shape: ConvShape) -> int:
        """Return how many tiles cover an output map."""
        wide = self.outputs(shape.K)
        return -(-shape.out_h // wide) * -(-shape.out_w // wide)

    def grid(self, shape: ConvShape) -> tuple[int, int, int]:
        """Return the grid; a block computes a tile of two images, all channels and output maps."""
        return self.tiles(shape), -(-shape.B // 2), 1

    def shared(self, shape: ConvShape) -> int:
        """Return the bytes of dynamic shared memory of a block."""
        return 8 * (shape.C + 1) * (self.size + self.size // 16)

    def flops(self, shape: ConvShape) -> int:
        """Operations of a layer.

        Each tile of two images takes C + M transforms, and M C products and sums (8 n).
        """
        one = (shape.C + shape.M) * transform_flops(self.size) + 8 * shape.M * shape.C * self.size
        return math.prod(self.grid(shape)) * one

    def require(self, shape: ConvShape) -> None:
        """Raise FftError unless the kernel can be launched for the shape."""
        self.outputs(shape.K)
        if shape.stride != 1:
            raise FftError(
                f"conv2d_fft_tiles supports only stride 1, got {shape.stride}: it computes every "
                "output, and a stride would drop most of them; use conv2d_basic"
            )
        if self.shared(shape) > MOST_SHARED_BYTES:
            raise FftError(
                f"{shape.C} channels of {self.side} x {self.side} need "
                f"{self.shared(shape):,} bytes of shared memory; "
                f"a block has {MOST_SHARED_BYTES:,}: take smaller tiles"
            )
        if self.grid(shape)[1] > MAX_GRID[1]:
            most = 2 * MAX_GRID[1]
            raise FftError(
                f"{shape.B:,} images are more than the grid has room for: take up to {most:,}"
            )
        if shape.C * shape.H * shape.W >= INDICES:
            raise FftError(
                f"one image of {shape} has more cells than an int counts, {INDICES - 1:,}: "
                "convolve parts of it"
            )

    def prepared(self, filter: np.ndarray) -> np.ndarray:
        """Return the input of the filter's transforms, complex64, (M C, side^2).

        It is filter / side^2 with both axes in reverse order, padded with zeros.
        """
        M, C, K, _ = filter.shape
        padded = np.zeros((M, C, self.side, self.side), np.complex64)
        padded[:, :, :K, :K] = filter[:, :, ::-1, ::-1] / np.float32(self.size)
        return padded.reshape(M * C, self.size)

    def plan(self, shape: ConvShape) -> Plan:
        """Return the filter's transforms and the layer, on "y", "x" and "filter"."""
        signals = shape.M * shape.C, self.size
        spectra = Scratch("spectra", signals, np.complex64)
        padded = Prepared(Array("filter", shape.filter_shape), self.prepared, spectra.nbytes)
        sizes = map(np.int32, (shape.B, shape.C, shape.M, shape.H, shape.W, shape.K))
        layer = Launch(
            kernels.source(self.name),
            self.name,
            tuple(self.options),
            self.grid(shape),
            self.block,
            self.shared(shape),
            arguments=(
                Array("y", shape.y_shape),
                Array("x", shape.x_shape),
                spectra,
                twiddles(self.side),
                *sizes,
            ),
        )
        return transform(spectra, padded, signals, self.side), layer


def conv2d_atol(spec: Tiles, x: np.ndarray, filter: np.ndarray) -> float:
    """Return the largest error of an output of conv2d_fft_tiles.

    It is that of `conv1d_atol`, summed over the channels of an output map.
    """
    spectra = np.abs(np.fft.fft2(filter.astype(np.float64), (spec.side, spec.side)))
    largest = spectra.max(axis=(2, 3)).sum(axis=1).max()
    return float(
        _three_transforms(spec.size, filter.shape[1]) * largest * math.sqrt(2) * np.abs(x).max()
    )


def conv2d_launch(
    spec: Tiles, shape: ConvShape, y: int, x: int, filter: np.ndarray
) -> Callable[..., None]:
    """Compile for a layer and return ``launch(stream)`` on device addresses.

    filter: float32, shape.filter_shape, on the host; its spectra are computed here, once. Raises as
    `Tiles.require` does.
    """
    spec.require(shape)
    program = Program(spec.plan(shape))
    arrays = {"y": y, "x": x, "filter": filter}
    program.launch(arrays, only=(TRANSFORM,))
    return launch.launcher(program, arrays, (spec.name,))


def simulate_conv2d(
    spec: Tiles,
    x: np.ndarray,
    filter: np.ndarray,
    entry: Callable[..., Any] = simulator.profile,
    instead: Mapping[str, tuple[str, str]] | None = None,
) -> tuple[np.ndarray, tuple]:
    """Run the layer in the simulator: return y and the results of ``entry`` for both launches.

    entry, instead: as for `simulate_conv1d`.
    """
    shape = conv2d.shape_for(x, filter, 1)
    spec.require(shape)
    y = np.full(shape.y_shape, np.nan, np.float32)
    plan = launch.replaced(spec.plan(shape), instead)
    return y, launch.simulate(plan, {"y": y, "x": x, "filter": filter}, entry)


# --------------------------------------------------------------------------------------------------
# fft_radix2


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


def _transform_of(signals: np.ndarray, row: int | None) -> Plan:
    checking.require_array(signals, dtype=np.complex64, ndim=2, name="signals")
    spectrum, cells = (Array(name, signals.shape, np.complex64) for name in ("X", "x"))
    return (transform(spectrum, cells, signals.shape, row),)


def simulate_transform(
    signals: np.ndarray,
    row: int | None = None,
    entry: Callable[..., Any] = simulator.profile,
    instead: Mapping[str, tuple[str, str]] | None = None,
) -> tuple[np.ndarray, Any]:
    """Run fft_radix2 in the simulator: return the transforms and the result of ``entry``.

    signals: complex64, shape (signals, size); row as for `reference`. The transforms have the same
    type and shape, in bit-reversed order.
    """
    plan = launch.replaced(_transform_of(signals, row), instead)
    transforms = np.full_like(signals, np.nan)
    return transforms, *launch.simulate(plan, {"X": transforms, "x": signals}, entry)


def spectrum(signals: np.ndarray, row: int | None = None) -> Any:
    """Run fft_radix2 on the selected device; return the device allocation of its transforms.

    signals, row: as for `simulate_transform`.
    """
    program = Program(_transform_of(signals, row))
    cuda = program.modules.cuda
    transforms, cells = cuda.mem_alloc(signals.nbytes), cuda.to_device(signals)
    program.launch({"X": transforms, "x": cells})
    cuda.Context.synchronize()  # `cells` and the table of twiddles must not be freed before.
    return transforms
