"""The network on the device: its kernels one by one, the whole, and the check that must see what is
wrong with one.
"""

import dataclasses
import math
import re
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import checking, device, kernels, launch, reference, simulator
from helpers.bench import lenet_times, timing
from helpers.limits import ConvShape
from helpers.problems import conv2d, datasets, resizing
from helpers.problems.conv2d import LayerError
from helpers.problems.lenet import checks, network, network_plan, pipeline, pooled, trained_weights
from helpers.problems.lenet.pooled import ConvPool
from tests.kernels.mutants import mutants, require_rejected

pytestmark = pytest.mark.long

DENSE = {"lenet_dense": (32, 128), "lenet_dense_split": (2, 512)}  # images, threads of a block
FORMS = {
    "apart": ("conv2d_register_tiled",) * 2,
    "mixed": ("conv2d_tiled", "lenet_conv_pool"),
    "fused": network_plan.FUSED,
}
WEIGHTS = trained_weights.lenet_weights()


def pictures(count: int) -> np.ndarray:
    """Images that need no download: uint8, (count, 28, 28)."""
    return datasets.fashion_mnist("test", count).pixels


def sourced(name: str, instead: str | None) -> tuple[str, str]:
    """(source, name) of a kernel, or of a mutant of it."""
    return (
        (kernels.source(name), name)
        if instead is None
        else (instead, re.search(r"// (\w+)\.cu --", instead)[1])
    )


# --------------------------------------------------------------------------------------------------
# Launches in the simulator, in full: what they give and what is found. `instead` is a mutant's
# source.


