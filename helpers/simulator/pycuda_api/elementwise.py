"""pycuda.elementwise, for machines without a GPU: kernels made from one line of C, run by the
simulator.

The kernel is CUDA source like any other, so that an index out of bounds in the operation is found
and named.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from helpers.quantities import quantity

from ._arguments import LAUNCH
from ._array_elements import real_dtype
from ._array_layout import splay
from ._dtypes import (
    Argument,
    ScalarArg,
    VectorArg,
    complex_include,
    dtype_to_ctype,
    parse_c_arg,
)
from ._errors import INVALID_ARGUMENT, logic_error
from ._launch import Function
from .compiler import SourceModule
from .tools import context_dependent_memoize

_LOOP = "for (size_t i = cta_start + tid; i < n; i += total_threads)"
_RANGE_LOOP = (
    "for (long i = start + long(cta_start + tid) * step; step < 0 ? i > stop : i < stop; i += "
    "long(total_threads) * step)"
)
_KERNEL = """{includes}{preamble}

extern "C" __global__ void {name}({arguments})
{{
    const size_t tid = threadIdx.x, total_threads = size_t(gridDim.x) * blockDim.x;
    const size_t cta_start = size_t(blockDim.x) * blockIdx.x;
    {loop_prep};
    {loop}
    {{
        {operation};
    }}
    {after_loop};
}}
"""


def _maker(loop: str, name: str, doc: str) -> Callable[..., SourceModule]:
    """Return a function that makes the module of an element by element kernel with that loop."""

    def make(
        arguments: Sequence[Argument],
        operation: str,
        name: str = "kernel",
        keep: bool = False,
        options: list[str] | None = None,
        preamble: str = "",
        loop_prep: str = "",
        after_loop: str = "",
    ) -> SourceModule:
        declarations = ", ".join(argument.declarator() for argument in arguments)
        parts = {
            "preamble": preamble,
            "loop_prep": loop_prep,
            "operation": operation,
            "after_loop": after_loop,
        }
        includes = complex_include(declarations, *parts.values())
        source = _KERNEL.format(
            includes=includes, name=name, arguments=declarations, loop=loop, **parts
        )
        return SourceModule(source, options=options, keep=keep, no_extern_c=True)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = doc
    return make


get_elwise_module = _maker(
    _LOOP,
    "get_elwise_module",
    "The module of a kernel that does `operation` for i = 0 ... n - 1; the last of `arguments` "
    "must be n.",
)
get_elwise_range_module = _maker(
    _RANGE_LOOP,
    "get_elwise_range_module",
    "The module of a kernel that does `operation` for i = start, start + step ...; the last "
    "arguments are start, stop, step.",
)


def get_elwise_kernel_and_types(
    arguments: str | Sequence[Argument],
    operation: str,
    name: str = "kernel",
    keep: bool = False,
    options: list[str] | None = None,
    use_range: bool = False,
    **kwargs,
) -> tuple[SourceModule, Function, list[Argument]]:
    """Return (module, prepared kernel, its arguments). The last arguments are n, or start, stop
    and step.
    """
    arguments = (
        [parse_c_arg(part) for part in arguments.split(",")]
        if isinstance(arguments, str)
        else list(arguments)
    )
    if use_range:
        arguments += [ScalarArg("intp", extra) for extra in ("start", "stop", "step")]
    else:
        arguments.append(ScalarArg("uintp", "n"))
    build = get_elwise_range_module if use_range else get_elwise_module
    module = build(arguments, operation, name, keep, options, **kwargs)
    function = module.get_function(name)
    function.prepare([argument.struct_char for argument in arguments])
    return module, function, arguments


def get_elwise_kernel(
    arguments: str | Sequence[Argument],
    operation: str,
    name: str = "kernel",
    keep: bool = False,
    options: list[str] | None = None,
    **kwargs,
) -> Function:
    """Return the prepared kernel, for prepared_call(grid, block, *arguments, n)."""
    return get_elwise_kernel_and_types(arguments, operation, name, keep, options, **kwargs)[1]


def get_linear_combination_kernel(
    summand_descriptors: Sequence[tuple[bool, Any, Any]], dtype_z
) -> tuple[Function, list]:
    """Return the prepared kernel of z = a0 x0 + a1 x1 + ..., and an empty list of textures.

    summand_descriptors: for each product, whether its factor lies on the GPU, the factor's dtype
    and the array's. The arguments of the kernel are each factor and array, z and its size.
    Raises NotImplementedError for a factor on the GPU: PyCUDA reads it through a texture reference,
    which CUDA 12 no longer has.
    """
    arguments: list[Argument] = []
    for k, (is_on_gpu, factor, array) in enumerate(summand_descriptors):
        if is_on_gpu:
            raise NotImplementedError(
                f"the factor of summand {k} is on the GPU, where PyCUDA reads it through a texture "
                "reference, which CUDA 12 no longer has: give (False, dtype, dtype), and the "
                "factor as a number"
            )
        arguments += [ScalarArg(factor, f"a{k}"), VectorArg(array, f"x{k}")]
    arguments += [VectorArg(dtype_z, "z"), ScalarArg(np.uintp, "n")]
    terms = " + ".join(f"a{k}*x{k}[i]" for k in range(len(summand_descriptors)))
    function = get_elwise_module(arguments, f"z[i] = {terms}", "linear_combination").get_function(
        "linear_combination"
    )
    function.prepare([argument.struct_char for argument in arguments])
    return function, []


# ---- the kernels of GPUArray's operations in PyCUDA ----


def _operation(parameters: str, arguments: str, operation: str) -> Callable[..., Function]:
    """Return a function that makes the prepared kernel of one operation.

    parameters: those of the function, of which a name with "dtype" stands for a dtype, and any
    other for words of C; arguments and operation: of the kernel, with the parameters in braces.
    """
    signature = inspect.Signature(
        [
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
            for name in parameters.split()
        ]
    )

    @context_dependent_memoize
    def get(*given, **named) -> Function:
        words = {
            name: dtype_to_ctype(value) if "dtype" in name else value
            for name, value in signature.bind(*given, **named).arguments.items()
        }
        return get_elwise_kernel(arguments.format(**words), operation.format(**words))

    get.__doc__ = f"Return the prepared kernel of `{operation}`; its arguments: {arguments}, n."
    get.__signature__ = signature  # type: ignore[attr-defined]
    return get


_BOTH = "{dtype_x} *x, {dtype_y} *y, {dtype_z} *z"
_CHOICE = "{crit_dtype} *crit, {dtype} *then_, {dtype} *else_, {dtype} *result"

get_copy_kernel = _operation(
    "dtype_dest dtype_src", "{dtype_dest} *dest, {dtype_src} *src", "dest[i] = src[i]"
)
get_fill_kernel = _operation("dtype", "{dtype} a, {dtype} *z", "z[i] = a")
get_reverse_kernel = _operation("dtype", "{dtype} *y, {dtype} *z", "z[i] = y[n - 1 - i]")
get_arange_kernel = _operation(
    "dtype", "{dtype} *z, {dtype} start, {dtype} step", "z[i] = start + i * step"
)
get_axpbz_kernel = _operation(
    "dtype_x dtype_z", "{dtype_z} a, {dtype_x} *x, {dtype_z} b, {dtype_z} *z", "z[i] = a * x[i] + b"
)
get_rdivide_elwise_kernel = _operation(
    "dtype_x dtype_z", "{dtype_x} *x, {dtype_z} y, {dtype_z} *z", "z[i] = y / x[i]"
)
get_scalar_op_kernel = _operation(
    "dtype_x dtype_a dtype_y operator", "{dtype_x} *x, {dtype_a} a, {dtype_y} *y",
    "y[i] = x[i] {operator} a",
)  # fmt: skip
get_binary_func_kernel = _operation(
    "func dtype_x dtype_y dtype_z", _BOTH, "z[i] = {func}(x[i], y[i])"
)
get_binary_func_scalar_kernel = _operation(
    "func dtype_x dtype_y dtype_z", _BOTH.replace("*y", "y"), "z[i] = {func}(x[i], y)"
)
get_real_kernel = _operation("dtype real_dtype", "{dtype} *y, {real_dtype} *z", "z[i] = real(y[i])")
get_imag_kernel = _operation("dtype real_dtype", "{dtype} *y, {real_dtype} *z", "z[i] = imag(y[i])")
get_conj_kernel = _operation("dtype conj_dtype", "{dtype} *y, {conj_dtype} *z", "z[i] = conj(y[i])")
get_if_positive_kernel = _operation(
    "crit_dtype dtype", _CHOICE, "result[i] = crit[i] > 0 ? then_[i] : else_[i]"
)
get_where_kernel = _operation(
    "crit_dtype dtype", _CHOICE, "result[i] = crit[i] != 0 ? then_[i] : else_[i]"
)
get_logical_not_kernel = _operation(
    "dtype_x dtype_out", "{dtype_x} *x, {dtype_out} *out", "out[i] = x[i] == 0"
)
get_fmod_kernel = _operation(
    "", "float *arg, float *mod, float *z", "z[i] = fmod(arg[i], mod[i])"
)
get_modf_kernel = _operation(
    "", "float *x, float *intpart, float *fracpart", "fracpart[i] = modf(x[i], &intpart[i])"
)
get_frexp_kernel = _operation(
    "", "float *x, float *significand, float *exponent",
    "int power = 0; significand[i] = frexp(x[i], &power); exponent[i] = power",
)  # fmt: skip
get_ldexp_kernel = _operation(
    "", "float *sig, float *expt, float *z", "z[i] = ldexp(sig[i], int(expt[i]))"
)
_unary = _operation(
    "func_name in_dtype out_dtype", "{in_dtype} *y, {out_dtype} *z", "z[i] = {func_name}(y[i])"
)


def get_unary_func_kernel(func_name: str, in_dtype, out_dtype=None) -> Function:
    """Return the prepared kernel of z[i] = func_name(y[i]); its arguments: y, z, n."""
    return _unary(func_name, in_dtype, in_dtype if out_dtype is None else out_dtype)


def get_binary_minmax_kernel(func: str, dtype_x, dtype_y, dtype_z, use_scalar: bool) -> Function:
    """Return the prepared kernel of "min" or "max"; its arguments: x, y, z, n. As in PyCUDA, it
    does not compile without a floating-point number.
    """
    kinds = {np.dtype(dtype).kind for dtype in (dtype_x, dtype_y, dtype_z)}
    suffix = "" if np.float64 in (dtype_x, dtype_y) else "f"
    make = get_binary_func_scalar_kernel if use_scalar else get_binary_func_kernel
    return make(f"{'f' * ('f' in kinds)}{func}{suffix}", dtype_x, dtype_y, dtype_z)


def _read_as(dtype_z: np.dtype, dtype: np.dtype, name: str, is_scalar: bool) -> str:
    """Return an element of an array in C, converted to the result's type, or to the real type of a
    complex result.
    """
    keeps_real = dtype_z.kind == "c" and dtype.kind != "c"
    wanted = dtype_to_ctype(real_dtype(dtype_z) if keeps_real else dtype_z)
    return f"({wanted}) {name}[{0 if is_scalar else 'i'}]"


@context_dependent_memoize
def get_binary_op_kernel(
    dtype_x, dtype_y, dtype_z, operator: str, x_is_scalar: bool = False, y_is_scalar: bool = False
) -> Function:
    """Return the prepared kernel of z = x operator y; its arguments: x, y, z, n."""
    x = _read_as(np.dtype(dtype_z), np.dtype(dtype_x), "x", x_is_scalar)
    y = _read_as(np.dtype(dtype_z), np.dtype(dtype_y), "y", y_is_scalar)
    make = _operation("dtype_x dtype_y dtype_z", _BOTH, f"z[i] = {x} {operator} {y}")
    return make(dtype_x, dtype_y, dtype_z)


@context_dependent_memoize
def get_axpbyz_kernel(
    dtype_x, dtype_y, dtype_z, x_is_scalar: bool = False, y_is_scalar: bool = False
) -> Function:
    """Return the prepared kernel of z = a x + b y; its arguments: a, x, b, y, z, n."""
    x = _read_as(np.dtype(dtype_z), np.dtype(dtype_x), "x", x_is_scalar)
    y = _read_as(np.dtype(dtype_z), np.dtype(dtype_y), "y", y_is_scalar)
    arguments = "{dtype_x} a, {dtype_x} *x, {dtype_y} b, {dtype_y} *y, {dtype_z} *z"
    make = _operation("dtype_x dtype_y dtype_z", arguments, f"z[i] = a * ({x}) + b * ({y})")
    return make(dtype_x, dtype_y, dtype_z)


class ElementwiseKernel:
    """A function of arrays, done element by element: ElementwiseKernel("float a, float *x, float
    *y", "y[i] = a * x[i]").

    Called with a value for each argument: GPUArrays for pointers, numbers else. range=slice(...) or
    slice=slice(...) limit i; stream: where it runs. Arrays must be without gaps; their elements are
    taken as they lie in memory, and n is the first array's size.
    """

    def __init__(
        self,
        arguments: str | Sequence[Argument],
        operation: str,
        name: str = "kernel",
        keep: bool = False,
        options: list[str] | None = None,
        **kwargs,
    ):
        self.gen_kwargs = {
            **kwargs, "arguments": arguments, "operation": operation, "name": name, "keep": keep,
            "options": options
        }
        self._name = name
        self._kernels = lru_cache(self._generate)

    def _generate(self, use_range: bool):
        module, function, arguments = get_elwise_kernel_and_types(
            use_range=use_range, **self.gen_kwargs
        )
        if not any(isinstance(argument, VectorArg) for argument in arguments):
            raise AssertionError(
                "an ElementwiseKernel needs at least one array among its arguments"
            )
        return module, function, arguments

    def generate_stride_kernel_and_types(self, use_range: bool):
        """Return (module, function, arguments); the first use compiles them."""
        return self._kernels(bool(use_range))

    def get_texref(self, name: str, use_range: bool = False) -> None:
        self._kernels(use_range)[0].get_texref(name)

    def __call__(
        self, *args, range: slice | None = None, slice: slice | None = None, stream=None
    ) -> None:
        if range is not None and slice is not None:
            raise TypeError("give range= or slice=, not both")
        use_range = range is not None or slice is not None
        _, function, arguments = self._kernels(use_range)
        values, vectors = bind(self._name, arguments[: -3 if use_range else -1], args)
        first = vectors[0]
        if slice is not None:
            range = type(slice)(*slice.indices(first.size))
        if range is None:
            function.prepared_async_call(first._grid, first._block, stream, *values, first.mem_size)
            return
        step = 1 if range.step is None else range.step
        grid, block = splay(max(0, abs(range.stop - range.start) // abs(step)))
        function.prepared_async_call(grid, block, stream, *values, range.start, range.stop, step)


def bind(name: str, arguments: Sequence[Argument], given: Sequence[Any]) -> tuple[list, list]:
    """Return (values for the launch, the arrays among them). Raises LogicError, RuntimeError or
    TypeError for values that do not fit.
    """
    if len(given) != len(arguments):
        wanted = ", ".join(argument.declarator() for argument in arguments)
        raise TypeError(
            f"{name}({wanted}) takes {quantity(len(arguments), 'argument')}, got {len(given)}"
        )
    values, vectors = [], []
    for k, (argument, value) in enumerate(zip(arguments, given, strict=True)):
        if not isinstance(argument, VectorArg):
            values.append(value)
            continue
        where = f"parameter #{k} (0-based) of {name}, `{argument.declarator()}`,"
        if not hasattr(value, "gpudata"):
            raise TypeError(
                f"{where} must be a GPUArray, got {type(value).__name__}: gpuarray.to_gpu(a) "
                "makes one"
            )
        if not value.flags.forc:
            raise RuntimeError(
                f"{name} takes no non-contiguous arrays, which have gaps: {where} has strides "
                f"{value.strides}"
            )
        if value.dtype.itemsize != argument.dtype.itemsize:
            detail = (
                f"{where} points to {argument.dtype}, got a GPUArray of {value.dtype}: "
                "convert it with .astype(...)"
            )
            raise logic_error(LAUNCH, INVALID_ARGUMENT, detail)
        vectors.append(value)
        values.append(value.gpudata)
    return values, vectors
