"""GPUArray: an array on the simulated device, its views, copies and arithmetic. gpuarray.py has the
functions around it.

NumPy computes on the device's bytes, with PyCUDA's rules if they differ from NumPy's:
- elements pair up in memory order; shapes must agree, or one of the arrays has shape ();
- comparisons return numbers (0 and 1) of the arrays' common dtype;
- integers divided by integers stay integers;
- a Python float does not fit into an integer array; an operation in place casts its result to the
  array's own dtype;
- arithmetic needs arrays without gaps; copies of views have at most two axes with gaps.
Some operations of PyCUDA are seldom intended, such as adding an array in C order to one in Fortran
order. The simulator warns of them.
"""

from __future__ import annotations

import math
import struct
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from helpers.simulator import memory

from . import _findings, _memory, _order
from ._device import Context, Device, device_attribute
from ._host import pagelocked_empty, shape_of
from ._memory import DeviceAllocation, mem_alloc
from ._stream import Stream, number_of

Allocator = Callable[[int], DeviceAllocation]


# ---- how an array lies in memory ----


class ArrayFlags:
    """The layout of an array in memory; `forc` is true if it is contiguous in either order."""

    def __init__(self, array: GPUArray):
        self.c_contiguous = _lies(array, "C")
        self.f_contiguous = _lies(array, "F")
        self.forc = self.c_contiguous or self.f_contiguous

    def __repr__(self) -> str:
        return f"  C_CONTIGUOUS : {self.c_contiguous}\n  F_CONTIGUOUS : {self.f_contiguous}"


def _strides(shape: Sequence[int], itemsize: int, order: str) -> tuple[int, ...]:
    if order not in ("C", "F"):
        raise ValueError(f"invalid order: {order!r}; it is 'C' or 'F'")
    axes = range(len(shape))
    inner = (lambda axis: shape[axis + 1 :]) if order == "C" else (lambda axis: shape[:axis])
    return tuple(itemsize * math.prod(max(1, extent) for extent in inner(axis)) for axis in axes)


def _lies(array: GPUArray, order: str) -> bool:
    wanted = _strides(array.shape, array.itemsize, order)
    lies = zip(array.strides, wanted, array.shape, strict=True)
    return array.size == 0 or all(have == want for have, want, extent in lies if extent != 1)


def packed_strides(array: np.ndarray | GPUArray) -> tuple[int, ...]:
    """Returns strides for a contiguous copy of `array` whose axes have the same order in memory."""
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
    """Returns PyCUDA's (grid, block) for n elements: at most 32 blocks of 128 threads for each
    multiprocessor.
    """
    dev = Context.get_device() if dev is None else dev
    return _splay(int(n), dev.get_attribute(device_attribute.MULTIPROCESSOR_COUNT))


