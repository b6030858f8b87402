"""Tensor maps: 128 bytes that describe an array and its tiles to the copy engine of a Hopper GPU.

    a_map = cuda.to_device(tensor_maps.encode(address, (rows, cols), np.float16, (128, 64)))
    function(a_map, ...)                      # a kernel's parameter `const TensorMap*`

The driver encodes them (cuTensorMapEncodeTiled), for compute capability 9.0 and later. They lie in
global memory. As an argument by value, a map would have to lie at an address divisible by 64, and
the place of the arguments, which the compiler chooses, is not known to PyCUDA.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

BYTES, ALIGNMENT = 128, 64  # of a tensor map
ROW_BYTES = 128  # of a tile's row, which is swizzled as a whole
MOST_CELLS = 256  # of an array, along an axis, that a tile spans
MOST_STEP = 8  # cells
DIMENSIONS = range(2, 6)
STEP = 16  # bytes: arrays begin, and their rows follow each other, at multiples of it

# Numbers of cuda.h.
_TYPES = {np.dtype(np.float16): 6, np.dtype(np.float32): 7}
_NO_INTERLEAVE, _SWIZZLE_128_BYTES, _L2_SECTORS_OF_256, _ZEROS_BEYOND = 0, 3, 3, 0


class TensorMapError(ValueError):
    """An array or tile that no tensor map describes; the message says what does not fit."""


class NoTensorMapsError(RuntimeError):
    """There is no driver that encodes tensor maps, or it refuses one."""


def encode(
    address: int,
    shape: Sequence[int],
    dtype: Any,
    tile: Sequence[int],
    steps: Sequence[int] | None = None,
) -> np.ndarray:
    """Return the tensor map of an array of 2 to 5 dimensions: 128 bytes, uint8.

    address: of the array on the device, in C order. dtype: float16 or float32. tile: how many cells
    along each axis one instruction copies. steps: from a cell of the tile to the next along each
    axis, by default 1. A tile's rows (along the last axis) are swizzled, 128 bytes each, and cells
    beyond the array are read as zeros. Raises TensorMapError for what cannot be described, and
    NoTensorMapsError without a driver.
    """
    steps = (1,) * len(shape) if steps is None else tuple(steps)
    require(address, shape, dtype, tile, steps)
    itemsize = np.dtype(dtype).itemsize
    dimensions = len(shape)
    spans = [(cells - 1) * step + 1 for cells, step in zip(tile, steps, strict=True)]
    pitches = itemsize * np.cumprod(shape[:0:-1])
    room = np.zeros(BYTES + ALIGNMENT, np.uint8)
    first = -room.ctypes.data % ALIGNMENT
    made = room[first : first + BYTES]
    error = _encoder()(
        made.ctypes.data,
        _TYPES[np.dtype(dtype)],
        dimensions,
        address,
        (ctypes.c_uint64 * dimensions)(*shape[::-1]),
        (ctypes.c_uint64 * (dimensions - 1))(*map(int, pitches)),
        (ctypes.c_uint32 * dimensions)(*spans[::-1]),
        (ctypes.c_uint32 * dimensions)(*steps[::-1]),
        _NO_INTERLEAVE,
        _SWIZZLE_128_BYTES,
        _L2_SECTORS_OF_256,
        _ZEROS_BEYOND,
    )
    if error:
        raise NoTensorMapsError(
            f"cuTensorMapEncodeTiled refuses an array of {shape} in tiles of {tile} with the error "
            f"{error}: tensor maps need an initialised driver and compute capability 9.0 or later"
        )
    return made


def require(
    address: int, shape: Sequence[int], dtype: Any, tile: Sequence[int], steps: Sequence[int]
) -> None:
    """Raise TensorMapError unless a tensor map describes this array and tile."""
    if np.dtype(dtype) not in _TYPES:
        names = " or ".join(str(one) for one in _TYPES)
        raise TensorMapError(f"cells of {np.dtype(dtype)} are not supported: give {names}")
    itemsize = np.dtype(dtype).itemsize
    if len(shape) not in DIMENSIONS or min(shape) < 1:
        raise TensorMapError(f"the array is {shape}: give 2 to 5 sizes, at least 1 each")
    if not len(shape) == len(tile) == len(steps):
        raise TensorMapError(
            f"the array is {shape}, the tile {tile}, the steps {steps}: give as many sizes of each"
        )
    if address % STEP or shape[-1] * itemsize % STEP:
        raise TensorMapError(
            f"the array begins at {address:#x}, and a row has {shape[-1] * itemsize:,} bytes: both "
            f"must be multiples of {STEP}"
        )
    if tile[-1] * itemsize != ROW_BYTES or steps[-1] != 1:
        raise TensorMapError(
            f"the tile is {tile} with steps of {steps}: its rows must have {ROW_BYTES} bytes, that "
            f"is {ROW_BYTES // itemsize} neighbouring cells of {np.dtype(dtype)}"
        )
    for cells, step in zip(tile, steps, strict=True):
        span = (cells - 1) * step + 1
        if not 1 <= step <= MOST_STEP or not 1 <= span <= MOST_CELLS:
            raise TensorMapError(
                f"{cells} cells of the tile with steps of {step} span {span} cells of the array: "
                f"give 1 to {MOST_CELLS}, with steps of 1 to {MOST_STEP}"
            )


@functools.lru_cache(maxsize=1)
def _encoder() -> Any:
    """Return the driver's function. Raises NoTensorMapsError."""
    library = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        found = ctypes.CDLL(library).cuTensorMapEncodeTiled
    except (OSError, AttributeError) as error:
        raise NoTensorMapsError(
            f"there is no NVIDIA driver that encodes tensor maps, CUDA 12.0 or later: {error}"
        ) from None
    found.argtypes = [
        ctypes.c_void_p,  # the map
        ctypes.c_int,  # type of a cell
        ctypes.c_uint32,  # dimensions
        ctypes.c_void_p,  # address
        ctypes.POINTER(ctypes.c_uint64),  # sizes, the innermost first
        ctypes.POINTER(ctypes.c_uint64),  # bytes from a row to the next
        ctypes.POINTER(ctypes.c_uint32),  # sizes of a tile
        ctypes.POINTER(ctypes.c_uint32),  # steps between cells
        *[ctypes.c_int] * 4,  # interleave, swizzle, L2 sectors, what lies beyond
    ]
    return found
