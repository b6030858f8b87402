"""The records and figures of the deeper notebook on Fourier transforms."""

import pytest

from helpers.bench import results
from helpers.experiments import transforms


@pytest.fixture(scope="module")
def record():
    return results.load(results.MEASURED / "402_fft.json")


def test_the_figure_of_a_layer_begins_at_zero(record):
    (ax,) = transforms.layer_figure(record).axes
    assert ax.get_yscale() == ax.get_xscale() == "linear"
    assert ax.get_ylim()[0] == 0
