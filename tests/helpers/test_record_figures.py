"""What holds of every figure that is drawn from a record: a title that says something, bars from
zero on, axes with names, and other pictures for other numbers.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.container import BarContainer

from helpers.bench import results
from helpers.experiments import (
    cpu_programs,
    im2col_times,
    layer_times,
    network_stages,
    overlap,
    transforms,
    waiting,
)
from tests import records

FIGURES = {
    "baselines": (cpu_programs.convolutions_figure, "400_conv1d_baselines"),
    "CPU widths": (cpu_programs.widths_figure, "400_filter_width"),
    "threads": (cpu_programs.threads_figure, "400_mlp"),
    "report": (cpu_programs.report_figure, "400_mlp"),
    "launches": (im2col_times.launches_figure, "200_deeper"),
    "steps": (im2col_times.steps_figure, "200_deeper"),
    "copies": (lambda data: layer_times.copies_figure(layer_times.LayerTimes(data)), "107_layer"),
    "stages": (network_stages.stages_figure, "501_lenet"),
    "host": (network_stages.host_figure, "501_lenet"),
    "batches": (network_stages.batches_figure, "benchmark_lenet"),
    "clock": (overlap.clock_figure, "113_streams"),
    "end to end": (overlap.end_to_end_figure, "113_streams"),
    "sweep": (overlap.sweep_figure, "113_streams"),
    "FFT layer": (transforms.layer_figure, "402_fft"),
    "latency": (waiting.latency_figure, "106_waiting"),
    "copy": (waiting.copy_figure, "106_waiting"),
    "flight": (waiting.flight_figure, "106_waiting"),
}


@pytest.fixture(params=FIGURES)
def drawn(request):
    draw, name = FIGURES[request.param]
    record = results.load(results.MEASURED / f"{name}.json")
    yield draw, record, draw(record)
    plt.close("all")


def test_a_figure_has_titles_and_named_axes(drawn):
    _, _, figure = drawn
    axes = [ax for ax in figure.axes if ax.get_visible()]
    assert axes and len(axes[0].get_title(loc="left").split()) >= 4, "a sentence, not a name"
    assert all(any((ax.get_xlabel(), ax.get_ylabel())) for ax in axes[-1:])


def test_bars_begin_at_zero(drawn):
    _, _, figure = drawn
    for ax in figure.axes:
        if bars := [one for one in ax.containers if isinstance(one, BarContainer)]:
            upright = bars[0].orientation == "vertical"
            scale, limits = (
                (ax.get_yscale(), ax.get_ylim()) if upright else (ax.get_xscale(), ax.get_xlim())
            )
            assert scale == "linear" and limits[0] == 0


def test_other_numbers_are_another_picture(drawn):
    draw, record, figure = drawn
    factors = itertools.cycle((1.5, 2.5, 3.5, 4.5))

    def change(one):
        factor = next(factors)
        values = {
            key: factor * value if isinstance(value, float) else value
            for key, value in one.parameters.items()
        }
        one = dataclasses.replace(one, parameters=values)
        if one.timing is None:
            return one
        alone = dataclasses.replace(record, measurements=(one,))
        return records.slower(alone, factor).measurements[0]

    assert picture(draw(records.edited(record, change))) != picture(figure)


def picture(figure) -> list[bytes]:
    """The points and bars of a figure."""
    lines = [np.asarray(line.get_xydata()) for ax in figure.axes for line in ax.lines]
    bars = [np.asarray(one.get_bbox()) for ax in figure.axes for one in ax.patches]
    points = [np.asarray(one.get_offsets()) for ax in figure.axes for one in ax.collections]
    return [one.tobytes() for one in (*lines, *bars, *points)]
