"""What Nsight Compute counted for pairs of halves: the record is complete, and its slots account
for the measured times.
"""

from __future__ import annotations

import dataclasses

import pytest

from helpers import device
from helpers.bench import results
from helpers.experiments import half_counters
from helpers.experiments.ncu import NcuError
from tests import records


@pytest.fixture(scope="module")
def record():
    return half_counters.recorded()


def test_the_record_has_every_launch(record):
    rows = record.rows()
    assert [(row["series"], row["layer"]) for row in rows] == list(half_counters.LAUNCHES)
    assert all(set(half_counters.METRICS) <= set(row) for row in rows)


@pytest.mark.parametrize("layer", half_counters.LAYERS)
def test_issue_slots_account_for_the_time_of_the_pairs(record, layer):
    (measured,) = (
        row["ratio"]
        for row in results.load(results.MEASURED / "300_deeper.json").rows()
        if row["series"] == "ratio"
        and (row["kernel"], row["layer"]) == (half_counters.PAIRS, layer)
        and row["part"] == "convolution"
    )
    assert half_counters.expected_ratio(record, layer) == pytest.approx(measured, rel=0.02)


def test_the_ratio_follows_instructions_and_slots(record):
    """Twice the instructions in half of the slots take four times as long."""

    def change(one):
        counted = dict(one.parameters)
        counted["instructions"] *= 2
        counted["issue_slots_busy"] /= 2
        return dataclasses.replace(one, parameters=counted)

    other = records.edited(record, change, series=half_counters.PAIRS)
    for layer in half_counters.LAYERS:
        four_times = 4 * half_counters.expected_ratio(record, layer)
        assert half_counters.expected_ratio(other, layer) == pytest.approx(four_times)


def test_the_table_has_a_line_for_each_kernel_and_layer(record):
    lines = half_counters.table(record).splitlines()
    for kernel in (half_counters.FLOATS, half_counters.PAIRS):
        for layer in half_counters.LAYERS:
            assert sum(line.startswith(f"{kernel}, {layer} ") for line in lines) == 1



def test_a_missing_ncu_is_named(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(NcuError, match="not on the PATH"):
        half_counters.measure()


def test_the_command_needs_a_gpu_and_no_arguments(capsys, monkeypatch):
    monkeypatch.setenv("LAB_DEVICE", "simulator")
    if device.select().kind != "simulator":
        pytest.skip("a GPU was chosen before, in this process")
    assert half_counters.main([]) == 2
    assert "there is none here" in capsys.readouterr().err
    assert half_counters.main(["all"]) == 2
    assert "takes no arguments, got all" in capsys.readouterr().err
