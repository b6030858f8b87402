"""The fused product of matrices: its loop in machine code, what it measures, what is said of it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from matplotlib import pyplot as plt

from helpers import exercises, limits, simulator
from helpers.bench import results, timing
from helpers.experiments import fusion, fusion_loops
from helpers.experiments.fusion import FAST, FUSED, PAIRS, TWO
from helpers.problems import conv2d
from tests.simulator.instances import Kernels

SHAPE = limits.ConvShape(B=1, C=2, M=5, H=9, W=13, K=3)


@pytest.fixture(scope="module")
def record() -> results.Record:
    return results.load(results.MEASURED / "202_fusion.json")


ALONE = (
    "float sum = 0.0f;\n#pragma unroll 1\n"
    "for (int i = 0; i < n; ++i) sum = sum * x[i] + x[i + 1];\n"
    "y[threadIdx.x] = sum * x[n] + x[d];"
)
BY_VARIABLE, BY_CONSTANT = (
    "float sum = 0.0f;\n#pragma unroll 1\n"
    f"for (int i = 0; i < n; ++i) sum = sum * x[n / {divisor}] + x[i + 1];\n"
    "y[threadIdx.x] = sum;"
    for divisor in ("(d + i)", "3")
)
STRAIGHT = "y[threadIdx.x] = x[n] * x[d] + 1.0f;"
# One source: each other one would start the disassembler again.
CODES = Kernels(
    (ALONE, BY_VARIABLE, BY_CONSTANT, STRAIGHT), "float* y, const float* x, int n, int d"
)


def loop(body: str) -> fusion_loops.Loop:
    arrays = np.zeros(32, np.float32), np.ones(64, np.float32)
    sizes = np.int32(8), np.int32(3)
    seen = simulator.profile(*CODES.of(body), *arrays, *sizes, grid=(1,), block=(32,))
    return fusion_loops.loop_of(seen)


def test_a_loop_has_its_own_instructions_only():
    found = loop(ALONE)
    assert (found.multiply_adds, found.reciprocals) == (1, 0)


def test_a_division_by_a_variable_shows_as_a_reciprocal():
    by_variable, by_constant = loop(BY_VARIABLE), loop(BY_CONSTANT)
    assert (by_variable.reciprocals, by_constant.reciprocals) == (1, 0)
    assert by_variable.instructions > by_constant.instructions


def test_code_without_a_loop_is_refused():
    with pytest.raises(ValueError, match="no loop"):
        loop(STRAIGHT)


def test_the_divisions_of_the_sources():
    assert [fusion_loops.operators(kernel) for kernel in ("gemm_tiled", FUSED, FAST)] == [0, 6, 4]


def test_the_fused_loops_have_sixteen_multiply_adds():
    loops = fusion_loops.loops()
    assert {loop.multiply_adds for loop in loops.values()} == {fusion.TILE}
    assert loops[FUSED].reciprocals == 3
    assert loops[FAST].reciprocals == loops["gemm_tiled"].reciprocals == 0
    assert fusion_loops.solution_loop(exercises.find("202")).reciprocals == 0


def test_a_division_leaves_the_loop_where_no_condition_holds_it():
    inside, before_if, before_loop = fusion_loops.moved_loops().values()
    assert before_if == before_loop
    assert inside.reciprocals == before_loop.reciprocals + 1


def test_lines_that_are_not_there_are_not_moved():
    with pytest.raises(ValueError, match="it has changed since"):
        fusion_loops.moved_source("no such line")


def test_fused_kernels_move_nothing_of_a_matrix():
    for layer in fusion.LENET:
        two, fused = (fusion.sectors(way, layer) for way in (TWO, FUSED))
        for what in ("stores of the matrix", "loads of the matrix"):
            assert two[what] > 0
            assert fused[what] == 0
        assert two["stores of y"] == fused["stores of y"]


def test_lookups_by_hand():
    # 49 rows of the matrix for 4 maps; 196 for 16, twice where a tile has 8 rows.
    assert fusion_loops.lookups("layer 1") == 49 / 4
    assert fusion_loops.lookups("layer 2", 8) == 196 / 8


def test_a_change_that_the_kernel_does_not_contain_is_refused():
    with pytest.raises(ValueError, match="it has changed since"):
        fusion.broken(FAST, "no such line", "")


def test_a_change_without_effect_passes():
    assert "PASS" in fusion.broken(FUSED, "// Store.", "// Store it.")


@pytest.fixture
def no_clock(monkeypatch, record):
    """Run what would be timed, with a time from the record."""
    timed = record.measurements[0].timing

    def time_gpu(launch, *, verdict, name, **_):
        assert verdict
        launch(None)
        return dataclasses.replace(timed, name=name)

    def compare(a, b, *, verdicts, names, **_):
        assert all(verdicts)
        a(None)
        b(None)
        return timing.Comparison(2.0, 1.9, 2.1, timed, timed)

    monkeypatch.setattr(timing, "time_gpu", time_gpu)
    monkeypatch.setattr(timing, "compare", compare)


def keys(rows) -> list[tuple]:
    parts = "series", "layer", "batch", "tile", "kernel", "over"
    return sorted(tuple(str(row.get(part)) for part in parts) for row in rows)


def test_a_measurement_has_the_rows_of_the_record(record, no_clock, monkeypatch):
    def arrays(layer: str, batch: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.default_rng(5)
        sizes = dataclasses.replace(SHAPE, B=batch).x_shape, SHAPE.filter_shape
        x, filter = (rng.integers(-8, 9, size).astype(np.float32) for size in sizes)
        return x, filter

    monkeypatch.setattr(conv2d, "inputs", arrays)
    monkeypatch.setattr(conv2d, "shape_of", lambda _, batch: dataclasses.replace(SHAPE, B=batch))
    monkeypatch.setattr(fusion, "BATCHES", (1, 2, 3))
    monkeypatch.setattr(fusion, "WHOLE", 3)
    counts = {100: 1, 1_000: 2, 10_000: 3}
    wanted = [row | {"batch": counts[row["batch"]]} for row in record.rows()]
    assert keys(fusion.measure()) == keys(wanted)


def changed_ratio(record: results.Record, **ratio: float) -> results.Record:
    return dataclasses.replace(
        record,
        measurements=tuple(
            dataclasses.replace(one, parameters={**one.parameters, **ratio})
            if one.series == "ratio"
            else one
            for one in record.measurements
        ),
    )


def test_titles_follow_the_record(record):
    even = changed_ratio(record, ratio=1.0, low=0.9, high=1.1)
    title = fusion.times_figure(even).axes[0].get_title(loc="left")
    assert title.count("no measurable difference") == 2
    assert "times the time" in fusion.times_figure(record).axes[0].get_title(loc="left")
    plt.close("all")


def test_bars_start_at_zero(record):
    for figure in (fusion.traffic_figure(), fusion.times_figure(record)):
        for ax in figure.axes:
            assert ax.get_xscale() == "linear"
            assert ax.get_xlim()[0] == 0
    plt.close("all")


def test_without_divisions_over_two_launches_is_what_their_medians_say(record):
    ms = fusion.times_of(record)
    for layer in fusion.LENET:
        fast, two = (ms[way, layer, fusion.WHOLE, 16]["median_ms"] for way in (FAST, TWO))
        assert fusion.fast_over_two(record, layer) == pytest.approx(fast / two, rel=0.02)


def test_a_ratio_that_was_not_measured_is_named(record):
    with pytest.raises(ValueError, match="does not compare"):
        fusion.ratio_row(record, TWO, FAST, "layer 1")
    assert fusion.ratio_row(record, *PAIRS[0], "layer E2")["ratio"] > 1
