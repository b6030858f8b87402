"""The kernels on warpgroup products: the order of their weights, and who refuses them.

The simulator cannot run them; on a GPU they are run here, too (`pytest -m gpu`), and in the
benchmarks.
"""

import re
from dataclasses import replace

import numpy as np
import pytest

from helpers import checking, kernels, launch, programs, reference, simulator
from helpers.problems import conv2d, datasets
from helpers.problems.conv2d import mma_wgmma, power_of_two
from helpers.problems.lenet import checks, network, network_plan, pipeline, pooled, trained_weights
from tests.support import (
    layer_problem,
    needs_nvcc,
    on_gpu,
    require_halves,
    require_lean,
)

LAYER = conv2d.shape_of("layer 2", 1)
FORMS = [mma_wgmma(), mma_wgmma(1), mma_wgmma(1, True)]
POOLED = [replace(pooled.pooled_named("lenet_wgmma_2", 4), parts=parts) for parts in (2, 1)]
EVERY = [*FORMS, *POOLED]


def label(spec) -> str:
    return f"{spec.name}-{spec.parts}-{getattr(spec, 'half_io', False)}"


def matrix(fragments: np.ndarray) -> np.ndarray:
    """A, (64, 16), of a step's fragments, (128, 4, 2), by the PTX manual's figure of them."""
    a = np.zeros((64, 16), np.float64)
    for lane, register, half in np.ndindex(fragments.shape):
        warp, g, q = lane // 32, lane % 32 // 4, lane % 4
        a[16 * warp + 8 * (register % 2) + g, 8 * (register // 2) + 2 * q + half] = fragments[
            lane, register, half
        ]
    return a


@pytest.mark.parametrize("spec", [mma_wgmma(1), mma_wgmma(2), *POOLED], ids=label)
def test_products_of_the_fragments_with_windows_are_the_convolution(spec):
    """As the tensor cores do it, in float64: a window gives 2 x 2 outputs of 16 maps."""
    x, filter = layer_problem(LAYER)
    packed = spec.arrange(filter)
    scale = packed[-16:].view(np.float32)[0]
    steps = (
        packed[:-16]
        .view(np.float16)
        .reshape(16, spec.parts, 128, 4, 2)
        .astype(np.float64)
        .sum(axis=1)
    )
    rounded = conv2d.SCALED_HALF.rounded(filter) if spec.parts == 1 else filter
    want, matrices = reference.conv2d(x, rounded), list(map(matrix, steps))
    for row, column in ((0, 0), (6, 32), (32, 14), (32, 32)):
        sums = np.zeros(64)
        for step, a in enumerate(matrices):
            channel, first = step // 4, row + step % 4 * 2
            cells = np.zeros((2, 8))
            there = x[0, channel, first : first + 2, column : column + 8]
            cells[:, : there.shape[1]] = there
            sums += a @ cells.ravel()
        for index, got in enumerate(sums * scale):
            warp, g = index // 16, index % 8
            place = warp + g // 2 * 4, row + g % 2, column + index % 16 // 8
            assert got == pytest.approx(want[(0, *place)], abs=1e-5)


def test_each_weight_is_there_for_each_shift_once():
    filter = (
        np.arange(1, 1 + 16 * 4 * 49, dtype=np.float32).reshape(16, 4, 7, 7) % 2039 + 1
    )  # exact in half
    packed = mma_wgmma(1).arrange(filter)
    cells = packed[:-16].view(np.float16).astype(np.float64) / power_of_two(filter)
    assert sorted(cells[cells != 0]) == sorted(4 * filter.ravel().tolist())


@pytest.mark.parametrize("spec", [FORMS[0], POOLED[0]], ids=label)
def test_the_simulator_names_the_instruction_and_its_line(spec):
    plan = spec.plan(LAYER)
    arrays = {array.name: np.zeros(array.shape, array.dtype) for array in plan[0].arrays}
    with pytest.raises(
        simulator.CompileFailed,
        match=r"the simulator cannot run the instruction (setmaxnreg|wgmma)\S*",
    ) as refusal:
        launch.simulate(plan, arrays, simulator.check)
    file, line = re.search(r"(\w+\.cuh?):(\d+)", str(refusal.value)).groups()
    text = (kernels.FOLDER / file).read_text().splitlines()[int(line) - 1]
    assert re.search(r"asm|setmaxnreg|wgmma|registers", text), text


def test_the_options_name_the_architecture_and_the_launch_hands_it_over():
    (one,) = mma_wgmma().plan(LAYER)
    rest, architecture = programs.target(one.options)
    assert architecture == "sm_90a"
    assert not any(option.startswith("-arch") for option in rest)
    assert programs.target(("-DA=1", "-I.")) == (["-DA=1", "-I."], None)


# In float32 the forms of one part keep fewer fragments than those of two.
@needs_nvcc
@pytest.mark.parametrize("spec", [FORMS[0], FORMS[2], POOLED[0]], ids=label)
def test_nvcc_spills_nothing_and_serializes_nothing(spec, tmp_path):
    require_lean(spec.name, tmp_path, spec.options(LAYER))


@pytest.mark.gpu
@pytest.mark.parametrize("spec", FORMS[:2], ids=label)
@pytest.mark.parametrize("images", [1, 3, 7])
def test_layer_on_the_gpu(spec, images):
    """One block takes several images, and an odd one is left over."""
    x, filter = layer_problem(replace(LAYER, B=images))
    few = replace(spec, blocks=2)
    conv2d.check(conv2d.convolve(few, x, filter), x, filter, spec.name, precision=spec.precision)


@pytest.mark.gpu
@pytest.mark.parametrize("images", [1, 3, 7])
def test_halves_in_and_out_on_the_gpu(images):
    spec, shape = replace(mma_wgmma(1, True), blocks=2), replace(LAYER, B=images)
    x, filter = layer_problem(shape)
    y = on_gpu(spec.plan(shape), "y", {"x": x.astype(np.float16), "filter": filter})
    require_halves(spec, y, x, filter)


@pytest.mark.gpu
@pytest.mark.parametrize("spec", POOLED, ids=label)
@pytest.mark.parametrize("images", [1, 3, 7])
def test_pool_on_the_gpu(spec, images):
    shape = replace(LAYER, B=images)
    x, filter = layer_problem(shape)
    y = on_gpu(replace(spec, blocks=2).plan(shape), "y", {"x": x, "filter": filter})
    halves = conv2d.SCALED_HALF
    rounded = (halves.rounded(x), halves.rounded(filter)) if spec.parts == 1 else (x, filter)
    want = network.max_pool(network.relu(reference.conv2d(*rounded)), 4)
    checking.check(y, want, rtol=0.0, atol=conv2d.conv2d_atol(x, filter), name=spec.name)


@pytest.mark.gpu
def test_the_network_classifies_alike():
    images, weights = datasets.images_at_hand(1_000), trained_weights.lenet_weights()
    with (
        checks.Checker(weights, images.pixels[:1_000]) as checker,
        pipeline.Network(weights, 1_000, network_plan.FASTEST) as net,
    ):
        assert checker.check(checker.ready(net), "lenet_wgmma_2").count == 1_000
