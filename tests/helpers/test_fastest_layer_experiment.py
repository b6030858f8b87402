"""What lab 305 shows: the places of weights, lines of headers, steps taken back, and figures."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot as plt

from helpers import limits, reference
from helpers.bench import results, timing
from helpers.device import Device, select
from helpers.experiments import bound_ratios
from helpers.experiments import fastest_layer as fast
from helpers.problems import conv2d


@pytest.fixture
def recorded():
    return results.load(results.MEASURED / f"{fast.NAME}.json")


@pytest.fixture(autouse=True)
def no_figures_left():
    yield
    plt.close("all")


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


def without(record, *words):
    """The record without the measurements whose way is one of these words."""
    kept = tuple(m for m in record.measurements if m.parameters.get("way") not in words)
    return type(record)(**{**vars(record), "measurements": kept})


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


def test_of_cudnns_layouts_the_faster_counts(recorded):
    rows = [r for r in recorded.rows() if r.get("way") == "TF32" and r["layer"] == "layer 2"]
    assert len(rows) == 2
    best = fast.times(recorded)["cuDNN, TF32", "layer 2", fast.LARGE]
    assert best["median_ms"] == min(row["median_ms"] for row in rows)


def test_a_step_taken_back_is_compared_with_the_kernel_of_its_layer(recorded):
    ms = {r["step"]: r["median_ms"] for r in recorded.rows() if r["series"] == fast.TAKEN}
    ratios = fast.taken_back(recorded)
    assert ratios["layer 1"] == ratios["layer 2"] == 1
    assert ratios["pieces 16 bytes off"] == ms["pieces 16 bytes off"] / ms["layer 1"]
    assert ratios["sums stored at once"] == ms["sums stored at once"] / ms["layer 2"]


def test_each_step_taken_back_changes_the_source_and_stays_right():
    data = {name: small_inputs(name) for name in fast.LAYERS}
    table, often = fast.stores_table(data)  # it checks every output
    assert often == 2_016 / (16 * 10 * 18 / 8)
    assert "sums stored at once" in table
    texts = [one.source for one in (*fast.TAKEN_BACK.values(), fast.LONG_SUMS)]
    assert len(set(texts)) == len(texts)


def test_the_compiler_undoes_the_order_of_products():
    """The source puts a sum's products next to each other; the machine code does not."""
    assert fast.IN_TURN.source != fast.TAKEN_BACK["layer 2"].source
    for one in (fast.TAKEN_BACK["layer 2"], fast.IN_TURN):
        found = fast.distances(one)
        # 7 steps x 3 products x 2 tiles x 2 rows x 2 shifts; the first of each of 8 sums has no one
        # before it.
        assert sum(found.values()) == 7 * 3 * 8 - 8
        assert min(found) > 1 and found.most_common(1)[0][0] == 8
    assert len(fast.distances_table().splitlines()) == 3


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
    assert lines[-1].split()[1:] == ["NaN", "NaN"]


def test_the_fp32_units_have_the_fastest_form_of_their_kernel_on_record():
    rows = fast.benchmark().rows()
    for layer in fast.LAYERS:
        of_layer = [
            row for row in rows
            if (row["series"], row["layer"], row["batch"]) == (fast.PORTABLE, layer, fast.LARGE)
        ]  # fmt: skip
        best = min(of_layer, key=lambda row: row["median_ms"])
        spec = fast.specs(layer, select())[fast.UNITS]
        assert (spec.resident, spec.weights_shared) == (best["resident"], best["weights_shared"])


def test_long_sums_err_more_than_short_ones():
    x, filter = small_inputs("layer 2")
    exact = reference.conv2d(x, filter)
    short, long = (
        fast.errors(one, x, filter, exact, exact)
        for one in (fast.TAKEN_BACK["layer 2"], fast.LONG_SUMS)
    )
    assert long[0] > 1.5 * short[0] and long[1] < short[1] < 0


def test_a_harmless_change_is_called_right_and_a_wrong_one_is_not():
    rng = np.random.default_rng(21)
    broken = fast.Broken(
        rng.uniform(-1, 1, (1, 2, 10, 14)).astype(np.float32),
        rng.uniform(-1, 1, (16, 2, 5, 5)).astype(np.float32),
    )
    assert "the values are right" in broken("none", "// Epilogue:", "// Epilog:")
    assert "race" in broken("one", "        wait_for_copies();\n", "")
    assert "precision" in broken(
        "three", "weights[i] = filter[", "weights[i] = i / 32 % PARTS ? uint4() : filter["
    )


def test_products_of_warpgroups_are_counted_by_what_the_fragments_hold():
    steps = conv2d.mma_wgmma(1).fragments(np.ones((1, 16, 4, 7, 7), np.float16)).shape[0]
    assert fast.warpgroup_flops(1) == 2 * 64 * 16 * steps * fast.WARPGROUP_COLUMNS
    assert fast.warpgroup_flops(2) == 3 * fast.warpgroup_flops(1)
    assert fast.WARPGROUP_COLUMNS >= 17 * 17  # the quads of an image
    assert fast.useful_flops("layer 2") < fast.warpgroup_flops(1)


