"""conv2d_channels_last: sizes, weights and refusals anywhere; its outputs on a GPU (`-m gpu`).

The simulator refuses tensor maps, so that nothing here runs the kernel without a GPU.
"""

from dataclasses import replace

import numpy as np
import pytest

from helpers import checking, device, reference, simulator
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.problems.conv2d import BoxSizes, LayerError, channels_last
from tests.support import in_simulator, needs_nvcc, on_gpu, require_lean

SPEC = channels_last()
# Tiles that overhang along every axis, also images; more than 64 channels, spare ones; spare maps;
# two groups of maps; strides; both numbers of outputs, each number of maps.
TILED = (
    (ConvShape(3, 72, 72, 9, 12, 3), BoxSizes((2, 8, 8), 64, 3)),
    (ConvShape(70, 8, 136, 5, 6, 3), BoxSizes((64, 1, 2), 256, 4)),
    (ConvShape(9, 64, 128, 13, 14, 3, 2), BoxSizes((8, 4, 4), 128, 6)),
    (ConvShape(2, 16, 200, 7, 40, 1), BoxSizes((1, 4, 32), 192, 3)),
    (ConvShape(5, 128, 64, 12, 12, 5), BoxSizes((4, 4, 16), 64, 2)),
)
LAYERS = {name: shape for name, shape in conv2d.KNOWN_LAYERS.items() if shape.C % 8 == 0}


def problem(shape: ConvShape) -> tuple[np.ndarray, np.ndarray]:
    """Random x, float16, and filter, float32."""
    rng = np.random.default_rng([shape.B, shape.C, shape.M, shape.H, shape.W, shape.K])
    x = rng.uniform(-1, 1, shape.x_shape).astype(np.float16)
    return x, rng.uniform(-1, 1, shape.filter_shape).astype(np.float32)


@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_networks_fit(name):
    spec = SPEC.fitted(LAYERS[name])
    spec.require(LAYERS[name])
    other = replace(LAYERS[name], M=LAYERS[name].M + 8)  # not measured
    SPEC.fitted(other).require(other)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        (BoxSizes((3, 8, 8), 64, 2), "take powers of two, 128 or 256 outputs together"),
        (BoxSizes((1, 8, 8), 64, 2), "take powers of two, 128 or 256 outputs together"),
        (BoxSizes((4, 8, 8), 192, 2), "256 outputs: take 64, 128, 192 or 256 maps"),
        (BoxSizes((2, 8, 8), 96, 2), "96 maps and 128 outputs"),
        (BoxSizes((1, 1, 256), 64, 2), "spans 511 cells of x, 2 apart"),
        (BoxSizes((2, 8, 8), 256, 5), "bytes of shared memory, and one of a Hopper GPU"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(sizes, words):
    with pytest.raises(LayerError, match=words):
        replace(SPEC, sizes=sizes).require(ConvShape(4, 64, 64, 64, 64, 3, 2))


def test_a_tensor_map_of_x_has_the_tile_and_one_of_y_what_a_warp_stores():
    shape, sizes = ConvShape(9, 64, 128, 13, 14, 3, 2), BoxSizes((8, 4, 4), 128, 6)
    (one,) = replace(SPEC, sizes=sizes).plan(shape)
    y_map, x_map, images = one.arguments
    assert (y_map.of.shape, y_map.tile, y_map.steps) == ((9, 6, 6, 128), (1, 4, 4, 64), None)
    assert (x_map.of.shape, x_map.tile) == ((9, 13, 14, 64), (8, 4, 4, 64))
    assert (x_map.steps, images) == ((1, 2, 2, 1), 9)
    warp_tiles = {BoxSizes((64, 1, 2), 256, 4): (8, 1, 2), BoxSizes((1, 8, 32), 64, 4): (1, 1, 16)}
    assert all(sizes.warp_tile == of_warp for sizes, of_warp in warp_tiles.items())


def test_the_weights_lie_where_the_tensor_cores_read_them():
    """Maps 8 i to 8 i + 7 of channel c of a tile lie in the place i ^ c % 8 of its row."""
    shape = ConvShape(1, C=72, M=136, H=5, W=6, K=3)
    filter = problem(shape)[1].astype(np.float16)
    spec = replace(SPEC, sizes=BoxSizes((64, 1, 2), 128, 4))
    tiles = spec.fragments(filter[None]).reshape(2, 3, 3, 2, 2, 64, 8, 8)
    for m, c, p, q in ((0, 0, 0, 0), (9, 3, 1, 2), (77, 63, 2, 1), (135, 71, 2, 2)):
        group, block, piece, of_piece = m // 128, m % 128 // 64, m % 64 // 8, m % 8
        place = tiles[group, p, q, c // 64, block, c % 64, piece ^ c % 8, of_piece]
        assert place == filter[m, c, p, q]
    assert np.count_nonzero(tiles) == np.count_nonzero(filter)  # the rest is zeros


def test_the_simulator_refuses_it_and_so_does_its_record():
    shape, sizes = TILED[0]
    plan = replace(SPEC, sizes=sizes).plan(shape)
    x, filter = problem(shape)
    with pytest.raises(simulator.CompileFailed, match="the simulator cannot run "):
        in_simulator(plan, "y", {"x": x.transpose(SPEC.axes), "filter": filter})
    with pytest.raises(LayerError, match="take conv2d_implicit_mma_async"):
        SPEC.require(shape, replace(device.select(), kind="simulator"))


@needs_nvcc
@pytest.mark.parametrize("name", LAYERS)
def test_nvcc_spills_nothing_and_serializes_nothing(name, tmp_path):
    require_lean(SPEC.name, tmp_path, SPEC.options(LAYERS[name]))


@pytest.mark.gpu
@pytest.mark.parametrize(("shape", "sizes"), TILED, ids=str)
def test_sanitize_layers_with_channels_last(shape, sizes):
    """On a GPU, also under compute-sanitizer: every output, and none beyond."""
    x, filter = problem(shape)
    plan = replace(SPEC, sizes=sizes, blocks=2).plan(shape)
    given = np.ascontiguousarray(x.transpose(SPEC.axes))
    y = on_gpu(plan, "y", {"x": given, "filter": filter}).transpose(np.argsort(SPEC.axes))
    cells = x.astype(np.float32)
    want = reference.conv2d(cells, SPEC.precision.rounded(filter), shape.stride)
    atol = SPEC.precision.sum_atol(cells, filter)
    checking.check(y.astype(np.float32), want, rtol=2.0**-11, atol=atol, name=SPEC.name)