class GPUArray:
    """An array on the device with NumPy's shape, dtype and strides (bytes).

    gpudata: the DeviceAllocation, or the address (int) in a view; None for an array without
    elements.
    """

    __array_priority__ = 100
    # As in NumPy, == compares elements, so an array cannot be a key.
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        shape: int | Sequence[int],
        dtype,
        allocator: Allocator | None = mem_alloc,
        base: GPUArray | None = None,
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
        address = self.ptr if self.gpudata is not None else 0
        return {
            "shape": self.shape,
            "strides": self.strides,
            "data": (address, False),
            "typestr": self.dtype.str,
            "stream": None,
            "version": 3,
        }

    # -- copies --

    def set(
        self, ary: np.ndarray, async_: bool = False, stream: Stream | None = None, **deprecated
    ) -> None:
        """Copies a host array of the same size and dtype to the device; with async_, in a
        stream.
        """
        async_ = _asynchronous(async_, deprecated)
        if ary.size != self.size:
            raise ValueError(
                f"set() takes an array of the same size, {self.size:,} elements, got {ary.size:,}"
            )
        if ary.shape != self.shape:
            warnings.warn("the array given has another shape", stacklevel=2)
            ary = ary.reshape(self.shape)
        if ary.dtype != self.dtype:
            raise ValueError(
                f"set() takes an array of the same dtype, {self.dtype}, got {ary.dtype}: use "
                ".astype(...)"
            )
        if self.size:
            _copy(self, ary, asynchronous=async_, stream=stream)

    def set_async(self, ary: np.ndarray, stream: Stream | None = None) -> None:
        """Copies like `set`, in a stream: a page-locked `ary` must not change before the program
        synchronises the stream.
        """
        self.set(ary, async_=True, stream=stream)

    def get(
        self,
        ary: np.ndarray | None = None,
        pagelocked: bool = False,
        async_: bool = False,
        stream: Stream | None = None,
        **deprecated,
    ) -> np.ndarray:
        """Returns the array on the host: in `ary`, which has the same size and dtype, or in a new
        array whose axes have the same order in memory.
        """
        async_ = _asynchronous(async_, deprecated)
        if ary is None:
            empty_host = pagelocked_empty if pagelocked else np.empty
            ary = as_strided(
                empty_host(self.shape, self.dtype), strides=packed_strides(self), subok=True
            )
        else:
            if ary.size != self.size:
                raise ValueError(
                    f"get() fills an array of the same size, {self.size:,} elements, got "
                    f"{ary.size:,}"
                )
            if ary.dtype != self.dtype:
                raise TypeError(
                    f"get() fills an array of the same dtype, {self.dtype}, got {ary.dtype}"
                )
            if ary.shape != self.shape:
                warnings.warn(
                    "get() into an array of another shape is deprecated",
                    DeprecationWarning,
                    stacklevel=2,
                )
        if self.size:
            _copy(ary.reshape(self.shape), self, asynchronous=async_, stream=stream)
        return ary

    def get_async(self, stream: Stream | None = None, ary: np.ndarray | None = None) -> np.ndarray:
        """Copies like `get`, in a stream: the host must not read a page-locked `ary` before the
        program synchronises the stream.
        """
        return self.get(ary=ary, async_=True, stream=stream)

    def copy(self) -> GPUArray:
        new = GPUArray(self.shape, self.dtype, self.allocator, strides=packed_strides(self))
        if self.size:
            _copy(new, self)
        return new

    def __setitem__(self, index, value) -> None:
        target = self[index]
        if np.isscalar(value):
            target.fill(value)
        elif target.size:
            _copy(target, value)

    # -- views --

    def __getitem__(self, index) -> GPUArray:
        """Returns a view; the index has ints, slices, `...` and None, as in NumPy."""
        index = index if isinstance(index, tuple) else (index,)
        for axis, entry in enumerate(index):
            if isinstance(entry, bool) or not (
                isinstance(entry, int | np.integer | slice) or entry is None or entry is Ellipsis
            ):
                raise IndexError(
                    f"axis {axis}: a GPUArray is indexed by ints, slices, ... and None, got "
                    f"{entry!r}; "
                    "gpuarray.take(array, indices) picks elements"
                )
        # NumPy does the index arithmetic on an array of the same layout, whose elements do not
        # matter.
        whole = as_strided(np.empty((), self.dtype), self.shape, self.strides)
        view = whole[index if Ellipsis in index else (*index, Ellipsis)]
        offset = (
            view.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
            if view.size
            else 0
        )
        gpudata = self.ptr + offset if self.gpudata is not None else None
        return GPUArray(
            view.shape, self.dtype, self.allocator, base=self, gpudata=gpudata, strides=view.strides
        )

    def _view(
        self,
        shape: Sequence[int],
        strides: Sequence[int] | None = None,
        order: str = "C",
        dtype=None,
    ) -> GPUArray:
        gpudata = None if self.gpudata is None else self.ptr
        return GPUArray(
            shape,
            self.dtype if dtype is None else dtype,
            self.allocator,
            base=self,
            gpudata=gpudata,
            strides=strides,
            order=order,
        )

    def reshape(self, *shape, order: str = "C") -> GPUArray:
        """Returns a view of the same elements in another shape; one extent may be -1."""
        self._need_contiguous()
        wanted = list(shape[0]) if isinstance(shape[0], tuple | list) else list(shape)
        if tuple(wanted) == self.shape and _lies(self, order):
            return self
        if wanted.count(-1) > 1:
            raise ValueError("at most one extent of a shape may be -1")
        if -1 in wanted:
            known = math.prod(extent for extent in wanted if extent != -1)
            wanted[wanted.index(-1)] = self.size // known if known else 0
        if math.prod(wanted) != self.size:
            raise ValueError(
                f"reshape() keeps the number of elements, {self.size:,}: {self.shape} does not go "
                f"into {tuple(shape)}"
            )
        return self._view(wanted, order=order)

    def ravel(self) -> GPUArray:
        return self.reshape(self.size)

    def view(self, dtype=None) -> GPUArray:
        """Returns a view of the same bytes as another dtype; the axis with the smallest stride gets
        longer or shorter.
        """
        dtype = self.dtype if dtype is None else np.dtype(dtype)
        if not self.shape:
            if dtype.itemsize != self.itemsize:
                raise ValueError("the last axis does not divide into elements of the new dtype")
            return self._view((), (), dtype=dtype)
        axis = min(range(self.ndim), key=lambda k: abs(self.strides[k]))
        nbytes = self.shape[axis] * self.itemsize
        if nbytes % dtype.itemsize:
            raise ValueError("the last axis does not divide into elements of the new dtype")
        shape, strides = list(self.shape), list(self.strides)
        shape[axis] = nbytes // dtype.itemsize
        strides[axis] = strides[axis] * dtype.itemsize // self.itemsize
        return self._view(shape, strides, dtype=dtype)

    def squeeze(self) -> GPUArray:
        """Returns a view without the axes of extent 1."""
        kept = [k for k, extent in enumerate(self.shape) if extent != 1]
        return self._view([self.shape[k] for k in kept], [self.strides[k] for k in kept])

    def transpose(self, axes: Sequence[int] | None = None) -> GPUArray:
        """Returns a view with the axes in another order, by default reversed."""
        axes = range(self.ndim - 1, -1, -1) if axes is None else axes
        if len(axes) != self.ndim:
            raise ValueError(
                f"transpose() takes every axis once: this array has {self.ndim}, got {tuple(axes)}"
            )
        return self._view([self.shape[k] for k in axes], [self.strides[k] for k in axes])

    @property
    def T(self) -> GPUArray:  # noqa: N802 - NumPy's name
        return self.transpose()

    # -- as Python sees it --

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("an array without dimensions has no length")
        return self.shape[0]

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(
                "an array of several elements is neither true nor false: ask any() or all() of it"
            )
        return bool(self.get().item())

    def __str__(self) -> str:
        return str(self.get())

    def __repr__(self) -> str:
        return repr(self.get())

    # -- work --

    def _need_contiguous(self) -> None:
        if not self.flags.forc:
            raise RuntimeError("this operation needs contiguous arrays")

    def _new_like_me(self, dtype=None, order: str = "C") -> GPUArray:
        dtype = self.dtype if dtype is None else np.dtype(dtype)
        strides = self.strides if dtype == self.dtype else None
        return GPUArray(self.shape, dtype, self.allocator, strides=strides, order=order)

    def _like_me_in_memory(self, dtype) -> GPUArray:
        """Returns an array of any dtype whose elements have the same order in memory."""
        return GPUArray(
            self.shape, dtype, self.allocator, order="C" if self.flags.c_contiguous else "F"
        )

    def fill(self, value, stream: Stream | None = None) -> GPUArray:
        """Sets every element to `value`."""
        value = packed_scalar(value, self.dtype, "fill")
        return run("fill", lambda: np.full(self.size, value, self.dtype), (), self, stream)

    def astype(self, dtype, stream: Stream | None = None) -> GPUArray:
        self._need_contiguous()
        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self.copy()
        result = self._like_me_in_memory(dtype)
        # PyCUDA's result is in C order too, with the elements in memory order.
        if not self.flags.c_contiguous:
            result = self._new_like_me(dtype)
        return run("astype", lambda x: x.astype(dtype), (self,), result, stream)

    def reverse(self, stream: Stream | None = None) -> GPUArray:
        """Returns the elements in reversed order, as if the array had one dimension."""
        return run("reverse", lambda x: x[::-1], (self,), self._new_like_me(), stream)

    def mul_add(
        self,
        selffac,
        other: GPUArray,
        otherfac,
        add_timer=None,
        stream: Stream | None = None,
        out=None,
    ) -> GPUArray:
        """Returns selffac * self + otherfac * other."""
        dtype = common_dtype(self, other)
        out = _result_of(self, other, dtype) if out is None else out
        a, b = (
            packed_scalar(selffac, out.dtype, "mul_add"),
            packed_scalar(otherfac, out.dtype, "mul_add"),
        )
        return run(
            "mul_add",
            lambda x, y: a * x.astype(out.dtype) + b * y.astype(out.dtype),
            (self, other),
            out,
            stream,
        )

    def any(self, stream: Stream | None = None, allocator: Allocator | None = None) -> GPUArray:
        """Returns whether any element is not 0, as an array of shape ()."""
        return reduce_arrays("any", np.any, (self,), np.bool_, stream, allocator)

    def all(self, stream: Stream | None = None, allocator: Allocator | None = None) -> GPUArray:
        """Returns whether no element is 0, as an array of shape ()."""
        return reduce_arrays("all", np.all, (self,), np.bool_, stream, allocator)

    # -- arithmetic --

    def __add__(self, other) -> GPUArray:
        return _arithmetic("+", np.add, self, other, neutral=0)

    __radd__ = __add__

    def __sub__(self, other) -> GPUArray:
        return _arithmetic("-", np.subtract, self, other, neutral=0)

    def __rsub__(self, other) -> GPUArray:
        return _arithmetic("-", lambda x, y: np.subtract(y, x), self, other)

    def __mul__(self, other) -> GPUArray:
        return _arithmetic("*", np.multiply, self, other)

    __rmul__ = __mul__

    def __truediv__(self, other) -> GPUArray:
        if np.isscalar(other):
            return self.copy() if other == 1 else _times_inverse(self, other)
        return _arithmetic("/", _divide, self, other)

    __div__ = __truediv__

    def __rtruediv__(self, other) -> GPUArray:
        return _arithmetic("/", lambda x, y: _divide(y, x), self, other)

    __rdiv__ = __rtruediv__

    def __pow__(self, other) -> GPUArray:
        return _arithmetic("**", _power, self, other)

    def __rpow__(self, other) -> GPUArray:
        return _arithmetic("**", lambda x, y: _power(y, x), self, other)

    def __iadd__(self, other) -> GPUArray:
        return _in_place("+=", np.add, self, other)

    def __isub__(self, other) -> GPUArray:
        return _in_place("-=", np.subtract, self, other)

    def __imul__(self, other) -> GPUArray:
        return _in_place("*=", np.multiply, self, other)

    def __itruediv__(self, other: Any) -> GPUArray:
        if not isinstance(other, GPUArray) and np.isscalar(other):
            factor: Any = other
            return self if factor == 1 else _in_place("*=", np.multiply, self, 1 / factor)
        return _in_place("/=", _divide, self, other)

    __idiv__ = __itruediv__

    def __ipow__(self, other) -> GPUArray:
        return _in_place("**=", _power, self, other)

    def __neg__(self) -> GPUArray:
        return run("-", np.negative, (self,), self._new_like_me())

    def __pos__(self) -> GPUArray:
        return self

    def __abs__(self) -> GPUArray:
        self._need_contiguous()
        dtype = _real_dtype(self.dtype)
        return run(
            "abs",
            np.abs,
            (self,),
            self._like_me_in_memory(dtype) if dtype != self.dtype else self._new_like_me(),
        )

    def __eq__(self, other) -> GPUArray:  # type: ignore[override]  # element by element, as NumPy
        return _compare("==", np.equal, self, other)

    def __ne__(self, other) -> GPUArray:  # type: ignore[override]  # element by element, as NumPy
        return _compare("!=", np.not_equal, self, other)

    def __lt__(self, other) -> GPUArray:
        return _compare("<", np.less, self, other)

    def __le__(self, other) -> GPUArray:
        return _compare("<=", np.less_equal, self, other)

    def __gt__(self, other) -> GPUArray:
        return _compare(">", np.greater, self, other)

    def __ge__(self, other) -> GPUArray:
        return _compare(">=", np.greater_equal, self, other)

    # -- complex numbers --

    @property
    def real(self) -> GPUArray:
        """The real parts: a copy for a complex array, else the array itself."""
        if self.dtype.kind != "c":
            return self
        return run("real", np.real, (self,), self._like_me_in_memory(_real_dtype(self.dtype)))

    @property
    def imag(self) -> GPUArray:
        """The imaginary parts, zeros for a real array."""
        if self.dtype.kind != "c":
            return self._like_me_in_memory(self.dtype).fill(0)
        return run("imag", np.imag, (self,), self._like_me_in_memory(_real_dtype(self.dtype)))

    def conj(self, out: GPUArray | None = None) -> GPUArray:
        """Returns the complex conjugate, in `out` if it is given. The conjugate of a real array is
        the array itself.
        """
        if self.dtype.kind != "c":
            return self
        return run(
            "conj", np.conj, (self,), self._like_me_in_memory(self.dtype) if out is None else out
        )

    conjugate = conj


