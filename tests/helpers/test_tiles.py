"""The pictures of lab 104: a tile with its threads, and shares of a copy's speed."""

import pytest

from helpers import bench
from helpers.experiments import tiles

KERNELS = ("conv1d_tiled_steps", "conv1d_outputs", "conv1d_vector")


@pytest.fixture
def times():
    return {w: bench.conv1d(10**8, w).sweep(*KERNELS, record="104_deeper_tiles") for w in (3, 31)}


@pytest.fixture
def copy():
    return bench.memcpy(10**8).sweep(tiles.COPY, record="104_deeper_tiles")[0]


def test_a_share_is_the_copys_time_over_the_kernels(times, copy):
    share = tiles.share(times[31], "conv1d_vector", copy)
    assert share == pytest.approx(100 * copy.ms / times[31].ms("conv1d_vector"))
    assert tiles.share(times[31], "conv1d_tiled_steps", copy) < share
    assert 95 < share < 105, "the copy of as many cells"


def test_a_share_without_a_time_is_refused(times, copy):
    missing = bench.conv1d(10**8, 3).sweep("conv1d_constant_divergent", record="104_deeper_tiles")
    both = {3: missing + times[3], 31: times[31]}
    with pytest.raises(KeyError, match="no time"):
        tiles.share(both[3], "conv1d_constant_divergent", copy)


def test_an_if_in_place_of_a_loop_fills_the_same_tile_with_fewer_instructions():
    line = bench.conv1d(10**8, 3, counted=4608)
    loop = line.kernel("conv1d_tiled_steps")
    by_if = loop.changed(*tiles.BY_IF, label="conv1d_tiled_steps, if")
    assert line.check(by_if)
    many, few = line.count(loop, by_if)
    assert few.over(many, "instructions") < 0.8
