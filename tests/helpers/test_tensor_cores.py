"""Tensor cores in the layer: padding, steps, floors, and what is read off the record."""

from __future__ import annotations

import dataclasses

import pytest

from helpers.bench import results
from helpers.experiments import tensor_cores, tensor_counts
from helpers.experiments.tensor_cores import HALVES, LAYERS, NO_SKEW, ONE_BUFFER, TF32
from helpers.experiments.tensor_counts import MULTIPLY
from helpers.limits import ConvShape
from helpers.problems import conv2d


@pytest.fixture(scope="module")
def times() -> results.Record:
    return results.load(results.MEASURED / "303_wmma.json")


def test_useful_parts_of_a_layer_by_hand():
    # 3 of 8 maps; 9 of 16 terms; 4 x 10 outputs in two tiles of 32.
    part = tensor_cores.useful(tensor_cores.VARIANTS[HALVES], ConvShape(1, 1, 3, 6, 12, 3))
    assert (part.maps, part.terms, part.outputs) == (3 / 8, 9 / 16, 40 / 64)
    assert part.all == pytest.approx(3 / 8 * 9 / 16 * 40 / 64)


@pytest.mark.parametrize(("layer", "products"), [("layer 1", 2), ("layer 2", 4)])
def test_a_step_gathers_each_term_and_multiplies_its_matrices(layer, products):
    shape, step = conv2d.shape_of(layer, 1), tensor_counts.step(layer)
    steps = tensor_cores.VARIANTS[HALVES].depth(shape) // 16
    gathered, packed, stored, loaded, _ = (round(steps * count) for count in step.values())
    assert gathered == shape.terms
    assert packed == -(-shape.terms // 2)  # two halves in a register
    assert (stored, loaded) == (2 * steps, 3 * steps)  # 16 cells of 2 bytes; a, and b twice
    assert step[MULTIPLY] == products  # 16 x 8 x 16 each: 8 or 16 maps, 32 outputs, 16 terms


def test_the_skew_takes_conflicts_away_and_buffers_do_not_matter():
    for layer, variant in zip(LAYERS, (ONE_BUFFER, NO_SKEW), strict=True):
        half, other = (tensor_counts.profile(one, layer) for one in (HALVES, variant))
        assert half.shared_load_conflicts == 0
        assert half.shared_load_requests == other.shared_load_requests
        if variant == NO_SKEW:
            assert other.shared_load_conflicts > 0
            assert half.shared_store_conflicts < other.shared_store_conflicts


@pytest.mark.parametrize("variant", [HALVES, ONE_BUFFER])
def test_the_next_step_is_gathered_while_this_one_is_multiplied(variant):
    # 16 cells and 2 stores of the next step stand behind the first of the 4 products. The second
    # buffer saves one of the waits, which stands in front of the last cell that is gathered.
    part = tensor_counts.step_order(variant, "layer 2")
    assert part.startswith("FFFM")
    behind = part[part.index("M") :]
    assert behind.count("g") == 16 and behind.count("S") == 2
    assert part.count("M") == 4
    assert part.count("|") == (1 if variant == HALVES else 2)


def test_an_order_has_all_letters_of_the_steps():
    counts = tensor_counts.step("layer 2")
    steps = tensor_cores.VARIANTS[HALVES].depth(conv2d.shape_of("layer 2", 1)) // 16
    order = tensor_counts.order(HALVES, "layer 2")
    assert order.count("M") == round(steps * counts[MULTIPLY])
    assert order.count("F") == 3 * steps
    assert order.count("g") == conv2d.shape_of("layer 2", 1).terms


def test_no_floor_is_above_its_time(times):
    rows = tensor_cores.time_rows(times)
    for layer in LAYERS:
        for variant in tensor_cores.variants_of(layer):
            highest = max(tensor_cores.floors(variant, layer).values())
            assert 0 < highest <= 1.02 * rows[variant, layer, tensor_cores.BATCH]["median_ms"]


def test_each_variant_has_floors_of_its_own():
    half, bare, other = (
        tensor_cores.floors(variant, "layer 1") for variant in (HALVES, NO_SKEW, "16 rows")
    )
    assert bare[tensor_cores.SHARED] > 1.5 * half[tensor_cores.SHARED]
    assert other[tensor_cores.UNITS] == pytest.approx(2 * half[tensor_cores.UNITS])
    assert half[tensor_cores.DRAM] == pytest.approx(bare[tensor_cores.DRAM], rel=0.01)


def test_the_peaks_are_those_of_the_data_sheet():
    assert 14 < tensor_cores.peak(HALVES) / tensor_cores.peak("float32") < 16
    assert tensor_cores.peak(HALVES) == pytest.approx(2 * tensor_cores.peak(TF32))
    assert tensor_cores.measured_peak() < tensor_cores.peak(HALVES)


def test_a_ratio_is_turned_with_its_interval(times):
    row = tensor_cores.ratio_row(times, "float32", "layer 2")
    turned = tensor_cores.halves_over_float(times, "layer 2")
    assert turned["low"] < turned["ratio"] < turned["high"]
    assert turned["low"] == pytest.approx(1 / row["high"])
    with pytest.raises(ValueError, match="does not compare 8 rows on layer 1"):
        tensor_cores.ratio_row(times, "8 rows", "layer 1")


def test_titles_follow_the_record(times):
    around_one = {"low": 0.9, "ratio": 1.0, "high": 1.1}
    changed = dataclasses.replace(
        times,
        measurements=tuple(
            dataclasses.replace(one, parameters=one.parameters | around_one)
            if one.parameters.get("variant") == "float32" and "ratio" in one.parameters else one
            for one in times.measurements
        ),
    )  # fmt: skip
    assert all("no measurable difference" in title for title in _titles(changed))
    assert not any("no measurable difference" in title for title in _titles(times))


def _titles(record: results.Record) -> list[str]:
    from matplotlib import pyplot as plt

    figure = tensor_cores.time_figure(record)
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    plt.close(figure)
    return titles


def test_counters_stand_beside_those_of_the_hardware():
    lines = tensor_counts.shared_beside("layer 2").splitlines()
    stores = next(line for line in lines if "wavefronts_mem_shared_op_st" in line)
    assert len(set(stores.split()[1:])) == 1  # both count the same


def test_broken_kernels_are_told_and_the_right_one_passes():
    assert tensor_cores.broken().endswith("PASS conv2d_wmma")
    wrong = tensor_cores.broken(("col_major> b", "row_major> b"))
    assert wrong.startswith("no finding\nFAIL conv2d_wmma")
    unset = tensor_cores.broken(("round_to(weights[m", "if (term < TERMS) round_to(weights[m"))
    assert unset.startswith("uninitialised")
    with pytest.raises(ValueError, match="to replace"):
        tensor_cores.broken(("no such line", ""))
