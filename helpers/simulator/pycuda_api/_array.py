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
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from helpers.quantities import quantity

from ..machine import memory
from . import _order
from ._array_copies import copy as copy_arrays
from ._array_elements import (
    common_dtype,
    divide,
    packed_scalar,
    power,
    read_flat,
    real_dtype,
    require_c_types,
    run,
    uncompilable,
    write_flat,
)
from ._array_layout import Allocator, DeviceArray, has_order, packed_strides
from ._errors import no_textures
from ._host import pagelocked_empty
from ._memory import mem_alloc
from ._stream import Stream, number_of
from ._times import LAUNCH_US


class GPUArray(DeviceArray):
    """An array on the device with NumPy's copies, views and arithmetic."""

    __array_priority__ = 100
    # As in NumPy, == compares elements, so an array cannot be a key.
    __hash__ = None  # type: ignore[assignment]

    # -- copies --

    def set(
        self, ary: np.ndarray, async_: bool = False, stream: Stream | None = None, **deprecated
    ) -> None:
        """Copy a host array of the same size and dtype to the device; with async_, in a
        stream.
        """
        async_ = _asynchronous(async_, deprecated)
        if ary.size != self.size:
            raise ValueError(
                f"set() takes an array of the same size, {quantity(self.size, 'element')}, got "
                f"{ary.size:,}"
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
            copy_arrays(self, ary, asynchronous=async_, stream=stream)

    def set_async(self, ary: np.ndarray, stream: Stream | None = None) -> None:
        """Copy like `set`, in a stream: a page-locked `ary` must not change before the program
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
        """Return the array on the host: in `ary`, which has the same size and dtype, or in a new
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
                    f"get() fills an array of the same size, {quantity(self.size, 'element')}, got "
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
            copy_arrays(ary.reshape(self.shape), self, asynchronous=async_, stream=stream)
        return ary

    def get_async(self, stream: Stream | None = None, ary: np.ndarray | None = None) -> np.ndarray:
        """Copy like `get`, in a stream: the host must not read a page-locked `ary` before the
        program synchronises the stream.
        """
        return self.get(ary=ary, async_=True, stream=stream)

    def copy(self) -> GPUArray:
        new = GPUArray(self.shape, self.dtype, self.allocator, strides=packed_strides(self))
        if self.size:
            copy_arrays(new, self)
        return new

    def __setitem__(self, index, value) -> None:
        target = self[index]
        if np.isscalar(value):
            target.fill(value)
        elif target.size:
            copy_arrays(target, value)

    # -- views --

    def __getitem__(self, index) -> GPUArray:
        """Return a view; the index has ints, slices, `...` and None, as in NumPy."""
        index = index if isinstance(index, tuple) else (index,)
        for axis, entry in enumerate(index):
            if isinstance(entry, bool) or not (
                isinstance(entry, int | np.integer | slice) or entry is None or entry is Ellipsis
            ):
                raise IndexError(
                    f"axis {axis}: a GPUArray is indexed by ints, slices, ... and None, got "
                    f"{entry!r}; an ElementwiseKernel picks elements by an array of indices"
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
        if gpudata is not None and view.size < self.size:
            memory.set_parted(self.ptr)
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
        """Return a view of the same elements in another shape; one extent may be -1."""
        self._need_contiguous()
        wanted = list(shape[0]) if isinstance(shape[0], tuple | list) else list(shape)
        if tuple(wanted) == self.shape and has_order(self, order):
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

    def bind_to_texref(self, texref: object, allow_offset: bool = False) -> None:
        """Raise LogicError: the simulator has no textures."""
        raise no_textures("cuTexRefSetAddress")

    def bind_to_texref_ext(self, texref: object, channels: int = 1, **flags: bool) -> None:
        """Raise LogicError: the simulator has no textures."""
        raise no_textures("cuTexRefSetAddress")

    def view(self, dtype=None) -> GPUArray:
        """Return a view of the same bytes as another dtype; the axis with the smallest stride gets
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
        """Return a view without the axes of extent 1."""
        kept = [k for k, extent in enumerate(self.shape) if extent != 1]
        return self._view([self.shape[k] for k in kept], [self.strides[k] for k in kept])

    def transpose(self, axes: Sequence[int] | None = None) -> GPUArray:
        """Return a view with the axes in another order, by default reversed."""
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

    def _new_like_me(self, dtype=None, order: str = "C") -> GPUArray:
        dtype = self.dtype if dtype is None else np.dtype(dtype)
        strides = self.strides if dtype == self.dtype else None
        return GPUArray(self.shape, dtype, self.allocator, strides=strides, order=order)

    def _like_me_in_memory(self, dtype) -> GPUArray:
        """Return an array of any dtype whose elements have the same order in memory."""
        return GPUArray(
            self.shape, dtype, self.allocator, order="C" if self.flags.c_contiguous else "F"
        )

    def fill(self, value, stream: Stream | None = None) -> GPUArray:
        """Set every element to `value`."""
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
        """Return the elements in reversed order, as if the array had one dimension."""
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
        """Return selffac * self + otherfac * other."""
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
        """Return whether any element is not 0, as an array of shape ()."""
        return reduce_arrays("any", np.any, (self,), np.bool_, stream, allocator)

    def all(self, stream: Stream | None = None, allocator: Allocator | None = None) -> GPUArray:
        """Return whether no element is 0, as an array of shape ()."""
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
        return _arithmetic("/", divide, self, other)

    __div__ = __truediv__

    def __rtruediv__(self, other) -> GPUArray:
        return _arithmetic("/", lambda x, y: divide(y, x), self, other)

    __rdiv__ = __rtruediv__

    def __pow__(self, other) -> GPUArray:
        return _arithmetic("**", power, self, other)

    def __rpow__(self, other) -> GPUArray:
        return _arithmetic("**", lambda x, y: power(y, x), self, other)

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
        return _in_place("/=", divide, self, other)

    __idiv__ = __itruediv__

    def __ipow__(self, other) -> GPUArray:
        return _in_place("**=", power, self, other)

    def __neg__(self) -> GPUArray:
        return run("-", np.negative, (self,), self._new_like_me())

    def __pos__(self) -> GPUArray:
        return self

    def __abs__(self) -> GPUArray:
        self._need_contiguous()
        if self.dtype in (np.uint32, np.uint64):
            raise uncompilable("abs", self.dtype, "these numbers are their own absolute values")
        dtype = real_dtype(self.dtype)
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
        return run("real", np.real, (self,), self._like_me_in_memory(real_dtype(self.dtype)))

    @property
    def imag(self) -> GPUArray:
        """The imaginary parts, zeros for a real array."""
        if self.dtype.kind != "c":
            return self._like_me_in_memory(self.dtype).fill(0)
        return run("imag", np.imag, (self,), self._like_me_in_memory(real_dtype(self.dtype)))

    def conj(self, out: GPUArray | None = None) -> GPUArray:
        """Return the complex conjugate, in `out` if it is given. The conjugate of a real array is
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


def _result_of(one: GPUArray, other: GPUArray, dtype: np.dtype) -> GPUArray:
    if one.shape != other.shape and () not in (one.shape, other.shape):
        raise NotImplementedError(
            f"two arrays in one operation need equal shapes, got {one.shape}, {other.shape}"
        )
    return (other if one.shape == () else one)._new_like_me(dtype)


def _arithmetic(symbol: str, function: Callable, one: GPUArray, other, *, neutral=None) -> GPUArray:
    """Return function(one, other) in their common dtype; returns a copy of `one` for a scalar that
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
    """Return 0 and 1 in the arrays' common dtype; beside a scalar, in the array's own dtype. Raises
    CompileError for an order of complex numbers.
    """
    if symbol not in ("==", "!=") and one.dtype.kind == "c":
        raise uncompilable(symbol, one.dtype, "compare .real, .imag or abs()")
    if isinstance(other, GPUArray):
        return run(symbol, function, (one, other), _result_of(one, other, common_dtype(one, other)))
    if not np.isscalar(other):
        raise AssertionError(
            f"a GPUArray is compared with a GPUArray or a number, got {type(other).__name__}"
        )
    value = np.dtype(type(other)).type(other)
    return run(symbol, lambda x: function(x, value), (one,), one._new_like_me())


def _times_inverse(one: GPUArray, other) -> GPUArray:
    """Return one / other by PyCUDA's rule for a number: one times 1 / other, rounded to the dtype
    of the result.
    """
    out = one._new_like_me(common_dtype(one, other))
    factor = packed_scalar(1 / other, out.dtype, "/")
    return run("/", lambda x: x.astype(out.dtype) * factor, (one,), out)


# ---- reductions ----


def reduce_arrays(
    what: str, function: Callable, arrays: Sequence[GPUArray], dtype, stream, allocator
) -> GPUArray:
    for array in arrays:
        if not array.flags.forc:
            raise RuntimeError("a reduction needs contiguous arrays")
    require_c_types(what, np.dtype(dtype), *(array.dtype for array in arrays))
    work = _order.begin(number_of(stream, what), f"gpuarray.{what}", LAUNCH_US)
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
