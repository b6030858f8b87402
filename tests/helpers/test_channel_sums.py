"""The sum over channels, split over threads: the launches for a small image, and the record."""

from __future__ import annotations

from helpers import device
from helpers.experiments import channel_sums
from helpers.experiments.channel_sums import ATOMICS, SHUFFLE, TREE


def test_kernels_fit_the_small_image():
    device.select()
    image = channel_sums.small(5)
    for name in channel_sums.KERNELS:
        assert image.check(channel_sums.fitted_to(image, name))
    tree = channel_sums.fitted_to(image, TREE)
    assert tree.spec.block == (5, 5, 8)  # a thread for each output, and 8 for its 5 channels
    assert channel_sums.fitted_to(channel_sums.small(256), SHUFFLE).spec.block[:2] == (1, 32)


def test_the_simulator_repeats_bit_by_bit():
    repeated = channel_sums.repeats(ATOMICS, 1, 2)
    assert repeated["outputs_differ"] == 0
    assert repeated["outputs"] == 16 * 34 * 34
