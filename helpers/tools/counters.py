"""The simulator's counters beside those of Nsight Compute, launch by launch.

    python -m helpers.tools.counters
    python -m helpers.tools.counters --only 'conv2d|gemm' --merge data/measured/counters.json
    python -m helpers.tools.counters --explain data/measured/counters.json

On a GPU host the launches of `LAUNCHES` run under ``ncu`` (one call for all of them, through PyCUDA
in the primary context), then in the simulator; a table says where the two agree, and
``results/counters.json`` keeps what was read (copy it to ``data/measured/``). Without a GPU the
recorded numbers stand in for ``ncu``, and the simulator is asked again: so does
``tests/simulator/test_counters.py``.

--only takes the launches whose label a regular expression is found in. --merge keeps, of the
launches that were not run, what another record of the same GPU and CUDA read, so that new launches
cost a short run. --explain asks the simulator again about everything in a record and writes its
numbers, and the reasons of `KNOWN`, into it: what ncu read stays, no GPU is needed. Every
difference without a reason is printed by launch and counter, with the source lines that the
simulator's number is made of.

Each launch is read `READINGS` times. The hardware adds to some counters now and then (a bank
conflict between two kinds of work in the load-store unit), never takes away: the lowest reading is
what the kernel does, and a reading that varied is recorded.

Exit status: 0 when every number is equal or its difference is one of `KNOWN`, 1 when one is not or
a launch is not in the record, 2 when ``ncu``, an option or a record cannot be used.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import io
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from helpers import device, kernels, limits, results, simulator, tables
from helpers.experiments import ncu
from helpers.experiments.ncu import NcuError
from helpers.launch import Launch, bound
from helpers.limits import ConvShape
from helpers.problems import conv1d, conv2d, datasets, fft
from helpers.problems.lenet import pipeline

KERNELS = results.ROOT / "tests" / "counters"
READINGS = 3

# Counters that must be equal: the Profile's name -> the metrics of Nsight Compute whose sum it is.
COMPARED = {
    "global_load_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",),
    "global_load_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",),
    "global_store_requests": ("l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",),
    "global_store_sectors": ("l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",),
    "global_atomic_requests": (
        "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
        "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    ),
    "global_atomic_sectors": (
        "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
        "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    ),
    "shared_load_wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",),
    "shared_load_conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",),
    "shared_store_wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",),
    "shared_store_conflicts": ("l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",),
    "shared_atomic_requests": ("smsp__inst_executed_op_shared_atom.sum",),
    "shared_atomic_wavefronts": ("l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",),
}
# Read and recorded, but not compared: the look-ups in constant memory are among the requests for a
# kernel's parameters.
OBSERVED = ("idc__requests.sum",)


@dataclass(frozen=True)
class Case:
    """One launch to count: the same source, options, arguments and grid on GPU and simulator.

    label: unique name, "kernel, what is special"; arguments: NumPy arrays (outputs zeroed) and
    NumPy scalars, the same at each call; constants: values of `__constant__` symbols; shared: bytes
    of dynamic shared memory.
    """

    kernel: str
    what: str
    arguments: Callable[[], Sequence[Any]]
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    options: tuple[str, ...] = ()
    constants: Mapping[str, np.ndarray] = field(default_factory=dict)
    shared: int = 0

    @classmethod
    def of(cls, what: str, one: Launch, arrays: Callable[[], Mapping[str, np.ndarray]]) -> Case:
        """Return the case of a launch of a plan, on the arrays that it names and their values."""

        def arguments() -> Sequence[Any]:
            return bound(one, arrays())[0]

        constants = bound(one, arrays())[1] if one.constants else {}
        how = one.grid, one.block, one.options, constants, one.shared
        return cls(one.name, what, arguments, *how)

    @property
    def label(self) -> str:
        return f"{self.kernel}, {self.what}" if self.what else self.kernel

    @property
    def path(self) -> Path:
        """The kernel's source: in kernels/ or in tests/counters/."""
        return (
            kernels.path(self.kernel)
            if self.kernel in kernels.names()
            else KERNELS / f"{self.kernel}.cu"
        )

    def profile(self) -> simulator.Profile:
        """The launch in the simulator."""
        return simulator.profile(
            self.path.read_text(),
            self.kernel,
            *self.arguments(),
            grid=self.grid,
            block=self.block,
            shared=self.shared,
            options=self.options,
            constants=self.constants,
        )


# --------------------------------------------------------------------------------------------------
# The launches


def _cells(count: int, dtype: Any = np.float32) -> np.ndarray:
    return (np.arange(count) % 251).astype(dtype)


def _bytes(count: int) -> np.ndarray:
    return np.random.default_rng(7).integers(0, 256, count, dtype=np.uint8)


def _ints(*values: int) -> list[np.int32]:
    return [np.int32(value) for value in values]


