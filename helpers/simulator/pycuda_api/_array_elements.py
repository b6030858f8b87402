"""Operations on the elements of arrays on the device: NumPy computes them on the device's bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from helpers.simulator.machine import memory

from . import _findings, _memcpy, _order
from ._array_layout import DeviceArray, address_of_array, order_in_memory
from ._dtypes import dtype_to_ctype
from ._errors import CompileError
from ._stream import Stream, number_of
from ._times import LAUNCH_US

Out = TypeVar("Out", bound=DeviceArray)


def run(
    what: str,
    function: Callable,
    inputs: Sequence[DeviceArray],
    out: Out,
    stream: Stream | None = None,
) -> Out:
    """Compute out = function(*inputs) element by element in memory order; arrays of shape () pair
    with every element. Raises ValueError for a dtype without a C type.
    """
    arrays: tuple[DeviceArray, ...] = (*inputs, out)
    require_c_types(what, *(array.dtype for array in arrays))
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
    work = _order.begin(number_of(stream, what), f"GPUArray {what}", LAUNCH_US)
    values = [read_flat(array, work, what) for array in inputs]
    with np.errstate(all="ignore"):
        result = np.asarray(function(*values))
        if result.dtype != out.dtype:
            result = (
                result.real if out.dtype.kind != "c" and result.dtype.kind == "c" else result
            ).astype(out.dtype)
    write_flat(out, np.broadcast_to(result, (out.size,)), work, what)
    return out


def require_c_types(what: str, *dtypes: np.dtype) -> None:
    """Raise ValueError for a dtype that PyCUDA cannot name in the kernel that it makes, such as
    float16.
    """
    for dtype in dtypes:
        try:
            dtype_to_ctype(dtype)
        except ValueError as error:
            raise ValueError(
                f"{what}: PyCUDA makes a kernel for this, and {error}; or compute with NumPy, and "
                "copy the result with gpuarray.to_gpu"
            ) from None


def uncompilable(what: str, dtype: np.dtype, cure: str) -> CompileError:
    """Return the error of an operation for which PyCUDA makes a kernel that nvcc refuses."""
    return CompileError(
        f"{what} of {dtype}: CUDA has no such function of these numbers, so that the kernel that "
        f"PyCUDA makes for it does not compile: {cure}",
        None,
    )


def _element_steps(array: DeviceArray) -> tuple[int, ...]:
    return tuple(step // array.itemsize for step in order_in_memory(array))


def read_flat(array: DeviceArray, work: _order.Work, what: str) -> np.ndarray:
    """Return the elements of an array without gaps, in memory order; an array of shape () gives
    one.
    """
    address, call = address_of_array(array, what), f"GPUArray {what}"
    values = np.empty(array.size, array.dtype)
    with _memcpy.refused(call):
        memory.read(values, address, array.nbytes)
        _memcpy.warn_of_unwritten(address, array.nbytes, call)
    _order.touch_device(work, address, address + array.nbytes, write=False)
    return values


def write_flat(array: DeviceArray, values: np.ndarray, work: _order.Work, what: str) -> None:
    address = address_of_array(array, what)
    with _memcpy.refused(f"GPUArray {what}"):
        memory.write(address, np.ascontiguousarray(values), array.nbytes)
    _order.touch_device(work, address, address + array.nbytes, write=True)


def common_dtype(one, other) -> np.dtype:
    """Return NumPy's dtype of one + other, for two arrays, or an array and a number."""
    second = np.zeros(1, other.dtype) if isinstance(other, DeviceArray | np.ndarray) else other
    return (np.zeros(1, one.dtype) + second).dtype


def real_dtype(dtype: np.dtype) -> np.dtype:
    return np.empty(0, dtype).real.dtype


def packed_scalar(value, dtype: np.dtype, what: str):
    """Return a number as PyCUDA packs it for its kernels: as `dtype`. A Python float does not fit
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


def divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Divide as C does: integers round towards zero."""
    if np.result_type(x, y).kind not in "iu":
        return np.divide(x, y)
    quotient = np.floor_divide(x, y)
    return quotient + ((np.remainder(x, y) != 0) & ((x < 0) != (y < 0)))


def power(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Compute C's pow; it converts integers to double."""
    if np.result_type(x, y).kind in "iu":
        return np.power(np.asarray(x, np.float64), np.asarray(y, np.float64))
    return np.power(x, y)