def _asynchronous(async_: bool, deprecated: dict) -> bool:
    async_ = deprecated.pop("async", async_)
    if deprecated:
        raise TypeError(f"unknown keyword arguments: {', '.join(deprecated)}")
    return bool(async_)


# ---- copies between arrays, with gaps or without ----


def _copy(target, source, *, asynchronous: bool = False, stream: Stream | None = None) -> None:
    """Copies between GPUArrays and NumPy arrays of the same shape and dtype; PyCUDA uses Memcpy2D
    and Memcpy3D for it.
    """
    for array, role in ((source, "source"), (target, "target")):
        if not isinstance(array, GPUArray | np.ndarray):
            raise TypeError(
                f"the {role} of a copy is a GPUArray or a NumPy array, got a {type(array).__name__}"
            )
    if source.shape != target.shape:
        raise ValueError(
            f"a copy needs two arrays of the same shape, got {source.shape} and {target.shape}"
        )
    if source.dtype != target.dtype:
        raise TypeError(
            f"a copy needs two arrays of the same dtype, got {source.dtype} and {target.dtype}"
        )
    if isinstance(target, np.ndarray) and not target.flags.writeable:
        raise ValueError("the target of a copy is read-only: pass an array that can be written to")
    call = "GPUArray copy"
    number = number_of(stream, call) if asynchronous else _order.NULL
    as_it_lies = _forc(source) and _forc(target)
    if as_it_lies and _layout_key(source) != _layout_key(target):
        _findings.remark(
            "an array in C order and one in Fortran order: PyCUDA copies the bytes as they lie, "
            "which transposes the elements"
        )
    if not as_it_lies:
        _check_gaps(source, target)
    work = _order.begin(number, call)
    values = _fetch(source, work, call, flat=as_it_lies, blocking=not asynchronous)
    _store(target, values, work, flat=as_it_lies, blocking=not asynchronous)


