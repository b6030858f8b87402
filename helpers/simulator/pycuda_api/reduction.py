"""pycuda.reduction, for machines without a GPU: sums, maxima and the like from a line of C, run by
the simulator.

The launches are PyCUDA's: 512 threads a block, each of which takes 4 elements or more; while more
than one block's result is left, a second kernel reduces those. Within a block every step ends in a
barrier.
"""

from __future__ import annotations

import re

import numpy as np

from helpers.simulator.machine import faults, memory

from . import _findings
from ._dtypes import complex_include, dtype_to_ctype, parse_c_arg
from ._launch import Function
from ._memory import mem_alloc
from .compiler import SourceModule
from .elementwise import bind
from .gpuarray import GPUArray
from .tools import context_dependent_memoize

BLOCK_SIZE = 512
_SEQUENCE = 4
_MOST_BLOCKS = 1024
_KERNEL = """{includes}{preamble}

typedef {out_type} out_type;
#define BLOCK_SIZE {block_size}
#define READ_AND_MAP(i) ({map_expr})
#define REDUCE(a, b) ({reduce_expr})

extern "C" __global__ void {name}(out_type *out, {arguments}, unsigned int seq_count, size_t n)
{{
    extern __shared__ out_type halo_partial[];
    out_type acc = {neutral};
    size_t i = size_t(blockIdx.x) * BLOCK_SIZE * seq_count + threadIdx.x;
    for (unsigned int s = 0; s < seq_count && i < n; ++s, i += BLOCK_SIZE)
        acc = REDUCE(acc, READ_AND_MAP(i));

    halo_partial[threadIdx.x] = acc;
    for (unsigned int half = BLOCK_SIZE / 2; half > 0; half /= 2) {{
        __syncthreads();
        if (threadIdx.x < half)
            halo_partial[threadIdx.x] = REDUCE(halo_partial[threadIdx.x],
                                               halo_partial[threadIdx.x + half]);
    }}
    if (threadIdx.x == 0)
        out[blockIdx.x] = halo_partial[0];
}}
"""
# Combines the first three values in both ways. One thread runs it.
_GROUPED = """
extern "C" __global__ void halo_grouped(
    out_type *out, {arguments}, unsigned int seq_count, size_t n)
{{
    for (size_t halo_k = 0; halo_k < 3; halo_k++) {{
        const size_t i = halo_k < n ? halo_k : n - 1;
        out[halo_k] = READ_AND_MAP(i);
    }}
    out_type halo_a = out[0], halo_b = out[1], halo_c = out[2];
    out_type halo_ab = REDUCE(halo_a, halo_b), halo_bc = REDUCE(halo_b, halo_c);
    out[3] = REDUCE(halo_ab, halo_c);
    out[4] = REDUCE(halo_a, halo_bc);
}}
"""
_HAS_EFFECTS = re.compile(
    r"(?<![=!<>])=(?!=)|\+\+|--|(?<!&)&(?!&)|\b(?:atomic|printf|curand)\w*"
).search
_ROUNDING = 1e-3  # of the largest number; a larger difference is not rounding


