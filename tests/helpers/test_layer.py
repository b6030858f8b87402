"""layer: what is refused before a launch, right results on the device, checks that find a single
wrong output.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from helpers import checking, device, kernels, limits, reference, simulator
from helpers.checking import device_counter
from helpers.limits import ConvShape
from helpers.problems import conv2d, datasets
from helpers.problems.conv2d import CONV2D, LAYERS, LayerError, conv2d_named
from helpers.problems.lenet import network, trained_weights

SHAPE = ConvShape(B=5, C=3, M=4, H=11, W=14, K=3)


def arrays(shape: ConvShape = SHAPE) -> tuple[np.ndarray, np.ndarray]:
    """Random x and filter, float32; no two images, channels or output maps are alike."""
    rng = np.random.default_rng(5)
    return tuple(
        rng.uniform(-1, 1, size).astype(np.float32) for size in (shape.x_shape, shape.filter_shape)
    )


# --------------------------------------------------------------------------------------------------
# Names and shapes


def test_layers_of_the_network():
    assert conv2d.shape_of("layer 1", 10).y_shape == (10, 4, 80, 80)
    assert conv2d.shape_of("layer 2", 1).y_shape == (1, 16, 34, 34)
    assert conv2d.shape_of("layer E1", 3).y_shape == (3, 12, 22, 22)
    assert conv2d.shape_of("layer E2", 3).y_shape == (3, 24, 5, 5)


def test_unknown_names_are_refused():
    with pytest.raises(LayerError, match="no layer 'layer 3'; choose from 'layer 1', 'layer 2'"):
        conv2d.shape_of("layer 3", 1)
    with pytest.raises(
        LayerError, match="no convolution layer kernel 'conv2d_none'; choose from conv2d_basic, "
    ):
        conv2d_named("conv2d_none")


def test_options_are_those_that_a_source_has():
    shape = conv2d.shape_of("layer 2", 3)
    assert conv2d_named("conv2d_basic").options(shape) == ["-DSTRIDE=1"]
    assert conv2d_named("conv2d_restrict").options(shape) == []
    assert conv2d_named("conv2d_unrolled").options(shape) == ["-DFILTER_WIDTH=7"]
    assert conv2d_named("conv2d_tiled_maps").with_tile(20, maps=8).options(shape) == [
        "-DFILTER_WORDS=3136",
        "-DTILE_WIDTH=20",
        "-DMAPS=8",
    ]
    assert conv2d.channels_tree(8, 16).options(shape) == ["-DTILE_WIDTH=8", "-DCHANNEL_THREADS=16"]


def test_a_constant_that_a_source_has_not_is_refused():
    with pytest.raises(
        LayerError, match=r"conv2d_unrolled\.cu has no constant ROWS; it has FILTER_WIDTH"
    ):
        replace(conv2d_named("conv2d_unrolled"), constants=(("ROWS", 4),)).options(SHAPE)


def test_grids_by_hand():
    shape = conv2d.shape_of("layer 2", 7)  # 16 maps of 34 x 34
    assert conv2d_named("conv2d_basic").grid(shape) == (9, 16, 7)
    assert conv2d_named("conv2d_basic").with_tile(20).grid(shape) == (4, 16, 7)
    assert conv2d_named("conv2d_tiled_maps").grid(shape) == (9, 4, 7)
    assert conv2d_named("conv2d_implicit_gemm").grid(shape) == (73, 1, 7)
    assert conv2d_named("conv2d_channels_atomics").grid(shape) == (9, 64, 7)
    assert conv2d.channels_shuffle(lanes=4, rows=8).grid(shape) == (25, 16, 7)
    in_parts = replace(conv2d_named("im2col_gemm"), images=1)
    assert in_parts.grid(shape) == (73, 1, 1)
    assert in_parts.im2col_grid(shape) == (5, 4, 1)


def test_shared_memory_by_hand():
    shape = conv2d.shape_of("layer 1", 1)
    assert conv2d_named("conv2d_tiled").shared(shape) == 22 * 22 * 4
    assert conv2d_named("conv2d_basic").shared(shape) == 0


def test_scratch_of_im2col_by_hand():
    shape = conv2d.shape_of("layer 1", 10_000)
    whole = conv2d_named("im2col_gemm")
    assert whole.scratch(shape) == 4 * 10_000 * 49 * 6400
    assert replace(whole, images=1).scratch(shape) == 4 * 49 * 6400
    assert whole.memory(shape) == limits.conv2d(shape).bytes + whole.scratch(shape)
    assert conv2d_named("conv2d_basic").memory(shape) == limits.conv2d(shape).bytes


# --------------------------------------------------------------------------------------------------
# Bad input: refused before anything is compiled


@pytest.fixture
def nothing_runs(cuda, monkeypatch):
    """Whoever compiles or allocates has checked too late."""

    def late(*_, **__):
        raise AssertionError("the input was not checked before the launch")

    import pycuda.compiler

    monkeypatch.setattr(pycuda.compiler, "compile", late)
    monkeypatch.setattr(cuda, "module_from_buffer", late)
    monkeypatch.setattr(cuda, "mem_alloc", late)
    return cuda


x, weights = arrays()

BAD_ARRAYS = [
    (
        x[0],
        weights,
        {},
        LayerError,
        r"x has 3 axes \(shape \(3, 11, 14\)\), but the launch expects 4",
    ),
    (x, weights[0], {}, LayerError, "filter has 3 axes"),
    (
        x[:, :2].copy(),
        weights,
        {},
        LayerError,
        r"x has 2 channels .* and the filter 3 .*: they must be the same",
    ),
    (
        x[:, :, :2].copy(),
        weights,
        {},
        LayerError,
        "the filter is larger than the image: 3 x 3 weights on 2 x 14 cells",
    ),
    (
        x[:, :, :, :2].copy(),
        weights,
        {},
        LayerError,
        "the filter is larger than the image: 3 x 3 weights on 11 x 2 cells",
    ),
    (x, weights[:, :, :2].copy(), {}, LayerError, "the filter has 2 rows and 3 columns"),
    (
        x.astype(np.float64),
        weights,
        {},
        TypeError,
        r"x is float64, but the kernel reads float32: pass x\.astype",
    ),
    (x, weights.astype(np.float16), {}, TypeError, "filter is float16"),
    (x.astype(">f4"), weights, {}, TypeError, "x is >f4"),
    (
        x[:, :, ::2],
        weights,
        {},
        LayerError,
        "x is a view with gaps or reversed steps .* pass np.ascontiguousarray",
    ),
    (np.asfortranarray(x), weights, {}, LayerError, "x is in Fortran order"),
    (x, weights[:, :, ::-1, ::-1], {}, LayerError, "filter is a view with gaps or reversed steps"),
    (x[:0], weights, {}, LayerError, "x is empty"),
    (x.tolist(), weights, {}, TypeError, "x is a list; a launch needs an array"),
    (x, weights, {"stride": 0}, LayerError, "stride is 0; the stride is at least 1"),
    (x, weights, {"stride": 1.5}, TypeError, r"stride is 1\.5"),
    (x, weights, {"chunk": 0}, LayerError, "chunk is 0; give the number of images"),
    (x, weights, {"chunk": 2.0}, LayerError, r"chunk is 2\.0"),
]


@pytest.mark.parametrize(
    ("x", "filter", "how", "error", "message"),
    BAD_ARRAYS,
    ids=lambda value: getattr(value, "shape", None) and "a",
)
def test_bad_arrays_are_refused(nothing_runs, x, filter, how, error, message):
    with pytest.raises(error, match=message):
        conv2d.convolve("conv2d_basic", x, filter, **how)


BASIC, TILED, GEMM = (
    conv2d_named(name) for name in ("conv2d_basic", "conv2d_tiled", "conv2d_implicit_gemm")
)
BAD_LAUNCHES = [
    (
        conv2d_named("conv2d_constant"),
        {"C": 20, "M": 92},
        r"holds 65,536 bytes: the filter of shape .* has 66,240\. Launch it for 91 output",
    ),
    (
        conv2d_named("conv2d_constant"),
        {"C": 2000, "M": 1},
        "has 72,000. The weights of a single output map do not fit: take a kernel",
    ),
    (BASIC.with_tile(33), {}, r"block \(33, 33, 1\) has 1,089 threads; CUDA allows 1,024"),
    (conv2d.channels_tree(2, 128), {}, r"block \(2, 2, 128\) is too long along an axis"),
    (
        GEMM.with_tile(80),
        {},
        r"80 x 1 outputs and K = 3 needs 51,200 bytes of static shared memory; a block has 49,152",
    ),
    (BASIC, {"B": 65_536}, "CUDA allows 65,535 along z: pass chunk=65535 to conv2d.convolve"),
    (
        BASIC,
        {"M": 65_536},
        "CUDA allows 65,535 along y: launch it for 65,535 output maps at a time",
    ),
    (conv2d_named("conv2d_channels_atomics"), {"M": 300, "C": 300}, "CUDA allows 65,535 along y"),
    (
        conv2d_named("im2col_gemm"),
        {"C": 65_536},
        "im2col_basic takes at most 65,535 channels, got 65,536",
    ),
    (
        BASIC,
        {"H": 60_000, "W": 60_000},
        r"up to 2,147,483,647; one image of shape \(3, 60000, 60000\) has 10,800,000,000",
    ),
    (BASIC, {"H": 30_000, "W": 20_000}, r"one image's outputs of shape \(4, 29998, 19998\)"),
    (
        conv2d_named("im2col_gemm"),
        {"H": 10_000, "W": 10_000},
        "the unrolled matrix of one image has 2,698,920,108 cells",
    ),
    (TILED, {"stride": 2}, "conv2d_tiled supports only stride 1, got 2; use conv2d_basic"),
    (replace(BASIC, largest_width=2), {}, "conv2d_basic takes filters up to K = 2, got 3"),
]


@pytest.mark.parametrize(
    ("spec", "sizes", "message"), BAD_LAUNCHES, ids=lambda value: getattr(value, "name", None)
)
def test_bad_launches_are_refused(nothing_runs, spec, sizes, message):
    shape = replace(SHAPE, **sizes)
    # Shared memory is looked at last.
    block_is_fine = replace(spec, block=(16, 16)) if "static" in message else spec
    for refuse in (block_is_fine.require, block_is_fine.compile):
        with pytest.raises(LayerError, match=message):
            refuse(shape)


def test_a_device_with_less_shared_memory_is_heard():
    small = dataclasses.replace(_a_device(), shared_memory_per_block=1024)
    GEMM.require(SHAPE)
    with pytest.raises(
        LayerError, match="needs 2,048 bytes of static shared memory; a block has 1,024"
    ):
        GEMM.require(SHAPE, small)


def _a_device() -> device.Device:
    return device.Device("gpu", "toy", (9, 0), 1, 49_152, 1, None, None, "a test")


def test_dynamic_shared_memory_beyond_the_device_s_is_refused(cuda):
    with pytest.raises(
        LayerError,
        match=r"conv2d_tiled needs 262,144 bytes of dynamic shared memory; a block of this device",
    ):
        conv2d.compile(replace(TILED, block=(16, 16), tile=(254, 254, 1)), SHAPE)


def test_dynamic_shared_memory_beyond_48_kb_is_asked_for(cuda):
    wide = replace(TILED, dynamic=lambda spec, shape: 100_000)
    conv2d.check(conv2d.convolve(wide, *arrays()), *arrays())


def test_registers_that_a_block_has_not_are_refused(cuda, monkeypatch):
    class Greedy:
        max_threads_per_block = 128

        def __init__(self, *_, **__): ...

        def get_function(self, _):
            return self

    monkeypatch.setattr(cuda, "module_from_buffer", Greedy)
    with pytest.raises(
        LayerError, match="takes so many registers that a block can have 128 threads, not 256"
    ):
        conv2d.compile("conv2d_basic", SHAPE)


def little_memory(cuda, monkeypatch, free: int) -> None:
    monkeypatch.setattr(cuda, "mem_get_info", lambda: (free, 10 * free))


def test_a_batch_that_does_not_fit_is_refused_and_the_chunk_offered_fits(cuda, monkeypatch):
    shape = conv2d.shape_of("layer E2", 30)
    x, filter = arrays(shape)
    needed, some, one = (limits.conv2d(replace(shape, B=images)).bytes for images in (30, 25, 1))
    little_memory(cuda, monkeypatch, some)
    with pytest.raises(LayerError) as error:
        conv2d.convolve("conv2d_basic", x, filter)
    assert (
        f"needs {needed:,} bytes of device memory, and {some:,} are free: "
        "pass chunk=20 to conv2d.convolve" in str(error.value)
    )
    conv2d.check(conv2d.convolve("conv2d_basic", x, filter, chunk=20), x, filter)
    little_memory(cuda, monkeypatch, one)
    with pytest.raises(LayerError, match="not even one image fits"):
        conv2d.convolve("conv2d_basic", x, filter)


def test_scratch_counts_as_memory(cuda, monkeypatch):
    x, filter = arrays()
    little_memory(cuda, monkeypatch, 2 * limits.conv2d(SHAPE).bytes)
    assert conv2d.convolve("conv2d_basic", x, filter).shape == SHAPE.y_shape
    with pytest.raises(LayerError, match=r"im2col_gemm on 5 images.* pass chunk=2 to"):
        conv2d.convolve("im2col_gemm", x, filter)


def test_a_scratch_buffer_that_does_not_fit_is_refused(cuda, monkeypatch):
    spec = conv2d_named("im2col_gemm")
    little_memory(cuda, monkeypatch, spec.scratch(replace(SHAPE, B=3)) + 100)
    with pytest.raises(
        LayerError,
        match=r"the unrolled matrices of 5 images.* take dataclasses\.replace\(spec, images=3\)",
    ):
        conv2d.compile(spec, SHAPE)
    conv2d.compile(replace(spec, images=3), SHAPE).free()


# --------------------------------------------------------------------------------------------------
# Right results


@pytest.mark.parametrize(
    ("spec", "chunk"),
    [*((spec, 2) for spec in CONV2D), (CONV2D[0], None), (CONV2D[0], 100)],
    ids=lambda one: getattr(one, "name", str(one)),
)
def test_convolve_is_right_and_gives_its_memory_back(cuda, spec, chunk):
    free = cuda.mem_get_info()[0]
    y = conv2d.convolve(spec, *arrays(), chunk=chunk)
    conv2d.check(y, *arrays(), spec.name)
    assert cuda.mem_get_info()[0] == free


def test_convolve_takes_a_stride(cuda):
    y = conv2d.convolve("conv2d_basic", *arrays(), stride=3)
    assert y.shape == (5, 4, 3, 4)
    conv2d.check(y, *arrays(), stride=3)


def test_im2col_in_parts_is_right(cuda):
    for images in (1, 2, 5, 9):
        conv2d.check(
            conv2d.convolve(replace(conv2d_named("im2col_gemm"), images=images), *arrays()),
            *arrays(),
        )


def some_weights() -> trained_weights.Weights:
    rng = np.random.default_rng(1)
    values = {
        name: rng.uniform(-1, 1, shape).astype(np.float32)
        for name, shape in trained_weights.LAYER_SHAPES.items()
    }
    return trained_weights.Weights("toy", "a seed", **values)


def test_a_kernel_takes_the_place_of_the_network_s_convolution(cuda):
    pixels = datasets.fashion_mnist("test", 1).pixels
    with_kernel = network.logits(
        pixels, some_weights(), conv=partial(conv2d.convolve, "conv2d_tiled_maps")
    )
    assert np.allclose(with_kernel, network.logits(pixels, some_weights()), rtol=1e-4)


def on_device(cuda, *values):
    return [cuda.to_device(np.ascontiguousarray(value)) for value in values]


def fetched(cuda, address, shape=SHAPE) -> np.ndarray:
    y = np.empty(shape.y_shape, np.float32)
    cuda.memcpy_dtoh(y, address)
    return y


def test_a_constant_filter_is_uploaded_when_its_address_is_new(cuda):
    x, filter = arrays()
    other = filter[::-1].copy()
    x_there, first, second, y = on_device(
        cuda, x, filter, other, np.zeros(SHAPE.y_shape, np.float32)
    )
    run = conv2d.compile("conv2d_constant", SHAPE)
    for address, weights in ((first, filter), (second, other), (first, filter)):
        run.launch(y, x_there, address)
        conv2d.check(fetched(cuda, y), x, weights)
    run.upload(other)
    run.launch(y, x_there, first)
    conv2d.check(fetched(cuda, y), x, other)


class MapsReversed(conv2d.Conv2d):
    """A kernel that wants the output maps' weights in reverse order."""

    arranged = True

    def arrange(self, filter: np.ndarray) -> np.ndarray:
        return filter[::-1]


