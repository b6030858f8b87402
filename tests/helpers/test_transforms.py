"""The measurement of the lab on Fourier transforms: counts, predictions, and what records say."""

import numpy as np
import pytest

from helpers.bench import results
from helpers.experiments import crossover, transforms
from helpers.problems import fft_conv1d


@pytest.fixture(scope="module")
def record():
    return results.load(results.MEASURED / "402_fft.json")


@pytest.fixture(scope="module")
def pairs():
    return results.load(results.MEASURED / "402_crossover.json")


@pytest.fixture(scope="module")
def cells():
    return np.random.default_rng(0).uniform(-1, 1, 2 * (1024 - 254)).astype(np.float32)


@pytest.fixture(scope="module")
def three_stages(cells):
    return transforms.counts(3, cells)


def test_a_warp_meets_a_barrier_for_each_pass_and_two_more(cells, three_stages):
    """10 stages: 5 passes of two, and 4 of three, the last of which has one."""
    assert transforms.counts(2, cells)["barriers of a warp"] == 2 * 5 + 2
    assert three_stages["barriers of a warp"] == 2 * 4 + 2


def test_spare_cells_halve_the_wavefronts(cells, three_stages):
    without = transforms.counts(3, cells, spare=False)
    assert without["shared waves"] > 1.9 * three_stages["shared waves"]


def test_nsight_compute_counted_the_same_launch():
    for line in transforms.beside_ncu().splitlines()[2:]:
        ours, theirs = line.split()[-2:]
        assert ours == theirs, line


def test_each_way_of_counting_adds_a_limit(pairs):
    spec = fft_conv1d.OverlapAdd(10, 4)
    for width in (3, 63, 255):
        times = [
            transforms.predicted(what, width, pairs.device, spec) for what in transforms.COUNTS
        ]
        assert times == sorted(times)
    with pytest.raises(ValueError, match="what is 'bytes'; choose one of operations"):
        transforms.predicted("bytes", 3, pairs.device, spec)


def test_a_narrow_direct_sum_is_bound_by_its_bytes(pairs):
    spec, device = fft_conv1d.OverlapAdd(10, 4), pairs.device
    narrow, wide = (
        [transforms.predicted(what, width, device, spec)[0] for what in transforms.COUNTS[:2]]
        for width in (3, 255)
    )
    assert narrow[1] == pytest.approx(8 / device.dram_bandwidth)
    assert wide[0] == wide[1] == pytest.approx(2 * 255 / device.fp32_peak)


def test_operations_predict_an_earlier_width_than_bytes(pairs):
    widths = [transforms.predicted_width(what, pairs.device) for what in transforms.COUNTS]
    assert widths == sorted(widths)
    assert widths[-1] < crossover.width_from(pairs)


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        ((1.01, 0.99, 1.03), "no measurable difference"),
        ((2.0, 1.9, 2.1), "2.00 times the time"),
        ((0.5, 0.4, 0.6), "2.00 times as fast"),
    ],
)
def test_a_ratio_in_words(ratio, words):
    assert transforms.against(*ratio) == words


def test_more_stages_at_a_time_were_measured_faster(record):
    times = transforms.stage_times(record)
    assert list(times) == list(transforms.STAGES)
    assert list(times.values()) == sorted(times.values(), reverse=True)


def test_figures_begin_at_zero(record, pairs):
    figures = (
        transforms.stage_times_figure(record),
        transforms.layer_figure(record),
        transforms.crossover_figure(pairs),
        transforms.shares_figure(pairs),
    )
    for ax in (ax for figure in figures for ax in figure.axes):
        assert ax.get_yscale() == ax.get_xscale() == "linear"
    assert transforms.stage_times_figure(record).axes[0].get_xlim()[0] == 0
    assert transforms.layer_figure(record).axes[0].get_ylim()[0] == 0