def _forc(array) -> bool:
    """Whether an array is contiguous in some order of its axes. PyCUDA accepts only C and Fortran
    order.
    """
    return array.flags.forc


def _layout_key(array) -> tuple:
    """Returns a key that is equal for two arrays of one shape if their elements have the same order
    in memory.
    """
    return tuple(
        stride for stride, extent in zip(array.strides, array.shape, strict=True) if extent > 1
    )


def _check_gaps(source, target) -> None:
    """Raises ValueError for arrays that PyCUDA cannot copy: with other orders of the axes, reversed
    views, and gaps along more than two axes.
    """
    axes = sorted(
        (k for k, extent in enumerate(source.shape) if extent > 1), key=lambda k: source.strides[k]
    )
    pairs = [(source.strides[k], target.strides[k], source.shape[k]) for k in axes]
    if any(stride < 0 for pair in pairs for stride in pair[:2]):
        raise OverflowError(
            "can't convert negative value to unsigned: PyCUDA cannot copy a reversed view; use "
            ".reverse()"
        )
    item = source.dtype.itemsize
    merged = [] if pairs and pairs[0][:2] == (item, item) else [(0, 0, 1)]
    for s, t, extent in pairs:
        if merged and t < merged[-1][1]:
            raise ValueError("a copy needs two arrays whose axes lie in the same order in memory")
        if merged and merged[-1][2] * merged[-1][0] == s and merged[-1][2] * merged[-1][1] == t:
            merged[-1] = (merged[-1][0], merged[-1][1], merged[-1][2] * extent)
        else:
            merged.append((s, t, extent))
    if len(merged) > 3:
        raise ValueError(
            f"PyCUDA copies gaps along at most 2 axes: this array has shape {source.shape}, "
            f"strides {source.strides}"
        )
    for side, name in ((0, "source"), (1, "target")):
        if len(merged) == 3 and merged[2][side] % merged[1][side]:
            strides = f"{merged[2][side]} and {merged[1][side]}"
            raise RuntimeError(
                f"PyCUDA copies a {name} whose largest stride is a multiple of the next: these are "
                f"{strides}"
            )