def test_a_record_can_arrange_the_filter_for_its_kernel(cuda):
    x, filter = arrays()
    spec = MapsReversed("conv2d_constant", filter_in="constant")
    for y in (conv2d.convolve(spec, x, filter), conv2d.simulate(spec, x, filter)[0]):
        conv2d.check(y[:, ::-1], x, filter)


def test_an_upload_of_another_shape_is_refused(cuda):
    run = conv2d.compile("conv2d_constant", SHAPE)
    with pytest.raises(ValueError, match="filter has shape"):
        run.upload(arrays()[1][:1].copy())
    with pytest.raises(TypeError, match="float64"):
        run.upload(arrays()[1].astype(np.float64))


def test_sums_by_atomics_start_from_zero_at_each_launch(cuda):
    x, filter = arrays()
    x_there, weights, y = on_device(cuda, x, filter, np.full(SHAPE.y_shape, np.nan, np.float32))
    run = conv2d.compile("conv2d_channels_atomics", SHAPE)
    for _ in range(2):
        run.launch(y, x_there, weights)
        conv2d.check(fetched(cuda, y), x, filter)


def test_launches_take_a_stream(cuda):
    x, filter = arrays()
    for spec in CONV2D:
        x_there, weights, y = on_device(cuda, x, filter, np.full(SHAPE.y_shape, np.nan, np.float32))
        stream, run = cuda.Stream(), conv2d.compile(spec, SHAPE)
        run.launch(int(y), int(x_there), int(weights), stream)
        stream.synchronize()
        conv2d.check(fetched(cuda, y), x, filter, spec.name)
        run.free()


