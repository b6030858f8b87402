"""limits: hand-worked counts, and a floor that is a floor."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import limits

H200 = SimpleNamespace(name="H200", kind="gpu", dram_bandwidth=4e12, fp32_peak=64e12)


def test_work_of_a_small_convolution_by_hand():
    # 5 cells in, 3 weights in, 5 cells out, 4 bytes each; 5 outputs of 3 products and 3 sums.
    work = limits.conv1d(5, 3)
    assert work == limits.Work(bytes=52, flops=30)
    assert work.intensity == pytest.approx(30 / 52)
    assert limits.conv1d(5, 3, itemsize=2).bytes == 26


def test_floor_is_the_larger_of_two():
    floor = limits.floor(limits.Work(bytes=8_000_000_000, flops=64_000_000_000), H200)
    assert (floor.memory_s, floor.compute_s) == (pytest.approx(0.002), pytest.approx(0.001))
    assert floor.bound == "memory" and floor.seconds == floor.memory_s
    heavy = limits.floor(limits.Work(bytes=4, flops=640), H200)
    assert heavy.bound == "compute" and heavy.seconds == heavy.compute_s


def test_a_short_filter_is_memory_bound_and_a_very_long_one_is_not():
    assert limits.floor(limits.conv1d(10**9, 3), H200).bound == "memory"
    assert limits.floor(limits.conv1d(10**9, 31), H200).bound == "memory"
    assert limits.floor(limits.conv1d(10**9, 1001), H200).bound == "compute"


@given(st.integers(1, 10**9), st.integers(0, 100), st.sampled_from([2, 4, 8]))
def test_more_cells_or_weights_never_mean_less_work(n, r, itemsize):
    work = limits.conv1d(n, 2 * r + 1, itemsize)
    more, wider = limits.conv1d(n + 1, 2 * r + 1, itemsize), limits.conv1d(n, 2 * r + 3, itemsize)
    assert more.bytes > work.bytes and more.flops > work.flops
    assert wider.bytes > work.bytes and wider.flops > work.flops


@pytest.mark.parametrize("arguments", [(0, 3), (-1, 3), (5, 4), (5, 0), (5, -1), (5, 3, 0)])
def test_impossible_problems_are_refused(arguments):
    with pytest.raises(ValueError):
        limits.conv1d(*arguments)


def test_a_device_without_figures_has_no_floor():
    simulator = SimpleNamespace(
        name="simulator", kind="simulator", dram_bandwidth=None, fp32_peak=None
    )
    with pytest.raises(ValueError, match=r"record\.device"):
        limits.floor(limits.conv1d(5, 3), simulator)


# --------------------------------------------------------------------------------------------------
# The convolution layer

SMALL = limits.ConvShape(B=2, C=3, M=5, H=6, W=9, K=3)


def test_shape_of_a_layer_by_hand():
    assert (SMALL.out_h, SMALL.out_w) == (4, 7)
    assert (SMALL.x_shape, SMALL.filter_shape, SMALL.y_shape) == (
        (2, 3, 6, 9),
        (5, 3, 3, 3),
        (2, 5, 4, 7),
    )
    assert (SMALL.outputs, SMALL.terms) == (2 * 5 * 28, 27)
    assert str(SMALL) == "2 images, 3 -> 5 channels, 6 x 9, K = 3"


def test_shape_of_a_strided_layer_by_hand():
    # Rows 0, 2 of 6 (row 4 would need rows 4 to 6), columns 0, 2, 4, 6 of 9.
    strided = replace(SMALL, stride=2)
    assert strided.y_shape == (2, 5, 2, 4)
    assert replace(SMALL, stride=100).y_shape == (2, 5, 1, 1)
    assert str(strided).endswith("K = 3, stride 2")


def test_work_of_a_small_layer_by_hand():
    # 324 cells and 135 weights in, 280 cells out; each output 27 products and 27 sums.
    assert limits.conv2d(SMALL) == limits.Work(bytes=4 * (324 + 135 + 280), flops=280 * 54)
    assert limits.conv2d(SMALL, itemsize=2).bytes == 2 * 739


def test_floors_of_the_network_s_layers():
    """Layer 1 moves 1.3 GB and computes 25 GFLOP for 10,000 images; layer 2 computes 72 GFLOP and
    moves 1 GB.
    """
    first = limits.conv2d(limits.ConvShape(10_000, 1, 4, 86, 86, 7))
    second = limits.conv2d(limits.ConvShape(10_000, 4, 16, 40, 40, 7))
    assert first.bytes == 4 * (10_000 * (86 * 86 + 4 * 80 * 80) + 4 * 49)
    assert first.flops == 2 * 10_000 * 4 * 6400 * 49
    assert second.flops == 2 * 10_000 * 16 * 34 * 34 * 196
    assert limits.floor(second, H200).bound == "compute"
    assert second.intensity > 3 * first.intensity


@given(st.integers(1, 9), st.integers(0, 20), st.integers(0, 20), st.integers(1, 6))
def test_every_output_has_its_window_on_the_image(K, rows, columns, stride):
    shape = limits.ConvShape(1, 1, 1, K + rows, K + columns, K, stride)
    assert (shape.out_h - 1) * stride + K <= shape.H < shape.out_h * stride + K
    assert (shape.out_w - 1) * stride + K <= shape.W < shape.out_w * stride + K


@pytest.mark.parametrize("name", ["B", "C", "M", "H", "W", "K", "stride"])
@pytest.mark.parametrize("value", [0, -1, 2.0, True, "3"])
def test_impossible_sizes_of_a_layer_are_refused(name, value):
    with pytest.raises(ValueError if type(value) is int else TypeError, match=rf"^{name} is "):
        replace(SMALL, **{name: value})


@pytest.mark.parametrize("larger", [{"K": 7}, {"H": 2}, {"W": 2}])
def test_a_filter_larger_than_the_image_is_refused(larger):
    with pytest.raises(ValueError, match="larger than the image"):
        replace(SMALL, **larger)


def test_numpy_integers_are_sizes():
    assert limits.ConvShape(*np.array([2, 3, 5, 6, 9, 3])) == SMALL
    assert isinstance(limits.ConvShape(*np.array([2, 3, 5, 6, 9, 3])).outputs, int)


def test_an_impossible_item_size_is_refused():
    with pytest.raises(ValueError, match="itemsize is 0"):
        limits.conv2d(SMALL, 0)


@pytest.mark.parametrize(
    ("threads", "registers", "shared", "want"),
    [
        (256, 32, 0, 64),
        (256, 33, 0, 48),  # registers, rounded up to 40
        (1024, 35, 0, 32),
        (32, 32, 0, 32),  # blocks
        (64, 35, 0, 48),  # a quarter's registers hold 12 warps; all of them would hold 51
        (64, 32, 16 * 1024, 26),  # shared memory
        (1024, 255, 0, 0),
    ],
)
def test_resident_warps(threads, registers, shared, want):
    assert limits.resident_warps(threads, registers, shared) == want
