"""The experiments on 1D kernels and on sums: what they measure, and what their records say."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from helpers import checking, device, kernels
from helpers.bench import results, sampling, timing
from helpers.experiments import copies, split_error
from helpers.problems import copies as problem_copies
from helpers.problems.tensor_product import Split


@pytest.fixture
def clock(monkeypatch):
    """A clock for the simulator: every launch is run, and takes 2 ms, the second of a pair 1 ms."""
    device.select()

    def timed(name: str, ms: float) -> timing.Timing:
        samples = [ms] * sampling.FEWEST_SAMPLES
        return timing.Timing.of(name, samples, what="kernel", device="test", cache="cold")

    def time_gpu(launch, *, verdict, name, **_):
        assert verdict
        launch(None)
        return timed(name, 2.0)

    def compare(a, b, *, verdicts, names, **_):
        assert all(verdicts)
        a(None)
        b(None)
        pair = (timed(name, ms) for name, ms in zip(names, (2.0, 1.0), strict=True))
        return timing.Comparison(2.0, 1.9, 2.1, *pair)

    monkeypatch.setattr(timing, "time_gpu", time_gpu)
    monkeypatch.setattr(timing, "compare", compare)


def record_of(rows: list[dict], name: str) -> results.Record:
    """A record of these rows, as `results.record` makes it."""
    return results.Record(
        name=name,
        lab="test",
        created="2026-01-01T00:00:00Z",
        device=results.load(results.MEASURED / "copies.json").device,
        software={},
        sources={},
        measurements=tuple(results._measurement(row) for row in rows),
    )


def test_a_wrong_copy_is_not_timed(clock, monkeypatch):
    right = kernels.source
    wrong = {"copy_bulk": right("copy_bulk").replace("cells[o + j]", "cells[o]")}
    monkeypatch.setattr(kernels, "source", lambda name: wrong.get(name) or right(name))
    with pytest.raises(checking.CheckError, match="copy_bulk"):
        list(copies.measure((3,), (64,), (1,), n=4000))


def test_what_a_ratio_says():
    assert copies.verdict({"low": 0.9, "high": 0.99}) == "faster"
    assert copies.verdict({"low": 1.01, "high": 1.2}) == "slower"
    assert copies.verdict({"low": 0.99, "high": 1.01}) == "no measurable difference"


def test_copies_are_checked_and_timed_and_figures_say_what_they_show(clock):
    rows = list(copies.measure((3, 5), (64,), (1, 2), n=4000))
    series = ["copy_async", "copy_plain", "ratio", "copy_bulk", "ratio", copies.FIRST, "ratio"]
    assert [row["series"] for row in rows] == 4 * series
    data = record_of(rows, copies.NAME)
    assert copies.ratios(data, "copy_bulk", 64, 2)[5]["ratio"] == 2.0
    assert copies.flights(data, "copy_async", 3) == [(256, 16_000 / 2e-3), (512, 16_000 / 2e-3)]
    panels = copies.figure(data, 64)
    assert "200 to 200 % of the plain copy's time with 1 block" in panels.get_suptitle()
    assert len(panels.axes) == 2 and len(panels.axes[0].lines) == 3
    waits = results.load(results.MEASURED / "106_waiting.json")
    (ax,) = copies.flight_figure(data, waits).axes
    assert "One to two tiles of 0 KiB" in ax.get_title(loc="left")
    # A block asks for its next tile before it waits for this one: one or two are under way.
    drawn = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2]
    drawn = [ends for ends in drawn if ends[0] > 0]
    sizes = [size / 1024 for name in copies.NAMES[1:] for size, _ in copies.flights(data, name, 3)]
    assert [tuple(ends) for ends in drawn] == [(size, 2 * size) for size in sizes]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[1:] == [f"one to two tiles of {name}" for name in copies.NAMES[1:]]
    in_turns, at_once = copies.turns_figure().axes
    assert len(in_turns.patches) == len(at_once.patches) == 8
    plt.close("all")


def test_loads_first_changes_the_source_and_stays_right():
    N = np.random.default_rng(1).random(2048, dtype=np.float32)
    filter = np.float32([1, 2, 3])
    spec = problem_copies.Copies("copy_plain", tile=512, threads=64)
    changed = copies.instead(copies.FIRST)
    assert changed["copy_plain"][1] != kernels.source("copy_plain")
    assert copies.instead("copy_plain") is None
    P, *_ = problem_copies.simulate(spec, N, filter, 2, instead=changed)
    np.testing.assert_allclose(P, problem_copies.reference(N, filter), rtol=1e-6)


def test_the_table_of_ratios_has_both_tiles_and_says_what_an_interval_says():
    def row(name: str, tile: int, blocks: int, ratio: float) -> dict:
        common = {"n": 100, "filter_width": 15, "tile": tile, "blocks": blocks, "kernel": name}
        interval = {"ratio": ratio, "low": ratio - 0.01, "high": ratio + 0.01}
        return {"series": "ratio", **common, **interval, "timing": None}

    rows = [
        row("copy_async", 1024, 1, 0.5), row("copy_bulk", 4096, 4, 1.005),
        row(copies.FIRST, 1024, 1, 0.8), row("copy_bulk", 4096, 2, 0.7),
    ]  # fmt: skip
    lines = copies.ratio_table(record_of(rows, copies.NAME)).splitlines()[2:]
    assert [line.split()[0] for line in lines] == ["copy_async", "copy_bulk", "copy_plain,"]
    assert lines[0].endswith("faster") and lines[1].endswith("no measurable difference")
    assert "80.0 %" in lines[2]


def test_configurations_fit_a_multiprocessor():
    cases = list(copies.configurations((3,), (1024, 4096), (1, 2, 4, 8, 16)))
    assert (3, 1024, 8) in cases and (3, 4096, 4) in cases
    assert not [case for case in cases if case[1:] in ((1024, 16), (4096, 8))]


@pytest.fixture(scope="module")
def sums() -> list[dict]:
    """The errors of short, longer and long sums in the simulator."""
    return list(split_error.simulated((16, 64, 1024)))


def test_errors_of_sums_in_the_simulator(sums):
    rows = sums
    error = {(r["series"], r["length"], r["signs"]): r["error"] for r in rows}
    for signs in split_error.SIGNS:
        assert error["halves", 64, signs] > 100 * error["split, short sums", 64, signs]
    assert error["split", 1024, "one sign"] > 20 * error["split, short sums", 1024, "one sign"]
    assert error["split, short sums", 1024, "one sign"] < 2 * error["FP32 units", 1024, "one sign"]


def test_error_of_known_sums():
    A, B = np.ones((16, 4), np.float32), np.full((1, 4, 8), -2, np.float32)
    found = split_error.errors(np.full((1, 16, 8), -8 + 0.5, np.float32), A, B)
    assert found == {"error": 0.5 / 8, "mean": 0.5 / 8, "largest": 0.5 / 8}


def test_the_simulator_adds_as_the_gpu_did():
    """Every result of a recorded sum, bit for bit."""
    recorded = results.load(results.MEASURED / f"{split_error.NAME}.json").rows()
    there = {(r["series"], r["length"], r["signs"]): r["checksum"] for r in recorded}
    lengths = split_error.LENGTHS[:6]
    rows = split_error.simulated(lengths)
    here = {(r["series"], r["length"], r["signs"]): r["checksum"] for r in rows}
    assert len(here) == 2 * 4 * len(lengths)
    assert {key: there[key] for key in here} == here


def test_picture_of_the_errors(sums):
    rows = sums
    fig, axes = plt.subplots(1, 2)
    split_error.picture(axes, record_of(rows, split_error.NAME))
    assert [len(ax.lines) for ax in axes] == [4, 4]
    plt.close(fig)
    assert "split, short sums" in split_error.said(rows, 16)
    assert split_error.SERIES["split"] == Split(3, 0)


def test_length_from_which_split_products_err_more():
    def rows(*pairs):
        return [
            {"series": name, "length": 2**k, "signs": "one sign", "error": error}
            for k, pair in enumerate(pairs)
            for name, error in zip(("split", "halves"), pair, strict=True)
        ]

    assert split_error.crossing(rows((1, 2), (3, 2), (4, 2))) == 2
    assert split_error.crossing(rows((3, 2), (1, 2), (4, 2))) == 4  # the last length counts
    assert split_error.crossing(rows((3, 2), (3, 2))) == 1
    assert split_error.crossing(rows((3, 2), (1, 2))) is None


def test_figure_of_the_errors_says_what_it_shows(sums):
    rows = sums
    long, short = (
        split_error.lookup(rows, name, 1024, "one sign") for name in ("split", "split, short sums")
    )
    drawing = split_error.figure(record_of(rows, split_error.NAME))
    assert f"errs {long / short:,.0f} times as much as short sums" in drawing.get_suptitle()
    plt.close(drawing)


@pytest.mark.parametrize(("x", "lost"), [(1.0, 0), (1.5, 0), (3.1415927, 1), (1 + 2.0**-23, 0)])
def test_bits_that_two_halves_hold(x, lost):
    high, low, missing = split_error.bits_of(x)
    assert [*high, *low, *missing] == list(range(24))
    assert (len(high), len(missing)) == (11, lost)
    (ax,) = split_error.bits_figure(x).axes
    assert f"reach {24 - lost} of its 24" in ax.get_title(loc="left")
    plt.close("all")


@pytest.mark.parametrize("x", [0.1, -2.0, 1e6, float("nan")])
def test_numbers_whose_halves_are_subnormal_or_infinite_are_refused(x):
    with pytest.raises(ValueError, match="from 1 to 65,504"):
        split_error.bits_of(x)