def test_simulate_counts_and_takes_another_source():
    x, filter = arrays()
    y, (seen,) = conv2d.simulate("conv2d_basic", x, filter)
    conv2d.check(y, x, filter)
    assert seen.findings == ()
    assert seen.total("lanes", "global", "load") == 2 * SHAPE.outputs * SHAPE.terms
    assert seen.total("lanes", "global", "store") == SHAPE.outputs
    flipped = kernels.source("conv2d_basic").replace(
        "weights[(c * K + p) * K + q]", "weights[(c * K + K - 1 - p) * K + K - 1 - q]"
    )
    y, _ = conv2d.simulate(
        "conv2d_basic", x, filter, instead={"conv2d_basic": ("conv2d_basic", flipped)}
    )
    with pytest.raises(checking.CheckError, match="the filter is flipped"):
        conv2d.check(y, x, filter)


def test_simulate_reports_each_launch():
    _, found = conv2d.simulate(
        replace(conv2d_named("im2col_gemm"), images=3), *arrays(), entry=simulator.check
    )
    assert found == ((),) * 4


def test_simulate_refuses_what_convolve_refuses():
    with pytest.raises(LayerError, match="channels"):
        conv2d.simulate("conv2d_basic", arrays()[0][:, :1].copy(), arrays()[1])
    with pytest.raises(LayerError, match="supports only stride 1, got 2"):
        conv2d.simulate("conv2d_tiled", *arrays(), 2)


