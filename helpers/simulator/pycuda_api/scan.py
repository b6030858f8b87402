"""pycuda.scan, for machines without a GPU: running sums and the like from a line of C, run by the
simulator.

Each thread scans a stretch of neighbouring elements: the stretches are first reduced, those results
scanned by one thread, and then every stretch is scanned from there. Any associative expression
gives what a GPU gives; sums of floats round otherwise.
"""

from __future__ import annotations

import numpy as np

from ._dtypes import complex_include, dtype_to_ctype
from ._errors import LogicError
from ._memory import mem_alloc
from .compiler import SourceModule
from .gpuarray import GPUArray, empty_like

_THREADS = 128
_MOST_STRETCHES = 4096
_LEAST_STRETCH = 16
_KERNELS = """{includes}{preamble}

typedef {scan_type} scan_type;
#define SCAN_EXPR(a, b) ({scan_expr})

extern "C" __global__ void {name}_reduce(const scan_type *in, scan_type *stretches, size_t n,
                                         size_t length)
{{
    const size_t stretch = size_t(blockIdx.x) * blockDim.x + threadIdx.x, begin = stretch * length;
    if (begin >= n)
        return;
    scan_type sum = in[begin];
    for (size_t i = begin + 1; i < begin + length && i < n; ++i)
        sum = SCAN_EXPR(sum, in[i]);
    stretches[stretch] = sum;
}}

extern "C" __global__ void {name}_stretches(scan_type *stretches, size_t count)
{{
    for (size_t k = 1; k < count; ++k)
        stretches[k] = SCAN_EXPR(stretches[k - 1], stretches[k]);
}}

extern "C" __global__ void {name}_update(const scan_type *in, scan_type *out,
                                         const scan_type *stretches, size_t n, size_t length)
{{
    const size_t stretch = size_t(blockIdx.x) * blockDim.x + threadIdx.x, begin = stretch * length;
    if (begin >= n)
        return;
    scan_type before = scan_type({neutral});
    for (size_t i = begin; i < begin + length && i < n; ++i) {{
        const scan_type value = in[i];
        const bool is_first = i == 0;
        const scan_type left = i == begin && stretch > 0 ? stretches[stretch - 1] : before;
        before = is_first ? value : SCAN_EXPR(left, value);
        out[i] = {stored};
    }}
}}
"""


class _ScanKernel:
    _stored: str

    def __init__(
        self,
        dtype,
        scan_expr: str,
        neutral: str | None = None,
        name_prefix: str = "scan",
        options: list[str] | None = None,
        preamble: str = "",
        devices: object = None,
    ):
        if neutral is None and isinstance(self, ExclusiveScanKernel):
            raise ValueError("an exclusive scan needs a neutral element")
        self.dtype = np.dtype(dtype)
        self.neutral = neutral
        scan_type = dtype_to_ctype(self.dtype)
        stored = self._stored.format(neutral=neutral)
        source = _KERNELS.format(
            includes=complex_include(scan_type, preamble, scan_expr),
            preamble=preamble,
            scan_type=scan_type,
            scan_expr=scan_expr,
            name=name_prefix,
            neutral="" if neutral is None else neutral,
            stored=stored,
        )
        module = SourceModule(source, options=options, no_extern_c=True)
        self._reduce = module.get_function(f"{name_prefix}_reduce").prepare("PPNN")
        self._scan_stretches = module.get_function(f"{name_prefix}_stretches").prepare("PN")
        self._update = module.get_function(f"{name_prefix}_update").prepare("PPPNN")

    def __call__(
        self,
        input_ary: GPUArray,
        output_ary: GPUArray | str | None = None,
        allocator=None,
        stream=None,
    ) -> GPUArray:
        """Scan a one-dimensional array in place, into `output_ary`, or into a new array for
        output_ary="new".
        """
        if isinstance(output_ary, str):
            if output_ary != "new":
                raise ValueError(
                    f"output_ary is {output_ary!r}: give a GPUArray, None to scan in place, or "
                    '"new"'
                )
            output = empty_like(input_ary)
        else:
            output = input_ary if output_ary is None else output_ary
        if input_ary.shape != output.shape:
            raise ValueError(
                f"a scan needs an output of the same shape, {input_ary.shape}, got {output.shape}"
            )
        if not input_ary.flags.forc:
            raise RuntimeError("a scan needs contiguous arrays")
        (n,) = input_ary.shape
        for array in (input_ary, output):
            if array.dtype.itemsize != self.dtype.itemsize:
                raise LogicError(f"this scan is of {self.dtype}, got a GPUArray of {array.dtype}")
        if not n:
            return output
        length = max(_LEAST_STRETCH, -(-n // _MOST_STRETCHES))
        count = -(-n // length)
        stretches = (allocator or input_ary.allocator or mem_alloc)(count * self.dtype.itemsize)
        grid, block = (-(-count // _THREADS), 1), (_THREADS, 1, 1)
        self._reduce.prepared_async_call(
            grid, block, stream, input_ary.gpudata, stretches, n, length
        )
        self._scan_stretches.prepared_async_call((1, 1), (1, 1, 1), stream, stretches, count)
        self._update.prepared_async_call(
            grid, block, stream, input_ary.gpudata, output.gpudata, stretches, n, length
        )
        return output


class InclusiveScanKernel(_ScanKernel):
    """out[i] = in[0] (+) ... (+) in[i], where scan_expr says in C what (+) does with a and b."""

    _stored = "before"


class ExclusiveScanKernel(_ScanKernel):
    """out[i] = in[0] (+) ... (+) in[i - 1], the neutral element for i = 0."""

    _stored = "is_first ? scan_type({neutral}) : left"
