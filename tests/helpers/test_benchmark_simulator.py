"""The simulator's benchmark: right launches, a yardstick that is checked before it counts, ratios
of rates.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from helpers import checking, simulator
from helpers.tools.benchmarks import simulator_benchmark
from helpers.tools.benchmarks.simulator_benchmark import NUMBA, SIMULATED, Simulated


@pytest.mark.parametrize("name", SIMULATED)
def test_a_launch_runs_right_and_its_check_rejects_wrong_outputs(name):
    launch = Simulated.of(name, 600)
    with pytest.raises(checking.CheckError):
        launch.check(launch.y, "nothing")
    output = launch.y.copy()
    assert launch.call(simulator.check, output) == ()
    assert launch.check(output, "the simulator")
    output[-1] += 1e-4
    with pytest.raises(checking.CheckError):
        launch.check(output, "the simulator")


def test_rows_have_rates_of_both_entries():
    rows = list(simulator_benchmark._rows("conv1d_tiled_steps", 512, 0.01))
    assert [row["series"] for row in rows] == ["check", "profile"]
    # A thread loads its cell, stores it in the tile, loads 31 cells of the tile and 31 weights,
    # stores its output; beside them each of the two blocks has 30 halo cells to stage, of which 15
    # of the array's ghosts are not loaded.
    assert {row["accesses"] for row in rows} == {512 * (1 + 1 + 31 + 31 + 1) + 2 * 30 + 2 * 15}
    for row in rows:
        assert np.isclose(row["threads_per_s"], 512e3 / row["timing"].median)
        assert np.isclose(row["accesses_per_s"] / row["threads_per_s"], row["accesses"] / 512)


def fake_numba(monkeypatch, spoil: str = ""):
    """In place of numba-cuda: a process that gives right outputs, but for the kernel `spoil`, after
    0.5 s a sample.
    """

    def run(command, **_):
        folder, samples = Path(command[2]), int(command[3])
        inputs = np.load(folder / "inputs.npz")
        made = {"version": np.array("0")}
        for name in SIMULATED:
            launch = Simulated(name, inputs["x"], inputs["y"], inputs["weights"])
            output = launch.y.copy()
            launch.call(simulator.check, output)
            made |= {name: output + (name == spoil), f"{name} seconds": np.full(samples, 0.5)}
        np.savez(folder / "outputs.npz", **made)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(simulator_benchmark.subprocess, "run", run)


def test_the_yardstick_is_checked(monkeypatch):
    fake_numba(monkeypatch)
    assert simulator_benchmark.numba_seconds("python", 6, n=300) == {
        name: [0.5] * 6 for name in SIMULATED
    }
    fake_numba(monkeypatch, spoil="conv1d_basic")
    with pytest.raises(checking.CheckError, match="conv1d_basic in numba-cuda's simulator"):
        simulator_benchmark.numba_seconds("python", 6, n=300)


def test_a_missing_numba_is_said_and_ours_is_measured(monkeypatch, capsys):
    monkeypatch.setattr(simulator_benchmark, "SIMULATED", {"axpy_basic": 512})
    monkeypatch.setattr(simulator_benchmark, "SAME_N", 256)
    rows = simulator_benchmark.measure(0.01, "/no/such/python")
    assert {row["series"] for row in rows} == {"check", "profile"}
    assert "is left out: /no/such/python does not start: No such file" in capsys.readouterr().out


def test_a_python_without_numba_is_said(tmp_path):
    python = tmp_path / "python"
    python.write_text(
        "#!/bin/sh\necho \"ModuleNotFoundError: No module named 'numba'\" >&2\nexit 1\n"
    )
    python.chmod(0o755)
    with pytest.raises(simulator_benchmark.NumbaMissing, match="No module named 'numba'"):
        simulator_benchmark.numba_seconds(str(python), 6)


def test_the_table_gives_ratios_of_rates():
    rows = [
        {"series": s, "kernel": k, "n": n, "threads_per_s": rate, "accesses_per_s": 3 * rate}
        for s, k, n, rate in (
            (NUMBA, "axpy_basic", 2048, 5e3),
            ("check", "axpy_basic", 2048, 1e6),
            ("check", "other", 1, 7.0),
        )
    ]
    lines = simulator_benchmark.table(rows).splitlines()
    assert lines[1].split()[-3:] == ["5,000", "15,000", "-"]
    assert lines[2].split()[-1] == "200x"
    assert lines[3].split()[-1] == "-"


@pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="numba-cuda is not installed")
def test_numba_itself():
    assert all(
        min(seconds) > 0
        for seconds in simulator_benchmark.numba_seconds(sys.executable, 2, n=300).values()
    )
