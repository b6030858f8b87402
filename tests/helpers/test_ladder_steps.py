"""The steps of both ladders: what they did on each layer, passes beside time, the reader's rung."""

from __future__ import annotations

import dataclasses
import re
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest

from helpers import checking, exercises, kernel_cells, kernels
from helpers.bench import results
from helpers.experiments import ladder, ladder_rung, ladder_steps, traffic
from helpers.problems import conv2d


@pytest.fixture(scope="module")
def steps() -> ladder_steps.Steps:
    return ladder_steps.Steps.of(ladder.load())


@pytest.fixture
def close_figures():
    yield
    plt.close("all")


def with_time(steps: ladder_steps.Steps, name: str, which: str, ms: float) -> ladder_steps.Steps:
    """The steps of a record in which a kernel takes another time on a layer's whole batch."""
    changed = []
    for one in steps.record.measurements:
        where = one.series, one.parameters.get("layer"), one.parameters.get("batch")
        if where == (name, which, ladder.BATCH):
            timing = dataclasses.replace(one.timing, median=ms, low=0.999 * ms, high=1.001 * ms)
            one = dataclasses.replace(one, timing=timing)
        changed.append(one)
    assert tuple(changed) != steps.record.measurements
    return ladder_steps.Steps.of(dataclasses.replace(steps.record, measurements=tuple(changed)))


