"""pycuda.curandom, for machines without a GPU: rand() and the generators of pseudorandom numbers.

NumPy draws all numbers, so they are others than those of cuRAND on a GPU, with the same
distributions. The same seeds give the same numbers in every run.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ._array import GPUArray
from ._array_elements import run
from ._device import need_context
from .gpuarray import to_gpu

__all__ = [
    "MRG32k3aRandomNumberGenerator",
    "XORWOWRandomNumberGenerator",
    "get_curand_version",
    "rand",
    "seed_getter_uniform",
    "seed_getter_unique",
]

_QUASIRANDOM = (
    "Sobol32RandomNumberGenerator", "Sobol64RandomNumberGenerator",
    "ScrambledSobol32RandomNumberGenerator", "ScrambledSobol64RandomNumberGenerator",
    "generate_direction_vectors", "generate_scramble_constants32", "generate_scramble_constants64",
)  # fmt: skip
_SUBSEQUENCE = 2**67  # numbers, in XORWOW


def rand(shape, dtype=np.float32, stream=None) -> GPUArray:
    """Return a new array of random numbers: from [0, 1) for float32 and float64, all 32 bits for
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
    """Return None, because the cuRAND library is not there."""


def seed_getter_uniform(n: int) -> GPUArray:
    """Return one random int32 n times, as the seeds of a generator; shape (n,)."""
    return to_gpu(np.full(n, np.random.randint(2**31 - 1), np.int32))


def seed_getter_unique(n: int) -> GPUArray:
    """Return n random int32 as the seeds of a generator; shape (n,)."""
    return to_gpu(np.random.randint(-(2**31), 2**31 - 1, n, np.int32))


class _Generator:
    """A generator of pseudorandom numbers.

    seed_getter: returns a GPUArray of int32 seeds for a count; by default, random seeds. offset:
    numbers to skip at the beginning.
    """

    generators_per_block = 256
    block_count = 1

    def __init__(self, seed_getter: Callable[[int], GPUArray] | None = None, offset: int = 0):
        need_context("cuModuleLoadDataEx")
        seeds = (seed_getter or seed_getter_unique)(self.block_count * self.generators_per_block)
        if not isinstance(seeds, GPUArray) or seeds.dtype != np.int32:
            raise TypeError(
                "seed_getter must return a GPUArray of int32, such as "
                f"pycuda.curandom.seed_getter_uniform, got {type(seeds).__name__}"
            )
        self._bits = np.random.PCG64(seeds.get().view(np.uint32).ravel())
        self._random = np.random.Generator(self._bits)
        self.call_skip_ahead(offset)

    # ---- distributions ----

    def fill_uniform(self, data: GPUArray, stream=None) -> None:
        """Fill an array: float32 and float64 from (0, 1], int32 and uint32 with 32 random bits."""
        self._require(data, "fill_uniform", "f4", "f8", "i4", "u4")

        def draw() -> np.ndarray:
            values = _draw(self._random, data.size, data.dtype)
            return 1 - values if data.dtype.kind == "f" else values

        run("fill_uniform", draw, (), data, stream)

    def fill_normal(self, data: GPUArray, stream=None) -> None:
        """Fill an array of float32 or float64 from the standard normal distribution."""
        self._require(data, "fill_normal", "f4", "f8")
        draw = self._random.standard_normal
        run("fill_normal", lambda: draw(data.size, data.dtype), (), data, stream)

    def fill_log_normal(self, data: GPUArray, mean: float, stddev: float, stream=None) -> None:
        """Fill an array of float32 or float64 with exp of normally distributed numbers."""
        self._require(data, "fill_log_normal", "f4", "f8")
        draw = self._random.lognormal
        run("fill_log_normal", lambda: draw(mean, stddev, data.size), (), data, stream)

    def fill_poisson(self, data: GPUArray, lambda_value: float | None = None, stream=None) -> None:
        """Fill an array of uint32 from Poisson's distribution. Without `lambda_value`, each
        element of `data` (uint32, float32 or float64) is the mean of its new value.
        """
        draw = self._random.poisson
        if lambda_value is None:
            self._require(data, "fill_poisson", "u4", "f4", "f8")
            run("fill_poisson", draw, (data,), data, stream)
        else:
            self._require(data, "fill_poisson", "u4")
            run("fill_poisson", lambda: draw(lambda_value, data.size), (), data, stream)

    def gen_uniform(self, shape, dtype, stream=None) -> GPUArray:
        return self._new(shape, dtype, self.fill_uniform, stream=stream)

    def gen_normal(self, shape, dtype, stream=None) -> GPUArray:
        return self._new(shape, dtype, self.fill_normal, stream=stream)

    def gen_log_normal(self, shape, dtype, mean: float, stddev: float, stream=None) -> GPUArray:
        return self._new(shape, dtype, self.fill_log_normal, mean, stddev, stream=stream)

    def gen_poisson(self, shape, dtype, lambda_value: float, stream=None) -> GPUArray:
        return self._new(shape, dtype, self.fill_poisson, lambda_value, stream=stream)

    # ---- places in the sequence ----

    def call_skip_ahead(self, i: int, stream=None) -> None:
        """Skip i numbers."""
        self._bits.advance(int(i))

    def call_skip_ahead_array(self, i: GPUArray, stream=None) -> None:
        """Skip as many numbers as the array says for each generator."""
        self.call_skip_ahead(int(np.asarray(i.get(), np.int64).sum()))

    @staticmethod
    def _new(shape, dtype, fill: Callable, *args, stream) -> GPUArray:
        result = GPUArray(shape, np.dtype(dtype))
        fill(result, *args, stream=stream)
        return result

    @staticmethod
    def _require(data: GPUArray, what: str, *codes: str) -> None:
        """Raise NotImplementedError for an array of another dtype."""
        dtypes = [np.dtype(code) for code in codes]
        if data.dtype not in dtypes:
            names = ", ".join(dtype.name for dtype in dtypes)
            raise NotImplementedError(f"{what} takes an array of {names}, got {data.dtype}")


class XORWOWRandomNumberGenerator(_Generator):
    """Stands in for cuRAND's XORWOW; see _Generator."""

    def call_skip_ahead_sequence(self, i: int, stream=None) -> None:
        """Skip i subsequences of 2^67 numbers."""
        self._bits.advance(int(i) * _SUBSEQUENCE)

    def call_skip_ahead_sequence_array(self, i: GPUArray, stream=None) -> None:
        self.call_skip_ahead_sequence(int(np.asarray(i.get(), np.int64).sum()))


class MRG32k3aRandomNumberGenerator(_Generator):
    """Stands in for cuRAND's MRG32k3a; see _Generator."""

    def call_skip_ahead_subsequence(self, i: int, stream=None) -> None:
        """Skip i subsequences of 2^67 numbers."""
        self._bits.advance(int(i) * _SUBSEQUENCE)

    def call_skip_ahead_subsequence_array(self, i: GPUArray, stream=None) -> None:
        self.call_skip_ahead_subsequence(int(np.asarray(i.get(), np.int64).sum()))


def __getattr__(name: str):
    """Names of the quasirandom generators can be imported; using them says why not."""
    if name not in _QUASIRANDOM:
        raise AttributeError(f"module 'pycuda.curandom' has no attribute {name!r} in the simulator")

    def refuse(*args, **kwargs):
        raise NotImplementedError(
            f"{name} needs cuRAND's tables and a GPU: use XORWOWRandomNumberGenerator here"
        )

    return refuse
