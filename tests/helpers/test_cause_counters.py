"""What Nsight Compute counted where labs 305 and 401 name a cause: launches, records and tables."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from helpers.bench import results
from helpers.experiments import cause_counters, fastest_layer, ncu
from helpers.experiments.cause_counters import CHANNELS, FASTEST, METRICS
from helpers.problems import conv2d
from tests import records

RECORDS = (FASTEST, CHANNELS)


@pytest.fixture(scope="module", params=RECORDS)
def record(request) -> results.Record:
    return cause_counters.recorded(request.param)


def test_every_case_is_one_launch_of_its_kernel():
    for name in RECORDS:
        for case in cause_counters.cases(name):
            (one,) = case.plan
            assert one.name == case.spec.name
    changed = {case.what: case.plan[0].source for case in cause_counters.cases(FASTEST)}
    assert changed["layer 1"] != changed["pieces 16 bytes off"]


def test_the_record_has_every_case_and_metric(record):
    cases = cause_counters.cases(record.name)
    assert [(row["series"], row["case"]) for row in record.rows()] == [
        (case.spec.name, case.what) for case in cases
    ]
    assert all(set(METRICS) <= set(row) for row in record.rows())


@pytest.mark.parametrize("name", RECORDS)
def test_of_a_warm_case_the_second_launch_counts(name, monkeypatch):
    asked = []

    def read(command, metrics, launches, *, cold):
        asked.append((command[-1], cold, launches))
        return [dict.fromkeys(metrics, number) for number in range(len(launches))]

    monkeypatch.setattr(ncu, "program", lambda: "ncu")
    monkeypatch.setattr(ncu, "read", read)
    monkeypatch.setattr(conv2d, "compile", lambda *_: SimpleNamespace(free=lambda: None))
    rows = cause_counters.measure(name)
    for row in rows:
        results._measurement(row)  # a record takes each of them
    warm = [case.warm for case in cause_counters.cases(name)]
    assert [row["instructions"] for row in rows] == [
        number + sum(warm[: number + 1]) for number in range(len(warm))
    ]
    ((of, cold, launches),) = asked
    assert (of, cold) == (name, name == FASTEST)
    assert len(launches) == len(warm) + sum(warm)


def test_pieces_off_their_sectors_cost_l2_and_not_dram():
    data = cause_counters.recorded(FASTEST)
    aligned, off = (
        data.one(series=fastest_layer.QUADS, case=what)
        for what in ("layer 1", "pieces 16 bytes off")
    )
    assert off["l2_store_sectors"] > 1.2 * aligned["l2_store_sectors"]
    assert off["dram_write_bytes"] == pytest.approx(aligned["dram_write_bytes"], rel=0.02)
    assert len(cause_counters.stores_table(data).splitlines()) == 4
    with pytest.raises(KeyError, match="305_counters has no row with"):
        data.one(series="conv2d_basic", case="layer 1")


def test_a_table_of_waits_shows_the_numbers_of_the_record():
    data = cause_counters.recorded(CHANNELS)
    other = records.with_values(data, {}, stalled_barrier=12.34)
    of = [("conv2d_basic", "layer 1"), ("conv2d_channels_tree", "layer 1")]
    lines = cause_counters.waits_table(other, of).splitlines()
    assert len(lines) == 4
    assert all(line.split()[-5] == "12.3" for line in lines[2:])