def test_the_tree_has_every_kernel_once_below_what_it_builds_on():
    lines = ladder_steps.tree().splitlines()
    names = [line.split()[0] for line in lines]
    assert sorted(names) == sorted(ladder_steps.NAMES)
    depth = {line.split()[0]: (len(line) - len(line.lstrip())) // 4 for line in lines}
    assert all(depth[name] == depth[on] + 1 for name, (on, _) in ladder.BUILDS_ON.items() if on)


def test_every_kernel_of_the_layer_is_on_the_ladder_or_named_as_left_out():
    words = ladder_steps.left_out().replace(",", "").split()
    listed = {word for word in words if word.startswith("conv2d_")}
    there = {name for name in kernels.names() if name.startswith("conv2d_")}
    assert listed | (set(ladder_steps.NAMES) & there) == there
    assert not listed & set(ladder_steps.NAMES)
    assert "conv2d_mma_pairs" in listed


def test_the_inner_loop_is_shown_to_its_closing_brace():
    first, last = ladder_steps.inner_loop()
    text = "\n".join(kernels.source(ladder_steps.BEST).splitlines()[first - 1 : last])
    assert text.count("{") == text.count("}") > 3
    with pytest.raises(ValueError, match="it has changed since"):
        ladder_steps.inner_loop("for (no such loop")


def test_each_step_has_one_outcome(steps):
    outcomes = steps.outcomes()
    names = [name for of_outcome in outcomes.values() for name in of_outcome]
    assert sorted(names) == sorted(pair[0].name for pair in steps.pairs())
    slow = steps.ladders[0].step("conv2d_uncoalesced").ms * 3
    turned = with_time(steps, "conv2d_basic", "layer 1", slow).outcomes()
    assert "conv2d_basic" in outcomes["faster on both"]
    assert "conv2d_basic" in turned["slower on layer 1, faster on layer 2"]


def test_a_step_that_gets_slower_with_fewer_passes_contradicts_them(steps):
    ways = steps.agreement()
    same, opposite, unchanged = (
        {(step.name, step.which) for step in ways[way]} for way in ladder_steps.WAYS
    )
    assert ("conv2d_basic", "layer 1") in same
    assert ("conv2d_unrolled", "layer 1") in unchanged  # the same requests, another time
    slow = with_time(steps, "conv2d_basic", "layer 1", 50.0)
    assert ("conv2d_basic", "layer 1") in {
        (step.name, step.which) for step in slow.agreement()["opposite ways"]
    }
    assert not same & opposite


def test_no_measurable_difference_is_in_no_list(steps):
    before = steps.ladders[0].step("conv2d_uncoalesced").ms
    level = with_time(steps, "conv2d_basic", "layer 1", before * 1.001)
    listed = [(step.name, step.which) for way in level.agreement().values() for step in way]
    assert ("conv2d_basic", "layer 1") not in listed
    assert "conv2d_basic" in level.outcomes()["no measurable difference on a layer"]


def test_gains_in_turns_are_those_over_what_a_kernel_builds_on():
    def row(layer: str, kernel: str, over: str, ratio: float) -> results.Measurement:
        gain = {"ratio": ratio, "low": ratio - 0.01, "high": ratio + 0.01}
        where = {"layer": layer, "kernel": kernel, "over": over}
        return results.Measurement("ratio", where | gain, None)

    rows = (
        row("layer 1", "conv2d_tiled", "conv2d_constant", 1.06),
        row("layer 2", "conv2d_tiled", "conv2d_constant", 0.98),
        row("layer 2", "conv2d_restrict", "conv2d_constant", 3.0),
    )
    record = results.load(results.MEASURED / f"{ladder_steps.TURNS}.json")
    turns = dataclasses.replace(record, measurements=rows)
    assert ladder_steps.gains(turns, "layer 1") == {"conv2d_tiled": (1.06, 1.05, 1.07)}
    assert set(ladder_steps.gains(turns, "layer 2")) == {"conv2d_tiled"}
    steps = ladder_steps.Steps.of(ladder.load(), turns)
    assert "conv2d_tiled" in steps.outcomes()["faster on layer 1, slower on layer 2"]


def test_every_close_step_was_timed_in_turns(steps):
    for built in steps.ladders:
        for name, _ in ladder_steps.close_steps(built):
            assert built.step(name).paired is not None


def test_the_fastest_form_is_no_slower_than_that_of_the_ladder(steps):
    one, two = steps.ladders
    assert ladder_steps.fastest_form(one) <= one.best.ms
    assert ladder_steps.fastest_form(two) < 0.97 * two.best.ms
    assert f"{ladder_steps.fastest_form(two):.3f} ms" in ladder_steps.roof_words(two)


def test_the_balance_is_a_quarter_of_a_pass():
    assert ladder_steps.BALANCE == 0.25


def test_titles_say_what_the_steps_are(steps, close_figures):
    (ax,) = ladder_steps.agreement_figure(steps).axes
    counts = [len(of_way) for of_way in steps.agreement().values()]
    assert f"the same way in {counts[0]}" in ax.get_title(loc="left")
    assert f"of {sum(counts)} steps" in ax.get_title(loc="left")
    _, right, beside = ladder_steps.roofs_figure(steps, "layer 1").axes
    near = ladder_steps.near_roof(steps.ladders[0])
    assert f"{len(near)} of these {len(ladder_steps.IN_ROOFS)}" in right.get_title(loc="left")
    (listed,) = beside.texts
    assert all(name in listed.get_text() for name in ladder_steps.IN_ROOFS)


def test_labels_of_the_roofs_do_not_overlap(steps, close_figures):
    for which in ladder.LENET:
        figure = ladder_steps.roofs_figure(steps, which)
        figure.draw_without_rendering()
        for ax in figure.axes[:2]:
            labels = [text for text in ax.texts if text.get_text().isdigit()]
            assert len(labels) == len(ladder_steps.IN_ROOFS)
            boxes = [plt.Text.get_window_extent(label) for label in labels]
            for number, box in enumerate(boxes):
                assert not any(box.overlaps(other) for other in boxes[number + 1 :])


def test_a_missing_barrier_is_a_race_only_where_channels_follow():
    assert ladder_steps.without("__syncthreads();   // patches", "layer 1").startswith("race")
    barrier = "if (c > 0) __syncthreads();"
    assert ladder_steps.without(barrier, "layer 2", staged=4) == "no finding"
    assert ladder_steps.without(barrier, "layer 2", staged=1).startswith("race")
    with pytest.raises(ValueError, match="it has changed since"):
        ladder_steps.without("no such barrier", "layer 1")


def cell(text: str) -> SimpleNamespace:
    """What a %%kernel cell binds, without a compiled function."""
    one = kernel_cells.parse(text)
    return SimpleNamespace(name=one.kernel, source=one.source, options=list(one.options))


def test_a_rung_that_is_wrong_has_no_place():
    shape, rng = conv2d.shape_of("layer E2", 1), np.random.default_rng(1)
    stub = exercises.find("500").stub
    right = ladder_rung.run_rung(cell(stub), shape, rng)
    assert right.load_sectors > 0
    wrong = stub.replace("float sum = 0.0f;", "float sum = 1.0f;")
    with pytest.raises(checking.CheckError):
        ladder_rung.run_rung(cell(wrong), shape, rng)
    unguarded = stub.replace("m < M && ", "").replace("-DMAPS=1", "-DMAPS=5")
    with pytest.raises((traffic.TrafficError, checking.CheckError)):
        ladder_rung.run_rung(cell(unguarded), shape, rng)


def test_the_estimate_is_judged_by_the_order_of_the_times(steps):
    def ordered(words: str) -> list[tuple[int, int]]:
        pairs = re.findall(r"orders (\d+) of (\d+) pairs", words)
        return [(int(one), int(all_of_them)) for one, all_of_them in pairs]

    (one, pairs), two = ordered(ladder_rung.estimate_words(steps))
    others = len(ladder_steps.NAMES) - 1
    assert others < one <= pairs <= others * (others + 1) // 2
    # The fastest kernel has the lowest estimate: as the slowest one it is on the wrong side of all.
    slow = with_time(steps, ladder_steps.BEST, "layer 1", 1_000.0)
    assert ordered(ladder_rung.estimate_words(slow)) == [(one - others, pairs), two]
    # Two kernels that take as long as each other have no order.
    maps = steps.ladders[0].step("conv2d_tiled_maps").ms
    same = with_time(steps, "conv2d_register", "layer 1", maps)
    assert ordered(ladder_rung.estimate_words(same))[0][1] == pairs - 1


def test_the_table_of_times_ends_with_the_floor(steps):
    built = steps.ladders[0]
    lines = ladder_steps.time_table(built).splitlines()
    assert [line.split()[0] for line in lines[2 : 2 + len(built.steps)]] == [
        step.name for step in built.steps
    ]
    assert lines[-1].startswith("the floor (compute)")
    assert lines[-1].split()[-1] == "100"
