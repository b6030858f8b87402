"""Tensor maps: 128 bytes that describe a matrix and its tiles to the copy engine of a Hopper GPU.

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
MOST_ROWS = 256  # of a tile
STEP = 16  # bytes: matrices begin, and their rows follow each other, at multiples of it

# Numbers of cuda.h.
_TYPES = {np.dtype(np.float16): 6, np.dtype(np.float32): 7}
_NO_INTERLEAVE, _SWIZZLE_128_BYTES, _L2_SECTORS_OF_256, _ZEROS_BEYOND = 0, 3, 3, 0


class TensorMapError(ValueError):
    """A matrix or tile that no tensor map describes; the message says what does not fit."""


class NoTensorMapsError(RuntimeError):
    """There is no driver that encodes tensor maps, or it refuses one."""


def encode(address: int, shape: Sequence[int], dtype: Any, tile: tuple[int, int]) -> np.ndarray:
    """Return the tensor map of a matrix: 128 bytes, uint8.

    address: of the matrix on the device, its rows one after the other. shape: its rows and columns.
    dtype: float16 or float32. tile: the rows and columns of what one instruction copies. Its rows
    are swizzled, 128 bytes each, and cells beyond the matrix are read as zeros. Raises
    TensorMapError for what cannot be described, and NoTensorMapsError without a driver.
    """
    require(address, shape, dtype, tile)
    itemsize = np.dtype(dtype).itemsize
    room = np.zeros(BYTES + ALIGNMENT, np.uint8)
    first = -room.ctypes.data % ALIGNMENT
    made = room[first : first + BYTES]
    error = _encoder()(
        made.ctypes.data,
        _TYPES[np.dtype(dtype)],
        2,
        address,
        (ctypes.c_uint64 * 2)(shape[1], shape[0]),
        (ctypes.c_uint64 * 1)(shape[1] * itemsize),
        (ctypes.c_uint32 * 2)(tile[1], tile[0]),
        (ctypes.c_uint32 * 2)(1, 1),
        _NO_INTERLEAVE,
        _SWIZZLE_128_BYTES,
        _L2_SECTORS_OF_256,
        _ZEROS_BEYOND,
    )
    if error:
        raise NoTensorMapsError(
            f"cuTensorMapEncodeTiled refuses a matrix of {shape} in tiles of {tile} with the error "
            f"{error}: tensor maps need an initialised driver and compute capability 9.0 or later"
        )
    return made


def require(address: int, shape: Sequence[int], dtype: Any, tile: tuple[int, int]) -> None:
    """Raise TensorMapError unless a tensor map describes this matrix and tile."""
    if np.dtype(dtype) not in _TYPES:
        names = " or ".join(str(one) for one in _TYPES)
        raise TensorMapError(f"cells of {np.dtype(dtype)} are not supported: give {names}")
    itemsize = np.dtype(dtype).itemsize
    if len(shape) != 2 or min(shape) < 1:
        raise TensorMapError(f"the matrix is {shape}: give its rows and columns, at least 1 each")
    if address % STEP or shape[1] * itemsize % STEP:
        raise TensorMapError(
            f"the matrix begins at {address:#x}, and a row has {shape[1] * itemsize:,} bytes: both "
            f"must be multiples of {STEP}"
        )
    if tile[1] * itemsize != ROW_BYTES or not 1 <= tile[0] <= MOST_ROWS:
        raise TensorMapError(
            f"the tile is {tile}: it must have 1 to {MOST_ROWS} rows of {ROW_BYTES} bytes, that is "
            f"{ROW_BYTES // itemsize} cells of {np.dtype(dtype)}"
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
