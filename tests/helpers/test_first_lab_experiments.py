"""What the first labs measure: variants of axpy, periodic outputs, broken kernels, counters."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from evidence import ncu
from helpers import bench, checking, kernels, reference, simulator
from helpers.bench import hardware, results
from helpers.bench.results import Measurement
from helpers.experiments import broken, first_launch, sizes
from tests import clock
from tests.records import slower


def recorded(name: str) -> results.Record:
    return results.load(results.MEASURED / f"{name}.json")


# --------------------------------------------------------------------------------- the first launch


@pytest.mark.parametrize("name", first_launch.VARIANTS)
@pytest.mark.parametrize("n", [8, 1000, 1024, 2048])
def test_each_variant_computes_each_element_once(name, n):
    x, y = np.arange(n, dtype=np.float32), np.ones(n, np.float32)
    grid = kernels.grid_for(n, first_launch.BLOCK)
    source = first_launch.variant(name)
    block = (first_launch.BLOCK,)
    got = y.copy()
    seen = simulator.profile(
        source, "axpy_basic", got, x, np.int32(n), np.float32(2), grid=grid, block=block
    )
    assert not seen.findings
    assert np.array_equal(got, reference.axpy(2, x, y))
    assert seen.total("lanes", "global", "store") == n


def test_variants_apart_ask_for_eight_times_the_sectors():
    n = 1024
    x = np.ones(n, np.float32)

    def sectors(name: str) -> int:
        arguments = (x.copy(), x, np.int32(n), np.float32(2))
        source = first_launch.variant(name)
        return simulator.profile(
            source, "axpy_basic", *arguments, grid=(4,), block=(256,)
        ).global_load_sectors

    near = sectors(first_launch.NEIGHBOURS)
    assert [sectors(name) / near for name in (first_launch.IN_BLOCK, first_launch.IN_GRID)] == [
        8,
        8,
    ]


def test_caches_explain_the_times():
    caches = {row["series"]: row for row in recorded("100_caches").rows()}
    near, block, grid = (caches[f"lanes {name}"] for name in first_launch.VARIANTS)
    assert block["l1_load_sectors"] == grid["l1_load_sectors"] == 8 * near["l1_load_sectors"]
    assert block["l1_load_hits_percent"] == 87.5, "seven of eight"
    assert grid["dram_read_bytes"] > 7 * near["dram_read_bytes"]
    near, *_ = recorded("100_caches").select()
    assert near["load_sectors_hit"] == 0 and near["load_sectors"] == 2_500_000


# -------------------------------------------------------------------------------------------- sizes


@pytest.fixture
def outputs() -> tuple[np.ndarray, np.ndarray]:
    period = np.random.default_rng(1).uniform(0.5, 1.5, sizes.PERIOD).astype(np.float32)
    three = reference.conv1d(np.resize(period, 3 * sizes.PERIOD), sizes.FILTER)
    return reference.conv1d(np.resize(period, 1000), sizes.FILTER).astype(np.float32), three


def test_right_periodic_outputs_pass(outputs):
    assert isinstance(sizes.verdict_of(*outputs, "right"), checking.Verdict)


@pytest.mark.parametrize("place", [0, 150, 450, 999])
@pytest.mark.parametrize("value", [np.nan, 7.0])
def test_one_wrong_output_is_found_wherever_it_stands(outputs, place, value):
    P, three = outputs
    P[place] = value
    with pytest.raises((checking.CheckError, ValueError)):
        sizes.verdict_of(P, three, "wrong")


def test_one_wrong_place_of_a_period_is_told_as_one(outputs):
    P, three = outputs
    P.reshape(-1, sizes.PERIOD)[2, 5] += 1
    with pytest.raises(ValueError, match=r"but the output not in 1 place$"):
        sizes.verdict_of(P, three, "wrong")


def test_a_wrong_period_everywhere_is_found(outputs):
    P, three = outputs
    P.reshape(-1, sizes.PERIOD)[1:-1, 5] += 1
    with pytest.raises(checking.CheckError):
        sizes.verdict_of(P, three, "wrong")


@pytest.mark.parametrize(
    ("gpu", "words"),
    [
        ((1, 1, 1), "from 10"),
        ((9, 1, 1), "from 100"),
        ((1, 9, 1), "from 1,000"),
        ((1, 1, 9), "never"),
        ((9, 9, 9), "never"),
    ],
)
def test_a_win_holds_for_all_larger_sizes(gpu, words):
    among = (10, 100, 1000)
    assert sizes._first_win(dict(zip(among, gpu, strict=True)), dict.fromkeys(among, 5)) == words


def test_tables_of_sizes_name_the_programs_of_the_record():
    record = sizes.recorded()
    assert sizes.cpu_name(record, sizes.SWAPPED) in sizes.table_of_wins(record)
    copies, pinned = (record.ms("n", series=way) for way in (sizes.COPIES, sizes.PINNED))
    assert all(pinned[n] < copies[n] for n in sizes.SIZES)


def test_the_kernel_alone_stands_once_in_the_record_that_the_lab_extends(monkeypatch, tmp_path):
    clock.install(monkeypatch)
    monkeypatch.setattr(results, "_begun", {})
    monkeypatch.setenv("LAB_RESULTS", str(tmp_path))
    problem = bench.conv1d(n=1000, filter_width=sizes.FILTER_WIDTH)
    by_the_bench = {"series": sizes.KERNEL_ONLY, "kernel": "conv1d_basic", **problem.where}
    results.extend("115_sizes", [by_the_bench | {"registers": 12, "timing": clock.timed("first")}])
    period = np.random.default_rng(1).uniform(0.5, 1.5, sizes.PERIOD).astype(np.float32)
    three = reference.conv1d(np.resize(period, 3 * sizes.PERIOD), sizes.FILTER)
    x, y = np.resize(period, 1000), np.full(1000, np.nan, np.float32)
    record = results.extend("115_sizes", sizes._gpu_rows(x, y, three))
    assert [row["series"] for row in record.rows()] == [
        sizes.KERNEL_ONLY,
        sizes.WAITED,
        sizes.COPIES,
    ]


# ----------------------------------------------------------------------------------- broken kernels


def test_references_of_the_broken_kernels():
    assert broken.difference(np.array([2.0, 5, 3])).tolist() == [2, 3, -2]
    assert broken.sliding_max(np.array([2.0, 5, 3, 1])).tolist() == [5, 5, 5, 3]
    assert broken.smooth(np.array([3.0, 6, 9])).tolist() == [4, 6, 8]
    assert broken.blur(np.array([[1.0, 3, 7], [2, 2, 2]])).tolist() == [[2, 5, 7], [2, 2, 2]]
    assert reference.axpy(2, np.array([1.0, 2]), np.array([5.0, 6])).tolist() == [7, 10]


def test_wrong_launches_and_values_are_counted():
    want = np.array([1.0, 2.0, -4.0])
    runs = iter([want, np.array([1.0, 2.1, np.nan]), want * (1 + 1e-7), np.array([1.0, 2.0, 4.0])])
    counts = broken.count_wrong(lambda: next(runs), want, 4)
    assert counts == {"launches": 4, "wrong_launches": 2, "most_wrong_values": 2}


def test_a_tile_that_is_not_there_cannot_be_flattened():
    with pytest.raises(ValueError, match=r"no .\[T \+ 1\]\[T\]"):
        broken.flattened("__shared__ float tile[T][T + 1];")


def test_the_figure_of_smoothing_says_where_the_errors_are():
    want = np.ones(600)
    wrong = want.copy()
    wrong[[255, 256]] = 2
    assert "2 of 600 cells are wrong, all at" in broken.figure_of_smooth(wrong, want).axes[
        0
    ].get_title(loc="left")
    wrong[100] = 2
    assert "3 of 600 cells are wrong, not only" in broken.figure_of_smooth(wrong, want).axes[
        0
    ].get_title(loc="left")
    one = want.copy()
    one[256] = 2
    title = broken.figure_of_smooth(one, want).axes[0].get_title(loc="left")
    assert title == "1 of 600 cells is wrong, at the edges of blocks"


def test_the_table_of_broken_kernels_has_a_line_for_each_series():
    record = recorded("105_broken")
    assert len(broken.table(record).splitlines()) == 2 + len(record.rows())
    one = dataclasses.replace(
        record,
        measurements=(
            Measurement(
                "a", {"values": 5, "launches": 9, "wrong_launches": 3, "most_wrong_values": 2}, None
            ),
        ),
    )
    assert broken.table(one).splitlines()[-1].split() == ["a", "5", "3", "of", "9", "2"]


# ----------------------------------------------------------------------------------- Nsight Compute

CSV = """==PROF== Connected
"ID","Kernel Name","Metric Name","Metric Value"
"0","axpy(float *)","sectors.sum","1,250"
"0","axpy(float *)","hits.pct","87.5"
"1","conv(float *)","sectors.sum","n/a"
"""


def test_counters_are_read_launch_by_launch():
    assert ncu.parse(CSV, ("axpy", "conv")) == [
        {"sectors.sum": 1250, "hits.pct": 87.5},
        {"sectors.sum": None},
    ]


@pytest.mark.parametrize("launches", [("axpy",), ("conv", "axpy"), ("axpy", "conv", "conv")])
def test_other_launches_are_an_error(launches):
    with pytest.raises(ncu.NcuError, match="ncu saw 2 launches"):
        ncu.parse(CSV, launches, "==ERROR== no permission")


def test_ncu_beside_the_simulator():
    x = np.ones(1000, np.float32)
    arguments = (x.copy(), x, np.int32(1000), np.float32(2))
    seen = simulator.profile(
        kernels.source("axpy_basic"), "axpy_basic", *arguments, grid=(4,), block=(256,)
    )
    numbers = [
        line.split()[1:] for line in hardware.beside(seen, "axpy_basic, n = 1000").splitlines()[2:]
    ]
    assert numbers == [["64", "64"], ["250", "250"], ["32", "32"], ["125", "125"]]
    with pytest.raises(KeyError, match="no launch 'axpy_basic, n = 7'"):
        hardware.beside(seen, "axpy_basic, n = 7")


def test_a_readers_estimates_and_steps_stand_beside_the_right_ones():
    record = sizes.recorded()
    assert sizes.estimates_beside(None, ...).count("yours: not yet") == 2
    assert "compute again" not in sizes.estimates_beside(0.01667, 1.25)
    # GB in place of ms, and the copies counted in one direction only.
    said = sizes.estimates_beside(16.67, 0.625)
    assert said.count("too high, compute again") == said.count("too low, compute again") == 1

    def by_adding(with_copies, kernel, cpu):
        steps = 1
        while with_copies + (steps - 1) * kernel >= steps * cpu:
            steps += 1
        return steps

    said = sizes.steps_beside(by_adding, record)
    assert "compute again" not in said and "10,000,000" in said
    assert "compute again" in sizes.steps_beside(lambda copies, kernel, cpu: copies / cpu, record)
    slow = slower(record, 1000.0, series=sizes.KERNEL_ONLY)
    assert sizes.steps_beside(by_adding, slow).count("\n") == 0, "no number of steps is enough"
