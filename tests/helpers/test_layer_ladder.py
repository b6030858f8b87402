"""The ladder of lab 500: all kernels of the layer, their shares of a floor, and counters."""

import dataclasses
import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from helpers import bench, exercises, kernels
from helpers.bench import results, sass
from helpers.experiments import layer_ladder as ladder
from helpers.kernel_cells import parse
from helpers.labs.stored import exercises_of
from helpers.problems import conv2d
from tests import records

LAYERS = {name: bench.layer(name) for name in ("layer 1", "layer 2")}
TAKEN = {name: ladder.rungs(layer) for name, layer in LAYERS.items()}


@pytest.fixture(scope="module", name="times")
def recorded():
    return {name: layer.sweep(*TAKEN[name], record="500_ladder") for name, layer in LAYERS.items()}


def rows_changed(times, change):
    """The times of a record whose median times went through `change(series, ms)`."""
    other = records.slower(times.record, change)
    return bench.Times.read(other, times.problem, [one.kernel for one in times])


def test_every_kernel_of_the_layer_is_a_rung():
    there = {name for name in kernels.names() if name.startswith("conv2d_")} | {"im2col_gemm"}
    assert {name.partition(",")[0] for name in ladder.BUILDS_ON} == there
    on_a_layer = {kernel.name for taken in TAKEN.values() for kernel in taken}
    many_channels = {spec.name for spec in (conv2d.implicit_wgmma(), *conv2d.CHANNELS_LAST)}
    assert there - on_a_layer == many_channels


def test_each_rung_was_made_from_another_one():
    roots = [name for name, (before, _) in ladder.BUILDS_ON.items() if not before]
    assert roots == ["conv2d_uncoalesced"]
    assert all(before in {"", *ladder.BUILDS_ON} for before, _ in ladder.BUILDS_ON.values())
    lines = ladder.tree(["conv2d_uncoalesced", "conv2d_constant", "conv2d_tiled_maps"]).split("\n")
    assert [line.index("conv2d") for line in lines] == [0, 4, 8]  # basic and tiled are left out


def test_a_rung_names_the_lab_of_its_kernel():
    """As kernels/README.md has it; a kernel's forms and the product of two kernels are its own."""
    page = (results.ROOT / "kernels/README.md").read_text(encoding="utf-8")
    labs = dict(re.findall(r"^\| `(\w+)\.cu` .*\[(\d{3})[^|]*\|$", page, re.MULTILINE))
    for name, (_, lab) in ladder.BUILDS_ON.items():
        kernel = name.partition(",")[0].replace("im2col_gemm", "im2col_basic")
        assert lab == labs[kernel], name


def test_the_fourier_kernel_is_right_as_a_rung():
    assert LAYERS["layer 2"].check("conv2d_fft_tiles")


def test_a_share_follows_from_a_time(times):
    one = times["layer 1"]
    best = ladder.best_by_kind(one)[ladder.UNITS]
    assert best.kernel.label == ladder.BEST_FORM
    slower = rows_changed(one, lambda series, ms: 2 * ms)
    again = ladder.best_by_kind(slower)[ladder.UNITS]
    assert ladder.share(slower, again) == pytest.approx(ladder.share(one, best) / 2)
    assert f"{50 * ladder.share(one, best):.0f} %" in ladder.share_table({"layer 1": slower})


def test_only_products_on_tensor_cores_are_below_the_floor_of_the_fp32_units(times):
    one = times["layer 2"]
    below = ladder.below_floor(one)
    assert below and all(
        ladder.kind(each.kernel) != ladder.UNITS for each in one if each.kernel.title in below
    )
    slower = rows_changed(one, lambda series, ms: 2 * ms)
    assert len(ladder.below_floor(slower)) < len(below)


def test_tensor_cores_stand_beside_the_larger_floor_of_theirs(times):
    """Three products of halves for one of layer 2 take longer than its bytes, one does not."""
    one = times["layer 2"]
    best = ladder.best_by_kind(one)
    bytes_ms, units_ms = ladder.floors_ms(one)
    split_ms = 3 * units_ms * 67 / 989
    for what, floor in (
        (ladder.SPLIT, (split_ms, "products")),
        (ladder.HALVES, (bytes_ms, "bytes")),
        (ladder.UNITS, (units_ms, "products")),
    ):
        assert ladder.floor_of(one, what) == (pytest.approx(floor[0]), floor[1])
        assert ladder.share(one, best[what]) == pytest.approx(floor[0] / best[what].ms)
    assert ladder.floor_of(times["layer 1"], ladder.SPLIT)[1] == "bytes"


def test_steps_turn_where_a_time_does(times):
    turned = ["im2col_gemm"]
    assert ladder.turned(times) == turned
    slow = rows_changed(
        times["layer 2"], lambda series, ms: 30 * ms if series == "im2col_gemm" else ms
    )
    assert ladder.turned({"layer 1": times["layer 1"], "layer 2": slow}) != turned
    assert ladder.steps(slow)["im2col_gemm"] > 1 > ladder.steps(times["layer 2"])["im2col_gemm"]


@pytest.mark.parametrize(
    ("ratio", "words"),
    [(0.5, "2.00 x as fast"), (1.04, "about the same"), (1.5, "1.50 x the time")],
)
def test_a_step_in_words(ratio, words):
    assert ladder.verdict(ratio) == words


