"""The measurement of the lab on constant memory: counters, and what its record says."""

import numpy as np
import pytest

from helpers.bench import results
from helpers.experiments import constant_memory, sass
from helpers.problems import conv1d


@pytest.fixture(scope="module")
def as_is():
    return results.load(results.MEASURED / "102_constant.json")


@pytest.fixture(scope="module")
def unrolled():
    return results.load(results.MEASURED / "102_unrolled.json")


@pytest.fixture(scope="module")
def record(as_is, unrolled):
    return constant_memory.straight(as_is, unrolled)


@pytest.fixture(scope="module")
def cells():
    return np.random.default_rng(0).uniform(0.5, 1.5, 1000).astype(np.float32)


@pytest.mark.parametrize(("width", "words"), [(3, 3), (31, 31), (63, 32)])
def test_divergent_lanes_want_as_many_words_as_there_are(cells, width, words):
    name = constant_memory.DIVERGENT
    assert constant_memory.words_in_a_request(name, cells, width) == words
    assert constant_memory.words_in_a_request(constant_memory.CONSTANT, cells, width) == 1


def test_a_filter_in_global_memory_doubles_the_requests(cells):
    filter = np.ones(5, np.float32)
    there, constant = (
        constant_memory.profile(name, cells, filter) for name in constant_memory.KERNELS[:2]
    )
    assert there.global_load_requests == 2 * constant.global_load_requests
    assert constant.constant_load_requests == constant.global_load_requests


def test_nsight_compute_saw_the_look_ups_serialised():
    cells = np.ones(constant_memory.COUNTED_CELLS, np.float32)
    for line in constant_memory.beside_ncu(cells).splitlines()[2:]:
        ours, theirs = (int(word.replace(",", "")) for word in line.split()[-2:])
        # Those of the kernel's arguments come on top, at most seven for each of 313 warps and
        # one for each of the 40 blocks, or a few percent of many.
        assert ours <= theirs <= 1.04 * ours + 7 * 313 + 40, line


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        ((1.001, 0.99, 1.01), "no measurable difference"),
        ((1.05, 1.04, 1.06), "1.050x as fast as in global memory"),
        ((0.95, 0.94, 0.96), "0.950x as fast as in global memory"),
    ],
)
def test_words_for_a_ratio(ratio, words):
    assert constant_memory.said(*ratio) == words


def test_the_slowdown_stays_below_the_words_in_a_request(record, cells):
    for width in constant_memory.WIDTHS:
        words = constant_memory.words_in_a_request(constant_memory.DIVERGENT, cells, width)
        assert 1 < constant_memory.slowdown(record, width) < words


def test_a_pragma_makes_straight_code_of_wide_filters_and_leaves_narrow_ones():
    for width in constant_memory.WIDTHS:
        (plain,), (straight,) = (
            spec.plan(1, width)
            for spec in (
                conv1d.conv1d_named(constant_memory.CONSTANT),
                constant_memory.unrolled()[constant_memory.CONSTANT],
            )
        )
        codes = [sass.assembled(p.name, p.options, source=p.source) for p in (plain, straight)]
        rolled = width in constant_memory.ROLLED_WIDTHS
        assert [len(code.loops) for code in codes] == [int(rolled), 0]
        assert codes[1].count("multiply-adds") == width
        assert bool(sass.difference(*codes)) == rolled


def test_every_width_has_one_program(record, as_is, unrolled):
    assert len(record.measurements) == len(as_is.measurements)
    assert constant_memory.ratio_of(record, 3) == constant_memory.ratio_of(as_is, 3)
    assert constant_memory.ratio_of(record, 31) == constant_memory.ratio_of(unrolled, 31)


def test_the_loop_turns_the_verdict(as_is, unrolled):
    """The lab says that constant memory is slower with nvcc's loop, and faster without it."""
    for width in constant_memory.ROLLED_WIDTHS:
        assert constant_memory.ratio_of(as_is, width)[2] < 1
        assert constant_memory.ratio_of(unrolled, width)[1] > 1
    assert len(constant_memory.loops_table(as_is, unrolled).splitlines()) == 5


def test_the_times_have_a_floor(record):
    times = constant_memory.medians(record)
    assert all(ms > constant_memory.floor_ms(record, width) for (_, width), ms in times.items())


def test_the_axes_have_plain_ticks(record):
    figure = constant_memory.times_figure(record)
    figure.canvas.draw()
    (ax,) = figure.axes
    labels = [label.get_text() for label in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    assert "255" in labels
    assert not any("10^" in label or "mathdefault" in label for label in labels)
