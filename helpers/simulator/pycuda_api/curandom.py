"""pycuda.curandom, for machines without a GPU: rand(). The generators of the cuRAND library need a
GPU.

PyCUDA itself draws rand()'s numbers from NumPy's seed; here NumPy draws them all, so they are
others than on a GPU.
"""

from __future__ import annotations

import numpy as np

from ._array import GPUArray
from ._array_elements import run


def rand(shape, dtype=np.float32, stream=None) -> GPUArray:
    """Returns a new array of random numbers: from [0, 1) for float32 and float64, all 32 bits for
    int32 and uint32.
    """
    dtype = np.dtype(dtype)
    if dtype not in (np.float32, np.float64, np.int32, np.uint32):
        raise NotImplementedError(
            f"rand makes float32, float64, int32 and uint32, was asked for {dtype}"
        )
    result = GPUArray(shape, dtype)
    generator = np.random.default_rng(np.random.randint(2**31 - 1))
    return run("rand", lambda: _draw(generator, result.size, dtype), (), result, stream)


def _draw(generator: np.random.Generator, size: int, dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "f":
        return generator.random(size, dtype)
    bounds = np.iinfo(dtype)
    return generator.integers(bounds.min, bounds.max, size, dtype, endpoint=True)


def get_curand_version() -> None:
    """Returns None, because the cuRAND library is not there."""
