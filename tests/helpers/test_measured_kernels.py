"""The experiments on 1D kernels and on sums: what they measure, and what their records say."""

import numpy as np
import pytest

from helpers import bench, checking, device, kernels
from helpers.bench import results
from helpers.experiments import copies, split_error
from tests import clock


@pytest.fixture
def no_clock(monkeypatch):
    """A clock for the simulator: every launch is run, and takes 2 ms, the second of a pair 1 ms."""
    device.select()

    clock.install(monkeypatch)


def record_of(rows: list[dict], name: str) -> results.Record:
    """A record of these rows, as `results.record` makes it."""
    return results.Record(
        name=name,
        lab="test",
        created="2026-01-01T00:00:00Z",
        device=results.load(results.MEASURED / "302_copies.json").device,
        software={},
        sources={},
        measurements=tuple(results._measurement(row) for row in rows),
    )


def test_copies_are_checked_on_the_device(no_clock):
    line = bench.copies(4000, 3, 2, tile=64)
    with line.on_device() as there:
        assert there.ready("copy_async").registers > 0
        wrong = line.kernel("copy_bulk").changed("cells[o + j]", "cells[o]", label="wrong")
        with pytest.raises(bench.NotReadyError):
            there.ready(wrong)
        there.poison()
        with pytest.raises(checking.CheckError, match="NaN"):
            there.verdict(line.kernel("copy_plain"))


def test_loads_first_changes_the_source_and_stays_right():
    line = bench.copies(4000, 3, tile=512)
    first = line.kernel("copy_plain").changed(copies.LOADS_FIRST, label="loads first")
    assert first.source != kernels.source("copy_plain") and line.check(first)


def test_the_times_of_copies_are_those_of_their_tile_and_blocks():
    ratios = {
        (tile, blocks): bench.copies(10**8, 15, blocks, tile=tile)
        .compare("copy_plain", "copy_bulk", record="302_copies")
        .ratio("copy_bulk")
        .value
        for tile in (1024, 4096)
        for blocks in (1, 4)
    }
    rows = results.recall("302_copies").select(series="copy_bulk", filter_width=15)
    recorded = {(row["tile"], row["blocks"]): row["ratio"] for row in rows if row.get("ratio")}
    assert len(set(ratios.values())) == 4 and ratios.items() <= recorded.items()


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
    recorded = results.recorded("split_error").rows()
    there = {(r["series"], r["length"], r["signs"]): r["checksum"] for r in recorded}
    lengths = split_error.LENGTHS[:6]
    rows = split_error.simulated(lengths)
    here = {(r["series"], r["length"], r["signs"]): r["checksum"] for r in rows}
    assert len(here) == 2 * 4 * len(lengths)
    assert {key: there[key] for key in here} == here


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


@pytest.mark.parametrize(("x", "lost"), [(1.0, 0), (1.5, 0), (3.1415927, 1), (1 + 2.0**-23, 0)])
def test_bits_that_two_halves_hold(x, lost):
    high, low, missing = split_error.bits_of(x)
    assert [*high, *low, *missing] == list(range(24))
    assert (len(high), len(missing)) == (11, lost)


@pytest.mark.parametrize("x", [0.1, -2.0, 1e6, float("nan")])
def test_numbers_whose_halves_are_subnormal_or_infinite_are_refused(x):
    with pytest.raises(ValueError, match="from 1 to 65,504"):
        split_error.bits_of(x)