class ReductionKernel:
    """A reduction of arrays to one value: ReductionKernel(np.float32, "0", "a+b", "x[i]*y[i]",
    "float *x, float *y").

    dtype_out: of the result; neutral: in C, what changes nothing; reduce_expr: of a and b;
    map_expr: of i, `in[i]` unless given; arguments: in C. Called with a value for each argument;
    out: a GPUArray for the result; stream; allocator. The result is a GPUArray of shape (). Arrays
    must be without gaps.
    """

    def __init__(
        self,
        dtype_out,
        neutral: str,
        reduce_expr: str,
        map_expr: str | None = None,
        arguments: str | None = None,
        name: str = "reduce_kernel",
        keep: bool = False,
        options: list[str] | None = None,
        preamble: str = "",
    ):
        self.dtype_out = np.dtype(dtype_out)
        self.block_size = BLOCK_SIZE
        self._name = name
        out_type = dtype_to_ctype(self.dtype_out)
        declared = [] if arguments is None else arguments.split(",")
        common = {
            "out_type": out_type,
            "neutral": neutral,
            "reduce_expr": reduce_expr,
            "preamble": preamble,
        }
        if not any(parse_c_arg(declaration).struct_char == "P" for declaration in declared):
            raise AssertionError("a ReductionKernel needs at least one array among its arguments")
        first = map_expr or "in[i]"
        self._reduce_expr = reduce_expr
        self._grouped: Function | None = None  # until the first call has asked it
        self._stage1 = self._compile(f"{name}_stage1", declared, first, keep, options, **common)
        partial = [f"const {out_type} *pycuda_reduction_inp", *declared]
        self._stage2 = self._compile(
            f"{name}_stage2", partial, "pycuda_reduction_inp[i]", keep, options, **common
        )

    def _compile(
        self, name: str, declared: list[str], map_expr: str, keep: bool, options, **common
    ):
        arguments = [parse_c_arg(declaration) for declaration in declared]
        text = ", ".join(declared)
        source = _KERNEL.format(
            includes=complex_include(text, map_expr, *map(str, common.values())),
            name=name,
            block_size=BLOCK_SIZE,
            arguments=text,
            map_expr=map_expr,
            **common,
        )
        codes = ["P", *(argument.struct_char for argument in arguments), "I", "N"]
        asks = name.endswith("_stage1") and self._is_asked(map_expr, common["preamble"])
        source += _GROUPED.format(arguments=text) if asks else ""
        module = SourceModule(source, options=options, keep=keep, no_extern_c=True)
        if asks:
            self._grouped = module.get_function("halo_grouped").prepare(codes)
        return module.get_function(name).prepare(codes), arguments

    def _is_asked(self, map_expr: str, preamble: str) -> bool:
        """Return whether values may be read and combined once more, to see what their grouping
        changes.
        """
        return self.dtype_out.kind in "biufc" and not (
            _HAS_EFFECTS(map_expr) or re.search(r"\b(?:atomic|printf|curand)", preamble)
        )

    def _remark_on_grouping(self, values: list, size: int) -> None:
        """Remark on a reduce_expr whose result depends on which values are combined first: the
        threads of a block combine them in another order than a loop.
        """
        grouped, self._grouped = self._grouped, None
        if grouped is None or not size:
            return
        try:
            out = mem_alloc(5 * self.dtype_out.itemsize)
        except MemoryError:
            return
        try:
            grouped.run_unseen(out, *values, _SEQUENCE, size)
            got = np.empty(5, self.dtype_out)
            memory.read(got, int(out), got.nbytes)
        except faults.LaunchFault:
            return  # the launch of the program has told it
        finally:
            out.free()
        with np.errstate(all="ignore"):
            a, b, c, left, right = got.tolist()
            differs = left != right
            if self.dtype_out.kind in "fc":
                differs = abs(left - right) > _ROUNDING * np.abs(got).max()
        if differs:
            _findings.remark(
                f"{self._name}: reduce_expr {self._reduce_expr!r} is not associative. Of the "
                f"values {a}, {b}, {c}, it makes {left} if the first two are combined first, and "
                f"{right} if the last two are. The threads of a block combine partial results, so "
                "the result is not that of a loop. What is done to each value belongs into map_expr"
            )

    def __call__(
        self, *args, stream=None, out: GPUArray | None = None, allocator=None, kernel_wrapper=None
    ) -> GPUArray:
        stage, given = self._stage1, args
        while True:
            function, arguments = stage
            values, vectors = bind(self._name, arguments, given)
            size = vectors[0].size
            if size <= BLOCK_SIZE * _SEQUENCE * _MOST_BLOCKS:
                blocks, sequence = -(-size // (BLOCK_SIZE * _SEQUENCE)), _SEQUENCE
            else:
                blocks, sequence = _MOST_BLOCKS, -(-size // (_MOST_BLOCKS * BLOCK_SIZE))
            result = self._result(blocks, out, allocator or vectors[0].allocator)
            call = (
                function.prepared_async_call
                if kernel_wrapper is None
                else kernel_wrapper(function.prepared_async_call)
            )
            shared = BLOCK_SIZE * self.dtype_out.itemsize
            call(
                (blocks, 1),
                (BLOCK_SIZE, 1, 1),
                stream,
                result.gpudata,
                *values,
                sequence,
                size,
                shared_size=shared,
            )
            self._remark_on_grouping(values, size)
            if blocks == 1:
                return result
            stage, given = self._stage2, (result, *args)

    def _result(self, blocks: int, out: GPUArray | None, allocator) -> GPUArray:
        if blocks != 1 or out is None:
            return GPUArray(() if blocks <= 1 else (blocks,), self.dtype_out, allocator)
        if out.dtype != self.dtype_out:
            raise ValueError(
                f"out needs the same dtype as the reduction, {self.dtype_out}, got {out.dtype}"
            )
        if out.size == 0:
            raise ValueError("the array given as out has no elements")
        return out


@context_dependent_memoize
def get_sum_kernel(dtype_out, dtype_in) -> ReductionKernel:
    """Return a kernel for the sum of an array `in`."""
    return _over_one(dtype_out, dtype_in, "0", "a+b")


@context_dependent_memoize
def get_dot_kernel(dtype_out, dtype_a=None, dtype_b=None) -> ReductionKernel:
    """Return a kernel for the sum of a[i] * b[i]."""
    a, b = (dtype_to_ctype(dtype_out if dtype is None else dtype) for dtype in (dtype_a, dtype_b))
    return ReductionKernel(dtype_out, "0", "a+b", "a[i]*b[i]", f"const {a} *a, const {b} *b")


def _over_one(dtype_out, dtype_in, neutral: str, reduce_expr: str) -> ReductionKernel:
    dtype_out = dtype_in if dtype_out is None else dtype_out
    arguments = f"const {dtype_to_ctype(dtype_in)} *in"
    return ReductionKernel(dtype_out, neutral, reduce_expr, arguments=arguments)


@context_dependent_memoize
def get_any_kernel(dtype_out, dtype_in) -> ReductionKernel:
    """Return a kernel for whether any element of an array `in` is not 0."""
    return _over_one(dtype_out, dtype_in, "0", "(a != 0) || (b != 0)")


@context_dependent_memoize
def get_all_kernel(dtype_out, dtype_in) -> ReductionKernel:
    """Return a kernel for whether no element of an array `in` is 0."""
    return _over_one(dtype_out, dtype_in, "1", "(a != 0) && (b != 0)")


@context_dependent_memoize
def get_subset_sum_kernel(dtype_out, dtype_subset, dtype_in) -> ReductionKernel:
    """Return a kernel for the sum of in[lookup_tbl[i]]; its arrays are lookup_tbl and in."""
    dtype_out = dtype_in if dtype_out is None else dtype_out
    table, values = dtype_to_ctype(dtype_subset), dtype_to_ctype(dtype_in)
    arguments = f"const {table} *lookup_tbl, const {values} *in"
    return ReductionKernel(dtype_out, "0", "a+b", "in[lookup_tbl[i]]", arguments)


@context_dependent_memoize
def get_subset_dot_kernel(dtype_out, dtype_subset, dtype_a=None, dtype_b=None) -> ReductionKernel:
    """Return a kernel for the sum of a[j] * b[j] with j = lookup_tbl[i]; its arrays are
    lookup_tbl, a and b.
    """
    dtypes = [dtype for dtype in (dtype_a, dtype_out, dtype_b) if dtype is not None]
    a, b = (dtypes[0] if dtype is None else dtype for dtype in (dtype_a, dtype_b))
    arguments = (
        f"const {dtype_to_ctype(dtype_subset)} *lookup_tbl, const {dtype_to_ctype(a)} *a, "
        f"const {dtype_to_ctype(b)} *b"
    )
    product = "a[lookup_tbl[i]]*b[lookup_tbl[i]]"
    out = a if dtype_out is None else dtype_out
    return ReductionKernel(out, "0", "a+b", product, arguments)


@context_dependent_memoize
def get_minmax_kernel(what: str, dtype) -> ReductionKernel:
    """Return a kernel for the smallest or largest element of an array `in`. what: "min" or "max".
    Raises ValueError for another word, and TypeError for a dtype without an order.
    """
    neutral, smaller = _extremum(what, np.dtype(dtype))
    arguments = f"const {dtype_to_ctype(dtype)} *in"
    return ReductionKernel(dtype, neutral, smaller, arguments=arguments)


@context_dependent_memoize
def get_subset_minmax_kernel(what: str, dtype, dtype_subset) -> ReductionKernel:
    """Return a kernel for the smallest or largest in[lookup_tbl[i]]; its arrays are lookup_tbl and
    in.
    """
    neutral, smaller = _extremum(what, np.dtype(dtype))
    table, values = dtype_to_ctype(dtype_subset), dtype_to_ctype(dtype)
    arguments = f"const {table} *lookup_tbl, const {values} *in"
    return ReductionKernel(dtype, neutral, smaller, "in[lookup_tbl[i]]", arguments)


def _extremum(what: str, dtype: np.dtype) -> tuple[str, str]:
    """Return the neutral element and the expression of a minimum or maximum, in C."""
    if what not in ("min", "max"):
        raise ValueError(f'what must be "min" or "max", got {what!r}')
    if dtype in (np.float32, np.float64):
        suffix = "f" if dtype == np.float32 else ""
        sign = "" if what == "min" else "-"
        return f"{sign}(1.0 / 0.0)", f"f{what}{suffix}(a, b)"
    if dtype.kind not in "iu":
        raise TypeError(
            f"{what} of {dtype} is not supported: convert to float32, float64 or integers"
        )
    bounds = np.iinfo(dtype)
    limit = int(bounds.max if what == "min" else bounds.min)
    # C has no literal for the smallest number of a type.
    neutral = f"(-{-limit - 1} - 1)" if limit < 0 else f"{limit}{'u' * (dtype.kind == 'u')}"
    return neutral, "a < b ? a : b" if what == "min" else "a > b ? a : b"
