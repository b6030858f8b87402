"""What lab 305 shows: the places of weights, lines of headers, steps taken back, and figures."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from helpers import bench, exercises, limits, reference
from helpers.bench import plan_bounds, reports
from helpers.bench.times import Time, Times
from helpers.experiments import fastest_layer as fast
from helpers.kernel_cells import parse
from helpers.problems import conv2d, tensor_product
from tests import records

# Both layers with fewer outputs, of which the last tile of a row is not full.
SMALL = {
    "layer 1": limits.ConvShape(B=1, C=1, M=4, H=26, W=30, K=7),
    "layer 2": limits.ConvShape(B=1, C=4, M=16, H=16, W=24, K=7),
}


def small_inputs(layer, batch=1):
    """(x, filter) of a layer of SMALL."""
    rng, shape = np.random.default_rng(5), replace(SMALL[layer], B=batch)
    sizes = shape.x_shape, shape.filter_shape
    return tuple(rng.uniform(0, 1, size).astype(np.float32) for size in sizes)


def test_a_shift_moves_every_weight_of_the_pairs_by_one_column():
    spec = conv2d.mma_pairs()
    for step in range(7):
        plain, shifted = (fast.row_of_a(spec, step, 3, shift) for shift in (0, 1))
        for half in (slice(0, 8), slice(8, 16)):
            assert plain[half][7] == shifted[half][0] == "-"
            assert plain[half][:7] == shifted[half][1:]
    held = {weight for step in range(7) for weight in fast.row_of_a(spec, step, 0)} - {"-"}
    assert len(held) == 2 * 7 * 7  # of two channels, none twice and none left out


@pytest.mark.parametrize(("row", "down", "right"), [(0, 0, 0), (1, 1, 0), (8, 0, 1), (9, 1, 1)])
def test_a_row_of_the_quads_is_the_filter_shifted_in_a_window_of_eight(row, down, right):
    window = [[] for _ in range(8)]
    for step in range(4):
        held = fast.row_of_a(conv2d.mma_quads(), step, row)
        window[2 * step], window[2 * step + 1] = held[:8], held[8:]
    for p, q in np.ndindex(8, 8):
        inside = 0 <= p - down < 7 and 0 <= q - right < 7
        assert window[p][q] == (f"{p - down}{q - right}" if inside else "-")


def test_the_compiler_undoes_the_order_of_products():
    """The source puts a sum's products next to each other; the machine code does not."""
    assert fast.IN_TURN.source != fast.TAKEN_BACK["layer 2"].source
    for one in (fast.TAKEN_BACK["layer 2"], fast.IN_TURN):
        found = fast.distances(one)
        # 7 steps x 3 products x 2 tiles x 2 rows x 2 shifts; the first of each of 8 sums has no one
        # before it.
        assert sum(found.values()) == 7 * 3 * 8 - 8
        assert min(found) > 1 and found.most_common(1)[0][0] == 8


def test_steps_that_are_timed_change_the_machine_code_and_none_is_the_order():
    assert "a sum's products in turn" not in fast.TAKEN_BACK
    assert fast.IN_TURN not in fast.TAKEN_BACK.values()


@pytest.mark.parametrize("layer", fast.LAYERS)
def test_split_halves_are_as_accurate_as_fp32_in_the_range_that_the_lab_names(layer):
    """The largest cell between 1/8 and 65,504. Each error is one of float32 sums: a few 2^-24."""
    for power in (-3, 0, 8, 15):
        assert fast.error_at(layer, power) < 1e-6


@pytest.mark.parametrize("layer", fast.LAYERS)
def test_outside_of_the_range_the_error_grows_and_then_there_are_no_numbers(layer):
    errors = [fast.error_at(layer, power) for power in range(-30, -4, 5)]
    assert all(one > 5 * other for one, other in itertools.pairwise(errors[1:]))
    assert 0.01 < fast.error_at(layer, -20) < 0.1  # cells of about 1e-6
    assert fast.error_at(layer, -8) > 10 * fast.error_at(layer, 0)
    for power in (17, 30):  # above 65,504
        assert np.isnan(fast.error_at(layer, power))


def test_the_table_of_the_range_has_a_line_for_each_power():
    lines = fast.range_table().splitlines()
    assert len(lines) == 2 + len(fast.POWERS)
    assert [cell == "NaN" for cell in lines[-1].split()[1:]] == [True, False] * 2


