"""The implicit product on tensor cores: any shape, in each of its three kernels and three ways."""

import itertools
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import checking, kernels, launch, reference, simulator
from helpers.limits import ConvShape
from helpers.problems import conv2d
from helpers.problems.conv2d import (
    FASTEST,
    IMPLICIT,
    ImplicitSizes,
    implicit_mma,
    mma_halves,
    mma_quads,
)
from helpers.problems.conv2d.implicit import Staging
from helpers.simulator.compile.compiler import compile_source
from helpers.simulator.program import assembly
from tests.kernels.mutants import mutants, require_rejected
from tests.support import layer_problem, require_halves, run_layer, simulated

pytestmark = pytest.mark.long

FIRST, ASYNC, SPLIT = IMPLICIT
NAMES = tuple(spec.name for spec in IMPLICIT)
# Filters of every width from 1 to 11, both strides, images of odd sizes, layers of one channel and
# of several octets, maps that fill no group; the sizes are those that `fitted` chooses.
SHAPES = (
    ConvShape(3, 5, 3, 9, 7, 1),
    ConvShape(2, 3, 9, 8, 13, 2, 2),
    ConvShape(2, 17, 24, 13, 11, 3),
    ConvShape(1, 4, 5, 17, 14, 4, 2),
    ConvShape(3, 8, 8, 9, 10, 5),
    ConvShape(2, 1, 4, 21, 22, 6),
    ConvShape(5, 12, 24, 11, 11, 7),
    ConvShape(1, 3, 17, 23, 25, 7, 2),
    ConvShape(1, 2, 1, 8, 8, 8),
    ConvShape(1, 9, 2, 18, 15, 9, 2),
    ConvShape(2, 1, 3, 10, 31, 10),
    ConvShape(1, 6, 4, 13, 24, 11),
)
# (shape, sizes): tiles that overhang on both sides, rows in pairs and not, several chunks of
# channels with weights that stay or pass, several warps along outputs and maps, an odd number of
# slices.
TILED = (
    (ConvShape(2, 12, 24, 11, 11, 7), ImplicitSizes((2, 5, 5), 2, (2, 1), (2, 3))),
    (ConvShape(3, 1, 12, 28, 28, 7), ImplicitSizes((1, 4, 22), 1, (2, 1), (3, 2))),
    (ConvShape(3, 3, 5, 19, 21, 7, 2), ImplicitSizes((1, 4, 8), 1, (2, 1), (1, 1))),
    (ConvShape(2, 20, 17, 9, 10, 3), ImplicitSizes((1, 3, 8), 1, (1, 2), (2, 1), (2, 2))),
    (ConvShape(2, 20, 17, 9, 10, 3), ImplicitSizes((1, 3, 4), 1, (1, 1), (1, 2), (1, 3))),
    (ConvShape(3, 9, 8, 13, 11, 4, 2), ImplicitSizes((2, 5, 4), 2, (4, 1), (1, 1), (2, 1))),
)


def require_right(spec, shape):
    x, filter = layer_problem(shape)
    few = replace(spec, blocks=2)  # blocks take several tiles, one by one
    y, name = run_layer(few, x, filter, shape.stride), f"{spec.name}, {shape}"
    conv2d.check(y, x, filter, name, shape.stride, precision=spec.precision)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_shape(shape):
    # The kernels have the same cells and indices: each takes some shapes, and all take those below.
    require_right(IMPLICIT[SHAPES.index(shape) % 3], shape)


@pytest.mark.parametrize(
    ("spec", "case"),
    list(itertools.product(IMPLICIT, TILED)),
    ids=lambda one: getattr(one, "name", str(one[0]) if isinstance(one, tuple) else None),
)
def test_tiles(spec, case):
    shape, sizes = case
    require_right(replace(spec, sizes=sizes), shape)


@st.composite
def layers(draw):
    """A kernel and a layer of any sizes."""
    K, stride = draw(st.integers(1, 11)), draw(st.integers(1, 2))
    H, W = (K + draw(st.integers(0, most)) for most in (7, 20))
    C, M = draw(st.integers(1, 20)), draw(st.integers(1, 20))
    shape = ConvShape(draw(st.integers(1, 3)), C, M, H, W, K, stride)
    return draw(st.sampled_from(IMPLICIT)), shape


@settings(max_examples=5)
@given(layer=layers())
def test_layers_beyond_the_table(layer):
    require_right(*layer)