def test_the_estimate_of_cost_orders_most_pairs_as_their_times(times):
    counted = {
        name: layer.count(*(k for k in TAKEN[name] if ladder.kind(k) == ladder.UNITS))
        for name, layer in LAYERS.items()
    }
    for name, one in times.items():
        same, every = ladder.ordered(one, counted[name], "all of it (cost)")
        assert same >= 0.9 * every and every > 90
    upside_down = rows_changed(times["layer 1"], lambda series, ms: 1 / ms)
    same, every = ladder.ordered(upside_down, counted["layer 1"], "all of it (cost)")
    assert same <= 0.1 * every


def test_the_figure_names_every_kernel_and_draws_both_floors(times):
    figure = ladder.figure(times)
    for ax, (name, one) in zip(figure.axes, times.items(), strict=True):
        shown = [label.get_text() for label in ax.get_yticklabels()]
        assert len(shown) == len(one) == len(TAKEN[name])
        dots = [line for line in ax.lines if line.get_marker() not in ("None", None, "")]
        assert len(dots) == sum(each.ms is not None for each in one)


def test_the_figure_has_the_bound_of_a_readers_rung_and_no_dot(times):
    layer = LAYERS["layer 1"]
    of_two = []
    for text in (exercises.find("rung").solution, exercises.find("rung").stub):
        kernels_there = "conv2d_basic", "conv2d_tiled", ladder.entered(layer, parse(str(text)))
        one = layer.sweep(*kernels_there, record="500_ladder")
        (ax,) = ladder.figure({"layer 1": one}).axes
        bounds = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == ">"]
        of_two.append((ax.get_yticklabels()[-1].get_text(), "a bound" in ax.get_xlabel(), bounds))
        least = one.at_least(one[-1])
        assert bounds == ([] if least is None else [least.value])
        if least is not None:  # the lab says so
            assert least.value > layer.sweep("conv2d_tiled_maps", record="500_ladder")[0].ms
    assert [said[:2] for said in of_two] == [
        ("yours: not timed here", True), ("yours: not yet", False)
    ]


def test_a_readers_rung_is_launched_as_its_options_say():
    rung = parse(exercises.find("rung").stub)
    kernel = ladder.entered(LAYERS["layer 2"], rung)
    assert kernel.spec.tile == (16, 16, 4) and kernel.yours and not kernel.is_missing
    assert ladder.entered(LAYERS["layer 2"], rung, maps=8).spec.tile == (16, 16, 8)
    none = dataclasses.replace(rung, options=("-DMAPS=0",))
    assert ladder.entered(LAYERS["layer 2"], none).is_missing
    assert [one.label for one in ladder.of_maps(LAYERS["layer 1"], rung, (1, 2))] == [
        "yours: my_rung, 1 map",
        "yours: my_rung, 2 maps",
    ]


def test_floors_of_a_reader_are_right_within_two_percent():
    layer = LAYERS["layer 1"]
    products, read = 1e3 * layer.work.flops / 67e12, 1e3 * layer.work.bytes / 4.8e12
    for first, second in ((1.015, 1.025), (0.985, 0.975)):
        said = ladder.floors_beside(first * products, second * read, layer)
        assert ["compute again" in line for line in said.splitlines()[1:3]] == [False, True]
    assert ladder.floors_beside(None, None, layer).count("yours: not yet") == 2


# --------------------------------------------------------------------------------------------------
# kernels of earlier labs


def saved(folder, output):
    """The notebook of lab 111 with one kernel and its check."""
    cells = [new_code_cell(exercises.find("conv2d_tiled").stub)]
    check = new_code_cell('exercise = exercises.find("conv2d_tiled")\nexercise.check(conv2d_tiled)')
    check.outputs = [new_output("stream", name="stdout", text=output)]
    path = folder / f"{exercises.find('conv2d_tiled').lab}.ipynb"
    nbformat.write(new_notebook(cells=[*cells, check]), path)
    return path


@pytest.mark.parametrize(
    ("output", "names"),
    [("PASS conv2d_tiled: all\n", ["conv2d_tiled"]), ("FAIL conv2d_tiled: race\n", []), ("", [])],
)
def test_kernels_that_passed_in_the_notebook_beside_this_one(tmp_path, monkeypatch, output, names):
    monkeypatch.chdir(tmp_path)
    path = saved(tmp_path, output)
    assert exercises_of(path.read_text())["conv2d_tiled"]
    assert [cell.name for cell in exercises.earlier("conv2d_tiled", "conv2d_maps")] == names


def test_no_notebook_beside_this_one_is_no_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert exercises.earlier(*ladder.EARLIER) == []
    (tmp_path / f"{exercises.find('conv2d_tiled').lab}.ipynb").write_text("{")
    assert exercises.earlier("conv2d_tiled") == []


def test_the_compiler_unrolls_the_rungs_loop_over_maps_by_itself():
    cell = parse(exercises.find("rung").solution)
    made = sass.assembled("my_rung", cell.options, source=cell.source)
    assert "unroll" not in cell.source.replace("unrolls", "")
    assert (made.count("multiply-adds"), made.count("local accesses")) == (4, 0)  # -DMAPS=4
