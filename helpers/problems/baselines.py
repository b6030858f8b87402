"""The CPU baselines: named programs whose times are the denominators of the labs' speedups.

They are compiled at their first use, with the host's C++ compiler, and each must agree with the
oracle of `reference` before it can be timed.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypeVar

import numpy as np

from helpers import limits, reference
from helpers.problems.measured import CPU_SOURCES
from helpers.problems.precision import FLOAT_UNIT
from helpers.quantities import quantity
from helpers.simulator.compile import toolchain

_FLAGS = ("-O3", "-pthread")
UNROLLED = (2, 4, 8)


class BaselineError(RuntimeError):
    """A CPU baseline disagrees with the oracle, so it may not be timed."""


def require_float32(**arrays: np.ndarray) -> None:
    """Raise TypeError for an object that is no array of float32, ValueError for a strided view."""
    for name, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise TypeError(
                f"{name} is a {type(array).__name__}; expected a NumPy array of float32"
            )
        if array.dtype != np.float32:
            raise TypeError(
                f"{name} is {array.dtype}; the programs on the CPU take float32: pass "
                f"{name}.astype(numpy.float32)"
            )
        if not array.flags.c_contiguous:
            raise ValueError(
                f"{name} is a view with strides {array.strides}, but C++ expects its "
                f"values side by side in memory: pass numpy.ascontiguousarray({name})"
            )


@dataclass(frozen=True)
class Baseline:
    """A named CPU program for 1D convolution. The name stands in every figure that uses it."""

    name: str
    description: str
    compute: Callable[..., None]  # a function of cells, filter and outputs

    # The shapes of N and filter for `require_correct`: short, ragged, and longer than a step of an
    # unrolled loop.
    checked: ClassVar[Sequence[tuple]] = tuple(
        ((n,), (width,))
        for n, width in ((1, 1), (1, 5), (4, 31), (31, 31), (1000, 3), (2048, 7), (5003, 31))
    )

    def call(self, N: np.ndarray, filter: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return P, float32, shape (n,).

        N, filter: float32, C-contiguous, shapes (n,) and (width,), width odd. out: float32, shape
        (n,); give it for timing, because the first access to new memory can cost more than the
        sums. Raises TypeError for another dtype; ValueError for a strided view, an empty array, an
        even width, a wrong `out`.
        """
        require_float32(N=N, filter=filter)
        reference.require_shapes(N, filter)
        return self._into(out, N.shape, N=N, filter=filter)

    def want(self, N: np.ndarray, filter: np.ndarray) -> np.ndarray:
        """Return the oracle's outputs, float64, shape (n,)."""
        return reference.conv1d(N, filter)

    @staticmethod
    def sizes(N: np.ndarray, filter: np.ndarray) -> tuple[int, ...]:
        """Return the arguments of the C++ function after the arrays."""
        return N.size, filter.size

    def _into(
        self, out: np.ndarray | None, shape: tuple[int, ...], **arrays: np.ndarray
    ) -> np.ndarray:
        if out is None:
            out = np.empty(shape, np.float32)
        require_float32(out=out)
        if out.shape != shape:
            raise ValueError(f"out has shape {out.shape}; expected {shape}, a cell for each output")
        for name, array in arrays.items():
            if np.may_share_memory(array, out):
                raise ValueError(
                    f"out shares memory with {name}: outputs would "
                    "overwrite what later outputs read"
                )
        self.compute(*arrays.values(), out)
        return out