# The other kernels on tensor cores must do the same.
PAIRS, QUADS, ONE_PART = FASTEST
HALVES_IN_AND_OUT = [
    # The outputs of an image need not be whole vectors: here they are 63 and 16.
    *(
        (replace(implicit_mma(1, half_io=True, name=spec.name), blocks=2), shape)
        for spec in (FIRST, ASYNC)
        for shape in (ConvShape(3, 1, 5, 11, 13, 5), ConvShape(2, 9, 6, 9, 10, 3, 2))
    ),
    *(
        (replace(spec, warps=2, blocks=2, resident=1), ConvShape(3, 1, 5, 12, 20, 5))
        for spec in (mma_halves(half_io=True), mma_quads(1, half_io=True))
    ),
]


def label(one) -> str:
    return getattr(one, "name", str(one))


@pytest.mark.parametrize(("spec", "shape"), HALVES_IN_AND_OUT, ids=label)
def test_halves_in_and_out(spec, shape):
    x, filter = layer_problem(shape)
    y, findings = simulated(spec.plan(shape), "y", {"x": x.astype(np.float16), "filter": filter})
    assert not findings, findings[0]
    require_halves(spec, y, x, filter, shape.stride)


@pytest.mark.parametrize(
    ("spec", "channels"),
    [(SPLIT, 9), (replace(PAIRS, warps=2), 1), (replace(QUADS, warps=2), 1)],
    ids=label,
)
@pytest.mark.parametrize("size", [1e-6, 300.0])
def test_small_and_large_weights_are_as_exact(spec, channels, size):
    x, filter = layer_problem(ConvShape(1, channels, 4, 10, 14, 7), size)
    y, want = run_layer(spec, x, filter), reference.conv2d(x, filter)
    assert np.abs(y - want).max() <= 1e-6 * np.abs(want).max()


@pytest.mark.parametrize(
    "spec", [ASYNC, replace(ONE_PART, warps=2), replace(mma_quads(1), warps=2)], ids=label
)
def test_one_part_does_not_pass_for_float32(spec):
    x, filter = layer_problem(ConvShape(1, 1, 4, 10, 14, 7))
    y = run_layer(spec, x, filter)
    conv2d.check(y, x, filter, precision=spec.precision)
    with pytest.raises(checking.CheckError):
        conv2d.check(y, x, filter)


def test_a_fragment_by_hand():
    # 9 channels are two octets; K K = 4 taps of two octets are 8 slices, 4 steps.
    filter = np.arange(1, 1 + 9 * 9 * 2 * 2, dtype=np.float32).reshape(9, 9, 2, 2)
    shape = ConvShape(1, 9, 9, 5, 5, 2)
    spec = replace(ASYNC, sizes=ImplicitSizes((1, 4, 4), 2, (1, 1), (1, 1)))
    packed, scale = spec.arrange(filter), conv2d.power_of_two(filter)
    # Group of maps, chunk, step, part, 8 maps, lane, register, half.
    cells = packed[:-16].view(np.float16).reshape(2, 1, 4, 1, 1, 32, 2, 2) / np.float16(scale)
    want = filter.astype(np.float16)
    lane = 4 * 3 + 1  # map 3 of the group; terms 2 and 3 of a slice: channels 2 and 3
    # Step 1 is column 1 of row 0: register 0 has the first octet, register 1 the second.
    assert cells[0, 0, 1, 0, 0, lane, 0].tolist() == want[3, 2:4, 0, 1].tolist()
    assert cells[0, 0, 1, 0, 0, lane, 1].tolist() == [0, 0]  # channels 10 and 11
    assert cells[0, 0, 2, 0, 0, 4 * 3, 1].tolist() == [want[3, 8, 1, 0], 0]  # channels 8 and 9
    assert cells[1, 0, 3, 0, 0, 0, 0].tolist() == want[8, 0:2, 1, 1].tolist()  # map 8: group 1
    assert not cells[1, 0, :, 0, 0, 4:].any()  # maps 9 to 15
    assert Staging.of(shape, spec.sizes).steps == 4


def test_the_columns_of_a_row_fill_an_octet_of_few_channels():
    # One channel: an octet is 8 columns. Three: an octet is 4 channels of 2 columns.
    one = np.arange(1, 1 + 9, dtype=np.float32).reshape(1, 1, 3, 3)
    sizes = ImplicitSizes((1, 1, 1), 1, (1, 1), (1, 1))
    packed = replace(ASYNC, sizes=sizes).arrange(one)[:-16].view(np.float16)
    rows = packed.reshape(2, 8, 4, 2, 2).transpose(0, 3, 1, 2, 4).reshape(4, 8, 8)[:, 0]
    scale = conv2d.power_of_two(one)
    assert (rows[:3, :3] / np.float16(scale)).tolist() == one[0, 0].tolist()
    assert not rows[3].any() and not rows[:, 3:].any()
    three = np.arange(1, 1 + 27, dtype=np.float32).reshape(1, 3, 3, 3)
    packed = replace(ASYNC, sizes=sizes).arrange(three)[:-16].view(np.float16)
    rows = packed.reshape(3, 8, 4, 2, 2).transpose(0, 3, 1, 2, 4).reshape(6, 8, 8)[:, 0]
    scale = conv2d.power_of_two(three)
    first = rows[0] / np.float16(scale)  # columns 0 and 1 of row 0, each with a spare channel
    assert first.tolist() == [*three[0, :, 0, 0], 0, *three[0, :, 0, 1], 0]
    assert (rows[1] / np.float16(scale)).tolist() == [*three[0, :, 0, 2], 0, 0, 0, 0, 0]


