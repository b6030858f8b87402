"""Launches of 1D kernels, their data and checks, and the benchmark that times them."""

from dataclasses import replace

import numpy as np
import pytest

from evidence.benchmarks import __main__ as benchmarks
from evidence.benchmarks import conv1d_benchmark
from helpers import bench, checking, reference
from helpers.bench import results, timing
from helpers.bench.memory import DRIVER
from helpers.problems import conv1d
from helpers.problems.conv1d import (
    BEST,
    CONV1D,
    PLAINEST,
    Checker,
    PeriodicData,
    conv1d_named,
)
from tests import clock
from tests.support import changed_kernel


def upload(cuda, values):
    return cuda.to_device(np.asarray(values, np.float32))


# --------------------------------------------------------------------------------------------------
# Launches


def test_launches_cover_the_output():
    for spec in CONV1D:
        for width in (1, 3, 31):
            for n in (1, 1023, 10**9):
                if spec.name == "conv1d_one_block":
                    assert spec.grid(n, width) == (1, 1, 1)
                    continue
                blocks, per_block = spec.grid(n, width)[0], spec.per_block(n, width)
                assert (blocks - 1) * per_block < n <= blocks * per_block


def test_a_block_makes_what_its_threads_make():
    for spec in CONV1D:
        if spec.name not in ("conv1d_one_block", "conv1d_tiled_input"):
            assert spec.per_block(10**6, 31) == spec.threads * (spec.outputs or 1)
    assert conv1d_named("conv1d_tiled_input").per_block(10**6, 31) == 256 - 30


def test_options_name_only_what_a_source_has():
    assert conv1d_named("conv1d_basic").options(5) == ["-DFILTER_WIDTH=5"]
    assert conv1d_named(BEST).options(5) == ["-DFILTER_WIDTH=5", "-DTILE_WIDTH=768", "-DOUTPUTS=12"]


def test_an_input_tile_must_leave_an_output():
    spec = replace(conv1d_named("conv1d_tiled_input"), threads=32, tile=32)
    assert spec.fits(31)
    assert not spec.fits(33)
    assert all(s.fits(33) for s in CONV1D if s.name != spec.name)


def test_unknown_kernel():
    with pytest.raises(KeyError, match="choose from conv1d_one_block, conv1d_basic, "):
        conv1d_named("conv1d_none")


# --------------------------------------------------------------------------------------------------
# Data and checks


def test_the_host_knows_every_cell(cuda, monkeypatch):
    monkeypatch.setattr(conv1d, "PERIOD", 37)
    data, there = PeriodicData(100), cuda.mem_alloc(400)
    data.upload(cuda, int(there))
    cells = np.empty(100, np.float32)
    cuda.memcpy_dtoh(cells, there)
    assert (cells == data.cells(0, 100)).all()
    assert np.unique(cells).size == 37
    assert data.cells(-2, 3).tolist() == [0, 0, *cells[:3].tolist()]
    assert data.cells(98, 102).tolist() == [*cells[98:].tolist(), 0, 0]


def test_windows_of_outputs_are_those_of_the_whole():
    data, filter = PeriodicData(1000), np.array([1, -2, 3, 5, -7], np.float32)
    whole = reference.conv1d(data.cells(0, 1000), filter)
    for first, last in ((0, 1000), (0, 10), (1, 3), (500, 700), (990, 1000)):
        assert np.allclose(data.outputs(first, last, filter), whole[first:last], rtol=0, atol=1e-12)


@pytest.mark.parametrize("n", [1, 100, 4096, 4097, 10**9])
def test_windows_hold_both_ends(n):
    places = conv1d.windows(n)
    assert places[0][0] == 0
    assert places[-1][1] == n
    assert all(0 <= first < last <= n and last - first <= conv1d.WINDOW for first, last in places)
    assert len(places) == len(set(places))


@pytest.fixture
def checked(cuda):
    """A checker of 20,000 outputs of a filter of 3, with the right ones as `want`, and the right
    ones on the host.
    """
    data, filter = PeriodicData(20_000), np.array([0.5, -0.25, 0.75], np.float32)
    right = data.outputs(0, data.n, filter).astype(np.float32)
    want = upload(cuda, right)
    yield Checker(cuda, data, int(want)), filter, right
    want.free()


def test_right_outputs_pass(cuda, checked):
    checker, filter, right = checked
    output = upload(cuda, right)
    verdict = checker.everywhere(int(output), filter, "toy")
    assert isinstance(verdict, checking.Verdict)
    assert verdict.name == "toy"