def _reach(array) -> tuple[int, int]:
    """Returns the bytes from the first element down to the lowest one, and the bytes from the
    lowest one to the end of the highest.
    """
    steps = [
        stride * (extent - 1) for stride, extent in zip(array.strides, array.shape, strict=True)
    ]
    below = -sum(step for step in steps if step < 0)
    return below, below + sum(step for step in steps if step > 0) + array.dtype.itemsize


def _fetch(source, work: _order.Work, call: str, *, flat: bool, blocking: bool) -> np.ndarray:
    """Returns the elements of an array, in memory order (flat) or in its shape."""
    if isinstance(source, GPUArray):
        address = address_of_array(source, call)
        below, nbytes = _reach(source)
        raw = np.empty(nbytes, np.uint8)
        with _memory.refused(call):
            memory.read(raw, address - below, nbytes)
            if nbytes == source.nbytes:
                _memory.warn_of_unwritten(address - below, nbytes, call)
        _order.touch_device(work, address - below, address - below + nbytes, write=False)
        return raw.view(source.dtype) if flat else _seen_in(raw, source, below)
    host = source.view(np.ndarray)
    values = _as_it_lies(host) if flat else host.copy()
    _note_host_side(host, work, write=False, blocking=blocking)
    return values


def _note_host_side(host: np.ndarray, work: _order.Work, *, write: bool, blocking: bool) -> None:
    below, nbytes = _reach(host)
    _memory.note_host_side(
        work, host.__array_interface__["data"][0] - below, nbytes, write=write, blocking=blocking
    )