# --------------------------------------------------------------------------------------------------
# Checking


@pytest.mark.parametrize("cause", conv2d.suspects(*arrays()))
def test_each_suspect_is_named(cause):
    wrong = conv2d.suspects(*arrays())[cause].astype(np.float32)
    with pytest.raises(checking.CheckError, match=cause) as error:
        conv2d.check(wrong, *arrays(), "toy")
    assert error.value.diagnosis.kind == "suspect"


def test_suspects_of_the_smallest_layer_can_be_made():
    smallest = arrays(ConvShape(1, 1, 1, 1, 1, 1))
    assert set(conv2d.suspects(*smallest)) == {
        "the filter is flipped",
        "the rows and columns of the filter are exchanged",
    }


def test_atol_is_the_one_that_is_documented():
    x = np.array([[[[1.0, -2.0], [0.5, 1.0]]]], np.float32)
    filter = np.array([[[[1.0, -4.0], [5.0, 0.0]]], [[[-1.0, 1.0], [1.0, 1.0]]]], np.float32)
    assert conv2d.conv2d_atol(x, filter) == pytest.approx(5 * 2.0**-24 * 2 * 10)


@pytest.mark.parametrize("K", [1, 3, 7])
def test_tolerance_holds_for_any_order_of_float32_sums(K):
    x, filter = arrays(ConvShape(2, 3, 4, 20, 21, K))
    windows = (
        np.lib.stride_tricks.sliding_window_view(x, (K, K), axis=(2, 3))
        .transpose(1, 4, 5, 0, 2, 3)
        .reshape(3 * K * K, -1)
    )
    for order in (np.arange(3 * K * K), np.random.default_rng(0).permutation(3 * K * K)):
        y = np.zeros((4, windows.shape[1]), np.float32)
        for term in order:
            y += filter.reshape(4, -1)[:, term, None] * windows[term]
        want = reference.conv2d(x, filter).transpose(1, 0, 2, 3).reshape(4, -1)
        checking.check(y, want, rtol=0.0, atol=conv2d.conv2d_atol(x, filter))


