"""The measurement of the lab on constant memory: counters, and what its record says."""

from __future__ import annotations

import pytest

from helpers import bench
from helpers.bench import results
from helpers.experiments import constant_memory, sass
from helpers.experiments.constant_memory import CONSTANT, DIVERGENT, KERNELS, ROLLED_WIDTHS
from helpers.problems import conv1d

WIDTHS = (3, 7, 15, 31, 63, 255)


def line(width: int, counted: int = 1_000) -> bench.Problem:
    return bench.conv1d(10**8, width, counted=counted)


def times_of(name: str, widths: tuple[int, ...]) -> constant_memory.ByWidth:
    record = results.load(results.MEASURED / f"{name}.json")
    found = {}
    for width in widths:
        first, *others = map(line(width).kernel, KERNELS)
        found[width] = bench.Times.read(record, line(width), [first, *others], first)
    return found


@pytest.fixture(scope="module")
def as_is():
    return times_of("102_constant", WIDTHS)


@pytest.fixture(scope="module")
def unrolled():
    return times_of("102_unrolled", ROLLED_WIDTHS)


@pytest.fixture(scope="module")
def times(as_is, unrolled):
    return as_is | unrolled


@pytest.fixture(scope="module")
def counts():
    watched = ((1, 0, 0), 0)
    return {w: line(w).count(CONSTANT, DIVERGENT, watch=watched) for w in WIDTHS}


@pytest.mark.parametrize(("width", "words"), [(3, 3), (31, 31), (63, 32)])
def test_divergent_lanes_want_as_many_words_as_there_are(counts, width, words):
    assert constant_memory.words_in_a_request(counts[width][DIVERGENT]) == words
    assert constant_memory.words_in_a_request(counts[width][CONSTANT]) == 1


def test_a_filter_in_global_memory_doubles_the_requests():
    there, constant = (one.profile for one in line(5).count(*KERNELS[:2]))
    assert there.global_load_requests == 2 * constant.global_load_requests
    assert constant.constant_load_requests == constant.global_load_requests


def test_nsight_compute_saw_the_look_ups_serialised():
    seen = {w: line(w, constant_memory.COUNTED_CELLS).count(*KERNELS) for w in (3, 31)}
    for row in constant_memory.beside_ncu(seen).splitlines()[2:]:
        ours, theirs = (int(word.replace(",", "")) for word in row.split()[-2:])
        # Those of the kernel's arguments come on top, at most seven for each of 313 warps and
        # one for each of the 40 blocks, or a few percent of many.
        assert ours <= theirs <= 1.04 * ours + 7 * 313 + 40, row


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        ((1.001, 0.99, 1.01), "no measurable difference"),
        ((0.8, 0.79, 0.81), "1.250x as fast as in global memory"),
        ((1.25, 1.24, 1.26), "0.800x as fast as in global memory"),
    ],
)
def test_words_for_a_ratio(ratio, words):
    assert constant_memory.said(bench.Ratio(CONSTANT, KERNELS[0], *ratio)) == words


def test_the_slowdown_stays_below_the_words_in_a_request(times, counts):
    for width, one in times.items():
        words = constant_memory.words_in_a_request(counts[width][DIVERGENT])
        assert 1 < constant_memory.slowdown(one) < words
    assert len(constant_memory.slowdowns_table(times, counts).splitlines()) == 2 + len(WIDTHS)


def test_a_pragma_makes_straight_code_of_wide_filters_and_leaves_narrow_ones():
    for width in WIDTHS:
        (plain,), (straight,) = (
            spec.plan(1, width)
            for spec in (
                conv1d.conv1d_named(CONSTANT),
                conv1d.unrolled(conv1d.conv1d_named(CONSTANT)),
            )
        )
        codes = [sass.assembled(p.name, p.options, source=p.source) for p in (plain, straight)]
        rolled = width in ROLLED_WIDTHS
        assert [len(code.loops) for code in codes] == [int(rolled), 0]
        assert codes[1].count("multiply-adds") == width
        assert bool(sass.difference(*codes)) == rolled


def test_every_width_has_one_program(times, as_is, unrolled):
    record = constant_memory.straight(as_is, unrolled)
    assert len(record.measurements) == len(as_is[3].record.measurements)
    assert times[3].ratios == as_is[3].ratios and times[31].ratios == unrolled[31].ratios
    assert times[31].ratios != as_is[31].ratios


def test_the_loop_turns_the_verdict(as_is, unrolled):
    """The lab says that constant memory is slower with nvcc's loop, and faster without it."""
    for width in ROLLED_WIDTHS:
        assert as_is[width].ratio(CONSTANT).verdict == "slower"
        assert unrolled[width].ratio(CONSTANT).verdict == "faster"
    assert len(constant_memory.loops_table(as_is, unrolled).splitlines()) == 5


def test_the_times_have_a_floor(times):
    for one in times.values():
        assert all(one.ms(name) > constant_memory.floor_ms(one) for name in KERNELS)


def test_the_axes_have_plain_ticks(times):
    figure = constant_memory.times_figure(times)
    figure.canvas.draw()
    (ax,) = figure.axes
    labels = [label.get_text() for label in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    assert "255" in labels
    assert not any("10^" in label or "mathdefault" in label for label in labels)


def test_the_table_counts_global_over_constant(times):
    *_, wide = constant_memory.ratios_table(times).splitlines()
    assert wide.split()[:2] == ["255", f"{1 / times[255].ratio(CONSTANT).value:.3f}"]
