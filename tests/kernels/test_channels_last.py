"""Layers with channels last: sizes, weights, refusals anywhere; outputs on a GPU (`pytest -m gpu`).

The simulator refuses tensor maps, so that nothing here runs the kernels without a GPU.
"""

from dataclasses import replace

import numpy as np
import pytest

from helpers import checking, device, reference, simulator
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.problems.conv2d import GatherSizes, HaloSizes, LayerError
from tests.support import in_simulator, needs_nvcc, on_gpu, require_lean

HALO, GATHER = conv2d.CHANNELS_LAST
# Tiles that overhang along every axis, also images; spare channels, maps; more tiles than blocks.
# Of the first one, more than 64 channels, two groups of maps, strides, boxes of all forms.
TILED = (
    (GATHER, ConvShape(3, 72, 72, 9, 12, 3), GatherSizes((2, 8, 8), 64, 3)),
    (GATHER, ConvShape(70, 8, 136, 5, 6, 3), GatherSizes((64, 1, 2), 128, 4)),
    (GATHER, ConvShape(9, 64, 128, 13, 14, 3, 2), GatherSizes((8, 4, 4), 128, 6)),
    (GATHER, ConvShape(2, 16, 200, 7, 40, 1), GatherSizes((1, 4, 32), 128, 3)),
    (GATHER, ConvShape(5, 128, 64, 12, 20, 5), GatherSizes((2, 4, 16), 64, 2)),
    (HALO, ConvShape(3, 64, 64, 11, 12, 3), HaloSizes(2, 1, 64, 4)),
    (HALO, ConvShape(1, 40, 24, 37, 21, 3), HaloSizes(1, 4, 64, 2)),
    (HALO, ConvShape(5, 16, 72, 20, 10, 3), HaloSizes(1, 2, 128, 2)),
    (HALO, ConvShape(7, 8, 64, 9, 30, 1), HaloSizes(2, 2, 64, 2)),
    (HALO, ConvShape(2, 64, 64, 12, 12, 4), HaloSizes(1, 1, 64, 2)),
)
LAYERS = {
    name: (conv2d.channels_last(shape), shape)
    for name, shape in conv2d.KNOWN_LAYERS.items()
    if shape.C % 8 == 0
}


def problem(shape: ConvShape) -> tuple[np.ndarray, np.ndarray]:
    """Random x, float16, and filter, float32."""
    rng = np.random.default_rng([shape.B, shape.C, shape.M, shape.H, shape.W, shape.K])
    x = rng.uniform(-1, 1, shape.x_shape).astype(np.float16)
    return x, rng.uniform(-1, 1, shape.filter_shape).astype(np.float32)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_networks_fit(name):
    spec, shape = LAYERS[name]
    spec.fitted(shape).require(shape)
    other = replace(shape, M=shape.M - 8)  # not measured
    spec.fitted(other).require(other)


def test_few_maps_are_computed_with_the_halo():
    chosen = {name: spec.name for name, (spec, _) in LAYERS.items()}
    assert chosen["VGG-16, 224 x 224"] == chosen["ResNet-50, 56 x 56"] == HALO.name
    assert chosen["ResNet-50, 14 x 14"] == chosen["ResNet-50, 56 to 28"] == GATHER.name
    with pytest.raises(LayerError, match="by eights"):
        conv2d.channels_last(conv2d.KNOWN_LAYERS["ResNet-50, first"])


