"""limits: hand-worked counts, and a floor that is a floor."""

from types import SimpleNamespace

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
    simulator = SimpleNamespace(name="simulator", kind="simulator", dram_bandwidth=None, fp32_peak=None)
    with pytest.raises(ValueError, match=r"record\.device"):
        limits.floor(limits.conv1d(5, 3), simulator)
