"""The layer as a product of matrices: what is counted, measured, and said of the record."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from helpers import limits, reference
from helpers.bench import results
from helpers.checking import CheckError
from helpers.experiments import im2col_gemm, im2col_times
from helpers.experiments.im2col_times import GPU_ALONE, WITH_LAUNCHES
from helpers.problems import conv2d
from tests import clock, records

SHAPE = limits.ConvShape(B=4, C=2, M=5, H=9, W=13, K=3)


@pytest.fixture(scope="module")
def record() -> results.Record:
    return results.load(results.MEASURED / "200_deeper.json")


def arrays(shape: limits.ConvShape = SHAPE) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    sizes = shape.x_shape, shape.filter_shape
    x, filter = (rng.integers(-8, 9, size).astype(np.float32) for size in sizes)
    return x, filter


def test_the_unrolled_matrix_times_the_filter_is_the_convolution():
    x, filter = arrays()
    for image, want in zip(x, reference.conv2d(x, filter), strict=True):
        matrix = im2col_gemm.unroll(image, SHAPE.K)
        assert matrix.shape == (SHAPE.terms, SHAPE.out_h * SHAPE.out_w)
        np.testing.assert_array_equal(filter.reshape(SHAPE.M, -1) @ matrix, want.reshape(5, -1))


def test_useful_share_by_hand():
    assert im2col_gemm.useful_share("layer 1", 16) == pytest.approx(4 / 16 * 49 / 64)
    # 24 of 32 rows, 25 of 32 columns, 588 of 592 terms.
    assert im2col_gemm.useful_share("layer E2", 16) == pytest.approx(24 / 32 * 25 / 32 * 588 / 592)
    assert im2col_gemm.steps("layer E2") == 37
    assert im2col_gemm.blocks("layer E2") == 4


@pytest.mark.parametrize(("layer", "tile"), [("layer 1", 16), ("layer 2", 16), ("layer 2", 32)])
def test_counted_multiplications_are_those_of_whole_tiles(layer, tile):
    one = conv2d.shape_of(layer, 1)
    share = one.outputs * one.terms / im2col_gemm.counted_multiplications(layer, tile)
    assert share == pytest.approx(im2col_gemm.useful_share(layer, tile))


@pytest.mark.parametrize("images", [1, 2, 4])
def test_pairs_of_launches_make_every_image(images):
    with conv2d.Problem(SHAPE, *arrays()) as problem:
        pairs = im2col_times.PairsOfLaunches(problem, images)
        pairs.launch(None, SHAPE.B)
        assert problem.check("pairs").count == SHAPE.outputs
        pairs.free()


def test_a_pair_for_too_few_images_is_found():
    with conv2d.Problem(SHAPE, *arrays()) as problem:
        pairs = im2col_times.PairsOfLaunches(problem, 2)
        pairs.launch(None, 2)
        with pytest.raises(CheckError):
            problem.check("half of the batch")
        pairs.free()


def keys(rows) -> set[tuple]:
    return {
        (row["series"], row["layer"], row.get("batch"), row.get("images"), row.get("tile"))
        for row in rows
    }


def test_a_measurement_has_the_rows_of_the_record(record, monkeypatch):
    small = dataclasses.replace(SHAPE, B=1)
    monkeypatch.setattr(
        conv2d, "shape_of", lambda layer, batch: dataclasses.replace(small, B=batch)
    )
    monkeypatch.setattr(
        conv2d, "inputs", lambda layer, batch: arrays(dataclasses.replace(small, B=batch))
    )
    for name, value in {"CUT": 2, "PER_LAUNCH": (1, 2)}.items():
        monkeypatch.setattr(im2col_times, name, value)
    launched = clock.install(monkeypatch)
    made = keys(im2col_times.measure())
    per_launch = {1: 1, 1_000: 2}
    wanted = {
        (series, layer, None, per_launch[images], None)
        for series, layer, _, images, _ in keys(record.rows())
        if images in per_launch
    }
    assert made == wanted
    assert launched


def test_the_step_is_the_slope_between_two_layers(record):
    slope = im2col_times.step_us(record)
    (first,) = (m for m in record.measurements if _is(m, GPU_ALONE, "layer E1", 1))
    (second,) = (m for m in record.measurements if _is(m, GPU_ALONE, "layer E2", 1))
    assert slope == pytest.approx(1e3 * (second.timing.median - first.timing.median) / 33)


def _is(one, series: str, layer: str, images: int) -> bool:
    where = one.parameters
    return (one.series, where["layer"], where.get("images")) == (series, layer, images)


def test_one_over_many_is_the_time_with_launches_of_both(record):
    slower = records.slower(record, 3, series=WITH_LAUNCHES, layer="layer E1")
    assert im2col_times.one_over_many(slower, "layer E1") == pytest.approx(
        im2col_times.one_over_many(record, "layer E1")
    )