def _store(target, values: np.ndarray, work: _order.Work, *, flat: bool, blocking: bool) -> None:
    if isinstance(target, np.ndarray):
        host = target.view(np.ndarray)
        if flat:
            _as_it_lies(host)[...] = values
        else:
            host[...] = values
        _note_host_side(host, work, write=True, blocking=blocking)
        return
    address = address_of_array(target, "GPUArray copy")
    below, nbytes = _reach(target)
    with _memory.refused("GPUArray copy"):
        if flat:
            memory.write(address, np.ascontiguousarray(values), values.nbytes)
        else:
            _store_strided(target, values, address)
    _order.touch_device(work, address - below, address - below + nbytes, write=True)


def _store_strided(target: GPUArray, values: np.ndarray, address: int) -> None:
    """Writes all bytes at once, or runs of neighbouring elements. The bytes between the runs stay
    unchanged, also if they are unwritten.
    """
    below, nbytes = _reach(target)
    if nbytes == target.nbytes:
        raw = np.empty(nbytes, np.uint8)
        _seen_in(raw, target, below)[...] = values
        memory.write(address - below, raw, nbytes)
        return
    inner = (
        target.ndim - 1 if target.ndim and target.strides[-1] == target.itemsize else target.ndim
    )
    for index in np.ndindex(*target.shape[:inner]):
        run = np.ascontiguousarray(values[index])
        offset = sum(k * stride for k, stride in zip(index, target.strides, strict=False))
        memory.write(address + offset, run, run.nbytes)


