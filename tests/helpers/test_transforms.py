"""The records and figures of the deeper notebook on Fourier transforms."""

import pytest

from helpers.bench import results
from helpers.experiments import transforms


@pytest.fixture(scope="module")
def record():
    return results.load(results.MEASURED / "402_fft.json")


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


def test_the_figure_of_a_layer_begins_at_zero(record):
    (ax,) = transforms.layer_figure(record).axes
    assert ax.get_yscale() == ax.get_xscale() == "linear"
    assert ax.get_ylim()[0] == 0
