"""Bounds beside times: none is above its time, they rank alike, and few images stand for many."""

import dataclasses
import math
from functools import cache, partial

import numpy as np
import pytest

from evidence import bound_ratios
from helpers import bench, kernels, launch, simulator
from helpers.bench import plan_bounds
from helpers.problems import conv2d
from helpers.problems.conv1d import conv1d_named
from helpers.problems.lenet import network_plan

RECORD = bound_ratios.recorded()
ROWS = RECORD["rows"]
# One timing of each kind, which are few enough to be made anew in each run.
AGAIN = (
    ("benchmark_conv1d", "conv1d_vector", "n = 1,000,000,000, width 31"),
    ("benchmark_conv2d", "conv2d_register_tiled", "layer 2, 10,000 images"),
    ("303_wmma", "conv2d_wmma", "layer 2, 10,000 images, half"),
    ("305_fastest", "conv2d_mma_quads", "layer 1, 10,000 images, split halves"),
    ("501_lenet", "lenet_pool", "pool 1, 10,000 images, apart"),
)


@cache
def timed() -> dict[tuple, bound_ratios.Timed]:
    """The timings of the records, by key."""
    return {(one.record, one.name, one.where, 1e3 * one.ms): one for one in bound_ratios.timed()}


def key(row) -> tuple:
    return row["record"], row["kernel"], row["where"], row["measured_us"]


def test_the_record_is_of_the_times_that_are_here():
    """Else: python -m evidence.bound_ratios --only RECORD"""
    assert {key(row) for row in ROWS} == set(timed())


def test_every_kernel_of_the_layers_is_there():
    there = {row["kernel"] for row in ROWS}
    timed = {name for name in kernels.names() if name.startswith(("conv", "lenet_"))}
    # These two are launched by others: to_half by conv2d_half, im2col_basic by im2col_gemm.
    elsewhere = {"im2col_basic", "gemm_tiled", "to_half"}
    # The simulator refuses wgmma; the others are in no record that is read here.
    elsewhere |= {"conv2d_wgmma", "lenet_wgmma_2", "conv2d_register_images", "lenet_dense_split"}
    elsewhere |= {"conv2d_implicit_wgmma", "conv2d_register_2d"}
    elsewhere |= {spec.name for spec in (*conv2d.IMPLICIT, *conv2d.CHANNELS_LAST)}
    assert timed <= there | elsewhere


def test_no_bound_is_above_its_time():
    assert bound_ratios.too_high(ROWS) == []
    for row in ROWS:
        assert row["ratio"] == pytest.approx(row["bound_us"] / row["measured_us"])
        assert row["bound_us"] > 0 and row["resource"]


def test_a_bound_that_is_too_high_is_found():
    closest = max(ROWS, key=lambda row: row["ratio"])
    higher = [{**row, "bound_us": 1.3 * row["bound_us"]} for row in ROWS]
    assert key(closest) in {key(row) for row in bound_ratios.too_high(higher)}
    assert bound_ratios.too_high([{**closest, "bound_us": math.nan}])


def test_bounds_rank_as_times_do():
    layers = [row for row in ROWS if row["layer"]]
    assert len(layers) > 150
    assert bound_ratios.correlation(layers) >= 0.9
    assert bound_ratios.correlation(ROWS) >= 0.9
    boards = "rank_correlation_by_layer_and_batch"
    found, kept = bound_ratios.summary(ROWS), dict(RECORD["summary"])
    assert kept.pop(boards) == pytest.approx(found.pop(boards))
    assert kept == pytest.approx(found)
    # Bounds that say nothing would not: the same ones in another order.
    shuffled = np.random.default_rng(0).permutation([row["bound_us"] for row in layers])
    other = [{**row, "bound_us": us} for row, us in zip(layers, shuffled, strict=True)]
    assert abs(bound_ratios.correlation(other)) < 0.3


@pytest.mark.parametrize("chosen", AGAIN, ids=lambda chosen: "-".join(chosen[1:]))
def test_the_recorded_bound_is_made_again(chosen):
    row = next(row for row in ROWS if key(row)[:3] == chosen)
    again = bound_ratios.row_of(timed()[key(row)])
    assert again["bound_us"] == pytest.approx(row["bound_us"], rel=1e-3)
    assert again["resource"] == row["resource"]


def layer_plan(name: str):
    shape = conv2d.shape_of("layer 1", 1)
    spec = conv2d.conv2d_named(name).fitted(conv2d.shape_of("layer 1", 10_000))
    return lambda images: spec.plan(dataclasses.replace(shape, B=images))


def array_plan(name: str, width: int):
    spec = conv1d_named(name)
    return lambda n: spec.plan(n, width)


def task_plan(task, name: str):
    kernel = task.kernel(name)
    return lambda size: task.of_size(size).plan(kernel)


def of_task(task, name: str):
    """The plans of a task, the two sizes that it counts, and a third."""
    small, large = task.counted_sizes(task.kernel(name))
    return task_plan(task, name), (small, large, 3 * small)


def stage_plan(images: int):
    steps = network_plan.stages(network_plan.FUSED, images, pixels=True)
    return next(step.plan for step in steps if step.name == "resize")


@pytest.mark.parametrize(
    ("plan_of", "sizes"),
    [
        (layer_plan("conv2d_tiled_maps"), (2, 4, 6)),
        (layer_plan("conv2d_channels_atomics"), (2, 4, 6)),
        (stage_plan, (2, 4, 6)),
        (array_plan("conv1d_vector", 31), (24 * 768, 48 * 768, 96 * 768)),
        (array_plan("conv1d_one_block", 3), (24 * 1024, 48 * 1024, 96 * 1024)),
        of_task(bench.axpy(10**7), "axpy_basic"),
        of_task(bench.conv1d(10**8, 31), "conv1d_tiled_steps"),
        of_task(bench.layer("layer 2"), "conv2d_tiled"),
    ],
    ids=("tiled_maps", "atomics", "resize", "vector", "one_block", "axpy", "tiled", "layer"),
)
def test_a_few_images_stand_for_more(plan_of, sizes):
    """The counts of a third size are those of the line through two, and so is the bound.

    An image of layer 1 ends in the middle of a sector, so that two images are alike, and not one.
    """

    def counted(size):
        plan = plan_of(size)
        profiles = launch.simulate(plan, plan_bounds.random_arrays(plan), profile)
        return [seen.counts for seen in profiles]

    profile = partial(simulator.profile, checks=False)
    small, large, third = map(counted, sizes)
    for one, other, whole in zip(small, large, third, strict=True):
        by = None if one.blocks != other.blocks else sizes
        guess = one.at(other, whole.grid, by)
        for name, value in whole.totals.items():
            assert guess.totals[name] == pytest.approx(value, rel=1e-9, abs=1e-6), name
        assert np.allclose(guess.executed, whole.executed.astype(float))
        for name, value in whole.asks.items():
            assert guess.asks[name] == pytest.approx(value, rel=1e-5, abs=1e-6), name