def address_of_array(array: GPUArray, call: str) -> int:
    return _memory.address_of(array.gpudata, call, "the GPUArray's gpudata")


def _seen_in(raw: np.ndarray, array: GPUArray, below: int) -> np.ndarray:
    first = np.ndarray((), array.dtype, raw, offset=below)
    return as_strided(first, array.shape, array.strides)


def _as_it_lies(host: np.ndarray) -> np.ndarray:
    """Returns the elements of a host array without gaps: a flat view, in memory order."""
    return host.reshape(-1) if host.flags.c_contiguous else host.T.reshape(-1)


# ---- work ----


def run(
    what: str,
    function: Callable,
    inputs: Sequence[GPUArray],
    out: GPUArray,
    stream: Stream | None = None,
) -> GPUArray:
    """Computes out = function(*inputs) element by element in memory order; arrays of shape () pair
    with every element.
    """
    arrays = (*inputs, out)
    for array in arrays:
        array._need_contiguous()
        if array.shape != out.shape and array.shape != ():
            raise AssertionError(
                f"{what}: the shapes {', '.join(str(a.shape) for a in arrays)} do not agree"
            )
    orders = {_element_steps(array) for array in arrays if array.shape == out.shape}
    if len(orders) > 1:
        _findings.remark(
            f"{what} of arrays in C order and in Fortran order: PyCUDA pairs elements as they lie, "
            "which transposes one"
        )
    if not out.size:
        return out
    work = _order.begin(number_of(stream, what), f"GPUArray {what}")
    values = [read_flat(array, work, what) for array in inputs]
    with np.errstate(all="ignore"):
        result = np.asarray(function(*values))
        if result.dtype != out.dtype:
            result = (
                result.real if out.dtype.kind != "c" and result.dtype.kind == "c" else result
            ).astype(out.dtype)
    write_flat(out, np.broadcast_to(result, (out.size,)), work, what)
    return out


