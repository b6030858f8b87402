"""What each kernel of kernels/ is launched with: grid, block, shared memory, macros, arguments. Its
header says the same, and so does its source.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from helpers import bench, kernels
from helpers.experiments import waiting
from helpers.launch import Argument, Array, Launch, Plan, Prepared, Scratch, TensorMap
from helpers.limits import ConvShape
from helpers.problems import (
    conv1d,
    conv2d,
    copies,
    fft,
    fft_conv1d,
    fft_conv2d,
    gemm,
    in_flight,
    tensor_product,
)
from helpers.problems.lenet import network_plan, pooled
from tests import golden
from tests.kernels import cards

# Layers of one image and of many, one that nothing divides, strides, and more than one chunk.
SHAPES = {
    "layer 1, 1 image": conv2d.shape_of("layer 1", 1),
    "layer 1, 1,000 images": conv2d.shape_of("layer 1", 1000),
    "layer 2, 3 images": conv2d.shape_of("layer 2", 3),
    "layer 2, 10,000 images": conv2d.shape_of("layer 2", 10_000),
    "layer E1, 500 images": conv2d.shape_of("layer E1", 500),
    "layer E2, 3 images": conv2d.shape_of("layer E2", 3),
    "layer E2, 2,000 images": conv2d.shape_of("layer E2", 2000),
    "ragged": ConvShape(2, C=3, M=5, H=43, W=38, K=7),
    "ragged, stride 2": ConvShape(2, C=3, M=5, H=43, W=38, K=7, stride=2),
    "20 channels": ConvShape(2, C=20, M=17, H=13, W=14, K=3),
    "64 channels": conv2d.KNOWN_LAYERS["ResNet-50, 56 x 56"],
}
CELLS, WIDTHS = (1, 1000, 10_007, 10**8), (1, 3, 31, 255)


def lines():
    """1D convolutions and what stands beside them, as the labs launch them and in other sizes."""
    sized = [("conv1d_constant", {"threads": 96}), ("conv1d_tiled_steps", {"TILE_WIDTH": 96})]
    sized += [
        ("conv1d_outputs", {"TILE_WIDTH": 1024, "OUTPUTS": 8}),
        ("conv1d_vector", {"TILE_WIDTH": 384, "OUTPUTS": 12}),
    ]
    for n, width in itertools.product(CELLS, WIDTHS):
        where = f"n = {n:,}, filter of {width}"
        for spec in conv1d.CONV1D:
            if spec.fits(width):
                yield (f"{spec.name}, {where}", spec.plan(n, width))
        problem = bench.conv1d(n, width)
        for name, sizes in sized:
            kernel = problem.kernel(name, **sizes)
            yield (f"{kernel.title}, {where}", problem.plan(kernel))
        for spec in (fft_conv1d.OverlapAdd.fastest(width), fft_conv1d.OverlapAdd(13, 5)):
            yield (f"{spec.name} of {spec.size}, {where}", spec.plan(n, width))
    for name, tile, threads in itertools.product(copies.NAMES, (512, 2048), (128, 256)):
        plan = copies.Copies(name, tile, threads).plan(4096, 15, blocks=3)
        yield (f"{name}, tiles of {tile}, {threads} threads", plan)
    for spec in (in_flight.InFlight(), in_flight.InFlight(threads=128, loads=8, shared_kb=8)):
        yield (f"{spec}", spec.plan(10_007, 6))
    for name in (waiting.CHAIN, waiting.SHARED_CHAIN):
        yield (name, waiting.chain_plan(name, 1024, 3, 100))
    for n in (1000, 10**8):
        problem = bench.axpy(n)
        yield (f"axpy_basic, n = {n:,}", problem.plan(problem.kernel("axpy_basic")))


def products():
    """Products of matrices, and Fourier transforms."""
    specs = (*gemm.GEMM, *gemm.HALVES, *(spec for _, c in gemm.CHOICES.items() for spec, _ in c))
    for spec, (rows, cols, inner) in itertools.product(
        dict.fromkeys((*specs, gemm.pipelined(8, 16, 3))),
        ((130, 200, 45), (264, 136, 72), (4096, 8192, 1024)),
    ):
        if not spec.halves or not (cols % 8 or inner % 8):
            sizes = f"{dict(spec.constants)}, {rows} x {inner} by {inner} x {cols}"
            yield (f"{spec.name} {sizes}", spec.plan(rows, cols, inner))
    for product in (tensor_product.ONE_WARP, tensor_product.LDMATRIX):
        yield (product.name, product.plan())
    for split in (tensor_product.Split(), tensor_product.Split(1, 0)):
        yield (f"{split}", split.plan(batch=3, steps=10))
    A, B = Array("A", (16, 160)), Array("B", (3, 160, 8))
    yield ("units", tensor_product.Units().plan_for(A, B))
    for size, row in ((2, None), (256, None), (8192, None), (1024, 32)):
        spectrum = Scratch("spectrum", (5, size), np.complex64)
        one = fft.transform(spectrum, Array("x", (5, size), np.complex64), (5, size), row)
        yield (f"fft_radix2, {size} in rows of {row}", (one,))


def layers():
    """The convolution layer's kernels for every shape that they take."""
    specs = [*conv2d.CONV2D, *conv2d.TAUGHT, *conv2d.SMALL, *conv2d.REDUCED, *conv2d.IMPLICIT]
    specs += [conv2d.implicit_wgmma(), *conv2d.FASTEST, *conv2d.WARPGROUPS, fft_conv2d.LAYER]
    specs += [conv2d.mma_halves(True), conv2d.mma_quads(1, True), conv2d.mma_wgmma(1, True)]
    specs += [conv2d.implicit_mma(1, True), conv2d.wmma(tf32=True), conv2d.wmma(skew=0, warps=4)]
    specs += [conv2d.half2(2, 3, "all"), conv2d.channels_tree(8, 2), conv2d.channels_shuffle(8, 4)]
    specs += [conv2d.register_2d(**conv2d.REGISTER_2D["layer 2"])]
    specs += [conv2d.conv2d_named("conv2d_tiled_maps").with_tile(8, 3)]
    tiled = conv2d.conv2d_named("conv2d_register_tiled")
    specs += [dataclasses.replace(tiled, **how) for how in conv2d.OCCUPANCY.values()]
    specs += conv2d.CHANNELS_LAST
    pairs = dataclasses.replace(conv2d.conv2d_named("im2col_gemm"), images=2)
    yield "im2col_gemm by pairs", pairs.plan(SHAPES["layer 2, 3 images"])
    for number, spec in enumerate(specs):
        for where, shape in SHAPES.items():
            try:
                spec.require(shape)
            except (ValueError, AssertionError):
                continue
            yield (f"{number} {spec.name}, {where}", spec.plan(shape))


