"""The kernels on tensor cores by inline PTX: their results, their stores, and what is refused."""

import itertools
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import kernels, simulator
from helpers.limits import ConvShape
from helpers.problems import conv2d, precision
from helpers.problems.conv2d import FASTEST, mma_halves, mma_quads
from helpers.simulator.compile.compiler import compile_source
from helpers.simulator.program import assembly
from tests.kernels.mutants import mutants, require_rejected
from tests.support import layer_problem, needs_nvcc, nvcc, run_layer

PAIRS, QUADS, HALVES = FASTEST
NAMES = tuple(spec.name for spec in FASTEST)
# (B, C, M, H, W, K): one task a warp and several; an odd channel; maps that fill no group, and
# several groups; tasks side by side.
PAIRS_SHAPES = (
    (1, 1, 1, 8, 8, 7),
    (3, 2, 16, 10, 40, 7),
    (2, 3, 5, 10, 14, 5),
    (5, 1, 17, 6, 52, 3),
    (1, 4, 16, 40, 40, 7),
)
QUADS_SHAPES = (
    (1, 1, 1, 8, 8, 7),
    (3, 1, 4, 12, 86, 7),
    (2, 1, 6, 10, 14, 5),
    (5, 1, 9, 6, 100, 3),
)
# With one part a kernel has the same tasks, and fewer products of each.
CASES = [
    *((PAIRS, sizes) for sizes in PAIRS_SHAPES),
    *((HALVES, sizes) for sizes in PAIRS_SHAPES[2:4]),
    *((QUADS, sizes) for sizes in QUADS_SHAPES),
    (mma_quads(1), QUADS_SHAPES[1]),
]


@pytest.mark.parametrize(("spec", "sizes"), CASES, ids=lambda one: getattr(one, "name", str(one)))
def test_table(spec, sizes):
    x, filter = layer_problem(ConvShape(*sizes))
    few = replace(spec, warps=3, blocks=2, resident=1)  # blocks take several images, one by one
    y, name = run_layer(few, x, filter), f"{spec.name}, {sizes}"
    conv2d.check(y, x, filter, name, precision=spec.precision)


@st.composite
def tasks(draw):
    """A record and a layer that it takes: images left over, maps that fill no group, tiles that
    overhang.
    """
    K, spec = draw(st.sampled_from((3, 5, 7))), draw(st.sampled_from((*FASTEST, mma_quads(1))))
    H, W = (K + 1 + 2 * draw(st.integers(0, most)) for most in (6, 22))
    C = 1 if spec.name == QUADS.name else draw(st.integers(1, 4))
    few = replace(spec, warps=draw(st.integers(1, 4)), blocks=draw(st.integers(1, 2)), resident=1)
    return few, ConvShape(draw(st.integers(1, 3)), C, draw(st.integers(1, 18)), H, W, K)


@settings(max_examples=5)
@given(task=tasks())
def test_layers_beyond_the_table(task):
    spec, shape = task
    x, filter = layer_problem(shape)
    y = run_layer(spec, x, filter)
    conv2d.check(y, x, filter, f"{spec}, {shape}", precision=spec.precision)


def test_the_scale_is_a_power_of_two():
    for largest in (1e-30, 0.3, 1.0, 7.0, 3e4):
        scale = conv2d.power_of_two(np.array([0.1 * largest, -largest]))
        assert 2**13 <= largest * scale < 2**14
        assert np.log2(scale) == round(np.log2(scale))
    assert conv2d.power_of_two(np.zeros(3)) == 1
    small = np.array([3e-7, 1.0], np.float32)  # half alone has 3e-7 in steps of 6e-8
    assert (
        abs(conv2d.SCALED_HALF.rounded(small)[0] - 3e-7)
        < 1e-9
        < abs(precision.HALF.rounded(small)[0] - 3e-7)
    )


@pytest.mark.parametrize("spec", FASTEST, ids=NAMES)
def test_the_arrangement_holds_each_weight_of_each_shift_once(spec):
    # Below 2,048: exact in half.
    filter = np.arange(1, 1 + 5 * 7 * 7, dtype=np.float32).reshape(5, 1, 7, 7)
    packed = replace(spec, parts=1).arrange(filter)
    cells, inverse = (
        packed[:-16].view(np.float16).astype(np.float32),
        packed[-16:].view(np.float32)[0],
    )
    found, times = np.unique(cells[cells != 0] * inverse, return_counts=True)
    assert found.tolist() == filter.ravel().tolist()
    assert set(times) == {4 if spec is QUADS else 2}


def test_a_fragment_by_hand():
    filter = np.arange(1, 1 + 16 * 2 * 7 * 7, dtype=np.float32).reshape(16, 2, 7, 7)
    packed = HALVES.arrange(filter)
    scale = conv2d.power_of_two(filter)
    # Step, shift, lane, register, half.
    found = packed[:-16].view(np.float16).reshape(7, 2, 32, 4, 2) / np.float16(scale)
    lane = 4 * 3 + 1  # g = 3, q = 1: maps 3 and 11, columns 2 and 3
    want = filter.astype(np.float16)
    assert found[0, 0, lane].tolist() == [
        [*want[m, 0, p, 2:4]] for p, m in itertools.product((0, 1), (3, 11))
    ]
    assert found[0, 1, lane].tolist() == [
        [*want[m, 0, p, 1:3]] for p, m in itertools.product((0, 1), (3, 11))
    ]
    # The last row of channel 0, the first of channel 1.
    assert found[3, 0, lane, 0].tolist() == [*want[3, 0, 6, 2:4]]
    assert found[3, 0, lane, 2].tolist() == [*want[3, 1, 0, 2:4]]
    assert found[0, 0, 3, 0].tolist() == [want[0, 0, 0, 6], 0]  # the eighth column has no weight
    assert found[0, 1, 0, 0].tolist() == [0, want[0, 0, 0, 0]]