@pytest.mark.parametrize("place", [0, 19_999])
def test_a_wrong_end_is_found_by_the_windows(cuda, checked, place):
    checker, filter, right = checked
    right[place] += 0.01
    output = upload(cuda, right)
    with pytest.raises(checking.CheckError, match="toy"):
        checker.everywhere(int(output), filter, "toy")


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.3])
def test_one_wrong_output_outside_the_windows_is_found(cuda, checked, value, monkeypatch):
    monkeypatch.setattr(conv1d, "WINDOW", 8)
    checker, filter, right = checked
    inside = {i for first, last in conv1d.windows(right.size) for i in range(first, last)}
    place = next(
        i for i in range(9_999, right.size) if i not in inside and abs(right[i] - 0.3) > 0.1
    )
    right[place] = value
    output = upload(cuda, right)
    with pytest.raises(
        checking.CheckError, match=f"1 of 20,000 outputs differ from {PLAINEST} or are NaN"
    ):
        checker.everywhere(int(output), filter, "toy")


def test_poison_is_counted_as_wrong_against_itself(cuda, checked):
    checker, *_ = checked
    output = cuda.mem_alloc(80_000)
    checker.poison(int(output))
    assert checker.wrong(int(output), int(output), 1e30) == 20_000


# --------------------------------------------------------------------------------------------------
# The run, with a clock that always says 2 ms


SMALL = {"sizes": (700, 5003), "widths": (3, 5), "budget_s": 0.0}


def test_conv1d_checks_and_times_every_kernel(cuda, monkeypatch):
    clock.install(monkeypatch)
    free = cuda.mem_get_info()[0]
    rows = list(conv1d_benchmark.measure(**SMALL))
    assert cuda.mem_get_info()[0] == free
    assert {row["series"] for row in rows} == {spec.name for spec in CONV1D} | {DRIVER}
    assert len(rows) == 2 * 2 * (1 + 2 * len(CONV1D))  # sizes x caches x (copy + widths x kernels)
    assert {row["timing"].cache for row in rows} == {"cold", "hot"}


def test_conv1d_times_no_wrong_kernel(cuda, monkeypatch):
    changed_kernel(monkeypatch, "conv1d_basic", "i - RADIUS + j", "i - RADIUS + j + 1")
    names = clock.install(monkeypatch)
    with pytest.raises(bench.NotReadyError, match="conv1d_basic is wrong"):
        list(conv1d_benchmark.measure(**SMALL))
    assert set(names) == {DRIVER, "conv1d_one_block"}


def rows_of(*measurements):
    """As a record gives them: (series, n, width, cache, ms) each."""
    rows = []
    for series, n, width, cache, ms in measurements:
        timed = timing.Timing.of(series, [ms] * 8, what="kernel", device="toy", cache=cache)
        parameters = {"n": n} if width is None else {"n": n, "filter_width": width}
        rows.append(results.Measurement(series, parameters, timed).row())
    return rows


def test_conv1d_table_and_summary():
    rows = rows_of(
        (DRIVER, 10**8, None, "cold", 0.2),
        (BEST, 10**8, 3, "cold", 0.2105),
        (BEST, 10**8, 31, "cold", 0.22),
        (PLAINEST, 10**8, 3, "cold", 4.21),
        (BEST, 10**8, 3, "hot", 0.1),
    )
    table = conv1d_benchmark.table(rows)
    assert "n = 100,000,000, cold caches: ms (percent of the copy's speed)" in table
    assert f"{DRIVER}: 0.2 ms (4.00 TB/s)" in table
    lines = {line.split()[0]: line.split() for line in table.splitlines()}
    assert lines["filter"] == ["filter", "of", "3", "31"]
    assert lines[BEST] == [BEST, "0.2105", "(", "95%)", "0.22", "(", "91%)"]
    assert lines[PLAINEST][-1] == "-"
    assert f"{BEST}: at least 90.9 % of copy speed for n >= 10^8" in conv1d_benchmark.summary(rows)


def test_without_a_gpu_the_record_is_shown(cuda, monkeypatch, tmp_path, capsys):
    assert benchmarks.main(["conv1d"]) == 0
    said = capsys.readouterr().out
    assert "Recorded on" in said and all(spec.name in said for spec in CONV1D)
    monkeypatch.setattr(results, "MEASURED", tmp_path)
    with pytest.raises(results.RecordError, match="benchmark_conv1d"):
        benchmarks.main(["conv1d"])


def test_arguments():
    defaults = {"what": "conv1d", "max_n": 10**9, "budget_s": 0.3, "limit_s": 120.0}
    assert vars(benchmarks._arguments(["conv1d"])) == defaults
    for wrong in ([], ["conv3d"]):
        with pytest.raises(SystemExit):
            benchmarks._arguments(wrong)


# --------------------------------------------------------------------------------------------------
# With a real clock


@pytest.mark.gpu
def test_conv1d_on_a_gpu(gpu):
    rows = list(conv1d_benchmark.measure((10**6,), (3,), budget_s=0.02))
    table = conv1d_benchmark.table([results._measurement(row).row() for row in rows])
    assert all(spec.name in table for spec in CONV1D)