def _element_steps(array: GPUArray) -> tuple[int, ...]:
    return tuple(step // array.itemsize for step in _layout_key(array))


def read_flat(array: GPUArray, work: _order.Work, what: str) -> np.ndarray:
    """Returns the elements of an array without gaps, in memory order; an array of shape () gives
    one.
    """
    address, call = address_of_array(array, what), f"GPUArray {what}"
    values = np.empty(array.size, array.dtype)
    with _memory.refused(call):
        memory.read(values, address, array.nbytes)
        _memory.warn_of_unwritten(address, array.nbytes, call)
    _order.touch_device(work, address, address + array.nbytes, write=False)
    return values


def write_flat(array: GPUArray, values: np.ndarray, work: _order.Work, what: str) -> None:
    address = address_of_array(array, what)
    with _memory.refused(f"GPUArray {what}"):
        memory.write(address, np.ascontiguousarray(values), array.nbytes)
    _order.touch_device(work, address, address + array.nbytes, write=True)


def common_dtype(one, other) -> np.dtype:
    """Returns NumPy's dtype of one + other, for two arrays, or an array and a number."""
    second = np.zeros(1, other.dtype) if isinstance(other, GPUArray | np.ndarray) else other
    return (np.zeros(1, one.dtype) + second).dtype


def _real_dtype(dtype: np.dtype) -> np.dtype:
    return np.empty(0, dtype).real.dtype


def packed_scalar(value, dtype: np.dtype, what: str):
    """Returns a number as PyCUDA packs it for its kernels: as `dtype`. A Python float does not fit
    an integer dtype.
    """
    value = value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
    if dtype.names:
        return value
    if dtype.kind in "iu" and not hasattr(value, "__index__") and not isinstance(value, np.bool_):
        raise struct.error(
            f"{what} with {value!r} on an array of {dtype} needs a whole number; convert the array "
            "with .astype(np.float32) first"
        )
    if dtype.kind in "iu" and not np.iinfo(dtype).min <= int(value) <= np.iinfo(dtype).max:
        raise struct.error(f"{what}: {value!r} does not fit into {dtype}")
    return dtype.type(value)


def _result_of(one: GPUArray, other: GPUArray, dtype: np.dtype) -> GPUArray:
    if one.shape != other.shape and () not in (one.shape, other.shape):
        raise NotImplementedError(
            f"two arrays in one operation need equal shapes, got {one.shape}, {other.shape}"
        )
    return (other if one.shape == () else one)._new_like_me(dtype)


def _arithmetic(symbol: str, function: Callable, one: GPUArray, other, *, neutral=None) -> GPUArray:
    """Returns function(one, other) in their common dtype; returns a copy of `one` for a scalar that
    changes nothing.
    """
    if isinstance(other, GPUArray):
        out = _result_of(one, other, common_dtype(one, other))
        return run(
            symbol,
            lambda x, y: function(x.astype(out.dtype), y.astype(out.dtype)),
            (one, other),
            out,
        )
    if not np.isscalar(other):
        return NotImplemented
    if neutral is not None and other == neutral:
        return one.copy()
    out = one._new_like_me(common_dtype(one, other))
    value = packed_scalar(other, out.dtype, symbol)
    return run(symbol, lambda x: function(x.astype(out.dtype), value), (one,), out)


def _in_place(symbol: str, function: Callable, one: GPUArray, other) -> GPUArray:
    if isinstance(other, GPUArray):
        return run(symbol, lambda x, y: function(x, y.astype(one.dtype)), (one, other), one)
    if not np.isscalar(other):
        return NotImplemented
    value = packed_scalar(other, one.dtype, symbol)
    return run(symbol, lambda x: function(x, value), (one,), one)


def _compare(symbol: str, function: Callable, one: GPUArray, other) -> GPUArray:
    """Returns 0 and 1 in the arrays' common dtype; beside a scalar, in the array's own dtype."""
    if isinstance(other, GPUArray):
        return run(symbol, function, (one, other), _result_of(one, other, common_dtype(one, other)))
    if not np.isscalar(other):
        raise AssertionError(
            f"a GPUArray is compared with a GPUArray or a number, got {type(other).__name__}"
        )
    value = np.dtype(type(other)).type(other)
    return run(symbol, lambda x: function(x, value), (one,), one._new_like_me())


def _times_inverse(one: GPUArray, other) -> GPUArray:
    """Returns one / other by PyCUDA's rule for a number: one times 1 / other, rounded to the dtype
    of the result.
    """
    out = one._new_like_me(common_dtype(one, other))
    factor = packed_scalar(1 / other, out.dtype, "/")
    return run("/", lambda x: x.astype(out.dtype) * factor, (one,), out)


def _divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Divides as C does: integers round towards zero."""
    if np.result_type(x, y).kind not in "iu":
        return np.divide(x, y)
    quotient = np.floor_divide(x, y)
    return quotient + ((np.remainder(x, y) != 0) & ((x < 0) != (y < 0)))


def _power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Computes C's pow; it converts integers to double."""
    if np.result_type(x, y).kind in "iu":
        return np.power(np.asarray(x, np.float64), np.asarray(y, np.float64))
    return np.power(x, y)


# ---- reductions ----


def reduce_arrays(
    what: str, function: Callable, arrays: Sequence[GPUArray], dtype, stream, allocator
) -> GPUArray:
    for array in arrays:
        if not array.flags.forc:
            raise RuntimeError("a reduction needs contiguous arrays")
    work = _order.begin(number_of(stream, what), f"gpuarray.{what}")
    with np.errstate(all="ignore"):
        value = np.asarray(
            function(
                *(
                    read_flat(array, work, what) if array.size else np.empty(0, array.dtype)
                    for array in arrays
                )
            )
        )
    out = GPUArray((), dtype, allocator or arrays[0].allocator or mem_alloc)
    write_flat(out, value.astype(dtype), work, what)
    return out
