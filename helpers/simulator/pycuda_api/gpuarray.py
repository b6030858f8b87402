"""pycuda.gpuarray, for machines without a GPU: arrays on the simulated device, and the functions
that make and reduce them.

The functions are done by NumPy on the device's bytes, by the rules of _array.py; an index out of
bounds raises LaunchError.
"""

from __future__ import annotations

import builtins
import copyreg
import math
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from helpers.quantities import quantity
from helpers.simulator.machine import memory

from . import _findings, _order
from ._array import GPUArray, reduce_arrays
from ._array_elements import (
    common_dtype,
    packed_scalar,
    read_flat,
    run,
    uncompilable,
    write_flat,
)
from ._array_layout import Allocator, ArrayFlags, address_of_array, packed_strides, splay
from ._dtypes import get_or_register_dtype
from ._errors import CompileError, LaunchError
from ._memory import mem_alloc
from ._stream import Stream, number_of
from ._times import LAUNCH_US

# ---- vector types ----


class vec:  # noqa: N801 - PyCUDA's name
    """CUDA's vector types as dtypes (vec.float3), and functions that make one (vec.make_float3(1,
    2, 3)).
    """


def _maker(dtype: np.dtype) -> Callable[..., np.ndarray]:
    names = dtype.names or ()

    def make(*components) -> np.ndarray:
        if len(components) != len(names):
            raise TypeError(
                f"{quantity(len(names), 'component')} ({', '.join(names)}) make this vector, got "
                f"{len(components)}"
            )
        return np.array(components, dtype)

    return make


def _make_vector_types() -> None:
    four, two = (1, 2, 3, 4), (1, 2)
    for base, dtype, counts in (
        ("char", np.int8, four), ("uchar", np.uint8, four), ("short", np.int16, four), ("ushort",
        np.uint16, four),
        ("int", np.int32, four), ("uint", np.uint32, four), ("long", np.int64, four), ("ulong",
        np.uint64, four),
        ("longlong", np.int64, two), ("ulonglong", np.uint64, two), ("float", np.float32, four),
        ("double", np.float64, two),
    ):
        for count in counts:
            name = f"{base}{count}"
            vector = np.dtype([(axis, dtype) for axis in "xyzw"[:count]])
            get_or_register_dtype(name, vector)
            setattr(vec, name, vector)
            setattr(vec, f"make_{name}", staticmethod(_maker(vector)))


_make_vector_types()


# ---- creation ----

empty = GPUArray


def to_gpu(ary: np.ndarray, allocator: Allocator = mem_alloc) -> GPUArray:
    """Return a copy of a host array on the device, with its axes in the same order in memory."""
    result = GPUArray(ary.shape, ary.dtype, allocator, strides=packed_strides(ary))
    result.set(ary)
    return result


def to_gpu_async(
    ary: np.ndarray, allocator: Allocator = mem_alloc, stream: Stream | None = None
) -> GPUArray:
    """Copy as to_gpu does, in a stream: a page-locked `ary` must not change before the stream is
    synchronised.
    """
    result = GPUArray(ary.shape, ary.dtype, allocator, strides=packed_strides(ary))
    result.set_async(ary, stream)
    return result


def zeros(shape, dtype=np.float64, allocator: Allocator = mem_alloc, order: str = "C") -> GPUArray:
    """Return a new array of zeros."""
    return GPUArray(shape, dtype, allocator, order=order).fill(np.zeros((), dtype))


def ones(shape, dtype=np.float64, allocator: Allocator = mem_alloc, order: str = "C") -> GPUArray:
    """Return a new array of ones."""
    return GPUArray(shape, dtype, allocator, order=order).fill(np.ones((), dtype))


def empty_like(other_ary: GPUArray, dtype=None, order: str = "K") -> GPUArray:
    """Return a new array of the shape of `other_ary`, with its dtype and order unless they are
    given.
    """
    if order not in ("C", "F", "A", "K"):
        raise ValueError(f"Unsupported order: {order!r}")
    dtype = other_ary.dtype if dtype is None else np.dtype(dtype)
    flags, strides = other_ary.flags, None
    if order == "K" and not flags.c_contiguous and not flags.f_contiguous:
        # As PyCUDA: the gaps stay, in the new dtype.
        strides = [
            abs(step) * dtype.itemsize // other_ary.dtype.itemsize for step in other_ary.strides
        ]
    if order in "AK":
        order = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
    allocator = getattr(other_ary, "allocator", mem_alloc)
    if strides is not None and other_ary.size:
        reach = (
            builtins.sum(
                step * (extent - 1) for step, extent in zip(strides, other_ary.shape, strict=True)
            )
            + dtype.itemsize
        )
        if reach > other_ary.size * dtype.itemsize:
            _findings.remark(
                "a new array like a view with gaps: PyCUDA keeps the strides and allocates the "
                "elements alone, too few bytes"
            )
            return GPUArray(
                other_ary.shape,
                dtype,
                allocator,
                gpudata=(allocator or mem_alloc)(reach),
                strides=strides,
            )
    return GPUArray(other_ary.shape, dtype, allocator, order=order, strides=strides)