@dataclass(frozen=True)
class LayerBaseline(Baseline):
    """A named CPU program for a convolution layer. The name stands in every figure that uses it."""

    # Rows that are narrower and wider than a vector, and ragged ones.
    checked: ClassVar[Sequence[tuple]] = (
        ((1, 1, 1, 1), (1, 1, 1, 1)),
        ((2, 3, 9, 12), (5, 3, 4, 4)),
        ((1, 2, 8, 22), (7, 2, 7, 7)),
        ((3, 1, 11, 49), (4, 1, 3, 3)),
    )

    def call(self, x: np.ndarray, filter: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return y, float32, shape (B, M, H - K + 1, W - K + 1): see `reference.conv2d`.

        x: (B, C, H, W); filter: (M, C, K, K); both float32 and C-contiguous. out: of the shape of
        y; give it for timing, because the first access to new memory can cost more than the sums.
        Raises TypeError for another dtype; ValueError for a strided view and for shapes that do not
        fit.
        """
        require_float32(x=x, filter=filter)
        return self._into(out, _layer_shape(x, filter), x=x, filter=filter)

    def want(self, x: np.ndarray, filter: np.ndarray) -> np.ndarray:
        """Return the oracle's outputs, float64, of the shape of y."""
        return reference.conv2d(x, filter)

    @staticmethod
    def sizes(x: np.ndarray, filter: np.ndarray) -> tuple[int, ...]:
        """Return the arguments of the C++ function after the arrays."""
        images, channels, rows, columns = x.shape
        return images, channels, len(filter), rows, columns, filter.shape[2]


def _layer_shape(x: np.ndarray, filter: np.ndarray) -> tuple[int, int, int, int]:
    """Return the shape of y. Raises ValueError for another rank and for shapes that do not fit."""
    if x.ndim != 4 or filter.ndim != 4 or filter.shape[2] != filter.shape[3]:
        raise ValueError(
            f"x has shape {x.shape} and filter {filter.shape}; "
            "expected (B, C, H, W) and (M, C, K, K)"
        )
    if x.shape[1] != filter.shape[1]:
        raise ValueError(
            f"x has {x.shape[1]} channels and filter {filter.shape[1]}; expected as many"
        )
    images, channels, rows, columns = x.shape
    return limits.ConvShape(images, channels, len(filter), rows, columns, filter.shape[2]).y_shape


def conv1d() -> dict[str, Baseline]:
    """Return the CPU baselines of 1D convolution by short key.

    The keys: numpy, one_core, unrolled_2, unrolled_4, unrolled_8, swapped, all_cores. The first
    call compiles them (once for each compiler and processor; later calls take them from the cache)
    and compares each with `reference.conv1d`. Without OpenMP, "all_cores" runs on one core; a
    printed line and its name say so. Raises toolchain.CompilerMissingError without a C++ compiler
    and BaselineError for a wrong result.
    """
    return dict(_conv1d_programs(toolchain.find_compiler()))


def conv2d() -> dict[str, LayerBaseline]:
    """Return the CPU baselines of a layer by short key: numpy, one_core, swapped, all_cores.

    They are compiled, compared with `reference.conv2d`, and raise errors like those of `conv1d`.
    """
    return dict(_conv2d_programs(toolchain.find_compiler()))


_PLAINLY = "one output after the other, one multiply-add after the other"


@functools.cache
def _conv1d_programs(compiler: toolchain.Compiler) -> dict[str, Baseline]:
    described = {
        "one_core": _PLAINLY,
        **{f"unrolled_{u}": f"{u} taps at a time, {u} partial sums" for u in UNROLLED},
        "swapped": "one tap over 2,048 neighbouring outputs, so that it vectorises",
        "all_cores": "as with the loops swapped, the outputs shared among all cores",
    }
    in_numpy = Baseline("NumPy", "numpy.correlate in float32, on one core", _numpy_conv1d)
    return _compiled(compiler, "conv1d", in_numpy, described)


@functools.cache
def _conv2d_programs(compiler: toolchain.Compiler) -> dict[str, LayerBaseline]:
    described = {
        "one_core": _PLAINLY,
        "swapped": "one tap over 16 outputs of 4 output maps, in vector registers",
        "all_cores": "as with the loops swapped, the images shared among all cores",
    }
    words = "one matrix product for each image, by the BLAS that NumPy was built with"
    return _compiled(compiler, "conv2d", LayerBaseline("NumPy", words, _numpy_conv2d), described)


_Kind = TypeVar("_Kind", bound=Baseline)


def _compiled(
    compiler: toolchain.Compiler, source: str, in_numpy: _Kind, described: dict[str, str]
) -> dict[str, _Kind]:
    """Return ``in_numpy`` and the functions SOURCE_KEY of cpu/SOURCE.cpp, all checked."""
    openmp = toolchain.supports_openmp()
    library = load_cpp(source, cpu_source(source), openmp_flags())
    cores = library.use_cores(usable_cores())
    if openmp:
        all_cores = f"{quantity(cores, 'core')} (OpenMP)"
    else:
        all_cores = "one core (no OpenMP)"
        print(f'"C++, all cores" runs on one core here: {compiler} has no OpenMP.')
    names = {"one_core": "one core", "swapped": "one core, loops swapped", "all_cores": all_cores}
    names |= {f"unrolled_{u}": f"one core, unrolled by {u}" for u in UNROLLED}
    programs = {"numpy": in_numpy}
    for key, words in described.items():
        compute = _bind(library, f"{source}_{key}", in_numpy.sizes)
        programs[key] = dataclasses.replace(
            in_numpy, name=f"C++, {names[key]}", description=words, compute=compute
        )
    for baseline in programs.values():
        require_correct(baseline)
    return programs


def require_correct(baseline: Baseline) -> None:
    """Compare a baseline with its oracle at ragged shapes; BaselineError for a difference."""
    random = np.random.default_rng(0)
    for shapes in baseline.checked:
        cells, filter = (random.uniform(-1, 1, shape).astype(np.float32) for shape in shapes)
        want = baseline.want(cells, filter)
        # Rounding errors grow with the size of the terms.
        scale = baseline.want(np.abs(cells), np.abs(filter))
        terms = filter.size if filter.ndim == 1 else filter[0].size
        error = np.abs(baseline.call(cells, filter, np.full(want.shape, np.nan, np.float32)) - want)
        wrong = ~(error <= FLOAT_UNIT * (terms + 1) * scale)  # NaN counts as wrong.
        if wrong.any():
            place = [int(i) for i in np.argwhere(wrong)[0]]
            raise BaselineError(
                f"the CPU baseline {baseline.name!r} is wrong and may not be timed: "
                f"{int(wrong.sum())} of {want.size} outputs differ for cells {cells.shape} and "
                f"filter {filter.shape}, the first at {place}"
            )


def _numpy_conv1d(N: np.ndarray, filter: np.ndarray, out: np.ndarray) -> None:
    out[:] = np.correlate(np.pad(N, filter.size // 2), filter, mode="valid")


def _numpy_conv2d(x: np.ndarray, filter: np.ndarray, out: np.ndarray) -> None:
    weights = filter.reshape(len(filter), -1)
    for image, outputs in zip(x, out, strict=True):
        # windows: (C, out_h, out_w, K, K).
        windows = np.lib.stride_tricks.sliding_window_view(image, filter.shape[2:], axis=(1, 2))
        columns = windows.transpose(0, 3, 4, 1, 2).reshape(weights.shape[1], -1)
        np.matmul(weights, columns, out=outputs.reshape(len(weights), -1))


def usable_cores() -> int:
    """Return how many cores this process may use.

    These are the cores that it may run on, or fewer if a container limits its CPU time. OpenMP does
    not know a container's limit, and 192 threads on a share of 16 cores are slower than one.
    """
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS and Windows have no such call
        cores = os.cpu_count() or 1
    return max(1, min(cores, _container_cores(Path("/sys/fs/cgroup"), cores)))


def _container_cores(folder: Path, cores: int) -> int:
    """Return the cores that Linux control groups allow, rounded down; `cores` without a limit."""
    try:  # version 2: "1600000 100000", or "max 100000"
        quota, period = (folder / "cpu.max").read_text().split()
    except (OSError, ValueError):
        try:  # version 1: -1 is no limit
            quota, period = (
                (folder / "cpu" / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period")
            )
        except OSError:
            return cores
    return int(quota) // int(period) if quota.strip() not in ("max", "-1") else cores


# ---- C++ on the CPU ----


def cpu_source(name: str) -> str:
    """Return the text of helpers/problems/cpu/NAME.cpp; name: "conv1d", "conv2d" or "mlp"."""
    return (CPU_SOURCES / f"{name}.cpp").read_text(encoding="utf-8")


def openmp_flags() -> tuple[str, ...]:
    """Return the flags of OpenMP, () where the compiler does not have it."""
    return toolchain.OPENMP_FLAGS if toolchain.supports_openmp() else ()


def provenance(name: str, flags: tuple[str, ...] = ()) -> dict[str, str]:
    """Return what made the programs of helpers/problems/cpu/NAME.cpp, for the rows of a record.

    cpu_source: the file, whose sha256 `results.record` adds; compiler: its version; flags: of the
    compilation. flags: those that `load_cpp` gets. Raises toolchain.CompilerMissingError.
    """
    return {
        "cpu_source": f"{name}.cpp",
        "compiler": toolchain.find_compiler().version,
        "flags": " ".join(_flags(flags)),
    }


def _flags(more: tuple[str, ...]) -> tuple[str, ...]:
    return (*_FLAGS, *toolchain.native_flags(), *more)


def assembly(text: str, flags: tuple[str, ...] = ()) -> str:
    """Return the assembly that the compiler makes of C++17 `text`, with the flags of `load_cpp`.

    Raises toolchain.CompileFailed and toolchain.CompilerMissingError.
    """
    with toolchain.scratch() as folder:
        (folder / "program.cpp").write_text(text, encoding="utf-8")
        shared = [flag for flag in toolchain.SHARED_FLAGS if flag != "-shared"]
        wanted = ["-S", "program.cpp", "-o", "program.s"]
        toolchain.run_compiler([*shared, *_flags(flags), *wanted], folder)
        return (folder / "program.s").read_text(encoding="utf-8")


def load_cpp(name: str, text: str, flags: tuple[str, ...] = ()) -> ctypes.CDLL:
    """Compile C++17 `text` with -O3 for this processor, cached by its content, and load it.

    Raises toolchain.CompileFailed with the compiler's message, which calls the text NAME.cpp.
    """
    return ctypes.CDLL(str(built_cpp(name, text, flags)))


def built_cpp(name: str, text: str, flags: tuple[str, ...] = ()) -> Path:
    """Compile C++17 `text` as `load_cpp` does, without loading it. Return the library's path.

    Raises toolchain.CompileFailed with the compiler's message, which calls the text NAME.cpp.
    """
    return toolchain.shared_library(name, text, _flags(flags))


def conv1d_from_cpp(
    text: str, *, guarded: bool = False, flags: tuple[str, ...] = ()
) -> Baseline:
    """Return a `Baseline` of your own C++, without a comparison with the oracle.

    text: defines `extern "C" void conv1d(float* P, const float* N, const float* filter, long long
    n, long long width)`. guarded: N and filter get 64 cells of NaN on both sides, so that a read
    outside them shows in P, and a write outside P raises IndexError. This costs copies: do not use
    it for timing. flags: those of `load_cpp`. Raises toolchain.CompileFailed, and LookupError if
    `text` does not define the function.
    """
    library, function = load_cpp("yours", text, flags), "conv1d"
    if not hasattr(library, function):
        raise LookupError(
            f'the C++ text defines no function {function!r}; expected '
            f'extern "C" void {function}(...)'
        )
    compute = _bind(library, function, Baseline.sizes)
    return Baseline(function, "C++ given as text", _with_guards(compute) if guarded else compute)


def _bind(
    library: ctypes.CDLL, symbol: str, sizes: Callable[..., tuple[int, ...]]
) -> Callable[..., None]:
    function = getattr(library, symbol)
    function.restype = None

    def compute(cells: np.ndarray, filter: np.ndarray, out: np.ndarray) -> None:
        arrays = (ctypes.c_void_p(array.ctypes.data) for array in (out, cells, filter))
        function(*arrays, *map(ctypes.c_longlong, sizes(cells, filter)))

    return compute


def _with_guards(compute: Callable[..., None]) -> Callable[..., None]:
    cells = 64

    def guarded(N: np.ndarray, filter: np.ndarray, out: np.ndarray) -> None:
        N, filter, P = (
            np.pad(a, cells, constant_values=np.nan) for a in (N, filter, np.full_like(out, np.nan))
        )
        inside = slice(cells, -cells)
        compute(N[inside], filter[inside], P[inside])
        for place, guard in (("before P[0]", P[:cells]), (f"after P[{out.size - 1}]", P[-cells:])):
            if not np.isnan(guard).all():
                raise IndexError(
                    f"the C++ function wrote outside P, {place}: P has {out.size} cells"
                )
        out[:] = P[inside]

    return guarded