@pytest.mark.parametrize("spec", IMPLICIT, ids=NAMES)
def test_launches_are_the_defaults_of_the_sources(spec):
    """Each source compiles alone, and means what its constants say."""
    compiled = compile_source(kernels.source(spec.name), [f"-I{kernels.FOLDER}"], f"{spec.name}.cu")
    assert compiled.warnings == ""
    declared = kernels.source(spec.name) + (kernels.FOLDER / "implicit.cuh").read_text()
    for option in spec.options(conv2d.shape_of("layer E2", 10))[1:]:
        assert f"#ifndef {option[2:].partition('=')[0]}\n" in declared


@pytest.mark.gpu
@pytest.mark.parametrize("spec", IMPLICIT, ids=NAMES)
def test_sanitize_implicit_products(spec):
    """For compute-sanitizer: chunks of weights that pass, whole images, tiles that overhang."""
    for shape, sizes in TILED[:4]:
        x, filter = layer_problem(shape)
        y = conv2d.convolve(replace(spec, sizes=sizes, blocks=2), x, filter, shape.stride)
        conv2d.check(y, x, filter, spec.name, shape.stride, precision=spec.precision)


TILES_OF = {  # of whole images with rows of 5 outputs; of rows in pairs
    "layer E1": ImplicitSizes((1, 11, 22), 1, (4, 1), (4, 2)),
    "layer E2": ImplicitSizes((3, 5, 5), 2, (5, 1), (1, 3)),
}


@pytest.mark.parametrize("spec", [ASYNC, SPLIT, implicit_mma(1, True)], ids=lambda s: s.name)
@pytest.mark.parametrize("name", TILES_OF)
def test_fragments_are_read_without_conflicts(spec, name):
    """Octets of 8 rows of A lie in 8 different slots, and so do the weights of 16 lanes."""
    shape, spec = conv2d.shape_of(name, 3), replace(spec, sizes=TILES_OF[name])
    x, filter = layer_problem(shape)
    arrays = {"y": np.zeros(shape.y_shape, np.float32), "x": x, "filter": filter}
    if spec.half_io:
        arrays |= {"y": arrays["y"].astype(np.float16), "x": x.astype(np.float16)}
    (seen,) = launch.simulate(replace(spec, blocks=1).plan(shape), arrays, simulator.profile)
    assert seen.shared_load_conflicts == 0


@pytest.mark.parametrize("spec", [ASYNC, SPLIT], ids=[ASYNC.name, SPLIT.name])
def test_blocks_have_registers_enough(spec):
    shape = conv2d.shape_of("layer E2", 10_000)
    chosen = spec.fitted(shape)
    source = kernels.source(spec.name)
    compiled = compile_source(source, chosen.options(shape), str(kernels.path(spec.name)))
    (needed,) = assembly.resources(compiled).values()
    assert needed.registers * chosen.sizes.threads * chosen.sizes.resident <= 65536
    assert needed.spill_load_bytes <= 128


# --------------------------------------------------------------------------------------------------
# Mutants


MUTANTS = mutants("conv2d_implicit_mma_")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutants_are_rejected(mutant):
    spec = next(spec for spec in IMPLICIT if spec.name == mutant.original)
    # Three chunks of one octet, the weights of two at a time, and a tile that overhangs.
    buffers = (1, 2) if spec is not FIRST else (1, 1)
    sizes = ImplicitSizes((1, 3, 8), 1, (2, 1), (1, 2), buffers)
    spec = replace(spec, sizes=sizes, blocks=1)
    shape = ConvShape(2, 20, 16, 12, 14, 5)
    x, filter = layer_problem(shape)
    y, (findings,) = conv2d.simulate(
        spec, x, filter, entry=simulator.check, instead={spec.name: (mutant.name, mutant.source)}
    )
    check = partial(conv2d.check, y, x, filter, mutant.name, precision=spec.precision)
    require_rejected(mutant, findings, check)