def zeros_like(other_ary: GPUArray, dtype=None, order: str = "K") -> GPUArray:
    """Return an array as empty_like does, filled with zeros."""
    result = empty_like(other_ary, dtype, order)
    return result.fill(np.zeros((), result.dtype))


def ones_like(other_ary: GPUArray, dtype=None, order: str = "K") -> GPUArray:
    """Return an array as empty_like does, filled with ones."""
    result = empty_like(other_ary, dtype, order)
    return result.fill(np.ones((), result.dtype))


def arange(*args, dtype=None, stream: Stream | None = None, **named) -> GPUArray:
    """Return arange([start,] stop[, step]) as NumPy does. Give the dtype; a guessed one makes a
    warning.
    """
    if args and isinstance(args[-1], np.dtype):
        dtype, args = args[-1], args[:-1]
    names = ("stop",) if len(args) == 1 else ("start", "stop", "step")
    if len(args) > 3:
        raise ValueError("more arguments than start, stop and step")
    given = dict(zip(names, args, strict=False))
    for name, value in named.items():
        if name not in ("start", "stop", "step"):
            raise ValueError(f"arange() has no argument {name!r}")
        if name in given:
            raise ValueError(f"{name!r} got twice, by its place and by its name")
        given[name] = value
    if "stop" not in given:
        raise ValueError("arange needs at least stop")
    start, stop, step = given.get("start", 0), given["stop"], given.get("step", 1)
    if dtype is None and (dtype := np.array([start, stop, step]).dtype) != np.float32:
        text = (
            "arange took its dtype from the arguments, and it is not float32: give dtype= to be "
            "sure"
        )
        warnings.warn(text, stacklevel=2)
    dtype = np.dtype(dtype)
    start, stop, step = (dtype.type(value) for value in (start, stop, step))
    size = builtins.max(0, math.ceil((stop - start) / step))
    result = GPUArray((size,), dtype)
    return run(
        "arange",
        lambda: (start + np.arange(size).astype(dtype) * step).astype(dtype),
        (),
        result,
        stream,
    )


copyreg.pickle(GPUArray, lambda array: (to_gpu, (array.get(),)))


# ---- picking elements ----


def _require_inside(does: str, indices: np.ndarray, size: int) -> None:
    """Raise LaunchError for an index outside an array; does: such as "subset_sum reads"."""
    outside = (indices < 0) | (indices >= size)
    if outside.any():
        k = int(np.flatnonzero(outside)[0])
        raise LaunchError(
            f"{does} out of bounds: index {indices[k]} (at {k}) of an array with "
            f"{quantity(size, 'element')}"
        )


def _picked(values: np.ndarray, indices: np.ndarray, what: str) -> np.ndarray:
    _require_inside(f"{what} reads", indices, len(values))
    return values[indices]