def _grid(cells: int, threads: int) -> tuple[int, int, int]:
    return (-(-cells // threads), 1, 1)


# Types of 1 to 16 bytes and the NumPy arrays that hold cells of them.
_TYPES = {"char": 1, "short": 2, "float": 4, "float2": 8, "double": 8, "float4": 16}


def _of_type(name: str, cells: int) -> np.ndarray:
    return np.zeros(cells * _TYPES[name], np.uint8)


def _conv1d() -> Iterable[Case]:
    cases = [
        (spec, n, width, "")
        for spec in conv1d.CONV1D
        for n in (1000, 10_007)
        for width in (3, 31)
        if spec.fits(width)
    ]
    nine = conv1d.conv1d_named("conv1d_outputs")
    eight = replace(nine, tile=8 * nine.threads, outputs=8)  # whose lanes meet the same banks
    for spec, n, width, more in (*cases, (eight, 92_160, 31, ", 8 outputs")):

        def arrays(n: int = n, width: int = width) -> dict[str, np.ndarray]:
            taps = np.linspace(-1, 1, width).astype(np.float32)
            return {"P": np.zeros(n, np.float32), "N": _cells(n), "filter": taps}

        (one,) = spec.plan(n, width)
        yield Case.of(f"n = {n}, filter of {width}{more}", one, arrays)


def _axpy() -> Iterable[Case]:
    for n in (1000, 4096):
        yield Case(
            "axpy_basic",
            f"n = {n}",
            partial(lambda n: [np.zeros(n, np.float32), _cells(n), np.int32(n), np.float32(2)], n),
            _grid(n, 256),
            (256, 1, 1),
        )


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
        options = (f"-DELEMENT={name}", f"-DSTRIDE={stride}", f"-DOFFSET={offset}")
        yield Case(
            "copy_strided",
            what,
            partial(lambda name: [_of_type(name, n), _of_type(name, wide), np.int32(n)], name),
            _grid(n, 128),
            (128, 1, 1),
            options,
        )
        if (stride, offset) != (1, 0):
            yield Case(
                "store_strided",
                what,
                partial(lambda name: [_of_type(name, wide), _of_type(name, n), np.int32(n)], name),
                _grid(n, 128),
                (128, 1, 1),
                options,
            )
    yield Case(
        "copy_reversed", "", lambda: [_cells(n), _cells(n), np.int32(n)], _grid(n, 128), (128, 1, 1)
    )
    yield Case(
        "copy_grid_stride", "", lambda: [_cells(n), _cells(n), np.int32(n)], (2, 1, 1), (96, 1, 1)
    )
    index = np.random.default_rng(3).permutation(n).astype(np.int32)
    for kernel in ("gather", "scatter"):
        yield Case(
            kernel,
            "a permutation",
            lambda: [_cells(n), _cells(n), index, np.int32(n)],
            _grid(n, 128),
            (128, 1, 1),
        )


def _planes() -> Iterable[Case]:
    for height, width in ((100, 67), (64, 96)):
        shape = f"{height} x {width}"

        def plane(height: int = height, width: int = width) -> list[Any]:
            return [_cells(height * width), _cells(height * width), *_ints(height, width)]

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
        yield Case("sum_rows", shape, plane, _grid(height, 64), (64, 1, 1))
        yield Case("sum_columns", shape, plane, _grid(width, 64), (64, 1, 1))
    for k in (3, 5):
        cells = 3 * (21 - k) * (18 - k)
        yield Case(
            "im2col",
            f"3 x 20 x 17, K = {k}",
            partial(
                lambda k, cells: [
                    np.zeros(k * k * cells, np.float32),
                    _cells(3 * 20 * 17),
                    *_ints(3, 20, 17),
                ],
                k,
                cells,
            ),
            _grid(cells, 128),
            (128, 1, 1),
            (f"-DK={k}",),
        )


def _products() -> Iterable[Case]:
    for rows, inner, columns in ((33, 45, 70), (64, 64, 64)):
        shape = f"{rows} x {inner} x {columns}"

        def matrices(rows: int = rows, inner: int = inner, columns: int = columns) -> list[Any]:
            return [
                _cells(rows * columns),
                _cells(rows * inner),
                _cells(inner * columns),
                *_ints(rows, inner, columns),
            ]

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
        yield Case(
            kernel,
            "n = 1000",
            lambda: [np.zeros(4, np.float32), _cells(1000), np.int32(1000)],
            (4, 1, 1),
            (256, 1, 1),
        )
    yield Case(
        "scan_block",
        "n = 1000",
        lambda: [_cells(1000), _cells(1000), np.int32(1000)],
        (4, 1, 1),
        (256, 1, 1),
    )


# Which bin each lane of a warp counts in: pairs, halves, everything in one sector or line, with and
# without repeats.
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
    for kernel in ("histogram_global", "histogram_shared"):
        for what, cells in (
            ("random", lambda: _bytes(1000)),
            ("one bin", lambda: np.full(1000, 5, np.uint8)),
        ):
            yield Case(
                kernel,
                what,
                partial(lambda cells: [np.zeros(256, np.uint32), cells(), np.int32(1000)], cells),
                (4, 1, 1),
                (256, 1, 1),
            )
    for what, rule in _BINS.items():
        yield Case(
            "histogram_global",
            f"a warp, bin {what}",
            partial(
                lambda rule: [
                    np.zeros(256, np.uint32),
                    rule(np.arange(32)).astype(np.uint8),
                    np.int32(32),
                ],
                rule,
            ),
            (1, 1, 1),
            (32, 1, 1),
        )


def _lanes() -> Iterable[Case]:
    n = 1000
    for first in (1, 16, 31):
        yield Case(
            "lanes_diverge",
            f"first {first}",
            lambda: [_cells(n), _cells(n), _cells(n), _cells(n), np.int32(n)],
            _grid(n, 128),
            (128, 1, 1),
            (f"-DFIRST={first}",),
        )
    yield Case(
        "lanes_odd", "", lambda: [_cells(n), _cells(n), np.int32(n)], _grid(n, 128), (128, 1, 1)
    )
    yield Case(
        "lanes_loop",
        "",
        lambda: [_cells(n), _cells(n + 64), np.int32(n)],
        _grid(n, 128),
        (128, 1, 1),
    )
    for stride in (0, 1, 5):
        yield Case(
            "constant_table",
            f"stride {stride}",
            lambda: [_cells(n), *_ints(3, n)],
            _grid(n, 128),
            (128, 1, 1),
            (f"-DSTRIDE={stride}",),
            {"table": _cells(1024)},
        )
    yield Case(
        "particles_aos",
        "",
        lambda: [_cells(3 * n), np.float32(0.5), np.int32(n)],
        _grid(n, 128),
        (128, 1, 1),
    )
    yield Case(
        "particles_soa",
        "",
        lambda: [_cells(n), _cells(n), _cells(n), np.float32(0.5), np.int32(n)],
        _grid(n, 128),
        (128, 1, 1),
    )
    yield Case(
        "rgb_to_grey",
        "",
        lambda: [_bytes(n), _bytes(3 * n), np.int32(n)],
        _grid(n, 128),
        (128, 1, 1),
    )


def _shared() -> Iterable[Case]:
    strides = {
        "char": (0, 1, 3, 4, 128),
        "short": (0, 1, 2, 3, 64),
        "float": (0, 1, 2, 3, 8, 32, 33),
    }
    strides |= {"double": (0, 1, 2, 3, 16), "float2": (1, 2), "float4": (0, 1, 2, 3, 8)}
    for name, several in strides.items():
        for stride in several:
            options = (f"-DELEMENT={name}", f"-DSTRIDE={stride}")

            def tile(name: str = name) -> list[Any]:
                return [_of_type(name, 64), _of_type(name, 16_384), np.int32(64)]

            yield Case(
                "shared_load", f"{name}, stride {stride}", tile, (1, 1, 1), (64, 1, 1), options
            )
            if stride:
                yield Case(
                    "shared_store", f"{name}, stride {stride}", tile, (1, 1, 1), (64, 1, 1), options
                )
    some_lanes = (
        ("float", 0x0000FFFF),
        ("double", 0x0000FFFF),
        ("double", 0x55555555),
        ("float4", 0x000000FF),
        ("float4", 0x11111111),
        ("float4", 0x80000001),
    )
    for name, active in some_lanes:
        yield Case(
            "shared_load",
            f"{name}, stride 2, lanes {active:#010x}",
            partial(lambda name: [_of_type(name, 64), _of_type(name, 16_384), np.int32(64)], name),
            (1, 1, 1),
            (64, 1, 1),
            (f"-DELEMENT={name}", "-DSTRIDE=2", f"-DACTIVE={active:#x}u"),
        )
    for name in ("double", "float4"):
        for index in ("t/2", "t/4", "t%8", "t%16", "t&~2", "t&~4", "t&~3", "t*t%32", "63-t"):
            yield Case(
                "shared_load",
                f"{name}, index {index}",
                partial(
                    lambda name: [_of_type(name, 64), _of_type(name, 16_384), np.int32(64)], name
                ),
                (1, 1, 1),
                (64, 1, 1),
                (f"-DELEMENT={name}", f"-DINDEX=({index})"),
            )
    for name in ("float2", "float4"):
        for pad in (0, 1):
            yield Case(
                "vector_rows",
                f"{name}, pad {pad}",
                partial(
                    lambda name: [_of_type(name, 512), _of_type(name, 512), np.int32(512)], name
                ),
                (2, 1, 1),
                (256, 1, 1),
                (f"-DVECTOR={name}", f"-DPAD={pad}"),
            )


# The two layers, and a small one that no tile, patch or group of output maps divides.
_RAGGED = ConvShape(2, C=3, M=5, H=43, W=38, K=7)
LAYERS = {
    "layer 1": conv2d.shape_of("layer 1", 1),
    "layer 2": conv2d.shape_of("layer 2", 1),
    "ragged": _RAGGED,
    "ragged, stride 2": dataclasses.replace(_RAGGED, stride=2),
}


def _conv2d() -> Iterable[Case]:
    """Every row of `conv2d.CONV2D`, for each shape of `LAYERS` that it takes."""
    for spec in conv2d.CONV2D:
        for what, shape in LAYERS.items():
            try:
                spec.require(shape)
            except conv2d.LayerError:
                continue
            for one in spec.plan(shape):
                yield Case.of(what, one, partial(_layer_arrays, shape))


def _layer_arrays(shape: ConvShape) -> dict[str, np.ndarray]:
    """y, x and the filter by name."""
    weights = np.linspace(-1, 1, np.prod(shape.filter_shape)).astype(np.float32)
    return {
        "y": np.zeros(shape.y_shape, np.float32),
        "x": _cells(math.prod(shape.x_shape)).reshape(shape.x_shape),
        "filter": weights.reshape(shape.filter_shape),
    }


def _reduced() -> Iterable[Case]:
    """The rows of `conv2d.REDUCED`, on what they round their inputs to, and to_half, which rounds it."""
    for n in (1001, 4096):
        yield Case(
            "to_half",
            f"n = {n}",
            partial(lambda n: [np.zeros(n, np.float16), _cells(n), np.int64(n)], n),
            _grid(n, 512),
            (256, 1, 1),
        )
    for spec in (*conv2d.REDUCED, conv2d.wmma(tf32=True)):
        for what, shape in LAYERS.items():
            if shape.stride != 1:
                continue

            def arrays(shape: ConvShape = shape) -> dict[str, np.ndarray]:
                given = _layer_arrays(shape)
                return given | {
                    "x as half": given["x"].astype(np.float16),
                    "filter as half": given["filter"].astype(np.float16),
                }

            tf32 = ", TF32" if getattr(spec, "tf32", False) else ""
            yield Case.of(f"{what}{tf32}", spec.plan(shape)[-1], arrays)


def _tensor() -> Iterable[Case]:
    """The kernels of mma.cuh: the rows of `conv2d.FASTEST`, and the two of the network.

    Their blocks are as many as a device holds at once, unless said: one is enough for one image.
    """
    for spec in (dataclasses.replace(one, blocks=1) for one in conv2d.FASTEST):
        for what, shape in LAYERS.items():
            try:
                spec.require(shape)
            except conv2d.LayerError:
                continue
            yield Case.of(what, spec.plan(shape)[-1], partial(_layer_arrays, shape))
    for pooled in pipeline.POOLED:
        if isinstance(pooled, pipeline.MmaPool):
            shape = LAYERS[pooled.layer]
            (one,) = dataclasses.replace(pooled, blocks=1).plan(shape)

            def arrays(shape: ConvShape = shape, pool: int = pooled.pool) -> dict[str, np.ndarray]:
                windows = pipeline.pooled_shape(shape, pool)
                return _layer_arrays(shape) | {"y": np.zeros(windows, np.float32)}

            yield Case.of(pooled.layer, one, arrays)


def _fourier() -> Iterable[Case]:
    for size, row, threads in ((256, 256, 128), (256, 256, 96), (1024, 32, 512)):

        def signals(size: int = size, row: int = row) -> list[Any]:
            cells = _cells(5 * size).reshape(5, size).astype(np.complex64)
            return [np.zeros_like(cells), cells, fft.twiddles(row)]

        yield Case(
            fft.TRANSFORM,
            f"{size} in rows of {row}, {threads} threads",
            signals,
            (5, 1, 1),
            (threads, 1, 1),
            (f"-DFFT_SIZE={size}", f"-DROW={row}"),
            shared=8 * size,
        )
    for spec, n, width in ((fft.OverlapAdd(8), 1000, 31), (fft.OverlapAdd(10), 10_007, 255)):

        def cells(
            spec: fft.OverlapAdd = spec, n: int = n, width: int = width
        ) -> dict[str, np.ndarray]:
            padded = spec.prepared(np.linspace(-1, 1, width).astype(np.float32))
            made = fft.reference(padded).astype(np.complex64)
            return {"P": np.zeros(n, np.float32), "N": _cells(n), "spectrum": made}

        yield Case.of(f"n = {n}, filter of {width}", spec.plan(n, width)[-1], cells)
    shape = dataclasses.replace(_RAGGED, B=3)  # a block takes two images
    for tiles in (fft.Tiles(4), fft.Tiles(5)):

        def images(tiles: fft.Tiles = tiles) -> dict[str, np.ndarray]:
            given = _layer_arrays(shape)
            spectra = fft.reference(tiles.prepared(given["filter"]), tiles.side)
            return given | {"spectra": spectra.astype(np.complex64)}

        yield Case.of(f"ragged, tiles of {tiles.side}", tiles.plan(shape)[-1], images)


def _lenet() -> Iterable[Case]:
    """The network's other kernels."""
    side = datasets.NETWORK_SIDE
    yield Case(
        "lenet_resize",
        "2 images",
        lambda: [np.zeros((2, 1, side, side), np.float32), _bytes(2 * datasets.SIDE**2)],
        (2, 1, 1),
        (side // 2, pipeline.RESIZE_ROWS, 1),
    )
    inputs, units, outputs = pipeline.CELLS, pipeline.HIDDEN, pipeline.CLASSES
    each = pipeline.DENSE_WARPS * pipeline.DENSE_EACH  # images of a block

    def dense(images: int = each + 5) -> list[Any]:
        arrays = map(_cells, (images * inputs, inputs * units, units, units * outputs, outputs))
        return [
            np.zeros(images, np.uint8),
            np.zeros((images, outputs), np.float32),
            *arrays,
            np.int32(images),
        ]

    yield Case(
        "lenet_dense", f"{each + 5} images", dense, (2, 1, 1), (32 * pipeline.DENSE_WARPS, 1, 1),
        (f"-DWARPS={pipeline.DENSE_WARPS}", f"-DEACH={pipeline.DENSE_EACH}"),
    )  # fmt: skip
    fused = pipeline.pooled_named("lenet_conv_pool", 2)
    assert isinstance(fused, pipeline.ConvPool)
    small = dataclasses.replace(fused, patch=(2, 2, 2), patches=(8, 10, 1), staged=3, unroll=1)
    for what, pool, spec in (
        ("layer 1", pipeline.POOLS[0], fused),
        ("layer 2", pipeline.POOLS[1], fused),
        ("ragged", 2, small),
    ):
        spec, shape = dataclasses.replace(spec, pool=pool), LAYERS[what]
        spec.require(shape)
        windows = spec.pooled_shape(shape)

        def pooled(shape: ConvShape = shape, windows: tuple[int, ...] = windows) -> list[Any]:
            return [
                np.zeros(windows, np.float32),
                _cells(shape.outputs) - 99,
                np.int32(shape.B * shape.M),
            ]

        yield Case(
            "lenet_pool", f"{what}, windows of {pool}", pooled,
            _grid(int(np.prod(windows)), pipeline.BLOCK), (pipeline.BLOCK, 1, 1),
            (f"-DHEIGHT={shape.out_h}", f"-DWIDTH={shape.out_w}", f"-DPOOL={pool}"),
        )  # fmt: skip

        def arrays(
            shape: ConvShape = shape, windows: tuple[int, ...] = windows
        ) -> dict[str, np.ndarray]:
            return _layer_arrays(shape) | {"y": np.zeros(windows, np.float32)}

        (one,) = spec.plan(shape)
        yield Case.of(f"{what}, windows of {pool}", one, arrays)


_PARTS = (
    _axpy,
    _conv1d,
    _conv2d,
    _reduced,
    _tensor,
    _fourier,
    _lenet,
    _copies,
    _planes,
    _products,
    _sums,
    _histograms,
    _lanes,
    _shared,
)
LAUNCHES: tuple[Case, ...] = tuple(launch for part in _PARTS for launch in part())


def matching(pattern: str) -> tuple[Case, ...]:
    """The launches whose label the regular expression is found in. Raises ValueError for none, or no regular expression."""
    try:
        found = tuple(launch for launch in LAUNCHES if re.search(pattern, launch.label))
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
    if not found:
        names = ", ".join(dict.fromkeys(launch.kernel for launch in LAUNCHES))
        raise ValueError(
            f"no launch has {pattern!r} in its label, which begins with its kernel's name: {names}"
        )
    return found


# Differences that are understood: label (or kernel, for all its launches) -> counters -> why. The
# numbers are in the record.
_TURNS = (
    "lanes whose bins repeat take turns; where many bins are hit as well, "
    "the hardware takes a few more, by a rule not known here"
)
_BUSY = (
    "the hardware repeats a pass now and then while shared memory does other work: "
    "at most 1.5 % of the passes"
)
_JOINED = (
    "nvcc joins two loads of neighbours to one; the simulator's compiler, NVRTC, "
    "writes their addresses in another way, in which they stay two"
)
_MORE = (
    "the hardware takes 78 to 82 passes more (4 %) in three readings; by which rule is not known"
)
KNOWN: dict[str, dict[str, str]] = {
    "conv2d_mma_pairs, layer 2": {
        "shared_store_wavefronts": _MORE,
        "shared_store_conflicts": _MORE,
    },
    "reduce_interleaved, n = 1000": {
        "shared_load_wavefronts": _JOINED,
        "shared_load_conflicts": _JOINED,
    },
    "histogram_global, random": {"global_atomic_sectors": _TURNS},
}


def reason(launch: Case, counter: str, counted: int, read: Mapping[str, Any]) -> str | None:
    """Why this counter of this launch is known to differ; None where it must be equal."""
    known = KNOWN.get(launch.label, {}).get(counter) or KNOWN.get(launch.kernel, {}).get(counter)
    if (
        known is None
        and counter.startswith("shared_")
        and counter.endswith(("_wavefronts", "_conflicts"))
    ):
        wavefronts = read[counter.replace("_conflicts", "_wavefronts")]
        return _BUSY if 0 < read[counter] - counted <= 0.015 * wavefronts else None
    return known


# --------------------------------------------------------------------------------------------------
# On a GPU, under ncu


def read_with_ncu(only: str = "") -> list[dict[str, int | str]]:
    """Run launches under ncu: for each of ``matching(only)``, metric -> lowest reading, "readings METRIC" where they varied.

    Raises NcuError, and ValueError as `matching` does.
    """
    launches = matching(only)
    program = ncu.program()
    # Here, because ncu would follow the compiler's processes as well.
    binaries = _build_all(launches)
    metrics = [*(metric for several in COMPARED.values() for metric in several), *OBSERVED]
    with tempfile.TemporaryDirectory() as folder:
        for number, binary in enumerate(binaries.values()):
            (Path(folder) / f"{number}.cubin").write_bytes(binary)
        log = Path(folder) / "ncu.csv"
        options = [
            "--clock-control",
            "none",
            "--cache-control",
            "none",
            "--csv",
            "--log-file",
            str(log),
        ]
        script = [
            sys.executable,
            "-m",
            "helpers.tools.counters",
            f"--launch={folder}",
            f"--only={only}",
        ]
        command = [program, *options, "--metrics", ",".join(metrics), *script]
        how: dict[str, Any] = {"text": True, "env": ncu.environment(), "cwd": results.ROOT}
        done = subprocess.run(command, check=False, stderr=subprocess.PIPE, **how)
        return _readings(log.read_text() if log.exists() else "", done.stderr, launches)


def _readings(output: str, errors: str, launches: Sequence[Case]) -> list[dict[str, int | str]]:
    rows = list(
        csv.DictReader(
            io.StringIO("\n".join(line for line in output.splitlines() if line.startswith('"')))
        )
    )
    seen: dict[int, dict[str, Any]] = {}
    for row in rows:
        of_launch = seen.setdefault(
            int(row["ID"]), {"kernel": row["Kernel Name"].partition("(")[0]}
        )
        of_launch[row["Metric Name"]] = _number(row["Metric Value"])
    wanted = [launch for launch in launches for _ in range(READINGS)]
    found = [seen[number] for number in sorted(seen)]
    if [row["kernel"] for row in found] != [launch.kernel for launch in wanted]:
        said = "\n".join((output + errors).strip().splitlines()[-12:])
        raise NcuError(f"ncu saw {len(found)} launches of {len(wanted)}. It said:\n{said}")
    return [_lowest(found[k : k + READINGS]) for k in range(0, len(found), READINGS)]


def _number(text: str) -> int | None:
    try:
        return int(float(text.replace(",", "")))
    except ValueError:  # "n/a": this chip does not count it
        return None


def _lowest(readings: Sequence[Mapping[str, Any]]) -> dict[str, int | str]:
    row: dict[str, int | str] = {}
    for metric in readings[0]:
        values = [reading[metric] for reading in readings]
        if metric == "kernel" or None in values:
            continue
        row[metric] = min(values)
        if min(values) != max(values):
            row[f"readings {metric}"] = " ".join(map(str, values))
    return row


def _build_all(launches: Sequence[Case]) -> dict[tuple[Path, tuple[str, ...]], bytes]:
    """Compile each source with each set of options of `_binaries` once, several at a time."""
    import pycuda.compiler
    import pycuda.driver as cuda

    arch = "sm_{}{}".format(*cuda.Context.get_device().compute_capability())
    wanted = _binaries(launches)

    def build(item: tuple[Path, tuple[str, ...]]) -> bytes:
        return pycuda.compiler.compile(
            item[0].read_text(), options=list(item[1]), no_extern_c=True, arch=arch
        )

    # Each compilation is a process of nvcc.
    with ThreadPoolExecutor(min(16, os.cpu_count() or 1)) as pool:
        return dict(zip(wanted, pool.map(build, wanted), strict=True))


def _binaries(launches: Sequence[Case]) -> list[tuple[Path, tuple[str, ...]]]:
    """Sources and their options, each pair once."""
    return list(dict.fromkeys((launch.path, launch.options) for launch in launches))


def launch_all(launches: Sequence[Case], folder: Path) -> None:
    """Launch each `READINGS` times on the GPU, from the binaries in ``folder``; ncu runs this in a process of its own."""
    device.select()
    import pycuda.driver as cuda

    binaries = {
        item: (folder / f"{number}.cubin").read_bytes()
        for number, item in enumerate(_binaries(launches))
    }
    for number, launch in enumerate(launches):
        if number % 20 == 0:
            print(f"launch {number + 1} of {len(launches)}", flush=True)
        module = cuda.module_from_buffer(binaries[launch.path, launch.options])
        for symbol, value in launch.constants.items():
            cuda.memcpy_htod(module.get_global(symbol)[0], np.ascontiguousarray(value))
        values = [cuda.to_device(a) if isinstance(a, np.ndarray) else a for a in launch.arguments()]
        function = module.get_function(launch.kernel)
        if launch.shared > limits.STATIC_SHARED_BYTES:
            function.set_attribute(
                cuda.function_attribute.MAX_DYNAMIC_SHARED_SIZE_BYTES, launch.shared
            )
        for _ in range(READINGS):
            function(*values, grid=launch.grid, block=launch.block, shared=launch.shared)
            cuda.Context.synchronize()


# --------------------------------------------------------------------------------------------------
# Side by side


@dataclass(frozen=True)
class Compared:
    """One counter of one launch. why: the reason when the difference is a known one, None when there may be none."""

    launch: Case
    counter: str
    ncu: int
    simulator: int
    why: str | None

    @property
    def equal(self) -> bool:
        return self.ncu == self.simulator

    def __str__(self) -> str:
        return "=" if self.equal else f"{self.simulator:,}/{self.ncu:,}{'*' if self.why else ' !'}"


def count(launch: Case) -> dict[str, int]:
    """The simulator's counters of ``launch``. Raises AssertionError where it stopped the launch."""
    profile = launch.profile()
    if not profile.completed:
        raise AssertionError(f"{launch.label}: the simulator stopped it\n{profile}")
    return profile.counters()


def compare(
    launch: Case, read: Mapping[str, Any], counted: Mapping[str, int] | None = None
) -> list[Compared]:
    """The simulator's counters of ``launch`` (``counted``, where known) beside those read: counter name -> number."""
    counted = counted or count(launch)
    return [
        Compared(
            launch, name, int(read[name]), counted[name], reason(launch, name, counted[name], read)
        )
        for name in COMPARED
    ]


def measure(only: str = "") -> list[dict[str, Any]]:
    """One row a launch of ``matching(only)`` for ``results.record``: counters as ncu read them, and `annotated`.

    Raises as `read_with_ncu` does.
    """
    launches = matching(only)
    # First: what fails here must not cost the readings.
    counted = [count(launch) for launch in launches]
    rows = []
    for launch, read, ours in zip(launches, read_with_ncu(only), counted, strict=True):
        row: dict[str, Any] = {"series": launch.kernel, **_identity(launch)}
        row |= {
            name: sum(int(read.get(metric, 0)) for metric in metrics)
            for name, metrics in COMPARED.items()
        }
        rows.append(
            annotated(launch, row, ours)
            | {key: value for key, value in read.items() if key not in _METRICS}
        )
    return rows


_METRICS = frozenset(metric for several in COMPARED.values() for metric in several)


def _identity(launch: Case) -> dict[str, str]:
    """What a row says of its launch."""
    options = " ".join(one for one in launch.options if not one.startswith("-I"))
    how = {
        "launch": launch.label,
        "grid": str(launch.grid),
        "block": str(launch.block),
        "options": options,
    }
    return how | ({"shared": str(launch.shared)} if launch.shared else {})


def annotated(
    launch: Case, row: Mapping[str, Any], counted: Mapping[str, int] | None = None
) -> dict[str, Any]:
    """The row with "simulator COUNTER" and "why COUNTER" where the simulator's number is another, and nowhere else."""
    plain = {key: value for key, value in row.items() if not key.startswith(("simulator ", "why "))}
    for found in compare(launch, plain, counted):
        if not found.equal:
            plain |= {
                f"simulator {found.counter}": found.simulator,
                f"why {found.counter}": found.why,
            }
    return plain


def recorded(launch: Case, row: Mapping[str, Any]) -> list[Compared]:
    """The comparison that a row of the record holds."""
    return [
        Compared(
            launch, name, row[name], row.get(f"simulator {name}", row[name]), row.get(f"why {name}")
        )
        for name in COMPARED
    ]


def table(compared: Sequence[Compared]) -> str:
    """A line for each launch and a column for each counter of which one differs: "=" where equal, else simulator/ncu.

    A * says that the reason is known and stands below, a ! that it is not.
    """
    differ = [found for found in compared if not found.equal]
    columns = [name for name in COMPARED if any(found.counter == name for found in differ)]
    lines: dict[str, list[str]] = {}
    for found in compared:
        cells = lines.setdefault(found.launch.label, [])
        if found.counter in columns:
            cells.append(str(found))
    head = ["launch", *(name.replace("_", "\n") for name in columns)]
    text = tables.text(head, [[label, *cells] for label, cells in lines.items()])
    reasons = dict.fromkeys(
        f"* {found.launch.kernel}, {found.counter}: {found.why}" for found in differ if found.why
    )
    return "\n".join([text, *reasons, summary(compared)])


def summary(compared: Sequence[Compared]) -> str:
    """How many numbers are equal, differ for a known reason, and differ for none."""
    known = sum(not found.equal and found.why is not None for found in compared)
    unknown = [found for found in compared if not found.equal and found.why is None]
    launches = len({found.launch.label for found in compared})
    kernel_count = len({found.launch.kernel for found in compared})
    said = (
        f"{launches} launches of {kernel_count} kernels, {len(compared):,} numbers: "
        f"{sum(f.equal for f in compared):,} equal, "
    )
    return said + f"{known} differ for a known reason, {len(unknown)} for none"


def unexplained(compared: Sequence[Compared]) -> list[str]:
    """A text for each difference without a reason: launch, counter, both numbers, and what the simulator's is made of."""
    return [
        f"{found.launch.label}: {found.counter} {found.simulator:,} in the simulator, "
        f"{found.ncu:,} by ncu ({found.ncu - found.simulator:+,}); the simulator's by line: "
        f"{_by_line(found)}"
        for found in compared
        if not found.equal and found.why is None
    ]


def _by_line(found: Compared) -> str:
    space, access, what = found.counter.split("_")
    rows = [
        row for row in found.launch.profile().lines if (row.space, row.access) == (space, access)
    ]
    return ", ".join(f"{row.line} ({row.array}) {getattr(row, what):,}" for row in rows) or "none"


# --------------------------------------------------------------------------------------------------
# Records made of more than one run


def require_mergeable(before: results.Record, launches: Sequence[Case], gpu: device.Device) -> None:
    """Raise RecordError unless the rows of ``before`` that ``launches`` do not replace can stand in a record of this GPU.

    They cannot when another GPU or CUDA read them, or when a kernel or the way it is launched has
    changed since.
    """
    here = gpu.name, cuda_version()
    there = before.device.name, before.software["cuda_runtime"]
    if here != there:
        raise results.RecordError(
            f"the record to merge is of {there[0]} with CUDA {there[1]}, and this is "
            f"{here[0]} with CUDA {here[1]}: leave --merge and --only out, "
            "and measure everything here"
        )
    run, changed = {launch.label for launch in launches}, before.changed_sources()
    kept = {row["launch"]: row for row in before.rows() if row["launch"] not in run}
    other = [
        launch.label
        for launch in LAUNCHES
        if (row := kept.get(launch.label))
        and (
            launch.kernel in changed
            or any(row.get(key) != value for key, value in _identity(launch).items())
        )
    ]
    if other:
        raise results.RecordError(
            f"changed since the record to merge was made: {'; '.join(other)}. "
            "Have --only match these, too"
        )


def cuda_version() -> str:
    """The CUDA that PyCUDA was built for, as records say it."""
    import pycuda.driver as cuda

    return ".".join(map(str, cuda.get_version()))


def merged(rows: Sequence[Mapping[str, Any]], before: results.Record) -> list[dict[str, Any]]:
    """``rows``, and those rows of ``before`` that they do not replace, in the order of `LAUNCHES`.

    A row that is kept says under "created" when it was read. A row whose launch is no longer in
    `LAUNCHES` is left out.
    """
    kept = {row["launch"]: {"created": before.created, **row} for row in before.rows()}
    found = kept | {row["launch"]: dict(row) for row in rows}
    return [found[launch.label] for launch in LAUNCHES if launch.label in found]


def explain(path: Path | str) -> results.Record:
    """Write the simulator's numbers and the reasons of `KNOWN` into a record's file anew; return the record.

    What ncu read, and when, stays. Raises RecordError where the record cannot be read or written.
    """
    before, launches = results.load(path), {launch.label: launch for launch in LAUNCHES}
    measurements = tuple(
        dataclasses.replace(m, parameters=annotated(launches[label], m.parameters))
        for m in before.measurements
        if (label := m.parameters["launch"]) in launches
    )
    after = dataclasses.replace(before, measurements=measurements)
    try:
        Path(path).write_text(after.to_json())
    except OSError as error:
        raise results.RecordError(
            f"{path} cannot be written ({error.strerror}): make it writable, or explain a copy"
        ) from error
    return after


# --------------------------------------------------------------------------------------------------
# The command


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m helpers.tools.counters", description=__doc__.partition("\n")[0]
    )
    parser.add_argument(
        "--only", metavar="REGEX", default="", help="the launches whose label this is found in"
    )
    parser.add_argument(
        "--merge", metavar="RECORD", help="keep what this record has of the other launches"
    )
    parser.add_argument(
        "--explain",
        metavar="RECORD",
        help="write the simulator's side of this record anew; no GPU is needed",
    )
    # What runs under ncu.
    parser.add_argument("--launch", type=Path, metavar="FOLDER", help=argparse.SUPPRESS)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the comparison; print its table. Returns the exit status."""
    asked = _parser().parse_args(argv)
    try:
        launches = matching(asked.only)
        if asked.launch:
            launch_all(launches, asked.launch)
            return 0
        if asked.explain:
            return _report(explain(asked.explain), launches, recorded)
        record = _read(asked, launches)
    except (NcuError, results.RecordError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    # On a GPU the simulator has just been asked.
    return _report(
        record, LAUNCHES if asked.merge else launches, compare if record.recalled else recorded
    )


def _read(asked: argparse.Namespace, launches: Sequence[Case]) -> results.Record:
    gpu = device.select()
    if not asked.merge:
        return results.record("counters", lambda: measure(asked.only), device=gpu, lab="counters")
    if gpu.kind != "gpu":
        raise results.RecordError(
            "--merge adds what a GPU reads to a record, and there is no GPU here; "
            "--explain needs none"
        )
    before = results.load(asked.merge)
    require_mergeable(before, launches, gpu)
    return results.record(
        "counters", lambda: merged(measure(asked.only), before), device=gpu, lab="counters"
    )


def _report(
    record: results.Record, launches: Sequence[Case], side_by_side: Callable[..., list[Compared]]
) -> int:
    read = {row["launch"]: row for row in record.rows()}
    missing = [launch.label for launch in launches if launch.label not in read]
    if missing:
        print(
            f"{len(missing)} launches are not in the record, measure them: {'; '.join(missing)}",
            file=sys.stderr,
        )
    compared = [
        found
        for launch in launches
        if launch.label in read
        for found in side_by_side(launch, read[launch.label])
    ]
    print(f"{record.caption()}: simulator/ncu where they differ\n{table(compared)}")
    differences = unexplained(compared)
    print("\n".join(f"! {text}" for text in differences))
    return int(bool(missing or differences))


if __name__ == "__main__":
    sys.exit(main())