@pytest.mark.parametrize("K", [1, 3, 7])
def test_tolerance_rejects_half_precision(K):
    x, filter = arrays(ConvShape(2, 3, 4, 20, 21, K))
    halved = reference.conv2d(x.astype(np.float16), filter.astype(np.float16)).astype(np.float32)
    with pytest.raises(checking.CheckError):
        conv2d.check(halved, x, filter)


# --------------------------------------------------------------------------------------------------
# Problem

MANY = ConvShape(B=40, C=2, M=3, H=6, W=7, K=3)  # more images than the oracle looks at


@pytest.fixture
def problem(cuda):
    free = cuda.mem_get_info()[0]
    with conv2d.Problem(MANY, *arrays(MANY)) as made:
        yield made
    assert cuda.mem_get_info()[0] == free


def test_the_oracle_looks_at_both_ends():
    assert conv2d.some_images(1) == (0,)
    assert {0, 9_999} < set(conv2d.some_images(10_000))
    assert len(conv2d.some_images(10_000)) == 5


def test_a_problem_passes_right_outputs(problem):
    conv2d.compile("conv2d_tiled", MANY).launch(problem.y, problem.x, problem.filter)
    verdict = problem.check("conv2d_tiled")
    assert (verdict.name, verdict.count) == ("conv2d_tiled", MANY.outputs)
    assert 0 < problem.relative_error("conv2d_tiled") < 1e-6


