"""Counters of Nsight Compute: how they are read, compared and recorded."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from evidence import ncu
from evidence.counters import __main__ as counters
from evidence.counters import cases as counter_cases
from evidence.counters import comparison as counter_comparison
from evidence.counters import differences as counter_differences
from evidence.counters import readings as counter_readings
from helpers import device, programs, simulator
from helpers.bench import results
from helpers.launch import simulate

KERNELS = Path(__file__).resolve().parents[1] / "simulator" / "counters"
LAUNCHES = counter_cases.matching("", KERNELS)


def test_only_a_small_surplus_of_passes_is_taken_for_other_work():
    launch = LAUNCHES[0]
    read = {
        "shared_load_wavefronts": 1015,
        "shared_load_conflicts": 15,
        "global_load_sectors": 1001,
    }
    assert counter_differences.reason(
        launch, "shared_load_wavefronts", 1000, read
    ) and counter_differences.reason(launch, "shared_load_conflicts", 0, read)
    assert counter_differences.reason(launch, "shared_load_wavefronts", 998, read) is None
    # Fewer passes than the kernel needs: never.
    assert counter_differences.reason(launch, "shared_load_wavefronts", 1016, read) is None
    assert counter_differences.reason(launch, "global_load_sectors", 1000, read) is None


def test_a_wrong_count_is_seen():
    launch = next(launch for launch in LAUNCHES if launch.label == "axpy_basic, n = 1000")
    right = {name: 0 for name in counter_readings.COMPARED}
    right |= {
        "global_load_requests": 64,
        "global_load_sectors": 250,
        "global_store_requests": 32,
        "global_store_sectors": 125,
    }
    assert all(found.equal for found in counter_comparison.compare(launch, right))
    compared = counter_comparison.compare(launch, {**right, "global_load_sectors": 251})
    assert [found.counter for found in compared if not found.equal] == ["global_load_sectors"]
    assert "250/251 !" in counter_comparison.table(
        compared
    ) and "1 for none" in counter_comparison.table(compared)
    assert counter_comparison.unexplained(compared) == [
        "axpy_basic, n = 1000: global_load_sectors 250 in the simulator, 251 by ncu (+1); "
        "the simulator's by line: 21 (x) 125, 21 (y) 125"
    ]


def test_the_lowest_of_several_readings_counts_and_the_others_are_kept():
    readings = [
        {"a": a, "b": 7, "c": None} for a in (1003, 1000, 1000)[: counter_readings.READINGS]
    ]
    assert counter_readings._lowest(readings) == {"a": 1000, "readings a": "1003 1000 1000", "b": 7}


def test_without_ncu_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ncu.NcuError, match="Nsight Compute"):
        counter_readings.read_with_ncu("", KERNELS)


# ---- some launches only ----

# Answers like ncu for the launches that ONLY matches: every counter of every launch is 7, in the
# order of the launches. The arguments of the program that it is asked to run lie beside it.
FAKE_NCU = """import sys
log = sys.argv[sys.argv.index("--log-file") + 1]
metrics = sys.argv[sys.argv.index("--metrics") + 1].split(",")
with open(sys.argv[0].removesuffix(".py") + ".asked", "w") as file:
    for word in sys.argv[sys.argv.index("evidence.counters") + 1 :]:
        print(word, file=file)
with open(log, "w") as file:
    print('"ID","Kernel Name","Metric Name","Metric Value"', file=file)
    for number, kernel in enumerate({kernels}):
        for metric in metrics:
            print(f'"{{number}}","{{kernel}}(float *)","{{metric}}","7"', file=file)
"""
ONLY = "^axpy_basic|^gather"
GPU = results.load(results.MEASURED / "counters.json").device


@pytest.fixture
def gpu(monkeypatch, tmp_path):
    """A host with the GPU of the committed record and an ncu that answers 7; results go to
    tmp_path.
    """
    ncu = tmp_path / "ncu"
    kernels = [
        launch.kernel
        for launch in counter_cases.matching(ONLY, KERNELS)
        for _ in range(counter_readings.READINGS)
    ]
    ncu.with_suffix(".py").write_text(FAKE_NCU.format(kernels=kernels))
    # By a shell, because the first line of a script takes no path with a blank.
    ncu.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$0.py" "$@"\n')
    ncu.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("LAB_RESULTS", str(tmp_path))
    monkeypatch.setattr(counter_readings, "_build_all", lambda launches: {})
    monkeypatch.setattr(counters.device, "select", lambda: GPU)
    monkeypatch.setattr(results, "_software", lambda device: {"cuda_runtime": "13.0.0"})
    return tmp_path


def rows_of(path) -> dict[str, dict]:
    return {row["launch"]: row for row in results.load(path).rows()}


def test_some_launches_only(gpu, capsys):
    assert counters.main([str(KERNELS), "--only", ONLY]) == 1  # 7 is what no kernel here counts
    asked = counters._parser().parse_args((gpu / "ncu.asked").read_text().splitlines())
    assert asked.launch and (asked.only, asked.folder) == (ONLY, KERNELS)
    measured = rows_of(gpu / "counters.json")
    assert list(measured) == [
        "axpy_basic, n = 1000",
        "axpy_basic, n = 4096",
        "gather, a permutation",
    ]
    row = measured["axpy_basic, n = 1000"]
    assert (row["global_load_sectors"], row["simulator global_load_sectors"]) == (7, 250)
    assert (
        "! axpy_basic, n = 1000: global_load_sectors 250 in the simulator, 7 by ncu (-243)"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("pattern", "message"),
    [("conv3d", "no launch has 'conv3d'"), ("conv(", "is no regular expression")],
)
def test_a_pattern_that_finds_nothing_is_refused(pattern, message, capsys):
    assert counters.main([str(KERNELS), "--only", pattern]) == 2
    assert message in capsys.readouterr().err


def test_a_folder_without_the_kernels_is_refused(tmp_path, capsys):
    assert counters.main([str(tmp_path), "--only", ONLY]) == 2
    assert f"{tmp_path} lacks gather.cu: give the folder" in capsys.readouterr().err


def test_compiled_launches_run_through_pycuda_as_often_as_they_are_read(tmp_path, monkeypatch):
    device.select()
    from pycuda import compiler

    launches = counter_cases.matching("^(constant_table|axpy_basic, n = 1000)", KERNELS)
    for number, (source, options) in enumerate(counter_readings._binaries(launches)):
        image = compiler.compile(source, options=list(options), no_extern_c=True)
        (tmp_path / f"{number}.cubin").write_bytes(image)
    made = []

    class Run(programs.DeviceRun):
        def free(self):
            made.append(next(iter(self.read("argument 0").values())))
            super().free()

    monkeypatch.setattr(counter_readings, "DeviceRun", Run)
    counter_readings.launch_all(launches, tmp_path)
    assert len(made) == len(launches) == 4
    for launch, out in zip(launches, made, strict=True):
        arrays = launch.arrays()
        for _ in range(counter_readings.READINGS):  # on the same arrays
            simulate(launch.plan, arrays, simulator.check)
        np.testing.assert_array_equal(out, arrays["argument 0"], err_msg=launch.label)