def test_the_bound_of_a_kernel_is_below_its_time_and_drawn(recorded, monkeypatch):
    monkeypatch.setattr(bound_ratios, "PERSISTENT_IMAGES", (2, 4))
    bound = fast.bounds("layer 1", fast.HALVES)
    ms = fast.times(recorded)[fast.HALVES, "layer 1", fast.LARGE]["median_ms"]
    assert bound.microseconds < 1.02e3 * ms
    # test_bound_ratios.py has the bounds of all kernels; the figure asks for one of each layer.
    asked = []
    monkeypatch.setattr(fast, "bounds", lambda *of: asked.append(of) or bound)
    for ax in fast.resources_figure().axes:
        assert "would be busy" in ax.get_title(loc="left") and ax.get_xlim()[0] == 0
        assert "time that conv2d_mma_quads takes" in ax.get_title(loc="left")
    assert asked == [(name, fast.SPLIT) for name in fast.LAYERS]


def test_figures_say_what_they_show(recorded):
    upper, lower = fast.layers_figure(recorded).axes
    assert "cuDNN in FP32" in upper.get_title(loc="left") and lower.get_xscale() == "log"
    assert not upper.patches and not lower.patches  # a logarithmic axis has dots, no bars
    bare = without(recorded, "FP32", "TF32", "FP16")
    assert "the FP32 units" in fast.layers_figure(bare).axes[0].get_title(loc="left")
    gain = fast.wgmma_gain(fast.benchmark())
    assert f"{gain:.2f}" in fast.batches_figure(fast.benchmark()).axes[0].get_title(loc="left")
    assert len(fast.roles_figure().axes[0].patches) > 10


def test_tables_have_every_way_layer_and_report(recorded):
    table = fast.times_table(recorded)
    assert all(way in table for way in (fast.UNITS, *fast.WAYS, "cuDNN, FP32"))
    winners = fast.winners_table(fast.benchmark())
    assert sum(line.startswith("layer ") for line in winners.splitlines()) == 1 + 4 * 3
    assert "conv2d_wgmma" in winners and "conv2d_implicit_mma_split" in winners
    reports = fast.reports_table(fast.times(recorded), results.reported("course_reports"))
    assert all(f"report {one}" in reports for one in "ABC")


def test_one_run_checks_and_times_every_way_and_steps_of_both_layers(monkeypatch):
    def two_ms(launch, *, verdict, name, budget_s):
        timing._require_verdict(verdict, name)
        return timing.Timing.of(name, [2.0] * 8, what="kernel", device="toy", cache="cold")

    select()
    monkeypatch.setattr(conv2d, "shape_of", lambda name, batch: replace(SMALL[name], B=batch))
    monkeypatch.setattr(conv2d, "inputs", small_inputs)
    # The networks have tests of their own; what is asked of them stands in the rows.
    monkeypatch.setattr(
        fast.lenet_times, "right_answers",
        lambda weights, images, form, *asked: [{"series": "accuracy", "form": form, "of": asked}],
    )  # fmt: skip
    monkeypatch.setattr(timing, "time_gpu", two_ms)
    # stores_table runs the others, above.
    steps = "layer 2", "sums stored at once", "layer 1"
    monkeypatch.setattr(fast, "TAKEN_BACK", {what: fast.TAKEN_BACK[what] for what in steps})
    monkeypatch.setattr(fast, "BATCHES", (1,))
    monkeypatch.setattr(fast, "LARGE", 1)
    rows = list(fast.measure())
    for name in fast.LAYERS:
        ways = [row.get("way") for row in rows if row.get("layer") == name and "way" in row]
        assert ways == [fast.UNITS, *fast.WAYS]
    assert [row["step"] for row in rows if row["series"] == fast.TAKEN] == [
        *[what for what, one in fast.TAKEN_BACK.items() if one.layer == "layer 1"],
        *[what for what, one in fast.TAKEN_BACK.items() if one.layer == "layer 2"],
    ]
    assert [row["series"] for row in rows].count(fast.COPY) == 2
    assert {row["form"]: row["of"] for row in rows if row["series"] == "accuracy"} == {
        way: ((fast.WAYS[way]["layer 1"], fast.WAYS[way]["layer 2"]), (1,), fast.NAME)
        for way in (fast.SPLIT, fast.HALVES)
    }
    errors = {row["way"]: row["relative_error"] for row in rows if "relative_error" in row}
    assert errors[fast.SPLIT] < 1e-6 < errors[fast.HALVES] < 2e-3


def test_only_a_hopper_gpu_gets_the_warpgroups():
    assert not set(fast.WARPGROUPS) & set(fast.specs("layer 2", select()))
    hopper = Device(**{**vars(select()), "kind": "gpu", "compute_capability": (9, 0)})
    assert set(fast.WARPGROUPS) <= set(fast.specs("layer 2", hopper))
    assert not set(fast.WARPGROUPS) & set(fast.specs("layer 1", hopper))
    ampere = Device(**{**vars(select()), "kind": "gpu", "compute_capability": (8, 0)})
    assert not set(fast.WARPGROUPS) & set(fast.specs("layer 2", ampere))