def test_a_problem_starts_poisoned_and_can_be_poisoned_again(problem):
    for _ in range(2):
        with pytest.raises(checking.CheckError, match="the kernel stored nothing"):
            problem.check("nothing")
        conv2d.compile("conv2d_basic", MANY).launch(problem.y, problem.x, problem.filter)
        assert problem.check("conv2d_basic")
        problem.poison()


def spoil(cuda, problem, image: int, value: float) -> None:
    """Make the problem's outputs right but for one."""
    conv2d.compile("conv2d_basic", MANY).launch(problem.y, problem.x, problem.filter)
    cuda.memcpy_htod(
        problem.y + 4 * (image * MANY.outputs // MANY.B + 5), np.array([value], np.float32)
    )


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e3])
def test_one_wrong_output_in_any_image_is_found(cuda, problem, value):
    for image in (0, MANY.B - 1):
        spoil(cuda, problem, image, value)
        with pytest.raises(checking.CheckError, match="1 of 300 values is wrong"):
            problem.check("toy")
    other = next(image for image in range(MANY.B) if image not in problem.oracle_images)
    spoil(cuda, problem, other, value)
    with pytest.raises(
        checking.CheckError,
        match="1 of 2,400 outputs differ from conv2d_basic or are NaN, in images other than 0, ",
    ):
        problem.check("toy")
    with pytest.raises(checking.CheckError):
        problem.relative_error("toy")


