"""pycuda.characterize, for machines without a GPU: what the device and its compiler can do."""

from __future__ import annotations

import sys

import numpy as np

from ._device import need_context
from .tools import context_dependent_memoize


def platform_bits() -> int:
    return 64 if sys.maxsize > 2**32 else 32


def has_stack() -> bool:
    need_context("cuCtxGetDevice")
    return True


def has_double_support() -> bool:
    need_context("cuCtxGetDevice")
    return True


@context_dependent_memoize
def sizeof(type_name: str, preamble: str = "") -> int:
    """Return the bytes of a C type; `preamble` may define the type."""
    from .compiler import SourceModule
    from .gpuarray import GPUArray

    source = (
        f'{preamble}\nextern "C" __global__ void measure_type(size_t *bytes) {{ bytes[0] = '
        f"sizeof({type_name}); }}\n"
    )
    nbytes = GPUArray((), np.uintp)
    SourceModule(source, no_extern_c=True).get_function("measure_type")(
        nbytes, block=(1, 1, 1), grid=(1, 1)
    )
    return int(nbytes.get())
