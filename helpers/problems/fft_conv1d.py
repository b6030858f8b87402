"""1D convolution by Fourier transforms and overlap-add: its launches, their cost and error bound.

plan = fft_conv1d.OverlapAdd.fitting(255).plan(n, 255)
# With arrays, in the simulator.
P, profiles = fft_conv1d.simulate_conv1d(fft_conv1d.OverlapAdd(10), N, filter)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from helpers import kernels, launch, limits, simulator
from helpers.launch import Array, Launch, Plan, Prepared, Scratch
from helpers.limits import MAX_THREADS
from helpers.problems.fft import (
    FftError,
    three_transforms,
    transform,
    transform_flops,
    twiddles,
)

OVERLAP_ADD = "conv1d_fft_overlap_add"
LOG_SIZES = range(8, 14)  # of the 1D transforms: 256 to 8,192 points
WIDEST = (1 << max(LOG_SIZES)) // 2 + 1  # the widest filter that has room in a transform
# (largest width of the filter, log2 of the points, stages at a time) of the fastest overlap-add.
# The record 402_sizes measured it, with 10^7 cells, at six widths; a limit lies where the straight
# lines through two sizes' times at the nearest widths cross. A test holds the table to the record.
FASTEST: tuple[tuple[int, int, int], ...] = (
    (133, 9, 4),
    (291, 10, 4),
    (511, 11, 4),
)


@dataclass(frozen=True)
class OverlapAdd:
    """How conv1d_fft_overlap_add is compiled and launched.

    log_size: a transform has 2^log_size points. stages: the radix-2 stages between two barriers.
    segments: of a block; the kernel of kernels/ takes two, and a plainer one may take one.
    Raises FftError for a size or a number of stages or segments that the kernel refuses.
    """

    log_size: int
    stages: int = 3
    segments: int = 2
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
        if self.segments not in (1, 2):
            raise FftError(
                f"{self.segments} segments in a transform: take 1 or 2, a number has two parts"
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
        """Return what was fastest on a GPU (`FASTEST`). Raises FftError above 4,097.

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
        """Return the grid; a block computes its segments, usually two."""
        return kernels.grid_for(n, self.block, self.segments * self.segment(width))

    @property
    def shared(self) -> int:
        """Bytes of dynamic shared memory."""
        return 8 * (self.size + self.size // 16)

    def flops(self, width: int) -> float:
        """Return the operations per output: two transforms and a product of spectra (6 n) for two
        segments.
        """
        return (2 * transform_flops(self.size) + 6 * self.size) / (2 * self.segment(width))

    def shared_bytes(self, width: int) -> float:
        """Return bytes through shared memory per output.

        Each pass, and the product, reads and writes all cells; the load writes, the store reads.
        """
        passes = 2 * math.ceil(self.log_size / self.stages) + 1
        return 8 * self.size * (2 * passes + 2) / (2 * self.segment(width))

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
    return float(three_transforms(spec.size) * largest * math.sqrt(2) * np.abs(cells).max())


def simulate_conv1d(
    spec: OverlapAdd,
    N: np.ndarray,
    filter: np.ndarray,
) -> tuple[np.ndarray, tuple]:
    """Run the kernels in the simulator: return P and the profiles of both launches.

    N, filter: float32, shapes (n,) and (width,), width odd.
    """
    P = np.zeros(N.size, np.float32)
    plan = spec.plan(N.size, filter.size)
    return P, launch.simulate(plan, {"P": P, "N": N, "filter": filter}, simulator.profile)