@pytest.mark.parametrize("layer", fast.LAYERS)
def test_the_error_of_fp32_depends_on_no_power_of_two(layer):
    """The range table shows it beside that of split halves."""
    errors = {fast.error_at(layer, power, fast.PORTABLE) for power in (-12, 0, 17)}
    assert len(errors) == 1 and 5e-8 < min(errors) < 1e-6


@pytest.mark.parametrize("layer", fast.LAYERS)
def test_products_of_split_halves_take_less_than_the_kernel_and_three_times_those_of_halves(layer):
    products, name = fast.products_ms(layer), fast.WAYS[fast.SPLIT][layer].name
    assert products < min(ms for (series, _), ms in fast.fastest(layer).items() if series == name)
    assert products == pytest.approx(3 * fast.products_ms(layer, fast.HALVES), rel=0.05)


def test_long_sums_err_more_than_short_ones():
    x, filter = small_inputs("layer 2")
    exact = reference.conv2d(x, filter)
    short, long = (
        fast.errors(one, x, filter, exact, exact)
        for one in (fast.TAKEN_BACK["layer 2"], fast.LONG_SUMS)
    )
    assert long[0] > 1.5 * short[0] and long[1] < short[1] < 0


def test_the_fp32_units_have_the_fastest_form_of_their_kernel_on_record():
    for layer in fast.LAYERS:
        of_layer = [
            row
            for row in fast.benchmark().rows()
            if (row["series"], row["layer"], row["batch"]) == (fast.PORTABLE, layer, fast.LARGE)
        ]
        best = min(of_layer, key=lambda row: row["median_ms"])
        spec = fast.units(layer)
        assert (spec.resident, spec.weights_shared) == (best["resident"], best["weights_shared"])


def test_steps_taken_back_change_the_source_and_stay_right():
    shape = replace(SMALL["layer 2"], B=1)
    layer = bench.layer(shape=shape)
    ours = layer.kernel(fast.PAIRS)
    at_once = ours.changed(*fast.AT_ONCE, label="at once")
    assert layer.check(ours) and layer.check(at_once)
    seen = layer.count(ours, at_once)
    assert seen["at once"].total("sectors", "global", "store") == 2_016
    assert seen[fast.PAIRS].total("sectors", "global", "store") == 0
    assert len({one.source for one in (*fast.TAKEN_BACK.values(), fast.LONG_SUMS)}) == 5


def test_of_cudnns_ways_the_fastest_counts():
    rows = [r for r in fast.benchmark().rows() if r["layer"] == "layer 2" and r["batch"] == 10_000]
    of_fp16 = [r["median_ms"] for r in rows if "FP16)" in r["series"] and r.get("median_ms")]
    found = fast.vendor("layer 2")
    assert found["FP16"] == min(of_fp16) < max(of_fp16)
    assert list(found.values()) == sorted(found.values())


def times_of(**ms):
    """Times of layer 2 without a record: label -> ms."""
    layer = bench.layer("layer 2")
    label = {"units": fast.PORTABLE, "pairs": fast.PAIRS}
    rows = [
        Time(layer.kernel(label[name]), "recorded", {"median_ms": value, "low_ms": value,
             "high_ms": value})
        for name, value in ms.items()
    ]  # fmt: skip
    return Times(fast.benchmark(), layer, rows)


def test_a_factor_is_over_the_best_on_record():
    best = min(ms for (_, way), ms in fast.fastest("layer 2").items() if way == "FP32 units")
    assert fast.gain(times_of(units=10 * best, pairs=best / 2)) == pytest.approx(2)
    assert fast.gain(times_of(units=best / 2, pairs=best / 2)) == pytest.approx(1)


def test_the_last_figure_has_every_kernel_and_both_of_cudnns_times():
    fig = fast.end_figure({"layer 2": times_of(units=1.5, pairs=0.75)})
    (ax,) = fig.axes
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert labels[:3] == [fast.PORTABLE, fast.PAIRS, "cuDNN, FP32"] and "fastest" in labels[3]
    assert "2.00 times" in ax.get_title(loc="left")


