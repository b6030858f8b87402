"""pycuda.curandom, for machines without a GPU: rand(), and the generators of pseudorandom and of
quasirandom numbers.

NumPy and SciPy draw all numbers, so they are others than those of cuRAND on a GPU, with the same
distributions. The same seeds give the same numbers in every run.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ._array import GPUArray
from ._array_elements import run
from ._device import need_context
from .gpuarray import to_gpu

_TABLES = (
    "direction_vector_set", "generate_direction_vectors", "generate_scramble_constants32",
    "generate_scramble_constants64",
)
_VERSION = (10, 4, 0)  # of cuRAND in CUDA 13.0
_SUBSEQUENCE = 2**67  # numbers


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


def get_curand_version() -> tuple[int, int, int]:
    """Return the version of cuRAND that has the generators of this module."""
    return _VERSION


def seed_getter_uniform(n: int) -> GPUArray:
    """Return one random int32 n times, as the seeds of a generator; shape (n,)."""
    return to_gpu(np.full(n, np.random.randint(2**31 - 1), np.int32))


def seed_getter_unique(n: int) -> GPUArray:
    """Return n random int32 as the seeds of a generator; shape (n,)."""
    return to_gpu(np.random.randint(-(2**31), 2**31 - 1, n, np.int32))


class _Generator:
    """A generator of random numbers. Subclasses set `_random`, which draws as NumPy's Generator."""

    generators_per_block = 256
    block_count = 1
    generator_bits = 32
    _random: Any

    def __init__(self) -> None:
        need_context("cuModuleLoadDataEx")

    # ---- distributions ----

    def fill_uniform(self, data: GPUArray, stream=None) -> None:
        """Fill an array: float32 and float64 from (0, 1], int32 and uint32 with 32 random bits; a
        generator of 64 bits also fills int64 and uint64.
        """
        wide = ("i8", "u8") if self.generator_bits == 64 else ()
        self._require(data, "fill_uniform", "f4", "f8", "i4", "u4", *wide)

        def draw() -> np.ndarray:
            return _draw(self._random, data.size, data.dtype)

        run("fill_uniform", draw, (), data, stream)

    def fill_normal(self, data: GPUArray, stream=None) -> None:
        """Fill an array of float32 or float64 from the standard normal distribution."""
        self._require(data, "fill_normal", "f4", "f8")
        draw = self._random.standard_normal
        run("fill_normal", lambda: draw(data.size, data.dtype), (), data, stream)

    def fill_log_normal(self, data: GPUArray, mean: float, stddev: float, stream=None) -> None:
        """Fill an array of float32 or float64 with exp of normally distributed numbers."""
        self._require(data, "fill_log_normal", "f4", "f8")
        draw = self._random.standard_normal

        def values() -> np.ndarray:
            return np.exp(mean + stddev * draw(data.size))

        run("fill_log_normal", values, (), data, stream)

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


class _AboveZero(np.random.Generator):
    """NumPy's generator with cuRAND's interval: without 0, with 1."""

    def random(self, size=None, dtype=np.float64, out=None):
        return 1 - super().random(size, dtype, out)


class _Pseudorandom(_Generator):
    """A generator of pseudorandom numbers.

    seed_getter: returns a GPUArray of int32 seeds for a count; by default, random seeds. offset:
    numbers to skip at the beginning.
    """

    def __init__(self, seed_getter: Callable[[int], GPUArray] | None = None, offset: int = 0):
        super().__init__()
        seeds = (seed_getter or seed_getter_unique)(self.block_count * self.generators_per_block)
        if not isinstance(seeds, GPUArray) or seeds.dtype != np.int32:
            raise TypeError(
                "seed_getter must return a GPUArray of int32, such as "
                f"pycuda.curandom.seed_getter_uniform, got {type(seeds).__name__}"
            )
        self._bits = np.random.PCG64(seeds.get().view(np.uint32).ravel())
        self._random = _AboveZero(self._bits)
        self.call_skip_ahead(offset)

    def call_skip_ahead(self, i: int, stream=None) -> None:
        """Skip i numbers."""
        self._bits.advance(int(i))

    def call_skip_ahead_array(self, i: GPUArray, stream=None) -> None:
        """Skip as many numbers as the array says for each generator."""
        self.call_skip_ahead(int(np.asarray(i.get(), np.int64).sum()))

    def call_skip_ahead_sequence(self, i: int, stream=None) -> None:
        """Skip i subsequences of 2^67 numbers."""
        self._bits.advance(int(i) * _SUBSEQUENCE)

    def call_skip_ahead_sequence_array(self, i: GPUArray, stream=None) -> None:
        """Skip as many subsequences as the array says for each generator."""
        self.call_skip_ahead_sequence(int(np.asarray(i.get(), np.int64).sum()))


class XORWOWRandomNumberGenerator(_Pseudorandom):
    """Stands in for cuRAND's XORWOW; see _Pseudorandom."""


class MRG32k3aRandomNumberGenerator(_Pseudorandom):
    """Stands in for cuRAND's MRG32k3a; see _Pseudorandom."""

    def call_skip_ahead_subsequence(self, i: int, stream=None) -> None:
        """Skip i subsequences of 2^76 numbers."""
        self._bits.advance(int(i) << 76)

    def call_skip_ahead_subsequence_array(self, i: GPUArray, stream=None) -> None:
        """Skip as many subsequences as the array says for each generator."""
        self.call_skip_ahead_subsequence(int(np.asarray(i.get(), np.int64).sum()))


