"""pycuda.elementwise, for machines without a GPU: kernels made from one line of C, run by the
simulator.

The kernel is CUDA source like any other, so that an index out of bounds in the operation is found
and named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from helpers.quantities import quantity

from ._arguments import LAUNCH
from ._array_layout import splay
from ._dtypes import Argument, ScalarArg, VectorArg, complex_include, parse_c_arg
from ._errors import INVALID_ARGUMENT, logic_error
from ._launch import Function
from .compiler import SourceModule

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
