"""pycuda.gpuarray, for machines without a GPU: arrays in the simulated device's memory.

What the labs use: to_gpu, empty, zeros and their relatives, get and set, views, and elementwise arithmetic, which NumPy
does on host copies. Reductions, random numbers and the like need a GPU.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partialmethod

import numpy as np
from numpy.lib.stride_tricks import as_strided

from . import _memory
from ._memory import DeviceAllocation, mem_alloc


@dataclass(frozen=True)
class ArrayFlags:
    """How an array lies in memory; `forc` is true where it is contiguous in either order."""

    c_contiguous: bool
    f_contiguous: bool

    @property
    def forc(self) -> bool:
        return self.c_contiguous or self.f_contiguous


def _strides(shape: Sequence[int], itemsize: int, order: str) -> tuple[int, ...]:
    if order not in ("C", "F"):
        raise ValueError(f"invalid order: {order!r}; it is 'C' or 'F'")
    axes = range(len(shape))
    inner = (lambda axis: shape[axis + 1 :]) if order == "C" else (lambda axis: shape[:axis])
    return tuple(itemsize * math.prod(max(1, extent) for extent in inner(axis)) for axis in axes)


def _packed_strides(array: np.ndarray | GPUArray) -> tuple[int, ...]:
    """Strides for a contiguous copy of `array` whose axes lie in the same order."""
    strides, step = [0] * len(array.shape), array.dtype.itemsize
    for axis in sorted(range(len(array.shape)), key=lambda k: (abs(array.strides[k]), -k)):
        strides[axis] = step
        step *= max(1, array.shape[axis])
    return tuple(strides)


class GPUArray:
    """An array on the device, NumPy's shape, dtype and strides (bytes).

    gpudata: the DeviceAllocation, or the address (int) in a view; None for an array without elements.
    """

    __array_priority__ = 100
    __hash__ = None

    def __init__(
        self,
        shape: int | Sequence[int],
        dtype,
        allocator: Callable[[int], DeviceAllocation] = mem_alloc,
        base: GPUArray | None = None,
        gpudata: DeviceAllocation | int | None = None,
        strides: Sequence[int] | None = None,
        order: str = "C",
    ):
        self.dtype = np.dtype(dtype)
        self.shape = tuple(int(n) for n in shape) if hasattr(shape, "__len__") else (operator.index(shape),)
        if any(extent < 0 for extent in self.shape):
            raise ValueError(f"negative dimensions are not allowed: shape {self.shape}")
        self.strides = tuple(strides) if strides is not None else _strides(self.shape, self.dtype.itemsize, order)
        self.itemsize = self.dtype.itemsize
        self.size = self.mem_size = math.prod(self.shape)
        self.nbytes = self.size * self.itemsize
        self.allocator = allocator
        self.base = base
        self.gpudata = gpudata if gpudata is not None or not self.size else allocator(self.nbytes)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def ptr(self) -> int:
        """The address of the first element."""
        return int(self.gpudata)

    @property
    def flags(self) -> ArrayFlags:
        return ArrayFlags(self._is("C"), self._is("F"))

    def _is(self, order: str) -> bool:
        wanted = _strides(self.shape, self.itemsize, order)
        return self.size == 0 or all(
            have == want for have, want, extent in zip(self.strides, wanted, self.shape, strict=True) if extent > 1
        )

    @property
    def __cuda_array_interface__(self) -> dict:
        address = self.ptr if self.gpudata is not None else 0
        return {
            "shape": self.shape,
            "strides": self.strides,
            "data": (address, False),
            "typestr": self.dtype.str,
            "stream": None,
            "version": 3,
        }

    # A strided view is copied by way of the bytes from its lowest to its highest element.

    def _reach(self) -> tuple[int, int]:
        """Bytes from the first element down to the lowest one, and from there to the end of the highest."""
        steps = [stride * (extent - 1) for stride, extent in zip(self.strides, self.shape, strict=True)]
        below = -sum(step for step in steps if step < 0)
        return below, below + sum(step for step in steps if step > 0) + self.itemsize

    def _on_host(self) -> tuple[np.ndarray, np.ndarray]:
        """Room for the bytes in this array's reach, nothing read into them, and the array seen in them."""
        below, nbytes = self._reach()
        raw = np.empty(nbytes, np.uint8)
        return raw, as_strided(np.ndarray((), self.dtype, raw, offset=below), self.shape, self.strides)

    def _fetch(self) -> tuple[np.ndarray, np.ndarray]:
        """As _on_host, with the device's bytes."""
        raw, view = self._on_host()
        _memory.memcpy_dtoh(raw, self._lowest())
        return raw, view

    def _lowest(self) -> int:
        address = _memory.address_of(self.gpudata, "cuMemcpyDtoH", "the GPUArray's gpudata")
        return address - self._reach()[0]

    def set(self, ary: np.ndarray, async_: bool = False, stream=None) -> None:
        """Copies a host array of the same size and dtype to the device."""
        if ary.size != self.size:
            raise ValueError(f"ary and self must be the same size: {ary.size:,} and {self.size:,} elements")
        if ary.dtype != self.dtype:
            raise ValueError(f"ary and self must have the same dtype: {ary.dtype} and {self.dtype}")
        if ary.shape != self.shape:
            warnings.warn("Setting array from one with different shape.", stacklevel=2)
            ary = ary.reshape(self.shape)
        _memory._check_stream(stream, "GPUArray.set")
        if self.size:
            self._store(ary)

    def _store(self, values: np.ndarray) -> None:
        if self.flags.c_contiguous:
            _memory.memcpy_htod(self.gpudata, np.ascontiguousarray(values))
            return
        raw, view = self._on_host() if self.flags.forc else self._fetch()
        view[...] = values
        _memory.memcpy_htod(self._lowest(), raw)

    def set_async(self, ary: np.ndarray, stream=None) -> None:
        """As set; the simulator has finished the copy when the call returns."""
        self.set(ary, async_=True, stream=stream)

    def get(self, ary: np.ndarray | None = None, pagelocked: bool = False, async_: bool = False, stream=None) -> np.ndarray:
        """The array on the host: a new one, or `ary`, of the same size and dtype, filled."""
        _memory._check_stream(stream, "GPUArray.get")
        if ary is None:
            empty_host = _memory.pagelocked_empty if pagelocked else np.empty
            # The same order of axes as on the device, as PyCUDA gives it.
            ary = as_strided(empty_host(self.shape, self.dtype), strides=_packed_strides(self))
        elif ary.size != self.size:
            raise ValueError(f"self and ary must be the same size: {self.size:,} and {ary.size:,} elements")
        elif ary.dtype != self.dtype:
            raise TypeError(f"self and ary must have the same dtype: {self.dtype} and {ary.dtype}")
        if self.size:
            ary.reshape(self.shape, copy=False)[...] = self._fetch()[1]
        return ary

    def get_async(self, stream=None, ary: np.ndarray | None = None) -> np.ndarray:
        """As get; the simulator has finished the copy when the call returns."""
        return self.get(ary=ary, async_=True, stream=stream)

    def copy(self) -> GPUArray:
        return self._from_host(self.get())

    def _from_host(self, values: np.ndarray) -> GPUArray:
        result = GPUArray(values.shape, values.dtype, self.allocator, strides=_packed_strides(values))
        result.set(values)
        return result

    def fill(self, value, stream=None) -> GPUArray:
        """Sets every element to `value`."""
        self._need_contiguous()
        _memory._check_stream(stream, "GPUArray.fill")
        if self.size:
            self._store(np.full(self.shape, value, self.dtype))
        return self

    def astype(self, dtype, stream=None) -> GPUArray:
        self._need_contiguous()
        return self._from_host(self.get().astype(dtype))

    def reshape(self, *shape, order: str = "C") -> GPUArray:
        """The same elements in another shape, as a view; one extent may be -1."""
        self._need_contiguous()
        wanted = list(shape[0]) if isinstance(shape[0], tuple | list) else list(shape)
        if wanted.count(-1) > 1:
            raise ValueError("can only specify one unknown dimension")
        if -1 in wanted:
            known = math.prod(extent for extent in wanted if extent != -1)
            wanted[wanted.index(-1)] = self.size // known if known else 0
        if math.prod(wanted) != self.size:
            raise ValueError(f"total size of new array must be unchanged: {self.shape} into {tuple(shape)}")
        return GPUArray(wanted, self.dtype, self.allocator, base=self, gpudata=self.gpudata, order=order)

    def ravel(self) -> GPUArray:
        return self.reshape(self.size)

    def __getitem__(self, index) -> GPUArray:
        """A view: ints, slices, `...` and None, as in NumPy."""
        index = index if isinstance(index, tuple) else (index,)
        if not all(isinstance(i, int | np.integer | slice) or i is None or i is Ellipsis for i in index):
            raise IndexError(f"a GPUArray takes ints, slices, ... and None as an index, was given {index}")
        # NumPy does the index arithmetic, on an array that lies the same way and that nobody reads.
        raw, whole = self._on_host()
        view = whole[index if Ellipsis in index else (*index, Ellipsis)]
        offset = view.ctypes.data - raw.ctypes.data - self._reach()[0]
        return GPUArray(view.shape, self.dtype, self.allocator, base=self, gpudata=self.ptr + offset, strides=view.strides)

    def __setitem__(self, index, value) -> None:
        target = self[index]
        values = value.get() if isinstance(value, GPUArray) else np.asarray(value, self.dtype)
        if target.size:
            target._store(np.broadcast_to(values, target.shape))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous. Look at .get()")
        return bool(self.get())

    def __str__(self) -> str:
        return str(self.get())

    def __repr__(self) -> str:
        return repr(self.get())

    def _need_contiguous(self) -> None:
        if not self.flags.forc:
            raise RuntimeError("only contiguous arrays may be used as arguments to this operation")

    def _apply(self, other, function: Callable, swapped: bool) -> GPUArray:
        """function(self, other) elementwise; PyCUDA does not broadcast, so shapes agree or one of them is ()."""
        values = self._operand(other)
        if values is None:
            return NotImplemented
        mine = self._host()
        return self._from_host(np.asarray(function(values, mine) if swapped else function(mine, values)))

    def _apply_in_place(self, other, function: Callable) -> GPUArray:
        values = self._operand(other)
        if values is None:
            return NotImplemented
        self._store(np.asarray(function(self._host(), values)).astype(self.dtype))
        return self

    def _host(self) -> np.ndarray:
        self._need_contiguous()
        return self.get()

    def _operand(self, other) -> np.ndarray | np.generic | float | None:
        if isinstance(other, GPUArray):
            if other.shape != self.shape and () not in (other.shape, self.shape):
                raise NotImplementedError(f"Broadcasting binary operator with shapes: {self.shape}, {other.shape}.")
            return other._host()
        return other if np.isscalar(other) else None

    __add__ = __radd__ = partialmethod(_apply, function=operator.add, swapped=False)
    __sub__ = partialmethod(_apply, function=operator.sub, swapped=False)
    __rsub__ = partialmethod(_apply, function=operator.sub, swapped=True)
    __mul__ = __rmul__ = partialmethod(_apply, function=operator.mul, swapped=False)
    __truediv__ = partialmethod(_apply, function=operator.truediv, swapped=False)
    __rtruediv__ = partialmethod(_apply, function=operator.truediv, swapped=True)
    __iadd__ = partialmethod(_apply_in_place, function=operator.add)
    __isub__ = partialmethod(_apply_in_place, function=operator.sub)
    __imul__ = partialmethod(_apply_in_place, function=operator.mul)
    __itruediv__ = partialmethod(_apply_in_place, function=operator.truediv)

    def __neg__(self) -> GPUArray:
        return self._from_host(-self._host())

    def __pos__(self) -> GPUArray:
        return self


