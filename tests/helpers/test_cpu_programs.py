"""The measurements of the lab on CPU baselines: what their records say, and their figures."""

import pytest

from helpers.bench import results
from helpers.experiments import cpu_programs
from helpers.problems import baselines


@pytest.fixture(scope="module")
def network():
    return results.load(results.MEASURED / "400_mlp.json")


def test_every_program_is_measured_here_and_stands_beside_the_record():
    record = results.load(results.MEASURED / "400_conv1d_baselines.json")
    lines = cpu_programs.here_table(record, budget_s=0.01).splitlines()
    assert len(lines) == 2 + len(baselines.conv1d())
    for line in lines[2:]:
        here, speedup, there = map(float, line.split()[-3:])
        assert here > 0
        assert speedup > 0
        assert there > 0


def test_an_addition_of_a_chain_takes_some_cycles():
    # Two cycles at least on every processor of today, and below 6 GHz.
    assert 0.3 < cpu_programs.chain_ns_here() < 20


def test_the_reports_speedups_are_over_its_own_plain_program():
    reported = cpu_programs.reported()
    assert reported["unrolled by 4"] == pytest.approx(73.43245 / 66.23826)
    assert reported["16 threads"] == pytest.approx(7.53 / 1.65)


def test_idle_threads_explain_most_of_16_threads_and_little_of_one(network):
    assert cpu_programs.idle_share(network, 16) > 80
    assert cpu_programs.idle_share(network, 1) < 20


def test_both_ways_of_averaging_stand_in_the_figure(network):
    figure = cpu_programs.report_figure(network)
    (ax,) = figure.axes
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["report", "ours", *(f"ours, {series}" for series in cpu_programs.EVERY)]
    assert ax.get_ylim()[0] == 0


def test_times_begin_at_zero(network):
    swept = results.load(results.MEASURED / "400_filter_width.json")
    for figure in (cpu_programs.widths_figure(swept), cpu_programs.threads_figure(network)):
        (ax,) = figure.axes
        assert ax.get_yscale() == "linear"
        assert ax.get_ylim()[0] == 0
