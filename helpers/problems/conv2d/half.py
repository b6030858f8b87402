"""Kernels that take x and the filter as half: to_half rounds them, in launches of its own."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers import device, kernels
from helpers.limits import ConvShape
from helpers.problems import precision

from .base import Compiled, Conv2d, Entry
from .shapes import LayerError, ceil_div


@dataclass(frozen=True)
class HalfInputs(Conv2d):
    """A kernel that takes x and the filter as half: to_half makes them, in launches before its own.

    Callers hand over float32 as to any other kernel; the halves are scratch memory. `CompiledHalf.convert` and `.convolve` are
    the two steps one by one. paired: the filter is arranged on the host, once, with the output maps of a tile innermost.
    """

    paired: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        return "to_half", self.name

    def arrange(self, filter: np.ndarray) -> np.ndarray:
        """Return the filter as half: as it is, or paired, (M / maps, C, K, K, maps), M rounded up to whole tiles by zeros."""
        if not self.paired:
            return filter.astype(np.float16)
        (M, C, K, _), maps = filter.shape, self.tile[2]
        whole = np.zeros((maps * ceil_div(M, maps), C, K, K), np.float16)
        whole[:M] = filter
        return np.ascontiguousarray(whole.reshape(-1, maps, C, K, K).transpose(0, 2, 3, 4, 1))

    def filter_bytes(self, shape: ConvShape) -> int:
        """Return the bytes of the filter as half."""
        maps = self.tile[2] * ceil_div(shape.M, self.tile[2]) if self.paired else shape.M
        return 2 * shape.terms * maps

    def scratch(self, shape: ConvShape) -> int:
        return 2 * math.prod(shape.x_shape) + self.filter_bytes(shape)

    def conversion(self, count: int) -> dict[str, tuple[int, int, int]]:
        """Return grid and block of to_half for ``count`` values."""
        return {"grid": (min(ceil_div(count, 512), 2**20), 1, 1), "block": (256, 1, 1)}

    def compile(self, shape: ConvShape) -> CompiledHalf:
        return CompiledHalf(self, shape)

    def simulate(self, entry: Entry, y: np.ndarray, x: np.ndarray, filter: np.ndarray, shape: ConvShape) -> tuple:
        found, halves = [], []
        for array in (x,) if self.paired else (x, filter):
            half = np.full(array.shape, np.nan, np.float16)
            found.append(entry("to_half", half, array, np.int64(array.size), **self.conversion(array.size)))
            halves.append(half)
        weights = self.arrange(filter) if self.paired else halves[1]
        launch = {"grid": self.grid(shape), "block": self.threads(shape), "options": self.options(shape)}
        found.append(entry(self.name, *self.arguments(y, halves[0], weights, shape), **launch))
        return tuple(found)


@functools.lru_cache(maxsize=4)
def _to_half(source: str, on: device.Device) -> tuple[Any, Any]:
    """(module, function) of to_half. PyCUDA runs nvcc's preprocessor for a source with #include, cached or not: once is enough."""
    from pycuda.compiler import SourceModule

    module = SourceModule(source, no_extern_c=True)
    return module, module.get_function("to_half")


class CompiledHalf(Compiled):
    """to_half and a kernel that takes halves, and scratch buffers for these, which `free` gives back."""

    def __init__(self, spec: HalfInputs, shape: ConvShape):
        super().__init__(spec, shape)
        self._to_half = _to_half(kernels.source("to_half"), device.selected())[1]
        needed, free = spec.scratch(shape), self._cuda.mem_get_info()[0]
        if needed > free:
            raise LayerError(f"{spec.name} keeps halves of x in {needed:,} bytes, and {free:,} are free: take fewer images")
        self._x, self._filter = map(self._cuda.mem_alloc, (2 * math.prod(shape.x_shape), spec.filter_bytes(shape)))

    def upload(self, filter: Any, stream: Any = None) -> None:
        """Fill the halves of a paired filter from a NumPy array or a device address. Nothing for another."""
        if not self.spec.paired:
            return
        self._cuda.memcpy_htod(self._filter, self.spec.arrange(self._on_host(filter)))

    def launch(self, y: int, x: int, filter: int, stream: Any = None) -> None:
        """Enqueue the conversion of x and filter, and the layer. A paired filter is arranged when its address is a new one."""
        self.convert(x, filter, stream)
        self.convolve(y, stream)

    def convert(self, x: int, filter: int, stream: Any = None) -> None:
        """Enqueue to_half alone, on x and on a filter that is not paired."""
        if self.spec.paired and self._uploaded != int(filter):
            self.upload(filter, stream)
            self._uploaded = int(filter)
        arrays = [(self._x, x, self.shape.x_shape), (self._filter, filter, self.shape.filter_shape)]
        for half, array, extents in arrays[:1] if self.spec.paired else arrays:
            count = math.prod(extents)
            self._to_half(half, np.uintp(int(array)), np.int64(count), **self.spec.conversion(count), stream=stream)

    def convolve(self, y: int, stream: Any = None) -> None:
        """Enqueue the layer alone, on what `convert` made last."""
        arguments = self.spec.arguments(np.uintp(int(y)), self._x, self._filter, self.shape)
        self.function(*arguments, block=self.block, grid=self.grid, shared=self.shared, stream=stream)

    def free(self) -> None:
        """Free the halves."""
        self._x.free()
        self._filter.free()


def half2(maps: int = 4, columns: int = 4, chain: str = "row") -> HalfInputs:
    """The record of conv2d_half2 with patches of ``columns`` outputs of ``maps`` maps, an even number.

    chain: what is added up in half, a "row" of the filter or "all".
    """
    return HalfInputs(
        "conv2d_half2",
        tile=(16 * columns, 16, maps),
        width_in="constant",
        constants=(("PATCH_WIDTH", columns), ("CHAIN", int(chain == "row"))),
        largest_width=15,
        precision=precision.HALF_ROWS if chain == "row" else precision.HALF_SUMS,
        paired=True,
    )
