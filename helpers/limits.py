"""The limits of a GPU, and the least time for a problem.

The roofline model (S. Williams, A. Waterman, D. Patterson, Communications of the ACM 52(4), 2009):
a kernel takes at least bytes / bandwidth, and at least operations / peak. The larger of the two is
the floor.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Protocol

# CUDA's limits on every GPU that the labs support (CUDA C++ Programming Guide, "Technical
# Specifications per Compute Capability"), unless a comment says otherwise.
MAX_THREADS = 1024  # of a block
MAX_BLOCK = (1024, 1024, 64)  # threads along x, y, z
MAX_GRID = (2**31 - 1, 65535, 65535)  # blocks along x, y, z
WARP = 32  # threads
BANKS = 32  # of shared memory
SECTOR_BYTES = 32  # global memory moves whole sectors
CONSTANT_BYTES = 64 * 1024  # of __constant__ memory of a module
STATIC_SHARED_BYTES = 48 * 1024  # of a block; more must be dynamic, by an attribute
MOST_SHARED_BYTES = 227 * 1024  # of a block, dynamic, on compute capability 9.0
MULTIPROCESSOR_SHARED_BYTES = 228 * 1024  # of all blocks of a multiprocessor, 9.0
RESERVED_SHARED_BYTES = 1024  # of these, for the driver, in each block
MULTIPROCESSOR_REGISTERS = 65_536
THREAD_REGISTERS = 255
REGISTER_UNIT = 8  # registers of a thread are rounded up to a multiple of this
MOST_WARPS, MOST_BLOCKS, QUARTERS = 64, 32, 4  # of a multiprocessor, 9.0
MULTIPROCESSORS = 132  # of an H200
INDICES = 2**31  # the cells that an int can count
# The share of a GPU's free memory that arrays may take: the driver and the modules need the rest.
USABLE = 0.95


@dataclass(frozen=True)
class Work:
    """The least work of a problem for any kernel.

    bytes: to and from DRAM, with each array moved once. flops: its operations.
    """

    bytes: int
    flops: int

    @property
    def intensity(self) -> float:
        """Arithmetic intensity in flop/byte."""
        return self.flops / self.bytes


@dataclass(frozen=True)
class Floor:
    """The least time for some work on a device, in seconds.

    memory_s: to move its bytes. compute_s: for its operations.
    """

    memory_s: float
    compute_s: float

    @property
    def seconds(self) -> float:
        """The larger of the two times, in seconds: no kernel is faster."""
        return max(self.memory_s, self.compute_s)

    @property
    def bound(self) -> str:
        """The larger of the two times by name: "memory" or "compute"."""
        return "memory" if self.memory_s >= self.compute_s else "compute"


def conv1d(n: int, filter_width: int, itemsize: int = 4) -> Work:
    """Return the work of a 1D convolution of ``n`` cells with a filter of ``filter_width`` (odd).

    itemsize: bytes of a cell. Bytes: the input and the filter are read once, the output is written
    once. Operations: a multiplication and an addition for each weight and output, 2 n K. As usual,
    ghost cells count like others; they take part in R (R + 1) of the n K products. Raises
    ValueError for n < 1, an even or non-positive filter width, or an item size below 1.
    """
    n, itemsize = operator.index(n), operator.index(itemsize)
    filter_width = require_filter(filter_width)
    if n < 1:
        raise ValueError(f"n is {n}: there is nothing to convolve; give at least one cell")
    if itemsize < 1:
        raise ValueError(
            f"itemsize is {itemsize}; give the bytes of one cell, such as 4 for float32"
        )
    return Work(bytes=(2 * n + filter_width) * itemsize, flops=2 * n * filter_width)


@dataclass(frozen=True)
class ConvShape:
    """The sizes of one convolution layer.

    B images of C channels and H x W cells give M output maps of out_h x out_w. The filter has width
    K; it moves by ``stride`` rows and columns, and always lies completely on the image ("valid").
    Arrays are NCHW. Raises TypeError for a size that is no whole number, ValueError for a size
    below 1 and for a filter larger than the image.
    """

    B: int
    C: int
    M: int
    H: int
    W: int
    K: int
    stride: int = 1

    def __post_init__(self) -> None:
        for name, meaning in _SIZES.items():
            value = require_count(getattr(self, name), name, meaning)
            object.__setattr__(self, name, value)
        if min(self.H, self.W) < self.K:
            raise ValueError(
                f"the filter is larger than the image: {self.K} x {self.K} weights on "
                f"{self.H} x {self.W} cells leave no output. Give a narrower filter, or pad the "
                "image with zeros first."
            )

    @property
    def out_h(self) -> int:
        """Rows of an output map."""
        return (self.H - self.K) // self.stride + 1

    @property
    def out_w(self) -> int:
        """Columns of an output map."""
        return (self.W - self.K) // self.stride + 1

    @property
    def x_shape(self) -> tuple[int, int, int, int]:
        """Shape of the input, (B, C, H, W)."""
        return self.B, self.C, self.H, self.W

    @property
    def y_shape(self) -> tuple[int, int, int, int]:
        """Shape of the output, (B, M, out_h, out_w)."""
        return self.B, self.M, self.out_h, self.out_w

    @property
    def filter_shape(self) -> tuple[int, int, int, int]:
        """Shape of the filter, (M, C, K, K)."""
        return self.M, self.C, self.K, self.K

    @property
    def outputs(self) -> int:
        """The number of outputs, B M out_h out_w."""
        return math.prod(self.y_shape)

    @property
    def terms(self) -> int:
        """The number of products in an output's sum, C K K."""
        return self.C * self.K * self.K

    @property
    def constants(self) -> dict[str, int]:
        """The -D constants of a kernel that is compiled for one shape, in their order."""
        return {
            "CHANNELS": self.C,
            "OUTPUT_MAPS": self.M,
            "HEIGHT": self.H,
            "WIDTH": self.W,
            "FILTER_WIDTH": self.K,
        }

    def __str__(self) -> str:
        stride = f", stride {self.stride}" if self.stride > 1 else ""
        # By hand, because this module stands below all others: the simulator reads its numbers.
        images = "1 image" if self.B == 1 else f"{self.B:,} images"
        channels = "1 channel" if self.M == 1 else f"{self.M:,} channels"
        return f"{images}, {self.C} -> {channels}, {self.H} x {self.W}, K = {self.K}{stride}"