def test_the_last_figure_has_the_bound_of_a_students_kernel():
    """Where it passes and is not timed here; it has no dot, which would be a time."""
    layer = bench.layer("layer 2")
    cell = parse(str(exercises.find("conv2d_windows").solution))
    mine = layer.kernel(cell, like=fast.PAIRS, label="yours")
    missing = layer.kernel(bench.yours("conv2d_windows"), like=fast.PAIRS, label="yours")
    for kernel, name in ((mine, "yours: not timed here"), (missing, "yours: not yet")):
        times = layer.sweep(fast.PORTABLE, fast.PAIRS, kernel, record="305_fastest")
        (ax,) = fast.end_figure({"layer 2": times}).axes
        assert ax.get_yticklabels()[2].get_text() == name
        marks = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == ">"]
        least = times.at_least(times[-1])
        assert marks == ([] if least is None else [least.value])
        assert ("a bound" in ax.get_xlabel()) == (least is not None) == (kernel is mine)


def test_both_layers_share_a_scale_on_which_the_shortest_time_can_be_read():
    """The library's time is many times ours: a bar of ours would be a few pixels long."""
    times = {name: times_of(units=1.5, pairs=0.1) for name in ("layer 1", "layer 2")}
    upper, lower = fast.end_figure(times).axes
    assert upper.get_xlim() == lower.get_xlim() and upper.get_xscale() == "log"
    assert not upper.patches, "a logarithmic axis has no zero, and so no bars"
    dots = [line.get_xdata()[0] for line in upper.lines if line.get_marker() == "o"]
    assert min(dots) == pytest.approx(0.1) and len(dots) == len(upper.get_yticks())
    assert upper.get_xlim()[0] < min(dots) < max(dots) < upper.get_xlim()[1]


def test_the_matrices_by_hand_are_judged_by_what_is_wrong():
    def right(x, weights):
        A = np.array([[*weights, 0], [0, *weights]])
        return A, np.array([x[:4], x[2:6]]).T

    def apart(x, weights):
        return right(x, weights)[0], np.array([x[:4], x[1:5]]).T

    def unshifted(x, weights):
        return np.array([[*weights, 0]] * 2), right(x, weights)[1]

    assert "302" in fast.pairs_table(right) and "413" in fast.pairs_table(right)
    assert "column 1 of B" in fast.pairs_table(apart)
    assert "the outputs are 21" in fast.pairs_table(unshifted)
    assert "shape (4,)" in fast.pairs_table(lambda x, w: (right(x, w)[0], x[:4]))
    assert fast.pairs_table(lambda x, w: (..., ...)) == "yours: not yet"


def test_lanes_of_the_drawing_are_those_of_the_fragment():
    image, matrix = fast.window_figure(lane=13).axes
    assert [text.get_text() for text in image.texts if text.get_text()].count("13") == 4
    lanes = np.array([int(text.get_text()) for text in matrix.texts]).reshape(16, 8)
    for row, column in np.ndindex(16, 8):
        assert lanes[row, column] == tensor_product.holder_of_b(row, column)[0]


def test_useful_products_are_seven_of_eight_in_a_row():
    seen = bench.layer("layer 2").count(fast.PAIRS)[0]
    assert fast.useful(seen) == pytest.approx(7 / 8 * 289 / 304)


def test_reports_stand_beside_ours():
    table = fast.reports_table({"split halves": 1.1}, reports.rows("course_reports"))
    assert all(f"report {one}" in table for one in "ABC") and "split halves" in table


def test_the_bound_of_a_kernel_is_below_its_time_and_drawn(monkeypatch):
    monkeypatch.setattr(plan_bounds, "PERSISTENT_IMAGES", (2, 4))
    found = fast.bounds("layer 2", fast.HALVES)
    monkeypatch.setattr(fast, "bounds", lambda *_: found)
    for ax in fast.resources_figure(dict.fromkeys(fast.LAYERS, BOTH)).axes:
        assert "would be busy" in ax.get_title(loc="left")


def test_the_benchmark_has_a_factor_for_every_layer_batch_and_mode():
    found = fast.factors(fast.benchmark())
    assert len(found) == 4 * 3 * 3 and min(found.values()) >= 1.5
    table = fast.factors_table(fast.benchmark()).splitlines()
    assert len(table) == 1 + 4 * 3
    least = min(found, key=found.get)
    where = {"layer": least[0], "batch": least[1], "way": "FP16 in and out"}
    changed = records.with_values(fast.benchmark(), {"series": "ratio", **where}, ratio=1.25)
    assert fast.factors(changed) == found | {least: 1.25}
    assert "1.25" in fast.factors_table(changed)


class BOTH:
    """Times in which every kernel takes a millisecond."""

    record = fast.benchmark()

    @staticmethod
    def ms(kernel):
        return 1.0