def network():
    """The kernels of the whole network that are no layers."""
    for batch, pixels in itertools.product((1, 32, 100, 700, 10_000), (True, False)):
        for layers in (network_plan.PLAIN, network_plan.FUSED, network_plan.TENSOR_CORES):
            for step in network_plan.stages(layers, batch, pixels=pixels):
                if not step.kernel.startswith("conv2d"):
                    yield (f"{step.name}, {step.kernel}, {batch} images, {pixels}", step.plan)
    for spec in pooled.POOLED:
        shape = conv2d.shape_of(getattr(spec, "layer", "") or "layer 2", 100)
        if spec.name != "lenet_wgmma_2":
            spec.require(shape)
        yield (f"{spec.name}, {spec.pool}", spec.plan(shape))


ROOMS = (lines, products, layers, network)


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.__name__)
def test_launches_are_golden(room):
    """Their golden rows: what a GPU is given, without the text of the source."""
    for label, plan in planned(room).items():
        golden.require("launches", label, [row_of(one) for one in plan])


@functools.cache
def planned(room: Callable[[], Iterator[tuple[str, Plan]]]) -> dict[str, Plan]:
    """The plans of a room by label."""
    return dict(room())


def row_of(one: Launch) -> dict[str, Any]:
    """A launch as plain values; the order of its macros means nothing."""
    row = {
        "kernel": one.name,
        "changed": one.source != kernels.source(one.name),
        "options": sorted(golden.anywhere(option) for option in one.options),
        "grid": one.grid,
        "block": one.block,
        "shared": one.shared,
        "constants": {name: value_of(value) for name, value in one.constants.items()},
        "arguments": [value_of(value) for value in one.arguments],
    }
    return {key: value for key, value in row.items() if value}


def value_of(value: Argument) -> str:
    """An argument as plain text."""
    if isinstance(value, (Array, Scratch)):
        kind = "scratch " if isinstance(value, Scratch) else ""
        zeroed = " zeroed" if getattr(value, "zeroed", False) else ""
        part = f", entries {value.entries}" if getattr(value, "entries", None) else ""
        shape = f"{np.dtype(value.dtype)} {tuple(value.shape)}"
        return f"{kind}{value.name}: {shape}{zeroed}{part}"
    if isinstance(value, Prepared):
        return f"Prepared of {value_of(value.of)}, {value.nbytes} bytes"
    if isinstance(value, TensorMap):
        return f"TensorMap of {value_of(value.of)}, tiles {value.tile}"
    if isinstance(value, np.ndarray):
        return f"table {value.dtype} {value.shape}"
    return f"{np.dtype(type(value))} {value}"


# --------------------------------------------------------------------------------------------------
# Headers

# Folders of kernels/ whose files have no card, and why.
WITHOUT = {"rates": "evidence.rates chooses types, sizes and grids by what a GPU is asked for"}