# ---- quasirandom numbers ----

_DRAWN_AT_ONCE = 4096  # points


class _SobolPoints:
    """Sobol's sequence, with the methods of NumPy's Generator that _Generator needs.

    Each of the generators has a dimension of its own, as in PyCUDA: element i of an array is the
    next number of generator i modulo their count.
    """

    def __init__(self, generators: int, bits: int, scrambled: bool):
        from scipy.stats import qmc  # importing it takes a second, and few scripts need it

        self._engine = qmc.Sobol(generators, scramble=scrambled, bits=bits)
        self._generators, self._half_step = generators, 0.5 ** (bits + 1)

    def advance(self, count: int) -> None:
        """Skip points. SciPy skips no points of 64 bits, so they are drawn."""
        for start in range(0, count, _DRAWN_AT_ONCE):
            self.random(self._generators * min(_DRAWN_AT_ONCE, count - start))

    def random(self, size: int, dtype: Any = np.float64) -> np.ndarray:
        """Return numbers from (0, 1), shape (size,)."""
        with warnings.catch_warnings():
            # SciPy warns of a first draw that is no power of two.
            warnings.simplefilter("ignore", UserWarning)
            points = self._engine.random(-(-size // self._generators))
        values = np.minimum(points.ravel()[:size] + self._half_step, np.nextafter(1, 0))
        return values.astype(dtype)

    def integers(self, low: int, high: int, size: int, dtype: Any, endpoint: bool) -> np.ndarray:
        """Return whole numbers of all bits of the dtype, shape (size,)."""
        unsigned = np.dtype(f"u{np.dtype(dtype).itemsize}")
        steps = np.floor(np.ldexp(self.random(size), 8 * unsigned.itemsize))
        return steps.astype(unsigned).view(dtype)

    def standard_normal(self, size: int, dtype: Any = np.float64) -> np.ndarray:
        from scipy.special import ndtri

        return ndtri(self.random(size)).astype(dtype)

    def poisson(self, mean: Any, size: int | None = None) -> np.ndarray:
        from scipy.stats import poisson

        count = np.size(mean) if size is None else size
        return poisson.ppf(self.random(count).reshape(np.shape(mean) or count), mean)


class _Sobol(_Generator):
    """A generator of Sobol's quasirandom numbers. offset: numbers of each generator to skip.

    dir_vector and scramble_vector are cuRAND's tables, which are not here; SciPy has its own.
    """

    _scrambled = False

    def __init__(self, dir_vector=None, offset: int = 0):
        super().__init__()
        _refuse_tables(dir_vector=dir_vector)
        count = self.block_count * self.generators_per_block
        self._random = _SobolPoints(count, self.generator_bits, self._scrambled)
        self.call_skip_ahead(offset)

    def call_skip_ahead(self, i: int, stream=None) -> None:
        """Skip i numbers of each generator."""
        self._random.advance(int(i))

    def call_skip_ahead_array(self, i: GPUArray, stream=None) -> None:
        """Skip numbers of each generator; the simulator skips equally many of all of them."""
        counts = np.unique(i.get())
        if counts.size != 1:
            raise NotImplementedError(
                "the simulator's quasirandom generators skip equally many numbers, "
                f"got counts from {counts.min()} to {counts.max()}"
            )
        self.call_skip_ahead(int(counts[0]))


class _ScrambledSobol(_Sobol):
    _scrambled = True

    def __init__(self, dir_vector=None, scramble_vector=None, offset: int = 0):
        _refuse_tables(scramble_vector=scramble_vector)
        super().__init__(dir_vector, offset)


class Sobol32RandomNumberGenerator(_Sobol):
    """Stands in for cuRAND's Sobol32; see _Sobol."""


class Sobol64RandomNumberGenerator(_Sobol):
    """Stands in for cuRAND's Sobol64; see _Sobol."""

    generator_bits = 64


class ScrambledSobol32RandomNumberGenerator(_ScrambledSobol):
    """Stands in for cuRAND's ScrambledSobol32; see _Sobol."""


class ScrambledSobol64RandomNumberGenerator(_ScrambledSobol):
    """Stands in for cuRAND's ScrambledSobol64; see _Sobol."""

    generator_bits = 64


def _refuse_tables(**tables: object) -> None:
    """Raise NotImplementedError for a table that is given."""
    for name, table in tables.items():
        if table is not None:
            raise NotImplementedError(
                f"{name} is a table of cuRAND, which needs a GPU: leave it out, and the simulator "
                "takes the tables of SciPy"
            )


def __getattr__(name: str):
    """Let names of cuRAND's tables be imported; using them says why not."""
    if name not in _TABLES:
        raise AttributeError(f"module 'pycuda.curandom' has no attribute {name!r} in the simulator")

    def refuse(*args, **kwargs):
        raise NotImplementedError(
            f"{name} belongs to cuRAND's tables and needs a GPU: make a generator without them, "
            "such as Sobol32RandomNumberGenerator()"
        )

    return refuse