empty = GPUArray


def to_gpu(ary: np.ndarray, allocator: Callable[[int], DeviceAllocation] = mem_alloc) -> GPUArray:
    """A copy of a host array on the device, its axes in the same order in memory."""
    result = GPUArray(ary.shape, ary.dtype, allocator, strides=_packed_strides(ary))
    result.set(ary)
    return result


def to_gpu_async(ary: np.ndarray, allocator: Callable[[int], DeviceAllocation] = mem_alloc, stream=None) -> GPUArray:
    """As to_gpu; the simulator has finished the copy when the call returns."""
    _memory._check_stream(stream, "to_gpu_async")
    return to_gpu(ary, allocator)


def zeros(
    shape: int | Sequence[int],
    dtype=np.float64,
    allocator: Callable[[int], DeviceAllocation] = mem_alloc,
    order: str = "C",
) -> GPUArray:
    """A new array of zeros."""
    return GPUArray(shape, dtype, allocator, order=order).fill(0)


def empty_like(other_ary: GPUArray, dtype=None, order: str = "K") -> GPUArray:
    """A new array of the shape and, unless given, the dtype and the order of `other_ary`."""
    if order not in "CFAK":
        raise ValueError(f"Unsupported order: {order!r}")
    dtype = other_ary.dtype if dtype is None else np.dtype(dtype)
    flags = other_ary.flags
    if order in "AK":
        order = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
    return GPUArray(other_ary.shape, dtype, getattr(other_ary, "allocator", mem_alloc), order=order)


def zeros_like(other_ary: GPUArray, dtype=None, order: str = "K") -> GPUArray:
    """As empty_like, of zeros."""
    return empty_like(other_ary, dtype, order).fill(0)