@pytest.mark.parametrize(
    ("spec", "sizes", "words"),
    [
        (GATHER, GatherSizes((3, 8, 8), 64, 2), "take powers of two, 128 outputs together"),
        (GATHER, GatherSizes((4, 8, 8), 64, 2), "take powers of two, 128 outputs together"),
        (GATHER, GatherSizes((2, 8, 8), 96, 2), "96 maps of a block: take 64 or 128"),
        (GATHER, GatherSizes((1, 1, 128), 64, 2), "spans 382 cells of x, 3 apart"),
        (GATHER, GatherSizes((2, 8, 8), 128, 8), "bytes of shared memory, and one of a Hopper"),
        (HALO, HaloSizes(2, 1, 64, 1), "2, 4, 6 or 8 stages"),
        (HALO, HaloSizes(2, 1, 64, 3), "2, 4, 6 or 8 stages"),
        (HALO, HaloSizes(3, 2, 64, 2), "at most 16,384 sums fit"),
        (HALO, HaloSizes(1, 1, 32, 2), "take all 64 maps"),
        (HALO, HaloSizes(2, 2, 64, 4), "bytes of shared memory, and one of a Hopper"),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_sizes_that_do_not_fit_are_refused(spec, sizes, words):
    shape = ConvShape(4, 64, 64, 64, 64, 3, 3 if spec is GATHER else 1)
    with pytest.raises(LayerError, match=words):
        replace(spec, sizes=sizes).require(shape)


@pytest.mark.parametrize(
    ("spec", "shape", "sizes", "of_y", "of_x"),
    [
        (GATHER, ConvShape(9, 64, 128, 13, 14, 3, 2), GatherSizes((8, 4, 4), 128, 6),
         (1, 4, 4, 64), ((8, 4, 4, 64), (1, 2, 2, 1))),
        (GATHER, ConvShape(9, 64, 128, 13, 14, 3), GatherSizes((64, 1, 2), 128, 4),
         (8, 1, 2, 64), ((64, 1, 2, 64), (1, 1, 1, 1))),
        (HALO, ConvShape(9, 64, 64, 13, 14, 3), HaloSizes(2, 2, 64, 2),
         (1, 2, 8, 64), ((2, 18, 10, 64), (1, 1, 1, 1))),
    ],
    ids=lambda value: getattr(value, "name", str(value)),
)  # fmt: skip
def test_tensor_maps_are_of_what_a_copy_takes_and_of_what_a_warp_stores(
    spec, shape, sizes, of_y, of_x
):
    (one,) = replace(spec, sizes=sizes).plan(shape)
    y_map, x_map, images = one.arguments
    assert (y_map.of.shape, y_map.tile) == ((9, shape.out_h, shape.out_w, shape.M), of_y)
    assert (x_map.of.shape, (x_map.tile, x_map.steps)) == ((9, 13, 14, 64), of_x)
    assert images == 9


def test_the_weights_lie_where_the_tensor_cores_read_them():
    """Maps 8 i to 8 i + 7 of channel c of a tile lie in the place i ^ c % 8 of its row."""
    shape = ConvShape(1, C=72, M=136, H=5, W=6, K=3)
    filter = problem(shape)[1].astype(np.float16)
    spec = replace(GATHER, sizes=GatherSizes((64, 1, 2), 128, 4))
    tiles = spec.fragments(filter[None]).reshape(2, 3, 3, 2, 2, 64, 8, 8)
    for m, c, p, q in ((0, 0, 0, 0), (9, 3, 1, 2), (77, 63, 2, 1), (135, 71, 2, 2)):
        group, block, piece, of_piece = m // 128, m % 128 // 64, m % 64 // 8, m % 8
        place = tiles[group, p, q, c // 64, block, c % 64, piece ^ c % 8, of_piece]
        assert place == filter[m, c, p, q]
    assert np.count_nonzero(tiles) == np.count_nonzero(filter)  # the rest is zeros


def test_the_simulator_refuses_it_and_so_does_its_record():
    spec, shape, sizes = TILED[0]
    plan = replace(spec, sizes=sizes).plan(shape)
    x, filter = problem(shape)
    with pytest.raises(simulator.CompileFailed, match="the simulator cannot run "):
        in_simulator(plan, "y", {"x": x.transpose(spec.axes), "filter": filter})
    with pytest.raises(LayerError, match="take conv2d_implicit_mma_async"):
        spec.require(shape, replace(device.select(), kind="simulator"))


@needs_nvcc
@pytest.mark.parametrize("name", LAYERS)
def test_nvcc_spills_nothing_and_serializes_nothing(name, tmp_path):
    spec, shape = LAYERS[name]
    require_lean(spec.name, tmp_path, spec.options(shape))


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("spec", "shape", "sizes"), TILED, ids=[f"{spec.name}, {shape}" for spec, shape, _ in TILED]
)
def test_sanitize_layers_with_channels_last(spec, shape, sizes):
    """On a GPU, also under compute-sanitizer: every output, and none beyond."""
    x, filter = problem(shape)
    plan = replace(spec, sizes=sizes, blocks=2).plan(shape)
    given = np.ascontiguousarray(x.transpose(spec.axes))
    y = on_gpu(plan, "y", {"x": given, "filter": filter}).transpose(np.argsort(spec.axes))
    cells = x.astype(np.float32)
    want = reference.conv2d(cells, spec.precision.rounded(filter), shape.stride)
    atol = spec.precision.sum_atol(cells, filter)
    checking.check(y.astype(np.float32), want, rtol=2.0**-11, atol=atol, name=spec.name)