def resize(images: np.ndarray, side: int, rows: int = 6, instead: str | None = None):
    x = np.full((len(images), 1, side, side), np.nan, np.float32)
    options = [f"-DLENGTH={images.shape[1]}", f"-DSIDE={side}"]
    launch = {"grid": (len(images), 1), "block": (side // 2, rows, 1), "options": options}
    return x, simulator.check(*sourced("lenet_resize", instead), x, images, **launch)


def pool(x: np.ndarray, width: int, instead: str | None = None):
    B, M, H, W = x.shape
    y = np.full((B, M, -(-H // width), -(-W // width)), np.nan, np.float32)
    options = [f"-DHEIGHT={H}", f"-DWIDTH={W}", f"-DPOOL={width}"]
    launch = {"grid": (-(-y.size // 64), 1), "block": (64, 1, 1), "options": options}
    return y, simulator.check(*sourced("lenet_pool", instead), y, x, np.int32(B * M), **launch)


def dense(
    cells: np.ndarray,
    kernel: str,
    weights: trained_weights.Weights = WEIGHTS,
    instead: str | None = None,
):
    count, (images, threads) = len(cells), DENSE[kernel]
    classes, logits = np.full(count, 77, np.uint8), np.full((count, 10), np.nan, np.float32)
    arrays = network_plan.constants(weights)
    rest = [arrays[name] for name in ("fc3", "fc3_bias", "fc4", "fc4_bias")]
    launch = {"grid": (-(-count // images), 1), "block": (threads, 1, 1)}
    found = simulator.check(
        *sourced(kernel, instead), classes, logits, cells, *rest, np.int32(count), **launch
    )
    return classes, logits, found


def run_pooled(spec, x: np.ndarray, filter: np.ndarray, instead: str | None = None):
    """Convolution, ReLU and pool by a kernel of POOLED."""
    shape = conv2d.shape_for(x, filter)
    spec.require(shape)
    y = np.full(pooled.pooled_shape(shape, spec.pool), np.nan, np.float32)

    source, name = sourced(spec.name, instead)
    plan = launch.replaced(spec.plan(shape), {spec.name: (name, source)})
    (found,) = launch.simulate(plan, {"y": y, "x": x, "filter": filter}, simulator.check)
    return y, found


def want_pooled(x: np.ndarray, filter: np.ndarray, width: int) -> np.ndarray:
    return network.max_pool(network.relu(reference.conv2d(x, filter)), width)


def check_pooled(spec, x: np.ndarray, filter: np.ndarray, instead: str | None = None) -> tuple:
    """Compare with the reference; return the findings. Raises where a value is wrong."""
    y, found = run_pooled(spec, x, filter, instead)
    checking.check(
        y,
        want_pooled(x, filter, spec.pool),
        rtol=0,
        atol=conv2d.conv2d_atol(x, filter),
        name=spec.name,
    )
    return found


def problem(shape: ConvShape) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([shape.C, shape.M, shape.H, shape.W, shape.K])
    return tuple(
        rng.uniform(-1, 1, size).astype(np.float32) for size in (shape.x_shape, shape.filter_shape)
    )


# --------------------------------------------------------------------------------------------------
# Resizing


@pytest.mark.parametrize(("length", "side"), [(28, 86), (28, 28), (5, 12), (9, 4)])
def test_resize_is_exact(length, side):
    images = np.random.default_rng(length).integers(0, 256, (3, length, length)).astype(np.uint8)
    images[1], images[2, 0, 0] = 255, 255
    x, found = resize(images, side)
    assert (x == resizing.network_input(images, side)).all()
    assert not found


def test_rows_of_a_block_may_be_any():
    images = pictures(1)
    for rows in (1, 5, 11):
        assert (resize(images, 86, rows)[0] == resizing.network_input(images)).all()


# --------------------------------------------------------------------------------------------------
# ReLU and pool


# One value; whole windows, and windows cut in one axis or in both; windows of one value.
@pytest.mark.parametrize(
    ("size", "width"),
    [
        ((1, 1, 1, 1), 1), ((1, 1, 1, 1), 4), ((2, 3, 6, 9), 3), ((2, 3, 6, 9), 2),
        ((3, 1, 7, 5), 4), ((3, 1, 7, 5), 1),
    ],
)  # fmt: skip
def test_pool(size, width):
    x = np.random.default_rng(width).uniform(-1, 1, size).astype(np.float32)
    y, found = pool(x, width)
    assert (y == network.max_pool(network.relu(x), width)).all()
    assert not found


def test_pool_by_hand_cuts_the_last_windows_and_passes_nan_on():
    x = np.array([[[[-1, 2, -3], [-1, -3, 3], [-5, -6, -7]]]], np.float32)
    assert pool(x, 2)[0].tolist() == [[[[2, 3], [0, 0]]]]
    x[0, 0, 0, 0] = np.nan
    y = pool(x, 2)[0]
    assert np.isnan(y[0, 0, 0, 0]) and y.ravel()[1:].tolist() == [3, 0, 0]


# --------------------------------------------------------------------------------------------------
# The dense layers


@pytest.mark.parametrize("kernel", DENSE)
@pytest.mark.parametrize("count", [1, 32, 45])
def test_dense(count, kernel):
    cells = np.random.default_rng(count).uniform(0, 2, (count, 1296)).astype(np.float32)
    classes, logits, found = dense(cells, kernel)
    want, bound = checks.dense(cells, WEIGHTS)
    checking.check(logits, want, rtol=0, atol=bound.max(), name="logits")
    assert (np.abs(logits - want) <= bound).all()
    assert (classes == network.classify(logits)).all()
    assert not found


@pytest.mark.parametrize("kernel", DENSE)
def test_of_equal_logits_the_first_and_of_nan_none(kernel):
    weights = dataclasses.replace(
        WEIGHTS, fc4=np.zeros_like(WEIGHTS.fc4), fc4_bias=np.float32([0, 1, 3, 3, 2, 3, 1, 0, 0, 3])
    )
    cells = np.zeros((3, 1296), np.float32)
    cells[1, 700] = np.nan
    classes, logits, _ = dense(cells, kernel, weights)
    assert classes.tolist() == [2, 255, 2]
    assert np.isnan(logits[1]).all()


def test_few_images_share_their_inputs_among_warps():
    launches = {batch: network_plan._dense(batch) for batch in (32, 100, 1_000, 10_000)}
    split = 2 * ["lenet_dense_split"]
    assert [one.name for one in launches.values()] == ["lenet_dense", *split, "lenet_dense"]
    assert [one.grid[0] for one in launches.values()] == [1, 100, 500, 313]


def test_the_bound_of_dense_holds_and_sees_a_chunk_that_is_left_out():
    cells = np.random.default_rng(0).uniform(0, 2, (4, 1296)).astype(np.float32)
    want, bound = checks.dense(cells, WEIGHTS)
    hidden = network.relu(network.dense(cells, WEIGHTS.fc3, WEIGHTS.fc3_bias))
    assert (np.abs(network.dense(hidden, WEIGHTS.fc4, WEIGHTS.fc4_bias) - want) <= bound).all()
    cells[:, -144:] = 0
    assert (np.abs(checks.dense(cells, WEIGHTS)[0] - want) > bound).any()


# --------------------------------------------------------------------------------------------------
# Convolution and pool fused


def conv_pool(width: int, patch: tuple, patches: tuple, channels: int, unroll: int = 1) -> ConvPool:
    spec = pooled.pooled_named("lenet_conv_pool", width)
    return dataclasses.replace(
        spec, patch=patch, patches=(*patches, 1), staged=channels, unroll=unroll
    )


# (shape, pool, patch, patches): tiles that cover the map and that do not; overhang in rows, columns
# and maps; part windows.
CONV_POOL = [
    (ConvShape(2, C=1, M=4, H=22, W=26, K=7), 2, (4, 2, 4), (5, 8)),
    (ConvShape(2, C=3, M=5, H=21, W=27, K=3), 2, (4, 2, 2), (3, 4)),
    (ConvShape(1, C=2, M=3, H=19, W=17, K=4), 4, (2, 1, 3), (7, 16)),
    (ConvShape(1, C=2, M=3, H=19, W=17, K=4), 4, (4, 4, 1), (2, 3)),
    (ConvShape(3, C=1, M=1, H=9, W=10, K=2), 3, (3, 1, 1), (2, 6)),
    (ConvShape(1, C=1, M=2, H=8, W=8, K=8), 2, (1, 1, 2), (4, 1)),
    (ConvShape(1, C=2, M=2, H=12, W=15, K=1), 1, (4, 2, 2), (8, 2)),
]


@pytest.mark.parametrize(("shape", "width", "patch", "patches"), CONV_POOL)
def test_conv_pool(shape, width, patch, patches):
    assert not check_pooled(conv_pool(width, patch, patches, shape.C), *problem(shape))


@settings(max_examples=4, deadline=None)
@given(
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 5),
    st.integers(0, 12),
    st.integers(0, 12),
    st.sampled_from((1, 2, 4)),
)
def test_conv_pool_beyond_the_table(K, C, M, rows, columns, width):
    shape = ConvShape(2, C, M, K + rows, K + columns, K)
    assert not check_pooled(conv_pool(width, (2, 2, 2), (8, 4), C), *problem(shape))


def test_where_all_sums_are_negative_the_pool_is_zero():
    x, filter = np.ones((1, 1, 9, 9), np.float32), -np.ones((2, 1, 3, 3), np.float32)
    y, _ = run_pooled(conv_pool(2, (2, 2, 2), (4, 4), 1), x, filter)
    assert (y == 0).all() and not np.signbit(y).any()


# --------------------------------------------------------------------------------------------------
# On tensor cores


def real(name: str, count: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """(x, filter) of a layer, from images that need no download."""
    x = resizing.network_input(pictures(count))
    if name == "layer 1":
        return x, WEIGHTS.conv1
    return np.ascontiguousarray(
        network.max_pool(network.relu(network.conv2d(x, WEIGHTS.conv1)), 2)
    ), WEIGHTS.conv2


def mma(name: str, **changes):
    number = pooled.LAYERS.index(name)
    return dataclasses.replace(
        pooled.pooled_named(f"lenet_mma_{number + 1}", pooled.POOLS[number]), **changes
    )


@pytest.mark.parametrize("name", pooled.LAYERS)
def test_mma_pool_has_the_accuracy_of_float32(name):
    x, filter = real(name, 2)
    # One block takes both images, one after the other.
    y, found = run_pooled(mma(name, blocks=1), x, filter)
    assert not found
    want = want_pooled(x, filter, mma(name).pool)
    checking.check(y, want, rtol=0, atol=conv2d.conv2d_atol(x, filter), name=name)
    assert np.abs(y - want).max() <= 1e-6 * want.max()


@pytest.mark.parametrize("name", pooled.LAYERS)
def test_one_half_is_less_exact_and_is_seen(name):
    x, filter = real(name)
    rough = mma(name, parts=1)
    y, found = run_pooled(rough, x, filter)
    want = want_pooled(x, filter, rough.pool)
    assert not found
    assert 1e-5 < np.abs(y - want).max() / want.max() < 2e-3
    with pytest.raises(checking.CheckError):
        checking.check(y, want, rtol=0, atol=conv2d.conv2d_atol(x, filter))


@pytest.mark.parametrize("name", pooled.LAYERS)
def test_cells_need_not_be_whole_numbers(name):
    """Pixels are, and have no lower half."""
    x, filter = problem(conv2d.shape_of(name, 1))
    y, found = run_pooled(mma(name), x, filter)
    assert not found
    want = want_pooled(x, filter, mma(name).pool)
    checking.check(y, want, rtol=0, atol=conv2d.conv2d_atol(x, filter), name=name)
    assert np.abs(y - want).max() <= 1e-6 * want.max()
    header = (kernels.FOLDER / "windows.cuh").read_text().replace("#pragma once\n", "")
    one_part = header.replace("multiply(sum[", "if (!cell_part(product)) multiply(sum[")
    assert one_part.count("if (!cell_part(product))") == 2
    without = kernels.changed(mma(name).name, ('#include "windows.cuh"\n', one_part))
    with pytest.raises(checking.CheckError):
        check_pooled(mma(name), x, filter, without)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 3e4])
def test_small_and_large_weights_are_scaled(scale):
    x, filter = real("layer 1")
    filter = filter * np.float32(scale / np.abs(filter).max())
    y, _ = run_pooled(mma("layer 1"), x, filter)
    want = want_pooled(x, filter, 2)
    assert np.abs(y - want).max() <= 1e-6 * want.max()


@pytest.mark.parametrize(("name", "steps", "outputs"), [("layer 1", 4, 4), ("layer 2", 28, 2)])
def test_every_weight_is_in_its_fragments(name, steps, outputs):
    shape = conv2d.shape_of(name, 1)
    numbers = np.arange(1, 1 + math.prod(shape.filter_shape), dtype=np.uint16).reshape(
        shape.filter_shape
    )
    # Bits that tell where each half comes from.
    parts = np.stack([numbers, numbers + 10_000]).view(np.float16)
    found = (
        np.ascontiguousarray(mma(name).fragments(parts)).view(np.uint16).reshape(steps, 2, 32, 8)
    )
    for part, first in enumerate((0, 10_000)):
        counted = np.bincount(found[:, part][found[:, part] > 0] - first, minlength=1)
        # For each output of a quad, or a pair.
        assert (counted[1:] == outputs).all() and len(counted) == 1 + numbers.size


@pytest.mark.parametrize("kernel", ["lenet_mma_1", "lenet_mma_2", "lenet_conv_pool"])
def test_a_fused_kernel_passes_nan_on(kernel):
    number = int(kernel[-1]) if kernel[-1].isdigit() else 1
    x, filter = real(pooled.LAYERS[number - 1], 2)
    x[1, 0, 20, 21] = np.nan
    spec = pooled.pooled_named(kernel, pooled.POOLS[number - 1])
    y, found = run_pooled(spec, x, filter)
    want = want_pooled(x, filter, spec.pool)
    assert (
        np.isnan(y)[np.isnan(want)].all()
        and np.isnan(want).any()
        and not np.isnan(y[0]).any()
        and not found
    )
    with pytest.raises(checking.CheckError, match="NaN"):
        checking.check(y, want_pooled(np.nan_to_num(x), filter, spec.pool), rtol=0, atol=1e30)


def test_a_kernel_without_a_pool_is_no_fused_one():
    with pytest.raises(LayerError, match="no kernel 'lenet_pool'"):
        pooled.pooled_named("lenet_pool", 2)


# --------------------------------------------------------------------------------------------------
# The whole


@pytest.fixture(scope="module")
def checker():
    with checks.Checker(WEIGHTS, pictures(2)) as made:
        yield made


@pytest.mark.parametrize(("form", "pixels"), [("apart", False), ("mixed", True), ("fused", True)])
def test_a_network_is_right(checker, form, pixels):
    with pipeline.Network(WEIGHTS, 2, FORMS[form], pixels=pixels) as net:
        verdict = checker.check(checker.ready(net), "it")
        assert verdict.count == 2
        assert (net.read("classes") == network.predict(pictures(2), WEIGHTS)).all()
        assert [stage.name for stage in net.stages][-1] == "dense"
        assert ("resize" in [stage.name for stage in net.stages]) == pixels
        assert {stage.kernel for stage in net.stages} <= set(kernels.names())


def test_tensor_cores_make_the_same_classes(checker):
    with pipeline.Network(WEIGHTS, 2, network_plan.TENSOR_CORES) as net:
        checker.check(checker.ready(net), "tensor cores")


def test_batches_that_do_not_divide_the_images():
    images = pictures(3)
    with pipeline.Network(WEIGHTS, 2, pixels=True) as net:
        assert (net.classify(images) == network.predict(images, WEIGHTS)).all()


def test_the_checker_sees_other_weights_and_what_is_left_out(checker):
    other = dataclasses.replace(WEIGHTS, conv2=WEIGHTS.conv2[::-1].copy())
    with pipeline.Network(other, 2) as net, pytest.raises(checking.CheckError, match="pool 2"):
        checker.check(checker.ready(net), "other weights")
    with pipeline.Network(WEIGHTS, 2) as net:
        net.stages = net.stages[:-1]
        with pytest.raises(checking.CheckError, match="logits"):
            checker.check(checker.ready(net), "no dense layers")


def test_the_checker_sees_an_image_that_no_oracle_looked_at(monkeypatch):
    monkeypatch.setattr(conv2d, "some_images", lambda batch: (0, batch - 1))
    with checks.Checker(WEIGHTS, pictures(3)) as checker, pipeline.Network(WEIGHTS, 3) as net:
        spoilt = checker.cells.copy()
        spoilt[1] = 0
        net.load(spoilt)
        with pytest.raises(
            checking.CheckError, match="values of pool 1 differ from the plain network's"
        ):
            checker.check(net, "one image is missing")


def test_what_a_network_refuses():
    with pytest.raises(LayerError, match="give two kernels"):
        pipeline.Network(WEIGHTS, 1, ("conv2d_basic",))
    with pytest.raises(LayerError, match="no convolution layer kernel"):
        pipeline.Network(WEIGHTS, 1, ("conv2d_fast", "conv2d_basic"))
    with pytest.raises(LayerError, match="take a batch of"):
        pipeline.Network(WEIGHTS, 100_000, FORMS["apart"])
    with pipeline.Network(WEIGHTS, 1) as net:
        with pytest.raises(LayerError, match="takes up to"):
            net.load(np.zeros((2, 1, 86, 86), np.float32))
        with pytest.raises(TypeError, match="uint8"):
            net.classify(np.zeros((1, 28, 28), np.float32))


# All images in one chunk, and more chunks than streams.
@pytest.mark.parametrize(("chunk", "streams", "pixels"), [(3, 1, True), (1, 2, False)])
def test_a_pipeline(chunk, streams, pixels):
    images = pictures(3)
    with pipeline.Pipeline(WEIGHTS, 3, chunk, streams, pixels=pixels) as line:
        assert line.pixels == pixels
        line.load(images if pixels else resizing.network_input(images))
        line.copy_in()
        assert (line.run() == network.predict(images, WEIGHTS)).all()
    with pytest.raises(LayerError, match="divides the 3 images"):
        pipeline.Pipeline(WEIGHTS, 3, 2)


def test_simulate_gives_all_stages_and_no_finding():
    """Stages of one launch and of several, fused and not."""
    images, layers = pictures(1), ("im2col_gemm", "lenet_conv_pool")
    made, found = network_plan.simulate(WEIGHTS, images, layers, pixels=True, entry=simulator.check)
    assert (made["classes"] == network.predict(images, WEIGHTS)).all()
    assert list(found) == ["resize", "conv 1", "pool 1", "conv + pool 2", "dense"]
    assert not any(any(one) if one and isinstance(one[0], tuple) else one for one in found.values())


def test_right_answers_are_counted_and_nothing_is_timed_here(checker):
    images = datasets.fashion_mnist("test", 2)
    counts = (1, 2, 10_000)  # the last is more than there are
    rows = lenet_times.right_answers(
        WEIGHTS, images, "fused", network_plan.FUSED, counts, "501_lenet"
    )
    one, all_of_them, far = rows
    assert far["right"] == trained_weights.lenet_record()["test"]["right"]["10000"]
    good = network.predict(images.pixels, WEIGHTS) == images.labels
    assert (one["right"], all_of_them["right"], all_of_them["images"]) == (
        good[:1].sum(),
        good.sum(),
        2,
    )
    if device.select().kind == "simulator":
        with pytest.raises(timing.NoClockError):
            next(lenet_times.stage_times(checker, "fused", network_plan.FUSED))


def test_rows_of_a_record(monkeypatch):
    monkeypatch.setattr(lenet_times, "PARTS", (1,))
    monkeypatch.setattr(timing, "time_gpu", lambda launch, **how: launch(None))
    monkeypatch.setattr(timing, "time_end_to_end", lambda call, **how: call() is not None)
    forms = {"mixed": FORMS["mixed"]}  # kernels of both kinds: with a pool of its own, and without
    rows = list(
        lenet_times.measure(WEIGHTS, datasets.fashion_mnist("test", 1), forms, (1,), host="mixed")
    )
    stages = [
        (row["form"], row["stage"])
        for row in rows
        if row["series"] == "stage" and row["form"] == "mixed"
    ]
    assert stages == [
        ("mixed", stage) for stage in ("resize", "conv 1", "pool 1", "conv + pool 2", "dense")
    ]
    layers = [
        (row["form"], row["layer"], row["kernel"], row["batch"])
        for row in rows
        if row["series"] == "layer"
    ]
    assert layers == [
        (form, name, kernel, 1)
        for form in forms
        for name, kernel in zip(pooled.LAYERS, forms[form], strict=True)
    ]
    assert [row["series"] for row in rows if row["series"] in ("host", "copy")] == [
        "host",
        "copy",
    ] * 2
    assert {row["megabytes"] for row in rows if row["series"] == "host"} == {
        4 * 86**2 / 1e6,
        28**2 / 1e6,
    }


@pytest.mark.gpu
@pytest.mark.outside_data(datasets.FOLDER_VARIABLE)
@pytest.mark.parametrize(
    "layers",
    [network_plan.PLAIN, FORMS["apart"], network_plan.FUSED, network_plan.TENSOR_CORES],
    ids=str,
)
def test_counts_of_right_answers_are_the_references(layers):
    images = datasets.fashion_mnist("test")
    known = trained_weights.lenet_record()["test"]["right"]
    with pipeline.Network(WEIGHTS, 2_500, layers, pixels=True) as net:
        good = net.classify(images.pixels) == images.labels
    assert {count: int(good[: int(count)].sum()) for count in known} == known


@pytest.mark.gpu
@pytest.mark.parametrize(
    "layers", [FORMS["apart"], network_plan.FUSED, network_plan.TENSOR_CORES], ids=str
)
def test_sanitize_networks(layers):
    """For compute-sanitizer: every kernel of the network, with few images."""
    images = datasets.fashion_mnist("test", 9)
    with pipeline.Network(WEIGHTS, 9, layers, pixels=True) as net:
        found = net.classify(images.pixels)
    assert (
        found.tolist()
        == network.classify(
            network.forward(resizing.network_input(images.pixels), WEIGHTS)
        ).tolist()
    )


# --------------------------------------------------------------------------------------------------
# Mutants


def run_mutant(mutant) -> tuple:
    """Run a mutant where its original runs: (findings, what was got, what is wanted, by how much
    they may differ).
    """
    rng, source = np.random.default_rng(22), mutant.source
    if mutant.original == "lenet_resize":
        images = rng.integers(0, 256, (2, 28, 28)).astype(np.uint8)
        x, found = resize(images, 86, instead=source)
        return found, x, resizing.network_input(images), 0.0
    if mutant.original == "lenet_pool":
        x = rng.uniform(-1, 0.2, (2, 3, 34, 34)).astype(np.float32)
        y, found = pool(x, 4, instead=source)
        return found, y, network.max_pool(network.relu(x), 4), 0.0
    if mutant.original in DENSE:
        cells = rng.uniform(0, 2, (37, 1296)).astype(np.float32)
        _, logits, found = dense(cells, mutant.original, instead=source)
        want, bound = checks.dense(cells, WEIGHTS)
        return found, logits, want, bound.max()
    if mutant.original == "lenet_conv_pool":
        x, filter = problem(ConvShape(2, C=3, M=5, H=23, W=25, K=3))
        filter, spec = filter - np.float32(0.3), conv_pool(4, (4, 2, 2), (6, 11), 3)
    else:
        name = pooled.LAYERS[int(mutant.original[-1]) - 1]
        (x, filter), spec = real(name, 2), mma(name, blocks=1)
    y, found = run_pooled(spec, x, filter, instead=source)
    return found, y, want_pooled(x, filter, spec.pool), conv2d.conv2d_atol(x, filter)


MUTANTS = mutants("lenet")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutants_are_rejected(mutant):
    found, got, want, atol = run_mutant(mutant)
    check = partial(checking.check, got, want, rtol=0, atol=atol, name=mutant.name)
    require_rejected(mutant, found, check, beside=("unwritten", "uninitialised"))
    # Lines of the headers count where the kernel calls them.
    assert {f.file for f in found} <= {f"{mutant.name}.cu"}