_SIZES = {
    "B": "the number of images",
    "C": "the number of channels",
    "M": "the number of output maps",
    "H": "the number of rows",
    "W": "the number of columns",
    "K": "the width of the filter",
    "stride": "the stride",
}


def conv2d(shape: ConvShape, itemsize: int = 4) -> Work:
    """Return the work of a convolution layer.

    itemsize: bytes of a cell or weight. Bytes: input and filter are read once, the output is
    written once. Operations: a multiplication and an addition for each of the C K K products of an
    output, 2 B M C K K out_h out_w. (FFT and Winograd's transform need fewer, and round
    differently.) Raises ValueError for an item size below 1.
    """
    itemsize = operator.index(itemsize)
    if itemsize < 1:
        raise ValueError(
            f"itemsize is {itemsize}; give the bytes of one cell, such as 4 for float32"
        )
    cells = math.prod(shape.x_shape) + math.prod(shape.filter_shape) + shape.outputs
    return Work(bytes=cells * itemsize, flops=2 * shape.outputs * shape.terms)


def require_count(value: int, name: str, meaning: str) -> int:
    """Return a number of something if it is 1 or more. meaning: such as "the number of images".

    Raises TypeError for what is no whole number and ValueError for a number below 1.
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is {value!r}; {meaning} is a whole number")
    if value < 1:
        raise ValueError(f"{name} is {value}; {meaning} is at least 1")
    return operator.index(value)


def require_filter(width: int) -> int:
    """Return ``width`` if it is odd and positive, so that a filter has a centre.

    Raises TypeError for another type and ValueError for another number.
    """
    if isinstance(width, bool) or not hasattr(width, "__index__"):
        raise TypeError(f"filter width is {width!r}; give a whole number, such as 3")
    width = operator.index(width)
    if width < 1:
        raise ValueError(
            f"filter width is {width}; a filter has at least one weight: give 1, 3, 5, ..."
        )
    if width % 2 == 0:
        raise ValueError(
            f"filter width is {width}, which is even: there is no centre weight, "
            "so the output would be shifted by half a cell. Give an odd width, "
            f"such as {width + 1} (the filter with a weight of 0 added at one end)."
        )
    return width


def resident_warps(threads: int, registers: int, shared_bytes: int) -> int:
    """Return the warps of a kernel that a multiprocessor of compute capability 9.0 holds.

    threads, shared_bytes: of a block; registers: of a thread. The rules are those of NVIDIA's
    occupancy calculator (Nsight Compute, "Occupancy Calculator").
    """
    warps = -(-threads // WARP)
    of_thread = -(-registers // REGISTER_UNIT) * REGISTER_UNIT
    by_registers = QUARTERS * (MULTIPROCESSOR_REGISTERS // QUARTERS // (of_thread * WARP))
    by_shared = MULTIPROCESSOR_SHARED_BYTES // (shared_bytes + RESERVED_SHARED_BYTES)
    return warps * min(MOST_BLOCKS, MOST_WARPS // warps, by_registers // warps, by_shared)


class Chip(Protocol):
    """The part of a helpers.device.Device that `floor` reads."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def dram_bandwidth(self) -> float | None: ...
    @property
    def fp32_peak(self) -> float | None: ...


def floor(work: Work, device: Chip) -> Floor:
    """Return the roofline floor of ``work`` on ``device``, in seconds.

    It is bytes / DRAM bandwidth and flops / FP32 peak. Raises ValueError for a device without these
    figures, such as the simulator.
    """
    if device.dram_bandwidth is None or device.fp32_peak is None:
        raise ValueError(
            f"{device.name} ({device.kind}) has no DRAM bandwidth and FP32 "
            "peak to make a floor from. Pass the device that a record was measured on: "
            "limits.floor(work, record.device)."
        )
    return Floor(
        memory_s=work.bytes / device.dram_bandwidth, compute_s=work.flops / device.fp32_peak
    )
