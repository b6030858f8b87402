"""Nsight Compute on the launches that labs explain: the records are complete, and the tables show
their numbers.
"""

from __future__ import annotations

import contextlib

import pytest

from evidence import launch_counters, ncu
from evidence.launch_counters import RECORDS, cases
from helpers import device, programs
from helpers.bench import hardware, results
from tests import records


def test_a_missing_ncu_is_named(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(ncu.NcuError, match="not on the PATH"):
        list(launch_counters.measure("112_counters"))


def test_the_command_needs_a_gpu_and_a_record(capsys, monkeypatch):
    monkeypatch.setenv("LAB_DEVICE", "simulator")
    if device.select().kind != "simulator":
        pytest.skip("a GPU was chosen before, in this process")
    assert launch_counters.main(["112_counters"]) == 2
    assert "there is none here" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        launch_counters.main(["no_such_record"])
    assert "invalid choice: 'no_such_record'" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        launch_counters.main(["102_lookups"])
    assert "only launched: add --launch" in capsys.readouterr().err


@pytest.mark.parametrize("name", RECORDS)
def test_a_record_has_every_launch(name):
    record = results.recorded(name)
    *_, lab = RECORDS[name]
    assert record.lab == lab
    rows = record.select()
    for case in cases(name):
        for kernel in case.names:
            one = record.one(**{"series": kernel, **case.columns})
            assert {"instructions", "load_sectors"} & set(one)
            assert any(key.startswith("stalled_") for key in one) or name == "100_caches"
    counted = {key for row in rows for key in row} & set(hardware.METRICS)
    assert len(counted) >= 5


@pytest.mark.parametrize("name", RECORDS)
def test_of_a_warm_case_the_second_launch_counts(name, monkeypatch):
    asked = []

    def read(command, metrics, launches, *, cold, marked):
        assert marked  # what chooses a library's kernel is launched, and not read
        asked.append((command[-2:], cold, launches))
        return [dict.fromkeys(metrics, number) for number in range(len(launches))]

    class Compiled:
        def __init__(self, plan):
            self.plan = plan

        def free(self):
            pass

    monkeypatch.setattr(ncu, "program", lambda: "ncu")
    monkeypatch.setattr(ncu, "read", read)
    monkeypatch.setattr(launch_counters, "Program", Compiled)
    rows = list(launch_counters.measure(name))
    for row in rows:
        results._measurement(row)  # a record takes each of them
    ((command, cold, launches),) = asked
    warm = [case.warm for case in cases(name)]
    assert command == [name, "--launch"] and cold != any(warm)
    assert any(warm) == (name == "401_counters")
    assert [launches[row["instructions"]] for row in rows] == [
        kernel for case in cases(name) for kernel in case.names
    ]
    end = 0
    for case in cases(name):
        end += case.times * len(case.names)
        assert end - 1 in [row["instructions"] for row in rows]


def test_the_cases_of_a_record_run_on_few_images(monkeypatch):
    """The program that ncu runs, in the simulator: each case is launched, a warm one twice."""
    device.select()
    launched = []

    class Watched(programs.Program):
        def launch(self, arrays, stream=None, only=None):
            super().launch(arrays, stream, only)
            launched.append(self.names)

    monkeypatch.setattr(launch_counters, "Program", Watched)
    few = {"300_counters": 1, "401_counters": 1, "100_caches": 1024, "101_cells": 500}
    for name, size in {**few, "102_lookups": 500}.items():
        assert launch_counters.main([name, "--launch", f"--size={size}"]) == 0
        small = cases(name, size)
        assert launched == [tuple(case.names) for case in small for _ in range(case.times)]
        launched.clear()


def test_a_changed_step_is_another_source():
    changed = {case.columns["case"]: case.plan[0].source for case in cases("305_counters")}
    assert changed["layer 1"] != changed["pieces 16 bytes off"]


# ---- reading


@pytest.fixture(scope="module")
def counted() -> results.Record:
    return results.recorded("111_caches")


def test_the_largest_stalls_come_first():
    row = {
        "stalled_wait": 0.3,
        "stalled_not_selected": 2.8,
        "stalled_barrier": None,
        "stalled_long_scoreboard": 0.5,
    }
    assert hardware.stalls(row) == [("not selected", 2.8), ("long scoreboard", 0.5)]


def test_shares_are_of_all_requests(counted):
    one = counted.one(series="conv2d_tiled", layer="layer 1", variant="")
    one |= {"load_sectors": 200, "load_sectors_hit": 50, "constant_hits": 30, "constant_misses": 10}
    assert hardware.table([one], "l1", "weights").split()[-2:] == ["25.0%", "25.0%"]


def test_cycles_over_the_floor_are_those_of_the_clock(counted):
    """Two ways to one number: ncu's counters on 1,000 images, and a clock on 10,000."""
    from helpers.experiments import layer_times

    clock = layer_times.LayerTimes(results.recorded("107_layer"))
    for layer in layer_times.LAYERS:
        basic = counted.one(series="conv2d_basic", layer=layer)
        where = layer, layer_times.MANY
        expected = 1e-3 * clock.ms(*where, layer_times.OP_TIME) / clock.floor(*where).seconds
        assert hardware.cycles_over_floor(basic) == pytest.approx(expected, rel=0.03)


def test_issue_slots_account_for_the_time_of_the_pairs():
    """Lab 300, deeper, says so: instructions over busy slots are cycles."""
    times, counted = results.recorded("300_deeper"), results.recorded("300_counters")
    for layer in ("layer 1", "layer 2"):
        floats, pairs = (
            one["instructions"] / one["issue_slots_busy"]
            for one in counted.select(layer=layer, series=("conv2d_register", "conv2d_half2"))
        )
        where = {"series": "conv2d_half2", "layer": layer, "part": "convolution"}
        measured = times.one(**where, over="conv2d_register")
        assert pairs / floats == pytest.approx(measured["ratio"], rel=0.02)


def test_pieces_off_their_sectors_cost_l2_and_not_dram():
    aligned, off = results.recorded("305_counters").select(
        series="conv2d_mma_quads", case=("layer 1", "pieces 16 bytes off")
    )
    assert off["l2_store_sectors"] > 1.2 * aligned["l2_store_sectors"]
    assert off["dram_write_bytes"] == pytest.approx(aligned["dram_write_bytes"], rel=0.02)


@pytest.mark.parametrize("name", hardware.COLUMNS)
def test_a_column_shows_the_numbers_of_a_record(name):
    """Every column follows its counters: not all launches of the records have one cell."""
    _, cell = hardware.COLUMNS[name]
    show = cell.format_map if isinstance(cell, str) else cell
    shown = set()
    for record in map(results.recorded, RECORDS):
        with contextlib.suppress(KeyError):  # this record does not have the counter
            shown |= {show(row) for row in record.select()}
    assert len(shown - {""}) > 1


def test_a_table_names_layer_kernel_and_what_else_differs(counted):
    rows = counted.select(series="conv2d_tiled_maps", layer="layer 1", maps=4)
    lines = hardware.table(rows, "busy", "waits").splitlines()
    assert lines[1].startswith("1,000 images")
    assert lines[2].startswith("layer 1, conv2d_tiled_maps, 4 maps  ")
    assert lines[3].startswith("layer 1, conv2d_tiled_maps, 4 maps, without threadIdx.z  ")
    with pytest.raises(KeyError):
        hardware.table(rows, "no such column")
    other = records.with_values(counted, {}, stalled_barrier=99.0)
    assert "barrier 99.0" in hardware.table(other.select(layer="layer 1", maps=2), "waits")
