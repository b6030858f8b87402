"""pycuda.cumath, for machines without a GPU: mathematical functions of every element of a GPUArray,
done by NumPy.

A GPU's sinf, expf ... are right to within 1 to 2 ulp (CUDA C++ Programming Guide, "Mathematical
Functions"), so last digits differ.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from ._array import GPUArray
from ._array_elements import run, uncompilable

_REAL_ONLY = ("fabs", "ceil", "floor", "asin", "acos", "atan")


def _unary(name: str, function: Callable) -> Callable:
    def apply(
        array: GPUArray, stream_or_out=None, *, out: GPUArray | None = None, stream=None
    ) -> GPUArray:
        if stream_or_out is not None:
            # PyCUDA 2026.1 takes the argument, warns, and forgets it.
            text = "this positional argument is not used: give out= or stream= by name"
            warnings.warn(text, DeprecationWarning, stacklevel=2)
        array._need_contiguous()
        if array.dtype.kind in "iub" or (array.dtype.kind == "c" and name in _REAL_ONLY):
            cure = "give .real or .imag" if array.dtype.kind == "c" else "use .astype(np.float32)"
            raise uncompilable(name, array.dtype, cure)
        if out is not None and (out.dtype, out.shape, out.strides) != (
            array.dtype,
            array.shape,
            array.strides,
        ):
            raise AssertionError(
                f"out must have the array's dtype, shape and strides: {array.dtype}, "
                f"{array.shape}, {array.strides}"
            )
        out = array._new_like_me() if out is None else out
        return run(name, function, (array,), out, stream)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = (
        f"{name} of every element, in the array's dtype; out: where to; stream: where it runs."
    )
    return apply


fabs = _unary("fabs", np.fabs)
ceil = _unary("ceil", np.ceil)
floor = _unary("floor", np.floor)
exp = _unary("exp", np.exp)
log = _unary("log", np.log)
log10 = _unary("log10", np.log10)
sqrt = _unary("sqrt", np.sqrt)
sin = _unary("sin", np.sin)
cos = _unary("cos", np.cos)
tan = _unary("tan", np.tan)
asin = _unary("asin", np.arcsin)
acos = _unary("acos", np.arccos)
atan = _unary("atan", np.arctan)
sinh = _unary("sinh", np.sinh)
cosh = _unary("cosh", np.cosh)
tanh = _unary("tanh", np.tanh)


def _need_float32(name: str, *arrays: GPUArray) -> None:
    for array in arrays:
        if array.dtype != np.float32:
            raise TypeError(
                f"PyCUDA's {name} reads float32, whatever it is given: this array is "
                f"{array.dtype}; use .astype(np.float32)"
            )


def fmod(arg: GPUArray, mod: GPUArray, stream=None) -> GPUArray:
    """Return the remainder of arg / mod, with the sign of arg; float32."""
    _need_float32("fmod", arg, mod)
    return run("fmod", np.fmod, (arg, mod), GPUArray(arg.shape, arg.dtype), stream)


def frexp(arg: GPUArray, stream=None) -> tuple[GPUArray, GPUArray]:
    """Return (significands, exponents), both float32, with arg == significand * 2**exponent."""
    _need_float32("frexp", arg)
    significands, exponents = GPUArray(arg.shape, arg.dtype), GPUArray(arg.shape, arg.dtype)
    run("frexp", lambda x: np.frexp(x)[0], (arg,), significands, stream)
    return significands, run("frexp", lambda x: np.frexp(x)[1], (arg,), exponents, stream)


def ldexp(significand: GPUArray, exponent: GPUArray, stream=None) -> GPUArray:
    """Return significand * 2**exponent; float32. The exponents lose their fractions."""
    _need_float32("ldexp", significand, exponent)
    result = GPUArray(significand.shape, significand.dtype)
    return run(
        "ldexp",
        lambda x, e: np.ldexp(x, e.astype(np.int32)),
        (significand, exponent),
        result,
        stream,
    )


def modf(arg: GPUArray, stream=None) -> tuple[GPUArray, GPUArray]:
    """Return (fractional parts, integer parts), both float32."""
    _need_float32("modf", arg)
    fractions, integers = GPUArray(arg.shape, arg.dtype), GPUArray(arg.shape, arg.dtype)
    run("modf", lambda x: np.modf(x)[0], (arg,), fractions, stream)
    return fractions, run("modf", lambda x: np.modf(x)[1], (arg,), integers, stream)