def _reads_textures(name: str) -> Callable:
    """Return the refusal of a function that reads by texture references in PyCUDA."""

    def refuse(*args, **kwargs) -> None:
        raise CompileError(
            f"gpuarray.{name} reads by texture references, which CUDA 12 removed, so that no GPU "
            "compiles it any more: write a kernel that picks the elements, such as "
            'ElementwiseKernel("float *y, float *x, int *at", "y[i] = x[at[i]]")',
            None,
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raise CompileError: PyCUDA needs textures here, and CUDA 12 has none."
    return refuse


take, multi_take, multi_take_put = map(_reads_textures, ("take", "multi_take", "multi_take_put"))


def multi_put(
    arrays, dest_indices: GPUArray, dest_shape=None, out=None, stream: Stream | None = None
) -> list[GPUArray]:
    """Put element k of each array at place dest_indices[k] of its output; other elements stay as
    they are.
    """
    if not len(arrays):
        return []
    if dest_indices.ndim != 1:
        raise ValueError("src_indices needs one dimension")
    if len({a.dtype for a in (*arrays, *(out or ()))}) > 1:
        raise TypeError("out needs the dtype of the arrays")
    if out is not None and len(out) != len(arrays):
        raise ValueError("out needs one entry for each of the arrays")
    out = [GPUArray(dest_shape, a.dtype, a.allocator) for a in arrays] if out is None else out
    work = _order.begin(number_of(stream, "multi_put"), "gpuarray.multi_put", LAUNCH_US)
    indices = read_flat(dest_indices, work, "multi_put").astype(np.int64)
    for source, target in zip(arrays, out, strict=True):
        values = _picked(read_flat(source, work, "multi_put"), np.arange(len(indices)), "multi_put")
        _require_inside("multi_put writes", indices, target.size)
        address = address_of_array(target, "multi_put")
        for index, value in zip(indices, values, strict=True):
            memory.write(address + int(index) * target.itemsize, value.tobytes(), target.itemsize)
        _order.touch_device(work, address, address + target.nbytes, write=True)
    return out


# ---- putting together ----


def concatenate(
    arrays: Sequence[GPUArray], axis: int = 0, allocator: Allocator | None = None
) -> GPUArray:
    """Join the arrays along one of their axes."""
    first = arrays[0]
    for k, array in enumerate(arrays):
        if array.ndim != first.ndim:
            raise ValueError(
                f"array #{k} (0-based) has a different number of axes, {array.ndim}; the first has "
                f"{first.ndim}"
            )
        others = [extents[:axis] + extents[axis + 1 :] for extents in (array.shape, first.shape)]
        if others[0] != others[1]:
            shapes = f"{array.shape} and {first.shape}"
            raise ValueError(
                f"array #{k} (0-based) and the first differ along another axis than {axis}: shapes "
                f"{shapes}"
            )
    shape = list(first.shape)
    shape[axis] = builtins.sum(array.shape[axis] for array in arrays)
    dtype = np.result_type(*(array.dtype for array in arrays))
    result = GPUArray(shape, dtype, allocator=allocator or first.allocator)
    begin = 0
    for array in arrays:
        end = begin + array.shape[axis]
        result[(*[slice(None)] * axis, slice(begin, end), ...)] = array
        begin = end
    return result


def stack(
    arrays: Sequence[GPUArray], axis: int = 0, allocator: Allocator | None = None
) -> GPUArray:
    """Join arrays of one shape along a new axis."""
    if not arrays:
        raise ValueError("stack got no array")
    shape = arrays[0].shape
    axis = len(shape) if axis == -1 else axis
    if builtins.any(array.shape != shape for array in arrays):
        raise ValueError("the arrays to stack differ in shape")
    if not 0 <= axis <= len(shape):
        raise ValueError("invalid axis")
    result = GPUArray(
        (*shape[:axis], len(arrays), *shape[axis:]),
        np.result_type(*(array.dtype for array in arrays)),
        allocator=allocator or arrays[0].allocator,
        order="C" if axis == 0 else "F",
    )
    for k, array in enumerate(arrays):
        result[(*[slice(None)] * axis, k, ...)] = array
    return result


def transpose(a: GPUArray, axes: Sequence[int] | None = None) -> GPUArray:
    return a.transpose(axes)


def reshape(a: GPUArray, *shape, order: str = "C") -> GPUArray:
    return a.reshape(*shape, order=order)


# ---- choosing ----


def if_positive(
    criterion: GPUArray, then_: GPUArray, else_: GPUArray, out=None, stream: Stream | None = None
) -> GPUArray:
    """Return the elements of then_ at which the criterion is > 0, and of else_ at the other
    places.
    """
    if not criterion.shape == then_.shape == else_.shape:
        shapes = f"{criterion.shape}, {then_.shape} and {else_.shape}"
        raise ValueError(f"if_positive() takes three arrays of one shape, got {shapes}")
    if then_.dtype != else_.dtype:
        raise ValueError(
            f"if_positive() chooses between arrays of one dtype, got {then_.dtype} and "
            f"{else_.dtype}"
        )
    if criterion.dtype.kind == "c":
        raise uncompilable("if_positive", criterion.dtype, "give .real, .imag or abs()")
    out = empty_like(then_) if out is None else out
    return run(
        "if_positive", lambda c, t, e: np.where(c > 0, t, e), (criterion, then_, else_), out, stream
    )


def where(
    criterion: GPUArray, then_: GPUArray, else_: GPUArray, out=None, stream: Stream | None = None
) -> GPUArray:
    """Return the elements of then_ at which the criterion is not 0, and of else_ at the other
    places.
    """
    if not criterion.shape == then_.shape == else_.shape:
        raise NotImplementedError(
            f"the three arrays need one shape, got {criterion.shape}, {then_.shape}, {else_.shape}"
        )
    if then_.dtype != else_.dtype:
        raise NotImplementedError(f"both values need one dtype, got {then_.dtype}, {else_.dtype}")
    out = empty_like(then_) if out is None else out
    return run(
        "where", lambda c, t, e: np.where(c != 0, t, e), (criterion, then_, else_), out, stream
    )


def _extremum(what: str, function: Callable, a, b, out, stream: Stream | None) -> GPUArray:
    array, other = (a, b) if isinstance(a, GPUArray) else (b, a)
    out = empty_like(array) if out is None else out
    if not {"f"} & {one.dtype.kind for one in (a, b, out) if isinstance(one, GPUArray)}:
        raise uncompilable(what, array.dtype, "use .astype(np.float32), or if_positive")
    if isinstance(other, GPUArray):
        return run(what, function, (array, other), out, stream)
    value = packed_scalar(other, array.dtype, what)
    return run(what, lambda x: function(x, value), (array,), out, stream)


def minimum(a, b, out: GPUArray | None = None, stream: Stream | None = None) -> GPUArray:
    """Return the smaller elements of two arrays, or of an array and a number; a NaN loses, as in
    C's fmin.
    """
    return _extremum("minimum", np.fmin, a, b, out, stream)


def maximum(a, b, out: GPUArray | None = None, stream: Stream | None = None) -> GPUArray:
    """Return the larger elements of two arrays, or of an array and a number; a NaN loses, as in
    C's fmax.
    """
    return _extremum("maximum", np.fmax, a, b, out, stream)


# ---- reductions: arrays of shape () ----


def _need_elements(array: GPUArray, what: str) -> None:
    if not array.size:
        raise ValueError(f"{what} of an array without elements")


def sum(
    a: GPUArray, dtype=None, stream: Stream | None = None, allocator: Allocator | None = None
) -> GPUArray:
    """Return the sum of all elements in `dtype`, by default the array's; integers wrap around."""
    _need_elements(a, "sum")
    dtype = a.dtype if dtype is None else np.dtype(dtype)
    return reduce_arrays("sum", lambda x: np.sum(x, dtype=dtype), (a,), dtype, stream, allocator)


def any(a: GPUArray, stream: Stream | None = None, allocator: Allocator | None = None) -> GPUArray:
    """Return whether any element is not 0."""
    return reduce_arrays("any", np.any, (a,), np.bool_, stream, allocator)


def all(a: GPUArray, stream: Stream | None = None, allocator: Allocator | None = None) -> GPUArray:
    """Return whether no element is 0."""
    return reduce_arrays("all", np.all, (a,), np.bool_, stream, allocator)


def _need_order(a: GPUArray, what: str) -> None:
    """Raise TypeError, as PyCUDA does, for a dtype of which it knows no smaller and larger."""
    _need_elements(a, what)
    if a.dtype.kind not in "iu" and a.dtype not in (np.float32, np.float64):
        raise TypeError(
            f"{what} of {a.dtype}: unsupported dtype specified; convert with .astype(np.int8) or "
            "another dtype of whole numbers, float32 or float64"
        )


def min(a: GPUArray, stream: Stream | None = None) -> GPUArray:
    """Return the smallest element; NaNs lose, as in C's fmin."""
    _need_order(a, "min")
    return reduce_arrays("min", np.fmin.reduce, (a,), a.dtype, stream, None)


def max(a: GPUArray, stream: Stream | None = None) -> GPUArray:
    """Return the largest element; NaNs lose, as in C's fmax."""
    _need_order(a, "max")
    return reduce_arrays("max", np.fmax.reduce, (a,), a.dtype, stream, None)


def dot(
    a: GPUArray,
    b: GPUArray,
    dtype=None,
    stream: Stream | None = None,
    allocator: Allocator | None = None,
) -> GPUArray:
    """Return the sum of a * b over all elements, by default in their common dtype."""
    _need_elements(a, "dot")
    dtype = common_dtype(a, b) if dtype is None else np.dtype(dtype)
    if b.size < a.size:
        raise LaunchError(
            f"dot reads out of bounds: the second array has {quantity(b.size, 'element')}, the "
            f"first {a.size:,}"
        )
    return reduce_arrays(
        "dot", lambda x, y: _dot(x, y[: len(x)], dtype), (a, b), dtype, stream, allocator
    )


def _dot(x: np.ndarray, y: np.ndarray, dtype: np.dtype) -> np.ndarray:
    return np.sum(x.astype(dtype) * y.astype(dtype), dtype=dtype)


def subset_sum(
    subset: GPUArray, a: GPUArray, dtype=None, stream=None, allocator: Allocator | None = None
) -> GPUArray:
    """Return the sum of a[subset]."""
    dtype = a.dtype if dtype is None else np.dtype(dtype)

    def picked(s, x):
        return np.sum(_picked(x, s, "subset_sum"), dtype=dtype)

    return reduce_arrays("subset_sum", picked, (subset, a), dtype, stream, allocator)


def subset_dot(
    subset: GPUArray,
    a: GPUArray,
    b: GPUArray,
    dtype=None,
    stream=None,
    allocator: Allocator | None = None,
) -> GPUArray:
    """Return the sum of a[subset] * b[subset]."""
    dtype = a.dtype if dtype is None else np.dtype(dtype)
    return reduce_arrays(
        "subset_dot",
        lambda s, x, y: _dot(_picked(x, s, "subset_dot"), _picked(y, s, "subset_dot"), dtype),
        (subset, a, b),
        dtype,
        stream,
        allocator,
    )


def subset_min(subset: GPUArray, a: GPUArray, stream: Stream | None = None) -> GPUArray:
    """Return the smallest element of a[subset]."""
    return _subset_extremum("subset_min", np.fmin, subset, a, stream)


def subset_max(subset: GPUArray, a: GPUArray, stream: Stream | None = None) -> GPUArray:
    """Return the largest element of a[subset]."""
    return _subset_extremum("subset_max", np.fmax, subset, a, stream)


def _subset_extremum(
    what: str, function: np.ufunc, subset: GPUArray, a: GPUArray, stream: Stream | None
) -> GPUArray:
    _need_elements(subset, what)

    def extremum(s: np.ndarray, x: np.ndarray) -> np.ndarray:
        return function.reduce(_picked(x, s, what))

    return reduce_arrays(what, extremum, (subset, a), a.dtype, stream, a.allocator)


# ---- logic ----


def _logical(what: str, function: Callable, x1, x2, out, allocator) -> GPUArray:
    arrays = [x for x in (x1, x2) if not np.isscalar(x)]
    if not builtins.all(isinstance(x, GPUArray) for x in arrays):
        raise ValueError(
            f"{what}() takes GPUArrays and numbers; gpuarray.to_gpu(a) makes a GPUArray of a NumPy "
            "array"
        )
    if not arrays:
        out = GPUArray((), np.bool_, allocator or mem_alloc) if out is None else out
        return run(what, lambda: function(x1, x2), (), out)
    if len(arrays) == 2 and x1.shape != x2.shape:
        raise NotImplementedError(f"both arrays need one shape, got {x1.shape} and {x2.shape}")
    out = arrays[0]._like_me_in_memory(np.bool_) if out is None else out
    if out.shape != arrays[0].shape or out.dtype != np.bool_:
        raise AssertionError(
            f"out must be bool of shape {arrays[0].shape}, got {out.dtype} of shape {out.shape}"
        )
    scalars = [x for x in (x1, x2) if np.isscalar(x)]
    return run(what, lambda *values: function(*values, *scalars), arrays, out)


def logical_and(
    x1, x2, /, out: GPUArray | None = None, *, allocator: Allocator | None = None
) -> GPUArray:
    """Return whether both elements are not 0, as bool."""
    return _logical("logical_and", np.logical_and, x1, x2, out, allocator)


def logical_or(
    x1, x2, /, out: GPUArray | None = None, *, allocator: Allocator | None = None
) -> GPUArray:
    """Return whether one of the two elements is not 0, as bool."""
    return _logical("logical_or", np.logical_or, x1, x2, out, allocator)


def logical_not(x, /, out: GPUArray | None = None, *, allocator: Allocator = mem_alloc) -> GPUArray:
    """Return whether an element is 0, as bool."""
    if np.isscalar(x):
        out = GPUArray((), np.bool_, allocator) if out is None else out
        return run("logical_not", lambda: np.logical_not(x), (), out)
    x._need_contiguous()
    out = x._like_me_in_memory(np.bool_) if out is None else out
    return run("logical_not", np.logical_not, (x,), out)