def test_a_problem_names_a_flipped_filter(cuda, problem):
    flipped = cuda.to_device(arrays(MANY)[1][:, :, ::-1, ::-1].copy())
    conv2d.compile("conv2d_basic", MANY).launch(problem.y, problem.x, flipped)
    with pytest.raises(checking.CheckError, match="the filter is flipped"):
        problem.check("toy")


def test_a_problem_of_another_shape_is_refused(cuda):
    with pytest.raises(LayerError, match="are not 40 images, 2 -> 3 channels, 6 x 8"):
        conv2d.Problem(replace(MANY, W=8), *arrays(MANY))


def test_a_problem_that_does_not_fit_is_refused(cuda, monkeypatch):
    little_memory(cuda, monkeypatch, 10_000)
    with pytest.raises(LayerError, match=r"are free: take 10 images$"):
        conv2d.Problem(MANY, *arrays(MANY))


def test_a_strided_problem(cuda):
    strided = replace(MANY, stride=2)
    with conv2d.Problem(strided, *arrays(MANY)) as made:
        conv2d.compile("conv2d_basic", strided).launch(made.y, made.x, made.filter)
        assert made.check("conv2d_basic").count == strided.outputs


# --------------------------------------------------------------------------------------------------
# Real data


@pytest.mark.parametrize("name", LAYERS)
def test_inputs_have_the_layer_s_shapes(name):
    shape = conv2d.shape_of(name, 3)
    x, filter = conv2d.inputs(name, 3, some_weights() if name in ("layer 1", "layer 2") else None)
    assert conv2d.shape_for(x, filter) == shape
    assert x.max() > 0
    assert x.min() >= 0
    assert np.ptp(x, axis=0).max() > 0  # not one image three times


def test_inputs_of_the_second_layer_by_the_oracle():
    first, weights = conv2d.inputs("layer 1", 2, some_weights())
    second, filter = conv2d.inputs("layer 2", 2, some_weights())
    want = (
        np.maximum(reference.conv2d(first, weights), 0).reshape(2, 4, 40, 2, 40, 2).max(axis=(3, 5))
    )
    # Bit for bit: sums of floats, in the order of a processor's BLAS, differ from it.
    assert second.dtype == np.float32 and np.array_equal(second, want.astype(np.float32))
    assert filter.shape == (16, 4, 7, 7)


def test_more_images_than_fit_a_part():
    x, _ = conv2d.inputs("layer E2", 230)
    alone, _ = conv2d.inputs("layer E2", 101)
    assert x.shape[0] == 230
    assert np.isfinite(x).all()
    assert np.allclose(x[:101], alone, rtol=1e-5)