def test_the_network_s_layers_are_taken():
    for spec, name in ((QUADS, "layer 1"), (PAIRS, "layer 2"), (QUADS, "layer E1")):
        spec.require(conv2d.shape_of(name, 100_000))
    assert (
        PAIRS.shared(conv2d.shape_of("layer 2", 1))
        == 14 * 2 * 2 * 512 + 25600 + 2 * 12800 + 128 + 4 * 16 * 34 * 34
    )
    # So that two blocks share a multiprocessor's memory.
    assert QUADS.bands(conv2d.shape_of("layer 1", 1)) == 2
    assert mma_quads(1, half_io=True).bands(conv2d.shape_of("layer 1", 1)) == 1
    assert PAIRS.grid(conv2d.shape_of("layer 2", 100)) == (100, 1, 1)
    assert QUADS.grid(conv2d.shape_of("layer 1", 10_000)) == (264, 1, 1)


@pytest.mark.parametrize("spec", [PAIRS, QUADS], ids=lambda spec: spec.name)
def test_the_device_s_calls_give_the_same(monkeypatch, spec):
    monkeypatch.setenv("LAB_DEVICE", "simulator")
    x, filter = layer_problem(ConvShape(3, 1, 4, 10, 14, 7))
    y = conv2d.convolve(replace(spec, warps=2), x, filter)
    assert np.array_equal(y, run_layer(replace(spec, warps=2), x, filter))


def test_stores_write_whole_sectors():
    """34 columns of a row are 136 bytes, no whole sectors; an image's outputs as one piece are.

    The copy engine stores them, and no thread; where a GPU has no bulk stores, threads do.
    """
    x, filter = layer_problem(conv2d.shape_of("layer 2", 1))
    by_threads = f"#define BULK_STORES 0\n{kernels.source(HALVES.name)}"
    y, (threads,) = conv2d.simulate(
        HALVES, x, filter, instead={HALVES.name: (HALVES.name, by_threads)}
    )
    assert threads.global_store_sectors == 4 * 16 * 34 * 34 / 32
    by_engine, (engine,) = conv2d.simulate(HALVES, x, filter)
    assert engine.global_store_sectors == 0
    assert engine.findings == threads.findings == ()
    for outputs in (y, by_engine):
        conv2d.check(outputs, x, filter, HALVES.name, precision=HALVES.precision)


@pytest.mark.gpu
@pytest.mark.parametrize(
    "spec", [*FASTEST, mma_quads(1)], ids=lambda spec: f"{spec.name}-{spec.parts}"
)
def test_sanitize_bulk_copies(spec):
    """For compute-sanitizer: blocks take several images, some maps are left over."""
    x, filter = layer_problem(ConvShape(7, 1, 5, 16, 40, 7))
    y = conv2d.convolve(replace(spec, blocks=2, resident=1), x, filter)
    conv2d.check(y, x, filter, spec.name, precision=spec.precision)


COMPILED = [
    *((spec, "layer 2") for spec in (PAIRS, HALVES, mma_halves(half_io=True))),
    *((spec, "layer 1") for spec in (QUADS, mma_quads(1), mma_quads(1, half_io=True))),
]


@pytest.mark.parametrize(("spec", "name"), COMPILED)
def test_blocks_have_registers_enough(spec, name):
    """No remark of the compiler, and at most 32 words of a thread are spilled."""
    options = spec.options(conv2d.shape_of(name, 1))
    compiled = compile_source(kernels.source(spec.name), options, str(kernels.path(spec.name)))
    assert compiled.warnings == ""
    (needed,) = assembly.resources(compiled).values()
    assert needed.registers * 32 * spec.warps * spec.resident <= 65536
    assert needed.spill_load_bytes <= 128
    assert bool(needed.spill_load_bytes) == (spec.name == HALVES.name)


@needs_nvcc
@pytest.mark.parametrize("spec", [PAIRS, QUADS], ids=lambda spec: spec.name)
def test_older_compute_capabilities_are_taken(spec, tmp_path):
    """On sm_80 threads store the outputs, and no bulk copy does."""
    options = spec.options(conv2d.shape_of("layer 1", 1))
    done = nvcc(spec.name, tmp_path, "-arch=sm_80", *options)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


# --------------------------------------------------------------------------------------------------
# Mutants


MUTANTS = mutants("conv2d_mma_")


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_mutants_are_rejected(mutant):
    spec = next(
        replace(spec, warps=2, blocks=1, resident=1)
        for spec in FASTEST
        if spec.name == mutant.original
    )
    x, filter = layer_problem(ConvShape(2, 1 if spec.name == QUADS.name else 2, 16, 10, 14, 5))
    y, (findings,) = conv2d.simulate(
        spec, x, filter, entry=simulator.check, instead={spec.name: (mutant.name, mutant.source)}
    )
    check = partial(conv2d.check, y, x, filter, mutant.name, precision=spec.precision)
    require_rejected(mutant, findings, check)
