"""How an array lies in device memory: shape, strides, order and address."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from . import _memory
from ._device import Context, Device
from ._enums import device_attribute
from ._host import shape_of
from ._memory import DeviceAllocation, mem_alloc

Allocator = Callable[[int], DeviceAllocation]


class ArrayFlags:
    """The layout of an array in memory; `forc` is true if it is contiguous in either order."""

    def __init__(self, array: DeviceArray):
        self.c_contiguous = has_order(array, "C")
        self.f_contiguous = has_order(array, "F")
        self.forc = self.c_contiguous or self.f_contiguous

    def __repr__(self) -> str:
        return f"  C_CONTIGUOUS : {self.c_contiguous}\n  F_CONTIGUOUS : {self.f_contiguous}"


def _strides(shape: Sequence[int], itemsize: int, order: str) -> tuple[int, ...]:
    if order not in ("C", "F"):
        raise ValueError(f"invalid order: {order!r}; it is 'C' or 'F'")
    axes = range(len(shape))
    inner = (lambda axis: shape[axis + 1 :]) if order == "C" else (lambda axis: shape[:axis])
    return tuple(itemsize * math.prod(max(1, extent) for extent in inner(axis)) for axis in axes)


def has_order(array: DeviceArray, order: str) -> bool:
    """Return whether an array is contiguous in this order of its axes, "C" or "F"."""
    wanted = _strides(array.shape, array.itemsize, order)
    pairs = zip(array.strides, wanted, array.shape, strict=True)
    return array.size == 0 or all(have == want for have, want, extent in pairs if extent != 1)


def packed_strides(array: np.ndarray | DeviceArray) -> tuple[int, ...]:
    """Return strides for a contiguous copy of `array` whose axes have the same order in memory."""
    strides, step = [0] * len(array.shape), array.dtype.itemsize
    for axis in sorted(
        range(len(array.shape)), key=lambda k: (array.strides[k], array.shape[k], k)
    ):
        strides[axis] = step
        step *= max(1, array.shape[axis])
    return tuple(strides)


@lru_cache(maxsize=1024)
def _splay(n: int, multiprocessors: int) -> tuple[tuple[int, int], tuple[int, int, int]]:
    warp, most_threads, most_blocks = 32, 128, 4 * 8 * multiprocessors
    if n < warp:
        return (1, 1), (warp, 1, 1)
    warps = -(-n // warp)
    if warps < most_blocks or n < most_blocks * warp:
        return (warps, 1), (warp, 1, 1)
    if n < most_blocks * most_threads:
        return (most_blocks, 1), (-(-warps // most_blocks) * warp, 1, 1)
    return (most_blocks, 1), (most_threads, 1, 1)


def splay(n: int, dev: Device | None = None) -> tuple[tuple[int, int], tuple[int, int, int]]:
    """Return PyCUDA's (grid, block) for n elements: at most 32 blocks of 128 threads for each
    multiprocessor.
    """
    dev = Context.get_device() if dev is None else dev
    return _splay(int(n), dev.get_attribute(device_attribute.MULTIPROCESSOR_COUNT))


class DeviceArray:
    """Memory on the device with NumPy's shape, dtype and strides (bytes).

    gpudata: the DeviceAllocation, or the address (int) in a view; None for an array without
    elements.
    """

    def __init__(
        self,
        shape: int | Sequence[int],
        dtype,
        allocator: Allocator | None = mem_alloc,
        base: DeviceArray | None = None,
        gpudata: DeviceAllocation | int | None = None,
        strides: Sequence[int] | None = None,
        order: str = "C",
    ):
        self.dtype = np.dtype(dtype)
        self.shape = shape_of(shape, wrong=AssertionError)
        self.strides = (
            tuple(map(int, strides))
            if strides is not None
            else _strides(self.shape, self.dtype.itemsize, order)
        )
        self.itemsize = self.dtype.itemsize
        self.size = self.mem_size = math.prod(self.shape)
        self.nbytes = self.size * self.itemsize
        self.allocator = allocator
        self.base = base
        self.gpudata = (
            gpudata
            if gpudata is not None or not self.size
            else (allocator or mem_alloc)(self.nbytes)
        )
        self._flags: ArrayFlags | None = None
        self._grid, self._block = splay(self.size)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def ptr(self) -> int:
        """The address of the first element."""
        if self.gpudata is None:
            raise TypeError("an array without elements has no address")
        return int(self.gpudata)

    @property
    def flags(self) -> ArrayFlags:
        if self._flags is None:
            self._flags = ArrayFlags(self)
        return self._flags

    @property
    def __cuda_array_interface__(self) -> dict:
        """Refuse: by this attribute CuPy, PyTorch and Numba would take the address for one of a
        GPU. An AttributeError would let them go on, and fail with words about something else.
        """
        raise TypeError(
            "a GPUArray of the simulator lies in the host's memory, so CuPy, PyTorch and Numba "
            "cannot use it in place: give them a copy, array.get()"
        )

    def _need_contiguous(self) -> None:
        if not self.flags.forc:
            raise RuntimeError("this operation needs contiguous arrays")


def order_in_memory(array) -> tuple:
    """Return a key that is equal for two arrays of one shape if their elements have the same order
    in memory.
    """
    return tuple(
        stride for stride, extent in zip(array.strides, array.shape, strict=True) if extent > 1
    )


def address_of_array(array: DeviceArray, call: str) -> int:
    return _memory.address_of(array.gpudata, call, "the GPUArray's gpudata")