@functools.cache
def launches() -> dict[str, list[Launch]]:
    """The launches of each kernel as it is in kernels/: the first and the last of other macros."""
    found: dict[str, dict[tuple, Launch]] = {}
    for plan in (plan for room in ROOMS for plan in planned(room).values()):
        for one in plan:
            if one.source == kernels.source(one.name):
                found.setdefault(one.name, {})[one.options] = one
    return {name: [*several.values()] for name, several in found.items()}


@pytest.mark.parametrize("name", kernels.names())
def test_a_header_says_what_source_and_launch_do(name):
    card = cards.read(name, kernels.source(name))
    assert name in launches(), f"no room above launches {name}: add it to one"
    first, *_, last = launches()[name] * 2
    assert card.faults(first) == []
    assert first is last or card.faults(last) == []


def test_a_folder_without_cards_has_a_reason():
    """The exercises' solutions have no header: their launches are the cases of the exercise."""
    folders = {path.parent.name for path in kernels.FOLDER.rglob("*.cu")} - {kernels.FOLDER.name}
    assert folders == set(WITHOUT)


TILED, VECTOR, ATOMICS = "conv1d_tiled_input", "conv1d_vector", "conv2d_channels_atomics"
WRONG = {
    "another block": (TILED, "block = (TILE_WIDTH, 1", "block = (2 * TILE_WIDTH, 1", "256 in fact"),
    "another grid": (TILED, "(TILE_WIDTH - 2R)), 1)", "TILE_WIDTH), 1)", "the grid along x is"),
    "another axis": (ATOMICS, "M * C, B)", "B, M * C)", "the grid along y is B"),
    "bounds": (VECTOR, "__launch_bounds__(THREADS)", "__launch_bounds__(64)", "bounds of 64"),
    "an array less": (TILED, "N, P: float32", "P: float32", "Arrays lacks N"),
    "an array more": (TILED, "N, P: float32", "N, P, Q: float32", "Arrays has Q"),
    "another type": (TILED, "N, P: float32", "N, P: half", "N is half by the header, float in"),
    "another type in the source": (TILED, "float* P", "double* P", "P is float32 by the header"),
    "another shape": (TILED, "shape (FILTER_WIDTH,)", "shape (2R,)", "filter has the extent 2R"),
    "more axes": (ATOMICS, "(B, C, H, W)", "(B, C, H, W, 2)", "cells by the header"),
    "an unknown size": (TILED, "float32, shape (n,)", "float32, shape (n, 2m)", "Arrays has m,"),
    "a macro less": (TILED, "TILE_WIDTH (cells", "Sizes (cells", "Constants lacks TILE_WIDTH"),
    "a macro more": (TILED, "FILTER_WIDTH by", "FILTER_WIDTH, UNROLL by", "source has no UNROLL"),
    "another macro in the source": (TILED, "#ifndef TILE_WIDTH", "#ifndef SIZE", "lacks SIZE"),
    "another kind of memory": (TILED, "bytes, static", "bytes, dynamic", "static shared memory"),
    "more shared memory": (TILED, "shared: TILE_WIDTH * 4", "shared: TILE_WIDTH * 8", "in fact"),
    "more of it in the source": (TILED, "tile[TILE_WIDTH]", "tile[TILE_WIDTH + 1]", "in fact"),
    "no constant memory": (TILED, "constant: FILTER", "FILTER", "Memory has the symbols []"),
    "more constant memory": (TILED, "WIDTH * 4 bytes in `f", "WIDTH * 8 bytes in `f", "in fact"),
    "another definition": (TILED, "R = FILTER_WIDTH / 2", "R = FILTER_WIDTH", "in fact"),
    "an unknown name": (TILED, "block = (TILE_WIDTH", "block = (THREADS", "says what THREADS"),
    "another architecture": ("gemm_tma", "Compile for sm_90a", "", "the header is for ''"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_a_header_that_says_something_else_is_found(case):
    name, old, new, fault = case
    source = kernels.changed(name, (old, new))
    one = dataclasses.replace(launches()[name][-1], source=source)
    assert fault in " ".join(cards.read(name, source).faults(one))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("(TILE_WIDTH, 1, 1)", "(a whole tile, 1, 1)", "'a whole tile' is no formula"),
        ("ceil(n / (TILE_WIDTH - 2R))", "ceil(n + 1)", "'ceil\\(n \\+ 1\\)' is no formula"),
        ("block = (", "blocks of (", "give `block = \\(x, y, z\\)`"),
        ("FILTER_WIDTH * 4 bytes in", "FILTER_WIDTH / 2.5 bytes in", "is no formula"),
        ("// Launch", "// Start ", "has the fields"),
        ("// conv1d_tiled_input.cu", "// conv1d_tiled.cu", "its first line"),
    ],
)
def test_a_header_that_cannot_be_read_says_what_to_give(old, new, message):
    with pytest.raises(cards.HeaderError, match=message):
        cards.read(TILED, kernels.changed(TILED, (old, new)))