def test_weights_for_a_layer_outside_the_network_are_refused():
    with pytest.raises(LayerError, match="without weights"):
        conv2d.inputs("layer E1", 1, some_weights())


# --------------------------------------------------------------------------------------------------
# On a GPU


@pytest.mark.gpu
@pytest.mark.parametrize("spec", CONV2D, ids=lambda spec: spec.name)
def test_problems_on_a_gpu(gpu, spec):
    for name in LAYERS:
        shape = conv2d.shape_of(name, 500)
        with conv2d.Problem(shape, *arrays(shape)) as made:
            run = conv2d.compile(spec, shape)
            run.launch(made.y, made.x, made.filter)
            # A longer sum rounds more often: layer 2's has 196 terms, that of the second report
            # layer 588.
            assert made.relative_error(spec.name) <= 1e-6 * max(1, shape.terms / 196)
            run.free()


@pytest.mark.gpu
def test_more_outputs_than_an_int_counts_on_a_gpu(gpu):
    """2^31 outputs and some more, of which the last ones are NaN: all of them are counted."""
    import pycuda.driver as cuda

    n = 2**31 + 1000
    if cuda.mem_get_info()[0] < 4.5 * n:
        pytest.skip(f"{4 * n:,} bytes of device memory are not free")
    values, counter = cuda.mem_alloc(4 * n), device_counter.DeviceCounter()
    cuda.memset_d32(int(values), 0, n)
    counter.poison(int(values) + 4 * (n - 7), 7)
    assert counter.wrong(int(values), int(values), 0.0, n) == 7
    values.free()


# --------------------------------------------------------------------------------------------------
# conv2d_register_tiled: what is chosen for a shape

REGISTER_TILED = conv2d.conv2d_named("conv2d_register_tiled")


@pytest.mark.parametrize("name", conv2d.LAYERS)
def test_what_was_measured_best_is_taken_for_the_layers_it_was_measured_on(name):
    spec = REGISTER_TILED.fitted(conv2d.shape_of(name, 1000))
    assert {part: getattr(spec, part) for part in conv2d.FITTED[name]} == conv2d.FITTED[name]


@pytest.mark.parametrize(
    "shape",
    [ConvShape(1, 3, 5, 20, 31, 3), ConvShape(9, 1, 1, 8, 8, 8), ConvShape(2, 3, 7, 19, 23, 15)],
)
def test_a_choice_for_another_shape_can_be_launched_and_costs_least(shape):
    spec = REGISTER_TILED.fitted(shape)
    spec.require(shape)
    worse = dataclasses.replace(REGISTER_TILED, patch=(1, 1, 1)).fitted(shape)
    assert spec.cost(shape) <= worse.cost(shape) < math.inf


def test_the_cost_puts_the_measured_configurations_in_their_order():
    """On an H200, 10,000 images: 0.507 ms for the first against 0.527 for the second, and 1.70
    against 1.89.
    """
    pairs = {
        "layer 1": ({}, {"patch": (4, 5, 4), "patches": (10, 16, 1)}),
        "layer 2": ({}, {"patch": (4, 1, 8), "patches": (9, 34, 1), "staged": 1}),
    }
    for name, (faster, slower) in pairs.items():
        shape = conv2d.shape_of(name, 1)
        fitted = dataclasses.replace(REGISTER_TILED, **conv2d.FITTED[name])
        costs = [dataclasses.replace(fitted, **change).cost(shape) for change in (faster, slower)]
        assert costs[0] < costs[1], name


def test_weights_are_arranged_with_the_maps_innermost_and_padded_to_whole_patches():
    filter = np.arange(3 * 2 * 2 * 2, dtype=np.float32).reshape(3, 2, 2, 2)
    arranged = dataclasses.replace(REGISTER_TILED, patch=(1, 1, 2)).arrange(filter)
    assert arranged.shape == (2, 2, 2, 4)
    # Filter[m, 1, 0, 1] for m = 0, 1, 2, and a map that is not there.
    assert arranged[1, 0, 1].tolist() == [5, 13, 21, 0]
