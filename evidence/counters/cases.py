"""The launches whose counters `evidence.counters` compares: kernels, sizes and arguments."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from helpers import kernels, simulator
from helpers.experiments import waiting
from helpers.launch import Array, Launch, Plan, Scratch, bound, simulate
from helpers.limits import ConvShape
from helpers.problems import (
    conv1d,
    conv2d,
    copies,
    fft,
    fft_conv1d,
    fft_conv2d,
    gemm,
    tensor_product,
)
from helpers.problems.conv2d.half import conversion
from helpers.problems.in_flight import InFlight
from helpers.problems.lenet import network_plan, pooled


@dataclass(frozen=True)
class Case:
    """One launch to count: the same source, options, arguments and grid on GPU and simulator.

    label: a unique name, "kernel, its special sizes". values: NumPy arrays (outputs zeroed) and
    NumPy scalars, before a launch. constants: the values of `__constant__` symbols. shared: bytes
    of dynamic shared memory. folder: where the sources lie that kernels/ does not have.
    """

    kernel: str
    what: str
    values: Sequence[Any]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    options: tuple[str, ...] = ()
    constants: Mapping[str, np.ndarray] = field(default_factory=dict)
    shared: int = 0
    folder: Path = Path()

    @classmethod
    def of(cls, what: str, one: Launch, arrays: Mapping[str, np.ndarray]) -> Case:
        """Return the case of a launch of a plan; arrays: the values of its arrays by name."""
        values, constants = bound(one, arrays)
        return cls(one.name, what, values, one.grid, one.block, one.options, constants, one.shared)

    @property
    def label(self) -> str:
        return f"{self.kernel}, {self.what}" if self.what else self.kernel

    @property
    def path(self) -> Path:
        """The kernel's source: in kernels/, or else in the folder."""
        if self.kernel in kernels.names():
            return kernels.path(self.kernel)
        return self.folder / f"{self.kernel}.cu"

    def arguments(self) -> list[Any]:
        """Return the arguments of a launch, which may write to them."""
        return [copy.copy(value) for value in self.values]

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of the plan by name, for a launch."""
        values = enumerate(self.arguments())
        return {_name(k): value for k, value in values if isinstance(value, np.ndarray)}

    @cached_property
    def plan(self) -> Plan:
        """The launch, for the runners of `launch` and `programs`."""
        arguments = tuple(
            Array(_name(k), value.shape, value.dtype) if isinstance(value, np.ndarray) else value
            for k, value in enumerate(self.values)
        )
        source, how = self.path.read_text(encoding="utf-8"), (self.grid, self.block, self.shared)
        return (Launch(source, self.kernel, self.options, *how, self.constants, arguments),)

    def profile(self) -> simulator.Profile:
        """Run the launch in the simulator and return its profile."""
        (seen,) = simulate(self.plan, self.arrays(), simulator.profile)
        return seen


def _name(place: int) -> str:
    """Return the name of an argument in a plan."""
    return f"argument {place}"


def _cells(count: int, dtype: Any = np.float32) -> np.ndarray:
    return (np.arange(count) % 251).astype(dtype)


def _bytes(count: int) -> np.ndarray:
    return np.random.default_rng(7).integers(0, 256, count, dtype=np.uint8)


def _ints(*values: int) -> list[np.int32]:
    return [np.int32(value) for value in values]


def _grid(cells: int, threads: int) -> tuple[int, int, int]:
    return (-(-cells // threads), 1, 1)


def _in_a_row(
    kernel: str,
    what: str,
    blocks: int,
    threads: int,
    arguments: Sequence[Any],
    *options: str,
    **constants: np.ndarray,
) -> Case:
    """Return a case of blocks and threads along x. options: macros with their values, without "-D".
    """
    macros = tuple(f"-D{option}" for option in options)
    return Case(kernel, what, arguments, (blocks, 1, 1), (threads, 1, 1), macros, constants)


# Types of 1 to 16 bytes, with their sizes.
_TYPES = {"char": 1, "short": 2, "float": 4, "float2": 8, "double": 8, "float4": 16}


def _of_type(name: str, cells: int) -> np.ndarray:
    return np.zeros(cells, f"V{_TYPES[name]}")


def _conv1d() -> Iterable[Case]:
    cases = [
        (spec, n, width, "")
        for spec in conv1d.CONV1D
        for n in (1000, 10_007)
        for width in (3, 31)
        if spec.fits(width)
    ]
    nine = conv1d.conv1d_named("conv1d_outputs")
    eight = replace(nine, tile=8 * nine.threads, outputs=8)  # Its lanes access the same banks.
    for spec, n, width, more in (*cases, (eight, 92_160, 31, ", 8 outputs")):
        taps = np.linspace(-1, 1, width).astype(np.float32)
        arrays = {"P": np.zeros(n, np.float32), "N": _cells(n), "filter": taps}
        (one,) = spec.plan(n, width)
        yield Case.of(f"n = {n}, filter of {width}{more}", one, arrays)


def _axpy() -> Iterable[Case]:
    for n in (1000, 4096):
        cells = [np.zeros(n, np.float32), _cells(n), np.int32(n), np.float32(2)]
        yield _in_a_row("axpy_basic", f"n = {n}", -(-n // 256), 256, cells)


def _waiting() -> Iterable[Case]:
    """Yield chains of loads, and copies with several loads in flight, of the lab on latency."""
    rng = np.random.default_rng(25)
    for name, cells, stride in ((waiting.CHAIN, 4096, 32), (waiting.SHARED_CHAIN, 1024, 1)):
        following = waiting.chain(cells, rng, stride)
        arrays = {"last": np.zeros(1, np.int32), "next": following}
        (one,) = waiting.chain_plan(name, cells, 0, 100)
        yield Case.of("100 steps", one, arrays)
    for loads in (1, 2, 4, 8):
        n = 10_007
        (one,) = InFlight(loads=loads, warps=2).plan(n, 6)
        values = {"out": np.zeros(n, np.float32), "in": _cells(n)}
        yield Case.of(f"n = {n}, {loads} loads", one, values)


def _copies() -> Iterable[Case]:
    n, wide = 1000, 33 * 1000
    shapes = [(name, 1, 0) for name in _TYPES] + [
        ("float", s, o) for s, o in ((2, 0), (7, 3), (32, 0), (1, 1), (1, 7))
    ]
    shapes += [
        ("char", 3, 1),
        ("char", 33, 0),
        ("short", 5, 1),
        ("double", 3, 1),
        ("float2", 2, 1),
        ("float4", 5, 1),
    ]
    for name, stride, offset in shapes:
        what = f"{name}, stride {stride}, offset {offset}"
        options = (f"ELEMENT={name}", f"STRIDE={stride}", f"OFFSET={offset}")
        near, far = _of_type(name, n), _of_type(name, wide)
        yield _in_a_row("copy_strided", what, 8, 128, [near, far, np.int32(n)], *options)
        if (stride, offset) != (1, 0):
            yield _in_a_row("store_strided", what, 8, 128, [far, near, np.int32(n)], *options)
    cells = [_cells(n), _cells(n), np.int32(n)]
    yield _in_a_row("copy_reversed", "", 8, 128, cells)
    yield _in_a_row("copy_grid_stride", "", 2, 96, cells)
    index = np.random.default_rng(3).permutation(n).astype(np.int32)
    for kernel in ("gather", "scatter"):
        yield _in_a_row(kernel, "a permutation", 8, 128, [_cells(n), _cells(n), index, np.int32(n)])


def _planes() -> Iterable[Case]:
    for height, width in ((100, 67), (64, 96)):
        shape = f"{height} x {width}"
        plane = [_cells(height * width), _cells(height * width), *_ints(height, width)]
        tiles = (-(-width // 32), -(-height // 32), 1)
        yield Case(
            "transpose_naive", shape, plane, (-(-width // 32), -(-height // 8), 1), (32, 8, 1)
        )
        for pad in (0, 1):
            yield Case(
                "transpose_shared",
                f"{shape}, pad {pad}",
                plane,
                tiles,
                (32, 8, 1),
                (f"-DPAD={pad}",),
            )
        yield Case("stencil2d", shape, plane, (-(-width // 16), -(-height // 16), 1), (16, 16, 1))
        taps = np.linspace(-1, 1, 25).reshape(5, 5).astype(np.float32)
        blocks = (-(-width // 16), -(-height // 16), 1)
        yield Case("conv2d_plane", shape, plane, blocks, (16, 16, 1), (), {"filter": taps})
        yield _in_a_row("sum_rows", shape, -(-height // 64), 64, plane)
        yield _in_a_row("sum_columns", shape, -(-width // 64), 64, plane)
    for k in (3, 5):
        cells = 3 * (21 - k) * (18 - k)
        image = [np.zeros(k * k * cells, np.float32), _cells(3 * 20 * 17), *_ints(3, 20, 17)]
        yield _in_a_row("im2col", f"3 x 20 x 17, K = {k}", -(-cells // 128), 128, image, f"K={k}")


def _products() -> Iterable[Case]:
    for rows, inner, columns in ((33, 45, 70), (64, 64, 64)):
        shape = f"{rows} x {inner} x {columns}"
        cells = map(_cells, (rows * columns, rows * inner, inner * columns))
        matrices = [*cells, *_ints(rows, inner, columns)]
        yield Case(
            "matmul_naive", shape, matrices, (-(-columns // 16), -(-rows // 16), 1), (16, 16, 1)
        )
        for tile in (16, 32):
            grid = (-(-columns // tile), -(-rows // tile), 1)
            yield Case(
                "matmul_tiled",
                f"{shape}, tile {tile}",
                matrices,
                grid,
                (tile, tile, 1),
                (f"-DTILE={tile}",),
            )


def _sums() -> Iterable[Case]:
    for kernel in ("reduce_tree", "reduce_interleaved", "reduce_shuffle"):
        cells = [np.zeros(4, np.float32), _cells(1000), np.int32(1000)]
        yield _in_a_row(kernel, "n = 1000", 4, 256, cells)
    cells = [_cells(1000), _cells(1000), np.int32(1000)]
    yield _in_a_row("scan_block", "n = 1000", 4, 256, cells)


# The bin of each lane of a warp: pairs, halves, all bins in one sector or line, with and without
# repeats.
_BINS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "t": lambda t: t,
    "t / 2": lambda t: t // 2,
    "t % 16": lambda t: t % 16,
    "t % 2": lambda t: t % 2,
    "t / 8": lambda t: t // 8,
    "8 t": lambda t: 8 * t % 256,
    "8 (t % 4)": lambda t: 8 * (t % 4),
    "32 (t % 2)": lambda t: 32 * (t % 2),
    "t^2 % 16": lambda t: t * t % 16,
    "t^2 % 32": lambda t: t * t % 32,
    "t^3 % 64": lambda t: t * t * t % 64,
    "5 t^2 % 128": lambda t: 5 * t * t % 128,
}


def _histograms() -> Iterable[Case]:
    bins = np.zeros(256, np.uint32)
    for kernel in ("histogram_global", "histogram_shared"):
        for what, cells in (("random", _bytes(1000)), ("one bin", np.full(1000, 5, np.uint8))):
            yield _in_a_row(kernel, what, 4, 256, [bins, cells, np.int32(1000)])
    for what, rule in _BINS.items():
        cells = rule(np.arange(32)).astype(np.uint8)
        yield _in_a_row(
            "histogram_global", f"a warp, bin {what}", 1, 32, [bins, cells, np.int32(32)]
        )


def _lanes() -> Iterable[Case]:
    n = 1000
    row, count, half = _cells(n), np.int32(n), np.float32(0.5)
    along = 8, 128
    for first in (1, 16, 31):
        arguments = [row, row, row, row, count]
        yield _in_a_row("lanes_diverge", f"first {first}", *along, arguments, f"FIRST={first}")
    yield _in_a_row("lanes_odd", "", *along, [row, row, count])
    yield _in_a_row("lanes_loop", "", *along, [row, _cells(n + 64), count])
    for stride in (0, 1, 5):
        yield _in_a_row(
            "constant_table",
            f"stride {stride}",
            *along,
            [row, *_ints(3, n)],
            f"STRIDE={stride}",
            table=_cells(1024),
        )
    yield _in_a_row("particles_aos", "", *along, [_cells(3 * n), half, count])
    yield _in_a_row("particles_soa", "", *along, [row, row, row, half, count])
    yield _in_a_row("rgb_to_grey", "", *along, [_bytes(n), _bytes(3 * n), count])


def _tile(name: str) -> list[Any]:
    """Return the arguments of shared_load and shared_store: out, in, and 64 cells."""
    return [_of_type(name, 64), _of_type(name, 16_384), np.int32(64)]


def _shared() -> Iterable[Case]:
    strides = {
        "char": (0, 1, 3, 4, 128),
        "short": (0, 1, 2, 3, 64),
        "float": (0, 1, 2, 3, 8, 32, 33),
    }
    strides |= {"double": (0, 1, 2, 3, 16), "float2": (1, 2), "float4": (0, 1, 2, 3, 8)}
    for name, several in strides.items():
        for stride in several:
            options = (f"ELEMENT={name}", f"STRIDE={stride}")
            what = f"{name}, stride {stride}"
            yield _in_a_row("shared_load", what, 1, 64, _tile(name), *options)
            if stride:
                yield _in_a_row("shared_store", what, 1, 64, _tile(name), *options)
    some_lanes = (
        ("float", 0x0000FFFF),
        ("double", 0x0000FFFF),
        ("double", 0x55555555),
        ("float4", 0x000000FF),
        ("float4", 0x11111111),
        ("float4", 0x80000001),
    )
    for name, active in some_lanes:
        yield _in_a_row(
            "shared_load",
            f"{name}, stride 2, lanes {active:#010x}",
            1,
            64,
            _tile(name),
            f"ELEMENT={name}",
            "STRIDE=2",
            f"ACTIVE={active:#x}u",
        )
    for name in ("double", "float4"):
        for index in ("t/2", "t/4", "t%8", "t%16", "t&~2", "t&~4", "t&~3", "t*t%32", "63-t"):
            yield _shared_load(name, index)
    for name in ("float2", "float4"):
        for pad in (0, 1):
            rows = [_of_type(name, 512), _of_type(name, 512), np.int32(512)]
            options = (f"VECTOR={name}", f"PAD={pad}")
            yield _in_a_row("vector_rows", f"{name}, pad {pad}", 2, 256, rows, *options)


def _shared_load(name: str, index: str) -> Case:
    """Return a load in which lane t reads the element at an index, which is written in C."""
    options = (f"ELEMENT={name}", f"INDEX=({index})")
    return _in_a_row("shared_load", f"{name}, index {index}", 1, 64, _tile(name), *options)


def _repeated_vectors() -> Iterable[Case]:
    """Yield loads of 16 and 8 bytes whose lanes repeat addresses, as products of matrices make
    them.
    """
    several = {
        "float4": (
            "t/8",
            "t/16",
            "t%4",
            "t%2",
            "t%16*2",
            "t%8*2",
            "t/16*2",
            "t/4*2",
            "t/2*2",
            "t/16*16",
            "t%16/2",
            "t/16*8+t%8",
            "t%4*8",
            "t/8*8",
        ),
        "double": ("t/8", "t%16*2", "t/16*16", "t%4*16"),
    }
    for name, indices in several.items():
        for index in indices:
            yield _shared_load(name, index)
    matrices = [_cells(128 * 128), _cells(128 * 16), _cells(128 * 16), *_ints(128, 16)]
    yield _in_a_row("product_vector", "", 1, 256, matrices)


def _calls() -> Iterable[Case]:
    """Yield lanes that call different functions, or to different depths, or walk lists of different
    lengths.
    """
    lengths = (np.arange(64) * 7 % 13).astype(np.int32)
    for what, chosen in (("a third each", np.arange(64) % 3), ("one for all", np.ones(64))):
        cells = [_cells(64), _cells(256), chosen.astype(np.int32)]
        yield _in_a_row("calls_by_pointer", what, 1, 64, cells)
    yield _in_a_row("calls_itself", "", 1, 64, [_cells(64), _cells(128), lengths])
    for unroll in (1, 4):
        lists = [_cells(64), _cells(1024), lengths]
        what = f"unrolled by {unroll}"
        yield _in_a_row("shared_walk", what, 1, 64, lists, f"UNROLL={unroll}")


def _more_atomics() -> Iterable[Case]:
    """Yield leaders of lanes with one key, and additions of 64 bits, of pairs of halves and of
    doubles; one warp, so that no other disturbs it.
    """
    for keys in (1, 8, 32):
        key = (np.arange(32) * 5 % keys).astype(np.int32)
        yield _in_a_row("match_leaders", f"{keys} keys", 1, 32, [np.zeros(32, np.int32), key])
    for index in ("t", "t/2", "t%8", "0"):
        sums = [np.zeros(32, np.uint64), np.arange(32).astype(np.uint64)]
        yield _in_a_row("shared_add64", f"index {index}", 1, 32, sums, f"INDEX={index}")
    for name, dtype in (("__half2", "V4"), ("double", "f8")):
        for index in ("t", "t/2", "0"):
            for where, place in (("global", ()), ("shared", ("SHARED",))):
                yield _in_a_row(
                    "packed_add",
                    f"{name.strip('_')}, {where}, index {index}",
                    1,
                    32,
                    [np.zeros(32, dtype), np.zeros(64, dtype)],
                    f"TYPE={name}",
                    f"INDEX={index}",
                    *place,
                )


def _ladder() -> Iterable[Case]:
    """Yield steps of the well-known ladder of SGEMM, whose shared loads ptxas joins by the PTX of
    nvcc and leaves apart by that of NVRTC.
    """
    for depth in (48, 64):
        for kernel in ("sgemm_vectorised", "sgemm_warptiled"):
            A, B, C = _floats(64 * depth), _floats(64 * depth, 1), np.zeros(4096, np.float32)
            matrices = [*_ints(64, 64, depth), np.float32(1), A, B, np.float32(0), C]
            yield _in_a_row(kernel, f"K = {depth}", 1, 128, matrices)


def _floats(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, count).astype(np.float32)


# How many turns lanes make in their loops, by what says so in the label.
_LEAVING = {
    "mod 7": np.arange(32) * 5 % 7,
    "all 5": np.full(32, 5),
    "random": np.random.default_rng(3).integers(0, 31, 32),
    "up": np.arange(32),
}


def _loops_left() -> Iterable[Case]:
    """Yield loops that the lanes of a warp leave at different times."""
    n = np.int32(40)
    for form in range(9):
        for what, turns in _LEAVING.items():
            x = (np.arange(256) * 37 % 32).astype(np.float32)
            if form != 2:
                x = np.random.default_rng(2).uniform(0.1, 1, 256).astype(np.float32)
            cells = [np.zeros(32, np.float32), x, turns.astype(np.int32), n]
            yield _in_a_row("loops_left", f"form {form}, {what}", 1, 32, cells, f"FORM={form}")
    for form in (0, 1):
        for size in (32, 19):
            m = _floats(size * size).reshape(size, size)
            m = m @ m.T + size * np.eye(size, dtype=np.float32)
            cells = [m.astype(np.float32).ravel(), np.int32(size)]
            what = f"form {form}, {size} x {size}"
            yield _in_a_row("cholesky_by_columns", what, 1, 32, cells, f"FORM={form}")


def _mixed_atomics() -> Iterable[Case]:
    lane = np.arange(32)
    for form in range(4):
        for keys in (4, 32):
            key, value = (lane * 5 % keys).astype(np.int32), (lane % 9).astype(np.int32)
            cells = [np.zeros(32, np.uint64), key, value]
            yield _in_a_row("leaders64", f"form {form}, {keys} keys", 1, 32, cells, f"FORM={form}")
    for place, where in enumerate(("global", "shared")):
        for form in range(14):
            for what, index in (("own", lane), ("mod 4", lane % 4)):
                cells = [np.arange(64).astype(np.int32), np.zeros(32, np.int32)]
                cells += [index.astype(np.int32), (lane % 5).astype(np.int32)]
                yield _in_a_row(
                    "atomics_mixed", f"form {form}, {where}, {what}", 1, 32, cells,
                    f"FORM={form}", f"WHERE={place}",
                )  # fmt: skip


def _padded() -> Iterable[Case]:
    for form in range(9):
        size = (24, 16, 32)[form % 3]
        raw = np.random.default_rng(5).integers(0, 99, 128 * size // 4).astype(np.int32)
        cells = [np.zeros(128 * size, np.uint8), raw.view(np.uint8), np.int32(128)]
        yield _in_a_row("padded_structures", f"form {form}", 1, 128, cells, f"FORM={form}")


# The two layers, and a small one that no tile, patch or group of output maps divides.
_RAGGED = ConvShape(2, C=3, M=5, H=43, W=38, K=7)
LAYERS = {
    "layer 1": conv2d.shape_of("layer 1", 1),
    "layer 2": conv2d.shape_of("layer 2", 1),
    "ragged": _RAGGED,
    "ragged, stride 2": replace(_RAGGED, stride=2),
}


def _conv2d() -> Iterable[Case]:
    """Yield every row of `conv2d.CONV2D`, for each shape of `LAYERS` that it supports."""
    for spec in conv2d.CONV2D:
        for what, shape in LAYERS.items():
            try:
                spec.require(shape)
            except conv2d.LayerError:
                continue
            for one in spec.plan(shape):
                yield Case.of(what, one, _layer_arrays(shape))


def _layer_arrays(shape: ConvShape) -> dict[str, np.ndarray]:
    """Return y, x and the filter by name."""
    weights = np.linspace(-1, 1, np.prod(shape.filter_shape)).astype(np.float32)
    return {
        "y": np.zeros(shape.y_shape, np.float32),
        "x": _cells(math.prod(shape.x_shape)).reshape(shape.x_shape),
        "filter": weights.reshape(shape.filter_shape),
    }


def _reduced() -> Iterable[Case]:
    """Yield the rows of `conv2d.REDUCED` on rounded inputs, and to_half, which rounds them."""
    for n in (1001, 4096):
        one = conversion(Scratch("half", (n,), np.float16), Array("x", (n,)))
        arrays = {"half": np.zeros(n, np.float16), "x": _cells(n)}
        yield Case.of(f"n = {n}", one, arrays)
    for spec in (*conv2d.REDUCED, conv2d.wmma(tf32=True)):
        for what, shape in LAYERS.items():
            if shape.stride != 1:
                continue
            arrays = _layer_arrays(shape)
            for name in ("x", "filter"):
                arrays[f"{name} as half"] = arrays[name].astype(np.float16)
            tf32 = ", TF32" if getattr(spec, "tf32", False) else ""
            yield Case.of(f"{what}{tf32}", spec.plan(shape)[-1], arrays)


def _tensor() -> Iterable[Case]:
    """Yield the kernels of windows.cuh: the rows of `conv2d.FASTEST`, and the two of the network.

    By default they have as many blocks as a device holds at once. One block is enough for one
    image.
    """
    for spec in (replace(one, blocks=1) for one in conv2d.FASTEST):
        for what, shape in LAYERS.items():
            try:
                spec.require(shape)
            except conv2d.LayerError:
                continue
            yield Case.of(what, spec.plan(shape)[-1], _layer_arrays(shape))
    yield from _implicit()
    shape = conv2d.shape_of("layer E2", 3)
    small = conv2d.register_images().plan(shape)[-1]
    yield Case.of("layer E2", small, _layer_arrays(shape))
    for fused in pooled.POOLED:
        # The simulator refuses lenet_wgmma_2.
        if isinstance(fused, pooled.MmaPool) and fused.name != "lenet_wgmma_2":
            shape = LAYERS[fused.layer]
            (one,) = replace(fused, blocks=1).plan(shape)
            windows = pooled.pooled_shape(shape, fused.pool)
            arrays = _layer_arrays(shape) | {"y": np.zeros(windows, np.float32)}
            yield Case.of(fused.layer, one, arrays)


def _implicit() -> Iterable[Case]:
    """Yield the kernels of implicit.cuh and conv2d_register_2d, with sizes of their own.

    Two chunks of channels, whose weights pass through two buffers; whole images; tiles that
    overhang, with both strides.
    """
    many = ConvShape(2, C=20, M=17, H=13, W=14, K=3)
    cases = (
        ("20 channels", many, conv2d.ImplicitSizes((1, 4, 8), 1, (2, 1), (1, 3), (2, 2))),
        (
            "layer E2",
            conv2d.shape_of("layer E2", 3),
            conv2d.ImplicitSizes((3, 5, 5), 2, (5, 1), (1, 3)),
        ),
        ("ragged", LAYERS["ragged"], conv2d.ImplicitSizes((1, 4, 32), 1, (4, 1), (2, 1))),
        (
            "ragged, stride 2",
            LAYERS["ragged, stride 2"],
            conv2d.ImplicitSizes((1, 4, 8), 1, (2, 1), (1, 1)),
        ),
    )
    for spec in conv2d.IMPLICIT:
        for what, shape, sizes in cases:
            sized = replace(spec, sizes=sizes, blocks=1)
            yield Case.of(what, sized.plan(shape)[-1], _layer_arrays(shape))
    for what in ("layer 1", "ragged"):
        (one,) = conv2d.register_2d().plan(LAYERS[what])
        yield Case.of(what, one, _layer_arrays(LAYERS[what]))


def _background_copies() -> Iterable[Case]:
    taps = np.linspace(-1, 1, 15).astype(np.float32)
    for name in copies.NAMES:
        for n, tile in ((4096, 512), (10_004, 1024)):
            P = np.zeros(n - taps.size + 1, np.float32)
            (one,) = copies.Copies(name, tile, threads=128).plan(n, taps.size, blocks=3)
            arrays = {"P": P, "N": _cells(n), "filter": taps}
            yield Case.of(f"n = {n}, tiles of {tile}", one, arrays)


def _one_warp() -> Iterable[Case]:
    A, B = (np.arange(cells).astype(np.float16) / np.float16(64) for cells in (256, 128))
    D = np.zeros((16, 8), np.float32)
    halves: dict[str, np.ndarray] = {"D": D, "A": A.reshape(16, 16), "B": B.reshape(16, 8)}
    a, b = (_cells(cells) / np.float32(64) for cells in (16 * 160, 3 * 160 * 8))
    d = np.zeros((3, 16, 8), np.float32)
    matrices: dict[str, np.ndarray] = {"D": d, "A": a.reshape(16, 160), "B": b.reshape(3, 160, 8)}
    for product in (tensor_product.ONE_WARP, tensor_product.LDMATRIX):
        yield Case.of("16 x 16 x 8", product.plan()[0], halves)
    for products, short in ((1, 0), (3, 0), (3, 4)):
        (one,) = tensor_product.Split(products, short).plan(batch=3, steps=10)
        yield Case.of(f"{products} products, short sums of {short} steps", one, matrices)


def _matrix_products() -> Iterable[Case]:
    for rows, cols, inner in ((130, 200, 45), (264, 136, 72)):
        A, X = _cells(rows * inner).reshape(rows, inner), _cells(inner * cols).reshape(inner, cols)
        arrays = {"Y": np.zeros((rows, cols), np.float32), "A": A, "X": X}
        for spec in (*gemm.GEMM, gemm.warp_tiles(), gemm.MMA):
            if spec.halves and inner % 8:
                continue
            (one,) = spec.plan(rows, cols, inner)
            of_type = {name: array.astype(spec.dtype) for name, array in arrays.items()}
            yield Case.of(f"{rows} x {inner} by {inner} x {cols}", one, of_type)


def _fourier() -> Iterable[Case]:
    for size, row, threads in ((256, 256, 128), (256, 256, 96), (1024, 32, 512)):
        cells = _cells(5 * size).reshape(5, size).astype(np.complex64)
        X, x = (Array(name, cells.shape, np.complex64) for name in ("X", "x"))
        one = replace(fft.transform(X, x, cells.shape, row), block=(threads, 1, 1))
        what = f"{size} in rows of {row}, {threads} threads"
        yield Case.of(what, one, {"X": np.zeros_like(cells), "x": cells})
    for log_size, n, width in ((8, 1000, 31), (10, 10_007, 255)):
        spec, taps = fft_conv1d.OverlapAdd(log_size), np.linspace(-1, 1, width)
        spectrum = fft.reference(spec.prepared(taps.astype(np.float32))).astype(np.complex64)
        arrays = {"P": np.zeros(n, np.float32), "N": _cells(n), "spectrum": spectrum}
        yield Case.of(f"n = {n}, filter of {width}", spec.plan(n, width)[-1], arrays)
    shape = replace(_RAGGED, B=3)  # A block computes two images.
    for tiles in (fft_conv2d.Tiles(4), fft_conv2d.Tiles(5)):
        arrays = _layer_arrays(shape)
        spectra = fft.reference(tiles.prepared(arrays["filter"]), tiles.side)
        arrays |= {"spectra": spectra.astype(np.complex64)}
        yield Case.of(f"ragged, tiles of {tiles.side}", tiles.plan(shape)[-1], arrays)


def _lenet() -> Iterable[Case]:
    """Yield the network's other kernels."""
    (resize,) = network_plan.stages(network_plan.PLAIN, 2, pixels=True)[0].plan
    pixels = _bytes(2 * network_plan.SIDE**2).reshape(2, network_plan.SIDE, network_plan.SIDE)
    images = np.zeros(conv2d.shape_of(pooled.LAYERS[0], 2).x_shape, np.float32)
    yield Case.of("2 images", resize, {"x": images, "pixels": pixels})
    inputs, units, outputs = network_plan.CELLS, network_plan.HIDDEN, network_plan.CLASSES
    each = network_plan.DENSE_WARPS * network_plan.DENSE_EACH  # images of a block

    count = each + 5
    weights = map(_cells, (count * inputs, inputs * units, units, units * outputs, outputs))
    classes, logits = np.zeros(count, np.uint8), np.zeros((count, outputs), np.float32)
    dense = [classes, logits, *weights, np.int32(count)]
    yield Case(
        "lenet_dense",
        f"{count} images",
        dense,
        (2, 1, 1),
        (32 * network_plan.DENSE_WARPS, 1, 1),
        (f"-DWARPS={network_plan.DENSE_WARPS}", f"-DEACH={network_plan.DENSE_EACH}"),
    )
    yield Case(
        "lenet_dense_split",
        f"{count} images",
        dense,
        (-(-count // 2), 1, 1),
        (32 * network_plan.SPLIT_WARPS, 1, 1),
        (f"-DWARPS={network_plan.SPLIT_WARPS}", "-DIMAGES=2"),
    )
    fused = pooled.pooled_named("lenet_conv_pool", 2)
    assert isinstance(fused, pooled.ConvPool)
    small = replace(fused, patch=(2, 2, 2), patches=(8, 10, 1), staged=3, unroll=1)
    for what, pool, spec in (
        ("layer 1", pooled.POOLS[0], fused),
        ("layer 2", pooled.POOLS[1], fused),
        ("ragged", 2, small),
    ):
        spec, shape = replace(spec, pool=pool), LAYERS[what]
        spec.require(shape)
        y, windows = Array("y", shape.y_shape), np.zeros(spec.pooled_shape(shape), np.float32)
        sums = _cells(shape.outputs).reshape(shape.y_shape) - np.float32(99)
        what = f"{what}, windows of {pool}"
        pooling = network_plan.pooling(y, "pooled", pool)
        yield Case.of(what, pooling, {"pooled": windows, "y": sums})
        (one,) = spec.plan(shape)
        yield Case.of(what, one, _layer_arrays(shape) | {"y": windows})


_PARTS = (
    _axpy,
    _waiting,
    _conv1d,
    _conv2d,
    _reduced,
    _tensor,
    _one_warp,
    _matrix_products,
    _background_copies,
    _fourier,
    _lenet,
    _copies,
    _planes,
    _products,
    _sums,
    _histograms,
    _lanes,
    _shared,
    _repeated_vectors,
    _calls,
    _more_atomics,
    _ladder,
    _loops_left,
    _mixed_atomics,
    _padded,
)
LAUNCHES: tuple[Case, ...] = tuple(launch for part in _PARTS for launch in part())


def matching(pattern: str, folder: Path) -> tuple[Case, ...]:
    """Return the launches whose label matches a regular expression; `folder` has the sources that
    kernels/ does not have.

    Raises ValueError if there is none, for a wrong expression, and for a missing source.
    """
    try:
        launches = tuple(
            replace(launch, folder=folder)
            for launch in LAUNCHES
            if re.search(pattern, launch.label)
        )
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
    if not launches:
        names = ", ".join(dict.fromkeys(launch.kernel for launch in LAUNCHES))
        raise ValueError(
            f"no launch has {pattern!r} in its label, which begins with its kernel's name: {names}"
        )
    missing = sorted({launch.path.name for launch in launches if not launch.path.exists()})
    if missing:
        raise ValueError(
            f"{folder} lacks {', '.join(missing)}: give the folder of the counted kernels"
        )
    return launches
